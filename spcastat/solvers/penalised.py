"""Thresholded power iterations, penalised rank-one approximations, and penalties for given cardinalities.

Witten, Tibshirani and Hastie (2009), "A penalized matrix decomposition, with applications to sparse
principal components and canonical correlation analysis", Biostatistics: SPC, section 3.2.

Shen and Huang (2008), "Sparse principal component analysis via regularized low rank matrix
approximation", Journal of Multivariate Analysis: sPCA-rSVD, Algorithm 1 and section 2.2.

Sigg and Buhmann (2008), "Expectation-maximization for sparse and non-negative PCA", ICML: emPCA, sections
2 and 3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import RELATIVE, better_signs, levelled, next_ties, unit
from spcastat.linalg.operators import Operator
from spcastat.linalg.thresholds import hard, hard_at, l1_bounded, level_for, positive_part, soft, soft_at
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

# --- power iterations -----------------------------------------------------------------------------


#: (X'u for the unit score u = Xv / |Xv|, current loadings v) -> new loadings of any length.
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Run:
    """The end of an iteration.

    Attributes
    ----------
    v, raw : ndarray of shape (p,)
        Unit loadings, and the loadings before scaling.
    n_iter : int
    converged : bool
    penalty : float
        The penalty that gives these loadings, for methods that have one.
    """

    v: np.ndarray
    raw: np.ndarray
    n_iter: int
    converged: bool
    penalty: float = 0.0


def correlations(view: Operator, v: np.ndarray) -> np.ndarray:
    """Return X'u for the unit score u = Xv / |Xv|, using only products with S.

    Entry j is a_j'u, the correlation of variable j with the score times its standard deviation. The entries
    are zero if the score has no variance.
    """
    Sv = view.dot(v)
    variance = float(v @ Sv)
    return Sv / np.sqrt(variance) if variance > 0 else np.zeros_like(Sv)


def power(view: Operator, start: np.ndarray, rule: Rule, tol: float, max_iter: int) -> Run:
    """Iterate v <- rule(X'u), scaled to unit length, where u is the unit score of v.

    This is alternating minimisation of |X - u v'|^2 plus a penalty on v, with u eliminated by
    X'u = Sv / sqrt(v'Sv). Entries of X'u that tie up to rounding are made equal before the rule is applied,
    so that thresholds treat them equally, and rules that keep a number of entries keep the lowest indices.

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
    Run
        The end of the iteration; the loadings are zero if the rule returned zero.
    """
    v, raw = start, start
    for step in range(1, max_iter + 1):
        raw = rule(levelled(correlations(view, v)[:, None], RELATIVE)[:, 0], v)
        length = float(np.linalg.norm(raw))
        if length == 0:
            return Run(raw, raw, step, True)
        unit_loadings = raw / length
        change = float(np.abs(unit_loadings - v).max())
        v = unit_loadings
        if change <= tol:
            return Run(v, raw, step, True)
    return Run(v, raw, max_iter, False)


def leading_on(view: Operator, support: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest variance on a support, ascending, and its unit loadings, shape (p,)."""
    value, vector = view.take(support).leading(1)
    v = np.zeros(view.p)
    v[support] = vector[:, 0]
    return float(value[0]), v


