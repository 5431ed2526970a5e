"""A common form for PEV and the least-squares share, and the elimination of one-variable components.

Both measures are <M, P>, where P is the projection on the span of k vectors F v_j: F = I and M = S for PEV,
F = S^(1/2) and M = F F' for least squares. A component of one variable i adds F e_i to the span, whatever the
other components are. On the orthogonal complement of F e_i the problem has the same form with one component
fewer: for PEV with S without row and column i, for least squares with the Schur complement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spcastat.certify.dual import ROUNDING, ky_fan
from spcastat.kernels.eig import symmetric

#: Columns of F are dependent if a singular value is below DEPENDENT times the largest; if one is between that
#: and CLEAR times the largest, the rank is in doubt and the support is not used.
DEPENDENT, CLEAR = 1e-9, 1e-5


@dataclass(frozen=True, eq=False)
class Frame:
    """A problem: maximise <M, P>, where P projects on the span of k vectors F v_j with sparse v_j.

    Attributes
    ----------
    M : ndarray of shape (d, d)
    F : ndarray of shape (d, q)
        One column per variable.
    variables : ndarray of int, shape (q,)
        The indices of these variables.
    k : int
        The number of components.
    offset : float
        The variance explained by eliminated components.
    """

    M: np.ndarray
    F: np.ndarray
    variables: np.ndarray
    k: int
    offset: float = 0.0

    @cached_property
    def dense(self) -> float:
        """The bound for components that may have all variables."""
        return self.offset + float(ky_fan(self.M, self.k)) + ROUNDING * float(np.trace(self.M))

    def bases(self, supports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return orthonormal bases of the columns of F on each support, and whether each basis is reliable.

        Parameters
        ----------
        supports : ndarray of int, shape (B, c)
            Positions in `variables`.

        Returns
        -------
        D : ndarray of shape (B, d, c)
            Some columns are zero if columns of F are linearly dependent.
        sound : ndarray of bool, shape (B,)
            Whether the rank is clear despite rounding.
        """
        A = self.F[:, supports].transpose(1, 0, 2)
        d, c = A.shape[1:]
        U, sizes, _ = np.linalg.svd(A, full_matrices=False)
        D = np.zeros((len(A), d, c))
        D[:, :, : U.shape[2]] = U * (sizes > DEPENDENT * sizes[:, :1])[:, None, :]
        return D, ~doubtful(sizes)


def doubtful(sizes: np.ndarray) -> np.ndarray:
    """Return whether columns with these singular values have a rank that is in doubt due to rounding."""
    largest = sizes[..., :1]
    return np.asarray(((sizes > DEPENDENT * largest) & (sizes < CLEAR * largest)).any(axis=-1))


def pev_frame(S: np.ndarray, k: int) -> Frame:
    """Return the `Frame` for PEV, in the unit of `S`."""
    return Frame(S, np.eye(len(S)), np.arange(len(S)), k)


def least_squares_frame(S: np.ndarray, k: int) -> Frame:
    """Return the `Frame` for the least-squares share."""
    values, vectors = np.linalg.eigh(S)
    kept = values > 1e-13 * values[-1]  # smaller eigenvalues are treated as zero
    F = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return Frame(np.diag(values[kept]), F, np.arange(len(S)), k)


def without(frame: Frame, single: np.ndarray) -> Frame:
    """Eliminate components of one variable from a frame.

    Parameters
    ----------
    frame : Frame
        The frame of either measure, before any elimination.
    single : ndarray of int, shape (m,)
        The variables of these components.
    """
    kept = np.setdiff1d(np.arange(frame.F.shape[1]), single)
    m, d = len(single), len(frame.M)
    A = frame.F[:, single]
    U, sizes, _ = np.linalg.svd(A)
    if doubtful(sizes):  # the rank is in doubt: allow any directions in place of these variables
        return Frame(frame.M, frame.F[:, kept], frame.variables[kept], frame.k, frame.offset)
    m = min(m, d)
    N = U[:, m:]
    offset = float(np.trace(U[:, :m].T @ frame.M @ U[:, :m]))
    M = N.T @ frame.M @ N
    return Frame(
        symmetric(M), N.T @ frame.F[:, kept], frame.variables[kept], frame.k - m, frame.offset + offset
    )


def elimination_bounds(frame: Frame, singles: np.ndarray) -> np.ndarray:
    """Return the bound for each choice of variables for the one-variable components, shape (B,).

    Parameters
    ----------
    frame : Frame
    singles : ndarray of int, shape (B, m)

    Notes
    -----
    The bound is what these variables explain, plus the k - m largest eigenvalues on the complement.
    """
    d = len(frame.M)
    m = min(singles.shape[1], d)
    U, sizes, _ = np.linalg.svd(frame.F[:, singles].transpose(1, 0, 2))
    turned = U.mT @ frame.M @ U
    own = np.trace(turned[:, :m, :m], axis1=1, axis2=2)
    bound = frame.offset + own + ky_fan(turned[:, m:, m:], frame.k - m)
    return np.where(doubtful(sizes), frame.dense, bound + ROUNDING * float(np.trace(frame.M)))
