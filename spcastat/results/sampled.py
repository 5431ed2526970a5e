"""What plots and distances show of rows that are never all in memory: a sample, and that it is one."""

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
    """Whether the rows of a fit are never all in memory."""
    return source is not None and source.stream is not None


def is_apart(source: Source | None) -> bool:
    """Whether they lie on several machines, so that this one cannot walk over them."""
    return source is not None and source.stream is not None and not source.stream.local


def sampled(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return scores, T2 and Q of a sample; see :func:`spcastat.resample.sampled_rows.drawn_rows`."""
    from spcastat.resample.sampled_rows import drawn_rows  # only who draws rows imports it

    assert source is not None
    assert source.stream is not None
    return drawn_rows(state, source.stream)


def told(ax: Axes, frame: pd.DataFrame) -> Axes:
    """Say above the axes that what is drawn is a sample, where it is one."""
    if "sample" in frame.attrs:
        ax.set_title(frame.attrs["sample"], loc="right", fontsize="x-small")
    return ax


def refuse_of_sample(given: Any, option: str, source: Source | None) -> None:
    """Raise NoRowsError for values of all rows, of which a sample is drawn."""
    if given is not None and in_pieces(source):
        raise NoRowsError(
            f"{option}={shown(given)} was given, and of rows that are never all in memory a sample is drawn, "
            "which has no values for it. Leave it out, or fit rows that fit into memory."
        )