def renormalised(view: Operator, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best unit loadings on the support of `v`, and these times the length of the score.

    Variational renormalisation (Moghaddam, Weiss and Avidan, 2006): the leading eigenvector of the
    variables in the support.
    """
    value, loadings = leading_on(view, np.flatnonzero(v))
    return loadings, loadings * np.sqrt(max(value, 0.0))


def with_length(view: Operator, v: np.ndarray) -> np.ndarray:
    """Return w, unit loadings scaled by the length of the score, so that X - u w' = X (I - v v')."""
    return v * np.sqrt(max(float(v @ view.dot(v)), 0.0))


# --- the search for the penalty -------------------------------------------------------------------


#: Bisection ends when the bracket of the penalty is narrower than this share of the largest penalty.
BRACKET = 1e-9
#: The share that is used once a penalty that gives the cardinality is known. It is larger because iterations
#: converge very slowly near a penalty at which the support changes.
BRACKET_FOUND = 1e-6


@dataclass(frozen=True)
class Penalised(ComponentSolver):
    """A sequential method with a penalty, which also accepts a cardinality.

    With `card`, the smallest penalty that gives the cardinality is found by bisection. If no penalty gives
    it, or only a penalty larger than the same support needs, the method instead thresholds at the (card +
    1)-th largest value in each iteration, and the implied penalty is reported.

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

    @abstractmethod
    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        """Fit one component with a penalty; the loadings are zero if the penalty is too large."""

    @abstractmethod
    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        """Fit one component with `card` nonzeros by thresholding in each iteration."""

    @abstractmethod
    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        """Return a penalty at which at most one loading is nonzero."""

    def prefers(self, cardinality_run: Run, penalty_run: Run) -> bool:
        """Return whether to prefer `cardinality_run`, thresholded in each iteration, to `penalty_run`.

        It is preferred if it has the same support at a smaller penalty: the iteration with a fixed penalty is
        then very slow near a turning point, or has stopped before a turning point.
        """
        return (
            bool(((cardinality_run.v != 0) == (penalty_run.v != 0)).all())
            and cardinality_run.converged
            and cardinality_run.penalty < penalty_run.penalty * (1.0 - BRACKET_FOUND)
            and float(np.abs(cardinality_run.v - penalty_run.v).max()) > BRACKET_FOUND
        )

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        if self.penalty is not None:
            penalty = self.penalty[earlier.count]
            run = self.at_penalty(view, start, penalty)
            if not run.v.any():
                size = view.unit ** dict(self.units).get("penalty", 0)
                raise OptionError(
                    f"penalty={penalty * size:g} leaves no nonzero loading in component {earlier.count + 1}; "
                    f"give a value in [0, {self.largest_penalty(view, start) * size:g}) for this component."
                )
            return self.finished(view, run, {"penalty": run.penalty})
        assert self.card is not None
        card = self.card[earlier.count]
        run, by_penalty = self.of_card(view, start, card)
        if not run.v.any():  # the deflated data are zero: any direction is optimal
            run = replace(run, v=hard(start[:, None], card)[:, 0])
        return self.finished(view, run, {"penalty": run.penalty, "by penalty": by_penalty})

    def of_card(self, view: Operator, start: np.ndarray, card: int) -> tuple[Run, bool]:
        """Return the run that gives a cardinality, and whether a fixed penalty gives its loadings."""
        penalised = self._searched(view, start, card)
        cardinality_run = self.at_card(view, start, card)
        if penalised is None or self.prefers(cardinality_run, penalised):
            return cardinality_run, False
        return penalised, True

    def _searched(self, view: Operator, start: np.ndarray, card: int) -> Run | None:
        """Return the run at the smallest penalty with `card` nonzeros, or None if no penalty gives them.

        The search ends if the `card`-th largest loading ties with the next one, since no penalty separates
        the two.
        """
        best_run: Run | None = None
        low, high = 0.0, self.largest_penalty(view, start)
        largest = high
        run = self.at_penalty(view, start, 0.0)
        if np.count_nonzero(run.v) <= card:
            return run if np.count_nonzero(run.v) == card else None
        if next_ties(run.v, card, RELATIVE * np.abs(run.v).max()):
            return None
        while high - low > (BRACKET if best_run is None else BRACKET_FOUND) * largest:
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
                    best_run = run
        return best_run

    def finished(self, view: Operator, run: Run, details: dict[str, Any]) -> Component:
        """Return the component of the chosen run; methods with a final step extend this function."""
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
        Whether scores are orthogonal to the earlier scores (section 3.2, equation 3.14): X is then replaced
        by its residuals on the earlier scores, which is Schur complement deflation.
    deflation : str
        "projection" by default: since u is Xv scaled to unit length, X - d u v' = X (I - v v').
    """

    t: tuple[float, ...] | None = None
    orth: bool = False
    deflation: str = "projection"

    def __post_init__(self) -> None:
        if self.orth:
            object.__setattr__(self, "deflation", "schur")

    # The penalty of the search is sqrt(p) minus the bound, so that it increases with sparsity.

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        bound = max(np.sqrt(view.p) - penalty, 1.0)
        run = power(view, start, lambda q, v: l1_bounded(q[:, None], bound)[:, 0], self.tol, self.max_iter)
        return replace(run, raw=with_length(view, run.v), penalty=penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        run = power(view, start, lambda q, v: soft(q[:, None], card)[:, 0], self.tol, self.max_iter)
        penalty = float(np.sqrt(view.p) - np.abs(run.v).sum())
        return replace(run, raw=with_length(view, run.v), penalty=penalty)

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        return float(np.sqrt(view.p) - 1.0)

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        if self.t is not None:
            bound = self.t[earlier.count]
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
    """SCAD thresholding: like `soft_at` for small values, no change of large ones (Shen and Huang, 2.2)."""
    size = np.abs(q)
    between = ((SCAD_A - 1.0) * q - np.sign(q) * SCAD_A * level) / (SCAD_A - 2.0)
    return np.where(size <= 2.0 * level, soft_at(q, level), np.where(size <= SCAD_A * level, between, q))


#: Unit loadings from a penalty and from a cardinality count as the same if none differs by more than this.
SAME_LOADINGS = 1e-6


#: Norm -> function of (values, level).
THRESHOLDS = {"l0": hard_at, "l1": soft_at, "scad": scad_at}


@dataclass(frozen=True)
class LevelThreshold(Penalised):
    """A power method that thresholds X'u at a level, the common base of sPCA-rSVD and GPower.

    Attributes
    ----------
    norm : {"l0", "l1", "scad"}
        Hard, soft or SCAD thresholding of X'u.
    """

    norm: Literal["l0", "l1", "scad"] = "l1"

    def level(self, view: Operator, penalty: float) -> float:
        """Return the threshold for X'u that corresponds to a penalty."""
        return penalty

    def penalty_of(self, view: Operator, level: float) -> float:
        """Return the penalty that corresponds to a threshold for X'u."""
        return level

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        shrink, level = THRESHOLDS[self.norm], self.level(view, penalty)
        run = power(view, start, lambda q, v: shrink(q, level), self.tol, self.max_iter)
        return replace(run, penalty=penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            marks, level = level_for(q, card)
            return np.where(marks, THRESHOLDS[self.norm](q, level), 0.0)

        run = power(view, start, rule, self.tol, self.max_iter)
        level = level_for(correlations(view, run.v), card)[1]
        return replace(run, penalty=self.penalty_of(view, level))

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        return self.penalty_of(view, float(np.abs(correlations(view, start)).max()))

    def prefers(self, cardinality_run: Run, penalty_run: Run) -> bool:
        """Return whether to prefer `cardinality_run`; with the l0 norm, whether the support changed.

        With the l0 norm, thresholding at a cardinality is the exact solution of a step.
        """
        if self.norm == "l0":
            return cardinality_run.converged and bool(
                ((cardinality_run.v != 0) != (penalty_run.v != 0)).any()
            )
        return super().prefers(cardinality_run, penalty_run)


@dataclass(frozen=True)
class RSVD(LevelThreshold):
    """min |X - u v'|^2 + penalty(v) over unit scores u, one component after another.

    With `card`, every step thresholds X'u at its (card + 1)-th largest value, as mixOmics in R does; Shen and
    Huang call this the degree of sparsity (section 2.2). The penalty then changes from step to step.

    Attributes
    ----------
    card : tuple of int or None
    penalty : tuple of float or None
        The threshold for X'u, in units of the standard deviations of the variables (the data are divided by
        the square root of n - 1). The paper's l1 penalty is twice this value, and its l0 penalty is its
        square.
    fixed_penalty : bool
        Whether to use the smallest penalty that gives the cardinality, with the same value in every step.
    deflation : str
        "residual" as in the paper: the rows become X - u v', where v has the length after thresholding.
    """

    fixed_penalty: bool = False
    deflation: str = "residual"

    units: ClassVar[tuple[tuple[str, int], ...]] = (("penalty", 1), ("objective", 2))

    def of_card(self, view: Operator, start: np.ndarray, card: int) -> tuple[Run, bool]:
        if self.fixed_penalty:
            return super().of_card(view, start, card)
        run = self.at_card(view, start, card)
        penalised = self.at_penalty(view, start, run.penalty)
        same_loadings = float(np.abs(penalised.v - run.v).max()) <= SAME_LOADINGS
        return run, run.converged and penalised.converged and same_loadings


# --- EM -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EMPCA(ComponentSolver):
    """EM for the probabilistic PCA model in the limit of zero noise, with constraints on the loadings.

    The E-step computes the scores y = Xw / w'w. The M-step minimises |X - y w'|^2 with a bound on the l1
    norm of w. Along its solution path variables enter one at a time, so the cardinality determines the bound:
    X'y is soft-thresholded at its (card+1)-th largest value.

    Attributes
    ----------
    card : tuple of int
        The largest number of nonzeros of each component.
    nonneg : bool
        Whether loadings must be nonnegative (N-EMPCA). A component may then have fewer nonzeros.
    renormalise : bool
        Whether to replace the shrunken loadings by the loadings of largest variance on the same support.
    tol : float
        Converged when no loading changes by more than this.
    max_iter : int
    deflation : str
        "orthogonalised" as in the authors' program: rows are projected on the orthogonal complement of the
        loadings.
    """

    card: tuple[int, ...]
    nonneg: bool = False
    renormalise: bool = True
    tol: float = 1e-8
    max_iter: int = 2000
    deflation: str = "orthogonalised"

    criterion = "adjusted variance"
    uses_starts = True
    first_start = "column"

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        card = self.card[earlier.count]

        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            W = q[:, None]
            return soft(positive_part(W) if self.nonneg else W, card)[:, 0]

        if self.nonneg:
            start = unit(np.maximum(better_signs(start, 0) * start, 0.0)[:, None])[:, 0]
        run = power(view, start, rule, self.tol, self.max_iter)
        v, n_iter, converged = run.v, run.n_iter, run.converged
        if not v.any():  # the deflated data are zero
            v = soft(start[:, None], card)[:, 0]
        elif self.renormalise and self.nonneg:
            support = v > 0
            refit = power(
                view, v, lambda q, w: np.where(support, np.maximum(q, 0.0), 0.0), self.tol, self.max_iter
            )
            v, n_iter, converged = refit.v, n_iter + refit.n_iter, converged and refit.converged
        elif self.renormalise:
            v = renormalised(view, v)[0]
        status = "converged" if converged else "max_iter"
        return Component(v, status, n_iter, with_length(view, v))
