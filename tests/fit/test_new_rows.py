"""New rows need only the variables with a nonzero loading; their scores are those of complete rows.

Scores are compared to the last bit: the same numbers are multiplied and added in the same order, with or
without the unused columns.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as ss

import spcastat as sp
from spcastat import errors


def rows() -> pd.DataFrame:
    """60 rows of two factors with three variables each, and two columns of small noise."""
    rng = np.random.default_rng(3)
    factors = rng.normal(size=(60, 2)) * [3.0, 2.0]
    values = np.column_stack([factors[:, [0, 0, 0, 1, 1, 1]], np.zeros((60, 2))])
    return pd.DataFrame(values + 0.3 * rng.normal(size=(60, 8)), columns=list("abcdefgh"))


@pytest.fixture(scope="module")
def fit() -> sp.SpcaResult:
    found = sp.spca(rows(), 2, 3)
    assert not found.loadings.loc[["g", "h"]].to_numpy().any()
    return found


def same(scores: object, fit: sp.SpcaResult) -> None:
    np.testing.assert_array_equal(np.asarray(scores), fit.scores.to_numpy())


def test_unused_columns_may_be_absent_or_missing(fit):
    data = rows()
    same(fit.transform(data), fit)
    for new in (
        data.drop(columns=["g", "h"]),
        data[list("fbdace")],
        data.assign(g=np.nan),
        data.assign(g=np.inf, h="text"),
    ):
        pd.testing.assert_frame_equal(fit.transform(new), fit.scores, check_exact=True)
    appended = fit.augment(data.drop(columns="h").assign(g=np.nan))
    same(appended[[".fittedPC1", ".fittedPC2"]], fit)
    assert appended["g"].isna().all()


def test_arrays_have_all_columns_and_unused_ones_may_be_missing():
    values = rows().to_numpy()
    fit = sp.spca(values, 2, 3)
    holes = values.copy()
    holes[:, 6:] = np.nan
    same(fit.transform(holes), fit)
    same(fit.transform(pd.DataFrame(holes, columns=[f"x{j}" for j in range(1, 9)])), fit)
    with pytest.raises(errors.NewDataError, match="have 6 columns; the fit has 8"):
        fit.transform(holes[:, :6])
    sparse = sp.spca(ss.csc_array(values), 2, 3)
    same(sparse.transform(ss.csr_array(holes)), sparse)


def test_named_columns_by_position(fit):
    holes = rows().to_numpy(copy=True)
    holes[:, 7] = np.nan
    with pytest.warns(errors.DataWarning, match="8 columns are taken in the order of the fit, 'a', 'b'"):
        same(fit.transform(holes), fit)


def test_chunks_and_dask(fit, tmp_path):
    less = rows()[list("abcdef")]
    same(fit.transform([less[:25], less[25:].assign(h=np.nan)]), fit)
    dask = pytest.importorskip("dask.dataframe")
    same(fit.transform(dask.from_pandas(less, npartitions=2)).compute(), fit)
    array = pytest.importorskip("dask.array").from_array(rows().to_numpy(), chunks=(30, 8))
    unnamed = sp.spca(rows().to_numpy(), 2, 3)
    same(unnamed.transform(array).compute(), unnamed)
    frame = dask.from_pandas(rows().assign(h=np.nan), npartitions=2)
    with pytest.warns(errors.DataWarning, match="taken by position"):
        same(unnamed.transform(frame).compute(), unnamed)
    pytest.importorskip("pyarrow")
    fit.transform_to(tmp_path / "scores.parquet", less)
    same(pd.read_parquet(tmp_path / "scores.parquet"), fit)


def test_a_saved_fit_needs_no_more(fit, tmp_path):
    fit.save(tmp_path / "a.spca")
    same(sp.load(tmp_path / "a.spca").transform(rows()[list("abcdef")]), fit)


def test_used_columns_are_needed(fit):
    with pytest.raises(errors.NewDataError, match="lack 1 of the 6 columns that the components use: 'b'"):
        fit.transform(rows().drop(columns="b"))
    holes = rows()
    holes.loc[4, "b"] = np.nan
    with pytest.raises(errors.MissingValuesError, match=r"in 'b'\. Use na='drop' .* or na='pairwise' to use"):
        fit.transform(holes)
    assert fit.transform(holes, na="drop").index.tolist() == [i for i in range(60) if i != 4]
    assert fit.transform(holes, na="pairwise").isna().to_numpy().sum() == 1
    # the distance from the span of the loadings depends on all variables
    with pytest.raises(errors.NewDataError, match="lack 1 of the 8 columns of the fit: 'h'"):
        fit.diagnostics(rows().drop(columns="h"))


@pytest.mark.parametrize(
    "formula", ["~ a + b + c + d + e + f + g + h", "~ scale(a) + b + c + d + e + f + scale(g) + h"]
)
def test_terms_without_loadings_are_not_evaluated(formula):
    fit = sp.spca(rows(), 2, 3, formula=formula)
    assert (fit.loadings.iloc[6:] == 0).all(axis=None)
    new = rows().drop(columns="h").assign(g=np.nan)
    np.testing.assert_allclose(fit.transform(new), fit.scores, rtol=1e-14)  # scale(a) in another layout
    np.testing.assert_array_equal(fit.transform(new), fit.transform(rows()))
    with pytest.raises(errors.NewDataError, match="lack 1 of the 6 columns that the components use: 'd'"):
        fit.transform(new.drop(columns="d"))


def test_a_factor_is_needed_if_one_of_its_levels_is():
    data = rows().assign(site=np.where(rows()["a"] > 0, "north", "south"), other=list("uvw") * 20)
    fit = sp.spca(
        data,
        2,
        card=[2, 3],
        formula="~ a + site + d + e + f + other",
        categorical="dummy",
        exclude=["site[north]"],
    )
    loadings = fit.loadings
    assert loadings.loc["site[south]"].any()
    assert not loadings.filter(like="other", axis=0).to_numpy().any()
    np.testing.assert_array_equal(fit.transform(data.drop(columns="other")), fit.transform(data))
    np.testing.assert_array_equal(fit.transform(data.assign(other="new")), fit.transform(data))
    with pytest.raises(errors.NewDataError, match="'site'"):
        fit.transform(data.drop(columns="site"))


def test_covariates_are_needed():
    data = rows().assign(age=np.random.default_rng(5).normal(size=60))
    fit = sp.spca(data, 2, 3, formula="~ . | age")
    assert not fit.loadings.loc[["g", "h"]].to_numpy().any()
    same(fit.transform(data.drop(columns=["g", "h"])), fit)
    with pytest.raises(errors.NewDataError, match="'age'"):
        fit.transform(data.drop(columns="age"))


def test_missing_values_are_treated_as_in_the_fit(tmp_path):
    holes = rows().mask(np.random.default_rng(4).random((60, 8)) < 0.05)
    for na in ("pairwise", "em"):
        fit = sp.spca(holes, 2, 3, na=na)
        pd.testing.assert_frame_equal(fit.transform(holes), fit.scores, check_exact=True)
        pd.testing.assert_frame_equal(
            fit.augment(holes).iloc[:, -2:].set_axis(["PC1", "PC2"], axis=1), fit.scores
        )
        with pytest.raises(errors.MissingValuesError, match="Use na='drop'"):
            fit.transform(holes, na="raise")
        fit.save(tmp_path / "a.spca")
        pd.testing.assert_frame_equal(sp.load(tmp_path / "a.spca").transform(holes), fit.scores)
    # em: imputing needs all columns, and without missing values nothing is imputed
    complete = rows()[list("abcdef")]
    np.testing.assert_array_equal(fit.transform(complete, na="em"), fit.transform(rows()))
    with pytest.raises(errors.NewDataError, match="lack 2 of the 8 columns of the fit: 'g', 'h'"):
        fit.transform(holes[list("abcdef")])
    dropped = sp.spca(holes, 2, 3, na="drop")
    with pytest.raises(errors.MissingValuesError):
        dropped.transform(holes)
