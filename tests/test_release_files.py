"""Files of schemas 1 and 2 must be readable forever; anything else is refused."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dp_bayes_nb import Bernoulli, Categorical, Ledger, Release, register, release, simulate_release
from dp_bayes_nb.command.declarations import read_family
from dp_bayes_nb.models.contract import Model, family_class
from dp_bayes_nb.models.declarations import Column
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.ways.methods import register_method
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.noise.design import noise_design

FIXTURES = Path(__file__).parent / "fixtures"


@partial(register, releases_only=True)
@family_class
class Bounded(Model):
    "A real statistic, x itself, between public bounds that are declared as {clip = [lo, hi]}."

    bounds: Any
    column: str | None = None
    statistics = ("sum",)

    def __post_init__(self):
        kind, (low, high) = next(iter(dict(self.bounds).items()))
        assert kind == "clip"
        object.__setattr__(self, "bounds", (("clip", (float(low), float(high))),))

    interval = property(lambda self: self.bounds[0][1])
    magnitude = property(lambda self: max(map(abs, self.interval)))
    columns = property(lambda self: (Column(self.column, (), *self.interval),))

    def statistic(self, x):
        return (x,)

    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return self.interval[1] - self.interval[0]

    def to_dict(self):
        return {"family": "Bounded", "bounds": {"clip": list(self.interval)}, "column": self.column}


LAPLACE_2 = json.loads((FIXTURES / "release_schema2_laplace.json").read_text())


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
    assert (r.neighbours, r.missing, r.bounds_source, r.simulated, r.schema) == ("change_one", "error", "public", False,
                                                                                 1)
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
    assert (r.values * 2.0
            **19).tolist() == [json.loads((FIXTURES / "release_schema1_real.json").read_text())["integers"][0]]
    assert abs(r.values[0] - 625) < 64 * 25


def test_schema_2_is_read_forever():
    r = Release.load(FIXTURES / "release_schema2_laplace.json")
    assert r.family == r.model == Bernoulli("limit")
    assert (r.names, r.n, r.epsilon, r.delta, r.sensitivity) == (("successes",), 8802, 0.01, None, 1.0)
    assert (r.noise.kind, r.noise.scale.tolist(), r.noise.grid.tolist()) == ("laplace", [100.0], [1.0])
    assert (r.neighbours, r.missing, r.bounds_source, r.simulated, r.schema) == ("change_one", "error", "public", False,
                                                                                 2)
    assert (r.origin, r.budget, r.matrix, r.printed) == ("made here", {"epsilon": 0.01, "delta": None}, None, "exact")
    assert (r.id, r.values.tolist()) == (LAPLACE_2["id"], LAPLACE_2["values"]) and abs(r.values[0] - 1371) < 64 * 100
    assert isinstance(r.released, Measurement) and r.released.matrix is None


def test_schema_2_gaussian_real_and_other_promises_are_read_forever():
    r = Release.load(FIXTURES / "release_schema2_gaussian.json")
    assert r.family == Categorical(("none", "school", "university"), "education")
    assert (r.n, r.epsilon, r.delta, r.noise.kind, r.missing) == (2000, 0.5, 1e-6, "gaussian", {"as": "none"})
    assert r.noise.scale == pytest.approx([12.270608929868658] * 3, rel=1e-9)
    r = Release.load(FIXTURES / "release_schema2_real.json")
    assert r.family == Bounded({"clip": (0.0, 2.5)}, "wage")
    assert (r.n, r.neighbours, r.missing, r.bounds_source) == (500, "change_value", "drop", "private_quantile")
    assert (r.noise.grid.tolist(), r.noise.scale.tolist(), r.sensitivity) == ([2.0**-19], [25.0], 2.5)
    assert r.values.tolist() == json.loads((FIXTURES / "release_schema2_real.json").read_text())["values"] and (
        r.values[0] * 2**19) % 1 == 0


def test_two_releases_have_two_names_and_a_simulated_one_has_none():
    one, two = (release(Bernoulli(), [0, 1], epsilon=0.1) for _ in range(2))
    assert len({one.id, two.id}) == 2 and one != replace(one, id=two.id)
    assert Release.from_json(one.to_json()).id == one.id and one.id not in repr(one)
    first, again = (simulate_release(Bernoulli(), {"probability": 0.5}, 100, 0.1, seed=5) for _ in range(2))
    assert first.id is None and first == again and json.loads(first.to_json())["id"] is None


def test_releases_of_the_same_numbers_share_no_draws_and_a_file_gives_the_same():
    "The mutant: two releases without an id, as files of schema 1 have none, give the same draws."
    from dp_bayes_nb import fit

    draws = lambda r: fit(r, draws=20, chains=1, progress=False).posterior["probability"].values.tolist()
    noise, sensitivity = noise_design(Bernoulli(), epsilon=1.0)
    make = lambda name: Release(Bernoulli(), ("successes",), [50.0], 100, noise, sensitivity, 1.0, id=name)
    one, two = make("0" * 16), make("0" * 15 + "1")
    assert draws(one) == draws(Release.from_json(one.to_json())) != draws(two)
    assert draws(make(None)) == draws(make(None)) == draws(replace(make(None), schema=1)) != draws(one)


SCHEMA_2 = {
    "unknown": dict(seed=1), "family": dict(family={"family": "Bernoulli"}), "no values": dict(values=[]),
    "a text": dict(values="1"),
    "a boolean": dict(values=[True]), "null": dict(values=[None]), "off the grid": dict(values=[0.5]),
    "huge": dict(values=[10**400]),
    "beyond 53 bits": dict(values=[2**53]), "two values": dict(values=[1, 2]), "no noise": dict(noise=None),
    "noise as text": dict(noise="laplace"),
    "noise twice": dict(noise={"kind": "laplace", "scale": [100, 100], "grid": 1}),
    "another grid": dict(noise={"kind": "laplace", "scale": 100, "grid": 0.5}),
    "continuous": dict(noise={"kind": "laplace", "scale": 100, "grid": 0}),
    "a seed": dict(noise={"kind": "laplace", "scale": 100, "grid": 1, "seed": 0}),
    "half the scale": dict(noise={"kind": "laplace", "scale": 50, "grid": 1}),
    "a scale as text": dict(noise={"kind": "laplace", "scale": "100", "grid": 1}),
    "another law": dict(noise={"kind": "cauchy", "scale": 100, "grid": 1}),
    "mixed": dict(noise={"kind": ["laplace"], "scale": 100, "grid": 1}),
    "gaussian without delta": dict(noise={"kind": "gaussian", "scale": 100, "grid": 1}), "no budget": dict(budget=None),
    "half the budget": dict(budget={"epsilon": 0.005, "delta": None}), "a budget in rho": dict(budget={"rho": 0.1}),
    "delta": dict(budget={"epsilon": 0.01, "delta": 0.5}), "true": dict(budget={"epsilon": True, "delta": None}),
    "origin": dict(origin="declared"),
    "origin as object": dict(origin={"by": "an office"}), "no origin": dict(origin=None), "matrix": dict(matrix=[[1]]),
    "empty matrix": dict(matrix=[]),
    "rounded": dict(printed={"rounded": 5}), "printed null": dict(printed=None), "id": dict(id="xyz"),
    "id as number": dict(id=12),
    "long id": dict(id="0" * 17), "n null": dict(n=None), "n a float": dict(n=8802.0), "n by group": dict(n=[1, 2]),
    "sizes": dict(n=2**53),
    "sensitivity": dict(sensitivity=0.5), "neighbours": dict(neighbours=None), "weak": dict(missing="drop"),
    "add": dict(neighbours="add_remove"),
    "names": dict(names=["failures"]), "model null": dict(model=None),
    "another model": dict(model={"family": "Categorical", "k": 2}),
    "bounds": dict(bounds_source="data"), "schema true": dict(schema=True), "schema 3": dict(schema=3),
    "schema 1": dict(schema=1),
}


@pytest.mark.parametrize("what", SCHEMA_2)
def test_a_file_of_schema_2_is_checked_to_the_last_field(what):
    text = (FIXTURES / "release_schema2_laplace.json").read_text()
    with pytest.raises(ValueError) as caught:
        Release.from_json(resealed(text, **SCHEMA_2[what]))
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500
    if what in ("mixed", "origin", "origin as object", "no origin", "matrix", "empty matrix", "rounded",
                "printed null"):
        assert "declared from elsewhere" in str(caught.value)


def test_noise_of_several_kinds_and_models_that_are_none_are_refused_with_words():
    r = Release.load(FIXTURES / "release_schema2_gaussian.json")
    with pytest.raises(ValueError, match="one kind of noise for all sums, got .* declared from elsewhere"):
        replace(r, noise=Noise(("laplace", "gaussian", "gaussian"), r.noise.scale, r.noise.grid))
    with pytest.raises(ValueError, match="write the brackets"):
        replace(r, family=Categorical)


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
        "schema", "id", "origin", "model", "names", "values", "noise", "matrix", "n", "printed", "neighbours", "budget",
        "sensitivity",
        "missing", "bounds_source", "sha256"}


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path, first = tmp_path / "r.json", Release.load(FIXTURES / "release_schema1_laplace.json")
    first.save(path)
    monkeypatch.setattr("os.replace", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError):
        Release.load(FIXTURES / "release_schema1_gaussian.json").save(path, overwrite=True)
    assert Release.load(path) == first and list(tmp_path.iterdir()) == [path]


def test_simulated_and_real_files_differ_only_in_what_they_are():
    simulated = simulate_release(Bernoulli(), {"probability": 0.5}, 100, 0.1)
    real = release(Bernoulli(), [0, 1] * 50, epsilon=0.1)
    a, b = json.loads(simulated.to_json()), json.loads(real.to_json())
    assert {key for key in a if a[key] != b[key]} <= {"origin", "id", "values", "sha256"}
    assert (a["origin"], b["origin"]) == ("simulated", "made here")


def test_a_file_that_contradicts_its_own_family_is_refused():
    "Grid, sensitivity and scale follow from family and budget, sealed or not, simulated or not."
    files = [path.read_text() for path in sorted(FIXTURES.glob("release_*.json"))]
    files.append(simulate_release(Categorical(3), {"probabilities": [0.2, 0.3, 0.5]}, 100, 0.1).to_json())
    for text in files:
        d = json.loads(text)
        half = {**d["noise"], "scale": (np.array(d["noise"]["scale"]) / 2).tolist()}
        finer = {**d["noise"], "grid": np.array(d["noise"].get("grid", 1)).tolist()}
        if d["schema"] == 1:
            grid, budget = dict(grid_exponent=d["grid_exponent"] + 1), dict(epsilon=d["epsilon"] / 2)
        else:
            finer["grid"] /= 2
            grid, budget = dict(noise=finer), dict(budget={**d["budget"], "epsilon": d["budget"]["epsilon"] / 2})
        for changes, said in [(grid, "grid"), (dict(sensitivity=d["sensitivity"] / 2), "sensitivity"),
                              (dict(sensitivity=d["sensitivity"] / 2, noise=half), "sensitivity"),
                              (dict(noise=half), "noise.scale"), (budget, "")]:
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
    for bounds in ({"clip": [0, 10**400]}, {"clip": [0, 1e300]}, {"clip": [[0, 1e300]]}, {"clip": 1}, {"clip": []}, {},
                   [1, 2], None, "wide"):
        with pytest.raises(ValueError):
            Release.from_json(resealed(made.to_json(), model={**family.to_dict(), "bounds": bounds}))


class Unregistered(Bounded):
    "Nobody could read a release of it again."

    def to_dict(self):
        return {"family": "Unregistered", "bounds": {"clip": list(self.interval)}}


class Unwritable(Bounded):
    "Its declaration is no JSON."

    def to_dict(self):
        return {"family": "Bounded", "bounds": np.zeros(2)}


@pytest.mark.parametrize("family", [Unregistered({"clip": (0, 1)}), Unwritable({"clip": (0, 1)}),
                                    Categorical(["a" * 10**7, "b" * 10**7])],
                         ids=["unregistered", "no JSON", "too large"])
def test_a_release_that_could_not_be_written_or_read_costs_nothing(family, tmp_path):
    ledger = Ledger(tmp_path / "budget.json", epsilon=1)
    with pytest.raises(ValueError, match="model must be one whose release can be written .* nothing was spent"):
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
    made = simulate_release(Bernoulli(), {"probability": 0.5}, 10, 1.0)
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


@pytest.mark.parametrize("origin, there", [("made here", None), ("simulated", "0123456789abcdef")])
def test_a_real_release_has_an_id_and_a_simulated_one_has_none(origin, there):
    from dp_bayes_nb.releases.files import seal
    from dp_bayes_nb.releases.simulate import simulate_release

    simulated = simulate_release(Bernoulli("x"), {"probability": 0.3}, 100, 1.0)
    document = {key: value for key, value in json.loads(simulated.to_json()).items() if key != "sha256"}
    assert Release.from_json(seal(document)) == simulated
    with pytest.raises(ValueError, match="id must be 16 hexadecimal digits where origin is 'made here', and null"):
        Release.from_json(seal({**document, "origin": origin, "id": there}))
