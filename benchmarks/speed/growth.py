"""How the time of a fit grows with rows, variables, components and nonzeros: exponents and a picture."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.data import expression
from benchmarks.report import RESULTS, Table, exponent, section_of, timed
from benchmarks.speed.fresh import Call, fresh

#: The sizes from which one at a time is varied: rows, variables, components, nonzeros of each component.
CENTRE = {"n": 500, "p": 100, "k": 4, "card": 8}
#: The values of each size; --small leaves out the largest two.
VALUES = {
    "n": (125, 500, 2000, 8000, 32000),
    "p": (50, 100, 200, 400, 800, 1600),
    "k": (2, 4, 8, 16, 24),
    "card": (4, 8, 16, 32, 64),
}
EFFORTS = ("quick", "auto")
ROUNDS = 3
PICTURE = RESULTS / "speed-growth.png"


def growth(call: Call) -> Table:
    """Vary one size at a time, with one thread."""
    return Table(**fresh(fits_of_all_sizes, threads=1, leave_out=2 if call.small else 0)[0])


def fits_of_all_sizes(leave_out: int) -> dict[str, Any]:
    """Return title, head, rows and notes, without the largest `leave_out` values of each size."""
    table_rows = []
    for name, all_values in VALUES.items():
        values = all_values[: len(all_values) - leave_out]
        seconds: dict[str, list[float]] = {effort: [] for effort in EFFORTS}
        for value in values:
            size = {**CENTRE, name: value}
            X = np.log(expression(size["n"], size["p"]))
            for effort, median in seconds_of_fits(X, size["k"], size["card"]).items():
                seconds[effort].append(median)
        for effort, medians in seconds.items():
            cells = [f"{value:,}: {median:.3g}" for value, median in zip(values, medians, strict=True)]
            exponents = [f"{exponent(part, medians[-len(part) :]):.2f}" for part in (values, values[-2:])]
            table_rows.append([name, effort, "; ".join(cells), *exponents])
    centre = ", ".join(f"{name} = {value:,}" for name, value in CENTRE.items())
    return {
        "title": "Growth of the time of a fit",
        "head": ["varied", "effort", "CPU s", "exponent", "of the last two"],
        "rows": table_rows,
        "notes": [
            f"Logarithms of simulated intensities of genes, scaled; {centre}, except the size that is "
            f"varied. Medians of {ROUNDS} fits, efforts in turns. The exponent is the slope of a line "
            "through the logarithms of times and sizes. From 300 variables on the search begins with "
            "sweeps, and from 1,000 on no covariance matrix of all variables is kept; with more than 80 "
            "nonzeros a search ends sooner.",
            f"![Time of a fit by size]({PICTURE.name})",
        ],
    }


def seconds_of_fits(X: np.ndarray, k: int, card: int) -> dict[str, float]:
    """Return the median CPU seconds of fits by effort, in turns."""
    seconds: dict[str, list[float]] = {effort: [] for effort in EFFORTS}
    for _ in range(ROUNDS):
        for effort, taken in seconds.items():
            taken.append(timed(partial(sp.spca, X, k, card, scale=True, effort=effort))[1])
    return {effort: float(np.median(taken)) for effort, taken in seconds.items()}


def draw() -> None:
    """Draw the times on the page of results, from the table there."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    pattern = r"^\| (\w+) \| (quick|auto) \| ([^|]+) \| +([\d.-]+) "
    lines = re.findall(pattern, section_of("speed-growth"), flags=re.MULTILINE)
    figure = Figure(figsize=(8.0, 2.6), layout="constrained")
    panels = dict(zip(VALUES, figure.subplots(1, len(VALUES), sharey=True), strict=True))
    for name, effort, cells, slope in lines:
        points = [cell.replace(",", "").split(": ") for cell in cells.split("; ")]
        sizes, seconds = np.array(points, dtype=float).T
        panels[name].loglog(sizes, seconds, marker="o", markersize=3.5, label=f"{effort}, exponent {slope}")
        panels[name].set_xticks(sizes, [f"{size:,.0f}" for size in sizes], fontsize=7, minor=False)
        panels[name].xaxis.set_minor_formatter(NullFormatter())
        panels[name].set_xlabel(name)
        panels[name].legend(fontsize=6.5, loc="upper left")
        panels[name].margins(y=0.25)
    panels["n"].set_ylabel("CPU s")
    figure.savefig(PICTURE, dpi=150)
