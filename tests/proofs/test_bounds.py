"""No bound is ever below the true optimum, at the root and inside the search."""

from __future__ import annotations

import numpy as np
import pytest

from spcastat.linalg.eigenvectors import below
from spcastat.proofs.eigenvalue_bounds import (
    Node,
    complement,
    cut_off,
    eigenvalue_bound,
    examine,
    gershgorin_bound,
    largest_others,
    shift_to_definite,
    split,
    split_bound,
    subgradient_step,
    trace_bound,
)

from .conftest import matrices, values_of_supports

SHARES = np.array([1.0, 0.7, 0.4, 0.1])


def any_matrix(S: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """A symmetric U with a zero diagonal: S cut off, or noise, and improved by some steps."""
    U = cut_off(S, float(rng.choice(SHARES)))
    if rng.random() < 0.3:
        U = rng.standard_normal(S.shape) * np.diag(S).max()
        U = np.triu(U, 1) + np.triu(U, 1).T
    level = float(np.diag(S).max()) * (1.0 + 0.3 * c)
    for _ in range(int(rng.integers(4))):
        U = subgradient_step(S, U, c, level)[0]
    np.testing.assert_array_equal(U, U.T)
    return U


def split_bound_of(S: np.ndarray, c: int, rng: np.random.Generator) -> float:
    return eigenvalue_bound(split(S, any_matrix(S, c, rng), c)[0] if 2 <= c < len(S) else S)


def test_no_bound_lies_below_the_optimum(rng):
    for kind, S in matrices(rng, 80, 9):
        shift = shift_to_definite(S)
        for c in range(1, len(S) + 1):
            best = max(values_of_supports(S, c).values())
            bounds = {
                "trace": trace_bound(S + shift * np.eye(len(S)), c),
                "Gershgorin": gershgorin_bound(S, c),
                "eigenvalue": eigenvalue_bound(S),
                "split": split_bound(S, c, SHARES),
                "split by any U": split_bound_of(S, c, rng),
            }
            for name, bound in bounds.items():
                assert bound >= best, f"{name} for {kind}, p={len(S)}, c={c}: {bound} < {best}"


def test_bounds_are_sharp_where_they_should_be():
    S = np.diag([3.0, 2.0, 1.0])
    assert gershgorin_bound(S, 2) == pytest.approx(3.0, rel=1e-12)
    ones = np.ones((5, 5))
    assert gershgorin_bound(ones, 3) == pytest.approx(3.0, rel=1e-12)
    assert trace_bound(ones, 3) == pytest.approx(3.0, rel=1e-12)
    assert eigenvalue_bound(ones) == pytest.approx(5.0, rel=1e-12)


def test_split_runs_from_gershgorin_to_the_leading_eigenvalue(rng):
    for _, S in matrices(rng, 40, 9):
        c = max(len(S) // 2, 2)
        # With all of S in U a diagonal of Gershgorin's row sums is left, with nothing S itself.
        top = split(S, cut_off(S, 1.0), c)[0]
        assert np.linalg.eigvalsh(top)[-1] == pytest.approx(gershgorin_bound(S, c), rel=1e-9)
        np.testing.assert_array_equal(split(S, 0.0 * S, c)[0], S)


def test_steps_lower_the_split_bound():
    S = np.corrcoef(np.random.default_rng(3).standard_normal((60, 30)), rowvar=False)
    U = cut_off(S, 0.5)
    level = 0.9 * eigenvalue_bound(split(S, U, 6)[0])
    bounds = []
    for _ in range(60):
        U, bound = subgradient_step(S, U, 6, level)
        bounds.append(bound)
    assert min(bounds) < 0.97 * bounds[0]


def test_the_optimum_may_contain_a_variable_of_small_row_sum():
    """A row sum bounds only the supports in which its variable has the largest loading."""
    S = np.diag([5.0, 5.0, 1.0])
    S[0, 1] = S[1, 0] = 4.0
    S[1, 2] = S[2, 1] = 0.5
    assert np.abs(S[2]).sum() == 1.5
    best = np.linalg.eigvalsh(S)[-1]
    assert best > np.linalg.eigvalsh(S[:2, :2])[-1]
    everything = Node(np.array([], dtype=int), np.arange(3))
    children, found = examine(S, everything, 3, best * (1 - 1e-12))
    assert children or found is not None


def test_below_proves_only_what_is_true(rng):
    for _, S in matrices(rng, 80, 12):
        best = np.linalg.eigvalsh(S)[-1]
        assert below(S, best * (1 + 1e-9))
        assert not below(S, best * (1 - 1e-12))
        # `best` itself is rounded, and may lie above the eigenvalue; here it is exact: 1'11'1 / p = p
        p = len(S)
        assert not below(np.ones((p, p)), p)


def test_shift_makes_semidefinite_and_stays_rounding(rng):
    for kind, S in matrices(rng, 80, 12):
        shift = shift_to_definite(S)
        assert np.linalg.eigvalsh(S)[0] + shift >= 0.0, kind
        assert shift <= 1e-11 * np.trace(S)


def test_shift_of_an_indefinite_matrix():
    assert shift_to_definite(np.array([[1.0, 2.0], [2.0, 1.0]])) >= 1.0


def random_node(rng: np.random.Generator, p: int, c: int) -> Node:
    order = rng.permutation(p)
    taken = int(rng.integers(0, c + 1))
    free = int(rng.integers(0, p - taken + 1))
    return Node(np.sort(order[:taken]), np.sort(order[taken : taken + free]))


def best_in(node: Node, values: dict[tuple[int, ...], float], S: np.ndarray, c: int) -> float:
    """The largest eigenvalue over the supports of a node."""
    taken, reach = set(node.taken), {*node.taken, *node.free}
    if len(reach) <= c:
        J = sorted(reach)
        return float(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]) if J else -np.inf
    return max((v for J, v in values.items() if taken <= set(J) <= reach), default=-np.inf)


def prepared(S: np.ndarray) -> np.ndarray:
    return S / np.diag(S).max() + 1e-13 * len(S) * np.eye(len(S))


def test_interior_nodes_lose_nothing(rng):
    """A node with a support above the level is neither closed nor split so that no child has it."""
    closed = branched = 0
    for kind, S in matrices(rng, 320, 12):
        S = prepared(S)
        c = int(rng.integers(1, len(S) + 1))
        values = values_of_supports(S, c)
        for _ in range(10):
            node = random_node(rng, len(S), c)
            best = best_in(node, values, S, c)
            if not best > 0:
                continue
            level = best * (1.0 + rng.choice([-0.1, -1e-2, -1e-6, 1e-6, 1e-2, 0.1]))
            children, found = examine(S, node, c, level)
            where = f"{kind}, p={len(S)}, c={c}, taken={node.taken}, free={node.free}, {level / best}"
            if found is not None:
                assert np.linalg.eigvalsh(S[np.ix_(found, found)])[-1] >= level * (1 - 1e-12), where
                assert len(set(found)) == len(found) <= c, where
            elif level < best:
                assert children, where
                kept = max(best_in(child, values, S, c) for child in children)
                assert kept >= level * (1 - 1e-12), where
                branched += 1
            closed += not children and found is None
    assert closed > 300
    assert branched > 50


def test_the_complement_is_the_same_problem(rng):
    """A support I + K reaches the level exactly where K does in the Schur complement."""
    for _, S in matrices(rng, 80, 9):
        S = prepared(S)
        p = len(S)
        taken, free = np.arange(p // 3), np.arange(p // 3, p)
        level = float(np.linalg.eigvalsh(S)[-1]) * 0.9
        T = complement(S, Node(taken, free), level)
        if T is None:
            assert np.linalg.eigvalsh(S[: taken.size, : taken.size])[-1] >= level
            continue
        assert T.shape == (free.size, free.size)
        for size in range(1, free.size + 1):
            K = np.arange(size)
            whole = np.linalg.eigvalsh(S[: taken.size + size, : taken.size + size])[-1]
            if abs(whole - level) > 1e-9 * level:
                assert (np.linalg.eigvalsh(T[np.ix_(K, K)])[-1] >= level) == (whole >= level)


def test_numbers_of_largest_others():
    S = np.array([[9.0, -3.0, 2.0], [-3.0, 9.0, 1.0], [2.0, 1.0, 9.0]])
    assert [sorted(row) for row in largest_others(S, 1).tolist()] == [[3.0], [3.0], [2.0]]
    assert largest_others(S, 5).shape == (3, 2)
    assert largest_others(S, 0).shape == (3, 0)
