"""A small note below the axes: how things are scaled, what is left out, what numbers at tips mean."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from spcastat.plots._theme import shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: The name by which the note is found among the artists.
GID = "note"


def write_note(ax: Axes, sentences: Iterable[str]) -> Annotation | None:
    """Write sentences below the label of the x axis, wrapped to the width of the axes."""
    sentences = [sentence for sentence in sentences if sentence]
    if not sentences:
        return None
    figure = ax.get_figure(root=True)
    assert figure is not None
    from matplotlib.font_manager import FontProperties

    points = FontProperties(size="x-small").get_size_in_points()
    width = ax.get_window_extent().width / figure.dpi * 72
    columns = max(int(width / (0.52 * points)), 24)
    text = "\n".join(line for one in sentences for line in textwrap.wrap(one, columns))
    note = ax.annotate(
        text,
        xy=(0.0, 0.0),
        xycoords=("axes fraction", ax.xaxis.label),
        xytext=(0, -4),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=points,
        color=shade(ax, 0.7),
        linespacing=1.25,
        parse_math=False,
        annotation_clip=False,
        gid=GID,
    )
    return note


def note_of(ax: Axes) -> str:
    """Return the text of the note, on one line; empty without one."""
    found = [text.get_text() for text in ax.texts if text.get_gid() == GID]
    return " ".join(" ".join(found).split())
