"""The number of components: planted truth, noise of several kinds, many columns, refusals."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats

import spcastat as sp
from spcastat.assess import component_tests
from spcastat.assess.component_tests import NOISE, NoiseDraws, NoiseTuning, broken_stick
from spcastat.errors import ComponentsError, OptionError
from spcastat.inputs.noise import MomentNoise, RowNoise, Tails, pulled_in
from spcastat.linalg.accumulate import SquareProducts


def noise(n: int, p: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, p))


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    rows = noise(100, 12, 5)
    for first, size in ((0, 3.0), (4, 2.5)):
        rows[:, first : first + 4] += size * rng.standard_normal((100, 1)) / 2
    return pd.DataFrame(rows).add_prefix("v")


def test_planted_components_are_counted(X):
    found = sp.choose_k(X)
    assert (found.k, found.predicting) == (2, 2)
    assert found.table["p"].iloc[:2].tolist() == [1 / 200] * 2  # no draw of 199 as large
    # the variances differ, so that gains are shares of their sum
    assert re.search(
        r"component 2 predicts a further \d+\.\d\d % of the variance in held-out rows", found.reason
    )
    assert "times the mean variance of a variable" in sp.choose_k(X, scale=True).reason


def test_noise_is_rejected_at_the_level():
    found = [sp.choose_k(noise(60, 10, seed), n_draws=39, rng=seed) for seed in range(40)]
    # level .05: 8 or more of 40 have probability 4e-4
    assert sum(one.k > 0 for one in found) < 8


def test_the_number_seldom_depends_on_the_seed():
    """Ten folds in two divisions; with five folds the wines had two or three components, by the seed."""
    X = sp.datasets.pitprops_sample()
    numbers = [sp.choose_k(X, scale=True, n_draws=99, rng=seed).k for seed in range(6)]
    assert numbers.count(3) >= 5


def components_of_all_variables(seed: int, variances: list[float]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((20, len(variances))))[0]
    scores = rng.standard_normal((200, len(variances))) * np.sqrt(variances)
    return scores @ V.T + rng.standard_normal((200, 20))


def minor_factors(seed: int, n: int) -> np.ndarray:
    """Three factors of eight variables (.7), and 15 minor factors of 15 % of the variance."""
    rng = np.random.default_rng(seed)
    major = np.kron(np.eye(3), np.full((8, 1), 0.7))
    minor = rng.standard_normal((24, 15))
    minor *= np.sqrt(0.15 / (minor**2).sum(axis=1, keepdims=True))
    factors = rng.standard_normal((n, 3)) @ major.T + rng.standard_normal((n, 15)) @ minor.T
    return factors + 0.6 * rng.standard_normal((n, 24))


def test_components_of_all_variables_count_and_minor_factors_do_not():
    """Shares of 40 sets: .95 to 1.00 of three dense components, minor factors 1.00.

    With at most p loadings in all, dense components were right in .33. Of 8 sets, 6 or more right has
    probability .99 or more at .95, and .02 at .33.
    """
    dense = [
        sp.choose_k(components_of_all_variables(seed, [6, 4, 2.5]), scale=True, n_draws=99, kmax=5)
        for seed in range(8)
    ]
    assert sum(choice.k == 3 for choice in dense) >= 6
    by_pca = next(choice for choice in dense if choice._standing.prediction.compares_pca)
    assert "PCA with p loadings for each component" in " ".join(" ".join(by_pca.notes).split())
    # of a component of noise PCA predicts next to nothing more, while sparse fits predict less than 3 of PCA
    predicted = by_pca.table["predicted"].to_numpy()
    assert np.abs(predicted[by_pca.k] - predicted[by_pca.k - 1]) < 0.05
    needed = by_pca._standing.prediction.required_gain(by_pca.k + 1)
    assert needed == pytest.approx(0.2 * (1 + 1.5))  # p loadings more have a price
    reason = " ".join(str(by_pca).split())
    assert (
        f"{needed:.2g} is needed: 0.2, and 0.3 for every 20 of 20 further" in reason
        or "add nothing" in reason
    )
    minor = [sp.choose_k(minor_factors(seed, 300), scale=True, n_draws=99, kmax=5).k for seed in range(4)]
    assert minor == [3] * 4
    noisy = [sp.choose_k(noise(60, 10, seed), n_draws=99, least=0.0) for seed in range(4)]
    assert [choice.k for choice in noisy] == [0] * 4


def test_a_gain_of_pca_that_does_not_count_has_its_requirement_in_the_print():
    """Three components of PCA of six variables have twelve loadings more than the six of sparse fits."""
    table = pd.DataFrame(np.random.default_rng(1).standard_normal((120, 6)).cumsum(axis=0))
    choice = sp.choose_k(table, scale=True, rng=0)
    assert choice.k == 2
    assert choice.table["gain"].iloc[2] > choice.table["gain"].iloc[1]
    assert choice._standing.prediction.required_gain(3) == pytest.approx(0.2 + 2 * 1.5 * 0.2)
    text = " ".join(str(choice).split())
    assert "with all loadings (PCA); 0.8 is needed: 0.2, and 0.3 for every 6 of 12 further loadings" in text
    assert "PCA with p loadings for each component must add 1.5 times 0.2 more" in " ".join(choice.notes)


def test_more_draws_are_made_if_a_p_value_is_near_the_level():
    """p-values of a uniform draw, which are known; level 1 %."""
    draws = NoiseDraws(0.05, 199, 0)
    made = []

    def uniform(rngs):
        for rng in rngs:
            made.append(rng.random())
            yield made[-1]

    # beyond sqrt(99) standard deviations of .29 from the mean: clear with the fewest draws
    assert draws.p_value(4.0, uniform, 0) == 1 / 200
    assert len(made) == NOISE.fewest_draws
    # above all draws, but not by far: p = 1 / 200 is within 2 * .005 of .01, and p = 1 / 399 is not
    made.clear()
    assert draws.p_value(1.0, uniform, 0) == 1 / 399
    assert len(made) == 398
    # noise ends with the seventh draw that reaches it: (1 + 7) / 797 > .01
    made.clear()
    p_value = draws.p_value(0.5, uniform, 0)
    assert p_value == 7 / len(made)
    assert 0.2 < p_value < 1.0


def test_the_comparison_ends_with_the_first_component_in_noise(monkeypatch):
    """The number is that of comparing all of them, as min(C, D) does not depend on what follows D."""
    tables = [components_of_all_variables(0, [6, 4, 2.5]), noise(60, 10, 2)]
    ended = [sp.choose_k(rows, scale=True, n_draws=99) for rows in tables]
    gains = [choice.table["gain"].count() for choice in ended]
    assert gains == [choice.deflated + 1 for choice in ended]
    compare = component_tests.prediction
    monkeypatch.setattr(
        component_tests,
        "prediction",
        lambda *given, exceeding, n_jobs: compare(*given, exceeding=lambda number: number, n_jobs=n_jobs),
    )
    whole = [sp.choose_k(rows, scale=True, n_draws=99) for rows in tables]
    assert [choice.k for choice in whole] == [choice.k for choice in ended] == [3, 0]
    assert all(choice.table["gain"].count() > count for choice, count in zip(whole, gains, strict=True))


# all folds are fitted at once, and each by itself; with a large row the data are also compared as they are
@pytest.mark.parametrize(("p", "size"), [(12, 1.0), (12, 20.0), (230, 1.0)])
def test_threads_and_processes_change_no_number(p, size):
    rows = noise(40, p, 1)
    rows[:, :6] += 1.5 * noise(40, 1, 2)
    rows[0] *= size
    one, two = (sp.choose_k(rows, scale=True, n_draws=99, n_jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)
    assert (one.k, one.reason, str(one)) == (two.k, two.reason, str(two))
    assert one.k >= 1


def test_rows_of_very_unequal_size_are_no_component():
    """Permutation of columns finds components in such noise; flips keep the sizes of rows."""
    rng = np.random.default_rng(7)
    rows = noise(150, 15, 8) / np.sqrt(rng.chisquare(3, 150) / 3)[:, None]
    assert sp.choose_k(rows).k == 0


def test_flips_of_moments_are_those_of_cells():
    """Variances of 400 flipped covariances, standard error 7 %, and their largest eigenvalues, 2 %."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((300, 6)) * np.exp(0.5 * rng.standard_normal((300, 1)))
    Z[:, :3] += rng.standard_normal((300, 1))
    Z -= Z.mean(axis=0)
    S = Z.T @ Z / 299
    squares = SquareProducts(np.zeros(6), np.sqrt(np.diag(S)))
    for rows in (Z[:100], Z[100:]):
        squares.add(rows, None)
    r = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    ratio = squares.about(np.zeros(6)) * 300 / 299**2 / (1.0 + 2.0 * r**2)
    moments = MomentNoise(S, 300, None, Tails(ratio, squares.sizes / 6))
    cells = RowNoise(Z / np.sqrt(299))
    first, second = ([one.flipped(np.random.default_rng(i)) for i in range(400)] for one in (moments, cells))
    upper = np.triu_indices(6, 1)
    spread = [np.std([one.S[upper] for one in drawn], axis=0) for drawn in (first, second)]
    np.testing.assert_allclose(spread[0], spread[1], rtol=0.2)  # four standard errors of a ratio
    largest = [np.mean([one.leading(1)[0] for one in drawn]) for drawn in (first, second)]
    assert largest[0] == pytest.approx(largest[1], rel=0.04)


