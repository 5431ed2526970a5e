"""The method "joint" by every way in which a fit is asked for, against published and enumerated figures."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.cli import main
from spcastat.errors import FileError, OptionError, UnknownOptionError
from spcastat.linalg.operators import Gram
from spcastat.search.grouped import first_of_equals
from spcastat.solvers.solver import Searched, Sparser
from tests.fit.test_archive import seal

R = sp.datasets.load_pitprops()
X = sp.datasets.pitprops_sample(rng=0)
REST = "no single exchange improves it"


def adjusted(V: np.ndarray, S: np.ndarray) -> float:
    """Adjusted variance by its definition: the triangular factor of the scores."""
    return float((np.diag(np.linalg.qr(np.linalg.cholesky(S).T @ V)[1]) ** 2).sum())


# The best known values of the pitprops, in percent: the best of 200 starts of every method and thorough
# searches with 20 seeds. They are given to three decimals.
@pytest.mark.parametrize(
    ("card", "best", "more"),
    [
        pytest.param([8, 5, 6, 2, 3, 2], 81.938, {"effort": "thorough"}, marks=pytest.mark.slow),
        ([7, 4, 4, 1, 1, 1], 82.266, {"objective": "pev"}),
    ],
)
def test_best_known_values_of_pitprops(card, best, more):
    fit = sp.spca_cov(R, 6, card, method="joint", **more)
    assert fit.card.tolist() == card  # in the order that was asked for
    assert 100 * fit.measure(more.get("objective", "adjusted")) == pytest.approx(best, abs=6e-4)
    assert fit.objective_value == pytest.approx(13 * best / 100, abs=1e-4)
    assert fit.optima["objective"].iloc[0] == pytest.approx(fit.objective_value / 13, rel=1e-6)


def test_one_component_is_the_best_predictor_of_three_variables():
    S = R.to_numpy()
    best = max(
        np.linalg.eigvals(np.linalg.solve(S[np.ix_(J, J)], (S @ S)[np.ix_(J, J)])).real.max()
        for J in map(list, combinations(range(13), 3))
    )
    fit = sp.spca_cov(R, 1, 3, method="joint", objective="least_squares")
    assert fit.objective_value == pytest.approx(best, rel=1e-9)
    assert fit.measure("least_squares") == pytest.approx(0.3102, abs=5e-5)


def test_rows_sparse_rows_chunks_and_covariances_agree():
    fits = [
        sp.spca(X, 3, 4, method="joint", scale=True),
        sp.spca(sps.csr_array(X.to_numpy()), 3, 4, method="joint", scale=True),
        sp.spca([X.iloc[:70], X.iloc[70:]], 3, 4, method="joint", scale=True),
        sp.spca_cov(R, 3, 4, method="joint"),
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.loadings, fits[0].loadings, atol=1e-6)


def test_the_same_seed_gives_the_same_bits_and_the_callers_generator_is_used():
    first, second = (sp.spca_cov(R, 3, [5, 4, 3], method="joint", rng=4) for _ in range(2))
    assert np.array_equal(first.loadings, second.loadings)
    assert str(first) == str(second)
    rng = np.random.default_rng(4)
    third = sp.spca_cov(R, 3, [5, 4, 3], method="joint", rng=rng)
    assert np.array_equal(first.loadings, third.loadings)
    assert rng.random() != np.random.default_rng(4).random()


def test_the_order_is_part_of_an_adjusted_fit():
    S = R.to_numpy()
    for order in (None, "given", "variance"):
        fit = sp.spca_cov(R, 4, 6, method="joint", effort="quick", order=order)
        variances = fit.variance["score variance"].to_numpy()
        assert fit.objective_value == pytest.approx(adjusted(fit.loadings.to_numpy(), S), rel=1e-9)
        assert "-0.0" not in fit.loadings.to_string(float_format="{:.1f}".format).split()
        if order == "variance":
            assert (np.diff(variances) <= 1e-9).all()
    for objective in ("pev", "least_squares"):
        fit = sp.spca_cov(R, 4, 6, method="joint", effort="quick", objective=objective)
        assert (np.diff(fit.variance["score variance"]) <= 1e-9).all()


def test_the_variance_of_another_order_is_that_of_the_loadings():
    # Pairs of correlated variables: adjusted variances depend on which of the two comes first.
    S = np.array([[1.0, 0.0, 0.9, 0.0], [0.0, 1.0, 0.0, 0.9], [0.9, 0.0, 1.2, 0.0], [0.0, 0.9, 0.0, 1.1]])
    fit = sp.spca_cov(S, 3, [1, 2, 1], method="joint", order="variance")
    assert fit.objective_value == pytest.approx(adjusted(fit.loadings.to_numpy(), S), rel=1e-9)
    assert fit.options["card"] == fit.card.tolist()


def test_fits_of_a_path_are_those_made_alone():
    path = sp.spca_path(R, 3, cards=[4, 8], method="joint", objective="adjusted")
    for card in (4, 8):
        alone = sp.spca_cov(R, 3, card, method="joint")
        for fit in (path[card], path[card].refit()):  # 1e-9: searches from the same numbers end to rounding
            assert fit.loadings.ne(0).equals(alone.loadings.ne(0))
            np.testing.assert_allclose(fit.loadings, alone.loadings, rtol=1e-9)
            assert fit.objective_value == pytest.approx(alone.objective_value, rel=1e-13)
    assert path.table["converged"].all()


def test_refits_and_comparisons():
    fit = sp.spca_cov(R, 3, 5, method="joint", objective="pev", effort="quick")
    assert fit.refit(objective="adjusted").objective_value != fit.objective_value
    other = fit.refit(method="bcd-l0")
    assert other.method == "bcd-l0"
    assert "effort" not in other.call
    assert other.measure("pev") <= fit.refit(effort="auto").measure("pev") * (1 + 1e-9)
    back = other.refit(method="joint", objective="pev", effort="quick")
    assert np.array_equal(back.loadings, fit.loadings)
    assert len(sp.compare({"joint": fit, "descent": other}).frames)
    kept = sp.spca_cov(R, 3, variance=0.8, promise="total", effort="quick")
    fewer = kept.refit(variance=0.7)
    assert (fewer.method, fewer.options["promise"], fewer.options["effort"]) == ("joint", "total", "quick")
    assert "promise" not in kept.refit(card=4).call
    assert "promise" not in kept.refit(method="controlled").call


def test_a_single_component_is_certified():
    fit = sp.spca_cov(R, 1, 5, method="joint")
    assert bool(fit.certify().table["optimal"].iloc[0])


def test_of_equal_variables_the_first_have_the_loadings():
    # Two groups of three equal variables, of which one is written in two parts, and one variable alone.
    group = np.array([0, 1, 0, 2, 1, 0, 1])
    between = np.array([[0.6, 0.2, 0.1], [0.2, 0.5, -0.3], [0.1, -0.3, 0.9]])
    S = between[np.ix_(group, group)] + 0.3 * np.eye(7)
    V = np.zeros((7, 2))
    V[[5, 6, 3], 0] = 0.8, 0.5, 0.33
    V[[2, 5, 4], 1] = 0.6, 0.7, 0.4
    before = V.copy()
    noise = np.random.default_rng(0).uniform(-1e-15, 1e-15, S.shape)
    for matrix in (S, S + noise + noise.T):
        found = first_of_equals(Gram(matrix), V)
        assert [np.flatnonzero(v).tolist() for v in found.T] == [[0, 1, 3], [0, 2, 4]]
        np.testing.assert_array_equal(found[0], [0.8, 0.7])
        np.testing.assert_allclose(found.T @ S @ found, V.T @ S @ V, rtol=1e-12)
    assert np.array_equal(V, before)
    apart = S.copy()
    apart[5, 1] += 0.01
    apart[1, 5] += 0.01
    assert first_of_equals(Gram(apart), V)[5].any()


def test_the_summary_describes_the_search():
    fit = sp.spca_cov(R, 3, [5, 4, 3], method="joint")
    text = " ".join(str(fit).split())
    starts, hits = fit.glance()["n_iter"].item(), int(fit.optima["hits"].iloc[0])
    assert fit.status == "searched"
    assert fit.converged
    assert f"reached from {hits} of {starts} starts and by " in text
    assert "no single exchange improves it" in text
    assert "converged" not in text
    assert "proven" in str(sp.spca_cov(R, 2, 13, method="joint"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "reached from 5 of 46 starts and by 2 of 3 searches; " + REST),
        ({"agreeing": 3}, "reached from 5 of 46 starts and by all 3 searches; " + REST),
        ({"hits": 1, "chains": 1}, "reached from 1 of 46 starts; " + REST),
        ({"starts": 1, "hits": 1, "chains": 1}, REST),
        ({"chains": 1, "settled": None}, "reached from 5 of 46 starts; not all exchanges were tried"),
        ({"proven": True}, "proven: no other loadings of these cardinalities are better"),
        (
            {"chains": 1, "variables": 300, "sufficient": False, "settled": None},
            "reached from 5 of 46 starts; searched among 300 of 2000 variables; exchanges with the others "
            "may improve it",
        ),
        (
            {"chains": 1, "variables": 300, "sufficient": True},
            "reached from 5 of 46 starts; searched among 300 of 2000 variables; " + REST,
        ),
    ],
)
def test_sentences(changes, told):
    seen = Searched(46, 5, 3, 2, 0.1, True, False)
    assert replace(seen, **changes).in_words(2000) == told


def test_overlapping_scores_get_a_line():
    # A common factor: the scores of any two groups of variables correlate.
    S = np.full((6, 6), 0.8) + 0.2 * np.eye(6)
    fit = sp.spca_cov(S, 2, 3, method="joint", objective="pev")
    r = np.abs(fit.score_correlations.to_numpy()[0, 1])
    assert r > 0.6
    text = " ".join(str(fit).split())
    assert f"|r| = {r:.2f}" in text
    assert 'objective="adjusted" counts only what each component adds' in text
    descent = " ".join(str(sp.spca_cov(S, 2, 3, method="bcd-l0")).split())
    assert ("|r| = " in descent) == ('method="joint", the default, counts only' in descent)
    assert "|r| = " not in str(sp.spca_cov(R, 3, 4, method="joint"))


def test_files_of_a_fit_with_a_variance_target(tmp_path):
    fit = sp.spca(X, 2, variance=0.7, promise="total", effort="quick")
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)
    for wrong in ({"proposals": [1]}, {"winner": 1}, {"nonzeros": 0}, {"searched": None}):
        with pytest.raises(FileError, match="evidence"):
            load_with_evidence(fit, tmp_path / "wrong.spca", **wrong)


def load_with_evidence(fit, path, **wrong):
    """Load a file of the fit in which a record of the search is wrong."""
    fit.save(path)

    def change(manifest):
        manifest["content"]["record"]["evidence"].update(wrong)

    seal(path, change)
    return sp.load(path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "fewest nonzeros of 2 proposals (greedy)"),
        ({"proposals": {"greedy": 30}}, "the only proposal"),
        (
            {"searched": True},
            "fewest nonzeros of 2 proposals (greedy); a joint search found none with one less",
        ),
        (
            {"dense": True},
            "fewest nonzeros of 2 proposals (greedy); more than a third of the loadings are nonzero: no "
            "sparse fit keeps this share",
        ),
        ({"proposals": {}, "winner": "PCA"}, "PCA itself: nothing sparser that was tried keeps the share"),
        ({"proven": True}, "proven: there cannot be fewer nonzeros than one for each component"),
    ],
)
def test_sentences_about_a_fit_with_a_variance_target(changes, told):
    seen = Sparser({"greedy": 30, "one price": 32}, "greedy", 28, False, False, False)
    assert replace(seen, **changes).in_words(2000) == told


def test_files(tmp_path):
    fit = sp.spca(X, 2, 4, method="joint")
    fit.save(tmp_path / "fit.spca")
    other = sp.load(tmp_path / "fit.spca")
    assert str(other) == str(fit)
    pd.testing.assert_frame_equal(other.optima, fit.optima)


@pytest.mark.parametrize(
    "wrong",
    [{"hits": 1.5}, {"starts": 0}, {"unseen": 2.0}, {"proven": 1}, {"settled": "no"}, {"variables": 14}],
)
def test_files_with_impossible_evidence_are_refused(wrong, tmp_path):
    fit = sp.spca_cov(R, 2, 4, method="joint", effort="quick")
    assert str(load_with_evidence(fit, tmp_path / "fit.spca")) == str(fit)
    with pytest.raises(FileError, match="evidence"):
        load_with_evidence(fit, tmp_path / "fit.spca", **wrong)


def test_the_command_line(capsys):
    call = ["fit", "pitprops", "--k", "2", "--card", "4", "--method", "joint"]
    assert main([*call, "--effort", "quick", "--objective", "least_squares"]) == 0
    printed = capsys.readouterr().out
    fit = sp.spca_cov(R, 2, 4, method="joint", effort="quick", objective="least_squares")
    assert f"{fit.objective_value:.6g}" in printed
    assert "least-squares share, joint search" in printed
    assert main([*call, "--effort", "long"]) == 1
    assert "quick, auto, thorough" in " ".join(capsys.readouterr().err.split()).replace("'", "")


def test_the_estimator():
    pytest.importorskip("sklearn")
    from spcastat.sklearn import SparsePCA

    estimator = SparsePCA(2, card=4, method="joint", objective="pev", effort="quick").fit(X)
    fit = sp.spca(X, 2, 4, method="joint", objective="pev", effort="quick")
    np.testing.assert_array_equal(estimator.components_, fit.loadings.to_numpy().T)


def test_what_it_does_not_have_is_refused_with_the_methods_that_have_it():
    with pytest.raises(UnknownOptionError, match=r"no option 'nonneg'; methods that have it: .*bcd"):
        sp.spca_cov(R, 2, 4, method="joint", nonneg=True)
    with pytest.raises(UnknownOptionError, match="'joint' has no option 'n_init'"):
        sp.spca_cov(R, 2, 4, method="joint", n_init=5)
    with pytest.raises(UnknownOptionError, match="no option 'effort'; methods that have it: 'joint'"):
        sp.spca_cov(R, 2, 4, method="greedy", effort="quick")
    with pytest.raises(OptionError, match="objective='variance'"):
        sp.spca_cov(R, 2, 4, method="joint", objective="variance")


@pytest.mark.slow
def test_more_columns_than_a_covariance_matrix_is_held_for():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((30, 3100))
    wide[:, :4] += 4.0 * rng.standard_normal((30, 1))
    wide[:, 4:8] += 3.0 * rng.standard_normal((30, 1))
    fit = sp.spca(wide, 2, 4, method="joint")
    assert [np.flatnonzero(v).tolist() for v in fit.loadings.to_numpy().T] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert "of 3100 variables" in " ".join(str(fit).split())
    chunks = [wide[:15], wide[15:]]
    for objective in ("adjusted", "pev"):
        passes, whole = (sp.spca(rows, 2, 4, objective=objective) for rows in (chunks, wide))
        np.testing.assert_allclose(passes.loadings, whole.loadings, atol=1e-7)
    predicting = sp.spca(chunks, 2, 4, objective="least_squares", effort="quick")
    assert predicting.measure("least_squares") > fit.measure("least_squares")
    assert "not all exchanges were tried" in " ".join(str(predicting).split())
    one = sp.spca(chunks, 1, 4)
    assert np.flatnonzero(one.loadings["PC1"]).tolist() == [0, 1, 2, 3]
    assert "no single exchange improves it" in " ".join(str(one).split())
    kept = sp.spca(chunks, 2, variance=0.2)
    assert (kept.variance["cumulative adjusted"] >= 0.2 * kept.variance["cumulative PCA"] - 1e-9).all()
