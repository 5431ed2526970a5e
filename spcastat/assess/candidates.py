"""Candidate cardinalities: fits along paths, errors and criteria, and the rules that choose between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from spcastat.assess.folds import FEW, Folds, HeldMoments, SparseModel, batched_press
from spcastat.assess.jobs import run_jobs
from spcastat.assess.samples import Refit
from spcastat.config import draw_generator, elements, is_single, is_whole, shown
from spcastat.errors import CardinalityError
from spcastat.fit.order import order_and_sign
from spcastat.fit.plan import Plan, cardinalities
from spcastat.fit.run import Fit, run, run_path
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import Operator
from spcastat.measures import adjusted_variances
from spcastat.progress import stage
from spcastat.search.climbing import climb, sweep
from spcastat.search.default import GRAM_LIMIT, best_of_each, fits_at_starts, several, together
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.search.moves import reordered
from spcastat.solvers.greedy import Greedy, Growth
from spcastat.solvers.solver import JointSolver, Solution

# --- fits of many cardinalities -------------------------------------------------------------------


CardinalitySet = tuple[int, ...]

#: Largest number of fits in a path.
MOST_FITS = 100_000


def path_cards(cards: Any, k: int, p: int, rank: int | None = None) -> tuple[list[Any], list[CardinalitySet]]:
    """Return the ascending cardinalities of a path, as keys of its fits and as tuples of length k.

    Parameters
    ----------
    cards : None, or sequence of ints or of sequences of k ints
        At most MOST_FITS cardinalities. None gives a grid from 1 to the rank, and p.
    k, p : int
    rank : int, optional
        Rank of the centred data; p by default. With that many nonzeros, components can explain as much as PCA
        (PEV), as all scores are combinations of that many linearly independent columns.

    Raises
    ------
    CardinalityError
        If a cardinality is not possible, or `cards` is empty.
    """
    if cards is None:
        last = max(p if rank is None else rank, 10)
        # Ten cardinalities above 10
        further = np.geomspace(10, last, 10).round().astype(int).tolist()
        cards = sorted({*range(1, min(p, 10) + 1), *(card for card in further if card <= p), p})
    elif is_single(cards):
        end = int(cards) + 1 if is_whole(cards) and 0 < int(cards) <= p else 9
        raise CardinalityError(
            f"cards={shown(cards)} was given; it is a sequence of cardinalities, such as "
            f"cards=range(1, {end})."
        )
    elif len(cards := elements(cards, MOST_FITS)) > MOST_FITS:
        raise CardinalityError(f"cards holds more than {MOST_FITS:,} cardinalities, the maximum; give fewer.")
    found: dict[Any, CardinalitySet] = {}
    for card in cards:
        wanted = cardinalities(card, k, p)
        found[wanted[0] if is_single(card) and not isinstance(card, Mapping) else wanted] = wanted
    if not found:
        raise CardinalityError("cards is empty; give one cardinality or more.")
    if len({isinstance(key, tuple) for key in found}) > 1:
        raise CardinalityError("cards mixes numbers and sequences; give one kind.")
    keys = sorted(found, key=lambda key: (sum(found[key]), found[key]))
    return keys, [found[key] for key in keys]


def fit_path(op: Operator, plan: Plan, cards: Sequence[CardinalitySet], seed: int) -> list[Fit]:
    """Fit every cardinality in turn.

    Parameters
    ----------
    op : Operator
    plan : Plan
        A method with a field `card`, whose value is not used.
    cards : sequence of tuples of k ints
        In ascending order, so that each fit is a good start for the next.
    seed : int
        Seed of the random starts of every fit.

    Returns
    -------
    list of Fit

    Notes
    -----
    The supports of the first greedy component are nested, so that with one component the whole path costs as
    much as its last fit. A joint method uses the previous solution as one more start besides PCA, so that no
    fit is worse than a separate fit. If the previous loadings are feasible for the next fit, as for the l0
    methods, the criterion never decreases along the path.
    """
    solver, k = plan.solver, len(cards[0])
    if isinstance(solver, Greedy) and k == 1 and solver.c == 1:
        return _nested(op, solver, [card[0] for card in cards])
    if isinstance(solver, Joint) and plan.order != "best" and not solver.ruled:
        return run_path(op, plan, cards, seed)
    fits: list[Fit] = []
    with stage("path", len(cards), "fits") as advance:
        for card in cards:
            before = fits[-1].solution.V.T[None] if fits else None
            rng = np.random.default_rng(seed)
            fits.append(run(op, plan.with_card(card), k, rng, before))
            advance(1)
    return fits


def _nested(op: Operator, solver: Greedy, cards: Sequence[int]) -> list[Fit]:
    """Grow one support and record the fit at every cardinality."""
    pca = op.leading(1)[0]
    growth = Growth(op, solver.exact)
    fits = []
    with stage("path", len(cards), "fits") as advance:
        for card in cards:
            steps = card - growth.support.size
            for _ in range(steps):
                growth.add(1)
            V, order = order_and_sign(op, growth.leading()[1][:, None], np.zeros(1))
            value = float(adjusted_variances(V, op).sum()) * op.unit**2
            fits.append(Fit(Solution(V, "exact", card, value, np.array([value])), order, pca))
            advance(1)
    return fits


@dataclass(frozen=True, eq=False)
class Fitter:
    """Options and functions for the fits of a path or a fold; can be pickled.

    Attributes
    ----------
    k : int
    plan : Plan or None
        A method with a field `card`, run from starts; None for the sweeps of the default search.
    objective : {"adjusted", "pev", "least_squares"}
        The criterion that the sweeps maximise.
    seed : int
        Seed for methods with random starts.
    solver : Joint or None
        The default search, if its options restrict the supports.
    """

    k: int
    plan: Plan | None = None
    objective: str = "adjusted"
    seed: int = 0
    solver: Joint | None = None

    def quick(self) -> Fitter:
        """Return a copy with the least effort, if the method is the default search."""
        if self.plan is None or not isinstance(self.plan.solver, Joint):
            return self
        return replace(self, plan=replace(self.plan, solver=replace(self.plan.solver, effort="quick")))

    def groups(self, p: int) -> np.ndarray | None:
        """Return the group of each of p variables, shape (p,), if variables enter together."""
        rule = None if self.solver is None else self.solver.rule(p, self.k)
        return rule.of if isinstance(rule, GroupRule) else None

    def paths(
        self,
        ops: Sequence[Operator],
        cards: Sequence[CardinalitySet],
        near: Sequence[np.ndarray | None],
        thorough: bool = False,
    ) -> list[list[np.ndarray]]:
        """Fit each cardinality to several data sets with the same variables.

        Starts are PCA, its varimax rotation, the fits of neighbouring cardinalities and `near`.

        Parameters
        ----------
        ops : sequence of Operator
        cards : sequence of tuples of k ints
        near : sequence of ndarray of shape (p, k), or None
            Loadings near the solutions, such as the loadings fitted to all rows.
        thorough : bool
            Whether exchanges of variables follow if the covariance matrix is in memory.

        Returns
        -------
        list of list of ndarray of shape (p, k)
        """
        leading = [op.leading(self.k)[1] for op in ops]
        fixed = [[U, varimax(U)] if self.k > 1 else [U] for U in leading]
        if self.plan is not None:  # other methods start from PCA themselves
            fixed = [own[1:] for own in fixed]
        starts = [[[*own] if V is None else [*own, V] for own in fixed] for V in near]
        return [list(path) for path in zip(*self.fits(ops, cards, starts, thorough), strict=True)]

    def fits(
        self,
        ops: Sequence[Operator],
        cards: Sequence[CardinalitySet],
        starts: Sequence[Sequence[Sequence[np.ndarray]]],
        thorough: bool = False,
        ordered: bool = False,
    ) -> list[list[np.ndarray]]:
        """Fit each cardinality to each of several data sets with the same variables.

        Parameters
        ----------
        ops : sequence of Operator
        cards : sequence of tuples of k ints
        starts : sequence of sequences of sequences of ndarray of shape (p, k)
            Starts for each cardinality and operator, the same number for all; the fits with neighbouring
            cardinalities are further starts, and the best fit is returned.
        thorough : bool
            As for `paths`.
        ordered : bool
            Whether components keep the order of the starts; otherwise components of equal cardinality are
            sorted.

        Returns
        -------
        list of list of ndarray of shape (p, k)
            For each cardinality the fits to all data sets.
        """
        m, found = len(ops), list[list[np.ndarray]]()
        if self.plan is not None or self.solver is not None or ops[0].p > GRAM_LIMIT:
            solver = self.solver or Joint(objective=self.objective)
            for card, given in zip(cards, starts, strict=True):
                both = [[*own, *(fits[i] for fits in found[-1:])] for i, own in enumerate(given)]
                if self.plan is None:
                    found.append(replace(solver, card=card).near(ops, both))
                else:
                    found.append([self.run(op, card, V).solution.V for op, V in zip(ops, both, strict=True)])
            return found
        whole, parts = several(ops, cards[-1], self.objective), alike(cards, m)
        # components with the same cardinality in every set may change places
        each = list(zip(*cards, strict=True))
        kinds = tuple(map(each.index, each))
        criteria = [whole.sized(cards[part], m, kinds) for part in parts]
        near: list[Sequence[np.ndarray]] = [own for given in starts for own in given]
        # sweep from the starts, then from the fits of neighbouring cardinalities; few sweeps preserve the
        # order of the components
        for sweeps in (4, 1) if ordered else (8, 4):
            flat: list[np.ndarray] = []
            for criterion, part in zip(criteria, parts, strict=True):
                own = near[part.start * m : part.stop * m]
                swept = sweep(criterion, fits_at_starts(criterion, own), sweeps)
                swept = best_of_each(swept if ordered else reordered(criterion, swept), len(own))
                flat += list(criterion.dense(swept))
            near = list(zip(flat, flat[:m] + flat[:-m], flat[m:] + flat[-m:], strict=True))
        found = [flat[i : i + m] for i in range(0, len(flat), m)]
        for i, card in enumerate(cards if thorough else ()):
            criterion = whole.with_cards(card)
            fits = fits_at_starts(criterion, list(zip(found[i], found[max(i - 1, 0)], strict=True)))
            # 30 variables may enter in exchanges, and the best six exchanges are evaluated
            found[i] = list(criterion.dense(best_of_each(climb(criterion, fits, 30, 6), m)))
        return found

    def run(self, op: Operator, card: CardinalitySet, starts: Sequence[np.ndarray] = ()) -> Fit:
        """Fit the method of the plan, from the starts if it uses starts; each has the shape (p, k)."""
        plan = self.plan
        assert plan is not None
        takes = isinstance(plan.solver, JointSolver) and plan.solver.uses_starts
        given = np.stack([V.T for V in starts]) if takes and starts else None
        return run(op, plan.with_card(card), self.k, np.random.default_rng(self.seed), given)


#: Sets of cardinalities are swept together if their blocks of covariance matrices have at most this many more
#: entries than needed. On 30 and on 500 variables this took half and a third of the time of all together.
ROOM = 20_000


def alike(cards: Sequence[CardinalitySet], m: int) -> list[slice]:
    """Divide sets of cardinalities into runs of similar sizes, whose fits to m data sets are swept together.

    The arrays of a run have room for the largest cardinality of each component.
    """
    squares, firsts = np.square(cards), [0]
    for i in range(1, len(cards)):
        own = squares[firsts[-1] : i + 1]
        if m * (own.max(axis=0) - own).sum() > ROOM:
            firsts.append(i)
    return [slice(first, end) for first, end in pairwise([*firsts, len(cards)])]


# --- cross-validation -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Errors:
    """Sums of squared errors by fold.

    Attributes
    ----------
    press : ndarray of shape (repeats, folds, m)
        Sums for each of m candidates.
    mean : ndarray of shape (repeats, folds)
        Sums for prediction by the column means of the other rows.
    weight : ndarray of shape (repeats, folds)
        Number of rows, or sum of their weights; with missing values, measured cells over the number of
        columns.
    """

    press: np.ndarray
    mean: np.ndarray
    weight: np.ndarray

    @cached_property
    def relative(self) -> np.ndarray:
        """Mean squared errors relative to the error of the column means, shape (repeats, folds, m).

        The error of the column means is that over all folds of the repeat.
        """
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        return np.asarray(self.press / self.weight[:, :, None] / unit[:, None, None])

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values, shape (repeats, folds, m), over folds and repeats, shape (m,)."""
        shares = self.weight / self.weight.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("rf,rfm->rm", shares, values).mean(axis=0))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the standard error of the mean that `average` returns, shape (m,).

        It is the standard error of the mean over the folds of one repeat, as the root mean square over
        repeats. More repeats do not reduce it, since they are not independent.
        """
        folds = values.shape[1]
        variances: np.ndarray = values.var(axis=1, ddof=1) / folds
        return np.sqrt(variances.mean(axis=0))

    @property
    def error(self) -> np.ndarray:
        """Relative error of each candidate, shape (m,)."""
        return self.average(self.relative)

    def excess(self, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the difference of each error from that of candidate `other`, and its standard error."""
        away = self.relative - self.relative[:, :, other : other + 1]
        return self.average(away), self.spread(away)

    def surely(self, m: int) -> np.ndarray:
        """Return whether candidate j is better than i by more than one standard error, shape (m, m)."""
        differences = [self.excess(j) for j in range(m)]
        return np.stack([(away > se)[:m] for away, se in differences], axis=1)


