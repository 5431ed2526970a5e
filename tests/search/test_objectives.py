"""The contract of the records of objectives, by numbers: a fourth one keeps it, wrong records break it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spcastat.linalg.operators import Gram, Operator
from spcastat.measures import MEASURES
from spcastat.search.criteria import Projected
from spcastat.search.matrices import Identity
from spcastat.search.objectives import ADJUSTED, LEAST_SQUARES, OBJECTIVES, PEV, Objective
from tests.search.conftest import draw


def squared_share(V: np.ndarray, op: Operator) -> np.ndarray:
    """The share of S S in the span of the first 1, ..., k columns, as the fourth objective has it."""
    SV = op.dot(V) / op.total
    return np.array([
        np.trace(np.linalg.solve(V[:, :j].T @ V[:, :j], SV[:, :j].T @ SV[:, :j]))
        for j in range(1, V.shape[1] + 1)
    ])  # fmt: skip


SQUARED = Objective(
    "squared",
    "share of squared covariances",
    replace(MEASURES["pev"], function=squared_share),
    lambda S, T, cards: Projected(Identity(S.m), T, cards),
    squares=True,
    proxy=PEV,
)


def faults(record: Objective, seed: int) -> set[str]:
    """The fields that do not describe the objective, for one random matrix and two components."""
    rng = np.random.default_rng(seed)
    op, cards = Gram(draw(7, seed)), (3, 2)
    V = np.zeros((7, 2))
    V[[0, 2, 5], 0], V[[1, 4], 1] = rng.standard_normal(3), rng.standard_normal(2)
    V /= np.linalg.norm(V, axis=0)
    value, turned = (float(record.measure(W, op)[-1]) for W in (V, V[:, ::-1]))
    places = np.concatenate([np.flatnonzero(v) for v in V.T])[None]
    loadings = np.concatenate([v[v != 0] for v in V.T])[None]
    found = set()
    for criterion in (record.of_matrix(op.S / op.total, cards), record.of_operator(op, cards)):
        # the ridge of 1e-12 on correlations, times a condition of a few hundred
        if not np.isclose(criterion.fits(places, loadings).value[0], value, rtol=1e-8, atol=0.0):
            found.add("criterion")
    if record.ordered == bool(np.isclose(turned, value, rtol=1e-8, atol=0.0)):
        found.add("ordered")
    variance = V[:, 0] @ op.S @ V[:, 0] / op.total
    if record.equals_variance != bool(
        np.isclose(record.measure(V[:, :1], op)[-1], variance, rtol=1e-8, atol=0.0)
    ):
        found.add("equals_variance")
    if record.squares and (record.proxy or record).squares:
        found.add("proxy")
    return found


@pytest.mark.parametrize("record", [*OBJECTIVES.values(), SQUARED], ids=lambda record: record.name)
def test_records_describe_their_objectives(record):
    for seed in range(20):
        assert faults(record, seed) == set()


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (replace(ADJUSTED, ordered=False), "ordered"),
        (replace(PEV, ordered=True), "ordered"),
        (replace(LEAST_SQUARES, equals_variance=True), "equals_variance"),
        (replace(SQUARED, criterion=LEAST_SQUARES.criterion), "criterion"),
        (replace(SQUARED, proxy=None), "proxy"),
    ],
)
def test_wrong_records_break_the_contract(record, fault):
    assert fault in faults(record, 0)
