"""The contract of a solver: a frozen record of options with one method that solves, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from spcastat.config import plural
from spcastat.operators import Operator


@dataclass(frozen=True)
class Searched:
    """How a search went: what was seen, from which the reader may judge whether there is something better.

    Attributes
    ----------
    starts : int
        Starts that were climbed from.
    hits : int
        How many of them ended in the best fit.
    chains, agreeing : int
        Searches that know nothing of one another, and how many of them ended in the best fit.
    unseen : float
        Good and Turing's estimate of the chance that one more start ends in an optimum not met before.
    settled : bool or None
        Whether every exchange of one variable of one component for another was tried, and none improves
        the fit; None where they were not all tried.
    proven : bool
        Whether no other loadings of these cardinalities are better.
    variables : int or None
        Size of the working set, where the search ran on some of the variables.
    sufficient : bool or None
        For a working set, whether exchanges with all other variables were tested and none improves the fit.
    """

    starts: int
    hits: int
    chains: int
    agreeing: int
    unseen: float
    settled: bool | None
    proven: bool
    variables: int | None = None
    sufficient: bool | None = None

    def told(self, p: int) -> str:
        """Return all this in a sentence; `p` is the number of variables."""
        if self.proven:
            return "proven: no other loadings of these cardinalities are better"
        parts = []
        if self.starts > 1:
            often = "once" if self.hits == 1 else plural(self.hits, "time")
            agree = f", by {self.agreeing} of {self.chains} independent searches" if self.chains > 1 else ""
            parts.append(f"best of {self.starts} starts, met {often}{agree}")
        if self.variables is not None:
            parts.append(f"searched among {self.variables} of {p} variables")
        if self.sufficient is False:
            parts.append("exchanges with the others may improve it")
        else:
            parts.append("no single exchange improves it" if self.settled else "not all exchanges were tried")
        return "; ".join(parts)


@dataclass(frozen=True)
class Sparser:
    """How the fewest nonzeros were looked for that keep a share of the variance that PCA explains.

    Attributes
    ----------
    proposals : Mapping of str to int
        Nonzeros of each proposal that keeps the share, by the rule that it was made by.
    winner : str
        The proposal that the loadings come from.
    nonzeros : int
        What is left of it after all that could be spared was taken out.
    searched : bool
        Whether a search of all components together then failed to do with one nonzero less.
    dense : bool
        Whether more than a third of the loadings are nonzero all the same.
    proven : bool
        Whether there cannot be fewer: one for each component.
    """

    proposals: Mapping[str, int]
    winner: str
    nonzeros: int
    searched: bool
    dense: bool
    proven: bool

    def told(self, p: int) -> str:
        """Return all this in a sentence; `p` is the number of variables."""
        if self.proven:
            return "proven: there cannot be fewer nonzeros than one for each component"
        count = len(self.proposals)
        best = "the only proposal" if count == 1 else f"fewest nonzeros of {count} proposals ({self.winner})"
        if not count:
            return "PCA itself: nothing sparser that was tried keeps the share"
        parts = [best]
        if self.searched:
            parts.append("a joint search found none with one less")
        if self.dense:
            parts.append("more than a third of the loadings are nonzero: no sparse fit keeps this share")
        return "; ".join(parts)


#: status -> what to tell the user, from best to worst.
ADVICE = {
    "exact": "solved without iteration",
    "converged": "converged",
    "searched": "search ended",
    "max_iter": "stopped at max_iter before it converged; raise max_iter or tol",
}


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, in arrays.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit-length loadings, one column a component.
    status : str
        A key of ADVICE.
    n_iter : int
        Sweeps or steps of the reported solution.
    objective : float
        The value of the solver's own criterion (``Solver.criterion``).
    objectives : ndarray of shape (n_starts,)
        The criterion's value from every start.
    details : dict
        What a method reports of each component, by name: sequences of length k.
    candidates : ndarray of shape (n_starts, k, p) or None
        The loadings that every start led to, where another criterion may choose between them.
    criterion : str or None
        What `objective` holds where it is not ``Solver.criterion``.
    optima : tuple of (float, int)
        Distinct optima that a search met, as shares of the total variance, the best first, and how often.
    search : Searched, Sparser or None
        How a search over supports went.
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
    search: Searched | Sparser | None = None


@dataclass(frozen=True, eq=False)
class Earlier:
    """What a solver of single components may know of the earlier ones.

    Attributes
    ----------
    done : int
        How many components precede this one.
    explained : float
        Their adjusted variance (exact under Schur complement deflation).
    pca : ndarray of shape (k,)
        The leading eigenvalues of the whole covariance matrix.
    rng : numpy Generator or None
        For solvers that draw at random.
    V : ndarray of shape (p, done) or None
        The loadings of the components before, for methods that keep to them.
    """

    done: int
    explained: float
    pca: np.ndarray
    rng: np.random.Generator | None = None
    V: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Component:
    """One component and how it was reached.

    Attributes
    ----------
    v : ndarray of shape (p,)
        Unit loadings.
    status : str
        A key of ADVICE.
    n_iter : int
    raw : ndarray of shape (p,) or None
        Loadings at the length that the method gives them, where deflation uses it.
    details : dict
        What the method reports of this component, by name, such as its penalty.
    objective : float or None
        The component's value of ``Solver.criterion``; None where that is the adjusted variance.
    """

    v: np.ndarray
    status: str
    n_iter: int
    raw: np.ndarray | None = None
    details: dict[str, Any] = field(default_factory=dict)
    objective: float | None = None


class Solver(ABC):
    """A method of sparse PCA with its options.

    Concrete solvers are frozen dataclasses. They see an operator, never data frames or labels, and
    derive from `JointSolver` or `ComponentSolver`.
    """

    #: What is asked of the operator: "gram" (products with the covariance matrix) or "rows".
    needs: ClassVar[Literal["gram", "rows"]] = "gram"
    #: Whether the result depends on starting values, so that ``start`` and ``n_init`` make sense.
    uses_starts: ClassVar[bool] = False
    #: Where the iteration begins, unless the call says otherwise: as its authors have it. A name in STARTS.
    first_start: ClassVar[str] = "pca"
    #: In words, the quantity that ``Solution.objective`` holds.
    criterion: ClassVar[str]
    #: The unit of that quantity, and of options and details that have one, as a power of that of the data: 1
    #: for a standard deviation, 2 for a variance. What is not named here has none.
    units: ClassVar[tuple[tuple[str, int], ...]] = (("objective", 2),)
    #: Whether that quantity is a variance, so that its share of the total variance says something.
    in_variance_units: ClassVar[bool] = True
    #: Whether it can do with a few products: rows that are passed over for each of them will do.
    out_of_core: ClassVar[bool] = False

    @property
    def screenable(self) -> bool:
        """Whether a fit may be searched for among some of the variables, and verified against all.

        Then ``card`` says how many nonzeros there are, and explained variance is what the solver maximises.
        """
        return False

    @property
    def n_init(self) -> int:
        """How many starts are tried, unless the call says otherwise."""
        return 1

    @property
    def comparable(self) -> bool:
        """Whether fits from several starts can be compared: at a given penalty variance says nothing."""
        return True

    @property
    def own_order(self) -> bool:
        """Whether the components have an order of the method's own.

        Where the criterion is a variance it is the adjusted one, which depends on the order.
        """
        return False

    @property
    def ruled(self) -> bool:
        """Whether a rule says which variables components may have."""
        return False

    @property
    def measured_by_pca(self) -> bool:
        """Whether what PCA explains is part of what is asked, so that a start near it will not do."""
        return not (self.out_of_core or self.screenable)


class JointSolver(Solver):
    """A solver of all components together."""

    #: Whether `solve` takes several starts; if not, it is called with one after another.
    at_once: ClassVar[bool] = True

    @abstractmethod
    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        """Fit k components from every start.

        Parameters
        ----------
        op : Operator
        k : int
        starts : ndarray of shape (n_starts, k, p)
            Starting loadings, one row a component. The first start is PCA's own loadings.
        rng : numpy Generator
            For solvers that draw at random.
        """


class ComponentSolver(Solver):
    """A solver of one component at a time; the engine deflates between components."""

    #: How a component is removed before the next is sought: the method's own way, and an option.
    deflation: str

    @abstractmethod
    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        """Fit the next component to the deflated `view`.

        `start`, shape (p,), has unit length for a solver that uses starts, else it is zero.
        """
