"""Methods of a fit for interpretation: contributions, supplementary data, descriptions, names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from spcastat.config import elements, listed, nearest, one_of, plural, shown
from spcastat.errors import ComponentsError, DuplicateNamesError, OptionError
from spcastat.intake.frames import open_table
from spcastat.labels import full_names, name_text
from spcastat.report.summary import Summary
from spcastat.results.call import OfFit
from spcastat.results.delegation import attribute
from spcastat.results.other_names import answered
from spcastat.state import component_frames, row_scores
from spcastat.state.copies import own
from spcastat.state.supplementary import Further, describe, further
from spcastat.tables import Document, Table
from spcastat.tables.grid import number_rows

#: Largest number of rows in a printed table; frames have all.
MOST_ROWS = 30
#: The description of the option `supplement` of plots.
DRAWN = """supplement : Supplement, optional
    What `supplement` returned: its rows are drawn as crosses, the means of levels as diamonds, and numeric
    variables as arrows among the correlations."""


class Supplement(Summary):
    """Supplementary rows and variables, the result of ``fit.supplement()``; plots take it as ``supplement=``.

    Notes
    -----
    Its `frames` are, depending on the rows and variables given:

    "rows", "rows_cos2"
        Scores of the rows, m x k, and their squared cosines with the components.
    "correlations", "correlations_cos2"
        Correlations of numeric variables with the scores, s x k, and their squares.
    "levels", "test_values"
        Means of the scores for the levels of factors, by (variable, level), and their test values. A test
        value above 2 in absolute value is significant at about 5 %.
    "ratios"
        Share of the variance of each score between the levels of each factor.
    "sizes"
        Number of rows (sum of weights) of each numeric variable, level and factor.
    """

    def __init__(self, rows: pd.DataFrame | None, cos2: pd.DataFrame | None, further: Further | None):
        self._further = further
        frames: dict[str, pd.DataFrame] = {}
        tables, notes, key = [], [], []
        self._levels: pd.DataFrame | None = None
        if rows is not None and cos2 is not None:
            frames |= {"rows": rows, "rows_cos2": cos2}
            tables.append(_pairs("Row", rows, cos2, full_names(rows.index), "cos2"))
            notes += [f"{MOST_ROWS} of {len(rows)} rows are shown."] * (len(rows) > MOST_ROWS)
            key = ["cos2: squared cosine of the row with the component."]
        if further is not None and len(further.correlations):
            correlations = further.correlations
            frames |= {"correlations": correlations, "correlations_cos2": correlations**2}
            lines = zip(number_rows(correlations[:MOST_ROWS], 2), correlations.index, strict=False)
            cells = (replace(row, cells=(*row.cells, f"{further.sizes[name]:g}")) for row, name in lines)
            tables.append(Table("Correlation", (*full_names(correlations.columns), "n"), tuple(cells)))
        if further is not None and len(further.levels):
            frames |= {"levels": further.levels, "test_values": further.test_values, "ratios": further.ratios}
            names = [f"{name_text(factor)} = {name_text(value)}" for factor, value in further.levels.index]
            self._levels = further.levels.set_axis(names)
            tables.append(_pairs("Level: mean score", further.levels, further.test_values, names, "test"))
            notes.append("test: test value; beyond 2 in size a level goes with the component (5 %).")
        if further is not None:
            frames["sizes"] = further.sizes.to_frame("n")
        document = Document("Supplementary rows and variables", (), tuple(tables), (*notes, *key))
        super().__init__(document, frames)

    rows: pd.DataFrame | None = attribute(
        lambda given: given._frames.get("rows"), "Scores of the supplementary rows, m x k; None without them."
    )
    correlations: pd.DataFrame | None = attribute(
        lambda given: given._frames.get("correlations"),
        "Correlations of the numeric variables with the scores, s x k; None without them.",
    )
    levels: pd.DataFrame | None = attribute(
        "_levels", 'Mean scores of the levels of factors, labelled "variable = level"; None without factors.'
    )


def _pairs(title: str, frame: pd.DataFrame, second: pd.DataFrame, names: list[str], what: str) -> Table:
    """Return a table of the numbers in `frame`, each followed by its counterpart in `second`."""
    both = np.stack([np.asarray(frame), np.asarray(second)], axis=2).reshape(len(names), -1)
    headings = tuple(text for name in full_names(frame.columns) for text in (name, what))
    return Table(title, headings, number_rows(pd.DataFrame(both, names)[:MOST_ROWS], 2), together=2)


def checked(given: Any) -> Supplement:
    """Return the option ``supplement=`` of a plot; raise OptionError if it is not a Supplement."""
    if isinstance(given, Supplement):
        return given
    raise OptionError(
        f"supplement of type {type(given).__name__} was given; it must be what fit.supplement(rows=..., "
        "variables=...) returns."
    )


class Interpreted(OfFit):
    """Mixin with the methods for interpreting components."""

    _distances: pd.DataFrame

    @answered
    def contributions(self, of: Literal["variables", "rows"] = "variables") -> pd.DataFrame:
        """Return the contribution of each variable, or row, to each component; contributions sum to 1.

        Parameters
        ----------
        of : {"variables", "rows"}
            For variables, squared loadings, p x k. For rows, (weighted) squared scores over their sum, n x k.

        Raises
        ------
        NoRowsError
            For rows, if the fit does not have them in memory.
        """
        if one_of("of", of, component_frames.OF) == "variables":
            return self._state.by_variable(self._state.V**2)
        source = row_scores.need_rows(self._state, self._source, "contributions('rows')")
        return component_frames.row_contributions(own(self._scores), source.weights)

    @answered
    def cos2(self, of: Literal["variables", "rows"] = "variables") -> pd.DataFrame:
        """Return the squared cosines: how well each component represents each variable, or row.

        Parameters
        ----------
        of : {"variables", "rows"}
            For variables, squared correlations with the scores, p x k. For rows, squared cosines between the
            centred row and the loadings, n x k. Sums over components are at most 1 only if the scores are
            uncorrelated, or the loadings orthogonal; `communalities` has the share that all scores explain.

        Raises
        ------
        NoRowsError
            For rows, if the fit does not have them in memory.
        """
        if one_of("of", of, component_frames.OF) == "variables":
            return component_frames.correlations(self._state) ** 2
        row_scores.need_rows(self._state, self._source, "cos2('rows')")
        return component_frames.row_cos2(self._state, own(self._scores), self._distances["Q"].to_numpy())

    @answered
    def supplement(self, rows: Any = None, variables: Any = None, *, na: str = "raise") -> Supplement:
        """Return scores of supplementary rows, and associations of supplementary variables with components.

        Parameters
        ----------
        rows : DataFrame, array, sparse matrix, polars or pyarrow table, optional
            Rows as for `transform`, for which scores and squared cosines are returned.
        variables : DataFrame or Series, optional
            Values for each row of the fit, matched by row labels; labels 0, 1, ... are matched by position if
            the rows of the fit have other labels. For numbers, correlations with the scores are returned; for
            factors (text, categories, booleans), the mean score of each level with its test value, (mean of
            the level - overall mean) over its standard error under random sampling of the level without
            replacement. Rows with a missing value are left out for that variable.
        na : str
            Treatment of missing values in `rows`, as for `transform`.

        Returns
        -------
        Supplement
            Frames and tables; ``biplot(supplement=...)`` and ``plot_correlations(supplement=...)`` draw it.

        Raises
        ------
        OptionError
            If neither rows nor variables are given.
        NoRowsError
            For variables, if the rows of the fit are not in memory.
        ShapeError, ColumnTypeError, DataError
            If the variables have other rows or unsuitable types.
        """
        if rows is None and variables is None:
            raise OptionError("supplement() was given nothing; give rows=, variables=, or both.")
        scores, cos2 = None, None
        if rows is not None:
            scores = row_scores.scores_of_new(self._state, rows, na)
            q = row_scores.diagnostics_of(self._state, rows, na)["Q"].to_numpy()
            cos2 = component_frames.row_cos2(self._state, scores, q)
        return Supplement(scores, cos2, None if variables is None else self._further(variables))

    @answered
    def describe_components(self, variables: Any = None, *, level: float = 0.05) -> pd.DataFrame:
        """Return the variables associated with each component, including supplementary ones, with tests.

        Parameters
        ----------
        variables : DataFrame, Series or Supplement, optional
            Supplementary variables, as for `supplement`.
        level : float in (0, 1]
            Only rows with a p-value up to this level are returned; 1 returns all.

        Returns
        -------
        DataFrame
            One row for each component and variable, the strongest first: "component"; "kind" ("variable" of
            the fit, "supplementary" number, "factor", "level"); "term"; "loading" of a variable; "estimate",
            which is a correlation, for a factor the share of the variance of the score between its levels,
            for a level its mean score; "statistic", which is t, F, or a test value; "p_value". Variables with
            a nonzero loading have no statistic and no p-value.

        Notes
        -----
        The tests treat the component as fixed. Variables with a nonzero loading define it and are not tested;
        the p-values of the other variables of the fit are too small, since these took part in the selection;
        those of supplementary variables are valid.
        """
        found = variables._further if isinstance(variables, Supplement) else None
        if variables is not None and not isinstance(variables, Supplement):
            found = self._further(variables)
        return describe(self._state, found, level)

    @answered
    def rename(self, names: Mapping[Any, str] | Any) -> Self:
        """Return the same fit with new names of its components, which are used in all output.

        Parameters
        ----------
        names : mapping or sequence of str
            Mapping from old names or numbers (from 1) to new names, or a sequence of names for all
            components.

        Raises
        ------
        ComponentsError
            If a component does not exist, or the number of names is wrong.
        OptionError
            If a name is not text, or is empty.
        DuplicateNamesError
            If two components would have the same name.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca_cov(sp.datasets.load_pitprops(), 2, 5).rename({"PC1": "size"})
        >>> list(fit.components)
        ['size', 'PC2']
        """
        state = self._state
        renamed = _renamed(list(state.components), names)
        record = replace(state.record, names=renamed)
        scores = None if state.scores is None else own(state.scores).set_axis(renamed, axis=1)
        made: Any = type(self)
        twin: Self = made(replace(state, record=record, scores=scores), self._source, self._call)
        return twin

    def _further(self, variables: Any) -> Further:
        source = row_scores.need_rows(self._state, self._source, "supplementary variables")
        if not isinstance(variables, (pd.DataFrame, pd.Series)) and hasattr(variables, "columns"):
            table = open_table(variables)
            variables = table.values
            if not table.labelled and len(table.index) == len(self._scores):
                variables = variables.set_axis(self._scores.index)
        return further(variables, own(self._scores), source.weights)


def _renamed(old: list[str], names: Any) -> list[str]:
    """Return the names of all components after renaming."""
    if isinstance(names, Mapping):
        new = list(old)
        places: dict[Any, int] = {label: j for j, name in enumerate(old) for label in (j + 1, name)}
        for key, name in names.items():
            place = places.get(key)
            if place is None:
                raise ComponentsError(
                    f"rename() was given {shown(key)}, which is not a component; there are {listed(old)}."
                    f"{nearest(key, old)}"
                )
            new[place] = name
    else:
        new = elements(names, len(old))
        if len(new) != len(old):
            raise ComponentsError(
                f"rename() was given {plural(len(new), 'name')} for {plural(len(old), 'component')}; give "
                "one for each, or a mapping such as {'PC1': 'size'}."
            )
    for name in new:
        if not isinstance(name, str) or not name.strip():
            raise OptionError(
                f"rename() was given {shown(name)}; the name of a component must be text, not empty."
            )
    if len({name_text(name) for name in new}) < len(new):
        raise DuplicateNamesError(f"rename() would give two components the same name: {listed(new)}.")
    return [str(name) for name in new]
