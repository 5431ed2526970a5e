"""Complementary halves, split inference, and what choices and draws return."""

from __future__ import annotations

import re
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import spcastat as sp
from spcastat.assess.draws import CovarianceSampler, draw_generator, sampler_of
from spcastat.assess.samples import _jackknife_errors, combined_p_values, with_others
from spcastat.cli import main
from spcastat.errors import OptionError
from spcastat.linalg.operators import Gram
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
        assert "selection probability is low" in " ".join(text.split())
    assert max(map(len, found.as_text().splitlines())) <= 80
    ax = found.plot()
    heights = [bar.get_width() for bar in ax.patches]
    assert max(heights) == pytest.approx(0.85)  # a frequency of one
    assert "frequency" in fit.tidy(conf_int=True)


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
    sampler = sampler_of(source_of(frame, **options), False, None, "a test")
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


def test_a_covariance_matrix_has_no_rows_to_leave_out():
    sampler = sampler_of(sp.spca_cov(np.eye(4) + 0.5, 1, 2, n_obs=30)._source, False, None, "a test")
    assert np.isnan(_jackknife_errors(sampler, np.ones((4, 1)), np.random.default_rng(0))).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "t4", "weak"])
def test_intervals_cover_the_true_correlation(kind):
    cover, _ = judged(kind, 100, 7, 150)
    # within .93 and .96, and two binomial standard errors of 700 intervals, correlated in a data set
    assert 0.93 - 0.02 <= cover.mean() <= 0.96 + 0.02


def test_correlations_are_those_of_scores_of_the_other_variables(fit, planted):
    X = planted.to_numpy()
    frame = fit.split_inference(50).conf_int()
    half = sampler_of(source_of(planted), False, None, "a test").halves(draw_generator(0, 0))[1]
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
    # Meinshausen, Meier and Buehlmann (2009), equations 2.2 and 2.3, on a grid of quantiles
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
        found = sp.spca(X, 1, 5).split_inference(40, repeats=10, rng=seed)
        assert found.repeats == 10
        false.append((found.p_values <= 0.05).any(axis=None))
    assert np.mean(false) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 8)
    X, _, true = rows_of("weak", 0)
    found = sp.spca(X, 1, 5).split_inference(40, repeats=10)
    assert (found.p_values["PC1"] <= 0.05).sum() >= 4
    assert not (found.p_values["PC1"].to_numpy() <= 0.05)[~true].any()
    text = " ".join(found.as_text().split())
    assert "10 splits combined (Meinshausen, Meier and Buehlmann, 2009)" in text


def test_a_component_of_one_variable_is_blank(planted, tmp_path):
    fit = sp.spca(planted, 2, [4, 1])
    found = fit.split_inference(10)
    alone = found.conf_int().query("component == 'PC2'")
    assert alone[["correlation", "std_error", "lower", "upper"]].isna().all(axis=None)
    assert found.p_values["PC2"].isna().sum() == 1
    assert "NA" not in found.as_text()
    fit.save(tmp_path / "a.spca")
    loaded = sp.load(tmp_path / "a.spca").resampled["split_inference"]
    pd.testing.assert_frame_equal(loaded.conf_int(), found.conf_int(), check_exact=True)
    pd.testing.assert_frame_equal(loaded.p_values, found.p_values, check_exact=True)


def test_draws_in_which_a_rare_item_does_not_vary_are_made_again():
    # An item that 8 of 40 rows tick is constant in about one draw of 150 of a half of 20 rows.
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((40, 5)), columns=list("abcde"))
    X["tick"] = np.repeat([1.0, 0.0], [8, 32])
    found = sp.spca(X, 1, 3, scale=True).split_inference(400, rng=2)
    assert found.conf_int().notna().all(axis=None)
    assert "drawn again" in str(found)


# --- What choices and draws return ----------------------------------------------------------------

# --- The names that programs rely on, and what Ctrl-C leaves --------------------------------------


def test_a_number_of_components(planted):
    found = sp.choose_k(planted, kmax=4, n_draws=19)
    assert found.k == 2
    assert isinstance(found.k, int)
    assert isinstance(found.reason, str)
    assert found.table.index.tolist() == ["PC1", "PC2", "PC3", "PC4"]
    assert len(found.spectrum) == 12
    assert found.plot() is not None


