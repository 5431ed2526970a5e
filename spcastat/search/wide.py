"""The default search with more variables than a covariance matrix is held for.

A greedy fit and sweeps work with products alone. The search proper then runs on a working set of variables,
and every other variable is tested against its result: those that would improve it by an exchange join the
set.
"""

from __future__ import annotations

import numpy as np

from spcastat.kernels.rotation import varimax
from spcastat.search.criterion import Criterion
from spcastat.search.effort import Effort
from spcastat.search.exchange import GAIN, trials
from spcastat.search.factors import NOTHING
from spcastat.search.fits import Fits, joined
from spcastat.search.order import reordered
from spcastat.search.pool import from_directions, greedy
from spcastat.search.sweeps import swept

#: A working set has at most this many variables, and this many for each nonzero loading.
LARGEST, EACH = 1000, 4
#: With more nonzeros than this in all, or more in one component, exchanges cost more than they bring.
NONZEROS, COMPONENT = 120, 20
#: Exchanges of a component with variables outside that are valued: fewer of large ones, which cost more.
VALUED, ENTRIES = 256, 2000
#: Of more variables than this those of steepest slope are tried.
WIDTH = 4000
#: Starts whose criteria differ by less than this share after sweeps are as good as one another.
CLOSE = 1e-4
#: How often a working set is enlarged.
ROUNDS = 3


def begun(criterion: Criterion, vectors: np.ndarray, effort: Effort, rng: np.random.Generator) -> Fits:
    """Return a few starts, the best first, after sweeps over all variables.

    The starts are greedy; where the order of the components does not count, PCA's loadings are rotated to
    simple structure as well.
    """
    starts = greedy(criterion, 1 if criterion.exact else effort.wide_starts, rng, plain=True)
    if criterion.exact:
        starts = joined([starts, from_directions(criterion, [varimax(vectors[:, : criterion.k])])])
    fits = reordered(criterion, swept(criterion, starts, effort.wide_sweeps))
    return fits.some(np.argsort(-fits.value, kind="stable"))


def searchable(criterion: Criterion) -> bool:
    """Return whether exchanges are worth their cost."""
    return len(criterion.owner) <= NONZEROS and max(criterion.cards) <= COMPONENT


def agree(fits: Fits, count: int) -> bool:
    """Return whether so many fits, the best first, are as good as one another, and have few nonzeros."""
    if not len(fits) >= count > 1 or fits.x.shape[1] > NONZEROS:
        return False
    return bool(fits.value[count - 1] >= fits.value[0] * (1.0 - CLOSE))


def working_set(criterion: Criterion, fits: Fits, explained: np.ndarray) -> np.ndarray:
    """Return the variables to search among, ascending: the supports, and those of steepest slope.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
        One fit.
    explained : ndarray of shape (m,)
        What PCA explains of each variable, which ranks half of the set.
    """
    size = min(max(EACH * len(criterion.owner), 300), LARGEST)
    model = criterion.beside(fits)
    steep = np.zeros(criterion.m)
    for i in range(criterion.k):
        pull, scale = criterion.pull(fits, i)
        steep = np.maximum(steep, (pull[0] ** 2 / max(float(scale[0]), NOTHING)))
    steep /= np.maximum(model.corners()[0], NOTHING)
    used = np.unique(fits.places)
    steep[used] = explained[used] = np.inf
    slopes = np.argsort(-steep, kind="stable")[: max(size // 2, used.size)]
    means = np.argsort(-explained, kind="stable")[: max(size // 2, used.size)]
    return np.union1d(slopes, means)


def improving(criterion: Criterion, fits: Fits, inside: np.ndarray) -> np.ndarray:
    """Return the variables outside a working set that would improve a fit by an exchange.

    Of each component the best exchanges by the model, over all variables (with more than WIDTH of them over
    those of steepest slope), are valued by the criterion.
    """
    found: list[np.ndarray] = []
    for i, card in enumerate(criterion.cards):
        valued = min(VALUED, max(ENTRIES // card, 1))
        places, _, values = trials(criterion, fits, i, min(criterion.m, WIDTH), valued)
        better = values[0] > fits.value[0] * (1.0 + max(GAIN, 1e-8))
        found.append(places[0][better].ravel())
    return np.setdiff1d(np.concatenate(found), inside)
