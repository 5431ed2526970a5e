"""Power iterations with thresholds, penalised rank-one approximations, and the penalty of a cardinality.

Witten, Tibshirani and Hastie (2009), "A penalized matrix decomposition, with applications to sparse
principal components and canonical correlation analysis", Biostatistics: SPC, section 3.2.

Shen and Huang (2008), "Sparse principal component analysis via regularized low rank matrix
approximation", Journal of Multivariate Analysis: sPCA-rSVD, Algorithm 1 and section 2.2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import (
    RELATIVE,
    hard,
    hard_at,
    l1_bounded,
    level_for,
    levelled,
    next_ties,
    soft,
    soft_at,
)
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

# --- power iterations -----------------------------------------------------------------------------


#: (X'u for the unit score u = Xv / |Xv|, current loadings v) -> new loadings of any length.
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Limit:
    """The end of an iteration: unit loadings, the loadings before scaling, steps, and convergence."""

    v: np.ndarray
    raw: np.ndarray
    n_iter: int
    converged: bool


def correlations(view: Operator, v: np.ndarray) -> np.ndarray:
    """Return X'u for the unit score u = Xv / |Xv|, from products with S alone.

    The entries are a_j'u = correlation times standard deviation of variable j. They are zero if the score has
    no variance.
    """
    Sv = view.dot(v)
    variance = float(v @ Sv)
    return Sv / np.sqrt(variance) if variance > 0 else np.zeros_like(Sv)


def power(view: Operator, start: np.ndarray, rule: Rule, tol: float, max_iter: int) -> Limit:
    """Iterate v <- rule(X'u), scaled to unit length, where u is the unit score of v.

    This is alternating minimisation of |X - u v'|^2 plus a penalty on v, with u eliminated by
    X'u = Sv / sqrt(v'Sv). Entries of X'u that tie up to rounding are made equal before the rule is applied,
    so that thresholds treat them alike, and rules that count keep the lowest indices.

    Parameters
    ----------
    view : Operator
    start : ndarray of shape (p,)
    rule : callable
    tol : float
        Converged when no loading changes by more than this.
    max_iter : int

    Returns
    -------
    Limit
        Its loadings are zero if the rule returned zero.
    """
    v, raw = start, start
    for step in range(1, max_iter + 1):
        raw = rule(levelled(correlations(view, v)[:, None], RELATIVE)[:, 0], v)
        length = float(np.linalg.norm(raw))
        if length == 0:
            return Limit(raw, raw, step, True)
        new = raw / length
        change = float(np.abs(new - v).max())
        v = new
        if change <= tol:
            return Limit(v, raw, step, True)
    return Limit(v, raw, max_iter, False)


def renormalised(view: Operator, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best unit loadings on the support of `v`, and the same scaled by the length of the score.

    Variational renormalisation (Moghaddam, Weiss and Avidan, 2006): the leading eigenvector of the
    variables in the support.
    """
    support = np.flatnonzero(v)
    best = np.zeros_like(v)
    value, vector = view.take(support).leading(1)
    best[support] = vector[:, 0]
    return best, best * np.sqrt(max(float(value[0]), 0.0))


def with_length(view: Operator, v: np.ndarray) -> np.ndarray:
    """Return w, unit loadings scaled by the length of the score, so that X - u w' = X (I - v v')."""
    return v * np.sqrt(max(float(v @ view.dot(v)), 0.0))


# --- the search for the penalty -------------------------------------------------------------------


#: Bisection ends when the bracket of the penalty is narrower than this share of the largest penalty.
BRACKET = 1e-9
#: The share used instead once a penalty that gives the cardinality is known. It is larger, as iterations
#: converge very slowly near a penalty at which the support changes.
BRACKET_FOUND = 1e-6


@dataclass(frozen=True)
class Run:
    """One run of a penalised method: unit loadings, the loadings before scaling, and how it ended."""

    v: np.ndarray
    raw: np.ndarray
    n_iter: int
    converged: bool
    penalty: float

    @classmethod
    def of(cls, limit: Limit, penalty: float) -> Run:
        """Return the run for an iteration that ended at `limit`."""
        return cls(limit.v, limit.raw, limit.n_iter, limit.converged, penalty)


