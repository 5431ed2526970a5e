"""What a result hands out is the user's: changing it changes nothing in the result, nor in what is saved."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.show.renderings import Summary

#: What a fit remembers on purpose, in few draws.
REMEMBERED = {
    "bootstrap": {"n": 3},
    "certify": {},
    "split_inference": {"n": 3},
    "stability": {"n": 2},
    "test_loadings": {"n": 2},
}


def tables(value: Any) -> Iterator[Any]:
    """Yield every frame, array, list and mapping that a value holds."""
    if isinstance(value, pd.DataFrame | pd.Series | pd.Index | np.ndarray):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from tables(one)
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tables(one)
        if isinstance(value, list):
            yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for one in dataclasses.fields(value):
            yield from tables(getattr(value, one.name))
    elif isinstance(value, Summary):
        yield from tables(value.frames)


def write_into(values: Any) -> None:
    """Change every value of something like an array that lets itself be written to."""
    try:
        for place in range(len(values)):
            values[place] = values[0] if values.dtype == object else 99
    except (ValueError, TypeError, OverflowError):  # read-only, or of another type
        pass


def spoil(value: Any) -> None:
    """Change everything in a table, by every way that pandas has."""
    if isinstance(value, dict):
        value.clear()
    elif isinstance(value, list):
        value[:] = ["spoilt"]
    elif isinstance(value, np.ndarray):
        write_into(value.reshape(-1))
    elif isinstance(value, pd.Index):
        write_into(value.array)
        write_into(value.values)
        value.names = ["spoilt"] * value.nlevels
    else:
        for index in value.axes:
            spoil(index)
        columns = (
            [value] if isinstance(value, pd.Series) else [value.iloc[:, j] for j in range(value.shape[1])]
        )
        for column in columns:
            for cell in column.tolist():
                if isinstance(cell, list | dict):
                    spoil(cell)
            write_into(column.array)
            write_into(column.values)
        write_into(value.values.reshape(-1))
        for j in range(len(columns)):
            if isinstance(columns[j].dtype, np.dtype) and columns[j].dtype.kind in "iuf" and len(value):
                value.iloc[(slice(None), j)[: value.ndim]] = 99
        value.attrs["spoilt"] = True
        if value.ndim == 2:
            value["spoilt"] = 1


def asked(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the getter of each public property, attribute and method without arguments."""
    names = {name for name in dir(result) if not name.startswith("_")} | {
        name for name in vars(result) if not name.startswith("_")
    }
    for name in sorted(names):
        held = inspect.getattr_static(type(result), name, None)
        if inspect.isfunction(held):
            needed = [
                one
                for one in inspect.signature(held).parameters.values()
                if one.default is one.empty and one.name != "self" and one.kind is not one.VAR_KEYWORD
            ]
            if needed or isinstance(inspect.getattr_static(type(result), name), classmethod):
                continue
            if name == "refit" or (name.startswith("plot") and not name.endswith("data")):
                continue
            if name in ("biplot", "screeplot", "as_gt"):  # objects of other libraries, made of text
                continue
            yield name, lambda name=name: getattr(result, name)(**REMEMBERED.get(name, {}))
        else:
            yield name, lambda name=name: getattr(result, name)


def answer(value: Any) -> list[Any]:
    """Return what can be compared of an answer."""
    found = [_copy(one) for one in tables(value)]
    return found or [str(value)]


def _copy(table: Any) -> Any:
    """Return a copy that shares nothing with a table, as those of older pandas do with labels and cells."""
    return pickle.loads(pickle.dumps(table))


def same(first: list[Any], second: list[Any]) -> bool:
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if isinstance(one, pd.DataFrame | pd.Series):
            equal = one.drop(columns="seconds", errors="ignore") if one.ndim == 2 else one
            against = other.drop(columns="seconds", errors="ignore") if other.ndim == 2 else other
            if not equal.equals(against) or one.attrs != other.attrs:
                return False
            if any(list(a.names) != list(b.names) for a, b in zip(one.axes, other.axes, strict=True)):
                return False
        elif isinstance(one, pd.Index):
            if not one.equals(other) or list(one.names) != list(other.names):
                return False
        elif isinstance(one, np.ndarray):
            if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
                return False
        elif isinstance(one, dict):
            if list(one) != list(other):
                return False
        elif one != other:
            return False
    return True


