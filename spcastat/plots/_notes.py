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
    return ax.annotate(
        _wrapped(ax, sentences),
        xy=(0.0, 0.0),
        xycoords=("axes fraction", ax.xaxis.label),
        xytext=(0, -4),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=_points(),
        color=shade(ax, 0.7),
        linespacing=1.25,
        parse_math=False,
        annotation_clip=False,
        gid=GID,
    )


def rewrite_note(ax: Axes, note: Annotation | None, sentences: Iterable[str]) -> bool:
    """Change what a note says; return whether it takes no more room than before."""
    if note is None:
        return True
    before = note.get_text().count("\n")
    text = _wrapped(ax, [sentence for sentence in sentences if sentence])
    after = text.count("\n")
    note.set_text(text + "\n" * (before - after))
    return after <= before


def _wrapped(ax: Axes, sentences: Iterable[str]) -> str:
    """Return sentences in lines that are no wider than the axes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    figure = ax.get_figure(root=True)
    assert figure is not None
    font = FontProperties(size=_points())
    sentences = list(sentences)
    width = 0.97 * ax.get_window_extent().width / figure.dpi * 72
    for columns in range(max(int(width / (0.45 * _points())), 20), 19, -2):
        lines = [line for one in sentences for line in textwrap.wrap(one, columns, break_on_hyphens=False)]
        longest = max(lines, key=len, default="")
        widest = [line for line in lines if len(line) > 0.9 * len(longest)]
        if all(text_to_path.get_text_width_height_descent(one, font, False)[0] <= width for one in widest):
            break
    return "\n".join(lines)


def _points() -> float:
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size="x-small").get_size_in_points())


def note_of(ax: Axes) -> str:
    """Return the text of the note, on one line; empty without one."""
    found = [text.get_text() for text in ax.texts if text.get_gid() == GID]
    return " ".join(" ".join(found).split())
