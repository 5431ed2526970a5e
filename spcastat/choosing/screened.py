"""Rows in chunks with many columns: the choice is made among those that matter most."""

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
from spcastat.select.fits_along_path import Cards

#: A choice is made among so many columns.
COLUMNS = MOMENTS
#: They are at least so many times those that have loadings.
ROOM = 2


def is_wide(entered: Opened, by: str) -> bool:
    """Return whether rows come in chunks and have more columns than a criterion can be computed of."""
    return entered.stream is not None and entered.p > (MOMENTS if by == "cv" else GRAM_ORDER)


def request(fitting: Mapping[str, Any], k: int, card: Any) -> Request:
    """Return what a call of :func:`spcastat.spca` with these options and cardinalities asks for."""
    known = {one.name for one in fields(Request)} - {"k", "card", "variance", "rng", "further"}
    own = {name: value for name, value in fitting.items() if name in known}
    return Request(k, card, further={n: v for n, v in fitting.items() if n not in known}, **own)


def refuse_early(entered: Opened, fitting: Mapping[str, Any], k: int, wanted: Sequence[Cards]) -> None:
    """Raise, before rows are read, where the fit of the largest cardinality would be refused.

    Raises
    ------
    OptionError
        Also for more loadings than leave room among the columns of the choice.
    """
    most = largest(wanted)
    if ROOM * sum(most) > COLUMNS:
        raise OptionError(
            f"cards holds {max(most)} for k={k}; of rows in chunks with {entered.p} variables the choice is "
            f"made among {COLUMNS}, which leaves room for {COLUMNS // ROOM // k} nonzeros a component. Give "
            "smaller cards."
        )
    plan = make_plan(request(fitting, k, most), entered.p)
    if entered.refuse is not None:
        entered.refuse(plan, k)


def largest(wanted: Sequence[Cards]) -> Cards:
    """Return the largest cardinality of each component."""
    return tuple(max(cards) for cards in zip(*wanted, strict=True))


def narrowed(source: Source, k: int, wanted: Sequence[Cards], seed: int) -> Source:
    """Return the source with only the columns that are most relevant for the fit of the largest cardinality.

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
    """Return the COLUMNS that are near a sparse fit of these cardinalities, ascending."""
    plan = make_plan(Request(k, card, method="bcd-l0"), op.p)
    V = run(op, plan, k, np.random.default_rng(seed)).solution.V
    return columns_near(op, V, min(COLUMNS, op.p))
