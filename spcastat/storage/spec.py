"""How raw data become columns, as values that a file can hold: formulas with their state included.

A formula is code, and so are its functions: only formulas of names, numbers and known functions are
written, and none other is read, so that a file cannot run anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from spcastat.errors import FileError
from spcastat.intake import Spec
from spcastat.intake.names import formula_name
from spcastat.intake.safe import NUMPY, problem_of, safe_context
from spcastat.storage.values import Packer, Unpacker

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
    for term in model.formula:
        factors = [[factor.expr, factor.eval_method.value] for factor in term.factors]
        for expression, method in factors:
            _require_writable(expression, method, names, context, str(spec.formula))
        terms.append(factors)
    where = f"the state of formula={spec.formula!r}"
    packed["model"] = {
        "terms": terms,
        "transforms": packer.value(dict(model.transform_state), where),
        "encodings": [
            [name, kind.value, _pack_encoding(dict(state), packer, where)]
            for name, (kind, state) in model.encoder_state.items()
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


def unpack_spec(packed: Mapping[str, Any], reader: Unpacker) -> Spec:
    """Return the spec.

    Raises
    ------
    FileError
        For a formula that holds anything but names, numbers and known functions.
    """
    columns = reader.index(packed["columns"])
    if "model" not in packed:
        return Spec(packed["kind"], columns, packed["formula"])
    model = packed["model"]
    inputs = {reader.value(label): reader.value(levels) for label, levels in model["inputs"]}
    values = {name: reader.value(value) for name, value in model["context"]}
    names = {*(formula_name(label) for label in inputs), *values}
    for factors in model["terms"]:
        for expression, method in factors:
            problem = problem_of(expression, names, strings=True) if method == "python" else None
            if problem is not None:
                raise FileError(f"The formula in the file holds {problem}; it is not run.")
    return Spec(
        packed["kind"],
        columns,
        packed["formula"],
        _model(model, reader),
        {**safe_context(), **values},
        inputs,
    )


def _model(packed: Mapping[str, Any], reader: Unpacker) -> Any:
    """Return formulaic's record of a fitted formula."""
    from formulaic import ModelSpec, SimpleFormula
    from formulaic.parser.types import Factor, Term

    terms = [
        Term([Factor(expression, eval_method=method) for expression, method in factors])
        for factors in packed["terms"]
    ]
    return ModelSpec(
        formula=SimpleFormula(terms, _ordering="none"),
        ensure_full_rank=False,
        na_action="ignore",
        output="numpy",
        transform_state=reader.value(packed["transforms"]),
        encoder_state={
            name: (Factor.Kind(kind), _unpack_encoding(state, reader))
            for name, kind, state in packed["encodings"]
        },
    )


def _require_writable(
    expression: str, method: str, names: set[str], context: Mapping[str, Any], formula: str
) -> None:
    if method != "python":
        return
    own = {
        name
        for name, value in context.items()
        if callable(value) and not (name in NUMPY and value is getattr(np, name))
    }
    for name in sorted(own):
        if re.search(rf"(?<![\w.]){re.escape(name)}\b", expression):
            raise FileError(
                f"The fit cannot be saved: its formula={formula!r} uses {name!r}, a function of your own, "
                "which a file without pickle cannot hold. Make that column in the data frame first, or use "
                "functions of NumPy by their names (np.log1p)."
            )
    problem = problem_of(expression, names, strings=True)
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

    state = reader.value(packed["state"])
    if packed["coding"] is not None:
        kind, held, levels = packed["coding"]
        if kind not in CODINGS:
            raise FileError(f"The file holds a coding of factors that is not known: {kind!r}.")
        given = {
            name: reader.value(value)
            for name, value in zip(CODINGS[kind], held, strict=True)
            if value != _OPEN
        }
        coding = getattr(contrasts, kind)(**given)
        state["contrasts"] = contrasts.ContrastsState(coding, reader.value(levels))
    return state
