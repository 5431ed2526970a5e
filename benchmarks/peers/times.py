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
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in (*EFFORTS, *programs)}
    rows_by_lead: list[tuple[float, list[str]]] = []
    counted = dict.fromkeys(programs, 0)
    for cell in cells:
        ours = fits_of(work, cell)
        for objective in OBJECTIVES:
            quick, auto = (ours[objective, effort] for effort in EFFORTS)
            theirs = {
                program: (getattr(others[program, cell], objective), seconds[program, cell])
                for program in programs
                if (program, cell) in others and (program, cell) in seconds
            }
            for name, (value, duration) in {"quick": quick, "auto": auto, **theirs}.items():
                points[name].append((duration / quick[1], 100.0 * (1.0 - value / max(quick[0], auto[0]))))
            leads = {
                name: duration / quick[1]
                for name, (value, duration) in theirs.items()
                if value >= quick[0] * (1.0 - SAME) and duration < PART * quick[1]
            }
            for name in leads:
                counted[name] += 1
            lead = min(leads.values(), default=1.0)
            rows_by_lead.append((lead, _row(cell, objective, quick, auto, theirs, leads)))
    rows_by_lead.sort(key=lambda pair: pair[0])
    draw(points)
    counts = [f"{name} in {count}" for name, count in counted.items() if count]
    versions = [f"{name} {version_of(work, name)}".rstrip() for name in programs]
    table = Table(
        "Value and time: first the settings in which another program is ahead",
        [
            *("data, k of card", "maximised", "quick, %", "s", "auto, %", "s"),
            *("best other, %", "program", "time / quick", "ahead"),
        ],
        [row for _, row in rows_by_lead],
    )
    table.notes = [
        "Ahead: programs that reach the value of our quick fit in less than a third of its time, with the "
        f"share of its time; {', '.join(counts) or 'none'} of {len(table.rows)} rows.",
        f"CPU seconds of rows in memory: medians of {ROUNDS} fits of ours, in turns, with the checks of data "
        "and options and all results; of R packages the means of as many runs as take .2 s, of GeoSPCA and "
        f"sklearn one run ({', '.join(versions)}). Programs without cardinalities are timed along the path "
        "of penalties of which the best fit is taken, cut to the cardinality; fits with more nonzeros are "
        "left out. spca maximises the least-squares share, which is not compared.",
        f"![Value lost and time]({PICTURE.name})",
    ]
    return table


def _row(
    cell: Cell,
    objective: str,
    quick: tuple[float, float],
    auto: tuple[float, float],
    theirs: Mapping[str, tuple[float, float]],
    leads: Mapping[str, float],
) -> list[str]:
    """Return the row of a cell and an objective; values come with seconds, and leads are shares of time."""
    row = [f"{cell[0].removeprefix('norm')}, {cell[1]} of {cell[2]}", OBJECTIVES[objective]]
    row += [f"{100 * quick[0]:.2f}", f"{quick[1]:.3f}", f"{100 * auto[0]:.2f}", f"{auto[1]:.3f}"]
    best = max(theirs, key=lambda name: theirs[name][0], default=None)
    if best is None:
        row += ["-", "-", "-"]
    else:
        row += [f"{100 * theirs[best][0]:.2f}", best, f"{theirs[best][1] / quick[1]:.2f}"]
    return [*row, ", ".join(f"{name} {share:.2f}" for name, share in leads.items()) or "-"]


def version_of(work: Path, program: str) -> str:
    """Return the version with which a program ran."""
    lines = (work / "found" / f"{program}.csv").read_text().splitlines()
    return lines[-1].split(",")[3]


def draw(points: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Draw the share of the best value that each fit loses against its time, relative to quick."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.0), layout="constrained")
    axes = figure.subplots()
    colours = ["black", "black", *(f"C{number}" for number in range(10)), "slateblue"]
    for name, marker, colour in zip(points, "osv^D<>Pp*hXd", colours, strict=False):
        if points[name]:
            durations, losses = np.array(points[name]).T
            axes.plot(
                durations, np.maximum(losses, 1e-3), marker, color=colour, markersize=4, alpha=0.7, label=name
            )
    axes.set(xscale="log", yscale="log", xlabel="time / quick", ylabel="value lost, % of the best of ours")
    figure.legend(fontsize=7, loc="outside right upper")
    figure.savefig(PICTURE, dpi=150)
