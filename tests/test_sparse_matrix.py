"A long matrix of a declared table is held and written by its entries, and says what the array of it says."
import json

import numpy as np
import pytest
import scipy.sparse as ss
from scipy.sparse import csr_array, eye_array, issparse, vstack

from dp_bayes_nb import Categorical, Counts, Laplace, Release, Suppressed, declare
from dp_bayes_nb.fields.pooled_counts import cells_of, log_printed
from dp_bayes_nb.posterior.fit import posterior_draws
from dp_bayes_nb.releases import checks
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.ways.noisy_tables import is_tree, released_tree


def counties(G=20, form=lambda H: H, scale=None):
    "G counties and their total, small counts hidden."
    rng = np.random.default_rng(3)
    deaths = rng.poisson(np.exp(rng.normal(2.0, 0.8, G)))
    return declare(Counts([f"county {i}" for i in range(G)], np.full(G, 10.0)),
                   [d if d >= 10 else None for d in deaths] + [int(deaths.sum())],
                   matrix=form(vstack([eye_array(G), np.ones((1, G))])), printed=Suppressed(10), source="made up")


@pytest.fixture
def short(monkeypatch):
    "Matrices of more than 100 numbers are long, and of more than 50 entries too long."
    monkeypatch.setattr(checks, "_LONGEST_ARRAY", 100)
    monkeypatch.setattr(checks, "_MOST_ENTRIES", 50)


def test_a_short_matrix_is_the_same_release_from_either_form():
    sparse, array = counties(), counties(form=lambda H: H.toarray())
    assert sparse == array and not issparse(sparse.matrix) and sparse.schema == 2


def test_a_long_matrix_is_read_back_exactly(short):
    release, array = counties(), counties(form=lambda H: H.toarray())
    text = release.to_json()
    assert issparse(release.matrix) and release == array and release.schema == 3
    again = Release.from_json(text)
    assert again.to_json() == text and again.id == release.id and np.array_equal(
        again.matrix.toarray(), array.matrix.toarray())
    with pytest.raises(ValueError, match="read-only"):
        release.matrix.data[0] = 2.0
    assert np.shape(again.released.matrix) == (21, 20)


@pytest.mark.parametrize("change", [
    {"row": [0] * 40}, {"column": [20] + [0] * 39}, {"value": 0}, {"value": [1] * 39}, {"value": 2},
    {"shape": [22, 20]}, {"shape": [21, 2**40]}, {"row": "all"}, {"value": True}])
def test_a_damaged_matrix_is_refused(short, change):
    d = json.loads(counties().to_json())
    del d["sha256"]
    with pytest.raises(ValueError):
        Release.from_json(seal(d | {"matrix": d["matrix"] | change}))


def test_a_file_with_entries_of_a_short_matrix_is_refused(short, monkeypatch):
    text = counties().to_json()
    monkeypatch.setattr(checks, "_LONGEST_ARRAY", 10_000)
    with pytest.raises(ValueError, match="schema"):
        Release.from_json(text)


def test_what_a_file_could_not_hold_is_refused_when_it_is_declared(short, monkeypatch):
    with pytest.raises(ValueError, match="50 numbers at most that are not 0"):
        counties(G=30)
    for where in ("declare", "files"):
        monkeypatch.setattr(f"dp_bayes_nb.releases.{where}.MAX_BYTES", 1500)
    with pytest.raises(ValueError, match="at most 1500 bytes"):
        counties()


