"""The default search where products are dear: rows that are never all in memory, or many sparse ones.

The covariance matrix is formed for some of the variables, in one pass, and searched. The columns that belong
to the supports found, of one more pass, are all that is needed to value exchanges with any other variable.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.operators import GRAM_ORDER, Gram, Operator
from spcastat.search.criterion import Criterion
from spcastat.search.default import HELD, Found, joint, joint_on
from spcastat.search.effort import EFFORTS
from spcastat.search.moments import Identity, Moments
from spcastat.search.nested import Adjusted
from spcastat.search.projected import Projected
from spcastat.search.wide import improving

#: This many variables for each nonzero loading are searched, and at least this many.
EACH, LEAST = 4, 500
#: The table of exchanges has at most this many entries: variables times the cardinality squared.
ENTRIES = 30_000_000
#: Rows with more stored numbers than this are searched with few products, though they are in memory.
MANY = 2_000_000
#: With more, the search is thorough unless something else is said: it takes no longer than their PCA.
MOST = 40_000_000


class Known(Moments):
    """A matrix known by some of its columns and its diagonal.

    Enough for sparse columns of these variables and at most one more: two others never meet.

    Parameters
    ----------
    variables : ndarray of int, shape (q,)
        Ascending.
    columns : ndarray of shape (m, q)
    diagonal : ndarray of shape (m,)
    """

    def __init__(self, variables: np.ndarray, columns: np.ndarray, diagonal: np.ndarray):
        self.m = len(diagonal)
        self.place = np.full(self.m, -1)
        self.place[variables] = np.arange(len(variables))
        self.rows = np.ascontiguousarray(columns.T)
        self._diagonal = diagonal

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.einsum("lc,lcm->lm", x, self.rows[self.place[places]])

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        first, second = self.place[rows][:, :, None], self.place[columns][:, None, :]
        one = self.rows[first, columns[:, None, :]]
        other = self.rows[second, rows[:, :, None]]
        same = rows[:, :, None] == columns[:, None, :]
        neither = np.where(same, self._diagonal[rows][:, :, None], 0.0)
        return np.where(first >= 0, one, np.where(second >= 0, other, neither))

    def diagonal(self) -> np.ndarray:
        return self._diagonal


class _Inside(Gram):
    """The covariance matrix of some variables, as a part of that of all."""

    def __init__(self, S: np.ndarray, rank_limit: int, total: float):
        super().__init__(S, rank_limit)
        self.__dict__["total"] = total


def saves_products(op: Operator, card: tuple[int, ...], objective: str) -> bool:
    """Return whether the search is that with few products.

    It is for one component of many variables, too, whose search is exact among some of them, and for sparse
    rows where products with all of them are most of the work of :func:`spcastat.search.default.joint`.
    """
    if op.out_of_core:
        return True
    if op.p <= HELD or objective == "least_squares":
        return False
    tabled = max(card) ** 2 * op.p <= ENTRIES
    return len(card) == 1 or (objective == "adjusted" and op.stored > MANY and tabled)


def joint_of_passes(
    op: Operator, k: int, card: tuple[int, ...], objective: str, effort: str, rng: np.random.Generator
) -> Found:
    """Search as :func:`spcastat.search.default.joint` does, with few products.

    Parameters
    ----------
    op : Operator
        Of p variables, whose covariance matrix is not held.
    k, card, objective, effort, rng
        As there.

    Returns
    -------
    Found
        Its `sufficient` says whether exchanges with all other variables were looked at and none raises the
        objective. None where they were not: for the least-squares share that takes all columns of the matrix,
        and with very many variables and nonzeros too much memory.
    """
    if effort == "auto" and op.stored > MOST:
        effort = "thorough"
    variables = _promising(op, k, card)
    while True:
        found = _among(op, variables, k, card, objective, effort, rng)
        entering = _entering(op, found.V, card, objective, variables)
        sufficient = None if entering is None else entering.size == 0
        room = GRAM_ORDER - len(variables)
        if entering is None or entering.size == 0 or room <= 0:
            break
        variables = np.union1d(variables, entering[:room])
    settled = found.settled if sufficient else None
    proven = found.proven and len(variables) == op.p
    return replace(found, settled=settled, proven=proven, variables=variables, sufficient=sufficient)


def _promising(op: Operator, k: int, card: tuple[int, ...]) -> np.ndarray:
    """Return the variables to search among, ascending: those of largest variance, and those PCA explains."""
    half = -(-min(max(EACH * sum(card), LEAST), GRAM_ORDER) // 2)
    values, vectors, _ = op.sketched(k)
    by_variance = np.argsort(-op.diagonal(), kind="stable")[:half]
    by_pca = np.argsort(-(vectors**2 @ values), kind="stable")[:half]
    own = [np.argsort(-np.abs(v), kind="stable")[:c] for v, c in zip(vectors.T, card, strict=True)]
    return np.unique(np.concatenate([by_variance, by_pca, *own]))


def _among(
    op: Operator,
    variables: np.ndarray,
    k: int,
    card: tuple[int, ...],
    objective: str,
    effort: str,
    rng: np.random.Generator,
) -> Found:
    """Search among some of the variables; loadings and shares are of all."""
    if objective == "least_squares":
        return joint_on(op, variables, k, card, objective, EFFORTS[effort], rng)
    S = op.block(variables)
    inside = _Inside(symmetric(S), op.rank_limit, op.total)
    found = joint(inside, k, card, objective, effort, rng)
    V = np.zeros((op.p, k))
    V[variables] = found.V
    return replace(found, V=V)


def _entering(
    op: Operator, V: np.ndarray, card: tuple[int, ...], objective: str, variables: np.ndarray
) -> np.ndarray | None:
    """Return the variables outside that raise the objective by an exchange; None where that is not known."""
    if objective == "least_squares" or max(card) ** 2 * op.p > ENTRIES:
        return None
    supports = [_filled(v, c, variables) for v, c in zip(V.T, card, strict=True)]
    used = np.unique(np.concatenate(supports))
    known = Known(used, op.columns(used) / op.total, op.diagonal() / op.total)
    criterion: Criterion
    criterion = Adjusted(known, card) if objective == "adjusted" else Projected(Identity(op.p), known, card)
    x = np.concatenate([V[support, i] for i, support in enumerate(supports)])
    return improving(criterion, criterion.fits(np.concatenate(supports)[None], x[None]), variables)


def _filled(v: np.ndarray, card: int, variables: np.ndarray) -> np.ndarray:
    """Return the support of v, with as many of the variables added as its cardinality lacks, ascending."""
    own = np.flatnonzero(v)
    return np.sort(np.append(own, np.setdiff1d(variables, own)[: card - own.size]))
