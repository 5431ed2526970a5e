"""The single component that predicts the variables best: the largest v'SSv / v'Sv with c nonzeros.

It differs from the component of largest variance. Candidate supports are grown variable by variable from
many first variables, or come from truncated power iterations started at every row; exchanges improve them.
"""

from __future__ import annotations

import numpy as np

from spcastat.search.climbing import climbed, settled
from spcastat.search.column_model import Model
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.exchange import NULL
from spcastat.search.local_optima import Evidence
from spcastat.search.new_component import iterated
from spcastat.search.small_matrices import best_vectors, divisor, eigen, ranked
from spcastat.search.starting_fits import empty

#: Number of first variables from which supports are grown, and of supports improved by exchanges.
GROWN = 30


def best_predictor(criterion: Criterion) -> tuple[Fits, Evidence]:
    """Return the best fit of one component that is found, and the local optima on the way.

    Parameters
    ----------
    criterion : Criterion
        The least-squares share for one component, over all m variables.
    """
    card = criterion.cards[0]
    model = criterion.model_given_others(empty(criterion, 1))
    every = np.arange(criterion.m)[None]
    supports = [grown(model, card), iterated(criterion, model, every, 0)[0][0]]
    places = np.unique(np.concatenate(supports), axis=0)
    parts = model.repeated(len(places)).bordered(places, places[:, :0])
    fits = criterion.fits(places, best_vectors(parts.A, parts.M))
    fits = fits.some(ranked(fits.value[None], GROWN)[0])
    fits = climbed(criterion, fits, criterion.m, 4)
    evidence = Evidence()
    evidence.add(fits.value)
    best = settled(criterion, fits.some(ranked(fits.value[None], 1)[0]))
    evidence.chains = [float(best.value[0])]
    return best, evidence


def grown(model: Model, card: int) -> np.ndarray:
    """Return supports, shape (GROWN, card), grown from the best single variables.

    The variable j that enters has the largest ratio v'Av / v'Bv in the plane of two vectors: the best one on
    the support, and e_j minus its projection on the support in the metric of B.
    """
    every = np.arange(model.M.m)[None]
    alone = model.bordered(every[:, :0], every)
    support = ranked(alone.corner / np.maximum(alone.corner_M, NULL) * (alone.corner_M > NULL), GROWN).T
    model, every = model.repeated(len(support)), np.repeat(every, len(support), axis=0)
    for c in range(1, card):
        parts = model.bordered(support, every)
        assert parts.M is not None
        values, U = eigen(parts.A[:, :, :c], parts.M[:, :, :c])
        a, r = U.mT @ parts.A[:, :, c:], U.mT @ parts.M[:, :, c:]
        left = parts.corner_M - (r**2).sum(axis=1)
        sound = left > NULL * np.maximum(parts.corner_M, NULL)
        left = divisor(left, sound)
        corner = (parts.corner - (r * (2.0 * a - values[..., None] * r)).sum(axis=1)) / left
        apart = 0.5 * (corner - values[:, -1:])
        along = a[:, -1] - values[:, -1:] * r[:, -1]
        gains = np.where(sound, apart + np.sqrt(apart**2 + along**2 / left), 0.0)
        np.put_along_axis(gains, support, -1.0, axis=1)
        support = np.sort(np.concatenate([support, ranked(gains, 1)], axis=1), axis=1)
    return support
