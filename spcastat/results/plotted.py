"""What the plots of a fit draw: values of rows by the name of a column, further points, samples of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from spcastat import plots
from spcastat.config import listed, nearest, one_of, shown, warn
from spcastat.errors import DataWarning, NoRowsError, OptionError, ShapeError
from spcastat.fit import frames, rows
from spcastat.fit.frames import variance
from spcastat.fit.inputs import Source
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState
from spcastat.plots.biplot import ARROWS
from spcastat.reading.frames import open_table
from spcastat.results.call import Call
from spcastat.results.interpretation import checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kinds of scree plots.
SCREES = ("variance", "share", "cumulative", "error")


@dataclass(frozen=True)
class FurtherPoints:
    """What a biplot draws besides the rows and variables of the fit; None for what was not given.

    Attributes
    ----------
    rows : DataFrame, m x k, or None
        Scores of new and of supplementary rows.
    correlations : DataFrame, s x k, or None
        Correlations of supplementary numbers with the scores.
    levels : DataFrame, l x k, or None
        Mean scores of levels of supplementary factors.
    """

    rows: pd.DataFrame | None
    correlations: pd.DataFrame | None
    levels: pd.DataFrame | None


def further_points(state: FitState, new: Any, supplement: Any, arrows: str) -> FurtherPoints:
    """Return the points of new rows and of a supplement; its correlations only among correlations."""
    found = None if supplement is None else checked(supplement)
    known = [None if found is None else found.rows, None if new is None else rows.scores_of_new(state, new)]
    parts = [part for part in known if part is not None]
    among_correlations = one_of("arrows", arrows, ARROWS) == "correlations"
    return FurtherPoints(
        pd.concat(parts) if parts else None,
        found.correlations if found is not None and among_correlations else None,
        None if found is None else found._named_levels,
    )


def scree(state: FitState, kind: str, parallel: Any, max_components: int | None, ax: Axes | None) -> Axes:
    """Draw variances, or the error of reconstruction; see `SpcaResult.screeplot`."""
    if one_of("kind", kind, SCREES) == "error":
        if parallel is not None:
            raise OptionError(
                "parallel= was given with kind='error'; thresholds of variances go with kind='variance', "
                "'share' and 'cumulative'."
            )
        return plots.plot_reconstruction(frames.reconstruction(state), sparse=state.record.sparse, ax=ax)
    spectrum = frames.spectrum(state)
    # a result of choose_k() or choose() checks that it belongs to the data of the fit
    check = getattr(type(parallel), "_noise_for", None)
    return plots.screeplot(
        variance(state),
        spectrum,
        kind=kind,  # type: ignore[arg-type]
        sparse=state.record.sparse,
        parallel=parallel if check is None else check(parallel, spectrum),
        max_components=max_components,
        ax=ax,
    )


# --- rows that are not all in memory ---------------------------------------------------------------


def sampled_rows(state: FitState, source: Source) -> pd.DataFrame:
    """Return scores, T2 and Q of a sample of rows in chunks; ``attrs["sample"]`` describes the sample."""
    from spcastat.assess.subsets import drawn_rows  # imported late, as few fits need it

    assert source.stream is not None
    return drawn_rows(state, source.stream)


def sampled_diagnostics(drawn: pd.DataFrame) -> pd.DataFrame:
    """Return T2 and Q of a sample of rows, with a warning that they are a sample."""
    if "sample" in drawn.attrs:
        warn(f"diagnostics() returns those of {drawn.attrs['sample']}.", DataWarning)
    return deep_copy(drawn[["T2", "Q"]])


def with_sample(ax: Axes, frame: pd.DataFrame) -> Axes:
    """Write the description of the sample, if `frame` is one, above the axes, and return them."""
    if "sample" in frame.attrs:
        ax.set_title(frame.attrs["sample"], loc="right", fontsize="x-small")
    return ax


# --- values by row ---------------------------------------------------------------------------------


def by_row(source: Source | None, call: Call | None, given: Any, option: str) -> Any:
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
