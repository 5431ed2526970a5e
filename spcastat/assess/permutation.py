"""Permutation tests of variables against components, and of equal components in groups of rows.

**Variables and components.** Each variable is tested against components computed from the other variables.
The statistic is studentised, because a permutation test of a plain correlation also rejects if variable and
score are uncorrelated but large in the same rows, as with heavy-tailed rows: DiCiccio and Romano (2017),
"Robust permutation tests for correlation and regression coefficients", JASA 112.

Dependent rows are kept together. Whole clusters (or blocks of rows in time) are permuted if all have the same
number of rows. If not, signs of the clusters' contributions to the statistic are drawn: Canay, Romano and
Shaikh (2017), "Randomization tests under an approximate symmetry assumption", Econometrica 85.

**Groups of rows.** In group g, with rows centred at the mean of the group and scores t = x'w of common
components, the slope of variable i on component j is b = cov(x_i, t_j) / var(t_j). Unlike correlations and
loadings, slopes do not change if only the variance of a component differs. The statistic of a variable and
a component is sum_g (b_g - b)^2 / v_g, where v_g is the heteroscedasticity-consistent variance of b_g (HC0;
with clusters, computed from sums over clusters) and b the mean of the b_g with weights 1 / v_g. A variable
that does not vary in a group would have the slope 0 with the variance 0 there: its slope is not estimated in
this group, and the variable is not tested.

Labels of centred rows, or of whole clusters, are permuted. The statistic is studentised, so that groups may
differ in variance and size: Janssen (1997), "Studentized permutation tests for non-i.i.d. hypotheses",
Statistics and Probability Letters 36; Chung and Romano (2013), "Exact and asymptotically robust permutation
tests", Annals of Statistics 41. P-values are adjusted for all variables and components by the step-down
maximum: Westfall and Young (1993), "Resampling-based multiple testing".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spcastat.arguments import draw_generator
from spcastat.assess.samples import Refit, Resampling, align
from spcastat.fit.record import Tested
from spcastat.inputs.noise import rotated
from spcastat.inputs.row_groups import RowGroups
from spcastat.inputs.samplers import RowSampler
from spcastat.linalg.accumulate import is_sparse
from spcastat.linalg.eigenvectors import HALF_DIGITS, RELATIVE, SUM_ROUNDING
from spcastat.linalg.standardisation import CONSTANT
from spcastat.progress import run_jobs


@dataclass(frozen=True, eq=False)
class _UnitScores:
    """Unit-length scores of a fit, and the variables that are tested against them.

    Attributes
    ----------
    variables : ndarray of int, shape (q,)
        The variables to test. The fit does not contain them.
    T : ndarray of shape (n, k)
        Scores, with the other scores partialled out of each, so that a variable is tested for its association
        with one component given the others.
    """

    variables: np.ndarray
    T: np.ndarray


@dataclass(frozen=True, eq=False)
class _PermutationJob:
    """The job of comparing the statistics after one permutation of the rows with the observed statistics."""

    X: np.ndarray
    squares: np.ndarray
    scores: list[_UnitScores]
    groups: RowGroups
    thresholds: np.ndarray
    seed: int

    def __call__(self, number: int) -> np.ndarray:
        order = self.groups.permutation(draw_generator(self.seed, number + 1))
        if self.groups.count == len(self.X):
            statistics = _studentised(self.X, self.squares, self.scores, order)
        else:
            statistics = _by_group(_contributions(self.X, self.scores, self.groups, order))
        return np.abs(statistics) >= self.thresholds


@dataclass(frozen=True, eq=False)
class _Signs:
    """The job of comparing the statistics after drawing the signs of the clusters' contributions.

    Attributes
    ----------
    parts : ndarray of shape (G, p, k)
    """

    parts: np.ndarray
    thresholds: np.ndarray
    seed: int

    def __call__(self, number: int) -> np.ndarray:
        signs = 1.0 - 2.0 * draw_generator(self.seed, number + 1).integers(0, 2, size=len(self.parts))
        return np.abs(_by_group(self.parts, signs)) >= self.thresholds


@dataclass(frozen=True, eq=False)
class _OmissionJob:
    """The job of fitting without one selected variable, for several selected variables in turn."""

    resampling: Resampling
    selected: np.ndarray

    def __call__(self, numbers: Sequence[int]) -> list[np.ndarray]:
        refit, op = self.resampling.refit, self.resampling.op
        all_rows, all_columns = self.resampling.sampler.all_rows(), np.arange(op.p)
        plan = replace(refit.plan, solver=_narrower(refit, op.p - 1))
        narrow = replace(refit, plan=plan, starts="alone")
        ops, starts = [], []
        for variable in self.selected[numbers]:
            ops.append(all_rows.take(np.delete(all_columns, variable)))
            starts.append(narrow.draw_starts(ops[-1], draw_generator(self.resampling.seed, 0)))
        aligned = []
        for variable, loadings in zip(
            self.selected[numbers], narrow.fitted_loadings(ops, starts), strict=True
        ):
            W, reference = np.zeros(refit.V.shape), refit.V.copy()
            W[all_columns != variable], reference[variable] = loadings, 0.0
            aligned.append(align(W, reference, op).V)
        return aligned


def permutation_test(resampling: Resampling, n: int, *, fdr: str) -> Tested:
    """Test every variable against the score of every component computed from the other variables.

    Parameters
    ----------
    resampling : Resampling
        A resampling whose sampler has rows in memory.
    n : int
        Number of permutations.
    fdr : {"fdr_bh", "fdr_by"}
        How p-values are adjusted, as in ``statsmodels.stats.multitest.multipletests``.

    Notes
    -----
    A variable that the fit selected is tested against a fit without it, so that its own selection does not
    count as evidence. That fit starts from PCA of the other variables; if it started from the loadings of the
    original fit, it would keep variables that were selected for their association with the variable left out.
    Variables that were not selected are tested against the original fit, which does not contain them.
    """
    from statsmodels.stats.multitest import multipletests

    refit, n_jobs = resampling.refit, resampling.n_jobs
    assert isinstance(resampling.sampler, RowSampler)
    groups = resampling.sampler.groups
    Y = _rows(resampling.sampler)
    if len(Y) < len(groups.rows):  # rotated residuals, which are exchangeable one by one
        rows = np.arange(len(Y))
        groups = RowGroups(rows, rows, np.zeros(len(Y), dtype=int), rows)
    X = Y - Y.mean(axis=0)
    size = np.linalg.norm(X, axis=0)
    still = size <= CONSTANT * np.sqrt(len(X)) * np.abs(Y).max(axis=0)  # constant columns become zero
    X = np.where(still, 0.0, X / np.where(still, 1.0, size))
    p, k = refit.V.shape
    selected = refit.V.any(axis=1)
    scores = [_UnitScores(np.flatnonzero(~selected), _free(Y @ refit.V))]
    work, at_once = _OmissionJob(resampling, np.flatnonzero(selected)), refit.batch_size or 1
    label = "fits without a variable"
    omissions = run_jobs(work, len(work.selected), n_jobs=n_jobs, what=label, unit="fits", together=at_once)
    if omissions.interrupted:
        raise KeyboardInterrupt
    scores += [
        _UnitScores(np.array([j]), _free(Y @ W))
        for j, W in zip(work.selected, omissions.results, strict=True)
    ]
    given_order, squares = np.arange(len(X)), X**2
    correlation = _against(X, scores, given_order)
    if groups.count == len(X):
        observed = _studentised(X, squares, scores, given_order)
    else:
        parts = _contributions(X, scores, groups, given_order)
        observed = _by_group(parts)
    # statistics that differ by less than 1e-10 count as equal: the order of summation affects rounding
    thresholds = np.abs(observed) - 1e-10
    if groups.exchangeable:
        permuted: _PermutationJob | _Signs = _PermutationJob(
            X, squares, scores, groups, thresholds, resampling.seed
        )
    else:
        permuted = _Signs(parts, thresholds, resampling.seed)
    finished = run_jobs(permuted, n, n_jobs=n_jobs, what="permutations", unit="permutations")
    p_value = (1.0 + sum(finished.results)) / (len(finished.results) + 1.0)
    p_value[still] = correlation[still] = np.nan
    q_value = np.full((p, k), np.nan)
    if not still.all():
        q_value[~still] = multipletests(p_value[~still].ravel(), method=fdr)[1].reshape(-1, k)
    signs = not groups.exchangeable
    draw_count = len(finished.results)
    return Tested(
        correlation, p_value, q_value, draw_count, n, fdr, signs, resampling.sampling_text, resampling.notice
    )


def _rows(sampler: RowSampler) -> np.ndarray:
    """Return the row of each sampling unit, centred and scaled as in the fit, shape (n, p)."""
    groups, standard = sampler.groups, sampler.standard
    rows = sampler.matrix.tocsr() if is_sparse(sampler.matrix) else sampler.matrix
    rows = rows[groups.rows]
    Y = ((rows.toarray() if is_sparse(rows) else rows) - standard.mean) / standard.scale
    if sampler.covariates is None or groups.count < len(groups.rows):  # rotation would mix clusters
        return np.asarray(Y)
    return rotated(Y, sampler.covariates[groups.rows], None)[0]


def _free(T: np.ndarray) -> np.ndarray:
    """Return each score with the others partialled out, at unit length; zero for dependent scores."""
    T = T - T.mean(axis=0)
    size = np.linalg.norm(T, axis=0)
    T = T / np.where(size > 0, size, 1.0)
    out = np.empty_like(T)
    for c in range(T.shape[1]):
        other_scores = np.delete(T, c, axis=1)
        out[:, c] = T[:, c] - other_scores @ np.linalg.lstsq(other_scores, T[:, c], rcond=HALF_DIGITS)[0]
    size = np.linalg.norm(out, axis=0)
    return np.where(size > HALF_DIGITS, out / np.where(size > 0, size, 1.0), 0.0)


def _against(X: np.ndarray, scores: list[_UnitScores], order: np.ndarray) -> np.ndarray:
    """Return the correlations, shape (p, k), of the variables with the scores in a permuted order."""
    correlations = np.zeros((X.shape[1], scores[0].T.shape[1]))
    for unit_scores in scores:
        correlations[unit_scores.variables] = X[:, unit_scores.variables].T @ unit_scores.T[order]
    return correlations


def _studentised(
    X: np.ndarray, squares: np.ndarray, scores: list[_UnitScores], order: np.ndarray
) -> np.ndarray:
    """Return the statistics, shape (p, k), of the variables and the scores in a permuted order.

    With the products m_i = x_i t_i of a variable and a score, the statistic is sum(m) / sqrt(sum(m^2)), a
    number in [-sqrt(n), sqrt(n)]. It increases with mean(m) / sd(m), which is infinite if all products are
    equal.

    Parameters
    ----------
    X, squares : ndarray of shape (n, p)
        Centred variables and their squares.
    """
    statistics = np.zeros((X.shape[1], scores[0].T.shape[1]))
    for unit_scores in scores:
        T = unit_scores.T[order]
        sums = X[:, unit_scores.variables].T @ T
        sizes = np.sqrt(squares[:, unit_scores.variables].T @ T**2)
        statistics[unit_scores.variables] = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
    return statistics


def _contributions(
    X: np.ndarray, scores: list[_UnitScores], groups: RowGroups, order: np.ndarray
) -> np.ndarray:
    """Return the sums over each group of the products of variables and permuted scores, shape (G, p, k)."""
    k = scores[0].T.shape[1]
    contributions, starts = np.zeros((groups.count, X.shape[1], k)), groups.starts
    for unit_scores in scores:
        T = unit_scores.T[order]
        for c in range(k):
            products = X[:, unit_scores.variables] * T[:, c : c + 1]
            contributions[:, unit_scores.variables, c] = np.add.reduceat(products, starts, axis=0)
    return contributions


def _by_group(parts: np.ndarray, signs: np.ndarray | None = None) -> np.ndarray:
    """Return the statistics, shape (p, k), for contributions m of groups: sum(m) / sqrt(sum(m^2))."""
    sums = parts.sum(axis=0) if signs is None else np.tensordot(signs, parts, axes=1)
    sizes = np.sqrt((parts**2).sum(axis=0))
    return np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)


def _narrower(refit: Refit, p: int) -> Any:
    """Return the solver with cardinalities of at most `p`, those of the fit if it searches for them."""
    solver: Any = refit.plan.solver
    card = getattr(solver, "card", None)
    if card is None and refit.batch_size is not None:
        card = tuple(max(1, int(count)) for count in np.count_nonzero(refit.V, axis=0))
        solver = replace(solver, variance=None, promise=None)
    return solver if card is None else replace(solver, card=tuple(min(count, p) for count in card))


#: Statistics whose relative difference is below this are equal: the order of summation affects rounding.
EQUAL_STATISTICS = 1e-9


@dataclass(frozen=True, eq=False)
class GroupSlopes:
    """Slopes of the groups, and the p-values of their differences.

    Attributes
    ----------
    slopes, variances : ndarray of shape (G, p, k)
        Slopes and their variances; NaN for a variable in a group in which it does not vary.
    p_value : float
        P-value for all variables and components together.
    by_component : ndarray of shape (k,)
        P-values for all variables of a component, not adjusted for the number of components.
    adjusted : ndarray of shape (p, k)
        P-values adjusted for all variables and components; NaN for a variable that is a multiple of the
        scores, or does not vary in a group.
    draws, asked : int
        Number of permutations made and requested.
    """

    slopes: np.ndarray
    variances: np.ndarray
    p_value: float
    by_component: np.ndarray
    adjusted: np.ndarray
    draws: int
    asked: int


def centred(X: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Return rows, shape (n, p), minus the means of their groups; `code` has groups 0, ..., G - 1."""
    member = code[:, None] == np.arange(code.max() + 1)
    means = member.T.astype(float) @ X / member.sum(axis=0)[:, None]
    return np.asarray(X - means[code])


