"""Tables in text files such as CSV, for the command and for Python."""

from spcastat.textfiles.delimited import FILES, SEPARATORS, TextTable, column_names, in_python
from spcastat.textfiles.encoded import PACKED, holds_at_most, usual_separator

__all__ = [
    "FILES",
    "PACKED",
    "SEPARATORS",
    "TextTable",
    "column_names",
    "holds_at_most",
    "in_python",
    "usual_separator",
]
