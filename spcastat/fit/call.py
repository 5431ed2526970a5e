"""The call that made a fit: as text, and to repeat it with some arguments changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, shown
from spcastat.errors import CardinalityError
from spcastat.fit.method_table import CONTROLS, SOLVERS
from spcastat.fit.plan import choose_method
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data, copied_option

#: Sequences with more values than this are not printed in full.
LONGEST_SEQUENCE = 30


#: Options that control the computation.
ITERATION = ("n_init", "tol", "max_iter", "objective", "effort", "promise")


@dataclass(frozen=True, eq=False)
class Call:
    """A function, and its arguments as given, without the data and those that describe them.

    Attributes
    ----------
    function : callable
        Its first parameter takes the data.
    arguments : Mapping
        Arguments by name; may include defaults.
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
        """Repeat the call with some arguments changed, on the rows that were fitted.

        Parameters
        ----------
        data : Data
            The data of the fit.
        changes : Mapping
            As for `changed`, and options of the data. If they affect reading, the data are read again.

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
        support it, the method is dropped, too. With a new method, the sparsity control and the options in
        ITERATION are kept if the method supports them.
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
    """Return the name under which a function takes its data: S for a covariance matrix, or data."""
    return "S" if "S" in inspect.signature(function).parameters else "data"


def call_text(function: Callable[..., Any], call: Mapping[str, Any], data: str = "") -> str:
    """Return ``spca(data, k=3, card=[7, 4, 4])``, without defaults and options that do not affect results.

    Parameters
    ----------
    function : callable
    call : mapping
        Its arguments. `progress` and `context` are left out of the text.
    data : str
        How the data are given, if not as the first argument.
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
    return name  # a user's object is shown by the name of the argument


def card_by_number(state: FitState, card: Any, k: Any) -> Any:
    """Return `card` for a refit with k components, with names of components in a mapping replaced by numbers.

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
