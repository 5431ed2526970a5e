"""The result classes: fits, paths, comparisons, choices, sparse coordinates, resampling."""

from spcastat.results.call import Call
from spcastat.results.result import SpcaResult

__all__ = ["Call", "SpcaResult"]
