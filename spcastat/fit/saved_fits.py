"""Saving and loading fits: what a file holds, and the checks of files that were not written by this package.

A file has arrays, and JSON for everything else. The values of a part are those of the fields of its dataclass
or TypedDict, whose annotations are the types that a file may hold; `ARRAYS` has the shapes and ranges of the
arrays. Whether the numbers are right cannot be checked without the data.

Formulas are code, and so are their functions. Therefore only formulas of names, numbers and known functions
are written and read; see :mod:`spcastat.reading.formula`.

Fields that older versions of the package did not write get their defaults, and fields that newer versions
added are ignored. A layout that older versions would misread gets a new number, `VERSION` of
:mod:`spcastat.fit.archive`.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import os
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict, Union, get_args, get_origin

import numpy as np
import pandas as pd

from spcastat.config import flag, warn
from spcastat.errors import DataWarning, FileError, OptionError
from spcastat.fit import archive, rows
from spcastat.fit import record as records
from spcastat.fit.state import FitState, Moments, rule_of
from spcastat.inputs.data import Data
from spcastat.labels import name_text
from spcastat.linalg.regression import Regression
from spcastat.linalg.standardisation import NAMED, Standardisation
from spcastat.measures import MEASURES
from spcastat.reading import formula as formulas
from spcastat.reading.design import Partial, RowDesign, Spec
from spcastat.reading.missing_values import PpcaModel
from spcastat.solvers.solver import ADVICE, Grouping, Searched, Sparser
from spcastat.version import __version__

# --- labels ---------------------------------------------------------------------------------------


def pack_label(label: Any) -> Any:
    """Return a label as JSON: text, a number, a bool, None, a list for a tuple, or the name of NaT or NA.

    Labels of other types, such as periods and intervals, become text.
    """
    if isinstance(label, tuple):
        return [pack_label(one) for one in label]
    if isinstance(label, np.generic) and label.dtype.kind in "biuf":
        label = label.item()
    if label is pd.NaT or label is pd.NA:
        return {"missing": "NaT" if label is pd.NaT else "NA"}
    return label if label is None or isinstance(label, bool | int | float | str) else name_text(label)


def unpack_label(packed: Any) -> Any:
    """Return the label; raise FileError if a file cannot hold it."""
    if isinstance(packed, list):
        return tuple(unpack_label(one) for one in packed)
    if packed is None or isinstance(packed, bool | int | float | str):
        return packed
    if packed in ({"missing": "NaT"}, {"missing": "NA"}):
        return pd.NaT if packed["missing"] == "NaT" else pd.NA
    raise FileError("it holds a label that is not text or a number.")


def pack_index(index: pd.Index, name: str, arrays: dict[str, np.ndarray], what: str) -> dict[str, Any]:
    """Return an index as JSON; numbers and dates are added to `arrays`, under `name`.

    Warns if labels, described by `what`, become text.
    """
    if isinstance(index, pd.MultiIndex):
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        return {"levels": [pack_index(one, f"{name}.{i}", arrays, what) for i, one in enumerate(levels)]}
    packed = {"name": pack_label(index.name)}
    if isinstance(index, pd.RangeIndex):
        return {**packed, "range": [index.start, index.stop, index.step]}
    if isinstance(index.dtype, np.dtype) and index.dtype.kind in "biufmM":
        arrays[name] = index.to_numpy()
        return {**packed, "array": name, "freq": getattr(index, "freqstr", None)}
    labels = [pack_label(label) for label in index]
    odd = [a for a, b in zip(index, labels, strict=True) if isinstance(b, str) and not isinstance(a, str)]
    if odd:
        warn(
            f"The file holds {what} of type {type(odd[0]).__name__} as text, such as {str(odd[0])!r}.",
            DataWarning,
        )
    return {**packed, "labels": labels, "mixed": index.dtype == object}


def unpack_index(packed: Mapping[str, Any], arrays: Mapping[str, np.ndarray], size: int) -> pd.Index:
    """Return the index, which must have `size` labels.

    Raises
    ------
    FileError
        For another size.
    Exception
        If pandas refuses the labels.
    """
    if "levels" in packed:
        return pd.MultiIndex.from_arrays([unpack_index(one, arrays, size) for one in packed["levels"]])
    name = unpack_label(packed["name"])
    index: Any
    if "range" in packed:
        index = range(*packed["range"])
    elif "array" in packed:
        index = pd.Index(arrays[packed["array"]], name=name)
        if packed.get("freq") is not None:  # raises if the dates have another one
            index = type(index)(index, freq=str(packed["freq"]), name=name)
        str(index[:1]), str(index[-1:])  # raises if dates cannot be printed
    else:
        labels = [unpack_label(one) for one in packed["labels"]]
        text = not packed["mixed"] and all(one is None or isinstance(one, str) for one in labels)
        index = pd.Index(labels, dtype=None if text else object, name=name, tupleize_cols=False)
    if len(index) != size:
        raise FileError(f"it has {len(index)} labels for {size} rows or columns.")
    return pd.RangeIndex(index, name=name) if isinstance(index, range) else index


# --- types ----------------------------------------------------------------------------------------


#: Largest whole number in a file.
LARGEST = 1 << 62


def restored(kind: Any, value: Any, what: str) -> Any:
    """Return a value of a file as one of a type; `what` is its name in messages.

    Numbers must be finite. Lists become tuples, and dicts dataclasses, where the type says so; fields with
    defaults may be missing, and others are ignored. ``Any`` stands for whatever JSON holds.

    Raises
    ------
    FileError
        If the value is not of the type.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        for one in inner:
            try:
                return restored(one, value, what)
            except FileError:
                continue
    elif origin is Literal:
        if isinstance(value, str) and value in inner:
            return value
    elif origin is tuple:
        if isinstance(value, list | tuple) and len(value) == len(inner):
            return tuple(restored(one, part, what) for one, part in zip(inner, value, strict=True))
    elif origin is list:
        if isinstance(value, list | tuple):
            return [restored(inner[0], one, what) for one in value]
    elif origin in (dict, Mapping):
        if isinstance(value, dict):
            return {name: restored(inner[1], one, what) for name, one in value.items()}
    elif dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
        return _of_fields(kind, value, what)
    elif kind is float:
        if type(value) in (int, float) and abs(value) <= 1e300:  # NaN is not
            return value
    elif kind is int:
        if type(value) is int and abs(value) <= LARGEST:
            return value
    elif kind is str:
        if isinstance(value, str) and value.encode(errors="replace").decode() == value:
            return value  # pandas cannot hold half a character in a column of text
    elif kind is Any or type(value) is (type(None) if kind is None else kind):
        return value
    raise FileError(f"its {what} is not of its type.")


