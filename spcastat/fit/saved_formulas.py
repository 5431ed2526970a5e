"""Save and load specs: how raw data are converted to columns, including formulas and their states.

Formulas are code, and so are their functions. Therefore only formulas of names, numbers and known functions
are written and read; see :mod:`spcastat.reading.formula_safety`. The states of transforms and factors are
checked: their types must be those that fitting produces, and their sizes are limited
(:data:`spcastat.reading.expressions.LARGEST_ROOT` columns for each call).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spcastat.errors import FileError
from spcastat.fit.saved_values import (
    Array,
    has_type,
    pack_index,
    pack_label,
    require_array,
    unpack_index,
    unpack_label,
)
from spcastat.linalg.regression import Regression
from spcastat.reading.design import Partial, Spec
from spcastat.reading.expressions import LARGEST_ROOT, NUMPY, formula_name, read_expression, shortened
from spcastat.reading.formula_safety import Closed, called_name, problem_of, safe_context
from spcastat.reading.terms import Model, Part

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
