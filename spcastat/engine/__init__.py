"""(operator, solver, options) -> fit: what all methods share."""

from spcastat.engine.aim import Aim
from spcastat.engine.plan import Plan, make_plan
from spcastat.engine.run import Fit, run

__all__ = ["Aim", "Fit", "Plan", "make_plan", "run"]
