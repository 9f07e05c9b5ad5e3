"""Files of schema 1 must be readable forever; anything else is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from dp_bayes_nb import Bernoulli, Categorical, Release, release, simulate_release

FIXTURES = Path(__file__).parent / "fixtures"


def test_schema_1_laplace_is_read_forever():
    r = Release.load(FIXTURES / "release_schema1_laplace.json")
    assert r.family == Bernoulli("limit")
    assert (r.names, r.n, r.epsilon, r.delta, r.sensitivity) == (("successes",), 8802, 0.01, None, 1.0)
    assert (r.noise.kind, r.noise.scale.tolist(), r.noise.grid.tolist()) == ("laplace", [100.0], [1.0])
    assert (r.neighbours, r.missing, r.bounds_source, r.simulated, r.schema) == ("change_one", "error", "public", False, 1)
    assert r.values.tolist() == [1367.0]


def test_schema_1_gaussian_is_read_forever():
    r = Release.load(FIXTURES / "release_schema1_gaussian.json")
    assert r.family == Categorical(("none", "school", "university"), "education")
    assert (r.n, r.epsilon, r.delta, r.noise.kind) == (2000, 0.5, 1e-6, "gaussian")
    assert r.noise.scale == pytest.approx([12.270608929868658] * 3, rel=1e-9)
    assert r.values.tolist() == [983.0, 696.0, 309.0]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("release_*.json")), ids=lambda p: p.stem)
def test_writing_a_file_again_changes_nothing(path, tmp_path):
    Release.load(path).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("release_*.json")), ids=lambda p: p.stem)
def test_every_cut_and_every_changed_character_is_refused_or_means_the_same(path):
    text = path.read_text()
    for i in range(len(text)):
        for bad in (text[:i], text[:i] + ("7" if text[i] != "7" else "3") + text[i + 1:]):
            try:
                found = Release.from_json(bad)
            except ValueError as error:
                assert str(error)
            else:
                assert found.to_json() == text  # white space, or a digit beyond the precision of a float


def test_the_file_says_nothing_confidential(tmp_path):
    secret = 31_337
    r = release(Bernoulli(), np.arange(40_000) < secret, epsilon=1e-6)  # noise of scale a million
    for shown in (r.to_json(), repr(r), str(vars(r)), str(r.released)):
        assert str(secret) not in shown and str(40_000 - secret) not in shown
    assert set(json.loads(r.to_json())) == {
        "schema", "family", "names", "integers", "grid_exponent", "noise", "n", "sensitivity", "epsilon", "delta", "neighbours",
        "missing", "bounds_source", "simulated", "sha256"}


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path, first = tmp_path / "r.json", Release.load(FIXTURES / "release_schema1_laplace.json")
    first.save(path)
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError):
        Release.load(FIXTURES / "release_schema1_gaussian.json").save(path)
    assert Release.load(path) == first and list(tmp_path.iterdir()) == [path]


def test_simulated_and_real_files_differ_only_in_what_they_are():
    _, simulated = simulate_release(0, Bernoulli(), {"probability": 0.5}, 100, 0.1)
    real = release(Bernoulli(), [0, 1] * 50, epsilon=0.1)
    a, b = json.loads(simulated.to_json()), json.loads(real.to_json())
    assert {key for key in a if a[key] != b[key]} <= {"simulated", "integers", "sha256"}
    assert (a["simulated"], b["simulated"]) == (True, False)
