"""Bounds on PEV for orthogonal loadings, and a search for such loadings.

If v_1, ..., v_k are orthonormal, PEV is sum v_j' S v_j. A component explains at most the largest eigenvalue
on its support, and no other component can use the variable of a one-variable component. See also Cory-Wright
and Pauphilet, "Sparse PCA with multiple components".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.proofs import duals
from spcastat.proofs.duals import ROUNDING, Bases, Running, ky_fan
from spcastat.proofs.one_component import Incumbent
from spcastat.proofs.relaxed import Projection, Relaxed, Root, SeparableBound, bounds_alone
from spcastat.search.criteria import SupportRule
from spcastat.search.default import joint
from spcastat.search.matrices import SMALLEST

# --- the search -----------------------------------------------------------------------------------


#: Vectors whose norm after projection is below this are treated as linearly dependent.
DEPENDENT = 1e-8
#: Number of exchanges per component from which ascents start: those that raise PEV most with the other
#: loadings fixed.
EXCHANGES = 4


def search_orthogonal(
    S: np.ndarray, cards: tuple[int, ...], starts: list[np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return orthonormal loadings of given cardinalities, and their PEV, by exchanges from several starts.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    cards : tuple of int
        One cardinality per component, below p.
    starts : list of ndarray of shape (p, k)
        Loadings, orthogonal or not; the positions of their largest entries are the initial supports.
    rng : numpy Generator

    Returns
    -------
    V : ndarray of shape (p, k)
        All zero if no orthogonal loadings were found.
    value : float
    """
    p, k = len(S), len(cards)
    leading = np.linalg.eigh(S)[1][:, -2 * k :]
    V, value, held = np.zeros((p, k)), -np.inf, _largest(starts[0], cards)
    # start from the given supports, then from randomly rotated principal axes and variations of the best fit
    for number in range(24):
        if number < len(starts):
            begin = _largest(starts[number], cards)
        elif number % 2 or not V.any():
            turned = np.linalg.qr(rng.standard_normal((leading.shape[1], k)))[0]
            begin = _largest(leading @ turned, cards)
        else:
            begin = held.copy()
            for j in rng.integers(k, size=2):
                begin[rng.choice(np.flatnonzero(begin[:, j])), j] = False
                begin[rng.choice(np.flatnonzero(~begin[:, j])), j] = True
        found, reached, support = _exchanged(S, begin, rng, 3)
        if reached > value:
            V, value, held = found, reached, support
    found, reached, _ = _exchanged(S, held, rng, 10)
    return (found, reached) if reached > value else (V, value)


def _largest(V: np.ndarray, cards: tuple[int, ...]) -> np.ndarray:
    """Return a bool array of shape (p, k) that marks the largest loadings of each column, `cards` of them."""
    held = np.zeros(V.shape, dtype=bool)
    for j, card in enumerate(cards):
        held[np.argsort(-np.abs(V[:, j]), kind="stable")[:card], j] = True
    return held


def _exchanged(
    S: np.ndarray, held: np.ndarray, rng: np.random.Generator, climbs: int
) -> tuple[np.ndarray, float, np.ndarray]:
    """Exchange variables while that raises PEV; return loadings, PEV and supports.

    On each choice of supports, loadings are found by ascent from leading eigenvectors and, as this may end in
    a poor local optimum, by `climbs` further ascents from random loadings.
    """
    value, V = -np.inf, np.zeros(held.shape)
    tried = held[None]
    while True:
        fits, values = climb_orthogonal(S, tried, rng)
        for _ in range(climbs):
            others, reached = climb_orthogonal(S, tried, rng, True)
            better = reached > values
            fits[better], values[better] = others[better], reached[better]
        best = int(np.argmax(values))
        if values[best] <= value + DEPENDENT:
            return V, value, held
        V, value, held = fits[best], float(values[best]), tried[best]
        tried = np.concatenate([_promising(S, V, held, j) for j in range(V.shape[1])])


def _promising(S: np.ndarray, V: np.ndarray, held: np.ndarray, j: int) -> np.ndarray:
    """Return the supports, shape (EXCHANGES, p, k), after the best exchanges in component j alone.

    With the other loadings as they are, component j explains the largest eigenvalue of S on the part of its
    support's space that is orthogonal to them.
    """
    inside, outside = np.flatnonzero(held[:, j]), np.flatnonzero(~held[:, j])
    leaves, enters = np.repeat(np.arange(inside.size), outside.size), np.tile(outside, inside.size)
    at = np.repeat(inside[None], leaves.size, axis=0)
    at[np.arange(leaves.size), leaves] = enters
    room = _room(np.delete(V, j, axis=1)[at])
    gains = np.linalg.eigvalsh(room @ S[at[:, :, None], at[:, None, :]] @ room)[:, -1]
    best = np.argsort(-gains, kind="stable")[:EXCHANGES]
    tried = np.repeat(held[None], best.size, axis=0)
    tried[np.arange(best.size), inside[leaves[best]], j] = False
    tried[np.arange(best.size), enters[best], j] = True
    return tried


