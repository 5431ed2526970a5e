"""Missing values in fits: na="em" and na="pairwise" from the call to files, new rows and the command."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import cli, errors
from tests.conftest import source_of


def whole(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two components of four variables each, three of noise."""
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n, 2)) * [3.0, 2.0]
    V = np.zeros((11, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    X = T @ V.T + 0.5 * rng.standard_normal((n, 11)) + np.arange(11)
    return pd.DataFrame(X, index=[f"r{i}" for i in range(n)], columns=[f"v{j}" for j in range(11)])


def gapped(share: float = 0.1, **how) -> pd.DataFrame:
    data = whole(**how)
    return data.mask(np.random.default_rng(99).random(data.shape) < share)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_planted_supports_are_found(na, scale):
    fit = sp.spca(gapped(), 2, 4, na=na, scale=scale, effort="quick")
    found = [set(fit.loadings.index[fit.loadings[c] != 0]) for c in fit.loadings]
    assert {frozenset(one) for one in found} == {
        frozenset(f"v{j}" for j in r) for r in (range(4), range(4, 8))
    }


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_without_gaps_it_is_the_same_fit(na, scale):
    how = {"scale": scale, "effort": "quick"}
    a, b = sp.spca(whole(), 2, 4, na=na, **how), sp.spca(whole(), 2, 4, **how)
    pd.testing.assert_frame_equal(a.loadings, b.loadings, check_exact=True)
    pd.testing.assert_frame_equal(a.scores, b.scores, check_exact=True)
    assert "Missing    no value" in str(a)


def test_imputed_keeps_what_was_measured():
    data = gapped()
    before = data.copy()
    imputed = sp.spca(data, 2, 4, na="em", scale=True, effort="quick").imputed
    pd.testing.assert_frame_equal(data, before, check_exact=True)
    assert imputed.index.equals(data.index)
    assert imputed.columns.equals(data.columns)
    assert imputed.notna().all(axis=None)
    pd.testing.assert_frame_equal(imputed.where(data.notna()), data, check_exact=True)
    # what follows from others is met better than by means
    error = ((imputed - whole()).iloc[:, :8] ** 2).where(data.isna()).stack().mean()
    assert error < 0.6 * ((data.mean() - whole()).iloc[:, :8] ** 2).where(data.isna()).stack().mean()


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_rows_of_the_fit_and_the_same_rows_as_new_ones_agree(na, tmp_path):
    data = gapped()
    fit = sp.spca(data, 2, 4, na=na, scale=True, effort="quick")
    pd.testing.assert_frame_equal(fit.transform(data, na=na), fit.scores, check_exact=True)
    pd.testing.assert_frame_equal(fit.diagnostics(data, na=na), fit.diagnostics(), check_exact=True)
    pd.testing.assert_frame_equal(fit.augment(data, na=na), fit.augment(), check_exact=True)
    assert fit.augment()[list(data)].isna().equals(data.isna())
    fit.save(tmp_path / "a.spca")
    kept = sp.load(tmp_path / "a.spca")
    pd.testing.assert_frame_equal(kept.scores, fit.scores, check_exact=True)
    pd.testing.assert_frame_equal(kept.transform(data, na=na), fit.scores, check_exact=True)
    assert str(kept) == str(fit)
    for twin in (copy.deepcopy(fit), pickle.loads(pickle.dumps(fit))):
        pd.testing.assert_frame_equal(twin.transform(data, na=na), fit.scores, check_exact=True)


@pytest.mark.slow  # pictures
@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_the_page_tells_of_gaps(na, tmp_path):
    """With rows that have no scores or distances among those that are drawn."""
    sp.spca(gapped(), 2, 4, na=na, effort="quick").report(tmp_path / "a.html")
    assert "of the values" in (tmp_path / "a.html").read_text()


def test_a_score_of_available_cases_needs_its_own_variables_only():
    data = gapped()
    fit = sp.spca(data, 2, 4, na="pairwise", effort="quick")
    for name in fit.loadings:
        own = fit.loadings.index[fit.loadings[name] != 0]
        assert fit.scores[name].isna().equals(data[own].isna().any(axis=1))
    assert fit.diagnostics()["Q"].isna().equals(data.isna().any(axis=1))
    complete = data.dropna()
    pd.testing.assert_frame_equal(fit.transform(complete), fit.scores.loc[complete.index])


def test_variances_allow_for_what_was_not_measured():
    """The components' share is that of S; conditional means alone vary less than their scores would have."""
    fit = sp.spca(gapped(0.3), 2, 4, na="em", effort="quick")
    assert (fit.scores.var() < fit.variance["score variance"]).all()
    assert fit.measure("pev") < 1.0


def test_own_centre_and_scale_and_units():
    data = gapped()
    one = sp.spca(data, 2, 4, na="em", scale=np.full(11, 4.0), effort="quick")
    two = sp.spca(data, 2, 4, na="em", effort="quick")
    np.testing.assert_allclose(one.loadings, two.loadings, atol=1e-12)
    np.testing.assert_allclose(
        one.variance["score variance"] * 16, two.variance["score variance"], rtol=1e-12
    )
    centre = np.zeros(11)
    about = sp.spca(data, 2, 4, na="em", center=centre, effort="quick")
    moved = sp.spca(data, 2, 4, na="em", center=False, effort="quick")
    np.testing.assert_allclose(about.loadings, moved.loadings, atol=1e-14)
    large = sp.spca(data * 1e140, 2, 4, na="em", scale=True, effort="quick")
    np.testing.assert_allclose(large.loadings, sp.spca(data, 2, 4, na="em", scale=True).loadings, atol=1e-12)


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_weights_count_rows(na):
    data, w = gapped(), np.random.default_rng(5).integers(0, 3, 60)
    weighted = sp.spca(data, 2, 4, na=na, weights=w, effort="quick")
    repeated = sp.spca(data.loc[data.index.repeat(w)], 2, 4, na=na, effort="quick")
    np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-9)
    np.testing.assert_allclose(weighted.variance, repeated.variance, rtol=1e-9)


# --- draws of rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_draws_estimate_missing_values_again(na, tmp_path):
    """A draw with all rows once has the covariance matrix of the fit; others that of a fit of the same rows.

    1e-3: the EM of a draw begins with the model of the fit, and both end within 1e-8 of the likelihood.
    """
    from spcastat.assess.draws import sampler_of

    data = gapped()
    fit = sp.spca(data, 2, 4, na=na, scale=True, effort="quick")
    source = source_of(data, na=na, scale=True)
    sampler = sampler_of(source, False, None, "bootstrap()")
    every = np.arange(11)
    np.testing.assert_allclose(sampler.whole().block(every), source.op.block(every), atol=1e-3)
    rng = np.random.default_rng(4)
    rows = data.iloc[sampler.groups.bootstrap(np.random.default_rng(4))[0]]
    again = source_of(rows, na=na, scale=True).op
    np.testing.assert_allclose(sampler.bootstrap(rng).block(every), again.block(every), atol=1e-3)
    table = fit.bootstrap(20, rng=0).conf_int()
    own = table[table["estimate"] != 0]
    assert own["selected"].min() > 0.5
    fit.save(tmp_path / "a.spca")
    given = sp.load(tmp_path / "a.spca").bootstrap(20, rng=0, data=data).conf_int()
    pd.testing.assert_frame_equal(given, table, rtol=1e-6)
    with pytest.raises(errors.OptionError, match="permutes values"):
        fit.test_loadings(9)


def test_intervals_are_wider_than_those_of_filled_rows():
    """Filled rows are taken for measured: their draws have too little variance, and so do their intervals."""
    fit = sp.spca(gapped(0.3), 2, 4, na="em", effort="quick")
    filled = sp.spca(fit.imputed, 2, 4, effort="quick")
    own, other = fit.bootstrap(60, rng=0).conf_int(), filled.bootstrap(60, rng=0).conf_int()
    wide = own.loc[own["estimate"] != 0, "std_error"].mean()
    assert wide > other.loc[other["estimate"] != 0, "std_error"].mean()


# --- formulas and columns of other types ------------------------------------------------------------


def test_a_term_is_missing_where_a_column_in_it_is():
    data = gapped()
    data["site"] = pd.Categorical(np.resize(["a", "b", "c"], 60))
    data.loc["r3", "site"] = np.nan
    formula = "~ exp(v0 / 9) + v1 + v2 + v3 + v4:v5 + scale(v6) + site"
    fit = sp.spca(data, 2, 4, formula=formula, categorical="dummy", na="em", scale=True, effort="quick")
    imputed = fit.imputed
    expected = pd.DataFrame(
        {
            "exp(v0 / 9)": np.exp(data.v0 / 9),
            "v1": data.v1,
            "v4:v5": data.v4 * data.v5,
            "scale(v6)": (data.v6 - data.v6.mean()) / data.v6.std(),
            "site[b]": (data.site == "b").astype(float).where(data.site.notna()),
        }
    )
    for name, column in expected.items():
        there = column.notna()
        np.testing.assert_allclose(imputed.loc[there, name], column[there], rtol=1e-12, atol=1e-12)
    assert 0 < imputed.loc["r3", "site[b]"] < 1
    pd.testing.assert_frame_equal(fit.transform(data, na="em"), fit.scores, check_exact=True)
    alone = data.loc[["r3"]].assign(v1=np.nan, site=None)
    assert fit.transform(alone, na="em").notna().all(axis=None)
    with pytest.raises(errors.NewDataError, match="levels that the fit has not seen: 'x'"):
        fit.transform(data.assign(site="x"), na="em")


def test_columns_of_pandas_own_types():
    data = gapped()
    rng = np.random.default_rng(1)
    data["yes"] = pd.array(rng.choice(np.array([True, False, None], dtype=object), 60), dtype="boolean")
    data["count"] = pd.array(rng.choice(np.array([1, 2, 7, None], dtype=object), 60), dtype="Int64")
    imputed = sp.spca(data, 2, 5, na="em", scale=True, effort="quick").imputed
    for name in ("yes", "count"):
        there = data[name].notna()
        np.testing.assert_array_equal(imputed.loc[there, name], data.loc[there, name].astype(float))
        assert imputed[name].notna().all()


# --- paths, refusals, the faces ---------------------------------------------------------------------


def test_a_path_is_its_fits():
    data = gapped()
    path = sp.spca_path(data, 2, cards=[2, 4], na="em", k_em=3, scale=True)
    alone = sp.spca(data, 2, 4, na="em", k_em=3, scale=True, effort="quick")
    np.testing.assert_allclose(path[4].loadings, alone.loadings, atol=1e-10)
    assert "of rank 3" in " ".join(str(path[2]).split())
    assert "na='em', k_em=3" in path[4].call


def test_what_was_moved_is_told():
    """Many gaps in few rows: no sample has such correlations."""
    fit = sp.spca(gapped(0.45, n=25, seed=2), 2, 4, na="pairwise", scale=True, effort="quick")
    words = " ".join(str(fit).split())
    assert "no sample has such correlations (smallest eigenvalue -" in words
    assert "so the nearest correlation matrix is used: it differs by" in words
    assert max(map(len, str(fit).splitlines())) <= 80
    for text in (fit.summary().as_latex(), fit.summary().as_html(), fit.summary().as_markdown()):
        assert "nearest" in text


@pytest.mark.parametrize(
    ("data", "how", "error", "words"),
    [
        ("rows", {"na": "omit"}, errors.OptionError, "'raise', 'drop', 'em', 'pairwise'"),
        ("rows", {"na": "em", "method": "spcagrid"}, errors.OptionError, "works on the rows themselves"),
        (
            "rows",
            {"na": "pairwise", "method": "rspca-l0"},
            errors.OptionError,
            "works on the rows themselves",
        ),
        ("rows", {"na": "em", "k_em": 11}, errors.OptionError, "at least 1 and at most 10"),
        ("rows", {"na": "drop", "k_em": 2}, errors.OptionError, "rank of the model of na='em'"),
        ("chunks", {"na": "em"}, errors.OptionError, "come in chunks"),
        ("sparse", {"na": "pairwise"}, errors.OptionError, "sparse data"),
        ("infinite", {"na": "em"}, errors.InfiniteValuesError, "1 infinite value"),
        ("empty column", {"na": "em"}, errors.MissingValuesError, "1 column without any value: 'v2'"),
        ("empty row", {"na": "em"}, errors.MissingValuesError, "1 row without any value: 'r4'"),
        ("constant", {"na": "pairwise"}, errors.ConstantColumnError, "do not vary: 'v2'"),
    ],
)
def test_refusals(data, how, error, words):
    import scipy.sparse as ss

    rows = gapped()
    if data == "infinite":
        rows.loc["r1", "v1"] = np.inf
    if data == "empty column":
        rows["v2"] = np.nan
    if data == "empty row":
        rows.loc["r4"] = np.nan
    if data == "constant":
        rows["v2"] = rows["v2"].where(rows["v2"].isna(), 1.0)
    given = {"chunks": [rows, rows], "sparse": ss.csr_array(whole().to_numpy())}.get(data, rows)
    with pytest.raises(error, match=words):
        sp.spca(given, 2, 4, **how)


def test_new_rows_need_a_model_and_a_value(tmp_path):
    data = gapped()
    with pytest.raises(errors.OptionError, match="needs the model of missing values of a fit with na='em'"):
        sp.spca(whole(), 2, 4).transform(data, na="em")
    fit = sp.spca(data, 2, 4, na="em", effort="quick")
    with pytest.raises(errors.MissingValuesError, match="1 row without any value: 'r0'"):
        fit.transform(data.head(2).assign(**dict.fromkeys(data, np.nan)).head(1), na="em")
    with pytest.raises(errors.OptionError, match="na='em'"):
        _ = sp.spca(whole(), 2, 4).imputed
    fit.save(tmp_path / "a.spca")
    with pytest.raises(errors.NoRowsError, match="imputed needs the data"):
        _ = sp.load(tmp_path / "a.spca").imputed


def test_a_covariance_matrix_has_no_missing_values():
    with pytest.raises(errors.UnknownOptionError, match="missing values are of rows"):
        sp.spca_cov(whole().cov(), 2, 4, na="em")


def test_the_command(tmp_path, capsys):
    data = gapped()
    data.to_csv(tmp_path / "a.csv")
    for na in ("em", "pairwise"):
        given = ["--k", "2", "--card", "4", "--na", na, "--save", f"{tmp_path}/{na}.spca"]
        assert cli.main(["fit", f"{tmp_path}/a.csv", *given]) == 0
        assert "% of the values" in capsys.readouterr().out
        assert cli.main(["transform", f"{tmp_path}/{na}.spca", f"{tmp_path}/a.csv", "--na", na]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 61
        fit = sp.spca(data, 2, 4, na=na)
        gaps = sum(line.count(",,") + line.endswith(",") for line in lines[1:])
        assert gaps == fit.scores.isna().to_numpy().sum()
    given = ["--k", "2", "--cards", "2,4", "--na", "em", "--k-em", "3"]
    assert cli.main(["choose", f"{tmp_path}/a.csv", *given]) == 0
    assert cli.main(["fit", "pitprops", "--k", "2", "--card", "4", "--na", "em"]) == 1
    assert "--na needs the rows of the data" in capsys.readouterr().err
