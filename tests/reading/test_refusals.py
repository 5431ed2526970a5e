"""Data, formulas, weights, matrices and new rows that are refused when they are read."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

from spcastat.errors import (
    ColumnTypeError,
    CovarianceError,
    DataError,
    DuplicateNamesError,
    FormulaError,
    InfiniteValuesError,
    MissingValuesError,
    NewDataError,
    OptionError,
    ShapeError,
    TooFewRowsError,
    WeightsError,
)
from spcastat.reading.covariance import read_covariance
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data, replay
from tests.reading.test_formulas import frame as formula_frame
from tests.refusals import each, require_refusal

# `small` has three rows u, v, w of a and b; `pl` and `pa` are polars and pyarrow.
# fmt: off
DATA = [
    ("read(small.set_axis(['a', 'a'], axis=1))", DuplicateNamesError, "called 'a'; names must differ"),
    ("read(pd.DataFrame({'a': ['1,5', None, '2,25'], 'b': [1.0, 2.0, 4.0]}))", ColumnTypeError,
     r"'a' contains numbers as text, '1,5': read it with decimal= or thousands="),
    ("read(small.astype(object))", ColumnTypeError,
     r"^'a', 'b' have the dtype object, with numbers as values: convert them, .*df\.astype\(float\)\.$"),
    ("read(small.assign(a=small['a'].astype(object), t='x'))", ColumnTypeError,
     r"'a' contains numbers but has the dtype object: convert it, df\['a'\]\.astype\(float\)"),
    ("read(pd.DataFrame({'a': ['x', 'y'], 'b': ['u', 'v']}))", ColumnTypeError, "no numeric column at all"),
    ("read(np.array([[1j, 2], [3, 4]]))", ColumnTypeError, "complex128"),
    ("read(np.array([[1, 2], [3, 4]], dtype=object))", ColumnTypeError, r"astype\(float\)"),
    ("read(np.zeros((2, 2), dtype=[('a', float)]))", ColumnTypeError, "structured"),
    ("read(np.arange(3.0))", ShapeError, r"shape \(3,\).*reshape\(-1, 1\)"),
    ("read(sps.csr_array((3, 0)))", ShapeError, "no columns"),
    ("read(pd.Series([1.0, 2.0]))", ShapeError, r"to_frame\(\)"),
    ("read({'a': [1, 2]})", DataError, r"A dictionary was given as data.*pd\.DataFrame\(data\)"),
    ("read('file.csv')", DataError, "type str.*read_csv"),
    ("read(small.iloc[:1])", TooFewRowsError, "1 row; at least two"),
    ("read(small.assign(a=[np.nan, np.nan, 1.0]), na='drop')", TooFewRowsError,
     "1 row after 2 rows with missing values had been dropped"),
    *[(f"read(small.assign(a=[1, np.nan, 2], b=[1, -np.inf, 2]), na='{na}')", InfiniteValuesError,
       "1 infinite value in 1 row, in 'b'") for na in ("raise", "drop")],
    ("read(small, na='dorp')", OptionError, "na='dorp' is not known.*'drop'"),
    ("read(small, categorical='dummy')", OptionError, "without a formula"),
    ("read(pl.DataFrame({'a': [1, 2, None], 'b': [0.5, 1.5, 2.5]}))", MissingValuesError,
     "1 missing value in 1 of 3 rows, in 'a'"),
    ("read(pl.DataFrame({'a': [1, 2], 's': ['x', 'y']}))", ColumnTypeError, r"'s' \(str"),
    ("read(pl.DataFrame({'a': [1, 2], 'd': [dt.date(2020, 1, 1)] * 2}))", ColumnTypeError, "'d'"),
    ("read(pl.DataFrame({'a': [1, 2]}).lazy())", DataError, "LazyFrame.*Write them to Parquet files"),
    ("read(pa.table([[1, 2], [3, 4]], names=['a', 'a']))", DuplicateNamesError, "share a name"),
]

# `df` has four rows p, q, q, r of id, a, b, c, my col, a.b, flag and the text g.
FORMULAS = [
    ("read(df, 'a ~ b')", FormulaError, "has a left side, and formulas here have none: give '~ b'"),
    ("read(df, '~ a | b | a')", FormulaError, "2 bars"),
    *[(f"read(df, {formula!r})", FormulaError, f"cannot be read: {reason}; a formula looks like [^;]*$")
      for formula, reason in (
          ("~ a + + (b", r"the bracket '\(' has no partner"),
          ("~ a +", r"the operator '\+' is misplaced"),
          ("~ a b", "an operator, such as [+], is missing in 'a b'"),
          ("~ log(a", r"'log\(a' is not closed"),
          ("~ a + 2", "the number '2' is not a term"),
          ("~ log(a b)", ".*"))],
    *[(f"read(df, {formula!r})", FormulaError, "no term") for formula in ("~", "", "~ 1", "~ a - a")],
    ("read(df, '~ idd + a')", FormulaError, "uses 'idd', which is not a column.*Did you mean 'id'"),
    ("read(df, '~ log(ccc)')", FormulaError, r"uses 'ccc' in 'log\(ccc\)'"),
    ("read(df, '~ log(my.col)')", FormulaError, "uses 'my'"),
    ("read(df, '~ lgo(a)')", FormulaError, "calls 'lgo', which is not a known function. Did you mean 'log'"),
    ("read(df, '~ foo(a)')", FormulaError,
     r"Known functions are 'log', [^c]*'exp'.*'C', 'I', NumPy functions such as"),
    *[(f"read(df, '~ a + C(g, {contrasts})', categorical='dummy')", FormulaError,
       r"given with the contrasts .*would change nothing: write C\(g\)")
      for contrasts in ("contr.sum", "contr.treatment(0)", "Treatment", "contrasts=Poly()", "[[1], [0]]")],
    ("read(df, '~ log(a.b)')", FormulaError, "cannot be evaluated|backticks"),
    ("read(df, '~ f(a)', context={'f': 3})", FormulaError,
     "'f', a variable of type int and not a known function"),
    ("read(df, '~ lag(a) + b')", FormulaError, "calls 'lag', which takes values from other rows"),
    ("read(df, '~ exp10(b) + a')", FormulaError, r"exp10.*x\*\*10 in formulaic; write np\.power\(10\.0, x\)"),
    ("read(np.ones((3, 2)), '~ x1')", FormulaError, r"NumPy array.*pd.DataFrame\(data, columns="),
    ("read(sps.csr_array(np.ones((3, 2))), '~ x1')", FormulaError, "sparse data"),
    ("read(df, '~ f(a)', context={'f': lambda x: 1 / 0})", FormulaError, r"f\(a\).*division by zero"),
    ("read(df, '~ f(a)', context={'f': lambda x: np.ones(2)})", FormulaError,
     "real numbers, one for each of the 4 rows"),
    ("read(df.assign(a=[1, -2, 3, -4]), '~ b + log(a)')", FormulaError,
     r"term 'log\(a\)' makes missing or infinite values in 2 rows, the first of them 'q'"),
    *[(f"read(df.assign(a=[0, 1, 1, 1]), '~ log(a) + log10(a)', na='{na}')", FormulaError,
       "in 1 row, the first of them 'p', and so do 'log10") for na in ("raise", "drop")],
    *[(f"read(df.assign(b=[1, 0, 2, 2]), '~ a + I(id {sign} b)')", FormulaError,
       "missing or infinite values in 1 row") for sign in ("//", "%", "/")],
    ("read(df.rename(columns={'my col': 'log(c)'}), '~ `log(c)` + log(c)')", DuplicateNamesError,
     r"'log\(c\)' is both a column"),
    ("read(df.rename(columns={'my col': 'log(c)'}), '~ . - g + log( c )')", DuplicateNamesError,
     r"'log\(c\)' is both a column"),
    ("read(df.rename(columns={'a.b': 'a:b'}), '~ a:b + `a:b`')", DuplicateNamesError, "called 'a:b'"),
    ("read(pd.DataFrame(np.ones((3, 3)), columns=['a', 'a', 'b']), '~ b')", DuplicateNamesError, "'a'"),
    *[(f"read(df.assign(a=[np.nan, np.nan, np.nan, 1]), '{formula}', na='drop')", TooFewRowsError,
       "after 3 rows")
      for formula in ("~ a", "~ log(a)")],
    *[(f"read(df, '{formula}')", ColumnTypeError, r"'g' \((str|object)\).*categorical='dummy'")
      for formula in ("~ .", "~ a + g", "~ a + C(g)", "~ a:g")],
    ("read(df.assign(mixed=[1, 'x', 2.0, None]), '~ a + mixed', categorical='dummy')", ColumnTypeError,
     r"'mixed' \(object\).*convert_dtypes"),
    ("read(df.assign(when=pd.Timestamp('2020')), '~ a + when')", ColumnTypeError, "'when'.*dates"),
    ("read(df, '~ C(g, levels=[\"x\", \"y\"])', categorical='dummy')", FormulaError,
     "unknown levels.*'z'"),
]

NEW_ROWS = [
    ("again(small.rename(columns={'a': 'alpha'}), None, small.rename(columns={'a': 'Alpha'}))", NewDataError,
     "lack 1 of the 2 columns of the fit: 'alpha'.*Did you mean 'Alpha'"),
    *[line for formula in ("~ a + b", "~ log(a) + b") for line in (
        (f"again(df, '{formula}', df[['a', 'g']])", NewDataError, "lack 1 of the 2 columns of the fit: 'b'"),
        (f"again(df, '{formula}', np.ones((2, 2)))", NewDataError, "needs column names"),
        (f"again(df, '{formula}', sps.csr_array(np.ones((2, 2))))", NewDataError, "needs column names"),
        (f"again(df, '{formula}', df.assign(a='x'))", ColumnTypeError, "'a'"),
        (f"again(df, '{formula}', df.iloc[:0])", TooFewRowsError, "no rows"),
        (f"again(df, '{formula}', pd.concat([df, df[['a']]], axis=1))", DuplicateNamesError, "'a'"),
    )],
    ("again(df, '~ a + C(b)', df.assign(b=[3, 1, 5, 9]))", NewDataError, "unknown levels"),
    ("again(df, '~ log(a) + b', df.assign(a=[1.0, 2.0, 3.0, -1.0]))", FormulaError,
     r"'log\(a\)'.* in 1 row, the first of them 'r'"),
    ("again(df, '~ bs(a, df=4)', df.assign(a=100.0))", NewDataError, "cannot be evaluated"),
]

WEIGHTS = [
    ("read(small, weights='c')", WeightsError, "not a column; the columns are 'a', 'b'"),
    ("read(small, weights=[1, 2])", WeightsError, r"shape \(2,\); it must be \(3,\)"),
    ("read(small, weights=[1, -2, -3])", WeightsError, r"2 negative values, the first \(-2\) for row 'v'"),
    ("read(small, weights=[1, np.nan, 1])", WeightsError, "1 missing or infinite value"),
    *[(f"read(small, weights={w})", WeightsError, "real numbers")
      for w in ("['1', '2', '3']", "[1, 2, '3']", "[1j, 2, 3]", "[[1], [1, 2], [3]]")],
    ("read(small, weights=[0, 0, 5])", WeightsError, "1 row with a positive weight"),
    ("read(small, weights=[0.2, 0.3, 0.5])", WeightsError,
     r"sum to 1;.*sum\(w\) - 1.*w \* len\(w\) / w.sum\(\)"),
    ("read(small, weights=pd.Series([1.0, 2.0, 3.0]))", WeightsError,
     "3 labels are missing, 'u', 'v', 'w'.*to_numpy"),
    ("read(small, weights=pd.Series([1.0, 2.0], index=['u', 'v']))", WeightsError, "2 values for 3 rows"),
    ("read(small.set_axis(list('uuv')), weights=pd.Series([1, 2, 3], list('vuu')))", WeightsError,
     "repeated labels"),
    ("read(small.assign(a=[1, np.nan, 2]), weights=[0, 5, 2], na='drop')", WeightsError,
     "1 row with a positive weight"),
]

# `S` is a covariance matrix of a, b, c, d.
COVARIANCES = [
    ("read_covariance(S + 0.1 * np.eye(4)[0])", CovarianceError, "not symmetric: the entries for 'a' and"),
    ("read_covariance(np.tril(S))", CovarianceError, "triangle"),
    ("read_covariance(np.ones((3, 2)))", CovarianceError, r"shape \(3, 2\)"),
    ("read_covariance(np.zeros((3, 3)))", CovarianceError, "All entries of the matrix are zero"),
    ("read_covariance([[1.0, 0.0], [0.0, 1.0]])", CovarianceError, r"type list.*np\.asarray"),
    ("read_covariance(np.diag([1.0, np.nan]))", CovarianceError, "first .nan. in row 'x2', column 'x2'"),
    ("read_covariance(np.diag([1.0, -1.0]))", CovarianceError,
     "variance of 'x2' is -1; variances cannot be neg"),
    ("read_covariance(np.array([[1.0, 2.0], [2.0, 1.0]]))", CovarianceError,
     r"smallest eigenvalue is -1 .*covariance 2 of 'x1' and 'x2'"),
    ("read_covariance(pd.DataFrame({'a': [1, 0], 'b': ['x', 'y']}, index=['a', 'b']))", ColumnTypeError,
     "'b'"),
    ("read_covariance(S.loc[['b', 'a', 'c', 'd']])", CovarianceError,
     r"another order.*S.loc\[S.columns, S.columns\]"),
    ("read_covariance(S.reset_index(drop=True))", CovarianceError,
     r"labelled 0, 1, 2 and 1 more.*S.index = S.columns"),
    ("read_covariance(S.set_axis(list('aacd')).set_axis(list('aacd'), axis=1))", DuplicateNamesError, "'a'"),
    *[(f"read_covariance(S, n_obs={n})", OptionError, f"n_obs={n}.*2 or more")
      for n in ("1", "0", "-3", "2.5", "True", "'30'")],
    ("read_covariance(S, sd=True)", WeightsError, "pass the standard deviations"),
    ("read_covariance(S, mean=[1, 2, 3])", WeightsError, r"shape \(3,\); it must be \(4,\)"),
    ("read_covariance(S, sd=[1, 2, 0, -1])", WeightsError, "zero or negative for 'c', 'd'"),
    ("read_covariance(S, mean=pd.Series([1.0, 2, 3, 4]))", WeightsError,
     "labels that do not match the variables"),
]

# fmt: on


def read(data, formula=None, **options):
    return read_data(data, ReadOptions(formula, **options))


def again(data, formula, new):
    """Read rows, and new rows for what was read."""
    return replay(read(data, formula).spec, new)


def names():
    """What the tables name."""
    S = np.cov(np.random.default_rng(0).normal(size=(30, 4)), rowvar=False)
    return {
        **{"np": np, "pd": pd, "sps": sps, "dt": dt},
        **{"read": read, "again": again, "read_covariance": read_covariance},
        "small": pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 0.5]}, index=[*"uvw"]),
        "df": formula_frame(),
        "S": pd.DataFrame(S, index=[*"abcd"], columns=[*"abcd"]),
    }


@each(DATA, FORMULAS, NEW_ROWS, WEIGHTS, COVARIANCES)
def test_refusals(refused):
    known = names()
    for short, name in (("pl.", "polars"), ("pa.", "pyarrow")):
        if short in refused.call:
            known[short[:2]] = pytest.importorskip(name)
    message = require_refusal(refused, known)
    assert "\x1b" not in message
    assert len(message) < 900
