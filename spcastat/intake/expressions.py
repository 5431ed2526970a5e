"""Python expressions inside formulas, read once: what is checked, named and evaluated is this one tree."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

#: Characters of the longest expression.
LONGEST = 100_000
#: Levels of brackets and operators; sums and products of many parts count as one.
DEEPEST = 100

_NUMERAL = re.compile(r"[0-9.]+")


class ExpressionError(Exception):
    """Text that is not an expression; the message says why and ends without a full stop."""


@dataclass(frozen=True, eq=False)
class Expression:
    """An expression, taken apart.

    Attributes
    ----------
    text : str
        Written anew from the tree, so that equal expressions have equal texts. Names that are not words of
        Python stand in backticks.
    tree : ast.expr
        In which each name in backticks is a word made up for it.
    quoted : mapping from str to str
        The names in backticks by those words.
    odd : str or None
        A line break or another character that cannot be seen, where one was left outside the backticks.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]
    odd: str | None = None

    def name(self, node: ast.Name) -> str:
        """Return the name that a node stands for."""
        return self.quoted.get(node.id, node.id)

    def show(self, node: ast.AST) -> str:
        """Write a part of the tree as in `text`."""
        return _written(node, self.quoted)


def read_expression(text: str) -> Expression:
    """Read one Python expression in which text in backticks is a name.

    Quotes and backticks are taken from left to right: whichever opens first hides the other until it is
    closed. Comments are refused, since what follows them would depend on line breaks.

    Raises
    ------
    ExpressionError
        If it is not one expression, too long, or nested too deeply.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters; allowed are {LONGEST}")
    stem = "_name"
    while stem in text:
        stem += "_"
    parts: list[str] = []
    quoted: dict[str, str] = {}
    odd = None
    for kind, part in _pieces(text):
        if kind == "name":
            plain = part.isidentifier() and not keyword.iskeyword(part)
            word = part if plain else f"{stem}{len(quoted)}_"
            if not plain:
                quoted[word] = f"column {part}" if _NUMERAL.fullmatch(part) else part
            parts.append(f" {word} ")
        elif kind == "odd":
            odd = part
            parts.append(" ")
        else:
            parts.append(part)
    try:
        tree = ast.parse("".join(parts).strip(), mode="eval").body
        if any(isinstance(node, ast.Constant) and stem in str(node.value) for node in ast.walk(tree)):
            raise ExpressionError("it spells a name by its codes")
        written = _written(tree, quoted)
    except SyntaxError as error:
        raise ExpressionError(error.msg) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("it is nested too deeply") from None
    except ValueError as error:  # a null character, a number of thousands of digits
        raise ExpressionError(str(error)) from None
    return Expression(written, tree, quoted, odd)


def shortened(text: str, length: int = 300) -> str:
    """Return text in quotes, its middle left out where it is long."""
    return repr(cut(text, length))


def cut(text: str, length: int = 100) -> str:
    """Leave out the middle of text that is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 40]} ... {text[-30:]}"


def parts_of(chain: ast.BinOp) -> tuple[ast.expr, list[ast.BinOp]]:
    """Return where a chain such as ``a + b + c`` starts, and its steps in the order of their evaluation."""
    steps = []
    first: ast.expr = chain
    while isinstance(first, ast.BinOp):
        steps.append(first)
        first = first.left
    return first, steps[::-1]


def depth_of(tree: ast.expr) -> int:
    """Return the levels of a tree, up to one more than DEEPEST; a chain of operators counts as one."""
    deepest = 0
    waiting: list[tuple[ast.AST, int]] = [(tree, 1)]
    while waiting and deepest <= DEEPEST:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(node, ast.BinOp):
            first, steps = parts_of(node)
            below: list[ast.AST] = [first, *(step.right for step in steps)]
        else:
            below = list(ast.iter_child_nodes(node))
        waiting += [(child, level + 1) for child in below]
    return deepest


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Cut an expression into names in backticks, text in quotes, characters that are not seen, and code."""
    at = 0
    while at < len(text):
        sign = text[at]
        if sign in "'\"`":
            end = _end(text, at)
            yield ("name", text[at + 1 : end]) if sign == "`" else ("text", text[at : end + 1])
            at = end + 1
        elif sign == "#":
            raise ExpressionError("it holds a comment, '#'")
        elif not sign.isprintable():
            yield "odd", sign
            at += 1
        else:
            start = at
            while at < len(text) and text[at] not in "'\"`#" and text[at].isprintable():
                at += 1
            yield "code", text[start:at]


def _end(text: str, start: int) -> int:
    """Return where what opens at `start` closes."""
    at = start + 1
    while at < len(text):
        if text[at] == text[start]:
            if text[start] == "`" and at == start + 1:
                raise ExpressionError("there is no name between the backticks")
            return at
        at += 2 if text[at] == "\\" and text[start] != "`" else 1
    raise ExpressionError(f"the {text[start]} is not closed")


def _written(node: ast.AST, quoted: Mapping[str, str]) -> str:
    text = ast.unparse(node).replace("\n", " ")
    if not quoted:
        return text
    words = re.compile("|".join(re.escape(word) for word in quoted))
    return words.sub(lambda match: f"`{quoted[match[0]]}`", text)
