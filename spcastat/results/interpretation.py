"""What a fit means: contributions, what goes with its components, further rows and variables, names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from spcastat.config import elements, listed, nearest, one_of, plural, shown
from spcastat.errors import ComponentsError, DuplicateNamesError, OptionError
from spcastat.intake.frames import open_table
from spcastat.labels import name_text
from spcastat.results.supplement import Supplement
from spcastat.state import FitState
from spcastat.state import row_scores as rows
from spcastat.state import squared_cosines as interpreted
from spcastat.state.copies import own
from spcastat.state.supplementary import Further, describe, further

if TYPE_CHECKING:
    from typing import Self

    from spcastat.engine.inputs import Source


class Interpreted:
    """What the components are made of, and what goes with them."""

    _state: FitState
    _source: Source | None
    _scores: Any
    _distances: pd.DataFrame
    _call: Any

    def contributions(self, of: Literal["variables", "rows"] = "variables") -> pd.DataFrame:
        """Return the part of each variable, or row, in each component; the parts add up to 1.

        Parameters
        ----------
        of : {"variables", "rows"}
            Variables: squared loadings, p x k. Rows: their squared scores (with their weights) over the sum
            of these, n x k.

        Raises
        ------
        NoRowsError
            For rows, where the fit does not have them in memory.
        """
        if one_of("of", of, interpreted.OF) == "variables":
            return interpreted.contributions(self._state)
        source = rows.need_rows(self._state, self._source, "contributions('rows')")
        return interpreted.row_contributions(own(self._scores), source.weights)

    def cos2(self, of: Literal["variables", "rows"] = "variables") -> pd.DataFrame:
        """Return how well each component shows each variable, or row.

        Parameters
        ----------
        of : {"variables", "rows"}
            Variables: squared correlations with the scores, p x k. Rows: squared cosines between the row
            (from the centre) and the loadings, n x k. Over several components they add up to at most 1
            only where scores, or loadings, are uncorrelated; `communalities` has what all scores explain.

        Raises
        ------
        NoRowsError
            For rows, where the fit does not have them in memory.
        """
        if one_of("of", of, interpreted.OF) == "variables":
            return interpreted.cos2(self._state)
        rows.need_rows(self._state, self._source, "cos2('rows')")
        return interpreted.row_cos2(self._state, own(self._scores), self._distances["Q"].to_numpy())

    def supplement(self, rows: Any = None, variables: Any = None, *, na: str = "raise") -> Supplement:
        """Return how further rows and variables, which took no part in the fit, lie in its components.

        Parameters
        ----------
        rows : DataFrame, array, sparse matrix, polars or pyarrow table, optional
            As for `transform`: their scores and squared cosines.
        variables : DataFrame or Series, optional
            With a value for each row of the fit, by its label; labels 0, 1, ... go by position where the
            rows of the fit have others. Correlations of numbers with the scores; for factors (text,
            categories, booleans) the mean score of each level with its test value,
            (mean of the level - mean of all) over its standard error if the rows of the level were drawn from
            all without replacement. Missing values leave out a row for their variable.
        na : str
            What to do with missing values in `rows`, as for `transform`.

        Returns
        -------
        Supplement
            Frames and tables; ``biplot(supplement=...)`` and ``plot_correlations(supplement=...)`` draw it.

        Raises
        ------
        OptionError
            Neither rows nor variables.
        NoRowsError
            For variables, where the rows of the fit are not in memory.
        ShapeError, ColumnTypeError, DataError
            Variables of other rows or types.
        """
        if rows is None and variables is None:
            raise OptionError("supplement() was given nothing; give rows=, variables=, or both.")
        scores, cos2 = None, None
        if rows is not None:
            scores = _transform(self._state, rows, na)
            q = _distances_of(self._state, rows, na)["Q"].to_numpy()
            cos2 = interpreted.row_cos2(self._state, scores, q)
        return Supplement(scores, cos2, None if variables is None else self._further(variables))

    def describe_components(self, variables: Any = None, *, level: float = 0.05) -> pd.DataFrame:
        """Return the variables that go with each component, supplementary ones too, with tests.

        Parameters
        ----------
        variables : DataFrame, Series or Supplement, optional
            Supplementary ones, as for `supplement`.
        level : float in (0, 1]
            Of what has a p value, only that up to it is kept; 1 keeps everything.

        Returns
        -------
        DataFrame
            One row for each component and variable, the strongest first: "component"; "kind" ("variable" of
            the fit, "supplementary" number, "factor", "level"); "term"; "loading" of a variable; "estimate",
            which is a correlation, for a factor the share of the variance of the score between its levels,
            for a level its mean score; "statistic", which is t, F, or a test value; "p_value". Those with a
            nonzero loading have neither of the two.

        Notes
        -----
        The tests take the component for given. It is made of the variables with a nonzero loading, which have
        no test; the p values of the other variables of the fit are too small, since they took part in the
        choice; those of supplementary variables can be taken at face value.
        """
        found = variables._further if isinstance(variables, Supplement) else None
        if variables is not None and not isinstance(variables, Supplement):
            found = self._further(variables)
        return describe(self._state, found, level)

    def rename(self, names: Mapping[Any, str] | Any) -> Self:
        """Return the same fit with other names of its components, which then stand everywhere.

        Parameters
        ----------
        names : mapping or sequence of str
            New names by the old ones or by their numbers from 1, or one for each component.

        Raises
        ------
        ComponentsError
            A component that is not there, or another number of names than components.
        OptionError
            A name that is not text, or empty.
        DuplicateNamesError
            Two components would have one name.

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
        source = rows.need_rows(self._state, self._source, "supplementary variables")
        if not isinstance(variables, (pd.DataFrame, pd.Series)) and hasattr(variables, "columns"):
            table = open_table(variables)
            variables = table.values
            if not table.labelled and len(table.index) == len(self._scores):
                variables = variables.set_axis(self._scores.index)
        return further(variables, own(self._scores), source.weights)


def _transform(state: FitState, new: Any, na: str) -> pd.DataFrame:
    found: pd.DataFrame = rows.scores_of_new(state, new, na)
    return found


def _distances_of(state: FitState, new: Any, na: str) -> pd.DataFrame:
    return rows.diagnostics_of(state, new, na)


def _renamed(old: list[str], names: Any) -> list[str]:
    """Return the names of all components after some or all have got new ones."""
    if isinstance(names, Mapping):
        new = list(old)
        for key, name in names.items():
            place = (
                old.index(key)
                if key in old
                else key - 1
                if isinstance(key, int) and 0 < key <= len(old)
                else None
            )
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
        raise DuplicateNamesError(f"rename() would give two components one name: {listed(new)}.")
    return [str(name) for name in new]
