"""Check the types of documented calls with pyright and mypy.

``python tests/typing/check.py`` needs the extra ``dev``. It checks that

- `right.py`, and the Python code of README.md and of the vignettes, have no error,
- every line of `wrong.py` that ends in ``# wrong`` has an error, and no other line has one.

Code cells that are tagged ``raises-exception`` show errors on purpose and are left out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: First lines of the file of a page: some cells use names that the text around them describes.
PRELUDE = (
    "# pyright: reportUndefinedVariable=false, reportOptionalMemberAccess=false, reportMissingImports=false",
    "import numpy as np; import pandas as pd; import spcastat as sp; df = sp.datasets.pitprops_sample()",
)
#: Errors of pages that are due to the types of other libraries.
OTHERS = re.compile(
    r"""RcKeyType|rc_context  # matplotlib: a dictionary of settings is dict[str, ...] to a checker
    | csr_array  # scipy: products of sparse and dense arrays
    | Pipeline  # scikit-learn: steps of a pipeline have no types
    | from_spmatrix  # pandas: DataFrame.sparse
    | "abs"  # sum() of frames may be the number 0
    | "arrow"  # a loop variable of two types""",
    re.VERBOSE,
)
#: A line of an error of mypy: file, line and message.
MYPY_ERROR = re.compile(r"^(?P<file>.+?):(?P<line>\d+): error: (?P<message>.*)$")
#: File and line of an error -> its messages.
Errors = dict[tuple[str, int], list[str]]


def code_of(text: str) -> str:
    """Return the Python code of a Markdown file on the lines where it is in the file, after PRELUDE."""
    lines: list[str] = []
    block: list[str] = []
    fence = ""
    for line in text.splitlines():
        if line.startswith("```") and not fence:
            fence = line
            lines.append("")
        elif line.startswith("```"):
            wanted = fence.removeprefix("```").startswith(("python", "{code-cell} python"))
            shown = wanted and not any("raises-exception" in one for one in block if one.startswith(":tags:"))
            lines += [one if shown and not re.match(r":\w[\w-]*:", one) else "" for one in block]
            lines.append("")
            fence, block = "", []
        elif fence:
            block.append(line)
        else:
            lines.append("")
    return "\n".join([*PRELUDE, *lines[2:]]) + "\n"


def is_page(name: str) -> bool:
    """Whether the file with this name has the code of a page."""
    return name.startswith("page_")


def by_pyright(folder: Path) -> Errors:
    """Return the errors that pyright finds in the files of a folder."""
    settings = {"include": ["."], "extraPaths": [str(ROOT)], "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(folder)]
    command += ["--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.lstrip().startswith("{"):
        raise RuntimeError(f"pyright did not run:\n{done.stdout}{done.stderr}")
    found: Errors = {}
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            place = Path(one["file"]).name, one["range"]["start"]["line"] + 1
            found.setdefault(place, []).append(one["message"].splitlines()[0])
    return found


def by_mypy(folder: Path) -> Errors:
    """Return the errors that mypy finds in the files of a folder, each of which is checked by itself."""
    found: Errors = {}
    options = ["--follow-imports=silent", "--ignore-missing-imports", "--allow-redefinition"]
    options += ["--no-error-summary", "--check-untyped-defs", "--config-file="]
    options += [f"--cache-dir={folder / 'cache'}"]
    undefined = ["--disable-error-code=name-defined", "--disable-error-code=used-before-def"]
    undefined += ["--disable-error-code=has-type", "--disable-error-code=union-attr"]
    for path in sorted(folder.glob("*.py")):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *options, *(undefined if is_page(path.name) else ()), path.name],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "MYPYPATH": str(ROOT)},
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"mypy did not run:\n{done.stdout}{done.stderr}")
        for line in done.stdout.splitlines():
            if error := MYPY_ERROR.match(line):
                place = Path(error["file"]).name, int(error["line"])
                found.setdefault(place, []).append(error["message"])
    return found


def faults(checker: str, found: Errors) -> list[str]:
    """Return what a checker should not have reported, and what it has missed, as lines of text."""
    lines = (HERE / "wrong.py").read_text(encoding="utf-8").splitlines()
    wrong = {("wrong.py", number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    unexpected = [
        f"{checker}: {name}:{number}: {message}"
        for (name, number), messages in sorted(found.items())
        if (name, number) not in wrong
        for message in messages
        if not (is_page(name) and OTHERS.search(message))
    ]
    missed = [
        f"{checker}: {name}:{number}: no error in {lines[number - 1]}"
        for name, number in sorted(wrong - set(found))
    ]
    return unexpected + missed


def write_files(folder: Path) -> None:
    """Write the files to check: right.py, wrong.py, and one for each page with code."""
    for name in ("right.py", "wrong.py"):
        (folder / name).write_text((HERE / name).read_text(encoding="utf-8"), encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "vignettes").glob("*.md"))]:
        name = f"page_{path.stem.replace('-', '_')}.py"
        (folder / name).write_text(code_of(path.read_text(encoding="utf-8")), encoding="utf-8")


def checked() -> list[str]:
    """Return the faults that both checkers find."""
    checkers: dict[str, Callable[[Path], Errors]] = {"pyright": by_pyright, "mypy": by_mypy}
    found: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_files(folder)
        for checker, check in checkers.items():
            found += faults(checker, check(folder))
    return found


if __name__ == "__main__":
    lines = checked()
    print("\n".join(lines) or "right.py, wrong.py and all pages are as they should be")
    sys.exit(bool(lines))
