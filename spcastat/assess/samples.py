"""Fits of samples of the rows, aligned with the fit: bootstrap, stability selection and sample splitting.

Samples that cannot be fitted are drawn again. Stability selection, by complementary halves: Shah and Samworth
(2013), "Variable selection with error control: another look at stability selection", JRSS B 75; Meinshausen
and Bühlmann (2010), "Stability selection", JRSS B 72.

Sample splitting: variables are selected on one half of the rows, and assessed on the other half.

The other half estimates the correlation of a selected variable with the score of its component that is
computed from the other selected variables, with the weights of the first half. This is a smooth function of
the moments of the other half, whatever the first half selected: Rinaldo, Wasserman and G'Sell (2019),
"Bootstrapping and sample splitting for high-dimensional, assumption-lean inference", Annals of Statistics 47.
Several splits: Meinshausen, Meier and Bühlmann (2009), "p-values for high-dimensional regression", JASA 104.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from spcastat.arguments import draw_generator
from spcastat.errors import ComponentsError, ConstantColumnError, DataError, MissingValuesError, OptionError
from spcastat.fit.method_table import SOLVERS
from spcastat.fit.plan import Plan, Request, make_plan
from spcastat.fit.record import Bootstrapped, HalfSamples
from spcastat.fit.run import leading_components, run
from spcastat.fit.sparse_loadings import with_loadings, with_matrix
from spcastat.fit.state import FitState
from spcastat.inputs.samplers import Sampler, constant_in, constant_remark
from spcastat.linalg.eigenvectors import numerical_rank, symmetric
from spcastat.linalg.operators import Operator
from spcastat.progress import Finished, run_jobs
from spcastat.reading.design import Spec
from spcastat.search.loading_patterns import Nonzeros, Pattern, best_on_support, nearby_pattern
from spcastat.solvers.solver import BatchSolver
from spcastat.solvers.thresholding import fitted

# --- fits to draws --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Aligned:
    """Loadings in the order and with the signs of reference loadings.

    Attributes
    ----------
    V : ndarray of shape (p, k)
    order : ndarray of shape (k,)
        The index of each column before matching.
    similarity : ndarray of shape (k,)
        Absolute correlation of the scores of each component with the scores of its counterpart, in [0, 1]; 0
        if one of them has no variance.
    """

    V: np.ndarray
    order: np.ndarray
    similarity: np.ndarray


def align(
    loadings: np.ndarray, reference: np.ndarray, op: Operator, kinds: Sequence[int] | None = None
) -> Aligned:
    """Match the columns of `loadings` with those of `reference`, and adjust their order and signs.

    Parameters
    ----------
    loadings, reference : ndarray of shape (p, k)
        Loadings of any length.
    op : Operator
        The covariance matrix S of the fit, with which scores are compared.
    kinds : sequence of int, optional
        Labels of the components; only components with the same label may be exchanged.

    Returns
    -------
    Aligned

    Notes
    -----
    The assignment maximises the sum of the absolute correlations |v'Sw| / sqrt(v'Sv w'Sw) (Hungarian
    algorithm). Signs make the correlations positive, or v'w if the correlation is zero. Loadings are not
    rotated, which would destroy the zeros.
    """
    from scipy.optimize import linear_sum_assignment  # imported late, as it is slow to import

    k = reference.shape[1]
    products = op.products(np.hstack([loadings, reference]))
    sd = np.sqrt(np.diag(products).clip(min=0.0))
    sizes = np.outer(sd[:k], sd[k:])
    correlation = np.divide(products[:k, k:], sizes, out=np.zeros((k, k)), where=sizes > 0)
    worth = np.abs(correlation)
    if kinds is not None:
        worth = worth - 2.0 * k * (np.array(kinds)[:, None] != np.array(kinds))
    rows, columns = linear_sum_assignment(-worth)
    order = np.empty(k, dtype=int)
    order[columns] = rows
    V = loadings[:, order]
    matched = correlation[order, np.arange(k)]
    signs = np.where(matched != 0, matched, np.einsum("ij,ij->j", V, reference))
    V = V * np.where(signs < 0, -1.0, 1.0) + 0.0  # no -0
    return Aligned(V, order, np.abs(matched).clip(max=1.0))


@dataclass(frozen=True, eq=False)
class Refit:
    """A method with its options, to be fitted to draws.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Loadings of the fit.
    plan : Plan
    fixed : bool
        Whether the supports of the fit are used.
    starts : {"near", "quick", "alone"}
        The starts of the search on a draw. "near": the loadings of the fit, and PCA of the draw. "alone": PCA
        of the draw, its varimax rotation and random rotations of twice as many directions (with more than
        1000 variables only the first two), so that the result is a function of the draw. "quick": the same
        starts, but fewer for adjusted variance, and the loadings of the fit. Other methods that use starts
        also start from the loadings of the fit, except with "alone".
    known_fits : sequence of ndarray of shape (p, k)
        Fits of other draws. If given, searches start from PCA and from the fits that are best on the draw.
    """

    V: np.ndarray
    plan: Plan
    fixed: bool = False
    starts: str = "near"
    known_fits: Sequence[np.ndarray] = ()

    def __call__(self, op: Operator, rng: np.random.Generator) -> np.ndarray:
        """Return the loadings, shape (p, k), of the method fitted to a draw.

        Raises
        ------
        ComponentsError
            If the rank of the draw is below k.
        """
        return self.fitted_loadings([op], [self.draw_starts(op, rng)])[0]

    @property
    def batch_size(self) -> int | None:
        """Number of draws that a search fits at once; None for other methods, which fit one at a time."""
        solver = self.plan.solver
        return solver.batch(len(self.V)) if isinstance(solver, BatchSolver) else None

    @property
    def learns(self) -> bool:
        """Whether fits of some draws are starts for the others."""
        solver = self.plan.solver
        return self.starts == "quick" and isinstance(solver, BatchSolver) and solver.learns

    @property
    def kinds(self) -> tuple[int, ...] | None:
        """Labels of the components, equal if the rule for supports treats them alike; None if no rule."""
        if not self.plan.solver.ruled:
            return None
        rule = self.plan.solver.rule(*self.V.shape)  # type: ignore[attr-defined]
        return tuple(rule.kinds([0] * self.V.shape[1]))

    @property
    def start(self) -> np.ndarray:
        """The loadings of the fit, rounded because their last digits depend on the order of the rows."""
        mantissas, exponents = np.frexp(self.V)
        unit = 2.0**SAMPLES.start_bits
        return np.asarray(np.ldexp(np.rint(mantissas * unit) / unit, exponents))

    def draw_starts(self, op: Operator, rng: np.random.Generator) -> Sequence[np.ndarray]:
        """Return the starts of the search on a draw; for other methods, the fitted loadings.

        Raises
        ------
        ComponentsError
            If the rank of the draw is below k.
        """
        k = self.V.shape[1]
        start_loadings = [] if self.starts == "alone" else [self.start]
        solver = self.plan.solver
        if not isinstance(solver, BatchSolver):
            if self.fixed:
                return [self._on_supports(op)]
            plan = replace(self.plan.of_samples(), order="given")
            starts = np.array([V.T for V in start_loadings]) if start_loadings else None
            return [run(op, plan, k, rng, starts).solution.V]
        if self.fixed:
            return [self.start]
        searched = self.starts != "near" and not self.known_fits
        # the directions of the starts, up to twice as many as components, are computed once
        count = max(k, min(2 * k, op.rank_limit)) if searched else k
        values, vectors = op.leading(min(count, op.p))
        if k > op.rank_limit or numerical_rank(values[:k], op.p) < k:
            raise ComponentsError(f"The rank of the rows of a draw is below {k}.")
        if self.known_fits:
            return [vectors[:, :k]]
        if not searched:
            return [*start_loadings, vectors[:, :k]]
        return [*start_loadings, *solver.data_starts(op, k, rng, beside_fit=self.starts == "quick")]

    def fitted_loadings(
        self, ops: Sequence[Operator], starts_of_draws: Sequence[Sequence[np.ndarray]]
    ) -> list[np.ndarray]:
        """Return the loadings fitted to several draws, from the starts of each."""
        solver = self.plan.solver
        if not isinstance(solver, BatchSolver):
            return [V for (V,) in starts_of_draws]
        searched = self.starts != "near"
        if searched and not self.known_fits:
            starts_of_draws = solver.simplified(starts_of_draws, 1 if self.starts == "quick" else 0)
        return solver.nearby_optima(ops, starts_of_draws, self.fixed, self.V, searched, self.known_fits)

    def _on_supports(self, op: Operator) -> np.ndarray:
        """Return the loadings that maximise explained variance on the supports of the fit."""
        refitted = fitted(op, self.V, bool(getattr(self.plan.solver, "nonneg", False)))
        return self.V if refitted is None else refitted


def plan_of(state: FitState) -> Plan:
    """Return the plan of a fit, with the components in their current order."""
    record = state.record
    method = SOLVERS[record.method]
    method_options = {}
    for name, value in record.options.items():
        if name not in method.options or name in ("n_init", "nonneg") or value is None:
            continue
        method_options[name] = value
        if name in ("include", "exclude"):  # by component; positions stand for names
            method_options[name] = dict(enumerate(value, 1))
        if name == "together":
            method_options[name] = dict(value)
    plan_options: dict[str, Any] = {
        name: method_options.pop(name)
        for name in ("card", "variance", "tol", "max_iter")
        if name in method_options
    }
    nonneg = bool(record.options.get("nonneg")) if "nonneg" in method.options else False
    plan_options |= {"method": record.method, "nonneg": nonneg, "n_init": record.n_init, "order": "given"}
    request = Request(record.k, method_options=method_options, **plan_options)
    return make_plan(request, record.p, recorded=True).on(Spec("array", pd.RangeIndex(record.p)))


def refit_of(
    state: FitState, plan: Plan, *, fixed: bool = False, own_card: bool = False, starts: str = "near"
) -> Refit:
    """Return the method of a fit, to be fitted to draws.

    Parameters
    ----------
    state : FitState
    plan : Plan
    fixed : bool
        Whether to use the supports of the fit.
    own_card : bool
        Whether draws have the number of nonzeros of the fit, if the fit has fewer than its `card`.
    starts : {"near", "quick", "alone"}
        See :class:`Refit`.

    Raises
    ------
    OptionError
        For fixed supports and a method that uses more than second moments.

    Notes
    -----
    Draws are fitted with the objective of the fit, but not with its effort: sweeps from a few starts are
    followed by exchanges of single variables from the best sweep. If the fit searched for the fewest
    nonzeros, each component of a draw has as many nonzeros as in the fit.
    """
    if fixed and plan.rows_for:
        raise OptionError(
            f"select=False was given with method={plan.method.name!r}, which is not based on variances "
            "alone: loadings on given variables are defined only for methods based on variances. Leave "
            "select=False out."
        )
    if own_card and getattr(plan.solver, "card", None) is not None and not plan.solver.ruled:
        plan = plan.with_card([int(count) for count in np.count_nonzero(state.V, axis=0)])
    return Refit(state.V, plan, fixed, starts)


# --- samples and their fits -----------------------------------------------------------------------


Draw = TypeVar("Draw")


@dataclass(frozen=True)
class SamplesTuning:
    """Constants for fits of samples; benchmarks/results/trust.md gives the coverage of their intervals.

    Attributes
    ----------
    attempts : int
        Number of samples tried for one draw before giving up, as some samples cannot be fitted.
    first_draws : int
        Number of bootstrap draws that are fitted first. Their fits are starts for the others, if there are at
        least as many others. With 50 first draws, searches on 100 other draws of wine and breast cancer lost
        on average .016 and .012 % of the best known value; with 80 they lost .005 and .010 %, and from the
        starts of the first draws .027 and .078 %.
    start_bits : int
        Number of bits to which loadings are rounded as starts: about nine digits, by convention.
    least_left_out : int
        A selected variable can have substitutes if at least this many fits of halves leave it out. This value
        and the next two are conventions.
    least_share, least_excess : float
        A substitute is selected in at least this share of these fits, and in a share of the other fits that
        is smaller by at least `least_excess`.
    """

    attempts: int = 100
    first_draws: int = 50
    start_bits: int = 30
    least_left_out: int = 5
    least_share: float = 0.25
    least_excess: float = 0.1


SAMPLES = SamplesTuning()


def attempted(draw: Callable[[], Draw]) -> tuple[Draw, int]:
    """Return the result of the first draw that can be fitted, and how many failed before it.

    A sample cannot be fitted if its rank is below k, or, with na="pairwise", if a pair of columns has no
    correlation in it.

    Raises
    ------
    DataError
        If 100 consecutive samples cannot be fitted.
    """
    for failed in range(SAMPLES.attempts):
        try:
            return draw(), failed
        except (ComponentsError, ConstantColumnError, MissingValuesError) as error:
            reason = str(error)
    raise DataError(
        f"{SAMPLES.attempts} successive samples of the rows could not be fitted. The reason for the last "
        f"one: {reason} Use more rows, or fewer components if there are several."
    )


@dataclass(frozen=True, eq=False)
class Resampling:
    """The sampler, the method and the settings that are needed to draw samples and to fit them.

    Attributes
    ----------
    sampler : Sampler
    refit : Refit
    op : Operator
        The data of the fit, on which scores are compared.
    seed : int
    n_jobs : int
    sampling_text : str
        Description of the units drawn, if not single rows of the fit: "30 clusters of 4 to 11 rows".
    notice : str
        A remark on rows that may not be independent.
    names : pandas.Index of length p, or None
        The variables, for remarks.
    """

    sampler: Sampler
    refit: Refit
    op: Operator
    seed: int
    n_jobs: int = 1
    sampling_text: str = ""
    notice: str = ""
    names: pd.Index | None = None

    def aligned(self, V: np.ndarray) -> Aligned:
        """Return the loadings of a draw, shape (p, k), matched with those of the fit."""
        return align(V, self.refit.V, self.op, self.refit.kinds)

    def remarks(self, constant: Sequence[np.ndarray], unit: str) -> str:
        """Return the remarks on the rows; `constant` lists the places of constant columns by sample."""
        names = pd.RangeIndex(self.op.p) if self.names is None else self.names
        return joined_remarks(self.notice, constant_remark(constant, unit, names))


def joined_remarks(*remarks: str) -> str:
    """Join remarks that are not empty into one text."""
    return " ".join(remark for remark in remarks if remark)


@dataclass(frozen=True, eq=False)
class SampleFits(ABC):
    """The job of fitting the samples with given numbers, which is sent to other processes."""

    resampling: Resampling

    @abstractmethod
    def samples(self, rng: np.random.Generator, number: int) -> list[Operator]:
        """Return the samples that belong to the given number."""

    @abstractmethod
    def stored_parts(self, sample: Operator, aligned: Aligned) -> tuple[np.ndarray, ...]:
        """Return the parts of the fit of a sample that should be stored."""

    def __call__(self, numbers: Sequence[int]) -> list[tuple[list[Any], int, list[np.ndarray]]]:
        """Return the stored parts of fits, the number of failed samples, and places of constant columns.

        The list has one element for each of `numbers`; the places are given for each sample.
        """
        draws = [
            attempted(partial(self._operators_and_starts, draw_generator(self.resampling.seed, i), i))
            for i in numbers
        ]
        ops, starts = zip(*(sample for samples, _ in draws for sample in samples), strict=True)
        fits = zip(ops, self.resampling.refit.fitted_loadings(ops, starts), strict=True)
        parts = (self.stored_parts(op, self.resampling.aligned(V)) for op, V in fits)
        still = (constant_in(op, self.resampling.op) for op in ops)
        return [
            (list(islice(parts, len(samples))), redrawn_count, list(islice(still, len(samples))))
            for samples, redrawn_count in draws
        ]

    def _operators_and_starts(
        self, rng: np.random.Generator, number: int
    ) -> list[tuple[Operator, Sequence[np.ndarray]]]:
        return [(op, self.resampling.refit.draw_starts(op, rng)) for op in self.samples(rng, number)]

    def run(self, n: int, stage: str, unit: str = "draws", first_number: int = 0) -> Finished:
        """Fit samples `first_number`, ..., n - 1."""
        return run_jobs(
            self,
            n,
            n_jobs=self.resampling.n_jobs,
            what=stage,
            unit=unit,
            together=self.resampling.refit.batch_size or 1,
            first=first_number,
        )


def by_place(
    reference: np.ndarray, places: Sequence[np.ndarray], values: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places where `reference` or a fit is nonzero, shape (m,), and the values of the fits there.

    Parameters
    ----------
    reference : ndarray of shape (p, k)
        Loadings of the original fit.
    places, values : sequences of ndarray
        Places of the nonzero loadings of each fit in the flattened V.T, and the values of these loadings.
    """
    all_places = np.unique(np.concatenate([np.flatnonzero(reference.T), *places]))
    table = np.zeros((len(places), len(all_places)), dtype=values[0].dtype)
    for row, at, value in zip(table, places, values, strict=True):
        row[np.searchsorted(all_places, at)] = value
    return all_places, table