#: Takes a list of operators, one per fold and each of the rows outside that fold, and the numbers of these
#: folds. Returns for each fold the loadings to be evaluated on it.
Fitted = Callable[[list[Operator], Sequence[int]], Sequence[Sequence[np.ndarray]]]


@dataclass(frozen=True, eq=False)
class _Job:
    """The job of fitting the rows outside some of the folds, and of computing the errors in these folds."""

    folds: Folds
    fitted: Fitted
    groups: np.ndarray | None

    def __call__(self, numbers: Sequence[int]) -> list[tuple[np.ndarray, float, float]]:
        parted = [self.folds.split(number) for number in numbers]
        fits = self.fitted([op for op, _ in parted], numbers)
        found = []
        for (op, held), loadings in zip(parted, fits, strict=True):
            if isinstance(held, HeldMoments) and self.groups is None and op.p <= FEW:
                every = np.arange(op.p)
                moments = op.block(every)[None], held.block(every)[None]
                errors = batched_press(np.array(loadings)[:, None], *moments)[:, 0]
            else:
                errors = held.press([SparseModel.of(V, op, self.groups) for V in loadings])
            found.append((errors, float(held.squares.sum()), held.weight))
        return found


def _errors(
    folds: Folds, fitted: Fitted, together: int, n_jobs: int, what: str, groups: np.ndarray | None = None
) -> Errors:
    """Return the errors of loadings fitted to the rows outside each fold, `together` folds at once."""
    n, shape = folds.count * folds.repeats, (folds.repeats, folds.count)
    job = _Job(folds, fitted, groups)
    found = run_jobs(job, n, n_jobs=n_jobs, what=what, unit="folds", together=together)
    if found.interrupted:
        raise KeyboardInterrupt
    press, mean, weight = map(np.array, zip(*found.results, strict=True))
    return Errors(press.reshape(*shape, -1), mean.reshape(shape), weight.reshape(shape))


