"""(operator, solver, options) -> fit: what all methods share."""

from spcastat.engine.aim import Aim
from spcastat.engine.options import MOST_STARTS
from spcastat.engine.plan import Plan, choose_method, make_plan, require_components
from spcastat.engine.run import Fit, run

__all__ = ["MOST_STARTS", "Aim", "Fit", "Plan", "choose_method", "make_plan", "require_components", "run"]
