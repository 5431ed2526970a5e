"""What a proof in a file claims, and the numbers by which a checker confirms it.

`check` asks for a witness wherever its proof has a choice. While a proof is written, `Witnesses` answers:
it finds the multipliers, by the methods of the search, and stores them by key for the file.
"""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh

from spcastat.config import listed
from spcastat.fit.record import Proven
from spcastat.fit.state import FitState, rule_of
from spcastat.inputs.row_data import Source
from spcastat.linalg.eigenvectors import symmetric
from spcastat.linalg.ties import is_sparse
from spcastat.proofs.adjusted_bounds import Cover, Supports, interval_relaxation, largest, middle_of
from spcastat.proofs.duals import ROUNDING, multiplier, supports_relaxation
from spcastat.proofs.eigenvalue_bounds import (
    Clock,
    closed_by_split,
    first_split,
    largest_others,
)
from spcastat.proofs.relaxed import LAST, LEAF, least_squares_frame
from spcastat.proofs.verify import (
    EPS,
    Ball,
    RefusedError,
    check,
    covariance,
    header_and_rows,
    places,
    sparse,
)

#: Largest numbers of variables and of values for which a proof is written.
MOST_VARIABLES, MOST_VALUES = 200, 5e7
#: To allow for rounding, the bound of a component in a file exceeds that of the certificate by ROOM times the
#: component's value. The bound of a joint proof exceeds the best known fit by at least JOINT_ROOM, the
#: tolerance within which a fit is called optimal.
ROUNDING_ROOM, JOINT_ROOM = 2e-9, 1e-4


# --- what a proof claims --------------------------------------------------------------------------


def claim_of(proven: Proven, state: FitState, source: Source) -> dict[str, Any] | str:
    """Return the claim of a proof as it is written to a file, or the reason why it cannot be written.

    The claim also has two arrays: "S", the covariance matrix as `verify` will compute it, scaled to total
    variance one and with a bound on its rounding, and the loadings "V".
    """
    if reason := reason_against(proven, state, source):
        return reason
    p, op = len(state.V), source.op
    standard = source.standard if source.matrix is not None else None
    if standard is None:
        X, centre, scale = op.block(np.arange(p)), np.zeros(p), np.ones(p)
    else:
        X = source.matrix.toarray() if is_sparse(source.matrix) else np.asarray(source.matrix, dtype=float)
        centre, scale = standard.mean, standard.scale
    if in_single_precision(X if standard is not None else X * op.unit * op.unit):
        return (
            "data in single precision, whose numbers in a text file are rounded: write the file, read it "
            "again, and fit what is read"
        )
    kind = "covariance" if standard is None else "rows"
    try:
        S = covariance(X, kind, centre, scale)
    except RefusedError as error:
        return f"these data: {error}"
    changed = float(np.linalg.norm(S.mid - op.block(np.arange(p)) / op.total))
    rows = proven.rows
    if proven.scope == "joint":
        bounds = [max(rows[0]["upper_bound"], rows[0]["best_known"] * (1.0 + JOINT_ROOM))]
    else:
        unit = op.total * op.unit**2
        bounds = [(row["upper_bound"] + ROUNDING_ROOM * row["best_known"]) / unit + 1e-12 for row in rows]
    room = 4.0 * len(rows) * changed if changed > 1e-10 else 0.0
    return {
        "S": S,
        "V": state.V,
        "measure": proven.measure if proven.scope == "joint" else "component",
        "columns": [str(name) for name in state.spec.columns],
        "data": kind,
        "centre": centre.tolist(),
        "scale": scale.tolist(),
        "loadings": state.V.tolist(),
        "bounds": [bound + room for bound in bounds],
    }


