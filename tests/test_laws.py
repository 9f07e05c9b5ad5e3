"""Models by weighted records: promises, sensitivities, moments by Monte Carlo, ranks, misfit that is seen, mutants."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
import scipy.stats as st
from test_contract import LAWS_CHECKED, cases, check

import dp_bayes_nb as db
from dp_bayes_nb.cli import main
from dp_bayes_nb.command.declarations import parse_prior, read_family
from dp_bayes_nb.base.supports import free_size
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models import varied_counts
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.posterior.results import _free_sums, cannot_contradict

PRIOR = {"mean": db.Gamma(16.0, 5.0), "size": db.Overdispersion(0.6)}
LAWS = {  # model, parameters
    "negative binomial": (db.NegativeBinomial((0, 15)), {"mean": 3.0, "size": 2.0}),
    "two limits": (db.NegativeBinomial((2, 9), above=[2, 6], weight=3), {"mean": 6.0, "size": 0.7}),
    "zeros": (db.ZeroInflatedPoisson((0, 9)), {"rate": 4.0, "inflation": 0.3}),
    "zeros, varied": (db.ZeroInflatedNegativeBinomial((0, 9)), {"mean": 4.0, "size": 3.0, "inflation": 0.2}),
    "truncated": (db.TruncatedPoisson((1, 6), above=[2]), {"rate": 1.3}),
    "mixture": (db.NormalMixture(range(0, 12, 2)),
                {"low_mean": 3.0, "gap": 4.0, "low_sd": 1.0, "high_sd": 2.0, "high_share": 0.3}),
}


def arrays(theta):
    return {name: jnp.asarray(value) for name, value in theta.items()}


@pytest.mark.parametrize("name, later", cases(LAWS_CHECKED))
def test_every_law_keeps_its_promises(name, later, monkeypatch):
    check(monkeypatch, name, later)


@pytest.mark.parametrize("name", LAWS)
def test_sensitivities_are_those_of_all_pairs(name):
    "Brute force over records, far ones too; a limit more would move the sums further."
    model, _ = LAWS[name]
    x = np.arange(-5.0, 30.0, 0.5) if name == "mixture" else np.arange(float(model.first), 40.0)
    T = np.stack([np.broadcast_to(np.asarray(v, float), x.shape) for v in model.statistic(x)], axis=1)
    d = np.abs(T[:, None] - T[None])
    assert d.sum(-1).max() == model.sensitivity()
    exact = (d**2).sum(-1).max()
    assert exact <= model.sensitivity(norm="l2") ** 2 <= exact * (1 + 1e-15)
    low, high = model.step_range(0)
    assert np.all(T.min(0) >= low) and np.all(T.max(0) <= high) and model.magnitude == np.abs(T).max()


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in (
    "two limits", "zeros, varied", "truncated") else name for name in LAWS])
def test_moments_are_those_of_many_simulated_records(name):
    "By another way than the weights; 200,000 records, six standard errors; a mutant with other parameters fails."
    model, theta = LAWS[name]
    key = jax.random.key(7)
    t = np.asarray(model.record_statistics(model.simulate_records(key, arrays(theta), 200_000)))

    def off(theta):
        mean, covariance = (np.asarray(a) for a in model.moments(arrays(theta)))
        away = t - mean
        products = (away[:, :, None] * away[:, None]).reshape(len(t), -1)
        z = [np.abs(away.mean(0)) / (away.std(0) / len(t) ** 0.5 + 1e-12),
             np.abs(products.mean(0) - covariance.ravel()) / (products.std(0) / len(t) ** 0.5 + 1e-12)]
        return max(each.max() for each in z)

    assert off(theta) < 6
    first = next(iter(theta))
    assert off({**theta, first: 1.05 * theta[first]}) > 6


def test_simulated_sums_cost_nothing_in_n_and_have_the_moments():
    model, theta = LAWS["negative binomial"]
    s = np.asarray(jax.jit(jax.vmap(lambda key: model.simulate(key, arrays(theta), 1e9)))(
        jax.random.split(jax.random.key(0), 400)))
    mean, covariance = (np.asarray(a) for a in model.moments(arrays(theta)))
    assert np.all(np.abs(s.mean(0) - 1e9 * mean) < 5 * np.sqrt(1e9 * np.diag(covariance) / 400))
    ratio = np.cov(s.T) / (1e9 * covariance)
    assert np.all(np.abs(ratio - 1) < 0.5)


def test_poisson_is_the_limit_and_gradients_are_finite():
    model = db.NegativeBinomial((0, 15))
    expected = st.poisson.pmf(np.arange(15), 3.0)
    np.testing.assert_allclose(model.weights(arrays({"mean": 3.0, "size": 1e12}))[:15], expected, rtol=1e-9)
    for size in (1e-3, 1.0, 1e8, 1e15):
        slopes = jax.jacobian(lambda theta: model.moments(theta)[0])(arrays({"mean": 3.0, "size": size}))
        assert all(np.all(np.isfinite(each)) for each in slopes.values())


def test_engines_give_equal_sums(tmp_path):
    values = [0, 0, 3, 6, 7, 15, 40, 2]
    model = db.NegativeBinomial((0, 15), "x", above=[0, 6])
    table = pl.DataFrame({"x": values})
    table.write_csv(tmp_path / "it.csv")
    found = {str(exact_sums(model, each, grid_exponent=0).integers)
             for each in (table, table.lazy(), table.to_pandas(), table.to_arrow(), str(tmp_path / "it.csv"))}
    clipped = np.minimum(values, 15)
    assert found == {str((int(clipped.sum()), 7 * int((clipped > 0).sum()), 7 * int((clipped > 6).sum())))}
    bins = db.NormalMixture([1, 2, 4, 8, 16], "x")
    assert exact_sums(bins, table, grid_exponent=0).integers == (2, 0, 2, 2, 1, 1)


def test_zeros_among_truncated_counts_are_refused_without_a_record():
    with pytest.raises(ValueError) as caught:
        db.release(db.TruncatedPoisson((1, 9)), np.array([1, 2, 0, 7]), epsilon=1.0)
    assert "valid" in str(caught.value) or "record" in str(caught.value)


HOSTILE = (
    (lambda: db.NegativeBinomial((0, 15.5)), "bounds must be"), (lambda: db.NegativeBinomial((0, 1e9)), "bounds must"),
    (lambda: db.NegativeBinomial((-1, 9)), "bounds must"), (lambda: db.NegativeBinomial((0, 9), above=[9]), "limits"),
    (lambda: db.NegativeBinomial((0, 9), above="6"), "limits"), (lambda: db.NegativeBinomial((0, 9), 3), "column"),
    (lambda: db.NegativeBinomial((0, 9), weight=-1), "weight"), (lambda: db.TruncatedPoisson((0, 9)), "bounds must be"),
    (lambda: db.ZeroInflatedPoisson((1, 9)), "zeros must be seen"), (lambda: db.NormalMixture([1, 2, 3]), "edges must"),
    (lambda: db.NormalMixture([1, 2, 3, 3, 4, 5]), "edges must"), (lambda: db.NormalMixture("abc"), "edges must"),
    (lambda: check_prior(LAWS["zeros"][0], {"rate": db.Beta(1, 1)}), "prior"),
    (lambda: check_prior(LAWS["zeros"][0], db.Gamma(1, 1)), "dictionary of priors"),
    (lambda: check_prior(LAWS["zeros"][0], {"speed": db.Gamma(1, 1)}), "dictionary of priors"),
    (lambda: check_prior(LAWS["zeros"][0], {"rate": db.Gamma(-1, 1)}), "prior.shape"),
)


@pytest.mark.parametrize("made, words", HOSTILE, ids=[words + str(i) for i, (_, words) in enumerate(HOSTILE)])
def test_hostile_declarations_are_refused_in_words(made, words):
    with pytest.raises(ValueError, match=words):
        made()


def test_the_command_line_reads_the_family_and_a_prior_by_parameter(tmp_path, capsys):
    (tmp_path / "f.toml").write_text('family = "NegativeBinomial"\nbounds = [0, 15]\nabove = [6]\ncolumn = "visits"\n')
    assert read_family(tmp_path / "f.toml") == db.NegativeBinomial((0, 15), "visits", [6])
    prior = parse_prior('{"mean": Gamma(16, 5), "size": Overdispersion(0.6)}')
    assert check_prior(db.NegativeBinomial((0, 15)), prior).priors["size"].scale == 0.6
    pl.DataFrame({"visits": np.random.default_rng(0).negative_binomial(2, 0.4, 400)}).write_csv(tmp_path / "it.csv")
    assert not main(["release", str(tmp_path / "it.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "1", "-o",
                     str(tmp_path / "r.json")])
    assert db.Release.load(tmp_path / "r.json").family == db.NegativeBinomial((0, 15), "visits", [6])
    capsys.readouterr()
    assert not main(["fit", str(tmp_path / "r.json"), "--draws", "50", "--warmup", "50", "--prior",
                     '{"mean": Gamma(16, 5), "size": Overdispersion(0.6)}'])
    assert "could not contradict the model NegativeBinomial: it has 2 free parameters for 2 free sums" \
        in capsys.readouterr().out


def test_what_a_release_could_contradict():
    def says(model, theta):
        return cannot_contradict([db.simulate_release(model, theta, 400, 1.0)])
    assert says(db.Poisson((0, 9)), {"rate": 3.0}) == "it has 1 free parameter for 1 free sum"
    assert says(db.Above(db.Poisson((0, 9)), [4]), {"rate": 3.0}) is None
    assert says(*LAWS["negative binomial"]) is not None and says(*LAWS["two limits"]) is None
    assert says(*LAWS["zeros"]) is not None and says(*LAWS["mixture"]) is None  # of seven bins six are free: 5 < 6
    for model in (db.Bernoulli(), db.Categorical(4)):  # declared, and computed
        assert model.saturated and _free_sums(model, free_size(model.parameters)) == free_size(model.parameters)


def p_values(size, trials=200, n=1000, draws=2000):
    """Of the noisy count above 6 given the noisy sum, under Poisson, of tables of mean 3, (trials,): what `row_check`
    computes, by weights on a grid of the rate and of the sum before noise.
    """
    rng, model, x, rates = np.random.default_rng(1), db.Above(db.Poisson((0, 15)), [6], 7), np.arange(15), \
        np.linspace(2.0, 4.5, 126)
    law = st.nbinom(size, size / (size + 3.0)) if np.isfinite(size) else st.poisson(3.0)
    b, each = model.sensitivity(), jax.jit(jax.vmap(lambda rate: model.moments({"rate": rate})))
    mu, S = (np.asarray(a) * n for a in each(jnp.asarray(rates)))
    T = np.stack([np.asarray(v, float) for v in model.statistic(np.arange(16.0))], axis=1)
    noise = lambda shape: rng.geometric(-np.expm1(-1 / b), shape) - rng.geometric(-np.expm1(-1 / b), shape)
    z = rng.multinomial(n, [*law.pmf(x), law.sf(14)], trials) @ T + noise((trials, 2))
    out = []
    for first, second in z:
        s = first + np.arange(-12 * b, 12 * b + 1)
        log_w = st.norm.logpdf(s, mu[:, :1], np.sqrt(S[:, :1, 0])) - np.abs(s - first) / b
        w = np.exp(log_w - log_w.max()).ravel().cumsum()
        r, k = np.divmod(np.searchsorted(w, rng.random(draws) * w[-1]), len(s))
        slope = S[r, 0, 1] / S[r, 0, 0]
        sd = np.sqrt(S[r, 1, 1] - slope * S[r, 0, 1])
        again = mu[r, 1] + slope * (s[k] - mu[r, 0]) + sd * rng.normal(size=draws) + noise(draws)
        out.append(min(1.0, 2 * min((again <= second).mean(), (again >= second).mean())))
    return np.array(out)


def test_overdispersion_is_seen_by_a_second_statistic():
    "p < .01 in 95% of 200 releases of negative binomial counts of size 5, and in few where counts are Poisson."
    assert (p_values(5.0) < 0.01).mean() >= 0.95
    right = p_values(np.inf)
    assert (right < 0.01).mean() <= st.binom.ppf(0.999, 200, 0.01) / 200
    assert (right < 0.05).mean() <= st.binom.ppf(0.999, 200, 0.05) / 200


def by_overdispersed_counts():
    "A noisy sum and a noisy number of large counts, which vary more than Poisson counts do."
    model = db.NegativeBinomial((0, 15), above=[6], weight=7)
    return db.simulate_release(model, {"mean": 3.0, "size": 4.0}, 1000, 1.0, seed=3)


@pytest.mark.slow  # the chapter of row_check sees one, too, and blames no right model
def test_row_check_sees_a_wrong_model():
    made = by_overdispersed_counts()
    wrong = dataclasses.replace(made, family=db.Above(db.Poisson((0, 15)), [6], 7))
    check = db.row_check(wrong, db.Gamma(2.0, 0.5), draws=250, warmup=250)
    assert list(check.statistic.values) == list(made.names) and float(check.p_value[1]) < 0.01
    assert db.row_check(wrong, db.Gamma(2.0, 0.5), draws=250, warmup=250).equals(check)


@pytest.mark.slow
def test_row_check_does_not_blame_a_right_model():
    assert float(db.row_check(by_overdispersed_counts(), PRIOR, draws=250, warmup=250).p_value.min()) > 0.01


def ranks(model, trials, n=2000):
    "The least p-value of uniform ranks, of the parameters and the joint one, times how many they are."
    p = db.calibrate(model, PRIOR, n=n, epsilon=2.0, trials=trials, draws=49, power=False, seed=3).p_values
    return len(p) * min(p.values())


def test_moments_of_clipped_columns_and_a_mutant():
    """In three dimensions, heavily clipped, by 400,000 records, six standard errors; conditional means that ignore
    the correlation fail.
    """
    model = db.MultivariateNormal({"a": (-1, 1), "b": (0, 1), "c": (-2, 0.5)})
    L = np.array([[1.2, 0, 0], [-0.7, 0.5, 0], [0.6, 0.6, 1.0]])
    theta = arrays({"mean": np.array([0.3, 0.2, -0.4]), "covariance": L @ L.T})
    t = np.asarray(model.record_statistics(model.simulate_records(jax.random.key(5), theta, 400_000)))
    mean, covariance = (np.asarray(a) for a in jax.jit(model.moments)(theta))
    error = t.std(axis=0) / len(t) ** 0.5
    assert np.all(np.abs(t.mean(axis=0) - mean) < 6 * error)
    assert np.abs(np.cov(t.T) - covariance).max() < 0.01
    apart = {**theta, "covariance": jnp.diag(jnp.diagonal(theta["covariance"]))}
    assert np.max(np.abs(t.mean(axis=0) - np.asarray(model.moments(apart)[0])) / error) > 50
    near = {**theta, "covariance": theta["covariance"].at[0, 1].multiply(0.99).at[1, 0].multiply(0.99)}
    assert np.max(np.abs(mean - np.asarray(model.moments(near)[0]))) > 1e-4  # far beyond the error of the rule
    assert np.max(model.moments_error(theta)) < 1e-7


@pytest.mark.slow
def test_ranks_of_the_negative_binomial_are_uniform():
    assert ranks(db.NegativeBinomial((0, 15)), 160) > 0.01


@pytest.mark.slow
def test_ranks_see_a_mean_that_is_a_little_off(monkeypatch):
    "The mutant: counts at the upper bound are forgotten, as if nothing were clipped."
    right = varied_counts.ClippedCounts.weights
    model = db.NegativeBinomial((0, 6), above=[4])
    monkeypatch.setattr(varied_counts.ClippedCounts, "moments", lambda self, theta: (
        right(self, theta)[:-1] @ jnp.stack([jnp.asarray(v, float) for v in self.statistic(jnp.arange(6.0))], axis=1),
        db.WeightedRecords.moments(self, theta)[1]))
    assert ranks(model, 60) < 1e-4


@pytest.mark.slow  # the check itself is that of `row_check`, above
def test_the_command_says_whether_a_release_speaks_against_its_model(tmp_path, capsys):
    "A declared sum of Poisson counts, and seven times a number above 6: as many as expected, and three times as many."
    for many, said in ((703, "does not speak against the model"), (2100, "The release speaks against the model")):
        made = db.declare(db.Above(db.Poisson((0, 15)), [6], weight=7), [9000, many], n=3000,
                          noise=db.Laplace(scale=22), source="these tests")
        made.save(tmp_path / f"{many}.json")
        ask = ["fit", str(tmp_path / f"{many}.json"), "--prior", "Gamma(1, 0.1)", "--draws", "200", "--warmup", "100"]
        assert not main([*ask, "--check"]) and said in capsys.readouterr().out
    assert not main(ask) and "--check tries it" in capsys.readouterr().out
