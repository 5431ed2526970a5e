"""The choice of cardinalities, with and without missing values, and paths over cardinalities."""

from __future__ import annotations

import pickle
import re
import warnings
from math import comb

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.arguments import seed_of
from spcastat.assess.candidates import ebic
from spcastat.assess.cross_validation import Errors, path_cards
from spcastat.assess.folds import (
    MomentFolds,
    PlainRows,
    RowFolds,
    SparseModel,
    batched_press,
    batched_squares,
    measured_cells,
)
from spcastat.assess.prediction import _Predictor
from spcastat.errors import (
    ConstantColumnError,
    DataWarning,
    MissingValuesError,
    NoRowsError,
    OptionError,
)
from spcastat.inputs.constructors import rows_or_matrix_of
from spcastat.inputs.samplers import FoldRows, Rules
from spcastat.linalg.operators import Gram
from spcastat.reading.missing_values import em_moments
from spcastat.results.choice import support_overlap
from tests.assess.conftest import sigma
from tests.results.test_sparse_loadings import overlap

CARDS = [2, 4, 6, 8]


def planted(n: int, p: int, cards: tuple[int, ...], variances: tuple[float, ...], seed: int) -> pd.DataFrame:
    """Rows with disjoint sparse components, of equal loadings with alternating signs, and unit noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    first = 0
    for card, variance in zip(cards, variances, strict=True):
        v = np.where(np.arange(card) % 2, -1.0, 1.0) / np.sqrt(card)
        X[:, first : first + card] += np.outer(rng.standard_normal(n) * np.sqrt(variance), v)
        first += card
    return pd.DataFrame(X, columns=[f"v{j + 1}" for j in range(p)])


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    return planted(120, 16, (4, 4), (6.0, 4.0), 3)


@pytest.fixture
def case() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    A = rng.standard_normal((60, 7)) @ np.diag([3, 3, 2, 2, 1, 1, 1]) + 2 * rng.standard_normal((60, 1))
    V = np.zeros((7, 2))
    V[[0, 1, 2], 0], V[[2, 3], 1] = (0.6, 0.6, 0.52915), (0.6, 0.8)
    return V, np.cov(A.T)


def test_the_deviance_is_that_of_the_dense_matrix(case):
    V, S = case
    Sigma = sigma(V, S)
    expected = 50 * (np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, S)))
    assert SparseModel.of(V, Gram(S)).deviance(50) == pytest.approx(expected, rel=1e-10)  # rounding


def test_ebic_adds_what_its_paper_says(case):
    V, S = case
    model = SparseModel.of(V, Gram(S))
    expected = model.deviance(50) + 5 * np.log(50) + 2 * (np.log(comb(7, 3)) + np.log(comb(7, 2)))
    assert ebic(model, 50, np.array([3, 2])) == pytest.approx(expected, rel=1e-12)


def test_cells_are_predicted_from_the_others_of_their_row(case):
    """Against the regression of each variable on the others that Sigma implies, cell by cell."""
    V, S = case
    Sigma = sigma(V, S)
    rows = np.random.default_rng(1).standard_normal((9, 7))
    expected = 0.0
    for j in range(7):
        rest = np.delete(np.arange(7), j)
        weights = np.linalg.solve(Sigma[np.ix_(rest, rest)], Sigma[rest, j])
        expected += ((rows[:, j] - rows[:, rest] @ weights) ** 2).sum()
    model = SparseModel.of(V, Gram(S))
    block = rows[:, model.used].T @ rows[:, model.used]
    assert model.press((rows**2).sum(axis=0), block) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_folds_are_those_of_the_rows(weighted):
    rng = np.random.default_rng(5)
    rows, labels = rng.standard_normal((40, 5)) + 100, np.arange(40) % 4
    w = rng.integers(1, 4, 40).astype(float) if weighted else None
    names = pd.RangeIndex(5)
    one = MomentFolds(rows, w, labels[None], Rules(True, True, names))
    other = RowFolds(PlainRows(rows), w, labels[None], Rules(True, True, names))
    for fold in range(4):
        out = labels == fold
        training = rows[~out] if w is None else np.repeat(rows[~out], w[~out].astype(int), axis=0)
        held = rows[out] if w is None else np.repeat(rows[out], w[out].astype(int), axis=0)
        Z = (held - training.mean(axis=0)) / training.std(axis=0, ddof=1)
        for folds in (one, other):
            op, found = folds.split(fold)
            S = op.block(np.arange(5)) * op.unit**2
            # a mean of 100 costs four of sixteen digits
            np.testing.assert_allclose(S, np.corrcoef(training.T), atol=1e-10)
            np.testing.assert_allclose(found.squares, (Z**2).sum(axis=0), rtol=1e-9)
            np.testing.assert_allclose(found.block(np.array([1, 3])), (Z.T @ Z)[[1, 3]][:, [1, 3]], rtol=1e-8)


# --- planted truth --------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["cv", "ebic"])
def test_the_planted_cardinality_is_chosen(X, by):
    choice = sp.choose(X, k=2, cards=CARDS, by=by)
    assert choice.card == 4
    supports = {frozenset(column[column != 0].index) for _, column in choice.fit.loadings.items()}
    assert supports == {frozenset(X.columns[:4]), frozenset(X.columns[4:8])}
    assert choice.table.loc[choice.table["chosen"], "card"].tolist() == [4]
    assert "with 8 of 32 loadings, card=4" in str(choice)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("cards", "options"),
    [
        (CARDS, {"scale": True, "repeats": 1}),
        (CARDS, {"rng": 5, "repeats": 2, "folds": 3}),
        (None, {"family": "rotated", "objective": "pev", "effort": "quick", "repeats": 1}),
        (None, {"family": "partition", "repeats": 1}),
        (CARDS, {"na": "em", "by": "ebic"}),
        (CARDS, {"method": "bcd-l0", "n_init": 3, "repeats": 1}),
        (CARDS, {"include": {"PC1": ["v16"]}, "folds": 3, "repeats": 1}),
    ],
)
def test_the_fit_is_that_of_its_call(X, cards, options):
    if "na" in options:
        X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    choice = sp.choose(X, k=2, cards=cards, **options)
    of_the_choice = ("folds", "repeats", "rng", "by", "rule", "family")
    own = {name: value for name, value in options.items() if name not in of_the_choice}
    if options.get("family") == "partition":
        own |= {"disjoint": True}
    again = sp.spca(X, k=2, card=choice.card, **own)
    pd.testing.assert_frame_equal(choice.fit.loadings, again.loadings, rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(choice.fit.loadings != 0, again.loadings != 0)
    assert (str(choice.fit), choice.fit.call) == (str(again), again.call)
    pd.testing.assert_frame_equal(choice.fit.refit(card=2).loadings, again.refit(card=2).loadings)


def test_the_fit_to_a_covariance_matrix_or_to_chunks_is_that_of_its_call(X):
    for data, own, drawn in (
        (X.cov(), {"n_obs": 120}, {}),
        ([X.iloc[:70], X.iloc[70:]], {}, {"folds": 3, "repeats": 1}),
    ):
        choice = sp.choose(data, k=2, cards=CARDS, **drawn, **own)
        again = (sp.spca_cov if own else sp.spca)(data, k=2, card=choice.card, **own)
        pd.testing.assert_frame_equal(choice.fit.loadings, again.loadings, rtol=0.0, atol=1e-10)
        assert str(choice.fit) == str(again)


def test_a_covariance_matrix_is_chosen_by_ebic_as_its_rows_are(X):
    by_rows = sp.choose(X, k=2, cards=CARDS, by="ebic")
    by_matrix = sp.choose(X.cov(), k=2, cards=CARDS, n_obs=len(X))
    assert (by_matrix.by, by_matrix.card) == ("ebic", by_rows.card)
    np.testing.assert_allclose(by_matrix.table["ebic"], by_rows.table["ebic"], rtol=1e-8)  # sweeps end


def test_the_share_of_variance_is_kept(X):
    choice = sp.choose(X, k=2, cards=range(1, 11), by="variance", share=0.8)
    table = choice.table.set_index("card")["relative_adjusted"]
    assert table[choice.card] >= 0.8
    assert (table[table.index < choice.card] < 0.8).all()


# --- what the rows come as ------------------------------------------------------------------------


def test_sparse_rows_give_the_table_of_dense_ones(X):
    from scipy import sparse

    Z = X.where(X.abs() > 0.8, 0.0)
    dense = sp.choose(Z.to_numpy(), k=2, cards=CARDS, repeats=1)
    other = sp.choose(sparse.csr_array(Z.to_numpy()), k=2, cards=CARDS, repeats=1)
    pd.testing.assert_frame_equal(dense.table, other.table, rtol=1e-8)  # products in another order


def test_chunks_of_any_size_give_one_choice(X):
    few = sp.choose([X.iloc[:70], X.iloc[70:]], k=2, cards=CARDS, repeats=1)
    many = sp.choose([X.iloc[a : a + 17] for a in range(0, 120, 17)], k=2, cards=CARDS, repeats=1)
    assert few.card == many.card == 4
    pd.testing.assert_frame_equal(few.table, many.table, rtol=1e-8)  # sums in another order


def test_what_a_formula_learns_it_learns_without_the_fold(X):
    """The formula's own scale() is what scale=True does, in every fold."""
    some = X.iloc[:, :6] * [1, 2, 3, 4, 5, 6]
    terms = " + ".join(f"scale({name})" for name in some.columns)
    by_formula = sp.choose(some, k=2, cards=[2, 4], formula=f"~ {terms}", folds=3, repeats=1)
    by_option = sp.choose(some, k=2, cards=[2, 4], scale=True, folds=3, repeats=1)
    pd.testing.assert_series_equal(by_formula.table["error"], by_option.table["error"], rtol=1e-8)