def test_data_of_rank_one_have_one_component():
    """What is left beside it is rounding."""
    rng = np.random.default_rng(1)
    X = np.outer(rng.standard_normal(40), rng.standard_normal(12))
    for rows in ([X[:20], X[20:]], X, X + 1000.0):
        found = sp.choose_k(rows, n_draws=19)
        assert found.k == found.predicting == 1


def test_the_broken_stick_is_its_expectation():
    """Pieces of a stick broken at 5 random points: means of 40000 draws, standard errors below 7e-4."""
    cuts = np.sort(np.random.default_rng(0).random((40_000, 5)), axis=1)
    pieces = np.diff(np.hstack([np.zeros((40_000, 1)), cuts, np.ones((40_000, 1))]), axis=1)
    np.testing.assert_allclose(broken_stick(6), np.sort(pieces, axis=1)[:, ::-1].mean(axis=0), atol=3e-3)


def with_gaps(X: np.ndarray, seed: int) -> pd.DataFrame:
    gone = np.random.default_rng([seed, 9]).random(X.shape) < 0.2
    return pd.DataFrame(np.where(gone, np.nan, X))


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_noise_with_gaps_is_noise(na):
    """A model of rank q behind the gaps makes q components of noise: the tests must not see it."""
    found = [sp.choose_k(with_gaps(noise(60, 20, seed), seed), na=na, n_draws=39).k for seed in range(12)]
    assert sum(k > 0 for k in found) <= 3  # at level .05 four or more of twelve have probability .002


