"""Save and load specs: how raw data are converted to columns, including formulas and their states.

Formulas are code, and so are their functions. Therefore only formulas of names, numbers and known functions
are written and read, and formulas that were read are interpreted, never run
(:mod:`spcastat.reading.evaluation`). The states of transforms and factors are checked: their types must be
those that fitting produces, and their sizes are limited
(:data:`spcastat.reading.expressions.LARGEST_ROOT` columns for each call).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FileError
from spcastat.fit.saved_values import (
    LARGEST_RANGE,
    Array,
    Kind,
    List,
    Map,
    Packer,
    Real,
    Sizes,
    Unpacker,
    Whole,
    require,
)
from spcastat.linalg.regression import Regression
from spcastat.reading.design import Partial, Spec
from spcastat.reading.expressions import (
    CONTRASTS,
    LARGEST_ROOT,
    NUMPY,
    Expression,
    formula_name,
    read_expression,
    shortened,
)
from spcastat.reading.formula_safety import Closed, called_name, problem_of, safe_context
from spcastat.reading.terms import MOST_TERMS, Model, Part

#: Class of a coding of factors in formulaic, such as TreatmentContrasts -> its attributes.
CODINGS = {f"{name[0].upper()}{name[1:]}Contrasts": options for name, options in CONTRASTS.items()}
#: Stored for an attribute of a coding that was not set.
_OPEN = {"open": True}


def level(value: Any, sizes: Sizes) -> str:
    """Return what is wrong with a level of a factor, which must be text, a number, a date or an interval."""
    kinds = (bool, int, float, np.generic, pd.Timestamp, pd.Timedelta, pd.Interval)
    text = isinstance(value, str) and len(value) <= 100_000
    return "" if text or isinstance(value, kinds) else "it holds what is not text, a number or a date"


_LEVELS = List(level, most=LARGEST_RANGE)
_VALUE = (None, Array("i", ("n",)), Array("f", ("n",)), List((None, level), most=LARGEST_ROOT), level)
_NUMBERS = Array("f", ("columns",))
_MOMENT = (None, _NUMBERS, Array("f", ()), Real())
# the longest part of a state: knots, with those that are repeated at both ends
_KNOTS = List(Real(), most=3 * LARGEST_ROOT)
_SCALE: Kind = {"ddof": Real(), "center scale": _MOMENT}
_CUBIC: Kind = {
    "lower_bound upper_bound": Real(),
    "constraints": (None, _NUMBERS, Array("f", ("rows", "columns")), List(Real())),
    "cyclic": bool,
    "knots": _KNOTS,
}


#: Schema of a formula, before its labels, levels and states are unpacked; a term has at most 100 factors, and
#: the context at most 100 values.
_MODEL: dict[str, Kind] = {
    "terms": List(List(List(str, 2), most=100), most=MOST_TERMS + LARGEST_RANGE),
    "widths?": List(Whole()),
    "inputs": List(List(object, 2), most=LARGEST_RANGE),
    "context": List(List(object, 2), most=100),
    "encodings": List(List(object, 3)),
}
_REGRESSION = {
    "mean": Array("f", ("q",)),
    "coefficients": Array("f", ("q", "p")),
    "shares": Array("f", ("p",), 0, 1),
    "rank": Whole(),
}
#: Transform -> schema of its state.
LEARNED: dict[str, Kind] = {
    "poly": {"alpha norms2": Map(Real(), keys=int)},
    **dict.fromkeys(("center", "scale", "standardize"), _SCALE),
    "bs": {"lower_bound upper_bound": Real(), "knots": _KNOTS},
    **dict.fromkeys(("cs", "cr", "cc"), _CUBIC),
}


def pack_spec(spec: Spec, packer: Packer) -> dict[str, Any]:
    """Return a spec as JSON.

    Raises
    ------
    FileError
        For a formula that calls a user's function, or whose state cannot be stored.
    """
    packed: dict[str, Any] = {
        "kind": spec.kind,
        "columns": packer.index(spec.columns, "the name of a column"),
        "formula": spec.formula,
    }
    if spec.partial is not None:
        own = replace(spec, partial=None)
        return {
            "kind": "partial",  # versions without covariates refuse this
            "spec": pack_spec(own, packer),
            "given": pack_spec(spec.partial.spec, packer),
            "regression": packer.fields(spec.partial.regression),
        }
    if spec.model_spec is None:
        return packed
    model, context = spec.model_spec, dict(spec.context or {})
    values = {name for name, value in context.items() if not callable(value) and value is not np}
    names = {*(formula_name(label) for label in spec.inputs or {}), *values}
    for part in {part for term in model.terms for part in term}:
        _require_writable(part, names, context, str(spec.formula))
    where = f"the state of formula={spec.formula!r}"
    packed["model"] = {
        "terms": [[list(part) for part in term] for term in model.terms],
        "widths": list(model.widths),
        "transforms": packer.value(dict(model.states), where),
        "encodings": [
            [name, kind.value, _pack_encoding(dict(state), packer, where)]
            for name, (kind, state) in model.encodings.items()
        ],
        "context": [
            [name, packer.value(context[name], f"{name!r} in the formula")] for name in sorted(values)
        ],
        "inputs": [
            [packer.value(label, "the name of a column"), packer.value(levels, f"a level of {label!r}")]
            for label, levels in (spec.inputs or {}).items()
        ],
    }
    return packed


def unpack_spec(packed: Mapping[str, Any], reader: Unpacker, p: int) -> Spec:
    """Return the spec of a fit with `p` columns from its stored form.

    Raises
    ------
    FileError
        For a formula with anything but names, numbers and known functions.
    """
    if packed["kind"] == "partial":
        found = reader.each(packed["regression"])
        require(_REGRESSION, found, {"p": p}, "regression on covariates")
        given = unpack_spec(packed["given"], reader, len(found["mean"]))
        return replace(unpack_spec(packed["spec"], reader, p), partial=Partial(given, Regression(**found)))
    kind, formula = packed["kind"], packed["formula"]
    require({"array", "frame", "formula"}, kind, {}, "kind of columns")
    require((None, str), formula, {}, "formula")
    columns = reader.index(packed["columns"], p)
    if not columns.is_unique:
        raise FileError("two of its columns have one name.")
    if "model" not in packed:
        return Spec(kind, columns, formula)
    model = packed["model"]
    require(_MODEL, model, {}, "formula")
    inputs = {
        reader.value(label): None if levels is None else tuple(_of(_LEVELS, levels, reader, "levels"))
        for label, levels in model["inputs"]
    }
    values = {str(name): _of(_VALUE, value, reader, f"value of {name}") for name, value in model["context"]}
    names = {*(formula_name(label) for label in inputs), *values}
    terms = tuple(tuple(Part(*factor) for factor in factors) for factors in model["terms"])
    parts = dict.fromkeys(part for term in terms for part in term)
    for part in parts:
        if problem := _problem_of(part, names):
            raise FileError(f"The formula in the file holds {problem}; it is not run.")
    if len({part.text for part in parts}) < len(parts):
        raise FileError("The formula in the file takes a part in two ways.")
    encodings = _encodings(model["encodings"], {part.text for part in parts}, reader)
    levels = {formula_name(label): known for label, known in inputs.items()}
    for part in parts:  # a factor without stored levels would get its levels from new data
        lookup = part.method == "lookup" and levels.get(part.text) is not None
        marked = part.method == "python" and has_levels(part.text)
        if (lookup or marked) and not encodings.get(part.text, (None, {}))[1].get("categories"):
            raise FileError(f"The file does not hold the levels of {shortened(part.text)}.")
    widths = model.get("widths", [])  # earlier files have none
    if widths and (len(widths) != len(terms) or sum(widths) != p):
        raise FileError("the widths of the terms of its formula do not add up.")
    states = states_of(parts, reader.value(model["transforms"]))
    made = Model(terms, str(formula), {}, states, encodings, tuple(widths))
    return Spec(kind, columns, formula, made, Closed({**safe_context(), **values}), inputs)


def _of(kind: Kind, packed: Any, reader: Unpacker, what: str) -> Any:
    """Return a value of the file after checking it against a schema."""
    value = reader.value(packed)
    require(kind, value, {}, f"formula: {what}")
    return value


def _problem_of(part: Part, names: set[str]) -> str | None:
    """Return what is not allowed in a part of a term: all but names, numbers and the safe language."""
    if part.method == "python":
        return problem_of(part.text, names, strings=True)
    if part.method == "lookup":
        return None if part.text in names else f"the name {shortened(part.text)}"
    number = part.method == "literal" and re.fullmatch(r"[0-9.]{1,20}", part.text)
    return None if number else f"the value {shortened(part.text)}"


def _encodings(packed: Any, known: set[str], reader: Unpacker) -> dict[str, Any]:
    """Return the stored kinds and states of the factors with levels, in formulaic's form."""
    from formulaic.parser.types import Factor

    encodings = {}
    for name, kind, state in packed:
        if name not in known or kind not in ("numerical", "categorical"):
            raise FileError(f"The file holds the state of {shortened(str(name))}, which is not a factor.")
        if kind == "categorical":  # others have no state
            encodings[name] = (Factor.Kind(kind), _unpack_encoding(state, reader))
    return encodings


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