def reason_against(proven: Proven, state: FitState, source: Source) -> str | None:
    """Return the reason why `verify` could not check a proof for these data, or None."""
    p, k = state.V.shape
    matrix = source.matrix is None
    reasons = {
        "orthogonal=True": proven.orthogonal,
        "a rule for supports": rule_of(state.record) is not None,
        "objective='least_squares' and two components or more": proven.measure == "least_squares" and k > 1,
        "a formula or covariates": state.spec.kind == "formula" or source.covariates is not None,
        "weights": source.weights is not None,
        "missing values": source.gaps is not None or source.dropped > 0,
        "rows in chunks": source.stream is not None,
        f"more than {MOST_VARIABLES} variables": p > MOST_VARIABLES,
        "a component without loadings": not state.V.any(axis=0).all(),
        "given=, since the partial covariance matrix is in no file: compute it, and fit that matrix": (
            matrix and state.spec.partial is not None
        ),
        "the scale of a covariance matrix: divide its rows and columns, and fit that matrix": (
            matrix and source.groups is not None
        ),
        "nearest=True, since the nearest matrix is in no file: take that matrix, and fit it": (
            "moved" in source.about
        ),
        f"more than {MOST_VALUES:.0e} values": not matrix and float(source.n or 0) * p > MOST_VALUES,
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        return reason
    return unreadable_names(state.spec.columns)


def unreadable_names(columns: pd.Index) -> str | None:
    """Return the reason why the columns could not be found by name in a CSV file, or None."""
    names = [str(name) for name in columns]
    text = pd.DataFrame(columns=columns).to_csv(index=False)
    try:
        header = header_and_rows(io.StringIO(text), ",")[0]
        if places(header, names) == list(range(len(names))):
            return None
    except (RefusedError, ValueError):
        pass
    return f"the names {listed(names, 3)}, by which columns of a CSV file cannot be found"


def in_single_precision(X: np.ndarray) -> bool:
    """Return whether a column has only numbers in single precision, and these have fewer digits there."""
    for column in X.T:
        with np.errstate(over="ignore"):
            short = column.astype(np.float32)
        broken = column != np.rint(column)
        if (short == column).all() and (short[broken].astype(str).astype(float) != column[broken]).any():
            return True
    return False


#: Allowance for rounding, as a share of the total variance, and the relative size of the eigenvalues of a
#: multiplier that are dropped.
ROOM, SMALL = 1e-8, 1e-9


# --- the numbers that confirm it ------------------------------------------------------------------


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

    def __call__(self, key: str, asked: dict[str, Any]) -> Any:
        if not self.clock.runs():
            raise UnwrittenError("time limit")
        if "Q" in asked:
            self.found[key] = self._node(**asked)
        elif key == "first":
            self.found[key] = self._first(**asked)
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
        try:
            if len(free) > 1:
                sparse(Q, c, lambda key, asked: {"U": values}, "", taken, free)
            return {"U": values}
        except RefusedError:
            pass
        return {"split": free[int(np.argmax(np.diag(T) + largest_others(T, r - 1).sum(axis=1)))]}

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

    def _first(self, S: np.ndarray, places: dict[int, np.ndarray], cards: list[int]) -> list[dict[str, Any]]:
        """Return multipliers for the first of two components, or an empty list if they close too little."""

        def check() -> None:
            if not self.clock.runs():
                raise UnwrittenError("time limit")

        F, found = least_squares_frame(S, 2).F, []
        supports = {c: Supports.of(S, T) for c, T in places.items()}
        for c, d in {(cards[0], cards[1]), (cards[1], cards[0])}:
            cover = Cover(S, F, supports[c], supports[d], self.bound - ROOM)
            if not cover.run(check, lambda pairs: 0.0):
                return []
            found += [
                {
                    "card": c,
                    "from": one.low,
                    "to": one.high,
                    "loadings": one.loadings.tolist(),
                    "weight": one.weight,
                    "theta": one.theta,
                }
                for one in cover.multipliers
            ]
        return found

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
                    middle = middle_of(low, high)
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
        problem = interval_relaxation(ends, sizes[None] ** 2, D[None], others)
        X = factor(problem.bounds(self.bound - ROOM, LEAF, self.clock.runs)[1][0, 0])
        Z = np.array(X) @ np.array(X).T
        chord = A.T @ Z @ A + low * high * np.eye(A.shape[1])
        theta = [low + high - float(eigh(chord, A.T @ A, eigvals_only=True)[0])]
        theta += [float(np.linalg.eigvalsh(N - Z)[-1]) for N in rest]
        theta = [one + ROUNDING for one in theta]
        return (X, theta) if np.trace(Z) + sum(theta) <= self.bound - ROUNDING else None

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
    """Return the witnesses with which `verify` proves the bounds.

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


def factor(Z: np.ndarray) -> list[list[float]]:
    """Return the rows of X, to six digits, where XX' is close to Z and has only its larger eigenvalues."""
    values, vectors = np.linalg.eigh(Z)
    kept = values > SMALL * max(float(values[-1]), ROOM)
    kept[-1] = True
    values = values.clip(min=0.0)
    X = vectors[:, kept] * np.sqrt(values[kept])
    return [[float(f"{x:.6g}") for x in row] for row in X.tolist()]
