"""Zhao, Meng, Xu and Gao (2015), sections 3.2.2 and 3.3.2: colon, Tables 4 and 7, Figures 2 and 4."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.draws import Cell, Draw, NoNumbers
from benchmarks.papers.compared import METHODS, NONNEG, SHARING, sparsity
from benchmarks.papers.fits import Call, fit, fit_or_none, pev_curve, reconstruction
from benchmarks.papers.sheet import Cause, Sheet
from benchmarks.papers.verdicts import CONTRADICTION, SETTING, UNDECIDABLE, Claim

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
#: The paper's alpha in that unit, no penalty, and a hundred sweeps, since a sweep takes p steps.
NSPCA: dict[str, Any] = {"orthonormality": 1e6 / LARGEST, "penalty": 0.0, "max_iter": 100}
#: The cardinalities of that fit, for trials of other options.
NSPCA_CARD = [
    *(1432, 1619, 1581, 1706, 1313, 1365, 1716, 1539, 1438, 1643),
    *(1635, 1549, 1618, 1341, 1442, 1328, 1213, 1419, 1145, 863),
]
#: Numbers of components in the curves.
STEPS = tuple(range(1, 21))


@lru_cache(maxsize=1)
def _colon(path: Path) -> np.ndarray:
    return np.load(path)["X"].astype(float)


@lru_cache(maxsize=1)
def _nspca(path: Path) -> Any:
    """Return the NSPCA fit, whose cardinalities the other methods use."""
    return fit(_colon(path), 20, "nspca", **NSPCA)


def explained(draw: Draw, method: str, options: dict[str, Any]) -> list[float]:
    """Return RRE, PEV (%) and nonzeros of 20 components, and the PEV of the first 1, 2, ... of them."""
    path = draw.file(FILE)
    return _figures(fit(_colon(path), 20, method, **options))


def by_number(draw: Draw, method: str, options: dict[str, Any], cards: list[int]) -> list[float]:
    """Return the PEV (%) of 1, 2, ... components, with a separate fit for each number, as in the curves."""
    path = draw.file(FILE)
    values = []
    for k in STEPS:
        found = fit(_colon(path), k, method, card=cards[:k], **options)
        values.append(100.0 * found.measure("pev"))
    return values


def nonnegative(draw: Draw, method: str, options: dict[str, Any], random: bool = False) -> list[float]:
    """Return the numbers of `explained` for nonnegative components with the cardinalities of NSPCA."""
    path = draw.file(FILE)
    first = _nspca(path)
    if method == "nspca":
        return _figures(first)
    X = _colon(path)
    if random:
        start = np.random.default_rng(draw.seed).standard_normal((X.shape[1], 20))
        options = {**options, "start": start / np.linalg.norm(start, axis=0)}
    return _figures(fit(X, 20, method, card=[int(c) for c in first.card], **options))


def one_penalty(draw: Draw, method: str, start: str, total: int | None, least: float) -> list[float]:
    """Return the numbers of `explained` with one penalty for all components.

    The penalty is relative to the smallest one that leaves no nonzeros. It is chosen to come nearest to
    `total` nonzeros, or as the largest with a PEV of at least `least`.
    """
    path = draw.file(FILE)
    X = _colon(path)
    low, high, best, gap = 0.0, 0.5, None, np.inf
    for _ in range(14):
        middle = (low + high) / 2.0
        found = fit_or_none(X, 20, method, penalty=middle, start=start)
        if found is None:
            high = middle
            continue
        nonzeros, pev = float(found.card.sum()), found.measure("pev")
        dense = pev >= least if total is None else nonzeros > total
        low, high = (middle, high) if dense else (low, middle)
        miss = abs(nonzeros - total) if total is not None else (nonzeros if dense else np.inf)
        if miss < gap:
            best, gap = found, miss
    if best is None:
        raise NoNumbers("no penalty reaches that")
    return _figures(best)


def _figures(found: Any) -> list[float]:
    return [*reconstruction(found), *pev_curve(found, STEPS)]


def _rows(call: Call) -> list[Cell]:
    """Return the cells of Table 4, whose curves are shown in Figure 2."""
    quick = {"BCD-SPCA l0", "sPCA-rSVD l0"}
    cells = []
    for label in TABLE_4:
        if label == "ALSPCA" or (not call.full and label not in quick):
            continue
        method, options = METHODS[label]
        given = {**options, **sparsity(label, (50,) * 20)}
        has_two_starts = label == "BCD-SPCA l1"
        options = {**given, "n_init": 1} if has_two_starts else given
        cells.append(Cell(label, explained, {"method": method, "options": options}))
        if has_two_starts:
            cells.append(Cell(f"{label}, two starts", explained, {"method": method, "options": given}))
        if label in ("sPCA-rSVD l1", "sPCA-rSVD SCAD", "EMPCA", "GPower l0", "GPower l1"):
            more = {"deflation": "projection"} if "rSVD" in label else {"start": "pca"}
            words = "projection deflation" if "rSVD" in label else "dense start"
            cells.append(
                Cell(f"{label}, {words}", explained, {"method": method, "options": {**given, **more}})
            )
    return cells


def _further(call: Call) -> list[Cell]:
    """Return the trials that look for the causes of Table 4."""
    if not call.full:
        return []
    cells = [
        Cell(
            f"SPCA, ridge {ridge:g}",
            explained,
            {"method": "zou", "options": {"card": [50] * 20, "ridge": ridge, "max_iter": 10}},
        )
        for ridge in (0.01, 1.0, 100.0)
    ]
    for label, least in (("GPower l0", 0.7456), ("GPower l1", 0.7423)):
        for start, words in (("column", ""), ("pca", ", dense start")):
            given = {"method": METHODS[label][0], "start": start, "least": least}
            name = f"{label}, one penalty"
            cells.append(Cell(f"{name}, about 1000{words}", one_penalty, {**given, "total": 1000}))
            cells.append(Cell(f"{name}, the paper's PEV{words}", one_penalty, {**given, "total": None}))
    return cells


def table_4(call: Call) -> Sheet:
    quantities = {"RRE": 4, "PEV": 2, "nonzeros": 0}
    sheet = Sheet("zhao2015-4", "colon, 20 components of 50 nonzeros", "method", quantities)
    for name, found in call.measured(sheet.name, [*_rows(call), *_further(call)]).items():
        printed = [*TABLE_4.get(name, (None, None)), None]
        sheet.add(name, printed, found if isinstance(found, str) else found[:3])
    if call.full and not sheet.lacks_data:
        sheet.add(
            "ALSPCA",
            [*TABLE_4["ALSPCA"], None],
            "not run, since it would take an hour or more. With the penalties at which the bisection of our "
            "solver starts, components share single genes, no update of the multipliers brings their inner "
            "products within the bound, and nonzeros grow with its weight: at the first penalty from 24 to "
            "33955 of 40000 in 25 updates, half a minute, and 20 penalties need up to seven steps each",
        )
    sheet.causes = CAUSES_4
    sheet.notes.append("Raw intensities, centred, not scaled; DSPCA is not printed (p = 2000 is too large).")
    return sheet


CAUSES_4 = [
    Cause(
        "the paper uses a small ridge: with 0.01 ours is within 0.5 points; with a larger ridge it increases "
        "to the limit of soft thresholding, our default for more variables than rows.",
        ("SPCA",),
        SETTING,
    ),
    Cause(
        "the paper has 0.57 points more; its weights, start and total (about 1000) are not listed.",
        ("GPower l0,m",),
        UNDECIDABLE,
    ),
    Cause(
        "the paper's fits do not have 50 nonzeros each but about 1000 in all, by one penalty: with one "
        "penalty and 1023 nonzeros ours has the paper's RRE and PEV (see its row).",
        ("GPower l1",),
        SETTING,
    ),
    Cause(
        "with one penalty, as for GPower l1, ours is closer: a point below the paper with about 1000 "
        "nonzeros, and equal to the paper's PEV with 1170 to 1259 (see the rows).",
        ("GPower l0",),
    ),
    Cause("with a start at the dense component it agrees (see its row).", ("EMPCA",), SETTING),
    Cause(
        "with deflation by projection it agrees to all printed digits (see its row).",
        ("sPCA-rSVD l1", "sPCA-rSVD SCAD"),
        SETTING,
    ),
    Cause("its bounds on correlation and orthogonality are not printed.", ("ALSPCA",), UNDECIDABLE),
]


def figure_2(call: Call) -> Sheet:
    sheet = Sheet("zhao2015-fig2", "colon, PEV by the number of components", "method", _by_steps())
    greedy = {**{name: METHODS[name] for name in TABLE_4 if name not in SHARING}, **_DENSE}
    cells = [
        Cell(label, explained, {"method": method, "options": {**options, **sparsity(label, (50,) * 20)}})
        for label, (method, options) in greedy.items()
        if not label.startswith(("BCD", "GPower"))
    ]
    for name, found in call.measured(sheet.name, cells if call.full else cells[:1]).items():
        sheet.add(name, [None] * len(STEPS), found if isinstance(found, str) else found[3:])
    _add_by_number(call, sheet, {}, [50] * 20)
    sheet.causes = [
        Cause(
            "thresholded l1 is below the greedy methods in the paper's own Table 4.",
            ("BCD-SPCA l1",),
            CONTRADICTION,
        )
    ]
    sheet.notes.append(
        "The figure has no numbers, and no curves of GPower, for which the paper could not obtain 50 "
        "nonzeros each. For BCD each number of components is a separate fit; greedy components do not depend "
        "on their number."
    )
    return sheet


_DENSE: dict[str, tuple[str, dict[str, Any]]] = {"EMPCA, dense start": ("empca", {"start": "pca"})}


def _by_steps() -> dict[str, int]:
    return {f"{k}": 2 for k in STEPS}


def _add_by_number(call: Call, sheet: Sheet, options: dict[str, Any], cards: list[int]) -> None:
    """Add BCD, fitted for every number of components, and the claim that it is above the earlier rows."""
    others = {name: ours for name, _, ours, _ in sheet.rows}
    kind = "BCD-NSPCA" if options else "BCD-SPCA"
    cells = [
        Cell(
            f"{kind} {norm}",
            by_number,
            {"method": f"bcd-{norm}", "options": {**options, "n_init": 1}, "cards": cards},
        )
        for norm in ("l0", "l1")
    ]
    for name, found in call.measured(sheet.name, cells).items():
        sheet.add(name, [None] * len(STEPS), found)
        if isinstance(found, str):
            continue
        above = {
            k: max(others, key=lambda one, j=j: float(others[one][j]))  # type: ignore[arg-type,misc]
            for j, k in enumerate(STEPS)
            if max(float(ours[j]) for ours in others.values()) > found.mean[j] + 0.005  # type: ignore[arg-type]
        }
        words = f"above it: {_by_method(above)}" if above else f"first at 1 to {STEPS[-1]}"
        sheet.claims.append(Claim(f"{name} is first for every number of components", words, not above))


def _by_method(highest: dict[int, str]) -> str:
    """Return, in words, the methods that are highest, each with its numbers of components."""
    numbers: dict[str, list[str]] = {}
    for k, method in highest.items():
        numbers.setdefault(method, []).append(str(k))
    return "; ".join(f"{method} at {', '.join(counts)}" for method, counts in numbers.items())


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
    trials: dict[str, tuple[str, dict[str, Any]]] = {
        f"NSPCA, {sweeps} sweeps": ("nspca", {**NSPCA, "max_iter": sweeps}) for sweeps in (5, 20)
    }
    same: dict[str, Any] = {"nonneg": True, "card": NSPCA_CARD}
    trials["N-EMPCA, projection deflation"] = ("empca", {**same, "deflation": "projection"})
    for sweeps in (10, 30):
        few = {**same, "n_init": 1, "max_iter": sweeps}
        trials[f"BCD-NSPCA l1, {sweeps} sweeps"] = ("bcd-l1", few)
    return cells + [
        Cell(name, explained, {"method": method, "options": options})
        for name, (method, options) in trials.items()
    ]


def table_7(call: Call) -> Sheet:
    quantities = {"RRE": 4, "PEV": 2, "nonzeros": 0}
    sheet = Sheet("zhao2015-7", "colon, 20 nonnegative components", "method", quantities)
    if not call.full:
        sheet.notes.append("--full only.")
        return sheet
    for name, found in call.measured("zhao2015-7", _nonnegative(call)).items():
        printed = [*TABLE_7.get(name, (None, None)), None]
        sheet.add(name, printed, found if isinstance(found, str) else found[:3])
    sheet.causes = CAUSES_7
    sheet.notes.append(
        "The paper takes its cardinalities from its own NSPCA fit with alpha = 1e6 and does not list them. "
        "In "
        f"units of the covariance matrix, whose largest eigenvalue is {LARGEST:.4g}, that is alpha = "
        f"{NSPCA['orthonormality']:.4f}; ours come from NSPCA with this alpha and without a penalty."
    )
    return sheet


CAUSES_7 = [
    Cause(
        "the paper apparently ends its sweeps earlier: ours improve for a hundred sweeps or more and exceed "
        "the paper's PEV after the first few (see the rows with numbers of sweeps).",
        ("NSPCA", "BCD-NSPCA l1"),
        SETTING,
    ),
    Cause("with deflation by projection ours agrees within 0.5 points (see its row).", ("N-EMPCA",), SETTING),
]


def figure_4(call: Call) -> Sheet:
    title = "colon, PEV by the number of nonnegative components"
    sheet = Sheet("zhao2015-fig4", title, "method", _by_steps())
    if not call.full:
        sheet.notes.append("--full only.")
        return sheet
    same: dict[str, Any] = {"nonneg": True, "card": NSPCA_CARD}
    starts = {
        "": {},
        ", dense start": {"start": "pca"},
        ", projection deflation": {"deflation": "projection"},
    }
    cells = [Cell("NSPCA", nonnegative, {"method": "nspca", "options": {}})] + [
        Cell(f"N-EMPCA{words}", explained, {"method": "empca", "options": {**same, **more}})
        for words, more in starts.items()
    ]
    for name, found in call.measured(sheet.name, cells).items():
        sheet.add(name, [None] * len(STEPS), found if isinstance(found, str) else found[3:])
    _add_by_number(call, sheet, {"nonneg": True}, NSPCA_CARD)
    sheet.causes = [
        Cause(
            "with one component N-EMPCA and BCD-NSPCA l0 solve the same problem and have the same PEV; the "
            "paper states in section 3.3.3 that l0 always outperforms l1, so l1 cannot be first there.",
            ("BCD-NSPCA l1",),
            CONTRADICTION,
        )
    ]
    sheet.notes.append(
        "The figure has no numbers. BCD is fitted for every number of components with the first "
        "cardinalities of the NSPCA fit of 20 (Table 7). The paper does not state whether NSPCA, whose "
        "cardinalities are not chosen, was fitted for every number; its curve has the first components of 20."
    )
    return sheet
