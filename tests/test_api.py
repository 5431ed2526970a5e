"""The public functions: choice of the method, warnings that point at the caller, and options of all sorts."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import ConvergenceWarning, DataError, OptionError, UnknownOptionError


def rows(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((n, 6)) * [1, 2, 3, 4, 5, 6], columns=list("abcdef"))


def test_the_method_follows_from_what_is_given():
    X = rows()
    assert sp.spca(X, 2, 3).method == "joint"
    assert sp.spca(X, 2, card=3).method == "joint"
    assert sp.spca(X, 2, variance=0.5).method == "joint"
    assert sp.spca(X, 2, t=1.2).method == "bcd-l1"
    assert sp.spca(X, 2, 3, nonneg=True).method == "bcd-l0"  # the search has no nonnegative form
    default = sp.spca(X, 2)
    assert default.method == "joint"
    assert (default.options["variance"], default.options["promise"]) == (0.9, "every")
    np.testing.assert_array_equal(default.loadings, sp.spca(X, 2, variance=0.9).loadings)
    assert sp.spca_cov(X.cov(), 2).method == "joint"


def test_what_the_default_does_not_have_is_refused_with_the_methods_that_have_it():
    X = rows()
    for option in ({"n_init": 5}, {"max_iter": 10}, {"tol": 1e-3}):
        with pytest.raises(
            UnknownOptionError, match=r"methods that have it: 'bcd-l0', .*effort= says how long"
        ):
            sp.spca(X, 2, 3, **option)
    with pytest.raises(UnknownOptionError, match=r"'joint', the default, has no option 'penalty'.*'rsvd-l1'"):
        sp.spca(X, 2, penalty=0.1)
    with pytest.raises(UnknownOptionError, match=r"'joint', the default, has no option 'total'.*'alspca'"):
        sp.spca(X, 2, total=5)
    with pytest.raises(UnknownOptionError, match=r"'joint', the default, has no option 'nonneg'.*'bcd-l0'"):
        sp.spca(X, 2, variance=0.9, nonneg=True)
    for name in ("search", "patience"):
        with pytest.raises(UnknownOptionError, match=f"'{name}' is not an option of any method"):
            sp.spca(X, 2, 3, **{name: "joint"})
    with pytest.raises(
        UnknownOptionError, match="'greedy' has no option 'effort'; methods that have it: 'joint'"
    ):
        sp.spca(X, 2, 3, method="greedy", effort="quick")
    with pytest.raises(
        UnknownOptionError, match="has no option 'objective'; methods that have it: 'joint', 'bcd"
    ):
        sp.spca(X, 2, 3, method="greedy", objective="pev")
    with pytest.raises(
        OptionError, match="effort='slow' is not known; allowed are 'quick', 'auto', 'thorough'"
    ):
        sp.spca(X, 2, 3, effort="slow")
    with pytest.raises(OptionError, match="promise='every' was given with card="):
        sp.spca(X, 2, 3, promise="every")
    with pytest.raises(OptionError, match="promise='some' is not known; allowed are 'every', 'total'"):
        sp.spca(X, 2, variance=0.9, promise="some")
    with pytest.raises(OptionError, match="objective='pev' was given with variance="):
        sp.spca(X, 2, variance=0.9, objective="pev")


def test_methods_are_listed():
    table = sp.methods()
    assert isinstance(table, pd.DataFrame)
    assert {"bcd-l0", "bcd-l1", "greedy", "controlled", "pca"} <= set(table["name"])
    assert table.notna().all().all()
    assert table["name"].is_unique
    assert table.set_index("name").at["spco", "function"] == "spco"


# --- warnings -------------------------------------------------------------------------------------


def test_max_iter_warns_at_the_callers_line():
    X = np.random.default_rng(1).standard_normal((30, 8)) @ np.random.default_rng(2).standard_normal((8, 8))
    for call in (
        lambda: sp.spca(X, 3, 3, method="bcd-l0", max_iter=1),
        lambda: sp.spca_cov(np.cov(X, rowvar=False), 3, 3, method="bcd-l0", max_iter=1),
        lambda: sp.spca(X, 3, t=1.5, max_iter=2),
    ):
        with pytest.warns(ConvergenceWarning, match="max_iter") as record:
            fit = call()
        assert len(record) == 1
        assert record[0].filename == __file__
        assert not fit.converged
        assert fit.status == "max_iter"
        assert fit.glance()["n_iter"].item() <= 2
        assert "max_iter" in fit.summary().as_text(200)
        with pytest.warns(ConvergenceWarning) as again:
            fit.refit(max_iter=1)
        assert again[0].filename == __file__


def test_a_covariance_matrix_given_as_data_is_refused():
    S = rows().cov()
    for data in (S, S.to_numpy()):
        with pytest.raises(DataError, match="spca_cov"):
            sp.spca(data, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.spca(S.reset_index(drop=True), 2, 3, effort="quick")
        sp.spca(S.assign(a=0.5), 2, 3, effort="quick")
        sp.spca(rows().iloc[:6], 2, 3, effort="quick")


# --- input of all sorts ---------------------------------------------------------------------------


def test_containers_agree():
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")

    X = rows()
    plain = sp.spca(X, 2, 3, effort="quick")
    others = [X.to_numpy(), sps.csr_matrix(X.to_numpy()), sps.coo_array(X.to_numpy())]
    others += [pl.DataFrame({c: X[c].to_numpy() for c in X}), pa.table({c: X[c].to_numpy() for c in X})]
    others += [X.astype("Float64"), X.astype("double[pyarrow]"), np.asfortranarray(X.to_numpy())]
    for data in others:
        loadings = sp.spca(data, 2, 3, effort="quick").loadings
        loadings = loadings.drop("variable") if isinstance(loadings, pl.DataFrame) else loadings
        np.testing.assert_allclose(loadings, plain.loadings, atol=1e-10)


def test_single_precision():
    X = rows().astype(np.float32)
    np.testing.assert_allclose(sp.spca(X, 2, 3).loadings, sp.spca(X.astype(float), 2, 3).loadings, atol=1e-12)


def test_booleans_count_as_numbers():
    X = rows().assign(flag=lambda d: d["a"] > 0)
    as_number = X.assign(flag=X["flag"].astype(float))
    fit, same = (sp.spca(data, 2, 3, effort="quick") for data in (X, as_number))
    np.testing.assert_array_equal(fit.loadings, same.loadings)
    assert sp.spca(rows().to_numpy() > 0, 2, 3, effort="quick").card.tolist() == [3, 3]


@pytest.mark.parametrize(
    "card",
    [
        3,
        np.int64(3),
        np.uint8(3),
        [3, 3],
        (3, np.int32(3)),
        np.array([3, 3]),
        pd.Series([3, 3], index=[5, 9]),
    ],
)
def test_cardinalities_of_all_sorts(card):
    assert sp.spca(rows(), 2, card, effort="quick").card.tolist() == [3, 3]


def test_cardinality_in_an_array_without_dimensions():
    # Either taken as the number it holds, or refused as a cardinality: not an error from NumPy.
    with contextlib.suppress(sp.errors.CardinalityError):
        assert sp.spca(rows(), 2, np.array(3), effort="quick").card.tolist() == [3, 3]


@pytest.mark.parametrize("card", [{"PC1": 4, "PC2": 1}, {2: 1, 1: 4}, {np.int64(1): 4, "PC2": 1}])
def test_cardinalities_by_name(card):
    assert sp.spca(rows(), 2, card, effort="quick").card.tolist() == [4, 1]


def test_k_of_any_whole_type():
    for k in (2, np.int64(2), np.uint8(2)):
        assert sp.spca(rows(), k, 3, effort="quick").loadings.shape == (6, 2)


@pytest.mark.parametrize(
    ("options", "mean", "sd"),
    [
        ({"center": False}, 0.0, 1.0),
        ({"center": np.arange(6.0)}, np.arange(6.0), 1.0),
        ({"scale": np.arange(1.0, 7.0)}, None, np.arange(1.0, 7.0)),
        (
            {"center": list(range(6)), "scale": pd.Series(range(6, 0, -1), index=list("fedcba"))},
            np.arange(6.0),
            np.arange(1.0, 7.0),
        ),
    ],
)
def test_center_and_scale_of_ones_own(options, mean, sd):
    X = rows() + 2.0
    Y = (X - (X.mean() if mean is None else mean)) / sd
    S = Y.T @ Y / (len(X) - 1)
    for data in (X, sps.csr_array(X.to_numpy())):
        if sps.issparse(data) and isinstance(options.get("scale"), pd.Series):
            continue  # labels to align by are the frame's
        fit = sp.spca(data, 2, 3, **options, effort="quick")
        np.testing.assert_allclose(fit.loadings, sp.spca_cov(S, 2, 3, effort="quick").loadings, atol=1e-9)
        assert fit.total_variance == pytest.approx(np.trace(S), rel=1e-12)


def test_constant_and_repeated_columns():
    X = rows().assign(constant=0.1, again=lambda d: d["f"])
    for options in ({"card": 3}, {"card": 3, "method": "greedy"}, {"variance": 0.9}):
        fit = sp.spca(X, 2, **options)
        assert (fit.loadings.loc["constant"] == 0).all()
        assert fit.loadings.loc["again", "PC1"] == pytest.approx(fit.loadings.loc["f", "PC1"], rel=1e-9)


def test_frames_are_not_changed():
    X = rows().assign(flag=lambda d: d["a"] > 0, whole=np.arange(40))
    X["nullable"] = pd.array(range(40), dtype="Int64")
    before, attrs = X.copy(deep=True), dict(X.attrs)
    fit = sp.spca(X, 2, 3, scale=True, weights=np.arange(40.0), effort="quick")
    scores = fit.scores
    scores.iloc[:] = 0.0
    fit.transform(X)
    fit.summary()
    fit.refit(center=False)
    pd.testing.assert_frame_equal(X, before, check_exact=True)
    assert X.attrs == attrs
    S = rows().cov()
    held = S.copy()
    sp.spca_cov(S, 2, 3, method="bcd-l0", n_init=3).refit(card=1)
    pd.testing.assert_frame_equal(S, held, check_exact=True)


def test_a_generator_gives_what_its_seed_gives():
    X = rows()
    options = {"k": 2, "card": 3, "method": "bcd-l0", "n_init": 5}
    by_seed = sp.spca(X, rng=11, **options)
    by_generator = sp.spca(X, rng=np.random.default_rng(11), **options)
    np.testing.assert_array_equal(by_seed.loadings, by_generator.loadings)
    np.random.seed(1)  # noqa: NPY002 - the global state must not matter
    np.testing.assert_array_equal(sp.spca(X, **options).loadings, sp.spca(X, **options).loadings)
    np.testing.assert_array_equal(sp.spca(X, 2, 3).loadings, sp.spca(X, 2, 3).loadings)
