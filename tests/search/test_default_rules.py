"""The parts of the default search: matrices, starts, rebuilt components and nearby fits."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import eigh

from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.search import chains as pool
from spcastat.search import default
from spcastat.search.chains import best_predictor, from_directions
from spcastat.search.climbing import EFFORTS, Evidence
from spcastat.search.criteria import CRITERIA, criterion_of_matrix, criterion_of_operator
from spcastat.search.default import near
from spcastat.search.matrices import Dense, Identity, Products, whitening
from spcastat.search.moves import rebuild, refined
from spcastat.search.working_set import found_of
from tests.search.conftest import draw


def gram(p=12, seed=3):
    return Gram(draw(p, seed))


# --- matrices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 2, 5])
def test_products_with_sparse_columns_are_those_with_dense_ones(c):
    S = np.stack([draw(9, seed) for seed in range(3)])
    rng = np.random.default_rng(0)
    places = np.stack([np.sort(rng.permutation(9)[:c]) for _ in range(7)])
    x = rng.standard_normal(places.shape)
    which = np.array([2, 0, 1, 1, 0, 2, 0])
    V = np.zeros((7, 9))
    np.put_along_axis(V, places, x, axis=1)
    op = Gram(S[0])
    cases = [
        (Dense(S[0]), np.repeat(S[:1], 7, axis=0)),
        (Dense(S).of(which), S[which]),
        (Identity(9), np.repeat(np.eye(9)[None], 7, axis=0)),
        (Products(op), np.repeat(S[:1] / op.total, 7, axis=0)),
        (Products(op, 2), np.repeat(S[:1] @ S[:1] / op.total**2, 7, axis=0)),
    ]
    columns = np.stack([rng.permutation(9)[:4] for _ in range(7)])
    for M, dense in cases:
        np.testing.assert_allclose(M.products(places, x), (V[:, None] @ dense)[:, 0], atol=1e-12)
        np.testing.assert_allclose(
            M.forms(places, x), (V[:, None] @ dense @ V[:, :, None])[:, 0, 0], atol=1e-12
        )
        np.testing.assert_allclose(
            np.broadcast_to(M.diagonal(), (7, 9)), np.einsum("bii->bi", dense), atol=1e-12
        )
        np.testing.assert_allclose(
            M.entries(columns), [dense[b, J, J] for b, J in enumerate(columns)], atol=1e-12
        )
        for first, second in ((places, columns), (columns, places), (places, places)):
            expected = [dense[b][np.ix_(first[b], second[b])] for b in range(7)]
            np.testing.assert_allclose(M.blocks(first, second), expected, atol=1e-12)


def test_products_of_many_columns_are_gathered_in_parts():
    S = np.cov(np.random.default_rng(0).standard_normal((50, 1000)), rowvar=False)
    rng = np.random.default_rng(1)
    places = np.sort(np.argsort(rng.random((900, 1000)), axis=1)[:, :5], axis=1)
    x = rng.standard_normal(places.shape)
    V = np.zeros((900, 1000))
    np.put_along_axis(V, places, x, axis=1)
    np.testing.assert_allclose(Dense(S).products(places, x), V @ S, atol=1e-12)


def test_a_matrix_is_whitened_up_to_a_ridge():
    """1e-9 on the diagonal of its correlations: their eigenvalues, by themselves and the ridge, stay."""
    S = draw(6, 1)
    size = np.sqrt(np.diag(S))
    values = np.linalg.eigvalsh(S / np.outer(size, size))
    K = whitening(S[None])[0]
    found = np.linalg.eigvalsh(K @ S @ K.T)
    assert (found < 1.0).all()
    np.testing.assert_allclose(np.sort(1.0 - found), np.sort(1e-9 / (values + 1e-9)), rtol=1e-4)


def test_a_matrix_that_rounding_made_indefinite_is_whitened():
    B = np.ones((3, 3))
    B[0, 1:] = B[1:, 0] = 1.0 + 1e-8  # the cosine of no angle
    B *= np.outer([2.0, 3.0, 5.0], [2.0, 3.0, 5.0])
    assert np.linalg.eigvalsh(B)[0] < 0.0
    K = whitening(B[None])[0]
    assert np.linalg.eigvalsh(K @ B @ K.T)[-1] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("objective", CRITERIA)
def test_criteria_by_products_are_those_of_the_matrix(objective):
    op = gram()
    V = op.leading(3)[1]
    one = criterion_of_operator(op, (4, 2, 3), objective)
    other = criterion_of_matrix(op.S / op.total, (4, 2, 3), objective)
    fits = [from_directions(criterion, [V, V[::-1]]) for criterion in (one, other)]
    np.testing.assert_allclose(fits[0].value, fits[1].value, rtol=1e-9)
    for i in range(3):
        np.testing.assert_allclose(one.pull(fits[0], i)[0], other.pull(fits[1], i)[0], atol=1e-12)


@pytest.mark.parametrize("card", [1, 3, 4, 12])
def test_one_component_is_one_search_over_one_support(card):
    op = gram(12)
    found = default.joint(op, 1, (card,), "pev")
    best = max(np.linalg.eigvalsh(op.S[np.ix_(J, J)])[-1] for J in combinations(range(12), card))
    assert found.value == pytest.approx(best / op.total, rel=1e-9)
    assert found.optima == ((found.value, 1),)
    assert (found.starts, found.hits, found.chains, found.agreeing, found.unseen) == (1, 1, 1, 1, 0.0)
    assert found.proven or card in (3, 4)


def test_a_component_of_up_to_two_hundred_variables_may_be_proven():
    for p, proven in ((50, True), (201, False)):
        op = Gram(np.diag(np.arange(p, 0.0, -1.0)))
        assert default.joint(op, 1, (3,), "pev").proven is proven


# --- starts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", CRITERIA)
def test_a_pool_has_the_directions_of_pca(objective):
    op = gram()
    criterion = criterion_of_matrix(op.S / op.total, (3, 2), objective)
    vectors = op.leading(4)[1]
    fits = pool.pool(criterion, vectors, 12, np.random.default_rng(0), True)
    cut = from_directions(criterion, [vectors[:, :2]])
    assert len(fits) == len(pool.pool(criterion, vectors, 12, np.random.default_rng(0), False)) == 12
    assert cut.places[0].tolist() in fits.places.tolist()
    assert fits.value.max() >= cut.value[0]
    assert len({tuple(places) for places in fits.places.tolist()}) > 3


@pytest.mark.parametrize("seed", range(4))
def test_greedy_fits_of_many_variables_start_from_those_of_largest_variance(seed):
    """Of 400 variables three have a larger variance and go together; few random rows would miss them."""
    S = np.eye(400)
    S[:3, :3] = 1.8 + 0.2 * np.eye(3)
    criterion = criterion_of_matrix(S / np.trace(S), (3,), "pev")
    found = pool.greedy(criterion, 1, np.random.default_rng(seed), plain=True)
    assert found.places.tolist() == [[0, 1, 2]]


def test_bases_span_the_directions_they_are_made_of():
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.standard_normal((9, 6)))[0]
    found = pool.bases(vectors, 3, 8, rng)
    assert len(found) == 8
    spans = [vectors[:, :3], vectors[:, :3], vectors[:, :4], vectors] * 2
    for draw_, (V, Q) in enumerate(zip(found, spans, strict=True)):
        assert V.shape == (9, 3)
        np.testing.assert_allclose(Q @ (Q.T @ V), V, atol=1e-12)
        orthonormal = np.allclose(V.T @ V, np.eye(3), atol=1e-12)
        assert orthonormal == (draw_ % 4 in (0, 3))
        assert np.linalg.matrix_rank(V) == 3
    # of one more direction they use all
    assert np.abs(found[2].T @ vectors[:, 3]).max() > 1e-3
    assert len(pool.mixtures(vectors, 3, 5, rng)) == 5
    for V in pool.mixtures(vectors[:, :2], 2, 4, rng):
        np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("objective", CRITERIA)
def test_a_rebuilt_component_has_the_best_loadings_on_its_support(objective):
    """The leading generalised eigenvalue; and the second best component is not better than the best."""
    op = gram()
    criterion = criterion_of_matrix(op.S / op.total, (3, 4), objective)
    fits = from_directions(criterion, [op.leading(2)[1]] * 5)
    criterion.empty(fits, np.arange(5), 1)
    model = criterion.model_given_others(fits)
    rebuild(criterion, fits, np.arange(5), 1, np.tile(np.arange(12), (5, 1)), np.array([0, 1, 2, 3, 50]))
    support = fits.places[:, 3:]
    parts = model.bordered(support, support[:, :0])
    for b, v in enumerate(fits.x[:, 3:]):
        M = np.eye(4) if parts.M is None else parts.M[b]
        assert len(set(support[b])) == 4
        # the ridge of 1e-9 that the inner product has as correlations
        assert v @ parts.A[b] @ v / (v @ M @ v) == pytest.approx(eigh(parts.A[b], M)[0][-1], rel=1e-6)
    assert fits.value[0] == pytest.approx(fits.value.max(), rel=1e-9)
    assert (np.diff(fits.value) <= 1e-9).all()


def test_more_effort_is_more_of_everything():
    """More effort is more of everything."""
    quick, auto, thorough = (EFFORTS[name] for name in ("quick", "auto", "thorough"))
    for less, more in ((quick, auto), (auto, thorough)):
        for name in ("chains", "kicks", "agree", "rounds", "width", "valued", "deep"):
            assert getattr(less, name) <= getattr(more, name)
    assert replace(quick, deep=True) != quick


# --- parts of fits --------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", CRITERIA)
def test_a_component_that_is_taken_out_leaves_no_trace(objective):
    op = gram()
    criterion = criterion_of_matrix(op.S / op.total, (3, 2, 4), objective)
    fits = from_directions(criterion, [op.leading(3)[1], op.leading(3)[1][::-1], op.leading(3)[1] ** 2])
    before = fits.some(slice(None))
    criterion.empty(fits, np.array([0, 2]), 1)
    for b in (0, 2):
        V = criterion.dense(before)[b]
        V[:, 1] = 0.0
        np.testing.assert_array_equal(criterion.dense(fits)[b], V)
        S = op.S / op.total
        M = np.eye(12) if objective == "pev" else S
        np.testing.assert_allclose(fits.G[b], V.T @ M @ V, atol=1e-14)
        np.testing.assert_allclose(fits.first[b], (M @ V).T, atol=1e-14)
        if objective != "adjusted":
            T = S if objective == "pev" else S @ S
            np.testing.assert_allclose(fits.N[b], V.T @ T @ V, atol=1e-14)
            np.testing.assert_allclose(fits.second[b], (T @ V).T, atol=1e-14)
    for name in ("x", "G", "N", "first", "second"):
        np.testing.assert_array_equal(getattr(fits, name)[1], getattr(before, name)[1])


@pytest.mark.parametrize("objective", CRITERIA)
def test_nearby_fits_keep_their_supports_if_asked(objective):
    op = gram()
    start = np.roll(np.eye(12)[:, :2], 4, axis=0) + 1e-3 * op.leading(2)[1]
    criterion = criterion_of_matrix(op.S / op.total, (3, 2), objective)
    cut = from_directions(criterion, [start])
    kept, free = (near([op], (3, 2), objective, [[start]], fixed)[0] for fixed in (True, False))
    expected = criterion.dense(refined(criterion, cut, 300))[0]
    np.testing.assert_allclose(kept, expected, atol=1e-9)
    assert MEASURES[objective](free, op)[-1] > 1.05 * MEASURES[objective](kept, op)[-1]


def test_the_best_predictor_is_reported_with_the_climbs_that_led_to_it():
    op = gram(8)
    fit, evidence = best_predictor(criterion_of_matrix(op.S / op.total, (3,), "least_squares"))
    S = op.S / op.total
    ratios = []
    for J in map(list, combinations(range(8), 3)):
        ratios.append(eigh((S @ S)[np.ix_(J, J)], S[np.ix_(J, J)], eigvals_only=True)[-1])
    assert fit.value[0] == pytest.approx(max(ratios), rel=1e-9)
    assert evidence.chains == [fit.value[0]]
    assert max(evidence.values) == pytest.approx(max(ratios), rel=1e-6)
    assert 1 <= len(evidence.values) <= 30


def test_chains_that_ended_in_the_best_fit_agree():
    op = gram(8)
    found = default.joint(op, 2, (3, 2), "pev")
    assert found.chains == EFFORTS["auto"].chains
    assert EFFORTS["auto"].agree <= found.agreeing <= found.chains
    criterion = criterion_of_matrix(op.S / op.total, (3, 2), "pev")
    fit = from_directions(criterion, [op.leading(2)[1]])
    evidence = Evidence([0.4, 0.5, 0.4], [0.5, 0.5 * (1 - 0.9e-6), 0.5 * (1 - 1.1e-6)])
    assert found_of(op, criterion, fit, evidence, "pev", True).agreeing == 2
