"""Private naive Bayes through the public names: bad input, files, agreement of methods, classification."""

import contextlib
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.cli import main
from dp_bayes_nb.research.trials import component_names
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.naive_bayes.model import Dirichlets

SEEN = db.NaiveBayes(("insured", ["no", "yes"]), {"health": ["poor", "fair", "good"], "self_employed": 2})
PEOPLE = pd.DataFrame({"insured": ["yes", "no", "yes", "yes"] * 50, "health": ["good", "fair", "poor", "good"] * 50,
                       "self_employed": [0, 1, 0, 0] * 50})
QUICK = dict(draws=300, chains=2, progress=False)
NEW = {"health": ["poor", "good", "fair"], "self_employed": [1, 0, 1]}


@pytest.mark.parametrize("arguments, said", [
    ((("y", 2), {"y": 2}), "none of them the label 'y'"), ((("y", 2), [("a", 2), ("a", 3)]), "different columns"),
    ((("y", 2), {}), "a feature or more"),
    ((("y", 1), {"a": 2}), "at least two levels"), ((("y", [0.5, 1]), {"a": 2}), "a text or an integer"),
    (("y", {"a": 2}), "a pair"),
    ((("y", 2), {"draw": 2}), "other names than the results use"), ((("a_level", 2), {"a": 2}), "got ['a_level']")])
def test_wrong_declarations_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        db.NaiveBayes(*arguments)


@pytest.mark.parametrize("taken", [PEOPLE["health"], PEOPLE["health"].unique(), PEOPLE["health"].to_numpy(),
                                   set(PEOPLE["health"]), PEOPLE["health"].value_counts()])
@pytest.mark.parametrize("declare", [lambda k: db.Categorical(k), lambda k: db.NaiveBayes(("insured", k), {"a": 2}),
                                     lambda k: db.NaiveBayes(("insured", 2), {"health": k})])
def test_levels_taken_from_the_data_are_refused_and_not_shown(declare, taken):
    with pytest.raises(ValueError,
                       match=
                       f"a list of public levels, got '{type(taken).__name__} of length {len(taken)}'") as refused:
        declare(taken)
    assert not any(level in str(refused.value) for level in PEOPLE["health"])


def test_two_numbers_apart_are_levels_and_said_to_be(tmp_path):
    with pytest.warns(UserWarning, match=r"'age' has two levels, 18 and 90, .* list\(range\(18, 91\)\)"):
        family = db.NaiveBayes(("y", 2), {"age": (18, 90)})
    assert family.sizes == (2,)
    (tmp_path / "f.toml").write_text('family = "NaiveBayes"\nlabel = ["y", 2]\n[features]\nage = [18, 90]\n')
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["plan", "--family", str(tmp_path / "f.toml"), "--n", "5", "--method", "nosuch"])
    assert code == 2 and [line.startswith("dp-bayes: ") for line in err.getvalue().splitlines()] == [True,
        True] and "warning: 'age' has" in err.getvalue()


@pytest.mark.parametrize("change, said", [
    ({"health": "best"}, "200 outside the declared support of 200 records (200 outside in 'health', whose "),
    ({"health": None}, "(200 missing in 'health')"),
    ({"insured": "perhaps"}, "(200 outside in 'insured', whose levels are 'no', 'yes')"),
    ({"insured": "perhaps", "health": "best"},
     "(200 outside in 'insured', whose levels are 'no', 'yes'; 200 outside in 'health', "),
])
def test_undeclared_levels_and_missing_values_are_refused_with_their_column(change, said):
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        db.release(SEEN, PEOPLE.assign(**change), epsilon=1.0)
    assert not any(level in str(refused.value) for level in change.values() if level)


@pytest.mark.parametrize("method, noise", [("naive", {}), pytest.param("variational",
    {"mechanism": "gaussian", "delta": 1e-6}, marks=pytest.mark.slow)])
def test_a_release_survives_a_file_and_an_empty_class(tmp_path, method, noise):
    made = db.release(SEEN, PEOPLE.assign(insured="yes"), epsilon=0.05, **noise)
    made.save(tmp_path / "release.json")
    again = db.Release.load(tmp_path / "release.json")
    assert again == made and again.family == SEEN and len(again.names) == 10
    draws = db.fit(again, method=method, **QUICK)
    assert not bool(draws.sample_stats["nonfinite"].any())
    np.testing.assert_allclose(db.classify(draws, NEW).sum("insured"), 1.0)


def _smaller(document):
    document["model"]["features"][0][1].pop()


def _shorter(document):
    document["values"].pop()


def _fraction(document):
    document["values"][0] = 0.5


