"""Size and power of the test of equal components: ``python -m benchmarks.groups [--sets N] [--write]``.

Two components of five of 20 variables, in two groups of normal rows unless the line says otherwise. The test
of dense PCA, for comparison, permutes labels of centred rows and takes the angle between first components.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table, stamp, write_section

P, CARDS, VARIANCES = 20, (5, 5), (5.0, 3.0)
DRAWS, LEVEL = 199, 0.05


def covariance(change: str = "", variances: tuple[float, float] = VARIANCES) -> np.ndarray:
    """Return the identity plus two components, one of them perhaps changed."""
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


def share(hits: list[bool]) -> str:
    """Return a share with its standard error."""
    mean = float(np.mean(hits))
    return f"{mean:.2f} ({np.sqrt(mean * (1 - mean) / len(hits)):.2f})"


def measured(case: Case, sets: int) -> list[str]:
    """Return the line of a case."""
    code = np.repeat([0, 1], case.rows)
    clusters = np.arange(sum(case.rows)) // case.size if case.size > 1 else None
    ours, as_rows, angles, named = [], [], [], Counter[str]()
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(case.drawn(rng), columns=[f"x{j + 1}" for j in range(P)])
        given = {"n_draws": DRAWS, "effort": "quick", "scale": False}
        found = sp.compare_groups(X, code, 2, 5, clusters=clusters, **given)
        ours.append(found.p_value <= LEVEL)
        named.update(found.p_adjusted.index[(found.p_adjusted <= LEVEL).any(axis=1)])
        angles.append(angle_rejects(X.to_numpy(), code, rng))
        if clusters is not None:
            as_rows.append(sp.compare_groups(X, code, 2, 5, **given).p_value <= LEVEL)
    most = ", ".join(f"{name} {count}" for name, count in named.most_common(3)) or "none"
    return [case.name, share(ours), share(as_rows) if as_rows else "", share(angles), most]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write the page if that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/results/")
    given = parser.parse_args(arguments)
    head = ["groups", "rejects", "clusters ignored", "angle of dense PC1 rejects", "variables named"]
    table = Table(f"Shares of {given.sets} sets with p <= {LEVEL:g}, standard errors in brackets", head)
    for case in CASES:
        table.rows.append(measured(case, given.sets))
        print(*table.rows[-1], sep=" | ", flush=True)
    table.notes.append(
        f"{DRAWS} permutations; p of all variables and components together. Named: variables with adjusted "
        "p <= .05 in most sets; a swap should name x5 and x11, a weak loading x1. In the first six lines "
        "slopes are equal, so that .05 of the sets or fewer should be rejected."
    )
    print(table.show(False))
    if given.write:
        title = f"## Are the components of groups the same?\n\n`python -m benchmarks.groups`. {stamp()}"
        write_section("groups", f"{title}\n\n{table.show(True)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
