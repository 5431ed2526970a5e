"""The orders in which components are tried."""

from __future__ import annotations

from spcastat.search.order import _pairs


def test_only_components_of_one_cardinality_change_places():
    assert _pairs((5, 3, 5, 3)) == [[2, 1, 0, 3], [0, 3, 2, 1]]
    assert _pairs((4, 3, 2)) == []