# --- how it is shown ------------------------------------------------------------------------------


def test_unequal_cardinalities_are_not_on_the_curve_of_equal_ones():
    table = pd.DataFrame({"nonzeros": [2, 4, 5, 6], "chosen": [False, False, True, False]})
    table = table.assign(card=[1, 2, (4, 1), 3], error=[0.9, 0.8, 0.5, 0.7], se=0.1)
    ax = sp.plots.plot_choice(table)
    curve, *apart = ax.get_lines()
    assert curve.get_xdata().tolist() == [2, 4, 6]  # no dip at five
    assert [line.get_xdata().tolist() for line in apart if line.get_label() == "chosen (unequal)"] == [[5]]
    plt.close(ax.figure)
    apart = table.assign(card=[1, (2, 2), (4, 1), 3])
    names = [text.get_text() for text in sp.plots.plot_choice(apart).get_legend().get_texts()]
    assert {"equal per component", "unequal", "± 1 s.e."} <= set(names)
    all_unequal = table.assign(card=[(1, 1), (2, 2), (4, 1), (3, 3)])
    assert not sp.plots.plot_choice_data(all_unequal)["unequal"].any()


# --- refusals -------------------------------------------------------------------------------------


def test_the_paired_rule_compares_by_fold():
    """By hand from the table: the sparsest whose excess is within its own standard error."""
    X = sp.datasets.pitprops_sample(rng=1)
    one, choice = (sp.choose(X, 3, scale=True, rule=rule, family="equal") for rule in ("1se", "paired"))
    table = choice.table
    # measures of the variance are those of the returned fit for the chosen one
    of_folds = ["card", "error", "se", "excess", "excess_se"]
    pd.testing.assert_frame_equal(table[of_folds], one.table[of_folds])
    within = table["excess"] <= table["excess_se"]
    assert choice.card == table.loc[within, "card"].min() > one.card
    assert "one standard error of the difference" in choice.reason
    assert max(map(len, choice.as_text().splitlines())) <= 80


