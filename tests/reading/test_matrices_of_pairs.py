"""Square symmetric matrices are not taken for rows in silence, whatever holds them."""

import re
import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import spcastat as sp
from spcastat.cli import main


def _estimator():
    pytest.importorskip("sklearn")
    from spcastat.sklearn import SparsePCA

    return SparsePCA(2, card=3)


NAMES = list("abcdef")
ROWS = np.random.default_rng(0).normal(size=(40, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
DISTANCES = cdist(ROWS[:6], ROWS[:6])
MATRICES = {
    "correlations": np.corrcoef(ROWS.T),
    "covariances": np.cov(ROWS.T),
    "distances": np.maximum(DISTANCES, DISTANCES.T),
}
HOLDERS = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
    "whole numbers": lambda S: sparse.csr_array(np.round(100 * S).astype(int)),
    "polars": lambda S: pl.DataFrame(S, schema=NAMES),
    "pyarrow": lambda S: pa.table(dict(zip(NAMES, S.T, strict=True))),
    "narwhals": lambda S: nw.from_native(pl.DataFrame(S, schema=NAMES)),
    "names in a column": lambda S: pl.DataFrame(S, schema=NAMES).insert_column(0, pl.Series("name", NAMES)),
}
SQUARE = [name for name in HOLDERS if name != "names in a column"]
OF_ROWS = {
    "spca": lambda data: sp.spca(data, 2, 3),
    "choose": lambda data: sp.choose(data, k=2, covariance=False, by="variance"),
    "choose_k": lambda data: sp.choose_k(data, n_draws=19, covariance=False),
    "spca_path": lambda data: sp.spca_path(data, covariance=False),
    "sparse_loadings": lambda data: sp.sparse_loadings(data, 2, 3),
    "spco": lambda data: sp.spco(data, 2, 0.1),
    "correlation": lambda data: sp.correlation(data, "pearson"),
    "compare_groups": lambda data: sp.compare_groups(data, groups=[0, 0, 0, 1, 1, 1], k=1, card=3, n_draws=9),
    "SparsePCA": lambda data: _estimator().fit(data),
    "measures.pev": lambda data: sp.measures.pev(np.eye(6, 2), X=data),
    "measures.adjusted": lambda data: sp.measures.adjusted(np.eye(6, 2), X=data),
}


def held(holder, matrix):
    return HOLDERS[holder](MATRICES[matrix])


@pytest.mark.parametrize("holder", SQUARE)
@pytest.mark.parametrize("function", OF_ROWS)
def test_functions_of_rows_refuse_and_say_what_to_give(function, holder):
    # each function meets each holder, and each pair of them one of the three matrices
    matrix = list(MATRICES)[(list(OF_ROWS).index(function) + SQUARE.index(holder)) % len(MATRICES)]
    data = held(holder, matrix)
    if function == "compare_groups" and sparse.issparse(data):  # which it refuses in any case
        with pytest.raises(sp.errors.OptionError, match="sparse matrix"):
            OF_ROWS[function](data)
        return
    with pytest.raises(sp.errors.DataError, match="look like a") as refused:
        OF_ROWS[function](data)
    assert ("distances" in str(refused.value)) == (matrix == "distances")


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("measure", ["pev", "rre", "adjusted", "relative_adjusted", "least_squares"])
def test_measures_of_rows_refuse_arrays_and_frames_of_pairs_too(measure, kind):
    function = getattr(sp.measures, measure)
    S = MATRICES[kind]
    advice = "distances" if kind == "distances" else "S= instead of X="
    for data in (S, pd.DataFrame(S, index=NAMES, columns=NAMES)):
        with pytest.raises(sp.errors.DataError, match=advice):
            function(np.eye(6, 2), X=data)
    if kind != "distances":
        function(np.eye(6, 2), S=S)


@pytest.mark.parametrize("holder", ["csr", "polars", "pyarrow"])
@pytest.mark.parametrize("function", ["spca", "choose", "spco", "correlation", "SparsePCA", "measures.pev"])
def test_what_they_say_for_rows_is_taken(function, holder):
    data = held(holder, "correlations")
    with pytest.raises(sp.errors.DataError, match="look like a") as refused:
        OF_ROWS[function](data)
    rows = eval(re.search(r"give (\S*data\S*\(.*\))\.$", str(refused.value)).group(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # six rows are few
        OF_ROWS[function](rows)


@pytest.mark.sweep
@pytest.mark.parametrize("holder", HOLDERS)
def test_functions_of_matrices_take_them_or_name_the_dense_one(holder):
    S = held(holder, "correlations")
    if sparse.issparse(S):
        with pytest.raises(sp.errors.CovarianceError, match=re.escape("use S.toarray()")):
            sp.spca_cov(S, 2, 3)
        S = S.toarray()
        names = ["x1", "x2", "x3", "x4", "x5", "x6"]
    else:
        names = NAMES
    fit = sp.spca_cov(S, 2, 3)
    assert list(fit.loadings.index) == names
    frame = MATRICES["correlations"] if holder != "whole numbers" else S
    expected = sp.spca_cov(pd.DataFrame(frame, index=names, columns=names), 2, 3)
    np.testing.assert_allclose(fit.loadings, expected.loadings, atol=1e-12)


def test_choose_takes_a_polars_matrix_with_names_for_a_matrix():
    S = held("names in a column", "correlations")
    assert sp.choose(S, k=2, by="variance").fit.loadings.index.tolist() == NAMES


@pytest.mark.sweep
@pytest.mark.parametrize("holder", ["csr", "csc", "coo", "lil", "polars", "pyarrow", "narwhals"])
def test_square_rows_that_are_no_matrix_of_pairs_are_rows(holder):
    asymmetric = ROWS[:6]
    indefinite = asymmetric + asymmetric.T - 50.0 * np.eye(6)  # symmetric, a negative diagonal
    for values in (asymmetric, indefinite):
        assert sp.spca(HOLDERS[holder](values), 2, 3).k == 2


def test_a_large_sparse_matrix_stays_sparse():
    # the dense one would have 10^10 entries, 80 GB
    S = sparse.diags_array(np.ones(100_000), format="csr")
    with pytest.raises(sp.errors.DataError, match="covariance or correlation matrix"):
        sp.spca(S, 2, 3)


def test_a_matrix_that_rounding_made_indefinite_is_told_so_and_the_nearest_is_taken():
    # three rows of eight variables: rank two, so that rounded entries have negative eigenvalues
    R = np.corrcoef(np.random.default_rng(0).normal(size=(3, 8)).T).round(2)
    assert np.linalg.eigvalsh(R)[0] < -1e-3
    calls = {
        "spca_cov": lambda **options: sp.spca_cov(R, 1, 3, **options),
        "sparse_loadings_cov": lambda **options: sp.sparse_loadings_cov(R, 1, 3, **options),
        "choose": lambda **options: sp.choose(R, k=1, by="variance", covariance=True, **options),
    }
    for call in calls.values():
        with pytest.raises(
            sp.errors.CovarianceError, match=r"have 2 decimals, and rounding .*, nearest=True\.$"
        ):
            call()
        call(nearest=True)


def test_rounding_is_not_blamed_for_what_it_cannot_do():
    # eigenvalue 1 - 2 * .9 cos(pi / 4) = -.27; rounding changes it by at most 3 * .005
    R = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    with pytest.raises(sp.errors.CovarianceError) as refused:
        sp.spca_cov(R, 1, 2)
    assert "decimals" not in str(refused.value)
    sp.spca_cov(R, 1, 2, nearest=True)


def test_the_command_names_its_option_for_a_rounded_matrix(tmp_path, capsys):
    R = np.corrcoef(np.random.default_rng(0).normal(size=(3, 8)).T).round(2)
    names = list("abcdefgh")
    pd.DataFrame(R, names, names).to_csv(tmp_path / "R.csv")
    call = ["fit", str(tmp_path / "R.csv"), "--covariance", "--k", "1", "--card", "3"]
    assert main(call) != 0
    text = " ".join(capsys.readouterr().err.split())
    assert "2 decimals" in text
    assert "--nearest" in text
    assert main([*call, "--nearest"]) == 0
