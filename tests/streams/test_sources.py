"""Every source of chunks gives the fit that the same rows give in memory, and is never written over."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import FileError, OptionError
from spcastat.streams import chunks

# The sums of a stream are joined in other pieces than those in memory: each of the some n = 700 additions
# rounds by 1e-16, and the gaps of the eigenvalues are of the order of the eigenvalues.
TOLERANCE = 1e-11


def rows(n=700, p=6):
    """Correlated columns with means and scales of their own."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + 0.5 * rng.normal(size=(n, p))
    return pd.DataFrame(X * np.arange(1, p + 1) + 5, columns=list("abcdefgh")[:p])


FRAME = rows()
CUTS = [(0, 100), (100, 101), (101, 500), (500, 500), (500, 700)]
PIECES = [FRAME.iloc[start:stop] for start, stop in CUTS]


class Table:
    """Something that starts anew whenever it is iterated over."""

    def __iter__(self):
        return iter(PIECES)


def as_parquet(folder):
    path = folder / "trips.parquet"
    FRAME.to_parquet(path, row_group_size=90)
    return path


def as_folder(folder):
    (folder / "part=1").mkdir()
    FRAME[:300].to_parquet(folder / "a.parquet")
    FRAME[300:].to_parquet(folder / "part=1" / "b.pq")
    FRAME[:9].to_parquet(folder / "_metadata.parquet")
    FRAME[:9].to_parquet(folder / ".hidden.parquet")
    return str(folder)


def as_csv(folder):
    path = folder / "trips.csv"
    FRAME.to_csv(path, index=False)
    return lambda: pd.read_csv(path, chunksize=90)


def as_memmap(folder):
    path = folder / "trips.npy"
    np.save(path, FRAME.to_numpy())
    return np.load(path, mmap_mode="r")


NAMED = {
    "file": as_parquet,
    "folder": as_folder,
    "csv": as_csv,
    "list": lambda folder: PIECES,
    "tuple": lambda folder: tuple(PIECES),
    "object": lambda folder: Table(),
    "function": lambda folder: lambda: iter(PIECES),
    "polars": lambda folder: [pl.from_pandas(piece) for piece in PIECES],
    "pyarrow": lambda folder: [pa.Table.from_pandas(piece, preserve_index=False) for piece in PIECES],
    "batches": lambda folder: [pa.RecordBatch.from_pandas(p, preserve_index=False) for p in PIECES],
}
UNNAMED = {
    "memmap": as_memmap,
    "view of a memmap": lambda folder: np.asarray(as_memmap(folder))[:, :],
    "arrays": lambda folder: [piece.to_numpy() for piece in PIECES],
    "csr": lambda folder: [sps.csr_array(piece.to_numpy()) for piece in PIECES],
    "csc": lambda folder: [sps.csc_matrix(piece.to_numpy()) for piece in PIECES],
}


