"""Shared functions of the benchmarks: the command line, tables, pages of results, time, stored runs."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

RESULTS = Path(__file__).with_name("results")
#: The list of the pages of results.
INDEX = Path(__file__).with_name("RESULTS.md")
#: The papers whose tables are remade, by the names of their pages.
PAPERS = ("zhao2015", "dou2011", "he2010", "zhao2014")
#: The name of a section up to its first hyphen -> its page; RESULTS.md is the index of the pages.
PAGES = {
    **{paper: f"papers-{paper}" for paper in PAPERS},
    **{name: name for name in ("quality", "proofs", "peers", "constraints", "trust", "speed", "steering")},
}
#: Sections that are not on the page of the other sections of their command.
ELSEWHERE = {
    **{f"papers-{paper}": f"papers-{paper}" for paper in PAPERS},
    **{f"quality-{name}": "default-search" for name in ("defaults", "large")},
    **{f"quality-loadings-{name}": "loadings" for name in ("known", "planted")},
    "trust-groups": "groups",
    **{f"trust-robust{name}": "robust" for name in ("", "-loss", "-real", "-k", "-intervals", "-inputs")},
    **{f"speed-{name}": "scale" for name in ("cluster-dense", "cluster-sparse", "limits")},
}
PACKAGES = ("spcastat", "numpy", "scipy", "pandas", "statsmodels")


def stamp(packages: Sequence[str] = PACKAGES) -> str:
    """Return the date, the versions and the number of processors in one line."""
    found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    today = datetime.date.today().isoformat()
    return f"{today}; Python {platform.python_version()}, {found}; {os.cpu_count()} processors."


def command_line(name: str, about: str | None, tables: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser of ``python -m benchmarks.name``, to which a benchmark adds further options."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    parser.add_argument(
        "tables", nargs="*", metavar="table", help=f"any of {', '.join(tables)}; all by default"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/results/")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the real data")
    return parser


def read_arguments(
    parser: argparse.ArgumentParser, tables: Collection[str], arguments: Sequence[str] | None
) -> argparse.Namespace:
    """Read a command line; an invalid one ends the program with the reason."""
    given = parser.parse_args(arguments)
    unknown = [name for name in given.tables if name not in tables]
    if unknown:
        parser.error(f"unknown table {', '.join(unknown)}; there are {', '.join(tables)}")
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data {given.data}: there is no such folder")
    return given


def run_tables(
    command: str,
    given: argparse.Namespace,
    tables: Mapping[str, Callable[[Any], Table]],
    call: Any,
    note: str = "",
    packages: Sequence[str] = PACKAGES,
) -> None:
    """Make and print tables, and write each into its section if ``--write`` is given.

    Parameters
    ----------
    command : str
        The name of the benchmark; the section of a table is ``command-table``.
    given : Namespace
        From `read_arguments`.
    tables : mapping
        Name of a table -> function of `call` that makes it.
    call : object
    note : str
        Text after the command in the last note of every table.
    packages : sequence of str
        Packages whose versions are stated.
    """
    options = [f" --{name}" for name in ("full", "small") if getattr(given, name, False)]
    options += [" --data DIR"] if given.data is not None else []
    threads = getattr(given, "threads", None)
    options += [f" --threads {threads}"] if threads is not None else []
    for name in given.tables or tables:
        table = tables[name](call)
        table.notes.append(
            f"`python -m benchmarks.{command} {name}{''.join(options)}`{note}. {stamp(packages)}"
        )
        print(f"\n{table.show(False)}", flush=True)
        if given.write:
            write_section(f"{command}-{name}", table.show(True))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a call and its CPU seconds, summed over all threads."""
    begun = time.process_time()
    return work(), time.process_time() - begun


def mean_and_error(values: Iterable[float], digits: int = 3) -> str:
    """Return a mean with its standard error, as in "0.880 (0.032)"; NaN are left out, "-" if all are NaN."""
    kept = np.asarray([value for value in values if not np.isnan(value)], dtype=float)
    if not len(kept):
        return "-"
    error = kept.std(ddof=1) / np.sqrt(len(kept)) if len(kept) > 1 else np.nan
    return f"{kept.mean():.{digits}f} ({error:.{digits}f})"


def stored_lines(file: Path | None) -> list[Any]:
    """Return the values in a JSON lines file, one for each line; none if there is no file."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def store_line(file: Path | None, value: Any) -> None:
    """Append a value to a JSON lines file, if there is one."""
    if file is not None:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(value) + "\n")


def page_of(section: str) -> Path:
    """Return the page of a section; raise KeyError for a section without a page."""
    page = ELSEWHERE.get(section) or PAGES[section.partition("-")[0]]
    return RESULTS / f"{page}.md"


def section_of(name: str, page_text: str | None = None) -> str:
    """Return the text between the markers of section `name`.

    Parameters
    ----------
    name : str
    page_text : str, optional
        The text of the page; by default, of the page from `page_of`.

    Raises
    ------
    IndexError
        If the page has no such section.
    """
    text = page_of(name).read_text(encoding="utf-8") if page_text is None else page_text
    return text.split(f"<!-- {name}:begin -->", 1)[1].split(f"<!-- {name}:end -->", 1)[0]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the exponent of time in size: the slope of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def write_section(name: str, body: str, path: Path | None = None) -> None:
    """Put `body` between the markers of section `name`; other sections do not change.

    Parameters
    ----------
    name : str
    body : str
        Markdown.
    path : Path, optional
        The page; by default, the page from `page_of`.
    """
    path = page_of(name) if path is None else path
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    section = f"{begin}\n{body.strip()}\n{end}"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin in old and end in old:
        before, rest = old.split(begin, 1)
        new = before + section + rest.split(end, 1)[1]
    else:
        new = f"{old.rstrip()}\n\n{section}\n".lstrip()
    path.write_text(new, encoding="utf-8")


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in columns; the first is flush left, the others flush right."""
    grid = [list(head), *map(list, rows)]
    width = [max(len(row[j]) for row in grid) for j in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(w) if j == 0 else cell.rjust(w)
            for j, (cell, w) in enumerate(zip(row, width, strict=True))
        )
        for row in grid
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; the first column is flush left, the others flush right."""
    grid = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    first, *others = [f"| {' | '.join(row)} |" for row in grid]
    return "\n".join([first, "| --- |" + " ---: |" * (len(head) - 1), *others])


@dataclass
class Table:
    """A title, cells as text, and notes."""

    title: str
    head: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def show(self, markdown: bool) -> str:
        """Return the table as text or as Markdown."""
        parts = [f"### {self.title}" if markdown else self.title]
        if self.rows:
            parts.append((markdown_table if markdown else text_table)(self.head, self.rows))
        if self.notes:
            parts.append("\n".join(f"{'-' if markdown else '*'} {note}" for note in self.notes))
        return "\n\n".join(parts)
