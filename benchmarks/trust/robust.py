"""Robust fits: supports beside outlying cells and rows, losses on clean data, choices and intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table, timed
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.errors import SpcaWarning

#: Nonzeros of every true and fitted component.
CARD = 4
#: Standard deviations of the scores, the noise having 1, and of outlying values.
STRONG, WEAK, WILD = (4.0, 3.0), (2.0, 1.6, 1.5, 1.4), 15.0
#: Draws of a bootstrap.
DRAWS = 199
#: Fits of each kind whose CPU times are compared, and simulated tables for which they are, besides real ones.
TURNS, TIMED = 5, ((100, 2000), (20_000, 50))

Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


# --- designs ----------------------------------------------------------------------------------------


def loadings(p: int, k: int) -> np.ndarray:
    """Return true loadings: CARD variables of each component in turn, shape (p, k)."""
    V = np.zeros((p, k))
    for c in range(k):
        V[CARD * c : CARD * (c + 1), c] = CARD**-0.5
    return V


@dataclass(frozen=True)
class Clean:
    """Normal rows with planted components."""

    n: int = 100
    p: int = 12
    k: int = 2
    sd: tuple[float, ...] = WEAK

    def __call__(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        V = loadings(self.p, self.k)
        scores = rng.normal(size=(self.n, self.k)) * np.array(self.sd[: self.k])
        return scores @ V.T + rng.normal(size=(self.n, self.p)), V

    def lost(self, L: np.ndarray) -> float:
        """Return the share of the true components' adjusted variance in the population that L loses."""
        V = loadings(self.p, self.k)
        S = (V * np.square(self.sd[: self.k])) @ V.T + np.eye(self.p)
        return 1.0 - adjusted(L, S) / adjusted(V, S)


def adjusted(L: np.ndarray, S: np.ndarray) -> float:
    """Return the adjusted variance of loadings for a covariance matrix, in their best order."""
    root = np.linalg.cholesky(S).T
    orders = permutations(range(L.shape[1]))
    return max(float((np.diag(np.linalg.qr(root @ L[:, list(order)])[1]) ** 2).sum()) for order in orders)


def _rows(share: float, clean: Clean) -> Draw:
    """Outlying rows: values of standard deviation WILD are added to three variables of no component."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, V = clean(rng)
        first, bad = CARD * clean.k, rng.permutation(len(X))[: round(share * len(X))]
        X[np.ix_(bad, range(first, first + 3))] += WILD * rng.normal(size=(len(bad), 3))
        return X, V

    return draw


def cells(share: float, clean: Clean, at: float | None = None) -> Draw:
    """Outlying cells of standard deviation WILD, or all `at` standard deviations above zero."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, V = clean(rng)
        bad = rng.random(X.shape) < share
        if at is None:
            X[bad] = WILD * rng.normal(size=bad.sum())
        else:
            X[bad] = (at * X.std(axis=0) * np.ones(X.shape))[bad]
        return X, V

    return draw


def _cluster(share: float, shift: float, clean: Clean = Clean()) -> Draw:
    """A cluster of rows, shifted together in four variables of no component."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, V = clean(rng)
        first, bad = CARD * clean.k, rng.permutation(len(X))[: round(share * len(X))]
        X[np.ix_(bad, range(first, first + CARD))] += shift + 0.3 * rng.normal(size=(len(bad), CARD))
        return X, V

    return draw


def _leverage(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    V = loadings(12, 2)
    T = rng.normal(size=(100, 2)) * STRONG
    T[rng.permutation(100)[:10]] *= 4
    return T @ V.T + rng.normal(size=(100, 12)), V


def _t_rows(df: int) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, V = Clean()(rng)
        return X / np.sqrt(rng.chisquare(df, size=(100, 1)) / df), V

    return draw


def _lognormal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X, V = Clean(sd=(2.2, 1.8))(rng)
    return np.exp(X / 2), V


def _counts(logarithms: bool) -> Draw:
    """Counts of mean 5 whose rates are lognormal, or the logarithms of one more."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, V = Clean()(rng)
        counts = rng.poisson(5.0 * np.exp(0.5 * X - 0.125 * X.var(axis=0)))
        return np.log1p(counts) if logarithms else counts.astype(float), V

    return draw