def same(fit, other, scores=True):
    """Assert that two fits are the same up to rounding."""
    assert list(fit.loadings.index) == list(other.loadings.index)
    np.testing.assert_allclose(fit.loadings, other.loadings, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(fit.variance, other.variance, rtol=TOLERANCE)
    if scores:
        found = fit.scores.to_frame()
        np.testing.assert_allclose(
            found, other.scores, rtol=0, atol=TOLERANCE * other.scores.abs().max().max()
        )
        assert list(found.index) == list(other.scores.index)
        assert list(found.columns) == list(other.scores.columns)


@pytest.mark.parametrize("source", NAMED)
def test_tables_give_the_fit_of_their_rows(source, tmp_path):
    same(
        sp.spca(NAMED[source](tmp_path), k=2, card=3, method="bcd-l0", tol=1e-14),
        sp.spca(FRAME, k=2, card=3, method="bcd-l0", tol=1e-14),
    )


@pytest.mark.parametrize("source", UNNAMED)
def test_arrays_give_the_fit_of_their_rows(source, tmp_path):
    same(
        sp.spca(UNNAMED[source](tmp_path), k=2, card=3, method="bcd-l0", tol=1e-14),
        sp.spca(FRAME.to_numpy(), k=2, card=3, method="bcd-l0", tol=1e-14),
    )


@pytest.mark.parametrize(
    "options",
    [
        {"scale": True},
        {"center": False},
        {"center": False, "scale": True},
        {"center": np.arange(6.0), "scale": np.arange(1.0, 7.0)},
        {"method": "greedy"},
        {"method": "zou"},
        {"card": None, "variance": 0.8, "method": "controlled"},
        {"method": "joint", "effort": "quick"},
        {"method": "joint", "card": None, "variance": 0.8, "effort": "quick"},
    ],
    ids=str,
)
def test_every_option_is_that_of_rows_in_memory(options):
    options = {"card": 3, "method": "greedy", **options}
    same(sp.spca(PIECES, k=2, **options), sp.spca(FRAME, k=2, **options))


@pytest.mark.parametrize("source", [PIECES, [sps.csr_array(piece.to_numpy()) for piece in PIECES]])
def test_weights_go_by_position(source):
    w = np.random.default_rng(0).integers(0, 4, len(FRAME)).astype(float)
    whole = FRAME if isinstance(source[0], pd.DataFrame) else FRAME.to_numpy()
    same(
        sp.spca(source, k=2, card=3, weights=w, method="bcd-l0", tol=1e-14),
        sp.spca(whole, k=2, card=3, weights=w, method="bcd-l0", tol=1e-14),
    )
    same(
        sp.spca(source, k=2, card=3, weights=pd.Series(w), method="bcd-l0", tol=1e-14),
        sp.spca(whole, k=2, card=3, weights=w, method="bcd-l0", tol=1e-14),
    )


def test_rows_with_missing_values_are_dropped_with_their_weights_and_labels(tmp_path):
    holes = FRAME.copy()
    holes.iloc[[3, 100, 699], [1, 2, 3]] = np.nan
    w = np.random.default_rng(0).uniform(0.5, 2, len(FRAME))
    holes.to_parquet(tmp_path / "x.parquet")
    expected = sp.spca(holes, k=2, card=3, weights=w, na="drop", method="bcd-l0", tol=1e-14)
    for source in [[holes[:100], holes[100:]], tmp_path / "x.parquet"]:
        fit = sp.spca(source, k=2, card=3, weights=w, na="drop", method="bcd-l0", tol=1e-14)
        same(fit, expected)
        assert fit.scores.shape == (697, 2)
        assert "3 rows with missing values dropped" in " ".join(str(fit).split())


def test_a_formula_makes_the_columns_of_every_chunk(tmp_path):
    shift = 40.0
    formula = "~ b + np.log(a + shift) + a:c + I(d**2)"
    plain = "~ c + a"
    context = {"np": np, "shift": shift}
    FRAME.assign(text="x").to_parquet(tmp_path / "x.parquet")
    for source in [[piece.assign(text="x") for piece in PIECES], tmp_path / "x.parquet"]:
        options = {"k": 2, "card": 2, "formula": formula, "context": context, "scale": False}
        fit = sp.spca(source, **options, method="bcd-l0")
        expected = sp.spca(FRAME, **options, method="bcd-l0")
        same(fit, expected)
        same(fit.refit(formula=plain), sp.spca(FRAME, k=2, card=2, formula=plain, method="bcd-l0"))
        np.testing.assert_allclose(fit.transform(FRAME[:5]), expected.scores[:5], atol=1e-7)
    same(sp.spca(PIECES, k=1, card=2, formula="~ b + np.log(a + shift)", method="bcd-l0"), expected.refit(
        k=1, card=2, formula="~ b + np.log(a + shift)", context=context))  # fmt: skip


def test_a_formula_reads_only_its_columns(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    lists = pyarrow.array([[1.0]] * len(FRAME))  # of which no column of a frame of numbers can be made
    table = pyarrow.Table.from_pandas(FRAME).append_column("lists", lists)
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    same(sp.spca(tmp_path / "x.parquet", 1, 2, formula="~ c + a"), sp.spca(FRAME, 1, 2, formula="~ c + a"))


def test_integers_booleans_and_decimals_are_numbers(tmp_path):
    mixed = pd.DataFrame({"a": np.arange(50), "b": np.arange(50) % 3 == 0, "c": np.arange(50.0) ** 0.5})
    table = pa.Table.from_pandas(mixed)
    exact = pa.array(range(50)).cast(pa.decimal128(25, 2))
    pa.parquet.write_table(table.append_column("d", exact), tmp_path / "x.parquet")
    same(
        sp.spca(tmp_path / "x.parquet", k=1, card=2, method="bcd-l0"),
        sp.spca(mixed.assign(d=np.arange(50.0)), k=1, card=2, method="bcd-l0"),
    )


def test_rows_keep_labels_of_their_own(tmp_path):
    labelled = FRAME.set_axis([f"r{i}" for i in range(len(FRAME))])
    labelled.index.name = "trip"
    labelled.to_parquet(tmp_path / "x.parquet", row_group_size=90)
    for source in [[labelled[:300], labelled[300:]], tmp_path / "x.parquet"]:
        fit = sp.spca(source, k=2, card=3, method="bcd-l0", tol=1e-14)
        same(fit, sp.spca(labelled, k=2, card=3, method="bcd-l0", tol=1e-14))
        assert fit.scores.to_frame().index.name == "trip"
    FRAME[100:].to_parquet(tmp_path / "later.parquet")
    assert list(
        sp.spca(tmp_path / "later.parquet", k=1, card=3, method="bcd-l0").scores.to_frame().index
    ) == list(range(100, 700))


def test_the_source_is_never_written_to(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, FRAME.to_numpy())
    before = path.read_bytes()
    fit = sp.spca(np.load(path, mmap_mode="r+"), k=2, card=3, scale=True, method="bcd-l0")
    fit.scores.to_frame()
    assert path.read_bytes() == before
    pieces = [piece.copy() for piece in PIECES]
    sp.spca(pieces, k=2, card=3, scale=True, method="bcd-l0").scores.to_frame()
    for piece, original in zip(pieces, PIECES, strict=True):
        pd.testing.assert_frame_equal(piece, original)


def test_the_path_over_cardinalities_walks_over_the_rows_once():
    walks = []

    def chunks():
        walks.append(1)
        return PIECES

    path = sp.spca_path(chunks, k=1, cards=[1, 2, 3], method="bcd-l0")
    expected = sp.spca_path(FRAME, k=1, cards=[1, 2, 3], method="bcd-l0")
    for card in [1, 2, 3]:
        same(path[card], expected[card], scores=False)
    assert len(walks) == 2  # the first chunk tells the columns


def test_a_pass_tells_how_far_it_is(tmp_path):
    steps = []
    sp.spca(as_parquet(tmp_path), k=1, card=2, progress=steps.append, method="bcd-l0")
    told = [step for step in steps if step.stage == "means and cross-products"]
    assert (told[0].done, told[0].total, told[0].unit) == (0, 700, "rows")
    assert told[-1].done == 700
    assert told[-1].ended


def test_a_relative_path_stays_that_of_the_fit(tmp_path, monkeypatch):
    as_parquet(tmp_path)
    monkeypatch.chdir(tmp_path)
    fit = sp.spca("trips.parquet", k=1, card=3, method="bcd-l0")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(fit.scores.to_frame()) == 700


# --- A table of text goes in by its name, as a Parquet file does ----------------------------------


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("rows.csv", {}),
        ("rows.tsv", {"sep": "\t"}),
        ("rows.csv.gz", {}),
    ],
)
def test_the_fit_is_that_of_the_table(tmp_path, monkeypatch, name, how):
    monkeypatch.setattr(chunks, "rows_at_once", lambda columns: 50)  # four chunks
    data = sp.datasets.pitprops_sample().set_axis([f"{i:03}" for i in range(180)])
    path = tmp_path / name
    data.to_csv(path, **how)
    fit, whole = sp.spca(path, 2, 4), sp.spca(data, 2, 4)
    # sums over the rows of four chunks, in another order
    np.testing.assert_allclose(fit.loadings, whole.loadings, rtol=0, atol=1e-12)
    scores = pd.concat(list(fit.transform(path)))
    assert scores.index.tolist() == data.index.tolist()
    with pytest.raises(OptionError, match="read from"):
        fit.transform_to(path)


