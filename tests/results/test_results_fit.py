"""The result: labels, scores, variances, new data, columns, and each method written out."""

from __future__ import annotations

import inspect
import traceback
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import ShapeError
from spcastat.fit.call import ARGUMENTS
from spcastat.fit.method_table import SOLVERS

METHODS = [
    ("bcd-l0", {"card": 3}),
    ("bcd-l1", {"card": 4, "tol": 1e-4}),
    ("greedy", {"card": 3}),
    ("controlled", {}),
    ("pca", {}),
]


def rows(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, 6)) * [1, 1, 2, 3, 1, 1] + [5, 0, -3, 2, 1, 100]
    return pd.DataFrame(X, columns=list("abcdef"), index=[f"r{i}" for i in range(n)])


def twins() -> tuple[pd.DataFrame, Any]:
    """Return rows and a fit with the same component twice, which no method is known to give by itself."""
    X = rows()
    fit = sp.spca(X, 2, 3, method="bcd-l0")
    fit._state.V[:, 1] = fit._state.V[:, 0]
    return X, fit


# --- labels and scores ----------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.parametrize("scale", [False, True])
def test_loadings_and_scores(method, options, scale):
    X = rows()
    fit = sp.spca(X, 3, method=method, scale=scale, **options)
    assert list(fit.loadings.columns) == ["PC1", "PC2", "PC3"]
    assert fit.loadings.index.equals(X.columns)
    np.testing.assert_allclose((fit.loadings**2).sum(), 1.0, atol=1e-14)
    assert fit.scores.index.equals(X.index)
    Y = (X - X.mean()) / (X.std() if scale else 1.0)
    np.testing.assert_allclose(fit.scores, Y @ fit.loadings, atol=1e-12)
    np.testing.assert_allclose(fit.scores.var(), fit.variance["score variance"], rtol=1e-11)
    np.testing.assert_allclose(fit.score_correlations, np.corrcoef(fit.scores, rowvar=False), atol=1e-11)
    np.testing.assert_allclose(fit.loadings.T @ fit.loadings, fit.loadings.T @ fit.loadings, atol=1e-14)
    assert fit.method == method
    assert (fit.card == (fit.loadings != 0).sum()).all()
    assert fit.converged
    assert fit.status in ("converged", "exact")
    assert fit.glance()["n_iter"].item() >= 1


@pytest.mark.parametrize(
    "columns",
    [
        range(6),
        [10, 20, 30, 40, 50, 60],
        pd.MultiIndex.from_product([["u", "w"], [1, 2, 3]]),
        pd.date_range("2020-01-01", periods=6),
        [1, "1", (2, 3), 2.5, None, "x"],
        ["a <b>", "a & b", "50 %", "x_1", "$", "\\"],
    ],
)
def test_labels_of_every_kind_are_kept(columns, capsys):
    X = rows().set_axis(columns, axis=1)
    fit, cov = sp.spca(X, 2, 3, method="bcd-l0"), sp.spca_cov(X.cov(), 2, 3, method="bcd-l0")
    for result in (fit, cov):
        assert result.loadings.index.equals(X.columns)
        assert type(result.loadings.index) is type(X.columns)
        summary = result.summary()
        writers = (summary.as_text, summary.as_html, summary.as_latex, summary.as_markdown)
        for text in (write(notes=True) for write in writers):
            assert "bcd-l0" in text
        print(result.summary(tables="loadings", digits=2, cut=0.1, sort=True))
    assert capsys.readouterr().out.count("PC1") == 2
    np.testing.assert_allclose(fit.transform(X), fit.scores, atol=1e-12)


