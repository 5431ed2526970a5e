"""The call that produced a fit, as text, and its repetition with some arguments changed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

from spcastat.arguments import (
    ARGUMENTS,
    FEW_FUNCTIONS,
    WITHOUT_ROBUST,
    explained,
    listed,
    nearest_name,
    shown,
)
from spcastat.errors import CardinalityError, OptionError, UnknownOptionError
from spcastat.fit.method_table import CONTROLS, SOLVERS, choose_method
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data, copied_option

#: Sequences with more values than this are not printed in full.
LONGEST_SEQUENCE = 30
#: Options that control the computation.
ITERATION = ("n_init", "tol", "max_iter", "objective", "effort", "promise")


@dataclass(frozen=True, eq=False)
class Call:
    """A function and its arguments as given, without the data and the arguments that describe them.

    Attributes
    ----------
    function : callable
        The function, whose first parameter is the data.
    arguments : Mapping
        Arguments by name; they may include defaults.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out `progress`, which may be a terminal or a user's function."""
        return {**self.__dict__, "arguments": {**self.arguments, "progress": False}}

    def __post_init__(self) -> None:
        # copy arguments that the caller may change later
        arguments = {name: copied_option(value) for name, value in self.arguments.items()}
        object.__setattr__(self, "arguments", arguments)

    def text(self, data: Data) -> str:
        """Return the call with these data as text; see `call_text`."""
        return call_text(self.function, {**self.arguments, **data.options}, data.argument)

    def repeat(self, data: Data, changes: Mapping[str, Any]) -> Any:
        """Repeat the call for the fitted rows, with some arguments changed.

        Parameters
        ----------
        data : Data
            The data of the fit.
        changes : Mapping
            Arguments as for `changed`, and options of the data. The data are read again if an option affects
            reading.

        Raises
        ------
        DataError
            If the data have changed since the fit.
        """
        name = "imputations" if "imputations" in changes else data_name(self.function)
        data_options = {option: changes[option] for option in changes if option in data.option_names}
        fit_options = {option: changes[option] for option in changes if option not in (name, *data_options)}
        arguments = self.changed(fit_options).arguments
        if name not in changes:
            return self.function(data.changed(**data_options), **arguments)
        if not isinstance(changes[name], Data):
            data_options = data.changed_options(data_options)
        if name == "imputations":
            return self.function(imputations=changes[name], **data_options, **arguments)
        return self.function(changes[name], **data_options, **arguments)

    def changed(self, changes: Mapping[str, Any]) -> Call:
        """Return the call with some arguments changed, dropping arguments that conflict with the changes.

        A new sparsity control (`card`, `variance` or `penalty`) replaces the old one; if the method does not
        support the new control, the method is also dropped. With a new method, the sparsity control and the
        options in ITERATION are kept if the method supports them.
        """
        arguments = {**self.arguments, **changes}
        controls = [name for name in CONTROLS if changes.get(name) is not None]
        method = SOLVERS.get(str(arguments.get("method")))
        if method and "method" not in changes and controls and controls[0] not in method.controls:
            arguments["method"] = method = None
        for name in CONTROLS:
            foreign = "method" in changes and method is not None and name not in method.controls
            if name not in changes and (controls or foreign):
                arguments.pop(name, None)
        if controls or "method" in changes:
            control_values = {name: arguments[name] for name in CONTROLS if arguments.get(name) is not None}
            if "promise" not in changes and "variance" not in control_values:
                arguments.pop("promise", None)
            if arguments.get("nonneg") is not False and "nonneg" in arguments:
                control_values["nonneg"] = arguments["nonneg"]
            has = choose_method(arguments.get("method"), control_values).options
            for name in ITERATION:
                if name not in changes and name not in has:
                    arguments.pop(name, None)
        return replace(self, arguments=arguments)


def data_name(function: Callable[..., Any]) -> str:
    """Return the name of the argument that contains the data: S for a covariance matrix, or data."""
    return "S" if "S" in inspect.signature(function).parameters else "data"


