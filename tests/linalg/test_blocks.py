"""Blocks of work."""

import numpy as np
import pytest

from spcastat.linalg.scales import blocks


@pytest.mark.parametrize(
    ("count", "each", "most", "sizes"),
    [
        (7, 10, 30, [3, 3, 1]),
        (7, 10, 39, [3, 3, 1]),  # a fourth would have one number more than there may be
        (6, 10, 30, [3, 3]),
        (3, 10, 9, [1, 1, 1]),  # one thing at a time, be it too large
        (3, 0, 9, [3]),
        (0, 10, 30, []),
    ],
)
def test_blocks_are_in_order_and_as_large_as_allowed(count, each, most, sizes):
    found = [np.arange(count)[one] for one in blocks(count, each, most)]
    assert [len(one) for one in found] == sizes
    assert [i for one in found for i in one] == list(range(count))