@dataclass(frozen=True)
class Penalised(ComponentSolver):
    """A sequential method with a penalty, which also accepts a cardinality.

    With `card` the smallest penalty that gives the cardinality is found by bisection. If no penalty gives it,
    or only one that is larger than the same support needs, the method instead thresholds at the
    (card + 1)-th largest value inside its iteration, and the implied penalty is reported.

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component.
    penalty : tuple of float or None
        The penalty of each component, in the units of the method.
    tol : float
        Converged when a step changes no loading by more than this.
    max_iter : int
        The largest number of steps of one run.
    deflation : str
        A name in DEFLATIONS.
    """

    card: tuple[int, ...] | None = None
    penalty: tuple[float, ...] | None = None
    tol: float = 1e-8
    max_iter: int = 2000
    deflation: str = "projection"

    criterion = "adjusted variance"
    uses_starts = True
    compares_penalties = False
    #: Whether the penalty at which thresholding leaves a given number of nonzeros means the same as a fixed
    #: penalty.
    implies_penalty: ClassVar[bool] = True

    @abstractmethod
    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        """Fit one component with a penalty; the loadings are zero if the penalty is too large."""

    @abstractmethod
    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        """Fit one component with `card` nonzeros by thresholding inside the iteration."""

    @abstractmethod
    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        """Return a penalty at which at most one loading is nonzero."""

    def prefers(self, inside: Run, found: Run) -> bool:
        """Whether to prefer `inside`, which thresholds in each iteration, to `found`, with a fixed penalty.

        It is preferred if it has the same support at a smaller penalty: the iteration with a fixed penalty is
        then very slow near a turning point, or has stopped before one. With the l0 norm, for which
        thresholding at a cardinality is the exact solution of a step, it is preferred if its support is
        different.
        """
        if getattr(self, "norm", None) == "l0":
            return inside.converged and bool(((inside.v != 0) != (found.v != 0)).any())
        return (
            bool(((inside.v != 0) == (found.v != 0)).all())
            and inside.converged
            and inside.penalty < found.penalty * (1.0 - BRACKET_FOUND)
            and float(np.abs(inside.v - found.v).max()) > BRACKET_FOUND
        )

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        if self.penalty is not None:
            penalty = self.penalty[earlier.done]
            run = self.at_penalty(view, start, penalty)
            if not run.v.any():
                size = view.unit ** dict(self.units).get("penalty", 0)
                raise OptionError(
                    f"penalty={penalty * size:g} leaves no loading in component {earlier.done + 1}; there "
                    f"it must be in [0, {self.largest_penalty(view, start) * size:g})."
                )
            return self.finished(view, run, {"penalty": run.penalty})
        assert self.card is not None
        card = self.card[earlier.done]
        found = self._searched(view, start, card)
        inside = self.at_card(view, start, card)
        preferred = found is None or (self.implies_penalty and self.prefers(inside, found))
        run = inside if preferred or found is None else found
        if not run.v.any():  # the deflated data are zero: any direction is optimal
            run = replace(run, v=hard(start[:, None], card)[:, 0])
        details = {"penalty": run.penalty, "by penalty": run is found}
        return self.finished(view, run, details)

    def _searched(self, view: Operator, start: np.ndarray, card: int) -> Run | None:
        """Return the run at the smallest penalty with `card` nonzeros, or None if there is none.

        The search ends if the loading that is `card`-th in size ties with the next, since no penalty
        separates the two.
        """
        best: Run | None = None
        low, high = 0.0, self.largest_penalty(view, start)
        largest = high
        run = self.at_penalty(view, start, 0.0)
        if np.count_nonzero(run.v) <= card:
            return run if np.count_nonzero(run.v) == card else None
        if next_ties(run.v, card, RELATIVE * np.abs(run.v).max()):
            return None
        while high - low > (BRACKET if best is None else BRACKET_FOUND) * largest:
            middle = 0.5 * (low + high)
            run = self.at_penalty(view, start, middle)
            nonzeros = int(np.count_nonzero(run.v))
            if nonzeros > card or (nonzeros == card and not run.converged):
                low = middle  # a run that does not converge is at a turning point of the path
                if nonzeros > card and next_ties(run.v, card, RELATIVE * np.abs(run.v).max()):
                    break
            else:
                high = middle
                if nonzeros == card:
                    best = run
        return best

    def finished(self, view: Operator, run: Run, details: dict[str, Any]) -> Component:
        """Return the component of the chosen run; methods with a last step extend this function."""
        return Component(run.v, "converged" if run.converged else "max_iter", run.n_iter, run.raw, details)


# --- penalised matrix decomposition ---------------------------------------------------------------


