"""Tests for the number of components with many columns, selected on half of the rows, tested on the other.

Columns selected for their covariances always show structure in the rows that selected them, even if they are
noise; the tests therefore use the other rows.
"""

from __future__ import annotations

import numpy as np

from spcastat.choosing.screened import COLUMNS, ROOM, near_fit
from spcastat.engine.inputs import Opened, Source
from spcastat.errors import OptionError
from spcastat.operators import GRAM_ORDER
from spcastat.resample.half_rows import half_of

#: Signs of the tested columns are flipped up to this many cells; with more, draws are made from their
#: moments.
FLIPPED = 3_000_000


def is_tested_in_part(source: Source | Opened, cells: int) -> bool:
    """Return whether data are too large for tests of all columns, so that a selection is tested.

    Parameters
    ----------
    source : Source or Opened
        The data, read or not.
    cells : int
        Largest number of cells in memory for which all signs are flipped.
    """
    if isinstance(source, Opened):
        return source.stream is not None and source.p > GRAM_ORDER
    if source.op.p <= GRAM_ORDER or source.gaps is not None or not source.from_rows:
        return False
    return source.matrix is None or source.matrix.shape[0] * source.op.p > cells


def require_room(p: int, kmax: int, card: int) -> None:
    """Raise OptionError if the components have too many loadings for the columns that are tested."""
    if ROOM * kmax * card > COLUMNS:
        raise OptionError(
            f"card={card} was given for kmax={kmax}; for so much data, {COLUMNS} of the {p} variables are "
            f"tested, which allows {COLUMNS // ROOM // kmax} in each component. Give a smaller card= or "
            "kmax=."
        )


def tested_part(source: Source, kmax: int, card: int, seed: int) -> Source:
    """Return half of the rows, with the columns selected from the other half.

    Parameters
    ----------
    source : Source
        With rows, without missing values.
    kmax, card : int
        Number of components, and of variables in each, in the sparse fit to the other half.
    seed : int
    """
    first = half_of(source, 0, seed)
    some = min(kmax, max(first.op.rank_limit, 1))
    values = first.op.sketched(some)[0]
    rank = np.count_nonzero(values > np.finfo(float).eps * first.op.p * max(values[0], 0.0))
    k = max(int(rank), 1)
    return half_of(source, 1, seed, near_fit(first.op, k, (card,) * k, seed))
