"""Saving and loading fits: the parts of a file and their checks, specs, and the states of formulas.

Formulas are code, and so are their functions. Therefore only formulas of names, numbers and known functions
are written and read; see :mod:`spcastat.reading.terms`. The states of transforms and factors are
checked: their types must be those that fitting produces, and their sizes are limited
(:data:`spcastat.reading.terms.LARGEST_ROOT` columns for each call).

The checksums of the archive detect damage. The checks here detect files that were not written by this
package: parts of another type, shape or size, and missing parts. Whether the numbers are right cannot be
checked without the data.

A file states the version of its layout, `VERSION`. Within a layout, parts that older versions of the package
did not write get defaults, and parts that newer versions added are ignored. A layout that older versions
would misread gets a new number.
"""

from __future__ import annotations

import ast
import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import pandas as pd

from spcastat.config import flag
from spcastat.errors import FileError, OptionError
from spcastat.fit import rows
from spcastat.fit.archive import Archive, as_path, file_path, read_archive, write_archive, write_file
from spcastat.fit.inputs import Source
from spcastat.fit.record import (
    CENTRING,
    JOINT,
    SCALING,
    SCOPES,
    SPARSE_LOADINGS,
    Bootstrapped,
    HalfSamples,
    LastResults,
    Proven,
    Record,
    Split,
    Tested,
)
from spcastat.fit.saved_values import (
    Array,
    has_type,
    pack_index,
    pack_label,
    require_array,
    require_fields,
    unpack_index,
    unpack_label,
)
from spcastat.fit.starts import Screening
from spcastat.fit.state import FitState, Moments, rule_of
from spcastat.linalg.regression import Regression
from spcastat.linalg.standardisation import NAMED, Standardisation
from spcastat.measures import MEASURES
from spcastat.reading.design import Partial, RowDesign, Spec, order_mark
from spcastat.reading.missing_values import PpcaModel
from spcastat.reading.terms import (
    LARGEST_ROOT,
    NUMPY,
    Closed,
    Model,
    Part,
    called_name,
    formula_name,
    problem_of,
    read_expression,
    safe_context,
    shortened,
)
from spcastat.solvers.solver import ADVICE, Grouping, Searched, Sparser
from spcastat.version import __version__

#: Largest number of factors of a term, and of values of the context.
MOST_FACTORS = 100

# --- saving ---------------------------------------------------------------------------------------


def pack_spec(spec: Spec, arrays: dict[str, np.ndarray], name: str = "columns") -> dict[str, Any]:
    """Return a spec as JSON; arrays are added to `arrays`, under names that begin with `name`.

    Raises
    ------
    FileError
        For a formula that calls a user's function, or whose state cannot be stored.
    """
    packed: dict[str, Any] = {
        "kind": spec.kind,
        "columns": pack_index(spec.columns, name, arrays, "names of columns"),
        "formula": spec.formula,
        "model": None if spec.model_spec is None else _pack_model(spec),
    }
    if spec.partial is not None:
        found = spec.partial.regression
        parts = {"mean": found.mean, "coefficients": found.coefficients, "shares": found.shares}
        arrays |= {f"regression.{one}": values for one, values in parts.items()}
        packed["given"] = pack_spec(spec.partial.spec, arrays, "covariates")
        packed["rank"] = int(found.rank)
    return packed


