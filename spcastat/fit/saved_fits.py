"""Saving and loading fits: the contents of a file, and checks of files from other sources.

A file contains arrays, and JSON for everything else. Each part contains the fields of a dataclass or
TypedDict, whose annotations give the allowed types, kinds and shapes. `Reader` checks them. Whether the
numbers are correct cannot be checked without the data.

Formulas are code. Therefore only formulas of names, numbers and known functions are written and read; see
:mod:`spcastat.reading.formulas`.

Fields that older versions of the package did not write have their defaults, and fields that newer versions
added are ignored. A layout that older versions would misread has a new number, `VERSION` of
:mod:`spcastat.fit.archive`.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import os
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin

import numpy as np
import pandas as pd

from spcastat.arguments import flag, warn
from spcastat.errors import DataWarning, FileError, OptionError
from spcastat.fit import archive, rows
from spcastat.fit import record as records
from spcastat.fit.archive import is_possible, require_positions, require_range
from spcastat.fit.method_table import SOLVERS
from spcastat.fit.state import FitMoments, FitState, rule_of
from spcastat.inputs.cleaning import Cleaning
from spcastat.inputs.data import Data
from spcastat.labels import name_text
from spcastat.linalg.regression import Regression
from spcastat.linalg.standardisation import GROUP_SCALES, Standardisation
from spcastat.measures import MEASURES
from spcastat.reading import formulas
from spcastat.reading.design import Partial, RowDesign, Spec
from spcastat.reading.expressions import Expression, formula_name, read_expression, shortened
from spcastat.reading.missing_values import PpcaModel
from spcastat.reading.value_labels import Codes
from spcastat.search.objectives import OBJECTIVES
from spcastat.solvers.solver import ADVICE
from spcastat.version import __version__

# --- labels ---------------------------------------------------------------------------------------


def pack_label(label: Any) -> Any:
    """Return a label as JSON: text, a number, a bool, None, a list for a tuple, or a name for NaT or NA.

    Labels of other types, such as periods and intervals, are converted to text.
    """
    if isinstance(label, tuple):
        return [pack_label(part) for part in label]
    if isinstance(label, np.generic) and label.dtype.kind in "biuf":
        label = label.item()
    if label is pd.NaT or label is pd.NA:
        return {"missing": "NaT" if label is pd.NaT else "NA"}
    return label if label is None or isinstance(label, bool | int | float | str) else name_text(label)


def unpack_label(packed: Any) -> Any:
    """Return the label; raise FileError if it is not a label that files can contain."""
    if isinstance(packed, list):
        return tuple(unpack_label(part) for part in packed)
    if packed is None or isinstance(packed, bool | int | float | str):
        return packed
    if packed in ({"missing": "NaT"}, {"missing": "NA"}):
        return pd.NaT if packed["missing"] == "NaT" else pd.NA
    raise FileError("it contains a label that is not text or a number.")


def pack_index(index: pd.Index, name: str, arrays: dict[str, np.ndarray], role: str) -> dict[str, Any]:
    """Return an index as JSON; numbers and dates are added to `arrays`, under `name`.

    Warns if labels are converted to text; `role` describes the labels.
    """
    if isinstance(index, pd.MultiIndex):
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        return {"levels": [pack_index(level, f"{name}.{i}", arrays, role) for i, level in enumerate(levels)]}
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
            f"The file contains {role} of type {type(odd[0]).__name__} as text, such as {str(odd[0])!r}.",
            DataWarning,
        )
    return {**packed, "labels": labels, "mixed": index.dtype == object}


def unpack_index(packed: Mapping[str, Any], arrays: Mapping[str, np.ndarray], size: int) -> pd.Index:
    """Return the index, which must have `size` labels.

    Raises
    ------
    FileError
        If the number of labels differs from `size`.
    Exception
        If pandas does not accept the labels.
    """
    if "levels" in packed:
        return pd.MultiIndex.from_arrays([unpack_index(label, arrays, size) for label in packed["levels"]])
    name = unpack_label(packed["name"])
    index: Any
    if "range" in packed:
        index = range(*packed["range"])
    elif "array" in packed:
        index = pd.Index(arrays[packed["array"]], name=name)
        if packed.get("freq") is not None:  # raises an error if the dates have another frequency
            index = type(index)(index, freq=str(packed["freq"]), name=name)
        str(index[:1]), str(index[-1:])  # raises an error if dates cannot be printed
    else:
        labels = [unpack_label(label) for label in packed["labels"]]
        text = not packed["mixed"] and all(label is None or isinstance(label, str) for label in labels)
        index = pd.Index(labels, dtype=None if text else object, name=name, tupleize_cols=False)
    if len(index) != size:
        raise FileError(f"it has {len(index)} labels for {size} rows or columns.")
    return pd.RangeIndex(index, name=name) if isinstance(index, range) else index


# --- types ----------------------------------------------------------------------------------------


#: Largest whole number in a file.
LARGEST_STORED = 1 << 62


@dataclass(frozen=True)
class Reader:
    """Reads the values of a file according to the types of fields of dataclasses and TypedDicts.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        Arrays by the place of their field, such as "bootstrap.values".
    sizes : dict of str to int
        Sizes of dimensions by name; a new name is given the size of the first array in which it occurs.
    """

    arrays: Mapping[str, np.ndarray]
    sizes: dict[str, int] = field(default_factory=dict)

    def read(self, kind: Any, value: Any, place: str) -> Any:
        """Return a value as the type `kind`; `place` is its place in the file and its name in messages.

        Numbers must be finite. Lists are converted to tuples, and dicts to dataclasses, if the type requires
        it. Fields with defaults may be missing, and unknown fields are ignored. ``Any`` allows any JSON
        value.

        Raises
        ------
        FileError
            If the value does not have the type.
        """
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated and isinstance(inner[1], str):
            return self.array(inner[1], place)
        if origin is Annotated or origin is NotRequired:
            for alternative in inner[1:]:
                self.read(alternative, value, place)
            return self.read(inner[0], value, place)
        if origin in (Union, types.UnionType):
            return self._choice(inner, value, place)
        if dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
            return self._fields(kind, value, place)
        if origin in (tuple, list, dict, Mapping):
            return self._parts(origin, inner, value, place)
        if _is_plain(kind, value):
            if kind in (int, float):
                require_range(value, _place(place), place)
            return value
        raise FileError(f"its {place} has the wrong type.")

    def _choice(self, kinds: tuple[Any, ...], value: Any, place: str) -> Any:
        """Return a value as the first of `kinds` that fits; for `T | None`, any other value must be a T."""
        if _place(place) in self.arrays or (kinds[1:] == (type(None),) and value is not None):
            return self.read(kinds[0], value, place)
        for kind in kinds:
            with contextlib.suppress(FileError):
                return self.read(kind, value, place)
        raise FileError(f"its {place} has the wrong type.")

    def _parts(self, origin: Any, inner: tuple[Any, ...], value: Any, place: str) -> Any:
        """Return a list, tuple or dict whose elements have the types `inner`."""
        if origin in (dict, Mapping) and isinstance(value, dict):
            return {name: self.read(inner[1], part, place) for name, part in value.items()}
        if origin is list and isinstance(value, list | tuple):
            return [self.read(inner[0], part, place) for part in value]
        if origin is tuple and isinstance(value, list | tuple) and len(value) == len(inner):
            return tuple(self.read(*pair, place) for pair in zip(inner, value, strict=True))
        raise FileError(f"its {place} has the wrong type.")

    def _fields(self, kind: Any, value: Any, place: str) -> Any:
        """Return a dataclass, or the dict of a TypedDict, from the values of its fields."""
        if not isinstance(value, dict):
            raise FileError(f"its {place} has no parts.")
        hints = typing.get_type_hints(kind, include_extras=True)
        if typing.is_typeddict(kind):
            bound = hints if kind.__total__ else {}
            required = {name for name, hint in bound.items() if get_origin(hint) is not NotRequired}
        else:
            bare = [field for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING]
            required = {field.name for field in bare if field.default_factory is dataclasses.MISSING}
        present = {name for name in hints if name in value or f"{_place(place)}.{name}" in self.arrays}
        for name in hints:
            if name in required - present:
                raise FileError(f"its {place} lacks {name}.")
        values = {
            name: self.read(hint, value.get(name), f"{place}: {name}")
            for name, hint in hints.items()
            if name in present
        }
        return {**value, **values} if typing.is_typeddict(kind) else kind(**values)

    def array(self, shape: str, place: str) -> np.ndarray:
        """Return an array with a kind and shape such as "f p k"; see :mod:`spcastat.fit.record`."""
        kind, *names = shape.split()
        array = self.arrays.get(_place(place))
        if array is None or array.dtype.kind != kind[0]:
            raise FileError(f"its {place}: it is not an array of such numbers.")
        if array.ndim != len(names):
            raise FileError(f"its {place}: it has shape {array.shape}, with {array.ndim} dimensions.")
        sizes = tuple(
            int(name) if name.isdigit() else self.sizes.setdefault(name, size)
            for name, size in zip(names, array.shape, strict=True)
        )
        if array.shape != sizes:
            raise FileError(f"its {place}: it has shape {array.shape}, not {sizes}.")
        if kind == "f" and not np.isfinite(array).all():
            raise FileError(f"its {place}: it contains numbers that are not finite.")
        require_range(array, _place(place), place)
        require_positions(array, _place(place), place, self.sizes)
        return array


def _place(place: str) -> str:
    """Return the place of a value, given its name in messages."""
    return place.replace(": ", ".")


def _is_plain(kind: Any, value: Any) -> bool:
    """Return whether a value is of a type without parts: a finite number, text, None or a literal."""
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if kind is float:
        return type(value) in (int, float) and abs(value) <= 1e300  # False for NaN
    if kind is int:
        return type(value) is int and abs(value) <= LARGEST_STORED
    if kind is str:  # pandas columns of text cannot contain unpaired surrogates
        return isinstance(value, str) and value.encode(errors="replace").decode() == value
    return kind is Any or type(value) is (type(None) if kind is None else kind)


class _StoredMoments(TypedDict):
    total: float
    unit: float
    variances: Annotated[np.ndarray, "f p"]
    explained: Annotated[np.ndarray, "f p"]
    adjusted: Annotated[np.ndarray, "f k"]
    pca: Annotated[np.ndarray, "f k"]
    coupling: Annotated[np.ndarray, "f p k"]
    scores: Annotated[np.ndarray, "f k k"]
    residual_traces: NotRequired[Annotated[np.ndarray, "f 3"] | None]
    copies: NotRequired[Annotated[np.ndarray, "f copies 3"] | None]


Level = bool | int | float | str


class _StoredModel(TypedDict):
    terms: list[list[tuple[str, Literal["lookup", "python", "literal"]]]]
    widths: list[int]
    states: dict[str, dict[str, Any]]
    levels: dict[str, list[Level]]
    context: dict[str, Level | list[Any] | None]
    inputs: list[tuple[Any, list[Level] | None]]


class _StoredSpec(TypedDict):
    kind: Literal["array", "frame", "formula"]
    columns: dict[str, Any]
    formula: str | None
    model: _StoredModel | None
    given: dict[str, Any] | None
    rank: int | None
    codes: NotRequired[list[tuple[Any, list[tuple[Level, float]]]] | None]


def pack(part: str, values: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Return a dict or dataclass as JSON, without its arrays, which are added to `arrays`."""
    if values is None:
        return None
    fields_by_name = values if isinstance(values, dict) else vars(values)
    arrays |= {
        f"{part}.{name}": value for name, value in fields_by_name.items() if isinstance(value, np.ndarray)
    }
    return {name: value for name, value in fields_by_name.items() if not isinstance(value, np.ndarray)}


