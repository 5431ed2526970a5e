"""Rows in pieces with more columns than sums of parts of them can be kept for: the columns that matter most.

Folds, halves and draws each need cross-products of their own. Where all columns are too many, those of a fit
are taken, then those that vary most with its components, then those that vary most. What is found holds for
these columns: whoever asks is told how many there are, and that the others were not considered.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spcastat.engine.inputs import Source
from spcastat.kernels.ties import top
from spcastat.operators import Operator
from spcastat.streams.chosen_columns import ColumnStream


def columns_near(op: Operator, V: np.ndarray, size: int) -> np.ndarray:
    """Return columns for a fit, ascending.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Its loadings.
    size : int
        How many columns, at least as many as have a loading. The larger part of those that have none are the
        ones whose covariance with the scores of a component is largest, relative to the standard deviation
        of the scores; the others have the largest variance.
    """
    if size >= op.p:
        return np.arange(op.p)
    SV = op.dot(V)
    deviations = np.sqrt(np.maximum(np.einsum("ij,ij->j", V, SV), np.finfo(float).tiny))
    reach = np.abs(SV / deviations).max(axis=1)
    inside = V.any(axis=1)
    for values, share in ((reach, 0.75), (op.diagonal(), 1.0)):
        more = int(share * (size - np.count_nonzero(inside)))
        if more > 0:
            inside |= top(np.where(inside, -1.0, values), more)
    return np.flatnonzero(inside)


def among(source: Source, columns: np.ndarray) -> Source:
    """Return the rows of a stream with some of their columns, known by their covariance matrix.

    Parameters
    ----------
    source : Source
        Of a stream.
    columns : ndarray of int, shape (m,)
        Ascending.
    """
    standard, stream = source.standard, source.stream
    assert stream is not None
    assert standard is not None
    op = source.op.take(columns)
    op.unit = source.op.unit
    fewer = ColumnStream(stream, columns)
    standard = replace(standard, mean=standard.mean[columns], scale=standard.scale[columns])
    blocks = source.blocks and source.blocks.take(columns)
    return replace(source, op=op, spec=fewer.spec, standard=standard, stream=fewer, blocks=blocks)