# --- bootstrap -----------------------------------------------------------------------------------


class _BootstrapJob(SampleFits):
    def samples(self, rng: np.random.Generator, number: int) -> list[Operator]:
        return [self.resampling.sampler.of_draw(number).bootstrap(rng)]

    def stored_parts(self, sample: Operator, aligned: Aligned) -> tuple[np.ndarray, ...]:
        V, k = aligned.V, aligned.V.shape[1]
        places = np.flatnonzero(V.T)
        products = np.diag(sample.products(np.hstack([V, self.resampling.refit.V]))) * sample.unit**2
        variances, of_fit = products[:k], products[k:]
        op = self.resampling.op
        on_fit_rows = np.diag(op.products(V)) * op.unit**2
        values = V.T.ravel()[places]
        return places, values, variances, on_fit_rows, aligned.similarity, of_fit, aligned.order


def _bootstrap_draws(resampling: Resampling, n: int) -> list[Any]:
    """Return the results of n draws; the fits of the first draws are starts for the others."""
    job, refit = _BootstrapJob(resampling), resampling.refit
    if not refit.learns or n < 2 * SAMPLES.first_draws:
        return job.run(n, "bootstrap").results
    first_draws = job.run(SAMPLES.first_draws, "first draws")
    if first_draws.interrupted:
        return first_draws.results
    fits = [refit.V]
    for (draw,), _, _ in first_draws.results:
        places, values, *_, order = draw
        V = np.zeros(refit.V.T.shape)
        V.ravel()[places] = values
        fits.append(V[np.argsort(order)].T)  # each component in the place that has its cardinality
    distinct_fits = {(V != 0).tobytes(): V for V in fits}
    other_resampling = replace(resampling, refit=replace(refit, known_fits=list(distinct_fits.values())))
    try:
        other_draws = _BootstrapJob(other_resampling).run(n, "bootstrap", first_number=SAMPLES.first_draws)
        return [*first_draws.results, *other_draws.results]
    except KeyboardInterrupt:
        return first_draws.results


