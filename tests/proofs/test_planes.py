"""Bounds for three components on given supports, two of which hold a plane each."""

import numpy as np

from spcastat.proofs.duals import support_bounds
from spcastat.proofs.projection_bounds import spanned_bounds

SUPPORTS = ([0, 1, 2], [2, 3, 4], [1, 4, 5])


def problems(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2, 30, 7))
    bases = [np.broadcast_to(np.eye(7)[:, J], (2, 7, len(J))).copy() for J in SUPPORTS]
    return np.einsum("bni,bnj->bij", X, X) / 30, bases


def explained(M, rng):
    """The variance that the best of many loadings on the supports explain together, from below."""
    best = 0.0
    for _ in range(300):
        V = np.zeros((7, 3))
        for i, J in enumerate(SUPPORTS):
            V[J, i] = rng.standard_normal(len(J))
        Q = np.linalg.qr(V)[0]
        best = max(best, float(np.trace(Q.T @ M @ Q)))
    return best


def test_planes_lower_what_is_not_below_its_level_yet():
    lowered = 0
    for seed in range(4):
        M, bases = problems(seed)
        alone = support_bounds(M, bases, 3, -np.inf, 200)
        both = spanned_bounds(M, bases, 3, -np.inf, 200, lambda: True)
        assert (both <= alone).all()
        lowered += int((both < alone - 1e-3).sum())
        rng = np.random.default_rng(seed)
        assert (both >= [explained(one, rng) for one in M]).all()
    assert lowered >= 3


def test_bounds_below_their_level_are_left_as_they_are():
    M, bases = problems(0)
    alone = support_bounds(M, bases, 3, np.inf, 200)
    np.testing.assert_array_equal(spanned_bounds(M, bases, 3, np.inf, 200, lambda: True), alone)
