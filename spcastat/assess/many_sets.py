"""Sparse loadings for several data sets at once: supports from rotated loadings, and pruned partitions.

Candidates with unequal cardinalities, and the prediction that determines the number of components, need many
supports for every fold. The supports consist of the largest rotated loadings, or are the groups of a
partition of the variables without the variables that have the smallest loadings. The loadings on each support
are the leading eigenvector of its covariance matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from spcastat.linalg.eigenvectors import RELATIVE, top_eigh, varimax
from spcastat.linalg.operators import DenseRows, Operator

# --- data sets -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetsTuning:
    """Constants of searches on several data sets; benchmarks/results/trust.md shows the choices.

    Attributes
    ----------
    eigenvector_steps : int
        Power steps for the leading eigenvector on a support of many variables.
    group_rounds, round_steps : int
        Rounds in which variables change their group, and power steps in each.
    group_variables : int
        Largest number of variables for which groups are updated by eigenvectors, instead of a few power steps
        from the previous loadings.
    decomposed_variables, formed_variables : int
        Largest numbers of variables for which the covariance matrices of all folds are decomposed together,
        and for which they are formed.
    formed_rows : int
        With more variables, largest number of rows whose products are formed for each support: 64 rows of
        1,500 variables took .35 of the time in this way, and 250 rows of 900 variables about the same time.
    truncated_steps, component_starts : int
        Number of truncated power steps, and number of starts, for a sparse component.
    """

    eigenvector_steps: int = 12
    group_rounds: int = 20
    round_steps: int = 3
    group_variables: int = 40
    decomposed_variables: int = 200
    formed_variables: int = 500
    formed_rows: int = 200
    truncated_steps: int = 8
    component_starts: int = 4


SETS = SetsTuning()


@dataclass(frozen=True, eq=False)
class DataSets(ABC):
    """Covariance matrices of f data sets with the same p variables.

    Attributes
    ----------
    kmax : int
        The largest number of components that is requested.
    """

    kmax: int

    @cached_property
    @abstractmethod
    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The `kmax` largest eigenvalues, shape (f, kmax), and their eigenvectors, shape (f, p, kmax)."""

    @abstractmethod
    def products(self, V: np.ndarray) -> np.ndarray:
        """Return the products with loadings, shape (..., f, p, k)."""

    @abstractmethod
    def part(self, numbers: Sequence[int]) -> DataSets:
        """Return the data sets with the given numbers."""

    def leading(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues, shape (f, k), and their eigenvectors, shape (f, p, k)."""
        values, vectors = self.eigenpairs
        return values[:, :k], vectors[:, :, :k]

    @cached_property
    def _rotated(self) -> dict[int, np.ndarray]:
        """The results of `rotated` by number of components."""
        return {}

    def rotated(self, k: int) -> np.ndarray:
        """Return the k leading components, scaled by their standard deviations and rotated by varimax."""
        if k not in self._rotated:
            values, vectors = self.leading(k)
            A = vectors * np.sqrt(values.clip(min=0.0))[:, None]
            self._rotated[k] = varimax(A) if k > 1 else A
        return self._rotated[k]

    def weights(
        self, masks: np.ndarray, start_loadings: np.ndarray, steps: int = SETS.eigenvector_steps
    ) -> np.ndarray:
        """Return the leading eigenvector on each support, computed by power steps.

        Parameters
        ----------
        masks : ndarray of bool, shape (m, f, p, k)
        start_loadings : ndarray of shape (f, p, k) or (m, f, p, k)
            Loadings from which the steps start.
        steps : int
            Number of power steps, if they are used.
        """
        V = unit_columns(masks * start_loadings)
        for _ in range(steps):
            V = unit_columns(masks * self.products(V))
        return V

    def settled_groups(self, groups: np.ndarray, start_loadings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Move each variable to the group whose component it correlates with most, until no variable moves.

        Parameters
        ----------
        groups : ndarray of int, shape (s, f, p)
            Groups of s starts.
        start_loadings : ndarray of shape (f, p, k)
            Loadings from which the power steps start.

        Returns
        -------
        groups : ndarray of int, shape (s, f, p)
        covariances : ndarray of shape (s, f, p, k)
            Absolute covariances of the variables with the standardised scores of the components.
        """
        groups, group_numbers = groups.copy(), np.arange(start_loadings.shape[2])
        V = np.stack([start_loadings] * len(groups))
        C = np.empty_like(V)
        changing = np.arange(len(start_loadings))  # data sets whose groups changed in the last round
        for _ in range(SETS.group_rounds):
            part = self if len(changing) == len(start_loadings) else self.part(changing.tolist())
            members = groups[:, changing, :, None] == group_numbers
            near_loadings = np.where(members, V[:, changing], 0.0) + 1e-3 * members
            V[:, changing] = part.weights(members, near_loadings, SETS.round_steps)
            C[:, changing] = with_scores = part.with_scores(V[:, changing])
            regrouped = most_related(with_scores)
            still = (regrouped == groups[:, changing]).all(axis=(0, 2))
            groups[:, changing] = regrouped
            changing = changing[~still]
            if not len(changing):
                break
        return groups, C

    def with_scores(self, V: np.ndarray) -> np.ndarray:
        """Return the absolute covariances of the variables with the standardised scores of V."""
        covariances = self.products(V)
        variances = np.einsum("...pk,...pk->...k", V, covariances)
        return np.abs(covariances) / np.sqrt(np.where(variances > 0, variances, np.inf))[..., None, :]


@dataclass(frozen=True, eq=False)
class Matrices(DataSets):
    """Covariance matrices S in memory, shape (f, p, p)."""

    S: np.ndarray

    @cached_property
    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        if self.S.shape[-1] <= SETS.decomposed_variables:
            values, vectors = np.linalg.eigh(self.S)
            return values[:, ::-1][:, : self.kmax], vectors[:, :, ::-1][:, :, : self.kmax]
        pairs = [top_eigh(S, self.kmax) for S in self.S]
        return np.stack([values for values, _ in pairs]), np.stack([vectors for _, vectors in pairs])

    @cached_property
    def sequence(self) -> np.ndarray:
        """The loadings of `kmax` sparse components, shape (f, p, kmax); see `sparse_sequence`."""
        return sparse_sequence(self.S, self.kmax)

    def products(self, V: np.ndarray) -> np.ndarray:
        return self.S @ V

    def part(self, numbers: Sequence[int]) -> Matrices:
        return replace(self, S=self.S[np.asarray(numbers)])

    def weights(
        self, masks: np.ndarray, start_loadings: np.ndarray, steps: int = SETS.eigenvector_steps
    ) -> np.ndarray:
        m, f, p, k = masks.shape
        if p > (SETS.decomposed_variables if steps >= SETS.eigenvector_steps else SETS.group_variables):
            return super().weights(masks, start_loadings, steps)
        columns = masks.transpose(0, 1, 3, 2).reshape(-1, p)
        of = np.tile(np.repeat(np.arange(f), k), m)
        sizes = columns.sum(axis=1)
        V = np.zeros(columns.shape)
        order = np.argsort(sizes, kind="stable")
        order = order[sizes[order] > 0]
        # matrices of similar order are decomposed together
        levels = np.ceil(np.log(np.maximum(sizes[order], 1)) / np.log(1.3))
        for level in np.unique(levels):
            supports = order[levels == level]
            u = int(sizes[supports].max())
            places = np.argsort(~columns[supports], axis=1, kind="stable")[:, :u]
            members = np.take_along_axis(columns[supports], places, axis=1)
            blocks = self.S[of[supports][:, None, None], places[:, :, None], places[:, None, :]]
            blocks = blocks * (members[:, :, None] & members[:, None, :])
            vectors = np.linalg.eigh(blocks)[1][:, :, -1] * members
            V[supports[:, None], places] = vectors
        return np.asarray(V.reshape(m, f, k, p).transpose(0, 1, 3, 2))


@dataclass(frozen=True, eq=False)
class Operators(DataSets):
    """Operators for many variables, whose covariance matrices are not formed."""

    ops: Sequence[Operator]

    @cached_property
    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        pairs = [op.leading(self.kmax) for op in self.ops]
        return np.stack([values for values, _ in pairs]), np.stack([vectors for _, vectors in pairs])

    def products(self, V: np.ndarray) -> np.ndarray:
        shape = V.shape
        V = V.reshape(-1, *shape[-3:])
        products = np.empty(V.shape)
        for i, op in enumerate(self.ops):
            loadings = np.ascontiguousarray(V[:, i].transpose(1, 0, 2)).reshape(shape[-2], -1)
            product = op.dot(loadings).reshape(shape[-2], len(V), shape[-1])
            products[:, i] = product.transpose(1, 0, 2)
        return products.reshape(shape)

    def part(self, numbers: Sequence[int]) -> Operators:
        return replace(self, ops=[self.ops[number] for number in numbers])


@dataclass(frozen=True, eq=False)
class FewRows(DataSets):
    """Dense data with fewer rows than variables, whose eigenvectors are computed from products of rows.

    The loadings on a support with the columns Y_u are Y_u' z, where z is the leading eigenvector of the n x n
    matrix Y_u Y_u'. Nested supports, and groups before and after a few variables move, share most of the
    terms of these matrices.
    """

    ops: Sequence[DenseRows]

    @cached_property
    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        return Operators(self.kmax, self.ops).eigenpairs

    def products(self, V: np.ndarray) -> np.ndarray:
        return Operators(self.kmax, self.ops).products(V)

    def part(self, numbers: Sequence[int]) -> FewRows:
        return replace(self, ops=[self.ops[number] for number in numbers])

    def weights(
        self, masks: np.ndarray, start_loadings: np.ndarray, steps: int = SETS.eigenvector_steps
    ) -> np.ndarray:
        """Return the leading eigenvector on each support, computed by power steps.

        Each support of a component contains the previous one, and `start_loadings` has shape (f, p, k).
        """
        V = np.zeros(masks.shape)
        for number, j in np.ndindex(len(self.ops), masks.shape[-1]):
            supports = masks[:, number, :, j]
            counts = supports.sum(axis=1)
            order = np.argsort(-supports.sum(axis=0), kind="stable")[: counts[-1]]  # by first support
            Y, loadings = self.ops[number].values(order), start_loadings[number, order, j]
            parts = [slice(a, b) for a, b in pairwise([0, *counts.tolist()])]
            products = np.cumsum([Y[:, part] @ Y[:, part].T for part in parts], axis=0)
            scores = np.cumsum([Y[:, part] @ loadings[part] for part in parts], axis=0)
            for _ in range(steps - 1):
                scores = unit_rows((products @ scores[..., None])[..., 0])
            for i, u in enumerate(counts):
                V[i, number, order[:u], j] = scores[i] @ Y[:, :u]
        return unit_columns(V)

    def settled_groups(self, groups: np.ndarray, start_loadings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        groups, C = groups.copy(), np.empty((*groups.shape, start_loadings.shape[2]))
        for i, number in np.ndindex(*groups.shape[:2]):
            settled = _settled_groups(self.ops[number].Y, groups[i, number], start_loadings[number])
            groups[i, number], C[i, number] = settled
        return groups, C


def _settled_groups(
    Y: np.ndarray, groups: np.ndarray, start_loadings: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups, shape (p,), and covariances, (p, k), of `settled_groups` for rows Y, (n, p)."""
    members = groups[:, None] == np.arange(start_loadings.shape[1])
    scores = (Y @ (members * (start_loadings + 1e-3))).T
    products = _products_of_groups(Y, groups, start_loadings.shape[1])
    for _ in range(SETS.group_rounds):
        for _ in range(SETS.round_steps):
            scores = unit_rows((products @ scores[..., None])[..., 0])
        C = np.abs(Y.T @ scores.T)
        regrouped = most_related(C)
        changes = np.flatnonzero(regrouped != groups)
        if not len(changes):
            break
        products += _products_of_groups(Y[:, changes], regrouped[changes], len(products))
        products -= _products_of_groups(Y[:, changes], groups[changes], len(products))
        products[np.bincount(regrouped, minlength=len(products)) == 0] = 0.0  # free of rounding errors
        groups = regrouped
    return groups, C


def _products_of_groups(Y: np.ndarray, groups: np.ndarray, k: int) -> np.ndarray:
    """Return Y_j Y_j' for the columns Y_j of each of k groups, shape (k, n, n)."""
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=k)).tolist()
    columns = Y[:, order]
    return np.stack([columns[:, a:b] @ columns[:, a:b].T for a, b in pairwise([0, *ends])])


def most_related(covariances: np.ndarray) -> np.ndarray:
    """Return the component with the largest covariance for each variable; the first if several are equal.

    `covariances` are absolute values, shape (..., p, k); the result has shape (..., p).
    """
    size = covariances.max(axis=(-2, -1), keepdims=True) + 1e-300
    return np.asarray(np.round(covariances / size / RELATIVE).argmax(axis=-1))


def unit_rows(Z: np.ndarray) -> np.ndarray:
    """Return Z, shape (..., n), with vectors of unit length; vectors of zeros are not changed."""
    lengths = np.linalg.norm(Z, axis=-1, keepdims=True)
    return np.asarray(Z / np.where(lengths > 0, lengths, 1.0))


def sets_of(ops: Sequence[Operator], kmax: int) -> DataSets:
    """Return the data sets of operators, with covariance matrices for up to `formed_variables` variables."""
    if ops[0].p > SETS.formed_variables:
        rows = [op for op in ops if isinstance(op, DenseRows) and op.n <= SETS.formed_rows]
        return FewRows(kmax, rows) if len(rows) == len(ops) else Operators(kmax, ops)
    all_columns = np.arange(ops[0].p)
    return Matrices(kmax, np.stack([op.block(all_columns) for op in ops]))


def unit_columns(V: np.ndarray) -> np.ndarray:
    """Return V, shape (..., p, k), with columns of unit length; columns of zeros are not changed."""
    lengths = np.sqrt(np.einsum("...pk,...pk->...k", V, V))
    return np.asarray(V / np.where(lengths > 0, lengths, 1.0)[..., None, :])


# --- supports --------------------------------------------------------------------------------------


def sizes(low: int, high: int, number: int) -> list[int]:
    """Return about `number` sizes from `low` to `high` in a geometric series."""
    return sorted({int(size) for size in np.geomspace(low, max(low, high), number).round()})


def largest(A: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
    """Return masks of the largest entries of A in absolute value, for several numbers of entries.

    Every component keeps its two largest entries; entries of zero are left out.

    Parameters
    ----------
    A : ndarray of shape (f, p, k)
    numbers : sequence of m ints

    Returns
    -------
    ndarray of bool, shape (m, f, p, k)
    """
    f = len(A)
    size = np.abs(A)
    top = size.max(axis=(1, 2), keepdims=True)
    size = np.round(size / np.where(top > 0, top, 1.0) / RELATIVE) * RELATIVE
    rank = _ranks(-size.reshape(f, -1), 1).reshape(A.shape)
    two_largest = _ranks(-size, 1) < 2
    return np.stack([((rank < number) | two_largest) & (size > 0) for number in numbers])


def _ranks(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the ranks of values along an axis, from 0; equal values are ranked in their order."""
    order = np.argsort(values, axis=axis, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(
        ranks, order, np.arange(values.shape[axis]).reshape((-1, *[1] * (values.ndim - axis - 1))), axis
    )
    return ranks


def partitions(
    sets: DataSets, k: int, start_groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Divide the variables of each data set into k groups.

    Each variable belongs to the component with which it correlates most.

    Parameters
    ----------
    sets : DataSets
        The f data sets.
    k : int
    start_groups : ndarray of int, shape (p,), optional
        Further groups from which the search starts, besides the groups of the rotated loadings.

    Returns
    -------
    groups : ndarray of int, shape (f, p)
    covariances : ndarray of shape (f, p, k)
        Absolute covariance of each variable with the standardised score of its group; 0 for other groups.
    """
    A = np.abs(sets.rotated(k))
    starts = [A.argmax(axis=2)]
    if start_groups is not None:
        starts.append(np.broadcast_to(start_groups, starts[0].shape))
    groups, C = sets.settled_groups(np.stack(starts), A)
    members = groups[..., None] == np.arange(k)
    explained = np.einsum("sfpk,sfpk->sf", np.where(members, C, 0.0), np.where(members, C, 0.0))
    best_starts = explained.round(12).argmax(axis=0)
    set_numbers = np.arange(len(best_starts))
    return groups[best_starts, set_numbers], np.where(members, C, 0.0)[best_starts, set_numbers]


def pruned(
    sets: DataSets, k: int, numbers: Sequence[int], start_groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of `partitions`, (f, p), and loadings of pruned partitions, (m, f, p, k).

    A pruned partition keeps the variables that have the largest covariances with their own components;
    `numbers` contains the m numbers of variables to keep.
    """
    groups, covariances = partitions(sets, k, start_groups)
    return groups, sets.weights(largest(covariances, numbers), covariances)


def of_rotated(sets: DataSets, k: int, numbers: Sequence[int]) -> np.ndarray:
    """Return the loadings on the supports of the largest rotated loadings, shape (m, f, p, k)."""
    A = sets.rotated(k)
    return sets.weights(largest(A, numbers), A)


def truncated_rotated(sets: DataSets, k: int, numbers: Sequence[int]) -> np.ndarray:
    """Return the largest rotated loadings, with all others set to zero, shape (m, f, p, k).

    With all loadings, the components have the span of PCA. On supports that contain most variables, the
    leading eigenvectors would all be close to the first component.
    """
    A = sets.rotated(k)
    return unit_columns(largest(A, numbers) * A)


def of_sequence(sets: Matrices, k: int, numbers: Sequence[int]) -> np.ndarray:
    """Return the loadings on supports of the largest slopes on scores of k sparse components, (m, f, p, k).

    The slopes are those of the regression of each variable on all k standardised scores.
    """
    V = sets.sequence[:, :, :k]
    covariances = sets.products(V)
    of_scores = np.einsum("fpk,fpl->fkl", V, covariances)
    sd = np.sqrt(np.einsum("fkk->fk", of_scores).clip(min=0.0))
    slopes = covariances @ np.linalg.pinv(of_scores, hermitian=True) * sd[:, None]
    return sets.weights(largest(slopes, numbers), slopes)


def rotated_cards(sets: DataSets, k: int, numbers: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the numbers of the largest rotated loadings in each component, descending, for one data set."""
    counts = largest(sets.part([0]).rotated(k), numbers)[:, 0].sum(axis=1)
    return [tuple(sorted(row.tolist(), reverse=True)) for row in counts]


# --- sparse components one after another ---------------------------------------------------------


def near_card(p: int) -> int:
    """Return the cardinality to use if it is not known: 1.5 log(p), at least 2."""
    return min(p, max(2, round(1.5 * np.log(p))))


def sparse_components(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return variances, shape (f,), and loadings, shape (f, p), of a component of `near_card` variables.

    Truncated power steps start from the columns with the largest norm of their largest entries, and the
    leading eigenvector is computed on the best support.

    Parameters
    ----------
    S : ndarray of shape (f, p, p)
        Covariance matrices.
    """
    p = S.shape[1]
    card = near_card(p)
    norms = np.partition(S**2, p - card, axis=1)[:, p - card :].sum(axis=1)
    columns = np.argsort(-norms, axis=1, kind="stable")[:, : SETS.component_starts, None]
    W = np.take_along_axis(S, columns, axis=1)
    for _ in range(SETS.truncated_steps):
        W = _truncated(W, card) @ S
    places = _largest_places(W, card)
    data = np.arange(len(S))
    blocks = S[data[:, None, None, None], places[..., :, None], places[..., None, :]]
    values, vectors = np.linalg.eigh(blocks)
    start = np.argmax(values[..., -1], axis=1)
    loadings = np.zeros((len(S), p))
    np.put_along_axis(loadings, places[data, start], vectors[data, start, :, -1], axis=1)
    return values[data, start, -1], loadings


def _largest_places(W: np.ndarray, card: int) -> np.ndarray:
    """Return the indices of the `card` largest entries along the last axis."""
    return np.argpartition(-np.abs(W), card - 1, axis=-1)[..., :card]


def _truncated(W: np.ndarray, card: int) -> np.ndarray:
    """Return W with zeros for all but the `card` largest entries of each row, and rows of unit length."""
    places = _largest_places(W, card)
    V = np.zeros_like(W)
    np.put_along_axis(V, places, np.take_along_axis(W, places, axis=-1), axis=-1)
    lengths = np.linalg.norm(V, axis=-1, keepdims=True)
    return V / np.where(lengths > 0, lengths, 1.0)


def residual_covariances(S: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the covariances of the residuals of regressions on the scores of loadings v, shape (f, p, p).

    Parameters
    ----------
    S : ndarray of shape (f, p, p)
    v : ndarray of shape (f, p)
    """
    covariances = np.einsum("fij,fj->fi", S, v)
    variances = np.einsum("fi,fi->f", covariances, v)
    slopes = covariances / np.where(variances > 0, variances, np.inf)[:, None]
    return np.asarray(S - slopes[:, :, None] * covariances[:, None, :])


def sparse_sequence(S: np.ndarray, k: int) -> np.ndarray:
    """Return loadings of k sparse components, each of the residuals of the earlier ones, shape (f, p, k)."""
    loadings = []
    for _ in range(k):
        loadings.append(sparse_components(S)[1])
        S = residual_covariances(S, loadings[-1])
    return np.stack(loadings, axis=2)
