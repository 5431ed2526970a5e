"""The joint search in brief: of several data at once what it is of each alone."""

from __future__ import annotations

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.search.chains import from_directions
from spcastat.search.criteria import CRITERIA, criterion_of_matrix
from spcastat.search.default import near, together
from spcastat.search.moves import refined
from tests.search.conftest import draw

P, K, CARD = 9, 3, (4, 3, 3)


def problems(count):
    ops = [Gram(draw(P, seed)) for seed in range(count)]
    return ops, [[np.roll(np.eye(P)[:, :K], 2, axis=0), op.leading(K)[1]] for op in ops]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("objective", CRITERIA)
def test_several_data_at_once_give_what_each_gives_alone(objective, fixed):
    ops, starts = problems(5)
    found = near(ops, CARD, objective, starts, fixed)
    for op, own, V in zip(ops, starts, found, strict=True):
        alone = near([op], CARD, objective, [own], fixed)[0]
        values = [MEASURES[objective](W, op)[-1] for W in (V, alone)]
        # both end where a step raises the share by less than 1e-12 of itself
        assert values[0] == pytest.approx(values[1], rel=1e-10)
        assert {tuple(np.flatnonzero(v)) for v in V.T} == {tuple(np.flatnonzero(v)) for v in alone.T}


@pytest.mark.parametrize("objective", CRITERIA)
def test_fits_of_several_matrices_have_the_figures_of_their_own(objective):
    """Values, slopes and exchanges by the criterion of one matrix are what those of the stack have to be."""
    ops, starts = problems(3)
    S = np.stack([op.block(np.arange(P)) / op.total for op in ops])
    stack = criterion_of_matrix(S, CARD, objective)
    of = np.array([2, 0, 1, 2])
    fits = from_directions(stack, [starts[d][1] for d in of], of)
    fits = refined(stack, fits, 5)
    for b, d in enumerate(of):
        single = criterion_of_matrix(S[d], CARD, objective)
        own = single.fits(fits.places[b : b + 1], fits.x[b : b + 1])
        np.testing.assert_allclose(fits.value[b], own.value[0], rtol=1e-12)
        for i in range(K):
            for one, other in zip(stack.pull(fits, i), single.pull(own, i), strict=True):
                np.testing.assert_allclose(one[b], other[0], atol=1e-12)
            model, alone = stack.model(fits, i), single.model(own, i)
            np.testing.assert_allclose(model.corners()[b], alone.corners()[0], atol=1e-12)
            outside = np.array([[7, 8]])
            both = model.bordered(fits.places[:, stack.parts[i]], np.repeat(outside, 4, axis=0))
            one = alone.bordered(own.places[:, stack.parts[i]], outside)
            np.testing.assert_allclose(both.A[b], one.A[0], atol=1e-12)
            np.testing.assert_allclose(both.corner[b], one.corner[0], atol=1e-12)


def test_how_many_go_together_is_bounded_by_memory():
    assert together(10) == together(50) > together(200) > together(1000) == 1


@pytest.mark.parametrize("objective", CRITERIA)
def test_more_variables_than_a_covariance_matrix_is_held_for_are_searched_by_products(objective):
    p = 1001
    X = np.random.default_rng(0).standard_normal((40, p))
    X[:, :9] += 3.0 * np.random.default_rng(1).standard_normal((40, 1))
    op, start = Gram(np.cov(X, rowvar=False)), np.roll(np.eye(p)[:, :K], 2, axis=0)
    start[20:30] = 1e-3
    fixed = near([op], CARD, objective, [[start]], fixed=True)[0]
    free = near([op], CARD, objective, [[start]])[0]
    supports = [np.flatnonzero(v).tolist() for v in fixed.T]
    assert supports == [[i + 2, *range(20, 19 + c)] for i, c in enumerate(CARD)]
    # Unit vectors are far from the best supports, and sweeps leave them.
    assert MEASURES[objective](free, op)[-1] > 1.01 * MEASURES[objective](fixed, op)[-1]
