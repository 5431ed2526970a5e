"""The names by which a call says what a search is for."""

from __future__ import annotations

#: objective -> its name in a header.
OBJECTIVES = {"adjusted": "adjusted variance", "pev": "PEV", "least_squares": "least-squares share"}

#: When a share of variance is kept: after every component, or by all of them together.
PROMISES = ("every", "total")
