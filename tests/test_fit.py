"""What a result of `fit` must be, seen from outside:
independent of other results, drawn and saved whole, and honest about trouble.
"""

import importlib
import json
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial

import arviz as az
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

from dp_bayes_nb import (Bernoulli, Beta, Categorical, Exponential, Gamma, Grouped, LinearRegression, LogNormal,
                         NormalInverseGamma, Pooled, Release, contrast, fit, register, simulate_release)
from dp_bayes_nb import fit as front_door
from dp_bayes_nb.base.checks import count_oracle
from dp_bayes_nb.base.draws import inference_data
from dp_bayes_nb.base.measurement import Noise
from dp_bayes_nb.models.contract import Model, family_class, not_fitted
from dp_bayes_nb.models.registry import MODELS, _registered
from dp_bayes_nb.models.counts import BernoulliLaw, ExponentialFamily
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.posterior import diagnose, identity, route
from dp_bayes_nb.posterior.fit import posterior_draws
from dp_bayes_nb.posterior.identity import entropy, is_told, run_entropy, run_key, source_digest, told_model
from dp_bayes_nb.posterior.route import method_for
from dp_bayes_nb.posterior.results import fitted, plot_posterior, predict, predictive_check, tabulated_density
from dp_bayes_nb.base.priors import LogDensity
from dp_bayes_nb.base.supports import Parameter

matplotlib.use("Agg")
door = sys.modules["dp_bayes_nb.posterior.fit"]
COUNT = 10  # releases; 45 pairs
LIMIT = 4.1  # standard errors of a correlation of zero: exceeded by one of 45 with probability 45 · 4.1e-5 = 0.002


def releases(count=COUNT, n=2000, epsilon=0.1):
    "Different ones: with one n, two of ten could publish the same number, and would be one release."
    return [simulate_release(Bernoulli(), {"probability": 0.4}, n + i, epsilon=epsilon, seed=jax.random.key(i))
            for i in range(count)]


def largest_correlation(rows):
    "Of any two rows, in standard errors."
    rows = np.stack([np.ravel(row) for row in rows])
    return np.abs(np.corrcoef(rows)[np.triu_indices(len(rows), 1)]).max() * rows.shape[1] ** 0.5


def draws_of(runs):
    return [next(iter(run.posterior.data_vars.values())).values for run in runs]


@pytest.mark.parametrize("method", ["exact", "collapsed", "naive"])
def test_draws_of_two_fits_are_independent(method, monkeypatch):
    "False alarm: 0.2% a method. With the seed alone for a key, as in 0.1.0, every correlation is nearly one."
    every = releases()
    assert largest_correlation(draws_of(fit(each, method=method, draws=250, progress=False) for each in every)) < LIMIT
    monkeypatch.setattr(door, "run_entropy", lambda release, prior, method, seed, options=None: entropy(seed))
    shared = draws_of(fit(each, method=method, draws=250, progress=False) for each in every[:3])
    assert largest_correlation(shared) > 0.99 * 1000**0.5


def test_the_interval_of_a_difference_has_the_length_that_it_should():
    "Within 10%, four standard errors of a standard deviation of 4,000 draws each; it was 230 times too short."
    one, two = draws_of(fit(each, progress=False) for each in releases(2))
    assert abs(np.std(one - two) / np.hypot(np.std(one), np.std(two)) - 1) < 0.1


def test_chains_of_several_parameters_are_independent_too():
    "Autocorrelated draws: the limit is for 400 effective draws, the least that fit accepts without a warning."
    made = [simulate_release(Categorical(4), {"probabilities": [0.1, 0.2, 0.3, 0.4]}, 1000, epsilon=0.2, seed=i)
            for i in range(4)]
    rows = [values[..., 0] for values in draws_of(fit(each, method="gibbs", progress=False) for each in made)]
    assert largest_correlation(rows) < LIMIT * (4000 / 400) ** 0.5