def call_text(function: Callable[..., Any], call: Mapping[str, Any], data: str = "") -> str:
    """Return ``spca(data, k=3, card=[7, 4, 4])``, without defaults and options that do not affect results.

    Parameters
    ----------
    function : callable
    call : mapping
        The arguments of the call. `progress` and `context` are left out of the text.
    data : str
        The text for the data, if they are not given as the first argument.
    """
    parameters = inspect.signature(function).parameters
    parts = [data or data_name(function)]
    option_names = [name for name in call if name not in parameters]
    for name in [*(name for name in parameters if name in call), *option_names]:
        value = call[name]
        if name in ("progress", "context"):
            continue
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        if value is default or (value is None and default is inspect.Parameter.empty):
            continue
        if isinstance(value, (bool, int, float, str)) and type(value) is type(default) and value == default:
            continue
        parts.append(f"{name}={_value_text(name, value)}")
    return f"{function.__name__}({', '.join(parts)})"


def _value_text(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (np.ndarray, pd.Series)):
        value = value.tolist()
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    length = len(value) if isinstance(value, (list, tuple, dict)) else LONGEST_SEQUENCE + 1
    if name == "blocks" and length <= LONGEST_SEQUENCE:
        length = sum(map(len, value.values()))
    if length <= LONGEST_SEQUENCE:
        return repr(value)
    return name  # other objects are shown by the name of the argument


def card_by_number(state: FitState, card: Any, k: Any) -> Any:
    """Return `card` for a refit with k components; names of components in a mapping become numbers.

    Components that the mapping leaves out keep their cardinality.
    """
    names = list(state.components)
    by_name = card.to_dict() if isinstance(card, pd.Series) and set(card.index) <= set(names) else card
    if not isinstance(by_name, Mapping):
        return card
    numbers = range(1, (k or len(names)) + 1)
    place: dict[Any, int] = {j: j for j in numbers} | {f"PC{j}": j for j in numbers}
    place |= dict(zip(names, numbers, strict=False))
    unknown = [key for key in by_name if key not in place]
    if unknown or len({place[key] for key in by_name}) < len(by_name):
        raise CardinalityError(
            f"card={shown(card)} was given; it must name components of the fit, {listed(names)}, each once."
        )
    counts = dict(zip(numbers, (state.V != 0).sum(axis=0).tolist(), strict=False))
    return {**counts, **{place[key]: value for key, value in by_name.items()}}


def names_for(state: FitState, components: pd.Index) -> list[str]:
    """Return the names of a fit for the components of a refit; additional components keep PC names."""
    names, plain = list(state.components), list(components)
    return [*names[: len(plain)], *plain[len(names) :]]


# --- the table and the formula of a call ----------------------------------------------------------


Function = TypeVar("Function", bound=Callable[..., Any])


def with_table_by_name(function: Function) -> Function:
    """Wrap an `explained` function: it raises OptionError for a formula followed by a table without a name.

    Without this wrapper, Python would reject the call itself if the second parameter is also given by
    keyword.
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
_TESTS_NEED_NO_FIT = (
    "it chooses the number of components without fitting any; leave it out, or give it to choose()"
)
#: (function, argument) -> advice that differs from the advice in ARGUMENTS.
RENAMED = {
    **{
        (function, name): _DRAWS_ADVICE
        for function in ("choose", "choose_k")
        for name in ("n_resample", "n_resamples", "n", "B", "nboot", "n_boot", "reps")
    },
    ("choose_k", "card"): "it finds the number of components, and choose() their cardinalities",
    ("choose_k", "k"): "it finds the number of components, and kmax= is the largest",
    ("choose_k", "n_components"): "it finds the number of components, and kmax= is the largest",
    **{("choose_k", name): _TESTS_NEED_NO_FIT for name in ("method", "objective", "effort")},
    ("choose_k", "level"): "the level of the tests is alpha=",
    ("choose", "level"): "the level of the tests is alpha=",
    ("choose", "cv"): "the number of folds is folds=",
    ("choose", "grid"): "the cardinalities to choose from are cards=",
    ("spco", "card"): "the number of zero scores is set by zeros=, a share, or by penalty=",
    ("spco", "sparsity"): "the number of zero scores is set by zeros=, a share, or by penalty=",
    ("spco", "robust"): WITHOUT_ROBUST,
}


def refuse_other_names(function: str, options: Mapping[str, Any], method: Any = None) -> None:
    """Raise UnknownOptionError for an argument that has a different name in this package.

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
        answer = RENAMED.get((function, name)) or ARGUMENTS.get(name) or FEW_FUNCTIONS.get(name)
        if answer is not None and name not in method_options:
            raise UnknownOptionError(f"{function}() has no argument {name}=; {answer}.")


