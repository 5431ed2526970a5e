"""Few supports: the search is as good as an enumeration by NumPy and SciPy alone; degenerate scores lose."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.search.criteria import SupportRule
from spcastat.search.joint_method import Joint
from spcastat.search.joint_search import joint
from spcastat.search.objectives import OBJECTIVES

KINDS = ("free", "disjoint", "include", "exclude", "blocks", "partial")


def share(name: str, F: np.ndarray, V: np.ndarray) -> float:
    """An objective of loadings by orthonormal bases, with F the symmetric root of the covariance matrix."""
    if name == "adjusted":
        total, Q = 0.0, np.zeros((len(F), 0))
        for score in (F @ V).T:
            rest = score - Q @ (Q.T @ score)
            rest -= Q @ (Q.T @ rest)
            length = np.linalg.norm(rest)
            if length > 1e-7:
                total, Q = total + length**2, np.column_stack([Q, rest / length])
        return float(total)
    basis, sizes, _ = np.linalg.svd(V if name == "pev" else F @ V, full_matrices=False)
    return float(np.linalg.norm(basis[:, sizes > 1e-6 * sizes[0]].T @ F) ** 2)


def slope(name: str, S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Half the gradient, up to multiples of the components."""
    if name == "adjusted":
        G = V.T @ S @ V
        R = np.linalg.cholesky(G + 1e-14 * np.diag(np.diag(G))).T
        C = np.linalg.solve(R, np.diag(np.diag(R)))
        return S @ V @ C @ C.T
    M, T = (np.eye(len(S)), S) if name == "pev" else (S, S @ S)
    H = np.linalg.inv(V.T @ M @ V)
    return (T @ V - M @ V @ H @ V.T @ T @ V) @ H


