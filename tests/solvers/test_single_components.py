"""Solvers of one component at a time, asked directly: what they do inside a fit and at its edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spcastat.fit.method_table import SOLVERS
from spcastat.linalg.operators import Gram
from spcastat.solvers.penalised import Penalised, Run
from spcastat.solvers.rank_one import PMD
from spcastat.solvers.solver import ComponentSolver, Earlier

SINGLE = [
    name
    for name, method in SOLVERS.items()
    if issubclass(method.solver, ComponentSolver) and method.solver.needs == "gram"
]
PENALISED = [name for name in SINGLE if issubclass(SOLVERS[name].solver, Penalised)]


def covariance(seed: int, p: int = 8) -> Gram:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, p)) * rng.uniform(0.5, 1.5, p) + rng.standard_normal((30, 1))
    return Gram(np.cov(A, rowvar=False))


def with_card(name: str, card: int) -> Penalised:
    solver = SOLVERS[name].build({"card": (card,)})
    assert isinstance(solver, Penalised)
    return solver


@pytest.mark.parametrize("name", PENALISED)
@pytest.mark.parametrize("card", [1, 2, 3, 5, 7])
def test_the_penalty_that_a_cardinality_implies_leaves_its_loadings_where_they_are(name, card):
    # Thresholding at the next value comes to rest at loadings for which the penalty is that value: a step
    # with it changes them by no more than the tolerance at which the iteration ended, and the 1e-9.
    for seed in range(3):
        op = covariance(seed)
        solver, start = with_card(name, card), op.leading(1)[1][:, 0]
        found = solver.at_card(op, start, card)
        assert found.converged
        assert np.count_nonzero(found.v) == card
        penalty = found.penalty * (1.0 + 1e-9)  # so that rounding keeps nothing at the threshold
        again = solver.at_penalty(op, found.v, penalty)
        assert (again.n_iter, again.converged, again.penalty) == (1, True, penalty)
        np.testing.assert_allclose(again.v, found.v, rtol=0, atol=2 * solver.tol)
        if name != "pmd":  # whose bound comes from loadings that are converged to the tolerance only
            np.testing.assert_array_equal(again.v != 0, found.v != 0)
        np.testing.assert_allclose(again.raw, found.raw, rtol=0, atol=20 * solver.tol)


@pytest.mark.parametrize("name", PENALISED)
def test_the_largest_penalty_leaves_one_loading_or_none_and_less_leaves_one(name):
    for seed in range(3):
        op = covariance(seed)
        solver, start = with_card(name, 3), op.leading(1)[1][:, 0]
        largest = solver.largest_penalty(op, start)
        above, below = (solver.at_penalty(op, start, largest * (1.0 + by)) for by in (1e-9, -0.05))
        # Under a bound on the l1 norm one loading is always left.
        assert np.count_nonzero(above.v) == (1 if name == "pmd" else 0)
        assert above.converged
        assert np.count_nonzero(below.v) >= 1


@pytest.mark.parametrize("name", PENALISED)
def test_no_penalty_is_pca_and_the_raw_loadings_have_the_length_of_the_scores(name):
    op = covariance(4)
    value, vector = op.leading(1)
    solver = with_card(name, 3)
    found = solver.at_penalty(op, np.eye(8)[0], 0.0)
    np.testing.assert_allclose(np.abs(found.v), np.abs(vector[:, 0]), atol=1e-6)
    done = solver.finished(op, found, {})
    np.testing.assert_allclose(np.linalg.norm(done.raw), np.sqrt(value[0]), rtol=1e-6)
    np.testing.assert_allclose(done.raw / np.linalg.norm(done.raw), done.v, atol=1e-12)


@pytest.mark.parametrize("name", SINGLE)
def test_where_nothing_is_left_of_the_data_any_direction_does(name):
    empty, start = Gram(np.zeros((5, 5))), np.array([0.1, -0.7, 0.5, 0.1, -0.5]) / np.sqrt(1.01)
    options = {"card": (3,)} if "card" in SOLVERS[name].options else {"variance": 0.9}
    solver = SOLVERS[name].build(options)
    earlier = Earlier(0, 0.0, np.zeros(1), np.random.default_rng(0))
    found = solver.component(empty, earlier, start)
    assert np.linalg.norm(found.v) == pytest.approx(1.0, rel=1e-12)
    assert found.status in ("exact", "converged")
    if name != "scotlass":  # which keeps where it begins
        assert 1 <= np.count_nonzero(found.v) <= 3
    if solver.uses_starts and np.count_nonzero(found.v) == 3:
        np.testing.assert_array_equal(np.flatnonzero(found.v), [1, 2, 4])
        assert (np.sign(found.v[[1, 2, 4]]) == [-1, 1, -1]).all()


def test_within_an_l1_norm_too():
    empty, start = Gram(np.zeros((4, 4))), np.array([0.7, -0.7, 0.1, 0.1])
    for bound in (1.0, 1.3, 2.0):
        found = PMD(t=(bound,)).component(empty, Earlier(0, 0.0, np.zeros(1)), start)
        assert np.linalg.norm(found.v) == pytest.approx(1.0, rel=1e-12)
        assert np.abs(found.v).sum() == pytest.approx(min(bound, 1.6 / np.linalg.norm(start)), rel=1e-9)
        assert found.details == {"t": bound, "l1 norm": pytest.approx(np.abs(found.v).sum(), rel=1e-12)}
        assert (found.status, found.n_iter) == ("converged", 1)


# --- which of two runs is taken --------------------------------------------------------------------


def run(v: list[float], penalty: float, converged: bool = True) -> Run:
    loadings = np.array(v)
    return Run(loadings, loadings, 1, converged, penalty)


def test_which_run_is_taken_at_a_cardinality():
    soft, hard = with_card("rsvd-l1", 2), with_card("rsvd-l0", 2)
    found = run([0.8, 0.6, 0.0], 0.5)
    # The same support at a smaller penalty, and loadings of their own:
    assert soft.prefers(run([0.6, 0.8, 0.0], 0.4), found)
    assert not soft.prefers(run([0.6, 0.8, 0.0], 0.4, converged=False), found)
    assert not soft.prefers(run([0.6, 0.8, 0.0], 0.5), found)
    assert not soft.prefers(run([0.6, 0.8, 0.0], 0.5 * (1 - 5e-7)), found)
    assert not soft.prefers(run([0.8 + 5e-7, 0.6, 0.0], 0.4), found)
    assert not soft.prefers(run([0.6, 0.0, 0.8], 0.4), found)
    # Where thresholding solves a step exactly, another support:
    assert hard.prefers(run([0.6, 0.0, 0.8], 0.6), found)
    assert not hard.prefers(run([0.6, 0.0, 0.8], 0.6, converged=False), found)
    assert not hard.prefers(run([0.6, 0.8, 0.0], 0.4), found)


@pytest.mark.parametrize("name", ["rsvd-l1", "gpower-l1", "rsvd-scad"])
def test_no_smaller_penalty_gives_the_cardinality(name):
    for seed, card in itertools.product(range(2), (2, 4, 6)):
        op = covariance(seed)
        solver, start = with_card(name, card), op.leading(1)[1][:, 0]
        found = solver.component(op, Earlier(0, 0.0, np.zeros(1)), start)
        assert np.count_nonzero(found.v) == card
        # The bracket is a millionth of the largest penalty wide where the search ends.
        less = found.details["penalty"] - 1.1e-6 * solver.largest_penalty(op, start)
        assert np.count_nonzero(solver.at_penalty(op, start, less).v) > card
