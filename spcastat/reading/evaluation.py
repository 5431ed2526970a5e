"""Evaluate an expression of a formula.

Expressions within the safe language of :mod:`spcastat.reading.formula_safety` are interpreted by walking over
the checked syntax tree: no code is compiled or run. Other expressions, which are allowed only in formulas
given in Python, are compiled from the same tree.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import LARGEST
from spcastat.errors import FormulaError
from spcastat.reading import expressions, formula_safety
from spcastat.reading.expressions import Expression, Learning, parts_of, shortened

#: Operators whose results may overflow the range of integers.
_GROWING = (ast.Add, ast.Sub, ast.Mult, ast.Pow)
#: Operators that return 0 if integers are divided by 0.
_DIVIDING = (ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, eq=False)
class Given:
    """The data and names on which expressions are evaluated.

    Attributes
    ----------
    data : DataFrame of n rows
    context : mapping
        Further names; if it is a :class:`Closed`, only expressions in the safe language are evaluated.
    learning : Learning
        The states of transforms.
    """

    data: pd.DataFrame
    context: Mapping[str, Any]
    learning: Learning


def value_of(expression: Expression, given: Given) -> Any:
    """Return the value of an expression: an array of n numbers, or what formulaic converts to columns.

    Raises
    ------
    FormulaError
        If the context is closed and the expression is not in the safe language, or if it would take too long.
    Exception
        Any error of the functions that it calls.
    """
    excess = formula_safety.excess_of(expression)
    if excess is not None:
        raise FormulaError(f"{shortened(expression.text, 120)} holds {excess}.")
    closed = isinstance(given.context, formula_safety.Closed)
    values = {name for name, value in given.context.items() if not callable(value) and value is not np}
    problem = formula_safety.problem_of(
        expression, {*given.data.columns, *values}, strings=True, context=given.context
    )
    if problem is not None and closed:
        raise FormulaError(f"{shortened(expression.text, 120)} holds {problem}; it is not run.")
    read = [given.data[name] for name in expression.values if name in given.data]
    if problem is None and (closed or all(_is_number_type(column.dtype) for column in read)):
        return _Walk(expression, given).value(expression.tree)
    return _run(expression, given)


# --- expressions of the safe language ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Walk:
    """Interpreter of a checked expression, node by node."""

    expression: Expression
    given: Given

    def value(self, node: ast.expr) -> Any:
        """Return the value of a node of the tree."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.named(self.expression.name(node))
        if isinstance(node, (ast.List, ast.Tuple)):
            return [_scalar(self.value(one), "a list") for one in node.elts]
        if isinstance(node, ast.BinOp):
            first, steps = parts_of(node)
            made = self.value(first)
            for step in steps:
                made = _combined(step.op, made, self.value(step.right))
            return made
        if isinstance(node, ast.Compare):
            return _combined(node.ops[0], self.value(node.left), self.value(node.comparators[0]))
        if isinstance(node, ast.UnaryOp):
            return formula_safety.OPERATORS[type(node.op)](_numbers(self.value(node.operand)))
        if isinstance(node, ast.Attribute):
            return getattr(
                _formulaic()["contr"], str(formula_safety.contrast_of(node)).removeprefix("contr.")
            )
        if isinstance(node, ast.Call):
            return self.called(node)
        raise FormulaError(f"{self.expression.show(node)!r} is not run.")

    def named(self, name: str) -> Any:
        """Return a column, or a value of the context."""
        if name not in self.given.data:
            return self.given.context[name]
        column = self.given.data[name]
        return column.to_numpy() if _is_number_type(column.dtype) else column

    def called(self, node: ast.Call) -> Any:
        """Return the value of a call."""
        name = formula_safety.called_name(self.expression, node.func)
        values = [self.value(argument) for argument in node.args]
        named = {str(word.arg): self.value(word.value) for word in node.keywords}
        text = self.expression.show(node)
        if name is None:
            raise FormulaError(f"{text!r} is not run.")
        kind, _, own = name.rpartition(".")
        if kind == "contr":
            options = expressions.bound(text, expressions.CONTRASTS[own], tuple(values), named)
            coding = getattr(_formulaic()["contr"], own)
            return coding(**{key: _option(value, text) for key, value in options.items()})
        if own in expressions.NUMPY:
            return expressions.plain_function(own)(*(_numbers(value) for value in values))
        first, rest = values[0], [_option(value, text) for value in values[1:]]
        named = {key: _option(value, text) for key, value in named.items()}
        if own in expressions.OPTIONS:
            function = _formulaic()[own]
            return expressions.transformed(
                own, function, text, self.given.learning, _column(first), *rest, **named
            )
        options = expressions.bound(text, expressions.PLAIN[own], tuple(rest), named)
        return expressions.factor(first, **options) if own == "C" else first


def _formulaic() -> Mapping[str, Any]:
    from formulaic.transforms import TRANSFORMS

    return TRANSFORMS


