"""The interface of solvers, which are frozen dataclasses of options with one fitting method, and results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from spcastat.arguments import plural
from spcastat.linalg.operators import Operator


class Course(Protocol):
    """A record of a search, whose fields are stored with the fit."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def in_words(self, p: int) -> str:
        """Return a description of the search as text; `p` is the number of variables."""


@dataclass(frozen=True)
class Constrained:
    """The record of a search under a constraint.

    Attributes
    ----------
    settled_fits, hits : int
        The number of settled fits with loadings that meet the constraint, and the number of these that
        reached the best value.
    constraint : str
        The name of the constraint.
    violation : float
        The largest correlation of two scores, or inner product of two loadings, in absolute value.
    without : float
        The objective of the fit without the constraint, as a share of the total variance.
    """

    settled_fits: int
    hits: int
    constraint: str
    violation: float
    without: float

    def in_words(self, p: int) -> str:
        """Return a description of the search as text; `p` is the number of variables."""
        return (
            f"reached by {self.hits} of {plural(self.settled_fits, 'fit')}; none of the most promising "
            "exchanges improves it"
        )


@dataclass(frozen=True)
class Grouping:
    """The record of a search for groups of all variables.

    Attributes
    ----------
    starts, hits : int
        The number of climbs, and the number of these that reached the best value with leading eigenvectors.
    groups : int
        The number of groups.
    fitted : int
        The number of partitions whose loadings were optimised.
    every : bool
        Whether all partitions were compared: each was either fitted or excluded by its PEV.
    settled : bool
        Whether every move and every swap of variables was tried, and none improves the fit.
    proven : bool
        Whether it is proven that no other groups, with any loadings, are better.
    """

    starts: int
    hits: int
    groups: int
    fitted: int
    every: bool
    settled: bool
    proven: bool

    def in_words(self, p: int) -> str:
        """Return a description of the search as text; `p` is the number of variables."""
        groups = plural(self.groups, "group")
        if self.proven:
            return f"proven: no other partition into {groups} is better"
        if self.every:
            return (
                f"best of all partitions into {groups}: {self.fitted} were fitted, no other can be better; "
                "the loadings of each are the best of a few local searches"
            )
        parts = [f"reached from {self.hits} of {self.starts} starts"] if self.starts > 1 else []
        if self.fitted > 1:
            parts.append(f"then the best of {self.fitted} partitions with fitted loadings")
        parts.append("no move of a variable improves it" if self.settled else "not all moves were tried")
        return "; ".join([*parts, "not all partitions were compared"])


@dataclass(frozen=True)
class Sparser:
    """The record of a search for the fewest nonzeros that keep a share of the variance PCA explains.

    Attributes
    ----------
    proposals : Mapping of str to int
        Rule -> number of nonzeros of the proposal, for proposals that keep the share.
    winner : str
        The rule whose proposal led to the loadings.
    nonzeros : int
        The number of nonzeros after all unnecessary ones were removed.
    searched : bool
        Whether a joint search then found no fit with one nonzero fewer.
    dense : bool
        Whether more than a third of the loadings are nonzero.
    proven : bool
        Whether fewer nonzeros are impossible because each component has only one.
    """

    proposals: Mapping[str, int]
    winner: str
    nonzeros: int
    searched: bool
    dense: bool
    proven: bool

    def in_words(self, p: int) -> str:
        """Return a description of the search as text; `p` is the number of variables."""
        if self.proven:
            return "proven: there cannot be fewer nonzeros than one for each component"
        count = len(self.proposals)
        if not count:
            return "PCA itself: no sparser fit that was tried reaches the share"
        if count == 1:
            parts = ["the only fit found that reaches the share"]
        else:
            parts = [f"the sparsest of {count} fits that reach it"]
        if self.searched:
            parts.append("a joint search found no fit with one nonzero fewer")
        if self.dense:
            parts.append("these are more than a third of all loadings")
        return "; ".join(parts)


