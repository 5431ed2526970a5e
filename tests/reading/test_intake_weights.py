"""Row weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import FormulaError, ShapeError, WeightsError
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data


def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 0.5]}, index=["u", "v", "w"])


@pytest.mark.parametrize(
    "w", [[1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), pd.array([1, 2, 3], dtype="Int64")]
)
def test_array_like_weights_go_by_position(w):
    design = read_data(frame(), ReadOptions(weights=w))
    assert design.weights is not None
    np.testing.assert_array_equal(design.weights, [1, 2, 3])
    assert design.weights.dtype == np.float64
    assert not design.weights.flags.writeable


def test_weights_are_copied():
    w = np.array([1.0, 2.0, 3.0])
    design = read_data(frame(), ReadOptions(weights=w))
    w[0] = 50
    np.testing.assert_array_equal(design.weights, [1, 2, 3])
    w[1] = 60  # still writeable


def test_series_is_aligned_by_label():
    w = pd.Series([3.0, 1.0, 2.0], index=["w", "u", "v"])
    np.testing.assert_array_equal(read_data(frame(), ReadOptions(weights=w)).weights, [1, 2, 3])


def test_a_series_may_repeat_labels_in_the_order_of_the_rows():
    twice = frame().set_axis(["u", "u", "v"])
    same = read_data(twice, ReadOptions(weights=pd.Series([1, 2, 3], index=["u", "u", "v"])))
    np.testing.assert_array_equal(same.weights, [1, 2, 3])


def test_series_goes_by_position_where_rows_have_no_labels():
    w = pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    np.testing.assert_array_equal(read_data(frame().to_numpy(), ReadOptions(weights=w)).weights, [1, 2, 3])
    rows = sps.csr_array(frame().to_numpy())
    np.testing.assert_array_equal(read_data(rows, ReadOptions(weights=w)).weights, [1, 2, 3])


def test_rows_of_weight_zero_stay():
    design = read_data(frame(), ReadOptions(weights=[0, 1, 2]))
    assert design.matrix.shape == (3, 2)
    np.testing.assert_array_equal(design.weights, [0, 1, 2])


def test_weights_of_dropped_rows_go():
    df = frame()
    df.loc["v", "a"] = np.nan
    design = read_data(df, ReadOptions(weights=[1, 5, 2], na="drop"))
    np.testing.assert_array_equal(design.weights, [1, 2])
    formula = read_data(df, ReadOptions(weights=[1, 5, 2], na="drop", formula="~ a + np.exp(b)"))
    np.testing.assert_array_equal(formula.weights, [1, 2])


def test_boolean_weights_pick_rows():
    picked = ReadOptions(weights=[True, False, True])
    np.testing.assert_array_equal(read_data(frame(), picked).weights, [1, 0, 1])


# --- a column by its name ---------------------------------------------------------------------------


def weighted(n: int = 60) -> pd.DataFrame:
    """Three variables, a column of counts among them, and text."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)), columns=["a", "b", "c"])
    data.insert(1, "w", rng.integers(0, 4, n))
    return data


ROWS = weighted()
PLAIN, COUNTS = ROWS.drop(columns="w"), ROWS["w"].to_numpy()


def repeated() -> pd.DataFrame:
    """Each row as often as its weight says: what weights are defined by."""
    return PLAIN.iloc[np.repeat(np.arange(len(ROWS)), COUNTS)].reset_index(drop=True)


def as_folder(folder):
    ROWS.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


SOURCES = {
    "frame": lambda folder: ROWS,
    "labelled": lambda folder: ROWS.set_axis([f"r{i % 7}" for i in range(len(ROWS))]),
    "nullable": lambda folder: ROWS.convert_dtypes(),
    "polars": lambda folder: pl.from_pandas(ROWS),
    "parquet": as_folder,
    "chunks": lambda folder: [ROWS[:25], ROWS[25:25], ROWS[25:]],
    "dask": lambda folder: pytest.importorskip("dask.dataframe").from_pandas(ROWS, npartitions=3),
}
QUICK = ("frame", "parquet")
FORMULAS = (None, "~ .", "~ a + log(b**2 + 1) + c")
#: Every source, and every formula with rows in memory and in files; all pairs are slow.
PAIRS = [
    pytest.param(source, formula, marks=() if formula is None or source in QUICK else pytest.mark.slow)
    for source in SOURCES
    for formula in FORMULAS
]


