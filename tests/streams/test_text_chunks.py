"""A table of text goes in by its name, as a Parquet file does."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import FileError, OptionError
from spcastat.streams import sources


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("rows.csv", {}),
        ("rows.tsv", {"sep": "\t"}),
        ("rows.csv.gz", {}),
    ],
)
def test_the_fit_is_that_of_the_table(tmp_path, monkeypatch, name, how):
    monkeypatch.setattr(sources, "rows_at_once", lambda columns: 50)  # four chunks
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
