"""Parts of large data on which `choose` and `choose_k` base the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from spcastat.engine import Request, make_plan, run
from spcastat.engine.inputs import Opened, Source
from spcastat.errors import OptionError
from spcastat.operators import GRAM_ORDER, Operator
from spcastat.resample.folds import MOMENTS
from spcastat.resample.subsets import columns_near, half_of
from spcastat.select.fits_of_cardinalities import Cards

# --- columns of wide chunks -----------------------------------------------------------------------


#: Number of columns among which the choice is made.
COLUMNS = MOMENTS
#: The number of columns is at least this multiple of the number of nonzero loadings.
ROOM = 2


def is_wide(entered: Opened, by: str) -> bool:
    """Return whether rows come in chunks and have more columns than the criterion can use."""
    return entered.stream is not None and entered.p > (MOMENTS if by == "cv" else GRAM_ORDER)


def request(fitting: Mapping[str, Any], k: int, card: Any) -> Request:
    """Return the request of a call of :func:`spcastat.spca` with these options and cardinalities."""
    known = {one.name for one in fields(Request)} - {"k", "card", "variance", "rng", "further"}
    own = {name: value for name, value in fitting.items() if name in known}
    return Request(k, card, further={n: v for n, v in fitting.items() if n not in known}, **own)


def refuse_early(entered: Opened, fitting: Mapping[str, Any], k: int, wanted: Sequence[Cards]) -> None:
    """Raise, before rows are read, if the fit with the largest cardinality would be refused.

    Raises
    ------
    OptionError
        Also if the components have too many loadings for the columns of the choice.
    """
    most = largest(wanted)
    if ROOM * sum(most) > COLUMNS:
        raise OptionError(
            f"cards holds {max(most)} for k={k}; for rows in chunks with {entered.p} variables the choice is "
            f"made among {COLUMNS}, which allows {COLUMNS // ROOM // k} nonzeros per component. Give "
            "smaller cards."
        )
    plan = make_plan(request(fitting, k, most), entered.p)
    if entered.refuse is not None:
        entered.refuse(plan, k)


def largest(wanted: Sequence[Cards]) -> Cards:
    """Return the largest cardinality of each component."""
    return tuple(map(max, zip(*wanted, strict=True)))


def near_fit(op: Operator, k: int, card: Cards, seed: int) -> np.ndarray:
    """Return the COLUMNS columns most related to a sparse fit of these cardinalities, ascending."""
    plan = make_plan(Request(k, card, method="bcd-l0"), op.p)
    V = run(op, plan, k, np.random.default_rng(seed)).solution.V
    return columns_near(op, V, min(COLUMNS, op.p))


# --- halves of the rows ---------------------------------------------------------------------------


def is_tested_in_part(source: Source | Opened, cells: int) -> bool:
    """Return whether the data are too large to test all columns, so that only some columns are tested.

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
            f"sparse_card={card} was given for kmax={kmax}; for so much data, {COLUMNS} of the {p} variables "
            f"are tested, which allows {COLUMNS // ROOM // kmax} in each component. Give a smaller "
            "sparse_card= or kmax=."
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
