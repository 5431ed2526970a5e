"""What a stream does not serve is refused before its rows are read: only the first chunk, for its columns."""

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import errors
from spcastat.linalg.operators import GRAM_ORDER


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
        (lambda x: sp.spca(x, 2, 3, method="bcd-l0", objective="adjusted"), WIDE, errors.OptionError, "pass"),
        (lambda x: sp.spca(x, 2, 3, method="bcd-l0", screen=False), WIDE, errors.OptionError, "screen=False"),
        (lambda x: sp.spca(x, 1, WIDE, method="bcd-l0"), WIDE, errors.OptionError, "smaller card"),
        (lambda x: sp.spca(x, 2, 3, method="spcagrid"), 5, errors.NoRowsError, "works on the rows"),
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
    with pytest.raises(errors.ComponentsError, match="4 rows have rank 3 at most"):
        sp.spca(path, 4, 2)
    da = pytest.importorskip("dask.array")
    with pytest.raises(errors.ComponentsError, match="4 rows have rank 3 at most"):
        sp.spca(da.from_array(np.eye(4, 9), chunks=(2, 9)), 4, 2)
