"""Complementary halves, split inference, permutation tests, and how well draws are fitted."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

import spcastat as sp
from spcastat.arguments import draw_generator
from spcastat.assess.split_samples import _jackknife_errors, combined_p_values, with_others
from spcastat.errors import OptionError
from spcastat.inputs.samplers import CovarianceSampler
from spcastat.linalg.operators import Gram
from spcastat.measures import adjusted_variances
from spcastat.plots.blocks import Block
from spcastat.results.resampling import Drawing, _halved, _resampling
from tests.conftest import source_of


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


def blocks(number):
    """Two blocks of 15 variables, mixed, and 20 variables of noise."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(150, 50))
    X[:, :15] += 2.0 * rng.normal(size=(150, 1))
    X[:, 15:30] += 1.5 * rng.normal(size=(150, 1))
    return pd.DataFrame(X[:, rng.permutation(50)], columns=[f"v{j:02d}" for j in range(50)])


def test_prints_have_all_selected_variables_by_component_and_count_the_others():
    fit = sp.spca(blocks(0), 2, 15)
    halves, draws = fit.stability(3), fit.bootstrap(39)
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
        numbers = rf"{row.component} +[\d. ]+{row.lower:.2f}\d* +{row.upper:.2f}\d* +{row.held_out:.2f}"
        assert re.search(numbers, draws.as_text())


def test_stability_renders_in_every_format_and_plots(fit):
    found = fit.stability(6)
    for text in (found.as_text(), found.as_html(), found.as_latex(), found.as_markdown()):
        assert "with a probability below average in halves" in " ".join(text.split())
    assert max(map(len, found.as_text().splitlines())) <= 80
    ax = found.plot()
    ax.figure.canvas.draw()
    blocks = [artist for artist in ax.get_children() if isinstance(artist, Block) and artist.layout]
    headings = [block.layout.heading.split(" (")[0] for block in blocks]
    k = found.frequency.shape[1]
    assert headings[:k] == [*found.frequency.columns]
    assert " ".join(headings[k:]).startswith("Share of fits to half of the rows that select it")
    for block, name in zip(blocks[:k], found.frequency, strict=True):
        shown = {row.name: row.value for row in block.layout.rows}
        frequency = found.frequency[name]
        assert shown == frequency[shown.keys()].to_dict()
        assert max(shown.values()) == frequency.max()
    assert "frequency" in fit.tidy(conf_int=found)


# --- Split inference: correlations on rows that did not select ------------------------------------


def rows_of(kind, seed):
    """Return 100 rows of 20 variables, their covariance matrix, and the variables of a factor."""
    rng = np.random.default_rng([5, seed])
    S, true = np.eye(20), np.zeros(20, dtype=bool)
    if kind == "weak":
        S[:5, :5] += 0.81
        true[:5] = True
    X = rng.standard_normal((100, 20)) @ np.linalg.cholesky(S).T
    if kind == "t4":
        X /= np.sqrt(rng.chisquare(4, (100, 1)) / 4)
    return X, S, true


def judged(kind, seeds, card, draws):
    """Return whether intervals cover the true correlation, and whether they exclude zero without cause."""
    cover, wrong = [], []
    for seed in range(seeds):
        X, S, true = rows_of(kind, seed)
        frame = sp.spca(X, 1, card).split_inference(draws, rng=seed).conf_int()
        at = [int(term[1:]) - 1 for term in frame["term"]]
        target = with_others(Gram(S), _weights(frame, at))[0][at, 0]
        cover += ((frame["lower"] <= target) & (target <= frame["upper"])).tolist()
        zero = (frame["lower"] <= 0) & (frame["upper"] >= 0)
        wrong += (~zero[~true[at]]).tolist()
    return np.array(cover), np.array(wrong)


def _weights(frame, at):
    W = np.zeros((20, 1))
    W[at, 0] = frame["loading"]
    return W