def slopes_of(
    Z: np.ndarray, W: np.ndarray, code: np.ndarray, unit: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of each group and their variances, both of shape (G, p, k).

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Rows, centred in each group.
    W : ndarray of shape (p, k)
    code : ndarray of int, shape (n,)
        The group of each row.
    unit : ndarray of int, shape (n,), optional
        The cluster of each row; by default each row is a cluster.
    """
    T, groups = Z @ W, int(code.max()) + 1
    b = np.empty((groups, *W.shape))
    v = np.empty_like(b)
    floor = SUM_ROUNDING * np.square(Z).sum(axis=0)[:, None] / np.square(T).sum(axis=0) / len(Z)
    for g in range(groups):
        in_group = code == g
        z, t = Z[in_group], T[in_group]
        squares = np.maximum(np.square(t).sum(axis=0), np.finfo(float).tiny)
        b[g] = z.T @ t / squares
        if unit is None:
            # sum t^2 (x - b t)^2 = sum x^2 t^2 - 2 b sum x t^3 + b^2 sum t^4
            t2 = t * t
            moments = (z * z).T @ t2, z.T @ (t2 * t), (t2 * t2).sum(axis=0)
        else:
            _, place = np.unique(unit[in_group], return_inverse=True)
            product_sums = np.zeros((place.max() + 1, *W.shape))
            np.add.at(product_sums, place, z[:, :, None] * t[:, None, :])
            square_sums = np.zeros((place.max() + 1, W.shape[1]))
            np.add.at(square_sums, place, t * t)
            moments = (
                (product_sums**2).sum(axis=0),
                np.einsum("cpk,ck->pk", product_sums, square_sums),
                (square_sums**2).sum(axis=0),
            )
        v[g] = (moments[0] - 2.0 * b[g] * moments[1] + b[g] ** 2 * moments[2]) / squares**2
    return b, np.maximum(v, floor)


def differences(b: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the statistic of every variable and component, shape (p, k)."""
    weights = 1.0 / v
    mean = (weights * b).sum(axis=0) / weights.sum(axis=0)
    return np.asarray((weights * (b - mean) ** 2).sum(axis=0))


@dataclass(frozen=True, eq=False)
class _Permuted:
    """The job of computing the statistics after a permutation of the labels."""

    Z: np.ndarray
    W: np.ndarray
    code: np.ndarray
    unit: np.ndarray | None
    seed: int

    def __call__(self, number: int) -> np.ndarray:
        rng = draw_generator(self.seed, number)
        if self.unit is None:
            code = rng.permutation(self.code)
        else:
            first_rows = np.unique(self.unit, return_index=True)[1]
            code = rng.permutation(self.code[first_rows])[self.unit]
        return differences(*slopes_of(centred(self.Z, code), self.W, code, self.unit))


def compare(
    Z: np.ndarray,
    W: np.ndarray,
    code: np.ndarray,
    n_draws: int,
    *,
    unit: np.ndarray | None = None,
    still: np.ndarray | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> GroupSlopes:
    """Test by permutations whether the slopes of groups are equal.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Rows, centred in each group.
    W : ndarray of shape (p, k)
        Common loadings.
    code : ndarray of int, shape (n,)
        The group of each row, 0, ..., G - 1.
    n_draws : int
    unit : ndarray of int, shape (n,), optional
        The cluster of each row, 0, 1, ...; each cluster lies in one group.
    still : ndarray of bool, shape (G, p), optional
        Whether each variable is constant in each group. It has no slope there, and is not tested.
    seed, n_jobs : int
    """
    b, v = slopes_of(Z, W, code, unit)
    testable = ~_determined(Z, W)
    v[:, ~testable] = 0.0
    if still is not None:
        b[still] = v[still] = np.nan
        testable &= np.all(~still, axis=0)[:, None]
    observed = np.full(W.shape, np.nan)
    observed[testable] = differences(b[:, testable], v[:, testable])
    work = _Permuted(Z, W, code, unit, seed)
    finished = run_jobs(work, n_draws, n_jobs=n_jobs, what="permutations", unit="permutations")
    null = np.array(finished.results)
    draws, adjusted = len(null), np.full(W.shape, np.nan)
    if testable.any():
        adjusted[testable] = step_down(observed[testable] * (1.0 - EQUAL_STATISTICS), null[:, testable])
    by_component = np.array(
        [_largest(observed[:, j : j + 1], null[:, :, j : j + 1]) for j in range(W.shape[1])]
    )
    return GroupSlopes(b, v, _largest(observed, null), by_component, adjusted, draws, n_draws)


def _determined(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Mark the variables that are multiples of a component's scores, shape (p, k).

    The slopes of such a variable are equal in all groups by definition, as for the only variable of a
    component, and differences between them are rounding errors without variance.
    """
    T, sizes = Z @ W, np.linalg.norm(Z, axis=0)
    marks = np.empty(W.shape, dtype=bool)
    for j, t in enumerate(T.T):
        residual = Z - np.outer(t, (t @ Z) / (t @ t))
        marks[:, j] = np.linalg.norm(residual, axis=0) <= RELATIVE * sizes
    return marks


def _largest(observed: np.ndarray, null: np.ndarray) -> float:
    """Return the p-value of the largest statistic that is not NaN; NaN if all statistics are NaN."""
    testable = ~np.isnan(observed)
    if not testable.any():
        return float("nan")
    threshold = observed[testable].max() * (1.0 - EQUAL_STATISTICS)
    return float((1.0 + (null[:, testable].max(axis=1) >= threshold).sum()) / (len(null) + 1.0))


def step_down(observed: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Return p-values adjusted by the step-down maximum, in the shape of `observed`.

    Parameters
    ----------
    observed : ndarray
    null : ndarray of shape (B, *observed.shape)
    """
    order = np.argsort(-observed.ravel(), kind="stable")
    values = null.reshape(len(null), -1)[:, order]
    tails = np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    p = (1.0 + (tails >= observed.ravel()[order]).sum(axis=0)) / (len(null) + 1.0)
    adjusted = np.empty(observed.size)
    adjusted[order] = np.maximum.accumulate(p)
    return adjusted.reshape(observed.shape)


def own_directions(Z: np.ndarray, W: np.ndarray, code: np.ndarray) -> list[list[tuple[float, float, float]]]:
    """Return the variance in the group, congruence and share kept for each group and component.

    The congruence is the absolute inner product of the loadings w with the group's first eigenvector on the
    same variables. The share kept is the variance of the score divided by the first eigenvalue. Variances
    have the divisor n - 1.
    """
    directions = []
    for g in range(int(code.max()) + 1):
        z = Z[code == g]
        rows = []
        for w in W.T:
            T = np.flatnonzero(w)
            S = z[:, T].T @ z[:, T] / (len(z) - 1)
            values, vectors = np.linalg.eigh(S)
            variance = float(w[T] @ S @ w[T])
            share = variance / float(values[-1]) if values[-1] > 0 else np.nan
            rows.append((variance, float(abs(vectors[:, -1] @ w[T])), share))
        directions.append(rows)
    return directions
