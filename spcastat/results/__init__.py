"""What a fit returns; paths, `spcastat.compare` and `spcastat.load` live in modules that few calls need."""

from spcastat.results.calls import call_text
from spcastat.results.fit import SpcaResult
from spcastat.results.source import Source
from spcastat.results.summary import Summary

__all__ = ["Source", "SpcaResult", "Summary", "call_text"]
