"""The variables that a joint search works on, and the covariance matrix among them."""

from __future__ import annotations

import numpy as np

from spcastat.operators import Operator
from spcastat.search.objectives import Problem

#: A joint search works on at most this many variables.
LARGEST = 1000


def working_set(op: Operator, supports: np.ndarray, k: int) -> np.ndarray:
    """Return the variables that a search may use: all of them, or the LARGEST most promising.

    Parameters
    ----------
    op : Operator
    supports : ndarray of int
        Variables that must be among them.
    k : int
        Number of components: beside the supports, variables enter by what PCA with k components explains
        of their variance.
    """
    if op.p <= LARGEST:
        return np.arange(op.p)
    values, vectors = op.leading(k)
    explained = vectors**2 @ values
    explained[supports] = np.inf
    room = max(LARGEST, len(np.unique(supports)))
    return np.sort(np.argsort(-explained, kind="stable")[:room])


def problem_on(op: Operator, variables: np.ndarray) -> Problem:
    """Return the covariance matrix on the working set, and what it says about all variables."""
    S = op.block(variables)
    T = np.empty_like(S)
    for start in range(0, len(variables), 200):
        part = slice(start, start + 200)
        T[:, part] = op.dot(op.columns(variables[part]))[variables]
    return Problem(0.5 * (S + S.T), 0.5 * (T + T.T), op.total)
