"""The scikit-learn transformer: its contract, and that it is the same fit."""

from __future__ import annotations

import builtins
import importlib
import inspect
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp

pytest.importorskip("sklearn")

from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from spcastat.errors import DataError, MissingValuesError, OptionError, WeightsError
from spcastat.sklearn import PrincipalVariables, SparsePCA


@pytest.fixture(scope="module")
def rows():
    return sp.datasets.pitprops_sample(60)


# Of estimators, those that refuse and those that take gaps are checked differently.
@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([SparsePCA(), SparsePCA(na="em", card=1)])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [SparsePCA(card=1, scale=True), SparsePCA(n_components=1, method="pca"), SparsePCA(na="pairwise")]
)
def test_the_contract_of_scikit_learn_with_other_parameters(estimator, check):
    check(estimator)


def test_gaps_are_taken(rows):
    holes = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.1)
    model = SparsePCA(n_components=2, card=4, na="em", k_em=3).fit(holes)
    fit = sp.spca(holes, 2, 4, na="em", k_em=3)
    np.testing.assert_array_equal(model.transform(holes), fit.scores)
    assert 0 < model.score(holes) < 1
    assert np.isnan(SparsePCA(card=4, na="pairwise").fit_transform(holes)).any()
    with pytest.raises(ValueError, match="NaN"):
        SparsePCA().fit(holes)
    with pytest.raises(DataError, match=r"1 feature\(s\).*a minimum of 2"):  # "em" explains some by others
        SparsePCA(n_components=1, card=1, na="em").fit(rows.iloc[:, :1])


def test_it_is_the_same_fit(rows):
    model = SparsePCA(n_components=2, card=[7, 4], scale=True).fit(rows)
    fit = sp.spca(rows, k=2, card=[7, 4], scale=True)
    np.testing.assert_array_equal(model.components_.T, fit.loadings)
    np.testing.assert_array_equal(model.transform(rows), fit.transform(rows))
    np.testing.assert_array_equal(model.explained_variance_, fit.variance["adjusted variance"])
    np.testing.assert_array_equal(model.explained_variance_ratio_, fit.variance["share of total"])
    assert list(model.result_.loadings.index) == list(rows.columns)
    # the definition: the centred and scaled rows times the loadings, to rounding
    direct = (rows.to_numpy() - model.mean_) / model.scale_ @ model.components_.T
    np.testing.assert_allclose(model.transform(rows), direct, atol=1e-12)


def test_score_is_pev_and_needs_the_mean_of_the_fit(rows):
    model = SparsePCA(n_components=3, card=5).fit(rows)
    assert model.score(rows) == pytest.approx(model.result_.measure("pev"), rel=1e-10)
    assert model.score(rows + 10) != pytest.approx(model.score(rows), rel=1e-3)


def test_sparse_and_dense_agree(rows):
    X = np.where(np.abs(rows) > 0.5, rows, 0.0)
    dense = SparsePCA(n_components=2, card=4).fit(X)
    for kind in (sparse.csr_matrix, sparse.csc_array):
        model = SparsePCA(n_components=2, card=4).fit(kind(X))
        np.testing.assert_allclose(model.transform(kind(X)), dense.transform(X), atol=1e-9)
        assert model.score(kind(X)) == pytest.approx(dense.score(X), rel=1e-9)
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=rows.columns)
    np.testing.assert_allclose(SparsePCA(2, card=4).fit_transform(frame), dense.transform(X), atol=1e-9)


def test_pipeline_and_grid_search(rows):
    y = rows[["topdiam", "length", "ringbut", "bowdist", "whorls"]].sum(axis=1)  # size: PC1
    pipe = make_pipeline(SparsePCA(n_components=2, scale=True), LinearRegression())
    grid = {"sparsepca__card": [1, 7], "sparsepca__objective": [None, "adjusted"]}
    search = GridSearchCV(pipe, grid, cv=3, error_score="raise").fit(rows, y)
    assert search.best_params_["sparsepca__card"] == 7
    assert search.best_score_ > 0.5
    alone = GridSearchCV(SparsePCA(n_components=2), {"card": [1, 13]}, cv=3).fit(rows)
    assert alone.best_params_ == {"card": 13}  # PEV cannot prefer one variable to all


def test_a_pickled_estimator_works_and_leaves_the_data_behind(rows):
    wide = pd.concat([rows] * 50, ignore_index=True)
    model = SparsePCA(n_components=1, card=4).fit(wide)
    text = pickle.dumps(model)
    assert len(text) < wide.to_numpy().nbytes / 2
    again = pickle.loads(text)
    np.testing.assert_array_equal(again.transform(wide), model.transform(wide))
    assert str(again.result_) == str(model.result_)
    assert model.result_.refit(card=3).card.tolist() == [3]  # pickling changed nothing
    with pytest.raises(sp.errors.NoRowsError, match=r"fit again"):
        again.result_.refit(card=3)


