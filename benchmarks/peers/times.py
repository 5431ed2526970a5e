"""Value beside time, one component included: our fits, and those of the R packages of ``peers.R``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import spcastat as sp
from benchmarks.peers.cells import Cell, Measured
from benchmarks.report import RESULTS, Table, timed

OBJECTIVES = {"adjusted": "adjusted variance", "pev": "PEV"}
EFFORTS = ("quick", "auto")
ROUNDS = 3
#: A program that reaches the value of quick, up to this share, in less than this part of its time is ahead.
SAME, PART = 1e-4, 1.0 / 3.0
PICTURE = RESULTS / "peers-times.png"


def cells_of(work: Path) -> list[Cell]:
    """Return the cells that R fits, with those of one component."""
    lines = (work / "cells.csv").read_text().splitlines()[1:]
    return [(name, int(k), int(card)) for name, k, card in (line.split(",") for line in lines)]


def fits_of(work: Path, cell: Cell) -> dict[tuple[str, str], tuple[float, float]]:
    """Return objective and effort -> our value and median CPU seconds, all in turns."""
    name, k, card = cell
    X = np.loadtxt(work / f"{name}.csv", delimiter=",")
    seconds: dict[tuple[str, str], list[float]] = {(a, b): [] for a in OBJECTIVES for b in EFFORTS}
    values = {}
    for _ in range(ROUNDS):
        for key, taken in seconds.items():
            call = partial(sp.spca, X, k, card, scale=False, objective=key[0], effort=key[1])
            fit, duration = timed(call)
            taken.append(duration)
            values[key] = fit.measure(key[0])
    return {key: (values[key], float(np.median(taken))) for key, taken in seconds.items()}


def times(
    work: Path,
    cells: Sequence[Cell],
    programs: Sequence[str],
    others: Mapping[tuple[str, Cell], Measured],
    seconds: Mapping[tuple[str, Cell], float],
) -> Table:
    """Compare values and times, and draw them.

    Parameters
    ----------
    work : Path
        The folder with the rows.
    cells : sequence of cells
    programs : sequence of str
        The other programs.
    others, seconds : mapping
        Program and cell -> its loadings by every criterion, and its CPU seconds.
    """
    table = Table(
        "Value and time, one component included",
        [
            *("data, k of card", "maximised", "quick, %", "s", "auto, %", "s"),
            *("best other, %", "program", "time / quick", "in less than a third"),
        ],
    )
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in ("quick", "auto", *programs)}
    counted = dict.fromkeys(programs, 0)
    for cell in cells:
        ours = fits_of(work, cell)
        for objective in OBJECTIVES:
            quick, auto = (ours[objective, effort] for effort in EFFORTS)
            best_value = max(quick[0], auto[0])
            theirs = {
                program: (getattr(others[program, cell], objective), seconds[program, cell])
                for program in programs
                if (program, cell) in others and (program, cell) in seconds
            }
            for name, (value, duration) in {"quick": quick, "auto": auto, **theirs}.items():
                points[name].append((duration / quick[1], 100.0 * (1.0 - value / best_value)))
            ahead = [
                f"{name} {duration / quick[1]:.2f}"
                for name, (value, duration) in theirs.items()
                if value >= quick[0] * (1.0 - SAME) and duration < PART * quick[1]
            ]
            for name in ahead:
                counted[name.split()[0]] += 1
            best = max(theirs, key=lambda name: theirs[name][0], default=None)
            numbers = [f"{100 * quick[0]:.2f}", f"{quick[1]:.3f}", f"{100 * auto[0]:.2f}", f"{auto[1]:.3f}"]
            other = ["-", "-", "-"]
            if best is not None:
                value, duration = theirs[best]
                other = [f"{100 * value:.2f}", best, f"{duration / quick[1]:.2f}"]
            title = f"{cell[0].removeprefix('norm')}, {cell[1]} of {cell[2]}"
            table.rows.append([title, OBJECTIVES[objective], *numbers, *other, ", ".join(ahead) or "-"])
    draw(points)
    shares = [f"{name} in {count}" for name, count in counted.items() if count]
    table.notes = [
        f"Programs that reach the value of quick in less than a third of its time: "
        f"{', '.join(shares) or 'none'} of {len(table.rows)} rows.",
        f"CPU seconds: medians of {ROUNDS} fits of ours, in turns; one run of each other program "
        f"({', '.join(programs)}). Programs with a penalty and no cardinality are timed along the path of "
        "penalties of which the best fit is taken, cut to the cardinality.",
        f"![Value lost and time]({PICTURE.name})",
    ]
    return table


def draw(points: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Draw the share of the best value that each fit loses against its time, relative to quick."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for marker, (name, pairs) in zip("osv^D<>Pp*hX", points.items(), strict=False):
        if pairs:
            durations, losses = np.array(pairs).T
            axes.plot(durations, np.maximum(losses, 1e-3), marker, markersize=4, alpha=0.7, label=name)
    axes.set(xscale="log", yscale="log", xlabel="time / quick", ylabel="value lost, % of the best of ours")
    axes.legend(fontsize=7)
    figure.savefig(PICTURE, dpi=150)
