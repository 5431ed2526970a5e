"""What can go wrong with a stream is told with its chunk and file, and leaves nothing behind."""

from __future__ import annotations

import errno
import json
import os
import re
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sps
from pyarrow import parquet

import spcastat as sp
from spcastat import errors
from spcastat.errors import DataError, FileError, OptionError
from spcastat.fit import archive as atomic
from spcastat.linalg.operators import GRAM_ORDER

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(60, 4)) @ RNG.normal(size=(4, 4)), columns=list("abcd"))
HALVES = [FRAME[:30], FRAME[30:]]


def second(**changes):
    """The chunks with columns of the second one changed."""
    return [HALVES[0], HALVES[1].assign(**changes)]


def raises(family, message, data, **options):
    """Assert that a fit is refused with this family and message (whatever its spaces)."""
    with pytest.raises(family) as caught:
        sp.spca(data, **{"k": 1, "card": 2, "method": "bcd-l0", **options})
    assert type(caught.value) is family
    assert re.search(message, str(caught.value)), str(caught.value)


WHERE = r"^chunk 2 of the list of 2 chunks \(rows 30 to 59\): "


@pytest.mark.parametrize(
    ("chunks", "family", "message"),
    [
        (second(e=1.0), errors.DataError, "has in addition 'e'"),
        ([HALVES[0], HALVES[1].drop(columns="b")], errors.DataError, "lacks 'b'"),
        ([HALVES[0], HALVES[1].rename(columns={"b": "B"})], errors.DataError, "lacks 'b' and has.* 'B'"),
        ([HALVES[0], HALVES[1].to_numpy()], errors.DataError, "The columns of the first chunk have names"),
        ([HALVES[0].to_numpy(), HALVES[1]], errors.DataError, "The columns of the first chunk have no names"),
        ([HALVES[0].to_numpy(), HALVES[1].to_numpy()[:, 1:]], errors.ShapeError, "has 3 columns; the first"),
        (second(b=np.nan), errors.MissingValuesError, "30 missing values in 30 of 30 rows, in 'b'"),
        (second(b=np.inf), errors.InfiniteValuesError, "30 infinite values in 30 rows, in 'b'"),
        (second(b="x"), errors.ColumnTypeError, "does not contain real numbers: 'b'"),
        (second(b=pd.Timestamp("2020")), errors.ColumnTypeError, "'b'"),
    ],
)  # fmt: skip
def test_a_chunk_that_does_not_fit_is_named(chunks, family, message):
    raises(family, WHERE + ".*" + message, chunks)


@pytest.mark.parametrize("kind", [sps.csr_array, sps.csc_array])
def test_sparse_chunks_are_checked(kind):
    for value, family in [(np.nan, errors.MissingValuesError), (np.inf, errors.InfiniteValuesError)]:
        bad = HALVES[1].to_numpy(copy=True)
        bad[4, 2] = value
        raises(family, WHERE + ".*1 .*in 'x3'", [kind(HALVES[0].to_numpy()), kind(bad)])


def test_the_file_is_named(tmp_path):
    HALVES[0].to_parquet(tmp_path / "a.parquet")
    HALVES[1].assign(b=np.nan).to_parquet(tmp_path / "b.parquet")
    where = rf"^chunk 2 of Parquet file b.parquet in folder {tmp_path.name} \(rows 30 to 59\): 30 missing"
    raises(errors.MissingValuesError, where, tmp_path)


def test_sources_that_can_be_walked_only_once():
    for once in [iter(HALVES), (piece for piece in HALVES), map(len, HALVES)]:
        raises(errors.DataError, "read only once.*lambda", once)
    held = iter(HALVES)
    raises(errors.DataError, "the lambda function gave the same iterator again", lambda: held)


@pytest.mark.parametrize("data", [lambda: [], [FRAME[:0]], [FRAME[:1]], [FRAME[:0], FRAME[:1]]])
def test_too_few_rows(data):
    raises(
        errors.TooFewRowsError,
        "^The (lambda function|list of . chunks?) has (no rows|. rows?); at least two",
        data,
    )


def test_an_empty_parquet_file_and_folder(tmp_path):
    FRAME[:0].to_parquet(tmp_path / "x.parquet")
    raises(errors.TooFewRowsError, "Parquet file x.parquet has 0 rows", tmp_path / "x.parquet")
    (tmp_path / "folder").mkdir()
    raises(errors.FileError, "no Parquet file.*It is empty", tmp_path / "folder")


