"""PCA, thresholded or rotated loadings, and the best loadings on given supports.

Cadima and Jolliffe (1995), "Loadings and correlations in the interpretation of principal components",
discuss simple thresholding and its dangers; Jolliffe (1995), "Rotation of principal components: choice of
normalization constraints", discusses the effects of rotation on eigenvectors of unit length and on
eigenvectors scaled by the square roots of their eigenvalues. Sparse methods are compared with this informal
practice.

On given supports the problem is smooth, but sweeps and power steps converge linearly, at a rate that depends
on the data. Quasi-Newton steps solve it until rounding hides a change of the value, which gives half of the
digits of the loadings; Newton steps, which need only the gradient, give the other half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import (
    RELATIVE,
    ROUNDING,
    quotients,
    ranked,
    symmetric,
    tie_width,
    unit,
    varimax,
)
from spcastat.linalg.operators import GRAM_ORDER, Gram, Operator, Rows
from spcastat.linalg.thresholds import FLAT_STEP, hard, minimise
from spcastat.solvers.solver import JointSolver, Solution

# --- thresholded and rotated loadings -------------------------------------------------------------


#: Varimax iterations end when no loading changes by this share of the largest; ties are decided at 1e-10.
STILL = 1e-13
#: The largest number of varimax iterations.
MOST_TURNS = 1000


@dataclass(frozen=True)
class Threshold(JointSolver):
    """Simple thresholding of the PCA loadings, which are then scaled to unit length.

    Attributes
    ----------
    card : tuple of int or None
        The number of loadings kept in each component, the largest in absolute value.
    threshold : tuple of float or None
        Loadings of at least this absolute value are kept; from 0 to 1, since loadings have unit length.
    """

    card: tuple[int, ...] | None = None
    threshold: tuple[float, ...] | None = None

    criterion = "adjusted variance"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        marks = self._marks(V, np.abs(V))
        return self._solution(op, unit(np.where(marks, V, 0.0)), np.abs(V), marks)

    def _marks(self, V: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return a mask of the kept loadings: the largest of V, or the ones with large enough `size`."""
        if self.card is not None:
            columns = [hard(v[:, None], card)[:, 0] != 0 for v, card in zip(V.T, self.card, strict=True)]
            return np.column_stack(columns)
        assert self.threshold is not None
        levels, largest = np.array(self.threshold), size.max(axis=0)
        marks = size >= levels - tie_width(levels, largest)
        for i in np.flatnonzero(~marks.any(axis=0)):
            raise OptionError(
                f"threshold={levels[i]:g} leaves no nonzero loading in component {i + 1}; give a value in "
                f"[0, {largest[i]:.6g}] for this component."
            )
        return marks

    def _solution(self, op: Operator, sparse: np.ndarray, size: np.ndarray, marks: np.ndarray) -> Solution:
        value = float(op.score_basis(sparse)[0].sum())
        details = {"smallest kept": np.where(marks, size, np.inf).min(axis=0).tolist()}
        return Solution(sparse, "exact", 1, value, np.array([value]), details)


@dataclass(frozen=True)
class Rotate(Threshold):
    """Rotation of the PCA loadings towards simple structure, thresholding, and a fit on these supports.

    The k eigenvectors, scaled by the square roots of their eigenvalues, are rotated by varimax with Kaiser's
    normalisation. The components are ordered by their sums of squared rotated loadings, and a sequence of
    cardinalities refers to this order. A cardinality keeps the largest loadings; a threshold keeps the
    variables with at least this correlation with the component. If no loading is set to zero, the result is
    the rotated components.

    Attributes
    ----------
    refit : bool
        Whether the remaining loadings are replaced by the best loadings on their supports, for adjusted
        variance; if False, they are only scaled to unit length.
    """

    refit: bool = True

    own_order = True

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        L = _by_varimax(V * np.sqrt(np.diag(op.products(V))))
        L = L[:, ranked((L**2).sum(axis=0))]
        size = np.abs(quotients(L, np.sqrt(op.diagonal())[:, None]))
        marks = self._marks(L, size)
        sparse = unit(np.where(marks, L, 0.0))
        if self.refit and not marks.all():
            sparse = of_adjusted_variance(op, sparse)
        return replace(self._solution(op, sparse, size, marks), rotated=L * op.unit)


def _by_varimax(A: np.ndarray) -> np.ndarray:
    """Return loadings, shape (p, k), rotated by varimax with Kaiser's normalisation, up to rounding."""
    if A.shape[1] == 1:
        return A
    length = np.linalg.norm(A, axis=1, keepdims=True)
    L = varimax(quotients(A, length))
    for _ in range(MOST_TURNS):
        L, previous_loadings = varimax(L, max_iter=1), L
        if np.abs(L - previous_loadings).max() <= STILL * np.abs(L).max():
            break
    return L * length


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
#: With more nonzeros than this, the matrix of second derivatives would be large, and Newton steps are
#: omitted.
NEWTON_NONZEROS = 400
#: The step of the central differences of gradients, for loadings of unit length.
DIFFERENCE = 1e-6