def _of_fields(kind: Any, value: Any, what: str) -> Any:
    """Return a dataclass or the dict of a TypedDict, made of the values of its fields."""
    if not isinstance(value, dict):
        raise FileError(f"its {what} has no parts.")
    if typing.is_typeddict(kind):
        required = list(kind.__required_keys__)
    else:
        bare = [one for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING]
        required = [one.name for one in bare if one.default_factory is dataclasses.MISSING]
    hints = typing.get_type_hints(kind)
    for name in required:
        if name not in value:
            raise FileError(f"its {what} lacks {name}.")
    found = {name: restored(hints[name], value[name], f"{what}: {name}") for name in hints if name in value}
    return {**value, **found} if typing.is_typeddict(kind) else kind(**found)


class _Missing(TypedDict):
    cells: int
    rows: int


class _Em(_Missing):
    how: Literal["em"]
    converged: bool
    patterns: int
    iterations: int
    rank: int


class _Pairwise(_Missing):
    how: Literal["pairwise"]
    fewest: float
    smallest: float
    moved: float
    largest: float


class _Matrix(TypedDict, total=False):
    kind: str
    n_obs: int
    n_pairs_min: int
    smallest: float
    moved: float
    largest: float
    pair: tuple[str, str]
    completed: str


class _Groups(TypedDict):
    kind: str
    names: list[str]
    of: list[int]


class _Options(TypedDict, total=False):
    card: int | list[int] | None
    variance: float | None
    include: list[list[int]] | None
    exclude: list[list[int]] | None
    disjoint: bool
    together: list[tuple[str, list[int]]] | None


class _Reading(TypedDict, total=False):
    """Options with which the command read a file."""

    index_col: str
    sep: str
    decimal: str
    header: bool
    encoding: str
    na_values: list[str]
    skip_rows: int
    sheet: str
    codes: bool


