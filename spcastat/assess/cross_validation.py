"""Fits of many cardinalities, along paths and outside each fold, and the rules that choose among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from spcastat.arguments import draw_generator, elements, is_single, is_whole, shown
from spcastat.assess.folds import BATCH_VARIABLES, Folds, HeldMoments, HeldRows, SparseModel, batched_press
from spcastat.assess.samples import Refit
from spcastat.errors import CardinalityError
from spcastat.fit.plan import Plan, cardinalities
from spcastat.fit.run import Fit, order_and_sign, run, run_path
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import Operator
from spcastat.measures import adjusted_variances
from spcastat.progress import run_jobs, stage
from spcastat.search.climbing import GRAM_LIMIT, reordered, sweep
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.search.joint_search import batch_size, best_of_each, fits_at_starts, several
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
        Rank of the centred data; p by default. With this number of nonzeros, components can explain as much
        as PCA (PEV), because all scores are combinations of this number of linearly independent columns.

    Raises
    ------
    CardinalityError
        If a cardinality is not possible, or `cards` is empty.
    """
    if cards is None:
        largest_card = max(p if rank is None else rank, 10)
        # Ten cardinalities above 10
        grid = np.geomspace(10, largest_card, 10).round().astype(int).tolist()
        cards = sorted({*range(1, min(p, 10) + 1), *(card for card in grid if card <= p), p})
    elif is_single(cards):
        end = int(cards) + 1 if is_whole(cards) and 0 < int(cards) <= p else 9
        raise CardinalityError(
            f"cards={shown(cards)} was given; it must be a sequence of cardinalities, such as cards=range(1, "
            f"{end})."
        )
    elif len(cards := elements(cards, MOST_FITS)) > MOST_FITS:
        raise CardinalityError(
            f"cards contains more than {MOST_FITS:,} cardinalities, the maximum; give fewer."
        )
    card_sets: dict[Any, CardinalitySet] = {}
    for card in cards:
        card_set = cardinalities(card, k, p, "cards")
        card_sets[card_set[0] if is_single(card) and not isinstance(card, Mapping) else card_set] = card_set
    if not card_sets:
        raise CardinalityError("cards is empty; give one cardinality or more.")
    if len({isinstance(key, tuple) for key in card_sets}) > 1:
        raise CardinalityError("cards mixes numbers and sequences; give either numbers or sequences.")
    keys = sorted(card_sets, key=lambda key: (sum(card_sets[key]), card_sets[key]))
    return keys, [card_sets[key] for key in keys]


