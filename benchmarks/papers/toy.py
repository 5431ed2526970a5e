"""Zhao, Meng, Xu and Gao (2015), sections 3.1 and 3.3.1: data with known loadings."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.draws import Cell, Draw
from benchmarks.papers.compared import FROM_COLUMN, METHODS, NONNEG, sparsity
from benchmarks.papers.fits import (
    Call,
    both_supports,
    counted,
    first_reason,
    fit,
    loadings,
    matched,
    wrong_variables,
)
from benchmarks.papers.sheet import Cause, Sheet, estimates
from benchmarks.papers.verdicts import CONTRADICTION, SETTING, UNDECIDABLE, Value

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


@cache
def _toy(n: int, seed: int, nonneg: bool) -> tuple[pd.DataFrame, np.ndarray]:
    X = sp.datasets.make_toy(n, rng=seed, nonneg=nonneg)
    return X.cov(), np.asarray(X.attrs["loadings"])


def recovered(
    draw: Draw, n: int, nonneg: bool, method: str, options: dict[str, Any], start: str | None = None
) -> list[float]:
    """Return whether both loadings are found: in order, and in any order.

    A `start` is "random", or "authors": the longest column first and a random direction second, as in the
    programs of GPower for several components.
    """
    S, truth = _toy(n, draw.seed, nonneg)
    if start is not None:
        A, Z = S.to_numpy(), np.random.default_rng(draw.seed).standard_normal((10, 2))
        if start == "authors":
            Z[:, 0] = np.eye(10)[np.argmax(np.diag(A))]
            Z = A @ Z
        options = {**options, "start": Z / np.linalg.norm(Z, axis=0)}
    found = fit(S, 2, method, covariance=True, **options)
    return [float(hit) for hit in matched(loadings(found), truth, 0.99)]


def hastie_found(draw: Draw, method: str, n_init: int, printed_sign: bool = False) -> list[float]:
    """Return whether both supports are found in 1000 rows, and the share of wrong entries.

    The original data have V3 = -0.3 V1 + ...; `printed_sign` is V3 = 0.3 V1 + ..., as the paper prints it.
    """
    data = sp.datasets.make_hastie(1000, rng=draw.seed)
    truth = sp.datasets.true_loadings(data).to_numpy()
    X = _with_printed_sign(data, draw.seed) if printed_sign else data
    found = fit(X, 2, method, card=4, n_init=n_init)
    return [both_supports(loadings(found), truth), wrong_variables(loadings(found), truth)]


def _with_printed_sign(data: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the data with V3 = 0.3 V1 + 0.925 V2 + e and fresh noise in X9 and X10.

    V1 and V2 are the first normal variates of the seed, as in `make_hastie`, so that X1 to X8 are the same.
    """
    rng = np.random.default_rng(seed)
    V1, V2, e = (np.sqrt(variance) * rng.standard_normal(len(data)) for variance in (290.0, 300.0, 1.0))
    noise = np.random.default_rng([seed, 1]).standard_normal((2, len(data)))
    V3 = 0.3 * V1 + 0.925 * V2 + e
    return data.assign(X9=V3 + noise[0], X10=V3 + noise[1])


def hastie(call: Call) -> Sheet:
    quantities = {"of 100": 0, "wrong entries, %": 2}
    sheet = Sheet(
        "zhao2015-hastie", "Hastie's data (section 3.1.1), 1000 rows: both supports", "method", quantities
    )
    cells = [
        Cell(f"{label}{start}", hastie_found, {"method": METHODS[label][0], "n_init": n}, call.times(25, 100))
        for label in ("BCD-SPCA l0", "BCD-SPCA l1")
        for n, start in ((1, ", one start"), (2, ""))
    ]
    cells += [
        Cell(
            f"{label}, V3 = +0.3 V1",
            hastie_found,
            {"method": METHODS[label][0], "n_init": 2, "printed_sign": True},
            call.times(25, 100),
        )
        for label in ("BCD-SPCA l0", "BCD-SPCA l1")
    ]
    for name, found in call.measured(sheet.name, cells).items():
        ours = found if isinstance(found, str) else found.times(100.0)
        sheet.add(name, [None if "," in name else 100.0, None], ours)
    sheet.notes += [
        "By default bcd-l1 has two starts, the dense components and their varimax rotation.",
        "The paper prints V3 = 0.3 V1 + 0.925 V2 + e; the data of Zou, Hastie and Tibshirani, which the "
        "other papers use as well, have -0.3, as here except in the rows with +0.3.",
    ]
    return sheet


