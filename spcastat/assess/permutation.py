"""Permutation tests of the association of variables with components computed from the other variables.

The statistic is studentised. A permutation test of a plain correlation also rejects if variable and score are
uncorrelated but large in the same rows, as with heavy-tailed rows: DiCiccio and Romano (2017), "Robust
permutation tests for correlation and regression coefficients", JASA 112.

Rows that belong together stay together. Whole clusters (or blocks of rows in time) are permuted if all have
equally many rows. If not, signs of the clusters' contributions to the statistic are drawn: Canay, Romano and
Shaikh (2017), "Randomization tests under an approximate symmetry assumption", Econometrica 85.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spcastat.assess.draws import RowSampler, draw_generator, run_jobs
from spcastat.assess.refit import Refit, align
from spcastat.assess.row_groups import RowGroups
from spcastat.assess.samples import Resampling
from spcastat.fit.record import Tested
from spcastat.linalg.regression import rotated
from spcastat.linalg.standardisation import CONSTANT
from spcastat.linalg.ties import is_sparse

#: A score depends on the other scores if these leave less than this share of its length.
DEPENDENT = 1e-8


@dataclass(frozen=True, eq=False)
class _Scores:
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
class _Work:
    """The job of comparing the statistics after one permutation of the rows with those observed."""

    X: np.ndarray
    squares: np.ndarray
    scores: list[_Scores]
    groups: RowGroups
    least: np.ndarray
    seed: int

    def __call__(self, number: int) -> np.ndarray:
        order = self.groups.permutation(draw_generator(self.seed, number + 1))
        if self.groups.count == len(self.X):
            found = _studentised(self.X, self.squares, self.scores, order)
        else:
            found = _by_group(_contributions(self.X, self.scores, self.groups, order))
        return np.abs(found) >= self.least


@dataclass(frozen=True, eq=False)
class _Signs:
    """The job of comparing the statistics after drawing the signs of the clusters' contributions.

    Attributes
    ----------
    parts : ndarray of shape (G, p, k)
    """

    parts: np.ndarray
    least: np.ndarray
    seed: int

    def __call__(self, number: int) -> np.ndarray:
        signs = 1.0 - 2.0 * draw_generator(self.seed, number + 1).integers(0, 2, size=len(self.parts))
        return np.abs(_by_group(self.parts, signs)) >= self.least


@dataclass(frozen=True, eq=False)
class _Left:
    """The job of fitting without one selected variable, for each of several selected variables."""

    given: Resampling
    selected: np.ndarray

    def __call__(self, numbers: Sequence[int]) -> list[np.ndarray]:
        refit, op = self.given.refit, self.given.op
        whole, every = self.given.sampler.whole(), np.arange(op.p)
        narrow = replace(refit, plan=replace(refit.plan, solver=_narrower(refit, op.p - 1)))
        ops, begun = [], []
        for left in self.selected[numbers]:
            ops.append(whole.take(np.delete(every, left)))
            begun.append(narrow.begun(ops[-1], draw_generator(self.given.seed, 0), own=False))
        aligned = []
        for left, found in zip(self.selected[numbers], narrow.ended(ops, begun), strict=True):
            W, reference = np.zeros(refit.V.shape), refit.V.copy()
            W[every != left], reference[left] = found, 0.0
            aligned.append(align(W, reference, op).V)
        return aligned


def permutation_test(given: Resampling, n: int, *, fdr: str) -> Tested:
    """Test every variable against the score of every component computed from the other variables.

    Parameters
    ----------
    given : Resampling
        Its sampler has rows in memory.
    n : int
        Number of permutations.
    fdr : {"fdr_bh", "fdr_by"}
        As in ``statsmodels.stats.multitest.multipletests``.

    Notes
    -----
    A variable that the fit selected is tested against a fit without it, so that its own selection does not
    count as evidence. That fit starts from PCA of the other variables; from the loadings of the original fit
    it would keep variables that were selected for their association with the one left out. Variables that
    were not selected are tested against the original fit, which does not contain them.
    """
    from statsmodels.stats.multitest import multipletests

    refit, n_jobs = given.refit, given.n_jobs
    assert isinstance(given.sampler, RowSampler)
    groups = given.sampler.groups.of_equal_rows()
    Y = _rows(given.sampler)
    if len(Y) < len(groups.rows):  # rotated residuals, which are exchangeable one by one
        rows = np.arange(len(Y))
        groups = RowGroups(rows, rows, np.zeros(len(Y), dtype=int), rows)
    X = Y - Y.mean(axis=0)
    size = np.linalg.norm(X, axis=0)
    still = size <= CONSTANT * np.sqrt(len(X)) * np.abs(Y).max(axis=0)  # constant columns become zero
    X = np.where(still, 0.0, X / np.where(still, 1.0, size))
    p, k = refit.V.shape
    selected = refit.V.any(axis=1)
    scores = [_Scores(np.flatnonzero(~selected), _free(Y @ refit.V))]
    work, at_once = _Left(given, np.flatnonzero(selected)), refit.together or 1
    what = "fits without a variable"
    left = run_jobs(work, len(work.selected), n_jobs=n_jobs, what=what, unit="fits", together=at_once)
    if left.interrupted:
        raise KeyboardInterrupt
    scores += [_Scores(np.array([j]), _free(Y @ W)) for j, W in zip(work.selected, left.results, strict=True)]
    given_order, squares = np.arange(len(X)), X**2
    correlation = _against(X, scores, given_order)
    if groups.count == len(X):
        observed = _studentised(X, squares, scores, given_order)
    else:
        parts = _contributions(X, scores, groups, given_order)
        observed = _by_group(parts)
    # statistics that differ by less than 1e-10 count as equal: the order of summation affects rounding
    least = np.abs(observed) - 1e-10
    if groups.exchangeable:
        permuted: _Work | _Signs = _Work(X, squares, scores, groups, least, given.seed)
    else:
        permuted = _Signs(parts, least, given.seed)
    finished = run_jobs(permuted, n, n_jobs=n_jobs, what="permutations", unit="permutations")
    p_value = (1.0 + sum(finished.results)) / (len(finished.results) + 1.0)
    p_value[still] = np.nan
    q_value = np.full((p, k), np.nan)
    if not still.all():
        q_value[~still] = multipletests(p_value[~still].ravel(), method=fdr)[1].reshape(-1, k)
    signs = not groups.exchangeable
    return Tested(correlation, p_value, q_value, len(finished.results), n, fdr, signs, given.drawn)


def _rows(sampler: RowSampler) -> np.ndarray:
    """Return the row of each sampling unit, centred and scaled as in the fit, shape (n, p)."""
    groups, standard = sampler.groups, sampler.standard
    rows = sampler.matrix.tocsr() if is_sparse(sampler.matrix) else sampler.matrix
    rows = rows[groups.rows]
    Y = ((rows.toarray() if is_sparse(rows) else rows) - standard.mean) / standard.scale
    if sampler.covariates is None or groups.count < len(groups.rows):  # rotation would mix clusters
        return np.asarray(Y)
    return rotated(Y, sampler.covariates[groups.rows], None)


def _free(T: np.ndarray) -> np.ndarray:
    """Return each score with the others partialled out, at unit length; zero if it depends on the others."""
    T = T - T.mean(axis=0)
    size = np.linalg.norm(T, axis=0)
    T = T / np.where(size > 0, size, 1.0)
    out = np.empty_like(T)
    for c in range(T.shape[1]):
        others = np.delete(T, c, axis=1)
        out[:, c] = T[:, c] - others @ np.linalg.lstsq(others, T[:, c], rcond=DEPENDENT)[0]
    size = np.linalg.norm(out, axis=0)
    return np.where(size > DEPENDENT, out / np.where(size > 0, size, 1.0), 0.0)


def _against(X: np.ndarray, scores: list[_Scores], order: np.ndarray) -> np.ndarray:
    """Return the correlations, shape (p, k), of the variables with the scores after permuting their rows."""
    found = np.zeros((X.shape[1], scores[0].T.shape[1]))
    for one in scores:
        found[one.variables] = X[:, one.variables].T @ one.T[order]
    return found


def _studentised(X: np.ndarray, squares: np.ndarray, scores: list[_Scores], order: np.ndarray) -> np.ndarray:
    """Return the statistics, shape (p, k), of the variables and the scores after permuting their rows.

    With the products m_i = x_i t_i of a variable and a score, this is sum(m) / sqrt(sum(m^2)), a number in
    [-sqrt(n), sqrt(n)]. It increases with mean(m) / sd(m), which is infinite if all products are equal.

    Parameters
    ----------
    X, squares : ndarray of shape (n, p)
        Centred variables and their squares.
    """
    found = np.zeros((X.shape[1], scores[0].T.shape[1]))
    for one in scores:
        T = one.T[order]
        sums = X[:, one.variables].T @ T
        sizes = np.sqrt(squares[:, one.variables].T @ T**2)
        found[one.variables] = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
    return found


def _contributions(X: np.ndarray, scores: list[_Scores], groups: RowGroups, order: np.ndarray) -> np.ndarray:
    """Return the sums over each group of the products of variables and permuted scores, shape (G, p, k)."""
    k = scores[0].T.shape[1]
    found, starts = np.zeros((groups.count, X.shape[1], k)), groups.starts
    for one in scores:
        T = one.T[order]
        for c in range(k):
            products = X[:, one.variables] * T[:, c : c + 1]
            found[:, one.variables, c] = np.add.reduceat(products, starts, axis=0)
    return found


def _by_group(parts: np.ndarray, signs: np.ndarray | None = None) -> np.ndarray:
    """Return the statistics, shape (p, k), of contributions m of groups: sum(m) / sqrt(sum(m^2))."""
    sums = parts.sum(axis=0) if signs is None else np.tensordot(signs, parts, axes=1)
    sizes = np.sqrt((parts**2).sum(axis=0))
    return np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)


def _narrower(refit: Refit, p: int) -> Any:
    """Return the solver with cardinalities of at most `p`; if it searches for them, with those of the fit."""
    solver: Any = refit.plan.solver
    card = getattr(solver, "card", None)
    if card is None and refit.together is not None:
        card = tuple(max(1, int(count)) for count in np.count_nonzero(refit.V, axis=0))
        solver = replace(solver, variance=None, promise=None)
    return solver if card is None else replace(solver, card=tuple(min(one, p) for one in card))
