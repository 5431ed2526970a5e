"""Names are nouns of the field, classes and constants have one place, imports keep names: limits fall."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "spcastat"
PATHS = sorted(PACKAGE.rglob("*.py"))

#: Pronouns, determiners and adverbs; adjectives and participles that leave out their noun. Words of the field
#: that look like them are allowed: mean, residual, signed, centred, fixed, free.
NO_NOUNS = frozenset(
    """
    one ones other others some any every each all both most more many few fewest least less own same
    such rest whole left further here there before after again now then alone together apart near
    elsewhere found given known kept made drawn asked wanted told taken entered opened described chosen
    tried turned held seen done needed allowed joined moved picked built begun ended computed expected
    stored restored rewritten written shown said cut reached passed named added checked noted noticed
    replaced repeated ready open large small big best better worst new old last next first second
    possible sure exact enough this that these those what which who how why where within inside outside
    beyond above below across
    """.split()  # noqa: SIM905
)
#: Options that users write keep their names.
OPTIONS = frozenset({"new", "given", "together", "exact"})
#: Two of these may be parameters of one function, as old and new.
PAIRS = frozenset({"first", "second", "old", "new", "left", "right", "one", "other"})

#: How many bindings of each package are no nouns, at most. Lower a number when you have renamed some.
LIMITS = {
    "hints": 6,
    "assess": 15,
    "choosing": 29,
    "cli": 2,
    "arguments": 4,
    "fit": 29,
    "inputs": 2,
    "linalg": 9,
    "plots": 44,
    "progress": 4,
    "proofs": 1,
    "reading": 11,
    "results": 12,
    "search": 1,
    "show": 1,
    "sklearn": 9,
    "solvers": 4,
    "streams": 13,
}
#: Names of classes and of constants that two or more files define, and imports under another name, at most.
CLASSES_TWICE, CONSTANTS_TWICE, RENAMED_IMPORTS = 0, 0, 9


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the names of the parameters of a function that must be nouns."""
    arguments = function.args
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    pair = [name for name in names if name in PAIRS]
    for name in names:
        if name not in OPTIONS and not (len(pair) == 2 and name in pair):
            yield name


def bindings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every name that a module binds, with its line: variables, parameters, functions, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
            yield from ((name, node.lineno) for name in parameters_of(node))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, node.lineno


def no_nouns(tree: ast.Module) -> list[tuple[str, int]]:
    """The bindings of a module that are no nouns, with their lines."""
    return [(name, line) for name, line in bindings(tree) if is_no_noun(name)]


def is_no_noun(name: str) -> bool:
    return name.strip("_").lower() in NO_NOUNS and not name.startswith("__")


def classes(tree: ast.Module) -> set[str]:
    """The names of the classes of a module, without the underscore of private ones."""
    return {node.name.lstrip("_") for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def constants(tree: ast.Module) -> set[str]:
    """The names of the constants of a module, without underscores."""
    names = {
        node.id
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return {name.lstrip("_") for name in names if name.strip("_").isupper()}


def renamed_imports(tree: ast.Module) -> list[str]:
    """The package's own names that a module imports under other names."""
    return [
        f"{alias.name} as {alias.asname}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spcastat")
        for alias in node.names
        if alias.asname not in (None, alias.name)
    ]


def places(name_sets: dict[Path, set[str]]) -> dict[str, list[str]]:
    """The names that two or more files have, with these files."""
    files = defaultdict(list)
    for path, names in name_sets.items():
        for name in names:
            files[name].append(path.relative_to(PACKAGE).as_posix())
    return {name: paths for name, paths in sorted(files.items()) if len(paths) > 1}


def unit_of(path: Path) -> str:
    """The package of a file, or the file itself."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """The syntax trees of all modules, for the tests of this file only: they slow down Python's collector."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}


@pytest.mark.parametrize("unit", sorted({unit_of(path) for path in PATHS}))
def test_names_are_nouns(trees, unit):
    faults = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path, tree in trees.items()
        if unit_of(path) == unit
        for name, line in no_nouns(tree)
    ]
    limit = LIMITS.get(unit, 0)
    assert len(faults) <= limit, "say what is meant, as in residual, draws, best_fit:\n" + "\n".join(faults)


def test_classes_and_constants_have_one_place_and_imports_keep_names(trees):
    named_twice = places({path: classes(tree) for path, tree in trees.items()})
    constants_twice = places({path: constants(tree) for path, tree in trees.items()})
    imports = [text for tree in trees.values() for text in renamed_imports(tree)]
    assert len(named_twice) <= CLASSES_TWICE, named_twice
    assert len(constants_twice) <= CONSTANTS_TWICE, constants_twice
    assert len(imports) <= RENAMED_IMPORTS, imports


def test_the_rule_finds_what_it_is_meant_to_find():
    source = """
from spcastat.arguments import shown as quoted
LARGEST = _MOST = 3
class _Column:
    def kept(self, what, old, new, k, mean):
        best, (residual, left) = k, what
        self.chosen = [one for one in residual if (found := one)]
        try:
            pass
        except ValueError as why:
            pass
    def scored(self, first, given, *, together=None): ...
"""
    tree = ast.parse(source)
    expected_names = "_MOST kept what best left chosen one found why first".split()  # noqa: SIM905
    assert Counter(name for name, _ in no_nouns(tree)) == Counter(expected_names)
    assert classes(tree) == {"Column"}
    assert constants(tree) == {"LARGEST", "MOST"}
    assert renamed_imports(tree) == ["shown as quoted"]
    trees = {PACKAGE / "a.py": {"Column", "Row"}, PACKAGE / "b.py": {"Column"}}
    assert places(trees) == {"Column": ["a.py", "b.py"]}
