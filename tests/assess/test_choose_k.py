"""The number of components: planted truth, noise of several kinds, many columns, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats

import spcastat as sp
from spcastat.assess import component_tests
from spcastat.assess.component_tests import Draws, broken_stick, mean_correlations
from spcastat.errors import OptionError
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
    assert (found.k, found.sequential) == (2, 2)
    assert found.table["p"].iloc[:2].tolist() == [1 / 200] * 2  # no draw of 199 as large
    assert "The choice is 2: the tests agree." in found.reason


def test_pitprops_has_three():
    """Parallel analysis on this matrix keeps three, by flips and by normal noise alike.

    The sparse test finds further components, of p-values near its level.
    """
    R = sp.datasets.load_pitprops()
    found = sp.choose_k(R, n_obs=180)
    assert (found.parallel, found.deflated) == (3, 3)
    assert found.k == found.sequential > 3
    # how many are drawn is said once
    assert " ".join(str(found).split()).count("sign flips") == 1
    assert "199 sign flips for each, up to 796 if a p-value is near its level" in " ".join(str(found).split())
    # many rows: the central limit theorem instead of rows that are drawn
    values = MomentNoise(R.to_numpy(), 180).flipped(np.random.default_rng(0)).values
    assert values.sum() == pytest.approx(13)


def test_noise_is_rejected_at_the_level():
    found = [sp.choose_k(noise(60, 10, seed), n_draws=39, rng=seed) for seed in range(40)]
    # level .05: 8 or more of 40 have probability 4e-4
    assert sum(one.k > 0 for one in found) < 8
    assert sum(one.sequential > 0 for one in found) < 8


def test_the_number_seldom_depends_on_the_seed():
    """Three of the six components of the sparse test have p-values near the level of 1 %.

    With exactly 99 draws, one that reaches such a component is p = .02, and ends the test: 3 to 6 components.
    """
    X = sp.datasets.pitprops_sample()
    numbers = [sp.choose_k(X, scale=True, n_draws=99, rng=seed).k for seed in range(6)]
    assert numbers.count(6) >= 5


def test_more_draws_are_made_if_a_p_value_is_near_the_level():
    """p-values of a uniform draw, which are known; level 1 %."""
    draws = Draws(0.05, 199, 0)
    made = []

    def uniform(rngs):
        for rng in rngs:
            made.append(rng.random())
            yield made[-1]

    # beyond sqrt(99) standard deviations of .29 from the mean: clear after the first round
    assert draws.p_value(4.0, uniform, 0) == 1 / 200
    assert len(made) == 199
    # above all draws, but not by far: p = 1 / 200 is within 2 * .005 of .01, and p = 1 / 399 is not
    assert draws.p_value(1.0, uniform, 0) == 1 / 399
    assert len(made) == 199 + 398
    # noise ends with the seventh draw that reaches it: (1 + 7) / 797 > .01
    made.clear()
    p_value = draws.p_value(0.5, uniform, 0)
    assert p_value == 7 / len(made)
    assert 0.2 < p_value < 1.0


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
        assert found.k == found.sequential == 1


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
    assert sp.choose_k(gaps, na="em", n_draws=99).sequential == 2


@pytest.mark.parametrize("in_pieces", [False, True])
def test_graded_components_of_ten_are_not_found_again(in_pieces):
    """Two planted components of ten variables, tested by sparse components of six, in rows and in moments."""
    v = np.linspace(1.0, 0.4, 10) * np.resize([1.0, -1.0], 10)
    right = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, 4])
        X = rng.standard_normal((200, 50))
        for first, variance in ((0, 10.0), (10, 6.0)):
            t = np.sqrt(variance) * rng.standard_normal((200, 1))
            X[:, first : first + 10] += t * v / np.linalg.norm(v)
        pieces = [X[:90], X[90:]] if in_pieces else X
        right += sp.choose_k(pieces, kmax=4, n_draws=39).sequential == 2
    assert right >= 6  # level .05 each: three or more of eight have probability .006


def test_a_weak_component_beside_a_strong_one_counts():
    """Variances 60 and 2: the second eigenvalue is below that of the same rank of flipped rows, which the
    strong one makes large, and a sparse component of what is left without it is not."""
    rng = np.random.default_rng(1)
    X = noise(200, 50, 11)
    X[:, :6] += np.sqrt(60 / 6) * rng.standard_normal((200, 1))
    X[:, 6:12] += np.sqrt(2 / 6) * rng.standard_normal((200, 1))
    found = sp.choose_k(X, kmax=4, n_draws=99)
    assert (found.parallel, found.sequential, found.k) == (1, 2, 2)
    assert "strong ones mask" in found.reason


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
        assert found.k == max(min(found.parallel, found.deflated), found.sequential)
    assert sum(right) >= 5  # .80 right, measured on 15 sets: four or fewer of eight have probability .06


@pytest.mark.parametrize("as_covariance", [False, True])
def test_traces_of_correlation_are_not_components(as_covariance):
    """A pair with r = .08 in 5000 rows is significant, and explains less than .1 of mean correlation."""
    X = noise(5000, 10, 4)
    X[:, 1] += 0.08 * X[:, 0]
    how = {"n_obs": 5000, "covariance": True} if as_covariance else {}
    found = sp.choose_k(np.cov(X.T) if as_covariance else X, n_draws=99, kmax=3, **how)
    assert found.sequential == 0
    assert np.isnan(found.table["sparse_p"].iloc[0])
    assert 0 < found.table["sparse_correlation"].iloc[0] < 0.1


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
    assert sp.choose_k(X, scale=True, n_draws=39)._large is None
    X.iloc[16] = rng.normal(size=20) * 15
    found = sp.choose_k(X, scale=True, n_draws=39)
    Z = (X - X.mean()) / X.std()
    share = (Z.iloc[16] ** 2).sum() / (Z**2).to_numpy().sum()
    assert found.k == 2
    said = (
        f"Row r17 is the largest, with {100 * share:.0f} % of the total variance; 3 rows were shrunk to 1.5 "
        "times the median size. Without shrinking, k = 0; with shrinking, k = 2."
    )
    assert found._large.pulled == 3
    for text in (
        found.as_text(),
        found.reason,
        str(sp.choose(X, cards=[4, 6], scale=True, n_draws=39, repeats=1)),
    ):
        assert said in " ".join(text.split())
        assert 'method="spcagrid" or method="rspca-l0"' in " ".join(text.split())
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


def with_minor_factors(seed):
    """Return 10,000 rows of 20 variables: two factors of 6 and 5 variables, and 15 minor ones of all."""
    rng = np.random.default_rng([seed, 10])
    L = np.zeros((20, 2))
    L[:6, 0], L[6:11, 1] = 1.0, 5**-0.5 * 2
    minor = rng.normal(size=(20, 15)) * 0.12
    rows = rng.normal(size=(10_000, 2)) @ L.T + rng.normal(size=(10_000, 15)) @ minor.T
    return rows + rng.normal(size=(10_000, 20))


def test_minor_components_of_many_rows_are_named_and_not_chosen():
    found = sp.choose_k(with_minor_factors(0), scale=True, n_draws=19)
    assert found.k == found.major == 2
    assert min(found.parallel, found.deflated) >= 4
    last = min(found.parallel, found.deflated)
    assert f"PC3 to PC{last} exceed noise but are minor" in found.reason
    assert f"Of the {last} principal components that exceed noise, after rotation" in found.reason
    assert "The column r is of other components, the sparse ones" in found.reason
    assert "exceed noise but are minor" in " ".join(found.as_text().split())


def test_one_minor_component_is_said_to_be_unclear_not_noise():
    """A factor of all variables with correlations of about .04 exceeds noise and is not chosen."""
    X = np.random.default_rng(3).normal(size=(400, 30))
    X += 0.2 * np.random.default_rng(102).normal(size=(400, 1))
    found = sp.choose_k(X, scale=True, n_draws=99)
    assert (found.k, found.parallel) == (0, 1)
    assert "none explains a mean correlation of 0.1 or more" in found.reason
    with pytest.raises(OptionError, match=r"^No component is clear enough\. Parallel analysis keeps 1"):
        sp.choose(X, scale=True, n_draws=99)


def test_the_mean_correlation_is_that_of_equally_correlated_variables():
    # c variables with the correlation r have the eigenvalue 1 + (c - 1) r, c - 1 of which is common
    for c, r in ((2, 0.3), (6, 0.5), (12, 0.1)):
        A = np.zeros((15, 1))
        A[:c, 0] = np.sqrt((c - 1) * r / c)
        np.testing.assert_allclose(mean_correlations(A), r)
    assert mean_correlations(np.eye(3)[:, :1]) == 0  # one variable has no pair
    X = np.random.default_rng(0).normal(size=(4000, 1)) + np.random.default_rng(1).normal(size=(4000, 8))
    # the mean correlation of the eight is .5; its standard error is about .01
    assert sp.choose_k(X, n_draws=99)._found.explained[0] == pytest.approx(0.5, abs=0.04)


# --- The rules of Kaiser and of the broken stick ---------------------------------------------------


def test_kaiser_and_the_broken_stick_take_the_rows_as_they_are():
    """By their definitions, from NumPy's correlations, where a large row is shrunk for the tests."""
    rng, X = spiked(1)
    X.iloc[16] = rng.normal(size=20) * 15
    found = sp.choose_k(X, scale=True, n_draws=39)
    assert found._large is not None
    values = np.linalg.eigvalsh(np.corrcoef(X.to_numpy().T))[::-1]
    stick = np.array([np.sum(1.0 / np.arange(j, 21)) / 20 for j in range(1, 21)])
    above = values / 20 > stick
    assert found.kaiser == np.sum(values > 1.0)
    assert found.broken_stick == (20 if above.all() else np.argmin(above))
    shrunk = found.spectrum
    assert found.kaiser != np.sum(shrunk["eigenvalue"] > shrunk["eigenvalue"].sum() / 20)
    labels = found.plot().get_legend_handles_labels()[1]
    assert labels[0] == "data, large rows shrunk"


