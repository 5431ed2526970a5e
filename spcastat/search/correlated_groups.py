"""Groups of strongly correlated variables, from which new components are started."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from spcastat.linalg.operators import Operator
from spcastat.search.criteria import inverse
from spcastat.search.matrices import TINY

#: Number of rows of the covariance matrix in memory at a time while groups are formed.
ROWS_AT_ONCE = 250
#: The largest number of entries of these rows at a time and, with more than 100,000 variables, in total; they
#: bound memory and time.
ENTRIES_AT_ONCE, ENTRIES = 2**24, 100_000_000


@dataclass(eq=False)
class Groups:
    """Groups of variables: the places of the c largest entries of some rows of the covariance matrix.

    Attributes
    ----------
    rows : ndarray of int, shape (R,)
        The variable of each row.
    places : ndarray of int, shape (R, c)
    x : ndarray of shape (R, c)
        The entries at these places, scaled to unit length.
    lengths : ndarray of shape (R,)
        The lengths of the entries before scaling.
    variances : ndarray of shape (R,)
        The variances of the variables in `rows`.
    """

    rows: np.ndarray
    places: np.ndarray
    x: np.ndarray
    lengths: np.ndarray
    variances: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, places: np.ndarray, entries: np.ndarray, variances: np.ndarray) -> Groups:
        """Return the groups from unscaled `entries` at `places`."""
        lengths = np.linalg.norm(entries, axis=1)
        return cls(rows, places, entries / np.maximum(lengths, TINY)[:, None], lengths, variances)

    def scores(self, F: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return lower bounds on the variances of the groups given other components, shape (R,).

        For components with products F, shape (k, p), and inverse covariance matrix Z, the residual covariance
        matrix is S~ = S - F'ZF; for row j and its group v, v'S~v >= (e_j'S~v)^2 / S~_jj.
        """
        row_products = F[:, self.rows]
        R, c = self.places.shape
        rows = csr_array((self.x.ravel(), self.places.ravel(), np.arange(0, R * c + 1, c)), (R, F.shape[1]))
        along = (rows @ F.T).T
        residual_variances = self.variances - (row_products * (Z @ row_products)).sum(axis=0)
        inner = np.maximum(self.lengths - (row_products * (Z @ along)).sum(axis=0), 0.0)
        return np.where(
            residual_variances > 1e-3 * self.variances, inner**2 / np.maximum(residual_variances, TINY), 0.0
        )

    def best_groups(self, scores: np.ndarray, count: int) -> np.ndarray:
        """Return up to `count` groups with large scores; no group's row variable is in an earlier group."""
        group_indices: list[int] = []
        covered_variables: set[int] = set()
        for j in np.argsort(-scores, kind="stable"):
            if len(group_indices) == count:
                break
            if self.rows[j] not in covered_variables:
                group_indices.append(int(j))
                covered_variables.update(self.places[j].tolist())
        return np.array(group_indices)

    def seeds(
        self, F: np.ndarray, G: np.ndarray, count: int, rng: np.random.Generator | None = None
    ) -> np.ndarray:
        """Return the row variables of the groups with the largest scores given other components.

        Parameters
        ----------
        F : ndarray of shape (B, k, p)
            Products of the covariance matrix with the components of B fits.
        G : ndarray of shape (B, k, k)
            The covariance matrices of their scores, with zeros for components that have been removed.
        count : int
            Number of row variables to return. If there are fewer groups, their variables are repeated.
        rng : numpy Generator, optional
            If given, the scores are multiplied by random factors.

        Returns
        -------
        ndarray of int, shape (B, count)
        """
        Z = inverse(G)
        row_variables = np.empty((len(F), count), dtype=int)
        for b in range(len(F)):
            scores = self.scores(F[b], Z[b])
            if rng is not None:
                # 0.15 is the standard deviation of the log scores
                scores = scores * np.exp(0.15 * rng.standard_normal(len(scores)))
            row_variables[b] = np.resize(self.rows[self.best_groups(scores, count)], count)
        return row_variables


def groups_of(
    op: Operator, card: int, explained: np.ndarray, rows_limit: int, rng: np.random.Generator
) -> Groups:
    """Return the groups of at most `rows_limit` rows: the rows that PCA explains best, and random rows."""
    p = op.p
    count = min(
        p,
        ROWS_AT_ONCE
        if op.out_of_core
        else max(rows_limit * min(rows_limit, p) // p, min(1000, ENTRIES // p), 2),
    )
    leading_rows = np.argsort(-explained, kind="stable")[: count // 2]
    random_rows = rng.permutation(np.setdiff1d(np.arange(p), leading_rows))[: count - len(leading_rows)]
    rows = np.sort(np.concatenate([leading_rows, random_rows]))
    places, x = np.empty((count, card), dtype=int), np.empty((count, card))
    at_once = max(min(ROWS_AT_ONCE, ENTRIES_AT_ONCE // p), 1)
    for a in range(0, count, at_once):
        part = slice(a, a + at_once)
        C = np.ascontiguousarray(op.columns(rows[part]).T) / op.total
        places[part], x[part] = _largest_of(C, card)
    return Groups.of(rows, places, x, op.diagonal()[rows] / op.total)


def groups_of_matrix(S: np.ndarray, card: int) -> Groups:
    """Return the groups of all rows of a covariance matrix, shape (m, m)."""
    places, x = _largest_of(S, card)
    return Groups.of(np.arange(len(S)), places, x, np.diagonal(S))


def _largest_of(C: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the `card` largest entries of each row, shape (R, card), and these entries."""
    places = np.argpartition(-np.abs(C), card - 1, axis=1)[:, :card]
    return places, np.take_along_axis(C, places, axis=1)
