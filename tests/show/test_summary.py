"""What print(fit) shows: the facts, the widths, and notes only where they matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp


def lines(fit) -> list[str]:
    return str(fit).splitlines()


def test_the_header_has_the_facts(pitprops):
    data = pitprops.copy()
    data.iloc[3, 2] = np.nan
    fit = sp.spca(data, k=2, card=4, na="drop", scale=True, n_init=3, method="bcd-l0")
    text = " ".join(str(fit).split())
    assert text.startswith("Sparse PCA: 2 components of 13 variables, 8 of 26 loadings not zero")
    assert "bcd-l0" in text
    assert "Zhao, Meng, Xu and Gao (2015)" in text
    assert "179 rows x 13 variables, 1 row with missing values dropped, centred" in text
    assert r"179 rows $\times$ 13 variables" in fit.summary().as_latex()
    assert "scaled to unit variance" in text
    assert "residual variance |X - UV'|^2 / (n - 1)" in text
    assert "converged (" in text
    assert "best of 3 starts" in text


def test_a_fit_that_was_stopped_says_what_to_do(pitprops):
    with pytest.warns(sp.errors.ConvergenceWarning):
        fit = sp.spca(pitprops, k=3, card=4, max_iter=1, method="bcd-l0")
    assert "stopped at max_iter before it converged; raise max_iter or tol" in " ".join(str(fit).split())


@pytest.mark.parametrize("k", range(1, 7))
def test_up_to_six_components_are_one_panel_of_80_columns(pitprops, k):
    names = [f"a long name of variable number {i} of them" for i in range(13)]
    fit = sp.spca(pitprops.set_axis(names, axis=1) * 100.0, k=k, card=5, method="bcd-l0")
    assert max(map(len, lines(fit))) <= 80
    assert sum(line.startswith("Loadings") for line in lines(fit)) == 1
    assert fit.loadings.index.tolist() == names


def test_six_components_fit_a_screen(fit):
    assert len(lines(fit)) <= 42


@pytest.fixture(scope="module")
def large():
    """20 components of 20,000 variables, from sparse rows."""
    import scipy.sparse as sps

    X = sps.random(60, 20_000, 0.002, random_state=0, format="csr")
    return sp.spca(X, k=20, card=4, method="greedy", c=4)


def test_twenty_components_of_twenty_thousand_variables(large):
    shown = lines(large)
    assert max(map(len, shown)) <= 80
    text = " ".join(str(large).split())
    loaded = int((large.loadings != 0).any(axis=1).sum())
    assert "with a loading are shown" not in text
    assert f"{20_000 - loaded} of 20000 variables are zero in all components." in text
    # every component has a line of its own
    assert len({line.split()[0] for line in shown if line.startswith("PC")}) == 20


def test_below_the_loadings_stand_all_definitions(fit):
    text = str(fit)
    for label in (
        "Nonzeros",
        "Adjusted, % of total",
        "PEV",
        "least squares",
        "PCA (dense)",
        "Largest score |r|",
    ):
        assert label in text
    (row,) = (line for line in lines(fit) if line.startswith("Largest score |r|"))
    C = fit.score_correlations.abs().to_numpy() - np.eye(6)
    assert row.split()[3:] == [f"{r:.2f}" for r in C.max(axis=1)]
    (dense,) = (line for line in lines(fit) if line.startswith("  PCA (dense)"))
    assert dense.split()[2:] == [f"{100 * share:.2f}" for share in fit.variance["cumulative PCA"]]


def test_notes_stand_only_where_they_matter(pitprops):
    plain = str(sp.spca(pitprops, k=3, method="pca"))
    assert "correlated" not in plain
    assert "standard deviations" not in plain
    uneven = pitprops.assign(length=1000 * pitprops["length"])
    unscaled = sp.spca(uneven, k=1, card=3, scale=False, method="bcd-l0")
    for text in (str(unscaled), str(unscaled.summary())):
        first = " ".join(text.splitlines()[1:3]).split()  # below the title
        assert "scale=True gives all variables the same weight" in " ".join(first)
    assert "standard deviations" not in str(sp.spca(uneven, k=1, card=3, scale=True, method="bcd-l0"))
    covariance = " ".join(str(sp.spca_cov(uneven.cov(), k=1, card=3, scale=False, method="bcd-l0")).split())
    assert "the correlation matrix would give all variables the same weight" in covariance


def test_a_cardinality_that_was_missed_is_named(pitprops):
    """Nonnegative loadings of a variable against all others: fewer than were asked for."""
    data = pd.DataFrame({"a": pitprops["length"], "b": -pitprops["length"], "c": pitprops["clear"] * 0.1})
    fit = sp.spca(data, k=1, card=3, nonneg=True, method="bcd-l0")
    assert fit.card["PC1"] < 3
    assert f"Cardinality missed: PC1 has {fit.card['PC1']} nonzeros, 3 were asked for" in " ".join(
        str(fit).split()
    )


def test_cardinalities_follow_the_order_of_the_components(pitprops):
    fit = sp.spca(pitprops, k=3, card=[1, 2, 7], order="variance", method="bcd-l0")
    assert fit.options["card"] == fit.card.tolist()
    assert "missed" not in str(fit)


def test_frames_and_formats(fit):
    summary = fit.summary()
    pd.testing.assert_frame_equal(summary.frames["loadings"], fit.loadings)
    pd.testing.assert_frame_equal(summary.frames["variance"], fit.variance)
    assert summary.as_text() == str(fit) == repr(summary)
    assert summary.as_html().count("<table") == 1
    assert r"\toprule" in summary.as_latex()
    assert summary.as_markdown().count("| Loadings") == 1


def test_the_table_of_loadings_shows_percent_contributions(fit, capsys):
    print(fit.summary(tables="loadings", contributions=True, sort=True, cut=0.3))
    out = capsys.readouterr().out
    assert "Contributions, %" in out
    assert '"." stands for' in out
    print(fit.summary(tables="loadings", max_rows=2))
    assert "2 of 13 variables with a loading are shown" in capsys.readouterr().out


def test_the_call_makes_the_fit_again(fit, pitprops):
    again = eval(fit.call, {"spca": sp.spca, "data": pitprops})
    pd.testing.assert_frame_equal(again.loadings, fit.loadings)
    assert fit.call == "spca(data, k=6, card=[7, 4, 4, 1, 1, 1])"
    weighted = sp.spca(pitprops, 1, 3, weights=np.ones(180), scale=True, rng=4, method="bcd-l0")
    assert weighted.call == ("spca(data, k=1, card=3, scale=True, weights=weights, method='bcd-l0', rng=4)")


def test_columns_that_are_not_centred_are_scaled_by_their_root_mean_square():
    """As R's prcomp(center = FALSE, scale. = TRUE): sqrt(sum(x^2) / (n - 1))."""
    X = np.random.default_rng(0).standard_normal((20, 4)) + 3.0
    fit = sp.spca(X, 1, 2, center=False, scale=True, effort="quick")
    divisor = np.sqrt((X**2).sum(axis=0) / 19)
    np.testing.assert_allclose(fit.scores, (X / divisor) @ fit.loadings.to_numpy(), rtol=1e-12)
    assert "not centred, scaled by the root mean square" in " ".join(str(fit).split())
    assert "scaled to unit variance" in " ".join(str(sp.spca(X, 1, 2, scale=True, effort="quick")).split())