def _pack_encoding(state: dict[str, Any], packer: Packer, where: str) -> dict[str, Any]:
    contrasts = state.pop("contrasts", None)
    packed = {"state": packer.value(state, where), "coding": None}
    if contrasts is not None:
        coding = contrasts.contrasts
        kind = type(coding).__name__
        if kind not in CODINGS:
            raise FileError(
                f"The fit cannot be saved: {where} holds {kind}, a coding that has no form in a file."
            )
        held = [
            _OPEN if repr(value := getattr(coding, name)).endswith("UNSET") else packer.value(value, where)
            for name in CODINGS[kind]
        ]
        packed["coding"] = [kind, held, packer.value(list(contrasts.levels), where)]
    return packed


def _unpack_encoding(packed: Mapping[str, Any], reader: Unpacker) -> dict[str, Any]:
    from formulaic.transforms import contrasts

    state = _of({"categories?": _LEVELS}, packed["state"], reader, "factor")
    state = {name: list(levels) for name, levels in state.items() if name == "categories"}
    if packed["coding"] is not None:
        kind, held, levels = packed["coding"]
        if kind not in CODINGS:
            raise FileError(f"The file holds a coding of factors that is not known: {kind!r}.")
        given = {
            name: _of(_VALUE, value, reader, "coding")
            for name, value in zip(CODINGS[kind], held, strict=True)
            if value != _OPEN
        }
        coding = getattr(contrasts, kind)(**given)
        state["contrasts"] = contrasts.ContrastsState(coding, list(_of(_LEVELS, levels, reader, "levels")))
    return state


