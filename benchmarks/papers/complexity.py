"""The papers' statements on the growth of time, compared with fitted exponents of CPU seconds."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.draws import Cell, Draw
from benchmarks.papers.fits import Call
from benchmarks.papers.sheet import Sheet
from benchmarks.papers.verdicts import Claim, value_of
from benchmarks.report import exponent
from spcastat.errors import ConvergenceWarning

#: Name -> method, options, smallest (n, p, nonzeros), and the position of the size that is doubled.
GROWTHS: dict[str, tuple[str, dict[str, Any], tuple[int, int, int], int]] = {
    "RSPCA l0, time of a step by n": ("rspca-l0", {}, (16_000, 100, 20), 0),
    "RSPCA l0, time of a step by p": ("rspca-l0", {}, (200, 4000, 20), 1),
    "BCD-SPCA l0, time of a sweep by p": ("bcd-l0", {}, (50, 8000, 20), 1),
    "S1-SPCA, time by nonzeros": ("greedy", {}, (100, 4000, 200), 2),
    "S5-SPCA, time by p": ("greedy", {"c": 5}, (100, 4000, 200), 1),
}
#: Exponents that count as linear.
LINEAR = (0.7, 1.3)
#: The number of times that the size is doubled.
DOUBLINGS = 3


def seconds(draw: Draw, method: str, options: dict[str, Any], sizes: list[int]) -> list[float]:
    """Return the CPU milliseconds of a step: the median of five fits of one component to noise."""
    n, p, card = sizes
    X = np.random.default_rng(draw.seed).standard_normal((n, p))
    times = []
    for _ in range(5):
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = sp.spca(X, 1, card, method=method, **options)
        steps = 1 if method == "greedy" else max(int(result.glance()["n_iter"].item()), 1)
        times.append(1000.0 * (time.process_time() - begun) / steps)
    return [float(np.median(times))]


def exponents(call: Call) -> Sheet:
    """Return the growth of the time of a step, or of a fit, with the size of the data."""
    heads = [f"x {2**j}" for j in range(DOUBLINGS + 1)]
    sheet = Sheet(
        "zhao2014-complexity", "growth of CPU milliseconds", "method and size", dict.fromkeys(heads, 2)
    )
    sheet.quantities["exponent"] = 2
    for label, (method, options, first, which) in GROWTHS.items():
        cells = []
        for j, head in enumerate(heads):
            sizes = list(first)
            sizes[which] *= 2**j
            cells.append(
                Cell(f"{label} {head}", seconds, {"method": method, "options": options, "sizes": sizes})
            )
        row = [
            result.mean[0]
            for result in call.measured(sheet.name, cells).values()
            if not isinstance(result, str)
        ]
        slope = exponent([2.0**j for j in range(len(row))], row)
        sheet.add(label, [None] * (len(heads) + 1), [*map(float, row), slope])
    slopes = {row[0]: value_of(row[2][-1]) for row in sheet.rows}
    for text, label in (
        ("RSPCA: time grows about linearly with the number of rows", "RSPCA l0, time of a step by n"),
        ("RSPCA: and about linearly with the number of variables", "RSPCA l0, time of a step by p"),
        ("BCD: a step is linear in the number of variables", "BCD-SPCA l0, time of a sweep by p"),
        ("S_1: proportional to the number of nonzeros", "S1-SPCA, time by nonzeros"),
        ("S_c: linear in the number of variables", "S5-SPCA, time by p"),
    ):
        slope = slopes[label]
        sheet.claims.append(Claim(text, f"exponent {slope:.2f}", LINEAR[0] <= slope <= LINEAR[1]))
    sheet.notes.append(
        f"A claim holds if the fitted exponent is between {LINEAR[0]} and {LINEAR[1]}: fixed costs of a fit "
        "make it smaller, and memory beyond the cache larger. Statements of Zhao, Meng and Xu (2014), "
        "section 2.7, Zhao, Meng, Xu and Gao (2015), section 2.5, and He, Monteiro and Park (2010), section "
        "2.3."
    )
    return sheet
