"""A source that gives another number of rows in a later pass is refused."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import DataError

N, P = 4000, 6
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 2)) @ RNG.normal(size=(2, P)) + RNG.normal(size=(N, P))


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
    message = "The function Source gave 4000 rows at first and 3999 rows when it was read again"
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


def test_another_number_of_dropped_rows_is_a_change():
    with_gap = X.copy()
    with_gap[2100, 0] = np.nan
    source = Source(pieces(with_gap))
    fit = sp.spca(source, 2, 3, na="drop", method="bcd-l0")
    source.chunks = pieces(X)
    with pytest.raises(DataError, match=r"gave 4000 rows \(1 dropped\) at first and 4000 rows when"):
        fit.scores.to_frame()


def test_new_rows_are_compared_with_their_own_first_pass():
    fit = sp.spca(X, 2, 3, method="bcd-l0")
    source = Source(pieces(X))
    scores = fit.transform(source)
    scores.to_frame()
    source.chunks = pieces(X[:300])
    with pytest.raises(DataError, match="gave 4000 rows at first and 300 rows"):
        scores.to_frame()
    assert len(fit.transform(source).to_frame()) == 300  # opened again: these are other new rows
