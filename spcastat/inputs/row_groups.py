"""Groups of rows that are drawn together, in an order that depends only on the values of the rows.

Draws, halves, folds and signs refer to rows by their places in a canonical order, so that the same rows in
another order, in another container or in chunks give the same draws. Dependent rows are drawn together, as
clusters within strata or as blocks of successive rows in time.

The bootstrap of clusters follows Rao, Wu and Yue (1992), "Some recent work on resampling methods for complex
surveys", Survey Methodology 18. The bootstrap of blocks follows Kuensch (1989), "The jackknife and the
bootstrap for general stationary observations", Annals of Statistics 17.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from spcastat.errors import WeightsError
from spcastat.linalg.accumulate import blocks, is_sparse, weights_or_ones
from spcastat.linalg.operators import Operator
from spcastat.linalg.regression import factor_of
from spcastat.linalg.standardisation import Standardisation
from spcastat.reading.design import RowDesign, Spec


class StandardRows(Protocol):
    """Standardised rows in memory, an interface to :class:`spcastat.inputs.row_data.RowData`."""

    @property
    def table(self) -> Any: ...
    @property
    def op(self) -> Operator: ...
    @property
    def spec(self) -> Spec: ...
    @property
    def standard(self) -> Standardisation: ...
    @property
    def n(self) -> int: ...
    @property
    def weight(self) -> float: ...
    @property
    def free(self) -> float | None: ...
    @property
    def matrix(self) -> Any: ...
    @property
    def raw_rows(self) -> Any: ...
    @property
    def measured(self) -> Any: ...
    @property
    def index(self) -> pd.Index: ...
    @property
    def weights(self) -> np.ndarray | None: ...
    @property
    def covariates(self) -> np.ndarray | None: ...
    @property
    def missing(self) -> Any: ...
    @property
    def design(self) -> RowDesign | None: ...
    @property
    def dropped(self) -> int: ...
    @property
    def total_rows(self) -> int | None: ...
    @property
    def row_groups(self) -> RowGroups: ...
    @property
    def neighbours(self) -> Any: ...


#: Largest sum of integer weights.
MOST_UNITS = 50_000_000


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows in groups that are drawn together.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
        Places of the rows in the data, group by group. A row of weight 2 that counts as two rows occurs
        twice.
    group : ndarray of int, shape (m,)
        The number of the group of each row, ascending from 0. Independent rows are groups of one row.
    stratum : ndarray of int, shape (G,)
        The number of the stratum of each group.
    alike : ndarray of int, shape (m,)
        Numbers that are equal for equal rows.
    copies : bool
        Whether there are equal rows although rows are unlikely to be equal by chance, as with columns of many
        values. Such rows count as one observation if rows must be independent of each other.
    block : int
        Number of rows in a block. If it is 2 or more, rows are in time order, and groups are blocks.
    weights : ndarray of shape (m,), or None
        The weight of each row, unless weights are numbers of equal rows that `rows` repeats.
    design : RowDesign or None
        The clusters, strata or blocks; None for independent rows.
    """

    rows: np.ndarray
    group: np.ndarray
    stratum: np.ndarray
    alike: np.ndarray
    block: int = 1
    weights: np.ndarray | None = None
    design: RowDesign | None = None
    copies: bool = False

    @classmethod
    def of(
        cls, X: Any, w: np.ndarray | None, covariates: np.ndarray | None, design: RowDesign | None
    ) -> RowGroups:
        """Return the groups of rows in memory, each row once; X, w and covariates as for `content_keys`."""
        keys = content_keys(X, w, covariates)
        n = len(keys)
        block = 1 if design is None or design.block_length is None else int(design.block_length)
        if block > 1:
            rows, group = np.arange(n), np.arange(n) // block
        else:
            rows, group = _by_content(keys, w, design)
        first_rows = np.unique(group, return_index=True)[1]
        stratum = np.zeros(len(first_rows), dtype=int)
        if design is not None and design.strata is not None:
            order = np.argsort(sums_of_keys(keys, design.strata, w), kind="stable")
            stratum = np.argsort(order)[design.strata[rows[first_rows]]]
        alike = _numbers_of_equal(X, covariates, keys)[rows]
        has_equal = alike.max() + 1 < n or bool(w is not None and w.max() > 1.0)
        is_alone = block == 1 and (design is None or design.clusters is None)
        copies = is_alone and has_equal and are_counts(w, design) and not equal_by_chance(X, w)
        return cls(rows, group, stratum, alike, block, None if w is None else w[rows], design, copies)

    @property
    def independent(self) -> bool:
        """Whether rows are drawn one by one, with equal probabilities."""
        is_single = self.design is None or (self.count == len(self.rows) and not self.stratified)
        return self.weights is None and is_single

    @property
    def stratified(self) -> bool:
        """Whether there are several strata."""
        return len(self.stratum) > 0 and bool((self.stratum != self.stratum[0]).any())

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.stratum)

    @property
    def clustered(self) -> bool:
        """Whether the groups are clusters or blocks, even if each of them has one row."""
        return self.block > 1 or (self.design is not None and self.design.clusters is not None)

    @property
    def counts(self) -> bool:
        """Whether weights, if any, are numbers of rows, and equal rows are not copies of one observation."""
        return are_counts(self.weights, self.design) and not self.copies

    @property
    def in_data(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Places of the rows in ascending order, shape (m,), and their weights."""
        order = np.argsort(self.rows, kind="stable")
        return self.rows[order], None if self.weights is None else self.weights[order]

    @property
    def has_equal(self) -> bool:
        """Whether a row occurs twice, or has a weight above 1."""
        w = weights_or_ones(self.weights, len(self.rows))
        return bool(self.different < np.count_nonzero(w) or w.max() > 1.0)

    @property
    def different(self) -> int:
        """Number of different rows of positive weight."""
        return len(np.unique(self.alike if self.weights is None else self.alike[self.weights > 0]))

    @property
    def observations(self) -> float:
        """Number of groups, or of independent rows: a row of weight 2 counts as two, and copies as one."""
        if self.copies:
            return float(self.different)
        if self.weights is None or self.clustered or not are_counts(self.weights, self.design):
            return float(self.count)
        return float(self.weights.sum())

    @property
    def starts(self) -> np.ndarray:
        """The place in `rows` of the first row of each group, shape (G,)."""
        return np.searchsorted(self.group, np.arange(self.count))

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group, shape (G,)."""
        return np.bincount(self.group, minlength=self.count)

    def unit_rows(self, analysis: str) -> RowGroups:
        """Return rows repeated according to their weights; sampling weights remain weights.

        Rows without a design are then drawn one by one. `analysis` is the name of the analysis, for messages.

        Raises
        ------
        WeightsError
            For frequency weights that are not whole numbers.
        """
        w = self.weights
        if w is None or (self.design is not None and self.design.sampling):
            return self
        if (w != np.round(w)).any():
            raise WeightsError(
                f"{analysis} draws rows, so weights must be numbers of equal rows: with weights that are not "
                f"whole numbers (such as {float(w[w != np.round(w)][0]):g}) there is no number of rows to "
                "draw. Fit with weights that are whole numbers, without weights, or with "
                "weights_are='sampling' if they are survey weights."
            )
        if w.sum() > MOST_UNITS:
            raise WeightsError(
                f"{analysis} draws rows, and the weights represent {w.sum():.3g} of them, more than "
                f"{MOST_UNITS:,}; use spca_cov() with n_obs=, which draws normal rows."
            )
        times = w.astype(int)
        rows, alike = np.repeat(self.rows, times), np.repeat(self.alike, times)
        if self.design is None or self.design.clusters is None:
            strata = np.repeat(self.stratum[self.group], times)
            return replace(
                self, rows=rows, group=np.arange(len(rows)), stratum=strata, alike=alike, weights=None
            )
        row_groups = np.repeat(self.group, times)
        group = run_numbers(row_groups)
        stratum = self.stratum[np.unique(row_groups)]
        return replace(self, rows=rows, group=group, stratum=stratum, alike=alike, weights=None)

    def single_rows(self, analysis: str) -> RowGroups:
        """Return the result of `unit_rows`, or the rows unchanged if weights are not numbers of rows."""
        return self.unit_rows(analysis) if are_counts(self.weights, self.design) else self

    # --- draws ------------------------------------------------------------------------------------

    def bootstrap(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        """Draw with replacement; return the places of the rows, and their weights unless all are equal.

        Independent rows are drawn as many times as there are rows. Blocks in time may start at any row. In a
        stratum with n_h groups, n_h - 1 groups are drawn, and rows have the weight n_h / (n_h - 1) times the
        number of times they were drawn; a group that is alone in its stratum is kept. If this factor is the
        same for all rows, rows occur as often as they were drawn; otherwise weights sum to the number of
        rows.
        """
        m = len(self.rows)
        if self.independent:
            return self.rows[rng.integers(m, size=m)], None
        if self.block > 1:
            begin = rng.integers(m - self.block + 1, size=-(-m // self.block))
            return self.rows[(begin[:, None] + np.arange(self.block)).ravel()[:m]], None
        times, factor = np.ones(self.count, dtype=int), np.ones(self.count)
        for members in self._strata():
            h = len(members)
            if h > 1:
                times[members] = np.bincount(rng.integers(h, size=h - 1), minlength=h)
                factor[members] = h / (h - 1.0)
        if self.weights is None and (factor == factor[0]).all():
            return np.repeat(self.rows, times[self.group]), None
        w = (times * factor)[self.group] * (1.0 if self.weights is None else self.weights)
        positive = np.flatnonzero(w > 0)
        return self.rows[positive], w[positive] * (m / w.sum())

    def without_each(self, limit: int, rng: np.random.Generator) -> list[RowGroups]:
        """Return the groups without each group in turn, or without each of `limit` random sets of groups.

        This is the jackknife of groups in one stratum. The sizes of sets differ by at most one group.
        """
        count = min(limit, self.count)
        part = rng.permutation(np.arange(self.count) % count) if count < self.count else np.arange(count)
        return [self._subset(part != number) for number in range(count)]

    def halves(self, rng: np.random.Generator) -> tuple[RowGroups, RowGroups]:
        """Divide the groups at random into two halves, within strata; half of the rows if independent."""
        first_half = np.zeros(self.count, dtype=bool)
        for number, members in enumerate(self._strata()):
            half = (len(members) + number % 2) // 2  # for strata of odd size, the larger half alternates
            first_half[rng.permutation(members)[:half]] = True
        return self._subset(first_half), self._subset(~first_half)

    def merged(self) -> RowGroups:
        """Merge equal rows of a group (or of a stratum, if there are no clusters) and add their weights."""
        w = weights_or_ones(self.weights, len(self.rows))
        owner = self.group if self.clustered else self.stratum
        pairs = owner * (self.alike.max() + 1) + self.alike
        starts, number = np.unique(pairs, return_index=True, return_inverse=True)[1:]
        mask = np.zeros(len(w), dtype=bool)
        mask[starts] = True
        weights = np.bincount(number, weights=w)[np.argsort(starts)]
        return replace(self._of_rows(mask), weights=weights)

    def divided(self, count: int) -> RowGroups:
        """Return the groups after dividing rows whose weight exceeds one of `count` folds into several parts.

        Equal rows whose total weight exceeds a fold are also divided, since a row of weight 2 counts as two
        rows.
        """
        w = self.weights
        if w is None or self.copies or self.clustered or not are_counts(w, self.design):
            return self
        times = np.bincount(self.alike, weights=w)
        places, weights = [np.flatnonzero(times[self.alike] * count <= w.sum())], []
        weights.append(w[places[0]])
        for number in np.flatnonzero(times * count > w.sum()):
            rows = np.flatnonzero((self.alike == number) & (w > 0))
            ends = np.cumsum(w[rows])
            cuts = np.unique(np.append(ends, np.ceil(np.arange(1, count + 1) * ends[-1] / count)))
            places.append(rows[np.searchsorted(ends, cuts)])
            weights.append(np.diff(cuts, prepend=0.0))
        if len(places) == 1:
            return self
        order = np.argsort(np.concatenate(places), kind="stable")
        indices = np.concatenate(places)[order]
        return replace(
            self,
            rows=self.rows[indices],
            group=np.arange(len(indices)),
            stratum=self.stratum[self.group[indices]],
            alike=self.alike[indices],
            weights=np.concatenate(weights)[order],
        )

    def folds(self, count: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Return the fold of each row, shape (repeats, m), in the order of the data.

        All rows of a group are in the same fold. So are equal rows that are in no group, unless they are
        equal by chance and exceed the size of a fold. Folds have approximately equal numbers of rows.
        """
        labels = np.zeros((repeats, len(self.rows)), dtype=int)
        place = np.empty(len(self.rows), dtype=int)
        place[np.argsort(self.rows, kind="stable")] = np.arange(len(self.rows))
        if self.weights is not None and not self.weights.all():  # rows of weight zero are assigned to no fold
            is_weighted = self.weights > 0
            labels[:, np.sort(place[is_weighted])] = self._of_rows(is_weighted).folds(count, repeats, rng)
            return labels
        w = weights_or_ones(self.weights, len(self.rows))
        group = self.group if self.clustered else self._alike_in_folds(w, count)
        sizes = np.bincount(group, weights=w)
        stratum = np.zeros(len(sizes), dtype=int)
        stratum[group] = self.stratum[self.group]
        for repeat in range(repeats):
            labels[repeat, place] = _to_folds(sizes, stratum, count, rng)[group]
        return labels

    def permutation(self, rng: np.random.Generator) -> np.ndarray:
        """Return an order of the places in `rows` in which whole groups of equal size are permuted.

        Groups are permuted within strata.
        """
        order = np.arange(self.count)
        for members in self._strata():
            order[members] = rng.permutation(members)
        size = len(self.rows) // self.count
        return np.asarray((order[:, None] * size + np.arange(size)).ravel())

    @property
    def exchangeable(self) -> bool:
        """Whether groups have equal numbers of rows with equal weights, so that they may be permuted."""
        equal = self.weights is None or bool((self.weights == self.weights[0]).all())
        return equal and bool((self.sizes == self.sizes[0]).all())

    def _strata(self) -> list[np.ndarray]:
        """Return the numbers of the groups in each stratum."""
        if not self.stratified:
            return [np.arange(self.count)]
        return [np.flatnonzero(self.stratum == h) for h in np.unique(self.stratum)]

    def _subset(self, mask: np.ndarray) -> RowGroups:
        """Return the groups selected by a mask of shape (G,)."""
        return self._of_rows(mask[self.group])

    def _of_rows(self, mask: np.ndarray) -> RowGroups:
        """Return the groups of the rows selected by a mask of shape (m,)."""
        return replace(
            self,
            rows=self.rows[mask],
            group=run_numbers(self.group[mask]),
            stratum=self.stratum[np.unique(self.group[mask])],
            alike=self.alike[mask],
            weights=None if self.weights is None else self.weights[mask],
        )

    def _alike_in_folds(self, w: np.ndarray, count: int) -> np.ndarray:
        """Return groups of equal rows; groups that exceed a fold are divided into `count` parts."""
        size = np.bincount(self.alike, weights=w)
        part = np.zeros(len(w), dtype=int)
        if not self.copies:
            for number in np.flatnonzero(size > w.sum() / count):
                rows = np.flatnonzero(self.alike == number)
                sums = np.cumsum(w[rows]) - w[rows]  # total weight of the earlier rows
                part[rows] = (sums * count / size[number]).astype(int)
        return np.unique(self.alike * count + part, return_inverse=True)[1]


def _by_content(
    keys: np.ndarray, w: np.ndarray | None, design: RowDesign | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows in canonical order, group by group, and the number of the group of each row.

    Equal rows are sorted by the values of their strata, and by their weights.
    """
    n = len(keys)
    ties = [weights_or_ones(w, n)]
    if design is not None and design.strata is not None:
        ties.append(sums_of_keys(keys, design.strata, w)[design.strata])
    if design is None or design.clusters is None:
        return np.lexsort((*ties, keys)), np.arange(n)
    clusters = design.clusters
    cluster_keys = sums_of_keys(keys, clusters, w)[clusters]
    alike = [np.bincount(clusters, weights=ties[0])[clusters], *ties[1:]]
    rows = np.lexsort((ties[0], keys, clusters, *alike, cluster_keys))
    return rows, run_numbers(clusters[rows])


def are_counts(w: np.ndarray | None, design: RowDesign | None) -> bool:
    """Return whether weights, if there are any, are numbers of equal rows."""
    if w is None:
        return True
    return not (design is not None and design.sampling) and bool((w == np.round(w)).all())


def counted(
    places: np.ndarray, weights: np.ndarray | None, design: RowDesign | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return places of rows in ascending order, and their weights (or counts, if weights count rows)."""
    if weights is None or not are_counts(weights, design):
        return np.sort(places), None if weights is None else weights[np.sort(places)]
    different_places, counts = np.unique(places, return_counts=True)
    return different_places, counts.astype(float)


def run_numbers(labels: np.ndarray) -> np.ndarray:
    """Return numbers from 0 that increase where consecutive labels change, shape (m,)."""
    return np.append(0, np.cumsum(labels[1:] != labels[:-1])) if len(labels) else np.zeros(0, dtype=int)


def _to_folds(sizes: np.ndarray, stratum: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Assign groups in random order to the fold with the fewest rows so far; return the fold of each."""
    order = rng.permutation(len(sizes))
    order = order[np.argsort(stratum[order], kind="stable")]
    labels = np.empty(len(sizes), dtype=int)
    if (sizes == sizes[0]).all():
        labels[order] = np.arange(len(sizes)) % count
        return labels
    filled = [(0.0, fold) for fold in range(count)]
    for group in order:
        size, fold = filled[0]
        labels[group] = fold
        heapq.heapreplace(filled, (size + sizes[group], fold))
    return labels


# --- equal rows -----------------------------------------------------------------------------------


#: Smallest expected number of pairs of equal rows if rows may be equal by chance.
BY_CHANCE = 0.5


def equal_by_chance(X: Any, weights: np.ndarray | None) -> bool:
    """Return whether rows may be equal by chance, as with columns of few values (questionnaires).

    Rows may be equal by chance if more than BY_CHANCE pairs of equal rows would be expected with half of the
    columns independent. Equal rows of other data are copies of one observation.

    Parameters
    ----------
    X : ndarray or scipy.sparse array of shape (n, p)
    weights : ndarray of shape (n,), optional
        A row of weight 2 counts as two equal rows.
    """
    w = weights_or_ones(weights, X.shape[0])
    X = X.tocsc() if is_sparse(X) else X
    total = float(w.sum())
    pairs = total * (total - 1.0) / 2.0
    for j in range(X.shape[1]):
        if is_sparse(X):
            entries = slice(X.indptr[j], X.indptr[j + 1])
            values, of_values = X.data[entries], w[X.indices[entries]]
        else:
            values, of_values = X[:, j], w
        number = np.unique(values, return_inverse=True)[1]
        shares = np.bincount(number, weights=of_values) / total
        pairs *= np.sqrt((shares**2).sum() + (1.0 - shares.sum()) ** 2)  # zeros not stored
        if pairs <= BY_CHANCE:
            return False
    return True


def _numbers_of_equal(X: Any, labels: np.ndarray | None, keys: np.ndarray) -> np.ndarray:
    """Return numbers from 0, shape (n,), that are equal for equal rows of X, shape (n, p), and `labels`.

    Equal rows have equal `keys`, and other rows rarely do; see :func:`content_keys`.
    """
    X = X.tocsr() if is_sparse(X) else X
    _, starts, alike = np.unique(keys, return_index=True, return_inverse=True)
    if len(starts) == len(keys):
        return alike
    unequal = np.zeros(len(starts), dtype=bool)
    for rows in blocks(*X.shape):
        values = _values(X, labels, np.arange(len(keys))[rows])
        differs = (values != _values(X, labels, starts[alike[rows]])).any(axis=1)
        unequal[alike[rows][differs]] = True
    if not unequal.any():
        return alike
    tied = np.flatnonzero(unequal[alike])
    of_key = np.zeros(len(keys), dtype=int)
    of_key[tied] = np.unique(_values(X, labels, tied), axis=0, return_inverse=True)[1].ravel()
    return np.unique(alike * len(keys) + of_key, return_inverse=True)[1]


def _values(X: Any, labels: np.ndarray | None, places: np.ndarray) -> np.ndarray:
    """Return the rows of X and `labels` at `places`; missing values are infinity, so that they are equal."""
    values = _dense(X[places]).astype(float)
    values = values if labels is None else np.column_stack([values, labels[places]])
    return np.where(np.isnan(values), np.inf, values)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if is_sparse(X) else X)


# --- keys of rows ---------------------------------------------------------------------------------


#: Values of a column count as different if they differ by more than this share of its range, so that keys
#: depend neither on units nor on rounding.
KEY_GRID = 2.0**-26
#: An odd multiplier of hashes, 2^64 over the golden ratio.
ODD = np.uint64(0x9E3779B97F4A7C15)


def mixed(keys: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each key: the finaliser of splitmix64."""
    keys = keys + ODD
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def sums_of_keys(keys: np.ndarray, group: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return a key of each group, shape (G,), that depends on the keys of its rows and not on their order."""
    sums = np.zeros(int(group.max()) + 1, dtype=np.uint64)
    np.add.at(sums, group, mixed(keys) * _copies(weights, len(keys)))
    return sums


def _copies(weights: np.ndarray | None, n: int) -> np.ndarray:
    """Return the number of rows that each row represents: its weight, if all are whole; otherwise 1 or 0."""
    w = weights_or_ones(weights, n)
    return w.astype(np.uint64) if (w == np.round(w)).all() else (w > 0).astype(np.uint64)


def content_keys(X: Any, weights: np.ndarray | None = None, labels: np.ndarray | None = None) -> np.ndarray:
    """Return a 64-bit number for each row that depends only on its values, shape (n,).

    Parameters
    ----------
    X : ndarray or scipy.sparse array of shape (n, p)
        NaN for missing values.
    weights : ndarray of shape (n,), optional
        A row of weight 2 counts as two equal rows.
    labels : ndarray of shape (n, q), optional
        Additional columns.

    Notes
    -----
    The numbers do not depend on the order of rows and columns or on units: each column also has a key, the
    sum of hashes of its values combined with the keys of their rows. Rows that differ only by an exchange of
    columns with the same values, and so are equivalent in any analysis, may have equal numbers.
    """
    w = weights_or_ones(weights, X.shape[0])
    times = _copies(weights, X.shape[0])
    cells: list[_Cells | _SparseCells] = [_SparseCells(X, w > 0) if is_sparse(X) else _Cells(X, w > 0)]
    if labels is not None:
        cells.append(_Cells(labels, w > 0))
    rows = _of_rows(cells, [np.zeros(block.p, dtype=np.uint64) for block in cells])
    for _ in range(2):
        rows = _of_rows(cells, [block.of_columns(rows, times) for block in cells])
    return rows


def _of_rows(cells: list[_Cells | _SparseCells], columns: list[np.ndarray]) -> np.ndarray:
    """Return a key for each row from keys of the columns."""
    sums = [block.of_rows(keys) for block, keys in zip(cells, columns, strict=True)]
    return mixed(np.asarray(np.sum(sums, axis=0, dtype=np.uint64)))


class _Cells:
    """Dense columns, whose values are converted to places on a grid over the range of the column."""

    def __init__(self, X: np.ndarray, positive: np.ndarray):
        self.X = X
        self.n, self.p = X.shape
        rows = X if positive.all() else X[positive]
        self.low = np.fmin.reduce(rows, axis=0).astype(float)
        self.high = np.fmax.reduce(rows, axis=0).astype(float)

    def of_rows(self, columns: np.ndarray) -> np.ndarray:
        """Return the sum of the hashes of the values of each row, shape (n,), given keys of the columns."""
        row_keys = np.empty(self.n, dtype=np.uint64)
        for rows in blocks(self.n, self.p):
            codes = _codes(self.X[rows], self.low, self.high)
            row_keys[rows] = mixed(codes ^ columns).sum(axis=1, dtype=np.uint64)
        return row_keys

    def of_columns(self, rows: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return a key for each column, shape (p,), from keys of the rows and their numbers of copies."""
        sums = np.zeros(self.p, dtype=np.uint64)
        for block in blocks(self.n, self.p):
            codes = _codes(self.X[block], self.low, self.high)
            sums += (mixed(codes ^ rows[block, None]) * times[block, None]).sum(axis=0, dtype=np.uint64)
        return mixed(sums)


class _SparseCells:
    """As `_Cells`, for a sparse matrix; keys equal the keys of the dense matrix with the same values."""

    def __init__(self, X: Any, positive: np.ndarray):
        X = X.tocsc()
        self.n, self.p = X.shape
        rows = X if positive.all() else X[np.flatnonzero(positive)]
        low, high = (getattr(rows, name)(axis=0).toarray().ravel().astype(float) for name in ("min", "max"))
        self.row, self.column = X.indices, np.repeat(np.arange(self.p), np.diff(X.indptr))
        self.codes = _codes(X.data, low[self.column], high[self.column])
        self.zeros = _codes(np.zeros(self.p), low, high)

    def of_rows(self, columns: np.ndarray) -> np.ndarray:
        """Return the sum of the hashes of the values of each row, shape (n,), given keys of the columns."""
        empty = mixed(self.zeros ^ columns)
        row_keys = np.full(self.n, empty.sum(dtype=np.uint64))
        np.add.at(row_keys, self.row, mixed(self.codes ^ columns[self.column]) - empty[self.column])
        return row_keys

    def of_columns(self, rows: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return a key for each column, shape (p,), from keys of the rows and their numbers of copies."""
        kinds, kind = np.unique(self.zeros, return_inverse=True)
        column_keys = [(mixed(zero ^ rows) * times).sum(dtype=np.uint64) for zero in kinds]
        sums = np.array(column_keys, dtype=np.uint64)[kind]
        entry_rows = rows[self.row]
        differences = mixed(self.codes ^ entry_rows) - mixed(self.zeros[self.column] ^ entry_rows)
        np.add.at(sums, self.column, differences * times[self.row])
        return mixed(sums)


def _codes(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return places of values on a grid from `low` to `high` of their columns, as unsigned integers.

    Missing values have a separate place; in a constant column all other values have place 0.
    """
    exponents = -np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]  # avoids overflow and underflow of ranges
    low, high = np.ldexp(low, exponents), np.ldexp(high, exponents)
    with np.errstate(invalid="ignore"):
        steps = np.where(low < high, high - low, np.inf) * KEY_GRID
        places = np.rint((np.ldexp(np.asarray(x, dtype=float), exponents) - low) / steps)
    return np.where(np.isnan(x), -1.0, places).astype(np.int64).view(np.uint64)


# --- rows that are held out together -----------------------------------------------------------------


def folded_design(rows: StandardRows, folds: int) -> RowDesign | None:
    """Return the rows that are held out together: the given design, or the levels of a single factor.

    The levels are used if the covariates consist of this factor, no design is given, each level has at least
    two rows, and there are at least as many levels as folds. Since the mean of each level is subtracted,
    levels can be predicted only as a whole.
    """
    levels = None if rows.covariates is None or rows.design is not None else factor_of(rows.covariates)
    if levels is None:
        return rows.design
    counts = np.bincount(levels)
    if len(counts) < folds or counts.min() < 2:
        return rows.design
    return RowDesign(pd.factorize(levels)[0], None, None, False)
