"""Selected variables: stability selection and its bound, and permutation tests of loadings."""

from __future__ import annotations

from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import STABILITY, STRONG, WEAK, Model, generator
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.assess.samples import align
from spcastat.linalg.operators import Gram

#: Nonzeros of a fit to noise alone.
NOISE_CARD = 10


def _fitted(model: Model, name: str, number: int) -> tuple[Any, np.ndarray]:
    """Return the fit to a data set, and which of its loadings are truly nonzero, shape (p, k)."""
    card = list(model.cards) or NOISE_CARD
    fit = sp.spca(model.draw(generator(name, number)), max(model.k, 1), card=card)
    V = fit.loadings.to_numpy()
    true = np.zeros(V.shape, dtype=bool)
    return fit, align(model.loadings, V, Gram(model.covariance)).V != 0 if model.k else true


# --- stability ------------------------------------------------------------------------------------

HALVED = {**STABILITY, "weak spike": Model(100, 100, (8,), (2,))}


def stability(call: Call) -> Table:
    """Return false and found loadings of the fit and of its stable part."""
    head = ["false in the fit", "stable and false", "bound", "found by the fit", "stable and true"]
    table = Table("Stability at threshold .75, 50 pairs of halves", ["model", *head, "data sets"])
    for name, found in call.measured("stability", HALVED, _stable_set).items():
        table.rows.append([name, *shares(found, head)])
    table.notes.append(
        f"The default method at the true cardinalities, {NOISE_CARD} for noise alone. False: loadings that "
        "are truly zero, per fit; found, stable and true: shares of the true loadings."
    )
    return table


def _stable_set(name: str, number: int) -> Measured:
    model = HALVED[name]
    fit, true = _fitted(model, name, number)
    result = fit.stability(rng=number)
    V, stable = fit.loadings.to_numpy(), result.stable.to_numpy()
    found = {
        "false in the fit": float(((V != 0) & ~true).sum()),
        "stable and false": float((stable & ~true).sum()),
        "bound": float(result.bound["all"]),
    }
    if model.k:
        found |= {
            "found by the fit": float((V != 0)[true].mean()),
            "stable and true": float(stable[true].mean()),
        }
    return found


# --- permutation tests ----------------------------------------------------------------------------

#: Noise alone, in which ten variables are selected, heavy-tailed noise, and planted components.
TESTED = {
    "noise, card 10": Model(100, 50),
    "noise t5, card 10": Model(100, 50, noise="t5"),
    **WEAK,
    "n100 p20": STRONG["n100 p20"],
}


def loading_tests(call: Call) -> Table:
    """Return the share of small p-values of selected and unselected noise variables."""
    head = [
        "p <= .05, null",
        "p <= .05, null and selected",
        "p <= .5, null",
        "q <= .05 and false",
        "true with q <= .05",
    ]
    table = Table("Permutation tests of loadings, 199 permutations", ["model", *head, "data sets"])
    for name, found in call.measured("tests", TESTED, _tested_set).items():
        table.rows.append([name, *shares(found, head)])
    table.notes.append(
        "Null: variables without true loadings, independent of all others. Selected: null variables that the "
        "fit selected; their p is small since correlated variables were selected, and q over all variables "
        "accounts for this. False: share of null variables among the discoveries of a data set, 0 if there "
        "are none. Under the null p is uniform on 1/200, ..., 1: .05 and .5 are exact. For t5 the variables "
        "of a row share a divisor, so they are not independent and the null hypothesis is false."
    )
    return table


def _tested_set(name: str, number: int) -> Measured:
    model = TESTED[name]
    fit, true = _fitted(model, name, number)
    result = fit.test_loadings(199, rng=number)
    V, p, q = fit.loadings.to_numpy(), result.p_values.to_numpy(), result.q_values.to_numpy()
    null = ~true.any(axis=1)
    found = {
        "p <= .05, null": float((p[null] <= 0.05).mean()),
        "p <= .5, null": float((p[null] <= 0.5).mean()),
        "q <= .05 and false": float(((q <= 0.05) & ~true).sum() / max((q <= 0.05).sum(), 1)),
    }
    chosen = null & (V != 0).any(axis=1)
    if chosen.any():
        found["p <= .05, null and selected"] = float((p[chosen][V[chosen] != 0] <= 0.05).mean())
    if model.k:
        found["true with q <= .05"] = float((q[true] <= 0.05).mean())
    return found
