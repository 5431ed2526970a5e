"""The best loadings on given supports, for the share that a projection on them keeps."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.descent import minimise
from spcastat.kernels.ties import unit
from spcastat.search.reconstruction import Pev

#: Steps of an ascent that is to be followed by more.
SHORT = 15


def refine(objective: Pev, V: np.ndarray, max_iter: int = 300) -> tuple[float, np.ndarray]:
    """Return the objective and unit loadings, shape (m, k), after a joint ascent on the supports of V."""
    where = np.nonzero(V)
    W = np.zeros(V.shape)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        W[where] = x
        value, gradient = objective.with_gradient(W)
        return -value, -gradient[where]

    W[where] = minimise(negative, V[where], max_iter)
    better = unit(W)
    value, before = objective.value(better), objective.value(V)
    if value < before or np.count_nonzero(better) != len(where[0]):
        return before, V
    return value, better
