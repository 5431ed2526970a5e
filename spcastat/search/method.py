"""The method "joint": the search over the supports of all components as a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.operators import Operator
from spcastat.search.objectives import NAMES
from spcastat.solvers import JointSolver, Searched, Solution


@dataclass(frozen=True)
class Joint(JointSolver):
    """The loadings of given cardinalities whose objective is largest, all components searched for together.

    From many cheap starts single variables are exchanged, and fits that no exchange improves are disturbed,
    in searches that know nothing of one another, until these agree. The fit says how often the best was
    met. One component is the best support that exchanges find.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    objective : {"adjusted", "pev", "least_squares"}
        The measure to maximise: the variance of the scores, each component counting only what it adds to
        those before it; the reconstruction of the variables from the loadings; or their prediction from
        the scores. The first loses least in the two others.
    effort : {"quick", "auto", "thorough"}
        How long to search: from few starts without disturbing them; until independent searches agree; or
        until more of them do, from more starts and with more exchanges.
    """

    card: tuple[int, ...]
    objective: str = "adjusted"
    effort: str = "auto"

    criterion = "adjusted variance"

    @property
    def own_order(self) -> bool:
        """Whether the order of the components is part of what is found."""
        return self.objective == "adjusted"

    def near(self, op: Operator, starts: Sequence[np.ndarray], fixed: bool = False) -> np.ndarray:
        """Return the optimum near given loadings, each (p, k), or on the supports of the only one."""
        from spcastat.search.near import near

        return near(op, self.card, self.objective, starts, fixed)

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        """Search; it has starts of its own."""
        from spcastat.search.default import HELD, joint  # as slow to import as a small fit
        from spcastat.search.equals import first_of_equals

        found = joint(op, k, self.card, self.objective, self.effort, rng)
        value = found.value * op.total
        return Solution(
            first_of_equals(op, found.V) if op.p <= HELD else found.V,
            "searched",
            found.starts,
            value,
            np.array([value]),
            criterion=f"{NAMES[self.objective]}, joint search",
            optima=found.optima,
            search=Searched(
                found.starts,
                found.hits,
                found.chains,
                found.agreeing,
                found.unseen,
                found.settled,
                found.proven,
                None if found.variables is None else len(found.variables),
                found.sufficient,
            ),
        )