def _room(others: np.ndarray) -> np.ndarray:
    """Return the projections, (B, c, c), on the orthogonal complements of `others`, (B, c, k - 1)."""
    U, sizes, _ = np.linalg.svd(others, full_matrices=False)
    U = U * (sizes > DEPENDENT)[:, None, :]
    return np.eye(others.shape[1]) - U @ U.mT


def climb_orthogonal(
    S: np.ndarray, held: np.ndarray, rng: np.random.Generator, disturbed: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal loadings on given supports, by ascent in one component at a time, and their PEV.

    Parameters
    ----------
    S : ndarray of shape (p, p)
    held : ndarray of bool, shape (B, p, k)
        The supports; each component has a support of the same size in all fits.
    rng : numpy Generator
    disturbed : bool
        Whether to start from random loadings rather than from leading eigenvectors.

    Returns
    -------
    V : ndarray of shape (B, p, k)
    value : ndarray of shape (B,)
        Minus infinity if no orthogonal loadings on these supports were found.

    Notes
    -----
    Each component in turn becomes the leading eigenvector of S on the part of its support's space that is
    orthogonal to all other components.
    """
    B, p, k = held.shape
    fit = np.arange(B)[:, None]
    places = [np.nonzero(held[:, :, j])[1].reshape(B, -1) for j in range(k)]
    # shifted so that the leading eigenvector is orthogonal to the others even if S is zero on the support
    blocks = [S[at[:, :, None], at[:, None, :]] + np.eye(at.shape[1]) / p for at in places]
    V = np.zeros((B, p, k))
    value = np.full(B, -np.inf)
    order = rng.permutation(k) if disturbed else np.argsort(held[0].sum(axis=0), kind="stable")
    for sweep in range(60):
        for j in order:
            room = _room(np.delete(V, j, axis=2)[fit, places[j]])
            if sweep == 0 and disturbed:
                v = rng.standard_normal(places[j].shape)
            else:
                v = np.linalg.eigh(room @ blocks[j] @ room)[1][:, :, -1]
            v = (room @ v[:, :, None])[:, :, 0]
            size = np.linalg.norm(v, axis=1, keepdims=True)
            V[fit, places[j], j] = np.where(size > DEPENDENT, v / np.maximum(size, SMALLEST), 0.0)
        new = np.einsum("bij,bij->b", V, S @ V)
        if (new <= value * (1.0 + 1e-12)).all():
            break
        value = np.maximum(value, new)
    products = V.mT @ V - np.eye(k)
    return V, np.where(np.abs(products).max(axis=(1, 2)) < DEPENDENT, value, -np.inf)


# --- the bounds -----------------------------------------------------------------------------------


class Orthogonal(Projection):
    """The problem of orthogonal loadings."""

    def __init__(self, S: np.ndarray, cards: tuple[int, ...]):
        super().__init__(S, cards)
        self.free = all(c >= self.p for c in cards)

    searched = Relaxed.searched  # unlike for PEV in general, any c < p is a constraint

    def root(self, singles: np.ndarray) -> Root:
        root = super().root(singles)
        M = root.frame.M
        own = root.frame.offset + float(ky_fan(M, root.frame.k - len(self.cards))) + ROUNDING
        bases = {c: root.frame.bases(places)[0] for c, places in self.kept.items()}
        held = {c: bounds_alone(D.mT @ M @ D, D) for c, D in bases.items()}
        return replace(root, taken=0, sums=SeparableBound(own, tuple(held[c] for c in self.cards)))

    def within(
        self,
        M: np.ndarray,
        bases: list[np.ndarray],
        chosen: np.ndarray,
        k: int,
        level: np.ndarray,
        steps: int,
        running: Running,
    ) -> np.ndarray:
        groups, counts = [D.mT @ M @ D for D in bases], [1] * len(bases)
        inside: Bases = [*bases]
        if k > len(bases):
            groups, counts, inside = [*groups, M], [*counts, k - len(bases)], [*inside, None]
        return duals.ordered_bounds(groups, counts, level, steps, bases=inside, running=running)


class OrthogonalLeaves(Incumbent):
    """The best known fit with orthogonal loadings, as measured by PEV."""

    def _measured(self, V: np.ndarray) -> float:
        return float(np.einsum("ij,ik,kj->", V, self.S, V))

    def improve(self, op: Operator, cards: tuple[int, ...], rule: SupportRule | None = None) -> float:
        """Search from this fit and from the quick search among all loadings; return the best value."""
        starts = [self.V, joint(op, len(cards), cards, self.measure, "quick", rule=rule).V]
        return self.better(*search_orthogonal(self.S, self.cards, starts, self.rng))

    def _climbed(self, tried: list[list[np.ndarray]]) -> Iterator[tuple[np.ndarray, float]]:
        held = np.zeros((len(tried), len(self.S), len(self.cards)), dtype=bool)
        for b, supports in enumerate(tried):
            for j, T in enumerate(supports):
                held[b, T, j] = True
        for number in range(4):  # leading eigenvectors, then three random starts
            V, value = climb_orthogonal(self.S, held, self.rng, number > 0)
            best = int(np.argmax(value))
            yield V[best], float(value[best])
