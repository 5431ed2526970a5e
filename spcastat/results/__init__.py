"""What a fit returns; `spcastat.compare` and `spcastat.load` live in modules that few calls need."""

from spcastat.results.calls import call_text
from spcastat.results.fit import SpcaResult
from spcastat.results.path import SpcaPath
from spcastat.results.source import Source
from spcastat.results.summary import Summary

__all__ = ["Source", "SpcaPath", "SpcaResult", "Summary", "call_text"]
