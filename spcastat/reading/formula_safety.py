"""The safe language for formulas from a command line or a file.

Formulas given in Python run as code. Formulas from elsewhere may only contain names of columns, numbers,
operators and the functions listed here: their syntax trees are checked by this white list before formulaic
evaluates the same trees.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from spcastat.config import LARGEST as LARGEST_NUMBER
from spcastat.config import listed, nearest, one_line
from spcastat.errors import FormulaError
from spcastat.reading import terms as expressions
from spcastat.reading.terms import (
    CONTRASTS,
    LARGEST_EXPONENT,
    LARGEST_ROOT,
    LEARNING,
    NUMPY,
    PLAIN,
    pieces_of,
    takes,
)

#: Functions of formulaic that are allowed.
TRANSFORMS = ("log", "log2", "log10", "exp", "exp2", *LEARNING, *PLAIN)
#: Operators that are allowed.
OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.UAdd, ast.USub, ast.Invert,
)  # fmt: skip
#: Names of all functions that are allowed.
FUNCTIONS = frozenset({*TRANSFORMS, *NUMPY})
#: Functions of formulaic that are not allowed, and why.
REASONS = {
    "lag": ", which takes values from other rows",
    "exp10": ", which is x**10 in formulaic; write np.power(10.0, x) for ten to the power of x",
}


class Closed(dict[str, Any]):
    """The context of a formula from a command line or a file.

    With this context only expressions in the language of this module are evaluated.
    """

    def __bool__(self) -> bool:
        return True  # so that ``context or {}`` does not replace an empty one by an open context


def safe_context() -> Closed:
    """Return the context of safe formulas: the NumPy functions that they may call."""
    return Closed({name: getattr(np, name) for name in NUMPY if name not in TRANSFORMS})


def require_safe(formula: str, columns: Collection[str]) -> None:
    """Raise FormulaError unless a formula is made of names, numbers, operators and known functions.

    Parameters
    ----------
    formula : str
    columns : collection of str
        The names of the columns in a formula.
    """
    for piece in pieces_of(formula):
        if piece.expression is not None:
            problem = problem_of(piece.expression, columns)
        elif piece.kind == "value" and piece.text[:1] in "\"'":
            problem = f"the text {piece.text}"
        elif piece.kind == "name" and piece.text.startswith("__") and piece.text not in columns:
            problem = f"the name {piece.text}"
        else:
            problem = None
        if problem is not None:
            raise FormulaError(
                f"formula={expressions.shortened(formula)} holds {problem}. Allowed are names of columns, "
                f"numbers, operators, {listed(TRANSFORMS, 40)} and NumPy functions such as np.log1p; "
                "names with signs or spaces go in backticks. Use Python for others."
            )


def problem_of(
    expression: str | expressions.Expression,
    columns: Collection[str],
    *,
    strings: bool = False,
    context: Mapping[str, Any] | None = None,
) -> str | None:
    """Return, as text for a message, what is not allowed in a Python expression; None if all is allowed.

    Parameters
    ----------
    expression : str or Expression
    columns : collection of str
        Names of values.
    strings : bool
        Whether text is allowed, for names of levels and options.
    context : mapping, optional
        The user's names. If one of them hides an allowed function, calls of it are not allowed.
    """
    if isinstance(expression, str):
        text = expression
        try:
            expression = expressions.read_expression(text)
        except expressions.ExpressionError as error:
            return f"{expressions.shortened(text, 120)}, which cannot be read: {one_line(str(error), 300)}"
    return next(_problems(expression, columns, strings, context or {}), None)


_POWERS = f"exponents are numbers up to {LARGEST_EXPONENT}"
_BOUND = (
    f"whole numbers are allowed up to {LARGEST_NUMBER}, other numbers as far as they are finite, and text up "
    f"to {LARGEST_ROOT} characters"
)


def _moderate(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) <= LARGEST_NUMBER
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, (str, bytes)) or len(value) <= LARGEST_ROOT


def _problems(
    expression: expressions.Expression, columns: Collection[str], strings: bool, context: Mapping[str, Any]
) -> Iterator[str]:
    waiting: list[tuple[ast.AST, bool]] = [(expression.tree, False)]  # nodes, and whether they may be lists
    while waiting:
        node, listed_here = waiting.pop()
        below: list[tuple[ast.AST, bool]] = []
        if isinstance(node, ast.Call):
            yield from _call_problems(expression, node, context)
            below = [(one, True) for one in (*node.args, *(word.value for word in node.keywords))]
        elif isinstance(node, ast.Attribute):
            if contrast_of(node) is None:
                yield f"{_shown(expression, node)}, which looks into an object"
        elif isinstance(node, ast.Name):
            name = expression.name(node)
            if name not in columns:
                near = nearest(name, sorted(columns))
                yield f"the name {expressions.shortened(name, 120)}, which is not a column{near}"
        elif isinstance(node, ast.Constant):
            allowed = (bool, int, float, type(None), str) if strings else (bool, int, float, type(None))
            if not isinstance(node.value, allowed) or (isinstance(node.value, str) and "`" in node.value):
                yield f"the text or value {expressions.cut(ast.unparse(node))}"
            elif not _moderate(node.value):
                yield f"the value {expressions.cut(ast.unparse(node))}; {_BOUND}"
        elif isinstance(node, (ast.List, ast.Tuple)) and listed_here:
            if len(node.elts) > LARGEST_ROOT:
                yield f"a list of {len(node.elts)} values; at most {LARGEST_ROOT} are allowed"
            below = [(one, False) for one in node.elts]
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)) and isinstance(node.op, OPERATORS):
            sides = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _small_power(node):
                yield f"the power {_shown(expression, node)}; {_POWERS}"
            below = [(side, False) for side in sides]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], OPERATORS):
            below = [(node.left, False), (node.comparators[0], False)]
        elif isinstance(node, (ast.Compare, ast.BoolOp)):
            yield f"{_shown(expression, node)}; write (1 < a) & (a < 2)"
        else:
            yield f"{_shown(expression, node)}"
        waiting += reversed(below)


def _call_problems(
    expression: expressions.Expression, node: ast.Call, context: Mapping[str, Any]
) -> Iterator[str]:
    name = called_name(expression, node.func)
    starred = next((arg for arg in node.args if isinstance(arg, ast.Starred)), None)
    root = (name or "").partition(".")[0]
    meant = np if root == "np" else getattr(np, root, None)
    fewest, most = NUMPY.get((name or "").removeprefix("np."), (0, math.inf))
    if name is None or context.get(root, meant) is not meant:  # the user may give the name another meaning
        text = expressions.cut(expression.show(node.func))
        why = REASONS.get(text) or nearest(text, sorted(FUNCTIONS)) or ", which is not a known function"
        yield f"a call of {text!r}{why}"
    elif starred is not None:
        yield f"{_shown(expression, starred)}"
    elif any(word.arg is None for word in node.keywords):
        yield "'**' before an argument"
    elif most < math.inf and (node.keywords or not fewest <= len(node.args) <= most):
        yield f"{_shown(expression, node)}; {takes(name, fewest, int(most))} without names"
    elif name in {*PLAIN, *LEARNING} and not node.args:
        yield f"{_shown(expression, node)} without values"


def called_name(expression: expressions.Expression, function: ast.expr) -> str | None:
    """Return the name of an allowed function, such as ``bs``, ``np.log`` or ``contr.sum``, or None."""
    if isinstance(function, ast.Name):
        name = expression.name(function)
        return name if name in FUNCTIONS else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = expression.name(function.value)
        if owner == "np" and function.attr in NUMPY:
            return f"np.{function.attr}"
    return contrast_of(function)


def contrast_of(node: ast.expr) -> str | None:
    """Return the name ``contr.x`` if a node is a known contrast, else None."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "contr":
        return f"contr.{node.attr}" if node.attr in CONTRASTS else None
    return None


def _shown(expression: expressions.Expression, node: ast.AST) -> str:
    return expressions.shortened(expression.show(node), 120)


def _small_power(node: ast.BinOp) -> bool:
    """Whether the exponent is at most LARGEST_EXPONENT, and the base is a number or contains a name."""
    power = node.right
    if isinstance(power, ast.UnaryOp) and isinstance(power.op, (ast.USub, ast.UAdd)):
        power = power.operand
    moderate = (
        isinstance(power, ast.Constant)
        and isinstance(power.value, (int, float))
        and abs(power.value) <= LARGEST_EXPONENT
    )
    plain = isinstance(node.left, ast.Constant) and isinstance(node.left.value, (int, float))
    return moderate and (plain or any(isinstance(part, ast.Name) for part in ast.walk(node.left)))
