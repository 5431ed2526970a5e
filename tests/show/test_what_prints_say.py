"""What prints and texts say of the data and of the result: which variance, why a bound is no better."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.fit.method_table import SOLVERS
from spcastat.show import renderings


def said(text: object) -> str:
    """Return a text in one line."""
    return " ".join(str(text).split())


def rows(n: int = 60, p: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    factors = np.repeat(rng.normal(size=(n, 2)), p // 2, axis=1)
    return pd.DataFrame(factors + 0.7 * rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])


def with_outliers() -> pd.DataFrame:
    """Rows of which one is far, and with three outlying cells."""
    table = rows()
    table.iloc[[3, 8, 20], 1] = 40.0
    table.iloc[50] = 30.0
    return table


# --- the data of a robust fit ---------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("robust", "name"),
    [
        ("cells", "variance of the cleaned data"),
        ("rows", "variance of the rows kept"),
        (True, "variance of the cleaned data"),
    ],
)
def test_every_text_of_a_robust_fit_says_whose_variance_is_explained(robust, name, tmp_path: Path):
    table = with_outliers()
    for fit in (
        sp.spca(table, 2, 3, scale=True, method="greedy", robust=robust),
        sp.spca(table, 2, method="pca", scale=True, robust=robust),
        sp.sparse_loadings(table, 2, 3, scale=True, n_init=1, robust=robust),
    ):
        fit.report(tmp_path / "report.html")
        report = (tmp_path / "report.html").read_text(encoding="utf-8")
        for text in (fit, fit.summary(), fit.describe().text, report):
            assert f"% of {name}" in said(text) or f"% of the {name}" in said(text)
            assert "% of total variance" not in said(text)
            assert "% of the total variance" not in said(text)
        assert "the variances of the original data differ" in said(fit.notes)
        assert "Robust: " in str(fit)


def test_comparisons_paths_and_proofs_of_robust_fits_say_so_too():
    table = with_outliers()
    fit = sp.spca(table, 2, 3, scale=True, robust=True)
    both = sp.compare(fit, sp.spca(table, 2, 3, scale=True))
    assert "Warning: the variances of 'joint 3, 3, robust' refer to cleaned data." in said(both)
    assert "% of variance of the cleaned data" in said(sp.spca(table, 1, 3, scale=True, robust=True))
    path = sp.spca_path(table, 2, cards=[2, 3], scale=True, method="greedy", robust=True)
    assert "% of the variance of the cleaned data" in said(path)
    assert "Robust " in said(path)
    bound = sp.spca(table, 2, 3, scale=True, method="greedy", robust=True).certify(joint=True, max_nodes=1)
    if "Proven optimal" not in str(bound):
        assert "% of the variance of the cleaned data" in said(bound)


def test_robust_fits_that_change_nothing_explain_the_total_variance():
    fit = sp.spca(rows(), 2, 3, scale=True, method="greedy", robust="rows")
    assert "Cumulative % of total variance" in str(fit)
    assert "cleaned" not in said([fit.summary(), *fit.notes, fit.describe().text])


def test_texts_of_a_fit_given_covariates_say_that_the_variance_is_residual():
    fit = sp.spca(rows(), 2, 2, formula="~ . | x0", scale=True)
    for text in (fit, fit.summary(), fit.describe().text):
        assert "residual variance" in said(text)
        assert "total variance" not in said(text)


def test_prints_name_no_attribute_that_the_result_lacks():
    """Sparse loadings have no table of outliers."""
    fit = sp.sparse_loadings(with_outliers(), 2, 3, scale=True, n_init=1, robust=True)
    assert "fit.robust" not in str(fit)


# --- bounds ---------------------------------------------------------------------------------------


def test_a_bound_of_many_variables_says_why_it_is_no_lower_and_names_the_data():
    """With 300 variables no search of both components is feasible, and a search of one needs many nodes."""
    fit = sp.spca(rows(40, 300), 2, 20, scale=True, method="greedy")
    bound = fit.certify(joint=True)
    assert said(bound).startswith(
        "Upper bound on PEV for the sparse PCA of 40 rows and 300 variables, scaled to unit variance: "
        "2 components with 20 nonzero loadings each"
    )
    for text in (bound, bound.summary()):
        assert "n exhaustive search is not feasible for 300 variables (too many supports)" in said(text)
        assert "certify(joint=False) bounds each component" in said(text)
    assert "This is the bound of any fit with 40 variables, the sum of the largest variances." in said(bound)
    singly = fit.certify(joint=False, max_nodes=1)
    assert "stopped by the node limit after" in said(singly)
    assert "a larger max_nodes= may lower the bound" in said(singly)


def test_bounds_of_components_say_that_better_loadings_were_found():
    table = rows(60, 12)
    fit = sp.spca(table, 2, 3, scale=True, method="threshold")
    singly = fit.certify(joint=False)
    better = singly.table["best_known"] > singly.table["value"] * (1 + 1e-9)
    assert better.any()
    assert "Better loadings were found for PC1" in said(singly)
    assert "a better one may leave less variance for later ones" in said(singly)
    assert re.search(r"^PC1 .* no$", str(singly), re.MULTILINE)
    assert "not proven" not in str(singly)
    either_sign = sp.spca(table, 2, 3, scale=True, nonneg=True).certify(joint=False)
    assert " no\n" not in str(either_sign)  # what was found may have loadings of either sign


# --- choices --------------------------------------------------------------------------------------


def many_components() -> pd.DataFrame:
    """Sorted rows of unequal size, seven components, and near copies: with every remark of a choice."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(200, 7)), 4, axis=1) + 0.4 * rng.normal(size=(200, 28))
    X[:, 1] = X[:, 0] + 1e-3 * rng.normal(size=200)
    X[rng.choice(200, 20, replace=False)] *= 4.0
    return pd.DataFrame(X[np.argsort(X[:, 0])], columns=[f"x{j}" for j in range(28)])


