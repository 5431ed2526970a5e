"""He, Monteiro and Park (2010), greedy supports and sparsity control (S_c-SPCA, SC_c-PCA)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

import spcastat as sp
from benchmarks.papers.fits import Call, fit, loadings, matched, rate
from benchmarks.papers.sheet import Sheet

#: |z1'z2|, |u1'z1|, |u2'z2| and successes of 200.
TABLE_1 = {
    "S1-SPCA": (0.0350, 0.8067, 0.8029, 155),
    "S5-SPCA": (0.0383, 0.8659, 0.8626, 164),
    "GPower0": (0.0324, 0.8142, 0.8122, 147),
    "GPower0,2": (0.0375, 0.8119, 0.7931, 149),
}
TABLE_2 = {
    "S1-SPCA": (0.0172, 0.9882, 0.9892, 198),
    "S5-SPCA": (0.0180, 0.9883, 0.9893, 198),
    "GPower0": (0.0191, 0.9812, 0.9830, 194),
    "GPower0,2": (0.0157, 0.9774, 0.8748, 171),
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


def _synthetic(call: Call, name: str, n: int, printed: dict[str, Any]) -> Sheet:
    quantities = {"|z1'z2|": 4, "|u1'z1|": 4, "|u2'z2|": 4, "of 200": 0, "of 200, any order": 0}
    sheet = Sheet(name, f"synthetic data, {n} x 500", "method", quantities)
    times = call.times(20, 200)
    counts = []
    for label, (method, options) in METHODS.items():

        def trial(seed: int, method: str = method, options: dict[str, Any] = options) -> Any:
            X = sp.datasets.make_highdim(n, 500, seed)
            found = fit(X, 2, method, **options)
            if isinstance(found, str):
                return found
            V, U = loadings(found), np.asarray(X.attrs["loadings"])
            cosines = np.abs(np.diag(U.T @ V))
            return [abs(float(V[:, 0] @ V[:, 1])), *cosines, *(200.0 * hit for hit in matched(V, U, 0.95))]

        found = rate(trial, times, 4 * call.seconds)
        sheet.add(label, [*printed[label], None], found if isinstance(found, str) else list(found[0]))
        if not isinstance(found, str):
            counts.append(found[1])
    sheet.notes += [
        f"{times} sets"
        + (f" (at least {min(counts)})" if counts and min(counts) < times else "")
        + ", scaled to 200.",
        "GPower0,2 gets a total of 100 nonzeros; print searched penalties for 45 to 55 each.",
    ]
    return sheet


def table_1(call: Call) -> Sheet:
    return _synthetic(call, "003-1", 50, TABLE_1)


def table_2(call: Call) -> Sheet:
    return _synthetic(call, "003-2", 200, TABLE_2)


def table_4(call: Call) -> Sheet:
    quantities = {f"card {j}": 0 for j in range(1, 7)} | {"nonzeros": 0, "relative adjusted variance": 4}
    sheet = Sheet("003-4", "pitprops, sparsity-controlled at 0.9", "fit", quantities)
    S = sp.datasets.load_pitprops()
    V = pd.DataFrame.from_dict(PRINTED_4, orient="index", dtype=float)
    printed = [*CARD_4, 25, 0.9069]
    value = sp.measures.relative_adjusted(V, S=S)
    sheet.add("the printed loadings", printed, [*CARD_4, 25, float(value)])
    for label, options in {"SC1": {}, "SC1, exact indices": {"exact": True}}.items():
        found = fit(S, 6, "controlled", covariance=True, variance=0.9, **options)
        row = [*found.card, float(found.card.sum()), found.measure("relative_adjusted")]
        sheet.add(label, printed if not options else [None] * 8, row)
    return sheet


def table_5(call: Call) -> Sheet:
    quantities = {"card 1": 0, "card 2": 0, "nonzeros": 0, "|z1'z2|": 4, "relative adjusted variance": 4}
    sheet = Sheet("003-5", "leukemia, sparsity-controlled at 0.7", "fit", quantities)
    path = call.file("micro_golub.npz")
    if isinstance(path, str):
        sheet.notes.append(path)
        return sheet
    X = np.load(path)["X"].astype(float)
    rows = {
        "SC10": (10, (1930, 1650, 3580, 0.0290, 0.7003)),
        "SC143": (143, (2145, 1430, 3575, 0.0043, 0.7076)),
    }
    for scale in (False, True):
        for label, (c, printed) in rows.items():
            if c == 10 and not call.full:
                continue
            found = fit(X, 2, "controlled", variance=0.7, c=c, scale=scale)
            if isinstance(found, str):
                sheet.add(label, printed, found)
                continue
            V = loadings(found)
            product = abs(float(V[:, 0] @ V[:, 1]))
            card = [float(one) for one in found.card]
            ours = [*card, sum(card), product, found.measure("relative_adjusted")]
            sheet.add(f"{label}, {'standardised' if scale else 'raw'}", printed, ours)
    sheet.notes += [
        "The preprocessing is not printed: 3580 nonzeros are far from those of raw intensities and "
        "near those of "
        "standardised genes, but neither gives them.",
        *([] if call.full else ["SC10 with --full only."]),
    ]
    return sheet


def table_6(call: Call) -> Sheet:
    quantities = {f"card {j}": 0 for j in range(1, 7)} | {"nonzeros": 0, "relative adjusted variance": 4}
    sheet = Sheet("003-6", "NIPS papers, sparsity-controlled at 0.9, ten words at a time", "fit", quantities)
    path = call.file("text_nips_uci_subset.npz")
    if isinstance(path, str):
        sheet.notes.append(path)
        return sheet
    X = scipy.sparse.csc_array(scipy.sparse.load_npz(path)).astype(float)
    found = fit(X, 6, "controlled", variance=0.9, c=10)
    card = [float(one) for one in found.card]
    sheet.add(
        "SC10",
        [20, 140, 70, 110, 170, 50, 560, 0.9006],
        [*card, sum(card), found.measure("relative_adjusted")],
    )
    vocabulary = call.file("text_nips_uci_subset.vocab.txt")
    if not isinstance(vocabulary, str):
        words = np.array(vocabulary.read_text(encoding="utf-8").split())
        for j, v in enumerate(loadings(found).T[:3]):
            top = words[np.argsort(-np.abs(v))[:10]]
            sheet.notes.append(f"Largest words of component {j + 1}: {', '.join(top)}.")
    sheet.notes.append(
        f"Print has {12419} words, the matrix here {X.shape[1]}; the words printed (compactly, ology, "
        "wafer) do "
        "not belong to the columns: its vocabulary was shifted against its matrix."
    )
    return sheet


def figure_1(call: Call) -> Sheet:
    cards = (10, 20, 30, 40, 50, 60, 70, 80, 100, 150)
    sheet = Sheet(
        "003-fig1", "variance of the first component against its cardinality", "n", {f"{c}": 3 for c in cards}
    )
    for n in (25, 50, 100):
        X = sp.datasets.make_highdim(n, 500, 0)
        pca = fit(X, 1, "pca").variance["score variance"].iloc[0]
        found = [fit(X, 1, "greedy", card=c, c=5).variance["score variance"].iloc[0] / pca for c in cards]
        sheet.add(str(n), [None] * len(cards), [float(value) for value in found])
    sheet.notes.append("The figure has no numbers; what it shows is the bend at the true cardinality, 50.")
    return sheet


def mnist(call: Call) -> Sheet:
    quantities = {f"card {j}": 0 for j in range(1, 7)} | {"nonzeros": 0, "relative adjusted variance": 4}
    sheet = Sheet("003-mnist", "5000 digits (Table 3), sparsity-controlled at 0.7", "fit", quantities)
    path = call.file("mnist_t10k.npz")
    if isinstance(path, str):
        sheet.notes.append(path)
        return sheet
    X = np.load(path)["X"][:5000].astype(float)
    rows = {
        "SC1": (1, (76, 73, 57, 62, 41, 43, 352, 0.7004)),
        "SC5": (5, (80, 75, 60, 55, 45, 40, 355, 0.7036)),
    }
    for label, (c, printed) in rows.items():
        if c == 1 and not call.full:
            continue
        found = fit(X, 6, "controlled", variance=0.7, c=c)
        card = [float(one) for one in found.card]
        sheet.add(label, printed, [*card, sum(card), found.measure("relative_adjusted")])
    sheet.notes.append(
        "The first 5000 of the 10000 test images; which 5000 print used is not said, and the greedy "
        "sizes of single "
        "components change with them."
    )
    return sheet
