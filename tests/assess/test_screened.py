"""The columns that stand for all where there are too many to test."""

from __future__ import annotations

import numpy as np

from spcastat.assess.subsets import columns_near
from spcastat.linalg.operators import Gram


def test_columns_are_those_of_the_fit_and_those_most_related_to_it():
    S = np.diag(np.arange(1.0, 31.0))
    S[3, 4] = S[4, 3] = 1.5  # the covariance of 4 with a component on 3 alone
    V = np.zeros((30, 1))
    V[3] = 1.0
    assert columns_near(Gram(S), V, 5).tolist() == [0, 1, 3, 4, 29]  # of equal ones the first
    assert columns_near(Gram(S), V, 30).tolist() == list(range(30))
    assert len(columns_near(Gram(S), V, 17)) == 17
