"""Calls of results, of what they print, and of functions beside fits that are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import (
    CardinalityError,
    ColumnTypeError,
    ComponentsError,
    ConstantColumnError,
    DataError,
    DuplicateNamesError,
    FileError,
    MissingValuesError,
    NewDataError,
    NoRowsError,
    OptionError,
    RowGroupsError,
    ShapeError,
    TooFewRowsError,
    UnknownOptionError,
)
from spcastat.show.grid import Layout, VariableArrangement
from spcastat.show.summary import loadings_table
from tests.refusals import each, require_refusal
from tests.results.test_compare import GROUP, covariance, group_rows

# `numbers` are 40 rows with columns a to f, `rows` these and a text, `folder` is empty. `fit` has two
# components, `matrix_fit` those of their covariance matrix without means, `stored` is `fit` from a file.
# fmt: off
FITS = [
    ("matrix_fit.scores", NoRowsError,
     r"scores needs rows, but this is a fit of a covariance matrix.*spca\(data"),
    ("matrix_fit.biplot()", NoRowsError, "fit of a covariance matrix"),
    ("matrix_fit.plot_scores()", NoRowsError, "fit of a covariance matrix"),
    ("matrix_fit.residuals", NoRowsError, "fit of a covariance matrix"),
    ("matrix_fit.diagnostics()", NoRowsError, "fit of a covariance matrix"),
    ("matrix_fit.augment()", NoRowsError, "rows"),
    ("matrix_fit.transform(rows)", NoRowsError, "mean="),
    ("matrix_fit.inverse_transform(np.ones((1, 2)))", NoRowsError, "mean="),
    ("matrix_fit.equations(raw=True)", NoRowsError, "mean"),
    ("matrix_fit.supplement(variables=rows)", NoRowsError, "rows"),
    ("matrix_fit.summary(conf_int=True)", OptionError,
     r"conf_int=True was given, .* give conf_int=fit.bootstrap\(\), or call this method of fit.with_inf"),
    *((f"matrix_fit.summary().{method}(lable='x')", TypeError,
       rf"^{method}\(\) has no argument lable=; it has .*Did you mean 'label'")
      for method in ("as_html", "as_latex", "as_markdown")),
    ("matrix_fit.summary().as_text(label='x')", OptionError, r"^as_text\(\) has no argument label="),
    ("matrix_fit.summary().to_docx('t.docx', capton='x')", OptionError, "to_docx.*Did you mean 'caption'"),
    ("matrix_fit.summary(stars=True)", OptionError,
     r"stars=True was given, .* give stars=fit.test_loadings\(\), or call the method of fit.with_inf"),
    ("fit.imputed", OptionError, "imputed is available only for fits with na='em'"),
    ("fit.inverse_transform(np.ones((4, 3)))", ShapeError, "2 columns"),
    ("fit.inverse_transform(fit.scores[['PC2', 'PC1']])", ShapeError, "order"),
    ("fit.transform(rows.drop(columns='e'))", NewDataError, "'e'"),
    ("fit.augment(fit.augment(rows))", DuplicateNamesError, "fittedPC1"),
    ("fit.augment(rows.assign(b=np.nan))", MissingValuesError, "40 missing"),
    ("fit.measure('PEV')", OptionError, "'PEV'.*'pev'"),
    ("fit.equations(digits=0)", OptionError, "digits"),
    ("fit.refit(card=2, variance=0.9)", OptionError, "has no option .variance."),
    ("fit.describe(3)", OptionError, "choice=3 was given; it must be what choose"),
    ("fit.tidy(conf_int=True)", OptionError,
     r"give conf_int=fit\.bootstrap\(\) for intervals or conf_int=fit\.stability\(\)"),
    ("fit.biplot(groups='sit')", OptionError, "'sit' was given, which is not a column.*Did you mean 'site'"),
    ("fit.biplot(color='site')", OptionError, "color='site'|one number for each row"),
    ("array_fit.biplot(groups='site')", OptionError, "an array without names"),
    ("stored.biplot(groups='site')", NoRowsError, "give the values themselves"),
    ("stored.scales()", NoRowsError, "scales"),
    ("stored.summary(dense=True)", NoRowsError, r"dense=True needs the data, .* fit again: spca\("),
    ("fit.supplement()", OptionError, "given nothing"),
    ("fit.supplement(variables=rows.iloc[:39])", ShapeError, r"1 label is missing, 'r39'.*same labels"),
    ("fit.supplement(variables=rows.assign(when=pd.Timedelta('1h')))", ColumnTypeError,
     "'when' has the type"),
    ("fit.supplement(variables=rows[['a']].iloc[:1].reindex(rows.index))", DataError, "'a' has 1 value"),
    ("fit.supplement(variables=rows[['a']] * np.inf)", DataError, "infinite"),
    ("fit.supplement(variables=[1, 2])", ShapeError, "type list"),
    ("fit.cos2('columns')", OptionError, "of='columns'"),
    ("fit.biplot(supplement=rows)", OptionError, "supplement of type DataFrame"),
    ("fit.rename({'PC3': 'x'})", ComponentsError, "'PC3', which is not a component"),
    ("fit.rename(['x'])", ComponentsError, "1 name for 2 components"),
    ("fit.rename({'PC1': ''})", OptionError, "must be text"),
    ("fit.rename({'PC1': 'PC2'})", DuplicateNamesError, "the same name"),
    ("setattr(fit, 'scores', 3)", AttributeError, "no setter|cannot be set|can.t set"),
    *[(f"{call}(level={level})", OptionError, "level=.* a number between 0 and 1")
      for call in ("fit.limits", "fit.biplot", "fit.tidy") for level in ("0", "1", "95", "'0.95'", "None")],
    ("sp.prcomp", AttributeError, r"dense PCA is spca\(data, k, card=p\)"),
]

CERTIFICATES = [
    ("fit.certify(joint=1)", OptionError, "joint"),
    ("fit.certify(joint=True, objective='rre')", OptionError, "objective"),
    ("fit.certify(joint=False, objective='pev')", OptionError, "joint=False"),
    ("fit.certify(joint=True, time_limit=0)", OptionError, "time_limit"),
]

COMPARED = [
    ("sp.compare({'a': fit, 'b': other})", ShapeError, "'a' only in 'a' and 'long' only in 'b'"),
    ("sp.compare({'a': fit, 'b': sp.spca(X, 2, 3, method='greedy')})", ShapeError, "6 and 12"),
    ("sp.compare({'a': fit})", OptionError, "was given 1 fit; give two or more"),
    ("sp.compare(fit)", OptionError, "was given 1 fit; give two or more"),
    ("sp.compare(fit, rows)", OptionError, r"Argument 2 .* is of type DataFrame.*compare\(fit, other\)"),
    ("sp.compare({'a': fit}, fit)", OptionError, r"Argument 1 of compare\(\) is of type dict"),
    ("sp.compare([fit, fit])", OptionError, r"Argument 1 of compare\(\) is of type list"),
    ("sp.compare({'a': fit, 'b': rows})", OptionError, "'b' is of type DataFrame"),
    ("sp.compare({'l0': matrix_fit, 'a': fit}, held_out=True)", NoRowsError,
     "'l0' was fitted to a covariance matrix"),
    ("sp.compare({'a': fit, 'b': sp.spca(numbers[:30], 2, 3, method='greedy')}, held_out=True)", ShapeError,
     "40 and 30 rows"),
    ("sp.compare({'a': sp.spca(numbers, 6, 3, method='greedy'), 'b': fit}, held_out=True)", ComponentsError,
     "6 components of 6 variables"),
    *[(f"sp.compare({{'a': fit, 'b': fit}}, {name}={value})", OptionError,
       f"{name} was given .* without held_out")
      for name, value in (("data", "rows"), ("folds", "3"), ("repeats", "2"), ("rng", "1"))],
]

# `X` has 240 rows and 12 columns, `GROUP` a and b for 120 rows each.
GROUPS = [
    ("sp.compare_groups(X, ['a'] * 240, 2, 4)", OptionError, "two groups or more"),
    ("sp.compare_groups(X, GROUP[:239], 2, 4)", RowGroupsError, "239 labels for 240 rows"),
    ("sp.compare_groups(X, pd.Series(GROUP, range(5, 245)), 2, 4)", RowGroupsError, "labels"),
    ("sp.compare_groups(X, 'site', 2, 4)", RowGroupsError, "which is not a column"),
    ("sp.compare_groups(X.to_numpy(), 'site', 2, 4)", RowGroupsError, "have no names"),
    ("sp.compare_groups(X, ['a'] * 236 + ['b'] * 4, 2, 5, n_draws=9)", TooFewRowsError, "has 4 rows"),
    ("sp.compare_groups(X, {'a': 1}, 2, 5)", RowGroupsError, "of type dict"),
    ("sp.compare_groups(X, ['a', np.nan] * 120, 2, 4)", RowGroupsError, "120 missing labels"),
    ("sp.compare_groups(X.mask(X > 0), GROUP, 2, 4, na='drop')", TooFewRowsError, "had been dropped"),
    ("sp.compare_groups(X, ['a'] * 238 + ['b'] * 2, 2, 4)", TooFewRowsError, "needs at least 3"),
    ("sp.compare_groups(X, GROUP, 2, 4, na='em')", OptionError, "na='drop'"),
    ("sp.compare_groups(X.mask(X == X.iloc[0, 0]), GROUP, 2, 4)", MissingValuesError, "give na='drop'"),
    ("sp.compare_groups(X, [None, *GROUP[1:]], 2, 4)", RowGroupsError, "groups has 1 missing"),
    ("sp.compare_groups(X, GROUP, 2, 4, clusters=[0] * 240)", OptionError, "cluster 0 has rows in"),
    ("sp.compare_groups(X, GROUP, 2, 4, clusters=np.maximum(np.arange(240) // 6, 19))", TooFewRowsError,
     "1 cluster"),
    ("sp.compare_groups(X, GROUP, 2, 4, scale='blocks')", OptionError, "scale"),
    ("sp.compare_groups('~ . | v1', GROUP, 2, 4, data=X)", OptionError, "covariates"),
    ("sp.compare_groups([X[:120], X[120:]], GROUP, 2, 4)", NoRowsError, "chunks"),
    ("sp.compare_groups(X.corr(), list('abc') * 4, 2, 4)", NoRowsError, "covariance matrix"),
    ("sp.compare_groups(X.assign(v1=(GROUP == 'a') * 1.0), GROUP, 2, 4)", ConstantColumnError, "v1"),
    ("sp.compare_groups(X.mul(GROUP == 'b', axis=0), GROUP, 1, 2, n_draws=9, scale=False)", DataError,
     "does not vary in group"),
]

SPARSE_LOADINGS = [
    ("sp.sparse_loadings(wine)", ComponentsError, "no k"),
    ("sp.sparse_loadings(wine, 14, 2)", ComponentsError, "at most 13"),
    ("sp.sparse_loadings(wine[['ash', 'hue']].assign(c=wine['ash'], d=wine['ash'] + wine['hue']), 3, 2)",
     ComponentsError, "rank 2"),
    ("sp.sparse_loadings(wine, 2, 14, scale=True)", CardinalityError, "card"),
    ("sp.sparse_loadings(wine, 3, total=2, scale=True)", CardinalityError, "total=3 or more"),
    ("sp.sparse_loadings(wine, 3, 2, total=9)", OptionError, "give only one of card="),
    ("sp.sparse_loadings(wine, 3, variance=1.2)", OptionError, "variance"),
    ("sp.sparse_loadings(wine, 3, 2, n_components=2)", UnknownOptionError, "k="),
    ("sp.sparse_loadings(wine, 3, 2, objective='pev')", UnknownOptionError, "objective"),
    ("sp.sparse_loadings(wine, 1, 2, block_length=3, clusters=list(wine.index))", OptionError,
     "Give one of them"),
    ("sp.sparse_loadings(wine, 3, 5, scale=True).summary(conf_int=True)", OptionError, r"bootstrap\(\)"),
    # two directions that hardly vary: the data have rank 3, and their scores are not determined
    ("sp.sparse_loadings_cov(np.diag([1.0, 1.0, 1e-11]), 3, 1, scale=False)", CardinalityError,
     "linearly dependent"),
    ("sp.sparse_loadings_cov(wine.corr(), 3, 5).bootstrap()", NoRowsError, "n_obs="),
    ("sp.sparse_loadings_cov(wine.corr(), 3, 5).scores", NoRowsError, "covariance matrix"),
    ("sp.sparse_loadings_cov(wine.corr(), 3, 5).biplot()", NoRowsError, "rows"),
    ("sp.sparse_loadings_cov(wine.corr(), 3, 5).transform(wine)", NoRowsError, "mean"),
    ("sp.sparse_loadings(wine, 1, 5, scale=True).transform(wine.drop(columns='flavanoids'))", NewDataError,
     "'flavanoids'"),
    ("coordinates.path([0.1], penalty=[1.0])", OptionError, "give the values of one"),
    ("coordinates.path([1.0])", OptionError, "zeros=1"),
    ("coordinates.path([0.1])[0.7]", OptionError, r"no fit with zeros=0\.7"),
    ("coordinates.measure('variance')", OptionError, "name='variance'"),
]

PATHS = [
    ("sp.spca_path(R, k=2, cards=[])", CardinalityError, "empty"),
    ("sp.spca_path(R, k=2, cards=3)", CardinalityError, r"such as cards=range\(1, 4\)"),
    ("sp.spca_path(R, k=2, cards=[99])", CardinalityError, "cards=99"),
    ("sp.spca_path(R, k=2, cards=[1, (1, 1)])", CardinalityError, "mixes"),
    ("sp.spca_path(R, k=2, cards=[(1,)])", CardinalityError, "k=2"),
    ("sp.spca_path(R, cards=10**9)", CardinalityError, "must be a sequence"),
    ("sp.spca_path(R, cards=cycle([1, 2]))", CardinalityError, "more than 100,000 cardinalities"),
    ("sp.spca_path(R, cards=[1, 2], variance=0.9)", OptionError, r"variance= was given to spca_path\(\)"),
    ("sp.spca_path(R, cards=[1, 2], method='greedy', deflate='schur')", UnknownOptionError, "deflate"),
    ("sp.spca_path(R.to_numpy(), cards=[1, 2])", DataError,
     "look like a covariance or correlation matrix.*covariance=True"),
    ("sp.spca_path(R, k=2, cards=[(4, 2)], method='greedy')[9]", CardinalityError, "no fit with card=9"),
    ("sp.spca_path(R, cards=[2], method='greedy')[2].scores", NoRowsError, "covariance matrix"),
]

SHOWN = [
    ("fit.summary(dense='yes')", OptionError, "dense='yes' was given; it must be True or False"),
    ("fit.summary(contributions=True, dense=True)", OptionError,
     "contributions=True was given with dense=True"),
    ("fit.summary(tables='both')", OptionError, "tables='both'"),
    ("fit.summary().as_latex(decimal='x')", OptionError, "decimal"),
    ("Arrangement(cut=-0.1)", OptionError, "cut"),
    ("Layout(digits=11)", OptionError, "digits=11 was given; it must be a whole number from 0 to 10"),
    ("Layout(decimal=';')", OptionError, r"decimal=';' is not known; allowed values are '\.', ','"),
    ("Layout(caption=7)", OptionError, "caption=7 was given; it must be text"),
    ("Layout(label='two words')", OptionError, "label='two words' was given; it must begin with a letter"),
    ("fit.report(folder / 'nowhere' / 'out.html')", FileError, "cannot be written"),
    ("fit.report(folder / 'x.pdf')", FileError, r"must end in \.html, \.htm or \.docx\."),
    ("fit.report(folder / 'x.html', groups=['a', 'b', 'c'])", ShapeError, "groups has 3 values"),
    ("fit.report(folder / 'x.docx', full_names='no')", OptionError,
     "full_names='no' was given; it must be True or False"),
    ("fit.summary().to_docx(folder / 'x.txt')", FileError,
     r"'x.txt' was given; its name must end in \.docx\."),
    ("path.explore(folder / 'nowhere' / 'out.html')", FileError, "cannot be written"),
    ("path.explore(folder / 'out.pdf')", FileError, r"must end in \.html or \.htm"),
    *[(f"path.explore({place})", OptionError, "path=") for place in ("3", "None", "''", "'a\\0b'")],
    ("path.explore(folder / 'out.html', title=3)", OptionError, "title="),
]
# fmt: on


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What the tables name, made once: no refused call changes it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)) + [5, 0, -3, 2, 1, 100]
    numbers = pd.DataFrame(X, columns=list("abcdef"), index=[f"r{i}" for i in range(40)])
    rows = numbers.assign(site=list("xyzw") * 10)
    folder = tmp_path_factory.mktemp("refusals")
    used = "~ a + b + c + d + e + f"
    fit = sp.spca(rows, 2, 3, formula=used, method="greedy")
    fit.save(folder / "fit.spca")
    stored = sp.load(folder / "fit.spca")
    (folder / "fit.spca").unlink()
    return {
        **{"loadings_table": loadings_table, "Arrangement": VariableArrangement, "Layout": Layout},
        **{"sp": sp, "np": np, "pd": pd, "cycle": itertools.cycle, "GROUP": GROUP},
        **{"rows": rows, "numbers": numbers, "folder": folder, "fit": fit, "stored": stored},
        "array_fit": sp.spca(numbers.to_numpy(), 2, 3, method="greedy"),
        "matrix_fit": sp.spca_cov(numbers.cov(), 2, 3, method="greedy"),
        "other": sp.spca(numbers.rename(columns={"a": "long"}), 2, 3, method="greedy"),
        "path": sp.spca_path(numbers, 1, cards=[1, 2], method="greedy"),
        "coordinates": sp.spco(numbers, 2, zeros=0.3),
        "X": group_rows(1, covariance(), covariance(swap=True)),
        "R": sp.datasets.load_pitprops(),
        "wine": sp.datasets.load_wine(),
    }


@each(FITS, CERTIFICATES, COMPARED, GROUPS, SPARSE_LOADINGS, PATHS, SHOWN)
def test_refusals(refused, made):
    if "docx" in refused.call:
        pytest.importorskip("docx")
    require_refusal(refused, made)
    assert not list(made["folder"].iterdir())