def test_without_scikit_learn_the_message_says_what_to_do(monkeypatch):
    real = builtins.__import__

    def absent(name, *rest):
        if name.split(".")[0] == "sklearn":
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "spcastat.sklearn")
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"pip install 'spcastat\[sklearn\]'"):
        importlib.import_module("spcastat.sklearn")


def test_groups_are_drawn_together():
    X, groups = np.random.default_rng(0).normal(size=(40, 4)), np.repeat(np.arange(10), 4)
    model = SparsePCA(2, card=2).fit(X, groups=groups)
    assert model.result_._state.record.row_design["clusters"] == 10
    same = sp.spca(X, 2, 2, clusters=groups).bootstrap(9).table
    np.testing.assert_allclose(model.result_.bootstrap(9).table["std_error"], same["std_error"], atol=1e-12)
    with pytest.raises(DataError, match="39 labels for 40 rows"):
        SparsePCA(2).fit(X, groups=groups[1:])
    with pytest.raises(DataError, match="not a name"):
        SparsePCA(2).fit(X, groups="site")


def test_sample_weights_count_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 4))
    counts = rng.integers(0, 3, 40)
    model = SparsePCA(2, card=2).fit(X, sample_weight=counts)
    same = SparsePCA(2, card=2).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(model.components_, same.components_, atol=1e-10)
    np.testing.assert_allclose(model.explained_variance_, same.explained_variance_, rtol=1e-10)
    with pytest.raises(WeightsError, match=r"sample_weight has shape \(3,\)"):
        SparsePCA(2).fit(X, sample_weight=[1, 2, 3])
    with pytest.raises(WeightsError, match="2 negative values"):
        SparsePCA(2).fit(X, sample_weight=np.where(np.arange(40) < 2, -1.0, 1.0))


def test_the_message_for_missing_values_says_how_they_are_taken(rows):
    holes = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.05)
    pl = pytest.importorskip("polars")
    for frame in (holes, holes.convert_dtypes(), holes.to_numpy(), pl.DataFrame(holes.to_dict("list"))):
        with pytest.raises(MissingValuesError, match=r"NaN.*na='em'.*na='pairwise'") as caught:
            SparsePCA(2, card=4).fit(frame)
        assert "Hist" not in str(caught.value)  # scikit-learn's advice, classifiers
        for na in ("em", "pairwise"):
            model = SparsePCA(2, card=4, na=na).fit(frame)  # the advice holds
            same = sp.spca(holes, 2, 4, na=na)
            np.testing.assert_allclose(model.components_.T, same.loadings, atol=1e-9)
    complete = SparsePCA(2, card=4).fit(rows)
    for call in (complete.transform, complete.score):
        with pytest.raises(MissingValuesError, match="na='em'"):
            call(holes)
    with pytest.raises(DataError, match="infinity"):
        complete.transform(rows.replace(rows.iloc[0, 0], np.inf))


