"""What users hold: a fit, a path of fits, a comparison, sparse coordinates."""

from spcastat.results.call import Call
from spcastat.results.result import SpcaResult

__all__ = ["Call", "SpcaResult"]
