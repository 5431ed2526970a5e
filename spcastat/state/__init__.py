"""What a fit is, in arrays and plain records, and the labelled numbers that follow from it."""

from spcastat.state.fitstate import FitState

__all__ = ["FitState"]