def test_what_is_predicted_has_a_standard_error_paired_by_fold():
    """By hand, for two folds of weights 1 and 3."""
    errors = Errors(
        press=np.array([[[1.0], [9.0]]]), mean=np.array([[2.0, 6.0]]), weight=np.array([[1.0, 3.0]])
    )
    # the mean error of a row is (2 + 6) / 4 = 2: gains by fold (2 - 1) / 2 and (6 / 3 - 9 / 3) / 2
    gains = np.array([0.5, -0.5])
    share, se = errors.predicted()
    assert share == pytest.approx([(1 * 0.5 - 3 * 0.5) / 4])
    assert se == pytest.approx([gains.std(ddof=1) / np.sqrt(2)])
    assert share == pytest.approx(1.0 - errors.error)


def test_a_choice_in_noise_says_that_nothing_is_predicted():
    """One component is asked for in independent noise; two are asked for where there are two."""
    noise = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 30)))
    choice = sp.choose(noise, k=1, scale=True, repeats=1)
    best = choice.table.loc[choice.table["predicts"].idxmax()]
    assert best["predicts"] <= 2 * best["predicts_se"]
    numbers = "(the best {predicts:.1%} of the variance, standard error {predicts_se:.1%})".format_map(best)
    caution = "No candidate {} clearly better than the column means " + numbers.replace("%", " %")
    assert caution.format("predicts") in " ".join(str(choice).split())
    assert caution.format("predicted") in str(choice.describe())
    real = sp.choose(planted(150, 16, (5, 4), (8.0, 5.0), 2), k=2, repeats=1)
    assert "column means" not in str(real) + str(real.describe())


# --- what a further loading is worth --------------------------------------------------------------


def test_skewed_rows_do_not_hide_the_components():
    """Rows of exp(Z / 2): the standard error of a single error is large, those of differences are not."""
    X = np.exp(0.5 * planted(150, 16, (5, 4), (8.0, 5.0), 2))
    assert sp.choose(X, k=2, scale=True, repeats=8).fit.card.tolist() == [5, 4]


@pytest.mark.parametrize("covariance", [False, True])
def test_each_component_has_its_own_cardinality_where_that_is_better(covariance):
    data = planted(150, 24, (10, 4, 3), (12.0, 6.0, 4.0), 1)
    choice = sp.choose(data.cov(), k=3, n_obs=150) if covariance else sp.choose(data, k=3, repeats=1)
    assert choice.card == [10, 4, 3]
    equal = sp.choose(data, k=3, family="equal", repeats=1)
    assert isinstance(equal.card, int)


def test_what_is_printed_of_a_choice_is_the_fit_that_is_returned():
    """The search changes one component at a time and can leave the best fits, with which it is compared."""
    choice = sp.choose(sp.datasets.pitprops_sample(), k=4, scale=True, repeats=1)
    line = choice.table[choice.table["chosen"]].iloc[0]
    assert isinstance(choice.card, list)
    assert line["pev"] == pytest.approx(choice.fit.measure("pev"), rel=1e-4)
    assert line["adjusted"] == pytest.approx(choice.fit.measure("adjusted"), rel=1e-4)
    assert choice.fit.variance["score variance"].is_monotonic_decreasing


# --- The choice of cardinalities and of k ---------------------------------------------------------


