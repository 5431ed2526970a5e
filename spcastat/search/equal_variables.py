"""Ties between equal variables: the first of them get the loadings."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import tie_width
from spcastat.operators import Operator
from spcastat.search.grouped import GroupRule
from spcastat.search.rule import SupportRule


def first_of_equals(op: Operator, V: np.ndarray, rule: SupportRule | None = None) -> np.ndarray:
    """Return equally good loadings in which the first of equal variables are used first.

    Two variables are equal if exchanging them changes the covariance matrix by rounding only. All measures of
    the loadings are then the same, and rounding would choose between the variables.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
    rule : SupportRule, optional
        Variables for which it has different restrictions are not equal.

    Returns
    -------
    ndarray of shape (p, k)
    """
    used = np.flatnonzero(V.any(axis=1))
    columns, diagonal = op.columns(used), op.diagonal()
    groups: list[np.ndarray] = []
    for place, j in enumerate(used):
        if any(j in group for group in groups):
            continue
        equals = _equals(op, used, columns, diagonal, place)
        if rule is not None:
            own = [rule.of[None]] if isinstance(rule, GroupRule) else []
            asked = np.concatenate([rule.may, rule.must, *own])
            equals = equals[(asked[:, equals] == asked[:, [j]]).all(axis=0)]
        if equals.size > 1:
            groups.append(equals)
    if not groups:
        return V
    V = V.copy()
    for group in groups:
        rows = V[group]
        # lexsort takes the last key first: supports in the order of components, then absolute loadings
        sizes = -np.abs(rows).T.round(9)
        V[group] = rows[np.lexsort([*sizes[::-1], *(rows == 0).T[::-1]])]
    return V


def _equals(
    op: Operator, used: np.ndarray, columns: np.ndarray, diagonal: np.ndarray, place: int
) -> np.ndarray:
    """Return the variables equal to the one at `place` in `used`, including itself, in ascending order."""
    j = used[place]
    width = tie_width(diagonal, diagonal.max())
    like = np.abs(diagonal - diagonal[j]) <= width[j]
    apart = np.abs(columns - columns[j]) > _width(diagonal, diagonal[used], diagonal[j])
    apart[:, place] = False
    apart[used, np.arange(used.size)] = False
    found = np.flatnonzero(like & ~apart.any(axis=1))
    if found.size == 1:
        return found
    others = op.columns(found)
    apart = np.abs(others - columns[:, [place]]) > _width(diagonal, diagonal[found], diagonal[j])
    apart[found, np.arange(found.size)] = False
    apart[j] = False
    return found[~apart.any(axis=0)]


def _width(diagonal: np.ndarray, others: np.ndarray, own: float) -> np.ndarray:
    """Return how far covariances of two variables may differ and still tie, shape (p, len(others))."""
    size = np.sqrt(diagonal.clip(min=0.0))
    return tie_width(np.outer(size, np.sqrt(np.maximum(others, own))), diagonal.max())
