"""What print(fit) shows, and the paragraph for a methods section."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.fit.method_table import SOLVERS
from spcastat.show.facts import key_of
from spcastat.show.methods_text import entries

# --- What print(fit) shows: the facts, the widths, and notes only where they matter ---------------


def lines(fit) -> list[str]:
    return str(fit).splitlines()


def test_the_header_has_the_facts(pitprops):
    data = pitprops.copy()
    data.iloc[3, 2] = np.nan
    fit = sp.spca(data, k=2, card=4, na="drop", scale=True, n_init=3, method="bcd-l0")
    text = " ".join(str(fit.summary()).split())
    assert text.startswith("Sparse PCA: 2 components of 13 variables, 8 nonzero loadings")
    assert "bcd-l0" in text
    assert "Zhao, Meng, Xu and Gao (2015)" in text
    assert "179 rows x 13 variables, 1 row with missing values dropped, centred" in text
    assert r"179 rows $\times$ 13 variables" in fit.summary().as_latex(notes=True)
    assert "scaled to unit variance" in text
    assert "residual variance |X - UV'|^2 / (n - 1)" in text
    assert "converged (" in text
    assert "best of 3 starts" in text


def test_below_the_loadings_stand_all_definitions(fit):
    text = str(fit.summary())
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
    (row,) = (line for line in lines(fit.summary(digits=2)) if line.startswith("Largest score |r|"))
    assert row.split()[3:] == [f"{r:.2f}" for r in C.max(axis=1)]  # with one decimal .96 would be 1.0
    (dense,) = (line for line in lines(fit.summary()) if line.startswith("  PCA (dense)"))
    assert dense.split()[2:] == [f"{100 * share:.2f}" for share in fit.variance["cumulative PCA"]]


def test_notes_stand_only_where_they_matter(pitprops):
    plain = str(sp.spca(pitprops, k=3, method="pca"))
    assert "correlated" not in plain
    assert "standard deviations" not in plain
    uneven = pitprops.assign(length=1000 * pitprops["length"])
    unscaled = sp.spca(uneven, k=1, card=3, scale=False, method="bcd-l0")
    first = " ".join(str(unscaled.summary()).splitlines()[1:3]).split()  # below the title
    assert "scale=True gives all variables the same weight" in " ".join(first)
    assert "scale=True gives all variables the same weight" in unscaled.notes[0]
    assert "Warning: variances range from" in str(unscaled)
    assert "standard deviations" not in str(sp.spca(uneven, k=1, card=3, scale=True, method="bcd-l0"))
    covariance = sp.spca_cov(uneven.cov(), k=1, card=3, scale=False, method="bcd-l0").notes[0]
    assert "the correlation matrix would give all variables the same weight" in covariance


def test_a_cardinality_that_was_missed_is_named(pitprops):
    """Nonnegative loadings of a variable against all others: fewer than were asked for."""
    data = pd.DataFrame({"a": pitprops["length"], "b": -pitprops["length"], "c": pitprops["clear"] * 0.1})
    fit = sp.spca(data, k=1, card=3, nonneg=True, method="bcd-l0")
    assert fit.card["PC1"] < 3
    assert f"Cardinality missed: PC1 has {fit.card['PC1']} nonzeros, 3 were requested" in " ".join(fit.notes)


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


# --- The paragraph for a methods section says what was done, with the numbers of the fit ----------


@pytest.mark.parametrize("method", [name for name in SOLVERS if SOLVERS[name].paper != "of this package"])
def test_the_paper_of_every_method_has_its_entry(method):
    entry = entries()[key_of(SOLVERS[method].paper)]
    assert re.search(r"year = \{(\d+)\}", entry)[1] in SOLVERS[method].paper
    assert re.search(r"author = \{.+, .+\}", entry)
    assert re.search(r"title = \{.+\}", entry)


def test_of_a_correlation_matrix():
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 6, [7, 4, 4, 1, 1, 1], method="greedy", n_obs=180)
    found = fit.describe()
    assert "applied to the correlation matrix of 13 variables, from 180 rows." in found.text
    assert "had 6 components with 7, 4, 4, 1, 1 and 1 nonzero loadings" in found.text
    last = fit.variance.iloc[-1]
    for column in ("cumulative adjusted", "cumulative PEV", "cumulative least squares", "cumulative PCA"):
        assert f"{100 * last[column]:.1f} %" in found.text
    assert "He, Monteiro and Park (2010)" in found.text
    assert [line.partition("(")[2][:4] for line in found.references[:2]] == ["2010", "2006"]
    assert found.references[1].startswith("Zou, H., Hastie, T. and Tibshirani, R. (2006). Sparse principal")
    assert found.bibtex.count("@") == len(found.references) == 3
    assert f"spcastat {sp.__version__}" in found.text
    assert str(fit.describe()) == str(found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"card": 4}, "starting values, of which"),
        ({"variance": 0.8}, "They were the sparsest of"),
        ({"card": 13}, "It was proven that no other loadings with these cardinalities are better."),
        ({"disjoint": True}, "partition"),
    ],
)
def test_the_search_is_described_in_sentences(options, said):
    """The line "Status" of the summary is not a sentence and has no place in a paper."""
    joint = sp.spca_cov(sp.datasets.load_pitprops(), 2, **options)
    (status,) = (line for line in lines(joint.summary()) if line.startswith("Status"))
    found = joint.describe().text.partition('(method "joint")')[2].partition("Together the")[0]
    assert said in found
    assert "; " not in found
    assert status.removeprefix("Status").strip() not in found


def test_of_rows_with_missing_values_weights_and_draws():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 5)) @ np.triu(np.ones((5, 5))))
    X.iloc[3, 1] = X.iloc[7, 2] = np.nan
    fit = sp.spca(X, 2, 2, method="greedy", na="em", scale=True, weights=np.repeat([1.0, 2.0], 30))
    text = fit.describe().text
    assert "60 rows of 5 variables." in text
    assert "centred and scaled to unit variance" in text
    assert "2 (0.67 %) were missing, in 2 rows; means and covariances were estimated" in text  # of 300 values
    assert "sum of the weights 90" in text
    for absent in ("stability", "bootstrap", "permutation"):
        assert absent not in text
    fit = fit.with_inference(fit.stability(5, rng=0), fit.bootstrap(39, rng=0))
    text = fit.describe().text
    assert "10 fits to complementary halves" in text
    assert "95 % bootstrap intervals (39 draws; variables selected again in each draw" in text


def test_how_numbers_were_chosen_is_known_to_the_fit_of_a_choice(tmp_path):
    choice = sp.choose(sp.datasets.make_hastie(), k=2, cards=[2, 4], rng=0, by="is")
    assert choice.method_text in choice.fit.describe(choice).text
    assert choice.fit.describe().text == choice.fit.describe(choice).text
    choice.fit.save(tmp_path / "chosen.spca")
    assert choice.method_text in sp.load(tmp_path / "chosen.spca").describe().text
    assert choice.method_text not in choice.fit.refit(card=3).describe().text


def test_the_choice_of_components_is_described_with_its_levels_and_source(planted_rows):
    choice = sp.choose(planted_rows, n_draws=99)
    found = choice.describe()
    assert found.text == choice.fit.describe().text
    assert "of the total variance, and by more than two standard errors" in found.text
    assert "of the mean variance of a variable" in sp.choose(planted_rows, scale=True).describe().text
    assert "by random signs of the residuals from the earlier components" in found.text
    assert "by 5-fold cross-validation" in found.text
    assert '(rule "worth"): no larger fit was better by one standard error' in found.text
    assert "up to 396 draws, level 1 %" in found.text  # four times as many if a p-value is near the level
    source = "Hong, D., Sheng, Y. and Dobriban, E. (2020)"
    assert any(reference.startswith(source) for reference in found.references)
    assert "@article{hong2020" in found.bibtex


def test_the_text_for_a_methods_section_has_no_advice(planted_rows):
    """A paper says what was done; what to call next belongs in prints."""
    walk = planted_rows.cumsum(axis=0)  # neighbouring rows are alike
    choice = sp.choose(walk, cards=[3, 4], effort="quick", n_draws=19, repeats=1)
    fit = choice.fit
    full = fit.with_inference(
        fit.bootstrap(9, choice=choice),
        fit.stability(3),
        fit.split_inference(9, repeats=2),
        fit.test_loadings(9),
        fit.certify(joint=False, max_nodes=1),
    )
    text = full.describe().text
    assert "Loadings were tested by 9 permutations" in text
    assert "successive rows are correlated (r = 0.98)" in " ".join(str(choice).split())
    for advice in ("successive rows are", "give clusters", "its q", "presuppose", "()", "=True", "='"):
        assert advice not in text


@pytest.fixture(scope="module")
def planted_rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 12))
    X[:, :4] += 1.5 * rng.normal(size=(120, 1))
    X[:, 4:8] += 1.2 * rng.normal(size=(120, 1))
    return X


def test_every_result_of_a_correlation_matrix_says_so(tmp_path):
    R = sp.datasets.load_pitprops()
    fit, path = sp.spca_cov(R, 2, card=4, n_obs=180), sp.spca_path(R, k=1, cards=[2, 3])
    path.explore(tmp_path / "path.html")
    fit.report(tmp_path / "fit.html")
    loadings = sp.sparse_loadings_cov(R, 2, card=4, n_init=2)
    choice = sp.choose(R, k=1, n_obs=180)
    results = [fit, loadings, path]
    texts = [text for result in results for text in (str(result), str(result.summary()))]
    texts += [str(choice), str(sp.principal_variables_cov(R, m=3))]
    texts += [fit.describe().text, loadings.describe().text]
    texts += [file.read_text(encoding="utf-8") for file in tmp_path.glob("*.html")]
    for text in texts:
        assert "covariance matrix of" not in text, text[:500]
    assert "correlation matrix of 13 variables" in str(path)
    assert "covariance matrix of 13 variables" in str(sp.spca_path(4.0 * R, k=1, cards=[2]))


def poisson() -> pd.DataFrame:
    """Counts of 80 rows, whose means vary by a factor of about ten."""
    rng = np.random.default_rng(0)
    means = np.exp(0.5 * rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) + 1.0)
    return pd.DataFrame(rng.poisson(means), columns=list("abcdef"))


@pytest.mark.parametrize(
    ("change", "options", "expected"),
    [
        (lambda counts: counts, {}, True),
        (lambda counts: scipy.sparse.csr_array(counts.to_numpy()), {}, True),
        (lambda counts: counts.astype(float), {}, True),
        (lambda counts: counts, {"scale": True}, False),
        (lambda counts: np.log1p(counts), {"scale": True}, False),
        (lambda counts: counts - 1, {}, False),
        (lambda counts: counts + 0.5, {}, False),
        (lambda counts: (counts > 2) * 1, {}, False),  # p (1 - p) is below p
        (lambda counts: counts.clip(1, 5), {}, False),  # answers from 1 to 5
    ],
)
def test_a_note_on_counts_names_the_logarithm(tmp_path, change, options, expected):
    """Unscaled whole numbers of which most variables vary more than their means; the advice is accepted."""
    fit = sp.spca(change(poisson()), 1, 3, effort="quick", **options)
    fit.save(tmp_path / "fit.spca")
    for result in (fit, sp.load(tmp_path / "fit.spca")):
        assert any("np.log1p(data) and scale=True" in note for note in result.notes) is expected


def test_the_advice_for_correlated_scores_is_accepted_by_the_call():
    rng = np.random.default_rng(0)
    general, groups = rng.normal(size=(100, 1)), rng.normal(size=(100, 2))
    data = pd.DataFrame(
        general + 0.5 * np.repeat(groups, 3, axis=1) + 0.6 * rng.normal(size=(100, 6)), columns=list("abcdef")
    )
    call = {"k": 2, "card": 3, "disjoint": True}
    advice = 'constraint="uncorrelated" finds scores without correlation'
    assert any(advice in note for note in sp.spca(data, **call).notes)
    scores = sp.spca(data, **call, constraint="uncorrelated").scores
    assert abs(np.corrcoef(scores.T)[0, 1]) < 1e-10  # what the constraint promises
    together = sp.spca(data, k=2, card=2, together={"g": ["a", "b"], "h": ["d", "e"]})
    assert any("Two scores have" in note for note in together.notes)
    assert not any("constraint" in note for note in together.notes)  # it is refused beside groups


def test_a_factor_of_mixed_data_is_one_variable():
    """The title and the line on data count variables; the note on zeros counts the columns of the table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd")).assign(site=list("uvw") * 20)
    text = str(sp.spca(table, 2, 2, scale="mixed").summary())
    assert text.splitlines()[0].startswith("Sparse PCA: 2 components of 5 variables")
    assert "60 rows x 5 variables (7 columns)" in text
    assert "of 7 columns" in text
