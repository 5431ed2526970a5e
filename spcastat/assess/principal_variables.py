"""Principal variables of other rows: held-out shares by number of variables, and frequencies in resamples."""

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

#: Numbers of variables above and below the one asked for that are compared.
NEIGHBOURING_NUMBERS = 2
#: Largest number of variables that share= tries.
MOST_TRIED = 60


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Squared errors of held-out rows, for several numbers of groups.

    Attributes
    ----------
    kept, pca : ndarray of shape (folds, s)
        Shares of the sum of squares of each fold that the variables kept, and PCA, reproduce.
    squares : ndarray of shape (folds,)
        Sums of squares of the folds.
    """

    kept: np.ndarray
    pca: np.ndarray
    squares: np.ndarray

    def share(self, of: np.ndarray) -> np.ndarray:
        """Return the shares of all held-out rows together, shape (s,)."""
        return np.asarray(self.squares @ of / self.squares.sum())

    @property
    def error(self) -> np.ndarray:
        """The standard error of the shares of the variables kept, from their spread over the folds."""
        return np.asarray(self.kept.std(axis=0, ddof=1) / np.sqrt(len(self.kept)))


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows outside a fold as a problem, and the cross-products of the rows of the fold.

    Attributes
    ----------
    op : Operator
        The other rows.
    S, products : ndarray of shape (p, p)
        Their covariance matrix; the cross-products of the fold, centred and scaled by them.
    """

    op: Operator
    S: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, op: Operator, held: HeldOutRows) -> Fold:
        """Return a fold from the parts of :meth:`spcastat.assess.folds.Folds.split`."""
        assert isinstance(held, HeldMoments | HeldRows)  # rows with missing values are refused before
        return cls(op, matrix_of(op), held.block(np.arange(op.p)))

    def share(self, U: Sequence[int], k: int) -> float:
        """Return the share of the fold that regressions on the k best combinations of U reproduce."""
        W = best_combinations(self.S, U, k)
        B = W @ (W.T @ self.S[list(U)])
        T, total = self.products, float(np.trace(self.products))
        gain = 2.0 * (B * T[list(U)]).sum() - ((T[np.ix_(U, U)] @ B) * B).sum()
        return float(gain / total)

    def pca_share(self, k: int) -> float:
        """Return the share of the fold on the k leading principal components of the other rows."""
        pair_count = min(1 << k.bit_length(), self.op.p)  # the operator keeps them for larger k
        vectors = self.op.leading(pair_count)[1][:, :k]
        return float((vectors * (self.products @ vectors)).sum() / np.trace(self.products))


def folds_of(data: Data, asked: KeepRequest, count: int, seed: int) -> list[Fold]:
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
    parts = divided(rows, count, 1, seed=seed, k=asked.k or 1, rank=None, keep_rows=False)
    pairs = (parts.split(number) for number in range(parts.count))
    return [Fold.of(op, held) for op, held in pairs]


class HeldOutPath:
    """Choices from the rows outside each fold, for one number of groups after another.

    Parameters
    ----------
    asked : KeepRequest
    folds : sequence of Fold
    """

    def __init__(self, asked: KeepRequest, folds: Sequence[Fold]) -> None:
        self.asked, self.folds = asked, folds
        self._last: list[list[int]] = [[] for _ in folds]

    def at(self, m: int | None) -> tuple[list[float], list[float]]:
        """Return the shares of each fold with m groups (None: with those the budget allows), and PCA's."""
        kept, pca = [], []
        for number, fold in enumerate(self.folds):
            problem = self.asked.problem(fold.S, m)
            near = [self._last[number]] if self._last[number] else []
            U, _ = problem.search(np.random.default_rng(0), "quick", near)
            self._last[number] = U
            variables = problem.variables(U)
            k = self.asked.k or len(variables)
            kept.append(fold.share(variables, k))
            pca.append(fold.pca_share(k))
        return kept, pca


def held_out(asked: KeepRequest, folds: Sequence[Fold], sizes: Iterable[int | None]) -> HeldOut:
    """Return the held-out shares for ascending numbers of groups; None stands for the budget."""
    path, rows = HeldOutPath(asked, folds), []
    sizes = list(sizes)
    with stage("Held-out shares", len(sizes), "sizes") as advance:
        for m in sizes:
            rows.append(path.at(m))
            advance(1)
    kept, pca = (np.array(values).T for values in zip(*rows, strict=True))
    return HeldOut(kept, pca, np.array([np.trace(fold.products) for fold in folds]))