# --- variances ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_variance_table_by_its_formulas(method, options):
    X = rows()
    fit = sp.spca(X, 3, method=method, **options)
    Y = ((X - X.mean()) / np.sqrt(len(X) - 1)).to_numpy()
    V = fit.loadings.to_numpy()
    total = (Y**2).sum()
    adjusted = np.diag(np.linalg.qr(Y @ V)[1]) ** 2
    pca = np.cumsum(np.linalg.svd(Y, compute_uv=False)[:3] ** 2) / total
    pev, least = [], []
    for k in (1, 2, 3):
        Q, T = np.linalg.qr(V[:, :k])[0], np.linalg.qr(Y @ V[:, :k])[0]
        pev.append(((Y @ Q) ** 2).sum() / total)
        least.append(((T.T @ Y) ** 2).sum() / total)
    table = fit.variance
    assert list(table.index) == ["PC1", "PC2", "PC3"]
    expected = {
        "cardinality": (V != 0).sum(axis=0),
        "score variance": ((Y @ V) ** 2).sum(axis=0),
        "adjusted variance": adjusted,
        "share of total": adjusted / total,
        "cumulative adjusted": np.cumsum(adjusted) / total,
        "cumulative PEV": pev,
        "cumulative least squares": least,
        "cumulative PCA": pca,
    }
    assert [name for name in table.columns if name in expected] == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-10, err_msg=name)
    for name in ("cumulative adjusted", "cumulative PEV", "cumulative least squares"):
        assert (table[name] <= pca + 1e-12).all()
    assert fit.total_variance == pytest.approx(total, rel=1e-12)
    assert fit.measure("pev") == pytest.approx(pev[-1])
    assert fit.measure("rre") == pytest.approx(np.sqrt(1 - pev[-1]))
    assert fit.measure("adjusted") == pytest.approx(adjusted.sum() / total)
    assert fit.measure("relative_adjusted") == pytest.approx(adjusted.sum() / total / pca[-1])
    assert fit.measure("least_squares") == pytest.approx(least[-1])


def test_weights_are_repeated_rows():
    X = rows()
    w = np.random.default_rng(1).integers(0, 4, len(X))
    repeated = X.loc[np.repeat(X.index, w)].reset_index(drop=True)
    for options in (
        {"card": 3},
        {"card": 3, "method": "bcd-l0", "scale": True, "tol": 1e-14},
        {"variance": 0.8, "method": "controlled"},
        {"method": "pca"},
        {"center": False, "card": 2, "effort": "quick"},
    ):
        weighted, plain = sp.spca(X, 2, weights=w, **options), sp.spca(repeated, 2, **options)
        np.testing.assert_allclose(weighted.loadings, plain.loadings, atol=1e-9)
        np.testing.assert_allclose(weighted.variance, plain.variance, rtol=1e-9)
        assert weighted.scores.index.equals(X.index)  # rows of weight zero have scores too
        np.testing.assert_allclose(
            weighted.scores.loc[np.repeat(X.index, w)].to_numpy(), plain.scores.to_numpy(), atol=1e-9
        )
        sparse = sp.spca(sps.csc_array(X.to_numpy()), 2, weights=w, **options)
        np.testing.assert_allclose(sparse.loadings, plain.loadings, atol=1e-9)


# --- new data -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [False, True, np.arange(1.0, 7.0)])
@pytest.mark.parametrize("center", [True, False, np.arange(6.0)])
def test_transform_and_back(scale, center):
    X = rows()
    fit = sp.spca(X, 3, 4, scale=scale, center=center, method="bcd-l0")
    np.testing.assert_array_equal(fit.transform(X), fit.scores)
    new = X.iloc[:5] * 2
    mean = X.mean() if center is True else 0.0 if center is False else center
    sd = 1.0
    if scale is True:
        sd = np.sqrt(((X - mean) ** 2).sum() / 39)
    elif scale is not False:
        sd = scale
    np.testing.assert_allclose(fit.transform(new), ((new - mean) / sd) @ fit.loadings, atol=1e-11)
    V = fit.loadings.to_numpy()
    T = fit.scores.to_numpy()
    back = fit.inverse_transform(fit.scores)
    expected = (T @ np.linalg.inv(V.T @ V) @ V.T) * np.asarray(sd) + np.asarray(mean)
    np.testing.assert_allclose(back, expected, atol=1e-10)
    assert back.index.equals(X.index)
    assert back.columns.equals(X.columns)
    # PEV is defined by these very rows
    if center is True and scale is False:
        share = 1 - ((X - back) ** 2).sum().sum() / ((X - X.mean()) ** 2).sum().sum()
        assert share == pytest.approx(fit.measure("pev"), rel=1e-12)


