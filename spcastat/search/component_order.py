"""The order of the components of a fit: by adjusted variance, of equal kinds by size, and permutations."""

from __future__ import annotations

import numpy as np

from spcastat.linalg.ties import ranked
from spcastat.search import matrices
from spcastat.search.criteria import Criterion, Fits
from spcastat.search.moves import GAIN


def reordered(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits after sorting: each component has the largest variance given the earlier ones.

    Only components of one kind change places. A fit whose value is not raised by this keeps its order.
    """
    if criterion.exact_model or criterion.k == 1:
        return fits
    order = largest_first(fits.G, criterion.kinds)
    permuted_fits = permuted(criterion, fits, order)
    is_improved = permuted_fits.value > fits.value * (1.0 + GAIN)
    fits = fits.subset(slice(None))
    if is_improved.any():
        fits.put(is_improved, permuted_fits.subset(is_improved))
    return fits


def largest_first(G: np.ndarray, kinds: tuple[int, ...]) -> np.ndarray:
    """Return orders, shape (B, k), in which each component has the largest variance given the earlier ones.

    No exchange of two neighbours is better: residual variances a >= d with covariance b add a + d - b^2 / a
    in this order. Components change places only with others of their kind.
    """
    B, k, _ = G.shape
    fit_indices = np.arange(B)
    residual, order = G.copy(), np.empty((B, k), dtype=int)
    unplaced = np.ones((B, k), dtype=bool)
    for place, kind in enumerate(kinds):
        variance = np.where(unplaced & (np.array(kinds) == kind), np.einsum("bii->bi", residual), -1.0)
        order[:, place] = component = variance.argmax(axis=1)
        unplaced[fit_indices, component] = False
        row = residual[fit_indices, component]
        largest = variance[fit_indices, component]
        share = (
            row
            / matrices.divisor(largest, largest > matrices.TINY)[:, None]
            * (largest > matrices.TINY)[:, None]
        )
        residual = residual - share[:, :, None] * row[:, None, :]
    return order


def falling(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits with components of one kind in descending order of variance, if that is no worse.

    Components with the same support have the same value in every order, so that rounding would decide.
    Components of equal variance are sorted by their supports for the same reason.
    """
    if criterion.exact_model or criterion.k == 1:
        return fits
    kinds = np.array(criterion.kinds)
    order = np.broadcast_to(np.arange(criterion.k), (len(fits), criterion.k)).copy()
    variances = np.diagonal(fits.G, axis1=1, axis2=2)
    for kind in set(criterion.kinds):
        places = np.flatnonzero(kinds == kind)
        for b, fit in enumerate(fits.places):
            supports = [sorted(fit[criterion.owner == i]) for i in places]
            rank = np.array([sorted(supports).index(support) for support in supports])
            order[b, places] = places[ranked(variances[b, places], -rank.astype(float))]
    permuted_fits = permuted(criterion, fits, order)
    return permuted_fits if (permuted_fits.value >= fits.value * (1.0 - GAIN)).all() else fits


def permuted(criterion: Criterion, fits: Fits, order: np.ndarray) -> Fits:
    """Return the fits with component order[b, i] of fit b in place i, whose cardinality must be the same."""
    if (order == np.arange(criterion.k)).all():
        return fits
    B = len(fits)
    starts = np.array([part.start for part in criterion.parts])
    entries = np.arange(len(criterion.owner)) - starts[criterion.owner]
    at = starts[order][:, criterion.owner] + entries
    fit_indices = np.arange(B)[:, None]
    pairs = np.arange(B)[:, None, None], order[:, :, None], order[:, None, :]
    T_products = fits.T_products[fit_indices, order] if fits.T_products.shape[1] else fits.T_products
    G, N = fits.G[pairs], fits.N[pairs]
    return Fits(
        matrices.entries_at(fits.places, at),
        matrices.entries_at(fits.x, at),
        fits.M_products[fit_indices, order],
        T_products,
        G,
        N,
        criterion.value(G, N),
        fits.of,
    )
