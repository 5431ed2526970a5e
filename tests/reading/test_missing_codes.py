"""Numbers that stand for missing values are pointed out; ordinary large numbers are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataWarning

N = 50
RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))


def with_code(values, code, rows=(7,)):
    values = np.array(values, dtype=float)
    values[list(rows)] = code
    return values


CODED = {
    "-99 among answers": (with_code(RNG.integers(1, 8, N), -99), "-99 in 'x', whose other values are 1 to 7"),
    "99 among answers": (with_code(RNG.integers(1, 8, N), 99, (1, 2, 9)), "99 in 'x'"),
    "999 among ages": (with_code(RNG.integers(18, 91, N), 999), "999 in 'x', whose other values are 19"),
    "9999": (with_code(RNG.normal(0, 30, N), 9999), "9999 in 'x'"),
    "-9999": (with_code(RNG.normal(0, 30, N), -9999), "-9999 in 'x'"),
}
ORDINARY = {
    "99 among ages": with_code(RNG.integers(18, 91, N), 99),
    "percent": with_code(RNG.integers(0, 100, N), 99),
    "999 among hundreds": with_code(RNG.integers(100, 998, N), 999),
    "cents": with_code(RNG.integers(0, 99, N), 99) / 100,
    "another outlier": with_code(RNG.integers(1, 8, N), 998),
    "only codes": np.where(np.arange(N) % 2, 99.0, 999.0),
}


@pytest.mark.parametrize("name", CODED)
def test_a_code_is_named_with_its_column_in_one_line(name):
    values, words = CODED[name]
    with pytest.warns(DataWarning, match="Do these numbers stand for missing values") as caught:
        sp.spca(FRAME.assign(x=values), 1, 2, scale=True)
    assert len(caught) == 1
    assert words in str(caught[0].message)
    assert "\n" not in str(caught[0].message)
    assert caught[0].filename == __file__
    with pytest.warns(DataWarning, match="stand for missing"):
        sp.spca(FRAME.assign(x=values), 1, 2, formula="~ a + b + x", scale=True)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_numbers_are_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.spca(FRAME.assign(x=ORDINARY[name]), 1, 2, scale=True)


def test_both_codes_of_a_column_and_missing_values_beside_them():
    values = with_code(with_code(with_code(RNG.integers(1, 8, N), -99, [3]), 999, [4]), np.nan, [5])
    with pytest.warns(DataWarning) as caught:
        fit = sp.spca(FRAME.assign(x=values), 1, 2, na="em", scale=True)
    text = next(str(one.message) for one in caught if "stand for" in str(one.message))
    assert "-99 in 'x'" in text
    assert "999 in 'x'" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        fit.refit(card=1)  # has been reported
