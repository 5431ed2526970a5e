"""Texts with so much room: their widths in points, and names shortened or wrapped to fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import matplotlib
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from spcastat.labels import short_names

#: Width of a text whose letters are drawn at whole pixels, relative to its measured width, at most
#: (Matplotlib 3.11, DejaVu Sans of 6.5 to 9 points at 60 to 300 dpi).
HINTED = 1.09
#: Sizes of font that are tried for such a text, each 2 % of the size smaller.
NARROWER_FONTS = 10
#: Room of a bold text, relative to the width of a plain one.
BOLD = 1.12
#: Lines of a name in the margins of a biplot; how far the second is indented, in font sizes.
NAME_LINES, NAME_INDENT = 2, 1.0
#: Where a text may be broken: after spaces and underscores, but not before the "%" of a number, after "%:"
#: and "×", beside "=", "≤" and "≥", or before a last number of one or two digits; and after hyphens and "…"
#: before a word.
BREAK = re.compile(r"(?<=[\s_])(?<![=×≤≥] )(?<!%: )(?![\s_=≤≥]|%(?!:)|\d\d?$)|(?<=[-…])(?=[^\W\d_]{3})")
#: A name may have so many characters more than others of the same list if it can be broken where they cannot.
MORE_CHARACTERS = 20
#: The smallest and the largest number of characters of a shortened name.
SHORTEST_LABEL, LONGEST_LABEL = 7, 200


@lru_cache(maxsize=20_000)
def _width(text: str, size: float, families: tuple[str, ...], weight: str | int = "normal") -> float:
    font = FontProperties(size=size, family=list(families), weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, False)[0])


def width_of(text: str, size: float) -> float:
    """Return the width of a line of text in points; it does not depend on the backend or the resolution.

    A `MeasuredText` is not drawn wider.
    """
    return _width(text, round(size, 2), tuple(matplotlib.rcParams["font.family"]))


def wrapped(text: str, room: float, size: float, indent: float = 0.0) -> list[str]:
    """Return the lines of a text in so many points, as far as it may be broken; see `BREAK`.

    Lines after the first have `indent` points less.
    """
    lines: list[str] = []
    for piece in BREAK.split(text):
        longer = f"{lines[-1]}{piece}" if lines else piece
        if lines and width_of(longer.rstrip(), size) <= room - indent * (len(lines) > 1):
            lines[-1] = longer
        else:
            lines.append(piece)
    return [line.rstrip() for line in lines]


class MeasuredText(Text):
    """A text that is drawn no wider than its room, by default its measured width.

    A raster backend moves letters to whole pixels, so that a text may be up to 9 % wider; its font is then
    smaller by that.

    Attributes
    ----------
    room : float, optional
        In points.
    """

    room: float | None = None

    def draw(self, renderer: Any) -> None:
        """Draw the text, with a smaller font if its letters would take more than its room."""
        with self._room_kept(renderer):
            super().draw(renderer)

    def get_window_extent(self, renderer: Any = None, dpi: float | None = None) -> Bbox:
        """Return the box of the text in pixels, as it is drawn."""
        if renderer is None:
            return super().get_window_extent(renderer, dpi)
        with self._room_kept(renderer):
            return super().get_window_extent(renderer, dpi)

    def fitting_size(self, renderer: Any) -> float:
        """Return the size of font with which the text has room."""
        with self._room_kept(renderer):
            return float(self.get_fontsize())

    def room_in_points(self) -> float:
        """Return the room of the text: that given, or its measured width."""
        if self.room is not None:
            return self.room
        family, weight = tuple(self.get_fontfamily()), self.get_fontweight()
        return _width(self.get_text(), float(self.get_fontsize()), family, weight)

    @contextmanager
    def _room_kept(self, renderer: Any) -> Iterator[None]:
        """Give the text a font with which it has room, within the context."""
        size = float(self.get_fontsize())
        figure = self.get_figure(root=True)
        assert figure is not None
        room = self.room_in_points() * float(figure.dpi) / 72.0
        for step in range(NARROWER_FONTS):
            if self._drawn_width(renderer) <= room:
                break
            self.set_fontsize(size * (1.0 - 0.02 * (step + 1)))
        yield
        self.set_fontsize(size)

    def _drawn_width(self, renderer: Any) -> float:
        """Return the width in pixels, in the direction of the text."""
        words, font = self.get_text(), self.get_fontproperties()
        return float(renderer.get_text_width_height_descent(words, font, False)[0])


def give_one_size(texts: Sequence[MeasuredText], renderer: Any) -> None:
    """Give texts the largest font with which each has room."""
    for text in texts:
        text.room = text.room_in_points()
    for _ in range(NARROWER_FONTS):  # letters may be moved apart again in a smaller font
        sizes = {text.fitting_size(renderer) for text in texts}
        for text in texts:
            text.set_fontsize(min(sizes))
        if len(sizes) <= 1:
            break


@lru_cache(maxsize=5_000)
def _short_names(names: tuple[str, ...], limit: int) -> tuple[str, ...]:
    return tuple(short_names(names, limit))


def widest(lines: Sequence[str], size: float) -> float:
    """Return the width of a name of one or more lines, those after the first indented."""
    return max(width_of(line, size) + NAME_INDENT * size * (i > 0) for i, line in enumerate(lines))


def _has_room(label: str, room: float, size: float, lines: int) -> bool:
    """Return whether a label has room in so many lines."""
    if lines == 1:
        return width_of(label, size) <= room
    parts = wrapped(label, room, size, NAME_INDENT * size)
    return len(parts) <= lines and widest(parts, size) <= room


def labels_for(
    names: Sequence[str],
    rooms: Sequence[float],
    size: float,
    lines: int = 1,
    figure_names: Sequence[str] = (),
) -> list[str]:
    """Return labels, one for each name, with as many characters as there is room.

    A name that has room in full is not shortened because another one has not, unless two labels were then
    equal. A shortened one keeps the words in which it differs from the others.

    Parameters
    ----------
    names : sequence of str
    rooms : sequence of float
        The room of each label, in points.
    size : float
        Size of the text.
    lines : int
        How many lines a label may have.
    figure_names : sequence of str
        Names in the figure, perhaps these among them.
    """
    complete = [_has_room(name, room, size, lines) for name, room in zip(names, rooms, strict=True)]
    if all(complete):
        return list(names)

    def fit(labels: Sequence[str]) -> bool:
        return all(_has_room(label, room, size, lines) for label, room in zip(labels, rooms, strict=True))

    other_names = [name for name in figure_names if name not in set(names)]

    def shortened_to(limit: int) -> tuple[str, ...]:
        return _short_names((*names, *other_names), limit)[: len(names)]

    low, high = SHORTEST_LABEL, min(max(map(len, names)), LONGEST_LABEL)
    while low < high:
        limit = (low + high + 1) // 2
        low, high = (limit, high) if fit(shortened_to(limit)) else (low, limit - 1)
    shortened = list(shortened_to(low))
    labels = [
        name if has_room else label for name, label, has_room in zip(names, shortened, complete, strict=True)
    ]
    for longer in map(shortened_to, range(low + 1, min(low + MORE_CHARACTERS, max(map(len, names))) + 1)):
        for i, room in enumerate(rooms):
            if lines > 1 and not complete[i] and _has_room(longer[i], room, size, lines):
                labels[i] = longer[i]
    return labels if len(set(labels)) == len(set(names)) else shortened


def lines_of(label: str, room: float, size: float) -> list[str]:
    """Return one or two lines of a label, which is shortened if it has no room in two."""
    (shortened,) = labels_for([label], [room], size, NAME_LINES)
    return wrapped(shortened, room, size, NAME_INDENT * size)