def test_two_seeds_choose_nearly_the_same_supports():
    """Wine: with one division into folds the overlap of two seeds was .80, with these four .93."""
    fits = [sp.choose(sp.datasets.load_wine(), 3, scale=True, rng=seed).fit for seed in (1, 2, 3)]
    supports = [fit.loadings.to_numpy() for fit in fits]
    pairs = [overlap(supports[i], supports[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert np.mean(pairs) >= 0.9


def test_errors_of_many_fits_are_those_of_each():
    rng = np.random.default_rng(0)
    m, f, p, k = 3, 4, 9, 3
    V = rng.standard_normal((m, f, p, k)) * (rng.random((m, f, p, k)) < 0.5)
    V /= np.maximum(np.linalg.norm(V, axis=2, keepdims=True), 1e-9)
    V[0, 0, :, 1] = V[0, 0, :, 0]  # dependent loadings
    V[1, 1] = 0.0
    V[1, 1, 0, 0] = V[1, 1, 1, 1] = V[1, 1, 2, 2] = 1.0  # components of one variable
    A, B = rng.standard_normal((2, f, 30, p))
    S, products = A.mT @ A / 29.0, B.mT @ B
    found = batched_press(V, S, products)
    for i in range(m):
        for j in range(f):
            model = SparseModel.of(V[i, j], Gram(S[j]))
            block = products[j][np.ix_(model.used, model.used)]
            assert found[i, j] == pytest.approx(model.press(np.diag(products[j]), block), rel=1e-9)


def test_errors_of_cells_are_those_by_the_inverse_of_the_model_covariance():
    """With Omega = Sigma^-1 the error of value j in row x is (Omega x)_j / Omega_jj."""
    rng = np.random.default_rng(1)
    m, f, p, k = 2, 3, 8, 2
    V = rng.standard_normal((m, f, p, k)) * (rng.random((m, f, p, k)) < 0.6)
    V[1, 1] = 0.0
    V[1, 1, 0, 0] = V[1, 1, 1, 1] = 1.0  # components of one variable
    A = rng.standard_normal((f, 30, p))
    S = A.mT @ A / 29.0
    cells = [(rng.standard_normal((5, p)), rng.random((5, p))) for _ in range(f)]
    found = batched_squares(V, S, cells)
    for i in range(m):
        for j, (Z, weights) in enumerate(cells):
            model = SparseModel.of(V[i, j], Gram(S[j]))
            W = np.zeros((p, model.W.shape[1]))
            W[model.used] = model.W
            sigma = model.noise * np.eye(p) + (W * (model.variances - model.noise)) @ W.T
            omega = np.linalg.inv(sigma)
            expected = ((Z @ omega / np.diag(omega)) ** 2 * weights).sum()
            assert found[i, j] == pytest.approx(expected, rel=1e-8)
            assert model.squares(Z, weights) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("p", [10, 210])
def test_replaced_cells_are_not_compared_with_their_prediction(p):
    """The errors of all cells less those of the replaced ones, fold by fold; rows of weight 2 count twice."""
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((60, 1)) + rng.standard_normal((60, p))
    replaced, weights = rng.random(Z.shape) < 0.1, rng.integers(1, 3, 60).astype(float)
    labels = np.tile(np.arange(60) % 5, (1, 1))
    rules = Rules(True, True, pd.RangeIndex(p), otherwise=np.ones(p))
    divided = [FoldRows(Z, weights, labels, rules, mask) for mask in (None, replaced)]
    whole, part = (_Predictor(rows, True, 1) for rows in divided)
    press = [predictor.press(range(1, 2))[0] for predictor in (whole, part)]
    for fold in range(5):
        out = labels[0] == fold
        standard = rules.of_rows(Z[~out], weights[~out])[0]
        held = (Z[out] - standard.mean) / standard.scale
        counted = replaced[out] * weights[out, None]
        assert part.mean[fold] == pytest.approx(whole.mean[fold] - (held**2 * counted).sum())
        assert part.weight[fold] == pytest.approx(whole.weight[fold] - counted.sum() / p)
    shares = [one.sum() / predictor.mean.sum() for one, predictor in zip(press, (whole, part), strict=True)]
    assert shares[1] < 1.0  # the component predicts, of the cells that are compared, too
    assert (press[1] < press[0]).all()


def test_candidates_go_beyond_50_where_prediction_improves():
    """One factor behind 70 variables, all of equal strength: with 50 of them, 20 are not predicted."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 1)) + 0.5 * rng.standard_normal((80, 70))
    choice = sp.choose(X, k=1, scale=True, repeats=1)
    assert choice.card == 70
    assert "no sparser fit predicts nearly as well" in str(choice)


def test_many_components_are_found_without_kmax():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((300, 12)), 3, axis=1) + 0.7 * rng.standard_normal((300, 36))
    found = sp.choose_k(X, scale=True, n_draws=39)
    assert found.k == 12
    assert "larger kmax" not in found.reason
    assert len(found.table) == 13  # the thirteenth is noise
    assert sp.choose_k(X, scale=True, n_draws=19, kmax=8).k == 8


@pytest.mark.parametrize("rule", ["worth", "min"])
def test_no_candidate_beats_the_choice_by_its_own_criterion(rule):
    table = sp.choose(sp.datasets.load_wine(), k=4, scale=True, by="ebic", rule=rule).table
    chosen = table[table["chosen"]].iloc[0]
    if rule == "min":
        assert chosen["ebic"] == table["ebic"].min()
    else:
        assert (table.loc[table["nonzeros"] <= chosen["nonzeros"], "ebic"] >= chosen["ebic"] - 2.0).all()


@pytest.mark.parametrize("seed", [5, 10])
def test_the_choice_predicts_well_where_a_few_rows_dominate_the_errors(seed):
    """Rows of very different size, so no fit is better by more than a standard error than fits with less.

    No candidate with as few loadings predicts better, and four fifths of the best prediction are kept.
    """
    rng = np.random.default_rng(seed + 100)
    X = planted(120, 9, (4, 2, 2), (4.0, 3.0, 2.0), seed) * np.exp(1.3 * rng.standard_normal((120, 1)))
    table = sp.choose(X, 3, scale=True).table
    chosen = table[table["chosen"]].iloc[0]
    as_few = table[table["nonzeros"] <= chosen["nonzeros"]]
    assert as_few["predicts"].max() <= chosen["predicts"]
    assert chosen["kept"] >= 0.8


def test_polychoric_matrices_are_refused_by_tests_for_normal_rows():
    """Independent binary items, a share of .15: components were found in 17 of 17 such matrices."""
    items = (np.random.default_rng(0).random((200, 8)) < 0.15).astype(int)
    R = sp.correlation(items)
    for call in (sp.choose_k, sp.choose):
        with pytest.raises(OptionError, match=r"polychoric .* give k= to choose\(\), or test the items"):
            call(R, n_obs=200)
    assert sp.choose(R, 2, n_obs=200, cards=[1, 2]).k == 2
    assert sp.choose_k(items, scale=True).k == 0


def test_stability_is_that_of_choices_from_halves():
    X = sp.datasets.make_toy(80, rng=1)
    choice = sp.choose(X, 2, cards=[2, 4, 6], scale=True, repeats=1)
    found = choice.stability(2)
    assert found.table["share"].sum() == pytest.approx(1.0)
    assert found.draws["k"].tolist() == [2, 2]
    assert 0.0 <= found.overlap <= 1.0
    assert "2 random halves" in str(found)
    pd.testing.assert_frame_equal(found.draws, choice.stability(2).draws)
    with pytest.raises(NoRowsError, match="halves of the rows"):
        sp.choose(X.corr(), 2, n_obs=80, cards=[2, 4]).stability(2)


@pytest.mark.parametrize("how", [{}, {"scale": True}, {"clusters": np.arange(30) // 3}], ids=str)
def test_a_choice_of_no_component_has_halves(how):
    noise = np.random.default_rng(5).normal(size=(30, 5))
    choice = sp.choose(noise, n_draws=19, **how)
    assert choice.k == 0
    found = choice.stability(4)
    assert len(found.draws) == 4
    assert (found.draws["overlap"] == 0.0).all()  # of no loadings with any
    assert found.table["share"].sum() == pytest.approx(1.0)
    exceeding = int((found.draws["k"] > 0).sum())
    words = f"{exceeding} of 4 halves have" if exceeding else "in any of the 4 halves, as in all rows"
    assert words in " ".join(str(found).split())
    assert str(choice.stability(4)) == str(found)


def test_overlap_matches_components():
    """By hand: {a, b}, {c} and {c}, {a}: the best matching has 1 + 1 common of 3 + 2 loadings."""
    A = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    B = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    assert support_overlap(A, B) == pytest.approx(0.8)
    assert support_overlap(A, A) == 1.0
    assert support_overlap(A, np.zeros((3, 0))) == 0.0


# --- The choice with missing values: conditional normals, folds that learn nothing inside -------

SEED = 5
#: The final fit is not what is tested.
CHEAP = {"method": "threshold"}


@pytest.fixture(scope="module")
def gapped() -> pd.DataFrame:
    """Two components of four of ten variables each, every seventh cell or so missing; units differ little."""
    rng = np.random.default_rng(0)
    V = np.zeros((10, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    rows = rng.standard_normal((90, 2)) * [3.0, 2.2] @ V.T + rng.standard_normal((90, 10)) + 7.0
    return pd.DataFrame(rows).mask(rng.random(rows.shape) < 0.15).add_prefix("v")


def predicted_errors(rows: np.ndarray, Sigma: np.ndarray) -> np.ndarray:
    """Errors, shape of `rows`, when each measured cell is regressed on the others that its row has."""
    errors = np.zeros(rows.shape)
    for i, row in enumerate(rows):
        measured = np.flatnonzero(~np.isnan(row))
        for j in measured:
            rest = measured[measured != j]
            weights = np.linalg.solve(Sigma[np.ix_(rest, rest)], Sigma[rest, j])
            errors[i, j] = row[j] - row[rest] @ weights
    return errors


@pytest.mark.parametrize("weighted", [False, True])
def test_measured_cells_are_predicted_from_the_other_measured_cells(weighted):
    rng = np.random.default_rng(8)
    A = rng.standard_normal((60, 7)) @ np.diag([3, 3, 2, 2, 1, 1, 1]) + 2 * rng.standard_normal((60, 1))
    V = np.zeros((7, 2))
    V[[0, 1, 2], 0], V[[2, 3], 1] = (0.6, 0.6, 0.52915), (0.6, 0.8)
    S = np.cov(A.T)
    rows = np.where(rng.random((25, 7)) < 0.4, np.nan, rng.standard_normal((25, 7)))
    rows[0], rows[1, 1:] = 1.0, np.nan  # a complete row, and at most one cell in another
    w = rng.integers(1, 4, 25).astype(float) if weighted else None
    times = np.ones(25) if w is None else w
    held = measured_cells(rows, w)
    expected = times @ (predicted_errors(rows, sigma(V, S)) ** 2).sum(axis=1)
    assert held.press([SparseModel.of(V, Gram(S))])[0] == pytest.approx(expected, rel=1e-9)  # rounding
    np.testing.assert_allclose(held.squares, times @ np.nan_to_num(rows) ** 2, rtol=1e-12)
    assert held.weight == pytest.approx(times @ (~np.isnan(rows)).sum(axis=1) / 7)


def moments(na: str, training: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance matrix of rows with missing values, those of available cases by pandas."""
    if na == "em":
        found = em_moments(training.to_numpy(), None, 1)
        return found.mean, found.covariance
    sd = training.std().to_numpy()
    R = training.corr().to_numpy()
    assert np.linalg.eigvalsh(R)[0] > 0  # else the nearest correlation matrix would stand for it
    return training.mean().to_numpy(), R * np.outer(sd, sd)


@pytest.mark.parametrize(("na", "scale"), [("em", False), ("pairwise", False), ("pairwise", True)])
def test_the_error_is_that_of_a_plain_loop_over_folds_and_cells(gapped, na, scale):
    """One component with every variable is the first eigenvector: nothing of the search is in doubt."""
    choice = sp.choose(gapped, k=1, cards=[10], by="cv", na=na, scale=scale, folds=3, rng=SEED, **CHEAP)
    source = rows_or_matrix_of("", gapped, {"na": na, "scale": scale}, None)
    labels = source.row_groups.folds(3, 1, np.random.default_rng([seed_of(SEED), 2]))[0]
    press = total = 0.0
    for fold in range(3):
        mean, S = moments(na, gapped[labels != fold])
        sd = np.sqrt(np.diag(S)) if scale else np.ones(10)
        rows = (gapped[labels == fold].to_numpy() - mean) / sd
        S = S / np.outer(sd, sd)
        v = np.linalg.eigh(S)[1][:, -1:]
        press += (predicted_errors(rows, sigma(v, S)) ** 2).sum()
        total += np.nansum(rows**2)
    # the sweeps end when they gain little, and the EM in other units elsewhere
    assert choice.table["error"].iloc[0] == pytest.approx(press / total, rel=1e-4)


@pytest.mark.parametrize("how", ["em", "pairwise"])
def test_a_fold_knows_nothing_of_its_rows(gapped, how):
    rows, labels = gapped.to_numpy(), np.arange(len(gapped))[None] % 4
    other = rows.copy()
    other[labels[0] == 1] *= -50.0
    other[labels[0] == 1, 0] = np.nan
    found = []
    for one in (rows, other):
        rules = Rules(True, True, gapped.columns, missing_rule=how)
        folds = RowFolds(PlainRows(one), None, labels, rules, k=2)
        op = folds.split(1)[0]
        found.append(op.block(np.arange(10)) * op.unit**2)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("na", "by"), [("em", "cv"), ("pairwise", "cv"), ("em", "ebic")])
def test_the_planted_cardinality_is_chosen_in_spite_of_gaps(gapped, na, by):
    choice = sp.choose(gapped, k=2, cards=[2, 4, 6, 8], by=by, na=na)
    assert choice.card == 4
    assert f"na={na!r}" in str(choice)
    supports = {frozenset(column[column != 0].index) for _, column in choice.fit.loadings.items()}
    assert supports == {frozenset(gapped.columns[:4]), frozenset(gapped.columns[4:8])}


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_a_column_that_a_fold_takes_away_is_named(gapped, na):
    labels = np.arange(len(gapped)) % 5
    rare = pd.Series(np.nan, gapped.index)
    rare[np.flatnonzero(labels == 2)] = np.arange((labels == 2).sum()) * 1.0
    still = gapped["v0"].where(labels == 2, 1.0)
    for data, error, words in (
        (gapped.assign(rare=rare), MissingValuesError, "The data have 1 column without any value: 'rare'"),
        (
            gapped.assign(still=still),
            ConstantColumnError,
            "The values measured in 1 column do not vary: 'still'",
        ),
    ):
        rules = Rules(True, False, data.columns, missing_rule=na)
        folds = RowFolds(PlainRows(data.to_numpy()), None, labels[None], rules, k=2)
        with pytest.raises(error, match=f"outside fold 3 of 5 cannot be fitted: {words}"):
            folds.split(2)


@pytest.mark.parametrize("groups", [(10, 6, 3), (8, 6)])
def test_every_number_of_variables_is_tried_for_partitions_of_few_variables(groups):
    """The planted groups of a sum that a geometric series of sixteen from 2k to 30 leaves out."""
    rng = np.random.default_rng(0)
    X, end = 0.7 * rng.standard_normal((200, 30)), 0
    for size in groups:
        X[:, end : end + size] += 0.7 * rng.standard_normal((200, 1))
        end += size
    choice = sp.choose(X, k=len(groups), scale=True, family="partition")
    assert sorted(choice.card, reverse=True) == sorted(groups, reverse=True)
    assert (choice.fit.loadings.to_numpy()[end:] == 0).all()


def test_the_fit_to_many_variables_is_quick_unless_an_effort_is_given():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 1001))
    X[:, :40] += 2.0 * rng.standard_normal((24, 1))
    choice = sp.choose(X, k=1, scale=True)
    assert "effort='quick'" in choice.call
    assert choice.fit._call.arguments["effort"] == "quick"
    assert choice.fit.loadings.equals(sp.spca(X, 1, card=choice.card, scale=True, effort="quick").loadings)
    assert "effort='auto'" in sp.choose(X, k=1, scale=True, effort="auto").call
    assert "effort" not in sp.choose(X[:, :60], k=1, scale=True).call
    assert "effort" not in sp.choose(X, k=1, scale=True, method="threshold", cards=[40]).call


