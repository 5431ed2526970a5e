"""Cardinalities that no fit can have are refused before a choice, for rows in memory and in chunks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import CardinalityError, NoComponentsError

NOISE = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 6)), columns=list("abcdef"))

SOURCES = {"memory": NOISE, "chunks": lambda: (NOISE.iloc[i : i + 20] for i in (0, 20, 40))}

IMPOSSIBLE = {
    "cards=9 was given": [[9], (9,), [(9, 2)], [(3, 3), (9, 9)], [{"PC1": 9}], [[2, 2], [1, 9]]],
    "cards=0 was given": [[0], [(0, 1)], [{"PC1": 1, "PC2": 0}]],
    "it must be a whole number": [[2.5], [True], [np.nan], [(np.nan, 2)], [("a", 2)], [(None, 1)]],
    "7 values, one for each component, but there are only 6 variables": [[(1,) * 7], [[2] * 7, [3] * 7]],
    "has 1 value, but k=2": [[[1, 2], [3]]],
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("words", "several"), IMPOSSIBLE.items())
def test_impossible_cardinalities_are_refused_without_k(source, words, several):
    for cards in several:
        with pytest.raises(CardinalityError, match=words):
            sp.choose(SOURCES[source], cards=cards)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("cards", [[(3, 2)], [[2, 2], [3, 3]], [{"PC1": 2, "PC2": 1}], [1, 4]])
def test_possible_cardinalities_reach_the_tests_of_components(source, cards):
    # noise has no components: the cardinalities were taken, also those of two components from chunks
    choice = sp.choose(SOURCES[source], cards=cards, n_draws=19)
    with pytest.raises(NoComponentsError, match="clearly better than the column means") as caught:
        choice.fit  # noqa: B018
    # what the first would predict is said only if a digit of it can be shown
    for text in (str(caught.value), str(choice)):
        assert "0.0 of" not in text
        assert "0.00 of" not in text
