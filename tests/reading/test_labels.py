"""Labels of values and of rows: SPSS and Stata, stored indices, columns that number the rows."""

from __future__ import annotations

import sys
import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import spcastat as sp
from spcastat import cli
from spcastat.errors import ColumnTypeError, DataWarning, FileError, OptionError
from spcastat.inputs.opening import source_of
from spcastat.reading.textfiles import read_labelled

# --- Files of SPSS and Stata ----------------------------------------------------------------------

N = 60
RNG = np.random.default_rng(4)
COMMON = RNG.normal(size=N)
ANSWERS = {1: "never", 2: "sometimes", 3: "often", 4: "always"}
FRAME = pd.DataFrame(
    {
        "height": 170 + 8 * COMMON + RNG.normal(size=N),
        "weight": 70 + 9 * COMMON + RNG.normal(size=N),
        "age": RNG.integers(18, 80, N).astype(float),
        "sport": np.clip(np.round(2.5 + COMMON), 1, 4),
    }
)
FRAME.loc[3, "sport"] = np.nan


def written(path, frame=FRAME, labels=None, **how):
    """Write a file of SPSS or Stata as its suffix says."""
    labels = {"sport": ANSWERS} if labels is None else labels
    if path.suffix == ".dta":
        frame.to_stata(path, write_index=False, value_labels=labels, **how)
    else:
        pyreadstat = pytest.importorskip("pyreadstat")
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, **how)
    return path


@pytest.fixture(params=[".sav", ".dta"])
def suffix(request):
    return request.param


def test_labels_are_ordered_categories_in_the_order_of_their_numbers(tmp_path, suffix):
    data = source_of(written(tmp_path / f"survey{suffix}")).data
    answers = data["sport"]
    assert answers.dtype == pd.CategoricalDtype(list(ANSWERS.values()), ordered=True)
    np.testing.assert_array_equal(answers.cat.codes[answers.notna()], FRAME["sport"].dropna() - 1)
    assert answers.isna().tolist() == FRAME["sport"].isna().tolist()
    # 8 bytes a number in both formats: nothing is rounded
    pd.testing.assert_frame_equal(data.drop(columns="sport"), FRAME.drop(columns="sport"), check_exact=True)


def test_a_fit_of_a_file_is_that_of_its_frame(tmp_path, suffix):
    path = written(tmp_path / f"survey{suffix}")
    how = {"formula": "~ height + weight + age + sport", "categorical": "dummy", "na": "drop", "scale": True}
    answers = pd.Categorical(FRAME["sport"].map(ANSWERS), list(ANSWERS.values()), ordered=True)
    known = FRAME.assign(sport=answers)
    fit, expected = sp.spca(path, 2, 3, **how), sp.spca(known, 2, 3, **how)
    pd.testing.assert_frame_equal(fit.loadings, expected.loadings, check_exact=True)
    pd.testing.assert_frame_equal(fit.transform(path, na="drop"), expected.scores, atol=1e-12)
    with pytest.raises(ColumnTypeError, match="'sport'"):
        sp.spca(path, 1, 2)


def test_labels_that_do_not_occur_are_left_out(tmp_path, suffix):
    labels = {"sport": {**ANSWERS, 9: "no answer"}, "age": {-1.0: "refused"} if suffix == ".sav" else {}}
    frame = FRAME.assign(sport=FRAME["sport"].replace(2.0, 1.0))
    data = read_labelled(written(tmp_path / f"x{suffix}", frame, {k: v for k, v in labels.items() if v}))
    assert data["sport"].cat.categories.tolist() == ["never", "often", "always"]
    assert data["age"].dtype == float  # whose only label does not occur


def test_values_that_the_file_declares_missing_are_missing(tmp_path):
    frame = FRAME.assign(age=FRAME["age"].where(FRAME.index != 5, 99.0), name="")
    path = written(tmp_path / "x.sav", frame, {"age": {99: "refused"}}, missing_ranges={"age": [99]})
    data = read_labelled(path)
    assert data["age"].isna().tolist() == [i == 5 for i in range(N)]
    assert data["age"].dtype == float
    assert data["name"].isna().all()