def test_remarks_of_a_choice_are_shortened_before_components_are_hidden():
    k_choice = sp.choose_k(many_components(), scale=True)
    text = str(k_choice)
    assert len(text.splitlines()) <= 25
    assert "..." not in text
    assert all(f"PC{j + 1} " in text for j in range(k_choice.k + 1))
    assert "Near copies may raise k" in text
    assert "24 large rows of 200 were shrunk" in said(text)
    assert "next p: test against noise without the earlier components." in said(text)
    assert "each predicts the other" in said(k_choice.notes)


def test_notes_and_summaries_say_once_that_rows_were_shrunk():
    table = many_components()
    k_choice = sp.choose_k(table, scale=True)
    choice = sp.choose(table, scale=True, effort="quick", repeats=1, rng=0)
    for texts in (k_choice.notes, choice.notes, [str(k_choice.summary())], [str(choice.summary())]):
        assert said(" ".join(texts)).count("shrunk to predict and to test k") == 1


def test_every_component_of_a_choice_is_printed_before_its_reasons():
    """With seven components and every remark the reasons for their number are in choice.k_choice only."""
    choice = sp.choose(many_components(), scale=True, effort="quick", repeats=1, rng=0)
    text = str(choice)
    assert len(text.splitlines()) <= 25
    assert choice.k == 7
    assert all(f"PC{j + 1} " in text for j in range(choice.k))
    assert "more components" not in text


def test_crowded_remarks_name_the_option_that_helps():
    from spcastat.inputs.dependence import Neighbours

    for kind, option in (("serial", "block_length="), ("sorted or grouped", "clusters=")):
        ((text, brief),) = Neighbours(kind, 0.5).sentences()
        assert option in text
        assert option in brief
        assert len(brief) <= 80


def test_a_number_of_components_has_no_eigenvalues_of_noise_beside_another_test():
    """Parallel analysis is for comparison: its columns are in the summary, with what hides a component."""
    k_choice = sp.choose_k(many_components(), scale=True)
    (heading,) = [line for line in str(k_choice).splitlines() if line.startswith("     predicts %")]
    assert re.split(r"  +", heading.strip())[-3:] == ["next p", "eigenvalue", "cum. %"]
    assert "earlier components stay and may hide later ones" in said(k_choice.summary())


