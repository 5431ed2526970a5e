"""The two problems of a projection in one form: where fits live, and how components of one variable leave it.

PEV and the least-squares share are both <M, P>, P being the projection on the span of k vectors F v_j: with
F = I and M = S for PEV, with F = S^(1/2) and M = F F' for least squares. A component of one variable i puts
F e_i into the span, whatever the others are; what is orthogonal to it is the same problem again, with one
component fewer. For PEV that leaves S without row and column i, for least squares the Schur complement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spcastat.certify.dual import ROUNDING, ky_fan
from spcastat.kernels.eig import symmetric

#: Eigenvalues of S below this share of the largest are zero.
NULL = 1e-13
#: Columns of F on a support that are dependent to this share of their length are dependent; where that is not
#: clear, because they are independent by less than CLEAR, the support is not used.
DEPENDENT, CLEAR = 1e-9, 1e-5


@dataclass(frozen=True, eq=False)
class Frame:
    """A problem: k vectors F v_j with cardinalities of v_j.

    Attributes
    ----------
    M : ndarray of shape (d, d)
    F : ndarray of shape (d, q)
        A column a variable.
    variables : ndarray of int, shape (q,)
        Which they are.
    k : int
        Components.
    offset : float
        What components that were taken out explain.
    """

    M: np.ndarray
    F: np.ndarray
    variables: np.ndarray
    k: int
    offset: float = 0.0

    @cached_property
    def dense(self) -> float:
        """The bound for components without any constraint."""
        return self.offset + float(ky_fan(self.M, self.k)) + ROUNDING * float(np.trace(self.M))

    def bases(self, supports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return orthonormal bases of what supports span, and which of them are sound.

        Parameters
        ----------
        supports : ndarray of int, shape (B, c)
            Places among `variables`.

        Returns
        -------
        D : ndarray of shape (B, d, c)
            Columns are zero where those of F depend on one another.
        sound : ndarray of bool, shape (B,)
            Whether rounding leaves no doubt of what they span.
        """
        A = self.F[:, supports].transpose(1, 0, 2)
        d, c = A.shape[1:]
        U, sizes, _ = np.linalg.svd(A, full_matrices=False)
        D = np.zeros((len(A), d, c))
        D[:, :, : U.shape[2]] = U * (sizes > DEPENDENT * sizes[:, :1])[:, None, :]
        return D, ~doubtful(sizes)


def doubtful(sizes: np.ndarray) -> np.ndarray:
    """Return whether rounding leaves in doubt what columns with these singular values span, shape (...)."""
    largest = sizes[..., :1]
    return np.asarray(((sizes > DEPENDENT * largest) & (sizes < CLEAR * largest)).any(axis=-1))


def pev_frame(S: np.ndarray, k: int) -> Frame:
    """Return the frame of PEV, in the unit of `S`."""
    return Frame(S, np.eye(len(S)), np.arange(len(S)), k)


def least_squares_frame(S: np.ndarray, k: int) -> Frame:
    """Return the frame of the least-squares share."""
    values, vectors = np.linalg.eigh(S)
    kept = values > NULL * values[-1]
    F = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return Frame(np.diag(values[kept]), F, np.arange(len(S)), k)


def without(frame: Frame, single: np.ndarray) -> Frame:
    """Return the frame that components of one variable leave.

    Parameters
    ----------
    frame : Frame
        Of one of the two measures, before any component was taken out.
    single : ndarray of int, shape (m,)
        Their variables.
    """
    kept = np.setdiff1d(np.arange(frame.F.shape[1]), single)
    m, d = len(single), len(frame.M)
    A = frame.F[:, single]
    U, sizes, _ = np.linalg.svd(A)
    if doubtful(sizes):  # not clear what they span: the m best directions
        return Frame(frame.M, frame.F[:, kept], frame.variables[kept], frame.k, frame.offset)
    m = min(m, d)
    N = U[:, m:]
    offset = float(np.trace(U[:, :m].T @ frame.M @ U[:, :m]))
    M = N.T @ frame.M @ N
    return Frame(
        symmetric(M), N.T @ frame.F[:, kept], frame.variables[kept], frame.k - m, frame.offset + offset
    )


def elimination_bounds(frame: Frame, singles: np.ndarray) -> np.ndarray:
    """Return the bound for each choice of the variables of components of one variable, shape (B,).

    Parameters
    ----------
    frame : Frame
    singles : ndarray of int, shape (B, m)

    Notes
    -----
    What these variables explain, and the k - m largest eigenvalues of what they leave.
    """
    d = len(frame.M)
    m = min(singles.shape[1], d)
    U, sizes, _ = np.linalg.svd(frame.F[:, singles].transpose(1, 0, 2))
    turned = U.mT @ frame.M @ U
    own = np.trace(turned[:, :m, :m], axis1=1, axis2=2)
    bound = frame.offset + own + ky_fan(turned[:, m:, m:], frame.k - m)
    return np.where(doubtful(sizes), frame.dense, bound + ROUNDING * float(np.trace(frame.M)))
