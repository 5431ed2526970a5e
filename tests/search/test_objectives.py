"""The contract of the records of objectives, by numbers: a fourth one keeps it, wrong records break it."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.linalg.operators import Gram, Operator
from spcastat.measures import MEASURES
from spcastat.proofs.jointly import PARTITION_BOUNDS, RELAXATIONS, certify_joint
from spcastat.search.criteria import Projected
from spcastat.search.joint_search import joint
from spcastat.search.matrices import Identity
from spcastat.search.objectives import (
    ADJUSTED,
    LEAST_SQUARES,
    OBJECTIVES,
    PEV,
    GroupSearch,
    Objective,
    pev_slope,
    pev_values,
    provable,
)
from tests.search.conftest import draw

#: The names of the records in the code.
RECORDS = frozenset({"ADJUSTED", "PEV", "LEAST_SQUARES", "OF_GROUPS"})


def squared_share(V: np.ndarray, op: Operator) -> np.ndarray:
    """The share of S S in the span of the first 1, ..., k columns, as the fourth objective has it."""
    SV = op.dot(V) / op.total
    return np.array([
        np.trace(np.linalg.solve(V[:, :j].T @ V[:, :j], SV[:, :j].T @ SV[:, :j]))
        for j in range(1, V.shape[1] + 1)
    ])  # fmt: skip


class Squared(Projected):
    """The share of S S in the span of the loadings."""

    @classmethod
    def of_products(cls, S, squares, cards):
        return cls(Identity(S.m), squares, cards)


SQUARED = Objective(
    "squared",
    "share of squared covariances",
    replace(MEASURES["pev"], function=squared_share),
    Squared,
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
    for criterion in (
        record.criterion.of_matrix(op.S / op.total, cards),
        record.criterion.of_operator(op, cards),
    ):
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
    projected = np.trace(np.linalg.solve(V.T @ V, V.T @ op.S @ V)) / op.total
    if record.reconstructs != bool(np.isclose(value, projected, rtol=1e-8, atol=0.0)):
        found.add("reconstructs")
    if record.criterion.squares and (record.proxy or record).criterion.squares:
        found.add("proxy")
    if record.groups is not None:
        found |= group_faults(record, record.groups, op)
    return found


def in_groups(labels: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Unit loadings, (p, k), from one number for each variable."""
    V = np.where(labels[:, None] == np.arange(labels.max() + 1), x[:, None], 0.0)
    return V / np.linalg.norm(V, axis=0)


def group_faults(record: Objective, groups: GroupSearch, op: Gram) -> set[str]:
    """The fields of `groups` that do not describe the objective of disjoint components of all variables."""
    found, S = set(), op.S / op.total
    rng = np.random.default_rng(len(S))

    def value(V: np.ndarray) -> float:
        return float(record.measure(V, op)[-1])

    def products(V: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return (S @ V)[None], (S @ S @ V)[None] if record.criterion.squares else None

    # in the order of their variances, which the values of ordered objectives are for
    labels, x = np.array([0, 1, 0, 0, 1, 0, 1]), rng.standard_normal(len(S))
    V = in_groups(labels, x)
    if np.diff(np.diag(V.T @ S @ V))[0] > 0:
        labels, V = 1 - labels, V[:, ::-1]
    SV, SSV = products(V)
    N = None if SSV is None else V.T @ SSV
    half, values = groups.slope(V[None], SV, SSV)
    if not np.allclose([values[0], groups.values(V.T @ SV, N)[0]], value(V), rtol=1e-8, atol=0.0):
        found.add("values")
    half = half[0] - V * (half[0] * V).sum(axis=0)
    step = 1e-6  # central differences are right to step^2, and to 1e-15 / step of rounding
    for j, i in product(range(len(S)), range(2)):
        if labels[j] == i:
            difference = np.zeros_like(V)
            difference[j, i] = step
            ahead, behind = (
                value((V + d) / np.linalg.norm(V + d, axis=0)) for d in (difference, -difference)
            )
            if abs((ahead - behind) / (2.0 * step) - 2.0 * half[j, i]) > 1e-7:
                found.add("slope")
    leading = np.zeros((len(S), 2))
    total = 0.0
    for i in range(2):
        inside = labels == i
        eigenvalues, vectors = np.linalg.eigh(S[np.ix_(inside, inside)])
        total += eigenvalues[-1]
        leading[inside, i] = vectors[:, -1]
    rounding = 1e-8 * total
    is_equal = abs(value(leading) - total) < rounding
    is_most = (
        max(value(in_groups(labels, rng.standard_normal(len(S)))) for _ in range(50)) <= total + rounding
    )
    if (groups.bound == "equal" and not is_equal) or (groups.bound is not None and not is_most):
        found.add("bound")
    v = V[:, 0]
    alone = v @ S @ S @ v / (v @ S @ v) if groups.ratio else v @ S @ v
    if not np.isclose(value(V[:, :1]), alone, rtol=1e-8, atol=0.0):
        found.add("ratio")
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
        (replace(PEV, reconstructs=False), "reconstructs"),
        (replace(ADJUSTED, reconstructs=True), "reconstructs"),
        (replace(SQUARED, criterion=LEAST_SQUARES.criterion), "criterion"),
        (replace(SQUARED, proxy=None), "proxy"),
        (replace(LEAST_SQUARES, groups=replace(LEAST_SQUARES.groups, bound="upper")), "bound"),
        (replace(ADJUSTED, groups=replace(ADJUSTED.groups, bound="equal")), "bound"),
        (replace(LEAST_SQUARES, groups=replace(LEAST_SQUARES.groups, ratio=False)), "ratio"),
        (replace(ADJUSTED, groups=replace(ADJUSTED.groups, slope=pev_slope)), "slope"),
        (replace(ADJUSTED, groups=replace(ADJUSTED.groups, values=pev_values)), "values"),
    ],
)
def test_wrong_records_break_the_contract(record, fault):
    assert fault in faults(record, 0)


