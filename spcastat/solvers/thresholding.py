"""PCA, thresholded or rotated loadings, and the best loadings on given supports.

Cadima and Jolliffe (1995), "Loadings and correlations in the interpretation of principal components",
discuss simple thresholding and its dangers; Jolliffe (1995), "Rotation of principal components", discusses
the choice of a rotation criterion. Sparse methods are compared with this informal practice.

On given supports the problem is smooth, but sweeps and power steps converge linearly, at a rate that depends
on the data. Quasi-Newton steps solve it until rounding hides a change of the value, which gives half of the
digits of the loadings; Newton steps, which need the slope only, give the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import symmetric
from spcastat.linalg.operators import GRAM_ORDER, Gram, Operator, Rows
from spcastat.linalg.thresholds import FLAT, minimise
from spcastat.linalg.ties import hard, ranked, tie_width, unit
from spcastat.solvers.solver import JointSolver, Solution

# --- thresholded and rotated loadings -------------------------------------------------------------


#: Rotations of statsmodels' factor_rotation that need no further argument; the last two are oblique.
ROTATIONS = (
    "varimax",
    "quartimax",
    "biquartimax",
    "equamax",
    "parsimax",
    "parsimony",
    "quartimin",
    "biquartimin",
)


@dataclass(frozen=True)
class Threshold(JointSolver):
    """Simple thresholding of the PCA loadings, which are then scaled to unit length.

    Attributes
    ----------
    card : tuple of int or None
        The number of loadings kept in each component: the largest in absolute value.
    threshold : tuple of float or None
        Loadings of at least this absolute value are kept; from 0 to 1, since loadings have unit length.
    """

    card: tuple[int, ...] | None = None
    threshold: tuple[float, ...] | None = None

    criterion = "adjusted variance"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        sparse = np.column_stack([self._cut(V[:, i], i) for i in range(k)])
        value = float(op.score_basis(sparse)[0].sum())
        smallest = [float(np.abs(v[s != 0]).min()) for v, s in zip(V.T, sparse.T, strict=True)]
        details = {"smallest kept": smallest}
        return Solution(sparse, "exact", 1, value, np.array([value]), details)

    def _cut(self, v: np.ndarray, i: int) -> np.ndarray:
        if self.threshold is None:
            assert self.card is not None
            return hard(v[:, None], self.card[i])[:, 0]
        size, level = np.abs(v), self.threshold[i]
        largest = size.max()
        kept = size >= level - tie_width(np.array(level), largest)
        if not kept.any():
            raise OptionError(
                f"threshold={level:g} leaves no loading in component {i + 1}, whose largest is "
                f"{largest:.6g}; it must be in [0, {largest:.6g}]."
            )
        return unit(np.where(kept, v, 0.0)[:, None])[:, 0]


@dataclass(frozen=True)
class Rotate(Threshold):
    """Rotation of the PCA loadings towards simple structure, then simple thresholding.

    The k unit-length loadings are rotated by statsmodels, scaled to unit length (which has no effect after
    an orthogonal rotation), and ordered by the variances of their scores, since a rotation does not define an
    order. A sequence of cardinalities refers to that order.

    Attributes
    ----------
    rotation : str
        A name in ROTATIONS; all but the two last are orthogonal.
    """

    rotation: str = "varimax"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        if k > 1:
            from statsmodels.multivariate.factor_rotation import rotate_factors

            with np.errstate(divide="ignore"):  # statsmodels takes the logarithm of a possibly zero gradient
                V = unit(np.asarray(rotate_factors(V, self.rotation)[0]))
        V = V[:, ranked(np.diag(op.products(V)))]
        return super().solve(op, k, V.T[None], rng)


# --- dense loadings -------------------------------------------------------------------------------


@dataclass(frozen=True)
class PCA(JointSolver):
    """The leading eigenvectors of the covariance matrix."""

    criterion = "variance of the components"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        value = float(np.trace(op.products(V)))
        return Solution(V, "exact", 1, value, np.array([value]))


# --- the best loadings on given supports ----------------------------------------------------------


#: The largest number of quasi-Newton steps.
MOST_STEPS = 500
#: With more nonzeros the matrix of second derivatives would be large, and Newton steps are left out.
NEWTON_NONZEROS = 400
#: Values that differ by less than this share count as equal.
ROUNDING = 1e-14
#: Second derivatives below this share of the largest count as zero.
FLAT_CURVATURE = 1e-10


def fitted(op: Operator, V: np.ndarray, nonneg: bool = False) -> np.ndarray | None:
    """Return the loadings of largest explained variance (PEV) on the supports of `V`.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Unit-length columns near a stationary point. A single component becomes the leading eigenvector on its
        support; several are optimised together from `V`.
    nonneg : bool
        Whether no loading may become negative.

    Returns
    -------
    ndarray of shape (p, k) or None
        Unit-length columns with the same supports that explain at least as much as those of `V`, up to
        rounding; None if none were found.
    """
    used = np.flatnonzero(V.any(axis=1))
    view: Operator = op.take(used)
    if used.size <= GRAM_ORDER and not (isinstance(op, Rows) and 2 * op.n < used.size):
        S = view.block(np.arange(used.size))
        view = Gram(symmetric(S))
    W = V[used]
    if W.shape[1] == 1:
        better = view.leading(1)[1]
        better = better if float(better[:, 0] @ W[:, 0]) >= 0 else -better
    else:
        better = _climbed(view, W)
    if nonneg and (better < 0).any():
        better = _climbed(view, W)
    supports_stay = bool(((better != 0) == (W != 0)).all())
    if better is W or not supports_stay or (nonneg and (better < 0).any()):
        return None
    if explained(view, better)[0] < explained(view, W)[0] * (1.0 - FLAT):
        return None
    out = np.zeros_like(V)
    out[used] = better
    return out


def explained(op: Operator, V: np.ndarray) -> tuple[float, np.ndarray]:
    """Return tr((V'V)^-1 V'SV), the variance of the rows projected on the columns of V, and its gradient."""
    SV = op.dot(V)
    inner = np.linalg.solve(V.T @ V, V.T @ SV)  # (V'V)^-1 V'SV
    return float(np.trace(inner)), 2.0 * np.linalg.solve(V.T @ V, (SV - V @ inner).T).T


def _climbed(view: Operator, W: np.ndarray) -> np.ndarray:
    """Return unit columns on the supports of W after quasi-Newton and Newton steps."""
    values = np.linalg.eigvalsh(W.T @ W)
    # V is returned unchanged if its columns are linearly dependent: if V'V has an eigenvalue of at most 1e-10
    # times the largest
    if values[0] <= 1e-10 * values[-1]:
        return W
    total = view.total
    where = np.nonzero(W)
    point = np.zeros(W.shape)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        point[where] = x
        lengths = np.linalg.norm(point, axis=0)
        value, gradient = explained(view, point / lengths)  # does not depend on the lengths of columns
        return -value / total, -(gradient / lengths)[where] / total

    x = W[where]
    if np.abs(negative(x)[1]).max() <= FLAT:  # a zero gradient: steps would follow rounding errors
        return W
    point[where] = minimise(negative, x, MOST_STEPS, flat=0.0)  # until rounding hides an increase
    found = unit(point)
    if x.size > NEWTON_NONZEROS:
        return found
    return _by_newton(symmetric(view.block(np.arange(view.p))), found)


def _by_newton(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return unit columns V after Newton steps on their supports, as long as each step halves the slope."""
    here = explained(Gram(S), V)
    for _ in range(10):
        new = unit(V + _newton_step(S, V, here[1]))
        there = explained(Gram(S), new)
        flatter = np.linalg.norm(there[1][V != 0]) < 0.5 * np.linalg.norm(here[1][V != 0])
        if not flatter or there[0] < here[0] * (1.0 - ROUNDING):
            break
        V, here = new, there
    return V


def _newton_step(S: np.ndarray, V: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the Newton step on the supports of V for tr((V'V)^-1 V'SV), orthogonal to each column.

    With H = (V'V)^-1, W = H V'SV H, P = V H and E half the gradient, half the second derivative for entry a
    of column i and entry b of column j is

        H_ij (S - SVP' - PV'S + VWV')_ab - W_ij (I - VP')_ab - P_bi E_aj - E_bi P_aj .

    The step has no part in directions in which the value is flat, where the loadings are not unique.
    """
    rows, owner = np.nonzero(V)
    H = np.linalg.inv(V.T @ V)
    W, P, SV = H @ (V.T @ S @ V) @ H, V @ H, S @ V
    crossed = P @ SV.T
    curved = S - crossed - crossed.T + V @ W @ V.T
    at, between = np.ix_(rows, rows), np.ix_(owner, owner)
    turned = P[rows][:, owner] * (0.5 * gradient)[rows][:, owner].T
    K = H[between] * curved[at] - W[between] * (np.eye(len(V)) - V @ P.T)[at] - turned - turned.T
    # The value does not depend on the lengths of the columns, so that K has no part along them.
    columns = np.zeros((len(rows), V.shape[1]))
    columns[np.arange(len(rows)), owner] = V[rows, owner]
    K -= columns @ (columns.T @ K)
    K -= (K @ columns) @ columns.T
    K -= np.abs(np.diag(K)).max() * columns @ columns.T
    step = np.zeros_like(V)
    step[rows, owner] = _ascent(-symmetric(K), (0.5 * gradient)[rows, owner])
    return step


def _ascent(A: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return A^-1 slope, without a part in directions in which A is flat or negative."""
    try:
        pivots = np.diag(np.linalg.cholesky(A)) ** 2
        if pivots.min() > FLAT_CURVATURE * pivots.max():
            return np.linalg.solve(A, slope)
    except np.linalg.LinAlgError:  # not positive definite
        pass
    values, axes = np.linalg.eigh(A)
    curved = values > FLAT_CURVATURE * np.abs(values).max()
    return axes[:, curved] @ ((axes[:, curved].T @ slope) / values[curved])