def test_rules_that_have_no_meaning_without_more_rows_than_variables_are_left_out():
    X = np.random.default_rng(0).normal(size=(30, 30))
    for p, there in ((29, True), (30, False)):
        found = sp.choose_k(X[:, :p], n_draws=39)
        assert (found.kaiser is not None) == (found.broken_stick is not None) == there
        assert ("Kaiser" in str(found)) == ("broken stick" in str(found)) == there


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
    monkeypatch.setattr(component_tests, "MOST_CELLS", 1000)
    monkeypatch.setattr(component_tests, "COLUMNS", TESTED)


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
    found = sp.choose_k(rows, kmax=3, sparse_card=5, n_draws=39, scale=scale, rng=3)
    assert (found.k, found.sequential) == (2, 2)
    assert f"{TESTED} of {P} variables were tested" in found.reason
    assert "Kaiser" not in str(found)
    assert found.kaiser is found.broken_stick is None
    assert len(found.spectrum) == TESTED


@pytest.mark.parametrize("kind", ["pieces", "frame"])
def test_noise_is_rejected_at_the_level_of_many_columns(small, kind):
    """Columns chosen and tested in the same rows would show a component in nearly all of these."""
    found = [
        sp.choose_k(KINDS[kind](planted(150, P, seed, ())), kmax=2, sparse_card=5, n_draws=19, rng=seed)
        for seed in range(16)
    ]
    # level .05: five or more of sixteen have probability .001
    assert sum(one.k > 0 for one in found) < 5
    assert sum(one.sequential > 0 for one in found) < 5