def smallest_size(asked: KeepRequest, folds: Sequence[Fold]) -> tuple[int, list[int]]:
    """Return the smallest number of groups that keeps the share `asked.share`, and those that were tried.

    Raises
    ------
    OptionError
        If no number tried keeps it.
    """
    assert asked.share is not None
    path = HeldOutPath(asked, folds)
    squares = np.array([np.trace(fold.products) for fold in folds])
    most = min(len(asked.candidates), MOST_TRIED)
    sizes, parts = [], []
    with stage("Numbers of variables", None, "sizes") as advance:
        for m in range(max(asked.smallest, len(asked.include), 1), most + 1):
            kept, pca = path.at(m)
            reference = 1.0 if asked.k is None else float(squares @ pca / squares.sum())
            parts.append(float(squares @ kept / squares.sum()) / reference)
            sizes.append(m)
            advance(1)
            if parts[-1] >= asked.share:
                return m, sizes
    raise OptionError(_not_reached(asked, sizes, parts))


def _not_reached(asked: KeepRequest, sizes: Sequence[int], parts: Sequence[float]) -> str:
    of = "the total variance" if asked.k is None else "PCA's"
    best = max(parts)
    text = (
        f"With {sizes[-1]} of {len(asked.groups)} variables the held-out share is {whole_percent(parts[-1])} "
        f"of {of}, and share={asked.share:g} was given."
    )
    lower = np.floor(20.0 * best - 1e-9) / 20.0  # a multiple of .05
    if lower <= 0:
        return f"{text} Give m=, the number of variables to keep."
    reached = next(m for m, part in zip(sizes, parts, strict=True) if part >= lower)
    return f"{text} share={lower:g} is reached with {reached} variables."


# --- a choice with what other rows say -------------------------------------------------------------


def with_path(
    state: FitState,
    asked: KeepRequest,
    rng: np.random.Generator,
    folds: Sequence[Fold],
    sizes: Collection[int],
) -> FitState:
    """Return the choice with the best sets of other numbers of groups, and their held-out shares.

    Parameters
    ----------
    folds : sequence of Fold
        Empty for no held-out shares.
    sizes : collection of int
        Numbers of groups to compare, besides that of the choice.
    """
    about, S = set_of(state), state.moments.op
    matrix, m = matrix_of(S), len(about.chosen)
    largest = max(sum(sorted(map(len, asked.groups), reverse=True)[: max([*sizes, m])]), asked.k or 1)
    spectrum = spectrum_of(S, largest)
    rows, near = [], [sorted(about.chosen.tolist())]
    sizes = sorted({*sizes, m}) if about.budget is None else [m]
    for size in sizes:
        problem = asked.problem(matrix, None if about.budget is not None else size)
        U = near[0] if size == m else problem.search(rng, "quick", near)[0]
        if len(U) != size:  # those kept determine all others
            break
        rows.append(one_size(problem, U, spectrum, asked.k))
    path = sized(rows)
    changes: dict[str, Any] = dict(path)
    if folds:
        asked_sizes = [None] if about.budget is not None else path["sizes"].tolist()
        found = held_out(asked, folds, asked_sizes)
        changes |= {
            "held_out": found.share(found.kept),
            "held_out_pca": found.share(found.pca),
            "held_out_error": found.error,
            "folds": len(folds),
        }
    return replace(state, principal=replace(about, **changes))


def sizes_around(asked: KeepRequest, m: int) -> range:
    """Return the numbers of groups that are compared with m."""
    low = max(m - NEIGHBOURING_NUMBERS, asked.smallest, len(asked.include), 1)
    return range(min(low, m), min(m + NEIGHBOURING_NUMBERS, len(asked.candidates)) + 1)


def with_frequencies(
    state: FitState, data: Data, asked: KeepRequest, draws: int, seed: int, analysis: str
) -> FitState:
    """Return the choice with how often resamples of the rows choose each group.

    Each search starts from the groups chosen, from a greedy choice, and from one reduced from a larger set.
    `analysis` names the call for messages.

    Raises
    ------
    NoRowsError
        If there is nothing to draw from.
    """
    about, sampler = set_of(state), data.sampler(analysis)
    chosen = about.chosen.tolist()
    counts = np.zeros(len(asked.groups))
    budget = asked.budget if asked.budget is not None else float(len(chosen))
    with stage("Resamples", draws, "draws") as advance:
        for number in range(draws):
            S = matrix_of(sampler.of_draw(number).bootstrap(draw_generator(seed, number)))
            problem = replace(asked.problem(S), budget=budget)
            U, _ = problem.search(np.random.default_rng(0), "quick", [chosen])
            counts[U] += 1.0
            advance(1)
    about = replace(about, frequency=counts / draws, draws=draws, is_normal=not data.from_rows)
    return replace(state, principal=about)
