"""Random samples of rows that are not all in memory, for plots and distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from spcastat.config import shown
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError
from spcastat.state import FitState

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def in_pieces(source: Source | None) -> bool:
    """Whether the rows of a fit come in chunks."""
    return source is not None and source.stream is not None


def is_apart(source: Source | None) -> bool:
    """Whether the rows are distributed over workers, so that this process cannot iterate over them."""
    return source is not None and source.stream is not None and not source.stream.local


def sampled(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return scores, T2 and Q of a sample; see :func:`spcastat.resample.sampled_rows.drawn_rows`."""
    from spcastat.resample.sampled_rows import drawn_rows  # imported late, as few fits need it

    assert source is not None
    assert source.stream is not None
    return drawn_rows(state, source.stream)


def told(ax: Axes, frame: pd.DataFrame) -> Axes:
    """Add a title that says that the plot shows a sample, if it does."""
    if "sample" in frame.attrs:
        ax.set_title(frame.attrs["sample"], loc="right", fontsize="x-small")
    return ax


def refuse_of_sample(given: Any, option: str, source: Source | None) -> None:
    """Raise NoRowsError for values given for all rows, if only a sample of the rows is drawn."""
    if given is not None and in_pieces(source):
        raise NoRowsError(
            f"{option}={shown(given)} was given, and of rows that are never all in memory a sample is drawn, "
            "which has no values for it. Leave it out, or fit rows that fit into memory."
        )
