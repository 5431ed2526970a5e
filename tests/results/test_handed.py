"""What a result hands out: copies, pickles, frames of the user's library, numbers before text."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import multiprocessing
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import NoRowsError, SpcaWarning
from spcastat.show.renderings import Summary

# --- What a result hands out is the user's --------------------------------------------------------

#: Arguments of queries that would take long: few draws.
FEW_DRAWS = {
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
            if name in ("biplot", "screeplot"):  # objects of another library, made of text
                continue
            yield name, lambda name=name: getattr(result, name)(**FEW_DRAWS.get(name, {}))
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


#: A value that a formula takes from here.
limit = 4
ROWS = sp.datasets.pitprops_sample().iloc[:60, :6]
ROWS.index = pd.Index([f"r{i}" for i in range(60)], name="row")
COUNTS = sps.random(40, 8, 0.3, random_state=0, format="csr")
FORMULA = "~ center(a) + np.log(b) + C(a > limit) + bs(b, df=4) + `my x`"
WAYS = {"method": "bcd-l0"}


def loaded(folder: Any) -> sp.SpcaResult:
    """Return a fit from a file."""
    sp.spca(ROWS, 3, [5, 4, 3], **WAYS).save(folder / "a.spca")
    return sp.load(folder / "a.spca")


def certified() -> sp.SpcaResult:
    """Return a fit that shows a proof."""
    fit = sp.spca(ROWS, 2, 3, **WAYS)
    return fit.with_inference(fit.certify(joint=False, time_limit=1))


#: Results of all kinds, of a table of mixed columns and a folder.
MAKE: dict[str, Callable[[pd.DataFrame, Any], Any]] = {
    "rows": lambda mixed, folder: sp.spca(ROWS, 3, [5, 4, 3], n_init=2, weights=np.arange(60.0), **WAYS),
    "loaded": lambda mixed, folder: loaded(folder),
    "formula": lambda mixed, folder: sp.spca(mixed, 2, 2, formula=FORMULA, categorical="dummy", **WAYS),
    "covariance": lambda mixed, folder: sp.spca_cov(ROWS.cov(), 2, 3, mean=ROWS.mean(), **WAYS),
    "details": lambda mixed, folder: sp.spca(ROWS, 2, 3, method="pmd"),
    "by rows": lambda mixed, folder: sp.spca(ROWS, 2, method="rspca-l0", card=3),
    "sparse": lambda mixed, folder: sp.spca(COUNTS, 2, 3, **WAYS),
    "chunks": lambda mixed, folder: sp.spca([ROWS.iloc[:25], ROWS.iloc[25:]], 2, 3, **WAYS),
    "path": lambda mixed, folder: sp.spca_path(ROWS, 2, cards=[2, 5], **WAYS),
    "comparison": lambda mixed, folder: sp.compare({str(c): sp.spca(ROWS, 3, c, **WAYS) for c in (3, 4)}),
    "summary": lambda mixed, folder: sp.spca(ROWS, 2, 3, **WAYS).summary(),
    "spco": lambda mixed, folder: sp.spco(ROWS, 2, 0.5),
    "progress": lambda mixed, folder: sp.spca(ROWS, 2, 3, progress=lambda *told: None, **WAYS),
    "certified": lambda mixed, folder: certified(),
}
#: What differs from "rows" in a few methods only.
SLOW = ("details", "sparse")
HANDED = [
    pytest.param(kind, marks=pytest.mark.slow if kind in SLOW else ())
    for kind in MAKE
    if kind not in ("by rows", "progress", "certified")
]


@pytest.fixture(scope="module")
def made(mixed, tmp_path_factory):
    """Return a function that makes the result of a kind once."""
    return cache(lambda kind: quietly(kind, mixed, tmp_path_factory.mktemp("handed")))


def quietly(kind: str, mixed: pd.DataFrame, folder: Any) -> Any:
    """Return a new result of a kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpcaWarning)
        return MAKE[kind](mixed, folder)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", HANDED)
def test_what_is_handed_out_is_the_users(made, kind, tmp_path):
    result, before, seen = made(kind), tmp_path / "before.spca", 0
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


# --- Pickles and copies of results: what they carry, and that they are the same fits elsewhere ----