def test_files_that_cannot_be_read(tmp_path):
    raises(errors.FileError, "There is no file .*none.parquet", tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n" * 10)
    raises(
        errors.FileError,
        "^Parquet file text.parquet cannot be read: .* may be incomplete",
        tmp_path / "text.parquet",
    )
    raises(errors.DataError, "no such file; check the name.*working directory", "nothing.csv")
    raises(errors.DataError, "no such file.*with pandas first", "")
    (tmp_path / "there.csv").write_text("a,b\n1,2\n")
    raises(errors.TooFewRowsError, r"^Text file there\.csv has 1 row", str(tmp_path / "there.csv"))
    (tmp_path / "there.txt").write_text("a,b\n1,2\n")
    raises(errors.DataError, r"there\.txt'; a path must be.*with pandas first", str(tmp_path / "there.txt"))
    raises(
        errors.FileError,
        "the lambda function cannot be opened: .*none.csv",
        lambda: pd.read_csv("none.csv", chunksize=9),
    )


def test_a_damaged_file_is_named_with_the_chunk(tmp_path):
    path = tmp_path / "x.parquet"
    FRAME.to_parquet(path, row_group_size=20, compression="gzip")
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 3] = b"\xff" * (len(content) // 3 - len(content) // 4)
    path.write_bytes(content)
    raises(errors.FileError, "^chunk . of Parquet file x.parquet cannot be read: .*may be incomplete", path)


def test_what_fails_in_a_function_of_the_user():
    def broken():
        yield HALVES[0]
        raise OSError("the disk is gone")

    raises(errors.FileError, "^chunk 2 of the function broken cannot be read: the disk is gone", broken)
    raises(errors.DataError, "^The lambda function failed: ZeroDivisionError", lambda: 1 / 0)
    raises(errors.DataError, "gave a value of type DataFrame", lambda: FRAME)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("~ scale(a) + b", r"'scale\(a\)' is estimated from all rows"),
        ("~ poly(a, 2)", r"'poly\(a, 2\)' is estimated from all rows"),
        ("~ C(a) + b", r"'C\(a\)' is estimated from all rows"),
        ("~ I(a - a.mean()) + b", "depend on the other rows"),
        ("~ np.cumsum(a) + b", r"'np.cumsum\(a\)' depend on the other rows"),
    ],
)
def test_terms_that_need_more_than_their_row(formula, message):
    raises(errors.FormulaError, message, HALVES, formula=formula)


@pytest.mark.parametrize("term", ["t / t.max()", "t - t.min()", "t - t.iloc[-1]", "r / r.max()"])
def test_terms_of_a_rising_column_and_of_levels(term):
    # Half of the rows alone may have the same extremes as all that are tried.
    rising = [half.assign(t=half.index + 1.0, r=half.index % 3 + 1.0) for half in HALVES]
    raises(errors.FormulaError, "depend on the other rows", rising, formula=f"~ a + b + I({term})")


def test_options_that_streams_do_not_have():
    raises(
        errors.OptionError, "levels in the first chunk would be", HALVES, formula="~ a", categorical="dummy"
    )
    raises(errors.NoRowsError, "needs rows in memory", HALVES, method="rspca-l0")
    raises(errors.FormulaError, "have no names", [FRAME.to_numpy()], formula="~ a")


def test_weights_that_do_not_fit(tmp_path):
    for n in [59, 61, 3]:
        raises(
            errors.WeightsError, f"weights has {n} values for 60 rows of the list", HALVES, weights=np.ones(n)
        )
    FRAME.to_parquet(tmp_path / "x.parquet")
    raises(
        errors.WeightsError,
        "59 values for 60 rows of Parquet file",
        tmp_path / "x.parquet",
        weights=np.ones(59),
    )
    labelled = pd.Series(1.0, index=FRAME.index[::-1])
    raises(errors.WeightsError, r"weights.to_numpy\(\)", HALVES, weights=labelled)
    raises(errors.WeightsError, "of type int were given", HALVES, weights=3)
    raises(errors.WeightsError, "negative", HALVES, weights=-np.ones(60))
    holes = [FRAME.assign(a=FRAME["a"].where(FRAME.index < 1)), FRAME[:0]]
    raises(errors.TooFewRowsError, "has 1 row after 59", holes, na="drop")
    holes = [FRAME.assign(a=FRAME["a"].where(FRAME.index < 3))]
    light = np.r_[np.full(3, 0.1), np.ones(57)]
    raises(errors.WeightsError, "sum to 0.3", holes, na="drop", weights=light)


# --- writing scores -------------------------------------------------------------------------------


class FullDisk:
    """A file on a disk that is full after some bytes."""

    def __init__(self, file, room):
        self._file, self._room = file, room

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def write(self, data):
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)


@pytest.mark.parametrize("room", [0, 10, 600])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, room):
    fit = sp.spca(HALVES, k=2, card=2, method="bcd-l0")
    target = tmp_path / "scores.parquet"
    target.write_text("before")
    monkeypatch.setattr(atomic, "open", lambda *given: FullDisk(given[0].open(given[1]), room), raising=False)
    with pytest.raises(errors.FileError, match=r"scores.parquet cannot be written: No space left"):
        fit.transform_to(target)
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["scores.parquet"]


