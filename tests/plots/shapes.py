"""Twelve data sets with the shapes of real ones: sizes, names, correlated blocks, skew, far rows, groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

WINE = [
    *(
        "alcohol",
        "malic_acid",
        "ash",
        "alcalinity_of_ash",
        "magnesium",
        "total_phenols",
        "flavanoids",
    ),
    *("nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue"),
    *("od280/od315_of_diluted_wines", "proline"),
]
CELL = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
)
CELLS = [
    f"{stage} {what}"
    for stage in ("mean", "error of", "worst")
    for what in (*CELL, "concave points", "symmetry", "fractal dimension")
]
PEOPLE = (
    "single_parents",
    "owners",
    "tenants",
    "over_65",
    "under_18",
    "commuters",
    "jobless",
    "graduates",
)
HOMES = ("renovated", "vacant", "social", "mortgaged", "shared", "insured")
JOBS = ("self_employed", "part_time", "long_term", "new", "moved_last_year", "migrants")
CENSUS = [
    f"{what}_as_percentage_of_total_{where}"
    for where in ("households", "population", "labour_force", "dwellings", "enrolments")
    for what in (*PEOPLE, *HOMES, *JOBS)
]
LETTERS = [
    *(
        "x-box",
        "y-box",
        "width",
        "high",
        "onpix",
        "x-bar",
        "y-bar",
        "x2bar",
        "y2bar",
        "xybar",
        "x2ybr",
    ),
    *("xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
]
SURVEY = [
    f"Q{i}: How satisfied are you with item number {i} of our service?"
    for i in range(1, 31)
]
EQUAL = [f"concentration of substance {i} in the sample, mg/l" for i in range(1, 14)]
EXAMS = ["mechanics", "vectors", "algebra", "analysis", "statistics"]
GENES = [f"gene_expression_probe_{i:05d}_at" for i in range(2000)]


def blocks(
    n: int,
    p: int,
    factors: int,
    seed: int,
    *,
    noise: float = 0.6,
    tails: bool = False,
    groups: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of `p` variables that load on `factors` in blocks, and the group of each row."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((factors, p))
    weights[np.arange(p) % factors, np.arange(p)] = rng.choice(
        [-1, 1], p
    ) * rng.uniform(0.5, 1.0, p)
    weights += 0.15 * rng.normal(size=weights.shape)
    hidden = rng.standard_t(3, (n, factors)) if tails else rng.normal(size=(n, factors))
    group = np.arange(n) % max(groups, 1)
    hidden += 2.0 * rng.normal(size=(max(groups, 1), factors))[group] * (groups > 0)
    return hidden @ weights + noise * rng.normal(size=(n, p)), group


def frame(
    names: list[str], n: int, factors: int, seed: int, **options: Any
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return such rows with the names of their variables, and their groups."""
    X, group = blocks(n, len(names), factors, seed, **options)
    return pd.DataFrame(X, columns=names), group


def curves() -> tuple[pd.DataFrame, np.ndarray]:
    """Spectra: smooth bands over 100 wavelengths, neighbours all but equal."""
    rng = np.random.default_rng(4)
    grid = np.linspace(0, 1, 100)
    bands = np.exp(
        -(((grid - rng.uniform(0, 1, (6, 1))) / rng.uniform(0.04, 0.15, (6, 1))) ** 2)
    )
    X = rng.gamma(2.0, size=(60, 6)) @ bands + 0.01 * rng.normal(size=(60, 100))
    return pd.DataFrame(
        X, columns=[f"{w:.0f} nm" for w in np.linspace(850, 1050, 100)]
    ), np.arange(60) % 3


def far_row() -> tuple[pd.DataFrame, np.ndarray]:
    """Nine variables of 80 rows, the first of them far from the others."""
    X, group = blocks(80, 9, 3, 8)
    X[0] *= 15.0
    return pd.DataFrame(X, columns=[f"element {c}" for c in "ABCDEFGHI"]), group


#: Name -> function that makes the rows and their groups.
SHAPES: dict[str, Callable[[], tuple[pd.DataFrame, np.ndarray]]] = {
    "wine": lambda: frame(WINE, 178, 3, 0, groups=3),
    "small wine": lambda: frame(WINE, 50, 2, 1, noise=0.3),
    "cells": lambda: frame(CELLS, 569, 3, 2, tails=True, groups=2),
    "collinear cells": lambda: frame(CELLS, 569, 2, 3, noise=0.15),
    "census": lambda: frame(CENSUS, 1994, 5, 4, groups=8),
    "genes": lambda: frame(GENES, 62, 4, 5, groups=2),
    "letters": lambda: frame(LETTERS, 10_000, 4, 6, groups=12),
    "exams": lambda: frame(EXAMS, 88, 1, 7, noise=0.8),
    "far row": far_row,
    "spectra": curves,
    "survey": lambda: frame(SURVEY, 400, 5, 9, noise=1.0, groups=4),
    "equal names": lambda: frame(EQUAL, 120, 3, 10),
}
