"""He, Monteiro and Park (2010), greedy supports and sparsity control: tables and Figure 1."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.draws import Cell, Draw
from benchmarks.papers.control import (
    PREPARATIONS,
    STANDARDISED,
    continued,
    controlled,
    one_gamma,
    permuted,
    searched,
    stepwise,
)
from benchmarks.papers.fits import Call, counted, fit, fit_or_none, loadings, matched
from benchmarks.papers.sheet import Cause, Sheet
from benchmarks.papers.verdicts import (
    BETTER,
    CONTRADICTION,
    UNDECIDABLE,
    Claim,
    Estimate,
    Value,
    value_of,
)

#: |z1'z2|, |u1'z1|, |u2'z2|, successes of 200, trials, and hundredths of a second of one run.
TABLE_1 = {
    "S1-SPCA": (0.0350, 0.8067, 0.8029, 155, 1.0, 4.8),
    "S5-SPCA": (0.0383, 0.8659, 0.8626, 164, 1.0, 3.6),
    "GPower0": (0.0324, 0.8142, 0.8122, 147, 3.9, 2.3),
    "GPower0,2": (0.0375, 0.8119, 0.7931, 149, 7.1, 1.9),
}
TABLE_2 = {
    "S1-SPCA": (0.0172, 0.9882, 0.9892, 198, 1.0, 10.4),
    "S5-SPCA": (0.0180, 0.9883, 0.9893, 198, 1.0, 7.6),
    "GPower0": (0.0191, 0.9812, 0.9830, 194, 1.9, 6.7),
    "GPower0,2": (0.0157, 0.9774, 0.8748, 171, 9.7, 4.4),
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "S1-SPCA": ("greedy", {"card": 50}),
    "S5-SPCA": ("greedy", {"card": 50, "c": 5}),
    "GPower0": ("gpower-l0", {"card": 50, "deflation": "schur"}),
    "GPower0,2": ("gpower-l0-block", {"total": 100}),
}
#: The nonzero loadings printed in Table 4.
PRINTED_4 = {
    "topdiam": (0.4229, 0, 0, 0, 0, 0),
    "length": (0.4295, 0, -0.2610, 0, 0, 0),
    "moist": (0, 0.6676, 0, 0, 0, 0),
    "testsg": (0, 0.6435, 0, 0, 0, 0),
    "ovensg": (0, 0, 0.5377, 0, 0, 0.7157),
    "ringtop": (0.2695, 0, 0.4897, 0, 0.2898, 0),
    "ringbut": (0.4043, 0, 0.3682, 0, 0, 0),
    "bowmax": (0.3131, 0, 0, 0, -0.3549, 0),
    "bowdist": (0.3782, 0, 0, 0, 0, 0),
    "whorls": (0.3994, 0, 0, 0, -0.3332, 0),
    "clear": (0, 0.2030, 0, 0.8723, 0.4030, 0),
    "knots": (0, 0.3147, 0, -0.4890, 0.7188, 0),
    "diaknot": (0, 0, -0.5172, 0, 0, 0.6984),
}
CARD_4 = (7, 4, 5, 2, 5, 2)
WEIGHTS = [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6]


def synthetic(draw: Draw, n: int, method: str, options: dict[str, Any]) -> list[float]:
    """Return |z1'z2|, |u1'z1|, |u2'z2|, whether both are above 0.95, in order and in any, trials, CPU s."""
    X = sp.datasets.make_highdim(n, 500, rng=draw.seed)
    begun = time.process_time()
    found = fit(X, 2, method, **options)
    seconds = time.process_time() - begun
    return [*_against(found, X), 1.0, seconds]


def _against(found: Any, X: pd.DataFrame) -> list[float]:
    V, U = loadings(found), np.asarray(X.attrs["loadings"])
    cosines = np.abs(np.diag(U.T @ V))
    return [abs(float(V[:, 0] @ V[:, 1])), *cosines, *(float(hit) for hit in matched(V, U, 0.95))]


