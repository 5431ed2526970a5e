"""Arrays of xarray in chunks have rows and columns, as those in memory do."""

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ShapeError

xr = pytest.importorskip("xarray")
pytest.importorskip("dask")


def test_three_axes_in_chunks_are_refused_as_they_are_in_memory():
    data = xr.DataArray(np.random.default_rng(0).standard_normal((8, 3, 2)), dims=("day", "place", "kind"))
    for given in (data, data.chunk({"day": 4})):
        with pytest.raises(ShapeError, match="'day', 'place'"):
            sp.spca(given, 1, 1)


def test_variables_of_a_dataset_in_chunks_lie_on_one_axis():
    data = xr.Dataset({"a": ("day", np.arange(8.0)), "b": (("day", "place"), np.ones((8, 2)))})
    for given in (data, data.chunk({"day": 4})):
        with pytest.raises(ShapeError, match="'day', 'place'"):
            sp.spca(given, 1, 1)