# --- formulas -------------------------------------------------------------------------------------


#: Largest number of factors in a term, and of values in the context.
MOST_FACTORS = 100
_MOMENTS, _SPLINE = ("ddof", "center", "scale"), ("lower_bound", "upper_bound", "knots")
#: Transform -> the names of the quantities that it estimates from the rows.
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
        For a formula that calls a function of the user, or whose state cannot be stored.
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
        "codes": None if spec.codes is None else _pack_codes(spec.codes),
    }


def _pack_codes(codes: Codes) -> list[Any]:
    """Return the numbers of categories as JSON."""
    return [
        [pack_label(name), [[_plain(category, "codes"), number] for category, number in numbers.items()]]
        for name, numbers in codes.items()
    ]


def _pack_model(spec: Spec) -> dict[str, Any]:
    """Return the terms of a formula, their states, and the names that they use."""
    model, context, formula = spec.model_spec, dict(spec.context or {}), str(spec.formula)
    values = {name: entry for name, entry in context.items() if not callable(entry) and entry is not np}
    inputs = spec.inputs or {}
    names = {*(formula_name(label) for label in inputs), *values}
    for part in {part for term in model.terms for part in term if part.method == "python"}:
        problem = formulas.problem_of(part.text, names, strings=True)
        for name in read_expression(part.text).calls & set(context):
            if context[name] is not getattr(np, name, None):
                problem = f"a call of {name!r}, a function of your own"
        if problem is not None:
            raise FileError(
                f"The fit cannot be saved: its formula={formula!r} contains {problem}, which a file without "
                "pickle cannot store. Make that column in the data frame first, or use functions of NumPy by "
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
        "context": {name: _plain(entry, formula) for name, entry in sorted(values.items())},
        "inputs": [[pack_label(label), _plain(levels, formula)] for label, levels in inputs.items()],
    }


