"""Level and power of `compare_groups`, the test of equal components.

Two components of five of 20 variables, in two groups of normal rows unless the line says otherwise. The test
of dense PCA, for comparison, permutes labels of centred rows and takes the angle between first components.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table, mean_and_error
from benchmarks.trust.sets import Call, Measured

P, CARDS, VARIANCES = 20, (5, 5), (5.0, 3.0)
DRAWS, LEVEL = 199, 0.05


def covariance(change: str = "", variances: tuple[float, float] = VARIANCES) -> np.ndarray:
    """Return the identity plus two components, with `change` "swap" or "weak" in the first."""
    V = np.zeros((P, 2))
    for j in range(2):
        V[5 * j : 5 * j + 5, j] = (-1.0) ** np.arange(5) / np.sqrt(5)
    if change == "swap":  # the fifth variable leaves the first component, the eleventh enters
        V[10, 0], V[4, 0] = 1 / np.sqrt(5), 0.0
    if change == "weak":
        V[0, 0] *= 0.3
        V[:, 0] /= np.linalg.norm(V[:, 0])
    return np.eye(P) + (V * np.array(variances)) @ V.T


@dataclass(frozen=True)
class Case:
    """Two groups of rows.

    Attributes
    ----------
    name : str
    other : ndarray of shape (p, p)
        The covariance matrix of the second group.
    rows : (int, int)
    t5 : bool
        Whether rows are t-distributed with 5 degrees of freedom.
    size : int
        Rows of a cluster, which share half of their scores.
    """

    name: str
    other: np.ndarray
    rows: tuple[int, int] = (100, 100)
    t5: bool = False
    size: int = 1

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """Return the rows of both groups."""
        return np.vstack(
            [self._group(rng, covariance(), self.rows[0]), self._group(rng, self.other, self.rows[1])]
        )

    def _group(self, rng: np.random.Generator, S: np.ndarray, n: int) -> np.ndarray:
        root = np.linalg.cholesky(S)
        X = rng.standard_normal((n, P)) @ root.T
        if self.size > 1:
            shared = rng.standard_normal((n // self.size, P)) @ root.T
            X = np.sqrt(0.2) * X + np.sqrt(0.8) * np.repeat(shared, self.size, axis=0)
        if self.t5:
            X = X / np.sqrt(rng.chisquare(5, n) / 5)[:, None]
        return X


CASES = (
    Case("null", covariance()),
    Case("null, 60 and 180 rows", covariance(), (60, 180)),
    Case("null, rows of t with 5 df", covariance(), t5=True),
    Case("first component with 2.5 times the variance", covariance(variances=(12.5, 3.0))),
    Case("all variances times 4, 60 and 180 rows", 4 * covariance(), (60, 180)),
    Case("null, clusters of 10 rows, 300 rows each", covariance(), (300, 300), size=10),
    Case("one variable swapped", covariance("swap")),
    Case("one loading times .3", covariance("weak")),
)


def angle_rejects(X: np.ndarray, code: np.ndarray, rng: np.random.Generator) -> bool:
    """Return whether the angle between the first dense components of two groups is significant."""
    Z = X.copy()
    for g in (0, 1):
        Z[code == g] -= Z[code == g].mean(axis=0)

    def angle(labels: np.ndarray) -> float:
        first = [np.linalg.eigh(np.cov(Z[labels == g].T))[1][:, -1] for g in (0, 1)]
        return float(1 - abs(first[0] @ first[1]))

    observed = angle(code)
    larger = sum(angle(rng.permutation(code)) >= observed for _ in range(DRAWS))
    return (1 + larger) / (DRAWS + 1) <= LEVEL


def groups(call: Call) -> Table:
    """Return the shares of data sets with a small p-value, and the variables with one."""
    head = ["groups", "rejects", "clusters ignored", "angle of dense PC1 rejects", "variables named"]
    table = Table(f"Equal components: shares of data sets with p <= {LEVEL:g}", [*head, "data sets"])
    for name, found in call.measured("groups", [case.name for case in CASES], _one_set).items():
        rejects = [
            mean_and_error([one[column] for one in found if column in one], 2)
            for column in ("rejects", "clusters ignored", "angle")
        ]
        named = Counter(variable for one in found for variable in one["named"])
        most = ", ".join(f"{variable} {count}" for variable, count in named.most_common(3)) or "none"
        table.rows.append([name, *rejects, most, str(len(found))])
    table.notes.append(
        f"{DRAWS} permutations; p of all variables and components together. Named: variables with an "
        "adjusted p <= .05 in most sets; a swap should name x5 and x11, and a weak loading x1. In the first "
        "six lines slopes are equal, so that .05 of the sets or fewer should be rejected."
    )
    return table


def _one_set(name: str, number: int) -> Measured:
    case = next(case for case in CASES if case.name == name)
    code = np.repeat([0, 1], case.rows)
    rng = np.random.default_rng(number)
    X = pd.DataFrame(case.drawn(rng), columns=[f"x{j + 1}" for j in range(P)])
    given = {"n_draws": DRAWS, "effort": "quick", "scale": False}
    clusters = np.arange(sum(case.rows)) // case.size if case.size > 1 else None
    found = sp.compare_groups(X, code, 2, 5, clusters=clusters, **given)
    small = found.p_adjusted.index[(found.p_adjusted <= LEVEL).any(axis=1)]
    measured: Measured = {
        "rejects": float(found.p_value <= LEVEL),
        "named": list(small),
        "angle": float(angle_rejects(X.to_numpy(), code, rng)),
    }
    if clusters is not None:
        ignored = sp.compare_groups(X, code, 2, 5, **given)
        measured["clusters ignored"] = float(ignored.p_value <= LEVEL)
    return measured