def test_components_are_counted_behind_gaps_whatever_the_rank_of_the_model(X):
    gaps = with_gaps(X.to_numpy(), 1)
    assert [sp.choose_k(gaps, na="em", k_em=q, n_draws=99).k for q in (1, 4)] == [2, 2]
    assert sp.choose_k(gaps, na="em", n_draws=99).predicting == 2


def test_heavy_rows_behind_real_components_do_not_count():
    """Of eight sets with two components in rows of t with 5 degrees of freedom, six or more are right."""
    right = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 6])
        X = noise(200, 50, seed)
        for first, variance in ((0, 8.0), (6, 5.0)):
            X[:, first : first + 6] += np.sqrt(variance / 6) * rng.standard_normal((200, 1))
        found = sp.choose_k(X / np.sqrt(rng.chisquare(5, (200, 1)) / 5), kmax=4, n_draws=39)
        right.append(found.k == 2)
        assert found.k == min(found.predicting, found.deflated)
    assert sum(right) >= 5  # .80 right, measured on 15 sets: four or fewer of eight have probability .06


def spiked(seed, n=100, p=20):
    """Return rows with two components of six variables each, of variances 6 and 4 beside noise of 1."""
    rng = np.random.default_rng([seed, 9])
    V = np.zeros((p, 2))
    V[:6, 0], V[6:12, 1] = 6**-0.5, 6**-0.5
    X = (rng.normal(size=(n, 2)) * np.sqrt([6, 4])) @ V.T + rng.normal(size=(n, p))
    return rng, pd.DataFrame(X, index=[f"r{i + 1}" for i in range(n)])


@pytest.mark.parametrize("size", [8, 15])
def test_one_bad_row_does_not_hide_the_components(size):
    right = []
    for seed in range(12):
        rng, X = spiked(seed)
        X.iloc[16] = rng.normal(size=20) * size
        found = sp.choose_k(X, scale=True, n_draws=39)
        right.append(found.k == 2)
    # .9 is promised; without pulling the row in it is .05 to .1
    assert np.mean(right) >= 0.9 - 2 * np.sqrt(0.9 * 0.1 / 12)