def refuse_unknown(function: str, options: Iterable[str], argument_names: Set[str]) -> None:
    """Raise UnknownOptionError for an argument that is not among the `argument_names` of a function."""
    for name in options:
        if name not in argument_names:
            raise UnknownOptionError(
                f"{function}() has no argument {name}=; it has {listed(sorted(argument_names), 40)}.",
                nearest_name(name, sorted(argument_names)),
            )


#: (function, argument) -> why the function does not have the argument, and what to do instead.
NO_PLACE = {
    ("spca_cov", "center"): "a covariance matrix is centred already, and mean= gives transform() the means",
    ("spca_cov", "weights"): "weights belong to rows, so give the rows to spca(), or the weighted matrix",
    ("spca_cov", "robust"): "it checks the cells of rows, so give the rows: spca(data, ..., robust=True)",
    ("spca_cov", "na"): "missing values occur in rows, so give the rows to spca()",
    **{
        (name, "zeros"): "a share of zeros among the scores is for spcastat.spco(data, k, zeros=...)"
        for name in ("spca", "spca_cov", "spca_path")
    },
}


def hint(
    function: str, option_names: Set[str], homes: Mapping[str, Set[str]], options: Iterable[str], name: str
) -> tuple[str, str]:
    """Return advice on where an argument that does not exist belongs, and a similar name.

    Parameters
    ----------
    function : str
        The name of the function that fits.
    option_names : set of str
        The arguments of this function, and of the calling function that passes its options on.
    homes : mapping
        Description of a function -> the names of its arguments.
    options : iterable of str
        The options of all methods.
    name : str
    """
    if name in ARGUMENTS:
        return f" Here {ARGUMENTS[name]}.", ""
    if place := _home_of(function, option_names, homes, name):
        single = name.removesuffix("s")
        suggestion = f" Did you mean {single!r}?" if single != name and single in option_names else ""
        return f"{suggestion} {name}= {place}.", ""
    if similar_name := nearest_name(name, sorted(option_names | set(options))):
        return "", similar_name
    for arguments in homes.values():
        if similar_name := nearest_name(name, sorted(arguments)):
            place = _home_of(function, option_names, homes, similar_name)
            return f" Did you mean {similar_name!r}? That {place}.", ""
    return "", ""


def arguments_of(function: Callable[..., Any], options: type | None = None) -> set[str]:
    """Return the names of the arguments of a function and of its `options`, a TypedDict."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(function).parameters.values()
    option_names = {} if options is None else options.__annotations__
    return {parameter.name for parameter in parameters if parameter.kind in kinds} | set(option_names)


def refuse_controls(function: str, role: str, options: Mapping[str, Any], advice: str = "") -> None:
    """Raise UnknownOptionError if the sparsity of a single fit is passed to a function for many fits."""
    for name in CONTROLS:
        if options.get(name) is not None:
            raise UnknownOptionError(
                f"{name}= was given to {function}(), which {role}: give cards=, {advice}or use spca() or "
                f"spca_cov() {'for one fit ' * bool(advice)}with {name}=."
            )


def _home_of(function: str, option_names: Set[str], homes: Mapping[str, Set[str]], name: str) -> str:
    """Return a description of the function to which an argument belongs, or an empty string."""
    if reason := NO_PLACE.get((function, name)):
        return f"does not apply to {function}(): {reason}"
    owners = [owner for owner, arguments in homes.items() if name in arguments and name not in option_names]
    return f"belongs to {owners[0]}" if owners else ""
