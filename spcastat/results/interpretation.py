"""Methods of a fit for interpretation: supplementary data, names, scales, and data for plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.arguments import elements, listed, nearest, one_of, plural, shown, warn
from spcastat.errors import ComponentsError, DataWarning, DuplicateNamesError, OptionError
from spcastat.fit import frames
from spcastat.fit.record import deep_copy
from spcastat.fit.rows import diagnostics_of, need_rows, scores_of_new
from spcastat.fit.state import FitState, Picklable
from spcastat.fit.supplementary import Associations, ScaleNumbers, associations_with
from spcastat.inputs.data import Data, values_by_row
from spcastat.labels import full_names, name_text
from spcastat.reading.frames import open_table
from spcastat.show.facts import drawn_variances
from spcastat.show.grid import Document, Row, Table, fixed, number_rows
from spcastat.show.renderings import Outcome, Screen
from spcastat.show.scale_tables import print_of_scales, scales_document

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest number of rows in a printed table; the frames contain all rows.
PRINTED_TABLE_ROWS = 30


class Supplement(Outcome):
    """Supplementary rows and variables: the result of ``fit.supplement()``, which plots also accept.

    It prints as text and shows as HTML in a notebook. Tables without data are None.
    """

    _short_name = "supplement"

    def __init__(
        self, rows: pd.DataFrame | None, cos2: pd.DataFrame | None, supplement: Associations | None
    ) -> None:
        self._rows, self._cos2, self._associations = rows, cos2, supplement
        self._factors = None if supplement is None or supplement.levels.empty else supplement

    def _document(self) -> Document:
        return _document(self._rows, self._cos2, self._associations)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables by name, without those that are None."""
        tables = {
            "rows": self.rows,
            "rows_cos2": self.rows_cos2,
            "correlations": self.correlations,
            "correlations_cos2": self.correlations_cos2,
            "levels": self.levels,
            "test_values": self.test_values,
            "ratios": self.ratios,
            "sizes": self.sizes,
        }
        return {name: frame for name, frame in tables.items() if frame is not None}

    @property
    def rows(self) -> pd.DataFrame | None:
        """Scores of the supplementary rows, m x k."""
        return None if self._rows is None else deep_copy(self._rows)

    @property
    def rows_cos2(self) -> pd.DataFrame | None:
        """Squared cosines of the supplementary rows with the components, m x k."""
        return None if self._cos2 is None else deep_copy(self._cos2)

    @property
    def correlations(self) -> pd.DataFrame | None:
        """Correlations of the numeric variables with the scores, s x k."""
        associations = self._associations
        return (
            None
            if associations is None or associations.correlations.empty
            else deep_copy(associations.correlations)
        )

    @property
    def correlations_cos2(self) -> pd.DataFrame | None:
        """Squared correlations of the numeric variables with the scores, s x k."""
        correlations = self.correlations
        return None if correlations is None else correlations**2

    @property
    def levels(self) -> pd.DataFrame | None:
        """Mean scores of the levels of factors, by (variable, level)."""
        return None if self._factors is None else deep_copy(self._factors.levels)

    @property
    def test_values(self) -> pd.DataFrame | None:
        """Test values of `levels`, by (variable, level); values beyond +-2 are significant at 5 %."""
        return None if self._factors is None else deep_copy(self._factors.test_values)

    @property
    def ratios(self) -> pd.DataFrame | None:
        """Share of the variance of each score between the levels of each factor."""
        return None if self._factors is None else deep_copy(self._factors.ratios)

    @property
    def sizes(self) -> pd.DataFrame | None:
        """Number of rows (sum of weights) of each numeric variable, level and factor, in the column "n"."""
        return None if self._associations is None else deep_copy(self._associations.sizes.to_frame("n"))