def test_rows_that_change_the_number_are_named():
    rng, X = spiked(1)
    assert sp.choose_k(X, scale=True, n_draws=39)._large_rows is None
    X.iloc[16] = rng.normal(size=20) * 15
    found = sp.choose_k(X, scale=True, n_draws=39)
    Z = (X - X.mean()) / X.std()
    share = (Z.iloc[16] ** 2).sum() / (Z**2).to_numpy().sum()
    assert found.k == 2
    said = (
        "3 of 100 rows were farther from the medians of the variables than 1.5 times the median distance, in "
        "median absolute deviations, and were shrunk to that distance to predict and to test k; without "
        "this, k would be 0 instead of 2. Row r17 is farther than 2.5 times the median and has "
        f"{100 * share:.0f} % of the total variance. The fit uses the rows as they are; a fit with "
        "robust=True is less influenced by such rows."
    )
    assert found._large_rows.pulled == 3
    for text in (
        found.as_text(),
        found.reason,
        " ".join(sp.choose(X, cards=[4, 6], scale=True, n_draws=39, repeats=1).notes),
    ):
        assert said in " ".join(text.split())
    # the eigenvalues of the fit are recognised although the tests pulled the row in
    sp.spca(X, 2, 6, scale=True).screeplot(parallel=found)


def test_rows_are_pulled_in_as_defined():
    rng, X = spiked(1)
    Z = X.to_numpy() - X.to_numpy().mean(axis=0)
    Z[3] *= 10
    Z -= Z.mean(axis=0)
    found = pulled_in(Z)
    middle = np.median(Z, axis=0)
    scale = scipy.stats.median_abs_deviation(Z, scale="normal")
    sizes = np.sqrt(((Z - middle) ** 2 / scale**2).mean(axis=1))
    factors = np.minimum(1.0, 1.5 * np.median(sizes) / sizes)
    expected = (Z - middle) * factors[:, None]
    expected -= expected.mean(axis=0)
    expected *= Z.std(axis=0) / expected.std(axis=0)
    np.testing.assert_allclose(found.Z, expected, atol=1e-10)
    assert found.far[0] == 3
    assert found.pulled == (factors < 1).sum()
    # a row of weight 3 is three rows
    w = rng.integers(1, 4, 100).astype(float)
    repeated = np.repeat(Z, w.astype(int), axis=0)
    weighted = pulled_in(Z - w @ Z / w.sum(), w).Z
    plain = pulled_in(repeated - repeated.mean(axis=0)).Z
    np.testing.assert_allclose(np.repeat(weighted, w.astype(int), axis=0), plain, atol=1e-9)
    # missing values do not count, and stay missing
    gapped = Z.copy()
    gapped[5, :7] = np.nan
    assert (np.isnan(pulled_in(gapped).Z) == np.isnan(gapped)).all()


# --- The rules of Kaiser and of the broken stick ---------------------------------------------------


def test_kaiser_and_the_broken_stick_take_the_rows_as_they_are():
    """By their definitions, from NumPy's correlations, where a large row is shrunk for the tests."""
    rng, X = spiked(1)
    X.iloc[16] = rng.normal(size=20) * 15
    found = sp.choose_k(X, scale=True, n_draws=39)
    assert found._large_rows is not None
    values = np.linalg.eigvalsh(np.corrcoef(X.to_numpy().T))[::-1]
    stick = np.array([np.sum(1.0 / np.arange(j, 21)) / 20 for j in range(1, 21)])
    above = values / 20 > stick
    assert found.kaiser == np.sum(values > 1.0)
    assert found.broken_stick == (20 if above.all() else np.argmin(above))
    shrunk = found.spectrum
    assert found.kaiser != np.sum(shrunk["eigenvalue"] > shrunk["eigenvalue"].sum() / 20)
    notes = [" ".join(text.get_text().split()) for text in found.plot().texts]
    assert any("Large rows were shrunk to 1.5 times the median distance." in note for note in notes)


def test_rules_that_have_no_meaning_without_more_rows_than_variables_are_left_out():
    X = np.random.default_rng(0).normal(size=(30, 30))
    for p, there in ((29, True), (30, False)):
        found = sp.choose_k(X[:, :p], n_draws=39)
        assert (found.kaiser is not None) == (found.broken_stick is not None) == there
        assert ("Kaiser" in str(found)) == ("roken stick" in found.summary().as_text()) == there