def test_more_loadings_of_many_variables_never_explain_less_and_all_of_them_explain_as_much_as_pca():
    """Leading eigenvectors on supports of most variables would all be the first component."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 1100)) + rng.standard_normal((30, 1100))
    choice = sp.choose(X, k=3, scale=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    values = np.linalg.svd(Z, compute_uv=False) ** 2
    table = choice.table
    assert table["nonzeros"].iloc[-1] == 3300
    # 1e-6: the varimax rotation is orthogonal up to the tolerance of its iteration
    assert table["pev"].iloc[-1] == pytest.approx(values[:3].sum() / values.sum(), rel=1e-6)
    assert (np.diff(table["pev"]) > 0).all()
    assert (np.diff(table["predicts"]) > 0).all()


# --- Paths over cardinalities: what each fit is, how it is started, and how it is shown ---------


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


@pytest.mark.parametrize("method", ["bcd-l0", "bcd-l1"])
def test_a_warm_start_is_never_worse(R, method):
    path = sp.spca_path(R, k=3, cards=[2, 4, 6, 9, 13], method=method)
    tol = 1e-6 * 13
    alone = [sp.spca_cov(R, 3, card, method=method).objective_value for card in path]
    assert (path.table["objective"] <= np.array(alone) + tol).all()
    if method == "bcd-l0":  # loadings of one fit are feasible for the next
        assert (path.table["objective"].diff().dropna() <= tol).all()


@pytest.mark.sweep
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


# --- Families of candidates, and the answer ---------------------------------------------------------


def scales(seed: int, n: int = 1000) -> pd.DataFrame:
    """Five-point items of four scales of 8, 7, 5 and 3 items, whose factors have correlations of .5."""
    rng = np.random.default_rng(seed)
    factors = rng.multivariate_normal(np.zeros(4), 0.5 * np.eye(4) + 0.5, n)
    of = np.repeat(np.arange(4), (8, 7, 5, 3))
    items = 0.65 * factors[:, of] + np.sqrt(1 - 0.65**2) * rng.standard_normal((n, 23))
    return pd.DataFrame(np.digitize(items, [-1.3, -0.5, 0.4, 1.2]) + 1).add_prefix("item")


def test_known_scales_are_found_as_a_partition_unaided():
    data = scales(0)
    choice = sp.choose(data, scale=True)
    assert choice.k == 4
    assert choice.card == [8, 7, 5, 3]
    groups = {frozenset(np.flatnonzero(v)) for v in choice.fit.loadings.to_numpy().T}
    assert groups == {frozenset(map(int, one)) for one in np.split(np.arange(23), [8, 15, 20])}
    assert choice.call == "spca(data, k=4, scale=True, disjoint=True)"
    assert "each of the 23 variables in one of them" in str(choice)
    calls = choice.table.loc[choice.alternatives.index, "call"]
    assert len(calls) >= 2
    for line in choice.alternatives.itertuples():  # its columns have what the calls differ in
        again = sp.spca(data, 4, card=list(line.card), scale=True, disjoint=line.disjoint)
        assert again.card.sum() == line.nonzeros
    again = eval(calls.iloc[0], {"spca": sp.spca, "data": data})
    assert again.card.sum() == choice.alternatives["nonzeros"].iloc[0]


def test_disjoint_compares_partitions_only():
    """Planted groups of 3, 4 and 6 variables, n 400, as `spca(k=3, disjoint=True)` finds them."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3))[:, np.repeat([0, 1, 2], (3, 4, 6))] + 0.7 * rng.standard_normal(
        (400, 13)
    )
    choice = sp.choose(X, scale=True, disjoint=True)
    assert set(choice.table["family"]) == {"partition"}
    assert choice.card == [6, 4, 3]