def _plain(value: Any, formula: str) -> Any:
    """Return a value of a formula as JSON: an array becomes a list, and a missing value None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(entry, formula) for name, entry in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(entry, formula) for entry in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise FileError(
        f"The fit cannot be saved: its formula={formula!r} uses {value!r} of type "
        f"{type(value).__qualname__}, which a file cannot contain. Make that column in the data frame first, "
        "of numbers or text."
    )


def unpack_spec(given: Any, reader: Reader, p: int) -> Spec:
    """Return the spec of a fit with `p` columns from its stored form.

    Raises
    ------
    FileError
        If the formula contains anything but names, numbers and known functions, or has an invalid state.
    """
    packed = reader.read(_StoredSpec, given, "columns")
    columns = unpack_index(packed["columns"], reader.arrays, p)
    if not columns.is_unique:
        raise FileError("two of its columns have the same name.")
    codes = packed.get("codes")
    numbers = None if codes is None else {unpack_label(name): dict(entry) for name, entry in codes}
    spec = Spec(packed["kind"], columns, packed["formula"], codes=numbers)
    if packed["model"] is not None:
        spec = _with_model(spec, packed["model"])
    if packed["given"] is None:
        return spec
    regression = reader.read(Regression, {"rank": packed["rank"]}, "regression")
    partial = Partial(unpack_spec(packed["given"], reader, reader.sizes["q"]), regression)
    return dataclasses.replace(spec, partial=partial)


def _with_model(spec: Spec, model: _StoredModel) -> Spec:
    """Return the spec with the stored terms of its formula."""
    from formulaic.parser.types import Factor

    inputs = {
        unpack_label(label): None if entry is None else tuple(entry) for label, entry in model["inputs"]
    }
    context, levels, widths = model["context"], model["levels"], model["widths"]
    if len(context) > MOST_FACTORS or any(
        np.size(np.asarray(entry)) > formulas.LARGEST_ROOT for entry in context.values()
    ):
        raise FileError("its formula uses too many values.")
    terms = tuple(tuple(formulas.Part(*part) for part in term) for term in model["terms"])
    if len(widths) != len(terms) or sum(widths) != len(spec.columns):
        raise FileError("the widths of the terms of its formula do not add up.")
    if max(map(len, terms)) > MOST_FACTORS:
        raise FileError(f"its formula has a term of more than {MOST_FACTORS} factors.")
    names = {*(formula_name(label) for label in inputs), *context}
    factors = {formula_name(label) for label, levels_known in inputs.items() if levels_known is not None}
    states: dict[str, Any] = {}
    for part in dict.fromkeys(part for term in terms for part in term):
        if problem := _problem_of(part, names):
            raise FileError(f"The formula in the file contains {problem}; it is not run.")
        factor = part.method == "lookup" and part.text in factors
        if part.method == "python":
            expression = read_expression(part.text)
            factor = isinstance(expression.tree, ast.Call) and ast.unparse(expression.tree.func) == "C"
            states |= _states_of(expression, model["states"])
        if factor and part.text not in levels:  # its levels would be taken from new data
            raise FileError(f"The file does not contain the levels of {shortened(part.text)}.")
    levels_known = {
        text: (Factor.Kind.CATEGORICAL, {"categories": list(entry)}) for text, entry in levels.items()
    }
    formula_model = formulas.FormulaModel(terms, str(spec.formula), {}, states, levels_known, tuple(widths))
    used = formulas.Closed({**formulas.safe_context(), **context})
    return dataclasses.replace(spec, model_spec=formula_model, context=used, inputs=inputs)


def _problem_of(part: formulas.Part, names: set[str]) -> str | None:
    """Return what is not allowed in a part of a term in a file, or None if the part is allowed."""
    if part.method == "python":
        return formulas.problem_of(part.text, names, strings=True)
    if part.method == "lookup":
        return None if part.text in names else f"the name {shortened(part.text)}"
    number = re.fullmatch(r"[0-9.]{1,20}", part.text)
    return None if number else f"the value {shortened(part.text)}"


def _states_of(expression: Expression, archive_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the states of the transforms in an expression; each transform must have a stored state."""
    states = {}
    for node in ast.walk(expression.tree):
        name = formulas.called_name(expression, node.func) if isinstance(node, ast.Call) else None
        if name not in LEARNED:
            continue
        text = expression.show(node)
        state = archive_values.get(text) or {}
        nothing = name == "poly" and not state and "True" in text  # raw=True: powers, with no state
        column_states = (
            [state] if set(state) == {*LEARNED[name]} else list(state.values())
        )  # one state, or one per column
        is_valid = column_states and all(
            isinstance(entry, dict) and set(entry) == {*LEARNED[name]} for entry in column_states
        )
        if not is_valid and not nothing:
            raise FileError(f"The file does not contain the estimates of {shortened(text)}.")
        states[text] = _learned(state)
    return states