def objects(mixed: pd.DataFrame, folder: Any) -> dict[str, Any]:
    rows = sp.datasets.pitprops_sample().iloc[:40, :6]
    rows = rows.set_axis(pd.Index([f"r{i}" for i in range(40)], name="row"))
    fit = sp.spca(rows, 3, [5, 4, 3], n_init=2, method="bcd-l0")
    fit.save(folder / "a.spca")
    formula = sp.spca(
        mixed,
        2,
        2,
        formula="~ center(a) + np.log(b) + kind + `my x`",
        categorical="dummy",
        scale=True,
        method="bcd-l0",
    )
    path = sp.spca_path(rows, 2, cards=[2, 5], method="bcd-l0")
    comparison = sp.compare({"a": fit, "b": sp.spca(rows, 3, 4, method="bcd-l0")})
    return {
        "rows": fit,
        "loaded": sp.load(folder / "a.spca"),
        "formula": formula,
        "covariance": sp.spca_cov(rows.cov(), 2, 3, mean=rows.mean(), method="bcd-l0"),
        "details": sp.spca(rows, 2, 3, method="pmd"),
        "sparse": sp.spca(sps.random(40, 8, 0.3, random_state=0, format="csr"), 2, 3, method="bcd-l0"),
        "chunks": sp.spca([rows.iloc[:25], rows.iloc[25:]], 2, 3, method="bcd-l0"),
        "path": path,
        "comparison": comparison,
        "summary": fit.summary(),
        "spco": sp.spco(rows, 2, 0.5),
    }


KINDS = (
    "rows",
    "loaded",
    "formula",
    "covariance",
    "details",
    "sparse",
    "chunks",
    "path",
    "comparison",
    "summary",
    "spco",
)


#: What differs from "rows" in a few methods only.
SLOW = ("details", "sparse")
CASES = [pytest.param(kind, marks=pytest.mark.slow if kind in SLOW else ()) for kind in KINDS]


@pytest.fixture(scope="module")
def made(mixed, tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.errors.SpcaWarning)
        return objects(mixed, tmp_path_factory.mktemp("handed"))


@pytest.mark.parametrize("kind", CASES)
def test_what_is_handed_out_is_the_users(made, kind, tmp_path):
    result, before, seen = made[kind], tmp_path / "before.spca", 0
    for name in filter(lambda name: hasattr(result, name), REMEMBERED):
        with contextlib.suppress(sp.errors.SpcaError):  # without rows there is nothing to draw from
            getattr(result, name)(**REMEMBERED[name])  # the same again changes nothing in the fit
    if hasattr(result, "save"):
        result.save(before)
    for name, get in asked(result):
        try:
            first = get()
        except sp.errors.SpcaError:
            continue
        held = answer(first)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pandas, about what is done here
            for one in list(tables(first)):
                seen += 1
                spoil(one)
        assert same(held, answer(get())), f"{type(result).__name__}.{name} changed"
    assert seen >= (1 if kind == "summary" else 3)
    if hasattr(result, "save"):
        after = tmp_path / "after.spca"
        result.save(after)
        assert after.read_bytes() == before.read_bytes()


def test_scores_with_another_number_in_them_are_not_saved(pitprops, tmp_path):
    fit = sp.spca(pitprops, 2, 3, method="bcd-l0")
    scores = fit.scores
    value = scores.iloc[0, 0]
    scores.iloc[0, 0] = 1e9
    fit.save(tmp_path / "fit")
    assert sp.load(tmp_path / "fit").scores.iloc[0, 0] == value


def test_labels_of_new_rows_stay_the_callers(fit, pitprops):
    new = pitprops.copy()
    for found in (fit.transform(new), fit.diagnostics(new), fit.inverse_transform(fit.transform(new))):
        found.index.name = "mine"
    assert new.index.name is None


def test_what_is_handed_out_cannot_be_set(fit):
    with pytest.raises(AttributeError, match=r"no setter|cannot be set|can.t set"):
        fit.scores = 3
