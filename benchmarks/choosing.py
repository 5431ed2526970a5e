"""Strengths of the methods: ``python -m benchmarks.choosing [table ...] [--write]``.

The figures behind the decision table of docs/choosing_a_method.md: all methods on pitprops, the methods with
nonnegative loadings, and data with outlying rows. ``--write`` puts the tables into that page.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

import spcastat as sp
from benchmarks.data import f1
from benchmarks.report import Table, mean_and_error, stamp, timed, write_section
from spcastat.errors import SpcaError, SpcaWarning
from spcastat.fit.method_table import SOLVERS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "choosing_a_method.md"
#: Components, nonzeros of each, and half samples on which supports are compared.
K, CARD, HALVES = 6, 4, 5
#: A fit that takes more CPU seconds than this is not repeated on half samples.
LONG = 4.0
#: Data sets with outliers.
SETS = 20


def fit(data: Any, k: int, method: str, **options: Any) -> Any:
    """Fit without warnings: the figures show if a fit has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpcaWarning)
        return sp.spca(data, k, method=method, **options)


def sparsity(method: str, card: int) -> dict[str, Any]:
    """Return the option that makes a fit of the method sparse."""
    controls = SOLVERS[method].controls
    return {"card": card} if "card" in controls else {"variance": 0.9} if "variance" in controls else {}


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Return the mean Jaccard index of the supports under the best pairing of components."""
    A, B = (one != 0).astype(float), (other != 0).astype(float)
    common = A.T @ B
    share = common / np.maximum(A.sum(axis=0)[:, None] + B.sum(axis=0)[None] - common, 1.0)
    return float(share[linear_sum_assignment(-share)].mean())


def largest(C: np.ndarray) -> float:
    """Return the largest absolute entry off the diagonal."""
    C = np.abs(np.nan_to_num(C))
    np.fill_diagonal(C, 0.0)
    return float(C.max())


def figures(data: pd.DataFrame, method: str, halves: int, **options: Any) -> list[str]:
    """Return the cells of a method: shares of variance, orthogonality, stability, and time."""
    given = {"scale": True, **sparsity(method, CARD), **options}
    found, seconds = timed(partial(fit, data, K, method, **given))
    V = found.loadings.to_numpy()
    rng = np.random.default_rng(0)
    shared = []
    for _ in range(halves if seconds <= LONG else 0):
        half = data.iloc[rng.permutation(len(data))[: len(data) // 2]]
        shared.append(overlap(fit(half, K, method, **given).loadings.to_numpy(), V))
    shares = [100.0 * found.measure(name) for name in ("adjusted", "pev", "least_squares")]
    return [
        str(int(found.card.sum())),
        *(f"{share:.2f}" for share in shares),
        f"{largest(found.score_correlations.to_numpy()):.2f}",
        f"{largest(V.T @ V):.2f}",
        f"{np.mean(shared):.2f}" if shared else "-",
        f"{1000.0 * seconds:.0f}",
    ]


HEAD = [
    *("method", "nonzeros", "adjusted %", "PEV %", "LS %", "largest abs(r)", "largest abs(v'w)"),
    *("stability", "ms"),
]


def everything(halves: int) -> Table:
    """Compare every method on pitprops."""
    data = sp.datasets.pitprops_sample()
    fit(data, K, "joint", card=CARD, scale=True)  # imports are not timed
    table = Table(f"Every method: pitprops, {K} components of {CARD} nonzeros", HEAD)
    extra: dict[str, dict[str, Any]] = {
        "joint, objective='pev'": {"objective": "pev"},
        "joint, objective='least_squares'": {"objective": "least_squares"},
        "joint, effort='quick'": {"effort": "quick"},
        "alspca, uncorrelated=0.1": {"uncorrelated": 0.1},
    }
    for method in SOLVERS:
        table.rows.append([method, *figures(data, method, halves)])
    for label, options in extra.items():
        table.rows.append([label, *figures(data, label.partition(",")[0], halves, **options)])
    table.notes = [
        "Shares of the total variance are cumulative. abs(r) is the absolute correlation of two scores, "
        "abs(v'w) the absolute inner product of two loadings, and ms the CPU time of a fit in milliseconds.",
        "Stability is the mean Jaccard index of the selected variables of the fit and of fits to "
        f"{halves} random halves of the rows, with components matched; it is not given for fits of more than "
        f"{LONG:g} s.",
        "'controlled' explains nine tenths of the variance that PCA explains; pca and pca-l1 are dense.",
    ]
    return table


def nonnegative(halves: int) -> Table:
    """Compare the methods with nonnegative loadings on pitprops."""
    data = sp.datasets.pitprops_sample()
    table = Table(f"Nonnegative loadings: pitprops, {K} components of {CARD} nonzeros", HEAD)
    for method in SOLVERS:
        if "nonneg" in SOLVERS[method].options and "card" in SOLVERS[method].options:
            table.rows.append([f"{method}, nonneg", *figures(data, method, halves, nonneg=True)])
    table.rows.append(["nspca", *figures(data, "nspca", halves)])
    return table


def outliers(sets: int) -> Table:
    """Compare the supports that methods find if some rows are outliers."""
    rates = (0.0, 0.05, 0.1, 0.2)
    table = Table(
        "Rows with outliers: F1 of two planted supports of 4 among 12 variables, 100 rows",
        ["method", *(f"{100 * rate:.0f} % of rows" for rate in rates)],
    )
    for method in ("joint", "bcd-l0", "rsvd-l0", "rspca-l0", "rspca-l1", "spcagrid"):
        cells = []
        for rate in rates:
            scores = [_recovered(method, rate, seed) for seed in range(sets)]
            cells.append(mean_and_error(scores, 2))
        table.rows.append([method, *cells])
    table.notes = [
        f"Means over {sets} data sets, with standard errors in parentheses. The scores have standard "
        "deviations of 4 and 3, and the noise has 1; outlying rows have values with a standard deviation of "
        "15 in three variables that belong to neither component.",
    ]
    return table


def _recovered(method: str, rate: float, seed: int) -> float:
    rng = np.random.default_rng([seed, round(1000 * rate)])
    V = np.zeros((12, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    X = rng.standard_normal((100, 2)) * [4.0, 3.0] @ V.T + rng.standard_normal((100, 12))
    X[: round(100 * rate), 8:11] += 15.0 * rng.standard_normal((round(100 * rate), 3))
    try:
        return f1(fit(X, 2, method, card=4).loadings.to_numpy(), V)
    except SpcaError:
        return 0.0


TABLES: dict[str, tuple[Callable[[int], Table], int]] = {
    "methods": (everything, HALVES),
    "nonnegative": (nonnegative, HALVES),
    "outliers": (outliers, SETS),
}


def main(arguments: list[str] | None = None) -> int:
    """Make and print the tables, and write them if ``--write`` is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choosing", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"any of {', '.join(TABLES)}")
    parser.add_argument("--quick", action="store_true", help="two halves and two sets of data")
    parser.add_argument("--write", action="store_true", help=f"put all tables into {PAGE.name}")
    given = parser.parse_args(arguments)
    if given.write and (given.tables or given.quick):
        parser.error("--write replaces all tables; leave their names and --quick out")
    parts = [f"`python -m benchmarks.choosing --write`, {stamp()}"]
    for name, (make, times) in TABLES.items():
        if given.tables and name not in given.tables:
            continue
        table = make(2 if given.quick else times)
        print(f"\n{table.show(False)}", flush=True)
        parts.append(table.show(True))
    if given.write:
        write_section("figures", "\n\n".join(parts), PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