def bootstrap(resampling: Resampling, n: int) -> Bootstrapped:
    """Draw rows with replacement, fit each draw and align it with the fit.

    Parameters
    ----------
    resampling : Resampling
    n : int
        Number of draws.

    Returns
    -------
    Bootstrapped
        If interrupted by Ctrl-C, the result covers the completed draws.
    """
    refit = resampling.refit
    searched = refit.batch_size is not None and not refit.fixed
    draws, redrawn_counts, constant = zip(*_bootstrap_draws(resampling, n), strict=True)
    places, values, *parts, _ = zip(*(draw for (draw,) in draws), strict=True)
    variances, on_fit_rows, similarity, of_fit = map(np.array, parts)
    return Bootstrapped(
        *by_place(resampling.refit.V, places, values),
        variances,
        on_fit_rows,
        similarity,
        select=not resampling.refit.fixed,
        asked=n,
        again=sum(redrawn_counts),
        normal=resampling.sampler.normal,
        of_fit=of_fit,
        drawn=resampling.sampling_text,
        notice=resampling.remarks(list(chain(*constant)), "draws"),
        search=refit.starts if searched else "",
    )


# --- stability selection -------------------------------------------------------------------------


class _Halves(SampleFits):
    def samples(self, rng: np.random.Generator, number: int) -> list[Operator]:
        return [half.all_rows() for half in self.resampling.sampler.halves(rng)]

    def stored_parts(self, sample: Operator, aligned: Aligned) -> tuple[np.ndarray, ...]:
        places = np.flatnonzero(aligned.V.T)
        return places, np.ones(len(places), dtype=bool), aligned.similarity


