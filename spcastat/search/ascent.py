"""The best loadings on given supports, and the climb from support to support."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.descent import minimise
from spcastat.kernels.thresholds import unit
from spcastat.kernels.ties import top
from spcastat.search.objectives import Objective
from spcastat.search.rayleigh import best_values, exchanges, promising, whitened

#: A final exchange must raise the objective, a share of the total variance, by more than this.
GAIN = 1e-8
#: Steps of a joint ascent that is to be followed by more.
SHORT = 15
#: Where the ranking of exchanges is only approximate, so many of the best are valued, and so many of these
#: are followed by a joint ascent.
VALUED, REFINED = 8, 2
#: The share of new columns that are taken from a random mixture of so many leading directions.
WILD, DIRECTIONS = 0.25, 6
#: At most so many variables leave and enter in the exchanges that are compared.
WIDTH = 60


def refine(objective: Objective, V: np.ndarray, max_iter: int = 300) -> tuple[float, np.ndarray]:
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


def climb(objective: Objective, V: np.ndarray, gain: float) -> tuple[float, np.ndarray]:
    """Exchange variables, one component at a time, until no round of exchanges raises the value by `gain`."""
    value, V = refine(objective, V, SHORT)
    while True:
        start = value
        for i in range(V.shape[1]):
            move = _exchanged if objective.exact else _tried
            value, V = move(objective, V, i, value, gain)
        value, V = refine(objective, V, SHORT)
        if value <= start + gain:
            return value, V


def best_column(
    objective: Objective, A: np.ndarray, B: np.ndarray, support: np.ndarray, gain: float
) -> np.ndarray:
    """Return the loadings, shape (m,), that exchanges from `support` reach for the ratio v'Av / v'Bv."""
    ratio, v = best_values(A, B, support)
    least = gain * objective.problem.total
    while True:
        leaving, entering = promising(A, B, support, v, ratio, WIDTH)
        if entering.size == 0:
            return v
        table = exchanges(A, B, support, leaving, entering)
        out, into = np.unravel_index(np.argmax(table), table.shape)
        if not table[out, into] > ratio + least:
            return v
        new = np.sort(np.append(np.delete(support, leaving[out]), entering[into]))
        better, w = best_values(A, B, new)
        if not better > ratio + least:
            return v
        support, ratio, v = new, better, w


def added_column(
    objective: Objective, V: np.ndarray, card: int, gain: float, rng: np.random.Generator
) -> np.ndarray:
    """Return a column of `card` nonzeros, shape (m,), that fits well beside the columns of V.

    Mostly the best that exchanges find from the leading direction, with some of the second mixed in for
    variety; now and then a support cut from a random mixture of several directions, as it is: what is best
    beside the columns of V need not belong to the best fit of all.
    """
    A, B = objective.block(np.column_stack([V, np.zeros(len(V))]), V.shape[1])
    _, U = whitened(A, B)
    if rng.random() < WILD:
        several = U[:, -min(DIRECTIONS, len(A)) :]
        mixture = several @ rng.standard_normal(several.shape[1])
        return best_values(A, B, np.flatnonzero(top(np.abs(mixture), card)))[1]
    lead = U[:, -1]
    if rng.random() < 0.5 and len(A) > 1:
        lead = lead + rng.standard_normal() * U[:, -2]
    return best_column(objective, A, B, np.flatnonzero(top(np.abs(lead), card)), gain)


def _exchanged(
    objective: Objective, V: np.ndarray, i: int, value: float, gain: float
) -> tuple[float, np.ndarray]:
    """Improve component i beside the others as they are."""
    A, B = objective.block(V, i)
    W = V.copy()
    W[:, i] = best_column(objective, A, B, np.flatnonzero(V[:, i]), gain)
    new = objective.value(W)
    kept = np.count_nonzero(W[:, i]) == np.count_nonzero(V[:, i])
    return (new, W) if new > value and kept else (value, V)


def _tried(
    objective: Objective, V: np.ndarray, i: int, value: float, gain: float
) -> tuple[float, np.ndarray]:
    """Try the exchanges that look best, each followed by a short joint ascent."""
    A, B = objective.block(V, i)
    support = np.flatnonzero(V[:, i])
    ratio, v = best_values(A, B, support)
    leaving, entering = promising(A, B, support, v, ratio, WIDTH)
    if entering.size == 0:
        return value, V
    table = exchanges(A, B, support, leaving, entering)
    trials = []
    for flat in np.argsort(-table, axis=None, kind="stable")[:VALUED]:
        out, into = np.unravel_index(flat, table.shape)
        new = np.sort(np.append(np.delete(support, leaving[out]), entering[into]))
        trial = V.copy()
        trial[:, i] = best_values(A, B, new)[1]
        if np.count_nonzero(trial[:, i]) == len(new):
            trials.append((objective.value(trial), trial))
    trials.sort(key=lambda pair: -pair[0])
    for _, trial in trials[:REFINED]:
        better, W = refine(objective, trial, SHORT)
        if better > value + gain:
            return better, W
    return value, V
