"""Printed correlation matrices are taken wherever a matrix is; what is no rows is not taken for rows.

Every form below prints the same ten correlations of pitprops, with three decimals as published, so that
all give the fit of the whole matrix.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.cli import main
from spcastat.errors import ColumnTypeError, CovarianceError, DataError, SpcaError, UnknownOptionError

WHOLE = sp.datasets.load_pitprops().iloc[:5, :5]
LOWER = np.tril(np.ones((5, 5))) > 0
INSIDE = np.eye(5) == 0


def estimator():
    """The estimator for scikit-learn; tests that use it are skipped without that package."""
    pytest.importorskip("sklearn")
    return sp.sklearn.SparsePCA(2, card=3)


def _text(S: pd.DataFrame, blank: str, mark: str = "") -> pd.DataFrame:
    def cell(r: float) -> str:
        return blank if np.isnan(r) else f"{r:g}".replace("0.", ".").replace("-", "\u2212") + mark

    return S.map(cell)


FORMS = {
    "lower": WHOLE.where(LOWER),
    "upper": WHOLE.where(LOWER.T),
    "lower, no diagonal": WHOLE.where(LOWER & INSIDE),
    "upper, no diagonal": WHOLE.where(LOWER.T & INSIDE),
    "names in a column": WHOLE.rename_axis("variable").reset_index(),
    "names in a column, lower": WHOLE.where(LOWER).rename(index="{} ".format).reset_index(),
    "nullable": WHOLE.where(LOWER).convert_dtypes(),
    "text": _text(WHOLE.where(LOWER), ""),
    "text, dashes": _text(WHOLE.where(LOWER & INSIDE), "\u2014"),
    "text, stars": _text(WHOLE.where(LOWER), "", "**").reset_index(),
}
ARRAYS = [name for name in FORMS if "names" not in name and "text" not in name and name != "nullable"]


CALLS = (
    lambda S: sp.spca_cov(S, 2, 3).loadings,
    lambda S: sp.spca_cov(S, 2, 3, n_obs=180, given="moist").loadings,
    lambda S: sp.sparse_loadings_cov(S, 2, 3).loadings,
    lambda S: sp.spca_path(S, 2, cards=[2, 3]).table,
    lambda S: sp.choose(S, k=2, n_obs=180).fit.loadings,
    lambda S: str(sp.choose_k(S, n_obs=180, n_draws=49)),
)


@pytest.fixture(scope="module")
def results_of_whole() -> list[pd.DataFrame | str]:
    """What each call gives for the whole matrix."""
    return [call(WHOLE) for call in CALLS]


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS)
def test_every_form_wherever_a_matrix_is_taken(form, results_of_whole):
    S = FORMS[form].copy(deep=True)
    for call, expected in zip(CALLS, results_of_whole, strict=True):
        made = call(S)
        if isinstance(made, pd.DataFrame):
            pd.testing.assert_frame_equal(made, expected)
        else:
            assert made.splitlines()[-3:] == expected.splitlines()[-3:]
    pd.testing.assert_frame_equal(S, FORMS[form])  # the caller's table is not changed


@pytest.mark.sweep
@pytest.mark.parametrize("form", ARRAYS)
def test_arrays(form):
    S = FORMS[form].to_numpy()
    np.testing.assert_array_equal(sp.spca_cov(S, 2, 3).loadings, sp.spca_cov(WHOLE, 2, 3).loadings)
    masked = np.ma.masked_invalid(S)
    np.testing.assert_array_equal(sp.spca_cov(masked, 2, 3).loadings, sp.spca_cov(WHOLE, 2, 3).loadings)
    with pytest.raises(DataError, match="correlation matrix"):
        sp.spca(S, 2, 3)


#: Ways in which papers number the columns of a matrix, and the rows.
NUMBERED = {
    "1": (range(1, 6), "{name}"),
    "text": ("12345", "{name}"),
    "points": (["1.", "2.", "3.", "4.", "5."], "{number}. {name}"),
    "brackets": (["(1)", "(2)", "(3)", "(4)", "(5)"], "({number}) {name}"),
    "numbered rows": ("12345", "{number} {name}"),
}


@pytest.mark.sweep
@pytest.mark.parametrize("numbering", NUMBERED)
@pytest.mark.parametrize("form", ["whole", "lower", "upper, no diagonal", "text, dashes"])
@pytest.mark.parametrize("in_column", [True, False])
def test_numbered_columns_have_the_names_of_the_rows(numbering, form, in_column, tmp_path):
    headings, rows = NUMBERED[numbering]
    S = {"whole": WHOLE, **FORMS}[form].set_axis([*headings], axis=1)
    S.index = [rows.format(number=number, name=name) for number, name in enumerate(WHOLE, 1)]
    S = S.rename_axis("Variable").reset_index() if in_column else S
    fit = sp.spca_cov(S, 2, 3)
    pd.testing.assert_frame_equal(fit.loadings, sp.spca_cov(WHOLE, 2, 3).loadings)
    assert "numbered columns named by rows" in " ".join(str(fit.summary()).split())
    S.to_csv(tmp_path / "r.csv", index=not in_column)
    call = ["fit", str(tmp_path / "r.csv"), "--header", "--covariance", "--k", "2", "--card", "3"]
    assert main([*call, "--save", str(tmp_path / "r.spca")]) in (0, None)
    pd.testing.assert_frame_equal(sp.load(tmp_path / "r.spca").loadings, fit.loadings)


def test_numbers_that_are_names_stay():
    S = pd.DataFrame(WHOLE.to_numpy(), [*"12345"], [*"12345"])
    assert sp.spca_cov(S, 2, 3).loadings.index.tolist() == [*"12345"]
    twice = S.set_axis([*"aabcd"], axis=0)
    with pytest.raises(SpcaError, match="must have the same labels"):
        sp.spca_cov(twice, 2, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("named", [True, False])
def test_the_command(form, named, tmp_path, capsys):
    S = FORMS[form]
    table = S if S.shape[1] == 6 else S.reset_index(names="name" if named else "")
    path = tmp_path / "r.csv"
    table.to_csv(path, index=False)
    assert main(["fit", str(path), "--covariance", "--k", "2", "--card", "3"]) in (0, None)
    made = capsys.readouterr().out
    WHOLE.to_csv(path)
    main(["fit", str(path), "--covariance", "--k", "2", "--card", "3"])
    expected = capsys.readouterr().out
    last = [text[text.index("Loadings") :] for text in (made, expected)]
    assert last[0] == last[1]


def test_what_was_completed_is_printed_and_stored(tmp_path):
    fit = sp.spca_cov(FORMS["lower, no diagonal"], 2, 3)
    assert "lower triangle, mirrored, unit diagonal filled in" in str(fit.summary())
    fit.save(tmp_path / "a.spca")
    assert str(sp.load(tmp_path / "a.spca")) == str(fit)
    assert "marks of significance left out" in str(sp.spca_cov(FORMS["text, stars"], 2, 3).summary())


def _with(S: pd.DataFrame, i: int, j: int, value: object) -> pd.DataFrame:
    S = S.astype(object)
    S.iloc[i, j] = value
    return S if isinstance(value, str) else S.astype(float)


P_VALUES = WHOLE.where(LOWER, 0.03)
ODD_NAMES = FORMS["names in a column"].replace({"variable": {"moist": "moisture"}})


@pytest.mark.parametrize(
    ("S", "error", "words"),
    [
        (_with(FORMS["lower"], 3, 1, np.nan), CovarianceError, "lower tri.*row 'testsg', column 'length'"),
        (_with(FORMS["upper"], 1, 3, np.nan), CovarianceError, "upper tri.*row 'length', column 'testsg'"),
        (_with(FORMS["lower"], 2, 2, np.nan), CovarianceError, "diagonal entry in row 'moist'"),
        (_with(WHOLE, 1, 3, np.nan), CovarianceError, "row 'length', column 'testsg'"),
        (P_VALUES, CovarianceError, r"not symmetric.*S.where\(np.tril"),
        (ODD_NAMES, CovarianceError, "row 3 is 'moisture', and column 3 is 'moist'"),
        (FORMS["names in a column"].iloc[[1, 0, 2, 3, 4]], CovarianceError, "row 1 is 'length'"),
        (3 * FORMS["lower, no diagonal"], CovarianceError, "not a correlation: fill in the variances"),
        (
            WHOLE.where(INSIDE),
            CovarianceError,
            "diagonal of the matrix is missing, and both triangles are given",
        ),
        (_with(FORMS["text"], 2, 1, ".4?"), ColumnTypeError, r"'.4\?' in row 'moist', column 'length'"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_cell(S, error, words):
    for call in (sp.spca_cov, sp.sparse_loadings_cov):
        with pytest.raises(error, match=words):
            call(S, 2, 3)


def test_the_advice_for_other_numbers_above_the_diagonal_is_accepted():
    S = P_VALUES.where(np.tril(np.ones(P_VALUES.shape)) > 0)
    pd.testing.assert_frame_equal(sp.spca_cov(S, 2, 3).loadings, sp.spca_cov(WHOLE, 2, 3).loadings)


@pytest.mark.sweep
@pytest.mark.parametrize("as_vector", [np.asarray, list, pd.Series])
@pytest.mark.parametrize("form", ["with", "without"])
def test_a_triangle_as_a_vector_is_refused_with_code_that_makes_it_a_matrix(form, as_vector):
    vector = as_vector(WHOLE.to_numpy()[np.tril_indices(5, 0 if form == "with" else -1)])
    for call in (sp.spca_cov, sp.sparse_loadings_cov, sp.principal_variables_cov):
        with pytest.raises(CovarianceError, match=f"A vector of {len(vector)} numbers") as refused:
            call(vector, 2)
    code = re.search(f"{form} the diagonal: (S = [^;]+; S[^;]+ = vector)", str(refused.value))
    names = {"np": np, "vector": vector}
    exec(code[1], names)
    assert len(names["S"]) == 5
    given, whole = (sp.spca_cov(S, 2, 3).loadings.to_numpy() for S in (names["S"], WHOLE.to_numpy()))
    assert given == pytest.approx(whole, abs=1e-12)
    with pytest.raises(CovarianceError, match="For rows of observations"):
        sp.spca_cov(vector[:-1], 2)  # no triangle has 9 or 14 numbers
    with pytest.raises(UnknownOptionError, match="is mirrored"):
        sp.spca_cov(WHOLE, 2, 3, triangle="lower")


# --- what is no rows ------------------------------------------------------------------------------


def _distances() -> np.ndarray:
    X = np.random.default_rng(2).normal(size=(8, 3))
    return np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))


NAMES = [f"v{j}" for j in range(8)]
R = np.corrcoef(np.random.default_rng(1).normal(size=(8, 30)))
NO_ROWS = {
    "correlations": R,
    "covariances": R * np.outer(np.arange(1, 9), np.arange(1, 9)),
    "distances": _distances(),
    "squared distances": _distances() ** 2,
}
AS = {
    "array": lambda S: S,
    "numbered frame": pd.DataFrame,
    "labelled": lambda S: pd.DataFrame(S, index=NAMES, columns=NAMES),
    "names of columns only": lambda S: pd.DataFrame(S, columns=NAMES),
}
#: Functions of rows, and functions of rows or matrices.
ROWS = {
    "spca": lambda S: sp.spca(S, 2, 3),
    "sparse_loadings": lambda S: sp.sparse_loadings(S, 2, 3),
    "spco": lambda S: sp.spco(S, 2, zeros=0.3),
    "compare_groups": lambda S: sp.compare_groups(S, list("uuuuvvvv"), k=1, card=2, n_draws=19),
    "correlation": lambda S: sp.correlation(S, "spearman"),
    "SparsePCA": lambda S: estimator().fit(S),
}
EITHER = {
    "choose": lambda S: sp.choose(S, k=1, cards=[1, 2], n_obs=None),
    "choose_k": lambda S: sp.choose_k(S, n_draws=19),
    "spca_path": lambda S: sp.spca_path(S, 1, cards=[1, 2]),
}


@pytest.mark.sweep
@pytest.mark.parametrize("function", [*ROWS, *EITHER])
@pytest.mark.parametrize("form", AS)
@pytest.mark.parametrize("kind", NO_ROWS)
def test_no_function_takes_pairs_for_rows_in_silence(kind, form, function):
    S = AS[form](NO_ROWS[kind])
    known = kind in ("correlations", "covariances") and (
        form == "labelled" or (form == "numbered frame" and not isinstance(S, np.ndarray))
    )
    if function in EITHER and known:
        return  # taken as the matrix that it is
    with pytest.raises(SpcaError) as caught:
        {**ROWS, **EITHER}[function](S)
    text = str(caught.value)
    assert ("distances" if "distances" in kind else "matrix") in text
    advised = re.search(r"give ((?:data|pd\.DataFrame\(data\))\.rename\(.*?format\))", text)
    if advised:  # what the message recommends is accepted
        {**ROWS, **EITHER}[function](eval(advised[1], {"data": S, "pd": pd}))
    elif function not in ("compare_groups",):
        raise AssertionError(text)


@pytest.mark.parametrize("kind", NO_ROWS)
@pytest.mark.parametrize("names", [True, False])
def test_the_command_takes_no_pairs_for_rows(kind, names, tmp_path, capsys):
    path = Path(tmp_path / "s.csv")
    AS["labelled"](NO_ROWS[kind]).to_csv(path, index=names)
    for words in (["fit", str(path), "--k", "2", "--card", "3"], ["choose", str(path)]):
        assert main(words) == 1
        assert ("distances" if "distances" in kind else "--covariance") in capsys.readouterr().err


def test_a_matrix_of_distances_is_named_where_a_covariance_matrix_is_expected():
    with pytest.raises(CovarianceError, match="distances"):
        sp.spca_cov(_distances(), 2, 3)