def counted(seed: int = 0, n: int = 60):
    """Rows, how often each counts, and the same rows repeated."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)) @ rng.normal(size=(3, 5)) + rng.normal(size=(n, 5)))
    X.columns = list("abcde")
    w = rng.integers(1, 4, n)
    return X, w, X.loc[X.index.repeat(w)]


def test_weights_count_rows_in_every_method():
    X, w, repeated = counted()
    model, same = SparsePCA(2, card=2).fit(X, sample_weight=w), SparsePCA(2, card=2).fit(repeated)
    # sums of the same numbers in another order
    assert model.score(X, sample_weight=w) == pytest.approx(same.score(repeated), rel=1e-12)
    assert model.score(X) != pytest.approx(model.score(X, sample_weight=w), rel=1e-4)
    scores = SparsePCA(2, card=2).fit_transform(X, sample_weight=w)
    np.testing.assert_allclose(np.repeat(scores, w, axis=0), same.transform(repeated), atol=1e-9)
    pipe = make_pipeline(SparsePCA(2, card=2)).fit(X, sparsepca__sample_weight=w)
    assert pipe.score(X, sample_weight=w) == pytest.approx(same.score(repeated), rel=1e-12)
    for bad in ([1.0], -w, w.astype(float) * np.nan):
        with pytest.raises(WeightsError):
            model.score(X, sample_weight=bad)
    holes = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    for na in ("em", "pairwise"):
        part = SparsePCA(2, card=2, na=na).fit(holes, sample_weight=w)
        doubled = part.score(pd.concat([holes, holes]))
        assert doubled == pytest.approx(part.score(holes, sample_weight=np.full(60, 2.0)), rel=1e-12)


@pytest.mark.parametrize(
    "kind",
    [
        "pandas",
        pytest.param("nullable", marks=pytest.mark.slow),
        pytest.param("polars", marks=pytest.mark.slow),
    ],
)
def test_searches_route_weights_to_fit_and_score(kind):
    """Folds, fitted and scored with weights, give what repeated rows give, in searches and pipelines."""
    import sklearn
    from sklearn.model_selection import PredefinedSplit, cross_validate

    X, w, repeated = counted()
    fold = np.arange(60) % 3
    folds = PredefinedSplit(fold), PredefinedSplit(np.repeat(fold, w))
    frame: object = X
    if kind == "nullable":
        frame = X.convert_dtypes()
    elif kind == "polars":
        frame = pytest.importorskip("polars").DataFrame(X.to_dict("list"))
    grid = {"card": [1, 3]}
    plain = GridSearchCV(SparsePCA(2), grid, cv=folds[1], error_score="raise").fit(repeated)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SparsePCA(2).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, grid, cv=folds[0], error_score="raise").fit(frame, sample_weight=w)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-9
        )
        # Pipeline.score of older versions of scikit-learn routes no weights to its last step.
        if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8):
            pipe = GridSearchCV(
                make_pipeline(model), {"sparsepca__card": [1, 3]}, cv=folds[0], error_score="raise"
            ).fit(frame, sample_weight=w)
            np.testing.assert_allclose(
                pipe.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-9
            )
        first = make_pipeline(model, LinearRegression().set_fit_request(sample_weight=True))
        first.fit(frame, X["a"], sample_weight=w)  # by fit_transform
        np.testing.assert_allclose(first[0].components_, SparsePCA(2).fit(repeated).components_, atol=1e-9)
        done = cross_validate(model, frame, cv=folds[0], params={"sample_weight": w}, error_score="raise")
    one = plain.cv_results_["mean_test_score"]
    assert done["test_score"].shape == (3,)
    assert one[0] < one[1]


@pytest.mark.parametrize(
    "name", ["formula", "categorical", "context", "codes", "imputations", "weights", "clusters", "strata"]
)
def test_arguments_of_spca_that_it_lacks_are_answered(name):
    with pytest.raises(OptionError, match=rf"no argument {name}=; .*(ColumnTransformer|fit\(X, )") as caught:
        SparsePCA(2, card=2, **{name: "~ ."})
    assert "it has" not in str(caught.value)


def test_imputations_are_pooled_as_by_spca(rows):
    """Given as frames, as arrays, and beside the table before its imputation."""
    rng = np.random.default_rng(0)
    table = rows.iloc[:, :5].copy()
    table.iloc[:6, 2] = np.nan
    frames = [table.fillna({table.columns[2]: rng.normal()}) for _ in range(3)]
    pooled = sp.spca(imputations=frames, k=2, card=2, scale=True)
    model = SparsePCA(2, card=2, scale=True).fit(table, imputations=frames)
    np.testing.assert_array_equal(model.components_.T, pooled.loadings)
    np.testing.assert_allclose(model.mean_, np.mean([frame.mean() for frame in frames], axis=0), atol=1e-12)
    assert model.transform(frames[0]).shape == (len(table), 2)
    arrays = [frame.to_numpy() for frame in frames]
    again = SparsePCA(2, card=2, scale=True).fit(arrays[0], imputations=arrays)
    np.testing.assert_array_equal(again.components_, model.components_)
    for imputations, words in [
        (frames[0], "of type DataFrame"),
        (frames[:1], "two or more"),
        ([frames[0], frames[1].iloc[:, :3]], "feature names"),
        ([frames[0], frames[1].iloc[:9]], "9 rows"),
        ([table, table], "contains NaN"),
    ]:
        with pytest.raises(DataError, match=words):
            SparsePCA(2, card=2).fit(table, imputations=imputations)


def test_the_selector_pools_imputations_as_principal_variables_does(rows):
    rng = np.random.default_rng(0)
    table = rows.iloc[:, :5].copy()
    table.iloc[:9, 2] = np.nan
    frames = [table.fillna({table.columns[2]: rng.normal()}) for _ in range(3)]
    weights = np.arange(1.0, len(table) + 1.0)
    pooled = sp.rows(imputations=frames, scale=True, weights=weights)
    plan = sp.principal_variables(pooled, m=2, k=2, n_resamples=0)
    model = PrincipalVariables(2, k=2, scale=True).fit(table, sample_weight=weights, imputations=frames)
    assert model.share_ == plan.share
    assert set(model.get_feature_names_out()) == set(plan.kept)
    assert model.inverse_transform(model.transform(frames[0])).shape == table.shape
    arrays = [frame.to_numpy() for frame in frames]
    again = PrincipalVariables(2, k=2, scale=True).fit(table.to_numpy(), None, weights, arrays)
    assert again.get_support().tolist() == model.get_support().tolist()
    for imputations, words in [
        (None, r"fit\(X, imputations=frames\)"),
        (frames[0], "of type DataFrame"),
        (frames[:1], "two or more"),
        ([frames[0], frames[1].iloc[:, :3]], "feature names"),
        ([frames[0], frames[1].iloc[:9]], "9 rows"),
        ([table, table], "contains NaN"),
    ]:
        with pytest.raises(DataError, match=words):
            PrincipalVariables(2, scale=True).fit(table, imputations=imputations)


def test_dropped_rows_are_refused_wherever_it_is_used_and_the_advice_works(rows):
    X = rows.iloc[:, :6].copy()
    X.iloc[3, 1] = np.nan
    y = rows.iloc[:, 7]
    wrong = SparsePCA(2, card=2, scale=True, na="drop")
    uses = (
        lambda estimator, X, y: estimator.fit_transform(X),
        lambda estimator, X, y: make_pipeline(estimator, LinearRegression()).fit(X, y).predict(X),
        lambda estimator, X, y: cross_val_score(estimator, X, cv=3, error_score="raise"),
        lambda estimator, X, y: (
            GridSearchCV(estimator, {"card": [1, 2]}, cv=3, error_score="raise")
            .fit(X)
            .cv_results_["mean_test_score"]
        ),
    )
    complete = ~np.isnan(X).any(axis=1)
    for use in uses:
        with pytest.raises(OptionError, match=r"one row for each row of X.*na='em'"):
            use(wrong, X, y)
        assert np.isfinite(use(wrong.set_params(na="em"), X, y)).all()
        assert np.isfinite(use(wrong.set_params(na="raise"), X[complete], y[complete])).all()
        wrong.set_params(na="drop")


def test_the_estimator_has_the_arguments_of_spca():
    """Each argument of spca is a parameter, an argument of fit, or has no place in scikit-learn."""
    elsewhere = {"data_or_formula", "data", "k", "rng", "weights", "clusters", "strata"}
    # formulas need names of columns, a fit has one table, and joblib shows the progress of searches
    elsewhere |= {"formula", "imputations", "progress", "options"}
    named = {*inspect.signature(sp.spca).parameters, "center", "blocks", "k_em"}
    assert named <= {*inspect.signature(SparsePCA).parameters} | elsewhere
    rng = np.random.default_rng(0)
    X, strata, groups = rng.normal(size=(40, 4)), np.arange(40) // 20, np.arange(40) // 4
    model = SparsePCA(2, card=1, together={"pair": ["x1", "x2"]}).fit(X, groups=groups, strata=strata)
    assert model.result_._state.record.row_design["strata"] == 2
    assert [set(np.flatnonzero(v)) for v in model.components_ if v[0]] in ([{0, 1}], [])
    w = rng.uniform(1, 2, 40)
    survey = SparsePCA(2, card=2, weights_are="sampling").fit(X, sample_weight=w)
    same = sp.spca(X, 2, 2, weights=w, weights_are="sampling")
    np.testing.assert_array_equal(survey.components_.T, same.loadings)
    blocks = SparsePCA(2, card=2, block_length=5).fit(X).result_
    assert blocks._state.design.block_length == 5
    with pytest.raises(DataError, match=r"strata='site'.*not a name"):
        SparsePCA(2).fit(X, strata="site")


# --- principal variables ---------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([PrincipalVariables()])
def test_the_contract_of_scikit_learn_for_selection(estimator, check):
    check(estimator)


def test_selection_is_that_of_the_function(rows):
    """The features of the function, its reconstruction, and a pipeline; pickles have no data."""
    plan = sp.principal_variables(rows, 4, 2, scale=True, folds=0, n_resamples=0)
    model = PrincipalVariables(4, k=2, scale=True).fit(rows)
    assert set(rows.columns[model.get_support()]) == set(plan.kept)
    assert model.share_ == plan.share
    kept = model.transform(rows)
    np.testing.assert_array_equal(kept, rows.to_numpy()[:, model.get_support()])
    np.testing.assert_allclose(model.inverse_transform(kept), plan.reconstruct(rows), rtol=1e-10)
    with pytest.raises(DataError, match="takes the 4 features kept"):
        model.inverse_transform(rows)
    of_sparse = PrincipalVariables(4, k=2, scale=True).fit(sparse.csr_array(rows.to_numpy()))
    np.testing.assert_array_equal(of_sparse.get_support(), model.get_support())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.inverse_transform(kept), model.inverse_transform(kept))
    pipe = make_pipeline(PrincipalVariables(3, scale=True), LinearRegression())
    assert pipe.fit(rows, rows.iloc[:, 0]).score(rows, rows.iloc[:, 0]) > 0.3