@pytest.mark.parametrize("kind", ["noise", "t4"])
def test_intervals_of_noise_contain_zero(kind):
    cover, wrong = judged(kind, 20, 5, 60)
    # nominal 5 %, 7 % promised; 100 intervals; leading eigenvectors excluded zero for a third
    assert wrong.mean() <= 0.07 + 2 * np.sqrt(0.07 * 0.93 / len(wrong))
    assert cover.mean() >= 0.93 - 2 * np.sqrt(0.07 * 0.93 / len(cover))


@pytest.mark.parametrize("cluster", [1, 4])
def test_standard_errors_leave_out_every_row_or_cluster(cluster):
    """The jackknife of Fisher's z, from the rows themselves."""
    X = np.exp(np.random.default_rng(7).standard_normal((40, 6)))
    labels = np.arange(40) // cluster
    frame = pd.DataFrame(X) if cluster == 1 else pd.DataFrame(X).assign(unit=labels.astype(str))
    options = {} if cluster == 1 else {"clusters": "unit"}
    sampler = source_of(frame, **options).sampler("a test")
    W = np.zeros((6, 2))
    W[[0, 2, 3], 0], W[[1, 4], 1] = [0.8, 0.5, -0.3], [0.6, 0.8]
    z = []
    for label in np.unique(labels):
        rows = X[labels != label]
        scores = [rows @ np.where(np.arange(6) == j, 0.0, W[:, c]) for j, c in PAIRS]
        r = [np.corrcoef(rows[:, j], score)[0, 1] for (j, _), score in zip(PAIRS, scores, strict=True)]
        z.append(np.arctanh(r))
    expected = np.sqrt((len(z) - 1) * np.var(z, axis=0))
    found = _jackknife_errors(sampler, W, np.random.default_rng(0))
    np.testing.assert_allclose([found[j, c] for j, c in PAIRS], expected, rtol=1e-10)
    assert np.isnan(found[W == 0]).all()


#: Variables and the components that select them.
PAIRS = [(0, 0), (2, 0), (3, 0), (1, 1), (4, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "t4", "weak"])
def test_intervals_cover_the_true_correlation(kind):
    cover, _ = judged(kind, 100, 7, 150)
    # within .93 and .96, and two binomial standard errors of 700 intervals, correlated in a data set
    assert 0.93 - 0.02 <= cover.mean() <= 0.96 + 0.02


def test_correlations_are_those_of_scores_of_the_other_variables(fit, planted):
    X = planted.to_numpy()
    frame = fit.split_inference(50).conf_int()
    half = source_of(planted).sampler("a test").halves(draw_generator(0, 0))[1]
    second = X[half.groups.rows]
    for _, part in frame.groupby("component"):
        columns = planted.columns.get_indexer(part["term"])
        w = part["loading"].to_numpy()
        np.testing.assert_allclose((w**2).sum(), 1.0)
        for i, line in enumerate(part.itertuples()):
            others = second[:, np.delete(columns, i)] @ np.delete(w, i)
            r = np.corrcoef(second[:, columns[i]], others)[0, 1]
            assert line.correlation == pytest.approx(r, abs=1e-10)
            assert line.lower <= line.correlation <= line.upper


def test_the_same_for_any_number_of_processes_and_from_a_covariance_matrix(fit, planted):
    frame = fit.split_inference(50, repeats=2).conf_int()
    again = fit.split_inference(50, repeats=2, n_jobs=2).conf_int()
    pd.testing.assert_frame_equal(again, frame, check_exact=True)
    normal = sp.spca_cov(planted.cov().to_numpy(), 2, 4, n_obs=120).split_inference(10)
    assert normal.conf_int().shape == (8, 7)
    assert normal.variance_ci().notna().all(axis=None)


