"""The bootstrap agrees with what is known of sampling distributions, and says what it is not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess import samples
from spcastat.assess.samples import align
from spcastat.errors import OptionError
from spcastat.linalg.operators import Gram
from spcastat.measures import adjusted_variances
from spcastat.plots.blocks import Block
from spcastat.show.resampling_facts import interval_meaning
from spcastat.show.templates import notes


def intervals_in(ax) -> int:
    """The number of bars of a plot of loadings that have an interval."""
    blocks = [child for child in ax.get_children() if isinstance(child, Block)]
    return sum(row.interval is not None for block in blocks for row in block.rows)


COLUMNS = ["component", "term", "estimate", "std_error", "lower", "upper", "selected"]


def test_dense_components_have_the_standard_errors_of_theory():
    # Anderson (1963), normal rows: n Var(v_1) = sum over m of l_1 l_m / (l_1 - l_m)^2 v_m v_m'; 2 l^2
    rng, values = np.random.default_rng(1), np.array([6.0, 3.0, 1.5, 1.0])
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    X = rng.normal(size=(1500, 4)) @ (np.sqrt(values)[:, None] * turn.T)
    found = sp.spca(X, 1, method="pca").bootstrap(600)
    S = np.cov(X.T)
    values, V = np.linalg.eigh(S)
    others = values[3] * values[:3] / (values[3] - values[:3]) ** 2
    theory = np.sqrt((V[:, :3] ** 2 * others).sum(axis=1) / 1500)
    frame = found.conf_int()
    # a standard deviation of 600 draws has a relative error of 3 %: 12 % is four of them
    np.testing.assert_allclose(frame["std_error"], theory, rtol=0.12)
    variance = found.variance_ci()
    np.testing.assert_allclose(variance["std_error"], values[3] * np.sqrt(2 / 1500), rtol=0.12)
    centre = np.sqrt(variance["lower"] * variance["upper"])
    np.testing.assert_allclose(centre, variance["held_out"], rtol=1e-10)
    # the optimism of the leading eigenvalue (Lawley 1956) is l sum of l_m / (l - l_m) / n, here .15 %
    np.testing.assert_allclose(variance["held_out"], values[3], rtol=0.01)
    half = 1.959963984540054 * frame["std_error"]  # the 97.5 % point of the normal distribution
    sure = (frame["estimate"].abs() > 3.0 * frame["std_error"]).to_numpy()  # nearly all draws have one sign
    assert sure.sum() >= 3
    np.testing.assert_allclose((frame["upper"] - frame["estimate"])[sure], half[sure], rtol=1e-12)


def test_columns_and_rows_of_the_frame(fit):
    found = fit.bootstrap(60)
    frame = found.conf_int()
    assert list(frame) == COLUMNS
    nonzero = fit.tidy().set_index(["component", "term"])["loading"]
    frame = frame.set_index(["component", "term"])
    np.testing.assert_array_equal(frame["estimate"][nonzero.index], nonzero)
    others = frame.drop(nonzero.index)
    assert (others["estimate"] == 0).all()
    assert (others["selected"] > 0).all()
    wide = found.selected.T.stack()
    met = frame["selected"][frame["selected"] > 0]
    np.testing.assert_array_equal(wide[met.index], met)
    narrow = found.conf_int(0.5).set_index(["component", "term"])
    assert (narrow["upper"] - narrow["lower"] <= frame["upper"] - frame["lower"]).all()


def test_the_same_bits_for_any_number_of_processes_and_another_seed_for_other_draws(fit):
    alone = fit.bootstrap(9).table
    pd.testing.assert_frame_equal(fit.bootstrap(9, n_jobs=2).table, alone, check_exact=True)
    pd.testing.assert_frame_equal(fit.bootstrap(9, rng=0).table, alone, check_exact=True)
    assert not fit.bootstrap(9, rng=1).table.equals(alone)


@pytest.fixture
def wine():
    return sp.spca(sp.datasets.load_wine().select_dtypes("number"), k=3, card=5, scale=True)


def test_most_draws_start_from_the_first_ones_by_any_number_of_processes(wine, monkeypatch):
    """The first ones are fitted in batches of another size, which changes the ends of climbs by 1e-9."""
    together = wine.bootstrap(110)._numbers
    np.testing.assert_array_equal(together.values, wine.bootstrap(110, n_jobs=2)._numbers.values)
    monkeypatch.setattr(samples, "SAMPLES", replace(samples.SAMPLES, first_draws=1000))
    apart = wine.bootstrap(110)._numbers
    np.testing.assert_allclose(together.variances[:50], apart.variances[:50], rtol=1e-7)
    assert not np.allclose(together.variances, apart.variances, rtol=1e-3)


def test_fits_of_first_draws_have_the_cardinalities_of_the_fit(monkeypatch):
    """Components of draws are matched with those of the fit, in noise in another order; starts are not."""
    rows = np.random.default_rng(0).standard_normal((40, 8))
    fit = sp.spca(rows, k=3, card=[2, 6, 3])
    given = []
    monkeypatch.setattr(samples, "SAMPLES", replace(samples.SAMPLES, first_draws=15))
    original = samples.replace

    def recording(record, **changes):
        given.extend(changes.get("known_fits", ()))
        return original(record, **changes)

    monkeypatch.setattr(samples, "replace", recording)
    fit.bootstrap(31)
    assert len(given) > 3
    assert {tuple(np.count_nonzero(V, axis=0).tolist()) for V in given} == {(2, 6, 3)}


def test_draws_that_start_from_the_first_ones_are_fitted_as_well(wine, monkeypatch):
    """Adjusted variances of 60 draws of wine, which have many different best fits.

    On average they may lose .05 % of those from other starts; from the fit and PCA of the draw alone, draws
    lose .18 to .25 % of the best known values.
    """
    given = []
    monkeypatch.setattr(samples, "_bootstrap_draws", lambda resampling, n: given.append(resampling))
    with pytest.raises(TypeError):
        wine.bootstrap(110)
    refit, sampler = given[0].refit, given[0].sampler
    rngs = [np.random.default_rng(i) for i in range(110)]
    ops = [sampler.bootstrap(rng) for rng in rngs]
    starts = [refit.draw_starts(op, rng) for op, rng in zip(ops, rngs, strict=True)]
    apart = refit.fitted_loadings(ops, starts)
    learning = replace(refit, known_fits=apart[:50])
    starts = [learning.draw_starts(op, rng) for op, rng in zip(ops[50:], rngs[50:], strict=True)]
    assert {len(one) for one in starts} == {1}
    together = learning.fitted_loadings(ops[50:], starts)
    values = [
        [adjusted_variances(V, op).sum() / op.total for V, op in zip(fits, ops[50:], strict=True)]
        for fits in (apart[50:], together)
    ]
    assert np.mean(values[1]) >= np.mean(values[0]) * (1.0 - 5e-4)


def test_formulas_learn_in_every_draw(planted):
    named = planted.set_axis([f"x{j}" for j in range(12)], axis=1)
    learnt = sp.spca(named, 2, 4, formula="~ " + " + ".join(f"scale(x{j})" for j in range(12)))
    plain = sp.spca(named, 2, 4, scale=True)
    both = [one.bootstrap(8).table.drop(columns="term") for one in (learnt, plain)]
    pd.testing.assert_frame_equal(*both, atol=1e-6)


def test_fixed_supports_are_labelled_for_what_they_are(fit):
    found = fit.bootstrap(39, select=False)
    frame = found.conf_int(kind="percentile")
    assert len(frame) == 8
    assert (frame["selected"] == 1).all()
    assert "not valid if the same data selected the variables" in found.as_text().replace("\n", " ")
    assert (frame["lower"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["upper"]).all()


def noise(seed, n, p, rows):
    """Return n rows of p uncorrelated variables: normal, elliptical t with 4 df, or lognormal."""
    rng = np.random.default_rng([77, seed])
    X = rng.standard_normal((n, p))
    if rows == "t4":
        return X / np.sqrt(rng.chisquare(4, (n, 1)) / 4)
    return np.exp(X) if rows == "skewed" else X


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("n", "p", "card", "rows"),
    [(100, 20, 5, "normal"), (100, 6, 5, "normal"), (60, 50, 5, "t4"), (100, 20, 8, "skewed")],
)
def test_intervals_in_noise_contain_zero(n, p, card, rows):
    excluded = total = 0
    for seed in range(12):
        fit = sp.spca(noise(seed, n, p, rows), 1, card)
        frame = fit.bootstrap(40, rng=seed).conf_int().query("estimate != 0")
        excluded += ((frame["lower"] > 0) | (frame["upper"] < 0)).sum()
        total += len(frame)
    # 5 % at most are promised; 60 loadings or more have a binomial standard error of .028, and the normal
    # intervals exclude zero for 30 to 75 % of them
    assert excluded / total <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / total)


def test_variance_intervals_in_noise_hold_the_variance_of_new_rows():
    inside = []
    for seed in range(20):
        row = sp.spca(noise(seed, 100, 20, "normal"), 1, 5).bootstrap(40, rng=seed).variance_ci().iloc[0]
        inside.append(row["lower"] <= 1 <= row["upper"])  # any unit vector has variance 1
    # .95 is nominal; of intervals around the variance on the same rows none of 30 holds it
    assert np.mean(inside) >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 20)


def test_components_that_are_not_found_are_marked(planted):
    fit = sp.spca(planted, 3, 4)
    unsaid = "Intervals presuppose a component that exceeds noise, which choose_k() tests."
    assert unsaid in plain(fit.bootstrap(39).as_text())
    choice = sp.choose_k(planted, n_draws=99)
    assert choice.k == 2
    found = fit.bootstrap(39, choice=choice)
    assert "PC3 (not found by choose_k)" in found.as_text()
    assert "PC2 (not found" not in found.as_text()
    said = "choose_k() finds 2 components in these rows, so PC3 may be noise."
    shown = fit.with_inference(found)
    for text in (found.as_text(), shown.summary().as_text(), shown.inference["bootstrap"].as_text()):
        assert said in plain(text)
        assert unsaid not in plain(text)
    assert unsaid in plain(fit.bootstrap(39).as_text())  # the choice is for the call that gave it
    with pytest.raises(OptionError, match=r"choice= is based on other data"):
        fit.bootstrap(39, choice=sp.choose_k(planted.iloc[:60], n_draws=19))
    whole = sp.choose(planted, cards=[3, 4], effort="quick", n_draws=99, repeats=1)
    assert "PC3 (not found by choose_k)" in fit.bootstrap(39, choice=whole).as_text()
    with pytest.raises(OptionError, match="it must be the result of choose_k"):
        fit.bootstrap(39, choice=sp.choose(planted, k=2, cards=[3, 4], effort="quick", repeats=1))
    assert unsaid not in plain(whole.fit.bootstrap(39).as_text())


def test_one_meaning_of_intervals_is_given_everywhere_with_the_q_values(fit):
    found = fit.bootstrap(39)
    fit = fit.with_inference(found, fit.test_loadings(19))
    (said,) = notes([interval_meaning(True)])
    for text in (
        found.as_text(),
        fit.summary().as_text(),
        fit.summary(conf_int=True).as_text(),
        type(found).conf_int.__doc__,
    ):
        assert said in plain(text)
    printed = fit.inference["bootstrap"].as_text()
    assert any(line.split()[-2:] == ["selected", "q"] for line in printed.splitlines())
    q_value = fit.inference["test_loadings"].q_values.T.stack()
    tidy = fit.tidy(conf_int=True).set_index(["component", "term"])["q_value"]
    np.testing.assert_array_equal(tidy, q_value[tidy.index])


def plain(text):
    """Return a text with single spaces."""
    return " ".join(text.split())


def test_samples_that_cannot_be_fitted_are_drawn_again(planted):
    found = sp.spca(planted.iloc[:5], 3, 2).bootstrap(40)  # draws of three different rows have rank 2
    assert found.n == 40
    assert "drawn again" in found.as_text()


def test_all_kinds_of_intervals_come_from_the_same_draws(fit):
    """With 21 draws the 5 % and 95 % points are the second smallest and the second largest draw.

    The hull contains the normal interval, and zero unless 95 % of the draws agree in sign. Percentile
    intervals of variances are those of the fit's components on the rows of the draws, moved to the held-out
    variance.
    """
    found = fit.bootstrap(21)
    draws = found._numbers
    hull, percentile = (found.conf_int(0.9, kind=kind) for kind in ("hull", "percentile"))
    ordered = np.sort(draws.values, axis=0)[[1, 19]].clip(-1.0, 1.0)
    kept = (hull["estimate"] != 0).to_numpy()
    bounds = percentile[["lower", "upper"]].to_numpy().T
    np.testing.assert_allclose(bounds[:, kept], ordered[:, kept], rtol=1e-12)
    same = ["component", "term", "estimate", "std_error", "selected"]
    pd.testing.assert_frame_equal(hull[same], percentile[same])
    assert percentile["lower"].isna().tolist() == hull["lower"].isna().tolist() == (~kept).tolist()
    variance = found.variance_ci(0.9, kind="percentile")
    ordered = (
        np.sort(draws.of_fit, axis=0)[[1, 19]] * (variance["held_out"] / variance["estimate"]).to_numpy()
    )
    np.testing.assert_allclose(variance[["lower", "upper"]].T, ordered, rtol=1e-12)
    half = 1.6448536269514722 * hull["std_error"]  # the 95 % point of the normal distribution
    lower, upper = ((hull["estimate"] + sign * half).clip(-1.0, 1.0) for sign in (-1.0, 1.0))
    agree = (np.sign(draws.values) == np.sign(hull["estimate"].to_numpy())).mean(axis=0) >= 0.95
    lower = np.where(agree, lower, np.minimum(lower, 0.0))
    upper = np.where(agree, upper, np.maximum(upper, 0.0))
    np.testing.assert_allclose(hull["lower"][kept], lower[kept], rtol=1e-12)
    np.testing.assert_allclose(hull["upper"][kept], upper[kept], rtol=1e-12)


def test_tidy_summary_and_plot_show_intervals(fit):
    found = fit.bootstrap(39)
    fit = fit.with_inference(found)
    frame = fit.tidy(conf_int=True)
    pd.testing.assert_series_equal(
        frame["upper"], found.conf_int().query("estimate != 0")["upper"].reset_index(drop=True)
    )
    assert frame["lower"].notna().all()
    assert fit.tidy(zeros=True, conf_int=True)["lower"].isna().any()
    summary = fit.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_markdown()):
        assert "Uncertainty" in text
    assert max(map(len, found.as_text().splitlines())) <= 80
    assert max(map(len, summary.as_text().splitlines())) <= 80
    ax = fit.plot_loadings(conf_int=True)
    assert intervals_in(ax) > intervals_in(fit.plot_loadings()) == 0
    ax = found.plot(components=[1])
    assert ax.get_ylabel() is not None


# --- Components of a draw are matched with those of the fit by their scores, and nothing else changes ---


def sparse_loadings(rng, p=12, k=4, card=5):
    V = np.zeros((p, k))
    for j in range(k):
        V[rng.choice(p, card, replace=False), j] = rng.normal(size=card)
    return V / np.linalg.norm(V, axis=0)


@pytest.fixture
def op():
    X = np.random.default_rng(0).normal(size=(60, 12)) @ np.diag(np.linspace(1, 3, 12))
    return Gram(np.cov(X.T))


@pytest.mark.parametrize("seed", range(5))
def test_the_assignment_is_the_best_of_all(op, seed):
    rng = np.random.default_rng(seed)
    V, W = sparse_loadings(rng), sparse_loadings(rng)
    sd = np.sqrt(np.diag(W.T @ op.S @ W))[:, None] * np.sqrt(np.diag(V.T @ op.S @ V))
    r = np.abs(W.T @ op.S @ V / sd)
    best = max(sum(r[j, i] for i, j in enumerate(order)) for order in itertools.permutations(range(4)))
    found = align(W, V, op)
    assert found.similarity.sum() == pytest.approx(best, rel=1e-12)
    assert (np.einsum("ij,ij->j", found.V, op.S @ V) >= 0).all()


def test_a_component_without_variance_gets_what_is_left():
    op = Gram(np.diag([1.0, 2.0, 0.0]))
    reference = np.eye(3)[:, [1, 2]]
    found = align(np.eye(3)[:, [2, 1]] * -1.0, reference, op)
    np.testing.assert_array_equal(found.V, reference)
    np.testing.assert_allclose(found.similarity, [1.0, 0.0], atol=1e-15)
