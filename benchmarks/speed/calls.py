"""CPU time of single fits, paths, bootstraps and choices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.data import planted, real_rows, tall
from benchmarks.report import Table, timed
from benchmarks.speed.fresh import Call, fresh

#: Data, components, and the cardinality of the bootstrapped fit.
CASES = (("wine", 3, 5), ("breast cancer", 3, 8), ("breast cancer", 5, 6))


def fits(call: Call) -> Table:
    """Time single fits of small, wide and tall data with one thread."""
    return Table(**fresh(single_fits, threads=1, rows=call.size(500_000))[0])


def single_fits(rows: int) -> dict[str, Any]:
    """Return title, head, rows and notes."""
    R, X = sp.datasets.load_pitprops(), tall(rows, 200)
    sp.spca_cov(R, 2, card=3)  # imports are not timed
    calls: dict[str, tuple[Callable[..., Any], int, int]] = {
        "pitprops, 6 x 4": (partial(sp.spca_cov, R), 6, 4),
        "planted 200 x 2000, 3 x 40": (
            partial(sp.spca, planted(200, 2000, 40, 0, (6.0, 5.0, 4.0))[0]),
            3,
            40,
        ),
        f"{rows:,} x 200, 10 x 20": (partial(sp.spca, X), 10, 20),
    }
    made = []
    for name, (function, k, card) in calls.items():
        for effort in ("quick", "auto"):
            fit, seconds = timed(partial(function, k, card, effort=effort))
            made.append([name, effort, f"{100.0 * fit.measure('adjusted'):.3f}", f"{seconds:.2f}"])
    _, product = timed(partial(np.dot, X.T, X))
    return {
        "title": "Single fits",
        "head": ["data, k x card", "effort", "adjusted, %", "CPU s"],
        "rows": made,
        "notes": [f"One run each. {rows:,} x 200: X'X takes {product:.2f} s."],
    }


def resampling(call: Call) -> Table:
    """Time a path, a bootstrap and a choice with one thread."""
    return Table(**fresh(repeated_fits, threads=1)[0])


def repeated_fits() -> dict[str, Any]:
    """Return title, head, rows and notes."""
    made = []
    for name, k, card in CASES:
        X = real_rows(name, None)
        fit = sp.spca(X, k, card, scale=True)
        path, of_path = timed(partial(sp.spca_path, X, k, scale=True))
        single = [timed(partial(sp.spca, X, k, c, scale=True)) for c in path]
        each = float(np.mean([seconds for _, seconds in single]))
        values = path.table["adjusted"].to_numpy()
        best = np.array([one.measure("adjusted") for one, _ in single])
        _, of_draws = timed(partial(fit.bootstrap, 999))
        _, of_choice = timed(partial(sp.choose, X, k, scale=True))
        cells = [f"{each:.3f}", f"{of_path:.2f}", f"{of_path / each:.1f}", str(len(path))]
        cells += [f"{100.0 * max((best - values) / best):.3f}", str(int((np.diff(values) < -1e-12).sum()))]
        cells += [f"{of_draws:.2f}", f"{of_choice:.2f}"]
        made.append([f"{name}, {k}", *cells])
    return {
        "title": "Paths, bootstrap and choices",
        "head": [
            *("data, k", "single fit, s", "path, s", "path / single fit", "fits", "largest loss, %"),
            *("decreases", "bootstrap(999), s", "choose, s"),
        ],
        "rows": made,
        "notes": [
            "CPU seconds. Largest loss: of a fit in the path, relative to the single fit of its cardinality. "
            "Decreases: steps of the path at which the value falls. The bootstrap is of fits with card 5 "
            "(wine), 8 and 6."
        ],
    }
