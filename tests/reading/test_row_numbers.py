"""Columns that number the rows are pointed out; ordinary whole numbers are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataWarning

N = 40
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))

NUMBERS = {
    "Unnamed: 0": np.arange(N),
    "": RNG.permutation(N),
    "subject": np.arange(1, N + 1),
    "plot": np.arange(1001.0, 1001 + N),
    "patient_id": np.cumsum(RNG.integers(1, 9, N)),
    "ID": np.cumsum(RNG.integers(1, 9, N)),
    "SubjectID": np.repeat([3, 7, 8, 12], [9, 10, 11, 10]),  # sorted, several rows of each
    "person": np.tile(np.arange(N // 4), 4),  # as often as the others
}
ORDINARY = {
    "count": RNG.poisson(5, N),
    "sorted counts": np.sort(RNG.poisson(50, N)),
    "rank": np.arange(1, N + 1),
    "score rank": RNG.permutation(N),
    "year": np.arange(1980, 1980 + N),
    "panel": np.tile(np.arange(N // 4), 4),
    "cumulative": np.cumsum(RNG.integers(1, 9, N)),
    "doubling": 2 * np.arange(N),
    "time": np.arange(N) / 10,
    "id": RNG.normal(size=N),
    "fluid": np.cumsum(RNG.integers(1, 9, N)),
    "persons": np.sort(RNG.poisson(3, N)),
    "person": RNG.poisson(3, N),
    "years": np.repeat(np.arange(1980, 1980 + N // 4), 4),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_row_numbers_are_named(name):
    data = FRAME.assign(**{name: NUMBERS[name]})
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
        sp.spca(FRAME.assign(**{name: ORDINARY[name]}), 1, 2)
        sp.spca(pd.DataFrame(np.arange(9.0)[:, None] + [[0, 1.5, 3]]).assign(b=RNG.normal(size=9)), 1, 2)


def test_refits_and_chunks():
    data = FRAME.assign(**{"Unnamed: 0": range(N)})
    with pytest.warns(DataWarning, match="Unnamed"):
        fit = sp.spca([data[:20], data[20:]], 1, 2)
    fit.refit(card=1)  # has been said
