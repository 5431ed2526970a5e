"""How the seconds of a fit grow with rows and columns."""

from __future__ import annotations

import spcastat as sp
from benchmarks.data import COMPONENTS, planted
from benchmarks.report import Table
from benchmarks.speed.fresh import Call, fresh, in_turns
from benchmarks.speed.rows import seconds

#: Nonzeros of each planted loading.
CARD = 15
#: What doubles -> (n, p) of every fit.
SERIES: dict[str, list[tuple[int, int]]] = {
    "rows, n > p": [(n, 100) for n in (50_000, 100_000, 200_000, 400_000)],
    "columns, n > p": [(50_000, p) for p in (50, 100, 200, 400, 800)],
    "rows, n < p": [(n, 8000) for n in (100, 200, 400, 800)],
    "columns, n < p": [(200, p) for p in (4000, 8000, 16000, 32000, 64000)],
}


def growth(call: Call) -> Table:
    """Time fits of planted loadings, and give the ratio for each doubling."""
    table = Table(
        f"Growth: k = {COMPONENTS}, card {CARD}",
        [
            "what doubles",
            "n",
            "p",
            "sweeps",
            "ours",
            "ratio",
            "X.T @ X or X @ X.T",
            "its ratio",
        ],
    )
    for what, shapes in SERIES.items():
        before: dict[str, float] | None = None
        for n, p in shapes:
            size = (n // 20 if call.small and n > p else n, p)
            here = fresh(timed, threads=call.threads, n=size[0], p=size[1])[0]
            cells = ["-"] * 2
            if before is not None:
                ours, product = (here[name] / before[name] for name in ("ours", "product"))
                cells = [f"{ours:.2f}", f"{product:.2f}"]
            first = [what, f"{size[0]:,}", f"{p:,}", str(here["sweeps"]), seconds(here["ours"])]
            table.rows.append([*first, cells[0], seconds(here["product"]), cells[1]])
            before = here
    table.notes.append(
        "Median of five fits, each shape in a separate process. The product is the minimum cost of a Gram "
        "matrix, of columns if n > p, otherwise of rows; for columns it grows fourfold when p doubles."
    )
    return table


def timed(n: int, p: int) -> dict[str, float]:
    """Time the fit and the smaller of the two products, and count the sweeps."""
    X = planted(n, p, CARD)[0]
    times = in_turns(
        5,
        product=lambda: X.T @ X if n > p else X @ X.T,
        ours=lambda: sp.spca(X, COMPONENTS, CARD, method="bcd-l0"),
    )
    return {**times, "sweeps": sp.spca(X, COMPONENTS, CARD, method="bcd-l0").glance()["n_iter"].item()}
