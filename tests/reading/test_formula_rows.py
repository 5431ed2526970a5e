"""Terms and their rows: weights count as repeated rows, and new rows go as those of the fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import FormulaError
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data, replay

WEIGHTED = [
    "poly(a, 2, raw=True)",
    "center(a)",
    "scale(a)",
    "scale(a, center=False)",
    "scale(a, True, False)",
    "scale(a, scale=2.0)",
    "scale(a, ddof=0)",
    "standardize(a)",
    "standardize(a, rescale=False)",
    "scale(log(a))",
    "C(f) + b",
    "scale(a):b",
    "log(a) + a:b",
    "I(center(a) ** 2)",
]
#: Transforms that learn from the rows in a way that weights do not define.
UNWEIGHTED = [
    "poly(a, 3)",
    "scale(poly(a, 2))",
    "bs(a, df=4)",
    "bs(a, knots=[4.0, 5.0])",
    "cr(a, df=4, constraints='center')",
    "cs(a, df=4)",
    "cc(a, df=4)",
]


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({"a": rng.gamma(5, 1, 40), "b": rng.normal(size=40), "f": rng.integers(0, 3, 40)})


def weights() -> np.ndarray:
    return np.random.default_rng(5).integers(1, 6, 40).astype(float)


@pytest.mark.parametrize("term", WEIGHTED)
def test_a_weight_counts_as_repeated_rows(term):
    """The columns are those of np.repeat of the rows, up to the rounding of sums of 120 numbers."""
    w = weights().astype(int)
    repeated = frame().iloc[np.repeat(np.arange(40), w)].reset_index(drop=True)
    weighted = read_data(frame(), ReadOptions(f"~ {term}", weights=w))
    expected = read_data(repeated, ReadOptions(f"~ {term}"))
    assert list(weighted.columns) == list(expected.columns)
    size = np.abs(expected.matrix).max()
    np.testing.assert_allclose(np.repeat(weighted.matrix, w, axis=0), expected.matrix, atol=1e-11 * size)
    # new rows: what was learnt is the same, too
    new = frame().iloc[[3, 17, 8]]
    np.testing.assert_allclose(
        replay(weighted.spec, new)[0], replay(expected.spec, new)[0], atol=1e-11 * size
    )


def test_explained_variance_is_that_of_repeated_rows():
    w = weights().astype(int)
    repeated = frame().iloc[np.repeat(np.arange(40), w)]
    formula = "~ scale(a) + scale(b) + center(log(a))"
    one = sp.spca(frame(), k=2, card=3, formula=formula, weights=w, method="bcd-l0")
    two = sp.spca(repeated, k=2, card=3, formula=formula, method="bcd-l0")
    np.testing.assert_allclose(one.variance.to_numpy(float), two.variance.to_numpy(float), rtol=1e-9)


def test_weights_of_one_change_nothing():
    for term in WEIGHTED + UNWEIGHTED:
        plain = read_data(frame(), ReadOptions(f"~ {term}")).matrix
        np.testing.assert_array_equal(
            read_data(frame(), ReadOptions(f"~ {term}", weights=np.ones(40))).matrix, plain
        )


def test_weights_that_are_no_counts():
    w = weights() / 3
    X = read_data(frame(), ReadOptions("~ standardize(b) + center(a)", weights=w)).matrix
    np.testing.assert_allclose(w @ X, 0, atol=1e-12)
    np.testing.assert_allclose(w @ X[:, 0] ** 2 / w.sum(), 1, atol=1e-12)


@pytest.mark.parametrize("term", UNWEIGHTED)
def test_other_transforms_are_refused_with_weights(term):
    with pytest.raises(FormulaError, match=r"learns from the rows, and weights were given.* Use center"):
        read_data(frame(), ReadOptions(f"~ {term} + b", weights=weights()))


def test_rows_of_weight_zero_teach_nothing():
    w = weights()
    w[:5] = 0
    formula = "~ scale(b) + center(a)"
    one = read_data(frame(), ReadOptions(formula, weights=w))
    two = read_data(frame().iloc[5:], ReadOptions(formula, weights=w[5:]))
    np.testing.assert_allclose(one.matrix[5:], two.matrix, atol=1e-12)


def test_transforms_of_the_user_do_not_know_weights():
    from formulaic.transforms import stateful_transform

    @stateful_transform
    def halved(x, _state=None):
        _state.setdefault("mean", float(np.mean(x)))
        return np.asarray(x) / _state["mean"]

    design = read_data(frame(), ReadOptions("~ halved(a)", context={"halved": halved}))
    np.testing.assert_allclose(design.matrix[:, 0], frame()["a"] / frame()["a"].mean())
    np.testing.assert_allclose(replay(design.spec, frame().iloc[[2]])[0], design.matrix[[2]])
    with pytest.raises(FormulaError, match=r"'halved\(a\)' learns from the rows, and weights were given"):
        read_data(frame(), ReadOptions("~ halved(a)", context={"halved": halved}, weights=weights()))


# --- terms that depend on other rows --------------------------------------------------------------


@pytest.mark.parametrize(
    "term",
    [
        "b.rank()",
        "I(a / a.max())",
        "I(a.cumsum())",
        "np.cumsum(a)",
        "I(a - np.mean(a))",
        "I(a - a.mean())",
        "I(a - a.shift(1).fillna(0))",
        "np.sort(a)",
        "I(a[::-1].to_numpy())",
        "I(a > np.median(a))",
        "I((a - a.min()) / (a.max() - a.min()))",
        "np.gradient(a)",
        "noise(a)",
        "I(a + beside)",
        "beside",
        "scale(b.rank())",
        "b.rank():a",
        "pd.cut(a, 3, labels=False)",
    ],
)
def test_a_term_that_does_not_replay_is_refused(term):
    rng = np.random.default_rng(0)
    context = {"np": np, "pd": pd, "noise": lambda x: x + rng.normal(size=len(x)), "beside": np.arange(40.0)}
    with pytest.raises(FormulaError, match=r"depend on the other rows|on \d+ of its 40 rows alone it fails"):
        read_data(frame(), ReadOptions(f"~ {term} + a", context=context))


def test_lag_is_refused_with_its_reason():
    with pytest.raises(FormulaError, match="calls 'lag', which takes values from other rows"):
        read_data(frame(), ReadOptions("~ lag(a) + b"))


@pytest.mark.parametrize("n", [2, 3, 5, 40])
@pytest.mark.parametrize("sign", [1, -1])
def test_ranks_of_sorted_rows_are_found(n, sign):
    rows = pd.DataFrame({"a": np.arange(n)[::sign] + 1.0, "b": np.ones(n)})
    for term in ("a.rank()", "I(a / a.max())", "I(a - a.iloc[0])", "a.cumsum()"):
        with pytest.raises(FormulaError, match="depend on the other rows"):
            read_data(rows, ReadOptions(f"~ {term} + a"))


@pytest.mark.parametrize(
    "term", ["np.log(a)", "poly(a, 2)", "bs(a, df=4)", "C(f)", "a:b", "scale(a)", "a.clip(3, 6)",
             "scale(a.abs())", "poly(np.hypot(a, b), 2)", "double(a)", "I(a.where(a > 3, 0))",
             "a.map(lambda v: v + 1)", "I(sum([1, 2]) * a)", "C(f, levels=[0, 1, 2])",
             "cr(a, df=4, constraints='center')", "Q('a')"],
)  # fmt: skip
def test_terms_that_replay_go_on_working(term):
    context = {"double": lambda x: 2 * x}
    design = read_data(frame(), ReadOptions(f"~ {term} + b", context=context))
    rows = [7, 3, 30]
    np.testing.assert_allclose(replay(design.spec, frame().iloc[rows])[0], design.matrix[rows], rtol=1e-9)


def test_scores_of_some_rows_are_those_of_the_fit():
    with pytest.raises(FormulaError, match=r"'b\.rank\(\)' depend on the other rows"):
        sp.spca(frame(), k=1, card=2, formula="~ b.rank() + a", method="bcd-l0")
    fit = sp.spca(frame(), k=1, card=3, formula="~ poly(a, 2) + scale(b) + log(a)", method="bcd-l0")
    some = fit.transform(frame().iloc[10:13])
    np.testing.assert_allclose(some, fit.scores.iloc[10:13], atol=1e-12)


# --- numbers --------------------------------------------------------------------------------------


def test_whole_numbers_do_not_overflow():
    """The square of 4e9 is 1.6e19, beyond the 9.2e18 of a whole number of 64 bits."""
    big = pd.DataFrame({"n": [4_000_000_000, 3, 5], "m": [4_000_000_001, 1, 2], "x": [1.0, 2.0, 4.0]})
    formula = "~ I(n**2) + n:m + I(n * m) + np.square(n) + poly(n, 2, raw=True) + x"
    design = read_data(big, ReadOptions(formula))
    n, m = big["n"].astype(float), big["m"].astype(float)
    expected = np.column_stack([n**2, n * m, n * m, n**2, n, n**2, big["x"]])
    np.testing.assert_allclose(design.matrix, expected, rtol=1e-15)
    inverse = read_data(big, ReadOptions("~ I(n**-1) + x")).matrix[:, 0]
    np.testing.assert_allclose(inverse, 1 / n, rtol=1e-15)


def test_division_of_whole_numbers_by_zero_is_told():
    zero = pd.DataFrame({"n": [1, 2, 3], "m": [1, 0, 2]})
    for term in ("n // m", "n % m", "n / m"):
        with pytest.raises(FormulaError, match="missing or infinite values in 1 row, the first of them 1"):
            read_data(zero, ReadOptions(f"~ n + I({term})"))


def test_a_function_of_formulaic_that_is_not_what_it_is_called():
    with pytest.raises(FormulaError, match=r"exp10.*x\*\*10 in formulaic; write np\.power\(10\.0, x\)"):
        read_data(frame(), ReadOptions("~ exp10(b) + a"))
    design = read_data(frame(), ReadOptions("~ np.power(10.0, b)"))
    np.testing.assert_allclose(design.matrix[:, 0], 10.0 ** frame()["b"])