def test_an_interrupt_leaves_what_was_there(tmp_path):
    interrupted = []

    def chunks():
        yield HALVES[0]
        if interrupted:
            raise KeyboardInterrupt
        yield HALVES[1]

    chunks.files = []  # it reads no file, so that an existing one may be replaced
    fit = sp.spca(chunks, k=2, card=2, method="bcd-l0")
    interrupted.append(True)
    for before in [None, "before"]:
        target = tmp_path / "scores.parquet"
        if before:
            target.write_text(before)
        with pytest.raises(KeyboardInterrupt):
            fit.transform_to(target)
        assert [path.read_text() for path in tmp_path.iterdir()] == ([before] if before else [])


def test_an_error_while_reading_is_no_error_of_writing(tmp_path):
    sizes = iter([HALVES, HALVES, second(b=np.nan)])
    fit = sp.spca(lambda: next(sizes), k=2, card=2, method="bcd-l0")
    with pytest.raises(errors.MissingValuesError, match=r"^chunk 2 of the lambda function"):
        fit.transform_to(tmp_path / "scores.parquet")
    FRAME.to_parquet(tmp_path / "x.parquet")
    fit = sp.spca(tmp_path / "x.parquet", k=2, card=2, method="bcd-l0")
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(errors.FileError, match=r"^chunk 1 of Parquet file x.parquet cannot be read"):
        fit.transform_to(tmp_path / "scores.parquet")
    assert not list(tmp_path.iterdir())


def test_a_target_that_is_no_file_is_refused(tmp_path):
    fit = sp.spca(FRAME, k=2, card=2, method="bcd-l0")
    os.mkfifo(tmp_path / "pipe")
    for target, what in [(tmp_path, "a folder"), (tmp_path / "pipe", "a device or a pipe")]:
        for write in [fit.transform_to, fit.save]:
            with pytest.raises(errors.FileError, match=f"cannot be written: it is {what}"):
                write(target)
    assert (tmp_path / "pipe").is_fifo()
    streamed = sp.spca(HALVES, k=2, card=2, method="bcd-l0")
    for target in [3, None, b"x", "", ".", "a\0b"]:
        for write in [streamed.transform_to, fit.transform_to, fit.save, fit.report]:
            with pytest.raises(errors.OptionError, match=r"^path="):
                write(target)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_paths_that_are_no_files(tmp_path):
    for path in ["s3://bucket/trips.parquet", "https://example.org/trips.parquet"]:
        raises(errors.DataError, f"'{path}', which is an address.*read_parquet", path)
    raises(errors.FileError, "There is no file 'a", "a\0b.parquet")


def test_a_parquet_file_with_two_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0, 2.0, 4.0])] * 2, names=["a", "a"])
    parquet.write_table(table, tmp_path / "x.parquet")
    raises(errors.DuplicateNamesError, "^Parquet file x.parquet: More than one.*'a'", tmp_path / "x.parquet")


def test_numbers_whose_squares_are_too_large_are_told_without_a_warning():
    large = [1e200 * piece for piece in HALVES]
    raises(errors.DataError, "too large", large)
    fit, plain = (
        sp.spca(large, 1, 2, scale=True, method="bcd-l0"),
        sp.spca(HALVES, 1, 2, scale=True, method="bcd-l0"),
    )  # these variances are 1
    np.testing.assert_allclose(fit.loadings, plain.loadings, atol=1e-12)


# --- A source that gives another number of rows in a later pass is refused ------------------------

N, P = 4000, 6
CHANGED_RNG = np.random.default_rng(5)
X = CHANGED_RNG.normal(size=(N, 2)) @ CHANGED_RNG.normal(size=(2, P)) + CHANGED_RNG.normal(size=(N, P))


def pieces(values, size=1000):
    return [values[start : start + size] for start in range(0, len(values), size)]