def _document(
    rows: pd.DataFrame | None, cos2: pd.DataFrame | None, supplement: Associations | None
) -> Document:
    tables, notes, key = [], [], []
    if rows is not None and cos2 is not None:
        tables.append(_pairs("Row", rows, cos2, full_names(rows.index), "cos2"))
        notes += [f"{PRINTED_TABLE_ROWS} of {len(rows)} rows are shown."] * (len(rows) > PRINTED_TABLE_ROWS)
        key = ["cos2: squared cosine of the row with the component."]
    if supplement is not None and len(supplement.correlations):
        correlations = supplement.correlations
        lines = zip(number_rows(correlations[:PRINTED_TABLE_ROWS], 2), correlations.index, strict=False)
        sizes = dict(zip(supplement.sizes.index, supplement.sizes, strict=True))
        cells = (replace(row, cells=(*row.cells, f"{sizes[name]:g}")) for row, name in lines)
        tables.append(Table("Correlation", (*full_names(correlations.columns), "n"), tuple(cells)))
    if supplement is not None and len(supplement.levels):
        names = level_names(supplement.levels.index)
        tables.append(_pairs("Level: mean score", supplement.levels, supplement.test_values, names, "test"))
        notes.append("test: test value; beyond 2 in size, the level is associated with the component (5 %).")
    return Document("Supplementary rows and variables", (), tuple(tables), (*notes, *key))


def associations_document(associations: pd.DataFrame, alpha: float) -> Document:
    """Return the table that `SpcaResult.describe_components` prints."""
    rows = []
    for component, kind, term, loading, estimate, statistic, p in associations.itertuples(index=False):
        values = (loading or np.nan, estimate, statistic, p)  # a loading of zero is blank
        numbers = ("" if np.isnan(value) else fixed(value, 3) for value in values)
        rows.append(Row(name_text(term), (kind, *numbers), name_text(component)))
    headings = ("kind", "loading", "estimate", "statistic", "p")
    about_estimates = (
        "estimate: correlation with the score; for a factor, the share of the variance of the score between "
        "its levels; for a level, its mean score."
    )
    about_tests = (
        "statistic: t, F for a factor, the test value for a level. Selected variables are not tested. "
        + (f"Of the others, those with p <= {alpha:g} are shown; p" if alpha < 1 else "p")
        + " is not adjusted for multiple tests."
    )
    return Document(
        "Variables associated with each component",
        tables=(Table("Component", headings, tuple(rows), "lrrrr"),),
        notes=(f"{about_estimates} {about_tests}",),
        print_notes=(about_estimates, about_tests),
    )


def level_names(levels: pd.Index) -> list[str]:
    """Return the text "variable = level" for each pair of a variable and a level."""
    return [f"{name_text(factor)} = {name_text(value)}" for factor, value in levels]


def _pairs(title: str, frame: pd.DataFrame, frame2: pd.DataFrame, names: list[str], noun: str) -> Table:
    """Return a table of the numbers in `frame`, each followed by its counterpart in `frame2`."""
    cells = np.stack([np.asarray(frame), np.asarray(frame2)], axis=2).reshape(len(names), -1)
    headings = tuple(text for name in full_names(frame.columns) for text in (name, noun))
    return Table(
        title, headings, number_rows(pd.DataFrame(cells, names)[:PRINTED_TABLE_ROWS], 2), column_step=2
    )


def checked_supplement(given: Any) -> Supplement:
    """Return the option ``supplement=`` of a plot; raise OptionError if it is not a Supplement."""
    if isinstance(given, Supplement):
        return given
    raise OptionError(
        f"supplement of type {type(given).__name__} was given; it must be the result of "
        "fit.supplement(rows=..., variables=...)."
    )


