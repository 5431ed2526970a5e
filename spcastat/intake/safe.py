"""Formulas that hold nothing but names, numbers, operators and known functions.

A formula runs as code. Where it comes from a command line or a file, only what stands here is let through:
no attribute but of ``np`` and ``contr``, no subscript, no other call, no text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

import numpy as np

from spcastat.config import listed, nearest
from spcastat.errors import FormulaError
from spcastat.intake.names import with_words

#: Functions of formulaic that are allowed.
TRANSFORMS = (
    "log", "log2", "log10", "exp", "exp2", "exp10", "poly", "center", "scale", "standardize", "bs", "cs",
    "cc", "cr", "lag", "C", "I",
)  # fmt: skip
#: Functions of NumPy that are allowed, as ``np.sqrt`` or ``sqrt``.
NUMPY = (
    "abs", "absolute", "arcsin", "arcsinh", "arctan", "cbrt", "ceil", "clip", "cos", "cosh", "exp", "exp2",
    "expm1", "floor", "log", "log10", "log1p", "log2", "maximum", "minimum", "power", "round", "sign", "sin",
    "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
#: Codings of factors that are allowed, as ``contr.sum``.
CONTRASTS = ("SAS", "diff", "helmert", "poly", "sum", "treatment")
#: What a formula may be made of besides names, numbers and calls.
OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.UAdd, ast.USub, ast.Not,
    ast.Invert, ast.And, ast.Or, ast.BitAnd, ast.BitOr, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Expression, ast.Load, ast.List, ast.Tuple,
    ast.keyword,
)  # fmt: skip
#: Larger powers of numbers take forever.
LARGEST_POWER = 100

_BACKTICKS = re.compile(r"`([^`]*)`")
_FUNCTIONS = frozenset({*TRANSFORMS, *NUMPY})
_ATTRIBUTES = {"np": frozenset(NUMPY), "contr": frozenset(CONTRASTS)}


def safe_context() -> dict[str, object]:
    """Return the functions that a safe formula may call beyond those that formulaic has."""
    return {name: getattr(np, name) for name in NUMPY if name not in TRANSFORMS}


def require_safe(formula: str, columns: Collection[str]) -> None:
    """Raise FormulaError unless a formula is made of names, numbers, operators and known functions.

    Parameters
    ----------
    formula : str
    columns : collection of str
        The names of the columns in a formula.
    """
    from formulaic.parser.algos.sanitize_tokens import sanitize_tokens
    from formulaic.parser.algos.tokenize import tokenize

    try:
        tokens = [
            (token.token, token.kind.value if token.kind is not None else "")
            for token in sanitize_tokens(tokenize(with_words(formula)))
        ]
    except Exception:  # what cannot be read is told when it is parsed
        return
    for text, kind in tokens:
        if kind == "python":
            problem = problem_of(text, columns)
        elif kind == "value" and not _is_number(text) and text != ".":
            problem = f"the text {text}"
        elif kind == "name" and text.startswith("__") and text not in columns:
            problem = f"the name {text}"
        else:
            problem = None
        if problem is not None:
            raise FormulaError(
                f"formula={formula!r} holds {problem}. A formula given here may hold only names of columns, "
                f"numbers, operators and the functions {listed(TRANSFORMS, 40)} and those of NumPy such as "
                "sqrt or np.log1p; names with signs or spaces go in backticks. Use Python for others."
            )


def problem_of(expression: str, columns: Collection[str], *, strings: bool = False) -> str | None:
    """Return what in a Python expression is not allowed, in words, or None.

    Parameters
    ----------
    expression : str
        Any text in backticks is a name.
    columns : collection of str
        Names that stand for values.
    strings : bool
        Whether text is allowed, as names of levels.
    """
    quoted: list[str] = []

    def hold(match: re.Match[str]) -> str:
        quoted.append(match[1])
        return f" _quoted_{len(quoted) - 1}_ "

    if "_quoted_" in expression:
        return "the name _quoted_"
    try:
        tree = ast.parse(_BACKTICKS.sub(hold, expression).strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"{expression!r}, which cannot be read"
    names = {*columns, *(f"_quoted_{i}_" for i in range(len(quoted)))}
    return next(_problems(tree, names, strings), None)


def _problems(tree: ast.AST, names: Collection[str], strings: bool) -> Iterator[str]:
    called: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            called.add(id(function))
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                called.add(id(function.value))
            if not _allowed_call(function):
                text = ast.unparse(function)
                hint = nearest(text, sorted(_FUNCTIONS)) or ", which is not a known function"
                yield f"a call of {text!r}{hint}"
            if any(word.arg is None for word in node.keywords):
                yield "'**' before an argument"
        elif isinstance(node, ast.Attribute):
            if not _allowed_call(node) or (id(node) not in called and not _is_contrast(node)):
                yield f"{ast.unparse(node)!r}, which looks into an object"
            if isinstance(node.value, ast.Name):
                called.add(id(node.value))
        elif isinstance(node, ast.Name):
            if id(node) not in called and node.id not in names:
                yield f"the name {node.id!r}, which is no column{nearest(node.id, sorted(names))}"
        elif isinstance(node, ast.Constant):
            allowed = (bool, int, float, type(None), str) if strings else (bool, int, float, type(None))
            # a backtick in text would have hidden what follows it
            if not isinstance(node.value, allowed) or "_quoted_" in str(node.value):
                yield f"the text or value {ast.unparse(node)}"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            if not _small_power(node):
                yield f"the power {ast.unparse(node)!r}; exponents are numbers up to {LARGEST_POWER}"
        elif not isinstance(node, OPERATORS):
            yield f"{ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__!r}"


def _allowed_call(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _FUNCTIONS
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.attr in _ATTRIBUTES.get(function.value.id, ())
    )


def _is_contrast(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "contr"


def _small_power(node: ast.BinOp) -> bool:
    """Whether the exponent is a moderate number, and the base no tower of numbers."""
    power = node.right
    if isinstance(power, ast.UnaryOp) and isinstance(power.op, (ast.USub, ast.UAdd)):
        power = power.operand
    moderate = (
        isinstance(power, ast.Constant)
        and isinstance(power.value, (int, float))
        and abs(power.value) <= LARGEST_POWER
    )
    plain = isinstance(node.left, ast.Constant) and isinstance(node.left.value, (int, float))
    return moderate and (plain or any(isinstance(part, ast.Name) for part in ast.walk(node.left)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