def test_values_without_a_label_beside_labelled_ones_are_refused(tmp_path, suffix, capsys):
    path = written(tmp_path / f"x{suffix}", labels={"sport": {1: "never", 4: "always"}})
    message = r"some values of 'sport' have labels, but 2, 3 have none: .* with pd.read_(spss|stata)\(path"
    with pytest.raises(ColumnTypeError, match=message):
        sp.spca(path, 1, 1)
    call = ["fit", str(path), "--k", "1", "--card", "1", "--na", "drop"]
    assert cli.main(call) == 1
    told = capsys.readouterr().err
    assert "2, 3 have none" in told
    assert "with --codes." in told
    assert cli.main([*call, "--codes"]) == 0
    assert "59 rows and 4 variables" in capsys.readouterr().out
    assert cli.main([*call, "--columns", "height,weight,age"]) == 0  # labels of other columns do not matter
    assert "60 rows and 3 variables" in capsys.readouterr().out


def test_two_values_with_one_label_are_refused(tmp_path):
    path = written(tmp_path / "x.sav", labels={"sport": {1: "no", 2: "yes", 3: "yes", 4: "yes"}})
    with pytest.raises(ColumnTypeError, match="several values of 'sport' have the label 'yes'"):
        sp.spca(path, 1, 1)
    frame = FRAME.assign(sport=FRAME["sport"].fillna(1).astype(int))
    path = written(tmp_path / "y.dta", frame, {"sport": {1: "no", 2: "yes", 3: "maybe", 4: "always"}})
    path.write_bytes(path.read_bytes().replace(b"maybe\0", b"yes\0\0\0"))
    with pytest.raises(FileError, match=r"y\.dta cannot be read"):  # pandas refuses it
        sp.spca(path, 1, 1)


