"""What the README says in figures, measured again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import spcastat as sp
from spcastat.registry import SOLVERS

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
CARD = [7, 4, 4, 1, 1, 1]


def gram_methods_with_cardinalities() -> list[str]:
    return [
        name for name, method in SOLVERS.items() if "card" in method.options and method.solver.needs == "gram"
    ]


@pytest.fixture(scope="module")
def shares() -> dict[str, float]:
    """PEV of one start of every method that gives just these cardinalities on the pitprops."""
    R = sp.datasets.load_pitprops()
    single = [name for name in gram_methods_with_cardinalities() if name != "joint"]
    fits = {name: sp.spca_cov(R, 6, CARD, method=name) for name in single}
    return {name: fit.measure("pev") for name, fit in fits.items() if fit.card.tolist() == CARD}


@pytest.mark.slow
def test_what_one_start_gives(shares):
    figures = r"# (0\.\d+), where one start of published methods gives (.*) to (.*)"
    joint, low, high = re.findall(figures, README)[0]
    assert len(shares) >= 15
    assert (low, high) == (f"{min(shares.values()):.2f}", f"{max(shares.values()):.2f}"), shares
    found = sp.spca_cov(sp.datasets.load_pitprops(), 6, CARD, objective="pev").measure("pev")
    assert joint == f"{found:.3f}"
    assert found > max(shares.values())


@pytest.mark.slow
def test_the_ends_of_that_range():
    R = sp.datasets.load_pitprops()
    ends = [sp.spca_cov(R, 6, CARD, method=name).measure("pev") for name in ("scotlass", "gpower-l0-block")]
    assert "gives {:.2f} to {:.2f}".format(*ends) in README


def test_the_published_control_keeps_the_share_with_more_nonzeros():
    """README: the fewest nonzeros found that keep 90 %."""
    R = sp.datasets.load_pitprops()
    found, published = (sp.spca_cov(R, 6, variance=0.9, method=name) for name in ("joint", "controlled"))
    for fit in (found, published):
        assert (fit.variance["cumulative adjusted"] >= 0.9 * fit.variance["cumulative PCA"] - 1e-9).all()
    assert found.card.sum() < published.card.sum()
