"""Dense PCA beside the loadings, intervals below them, stars behind them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import NoRowsError, OptionError


@pytest.fixture(scope="module")
def fit():
    found = sp.spca(sp.datasets.pitprops_sample(), k=3, card=4, method="greedy")
    found.bootstrap(20, rng=0)
    found.test_loadings(39, rng=0)
    return found


def lines_of(text: str) -> dict[str, list[str]]:
    """The lines of the first table, by their labels; what follows a label without one belongs to it."""
    rows = text.split("\n\n")[1].splitlines()[2:]
    return {row.split()[0]: row.split()[1:] for row in rows if not row.startswith(" ")}


def test_dense_loadings_are_eigenvectors_with_the_signs_of_the_sparse(fit):
    summary = fit.summary(dense=True, digits=4)
    S = np.cov(sp.datasets.pitprops_sample().to_numpy(), rowvar=False)
    vectors = np.linalg.eigh(S)[1][:, ::-1][:, :3]
    dense = summary.frames["dense"]
    assert list(dense.columns) == ["PCA 1", "PCA 2", "PCA 3"]
    products = (dense.to_numpy() * vectors).sum(axis=0)
    np.testing.assert_allclose(np.abs(products), 1.0, atol=1e-10)  # two eigensolvers, to rounding
    assert ((dense.to_numpy() * fit.loadings.to_numpy()).sum(axis=0) >= 0).all()
    text = str(summary)
    assert max(map(len, text.splitlines())) <= 80
    head = next(line for line in text.splitlines() if line.startswith("Loadings"))
    assert head.split() == ["Loadings", "PC1", "PCA", "1", "PC2", "PCA", "2", "PC3", "PCA", "3"]
    rows = lines_of(text)
    assert set(rows) == set(fit.loadings.index)  # every variable has a dense loading
    for name, row in rows.items():
        loadings = [f"{v:.4f}" for v in fit.loadings.loc[name] if v]
        both = [*loadings, *(f"{v:.4f}" for v in dense.loc[name])]
        assert sorted(row) == sorted(both)


def test_pairs_of_sparse_and_dense_stay_in_one_panel():
    wide = sp.spca_cov(sp.datasets.load_pitprops(), 6, 3, method="greedy")
    heads = [line for line in str(wide.summary(dense=True)).splitlines() if line.startswith("Loadings")]
    for head in heads:
        names = head.replace("PCA ", "PCA").split()[1:]
        assert [name[3:] for name in names[1::2]] == [name[2:] for name in names[::2]]
    assert len(heads) > 1


def test_intervals_stand_below_the_loadings(fit):
    text = str(fit.summary(conf_int=True, level=0.9))
    assert max(map(len, text.splitlines())) <= 80
    frame = fit.resampled["bootstrap"].conf_int(0.9)
    for row in frame[frame["estimate"] != 0].itertuples():
        assert f"[{row.lower:.3f}, {row.upper:.3f}]" in text
    words = "In brackets: 90 % bootstrap intervals, variables selected again in each draw (20 draws)."
    assert words in " ".join(text.split())
    assert "How sure" in text  # the shares of draws that select
    assert "lower" not in text.partition("How sure")[2].splitlines()[0]
    meaning = "unless 95 % of the draws give the loading the sign that it has in the fit"
    assert " ".join(text.split()).count(meaning) == 1
    assert text.count("An interval shows how far") == 1


def test_stars_are_those_of_q_values(fit):
    tests = fit.resampled["test_loadings"].q_values
    rows = lines_of(str(fit.summary(stars=True)))
    for name, cells in rows.items():
        loaded = fit.loadings.columns[fit.loadings.loc[name] != 0]
        for component, cell in zip(loaded, cells, strict=True):
            q = tests.loc[name, component]
            assert cell.count("*") == (q <= 0.05) + (q <= 0.01) + (q <= 0.001)
    text = " ".join(str(fit.summary(stars=True)).split())
    meaning = "* q <= .05, ** q <= .01, *** q <= .001: false discovery rates (Benjamini and Hochberg)"
    assert f"{meaning} of 39 permutations." in text


def test_digits_hold_for_all_that_stands_there(fit):
    text = fit.summary(digits=2, conf_int=True, stars=True, dense=True).as_text(decimal=",")
    table = text.split("\n\n")[1]
    assert "0," in table
    assert "0.5" not in table
    numbers = re.findall(r"-?\d+,(\d+)", table)
    assert {len(decimals) for decimals in numbers} == {2}


def test_what_was_not_resampled_is_refused():
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 2, 4, method="greedy")
    with pytest.raises(OptionError, match=r"conf_int=True was given, .* call fit.bootstrap\(\) first"):
        fit.summary(conf_int=True)
    with pytest.raises(OptionError, match=r"stars=True was given, .* call fit.test_loadings\(\) first"):
        fit.summary(stars=True)
    with pytest.raises(OptionError, match="dense='yes' was given; it must be True or False"):
        fit.summary(dense="yes")
    with pytest.raises(OptionError, match="digits=11"):
        fit.summary(digits=11)


def test_a_fit_from_a_file_has_no_dense_loadings(fit, tmp_path):
    fit.save(tmp_path / "fit.spca")
    with pytest.raises(NoRowsError, match=r"dense PCA need the data, .* fit again: spca\("):
        sp.load(tmp_path / "fit.spca").summary(dense=True)