def test_the_same_call_gives_the_same_draws_also_from_a_file_and_in_another_process(tmp_path):
    release = releases(1)[0]
    release.save(tmp_path / "r.json")
    first = fit(release, progress=False)
    np.testing.assert_array_equal(*draws_of([first, fit(Release.load(tmp_path / "r.json"), progress=False)]))
    np.testing.assert_array_equal(predict(first, 3), predict(fit(release, progress=False), 3))
    code = ("import sys, warnings; warnings.simplefilter('ignore'); from dp_bayes_nb import Release, fit\n"
            "print(fit(Release.load(sys.argv[1]), progress=False).attrs['entropy'])")
    found = subprocess.run([sys.executable, "-c", code, str(tmp_path / "r.json")], capture_output=True, text=True,
                           check=True)
    assert found.stdout.strip() == first.attrs["entropy"]


def test_whatever_tells_two_questions_apart_changes_the_draws():
    release, prior = releases(1)[0], Beta(1.0, 1.0)
    scale = np.asarray(release.noise.scale)
    questions = [
        (release, prior, "exact", 0), (release, prior, "exact", 1), (release, prior, "collapsed", 0),
        (release, Beta(1.0, 2.0), "exact", 0),
        (release, LogDensity(lambda theta: 0.0), "exact", 0),
        (release, LogDensity(lambda theta: theta["probability"], version=1), "exact", 0),
        *((each, prior, "exact", 0) for each in (
            replace(release, values=release.values + 1), replace(release, n=release.n + 1),
            replace(release, family=Bernoulli("other")),
            replace(release, family=Bernoulli(success=0)),
            replace(release, noise=Noise("laplace", 2 * scale, release.noise.grid)),
            replace(release, noise=Noise("gaussian", scale, release.noise.grid), delta=1e-6)))]
    found = [run_entropy(*question) for question in questions]
    assert len(set(found)) == len(found)
    assert run_entropy(release, prior, "gibbs", 0, {"joint": True}) != run_entropy(release, prior, "gibbs", 0)


def test_a_log_density_is_known_by_name_version_and_bound_values_whatever_its_code():
    "Byte code differs between versions of Python; random numbers may not."
    def scaled(power):
        return lambda theta: power * jnp.log(theta["probability"])

    def made(power, body):
        "Two functions of one qualified name that close over equal values, of different code."
        def longer(theta):
            twice = 2 * power
            return twice * theta["probability"] - 1.0
        longer.__qualname__ = scaled(power).__qualname__
        return longer if body else scaled(power)

    def words(fn, version=None, **options):
        return run_entropy(releases(1)[0], LogDensity(fn, version=version), "exact", 0, options)
    short, long = made(1.0, False), made(1.0, True)
    assert short.__code__.co_code != long.__code__.co_code and words(short) == words(long)
    bound = [short, made(2.0, False), partial(short, k=1), partial(short, k=2), made(np.ones(2), False), jnp.sin]
    versions = [words(short, version) for version in (1, 2, "1")]
    assert len({*map(words, bound), *versions}) == len(bound) + len(versions)
    assert source_digest(short) != source_digest(long)  # folders of kept results look at texts
    assert words(short, f=short) == words(short, f=long) != words(short, f=bound[1])
    old = json.dumps({"prior": "LogDensity", "function": f"elsewhere.{short.__qualname__} 0123abcd"})
    assert is_told(LogDensity(short), old) and not is_told(LogDensity(words), old)


def test_a_model_has_other_random_numbers_when_its_author_raises_its_version():
    class Raised(Bernoulli):
        version = 1

    class Again(Raised):
        version = 2
    families = [kind("answer") for kind in (Bernoulli, Raised, Again)]
    families += [Grouped(family, "region", ["a", "b"]) for family in families]
    kept = [told_model(family) for family in families]
    assert len({json.dumps(each, sort_keys=True) for each in kept}) == 6
    assert kept[0] == families[0].to_dict() and kept[3] == families[3].to_dict()