def test_the_combination_of_splits_is_that_of_the_paper():
    # Meinshausen, Meier and Bühlmann (2009), equations 2.2 and 2.3, on a grid of quantiles
    rng = np.random.default_rng(0)
    P = rng.uniform(size=(25, 6)) ** 3
    P[:, 0] = 1.0
    grid = np.concatenate([np.linspace(0.05, 1, 4001)[1:], np.arange(2, 26) / 25])
    quantiles = np.quantile(P, grid, axis=0, method="inverted_cdf")
    least = np.minimum(quantiles / grid[:, None], 1.0).min(axis=0)
    expected = np.minimum((1.0 - np.log(0.05)) * least, 1.0)
    np.testing.assert_allclose(combined_p_values(P), expected, rtol=1e-12)
    assert combined_p_values(P)[0] == 1.0
    np.testing.assert_array_equal(combined_p_values(P[:1]), P[0])


def test_p_values_of_one_split_are_adjusted_for_all_loadings(fit):
    found = fit.split_inference(50)
    frame = found.conf_int()
    z = np.arctanh(frame["correlation"]) / (frame["std_error"] / (1 - frame["correlation"] ** 2))
    expected = np.minimum(8 * 2 * scipy.stats.t(58).sf(np.abs(z)), 1.0)
    stacked = found.p_values.T.stack()
    at = pd.MultiIndex.from_frame(frame[["component", "term"]])
    np.testing.assert_allclose(stacked[at], expected, rtol=1e-6, atol=1e-300)
    assert (stacked.drop(at) == 1).all()


def test_several_splits_find_a_factor_and_nothing_in_noise():
    false = []
    for seed in range(8):
        X, _, _ = rows_of("noise", seed)
        found = sp.spca(X, 1, 5).split_inference(20, repeats=10, rng=seed)
        assert found.repeats == 10
        false.append((found.p_values <= 0.05).any(axis=None))
    assert np.mean(false) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 8)
    X, _, true = rows_of("weak", 0)
    found = sp.spca(X, 1, 5).split_inference(20, repeats=10)
    assert (found.p_values["PC1"] <= 0.05).sum() >= 4
    assert not (found.p_values["PC1"].to_numpy() <= 0.05)[~true].any()
    text = " ".join(found.as_text().split())
    assert "10 splits combined (Meinshausen, Meier and Bühlmann, 2009)" in text


def test_a_component_of_one_variable_is_blank(planted, tmp_path):
    fit = sp.spca(planted, 2, [4, 1])
    found = fit.split_inference(10)
    alone = found.conf_int().query("component == 'PC2'")
    assert alone[["correlation", "std_error", "lower", "upper"]].isna().all(axis=None)
    assert found.p_values["PC2"].isna().sum() == 1
    assert "NA" not in found.as_text()
    fit.with_inference(found).save(tmp_path / "a.spca")
    loaded = sp.load(tmp_path / "a.spca").inference["split_inference"]
    pd.testing.assert_frame_equal(loaded.conf_int(), found.conf_int(), check_exact=True)
    pd.testing.assert_frame_equal(loaded.p_values, found.p_values, check_exact=True)


# --- The names that programs rely on, and what Ctrl-C leaves --------------------------------------


STAGES = {
    "bootstrap": ("bootstrap", "3 of 40 draws: interrupted"),
    "stability": ("complementary halves", "3 of 40 pairs: interrupted"),
    "split_inference": ("bootstrap of one half", "3 of 40 bootstrap samples of the second half: inter"),
    "test_loadings": ("permutations", "3 of 40: interrupted permutations"),
}