def test_refusals_of_many_columns(small):
    pieces = KINDS["pieces"](planted(240, P))
    with pytest.raises(OptionError, match="allows sparse_card=5"):
        sp.choose_k(pieces, kmax=3, sparse_card=6)
    found = sp.choose_k(pieces, kmax=2, sparse_card=5, n_draws=19)
    with pytest.raises(OptionError, match=f"analysis of {TESTED} of {P} variables"):
        sp.spca(planted(240, P), 2, 5).screeplot(parallel=found)


# --- columns that are correlated by construction, and components of many variables ------------------


def independent_terms(seed: int) -> pd.DataFrame:
    """Five normal variables, three factors of three levels and two of two, all independent."""
    rng = np.random.default_rng(seed)
    numbers = {f"x{i}": rng.standard_normal(150) for i in range(5)}
    three = {f"f{i}": rng.choice(["a", "b", "c"], 150) for i in range(3)}
    return pd.DataFrame(numbers | three | {f"g{i}": rng.choice(["u", "v"], 150) for i in range(2)})


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


@pytest.mark.parametrize("size", [50, 300])
def test_components_of_many_variables_are_not_counted_in_parts(size):
    """Six factors of 50 or of all 300 variables in 62 rows, which parallel analysis finds: k = 6."""
    rng = np.random.default_rng(size)
    loadings = np.kron(np.eye(6), np.ones(50)) if size == 50 else rng.choice([-1.0, 1.0], (6, 300))
    loadings = loadings * rng.uniform(0.6, 1.4, 300)
    X = rng.standard_normal((62, 6)) @ loadings + rng.standard_normal((62, 300))
    found = sp.choose_k(X, scale=True)
    assert (found.k, found.sequential) == (6, 6)
