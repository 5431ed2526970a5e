"""Stability selection: false selections in noise compared with their bound, and power."""

from __future__ import annotations

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import STABILITY, Model, generator
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.assess.refit import align
from spcastat.linalg.operators import Gram

MODELS = {**STABILITY, "weak spike": Model(100, 100, (8,), (2,))}
NOISE_CARD = 10


def stability(call: Call) -> Table:
    """Return false and found loadings of the fit and of its stable part."""
    head = ["false in the fit", "stable and false", "bound", "found by the fit", "stable and true"]
    table = Table("Stability at threshold .75, 50 pairs of halves", ["model", *head, "data sets"])
    for name, found in call.measured("stability", MODELS, _one_set).items():
        table.rows.append([name, *shares(found, head)])
    table.notes.append(
        f"The default method at the true cardinalities, {NOISE_CARD} for noise alone. False: loadings that "
        "are truly zero, per fit; found, stable and true: shares of the true loadings."
    )
    return table


def _one_set(name: str, number: int) -> Measured:
    model = MODELS[name]
    card = list(model.cards) or NOISE_CARD
    fit = sp.spca(model.draw(generator(name, number)), max(model.k, 1), card=card)
    result = fit.stability(rng=number)
    V, stable = fit.loadings.to_numpy(), result.stable.to_numpy()
    true = np.zeros(V.shape, dtype=bool)
    if model.k:
        true = align(model.loadings, V, Gram(model.covariance)).V != 0
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
