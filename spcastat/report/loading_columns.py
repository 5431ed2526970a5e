"""The table of loadings alone, and what a summary adds to it: dense PCA, intervals, stars, columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import checked_level, flag, plural
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError, OptionError
from spcastat.report.resampling_tables import FDR, UNSAID
from spcastat.state import FitState
from spcastat.state import component_frames as frames
from spcastat.state import resampling_frames as trust
from spcastat.state.copies import own
from spcastat.state.support_rule import NEXT_TO_NOTHING, forced, shares

#: The largest q value for each number of stars.
STARS = {0.001: "***", 0.01: "**", 0.05: "*"}


def loading_columns(
    state: FitState,
    source: Source | None,
    *,
    dense: bool = False,
    conf_int: bool = False,
    level: float = 0.95,
    stars: bool = False,
    communality: bool = False,
    complexity: bool = False,
) -> tuple[dict[str, Any], list[str]]:
    """Return the additional arguments of the table of loadings, and notes that explain them."""
    given: dict[str, Any] = {}
    said: list[str] = []
    level = checked_level(level)
    if flag("dense", dense):
        given["dense"] = dense_loadings(state, source)
        said.append("PCA: loadings of dense principal components, with the signs of the sparse ones.")
    if flag("conf_int", conf_int):
        given["intervals"], about = _intervals(state, level)
        said += about
    if flag("stars", stars):
        given["stars"], about = _stars(state)
        said += about
    weak = forced(state) & (state.V != 0) & (shares(state) < NEXT_TO_NOTHING)
    if weak.any():
        marks = state.by_variable(np.where(weak, "!", ""))
        given["stars"] = given["stars"] + marks if "stars" in given else marks
        said.append(
            "! forced; the data give it next to nothing "
            f"(less than {100 * NEXT_TO_NOTHING:g} % of its component)."
        )
    columns: dict[str, pd.Series] = {}
    if flag("communality", communality):
        columns["h2"] = frames.communalities(state)
        said.append("h2: the communality, the share of variance that regression on all scores explains.")
    if flag("complexity", complexity):
        columns["com"] = hofmann(state)
        said.append(
            "com: Hofmann's complexity (1978), the number of components that a variable loads on, its "
            "loadings times the standard deviations of the scores; 1 for a variable of one component."
        )
    if columns:
        given["columns"] = pd.DataFrame(columns)
    return given, said


def hofmann(state: FitState) -> pd.Series:
    """Return Hofmann's complexity of each variable, length p; NaN if all its loadings are zero.

    This is (sum_j a_j^2)^2 / sum_j a_j^4, where a_j is the loading on component j times the standard
    deviation of its scores, as in the R package ``psych``. Hofmann (1978), "Complexity and simplicity as
    objective indices descriptive of factor solutions", Multivariate Behavioral Research.
    """
    squares = state.V**2 * np.diag(state.moments.scores).clip(min=0.0)
    with np.errstate(invalid="ignore"):
        found = squares.sum(axis=1) ** 2 / (squares**2).sum(axis=1)
    return pd.Series(found, own(state.spec.columns))


def dense_loadings(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return the loadings of the first k dense principal components, p x k, named "PCA 1" to "PCA k".

    The sign of each is chosen so that its inner product with the sparse component j is not negative.

    Raises
    ------
    NoRowsError
        If the fit was read from a file and so has no data.
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


def _intervals(state: FitState, level: float) -> tuple[list[pd.DataFrame], list[str]]:
    """Return lower and upper bounds of the loadings, and notes on them."""
    found = state.trust.bootstrap
    if found is None:
        raise OptionError(
            "conf_int=True was given, and there are no intervals yet: call fit.bootstrap() first."
        )
    frame = trust.conf_int(state, found, level)
    bounds = [trust.spread_out(state, found.places, frame[name], np.nan) for name in ("lower", "upper")]
    how = "variables selected again in each draw" if found.select else "given these variables"
    said = f"In brackets: {100 * level:g} % bootstrap intervals, {how} ({plural(found.draws, 'draw')})."
    return bounds, [said, UNSAID["interval" if found.select else "given"]]


def _stars(state: FitState) -> tuple[pd.DataFrame, list[str]]:
    """Return the stars of the loadings, and notes on them."""
    found = state.trust.tests
    if found is None:
        raise OptionError(
            "stars=True was given, and the loadings were not tested yet: call fit.test_loadings() first."
        )
    falling = sorted(STARS.items(), reverse=True)
    marks = np.full(state.V.shape, "", dtype=object)
    for bound, mark in falling:
        marks[found.q_value <= bound] = mark
    meaning = ", ".join(f"{mark} q <= {str(bound)[1:]}" for bound, mark in falling)
    rate = f"false discovery rates ({FDR[found.fdr]}) of {found.draws} permutations"
    return state.by_variable(marks), [f"{meaning}: {rate}.", UNSAID["test"]]