def test_a_summary_of_a_choice_says_why_two_predictions_differ():
    choice = sp.choose(rows(), scale=True, repeats=1)
    assert "The values need not agree." in said(choice.summary())
    assert "PEV: % of the variance reproduced" in said(choice.notes)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rule": "min"}, "this fit has the best prediction"),
        ({"rule": "1se"}, "this is the sparsest fit within"),
        ({"by": "is"}, "this fit has the largest index"),
        ({"by": "variance"}, "with which all components together reach 90 %"),
    ],
)
def test_every_reason_is_a_sentence(options, reason):
    choice = sp.choose(rows(), 2, scale=True, **options)
    assert reason in said(choice)
    assert "no sparser fit" not in said(choice)
    assert "Every loading is needed" not in said(choice)


# --- scales, associations and principal variables -------------------------------------------------


def test_a_print_of_scales_has_all_items_and_says_that_they_were_selected():
    table = many_components()
    text = str(sp.spca(table, 4, 4, scale=True, method="greedy").scales())
    assert len(text.splitlines()) <= 25
    assert "more" not in text
    assert "correlation of each variable with the sum of the others" in text
    assert "optimistic for new rows" in said(text)
    many = str(sp.spca(table, 14, 3, scale=True, method="greedy").scales())
    assert len(many.splitlines()) <= 25


def test_a_print_of_associations_has_every_component_and_explains_its_columns():
    table = many_components()
    text = str(sp.spca(table, 4, 4, scale=True, method="greedy").describe_components(alpha=1.0))
    assert all(f"\nPC{j}\n" in text for j in range(1, 5))
    assert "more rows" in text
    assert "estimate: correlation with the score" in said(text)
    assert "More: associations." in text


def test_a_print_of_principal_variables_explains_its_coefficients():
    text = said(sp.principal_variables(many_components(), 6, scale=True))
    assert "(root of the share)" in text
    assert "(overlap with PCA, 0 to 1)" in text
    assert "22 variables not kept: fit.represented." in text


def test_a_print_of_principal_variables_names_all_that_are_kept():
    """Without room for the tables, the names are first."""
    fit = sp.principal_variables(many_components(), 16)
    lines = str(fit).splitlines()
    assert len(lines) <= 25
    assert lines[2].startswith("Kept ")
    assert all(f" {name}" in said(fit).replace(",", "") for name in fit.variables.index)
    assert "fit.variables, and 12 not kept: fit.represented." in said(fit)


def test_coordinates_say_how_variables_were_scaled():
    scaled, plain = sp.spco(rows(), 2, zeros=0.5, scale=True), sp.spco(rows(), 2, zeros=0.5)
    assert "60 rows and 6 variables, scaled to unit variance: 2 components" in said(scaled)
    assert "60 rows x 6 variables, not scaled" in said(plain.summary())


def test_a_component_that_halves_do_not_find_is_named():
    """Three variables share a factor, the other components are noise."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(30, 40)))
    table[[0, 1, 2]] += 3.0 * rng.normal(size=(30, 1))
    stability = sp.spca(table, 2, 3, scale=True).stability(5, rng=0)
    first, second = stability.similarity
    assert first > 0.9
    assert second < 0.5
    for text in (stability, stability.summary(), stability.notes):
        assert f"(mean |r|): PC2 {second:.2f}." in said(text)
    alone = sp.spca(table, 1, 3, scale=True).stability(5, rng=0)
    assert "hardly resemble" not in said(alone) + said(alone.notes)


def test_associates_need_halves_with_and_without_the_variable():
    """What no half selected is replaced by nothing, although the correlation of its associates is known."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(30, 40)))
    stability = sp.spca(table, 3, 4, scale=True).stability(5, rng=0)
    assert stability.associates["beside"].isna().any()
    associates = str(stability.summary()).partition("Associates")[2]
    assert "NA" not in associates


def test_intervals_say_what_they_are():
    """Normal intervals, stretched to zero and cut at one: in print, notes and summary, once each."""
    fit = sp.spca(rows(), 2, 3, scale=True, method="greedy")
    boot = fit.bootstrap(40, rng=0)
    key = (
        "interval: loading plus or minus 1.96 standard deviations of the draws, cut at -1 and 1; it includes"
    )
    assert said(boot).count(key) == 1
    for text in (boot.notes, boot.summary()):
        assert (
            said(text).count("1.96 standard deviations of the draws (normal intervals), stretched to 0") == 1
        )
    few = fit.bootstrap(8, rng=0)
    assert "interval: normal" not in str(few)
    assert "normal intervals" not in said(few.notes)


