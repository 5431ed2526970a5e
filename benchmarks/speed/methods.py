"""Every method of the package on the same planted data."""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.data import f1, planted
from benchmarks.speed.fresh import Call, fresh
from spcastat.errors import ConvergenceWarning, SpcaError
from spcastat.results.spco import SpcoResult

#: Rows, columns of the data on which every method is timed.
SHAPES = ((200, 2000), (1000, 200))
COMPONENTS, CARD = 3, 40
#: Share of the coordinates that are zero in sparse principal coordinates.
ZEROS = 0.5
#: A fit is stopped after so many seconds.
LIMIT = 60
#: Method -> most variables that it is meant for.
MOST_VARIABLES = {"dspca": 500}


class _TooLong(Exception):
    """A fit took more than its time."""


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    """Raise _TooLong in the block after `seconds`, where the system has alarms."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _fit(X: np.ndarray, method: str, controls: str) -> tuple[float, Any]:
    """Return the seconds of a fit (the median of three where one is quick), and the fit."""
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 1.0:
        begun = time.perf_counter()
        if method == "spco":
            fit: Any = sp.spco(X, COMPONENTS, zeros=ZEROS)
        elif "card" in controls:
            fit = sp.spca(X, COMPONENTS, CARD, method=method)
        else:
            fit = sp.spca(X, COMPONENTS, method=method)
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds)), fit


def _cells(fit: Any, truth: np.ndarray) -> list[str]:
    """Return PEV, F1 of the supports, nonzeros and status; what does not exist for sparse scores is "-"."""
    if isinstance(fit, SpcoResult):
        return [f"{100.0 * fit.variance['cumulative CPEV'].iloc[-1]:.2f}", "-", "-", fit.status]
    V = fit.loadings.to_numpy()
    cards = "-".join(map(str, fit.card))
    return [f"{100.0 * fit.measure('pev'):.2f}", f"{f1(V, truth):.3f}", cards, fit.status]


def methods(call: Call) -> Table:
    """Time every method on planted data, tall and wide, with one thread of linear algebra."""
    return Table(**fresh(every_method, threads=1)[0])


def every_method() -> dict[str, Any]:
    """Return title, head, rows and notes."""
    head = ["method"]
    for n, p in SHAPES:
        head += [f"{n} x {p}: s", "PEV %", "support F1", "nonzeros", "status"]
    names = sp.methods().set_index("name")["controlled by"]
    rows = [[name] for name in names.index]
    notes = [
        "One thread of linear algebra.",
        f"k = {COMPONENTS}, {CARD} nonzeros each, planted on disjoint variables; pca is the reference of "
        "dense components. 'controlled' keeps nine tenths of its variance with the fewest nonzeros that it "
        "finds. pca, pca-l1, r1-pca and l1-factor are dense, and so are the loadings of spco, whose "
        "coordinates are sparse (half of them zero; its PEV is the cumulative adjusted variance).",
        "Support F1: mean over the components, matched with the true ones. Seconds: median of up to three "
        "fits that start within a second.",
    ]
    for n, p in SHAPES:
        X, truth = planted(n, p, CARD)
        for row, (name, controls) in zip(rows, names.items(), strict=True):
            most = MOST_VARIABLES.get(str(name))
            if most is not None and p > most:
                row += ["-"] * 5
                notes.append(
                    f"{name} at p = {p} is omitted: it needs dense p x p matrices, for p up to {most}."
                )
                continue
            try:
                with warnings.catch_warnings(), _at_most(LIMIT):
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    seconds, fit = _fit(X, str(name), str(controls))
            except _TooLong:
                row += [f"> {LIMIT}", *["-"] * 4]
                notes.append(f"{name} at {n} x {p} was stopped after {LIMIT} s.")
                continue
            except SpcaError as error:
                row += ["-"] * 5
                notes.append(f"{name} at {n} x {p}: {error}")
                continue
            row += [f"{seconds:.3f}", *_cells(fit, truth)]
            print(f"  {name} at {n} x {p}: {seconds:.3f} s", file=sys.stderr, flush=True)
    return {"title": "Every method on planted data", "head": head, "rows": rows, "notes": notes}