def test_the_rule_keep_is_the_sparsest_that_keeps_the_share():
    """By hand from the table, whose column "kept" is relative to the best of candidates and PCA."""
    choice = sp.choose(sp.datasets.load_wine(), 3, scale=True, rule="keep", share=0.8, repeats=1)
    table = choice.table
    sparsest = table.loc[table["kept"] >= 0.8, "nonzeros"].min()
    assert table.loc[table["chosen"], "nonzeros"].item() == sparsest


def test_a_table_without_structure_has_an_answer():
    noise = sp.choose(np.random.default_rng(0).standard_normal((60, 8)))
    assert noise.k == 0
    assert "nothing to make sparse, since none predicts held-out rows" in " ".join(str(noise).split())


def named(n: int, p: int, k: int, card: int, variance: float) -> pd.DataFrame:
    """Return rows with k components of `card` variables each, under long names."""
    names = [f"a_rather_long_name_of_variable_{i:04d}" for i in range(p)]
    return planted(n, p, (card,) * k, (variance,) * k, 0).set_axis(names, axis=1)


def by_person() -> pd.DataFrame:
    """Return four rows of each of 40 persons, with their number."""
    return named(160, 24, 4, 5, 9.0).assign(person=np.repeat(np.arange(40), 4))


def autocorrelated() -> pd.DataFrame:
    """Return rows in time, each with half of the row before it, and missing values."""
    sizes = (11, 10, 4, 4)
    rows = planted(240, 34, sizes, (9.0,) * 4, 0)
    for t in range(1, len(rows)):
        rows.iloc[t] += 0.5 * rows.iloc[t - 1]
    rows.iloc[::17, 0] = np.nan
    return rows