def _pack_model(spec: Spec) -> dict[str, Any]:
    """Return the terms of a formula, their states, and the names that they use."""
    model, context, formula = spec.model_spec, dict(spec.context or {}), str(spec.formula)
    values = {name: one for name, one in context.items() if not callable(one) and one is not np}
    names = {*(formula_name(label) for label in spec.inputs or {}), *values}
    for part in {part for term in model.terms for part in term}:
        _require_writable(part, names, context, formula)
    known = {text: state["categories"] for text, (_, state) in model.encodings.items()}
    return {
        "terms": [[list(part) for part in term] for term in model.terms],
        "widths": list(model.widths),
        "states": {text: _plain(state, formula) for text, state in sorted(model.states.items())},
        "levels": {text: _plain(list(levels), formula) for text, levels in sorted(known.items())},
        "context": {name: _plain(one, formula) for name, one in sorted(values.items())},
        "inputs": [
            [pack_label(label), None if levels is None else _plain(list(levels), formula)]
            for label, levels in (spec.inputs or {}).items()
        ],
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


def _require_writable(part: Part, names: set[str], context: Mapping[str, Any], formula: str) -> None:
    if part.method != "python":
        return
    for name, value in context.items():
        own = callable(value) and not (name in NUMPY and value is getattr(np, name))
        if own and re.search(rf"(?<![\w.]){re.escape(name)}\b", part.text):
            raise FileError(
                f"The fit cannot be saved: its formula={formula!r} uses {name!r}, a function of your own, "
                "which a file without pickle cannot hold. Make that column in the data frame first, or use "
                "functions of NumPy by their names (np.log1p)."
            )
    problem = problem_of(part.text, names, strings=True)
    if problem is not None:
        raise FileError(
            f"The fit cannot be saved: its formula={formula!r} holds {problem}, which a file could only keep "
            "as code. Make that column in the data frame first."
        )


# --- loading --------------------------------------------------------------------------------------


def unpack_spec(packed: Mapping[str, Any], arrays: Mapping[str, np.ndarray], p: int) -> Spec:
    """Return the spec of a fit with `p` columns from its stored form.

    Raises
    ------
    FileError
        For a formula with anything but names, numbers and known functions, and for an invalid state.
    """
    kind, formula, model = packed["kind"], packed["formula"], packed["model"]
    if kind not in ("array", "frame", "formula") or not has_type(formula, str | None):
        raise FileError("its kind of columns is unknown.")
    columns = unpack_index(packed["columns"], arrays, p)
    if not columns.is_unique:
        raise FileError("two of its columns have one name.")
    spec = Spec(kind, columns, formula)
    if model is not None:
        spec = _with_model(spec, model)
    if "given" not in packed:
        return spec
    sizes = {"p": p}
    found = {name: arrays[f"regression.{name}"] for name in ("mean", "coefficients", "shares")}
    for name, array in {
        "mean": Array("f", ("q",)),
        "coefficients": Array("f", ("q", "p")),
        "shares": Array("f", ("p",), 0, 1),
    }.items():
        require_array(array, found[name], sizes, f"regression on covariates: {name}")
    if not has_type(packed["rank"], int) or not 0 <= packed["rank"] <= sizes["q"]:
        raise FileError("its regression on covariates has no rank.")
    given = unpack_spec(packed["given"], arrays, sizes["q"])
    return replace(spec, partial=Partial(given, Regression(**found, rank=packed["rank"])))


def _with_model(spec: Spec, model: Mapping[str, Any]) -> Spec:
    """Return the spec with the stored terms of its formula."""
    inputs = {unpack_label(label): None if one is None else tuple(one) for label, one in model["inputs"]}
    context, levels, widths = model["context"], model["levels"], model["widths"]
    few = len(context) <= MOST_FACTORS and all(np.size(one) <= LARGEST_ROOT for one in context.values())
    if not few or not has_type(context, dict[str, bool | int | float | str | list[Any] | None]):
        raise FileError("its formula uses values that are not numbers or text.")
    for known in [*levels.values(), *(one for one in inputs.values() if one is not None)]:
        if not known or not has_type(list(known), list[bool | int | float | str]):
            raise FileError("the levels of its factors are not numbers or text.")
    names = {*(formula_name(label) for label in inputs), *context}
    terms = tuple(tuple(Part(*part) for part in term) for term in model["terms"])
    if not has_type(widths, list[int]) or len(widths) != len(terms) or sum(widths) != len(spec.columns):
        raise FileError("the widths of the terms of its formula do not add up.")
    if max(map(len, terms)) > MOST_FACTORS:
        raise FileError(f"its formula has a term of more than {MOST_FACTORS} factors.")
    parts = dict.fromkeys(part for term in terms for part in term)
    for part in parts:
        if problem := _problem_of(part, names):
            raise FileError(f"The formula in the file holds {problem}; it is not run.")
    if len({part.text for part in parts}) < len(parts):
        raise FileError("The formula in the file takes a part in two ways.")
    factors = {formula_name(label) for label, known in inputs.items() if known is not None}
    for part in parts:  # a factor without stored levels would get its levels from new data
        factor = part.text in factors if part.method == "lookup" else has_levels(part)
        if factor and part.text not in levels:
            raise FileError(f"The file does not hold the levels of {shortened(part.text)}.")
    states = states_of(parts, model["states"])
    made = Model(terms, str(spec.formula), {}, states, _encodings(levels), tuple(widths))
    return replace(spec, model_spec=made, context=Closed({**safe_context(), **context}), inputs=inputs)


def _problem_of(part: Part, names: set[str]) -> str | None:
    """Return what is not allowed in a part of a term: all but names, numbers and the safe language."""
    if part.method == "python":
        return problem_of(part.text, names, strings=True)
    if part.method == "lookup":
        return None if part.text in names else f"the name {shortened(str(part.text))}"
    number = part.method == "literal" and re.fullmatch(r"[0-9.]{1,20}", part.text)
    return None if number else f"the value {shortened(str(part.text))}"


def has_levels(part: Part) -> bool:
    """Return whether an expression marks its values as levels of a factor."""
    if part.method != "python":
        return False
    expression = read_expression(part.text)
    return isinstance(expression.tree, ast.Call) and called_name(expression, expression.tree.func) == "C"


def _encodings(levels: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the levels of factors in formulaic's form."""
    from formulaic.parser.types import Factor

    return {text: (Factor.Kind.CATEGORICAL, {"categories": list(known)}) for text, known in levels.items()}


# --- states of transforms -------------------------------------------------------------------------


def states_of(parts: Iterable[Part], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the states of the transforms in parts of terms, with checked expressions.

    Raises
    ------
    FileError
        If a state is missing, not valid, or belongs to no transform.
    """
    states, waiting = {}, dict(stored)
    for part in parts:
        if part.method != "python":
            continue
        expression = read_expression(part.text)
        for node in ast.walk(expression.tree):
            name = called_name(expression, node.func) if isinstance(node, ast.Call) else None
            if name not in LEARNED or not isinstance(node, ast.Call):
                continue
            text = expression.show(node)
            if text in waiting:
                states[text] = _state(text, LEARNED[name], waiting.pop(text))
            if not states.get(text) and not _raw(node):
                raise FileError(f"The file does not hold what {shortened(text)} has learned.")
    if waiting:
        raise FileError(f"The file holds the state of {shortened(min(waiting))}, not a call in its formula.")
    return states


def _raw(node: ast.Call) -> bool:
    """Return whether a call is ``poly(..., raw=True)``: powers of the values, which have no state."""
    given = [*node.args[2:3], *(word.value for word in node.keywords if word.arg == "raw")]
    raw = bool(given) and isinstance(given[0], ast.Constant) and given[0].value is True
    return raw and isinstance(node.func, ast.Name) and node.func.id == "poly"


def _state(text: str, restored: Callable[[dict[str, Any]], dict[Any, Any]], stored: Any) -> dict[Any, Any]:
    """Return the state of a call, or the states of its parts if it transforms the columns of another call."""
    try:
        if stored and all(isinstance(one, dict) for one in stored.values()) and "alpha" not in stored:
            return {int(key) if key.isdigit() else key: restored(one) for key, one in stored.items()}
        return restored(stored) if stored else {}
    except Exception as error:
        raise FileError(f"its state of {shortened(text)} is not that of such a call.") from error


def _numbers(stored: Any) -> np.ndarray:
    """Return an array of finite numbers; raise ValueError for anything else."""
    values = np.array(stored, dtype=float)
    if values.size > 3 * LARGEST_ROOT or not np.isfinite(values).all():
        raise ValueError("too many numbers, or numbers that are not finite")
    return values


def _number(stored: Any) -> float:
    return float(_numbers(stored).reshape(()))


def _moments(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the state of ``scale``, ``center`` or ``standardize``."""
    center, scale = (None if stored[name] is None else _numbers(stored[name]) for name in ("center", "scale"))
    _number(stored["ddof"])
    return {"ddof": stored["ddof"], "center": center, "scale": scale}


def _recurrence(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the state of ``poly``."""
    return {
        name: {int(degree): _number(one) for degree, one in stored[name].items()}
        for name in ("alpha", "norms2")
    }


def _spline(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the state of ``bs``."""
    low, high = _number(stored["lower_bound"]), _number(stored["upper_bound"])
    return {"lower_bound": low, "upper_bound": high, "knots": _numbers(stored["knots"]).tolist()}


def _cubic_spline(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the state of ``cr``, ``cs`` or ``cc``."""
    constraints = None if stored["constraints"] is None else _numbers(stored["constraints"])
    if not has_type(stored["cyclic"], bool):
        raise ValueError("it does not say whether the spline is cyclic")
    return {**_spline(stored), "cyclic": stored["cyclic"], "constraints": constraints}


#: Transform -> the function that returns its state from the file.
LEARNED: dict[str | None, Callable[[dict[str, Any]], dict[Any, Any]]] = {
    "poly": _recurrence,
    **dict.fromkeys(("center", "scale", "standardize"), _moments),
    "bs": _spline,
    **dict.fromkeys(("cs", "cr", "cc"), _cubic_spline),
}


# --- what a file holds ----------------------------------------------------------------------------


FORMAT = "spcastat fit"
#: Version of the layout. 1 and 2 are those of versions before the first release, and are not read.
VERSION = 3
#: Tolerance for unit lengths and correlations.
CLOSE = 1e-6


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


class _Record(TypedDict, total=False):
    """Types of the fields of a record that are dicts or nested lists."""

    options: _Options
    optima: list[tuple[float, int]]
    screening: Screening | None
    missing: _Em | _Pairwise | None
    matrix: _Matrix | None
    groups: _Groups | None
    evidence: Searched | Sparser | Grouping | None


class _Proof(TypedDict):
    scope: str
    measure: str
    orthogonal: bool
    rows: list[dict[str, Any]]


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
    measure: str
    cardinalities: list[int]
    pca_bound: float
    open: int
    supports: list[list[int]]


_SIMILARITY = Array("f", ("draws", "k"), 0, 1 + CLOSE)
_PLACES = Array("i", ("m",), 0, "places")
_POSITIVE = float(np.finfo(float).tiny)
_MEAN_AND_SCALE = {"mean": Array("f", ("p",)), "scale": Array("f", ("p",), _POSITIVE)}
#: Part of a file -> its arrays.
_ARRAYS: dict[str, dict[str, Array]] = {
    "standard": _MEAN_AND_SCALE,
    "model": {**_MEAN_AND_SCALE, "loadings": Array("f", ("p", "rank"))},
    "moments": {
        **dict.fromkeys(("variances", "explained"), Array("f", ("p",))),
        **dict.fromkeys(("adjusted", "pca"), Array("f", ("k",))),
        "coupling": Array("f", ("p", "k")),
        "scores": Array("f", ("k", "k")),
        "residual_traces": Array("f", (3,), -1e60, 1e60),  # sums of powers of variances near 1
    },
    "measures": dict.fromkeys(MEASURES, Array("f", ("k",))),
    "design": dict.fromkeys(("clusters", "strata"), Array("i", ("n",), 0, "n")),
    "bootstrap": {
        "places": _PLACES,
        "values": Array("f", ("draws", "m")),
        **dict.fromkeys(("variances", "whole", "of_fit"), Array("f", ("draws", "k"), 0)),
        "similarity": _SIMILARITY,
        "factors": Array("f", ("draws",), 0),
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
        "p_value": Array("f", ("p", "k"), 0, 1, nan=True),
        **dict.fromkeys(("variances", "variance_errors"), Array("f", ("k",), 0)),
        "similarity": Array("f", ("k",), 0, 1 + CLOSE),
    },
    "tests": {
        "statistic": Array("f", ("p", "k"), -1 - CLOSE, 1 + CLOSE),
        **dict.fromkeys(("p_value", "q_value"), Array("f", ("p", "k"), 0, 1, nan=True)),
    },
}
#: Arrays that may be missing.
_OPTIONAL = {
    "moments: residual_traces",
    "bootstrap: of_fit",
    "bootstrap: factors",
    "design: clusters",
    "design: strata",
    *(f"measures: {name}" for name in MEASURES if name not in ("pev", "least_squares")),
}
#: Name of a resampling method in a file -> class of its results.
RESAMPLED: dict[str, Any] = {
    "bootstrap": Bootstrapped,
    "stability": HalfSamples,
    "split": Split,
    "tests": Tested,
}
#: Ranges of the numbers of resampling.
_RANGES = {
    **dict.fromkeys(("asked", "draws", "repeats"), (1, np.inf)),
    "again": (0, np.inf),
    "threshold": (0.5, 1),
    "groups": (0, 1),
}

# --- saving ---------------------------------------------------------------------------------------


def save(
    state: FitState, source: Source | None, path: str | os.PathLike[str], scores: bool | None = None
) -> None:
    """Save the fit to one file, which :func:`spcastat.load` reads; see :meth:`spcastat.SpcaResult.save`."""
    stream = None if source is None or state.scores is not None else source.stream
    demanded = False if scores is None else flag("scores", scores)
    scores = stream is None if scores is None else demanded
    if scores and stream is not None:
        write = "fit.transform_to(path)" if stream.local else "fit.scores.to_parquet(folder)"
        raise OptionError(
            f"scores=True was given, and the scores of {state.record.title_of_data} are never all in "
            f"memory: write them with {write}, and save the fit without them."
        )
    with_rows = state.record.from_rows and (source is not None or state.scores is not None)
    if demanded and not with_rows:
        raise OptionError("scores=True was given, and this fit has neither rows nor scores; leave it out.")
    target = file_path(path)
    if source is not None:
        source.spare(target)
    if state.pattern is None:
        arrays = {"loadings": state.V}
    else:
        arrays = {"weights": state.V, "loadings": state.pattern}
    moments, measures = state.moments.kept()
    content: dict[str, Any] = {
        "record": dataclasses.asdict(state.record.written()),
        "standard": _packed("standard", state.standard, arrays),
        "model": _packed("model", state.model, arrays),
        "moments": _packed("moments", moments, arrays),
        "measures": _packed("measures", measures, arrays),
        "design": _packed("design", _with_mark(state, source), arrays),
        "spec": pack_spec(state.spec, arrays),
        "proofs": [dataclasses.asdict(one) for one in state.proofs],
        "resampled": {name: _packed(name, getattr(state.resampled, name), arrays) for name in RESAMPLED},
    }
    if scores and with_rows:
        frame = rows.scores(state, source)
        arrays["scores"] = frame.to_numpy()
        content["rows"] = pack_index(frame.index, "rows", arrays, "labels of rows")
    about: dict[str, Any] = {"form": FORMAT, "version": VERSION, "writer": __version__}
    write_file(target, partial(write_archive, **about, content=content, arrays=arrays))


def _packed(part: str, values: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Return the values of a dict or dataclass as JSON, without its arrays, which are added to `arrays`."""
    if values is None:
        return None
    names = list(values) if isinstance(values, dict) else [one.name for one in dataclasses.fields(values)]
    named = {name: values[name] if isinstance(values, dict) else getattr(values, name) for name in names}
    arrays |= {f"{part}.{name}": one for name, one in named.items() if isinstance(one, np.ndarray)}
    plain = {name: one for name, one in named.items() if not isinstance(one, np.ndarray)}
    return {name: float(one) if isinstance(one, float) else one for name, one in plain.items()}


# --- loading --------------------------------------------------------------------------------------


def _with_mark(state: FitState, source: Source | None) -> RowDesign | None:
    """Return the design of the rows with a mark of their order, by which it is recognised again."""
    design = state.design
    if design is None or source is None or source.matrix is None or source.standard is None:
        return design
    scores = source.standard.project(source.matrix, state.V[:, :1])[:, 0]
    return dataclasses.replace(design, mark=order_mark(np.nan_to_num(scores)))


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    where = as_path(path)
    archive = read_archive(where, FORMAT, VERSION)
    try:
        return _restore(archive.content, archive.arrays)
    except FileError as error:
        raise _unusable(where, archive, str(error)) from None
    except MemoryError:
        raise FileError(f"{where} cannot be read: it takes more memory than there is.") from None
    except Exception as error:  # not damaged, but not written by this package
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise _unusable(where, archive, f"it lacks a part, or has one of another type ({reason})") from error


def _unusable(path: Path, archive: Archive, reason: str) -> FileError:
    """Return the error for an undamaged file with invalid contents."""
    record = archive.content.get("record")
    call = record.get("call") if isinstance(record, dict) else None
    advice = "fit again and save" + (f" ({call})" if isinstance(call, str) and 0 < len(call) <= 1000 else "")
    if archive.writer and archive.writer != __version__:
        advice = f"read it with spcastat {archive.writer}, which wrote it, or {advice}"
    reason = reason.rstrip(".")
    return FileError(f"{path} cannot be used: {reason}. This is spcastat {__version__}; {advice}.")


def _restore(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FitState:
    record = record_of(content["record"])
    sizes = sizes_of(record)
    parts = {
        name: _part(name, content.get(name), arrays)
        for name in ("standard", "model", "moments", "measures", "design")
    }
    for name, found in parts.items():
        if found is not None:
            _require_arrays(name, found, sizes)
    if parts["design"] is not None:
        require_fields(RowDesign, parts["design"], "design")
    trust = {name: _part(name, content["resampled"].get(name), arrays) for name in RESAMPLED}
    require_resampled(trust, sizes)
    if trust["split"] is not None:
        trust["split"]["rows"] = tuple(trust["split"]["rows"])
    require_proofs(content["proofs"], sizes)
    _require_agreement(record, parts, sizes)
    V, pattern = _loadings(arrays, parts["moments"] or {}, record, sizes)
    state = FitState(
        V,
        record,
        Moments.stored(V, parts["moments"] or {}, parts["measures"] or {}),
        unpack_spec(content["spec"], arrays, record.p),
        _made(Standardisation, parts["standard"]),
        model=_made(PpcaModel, parts["model"]),
        proofs=tuple(_made(Proven, one) for one in content["proofs"]),
        resampled=LastResults(**{name: _made(RESAMPLED[name], one) for name, one in trust.items()}),
        design=_made(RowDesign, parts["design"]),
        pattern=pattern,
    )
    if pattern is None:
        rule_of(record)  # raises for options that make no rule
    if "rows" not in content:
        return state
    scores = arrays["scores"]
    require_array(Array("f", ("n", "k"), nan=True), scores, sizes, "scores")
    index = unpack_index(content["rows"], arrays, len(scores))
    return dataclasses.replace(state, scores=pd.DataFrame(scores, index, state.components))


def _loadings(
    arrays: Mapping[str, np.ndarray], moments: Mapping[str, Any], record: Record, sizes: dict[str, int]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return unit loadings and None; for a fit of sparse loadings its weights, and these loadings.

    Weights give scores of unit variance without correlations, and loadings are their covariances with the
    variables, or zero.
    """
    loadings = arrays["loadings"]
    if ("weights" in arrays) != (record.method == SPARSE_LOADINGS):
        raise FileError("its method does not go with its arrays.")
    if record.method != SPARSE_LOADINGS:
        require_array(Array("f", ("p", "k"), -1 - CLOSE, 1 + CLOSE), loadings, sizes, "loadings")
        return loadings, None
    weights, coupling = arrays["weights"], moments["coupling"]
    for name, found in {"loadings": loadings, "weights": weights}.items():
        require_array(Array("f", ("p", "k")), found, sizes, name)
    with np.errstate(all="ignore"):  # the numbers of a file may be of any size
        allowed = CLOSE * np.sqrt(moments["variances"].clip(min=0.0))[:, None]
        differing = (loadings != 0) & ~(np.abs(loadings - coupling) <= allowed)
        correlated = ~(np.abs(weights.T @ coupling - np.eye(record.k)) <= CLOSE)
    if differing.any() or correlated.any() or not loadings.any(axis=0).all():
        raise FileError("its sparse loadings do not go with its weights and covariances.")
    return weights, loadings


def _part(part: str, given: Any, arrays: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
    """Return the values of a part with its arrays; None for None."""
    if given is None:
        return None
    names = [name for name in _ARRAYS[part] if f"{part}.{name}" in arrays]
    return {**given, **{name: arrays[f"{part}.{name}"] for name in names}}


def _require_arrays(part: str, found: Mapping[str, Any], sizes: dict[str, int]) -> None:
    """Check the arrays of a part."""
    for name, kind in _ARRAYS[part].items():
        what = f"{part}: {name}"
        if found.get(name) is not None or what not in _OPTIONAL:
            require_array(kind, found.get(name), sizes, what)


def _made(kind: Any, parts: Mapping[str, Any] | None) -> Any:
    """Return a dataclass, made from the parts that have the names of its fields; None for None."""
    names = {one.name for one in dataclasses.fields(kind)}
    return None if parts is None else kind(**{name: one for name, one in parts.items() if name in names})


# --- checks ---------------------------------------------------------------------------------------


def sizes_of(record: Record) -> dict[str, int]:
    """Return the sizes that a record states."""
    sizes = {"p": record.p, "k": record.k, "last": record.p - 1, "places": record.p * record.k - 1}
    return sizes if record.n is None else {**sizes, "n": record.n}


def record_of(given: Any) -> Record:
    """Return the record in a file: unknown fields are ignored, missing fields get their defaults.

    Raises
    ------
    FileError
        If a field without a default is missing, or a value is not valid.
    """
    require_fields(Record, given, "record")
    require_fields(_Record, given, "record")
    record = Record(**{one.name: given[one.name] for one in dataclasses.fields(Record) if one.name in given})
    p, k, names, groups, evidence = record.p, record.k, record.names, record.groups, record.evidence
    together = record.options.get("together")
    for what, right in {
        "it has more components than variables": 1 <= k <= p,
        "it has rows, and not how many": not record.from_rows or (record.n and record.effective_n),
        "its numbers of rows are negative": min(record.n or 1, record.dropped, record.n_iter) >= 0,
        "it has no rows, and says how many values are missing": record.from_rows or record.missing is None,
        "its status is unknown": record.status in ADVICE,
        "its centre is unknown": record.centring in {None, *CENTRING},
        "its scale is unknown": record.scaling in {None, *SCALING},
        "its components have no names": names is None or len({*names}) == len(names) == k,
        "its details are not those of its components": all(len(one) == k for one in record.details.values()),
        "its groups of variables do not share them out": (together is None or _partition(together, p))
        and (groups is None or _numbered(groups, p)),
        "its evidence is impossible": evidence is None or _possible(evidence, p),
    }.items():
        if not right:
            raise FileError(f"its record: {what}.")
    return record


def _possible(evidence: Mapping[str, Any], p: int) -> bool:
    """Return whether the numbers of a report on a search lie in their ranges."""
    counts = [evidence.get(name, 1) for name in ("starts", "chains", "groups", "fitted", "nonzeros")]
    searched = evidence.get("variables")
    return (
        min(counts) >= 1
        and min(evidence.get("hits", 0), evidence.get("agreeing", 0)) >= 0
        and 0 <= evidence.get("unseen", 0) <= 1
        and (searched is None or 1 <= searched <= p)
    )


def _partition(groups: list[Any], p: int) -> bool:
    """Return whether groups, a list of (name, positions of the variables), have each variable once."""
    return sorted(j for _, members in groups for j in members) == list(range(p))


def _numbered(groups: Mapping[str, Any], p: int) -> bool:
    """Return whether groups that share a scale name the group of each variable, -1 for none."""
    of = groups["of"]
    return groups["kind"] in NAMED and len(of) == p and min(of) >= -1 and max(of) < len(groups["names"])


def _require_agreement(record: Record, parts: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Raise FileError if parts of a file contradict each other."""
    standard, missing, moments = parts["standard"], record.missing, parts["moments"]
    said = (None, None) if standard is None else (standard["centring"], standard["scaling"])
    rank = missing["rank"] if missing is not None and missing["how"] == "em" else None
    block = None if parts["design"] is None else parts["design"].get("block_length")
    for what, right in {
        "it contradicts itself about centre and scale": said == (record.centring, record.scaling),
        "it has no means and scales": standard is not None or not record.from_rows,
        "its missing values do not go with their model": rank == sizes.get("rank"),
        "its model has no noise": parts["model"] is None
        or (has_type(parts["model"]["sigma2"], float) and parts["model"]["sigma2"] > 0),
        "its total variance is not positive": all(
            has_type(moments[name], float) and moments[name] >= _POSITIVE for name in ("total", "unit")
        ),
        "its unit is out of range": 1e-154 < moments["unit"] < 1e154,
        "its block length is not a number of rows": block is None or (has_type(block, int) and block >= 1),
    }.items():
        if not right:
            raise FileError(f"{what}.")


def require_proofs(proofs: Any, sizes: Mapping[str, int]) -> None:
    """Check proofs and their rows; there may be at most one of each kind."""
    p, k = sizes["p"], sizes["k"]
    for proof in proofs:
        require_fields(_Proof, proof, "proof")
        joint, rows_ = proof["scope"] == "joint", proof["rows"]
        for row in rows_:
            require_fields(_JointRow if joint else _ComponentRow, row, "proof")
        supports = [one for row in rows_ for one in (row["supports"] if joint else [row["support"]])]
        right = (
            proof["scope"] in SCOPES
            and {proof["measure"], *(row.get("measure", JOINT[0]) for row in rows_)} <= {*JOINT}
            and len(rows_) == (1 if joint else k)
            and len(supports) == k
            and all(len(row["cardinalities"]) == k for row in rows_ if joint)
            and all(0 <= one <= p for row in rows_ for one in row.get("cardinalities", [0]))
            and all(row["nodes"] >= 0 for row in rows_)
            and all(len({*one}) == len(one) and all(0 <= j < p for j in one) for one in supports)
            and all(type(row["gap"]) in (int, float) for row in rows_)
        )
        if not right:
            raise FileError("its proof does not go with the fit.")
    kinds = {(proof["scope"], proof["measure"], proof["orthogonal"]) for proof in proofs}
    if len(kinds) < len(proofs):
        raise FileError("it has two proofs of one kind.")


def require_resampled(found: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Check the results of resampling by name, None for those that are missing."""
    for name, parts in found.items():
        if parts is None:
            continue
        _require_arrays(name, parts, dict(sizes))
        require_fields(RESAMPLED[name], parts, name)
        for one, (low, high) in _RANGES.items():
            if one in parts and not low <= parts[one] <= high:
                raise FileError(f"its {name}: {one} is not from {low} to {high}.")
        if "places" in parts and not (np.diff(parts["places"]) > 0).all():
            raise FileError(f"its {name}: the places of its loadings do not ascend.")
        if parts.get("fdr") not in (None, "fdr_bh", "fdr_by"):
            raise FileError(f"its {name}: its method is unknown.")
