"""Copies and pickles of results.

A pickle includes data in memory, so that `refit` and `residuals` work after loading; `save` does not include
them. Rows in chunks are not pickled: the loaded fit behaves like one from a file without scores. Dask
collections are pickled by dask. Copies keep everything, and share the data, which nothing changes.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any, Self

from spcastat.fit.state import FitState
from spcastat.inputs.data import packed_spec


class Picklable:
    """Mixin for results that can be copied and pickled.

    A result has the data in `_source`, the spec of the columns in `_state`, and the call in `_call`.
    """

    def __getstate__(self) -> dict[str, Any]:
        content = {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }
        state, data = content.get("_state"), content.get("_source")
        if state is not None:  # how the numbers were chosen is pickled as text
            content["_state"] = replace(state, record=state.record.as_text(), spec=packed_spec(state.spec))
        if data is not None and not data.picklable:
            content |= {"_source": None, "_call": None}
            if state is not None:
                content["_state"] = replace(content["_state"], moments=state.moments.without_data())
        return content

    def _with_state(self, state: FitState) -> Self:
        """Return a copy with another state, whose cached tables are the same."""
        twin: Self = self.__copy__()
        twin.__dict__["_state"] = state
        return twin

    def __copy__(self) -> Any:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        twin = memo[id(self)] = object.__new__(type(self))
        for shared in _shared(self):
            memo[id(shared)] = shared
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin


def _shared(result: Any) -> list[Any]:
    """Return the objects that a deep copy shares with the original: data, their operator, and modules."""
    state, data = (result.__dict__.get(name) for name in ("_state", "_source"))
    shared = [] if data is None else [data, data.op]
    if state is None:
        return shared
    specs = [state.spec] if state.spec.partial is None else [state.spec, state.spec.partial.spec]
    names = [value for spec in specs for value in (spec.context or {}).values()]
    return [*shared, *(value for value in names if isinstance(value, ModuleType))]
