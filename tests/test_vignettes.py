"""The vignettes: every cell runs with the plain dependencies, and shows what the text says of it."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import pytest

VIGNETTES = sorted((Path(__file__).resolve().parents[1] / "vignettes").glob("*.md"))


class Piece(NamedTuple):
    """A stretch of a file: a cell to run, or text; `line` is the number of its first line."""

    line: int
    source: str
    cell: bool
    raises: bool


def pieces_of(text: str) -> Iterator[Piece]:
    """Cut MyST Markdown into code cells and the text between them; other code blocks are neither."""
    lines: list[str] = []
    start, fence = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            cell = fence.startswith("```{code-cell}")
            if cell or not fence:
                yield Piece(start, "\n".join(lines), cell, _raises(lines))
            fence = "" if fence else line
            lines, start = [], number + 1
        else:
            lines.append(line)
    assert not fence, f"the block that opens as {fence!r} in line {start - 1} is never closed"
    yield Piece(start, "\n".join(lines), False, False)


def _raises(lines: list[str]) -> bool:
    return any(line.startswith(":tags:") and "raises-exception" in line for line in lines)


def run(piece: Piece, path: Path, names: dict[str, Any]) -> str:
    """Run a cell as a notebook does, and return what it shows: what it prints, and its last expression."""
    source = re.sub(r"(?m)^:\w+:.*$", "", piece.source)
    tree = ast.parse("\n" * (piece.line - 1) + source, str(path))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(tree, str(path), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)
            if value is not None:
                getattr(value, "_repr_html_", str)()
                print(repr(value))
    return shown.getvalue()


def place(error: BaseException, path: Path) -> str:
    """Return file:line of the innermost line of `path` in a traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = frames[-1].lineno if frames else getattr(error, "lineno", "?")
    return f"{path.name}:{line}"


def read_through(path: Path) -> None:
    """Run the cells of a file in turn and look for the figures of the text in what they have shown."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = ""
    for piece in pieces_of(path.read_text(encoding="utf-8")):
        if not piece.cell:
            prose = re.sub(r"`[^`]*`", "", piece.source)
            missing = [figure for figure in re.findall(r"(?<![\w.])\d+\.\d+\b", prose) if figure not in shown]
            assert not missing, f"{path.name}:{piece.line}: no cell above shows {', '.join(missing)}"
            continue
        try:
            shown += run(piece, path, names)
        except Exception as error:
            if not piece.raises:
                raise AssertionError(f"{place(error, path)}: {type(error).__name__}: {error}") from error
            shown += f"{type(error).__name__}: {error}\n"
        else:
            assert not piece.raises, f"{path.name}:{piece.line}: the cell was to raise an error and did not"


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A folder of one's own, no windows, and frames shown whole."""
    monkeypatch.chdir(tmp_path)
    with (
        matplotlib.rc_context({"backend": "Agg"}),
        pd.option_context("display.max_columns", None, "display.width", 200, "display.max_colwidth", None),
    ):
        yield
    plt.close("all")


def test_the_readme_counts_and_lists_all_pages():
    assert [path.name[:2] for path in VIGNETTES] == [f"{1 + j:02}" for j in range(len(VIGNETTES))]
    readme = (VIGNETTES[0].parents[1] / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^(\d+)\. \[.*\]\(vignettes/(.*)\)$", readme)
    assert listed == [(str(int(path.name[:2])), path.name) for path in VIGNETTES]
    assert len(VIGNETTES) == 16
    assert "Sixteen short pages" in readme


#: Those that take seconds: with the slow tests.
LONG = (
    "01-getting-started",
    "02-how-sparse",
    "03-explained-variance",
    "05-nonnegative-and-coordinates",
    "07-into-a-report",
    "08-wide-data",
    "09-coming-from-r",
    "10-larger-than-memory",
    "12-choosing",
    "13-figures-for-a-paper",
)
CASES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in LONG else [])
    for path in VIGNETTES
]


@pytest.mark.parametrize("path", CASES)
def test_vignette(path, notebook):
    read_through(path)


@pytest.mark.parametrize("library", ["seaborn", "plotnine"])
def test_figures_through_other_libraries(library, notebook, tmp_path):
    """Their blocks in the vignette on figures are no cells: they run where the library is installed."""
    pytest.importorskip(library)
    path = VIGNETTES[12]
    text = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    for piece in pieces_of(text):
        if piece.cell:
            run(piece, path, names)
    _, section = text.split(f"## Through {library}\n")
    blocks = re.findall(r"```python\n(.*?)```", section.split("\n## ")[0], flags=re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # those of others are not ours to mend
        for block in blocks:
            exec(compile(block, str(path), "exec"), names)
    saved = re.findall(r'save(?:fig)?\("(.*?)"', "".join(blocks))
    assert saved
    for name in saved:
        assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one\n\n```{code-cell} python\nx = 1\n\nx / 0\n```\n", r"v\.md:6: ZeroDivisionError"),
        ("```{code-cell} python\nx = (\n```\n", r"v\.md:2: SyntaxError"),
        ("```{code-cell} python\n:tags: [raises-exception]\n\nx = 1\n```\n", r"v\.md:2: .* was to raise"),
        ("```{code-cell} python\n0.5\n```\n`0.7` and 0.25\n", r"v\.md:4: no cell above shows 0\.25"),
        (
            "```{code-cell} python\nimport warnings\nwarnings.warn('no', stacklevel=1)\n```\n",
            r"v\.md:3: UserW",
        ),
    ],
    ids=["error", "syntax", "no error", "figure", "warning"],
)
def test_the_runner_says_where(tmp_path, text, message):
    path = tmp_path / "v.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match=message):
        read_through(path)