def stability(resampling: Resampling, n_pairs: int, *, threshold: float, groups: float) -> HalfSamples:
    """Repeatedly split the rows at random, fit both halves, and align them with the fit.

    Parameters
    ----------
    resampling : Resampling
    n_pairs : int
        Number of splits.
    threshold : float in (0.5, 1]
        Selection frequency above which a loading is stable.
    groups : float in (0, 1]
        Smallest absolute correlation of two variables in a group.
    """
    refit, op = resampling.refit, resampling.op
    finished = _Halves(resampling).run(n_pairs, "complementary halves", "pairs")
    pairs, redrawn_counts, constant = zip(*finished.results, strict=True)
    places_of_fits, marks, similarity = zip(*(half for pair in pairs for half in pair), strict=True)
    places, selections = by_place(refit.V, places_of_fits, marks)
    met = np.unique(places % op.p)
    correlation = _correlations(op, met)
    labels = np.arange(op.p)
    labels[met] = met[_clusters(correlation, groups)]
    return HalfSamples(
        places=places,
        chosen=selections,
        similarity=np.array(similarity),
        clusters=labels,
        associates=_associates(refit.V, places, selections, met, correlation),
        threshold=threshold,
        groups=groups,
        asked=n_pairs,
        again=sum(redrawn_counts),
        normal=resampling.sampler.normal,
        drawn=resampling.sampling_text,
        notice=resampling.remarks(list(chain(*constant)), "halves"),
    )


