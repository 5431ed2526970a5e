"""Assessment of principal variables: held-out shares by number of variables, and frequencies in resamples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spcastat.arguments import draw_generator, whole_percent
from spcastat.assess.folds import HeldMoments, HeldOutRows, HeldRows, divided
from spcastat.errors import OptionError
from spcastat.fit.principal_variables import KeepRequest, matrix_of, one_size, set_of, sized, spectrum_of
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data
from spcastat.linalg.operators import Operator
from spcastat.progress import stage
from spcastat.search.principal_variables import best_combinations

#: How many numbers of variables above and below the requested number are compared.
NEIGHBOURING_NUMBERS = 2
#: Largest number of variables that is tried to reach share=.
MOST_TRIED = 60


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Squared errors of held-out rows, for several numbers of groups.

    Attributes
    ----------
    selection, pca : ndarray of shape (folds, s)
        Shares of the sum of squares of each fold that the variables kept and that PCA reproduce.
    squares : ndarray of shape (folds,)
        Sums of squares of the folds.
    """

    selection: np.ndarray
    pca: np.ndarray
    squares: np.ndarray

    def share(self, of: np.ndarray) -> np.ndarray:
        """Return the shares for all held-out rows together, shape (s,)."""
        return np.asarray(self.squares @ of / self.squares.sum())

    @property
    def error(self) -> np.ndarray:
        """The standard error of the shares of the variables kept, from their spread over the folds."""
        return np.asarray(self.selection.std(axis=0, ddof=1) / np.sqrt(len(self.selection)))


@dataclass(frozen=True, eq=False)
class Fold:
    """The covariance matrix of the rows outside a fold, and the cross-products of the rows of the fold.

    Attributes
    ----------
    op : Operator
        Operator of the rows outside the fold.
    S, products : ndarray of shape (p, p)
        Covariance matrix of the rows outside the fold, and cross-products of the rows of the fold, which are
        centred and scaled by the rows outside.
    """

    op: Operator
    S: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, op: Operator, holdout: HeldOutRows) -> Fold:
        """Return a fold from the parts of :meth:`spcastat.assess.folds.Folds.split`."""
        assert isinstance(holdout, HeldMoments | HeldRows)  # rows with missing values are refused before
        return cls(op, matrix_of(op), holdout.block(np.arange(op.p)))

    def share(self, U: Sequence[int], k: int) -> float:
        """Return the share of the fold that regressions on the k best combinations of `U` reproduce."""
        W = best_combinations(self.S, U, k)
        B = W @ (W.T @ self.S[list(U)])
        T, total = self.products, float(np.trace(self.products))
        gain = 2.0 * (B * T[list(U)]).sum() - ((T[np.ix_(U, U)] @ B) * B).sum()
        return float(gain / total)

    def pca_share(self, k: int) -> float:
        """Return the share of the fold that the k leading components of the other rows reproduce."""
        pair_count = min(1 << k.bit_length(), self.op.p)  # the operator stores these pairs for larger k
        vectors = self.op.leading(pair_count)[1][:, :k]
        return float((vectors * (self.products @ vectors)).sum() / np.trace(self.products))


def folds_of(data: Data, request: KeepRequest, count: int, seed: int) -> list[Fold]:
    """Divide the rows into folds.

    Raises
    ------
    NoRowsError
        If there are no rows in memory.
    OptionError
        For rows with missing values.
    """
    if data.missing is not None:
        raise OptionError(
            "Held-out shares need complete rows, and missing values are treated by "
            f"na={data.missing.rule!r}; give na='drop', or m= with folds=0 for a choice without held-out "
            "shares."
        )
    rows = data.rows("cross-validation", "principal_variables")
    parts = divided(rows, count, 1, seed=seed, k=request.k or 1, rank=None, keep_rows=False)
    pairs = (parts.split(number) for number in range(parts.count))
    return [Fold.of(op, holdout) for op, holdout in pairs]


class HeldOutPath:
    """Choices from the rows outside each fold, for one number of groups after another.

    Parameters
    ----------
    request : KeepRequest
    folds : sequence of Fold
    """

    def __init__(self, request: KeepRequest, folds: Sequence[Fold]) -> None:
        self.request, self.folds = request, folds
        self._previous_sets: list[list[int]] = [[] for _ in folds]

    def at(self, m: int | None) -> tuple[list[float], list[float]]:
        """Return the shares of each fold for m groups (for None, those within the budget), and of PCA."""
        selection, pca = [], []
        for number, fold in enumerate(self.folds):
            problem = self.request.problem(fold.S, m)
            starts = [self._previous_sets[number]] if self._previous_sets[number] else []
            U, _ = problem.search(np.random.default_rng(0), "quick", starts)
            self._previous_sets[number] = U
            variables = problem.variables(U)
            k = self.request.k or len(variables)
            selection.append(fold.share(variables, k))
            pca.append(fold.pca_share(k))
        return selection, pca


