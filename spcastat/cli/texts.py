"""Tables of text: CSV and its relatives, whose every line must have the fields that the first one names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from spcastat.cli.layout import Layout, column_names, find_layout, is_blank, strict_records
from spcastat.cli.sources import TextSource
from spcastat.errors import FileError

if TYPE_CHECKING:
    import pandas as pd


def read_text(
    path: str,
    usual: str,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    labels: str | None = None,
) -> pd.DataFrame:
    """Read a table of text.

    A first column without a name holds the labels of the rows, as pandas and R write them; labels are text,
    so that 007 stays 007. Empty lines are left out.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input.
    usual : str
        The separator that its name stands for.
    separator, decimal, header, encoding
        What was given; None is found out.
    labels : str, optional
        A column with labels of rows, which stays text.

    Raises
    ------
    FileError
        For what is no such table; the message names the line.
    """
    import pandas as pd

    source = TextSource(path, encoding)
    with source.text() as text:
        layout = find_layout(source.name, text, usual, separator, decimal, header)
    with source.text() as text:
        names, rows, own = _count(source.name, text, layout, labels)
    with source.text() as text:
        data = pd.read_csv(
            text,
            sep=layout.separator,
            decimal=layout.decimal,
            header=0 if layout.header else None,
            names=names,
            index_col=False,
            low_memory=False,
        )
    if len(data) != rows:
        raise FileError(
            f"{source.name} cannot be read for certain: {rows} lines were counted and {len(data)} read; are "
            "there fields of nothing but spaces, or quotation marks within fields?"
        )
    if names[0] == "":
        data = data.drop(columns="").set_axis(pd.Index(own, dtype=str))
    elif labels in names:
        data[labels] = pd.Series(own, dtype=str)
    return data


def _count(
    name: str, text: TextIO, layout: Layout, labels: str | None
) -> tuple[list[str], int, list[str]]:
    """Return the names of the columns, the number of rows and their labels; every line must be complete."""
    names: list[str] = []
    own: list[str] = []
    rows, empty, place = 0, 0, None
    for line, record in strict_records(name, text, layout.separator):
        if is_blank(record):
            empty = empty or line
            continue
        if not names:
            names = column_names(name, record, layout.header)
            empty = 0
            place = 0 if names[0] == "" else names.index(labels) if labels in names else None
            if layout.header:
                continue
        if len(record) != len(names):
            raise FileError(_other_count(name, line, len(record), names, layout))
        if len(names) == 1 and empty:
            raise FileError(
                f"{name} cannot be read: line {empty} is empty, which in a single column may be a missing "
                "value; write NA there, or take the line out."
            )
        rows += 1
        if place is not None:
            own.append(record[place].strip())
    if not names:
        raise FileError(f"{name} cannot be read: it is empty.")
    return names, rows, own


def _other_count(name: str, line: int, fields: int, names: list[str], layout: Layout) -> str:
    """Return what is wrong with a line that has more or fewer fields than the first."""
    told = "1 field" if fields == 1 else f"{fields} fields"
    what = "names" if layout.header else "has"
    columns = "1 column" if len(names) == 1 else f"{len(names)} columns"
    hint = (
        " If its first field is the label of the row, give that column a name in the first line."
        if fields == len(names) + 1 and layout.header
        else ""
    )
    return (
        f"{name} cannot be read: line {line} has {told}, and the first line {what} {columns}, separated by "
        f"{layout.separator!r}.{hint} --sep and --decimal say what separates fields and decimals; text that "
        "holds the separator needs quotation marks."
    )