def _correlations(op: Operator, J: np.ndarray) -> np.ndarray:
    """Return the correlations of the variables J; zero for variables that do not vary."""
    S = op.block(J)
    sd = np.sqrt(np.diag(S).clip(min=0.0))
    sizes = np.outer(sd, sd)
    return np.divide(S, sizes, out=np.zeros_like(S), where=sizes > 0).clip(-1.0, 1.0)


def _clusters(correlation: np.ndarray, groups: float) -> np.ndarray:
    """Return the first variable in the cluster of each variable, shape (m,).

    Any two variables in a cluster have an absolute correlation of at least `groups`.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    m = len(correlation)
    if m < 2:
        return np.arange(m)
    distance = 1.0 - np.abs(symmetric(correlation))
    np.fill_diagonal(distance, 0.0)
    labels = fcluster(linkage(squareform(distance), "complete"), 1.0 - groups + 1e-12, "distance")
    first_members: dict[int, int] = {}
    for position, label in enumerate(labels.tolist()):
        first_members.setdefault(label, position)
    return np.array([first_members[label] for label in labels.tolist()])


def _associates(
    V: np.ndarray, places: np.ndarray, selections: np.ndarray, met: np.ndarray, correlation: np.ndarray
) -> np.ndarray:
    """Return a row for each substitute: component, selected variable, substitute, their correlation."""
    p, k = V.shape
    substitutes = []
    for component in range(k):
        places_of_component = np.flatnonzero(places // p == component)
        variables = places[places_of_component] % p
        selections_of_component = selections[:, places_of_component]
        selected = V[variables, component] != 0
        for a in np.flatnonzero(selected):
            without = ~selections_of_component[:, a]
            if without.sum() < SAMPLES.least_left_out:
                continue
            otherwise = (
                selections_of_component[~without].mean(axis=0)
                if (~without).any()
                else np.zeros(len(places_of_component))
            )
            instead = selections_of_component[without].mean(axis=0)
            is_frequent = instead >= SAMPLES.least_share
            is_more_frequent = instead >= otherwise + SAMPLES.least_excess
            for b in np.flatnonzero(~selected & is_frequent & is_more_frequent):
                r = correlation[np.searchsorted(met, variables[a]), np.searchsorted(met, variables[b])]
                substitutes.append((component, variables[a], variables[b], r))
    return np.array(substitutes, dtype=float).reshape(-1, 4)


# --- sparse loadings ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LoadingDraws:
    """The job of fitting sparse loadings to draws with given numbers.

    Attributes
    ----------
    sampler : Sampler
    op : Operator
        The data of the fit, on which scores are compared.
    P, W : ndarray of shape (p, k)
        Loadings and weights of the fit, in the unit of `op`.
    nonzeros : Nonzeros
    select : bool
        Whether variables are selected again.
    seed : int
    names : pandas.Index of length p
    """

    sampler: Sampler
    op: Operator
    P: np.ndarray
    W: np.ndarray
    nonzeros: Nonzeros
    select: bool
    seed: int
    names: pd.Index

    @classmethod
    def of(cls, state: FitState, sampler: Sampler, op: Operator, select: bool, seed: int) -> LoadingDraws:
        """Return the job for a fit, with the same numbers of nonzeros; `op` contains the data of the fit."""
        P = with_loadings(state).V
        card = tuple(np.count_nonzero(P, axis=0).tolist())
        has_card = state.record.options.get("card") is not None
        nonzeros = Nonzeros(card=card) if has_card else Nonzeros(total=sum(card))
        names = state.spec.columns
        return cls(sampler, op, P / op.unit, state.V * op.unit, nonzeros, select, seed, names)

    def __call__(self, number: int) -> tuple[tuple[np.ndarray, ...], int]:
        """Return the results for a draw, and the number of samples that failed before it.

        The results are the loadings, their variances, the similarity and the constant columns.
        """
        return attempted(partial(self._fitted, number, draw_generator(self.seed, number)))

    def _fitted(self, number: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        draw = with_matrix(self.sampler.of_draw(number).bootstrap(rng))
        leading_components(draw, self.P.shape[1])  # raises for a rank below the number of components
        pattern = (
            nearby_pattern(draw, self.P, self.nonzeros) if self.select else best_on_support(draw, self.P)
        )
        return *self._aligned(pattern, draw.unit), constant_in(draw, self.op)

    def _aligned(self, pattern: Pattern, unit: float) -> tuple[np.ndarray, ...]:
        """Return places, values, variances on the draw and on the fit's rows, and similarity."""
        aligned = align(pattern.W, self.W, self.op, self.nonzeros.card)
        signs = np.where((aligned.V * pattern.W[:, aligned.order]).sum(axis=0) < 0, -1.0, 1.0)
        P = pattern.P[:, aligned.order] * signs * unit
        A = self.op.dot(aligned.V)
        sizes = np.sqrt(np.einsum("ij,ij->j", aligned.V, A))
        on_fit_rows = ((A * (P != 0)) ** 2).sum(axis=0) / sizes**2 * self.op.unit**2
        places = np.flatnonzero(P.T)
        return places, P.T.ravel()[places], (P**2).sum(axis=0), on_fit_rows, aligned.similarity