def test_the_print_is_one_screen_and_its_summary_explains_the_columns():
    """Sorted rows of the wines: remarks on rows and on folds, and a table of eight components."""
    found = sp.choose_k(sp.datasets.load_wine().select_dtypes("number"), scale=True)
    lines = str(found).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"Number of components: {found.k}"
    assert "Rows look sorted or grouped" in str(found)
    assert f"below the line over the {found.k} chosen" in " ".join(str(found).split())
    assert "gain: the increase over the last number of components that counts" in " ".join(found.notes)
    assert "gain: " in found.summary().as_text()


# --- The number of components of many columns -----------------------------------------------------

P, TESTED = 80, 30


def planted(n, p, seed=0, strengths=(3.0, 2.5)):
    """Rows with disjoint components of five equal loadings, and unit noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for i, sd in enumerate(strengths):
        X[:, 5 * i : 5 * i + 5] += sd * rng.standard_normal((n, 1)) / np.sqrt(5)
    return pd.DataFrame(X, columns=[f"v{j + 1}" for j in range(p)])


@pytest.fixture
def small(monkeypatch):
    """Let data of 80 columns be large, and 30 of them be tested."""
    monkeypatch.setattr(component_tests, "GRAM_ORDER", P - 1)
    monkeypatch.setattr(component_tests, "NOISE", NoiseTuning(flipped_cells=1000, columns=TESTED))


def as_dask(X):
    return pytest.importorskip("dask.dataframe").from_pandas(X, npartitions=3)


KINDS = {
    "pieces": lambda X: [X.iloc[:70], X.iloc[70:]],
    "dask": as_dask,
    "frame": lambda X: X,
    "sparse": lambda X: scipy.sparse.csr_array(X.to_numpy()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [False, True])
def test_planted_components_are_counted_of_many_columns(small, kind, scale):
    # a third has a chance of .05 in every case: with this seed in none
    rows = KINDS[kind](planted(240, P, 3))
    found = sp.choose_k(rows, kmax=3, n_draws=39, scale=scale, rng=3)
    assert (found.k, found.predicting) == (2, 2)
    assert f"{TESTED} of {P} variables were tested" in found.reason
    assert "Kaiser" not in str(found)
    assert found.kaiser is found.broken_stick is None
    assert len(found.spectrum) == TESTED


@pytest.mark.parametrize("kind", ["pieces", "frame"])
def test_noise_is_rejected_at_the_level_of_many_columns(small, kind):
    """Columns chosen and tested in the same rows would show a component in nearly all of these."""
    found = [
        sp.choose_k(KINDS[kind](planted(150, P, seed, ())), kmax=2, n_draws=19, rng=seed)
        for seed in range(16)
    ]
    # level .05: five or more of sixteen have probability .001
    assert sum(one.k > 0 for one in found) < 5


def test_refusals_of_many_columns(small):
    pieces = KINDS["pieces"](planted(240, P))
    with pytest.raises(ComponentsError, match=r"30 variables are tested, which allow at most 3 components"):
        sp.choose_k(pieces, kmax=4)
    found = sp.choose_k(pieces, kmax=2, n_draws=19)
    with pytest.raises(OptionError, match=f"computed from {TESTED} of {P} variables"):
        sp.spca(planted(240, P), 2, 5).screeplot(parallel=found)


# --- columns that are correlated by construction, and components of many variables ------------------


def independent_terms(seed: int) -> pd.DataFrame:
    """Five normal variables, three factors of three levels and two of two, all independent."""
    rng = np.random.default_rng(seed)
    numbers = {f"x{i}": rng.standard_normal(150) for i in range(5)}
    three = {f"f{i}": rng.choice(["a", "b", "c"], 150) for i in range(3)}
    return pd.DataFrame(numbers | three | {f"g{i}": rng.choice(["u", "v"], 150) for i in range(2)})


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("~ .", {"scale": True, "categorical": "dummy"}),
        ("~ .", {"scale": "mixed", "categorical": "dummy"}),
        ("~ x0 + I(x0**2) + I(x0**3) + x1 + I(x1**2) + I(x1**3)", {"scale": True}),
        ("~ x0 + x0:g0 + x1 + x1:f1 + f0", {"scale": True, "categorical": "dummy"}),
    ],
)
def test_terms_that_are_independent_are_noise(formula, options):
    """At the level of .05 more than three of 12 sets have a component with probability .002."""
    found = [sp.choose_k(formula, data=independent_terms(i), **options, rng=i).k for i in range(12)]
    assert np.count_nonzero(found) <= 3


def test_flips_keep_the_covariances_within_a_term():
    """In rows and in moments; between terms, covariances of 2,000 flipped rows are within five SE of zero."""
    Z = np.random.default_rng(0).standard_normal((2000, 4)) @ (np.eye(4) + 0.5) / np.sqrt(2000)
    terms, S = np.array([0, 0, 1, 2]), Z.T @ Z
    same = terms[:, None] == terms
    for noise in (RowNoise(Z, terms=terms), MomentNoise(S, 2000, terms=terms)):
        F = noise.flipped(np.random.default_rng(1)).S
        np.testing.assert_allclose(F[same], S[same], rtol=1e-12)
        assert np.abs(F[~same] / np.sqrt(np.outer(np.diag(S), np.diag(S)))[~same]).max() < 5 / np.sqrt(2000)
        left = noise.without(np.eye(4)[:, :1])
        assert left.terms is terms


@pytest.mark.sweep
@pytest.mark.parametrize("size", [50, 300])
def test_components_of_many_variables_are_not_counted_in_parts(size):
    """Six factors of 50 or of all 300 variables in 62 rows, which parallel analysis finds: k = 6."""
    rng = np.random.default_rng(size)
    loadings = np.kron(np.eye(6), np.ones(50)) if size == 50 else rng.choice([-1.0, 1.0], (6, 300))
    loadings = loadings * rng.uniform(0.6, 1.4, 300)
    X = rng.standard_normal((62, 6)) @ loadings + rng.standard_normal((62, 300))
    found = sp.choose_k(X, scale=True)
    assert (found.k, found.predicting) == (6, 6)


def test_a_text_for_a_paper_says_where_components_predict_together_only():
    """Where one of the components does not count alone, "each predicted" would be false."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.normal(size=(60, 9)) + np.repeat(rng.normal(size=(60, 3)), 3, axis=1))
        choice = sp.choose_k(table.add_prefix("x", axis=1), scale=True, rng=0, n_draws=99)
        counts = choice.table["counts"].iloc[: choice.predicting]
        together = "alone or together with the components just before it" in choice.method_text
        assert together == (not all(counts == True))  # noqa: E712  # an object column
        if together:
            return
    pytest.fail("no table has components that predict together only")


