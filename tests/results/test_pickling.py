"""Pickles and copies of results: what they carry, and that they are the same fits elsewhere."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import NoRowsError, SpcaWarning

#: A value that a formula takes from here.
limit = 4
ROWS = sp.datasets.pitprops_sample().iloc[:60, :7]


def make(kind: str, mixed: pd.DataFrame, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpcaWarning)
        if kind == "loaded":
            sp.spca(ROWS, 2, 3, method="bcd-l0").save(folder / "fit")
            return sp.load(folder / "fit")
        if kind == "certified":
            fit = sp.spca(ROWS, 2, 3, method="bcd-l0")
            fit.certify(joint=False, time_limit=1)
            return fit
        made = {
            "rows": lambda: sp.spca(
                ROWS, 2, 3, weights=np.arange(60.0), rng=np.random.default_rng(1), method="bcd-l0"
            ),
            "covariance": lambda: sp.spca_cov(ROWS.cov(), 2, 3, method="bcd-l0"),
            "by rows": lambda: sp.spca(ROWS, 2, method="rspca-l0", card=3),
            "formula": lambda: sp.spca(
                mixed,
                2,
                2,
                formula="~ center(a) + np.log(b) + C(a > limit) + bs(b, df=4)",
                categorical="dummy",
                method="bcd-l0",
            ),
            "path": lambda: sp.spca_path(ROWS, 2, cards=[2, 4], method="bcd-l0"),
            "comparison": lambda: sp.compare(
                {"a": sp.spca(ROWS, 2, 3, method="bcd-l0"), "b": sp.spca(ROWS, 2, 4, method="bcd-l0")}
            ),
            "summary": lambda: sp.spca(ROWS, 2, 3, method="bcd-l0").summary(),
            "spco": lambda: sp.spco(ROWS, 2, 0.5),
            "progress": lambda: sp.spca(ROWS, 2, 3, progress=lambda *told: None, method="bcd-l0"),
        }
        return made[kind]()


KINDS = (
    "rows",
    "covariance",
    "by rows",
    "formula",
    "path",
    "comparison",
    "summary",
    "spco",
    "progress",
    "loaded",
    "certified",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "carry",
    [lambda fit: pickle.loads(pickle.dumps(fit)), copy.deepcopy, copy.copy],
    ids=["pickle", "deep", "copy"],
)
def test_a_copied_fit_is_the_same(kind, carry, mixed, tmp_path):
    fit = make(kind, mixed, tmp_path)
    other = carry(fit)
    assert type(other) is type(fit)
    assert other is not fit
    assert str(other) == str(fit)
    if kind in ("comparison", "summary"):
        return
    if kind == "path":
        fit, other = fit[4], other[4]
    new = mixed if kind == "formula" else ROWS
    if kind != "covariance":
        pd.testing.assert_frame_equal(other.transform(new), fit.transform(new), check_exact=True)
    if kind == "spco":
        pd.testing.assert_frame_equal(other.coordinates, fit.coordinates)
        return
    if kind == "loaded":
        with pytest.raises(NoRowsError, match="refit"):
            other.refit(card=2)
        pd.testing.assert_frame_equal(other.scores, fit.scores)
        return
    again = other.refit(card=2)
    # older pandas lays carried columns out anew, and sums then differ in their last bit
    pd.testing.assert_frame_equal(again.loadings, fit.refit(card=2).loadings, rtol=1e-12, atol=1e-14)
    if kind not in ("covariance",):
        pd.testing.assert_frame_equal(other.residuals, fit.residuals)
    fit.save(tmp_path / "one")
    other.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert other.certify(joint=False, time_limit=5).table["cardinality"].tolist() == fit.card.tolist()


@pytest.mark.parametrize("carry", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy])
def test_results_of_resampling_can_be_copied(carry, mixed, tmp_path):
    # the formula uses numpy, which is a module: those cannot be pickled
    fit = sp.spca(mixed, 2, 2, formula="~ a + np.log(b) + kind", categorical="dummy", method="bcd-l0")
    made = [fit.bootstrap(3), fit.stability(2), fit.split_inference(3), fit.test_loadings(2)]
    for one in made:
        other = carry(one)
        assert type(other) is type(one)
        assert str(other) == str(one)
    pd.testing.assert_frame_equal(carry(made[0]).conf_int(0.8), made[0].conf_int(0.8), check_exact=True)
    other = carry(fit)
    assert list(carry(fit.resampled)) == list(other.resampled) == list(fit.resampled)
    fit.save(tmp_path / "one")
    other.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    again, once = other.bootstrap(3), fit.bootstrap(3)
    pd.testing.assert_frame_equal(again.conf_int(), once.conf_int(), check_exact=True)


def test_a_deep_copy_has_data_of_its_own():
    X = ROWS.to_numpy(copy=True)
    fit = sp.spca(X, 2, 3, method="bcd-l0")
    twin = copy.deepcopy(fit)
    before = fit.scores
    X[:] = 0.0
    pd.testing.assert_frame_equal(twin.scores, before)


def test_chunks_stay_where_they_are():
    chunks = [ROWS.iloc[:30], ROWS.iloc[30:]]
    for source in (chunks, lambda: iter(chunks)):
        fit = sp.spca(source, 2, 3, method="bcd-l0")
        other = pickle.loads(pickle.dumps(fit))
        assert str(other) == str(fit)
        pd.testing.assert_series_equal(other.limits(), fit.limits())
        pd.testing.assert_frame_equal(other.transform(ROWS), fit.transform(ROWS))
        with pytest.raises(NoRowsError, match=r"fit again: spca\(data, k=2, card=3, method='bcd-l0'\)"):
            other.refit(card=2)
        with pytest.raises(NoRowsError):
            other.scores  # noqa: B018
        twin = copy.deepcopy(fit)
        pd.testing.assert_frame_equal(twin.scores.to_frame(), fit.scores.to_frame())
        assert twin.refit(card=2).card.tolist() == [2, 2]


def test_collections_of_dask_travel():
    dataframe = pytest.importorskip("dask.dataframe")
    fit = sp.spca(dataframe.from_pandas(ROWS, npartitions=2), 2, 3, method="bcd-l0")
    for other in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        pd.testing.assert_frame_equal(other.scores.compute(), fit.scores.compute())
        assert other.refit(card=2).card.tolist() == [2, 2]


def test_a_pickle_has_the_data_and_a_file_has_not(tmp_path):
    X = np.random.default_rng(0).normal(size=(5000, 5))
    fit = sp.spca(X, 1, 2, method="bcd-l0")
    fit.save(tmp_path / "fit.spca")
    assert len(pickle.dumps(fit)) > X.nbytes > (tmp_path / "fit.spca").stat().st_size * 4


def test_another_process(tmp_path):
    # one started anew, which has nothing but the pickle
    fit = sp.spca(
        ROWS.assign(kind=[*"xyz"] * 20),
        2,
        3,
        formula="~ . + np.exp(-length)",
        categorical="dummy",
        method="bcd-l0",
    )
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        text = pool.apply_async(str, (fit,)).get(300)
    assert text == str(fit)
    joblib = pytest.importorskip("joblib")
    joblib.dump(fit, tmp_path / "fit.joblib")
    assert str(joblib.load(tmp_path / "fit.joblib")) == str(fit)
