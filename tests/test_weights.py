"""A frequency weight of 2 is two rows: fits to weighted rows equal those to the rows repeated."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp

N = 40
TIMES = np.random.default_rng(1).integers(0, 4, N)
ROWS = np.repeat(np.arange(N), TIMES)


def table(gaps: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((N, 6))
    X = pd.DataFrame(X, columns=list("abcdef"))
    return X.mask(rng.random(X.shape) < 0.06) if gaps else X


def repeated(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.iloc[ROWS].reset_index(drop=True)


def assert_alike(weighted: Any, of_copies: Any, path: str = "") -> None:
    """Compare results by value: tables by row for each copy; 1e-6 allows for the accuracy of iterations."""
    if isinstance(weighted, dict):
        assert set(weighted) == set(of_copies), path
        for name in weighted:
            assert_alike(weighted[name], of_copies[name], f"{path}.{name}")
    elif isinstance(weighted, (pd.DataFrame, pd.Series)):
        if len(weighted) == N:
            weighted = repeated(weighted)
        weighted, of_copies = (
            pd.DataFrame(table).drop(columns="call", errors="ignore") for table in (weighted, of_copies)
        )
        options: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-7, "obj": path, "check_names": False}
        pd.testing.assert_frame_equal(weighted, of_copies, **options)
    elif isinstance(weighted, float):
        assert weighted == pytest.approx(of_copies, rel=1e-6, nan_ok=True), path
    else:
        assert weighted == of_copies, path


#: Not numbers of the result, or of its draws and its data.
LEFT_OUT = ("call", "resampled", "imputed", "options")


def numbers(result: Any, *methods: str) -> dict[str, Any]:
    """Return every public table and number of a result, and what methods without arguments return."""
    names = [name for name in dir(type(result)) if not name.startswith("_") and name not in LEFT_OUT]
    names = [name for name in names if isinstance(getattr(type(result), name), property)]
    values = {}
    for name in names:
        with contextlib.suppress(sp.errors.SpcaError):  # what a fit of this kind has not
            values[name] = getattr(result, name)
    values = {name: getattr(value, "frames", value) for name, value in values.items()}
    for name in methods:
        value = getattr(result, name)()
        values[name] = getattr(value, "frames", value)
    kinds = (pd.DataFrame, pd.Series, int, float, str, dict)
    return {name: value for name, value in values.items() if isinstance(value, kinds)}


METHODS = [
    "contributions",
    "cos2",
    "diagnostics",
    "limits",
    "glance",
    "tidy",
    "summary",
]
FITS = {
    "plain": {"card": 3},
    "scaled": {"card": 3, "scale": True},
    "share of variance": {"variance": 0.9},
    "blocks": {"card": 3, "scale": "blocks", "blocks": {"u": ["a", "b"], "v": ["c", "d", "e", "f"]}},
    "not centred": {"card": 3, "center": False},
    "penalised": {"card": 3, "method": "gpower-l1"},
    "projection pursuit": {"card": 3, "method": "spcagrid"},
    "robust": {"card": 3, "method": "rspca-l0"},
    "pairwise": {"card": 3, "na": "pairwise"},
    "em": {"card": 3, "na": "em"},
    "covariate": {"card": 3, "formula": "~ a + b + c + d + e | f"},
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", FITS)
def test_fits(kind):
    options = FITS[kind]
    rows = table(gaps="na" in options)
    weighted, of_copies = sp.spca(rows, 2, weights=TIMES, **options), sp.spca(repeated(rows), 2, **options)
    left_out = {"pairwise": ["diagnostics"]}
    methods = [name for name in METHODS if name not in left_out.get(kind, [])]
    first, second = (numbers(fit, *methods) for fit in (weighted, of_copies))
    assert_alike(first, second)
    assert first["glance"]["n"].item() == TIMES.sum()


def test_contributions_of_rows_are_those_of_all_copies():
    weighted, of_copies = sp.spca(table(), 2, 3, weights=TIMES), sp.spca(repeated(table()), 2, 3)
    sums = of_copies.contributions("rows").groupby(ROWS).sum()
    np.testing.assert_allclose(weighted.contributions("rows").iloc[sums.index], sums, rtol=1e-9)


def test_supplementary_variables():
    rng = np.random.default_rng(5)
    further = pd.DataFrame({"y": rng.standard_normal(N), "level": rng.choice(list("xyz"), N)})
    weighted, of_copies = sp.spca(table(), 2, 3, weights=TIMES), sp.spca(repeated(table()), 2, 3)
    supplements = weighted.supplement(variables=further), of_copies.supplement(variables=repeated(further))
    assert_alike(supplements[0].frames, supplements[1].frames)
    described = weighted.describe_components(supplements[0]), of_copies.describe_components(supplements[1])
    assert_alike(described[0].frames, described[1].frames)


def compared(rows, **options):
    fits = [sp.spca(rows, 2, card, **options) for card in (2, 3)]
    return sp.compare(*fits, held_out=True, folds=4).measures


#: Draws of equal rows depend on their values, so that weighted rows are drawn like copies.
CALLS = {
    "choose": lambda rows, **options: (
        sp.choose(rows, k=2, cards=[2, 3, 5], folds=4, repeats=2, **options).table
    ),
    "choose, clusters": lambda rows, **options: (
        sp.choose(
            rows.assign(g=[f"g{round(100 * a) % 9}" for a in rows["a"]]),
            k=2, cards=[2, 3], folds=3, repeats=1, clusters="g", **options,
        ).table
    ),
    "choose by EBIC": lambda rows, **options: sp.choose(rows, k=2, by="ebic", **options).table,
    "choose by BIC": lambda rows, **options: sp.choose(rows, k=2, by="bic", **options).table,
    "path": lambda rows, **options: sp.spca_path(rows, 2, cards=[2, 3, 4], **options).table,
    "held out": compared,
    "eigenvalues of choose_k": lambda rows, **options: sp.choose_k(rows, n_draws=39, **options).spectrum,
    "bootstrap": lambda rows, **options: sp.spca(rows, 2, 3, **options).bootstrap(9).table,
    "variances": lambda rows, **options: sp.spca(rows, 2, 3, **options).bootstrap(9).frames["variance"],
    "stability": lambda rows, **options: sp.spca(rows, 2, 3, **options).stability(6).table,
    "split": lambda rows, **options: sp.spca(rows, 2, 3, **options).split_inference(9).conf_int(),
    "tests": lambda rows, **options: sp.spca(rows, 2, 3, **options).test_loadings(19).table,
    "tests with covariates": lambda rows, **options: (
        sp.spca(rows, 2, 2, formula="~ . | a", **options).test_loadings(19).table
    ),
    "sparse loadings": lambda rows, **options: numbers(
        sp.sparse_loadings(rows, 2, total=7, **options), "glance", "tidy"
    ),
}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    assert_alike(CALLS[call](table(), weights=TIMES), CALLS[call](repeated(table())))


@pytest.mark.parametrize(
    "control", [{"zeros": 0.5}, {"zeros": 0.0}, {"zeros": 0.83}, {"penalty": 0.7}], ids=str
)
def test_sparse_coordinates(control):
    """The share of zeros counts a row of weight 2 as two rows."""
    weighted = sp.spco(table(), 2, weights=TIMES, **control)
    of_copies = sp.spco(repeated(table()), 2, **control)
    assert_alike(numbers(weighted, "summary"), numbers(of_copies, "summary"))
    assert weighted.measure("cpzc") == pytest.approx(of_copies.measure("cpzc"), abs=1e-12)


def test_the_share_of_zeros_of_fractional_weights():
    """By definition: the weights of zero coordinates over all weights, within the largest weight."""
    w = np.random.default_rng(2).uniform(0.5, 2.0, N)
    fit = sp.spco(table(), 2, zeros=0.6, weights=w)
    share = (w @ (fit.coordinates.to_numpy() == 0)).sum() / (2 * w.sum())
    assert fit.measure("cpzc") == pytest.approx(share)
    assert 0.6 <= share + 1e-12 < 0.6 + w.max() / (2 * w.sum())
