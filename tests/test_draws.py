"""What `fit` returns is what the installed ArviZ works on, whichever generation that is."""

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.base import draws as arviz_draws
from dp_bayes_nb.base.draws import add_groups, ess, group, group_names, kde, read_netcdf, rhat, second_generation

ROOT = Path(__file__).resolve().parent.parent
LIB = ROOT / "dp_bayes_nb"
FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def waits():
    return db.fit(db.simulate_release(db.Exponential((0, 90), "days"), {"rate": 0.1}, 1000, 0.5),
                  db.Gamma(2, 10), draws=400, warmup=300, chains=4, method="collapsed", progress=False)


def test_arviz_summarises_and_draws_what_fit_returns(waits):
    import arviz as az
    import matplotlib.pyplot as plt
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ's own, of its next version
        table = az.summary(waits, round_to="none") if second_generation() else az.summary(waits, round_to=8)
        rate = waits.posterior["rate"].values
        assert float(table["mean"].iloc[0]) == pytest.approx(rate.mean(), rel=1e-6)
        assert float(table["ess_bulk"].iloc[0]) == pytest.approx(waits.posterior["rate"].attrs["ess_bulk"], rel=1e-6)
        assert float(table["r_hat"].iloc[0]) == pytest.approx(waits.posterior["rate"].attrs["rhat"], rel=1e-6)
        az.plot_forest(waits)
        (az.plot_trace_dist if second_generation() else az.plot_trace)(waits)
        plt.close("all")


def test_loo_refuses_one_release_and_the_words_say_why(waits):
    import arviz as az
    with pytest.raises(TypeError, match="log likelihood not found"):
        az.loo(waits)
    with pytest.raises(ValueError, match="the rows of one release are sums over the same records"):
        db.extend(waits, groups="log_likelihood")


@pytest.mark.parametrize("model, prior, truth", [
    (db.Categorical(["a", "b", "c"]), None, {"probabilities": [0.2, 0.3, 0.5]}),
    pytest.param(db.Normal((0.0, 10.0)), db.NormalInverseGamma(5, 1, 2, 2), {"mean": 4.0, "variance": 2.0},
                 marks=pytest.mark.slow),
    (db.Grouped(db.Bernoulli("x"), "g", ["a", "b"], sizes="public"), None, {"probability": [0.2, 0.5]})])
def test_groups_that_are_added_have_the_axes_of_what_was_observed(model, prior, truth):
    n = [200, 300] if isinstance(model, db.Grouped) else 500
    idata = db.fit(db.simulate_release(model, truth, n, 1.0, seed=1), prior, draws=100, warmup=100, progress=False)
    made = db.extend(idata, prior or db.Dirichlet([1, 1, 1]) if "probabilities" in truth else prior, draws=50)
    rows = group(made, "observed_data")["released"]
    for name in ("posterior_predictive", *(["prior_predictive"] if prior else [])):
        assert group(made, name)["released"].dims == ("chain", "draw", *rows.dims), name
    predicted = group(made, "posterior_predictive")["released"]
    assert predicted.shape == (4, 50, len(rows))
    assert np.all(np.abs(predicted.mean(("chain", "draw")) - rows) < 6 * predicted.std(("chain", "draw")))
    known = group(made, "constant_data")
    assert known["noise_scale"].shape == rows.shape and float(known["n"].sum()) == np.sum(n)
    assert float(known["epsilon"]) == 1.0
    assert group_names(db.extend(made, groups="posterior_predictive")) == group_names(made)  # put in its place


def test_results_of_independent_tables_say_their_budgets_and_sizes():
    tables = [db.simulate_release(db.Bernoulli(), {"probability": 0.3}, 100 + k, 0.5 + k, seed=k) for k in range(3)]
    known = group(db.fit(tables, draws=50, progress=False), "constant_data")
    assert known["n"].values.tolist() == [100, 101, 102] and known["epsilon"].values.tolist() == [0.5, 1.5, 2.5]
    assert known["n"].dims == ("table",) and known["noise_scale"].shape == (3,)


@pytest.mark.parametrize("generation", ["first", "second"])
def test_a_file_of_either_generation_is_read(generation, tmp_path):
    "Written by each, small, of the same release and seed: draws, diagnostics and groups come back, and can be used."
    idata = read_netcdf(FIXTURES / f"arviz_{generation}.nc")
    again = db.fit(db.Release.from_json(idata.posterior.attrs["release_json"]), db.Beta(1, 1), draws=25, chains=2,
                   progress=False)
    assert np.allclose(idata.posterior["probability"], again.posterior["probability"], rtol=1e-12)
    assert set(group_names(again)) == set(group_names(idata)) and db.predict(idata, 10).shape[:2] == (2, 25)
    assert float(group(idata, "tabulated")["cdf"][-1]) == pytest.approx(1.0)
    idata.to_netcdf(str(tmp_path / "again.nc"))
    assert np.array_equal(read_netcdf(tmp_path / "again.nc").posterior["probability"], idata.posterior["probability"])


def test_one_module_knows_arviz():
    "No other module imports it; a user of the first generation reads nothing of the second."
    asks = {}
    for path in LIB.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
        if any(name.split(".")[0].startswith("arviz") for name in names):
            asks[path.relative_to(LIB).as_posix()] = names
    assert [*asks] == ["base/draws.py"]
    code = ("import dp_bayes_nb as db\n"
            "share = db.declare(db.Bernoulli(), [61], n=300, noise=db.Laplace(scale=2), source='an office')\n"
            "db.fit(share, db.Beta(1, 1), progress=False)")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_decides_and_not_what_a_module_offers(monkeypatch):
    import importlib.metadata as metadata
    for version, expected in (("0.23.4", False), ("1.0.0", True), ("2.1", True)):
        monkeypatch.setattr(metadata, "version", lambda name, version=version: version)
        second_generation.cache_clear()
        assert second_generation() is expected
    def only_a_part(name):
        if name == "arviz":
            raise metadata.PackageNotFoundError
        return "1.3.1"
    monkeypatch.setattr(metadata, "version", only_a_part)
    second_generation.cache_clear()
    assert second_generation()
    monkeypatch.undo()
    second_generation.cache_clear()


def test_diagnostics_have_one_value_a_component():
    x = np.random.default_rng(2).normal(size=(4, 250, 2, 3))
    assert ess(x).shape == rhat(x).shape == (2, 3) and ess(x, "tail").shape == (2, 3)
    assert ess(x[:, :, 0, 0]).shape == () and ess(x, "quantile", 0.1).shape == (2, 3)
    assert np.allclose(ess(x)[1, 2], ess(x[:, :, 1, 2])) and len(kde(x)[0]) == 512
    assert arviz_draws.as_dataset(3) == 3 and add_groups.__doc__
