"""A Python that has imported the large packages, and forks a process for each test that it is told of.

`tools/test.py` keeps one for each of its workers: what each notebook and each file of tests would import anew takes
longer than most of them run. A line on standard input is a JSON list: where the output goes, `notebook` or `pytest`,
and the words of the command; the line that answers is the exit status. Nothing of this package is imported here, JAX
has looked for no device and compiled nothing, so that a test finds what it would find in a Python of its own.
"""

import importlib
import json
import os
import sys
from pathlib import Path

PACKAGES = ("numpy", "scipy.stats", "jax", "jaxtyping", "matplotlib.pyplot", "arviz", "duckdb", "narwhals", "IPython",
            "nbdev.test", "pytest")  # not OpenDP and BlackJAX: one starts threads, the other JAX


def load():
    "Import what is there; a test that lacks one says so itself."
    for package in PACKAGES:
        try:
            importlib.import_module(package)
        except ImportError:
            pass


def become(output, what, *words):
    "In the forked process: the output into its file, then the test; the exit status."
    for number, name, flags in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
        os.dup2(os.open(name, flags, 0o600), number)
    os.dup2(1, 2)
    sys.argv = [what, *words]
    if what == "pytest":
        sys.path[0] = str(Path.cwd())  # as `python -m pytest` does
        import pytest

        return int(pytest.main(list(words)))
    sys.path.pop(0)  # the folder of this file
    from nbdev.test import nbdev_test

    path, flags = words
    return nbdev_test(path=path, n_workers=0, flags=flags) or 0


def main():
    load()
    for line in sys.stdin:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            sys.exit(become(*json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
