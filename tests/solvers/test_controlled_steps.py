"""The fewest nonzeros of "controlled", against growing one step at a time and looking after every step."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from spcastat.linalg.deflation import Removed, deflate
from spcastat.linalg.operators import Gram
from spcastat.solvers.greedy import REACHED, Growth


def step_by_step(S, k, variance, c, exact):
    """Number of nonzeros of each component when the variance is looked at after every step."""
    view = Gram(S)
    eigenvalues = np.linalg.eigvalsh(S)[::-1]
    explained, sizes, before = 0.0, [], np.zeros((len(S), 0))
    for i in range(k):
        goal = (variance - REACHED) * eigenvalues[: i + 1].sum() - explained
        growth = Growth(view, exact)
        while True:
            growth.add(c)
            value, v = growth.leading()
            if value >= goal or growth.support.size == len(S):
                break
        sizes.append(int(np.count_nonzero(v)))
        explained += float(v @ view.dot(v))
        view = deflate(view, Removed(v, v, before), "schur")
        before = np.column_stack([before, v])
    return sizes


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("c", [1, 2, 5])
@pytest.mark.parametrize("variance", [0.5, 0.8, 0.97])
def test_no_step_more_than_when_every_step_is_looked_at(variance, c, exact):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 60)) + 2.0 * rng.standard_normal(
            (200, 60)
        )
        S = np.cov(X.T)
        fit = sp.spca_cov(S, k=2, variance=variance, c=c, exact=exact, method="controlled")
        assert fit.card.tolist() == step_by_step(S, 2, variance, c, exact)
