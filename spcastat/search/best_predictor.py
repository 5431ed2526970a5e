"""One component with the largest least-squares share: the best predictor of all variables.

It differs from the component of largest variance, so that the search differs, too. Candidate supports are
grown variable by variable from many first variables, or come from truncated power iterations started at every
row; exchanges improve them.
"""

from __future__ import annotations

import numpy as np

from spcastat.search.chains import empty
from spcastat.search.climbing import climb, exchange_until_optimal
from spcastat.search.criteria import Criterion, Fits
from spcastat.search.matrices import QuadraticModel, best_vectors, divisor, eigen, ranked_entries
from spcastat.search.moves import NULL, iterated
from spcastat.search.result import Evidence

#: Number of first variables from which supports are grown, and of supports improved by exchanges.
GROWN = 30
#: The number of exchanges of each fit for which the share itself is computed.
EVALUATED_EXCHANGES = 4


def best_predictor(criterion: Criterion) -> tuple[Fits, Evidence]:
    """Return the best fit of one component that is found, and the local optima on the way.

    Parameters
    ----------
    criterion : Criterion
        The least-squares share for one component, over all m variables.
    """
    card = criterion.cards[0]
    model = criterion.model_given_others(empty(criterion, 1))
    all_variables = np.arange(criterion.m)[None]
    supports = [grow_predictor(model, card), iterated(criterion, model, all_variables, 0)[0][0]]
    places = np.unique(np.concatenate(supports), axis=0)
    parts = model.repeat(len(places)).bordered(places, places[:, :0])
    fits = criterion.fits(places, best_vectors(parts.A, parts.M))
    fits = fits.subset(ranked_entries(fits.value[None], GROWN)[0])
    fits = climb(criterion, fits, criterion.m, EVALUATED_EXCHANGES)
    evidence = Evidence()
    evidence.add(fits.value)
    best_fit = exchange_until_optimal(criterion, fits.subset(ranked_entries(fits.value[None], 1)[0]))
    evidence.chains = [float(best_fit.value[0])]
    return best_fit, evidence


def grow_predictor(model: QuadraticModel, card: int) -> np.ndarray:
    """Return supports, shape (GROWN, card), grown from the best single variables.

    The variable j that enters has the largest ratio v'Av / v'Bv in the plane of two vectors: the best one on
    the support, and e_j minus its projection on the support in the metric of B.
    """
    all_variables = np.arange(model.M.m)[None]
    single_variables = model.bordered(all_variables[:, :0], all_variables)
    support = ranked_entries(
        single_variables.corner
        / np.maximum(single_variables.corner_M, NULL)
        * (single_variables.corner_M > NULL),
        GROWN,
    ).T
    model, all_variables = model.repeat(len(support)), np.repeat(all_variables, len(support), axis=0)
    for c in range(1, card):
        parts = model.bordered(support, all_variables)
        assert parts.M is not None
        values, U = eigen(parts.A[:, :, :c], parts.M[:, :, :c])
        a, r = U.mT @ parts.A[:, :, c:], U.mT @ parts.M[:, :, c:]
        residual_variances = parts.corner_M - (r**2).sum(axis=1)
        sound = residual_variances > NULL * np.maximum(parts.corner_M, NULL)
        residual_variances = divisor(residual_variances, sound)
        corner = (parts.corner - (r * (2.0 * a - values[..., None] * r)).sum(axis=1)) / residual_variances
        half_gap = 0.5 * (corner - values[:, -1:])
        along = a[:, -1] - values[:, -1:] * r[:, -1]
        gains = np.where(sound, half_gap + np.sqrt(half_gap**2 + along**2 / residual_variances), 0.0)
        np.put_along_axis(gains, support, -1.0, axis=1)
        support = np.sort(np.concatenate([support, ranked_entries(gains, 1)], axis=1), axis=1)
    return support
