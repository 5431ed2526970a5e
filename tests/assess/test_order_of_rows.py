"""Everything that draws gives the same numbers for the same rows in another order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp

WINE = sp.datasets.load_wine().select_dtypes("number")
N = len(WINE)


def table() -> pd.DataFrame:
    """Rows with labels of clusters, strata, weights and groups that belong to them."""
    rng = np.random.default_rng(0)
    rows = WINE.iloc[:, :7].reset_index(drop=True)
    rows = rows.iloc[np.sort(rng.choice(N, 90, replace=False))].reset_index(drop=True)
    rows["cluster"] = [f"c{i // 3}" for i in range(90)]
    rows["stratum"] = [f"s{i // 45}" for i in range(90)]
    rows["weight"] = rng.integers(1, 4, 90)
    rows["group"] = [f"g{i // 30}" for i in range(90)]
    return rows


ROWS = table()
LABELS = ["cluster", "stratum", "weight", "group"]
#: Ties of rounding: with one variable in a component, variances of scaled columns are equal.
FITS = {
    "plain": {"card": 3},
    "scaled": {"card": 3, "scale": True},
    "one variable": {"card": 1, "scale": True},
    "clusters": {"card": 3, "scale": True, "clusters": "cluster"},
    "strata": {"card": 3, "scale": True, "strata": "stratum"},
    "clusters in strata": {"card": 3, "clusters": "cluster", "strata": "stratum"},
    "weights": {"card": 3, "scale": True, "weights": "weight"},
    "sampling weights": {"card": 3, "weights": "weight", "weights_are": "sampling", "clusters": "cluster"},
}
#: Draws that a fit refuses.
REFUSED = [("sampling weights", "test_loadings")]
DRAWS = {
    "bootstrap": lambda fit: fit.bootstrap(8).table,
    "variance_ci": lambda fit: fit.bootstrap(8).frames["variance"],
    "stability": lambda fit: fit.stability(4).table,
    "split_inference": lambda fit: fit.split_inference(8).conf_int(),
    "test_loadings": lambda fit: fit.test_loadings(19).table,
}


def with_columns(rows: pd.DataFrame, options: dict) -> pd.DataFrame:
    """Return the variables and the columns of labels that the options name."""
    return rows.drop(columns=[name for name in LABELS if name not in options.values()])


def in_another_order(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    return rows.iloc[np.random.default_rng(seed).permutation(len(rows))]


def assert_equal(first, second):
    """Numbers agree but for rounding, which depends on the order of sums.

    The ascent of a fit ends where steps change its value by rounding only, by 1e-16 of it. Loadings that
    differ by the root of that, 1e-8 times the root of the condition of the maximum, have equal values. Other
    draws differ by more than .01.
    """
    pd.testing.assert_frame_equal(pd.DataFrame(first), pd.DataFrame(second), rtol=1e-6, atol=1e-6)


@pytest.mark.sweep
@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("fit", FITS)
def test_draws_of_a_fit(fit, draws):
    if (fit, draws) in REFUSED:
        return
    first, other = (
        DRAWS[draws](sp.spca(with_columns(rows, FITS[fit]), 2, **FITS[fit]))
        for rows in (ROWS, in_another_order(ROWS, 1))
    )
    assert_equal(first, other)


def numbers_of_groups(rows: pd.DataFrame, options: dict) -> list[pd.DataFrame]:
    variables = rows.drop(columns=[name for name in LABELS if name not in ("group", *options.values())])
    compared = sp.compare_groups(variables, "group", 2, **{"card": 3, "n_draws": 59} | options)
    groups = compared.table.sort_values(["component", "group"], ignore_index=True)  # in the order of the rows
    return [compared.p_adjusted, compared.p_values.to_frame(), groups, compared.fit.loadings]


@pytest.mark.parametrize(
    "options", [{}, {"scale": True}, {"card": 1, "scale": True}, {"clusters": "cluster"}], ids=str
)
def test_comparison_of_groups(options):
    first, other = (numbers_of_groups(rows, options) for rows in (ROWS, in_another_order(ROWS, 1)))
    for a, b in zip(first, other, strict=True):
        assert_equal(a, b)


OPTIONS = [
    {},
    {"scale": True},
    {"scale": True, "clusters": "cluster"},
    {"strata": "stratum"},
    {"weights": "weight", "scale": True},
]


@pytest.mark.sweep
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_choices(options):
    """Of the number, of cardinalities, with their errors, and of halves."""

    def numbers(rows):
        variables = with_columns(rows, options)
        number = sp.choose_k(variables, n_draws=39, **options)
        choice = sp.choose(variables, k=2, cards=[2, 3, 5], folds=3, repeats=1, **options)
        return number.table, choice.table, choice.stability(2).table

    first, other = map(numbers, [ROWS, in_another_order(ROWS, 1)])
    for a, b in zip(first, other, strict=True):
        assert_equal(a, b)


@pytest.mark.sweep
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_held_out_errors(options):
    def numbers(rows):
        fits = [sp.spca(with_columns(rows, options), 2, card, **options) for card in (1, 3)]
        return sp.compare(*fits, held_out=True, folds=3).measures

    assert_equal(*map(numbers, [ROWS, in_another_order(ROWS, 1)]))


def test_draws_of_sparse_loadings():
    def numbers(rows):
        return sp.sparse_loadings(with_columns(rows, {}), 2, total=8, scale=True).bootstrap(8).table

    assert_equal(*map(numbers, [ROWS, in_another_order(ROWS, 1)]))


@pytest.mark.sweep
@pytest.mark.parametrize("options", [*FITS.values()], ids=FITS)
def test_equal_rows_that_differ_in_labels(options):
    """Answers of few values: what tells equal rows apart is their cluster, stratum or weight."""
    rows = ROWS.copy()
    variables = [name for name in rows if name not in LABELS]
    rows[variables] = (rows[variables] > rows[variables].median()).astype(float)
    rows = rows[[*variables[:4], *LABELS]]

    def numbers(rows):
        fit = sp.spca(with_columns(rows, options), 2, **options | {"card": min(options["card"], 2)})
        draws = [fit.bootstrap(8).table, fit.stability(4).table]
        return draws if "weights_are" in options else [*draws, fit.test_loadings(19).table]

    first, other = map(numbers, [rows, in_another_order(rows, 1)])
    for a, b in zip(first, other, strict=True):
        assert_equal(a, b)


def rows_of_few(seed: int) -> np.ndarray:
    """Five rows of three to six variables, whose rank is at most four."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((5, int(rng.integers(3, 7))))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(6))
def test_single_variables_that_add_equal_variances(seed):
    """Of unit variance are all scores, and the first two add the same in both orders."""
    X = rows_of_few(seed)
    orders = ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 3, 1, 4], [3, 1, 4, 0, 2])
    fits = [sp.spca(X[order], 3, 1, scale=True) for order in orders]
    variables = fits[0].loadings.to_numpy().argmax(axis=0)
    assert variables[0] < variables[1]
    for fit in fits[1:]:
        assert_equal(fit.loadings, fits[0].loadings)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(4))
def test_loadings_that_explain_everything(seed):
    """As many scores as the rank explain all, whatever the loadings: adjusted variance chooses."""
    X = rows_of_few(seed)
    k, card = min(4, X.shape[1]), 2
    fit = sp.spca(X, k, card, objective="least_squares")
    assert fit.measure("least_squares") == pytest.approx(1.0, abs=1e-7)
    assert_equal(sp.spca(X[[3, 1, 4, 0, 2]], k, card, objective="least_squares").loadings, fit.loadings)
    components = [sorted(map(tuple, V.to_numpy().T)) for V in (fit.loadings, sp.spca(X, k, card).loadings)]
    assert_equal(*components)
