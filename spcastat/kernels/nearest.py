"""The nearest correlation matrix that is positive semidefinite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import symmetric


@dataclass(frozen=True, eq=False)
class Nearest:
    """A positive semidefinite correlation matrix, and its distance from the given one.

    Attributes
    ----------
    correlation : ndarray of shape (p, p)
        Positive semidefinite, with a diagonal of ones.
    smallest : float
        The smallest eigenvalue of the given matrix.
    moved : float
        The Frobenius norm of the difference; 0 if the given matrix was positive semidefinite.
    largest : float
        The largest absolute change of a correlation.
    """

    correlation: np.ndarray
    smallest: float
    moved: float = 0.0
    largest: float = 0.0


#: Iterate until the diagonal differs from one by less than this.
TOLERANCE = 1e-10
#: Largest numbers of Newton steps, of halvings of one, and of conjugate gradient steps for one.
STEPS, HALVINGS, GRADIENTS = 50, 20, 50


def nearest_correlation(R: np.ndarray) -> Nearest:
    """Return the positive semidefinite correlation matrix nearest to `R` in the Frobenius norm.

    Newton's method for the dual problem: Qi and Sun (2006), A quadratically convergent Newton method for
    computing the nearest correlation matrix, SIAM J. Matrix Anal. Appl. 28, with the improvements of Borsdorf
    and Higham (2010), IMA J. Numer. Anal. 30. The solution is the positive part of R + Diag(y), where y
    minimises the convex function theta(y) = 0.5 norm(positive part of R + Diag(y))^2 - sum(y), whose gradient
    is the diagonal of the positive part minus one. What is left of the gradient at the end is removed by
    scaling the diagonal to one.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Symmetric, with a diagonal of ones.
    """
    y = np.zeros(len(R))
    part = PositivePart.of(R, y)
    smallest = float(part.values[0])
    if smallest >= -1e-8:  # rounding
        return Nearest(R, smallest)
    for _ in range(STEPS):
        gradient = part.diagonal() - 1.0
        if np.abs(gradient).max() <= TOLERANCE:
            break
        y, part, decreased = _newton_step(R, y, part, gradient)
        if not decreased:  # to rounding, theta is at its minimum
            break
    found = symmetric(part.matrix())
    deviations = np.sqrt(np.diag(found))
    found = found / deviations / deviations[:, None]
    np.fill_diagonal(found, 1.0)
    difference = found - R
    return Nearest(found, smallest, float(np.linalg.norm(difference)), float(np.abs(difference).max()))


@dataclass(frozen=True, eq=False)
class PositivePart:
    """The positive part of a symmetric matrix: its eigenvectors with negative eigenvalues replaced by zero.

    Attributes
    ----------
    values : ndarray of shape (p,)
        All eigenvalues of the matrix, ascending.
    below, above : ndarray of shapes (p, p - r) and (p, r)
        Eigenvectors of the eigenvalues that are not positive, and of the r positive ones.
    """

    values: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, R: np.ndarray, y: np.ndarray) -> PositivePart:
        """Return the positive part of R + Diag(y)."""
        values, vectors = np.linalg.eigh(R + np.diag(y))
        first = int(np.searchsorted(values, 0.0, side="right"))
        return cls(values, vectors[:, :first], vectors[:, first:])

    @property
    def positive(self) -> np.ndarray:
        """The positive eigenvalues, shape (r,)."""
        return self.values[self.below.shape[1] :]

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of the positive part, shape (p,)."""
        return (self.above**2) @ self.positive

    def matrix(self) -> np.ndarray:
        """Return the positive part, shape (p, p)."""
        return (self.above * self.positive) @ self.above.T

    def theta(self, y: np.ndarray) -> float:
        """Return the dual function at `y`."""
        return 0.5 * float(self.positive @ self.positive) - float(y.sum())

    def quotients(self) -> np.ndarray:
        """Return a / (a - b) for the positive eigenvalues a and the others b, shape (r, p - r)."""
        a, b = self.positive[:, None], self.values[None, : self.below.shape[1]]
        return a / (a - b)


def _newton_step(
    R: np.ndarray, y: np.ndarray, part: PositivePart, gradient: np.ndarray
) -> tuple[np.ndarray, PositivePart, bool]:
    """Return `y` after one step, the positive part there, and whether theta decreased.

    The step is halved until theta decreases by at least 1e-4 of what the gradient predicts.
    """
    step = _direction(part, gradient)
    before, slope = part.theta(y), float(gradient @ step)
    rounding = 1e-14 * (abs(before) + float(np.abs(y).sum()))
    for _ in range(HALVINGS):
        new = PositivePart.of(R, y + step)
        if new.theta(y + step) <= before + 1e-4 * slope + rounding:
            return y + step, new, True
        step, slope = 0.5 * step, 0.5 * slope
    return y, part, False


def _direction(part: PositivePart, gradient: np.ndarray) -> np.ndarray:
    """Return an approximate Newton step: conjugate gradients, preconditioned by the Hessian's diagonal.

    The generalised Hessian maps h to the diagonal of P (W * (P' Diag(h) P)) P', where P are all eigenvectors
    and W is 1 for two positive eigenvalues, `quotients` for a positive and another one, and 0 for two others.
    """
    quotients = part.quotients()
    above, below = part.above, part.below

    def hessian(h: np.ndarray) -> np.ndarray:
        scaled = above.T * h
        mixed = quotients * (scaled @ below)
        half = 0.5 * (scaled @ above) @ above.T + mixed @ below.T
        return 2.0 * (above * half.T).sum(axis=1)

    a, b = above**2, below**2
    diagonal = np.maximum((a.sum(axis=1)) ** 2 + 2.0 * ((a @ quotients) * b).sum(axis=1), 1e-12)
    size = float(np.linalg.norm(gradient))
    accuracy = min(0.05, size) * size
    step, left = np.zeros_like(gradient), -gradient
    solved = left / diagonal
    along, product = solved, float(left @ solved)
    for _ in range(GRADIENTS):
        image = hessian(along)
        length = product / float(along @ image)
        step, left = step + length * along, left - length * image
        if np.linalg.norm(left) <= accuracy:
            break
        solved = left / diagonal
        last, product = product, float(left @ solved)
        along = solved + (product / last) * along
    return step
