"""Results in pickles and copies: to other processes, and back.

A pickle carries the data in memory, so that `refit` and `residuals` work where it is opened; `save` leaves
them behind. Rows that come in chunks stay where they are: such a fit arrives as one from a file without
scores does. Collections of dask travel as dask has it. Copies keep everything, chunks as the same source.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from spcastat.intake import Spec


@dataclass(frozen=True)
class _Module:
    """A module by its name: modules themselves cannot be pickled."""

    name: str


def packed_names(context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the names that a formula uses such that they can be pickled, unless the user's own cannot."""
    if context is None:
        return None
    return {
        name: _Module(value.__name__) if isinstance(value, ModuleType) else value
        for name, value in context.items()
    }


def unpacked_names(context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return what `packed_names` was given."""
    if context is None:
        return None
    return {
        name: importlib.import_module(value.name) if isinstance(value, _Module) else value
        for name, value in context.items()
    }


class Carried:
    """A result that can be copied, and pickled.

    Its data are in `_source`, the way to new data in that or in `_spec`, what repeats the call in `_again`.
    """

    def __getstate__(self) -> dict[str, Any]:
        stays = _local_stream(self)
        state = {
            name: value
            for name, value in self.__dict__.items()
            if not name.startswith("_handed_") and name != "_distances"  # had again when asked for
        }
        if stays:
            state |= {"_source": None, "_again": None, "_moments": state["_moments"].settled()}
        source = state.get("_source")
        if source is not None:
            state["_source"] = replace(source, spec=_with(source.spec, packed_names(source.spec.context)))
        if "_spec" in state:
            state["_spec"] = _with(state["_spec"], packed_names(state["_spec"].context))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        source, spec = state.get("_source"), state.get("_spec")
        if spec is not None:
            state["_spec"] = _with(spec, unpacked_names(spec.context))
        if source is not None:
            state["_source"] = replace(source, spec=_with(source.spec, unpacked_names(source.spec.context)))
        self.__dict__.update(state)

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


def _with(spec: Spec, context: Mapping[str, Any] | None) -> Spec:
    return spec if spec.context is None else replace(spec, context=context)


def _local_stream(result: Any) -> Any:
    """Return the stream that walks over chunks in this process, if the data of a result are one."""
    source = result.__dict__.get("_source")
    stream = None if source is None else source.stream
    return stream if stream is not None and stream.local else None


def _shared(result: Any) -> list[Any]:
    """Return what a deep copy has in common with the original: modules, and sources of chunks."""
    source, again, spec = (result.__dict__.get(name) for name in ("_source", "_again", "_spec"))
    spec = spec if spec is not None else source.spec
    shared: list[Any] = [value for value in (spec.context or {}).values() if isinstance(value, ModuleType)]
    stream = _local_stream(result)
    if stream is not None:
        shared.append(stream)
        shared.append(None if again is None else again.data)
    return shared