def line_searched(draw: Draw, n: int, mu: list[float] | None, block: bool = True) -> list[float]:
    """Return the numbers of `synthetic` for GPower; bisection finds a penalty that gives 45 to 55 nonzeros.

    With `mu`, bisection varies one gamma in units of a variance; otherwise, one share of each component's
    bound; without `block`, the penalty of one component after another. Trials and seconds are per component.
    """
    X = sp.datasets.make_highdim(n, 500, rng=draw.seed)
    trials, begun = 0, time.process_time()
    kept: list[float] = []
    found: Any = None
    for j in (2,) if block else (1, 2):
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2.0
            if block:
                shares = [min(middle / weight**2, 0.999) for weight in mu or (1.0, 1.0)]
                one = fit_or_none(X, 2, "gpower-l0-block", penalty=shares, mu=mu or [1.0, 1.0], order="given")
            else:
                one = fit_or_none(X, j, "gpower-l0", penalty=[*kept, middle], deflation="schur")
            trials += 1
            if one is None:
                high = middle
                continue
            found, card = one, one.card if block else one.card.iloc[-1:]
            if card.between(45, 55).all():
                break
            low, high = (middle, high) if card.mean() > 50 else (low, middle)
        kept.append(middle)
    seconds = (time.process_time() - begun) / trials
    return [*_against(found, X), trials / len(kept), seconds]


def _synthetic(call: Call, name: str, n: int, printed: dict[str, Any]) -> Sheet:
    quantities = {"|z1'z2|": 4, "|u1'z1|": 4, "|u2'z2|": 4, "of 200": 0, "of 200, any order": 0}
    sheet = Sheet(name, f"synthetic data, {n} x 500", "method", {**quantities, "trials": 1, "s / 100": 1})
    sheet.not_judged = ("trials", "s / 100")
    cells = [
        Cell(label, synthetic, {"n": n, "method": method, "options": options}, call.times(10, 200))
        for label, (method, options) in METHODS.items()
    ]
    searches: dict[str, dict[str, Any]] = {
        "GPower0, 45 to 55": {"mu": None, "block": False},
        "GPower0,2, one gamma, 45 to 55": {"mu": [1.0, 0.5]},
        "GPower0,2, shares, 45 to 55": {"mu": None},
    }
    cells += [
        Cell(label, line_searched, {"n": n, **given}, call.times(10, 200))
        for label, given in searches.items()
    ]
    for label, found in call.measured(name, cells).items():
        # The printed means have about the same errors as ours with the same number of draws.
        errors = np.zeros(7) if isinstance(found, str) else found.error * np.sqrt(found.draws / 200.0)
        shown = printed.get(label.split(", ")[0])
        (count,) = counted([None if shown is None else shown[3]], 200)
        means: list[Value] = [None] * 3
        if shown is not None:
            means = [Estimate(v, float(e)) for v, e in zip(shown[:3], errors, strict=False)]
        ours: Any = found
        if not isinstance(found, str):
            shares = found[3:5].shares(200.0)
            rest = found.mean[5:] * [1.0, 100.0], found.error[5:] * [1.0, 100.0]
            values = [*found.mean[:3], *shares.mean, *rest[0]], [*found.error[:3], *shares.error, *rest[1]]
            ours = [Estimate(float(m), float(e)) for m, e in zip(*values, strict=True)]
        sheet.add(label, [*means, count, None, *(shown[4:] if shown else (None, None))], ours)
        sheet.rows[-1] = (*sheet.rows[-1][:3], 1 if isinstance(found, str) else found.draws)
    sheet.causes = CAUSES_1
    sheet.notes.append(
        "GPower has 50 nonzeros per component, or 100 in all; the paper searched for penalties that give 45 "
        "to 55 each, as do the rows '45 to 55', which are judged as interpretations of its rows. Trials are "
        "the fits of a search, per component; seconds are for one fit."
    )
    return sheet


CAUSES_1 = [
    Cause(
        "one gamma for both components, which penalises the second more because of the weights 1 and 1/2, "
        "lowers |u2'z2| below |u1'z1|, as in the paper (see its row), but gives fewer successes than the "
        "paper. The paper does not describe how, and from which value, it halves its penalty.",
        ("GPower0,2",),
        UNDECIDABLE,
    ),
    Cause("the paper's first penalty and how it is changed are not described.", ("GPower0",), UNDECIDABLE),
]


def table_1(call: Call) -> Sheet:
    return _synthetic(call, "he2010-1", 50, TABLE_1)


def table_2(call: Call) -> Sheet:
    return _synthetic(call, "he2010-2", 200, TABLE_2)


