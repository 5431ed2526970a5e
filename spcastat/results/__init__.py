"""The result classes: fits, paths, comparisons, choices, sparse coordinates, resampling."""

from spcastat.results.call import Call
from spcastat.results.fit import SpcaResult, result_of

__all__ = ["Call", "SpcaResult", "result_of"]
