"""The numbers that a proof needs, so that `checker` can check its bounds without the search.

`checker` asks for a witness wherever its proof has a choice. While a proof is written, `Witnesses` answers:
it finds the multipliers, by the methods of the search, and stores them by key for the file.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.linalg import eigh

from spcastat.certify.adjusted_bounds import largest
from spcastat.certify.bounds import largest_others
from spcastat.certify.checker import EPS, Ball, RefusedError, check, sparse
from spcastat.certify.clock import Clock
from spcastat.certify.dual import ROUNDING, supports_relaxation
from spcastat.certify.first_component import FLOORS, interval_relaxation
from spcastat.certify.multiplier import multiplier
from spcastat.certify.node import branching_variable, closed_by_split, first_split
from spcastat.certify.relaxed import LAST, LEAF
from spcastat.kernels.eig import symmetric

#: Allowance for rounding, as a share of the total variance, and the relative size of the eigenvalues of a
#: multiplier that are dropped.
ROOM, SMALL = 1e-8, 1e-9


class UnwrittenError(Exception):
    """No witness was found; the argument is the reason."""


class Witnesses:
    """Finds and stores a witness for each request of the checker.

    Parameters
    ----------
    bound : float
        The bound to be proven for the leaves of a joint proof.
    clock : Clock

    Attributes
    ----------
    found : dict of str to object
        The witnesses by key, in types that JSON can store.
    """

    def __init__(self, bound: float, clock: Clock):
        self.bound = bound
        self.clock = clock
        self.found: dict[str, Any] = {}
        self._started: dict[tuple[int, ...], np.ndarray] = {}

    def __call__(self, key: str, asked: dict[str, Any]) -> Any:
        if not self.clock.runs():
            raise UnwrittenError("time limit")
        if "Q" in asked:
            self.found[key] = self._node(**asked)
        elif "places" in asked:
            self.found[key] = self._root(**asked)
        elif (asked["R"] == np.eye(len(asked["R"]))).all():
            self.found[key] = self._projected(asked["M"], asked["at"])
        else:
            self.found[key] = self._ordered(asked["R"], asked["at"])
        return self.found[key]

    def _node(self, Q: Ball, c: int, taken: list[int], free: list[int]) -> dict[str, Any]:
        """Return the U of a leaf, or the variable on which a node of the tree branches."""
        r, level = c - len(taken), float(np.abs(Q.mid).max())
        if not free:
            return {"U": []}
        C = Q.mid[np.ix_(free, free)]
        if taken:
            inner, side = Q.mid[np.ix_(taken, taken)], Q.mid[np.ix_(taken, free)]
            C = C - side.T @ np.linalg.solve(inner, side)
        T = level * np.eye(len(free)) - symmetric(C)
        if r < 2 or len(free) <= r:
            U = T - np.diag(np.diag(T)) if r < 2 else np.zeros_like(T)
        else:
            U = closed_by_split(T, first_split(T, r), r, level)[1]
        # six digits: any multiplier gives a valid bound, and rounding makes it hardly larger
        values = [float(f"{x:.6g}") for x in U[np.tril_indices(len(free), -1)].tolist()]
        if len(free) == 1 or leaf_proven(Q, c, taken, free, values):
            return {"U": values}
        if 2 <= r < len(free):
            return {"split": free[branching_variable(T, largest_others(T, r - 1), U, r)]}
        return {"split": free[int(np.argmax(np.diag(T)))]}

    def _root(self, R: np.ndarray, places: dict[int, np.ndarray], cards: list[int]) -> list[list[float]]:
        """Return the rows of X, where Z = XX' is a multiplier for all supports; see `multiplier`."""
        part = self.clock.until(time.perf_counter() + 0.3 * self.clock.left)
        found = multiplier(
            R,
            {c: cards.count(c) for c in places},
            {c: T[:1] for c, T in places.items()},
            lambda G, c: largest(G, c, places[c], part),
            self.bound,
            part.runs,
        )
        return factor(found.Z)

    def _ordered(self, R: np.ndarray, at: list[np.ndarray]) -> list[dict[str, Any]]:
        """Return, with each component in the first place, intervals of its variance and their multipliers."""
        found = []
        for first, T in enumerate(at):
            rest = [R[:, S] @ R[:, S].T for j, S in enumerate(at) if j != first]
            low = self.bound - sum(float(np.linalg.eigvalsh(N)[-1]) for N in rest) - ROOM
            high = float(np.linalg.norm(R[:, T], 2) ** 2) + ROOM
            if low <= 0.0:
                raise UnwrittenError("supports on which a component other than the first reaches the bound")
            one: dict[str, Any] = {"cuts": [low], "Z": [], "theta": []}
            todo = [(low, max(high, low), 0)]
            while todo:
                low, high, halved = todo.pop()
                closed = self._interval(R[:, T], rest, low, high)
                if closed is not None:
                    one["cuts"].append(high)
                    one["Z"].append(closed[0])
                    one["theta"].append(closed[1])
                elif halved == 8 or not self.clock.runs():
                    raise UnwrittenError("the bound is not tight on some supports")
                else:
                    middle = (0.5 * (np.sqrt(low) + np.sqrt(high))) ** 2
                    todo += [(middle, high, halved + 1), (low, middle, halved + 1)]
            found.append(one)
        return found

    def _interval(
        self, A: np.ndarray, rest: list[np.ndarray], low: float, high: float
    ) -> tuple[list[list[float]], list[float]] | None:
        """Return a multiplier that proves the bound for an interval of the variance of the first component.

        It is returned as the rows of X, where Z = XX', with its thresholds theta; None if none was found.
        """
        D, sizes, _ = np.linalg.svd(A, full_matrices=False)
        ends, others = np.array([[low, high]]), [N[None] for N in rest]
        for floor in FLOORS:
            problem = interval_relaxation(ends, sizes[None] ** 2, D[None], others, floor)
            X = factor(problem.bounds(self.bound - ROOM, LEAF, self.clock.runs)[1][0, 0])
            Z = np.array(X) @ np.array(X).T
            chord = A.T @ Z @ A + low * high * np.eye(A.shape[1])
            theta = [low + high - float(eigh(chord, A.T @ A, eigvals_only=True)[0])]
            theta += [float(np.linalg.eigvalsh(N - Z)[-1]) for N in rest]
            theta = [one + ROUNDING for one in theta]
            if np.trace(Z) + sum(theta) <= self.bound - ROUNDING:
                return X, theta
        return None

    def _projected(self, M: np.ndarray, at: list[np.ndarray]) -> list[dict[str, Any]]:
        """Return, for each component, the rows of X, and a lower bound on v'XX'v for v on its support."""
        bases, level = [np.eye(len(M))[None][:, :, T] for T in at], self.bound - ROOM
        problem = supports_relaxation(M[None], bases, len(at))
        bound, Y = problem.bounds(level, LAST, self.clock.runs)
        if bound[0] > level:
            raise UnwrittenError("the bound is not tight on some supports")
        found = []
        for T, one in zip(at, Y[0], strict=True):
            X = factor(one)
            A = np.array(X)[T]
            found.append({"Y": X, "least": float(np.linalg.eigvalsh(A @ A.T)[0]) - ROUNDING})
        return found


