"""Methods that pay a penalty for each nonzero, and how a preset cardinality is reached with them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.ties import RELATIVE, hard
from spcastat.operators import Operator
from spcastat.solvers.power import Limit
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

#: The bracket of the penalty is halved until it is narrower than this share of the largest penalty, ...
BRACKET = 1e-9
#: ... or than this once a penalty that gives the cardinality is known: it need not be the smallest to the
#: last digit, and close to where a support changes an iteration takes for ever.
BRACKET_FOUND = 1e-6


@dataclass(frozen=True)
class Run:
    """One run of a penalised method: loadings of unit and of raw length, and how it ended."""

    v: np.ndarray
    raw: np.ndarray
    n_iter: int
    converged: bool
    penalty: float

    @classmethod
    def of(cls, limit: Limit, penalty: float) -> Run:
        """Return the run of an iteration that ended at `limit`."""
        return cls(limit.v, limit.raw, limit.n_iter, limit.converged, penalty)


@dataclass(frozen=True)
class Penalised(ComponentSolver):
    """A sequential method with a penalty, which also takes a cardinality.

    With `card` the smallest penalty that gives the cardinality is found by bisection. Where no penalty
    gives it, or a larger one than is needed for the same support, the method thresholds at the
    (card + 1)-th largest value inside its iteration instead, and the penalty that this implies is reported.

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component.
    penalty : tuple of float or None
        The penalty of each component, in the method's own units.
    tol : float
        Converged when a step changes no loading by more than this.
    max_iter : int
        Steps of one run, at most.
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

    @property
    def comparable(self) -> bool:
        return self.penalty is None

    @abstractmethod
    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        """Fit one component with a penalty; zero loadings where the penalty leaves nothing."""

    @abstractmethod
    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        """Fit one component with `card` nonzeros by thresholding inside the iteration."""

    @abstractmethod
    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        """Return a penalty at which at most one loading is left."""

    def finished(self, view: Operator, run: Run) -> Run:
        """Return the chosen run after the method's last step, such as new loadings on its support."""
        return run

    @property
    def exact_at_card(self) -> bool:
        """Whether thresholding at a cardinality solves a step exactly: no other loadings do better."""
        return False

    def prefers(self, inside: Run, found: Run) -> bool:
        """Whether to take the run that thresholds inside its iteration though a penalty was found.

        It is taken where it has the same support at a smaller penalty: the iteration at a fixed penalty
        creeps past a turning point there, or stops short of one. Where it solves the problem constrained to
        the cardinality exactly (:attr:`exact_at_card`) it is taken for another support, too.
        """
        if self.exact_at_card:
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
            return self._component(view, run, {"penalty": run.penalty})
        assert self.card is not None
        card = self.card[earlier.done]
        found = self._searched(view, start, card)
        inside = self.at_card(view, start, card)
        run = inside if found is None or self.prefers(inside, found) else found
        if not run.v.any():  # nothing is left of the data: any direction does
            run = replace(run, v=hard(start[:, None], card)[:, 0])
        details = {"penalty": run.penalty, "by penalty": run is found}
        return self._component(view, run, details)

    def _searched(self, view: Operator, start: np.ndarray, card: int) -> Run | None:
        """Return the run at the smallest penalty with `card` nonzeros, or None where there is none.

        No penalty parts variables that tie: where the last to stay ties with the first to go the search ends.
        """
        best: Run | None = None
        low, high = 0.0, self.largest_penalty(view, start)
        largest = high
        run = self.at_penalty(view, start, 0.0)
        if np.count_nonzero(run.v) <= card:
            return run if np.count_nonzero(run.v) == card else None
        if _tied(run.v, card):
            return None
        while high - low > (BRACKET if best is None else BRACKET_FOUND) * largest:
            middle = 0.5 * (low + high)
            run = self.at_penalty(view, start, middle)
            nonzeros = int(np.count_nonzero(run.v))
            if nonzeros > card or (nonzeros == card and not run.converged):
                low = middle  # a run that does not settle lies at a turning point of the path
                if nonzeros > card and _tied(run.v, card):
                    break
            else:
                high = middle
                if nonzeros == card:
                    best = run
        return best

    def _component(self, view: Operator, run: Run, details: dict[str, Any]) -> Component:
        run = self.finished(view, run)
        return Component(run.v, "converged" if run.converged else "max_iter", run.n_iter, run.raw, details)


def _tied(v: np.ndarray, card: int) -> bool:
    """Return whether the `card`-th largest absolute loading ties with the next."""
    ordered = -np.partition(-np.abs(v), (0, card - 1, card))
    return bool(ordered[card - 1] - ordered[card] <= RELATIVE * ordered[0])