def bootstrap_loadings(
    draws: LoadingDraws, n: int, n_jobs: int, sampling_text: str, notice: str
) -> Bootstrapped:
    """Draw rows with replacement, fit sparse loadings to each draw and align them with the fit.

    Parameters
    ----------
    draws : LoadingDraws
    n, n_jobs : int
    sampling_text, notice : str
        Values of `drawn` and `notice` in :class:`spcastat.fit.record.Bootstrapped`.

    Returns
    -------
    Bootstrapped
        Its variances are sums of squared loadings. If interrupted by Ctrl-C, the result covers the completed
        draws.
    """
    finished = run_jobs(draws, n, n_jobs=n_jobs, what="bootstrap")
    fits, redrawn_counts = zip(*finished.results, strict=True)
    places, values, variances, on_fit_rows, similarity, constant = zip(*fits, strict=True)
    return Bootstrapped(
        *by_place(draws.P, places, values),
        np.array(variances),
        np.array(on_fit_rows),
        np.array(similarity),
        select=draws.select,
        asked=n,
        again=sum(redrawn_counts),
        normal=draws.sampler.normal,
        drawn=sampling_text,
        notice=joined_remarks(notice, constant_remark(constant, "draws", draws.names)),
    )


# --- imputations ----------------------------------------------------------------------------------


