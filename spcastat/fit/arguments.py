"""The arguments of functions that fit: tables and formulas, and advice on names that are none."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, TypeVar, cast

from spcastat.argument_names import ARGUMENTS, explained
from spcastat.config import listed, nearest, shown
from spcastat.errors import (
    OptionError,
    UnknownOptionError,
)
from spcastat.fit.method_table import CONTROLS, SOLVERS

# --- the table and the formula of a call ----------------------------------------------------------


Function = TypeVar("Function", bound=Callable[..., Any])


def with_table_by_name(function: Function) -> Function:
    """Return an `explained` function that raises OptionError for a table after a formula, without names.

    Python refuses such a call before the function begins if it has a keyword for the second place.
    """

    inner = explained(function)

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        first_argument, second_argument = (*arguments, None, None)[:2]
        if isinstance(first_argument, str) and len(getattr(second_argument, "shape", ())) == 2:
            name = function.__name__
            k = ", k=2" if "k" in inspect.signature(function).parameters else ""
            tilde = first_argument if first_argument.lstrip().startswith("~") else "~ a + b"
            begins = "" if tilde is first_argument else " A formula is text that begins with ~."
            raise OptionError(
                f"{shown(first_argument)} was given to {name}() first, and a table second. Give the table by "
                f"name: {name}({shown(tilde)}, data=df{k}).{begins}"
            )
        return inner(*arguments, **options)

    return cast(Function, wrapper)


# --- names of arguments ---------------------------------------------------------------------------


_DRAWS_ADVICE = "the number of draws is n_draws="
#: (function, argument) -> advice, if it differs from that in ARGUMENTS.
RENAMED = {
    **{
        (function, name): _DRAWS_ADVICE
        for function in ("choose", "choose_k")
        for name in ("n_resample", "n_resamples", "n", "B", "nboot", "n_boot", "reps")
    },
    ("choose_k", "card"): "it finds the number of components, and choose() their cardinalities",
    ("choose_k", "k"): "it finds the number of components, and kmax= is the largest",
    ("choose_k", "n_components"): "it finds the number of components, and kmax= is the largest",
    ("choose_k", "level"): "the level of the tests is alpha=",
    ("choose", "level"): "the level of the tests is alpha=",
    ("choose", "cv"): "the number of folds is folds=",
    ("choose", "grid"): "the cardinalities to choose from are cards=",
    ("spco", "card"): "how many scores are zero is zeros=, a share, or penalty=",
    ("spco", "sparsity"): "how many scores are zero is zeros=, a share, or penalty=",
}


def refuse_other_names(function: str, options: Mapping[str, Any], method: Any = None) -> None:
    """Raise UnknownOptionError for an argument that has a different name here.

    Parameters
    ----------
    function : str
        The function that was called.
    options : mapping
        The arguments that are not parameters of the function.
    method : object
        The requested method, whose options are allowed.
    """
    method_options = SOLVERS[method].options if isinstance(method, str) and method in SOLVERS else ()
    for name in options:
        answer = RENAMED.get((function, name)) or ARGUMENTS.get(name)
        if answer is not None and name not in method_options:
            raise UnknownOptionError(f"{function}() has no argument {name}=; {answer}.")


def refuse_unknown(function: str, options: Iterable[str], argument_names: Set[str]) -> None:
    """Raise UnknownOptionError for an argument that is not among the `argument_names` of a function."""
    for name in options:
        if name not in argument_names:
            raise UnknownOptionError(
                f"{function}() has no argument {name}=; it has {listed(sorted(argument_names), 40)}."
                f"{nearest(name, sorted(argument_names))}"
            )


#: (function, argument) -> why the function does not have the argument, and what to do.
NO_PLACE = {
    ("spca_cov", "center"): "a covariance matrix is centred already, and mean= gives transform() the means",
    ("spca_cov", "weights"): "weights are of rows, so give the rows to spca(), or the weighted matrix",
    ("spca_cov", "robust"): "it judges cells and rows, so give the rows: spca(data, ..., robust=True)",
    ("spca_cov", "na"): "missing values are of rows, so give the rows to spca()",
    **{
        (name, "zeros"): "a share of zeros among the scores is for spcastat.spco(data, k, zeros=...)"
        for name in ("spca", "spca_cov", "spca_path")
    },
}


def hint(
    function: str, option_names: Set[str], homes: Mapping[str, Set[str]], options: Iterable[str], name: str
) -> str:
    """Return advice about an argument that does not exist: where it belongs, or a similar name.

    Parameters
    ----------
    function : str
        The function that fits.
    option_names : set of str
        The arguments of this function, and of the function that was called and passes its options on.
    homes : mapping
        Description of what a function is for -> the names of its arguments.
    options : iterable of str
        The options of all methods.
    name : str
    """
    if name in ARGUMENTS:
        return f" Here {ARGUMENTS[name]}."
    if place := _home_of(function, option_names, homes, name):
        single = name.removesuffix("s")
        suggestion = f" Did you mean {single!r}?" if single != name and single in option_names else ""
        return f"{suggestion} {name}= {place}."
    if suggestion := nearest(name, sorted(option_names | set(options))):
        return suggestion
    for arguments in homes.values():
        if suggestion := nearest(name, sorted(arguments)):
            word = suggestion.split("'")[1]
            return f"{suggestion} That {_home_of(function, option_names, homes, word)}."
    return ""


def arguments_of(function: Callable[..., Any], options: type | None = None) -> set[str]:
    """Return the names of the arguments of a function and of its `options`, a TypedDict."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(function).parameters.values()
    option_names = {} if options is None else options.__annotations__
    return {parameter.name for parameter in parameters if parameter.kind in kinds} | set(option_names)


def refuse_controls(function: str, role: str, options: Mapping[str, Any], advice: str = "") -> None:
    """Raise UnknownOptionError if a function that makes many fits is given the sparsity of a single fit."""
    for name in CONTROLS:
        if options.get(name) is not None:
            raise UnknownOptionError(
                f"{name}= was given to {function}(), which {role}: give cards=, {advice}or use spca() or "
                f"spca_cov() {'for one fit ' * bool(advice)}with {name}=."
            )


def _home_of(function: str, option_names: Set[str], homes: Mapping[str, Set[str]], name: str) -> str:
    """Return a description of the function to which an argument belongs, or an empty string."""
    if reason := NO_PLACE.get((function, name)):
        return f"has no place in {function}(): {reason}"
    owners = [owner for owner, arguments in homes.items() if name in arguments and name not in option_names]
    return f"belongs to {owners[0]}" if owners else ""
