"""Pitprops with six components: the best figures known from long searches, in percent."""

from __future__ import annotations

import pytest

import spcastat as sp

CELLS = [
    ((8, 5, 6, 2, 3, 2), "pev", 86.348),
    ((8, 5, 6, 2, 3, 2), "adjusted", 81.938),
    ((8, 5, 6, 2, 3, 2), "least_squares", 86.912),
    ((7, 4, 4, 1, 1, 1), "pev", 82.266),
    ((7, 4, 4, 1, 1, 1), "adjusted", 77.394),
    ((7, 4, 4, 1, 1, 1), "least_squares", 85.798),
    ((7, 2, 3, 1, 1, 1), "pev", 80.473),
    ((7, 2, 3, 1, 1, 1), "adjusted", 76.315),
    ((7, 2, 3, 1, 1, 1), "least_squares", 85.488),
]
#: The figures are rounded to three decimals.
ROUNDING = 0.0005


@pytest.mark.slow
@pytest.mark.parametrize(("card", "objective", "best"), CELLS)
def test_every_cell(R, card, objective, best):
    fit = sp.spca_cov(R, 6, card=card, search="joint", objective=objective, rng=7)
    assert tuple(fit.card) == card
    assert 100 * fit.measure(objective) >= best - ROUNDING


@pytest.mark.parametrize(
    ("card", "objective", "best"), [cell for cell in CELLS if cell[1] == "pev" or cell == CELLS[7]][1:]
)
def test_cells_that_need_few_rounds(R, card, objective, best):
    rounds = 4 if objective == "adjusted" else 12
    fit = sp.spca_cov(R, 6, card=card, search="joint", objective=objective, patience=rounds)
    assert tuple(fit.card) == card
    assert 100 * fit.measure(objective) >= best - ROUNDING


@pytest.mark.slow
def test_fewest_nonzeros_at_nine_tenths(R):
    fit = sp.spca_cov(R, 6, variance=0.9, search="joint")
    assert fit.card.sum() == 18
    assert fit.measure("relative_adjusted") >= 0.9
    assert sp.spca_cov(R, 6, variance=0.9).card.sum() == 25
