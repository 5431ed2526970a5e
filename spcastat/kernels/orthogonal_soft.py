"""Soft thresholding under orthogonality constraints, by level, by l1 norm or by cardinality."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import l1_bounded, levelled, soft, soft_at, top

#: How close the l1 norm must come to its bound, relative to the bound.
CLOSE = 1e-12


class OrthogonalSoft:
    """argmin |x - g|^2 / 2 + level |x|_1 over all x with Q'x = 0.

    The dual problem min |soft(g - Q nu, level)|^2 / 2 is convex and piecewise quadratic, with one unknown in
    nu for each column of Q; Newton's method ends after finitely many steps. The last nu and level are stored
    and start the next call, since successive problems in an iteration are similar.

    Parameters
    ----------
    Q : ndarray of shape (p, m)
        m may be 0.
    """

    def __init__(self, Q: np.ndarray):
        self.Q = Q
        self._nu = np.zeros(Q.shape[1])
        self._level = np.nan

    def threshold(self, g: np.ndarray, level: float) -> np.ndarray:
        """Return the solution, shape (p,); zeros if what remains of `g`, shape (p,), is only rounding."""
        Q, nu = self.Q, self._nu
        size = float(np.abs(g).max())
        x = soft_at(g - Q @ nu, level)
        value = 0.5 * float(x @ x)
        for _ in range(100):
            slope = x @ Q
            if np.abs(slope).max(initial=0.0) <= 1e-13 * np.sqrt(2.0 * value) + 1e-16 * size:
                break
            part = Q[x != 0]
            step = np.linalg.lstsq(part.T @ part, slope, rcond=1e-12)[0]
            gain, length = float(slope @ step), 1.0
            while True:
                trial = soft_at(g - Q @ (nu + length * step), level)
                new = 0.5 * float(trial @ trial)
                if new <= value - 1e-4 * length * gain or length < 1e-3:
                    break
                length *= 0.5
            if new >= value:
                break
            nu, x, value = nu + length * step, trial, new
        self._nu = nu
        largest = float(np.abs(x).max())
        if not largest > 1e-9 * size:
            return np.zeros_like(x)
        return levelled(x[:, None], 1e-12 * size / largest)[:, 0]  # tied entries vanish together

    def bounded(self, g: np.ndarray, bound: float) -> np.ndarray:
        """Return the unit vector x that maximises g'x subject to Q'x = 0 and |x|_1 <= bound.

        If no threshold reaches the bound, the result is the unit vector with the smallest l1 norm that
        thresholding of g can reach. If g lies in the span of Q, the result is zero.
        """
        if not self.Q.shape[1]:
            return l1_bounded(g[:, None], bound)[:, 0]
        low, high = 0.0, float(np.abs(g).max())
        best = x = self.threshold(g, 0.0)
        if not x.any() or np.abs(x).sum() / np.linalg.norm(x) <= bound * (1.0 + CLOSE):
            return _unit(x)
        level = self._level if low < self._level < high else _exact(g, self.Q, x, bound)
        for _ in range(200):
            if not low < level < high:
                level = 0.5 * (low + high)
            if high - low <= 1e-12 * high or level in (low, high):
                break
            x = self.threshold(g, level)
            ratio = np.abs(x).sum() / np.linalg.norm(x) if x.any() else 0.0
            if ratio >= bound * (1.0 - CLOSE):
                low, best = level, x
                if ratio <= bound * (1.0 + CLOSE):
                    break
            else:
                high = level
            level = _exact(g, self.Q, x, bound) if x.any() else np.nan
        self._level = low
        return _unit(best)

    def sparse(self, g: np.ndarray, card: int) -> np.ndarray:
        """Return the unit vector at the smallest threshold that leaves at most `card` nonzeros.

        If every threshold leaves more than `card` nonzeros or none, the sparsest solution is restricted to
        its `card` largest values (of ties, those of lowest index) and made orthogonal to Q. If this gives
        zero, the sparsest solution itself is returned.
        """
        if not self.Q.shape[1]:
            return soft(g[:, None], card)[:, 0]
        low, high = 0.0, float(np.abs(g).max())
        best = self.threshold(g, 0.0)
        if np.count_nonzero(best) <= card:
            return _unit(best)
        for _ in range(60):
            level = 0.5 * (low + high)
            x = self.threshold(g, level)
            if np.count_nonzero(x) > card:
                low = level
                if np.count_nonzero(x) <= np.count_nonzero(best):
                    best = x
            else:
                high = level
                if x.any():
                    best = x
            if high - low <= 1e-12 * high:
                break
        best = levelled(best[:, None], 1e-6)[:, 0]  # bisection leaves tiny values in place of zeros
        if np.count_nonzero(best) > card:
            J = np.flatnonzero(top(np.abs(best), card))
            part = OrthogonalSoft(self.Q[J]).threshold(g[J], 0.0)
            if part.any():
                best = np.zeros_like(best)
                best[J] = part
        return _unit(best)


def _exact(g: np.ndarray, Q: np.ndarray, x: np.ndarray, bound: float) -> float:
    """Return the level at which the solution with the support and signs of x meets the l1 bound, or NaN."""
    J = np.flatnonzero(x)
    part, s = Q[J], np.sign(x[J])
    both = np.column_stack([g[J], s])
    u, d = (both - part @ np.linalg.lstsq(part, both, rcond=1e-12)[0]).T
    along, norm = float(u @ d), float(d @ d)
    if norm <= bound * bound * (1.0 + 1e-14):
        return np.nan
    rest = max(float(u @ u) - along * along / norm, 0.0)
    return (along - bound * np.sqrt(rest / (1.0 - bound * bound / norm))) / norm


def _unit(x: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(x)
    return np.asarray(x / length) if length > 0 else x
