"""The call that made a fit: as text, and to repeat it with some arguments changed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, shown
from spcastat.errors import CardinalityError
from spcastat.fit.method_table import CONTROLS, SOLVERS
from spcastat.fit.plan import choose_method
from spcastat.fit.state import FitState
from spcastat.inputs.data import Source
from spcastat.inputs.row_data import Fitted, require_unchanged
from spcastat.reading.design import Covariance, ReadOptions
from spcastat.reading.frames import COPY_LIMIT


@dataclass(frozen=True)
class _Module:
    """A module in a pickle, stored by name; loading returns the module."""

    name: str

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return importlib.import_module, (self.name,)


def packed_names(context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the values of names in a formula in a form that can be pickled, if the user's objects can be."""
    if context is None:
        return None
    return {
        name: _Module(value.__name__) if isinstance(value, ModuleType) else value
        for name, value in context.items()
    }


#: Sequences with more values than this are not printed in full.
LONGEST = 30


#: Options for reading data.
READING = tuple(one.name for one in fields(ReadOptions))


#: Options that control the computation.
ITERATION = ("n_init", "tol", "max_iter", "objective", "effort", "promise")


@dataclass(frozen=True, eq=False)
class Call:
    """A function, the data, and the other arguments as given.

    Attributes
    ----------
    function : callable
        Its first parameter takes the data.
    data : object
    arguments : Mapping
        Arguments by name; may include defaults.
    """

    function: Callable[..., Any]
    data: Any
    arguments: Mapping[str, Any]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out `progress`, which may be a terminal or a user's function."""
        arguments = {**self.arguments, "progress": False}
        if "context" in arguments:
            arguments["context"] = packed_names(arguments["context"])
        return {**self.__dict__, "arguments": arguments}

    def __post_init__(self) -> None:
        # copy arguments that the caller may change later
        arguments = {name: _copied(value) for name, value in self.arguments.items()}
        if arguments.get("blocks") is not None:
            arguments["blocks"] = {name: list(block) for name, block in arguments["blocks"].items()}
        object.__setattr__(self, "arguments", arguments)

    def repeat(self, source: Source, changes: Mapping[str, Any]) -> Any:
        """Repeat the call with some arguments changed, on the rows that were fitted.

        Parameters
        ----------
        source : Source
            The data of the fit.
        changes : Mapping
            As for `changed`. If they affect the reading of the data, these are read again.

        Raises
        ------
        DataError
            If the data have changed since the fit.
        """
        call = self.changed(changes)
        data = call.data
        given = data_name(self.function) in changes
        if not given and not isinstance(data, Covariance):
            scales = (self.arguments.get("scale"), call.arguments.get("scale"))
            mixed = [isinstance(one, str) and one == "mixed" for one in scales]
            if any(name in changes for name in READING) or mixed[0] != mixed[1]:
                require_unchanged(data, source)
            else:
                data = Fitted(data, source)
        return self.function(data, **call.arguments)

    def changed(self, changes: Mapping[str, Any]) -> Call:
        """Return the call with some arguments changed, dropping arguments that conflict with the changes.

        A new sparsity control (`card`, `variance` or `penalty`) replaces the old one; if the method does not
        support it, the method is dropped, too. With a new method, the sparsity control and the options in
        ITERATION are kept if the method supports them. Names in a new formula are looked up in the scope
        where the call is repeated.
        """
        arguments = {**self.arguments, **changes}
        data = arguments.pop(data_name(self.function), self.data)
        controls = [name for name in CONTROLS if changes.get(name) is not None]
        method = SOLVERS.get(str(arguments.get("method")))
        if method and "method" not in changes and controls and controls[0] not in method.controls:
            arguments["method"] = method = None
        for name in CONTROLS:
            foreign = "method" in changes and method is not None and name not in method.controls
            if name not in changes and (controls or foreign):
                arguments.pop(name, None)
        if controls or "method" in changes:
            given = {name: arguments[name] for name in CONTROLS if arguments.get(name) is not None}
            if "promise" not in changes and "variance" not in given:
                arguments.pop("promise", None)
            if arguments.get("nonneg") is not False and "nonneg" in arguments:
                given["nonneg"] = arguments["nonneg"]
            has = choose_method(arguments.get("method"), given).options
            for name in ITERATION:
                if name not in changes and name not in has:
                    arguments.pop(name, None)
        if "scale" in changes and "blocks" not in changes:
            arguments.pop("blocks", None)
        if "formula" in changes and "context" not in changes:
            arguments.pop("context", None)
        return replace(self, data=data, arguments=arguments)


def data_name(function: Callable[..., Any]) -> str:
    """Return the name under which a function takes its data: S for a covariance matrix, or data."""
    return "S" if "S" in inspect.signature(function).parameters else "data"


def _copied(value: Any) -> Any:
    """Return a copy of a mutable argument; large arrays are not copied."""
    if type(value) is np.ndarray:
        return value.copy() if value.nbytes <= COPY_LIMIT else value
    return value.copy() if isinstance(value, pd.Series) or type(value) in (list, dict) else value


def call_text(function: Callable[..., Any], call: Mapping[str, Any]) -> str:
    """Return ``spca(data, k=3, card=[7, 4, 4])``, without defaults and options that do not affect results.

    Parameters
    ----------
    function : callable
    call : mapping
        Its arguments. `progress` and `context` are left out of the text.
    """
    parameters = inspect.signature(function).parameters
    parts = [data_name(function)]
    further = [name for name in call if name not in parameters]
    for name in [*(name for name in parameters if name in call), *further]:
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
    length = len(value) if isinstance(value, (list, tuple, dict)) else LONGEST + 1
    if name == "blocks" and length <= LONGEST:
        length = sum(map(len, value.values()))
    if length <= LONGEST:
        return repr(value)
    return name  # a user's object is shown by the name of the argument


def card_by_number(state: FitState, card: Any, k: Any) -> Any:
    """Return `card` for a refit with k components, with names of components in a mapping replaced by numbers.

    Components that the mapping leaves out keep their cardinality.
    """
    names = list(state.components)
    given = card.to_dict() if isinstance(card, pd.Series) and set(card.index) <= set(names) else card
    if not isinstance(given, Mapping):
        return card
    numbers = range(1, (k or len(names)) + 1)
    place: dict[Any, int] = {j: j for j in numbers} | {f"PC{j}": j for j in numbers}
    place |= dict(zip(names, numbers, strict=False))
    unknown = [key for key in given if key not in place]
    if unknown or len({place[key] for key in given}) < len(given):
        raise CardinalityError(
            f"card={shown(card)} was given; it must name components of the fit, {listed(names)}, each once."
        )
    counts = dict(zip(numbers, (state.V != 0).sum(axis=0).tolist(), strict=False))
    return {**counts, **{place[key]: value for key, value in given.items()}}


def names_for(state: FitState, components: pd.Index) -> list[str]:
    """Return the names of a fit for the components of a refit; additional components keep PC names."""
    names, plain = list(state.components), list(components)
    return [*names[: len(plain)], *plain[len(names) :]]
