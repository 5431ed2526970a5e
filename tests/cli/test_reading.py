"""Tables of text and workbooks: the values that come in are those in the file, or the file is refused."""

from __future__ import annotations

import argparse
import io
import re
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import spcastat as sp
from spcastat import cli
from spcastat.cli import main
from spcastat.cli.input_tables import read_new
from spcastat.errors import DataError
from spcastat.inputs import opening
from spcastat.reading.textfiles import TextOptions, TextTable

from .calls import TABLE, TEXTS, make_workbooks

TRUE = pd.DataFrame(
    [[float(cell) for cell in line.split(",")] for line in TABLE.split("\n")[1:-1]], columns=list("abcd")
)


def read(path, **given):
    """Read a file as the command does."""
    names = ("index_col", "sep", "decimal", "header", "encoding", "sheet", "na_values", "skip_rows", "codes")
    return read_new(argparse.Namespace(data=str(path), **(dict.fromkeys(names) | given)))


@pytest.fixture
def written(tmp_path):
    def write(name):
        content = TEXTS[name]
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    "name",
    [
        *("ok.csv", "ok.tsv", "crlf.csv", "cr.csv", "blanklines.csv"),
        *("ok.csv.gz", "ok.csv.bz2", "ok.tsv.xz", "bom.csv", "utf16.csv", "utf16be.csv", "utf32.csv"),
    ],
)
def test_every_notation_of_a_table_gives_its_numbers(written, name):
    pd.testing.assert_frame_equal(read(written(name)), TRUE, check_dtype=False)


@pytest.mark.parametrize(("name", "sep"), [("tabs.csv", "\t"), ("bars.csv", "|"), ("spaces.csv", " ")])
def test_separators_are_options(written, name, sep):
    pd.testing.assert_frame_equal(read(written(name), sep=sep), TRUE, check_dtype=False)


def test_a_file_that_shows_another_separator_is_refused_with_the_options_that_read_it(tmp_path, capsys):
    """A name may hold a comma; the given separator is kept where it fits."""
    path = tmp_path / "dust.csv"
    path.write_text("PM2,5;NO2;SO2\n1,5;2,1;3\n2,5;1,25;1\n4,5;2,5;2,5\n0,5;2,75;4,5\n", encoding="utf-8")
    command = ["fit", str(path), "--k", "1", "--card", "1"]
    assert main(command) == 1
    told = capsys.readouterr().err
    assert "line 2 has 3 fields, and the first line names 2 columns" in told
    assert told.endswith("; give --sep semicolon --decimal ,.\n")
    assert main([*command, "--sep", "semicolon", "--decimal", ","]) == 0
    assert "PM2,5" in capsys.readouterr().out
    path.write_text("a;b,c\n1,2\n3,5\n4,1\n", encoding="utf-8")
    assert main([*command, "--format", "text"]) == 0
    assert "a;b" in capsys.readouterr().out


def test_labels_stay_the_text_that_they_are(written):
    labels = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "=1", '=HYPERLINK("x","y")', "-5", "007", "a", "NA", "'=1"]
    assert read(written("evil.csv"), index_col="id").index.tolist() == [*labels, "Ω"]
    data = read(written("labels.csv"))
    assert (data.index.tolist(), data.index.name) == ([*"ABCDEFGHIJKL"], None)


def test_quotation_marks_keep_separators_and_line_ends(written):
    assert read(written("quotes.csv")).columns.tolist() == ["a", "b, c", "d\ne"]
    data = read(written("multiline.csv"), index_col="id")
    assert data.index.tolist() == ["x\ny", "z, w", "v"]
    assert data["b"].tolist() == [2, 1, 3]


def test_excel_gives_the_numbers_of_the_sheet(tmp_path, capsys):
    pytest.importorskip("openpyxl")
    make_workbooks(tmp_path)
    for name, sheet in (("ok.xlsx", None), ("two.xlsx", "S2"), ("holes.xlsx", None)):
        pd.testing.assert_frame_equal(read(tmp_path / name, sheet=sheet), TRUE, check_dtype=False)
    assert capsys.readouterr().err == ""
    read(tmp_path / "two.xlsx")
    assert "contains the sheets 'S1', 'S2'; 'S1' is read" in capsys.readouterr().err
    missing = read(tmp_path / "missing.xlsx")
    assert missing["a"].isna().tolist() == [False, True, False, True]
    assert missing["a"].dtype == float