def _other_label(document):
    document["model"]["features"][1][0] = "insured"


@pytest.mark.parametrize("spoil", [_smaller, _shorter, _fraction, _other_label])
def test_tables_of_other_shapes_are_refused_on_load(spoil):
    document = json.loads(db.release(SEEN, PEOPLE, epsilon=1.0).to_json())
    document.pop("sha256")
    assert db.Release.from_json(seal(document)).family == SEEN
    spoil(document)
    with pytest.raises(ValueError):
        db.Release.from_json(seal(document))


def test_counts_that_are_not_finite_are_refused_and_negative_ones_are_not():
    document = json.loads(db.release(SEEN, PEOPLE, epsilon=1.0).to_json())
    document.pop("sha256")
    document["values"][0] = -190
    text = seal(document)
    assert db.Release.from_json(text).values[0] == -190
    for number in ("NaN", "Infinity", "1e999"):
        assert "-190," in text
        with pytest.raises(ValueError):
            db.Release.from_json(text.replace("-190,", f"{number},"))


@pytest.mark.parametrize("prior, said",
                         [({"helth": db.Dirichlet(1.0)}, "prior must be for"), (db.Dirichlet(-1.0), "> 0"),
                                         ({"health": db.Dirichlet(np.ones((3, 2)))}, "numbers of shape"),
                          ({"health": 1.0}, "a Dirichlet for 'health'")])
def test_wrong_priors_are_refused(prior, said):
    with pytest.raises(ValueError, match=said):
        db.fit(db.release(SEEN, PEOPLE, epsilon=1.0), prior, method="naive", **QUICK)


def test_wrong_methods_options_and_rows_are_refused():
    made = db.release(SEEN, PEOPLE, epsilon=1.0)
    for arguments, said in (({"method": "exact"}, "not available here"), ({"method": "nuts"}, "'variational'"),
                            ({"method": "variational", "starts": 0}, "starts must be"),
                            ({"method": "naive", "starts": 2}, "options must be")):
        with pytest.raises(ValueError, match=said):
            db.fit(made, **arguments, **QUICK)
    draws = db.fit(made, method="naive", **QUICK)
    with pytest.raises(ValueError,
                       match=r"of the declared levels of 'health' \(.*\) in every row, got 'another value in 1 of"):
        db.classify(draws, {"health": ["best"], "self_employed": [1]})
    for rows in ({"health": ["poor"]}, PEOPLE[["health"]]):
        with pytest.raises(ValueError, match="the feature 'self_employed'"):
            db.classify(draws, rows)
    with pytest.raises(ValueError, match="a data frame or a dictionary"):
        db.classify(draws, "people.csv")


def test_predictions_are_scored_and_drawn_through_the_public_names():
    import matplotlib
    matplotlib.use("Agg")
    draws = db.fit(db.release(SEEN, PEOPLE, epsilon=1.0), method="naive", **QUICK)
    probability = db.classify(draws, PEOPLE)
    assert 0.5 < db.classification_scores(probability, PEOPLE["insured"]).accuracy <= 1
    assert db.plot_reliability(db.reliability(probability, PEOPLE["insured"])).get_xlabel() == "probability given"


@pytest.mark.slow
def test_dirichlet_parameters_are_in_the_result_and_in_its_file(tmp_path):
    import arviz as az
    found = db.fit(db.release(SEEN, PEOPLE, epsilon=1.0), method="variational", **QUICK)
    assert found.dirichlet["health"].dims == found.posterior["health"].dims[2:] and found.dirichlet.attrs[
        "converged"] == 1
    found.to_netcdf(str(tmp_path / "posterior.nc"))
    saved = az.from_netcdf(str(tmp_path / "posterior.nc")).load()
    assert saved.dirichlet.equals(found.dirichlet) and saved.dirichlet.attrs == found.dirichlet.attrs
    mean = saved.dirichlet / saved.dirichlet["health"].sum("health_level")
    np.testing.assert_allclose(mean["health"], found.posterior["health"].mean(("chain", "draw")), atol=0.05)


def _conjugate(made, s):
    prior = Dirichlets({name: np.ones(p.shape) for name, p in SEEN.parameters.items()})
    return SEEN.update(prior, np.asarray(s), float(made.n)).alpha


