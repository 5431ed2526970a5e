"""What stands beside, below and behind the loadings of a summary: dense PCA, intervals, stars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import flag, plural
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError, OptionError
from spcastat.report.resampling_tables import FDR, UNSAID
from spcastat.state import FitState
from spcastat.state import component_frames as frames
from spcastat.state import resampling_frames as trust

#: The largest q value that earns this many stars.
STARS = {0.001: "***", 0.01: "**", 0.05: "*"}


def beside_loadings(
    state: FitState, source: Source | None, *, dense: bool, conf_int: bool, level: float, stars: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return what the table of loadings takes besides, and the sentences that say what it is."""
    given: dict[str, Any] = {}
    said: list[str] = []
    level = trust.checked_level(level)
    if flag("dense", dense):
        given["dense"] = dense_loadings(state, source)
        said.append("PCA: loadings of dense principal components, with the signs of the sparse ones.")
    if flag("conf_int", conf_int):
        given["intervals"] = _bounds(state, level)
        said += _of_intervals(state, level)
    if flag("stars", stars):
        given["stars"] = _stars(state)
        said += _of_stars(state)
    return given, said


def dense_loadings(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return the loadings of as many dense principal components, p x k, "PCA 1" to "PCA k".

    Each has the sign in which it goes with the sparse component of its number.

    Raises
    ------
    NoRowsError
        For a fit from a file, which has no data.
    """
    if source is None:
        raise NoRowsError(
            "Loadings of dense PCA need the data, and a fit from a file does not have them; fit again: "
            f"{state.record.call}."
        )
    k = state.V.shape[1]
    vectors = source.op.leading(k)[1]
    signs = np.where(np.einsum("ij,ij->j", state.V, vectors) < 0, -1.0, 1.0)
    frame = state.by_variable(vectors * signs)
    return frame.set_axis([f"PCA {j + 1}" for j in range(k)], axis=1)


def _bounds(state: FitState, level: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    found = state.trust.bootstrap
    if found is None:
        raise OptionError(
            "conf_int=True was given, and there are no intervals yet: call fit.bootstrap() first."
        )
    frame = trust.conf_int(state, found, level)
    bounds = []
    for name in ("lower", "upper"):
        values = np.full(state.V.size, np.nan)
        values[found.places] = frame[name].to_numpy()
        bounds.append(state.by_variable(values.reshape(state.V.shape[::-1]).T))
    return bounds[0], bounds[1]


def _of_intervals(state: FitState, level: float) -> list[str]:
    found = state.trust.bootstrap
    assert found is not None
    how = "variables selected anew" if found.select else "given these variables"
    draws = plural(len(found.values), "draw")
    return [
        f"In brackets: {100 * level:g} % bootstrap intervals, {how} ({draws}).",
        UNSAID["interval" if found.select else "given"],
    ]


def _stars(state: FitState) -> pd.DataFrame:
    found = state.trust.tests
    if found is None:
        raise OptionError(
            "stars=True was given, and the loadings were not tested yet: call fit.test_loadings() first."
        )
    marks = np.full(state.V.shape, "", dtype=object)
    for bound, mark in sorted(STARS.items(), reverse=True):
        marks[found.q_value <= bound] = mark
    return state.by_variable(marks)


def _of_stars(state: FitState) -> list[str]:
    found = state.trust.tests
    assert found is not None
    marks = sorted(STARS.items(), reverse=True)
    meaning = ", ".join(f"{mark} q <= {str(bound)[1:]}" for bound, mark in marks)
    rate = f"false discovery rates ({FDR[found.fdr]}) of {found.draws} permutations"
    return [f"{meaning}: {rate}.", UNSAID["test"]]


def print_loadings(
    state: FitState,
    digits: int = 3,
    cutoff: float = 0.0,
    sort: bool = False,
    contributions: bool = False,
    max_rows: int = 40,
) -> None:
    """Print the loadings; a blank is exactly zero.

    Parameters
    ----------
    state : FitState
    digits : int
        Decimals. A nonzero that rounds to zero prints as ``<.001``.
    cutoff : float
        Loadings below it in absolute value are hidden behind a mark, and counted.
    sort : bool
        Group the variables by the component on which they load most.
    contributions : bool
        Squared loadings in percent instead.
    max_rows : int
        The most variables to show.
    """
    from spcastat.tables import Document, loadings_table, render

    table = loadings_table(
        frames.loadings(state),
        digits=digits,
        cutoff=cutoff,
        sort=sort,
        contributions=contributions,
        max_rows=max_rows,
    )
    print(render(Document(title="", facts=(), tables=(table,), notes=()), "text"))