NUMBERS = st.one_of(
    st.floats(-1e9, 1e9, allow_nan=False), st.integers(-(10**9), 10**9).map(float), st.just(float("nan"))
)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"'), min_size=1)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=8),
    words=st.lists(WORDS.filter(str.strip), min_size=8, max_size=8),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_pandas_writes_is_read_back(tmp_path_factory, values, words, separator, decimal, encoding, end):
    labels = words[: len(values)]
    frame = pd.DataFrame(values, columns=["a", "b c", "d"], index=labels)
    path = tmp_path_factory.getbasetemp() / "written.csv"
    frame.to_csv(path, sep=separator, decimal=decimal, encoding=encoding, lineterminator=end)
    found = TextTable(str(path), TextOptions(separator, decimal)).read()
    assert found.index.tolist() == [label.strip() for label in labels]
    # pandas reads decimals to within one unit in the last place
    pd.testing.assert_frame_equal(found.astype(float), frame.set_axis(found.index), rtol=1e-14)


@settings(max_examples=60, deadline=None)
@given(content=st.one_of(st.binary(max_size=200), st.text('a1,;"\n\r\t\0 =.', max_size=60).map(str.encode)))
@example(content=b'"\t"')  # a quoted blank in the only line
def test_any_bytes_are_a_table_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(content)
    err, stderr = io.StringIO(), sys.stderr
    try:
        sys.stderr = err
        code = main(["fit", str(path), "--k", "1", "--card", "1"])
    finally:
        sys.stderr = stderr
    assert code in (0, 1)
    last = err.getvalue().splitlines()
    assert code == 0 or last[-1].startswith("spcastat: error: ")
    assert "any.csv cannot be read: Error" not in err.getvalue()  # of a reader in its own words


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        ("fit", "--k", "1", "--card", "2"),
        ("choose", "--k", "1"),
    ],
    ids=lambda command: command[0],
)
def test_a_correlation_matrix_is_not_taken_for_rows(tmp_path, monkeypatch, capsys, command, labelled):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.random.default_rng(0).normal(size=(40, 5)), columns=list("abcde")).corr().to_csv(
        "R.csv", index=labelled
    )
    first, *options = command
    assert main([first, "R.csv", *options]) == 1
    assert "R.csv looks like a covariance or correlation matrix" in (told := capsys.readouterr().err)
    assert told.rstrip().endswith("give --covariance.")
    assert main([first, "R.csv", *options, "--covariance", "--n-obs", "40", "--no-progress"]) == 0


@pytest.mark.parametrize("labelled", [True, False])
def test_a_matrix_in_a_large_file_is_not_taken_for_rows_either(tmp_path, monkeypatch, capsys, labelled):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opening, "LARGEST_TEXT", 0)
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 5)), columns=list("abcde"))
    data.corr().to_csv("R.csv", index=labelled)
    data.to_csv("rows.csv", index=False)
    assert main(["fit", "R.csv", "--k", "1", "--card", "2"]) == 1
    assert "R.csv looks like a covariance or correlation matrix" in capsys.readouterr().err
    with pytest.raises(DataError, match="look like a covariance or correlation matrix"):
        sp.spca("R.csv", 1, 2)
    assert main(["fit", "rows.csv", "--k", "1", "--card", "2"]) == 0
    assert "(the function that reads rows.csv)" in capsys.readouterr().out
    assert "(text file rows.csv)" in str(sp.spca("rows.csv", 1, 2))


# --- Of a Parquet file only the columns that a command looks at are read --------------------------