# --- states of transforms and factors --------------------------------------------------------------


def states_of(parts: Iterable[Part], learned: Any) -> dict[str, Any]:
    """Check the states of the transforms in parts of terms and return them.

    Parameters
    ----------
    parts : iterable of Part
        With checked expressions.
    learned : Any
        The stored states: text of a call -> its state.

    Raises
    ------
    FileError
        If a state is missing, not valid, or belongs to no transform.
    """
    require(Map(object), learned, {}, "formula: states of transforms")
    states, waiting = {}, dict(learned)
    for part in parts:
        if part.method != "python":
            continue
        expression = read_expression(part.text)
        for node in ast.walk(expression.tree):
            name = called_name(expression, node.func) if isinstance(node, ast.Call) else None
            if name not in LEARNED or not isinstance(node, ast.Call):
                continue
            text = expression.show(node)
            found = waiting.pop(text, waiting.pop(_earlier(node, expression), None))
            if found is not None:
                states[text] = _state(str(name), text, found)
            if not states.get(text) and not _raw(node):
                raise FileError(f"The file does not hold what {shortened(text)} has learned.")
    if waiting:
        raise FileError(f"The file holds the state of {shortened(min(waiting))}, not a call in its formula.")
    return states


def _earlier(node: ast.Call, expression: Expression) -> str:
    """Return the key under which files of earlier versions store the state of a call.

    It is the text of the call with backticks removed and, in the names within them, every character other
    than letters, digits and underscores replaced by an underscore.
    """
    text = ast.unparse(node)
    for word, name in expression.quoted.items():
        plain = re.sub(r"\W", "_", name)
        text = text.replace(word, f"_{plain}" if plain[:1].isdigit() else plain)
    return text


def _raw(node: ast.Call) -> bool:
    """Whether a call is ``poly(..., raw=True)``: powers of the values themselves, which have no state."""
    given = [*node.args[2:3], *(word.value for word in node.keywords if word.arg == "raw")]
    raw = bool(given) and isinstance(given[0], ast.Constant) and given[0].value is True
    return raw and isinstance(node.func, ast.Name) and node.func.id == "poly"


def has_levels(text: str) -> bool:
    """Whether an expression marks its values as levels of a factor."""
    expression = read_expression(text)
    return isinstance(expression.tree, ast.Call) and called_name(expression, expression.tree.func) == "C"


def _state(name: str, text: str, state: Any) -> dict[Any, Any]:
    """Check the state of a call, or the states of its parts if it transforms the columns of another call."""
    kind, called = LEARNED[name], f"state of {shortened(text)}"
    if not isinstance(state, dict):
        raise FileError(f"its {called} is not a table.")
    own = {part for names in kind for part in names.split()}
    for part in filter(None, [state] if own & set(state) else state.values()):
        require(kind, part, {}, called)
    return state
