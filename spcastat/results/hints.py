"""What to do about a call that cannot be made: its argument may belong elsewhere, its data be gone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spcastat.config import nearest
from spcastat.errors import NoRowsError, UnknownOptionError
from spcastat.registry import CONTROLS
from spcastat.results.other_names import ARGUMENTS
from spcastat.state import FitState

#: (function, argument) -> why there is no such argument there, and what to do.
NO_PLACE = {
    ("spca_cov", "center"): "a covariance matrix is centred already, and mean= gives transform() the means",
    ("spca_cov", "weights"): "weights are of rows, so give the rows to spca(), or the weighted matrix",
    ("spca_cov", "na"): "missing values are of rows, so give the rows to spca()",
    **{
        (name, "zeros"): "a share of zeros among the scores is for spcastat.spco(data, k, zeros=...)"
        for name in ("spca", "spca_cov", "spca_path")
    },
}


def hint(
    called: Sequence[Callable[..., Any]],
    homes: Mapping[str, Callable[..., Any]],
    options: Iterable[str],
    name: str,
) -> str:
    """Return what to do about an argument that a call cannot have: where it belongs, or what is near.

    Parameters
    ----------
    called : sequence of callables
        The function that fits, and the one that was called and hands its options to it.
    homes : mapping
        What each of the functions makes, and the function.
    options : iterable of str
        The options of all methods.
    name : str
    """
    own = set().union(*map(_arguments, called))
    if name in ARGUMENTS:
        return f" Here {ARGUMENTS[name]}."
    if place := _elsewhere(called[0], homes, name):
        return f" It {place}."
    if near := nearest(name, sorted(own | set(options))):
        return near
    for other in homes.values():
        if near := nearest(name, sorted(_arguments(other))):
            word = near.split("'")[1]
            return f"{near} That {_elsewhere(called[0], homes, word)}."
    return ""


def refuse_controls(options: Mapping[str, Any]) -> None:
    """Raise UnknownOptionError where a path is given what sets the sparsity of one fit."""
    for name in CONTROLS:
        if options.get(name) is not None:
            raise UnknownOptionError(
                f"{name}= was given to spca_path(), which fits a range of cardinalities: give "
                f"cards=, such as cards=[1, 4, 7], or use spca() or spca_cov() for one fit with {name}=."
            )


def _elsewhere(function: Callable[..., Any], homes: Mapping[str, Callable[..., Any]], name: str) -> str:
    """Return where an argument that `function` does not have belongs, or an empty string."""
    if reason := NO_PLACE.get((function.__name__, name)):
        return f"has no place in {function.__name__}(): {reason}"
    owners = [what for what, other in homes.items() if other is not function and name in _arguments(other)]
    return f"belongs to {owners[0]}" if owners else ""


def _arguments(function: Callable[..., Any]) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}


def no_data(state: FitState, what: str) -> NoRowsError:
    """Return the error of `what`, which needs the data, called on a fit from a file."""
    return NoRowsError(
        f"{what} needs the data, and a fit from a file does not have them; fit again: {state.record.call}."
    )
