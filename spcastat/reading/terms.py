"""The terms of a formula, the expressions in them, and the safe language for expressions.

An expression is read once into a syntax tree, which is checked and evaluated. formulaic expands the terms: it
gets generated words in place of names and expressions, so that it never parses, rewrites or runs their text.
The number of terms is computed before the formula is expanded.

Formulas given in Python run as code. Formulas from a command line or a file may only contain names of
columns, numbers, operators and the functions listed here: their syntax trees are checked by this white list
before formulaic evaluates the same trees.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from spcastat.config import LARGEST as LARGEST_NUMBER
from spcastat.config import listed, nearest, one_line
from spcastat.errors import FormulaError

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


#: Largest number of terms, including repeated ones, and of columns, in addition to those of the data.
MOST_TERMS = 100_000
#: Largest exponent of numbers, and of sets of terms as in ``(a + b)**2``: larger powers take too long.
LARGEST_EXPONENT = 100

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_NUMBER = re.compile(r"[0-9.]{1,20}")
_WORD = re.compile(r"_[ne]([0-9]+)_")
#: A numeral in backticks, which formulaic would read as the intercept; see `formula_name`.
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
        :class:`spcastat.reading.terms.Closed`, only expressions in the restricted
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


# --- the safe language ----------------------------------------------------------------------------


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
                f"formula={shortened(formula)} holds {problem}. Allowed are names of columns, "
                f"numbers, operators, {listed(TRANSFORMS, 40)} and NumPy functions such as np.log1p; "
                "names with signs or spaces go in backticks. Use Python for others."
            )


def problem_of(
    expression: str | Expression,
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
            expression = read_expression(text)
        except ExpressionError as error:
            return f"{shortened(text, 120)}, which cannot be read: {one_line(str(error), 300)}"
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
    expression: Expression, columns: Collection[str], strings: bool, context: Mapping[str, Any]
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
                yield f"the name {shortened(name, 120)}, which is not a column{near}"
        elif isinstance(node, ast.Constant):
            allowed = (bool, int, float, type(None), str) if strings else (bool, int, float, type(None))
            if not isinstance(node.value, allowed) or (isinstance(node.value, str) and "`" in node.value):
                yield f"the text or value {cut(ast.unparse(node))}"
            elif not _moderate(node.value):
                yield f"the value {cut(ast.unparse(node))}; {_BOUND}"
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


def _call_problems(expression: Expression, node: ast.Call, context: Mapping[str, Any]) -> Iterator[str]:
    name = called_name(expression, node.func)
    starred = next((arg for arg in node.args if isinstance(arg, ast.Starred)), None)
    root = (name or "").partition(".")[0]
    meant = np if root == "np" else getattr(np, root, None)
    fewest, most = NUMPY.get((name or "").removeprefix("np."), (0, math.inf))
    if name is None or context.get(root, meant) is not meant:  # the user may give the name another meaning
        text = cut(expression.show(node.func))
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


def called_name(expression: Expression, function: ast.expr) -> str | None:
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


def _shown(expression: Expression, node: ast.AST) -> str:
    return shortened(expression.show(node), 120)


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
