"""Whether components are the same in groups of rows: a permutation test of slopes of variables on scores.

In group g, with rows centred at the mean of the group and scores t = x'w of common components, the slope of
variable i on component j is b = cov(x_i, t_j) / var(t_j). Unlike correlations and loadings, slopes do not
change if only the variance of a component differs. The statistic of a variable and a component is
sum_g (b_g - b)^2 / v_g, where v_g is the heteroscedasticity-consistent variance of b_g (HC0; with clusters,
that of their sums) and b the mean of the b_g with weights 1 / v_g.

Labels of centred rows, or of whole clusters, are permuted. The statistic is studentised, so that groups may
differ in variance and size: Janssen (1997), "Studentized permutation tests for non-i.i.d. hypotheses",
Statistics and Probability Letters 36; Chung and Romano (2013), "Exact and asymptotically robust permutation
tests", Annals of Statistics 41. P-values are adjusted for all variables and components by the step-down
maximum: Westfall and Young (1993), "Resampling-based multiple testing".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.assess.draws import draw_generator, run_jobs

#: The variance of a slope is at least this share of the variance of the variable over that of the score.
LEAST = 1e-12
#: Statistics that differ by less than this share are equal: the order of summation affects rounding.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Compared:
    """Slopes of the groups, and the p-values of their differences.

    Attributes
    ----------
    slopes, variances : ndarray of shape (G, p, k)
    p_value : float
        Of all variables and components together.
    by_component : ndarray of shape (k,)
        Of all variables of a component, not adjusted for the number of components.
    adjusted : ndarray of shape (p, k)
        Adjusted for all variables and components.
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
        The cluster of each row; by default each row is one.
    """
    T, groups = Z @ W, int(code.max()) + 1
    b = np.empty((groups, *W.shape))
    v = np.empty_like(b)
    floor = LEAST * np.square(Z).sum(axis=0)[:, None] / np.square(T).sum(axis=0) / len(Z)
    for g in range(groups):
        own = code == g
        z, t = Z[own], T[own]
        squares = np.maximum(np.square(t).sum(axis=0), np.finfo(float).tiny)
        b[g] = z.T @ t / squares
        if unit is None:
            # sum t^2 (x - b t)^2 = sum x^2 t^2 - 2 b sum x t^3 + b^2 sum t^4
            t2 = t * t
            moments = (z * z).T @ t2, z.T @ (t2 * t), (t2 * t2).sum(axis=0)
        else:
            _, place = np.unique(unit[own], return_inverse=True)
            ours = np.zeros((place.max() + 1, *W.shape))
            np.add.at(ours, place, z[:, :, None] * t[:, None, :])
            theirs = np.zeros((place.max() + 1, W.shape[1]))
            np.add.at(theirs, place, t * t)
            moments = (ours**2).sum(axis=0), np.einsum("cpk,ck->pk", ours, theirs), (theirs**2).sum(axis=0)
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
            first = np.unique(self.unit, return_index=True)[1]
            code = rng.permutation(self.code[first])[self.unit]
        return differences(*slopes_of(centred(self.Z, code), self.W, code, self.unit))


def compare(
    Z: np.ndarray,
    W: np.ndarray,
    code: np.ndarray,
    n_draws: int,
    *,
    unit: np.ndarray | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> Compared:
    """Compare the slopes of groups by permutations.

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
    seed, n_jobs : int
    """
    b, v = slopes_of(Z, W, code, unit)
    observed = differences(b, v)
    work = _Permuted(Z, W, code, unit, seed)
    found = run_jobs(work, n_draws, n_jobs=n_jobs, what="permutations", unit="permutations")
    null = np.array(found.results)
    least, draws = observed * (1.0 - SAME), len(null)
    by_component = (1.0 + (null.max(axis=1) >= least.max(axis=0)).sum(axis=0)) / (draws + 1.0)
    p_value = (1.0 + (null.max(axis=(1, 2)) >= least.max()).sum()) / (draws + 1.0)
    return Compared(b, v, float(p_value), by_component, step_down(least, null), draws, n_draws)


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
    """Return, for each group and component, its variance in the group, the congruence, and the share kept.

    The congruence is the absolute inner product of the loadings w with the group's first eigenvector on the
    same variables, and the share kept that of w's variance in its eigenvalue; the divisor is n - 1.
    """
    found = []
    for g in range(int(code.max()) + 1):
        z = Z[code == g]
        rows = []
        for w in W.T:
            T = np.flatnonzero(w)
            S = z[:, T].T @ z[:, T] / (len(z) - 1)
            values, vectors = np.linalg.eigh(S)
            variance = float(w[T] @ S @ w[T])
            kept = variance / float(values[-1]) if values[-1] > 0 else np.nan
            rows.append((variance, float(abs(vectors[:, -1] @ w[T])), kept))
        found.append(rows)
    return found