def _chi2(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    V = loadings(12, 2)
    scores = (rng.chisquare(2, size=(100, 2)) / 2 - 1) * [2.2, 1.8]
    return scores @ V.T + rng.chisquare(2, size=(100, 12)) / 2, V


def broken(share: float) -> Draw:
    """Rows that break the correlations only: their values are drawn anew from each column by itself."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, V = Clean(sd=STRONG)(rng)
        bad = rng.permutation(len(X))[: round(share * len(X))]
        for j in range(X.shape[1]):
            X[bad, j] = rng.permutation(X[:, j])[: len(bad)]
        return X, V

    return draw


_STRONG, _WIDE = Clean(sd=STRONG), Clean(100, 200, sd=STRONG)
DESIGNS: dict[str, Draw] = {
    "clean": _STRONG,
    "clean, weak": Clean(),
    "clean, weak, 60 x 50": Clean(60, 50),
    "clean, weak, 500 x 30, k = 4": Clean(500, 30, 4),
    **{f"rows {share:.2f}": _rows(share, _STRONG) for share in (0.05, 0.1, 0.2, 0.3, 0.4)},
    **{f"cells {share:.2f}": cells(share, _STRONG) for share in (0.05, 0.1, 0.2)},
    "cells 0.10, all at 6 sd": cells(0.1, _STRONG, 6.0),
    **{f"cluster 0.20 at {shift} sd": _cluster(0.2, shift) for shift in (8, 6, 4, 3)},
    **{f"cluster 0.30 at {shift} sd": _cluster(0.3, shift) for shift in (8, 6, 4)},
    "cluster 0.40 at 4 sd": _cluster(0.4, 4),
    "good leverage 0.10": _leverage,
    "t3 rows": _t_rows(3),
    "t1 rows": _t_rows(1),
    "lognormal": _lognormal,
    "chi2(2)": _chi2,
    "counts of mean 5": _counts(False),
    "log1p of counts of mean 5": _counts(True),
    "cells 0.10, 100 x 200": cells(0.1, _WIDE),
    "rows 0.20, 100 x 200": _rows(0.2, _WIDE),
    "broken correlations 0.20": broken(0.2),
}
#: Means over 20 of these data sets of R's rospca 1.1.1 (Hubert, Reynkens, Schmitt and Verdonck 2016), alpha
#: .5 and .75, and of the first estimate of ltsspca 0.1.0 (Wang and Van Aelst 2019), with eight nonzeros.
IN_R = {
    "clean": "1.00 / 1.00 / 1.00",
    "clean, weak": "1.00 / 1.00 / 0.94",
    "rows 0.20": "1.00 / 1.00 / 1.00",
    "rows 0.30": "1.00 / 0.32 / 1.00",
    "cells 0.05": "1.00 / 0.96 / 1.00",
    "cells 0.10": "0.78 / 0.67 / 0.92",
    "cluster 0.20 at 4 sd": "1.00 / 0.97 / 0.91",
    "cluster 0.20 at 8 sd": "0.98 / 1.00 / 0.92",
    "cluster 0.30 at 6 sd": "1.00 / 0.50 / 0.68",
    "t1 rows": "0.95 / 0.88 / 0.91",
    "lognormal": "0.98 / 1.00 / 0.90",
}


def f1(L: np.ndarray, V: np.ndarray) -> float:
    """Return F1 of the supports under the best pairing of components."""
    A, B = L != 0, V != 0
    pairs = permutations(range(V.shape[1]))
    return max(2 * (A[:, list(order)] & B).sum() / (A.sum() + B.sum()) for order in pairs)


def fitted(X: Any, k: int, robust: Any, **options: Any) -> sp.SpcaResult:
    """Return a fit without warnings of rows left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpcaWarning)
        return sp.spca(X, k, CARD, robust=robust, **options)


# --- tables -----------------------------------------------------------------------------------------


