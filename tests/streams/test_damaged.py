"""Parquet files with damaged notes of pandas, and Arrow batches without pyarrow."""

import json
import sys

import pytest

import spcastat as sp
from spcastat.errors import FileError, OptionError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

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
    with pytest.raises(FileError, match="labels is damaged"):
        sp.spca(stored(tmp_path, labels), 1, 2)


def test_labels_of_a_range_are_taken_as_they_are(tmp_path):
    fit = sp.spca(stored(tmp_path, {"start": 10, "stop": 18, "step": 2}), 1, 2)
    assert fit.loadings.index.tolist() == ["a", "b", "c"]


class Batches:
    """Gives Arrow batches, of a library that needs no pyarrow itself."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


def test_without_pyarrow_what_to_install_is_said(monkeypatch):
    sp.spca(Batches(), 1, 2)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match="What gives Arrow batches needs pyarrow, which is not installed"):
        sp.spca(Batches(), 1, 2)
