"""Paths over cardinalities: what each fit is, how it is started, and how it is shown."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.assess.cardinalities import path_cards


def test_the_default_grid():
    assert path_cards(None, 1, 7)[0] == [1, 2, 3, 4, 5, 6, 7]
    keys, cards = path_cards(None, 2, 5000)
    assert keys[:10] == list(range(1, 11))
    assert keys[-1] == 5000
    assert len(keys) <= 20
    assert cards[-1] == (5000, 5000)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_default_grid_of_wide_rows_ends_at_their_rank_and_has_all_variables(sparse):
    # n nonzeros give any scores; between them and all variables each fit would cost more and say nothing
    X = np.random.default_rng(0).standard_normal((16, 40))
    X = scipy.sparse.csr_array(X) if sparse else X
    assert list(sp.spca_path(X, 1, method="threshold")) == [*range(1, 16), 40]
    assert list(sp.spca_path(X, 1, center=False, method="threshold")) == [*range(1, 17), 40]


def test_cardinalities_are_sorted_and_taken_once():
    assert path_cards([5, 2, 5, 3], 2, 9) == ([2, 3, 5], [(2, 2), (3, 3), (5, 5)])
    assert path_cards(range(1, 4), 1, 9)[0] == [1, 2, 3]
    assert path_cards([(4, 2), [1, 1]], 2, 9)[0] == [(1, 1), (4, 2)]


def test_the_fits_of_a_greedy_path_are_those_that_stand_alone(R):
    """The supports are nested."""
    path = sp.spca_path(R, k=1, method="greedy")
    for card in path:
        alone = sp.spca_cov(R, 1, card, method="greedy")
        pd.testing.assert_frame_equal(path[card].loadings, alone.loadings)
        # 1e-13: the path forms products of all of its fits at once
        assert path[card].objective_value == pytest.approx(alone.objective_value, rel=1e-13)
        assert path[card].glance()["n_iter"].item() == alone.glance()["n_iter"].item()


@pytest.mark.parametrize("options", [{"k": 2}, {"k": 1, "c": 2}, {"k": 1, "exact": True}])
def test_other_paths_of_greedy_are_its_fits(R, options):
    k = options.pop("k")
    path = sp.spca_path(R, k=k, cards=[2, 5, 6], method="greedy", **options)
    for card in path:
        alone = sp.spca_cov(R, k, card, method="greedy", **options)
        pd.testing.assert_frame_equal(path[card].loadings, alone.loadings)


@pytest.mark.parametrize("method", ["bcd-l0", "bcd-l1"])
def test_a_warm_start_is_never_worse(R, method):
    path = sp.spca_path(R, k=3, cards=[2, 4, 6, 9, 13], method=method)
    tol = 1e-6 * 13
    alone = [sp.spca_cov(R, 3, card, method=method).objective_value for card in path]
    assert (path.table["objective"] <= np.array(alone) + tol).all()
    if method == "bcd-l0":  # loadings of one fit are feasible for the next
        assert (path.table["objective"].diff().dropna() <= tol).all()


@pytest.mark.parametrize("objective", ["adjusted", "pev"])
@pytest.mark.parametrize("effort", ["quick", "auto"])
def test_a_path_is_as_good_as_the_same_calls_and_never_falls(R, objective, effort):
    """Fits of neighbouring cardinalities are starts for one another; what few variables explain, more can."""
    path = sp.spca_path(R, k=2, cards=[2, 3, 4, 13], objective=objective, effort=effort, rng=5)
    for card in path:
        alone = sp.spca_cov(R, 2, card, objective=objective, effort=effort, rng=5)
        assert path[card].method == alone.method == "joint"
        assert path[card].card.tolist() == [card, card]
        assert path[card].measure(objective) >= 0.999 * alone.measure(objective)
        assert path[card].objective_value / 13 == pytest.approx(path[card].measure(objective), rel=1e-12)
        again = path[card].refit()
        assert again.loadings.to_numpy().tobytes() == alone.loadings.to_numpy().tobytes()
    assert (np.diff(path.table[objective]) >= -1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), [("wine", 3), ("diabetes", 3)])
def test_default_paths_of_small_tables_are_as_good_as_their_calls(R, name, k):
    S = R
    if name != "pitprops":
        S = getattr(pytest.importorskip("sklearn.datasets"), f"load_{name}")(as_frame=True).data.corr()
    path = sp.spca_path(S, k)
    alone = [sp.spca_cov(S, k, card).measure("adjusted") for card in path]
    assert (path.table["adjusted"] >= 0.999 * np.array(alone)).all()
    assert (np.diff(path.table["adjusted"]) >= -1e-12).all()


def test_a_path_of_cardinalities_that_differ_keeps_their_places(R):
    path = sp.spca_path(R, k=3, cards=[(4, 3, 2), (5, 3, 3), (2, 4, 5)])
    assert {key: tuple(fit.card) for key, fit in path.fits.items()} == {key: key for key in path}
    assert path[5, 3, 3].measure("adjusted") >= path[4, 3, 2].measure("adjusted") - 1e-12


def test_rows_and_their_covariance_have_one_path():
    data = sp.datasets.make_hastie(200)
    by_rows = sp.spca_path(data, k=2, cards=[2, 3, 4], scale=True)
    by_matrix = sp.spca_path(data.corr(), k=2, cards=[2, 3, 4])
    np.testing.assert_allclose(by_rows.table["pev"], by_matrix.table["pev"], rtol=1e-6)
    assert by_rows[4].scores.shape == (200, 2)


def test_covariance_says_what_a_symmetric_array_is(R):
    assert "13 rows x 13 variables" in str(sp.spca_path(R.to_numpy(), cards=[1, 2], covariance=False)[2])
    assert "rows x" not in str(sp.spca_path(R.to_numpy(), cards=[1, 2], covariance=True)[2])


def test_the_table_has_every_measure(R):
    path = sp.spca_path(R, k=2, cards=[3, 6])
    assert path.table["card"].tolist() == [3, 6]
    for row in path.table.to_dict("records"):
        fit = path[row["card"]]
        assert row["nonzeros"] == fit.card.sum()
        assert row["adjusted"] == fit.measure("adjusted")
        assert row["pca"] == fit.variance["cumulative PCA"].iloc[-1]
    assert len(path) == 2
    assert list(path.fits) == [3, 6]


def test_fits_of_a_path_can_be_changed_and_called_again(R):
    path = sp.spca_path(R, k=2, cards=[(4, 2), (5, 3)], n_obs=180)
    fit = path[4, 2]
    assert fit.call == "spca_cov(S, k=2, card=(4, 2), n_obs=180)"
    assert fit.refit(card=3).card.tolist() == [3, 3]
    assert path[[5, 3]].options["card"] == [5, 3]


def test_formulas_and_other_options_of_the_data():
    data = sp.datasets.make_hastie(50).abs()
    path = sp.spca_path(data, cards=[1, 2], formula="~ X1 + log(X2) + X5", scale=True)
    assert list(path[2].loadings.index) == ["X1", "log(X2)", "X5"]
    assert path[2].refit(card=1).card.tolist() == [1]


def test_it_prints_in_80_columns(R):
    text = str(sp.spca_path(R, k=2, cards=[(4, 2), (5, 3)]))
    assert max(map(len, text.splitlines())) <= 80
    assert "4, 2" in text
    assert "Path of 2 fits with 2 components" in text
    assert "<table" in sp.spca_path(R, cards=[1, 2]).as_html()


def test_a_path_that_was_stopped_says_where(R):
    with pytest.warns(sp.errors.ConvergenceWarning, match=r"card 4\)"):
        path = sp.spca_path(R, k=3, cards=[4], method="bcd-l0", max_iter=1)
    assert "Stopped at max_iter" in str(path)