def test_what_cannot_be_read_for_certain_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b\n8.302;1.770\n9.115;2.340\n1.250;3.999\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"has one column .* give pd.read_csv\(path, sep=';'\)"):
        sp.spca(path, 1, 1)
    path.write_text("a;b\n8,302;1,770\n9,115;2,340\n1,250;3,999\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"line 2 has 3 fields.* pd.read_csv\(path, sep=';', decimal=','\)"):
        sp.spca(path, 1, 1)
    path.write_text("a,b\n1,2\n3\n", encoding="utf-8")
    with pytest.raises(FileError, match="line 3 has 1 field"):
        sp.spca(path, 1, 1)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 99)[:-9])
    with pytest.raises(FileError, match="cannot be read"):
        sp.spca(tmp_path / "cut.csv.gz", 1, 1)


# --- Memory: a Parquet file is never in memory as a whole, not even one of its row groups ---------

#: The file contains 100 columns of 600,000 numbers, 480 MB in one row group.
ROWS, COLUMNS = 600_000, 100

CODE = """
import sys
import spcastat as sp

def peak():
    return [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")][0] / 1024

sp.spca([sp.datasets.make_hastie()], k=1, card=4).scores.to_frame()
before = peak()
fit = sp.spca(sys.argv[1], k=3, card=10)
str(fit)
fit.transform_to(sys.argv[2])
print(peak(), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")
def test_a_large_row_group_is_never_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "large.parquet"
    table = pa.table({f"v{j}": rng.normal(size=ROWS) for j in range(COLUMNS)})
    pq.write_table(table, path, row_group_size=ROWS)
    del table
    command = [sys.executable, "-c", CODE, str(path), str(tmp_path / "scores.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole, added = (float(part) for part in done.stdout.split())
    # Pages and dictionaries of 100 columns are 2 to 3 MB each; the row group is 480 MB.
    assert whole < 500
    assert added < 360
    assert pq.read_metadata(tmp_path / "scores.parquet").num_rows == ROWS


# --- What a fit reads its rows from is never written over, by any way of writing and any name of the file ---

SOURCES_FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))


def contents(folder):
    """The bytes of every file below a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def writers(fit):
    """The ways of a fit to write a file."""
    return {
        "save": fit.save,
        "report": fit.report,
        "transform_to": fit.transform_to,
        "transform_to of others": lambda path: fit.transform_to(path, SOURCES_FRAME),
    }