def cross_validate(
    folds: Folds,
    fitter: Fitter,
    cards: Sequence[CardinalitySet],
    near: list[np.ndarray],
    dense: bool,
    n_jobs: int,
) -> Errors:
    """Return the errors of fits of each cardinality.

    Parameters
    ----------
    folds : Folds
    fitter : Fitter
    cards : sequence of tuples of k ints
    near : list of ndarray of shape (p, k)
        The fits to all rows, used as one of several starts in each fold.
    dense : bool
        Whether dense PCA with as many components is added as the last candidate.
    n_jobs : int
        Number of processes; the errors do not depend on it.

    Raises
    ------
    KeyboardInterrupt
        If the computation is interrupted, as errors of some folds only cannot be compared.
    """
    p, paths = len(folds.rules.names), partial(_along_path, fitter, cards, near, dense)
    at_once = together(p) if fitter.plan is None else 1
    return _errors(folds, paths, at_once, n_jobs, "cross-validation", fitter.groups(p))


def _along_path(
    fitter: Fitter,
    cards: Sequence[CardinalitySet],
    near: list[np.ndarray],
    dense: bool,
    ops: list[Operator],
    _: Any,
) -> list[list[np.ndarray]]:
    """Return the fits of each cardinality outside each fold, followed by dense PCA with `dense`."""
    paths = fitter.paths(ops, cards, near)
    if not dense:
        return paths
    return [[*path, op.leading(fitter.k)[1]] for op, path in zip(ops, paths, strict=True)]


