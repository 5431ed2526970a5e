"""How many components of many columns: half of the rows say which of them are tested, the other half tests.

Columns that were chosen for their covariances look like structure in the rows that chose them, whatever they
are; in other rows they do not.
"""

from __future__ import annotations

import numpy as np

from spcastat.choosing.screened import COLUMNS, ROOM, near_fit
from spcastat.engine.inputs import Opened, Source
from spcastat.errors import OptionError
from spcastat.operators import GRAM_ORDER
from spcastat.resample.half_rows import half_of

#: Cells of the tested columns whose signs are flipped, at most; beyond, draws are made from their moments.
FLIPPED = 3_000_000


def is_tested_in_part(source: Source | Opened, cells: int) -> bool:
    """Return whether data are too large for tests of all columns, so that some of them are tested.

    Parameters
    ----------
    source : Source or Opened
        The data, read or not.
    cells : int
        Cells of rows in memory of which all are flipped, at most.
    """
    if isinstance(source, Opened):
        return source.stream is not None and source.p > GRAM_ORDER
    if source.op.p <= GRAM_ORDER or source.gaps is not None or not source.from_rows:
        return False
    return source.matrix is None or source.matrix.shape[0] * source.op.p > cells


def require_room(p: int, kmax: int, card: int) -> None:
    """Raise OptionError for more loadings than leave room among the columns that are tested."""
    if ROOM * kmax * card > COLUMNS:
        raise OptionError(
            f"card={card} was given for kmax={kmax}; of so many rows of {p} variables {COLUMNS} are tested, "
            f"which leaves room for {COLUMNS // ROOM // kmax} in each component. Give a smaller card= or "
            "kmax=."
        )


def tested_part(source: Source, kmax: int, card: int, seed: int) -> Source:
    """Return half of the rows with the columns that matter most in the other half.

    Parameters
    ----------
    source : Source
        With rows, without missing values.
    kmax, card : int
        Components, and variables in each, of the sparse fit to the other half.
    seed : int
    """
    first = half_of(source, 0, seed)
    some = min(kmax, max(first.op.rank_limit, 1))
    values = first.op.sketched(some)[0]
    rank = np.count_nonzero(values > np.finfo(float).eps * first.op.p * max(values[0], 0.0))
    k = max(int(rank), 1)
    return half_of(source, 1, seed, near_fit(first.op, k, (card,) * k, seed))
