"""Methods and properties of a result that are functions of its state and its data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from spcastat.results.inherited_docs import documented
from spcastat.state.copies import own
from spcastat.state.resampled import Bootstrapped, Split

if TYPE_CHECKING:
    from spcastat.engine.inputs import Source
    from spcastat.state import FitState

P = ParamSpec("P")
R = TypeVar("R")
Found = TypeVar("Found", Bootstrapped, Split)
#: Parameters of the functions that a result fills in, and where it has them.
FILLED = {"state": "_state", "source": "_source", "found": "_found"}


class computed(property, Generic[R]):
    """A property of a result: a function of its state, and of its data if it has a parameter for them."""

    def __init__(self, function: Callable[..., R], doc: str | None = None):
        places = _filled(function)
        super().__init__(lambda result: function(*(getattr(result, place) for place in places.values())))
        self.__doc__ = doc or inspect.getdoc(function)

    if TYPE_CHECKING:

        def __get__(self, result: Any, owner: type | None = None) -> R: ...  # type: ignore[override]


def attribute(path: str, doc: str) -> Any:
    """Return the property that copies the attribute `path` of a result, such as "_state.record.call"."""
    read = attrgetter(path)
    return property(lambda result: own(read(result)), doc=doc)


@overload
def delegated(
    function: Callable[Concatenate[FitState, Source | None, P], R], name: str = "", /, **entries: str
) -> Callable[Concatenate[Any, P], R]: ...
@overload
def delegated(
    function: Callable[Concatenate[FitState, Found, P], R], name: str = "", /, **entries: str
) -> Callable[Concatenate[Any, P], R]: ...
@overload
def delegated(
    function: Callable[Concatenate[FitState, P], R], name: str = "", /, **entries: str
) -> Callable[Concatenate[Any, P], R]: ...
def delegated(function: Callable[..., Any], name: str = "", /, **entries: str) -> Callable[..., Any]:
    """Return the method that calls `function` with the state, and the data, of a result.

    The method has the signature and the docstring of the function without the parameters that are filled in,
    those of FILLED, which come first. Its name is that of the function, or `name`. For `entries` see
    :func:`documented`.
    """
    places = _filled(function)

    signature = inspect.signature(function)
    left = [one for name, one in signature.parameters.items() if name not in places]

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(*(getattr(self, place) for place in places.values()), *args, **options)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(parameters=[itself, *left])  # type: ignore[attr-defined]
    method.__name__ = name or function.__name__
    method.__module__ = function.__module__
    return documented(function, *places, **entries)(method)


def _filled(function: Callable[..., Any]) -> dict[str, str]:
    return {name: FILLED[name] for name in inspect.signature(function).parameters if name in FILLED}