@pytest.fixture
def heard():
    """Python's own answer to the signal, which processes that share tests ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("method", STAGES)
def test_ctrl_c_leaves_what_there_is_and_it_says_so(fit, method, tmp_path):
    """The signal itself, sent where a stage has come to three of forty."""
    stage, told = STAGES[method]

    def press(step):
        if step.stage == stage and step.done == 3 and not step.ended:
            signal.raise_signal(signal.SIGINT)

    found = getattr(fit, method)(40, progress=press)
    assert found.interrupted
    assert told in " ".join(found.as_text().split())
    fit.with_inference(found).save(tmp_path / "a.spca")
    (kept,) = sp.load(tmp_path / "a.spca").inference.values()
    assert kept.interrupted
    assert kept.as_text() == found.as_text()


# --- Draws and halves are fitted as well as a separate fit would be -----------------------------

#: Resamples that are compared with separate fits.
DRAWS = 30


def drawing(fit):
    """Return a fit as what is drawn from, with the seed 0 in one process."""
    return Drawing(fit._state, fit._source, fit._call, None, 0, 1, None)


def plain(text):
    """Return a text with single spaces."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def wine():
    return sp.spca(sp.datasets.load_wine(), 3, 5, scale=True)


def best_order(V, op):
    """Return the largest adjusted variance over the orders of the components."""
    return max(adjusted_variances(V[:, list(order)], op).sum() for order in permutations(range(V.shape[1])))


def losses(fits, ops):
    """Return by how much each fit is worse than a separate fit with effort="quick", as a share of it."""
    found = []
    for V, op in zip(fits, ops, strict=True):
        S = op.block(np.arange(op.p)) * op.unit**2
        quick = best_order(sp.spca_cov(S, 3, 5, effort="quick").loadings.to_numpy(), op)
        found.append(1.0 - best_order(V, op) / quick)
    return np.array(found)


def resampled(fit, search):
    """Return the loadings of bootstrap draws, and the covariance matrices of the draws."""
    found = fit.bootstrap(DRAWS, search=search, rng=0)._numbers
    assert found.again == 0
    p, k = fit.loadings.shape
    fits = np.zeros((DRAWS, k * p))
    fits[:, found.places] = found.values
    rows = _halved(drawing(fit), "a test")
    drawn = [rows.sampler.bootstrap(draw_generator(rows.seed, number)) for number in range(DRAWS)]
    return fits.reshape(DRAWS, k, p).transpose(0, 2, 1), drawn


def test_draws_are_as_good_as_separate_quick_fits(wine):
    worse = {}
    for search in ("near", "quick"):
        lost = losses(*resampled(wine, search))
        worse[search] = (lost > 1e-6).mean()
    # 60 and 100 other draws of these wines: 25 and 34 %, and 3 %. The binomial quantiles of 30 draws are 13 %
    # at 99 % (of .03) and 7 % at 1 % (of .25)
    assert worse["quick"] <= 0.13
    assert worse["near"] >= 0.07


@pytest.mark.parametrize(
    "options",
    [
        {"card": 4},
        {"variance": 0.8},
        {"card": 4, "objective": "pev"},
        {"card": 4, "disjoint": True},
        {"disjoint": True},
        {"card": 4, "method": "bcd-l0"},
        {"card": 4, "method": "greedy"},
    ],
)
def test_the_selection_in_a_half_depends_on_this_half_alone(planted, options):
    """The theorem of Shah and Samworth (2013) needs it; numbers of nonzeros are those of the fit."""
    fit = sp.spca(planted, 2, **options)
    given = _halved(drawing(fit), "a test")
    other = replace(given.refit, V=np.roll(given.refit.V, 3, axis=0))
    half = given.sampler.halves(np.random.default_rng(0))[0].all_rows()
    one, two = (refit(half, np.random.default_rng(1)) for refit in (given.refit, other))
    np.testing.assert_array_equal(one, two)


def test_the_search_of_draws_is_refused_where_it_has_no_meaning(planted):
    groups = sp.spca(planted, 2, disjoint=True)
    wide = sp.spca(np.random.default_rng(0).normal(size=(30, 1001)), 2, 4, effort="quick")
    for fit, options in (
        (sp.spca(planted, 2, 4), {"select": False, "search": "quick"}),
        (sp.spca(planted, 2, 4, method="greedy"), {"search": "near"}),
        (groups, {"search": "quick"}),
        (wide, {"search": "quick"}),
    ):
        message = f"search='{options['search']}' was given, which is not available for this fit"
        with pytest.raises(OptionError, match=message):
            fit.bootstrap(9, **options)
    assert groups.bootstrap(3)._numbers.search == wide.bootstrap(3)._numbers.search == "near"