def test_predictions_share_no_numbers_with_other_results_or_purposes():
    runs = [fit(each, draws=250, progress=False) for each in releases(8)]
    shares = [run.posterior["probability"].values for run in runs]
    errors = [(predict(run, 1).values[..., 0] - p) / np.sqrt(p * (1 - p)) for run, p in zip(runs, shares)]
    again = [(predict(run, 1, seed=1).values[..., 0] - p) / np.sqrt(p * (1 - p)) for run, p in zip(runs, shares)]
    more = [(predict(run, 2).values[..., 0] - p) / np.sqrt(p * (1 - p)) for run, p in zip(runs, shares)]
    checks = [predictive_check(run).z_rep.values[..., 0] - fitted(run)[0].n * p for run, p in zip(runs, shares)]
    assert largest_correlation([*errors, *again, *more, *checks, *shares]) < 4.8  # 780 pairs: 780 · 1.6e-6 = 0.001


def test_predictions_of_other_rows_have_other_errors():
    family = LinearRegression({"x": (0, 10)}, {"y": (0, 20)})
    theta = {"coefficients": np.array([1.0, 5.0]), "noise_variance": 4.0}
    release = simulate_release(family, theta, 5000, epsilon=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run = fit(release, NormalInverseGamma([0, 0], 0.01, 2, 2), method="naive", draws=500, progress=False)
    mean = lambda x: run.posterior["coefficients"].values @ np.array([x, 1.0])
    errors = [predict(run, {"x": [x]}).values[..., 0] - mean(x) for x in (2.0, 8.0)]
    np.testing.assert_array_equal(predict(run, {"x": [2.0]}), predict(run, {"x": np.array([2.0])}))
    assert largest_correlation(errors) < LIMIT


def ar1(rho, seed=0, chains=4, draws=1000):
    rng, x = np.random.default_rng(seed), np.zeros((chains, draws))
    x[:, 0] = rng.normal(size=chains)
    for t in range(1, draws):
        x[:, t] = rho * x[:, t - 1] + (1 - rho**2) ** 0.5 * rng.normal(size=chains)
    return x


def problems(values, independent=False, **stats):
    stats = {"nonfinite": np.zeros(values.shape[:2], bool), **stats}
    made = inference_data({"posterior": {"a": values}, "sample_stats": stats})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        diagnose._diagnose(made, independent)
    assert json.loads(made.posterior.attrs["problems"]) == [str(w.message) for w in caught]
    return " | ".join(str(w.message) for w in caught)


def test_few_effective_draws_are_said_and_good_chains_are_left_alone():
    "An AR(1) chain of 4,000 draws is worth 4,000 (1 − ρ) / (1 + ρ): 1,330 at ρ = 0.5, 82 at 0.96."
    assert not any(problems(ar1(0.5, seed)) for seed in range(20))
    assert all("effective" not in said and "ess_" in said and "its intervals are rough; use draws=" in said
               for said in (problems(ar1(0.96, seed)) for seed in range(20)))


def test_independent_draws_warn_of_nothing():
    assert not any(problems(ar1(0.0, seed, chains, draws), independent=True) for seed in range(10)
                   for chains, draws in ((4, 1000), (2, 20), (1, 4)))


def test_divergences_stuck_chains_and_kept_sums_are_said():
    good, few = ar1(0.0), np.arange(4000).reshape(4, 1000) < 7
    assert problems(good, diverging=few) == ("7 of 4000 trajectories diverged: a part of the posterior may be missing; "
                                             "use a longer warmup, or a more informative prior")
    assert not problems(good, diverging=few & False, acceptance_rate=np.full((4, 1000), 0.8), moved=~few, kept=few)
    assert "hardly moved" in problems(good, acceptance_rate=np.full((4, 1000), 0.05))
    assert "no possible sum was found" in problems(good, kept=np.arange(4000).reshape(4, 1000) % 10 == 0)
    stuck = good.copy()
    stuck[1] = 0.0
    assert "a chain of a did not move" in problems(stuck)


def test_sample_stats_have_the_names_of_arviz():
    release = simulate_release(Categorical(3), {"probabilities": [0.2, 0.3, 0.5]}, 1000, epsilon=0.5)
    stats = fit(release, method="collapsed", draws=200, warmup=200, progress=False).sample_stats
    if "accepted" in stats or "acceptance" in stats:
        pytest.fail("acceptance_rate is the name")
    family = LinearRegression({"x": (0, 10)}, {"y": (0, 20)})
    release = simulate_release(family, {"coefficients": np.array([1.0, 5.0]), "noise_variance": 4.0}, 300,
                                  epsilon=1.0)
    stats = fit(release, NormalInverseGamma([0, 0], 0.01, 2, 2), draws=200, warmup=300, progress=False).sample_stats
    assert {"acceptance_rate", "diverging", "lp", "nonfinite"} <= set(stats.data_vars)
    assert np.isfinite(stats["lp"]).all() and float(stats["lp"].std()) > 0


def declared(kind="laplace", z=3812.4, n=10_000, scale=20.0, grid=2.0**-20):
    return Release(Bernoulli("voted"), ("successes",), [round(z / grid) * grid], n, Noise(kind, [scale], [grid]), 1.0,
                   0.05,
                   delta=None if kind == "laplace" else 1e-6)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_declared_noise_goes_the_whole_road(kind, tmp_path):
    """Mean and standard deviation of 4,000 draws within four standard errors of brute force;
    and everything after fit works, from a file too.
    """
    release = declared(kind)
    run = fit(release, Beta(1, 1), progress=False)
    p = run.posterior["probability"].values
    if kind == "laplace":
        oracle = count_oracle(release.values, release.n, [1.0, 1.0], scale=20.0)
        mean, sd = oracle.mean()[0], oracle.sd()[0]
    else:
        s = np.arange(release.n + 1)
        w = np.exp(-0.5 * ((release.values[0] - s) / 20.0) ** 2)
        w, m = w / w.sum(), (s + 1) / (release.n + 2)
        mean = w @ m
        sd = np.sqrt(w @ (m * (1 - m) / (release.n + 3) + m**2) - mean**2)
    assert abs(p.mean() - mean) < 4 * sd / p.size**0.5 and abs(p.std() / sd - 1) < 4 * 0.75 / p.size**0.5
    run.to_netcdf(str(tmp_path / "run.nc"))
    back = az.from_netcdf(str(tmp_path / "run.nc"))
    for each in (run, back):
        assert fitted(each)[0].noise.scale.tolist() == [20.0] and fitted(each)[0].n == 10_000
        assert 0.5 < float(predictive_check(each, draws=250).p_value[0]) <= 1
        plot_posterior(each)
    np.testing.assert_array_equal(predict(run, 2), predict(back, 2))
    matplotlib.pyplot.close("all")


def test_what_cannot_be_kept_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(route.Route, "run", lambda *a, **k: pytest.fail("it was computed first"))
    for spoilt in (replace(declared(), values=np.array([1 / 3])), replace(declared(),
        noise=Noise("laplace", np.array([20.0]), np.array([4.0])), values=np.array([400.0]))):
        with pytest.raises(ValueError, match="release must be of values on the grid of their noise"):
            fit(spoilt, progress=False)


@pytest.mark.parametrize("spoil", [("successes", "failures"), ('"kind": "laplace"', '"kind": "cauchy"'),
                                   ('"n": 10000', '"n": -1')])
def test_a_damaged_result_is_refused_in_words(spoil):
    run = fit(declared(), draws=10, progress=False)
    run.posterior.attrs["release_json"] = run.posterior.attrs["release_json"].replace(*spoil)
    with pytest.raises(ValueError, match="sha256"):
        predict(run)


@pytest.mark.parametrize("forged", [{"names": 5}, {"noise": []}, {"values": {}}, {"values": ["a"]},
                                    {"noise": {"kind": "laplace"}}, {"n": "many"},
                                    {"family": {"family": "os.system"}},
                                    {"noise": {"kind": "cauchy", "scale": [1.0], "grid": [1.0]}}])
def test_a_forged_declaration_is_a_value_error(forged):
    document = {**json.loads(identity.release_text(declared())), **forged}
    del document["sha256"]
    with pytest.raises(ValueError):
        identity.read_release_text(seal(document))


def test_a_tabulated_posterior_is_drawn_as_it_is(tmp_path):
    """The curve in the picture is the tabulated density, not an estimate: the largest difference is rounding.
    From a file: the same picture.
    """
    release = simulate_release(Exponential((0, 90), "days"), {"rate": 0.05}, 500, epsilon=0.5)
    run = fit(release, Gamma(1, 1), progress=False)
    run.to_netcdf(str(tmp_path / "run.nc"))
    x, density = tabulated_density(run)
    line, again = (plot_posterior(each).lines[0].get_xydata()
                   for each in (run, az.from_netcdf(str(tmp_path / "run.nc"))))
    np.testing.assert_array_equal(line, again)
    np.testing.assert_allclose(line[1:-1, 1], np.interp(line[1:-1, 0], x, density), rtol=1e-12)
    rate = run.posterior["rate"].values.ravel()
    assert abs(np.trapezoid(line[:, 1], line[:, 0]) - 0.998) < 1e-3
    assert abs(np.trapezoid(line[:, 0] * line[:, 1], line[:, 0]) / 0.998 - rate.mean()) < 0.1 * rate.std()
    turns = np.count_nonzero(np.diff(np.sign(np.diff(line[:, 1]))))
    assert turns <= 1  # up, then down: no lumps
    matplotlib.pyplot.close("all")


@family_class
class Coin(BernoulliLaw):
    "A Bernoulli family that somebody wrote."
    column: str | None = None
    names, parameters = ("successes",), {"probability": Parameter("unit")}
    prior_type, default_prior, magnitude, _sensitivity = Beta, Beta(1.0, 1.0), 1.0, {"l1": 1.0, "l2": 1.0}
    project, feasible = Bernoulli.project, Bernoulli.feasible

    def statistic(self, x):
        return (x == 1,)

    def valid(self, x):
        return (x == 0) | (x == 1)


def test_a_family_of_ones_own_is_asked_for_all_that_is_read():
    "Whatever register accepts can be fitted, checked and predicted from; whatever is taken away is named."
    try:
        register(Coin)
        release = simulate_release(Coin(), {"probability": 0.3}, 200, epsilon=1.0)
        run = fit(release, draws=50, progress=False)
        assert predict(run, 2).shape == (4, 50, 2) and predictive_check(run).z_rep.shape == (4, 50, 1)
        for method in ("naive", "gibbs"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                fit(release, method=method, draws=20, progress=False)
    finally:
        _registered.pop("Coin", None)
    for lacking in ("parameters", "names", "statistic", "project", "feasible"):
        with pytest.raises(ValueError, match=f"without .*{'statistics' if lacking == 'names' else lacking}"):
            register(coin_without(lacking))
    for lacking in ("natural", "log_partition"):
        with pytest.raises(ValueError, match=f"{lacking} does not apply to Partial: it does not give its .*{lacking}"):
            coin_without(lacking)().moments({"probability": 0.3})


def coin_without(lacking):
    "Coin, as a class of its own, less one part."
    parts = {k: v for k, v in vars(Coin).items() if not k.startswith("__") or k == "__annotations__"}
    parts |= {k: vars(BernoulliLaw)[k] for k in ("natural", "log_partition", "simulate_records", "simulate", "update")}
    dropped = {lacking, "statistics" if lacking == "names" else lacking}
    return family_class(type("Partial", (ExponentialFamily,), {k: v for k, v in parts.items() if k not in dropped}))


@pytest.mark.parametrize("left_out", ["valid", "prior_type"])
def test_a_family_of_ones_own_may_leave_to_the_contract(left_out):
    "By default any number is valid where the column has no limits, and any prior of the parameters is taken."
    try:
        register(partial := coin_without(left_out))
        release = simulate_release(partial(), {"probability": 0.3}, 200, epsilon=1.0)
        run = fit(release, Beta(1.0, 1.0), draws=50, progress=False)
        assert predict(run, 2).shape == (4, 50, 2) and predictive_check(run).z_rep.shape == (4, 50, 1)
        if left_out == "prior_type":
            with pytest.raises(ValueError, match="prior must be one that draws probability"):
                fit(release, NormalInverseGamma(0, 1, 2, 2), progress=False)
    finally:
        _registered.pop("Partial", None)


def test_every_family_of_the_package_can_be_fitted():
    assert {name: not_fitted(getattr(importlib.import_module(f"dp_bayes_nb.{module}"), name))
            for name, module in MODELS.items()} == {
        name: [] for name in MODELS}


def test_predict_says_in_words_that_it_cannot():
    silent = family_class(type("Silent", (Coin,), {"simulate_records": Model.simulate_records}))
    run = fit(releases(1)[0], draws=10, progress=False)
    _registered["Silent"] = silent
    try:
        run.posterior.attrs["release_json"] = identity.release_text(replace(releases(1)[0], family=silent()))
        with pytest.raises(ValueError, match="does not apply to Silent: its records cannot be simulated: add simulate"):
            predict(run)
    finally:
        _registered.pop("Silent")


def test_the_front_door_is_the_function():
    assert front_door is fit and callable(run_key)


def quick(made, prior, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(made, prior, draws=200, warmup=200, chains=2, progress=False, **options)


def test_a_picture_beside_a_result_of_other_parameters_is_refused():
    share = quick(releases(1)[0], Beta(1, 1))
    other = quick(simulate_release(Categorical(3), {"probabilities": [0.2, 0.3, 0.5]}, 100, 1.0), None)
    for ours, naive in ((share, other), (other, share)):
        with pytest.raises(ValueError, match="naive must be a result with the same"):
            plot_posterior(ours, naive=naive)
    four = quick(simulate_release(Categorical(4), {"probabilities": [0.2, 0.3, 0.3, 0.2]}, 100, 1.0), None)
    with pytest.raises(ValueError, match="naive must be a result with the same"):
        plot_posterior(other, naive=four)


def test_coefficients_of_different_units_are_legible_in_one_picture():
    family = LinearRegression({"income": (0, 1e5), "age": (0, 1)}, response={"y": (0, 1)})
    theta = {"coefficients": np.array([0.2, 2e-6, 0.3]), "noise_variance": 0.01}
    made = simulate_release(family, theta, 5000, 20.0, seed=3)
    unit = np.array([1.0, 1e-5, 1.0])
    idata = quick(made, NormalInverseGamma(np.zeros(3), np.diag(unit**-2), 2.0, 0.02))
    ax = plot_posterior(idata, truth=theta["coefficients"])
    assert "standard deviations" in ax.get_xlabel()
    lengths = np.array([np.ptp(segment[:, 0]) for segment in ax.collections[0].get_segments()])
    assert lengths.min() > 0.2 * lengths.max(), "each row can be read"
    medians = np.median(idata.posterior["coefficients"].values, axis=(0, 1))
    said = [float(label.get_text().split(": ")[1]) for label in ax.get_yticklabels()]
    assert said == [float(f"{m:.3g}") for m in medians]


def test_the_axis_of_a_log_mean_says_what_it_is():
    made = simulate_release(LogNormal((1, 100)), {"log_mean": 2.0, "log_variance": 0.3}, 500, 5.0)
    ax = plot_posterior(quick(made, NormalInverseGamma(2, 1, 3, 1)))
    assert ax.get_xlabel() == "log mean: the mean of the records' logarithms"


def test_words_about_groups_name_the_argument_that_is_meant():
    "A pooled prior without pool, two releases of groups with it, a level in the place of a variable."
    model = Grouped(Bernoulli("ill"), "region", ["north", "south"], sizes="public")
    made = [simulate_release(model, {"probability": np.array([0.2, 0.4])}, [300, 200], 1.0, seed=k) for k in range(2)]
    for call in (fit, posterior_draws, method_for):
        with pytest.raises(ValueError, match="add pool='partial'"):
            call(made[0], Pooled())
    with pytest.raises(ValueError, match="^release must be one release of groups where groups are pooled"):
        fit(made, pool="partial")
    drawn = fit(made[0], progress=False)
    with pytest.raises(ValueError, match=r"compared by a= and b=: contrast\(data, a='north'\)"):
        contrast(drawn, "north", "south")
    with pytest.raises(ValueError, match="variable must be one of [^;]*$"):
        contrast(drawn, "east")
    assert 'pool="partial"' in fit.__doc__ and "new_group" in fit.__doc__