def witnesses(
    S: np.ndarray | Ball, V: np.ndarray, measure: str, bounds: list[float], time_limit: float
) -> dict[str, Any]:
    """Return the witnesses with which `checker` proves the bounds.

    Parameters
    ----------
    S : Ball or ndarray of shape (p, p)
        Covariance matrix of total variance one; an array is taken to be rounded once.
    V : ndarray of shape (p, k)
    measure : {"component", "adjusted", "pev", "least_squares"}
    bounds : list of float
    time_limit : float
        In seconds.

    Raises
    ------
    UnwrittenError
        If none are found.
    """
    found = Witnesses(bounds[0] - ROUNDING, Clock(time.perf_counter() + time_limit))
    try:
        known = S if isinstance(S, Ball) else Ball(S, EPS)
        check(known, V, measure, [bound - 0.1 * ROUNDING for bound in bounds], found)
    except (RefusedError, np.linalg.LinAlgError) as error:
        raise UnwrittenError(str(error)) from error
    return found.found


def leaf_proven(Q: Ball, c: int, taken: list[int], free: list[int], values: list[float]) -> bool:
    """Return whether the matrix U with these `values` below its diagonal proves the bound of a node."""
    try:
        sparse(Q, c, lambda key, asked: {"U": values}, "", taken, free)
    except RefusedError:
        return False
    return True


def factor(Z: np.ndarray) -> list[list[float]]:
    """Return the rows of X, to six digits, where XX' is close to Z and has only its larger eigenvalues."""
    values, vectors = np.linalg.eigh(Z)
    kept = values > SMALL * max(float(values[-1]), ROOM)
    kept[-1] = True
    values = values.clip(min=0.0)
    X = vectors[:, kept] * np.sqrt(values[kept])
    return [[float(f"{x:.6g}") for x in row] for row in X.tolist()]
