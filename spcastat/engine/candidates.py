"""Whether a fit is screened, and with how many variables the search begins."""

from __future__ import annotations

from spcastat.engine.aim import Aim
from spcastat.errors import OptionError
from spcastat.operators import GRAM_ORDER, Gram, Operator
from spcastat.solvers import Solver

#: Candidates to begin with: so many for each nonzero loading, and at least so many.
PER_NONZERO, FEWEST = 2, 200
#: With more nonzeros than this in all, nothing is screened unless asked for.
NONZEROS = GRAM_ORDER // 3


def candidates_to_begin(op: Operator, solver: Solver, aim: Aim | None) -> int | None:
    """Return the number of candidates to begin with; None where the search shall run on all variables.

    Raises
    ------
    OptionError
        Where the data can only be screened, and the method has no screening or the call refuses it.
    """
    asked = None if aim is None else aim.screen
    must = op.out_of_core
    if aim is None or aim.objective != "pev" or not solver.screenable:
        if must and not solver.out_of_core:
            raise OptionError(
                f"With {op.p} variables (more than {GRAM_ORDER}) that are not in memory each product with the "
                "covariance matrix is a pass over the rows, and this fit needs hundreds of them. Use "
                "method='joint', or method='bcd-l0' with card=, objective='pev' and without nonneg; or give "
                "the data in memory."
            )
        return None
    if asked is False:
        if must:
            raise OptionError(
                f"screen=False was given, but with {op.p} variables (more than {GRAM_ORDER}) that are not in "
                "memory a fit must be screened; leave screen out, or give the data in memory."
            )
        return None
    cards: tuple[int, ...] = solver.card  # type: ignore[attr-defined]  # screenable solvers have one
    nonzeros = sum(cards)
    if asked is None and not must and (_few(op) or nonzeros > NONZEROS):
        return None
    if asked is None or asked is True:
        asked = min(max(FEWEST, PER_NONZERO * nonzeros), GRAM_ORDER)
        asked = max(asked, *cards)
    if asked < max(cards) or asked > GRAM_ORDER:
        raise OptionError(
            f"A screened fit begins with {asked} variables, but a component of {max(cards)} nonzeros "
            f"needs as many as that, and there may be at most {GRAM_ORDER}. Give a smaller card."
        )
    return min(asked, op.p)


def _few(op: Operator) -> bool:
    return isinstance(op, Gram) or op.p <= GRAM_ORDER
