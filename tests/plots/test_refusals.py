"""Calls of plots that are refused: options, frames of another shape, values that cannot be drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array

from spcastat import plots
from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from tests.refusals import each, require_refusal

# `scores` and `loadings` are those of 60 rows and 13 variables in three components.
# fmt: off
BIPLOT = [
    ("biplot(scores, loadings, components=(1, 4))", ComponentsError, "Component 4 was given, which"),
    ("biplot(scores, loadings, components=(1, 1))", ComponentsError, "each once"),
    ("biplot(scores, loadings, components=(1,))", ComponentsError, "needs two components"),
    ("biplot(scores[['PC1']], loadings[['PC1']])", ComponentsError, "a biplot needs two"),
    ("biplot(scores, loadings[['PC1', 'PC2']])", ShapeError, "must be the same"),
    ("biplot(scores.assign(PC2=0.0), loadings)", DataError, "scores of PC2 are constant"),
    ("biplot(scores, loadings, labels='most')", OptionError, "labels='most'"),
    ("biplot(scores, loadings, labels=['a'])", ShapeError, "labels has 1 name; there are 60 rows"),
    ("biplot(scores, loadings, labels=pd.Series({'no row': 'x'}))", ShapeError, "has no label of a row"),
    ("biplot(scores, loadings, arrows='corelations')", OptionError, "Did you mean 'correlations'"),
    ("biplot(scores, loadings, arrows='correlations')", OptionError, "without correlations"),
    ("biplot(scores, loadings, groups=two, palette=['red'])", OptionError, "1 colours for 2 groups"),
    ("biplot(scores, loadings, groups=two, palette={'a': 'red'})", OptionError, "no colour for 'b'"),
    ("biplot(scores, loadings, groups=two, palette='virids')", OptionError, "Did you mean 'viridis'"),
    ("biplot(scores, loadings, groups=two, palette=[(np.nan,) * 3] * 2)", OptionError, "is not a colour"),
    ("biplot(scores, loadings, color=['a'] * 60)", OptionError, "must be one number for each row"),
    ("biplot(scores, loadings, color=[1.0] * 59)", ShapeError, "color has 59 values"),
    ("biplot(scores, loadings, color=[1.0] * 60, groups=two)", OptionError, "groups and color were given"),
    ("biplot(scores, loadings, supplementary=pd.DataFrame({'PC1': [0.1]}))", OptionError,
     "give correlations= with arrows='correlations'"),
    ("biplot(scores, loadings, groups=two[1:])", ShapeError, "groups has 59 values for 60 rows of scores"),
    ("biplot(scores, loadings, groups=scores)", ShapeError, "groups is a DataFrame of . columns; give"),
    ("biplot_data(scores, loadings, groups=pd.Series(two, scores.index)[1:])", ShapeError, "1 label is"),
    ("biplot(scores, loadings, groups=np.arange(60))", OptionError, "60 different values"),
    ("biplot(scores, loadings, groups='species')", OptionError, "the values themselves"),
    ("biplot(scores, loadings, ax='axes')", OptionError, "ax of type str"),
    ("plot_scores(six, components=range(1, 7))", ComponentsError, "pairs of up to 5"),
    ("plot_scores(scores, groups=['a', 'b', 'c'])", ShapeError, "groups has 3 values"),
]

LOADINGS = [
    ("plot_loadings(loadings, components=[0])", ComponentsError, "Component 0"),
    ("plot_loadings(loadings * 0)", DataError, "All loadings are zero"),
    ("plot_loadings(loadings.to_numpy())", ShapeError, "ndarray"),
    ("plot_loadings(loadings, kind='image')", OptionError, "needs the height and width"),
    ("plot_loadings(loadings, kind='blocks', shape=(2, 2))", OptionError, "other kinds do not use"),
    ("plot_loadings(loadings, kind='image', shape=(5, 5))", ShapeError, "height x width = 13"),
    ("plot_loadings(loadings, kind='line', sections=['a'] * 13)", OptionError, "it needs kind='blocks'"),
    ("plot_loadings(loadings, sections=['a'] * 12)", ShapeError, "sections has 12 values for 13 variables"),
    ("plot_loadings(loadings, sections={'nothing': 'a'})", ShapeError, "none of the variables"),
    ("plot_loadings(loadings, intervals=pd.DataFrame({'term': []}))", ShapeError, "lacks the columns"),
    ("plot_loadings(loadings, intervals=turned)", DataError, "lower one not above"),
    ("plot_loadings(loadings, intervals=turned.assign(term='x', upper=0.7))", ShapeError,
     "none of the variables"),
    ("plot_correlations(loadings[['PC1']])", ComponentsError, "needs two"),
    ("plot_correlations(loadings, loadings.iloc[1:])", ShapeError, "same variables"),
    ("plot_correlations(loadings, score_correlations=loadings)", ShapeError, "score_correlation"),
    ("plot_compare(pd.DataFrame({'adjusted': [0.5, 0.6]}, index=['a', 'b']))", ShapeError, "'pev'"),
]

MEASURES = [
    ("screeplot(variance, [1.0, 2.0])", ShapeError, "spectrum has 2 values for 3 components"),
    ("screeplot(variance, [1.0, 2.0, 4.0, 1.0])", OptionError, "increases somewhere"),
    ("screeplot(variance, coo_array([4.0, 2.0, 1.0]))", OptionError, "finite numbers"),
    ("screeplot(variance, parallel=['a'])", OptionError, "must contain finite numbers"),
    ("screeplot(variance.drop(columns='cumulative PCA'))", ShapeError, "lacks 'cumulative PCA'"),
    ("screeplot(variance, parallel=[1.0], kind='cumulative')", OptionError, "are for single components"),
    ("screeplot(variance, parallel=True)", OptionError, "parallel=True was given; it must contain finite"),
    ("plot_path(table, measures='ajusted')", OptionError, "Did you mean 'adjusted'"),
    ("plot_path(table, measures=[])", OptionError, "empty"),
    ("plot_path(table.drop(columns='pca'))", ShapeError, "'pca'"),
    ("plot_path(table.assign(card=[(1, 1), (2, 2), (4, 4)]), x='card')", OptionError, "not one number"),
    ("plot_diagnostics(rows[['T2']], limits)", ShapeError, "need 'Q'"),
    ("plot_diagnostics(rows.iloc[:0], limits)", ShapeError, r"shape \(0, 2\).*a frame with rows"),
]
# fmt: on


@pytest.fixture
def names(scores, loadings):
    """What the tables name."""
    adjusted = np.array([0.2, 0.35, 0.4])
    turned = {"component": ["PC1"], "term": ["variable 1"], "lower": [0.5], "upper": [0.1]}
    return {
        **{name: getattr(plots, name) for name in plots.__all__},
        **{"plots": plots, "np": np, "pd": pd, "coo_array": coo_array},
        **{"scores": scores, "loadings": loadings, "two": ["a", "b"] * 30},
        "six": pd.concat([scores, scores.add_prefix("further ")], axis=1),
        "turned": pd.DataFrame(turned),
        "variance": pd.DataFrame(
            {
                "adjusted variance": 5 * adjusted,
                "share of total": adjusted,
                "cumulative PCA": [0.5, 0.7, 0.9],
            },
            index=["PC1", "PC2", "PC3"],
        ),
        "table": pd.DataFrame(
            {"nonzeros": [2, 4, 8], "adjusted": adjusted, "pev": adjusted, "relative_adjusted": adjusted}
        ).assign(pca=0.5),
        "rows": pd.DataFrame({"T2": [1.0, 9.0], "Q": [0.5, 0.1]}),
        "limits": pd.Series({"T2": 5.0, "Q": 2.0}),
    }


@each(BIPLOT, LOADINGS, MEASURES)
def test_refusals(refused, names):
    require_refusal(refused, names)
