"""What a fit returns."""

from spcastat.results.fit import SpcaResult
from spcastat.results.source import Source
from spcastat.results.summary import Summary

__all__ = ["Source", "SpcaResult", "Summary"]