def supports(call: Call) -> Table:
    """Return F1 of planted supports."""
    columns = ("plain", "robust=True", "robust='cells'", "rows left out")
    head = ["data", *columns, "ROSPCA .5 / .75 / LTS-SPCA (R)", "data sets"]
    table = Table("Planted supports beside outlying cells and rows: F1", head)

    def one(name: str, number: int) -> Measured:
        X, V = DESIGNS[name](np.random.default_rng([7, number]))
        found: Measured = {}
        for column, robust in zip(columns, (False, True, "cells"), strict=False):
            fit = fitted(X, V.shape[1], robust, effort="quick")
            found[column] = f1(fit.loadings.to_numpy(), V)
            if robust is True:
                found["rows left out"] = float((~fit.robust.rows["kept"]).mean())
        return found

    for name, measured in call.measured("robust", DESIGNS, one).items():
        *figures, number = shares(measured, columns)
        table.rows.append([name, *figures, IN_R.get(name, "-"), number])
    table.notes.append(
        f"100 rows of 12 variables unless stated; two components of {CARD} variables, scores of standard "
        f"deviation 4 and 3 (clean, rows, cells, leverage, broken) or 2 and 1.6, noise 1. Rows: values of "
        f"standard deviation {WILD:g} in three variables of no component. Clusters: four such variables "
        "shifted together. effort='quick', columns not scaled. Broken correlations: the values of a row are "
        "drawn from each column by itself, so that no value is outlying. R: the packages rospca 1.1.1, with "
        "alpha .5 and .75, and ltsspca 0.1.0, asked for eight nonzeros, on the first 20 of these data sets; "
        "standard errors at most .06."
    )
    return table


def losses(call: Call) -> Table:
    """Return what a robust fit loses on clean data."""
    designs = {
        "60 x 50, sd 2 and 1.6": Clean(60, 50),
        "100 x 30, sd 1.4 and 1.2": Clean(100, 30, sd=(1.4, 1.2)),
        "100 x 12, sd 2 and 1.6": Clean(),
        "100 x 12, sd 1.2 and 1": Clean(sd=(1.2, 1.0)),
    }
    columns = ("plain %", "robust=True %", "difference %", "rows left out %")
    head = ["data", *columns, "data sets"]
    table = Table("Clean normal rows: adjusted variance of the population lost", head)

    def one(name: str, number: int) -> Measured:
        X, _ = designs[name](np.random.default_rng([8, number]))
        fits = [fitted(X, 2, robust, effort="quick") for robust in (False, True)]
        plain, robust = (100 * designs[name].lost(fit.loadings.to_numpy()) for fit in fits)
        out = 100 * float((~fits[1].robust.rows["kept"]).mean())
        return dict(zip(columns, (plain, robust, robust - plain, out), strict=True))

    for name, measured in call.measured("robust-loss", designs, one).items():
        table.rows.append([name, *shares(measured, columns)])
    table.notes.append("Of the adjusted variance of the true components.")
    return table


def _real_tables(data: Path | None) -> Iterator[tuple[str, pd.DataFrame]]:
    from sklearn import datasets

    yield "wine", sp.datasets.load_wine()
    yield "breast_cancer", datasets.load_breast_cancer(as_frame=True).data
    yield "diabetes", datasets.load_diabetes(as_frame=True).data.drop(columns="sex")
    if data is not None:
        yield "USJudgeRatings", pd.read_csv(data / "USJudgeRatings.csv")
        yield "bfi, complete", pd.read_csv(data / "psych_bfi.csv").iloc[:, :25].dropna()
        yield "glass (UCI)", pd.read_csv(data / "uci_glass.csv").drop(columns="class")


def real(call: Call) -> Table:
    """Return what a robust fit loses of the raw adjusted variance of real tables."""
    columns = ("rows x variables", "lost, % of the total", "cells downweighted %", "rows left out")
    head = ["data", *columns, "CPU time, plain = 1", "warns"]
    table = Table("Real tables, columns scaled, three components of four: raw adjusted variance lost", head)
    for name, X in _real_tables(call.data):
        X = X.select_dtypes("number").astype(float)
        S = X.corr().to_numpy()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SpcaWarning)
            fits = [sp.spca(X, 3, CARD, scale=True, robust=robust) for robust in (False, True)]
        plain, robust = (adjusted(fit.loadings.to_numpy(), S) / len(S) for fit in fits)
        found = fits[1].robust
        known = (found.rows["kept"].sum()) * X.shape[1]
        pulled = f"{100 * found.cells['kept'].sum() / known:.1f}"
        said = "; ".join(" ".join(str(warning.message).split()[:6]) for warning in caught)
        out = str(int((~found.rows["kept"]).sum()))
        figures = [f"{100 * (plain - robust):.2f}", pulled, out, _times_of_plain(X), said or "-"]
        table.rows.append([name, f"{X.shape[0]} x {X.shape[1]}", *figures])
    for n, p in TIMED:
        X = pd.DataFrame(Clean(n, p)(np.random.default_rng([12, n]))[0])
        table.rows.append(["normal rows", f"{n} x {p}", "-", "-", "-", _times_of_plain(X), "-"])
    table.notes.append(
        "warns: the first words of its warnings. Default effort. CPU time: medians of "
        f"{TURNS} fits of each kind, in turns."
    )
    return table


