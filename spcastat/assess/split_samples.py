"""Inference after selection: one half of the rows selects variables, the other estimates correlations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import stdtr

from spcastat.arguments import draw_generator
from spcastat.assess.samples import Resampling, attempted
from spcastat.errors import ComponentsError, ConstantColumnError, MissingValuesError
from spcastat.fit.record import Split
from spcastat.inputs.samplers import Sampler, constant_in
from spcastat.linalg.operators import Operator
from spcastat.linalg.standardisation import deviations
from spcastat.progress import run_jobs

#: Smallest distance of a correlation from 1 or -1, so that Fisher's z is finite.
NEAREST_TO_ONE = 1e-12


@dataclass(frozen=True)
class SplitTuning:
    """Constants of inference after a split; benchmarks/results/trust.md gives the coverage.

    Attributes
    ----------
    least_quantile : float
        The smallest quantile that the combination of p-values over splits considers.
    jackknife_sets : int
        Largest number of sets of independent rows that the jackknife leaves out in turn.
    """

    least_quantile: float = 0.05
    jackknife_sets: int = 200


SPLITS = SplitTuning()


@dataclass(frozen=True, eq=False)
class _SplitJob:
    """The job of one bootstrap draw from the half of the rows that did not select the variables."""

    half: Sampler
    W: np.ndarray
    seed: int

    op: Operator

    def __call__(self, number: int) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """Return Fisher's z of correlations, variances, number of failed draws, and constant columns."""
        draw, failed = attempted(partial(self.half.bootstrap, draw_generator(self.seed, number + 1)))
        r, variances = with_others(draw, self.W)
        return fisher(r), variances, failed, constant_in(draw, self.op)


def split(resampling: Resampling, n: int, repeats: int = 1) -> Split:
    """Select variables on half of the rows, and estimate their correlations on the other half.

    Parameters
    ----------
    resampling : Resampling
    n : int
        Number of bootstrap draws from the second half of each split.
    repeats : int
        Number of splits. The intervals are those of the first split.

    Returns
    -------
    Split
        If interrupted by Ctrl-C, the result covers the completed draws or splits.
    """
    first_split, p_values = _one_split(resampling, n, resampling.seed)
    p_values_of_splits, split_result = [p_values], first_split
    while len(p_values_of_splits) < repeats and split_result.draws == n:
        try:
            seed = int(draw_generator(resampling.seed, n + len(p_values_of_splits)).integers(2**63))
            split_result, p_values = _one_split(resampling, n, seed)
        except KeyboardInterrupt:
            break
        p_values_of_splits.append(p_values)
    combined = combined_p_values(np.array(p_values_of_splits))
    return replace(first_split, p_value=combined, repeats=len(p_values_of_splits))


def _one_split(resampling: Resampling, n: int, seed: int) -> tuple[Split, np.ndarray]:
    """Return the results of one split, and its p-values, shape (p, k).

    P-values are 1 for variables that were not selected, and NaN for a component's only selected variable.
    """
    rng = draw_generator(seed, 0)

    def draw() -> tuple[tuple[Sampler, Sampler], tuple[Operator, Operator], np.ndarray]:
        halves = resampling.sampler.halves(rng)
        selecting, estimating = halves[0].all_rows(), halves[1].all_rows()
        return halves, (selecting, estimating), resampling.aligned(resampling.refit(selecting, rng)).V

    (halves, ops, W), redrawn_count = attempted(draw)
    r, variances = with_others(ops[1], W)
    work = _SplitJob(halves[1], W, seed, resampling.op)
    finished = run_jobs(work, n, n_jobs=resampling.n_jobs, what="bootstrap of one half")
    if len(finished.results) < 2:
        raise KeyboardInterrupt  # too few for standard deviations
    drawn_z, drawn_variances, failed, constant = zip(*finished.results, strict=True)
    rows = halves[1].independent
    # As in Fisher's standard error, 1 / sqrt(n - 3): the bootstrap's corresponds to 1 / sqrt(n), too small by
    # this factor for few rows.
    errors = _deviations_of_known(np.array(drawn_z)) * np.sqrt(rows / max(rows - 3, 1))
    left_out = _jackknife_errors(halves[1], W, rng)
    errors = np.where(np.isfinite(left_out), left_out, errors)
    p_values = _split_p_values(W, r, errors, rows)
    places = np.flatnonzero(W.T)
    split_numbers = Split(
        places=places,
        loadings=W.T.ravel()[places],
        correlation=r.T.ravel()[places],
        std_error=errors.T.ravel()[places],
        variances=variances,
        variance_errors=deviations(np.array(drawn_variances)),
        similarity=resampling.aligned(W).similarity,
        p_value=p_values,
        rows=(halves[0].n, halves[1].n),
        repeats=1,
        draws=len(finished.results),
        asked=n,
        again=redrawn_count + sum(failed),
        normal=resampling.sampler.normal,
        drawn=resampling.sampling_text,
        independent=0 if rows == halves[1].n else rows,
        notice=resampling.remarks(
            [*(constant_in(op, resampling.op) for op in ops), *constant], "halves and draws"
        ),
    )
    return split_numbers, p_values


def _deviations_of_known(z: np.ndarray) -> np.ndarray:
    """Return standard deviations over the draws that are not NaN, of z of shape (B, ...).

    They are NaN with fewer than two such draws. A variable that does not vary in a draw has no correlation.
    """
    is_finite = np.isfinite(z)
    count = is_finite.sum(axis=0)
    mean = np.where(is_finite, z, 0.0).sum(axis=0) / np.maximum(count, 1)
    squares = (np.where(is_finite, z - mean, 0.0) ** 2).sum(axis=0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)


