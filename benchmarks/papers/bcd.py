"""Zhao, Meng, Xu and Gao (2015), "A block coordinate descent approach for sparse PCA" (BCD)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.papers.fits import Call, fit, loadings, matched, rate
from benchmarks.papers.sheet import Sheet

#: Printed name -> (method, options).
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "SPCA": ("zou", {}),
    "DSPCA": ("dspca", {}),
    "PathSPCA": ("pathspca", {"deflation": "projection"}),
    "sPCA-rSVD l0": ("rsvd-l0", {}),
    "sPCA-rSVD l1": ("rsvd-l1", {}),
    "sPCA-rSVD SCAD": ("rsvd-scad", {}),
    "EMPCA": ("empca", {}),
    "GPower l0": ("gpower-l0", {}),
    "GPower l1": ("gpower-l1", {}),
    "GPower l0,m": ("gpower-l0-block", {}),
    "GPower l1,m": ("gpower-l1-block", {}),
    "ALSPCA": ("alspca", {}),
    "BCD-SPCA l0": ("bcd-l0", {}),
    "BCD-SPCA l1": ("bcd-l1", {}),
}
#: Printed names of methods that are given the nonzeros of all components together.
SHARING = ("GPower l0,m", "GPower l1,m", "ALSPCA")
SIZES = (500, 1000, 2000, 5000)

TABLE_2 = {
    "PCA": (0, 0, 0, 0),
    "SPCA": (566, 673, 756, 839),
    "DSPCA": (211, 203, 138, 62),
    "PathSPCA": (189, 187, 186, 171),
    "sPCA-rSVD l0": (646, 702, 797, 906),
    "sPCA-rSVD l1": (649, 715, 806, 909),
    "sPCA-rSVD SCAD": (649, 715, 806, 909),
    "EMPCA": (649, 715, 806, 909),
    "GPower l0": (155, 154, 155, 139),
    "GPower l1": (122, 127, 126, 126),
    "GPower l0,m": (91, 76, 71, 16),
    "GPower l1,m": (90, 92, 88, 82),
    "ALSPCA": (669, 749, 826, 927),
    "BCD-SPCA l0": (646, 708, 800, 907),
    "BCD-SPCA l1": (676, 748, 827, 928),
}
TABLE_6 = {
    "PCA": (0, 0, 0, 0),
    "NSPCA": (739, 948, 933, 993),
    "N-EMPCA": (620, 655, 631, 639),
    "BCD-NSPCA l0": (834, 948, 939, 996),
    "BCD-NSPCA l1": (835, 949, 978, 1000),
}
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
#: Why cells of Table 3 lie more than 0.8 points below print.
DEVIATIONS_3 = (
    "EMPCA and GPower l0 at 7-2-3-1-1-1: print took another path; here they end at 77.7 to 77.9 %, "
    "above 76.98.",
    "ALSPCA: its penalties and its bounds on correlation and orthogonality are not printed.",
    "DSPCA and the block methods lie above print.",
)
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
#: No penalty; a hundred sweeps, since each costs p steps.
NSPCA: dict[str, Any] = {"penalty": 0.0, "max_iter": 100}
NONNEG: dict[str, tuple[str, dict[str, Any]]] = {
    "NSPCA": ("nspca", {}),
    "N-EMPCA": ("empca", {"nonneg": True}),
    "BCD-NSPCA l0": ("bcd-l0", {"nonneg": True}),
    "BCD-NSPCA l1": ("bcd-l1", {"nonneg": True}),
}


@lru_cache(maxsize=4096)
def _toy(n: int, seed: int, nonneg: bool) -> tuple[pd.DataFrame, np.ndarray]:
    X = sp.datasets.make_toy(n, seed, nonneg)
    return X.cov(), np.asarray(X.attrs["loadings"])


def _successes(call: Call, n: int, nonneg: bool, method: str, options: dict[str, Any], times: int) -> Any:
    def trial(seed: int) -> Any:
        S, truth = _toy(n, seed, nonneg)
        found = fit(S, 2, method, covariance=True, **options)
        return found if isinstance(found, str) else matched(loadings(found), truth, 0.99)

    return rate(trial, times, 2 * call.seconds)


def _success_table(call: Call, sheet: Sheet, rows: dict[str, Any], printed: Any, nonneg: bool) -> Sheet:
    sizes = _sizes(call)
    wanted = call.times(25, 1000)
    fewest = wanted
    for label, (method, options) in rows.items():
        found = [_successes(call, n, nonneg, method, options, wanted) for n in sizes]
        reasons = [one for one in found if isinstance(one, str)]
        row = [printed.get(label, (None,) * 4)[SIZES.index(n)] for n in sizes]
        pairs = [value for one in row for value in (one, None)]
        if reasons:
            sheet.add(label, pairs, reasons[0])
            continue
        fewest = min(fewest, *(count for _, count in found))
        sheet.add(label, pairs, [float(1000.0 * value) for means, _ in found for value in means])
    sheet.notes.append(
        f"Successes per 1000, from {wanted} sets for every size"
        + (f" (from {fewest} where a method used up its time)" if fewest < wanted else "")
        + ". The standard error of a share q is sqrt(q (1 - q) / sets): 16 of 1000 at most in print, "
        f"{1000 * 0.5 / np.sqrt(fewest):.0f} at most here."
    )
    return sheet


def _sizes(call: Call) -> tuple[int, ...]:
    return SIZES if call.full else (500, 5000)


def _columns(call: Call) -> dict[str, int]:
    return {heading: 0 for n in _sizes(call) for heading in (f"n={n}", f"n={n}, any order")}


def _sparsity(label: str, card: tuple[int, ...]) -> dict[str, Any]:
    """Return the option by which a method is told how sparse: print matches totals alone for some."""
    return {"total": sum(card)} if label in SHARING else {"card": card}


def table_2(call: Call) -> Sheet:
    sheet = Sheet("000-2", "successes of 1000 on synthetic data", "method", _columns(call))
    rows: dict[str, Any] = {"PCA": ("pca", {})}
    for label, (method, options) in METHODS.items():
        rows[label] = (method, {**options, **_sparsity(label, (6, 6))})
    rows["BCD-SPCA l0, 20 starts"] = ("bcd-l0", {"card": (6, 6), "n_init": 20})
    rows["BCD-SPCA l1, 20 starts"] = ("bcd-l1", {"card": (6, 6), "n_init": 20})
    _success_table(call, sheet, rows, TABLE_2, nonneg=False)
    sheet.notes += [
        "In order, no method can pass 0.67, 0.74, 0.82, 0.92 by more than chance: the eigenvalues "
        "250 and 240 "
        "change places in the sample in the other cases. The columns 'any order' do not count that.",
        "PathSPCA comes out as printed: it finds both vectors, but mostly the second one first. The "
        "other low "
        "printed rows (DSPCA, GPower) do not come out; how those programs were tuned is not printed. All "
        "methods get the true cardinality 6 here (12 in total for the block methods).",
        "PCA: print has 0 everywhere, but a dense vector can well have a product of 0.99 with the "
        "true one: the "
        "angle between them has a standard deviation of about 24.5 / sqrt(n), so that a third of the sets of "
        "5000 succeed.",
    ]
    return sheet


def table_6(call: Call) -> Sheet:
    sheet = Sheet("000-6", "successes of 1000 on nonnegative synthetic data", "method", _columns(call))
    rows: dict[str, Any] = {"PCA": ("pca", {})}
    rows |= {label: (method, {**options, "card": (5, 5)}) for label, (method, options) in NONNEG.items()}
    rows["BCD-NSPCA l0, 20 starts"] = ("bcd-l0", {"card": (5, 5), "nonneg": True, "n_init": 20})
    rows["BCD-NSPCA l1, 20 starts"] = ("bcd-l1", {"card": (5, 5), "nonneg": True, "n_init": 20})
    _success_table(call, sheet, rows, TABLE_6, nonneg=True)
    sheet.notes.append(
        "PCA: print has 0 everywhere, but the angle between a dense and the true vector has a "
        "standard deviation "
        "of about 10 / sqrt(n) here, so that 0.99 is passed in about two thirds of the sets of 5000."
    )
    return sheet


def table_3(call: Call) -> Sheet:
    sheet = Sheet("000-3", "pitprops, six components", "cardinalities, method", {"RRE": 4, "PEV": 2})
    S = sp.datasets.load_pitprops()
    for j, pattern in enumerate(PATTERNS):
        for label, (method, options) in METHODS.items():
            found = fit(S, 6, method, covariance=True, **_sparsity(label, pattern), **options)
            ours = found if isinstance(found, str) else [found.measure("rre"), 100 * found.measure("pev")]
            name = f"{'-'.join(map(str, pattern))} {label}"
            sheet.add(name, TABLE_3[label][2 * j : 2 * j + 2], ours)
    sheet.notes += [
        "Two printed cells contradict PEV = 1 - RRE^2: BCD-SPCA l1 at 8-5-6-2-3-2 (RRE 0.4005 means "
        "PEV 83.96) "
        "and PathSPCA at 7-4-4-1-1-1 (PEV 80.11 means RRE 0.4460).",
        "At 7-2-3-1-1-1 the exact optimum of every component in turn gives 76.98 %; what sequential "
        "methods have "
        "above that comes from a less greedy path.",
        "Block methods (GPower l0,m and l1,m, ALSPCA) get the total number of nonzeros and share it out "
        "themselves; print does not say how its weights were chosen.",
        "PathSPCA is run with projection deflation, which reproduces print.",
        *DEVIATIONS_3,
    ]
    return sheet


def _colon(call: Call) -> np.ndarray | str:
    path = call.file("micro_alon.npz")
    return path if isinstance(path, str) else np.load(path)["X"].astype(float)


def table_4(call: Call) -> Sheet:
    sheet = Sheet("000-4", "colon, 20 components of 50 nonzeros", "method", {"RRE": 4, "PEV": 2})
    X = _colon(call)
    quick = {"BCD-SPCA l0", "sPCA-rSVD l0"}
    for label, printed in TABLE_4.items():
        method, options = METHODS[label]
        if isinstance(X, str):
            sheet.notes.append(X)
            break
        if not call.full and label not in quick:
            continue
        found = fit(X, 20, method, **_sparsity(label, (50,) * 20), **options)
        ours = found if isinstance(found, str) else [found.measure("rre"), 100 * found.measure("pev")]
        sheet.add(label, printed, ours)
    sheet.notes += [
        "Raw intensities, centred and not scaled; DSPCA is not printed (p = 2000 is too large).",
        *([] if call.full else [f"Quick mode has {' and '.join(sorted(quick))} only."]),
    ]
    return sheet


def table_7(call: Call) -> Sheet:
    sheet = Sheet("000-7", "colon, 20 nonnegative components", "method", {"RRE": 4, "PEV": 2, "nonzeros": 0})
    X = _colon(call)
    if isinstance(X, str):
        sheet.notes.append(X)
        return sheet
    if not call.full:
        sheet.notes.append("--full only.")
        return sheet
    first = fit(X, 20, "nspca", **NSPCA)
    card: Any = 50 if isinstance(first, str) else [int(c) for c in first.card]
    for label, (method, options) in NONNEG.items():
        found = first if method == "nspca" else fit(X, 20, method, card=card, **options)
        if isinstance(found, str):
            sheet.add(label, [*TABLE_7[label], None], found)
            continue
        total = float(found.card.sum())
        sheet.add(label, [*TABLE_7[label], None], [found.measure("rre"), 100 * found.measure("pev"), total])
    sheet.notes.append(
        "Print takes its cardinalities from its own NSPCA fit (alpha = 1e6, beta = 1e7, in units "
        "that are not "
        "printed) and does not list them; ours come from NSPCA without a penalty"
        + (" (it was refused, so 50 each)." if isinstance(first, str) else ".")
    )
    return sheet
