"""The state of a fit, in arrays and records, and the labelled tables computed from it."""

from spcastat.state.fitstate import FitState

__all__ = ["FitState"]
