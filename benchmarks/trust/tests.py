"""Uniformity of permutation p-values under the null hypothesis, and their power."""

from __future__ import annotations

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import STRONG, WEAK, Model, generator
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.assess.refit import align
from spcastat.linalg.operators import Gram

#: Noise alone, in which ten variables are selected, heavy-tailed noise, and planted components.
MODELS = {
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
    for name, found in call.measured("tests", MODELS, _one_set).items():
        table.rows.append([name, *shares(found, head)])
    table.notes.append(
        "Null: variables without true loadings, independent of all others. Selected: null variables that the "
        "fit selected; their p is small since correlated variables were selected, and q over all variables "
        "accounts for this. False: share of null variables among the discoveries of a data set, 0 if there "
        "are none. Under the null p is uniform on 1/200, ..., 1: .05 and .5 are exact. For t5 the variables "
        "of a row share a divisor, so they are not independent and the null hypothesis is false."
    )
    return table


def _one_set(name: str, number: int) -> Measured:
    model = MODELS[name]
    card = list(model.cards) or 10
    fit = sp.spca(model.draw(generator(name, number)), max(model.k, 1), card=card)
    result = fit.test_loadings(199, rng=number)
    V, p, q = fit.loadings.to_numpy(), result.p_values.to_numpy(), result.q_values.to_numpy()
    true = np.zeros(V.shape, dtype=bool)
    if model.k:
        true = align(model.loadings, V, Gram(model.covariance)).V != 0
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
