"""Rows in chunks: one pass for the moments of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spcastat import errors
from spcastat.inputs.data import Opened, Source
from spcastat.inputs.scaling import column_values, require_range, scale_of
from spcastat.linalg.accumulate import CrossProducts, Sums
from spcastat.linalg.operators import GRAM_ORDER, Operator
from spcastat.linalg.standardisation import (
    Blocks,
    ColumnUnits,
    Extremes,
    ScalingGroups,
    Standardisation,
    fits,
    from_products,
    standard_of,
)
from spcastat.streams.base import Stream, Tally, of_quotients
from spcastat.streams.operator import StreamRows


def open_streamed(stream: Stream, center: Any, scale: Any, blocks: Any = None) -> Opened:
    """Open rows that come in chunks; one pass is made when the source is requested."""
    columns = stream.spec.columns
    center = column_values("center", center, columns)
    scale = scale_of(scale, blocks, columns)
    if isinstance(scale, Blocks) and len(columns) > GRAM_ORDER:
        raise errors.OptionError(
            f"scale={scale.kind!r} was given for {stream.title}, with {len(columns):,} variables; in chunks "
            f"it takes {GRAM_ORDER:,} or fewer. Fit a sample of the rows in memory."
        )

    rows = InChunks(stream, center, scale)
    return Opened(len(columns), rows.source, stream.spec.context, center is True, stream)


@dataclass(frozen=True, eq=False)
class InChunks:
    """Rows in chunks, and how to centre and scale them.

    Attributes
    ----------
    stream : Stream
    center, scale
        As :func:`column_values` and :func:`_scale` return them.
    """

    stream: Stream
    center: Any
    scale: Any

    def source(self, rows_for: str = "") -> Source:
        """Return the source of a fit, for which one pass is made; raise NoRowsError if it needs the rows."""
        stream = self.stream
        if rows_for:
            raise errors.NoRowsError(
                f"This method works on the rows, and those of {stream.title} are read in chunks: use a "
                "method that takes 'data or covariance' (spcastat.methods()), or fit rows that fit into "
                "memory, such as a sample."
            )
        with np.errstate(invalid="ignore", over="ignore"):  # reported below
            standard, op, tally = _summed(stream, self.center, self.scale)
        require_range(op, standard, stream.spec.columns)
        return Source(
            op=op.at_unit_size(),
            spec=stream.spec,
            n=tally.rows,
            standard=standard,
            dropped=tally.dropped,
            stream=stream,
            total_weight=tally.weight,
            groups=self.scale if isinstance(self.scale, ScalingGroups) else None,
        )


def _summed(stream: Stream, center: Any, scale: Any) -> tuple[Standardisation, Operator, Tally]:
    """Return centre and scale, the operator, and the counts of a pass.

    If squares of the values overflow or underflow, two more passes are made: for the largest values of the
    columns, and for the sums of the columns divided by these.
    """
    columns = stream.spec.columns
    p = len(columns)
    begin: Any = partial(CrossProducts if p <= GRAM_ORDER else Sums, p)
    what = "means and cross-products" if p <= GRAM_ORDER else "means and variances"
    found = stream.reduce(begin, what)
    tally, sums, rows = found.tally, found.result, stream
    tally.require_enough(stream.title)
    units = None
    if not fits(sums.mean, sums.squares):
        largest = stream.reduce(partial(Extremes, p), "largest values").result.largest
        units = ColumnUnits.of(largest, scale)
    if units is not None:
        rows = of_quotients(stream, units.exponents)
        center, scale = units.centre(center), units.divisor(scale)
        sums = rows.reduce(begin, what).result
    op: Operator
    if isinstance(sums, CrossProducts):
        standard, op = from_products(sums, tally.positive, center, scale, columns)
    else:
        standard = standard_of(sums.mean, sums.squares, sums.weight, center, scale, columns)
        op = StreamRows(rows, sums, tally.positive, standard)
    if units is None:
        return standard, op, tally
    op.unit = units.unit
    return units.restored(standard), op, tally
