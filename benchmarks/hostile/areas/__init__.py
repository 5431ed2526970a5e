"""The areas that are attacked: each is a module with a function ``cases()``, which yields its cases.

Another table of attacks is a module with such a function and a line in `AREAS`. Cases must come in the same
order each time: a worker process finds one by its number.
"""

from __future__ import annotations

import importlib
from functools import cache

from benchmarks.hostile.cases import Case

#: Name of an area to its module.
AREAS: dict[str, str] = {
    "arguments": "benchmarks.hostile.areas.arguments",
    "arrays": "benchmarks.hostile.areas.arrays",
    "frames": "benchmarks.hostile.areas.frames",
    "alignment": "benchmarks.hostile.areas.alignment",
    "changed": "benchmarks.hostile.areas.changed",
    "formulas": "benchmarks.hostile.areas.formulas",
    "files": "benchmarks.hostile.areas.files",
    "streams": "benchmarks.hostile.areas.streams",
    "command": "benchmarks.hostile.areas.command",
}


@cache
def cases_of(module: str) -> list[Case]:
    """Return all cases of the area that a module holds."""
    return list(importlib.import_module(module).cases())
