"""Every source of chunks gives the fit that the same rows give in memory."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.streams.recognise import open_chunks

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


def test_single_precision_is_summed_in_double_precision(tmp_path):
    single = (FRAME + 1000).astype(np.float32)
    single.to_parquet(tmp_path / "x.parquet")
    expected = sp.spca(single.astype(float), k=2, card=3, method="bcd-l0", tol=1e-14)
    for source in [[single[:99], single[99:]], tmp_path / "x.parquet", [sps.csr_array(single.to_numpy())]]:
        stream = open_chunks(source)
        assert next(stream.blocks("x")).values.dtype == np.float32
        np.testing.assert_allclose(
            sp.spca(source, k=2, card=3, method="bcd-l0", tol=1e-14).loadings, expected.loadings, atol=1e-9
        )


@pytest.mark.parametrize("kind", [pd.DataFrame.copy, lambda piece: sps.csr_array(piece.to_numpy())])
def test_means_far_from_zero_cost_no_digits(kind):
    # The rows themselves are rounded to 1e-8 here: with exact sums no more than that is lost.
    far = [kind(piece + 1e8) for piece in PIECES]
    fit = sp.spca(far, k=2, card=3, method="bcd-l0", tol=1e-14)
    exact = sp.spca((FRAME + 1e8) - 1e8, k=2, card=3, method="bcd-l0", tol=1e-14)
    np.testing.assert_allclose(fit.loadings, exact.loadings, atol=1e-10)
    np.testing.assert_allclose(fit.variance, exact.variance, rtol=1e-10)


def test_integers_booleans_and_decimals_are_numbers(tmp_path):
    mixed = pd.DataFrame({"a": np.arange(50), "b": np.arange(50) % 3 == 0, "c": np.arange(50.0) ** 0.5})
    table = pa.Table.from_pandas(mixed)
    exact = pa.array(range(50)).cast(pa.decimal128(25, 2))
    pa.parquet.write_table(table.append_column("d", exact), tmp_path / "x.parquet")
    same(
        sp.spca(tmp_path / "x.parquet", k=1, card=2, method="bcd-l0"),
        sp.spca(mixed.assign(d=np.arange(50.0)), k=1, card=2, method="bcd-l0"),
    )


def test_columns_may_come_in_another_order():
    shuffled = [PIECES[0], *(piece[list("fedcba")] for piece in PIECES[1:])]
    how = {"k": 2, "card": 3, "method": "bcd-l0", "tol": 1e-14}
    same(sp.spca(shuffled, **how), sp.spca(FRAME, **how))


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


def test_what_is_in_memory_is_no_stream():
    table = pa.Table.from_pandas(FRAME)
    for data in [
        FRAME,
        FRAME.to_numpy(),
        sps.csr_array(FRAME),
        pl.from_pandas(FRAME),
        table,
        [[1, 2], [3, 4]],
        [],
    ]:
        assert open_chunks(data) is None
    assert open_chunks(PIECES) is not None


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


def test_the_header_says_what_was_read(tmp_path):
    assert "700 rows x 6 variables (Parquet file trips.parquet)" in str(
        sp.spca(as_parquet(tmp_path), k=1, card=2, method="bcd-l0")
    )


def test_a_pass_tells_how_far_it_is(tmp_path):
    steps = []
    sp.spca(as_parquet(tmp_path), k=1, card=2, progress=steps.append, method="bcd-l0")
    told = [step for step in steps if step.stage == "means and cross-products"]
    assert (told[0].done, told[0].total, told[0].unit) == (0, 700, "rows")
    assert told[-1].done == 700
    assert told[-1].ended


def test_labels_without_a_name_get_none(tmp_path):
    for index in [pd.Index([f"r{i}" for i in range(700)]), pd.date_range("2020", periods=700, tz="UTC")]:
        FRAME.set_axis(index).to_parquet(tmp_path / "x.parquet")
        found = sp.spca(tmp_path / "x.parquet", k=1, card=3, method="bcd-l0").scores.to_frame().index
        assert found.name is None
        assert list(found) == list(index)


def test_a_relative_path_stays_that_of_the_fit(tmp_path, monkeypatch):
    as_parquet(tmp_path)
    monkeypatch.chdir(tmp_path)
    fit = sp.spca("trips.parquet", k=1, card=3, method="bcd-l0")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(fit.scores.to_frame()) == 700


def test_a_pattern_reaches_into_folders_of_folders(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("abcd"))
    for number, place in enumerate((tmp_path, tmp_path / "a", tmp_path / "a" / "b")):
        place.mkdir(exist_ok=True)
        X[10 * number : 10 * number + 10].to_parquet(place / f"{number}.parquet")
    fit = sp.spca(str(tmp_path / "**" / "*.parquet"), 1, 2)
    np.testing.assert_allclose(fit.loadings, sp.spca(X, 1, 2).loadings, atol=1e-12)
    assert fit.scores.shape == (30, 1)