def held_out(folds: Folds, refit: Refit, *, seed: int, n_jobs: int = 1) -> Errors:
    """Return the errors of one method, which is applied to the rows outside each fold.

    Parameters
    ----------
    folds : Folds
    refit : Refit
    seed : int
        Seed for methods with random numbers.
    n_jobs : int
    """
    return _errors(folds, partial(_refitted, refit, seed), refit.together or 1, n_jobs, "held-out error")


def _refitted(
    refit: Refit, seed: int, ops: Sequence[Operator], numbers: Sequence[int]
) -> list[list[np.ndarray]]:
    """Return for each fold the loadings of the method, in a list."""
    rngs = [draw_generator(seed, number) for number in numbers]
    begun = [refit.begun(op, rng) for op, rng in zip(ops, rngs, strict=True)]
    return [[V] for V in refit.ended(ops, begun)]


# --- the rules of a choice ------------------------------------------------------------------------

#: The rules; see `by_errors`.
RULES = ("worth", "1se", "paired", "min")
#: Default for `Limit.share`: drops loadings below .45 of the root mean square of their component.
WORTH = 0.2
#: The choice explains at least this share of what the best candidate explains.
LEAST_KEPT = 0.8
#: Difference in EBIC "not worth more than a bare mention": Kass and Raftery (1995), "Bayes factors".
BARE_MENTION = 2.0


