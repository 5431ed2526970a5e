"""A path of fits as an HTML page with a slider for the cardinality.

The page contains the data as JSON; ``assets/explorer.js`` displays them, and ``assets/blocks.js`` lays
out the biplot.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import text, whole_number
from spcastat.fit import frames, rows
from spcastat.fit.archive import file_path, write_bytes
from spcastat.fit.frames import variance
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data
from spcastat.labels import name_text, short_names
from spcastat.measures import measures_of
from spcastat.plots.biplots import stretch_of
from spcastat.plots.frame import far_rows
from spcastat.show import facts
from spcastat.show.grid import Document
from spcastat.show.html import content
from spcastat.show.methods_text import equations
from spcastat.show.report import EQUATION_TERMS, PAGE_ENDINGS, asset, page_of
from spcastat.show.summary import largest_with_another, variance_table
from spcastat.show.templates import line

#: The scripts of the page: the layout of the biplot, and everything else.
SCRIPTS = ("blocks.js", "explorer.js")
#: The largest number of components in the biplot, since each pair of components has its own scale.
BIPLOT_COMPONENTS = 12


@dataclass(frozen=True, eq=False)
class Position:
    """One fit of a path.

    Attributes
    ----------
    card : int or tuple of int
        The cardinality asked for.
    state : FitState
    source : Data or None
    """

    card: Any
    state: FitState
    source: Data | None


def write_explorer(
    path: str | PathLike[str],
    positions: Sequence[Position],
    table: pd.DataFrame,
    document: Document,
    title: str | None,
    max_points: int | None,
) -> None:
    """Write the page; see :meth:`spcastat.results.path.SpcaPath.explore`.

    Parameters
    ----------
    path : str or path
    positions : sequence of Position
    table : DataFrame
        One row per fit, with the columns "nonzeros", the measures, and "pca".
    document : Document
        The table as text, for readers without JavaScript.
    title : str, optional
    max_points : int, optional
        None for all rows.
    """
    target = file_path(path, PAGE_ENDINGS)
    source = positions[0].source
    if source is not None:
        source.spare(target)
    max_points = None if max_points is None else whole_number("max_points", max_points, 0)
    record = positions[0].state.record
    title = document.title if title is None else text("title", title) or document.title
    data = explorer_data(positions, table, title, max_points)
    version, script = record.versions.get("spcastat", ""), "\n".join(map(asset, SCRIPTS))
    parts = {
        "@table@": "\n".join(content(document, framed=True)),
        "@version@": escape(version),
        "@data@": as_json(data),
        "@script@": script,
    }
    body = asset("explorer.html")
    pieces = []
    for mark, part in parts.items():  # in the order of the page, so that inserted text is not searched
        head, body = body.split(mark)
        pieces += [head, part]
    page = page_of(title, version, "explorer", "".join([*pieces, body]), script)
    write_bytes(target, page.encode("utf-8", "xmlcharrefreplace"))


def as_json(data: Mapping[str, Any]) -> str:
    """Return JSON that is safe within a script element: ``<``, ``>`` and ``&`` are escaped."""
    plain = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def explorer_data(
    positions: Sequence[Position], table: pd.DataFrame, title: str, max_points: int | None
) -> dict[str, Any]:
    """Return everything the page shows as lists, numbers and strings."""
    first_state = positions[0].state
    names = list(first_state.spec.columns)
    used = np.flatnonzero(np.any([position.state.V.any(axis=1) for position in positions], axis=0))
    place = {int(j): i for i, j in enumerate(used)}
    labels = short_names([names[j] for j in used], positions=used.tolist())
    full_texts = [name_text(names[j]) for j in used]
    row_indices, index, reason = _rows(positions[0], max_points)
    single = all(isinstance(position.card, int | np.integer) for position in positions)
    places = [position.card for position in positions] if single else table["nonzeros"].tolist()
    measures = measures_of("total")
    return {
        "title": name_text(title),
        "about": f"{first_state.record.method}: {first_state.record.title}. "
        f"{line(facts.dataset(first_state))}.",
        "p": len(names),
        "n": len(index) if index is not None else 0,
        "components": [name_text(name) for name in first_state.components],
        "variables": labels,
        "full": {
            i: name for i, (name, label) in enumerate(zip(full_texts, labels, strict=True)) if name != label
        },
        "rows": [] if row_indices is None or index is None else short_names([index[i] for i in row_indices]),
        "norows": reason,
        "by": "card" if single else "nonzeros",
        "measures": [
            {"name": measure.name, "label": measure.legend, "values": _numbers(table[measure.name])}
            for measure in measures
        ],
        "pca": _numbers(table["pca"]),
        "start": len(positions) // 2,
        "offered": BIPLOT_COMPONENTS,
        "positions": [
            _position(position, int(at), nonzeros, place, row_indices)
            for position, at, nonzeros in zip(positions, places, table["nonzeros"], strict=True)
        ],
    }


def _rows(position: Position, max_points: int | None) -> tuple[list[int] | None, Any, str]:
    """Return the positions of the rows drawn, the labels of all rows, and why no rows are drawn, or ""."""
    source = position.source
    if source is None or not source.holds_scores:
        from_rows = position.state.record.from_rows
        cause = "The rows are not in memory" if from_rows else "A covariance matrix has no rows"
        return None, None, f"{cause}, so there are no points."
    index = rows.scores(position.state, source).index
    if max_points == 0:
        return None, index, "No points were requested (max_points=0), so there are no points."
    count = len(index) if max_points is None else min(max_points, len(index))
    row_indices = np.linspace(0, len(index) - 1, count).round().astype(int)
    return row_indices.tolist(), index, ""


def _position(
    position: Position, at: int, nonzeros: int, place: Mapping[int, int], row_places: Sequence[int] | None
) -> dict[str, Any]:
    state = position.state
    V, table = state.V, variance(state)
    card = position.card
    correlation = frames.score_correlation(state)
    largest = largest_with_another(correlation) if len(state.components) > 1 else None
    grid = variance_table(table, largest)
    spread = np.sqrt(np.diag(state.moments.scores).clip(min=0.0))
    content: dict[str, Any] = {
        "card": ", ".join(map(str, card)) if isinstance(card, tuple) else str(card),
        "place": at,
        "nonzeros": int(nonzeros),
        "components": short_names(list(state.components)),
        "call": f"import spcastat as sp\nfit = sp.{state.record.call}",
        "loadings": [
            [place[int(j)], *(float(f"{value:.9g}") for value in V[j])] for j in np.flatnonzero(V.any(axis=1))
        ],
        "shares": _numbers(table["share of total"]),
        "correlation": [_numbers(line) for line in correlation.to_numpy()],
        "variance": [grid.title, list(grid.headings), [[r.group, r.label, list(r.cells)] for r in grid.rows]],
        "equations": equations(state, max_terms=EQUATION_TERMS, width=100_000).splitlines(),
        "raw": None  # original units need the means, which a covariance matrix may lack
        if state.standard is None
        else equations(state, raw=True, max_terms=EQUATION_TERMS, width=100_000).splitlines(),
        "note": "" if state.record.converged else f"{state.record.advice}.",
    }
    if row_places is not None:
        scores = rows.scores(state, position.source).to_numpy(dtype=float)
        with np.errstate(all="ignore"):
            spread = np.nanstd(scores, axis=0, ddof=1) if len(scores) > 1 else np.zeros(scores.shape[1])
        spread = np.where(np.isfinite(spread), spread, 0.0)  # 0 for constant or unknown columns
        scaled = scores / np.where(spread > 0, spread, 1.0)
        # rounded to thousandths, which are much smaller than a pixel
        content["scores"] = [_numbers(np.round(1000 * line)) for line in scaled[list(row_places)]]
        content["scores"] = [[None if v is None else int(v) for v in line] for line in content["scores"]]
        pairs = list(combinations(range(min(V.shape[1], BIPLOT_COMPONENTS)), 2))
        content["stretch"] = {
            f"{i}-{j}": stretch_of(scaled[:, [i, j]], (V * spread)[:, [i, j]]) for i, j in pairs
        }
        content["far"] = {f"{i}-{j}": _far_positions(scaled[:, [i, j]], row_places) for i, j in pairs}
    else:
        content["stretch"] = {}
    content["sd"] = _numbers(spread)
    return content


def _far_positions(xy: NDArray[np.float64], row_places: Sequence[int]) -> list[int]:
    """Return the positions, within `row_places`, of rows that are far from all others."""
    complete_rows = np.isfinite(xy).all(axis=1)
    mask = np.zeros(len(xy), dtype=bool)
    mask[complete_rows] = far_rows(xy[complete_rows])
    return np.flatnonzero(mask[list(row_places)]).tolist()


def _numbers(values: Any) -> list[float | None]:
    """Return numbers rounded to nine significant figures; None for values that are not finite."""
    return [float(f"{v:.9g}") if math.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]
