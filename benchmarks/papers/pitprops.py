"""Zhao, Meng, Xu and Gao (2015), section 3.2.1: pitprops, Table 3 and Figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.draws import Cell, Draw
from benchmarks.papers.compared import METHODS, SHARING, sparsity
from benchmarks.papers.fits import Call, fit, pev_curve
from benchmarks.papers.sheet import Cause, Sheet
from benchmarks.papers.verdicts import BETTER, CHANCE, CONTRADICTION, REPRODUCED, SETTING, Claim, compare
from spcastat.solvers import penalised

PATTERNS = ((8, 5, 6, 2, 3, 2), (7, 4, 4, 1, 1, 1), (7, 2, 3, 1, 1, 1))
#: RRE and PEV (%) at each of the patterns.
TABLE_3 = {
    "SPCA": (0.4162, 82.68, 0.4448, 80.22, 0.4459, 80.11),
    "DSPCA": (0.4303, 81.48, 0.4563, 79.18, 0.4771, 77.23),
    "PathSPCA": (0.4080, 83.35, 0.4660, 80.11, 0.4457, 80.13),
    "sPCA-rSVD l0": (0.4139, 82.87, 0.4376, 80.85, 0.4701, 77.90),
    "sPCA-rSVD l1": (0.4314, 81.39, 0.4427, 80.40, 0.4664, 78.25),
    "sPCA-rSVD SCAD": (0.4306, 81.45, 0.4453, 80.17, 0.4762, 77.32),
    "EMPCA": (0.4070, 83.44, 0.4376, 80.85, 0.4451, 80.18),
    "GPower l0": (0.4092, 83.26, 0.4400, 80.64, 0.4457, 80.13),
    "GPower l1": (0.4080, 83.35, 0.4460, 80.11, 0.4457, 80.13),
    "GPower l0,m": (0.4224, 82.16, 0.5089, 74.10, 0.4644, 78.44),
    "GPower l1,m": (0.4187, 82.46, 0.4711, 77.81, 0.4589, 78.94),
    "ALSPCA": (0.4168, 82.63, 0.4396, 80.67, 0.4537, 79.42),
    "BCD-SPCA l0": (0.4115, 83.07, 0.4419, 80.47, 0.4419, 80.47),
    "BCD-SPCA l1": (0.4005, 83.50, 0.4343, 81.14, 0.4420, 80.46),
}
#: Options that the paper states, or that reproduce its rows; the paper's BCD has one start.
OPTIONS: dict[str, dict[str, Any]] = {"BCD-SPCA l0": {"n_init": 1}, "BCD-SPCA l1": {"n_init": 1}}
#: Other deflations and starts that are tried for rows that differ from the paper.
DEFLATIONS: dict[str, tuple[str, ...]] = {
    "DSPCA": ("projection", "schur"),
    "EMPCA": ("hotelling", "projection", "schur"),
    "GPower l0": ("hotelling", "projection", "schur"),
}
STARTS: dict[str, tuple[str, ...]] = {
    "EMPCA": ("pca",),
    "GPower l0": ("pca",),
}
WEIGHTS = [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6]


def explained(
    draw: Draw, method: str, options: dict[str, Any], scad_a: float = penalised.SCAD_A
) -> list[float]:
    """Return RRE and PEV (%) of six components; `scad_a` is the parameter of the SCAD penalty."""
    usual = penalised.SCAD_A
    penalised.SCAD_A = scad_a
    try:
        result = fit(sp.datasets.load_pitprops(), 6, method, covariance=True, **options)
    finally:
        penalised.SCAD_A = usual
    return [result.measure("rre"), 100.0 * result.measure("pev")]


def explained_from(draw: Draw, method: str, total: int) -> list[float]:
    """Return the PEV (%) of a block method from a random start."""
    start = np.random.default_rng(draw.seed).standard_normal((13, 6))
    start /= np.linalg.norm(start, axis=0)
    S = sp.datasets.load_pitprops()
    found = fit(S, 6, method, covariance=True, total=total, start=start, mu=WEIGHTS)
    return [100.0 * found.measure("pev")]


def _name(pattern: tuple[int, ...]) -> str:
    return "-".join(map(str, pattern))


def table_3(call: Call) -> Sheet:
    sheet = Sheet("zhao2015-3", "pitprops, six components", "cardinalities, method", {"RRE": 4, "PEV": 2})
    cells = []
    for pattern in PATTERNS:
        for label, (method, options) in METHODS.items():
            given = {**options, **sparsity(label, pattern), **OPTIONS.get(label, {})}
            rows = {"": given}
            for deflation in DEFLATIONS.get(label, ()):
                rows[f", {deflation} deflation"] = {**given, "deflation": deflation}
            if label == "GPower l1":
                rows[", dense start"] = {**given, "start": "pca"}
            for start in STARTS.get(label, ()):
                words = {"pca": "dense", "column": "column"}[start]
                for deflation in (None, *DEFLATIONS[label]):
                    more = "" if deflation is None else f", {deflation} deflation"
                    one = {**given, "start": start} | ({"deflation": deflation} if deflation else {})
                    rows[f", {words} start{more}"] = one
            if label.endswith(",m"):
                rows[", falling weights"] = {**given, "mu": WEIGHTS}
            cells += [
                Cell(f"{_name(pattern)} {label}{more}", explained, {"method": method, "options": one})
                for more, one in rows.items()
            ]
            if label == "sPCA-rSVD SCAD":
                fixed = {"method": method, "options": given, "scad_a": 5.0}
                cells.append(Cell(f"{_name(pattern)} {label}, a = 5", explained, fixed))
    found = call.measured(sheet.name, cells)
    for j, pattern in enumerate(PATTERNS):
        printed = {f"{_name(pattern)} {label}": TABLE_3[label][2 * j : 2 * j + 2] for label in TABLE_3}
        for name in [one.name for one in cells if one.name.startswith(_name(pattern))]:
            sheet.add(name, printed.get(name, (None, None)), found[name])
    sheet.causes = CAUSES_3
    sheet.notes += [
        _one_program(sheet),
        _random_starts(call, sheet.name),
        "At 7-2-3-1-1-1 the exact optimum of every component in turn gives 76.98 %; sequential methods that "
        "exceed it are less greedy.",
        "Every method has its own deflation unless the row states another: PathSPCA uses projection, which "
        "reproduces the paper.",
    ]
    return sheet


def _one_program(sheet: Sheet) -> str:
    """Return a sentence on the variants of each method (deflation, start) that agree at all patterns."""
    said = []
    for label in DEFLATIONS:
        met: dict[str, int] = {}
        for name, _, ours, _ in sheet.rows:
            pattern, rest = name.split(" ", 1)
            variant = rest.removeprefix(label)
            if rest.startswith(label) and (not variant or variant.startswith(", ")):
                j = [_name(one) for one in PATTERNS].index(pattern)
                printed = TABLE_3[label][2 * j : 2 * j + 2]
                found = compare(zip(printed, ours, sheet.quantities.values(), strict=True))
                met[variant] = met.get(variant, 0) + (found == REPRODUCED)
        whole = " and ".join(variant[2:] or "its own" for variant, times in met.items() if times == 3)
        said.append(f"{label}, of {len(met)}: {whole or f'none, the best {max(met.values())} of 3 patterns'}")
    return (
        "Variants of one program (deflation, start) that agree with the paper at all patterns: "
        f"{'; '.join(said)}."
    )


def _random_starts(call: Call, table: str) -> str:
    """Return a sentence on the PEV of block methods from random starts, drawn as in their programs."""
    times = call.times(10, 100)
    said = []
    for label in ("GPower l0,m", "GPower l1,m"):
        for pattern in PATTERNS:
            given = {"method": METHODS[label][0], "total": sum(pattern)}
            cell = Cell(f"{label} {_name(pattern)}, random starts", explained_from, given, times)
            call.measured(table, [cell])
            values = [one[0] for one in call.draws.raw(table, cell) if not isinstance(one, str)]
            said.append(f"{label} {_name(pattern)} {min(values):.2f} to {max(values):.2f}")
    return f"PEV with weights 1/j from {times} random starts: {'; '.join(said)}."


CAUSES_3 = [
    Cause(
        "the printed value is wrong: it contradicts PEV = 1 - RRE^2 in its own row. The other value of "
        "PathSPCA agrees. RRE 0.4005 of BCD-SPCA l1 corresponds to 83.96 %, to which its sweeps converge; "
        "ours keeps the best loadings of all sweeps.",
        ("8-5-6-2-3-2 BCD-SPCA l1", "7-4-4-1-1-1 PathSPCA"),
        CONTRADICTION,
    ),
    Cause(
        "ours have the same numbers of nonzeros and explain more.",
        ("7-4-4-1-1-1 DSPCA", "7-2-3-1-1-1 DSPCA", "7-4-4-1-1-1 GPower l0,m", "8-5-6-2-3-2 ALSPCA"),
        BETTER,
    ),
    Cause(
        "block methods start at random in their authors' program, and end anywhere in the range in the note "
        "below, which includes the paper's value. From the dense components they end higher.",
        (" GPower l0,m", " GPower l1,m"),
        CHANCE,
    ),
    Cause(
        "with a start at the dense component and Schur complement deflation it agrees with the paper at all "
        "three patterns (see its rows).",
        ("7-4-4-1-1-1 EMPCA",),
        SETTING,
    ),
    Cause(
        "with a start at the dense component this pattern agrees within 0.2 points (see its row), but the "
        "others agree only with a start at the longest column, and the paper uses one program for each "
        "method (see the note).",
        ("7-4-4-1-1-1 GPower l0",),
    ),
    Cause(
        "the paper does not print the parameter a of the penalty: with a = 5 the same program agrees at all "
        "three patterns (see its rows); with Fan and Li's 3.7 it does not.",
        (" sPCA-rSVD SCAD",),
        SETTING,
    ),
]


#: Other starts and deflations with which a method has the printed PEV of six components.
VARIANTS: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("8-5-6-2-3-2", "EMPCA"): ("dense start, schur deflation", {"start": "pca", "deflation": "schur"}),
    ("7-4-4-1-1-1", "EMPCA"): ("dense start, schur deflation", {"start": "pca", "deflation": "schur"}),
    ("7-2-3-1-1-1", "EMPCA"): ("dense start, schur deflation", {"start": "pca", "deflation": "schur"}),
    ("7-4-4-1-1-1", "GPower l0"): ("dense start", {"start": "pca"}),
    ("7-4-4-1-1-1", "DSPCA"): ("projection deflation", {"deflation": "projection"}),
}


def curve(draw: Draw, label: str, pattern: list[int], more: dict[str, Any]) -> list[float]:
    """Return the PEV (%) of 1, ..., 6 components, from six fits if the method fits components together."""
    S = sp.datasets.load_pitprops()
    method, options = METHODS[label]
    options = {**options, **OPTIONS.get(label, {}), **more}
    if not label.startswith("BCD"):
        found = fit(S, 6, method, covariance=True, card=pattern, **options)
        return pev_curve(found, range(1, 7))
    values = []
    for k in range(1, 7):
        found = fit(S, k, method, covariance=True, card=pattern[:k], **options)
        values.append(100.0 * found.measure("pev"))
    return values


def first_of_six(draw: Draw, label: str, pattern: list[int]) -> list[float]:
    """Return the PEV (%) of the first 1, ..., 6 of six components that are fitted together."""
    method, options = METHODS[label]
    S = sp.datasets.load_pitprops()
    found = fit(S, 6, method, covariance=True, card=pattern, **options, **OPTIONS.get(label, {}))
    return pev_curve(found, range(1, 7))


def _curves(pattern: tuple[int, ...]) -> list[Cell]:
    """Return the curves of all methods at a pattern, and of BCD in its other reading."""
    name, cells = _name(pattern), []
    for label in METHODS:
        if label in SHARING:
            continue
        given: dict[str, Any] = {"label": label, "pattern": list(pattern)}
        cells.append(Cell(f"{name} {label}", curve, {**given, "more": {}}))
        if (name, label) in VARIANTS:
            words, more = VARIANTS[name, label]
            cells.append(Cell(f"{name} {label}, {words}", curve, {**given, "more": more}))
        if label.startswith("BCD"):
            cells.append(Cell(f"{name} {label}, first of six", first_of_six, given))
    return cells


def _printed_curves(curves: dict[str, np.ndarray], j: int) -> dict[str, np.ndarray]:
    """Return the curves of competitors that end at the printed PEV; all curves of a method if none does."""
    by_method: dict[str, dict[str, np.ndarray]] = {}
    for name, values in curves.items():
        label = name.split(" ", 1)[1].split(", ")[0]
        if not label.startswith("BCD"):
            by_method.setdefault(label, {})[name] = values
    kept = {}
    for label, found in by_method.items():
        printed = TABLE_3[label][2 * j + 1]
        kept |= {
            n: v for n, v in found.items() if compare([(printed, float(v[-1]), 2)]) == REPRODUCED
        } or found
    return kept


def _above(best: np.ndarray, others: dict[str, np.ndarray]) -> str:
    """Return, in words, which curves are above `best`, where, and by how much; "" if none is."""
    said = []
    for k, value in enumerate(best):
        name = max(others, key=lambda one, k=k: float(others[one][k]))  # type: ignore[misc]
        if others[name][k] > value + 0.005:
            said.append(f"{k + 1}: {name.split(' ', 1)[1]} {others[name][k] - value:.2f} above")
    return "; ".join(said)


def figure_1(call: Call) -> Sheet:
    sheet = Sheet(
        "zhao2015-fig1",
        "pitprops, PEV of the first components",
        "cardinalities, method",
        {f"{k}": 2 for k in range(1, 7)},
    )
    agreeing = []
    for j, pattern in enumerate(PATTERNS):
        name = _name(pattern)
        found = call.measured(sheet.name, _curves(pattern))
        for label, values in found.items():
            sheet.add(label, [None] * 6, values)
        curves = {label: one.mean for label, one in found.items() if not isinstance(one, str)}
        best = np.maximum(curves[f"{name} BCD-SPCA l0"], curves[f"{name} BCD-SPCA l1"])
        own = {one: v for one, v in curves.items() if "BCD" not in one and ", " not in one}
        above = _above(best, own)
        if above and not _above(best, _printed_curves(curves, j)):
            agreeing.append(name)
        said = above or "for 1 to 6"
        sheet.claims.append(Claim(f"{name}: BCD is first for every number", said, not above))
    sheet.causes = [
        Cause(
            "the better of the two BCD is first for 1 to 6 among the curves that end at the printed PEV, of "
            "methods that have one (see the rows with deflations and starts). DSPCA with its own deflation, "
            "which is above at five, ends a point above the paper.",
            tuple(agreeing),
            SETTING,
        ),
        Cause(
            "in the paper's own Table 3 BCD-SPCA l0 is below EMPCA (83.07, 83.44); with one component "
            "thresholded l1 is below 31.30, the largest PEV of any eight variables, which others reach; "
            "and with two components the better of both is below PathSPCA, which has its printed PEV at six. "
            "So no reading of the statement holds, nor for the first components of six (see their rows).",
            ("8-5-6-2-3-2",),
            CONTRADICTION,
        ),
        Cause("the rows of this page that end at the printed PEV refute it.", tuple(map(_name, PATTERNS))),
    ]
    sheet.notes.append(
        "The figure has no numbers. RRE is the square root of 1 - PEV. The components of BCD are fitted "
        "together, so each number of components has a separate fit; 'first of six' are the first components "
        "of the fit of six."
    )
    return sheet