def test_one_component_twice():
    # Whatever gave it: nothing may break where V'V is singular.
    X, fit = twins()
    assert np.linalg.matrix_rank(fit.loadings.T @ fit.loadings) == 1
    table = fit.variance
    assert table["adjusted variance"].iloc[1] == pytest.approx(0.0, abs=1e-9 * fit.total_variance)
    for name in ("cumulative adjusted", "cumulative PEV", "cumulative least squares"):
        assert table[name].iloc[1] == pytest.approx(table[name].iloc[0], rel=1e-9)
        assert (table[name] <= table["cumulative PCA"] + 1e-12).all()
    np.testing.assert_allclose(fit.score_correlations, 1.0, atol=1e-12)
    V = fit.loadings.to_numpy()
    back = fit.inverse_transform(fit.scores)
    # least squares: rows of the span whose scores come closest, here exactly
    np.testing.assert_allclose(fit.transform(back), fit.scores, atol=1e-9)
    np.testing.assert_allclose(
        back, fit.scores.to_numpy() @ np.linalg.pinv(V.T @ V) @ V.T + X.mean().to_numpy(), atol=1e-9
    )


# --- refits ---------------------------------------------------------------------------------------


def test_refit_replaces_the_control():
    fit = sp.spca(rows(), 2, 3, method="bcd-l0")
    assert fit.refit(card=[4, 1]).card.tolist() == [4, 1]
    controlled = fit.refit(variance=0.8)
    assert controlled.method == "joint"
    assert controlled.measure("relative_adjusted") >= 0.8 - 1e-9
    back = controlled.refit(card=3)
    assert back.method == "joint"
    np.testing.assert_array_equal(back.loadings, sp.spca(rows(), 2, 3).loadings)
    assert fit.refit(t=1.2).method == "bcd-l1"
    assert sp.spca(rows(), 2, 3, method="greedy").refit(variance=0.5).method == "joint"
    assert sp.spca(rows(), 2, 3, method="greedy").refit(card=2).method == "greedy"


def test_refit_keeps_the_rest():
    X = rows()
    fit = sp.spca(X, 2, 3, scale=True, formula="~ a + b + c + d", weights=np.arange(40) % 3, method="bcd-l0")
    changed = fit.refit(card=2)
    assert changed.loadings.index.tolist() == list("abcd")
    np.testing.assert_array_equal(
        changed.loadings,
        sp.spca(
            X, 2, 2, scale=True, formula="~ a + b + c + d", weights=np.arange(40) % 3, method="bcd-l0"
        ).loadings,
    )
    np.testing.assert_array_equal(
        sp.spca(X, 2, 3, method="bcd-l0").refit(scale=True).loadings,
        sp.spca(X, 2, 3, scale=True, method="bcd-l0").loadings,
    )
    assert sp.spca(X, 2, 3, method="bcd-l0").refit(k=3).loadings.shape == (6, 3)
    cov = sp.spca_cov(X.cov(), 2, 3, mean=X.mean(), n_obs=40, method="bcd-l0").refit(card=1)
    assert cov.card.tolist() == [1, 1]
    assert cov.transform(X).shape == (40, 2)


# --- covariance fits ------------------------------------------------------------------------------


def test_a_covariance_fit_with_mean_and_scale_transforms():
    X = rows()
    from_cov = sp.spca_cov(X.cov(), 2, 3, mean=X.mean(), method="greedy")
    np.testing.assert_allclose(from_cov.transform(X), sp.spca(X, 2, 3, method="greedy").scores, atol=1e-9)
    reversed_scale = X.std()[::-1]  # aligned by label
    from_cor = sp.spca_cov(X.corr(), 2, 3, mean=X.mean(), sd=reversed_scale, method="greedy")
    scaled = sp.spca(X, 2, 3, scale=True, method="greedy")
    np.testing.assert_allclose(from_cor.transform(X), scaled.scores, atol=1e-9)
    np.testing.assert_allclose(
        from_cor.inverse_transform(from_cor.transform(X)), scaled.inverse_transform(scaled.scores), atol=1e-8
    )


# --- Groups and colours by the name of a column of the fitted data --------------------------------


