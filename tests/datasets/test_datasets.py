"""The bundled data and the generators: published figures, exact correlations, planted structure."""

from __future__ import annotations

import importlib.resources
import json

import numpy as np
import pandas as pd
import pytest
from statsmodels.multivariate.factor import Factor

from spcastat import cli, datasets
from spcastat.cli.input_tables import bundled
from spcastat.errors import OptionError

BUNDLED = bundled()

GENERATORS = {
    "pitprops_sample": lambda rng: datasets.pitprops_sample(30, rng=rng),
    "make_hastie": lambda rng: datasets.make_hastie(30, rng=rng, outliers=3),
    "make_toy": lambda rng: datasets.make_toy(30, rng=rng),
    "make_toy, nonneg": lambda rng: datasets.make_toy(30, rng=rng, nonneg=True),
    "make_highdim": lambda rng: datasets.make_highdim(30, p=90, rng=rng),
}
with_truth = pytest.mark.parametrize("name", [name for name in GENERATORS if name != "pitprops_sample"])


# --- pitprops -----------------------------------------------------------------------------------


def test_pitprops_is_a_labelled_correlation_matrix():
    R = datasets.load_pitprops()
    assert R.shape == (13, 13)
    assert list(R.index) == list(R.columns)
    assert R.columns[0] == "topdiam"
    assert R.columns[-1] == "diaknot"
    assert set(R.dtypes.astype(str)) == {"float64"}
    np.testing.assert_array_equal(R, R.T)
    np.testing.assert_array_equal(np.diag(R), 1.0)
    assert R.loc["testsg", "moist"] == 0.882
    assert R.loc["whorls", "clear"] == -0.319
    assert R.attrs["n_obs"] == 180
    assert R.attrs["kind"] == "correlation"
    assert "Jeffers" in R.attrs["source"]


@pytest.mark.parametrize("n", [14, 15, 50, 180, 3000])
def test_pitprops_sample_has_exactly_that_correlation(n):
    X = datasets.pitprops_sample(n, rng=3)
    R = datasets.load_pitprops()
    assert X.shape == (n, 13)
    assert list(X.columns) == list(R.columns)
    # rounding only: some 1e-15 an entry, with room for n = 14, where the whitening is ill-conditioned
    np.testing.assert_allclose(np.corrcoef(X.to_numpy().T), R, atol=1e-12)
    np.testing.assert_allclose(X.cov(), R, atol=1e-12)
    np.testing.assert_allclose(X.mean(), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(ddof=1), 1.0, atol=1e-12)
    assert X.attrs["kind"] == "synthetic"


# --- ability tests, wines, judges ---------------------------------------------------------------


def test_harman74_is_a_labelled_correlation_matrix():
    R = datasets.load_harman74()
    assert R.shape == (24, 24)
    assert list(R.index) == list(R.columns)
    np.testing.assert_array_equal(R, R.T)
    np.testing.assert_array_equal(np.diag(R), 1.0)
    assert R.loc["paragraph_comprehension", "general_information"] == 0.622  # Harman (1976), Table 7.4
    assert R.loc["cubes", "visual_perception"] == 0.318
    assert (R.attrs["kind"], R.attrs["n_obs"]) == ("correlation", 145)
    assert "Harman" in R.attrs["source"]
    ability = dict(zip(R.columns, R.attrs["abilities"], strict=True))
    firsts = ("visual_perception", "general_information", "addition", "word_recognition", "deduction")
    assert [ability[test] for test in firsts] == ["spatial", "verbal", "speed", "memory", "deduction"]


# whether the optimizer reaches its own tolerance depends on last bits; the statistic is what is compared
@pytest.mark.filterwarnings("ignore:Fitting did not converge")
@pytest.mark.parametrize(
    ("factors", "statistic", "freedom"), [(3, 295.59, 207), (4, 226.68, 186), (5, 186.82, 166)]
)
def test_harman74_has_the_published_fit_of_maximum_likelihood_factors(factors, statistic, freedom):
    """The example of ?Harman74.cor in R: factanal prints these statistics, to two decimals."""
    R = datasets.load_harman74().to_numpy()
    p, n = len(R), datasets.load_harman74().attrs["n_obs"]
    # from principal components: the random start of Factor ends in another optimum now and then
    values, vectors = np.linalg.eigh(R)
    loadings = vectors[:, -factors:] * np.sqrt(values[-factors:] - 0.5)
    start = loadings, 1.0 - (loadings**2).sum(axis=1)
    fitted = Factor(corr=R, n_factor=factors, nobs=n, method="ml").fit(start=start, maxiter=500, tol=1e-10)
    model = fitted.loadings_no_rot @ fitted.loadings_no_rot.T
    np.fill_diagonal(model, 1.0)
    excess = np.linalg.slogdet(model)[1] - np.linalg.slogdet(R)[1] + np.trace(np.linalg.solve(model, R)) - p
    found = (n - 1 - (2 * p + 5) / 6 - 2 * factors / 3) * excess
    assert ((p - factors) ** 2 - p - factors) / 2 == freedom
    # Half a unit of the last digit, and what the optimizers stop short of the minimum.
    assert found == pytest.approx(statistic, abs=0.02)