@pytest.mark.sweep
@pytest.mark.parametrize("kind", [kind for kind in MAKE if kind not in (*SLOW, "chunks")])
@pytest.mark.parametrize(
    "carry",
    [lambda fit: pickle.loads(pickle.dumps(fit)), copy.deepcopy, copy.copy],
    ids=["pickle", "deep", "copy"],
)
def test_a_copied_fit_is_the_same(kind, carry, mixed, tmp_path):
    fit = quietly(kind, mixed, tmp_path)
    other = carry(fit)
    assert type(other) is type(fit)
    assert other is not fit
    assert str(other) == str(fit)
    if kind in ("comparison", "summary"):
        return
    if kind == "path":
        fit, other = fit[5], other[5]
    new = mixed if kind == "formula" else ROWS
    if kind != "covariance":
        pd.testing.assert_frame_equal(other.transform(new), fit.transform(new), check_exact=True)
    if kind == "spco":
        pd.testing.assert_frame_equal(other.coordinates, fit.coordinates)
        return
    if kind == "loaded":
        with pytest.raises(NoRowsError, match="refit"):
            other.refit(card=2)
        pd.testing.assert_frame_equal(other.scores, fit.scores)
        return
    again = other.refit(card=2)
    # older pandas lays carried columns out anew, and sums then differ in their last bit
    pd.testing.assert_frame_equal(again.loadings, fit.refit(card=2).loadings, rtol=1e-12, atol=1e-14)
    if kind not in ("covariance",):
        pd.testing.assert_frame_equal(other.residuals, fit.residuals)
    fit.save(tmp_path / "one")
    other.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert other.certify(joint=False, time_limit=5).table["cardinality"].tolist() == fit.card.tolist()


@pytest.mark.parametrize("carry", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy])
def test_results_of_resampling_can_be_copied(carry, mixed, tmp_path):
    # the formula uses numpy, which is a module: those cannot be pickled
    fit = sp.spca(mixed, 2, 2, formula="~ a + np.log(b) + kind", categorical="dummy", method="bcd-l0")
    made = [fit.bootstrap(3), fit.stability(2), fit.split_inference(3), fit.test_loadings(2)]
    for one in made:
        other = carry(one)
        assert type(other) is type(one)
        assert str(other) == str(one)
    pd.testing.assert_frame_equal(carry(made[0]).conf_int(0.5), made[0].conf_int(0.5), check_exact=True)
    fit = fit.with_inference(*made)
    other = carry(fit)
    assert list(other.inference) == list(fit.inference)
    assert len(fit.inference) == 4
    fit.save(tmp_path / "one")
    other.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    again, once = other.bootstrap(3), fit.bootstrap(3)
    pd.testing.assert_frame_equal(again.table, once.table, check_exact=True)


def test_a_deep_copy_has_data_of_its_own():
    X = ROWS.to_numpy(copy=True)
    fit = sp.spca(X, 2, 3, method="bcd-l0")
    twin = copy.deepcopy(fit)
    before = fit.scores
    X[:] = 0.0
    pd.testing.assert_frame_equal(twin.scores, before)


def test_chunks_stay_where_they_are():
    chunks = [ROWS.iloc[:30], ROWS.iloc[30:]]
    for source in (chunks, lambda: iter(chunks)):
        fit = sp.spca(source, 2, 3, method="bcd-l0")
        other = pickle.loads(pickle.dumps(fit))
        assert str(other) == str(fit)
        pd.testing.assert_series_equal(other.limits(), fit.limits())
        pd.testing.assert_frame_equal(other.transform(ROWS), fit.transform(ROWS))
        with pytest.raises(NoRowsError, match=r"fit again: spca\(data, k=2, card=3, method='bcd-l0'\)"):
            other.refit(card=2)
        with pytest.raises(NoRowsError):
            other.scores  # noqa: B018
        twin = copy.deepcopy(fit)
        pd.testing.assert_frame_equal(twin.scores.to_frame(), fit.scores.to_frame())
        assert twin.refit(card=2).card.tolist() == [2, 2]


def test_collections_of_dask_travel():
    dataframe = pytest.importorskip("dask.dataframe")
    fit = sp.spca(dataframe.from_pandas(ROWS, npartitions=2), 2, 3, method="bcd-l0")
    for other in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        pd.testing.assert_frame_equal(other.scores.compute(), fit.scores.compute())
        assert other.refit(card=2).card.tolist() == [2, 2]