@pytest.mark.parametrize("way", ["save", "report", "transform_to", "transform_to of others"])
@pytest.mark.parametrize("kind", ["file", "folder", "array"])
def test_the_rows_of_a_fit_are_not_written_over(tmp_path, monkeypatch, way, kind):
    folder = tmp_path / "data"
    folder.mkdir()
    if kind == "array":
        source = folder / "x.npy"
        np.save(source, SOURCES_FRAME.to_numpy())
        data = np.load(source, mmap_mode="r")[2:]
    else:
        pytest.importorskip("pyarrow")
        source = folder / "x.parquet"
        SOURCES_FRAME.to_parquet(source)
        data = folder if kind == "folder" else source
    monkeypatch.chdir(tmp_path)
    ending = ".html" if way == "report" else source.suffix  # reports have no other
    os.symlink(source, tmp_path / f"link{ending}")
    os.link(source, tmp_path / f"hard{ending}")
    os.symlink(folder, tmp_path / "linked")
    targets: list[Any] = [f"link{ending}", f"hard{ending}"]
    targets += [f"data/new{ending}", f"linked/new{ending}"] if kind == "folder" else []
    if way != "report":
        targets += [source, str(source), f"data/../data/{source.name}", f"linked/{source.name}"]
    before = contents(tmp_path)
    for target in targets:
        with pytest.raises(OptionError, match="is read from; give another"):
            writers(sp.spca(data, 1, 2, method="bcd-l0"))[way](target)
        assert contents(tmp_path) == before
    writers(sp.spca(data, 1, 2, na="raise", method="bcd-l0"))["save"](tmp_path / "fit.spca")
    assert sp.load(tmp_path / "fit.spca").card.tolist() == [2]