def _successes(call: Call, sheet: Sheet, rows: dict[str, Any], printed: Any, nonneg: bool) -> None:
    """Add the rows of a table of successes per 1000."""
    sizes = SIZES if call.full else (500, 5000)
    sheet.quantities |= {heading: 0 for n in sizes for heading in (f"n={n}", f"n={n}, any order")}
    cells = [
        Cell(
            f"{label}, n={n}",
            recovered,
            {"n": n, "nonneg": nonneg, "method": method, "options": options, "start": (*start, None)[0]},
            call.times(20, 60 if options.get("n_init", 1) > 1 else 300),
        )
        for label, (method, options, *start) in rows.items()
        for n in sizes
    ]
    found = call.measured(sheet.name, cells)
    for label in rows:
        names = [f"{label}, n={n}" for n in sizes]
        shown = counted([printed.get(label, (None,) * 4)[SIZES.index(n)] for n in sizes], 1000)
        pairs: list[Value] = [value for one in shown for value in (one, None)]
        reason = first_reason(found, names)
        if reason is not None:
            sheet.add(label, pairs, reason)
            continue
        means = [one.shares(1000.0) for name in names if not isinstance(one := found[name], str)]
        ours = [value for one in means for value in estimates(one)]
        sheet.add(label, pairs, ours)
        sheet.rows[-1] = (*sheet.rows[-1][:3], means[0].draws)


def table_2(call: Call) -> Sheet:
    sheet = Sheet("zhao2015-2", "successes per 1000 on synthetic data", "method", {})
    rows: dict[str, Any] = {"PCA": ("pca", {})}
    for label, (method, options) in METHODS.items():
        rows[label] = (method, {**options, **sparsity(label, (6, 6))})
        if label in FROM_COLUMN:
            rows[f"{label}, dense start"] = (method, {**options, "card": [6, 6], "start": "pca"})
    for penalty in (10.0, 11.0, 12.0):
        rows[f"DSPCA, penalty {penalty:g}"] = ("dspca", {"penalty": penalty})
    for label in ("GPower l0,m", "GPower l1,m"):
        given = {"total": 12, "mu": [1.0, 0.5], "order": "given"}
        rows[label] = (METHODS[label][0], given, "authors")
        rows[f"{label}, dense start, sorted"] = (METHODS[label][0], {"total": 12})
    for share in (0.01, 0.02):
        given = {"penalty": share, "mu": [1.0, 1.0], "order": "given"}
        rows[f"GPower l0,m, penalty {share:g}"] = (METHODS["GPower l0,m"][0], given, "authors")
    given = {"penalty": 0.23, "mu": [1.0, 1.0], "order": "given"}
    rows["GPower l1,m, penalty 0.23"] = (METHODS["GPower l1,m"][0], given, "authors")
    for norm, penalties in {"l0": (0.05, 0.06), "l1": (0.23, 0.24)}.items():
        for share in penalties:
            rows[f"GPower {norm}, penalty {share:g}"] = (f"gpower-{norm}", {"penalty": share})
    for norm in ("l0", "l1"):
        given = {"card": [6, 6], "n_init": 20, "order": "variance"}
        rows[f"BCD-SPCA {norm}, 20 starts, sorted"] = (f"bcd-{norm}", given)
    _successes(call, sheet, rows, TABLE_2, nonneg=False)
    sheet.causes = CAUSES_2
    sheet.notes += [
        "In order, no method can exceed 0.67, 0.74, 0.82, 0.92 except by chance: in the other samples the "
        "eigenvalues 250 and 240 change places. The columns 'any order' ignore the order.",
        "All methods have the true cardinality 6 (12 in total for the block methods). EMPCA and GPower start "
        "at the longest column, like their authors' programs.",
    ]
    return sheet


#: Causes for the block methods come first, since their names begin like the names of other methods.
CAUSES_2 = [
    Cause(
        "as for GPower l1: with one penalty for both components, 0.23, and a start at the longest column the "
        "successes agree with the paper at every n (see its row).",
        ("GPower l1,m",),
        SETTING,
    ),
    Cause(
        "as for GPower l1: with one penalty for both components, 0.01, and a start at the longest column the "
        "successes agree with the paper at every n (see its row), within 2.3 standard errors at the smallest "
        "n.",
        ("GPower l0,m",),
        SETTING,
    ),
    Cause(
        "0 everywhere contradicts the stated criterion: the angle between the dense and the true vector has "
        "a standard deviation of about 24.5 / sqrt(n), so a quarter of the sets of 5000 exceed 0.99.",
        ("PCA",),
        CONTRADICTION,
    ),
    Cause(
        "the paper's penalty was too high: from 10.7 the second vector has the larger penalised variance and "
        "is found first. With 10, 11 and 12 (see their rows) successes do not decrease with n as in the "
        "paper.",
        ("DSPCA",),
    ),
    Cause(
        "the paper has a penalty, not cardinalities, and the first component starts at the longest column, "
        "which often belongs to the second vector: with one penalty for both components, 0.06 (l0) and 0.24 "
        "(l1) of the smallest penalty without nonzeros, the successes agree with the paper at every n (see "
        "their rows). With cardinalities and a start at the dense component the same program has three times "
        "as many.",
        ("GPower l0", "GPower l1"),
        SETTING,
    ),
    Cause("with a start at the dense component it agrees (see its row).", ("EMPCA",), SETTING),
    Cause("its penalties are not printed.", ("SPCA",), UNDECIDABLE),
]


