"""Partitions, groups of variables, ordinal items and mixed data, compared with enumeration.

The real data are psych_bfi.csv, heart.csv, mtcars.csv and cov_normCommunities.npz.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.data import covariance_of_communities, file_of
from benchmarks.quality.call import Call
from benchmarks.report import Table, timed

#: A case, its reference value, and a function that computes the value of spcastat.
Case = tuple[str, str, Callable[[], str]]


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield the cases; those whose files are not in the folder are left out."""
    R = sp.datasets.load_pitprops()
    best = {"pev": (0.46462, 0.58359, 0.65788, 0.73072, 0.79201)}
    best["adjusted"] = (0.46238, 0.56139, 0.63359, 0.69236, 0.73686)
    for objective, values in best.items():
        for k, value in enumerate(values, 2):
            yield f"pitprops, {k} groups, {objective}", f"{value:.5f}", partial(_partition, R, k, objective)
    for k, value in ((2, 0.46306), (3, 0.56927), (4, 0.64214), (5, 0.70473)):
        yield f"pitprops, {k} groups, bound", f"{value:.5f}", partial(_bound, R, k)
    for file, of_file in (("psych_bfi.csv", _bfi), ("mtcars.csv", _cars), ("heart.csv", _heart)):
        path = file_of(file, folder)
        if path is not None:
            yield from of_file(pd.read_csv(path))
    communities = covariance_of_communities(folder)
    if communities is not None:
        S = communities[:100, :100]
        for k, value in ((3, 0.43534), (5, 0.52772)):
            yield f"communities, {k} groups, PEV", f"{value:.5f} or more", partial(_partition, S, k, "pev")


def _partition(S: Any, k: int, objective: Any) -> str:
    return f"{sp.spca_cov(S, k, disjoint=True, objective=objective).measure(objective):.5f}"


def _bound(R: pd.DataFrame, k: int) -> str:
    fit = sp.spca_cov(R, k, disjoint=True, objective="adjusted")
    return f"{fit.certify(joint=True).table['upper_bound'].iloc[0]:.5f}"


def _bfi(data: pd.DataFrame) -> Iterator[Case]:
    items = data.iloc[:, :25]

    def scales() -> str:
        V = sp.spca_cov(sp.correlation(items), 5, 5).loadings
        whole = [len({name[0] for name in V.index[V[component] != 0]}) == 1 for component in V]
        return f"{sum(whole)} whole scales"

    yield "bfi, polychoric, 5 components of 5", "5 whole scales", scales


def _cars(data: pd.DataFrame) -> Iterator[Case]:
    X = data.select_dtypes("number")
    for objective, value in (("pev", 0.6043866), ("adjusted", 0.5487209), ("least_squares", 0.8349298)):
        yield f"mtcars, 4-4 disjoint, {objective}", f"{value:.7f}", partial(_disjoint, X, objective)


def _disjoint(X: pd.DataFrame, objective: Any) -> str:
    return f"{sp.spca(X, 2, 4, scale=True, disjoint=True, objective=objective).measure(objective):.7f}"


def _heart(data: pd.DataFrame) -> Iterator[Case]:
    """Yield cases of factor analysis of mixed data: thirteen terms, six of them numeric."""
    names = [*data.columns[:6], *(name.rsplit("_", 1)[0] for name in data.columns[6:])]
    S = data.T @ data / len(data)
    groups: dict[str, list[str]] = {}
    for label, name in zip(data, names, strict=True):
        groups.setdefault(name, []).append(label)
    for count in (1, 2, 3, 4, 6):
        unions = (
            [*chain.from_iterable(groups[name] for name in chosen)] for chosen in combinations(groups, count)
        )
        exact = max(float(np.linalg.eigvalsh(S.loc[J, J])[-1]) for J in unions) / np.trace(S)
        yield f"heart, {count} terms, enumerated", f"{exact:.5f}", partial(_terms, S, [count], groups)
    for card, value in (([2, 2], "0.16297"), ([3, 3, 3], "0.25995"), ([4, 3, 2], "0.26561")):
        yield f"heart, {card} terms", value, partial(_terms, S, card, groups)


def _terms(S: pd.DataFrame, card: list[int], groups: dict[str, list[str]]) -> str:
    return f"{sp.spca_cov(S, len(card), card, together=groups).measure('adjusted'):.5f}"


def rules(call: Call) -> Table:
    """Compare fits under rules for supports with their references."""
    table = Table("Rules, groups, ordinal and mixed data", ["case", "reference", "found", "CPU s"])
    for case, reference, find in cases(call.data):
        found, seconds = timed(find)
        table.rows.append([case, reference, found, f"{seconds:.2f}"])
    table.notes = [
        "Shares of the total variance, adjusted unless stated otherwise. References: all partitions or "
        "unions enumerated, or the best known value."
    ]
    return table