@pytest.mark.parametrize(("source", "formula"), PAIRS)
def test_a_column_of_weights_counts_rows_and_is_no_variable(source, formula, tmp_path):
    data = SOURCES[source](tmp_path)
    fit = sp.spca(data, 2, 2, weights="w", formula=formula)
    same = sp.spca(repeated(), 2, 2, formula=formula)
    assert list(fit.loadings.index) == list(same.loadings.index)
    # Sums of 90 products in another order; the supports are the same and the loadings follow from them.
    np.testing.assert_allclose(fit.loadings, same.loadings, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fit.variance.to_numpy(), same.variance.to_numpy(), rtol=1e-10)
    new = PLAIN[:4]
    for rows in (new, ROWS[:4]):  # new rows may have the column, and need not
        np.testing.assert_allclose(fit.transform(rows), same.transform(new), rtol=0, atol=1e-10)
    if source == "frame":
        assert "weights='w'" in fit.call
        assert fit.refit(k=1).loadings.shape[0] == len(fit.loadings)


def test_paths_choices_folds_and_coordinates_take_the_name():
    path = sp.spca_path(ROWS, 1, cards=[1, 2], weights="w", method="greedy")
    same = sp.spca_path(PLAIN, 1, cards=[1, 2], weights=COUNTS, method="greedy")
    pd.testing.assert_frame_equal(path.table, same.table)
    formula = "~ scale(a) + b + c"  # learns, so that the folds read the data again
    choice = sp.choose(ROWS, 1, cards=[1, 2], weights="w", formula=formula)
    other = sp.choose(PLAIN, 1, cards=[1, 2], weights=COUNTS, formula=formula)
    pd.testing.assert_frame_equal(choice.table, other.table)
    pd.testing.assert_frame_equal(
        sp.spco(ROWS, 1, zeros=0.5, weights="w").coordinates,
        sp.spco(PLAIN, 1, zeros=0.5, weights=COUNTS).coordinates,
    )


def test_the_data_are_left_as_they_were():
    before = ROWS.copy()
    sp.spca(ROWS, 1, 2, weights="w")
    pd.testing.assert_frame_equal(ROWS, before)


@pytest.mark.parametrize(
    ("data", "formula", "family", "phrase"),
    [
        (ROWS, "~ a + w", FormulaError, "takes that column out of the variables"),
        (ROWS, "~ a + log(w + 1)", FormulaError, "takes that column out of the variables"),
        (ROWS, "~ . - w", FormulaError, "'.' included"),
        (PLAIN, None, WeightsError, "no such column; they have 'a', 'b', 'c'"),
        (PLAIN.rename(columns={"a": "W1"}), None, WeightsError, "no such column"),
        (PLAIN.to_numpy(), None, WeightsError, "columns of these data have no names"),
        (sps.csr_array(PLAIN.to_numpy()), None, WeightsError, "columns of these data have no names"),
        (ROWS.assign(w="x"), None, WeightsError, "does not hold real numbers"),
        (ROWS.assign(w=np.nan), None, WeightsError, "missing or infinite values"),
        (ROWS.assign(w=-1.0), None, WeightsError, "negative values"),
        (ROWS[["w"]], None, ShapeError, "no variables"),
    ],
)  # fmt: skip
def test_a_name_that_will_not_do_says_why(data, formula, family, phrase):
    w = 1.0  # not taken for the weights, nor for a variable  # noqa: F841
    cut = 30
    for one in (data, [data[:cut], data[cut:]]):
        with pytest.raises(family, match=phrase):
            sp.spca(one, 1, 1, weights="w", formula=formula)
    if isinstance(data, pd.DataFrame):
        dd = pytest.importorskip("dask.dataframe")
        with pytest.raises(family, match=phrase) as caught:
            sp.spca(dd.from_pandas(data, npartitions=1), 1, 1, weights="w", formula=formula)
        assert "dask" in str(caught.value) or formula