def _combined(op: ast.AST, left: Any, right: Any) -> Any:
    """Apply an operator to two numbers or columns; integers that would overflow become floats."""
    compared = isinstance(op, (ast.Eq, ast.NotEq))
    a, b = (_numbers(value, text=compared) for value in (left, right))
    function = formula_safety.OPERATORS[type(op)]
    if np.ndim(a) and np.ndim(b) and np.shape(a) != np.shape(b):
        raise TypeError(f"values of shapes {np.shape(a)} and {np.shape(b)} do not go together")
    kinds = [np.asarray(value).dtype.kind for value in (a, b)]
    if isinstance(op, (*_GROWING, *_DIVIDING)) and "f" not in kinds:
        a, b = a + 0, b + 0  # truth values count as 0 and 1
        floats = function(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
        if isinstance(op, ast.Pow) and np.any(np.asarray(b) < 0):
            return floats
        if not (np.abs(floats) < LARGEST).all():
            return floats
    made = function(a, b)
    return made.to_numpy() if isinstance(made, pd.Series) else made


def _is_number_type(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _numbers(value: Any, text: bool = False) -> Any:
    """Return a number or an array of numbers, or `text`, if allowed; raise TypeError for anything else."""
    series = isinstance(value, pd.Series) and not _is_number_type(value.dtype)
    if text and (series or isinstance(value, str)):
        return value
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value
    raise TypeError(f"{type(value).__name__} is given where numbers are needed")


def _scalar(value: Any, where: str) -> Any:
    if value is None or isinstance(value, (str, bool, int, float, np.generic)):
        return value
    raise TypeError(f"{type(value).__name__} is given where {where} holds numbers or text")


def _option(value: Any, text: str) -> Any:
    """Check a value that follows the first argument of a transform, and return it."""
    from formulaic.transforms.contrasts import Contrasts

    if isinstance(value, Contrasts) or (isinstance(value, type) and issubclass(value, Contrasts)):
        return value
    if isinstance(value, (list, tuple)):
        return [_scalar(one, text) for one in value]
    if isinstance(value, np.ndarray) and value.size <= expressions.LARGEST_ROOT:
        return value.tolist()
    return _scalar(value, f"{text} after its first argument")


def _column(value: Any) -> Any:
    """Check the first argument of a transform: numbers, or the dict of columns of another transform."""
    bare = getattr(value, "__wrapped__", value)
    if isinstance(bare, dict):
        return bare
    numbers = _numbers(bare)
    if not np.ndim(numbers):
        raise TypeError("one number is given where a column is needed")
    return numbers


# --- other expressions, which are run ---------------------------------------------------------------


def _run(expression: Expression, given: Given) -> Any:
    """Compile the tree with names replaced, and evaluate it."""
    binder = _Binder(expression, given)
    tree = ast.Expression(body=binder.visit(copy.deepcopy(expression.tree)))
    code = compile(ast.fix_missing_locations(tree), "<formula>", "eval")
    return eval(code, binder.names)


class _Binder(ast.NodeTransformer):
    """Replaces the names of an expression by generated names that are bound to the values."""

    def __init__(self, expression: Expression, given: Given):
        self.expression, self.given = expression, given
        self.names: dict[str, Any] = {}
        walk = list(ast.walk(expression.tree))
        self.bound = {node.arg for node in walk if isinstance(node, ast.arg)}
        self.bound |= {
            node.id for node in walk if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name whose value is read."""
        if node.id in self.bound:
            return node
        name = self.expression.name(node)
        if name in self.given.data:
            return self.word(self.given.data[name])
        return self.function(node, name)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace the called function; a transform gets its state."""
        text = self.expression.show(node)
        function = self.resolved(node.func)
        if isinstance(node.func, ast.Name) and node.func.id not in self.bound:
            called = self.function(node.func, self.expression.name(node.func))
        else:
            called = self.visit(node.func)
        if getattr(function, "__is_stateful_transform__", False) and function is not _formulaic()["Q"]:
            name = next((own for own in expressions.OPTIONS if _formulaic()[own] is function), None)
            called = self.word(partial(expressions.transformed, name, function, text, self.given.learning))
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [ast.keyword(word.arg, self.visit(word.value)) for word in node.keywords]
        return ast.Call(called, arguments, keywords)

    def resolved(self, function: ast.expr) -> Any:
        """Return the object that a (dotted) name refers to, if it is not a column; None for anything else."""
        if isinstance(function, ast.Attribute):
            return getattr(self.resolved(function.value), function.attr, None)
        if isinstance(function, ast.Name) and function.id not in self.bound:
            name = self.expression.name(function)
            return (
                None if name in self.given.data and name not in formula_safety.FUNCTIONS else self.known(name)
            )
        return None

    def known(self, name: str) -> Any:
        """Return the object with a name in the context or in formulaic, or None."""
        if name in self.given.context:
            return self.given.context[name]
        if name in formula_safety.REASONS:
            raise FormulaError(
                f"{shortened(self.expression.text, 120)} calls {name!r}{formula_safety.REASONS[name]}."
            )
        own = {"C": expressions.factor, "Q": self.given.data.__getitem__}
        return own.get(name, _formulaic().get(name))

    def function(self, node: ast.Name, name: str) -> ast.expr:
        """Return a generated name for an object of the context or of formulaic; builtins keep their names."""
        known = self.known(name)
        return node if known is None and name not in self.given.context else self.word(known)

    def word(self, value: Any) -> ast.Name:
        """Bind a value to a generated name and return the name."""
        word = f"_value{len(self.names)}"
        while word in self.bound:
            word += "_"
        self.names[word] = value
        return ast.Name(word, ast.Load())