def test_wine_is_the_table_of_the_repository():
    wine = datasets.load_wine()
    assert wine.shape == (178, 13)
    assert wine.index.name == "cultivar"
    assert list(dict.fromkeys(wine.index)) == ["Barolo", "Grignolino", "Barbera"]
    assert wine.index.value_counts().to_dict() == {"Barolo": 59, "Grignolino": 71, "Barbera": 48}
    assert all(pd.api.types.is_numeric_dtype(kind) for kind in wine.dtypes)
    assert wine.notna().all(axis=None)
    assert wine.attrs["licence"] == "CC BY 4.0"
    # The summary that the repository prints: minimum, maximum, mean and deviation, rounded as there.
    printed = {
        "alcohol": (11.0, 14.8, 13.0, 0.8, 1),
        "malic_acid": (0.74, 5.80, 2.34, 1.12, 2),
        "nonflavanoid_phenols": (0.13, 0.66, 0.36, 0.12, 2),
        "od280_od315": (1.27, 4.00, 2.61, 0.71, 2),
        "hue": (0.48, 1.71, 0.96, 0.23, 2),
    }
    for name, (low, high, mean, deviation, digits) in printed.items():
        about = wine[name].agg(["min", "max", "mean", "std"])
        np.testing.assert_allclose(about, [low, high, mean, deviation], atol=0.5001 * 10.0**-digits)


def test_judges_have_the_published_first_component():
    """Kabacoff, R in Action: principal(USJudgeRatings[, -1], nfactors = 1) prints these, to two decimals."""
    R = np.corrcoef(datasets.load_judges().drop(columns="contacts"), rowvar=False)
    values, vectors = np.linalg.eigh(R)
    loadings = np.abs(vectors[:, -1]) * np.sqrt(values[-1])
    printed = [0.92, 0.91, 0.97, 0.96, 0.96, 0.98, 0.98, 1.00, 0.99, 0.89, 0.99]
    np.testing.assert_allclose(loadings, printed, atol=0.005)
    assert values[-1] == pytest.approx(10.13, abs=0.005)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_are_installed_and_their_facts_are_plain(name):
    assert importlib.resources.files("spcastat.data").joinpath(f"{name}.csv").is_file()
    data = BUNDLED[name]()
    assert json.loads(json.dumps(data.attrs)) == data.attrs
    pd.concat([data, data])  # pandas compares attrs
    about = importlib.resources.files("spcastat.data").joinpath("README.md").read_text(encoding="utf-8")
    assert f"## {name}.csv" in about


@pytest.mark.parametrize("name", BUNDLED)
def test_the_command_fits_bundled_data_by_name(name, capsys):
    scale = [] if BUNDLED[name]().attrs["kind"] == "correlation" else ["--scale"]
    assert cli.main(["fit", name, "--k", "2", "--card", "4", "--effort", "quick", *scale]) == 0
    rows, columns = BUNDLED[name]().shape
    rows = BUNDLED[name]().attrs.get("n_obs", rows)
    printed = " ".join(capsys.readouterr().out.split())
    assert f"{columns} variables" in printed
    assert f"{rows} rows" in printed
    assert "2 components with 4 nonzero loadings each" in printed


# --- Hastie -------------------------------------------------------------------------------------


def hastie_covariance(noise: float) -> np.ndarray:
    """The covariance in closed form: X = A (V1, V2, e) + noise."""
    A = np.zeros((10, 3))
    A[0:4, 0] = A[4:8, 1] = 1.0
    A[8:, :] = [-0.3, 0.925, 1.0]
    return A @ np.diag([290.0, 300.0, 1.0]) @ A.T + noise * np.eye(10)


@pytest.mark.parametrize("noise", [0.0, 1.0, 400.0])
def test_hastie_has_the_covariance_of_its_factors(noise):
    n = 200_000
    X = datasets.make_hastie(n, rng=1, noise=noise)
    S = hastie_covariance(noise)
    # The standard error of a sample covariance of normal data is sqrt((s_ii s_jj + s_ij^2) / n);
    # five of them leave 55 entries a chance of some 3e-5 to stray.
    error = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / n)
    assert (np.abs(X.cov().to_numpy() - S) <= 5 * error).all()
    # the sign of V1 in V3, which one of the papers prints without its minus
    assert S[0, 8] == pytest.approx(-87.0)


def test_hastie_outliers_are_the_last_rows():
    clean = datasets.make_hastie(10_000, rng=2)
    X = datasets.make_hastie(10_000, rng=2, outliers=500, outlier_variance=900.0)
    planted = (X.loc[:, "X1":"X8"] == 0).all(axis=1)
    assert planted.sum() == 500
    assert planted.iloc[-500:].all()
    assert X.attrs["outliers"] == 500
    np.testing.assert_array_equal(X.iloc[:9500], clean.iloc[:9500])
    tail = X.iloc[-500:, 8:]
    # chi-square: the variance of 500 draws has a relative standard error of sqrt(2 / 499) = 0.063
    np.testing.assert_allclose(tail.var(), 900.0, rtol=0.25)
    assert abs(tail.corr().iloc[0, 1]) < 0.2  # independent: the standard error is 0.045