#: Choices whose prints have many lines, or long ones.
PRINTED = {
    "autocorrelated": lambda: sp.choose(
        autocorrelated(), scale=True, na="pairwise", repeats=1, effort="quick"
    ),
    "ten cardinalities": lambda: sp.choose(
        named(300, 40, 10, 4, 9.0), 10, cards=[[5] * 5 + [4] * 5, [4] * 5 + [3] * 5, [3] * 5 + [2] * 5]
    ),
    "formula and clusters": lambda: sp.choose(
        "~ . | C(person)", data=by_person(), clusters="person", scale=True, repeats=1
    ),
    "other units": lambda: sp.choose(sp.datasets.load_wine(), repeats=1),
    "keep": lambda: sp.choose(named(160, 24, 4, 5, 9.0), rule="keep", share=0.8, repeats=1),
    "folds differ": lambda: sp.choose(sp.datasets.load_wine(), scale=True, repeats=1),
    "nothing": lambda: sp.choose(np.random.default_rng(0).standard_normal((60, 8))),
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", PRINTED)
def test_prints_have_one_screen_and_are_the_same_when_loaded(kind):
    with warnings.catch_warnings():  # of variables in other units
        warnings.simplefilter("ignore", DataWarning)
        choice = PRINTED[kind]()
    lines = str(choice).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    loaded = pickle.loads(pickle.dumps(choice))
    assert (str(loaded), loaded.notes if choice.k else "") == (str(choice), choice.notes if choice.k else "")
    if not choice.k:
        return
    # the data, the call and the reasons are always there, and all loadings if 25 lines have room for them
    labels = [line.split()[0] for line in lines if line[:1] not in ("", " ")]
    assert (lines[2].startswith("Scale ")) == (kind == "other units")
    assert {"Data", "Fit", "Sparse"} <= set(labels)
    loadings = re.findall(r"(?<!p )(?<!p = )-?[01]\.\d{3}\b", str(choice))  # names may be short
    is_complete = len(loadings) == np.count_nonzero(choice.fit.loadings)
    assert is_complete != ("All loadings: choice.fit.summary()." in lines)


def test_a_choice_prints_the_fits_beside_it_in_a_line():
    """`alternatives` has the same fits with their calls, and notebooks have a table of them."""
    few = sp.choose(sp.datasets.load_pitprops(), 3, n_obs=180)
    assert "Others 7 loadings reach 66 % of the best prediction (partition, 6 left out)" in " ".join(
        str(few).split()
    )
    assert "choice.alternatives" in str(few)
    chosen = sp.choose(sp.datasets.load_pitprops(), n_obs=180)
    assert "not firm: choice.k_choice" in " ".join(str(chosen).split())
    assert any("Individual divisions into folds give 3 or 5." in note for note in chosen.k_choice.notes) or (
        "Individual divisions into folds give 3 or 5." in " ".join(str(chosen.k_choice).split())
    )
    one = sp.choose(sp.datasets.load_judges().iloc[:, :6], k=1, scale=True, repeats=1)
    assert "<- chosen" not in str(one)
    assert "&lt;- chosen" in one._repr_html_()


def test_the_summary_has_all_candidates_and_the_tests_of_components():
    choice = sp.choose(sp.datasets.load_judges(), scale=True, repeats=1)
    text = str(choice.summary())
    for name in (f"card={card} " for card in choice.table["card"]):
        assert name in text
    assert "next p" in text
    assert str(choice.notes[-1]).split(";")[0] in " ".join(text.split())


def test_the_choice_of_many_variables_is_a_fit_that_spca_makes():
    """With more than 1000 variables spca() has no partitions, and the fit of one would be refused."""
    X = named(40, 1010, 2, 60, 60.0)
    choice = sp.choose(X, 2, scale=True)
    assert set(choice.table["family"]) == {"rotated"}
    true = np.arange(1010)[:, None] // 60 == np.arange(2)
    support = choice.fit.loadings.to_numpy() != 0
    overlap = max((support & true).sum(), (support[:, ::-1] & true).sum())
    assert 2 * overlap / (support.sum() + true.sum()) > 0.85  # F1
    with pytest.raises(OptionError, match="partitions are for at most 1000"):
        sp.choose(X, 2, scale=True, family="partition")


def test_the_choice_has_the_largest_index_of_sparseness_of_all_candidates():
    """The fit of its call replaces the candidate: for the judges its index is smaller; another is chosen."""
    choice = sp.choose(sp.datasets.load_judges(), k=3, scale=True, by="is")
    assert choice.table.loc[choice.table["chosen"], "is"].item() == choice.table["is"].max()
