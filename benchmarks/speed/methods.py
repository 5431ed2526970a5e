"""Every method of the package on the same planted data."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.data import f1, planted
from benchmarks.report import Table, timed
from benchmarks.speed.fresh import Call, TooLong, fresh
from spcastat.errors import ConvergenceWarning
from spcastat.results.spco import SpcoResult

#: Rows and columns of the data on which every method is timed.
SHAPES = ((200, 2000), (1000, 200))
COMPONENTS, CARD = 3, 40
#: Share of the coordinates that are zero in sparse principal coordinates.
ZEROS = 0.5
#: Seconds after which a process with up to three fits is stopped; other programs may share this time.
LIMIT = 600
#: Method -> its largest number of variables.
MOST_VARIABLES = {"dspca": 500}


def _fit(X: np.ndarray, method: str, controls: str) -> Any:
    """Return a fit, with CARD nonzeros in each component if the method accepts cardinalities."""
    if method == "spco":
        return sp.spco(X, COMPONENTS, zeros=ZEROS)
    given: dict[str, Any] = {"card": CARD} if "card" in controls else {}
    return sp.spca(X, COMPONENTS, method=method, **given)


def _cells(fit: Any, truth: np.ndarray) -> list[str]:
    """Return PEV, F1 of the supports, nonzeros and status; "-" if they do not exist for sparse scores."""
    if isinstance(fit, SpcoResult):
        return [f"{100.0 * fit.variance['cumulative CPEV'].iloc[-1]:.2f}", "-", "-", fit.status]
    V = fit.loadings.to_numpy()
    cards = "-".join(map(str, fit.card))
    return [f"{100.0 * fit.measure('pev'):.2f}", f"{f1(V, truth):.3f}", cards, fit.status]


def methods(call: Call) -> Table:
    """Time every method on planted data, tall and wide, with one thread of linear algebra."""
    head = ["method"]
    for n, p in SHAPES:
        head += [f"{n} x {p}: s", "PEV %", "support F1", "nonzeros", "status"]
    table = Table("Every method on planted data", head)
    table.notes = [
        f"One thread of linear algebra. k = {COMPONENTS}, {CARD} nonzeros each, planted on disjoint "
        "variables; pca is the reference of dense components. 'controlled' keeps nine tenths of the variance "
        "of PCA with the fewest nonzeros that it finds. pca and pca-l1 are dense, and so are the loadings of "
        "spco, whose coordinates are sparse (half of them zero; PEV: the cumulative adjusted variance).",
        "Support F1: mean over the components, matched with the true ones. CPU seconds: median of up to "
        f"three fits that start within a second. dspca needs dense p x p matrices, for p up to "
        f"{MOST_VARIABLES['dspca']}.",
    ]
    for name, controls in sp.methods().frames["methods"].set_index("name")["controlled by"].items():
        row = [str(name)]
        for n, p in SHAPES:
            if p > MOST_VARIABLES.get(str(name), p):
                row += ["-"] * 5
                continue
            given = {"method": str(name), "controls": str(controls), "n": n, "p": p}
            try:
                row += fresh(one_method, threads=1, limit=LIMIT, **given)[0]
            except TooLong:
                row += [f"> {LIMIT}", *["-"] * 4]
            except RuntimeError:  # the process has printed the reason
                row += ["failed", *["-"] * 4]
        table.rows.append(row)
        print(*row, file=sys.stderr, flush=True)
    return table


def one_method(method: str, controls: str, n: int, p: int) -> list[str]:
    """Return the cells of a method for one shape of data."""
    X, truth = planted(n, p, CARD)
    warnings.simplefilter("ignore", ConvergenceWarning)
    _fit(X[:60, :100], method, controls)  # imports are not timed
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 1.0:
        fit, taken = timed(partial(_fit, X, method, controls))
        seconds.append(taken)
    return [f"{np.median(seconds):.3f}", *_cells(fit, truth)]
