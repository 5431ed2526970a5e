"""A file that fits into memory is the data frame of its rows, and no output overwrites the source of rows."""

from __future__ import annotations

import gzip
import importlib

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import errors
from spcastat.inputs import opening

pa = pytest.importorskip("pyarrow")


# --- the same tables --------------------------------------------------------------------------------


def _factors(n: int, p: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, p)) + 0.8 * rng.standard_normal((n, p))
    X = X * rng.uniform(0.5, 20, p) + rng.normal(0, 9, p)
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(p)])


def _of_statsmodels(name: str) -> pd.DataFrame:
    """Return the numbers of a data set that statsmodels ships."""
    module = importlib.import_module(f"statsmodels.datasets.{name}")
    return module.load_pandas().data.select_dtypes("number").dropna().reset_index(drop=True)


def _labelled() -> pd.DataFrame:
    return _factors(30, 5, 1).set_axis([f"row {j}" for j in range(30)])


def _with_booleans() -> pd.DataFrame:
    return _factors(50, 5, 3).assign(one=np.arange(50) % 3 == 0)


def _repeated() -> pd.DataFrame:
    """Rows that occur twice; as chunks these would be in one fold."""
    return pd.concat([_factors(15, 6, 4)] * 2, ignore_index=True)


def _with_gaps() -> pd.DataFrame:
    X = _factors(40, 5, 5)
    X.iloc[[1, 7, 20], [0, 2, 4]] = np.nan
    return X


TABLES = {
    "16 rows": lambda: _of_statsmodels("longley").drop(columns="YEAR"),
    "47 rows": lambda: _factors(47, 6, 13),
    "more columns than rows": lambda: _factors(14, 20, 14),
    "labels": _labelled,
    "booleans": _with_booleans,
    "rows twice": _repeated,
    "gaps": _with_gaps,
}


def _written(X: pd.DataFrame, folder, kind: str):
    """Write a table; return the path, and the frame as pandas reads it."""
    labelled = not isinstance(X.index, pd.RangeIndex)
    if kind == "parquet":
        X.to_parquet(path := folder / "table.parquet")
        return path, pd.read_parquet(path)
    X.to_csv(path := folder / f"table.{kind}", index=labelled)
    return path, pd.read_csv(path, index_col=0 if labelled else None)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "csv") for name in TABLES), *((name, "parquet") for name in ("16 rows", "labels", "booleans"))],
)
def test_a_small_file_is_its_data_frame(tmp_path, name, kind):
    path, frame = _written(TABLES[name](), tmp_path, kind)
    how = {"scale": True, "na": "drop", "method": "bcd-l0"}
    chosen, again = (
        sp.choose(data, k=2, cards=[1, 3], family="equal", repeats=1, **how) for data in (path, frame)
    )
    # the same arrays go through the same operations, so that nothing may differ
    pd.testing.assert_frame_equal(chosen.table, again.table, check_exact=True)
    fit, same = chosen.fit, again.fit
    pd.testing.assert_frame_equal(fit.loadings, same.loadings, check_exact=True)
    pd.testing.assert_frame_equal(fit.scores, same.scores, check_exact=True)
    pd.testing.assert_frame_equal(fit.augment(), same.augment(), check_exact=True)
    pd.testing.assert_frame_equal(fit.transform(path, na="drop"), same.scores, check_exact=True)
    draws = [one.bootstrap(5, rng=1).table for one in (fit, same)]
    pd.testing.assert_frame_equal(*draws, check_exact=True)
    if len(frame) >= 20:
        assert str(fit.stability(3, rng=1)) == str(same.stability(3, rng=1))
    assert str(fit) == str(same)


def test_what_needs_all_rows_takes_a_file(tmp_path):
    """Factors, formulas that learn, robust methods, missing values: all refused for chunks."""
    X = _factors(60, 5, 8).assign(kind=["a", "b", "c"] * 20)
    X.to_csv(path := tmp_path / "x.csv", index=False)
    calls = [
        {"scale": "mixed"},
        {"formula": "~ center(v0) + v1 + kind", "categorical": "dummy"},
        {"formula": "~ v0 + v1 + v2 + v3", "method": "spcagrid"},
        {"formula": "~ v0 + v1 + v2 | v3"},
        {"formula": "~ v0 + v1 + v2", "na": "em"},
    ]
    for how in calls:
        found, wanted = (sp.spca(data, 1, 2, **how).loadings for data in (path, pd.read_csv(path)))
        pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def test_several_parquet_files_are_one_frame(tmp_path):
    """Labels go on from file to file; booleans with numbers are numbers; columns may be in another order."""
    X = _with_booleans()
    X[:20].to_parquet(tmp_path / "1.parquet")
    X[20:].reset_index(drop=True)[X.columns[::-1]].astype(float).to_parquet(tmp_path / "2.parquet")
    wanted = sp.spca(X, 2, 2, scale=True, effort="quick")
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for data in (tmp_path, str(tmp_path / "*.parquet"), files):
        found = sp.spca(data, 2, 2, scale=True, effort="quick")
        pd.testing.assert_frame_equal(found.loadings, wanted.loadings, check_exact=True)
        pd.testing.assert_frame_equal(found.scores, wanted.scores, check_exact=True)


