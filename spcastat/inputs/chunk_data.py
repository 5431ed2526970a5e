"""Rows in chunks as the data of a fit: one pass for moments, and a random sample for resampling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import sparse

from spcastat import errors
from spcastat.arguments import plural, shown, whole_number
from spcastat.inputs.data import Data, center_and_scale, column_values, require_range, scale_of
from spcastat.inputs.opening import Source, refuse_long_imputations
from spcastat.inputs.row_data import ROW_OPTIONS, RowData, column_factors, is_mixed, split_options
from spcastat.inputs.row_groups import ODD
from spcastat.linalg.accumulate import ColumnSums, CrossProducts, Nothing, is_sparse
from spcastat.linalg.operators import GRAM_ORDER, Operator
from spcastat.linalg.standardisation import (
    BlockScaling,
    ColumnUnits,
    Extremes,
    ScalingGroups,
    Standardisation,
    fits,
    from_products,
    standard_of,
)
from spcastat.reading.checks import warn_of_row_numbers
from spcastat.reading.design import Design, Spec, checked_robust
from spcastat.streams.base import Stream, Tally, of_quotients
from spcastat.streams.operator import StreamRows

#: The message for mixed data that are not in memory.
MIXED_IN_CHUNKS = (
    "scale='mixed' was given for data that are read in chunks; it needs all rows in memory. "
    "Give a DataFrame, such as pd.read_csv(path), or a DataFrame with a sample of the rows."
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ChunkData(Data):
    """Rows in chunks, which are read in passes.

    Attributes
    ----------
    stream : Stream
    center, scale
        The centre and scale, as returned by :func:`column_values` and :func:`scale_of`.
    """

    stream: Stream
    center: Any
    scale: Any

    option_names: ClassVar[tuple[str, ...]] = ROW_OPTIONS

    @classmethod
    def read(cls, source: Source, options: Mapping[str, Any]) -> ChunkData:
        """Return rows in chunks, with the options of `spcastat.rows`; only the first chunk is read."""
        reading, scaling = split_options(options)
        if is_mixed(options):
            raise errors.OptionError(MIXED_IN_CHUNKS)
        if checked_robust(scaling.pop("robust", False)):
            raise errors.OptionError(
                f"robust={options['robust']!r} was given with rows in chunks, but needs them in memory. "
                "Give a table that fits into memory, such as a sample, and transform the rows with its fit."
            )
        stream = source.stream(reading)
        refuse_long_imputations(stream.spec.columns)
        if reading.formula is None:
            warn_of_row_numbers(None, stream.spec.columns)
        else:
            options = {**options, "context": stream.spec.context}
        return cls(options=options, table=source, stream=stream, **_scaling_of(stream, scaling))

    # --- columns and moments -----------------------------------------------------------------------

    @cached_property
    def moments(self) -> tuple[Standardisation, Operator, Tally]:
        """Centre and scale, the operator, and the counts of a pass."""
        with np.errstate(invalid="ignore", over="ignore"):  # reported below
            standard, op, tally = _summed(self.stream, self.center, self.scale)
        require_range(op, standard, self.columns)
        op = op.at_unit_size()
        if (max_passes := self.options.get("passes")) is not None:
            op.most_passes = max_passes
        return standard, op, tally

    @property
    def spec(self) -> Spec:
        return self.stream.spec

    @property
    def standard(self) -> Standardisation:
        return self.moments[0]

    @property
    def op(self) -> Operator:
        return self.moments[1]

    @property
    def n(self) -> int:
        return self.moments[2].rows

    @property
    def dropped(self) -> int:
        return self.moments[2].dropped

    @property
    def weight(self) -> float:
        return self.moments[2].weight

    @property
    def weighted(self) -> bool:
        return self.stream.weighted

    @property
    def groups(self) -> ScalingGroups | None:
        return self.scale if isinstance(self.scale, ScalingGroups) else None

    @property
    def title(self) -> str:
        return self.stream.title

    @property
    def size(self) -> str:
        return f"{self.title}, {plural(self.p, 'variable')}"  # needs no pass

    @property
    def passes(self) -> int:
        return 1 + getattr(self.op, "passes", 0)

    @property
    def anew(self) -> bool:
        return self.stream.anew

    @property
    def distributed(self) -> bool:
        return not self.stream.local

    @property
    def picklable(self) -> bool:
        return not self.stream.local

    @property
    def known_rows(self) -> int | None:
        return self.stream.rows

    @property
    def centred(self) -> bool:
        return self.center is True

    @property
    def out_of_core(self) -> bool:
        return True

    # --- requests of analyses ----------------------------------------------------------------------

    def for_method(self, method: str) -> ChunkData:
        if method:
            raise errors.NoRowsError(
                f"This method needs rows in memory, but the rows of {self.title} are read in chunks: use a "
                "method that accepts 'data or covariance' (spcastat.methods()), or fit rows that fit into "
                "memory, such as a sample."
            )
        return self

    def in_memory(self, seed: int) -> RowData:
        """Return a random sample of at most MOST_ROWS rows; another seed draws another sample."""
        sample, _ = self._sample(SAMPLE_ROWS, seed)
        X = sample.X.tocsc() if is_sparse(sample.X) else np.asarray(sample.X)
        center, scale = center_and_scale(self.standard, self.groups)
        return RowData(
            options=self.options,
            contents=Design(X, pd.RangeIndex(X.shape[0]), self.spec, sample.weights),
            center=center,
            scale=scale,
            total_rows=self.n,
            warns=False,
        )

    def rows(self, analysis: str, function: str = "spca") -> RowData:
        alternative = (
            "in chunks, and scores.to_frame() all of them"
            if self.stream.local
            else "as a dask collection, and scores.compute() all of them"
        )
        raise errors.NoRowsError(
            f"{analysis} needs the rows in memory, but the rows of {self.title} come in chunks. Use some of "
            f"them, e.g. transform(sample) or diagnostics(sample); `scores` gives the scores {alternative}."
        )

    def sampler(self, analysis: str, keep_rows: bool = False) -> Any:
        return self.rows(analysis)

    def noise(self, seed: int, cells: int, unit: float, terms: np.ndarray | None, pull: bool = True) -> Any:
        return self.rows("A simulation of noise")

    def fold_rows(self, folds: int, repeats: int, seed: int, unit: float, pull: bool = True) -> Any:
        return self.rows("A prediction of held-out rows")

    def row_parts(
        self, analysis: str, function: str = "spca", task: str = "rows"
    ) -> Iterator[tuple[Any, pd.Index]]:
        for block in self.stream.blocks(task):
            yield block.values, block.index

    def random_rows(self, size: int, seed: int) -> tuple[Any, int]:
        sample, total = self._sample(size, seed)
        return sample.X, total

    def _sample(self, size: int, seed: int) -> tuple[SampledRows, int]:
        """Return at most `size` random rows, and the number of all rows, after one pass."""
        result = self.stream.reduce(partial(SampledRows, size, seed), "a sample of the rows")
        return result.result, result.tally.rows

    def scores(self, V: np.ndarray, components: pd.Index, function: str = "spca") -> Any:
        return self.stream.scores(self.standard, V, components)

    def fingerprint(self, columns: pd.Index) -> tuple[np.ndarray, np.ndarray]:
        weights = np.ones(1)
        if not self.stream.local:  # rows are in unknown order, so means of columns are compared
            return self.standard.mean[self.columns.get_indexer(columns)], weights
        factors = column_factors(self.columns, columns)
        blocks = self.stream.blocks("comparison of the rows")
        parts = [(abs(block.values) @ factors, block.weights) for block in blocks]
        if self.weighted:
            weights = np.concatenate([np.asarray(weight) for _, weight in parts])
        return np.concatenate([sums for sums, _ in parts]), weights

    def by_row(self, given: Any, option: str) -> Any:
        if given is not None:
            raise errors.NoRowsError(
                f"{option}={shown(given)} was given, but rows that are not in memory are represented by a "
                "sample, which has no such values. Leave it out, or fit rows that fit into memory."
            )
        return given

    def changed(self, **changes: Any) -> ChunkData:
        if not changes:
            self.require_unchanged()
            return self
        options = self.changed_options(changes)
        if is_mixed(options):
            raise errors.OptionError(MIXED_IN_CHUNKS)
        if set(changes) - {"center", "scale", "blocks", "passes"}:
            self.require_unchanged()
            return ChunkData.read(self.table, options)
        scaling = _scaling_of(self.stream, split_options(options)[1])
        return replace(self, options=options, warns=False, **scaling)

    # --- comparison with the original --------------------------------------------------------------

    def require_unchanged(self) -> None:
        self.stream.reduce(Nothing, "comparison with the fit")  # raises if the number of rows changed

    def spare(self, path: Path) -> None:
        self.stream.spare(path)


def _scaling_of(stream: Stream, scaling: Mapping[str, Any]) -> dict[str, Any]:
    """Return centre and scale by column, from the options `center`, `scale`, `blocks` and `passes`."""
    columns = stream.spec.columns
    center = column_values("center", scaling.get("center", True), columns)
    scale = scale_of(scaling.get("scale"), scaling.get("blocks"), columns)
    if isinstance(scale, BlockScaling) and len(columns) > GRAM_ORDER:
        raise errors.OptionError(
            f"scale={scale.kind!r} was given for {stream.title}, with {len(columns):,} variables; in chunks "
            f"it accepts {GRAM_ORDER:,} or fewer. Fit a sample of the rows in memory."
        )
    if (max_passes := scaling.get("passes")) is not None:
        whole_number("passes", max_passes, 1, 1000)
    return {"center": center, "scale": scale}


def _summed(stream: Stream, center: Any, scale: Any) -> tuple[Standardisation, Operator, Tally]:
    """Return centre and scale, the operator, and the counts of a pass.

    If squares of the values overflow or underflow, two additional passes compute the largest values of the
    columns, and the sums of the columns divided by these values.
    """
    columns = stream.spec.columns
    p = len(columns)
    begin: Any = partial(CrossProducts if p <= GRAM_ORDER else ColumnSums, p)
    measured = "means and cross-products" if p <= GRAM_ORDER else "means and variances"
    first_pass = stream.reduce(begin, measured)
    tally, sums, rows = first_pass.tally, first_pass.result, stream
    tally.require_enough(stream.title)
    units = None
    if not fits(sums.mean, sums.squares):
        largest = stream.reduce(partial(Extremes, p), "largest values").result.largest
        units = ColumnUnits.of(largest, scale)
    if units is not None:
        rows = of_quotients(stream, units.exponents)
        center, scale = units.centre(center), units.divisor(scale)
        sums = rows.reduce(begin, measured).result
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


# --- a sample of chunks --------------------------------------------------------------------------


#: Largest number of rows in a sample, and largest number of values in a dense sample.
SAMPLE_ROWS, SAMPLE_CELLS = 50_000, 64_000_000


class SampledRows:
    """Accumulator of rows drawn at random without replacement.

    Parameters
    ----------
    size, seed : int

    Attributes
    ----------
    keys : ndarray of uint64, shape (m,)
        The keys of the rows drawn so far, in ascending order.
    X : ndarray or scipy.sparse CSR array of shape (m, p), or None
        The rows drawn so far.
    weights : ndarray of shape (m,), or None
    """

    def __init__(self, size: int, seed: int):
        self.size, self.seed, self.row_count = size, seed, 0
        self.keys = np.zeros(0, dtype=np.uint64)
        self.X: Any = None
        self.weights: np.ndarray | None = None

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows; rows of weight zero are never drawn."""
        X = X.tocsr() if is_sparse(X) else X
        place = (self.row_count + np.arange(X.shape[0])).astype(np.uint64)
        self.row_count += X.shape[0]
        keys = row_keys(X, self.seed) ^ ((place + np.uint64(1)) * ODD)
        keys = (keys ^ (keys >> np.uint64(31))) * ODD
        places = np.arange(len(keys)) if weights is None else np.flatnonzero(weights > 0)
        size = self._capacity(X)
        places = places[np.argsort(keys[places], kind="stable")[:size]]
        if len(self.keys) == size:
            places = places[keys[places] < self.keys[-1]]
        self._join(keys[places], X[places], None if weights is None else weights[places], size)

    def merge(self, sample: SampledRows) -> None:
        """Add the rows drawn by another accumulator."""
        if sample.X is not None:
            self._join(sample.keys, sample.X, sample.weights, self._capacity(sample.X))

    def _capacity(self, X: Any) -> int:
        """Return the largest number of rows in a sample of rows like X."""
        return self.size if is_sparse(X) else min(self.size, max(SAMPLE_CELLS // X.shape[1], 2))

    def _join(self, keys: np.ndarray, X: Any, weights: np.ndarray | None, size: int) -> None:
        if not len(keys) and self.X is not None:
            return
        if self.X is not None:
            keys = np.append(self.keys, keys)
            X = sparse.vstack([self.X, X], format="csr") if is_sparse(X) else np.concatenate([self.X, X])
            if weights is not None and self.weights is not None:
                weights = np.append(self.weights, weights)
        smallest = np.argsort(keys, kind="stable")[:size]
        self.keys, self.X = keys[smallest], X[smallest]
        self.weights = None if weights is None else weights[smallest]


def row_keys(X: Any, seed: int) -> np.ndarray:
    """Return a 64-bit hash of the values of each row and the seed, shape (n,)."""
    multipliers = np.random.default_rng(seed).integers(2**63, size=X.shape[1], dtype=np.uint64) * 2 + 1
    if is_sparse(X):
        X = X.tocsr()
        cells = _bits(X.data) * multipliers[X.indices]
        filled = np.append(np.cumsum(cells, dtype=np.uint64), np.uint64(0))
        ends = np.concatenate([[np.uint64(0)], filled[:-1]])[X.indptr]
        sums = ends[1:] - ends[:-1]
    else:
        sums = np.zeros(len(X), dtype=np.uint64)
        for j, multiplier in enumerate(multipliers):
            sums += _bits(X[:, j]) * multiplier
    sums ^= sums >> np.uint64(32)
    sums *= ODD
    return sums


def _bits(values: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each number; the hash of zero is zero."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    mixed: np.ndarray = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))
