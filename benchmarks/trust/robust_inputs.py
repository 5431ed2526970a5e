"""Robust fits of rows with weights, missing values, clusters, formulas, factors, groups or broken rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report import Table
from benchmarks.trust.robust import CARD, STRONG, Clean, broken, cells, f1, fitted
from benchmarks.trust.sets import Call, Measured, shares

#: Standard deviations between groups of rows, along the components.
APART = 6.0
Case = tuple[Any, np.ndarray, dict[str, Any]]


def _spoilt(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    X, V = cells(0.1, Clean(sd=STRONG))(rng)
    return pd.DataFrame(X).add_prefix("x"), V


def _with(options: Callable[[np.random.Generator, int], dict[str, Any]]) -> Callable[[Any], Case]:
    def case(rng: np.random.Generator) -> Case:
        X, V = _spoilt(rng)
        return X, V, options(rng, len(X))

    return case


def _missing(na: str, share: float) -> Callable[[Any], Case]:
    def case(rng: np.random.Generator) -> Case:
        X, V = _spoilt(rng)
        return X.mask(rng.random(X.shape) < share), V, {"na": na}

    return case


def _formula(rng: np.random.Generator) -> Case:
    X, V = _spoilt(rng)
    return X, V, {"formula": " + ".join(X.columns)}


def _mixed(rng: np.random.Generator) -> Case:
    X, V = _spoilt(rng)
    factors = {"site": rng.choice(list("abc"), len(X)), "sex": rng.choice(list("fm"), len(X))}
    return X.assign(**factors), V, {"scale": "mixed"}


def _groups(rng: np.random.Generator) -> Case:
    """Three groups of rows, of 60, 25 and 15 %, APART standard deviations apart along the components."""
    X, V = Clean()(rng)
    centres = APART * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    X = X + centres[rng.choice(3, len(X), p=[0.6, 0.25, 0.15])] @ V.T
    return pd.DataFrame(X), V, {}


def _broken(share: float) -> Callable[[Any], Case]:
    def case(rng: np.random.Generator) -> Case:
        X, V = broken(share)(rng)
        return pd.DataFrame(X), V, {}

    return case


CASES: dict[str, Callable[[Any], Case]] = {
    "cells 0.10": _with(lambda rng, n: {}),
    "weights= of 1 to 3": _with(lambda rng, n: {"weights": rng.integers(1, 4, n)}),
    "sampling weights": _with(lambda rng, n: {"weights": rng.gamma(4, size=n), "weights_are": "sampling"}),
    "clusters= of four rows": _with(lambda rng, n: {"clusters": np.arange(n) // 4}),
    "strata= of 50 rows": _with(lambda rng, n: {"strata": np.arange(n) // 50}),
    "scale=True": _with(lambda rng, n: {"scale": True}),
    "10 % missing, na='em'": _missing("em", 0.1),
    "10 % missing, na='pairwise'": _missing("pairwise", 0.1),
    "2 % missing, na='drop'": _missing("drop", 0.02),
    "formula=": _formula,
    "two factors, scale='mixed'": _mixed,
    "three groups of clean rows": _groups,
    "broken correlations 0.20": _broken(0.2),
    "broken correlations 0.40": _broken(0.4),
}


def inputs(call: Call) -> Table:
    """Return F1 of planted supports for other inputs than a plain table."""
    columns = ("plain", "robust=True", "rows left out")
    table = Table("Robust fits of other inputs: F1 of planted supports", ["data", *columns, "data sets"])

    def one(name: str, number: int) -> Measured:
        X, V, options = CASES[name](np.random.default_rng([11, number]))
        fits = [fitted(X, 2, robust, effort="quick", **options) for robust in (False, True)]
        values = [f1(fit.loadings.to_numpy()[: len(V)], V) for fit in fits]
        return dict(zip(columns, [*values, float((~fits[1].robust.rows["kept"]).mean())], strict=True))

    for name, measured in call.measured("robust-inputs", CASES, one).items():
        table.rows.append([name, *shares(measured, columns)])
    table.notes.append(
        f"100 rows of 12 variables, two components of {CARD}, scores of standard deviation 4 and 3, a tenth "
        "of the cells with standard deviation 15, unless stated. Groups: scores of 2 and 1.6, 60, 25 and "
        f"15 % of the rows {APART:g} apart along the components, no bad cells. Broken: the values of some "
        "rows are drawn from each column by itself. Covariates, sparse matrices and chunks are refused."
    )
    return table
