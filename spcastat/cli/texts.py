"""Tables of text: CSV and its relatives, whose every line must have the fields that the first one names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

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
        For what is not such a table; the message names the line.
    """
    import pandas as pd

    source, layout, names, rows, own = _understood(
        path, usual, separator, decimal, header, encoding, labels, True
    )
    with source.text() as text:
        data = pd.read_csv(text, **_reading(layout, names), low_memory=False)
    _require_as_many(source.name, rows, len(data))
    if names[0] == "":
        data = data.drop(columns="").set_axis(pd.Index(own, dtype=str))
    elif labels in names:
        data[labels] = pd.Series(own, dtype=str)
    return data


def text_pieces(
    path: str,
    usual: str,
    size: int,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    labels: str | None = None,
) -> Callable[[], Iterator[pd.DataFrame]]:
    """Return a function that walks over a table of text, `size` rows at a time; see :func:`read_text`.

    Every line is looked at first, as there; of the labels of rows none is kept.
    """
    import pandas as pd

    source, layout, names, rows, _ = _understood(
        path, usual, separator, decimal, header, encoding, labels, False
    )
    place = 0 if names[0] == "" else names.index(labels) if labels in names else None

    def walk() -> Iterator[pd.DataFrame]:
        how = {**_reading(layout, names), "chunksize": size}
        if place is not None:  # labels of rows are text, so that 007 stays 007
            how["converters"] = {names[place]: str.strip}
        read = 0
        with source.text() as text:
            for data in pd.read_csv(text, **how):
                read += len(data)
                yield data.set_index("").rename_axis(None) if names[0] == "" else data.reset_index(drop=True)
        _require_as_many(source.name, rows, read)

    return walk


def _understood(
    path: str,
    usual: str,
    separator: str | None,
    decimal: str | None,
    header: bool | None,
    encoding: str | None,
    labels: str | None,
    keep: bool,
) -> tuple[TextSource, Layout, list[str], int, list[str]]:
    """Return a table's source, layout, names and number of rows, and the labels of these if they are kept."""
    source = TextSource(path, encoding)
    with source.text() as text:
        layout = find_layout(source.name, text, usual, separator, decimal, header)
    with source.text() as text:
        return source, layout, *_count(source.name, text, layout, labels, keep)


def _reading(layout: Layout, names: list[str]) -> dict[str, Any]:
    """Return how pandas reads a table that was understood."""
    header = 0 if layout.header else None
    how = {"sep": layout.separator, "decimal": layout.decimal, "header": header, "names": names}
    return {**how, "index_col": False}


def _require_as_many(name: str, counted: int, read: int) -> None:
    if read != counted:
        raise FileError(
            f"{name} cannot be read for certain: {counted} lines were counted and {read} read; are "
            "there fields of nothing but spaces, or quotation marks within fields?"
        )


def _count(
    name: str, text: TextIO, layout: Layout, labels: str | None, keep: bool
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
        if place is not None and keep:
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