def test_of_equal_loadings_the_positive_one_is_first():
    """Indicators of two levels have opposite loadings, equal but for rounding."""
    table = rows().assign(first=lambda data: data["x0"] > 0)
    table = table.assign(a=1.0 - table["first"], b=table.pop("first") * 1.0)
    fit = sp.spca(table, 1, 4, scale=True)
    column = fit.loadings.iloc[:, 0]
    assert column["a"] == pytest.approx(-column["b"], abs=1e-12)
    positive, negative = ("a", "b") if column["a"] > 0 else ("b", "a")
    for text in (str(fit), str(fit.bootstrap(40, rng=0))):
        lines = [line.split() for line in text.splitlines()]
        places = [next(i for i, words in enumerate(lines) if name in words) for name in (positive, negative)]
        assert places == sorted(places)


def test_tests_with_small_q_come_first_and_what_the_print_hides_has_large_ones():
    """Zero loadings are tested, too, and those with a small q are in the print."""
    rng = np.random.default_rng(0)
    factors = np.repeat(rng.normal(size=(80, 2)), 4, axis=1)
    table = pd.DataFrame(factors + rng.normal(size=(80, 8))).add_prefix("x", axis=1)
    table["noise"] = rng.normal(size=80)
    tests = sp.spca(table, 2, 2, scale=True).test_loadings(199, rng=0)
    q, loading = tests.table["q_value"], tests.table["loading"]
    hidden = int(((q > 0.05) & (loading == 0)).sum())
    assert ((q <= 0.05) & (loading == 0)).any()
    assert "false discovery rate over 18 tests (" in said(tests)
    for text in (tests, tests.notes):
        assert f"{hidden} zero loadings with q > .05 are not shown." in said(text)
    rows = [line.split() for line in str(tests).splitlines() if line.rpartition(" ")[2] in table.columns]
    assert len(rows) == len(q) - hidden
    second = [row[0] for row in rows].index("PC2")
    for component in (rows[:second], rows[second:]):
        large = [float(row[-2]) > 0.05 for row in component]
        assert large == sorted(large)


# --- what the shares of variance are of -----------------------------------------------------------


def test_measures_of_variance_are_defined_and_none_exceeds_the_next():
    table = sp.datasets.load_wine()
    for card in (1, 3, 8):
        fit = sp.spca(table, 3, card, scale=True, method="greedy")
        last = fit.variance.iloc[-1]
        shares = [last[f"cumulative {name}"] for name in ("adjusted", "PEV", "least squares", "PCA")]
        assert all(np.diff(shares) > -1e-12)
        assert "PEV is the variance that projection on the loadings reproduces" in said(fit.notes)
    text = said(sp.spca(table.iloc[:, :6], 2, 3, scale=True, method="greedy"))
    assert "PEV: variance projected on the loadings." in text
    one = said(sp.spca(table, 1, 3, scale=True, method="greedy").notes)
    assert "PEV, which is equal for one component, is" in one


