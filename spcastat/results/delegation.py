"""Descriptors for methods and properties of a result that call functions of its state, with docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from spcastat.engine.inputs import Source
from spcastat.results.other_names import answered
from spcastat.state import FitState
from spcastat.state.copies import own
from spcastat.state.resampled import Bootstrapped, Split

P = ParamSpec("P")
R = TypeVar("R")
Second = TypeVar("Second", Source | None, Bootstrapped, Split)
#: Parameters that a result fills in, and the attributes from which they are taken.
FILLED = {"state": "_state", "source": "_source", "found": "_found", "by_row": "_by_row", "before": "_before"}


class computed(property, Generic[R]):
    """A property computed by a function of the state and, if it has such a parameter, the data."""

    def __init__(self, function: Callable[..., R]):
        super().__init__(delegated(function))
        self.__doc__ = inspect.getdoc(function)

    if TYPE_CHECKING:

        def __get__(self, result: Any, owner: type | None = None) -> R: ...  # type: ignore[override]


def attribute(source: str | Callable[[Any], Any], doc: str) -> Any:
    """Return a property that returns a copy of an attribute of the result.

    Parameters
    ----------
    source : str or callable
        The path of the attribute, such as "_state.record.call", or a function of the result.
    doc : str
        The docstring.
    """
    read = attrgetter(source) if isinstance(source, str) else source
    return property(lambda result: own(read(result)), doc=doc)


@overload
def delegated(
    function: Callable[Concatenate[FitState, Second, P], R], name: str = "", /, **entries: str
) -> Callable[Concatenate[Any, P], R]: ...
@overload
def delegated(
    function: Callable[Concatenate[FitState, P], R], name: str = "", /, **entries: str
) -> Callable[Concatenate[Any, P], R]: ...
def delegated(function: Callable[..., Any], name: str = "", /, **entries: str) -> Callable[..., Any]:
    """Return a method that calls `function` with the state and the data of a result.

    The method has the signature and docstring of the function without the leading parameters in FILLED. Its
    name is that of the function, or `name`. For `entries` see :func:`documented`.
    """
    signature = inspect.signature(function)
    places = {name: FILLED[name] for name in signature.parameters if name in FILLED}
    left = [one for name, one in signature.parameters.items() if name not in places]

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(*(getattr(self, place) for place in places.values()), *args, **options)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(parameters=[itself, *left])  # type: ignore[attr-defined]
    method.__name__ = name or function.__name__
    method.__module__ = function.__module__
    return documented(function, *places, **entries)(method)


Method = TypeVar("Method", bound=Callable[..., Any])

#: A heading of a NumPy-style docstring with its line of dashes.
_HEADING = re.compile(r"^\w[\w ]*\n-+$", re.MULTILINE)


def documented(function: Callable[..., Any], *filled: str, **entries: str) -> Callable[[Method], Method]:
    """Give a method the docstring of `function`, without the parameters named in `filled`.

    `entries` are sentences added to the description of a parameter; an entry that starts with
    "name : type" replaces the description.
    """

    def dress(method: Method) -> Method:
        text = without_parameters(inspect.getdoc(function) or "", filled)
        for name, sentence in entries.items():
            text = _with_entry(text, name, sentence)
        method.__doc__ = text
        return answered(method)

    return dress


def without_parameters(text: str, names: tuple[str, ...]) -> str:
    """Return a NumPy-style docstring without the parameters `names`; an empty section is removed."""
    start = text.find("Parameters\n----------\n")
    if start < 0 or not names:
        return text
    body = start + len("Parameters\n----------\n")
    following = _HEADING.search(text, body)
    end = following.start() if following else len(text)
    kept = []
    for entry in re.split(r"\n(?=\S)", text[body:end].rstrip("\n")):
        before, colon, kind = entry.partition("\n")[0].partition(" : ")
        left = [name for name in before.split(", ") if name.strip() not in names]
        if left:
            kept.append(", ".join(left) + colon + kind + entry[len(entry.partition("\n")[0]) :])
    section = "Parameters\n----------\n" + "\n".join(kept) + "\n\n" if kept else ""
    return (text[:start] + section + text[end:]).rstrip()


def _with_entry(text: str, name: str, sentence: str) -> str:
    """Return a docstring with a sentence added to the entry of a parameter, or with the entry replaced."""
    replaced = re.match(r"(\w+) : ", sentence)
    entry = re.search(rf"^{name} : .*(?:\n(?:    .*|$))*", text, re.MULTILINE)
    if entry is None:
        raise KeyError(f"no parameter {name} is described")
    old = entry[0].rstrip("\n")
    if replaced is not None:
        new = sentence
    else:
        new = old + "\n" + textwrap.fill(sentence, 100, initial_indent="    ", subsequent_indent="    ")
    return text[: entry.start()] + new + text[entry.start() + len(old) :]
