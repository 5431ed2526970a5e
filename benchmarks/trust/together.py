"""Dependent rows: choices and intervals for clusters, copies of rows, and rows in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import generator
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.inputs.dependence import SERIAL

#: Variables, and the variances of the two components, each of six variables.
P, CARD, VARIANCES = 24, 6, (6.0, 4.0)
#: Draws of each bootstrap.
DRAWS = 200
#: Length of blocks for rows in time.
BLOCK = 20
#: Figures of the table.
FIGURES = ("noise: k > 0", "k right", "coverage")
#: Draws of numbers: generator and number of columns -> values of shape (n, columns).
Rows = Callable[[np.random.Generator, int], np.ndarray]


def clusters(rng: np.random.Generator, columns: int) -> np.ndarray:
    """Return rows of 40 clusters of 8, with intraclass correlation .5 and variance 1."""
    common = np.repeat(rng.standard_normal((40, columns)), 8, axis=0)
    return np.sqrt(0.5) * (common + rng.standard_normal((320, columns)))


def copies(rng: np.random.Generator, columns: int) -> np.ndarray:
    """Return 60 independent rows, each four times."""
    return np.repeat(rng.standard_normal((60, columns)), 4, axis=0)


def in_time(rng: np.random.Generator, columns: int) -> np.ndarray:
    """Return 240 rows of autoregressions with coefficient .7 and variance 1."""
    x = rng.standard_normal((240, columns))
    for t in range(1, 240):
        x[t] = 0.7 * x[t - 1] + np.sqrt(1 - 0.7**2) * x[t]
    return x


@dataclass(frozen=True)
class Dependence:
    """How rows depend on each other, and how the package describes it.

    Attributes
    ----------
    rows : callable
    given : dict
        Options of `spca` and `choose_k`.
    """

    rows: Rows
    given: dict[str, Any]


DEPENDENCES = {
    "clusters, ICC .5": Dependence(clusters, {"clusters": np.repeat(np.arange(40), 8)}),
    "each row four times": Dependence(copies, {"clusters": np.repeat(np.arange(60), 4)}),
    f"AR(.7), block {BLOCK}": Dependence(in_time, {"block_length": BLOCK}),
    "AR(.7), block auto": Dependence(in_time, {"block_length": "auto"}),
}


def planted(rows: Rows, rng: np.random.Generator, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with the first k components, and the loadings of both, shape (P, 2)."""
    V = np.zeros((P, 2))
    for j in range(2):
        V[CARD * j : CARD * (j + 1), j] = CARD**-0.5
    scores = rows(rng, 2) * np.sqrt(VARIANCES)
    return scores[:, :k] @ V[:, :k].T + rows(rng, P), V


def dependent_rows(call: Call) -> Table:
    """Return levels, choices and coverage with and without the design."""
    columns = tuple(f"{what}{how}" for what in FIGURES for how in ("", ", design"))
    table = Table("Dependent rows, without and with their design", ["rows", *columns, "data sets"])

    def one(name: str, number: int) -> Measured:
        how, found = DEPENDENCES[name], dict[str, float]()
        rng = generator(f"together {name}", number)
        noise = planted(how.rows, rng, 0)[0]
        X, V = planted(how.rows, rng, 2)
        for given, name_of_how in (({}, ""), (how.given, ", design")):
            figures = (
                float(sp.choose_k(noise, rng=number, **given).k > 0),
                float(sp.choose_k(X, rng=number, **given).k == 2),
                covered(X, V, given, number),
            )
            found |= {f"{what}{name_of_how}": one for what, one in zip(FIGURES, figures, strict=True)}
        return found

    for name, found in call.measured("together", DEPENDENCES, one).items():
        table.rows.append([name, *shares(found, columns)])
    table.notes.append(
        f"{P} variables, none or two components of {CARD} equal loadings with the variances "
        f"{VARIANCES[0]:g} and {VARIANCES[1]:g} and noise of variance 1; rows of scores and of noise are "
        "dependent in the same way. noise: no component. design: with clusters= or block_length=. coverage: "
        f"the share of the true nonzero loadings that the default 95 % intervals ({DRAWS} draws) contain; "
        "those without an interval count as missed."
    )
    return table


# --- sorted, grouped, or serial --------------------------------------------------------------------


def factors(rng: np.random.Generator, n: int = 200, p: int = 12) -> np.ndarray:
    """Return n independent rows of three factors with noise of variance one."""
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + rng.standard_normal((n, p))


def autoregression(rng: np.random.Generator, phi: float, n: int = 200, p: int = 12) -> np.ndarray:
    """Return rows as `factors`, in which all factors and all noise are autoregressions of variance one."""
    x = rng.standard_normal((n, p + 3))
    for t in range(1, n):
        x[t] = phi * x[t - 1] + np.sqrt(1.0 - phi**2) * x[t]
    return x[:, :3] @ rng.standard_normal((3, p)) + x[:, 3:]