def _times_of_plain(X: pd.DataFrame) -> str:
    """Return the CPU time of a robust fit as a multiple of that of a plain fit."""

    def seconds(robust: bool) -> float:
        return timed(lambda: fitted(X, 3, robust, scale=True))[1]

    plain, robust = np.median([[seconds(False), seconds(True)] for _ in range(TURNS)], axis=0)
    return f"{robust / plain:.2f}"


def _spoilt(kind: str, k: int) -> Draw:
    """Return rows with k weak components or noise alone, and outlying cells, rows or a cluster of a tenth."""
    clean = Clean(k=k) if k else Clean(k=0, sd=())
    draws: dict[str, Draw] = {
        "clean": clean,
        "cells": cells(0.1, clean),
        "rows": _rows(0.1, clean),
        "cluster": _cluster(0.1, 8, clean),
    }
    return draws[kind]


def number_of_components(call: Call) -> Table:
    """Return how often `choose_k` finds the number of components beside outliers."""
    models = [f"k = {k}, {kind}" for k in (0, 2) for kind in ("clean", "cells", "rows", "cluster")]
    columns = ("plain right", "robust right", "plain k > true", "robust k > true")
    table = Table("choose_k beside outliers: share of data sets", ["data", *columns, "data sets"])

    def one(name: str, number: int) -> Measured:
        k, kind = int(name[4]), name.partition(", ")[2]
        X, _ = _spoilt(kind, k)(np.random.default_rng([9, number]))
        found: Measured = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpcaWarning)
            for label, robust in (("plain", False), ("robust", True)):
                chosen = sp.choose_k(X, scale=True, robust=robust, rng=number).k
                found |= {f"{label} right": float(chosen == k), f"{label} k > true": float(chosen > k)}
        return found

    for name, measured in call.measured("robust-k", models, one).items():
        table.rows.append([name, *shares(measured, columns)])
    table.notes.append(
        "100 rows of 12 variables, scores of standard deviation 2 and 1.6, columns scaled. A tenth of the "
        f"cells or rows has standard deviation {WILD:g}; the cluster is a tenth of the rows, 8 sd out."
    )
    return table


def intervals(call: Call) -> Table:
    """Return how often bootstrap intervals of a robust fit include true loadings."""
    clean = Clean(100, 4, 1, (2.0,))
    designs: dict[str, Draw] = {
        "clean": clean,
        "cells 0.10": cells(0.1, clean),
        "rows 0.10": _far_rows(clean),
    }
    columns = ("plain covers", "robust covers", "plain width", "robust width")
    table = Table("Bootstrap intervals of loadings, nominal 95 %", ["data", *columns, "data sets"])

    def one(name: str, number: int) -> Measured:
        X, V = designs[name](np.random.default_rng([10, number]))
        found: Measured = {}
        for label, robust in (("plain", False), ("robust", True)):
            fit = fitted(X, 1, robust, effort="quick")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SpcaWarning)
                frame = fit.bootstrap(DRAWS, rng=number).conf_int()
            inside = (frame["lower"] <= V[0, 0]) & (frame["upper"] >= V[0, 0])
            found[f"{label} covers"] = float(inside.mean())
            found[f"{label} width"] = float((frame["upper"] - frame["lower"]).mean())
        return found

    for name, measured in call.measured("robust-intervals", designs, one).items():
        table.rows.append([name, *shares(measured, columns)])
    table.notes.append(
        f"100 rows of four variables with loadings .5, score of standard deviation 2, noise 1; {DRAWS} "
        "draws, percentile intervals. Draws clean themselves: cells and rows are judged in each."
    )
    return table


def _far_rows(clean: Clean) -> Draw:
    """A tenth of the rows has values of standard deviation WILD added to two of the variables."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, V = clean(rng)
        X[:10, :2] += WILD * rng.normal(size=(10, 2))
        return X, V

    return draw