@dataclass(frozen=True)
class Limit:
    """The improvement required of further loadings under the rule "worth".

    Attributes
    ----------
    cells : int
        Number of all loadings, variables times components.
    dense : float, optional
        The share of loadings that are nonzero in the best-predicting fit; by default in that of the
        candidates.
    nested : bool
        Whether the fits differ in one component only, which has a single loading in the first fit; then
        only the variance explained by this component counts.
    share : float
        Required improvement per further loading, as a share of the mean improvement per loading of the fit,
        if prediction is best with all loadings.
    least : float
        The share of the variance that a fit must explain unless no other is clearly better, for comparisons
        among some of the candidates.
    """

    cells: int
    dense: float | None = None
    nested: bool = False
    share: float = WORTH
    least: float = 0.0

    def passed(self, errors: np.ndarray, surely: np.ndarray, sizes: np.ndarray, within: int) -> np.ndarray:
        """Return for each of m fits whether no larger fit is worth its further loadings, shape (m,).

        Parameters
        ----------
        errors : ndarray of shape (m,)
            Prediction errors relative to those of the column means.
        surely : ndarray of bool, shape (m, m)
            Whether fit j predicts better than fit i by more than one standard error.
        sizes : ndarray of shape (m,)
            Number of loadings of each fit.
        within : int
            Index of the sparsest fit that predicts as well as the best.

        Notes
        -----
        Let g be the variance explained by a fit with s loadings. A larger fit with s' loadings is worth it if
        it is better by more than one standard error and by more than share sqrt(dense) (s' - s) g / s. If
        prediction is best with all variables, this drops loadings below .45 of the root mean square of their
        component. If it is best with few variables, even small loadings are not noise and are kept.

        A fit that explains less than LEAST_KEPT of what the best explains does not pass if any is clearly
        better: many small improvements add up. Nor does a fit to which one with no more loadings is clearly
        preferred.
        """
        dense = sizes[within] / self.cells if self.dense is None else self.dense
        explained = np.maximum((errors[0] if self.nested else 1.0) - errors, 0.0)
        each = self.share * np.sqrt(dense) * explained / sizes
        further = sizes - sizes[:, None]
        better = surely & (further > 0) & (errors[:, None] - errors > further * each[:, None])
        passed = ~better.any(axis=1) & ~beaten(surely, sizes)
        among_best = ~surely.any(axis=1)
        least = self.least
        if not self.nested:
            least = max(least, LEAST_KEPT * (1.0 - errors[among_best].min()))
        return np.asarray(passed & (among_best | (1.0 - errors >= least)))


