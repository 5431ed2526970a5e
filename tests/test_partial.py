"""Partial PCA: components of what regression on covariates leaves, against statsmodels' regressions."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import spcastat as sp
from spcastat import cli
from spcastat.assess.folds import divided
from tests.conftest import source_of
from tests.fit.test_archive import parts_of, seal

FORMULA = "~ . | np.log(dose) + C(site)"


def table(n: int = 60) -> pd.DataFrame:
    """Return five variables that depend on a dose and on a site."""
    rng = np.random.default_rng(4)
    site = rng.choice(["north", "south", "west"], n)
    dose = rng.uniform(1.0, 5.0, n)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 5)) + rng.normal(size=(n, 5))
    X += np.outer(np.log(dose), [1.0, 0.0, -1.0, 2.0, 0.5]) + np.outer(
        site == "west", [0.0, 3.0, 0.0, 1.0, 0.0]
    )
    return pd.DataFrame(X + 10.0, columns=list("abcde")).assign(dose=dose, site=site)


def design(data: pd.DataFrame) -> np.ndarray:
    """Return the covariates of FORMULA with an intercept."""
    return np.column_stack(
        [np.ones(len(data)), np.log(data["dose"]), pd.get_dummies(data["site"]).iloc[:, 1:]]
    ).astype(float)


def residuals(Y: pd.DataFrame, Z: np.ndarray, weights: np.ndarray | None = None) -> pd.DataFrame:
    """Return the residuals of each column, by statsmodels."""
    w = np.ones(len(Y)) if weights is None else weights
    return Y.apply(lambda y: pd.Series(y - sm.WLS(y, Z, weights=w).fit().fittedvalues, Y.index))


def covariance(op) -> np.ndarray:
    return op.block(np.arange(op.p)) * op.unit**2


# --- the matrix -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).integers(0, 4, 60)])
def test_the_covariance_matrix_is_that_of_statsmodels_residuals(weights):
    data = table()
    fit = sp.spca(data, 2, 3, formula=FORMULA, weights=weights, effort="quick")
    left = residuals(data[list("abcde")], design(data), weights)
    expected = np.cov(left.T, fweights=weights)
    op = source_of(data, formula=FORMULA, weights=weights).op
    np.testing.assert_allclose(covariance(op), expected, rtol=0, atol=1e-12 * expected.max())
    np.testing.assert_allclose(fit.scores, left @ fit.loadings, rtol=0, atol=1e-12)


def test_it_is_the_schur_complement_and_that_of_a_given_covariance_matrix():
    data = table().drop(columns="site")
    S = data.cov()
    y, z = list("abcde"), ["dose"]
    across = S.loc[z, y].to_numpy()
    expected = S.loc[y, y] - across.T @ np.linalg.inv(S.loc[z, z]) @ across
    rows = sp.spca(data, 2, 3, formula="~ . | dose", effort="quick")
    matrix = sp.spca_cov(S, 2, 3, given="dose", n_obs=60, effort="quick")
    of_matrix = source_of(S, given="dose", n_obs=60)
    for source in (source_of(data, formula="~ . | dose"), of_matrix):
        np.testing.assert_allclose(covariance(source.op), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(matrix.loadings.abs(), rows.loadings.abs(), rtol=0, atol=1e-12)
    partial = source_of(data.corr(), given=["dose"])  # of a correlation matrix partial correlations
    np.testing.assert_allclose(
        covariance(partial.op),
        residuals(data[y], sm.add_constant(data[z]).to_numpy()).corr(),
        rtol=0,
        atol=1e-12,
    )
    assert of_matrix.sampler("bootstrap()").n == 59  # a degree of freedom less
    assert matrix.refit(given=["a", "dose"]).loadings.index.tolist() == list("bcde")


def test_the_print_and_the_figures_of_the_diabetes_data():
    data = pytest.importorskip("sklearn.datasets").load_diabetes(as_frame=True).data
    left = residuals(data.drop(columns=["age", "sex"]), sm.add_constant(data[["age", "sex"]]).to_numpy())
    fit = sp.spca(data, 2, 4, formula="~ . | age + sex", scale=True, effort="quick")
    assert fit.measure("adjusted") == pytest.approx(0.52995, abs=5e-6)
    assert fit.measure("adjusted") == pytest.approx(
        sp.spca(left, 2, 4, scale=True, effort="quick").measure("adjusted"), rel=1e-12
    )
    assert sp.spca(data, 1, 4, formula="~ . | age + sex", scale=True).measure("adjusted") == pytest.approx(
        0.342782, abs=5e-7
    )
    shares = 100 * (1 - left.var() / data[left.columns].var())
    bp, s3, s4, bmi = (f"{name} {shares[name]:.1f}" for name in ("bp", "s3", "s4", "bmi"))
    text = " ".join(str(fit.summary()).split())
    assert f"8 variables given age, sex, which explain {shares.mean():.1f} % of their variance" in text
    assert f"({bp}, {s3}, {s4}, ..., {bmi}); 439 residual degrees of freedom" in text
    assert f"linear regression on age and sex, which explained {shares.mean():.1f} %" in fit.describe().text
    plain = sp.spca(data, 2, 4, formula="~ . | age + sex", effort="quick")
    share = 1 - left.var().sum() / data[left.columns].var().sum()
    assert f"which explain {100 * share:.1f} % of" in " ".join(str(plain).split())


def test_subjects_are_taken_out_as_their_means():
    rng = np.random.default_rng(1)
    data = (
        pd.DataFrame(rng.normal(size=(40, 4)), columns=list("wxyz"))
        + np.repeat(rng.normal(size=10), 4)[:, None]
    )
    subject = np.repeat(np.arange(10), 4)
    op = source_of(data.assign(subject=subject), formula="~ . | C(subject)").op
    within = data - data.groupby(subject).transform("mean")
    np.testing.assert_allclose(covariance(op), within.cov(), rtol=0, atol=1e-13)
    assert op.rank_limit == 4
    few = sp.spca(data.assign(subject=subject).iloc[:8], 1, 2, formula="~ . - z | C(subject) + z")
    # 8 - 1 less one for subjects and one for z
    assert "5 residual degrees of freedom" in " ".join(str(few.summary()).split())


# --- new rows, files, copies ----------------------------------------------------------------------


def test_new_rows_are_adjusted_by_the_coefficients_of_the_fit():
    data, new = table(), table(75).iloc[60:]
    fit = sp.spca(data, 2, 3, formula=FORMULA, scale=True, effort="quick")
    y = list("abcde")
    Z = design(data)
    B = np.linalg.lstsq(Z, data[y], rcond=None)[0]
    left = (new[y] - design(new) @ B) / (residuals(data[y], Z).std())
    np.testing.assert_allclose(fit.transform(new), left @ fit.loadings, rtol=0, atol=1e-11)
    np.testing.assert_allclose(fit.transform(data), fit.scores, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        fit.augment(new.iloc[[3]])[".fittedPC1"], fit.transform(new)["PC1"].iloc[[3]], rtol=0, atol=1e-12
    )
    chunks = pd.concat(list(fit.transform([new.iloc[:5], new.iloc[5:]])))
    np.testing.assert_allclose(chunks, fit.transform(new), rtol=0, atol=1e-12)


def test_a_file_and_copies_carry_the_covariates(tmp_path):
    data = table()
    fit = sp.spca(data, 2, 3, formula=FORMULA, scale=True, effort="quick")
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert str(loaded) == str(fit)
    assert loaded.describe().text == fit.describe().text
    np.testing.assert_array_equal(loaded.transform(data), fit.scores)
    assert str(loaded.bootstrap(5, rng=1, data=data)) == str(fit.bootstrap(5, rng=1))
    assert str(pickle.loads(pickle.dumps(fit)).refit(card=2)) == str(fit.refit(card=2))
    assert str(copy.deepcopy(fit)) == str(fit)
    S = table().drop(columns="site").cov()
    sp.spca_cov(S, 2, 3, given=["dose"], n_obs=60, effort="quick").save(tmp_path / "cov.spca")
    assert sp.load(tmp_path / "cov.spca").bootstrap(5, data=S) is not None

    mean = parts_of(tmp_path / "fit.spca")["regression.mean.npy"]
    seal(tmp_path / "fit.spca", lambda manifest: None, {"regression.coefficients.npy": mean})
    with pytest.raises(sp.errors.FileError, match=r"coefficients\.npy is not the array that was saved"):
        sp.load(tmp_path / "fit.spca")


def test_equations_in_the_units_of_the_data_have_the_covariates():
    data = table()
    fit = sp.spca(data, 1, 3, formula="~ . - site | dose", scale=True, effort="quick")
    (text,) = str(fit.equations(raw=True, digits=10, width=1000)).splitlines()
    constant, *terms = re.findall(r"([+-]? ?[\d.]+(?:e-?\d+)?) ?([a-z]*)", text.partition("=")[2])
    found = float(constant[0].replace(" ", "")) + sum(
        float(value.replace(" ", "")) * data[name] for value, name in terms
    )
    np.testing.assert_allclose(found, fit.scores["PC1"], rtol=0, atol=1e-7)
    assert len(terms) == 4


# --- missing values -------------------------------------------------------------------------------


def test_rows_that_lack_a_variable_or_a_covariate_are_dropped():
    data = table()
    holes = data.copy()
    holes.loc[3, "a"], holes.loc[7, "dose"], holes.loc[9, "site"] = np.nan, np.nan, None
    for formula in (FORMULA, "~ scale(a) + b + c + d + e | np.log(dose) + C(site)"):
        fit = sp.spca(holes, 2, 3, formula=formula, na="drop", effort="quick")
        whole = sp.spca(data.drop(index=[3, 7, 9]), 2, 3, formula=formula, effort="quick")
        np.testing.assert_allclose(fit.scores, whole.scores, rtol=0, atol=1e-12)
        assert str(fit.bootstrap(5)) == str(whole.bootstrap(5))
        # without a loading of the variable, its missing value in row 3 does not matter
        unused = not fit.loadings.filter(regex=r"^(a|scale\(a\))$", axis=0).to_numpy().any()
        lost = [7, 9] if unused else [3, 7, 9]
        assert fit.transform(holes, na="drop").index.equals(data.index.drop(lost))
        assert fit.augment(holes, na="drop")[".fittedPC1"].isna().sum() == len(lost)
        assert "3 rows with missing values dropped" in " ".join(str(fit).split())
    with pytest.raises(sp.errors.MissingValuesError, match="dose"):
        sp.spca(holes, 2, 3, formula="~ b + c | dose")
    scores = fit.transform(holes, na="pairwise")
    assert scores.loc[[7, 9]].isna().all().all()  # a covariate is missing: all scores are


# --- draws, halves, folds -------------------------------------------------------------------------


def test_draws_halves_and_folds_are_regressed_again():
    data, y = table(), list("abcde")
    source = source_of(data, formula=FORMULA)
    sampler = source.sampler("bootstrap()")
    order = source.row_groups.rows
    rows = order[np.random.default_rng(2).integers(60, size=60)]
    drawn = data.iloc[np.sort(rows)].reset_index(drop=True)
    op = sampler.bootstrap(np.random.default_rng(2))
    given_back = 59 / (59 - 3)  # of 59 degrees of freedom a draw loses 3
    expected = residuals(drawn[y], design(drawn)).cov() * given_back
    np.testing.assert_allclose(covariance(op), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(covariance(sampler.all_rows()), covariance(source.op), rtol=0, atol=1e-12)
    half = source.half(0, 0)
    one = data.iloc[np.sort(order[np.random.default_rng([0, 2]).permutation(60)[:30]])]
    np.testing.assert_allclose(covariance(half.op), residuals(one[y], design(one)).cov(), rtol=0, atol=1e-12)
    parts = divided(source, 4, 1, seed=0, k=2, rank=None, keep_rows=False)
    op, held = parts.split(1)
    out = parts.labels[0] == 1
    training, others = data[~out], data[out]
    np.testing.assert_allclose(
        covariance(op), residuals(training[y], design(training)).cov(), rtol=0, atol=1e-12
    )
    B = np.linalg.lstsq(design(training), training[y], rcond=None)[0]
    np.testing.assert_allclose(held.squares, ((others[y] - design(others) @ B) ** 2).sum(), rtol=1e-12)


def test_draws_of_few_rows_a_subject_have_the_variance_of_the_fit():
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(160, 5))).add_prefix("v")
    source = source_of(data.assign(s=np.repeat(np.arange(80), 2)), formula="~ . | C(s)")
    sampler, rng = source.sampler("bootstrap()"), np.random.default_rng(1)
    totals = [covariance(sampler.bootstrap(rng)).trace() for _ in range(200)]
    # 200 draws with a standard deviation of 14 %: four standard errors; regression alone gives .57
    assert np.mean(totals) == pytest.approx(covariance(source.op).trace(), rel=0.04)


def test_noise_within_subjects_is_not_taken_for_components():
    # two rows a subject: the residuals of either are those of the other with the sign changed, and tests that
    # take them for independent see half as much noise as there is
    for seed in range(2):
        rng = np.random.default_rng(seed)
        data = pd.DataFrame(rng.normal(size=(160, 30))).add_prefix("v").assign(s=np.repeat(np.arange(80), 2))
        assert sp.choose_k(data, formula="~ . | C(s)", scale=True, rng=seed).k == 0
        centred = data.drop(columns="s") - data.groupby("s").transform("mean")
        assert sp.choose_k(centred, scale=True, rng=seed).parallel > 1


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "options", "error", "words"),
    [
        ("~ a + b | dose | site", {}, sp.errors.FormulaError, "2 bars"),
        ("~ a + b | ", {}, sp.errors.FormulaError, "with terms after it"),
        ("~ a + b | 1", {}, sp.errors.FormulaError, "no term"),
        ("~ a + b + dose | log(dose)", {}, sp.errors.FormulaError, "'dose' before and after"),
        ("~ a + b | doze", {}, sp.errors.FormulaError, "Did you mean 'dose'"),
        ("~ a + b + I(2 * c - 3) | c", {}, sp.errors.FormulaError, "'c' before and after"),
        ("~ a + b + double | dose", {}, sp.errors.ConstantColumnError, "determine 'double'"),
        ("~ a + b | dose", {"center": False}, sp.errors.OptionError, "center=False.*covariates"),
        ("~ a + b | dose", {"na": "em"}, sp.errors.OptionError, "na='em'.*complete rows.*na='drop'"),
        ("~ a + b | dose", {"na": "pairwise"}, sp.errors.OptionError, "na='pairwise'.*na='drop'"),
    ],
)
def test_what_cannot_be_adjusted_is_refused_by_name(formula, options, error, words):
    with pytest.raises(error, match=words):
        sp.spca(table().assign(double=lambda x: 2 * x["dose"]), 1, 2, formula=formula, **options)


def test_chunks_new_levels_and_wrong_names_are_refused():
    data = table()
    with pytest.raises(sp.errors.FormulaError, match=r"in chunks.*spca_cov\(S, k, given="):
        sp.spca([data.iloc[:30], data.iloc[30:]], 1, 2, formula="~ a + b | dose")
    fit = sp.spca(data, 1, 2, formula=FORMULA, effort="quick")
    with pytest.raises(sp.errors.NewDataError, match="'east'"):
        fit.transform(data.assign(site="east"))
    with pytest.raises(sp.errors.NewDataError, match="'dose'"):
        fit.transform(data.drop(columns="dose"))
    S = data.drop(columns="site").cov()
    for given, words in (
        ("doze", "Did you mean 'dose'"),
        ([], "must name at least one"),
        (list(S), "not all"),
        (3, "given=3"),
        ([["a"]], "must name"),
    ):
        with pytest.raises(sp.errors.OptionError, match=words):
            sp.spca_cov(S, 1, 2, given=given)
    with pytest.raises(sp.errors.OptionError, match="mean= was given with given="):
        sp.spca_cov(S, 1, 2, given="dose", mean=np.zeros(6))
    with pytest.raises(sp.errors.ConstantColumnError, match="determine 'a'"):
        sp.spca_cov(
            pd.DataFrame([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]], list("abc"), list("abc")),
            1,
            1,
            given="b",
        )


# --- the command ----------------------------------------------------------------------------------


def test_the_command_takes_covariates_by_name(tmp_path, capsys):
    data = table().rename(columns={"dose": "my dose"})
    data.to_csv(tmp_path / "t.csv", index=False)
    path = str(tmp_path / "t.csv")
    how = ["--k", "1", "--card", "3"]
    saved = ["--save", str(tmp_path / "f.spca"), "--format", "text"]
    assert cli.main(["fit", path, *how, "--partial", "my dose,site", *saved]) == 0
    printed = capsys.readouterr().out
    fit = sp.spca(data, 1, 3, formula="~ . | `my dose` + site")
    assert printed.split() == str(fit.summary()).split()
    np.testing.assert_allclose(sp.load(tmp_path / "f.spca").transform(data), fit.scores, rtol=0, atol=1e-12)
    assert cli.main(["fit", path, *how, "--formula", "~ a + b + c", "--partial", "site"]) == 0
    assert "3 variables given site" in capsys.readouterr().out
    data.drop(columns="site").cov().to_csv(tmp_path / "S.csv")
    assert cli.main(["fit", str(tmp_path / "S.csv"), *how, "--covariance", "--partial", "my dose"]) == 0
    assert "5 variables given my dose" in capsys.readouterr().out
    assert cli.main(["fit", path, *how, "--partial", "doze"]) == 1
    assert "'doze'" in capsys.readouterr().err
