"""Searches under rules for supports and over groups of variables."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.search.criteria import SupportRule
from spcastat.search.equal_variables import first_of_equals
from spcastat.search.joint_method import Joint
from spcastat.search.joint_search import joint, nearby_optima
from spcastat.search.moves import refined
from spcastat.search.objectives import OBJECTIVES
from tests.search.conftest import draw

# --- Searches under rules for supports ------------------------------------------------------------

P = 8
KINDS = ("include", "exclude", "by component", "disjoint", "disjoint, include", "disjoint, exclude", "all")


def rule_of(kind: str, rng: np.random.Generator) -> tuple[tuple[int, ...], SupportRule]:
    """Draw cardinalities and a rule."""
    cards = [(3, 3), (4, 2), (3, 2), (2, 4)][rng.integers(4)]
    may, must = np.ones((2, P), dtype=bool), np.zeros((2, P), dtype=bool)
    a, b, c = rng.choice(P, 3, replace=False)
    if kind == "include":
        must[:, a] = True
    elif kind == "exclude":
        may[:, [a, b]] = False
    elif kind == "by component":
        must[0, a], may[1, a], may[0, b] = True, False, False
    elif kind == "disjoint, include":
        must[0, a], must[1, b] = True, True
    elif kind == "disjoint, exclude":
        may[0, [a, b]], may[1, c] = False, False
    elif kind == "all":  # no variable is left over
        cards = [(4, 4), (5, 3)][rng.integers(2)]
    return cards, SupportRule(may, must, kind.startswith("disjoint") or kind == "all")


def supports_of(cards: tuple[int, ...], rule: SupportRule) -> list[tuple[tuple[int, ...], ...]]:
    """List all supports that the rule allows, by its definition."""
    each = [
        [
            T
            for T in combinations(range(rule.may.shape[1]), card)
            if may[list(T)].all() and set(np.flatnonzero(must)) <= set(T)
        ]
        for card, may, must in zip(cards, rule.may, rule.must, strict=True)
    ]
    every = list(product(*each))
    return [one for one in every if len(set().union(*one)) == sum(cards)] if rule.disjoint else every


def enumerated(S: np.ndarray, cards: tuple[int, ...], rule: SupportRule, objective: str) -> float:
    """Return the best value over all supports: ascents of the loadings from pairs of eigenvectors."""
    criterion = OBJECTIVES[objective].criterion.of_matrix(S / np.trace(S), cards)
    places = np.array([np.concatenate(one) for one in supports_of(cards, rule)])
    vectors = [np.linalg.eigh(S[places[:, part, None], places[:, None, part]])[1] for part in criterion.parts]
    best = 0.0
    for first, second in ((-1, -1), (-1, -2), (-2, -1)):
        x = np.concatenate([vectors[0][:, :, first], vectors[1][:, :, second]], axis=1)
        fits = refined(criterion, criterion.fits(places, x), 8)
        top = fits.subset(np.argsort(-fits.value)[:100])
        best = max(best, refined(criterion, top, 300).value.max())
    return best


def obeys(V: np.ndarray, rule: SupportRule) -> bool:
    return not rule.broken((V != 0).T[None])[0]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind == KINDS[4] else pytest.mark.slow) for kind in KINDS],
)
def test_searches_under_rules_are_as_good_as_enumeration(kind, objective):
    cards, rule = rule_of(kind, np.random.default_rng([0, KINDS.index(kind)]))
    S = draw(P, 0)
    found = joint(Gram(S), 2, cards, objective, rule=rule)
    assert obeys(found.V, rule)
    assert found.value == pytest.approx(enumerated(S, cards, rule, objective), rel=1e-7)


def test_one_component_under_a_rule_is_the_best_of_all_supports():
    S = draw(9, 4)
    may, must = np.ones((1, 9), dtype=bool), np.zeros((1, 9), dtype=bool)
    may[0, [0, 5]], must[0, 7] = False, True
    rule = SupportRule(may, must)
    best = max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for (T,) in supports_of((4,), rule))
    for objective in ("adjusted", "pev"):
        found = joint(Gram(S), 1, (4,), objective, rule=rule)
        assert obeys(found.V, rule)
        assert found.value == pytest.approx(best / np.trace(S), rel=1e-9)


def test_disjoint_components_that_compete_for_few_variables_are_found():
    """The last two may have four variables each, of which earlier ones would like most."""
    may = np.ones((3, 9), dtype=bool)
    may[1, 4:], may[2, :3], may[2, 7:] = False, False, False
    rule = SupportRule(may, np.zeros((3, 9), dtype=bool), True)
    S = draw(9, 1)
    sums = [sum(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in one) for one in supports_of((3, 3, 3), rule)]
    found = joint(Gram(S), 3, (3, 3, 3), "pev", "quick", rule=rule)
    assert obeys(found.V, rule)
    assert found.value == pytest.approx(max(sums) / np.trace(S), rel=1e-9)


def test_an_assignment_has_the_largest_sum_of_gains_or_says_that_there_is_none():
    rng = np.random.default_rng(0)
    for trial in range(20):
        may = rng.random((2, 6)) < 0.7
        must = may & (rng.random((2, 6)) < 0.2)
        rule, gains = SupportRule(may, must, True), rng.random((2, 6))
        every = supports_of((2, 3), rule)
        found = rule.assigned(gains, (2, 3))
        assert (found is None) == (not every), trial
        if found is not None:
            best = max(sum(gains[i, list(T)].sum() for i, T in enumerate(one)) for one in every)
            assert sum(gains[i, T].sum() for i, T in enumerate(found)) == pytest.approx(best, rel=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_fits_near_given_loadings_obey_the_rule(kind):
    rng = np.random.default_rng(8)
    cards, rule = rule_of(kind, rng)
    ops = [Gram(draw(P, seed)) for seed in range(4)]
    starts = [[rng.standard_normal((P, 2)) for _ in range(2)] for _ in ops]
    for objective in OBJECTIVES:
        assert all(obeys(V, rule) for V in nearby_optima(ops, cards, objective, starts, rule=rule))


def test_equal_variables_are_exchanged_only_where_the_rule_asks_the_same_of_them():
    S = np.full((4, 4), 0.5) + 0.5 * np.eye(4)
    V = np.array([[0.0, 0.0, 0.6, 0.8]]).T
    assert np.flatnonzero(first_of_equals(Gram(S), V)).tolist() == [0, 1]
    may, must = np.ones((1, 4), dtype=bool), np.zeros((1, 4), dtype=bool)
    may[0, 0], must[0, 3] = False, True
    assert np.flatnonzero(first_of_equals(Gram(S), V, SupportRule(may, must))).tolist() == [1, 3]


def test_components_with_the_same_rule_and_cardinality_may_change_places():
    may = np.ones((3, 4), dtype=bool)
    may[0, 3] = False
    rule = SupportRule(may, np.zeros((3, 4), dtype=bool))
    assert rule.kinds([2, 2, 2]) == (0, 1, 1)
    assert rule.kinds([2, 2, 3]) == (0, 1, 2)


# --- Searches over groups of variables that enter together ----------------------------------------

#: Groups of ten variables: of one, two and three.
GROUPS = (("a", (0,)), ("b", (1, 4)), ("c", (2,)), ("d", (3, 5, 9)), ("e", (6,)), ("f", (7, 8)))
GROUPED_KINDS = ("free", "include", "exclude", "disjoint", "disjoint, include", "all")


def asked(kind: str, seed: int) -> Joint:
    """Draw cardinalities and a rule."""
    rng = np.random.default_rng([seed, GROUPED_KINDS.index(kind)])
    g, h = rng.choice(6, 2, replace=False)
    card = [(2, 2), (3, 1), (1, 2), (2, 3)][rng.integers(4)] if kind != "all" else [(3, 3), (4, 2)][seed % 2]
    include = exclude = None
    if "include" in kind:
        include = (GROUPS[g][1][:1], () if kind == "include" else GROUPS[h][1])
    if kind == "exclude":
        exclude = (GROUPS[g][1][:1], GROUPS[h][1])
    return Joint(card, None, None, include, exclude, "disjoint" in kind or kind == "all", GROUPS)


def grouped_supports_of(solver: Joint) -> list[list[list[int]]]:
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


def grouped_enumerated(S: np.ndarray, solver: Joint, objective: str) -> float:
    """Return the best value over all supports: ascents of the loadings from pairs of eigenvectors."""
    batches: dict[tuple[int, ...], list[list[list[int]]]] = {}
    for supports in grouped_supports_of(solver):
        batches.setdefault(tuple(map(len, supports)), []).append(supports)
    best = 0.0
    for sizes, batch in batches.items():
        criterion = OBJECTIVES[objective].criterion.of_matrix(S / np.trace(S), sizes)
        places = np.array([np.concatenate(supports) for supports in batch])
        vectors = [
            np.linalg.eigh(S[places[:, part, None], places[:, None, part]])[1] for part in criterion.parts
        ]
        for start in ((-1, -1), (-1, -2), (-2, -1)):
            own = [U[:, :, max(at, -U.shape[2])] for U, at in zip(vectors, start, strict=True)]
            fits = refined(criterion, criterion.fits(places, np.concatenate(own, axis=1)), 8)
            top = fits.subset(np.argsort(-fits.value)[:20])
            best = max(best, refined(criterion, top, 300).value.max())
    return best


def check(kind: str, objective: str, seed: int) -> None:
    S, solver = draw(10, seed), asked(kind, seed)
    solver = replace(solver, objective=objective)
    found = solver.solve(Gram(S), 2, None, np.random.default_rng(0))
    used = [[i for i, (_, members) in enumerate(GROUPS) if v[list(members)].any()] for v in found.V.T]
    assert [len(groups) for groups in used] == list(solver.card)
    supports = [sorted(j for g in groups for j in GROUPS[g][1]) for groups in used]
    assert supports in grouped_supports_of(solver)
    assert found.objective / np.trace(S) == pytest.approx(grouped_enumerated(S, solver, objective), rel=1e-7)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "kind", ["free", *(pytest.param(kind, marks=pytest.mark.slow) for kind in GROUPED_KINDS[1:])]
)
def test_searches_over_groups_are_as_good_as_enumeration(kind, objective):
    check(kind, objective, 0)
