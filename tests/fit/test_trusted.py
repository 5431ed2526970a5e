"""What was resampled is stored with the fit, and checked for its kinds, shapes and sizes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError, FileError, NoRowsError
from spcastat.fit.saved_fits import require_resampled, sizes_of


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8))
    X[:, :3] += 2.0 * rng.normal(size=(50, 1))
    return pd.DataFrame(np.column_stack([X, np.ones(50)]), columns=list("abcdefghi"))


@pytest.fixture(scope="module")
def resampled(rows):
    fit = sp.spca(rows, 2, 3)
    fit.bootstrap(6), fit.stability(3), fit.split_inference(5), fit.test_loadings(9)
    return fit


def test_a_file_gives_back_what_was_found(resampled, tmp_path):
    resampled.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert list(loaded.resampled) == ["bootstrap", "stability", "split_inference", "test_loadings"]
    for name, one in resampled.resampled.items():
        assert loaded.resampled[name].as_text() == one.as_text()
        for key, frame in one.frames.items():
            pd.testing.assert_frame_equal(loaded.resampled[name].frames[key], frame, check_exact=True)
    assert str(loaded) == str(resampled)
    pd.testing.assert_frame_equal(loaded.tidy(conf_int=True), resampled.tidy(conf_int=True))


def test_a_fit_from_a_file_is_resampled_with_its_data(rows, resampled, tmp_path):
    resampled.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    with pytest.raises(NoRowsError, match=r"give bootstrap\(data=\.\.\.\)"):
        loaded.bootstrap(5)
    with pytest.raises(DataError, match="not those of the fit"):
        loaded.bootstrap(5, data=rows * 2)
    with pytest.raises(DataError, match="has 49 rows, and the fit had 50"):
        loaded.bootstrap(5, data=rows.iloc[1:])
    found = loaded.bootstrap(5, data=rows).conf_int()
    pd.testing.assert_frame_equal(found, resampled.bootstrap(5).conf_int())


def test_a_covariance_matrix_from_a_file_too(rows, tmp_path):
    S = rows.iloc[:, :8].cov()
    fit = sp.spca_cov(S, 2, 3, n_obs=50)
    fit.save(tmp_path / "fit.spca")
    found = sp.load(tmp_path / "fit.spca").stability(3, data=S)
    pd.testing.assert_frame_equal(found.frequency, fit.stability(3).frequency)


def cases():
    """Yield a part, a field, and a change after which it cannot be right."""
    yield "bootstrap", "values", lambda a: a[:, 1:]
    yield "bootstrap", "places", lambda a: a[::-1]
    yield "bootstrap", "places", lambda a: a + 10_000
    yield "bootstrap", "variances", lambda a: -a
    yield "bootstrap", "similarity", lambda a: a + 1.0
    yield "bootstrap", "asked", lambda a: 0
    yield "bootstrap", "of_fit", lambda a: a[1:]
    yield "bootstrap", "select", lambda a: 1
    yield "stability", "chosen", lambda a: a[:-1]
    yield "stability", "chosen", lambda a: a.astype(float)
    yield "stability", "clusters", lambda a: a[1:]
    yield "stability", "associates", lambda a: np.array([[0.0, 99.0, 1.0]])
    yield "stability", "threshold", lambda a: 0.4
    yield "stability", "again", lambda a: -1
    yield "split", "rows", lambda a: (25,)
    yield "split", "variances", lambda a: -a
    yield "split", "correlation", lambda a: a + 2.0
    yield "split", "repeats", lambda a: 0
    yield "tests", "p_value", lambda a: a + 1.0
    yield "tests", "q_value", lambda a: a[:, :1]
    yield "tests", "fdr", lambda a: "holm"


@pytest.mark.parametrize(("part", "name", "change"), list(cases()))
def test_other_kinds_shapes_and_sizes_are_refused(resampled, part, name, change):
    found = vars(getattr(resampled._state.resampled, part))
    if part == "tests":  # the variable without variance has no test
        found = {key: one if isinstance(one, int | str) else np.nan_to_num(one) for key, one in found.items()}
    sizes = sizes_of(resampled._state.record)
    require_resampled({part: found}, sizes)
    with pytest.raises(FileError, match=f"its {part}: "):
        require_resampled({part: {**found, name: change(found[name])}}, sizes)
