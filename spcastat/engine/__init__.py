"""From data and a request to a fit: the steps that all methods share."""

from spcastat.engine.plan import Plan, Request, choose_method, make_plan, require_components
from spcastat.engine.run import Fit, run, run_path

__all__ = ["Fit", "Plan", "Request", "choose_method", "make_plan", "require_components", "run", "run_path"]
