"""Select the most important columns of rows in chunks if memory does not suffice for all of them.

Every fold, half and draw needs its own matrix of cross-products. If there are too many columns for these, the
columns with a loading are taken, then those with the largest covariances with the components, then those with
the largest variances. The results hold for these columns only, and reports say how many there were.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spcastat.engine.inputs import Source
from spcastat.errors import OptionError
from spcastat.kernels.ties import top
from spcastat.operators import Operator
from spcastat.streams.changed_rows import of_columns


def columns_near(op: Operator, V: np.ndarray, size: int) -> np.ndarray:
    """Return the indices of the selected columns, ascending.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        The loadings of the fit.
    size : int
        Number of columns to select, at least as many as have a nonzero loading. Of the additional columns,
        three quarters are those with the largest covariance with a score, divided by the standard deviation
        of the score; the others are those with the largest variance.
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
    """Return the source of some columns of a stream, with their covariance matrix in memory.

    Parameters
    ----------
    source : Source
        A source with a stream.
    columns : ndarray of int, shape (m,)
        Ascending.
    """
    standard, stream = source.standard, source.stream
    assert stream is not None
    assert standard is not None
    op = source.op.take(columns)
    op.unit = source.op.unit
    fewer = of_columns(stream, columns)
    standard = replace(standard, mean=standard.mean[columns], scale=standard.scale[columns])
    if source.groups is not None:
        raise OptionError(
            f"scale={source.groups.kind!r} was given; of so many variables and draws only some variables are "
            "kept, and the eigenvalues of blocks need all. Ask for fewer draws, or fit a sample of the rows "
            "in memory."
        )
    return replace(source, op=op, spec=fewer.spec, standard=standard, stream=fewer)