def fitted(op: Operator, V: np.ndarray, nonneg: bool = False, steps: int = MOST_STEPS) -> np.ndarray | None:
    """Return the loadings of largest explained variance (PEV) on the supports of `V`.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Unit-length columns near a stationary point. A single component becomes the leading eigenvector on its
        support; several are optimised together from `V`.
    nonneg : bool
        Whether no loading may become negative.
    steps : int
        The largest number of quasi-Newton steps.

    Returns
    -------
    ndarray of shape (p, k) or None
        Unit-length columns with the same supports that explain at least as much as those of `V`, up to
        rounding; None if none were found.
    """
    used = np.flatnonzero(V.any(axis=1))
    view, W = _of_variables(op, used), V[used]
    if W.shape[1] == 1:
        improved = view.leading(1)[1]
        improved = improved if float(improved[:, 0] @ W[:, 0]) >= 0 else -improved
    else:
        improved = _climbed(view, W, steps)
    if nonneg and (improved < 0).any():
        improved = _climbed(view, W, steps)
    supports_stay = bool(((improved != 0) == (W != 0)).all())
    if improved is W or not supports_stay or (nonneg and (improved < 0).any()):
        return None
    if explained(view, improved)[0] < explained(view, W)[0] * (1.0 - FLAT_STEP):
        return None
    out = np.zeros_like(V)
    out[used] = improved
    return out


def _of_variables(op: Operator, used: np.ndarray) -> Operator:
    """Return the operator restricted to some variables, as their covariance matrix if that is small."""
    view: Operator = op.take(used)
    if used.size <= GRAM_ORDER and not (isinstance(op, Rows) and 2 * op.n < used.size):
        return Gram(symmetric(view.block(np.arange(used.size))))
    return view


def of_adjusted_variance(op: Operator, V: np.ndarray) -> np.ndarray:
    """Return loadings on the supports of `V` after an ascent of the adjusted variance from V.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Unit-length columns, in the order of the components.

    Returns
    -------
    ndarray of shape (p, k)
        Unit-length columns; V itself if their scores are linearly dependent.
    """
    used = np.flatnonzero(V.any(axis=1))
    view, W = _of_variables(op, used), V[used]
    variances = np.linalg.eigvalsh(W.T @ view.dot(W))
    if variances[0] <= 1e-10 * variances[-1]:
        return V
    function = partial(adjusted, view)
    ascended = _ascended(function, W, view.total)
    if ascended is not W and np.count_nonzero(W) <= NEWTON_NONZEROS:
        ascended = _by_differences(function, ascended)
    out = np.zeros_like(V)
    out[used] = ascended
    return out


