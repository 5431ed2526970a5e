"""The single component that predicts the variables best: the largest v'SSv / v'Sv with c nonzeros.

It differs from the component of largest variance. Candidate supports are grown variable by variable from
many first variables, or come from truncated power iterations started at every row; exchanges improve them.
"""

from __future__ import annotations

import numpy as np

from spcastat.search.climbing import climbed, settled
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.local_optima import Evidence
from spcastat.search.new_component import grown, iterated, singles
from spcastat.search.small_matrices import best_vectors, ranked
from spcastat.search.starting_fits import empty

#: Number of first variables from which supports are grown, and of supports improved by exchanges.
GROWN, IMPROVED = 60, 30
#: Exchanges evaluated in each step.
VALUED = 4


def best_predictor(criterion: Criterion) -> tuple[Fits, Evidence]:
    """Return the best fit of one component that is found, and the local optima on the way.

    Parameters
    ----------
    criterion : Criterion
        The least-squares share for one component, over all m variables.
    """
    card = criterion.cards[0]
    model = criterion.model_given_others(empty(criterion, 1))
    first = ranked(singles(model), GROWN)
    every = np.arange(criterion.m)[None]
    supports = [grown(model, first, card)[0], iterated(criterion, model, every, 0)[0][0]]
    places = np.unique(np.concatenate(supports), axis=0)
    parts = model.repeated(len(places)).bordered(places, places[:, :0])
    fits = criterion.fits(places, best_vectors(parts.A, parts.M))
    fits = fits.some(ranked(fits.value[None], IMPROVED)[0])
    fits = climbed(criterion, fits, criterion.m, VALUED)
    evidence = Evidence()
    evidence.add(fits.value)
    best = settled(criterion, fits.some(ranked(fits.value[None], 1)[0]))
    evidence.chains = [float(best.value[0])]
    return best, evidence