def supplement(
    state: FitState,
    source: Data | None,
    scores: Callable[[], pd.DataFrame],
    rows: Any,
    variables: Any,
    na: str | None,
) -> Supplement:
    """Return scores of rows and associations of supplementary variables; see `SpcaResult.supplement`.

    `scores` is a function that returns the scores of the rows of the fit, n x k.
    """
    if rows is None and variables is None:
        raise OptionError("supplement() was given nothing; give rows=, variables=, or both.")
    scores_of_rows, cos2 = None, None
    if rows is not None:
        scores_of_rows = scores_of_new(state, rows, na)
        q = diagnostics_of(state, rows, na)["Q"].to_numpy()
        cos2 = frames.row_cos2(state, scores_of_rows, q)
    associations = None if variables is None else further_variables(state, source, scores, variables)
    return Supplement(scores_of_rows, cos2, associations)


def further_variables(
    state: FitState, source: Data | None, scores: Callable[[], pd.DataFrame], variables: Any
) -> Associations:
    """Return the associations of supplementary variables with the scores; parameters as for `supplement`."""
    source = need_rows(state, source, "supplementary variables")
    fit_scores = scores()
    if not isinstance(variables, (pd.DataFrame, pd.Series)) and hasattr(variables, "columns"):
        table = open_table(variables)
        variables = table.values
        if not table.labelled and len(table.index) == len(fit_scores):
            variables = variables.set_axis(fit_scores.index)
    return associations_with(variables, fit_scores, source.weights)


def renamed(state: FitState, names: Any) -> FitState:
    """Return the state of a fit with new names of its components; see `SpcaResult.rename`."""
    new_names = _renamed(list(state.components), names)
    scores = None if state.scores is None else deep_copy(state.scores).set_axis(new_names, axis=1)
    return replace(state, record=replace(state.record, names=new_names), scores=scores)


def _renamed(components: list[str], names: Any) -> list[str]:
    """Return the names of all components after renaming."""
    if isinstance(names, Mapping):
        new_names = list(components)
        places: dict[Any, int] = {label: j for j, name in enumerate(components) for label in (j + 1, name)}
        for key, name in names.items():
            place = places.get(key)
            if place is None:
                raise ComponentsError(
                    f"rename() was given {shown(key)}, which is not a component; the components are "
                    f"{listed(components)}.{nearest(key, components, names)}"
                )
            new_names[place] = name
    else:
        new_names = elements(names, len(components))
        if len(new_names) != len(components):
            raise ComponentsError(
                f"rename() was given {plural(len(new_names), 'name')} for "
                f"{plural(len(components), 'component')}; give one for each, or a mapping such as "
                "{'PC1': 'size'}."
            )
    for name in new_names:
        if not isinstance(name, str) or not name.strip():
            raise OptionError(
                f"rename() was given {shown(name)}; the name of a component must be text, not empty."
            )
    if len({name_text(name) for name in new_names}) < len(new_names):
        raise DuplicateNamesError(f"rename() would give two components the same name: {listed(new_names)}.")
    return [str(name) for name in new_names]


class ComponentAssociations(Outcome):
    """The variables associated with each component, the result of `describe_components`."""

    _short_name = "associations"


