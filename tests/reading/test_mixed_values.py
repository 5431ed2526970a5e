"""Missing numbers and levels of mixed data: the values of missMDA (R), invariances, and messages."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import errors

TABLE = pd.read_csv(
    io.StringIO("""a,b,f,g
1.2,5,x,u
0.4,4,x,u
,6,y,v
2.9,7,y,
3.3,,z,v
4.1,9,z,v
0.2,3,,u
2.2,6,y,u
3.0,8,z,v
,2,x,u
1.9,5,y,v
4.4,10,,v
""")
)
#: Row, column and value of the imputations of ``imputeFAMD(TABLE, ncp, threshold=1e-13)``, missMDA 1.21.
IMPUTED = {
    1: {
        (2, "a"): 2.63679350360719,
        (9, "a"): 0.459198290480328,
        (4, "b"): 8.01668984288803,
        (3, "g[u]"): 0.307189296398625,
        (6, "f[x]"): 0.829886554691759,
        (6, "f[z]"): -0.151989050599763,
        (11, "f[y]"): 0.483697581320304,
    },
    2: {
        (2, "a"): 2.60515168102252,
        (9, "a"): 0.321021464159743,
        (4, "b"): 8.56825157057278,
        (3, "g[u]"): 0.170832136344713,
        (6, "f[x]"): 0.857334946224992,
        (6, "f[z]"): -0.2343270419049,
        (11, "f[y]"): 0.179925885327122,
    },
}


def fitted(table: pd.DataFrame, k_em: int = 2, **options) -> sp.SpcaResult:
    return sp.spca(table, 2, 3, scale="mixed", na="em", k_em=k_em, effort="quick", **options)


@pytest.mark.parametrize("rank", [1, 2])
def test_imputed_values_are_those_of_missmda(rank):
    """To 1e-5: the iterations here end at a change of the error of 1e-9 of itself."""
    imputed = fitted(TABLE, rank).imputed
    for (row, column), value in IMPUTED[rank].items():
        assert imputed.loc[row, column] == pytest.approx(value, abs=1e-5)
    measured = TABLE[["a", "b"]].notna()
    pd.testing.assert_frame_equal(imputed[["a", "b"]][measured], TABLE[["a", "b"]][measured])


@pytest.mark.parametrize("rank", [1, 2])
def test_completed_tables_are_those_of_missmda(rank):
    """Levels of ``imputeFAMD(TABLE, ncp)$completeObs``, the same with both ranks, missMDA 1.21."""
    fit = fitted(TABLE, rank)
    completed = fit.completed
    assert completed.columns.equals(TABLE.columns)
    assert completed.index.equals(TABLE.index)
    assert "".join(completed["f"]) == "xxyyzzxyzxyz"
    assert "".join(completed["g"]) == "uuvvvvuuvuvv"
    pd.testing.assert_frame_equal(completed[["a", "b"]], fit.imputed[["a", "b"]])


def test_completed_terms_of_formulas_and_tables_of_numbers():
    table = TABLE.assign(s=TABLE["f"].map({"x": 3, "y": 1, "z": 2})).set_axis([*"abcdefghijkl"])
    completed = fitted(table, formula="~ log(b) + C(s) + a").completed
    assert list(completed.columns) == ["log(b)", "C(s)", "a"]
    seen = table["s"].notna()
    assert completed["C(s)"][seen].astype(float).equals(table["s"][seen])
    assert completed["C(s)"].isin([1, 2, 3]).all()
    numbers = sp.spca(table[["a", "b"]], 2, 2, na="em", k_em=1, scale=True)
    pd.testing.assert_frame_equal(numbers.completed, numbers.imputed)
    with pytest.raises(errors.NotImputedError, match="completed is available only for fits with na='em'"):
        _ = sp.spca(table[["a", "b"]].dropna(), 2, 2, scale=True).completed


def test_weights_count_rows_and_units_and_orders_do_not_matter():
    plain = fitted(TABLE).imputed
    weights = [2, 1, 1, 3, 1, 1, 1, 1, 0, 1, 1, 1]
    repeated = fitted(TABLE.loc[np.repeat(TABLE.index, weights)].reset_index(drop=True))
    weighted = fitted(TABLE, weights=weights)
    # both end at the tolerance of the same iterations
    np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-9)
    other = TABLE.assign(a=TABLE["a"] * 1e150 + 1e150).iloc[::-1, ::-1]
    imputed = fitted(other).imputed.loc[TABLE.index]
    np.testing.assert_allclose(imputed["a"] / 1e150 - 1.0, plain["a"], rtol=1e-6)
    np.testing.assert_allclose(imputed["f[y]"], plain["f[y]"], atol=1e-6)


def test_complete_rows_are_fitted_as_without_an_imputation():
    complete = TABLE.dropna()
    plain = sp.spca(complete, 2, 3, scale="mixed", effort="quick")
    np.testing.assert_allclose(fitted(complete).loadings, plain.loadings, atol=1e-12)
    assert np.abs(fitted(complete).imputed.filter(like="f[").sum(axis=1) - 1.0).max() < 1e-12


def test_new_rows_draws_and_files_use_the_model(tmp_path):
    fit = fitted(TABLE)
    # conditional means are the fixed point of the iterations, which end at a change of 1e-9 of the error
    np.testing.assert_allclose(fit.transform(TABLE), fit.scores, atol=1e-6)
    fit.save(tmp_path / "mixed.spca")
    loaded = sp.load(tmp_path / "mixed.spca")
    pd.testing.assert_frame_equal(loaded.transform(TABLE), fit.transform(TABLE))
    assert str(loaded.bootstrap(3, data=TABLE, rng=0)) == str(fit.bootstrap(3, rng=0))
    text = " ".join(str(fit.summary()).split())
    assert "imputed by factor analysis of mixed data (FAMD) of rank 2" in text
    # 2 + 1 numbers, 2 + 1 levels, of 4 variables in 12 rows
    assert "12 % of the values, in 6 of 12 rows" in text
    assert "Audigier, Husson and Josse, 2016" in str(fit.describe())


def test_ordered_categories_are_numbers_and_others_levels():
    grades = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    table = TABLE.assign(o=pd.Categorical.from_codes([0, 0, 1, 1, 2, 2, 0, -1, 2, 0, 1, 2], dtype=grades))
    table["f"] = table["f"].astype("category")
    fit = fitted(table, codes=True)
    numbers = fitted(table.assign(o=table["o"].cat.codes.replace(-1, np.nan) + 1.0))
    assert set(fit.loadings.index) == {"a", "b", "o", "f[x]", "f[y]", "f[z]", "g[u]", "g[v]"}
    np.testing.assert_allclose(fit.loadings, numbers.loadings.loc[fit.loadings.index], atol=1e-12)
    np.testing.assert_allclose(fit.transform(table.tail(3)), fit.scores.tail(3), atol=1e-6)


def test_levels_of_ordered_categories_have_a_warning_and_its_advice_ends_it():
    grades = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    two = pd.Categorical(TABLE["b"] > 5, ordered=True)  # two levels are the same with and without order
    table = TABLE.assign(o=pd.Categorical(["low", "mid", "high"] * 4, dtype=grades), two=two)
    with pytest.warns(errors.DataWarning, match=r"ordered categories of 'o' as levels") as caught:
        levels = fitted(table)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "o" in fitted(table, codes=True).loadings.index
        unordered = fitted(table.assign(o=table["o"].cat.as_unordered()))
        fitted(table, formula="~ a + b + f")  # without o
    np.testing.assert_array_equal(unordered.loadings, levels.loadings)
    text = str(fitted(table, codes=True).describe())
    assert "Categories were coded as numbers, by their order or their numeric labels (o, two)." in text


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        (TABLE, {"na": "pairwise"}, errors.OptionError, "give na='em' to impute numbers and levels"),
        (TABLE, {"na": "raise"}, errors.MissingValuesError, "give na='em' to impute numbers and levels, or"),
        (TABLE, {"k_em": 9}, errors.OptionError, "k_em=9 for 5 free columns .* is 4 at most"),
        (TABLE.assign(b=np.nan), {}, errors.SpcaError, "'b'"),
        (TABLE.assign(f=["x", *[None] * 11]), {}, errors.ConstantColumnError, "'f' has only one level"),
        (
            TABLE.assign(f=pd.Categorical([None] * len(TABLE), categories=["x", "y"])),
            {},
            errors.MissingValuesError,
            r"'f' has no value in any row: leave it out of the formula\.$",
        ),
        (TABLE.drop(index=0).reindex(TABLE.index), {}, errors.MissingValuesError, "1 row without any value"),
    ],
)
def test_what_is_refused(table, options, error, words):
    options = {"na": "em", **options}
    if "k_em" not in options and options["na"] == "em":
        options["k_em"] = 1
    with pytest.raises(error, match=words):
        sp.spca(table, 2, 3, scale="mixed", effort="quick", **options)


def test_a_variable_with_many_gaps_has_a_warning():
    table = TABLE.assign(g=TABLE["g"].where(TABLE.index > 4))
    with pytest.warns(errors.DataWarning, match="42 % of 'g' is missing: imputed values vary less"):
        fitted(table)
