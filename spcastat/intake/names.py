"""The names in a formula: columns, names of the context, functions, and unknown names."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pandas as pd

from spcastat.config import listed, nearest, shown
from spcastat.errors import DuplicateNamesError, FormulaError
from spcastat.intake.expressions import Expression, formula_name

_QUOTED_NUMERAL = re.compile(r"`([0-9.]+)`")


@dataclass(frozen=True)
class Names:
    """The names whose values an expression reads, and the names that it only calls as functions."""

    values: frozenset[str]
    calls: frozenset[str]


def with_words(formula: str) -> str:
    """Add the prefix of :func:`formula_name` to numerals in backticks."""
    return _QUOTED_NUMERAL.sub(r"`column \1`", formula)


def without_words(name: str) -> str:
    """Undo :func:`with_words`."""
    return re.sub(r"`column ([0-9.]+)`", r"`\1`", name)


def formula_names(columns: pd.Index) -> dict[str, int]:
    """Return a dict from the name of each column in a formula to its position.

    Raises
    ------
    DuplicateNamesError
        If two labels are equal as text, such as 1 and "1".
    """
    names = {formula_name(label): position for position, label in enumerate(columns)}
    if len(names) < len(columns):
        texts = pd.Index([formula_name(label) for label in columns])
        raise DuplicateNamesError(
            f"Columns look alike in a formula: {listed(columns[texts.duplicated(keep=False)])}. Rename them."
        )
    return names


def names_in(expression: Expression) -> Names:
    """Find the names in a Python expression."""
    bound: set[str] = set()
    functions: list[ast.Name] = []
    values: set[str] = set()
    for node in ast.walk(expression.tree):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            functions.append(node.func)
            first = node.args[0] if node.args else None
            if node.func.id == "Q" and isinstance(first, ast.Constant) and isinstance(first.value, str):
                values.add(first.value)
    called = {id(node) for node in functions}
    for node in ast.walk(expression.tree):
        if isinstance(node, ast.Name) and id(node) not in called and node.id not in bound:
            values.add(expression.name(node))
    calls = {expression.name(node) for node in functions} - bound - values
    return Names(frozenset(values), frozenset(calls))


def require_known(
    tokens: list[tuple[str, Names]], columns: Collection[str], context: Mapping[str, Any]
) -> None:
    """Raise FormulaError if a formula uses a name that is not a column, context name or function.

    Parameters
    ----------
    tokens : list of (text, Names)
        Every part of the formula that has names, including parts after a minus sign.
    columns : collection of str
        The columns' names in a formula.
    context : Mapping
        Further names.
    """
    from formulaic.transforms import TRANSFORMS

    for text, names in tokens:
        plain = names.values == {text}
        if text in columns and not plain:
            raise DuplicateNamesError(
                f"{text!r} is both a column of the data and an expression of the formula. Write `{text}` in "
                "backticks for the column, or rename it."
            )
        for name in sorted(names.values):
            if name in columns or name in context:
                continue
            if not plain and (name in TRANSFORMS or hasattr(builtins, name)):
                continue
            inside = "" if plain else f" in {shown(text)}"
            dotted = next((c for c in columns if c.startswith(name + ".") and c in text), None)
            hint = (
                f" Write the name in backticks: `{dotted}`."
                if dotted
                else nearest(
                    name,
                    [
                        *columns,
                        *(
                            one
                            for one, value in context.items()
                            if not (callable(value) or isinstance(value, ModuleType))
                        ),
                    ],
                )
                + " Names go in backticks if they hold spaces or signs."
            )
            raise FormulaError(
                f"The formula uses {shown(name)}{inside}, which is not a column of the data. The columns are "
                f"{listed(columns, 12)}.{hint}"
            )
        for name in sorted(names.calls):
            if not (callable(context.get(name)) or name in TRANSFORMS or hasattr(builtins, name)):
                known = [*TRANSFORMS, *(one for one in context if callable(context[one]))]
                given = f"a variable of type {type(context.get(name)).__name__} and"
                what = given if name in context else "which is"
                raise FormulaError(
                    f"The formula calls {shown(name)}, {what} not a known function.{nearest(name, known)} "
                    f"Known are {listed(TRANSFORMS, 40)}, and what context={{...}} holds."
                )