def one_autoregression(rng: np.random.Generator, phi: float, n: int = 200, p: int = 12) -> np.ndarray:
    """Return rows as `factors`, in which one factor is an autoregression of variance one."""
    scores = rng.standard_normal((n, 3))
    for t in range(1, n):
        scores[t, 0] = phi * scores[t - 1, 0] + np.sqrt(1.0 - phi**2) * scores[t, 0]
    return scores @ rng.standard_normal((3, p)) + rng.standard_normal((n, p))


def by_score(rng: np.random.Generator, noise: float) -> np.ndarray:
    """Return rows sorted by their first principal score in units of its deviation, plus noise."""
    X = factors(rng)
    U = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0][:, 0]
    return X[np.argsort(U / U.std() + noise * rng.standard_normal(len(X)))]


def by_variable(rng: np.random.Generator) -> np.ndarray:
    """Return rows sorted by the first variable."""
    X = factors(rng)
    return X[np.argsort(X[:, 0])]


def grouped(rng: np.random.Generator, groups: int, size: int, spread: float) -> np.ndarray:
    """Return rows in groups, whose means of all variables have this standard deviation."""
    means = spread * rng.standard_normal((groups, 12))
    return factors(rng, groups * size) + np.repeat(means, size, axis=0)


#: How rows are ordered -> generator -> rows.
ORDERS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "independent": factors,
    "sorted by a variable": by_variable,
    "sorted by PC1": lambda rng: by_score(rng, 0.0),
    "sorted by PC1 with noise": lambda rng: by_score(rng, 0.5),
    "4 groups of 50": lambda rng: grouped(rng, 4, 50, 2.0),
    "14 groups of 5": lambda rng: grouped(rng, 14, 5, 2.0),
    "67 groups of 3": lambda rng: grouped(rng, 67, 3, 2.0),
    "20 groups of 10": lambda rng: grouped(rng, 20, 10, 2.0),
    "30 clusters of 8": lambda rng: grouped(rng, 30, 8, 2.0),
    "50 rows, each four times in a row": lambda rng: np.repeat(factors(rng, 50), 4, axis=0),
    "AR(.3)": lambda rng: autoregression(rng, 0.3),
    "AR(.5)": lambda rng: autoregression(rng, 0.5),
    "AR(.8)": lambda rng: autoregression(rng, 0.8),
    "AR(.95)": lambda rng: autoregression(rng, 0.95),
    "one factor AR(.8)": lambda rng: one_autoregression(rng, 0.8),
    "AR(.5), 80 rows": lambda rng: autoregression(rng, 0.5, 80),
    "10 random walks of 300": lambda rng: rng.standard_normal((300, 10)).cumsum(axis=0),
}


def similar_neighbours(call: Call) -> Table:
    """Return how often similar neighbours are noticed, and how often they are called serial."""
    columns = ("neighbours alike", "called serial")
    table = Table("Sorted, grouped or serial rows", ["rows", *columns, "data sets"])

    def one(name: str, number: int) -> Measured:
        X = ORDERS[name](generator(f"neighbours {name}", number))
        kind = sp.spca(X, 1, 2, scale=True)._source.rows("the table").neighbours.kind
        return {columns[0]: float(kind != ""), columns[1]: float(kind == SERIAL)}

    for name, found in call.measured("neighbours", ORDERS, one).items():
        table.rows.append([name, *shares(found, columns)])
    table.notes.append(
        "200 rows of 12 variables, of three factors and noise, if not said otherwise; group means have twice "
        "the standard deviation of the noise. Rows that are alike and not called serial are called sorted or "
        "grouped; copies of a row are also noticed as equal."
    )
    return table


def covered(X: np.ndarray, V: np.ndarray, given: dict[str, Any], number: int) -> float:
    """Return the share of the true nonzero loadings in their intervals."""
    fit = sp.spca(X, 2, CARD, **given)
    L = fit.loadings.to_numpy()
    overlap = L.T @ V
    order = [0, 1] if np.abs(np.diag(overlap)).sum() >= np.abs(np.diag(overlap[::-1])).sum() else [1, 0]
    truth = V[:, order] * np.sign(np.diag(overlap[:, order]))
    found = fit.bootstrap(DRAWS, rng=number).conf_int().set_index(["component", "term"])
    hits = []
    for c, component in enumerate(fit.loadings):
        for j in np.flatnonzero(truth[:, c]):
            key = (component, fit.loadings.index[j])
            line = found.loc[key] if key in found.index else None
            hits.append(line is not None and line["lower"] <= truth[j, c] <= line["upper"])
    return float(np.mean(hits))
