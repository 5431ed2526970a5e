"""Expressions in the terms of formulas: their text, their syntax tree, and the names in them."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import offers
from spcastat.labels import stored_name

#: Largest number of characters of an expression.
LONGEST_EXPRESSION = 100_000
_LONG_NUMBER = "it contains a null character, or a number with thousands of digits"

_NUMERAL = re.compile(r"[0-9.]+")
#: A name in backticks, a text in quotes, or code.
_EXPRESSION_PIECE = re.compile(
    r"""`(?P<name>[^`]+)` | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | [^'"`#]+""", re.DOTALL | re.VERBOSE
)


class ExpressionError(Exception):
    """Raised for text that is not an expression; the message says why, without a full stop at its end."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A parsed expression.

    Attributes
    ----------
    text : str
        The expression in a standard form, generated from the tree, so that equal expressions have equal
        texts. Names that are not Python identifiers are in backticks.
    tree : ast.expr
        The syntax tree; names in backticks are replaced by generated identifiers.
    quoted : mapping from str to str
        Generated identifier -> name in backticks.
    values, calls : frozenset of str
        The names whose values the expression reads, and the names that it calls as functions.
    owners : frozenset of (str, str)
        The names in front of a dot, each with the name behind the dot: ("np", "log") of ``np.log(a)``.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]
    values: frozenset[str]
    calls: frozenset[str]
    owners: frozenset[tuple[str, str]] = frozenset()

    def reads(self, context: Mapping[str, Any]) -> frozenset[str]:
        """Return the names whose values the expression reads, except modules whose functions it calls."""
        free = {name for name, attribute in self.owners if owner_of(name, attribute, context) is None}
        return self.values | free

    def name(self, node: ast.Name) -> str:
        """Return the name of a node as the user wrote it."""
        return self.quoted.get(node.id, node.id)

    def show(self, node: ast.AST) -> str:
        """Return the text of a part of the tree, in the form of `text`."""
        text = ast.unparse(node).replace("\n", " ")
        if not self.quoted:
            return text
        words = re.compile("|".join(re.escape(word) for word in self.quoted))
        return words.sub(lambda match: f"`{self.quoted[match[0]]}`", text)


def formula_name(label: Any) -> str:
    """Return the name of a column in a formula: its label as text, which saving a fit does not change.

    Numerals get the prefix "column ", because formulaic would read a column called 1 as the intercept and one
    called "." as all columns.
    """
    name = str(stored_name(label))
    return f"column {name}" if _NUMERAL.fullmatch(name) else name


def formula_without(labels: Iterable[Any]) -> str | None:
    """Return the formula for all columns except those with `labels`; None if it cannot name one of them."""
    names = [formula_name(label) for label in labels]
    quotes = {"'", '"'} <= set("".join(names))  # a quoted formula would need backslashes
    if quotes or any("`" in name or not name.isprintable() for name in names):
        return None
    terms = [name if name.isidentifier() and not keyword.iskeyword(name) else f"`{name}`" for name in names]
    return " - ".join(["~ .", *terms])


def read_expression(text: str) -> Expression:
    """Parse one Python expression in which text in backticks is a name.

    Quotes and backticks are read from left to right; a backtick in quotes is part of the text, and a quote in
    backticks is part of the name. Comments are refused, since line breaks would decide where they end.

    Raises
    ------
    ExpressionError
        If it is not a single expression, too long, or nested too deeply.
    """
    if len(text) > LONGEST_EXPRESSION:
        raise ExpressionError(f"it has {len(text)} characters; at most {LONGEST_EXPRESSION} are allowed")
    stem = "_name"
    while stem in text:
        stem += "_"
    parts: list[str] = []
    quoted: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _EXPRESSION_PIECE.match(text, at)
        if match is None:
            sign = text[at]
            raise ExpressionError(
                "it contains a comment, '#'" if sign == "#" else f"the {sign} is not closed"
            )
        word = name = match["name"]
        if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
            word = f"{stem}{len(quoted)}_"
            quoted[word] = formula_name(name)
        parts.append(match[0] if name is None else f" {word} ")
        at = match.end()
    try:
        tree = ast.parse("".join(parts).strip(), mode="eval").body
        if any(isinstance(node, ast.Constant) and stem in str(node.value) for node in ast.walk(tree)):
            raise ExpressionError("it spells a name with character codes")
        expression = Expression("", tree, quoted, *_names_in(tree, quoted))
        return replace(expression, text=expression.show(tree))
    except SyntaxError as error:
        raise ExpressionError(_LONG_NUMBER if "digits" in error.msg else error.msg) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("it is nested too deeply") from None
    except ValueError:
        raise ExpressionError(_LONG_NUMBER) from None


def _names_in(
    tree: ast.expr, quoted: Mapping[str, str]
) -> tuple[frozenset[str], frozenset[str], frozenset[tuple[str, str]]]:
    """Return the names that an expression reads, the names that it calls, and the names before a dot."""
    bound = _bound_names(tree)
    called: set[ast.Name] = set()
    values: set[str] = set()
    owners: dict[ast.Name, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owners[node.value] = node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func)
            argument = node.args[0] if node.args else None
            if node.func.id == "Q" and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                values.add(argument.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not (node in called or node in owners or node.id in bound):
            values.add(quoted.get(node.id, node.id))
    calls = {quoted.get(node.id, node.id) for node in called if node.id not in bound}
    dotted = {(quoted.get(n.id, n.id), attribute) for n, attribute in owners.items() if n.id not in bound}
    return frozenset(values), frozenset(calls), frozenset(dotted)


def _bound_names(tree: ast.expr) -> set[str]:
    """Return the names that an expression defines itself: arguments of functions, variables of loops."""
    nodes = list(ast.walk(tree))
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return bound | {node.arg for node in nodes if isinstance(node, ast.arg)}


def owner_of(name: str, attribute: str, context: Mapping[str, Any]) -> Any:
    """Return the module, or other object with functions, that a name in front of a dot refers to, or None.

    The name of a column refers to the column, as in ``a.clip(0, 1)``, unless a module has the same name.
    """
    for value in (context.get(name), np if name == "np" else None):
        if value is None or not offers(value, attribute):
            continue
        if isinstance(value, ModuleType):
            return value
        if not offers(pd.Series, attribute) and callable(getattr(value, attribute)):
            return value
    return None


def shortened(text: str, length: int = 300) -> str:
    """Return text in quotes, with the middle of long text left out."""
    return repr(abridged(text, length))


def abridged(text: str, length: int = 100) -> str:
    """Return text without its middle if it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 40]} ... {text[-30:]}"