def test_both_forms_have_one_posterior(monkeypatch):
    array = counties()
    monkeypatch.setattr(checks, "_LONGEST_ARRAY", 100)
    sparse = counties()
    seen = [measured(each) for each in (sparse, array)]
    assert issparse(seen[0].matrix) and not issparse(seen[1].matrix)
    mu, tau = np.random.default_rng(1).normal(0, 0.5, (50, 1)) + np.zeros(20), np.linspace(0.05, 1, 50)
    values = [log_printed(cells_of(array.family, one), "t3", mu, tau) for one in seen]
    assert np.array_equal(*values)
    s = posterior_draws(sparse, draws=50, chains=2).confidential["s"]  # one shared rate
    assert np.all(s.sum(axis=-1) == sparse.values[-1]) and np.all(s[..., sparse.values[:-1] >= 10] == [
        v for v in sparse.values[:-1] if v >= 10])
    without_total = seen[0].matrix.copy()
    without_total.data[-1] = 0.0  # a wrong version: the last county is left out of the total
    without_total.eliminate_zeros()
    wrong = seen[0].__class__(**(vars(seen[0]) | {"matrix": without_total}))
    assert not np.allclose(log_printed(cells_of(array.family, wrong), "t3", mu, tau), values[0])


def test_trees_are_found_by_entries():
    for H, found in (([[1, 1, 0], [0, 1, 1]], False), ([[1, 1, 0], [0, 0, 2]], True), ([[1, 2, 0]], False),
                     ([[1, 1, 1], [0, 1, 1], [0, 1, 0]], True), ([[0, 0, 0]], False), ([[-1, -1, 0]], True)):
        assert is_tree(np.array(H, float)) == is_tree(csr_array(H)) == found


def test_noisy_rows_and_other_models_take_long_matrices(short):
    H = vstack([eye_array(12), np.ones((1, 12))])
    z = np.r_[np.arange(12.0), 66]
    plain = declare(Categorical([f"c{k}" for k in range(12)]), z, n=66, matrix=H, noise=Laplace(scale=2), source="x")
    assert issparse(plain.matrix) and not issparse(measured(plain).matrix)
    noisy = declare(Counts([f"c{k}" for k in range(12)]), z, matrix=H, noise=Laplace(scale=2), source="x")
    tree = released_tree(noisy.family, measured(noisy))
    assert len(tree.parent) == 13 and tree.children[12] == list(range(12))


@pytest.mark.parametrize("long", [False, True])
def test_any_form_of_a_matrix_is_one_release(long, monkeypatch):
    "Small integers, duplicates that add up beyond them, zeros that are stored, rows out of order: the same file."
    monkeypatch.setattr(checks, "_LONGEST_ARRAY", 0 if long else 10**6)
    H = np.array([[1, 0, 0], [0, 1, 0], [200, 1, 1], [0, -1, 1]])
    (row, column), value = np.nonzero(H), H[H != 0]
    stated = lambda matrix: declare(Counts([*"abc"]), [3, 4, 613, 5], matrix=matrix, printed=Suppressed(1),
                                    source="made up")
    twice = np.r_[row, 2], np.r_[column, 0]  # 100 + 100 are not -56
    forms = [form(H) for form in (csr_array, ss.csc_matrix, ss.lil_array, ss.dok_matrix, ss.bsr_array, ss.dia_array)]
    forms += [ss.coo_array((np.r_[np.where(value == 200, 100, value), 100].astype(np.int8), twice), shape=H.shape),
              ss.coo_matrix((np.r_[value, 0], twice), shape=H.shape), np.asfortranarray(H), H.astype(np.float32),
              csr_array((value[::-1], column[::-1], [0, 2, 5, 6, 7]), shape=H.shape)[::-1]]
    for matrix in forms:
        made = stated(matrix)
        assert made == stated(H.astype(float)) and issparse(made.matrix) == long
        assert Release.from_json(made.to_json()) == made
    assert forms[6].toarray()[2, 0] == -56, "what SciPy makes of them"


@pytest.mark.parametrize("matrix", [csr_array(np.eye(2) * 1j), np.eye(2) * 1j, [["1", "0"], ["0", "1"]], "eye"])
def test_what_is_no_matrix_of_numbers_is_refused(matrix):
    with pytest.raises(ValueError, match="matrix must be 2 rows, one for each value, of 2 numbers"):
        declare(Counts([*"ab"]), [3, 4], matrix=matrix, noise=Laplace(scale=1), source="made up")