def with_imputations(draws: Bootstrapped, resampling: Resampling, search: str) -> Bootstrapped:
    """Return a bootstrap with the fits of the imputations.

    Parameters
    ----------
    draws : Bootstrapped
        Draw b is from imputation b modulo the number of imputations.
    resampling : Resampling
    search : {"near", "quick"}
        The search by which each imputation selects variables.
    """
    ops = [part.all_rows() for part in resampling.sampler.imputations]
    selecting = _loadings(resampling, replace(resampling.refit, fixed=False, starts=search), ops)
    estimates = _loadings(resampling, resampling.refit, ops) if resampling.refit.fixed else selecting
    places = np.union1d(draws.places, np.flatnonzero((selecting != 0).any(axis=0)))
    values = np.zeros((len(draws.values), len(places)))
    values[:, np.searchsorted(places, draws.places)] = draws.values
    V = resampling.refit.V
    return replace(
        draws,
        places=places,
        values=values,
        imputed=estimates[:, places],
        imputed_variances=np.array([np.diag(op.products(V)) * op.unit**2 for op in ops]),
        imputation_share=(selecting[:, places] != 0).mean(axis=0),
        rows=resampling.sampler.independent,
    )


def _loadings(resampling: Resampling, refit: Refit, ops: Sequence[Operator]) -> np.ndarray:
    """Return the loadings of the imputations, matched with the fit and flattened, shape (M, p k).

    All searches have the same random starts, so that equal imputations have equal fits.
    """
    starts = [refit.draw_starts(op, draw_generator(resampling.seed, 0)) for op in ops]
    return np.array([resampling.aligned(V).V.T.ravel() for V in refit.fitted_loadings(ops, starts)])