# --- sizes ----------------------------------------------------------------------------------------


def _is_whole(path) -> bool:
    return isinstance(opening.source_of(path).data, pd.DataFrame)


def test_compressed_text_counts_by_what_it_holds(tmp_path, monkeypatch):
    _factors(100, 5, 7).round(1).to_csv(plain := tmp_path / "x.csv", index=False)
    _factors(100, 5, 7).round(1).to_csv(packed := tmp_path / "x.csv.gz", index=False)
    size = plain.stat().st_size
    assert packed.stat().st_size < size / 2
    for most, wanted in ((size, True), (size - 1, False)):
        monkeypatch.setattr(opening, "LARGEST_TEXT", most)
        assert _is_whole(plain) is _is_whole(packed) is wanted
        assert isinstance(sp.spca(packed, 1, 2, effort="quick").scores, pd.DataFrame) is wanted


def test_a_compressed_file_is_not_read_beyond_the_limit(tmp_path, monkeypatch):
    """200 MB of zeros in 200 kB: no more than the limit and a block of 1 MB are decompressed."""
    with gzip.open(path := tmp_path / "x.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(2**20))
    read = []

    class Counted(gzip.GzipFile):
        def read(self, size=-1):
            read.append(size)
            return super().read(size)

    monkeypatch.setitem(importlib.import_module("spcastat.reading.textfiles").PACKED, ".gz", Counted)
    assert not opening.fits_in_memory(path)
    assert sum(read) <= 100_000_000 + 2**20


def test_parquet_counts_by_memory(tmp_path, monkeypatch):
    """Repeated values take little in the file; text counts by its pages, which are uncompressed."""
    same = pd.DataFrame({"a": np.zeros(20_000), "b": np.ones(20_000)})
    same.to_parquet(path := tmp_path / "x.parquet")
    assert path.stat().st_size < 20_000
    text = pd.DataFrame({"a": [f"{j:0100}" for j in range(2_000)]})
    text.to_parquet(words := tmp_path / "y.parquet")
    # 20,000 rows of two numbers of 8 bytes; 2,000 fields of 100 bytes
    for file, size in ((path, 320_000), (words, 200_000)):
        monkeypatch.setattr(opening, "LARGEST_PARQUET", size - 1)
        assert not _is_whole(file)
        monkeypatch.setattr(opening, "LARGEST_PARQUET", 2 * size)
        assert _is_whole(file)


# --- outputs --------------------------------------------------------------------------------------


REFUSED = "(read from(?: this file)?; give another)|(delete this one first)"


def _sources(folder) -> dict[str, tuple[object, str]]:
    """Return what reads the file ``in.parquet`` or ``in.csv``, and which of them."""
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    from pyarrow import dataset

    X = _factors(40, 4, 21)
    X.to_parquet(rows := folder / "in.parquet")
    X.to_csv(text := folder / "in.csv", index=False)
    return {
        "path": (rows, "in.parquet"),
        "text": (text, "in.csv"),
        "lazy": (polars.scan_parquet(rows), "in.parquet"),
        "lazy join": (
            polars.scan_csv(text).join(
                polars.scan_parquet(rows), on="v0", how="left", suffix="x", maintain_order="left"
            ),
            "in.parquet",
        ),
        "dataset": (dataset.dataset(rows), "in.parquet"),
        "union": (dataset.dataset([dataset.dataset(rows)]), "in.parquet"),
        "query": (duckdb.sql(f"select v0, v1, v2 from '{rows}'"), "in.parquet"),
        "function": (lambda: pd.read_csv(text, chunksize=9), "in.csv"),
    }


SOURCES = ("path", "text", "lazy", "lazy join", "dataset", "union", "query", "function")


@pytest.mark.parametrize("kind", SOURCES)
def test_no_output_overwrites_what_rows_are_read_from(tmp_path, monkeypatch, kind):
    source, name = _sources(tmp_path)[kind]
    target = tmp_path / name
    before = target.read_bytes()
    fit = sp.spca(source, 1, 2, method="bcd-l0")
    monkeypatch.chdir(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(target)
    for path in (target, name, link):
        for call in (fit.save, fit.transform_to):
            with pytest.raises(errors.OptionError, match=REFUSED):
                call(path)
    assert target.read_bytes() == before
    other = sp.spca(_factors(40, 4, 21), 1, 2, method="bcd-l0", formula="~ v0 + v1 + v2")
    if kind != "lazy join":  # new rows have v0, v1 and v2 again
        with pytest.raises(errors.OptionError, match=REFUSED):
            other.transform_to(target, source)
    assert target.read_bytes() == before


@pytest.mark.parametrize("kind", SOURCES)
def test_other_outputs_are_written_again(tmp_path, kind):
    """Sources that tell their files leave all others; the others leave files that have no rows."""
    fit = sp.spca(_sources(tmp_path)[kind][0], 1, 2, method="bcd-l0")
    for _ in range(2):
        fit.save(tmp_path / "fit.spca")
        fit.transform_to(tmp_path / "scores.out")
        if kind in ("query", "function"):
            with pytest.raises(errors.OptionError, match="does not tell which files it reads"):
                fit.transform_to(tmp_path / "scores.out")
            (tmp_path / "scores.out").unlink()
    assert len(sp.load(tmp_path / "fit.spca").loadings) in (3, 4, 7)


def test_a_memory_map_is_not_overwritten(tmp_path):
    np.save(tmp_path / "x.npy", _factors(40, 4, 21).to_numpy())
    fit = sp.spca([np.load(tmp_path / "x.npy", mmap_mode="r")], 1, 2, method="bcd-l0")
    with pytest.raises(errors.OptionError, match="is read from; give another"):
        fit.save(tmp_path / "x.npy")
    fit.transform_to(tmp_path / "scores.parquet")
    fit.transform_to(tmp_path / "scores.parquet")


# --- matrices taken for rows ----------------------------------------------------------------------


def _matrices(folder) -> list[object]:
    R = _factors(50, 5, 31).corr()
    R.to_csv(labelled := folder / "R.csv")
    R.to_csv(unlabelled := folder / "plain.csv", index=False)
    R.to_parquet(stored := folder / "R.parquet")
    return [R, R.to_numpy(), labelled, unlabelled, stored, R.cov().to_numpy()]


def test_rows_that_look_like_a_covariance_matrix_are_refused(tmp_path):
    for data in _matrices(tmp_path):
        for call, how in ((sp.spca, {}), (sp.spco, {"zeros": 0.2})):
            with pytest.raises(errors.DataError, match=r"give spca_cov\(S, \.\.\.\)"):
                call(data, 2, **how)


def test_functions_that_take_both_treat_a_file_as_its_frame(tmp_path):
    R, array, labelled, unlabelled, stored, _ = _matrices(tmp_path)
    wanted = sp.spca_path(R, 1, cards=[2, 3]).table
    for data in (labelled, stored):
        pd.testing.assert_frame_equal(sp.spca_path(data, 1, cards=[2, 3]).table, wanted)
        assert sp.choose_k(data, n_obs=50).k == sp.choose_k(R, n_obs=50).k
    calls = [
        lambda data, **how: sp.choose(data, k=1, **how).fit,
        lambda data, **how: sp.choose_k(data, **how),
        lambda data, **how: sp.spca_path(data, 1, cards=[2, 3], **how),
    ]
    for data in (array, unlabelled):
        for call in calls:
            with pytest.raises(errors.DataError, match="covariance=True to choose, choose_k and spca_path"):
                call(data, n_obs=50)
            call(data, n_obs=50, covariance=True)
    assert list(sp.spca_cov(unlabelled, 1, 2, effort="quick").loadings.index) == list(R.columns)


def test_square_tables_of_rows_are_rows():
    """Not symmetric; more than variances allow; rows with labels of their own."""
    X = _factors(6, 6, 3)
    large = np.array([[1.0, 3.0, 1.0], [3.0, 1.0, 2.0], [1.0, 2.0, 1.0]])
    for data in (X.to_numpy(), large):
        assert sp.spca(data, 1, 2, effort="quick").loadings.shape == (len(data), 1)
    R = X.corr()
    assert sp.spca(R.rename(index="row {}".format), 1, 2, effort="quick").loadings.shape == (6, 1)


# --- whole numbers that would be rounded ----------------------------------------------------------


BIG = 2**53 + 1  # the first whole number that is no float64


def _with_numbers(numbers) -> pd.DataFrame:
    return _factors(20, 3, 41).assign(id=numbers)


def _rounded() -> dict[str, object]:
    from decimal import Decimal

    numbers = [BIG + j for j in range(20)]
    some = [*numbers[:-1], None]
    X = _with_numbers(np.array(numbers))
    return {
        "int64": X,
        "negative": _with_numbers(-np.array(numbers)),
        "uint64": _with_numbers(np.array([2**63 + number for number in numbers], dtype=np.uint64)),
        "Int64": _with_numbers(pd.array(some, dtype="Int64")),
        "Decimal": _with_numbers([Decimal(number) for number in numbers]),
        "text": _with_numbers([str(number) for number in numbers]),
        "array": np.column_stack([np.arange(20), X["id"]]),
        "chunks": [X[:10], X[10:]],
        "arrow": pa.table({"v0": X["v0"], "v1": X["v1"], "id": pa.array(some)}),
        "arrow decimal": pa.table({"v0": X["v0"], "id": pa.array([Decimal(number) for number in numbers])}),
    }


@pytest.mark.parametrize("kind", list(_rounded()))
def test_whole_numbers_that_would_be_rounded_are_refused(kind):
    data = _rounded()[kind]
    name = "x2" if kind == "array" else "'id'"
    with pytest.raises(errors.ColumnTypeError, match=rf"Column {name} contains -?\d+, a whole number beyond"):
        sp.spca(data, 1, 1, na="drop")
    if kind not in ("array", "arrow decimal"):  # other columns are not concerned
        assert len(sp.spca(data, 1, 1, formula="~ v0 + v1", effort="quick").loadings) == 2


@pytest.mark.parametrize("large", [False, True])
def test_whole_numbers_in_files_are_refused(tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(opening, "LARGEST_TEXT", 0)
        monkeypatch.setattr(opening, "LARGEST_PARQUET", 0)
    numbers = [BIG + j for j in range(20)]
    texts = {
        "plain": numbers,
        "missing": [*numbers[:-1], "NA"],
        "point": [f"{number}.0" for number in numbers],
        "beyond uint64": [f"{number}000001" for number in numbers],
        "one among decimals": [*(str(j / 4) for j in range(19)), str(BIG)],
    }
    for column in texts.values():
        _with_numbers(column).to_csv(path := tmp_path / "x.csv", index=False)
        with pytest.raises(errors.ColumnTypeError, match=r"Column 'id' contains \d+, a whole number beyond"):
            sp.spca(path, 1, 1, na="drop")
        assert len(sp.spca(path, 1, 1, formula="~ v0 + v1", effort="quick").loadings) == 2
    _with_numbers(pd.array([*numbers[:-1], None], dtype="Int64")).to_parquet(path := tmp_path / "x.parquet")
    with pytest.raises(errors.ColumnTypeError, match=f"Column 'id' contains {BIG}"):
        sp.spca(path, 1, 1, na="drop")
    assert len(sp.spca(path, 1, 1, formula="~ v0 + v1", effort="quick").loadings) == 2


def test_large_whole_numbers_that_are_floats_are_taken(tmp_path):
    """2**60 plus multiples of 2**10 have 50 digits in base 2; so has 2**53 itself."""
    X = _with_numbers(2**60 + 2**10 * np.arange(20))
    wanted = sp.spca(X.astype(float), 1, 1, effort="quick").loadings
    X.to_csv(path := tmp_path / "x.csv", index=False)
    for data in (X, path, X.to_numpy(dtype=float)):
        np.testing.assert_array_equal(sp.spca(data, 1, 1, effort="quick").loadings, wanted)
    assert sp.spca(_with_numbers(2**53 - np.arange(20)), 1, 1, effort="quick").loadings.shape == (4, 1)


# --- a changed header -----------------------------------------------------------------------------


def test_names_that_have_changed_in_a_large_file_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "LARGEST_TEXT", 0)
    _factors(30, 3, 51).to_csv(path := tmp_path / "x.csv", index=False)
    fit = sp.spca(path, 1, 2, method="bcd-l0")
    assert fit.scores.to_frame().shape == (30, 1)
    path.write_text(path.read_text().replace("v0,v1,v2", "v1,v0,v2", 1))
    with pytest.raises(errors.FileError, match=r"its columns were 'v0', 'v1', 'v2', and now are 'v1', 'v0'"):
        fit.scores.to_frame()
    with pytest.raises(errors.FileError, match="has changed since it was first read"):
        fit.refit(formula="~ v0 + v1")
