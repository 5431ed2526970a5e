"""Row weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

from spcastat.errors import MissingValuesError, WeightsError
from spcastat.intake import ReadOptions, read_data


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


def test_series_with_other_labels_is_refused():
    with pytest.raises(WeightsError, match=r"none for 'u', 'v', 'w'.*to_numpy"):
        read_data(frame(), ReadOptions(weights=pd.Series([1.0, 2.0, 3.0])))
    with pytest.raises(WeightsError, match="2 values for 3 rows"):
        read_data(frame(), ReadOptions(weights=pd.Series([1.0, 2.0], index=["u", "v"])))
    twice = frame().set_axis(["u", "u", "v"])
    same = read_data(twice, ReadOptions(weights=pd.Series([1, 2, 3], index=["u", "u", "v"])))
    np.testing.assert_array_equal(same.weights, [1, 2, 3])
    with pytest.raises(WeightsError, match="repeated labels"):
        read_data(twice, ReadOptions(weights=pd.Series([1, 2, 3], index=["v", "u", "u"])))


def test_series_goes_by_position_where_rows_have_no_labels():
    w = pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    np.testing.assert_array_equal(read_data(frame().to_numpy(), ReadOptions(weights=w)).weights, [1, 2, 3])
    rows = sps.csr_array(frame().to_numpy())
    np.testing.assert_array_equal(read_data(rows, ReadOptions(weights=w)).weights, [1, 2, 3])


@pytest.mark.parametrize(
    ("w", "phrase"),
    [
        ("a", r"weights=df\['a'\]"),
        ([1, 2], r"shape \(2,\); it must be \(3,\)"),
        (np.ones((3, 1)), r"shape \(3, 1\)"),
        (2.0, r"shape \(\)"),
        ([1, -2, -3], "2 negative values, the first of them -2 for row 'v'"),
        ([1, np.nan, 1], "1 missing or infinite value"),
        ([1, None, 1], "missing or infinite"),
        ([1, np.inf, 1], "missing or infinite"),
        (["1", "2", "3"], "real numbers"),
        ([1, 2, "3"], "real numbers"),
        ([1j, 2, 3], "real numbers"),
        ([[1], [1, 2], [3]], "real numbers"),
        ([0, 0, 5], "1 row with a positive weight"),
        ([0, 0, 0], "0 rows with a positive weight"),
        ([0.2, 0.3, 0.5], r"sum to 1;.*sum\(w\) - 1.*w \* len\(w\) / w.sum\(\)"),
    ],
)
def test_bad_weights(w, phrase):
    with pytest.raises(WeightsError, match=phrase):
        read_data(frame(), ReadOptions(weights=w))


def test_rows_of_weight_zero_stay():
    design = read_data(frame(), ReadOptions(weights=[0, 1, 2]))
    assert design.shape == (3, 2)
    np.testing.assert_array_equal(design.weights, [0, 1, 2])


def test_weights_of_dropped_rows_go():
    df = frame()
    df.loc["v", "a"] = np.nan
    design = read_data(df, ReadOptions(weights=[1, 5, 2], na="drop"))
    np.testing.assert_array_equal(design.weights, [1, 2])
    with pytest.raises(WeightsError, match="1 row with a positive weight"):
        read_data(df, ReadOptions(weights=[0, 5, 2], na="drop"))
    with pytest.raises(MissingValuesError, match="1 missing value"):
        read_data(df, ReadOptions(weights=[1, 0, 2]))
    formula = read_data(df, ReadOptions(weights=[1, 5, 2], na="drop", formula="~ a + np.exp(b)"))
    np.testing.assert_array_equal(formula.weights, [1, 2])


def test_boolean_weights_pick_rows():
    picked = ReadOptions(weights=[True, False, True])
    np.testing.assert_array_equal(read_data(frame(), picked).weights, [1, 0, 1])