def figure_1(call: Call) -> Sheet:
    cards = (10, 20, 30, 40, 50, 60, 70, 80, 100, 150)
    title = "variance of the first component against its cardinality"
    sheet = Sheet("he2010-fig1", title, "n", {f"{c}": 3 for c in cards})
    cells = [Cell(str(n), bend, {"n": n, "cards": list(cards)}) for n in (25, 50, 100)]
    sheet.add_trials(call.measured("he2010-fig1", cells))
    bends = []
    for _, _, ours, _ in sheet.rows:
        before, at, after = (value_of(ours[cards.index(c)]) for c in (40, 50, 60))
        bends.append((after - at) / (at - before))
    said = f"the rise from 50 to 60 is {', '.join(f'{one:.2f}' for one in bends)} of that from 40 to 50"
    sheet.claims = [Claim("the rate changes drastically at the true cardinality, 50", said, max(bends) < 0.5)]
    sheet.notes.append("The figure has no numbers.")
    return sheet


def bend(draw: Draw, n: int, cards: list[int]) -> list[float]:
    """Return the relative variance of the first component by cardinality."""
    X = sp.datasets.make_highdim(n, 500, rng=draw.seed)
    pca = fit(X, 1, "pca").variance["score variance"].iloc[0]
    return [fit(X, 1, "greedy", card=c, c=5).variance["score variance"].iloc[0] / pca for c in cards]


def _table(
    call: Call, name: str, title: str, k: int, rows: dict[str, tuple[Cell, Any]], *, one_draw: bool = False
) -> Sheet:
    """Return a table of sparsity-controlled fits; printed rows lack |z1'z2| if the paper has none."""
    head = {f"card {j + 1}": 0 for j in range(k)} | {"nonzeros": 0, "|z1'z2|": 4, "relative variance": 4}
    sheet = Sheet(name, title, "fit", {**head, "trials": 0, "CPU s": 2}, one_draw=one_draw)
    sheet.not_judged = "trials", "CPU s"
    found = call.measured(name, [cell for cell, _ in rows.values()])
    for label, (cell, printed) in rows.items():
        sheet.add(label, printed or [None] * len(sheet.quantities), found[cell.name])
    return sheet


def _controlled(label: str, data: str, k: int, variance: float, **options: Any) -> Cell:
    given = {"data": data, "k": k, "variance": variance, "options": options}
    return Cell(label, controlled, given)


def _stepwise(label: str, data: str, k: int, variance: float, method: str, **options: Any) -> Cell:
    given = {"data": data, "k": k, "variance": variance, "method": method, "options": options}
    return Cell(label, stepwise, given)


def _gamma(label: str, data: str, k: int, variance: float, mu: list[float], start: str = "pca") -> Cell:
    return Cell(label, one_gamma, {"data": data, "k": k, "variance": variance, "mu": mu, "start": start})


def _searched(label: str, data: str, k: int, variance: float, method: str, **options: Any) -> Cell:
    given = {"data": data, "k": k, "variance": variance, "method": method, "options": options}
    return Cell(label, searched, given)


def table_4(call: Call) -> Sheet:
    V = pd.DataFrame.from_dict(PRINTED_4, orient="index", dtype=float)
    value = float(sp.measures.relative_adjusted(V, S=sp.datasets.load_pitprops()))
    rows = {
        "SC1": (_controlled("SC1", "pitprops", 6, 0.9), [*CARD_4, 25, None, 0.9069, None, None]),
        "SC1, exact indices": (_controlled("SC1, exact indices", "pitprops", 6, 0.9, exact=True), None),
        "GPower0,6": (
            _searched("GPower0,6", "pitprops", 6, 0.9, "gpower-l0-block", mu=WEIGHTS, order="given"),
            [12, 11, 11, 2, 1, 1, 38, None, 0.9012, None, None],
        ),
    }
    for start in ("pca", "column"):
        cell = _gamma(f"GPower0,6, one gamma, {start} start", "pitprops", 6, 0.9, WEIGHTS, start)
        rows[cell.name] = (cell, None)
    sheet = _table(call, "he2010-4", "pitprops, sparsity-controlled at 0.9", 6, rows)
    sheet.rows.insert(
        0,
        (
            "the printed loadings",
            [None] * 11,
            [*CARD_4, 25, None, value, None, None],
            1,
        ),
    )
    sheet.causes = CAUSES_4
    sheet.notes += _supports_4(call)
    return sheet


