"""Complementary halves: exact halves, and frequencies, bounds and clusters that mean what they say."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess.draws import CovarianceSampler, sampler_of
from spcastat.errors import OptionError
from tests.conftest import source_of


def test_halves_are_complementary(planted):
    sampler = sampler_of(source_of(planted), False, None, "a test")
    first, second = sampler.halves(np.random.default_rng(0))
    assert (first.n, second.n) == (60, 60)
    assert sorted([*first.groups.rows, *second.groups.rows]) == list(range(120))


def test_halves_of_a_covariance_matrix_add_up_to_it():
    # (n1 - 1) S1 + (n2 - 1) S2 and the scatter of the two means, of rank one, are (n - 1) S
    S = np.cov(np.random.default_rng(0).normal(size=(41, 5)).T)
    first, second = CovarianceSampler(S, 41, False).halves(np.random.default_rng(1))
    left = 40 * S - (first.n - 1) * first.S - (second.n - 1) * second.S
    values = np.linalg.eigvalsh(left)
    np.testing.assert_allclose(values[:-1], 0.0, atol=1e-12)
    assert values[-1] > 0


def test_halves_of_a_covariance_matrix_are_those_of_normal_rows():
    # compared with half of rows that are uniform among those with this covariance matrix
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    X -= X.mean(axis=0)
    root = np.linalg.qr(X)[0]  # rows with S = I / 23 exactly; turned at random they are uniform given S
    by_rows = []
    for _ in range(1500):
        Z = rng.normal(size=(24, 3))
        Q = np.linalg.qr(Z - Z.mean(axis=0))[0]
        by_rows.append(np.cov(Q[rng.permutation(24)[:12]].T)[np.triu_indices(3)])
    sampler = CovarianceSampler(np.cov(root.T), 24, False)
    drawn = [sampler.halves(np.random.default_rng(i))[0].S[np.triu_indices(3)] for i in range(1500)]
    spread = np.std(by_rows, axis=0)
    # standard errors of a mean and of a standard deviation of 1500 draws, twice: 4 of them
    near = 4 * spread.max() / np.sqrt(750)
    np.testing.assert_allclose(np.mean(drawn, axis=0), np.mean(by_rows, axis=0), atol=near)
    np.testing.assert_allclose(np.std(drawn, axis=0), spread, rtol=4 / np.sqrt(1500))


def test_strong_components_come_again(fit):
    found = fit.stability(15)
    assert found.frequency.shape == found.stable.shape == (12, 2)
    nonzero = fit.loadings != 0
    assert (found.frequency.to_numpy()[nonzero] > 0.9).all()
    pd.testing.assert_frame_equal(found.stable, found.frequency >= 0.75)
    assert list(found.bound.index) == ["PC1", "PC2", "all"]
    # Shah and Samworth: q^2 / ((2 threshold - 1) p) for q = 4 of p = 12 in each component
    np.testing.assert_allclose(found.bound, [16 / 6, 16 / 6, 32 / 6])
    assert (found.similarity > 0.9).all()
    np.testing.assert_allclose(found.frequency.sum(), 4.0)  # each half selects four


def test_a_bound_above_the_cardinality_guarantees_nothing(planted):
    found = sp.spca(planted, 1, 8).stability(5)
    assert found.bound["PC1"] == 8.0
    assert "no guarantee" in found.as_text()


def test_near_copies_are_one_cluster_and_take_turns():
    rng = np.random.default_rng(3)
    t = rng.normal(size=(80, 1))
    X = pd.DataFrame(rng.normal(size=(80, 10)), columns=list("abcdefghij"))
    X[["a", "b", "c"]] += 2.0 * t
    X["d"] = X["c"] + 0.05 * rng.normal(size=80)
    found = sp.spca(X, 1, 3).stability(30, min_correlation=0.95)
    row = found.variable_clusters.iloc[0]
    assert row["members"] == ["c", "d"]
    assert row["frequency"] >= row["largest"]
    assert row["frequency"] > 0.9
    assert found.variable_clusters["component"].tolist() == ["PC1"]


def test_associates_replace_selected_variables():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(100, 8)), columns=list("abcdefgh"))
    X[["a", "b", "c"]] += 2.0 * rng.normal(size=(100, 1))  # three alike, of which two can be had
    fit = sp.spca(X, 1, 2)
    (left,) = set("abc") - set(fit.loadings.index[fit.loadings["PC1"] != 0])
    frame = fit.stability(30).associates
    assert set(frame["associate"]) == {left}
    assert (frame["share"] > frame["beside"]).all()
    assert (frame["correlation"] > 0.5).all()


@pytest.mark.slow  # processes are started as for intervals: test_bootstrap.py
def test_the_same_bits_for_any_number_of_processes(fit):
    alone = fit.stability(4)
    shared = fit.stability(4, n_jobs=2)
    pd.testing.assert_frame_equal(shared.frequency, alone.frequency, check_exact=True)
    pd.testing.assert_series_equal(shared.similarity, alone.similarity, check_exact=True)


@pytest.mark.parametrize(
    "bad",
    [{"n": 0}, {"threshold": 0.5}, {"threshold": 1.1}, {"min_correlation": 0.0}, {"min_correlation": "a"}],
)
def test_bad_options(fit, bad):
    with pytest.raises(OptionError, match=next(iter(bad))):
        fit.stability(**bad)


def blocks(number):
    """Two blocks of 15 variables, mixed, and 20 variables of noise."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(150, 50))
    X[:, :15] += 2.0 * rng.normal(size=(150, 1))
    X[:, 15:30] += 1.5 * rng.normal(size=(150, 1))
    return pd.DataFrame(X[:, rng.permutation(50)], columns=[f"v{j:02d}" for j in range(50)])