def test_a_local_search_of_draws_is_named(planted, tmp_path):
    fit = sp.spca(planted, 2, 4)
    said = "Each draw was fitted by a local search from the loadings of this fit"
    assert said not in plain(fit.bootstrap(9).as_text())
    assert "local search" not in fit.describe().text
    near = fit.bootstrap(39, search="near")
    assert said in plain(near.as_text())
    fit = fit.with_inference(near)
    assert said in plain(fit.summary().as_text())
    assert said in plain(fit.summary(conf_int=True).as_text())
    assert "by a local search that started from the fit" in fit.describe().text
    fit.save(tmp_path / "near.spca")
    assert said in plain(sp.load(tmp_path / "near.spca").inference["bootstrap"].as_text())
    assert said not in plain(fit.bootstrap(9, select=False).as_text())


# --- the variance of new rows -----------------------------------------------------------------------


def test_intervals_of_variances_are_in_units_of_the_population():
    """One factor of .8 on 5 of 12 variables, so that the population has the standard deviations 1."""
    S = np.eye(12)
    S[:5, :5] = 0.64 + 0.36 * np.eye(5)
    root, inside = np.linalg.cholesky(S), []
    for seed in range(30):
        fit = sp.spca(np.random.default_rng(seed).normal(size=(60, 12)) @ root.T, 1, 5, scale=True)
        v, scale = fit.loadings.to_numpy()[:, 0], fit._source.standard.scale
        row = fit.bootstrap(60, rng=seed).variance_ci().iloc[0]
        new = [v @ S @ v, (v / scale) @ S @ (v / scale)]
        inside.append([row["lower"] <= one <= row["upper"] for one in new])
    population, transformed = np.mean(inside, axis=0)
    # nominal .95, less three standard errors of 30 sets; scores by transform were inside for 58 of 100 sets
    assert population >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 30)
    assert transformed <= 0.58 + 3 * np.sqrt(0.58 * 0.42 / 30)


# --- Permutation tests: p-values of theory, uniform under their null ----------------------------


def test_a_variable_outside_has_the_p_value_of_a_correlation(planted):
    # of one component, the statistic is a plain correlation with the score; its p for normal rows is known
    X = planted.iloc[:, :8].set_axis([*"abcdefgh"], axis=1)
    fit = sp.spca(X, 1, 4)
    found = fit.test_loadings(1999)
    outside = fit.loadings.index[fit.loadings["PC1"] == 0]
    for name in outside:
        r = scipy.stats.pearsonr(X[name], fit.scores["PC1"]).statistic
        row = found.table.set_index("term").loc[name]
        assert row["correlation"] == pytest.approx(r, abs=1e-10)
        # the studentised statistic is standard normal for many rows; it is computed here from its definition
        products = (X[name] - X[name].mean()) * (fit.scores["PC1"] - fit.scores["PC1"].mean())
        p = 2 * scipy.stats.norm.sf(abs(products.mean()) / products.std(ddof=0) * np.sqrt(120))
        # 4 standard errors of 1999 permutations, and what the normal limit is off at n = 120
        assert row["p_value"] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 1999) + 0.02)


def test_a_selected_variable_is_tested_against_a_fit_without_it(planted):
    X = planted.iloc[:, :8].set_axis([*"abcdefgh"], axis=1)
    fit = sp.spca(X, 1, 4)
    found = fit.test_loadings(19).table.set_index("term")
    for name in fit.loadings.index[fit.loadings["PC1"] != 0]:
        score = sp.spca(X.drop(columns=name), 1, 4).scores["PC1"]
        r = np.corrcoef(X[name], score)[0, 1]
        assert abs(found.loc[name, "correlation"]) == pytest.approx(abs(r), abs=1e-6)


