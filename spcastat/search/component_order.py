"""The order of the components, on which adjusted variance depends."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import ranked
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.exchange import GAIN
from spcastat.search.small_matrices import NOTHING, divisor, taken


def reordered(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits after sorting: each component has the largest variance given the earlier ones.

    Only components of one kind change places. A fit whose value is not raised by this keeps its order.
    """
    if criterion.exact or criterion.k == 1:
        return fits
    order = largest_first(fits.G, criterion.kinds)
    turned = permuted(criterion, fits, order)
    fits = fits.some(slice(None))
    better = turned.value > fits.value * (1.0 + GAIN)
    fits.put(better, turned.some(better))
    return fits


def largest_first(G: np.ndarray, kinds: tuple[int, ...]) -> np.ndarray:
    """Return orders, shape (B, k), in which each component has the largest variance given the earlier ones.

    No exchange of two neighbours is better: residual variances a >= d with covariance b add a + d - b^2 / a
    in this order. Components change places only with others of their kind.
    """
    B, k, _ = G.shape
    every = np.arange(B)
    left, order = G.copy(), np.empty((B, k), dtype=int)
    open_ = np.ones((B, k), dtype=bool)
    for place, kind in enumerate(kinds):
        variance = np.where(open_ & (np.array(kinds) == kind), np.einsum("bii->bi", left), -1.0)
        order[:, place] = chosen = variance.argmax(axis=1)
        open_[every, chosen] = False
        row = left[every, chosen]
        largest = variance[every, chosen]
        share = row / divisor(largest, largest > NOTHING)[:, None] * (largest > NOTHING)[:, None]
        left = left - share[:, :, None] * row[:, None, :]
    return order


def falling(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits with components of one kind in descending order of variance, if that is no worse.

    Components with the same support have the same value in every order, so that rounding would decide.
    Components of equal variance are sorted by their supports for the same reason.
    """
    if criterion.exact or criterion.k == 1:
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
    turned = permuted(criterion, fits, order)
    return turned if (turned.value >= fits.value * (1.0 - GAIN)).all() else fits


def permuted(criterion: Criterion, fits: Fits, order: np.ndarray) -> Fits:
    """Return the fits with component order[b, i] of fit b in place i, whose cardinality must be the same."""
    if (order == np.arange(criterion.k)).all():
        return fits
    B = len(fits)
    starts = np.array([part.start for part in criterion.parts])
    entries = np.arange(len(criterion.owner)) - starts[criterion.owner]
    at = starts[order][:, criterion.owner] + entries
    every = np.arange(B)[:, None]
    pairs = np.arange(B)[:, None, None], order[:, :, None], order[:, None, :]
    second = fits.second[every, order] if fits.second.shape[1] else fits.second
    G, N = fits.G[pairs], fits.N[pairs]
    return Fits(
        taken(fits.places, at),
        taken(fits.x, at),
        fits.first[every, order],
        second,
        G,
        N,
        criterion.value(G, N),
        fits.of,
    )