@dataclass(frozen=True)
class PMD(Penalised):
    """max u'Xv over unit u and v with a bounded l1 norm of v ("SPC").

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component: the largest bound that gives them is found by bisection.
    t : tuple of float or None
        Bounds on the l1 norms of the unit loadings, each in [1, sqrt(p)] ("sumabs" times sqrt(p)).
    orth : bool
        Whether scores are orthogonal to the earlier ones (section 3.2, equation 3.14): X is then replaced
        by its residuals on the earlier scores, which is Schur complement deflation.
    deflation : str
        "projection" by default: since u is Xv scaled to unit length, X - d u v' = X (I - v v').
    """

    t: tuple[float, ...] | None = None
    orth: bool = False
    deflation: str = "projection"

    def __post_init__(self) -> None:
        if self.orth:
            if self.deflation not in ("projection", "schur"):
                raise OptionError(
                    f"orth=True and deflation={self.deflation!r} were given; orthogonal scores are what "
                    "deflation='schur' gives, so leave deflation out."
                )
            object.__setattr__(self, "deflation", "schur")

    # The penalty of the search is sqrt(p) minus the bound, so that it increases with sparsity.

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        bound = max(np.sqrt(view.p) - penalty, 1.0)
        return self._run(view, start, lambda q, v: l1_bounded(q[:, None], bound)[:, 0], penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        return self._run(view, start, lambda q, v: soft(q[:, None], card)[:, 0], None)

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        return float(np.sqrt(view.p) - 1.0)

    def _run(self, view: Operator, start: np.ndarray, rule: Rule, penalty: float | None) -> Run:
        limit = power(view, start, rule, self.tol, self.max_iter)
        if penalty is None:
            penalty = float(np.sqrt(view.p) - np.abs(limit.v).sum())
        return Run(limit.v, with_length(view, limit.v), limit.n_iter, limit.converged, penalty)

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        if self.t is not None:
            bound = self.t[earlier.done]
            run = self.at_penalty(view, start, np.sqrt(view.p) - bound)
            v = run.v if run.v.any() else l1_bounded(start[:, None], bound)[:, 0]
            status = "converged" if run.converged else "max_iter"
            return Component(v, status, run.n_iter, run.raw, {"t": bound, "l1 norm": float(np.abs(v).sum())})
        part = super().component(view, earlier, start)
        t = float(np.sqrt(view.p)) - part.details["penalty"]
        return replace(part, details={"t": t, "by t": part.details["by penalty"]})


# --- rSVD -----------------------------------------------------------------------------------------


#: The parameter a of the SCAD penalty, as in Fan and Li (2001) and the paper.
SCAD_A = 3.7


def scad_at(q: np.ndarray, level: float) -> np.ndarray:
    """SCAD thresholding: as `soft_at` for small values, none for large ones (Shen and Huang 2008, 2.2)."""
    size = np.abs(q)
    between = ((SCAD_A - 1.0) * q - np.sign(q) * SCAD_A * level) / (SCAD_A - 2.0)
    return np.where(size <= 2.0 * level, soft_at(q, level), np.where(size <= SCAD_A * level, between, q))


#: Norm -> function of (values, level).
THRESHOLDS = {"l0": hard_at, "l1": soft_at, "scad": scad_at}


@dataclass(frozen=True)
class RSVD(Penalised):
    """min |X - u v'|^2 + penalty(v) over unit scores u, one component after another.

    Attributes
    ----------
    norm : {"l0", "l1", "scad"}
        Hard, soft or SCAD thresholding of X'u.
    card : tuple of int or None
    penalty : tuple of float or None
        The threshold for X'u, in units of the standard deviations of the variables (the data are divided by
        the square root of n - 1). The paper's l1 penalty is twice this value, and its l0 penalty is the
        square of it.
    deflation : str
        "residual" as in the paper: the rows become X - u v', where v has the length after thresholding.
    """

    norm: Literal["l0", "l1", "scad"] = "l1"
    deflation: str = "residual"

    units = (("penalty", 1), ("objective", 2))

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        limit = power(view, start, lambda q, v: THRESHOLDS[self.norm](q, penalty), self.tol, self.max_iter)
        return Run.of(limit, penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            kept, level = level_for(q, card)
            return np.where(kept, THRESHOLDS[self.norm](q, level), 0.0)

        limit = power(view, start, rule, self.tol, self.max_iter)
        return Run.of(limit, level_for(correlations(view, limit.v), card)[1])

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        return float(np.abs(correlations(view, start)).max())