def test_a_pickle_has_the_data_and_a_file_has_not(tmp_path):
    X = np.random.default_rng(0).normal(size=(5000, 5))
    fit = sp.spca(X, 1, 2, method="bcd-l0")
    fit.save(tmp_path / "fit.spca")
    assert len(pickle.dumps(fit)) > X.nbytes > (tmp_path / "fit.spca").stat().st_size * 4


def test_another_process(tmp_path):
    # one started anew, which has nothing but the pickle
    fit = sp.spca(
        ROWS.assign(kind=[*"xyz"] * 20),
        2,
        3,
        formula="~ . + np.exp(-length)",
        categorical="dummy",
        method="bcd-l0",
    )
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        text = pool.apply_async(str, (fit,)).get(300)
    assert text == str(fit)
    joblib = pytest.importorskip("joblib")
    joblib.dump(fit, tmp_path / "fit.joblib")
    assert str(joblib.load(tmp_path / "fit.joblib")) == str(fit)


# --- Rows of polars and Arrow have answers in polars and Arrow, with the numbers that pandas gets ---

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

X = sp.datasets.pitprops_sample(rng=1).iloc[:40]
LIBRARIES = {
    "polars": (pl.from_pandas, pl.DataFrame, lambda table: table),
    "narwhals": (lambda frame: nw.from_native(pl.from_pandas(frame)), pl.DataFrame, lambda table: table),
    "pyarrow": (lambda frame: pa.Table.from_pandas(frame, preserve_index=False), pa.Table, pl.from_arrow),
}


@pytest.fixture(scope="module")
def fit():
    return sp.spca(pl.from_pandas(X), 2, 3, method="bcd-l0")


@pytest.mark.parametrize("library", LIBRARIES)
def test_answers_are_in_the_library_of_the_rows(fit, library):
    make, kind, as_polars = LIBRARIES[library]
    table, plain = make(X), sp.spca(X, 2, 3, method="bcd-l0")
    for got, wanted in (
        (fit.transform(table), plain.scores),
        (fit.diagnostics(table), plain.diagnostics()),
        (fit.augment(table), plain.augment()),
    ):
        assert isinstance(got, kind)
        assert as_polars(got).columns == list(wanted.columns)
        np.testing.assert_allclose(as_polars(got).to_numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("library", ["polars", "narwhals"])
def test_tables_of_a_fit_of_polars_are_of_pandas(library):
    fit = sp.spca(LIBRARIES[library][0](X), 2, 3, method="bcd-l0")
    plain = sp.spca(X, 2, 3, method="bcd-l0")
    for one in (fit, fit.refit(), fit.rename({"PC1": "size"})):
        assert isinstance(one.scores, pd.DataFrame)
        assert isinstance(one.loadings, pd.DataFrame)
    np.testing.assert_allclose(fit.scores.to_numpy(), plain.scores, rtol=1e-12, atol=1e-12)
    pd.testing.assert_frame_equal(fit.loadings, plain.loadings)
    assert str(fit) == str(plain)


def test_rows_that_were_dropped_and_missing_scores_show(fit):
    holed = pl.from_pandas(X).with_columns(
        pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col(name)).alias(name) for name in X
    )
    kept = fit.transform(holed, na="drop")
    assert kept.columns == ["row", "PC1", "PC2"]
    assert kept["row"].to_list() == [0, *range(2, 40)]
    wide = fit.augment(holed, na="drop")
    assert len(wide) == 40
    assert wide[".fittedPC1"].is_null().to_list() == [i == 1 for i in range(40)]


# --- Results keep numbers: no text is formatted before a result is printed or exported ------------

DATA = sp.datasets.pitprops_sample(60)


@pytest.fixture(scope="module")
def choice():
    return sp.choose(DATA, scale=True, cards=[3, 5], folds=3, kmax=3)


def test_the_fit_of_a_choice_says_how_it_was_chosen(choice, tmp_path):
    """Also after it was renamed, pickled, or saved in a file; and in the words of the choice."""
    fit = choice.fit
    assert choice.method_text in fit.describe().text
    assert choice.k_choice.method_text in fit.describe().text
    fit.save(tmp_path / "fit.spca")
    names = [f"size {j}" for j in range(fit.loadings.shape[1])]
    for other in (fit.rename(names), pickle.loads(pickle.dumps(fit)), sp.load(tmp_path / "fit.spca")):
        assert choice.method_text in other.describe().text
