"""The choice with missing values: predictions by conditional normals, folds that learn nothing inside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess.draws import Rules, seed_of
from spcastat.assess.folds import PlainRows, RowFolds, measured_cells
from spcastat.assess.refit import SparseModel
from spcastat.assess.row_groups import RowGroups
from spcastat.errors import ConstantColumnError, MissingValuesError
from spcastat.fit.inputs import opened
from spcastat.linalg.operators import Gram
from spcastat.reading.missing_values import em_moments
from tests.assess.conftest import sigma

SEED = 5
#: The final fit is not what is tested.
CHEAP = {"method": "threshold"}


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    """Two components of four of ten variables each, every seventh cell or so missing; units differ little."""
    rng = np.random.default_rng(0)
    V = np.zeros((10, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    rows = rng.standard_normal((90, 2)) * [3.0, 2.2] @ V.T + rng.standard_normal((90, 10)) + 7.0
    return pd.DataFrame(rows).mask(rng.random(rows.shape) < 0.15).add_prefix("v")


def predicted_errors(rows: np.ndarray, Sigma: np.ndarray) -> np.ndarray:
    """Errors, shape of `rows`, when each measured cell is regressed on the others that its row has."""
    errors = np.zeros(rows.shape)
    for i, row in enumerate(rows):
        measured = np.flatnonzero(~np.isnan(row))
        for j in measured:
            rest = measured[measured != j]
            weights = np.linalg.solve(Sigma[np.ix_(rest, rest)], Sigma[rest, j])
            errors[i, j] = row[j] - row[rest] @ weights
    return errors


@pytest.mark.parametrize("weighted", [False, True])
def test_measured_cells_are_predicted_from_the_other_measured_cells(weighted):
    rng = np.random.default_rng(8)
    A = rng.standard_normal((60, 7)) @ np.diag([3, 3, 2, 2, 1, 1, 1]) + 2 * rng.standard_normal((60, 1))
    V = np.zeros((7, 2))
    V[[0, 1, 2], 0], V[[2, 3], 1] = (0.6, 0.6, 0.52915), (0.6, 0.8)
    S = np.cov(A.T)
    rows = np.where(rng.random((25, 7)) < 0.4, np.nan, rng.standard_normal((25, 7)))
    rows[0], rows[1, 1:] = 1.0, np.nan  # a complete row, and at most one cell in another
    w = rng.integers(1, 4, 25).astype(float) if weighted else None
    times = np.ones(25) if w is None else w
    held = measured_cells(rows, w)
    expected = times @ (predicted_errors(rows, sigma(V, S)) ** 2).sum(axis=1)
    assert held.press([SparseModel.of(V, Gram(S))])[0] == pytest.approx(expected, rel=1e-9)  # rounding
    np.testing.assert_allclose(held.squares, times @ np.nan_to_num(rows) ** 2, rtol=1e-12)
    assert held.weight == pytest.approx(times @ (~np.isnan(rows)).sum(axis=1) / 7)


def test_complete_rows_have_the_errors_of_their_cross_products():
    rng = np.random.default_rng(2)
    S, rows = np.cov(rng.standard_normal((7, 40))), rng.standard_normal((12, 7))
    V = np.eye(7)[:, :2]  # each variable alone in its component, and
    V[2:5, 1] = 1.0  # then one with company
    for loadings in (np.eye(7)[:, :2], V):
        model = SparseModel.of(loadings, Gram(S))
        block = rows[:, model.used].T @ rows[:, model.used]
        expected = model.press((rows**2).sum(axis=0), block)
        assert measured_cells(rows, None).press([model])[0] == pytest.approx(expected, rel=1e-9)


def moments(na: str, training: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance matrix of rows with missing values, those of available cases by pandas."""
    if na == "em":
        found = em_moments(training.to_numpy(), None, 1)
        return found.mean, found.covariance
    sd = training.std().to_numpy()
    R = training.corr().to_numpy()
    assert np.linalg.eigvalsh(R)[0] > 0  # else the nearest correlation matrix would stand for it
    return training.mean().to_numpy(), R * np.outer(sd, sd)