def _supports_4(call: Call) -> list[str]:
    """Return sentences on printed supports in other orders of variables, and on the fifth component."""
    supports = [[name for name, row in PRINTED_4.items() if row[j]] for j in range(6)]
    times = call.times(20, 200)
    orders = Cell("orders of the variables", permuted, {"supports": supports, "variance": 0.9}, times)
    given = {"printed": {name: list(row[:5]) for name, row in PRINTED_4.items()}, "card": 5}
    fifth = Cell("the fifth support", continued, given)
    found = call.measured("he2010-4", [orders, fifth])
    most = [one[0] for one in call.draws.raw("he2010-4", orders) if not isinstance(one, str)]
    after = found["the fifth support"]
    return [
        f"Of the six printed supports {max(most):.0f} are found in {most.count(max(most))} of {times} random "
        f"orders of the variables, six in {most.count(6.0)}. After the four printed components the "
        f"path selects {'' if isinstance(after, str) else f'{after.mean[0]:.0f}'} of the five indices of "
        "the printed fifth."
    ]


CAUSES_4 = [
    Cause(
        "cardinalities and five of six supports agree with the paper; the fifth has diaknot instead of "
        "whorls. No order of the variables gives the paper's support, but deflation by its fourth component "
        "does: the printed (0.8723, -0.4890) differs slightly from the leading eigenvector (0.9002, "
        "-0.4355), and the fifth support depends on it.",
        ("SC1",),
        CONTRADICTION,
    ),
    Cause(
        "with the same share of variance ours have ten nonzeros fewer, and explain more.",
        ("GPower0,6",),
        BETTER,
    ),
]


def table_3(call: Call) -> Sheet:
    printed: dict[str, list[Value]] = {
        "SC1": [76, 73, 57, 62, 41, 43, 352, None, 0.7004, 1, 25.38],
        "SC5": [80, 75, 60, 55, 45, 40, 355, None, 0.7036, 1, 11.82],
        "GPower0": [88, 76, 60, 39, 71, 61, 395, None, 0.7308, 24, 25.69],
        "GPower0,6": [535, 0, 0, 340, 0, 317, 1192, None, 0.6755, None, None],
    }
    times, power = call.times(3, 20), {"deflation": "schur"}
    data = "all digits, unit length"
    rows: dict[str, tuple[Cell, Any]] = {}

    def add(cell: Cell, printed_row: list[Value] | None, draws: int = times) -> None:
        rows[cell.name] = replace(cell, draws=draws), printed_row

    add(_controlled("SC5", data, 6, 0.7, c=5), printed["SC5"])
    add(_controlled("SC1", data, 6, 0.7), printed["SC1"])
    if call.full:
        add(_stepwise("GPower0", data, 6, 0.7, "gpower-l0", **power), printed["GPower0"])
        add(_gamma("GPower0,6", data, 6, 0.7, WEIGHTS), printed["GPower0,6"])
    for images in ("all digits", "digit 2"):
        for preparation in PREPARATIONS:
            if f"{images}, {preparation}" != data:
                name = f"SC5, {images}, {preparation}"
                add(_controlled(name, f"{images}, {preparation}", 6, 0.7, c=5), None, call.times(1, 5))
    sheet = _table(call, "he2010-3", "digits, sparsity-controlled at 0.7", 6, rows, one_draw=True)
    sheet.causes = CAUSES_3
    sheet.notes.append(
        "The paper states 5000 images and no preparation. Ours are 5000 of the 60000 training images drawn"
        " at random, of all ten digits, each scaled to unit length; means over the draws. Raw images need "
        "half as many nonzeros again in the first component (see their rows)."
    )
    return sheet


CAUSES_3 = [
    Cause(
        "the paper presents the best of a failed search; ours is the fit with the largest penalty that keeps "
        "the share. With a common penalty the later components, which have smaller weights, become empty "
        "first, as in the paper.",
        ("GPower0,6",),
        UNDECIDABLE,
    ),
    Cause("the paper's search for penalties is not described.", ("GPower0",), UNDECIDABLE),
]