pytest.importorskip("pyarrow")


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 6)), columns=[*"abcdef"])
    X["a"] += X["b"]
    X["w"], X["who"], X["text"] = rng.integers(1, 3, 60), [f"r{i}" for i in range(60)], "words"
    X.to_parquet(tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


@pytest.fixture
def parquet_read(monkeypatch):
    """The columns that pyarrow was asked for."""
    from pyarrow import parquet

    told = []
    in_batches, whole = parquet.ParquetFile.iter_batches, pd.read_parquet

    def batches(self, *given, columns=None, **further):
        told.append(columns)
        return in_batches(self, *given, columns=columns, **further)

    def table(path, columns=None, **further):
        told.append(columns)
        return whole(path, columns=columns, **further)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", batches)
    monkeypatch.setattr(pd, "read_parquet", table)
    return told


CASES = [
    (["--columns", "c,a,b"], ["a", "b", "c"]),
    (["--columns", "c,a,b", "--weights", "w"], ["a", "b", "c", "w"]),
    (["--columns", "c,a,b", "--index-col", "who"], ["a", "b", "c", "who"]),
]


@pytest.mark.parametrize(("arguments", "wanted"), CASES)
@pytest.mark.parametrize("large", [False, True])
def test_only_what_a_command_looks_at_is_read(
    path, parquet_read, capsys, monkeypatch, arguments, wanted, large
):
    if large:
        monkeypatch.setattr(opening, "LARGEST_PARQUET", 0)
    assert cli.main(["fit", path, "--k", "1", "--card", "2", "--method", "bcd-l0", *arguments]) == 0
    assert parquet_read
    assert all(one == wanted for one in parquet_read)
    found = capsys.readouterr().out
    parquet_read.clear()
    monkeypatch.setattr("spcastat.cli.input_tables.needed_columns", lambda args, available: None)
    assert cli.main(["fit", path, "--k", "1", "--card", "2", "--method", "bcd-l0", *arguments]) == 0
    assert capsys.readouterr().out == found  # and nothing depends on the others


# --- Clusters, strata, blocks and sampling weights on the command line give what the functions give ---


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    X[:, :3] += 1.5 * rng.normal(size=(120, 1))
    groups = np.repeat(np.arange(24), 5)
    frame = pd.DataFrame(X, columns=[*"abcdef"])
    frame = frame.assign(
        school=[f"s{one}" for one in groups], region=groups // 8, w=rng.uniform(0.5, 2.0, 120)
    )
    frame.to_csv(tmp_path / "pupils.csv", index=False)
    return tmp_path / "pupils.csv", frame


def test_columns_that_group_rows_are_not_fitted(table, capsys):
    path, frame = table
    options = ["--clusters", "school", "--strata", "region", "--weights", "w", "--weights-are", "sampling"]
    assert cli.main(["fit", str(path), "--k", "1", "--card", "3", *options, "--bootstrap", "9"]) == 0
    said = capsys.readouterr().out
    given = {"clusters": "school", "strata": "region", "weights": "w", "weights_are": "sampling"}
    fit = sp.spca(frame, 1, 3, **given)
    assert str(fit.bootstrap(9).summary()) in said
    assert "24 clusters of 5 rows in 3 strata, with sampling weights" in said


def test_a_choice_among_named_columns_and_blocks(table, capsys):
    path, frame = table
    columns = ["--columns", "a,b,c,d,e"]
    assert cli.main(["choose", str(path), "--k", "1", *columns, "--clusters", "school"]) == 0
    printed = str(sp.choose(frame[[*"abcde", "school"]], 1, clusters="school"))
    answer = re.sub(
        r":\s+choice\.alternatives", "", printed.split("More: ")[0].rstrip()
    )  # no attributes in a shell
    assert answer in capsys.readouterr().out
    assert (
        cli.main(
            ["fit", str(path), "--k", "1", "--card", "2", *columns, "--block-length", "7", "--format", "text"]
        )
        == 0
    )
    assert "blocks of 7 rows in their order" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--block-length", "long"], "a number of rows, or auto"),
        (["--clusters", "class"], "there is no column 'class'"),
        (["--clusters", "school", "--drop", "school"], "give it once"),
        (["--block-length", "5", "--clusters", "school"], "Give one of them"),
    ],
)
def test_refusals(table, capsys, options, words):
    try:
        code = cli.main(["fit", str(table[0]), "--k", "1", "--card", "2", *options])
    except SystemExit as ended:  # argparse
        code = ended.code
    assert code != 0
    assert words in capsys.readouterr().err
