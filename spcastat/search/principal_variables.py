"""Principal variables: the groups of variables that reproduce the most variance of all variables.

U contains the selected variables, and F = A'S_U. is the matrix of covariances of all variables with
uncorrelated linear combinations of U of unit variance. The variance reproduced is |F|^2 if all combinations
are used (McCabe 1984, Technometrics 26, second criterion), and the sum of the k largest eigenvalues of FF'
for the best k combinations (reduced-rank regression; modified PCA of Tanaka and Mori 1997). Adding a variable
never decreases it, so PCA and the set of all candidates give upper bounds.

Variables enter in groups, most of which contain a single variable. The search adds the group with the largest
gain per cost until the budget is spent. It also starts from larger sets, which it reduces, and from random
sets. It then exchanges groups as long as this increases the variance reproduced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from spcastat.linalg.eigenvectors import RELATIVE
from spcastat.search.matrices import PIVOT_TOLERANCE

#: The number of candidates whose values are computed at a time, in descending order of their upper bounds,
#: until no bound exceeds the best value.
CANDIDATES_AT_ONCE = 64


@dataclass(frozen=True)
class SelectionEffort:
    """The settings of a search for principal variables.

    Attributes
    ----------
    random_starts : int
        Number of random starts. With 4, 1 of 21 problems on tables of 13 to 100 variables ended below the
        best known set; with 16, none.
    excess : tuple of int
        The numbers of additional groups that greedy selections include before they are reduced.
    most_variables : float
        With more variables than this, only the greedy start is used: each of the other starts takes seconds,
        and with 2,000 variables exchanges gain .1 % over greedy selection.
    """

    random_starts: int
    excess: tuple[int, ...]
    most_variables: float = 200


#: effort -> settings.
SELECTION_EFFORTS = {
    "quick": SelectionEffort(0, (2,)),
    "auto": SelectionEffort(16, (2, 4)),
    "thorough": SelectionEffort(60, (1, 2, 4, 6), np.inf),
}


def top_sum(A: np.ndarray, k: int) -> np.ndarray:
    """Return the sums of the k largest eigenvalues of symmetric matrices of shape (..., m, m)."""
    if not A.shape[-1]:
        return np.zeros(A.shape[:-2])
    return np.asarray(np.linalg.eigvalsh(A)[..., -k:].sum(axis=-1))


def combinations_of(S: np.ndarray, U: Sequence[int]) -> np.ndarray:
    """Return A, shape (m, r), for uncorrelated unit-variance combinations of the variables U of rank r."""
    sd = np.sqrt(np.diag(S)[list(U)])
    inverse = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)
    values, vectors = np.linalg.eigh(S[np.ix_(U, U)] * np.outer(inverse, inverse))
    is_positive = values > PIVOT_TOLERANCE
    return np.asarray(inverse[:, None] * vectors[:, is_positive] / np.sqrt(values[is_positive]))


def covariances(S: np.ndarray, U: Sequence[int]) -> np.ndarray:
    """Return F, shape (r, p): the covariances of all variables with the combinations of U."""
    if not len(U):
        return np.zeros((0, len(S)))
    return np.asarray(combinations_of(S, U).T @ S[list(U)])


def reproduced(F: np.ndarray, k: int) -> float:
    """Return the variance that the k best combinations reproduce."""
    return float((F**2).sum() if k >= len(F) else top_sum(F @ F.T, k))


def best_combinations(S: np.ndarray, U: Sequence[int], k: int) -> np.ndarray:
    """Return W, shape (m, k): the k uncorrelated unit-variance combinations of U that reproduce most."""
    A = combinations_of(S, U)
    F = A.T @ S[list(U)]
    vectors = np.linalg.eigh(F @ F.T)[1][:, ::-1]
    return np.asarray(A @ vectors[:, :k])


@dataclass(frozen=True, eq=False)
class Selection:
    """A selection problem: the groups of variables to choose from, their costs and the budget.

    Attributes
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix.
    k : int
        Number of combinations that reproduce the variables; p for all combinations.
    groups : tuple of tuple of int
        The variables of each group; a group enters as a whole.
    cost : ndarray of shape (g,)
    budget : float
        The largest total cost of the selected groups; with costs of one, the number of groups.
    include : tuple of int
        Groups that are always selected.
    candidates : tuple of int
        Other groups that may be selected.
    """

    S: np.ndarray
    k: int
    groups: tuple[tuple[int, ...], ...]
    cost: np.ndarray
    budget: float
    include: tuple[int, ...] = ()
    candidates: tuple[int, ...] = ()

    @cached_property
    def total(self) -> float:
        """The total variance of all variables."""
        return float(np.trace(self.S))

    @cached_property
    def _squares(self) -> np.ndarray:
        return np.asarray((self.S**2).sum(axis=0))

    @cached_property
    def equal_costs(self) -> bool:
        """Whether all candidates cost the same."""
        cost = self.cost[list(self.candidates)]
        return not len(cost) or bool(np.all(cost == cost[0]))

    def variables(self, U: Iterable[int]) -> list[int]:
        """Return the variables of the groups U."""
        return [j for group in U for j in self.groups[group]]

    def value(self, U: Iterable[int]) -> float:
        """Return the variance reproduced by the groups U."""
        return reproduced(covariances(self.S, self.variables(U)), self.k)

    def room(self, U: Sequence[int]) -> float:
        """Return the remaining budget, with an allowance for rounding."""
        return self.budget * (1.0 + 1e-12) - float(self.cost[list(U)].sum())

    def open_to(self, U: Sequence[int]) -> np.ndarray:
        """Return the candidates that are not in U and that the remaining budget allows."""
        candidates, is_open = np.array(self.candidates, dtype=int), self.cost <= self.room(U)
        is_open[list(U)] = False
        return candidates[is_open[candidates]]

    # --- values after an addition -----------------------------------------------------------------

    def values_after(
        self, F: np.ndarray, entering_groups: np.ndarray, floor: float | None = None
    ) -> np.ndarray:
        """Return the variance reproduced after adding each of the entering groups alone.

        With a `floor`, only the largest value is needed, and only if it exceeds the floor: smaller values may
        be replaced by upper bounds that do not exceed the floor or the largest value.
        """
        values = np.empty(len(entering_groups))
        of_group = [self.groups[g] for g in entering_groups]
        single = np.array([len(members) == 1 for members in of_group], dtype=bool)
        J = np.array([members[0] for members in of_group], dtype=int)
        values[single] = self._after_single(F, J[single], floor)
        for i in np.flatnonzero(~single):
            values[i] = reproduced(np.vstack([F, self._new_rows(F, of_group[i])]), self.k)
        return values

    def _new_rows(self, F: np.ndarray, members: tuple[int, ...]) -> np.ndarray:
        """Return the rows that a group adds to F."""
        residual = self.S - F.T @ F
        live = [j for j in members if residual[j, j] > PIVOT_TOLERANCE * self.S[j, j]]
        return covariances(residual, live)

    def _after_single(self, F: np.ndarray, J: np.ndarray, floor: float | None) -> np.ndarray:
        of_J, K = F[:, J], F @ F.T
        # rows of S are copied only if there are few of them
        products = self.S[J] @ F.T if 2 * len(J) < len(self.S) else (self.S @ F.T)[J]
        cross = products - of_J.T @ K
        variance = np.diag(self.S)[J] - (of_J**2).sum(axis=0)
        squares = self._squares[J] - ((2.0 * cross + of_J.T @ K) * of_J.T).sum(axis=1)
        live = variance > PIVOT_TOLERANCE * np.diag(self.S)[J]
        variance = np.where(live, variance, 1.0)
        corner = np.where(live, squares / variance, 0.0).clip(min=0.0)
        if self.k > len(F):
            return float((F**2).sum()) + corner
        cross = np.where(live[:, None], cross / np.sqrt(variance)[:, None], 0.0)
        present = float(top_sum(K, self.k))
        values = present + corner  # bounds, by Ky Fan's inequality
        order, threshold = np.argsort(-values, kind="stable"), floor
        for start in range(0, len(J), CANDIDATES_AT_ONCE):
            batch = order[start : start + CANDIDATES_AT_ONCE]
            if threshold is not None and values[batch[0]] <= threshold:
                break
            values[batch] = self._bordered(K, cross[batch], corner[batch])
            threshold = None if threshold is None else max(threshold, float(values[batch].max()))
        return values

    def _bordered(self, K: np.ndarray, cross: np.ndarray, corner: np.ndarray) -> np.ndarray:
        """Return top sums of K after bordering by each row of `cross` and entry of `corner`, shape (L,)."""
        m = len(K)
        bordered = np.empty((len(corner), m + 1, m + 1))
        bordered[:, :m, :m] = K
        bordered[:, m, :m] = bordered[:, :m, m] = cross
        bordered[:, m, m] = corner
        return top_sum(bordered, self.k)

    # --- sets of groups ---------------------------------------------------------------------------

    def greedy(self, start: Sequence[int] = ()) -> list[int]:
        """Add groups to `start` within the budget, each time the group with the largest gain per cost."""
        U = [*dict.fromkeys((*self.include, *start))]
        while len(entering_groups := self.open_to(U)):
            F = covariances(self.S, self.variables(U))
            present = reproduced(F, self.k)
            gain = self.values_after(F, entering_groups, -np.inf if self.equal_costs else None) - present
            if gain.max() <= RELATIVE * present:  # the selected variables determine all others
                return U
            U.append(int(entering_groups[np.argmax(gain / self.cost[entering_groups])]))
        return U

    def without_each(self, U: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield each group of U that may be removed, and the remaining groups."""
        for g in U:
            if g not in self.include:
                yield g, [remaining for remaining in U if remaining != g]

    def exchanged(self, U: Sequence[int]) -> tuple[list[int], float]:
        """Exchange single groups, each time with the largest gain, until no exchange helps."""
        U = list(U)
        value = self.value(U)
        while True:
            best_value, best_exchange = value * (1.0 + RELATIVE), None
            for _, remaining in self.without_each(U):
                entering_groups = self.open_to(remaining)
                entering_groups = entering_groups[~np.isin(entering_groups, U)]
                if not len(entering_groups):
                    continue
                F = covariances(self.S, self.variables(remaining))
                values = self.values_after(F, entering_groups, best_value)
                if values.max() > best_value:
                    best_value, best_exchange = (
                        float(values.max()),
                        [*remaining, int(entering_groups[np.argmax(values)])],
                    )
            if best_exchange is None:
                return sorted(U), value
            best_exchange = best_exchange if self.equal_costs else self.greedy(best_exchange)
            new_value = self.value(best_exchange)
            if new_value <= value * (1.0 + RELATIVE):  # the gain was rounding
                return sorted(U), value
            U, value = best_exchange, new_value

    def reduced(self, excess: int) -> list[int]:
        """Add `excess` more groups than the budget allows, then drop the groups whose loss is smallest."""
        wider = self.with_budget(self.budget + excess * float(self.cost[list(self.candidates)].min()))
        U = wider.greedy()
        while self.room(U) < 0:
            loss = {g: self.value(remaining) for g, remaining in self.without_each(U)}
            U.remove(max(loss, key=loss.__getitem__))
        return U

    def random(self, rng: np.random.Generator) -> list[int]:
        """Return random groups that spend the budget."""
        U = list(self.include)
        for g in rng.permutation(np.array(self.candidates, dtype=int)).tolist():
            if g not in U and self.cost[g] <= self.room(U):
                U.append(g)
        return U

    def with_budget(self, budget: float) -> Selection:
        """Return the same problem with another budget."""
        selection = replace(self, budget=budget)
        selection.__dict__["_squares"] = self._squares
        return selection

    def search(
        self, rng: np.random.Generator, effort: str = "auto", further_sets: Iterable[Sequence[int]] = ()
    ) -> tuple[list[int], float]:
        """Return the best groups found, ascending, and the variance that they reproduce.

        Parameters
        ----------
        rng : numpy Generator
            The generator for random starts.
        effort : {"quick", "auto", "thorough"}
        further_sets : iterable of sequences of int
            Further sets of groups from which to start.
        """
        starts = [self.greedy(), *(self.greedy(self._fitting(U)) for U in further_sets)]
        settings = SELECTION_EFFORTS[effort]
        if len(self.candidates) and len(self.S) <= settings.most_variables:
            starts += [self.reduced(excess) for excess in settings.excess]
            starts += [self.random(rng) for _ in range(settings.random_starts)]
        distinct = {tuple(sorted(U)): U for U in starts}
        ends = [self.exchanged(U) for U in distinct.values()]
        best_value = max(value for _, value in ends)
        return min((U for U, value in ends if value >= best_value * (1.0 - RELATIVE)), key=tuple), best_value

    def _fitting(self, U: Sequence[int]) -> list[int]:
        """Return the first groups of U that the budget allows."""
        selection = list(self.include)
        for g in U:
            if g not in selection and g in self.candidates and self.cost[g] <= self.room(selection):
                selection.append(g)
        return selection
