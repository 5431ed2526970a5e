"""How long fits take: ``python -m benchmarks.speed [table ...] [--write]``."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# As for the other benchmarks: times with one thread of linear algebra depend less on what else runs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import spcastat as sp
from benchmarks.report import (
    command_line,
    markdown_table,
    read_arguments,
    stamp,
    text_table,
    write_section,
)
from spcastat.errors import ConvergenceWarning, SpcaError
from spcastat.results.spco import SpcoResult

#: Rows, columns of the data on which every method is timed.
SHAPES = ((200, 2000), (1000, 200))
COMPONENTS, CARD = 3, 40
#: Standard deviations of the planted scores; the noise has 1.
STRENGTHS = (12.0, 10.0, 8.0)
#: Share of the coordinates that are zero in sparse principal coordinates.
ZEROS = 0.5
#: A fit is stopped after so many seconds.
LIMIT = 60
#: Method -> most variables that it is meant for.
MOST_VARIABLES = {"dspca": 500}


def planted(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows with three disjoint planted loadings of CARD nonzeros, and the loadings (p, 3)."""
    rng = np.random.default_rng(seed)
    V = np.zeros((p, COMPONENTS))
    places = rng.permutation(p)
    for i in range(COMPONENTS):
        values = rng.uniform(0.5, 1.5, CARD) * rng.choice([-1.0, 1.0], CARD)
        V[places[i * CARD : (i + 1) * CARD], i] = values / np.linalg.norm(values)
    scores = rng.standard_normal((n, COMPONENTS)) * STRENGTHS
    return scores @ V.T + rng.standard_normal((n, p)), V


def f1(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean F1 of the supports under the best pairing of components."""
    from scipy.optimize import linear_sum_assignment

    A, B = (found != 0).astype(float), (truth != 0).astype(float)
    score = 2.0 * (A.T @ B) / (A.sum(axis=0)[:, None] + B.sum(axis=0)[None])
    return float(score[linear_sum_assignment(-score)].mean())


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


def every_method() -> tuple[str, list[str], list[list[str]], list[str]]:
    """Time every method on planted data, tall and wide; return title, head, rows and notes."""
    head = ["method"]
    for n, p in SHAPES:
        head += [f"{n} x {p}: s", "PEV %", "support F1", "nonzeros", "status"]
    names = sp.methods().set_index("name")["controlled by"]
    rows = [[name] for name in names.index]
    notes = [
        f"k = {COMPONENTS}, {CARD} nonzeros each, planted on disjoint variables; the row of pca says what "
        "dense components explain. 'controlled' keeps nine tenths of that with as few nonzeros as it finds. "
        "pca and pca-l1 are dense, and so are the loadings of spco, whose coordinates are sparse (half of "
        "them zero; the cumulative adjusted variance stands for its PEV).",
        "Support F1: mean over the components, paired with the true ones. Seconds: the median of as many "
        "fits, up to three, as begin within a second.",
    ]
    for n, p in SHAPES:
        X, truth = planted(n, p)
        for row, (name, controls) in zip(rows, names.items(), strict=True):
            most = MOST_VARIABLES.get(str(name))
            if most is not None and p > most:
                row += ["-"] * 5
                notes.append(
                    f"{name} at p = {p} is left out: it works on dense p x p matrices, for p up to {most}."
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
    return "Every method on planted data", head, rows, notes


TABLES: dict[str, Callable[[], tuple[str, list[str], list[list[str]], list[str]]]] = {
    "methods": every_method,
}


def main(arguments: list[str] | None = None) -> int:
    """Make the tables, print them, and write them where that is asked for."""
    given = read_arguments(command_line("speed", __doc__, TABLES), TABLES, arguments)
    threads = os.environ["OPENBLAS_NUM_THREADS"]
    body = [
        "## Speed",
        f"`python -m benchmarks.speed`, OPENBLAS_NUM_THREADS={threads}; seconds on a machine that others "
        f"use, too: compare rows with each other. {stamp()}",
    ]
    print(body[1], flush=True)
    for name in given.tables or TABLES:
        title, head, rows, notes = TABLES[name]()
        print("\n".join(["", title, "", text_table(head, rows), "", *(f"* {note}" for note in notes)]))
        marked = "\n".join(f"- {note}" for note in notes)
        body.append(f"### {title}\n\n{markdown_table(head, rows)}\n\n{marked}")
    if given.write:
        write_section("speed", "\n\n".join(body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