def test_components_of_few_variables_are_told_from_bad_ones():
    """Neither adjusted variance nor PEV can exceed the variance of the variables with loadings."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 1)) + 0.5 * rng.normal(size=(50, 40))).add_prefix("x")
    fit = sp.spca(table, 2, 2, scale=True, method="greedy")
    used = int(fit.loadings.any(axis=1).sum())
    last = fit.variance.iloc[-1]
    assert last["cumulative PEV"] <= used / 40 < last["cumulative PCA"]
    (row,) = (line for line in str(fit).splitlines() if line.startswith("  least squares"))
    assert row.endswith(f"{100 * last['cumulative least squares']:.2f}")
    assert f"The {used} variables with loadings have {100 * used / 40:.2f} % of the total variance" in said(
        fit
    )
    assert f"{100 * last['cumulative least squares']:.1f} % of the total variance (PCA" in said(fit.notes)
    whole = sp.spca(table, 2, 40, scale=True, method="greedy")
    assert "variables with loadings have" not in said([*whole.notes, whole])


def test_variables_without_loadings_are_named_or_counted():
    table = rows()
    fit = sp.spca(table, 1, 4, scale=True)
    out = ", ".join(fit.loadings.index[(fit.loadings == 0).all(axis=1)])
    assert f"Without loadings: {out}." in said(fit)
    assert "Without loadings: " in said(sp.sparse_loadings(table, 1, 4, scale=True, n_init=1))
    assert "Without loadings" not in said(sp.spca(table, 1, 6, scale=True))
    many = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 100)))
    assert "94 of 100 variables have no loading." in said(sp.spca(many, 2, 3, method="greedy"))


def test_the_correlations_of_many_components_are_explained_above_their_column():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 30)))
    assert "total variance; |r|: largest correlation with another score" in said(
        sp.spca(table, 10, 3, method="greedy")
    )


# --- definitions beside lists, requests, hidden rows ----------------------------------------------


def test_lists_of_intervals_say_what_an_interval_is():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(np.repeat(rng.normal(size=(200, 5)), 5, axis=1) + 0.5 * rng.normal(size=(200, 25)))
    fit = sp.spca(table, 5, 5, scale=True, method="greedy")
    text = said(fit.bootstrap(49, rng=0))
    assert "include zero" in text  # lists
    assert "interval: loading plus or minus 1.96 standard deviations of the draws" in text
    sparse = said(sp.sparse_loadings(table, 5, 5, scale=True, n_init=1).bootstrap(49, rng=0))
    assert "interval: percentiles of the draws; it includes zero if 2.5 % of them or more leave" in sparse


def test_tests_of_loadings_count_small_q_values_in_their_heading():
    fit = sp.spca(rows(), 2, 3, scale=True, method="greedy")
    tests = fit.test_loadings(39, rng=0)
    of_nonzero = tests.table.loc[tests.table["loading"] != 0, "q_value"]
    count = int((of_nonzero <= 0.05).sum())
    for text in (said(tests), said(tests.summary())):
        assert f": {count} of {len(of_nonzero)} nonzero loadings with q <= 0.05; q: false discovery" in text


def test_requests_and_hidden_rows_are_printed():
    table = rows()
    kept = said(sp.principal_variables(table, share=0.7, scale=True))
    assert "the fewest variables that reproduce 70 % of the variance in held-out rows" in kept
    kept = said(sp.principal_variables(table, k=2, share=0.7, scale=True))
    assert "the fewest variables that reproduce 70 % of PCA's share in held-out rows" in kept
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 30)))
    assert "more rows: path.summary()" in said(sp.spca_path(wide, 1, method="greedy"))


def test_words_are_not_broken_at_their_hyphens():
    for width in range(20, 60):
        lines = renderings.filled(
            "70 in build wind float, 76 in build wind non-float, 13 in head-lamps", width
        )
        assert not any(line.endswith("-") for line in lines.splitlines())


def test_a_choice_for_a_matrix_names_its_criterion_and_the_rows_that_are_predicted():
    choice = sp.choose(rows().corr(), n_obs=60)
    assert "further loadings lower EBIC too little" in said(choice)
    assert "held-out rows simulated from this matrix" in said(choice)
    assert list(choice.alternatives)[1] == "explains"
    assert list(sp.choose(rows(), scale=True, k=2).alternatives)[1] == "predicts"


# --- dense components -----------------------------------------------------------------------------


DENSE_METHODS = [method.name for method in SOLVERS.values() if not method.controls]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", DENSE_METHODS)
def test_dense_components_have_their_own_shares_and_those_of_pca_beside(method, k):
    fit = sp.spca(rows(), k, method=method, scale=True)
    assert (fit.loadings != 0).all(axis=None)
    last_shares = {
        line.rsplit("  ", k)[0].strip(): float(line.split()[-1])
        for line in str(fit).splitlines()
        if line.startswith("  ")
    }
    own_label = "this component" if k == 1 else "adjusted"
    assert last_shares["PCA (dense)"] == pytest.approx(
        100 * fit.variance["cumulative PCA"].iloc[-1], abs=0.051
    )
    text = said(fit.describe().text)
    if method == "pca":
        assert own_label not in last_shares
    else:
        share = fit.variance["cumulative adjusted"].iloc[-1]
        assert last_shares[own_label] == pytest.approx(100 * share, abs=0.051)
        assert f"explained {100 * share:.1f} % of the total variance" in text


def test_there_are_dense_components_that_are_not_those_of_pca():
    assert set(DENSE_METHODS) > {"pca"}


# --- zero loadings in resampling --------------------------------------------------------------------


def test_prints_and_summaries_of_a_bootstrap_have_the_same_zero_loadings():
    noise = pd.DataFrame(np.random.default_rng(3).normal(size=(40, 8)), columns=list("abcdefgh"))
    boot = sp.spca(noise, 2, 3, scale=True, effort="quick").bootstrap(40)
    often = boot.table[(boot.table["estimate"] == 0) & (boot.table["selected"] >= 0.25)]
    assert len(often)
    assert "a blank loading is zero in the fit" in said(boot)
    for selected, term in zip(often["selected"], often["term"], strict=True):
        assert re.search(rf"^ +{100 * selected:.0f} %  {term}$", str(boot), re.MULTILINE)
        assert re.search(rf"^  {term} +{selected:.3f}$", str(boot.summary()), re.MULTILINE)


def test_a_print_without_room_for_zero_loadings_counts_them():
    noise = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 20)))
    boot = sp.spca(noise, 2, 9, scale=True, effort="quick").bootstrap(40)
    count = int(((boot.table["estimate"] == 0) & (boot.table["selected"] >= 0.25)).sum())
    assert f"boot.summary() also has {count} zero loadings that at least 25 % of the draws selected." in said(
        boot
    )
    assert "a blank loading" not in said(boot)


# --- numbers that readers compare -------------------------------------------------------------------


def test_printed_shares_are_differences_of_printed_cumulative_shares():
    """Shares in brackets have a digit less than the cumulative ones, of which they are differences."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 4)).repeat(5, axis=1) + rng.normal(size=(60, 20))
        text = str(sp.spca(X, 4, 5, scale=True, method="greedy"))
        shares = [float(share) for share in re.findall(r"PC\d \((\d+\.\d) %\)", text)]
        (line,) = re.findall(r"(?m)^  adjusted +(.*)$", text)
        cumulative = [float(share) for share in line.split()]
        assert len(shares) == 4
        assert np.abs(np.diff(cumulative, prepend=0.0) - shares).max() <= 0.05 + 0.01 + 1e-9