def test_files_that_are_empty_damaged_or_something_else_are_refused_in_one_sentence(tmp_path, suffix, capsys):
    whole = written(tmp_path / f"whole{suffix}").read_bytes()
    path = tmp_path / f"x{suffix}"
    kind = {".sav": "SPSS", ".dta": "Stata"}[suffix]
    contents = [
        (b"", "cannot be read: it is empty."),
        (whole[: len(whole) // 3], f"is it a complete file of {kind}?"),
        (b"a,b\n1,2\n" * 200, f"is it a complete file of {kind}?"),
    ]
    for content, words in contents:
        path.write_bytes(content)
        with pytest.raises(FileError) as caught:
            sp.spca(path, 1, 1)
        assert words in str(caught.value)
        assert cli.main(["fit", str(path), "--k", "1"]) == 1
        assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(FileError, match="4 columns and no rows"):
        sp.spca(written(path, FRAME[:0], {}), 1, 1)
    with pytest.raises(sp.errors.DataError, match="no such file"):
        sp.spca(tmp_path / f"nowhere{suffix}", 1, 1)


def test_without_pyreadstat_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "x.sav"
    path.write_bytes(b"$FL2")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(OptionError, match=r"pip install 'spcastat\[spss\]'"):
        sp.spca(path, 1, 1)


# --- Row labels that pandas stores among the columns ----------------------------------------------

pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

STORED_FRAME = pd.DataFrame(
    np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"), index=np.arange(60) * 1000 + 7
)
TABLE = pa.Table.from_pandas(STORED_FRAME)


def file(folder):
    STORED_FRAME.to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


class Stream:
    def __arrow_c_stream__(self, schema=None):
        return TABLE.__arrow_c_stream__(schema)


SOURCES = {
    "table": lambda folder: TABLE,
    "list of batches": lambda folder: TABLE.to_batches(max_chunksize=20),
    "function": lambda folder: lambda: iter(TABLE.to_batches(max_chunksize=20)),
    "stream": lambda folder: Stream(),
    "dataset": lambda folder: dataset.dataset(TABLE),
    "path": file,
    "narwhals": lambda folder: nw.from_native(TABLE),
    "polars": lambda folder: pl.from_arrow(TABLE),
    "LazyFrame": lambda folder: pl.scan_parquet(file(folder)),
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_index_of_pandas_labels_the_rows(source, tmp_path):
    if source == "LazyFrame" and not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this version of polars gives no batches")
    fit = sp.spca(SOURCES[source](tmp_path), 1, 2)
    assert list(fit.correlations.index) == list(STORED_FRAME.columns)
    # the trace of pandas' covariance matrix; sums over chunks have another order
    assert fit.total_variance == pytest.approx(STORED_FRAME.var().sum(), rel=1e-12)
    scores = fit.scores if isinstance(fit.scores, pd.DataFrame) else fit.scores.to_frame()
    assert scores.index.equals(STORED_FRAME.index)


def test_a_named_index_and_ranges():
    named = pa.Table.from_pandas(STORED_FRAME.rename_axis("id"))
    assert sp.spca(named, 1, 2).scores.index.equals(STORED_FRAME.index)
    levels = STORED_FRAME.set_axis(pd.MultiIndex.from_product([range(6), range(10)]))
    assert sp.spca(pa.Table.from_pandas(levels), 1, 2).scores.index.equals(levels.index)
    numbered = pa.Table.from_pandas(STORED_FRAME.set_axis(pd.RangeIndex(5, 65)))
    assert sp.spca(numbered, 1, 2).scores.index.equals(pd.RangeIndex(5, 65))
    # the metadata of a slice are those of the whole: its rows are numbered
    assert sp.spca(numbered.slice(3), 1, 2).scores.index.equals(pd.RangeIndex(57))


# --- Columns that number the rows are pointed out; ordinary whole numbers are not -----------------

NUMBERED_N = 40
NUMBERED_RNG = np.random.default_rng(0)
NUMBERED_FRAME = pd.DataFrame(NUMBERED_RNG.normal(size=(NUMBERED_N, 3)), columns=list("abc"))

NUMBERS = {
    "Unnamed: 0": np.arange(NUMBERED_N),
    "": NUMBERED_RNG.permutation(NUMBERED_N),
    "subject": np.arange(1, NUMBERED_N + 1),
    "ID": np.cumsum(NUMBERED_RNG.integers(1, 9, NUMBERED_N)),
    "SubjectID": np.repeat([3, 7, 8, 12], [9, 10, 11, 10]),  # sorted, several rows of each
    "person": np.tile(np.arange(NUMBERED_N // 4), 4),  # as often as the others
}
ORDINARY = {
    "count": NUMBERED_RNG.poisson(5, NUMBERED_N),
    "": NUMBERED_RNG.poisson(5, NUMBERED_N) + 0.5,
    "rank": np.arange(1, NUMBERED_N + 1),
    "year": np.arange(1980, 1980 + NUMBERED_N),
    "panel": np.tile(np.arange(NUMBERED_N // 4), 4),
    "time": np.arange(NUMBERED_N) / 10,
    "id": NUMBERED_RNG.normal(size=NUMBERED_N),
    "fluid": np.cumsum(NUMBERED_RNG.integers(1, 9, NUMBERED_N)),
    "person": NUMBERED_RNG.poisson(3, NUMBERED_N),
    "years": np.repeat(np.arange(1980, 1980 + NUMBERED_N // 4), 4),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_row_numbers_are_named(name):
    data = NUMBERED_FRAME.assign(**{name: NUMBERS[name]})
    for call in (
        lambda: sp.spca(data, 1, 2),
        lambda: sp.spca_path(data, 1, cards=[2]),
        lambda: sp.choose_k(data),
    ):
        with pytest.warns(DataWarning, match="like row numbers or identifiers") as caught:
            call()
        assert repr(name) in str(caught[0].message)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.spca(data.drop(columns=name), 1, 2)
        sp.spca(data, 1, 2, formula=f"~ a + b + `{name}`") if name else None


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_whole_numbers_are_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.spca(NUMBERED_FRAME.assign(**{name: ORDINARY[name]}), 1, 2)
        sp.spca(
            pd.DataFrame(np.arange(9.0)[:, None] + [[0, 1.5, 3]]).assign(b=NUMBERED_RNG.normal(size=9)), 1, 2
        )
