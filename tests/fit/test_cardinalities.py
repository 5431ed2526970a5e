"""Ways to say how many nonzeros each component has."""

from __future__ import annotations

import pandas as pd
import pytest

from spcastat.errors import CardinalityError
from spcastat.fit.options import cardinalities


@pytest.mark.parametrize(
    "card",
    [
        [5, 3, 2],
        {"PC2": 3, "PC1": 5, "PC3": 2},
        {3: 2, 1: 5, 2: 3},
        pd.Series({"PC3": 2, "PC1": 5, "PC2": 3}),
        pd.Series([5, 3, 2]),
        pd.Series([5, 3, 2], index=["x", "y", "z"]),  # other labels: in their order
    ],
    ids=["list", "names", "numbers", "series by name", "series", "labelled"],
)
def test_every_form_gives_the_numbers_in_the_order_of_the_components(card):
    assert cardinalities(card, 3, 13) == (5, 3, 2)


@pytest.mark.parametrize("card", [{"PC1": 5, "PC2": 3}, {"PC1": 5, "PC2": 3, "PC4": 2}, [5, 3], 0, 14])
def test_too_few_and_impossible_ones_are_refused(card):
    with pytest.raises(CardinalityError):
        cardinalities(card, 3, 13)
