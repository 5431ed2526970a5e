"""The plot methods of a fit, which call the functions of `spcastat.plots` with frames of the fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, wraps
from operator import attrgetter
from typing import Any, Literal

import pandas as pd

from spcastat import plots
from spcastat.config import flag, listed, nearest, one_of, shown
from spcastat.errors import NoRowsError, OptionError, ShapeError
from spcastat.intake.frames import open_table
from spcastat.plots.biplot import ARROWS
from spcastat.plots.plot_and_table import Plot, table_of
from spcastat.results.call import OfFit
from spcastat.results.delegation import documented
from spcastat.results.interpretation import DRAWN, Supplement, checked
from spcastat.state import component_frames as frames
from spcastat.state import resampling_frames as trust
from spcastat.state import row_scores as rows
from spcastat.state.copies import own
from spcastat.state.variance import variance

#: Parameters of plots that a fit fills in, as functions of the fit and the name of the plot.
FILLED: dict[str, Callable[[Any, str], Any]] = {
    "scores": lambda fit, name: fit._scores_for(name),
    "loadings": lambda fit, _: frames.loadings(fit._state),
    "correlations": lambda fit, _: frames.correlations(fit._state),
    "score_correlation": lambda fit, _: frames.score_correlation(fit._state),
    "shares": lambda fit, _: variance(fit._state)["share of total"],
    "variance": lambda fit, _: variance(fit._state),
    "spectrum": lambda fit, _: frames.spectrum(fit._state),
    "sparse": lambda fit, _: fit._state.record.sparse,
    "errors": lambda fit, _: frames.reconstruction(fit._state),
}

#: Descriptions of options that differ from those of the functions.
CONF_INT = """intervals : DataFrame, optional
    With the columns component, term, lower and upper, as ``conf_int()`` of a bootstrap returns them: dots get
    a bar from lower to upper, grey if it holds zero.
conf_int : bool
    Take the 95 % intervals of the last bootstrap."""
OF = """of : {"variables", "rows"}
    Contributions or squared cosines of the variables, or of the rows."""
COLUMN = "The name of a column of the fitted data stands for its values."
LEVEL = """level : float in [0.5, 0.9999]
    Level of confidence of the intervals."""
NEW = """new : DataFrame, array, sparse matrix, polars or pyarrow table, optional
    Further rows as for `transform`, drawn as crosses on the scale of the others."""
JUDGED = """new : optional
    Rows as for `diagnostics`; by default those of the fit.
level : float in (0, 1)
    Share of new rows of the same kind that stays below the limits; see `limits`."""


def drawn(draw: Plot[..., Any], *filled: str, **entries: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method that returns arguments of the plot function `draw`: the new method draws the plot.

    It has the parameters of the old method and of `draw`, except those that the fit provides: those in FILLED
    and those named in `filled`. Its docstring is that of `draw`, changed by `entries` as in `documented`. Its
    attribute `data` is a method that returns the plotted values as a table.
    """

    def make(method: Callable[..., Any]) -> Any:
        mine, given = dict(inspect.signature(method).parameters), dict(inspect.signature(draw).parameters)
        needed = {name: fill for name, fill in FILLED.items() if name in given}
        hidden = [name for name in (*needed, *filled) if name not in mine]
        offered = {key: one.replace(kind=one.KEYWORD_ONLY) for key, one in given.items() if key not in hidden}
        ax = offered.pop("ax")
        first = {name: one for name, one in mine.items() if one.kind is not one.KEYWORD_ONLY}
        both = {**first, **offered, **mine, "ax": ax}
        signature = inspect.Signature([*both.values()], return_annotation="Axes")

        def arguments(self: Any, *values: Any, **options: Any) -> dict[str, Any]:
            asked = dict(signature.bind(self, *values, **options).arguments)
            made = method(**{name: value for name, value in asked.items() if name in mine})
            passed = {name: value for name, value in asked.items() if name in given}
            filled = {name: fill(self, method.__name__) for name, fill in needed.items() if name not in made}
            return filled | passed | made

        @wraps(method)
        def plot(self: Any, *values: Any, **options: Any) -> Any:
            chosen = arguments(self, *values, **options)
            found = draw(**chosen)
            for frame in chosen.values():
                if isinstance(frame, pd.DataFrame) and "sample" in frame.attrs:
                    found.set_title(frame.attrs["sample"], loc="right", fontsize="x-small")
            return found

        plot.__signature__ = signature  # type: ignore[attr-defined]
        plot.data = table_of(  # type: ignore[attr-defined]
            plot, lambda self, *values, **options: draw.data(**arguments(self, *values, **options))
        )
        return documented(draw, *(name for name in hidden if name not in entries), **entries)(plot)

    return make


