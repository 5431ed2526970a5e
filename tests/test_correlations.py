"""Correlation matrices of items and mixed variables: R's polycor, closed forms, normal probabilities."""

from __future__ import annotations

from itertools import pairwise
from math import erfc, exp, log, pi, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import spcastat as sp
from spcastat.correlations import Tables, log_likelihood


def cut(rng: np.random.Generator, n: int, r: float, first: list[float], second: list[float]) -> pd.DataFrame:
    """Return two items, normal variables of correlation r that are cut at thresholds."""
    z = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=n)
    return pd.DataFrame({"a": np.searchsorted(first, z[:, 0]), "b": np.searchsorted(second, z[:, 1])})


class ByQuadrature:
    """Log likelihood of a table's latent correlation by SciPy's adaptive quadrature over x of the density
    times P(lower < y < upper | x), and its derivative; thresholds are the normal quantiles of the margins."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table
        self.h, self.k = (
            np.r_[-np.inf, norm.ppf(np.cumsum(margin)[:-1] / margin.sum()), np.inf]
            for margin in (table.sum(axis=1), table.sum(axis=0))
        )

    def cell(self, a: int, b: int, r: float, slope: bool = False) -> float:
        """Return the probability of a cell, or its derivative with respect to r."""
        s = np.sqrt(1 - r * r)
        low, high = float(self.k[b]), float(self.k[b + 1])

        def conditional(x: float) -> float:
            u, v = (low - r * x) / s, (high - r * x) / s
            if u > 0:  # in the upper tail the difference of two numbers near one is none
                u, v = -v, -u
            return 0.5 * (erfc(-v / sqrt(2)) - erfc(-u / sqrt(2)))

        def change(x: float) -> float:
            terms = [
                sign * exp(-0.5 * ((k - r * x) / s) ** 2) * (r * k - x)
                for sign, k in ((1, high), (-1, low))
                if np.isfinite(k)
            ]
            return sum(terms) / (sqrt(2 * pi) * s**3)

        inner = change if slope else conditional
        left, right = max(self.h[a], -12.0), min(self.h[a + 1], 12.0)
        steps = [(k + m * s) / r for k in (low, high) if np.isfinite(k) and r != 0 for m in (-8, -2, 0, 2, 8)]
        steps += [left + 0.02, left + 0.2, left + 1, right - 1, right - 0.2, right - 0.02]
        edges = [left, *sorted(x for x in steps if left < x < right), right]
        return sum(
            quad(lambda x: exp(-x * x / 2) / sqrt(2 * pi) * inner(x), u, v, epsabs=1e-300, epsrel=1e-10)[0]
            for u, v in pairwise(edges)
        )

    def value(self, r: float) -> float:
        """Return the log likelihood."""
        return sum(self.table[a, b] * log(self.cell(a, b, r)) for a, b in np.argwhere(self.table))

    def score(self, r: float) -> float:
        """Return the derivative of the log likelihood with respect to r."""
        return sum(
            self.table[a, b] * self.cell(a, b, r, slope=True) / self.cell(a, b, r)
            for a, b in np.argwhere(self.table)
        )


def sparse_corners(seed: int) -> np.ndarray:
    """Return a table of two items with rare outer categories, and one to three rows in a corner far from the
    others."""
    rng = np.random.default_rng(seed)
    m, n, r = rng.integers(3, 6), rng.integers(300, 3000), rng.uniform(0.7, 0.98)
    z = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=n)
    first, second = rng.uniform(-1, 1, (2, m - 1))
    first[0], second[-1] = -rng.uniform(1.5, 3), rng.uniform(1.5, 3)
    first, second = np.sort(first), np.sort(second)
    table = np.zeros((m, m))
    np.add.at(table, (np.searchsorted(first, z[:, 0]), np.searchsorted(second, z[:, 1])), 1)
    table[0, -1] += rng.integers(1, 4)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    return table if rng.random() < 0.5 else table[:, ::-1]


def items_of(table: np.ndarray) -> pd.DataFrame:
    """Return the rows that a table counts."""
    cells = np.argwhere(table)
    counts = table[tuple(cells.T)].astype(int)
    return pd.DataFrame(np.repeat(cells, counts, axis=0), columns=["a", "b"])


def check_maximum(table: np.ndarray) -> None:
    """Assert that the correlation is within 1e-6 of the maximum of the likelihood by quadrature.

    The derivative changes its sign within 1e-6 of the correlation; the likelihood is lower everywhere on a
    coarse grid.
    """
    found = sp.correlation(items_of(table))
    assert found.attrs["spcastat"]["at_bound"] == []
    r = found.loc["a", "b"]
    by = ByQuadrature(table)
    assert by.score(r - 1e-6) > 0 > by.score(r + 1e-6)
    most = by.value(r)
    assert max(by.value(other) for other in (-0.95, -0.6, 0.0, 0.6, 0.95)) < most


@pytest.mark.parametrize("seed", range(10))
def test_tables_with_sparse_corners_have_the_maximum_of_the_likelihood(seed):
    check_maximum(sparse_corners(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30, 60))
def test_more_tables_with_sparse_corners_have_the_maximum_of_the_likelihood(seed):
    check_maximum(sparse_corners(seed))


@pytest.mark.parametrize("r", [-0.999, -0.9, -0.3, 0.0, 0.5, 0.99])
def test_log_likelihoods_are_those_of_quadrature_however_small_the_cells(r):
    table = np.array([[40.0, 5, 1], [6, 90, 8], [1, 4, 45]])
    by = ByQuadrature(table)
    value, score = log_likelihood(Tables.of(table[None]), np.arctanh([r]))
    # quadrature to 1e-10 of each cell; the smallest has probability exp(-1500) at -.999, where quadrature
    # underflows, so that only its sign of the slope is compared
    if r == -0.999:
        assert value[0] < -3000
        assert score[0] > 0
    else:
        assert value[0] == pytest.approx(by.value(r), rel=1e-9)
        assert score[0] / (1 - r * r) == pytest.approx(by.score(r), rel=1e-7)


def test_a_likelihood_that_is_flat_to_the_bound_is_flagged():
    # given the margins, the log likelihood of [[2, 192], [0, 6]] is -38.149 at r = 0, and at r = 1 that
    # of the multinomial with probabilities .01, .96, 0, .03
    table = np.array([[2.0, 192], [0, 6]])
    values = log_likelihood(Tables.of(np.stack([table] * 3)), np.arctanh([0.0, 0.5, 0.99]))[0]
    np.testing.assert_allclose(values, [-38.149, -38.088, -38.088], atol=5e-4)
    assert values[2] == pytest.approx(2 * np.log(0.01) + 192 * np.log(0.96) + 6 * np.log(0.03), abs=1e-9)
    told = sp.correlation(items_of(table)).attrs["spcastat"]
    assert told["at_bound"] == told["reaches_bound"] == [("a", "b")]
    # with P the probability of cell (0, 1), the log likelihood of [[40, 1], [1, 40]] is
    # 80 log(.5 - P) + 2 log(P), -66.2 at its maximum P = 1/82 (r = .997) and -66.5 at r = .999 (P = .0071)
    found = sp.correlation(items_of(np.array([[40.0, 1], [1, 40]])))
    assert found.loc["a", "b"] == pytest.approx(np.sin(2 * np.pi * (40 / 82 - 0.25)), abs=1e-9)
    assert found.attrs["spcastat"]["at_bound"] == []
    assert found.attrs["spcastat"]["reaches_bound"] == [("a", "b")]
    told = sp.correlation(items_of(np.array([[30.0, 20], [20, 30]]))).attrs["spcastat"]
    assert told["at_bound"] == told["reaches_bound"] == told["not_converged"] == []


def test_a_search_that_ends_before_it_converged_is_reported(monkeypatch):
    items = items_of(sparse_corners(0))
    monkeypatch.setattr("spcastat.correlations.ROOT_STEPS", 1)
    with pytest.warns(sp.errors.ConvergenceWarning, match=r"1 pair did not converge: \('a', 'b'\)"):
        found = sp.correlation(items)
    assert found.attrs["spcastat"]["not_converged"] == [("a", "b")]


def test_items_cut_at_their_medians_have_the_closed_form():
    # P(both above) = 1/4 + asin(r) / (2 pi), so 340 of 1000 in either corner mean r = sin(2 pi (0.34 - 0.25))
    rows = [(0, 0)] * 340 + [(0, 1)] * 160 + [(1, 0)] * 160 + [(1, 1)] * 340
    found = sp.correlation(pd.DataFrame(rows, columns=["a", "b"]))
    assert found.loc["a", "b"] == pytest.approx(np.sin(2 * np.pi * 0.09), abs=1e-9)


def test_what_the_categories_weaken_is_restored():
    # 60 draws: the mean has a standard error of about .05 / sqrt(60); four of them, and a small-sample bias
    rng = np.random.default_rng(1)
    sets = [cut(rng, 500, 0.5, [0.8, 1.4], [-1.0, -0.4]) for _ in range(60)]
    polychoric = [sp.correlation(items).loc["a", "b"] for items in sets]
    pearson = [sp.correlation(items, "pearson").loc["a", "b"] for items in sets]
    assert np.mean(polychoric) == pytest.approx(0.5, abs=0.035)
    assert np.mean(pearson) < 0.35


def test_rows_are_left_out_pair_by_pair_as_pandas_does():
    rng = np.random.default_rng(2)
    items = pd.concat([cut(rng, 200, 0.4, [0.0, 1.0], [-1.0, 0.5]), cut(rng, 200, 0.2, [0.3], [0.0])], axis=1)
    items.columns = list("abcd")
    items = items.astype(float).mask(rng.random(items.shape) < 0.1)
    # the same sums in another order
    for method in ("pearson", "spearman"):
        found = sp.correlation(items, method)
        np.testing.assert_allclose(found, items.corr(method), rtol=0, atol=1e-12)
    found = sp.correlation(items)
    alone = sp.correlation(items[["a", "d"]].dropna())
    assert found.loc["a", "d"] == pytest.approx(alone.loc["a", "d"], abs=1e-9)
    assert found.attrs["spcastat"]["n_obs"] == 200
    assert (
        found.attrs["spcastat"]["n_pairs_min"]
        == items.notna().astype(int).T.dot(items.notna().astype(int)).min().min()
    )


def test_categories_count_by_their_order_and_labels_stay():
    numbers = cut(np.random.default_rng(3), 300, 0.5, [-0.5, 0.5], [0.0, 1.0])
    named = numbers.apply(lambda x: pd.Categorical.from_codes(x, ["low", "middle", "high"], ordered=True))
    pd.testing.assert_frame_equal(sp.correlation(named), sp.correlation(numbers))
    assert sp.correlation(numbers.to_numpy()).columns.tolist() == ["x1", "x2"]
    # strictly rising codes change nothing
    pd.testing.assert_frame_equal(sp.correlation(numbers**3), sp.correlation(numbers))


def mixed_table() -> pd.DataFrame:
    """Two numbers of the wines, and three that are cut into four, three and two categories."""
    wine = sp.datasets.load_wine().reset_index(drop=True)
    return pd.DataFrame(
        {
            "alcohol": wine["alcohol"],
            "flavanoids": wine["flavanoids"],
            "color": np.digitize(wine["color_intensity"], [3, 5, 7]),
            "hue": np.digitize(wine["hue"], [0.8, 1.05]),
            "proline": wine["proline"] > 800,
        }
    )


def test_polyserial_correlations_are_those_of_polycor():
    # polyserial(x, y, ML = TRUE) of R's polycor 0.8-1 estimates the thresholds with the correlation; two
    # steps differ by less than .003 here, and the quick formula of polycor by up to .06.
    polycor = {
        "alcohol": [0.608010777, 0.0178735598, 0.680584459],
        "flavanoids": [-0.122973944, 0.585106479, 0.621244036],
    }
    R = sp.correlation(mixed_table())
    for number, values in polycor.items():
        np.testing.assert_allclose(R.loc[number, ["color", "hue", "proline"]], values, atol=3e-3)
    # polychor() of polycor, two-step as here; it stops at differences of about 1e-5
    assert R.loc["color", "hue"] == pytest.approx(-0.448368272, abs=2e-5)
    assert R.loc["hue", "proline"] == pytest.approx(0.46978324, abs=2e-5)
    assert R.loc["alcohol", "flavanoids"] == pytest.approx(mixed_table().corr().iloc[0, 1], abs=1e-12)
    about = R.attrs["spcastat"]
    assert about["kind"] == "mixed"
    assert about["types"] == ["continuous"] * 2 + ["ordinal"] * 3


def test_a_polyserial_correlation_has_the_largest_likelihood():
    # the likelihood of the definition, on a grid of correlations
    table = mixed_table()
    z, y = (table["alcohol"] - table["alcohol"].mean()) / table["alcohol"].std(ddof=0), table["color"]
    cuts = [-np.inf, *norm.ppf(np.cumsum(y.value_counts(sort=False).sort_index() / len(y))[:-1]), np.inf]
    ends = np.array([np.take(cuts, y), np.take(cuts, y + 1)])
    grid = np.linspace(0.3, 0.9, 601)
    likelihood = [
        np.log(np.diff(norm.cdf((ends - r * z.to_numpy()) / np.sqrt(1 - r**2)), axis=0)).sum() for r in grid
    ]
    found = sp.correlation(table).loc["alcohol", "color"]
    assert found == pytest.approx(grid[np.argmax(likelihood)], abs=6e-4)  # half a step of the grid


def test_mixed_correlations_restore_what_categories_weaken_with_gaps():
    # 30 draws of 500 rows: the mean has a standard error below .01
    rng = np.random.default_rng(4)
    means = []
    for _ in range(30):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=500).T
        table = pd.DataFrame({"x": x, "y": np.digitize(y, [0.8, 1.4])}).mask(rng.random((500, 2)) < 0.1)
        means.append(sp.correlation(table).loc["x", "y"])
    assert np.mean(means) == pytest.approx(0.6, abs=0.03)


def test_numbers_alone_are_pearson_and_items_alone_polychoric():
    table = mixed_table()
    numbers, items = table[["alcohol", "flavanoids"]], table[["color", "hue"]]
    for part, method in ((numbers, "pearson"), (items, "polychoric")):
        pd.testing.assert_frame_equal(sp.correlation(part), sp.correlation(part, method))
        assert sp.correlation(part).attrs["spcastat"]["kind"] == method


def test_fits_of_mixed_correlations_say_what_they_are():
    R = sp.correlation(mixed_table())
    fit = sp.spca_cov(R, 2, 3, effort="quick")
    assert "polychoric, polyserial and Pearson correlation matrix" in " ".join(str(fit).split())
    assert "(Olsson, 1979; Olsson, Drasgow and Dorans, 1982)" in fit.describe().text
    with pytest.raises(sp.errors.NoRowsError, match="mixed correlations"):
        fit.bootstrap(9)
    with pytest.raises(sp.errors.OptionError, match="mixed correlations"):
        sp.choose_k(R)
    assert sp.choose(R, 2, cards=[2, 3]).card in (2, 3)


@pytest.mark.parametrize(
    ("items", "options", "error", "words"),
    [
        ({"a": ["x", "y", "x"], "b": [1, 2, 1]}, {}, sp.errors.ColumnTypeError, "'a'.*ordered=True"),
        ({"a": pd.Categorical(["x", "y", "x"]), "b": [1, 2, 1]}, {}, sp.errors.ColumnTypeError, "'a'.*order"),
        (
            {"a": range(12), "b": [1, 2] * 6},
            {"method": "polychoric"},
            sp.errors.ColumnTypeError,
            "more than max_levels=10 distinct values: 'a'",
        ),
        ({"a": [1, 1, 1], "b": [1, 2, 1]}, {}, sp.errors.ConstantColumnError, "'a' has only one value"),
        ({"a": [np.nan] * 3, "b": [1, 2, 1]}, {}, sp.errors.MissingValuesError, "'a' has no values"),
        ({"a": [1, 2, np.nan], "b": [np.nan, 2, 1]}, {}, sp.errors.MissingValuesError, "'a' and 'b'"),
        (
            {"a": [1, 2, np.nan], "b": [np.nan, 2, 1]},
            {"method": "pearson"},
            sp.errors.MissingValuesError,
            "'b'",
        ),
        ({"a": [1, 2, np.inf], "b": [1, 2, 1]}, {}, sp.errors.InfiniteValuesError, "'a'"),
        ({"a": [1, 2], "b": [2, 1]}, {"method": "kendall"}, sp.errors.OptionError, "method='kendall'"),
        ({"a": [1, 2], "b": [2, 1]}, {"bound": 1.0}, sp.errors.OptionError, "bound=1.0"),
        ({"a": [1, 2], "b": [2, 1]}, {"max_levels": 1}, sp.errors.OptionError, "max_levels=1"),
    ],
)
def test_what_has_no_correlation_is_refused_by_name(items, options, error, words):
    with pytest.raises(error, match=words):
        sp.correlation(pd.DataFrame(items), **options)


def indefinite() -> pd.DataFrame:
    """Return polychoric correlations of 6 items that no sample has."""
    z = np.random.default_rng(3).normal(size=(40, 6))
    items = pd.DataFrame(np.digitize(z[:, [0]] + 0.3 * z, [-1.0, 0.0, 1.0]), columns=list("abcdef"))
    return sp.correlation(items)


def test_correlations_that_no_sample_has_are_replaced_by_the_nearest_and_the_print_says_so(tmp_path):
    R = indefinite()
    assert R.attrs["spcastat"]["smallest_eigenvalue"] < -1e-3
    with pytest.raises(sp.errors.CovarianceError, match="nearest=True"):
        sp.spca_cov(R, 1, 3)
    fit = sp.spca_cov(R, 1, 3, nearest=True, effort="quick")
    text = " ".join(str(fit.summary()).split())
    assert "polychoric correlation matrix of 6 variables, from 40 rows" in text
    assert f"smallest eigenvalue {R.attrs['spcastat']['smallest_eigenvalue']:.2g}" in text
    assert "replaced by the nearest positive semidefinite matrix" in fit.describe().text
    assert fit.total_variance == pytest.approx(6)
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)
    assert str(fit.refit(card=3)) == str(fit)
    assert str(sp.spca_path(R, 1, cards=[3], nearest=True)[3]) == str(fit)


def test_polychoric_correlations_have_no_scores_of_codes_and_no_draws_of_normal_rows():
    R = indefinite()
    fit = sp.spca_cov(R, 1, 3, nearest=True, effort="quick")
    with pytest.raises(sp.errors.NoRowsError, match="than polychoric correlations"):
        fit.bootstrap(10)
    with pytest.raises(sp.errors.NoRowsError, match="not correlations of the numbers"):
        fit.transform(R)
    with pytest.raises(sp.errors.OptionError, match="mean was given with polychoric"):
        sp.spca_cov(R, 1, 3, nearest=True, mean=np.zeros(6))
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)))
    assert sp.spca_cov(sp.correlation(rows, "pearson"), 1, 2).bootstrap(10) is not None  # n_obs is known
    assert sp.choose(sp.correlation(rows, "pearson"), 1, cards=[1, 2]).by == "ebic"
    assert "PCA of the Pearson correlation matrix of" in str(
        sp.spca_cov(sp.correlation(rows, "pearson"), 1, 2, effort="quick")
    )
    with pytest.raises(sp.errors.NoRowsError, match="correlations of 29 to 30 rows"):
        sp.spca_cov(sp.correlation(rows.mask(rows == rows.iloc[0, 0]), "pearson"), 1, 2).bootstrap(10)


@pytest.mark.parametrize("method", ["auto", "polychoric", "spearman", "pearson"])
def test_one_item_has_the_correlation_one_with_itself(method):
    R = sp.correlation(pd.DataFrame({"item": [1, 2, 2, 3, 1, 3]}), method)
    assert R.to_numpy().tolist() == [[1.0]]
