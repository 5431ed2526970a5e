"""Read and check chunks of a stream: the first defines the columns, and each becomes a block of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import listed, shown
from spcastat.linalg.ties import is_sparse
from spcastat.reading import formula as formulas
from spcastat.reading.checks import read_weights, require_numbers, suspicious
from spcastat.reading.design import PLAIN, ReadOptions, Spec
from spcastat.reading.frames import (
    Table,
    array_labels,
    checked_sparse,
    numbers,
    open_table,
    require_unique,
    take_weights,
)
from spcastat.reading.model_matrix import TRIED, learnt
from spcastat.reading.read import replay_table
from spcastat.streams.base import Block


def spec_of(
    chunk: Any, reading: ReadOptions = PLAIN, name: str = "the first chunk", *, levels: bool = False
) -> Spec:
    """Return how chunks are converted to columns, as the first chunk of a stream defines it.

    Only names and types are used, and nothing that depends on the values, since other chunks have other
    values. The chunk may be empty.

    Parameters
    ----------
    chunk : DataFrame, ndarray, scipy.sparse matrix, polars or pyarrow table, of shape (m, q)
    reading : ReadOptions
    name : str
        Name of the chunk in messages.
    levels : bool
        Whether the chunk has all levels of every factor, so that a formula may use factors.

    Returns
    -------
    Spec

    Raises
    ------
    OptionError
        For ``categorical="dummy"``.
    FormulaError
        For a formula that cannot be read, or with terms that depend on several rows.
    DataError
        For data that are not a table of numbers; see :func:`spcastat.reading.read.read_data`.
    """
    if reading.categorical == "dummy" and not levels:
        raise errors.OptionError(
            "categorical='dummy' was given for a stream of chunks: the levels would be those of its first "
            "chunk. Make the 0/1 columns in every chunk, e.g. (chunk['c'] == 'a').astype(float)."
        )
    with named(name):
        table = _open(chunk)
        require_unique(table.columns)
        if isinstance(reading.weights, str):
            table, found = take_weights(table, reading.weights)
            read_weights(found, table.index, labelled=False)
        if reading.formula is None:
            _require_numbers(table, range(len(table.columns)))
            return Spec("frame" if table.named else "array", table.columns)
        return _formula_spec(table, reading)


def read_block(
    spec: Spec,
    chunk: Any,
    *,
    weights: Any = None,
    na: str = "raise",
    name: str = "a chunk",
    first: int = 0,
    exact: bool = True,
) -> Block:
    """Check a chunk and convert it to the columns of the stream.

    Parameters
    ----------
    spec : Spec
        From :func:`spec_of`, or the spec of a fit.
    chunk : DataFrame, ndarray, scipy.sparse matrix, polars or pyarrow table, of shape (m, q)
        It may be empty.
    weights : str or array-like of shape (m,), optional
        Weights by position, or the name of their column in the chunk.
    na : {"raise", "drop"}
    name : str
        Name of the chunk in messages.
    first : int
        The number of rows before this chunk. Rows without labels are numbered from here.
    exact : bool
        True for rows that are fitted: all chunks must have the same columns, or those of the formula. False
        for new data.

    Returns
    -------
    Block

    Raises
    ------
    DataError, FormulaError
        As :func:`spcastat.reading.read.read_data`; every message starts with `name`.
    """
    with named(name):
        table = _open(chunk)
        require_unique(table.columns)
        table, weights = take_weights(table, weights)
        if exact:
            _require_columns(spec, table)
        index = _numbered(table.index, first)
        w = None if weights is None else read_weights(weights, index, labelled=False)
        if not len(index):
            return Block(np.empty((0, len(spec.columns))), w, index)
        if is_sparse(table.values) and table.values.format == "csr":
            if exact and not suspicious(table.values):
                return Block(table.values, w, index)
            table = open_table(chunk)  # by columns, to locate invalid entries
        matrix, keep = replay_table(spec, table, na, errors.FormulaError if exact else errors.NewDataError)
        if keep is None:
            return Block(matrix, w, index)
        return Block(matrix, None if w is None else w[keep], index[keep], int((~keep).sum()))


def _open(chunk: Any) -> Table:
    """Convert a chunk to a table; sparse rows of floats stay in CSR format."""
    if (
        is_sparse(chunk)
        and chunk.ndim == 2
        and chunk.format == "csr"
        and chunk.dtype in (np.float64, np.float32)
    ):
        from scipy.sparse import csr_array

        matrix = csr_array(checked_sparse(chunk))
        n, p = matrix.shape
        if p and matrix.has_canonical_format:
            return Table(matrix, array_labels(p), pd.RangeIndex(n), named=False, labelled=False)
    return open_table(chunk)


def _numbered(index: pd.Index, first: int) -> pd.Index:
    """Return the labels with `first` added if they are the default 0, 1, ...; other labels unchanged."""
    default = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    return pd.RangeIndex(first, first + len(index), name=index.name) if default and first else index


def _require_columns(spec: Spec, table: Table) -> None:
    """Raise unless a chunk has the columns of the stream, and numbers in them."""
    framed = isinstance(table.values, pd.DataFrame)
    if spec.kind == "formula" and not framed:
        raise errors.DataError(
            f"The chunk has no column names; formula={spec.formula!r} needs them: give data frames."
        )
    if framed != (spec.kind != "array"):
        first, here = ("names", "none") if spec.kind != "array" else ("no names", "names")
        raise errors.DataError(
            f"The columns of the first chunk have {first}, those of this chunk have {here}. Give all chunks "
            "as data frames, or all as arrays."
        )
    if not framed:
        if len(table.columns) != len(spec.columns):
            raise errors.ShapeError(
                f"The chunk has {len(table.columns)} columns; the first one has {len(spec.columns)}. All "
                "chunks must have the same columns."
            )
        return
    needed = pd.Index(spec.needed, tupleize_cols=False)
    positions = table.columns.get_indexer_for(needed)
    lost = needed[positions < 0]
    extra = table.columns[~table.columns.isin(needed)] if spec.kind == "frame" else needed[:0]
    if len(lost) or len(extra):
        parts = [f"lacks {listed(lost)}"] if len(lost) else []
        parts += [f"has in addition {listed(extra)}"] if len(extra) else []
        hint = " A formula, e.g. '~ a + b', picks columns out of chunks that differ." if len(extra) else ""
        raise errors.DataError(
            f"The chunk does not have the columns of the {'formula' if spec.inputs else 'first one'}: it "
            f"{' and '.join(parts)}. All chunks must have the same columns, in any order.{hint}"
        )
    if spec.model_spec is None:
        _require_numbers(table, [int(position) for position in positions])


def _require_numbers(table: Table, positions: Iterable[int]) -> None:
    """Raise ColumnTypeError unless the columns at `positions` hold real numbers."""
    if isinstance(table.values, pd.DataFrame):
        require_numbers(table.values, positions)
    else:
        numbers(table)


def _formula_spec(table: Table, reading: ReadOptions) -> Spec:
    """Return the spec of a formula, which is evaluated on some rows; its terms must not learn from them."""
    formula = reading.formula
    if not isinstance(table.values, pd.DataFrame):
        raise errors.FormulaError(
            f"formula={formula!r} was given with arrays, whose columns have no names; give data frames."
        )
    frame = table.values
    parsed = formulas.parse(formula, table.columns, reading.context or {}, reading.weights)
    if parsed.given is not None:
        raise errors.FormulaError(
            f"formula={shown(formula)} has covariates, and was given for rows in chunks. Give the covariance "
            "matrix of all columns, spca_cov(S, k, given=[...]), or rows in memory, such as a sample."
        )
    kinds = formulas.kinds_of(frame, parsed, reading.categorical)
    if parsed.plain and all(kind == "number" for kind in kinds.values()):
        positions = [parsed.lookups[term[0].text] for term in parsed.model.terms]
        return Spec("formula", table.columns[positions], formula=parsed.model.text)
    inputs, index = formulas.Inputs(frame.iloc[:TRIED], parsed.used, kinds), table.index[:TRIED]
    keep = inputs.complete_rows("drop")
    index = index if keep is None else index[keep]
    _, spec = learnt(parsed, inputs.rows(keep), table.columns, index)
    factors = {name for name in parsed.lookups if kinds[name] == "levels"}
    learning = [str(call) for call, state in spec.model_spec.states.items() if state]
    learning += [text for text in spec.model_spec.encodings if text not in factors]
    if learning:
        raise errors.FormulaError(
            f"formula={formula!r} was given for a stream of chunks; {listed(learning)} learns from rows. Use "
            "terms of single rows, such as log(a); spca(..., scale=True) standardises over all rows."
        )
    return spec


@contextmanager
def named(name: str) -> Iterator[None]:
    """Prefix errors of the package that are raised in the ``with`` block by the name of a chunk."""
    try:
        yield
    except errors.SpcaError as error:
        raise type(error)(f"{name}: {error}") from error.__cause__
