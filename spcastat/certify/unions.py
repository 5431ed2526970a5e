"""Bounds by the union of the supports: components on the variables U explain no more than dense ones on U."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from spcastat.certify.dual import ROUNDING, ky_fan
from spcastat.certify.frame import Frame

#: Up to this many variables all their subsets are looked at.
MOST_VARIABLES = 14


def union_table(frame: Frame) -> np.ndarray:
    """Return the bound for components on every set of variables, shape (2^q,); bit i of the index is place i.

    Sets whose span is in doubt by rounding have the bound of all variables.
    """
    q, dense = len(frame.variables), frame.dense
    table = np.full(1 << q, dense)
    table[0] = frame.offset
    for size in range(1, q + 1):
        sets = np.array(list(combinations(range(q), size)))
        D, sound = frame.bases(sets)
        values = frame.offset + ky_fan(D.mT @ frame.M @ D, frame.k)
        values += ROUNDING * float(np.trace(frame.M))
        table[(1 << sets).sum(axis=1)] = np.where(sound, np.minimum(values, dense), dense)
    return table


def reaches(table: np.ndarray, most: int) -> np.ndarray:
    """Return the largest bound of a set and up to r further variables, shape (most + 1, 2^q)."""
    q = table.size.bit_length() - 1
    found = np.empty((most + 1, table.size))
    found[0] = table
    index = np.arange(table.size)
    for r in range(1, most + 1):
        found[r] = found[r - 1]
        for i in range(q):
            np.maximum(found[r], found[r - 1][index | (1 << i)], out=found[r])
    return found