def test_printed_differences_of_held_out_errors_are_those_of_the_printed_errors():
    fits = {str(card): sp.spca(rows(), 2, card, scale=True, method="greedy") for card in (1, 2, 3)}
    table = sp.compare(fits, held_out=True).as_text()
    errors, excess = (
        [float(cell) for cell in re.findall(rf"(?m)^  {label} +(.*)$", table)[0].split()]
        for label in ("Error", "Above the smallest")
    )
    assert np.round(np.array(errors) - min(errors), 4).tolist() == excess


def test_two_variables_have_one_correlation_in_split_inference():
    """Of each with the score of the other: up to its sign the correlation between the two."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 80))
    data = pd.DataFrame(
        {"a": x, "b": -x + 0.5 * rng.normal(size=80), "c": y, "d": y + 0.3 * rng.normal(size=80)}
    )
    split = sp.spca(data, 2, 2, scale=True).split_inference(19, rng=0)
    text = str(split)
    found = {pair: float(r) for r, pair in re.findall(r"(-?0\.\d{3}) +\[.*?\]  (\w with \w)", text)}
    assert {tuple(sorted((pair[0], pair[-1]))) for pair in found} == {("a", "b"), ("c", "d")}
    assert sum("[" in line for line in text.splitlines()) == 2
    for pair, r in found.items():
        assert np.sign(r) == np.sign(data[pair[0]].corr(data[pair[-1]]))
        assert r == pytest.approx(data[pair[0]].corr(data[pair[-1]]), abs=0.1)  # in half of the rows


def test_alternatives_are_readable_with_the_default_options_of_pandas():
    """In 80 columns, without columns or texts that are cut."""
    choice = sp.choose(many_components(), k=8, scale=True, repeats=1)
    with pd.option_context("display.width", 80, "display.max_columns", 0, "display.max_colwidth", 50):
        printed = repr(choice.alternatives)
    assert "..." not in printed
    assert max(map(len, printed.splitlines())) <= 80
    for name in ("nonzeros", "predicts", "kept", "card", "disjoint"):
        assert printed.splitlines()[0].count(name) == 1
