"""Uncorrelated scores and orthogonal loadings: ``python -m benchmarks.constraints [table ...] --data DIR``.

Values of other programs are stored in ``constraints.json``, each from one run in R 4.2 on the same
correlation matrix. msPCA 0.4.1: ``mspca(S, k, rep(card, k), feasibilityConstraintType = 0 or 1)`` after
``set.seed(1)``. spca 1.1.1: ``spca(X, n_comps = 3 or 4, method = "uspca")`` on 300 rows that have this
matrix, forward, backward and stepwise, alpha .8, .9 and .95, both stopping rules. The runs give 78 choices of
cardinalities; the best value is stored for every second choice. ``--write`` makes
benchmarks/results/constraints.md.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.data import correlation, covariance_of_communities
from benchmarks.report import Table, command_line, read_arguments, run_tables, timed
from spcastat.errors import ConvergenceWarning
from spcastat.linalg.operators import Gram
from spcastat.search.constraints import CONSTRAINTS

#: Largest differences, in percent of the total variance, for values to be equal and for seeds to agree.
SAME, AGREE = 1e-3, 0.05
#: Seeds whose fits are compared.
SEEDS = 3
#: The objective of each constraint in the tables of msPCA.
OBJECTIVE = {"orthogonal": "pev", "uncorrelated": "adjusted"}


@cache
def simulated() -> dict[str, np.ndarray]:
    """Return two correlation matrices of simulated rows.

    "simulated 30": 200 rows, three factors that correlate .4, each with half of the 30 variables.
    "simulated 60": 80 rows, four factors of eight variables each, and 28 variables of noise.
    """
    rng = np.random.default_rng(0)
    L = rng.normal(size=(30, 3)) * (rng.random((30, 3)) < 0.5)
    R = 0.6 * np.eye(3) + 0.4
    X = rng.normal(size=(200, 3)) @ np.linalg.cholesky(R).T @ L.T + rng.normal(size=(200, 30))
    blocks = np.zeros((60, 4))
    for j in range(4):
        blocks[8 * j : 8 * j + 8, j] = 0.8
    Y = rng.normal(size=(80, 4)) @ blocks.T + rng.normal(size=(80, 60))
    return {"simulated 30": np.corrcoef(X.T), "simulated 60": np.corrcoef(Y.T)}


@cache
def matrix(name: str, folder: Path | None) -> np.ndarray | None:
    """Return the correlation matrix of a data set, or None if its file is not in the folder."""
    if name in simulated():
        return simulated()[name]
    return covariance_of_communities(folder) if name == "communities" else correlation(name, folder)


@dataclass(frozen=True)
class Ours:
    """A fit under a constraint, and the same call without it."""

    value: float
    violation: float
    free: float
    seconds: float
    free_seconds: float


def fitted(S: np.ndarray, card: list[int], constraint: str, objective: str, seed: int | None = None) -> Ours:
    """Return the values, in percent of the total variance, of the fits with and without a constraint."""
    options: dict[str, Any] = {"card": card, "objective": objective, "scale": False, "rng": seed}
    k = len(card)
    free, free_seconds = timed(lambda: sp.spca_cov(S, k, **options))
    fit, seconds = timed(lambda: sp.spca_cov(S, k, constraint=constraint, **options))
    V = fit.loadings.to_numpy()
    violation = CONSTRAINTS[constraint].violation(V, Gram(S))
    assert (np.count_nonzero(V, axis=0) <= card).all()
    values = [100.0 * one.measure(objective) for one in (fit, free)]
    return Ours(values[0], violation, values[1], seconds, free_seconds)


def stored(program: str) -> list[list[Any]]:
    """Return the stored values of another program."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    rows: list[list[Any]] = json.loads(text)[program]
    return rows


def _counts(differences: list[float]) -> str:
    above, below = (sum(sign * one > SAME for one in differences) for sign in (1, -1))
    return f"{above} above, {len(differences) - above - below} equal, {below} below"


