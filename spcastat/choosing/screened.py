"""Selection of columns for the choice of cardinalities, for rows in chunks with many columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from spcastat.engine import Request, make_plan, run
from spcastat.engine.inputs import Opened, Source
from spcastat.errors import OptionError
from spcastat.operators import GRAM_ORDER, Operator
from spcastat.resample.divide import MOMENTS
from spcastat.resample.screened_columns import among, columns_near
from spcastat.select.fits_of_cardinalities import Cards

#: Number of columns among which the choice is made.
COLUMNS = MOMENTS
#: Their number is at least this multiple of the number of nonzero loadings.
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
    return tuple(max(cards) for cards in zip(*wanted, strict=True))


def narrowed(source: Source, k: int, wanted: Sequence[Cards], seed: int) -> Source:
    """Return the source with only the columns most relevant for the fit with the largest cardinality.

    Parameters
    ----------
    source : Source
        The source of a stream.
    k : int
    wanted : sequence of tuples of k ints
        The cardinalities to choose from.
    seed : int
    """
    return among(source, near_fit(source.op, k, largest(wanted), seed))


def near_fit(op: Operator, k: int, card: Cards, seed: int) -> np.ndarray:
    """Return the COLUMNS columns most related to a sparse fit of these cardinalities, ascending."""
    plan = make_plan(Request(k, card, method="bcd-l0"), op.p)
    V = run(op, plan, k, np.random.default_rng(seed)).solution.V
    return columns_near(op, V, min(COLUMNS, op.p))