# --- toy and high-dimensional -------------------------------------------------------------------


def assert_leading_pairs(X: pd.DataFrame) -> None:
    """S v = c v for the planted pairs, within five standard errors of every entry.

    The entry i of S v has the variance (s_ii c + (c v_i)^2) / n for normal data. This is sharper than
    to compare eigenvectors, which turn towards one another where two eigenvalues are near.
    """
    S = X.cov().to_numpy()
    for v, c in zip(datasets.true_loadings(X).to_numpy().T, X.attrs["eigenvalues"], strict=False):
        error = np.sqrt((np.diag(S) * c + (c * v) ** 2) / len(X))
        assert (np.abs(S @ v - c * v) <= 5 * error).all()


@pytest.mark.parametrize("nonneg", [False, True])
def test_toy_has_the_eigenvalues_and_eigenvectors_that_were_planted(nonneg):
    n = 100_000
    X = datasets.make_toy(n, rng=5, nonneg=nonneg)
    planted = X.attrs["eigenvalues"]
    assert planted == [*((210, 190) if nonneg else (250, 240)), 50, 50, 6, 5, 4, 3, 2, 1]
    # relative standard error of an eigenvalue: sqrt(2 / n) = 0.0045; equal ones repel a little more
    np.testing.assert_allclose(np.linalg.eigvalsh(X.cov())[::-1], planted, rtol=0.025)
    assert_leading_pairs(X)


def test_toy_loadings_are_those_printed_brought_to_unit_length():
    V = datasets.true_loadings(datasets.make_toy(5))
    np.testing.assert_allclose(V["PC1"], [0.422] * 4 + [0] * 4 + [0.380] * 2, atol=5e-4)
    np.testing.assert_allclose(V["PC2"], [0] * 4 + [0.489] * 4 + [-0.147, 0.147], atol=5e-4)
    V = datasets.true_loadings(datasets.make_toy(5, nonneg=True))
    np.testing.assert_allclose(V["PC1"], [0.474, 0, 0.158, 0, 0.316, 0, 0.791, 0, 0.158, 0], atol=5e-4)
    np.testing.assert_allclose(V["PC2"], [0, 0.14, 0, 0.84, 0, 0.28, 0, 0.14, 0, 0.42], atol=5e-4)
    assert (V >= 0).all(axis=None)


def test_highdim_has_the_two_planted_eigenvectors():
    X = datasets.make_highdim(40_000, p=100, rng=4)
    assert_leading_pairs(X)
    eigenvalues = np.linalg.eigvalsh(X.cov())
    np.testing.assert_allclose(eigenvalues[::-1][:10], X.attrs["eigenvalues"], rtol=0.06)
    np.testing.assert_allclose(eigenvalues[:90], 1.0, atol=0.12)  # (1 + sqrt(p / n))^2 - 1 = 0.10 at the edge
    V = datasets.true_loadings(X)
    assert list(np.flatnonzero(V["PC1"])) == list(range(50))
    assert list(np.flatnonzero(V["PC2"] < 0)) == list(range(30, 40))
    assert list(np.flatnonzero(V["PC2"] > 0)) == list(range(40, 80))


# --- what all of them keep ----------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERATORS)
def test_one_seed_one_data_set(name):
    make = GENERATORS[name]
    pd.testing.assert_frame_equal(make(0), make(None))
    pd.testing.assert_frame_equal(make(7), make(np.int64(7)))
    pd.testing.assert_frame_equal(make(7), make(np.random.default_rng(7)))
    assert not np.allclose(make(7), make(8))


@with_truth
def test_true_loadings_are_orthonormal_and_labelled(name):
    X = GENERATORS[name](0)
    V = datasets.true_loadings(X)
    assert list(V.index) == list(X.columns)
    assert np.asarray(X.attrs["loadings"]).shape == (X.shape[1], 2)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-15)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: datasets.pitprops_sample(13), "n=13 was given; it must be a whole number of 14 or more"),
        (lambda: datasets.make_hastie(10, noise=-1), "noise=-1"),
        (lambda: datasets.make_hastie(10, outliers=11), "outliers=11 .* from 0 to 10"),
        (lambda: datasets.make_highdim(10, p=79), "p=79 .* of 80 or more"),
        (lambda: datasets.make_toy(10, rng="x"), "rng='x'"),
        (lambda: datasets.true_loadings(pd.DataFrame({"a": [1]})), "DataFrame given is not one of these"),
        (lambda: datasets.true_loadings(datasets.make_toy(5)[["X1"]]), "columns, and its loadings have 10"),
    ],
)
def test_refusals_say_what_was_given_and_what_is_allowed(call, words):
    with pytest.raises(OptionError, match=words):
        call()


def test_a_name_that_does_not_exist_gives_those_that_do():
    with pytest.raises(AttributeError, match="load_wine") as raised:
        datasets.load_iris()
    assert all(name in str(raised.value) for name in datasets.__all__)