def beaten(surely: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return for each of m fits whether one with no more loadings is better, shape (m,).

    Parameters
    ----------
    surely : ndarray of bool, shape (m, m)
        Whether fit j is clearly better than fit i.
    sizes : ndarray of shape (m,)
    """
    return np.asarray((surely & (sizes <= sizes[:, None])).any(axis=1))


def by_errors(errors: Errors, sizes: Sequence[int], rule: str, limit: Limit) -> tuple[int, int]:
    """Return the choice by a rule among cross-validated fits, and the fit with the smallest error.

    Parameters
    ----------
    errors : Errors
        Errors of m fits, which come first in `errors`.
    sizes : sequence of m ints
        Their numbers of loadings; of equal errors, fewer loadings are preferred.
    rule : {"worth", "1se", "paired", "min"}
        The sparsest fit to which no further loadings are worth adding; the sparsest within one standard error
        of the smallest error (Breiman, Friedman, Olshen and Stone 1984); or within that of the difference,
        paired by fold, which is much smaller; or the fit with the smallest error.
    limit : Limit
    """
    m = len(sizes)
    error = errors.error[:m]
    best = min(range(m), key=lambda i: (error[i], sizes[i]))
    away, se = errors.excess(best)
    width = np.full(m, errors.spread(errors.relative)[best]) if rule == "1se" else se[:m]
    within = _sparsest(away[:m] <= width, sizes, error)
    if rule != "worth":
        return (best if rule == "min" else within), best
    passed = limit.passed(error, errors.surely(m), np.array(sizes), within)
    return _sparsest(passed, sizes, error), best


def by_ebic(
    values: np.ndarray, errors: np.ndarray, sizes: Sequence[int], rule: str, limit: Limit
) -> tuple[int, int]:
    """Return the choice by a rule among fits with an EBIC, and the fit with the smallest EBIC.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The EBIC of every fit.
    errors : ndarray of shape (m,)
        Their in-sample prediction errors, as shares of the variance.
    sizes, rule, limit
        See :func:`by_errors`. A difference of 2 in EBIC takes the place of one standard error.
    """
    best = int(np.argmin(values))
    within = _sparsest(values < values[best] + BARE_MENTION, sizes, values)
    if rule != "worth":
        return (best if rule == "min" else within), best
    passed = limit.passed(errors, values[:, None] - values > BARE_MENTION, np.array(sizes), within)
    return _sparsest(passed, sizes, errors), best


def _sparsest(which: np.ndarray, sizes: Sequence[int], errors: np.ndarray) -> int:
    return min(np.flatnonzero(which).tolist(), key=lambda i: (sizes[i], errors[i]))


# --- candidates -----------------------------------------------------------------------------------


#: Criteria and their descriptions; smaller values are better, except for the index of sparseness.
CRITERIA = {
    "cv": "cross-validation",
    "ebic": "EBIC",
    "bic": "BIC",
    "is": "index of sparseness",
    "variance": "share of variance",
}


@dataclass(eq=False)
class Candidates:
    """Fits of several cardinalities to the same data, cached.

    Attributes
    ----------
    op : Operator
        Operator of all rows.
    fitter, final : Fitter
        How the candidates are fitted, and how the chosen fit is: as in a plain call of `spca`.
    n : float or None
        Number of rows, or sum of their weights; None if not known for a covariance matrix.
    folds : Folds or None
        None without cross-validation.
    n_jobs : int
    groups : int or None
        Number of groups, if cardinalities count groups of variables.
    """

    op: Operator
    fitter: Fitter
    final: Fitter
    n: float | None
    folds: Folds | None = None
    n_jobs: int = 1
    groups: int | None = None
    fits: dict[CardinalitySet, np.ndarray] = field(default_factory=dict)
    models: dict[CardinalitySet, SparseModel] = field(default_factory=dict)
    press: dict[CardinalitySet, np.ndarray] = field(default_factory=dict)
    dense_errors: Errors | None = None
    searched: dict[tuple[Fitter, CardinalitySet], Fit] = field(default_factory=dict)

    def add(self, cards: Sequence[CardinalitySet], near: np.ndarray | None = None) -> None:
        """Fit cardinalities that have not been fitted yet, to all rows and without each fold.

        Parameters
        ----------
        cards : sequence of tuples of k ints
        near : ndarray of shape (p, k), optional
            Loadings that may be near the solutions, used as one more start.
        """
        new = [card for card in cards if card not in self.fits]
        if not new:
            return
        with stage("fits to all rows", len(new), "fits") as advance:
            (found,) = self.fitter.paths([self.op], new, [near] * len(new), True)
            advance(len(new))
        for card, V in zip(new, found, strict=True):
            self.keep(card, V)
        if self.folds is None:
            return
        dense = self.dense_errors is None
        errors = cross_validate(self.folds, self.fitter, new, found, dense, self.n_jobs)
        for i, card in enumerate(new):
            self.press[card] = errors.press[:, :, i]
        if dense:
            self.dense_errors = replace(errors, press=errors.press[:, :, -1:])

    def search(self, card: CardinalitySet, quick: bool = False) -> Fit:
        """Return the fit by `final`, cached; with `quick`, by a search of the least effort."""
        fitter = self.final.quick() if quick else self.final
        if (fitter, card) not in self.searched:
            self.searched[fitter, card] = fitter.run(self.op, card)
        return self.searched[fitter, card]

    def keep(self, card: CardinalitySet, V: np.ndarray) -> None:
        """Store a fit to all rows, shape (p, k)."""
        self.fits[card] = V
        self.models[card] = SparseModel.of(V, self.op, self.fitter.groups(self.op.p))

    def errors(self, cards: Sequence[CardinalitySet]) -> Errors:
        """Return the errors of some candidates, followed by those of dense PCA."""
        assert self.dense_errors is not None
        press = np.stack([*(self.press[card] for card in cards), self.dense_errors.press[:, :, 0]], axis=2)
        return replace(self.dense_errors, press=press)

    def of_division(self, cards: Sequence[CardinalitySet], rule: str, number: int) -> int:
        """Return the index of the choice of :func:`by_errors` by one division into folds alone."""
        every, part = self.errors(cards), slice(number, number + 1)
        one = Errors(every.press[part], every.mean[part], every.weight[part])
        return by_errors(one, [sum(card) for card in cards], rule, Limit(self.cells))[0]

    @property
    def cells(self) -> int:
        """The number of all loadings, or of all groups of loadings."""
        return (self.groups or self.op.p) * self.fitter.k

    @property
    def dense(self) -> float:
        """The PEV of dense PCA."""
        return float(self.op.leading(self.fitter.k)[0].sum() / self.op.total)

    def criterion(self, by: str, card: CardinalitySet) -> float:
        """Return a criterion of one candidate; smaller is better."""
        counts = np.count_nonzero(self.fits[card], axis=0)
        model = self.models[card]
        if by == "is":
            zeros = 1.0 - counts.sum() / self.fits[card].size
            # Gajjar, Kulahci and Palazoglu (2017), "Selection of non-zero loadings in sparse principal
            # component analysis", Chemometrics and Intelligent Laboratory Systems 162
            return -model.kept / model.total * self.dense * zeros
        assert self.n is not None
        if by == "bic":
            return bic(model, self.n, counts)
        groups = (self.groups, np.array(card)) if self.groups else None
        return ebic(model, self.n, counts, groups)

    def values(self, by: str, cards: Sequence[CardinalitySet]) -> np.ndarray:
        """Return the errors ("cv") or another criterion of some candidates, shape (m,); smaller is better."""
        if by == "cv":
            return self.errors(cards).error[: len(cards)]
        return np.array([self.criterion(by, card) for card in cards])

    def apparent(self, card: CardinalitySet) -> float:
        """Return the in-sample prediction error, as a share of the variance."""
        model = self.models[card]
        return model.press(self.op.diagonal(), self.op.block(model.used)) / self.op.total

    def adjusted(self, card: CardinalitySet) -> float:
        """Return the adjusted variance as a share of the total."""
        return float(adjusted_variances(self.fits[card], self.op).sum() / self.op.total)


def choose(
    found: Candidates, cards: Sequence[CardinalitySet], by: str, rule: str, share: float
) -> tuple[int, int]:
    """Return the indices of the chosen candidate and of the one with the best value.

    Parameters
    ----------
    found : Candidates
    cards : sequence of tuples of k ints
    by : str
        A key of CRITERIA.
    rule : str
        For "cv" and "ebic": see :func:`spcastat.assess.candidates.by_errors`.
    share : float
        For "variance": the share of dense PCA's variance to keep.
    """
    sizes = [sum(card) for card in cards]
    if by == "cv":
        return by_errors(found.errors(cards), sizes, rule, Limit(found.cells))
    if by == "variance":
        kept = np.array([found.adjusted(card) for card in cards]) / found.dense
        most = int(np.argmax(kept))
        enough = [i for i in range(len(cards)) if kept[i] >= share * (1.0 - 1e-12)]
        return (min(enough, key=lambda i: (sizes[i], -kept[i])) if enough else most), most
    values = np.array([found.criterion(by, card) for card in cards])
    if by == "ebic":
        return by_ebic(
            values, np.array([found.apparent(card) for card in cards]), sizes, rule, Limit(found.cells)
        )
    return int(np.argmin(values)), int(np.argmin(values))


def gains_beyond(found: Candidates, cards: Sequence[CardinalitySet], by: str, share: float) -> bool:
    """Return whether fits with more loadings than the last candidate may be better.

    With cross-validation, they may be if dense PCA predicts better by more than one standard error; by other
    criteria, if the last candidate has the best value, or does not keep the share of the variance.

    Parameters
    ----------
    found : Candidates
    cards : sequence of tuples of k ints
        In ascending order.
    by, share
        See :func:`choose`.
    """
    if by == "cv":
        return bool(found.errors(cards[-1:]).surely(2)[0, 1])
    if by == "variance":
        return found.adjusted(cards[-1]) < share * (1.0 - 1e-12) * found.dense
    return int(np.argmin(found.values(by, cards))) == len(cards) - 1


def table(found: Candidates, cards: Sequence[CardinalitySet], keys: Sequence[Any]) -> pd.DataFrame:
    """Return a table with one row per candidate: errors, criteria and shares of variance.

    Parameters
    ----------
    found : Candidates
    cards : sequence of tuples of k ints
    keys : sequence
        Values of the column "card".
    """
    columns: dict[str, Any] = {
        "card": pd.Series(list(keys), dtype=object if any(isinstance(key, tuple) for key in keys) else None),
        **({"groups": [sum(card) for card in cards]} if found.groups else {}),
        "nonzeros": [int(np.count_nonzero(found.fits[card])) for card in cards],
    }
    m = len(cards)
    if found.folds is not None:
        errors = found.errors(cards)
        excess, spread = errors.excess(int(np.argmin(errors.error[:m])))
        columns |= {"error": errors.error[:m], "se": errors.spread(errors.relative)[:m]}
        columns |= {"excess": excess[:m], "excess_se": spread[:m]}
        explained = 1.0 - errors.error[:m]
        most = max(explained.max(), 1.0 - errors.error[-1])  # dense PCA is the last
    else:
        explained = 1.0 - np.array([found.apparent(card) for card in cards])
        most = explained.max()
    columns["kept"] = explained.clip(min=0.0) / most if most > 0 else np.full(m, np.nan)
    if found.n is not None:
        columns |= {by: [found.criterion(by, card) for card in cards] for by in ("ebic", "bic")}
    columns["is"] = [-found.criterion("is", card) for card in cards]
    columns["pev"] = [found.models[card].kept / found.models[card].total for card in cards]
    columns["adjusted"] = [found.adjusted(card) for card in cards]
    columns["relative_adjusted"] = np.array(columns["adjusted"]) / found.dense
    return pd.DataFrame(columns)


# --- criteria of a fit ----------------------------------------------------------------------------


def ebic(
    model: SparseModel,
    n: float,
    nonzeros: np.ndarray,
    groups: tuple[int, np.ndarray] | None = None,
) -> float:
    """Return the extended BIC of the model of a sparse fit.

    Parameters
    ----------
    model : SparseModel
    n : float
        Number of rows, or sum of their weights.
    nonzeros : ndarray of shape (k,)
        Cardinalities c_j.
    groups : (int, ndarray of shape (k,)), optional
        Number of groups of variables, and number of groups in each component; they replace p and c_j in the
        last term.

    Notes
    -----
    n (log |Sigma| + tr Sigma^-1 S) + sum c_j log n + 2 sum log C(p, c_j): Chen and Chen (2008), "Extended
    Bayesian information criteria for model selection with large model spaces", with gamma = 1. The last term
    accounts for the number of supports among which the fit was selected.
    """
    p, chosen = groups or (model.p, nonzeros)
    choices = gammaln(p + 1) - gammaln(chosen + 1) - gammaln(p - chosen + 1)
    return model.deviance(n) + float(nonzeros.sum() * np.log(n) + 2.0 * choices.sum())


def bic(model: SparseModel, n: float, nonzeros: np.ndarray) -> float:
    """Return log of the mean squared residual + nonzeros log(np) / (np): Allen and Maletic-Savatic (2011).

    "Sparse non-negative generalized PCA with applications to metabolomics", Bioinformatics 27, for all
    components at once; the residual is that of the projection of X on the span of the loadings.
    """
    cells = n * model.p
    left = max(model.total - model.kept, np.finfo(float).tiny) / model.p
    return float(np.log(left) + nonzeros.sum() * np.log(cells) / cells)