@pytest.mark.parametrize("record", [OBJECTIVES[name] for name in provable()], ids=provable())
def test_relaxations_bound_the_best_fit_closely(record):
    assert record.relaxation in RELAXATIONS
    assert record.relaxation in PARTITION_BOUNDS
    for seed in range(2):
        op = Gram(draw(6, seed))
        best = joint(op, 2, (2, 3), record.name, "thorough")
        proof = certify_joint(op, best.V, record.name)
        # no fit of random supports and loadings exceeds the bound, which is close to the best known
        rng = np.random.default_rng(seed)
        values = []
        for _ in range(300):
            V = np.zeros((6, 2))
            for i, card in enumerate((2, 3)):
                V[rng.choice(6, card, replace=False), i] = rng.standard_normal(card)
            values.append(record.measure(V / np.linalg.norm(V, axis=0), op)[-1])
        assert proof.upper_bound >= max(values)
        assert proof.gap < 1.0


@pytest.fixture
def _fourth(monkeypatch):
    monkeypatch.setitem(OBJECTIVES, SQUARED.name, SQUARED)
    monkeypatch.setitem(MEASURES, SQUARED.name, SQUARED.measure)


@pytest.mark.usefixtures("_fourth")
@pytest.mark.parametrize("options", [{"card": 3}, {"card": [2, 4]}, {"card": 3, "disjoint": True}])
def test_a_fourth_objective_needs_a_record_and_its_measure(options):
    # the share of S S in the span of the loadings is PEV with S S in place of S
    for seed in range(2):
        S = pd.DataFrame(draw(8, seed))
        fourth = sp.spca_cov(S, 2, objective="squared", **options)
        pev = sp.spca_cov(S @ S, 2, objective="pev", **options)
        total = np.trace(S) ** 2 / np.trace(S @ S)
        assert fourth.measure("squared") * total == pytest.approx(pev.measure("pev"), rel=1e-9)
        assert "share of squared covariances" in " ".join(str(fourth).split())


@pytest.mark.usefixtures("_fourth")
def test_what_a_fourth_objective_does_not_have_is_refused():
    S = pd.DataFrame(draw(6, 0))
    with pytest.raises(OptionError, match="no search over groups of all variables: give card=, or"):
        sp.spca_cov(S, 2, disjoint=True, objective="squared")
    with pytest.raises(OptionError, match="give card= instead of variance="):
        sp.spca_cov(S, 2, variance=0.8, objective="squared")
    fit = sp.spca_cov(S, 2, 3, objective="squared")
    with pytest.raises(OptionError, match="has no joint proof: give objective='adjusted' or"):
        fit.certify(joint=True)
    assert fit.certify(joint=False).table.shape[0] == 2
    assert fit.certify(objective="pev").table.shape[0] == 1  # as the message says


def test_no_file_compares_an_objective():
    """Outside the records, what depends on an objective is a field of its record, by name or by identity."""
    root = Path(sp.__file__).parent
    compared = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare | ast.match_case)
        and any(
            (isinstance(part, ast.Constant) and part.value in OBJECTIVES)
            or (isinstance(part, ast.Name) and part.id in RECORDS)
            for part in ast.walk(node if isinstance(node, ast.Compare) else node.pattern)
        )
    ]
    assert compared == []