def fit_path(op: Operator, plan: Plan, cards: Sequence[CardinalitySet], seed: int) -> list[Fit]:
    """Fit every cardinality in turn.

    Parameters
    ----------
    op : Operator
    plan : Plan
        A method with a field `card`, whose value is not used.
    cards : sequence of tuples of k ints
        Cardinalities in ascending order, so that each fit is a good start for the next.
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
            start_loadings = fits[-1].solution.V.T[None] if fits else None
            rng = np.random.default_rng(seed)
            fits.append(run(op, plan.with_card(card), k, rng, start_loadings))
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

    def groups(self, p: int) -> np.ndarray | None:
        """Return the group of each of p variables, shape (p,), if variables enter together."""
        rule = None if self.solver is None else self.solver.rule(p, self.k)
        return rule.of if isinstance(rule, GroupRule) else None

    def paths(
        self,
        ops: Sequence[Operator],
        cards: Sequence[CardinalitySet],
        near_loadings: Sequence[np.ndarray] | None = None,
    ) -> list[list[np.ndarray]]:
        """Fit each cardinality to several data sets with the same variables.

        Fits start from PCA and its varimax rotation, and then from the fits of neighbouring cardinalities. If
        `near_loadings` are given, they replace these neighbours: the candidates for the wine data then took
        two thirds of the time. Over eight seeds, supports agreed as well as with neighbours in the diabetes
        data, better in wine and glass, and worse in mtcars (mean Jaccard index of the supports .76, instead
        of .81).

        Parameters
        ----------
        ops : sequence of Operator
        cards : sequence of tuples of k ints
        near_loadings : sequence of ndarray of shape (p, k), optional
            For each cardinality, loadings near the solution, such as those fitted to all rows.

        Returns
        -------
        list of list of ndarray of shape (p, k)
        """
        leading = [op.leading(self.k)[1] for op in ops]
        starts_of_sets = [[U, varimax(U)] if self.k > 1 else [U] for U in leading]
        if self.plan is not None:  # other methods start from PCA themselves
            starts_of_sets = [starts[1:] for starts in starts_of_sets]
        additions: Sequence[list[np.ndarray]] = (
            [[]] * len(cards) if near_loadings is None else [[V] for V in near_loadings]
        )
        starts = [[[*starts, *addition] for starts in starts_of_sets] for addition in additions]
        return [
            list(path) for path in zip(*self.fits(ops, cards, starts, near_loadings is None), strict=True)
        ]

    def fits(
        self,
        ops: Sequence[Operator],
        cards: Sequence[CardinalitySet],
        starts: Sequence[Sequence[Sequence[np.ndarray]]],
        from_neighbours: bool = True,
    ) -> list[list[np.ndarray]]:
        """Fit each cardinality to each of several data sets with the same variables.

        Parameters
        ----------
        ops : sequence of Operator
        cards : sequence of tuples of k ints
        starts : sequence of sequences of sequences of ndarray of shape (p, k)
            Starts for each cardinality and operator, the same number for all; the best fit is returned.
        from_neighbours : bool
            Whether further sweeps start from the fits of neighbouring cardinalities. Searches other than
            sweeps always start from the previous fit as well.

        Returns
        -------
        list of list of ndarray of shape (p, k)
            The fits to all data sets, for each cardinality.
        """
        m, fits_of_cards = len(ops), list[list[np.ndarray]]()
        if self.plan is not None or self.solver is not None or ops[0].p > GRAM_LIMIT:
            solver = self.solver or Joint(objective=self.objective)
            for card, card_starts in zip(cards, starts, strict=True):
                fit_starts = [
                    [*set_starts, *(fits[i] for fits in fits_of_cards[-1:])]
                    for i, set_starts in enumerate(card_starts)
                ]
                if self.plan is None:
                    fits_of_cards.append(replace(solver, card=card).nearby_optima(ops, fit_starts))
                else:
                    fits_of_cards.append(
                        [self.run(op, card, V).solution.V for op, V in zip(ops, fit_starts, strict=True)]
                    )
            return fits_of_cards
        full_criterion, parts = several(ops, cards[-1], self.objective), alike(cards, m)
        # components with the same cardinality in every set may change places
        component_cards = list(zip(*cards, strict=True))
        kinds = tuple(map(component_cards.index, component_cards))
        criteria = [full_criterion.sized(cards[part], m, kinds) for part in parts]
        near_starts: list[Sequence[np.ndarray]] = [
            set_starts for card_starts in starts for set_starts in card_starts
        ]
        for sweeps in (8, 4) if from_neighbours else (8,):
            flat: list[np.ndarray] = []
            for criterion, part in zip(criteria, parts, strict=True):
                part_starts = near_starts[part.start * m : part.stop * m]
                swept = sweep(criterion, fits_at_starts(criterion, part_starts), sweeps)
                flat += list(criterion.dense(best_of_each(reordered(criterion, swept), len(part_starts))))
            near_starts = list(zip(flat, flat[:m] + flat[:-m], flat[m:] + flat[-m:], strict=True))
        return [flat[i : i + m] for i in range(0, len(flat), m)]

    def run(self, op: Operator, card: CardinalitySet, starts: Sequence[np.ndarray] = ()) -> Fit:
        """Fit by the method of the plan, from the starts, each of shape (p, k), if the method uses starts."""
        assert self.plan is not None
        plan = self.plan.of_samples()
        takes = isinstance(plan.solver, JointSolver) and plan.solver.uses_starts
        start_loadings = np.stack([V.T for V in starts]) if takes and starts else None
        return run(op, plan.with_card(card), self.k, np.random.default_rng(self.seed), start_loadings)


#: Sets of cardinalities are swept together if their blocks of covariance matrices have at most this many more
#: entries than needed. With 30 and with 500 variables this took half and a third of the time that one sweep
#: of all sets took.
BLOCK_ROOM = 20_000


def alike(cards: Sequence[CardinalitySet], m: int) -> list[slice]:
    """Divide sets of cardinalities into runs of similar sizes, whose fits to m data sets are swept together.

    The arrays of a run have room for the largest cardinality of each component.
    """
    squares, firsts = np.square(cards), [0]
    for i in range(1, len(cards)):
        run_squares = squares[firsts[-1] : i + 1]
        if m * (run_squares.max(axis=0) - run_squares).sum() > BLOCK_ROOM:
            firsts.append(i)
    return [slice(start, end) for start, end in pairwise([*firsts, len(cards)])]


# --- cross-validation -----------------------------------------------------------------------------


#: A function of a list of operators, each of the rows outside one fold, and of the numbers of these folds. It
#: returns for each fold the loadings to be evaluated on it.
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
        sums_of_folds = []
        for (op, holdout), loadings in zip(parted, fits, strict=True):
            if (
                isinstance(holdout, HeldMoments | HeldRows)
                and self.groups is None
                and op.p <= BATCH_VARIABLES
            ):
                all_columns = np.arange(op.p)
                moments = op.block(all_columns)[None], holdout.block(all_columns)[None]
                errors = batched_press(np.array(loadings)[:, None], *moments)[:, 0]
            else:
                errors = holdout.press([SparseModel.of(V, op, self.groups) for V in loadings])
            sums_of_folds.append((errors, float(holdout.squares.sum()), holdout.weight))
        return sums_of_folds


def errors_by_fold(
    folds: Folds, fitted: Fitted, together: int, n_jobs: int, label: str, groups: np.ndarray | None = None
) -> Errors:
    """Return the errors of loadings fitted to the rows outside each fold, `together` folds at once."""
    n, shape = folds.count * folds.repeats, (folds.repeats, folds.count)
    job = _Job(folds, fitted, groups)
    finished = run_jobs(job, n, n_jobs=n_jobs, what=label, unit="folds", together=together)
    if finished.interrupted:
        raise KeyboardInterrupt
    press, mean, weight = map(np.array, zip(*finished.results, strict=True))
    return Errors(press.reshape(*shape, -1), mean.reshape(shape), weight.reshape(shape))


def cross_validate(
    folds: Folds,
    fitter: Fitter,
    cards: Sequence[CardinalitySet],
    full_fits: list[np.ndarray],
    dense: bool,
    n_jobs: int,
) -> Errors:
    """Return the errors of fits of each cardinality.

    Parameters
    ----------
    folds : Folds
    fitter : Fitter
    cards : sequence of tuples of k ints
    full_fits : list of ndarray of shape (p, k)
        The fits to all rows, used as one of several starts in each fold.
    dense : bool
        Whether dense PCA with the same number of components is added as the last candidate.
    n_jobs : int
        Number of processes; the errors do not depend on it.

    Raises
    ------
    KeyboardInterrupt
        If the computation is interrupted, because errors of only some folds cannot be compared.
    """
    p, paths = len(folds.rules.names), partial(_along_path, fitter, cards, full_fits, dense)
    at_once = batch_size(p) if fitter.plan is None else 1
    return errors_by_fold(folds, paths, at_once, n_jobs, "cross-validation", fitter.groups(p))


def _along_path(
    fitter: Fitter,
    cards: Sequence[CardinalitySet],
    full_fits: list[np.ndarray],
    dense: bool,
    ops: list[Operator],
    _: Any,
) -> list[list[np.ndarray]]:
    """Return the fits of each cardinality outside each fold, followed by dense PCA if `dense`."""
    paths = fitter.paths(ops, cards, full_fits)
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
    return errors_by_fold(
        folds, partial(_refitted, refit, seed), refit.batch_size or 1, n_jobs, "held-out error"
    )


def _refitted(
    refit: Refit, seed: int, ops: Sequence[Operator], numbers: Sequence[int]
) -> list[list[np.ndarray]]:
    """Return for each fold the loadings of the method, in a list."""
    rngs = [draw_generator(seed, number) for number in numbers]
    starts = [refit.draw_starts(op, rng) for op, rng in zip(ops, rngs, strict=True)]
    return [[V] for V in refit.fitted_loadings(ops, starts)]


# --- rules ----------------------------------------------------------------------------------------


#: The rules; see `by_errors`.
RULES = ("worth", "keep", "1se", "paired", "min")


@dataclass(frozen=True)
class ParsimonyTuning:
    """Constants of the rules; benchmarks/results/trust.md shows the choices.

    Attributes
    ----------
    worth : float
        Required improvement per further loading, as a share of the mean improvement per loading of the fit,
        if prediction is best with all loadings. Loadings below .45 times the root mean square loading of
        their component are dropped.
    least_kept : float
        The smallest share of the variance explained by the best fit that the choice must explain.
    bare_mention : float
        Difference in EBIC "not worth more than a bare mention": Kass and Raftery (1995), "Bayes factors".
    """

    worth: float = 0.2
    least_kept: float = 0.8
    bare_mention: float = 2.0


PARSIMONY = ParsimonyTuning()


@dataclass(frozen=True)
class Limit:
    """The number of loadings and the share to keep, which the rules use.

    Attributes
    ----------
    cells : int
        Number of all loadings, zero or not: variables times components.
    share : float
        The share of the best prediction to keep, for the rule "keep".
    """

    cells: int
    share: float = 0.9

    def price(self, sparsest_size: int) -> float:
        """Return the required improvement per further loading, relative to the mean per loading of the fit.

        `sparsest_size` is the number of loadings of the sparsest fit that predicts as well as the best. If
        that fit is sparse, even small loadings are unlikely to be noise, and are kept.
        """
        return float(PARSIMONY.worth * np.sqrt(sparsest_size / self.cells))

    def passing_fits(
        self,
        explained: np.ndarray,
        surely: np.ndarray,
        sizes: np.ndarray,
        sparsest_fit: int,
        best_share: float,
    ) -> np.ndarray:
        """Return for each of m fits whether no larger fit is worth its additional loadings, shape (m,).

        Parameters
        ----------
        explained : ndarray of shape (m,)
            The share g of the variance that each fit predicts.
        surely : ndarray of bool, shape (m, m)
            Whether fit j predicts better than fit i by more than one standard error.
        sizes : ndarray of shape (m,)
            Number of loadings s of each fit.
        sparsest_fit : int
            Index of the sparsest fit that predicts as well as the best.
        best_share : float
            The largest share of all fits, dense PCA included.

        Notes
        -----
        A larger fit with s' loadings is worth its additional loadings if it is better by more than one
        standard error and by more than .2 sqrt(q) (s' - s) g / s, where q is the share of loadings of
        `sparsest_fit`. A fit does not pass if another fit with no more loadings predicts better, clearly or
        not, or if it explains less than a share `least_kept` of what the best fit explains. Without this
        limit, the fit with the fewest loadings would pass if a few rows dominate the errors, because no fit
        is then clearly better than another.
        """
        explained = np.maximum(explained, 0.0)
        price = self.price(int(sizes[sparsest_fit])) * explained / sizes
        further_loadings = sizes - sizes[:, None]
        worth = (
            surely
            & (further_loadings > 0)
            & (explained - explained[:, None] > further_loadings * price[:, None])
        )
        beaten = (explained > explained[:, None]) & (sizes <= sizes[:, None])
        is_sufficient = explained >= PARSIMONY.least_kept * best_share
        return np.asarray(~(worth | beaten).any(axis=1) & is_sufficient)


def by_errors(errors: Errors, sizes: Sequence[int], rule: str, limit: Limit) -> tuple[int, int]:
    """Return the indices of the fit that a rule chooses and of the fit with the smallest error.

    Parameters
    ----------
    errors : Errors
        Errors of m fits, and then of dense PCA.
    sizes : sequence of m ints
        Numbers of loadings of the m fits. If errors are equal, fewer loadings are preferred.
    rule : {"worth", "keep", "1se", "paired", "min"}
        "worth": the sparsest fit to which no further loadings are worth adding. "keep": the sparsest fit that
        keeps a share of the best prediction. "1se": the sparsest fit within one standard error of the
        smallest error (Breiman, Friedman, Olshen and Stone 1984). "paired": the sparsest fit within one
        standard error of the difference, paired by fold, which is much smaller. "min": the fit with the
        smallest error.
    limit : Limit
    """
    m = len(sizes)
    error, best_share = errors.error[:m], 1.0 - float(errors.error.min())
    best_fit = min(range(m), key=lambda i: (error[i], sizes[i]))
    excess, se = errors.excess(best_fit)
    width = np.full(m, errors.spread(errors.relative)[best_fit]) if rule == "1se" else se[:m]
    sparsest_fit = _sparsest(excess[:m] <= width, sizes, error)
    if rule == "keep":
        mask = 1.0 - error >= limit.share * best_share - 1e-12
        return (_sparsest(mask, sizes, error) if mask.any() and best_share > 0 else best_fit), best_fit
    if rule != "worth":
        return (best_fit if rule == "min" else sparsest_fit), best_fit
    passing_fits = limit.passing_fits(
        1.0 - error, errors.surely(m), np.array(sizes), sparsest_fit, best_share
    )
    return (_sparsest(passing_fits, sizes, error) if passing_fits.any() else best_fit), best_fit


def by_ebic(
    values: np.ndarray, errors: np.ndarray, sizes: Sequence[int], rule: str, limit: Limit
) -> tuple[int, int]:
    """Return the indices of the fit that a rule chooses by EBIC and of the fit with the smallest EBIC.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The EBIC of every fit.
    errors : ndarray of shape (m,)
        The in-sample prediction error of every fit, as a share of the variance.
    sizes, rule, limit
        See :func:`by_errors`. A difference of 2 in EBIC takes the place of one standard error.
    """
    best_fit = int(np.argmin(values))
    sparsest_fit = _sparsest(values < values[best_fit] + PARSIMONY.bare_mention, sizes, values)
    if rule != "worth":
        return (best_fit if rule == "min" else sparsest_fit), best_fit
    explained, surely = 1.0 - errors, values[:, None] - values > PARSIMONY.bare_mention
    best_share = float(explained[~surely.any(axis=1)].max())
    passing_fits = limit.passing_fits(explained, surely, np.array(sizes), sparsest_fit, best_share)
    return (_sparsest(passing_fits, sizes, errors) if passing_fits.any() else best_fit), best_fit


def _sparsest(mask: np.ndarray, sizes: Sequence[int], errors: np.ndarray) -> int:
    return min(np.flatnonzero(mask).tolist(), key=lambda i: (sizes[i], errors[i]))


# --- errors by fold ------------------------------------------------------------------------------


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

        The error of the column means is computed over all folds of the repeat.
        """
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        return np.asarray(self.press / self.weight[:, :, None] / unit[:, None, None])

    @property
    def of_means(self) -> np.ndarray:
        """Relative errors of the column means by fold, shape (repeats, folds, 1)."""
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        return np.asarray(self.mean / self.weight / unit[:, None])[:, :, None]

    def divisions(self) -> Iterator[Errors]:
        """Yield the errors of every division into folds."""
        for number in range(len(self.press)):
            part = slice(number, number + 1)
            yield Errors(self.press[part], self.mean[part], self.weight[part])

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the mean over folds and repeats, shape (m,), of values of shape (repeats, folds, m)."""
        shares = self.weight / self.weight.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("rf,rfm->rm", shares, values).mean(axis=0))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the standard error of the mean that `average` returns, shape (m,).

        It is the standard error of the mean over the folds of one repeat, averaged over repeats as a root
        mean square. More repeats do not reduce it, because they are not independent.
        """
        folds = values.shape[1]
        variances: np.ndarray = values.var(axis=1, ddof=1) / folds
        return np.sqrt(variances.mean(axis=0))

    @property
    def error(self) -> np.ndarray:
        """Relative error of each candidate, shape (m,)."""
        return self.average(self.relative)

    def excess(self, reference: int) -> tuple[np.ndarray, np.ndarray]:
        """Return each error minus the error of candidate `reference`, and its standard error, shape (m,)."""
        difference = self.relative - self.relative[:, :, reference : reference + 1]
        return self.average(difference), self.spread(difference)

    def predicted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of the variance that each candidate predicts, and its standard error, shape (m,).

        The error of each fold is compared with the error of the column means in the same fold.
        """
        gain = self.of_means - self.relative
        return self.average(gain), self.spread(gain)

    def surely(self, m: int) -> np.ndarray:
        """Return whether candidate j is better than i by more than one standard error, shape (m, m)."""
        differences = [self.excess(j) for j in range(m)]
        return np.stack([(excess > se)[:m] for excess, se in differences], axis=1)
