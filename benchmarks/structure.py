"""Supports under rules, ordinal items, mixed data and groups, compared with other implementations.

``python -m benchmarks.structure --data DIR``; the data are psych_bfi.csv, heart.csv, mtcars.csv and
cov_normCommunities.npz.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table, add_data, command_line, read_arguments, stamp, write_section

#: A case, its reference value, and a function that computes the value of spcastat.
Case = tuple[str, str, Callable[[], str]]


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield the cases; those whose files are not at hand are left out."""
    R = sp.datasets.load_pitprops()
    best = {"pev": (0.46462, 0.58359, 0.65788, 0.73072, 0.79201)}
    best["adjusted"] = (0.46238, 0.56139, 0.63359, 0.69236, 0.73686)
    for objective, values in best.items():
        for k, value in enumerate(values, 2):
            yield (
                f"pitprops, {k} groups, {objective}",
                f"{value:.5f}",
                lambda k=k, o=objective: f"{sp.spca_cov(R, k, disjoint=True, objective=o).measure(o):.5f}",
            )
    for k, value in ((2, 0.46306), (3, 0.56927), (4, 0.64214), (5, 0.70473)):
        yield f"pitprops, {k} groups, bound", f"{value:.5f}", lambda k=k: _bound(R, k)
    for file, of_file in (("psych_bfi.csv", _bfi), ("mtcars.csv", _cars), ("heart.csv", _heart)):
        if folder is not None and (folder / file).exists():
            yield from of_file(pd.read_csv(folder / file))
    file = "cov_normCommunities.npz"
    if folder is not None and (folder / file).exists():
        S = np.load(folder / file)["S"][:100, :100]
        for k, value in ((3, 0.43534), (5, 0.52772)):
            yield f"communities, {k} groups, PEV", f"{value:.5f} or more", lambda k=k: _pev(S, k)


def _pev(S: np.ndarray, k: int) -> str:
    return f"{sp.spca_cov(S, k, disjoint=True, objective='pev').measure('pev'):.5f}"


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
        yield (
            f"mtcars, 4-4 disjoint, {objective}",
            f"{value:.7f}",
            lambda o=objective: f"{sp.spca(X, 2, 4, scale=True, disjoint=True, objective=o).measure(o):.7f}",
        )


def _heart(data: pd.DataFrame) -> Iterator[Case]:
    """Thirteen terms, six of them numbers, in the columns of factor analysis of mixed data."""
    names = [*data.columns[:6], *(name.rsplit("_", 1)[0] for name in data.columns[6:])]
    S = data.T @ data / len(data)
    groups = {name: [label for label, own in zip(data, names, strict=True) if own == name] for name in names}
    for count in (1, 2, 3, 4, 6):
        unions = (
            [*chain.from_iterable(groups[name] for name in some)] for some in combinations(groups, count)
        )
        exact = max(float(np.linalg.eigvalsh(S.loc[J, J])[-1]) for J in unions) / np.trace(S)
        yield f"heart, {count} terms, enumerated", f"{exact:.5f}", lambda c=count: _terms(S, [c], groups)
    for card, value in (([2, 2], "0.16297"), ([3, 3, 3], "0.25995"), ([4, 3, 2], "0.26561")):
        yield f"heart, {card} terms", value, lambda card=card: _terms(S, card, groups)


def _terms(S: pd.DataFrame, card: list[int], groups: dict[str, list[str]]) -> str:
    return f"{sp.spca_cov(S, len(card), card, together=groups).measure('adjusted'):.5f}"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write where that is asked for."""
    parser = command_line("structure", __doc__, ())
    add_data(parser, "no more than without")
    given = read_arguments(parser, (), arguments)
    table = Table("Rules, groups and the data of statisticians", ["case", "reference", "found", "s"])
    for case, reference, found in cases(given.data):
        begun = time.process_time()
        table.rows.append([case, reference, found(), f"{time.process_time() - begun:.2f}"])
    table.notes = [
        "Shares of the total variance, adjusted unless stated otherwise. References: all partitions or "
        "unions enumerated, or the best known value. CPU seconds, one thread."
    ]
    print(table.show(False))
    if given.write:
        title = f"## Rules and groups\n\n`python -m benchmarks.structure`. {stamp()}"
        write_section("structure", "\n\n".join([title, table.show(True)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