def adjusted(op: Operator, V: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum of adjusted variances of unit columns V, and its gradient orthogonal to each column.

    With C unit upper triangular such that the columns of XVC are uncorrelated, the diagonal of C'V'SVC
    contains the adjusted variances, and the gradient is 2 SVCC'.
    """
    SV = op.dot(V)
    G = symmetric(V.T @ SV)
    try:
        root = np.linalg.cholesky(G)
    except np.linalg.LinAlgError:  # the scores are linearly dependent: an ascent turns back
        return 0.0, np.zeros_like(V)
    C = np.linalg.solve(root.T, np.diag(np.diag(root)))
    gradient = 2.0 * SV @ (C @ C.T)
    return float((np.diag(root) ** 2).sum()), gradient - V * (V * gradient).sum(axis=0)


def explained(op: Operator, V: np.ndarray) -> tuple[float, np.ndarray]:
    """Return tr((V'V)^-1 V'SV), the variance of the rows projected on the columns of V, and its gradient."""
    SV = op.dot(V)
    try:
        inner = np.linalg.solve(V.T @ V, V.T @ SV)  # (V'V)^-1 V'SV
    except np.linalg.LinAlgError:  # the columns are linearly dependent: an ascent turns back
        return 0.0, np.zeros_like(V)
    return float(np.trace(inner)), 2.0 * np.linalg.solve(V.T @ V, (SV - V @ inner).T).T


def _climbed(view: Operator, W: np.ndarray, steps: int) -> np.ndarray:
    """Return unit columns on the supports of W after quasi-Newton and Newton steps."""
    values = np.linalg.eigvalsh(W.T @ W)
    # V is returned unchanged if its columns are linearly dependent: if V'V has an eigenvalue of at most 1e-10
    # times the largest
    if values[0] <= 1e-10 * values[-1]:
        return W
    ascended = _ascended(partial(explained, view), W, view.total, steps)
    if ascended is W or np.count_nonzero(W) > NEWTON_NONZEROS:
        return ascended
    return _by_newton(symmetric(view.block(np.arange(view.p))), ascended)


def _ascended(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    W: np.ndarray,
    total: float,
    steps: int = MOST_STEPS,
) -> np.ndarray:
    """Return unit columns on the supports of W, at which quasi-Newton steps from W end.

    `function` returns the variance that unit columns explain, out of `total`, and its gradient. W itself is
    returned if the gradient is zero, since steps would then follow rounding errors.
    """
    nonzero = np.nonzero(W)
    point = np.zeros(W.shape)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        point[nonzero] = x
        lengths = np.linalg.norm(point, axis=0)
        value, gradient = function(point / lengths)  # the value does not depend on the lengths of columns
        return -value / total, -(gradient / lengths)[nonzero] / total

    x = W[nonzero]
    if np.abs(negative(x)[1]).max() <= FLAT_STEP:
        return W
    point[nonzero] = minimise(negative, x, steps, flat=0.0)  # until rounding hides an increase
    return unit(point)


def _by_newton(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return unit columns V after Newton steps on their supports, as long as each step halves the slope."""
    value_and_slope = explained(Gram(S), V)
    for _ in range(10):
        new_loadings = unit(V + _newton_step(S, V, value_and_slope[1]))
        new_value_and_slope = explained(Gram(S), new_loadings)
        flatter = np.linalg.norm(new_value_and_slope[1][V != 0]) < 0.5 * np.linalg.norm(
            value_and_slope[1][V != 0]
        )
        if not flatter or new_value_and_slope[0] < value_and_slope[0] * (1.0 - ROUNDING):
            break
        V, value_and_slope = new_loadings, new_value_and_slope
    return V


def _by_differences(function: Callable[[np.ndarray], tuple[float, np.ndarray]], V: np.ndarray) -> np.ndarray:
    """Return unit columns V after Newton steps on their supports, as long as each step halves the slope.

    Values alone determine loadings only to the square root of the rounding error. The second derivatives are
    central differences of the gradients that `function` returns for unit columns.
    """
    nonzero = np.nonzero(V)

    def at(x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        point = np.zeros_like(V)
        point[nonzero] = x
        lengths = np.linalg.norm(point, axis=0)
        value, gradient = function(point / lengths)
        return point / lengths, value, (gradient / lengths)[nonzero]

    V, value, slope = at(V[nonzero])
    for _ in range(10):
        x = V[nonzero]
        steps = DIFFERENCE * np.eye(len(x))
        curvature = np.array([(at(x + step)[2] - at(x - step)[2]) / (2.0 * DIFFERENCE) for step in steps])
        columns = np.zeros((len(x), V.shape[1]))
        columns[np.arange(len(x)), nonzero[1]] = x
        # no component along the columns, as the value does not depend on their lengths
        projection = np.eye(len(x)) - columns @ columns.T
        curvature = projection @ symmetric(curvature) @ projection
        curvature -= np.abs(np.diag(curvature)).max() * columns @ columns.T
        new_loadings, new_value, new_slope = at(x + _ascent(-curvature, slope))
        flatter = np.linalg.norm(new_slope) < 0.5 * np.linalg.norm(slope)
        if not flatter or new_value < value * (1.0 - ROUNDING):
            break
        V, value, slope = new_loadings, new_value, new_slope
    return V


def _newton_step(S: np.ndarray, V: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the Newton step on the supports of V for tr((V'V)^-1 V'SV), orthogonal to each column.

    With H = (V'V)^-1, W = H V'SV H, P = V H and E half the gradient, half the second derivative for entry a
    of column i and entry b of column j is

        H_ij (S - SVP' - PV'S + VWV')_ab - W_ij (I - VP')_ab - P_bi E_aj - E_bi P_aj .

    The step has no component in directions in which the value is flat and the loadings are not unique.
    """
    rows, owner = np.nonzero(V)
    H = np.linalg.inv(V.T @ V)
    W, P, SV = H @ (V.T @ S @ V) @ H, V @ H, S @ V
    crossed = P @ SV.T
    curved = S - crossed - crossed.T + V @ W @ V.T
    at, between = np.ix_(rows, rows), np.ix_(owner, owner)
    outer_products = P[rows][:, owner] * (0.5 * gradient)[rows][:, owner].T
    K = (
        H[between] * curved[at]
        - W[between] * (np.eye(len(V)) - V @ P.T)[at]
        - outer_products
        - outer_products.T
    )
    # The value does not depend on the lengths of the columns, so K has no component along them.
    columns = np.zeros((len(rows), V.shape[1]))
    columns[np.arange(len(rows)), owner] = V[rows, owner]
    K -= columns @ (columns.T @ K)
    K -= (K @ columns) @ columns.T
    K -= np.abs(np.diag(K)).max() * columns @ columns.T
    step = np.zeros_like(V)
    step[rows, owner] = _ascent(-symmetric(K), (0.5 * gradient)[rows, owner])
    return step


def _ascent(A: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return A^-1 slope, without components in directions in which A is zero or negative."""
    try:
        pivots = np.diag(np.linalg.cholesky(A)) ** 2
        if pivots.min() > RELATIVE * pivots.max():
            return np.linalg.solve(A, slope)
    except np.linalg.LinAlgError:  # not positive definite
        pass
    values, axes = np.linalg.eigh(A)
    curved = values > RELATIVE * np.abs(values).max()
    return axes[:, curved] @ ((axes[:, curved].T @ slope) / values[curved])
