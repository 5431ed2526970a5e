"""The call that made a fit, how to repeat it, pickling, and the arguments of functions that fit.

A pickle includes data in memory, so that `refit` and `residuals` work after loading; `save` does not include
them. Rows in chunks are not pickled: the loaded fit behaves like one from a file without scores. Dask
collections are pickled by dask. Copies keep everything, and share the source of chunks.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, fields, replace
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

from spcastat.argument_names import ARGUMENTS, explained
from spcastat.config import listed, nearest, plural, shown
from spcastat.errors import (
    CardinalityError,
    DataError,
    FormulaError,
    NoRowsError,
    OptionError,
    UnknownOptionError,
    WeightsError,
)
from spcastat.fit.method_table import CONTROLS, SOLVERS
from spcastat.fit.plan import choose_method
from spcastat.fit.state import FitState
from spcastat.inputs.missing import prepare_with_gaps
from spcastat.inputs.opening import read_whole
from spcastat.inputs.row_data import Fitted, Source, center_and_scale, open_covariance, require_unchanged
from spcastat.linalg.standardisation import groups_from_record, prepare
from spcastat.reading.design import Covariance, ReadOptions, Spec, order_mark
from spcastat.reading.frames import COPY_LIMIT, open_table
from spcastat.reading.read import formula_inputs, replay, replay_both, replay_table

# --- pickling -------------------------------------------------------------------------------------


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


class Picklable:
    """Mixin for results that can be copied and pickled.

    A result has the data in `_source`, the spec of the columns in `_source` and `_state`, and the call in
    `_call`.
    """

    def __getstate__(self) -> dict[str, Any]:
        # cached values are not pickled
        kept = {name: self.__dict__[name] for name in self.__dict__ if name not in _CACHED}
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
#: Cached attributes.
_CACHED = ("_coordinates", "_distances", "_drawn", "_scores", "_variance")


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


# --- calls as text --------------------------------------------------------------------------------


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


# --- the names of components ----------------------------------------------------------------------


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


# --- the data -------------------------------------------------------------------------------------


#: Relative tolerance for moments of the same data, since sums may be computed in another order.
SAME = 1e-6
#: Variances this close to one are those of a correlation matrix.
UNIT = 1e-8
#: Rounding of a mean, relative to its size.
ROUNDING = 1e-12


def source_for(
    state: FitState, source: Source | None, call: Call | None, data: Any, what: str
) -> tuple[Source, Call | None]:
    """Return the data of a fit, and the call that made it if known.

    Raises
    ------
    NoRowsError
        For a fit from a file without `data`.
    OptionError
        If `data` are given although the fit has its data.
    WeightsError
        For a fit from a file whose rows had weights.
    DataError
        If `data` are not the data of the fit.
    """
    if source is not None:
        if data is not None:
            raise OptionError(
                f"data was given to {what}, but the fit has its data. Leave data out; it is for fits from a "
                "file."
            )
        source.require_same()
        return source, call
    record, data = state.record, read_whole(data)
    if data is None:
        raise NoRowsError(
            f"{what} needs the data, and a fit from a file does not have them: give {what[:-1]}data=...)."
        )
    if record.weighted:
        raise WeightsError(
            f"{what} needs the weights of the rows, and a fit from a file does not have them; fit again: "
            f"{record.call}."
        )
    if not record.from_rows:
        partial = state.spec.partial
        scale: Any = groups_from_record(record.groups)
        if scale is None and (np.abs(state.moments.variances - 1.0) <= UNIT).all():
            scale = True  # the fit was one of correlations, which may have been made by scale=True
        given = None if partial is None else list(partial.spec.columns)
        nearest = record.matrix is not None
        found = open_covariance(data, n_obs=record.n, nearest=nearest, given=given, scale=scale).source("")
    else:
        found = replace(_rows_again(state, data), design=state.design)
    _require_same(state, found)
    _require_same_order(state, found, what)
    return found, None


def _rows_again(state: FitState, data: Any) -> Source:
    record, standard, columns = state.record, state.standard, state.spec.columns
    how = None if record.missing is None else record.missing["how"]
    matrix, index = replay(state.spec, data, na=how or ("drop" if record.dropped else "raise"))
    assert standard is not None
    if len(index) != record.n:
        raise DataError(
            f"data has {len(index)} rows, and the fit had {record.n}: give the data that were fitted."
        )
    groups = groups_from_record(record.groups)
    center, scale = center_and_scale(standard, groups)
    if how is not None:
        rank = (record.missing or {}).get("rank", 1)
        now, op, rows, gaps = prepare_with_gaps(matrix, None, center, scale, columns, how, rank, index=index)
        found = Source(op.at_unit_size(), state.spec, len(index), now, rows, index, gaps=gaps)
        return replace(found, groups=groups)
    now, op = prepare(matrix, None, center, scale, columns)
    found = Source(op.at_unit_size(), state.spec, len(index), now, matrix, index, record.dropped)
    if state.spec.partial is None:
        return replace(found, groups=groups)
    na = "drop" if record.dropped else "raise"
    return replace(found, groups=groups, covariates=replay_both(state.spec, open_table(data), na)[1])


def _require_same(state: FitState, found: Source) -> None:
    """Raise DataError unless centre, scale and moments are those of the fit, up to rounding.

    The moments are the variances of the variables and their covariances with the scores of the fit: after
    scaling, the variances alone are the same for any data.
    """
    variances, now = state.moments.variances, found.op.diagonal() * found.op.unit**2
    if len(variances) != len(now):
        raise DataError(
            f"data has {plural(len(now), 'variable')}, and the fit has {len(variances)}: give the data that "
            "were fitted, without changes."
        )
    if not np.allclose(now, variances, rtol=SAME, atol=SAME**2 * variances.max()):
        raise _other_data("variances of data are", state, np.abs(now - variances))
    spread = np.sqrt(variances)
    if state.standard is not None and found.standard is not None:
        before, here = state.standard, found.standard
        if not np.allclose(here.scale, before.scale, rtol=SAME, atol=0.0):
            raise _other_data("scales of data are", state, np.abs(here.scale / before.scale - 1.0))
        # in standard deviations, which the means of large numbers have to within their rounding
        moved = np.abs(here.mean - before.mean) / before.scale
        allowed = SAME * np.maximum(spread, SAME * spread.max())
        allowed = allowed + ROUNDING * np.abs(before.mean) / before.scale
        if (moved > allowed).any():
            raise _other_data("centres of data are", state, moved / np.maximum(allowed, np.finfo(float).tiny))
    coupling = found.op.dot(state.V) * found.op.unit**2
    # a covariance with a score is a sum of covariances, each bounded by two standard deviations
    bound = SAME * np.outer(np.maximum(spread, SAME * spread.max()), np.abs(state.V).T @ spread)
    apart = np.abs(coupling - state.moments.coupling)
    if (apart > bound).any():
        raise _other_data("covariances of data with the scores are", state, (apart - bound).max(axis=1))


def _require_same_order(state: FitState, found: Source, what: str) -> None:
    """Raise DataError if labels of rows, or blocks, belong to the rows in another order."""
    design = state.design
    if design is None or design.mark is None or found.standard is None:
        return
    now = order_mark(np.nan_to_num(found.standard.project(found.matrix, state.V[:, :1])[:, 0]))
    if abs(now - design.mark) > SAME:
        raise DataError(
            f"{what} draws the clusters or blocks of the fit, which are stored by the position of the rows, "
            "and the rows of data are in another order: give them in the order of the fit."
        )


def _other_data(what: str, state: FitState, difference: np.ndarray) -> DataError:
    """Return the error for data whose centre, scale or moments are not those of the fit."""
    worst = shown(state.spec.columns[int(np.argmax(difference))])
    return DataError(
        f"The {what} not those of the fit, most of all for {worst}: give the data that were fitted, without "
        "changes."
    )


def frame_of(source: Source, fitted: Any, given: Any) -> pd.DataFrame | None:
    """Return the columns of a formula for the rows of the fit; None if nothing is estimated from them.

    Parameters
    ----------
    source : Source
    fitted, given : object
        The data of the original call, and the data given for a fit from a file.
    """
    model = source.spec.model_spec
    if model is None or not model.states or source.matrix is None:
        return None
    if source.gaps is not None and source.gaps.missing.any():
        raise FormulaError(
            f"The terms of formula={shown(source.spec.formula)} cannot be estimated from draws of rows with "
            "missing values: compute these columns in the data frame first, and fit without the formula."
        )
    if given is None:
        require_unchanged(fitted, source)
    table = open_table(read_whole(given) if given is not None else fitted)
    if source.dropped:  # includes rows with missing covariates
        keep = np.asarray(replay_table(source.spec, table, "drop")[1])
        table = replace(table, values=table.values[keep], index=table.index[keep])
    return formula_inputs(source.spec, table, "raise")[0]


# --- the table and the formula of a call ----------------------------------------------------------


Function = TypeVar("Function", bound=Callable[..., Any])


def with_table_by_name(function: Function) -> Function:
    """Return an `explained` function that raises OptionError for a table after a formula, without names.

    Python refuses such a call before the function begins if it has a keyword for the second place.
    """

    inner = explained(function)

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        first, second = (*arguments, None, None)[:2]
        if isinstance(first, str) and len(getattr(second, "shape", ())) == 2:
            name = function.__name__
            k = ", k=2" if "k" in inspect.signature(function).parameters else ""
            tilde = first if first.lstrip().startswith("~") else "~ a + b"
            begins = "" if tilde is first else " A formula is text that begins with ~."
            raise OptionError(
                f"{shown(first)} was given to {name}() first, and a table second. Give the table by name: "
                f"{name}({shown(tilde)}, data=df{k}).{begins}"
            )
        return inner(*arguments, **options)

    return cast(Function, checked)


def table_and_formula(function: str, first: Any, data: Any, formula: Any) -> tuple[Any, Any]:
    """Return the table and the formula of a call, of which either may be the first argument.

    Parameters
    ----------
    function : str
        The function that was called, for messages.
    first : object
        The argument without a name: a table or, if `data` is given, a formula.
    data, formula : object
        The arguments with these names.

    Raises
    ------
    DataError
        If there is no table.
    OptionError
        If the table or the formula is given twice, or a formula without `data`.
    """
    if data is None:
        if first is None:
            raise DataError(f"{function}() was given no data; give a table first, or data=.")
        home = first.lstrip().startswith(("~/", "~\\")) if isinstance(first, str) else False
        if isinstance(first, str) and first.lstrip().startswith("~") and not home:
            raise OptionError(
                f"The formula {shown(first)} was given to {function}() without data=; give the table by that "
                f"name: {function}({shown(first)}, data=df, ...)."
            )
        return first, formula
    if first is None:
        return data, formula
    if not isinstance(first, str):
        raise OptionError(f"The data were given to {function}() twice, first and as data=; give them once.")
    if not first.lstrip().startswith("~"):
        raise OptionError(
            f"{shown(first)} was given to {function}() before data=, and is no formula, which begins with ~; "
            "give a formula such as '~ a + b', or a file as data= alone."
        )
    if formula is not None:
        raise OptionError(
            f"A formula was given to {function}() twice, {shown(first)} first and formula={shown(formula)}; "
            "give one."
        )
    return data, first


# --- names of arguments ---------------------------------------------------------------------------


_DRAWS = "the number of draws is n_draws="
#: (function, argument) -> advice, if it differs from that in ARGUMENTS.
RENAMED = {
    **{
        (function, name): _DRAWS
        for function in ("choose", "choose_k")
        for name in ("n_resample", "n_resamples", "n", "B", "nboot", "n_boot", "reps")
    },
    ("choose_k", "card"): "the number of variables in a component of the sparse test is sparse_card=",
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
    taken = SOLVERS[method].options if isinstance(method, str) and method in SOLVERS else ()
    for name in options:
        answer = RENAMED.get((function, name)) or ARGUMENTS.get(name)
        if answer is not None and name not in taken:
            raise UnknownOptionError(f"{function}() has no argument {name}=; {answer}.")


#: (function, argument) -> why the function does not have the argument, and what to do.
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
    function: str, own: Set[str], homes: Mapping[str, Set[str]], options: Iterable[str], name: str
) -> str:
    """Return advice about an argument that does not exist: where it belongs, or a similar name.

    Parameters
    ----------
    function : str
        The function that fits.
    own : set of str
        The arguments of this function, and of the function that was called and passes its options on.
    homes : mapping
        Description of what a function is for -> the names of its arguments.
    options : iterable of str
        The options of all methods.
    name : str
    """
    if name in ARGUMENTS:
        return f" Here {ARGUMENTS[name]}."
    if place := _elsewhere(function, own, homes, name):
        single = name.removesuffix("s")
        near = f" Did you mean {single!r}?" if single != name and single in own else ""
        return f"{near} {name}= {place}."
    if near := nearest(name, sorted(own | set(options))):
        return near
    for arguments in homes.values():
        if near := nearest(name, sorted(arguments)):
            word = near.split("'")[1]
            return f"{near} That {_elsewhere(function, own, homes, word)}."
    return ""


def arguments_of(function: Callable[..., Any], options: type | None = None) -> set[str]:
    """Return the names of the arguments of a function and of its `options`, a TypedDict."""
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(function).parameters.values()
    further = {} if options is None else options.__annotations__
    return {one.name for one in parameters if one.kind in named} | set(further)


def refuse_controls(function: str, what: str, options: Mapping[str, Any], how: str = "") -> None:
    """Raise UnknownOptionError if a function that makes many fits is given the sparsity of a single fit."""
    for name in CONTROLS:
        if options.get(name) is not None:
            raise UnknownOptionError(
                f"{name}= was given to {function}(), which {what}: give cards=, {how}or use spca() or "
                f"spca_cov() {'for one fit ' * bool(how)}with {name}=."
            )


def _elsewhere(function: str, own: Set[str], homes: Mapping[str, Set[str]], name: str) -> str:
    """Return a description of the function to which an argument belongs, or an empty string."""
    if reason := NO_PLACE.get((function, name)):
        return f"has no place in {function}(): {reason}"
    owners = [what for what, arguments in homes.items() if name in arguments and name not in own]
    return f"belongs to {owners[0]}" if owners else ""
