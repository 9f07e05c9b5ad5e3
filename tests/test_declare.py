"""Numbers that somebody else published: whatever is declared is kept, holds the truth, and survives a file."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dp_bayes_nb import (
    Bernoulli, Categorical, Clamped, Clip, Exact, Exponential, Gamma, Gaussian, Laplace, LogDensity, Normal,
    Poisson, PrintedAbove, Release, Rounded, Suppressed, combine, declare, fit, predictive_check,
    read_table, simulate_like, simulate_release,
)
from dp_bayes_nb.base.checks import must_fail, wasserstein1
from dp_bayes_nb.noise.printing import unprinted
from dp_bayes_nb.posterior.identity import as_releases, read_release_text, release_text
from dp_bayes_nb.chains.measurements import rows_that_tell, without_implied
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.releases.files import seal

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
FIXTURES = Path(__file__).parent / "fixtures"
SOURCE = "a made-up office, table 1"


def law(draw, discrete):
    "A statement of noise and its scale, in one of its words."
    scale = draw(st.sampled_from([0.5, 1.0, 3.0, 20.0]))
    make = draw(st.sampled_from([lambda: Laplace(scale=scale, discrete=discrete),
                                 lambda: Gaussian(sd=scale, discrete=discrete),
                                 lambda: Gaussian(variance=scale**2, discrete=discrete),
                                 lambda: Laplace.from_epsilon(1 / scale, 1, discrete=discrete)]))
    return make()


def noise_of(statement, rng):
    "A draw of stated noise, by NumPy alone."
    scale, whole = float(statement.law(1).scale[0]), statement.discrete
    if isinstance(statement, Laplace):
        one, two = rng.geometric(-math.expm1(-1 / scale), 2)
        return one - two if whole else rng.laplace(scale=scale)
    e = rng.normal(scale=scale)
    return round(e) if whole else e


def printing(draw, y):
    "A statement and what it prints of y, spelled out; rows that a floor would hide are drawn with a floor below."
    kind = draw(st.sampled_from(["exact", "rounded", "clamped", "suppressed", "above", "rounded, clamped"]))
    step, limit = draw(st.sampled_from([2, 5, 10])), draw(st.sampled_from([0, 7, 40]))
    rounded = float(round(y / step) * step)  # Python's round, halves to the even one
    return {"exact": (Exact(), y), "rounded": (Rounded(step), rounded), "clamped": (Clamped(low=limit), max(y, limit)),
            "suppressed": (Suppressed(limit), None if y < limit else y),
            "above": (PrintedAbove(math.floor(y) - 3), y),
            "rounded, clamped": (Rounded(step) & Clamped(low=0), max(rounded, 0.0))}[kind]


@st.composite
def tables(draw):
    "Arguments of a declaration, and the noisy numbers behind it."
    rng, n = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.integers(30, 400))
    model, sums = draw(st.sampled_from([
        (Bernoulli("x"), lambda: [rng.binomial(n, 0.2)]), (Categorical(("a", "b", "c")), lambda: rng.multinomial(
            n, [0.1, 0.3, 0.6])), (Poisson(Clip(0, 9)), lambda: [np.minimum(rng.poisson(2, n), 9).sum()]),
        (Exponential(Clip(0.0, 8.0)), lambda: [np.minimum(rng.exponential(3, n), 8).sum()])]))
    s, m = np.array(sums(), float), len(model.names)
    known = draw(st.sampled_from(["n", "n_noise", "n_range"]))
    matrix = rng.integers(0, 2, (draw(st.integers(1, 4)), m)) if draw(st.booleans()) else None
    true = s if matrix is None else matrix @ s
    discrete = model.integer and draw(st.booleans())
    statements = [law(draw, discrete) for _ in true]
    y = np.array([t + noise_of(e, rng) for t, e in zip(true, statements)])
    rows = [printing(draw, each) for each in y]
    options = {"n": dict(n=n), "n_range": dict(n_range=(0, 2 * n))}.get(known)
    if options is None:
        first = law(draw, True)
        options = dict(n=n + noise_of(first, rng), n_noise=first)
        y = np.r_[options["n"], y]
    return dict(model=model, values=[v for _, v in rows], noise=statements, matrix=matrix, printed=[p for p, _ in rows],
                source=SOURCE, neighbours=draw(st.sampled_from([None, "add_remove", "change_one"])), **options), y


def holds(release, y):
    "What was printed says that the noisy numbers lay where they lay."
    seen = release.released
    low, high = (seen.z if end is None else end for end in (seen.low, seen.high))
    assert np.all(np.asarray(low) <= y + 1e-9) and np.all(y - 1e-9 <= np.asarray(high)), (release, y)
    assert seen.floor is None or np.all(y > np.asarray(seen.floor))
    assert np.all(np.isfinite(seen.z)) and np.all((low <= seen.z) & (seen.z <= high))


@hypothesis.given(tables())
@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
def test_a_declaration_is_never_refused_holds_the_truth_and_survives_a_file(table):
    arguments, y = table
    release = declare(**arguments)
    holds(release, y)
    text = release.to_json()
    again = Release.from_json(text)
    assert again == release and again.to_json() == text and hash(again) == hash(release)
    assert again.id == release.id and again.printed == release.printed and again.n_range == release.n_range
    for field in ("values", "matrix"):
        one, other = getattr(release, field), getattr(again, field)
        assert (one is None and other is None) or np.array_equal(one, other, equal_nan=True)
    assert read_release_text(release_text(release)) == release
    assert all(line.isprintable() for line in repr(release).splitlines()) and SOURCE in repr(release)
    assert declare(**arguments) == release and declare(**{**arguments, "source": "another"}).id != release.id


def test_printed_numbers_taken_for_noisy_ones_do_not_hold_the_truth():
    "The mutant of the property above: a rounded 20 that was 18, a 0 that was -7, and a blank taken for its threshold."
    release = declare(Categorical(3), [20, 0, None], n=30, noise=Laplace(scale=9, discrete=True), source=SOURCE,
                      printed=[Rounded(5), Clamped(low=0), Suppressed(10)])
    y = np.array([18.0, -7.0, 2.0])
    holds(release, y)
    naive = declare(Categorical(3), [20, 0, 10], n=30, noise=Laplace(scale=9, discrete=True), source=SOURCE)
    must_fail(lambda: holds(naive, y), "printed exactly")


def test_a_declared_file_of_schema_2_is_read_forever(tmp_path):
    "Every part of a declaration, as version 0.4.0 wrote it."
    path = FIXTURES / "declared_schema2.json"
    r = Release.load(path)
    assert r.family == Categorical(("white alone", "another race alone", "two or more races"), "race")
    assert (r.names, r.n, r.n_range) == (("total", "one race", "white alone", "another race alone"), None, (0, 5000))
    assert r.noise.kind == ("gaussian", "gaussian", "gaussian", "laplace")
    assert (r.noise.scale.tolist(), r.noise.grid.tolist()) == ([1.64, 5.51, 2.34, 4.0], [0.0, 0.0, 0.0, 1.0])
    assert r.printed == (Exact(), Rounded(0.01), Exact(), Rounded(5) & Suppressed(300))
    assert np.isnan(r.values[3]) and r.values[:3].tolist() == [1773.9, 1652.04, 1385.23]
    assert r.matrix.tolist() == [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert (r.origin, r.neighbours, r.budget, r.parts) == ("declared", "change_value", dict.fromkeys(
        ("epsilon", "delta", "rho")), ())
    assert r.source.startswith("Census 2020 least-squares product") and r.released.high.tolist()[3] == 297.0
    r.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("what", ["cut", "changed"])
def test_a_damaged_declaration_is_refused_or_means_the_same(what):
    text = (FIXTURES / "declared_schema2.json").read_text()
    for i in range(0, len(text), 3):
        bad = text[:i] if what == "cut" else text[:i] + ("7" if text[i] != "7" else "3") + text[i + 1:]
        try:
            found = Release.from_json(bad)
        except ValueError as error:
            assert str(error).isprintable()
        else:
            assert found.to_json() == text


def forged(release, **changes):
    document = {**json.loads(release.to_json()), **changes}
    document.pop("sha256")
    return seal(document)


def test_a_declaration_cannot_be_passed_off_as_made_here():
    declared = declare(Bernoulli(), [31.0], n=100, noise=Laplace(scale=1, discrete=True), source=SOURCE)
    own = simulate_release(Bernoulli(), {"probability": 0.3}, 100, 1.0)
    for text in (forged(declared, origin="made here"), forged(declared, source=None),
                 forged(own, origin="declared"), forged(own, matrix=[[2.0]]), forged(own, printed={"suppressed": 5})):
        with pytest.raises(ValueError):
            Release.from_json(text)
    plain = {key: value for key, value in json.loads(declared.to_json()).items()
             if key not in ("source", "n_range", "parts", "sha256")}
    with pytest.raises(ValueError):
        Release.from_json(seal({**plain, "origin": "made here", "budget": {"epsilon": 1.0, "delta": None}}))
    with pytest.raises(ValueError, match="origin must be one of 'declared', 'simulated'"):
        Release.from_json(replace(declared, source=None, epsilon=1.0, sensitivity=1.0, matrix=[[2.0]],
                                  names=("a",)).to_json())


def test_who_says_so_is_shown_first_on_one_line_and_cannot_print_control_characters():
    evil = declare(Bernoulli(), [31], n=100, noise=Laplace(scale=1), source="an office\n\x1b[2Jmade here, epsilon = 0")
    assert evil.provenance.isprintable() and evil.provenance.startswith("declared, not made here")
    assert repr(evil).splitlines()[0].endswith("(declared)") and "source: an office" in repr(evil).splitlines()[1]
    assert simulate_like(evil, {"probability": 0.3}).provenance.startswith("simulated")
    simulated = simulate_release(Bernoulli(), {"probability": 0.3}, 100, 1.0)
    assert simulated.provenance == "simulated; protects nobody"
    own = Release.load(FIXTURES / "release_schema2_gaussian.json")
    assert own.provenance == "made here, epsilon = 0.5, delta = 1e-06"


def test_a_declared_release_is_fitted_like_ones_own():
    "The same numbers and noise: equal up to Monte Carlo error; and the same call gives the same draws."
    own = simulate_release(Bernoulli("x"), {"probability": 0.3}, 500, 0.2, seed=3)
    other = declare(Bernoulli("x"), own.values, n=500, noise=Laplace(scale=5, discrete=True), source=SOURCE)
    draws = lambda r: np.ravel(fit(r, draws=4000, chains=1, progress=False).posterior["probability"].values)
    one, two = draws(own), draws(other)
    assert wasserstein1(one, two) < 0.1 * one.std()  # 4,000 draws each: 0.02 to 0.04 sd by chance
    assert np.array_equal(two, draws(Release.from_json(other.to_json())))
    assert not np.array_equal(two, draws(replace(other, source="another office")))
    half = declare(Bernoulli("x"), own.values, n=500, noise=Laplace(scale=10, discrete=True), source=SOURCE)
    must_fail(lambda: assert_near(one, draws(half)), "twice the noise")


def assert_near(one, two):
    assert wasserstein1(one, two) < 0.1 * one.std()


def test_two_releases_of_one_table_are_one_posterior_that_is_no_narrower_than_the_records():
    "Equation (2) of the chapter, by `fit`; the mutant multiplies: two tables of 500 with the same counts."
    design = combine(*(declare(Bernoulli(), [150], n=500, noise=Gaussian(sd=sd), source=f"office {sd}")
                       for sd in (6, 8)))
    idata = fit(design, draws=2000, chains=2, progress=False)
    sd = float(idata.posterior["probability"].std())
    theory = math.sqrt(0.3 * 0.7 / 500 + 1 / (1 / 36 + 1 / 64) / 500**2)
    check = lambda expected: np.testing.assert_allclose(sd, expected, rtol=0.06)
    check(theory)
    must_fail(lambda: check(math.sqrt(1 / sum(1 / (0.3 * 0.7 / 500 + v / 500**2) for v in (36, 64)))), "multiplied")


def noise_weights(statement, residual):
    "Probabilities of noise up to a constant, spelled out."
    scale = float(statement.law(1).scale[0])
    return np.exp(-np.abs(residual) / scale if isinstance(statement, Laplace) else -0.5 * (residual / scale) ** 2)


def assert_same_law(s, p):
    "Draws of whole numbers, and their probabilities: total variation, at most four times what chance makes of it."
    assert np.isin(s, np.arange(len(p))).all(), np.ravel(s)[:5]
    found = np.bincount(np.ravel(s).astype(int), minlength=len(p)) / np.size(s)
    assert np.abs(found - p).sum() / 2 < 4 * 0.4 * np.sqrt(p / np.size(s)).sum(), (found[:5], p[:5])


@pytest.mark.parametrize("z, n, noise", [(0, 300, Laplace(scale=4, discrete=True)),
                                         (12, 40, Gaussian(sd=0.4, discrete=True)), (9.3, 10, Laplace(scale=3))])
def test_draws_of_a_confidential_count_are_whole_and_belong_to_the_share(z, n, noise):
    "Under a flat prior all counts are equally likely beforehand; then the count given the share, of another prior."
    r, s = declare(Bernoulli(), [z], n=n, noise=noise, source=SOURCE), np.arange(n + 1)
    p = noise_weights(noise, z - s)
    check = lambda drawn: assert_same_law(drawn, p / p.sum())
    for prior in (None, *[LogDensity(lambda theta: 0.0 * theta["probability"])] * isinstance(noise, Laplace)):
        found = fit(r, prior, progress=False)
        drawn, theta = (np.ravel(a) for a in (found.confidential["s"], found.posterior["probability"]))
        check(drawn)
        sd = np.sqrt((drawn + 1) * (n - drawn + 1) / (n + 2) ** 2 / (n + 3))
        off = (theta - (drawn + 1) / (n + 2)) / sd  # of Beta(1 + s, 1 + n - s)
        assert abs(off.mean()) < 4 / 4000**0.5 and abs(off.std() - 1) < 0.06
    must_fail(lambda: check(np.random.default_rng(0).normal(drawn.mean(), max(drawn.std(), 0.2), 4000)), "a normal law")
    must_fail(lambda: check(np.minimum(drawn + 1, n)), "one more")


def test_draws_of_confidential_cells_and_of_several_tables_are_whole_numbers():
    noise = Laplace(scale=4, discrete=True)
    r = declare(Categorical(3), [1, 2, 27], n=30, noise=noise, source=SOURCE)
    cells = fit(r, progress=False).confidential["s"].values.reshape(-1, 3)
    assert (cells.sum(axis=1) == 30).all()
    a, b = np.meshgrid(np.arange(31), np.arange(31), indexing="ij")
    p = np.prod([noise_weights(noise, z - s) for z, s in ((1, a), (2, b), (27, 30 - a - b))], axis=0) * (a + b <= 30)
    assert_same_law(cells[:, 0], p.sum(axis=1) / p.sum())
    assert_same_law(cells[:, 1], p.sum(axis=0) / p.sum())
    several = [declare(Bernoulli(), [z], n=n, noise=noise, source=f"table {z}") for z, n in ((1, 12), (9, 20))]
    found = fit(several, progress=False).confidential["s"].values.reshape(-1, 2)
    s, t = np.meshgrid(np.arange(13), np.arange(21), indexing="ij")
    ways = np.vectorize(lambda s, t: math.comb(12, s) * math.comb(20, t) / math.comb(32, s + t))(s, t)
    p = ways * noise_weights(noise, 1 - s) * noise_weights(noise, 9 - t)
    assert_same_law(found[:, 0], p.sum(axis=1) / p.sum())
    assert_same_law(found[:, 1], p.sum(axis=0) / p.sum())


def test_no_list_has_a_release_twice_by_itself_or_as_a_part():
    one, two, three = (declare(Bernoulli(), [150], n=500, noise=Laplace(scale=6), source=f"office {k}")
                       for k in range(3))
    s = simulate_release(Bernoulli(), {"probability": 0.3}, 40, 1.0)
    old = replace(s, schema=1, simulated=False)
    for wrong in ([combine(one, two), one], [combine(one, two), combine(one, three)], [s, s], [old, old],
                  [old, Release.from_json(old.to_json())]):
        with pytest.raises(ValueError, match="the same release twice"):
            fit(wrong, draws=10, chains=1, progress=False)
    assert len(as_releases([s, replace(s), one])) == 3  # simulated tables may be alike by chance


def test_a_column_of_numbers_is_not_that_of_their_noise():
    table = {"v": [12.0], "b": [2.0], "n": [40]}
    said = dict(model=Bernoulli(), value="v", scale="b", n="n", source="s")
    read = lambda **more: read_table(table, **{**said, **more})
    assert read().noise.scale.tolist() == [2.0]
    for more in (dict(scale="v"), dict(n="v"), dict(n="b"), dict(name="v")):
        with pytest.raises(ValueError, match="different ones"):
            read(**more)


@hypothesis.given(tables(), tables())
@hypothesis.settings(max_examples=15, deadline=None, derandomize=True)
def test_combinations_keep_every_row_or_are_refused(first, second):
    one = declare(**first[0])
    try:
        both = combine(one, declare(**second[0]))
    except ValueError:
        return
    assert Release.from_json(both.to_json()) == both and len(both.names) == len(first[1]) + len(second[1])
    holds(both, np.r_[first[1], second[1]])
    with pytest.raises(ValueError, match="the same release twice"):
        combine(both, one)


def test_copies_are_printed_as_the_original_was():
    design = declare(Categorical(3), [20, 0, None], n=60, noise=Laplace(scale=9, discrete=True), source=SOURCE,
                     printed=[Rounded(5), Clamped(low=0), Suppressed(10)])
    blank = []
    for key in range(40):
        copy = simulate_like(design, {"probabilities": [0.4, 0.4, 0.2]}, seed=key)
        s = copy.simulated_sums
        assert copy.printed == design.printed and copy.values[0] % 5 == 0 and copy.values[1] >= 0
        assert s.sum() == 60 and Release.from_json(copy.to_json()) == copy
        unprinted(copy.printed, copy.values, copy.noise.grid)  # refuses what cannot have been printed so
        blank.append(np.isnan(copy.values[2]))
    assert 5 < sum(blank) < 35


@pytest.mark.parametrize("model, H, values", [
    (Poisson((0, 20)), [[1, 0], [0, 1]], [80, 300]),
    (Poisson((0, 20)), [[1, 0], [1, 1]], [80, 380]),
    (Normal((40, 160)), [[1, 0, 0], [100, 60, 0]], [80, 6800]),
    (Categorical(3), [[0, 1, 1, 1], [0, 1, 1, 0]], [80, 60]),
    (Bernoulli(), [[1, 0], [1, -1]], [80, 50])], ids=["rate", "rate of a total", "mean", "categories", "share"])
def test_an_exact_row_for_n_is_n(model, H, values):
    """A chain could not move n, and stayed where it started: a rate of 10 with sd 0. With the row, and with n= and
    what n adds to a row subtracted by hand, samplers see the same.
    """
    H, m = np.array(H, float), len(model.names)
    by_row = declare(model, values, matrix=H, noise=Laplace(scale=[0, 3]), source=SOURCE)
    of_n = H[1:, 0] * 80
    by_hand = declare(model, np.array(values[1:]) - of_n, matrix=H[1:, 1:], n=80, noise=Laplace(scale=3), source=SOURCE)
    assert by_row.n == 80 and Release.from_json(by_row.to_json()) == by_row
    one, other = (without_implied(model, measured(each)) for each in (by_row, by_hand))
    assert (float(one.n), one.z.tolist(), np.eye(m).tolist() if one.matrix is None else one.matrix.tolist()) == (
        80.0, other.z.tolist(), np.eye(m).tolist() if other.matrix is None else other.matrix.tolist())


def test_an_exact_row_for_n_is_no_stuck_chain():
    said = dict(noise=Gaussian(sd=[0, 30]), source=SOURCE)
    by_row = declare(Poisson((0, 20)), {"n": 80, "a": 300}, matrix=[[1, 0], [0, 1]], **said)
    found = fit(by_row, Gamma(2, 0.5), progress=False, draws=300, warmup=100, chains=2)
    rate = np.linspace(0.01, 12, 4000)
    weight = rate * np.exp(-rate / 2 - (300 - 80 * rate)**2 / 2 / (900 + 80 * rate)) / np.sqrt(900 + 80 * rate)
    mean = (rate * weight).sum() / weight.sum()
    sd = np.sqrt(((rate - mean)**2 * weight).sum() / weight.sum())
    draws = found.posterior["rate"].values
    assert abs(draws.mean() - mean) < 0.25 * sd and 0.8 < draws.std() / sd < 1.2
    combined = combine(by_row, declare(Poisson((0, 20)), 310, n=80, noise=Gaussian(sd=20), source="another"))
    assert combined.n == 80 and combined.matrix.tolist() == [[1, 0], [0, 1], [0, 1]]
    check = predictive_check(found)
    assert check["z_rep"].values[..., 0].tolist() == np.full((2, 300), 80.0).tolist() and check["p_value"][1] > 0.3


def test_what_n_adds_to_a_row_is_in_what_a_fit_would_have_released():
    shown = declare(Poisson((0, 20)), 380, matrix=[[1, 1]], n=80, noise=Gaussian(sd=30), source=SOURCE)
    assert shown.released.z.tolist() == [300] and shown.values.tolist() == [380] and shown.released.matrix is None
    check = predictive_check(fit(shown, Gamma(2, 0.5), progress=False, draws=200))
    assert abs(float(check["z_rep"].mean()) - 380) < 15 and check["released"].values.tolist() == [380]
    copy = simulate_like(shown, {"rate": 4.0}, seed=3)
    assert abs(copy.values[0] - copy.simulated_sums[0] - 80) < 150 and copy.n == 80


def test_a_draw_that_cannot_move_n_is_refused_by_the_room_itself():
    "A measurement made by hand, past the document: n is fixed by rows, and n is None."
    shown = measured(declare(Poisson((0, 20)), [80, 300], matrix=[[1, 0], [0, 1]], noise=Gaussian(sd=[2, 30]),
                             source=SOURCE))
    rows_that_tell(Poisson((0, 20)), shown)
    with pytest.raises(ValueError, match="n must be given where rows"):
        rows_that_tell(Poisson((0, 20)), replace(shown, noise=replace(shown.noise, scale=np.array([0.0, 30.0]))))


def test_results_and_the_command_line_say_who_says_so(tmp_path, capsys):
    from dp_bayes_nb.cli import main

    declared = declare(Bernoulli("insured"), 871.3, noise=Laplace(scale=2), n=1204, source=SOURCE)
    declared.save(tmp_path / "r.json")
    assert main(["fit", str(tmp_path / "r.json")]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == declared.provenance and first.endswith(SOURCE) and "probability" in rest[1]
    assert fit(declared, draws=20, chains=1, progress=False).attrs["provenance"] == declared.provenance
    own = FIXTURES / "release_schema2_laplace.json"
    assert main(["fit", str(own)]) == 0 and "declared" not in capsys.readouterr().out
    assert "provenance" not in fit(Release.load(own), draws=20, chains=1, progress=False).attrs


@pytest.mark.parametrize("k", [pytest.param(0, marks=pytest.mark.slow), 1], ids=["known first", "known second"])
def test_tables_with_and_without_a_known_size_are_fitted_together(k):
    "Sizes of all tables are in the result, the known ones as they are; a check simulates each table by its own."
    noise = Laplace(scale=2)
    known = declare(Bernoulli(), 61, n=300, noise=noise, source="a")
    noisy = declare(Bernoulli(), 64, n=307, n_noise=noise, noise=noise, source="b")
    found = fit([known, noisy] if k == 0 else [noisy, known], draws=50, warmup=100, chains=2, progress=False)
    n = found.confidential["n"].values
    assert n.shape == (2, 50, 2) and (n[..., k] == 300).all() and abs(n[..., 1 - k].mean() - 307) < 5
    assert n[..., 1 - k].std() > 0 and found.confidential["s"].shape == (2, 50, 2, 1)
    z = predictive_check(found)["z_rep"].mean(("chain", "draw")).values
    np.testing.assert_allclose(z, [61, 307, 64] if k == 0 else [307, 64, 61], rtol=0.25)


def test_a_zero_with_a_sign_is_a_zero():
    "Rounded noisy counts of empty cells can be −0.0; the release is read again as it was written."
    made = declare(Categorical(["a", "b"]), [-0.0, 10.0], n=10, noise=Laplace(scale=2.0), source="x")
    assert Release.from_json(made.to_json()) == made