def test_a_cardinality(planted):
    found = sp.choose(planted, 2, cards=[2, 4, 6], repeats=1)
    assert found.card in ([4, 4], 4)
    assert isinstance(found.reason, str)
    assert found.table["card"].tolist() == [2, 4, 6]
    assert found.table.loc[found.table["chosen"], "card"].tolist() == [4]
    pd.testing.assert_frame_equal(found.fit.loadings, sp.spca(planted, 2, 4).loadings)


def test_intervals_have_a_row_for_every_loading_that_is_selected_anywhere(fit):
    found = fit.bootstrap(30)
    frame = found.conf_int()
    columns = ["component", "term", "estimate", "std_error", "lower", "upper", "selected"]
    assert frame.columns.tolist() == columns
    expected = (found.selected > 0) | (fit.loadings != 0)
    assert len(frame) == expected.to_numpy().sum()
    for row in frame.itertuples():
        place = fit.loadings.index.get_indexer(pd.Index([row.term], tupleize_cols=False))[0]
        c = fit.loadings.columns.get_loc(row.component)
        assert expected.iloc[place, c]
        assert row.selected == found.selected.iloc[place, c]
        assert row.estimate == fit.loadings.iloc[place, c]


def test_stability_has_frames_of_the_shape_of_the_loadings(fit):
    found = fit.stability(4)
    for frame in (found.frequency, found.stable):
        assert frame.index.equals(fit.loadings.index)
        assert frame.columns.equals(fit.loadings.columns)
    assert found.frequency.to_numpy().min() >= 0
    assert found.frequency.to_numpy().max() <= 1
    assert found.stable.dtypes.eq(bool).all()
    assert found.similarity.index.tolist() == ["PC1", "PC2"]
    assert found.bound.index.tolist() == ["PC1", "PC2", "all"]
    assert {"component", "members", "frequency"} <= set(found.variable_clusters)


def test_only_a_fit_of_the_em_has_imputed_rows(planted):
    gapped = planted.mask(np.random.default_rng(0).random(planted.shape) < 0.1)
    rows = sp.spca(gapped, 2, 4, na="em").imputed
    assert rows.shape == planted.shape
    assert rows.notna().all(axis=None)
    with pytest.raises(OptionError, match="na='em'"):
        _ = sp.spca(planted, 2, 4).imputed


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
    fit.save(tmp_path / "a.spca")
    (kept,) = sp.load(tmp_path / "a.spca").resampled.values()
    assert kept.interrupted
    assert kept.as_text() == found.as_text()


# --- What was resampled is shown by the command and on the page -----------------------------------


def test_the_command_prints_intervals_and_frequencies(planted, tmp_path, capsys):
    table, page = tmp_path / "rows.csv", tmp_path / "page.html"
    planted.set_axis([f"x{j}" for j in range(12)], axis=1).to_csv(table, index=False)
    call = ["fit", str(table), "--k", "2", "--card", "4", "--bootstrap", "6", "--stability", "3"]
    assert main([*call, "--report", str(page)]) == 0
    out = capsys.readouterr().out
    assert "Bootstrap (6 draws): 95 % intervals, variables selected again in each" in out
    assert "Stability: 6 fits of half of the rows" in out
    assert "How sure" in out
    assert max(map(len, out.splitlines())) <= 80
    text = page.read_text(encoding="utf-8")
    assert "Uncertainty</h2>" in text
    assert "Loadings with bootstrap intervals" in text


@pytest.mark.parametrize("wrong", [["--jobs", "2"], ["--bootstrap", "1"], ["--stability", "0"]])
def test_the_command_refuses(planted, tmp_path, capsys, wrong):
    table = tmp_path / "rows.csv"
    planted.set_axis([f"x{j}" for j in range(12)], axis=1).to_csv(table, index=False)
    assert main(["fit", str(table), "--k", "2", "--card", "4", *wrong]) != 0
    assert "error" in capsys.readouterr().err
