"""Invalid and unusual values for every public argument: a sound result, or an error of the package.

Data of other types and layouts are in `reading/`, damaged files in `fit/test_archive.py` and
`fit/test_damage.py`, formulas in `reading/test_formula_safety.py`, chunks in `streams/test_failures.py`,
and the command line in `cli/test_writing.py`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import SpcaError
from spcastat.fit.method_table import SOLVERS
from tests.hostile import Target, Value, everything, functions, methods, targets

VALUES = everything()
#: Values that no argument accepts, but for the exceptions in `ACCEPTED`.
# fmt: off
MEANINGLESS = frozenset({
    "nan", "-inf", "-1", "10**400", "10**5000", "-10**20", "1j", "Decimal", "Decimal nan",
    "Fraction 10**400", "datetime64", "timedelta64(2)", "NaT", "pd.NaT", "pd.NA", "datetime", "...",
    "b'bytes'", "bytearray", "memoryview", "open file", "closed file", "object()", "unprintable",
    "undecided", "pretender", "exception", "module", "set", "frozenset", "huge range", "[None]",
    "[object()]", "[timedelta64]", "['', surrogate]", "ragged lists", "a list in itself", "empty array",
    "3-d array", "no columns", "no rows", "structured", "recarray", "object array", "bytes array",
    "complex array", "1-d sparse", "nan rows", "text column", "empty frame", "object column",
    "intervals", "periods", "polars lists", "polars objects", "polars struct", "polars lazy",
    "used up iterator", "[1, 'a']",
})
# fmt: on
#: All processors, a factor, a weight of BIC, no names, and rows that are read when they are needed.
ACCEPTED = {
    "n_jobs": {"-1"},
    "variables": {"text column"},
    "dense": {"-1", "-10**20"},
    "include": {"empty array"},
    "exclude": {"empty array"},
    "data": {"polars lazy"},
    "new": {"polars lazy"},
}
#: Arguments that scikit-learn requires and ignores.
IGNORED = ("y",)
#: Each argument gets every 101st value in the quick tests and every 17th in the slow ones, in turn.
QUICK_STEP, SLOW_STEP = 101, 17
#: Characters of a message, at most.
LONGEST_MESSAGE = 3000


@cache
def every_target() -> list[Target]:
    """Return the arguments of all public callables; results are computed to find them."""
    return list(targets())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def fault(target: Target, value: Value) -> str:
    """Return what is wrong with the outcome of a call, or an empty string."""
    quiet = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        warnings.simplefilter("ignore")
        try:
            result = target.run(value.make())
        except SpcaError as error:
            return unreadable(str(error))
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
        if target.argument in IGNORED:
            return ""
        if value.name in MEANINGLESS and value.name not in ACCEPTED.get(target.argument, ()):
            return "was accepted"
        if problem := implausible(result):
            return problem
        if value.plain is None:
            return ""
        return "" if alike(result, target.run(value.plain())) else "differs from the ordinary value"


def unreadable(message: str) -> str:
    """Return what is wrong with the message of an error, or an empty string."""
    if not message.strip():
        return "no message"
    if len(message) > LONGEST_MESSAGE:
        return f"{len(message)} characters of message"
    if re.search(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]", message):
        return "unprintable characters in the message"
    return ""


def implausible(result: Any) -> str:
    """Return what is wrong with the result of any public call, or an empty string."""
    if isinstance(result, Mapping):
        return next((problem for part in result.values() if (problem := implausible(part))), "")
    if isinstance(result, pd.DataFrame):
        numbers = result.select_dtypes("number").to_numpy(dtype=float, na_value=np.nan)
        return "infinite numbers" if np.isinf(numbers).any() else ""
    if isinstance(result, float) and not np.isfinite(result):
        return "a number that is not finite"
    if isinstance(result, sp.SpcaResult):
        V = in_pandas(result.loadings).to_numpy()
        # rounding of 1e-16 in each number, and a few of them in a norm
        if not np.allclose(np.linalg.norm(V, axis=0), 1.0, atol=1e-8):
            return "loadings that are not of unit length"
        shares = in_pandas(result.variance).filter(like="cumulative").to_numpy()
        if not ((shares >= -1e-9) & (shares <= 1.0 + 1e-9)).all():
            return "shares of variance outside of 0 and 1"
    return ""


def in_pandas(frame: Any) -> Any:
    """Return a table in pandas: fits of polars frames have polars frames."""
    if hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
        return frame.set_index("variable") if "variable" in frame else frame
    return frame.to_frame() if hasattr(frame, "to_frame") else frame


def alike(one: Any, other: Any) -> bool:
    """Return whether two results have the same numbers to 1e-6, which float16 and float32 keep here."""
    if hasattr(one, "loadings"):
        one, other = one.loadings, other.loadings
    one, other = in_pandas(one), in_pandas(other)
    if isinstance(one, pd.DataFrame) and "seconds" in one:
        one, other = one.drop(columns="seconds"), other.drop(columns="seconds")
    if not isinstance(one, pd.DataFrame | np.ndarray | float | int | complex):
        return one == other if isinstance(one, str) else isinstance(one, type(other))
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return a.tolist() == b.tolist() or pd.DataFrame(one).equals(pd.DataFrame(other))
    return np.allclose(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)


def faults(chosen: list[tuple[Target, Value]]) -> list[str]:
    found = [(f"{target.name} = {value.name}", fault(target, value)) for target, value in chosen]
    return [f"{name}: {problem}" for name, problem in found if problem]


def test_every_public_argument_is_tested():
    tested = {target.name for target in every_target()}
    for name, function in [*functions(), *methods()]:
        for argument, one in inspect.signature(function).parameters.items():
            several = one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
            assert several or f"{name}({argument})" in tested
    options = {option for method in SOLVERS.values() for option in method.options}
    assert options <= {target.argument for target in every_target()}
    names = [value.name for value in VALUES]
    assert len(names) == len(set(names))
    pytest.importorskip("polars")
    assert set(names) >= MEANINGLESS


@pytest.mark.parametrize("part", range(4))
def test_every_argument_with_one_value_or_two(part):
    chosen = [
        (target, value)
        for i, target in enumerate(every_target()[part::4])
        for value in VALUES[i % QUICK_STEP :: QUICK_STEP]
        if not target.name.startswith(("SpcaResult.report(", "Choice.report("))  # half a second each
    ]
    assert len(chosen) > 250
    assert not faults(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_every_argument_with_nine_values(part):
    for i, target in enumerate(every_target()[part::20]):
        assert not faults([(target, value) for value in VALUES[i % SLOW_STEP :: SLOW_STEP]])


# --- values for the rows of a fit: matched by label, or refused -------------------------------------

ROWS = pd.DataFrame(
    np.random.default_rng(5).standard_normal((14, 5)) * [1.0, 3.0, 6.0, 9.0, 12.0], columns=list("abcde")
)
CODES = np.random.default_rng(1).integers(1, 4, len(ROWS))
INDEXES = {
    "numbered": pd.RangeIndex(14),
    "names": pd.Index([f"r{i}" for i in range(14)]),
    "dates": pd.date_range("2020", periods=14),
    "two levels": pd.MultiIndex.from_product([["a", "b"], range(7)]),
}
OTHER_LABELS = {
    "one other": lambda x: x.set_axis([*x.index[:-1], "other"]),
    "one fewer": lambda x: x[:-1],
    "one twice": lambda x: x.iloc[[0, 0, *range(1, 14)]],
    "none in common": lambda x: x.set_axis([f"other{i}" for i in range(14)]),
}
USES = {
    "weights": lambda fit, data, x: sp.spca(data, 2, 3, weights=x).loadings,
    "supplement": lambda fit, data, x: fit.supplement(variables=x.astype(float).rename("v")).correlations,
    "biplot, groups": lambda fit, data, x: fit.biplot_data(groups=x).points[["group"]].astype(str),
    "biplot, color": lambda fit, data, x: fit.biplot_data(color=x).points[["color"]],
}


@pytest.mark.sweep
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("index", INDEXES)
def test_values_for_rows_are_matched_by_label_or_refused(use, index):
    data = ROWS.set_axis(INDEXES[index])
    fit, values = sp.spca(data, 2, 3), pd.Series(CODES, index=INDEXES[index])
    assert alike(USES[use](fit, data, values[::-1]), USES[use](fit, data, values))
    for change in OTHER_LABELS.values():
        with pytest.raises(SpcaError):
            USES[use](fit, data, change(values))


# --- Parquet files with a changed bit, or cut off ---------------------------------------------------


def test_damaged_parquet_files_are_refused_or_read(tmp_path):
    pytest.importorskip("pyarrow")
    ROWS.to_parquet(path := tmp_path / "rows.parquet")
    whole, rng = path.read_bytes(), np.random.default_rng(7)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with contextlib.suppress(SpcaError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not implausible(sp.spca(path, 1, 1))
    for end in range(0, len(whole), len(whole) // 15):
        path.write_bytes(whole[:end])
        with pytest.raises(SpcaError):
            sp.spca(path, 1, 1)