class _Facts(TypedDict, total=False):
    """Types of the fields of a record that are dicts or nested lists."""

    options: _Options
    optima: list[tuple[float, int]]
    missing: _Em | _Pairwise | None
    matrix: _Matrix | None
    groups: _Groups | None
    evidence: Searched | Sparser | Grouping | None
    reading: _Reading | None


class _Row(TypedDict):
    """What the rows of all proofs have; a gap may be infinite."""

    value: float
    upper_bound: float
    seconds: float
    best_known: float
    gap: Any
    nodes: int
    proof: str
    optimal: bool


class _ComponentRow(_Row):
    cardinality: int
    support: list[int]


class _JointRow(_Row):
    measure: Literal["pev", "adjusted", "least_squares"]
    cardinalities: list[int]
    pca_bound: float
    open: int
    supports: list[list[int]]


class _Moments(TypedDict):
    total: float
    unit: float
    variances: np.ndarray
    explained: np.ndarray
    adjusted: np.ndarray
    pca: np.ndarray
    coupling: np.ndarray
    scores: np.ndarray
    residual_traces: np.ndarray | None


Level = bool | int | float | str


class _Model(TypedDict):
    terms: list[list[tuple[str, Literal["lookup", "python", "literal"]]]]
    widths: list[int]
    states: dict[str, dict[str, Any]]
    levels: dict[str, list[Level]]
    context: dict[str, Level | list[Any] | None]
    inputs: list[tuple[Any, list[Level] | None]]


class _Spec(TypedDict):
    kind: Literal["array", "frame", "formula"]
    columns: dict[str, Any]
    formula: str | None
    model: _Model | None
    given: dict[str, Any] | None
    rank: int | None


# --- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """An array of one kind of numbers ("f", "i" or "b"), of a shape, within a range; NaN only if `nan`.

    A size may have a name. A name without a size gets that of the first array with that name.
    """

    kind: str
    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float | str = math.inf
    nan: bool = False


#: Tolerance for unit lengths and correlations.
CLOSE = 1e-6
_POSITIVE = float(np.finfo(float).tiny)
_P, _K, _P_BY_K = Array("f", ("p",)), Array("f", ("k",)), Array("f", ("p", "k"))
_PLACES = Array("i", ("m",), 0, "places")
_SIMILARITY = Array("f", ("draws", "k"), 0, 1 + CLOSE)
_P_VALUES = Array("f", ("p", "k"), 0, 1, nan=True)
_MEAN_AND_SCALE = {"mean": _P, "scale": Array("f", ("p",), _POSITIVE)}
#: Part of a file -> its arrays.
ARRAYS: dict[str, dict[str, Array]] = {
    "standard": _MEAN_AND_SCALE,
    "model": {**_MEAN_AND_SCALE, "loadings": Array("f", ("p", "rank"))},
    "moments": {
        **dict.fromkeys(("variances", "explained"), _P),
        **dict.fromkeys(("adjusted", "pca"), _K),
        "coupling": _P_BY_K,
        "scores": Array("f", ("k", "k")),
        "residual_traces": Array("f", (3,), -1e60, 1e60),  # sums of powers of variances near 1
        "copies": Array("f", ("copies", 3), -1, "p"),
    },
    "measures": dict.fromkeys(MEASURES, _K),
    "design": dict.fromkeys(("clusters", "strata"), Array("i", ("n",), 0, "n")),
    "regression": {
        "mean": Array("f", ("q",)),
        "coefficients": Array("f", ("q", "p")),
        "shares": Array("f", ("p",), 0, 1),
    },
    "bootstrap": {
        "places": _PLACES,
        "values": Array("f", ("draws", "m")),
        **dict.fromkeys(("variances", "whole", "of_fit"), Array("f", ("draws", "k"), 0)),
        "similarity": _SIMILARITY,
    },
    "stability": {
        "places": _PLACES,
        "chosen": Array("b", ("draws", "m")),
        "similarity": _SIMILARITY,
        "clusters": Array("i", ("p",), 0, "last"),
        "associates": Array("f", ("pairs", 4), -1, "places"),
    },
    "split": {
        "places": _PLACES,
        "loadings": Array("f", ("m",), -1 - CLOSE, 1 + CLOSE),
        "correlation": Array("f", ("m",), -1 - CLOSE, 1 + CLOSE, nan=True),
        "std_error": Array("f", ("m",), 0, nan=True),
        "p_value": _P_VALUES,
        **dict.fromkeys(("variances", "variance_errors"), Array("f", ("k",), 0)),
        "similarity": Array("f", ("k",), 0, 1 + CLOSE),
    },
    "tests": {
        "statistic": Array("f", ("p", "k"), -1 - CLOSE, 1 + CLOSE),
        **dict.fromkeys(("p_value", "q_value"), _P_VALUES),
    },
}
#: Name of a resampling method in a file -> class of its results.
RESAMPLED: dict[str, Any] = {
    "bootstrap": records.Bootstrapped,
    "stability": records.HalfSamples,
    "split": records.Split,
    "tests": records.Tested,
}


def require_array(kind: Array, value: Any, sizes: dict[str, int], what: str) -> np.ndarray:
    """Return `value` if it is such an array, or raise FileError; `what` is its name in the message."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind.kind:
        raise FileError(f"its {what}: it is not an array of such numbers.")
    if value.ndim != len(kind.shape):
        raise FileError(f"its {what}: it has shape {value.shape}, with {value.ndim} dimensions.")
    shape = tuple(
        sizes.setdefault(name, size) if isinstance(name, str) else name
        for name, size in zip(kind.shape, value.shape, strict=True)
    )
    if value.shape != shape:
        raise FileError(f"its {what}: it has shape {value.shape}, not {shape}.")
    if kind.kind == "f" and not (np.isfinite(value) | (kind.nan & np.isnan(value))).all():
        raise FileError(f"its {what}: it holds numbers that are not finite.")
    high = sizes[kind.high] if isinstance(kind.high, str) else kind.high
    known = value[~np.isnan(value)] if kind.kind == "f" else value
    if known.size and kind.kind != "b" and (known.min() < kind.low or known.max() > high):
        raise FileError(f"its {what}: it holds numbers outside {kind.low:g} to {high:g}.")
    return value