def table_5(call: Call) -> Sheet:
    printed: dict[str, list[Value]] = {
        "SC10": [1930, 1650, 3580, 0.0290, 0.7003, 1, 54.4],
        "SC143": [2145, 1430, 3575, 0.0043, 0.7076, 1, 9.8],
    }
    rows: dict[str, tuple[Cell, Any]] = {}
    for name in STANDARDISED:
        for label, c in (("SC10", 10), ("SC143", 143)):
            if c == 143 or name == "genes, then samples" or call.full:
                cell = _controlled(f"{label}, {name}", f"leukemia, {name}", 2, 0.7, c=c)
                rows[cell.name] = (cell, printed[label] if "then" in name else None)
    data = "leukemia, genes, then samples"
    if call.full:
        shown: list[Value] = [1962, 1659, 3621, 0.0383, 0.7059, 31, 7.1]
        power = {"deflation": "schur"}
        cells = [
            (_stepwise("GPower0", data, 2, 0.7, "gpower-l0", **power), shown),
            (_stepwise("GPower0, dense start", data, 2, 0.7, "gpower-l0", start="pca", **power), None),
            (_stepwise("GPower0, at 0.7059", data, 2, 0.7059, "gpower-l0", **power), None),
            (_searched("GPower0, one share for both", data, 2, 0.7, "gpower-l0", **power), None),
            (_gamma("GPower0,2", data, 2, 0.7, [1.0, 0.5]), [6677, 0, 6677, None, 0.6840, None, None]),
        ]
        rows |= {cell.name: (cell, one) for cell, one in cells}
    sheet = _table(call, "he2010-5", "leukemia, sparsity-controlled at 0.7", 2, rows)
    sheet.causes = CAUSES_5
    sheet.notes.append(
        "The preprocessing is not printed. With genes standardised, then samples, nonzeros are close to the "
        "paper; with raw intensities or standardised genes they are not."
    )
    return sheet


CAUSES_5 = [
    Cause(
        "the preprocessing is not printed. The paper's nonzeros lie between those with genes standardised, "
        "then samples, and those in the other order; with raw intensities or standardised genes the "
        "difference is 500 nonzeros or more.",
        ("SC10", "SC143"),
        UNDECIDABLE,
    ),
    Cause(
        "the paper shows the best of a failed search, with one component full and one empty; any common "
        "penalty that leaves a second component gives our result.",
        ("GPower0,2",),
        UNDECIDABLE,
    ),
    Cause(
        "the preprocessing is not printed, and the paper's search ends above the target share, while our "
        "bisection ends at the target. With 0.7059 as the target, as reached in the paper, ours has 3504 "
        "nonzeros, a difference within 4 %, as in the rows of SC.",
        ("GPower0",),
        UNDECIDABLE,
    ),
]


def table_6(call: Call) -> Sheet:
    rows = {
        "SC10": (
            _controlled("SC10", "papers", 6, 0.9, c=10),
            [20, 140, 70, 110, 170, 50, 560, None, 0.9006, 1, 11.8],
        )
    }
    if call.full:
        more = [
            _controlled("SC10, 6000 words", "papers, 6000 words", 6, 0.9, c=10),
            _controlled("SC10, not centred", "papers, not centred", 6, 0.9, c=10),
            _controlled("SC10, exact indices", "papers", 6, 0.9, c=10, exact=True),
            _controlled("SC1", "papers", 6, 0.9),
        ]
        rows |= {cell.name: (cell, None) for cell in more}  # type: ignore[misc]
        cell = _gamma("GPower0,6", "papers", 6, 0.9, WEIGHTS)
        rows["GPower0,6"] = (cell, [3679, 50, 120, 43, 89, 42, 4023, None, 0.9175, None, 220.0])
        cell = _searched(
            "GPower0,6, shares of its bounds", "papers", 6, 0.9, "gpower-l0-block", mu=WEIGHTS, order="given"
        )
        rows[cell.name] = (cell, None)  # type: ignore[assignment]
    sheet = _table(call, "he2010-6", "NIPS papers, sparsity-controlled at 0.9, ten words at a time", 6, rows)
    sheet.causes = CAUSES_6
    sheet.notes.append(
        "The printed words (compactly, ology, wafer) do not match the columns: the vocabulary was shifted "
        "relative to the matrix. Our words are network, unit, input, model, neural (first component), "
        "learning, algorithm, neuron, function, cell (second), model, data, network, training, set (third)."
    )
    return sheet


CAUSES_6 = [
    Cause(
        "the full vocabulary is not published: the matrix here has the 7605 of 12419 words that are used 21 "
        "times or more. The way in which indices are chosen changes hundreds of nonzeros (see one at a time, "
        "and exact ones); 1605 fewer words change ten.",
        ("SC10",),
        UNDECIDABLE,
    ),
    Cause(
        "the full vocabulary is not published. Its best fit has one component nearly full, as with one gamma "
        "for all and weights 1/j, which also gives the largest first component here, but a smaller one.",
        ("GPower0,6",),
        UNDECIDABLE,
    ),
]