def _learned(archive_value: Any) -> Any:
    """Return a part of the state of a transform: lists become arrays, and keys of digits whole numbers."""
    if isinstance(archive_value, dict):
        return {
            int(name) if name.isdigit() else name: _learned(entry) for name, entry in archive_value.items()
        }
    if not isinstance(archive_value, list):
        return archive_value
    values = np.array(archive_value, dtype=float)
    if values.size > 3 * formulas.LARGEST_ROOT:
        raise FileError("its formula stores too many estimates.")
    return values


#: Name of a resampling method in a file -> class of its results.
RESAMPLED: dict[str, Any] = {
    "bootstrap": records.Bootstrapped,
    "stability": records.HalfSamples,
    "split": records.Split,
    "tests": records.Tested,
}


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
            f"scores=True was given, but the scores of {state.record.title_of_data} are never all in "
            f"memory: write them with {write}, and save the fit without them."
        )
    with_rows = state.record.from_rows and (data is not None or state.scores is not None)
    if demanded and not with_rows:
        raise OptionError("scores=True was given, but this fit has neither rows nor scores; leave it out.")
    target = archive.file_path(path)
    if data is not None:
        data.spare(target)
    arrays = {"loadings": state.V}
    if state.pattern is not None:
        arrays = {"weights": state.V, "loadings": state.pattern}
    if state.rotated is not None:
        arrays["rotated"] = state.rotated
    moments, measures = state.moments.file_content()
    content: dict[str, Any] = {
        "record": dataclasses.asdict(state.record.as_text()),
        "standard": pack("standard", state.standard, arrays),
        "model": pack("model", state.model, arrays),
        "moments": pack("moments", moments, arrays),
        "measures": pack("measures", measures, arrays),
        "design": pack("design", _with_mark(state, data), arrays),
        **_packed_cleaning(state, arrays),
        "spec": pack_spec(state.spec, arrays),
        "proofs": [_packed_proof(proof) for proof in state.inference.proofs],
        "principal": pack("principal", state.principal, arrays),
        **{name: pack(name, getattr(state.inference, name), arrays) for name in RESAMPLED},
    }
    if scores and with_rows:
        frame = rows.scores(state, data)
        arrays["scores"] = frame.to_numpy()
        content["rows"] = pack_index(frame.index, "rows", arrays, "labels of rows")
    archive.write_file(target, partial(archive.write_archive, content=content, arrays=arrays))


