"""Files of schema 1 must be readable forever; anything else is refused."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dp_bayes_nb import Bernoulli, Categorical, Ledger, Release, register, release, simulate_release
from dp_bayes_nb.cli import read_family
from dp_bayes_nb.files import seal
from dp_bayes_nb.fit import register_method

FIXTURES = Path(__file__).parent / "fixtures"


@partial(register, releases_only=True)
@dataclass(frozen=True)
class Bounded:
    "A real statistic, x itself, between public bounds that are declared as {clip = [lo, hi]}."

    bounds: Any
    column: str | None = None
    names, integer = ("sum",), False

    def __post_init__(self):
        kind, (low, high) = next(iter(dict(self.bounds).items()))
        assert kind == "clip"
        object.__setattr__(self, "bounds", (("clip", (float(low), float(high))),))

    interval = property(lambda self: self.bounds[0][1])
    magnitude = property(lambda self: max(map(abs, self.interval)))

    def statistic(self, x):
        return (x,)

    def valid(self, x):
        return (x >= self.interval[0]) & (x <= self.interval[1])

    def sensitivity(self, neighbours="change_one", norm="l1"):
        return self.interval[1] - self.interval[0]

    def to_dict(self):
        return {"family": "Bounded", "bounds": {"clip": list(self.interval)}, "column": self.column}


def resealed(text, **changes):
    "A forger's file: changed, and sealed again."
    document = {**json.loads(text), **changes}
    del document["sha256"]
    return seal(document)


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


def test_schema_1_real_is_read_forever():
    "A real statistic between bounds: a fine grid, and a sensitivity of the rounded sum."
    r = Release.load(FIXTURES / "release_schema1_real.json")
    assert r.family == Bounded({"clip": (0.0, 2.5)}, "wage")
    assert (r.n, r.epsilon, r.delta, r.noise.kind, r.simulated) == (500, 0.1, None, "laplace", False)
    assert (r.noise.grid.tolist(), r.noise.scale.tolist(), r.sensitivity) == ([2.0**-19], [25.0], 2.5)
    assert (r.values * 2.0**19).tolist() == [json.loads((FIXTURES / "release_schema1_real.json").read_text())["integers"][0]]
    assert abs(r.values[0] - 625) < 64 * 25


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
    monkeypatch.setattr("os.replace", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError):
        Release.load(FIXTURES / "release_schema1_gaussian.json").save(path, overwrite=True)
    assert Release.load(path) == first and list(tmp_path.iterdir()) == [path]


def test_simulated_and_real_files_differ_only_in_what_they_are():
    _, simulated = simulate_release(0, Bernoulli(), {"probability": 0.5}, 100, 0.1)
    real = release(Bernoulli(), [0, 1] * 50, epsilon=0.1)
    a, b = json.loads(simulated.to_json()), json.loads(real.to_json())
    assert {key for key in a if a[key] != b[key]} <= {"simulated", "integers", "sha256"}
    assert (a["simulated"], b["simulated"]) == (True, False)


def test_a_file_that_contradicts_its_own_family_is_refused():
    "Grid, sensitivity and scale follow from family and budget, sealed or not, simulated or not."
    files = [path.read_text() for path in sorted(FIXTURES.glob("release_*.json"))]
    files.append(simulate_release(0, Categorical(3), {"probabilities": [0.2, 0.3, 0.5]}, 100, 0.1)[1].to_json())
    for text in files:
        d = json.loads(text)
        half = {**d["noise"], "scale": [v / 2 for v in d["noise"]["scale"]]}
        for changes, said in [(dict(grid_exponent=d["grid_exponent"] + 1), "grid_exponent"), (dict(sensitivity=d["sensitivity"] / 2), "sensitivity"),
                              (dict(sensitivity=d["sensitivity"] / 2, noise=half), "sensitivity"), (dict(noise=half), "noise.scale"),
                              (dict(epsilon=d["epsilon"] / 2), "")]:
            with pytest.raises(ValueError, match=f"{said}.* must be"):
                Release.from_json(resealed(text, **changes))
        assert Release.from_json(resealed(text)).to_json() == text


def test_bounds_reach_the_family_from_json_and_from_toml(tmp_path):
    (tmp_path / "family.toml").write_text('family = "Bounded"\nbounds = {clip = [0, 2.5]}\n')
    family = read_family(tmp_path / "family.toml", "wage")
    assert family == Bounded({"clip": (0.0, 2.5)}, "wage") and hash(family) == hash(Bounded({"clip": [0, 2.5]}, "wage"))
    made = release(family, [1.0] * 30, epsilon=0.1)
    again = Release.from_json(made.to_json())
    assert again == made and again.family == family
    for bounds in ({"clip": [0, 10**400]}, {"clip": [0, 1e300]}, {"clip": [[0, 1e300]]}, {"clip": 1}, {"clip": []}, {}, [1, 2], None, "wide"):
        with pytest.raises(ValueError):
            Release.from_json(resealed(made.to_json(), family={**family.to_dict(), "bounds": bounds}))


@dataclass(frozen=True)
class Unregistered(Bounded):
    "Nobody could read a release of it again."

    def to_dict(self):
        return {"family": "Unregistered", "bounds": {"clip": list(self.interval)}}


@dataclass(frozen=True)
class Unwritable(Bounded):
    "Its declaration is no JSON."

    def to_dict(self):
        return {"family": "Bounded", "bounds": np.zeros(2)}


@pytest.mark.parametrize("family", [Unregistered({"clip": (0, 1)}), Unwritable({"clip": (0, 1)}), Categorical(["a" * 10**7, "b" * 10**7])],
                         ids=["unregistered", "no JSON", "too large"])
def test_a_release_that_could_not_be_written_or_read_costs_nothing(family, tmp_path):
    ledger = Ledger(tmp_path / "budget.json", epsilon=1)
    with pytest.raises(ValueError, match="family must be one whose release can be written .* nothing was spent"):
        release(family, ["a" * 10**7] if isinstance(family, Categorical) else [0.5], epsilon=0.5, ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize("delta, warned", [(0.02, True), (0.01, True), (0.009, False), (1e-9, False)])
def test_a_delta_that_promises_little_is_warned_of(delta, warned, recwarn):
    release(Bernoulli(), [0, 1] * 50, epsilon=1, mechanism="gaussian", delta=delta)
    said = [str(w.message) for w in recwarn if w.category is UserWarning]
    assert [("far below 1/n = 0.01" in text) for text in said] == [True] * warned


def test_a_file_that_is_refused_is_named(tmp_path):
    path = tmp_path / "two\nlines.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"two\\nlines.json': the release must be a file of this package"):
        Release.load(path)
    for wrong in (3, None, b"x"):
        with pytest.raises(ValueError, match="path must be a path"):
            Release.load(wrong)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    _, made = simulate_release(0, Bernoulli(), {"probability": 0.5}, 10, 1.0)
    with pytest.raises(FileNotFoundError, match="no such folder, make it first.*nowhere'"):
        made.save(tmp_path / "nowhere" / "r.json")
    with pytest.raises(ValueError, match="path must be a path"):
        made.save(3)


@pytest.mark.parametrize("what", ["x", 3, None, Bernoulli()])
def test_only_a_class_is_registered(what):
    with pytest.raises(ValueError, match="family_class must be a class"):
        register(what)
    with pytest.raises(ValueError, match="family_class must be a class"):
        register_method(what, "own", None)
