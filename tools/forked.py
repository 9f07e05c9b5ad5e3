"""Notebooks and files of tests, each in a process of its own that is forked after what all of them import."""

import functools
import gc
import multiprocessing
import os
import resource
import sys
import tempfile
from pathlib import Path

from docs import ROOT

# Before JAX has a device: a fork would not have its threads.
FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["jax.numpy", "jax.scipy.stats", "arviz", "matplotlib.pyplot", "pandas", "scipy.stats",
                               "pytest", "nbdev.test", "narwhals", "duckdb", "opendp.measurements", "dp_bayes_nb.cli",
                               "dp_bayes_nb.posterior.fit", "dp_bayes_nb.data_holder.release",
                               "dp_bayes_nb.posterior.results", "dp_bayes_nb.releases.simulate",
                               "dp_bayes_nb.regression.model", "dp_bayes_nb.hidden_markov.model",
                               "dp_bayes_nb.ways.noisy_tables", "dp_bayes_nb.base.checks", "dp_bayes_nb.base.style",
                               "hypothesis", "dask.array", "distributed", "h5netcdf", "jaxlib.mlir.dialects.mhlo"])


def forked(work, *arguments, xla=None):
    """Exit status of `work(*arguments)` in a process of its own, all that it said, and its processor time in seconds.

    `xla`: flags of XLA for this process, read when it compiles its first program; None: those that there are.
    """
    with tempfile.TemporaryDirectory() as folder:
        process = FORKED.Process(target=_inside, args=(Path(folder), work, arguments, xla))
        process.start()
        process.join()
        said, spent = (path.read_text(errors="replace") if path.is_file() else ""
                       for path in (Path(folder, "log"), Path(folder, "seconds")))
    return process.exitcode, said, float(spent or 0)


def _inside(folder, work, arguments, xla):
    "The process: what it says, also below Python, goes to a file, and its time to another."
    if xla is not None:
        os.environ["XLA_FLAGS"] = xla
    with open(folder / "log", "w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    gc.freeze()  # what was imported stays, and is not looked through again and again
    gc.set_threshold(50_000, 20, 100)
    one_context()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    try:
        status = work(*arguments)
    finally:
        (folder / "seconds").write_text(str(spent()))
    sys.exit(status)


def one_context():
    """Have JAX lower every program of this process in one context of MLIR.

    It makes a context for each, in 10 of the 30 ms that a small program costs. A version of JAX that keeps this
    function elsewhere goes on as it did.
    """
    from jax._src.interpreters import mlir
    if hasattr(mlir, "make_ir_context"):
        mlir.make_ir_context = functools.cache(mlir.make_ir_context)


def run_notebook(path, flags):
    "`nbdev_test` of one notebook; what takes long is marked slow, so no cell has a limit of its own."
    from nbdev.test import nbdev_test
    nbdev_test(path=str(path), n_workers=0, flags=flags, cell_timeout=24 * 3600)


def spent():
    "Processor seconds of this process and of its children that have ended."
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def run_pytest(words):
    "pytest with the words of its command line: its exit status; its report says the processor time of each test."
    import pytest

    class Spent:
        "Of a test with its fixtures, those of its file with the first test that asks for them."

        def pytest_runtest_logstart(self):
            self.start = spent()

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(self, item, call):
            if call.when == "teardown":
                item.user_properties.append(("processor", spent() - self.start))
            return (yield)

    # without the plugin that looks through all objects at the end, for exceptions that nothing could raise
    return int(pytest.main([*map(str, words), "-p", "no:unraisableexception"], plugins=[Spent()]))
