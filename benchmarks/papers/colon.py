"""Zhao, Meng, Xu and Gao (2015), sections 3.2.2 and 3.3.2: colon, Tables 4 and 7, Figures 2 and 4."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.draws import Cell, Draw
from benchmarks.papers.compared import METHODS, NONNEG, SHARING, sparsity
from benchmarks.papers.fits import Call, fit
from benchmarks.papers.sheet import Cause, Sheet

FILE = "micro_alon.npz"
TABLE_4 = {
    "SPCA": (0.7892, 37.72),
    "PathSPCA": (0.5287, 72.05),
    "sPCA-rSVD l0": (0.5236, 72.58),
    "sPCA-rSVD l1": (0.5628, 68.32),
    "sPCA-rSVD SCAD": (0.5723, 67.25),
    "EMPCA": (0.5211, 72.84),
    "GPower l0": (0.5042, 74.56),
    "GPower l1": (0.5076, 74.23),
    "GPower l0,m": (0.4870, 76.29),
    "GPower l1,m": (0.4904, 75.95),
    "ALSPCA": (0.5917, 64.99),
    "BCD-SPCA l0": (0.4737, 77.56),
    "BCD-SPCA l1": (0.5536, 69.35),
}
TABLE_7 = {
    "NSPCA": (0.3674, 86.50),
    "N-EMPCA": (0.3399, 88.45),
    "BCD-NSPCA l0": (0.2706, 92.68),
    "BCD-NSPCA l1": (0.2864, 91.80),
}
#: The largest eigenvalue of the covariance matrix of the raw intensities, the unit of our penalties.
LARGEST = 1.351e8
#: Print's alpha in that unit, no penalty, and a hundred sweeps, since each costs p steps.
NSPCA: dict[str, Any] = {"alpha": 1e6 / LARGEST, "penalty": 0.0, "max_iter": 100}
#: Numbers of components in the curves.
STEPS = (1, 2, 5, 10, 15, 20)


@lru_cache(maxsize=1)
def _colon(path: Path) -> np.ndarray:
    return np.load(path)["X"].astype(float)


@lru_cache(maxsize=1)
def _nspca(path: Path) -> Any:
    """Return the NSPCA fit, which gives the others their cardinalities."""
    return fit(_colon(path), 20, "nspca", **NSPCA)


def explained(draw: Draw, method: str, options: dict[str, Any]) -> list[float] | str:
    """Return RRE, PEV (%) and nonzeros of 20 components, and the PEV of the first 1, 2, 5, ... of them."""
    path = draw.file(FILE)
    if isinstance(path, str):
        return path
    return _figures(fit(_colon(path), 20, method, **options))


def nonnegative(draw: Draw, method: str, options: dict[str, Any], random: bool = False) -> list[float] | str:
    """Return the same of nonnegative components with the cardinalities of NSPCA."""
    path = draw.file(FILE)
    if isinstance(path, str):
        return path
    first = _nspca(path)
    if method == "nspca" or isinstance(first, str):
        return _figures(first)
    X = _colon(path)
    if random:
        start = np.random.default_rng(draw.seed).standard_normal((X.shape[1], 20))
        options = {**options, "start": start / np.linalg.norm(start, axis=0)}
    return _figures(fit(X, 20, method, card=[int(c) for c in first.card], **options))


def _figures(found: Any) -> list[float] | str:
    if isinstance(found, str):
        return found
    curve = 100.0 * found.variance["cumulative PEV"].to_numpy()
    whole = [found.measure("rre"), 100.0 * found.measure("pev"), float(found.card.sum())]
    return [*whole, *(curve[k - 1] for k in STEPS)]


def _rows(call: Call) -> list[Cell]:
    """Return the cells of Table 4, whose curves make Figure 2."""
    quick = {"BCD-SPCA l0", "sPCA-rSVD l0"}
    cells = []
    for label in TABLE_4:
        if not call.full and label not in quick:
            continue
        method, options = METHODS[label]
        given = {**options, **sparsity(label, (50,) * 20)}
        one = {"n_init": 1} if label == "BCD-SPCA l1" else {}
        cells.append(Cell(label, explained, {"method": method, "options": {**given, **one}}))
        if one:
            cells.append(Cell(f"{label}, two starts", explained, {"method": method, "options": given}))
        if label in ("sPCA-rSVD l1", "sPCA-rSVD SCAD", "EMPCA", "GPower l0", "GPower l1"):
            more = {"deflation": "hotelling"} if "rSVD" in label else {"start": "pca"}
            words = "hotelling deflation" if "rSVD" in label else "dense start"
            cells.append(
                Cell(f"{label}, {words}", explained, {"method": method, "options": {**given, **more}})
            )
    return cells


def table_4(call: Call) -> Sheet:
    quantities = {"RRE": 4, "PEV": 2, "nonzeros": 0}
    sheet = Sheet("000-4", "colon, 20 components of 50 nonzeros", "method", quantities)
    for name, found in call.measured("000-4", _rows(call)).items():
        printed = [*TABLE_4.get(name, (None, None)), None]
        sheet.add(name, printed, found if isinstance(found, str) else found[:3])
    sheet.causes = CAUSES_4
    sheet.notes.append(
        "Raw intensities, centred, not scaled; DSPCA is not printed (p = 2000 is too large)."
    )
    return sheet


CAUSES_4: list[Cause] = []


def figure_2(call: Call) -> Sheet:
    quantities = {f"{k}": 2 for k in STEPS}
    sheet = Sheet("000-fig2", "colon, PEV of the first components", "method", quantities)
    for name, found in call.measured("000-4", _rows(call)).items():
        if name.split(",")[0] not in SHARING:
            sheet.add(name, [None] * len(STEPS), found if isinstance(found, str) else found[3:])
    sheet.notes.append(
        "The figure has no numbers. The fits are those of Table 4: the components of BCD are fitted for all "
        "20 together, so that its first few explain less than they could."
    )
    return sheet


def _nonnegative(call: Call) -> list[Cell]:
    cells = [
        Cell(label, nonnegative, {"method": method, "options": options})
        for label, (method, options) in NONNEG.items()
    ]
    given = {"method": "empca", "options": {"nonneg": True}}
    cells.append(
        Cell("N-EMPCA, dense start", nonnegative, {**given, "options": {"nonneg": True, "start": "pca"}})
    )
    cells.append(Cell("N-EMPCA, random starts", nonnegative, {**given, "random": True}, call.times(1, 10)))
    return cells


def table_7(call: Call) -> Sheet:
    quantities = {"RRE": 4, "PEV": 2, "nonzeros": 0}
    sheet = Sheet("000-7", "colon, 20 nonnegative components", "method", quantities)
    if not call.full:
        sheet.notes.append("--full only.")
        return sheet
    for name, found in call.measured("000-7", _nonnegative(call)).items():
        printed = [*TABLE_7.get(name, (None, None)), None]
        sheet.add(name, printed, found if isinstance(found, str) else found[:3])
    sheet.causes = CAUSES_7
    sheet.notes.append(
        "Print takes its cardinalities from its own NSPCA fit with alpha = 1e6 and does not list them. In "
        f"units of the covariance matrix, whose largest eigenvalue is {LARGEST:.4g}, that is alpha = "
        f"{NSPCA['alpha']:.4f}; ours come from NSPCA with it and without a penalty."
    )
    return sheet


CAUSES_7 = [
    Cause(
        "print has a second parameter, beta = 1e7, whose unit is not printed; without it NSPCA explains "
        "more.",
        ("NSPCA",),
        False,
    ),
]


def figure_4(call: Call) -> Sheet:
    quantities = {f"{k}": 2 for k in STEPS}
    sheet = Sheet("000-fig4", "colon, PEV of the first nonnegative components", "method", quantities)
    if not call.full:
        sheet.notes.append("--full only.")
        return sheet
    for name, found in call.measured("000-7", _nonnegative(call)).items():
        sheet.add(name, [None] * len(STEPS), found if isinstance(found, str) else found[3:])
    sheet.notes.append("The figure has no numbers. The fits are those of Table 7.")
    return sheet