def test_the_print_says_over_which_component_the_gain_of_the_next_one_is():
    """Component 4 is not chosen, and its gain is over component 2, since the chosen 3 do not count alone."""
    rng = np.random.default_rng(47)
    table = pd.DataFrame(rng.normal(size=(60, 9)) + np.repeat(rng.normal(size=(60, 3)), 3, axis=1))
    choice = sp.choose_k(table.add_prefix("x", axis=1), scale=True, rng=0, n_draws=99)
    assert choice.k == 3
    assert choice.table["counts"].iloc[:4].tolist() == [True, True, False, True]
    assert "last component that counts, below the line over PC2" in " ".join(str(choice).split())


def test_a_print_of_many_components_has_its_reasons_and_the_last_rows():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(300, 16))
    table = pd.DataFrame(np.repeat(factors, 3, axis=1) + 0.5 * rng.normal(size=(300, 48)))
    choice = sp.choose_k(table.add_prefix("x", axis=1), scale=True, rng=0, n_draws=99)
    lines = str(choice).splitlines()
    assert choice.k >= 14
    assert len(lines) <= 25
    assert "..." in lines
    assert not any(line.endswith(" ...") for line in lines)
    assert any(line.startswith(f"PC{choice.k} ") for line in lines)


def test_a_matrix_says_that_its_rows_are_simulated(X):
    text = " ".join(str(sp.choose_k(X.cov(), n_obs=100)).split()).replace("held- out", "held-out")
    assert "matrix of 12 variables, from 100 rows; rows are simulated from a normal distribution" in text
    assert "variance in held-out rows simulated from this matrix" in text
    assert "simulated" not in str(sp.choose_k(X))
    text = sp.choose(X.cov(), n_obs=100, k=None).method_text
    assert "chosen by the extended Bayesian information criterion" in text