def table_6(call: Call) -> Sheet:
    sheet = Sheet("zhao2015-6", "successes per 1000 on nonnegative synthetic data", "method", {})
    rows: dict[str, Any] = {"PCA": ("pca", {})}
    rows |= {label: (method, {**options, "card": [5, 5]}) for label, (method, options) in NONNEG.items()}
    given = {"card": [5, 5], "nonneg": True}
    rows["N-EMPCA"] = ("empca", given, "random")
    rows["N-EMPCA, longest column"] = ("empca", given)
    rows["N-EMPCA, dense start"] = ("empca", {**given, "start": "pca"})
    for norm in ("l0", "l1"):
        many = {"card": [5, 5], "nonneg": True, "n_init": 20, "order": "variance"}
        rows[f"BCD-NSPCA {norm}, 20 starts, sorted"] = (f"bcd-{norm}", many)
    rows["NSPCA, 5 sweeps"] = ("nspca", {"card": [5, 5], "max_iter": 5})
    for norm, sweeps in (("l0", 10), ("l1", 6)):
        few = {"card": [5, 5], "nonneg": True, "max_iter": sweeps}
        rows[f"BCD-NSPCA {norm}, {sweeps} sweeps"] = (f"bcd-{norm}", few)
    _successes(call, sheet, rows, TABLE_6, nonneg=True)
    sheet.causes = CAUSES_6
    sheet.notes += [
        "N-EMPCA starts at random, like EM; with this start its successes agree with the paper for every n.",
        _one_completion(call, sheet.name),
    ]
    return sheet


def recovered_of(draw: Draw, n: int, sets: int) -> list[float]:
    """Return the share of sets in which BCD-NSPCA l0 finds both loadings: in order, and in any order.

    All sets have the same covariance matrix: the eight eigenvectors that are not printed are drawn once.
    """
    X = sp.datasets.make_toy(n * sets, rng=draw.seed, nonneg=True)
    truth = np.asarray(X.attrs["loadings"])
    parts = (X.iloc[i * n : (i + 1) * n].cov() for i in range(sets))
    found = [fit(S, 2, "bcd-l0", covariance=True, card=[5, 5], nonneg=True) for S in parts]
    return [float(share) for share in np.mean([matched(loadings(one), truth, 0.99) for one in found], axis=0)]


def _one_completion(call: Call, table: str) -> str:
    """Return a sentence on the effect of the eigenvectors that are not printed."""
    n, sets, times = 2000, call.times(20, 25), call.times(2, 20)
    cell = Cell("BCD-NSPCA l0, one covariance", recovered_of, {"n": n, "sets": sets}, times)
    found = call.measured(table, [cell])[cell.name]
    if isinstance(found, str) or found.low is None or found.high is None:
        return f"One covariance for all sets: {found}."
    low, high = 1000.0 * found.low, 1000.0 * found.high
    return (
        "Here every set has its own last eight eigenvectors, which the paper does not print. With one "
        f"covariance for all sets of {n} BCD-NSPCA l0 has {low[0]:.0f} to {high[0]:.0f} successes "
        f"({low[1]:.0f} to {high[1]:.0f} in any order) in {times} draws of it with {sets} sets each."
    )


CAUSES_6 = [
    Cause(
        "0 everywhere contradicts the stated criterion: the angle between the dense and the true vector has "
        "a standard deviation of about 10 / sqrt(n) here, so two thirds of the sets of 5000 exceed 0.99.",
        ("PCA",),
        CONTRADICTION,
    ),
    Cause(
        "ours fail almost only if the eigenvalues 210 and 190 change places in the sample (see any order), "
        "which limits every method to 868, 943, 987 and 1000 apart from chance. The paper's 939 at n = 2000 "
        "is below its own 948 at n = 1000. Tried: fits that end after 10 sweeps have fewer successes at "
        "n = 500, but also at n = 1000 (see the row); one covariance for all sets (see the note).",
        ("BCD-NSPCA l0",),
    ),
    Cause(
        "835 at n = 500 is 3.1 standard errors below 868, the limit that the order of the eigenvalues 210 "
        "and 190 sets, which ours reach. Tried: fits that end after 6 sweeps, which have as many (see the "
        "row).",
        ("BCD-NSPCA l1",),
    ),
    Cause(
        "ours fail if the eigenvalues change places, like BCD. Neither a small number of sweeps (see its "
        "row) nor alpha, which is not printed (tested: 0.2 to 100), explains the paper's fewer successes at "
        "n = 500.",
        ("NSPCA",),
    ),
]
