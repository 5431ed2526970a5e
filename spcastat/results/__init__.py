"""What a fit returns; paths, `spcastat.compare` and `spcastat.load` live in modules that few calls need."""

from spcastat.results.call import call_text
from spcastat.results.fit import SpcaResult
from spcastat.engine.source import Source
from spcastat.report.summary import Summary

__all__ = ["Source", "SpcaResult", "Summary", "call_text"]
