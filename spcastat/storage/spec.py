"""How raw data become columns, as values that a file can hold: formulas with their state included.

A formula is code, and so are its functions: only formulas of names, numbers and known functions are
written, and none other is read. What is read is never run (:mod:`spcastat.intake.evaluation`), and the
state of transforms and factors is what such a state is made of (:mod:`spcastat.storage.states`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from spcastat.errors import FileError
from spcastat.intake import Spec
from spcastat.intake.expressions import shortened
from spcastat.intake.names import formula_name
from spcastat.intake.safe import Closed, problem_of, safe_context
from spcastat.intake.terms import MOST_TERMS, Model, Part
from spcastat.intake.transforms import NUMPY
from spcastat.storage.packing import Packer, Unpacker
from spcastat.storage.states import (
    has_levels,
    require_encoding,
    require_levels,
    require_value,
    states_of,
)

#: Codings of factors, by the names of their classes in formulaic, and what each holds.
CODINGS = {
    "TreatmentContrasts": ("base",),
    "SASContrasts": ("base",),
    "SumContrasts": (),
    "HelmertContrasts": ("reverse", "scale"),
    "DiffContrasts": ("backward",),
    "PolyContrasts": ("scores",),
}
#: What a coding holds that was left open.
_OPEN = {"open": True}
#: Factors of one term, and columns that a formula reads.
_MOST_FACTORS, _MOST_INPUTS = 100, 1_000_000


def pack_spec(spec: Spec, packer: Packer) -> dict[str, Any]:
    """Return a spec as JSON.

    Raises
    ------
    FileError
        For a formula that calls functions of the user's, or whose state cannot be held.
    """
    packed: dict[str, Any] = {
        "kind": spec.kind,
        "columns": packer.index(spec.columns, "the name of a column"),
        "formula": spec.formula,
    }
    if spec.model_spec is None:
        return packed
    model, context = spec.model_spec, dict(spec.context or {})
    values = {name for name, value in context.items() if not callable(value) and value is not np}
    names = {*(formula_name(label) for label in spec.inputs or {}), *values}
    terms = []
    for term in model.terms:
        for part in term:
            _require_writable(part, names, context, str(spec.formula))
        terms.append([list(part) for part in term])
    where = f"the state of formula={spec.formula!r}"
    packed["model"] = {
        "terms": terms,
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
    """Return the spec of `p` columns.

    Raises
    ------
    FileError
        For a formula that holds anything but names, numbers and known functions.
    """
    kind, formula = packed["kind"], packed["formula"]
    if kind not in ("array", "frame", "formula") or not isinstance(formula, (str, type(None))):
        raise FileError(f"The columns in the file are of a kind that is not known: {kind!r}.")
    columns = reader.index(packed["columns"], p)
    if "model" not in packed:
        return Spec(kind, columns, formula)
    model = packed["model"]
    if len(model["inputs"]) > _MOST_INPUTS or len(model["context"]) > _MOST_FACTORS:
        raise FileError("The formula in the file reads more columns or values than are allowed.")
    inputs = {reader.value(label): _levels(levels, reader) for label, levels in model["inputs"]}
    values = {str(name): require_value(reader.value(value)) for name, value in model["context"]}
    names = {*(formula_name(label) for label in inputs), *values}
    terms = _terms(model["terms"], names)
    learnt = reader.value(model["transforms"])
    context = Closed({**safe_context(), **values})
    encodings = _encodings(model["encodings"], terms, reader)
    _require_levels_of(terms, encodings, {formula_name(label): levels for label, levels in inputs.items()})
    made = Model(terms, states_of(terms, learnt), encodings)
    return Spec(kind, columns, formula, made, context, inputs)


def _levels(packed: Any, reader: Unpacker) -> tuple[Any, ...] | None:
    levels = reader.value(packed)
    return None if levels is None else tuple(require_levels(levels))


def _terms(packed: Any, names: set[str]) -> tuple[tuple[Part, ...], ...]:
    """Return terms, after each of their parts was found to be a name, a number, or within the language."""
    if not isinstance(packed, list) or len(packed) > MOST_TERMS + len(names):
        raise FileError(f"The formula in the file has more than {MOST_TERMS} terms.")
    methods: dict[str, str] = {}
    terms = []
    for factors in packed:
        if len(factors) > _MOST_FACTORS:
            raise FileError(f"A term of the formula in the file has more than {_MOST_FACTORS} factors.")
        term = tuple(Part(*factor) for factor in factors)
        for part in term:
            if part.text not in methods:
                _require_known(part, names)
            if methods.setdefault(part.text, part.method) != part.method:
                raise FileError(f"The formula in the file takes {shortened(part.text)} in two ways.")
        terms.append(term)
    return tuple(terms)


def _require_known(part: Part, names: set[str]) -> None:
    """Raise FileError unless a part of a term is a name, a number, or within the language."""
    problem: str | None = None
    if not isinstance(part.text, str):
        problem = f"{part.text!r} in place of text"
    elif part.method == "python":
        problem = problem_of(part.text, names, strings=True)
    elif part.method == "lookup":
        problem = None if part.text in names else f"the name {shortened(part.text)}"
    elif part.method == "literal":
        problem = None if re.fullmatch(r"[0-9.]{1,20}", part.text) else f"the value {shortened(part.text)}"
    else:
        problem = f"the method {part.method!r}"
    if problem is not None:
        raise FileError(f"The formula in the file holds {problem}; it is not run.")


def _encodings(packed: Any, terms: tuple[tuple[Part, ...], ...], reader: Unpacker) -> dict[str, Any]:
    """Return the factors with levels as formulaic keeps them."""
    from formulaic.parser.types import Factor

    known = {part.text for term in terms for part in term}
    encodings = {}
    for name, kind, state in packed:
        if name not in known or kind not in ("numerical", "categorical"):
            raise FileError(f"The file holds the state of {shortened(str(name))}, which is not a factor.")
        if kind == "categorical":  # others have no state
            encodings[name] = (Factor.Kind(kind), _unpack_encoding(state, reader))
    return encodings


def _require_levels_of(
    terms: tuple[tuple[Part, ...], ...], encodings: Mapping[str, Any], inputs: Mapping[str, Any]
) -> None:
    """Raise FileError if a factor has no levels: new data would bring their own."""
    for part in {part for term in terms for part in term}:
        lookup = part.method == "lookup" and inputs.get(part.text) is not None
        marked = part.method == "python" and has_levels(part.text)
        if (lookup or marked) and not encodings.get(part.text, (None, {}))[1].get("categories"):
            raise FileError(f"The file does not hold the levels of {shortened(part.text)}.")


def _require_writable(part: Part, names: set[str], context: Mapping[str, Any], formula: str) -> None:
    if part.method != "python":
        return
    own = {
        name
        for name, value in context.items()
        if callable(value) and not (name in NUMPY and value is getattr(np, name))
    }
    for name in sorted(own):
        if re.search(rf"(?<![\w.]){re.escape(name)}\b", part.text):
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

    state = require_encoding(reader.value(packed["state"]))
    if packed["coding"] is not None:
        kind, held, levels = packed["coding"]
        if kind not in CODINGS:
            raise FileError(f"The file holds a coding of factors that is not known: {kind!r}.")
        given = {
            name: require_value(reader.value(value))
            for name, value in zip(CODINGS[kind], held, strict=True)
            if value != _OPEN
        }
        coding = getattr(contrasts, kind)(**given)
        state["contrasts"] = contrasts.ContrastsState(coding, require_levels(reader.value(levels)))
    return state
