"""The rules of a fit: which numbers options take, what starts are chosen by, how many are candidates."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from spcastat.errors import SpcaError
from spcastat.fit.options import CHECKS
from spcastat.fit.plan import Request, make_plan
from spcastat.fit.starts import (
    Aim,
    candidates_among,
    candidates_to_begin,
    chosen,
    first_loadings,
    of_component,
    order_and_sign,
    row_seeded,
    starting_loadings,
)
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import GRAM_ORDER, Gram
from spcastat.measures import MEASURES
from spcastat.solvers.solver import Solution
from tests.search.conftest import draw

P, K = 16, 2
#: option -> numbers that it takes, among them the least and the largest there is, and some that it refuses:
#: shares lie from 0 to 1, L1 norms of p loadings of unit length from 1 to p^(1/2), numbers of things from 1.
NUMBERS = {
    "total": ([K, K * P], [K - 1, K * P + 1, 2.5]),
    "t": ([1.0, 4.0], [0.99, 4.01]),
    "penalty": ([0.0, 1e9], [-1e-9]),
    "threshold": ([0.0, 1.0], [-0.01, 1.01]),
    "mu": ([1e-90, 1e90], [0.0]),
    "epsilon": ([1e-9, 1.0], [0.0, 1.01]),
    "alpha": ([1e-9, 1e12], [0.0, 1.1e12]),
    "orthogonal": ([0.0, 1.0], [-0.01, 1.01]),
    "uncorrelated": ([0.0, 1e9], [-0.01]),
    "ridge": ([0.0, 1e9], [-0.01]),
    "variance": ([1e-9, 1.0], [0.0, 1.01]),
    "c": ([1, 1000], [0, 1.5]),
    "p": ([0.01, 0.99], [0.0, 1.0]),
    "grid": ([3, 10_000], [2, 10_001]),
    "sweeps": ([1, 1000], [0]),
    "n_init": ([1], [0, 10**9]),
    "screen": ([1, P], [0, P + 1, 2.5]),
    "max_iter": ([1, 10**6], [0]),
    "tol": ([0.0, 1.0], [-1e-9, 1.01]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_an_option_takes_what_its_meaning_allows(name):
    if name not in CHECKS:
        pytest.skip("no method has it")
    right, wrong = NUMBERS[name]
    for value in right:
        taken = CHECKS[name](value, K, P)
        assert taken in (value, (value,) * K)
    for value in wrong:
        with pytest.raises(SpcaError):
            CHECKS[name](value, K, P)


def solution(op, candidates, objectives):
    V = candidates[int(np.argmin(objectives))].T
    return Solution(V, "converged", 1, min(objectives), np.array(objectives), candidates=candidates)


def test_the_best_start_is_that_of_the_objective():
    op = Gram(draw(6, 1))
    rng = np.random.default_rng(0)
    starts = np.linalg.qr(rng.standard_normal((4, 6, 2)))[0].mT
    given = solution(op, starts, [0.3 * op.total, 0.2 * op.total, 0.2 * op.total, 0.25 * op.total])
    same, optima = chosen(op, given, Aim("pev"), np.zeros(2))
    assert same is given
    assert optima == [(pytest.approx(0.8), 2), (pytest.approx(0.75), 1), (pytest.approx(0.7), 1)]
    alone = SimpleNamespace(objectives=np.array([0.5 * op.total]), candidates=None)
    assert chosen(op, alone, Aim("adjusted"), np.zeros(2)) == (alone, [(pytest.approx(0.5), 1)])
    for objective in ("adjusted", "least_squares"):
        for sort in (True, False):
            values = []
            for U in starts:
                order = np.argsort(-np.einsum("ij,jk,ik->i", U, op.S, U)) if sort else [0, 1]
                values.append(MEASURES[objective](U[order].T, op)[-1])
            better, optima = chosen(op, given, Aim(objective), np.zeros(2) if sort else np.arange(2))
            np.testing.assert_array_equal(better.V, starts[np.argmax(values)].T)
            assert better.objective == pytest.approx(max(values) * op.total)
            np.testing.assert_allclose(better.objectives, np.array(values) * op.total)
            np.testing.assert_allclose([value for value, _ in optima], sorted(values, reverse=True))


def test_loadings_are_settled_by_variance_and_sign():
    S = np.diag([1.0, 5.0, 3.0])
    V = np.array([[-0.6, 0.0, 0.0], [0.0, -1.0, 0.0], [0.8, 0.0, -1.0]])
    found, order = order_and_sign(Gram(S), V, np.zeros(3))
    assert order.tolist() == [1, 2, 0]
    np.testing.assert_array_equal(
        found, np.abs(V[:, order]) * np.sign(np.array([[1, 1, -1], [1, 1, 1], [1, 1, 1]]))
    )
    assert not np.signbit(found[found == 0]).any()
    assert order_and_sign(Gram(S), V, np.arange(3))[1].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("p", "card", "screen", "must", "few", "count"),
    [
        (5000, (3, 2), None, True, False, 200),
        (5000, (80, 50), None, True, False, 260),
        (5000, (3, 2), None, False, False, 200),
        (5000, (3, 2), None, False, True, None),
        (150, (3, 2), True, False, True, 150),
        (5000, (3, 2), False, False, False, None),
        (5000, (3, 2), 7, False, True, 7),
        (5000, (3, 2), 3, False, True, 3),
        (5000, (3, 2), 2, False, True, "error"),
        (9000, (3, 2), GRAM_ORDER + 1, False, False, "error"),
        (9000, (GRAM_ORDER // 3, 1), None, False, False, None),
        (9000, (GRAM_ORDER // 3,), None, False, False, 2 * (GRAM_ORDER // 3)),
        (9000, (GRAM_ORDER,), True, False, False, GRAM_ORDER),
        (5000, (3, 2), False, True, False, "error"),
    ],
)
def test_how_many_variables_are_candidates_at_first(p, card, screen, must, few, count):
    """Two for each nonzero and two hundred at least; asked for, or needed, or of many variables."""
    solver = SimpleNamespace(card=card, screenable=True, out_of_core=False)
    if count == "error":
        with pytest.raises(SpcaError):
            candidates_among(p, solver, Aim("pev", screen), must=must, few=few)
        return
    assert candidates_among(p, solver, Aim("pev", screen), must=must, few=few) == count


def test_what_is_not_screened():
    solver = SimpleNamespace(card=(3,), screenable=True, out_of_core=False)
    for aim, one in (
        (None, solver),
        (Aim("adjusted"), solver),
        (Aim("pev"), SimpleNamespace(screenable=False, out_of_core=False)),
    ):
        assert candidates_among(5000, one, aim, must=False) is None
        with pytest.raises(SpcaError, match="are not in memory"):
            candidates_among(5000, one, aim, must=True)
    joint = SimpleNamespace(screenable=False, out_of_core=True)
    assert candidates_among(5000, joint, Aim("pev"), must=True) is None
    for p, held, out, count in (
        (GRAM_ORDER, None, False, None),
        (GRAM_ORDER + 1, None, False, 200),
        (5000, 1, False, None),
        (5000, None, True, 200),
    ):
        op = SimpleNamespace(p=p, held=held, out_of_core=out)
        assert candidates_to_begin(op, solver, Aim("pev")) == count


def test_starts_are_pca_its_rotations_and_then_rows_and_random_ones_in_turn():
    op = Gram(draw(6, 2))
    pca, rng = op.leading(2)[1], np.random.default_rng(0)
    found = starting_loadings(op, pca, 7, rng)
    assert found.shape == (7, 2, 6)
    np.testing.assert_array_equal(found[0].T, pca)
    np.testing.assert_allclose(found[1].T, varimax(pca), atol=1e-12)
    np.testing.assert_allclose(found[2].T, varimax(pca, normalise=True), atol=1e-12)
    rows = op.S / np.linalg.norm(op.S, axis=0)
    of_rows = [np.isclose(np.abs(one @ rows), 1.0, atol=1e-12).any(axis=1).all() for one in found[3:]]
    assert of_rows == [True, False, True, False]
    first = np.eye(6)[:, :2]
    np.testing.assert_array_equal(starting_loadings(op, pca, 1, rng, first)[0].T, first)
    three = starting_loadings(op, pca, 3, rng, first)
    np.testing.assert_array_equal(three[1].T, pca)
    np.testing.assert_allclose(three[2].T, varimax(pca), atol=1e-12)
    assert starting_loadings(op, pca, 2, rng).shape == (2, 2, 6)


def test_rows_that_seed_starts_vary_and_differ():
    S = np.zeros((5, 5))
    S[1:4, 1:4] = draw(3, 0)
    rng = np.random.default_rng(0)
    columns = (S / np.maximum(np.linalg.norm(S, axis=0), 1e-9))[:, 1:4]
    for _ in range(20):
        V = row_seeded(Gram(S), 3, rng)
        which = [int(np.argmin(np.abs(columns - v[:, None]).sum(axis=0))) for v in V.T]
        assert sorted(which) == [0, 1, 2]
        np.testing.assert_allclose(V, columns[:, which], atol=1e-12)
    assert np.linalg.norm(row_seeded(Gram(S), 5, rng), axis=0) == pytest.approx(np.ones(5))


def test_starts_of_one_component():
    """The one asked for, PCA of what is left and the longest column, then rows and random ones."""
    op = Gram(draw(6, 2))
    rng = np.random.default_rng(0)
    pca = op.leading(1)[1][:, 0]
    for start, count in (("pca", 4), (np.eye(6)[:, :3], 5)):
        found = list(of_component(op, start, 1, count, rng))
        assert len(found) == count
        assert all(np.linalg.norm(v) == pytest.approx(1.0) for v in found)
    np.testing.assert_array_equal(found[0], np.eye(6)[1])
    assert any(np.allclose(np.abs(v), np.abs(pca)) for v in found[1:3])
    assert len(list(of_component(op, "pca", 0, 1, rng))) == 1


def test_as_many_starts_as_are_asked_for_or_as_the_method_has():
    several = make_plan(Request(K, card=3, method="bcd-l0"), P)
    assert several.n_init == several.solver.n_init
    assert make_plan(Request(K, card=3, method="bcd-l0", n_init=1), P).n_init == 1
    assert make_plan(Request(K, card=3, method="bcd-l0", n_init=3), P).n_init == 3


def test_the_start_of_columns_has_the_pivots_of_cholesky():
    """One after another the variable of which the ones before leave most, in any unit."""
    for seed in range(5):
        S = 1e-3 * draw(6, seed)
        left, expected = S.copy(), []
        for _ in range(4):
            i = int(np.argmax(np.diag(left)))
            expected.append(i)
            left = left - np.outer(left[i], left[i]) / left[i, i]
            left[i] = left[:, i] = 0.0
        V = first_loadings(Gram(S), np.zeros((6, 4)), "column")
        assert [np.flatnonzero(v).tolist() for v in V.T] == [[i] for i in expected]
        assert (V.sum(axis=0) == 1.0).all()
