"""Copies and pickles of results.

A pickle includes data in memory, so that `refit` and `residuals` work after loading; `save` does not include
them. Rows in chunks are not pickled: the loaded fit behaves like one from a file without scores. Dask
collections are pickled by dask. Copies keep everything, and share the source of chunks.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any, Self

from spcastat.fit.call import packed_names
from spcastat.fit.state import FitState
from spcastat.reading.design import Spec


class Picklable:
    """Mixin for results that can be copied and pickled.

    A result has the data in `_source`, the spec of the columns in `_source` and `_state`, and the call in
    `_call`.
    """

    def __getstate__(self) -> dict[str, Any]:
        kept = {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }
        if _local_stream(self) is not None:
            kept |= {"_source": None, "_call": None}
            if "_state" in kept:
                kept["_state"] = replace(kept["_state"], moments=kept["_state"].moments.without_data())
        if "_state" in kept:  # how the numbers were chosen is pickled as text
            kept["_state"] = replace(kept["_state"], record=kept["_state"].record.written())
        for name in _SPECS:
            if kept.get(name) is not None:
                kept[name] = replace(kept[name], spec=_packed(kept[name].spec))
        return kept

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
        for one in _shared(self):
            memo[id(one)] = one
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin


#: Attributes that contain a Spec, and with it the names used by a formula.
_SPECS = ("_source", "_state")


def _packed(spec: Spec) -> Spec:
    """Return a spec whose formula has the values that it refers to in a form for pickle."""
    partial = None if spec.partial is None else replace(spec.partial, spec=_packed(spec.partial.spec))
    return replace(spec, context=packed_names(spec.context), partial=partial)


def _local_stream(result: Any) -> Any:
    """Return the stream of chunks read in this process, if the result has one."""
    source = result.__dict__.get("_source")
    stream = None if source is None else source.stream
    return stream if stream is not None and stream.local else None


def _shared(result: Any) -> list[Any]:
    """Return the objects that a deep copy shares with the original: modules, and sources of chunks."""
    state, source, call = (result.__dict__.get(name) for name in ("_state", "_source", "_call"))
    spec = source.spec if state is None else state.spec
    specs = [spec] if spec.partial is None else [spec, spec.partial.spec]
    names = [value for one in specs for value in (one.context or {}).values()]
    shared: list[Any] = [value for value in names if isinstance(value, ModuleType)]
    stream = _local_stream(result)
    if stream is not None:
        shared.append(stream)
        shared.append(None if call is None else call.data)
    return shared