@pytest.mark.parametrize(("na", "scale"), [("em", False), ("pairwise", False), ("pairwise", True)])
def test_the_error_is_that_of_a_plain_loop_over_folds_and_cells(X, na, scale):
    """One component with every variable is the first eigenvector: nothing of the search is in doubt."""
    choice = sp.choose(X, k=1, cards=[10], by="cv", na=na, scale=scale, folds=3, rng=SEED, **CHEAP)
    source = opened(X, None, {"na": na, "scale": scale}, None)[0].source("")
    labels = RowGroups.of(source).folds(3, 1, np.random.default_rng([seed_of(SEED), 2]))[0]
    press = total = 0.0
    for fold in range(3):
        mean, S = moments(na, X[labels != fold])
        sd = np.sqrt(np.diag(S)) if scale else np.ones(10)
        rows = (X[labels == fold].to_numpy() - mean) / sd
        S = S / np.outer(sd, sd)
        v = np.linalg.eigh(S)[1][:, -1:]
        press += (predicted_errors(rows, sigma(v, S)) ** 2).sum()
        total += np.nansum(rows**2)
    # the sweeps end when they gain little, and the EM in other units elsewhere
    assert choice.table["error"].iloc[0] == pytest.approx(press / total, rel=1e-4)


@pytest.mark.parametrize("how", ["em", "pairwise"])
def test_a_fold_knows_nothing_of_its_rows(X, how):
    rows, labels = X.to_numpy(), np.arange(len(X))[None] % 4
    other = rows.copy()
    other[labels[0] == 1] *= -50.0
    other[labels[0] == 1, 0] = np.nan
    found = []
    for one in (rows, other):
        folds = RowFolds(PlainRows(one), None, labels, Rules(True, True, X.columns, how=how), k=2)
        op = folds.split(1)[0]
        found.append(op.block(np.arange(10)) * op.unit**2)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_complete_rows_are_chosen_from_as_ever(X, na):
    full = X.fillna(7.0)
    weights = np.arange(len(X)) % 3 + 1
    for further in (CHEAP, {"scale": True, "weights": weights, **CHEAP}):
        some = sp.choose(full, k=2, cards=[2, 4], na=na, **further).table
        pd.testing.assert_frame_equal(some, sp.choose(full, k=2, cards=[2, 4], **further).table, rtol=1e-8)


@pytest.mark.parametrize(("na", "by"), [("em", "cv"), ("pairwise", "cv"), ("em", "ebic")])
def test_the_planted_cardinality_is_chosen_in_spite_of_gaps(X, na, by):
    choice = sp.choose(X, k=2, cards=[2, 4, 6, 8], by=by, na=na)
    assert choice.card == 4
    assert f"na={na!r}" in str(choice)
    supports = {frozenset(column[column != 0].index) for _, column in choice.fit.loadings.items()}
    assert supports == {frozenset(X.columns[:4]), frozenset(X.columns[4:8])}


def test_the_number_comes_first_and_gives_the_em_its_rank():
    rng = np.random.default_rng(0)
    V = np.zeros((12, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    rows = rng.standard_normal((100, 2)) * [2.5, 2.0] @ V.T + rng.standard_normal((100, 12))
    data = pd.DataFrame(rows).mask(rng.random(rows.shape) < 0.15).add_prefix("v")
    some = {"cards": [2, 4], "na": "em", "rng": SEED, **CHEAP}
    choice = sp.choose(data, n_draws=39, **some)
    assert choice.k == sp.choose_k(data, na="em", n_draws=39, rng=SEED).k == 2
    given = sp.choose(data, k=2, k_em=2, **some)
    pd.testing.assert_frame_equal(choice.table, given.table, check_exact=True)


def test_what_a_formula_learns_it_learns_without_the_fold_and_its_gaps(X):
    """The formula's own center() is the mean of the measured values, which the EM takes away again."""
    terms = " + ".join(f"center({name})" for name in X.columns[:6])
    by_formula = sp.choose(X, k=2, cards=[2, 4], formula=f"~ {terms}", na="pairwise", repeats=1, **CHEAP)
    plain = sp.choose(X.iloc[:, :6], k=2, cards=[2, 4], na="pairwise", repeats=1, **CHEAP)
    pd.testing.assert_series_equal(by_formula.table["error"], plain.table["error"], rtol=1e-8)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_a_column_that_a_fold_takes_away_is_named(X, na):
    labels = np.arange(len(X)) % 5
    rare = pd.Series(np.nan, X.index)
    rare[np.flatnonzero(labels == 2)] = np.arange((labels == 2).sum()) * 1.0
    still = X["v0"].where(labels == 2, 1.0)
    for data, error, words in (
        (X.assign(rare=rare), MissingValuesError, "1 column without any value: 'rare'"),
        (X.assign(still=still), ConstantColumnError, "The values measured in 1 column do not vary: 'still'"),
    ):
        rules = Rules(True, False, data.columns, how=na)
        folds = RowFolds(PlainRows(data.to_numpy()), None, labels[None], rules, k=2)
        with pytest.raises(error, match=f"Without fold 3 of 5: {words}"):
            folds.split(2)
