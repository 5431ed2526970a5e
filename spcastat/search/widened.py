"""Swaps among some of many variables, which others join as long as they might improve the fit.

Loadings on candidates are polished. A variable outside is brought in where the tests of
:mod:`spcastat.search.screening_tests` do not exclude that it improves the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.operators import GRAM_ORDER, Gram, Operator
from spcastat.search.screening_tests import enlarged, entering, peaks_of
from spcastat.search.swaps import polish

#: At most this share of the candidates, but always FEWEST, is brought in by a round.
SHARE, FEWEST = 0.5, 200


@dataclass(frozen=True, eq=False)
class Widened:
    """Loadings that no single swap among the candidates improves.

    Attributes
    ----------
    V : ndarray of shape (m, k)
        On the candidates.
    supports : list of ndarray of int
        Of the components, numbered as the rows of V.
    candidates : ndarray of int, shape (m,)
        Ascending.
    sub : Gram
        Their covariance matrix.
    rounds : int
        How often the loadings were polished.
    unexcluded : int
        Variables outside of which it is not excluded that a swap with them improves the fit.
    """

    V: np.ndarray
    supports: list[np.ndarray]
    candidates: np.ndarray
    sub: Gram
    rounds: int
    unexcluded: int


def gram_of(op: Operator, candidates: np.ndarray) -> Gram:
    """Return the covariance matrix of some variables."""
    return Gram(enlarged(op, None, np.zeros(0, dtype=int), candidates), op.rank_limit)


def widened(
    op: Operator,
    sub: Gram,
    candidates: np.ndarray,
    V: np.ndarray,
    cards: tuple[int, ...],
    advance: Callable[[int], object] = lambda _: None,
) -> Widened:
    """Polish loadings on candidates, bring in what might improve them, and so on.

    Parameters
    ----------
    op : Operator
    sub : Gram
        The covariance matrix of the candidates.
    candidates : ndarray of int, shape (m,)
        Ascending.
    V : ndarray of shape (m, k)
        Unit loadings on them with at most `cards` nonzeros.
    cards : tuple of int
    advance : callable
        Told of every round.

    Notes
    -----
    The explained variance never falls, and every round but the last enlarges the set of candidates, which is
    bounded by GRAM_ORDER: the search ends.
    """
    rounds = 0
    while True:
        rounds += 1
        V, supports = polish(sub.S, V, cards, op.total)
        advance(1)
        more = entering(op, candidates, V, peaks_of(sub.S, V, supports, op.total))
        room = GRAM_ORDER - len(candidates)
        if more.size == 0 or room <= 0:
            return Widened(V, supports, candidates, sub, rounds, len(more))
        few = more[: min(room, max(FEWEST, int(SHARE * len(candidates))))]
        before, candidates = candidates, np.union1d(candidates, few)
        sub = Gram(enlarged(op, sub.S, before, candidates), op.rank_limit)
        V, known = np.zeros((candidates.size, V.shape[1])), V
        V[np.searchsorted(candidates, before)] = known
