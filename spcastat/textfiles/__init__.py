"""Tables in text files such as CSV, for the command and for Python."""

from spcastat.textfiles.delimited import TextTable, column_names
from spcastat.textfiles.encoded import PACKED, usual_separator
from spcastat.textfiles.notation import SEPARATORS, in_python

__all__ = ["PACKED", "SEPARATORS", "TextTable", "column_names", "in_python", "usual_separator"]
