"""Expressions in formulas: an expression is read once into a syntax tree, which is checked and evaluated."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

# --- expressions ----------------------------------------------------------------------------------


#: Largest number of characters of an expression.
LONGEST = 100_000

_NUMERAL = re.compile(r"[0-9.]+")


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
        The names whose values the expression reads, and the names that it only calls as functions.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]
    values: frozenset[str]
    calls: frozenset[str]

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
    """Return the name of a column inside a formula: its label as text.

    Numerals get the prefix "column ", because formulaic would read a column called 1 as the intercept and one
    called "." as all columns.
    """
    name = str(label)
    return f"column {name}" if _NUMERAL.fullmatch(name) else name


def read_expression(text: str) -> Expression:
    """Parse one Python expression in which text in backticks is a name.

    Quotes and backticks are read from left to right; a backtick in quotes is part of the text, and a quote in
    backticks is part of the name. Comments are refused, since line breaks would decide where they end.

    Raises
    ------
    ExpressionError
        If it is not a single expression, too long, or nested too deeply.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters; allowed are {LONGEST}")
    stem = "_name"
    while stem in text:
        stem += "_"
    parts: list[str] = []
    quoted: dict[str, str] = {}
    for kind, part in _pieces(text):
        if kind == "name":
            plain = part.isidentifier() and not keyword.iskeyword(part)
            word = part if plain else f"{stem}{len(quoted)}_"
            if not plain:
                quoted[word] = formula_name(part)
            parts.append(f" {word} ")
        else:
            parts.append(part)
    try:
        tree = ast.parse("".join(parts).strip(), mode="eval").body
        if any(isinstance(node, ast.Constant) and stem in str(node.value) for node in ast.walk(tree)):
            raise ExpressionError("it spells a name by its codes")
        found = Expression("", tree, quoted, *_names_in(tree, quoted))
        return replace(found, text=found.show(tree))
    except SyntaxError as error:
        raise ExpressionError(error.msg) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("it is nested too deeply") from None
    except ValueError as error:  # a null character, or a number with thousands of digits
        raise ExpressionError(str(error)) from None


def _names_in(tree: ast.expr, quoted: Mapping[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names whose values an expression reads, and the names that it only calls."""
    bound: set[str] = set()
    called: set[ast.Name] = set()
    values: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func)
            first = node.args[0] if node.args else None
            if node.func.id == "Q" and isinstance(first, ast.Constant) and isinstance(first.value, str):
                values.add(first.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node not in called and node.id not in bound:
            values.add(quoted.get(node.id, node.id))
    calls = {quoted.get(node.id, node.id) for node in called} - bound - values
    return frozenset(values), frozenset(calls)


def shortened(text: str, length: int = 300) -> str:
    """Return text in quotes, with the middle of long text left out."""
    return repr(cut(text, length))


def cut(text: str, length: int = 100) -> str:
    """Return text without its middle if it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 40]} ... {text[-30:]}"


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Split an expression into names in backticks, text in quotes, and code."""
    at = 0
    while at < len(text):
        sign = text[at]
        if sign in "'\"`":
            end = _end(text, at)
            yield ("name", text[at + 1 : end]) if sign == "`" else ("text", text[at : end + 1])
            at = end + 1
        elif sign == "#":
            raise ExpressionError("it holds a comment, '#'")
        else:
            start = at
            while at < len(text) and text[at] not in "'\"`#":
                at += 1
            yield "code", text[start:at]


def _end(text: str, start: int) -> int:
    """Return the position of the closing quote or backtick for the one at `start`."""
    at = start + 1
    while at < len(text):
        if text[at] == text[start]:
            if text[start] == "`" and at == start + 1:
                raise ExpressionError("there is no name between the backticks")
            return at
        at += 2 if text[at] == "\\" and text[start] != "`" else 1
    raise ExpressionError(f"the {text[start]} is not closed")


# --- functions ------------------------------------------------------------------------------------


#: NumPy functions that transform each row by itself -> smallest and largest number of arguments.
NUMPY = {
    **dict.fromkeys(
        (
            "abs", "absolute", "arcsin", "arcsinh", "arctan", "cbrt", "ceil", "cos", "cosh", "exp", "exp2",
            "expm1", "floor", "log", "log10", "log1p", "log2", "sign", "sin", "sinh", "sqrt", "square", "tan",
            "tanh",
        ),
        (1, 1),
    ),
    **dict.fromkeys(("maximum", "minimum", "power"), (2, 2)),
    "clip": (3, 3),
    "round": (1, 2),
}  # fmt: skip
#: Transforms of formulaic that learn from the rows.
LEARNING = ("poly", "center", "scale", "standardize", "bs", "cs", "cr", "cc")
#: Functions of formulaic that do not.
PLAIN = ("C", "I")
#: Codings of factors, such as ``contr.sum``.
CONTRASTS = ("SAS", "diff", "helmert", "poly", "sum", "treatment")
#: Largest number of columns of a call, of entries of a list, and of characters of a text in a formula.
LARGEST_ROOT = 1000


def takes(name: str, fewest: int, most: int) -> str:
    """Return text on how many arguments a function takes."""
    count = str(fewest) if fewest == most else f"{fewest} or {most}"
    return f"{name} takes {count} argument{'s' if most > 1 else ''}"