def pack(part: str, values: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Return the values of a dict or dataclass as JSON, without its arrays, which are added to `arrays`."""
    if values is None:
        return None
    named = values if isinstance(values, dict) else vars(values)
    arrays |= {f"{part}.{name}": one for name, one in named.items() if isinstance(one, np.ndarray)}
    return {name: one for name, one in named.items() if not isinstance(one, np.ndarray)}


def unpack(kind: Any, part: str, packed: Any, arrays: Mapping[str, np.ndarray], sizes: dict[str, int]) -> Any:
    """Return the values of a part of a file as a dataclass or dict, with its arrays; None for None."""
    if packed is None:
        return None
    found = {
        name: require_array(one, arrays[f"{part}.{name}"], sizes, f"{part}: {name}")
        for name, one in ARRAYS[part].items()
        if f"{part}.{name}" in arrays
    }
    return restored(kind, {**packed, **found}, part)


# --- formulas -------------------------------------------------------------------------------------


#: Largest number of factors of a term, and of values of the context.
MOST_FACTORS = 100
_MOMENTS, _SPLINE = ("ddof", "center", "scale"), ("lower_bound", "upper_bound", "knots")
#: Transform -> the names of what it learns from the rows.
LEARNED: dict[str | None, tuple[str, ...]] = {
    "poly": ("alpha", "norms2"),
    **dict.fromkeys(("center", "scale", "standardize"), _MOMENTS),
    "bs": _SPLINE,
    **dict.fromkeys(("cs", "cr", "cc"), (*_SPLINE, "cyclic", "constraints")),
}


def pack_spec(spec: Spec, arrays: dict[str, np.ndarray], name: str = "columns") -> dict[str, Any]:
    """Return a spec as JSON; arrays are added to `arrays`, under names that begin with `name`.

    Raises
    ------
    FileError
        For a formula that calls a user's function, or whose state cannot be stored.
    """
    partial = spec.partial
    if partial is not None:
        pack("regression", partial.regression, arrays)
    return {
        "kind": spec.kind,
        "columns": pack_index(spec.columns, name, arrays, "names of columns"),
        "formula": spec.formula,
        "model": None if spec.model_spec is None else _pack_model(spec),
        "given": None if partial is None else pack_spec(partial.spec, arrays, "covariates"),
        "rank": None if partial is None else int(partial.regression.rank),
    }


def _pack_model(spec: Spec) -> dict[str, Any]:
    """Return the terms of a formula, their states, and the names that they use."""
    model, context, formula = spec.model_spec, dict(spec.context or {}), str(spec.formula)
    values = {name: one for name, one in context.items() if not callable(one) and one is not np}
    inputs = spec.inputs or {}
    names = {*(formulas.formula_name(label) for label in inputs), *values}
    for part in {part for term in model.terms for part in term if part.method == "python"}:
        problem = formulas.problem_of(part.text, names, strings=True)
        for name in formulas.read_expression(part.text).calls & set(context):
            if context[name] is not getattr(np, name, None):
                problem = f"a call of {name!r}, a function of your own"
        if problem is not None:
            raise FileError(
                f"The fit cannot be saved: its formula={formula!r} holds {problem}, which a file without "
                "pickle cannot keep. Make that column in the data frame first, or use functions of NumPy by "
                "their names (np.log1p)."
            )
    return {
        "terms": [[list(part) for part in term] for term in model.terms],
        "widths": list(model.widths),
        "states": {text: _plain(state, formula) for text, state in sorted(model.states.items())},
        "levels": {
            text: _plain(list(state["categories"]), formula)
            for text, (_, state) in sorted(model.encodings.items())
        },
        "context": {name: _plain(one, formula) for name, one in sorted(values.items())},
        "inputs": [[pack_label(label), _plain(levels, formula)] for label, levels in inputs.items()],
    }


def _plain(value: Any, formula: str) -> Any:
    """Return a value of a formula as JSON: an array becomes a list, and a missing value None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(one, formula) for name, one in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(one, formula) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise FileError(
        f"The fit cannot be saved: its formula={formula!r} uses {value!r} of type "
        f"{type(value).__qualname__}, which a file cannot hold. Make that column in the data frame first, of "
        "numbers or text."
    )


def unpack_spec(given: Any, arrays: Mapping[str, np.ndarray], p: int) -> Spec:
    """Return the spec of a fit with `p` columns from its stored form.

    Raises
    ------
    FileError
        For a formula with anything but names, numbers and known functions, and for an invalid state.
    """
    packed = restored(_Spec, given, "columns")
    columns = unpack_index(packed["columns"], arrays, p)
    if not columns.is_unique:
        raise FileError("two of its columns have one name.")
    spec = Spec(packed["kind"], columns, packed["formula"])
    if packed["model"] is not None:
        spec = _with_model(spec, packed["model"])
    if packed["given"] is None:
        return spec
    sizes = {"p": p}
    regression = unpack(Regression, "regression", {"rank": packed["rank"]}, arrays, sizes)
    partial = Partial(unpack_spec(packed["given"], arrays, sizes["q"]), regression)
    return dataclasses.replace(spec, partial=partial)


def _with_model(spec: Spec, model: _Model) -> Spec:
    """Return the spec with the stored terms of its formula."""
    from formulaic.parser.types import Factor

    inputs = {unpack_label(label): None if one is None else tuple(one) for label, one in model["inputs"]}
    context, levels, widths = model["context"], model["levels"], model["widths"]
    if len(context) > MOST_FACTORS or any(
        np.size(np.asarray(one)) > formulas.LARGEST_ROOT for one in context.values()
    ):
        raise FileError("its formula uses too many values.")
    every = tuple(tuple(formulas.Part(*part) for part in term) for term in model["terms"])
    if len(widths) != len(every) or sum(widths) != len(spec.columns):
        raise FileError("the widths of the terms of its formula do not add up.")
    if max(map(len, every)) > MOST_FACTORS:
        raise FileError(f"its formula has a term of more than {MOST_FACTORS} factors.")
    names = {*(formulas.formula_name(label) for label in inputs), *context}
    factors = {formulas.formula_name(label) for label, known in inputs.items() if known is not None}
    states: dict[str, Any] = {}
    for part in dict.fromkeys(part for term in every for part in term):
        if problem := _problem_of(part, names):
            raise FileError(f"The formula in the file holds {problem}; it is not run.")
        factor = part.method == "lookup" and part.text in factors
        if part.method == "python":
            expression = formulas.read_expression(part.text)
            factor = isinstance(expression.tree, ast.Call) and ast.unparse(expression.tree.func) == "C"
            states |= _states_of(expression, model["states"])
        if factor and part.text not in levels:  # it would get its levels from new data
            raise FileError(f"The file does not hold the levels of {formulas.shortened(part.text)}.")
    known = {text: (Factor.Kind.CATEGORICAL, {"categories": list(one)}) for text, one in levels.items()}
    made = formulas.Model(every, str(spec.formula), {}, states, known, tuple(widths))
    used = formulas.Closed({**formulas.safe_context(), **context})
    return dataclasses.replace(spec, model_spec=made, context=used, inputs=inputs)


def _problem_of(part: formulas.Part, names: set[str]) -> str | None:
    """Return what is not allowed in a part of a term: all but names, numbers and the safe language."""
    if part.method == "python":
        return formulas.problem_of(part.text, names, strings=True)
    if part.method == "lookup":
        return None if part.text in names else f"the name {formulas.shortened(part.text)}"
    number = re.fullmatch(r"[0-9.]{1,20}", part.text)
    return None if number else f"the value {formulas.shortened(part.text)}"


def _states_of(expression: formulas.Expression, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the states of the transforms in an expression, which would learn from new data without them."""
    states = {}
    for node in ast.walk(expression.tree):
        name = formulas.called_name(expression, node.func) if isinstance(node, ast.Call) else None
        if name not in LEARNED:
            continue
        text = expression.show(node)
        state = stored.get(text) or {}
        nothing = name == "poly" and not state and "True" in text  # raw=True: powers
        every = [state] if set(state) == {*LEARNED[name]} else list(state.values())  # or of several columns
        right = every and all(isinstance(one, dict) and set(one) == {*LEARNED[name]} for one in every)
        if not right and not nothing:
            raise FileError(f"The file does not hold what {formulas.shortened(text)} has learned.")
        states[text] = _learned(state)
    return states


def _learned(stored: Any) -> Any:
    """Return a part of the state of a transform: an array for a list, and whole numbers for their text."""
    if isinstance(stored, dict):
        return {int(name) if name.isdigit() else name: _learned(one) for name, one in stored.items()}
    if not isinstance(stored, list):
        return stored
    values = np.array(stored, dtype=float)
    if values.size > 3 * formulas.LARGEST_ROOT:
        raise FileError("its formula has learned too many numbers.")
    return values


# --- saving ---------------------------------------------------------------------------------------


def save(
    state: FitState, data: Data | None, path: str | os.PathLike[str], scores: bool | None = None
) -> None:
    """Save the fit to one file, which :func:`spcastat.load` reads; see :meth:`spcastat.SpcaResult.save`."""
    in_chunks = data is not None and state.scores is None and data.out_of_core
    demanded = False if scores is None else flag("scores", scores)
    scores = not in_chunks if scores is None else demanded
    if scores and data is not None and in_chunks:
        write = "fit.scores.to_parquet(folder)" if data.distributed else "fit.transform_to(path)"
        raise OptionError(
            f"scores=True was given, and the scores of {state.record.title_of_data} are never all in "
            f"memory: write them with {write}, and save the fit without them."
        )
    with_rows = state.record.from_rows and (data is not None or state.scores is not None)
    if demanded and not with_rows:
        raise OptionError("scores=True was given, and this fit has neither rows nor scores; leave it out.")
    target = archive.file_path(path)
    if data is not None:
        data.spare(target)
    arrays = {"loadings": state.V}
    if state.pattern is not None:
        arrays = {"weights": state.V, "loadings": state.pattern}
    if state.rotated is not None:
        arrays["rotated"] = state.rotated
    moments, measures = state.moments.kept()
    content: dict[str, Any] = {
        "record": dataclasses.asdict(state.record.written()),
        "standard": pack("standard", state.standard, arrays),
        "model": pack("model", state.model, arrays),
        "moments": pack("moments", moments, arrays),
        "measures": pack("measures", measures, arrays),
        "design": pack("design", _with_mark(state, data), arrays),
        "spec": pack_spec(state.spec, arrays),
        "proofs": [_packed_proof(proof) for proof in state.inference.proofs],
        **{name: pack(name, getattr(state.inference, name), arrays) for name in RESAMPLED},
    }
    if scores and with_rows:
        frame = rows.scores(state, data)
        arrays["scores"] = frame.to_numpy()
        content["rows"] = pack_index(frame.index, "rows", arrays, "labels of rows")
    archive.write_file(target, partial(archive.write_archive, content=content, arrays=arrays))


def _packed_proof(proof: records.Proven) -> dict[str, Any]:
    """Return a proof as JSON, without the best loadings found, which are for `adopt` of a fit with data."""
    return {name: value for name, value in vars(proof).items() if name != "best"}


def _with_mark(state: FitState, data: Data | None) -> RowDesign | None:
    """Return the design of the rows with a mark of their order, by which it is recognised again."""
    design = state.design
    if design is None or data is None:
        return design
    return dataclasses.replace(design, mark=data.rows("save()").order_mark(state.V))


# --- loading --------------------------------------------------------------------------------------


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    where = archive.as_path(path)
    writer, content, arrays = archive.read_archive(where)
    try:
        return _state_of(content, arrays)
    except MemoryError:
        raise FileError(f"{where} cannot be read: it takes more memory than there is.") from None
    except Exception as error:  # not damaged, but not written by this package
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        if not isinstance(error, FileError):
            reason = f"it lacks a part, or has one of another type ({reason})"
        record = content.get("record")
        call = record.get("call") if isinstance(record, dict) else None
        advice = "fit again and save"
        if isinstance(call, str) and 0 < len(call) <= 1000:
            advice += f" ({call})"
        if writer and writer != __version__:
            advice = f"read it with spcastat {writer}, which wrote it, or {advice}"
        raise FileError(
            f"{where} cannot be used: {reason.rstrip('.')}. This is spcastat {__version__}; {advice}."
        ) from error


def _state_of(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FitState:
    record = record_of(content["record"])
    sizes = {"p": record.p, "k": record.k, "last": record.p - 1, "places": record.p * record.k - 1}
    if record.n is not None:
        sizes["n"] = record.n

    def part(kind: Any, name: str) -> Any:
        return unpack(kind, name, content.get(name), arrays, sizes)

    standard, model = part(Standardisation, "standard"), part(PpcaModel, "model")
    moments = part(_Moments, "moments")
    measures = part(dict[str, np.ndarray], "measures")
    if moments["total"] < _POSITIVE or not 1e-154 < moments["unit"] < 1e154:
        raise FileError("its variances are out of range.")
    said = (None, None) if standard is None else (standard.centring, standard.scaling)
    if said != (record.centring, record.scaling) or (standard is None and record.from_rows):
        raise FileError("it contradicts itself about centre and scale.")
    rank = (record.missing or {}).get("rank")
    if rank != sizes.get("rank") or (model is not None and model.sigma2 <= 0):
        raise FileError("its missing values do not go with their model.")
    design = part(RowDesign, "design")
    block = None if design is None else design.block_length
    if block is not None and (type(block) is not int or block < 1):
        raise FileError("its block length is not a number of rows.")
    V, pattern = _loadings(arrays, moments, record, sizes)
    rotated = arrays.get("rotated")
    if rotated is not None:
        rotated = require_array(_P_BY_K, rotated, sizes, "rotated loadings")
    state = FitState(
        V,
        record,
        Moments.stored(V, moments, measures),
        unpack_spec(content["spec"], arrays, record.p),
        standard,
        model=model,
        inference=inference_of(content, arrays, sizes, record),
        design=design,
        pattern=pattern,
        rotated=rotated,
    )
    if pattern is None:
        rule_of(record)  # raises for options that make no rule
    if "rows" not in content:
        return state
    scores = require_array(Array("f", ("n", "k"), nan=True), arrays["scores"], sizes, "scores")
    index = unpack_index(content["rows"], arrays, len(scores))
    return dataclasses.replace(state, scores=pd.DataFrame(scores, index, state.components))


def _loadings(
    arrays: Mapping[str, np.ndarray],
    moments: Mapping[str, Any],
    record: records.Record,
    sizes: dict[str, int],
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return unit loadings and None; for a fit of sparse loadings its weights, and these loadings.

    Weights give scores of unit variance without correlations, and loadings are their covariances with the
    variables, or zero.
    """
    if ("weights" in arrays) != (record.method == records.SPARSE_LOADINGS):
        raise FileError("its method does not go with its arrays.")
    if record.method != records.SPARSE_LOADINGS:
        unit = Array("f", ("p", "k"), -1 - CLOSE, 1 + CLOSE)
        return require_array(unit, arrays["loadings"], sizes, "loadings"), None
    loadings, weights = (
        require_array(_P_BY_K, arrays[name], sizes, name) for name in ("loadings", "weights")
    )
    coupling = moments["coupling"]
    with np.errstate(all="ignore"):  # the numbers of a file may be of any size
        allowed = CLOSE * np.sqrt(moments["variances"].clip(min=0.0))[:, None]
        differing = (loadings != 0) & ~(np.abs(loadings - coupling) <= allowed)
        correlated = ~(np.abs(weights.T @ coupling - np.eye(record.k)) <= CLOSE)
    if differing.any() or correlated.any() or not loadings.any(axis=0).all():
        raise FileError("its sparse loadings do not go with its weights and covariances.")
    return weights, loadings


def record_of(given: Any) -> records.Record:
    """Return the record in a file: unknown fields are ignored, missing fields get their defaults.

    Raises
    ------
    FileError
        If a field without a default is missing, or a value is not valid.
    """
    record: records.Record = restored(records.Record, given, "record")
    restored(_Facts, given, "record")
    p, k, names, groups = record.p, record.k, record.names, record.groups
    together, evidence = record.options.get("together"), record.evidence or {}
    grouped = [j for _, members in together or [] for j in members]
    for what, right in {
        "it has more components than variables": 1 <= k <= p,
        "it has rows, and not how many": not record.from_rows or (record.n and record.effective_n),
        "its numbers of rows are negative": min(record.n or 1, record.dropped, record.n_iter) >= 0,
        "it has no rows, and says how many values are missing": record.from_rows or record.missing is None,
        "its status is unknown": record.status in ADVICE,
        "its centre is unknown": record.centring in {None, *records.CENTRING},
        "its scale is unknown": record.scaling in {None, *records.SCALING},
        "its components have no names": names is None or len({*names}) == len(names) == k,
        "its details are not those of its components": all(len(one) == k for one in record.details.values()),
        "its groups of variables do not share them out": together is None or sorted(grouped) == [*range(p)],
        "its evidence is impossible": min(evidence.get(name, 1) for name in ("starts", "nonzeros")) >= 1
        and 0 <= evidence.get("unseen", 0) <= 1
        and (evidence.get("variables") or 0) <= p,
        "its blocks of variables are unknown": groups is None
        or (
            groups["kind"] in NAMED
            and len(groups["of"]) == p
            and -1 <= min(groups["of"]) <= max(groups["of"]) < len(groups["names"])
        ),
    }.items():
        if not right:
            raise FileError(f"its record: {what}.")
    return record


def proofs_of(given: Any, record: records.Record) -> tuple[records.Proven, ...]:
    """Return the proofs in a file; there may be at most one of each kind."""
    p, k = record.p, record.k
    proofs: list[records.Proven] = restored(list[records.Proven], given, "proofs")
    for proof in proofs:
        joint = proof.scope == "joint"
        found = [restored(_JointRow if joint else _ComponentRow, row, "proof") for row in proof.rows]
        supports = [one for row in found for one in (row["supports"] if joint else [row["support"]])]
        right = (
            proof.scope in records.SCOPES
            and proof.measure in records.JOINT
            and len(found) == (1 if joint else k)
            and len(supports) == k
            and all(
                len(row["cardinalities"]) == k and max(row["cardinalities"]) <= p for row in found if joint
            )
            and all(len({*one}) == len(one) and all(0 <= j < p for j in one) for one in supports)
            and all(row["nodes"] >= 0 for row in found)
            and all(type(row["gap"]) in (int, float) for row in found)
        )
        if not right:
            raise FileError("its proof does not go with the fit.")
    if len({proof.kind for proof in proofs}) < len(proofs):
        raise FileError("it has two proofs of one kind.")
    return tuple(proofs)


def inference_of(
    content: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    record: records.Record,
) -> records.Inference:
    """Return the results of resampling and the proofs in a file."""
    if "bootstrap.factors" in arrays:
        raise FileError("its bootstrap is of replicate weights, which are no longer supported.")
    found = {
        name: unpack(kind, name, content.get(name), arrays, dict(sizes)) for name, kind in RESAMPLED.items()
    }
    for name, one in found.items():
        places = getattr(one, "places", np.zeros(0))
        if not (np.diff(places) > 0).all():
            raise FileError(f"its {name}: the places of its loadings do not ascend.")
    if found["stability"] is not None and not 0.5 <= found["stability"].threshold <= 1:
        raise FileError("its stability: threshold is not from 0.5 to 1.")
    if found["tests"] is not None and found["tests"].fdr not in ("fdr_bh", "fdr_by"):
        raise FileError("its tests: its method is unknown.")
    return records.Inference(**found, proofs=proofs_of(content["proofs"], record))