class Scales(Picklable, Outcome):
    """Components as sums of their variables: reliability, and the variance that unit weights retain."""

    _short_name = "scales"

    def __init__(self, numbers: ScaleNumbers) -> None:
        self._numbers = numbers

    def _document(self) -> Document:
        return scales_document(self._numbers.table, self._numbers.items, self._numbers.kept_share)

    def _screen(self) -> Screen:
        return print_of_scales(self._document(), self._numbers.items)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "scales" and "items"."""
        return {"scales": self.table, "items": self.items}

    @property
    def table(self) -> pd.DataFrame:
        """One row for each component.

        "items" is the number of variables; "alpha" is Cronbach's alpha in the units of the data (NaN for a
        correlation matrix), and "alpha_std" the alpha of standardised variables; "omega" is the share of the
        variance of the standardised sum that one common factor explains; "mean_r" is the mean correlation;
        "r_component" is the correlation of the sum with the component. Alpha is NaN for fewer than two
        variables, and omega for fewer than three.
        """
        return deep_copy(self._numbers.table)

    @property
    def items(self) -> pd.DataFrame:
        """One row for each variable of a component.

        The columns are "component", "key" ("+" or "-"), "term"; "r_rest", the correlation of the variable
        with the sum of the other variables; "r_other", its largest absolute correlation with the sum of
        another component; and "other", the name of that component.
        """
        return deep_copy(self._numbers.items)

    @property
    def kept(self) -> float:
        """The adjusted variance of the sums, relative to the adjusted variance of the components."""
        return self._numbers.kept_share


# --- data for plots -------------------------------------------------------------------------------


class FurtherPoints(TypedDict):
    """Additional points and arrows in a biplot; a field is None if no such data were given.

    Attributes
    ----------
    new : DataFrame, m x k, or None
        Scores of new and of supplementary rows.
    supplementary : DataFrame, s x k, or None
        Correlations of supplementary numbers with the scores.
    levels : DataFrame, l x k, or None
        Mean scores of levels of supplementary factors.
    """

    new: pd.DataFrame | None
    supplementary: pd.DataFrame | None
    levels: pd.DataFrame | None


def further_points(state: FitState, new: Any, supplement: Any, arrows: str) -> FurtherPoints:
    """Return new and supplementary rows and levels, and correlations if the arrows are correlations."""
    among_correlations = one_of("arrows", arrows, plots.ARROWS) == "correlations"
    fresh = None if new is None else scores_of_new(state, new)
    if supplement is None:
        return {"new": fresh, "supplementary": None, "levels": None}
    supplementary = checked_supplement(supplement)
    parts = [part for part in (supplementary.rows, fresh) if part is not None]
    levels = supplementary.levels
    return {
        "new": pd.concat(parts) if parts else None,
        "supplementary": supplementary.correlations if among_correlations else None,
        "levels": None if levels is None else levels.set_axis(level_names(levels.index)),
    }


def scree(state: FitState, kind: str, parallel: Any, max_components: int | None, ax: Axes | None) -> Axes:
    """Draw variances; see `SpcaResult.screeplot`."""
    spectrum = frames.spectrum(state)
    # a result of choose_k() or choose() checks that it belongs to the data of the fit
    check = getattr(type(parallel), "_noise_for", None)
    return plots.screeplot(
        drawn_variances(state),
        spectrum,
        kind=kind,  # type: ignore[arg-type]
        sparse=not state.record.is_pca,
        parallel=parallel if check is None else check(parallel, spectrum),
        max_components=max_components,
        ax=ax,
    )


# --- rows that are not all in memory ---------------------------------------------------------------


def sampled_diagnostics(diagnostics: pd.DataFrame) -> pd.DataFrame:
    """Return T2 and Q of a sample of rows, with a warning that they are a sample."""
    if "sample" in diagnostics.attrs:
        warn(f"diagnostics() returns the distances of {diagnostics.attrs['sample']}.", DataWarning)
    return deep_copy(diagnostics[["T2", "Q"]])


def with_sample(ax: Axes, frame: pd.DataFrame) -> Axes:
    """Write the description of the sample, if `frame` is one, above the axes, and return them."""
    if "sample" in frame.attrs:
        ax.set_title(frame.attrs["sample"], loc="right", fontsize="x-small")
    return ax


# --- values by row ---------------------------------------------------------------------------------


def by_row(data: Data | None, given: Any, option: str) -> Any:
    """Return the values of an option for the rows of the fit; a string names a column of its data.

    Parameters
    ----------
    data : Data or None
        None for a fit from a file.
    given : object
        Anything but text is returned unchanged.
    option : str
        Name of the option for messages.

    Raises
    ------
    NoRowsError
        If rows come in chunks, since plots then show only a sample; and for the name of a column, if the fit
        does not have its data.
    OptionError
        If there is no such column.
    ShapeError
        If rows were left out and row labels are not unique, so rows cannot be matched.
    """
    return values_by_row(given, option) if data is None else data.by_row(given, option)