def test_prints_have_all_selected_variables_by_component_and_count_the_others():
    fit = sp.spca(blocks(0), 2, 15)
    halves, draws = fit.stability(3), fit.bootstrap(5)
    printed = re.findall(r"^(v\d\d) ", halves.as_text(), re.MULTILINE)
    for component, some in zip(fit.loadings, (printed[:15], printed[15:30]), strict=True):
        assert set(some) == set(fit.loadings.index[fit.loadings[component] != 0])
    often = int((halves.frequency >= 0.25).any(axis=1).sum())  # those of the fit are among them
    assert len(printed) == often
    assert f"Not shown: {50 - often} variables" in halves.as_text()
    rows = re.findall(r"^  (v\d\d)( +\S+){5}$", draws.as_text(), re.MULTILINE)  # five: with an interval
    expected = [v.abs().sort_values(ascending=False).index[:15] for _, v in fit.loadings.items()]
    assert [name for name, _ in rows] == [*expected[0], *expected[1]]
    for row in draws.variance_ci().itertuples():
        interval = rf"{row.component} {row.held_out:.2f} \({row.lower:.2f} to {row.upper:.2f}\)"
        assert re.search(interval, " ".join(draws.as_text().split()))


def test_a_print_has_a_cluster_that_is_stable_though_its_members_are_not(tmp_path):
    """With one nonzero loading, near copies of the same variance take turns."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(80, 10)), columns=list("abcdefghij"))
    X["a"] *= 3.0
    X["b"] = X["a"] + 0.2 * rng.normal(size=80)
    fit = sp.spca(X, 1, 1)
    for threshold, turns in ((0.9, True), (0.51, False)):
        found = fit.stability(30, min_correlation=0.95, threshold=threshold)
        (cluster,) = found.variable_clusters.itertuples()
        assert (cluster.largest < threshold <= cluster.frequency) == turns
        assert ("any member" in found.as_text()) == turns
    assert "Associates" not in found.as_text()
    fit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "any member" in page  # a report has all of it
    assert "Associates" in page


def test_stability_renders_in_every_format_and_plots(fit):
    found = fit.stability(6)
    for text in (found.as_text(), found.as_html(), found.as_latex(), found.as_markdown()):
        assert "low probability of selection" in " ".join(text.split())
    assert max(map(len, found.as_text().splitlines())) <= 80
    ax = found.plot()
    heights = [bar.get_width() for bar in ax.patches]
    assert max(heights) == pytest.approx(0.85)  # a frequency of one
    assert "frequency" in fit.tidy(conf_int=True)