def plot_of(
    draw: Plot[..., Any], method_name: str, *filled: str, **sources: str | Callable[[Any], Any]
) -> Any:
    """Return a plot method called `method_name`, without options of its own; see `drawn`.

    `sources` of the parameters of `draw` are paths of attributes of the result, or functions of it; the
    parameters `filled` keep their defaults.
    """
    read = {name: attrgetter(one) if isinstance(one, str) else one for name, one in sources.items()}

    def method(self: Any) -> dict[str, Any]:
        return {name: get(self) for name, get in read.items()}

    method.__name__, method.__annotations__ = method_name, {}
    return drawn(draw, *sources, *filled)(method)


class Plotted(OfFit):
    """Mixin with the plots of a fit; for each there is a ``_data`` method that returns its table."""

    contributions: Any
    cos2: Any

    # --- variables and components -----------------------------------------------------------------

    @drawn(plots.plot_loadings, intervals=CONF_INT)
    def plot_loadings(self, *, intervals: pd.DataFrame | None = None, conf_int: bool = False) -> Any:
        if flag("conf_int", conf_int) and intervals is None:
            intervals = trust.last_intervals(self._state)
        return {"intervals": intervals}

    @drawn(plots.plot_correlations, "supplementary", supplementary=DRAWN)
    def plot_correlations(self, *, supplement: Supplement | None = None) -> Any:
        return {"supplementary": None if supplement is None else checked(supplement).correlations}

    @drawn(plots.plot_contributions, "values", "kind", of=OF)
    def plot_contributions(self, of: Literal["variables", "rows"] = "variables") -> Any:
        return {"values": self.contributions(of)}

    @drawn(plots.plot_contributions, "values", "kind", of=OF)
    def plot_cos2(self, of: Literal["variables", "rows"] = "variables") -> Any:
        return {"values": self.cos2(of), "kind": "cos2"}

    @drawn(plots.screeplot)
    def screeplot(
        self,
        *,
        kind: Literal["variance", "share", "cumulative"] = "variance",
        parallel: Any = None,
        max_components: int | None = 30,
    ) -> Any:
        # `parallel` is numbers or a result of choose_k(), which checks that it belongs to the data of the fit
        check = getattr(type(parallel), "_noise_for", None)
        found = parallel if check is None else check(parallel, frames.spectrum(self._state))
        return {"parallel": found, "max_components": max_components}

    plot_reconstruction = plot_of(plots.plot_reconstruction, "plot_reconstruction")

    # --- rows -------------------------------------------------------------------------------------

    @drawn(plots.biplot, "supplementary", "levels", groups=COLUMN, color=COLUMN, new=NEW, levels=DRAWN)
    def biplot(
        self,
        *,
        arrows: Literal["loadings", "correlations"] = "loadings",
        groups: Any = None,
        color: Any = None,
        new: Any = None,
        supplement: Supplement | None = None,
    ) -> Any:
        further = None if supplement is None else checked(supplement)
        scores = None if new is None else rows.scores_of_new(self._state, new)
        parts = [part for part in (None if further is None else further.rows, scores) if part is not None]
        extra = further is not None and one_of("arrows", arrows, ARROWS) == "correlations"
        return {
            "groups": self._by_row(groups, "groups"),
            "color": self._by_row(color, "color"),
            "new": pd.concat(parts) if len(parts) > 1 else next(iter(parts), None),
            "supplementary": further.correlations if extra else None,  # type: ignore[union-attr]
            "levels": None if further is None else further.levels,
        }

    @drawn(plots.plot_scores, groups=COLUMN)
    def plot_scores(self, *, groups: Any = None) -> Any:
        return {"groups": self._by_row(groups, "groups")}

    @drawn(plots.plot_diagnostics, "diagnostics", "limits", limits=JUDGED, groups=COLUMN)
    def plot_diagnostics(self, new: Any = None, *, level: float = 0.95, groups: Any = None) -> Any:
        if new is not None:
            found = rows.diagnostics_of(self._state, new)
        else:
            apart = self._source is not None and self._source.distributed
            found = self._drawn[["T2", "Q"]] if apart else self._distances
            groups = self._by_row(groups, "groups")
        return {"diagnostics": own(found), "limits": frames.limits(self._state, level), "groups": groups}

    # --- the tables of the plots ------------------------------------------------------------------

    plot_loadings_data = plot_loadings.data
    plot_correlations_data = plot_correlations.data
    plot_contributions_data = plot_contributions.data
    plot_cos2_data = plot_cos2.data
    screeplot_data = screeplot.data
    plot_reconstruction_data = plot_reconstruction.data
    biplot_data = biplot.data
    plot_scores_data = plot_scores.data
    plot_diagnostics_data = plot_diagnostics.data

    # --- helpers ----------------------------------------------------------------------------------

    @cached_property
    def _distances(self) -> pd.DataFrame:
        return rows.diagnostics(self._state, self._source)

    @cached_property
    def _drawn(self) -> pd.DataFrame:
        """Scores, T2 and Q of a sample of rows that are not all in memory."""
        from spcastat.resample.subsets import drawn_rows  # imported late, as few fits need it

        assert self._source is not None
        assert self._source.stream is not None
        return drawn_rows(self._state, self._source.stream)

    def _by_row(self, given: Any, option: str) -> Any:
        """Return the values of an option for the rows of the fit; text is the name of a column of its data.

        Parameters
        ----------
        given : object
            Anything but text is returned unchanged.
        option : str
            Name of the option for messages.

        Raises
        ------
        NoRowsError
            If rows come in chunks, since plots then show a sample only; and for the name of a column, if the
            fit does not have its data.
        OptionError
            If there is no such column.
        ShapeError
            If rows were left out and row labels are not unique, so that rows cannot be matched.
        """
        source, call = self._source, self._call
        if given is not None and source is not None and source.stream is not None:
            raise NoRowsError(
                f"{option}={shown(given)} was given, and of rows that are never all in memory a sample is "
                "drawn, which has no values for it. Leave it out, or fit rows that fit into memory."
            )
        if not isinstance(given, str):
            return given
        if source is None or call is None or source.matrix is None:
            raise NoRowsError(
                f"{option}={shown(given)} names a column of the fitted data, and this fit does not have them "
                "in memory; give the values themselves, one for each row."
            )
        table = open_table(call.data)
        if not table.named:
            raise OptionError(
                f"{option}={shown(given)} names a column, but the fitted data were an array without names; "
                "give the values themselves, one for each row."
            )
        frame = table.values
        if given not in frame.columns:
            raise OptionError(
                f"{option}={shown(given)} is not a column of the fitted data; there are "
                f"{listed(frame.columns)}.{nearest(given, frame.columns)} Or give the values themselves, one "
                f"for each row, such as df[{shown(given)}]."
            )
        column = pd.Series(frame[given].array, index=table.index, name=given)
        if source.index is None or source.index.equals(table.index):
            return column
        if not table.index.is_unique:
            raise ShapeError(
                f"{option}={shown(given)}: rows were left out of the fit, and row labels are not unique; "
                "give the values of the remaining rows, or give the data unique labels."
            )
        return column.reindex(source.index)

    def _scores_for(self, what: str) -> pd.DataFrame:
        """Return the scores of the rows, or of a sample of them; raise NoRowsError without rows."""
        if self._state.scores is None and self._source is not None and self._source.stream is not None:
            return own(self._drawn[self._state.components])
        if self._state.scores is None:
            rows.need_rows(self._state, self._source, what)
        return own(self._scores)
