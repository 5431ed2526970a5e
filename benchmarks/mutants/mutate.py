"""The ways in which a line is broken, found in the syntax tree and written back into the source."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
#: Functions of two arguments that may change places; Python's own take more of them.
SYMMETRIC = {"maximum", "minimum", "max", "min", "hypot", "multiply", "array_equal", "allclose", "union1d"}
#: Functions that make messages, which nothing computes with.
WORDS = {"one_line", "shown", "shortened", "listed", "plural", "short_name", "warn", "stage"}
#: One more in a whole number of this size or above, a bound of memory or of steps, changes no result.
LARGE = 100
#: Numbers below this are tolerances.
TINY = 1e-5


@dataclass(frozen=True)
class Mutant:
    """One broken line.

    Attributes
    ----------
    file : str
        Inside the package.
    line : int
    column : int
        Behind the indentation.
    text : str
        The line itself, without its indentation, and ``#2``, ``#3`` where the file had it before.
    kind : str
    bodies : tuple of (int, int)
        First and last line of the bodies of the functions around it, the outermost first. The line may
        stand before the innermost one: defaults belong to the function.
    old, new : str
        The piece of the source, and what stands for it.
    start, end : int
        Where the piece lies in the source.
    idle : bool
        Whether it is seen at once that no result can change; such mutants are not drawn.
    """

    file: str
    line: int
    column: int
    text: str
    kind: str
    bodies: tuple[tuple[int, int], ...]
    old: str
    new: str
    start: int
    end: int
    idle: bool

    @property
    def key(self) -> str:
        """What names it among all and between runs, lines above it added or gone."""
        return f"{self.file} | {self.text} | {self.kind} at {self.column}, {len(self.old)} wide"

    def applied(self, source: str) -> str:
        """Return the source with the piece replaced."""
        return source[: self.start] + self.new + source[self.end :]

    def valid(self, source: str) -> bool:
        """Whether what comes out can be read: there are places where no parenthesis may stand."""
        try:
            ast.parse(self.applied(source))
        except SyntaxError:
            return False
        return True


def mutants_of(path: Path, name: str) -> list[Mutant]:
    """Return every mutant of a file that is called `name`; a few of them are not valid."""
    source = path.read_text(encoding="utf-8")
    starts = [0]
    for text in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    raw = source.splitlines(keepends=True)
    texts = _told_apart(raw)

    def place(line: int, column: int) -> int:
        """Offsets of the tree count bytes."""
        return starts[line - 1] + len(raw[line - 1].encode()[:column].decode())

    found = []
    for node, kind, new, bodies, idle in _sites(ast.parse(source)):
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or 0, node.end_col_offset or 0)
        text = new if isinstance(new, str) else f"({ast.unparse(new)})"
        if isinstance(new, ast.Constant):
            text = ast.unparse(new)
        line = texts[node.lineno - 1]
        column = node.col_offset - raw[node.lineno - 1].find(raw[node.lineno - 1].strip())
        where = name, node.lineno, column, line
        found.append(Mutant(*where, kind, bodies, source[start:end], text, start, end, idle))
    return found


def _told_apart(raw: list[str]) -> list[str]:
    """Return lines without indentation, numbered from the second on where one is as it was before."""
    seen: Counter[str] = Counter()
    texts = []
    for line in map(str.strip, raw):
        seen[line] += 1
        texts.append(line if seen[line] == 1 else f"{line} #{seen[line]}")
    return texts


def _sites(
    tree: ast.Module,
) -> Iterator[tuple[ast.expr | ast.stmt, str, ast.AST | str, tuple[tuple[int, int], ...], bool]]:
    """Yield (node, kind of mutation, what stands for the node, bodies around it, whether it is idle)."""

    def walk(node: ast.AST, bodies: tuple[tuple[int, int], ...], words: bool) -> Iterator[tuple]:
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
            return  # messages, and what holds for the type checker
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            bodies = (*bodies, (body[0].lineno, body[-1].end_lineno or body[-1].lineno))
        words = words or (isinstance(node, ast.Call) and _called(node) in WORDS)
        words = words or (isinstance(node, ast.keyword) and node.arg == "strict")  # zip of equal lengths
        if isinstance(node, (ast.expr, ast.stmt)):
            for kind, new in _changes(node):
                yield node, kind, new, bodies, words or _is_idle(node, kind)
            if isinstance(node, (ast.If, ast.While)):
                yield node.test, "condition", ast.UnaryOp(ast.Not(), node.test), bodies, words
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, bodies, words)

    yield from walk(tree, (), False)


def _other(value: float) -> float:
    """Return another number; twice a tolerance is as good as the tolerance."""
    if value == 0.0:
        return 1.0
    return value * (1e6 if abs(value) < TINY else 2.0)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_idle(node: ast.AST, kind: str) -> bool:
    if kind == "arguments":
        assert isinstance(node, ast.Call)
        alike = ast.dump(node.args[0]) == ast.dump(node.args[1])
        several = len(node.args) > 2 and _called(node) not in ("max", "min")
        return alike or (_called(node) in SYMMETRIC and not several)
    if kind == "constant" and isinstance(node, ast.Constant):
        return type(node.value) is int and node.value >= LARGE
    return False


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, ast.AST | str]]:
    def changed(**fields: object) -> ast.AST:
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind = type(node.ops[0])
        if kind in NEGATED:
            yield "comparison negated", changed(ops=[NEGATED[kind]()])
        if kind in BOUNDARY:
            yield "boundary", changed(ops=[BOUNDARY[kind]()])
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield "operator", changed(op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield "and/or", changed(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield "sign", node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "constant", ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield "constant", ast.Constant(node.value + 1)
        elif isinstance(node.value, float):
            yield "constant", ast.Constant(_other(node.value))
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        yield "index", changed(slice=ast.BinOp(node.slice, ast.Sub(), ast.Constant(1)))
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.upper:
        shifted = ast.BinOp(node.slice.upper, ast.Sub(), ast.Constant(1))
        yield "index", changed(slice=ast.Slice(node.slice.lower, shifted, node.slice.step))
    elif isinstance(node, ast.Call) and len(node.args) >= 2:
        if not any(isinstance(one, ast.Starred) for one in node.args[:2]):
            yield "arguments", changed(args=[node.args[1], node.args[0], *node.args[2:]])
    elif isinstance(node, ast.IfExp):
        yield "condition", changed(test=ast.UnaryOp(ast.Not(), node.test))
    elif (
        isinstance(node, ast.AugAssign)
        or (isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Subscript, ast.Attribute)))
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    ):
        yield "statement dropped", "pass"
