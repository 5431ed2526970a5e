"""The terms of a formula: Python expressions are replaced by words, and formulaic expands the result.

formulaic gets generated words in place of names and expressions, so that it never parses, rewrites or runs
their text. The number of terms is computed before the formula is expanded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spcastat.config import one_line
from spcastat.errors import FormulaError
from spcastat.reading.expressions import Expression, read_expression, shortened

#: Largest number of terms, including repeated ones, and of columns, in addition to those of the data.
MOST_TERMS = 100_000
#: Largest exponent of numbers, and of sets of terms as in ``(a + b)**2``: larger powers take too long.
LARGEST_EXPONENT = 100

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_NUMBER = re.compile(r"[0-9.]{1,20}")
_WORD = re.compile(r"_[ne]([0-9]+)_")
#: A numeral in backticks, which formulaic would read as the intercept; see `expressions.formula_name`.
_QUOTED_NUMERAL = re.compile(r"`([0-9.]+)`")


class Part(NamedTuple):
    """A factor of a term: its text, and how it is evaluated (``lookup``, ``python`` or ``literal``)."""

    text: str
    method: str


@dataclass(frozen=True)
class Piece:
    """A token of a formula; `kind` is formulaic's name for its type.

    For an expression, `values` are the names whose values it reads, and `calls` those that it only calls as
    functions.
    """

    text: str
    kind: str
    expression: Expression | None = None
    values: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Model:
    """The terms of a formula, with the states of their transforms and factors.

    Attributes
    ----------
    terms : tuple of tuples of Part
        In the user's order, without the intercept.
    text : str
        The formula as the user wrote it.
    context : Mapping
        The names that the terms use in addition to columns. If it is
        :class:`spcastat.reading.formula_safety.Closed`, only expressions in the restricted
        language of that module are evaluated.
    states : dict
        The learned state of each transform; the key is the text of its call.
    encodings : dict
        The kind and the state, in formulaic, of each factor with levels; the key is the text of the factor.
    widths : tuple of int
        The number of columns of each term; empty until the columns are computed.
    """

    terms: tuple[tuple[Part, ...], ...]
    text: str
    context: Mapping[str, Any]
    states: Mapping[str, Any] = field(default_factory=dict)
    encodings: Mapping[str, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    widths: tuple[int, ...] = ()


def pieces_of(formula: str) -> list[Piece]:
    """Split a formula into names, numbers, operators, brackets and Python expressions.

    Raises
    ------
    FormulaError
        If it cannot be read.
    """
    from formulaic.parser.algos.tokenize import tokenize

    pieces = []
    try:
        for token in tokenize(_QUOTED_NUMERAL.sub(r"`column \1`", formula)):
            text, kind = token.token, token.kind.value if token.kind is not None else ""
            expression = read_expression(text) if kind == "python" else None
            if expression is not None and isinstance(expression.tree, ast.Name):
                text, kind, expression = expression.name(expression.tree), "name", None
            if expression is not None:
                pieces.append(Piece(expression.text, kind, expression, expression.values, expression.calls))
            elif kind == "name":
                pieces.append(Piece(text, kind, values=frozenset([text])))
            else:
                pieces.append(Piece(text, "operator" if text == "." else kind))
    except Exception as error:
        raise unreadable(formula, str(error)) from None
    return pieces


def expand(formula: str, pieces: list[Piece], columns: Collection[str]) -> list[tuple[Part, ...]]:
    """Return the terms of a formula in the user's order, without the intercept.

    Parameters
    ----------
    formula : str
        For messages.
    pieces : list of Piece
    columns : collection of str
        The columns that ``.`` stands for.

    Raises
    ------
    FormulaError
        If it cannot be parsed, has two sides or several parts, has too many terms, or none.
    """
    from formulaic import Formula, SimpleFormula

    words = {(name, "lookup"): f"_n{place}_" for place, name in enumerate(columns)}
    text = []
    for piece in pieces:
        if piece.kind in ("name", "python"):
            key = (piece.text, "lookup" if piece.kind == "name" else "python")
            text.append(words.setdefault(key, f"_e{len(words)}_"))
        elif piece.kind == "value" and not _NUMBER.fullmatch(piece.text):
            raise unreadable(formula, f"the text {piece.text} is not a term")
        else:
            text.append(f"%{piece.text}%" if piece.text[:1].isalpha() else piece.text)
    plain = " ".join(text)
    parts = {word: Part(*key) for key, word in words.items()}
    available = [words[name, "lookup"] for name in columns]
    context = {"__formulaic_variables_available__": available}

    def failed(error: Exception) -> FormulaError:
        known = _WORD.sub(lambda match: parts[match[0]].text if match[0] in parts else match[0], str(error))
        return unreadable(formula, known)

    try:
        _require_few(formula, plain, context, len(available))
        parsed: Any = Formula(plain, _ordering="none", _context=context)
    except FormulaError:
        raise
    except Exception as error:
        raise failed(error) from None
    if not isinstance(parsed, SimpleFormula):
        raise FormulaError(
            f"formula={formula!r} has two sides or several parts; give one, such as '~ a + b + log(c)'."
        )
    made = [
        tuple(parts.get(factor.expr, Part(factor.expr, "literal")) for factor in term.factors)
        for term in parsed
    ]
    terms = [term for term in made if set(term) != {Part("1", "literal")}]
    if not terms:
        raise FormulaError(f"formula={formula!r} has no term that makes a column; the intercept is not one.")
    return terms


def unreadable(formula: str, reason: str) -> FormulaError:
    """Return the error for a formula that cannot be read."""
    why = one_line(" ".join(_ANSI.sub("", reason).replace("⧛", ">>").replace("⧚", "<<").split()), 300)
    return FormulaError(
        f"formula={shortened(formula)} cannot be read: {why.rstrip('.')}. A formula looks like "
        "'~ a + b + log(c)' or '~ . - id'."
    )


def _require_few(formula: str, plain: str, context: Mapping[str, Any], columns: int) -> None:
    """Raise FormulaError, before a formula is expanded, if it would have too many terms."""
    from formulaic.parser import DefaultFormulaParser

    tree: Any = DefaultFormulaParser().get_ast(plain, context=dict(context))
    allowed = MOST_TERMS + columns
    counts: dict[int, int] = {}
    waiting = [(tree, False)]
    while waiting:
        node, visited = waiting.pop()
        if not hasattr(node, "args"):
            counts[id(node)] = 1
        elif not visited:
            waiting += [(node, True), *((child, False) for child in node.args)]
        else:
            below = [counts[id(child)] for child in node.args]
            symbol = node.operator.symbol
            exponent = str(node.args[1]) if symbol in ("**", "^") else "0"
            counts[id(node)] = count = _count(symbol, below, columns, exponent)
            if count > allowed:
                raise FormulaError(
                    f"formula={shortened(formula)} makes more than {allowed} terms, or has an exponent above "
                    f"{LARGEST_EXPONENT} behind a bracket. Write out the terms that are wanted."
                )


def _count(symbol: str, below: list[int], columns: int, exponent: str) -> int:
    """Return the number of terms, including repeated ones, that an operator makes."""
    if symbol == ".":
        return columns
    if len(below) < 2:
        return sum(below)
    left, right = below[0], below[1]
    if symbol in ("**", "^"):
        if not exponent.isdigit():  # an error will be raised when the formula is expanded
            return left
        power = int(exponent) if len(exponent) < 10 else MOST_TERMS
        return left**power if power <= LARGEST_EXPONENT else 10 * (MOST_TERMS + columns)
    if symbol == ":":
        return left * right
    if symbol == "*":
        return left + right + left * right
    return left + right