@pytest.fixture(scope="module")
def df() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(24, 4)), columns=list("abcd"))
    return frame.assign(site=pd.Categorical(list("xyz") * 8, ["z", "y", "x", "none"]), age=np.arange(24.0))


@pytest.fixture(scope="module")
def fit(df) -> sp.SpcaResult:
    return sp.spca(df, k=2, card=3, formula="~ a + b + c + d", effort="quick")


def test_a_text_names_a_column_that_took_part_or_not(fit, df):
    by_name = fit.biplot_data(groups="site").points["group"]
    assert by_name.tolist() == df["site"].tolist()
    assert list(by_name.cat.categories) == ["z", "y", "x"]  # the order of the categorical, none empty
    np.testing.assert_array_equal(fit.biplot_data(color="age").points["color"], df["age"])
    for plot in (fit.biplot, fit.plot_scores, fit.plot_diagnostics):
        legend = plot(groups="site").get_legend()
        assert legend.get_title().get_text() == "site"
        assert [text.get_text() for text in legend.get_texts()] == ["z", "y", "x"]


def test_rows_that_were_left_out_have_no_group(df):
    holes = df.copy()
    holes.loc[[2, 5], "a"] = np.nan
    fit = sp.spca(holes, k=2, card=3, formula="~ a + b + c + d", na="drop", effort="quick")
    assert fit.biplot_data(groups="site").points["group"].tolist() == df["site"].drop([2, 5]).tolist()
    twice = sp.spca(holes.set_axis([0] * 24), k=2, card=3, formula="~ a + b + c + d", na="drop")
    with pytest.raises(ShapeError, match="row labels are not unique"):
        twice.biplot(groups="site")


# --- Names of other programs are answered by ours --------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("n_components", "number of components is k="),
        ("ncomp", "number of components is k="),
        ("rank.", "number of components is k="),
        ("scale.", "scale=True"),
        ("cor", "scale=True"),
        ("retx", "fit.scores"),
        ("covmat", "spca_cov"),
        ("dropna", "na="),
        ("na.action", "na="),
        ("subset", "df.loc"),
        ("random_state", "seed is rng="),
        ("seed", "seed is rng="),
        ("keepX", "card="),
        ("keep", "card="),
        ("sparsity", "card="),
        ("alpha", "card=.*penalty="),
        ("covariates", "formula="),
        ("n_jobs", "bootstrap"),
    ],
)
def test_arguments_of_other_programs_are_answered(name, words):
    data = sp.datasets.make_hastie(20)
    for call in (lambda **one: sp.spca(data, **one), lambda **one: sp.spca_path(data, **one)):
        with pytest.raises(sp.errors.UnknownOptionError, match=rf"has no argument {name}=; .*{words}"):
            call(**{name: 3})


def test_no_answer_hides_an_option_that_a_method_has():
    options = {option for method in SOLVERS.values() for option in method.options}
    assert not set(ARGUMENTS) & options
    own = set(inspect.signature(sp.spca).parameters)
    assert not own & set(ARGUMENTS)


def test_a_call_without_k_says_what_k_is():
    with pytest.raises(sp.errors.ComponentsError, match=r"given no k, .*choose\(data\) chooses"):
        sp.spca(sp.datasets.pitprops_sample())
    with pytest.raises(TypeError, match=r"spca_cov\(\) was given no k; call it as spca_cov\(S, k\)\."):
        sp.spca_cov(sp.datasets.load_pitprops())


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("scree", "Did you mean fit.screeplot()?\n"),
        ("plot_variance", "Did you mean fit.screeplot()?\n"),
        ("loading", "Did you mean fit.loadings?\n"),
        ("_scors", "Did you mean 'scores'?\n"),
        ("zzz", "'zzz'.\n"),
    ],
)
def test_an_attribute_that_does_not_exist_is_answered_once(name, end):
    """Python appends a suggestion of its own to errors that name their object, here also of private names."""
    fit = sp.spca(sp.datasets.load_judges(), 2, card=3)
    with pytest.raises(AttributeError) as caught:
        getattr(fit, name)
    assert traceback.format_exception(caught.value)[-1].endswith(end)
