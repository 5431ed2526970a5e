"""Choices on real tables: stability, published numbers of scales, and time.

The folder of ``--data`` has the tables of the README of the benchmarks and, from R, ``crabs.csv`` (MASS) and
``state.csv`` (state.x77). Its folder ``batteries`` has one file for each battery: ``raq.csv`` (discovr),
``ability.csv``, ``epi.csv`` (complete rows; psychTools), and the correlation matrices ``neo.csv``
(psychTools), ``Bechtoldt.1.csv``, ``Bechtoldt.2.csv``, ``Holzinger.csv``, ``Holzinger.9.csv``,
``Thurstone.csv``, ``Reise.csv``, ``Tucker.csv`` and ``Harman.8.csv`` (psych).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

import spcastat as sp
from benchmarks.data import file_of
from benchmarks.report import Table, timed
from benchmarks.trust.sets import Call, Measured, shares
from benchmarks.trust.structures import blocks, rows_of

# --- real tables -----------------------------------------------------------------------------------

SEEDS = 5


def _numbers(folder: Path | None, name: str) -> pd.DataFrame | None:
    """Return the complete rows and the numeric columns that vary of a file, if there is one."""
    path = file_of(name, folder)
    if path is None:
        return None
    table = pd.read_csv(path).drop(columns="class", errors="ignore")
    table = table.select_dtypes("number").dropna()
    return table.loc[:, table.std() > 0]


def _bfi(folder: Path | None) -> pd.DataFrame | None:
    """Return the complete answers to the 25 items of personality."""
    path = file_of("psych_bfi.csv", folder)
    if path is None:
        return None
    table = pd.read_csv(path)
    items = [name for name in table if name[0] in "ACENO" and name[1:].isdigit()]
    return table[items].dropna()


def _of_sklearn(name: str) -> pd.DataFrame:
    import sklearn.datasets

    return getattr(sklearn.datasets, f"load_{name}")(as_frame=True).data


def _macrodata() -> pd.DataFrame:
    import statsmodels.api as sm

    return sm.datasets.macrodata.load_pandas().data.drop(columns=["year", "quarter"])


def _file(name: str) -> Callable[[Path | None], pd.DataFrame | None]:
    return lambda folder: _numbers(folder, name)


#: Name -> folder with the data -> rows, or None without the file.
REAL: dict[str, Callable[[Path | None], pd.DataFrame | None]] = {
    "wine": lambda _: sp.datasets.load_wine().select_dtypes("number"),
    "pitprops, a sample": lambda _: sp.datasets.pitprops_sample(),
    "judges": lambda _: sp.datasets.load_judges(),
    "diabetes": lambda _: _of_sklearn("diabetes"),
    "breast cancer": lambda _: _of_sklearn("breast_cancer"),
    "macrodata": lambda _: _macrodata(),
    "mtcars": _file("mtcars.csv"),
    "glass": _file("uci_glass.csv"),
    "heart": _file("heart.csv"),
    "dermatology": _file("uci_dermatology.csv"),
    "crabs": _file("crabs.csv"),
    "state": _file("state.csv"),
    "personality items": _bfi,
    "R anxiety items": _file("batteries/raq.csv"),
    "ability items": _file("batteries/ability.csv"),
}


def table_real(call: Call) -> Table:
    """Return shares, agreement and lines of choices on real tables."""
    columns = ["of best", "of loadings", "halves", "seeds", "k of seeds", "lines"]
    table = Table("Choices on real tables", ["table", "rows", "variables", "k", *columns])
    names = [name for name, rows in REAL.items() if rows(call.data) is not None]
    figures = []
    for name, found in call.measured("choose-real", names, lambda name, _: _real(name, call.data)).items():
        for one in found[:1]:
            figures.append([one[column] for column in columns])
            numbers = "/".join(map(str, sorted({int(k) for k in one["numbers"]})))
            size = [str(int(one["rows"])), str(int(one["variables"])), numbers]
            table.rows.append([name, *size, *(f"{one[column]:.2f}" for column in columns)])
    if figures:
        table.rows.append(["mean", "", "", "", *(f"{mean:.2f}" for mean in np.mean(figures, axis=0))])
    table.notes.append(
        "choose(scale=True) with five seeds. k: the numbers of components that they choose; k of seeds: the "
        "share of seeds with the most frequent one, which is given for the rest. of best: the share of the "
        "best held-out prediction; of loadings: nonzero ones; seeds, halves: mean Jaccard index of the "
        "nonzero loadings of two seeds, and of four pairs of random halves of the rows; lines: of the print."
    )
    return table


def _real(name: str, folder: Path | None) -> Measured:
    rows = REAL[name](folder)
    assert rows is not None
    unaided = sp.choose(rows, scale=True, rng=0)
    numbers = [unaided.k, *(sp.choose_k(rows, scale=True, rng=seed).k for seed in range(1, SEEDS))]
    k = max(set(numbers), key=numbers.count) or 1
    choices = [sp.choose(rows, k=k, scale=True, rng=seed) for seed in range(SEEDS)]
    chosen = [choice.table.loc[choice.table["chosen"]].iloc[0] for choice in choices]
    supports = [choice.fit.loadings.to_numpy() != 0 for choice in choices]
    return {
        "rows": len(rows),
        "variables": rows.shape[1],
        "numbers": [int(k) for k in numbers],
        "of best": float(np.mean([one["kept"] for one in chosen])),
        "of loadings": float(np.mean([support.mean() for support in supports])),
        "halves": float(np.mean([jaccard(*_halves(rows, k, seed)) for seed in range(4)])),
        "seeds": float(np.mean([jaccard(a, b) for a, b in combinations(supports, 2)])),
        "k of seeds": numbers.count(k) / SEEDS,
        "lines": len(str(unaided).splitlines()),
    }


def _halves(rows: pd.DataFrame, k: int, seed: int) -> list[np.ndarray]:
    """Return the supports that are chosen in two random halves of the rows."""
    places = np.random.default_rng(seed).permutation(len(rows))
    supports = []
    for half in (places[: len(places) // 2], places[len(places) // 2 :]):
        part = rows.iloc[half]
        part = part.loc[:, part.nunique() > 1]
        loadings = sp.choose(part, k=k, scale=True, rng=seed).fit.loadings
        supports.append(loadings.reindex(rows.columns, fill_value=0.0).to_numpy() != 0)
    return supports


def jaccard(a: np.ndarray, b: np.ndarray) -> float:
    """Return the Jaccard index of two supports, shape (p, k), whose components are matched."""
    overlap = a.T.astype(float) @ b
    common = overlap[linear_sum_assignment(-overlap)].sum()
    return float(common / (a.sum() + b.sum() - common))


# --- published numbers of scales -------------------------------------------------------------------


@dataclass(frozen=True)
class Battery:
    """A questionnaire or a battery of tests, whose number of scales is published.

    Attributes
    ----------
    number : int
    source : str
    file : str
        Rows, or a correlation matrix.
    n : int
        Rows behind a correlation matrix; 0 for rows.
    """

    number: int
    source: str
    file: str
    n: int = 0


BATTERIES = {
    "25 personality items": Battery(5, "Revelle, Wilt and Rosenthal (2010)", "psych_bfi.csv"),
    "23 items on R anxiety": Battery(4, "Field (2026), simulated", "batteries/raq.csv"),
    "16 ability items": Battery(4, "Condon and Revelle (2014)", "batteries/ability.csv"),
    "57 items of the EPI": Battery(3, "Eysenck and Eysenck (1964)", "batteries/epi.csv"),
    "30 facets of the NEO": Battery(5, "Costa and McCrae (1992)", "batteries/neo.csv", 1000),
    "24 psychological tests": Battery(4, "Harman (1976)", "", 145),
    "14 ability tests": Battery(4, "Holzinger and Swineford (1937)", "batteries/Holzinger.csv", 355),
    "9 ability tests (Jöreskog)": Battery(3, "Jöreskog (2003)", "batteries/Holzinger.9.csv", 145),
    "9 ability tests (McDonald)": Battery(3, "McDonald (1999)", "batteries/Thurstone.csv", 213),
    "17 ability tests, 1": Battery(6, "Bechtoldt (1961)", "batteries/Bechtoldt.1.csv", 212),
    "17 ability tests, 2": Battery(6, "Bechtoldt (1961)", "batteries/Bechtoldt.2.csv", 213),
    "16 items on health care": Battery(5, "Reise, Morizot and Hays (2007)", "batteries/Reise.csv", 1000),
    "9 tests (Tucker)": Battery(2, "Tucker and Lewis (1973)", "batteries/Tucker.csv", 710),
    "8 physical variables": Battery(2, "Harman (1976)", "batteries/Harman.8.csv", 305),
}


def table_batteries(call: Call) -> Table:
    """Return the number of components of questionnaires and tests beside the published number."""
    head = [
        "battery",
        "published",
        "k",
        "predicting",
        "deflated",
        "parallel",
        "Kaiser",
        "next predicts",
        "source",
    ]
    table = Table("Published numbers of scales", head)
    right = 0
    for name, battery in BATTERIES.items():
        data = _battery(battery, call.data)
        if data is None:
            continue
        given: dict[str, Any] = {"n_obs": battery.n} if battery.n else {"scale": True}
        choices = [sp.choose_k(data, rng=seed, **given) for seed in range(3)]
        first, several = choices[0], sorted({choice.k for choice in choices})
        right += several == [battery.number]
        gains = first.table["gain"]
        refused = f"{gains.iloc[first.k]:.2f}" if len(gains) > first.k else "-"
        numbers = [first.predicting, first.deflated, first.parallel, first.kaiser]
        cells = [str(battery.number), "/".join(map(str, several)), *map(str, numbers), refused]
        table.rows.append([name, *cells, battery.source])
    table.notes.append(
        f"choose_k() with three seeds; the published number in {right} of {len(table.rows)} with each of "
        "them. deflated: up to the number that predict. next predicts: how many variables the next component "
        "would predict more in held-out rows; 0.2 is needed. Published numbers and sources are those of the "
        "help pages of the packages that distribute the data."
    )
    return table


def _battery(battery: Battery, folder: Path | None) -> pd.DataFrame | None:
    """Return the rows or the correlation matrix of a battery; None without its file."""
    if not battery.file:
        return sp.datasets.load_harman74()
    if battery.file == "psych_bfi.csv":
        return _bfi(folder)
    path = file_of(battery.file, folder)
    if path is None:
        return None
    table = pd.read_csv(path)
    if not battery.n:
        return table
    matrix = table.to_numpy(dtype=float)
    return pd.DataFrame((matrix + matrix.T) / 2, index=table.columns, columns=table.columns)


# --- time ------------------------------------------------------------------------------------------


def _simulated(n: int, p: int, sizes: tuple[int, ...]) -> pd.DataFrame:
    """Return rows of factors of `sizes` variables."""
    draw = rows_of(blocks(p, [[0.7] * size for size in sizes]), n)
    return pd.DataFrame(draw(np.random.default_rng(5)))


TIMED: dict[str, Callable[[], pd.DataFrame]] = {
    "wine, 178 x 13": lambda: sp.datasets.load_wine().select_dtypes("number"),
    "breast cancer, 569 x 30": lambda: _of_sklearn("breast_cancer"),
    "four factors of 15, 300 x 100": lambda: _simulated(300, 100, (15,) * 4),
    "five factors of 300 to 60, 64 x 6830": lambda: _simulated(64, 6830, (300, 200, 150, 100, 60)),
}


def table_time(call: Call) -> Table:
    """Return the CPU time of choices, in all and in multiples of the fit that they return."""
    columns = ["choose", "choose_k alone", "its fit", "choose / fit"]
    table = Table("CPU seconds of choose(scale=True)", ["table", *columns, "data sets"])
    for name, found in call.measured("choose-time", TIMED, lambda name, _: _timed(name)).items():
        table.rows.append([name, *shares(found, columns)])
    table.notes.append("One thread. its fit: the call of spca() that the choice prints.")
    return table


def _timed(name: str) -> Measured:
    rows = TIMED[name]()
    choice, whole = timed(lambda: sp.choose(rows, scale=True))
    _, number = timed(lambda: sp.choose_k(rows, scale=True))
    options = {key: value for key, value in choice.fit._call.arguments.items() if key != "progress"}
    _, plain = timed(lambda: sp.spca(rows, **{"scale": True, **options}))
    return {"choose": whole, "choose_k alone": number, "its fit": plain, "choose / fit": whole / plain}