def ms_pca(folder: Path | None) -> Table:
    """Compare with msPCA."""
    head = ["data, k of card, constraint", "msPCA", "its violation", "ours", "our violation", "ours - msPCA"]
    table = Table("msPCA 0.4.1 at the same cardinalities", [*head, "without", "s", "s without", "times"])
    differences: dict[str, list[float]] = {name: [] for name in OBJECTIVE}
    times: dict[str, list[float]] = {name: [] for name in OBJECTIVE}
    for name, k, card, constraint, theirs, violation in stored("msPCA"):
        S = matrix(name, folder)
        if S is None:
            continue
        ours = fitted(S, [card] * k, constraint, OBJECTIVE[constraint])
        differences[constraint].append(ours.value - theirs)
        times[constraint].append(ours.seconds / ours.free_seconds)
        figures = [f"{theirs:.2f}", f"{violation:.0e}", f"{ours.value:.2f}", f"{ours.violation:.0e}"]
        figures += [f"{ours.value - theirs:.2f}", f"{ours.free:.2f}", f"{ours.seconds:.2f}"]
        figures += [f"{ours.free_seconds:.2f}", f"{times[constraint][-1]:.1f}"]
        table.rows.append([f"{name}, {k} of {card}, {constraint}", *figures])
    for constraint, values in differences.items():
        if values:
            table.notes.append(
                f"{constraint}: {_counts(values)}, median difference {np.median(values):.2f}; times "
                f"the plain call: median {np.median(times[constraint]):.1f}, "
                f"largest {max(times[constraint]):.1f}."
            )
    table.notes.append(
        "Percent of the total variance of correlation matrices: the sum of the variances of the scores, "
        "which is adjusted variance for uncorrelated scores and PEV for orthogonal loadings. Violation: "
        "the largest correlation of two scores, or inner product of two loadings. Without: the plain call "
        "for the same objective. CPU s."
    )
    return table


def u_spca(folder: Path | None) -> Table:
    """Compare with spca: uncorrelated scores, least-squares share."""
    head = ["data, card", "spca", "its violation", "ours", "our violation", "ours - spca", "s"]
    table = Table("spca 1.1.1 (Merola), uncorrelated scores, least squares, at its cardinalities", head)
    differences = []
    for name, card, theirs, violation in stored("spca"):
        S = matrix(name, folder)
        if S is None:
            continue
        ours = fitted(S, card, "uncorrelated", "least_squares")
        differences.append(ours.value - theirs)
        figures = [f"{theirs:.2f}", f"{violation:.0e}", f"{ours.value:.2f}", f"{ours.violation:.0e}"]
        label = f"{name}, {' '.join(map(str, card))}"
        table.rows.append([label, *figures, f"{differences[-1]:.2f}", f"{ours.seconds:.2f}"])
    if differences:
        table.notes.append(
            f"{_counts(differences)}; median difference {np.median(differences):.2f}, from "
            f"{min(differences):.2f} to {max(differences):.2f}. Percent of the total variance."
        )
    return table


def seeds(folder: Path | None) -> Table:
    """Compare fits of several seeds."""
    head = ["data, k of card, constraint, objective", *(f"seed {seed}" for seed in range(SEEDS)), "range"]
    table = Table("Fits of several seeds", [*head, "times"])
    problems = [(*row[:4], OBJECTIVE[row[3]]) for row in stored("msPCA")]
    problems += [(*row[:4], "least_squares") for row in stored("msPCA") if row[3] == "uncorrelated"]
    apart = 0
    for name, k, card, constraint, objective in problems:
        S = matrix(name, folder)
        if S is None:
            continue
        fits = [fitted(S, [card] * k, constraint, objective, seed) for seed in range(SEEDS)]
        values = [fit.value for fit in fits]
        apart += np.ptp(values) > AGREE
        times = sum(fit.seconds for fit in fits) / sum(fit.free_seconds for fit in fits)
        figures = [*(f"{value:.3f}" for value in values), f"{np.ptp(values):.3f}", f"{times:.1f}"]
        table.rows.append([f"{name}, {k} of {card}, {constraint}, {objective}", *figures])
    table.notes.append(
        f"Percent of the total variance; {apart} of {len(table.rows)} settings have a range above {AGREE}. "
        "Times: CPU time relative to the plain call for the same objective."
    )
    return table


TABLES: dict[str, Callable[[Path | None], Table]] = {"mspca": ms_pca, "spca": u_spca, "seeds": seeds}


def main(arguments: list[str] | None = None) -> int:
    """Make the tables that the command line names."""
    given = read_arguments(command_line("constraints", __doc__, TABLES), TABLES, arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    run_tables("constraints", given, TABLES, given.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