def agreement(method, epsilon, **more):
    "Largest distance of a method's posterior means from the conjugate posterior's, in its standard deviations."
    import jax
    theta = {"class_probabilities": np.array([0.4, 0.6]), "health": np.array([[0.2, 0.3, 0.5], [0.3, 0.2, 0.5]]),
             "self_employed": np.array([[0.7, 0.3], [0.4, 0.6]])}
    made = db.simulate_release(SEEN, theta, 2000, epsilon, seed=jax.random.key(4))
    s = made.simulated_sums
    found, far = db.fit(made, method=method, **QUICK, **more).posterior, []
    for name, alpha in _conjugate(made, s).items():
        total = np.asarray(alpha).sum(axis=-1, keepdims=True)
        mean = np.asarray(alpha) / total
        far.append(np.abs(found[name].values.mean(axis=(0, 1)) - mean) / np.sqrt(mean * (1 - mean) / (total + 1)))
    return max(float(np.max(a)) for a in far)


@pytest.mark.parametrize("method", ["naive", pytest.param("variational", marks=pytest.mark.slow)])
def test_methods_agree_with_the_conjugate_posterior_without_noise(method):
    assert agreement(method, 1e4) < 0.35  # 600 draws: the largest of eleven errors of 0.04
    assert agreement(method, 0.05) > 1.0  # with noise they must not


@pytest.mark.slow
def test_the_sampler_has_the_right_limits():
    assert agreement("collapsed", 1e4, warmup=100) < 0.35
    assert agreement("collapsed", 0.05, warmup=100) > 1.0
    drowned = db.simulate_release(SEEN, {name: np.full(p.shape, 1 / p.shape[-1])
                                               for name, p in SEEN.parameters.items()}, 2000, 1e-6, seed=5)
    found = db.fit(drowned, draws=1000, warmup=100, chains=4, progress=False).posterior["health"].values[..., 0].ravel()
    assert abs(found.mean() - 1 / 3) < 0.03 and abs(found.std() - np.sqrt(1 / 18)) < 0.03  # Beta(1, 2), the prior


@pytest.mark.slow
def test_no_chain_stays_at_a_boundary_on_a_real_release():
    "One of four chains did, when they started from equal class shares."
    made = db.Release.load(Path(__file__).parent.parent / "nbs" / "releases" / "insured_0.3.json")
    found = db.fit(made, method="collapsed", progress=False).posterior
    assert max(np.max(table.attrs["rhat"]) for table in found.data_vars.values()) < 1.1


def test_a_calibration_names_every_cell_of_every_table():
    names = component_names(SEEN)
    assert names[:3] == ("class_probabilities[no]", "class_probabilities[yes]", "health[no, poor]")
    assert len(set(names)) == len(names) == sum(int(np.prod(p.shape)) for p in SEEN.parameters.values()) == 12


FAMILY = """family = "NaiveBayes"
label = ["insured", ["no", "yes"]]
[features]
health = ["poor", "fair", "good"]
self_employed = 2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    (tmp_path / "FAMILY.toml").write_text(FAMILY)
    return tmp_path


def command(text):
    return main(text.split("|") if "|" in text else text.split())


def test_the_command_releases_and_fits(folder, capsys):
    assert command("release people.csv --family FAMILY.toml --epsilon 2 -o release.json") == 0
    assert db.Release.load("release.json").family == SEEN
    fit = "fit|release.json|--method|naive|--draws|50|--chains|2|-o|draws.nc|--force|--prior|"
    assert command(fit + "{'class_probabilities': Dirichlet([500, 1]), 'health': Dirichlet(2)}") == 0
    assert "self_employed[yes, 1]" in capsys.readouterr().out
    assert command(fit + "{'helth': Dirichlet(2)}") == 2
    assert "prior must be for 'class_probabilities', 'health', 'self_employed'" in capsys.readouterr().err


@pytest.mark.parametrize("old, new, said", [("health = ", "insured = ", "none of them the label 'insured'"),
                                            ("label = ", "labels = ", "arguments among"),
                                            ('"fair", ', "", "50 outside the declared support"),
                                            ("[features]", "", "arguments among")])
def test_the_command_refuses_wrong_declarations_and_levels(folder, capsys, old, new, said):
    (folder / "FAMILY.toml").write_text(FAMILY.replace(old, new))
    assert command("release people.csv --family FAMILY.toml --epsilon 2 -o release.json") == 2
    assert said in capsys.readouterr().err and not (folder / "release.json").exists()


@pytest.mark.slow
def test_the_command_repeats_the_figure(folder, capsys):
    assert command("experiment karwa_fig1 --trials 64 --n 50 -o figure.json") == 0
    assert "squared error" in capsys.readouterr().out
    made = json.loads((folder / "figure.json").read_text())
    assert len(made["cells"]) == 5 and set(next(iter(made["cells"].values()))) == {
        "non_private", "naive", "rescaled", "variational", "ours"}
