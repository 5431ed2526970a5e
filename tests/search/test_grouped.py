"""Searches over groups of variables that enter together: as good as enumeration, and no group is split."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.search.criteria import CRITERIA, criterion_of_matrix
from spcastat.search.joint_method import Joint
from spcastat.search.moves import refined
from tests.search.conftest import draw

#: Groups of ten variables: of one, two and three.
GROUPS = (("a", (0,)), ("b", (1, 4)), ("c", (2,)), ("d", (3, 5, 9)), ("e", (6,)), ("f", (7, 8)))
KINDS = ("free", "include", "exclude", "disjoint", "disjoint, include", "all")


def asked(kind: str, seed: int) -> Joint:
    """Draw cardinalities and a rule."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    g, h = rng.choice(6, 2, replace=False)
    card = [(2, 2), (3, 1), (1, 2), (2, 3)][rng.integers(4)] if kind != "all" else [(3, 3), (4, 2)][seed % 2]
    include = exclude = None
    if "include" in kind:
        include = (GROUPS[g][1][:1], () if kind == "include" else GROUPS[h][1])
    if kind == "exclude":
        exclude = (GROUPS[g][1][:1], GROUPS[h][1])
    return Joint(card, None, None, include, exclude, "disjoint" in kind or kind == "all", GROUPS)


def supports_of(solver: Joint) -> list[list[list[int]]]:
    """List all supports of the groups that the options allow, by their definition."""
    found = []
    for chosen in product(*(combinations(range(6), card) for card in solver.card)):
        supports = [sorted(j for g in one for j in GROUPS[g][1]) for one in chosen]
        fine = not solver.disjoint or not set(chosen[0]) & set(chosen[-1]) or len(chosen) == 1
        for i, support in enumerate(supports):
            fine &= solver.include is None or set(solver.include[i]) <= set(support)
            fine &= solver.exclude is None or not set(solver.exclude[i]) & set(support)
        if fine:
            found.append(supports)
    return found


def enumerated(S: np.ndarray, solver: Joint, objective: str) -> float:
    """Return the best value over all supports: ascents of the loadings from pairs of eigenvectors."""
    batches: dict[tuple[int, ...], list[list[list[int]]]] = {}
    for supports in supports_of(solver):
        batches.setdefault(tuple(map(len, supports)), []).append(supports)
    best = 0.0
    for sizes, batch in batches.items():
        criterion = criterion_of_matrix(S / np.trace(S), sizes, objective)
        places = np.array([np.concatenate(supports) for supports in batch])
        vectors = [
            np.linalg.eigh(S[places[:, part, None], places[:, None, part]])[1] for part in criterion.parts
        ]
        for start in ((-1, -1), (-1, -2), (-2, -1)):
            own = [U[:, :, max(at, -U.shape[2])] for U, at in zip(vectors, start, strict=True)]
            fits = refined(criterion, criterion.fits(places, np.concatenate(own, axis=1)), 8)
            top = fits.some(np.argsort(-fits.value)[:20])
            best = max(best, refined(criterion, top, 300).value.max())
    return best


def check(kind: str, objective: str, seed: int) -> None:
    S, solver = draw(10, seed), asked(kind, seed)
    solver = replace(solver, objective=objective)
    found = solver.solve(Gram(S), 2, None, np.random.default_rng(0))
    used = [[i for i, (_, members) in enumerate(GROUPS) if v[list(members)].any()] for v in found.V.T]
    assert [len(groups) for groups in used] == list(solver.card)
    supports = [sorted(j for g in groups for j in GROUPS[g][1]) for groups in used]
    assert supports in supports_of(solver)
    assert found.objective / np.trace(S) == pytest.approx(enumerated(S, solver, objective), rel=1e-7)


@pytest.mark.parametrize(("kind", "objective"), [("free", "adjusted"), ("disjoint, include", "pev")])
def test_a_search_over_groups_is_as_good_as_enumeration(kind, objective):
    check(kind, objective, 3)


@pytest.mark.slow
@pytest.mark.parametrize("objective", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_searches_over_groups_are_as_good_as_enumeration(kind, objective):
    check(kind, objective, 0)
