"""What calibration promises about machines: any number of devices, and any number of interruptions,
give the same ranks.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dp_bayes_nb import Bernoulli, Beta, Exponential, Gamma
from dp_bayes_nb.noise.design import noise_design
from dp_bayes_nb.many.bulk import tabulation
from dp_bayes_nb.ways.methods import CHAIN, choose_method

ROOT = Path(__file__).resolve().parent.parent
RUN = """
import sys
import numpy as np
import jax
from dp_bayes_nb import Beta, Bernoulli, calibrate
devices, path, save = int(sys.argv[1]), sys.argv[2] or None, sys.argv[3]
assert len(jax.devices()) == devices
found = calibrate(Bernoulli(), Beta(10.0, 10.0), n=100, epsilon=0.1, trials=320, draws=40, path=path)
np.savez(save, ranks=found.ranks, quantiles=found.quantiles, truth=found.truth)
"""


def start(devices, path, save):
    "Calibrate in a process of its own."
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen([sys.executable, "-c", RUN, str(devices), str(path), str(save)], env=env, cwd=ROOT)


def same(a, b):
    """Are two saved results the same? Ranks and parameters bit for bit.

    Quantiles to rounding: a matrix product adds its terms in an order that depends on the threads a device has.
    """
    with np.load(a) as a, np.load(b) as b:
        exact = all(np.array_equal(a[name], b[name]) for name in ("ranks", "truth"))
        return exact and np.allclose(a["quantiles"], b["quantiles"], rtol=1e-12, atol=0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    "One run on one device, without interruption."
    save = tmp_path_factory.mktemp("whole") / "ranks.npz"
    assert start(1, "", save).wait() == 0
    return save


@pytest.mark.slow
def test_two_devices_give_the_same_ranks(whole, tmp_path):
    assert start(2, "", tmp_path / "two.npz").wait() == 0
    assert same(whole, tmp_path / "two.npz")


@pytest.mark.slow
def test_a_killed_run_goes_on_and_gives_the_same_ranks(whole, tmp_path):
    folder = tmp_path / "run"
    process = start(1, folder, tmp_path / "killed.npz")
    while process.poll() is None and not list(folder.glob("trials-*.npz")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = sorted(folder.glob("trials-*.npz"))
    assert kept
    before = {path: path.stat().st_mtime_ns for path in kept}
    (folder / ".trials-000000256.npz.1").write_bytes(b"half a file")  # what a kill in the middle of writing leaves
    assert start(2, folder, tmp_path / "resumed.npz").wait() == 0
    assert same(whole, tmp_path / "resumed.npz")
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())  # read, not computed again


def test_a_folder_knows_what_a_method_was_given(tmp_path):
    from functools import partial

    from dp_bayes_nb import Bernoulli, Beta, calibrate

    def widened(key, release, prior, *, draws, confidential=None, by=1.0):
        theta = prior.sample(key, (draws,))["probability"]
        return {"probability": 0.5 + by * (theta - 0.5)}

    def closed_over(by):
        return lambda key, release, prior, *, draws, confidential=None: widened(key, release, prior, draws=draws, by=by)

    design = dict(n=20, epsilon=1.0, trials=8, draws=10)
    for name, given in (("partial", partial(widened, by=0.5)), ("closure", closed_over(0.5))):
        other = partial(widened, by=0.25) if name == "partial" else closed_over(0.25)
        first = calibrate(Bernoulli(), Beta(1.0, 1.0), method=given, path=tmp_path / name, **design)
        again = calibrate(Bernoulli(), Beta(1.0, 1.0), method=given, path=tmp_path / name, **design)
        assert np.array_equal(first.ranks, again.ranks)
        with pytest.raises(ValueError, match="same design"):
            calibrate(Bernoulli(), Beta(1.0, 1.0), method=other, path=tmp_path / name, **design)


@pytest.mark.slow
def test_a_folder_names_a_known_method_and_digests_functions_as_a_fit_does(tmp_path):
    import json

    from dp_bayes_nb import Bernoulli, Beta, calibrate
    from dp_bayes_nb.posterior.identity import _digest
    from dp_bayes_nb.research import evaluation

    assert evaluation._digest is _digest
    calibrate(Bernoulli(), Beta(1.0, 1.0), n=20, epsilon=1.0, trials=8, draws=10, path=tmp_path / "named")
    assert json.loads((tmp_path / "named" / "design.json").read_text())["method"] == "exact"


@pytest.mark.parametrize("family, prior", [(Bernoulli(), Beta(2.0, 2.0)), (Exponential((0, 20)), Gamma(3.0, 20.0))])
def test_the_method_that_a_fit_would_take_is_tabulated_for_calibration(family, prior):
    "A share's method was renamed in version 0.4.0, and its trials went one by one."
    noise, _ = noise_design(family, epsilon=1.0)
    _, method = choose_method(family, prior, noise.kind, 100, "auto")
    assert tabulation(family, method, 100, noise, prior) is not None
    stranger = method._replace(kernel=lambda *given: None, ways=(CHAIN,))
    assert tabulation(family, stranger, 100, noise, prior) is None