def test_p_values_of_noise_are_uniform_and_give_no_discoveries():
    p_values, discoveries = [], []
    for seed in range(40):
        fit = sp.spca(np.random.default_rng(seed).normal(size=(30, 8)), 1, 3)
        found = fit.test_loadings(19, rng=seed)
        p_values.append(found.p_values["PC1"].to_numpy())
        discoveries.append((found.q_values <= 0.2).any(axis=None))
    means = np.array(p_values).mean(axis=1)
    # uniform on 1/20, ..., 1: mean .525; data sets are independent, so 3.5 standard errors of their means
    assert abs(means.mean() - 0.525) < 3.5 * means.std(ddof=1) / np.sqrt(40)
    small = (np.array(p_values) <= 0.1).mean(axis=1)
    assert abs(small.mean() - 0.1) < 3.5 * small.std(ddof=1) / np.sqrt(40)
    # without any true loading, the rate of false discoveries is the share of data sets with one: .2 at most
    assert np.mean(discoveries) < 0.2 + 3.5 * np.sqrt(0.2 * 0.8 / 40)


def test_heavy_rows_without_correlation_give_no_discoveries():
    any_false = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 77])
        X = rng.standard_normal((100, 20)) / np.sqrt(rng.chisquare(4, (100, 1)) / 4)
        found = sp.spca(X, 1, 5, scale=True).test_loadings(99, rng=seed)
        any_false.append((found.q_values <= 0.05).any(axis=None))
    # .05 nominal, .10 promised; a test that is not studentised finds some in .8 to .9 of the data sets
    assert np.mean(any_false) <= 0.10 + 2 * np.sqrt(0.10 * 0.90 / 12)


def test_false_discovery_rates_are_those_of_the_table(fit):
    found = fit.test_loadings(99)
    expected = multipletests(found.p_values.to_numpy().ravel(), method="fdr_bh")[1]
    np.testing.assert_array_equal(found.q_values.to_numpy().ravel(), expected)
    more = fit.test_loadings(99, fdr="by")
    assert (more.q_values >= found.q_values).all(axis=None)
    strong = fit.loadings != 0
    assert (found.q_values.to_numpy()[strong] <= 0.05).all()
    assert "independent of all other variables" in found.as_text().replace("\n", " ")
    assert max(map(len, found.as_text().splitlines())) <= 80
    assert found.as_latex()


def test_components_of_the_other_variables_do_not_depend_on_the_one_left_out(planted):
    """Under the null its p-value is uniform only if nothing that depends on the variable enters."""
    from dataclasses import replace

    fit = sp.spca(planted, 2, 4)
    given = _resampling(Drawing(fit._state, fit._source, fit._call, None, 0, 1, None), "test_loadings()")
    others = given.sampler.all_rows().take(np.arange(1, given.op.p))
    alone = replace(given.refit, starts="alone")
    other = replace(alone, V=np.roll(given.refit.V, 3, axis=0))
    starts = [one.draw_starts(others, np.random.default_rng(0)) for one in (alone, other)]
    for a, b in zip(*starts, strict=True):
        np.testing.assert_array_equal(a, b)


def test_few_permutations_of_many_variables_are_said_to_give_no_small_q(fit):
    # 24 loadings, 9 permutations: the least p is .1, and Benjamini and Hochberg's q of m such .1 x 24 / m
    few = fit.test_loadings(9)
    text = " ".join(few.as_text().split())
    smallest = int((few.table["p_value"] == 0.1).sum())
    q = few.q_values.to_numpy().min()
    assert q <= 0.1 * 24 / smallest
    assert f"With 9 permutations and 24 tests no q is below {q:.2g}, although {smallest} loadings" in text
    assert f"n={int(np.ceil(24 / (smallest * 0.05))) - 1} permutations allow" in text
    assert fit.test_loadings(59).q_values.to_numpy()[fit.loadings.to_numpy() != 0].min() <= 0.05
    assert "permutations and 24 tests" not in fit.test_loadings(59).as_text()