#: Status -> message for the user, from best to worst.
ADVICE = {
    "exact": "solved without iteration",
    "converged": "converged",
    "searched": "search ended",
    "compared": "the best fit found on every choice of supports",
    "max_iter": "stopped at max_iter before it converged; raise max_iter or tol",
}


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a solver.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit-length loadings, one column per component.
    status : str
        A key of ADVICE.
    n_iter : int
        The number of sweeps or steps of the reported solution.
    objective : float
        The value of the solver's criterion (``Solver.criterion``).
    objectives : ndarray of shape (n_starts,)
        The value of the criterion for each start.
    details : dict
        Name -> sequence of length k, the values that the method reports for the components.
    candidates : ndarray of shape (n_starts, k, p) or None
        The loadings from each start, if another criterion may be used to choose among them.
    criterion : str or None
        The meaning of `objective`, if it is not ``Solver.criterion``.
    optima : tuple of (float, int)
        The distinct optima found, best first, each as a share of the total variance, and their frequencies.
    search : Course or None
        The record of a search over supports.
    rotated : ndarray of shape (p, k) or None
        The dense rotated loadings before a method truncates them, in the units of the data.
    """

    V: np.ndarray
    status: str
    n_iter: int
    objective: float
    objectives: np.ndarray
    details: dict[str, Any] = field(default_factory=dict)
    candidates: np.ndarray | None = None
    criterion: str | None = None
    optima: tuple[tuple[float, int], ...] = ()
    search: Course | None = None
    rotated: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Earlier:
    """Information about the earlier components, for solvers of single components.

    Attributes
    ----------
    count : int
        The number of earlier components.
    explained : float
        The adjusted variance of the earlier components (exact with Schur complement deflation).
    pca : ndarray of shape (k,)
        The leading eigenvalues of the covariance matrix before deflation.
    rng : numpy Generator or None
        The generator for solvers with random steps.
    V : ndarray of shape (p, count) or None
        The loadings of the earlier components, for methods with constraints on them.
    """

    count: int
    explained: float
    pca: np.ndarray
    rng: np.random.Generator | None = None
    V: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Component:
    """One component, with the status of its iteration.

    Attributes
    ----------
    v : ndarray of shape (p,)
        Unit loadings.
    status : str
        A key of ADVICE.
    n_iter : int
    raw : ndarray of shape (p,) or None
        The loadings with the length that the method gives them, for deflations that use it.
    details : dict
        Name -> value that the method reports for this component, such as its penalty.
    objective : float or None
        The value of ``Solver.criterion`` for this component; None if the criterion is the adjusted variance.
    """

    v: np.ndarray
    status: str
    n_iter: int
    raw: np.ndarray | None = None
    details: dict[str, Any] = field(default_factory=dict)
    objective: float | None = None


class Solver(ABC):
    """A method of sparse PCA with its options.

    Concrete solvers are frozen dataclasses derived from `JointSolver` or `ComponentSolver`. They use an
    operator, never data frames or labels.
    """

    #: The input that the solver needs: "gram" (products with the covariance matrix) or "rows".
    needs: ClassVar[Literal["gram", "rows"]] = "gram"
    #: Whether the result depends on starting values, so that ``start`` and ``n_init`` are useful.
    uses_starts: ClassVar[bool] = False
    #: The default start, as the authors of the method use it: a name in STARTS.
    first_start: ClassVar[str] = "pca"
    #: A phrase that describes ``Solution.objective``.
    criterion: ClassVar[str]
    #: The units of the objective, options and details, as a power of the unit of the data: 1 for a standard
    #: deviation, 2 for a variance. Quantities not listed have no unit.
    units: ClassVar[tuple[tuple[str, int], ...]] = (("objective", 2),)
    #: Whether the objective is a variance, so that its share of the total variance is meaningful.
    in_variance_units: ClassVar[bool] = True
    #: Whether a few products suffice, so that each can be a pass over rows that are not in memory.
    out_of_core: ClassVar[bool] = False
    #: Whether fits with a given penalty from several starts can be compared by variance.
    compares_penalties: ClassVar[bool] = True
    #: The default number of starts.
    n_init: int = 1
    #: Whether the method defines the order of the components. If so, a criterion that is a variance is the
    #: adjusted variance.
    own_order: bool = False
    #: Whether a rule restricts the variables of components.
    ruled: bool = False
    #: Whether the result depends on exact PCA, so that an approximate PCA does not suffice as a start.
    measured_by_pca: bool = True

    def eigenpairs(self, op: Operator, k: int) -> int:
        """Return the number of leading eigenpairs that a fit of k components needs, computed once."""
        return k


class JointSolver(Solver):
    """A solver of all components together."""

    #: Whether `solve` accepts several starts; if not, it is called once for each.
    at_once: ClassVar[bool] = True

    @abstractmethod
    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        """Fit k components from every start.

        Parameters
        ----------
        op : Operator
        k : int
        starts : ndarray of shape (n_starts, k, p)
            Starting loadings, one row per component. The first start contains the PCA loadings.
        rng : numpy Generator
            For solvers with random steps.
        """


class BatchSolver(JointSolver):
    """A joint solver that fits several data sets at once, such as the draws of a bootstrap."""

    @property
    @abstractmethod
    def learns(self) -> bool:
        """Whether fits of other data sets are as good as additional starts from the data."""

    @abstractmethod
    def batch(self, p: int) -> int:
        """Return the number of data sets of p variables that `nearby_optima` fits at once."""

    @abstractmethod
    def data_starts(
        self, op: Operator, k: int, rng: np.random.Generator, beside_fit: bool = False
    ) -> list[np.ndarray]:
        """Return starts of a search on one data set that depend only on these data, each of shape (p, k).

        Some starts must afterwards be rotated by `simplified`. With `beside_fit`, the search also starts from
        the fit of the data from which this data set was drawn, and there may be fewer starts.
        """

    @abstractmethod
    def simplified(self, starts: Sequence[Sequence[np.ndarray]], offset: int) -> list[list[np.ndarray]]:
        """Rotate starts of several data sets; `offset` is the number of starts that precede `data_starts`."""

    @abstractmethod
    def nearby_optima(
        self,
        ops: Sequence[Operator],
        starts: Sequence[Sequence[np.ndarray]],
        fixed: bool = False,
        like: np.ndarray | None = None,
        only_best: bool = False,
        known_fits: Sequence[np.ndarray] = (),
    ) -> list[np.ndarray]:
        """Return, for each data set, the best local optimum near given loadings, shape (p, k).

        Parameters
        ----------
        ops : sequence of Operator
        starts : sequence of sequences of ndarray of shape (p, k)
        fixed : bool
            Whether to keep the supports of the starts.
        like : ndarray of shape (p, k), optional
            Loadings whose cardinalities are used if `card` is not given; by default the first start.
        only_best : bool
            Whether exchanges of variables start only from the best starts.
        known_fits : sequence of ndarray of shape (p, k)
            Fits of other data sets; the best of these on a data set are additional starts.
        """


class ComponentSolver(Solver):
    """A solver of one component at a time; `spcastat.fit.run` deflates between components."""

    #: The deflation before the next component; the default is the published deflation of the method.
    deflation: str

    @abstractmethod
    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        """Fit the next component to the deflated `view`.

        `start`, shape (p,), has unit length if the solver uses starts; otherwise it is zero.
        """
