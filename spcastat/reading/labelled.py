"""Files of SPSS (.sav, .zsav) and Stata (.dta): values with labels become ordered categories."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from spcastat.config import listed, shown
from spcastat.errors import ColumnTypeError, FileError, OptionError

#: Suffixes of files of SPSS, and of Stata.
SPSS, STATA = (".sav", ".zsav"), (".dta",)
#: Column -> number -> label.
Labels = Mapping[str, Mapping[Any, str]]


def is_labelled_file(path: str | os.PathLike[str]) -> bool:
    """Whether the suffix of a path is that of a file of SPSS or Stata."""
    return Path(path).suffix.lower() in (*SPSS, *STATA)


def read_labelled(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the rows of a file of SPSS or Stata; see :func:`with_labels`.

    Raises
    ------
    FileError, OptionError
        As :func:`read_codes`.
    ColumnTypeError
        As :func:`with_labels`.
    """
    frame, labels = read_codes(path)
    reader = "read_stata" if Path(path).suffix.lower() in STATA else "read_spss"
    return with_labels(frame, labels, path, f"pd.{reader}(path, convert_categoricals=False)")


def read_codes(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, Labels]:
    """Return the rows of a file of SPSS or Stata with numbers in place of labels, and the labels.

    Values that the file declares missing are NaN, and so are empty texts.

    Raises
    ------
    FileError
        If the file is empty, damaged, or of another kind.
    OptionError
        If pyreadstat is not installed, which files of SPSS need.
    """
    read = _read_stata if Path(path).suffix.lower() in STATA else _read_spss
    try:
        frame, labels = read(path)
    except (OptionError, MemoryError):
        raise
    except Exception as error:  # the readers raise errors of many types
        kind = "Stata" if read is _read_stata else "SPSS"
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        about = "it is empty" if _is_empty(path) else f"is it a complete file of {kind}? ({reason[:200]})"
        raise FileError(f"{path} cannot be read: {about}.") from error
    if frame.empty:
        raise FileError(f"{path} cannot be read: it has {len(frame.columns)} columns and no rows.")
    text = [name for name in frame.columns if frame[name].dtype.kind not in "biufcM"]
    frame[text] = frame[text].replace("", None)
    return frame, labels


def _is_empty(path: str | os.PathLike[str]) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) == 0


def _read_spss(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, Labels]:
    try:
        import pyreadstat
    except ImportError:
        raise OptionError(
            f"{path} is from SPSS, which needs pyreadstat: pip install 'spcastat[spss]'; or save it as CSV."
        ) from None
    frame, about = pyreadstat.read_sav(os.fspath(path))
    return frame, about.variable_value_labels


def _read_stata(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, Labels]:
    frame = pd.read_stata(path, convert_categoricals=False)
    labelled = pd.read_stata(path)
    labels: dict[str, dict[Any, str]] = {}
    for name in labelled.columns:
        if isinstance(labelled[name].dtype, pd.CategoricalDtype):  # values without a label stay numbers
            pairs = zip(frame[name], labelled[name].astype(object), strict=True)
            labels[name] = {value: text for value, text in pairs if isinstance(text, str)}
    return frame, labels


def with_labels(
    frame: pd.DataFrame, labels: Labels, path: str | os.PathLike[str], otherwise: str
) -> pd.DataFrame:
    """Return a frame whose columns with labels are ordered categories, in the order of their numbers.

    Labels that do not occur are left out. A column whose values all have no label (such as an age, of which
    only codes of missing values have labels) stays a column of numbers.

    Parameters
    ----------
    frame : DataFrame
    labels : mapping
        Of some of its columns, and perhaps of others.
    path : str or path
    otherwise : str
        What reads all values as numbers, for messages.

    Raises
    ------
    ColumnTypeError
        If some values of a column have labels and others have none, or two values have the same label.
    """
    frame = frame.copy(deep=False)
    for name in frame.columns:
        if not labels.get(name):
            continue
        values = sorted(frame[name].dropna().unique())
        bare = [value for value in values if value not in labels[name]]
        if len(bare) == len(values):
            continue
        if bare:
            raise ColumnTypeError(
                f"In {path}, some values of {shown(name)} have labels, and {_numbers(bare)} have none: label "
                f"all or none, declare these missing, or read numbers in place of labels with {otherwise}."
            )
        texts = [labels[name][value] for value in values]
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise ColumnTypeError(
                f"In {path}, several values of {shown(name)} have the label {shown(twice[0])}: give each "
                f"another label, or read numbers in place of labels with {otherwise}."
            )
        found = frame[name].map(labels[name])
        frame[name] = found.astype(pd.CategoricalDtype(texts, ordered=True))
    return frame


def _numbers(values: Sequence[Any]) -> str:
    """Return values for messages, whole numbers without a decimal point."""
    whole = [isinstance(value, float) and value.is_integer() for value in values]
    return listed([int(value) if is_whole else value for value, is_whole in zip(values, whole, strict=True)])
