"""Shared functions of the benchmarks: the command line, tables, and pages of results."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

RESULTS = Path(__file__).with_name("results")
#: The papers whose tables are remade, by the names of their pages.
PAPERS = ("zhao2015", "dou2011", "he2010", "zhao2014")
#: Page of results -> the names of its sections, or how they begin; RESULTS.md is the index of the pages.
PAGES = {
    **{f"papers-{paper}": (f"papers-{paper}", f"{paper}-") for paper in PAPERS},
    "default-search": ("defaults", "large", "wide", "planted"),
    "quality": ("quality", "sparsest", "structure"),
    "proofs": ("joint-proofs",),
    "trust": ("trust-",),
    "speed": ("speed", "repeats"),
    "scale": ("scale", "scale-limits"),
    "peers": ("peers",),
    "loadings": ("loadings",),
    "groups": ("groups",),
}


def stamp(packages: Sequence[str] = ("spcastat", "numpy", "scipy", "pandas", "statsmodels")) -> str:
    """Return the date, the versions and the number of processors in one line."""
    found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    today = datetime.date.today().isoformat()
    return f"{today}; Python {platform.python_version()}, {found}; {os.cpu_count()} processors."


def command_line(name: str, about: str | None, tables: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser of ``python -m benchmarks.name``, to which a benchmark adds its own options."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    parser.add_argument(
        "tables", nargs="*", metavar="table", help=f"any of {', '.join(tables)}; all by default"
    )
    parser.add_argument("--write", action="store_true", help="put all tables into benchmarks/results/")
    return parser


def add_data(parser: argparse.ArgumentParser, full: str) -> None:
    """Add ``--data`` and ``--full``, which is explained by `full`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the real data")
    parser.add_argument("--full", action="store_true", help=full)


def read_arguments(
    parser: argparse.ArgumentParser,
    tables: Collection[str],
    arguments: Sequence[str] | None,
    apart: bool = False,
) -> argparse.Namespace:
    """Read a command line; one that cannot be carried out ends the program with the reason.

    With `apart` every table is a section of its own, so that some can be written without the others.
    """
    given = parser.parse_args(arguments)
    unknown = [name for name in given.tables if name not in tables]
    if unknown:
        parser.error(f"unknown table {', '.join(unknown)}; there are {', '.join(tables)}")
    if given.write and given.tables and not apart:
        parser.error("--write replaces the whole section; leave the names of tables out")
    folder = getattr(given, "data", None)
    if folder is not None and not folder.is_dir():
        parser.error(f"--data {folder}: there is no such folder")
    return given


def run_tables(
    name: str,
    given: argparse.Namespace,
    tables: Mapping[str, Callable[[Any], T]],
    call: Any,
    body: list[str],
    show: Callable[[T, bool], str],
) -> None:
    """Make tables and print each when it is done, then write the section where that is asked for.

    Parameters
    ----------
    name : str
        Of the section.
    given : Namespace
        From `read_arguments`.
    tables : mapping
        Name of a table to the function that makes it of `call`.
    call : object
    body : list of str
        What stands above the tables in the section.
    show : callable
        A table, and whether it goes into the section (or is printed) -> text.
    """
    start = time.perf_counter()
    for one in given.tables or tables:
        begun = time.perf_counter()
        table = tables[one](call)
        body = [*body, show(table, True)]
        print(f"\n{show(table, False)}", flush=True)
        print(f"[{one}: {time.perf_counter() - begun:.1f} s]", flush=True)
    took = f"Total time: {time.perf_counter() - start:.0f} s."
    print(f"\n{took}")
    if given.write:
        write_section(name, "\n\n".join([*body, took]))


def page_of(section: str) -> Path:
    """Return the page of a section; raise KeyError for a section that no page has."""
    for page, names in PAGES.items():
        if any(section == name or (name.endswith("-") and section.startswith(name)) for name in names):
            return RESULTS / f"{page}.md"
    raise KeyError(section)


def write_section(name: str, body: str, path: Path | None = None) -> None:
    """Put `body` between the markers of section `name`; other sections stay as they are.

    Parameters
    ----------
    name : str
    body : str
        Markdown.
    path : Path, optional
        The page, that of `page_of` by default.
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
    """Return the same table in Markdown."""
    grid = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    first, *others = [f"| {' | '.join(row)} |" for row in grid]
    return "\n".join([first, "| --- |" + " ---: |" * (len(head) - 1), *others])


@dataclass
class Table:
    """Cells as text, and what the reader must know."""

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