def _split_p_values(W: np.ndarray, r: np.ndarray, errors: np.ndarray, rows: int) -> np.ndarray:
    """Return the p-values of the correlations r of one split, shape (p, k), adjusted by Bonferroni's factor.

    Parameters
    ----------
    W : ndarray of shape (p, k)
        Weights that the first half selected.
    r, errors : ndarray of shape (p, k)
        Correlations on the second half, and standard errors of Fisher's z; r is NaN if it is not tested.
    rows : int
        Number of independent rows of the second half.
    """
    p_values = np.ones(W.shape)
    selected, tested = W != 0, np.isfinite(r)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values[tested] = 2.0 * stdtr(max(rows - 2, 1), -np.abs(fisher(r[tested])) / errors[tested])
    p_values[np.isnan(p_values)] = 1.0  # a correlation that is zero in every draw
    p_values = np.minimum(p_values * max(int(tested.sum()), 1), 1.0)
    p_values[selected & ~tested] = np.nan
    return p_values


def _jackknife_errors(half: Sampler, W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return standard errors of Fisher's z of the correlations of `with_others`, shape (p, k).

    An outlying row pulls a correlation towards itself. The bootstrap measures the variation around that
    correlation, which is too small; the jackknife leaves the row out. The difference matters for skewed
    variables and for rows of unequal size, where bootstrap intervals exclude zero too often.

    Errors are NaN if the sampler has no jackknife, or if correlations cannot be computed without some rows.
    """
    unknown = np.full(W.shape, np.nan)
    parts = half.jackknife(SPLITS.jackknife_sets, rng)
    try:
        z = np.array([fisher(with_others(part.all_rows(), W)[0]) for part in parts])
    except (ComponentsError, ConstantColumnError, MissingValuesError):
        return unknown
    if len(z) < 2:
        return unknown
    around = ((z - z.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((len(z) - 1) / len(z) * around))


def with_others(op: Operator, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return correlations of variables with the scores of the other variables, and variances of the scores.

    Parameters
    ----------
    op : Operator
    W : ndarray of shape (p, k)
        Weights, the same for any data.

    Returns
    -------
    ndarray of shape (p, k)
        Correlation of variable j with X u, where u is column c of W with a zero for j. NaN if W is zero, or
        if the variable or X u has no variance.
    ndarray of shape (k,)
        Variances of X W.
    """
    correlations, variances = np.full(W.shape, np.nan), np.zeros(W.shape[1])
    for c, w in enumerate(W.T):
        support = np.flatnonzero(w)
        S, u = op.block(support), w[support]
        variances_of_variables, products = np.diag(S), S @ u
        score_variance = max(float(u @ products), 0.0)
        variances[c] = score_variance * op.unit**2
        if len(support) < 2:
            continue
        covariances = products - variances_of_variables * u
        other_variances = score_variance - 2.0 * u * products + variances_of_variables * u**2
        varies = (variances_of_variables > 0) & (
            other_variances > NEAREST_TO_ONE * (score_variance + variances_of_variables * u**2)
        )
        sizes = np.sqrt(np.where(varies, variances_of_variables * other_variances, 1.0))
        correlations[support, c] = np.where(varies, covariances / sizes, np.nan).clip(-1.0, 1.0)
    return correlations, variances


def fisher(r: np.ndarray) -> np.ndarray:
    """Return Fisher's z of correlations, the inverse hyperbolic tangent."""
    return np.arctanh(r.clip(NEAREST_TO_ONE - 1.0, 1.0 - NEAREST_TO_ONE))


def combined_p_values(p_values: np.ndarray) -> np.ndarray:
    """Return p-values that combine the p-values of several splits of the same rows.

    Parameters
    ----------
    p_values : ndarray of shape (B, ...)
        P-values of B splits, adjusted for the tests of their split; 1 if not tested. NaN counts as 1,
        but the result is NaN if no split has a test.

    Returns
    -------
    ndarray
        The p-values of a single split. With several splits, min(1, (1 - log g) inf Q(x) over x in (g, 1)),
        where g is the least quantile and Q(x) = min(1, x-quantile of the p-values / x): Meinshausen, Meier
        and Bühlmann (2009), equations 2.2 and 2.3. The family-wise error rate is that of a single split.
    """
    untested = np.isnan(p_values).any(axis=0) & ~(p_values < 1.0).any(axis=0)
    filled = np.where(np.isnan(p_values), 1.0, p_values)
    B = len(filled)
    if B == 1:
        return np.where(untested, np.nan, filled[0])
    ordered = np.sort(filled, axis=0)
    # The x-quantile is the ceil(B x)-th smallest p-value, the same for x in ((i - 1) / B, i / B]: the
    # quotient is least at the right end, where x = i / B.
    ends = np.arange(1, B + 1) / B
    considered_ends = ends > SPLITS.least_quantile * (1.0 + 1e-12)
    quotients = ordered[considered_ends] / ends[considered_ends].reshape(-1, *[1] * (ordered.ndim - 1))
    combined = np.minimum((1.0 - np.log(SPLITS.least_quantile)) * quotients.min(axis=0), 1.0)
    return np.where(untested, np.nan, combined)