def held_out(request: KeepRequest, folds: Sequence[Fold], sizes: Iterable[int | None]) -> HeldOut:
    """Return the held-out shares for ascending numbers of groups; None stands for the budget."""
    path, rows = HeldOutPath(request, folds), []
    sizes = list(sizes)
    with stage("Held-out shares", len(sizes), "sizes") as advance:
        for m in sizes:
            rows.append(path.at(m))
            advance(1)
    selection, pca = (np.array(values).T for values in zip(*rows, strict=True))
    return HeldOut(selection, pca, np.array([np.trace(fold.products) for fold in folds]))


def smallest_size(request: KeepRequest, folds: Sequence[Fold]) -> tuple[int, list[int]]:
    """Return the smallest number of groups that keeps `request.share`, and all numbers that were tried.

    Raises
    ------
    OptionError
        If none of the numbers that were tried keeps the share.
    """
    assert request.share is not None
    path = HeldOutPath(request, folds)
    squares = np.array([np.trace(fold.products) for fold in folds])
    largest_size = min(len(request.candidates), MOST_TRIED)
    sizes, parts = [], []
    with stage("Numbers of variables", None, "sizes") as advance:
        for m in range(max(request.smallest, len(request.include), 1), largest_size + 1):
            selection, pca = path.at(m)
            reference = 1.0 if request.k is None else float(squares @ pca / squares.sum())
            parts.append(float(squares @ selection / squares.sum()) / reference)
            sizes.append(m)
            advance(1)
            if parts[-1] >= request.share:
                return m, sizes
    raise OptionError(_not_reached(request, sizes, parts))


def _not_reached(request: KeepRequest, sizes: Sequence[int], parts: Sequence[float]) -> str:
    of = "the total variance" if request.k is None else "PCA's"
    largest_part = max(parts)
    text = (
        f"With {sizes[-1]} of {len(request.groups)} variables the held-out share is "
        f"{whole_percent(parts[-1])} of {of}, and share={request.share:g} was given."
    )
    lower = np.floor(20.0 * largest_part - 1e-9) / 20.0  # a multiple of .05
    if lower <= 0:
        return f"{text} Give m=, the number of variables to keep."
    sufficient_size = next(m for m, part in zip(sizes, parts, strict=True) if part >= lower)
    return f"{text} share={lower:g} is reached with {sufficient_size} variables."


# --- a choice with its assessment on other rows ----------------------------------------------------


def with_path(
    state: FitState,
    request: KeepRequest,
    rng: np.random.Generator,
    folds: Sequence[Fold],
    sizes: Collection[int],
) -> FitState:
    """Return the choice with the best sets of other numbers of groups, and their held-out shares.

    Parameters
    ----------
    folds : sequence of Fold
        The folds; if there are none, held-out shares are not computed.
    sizes : collection of int
        Numbers of groups to compare, besides the number of the choice.
    """
    about, S = set_of(state), state.moments.op
    matrix, m = matrix_of(S), len(about.chosen)
    largest = max(sum(sorted(map(len, request.groups), reverse=True)[: max([*sizes, m])]), request.k or 1)
    spectrum = spectrum_of(S, largest)
    rows, starts = [], [sorted(about.chosen.tolist())]
    sizes = sorted({*sizes, m}) if about.budget is None else [m]
    for size in sizes:
        problem = request.problem(matrix, None if about.budget is not None else size)
        U = starts[0] if size == m else problem.search(rng, "quick", starts)[0]
        if len(U) != size:  # the variables kept determine all others
            break
        rows.append(one_size(problem, U, spectrum, request.k))
    path = sized(rows)
    changes: dict[str, Any] = dict(path)
    if folds:
        asked_sizes = [None] if about.budget is not None else path["sizes"].tolist()
        shares = held_out(request, folds, asked_sizes)
        changes |= {
            "held_out": shares.share(shares.selection),
            "held_out_pca": shares.share(shares.pca),
            "held_out_error": shares.error,
            "folds": len(folds),
        }
    return replace(state, principal=replace(about, **changes))


def sizes_around(request: KeepRequest, m: int) -> range:
    """Return the numbers of groups that are compared with m."""
    low = max(m - NEIGHBOURING_NUMBERS, request.smallest, len(request.include), 1)
    return range(min(low, m), min(m + NEIGHBOURING_NUMBERS, len(request.candidates)) + 1)


def with_frequencies(
    state: FitState, data: Data, request: KeepRequest, draws: int, seed: int, analysis: str
) -> FitState:
    """Return the choice with the frequency at which resamples of the rows choose each group.

    Each search starts from the groups chosen, from a greedy choice, and from a larger set that is reduced.
    `analysis` names the call for messages.

    Raises
    ------
    NoRowsError
        If the data cannot be resampled.
    """
    about, sampler = set_of(state), data.sampler(analysis)
    chosen_groups = about.chosen.tolist()
    counts = np.zeros(len(request.groups))
    budget = request.budget if request.budget is not None else float(len(chosen_groups))
    with stage("Resamples", draws, "draws") as advance:
        for number in range(draws):
            S = matrix_of(sampler.of_draw(number).bootstrap(draw_generator(seed, number)))
            problem = replace(request.problem(S), budget=budget)
            U, _ = problem.search(np.random.default_rng(0), "quick", [chosen_groups])
            counts[U] += 1.0
            advance(1)
    about = replace(about, frequency=counts / draws, draws=draws, is_normal=not data.from_rows)
    return replace(state, principal=about)