def ascended(name: str, S: np.ndarray, F: np.ndarray, supports, rng: np.random.Generator) -> float:
    """The best of three ascents from random loadings on given supports."""
    inside = np.zeros((len(S), len(supports)), dtype=bool)
    for j, support in enumerate(supports):
        inside[list(support), j] = True

    def unit(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        V = np.zeros(inside.shape)
        V[inside] = x
        return V / np.linalg.norm(V, axis=0), np.linalg.norm(V, axis=0)

    def lost(x: np.ndarray) -> tuple[float, np.ndarray]:
        V, lengths = unit(x)
        try:
            half = slope(name, S, V)
        except np.linalg.LinAlgError:
            return -share(name, F, V), np.zeros(len(x))
        half = (half - V * (half * V).sum(axis=0)) / lengths
        return -share(name, F, V), -2.0 * half[inside]

    starts = rng.standard_normal((3, inside.sum()))
    return max(-float(minimize(lost, x, jac=True, method="L-BFGS-B").fun) for x in starts)


def above(name: str, F: np.ndarray, supports) -> float:
    """A bound: variances of components, or dense components in the union of the supports."""
    if name == "adjusted":
        return sum(np.linalg.norm(F[:, list(T)], 2) ** 2 for T in supports)
    union = sorted(set().union(*supports))
    if name == "pev":
        inner = F[:, union]
    else:
        basis, sizes, _ = np.linalg.svd(F[:, union], full_matrices=False)
        inner = F @ basis[:, sizes > 1e-7 * sizes[0]]
    return float((np.linalg.svd(inner, compute_uv=False)[: len(supports)] ** 2).sum())


def problem(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, tuple[int, int], SupportRule]:
    """A covariance matrix of total variance one, cardinalities, and a rule."""
    p = int(rng.integers(5, 8))
    cards = (int(rng.integers(2, 4)), 2)
    X = rng.standard_normal((3 * p, p)) * rng.uniform(0.3, 3.0, p)
    X = X @ np.linalg.qr(rng.standard_normal((p, p)))[0]
    if rng.random() < 0.3:
        X[:, 1] = X[:, 0]
    if kind == "blocks":  # two blocks, each of largest variance one
        for block in (slice(0, None, 2), slice(1, None, 2)):
            X[:, block] /= np.linalg.norm(X[:, block] - X[:, block].mean(axis=0), 2)
    if kind == "partial":
        Z = np.column_stack([np.ones(len(X)), X[:, 0] + rng.standard_normal(len(X))])
        X = X - Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    S = np.cov(X.T)
    may, must = np.ones((2, p), dtype=bool), np.zeros((2, p), dtype=bool)
    must[0, -1], may[:, 0] = kind == "include", kind != "exclude"
    return S / np.trace(S), cards, SupportRule(may, must, kind == "disjoint")


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_no_choice_of_few_supports_is_better(name, seed):
    for number, kind in enumerate(KINDS if seed else KINDS[:2]):
        rng = np.random.default_rng([seed, number])
        S, cards, rule = problem(kind, rng)
        values, vectors = np.linalg.eigh(S)
        F = vectors * np.sqrt(values.clip(min=0.0)) @ vectors.T
        found = joint(Gram(S), 2, cards, name, "quick", rule=rule if kind in KINDS[1:4] else None)
        # roots of covariances keep half of the digits
        assert found.value == pytest.approx(share(name, F, found.V), abs=1e-7)
        each = [
            [
                T
                for T in combinations(range(len(S)), c)
                if may[list(T)].all() and must[list(T)].sum() == must.sum()
            ]
            for c, may, must in zip(cards, rule.may, rule.must, strict=True)
        ]
        every = [pair for pair in product(*each) if not rule.disjoint or not set(pair[0]) & set(pair[1])]
        bounds = np.array([above(name, F, pair) for pair in every])
        best = found.value
        for at in np.argsort(-bounds):
            if bounds[at] <= best * (1.0 + 1e-7):
                break
            best = max(best, ascended(name, S, F, every[at], rng))
        # a share that no print shows; components that become dependent rise without an end
        assert best <= found.value * (1.0 + 1e-6), kind


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_no_choice_of_few_unions_of_groups_is_better(name, seed):
    """Smaller unions are filled up to the length of the largest, by loadings that must stay zero."""
    rng = np.random.default_rng(seed)
    groups = (("a", (0,)), ("b", (1, 2)), ("c", (3, 4, 5)), ("d", (6,)))
    X = rng.standard_normal((30, 7)) @ rng.standard_normal((7, 7)) * rng.uniform(0.3, 3.0, 7)
    S = np.cov(X.T)
    S /= np.trace(S)
    values, vectors = np.linalg.eigh(S)
    F = vectors * np.sqrt(values.clip(min=0.0)) @ vectors.T
    disjoint = bool(seed % 2)
    counts = (1 + seed // 2 % 2, 1)
    solution = Joint(counts, disjoint=disjoint, together=groups, objective=name).solve(
        Gram(S), 2, np.empty((7, 0)), np.random.default_rng(0)
    )
    assert solution.objective == pytest.approx(share(name, F, solution.V), abs=1e-7)
    unions = [
        [sorted(j for group in choice for j in group[1]) for choice in combinations(groups, c)]
        for c in counts
    ]
    pairs = [pair for pair in product(*unions) if not disjoint or not set(pair[0]) & set(pair[1])]
    best = max(ascended(name, S, F, pair, rng) for pair in pairs)
    assert best <= solution.objective * (1.0 + 1e-6)


@pytest.mark.parametrize("seed", [5, 37, 101])
def test_components_beyond_the_rank_never_explain_more_than_everything(seed):
    """Of copies of variables, scores depend on one another, and their covariances are rounding."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6)) * rng.uniform(0.3, 3.0, 6)
    X[:, 1], X[:, 3] = -X[:, 0], 2.5 * X[:, 2] + 1e-7 * rng.standard_normal(30)
    S = np.cov(X.T)
    op = Gram(S)
    for name in OBJECTIVES:
        found = joint(op, 5, (2,) * 5, name, "quick")
        for measure in ("adjusted", "pev", "least_squares"):
            assert MEASURES[measure](found.V, op)[-1] <= 1.0 + 1e-12  # rounding
        # five pairs of columns cover all six variables, and the first five scores span their four dimensions
        if name != "adjusted":
            assert found.value == pytest.approx(1.0, abs=1e-6)