class Source:
    """Chunks that can be exchanged between passes."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __call__(self):
        return iter(self.chunks)


def walk_scores(fit, tmp_path):
    fit.scores.to_frame()


def walk_diagnostics(fit, tmp_path):
    fit.diagnostics()["T2"]


def walk_transform(fit, tmp_path):
    fit.transform_to(tmp_path / "scores.parquet")


WALKS = {"scores": walk_scores, "diagnostics": walk_diagnostics, "transform_to": walk_transform}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_another_number_of_rows_is_reported(walk, tmp_path):
    source = Source(pieces(X))
    fit = sp.spca(source, 2, 3, method="bcd-l0")
    source.chunks = pieces(X[:-1])
    message = "The function Source gave 4,000 rows at first and 3,999 rows when it was read again"
    with pytest.raises(DataError, match=message):
        walk(fit, tmp_path)
    assert not list(tmp_path.iterdir())  # no file with some of the scores
    source.chunks = pieces(X)
    walk(fit, tmp_path)


@pytest.mark.parametrize("size", [7, 999, 1000, 1500, N])
def test_other_chunks_of_the_same_rows_are_no_change(size):
    source = Source(pieces(X))
    fit = sp.spca(source, 2, 3, method="bcd-l0")
    wanted = fit.scores.to_frame().to_numpy()
    source.chunks = pieces(X, size)
    # products of 6 numbers in blocks of other sizes
    np.testing.assert_allclose(fit.scores.to_frame().to_numpy(), wanted, rtol=0, atol=1e-12)


# --- What a stream does not serve is refused before its rows are read -----------------------------


class Counted:
    """Two chunks of `p` columns, and how many chunks were read."""

    def __init__(self, p, n=20):
        self.p, self.n, self.read = p, n, 0

    def __iter__(self):
        for seed in range(2):
            self.read += 1
            yield np.random.default_rng(seed).normal(size=(self.n, self.p))


WIDE = GRAM_ORDER + 1


@pytest.mark.parametrize(
    ("call", "p", "family", "message"),
    [
        (lambda x: sp.spca(x, 2, 3, method="greedy"), WIDE, errors.OptionError, "method='joint'"),
        (lambda x: sp.spca(x, 2, 3, method="bcd-l0", n_init=4), WIDE, errors.OptionError, "pass"),
        (lambda x: sp.spca(x, 2, 3, method="bcd-l0"), WIDE, errors.OptionError, "with objective='pev'"),
        (lambda x: sp.spca(x, 2, 3, method="spcagrid"), 5, errors.NoRowsError, "needs rows in memory"),
        (lambda x: sp.spca(x, 6, 3), 5, errors.ComponentsError, "at most 5"),
        (lambda x: sp.spca(x, 2, 6), 5, errors.CardinalityError, "card"),
        (lambda x: sp.spca(x, 2, 3, rng="a"), 5, errors.OptionError, "rng"),
        (
            lambda x: sp.spca_path(x, 2, cards=[3], method="greedy"),
            WIDE,
            errors.OptionError,
            "method='joint'",
        ),
        (lambda x: sp.choose(x, 2, cards=[3], method="greedy"), WIDE, errors.OptionError, "method='joint'"),
        (lambda x: sp.choose(x, by="ebic", kmax=WIDE), WIDE, errors.ComponentsError, "kmax"),
        (lambda x: sp.choose(x, method="greedy"), WIDE, errors.OptionError, "method='joint'"),
        (lambda x: sp.choose_k(x, kmax=0), WIDE, errors.ComponentsError, "kmax"),
    ],
)  # fmt: skip
def test_only_the_first_chunk_is_read_before_a_refusal(call, p, family, message):
    source = Counted(p)
    with pytest.raises(family, match=message):
        call(source)
    assert source.read <= 2  # what it is, and its columns: the second chunk was never asked for


def test_more_components_than_rows_are_refused_where_their_number_is_known(tmp_path):
    path = tmp_path / "few.parquet"
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 9)), columns=list("abcdefghi"))
    X.assign(a=[1.0, 2.0, np.nan, 3.0]).to_parquet(path)  # which a pass over the rows would refuse
    with pytest.raises(errors.ComponentsError, match="4 rows have rank at most 3"):
        sp.spca(path, 4, 2)


# --- Parquet files with damaged notes of pandas, and Arrow batches without pyarrow ----------------

TABLE = pa.table({"a": [1.0, 2.0, 4.0, 3.0], "b": [2.0, 1.0, 0.0, 1.0], "c": [0.0, 1.0, 3.0, 9.0]})


def stored(folder, labels):
    noted = {"index_columns": [{"kind": "range", "name": None, **labels}], "columns": []}
    path = folder / "rows.parquet"
    pq.write_table(TABLE.replace_schema_metadata({"pandas": json.dumps(noted)}), path)
    return path


@pytest.mark.parametrize(
    "labels",
    [{"start": 0, "stop": 4, "step": 0}, {"start": "x", "stop": 4, "step": 1}, {"start": 0, "stop": 4}],
)
def test_labels_that_no_range_has_are_refused(tmp_path, labels):
    with pytest.raises(FileError, match="labels that pandas writes into a Parquet file are damaged"):
        sp.spca(stored(tmp_path, labels), 1, 2)


class Batches:
    """Gives Arrow batches, of a library that needs no pyarrow itself."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


def test_without_pyarrow_what_to_install_is_said(monkeypatch):
    sp.spca(Batches(), 1, 2)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match="A source of Arrow batches needs pyarrow, which is not installed"):
        sp.spca(Batches(), 1, 2)