def _packed_cleaning(state: FitState, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the outlying cells and rows of a robust fit as JSON, without their arrays."""
    if state.cleaning is None:
        return {}
    packed = pack("cleaning", state.cleaning, arrays)
    assert packed is not None
    packed["wrapping"] = pack("cleaning.wrapping", packed["wrapping"], arrays)
    labels = state.row_labels
    rows_of = None if labels is None else pack_index(labels, "cleaned", arrays, "labels of rows")
    return {"cleaning": packed, "cleaned": rows_of}


def _packed_proof(proof: records.Proven) -> dict[str, Any]:
    """Return a proof as JSON, without the best loadings found, which only a fit with data can adopt."""
    return {name: value for name, value in vars(proof).items() if name != "best"}


def _with_mark(state: FitState, data: Data | None) -> RowDesign | None:
    """Return the design of the rows with a mark that identifies their order."""
    design = state.design
    if design is None or data is None:
        return design
    return dataclasses.replace(design, mark=data.rows("save()").order_mark(state.V))


# --- loading --------------------------------------------------------------------------------------


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    file = archive.as_path(path)
    writer, content, arrays = archive.read_archive(file)
    try:
        return _state_of(content, arrays)
    except MemoryError:
        raise FileError(f"{file} cannot be read: it needs more memory than is available.") from None
    except Exception as error:  # the file is not damaged, but was not written by this package
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        if not isinstance(error, FileError):
            reason = f"it lacks a part, or a part has the wrong type ({reason})"
        record = content.get("record")
        call = record.get("call") if isinstance(record, dict) else None
        advice = "fit again and save"
        if isinstance(call, str) and 0 < len(call) <= 1000:
            advice += f" ({call})"
        if writer and writer != __version__:
            advice = f"read it with spcastat {writer}, which wrote it, or {advice}"
        raise FileError(
            f"{file} cannot be used: {reason.rstrip('.')}. This is spcastat {__version__}; {advice}."
        ) from error


def _state_of(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FitState:
    reader = Reader(arrays)
    record = record_of(content["record"], reader)
    reader.sizes.update(p=record.p, k=record.k)
    if record.n is not None:
        reader.sizes["n"] = record.n

    def part(kind: Any, name: str) -> Any:
        return reader.read(kind | None, content.get(name), name)

    standard, model, design = (
        part(kind, name)
        for kind, name in ((Standardisation, "standard"), (PpcaModel, "model"), (RowDesign, "design"))
    )
    cleaning = part(Cleaning, "cleaning")
    _require_places(cleaning, record)
    moments = reader.read(_StoredMoments, content.get("moments"), "moments")
    measure_names: list[str] = [name for name in MEASURES if f"measures.{name}" in arrays]
    measures: dict[str, np.ndarray] = {
        name: reader.array("f k", f"measures: {name}") for name in measure_names
    }
    _require_agreement(record, standard, design, moments, reader.sizes)
    patterned = record.method == records.SPARSE_LOADINGS
    if patterned != ("weights" in arrays):
        raise FileError("its method does not match its arrays.")
    names = ("weights", "loadings") if patterned else ("loadings", None)
    V, pattern, rotated = (
        None if name is None else reader.array("f p k", name)
        for name in (*names, "rotated" if "rotated" in arrays else None)
    )
    assert V is not None
    if not V.any(axis=0).all():
        raise FileError("one of its components has no loadings.")
    state = FitState(
        V,
        record,
        FitMoments.from_file(V, moments, measures),
        unpack_spec(content["spec"], reader, record.p),
        standard,
        model=model,
        inference=inference_of(content, reader, record),
        design=design,
        pattern=pattern,
        rotated=rotated,
        principal=principal_of(content, reader, record),
        cleaning=cleaning,
        row_labels=_cleaned_rows(content, arrays, record),
    )
    if pattern is None and state.principal is None:
        rule_of(record)  # raises an error for options that do not form a rule
    if "rows" not in content:
        return state
    scores = reader.array("f? n k", "scores")
    index = unpack_index(content["rows"], arrays, len(scores))
    return dataclasses.replace(state, scores=pd.DataFrame(scores, index, state.components))


def _cleaned_rows(
    content: Mapping[str, Any], arrays: Mapping[str, np.ndarray], record: records.Record
) -> pd.Index | None:
    """Return the labels of the rows of a robust fit, if the file contains them."""
    packed = content.get("cleaned")
    return None if packed is None else unpack_index(packed, arrays, record.n or 0)


def _require_places(cleaning: Cleaning | None, record: records.Record) -> None:
    """Raise FileError if outlying cells have positions outside the data."""
    if cleaning is None or not cleaning.places.size:
        return
    low, high = cleaning.places.min(axis=0), cleaning.places.max(axis=0)
    if (low < 0).any() or high[0] >= (record.n or 0) or high[1] >= record.p:
        raise FileError("its outlying cells have positions outside the data.")


def _require_agreement(
    record: records.Record,
    standard: Standardisation | None,
    design: RowDesign | None,
    moments: Mapping[str, Any],
    sizes: Mapping[str, int],
) -> None:
    """Raise FileError if parts of a file contradict each other."""
    facts = (None, None) if standard is None else (standard.centring, standard.scaling)
    block = None if design is None else design.block_length
    rank = (record.missing or {}).get("rank")
    for problem, holds in {
        "its variances are out of range": moments["total"] >= np.finfo(float).tiny
        and 1e-154 < moments["unit"] < 1e154,
        "its variances do not add up": np.isclose(moments["variances"].sum(), moments["total"], 1e-6, 0.0),
        "its centre and scale contradict each other": facts == (record.centring, record.scaling)
        and (standard is not None or not record.from_rows),
        "its missing values do not match their model": rank == sizes.get("rank"),
        "its block length is not a number of rows": block is None or (type(block) is int and block >= 1),
    }.items():
        if not holds:
            raise FileError(f"{problem}.")


def record_of(given: Any, reader: Reader) -> records.Record:
    """Return the record in a file; unknown fields are ignored, and missing fields have their defaults.

    Raises
    ------
    FileError
        If a field without a default is missing, or a value is not valid.
    """
    record: records.Record = reader.read(records.Record, given, "record")
    p, k, names, groups = record.p, record.k, record.names, record.groups
    groups_option, evidence = record.options.get("together"), record.evidence or {}
    card = record.options.get("card")
    grouped = [j for _, members in groups_option or [] for j in members]
    for fault, right in {
        "it has more components than variables": 1 <= k <= p,
        "it has rows, but does not state how many": not record.from_rows or (record.n and record.effective_n),
        "its number of rows is negative": (record.n or 1) >= 0,
        "its method is unknown": record.method in {*SOLVERS, *records.NOT_SOLVERS},
        "its objective is unknown": record.options.get("objective") in (None, *OBJECTIVES),
        "its card does not match its components": card is None
        or (len(card) == k and all(0 <= count <= p for count in card)),
        "its optima were never reached": all(hits >= 1 for _, hits in record.optima),
        "it has no rows, but states how many values are missing": record.from_rows or record.missing is None,
        "its status is unknown": record.status in ADVICE,
        "its centre is unknown": record.centring in {None, *records.CENTRING},
        "its scale is unknown": record.scaling in {None, *records.SCALING},
        "its components have no names": names is None or len({*names}) == len(names) == k,
        "its details do not match its components": all(
            len(detail) == k for detail in record.details.values()
        ),
        "its groups are not a partition of the variables": groups_option is None
        or sorted(grouped) == [*range(p)],
        "its evidence is impossible": is_possible(evidence, p),
        "its blocks of variables are unknown": groups is None
        or (
            groups["kind"] in GROUP_SCALES
            and len(groups["of"]) == p
            and -1 <= min(groups["of"]) <= max(groups["of"]) < len(groups["names"])
        ),
    }.items():
        if not right:
            raise FileError(f"its record: {fault}.")
    return record


def principal_of(
    content: Mapping[str, Any], reader: Reader, record: records.Record
) -> records.PrincipalSet | None:
    """Return the variables kept in a file of principal variables; None for other fits.

    Raises
    ------
    FileError
        If groups or variables have impossible positions.
    """
    if record.method != records.PRINCIPAL_VARIABLES:
        return None
    parts = Reader(reader.arrays, dict(reader.sizes))
    about: records.PrincipalSet = parts.read(records.PrincipalSet, content.get("principal"), "principal")
    p, g = record.p, parts.sizes["g"]
    members = [j for _, group in about.together for j in group]
    kept_groups = about.chosen.tolist()
    positions = {
        "groups kept": (about.chosen, 0, g),
        "groups instead": (about.other, -1, g),
        "groups to add": (about.further, 0, g),
        "variables kept": (about.nearest, 0, p),
        "variables of groups": (np.array(members, dtype=int), 0, p),
        "determined variables": (np.array([j for j, _ in about.determined], dtype=int), 0, p),
    }
    impossible = [
        name
        for name, (at, low, high) in positions.items()
        if len(at) and not low <= at.min() <= at.max() < high
    ]
    if len({*members}) < len(members) or g != p - len(members) + len(about.together):
        impossible.append("variables of groups")
    if not kept_groups or len({*kept_groups}) < len(kept_groups):
        impossible.append("groups kept")
    if "k" not in record.options or (np.diff(about.sizes) <= 0).any() or len(kept_groups) not in about.sizes:
        impossible.append("numbers of groups")
    if impossible:
        raise FileError(f"its {impossible[0]} do not match its variables.")
    return about


def inference_of(content: Mapping[str, Any], reader: Reader, record: records.Record) -> records.Inference:
    """Return the results of resampling and the proofs in a file; there is at most one of each kind."""
    if "bootstrap.factors" in reader.arrays:
        raise FileError("its bootstrap used replicate weights, which are not supported.")
    results = {}
    for name, kind in RESAMPLED.items():  # each kind of results has its own sizes
        member_reader = Reader(reader.arrays, dict(reader.sizes))
        results[name] = None if content.get(name) is None else member_reader.read(kind, content[name], name)
    if results["stability"] is not None and not 0.5 <= results["stability"].threshold <= 1:
        raise FileError("its stability: threshold is not between 0.5 and 1.")
    proofs: list[records.Proven] = reader.read(list[records.Proven], content["proofs"], "proofs")
    if not all(_goes_with(proof, record) for proof in proofs):
        raise FileError("its proof does not match the fit.")
    if len({proof.kind for proof in proofs}) < len(proofs):
        raise FileError("it has two proofs of the same kind.")
    return records.Inference(**results, proofs=tuple(proofs))


def _goes_with(proof: records.Proven, record: records.Record) -> bool:
    """Return whether a proof matches a fit in the number of components and the positions of variables."""
    p, k, joint = record.p, record.k, proof.scope == "joint"
    if any(("supports" in row) != joint or type(row["gap"]) not in (int, float) for row in proof.rows):
        return False
    supports = [J for row in proof.rows for J in (row["supports"] if joint else [row["support"]])]
    cards = [row["cardinalities"] for row in proof.rows if joint]
    return (
        len(proof.rows) == (1 if joint else k)
        and len(supports) == k
        and all(len(card) == k and max(card) <= p for card in cards)
        and all(len({*J}) == len(J) and all(0 <= j < p for j in J) for J in supports)
        and all(row["nodes"] >= 0 for row in proof.rows)
    )
