"""Loadings as a table of coloured numbers, variables by components; zeros are blank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform
from numpy.typing import NDArray

from spcastat.labels import HEADING_WIDTH, short_names
from spcastat.linalg.eigenvectors import leading
from spcastat.plots import drawing
from spcastat.plots.blocks import BLOCK_LINE, LARGEST_FONT, loading_text
from spcastat.plots.drawing import place_of, position_of, short_sections
from spcastat.plots.loading_blocks import caption_lines, caption_of
from spcastat.plots.texts import MeasuredText, give_one_size, labels_for, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least and largest height of a row, in font sizes.
LINE_OF_ROW, TALLEST_ROW = 1.18, 5.0
#: Height of the line of shares below the names of components, in font sizes.
HEAD_LINE = 1.15
#: Size of the text relative to the height of a row.
TEXT = 0.78
#: Width of a cell in font sizes, the least and the largest; names have at least this share of the width.
CELL, WIDEST_CELL, NAME_SHARE = 2.6, 16.0, 0.3
#: Space between the last row and the caption, in lines of the caption.
CAPTION_SPACE = 0.4
#: Space between names and cells, without and with that of a label, in points.
LABEL_GAP, NAME_GAP = 4.0, 5.0
#: A number is written in black on cells lighter than this.
LIGHT = 0.55
#: The gid of the names of variables.
NAME = "name"
#: The least space between two shares of components, in font sizes.
SHARE_GAP = 0.5
#: The longest names of sections.
ROW_SECTION_WIDTH = 20
#: The last line names the components of variables without a row, if these are so few.
MOST_COMPONENTS_NAMED = 2


def main_counts(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return, for each component, the number of variables whose largest nonzero loading is on it."""
    nonzero = values[(values != 0).any(axis=1)]
    return np.bincount(np.abs(nonzero).argmax(axis=1), minlength=values.shape[1])


def _with_key(label: str, values: NDArray[np.float64]) -> str:
    """Return a label with what the colours of the cells mean, and cells without one, in its brackets."""
    marks = ["colour: sign and size" if (values < 0).any() else "colour: size"]
    key = "; ".join([*marks, *["blank: zero"] * bool((values == 0).any())])
    return f"{label[:-1]}; {key})" if label.endswith(")") else f"{label} ({key})"


class LoadingTable(Artist):
    """Cells and names of a table; which rows have room, and how large they are, follows from the axes.

    It is also the locator of the axes, whose x and y count components and rows.

    Parameters
    ----------
    ax : Axes
    data : DataFrame, variables by components
        With ``attrs["names"]`` and ``attrs["sections"]``, empty without sections.
    undrawn : sequence of int
        For each component, the number of variables that are not in `data` whose largest nonzero loading is on
        it.
    label : str
        What the values are, the first words of the caption below the table.
    shares : sequence of sequences of str
        Shares of the components, "" without a share. The first of these sequences whose texts have room is
        written below the names.
    on_shares : sequence of str
        Sentences of the caption if shares are written.
    """

    def __init__(
        self,
        ax: Axes,
        data: pd.DataFrame,
        undrawn: Sequence[int],
        label: str,
        shares: Sequence[Sequence[str]] = (),
        on_shares: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.ax = ax
        self.values, self.undrawn = data.to_numpy(dtype=float), np.array(undrawn)
        self.names: list[str] = data.attrs["names"]
        self.sections = short_sections(data.attrs["sections"], ROW_SECTION_WIDTH)
        self.headings = short_names(list(data.columns), HEADING_WIDTH)
        self.label, self.on_shares = _with_key(label, self.values), on_shares
        self.shares = [texts for texts in shares if any(texts)]
        self.accents = [np.array(accent) for accent in drawing.accents(ax)]
        self.rows = np.arange(len(self.values))
        self.labels: list[str] = []
        self.caption: list[str] = []  # lines below the table
        self.shares_drawn: tuple[Sequence[str], float] = [], 0.0
        self.size, self.is_turned, self.hidden = 0.0, False, self.undrawn
        self.name_room = 0.0  # beside the cells
        self.box = Bbox.null()
        self.given_locator = ax.get_axes_locator()
        self.set_gid("table")
        ax.add_artist(self)
        self.set_clip_on(False)
        ax.set_axis_off()
        ax.set(xlim=(0, len(self.headings)))
        ax.set_axes_locator(self)

    # --- what has room ----------------------------------------------------------------------------

    def get_subplotspec(self) -> Any:
        """Return the subplot of the axes, for the tight layout."""
        return self.ax.get_subplotspec()

    def __call__(self, ax: Any, renderer: Any) -> Bbox:
        """Choose rows and names for the place of the axes, and return the position of the cells."""
        place, pixels = place_of(ax, self.given_locator, renderer)
        width, height = place.width / pixels, place.height / pixels
        self.size = self._text_size(height)
        sections = max((width_of(name, self.size) + NAME_GAP for name in self.sections), default=0.0)
        sections = min(sections, 0.3 * width)
        width -= sections
        names_width, heading = self._set_size(width, height)
        lines = len(self.rows) + bool(self.hidden.any())
        if ax.get_ylim() != (lines, 0):
            ax.set_ylim(lines, 0)
        caption = self._caption_height()
        depth = min(height - heading - caption, lines * TALLEST_ROW * self.size)
        beside = [*self.labels, *self._last_line()]
        free = max(names_width - self._widest(beside), 0.0) / 2.0  # where cells would be too wide
        cells_left, cells_right = (place.x0 + (x - free) * pixels for x in (names_width, width))
        top = place.y1 - heading * pixels
        cells = Bbox.from_extents(cells_left, top - depth * pixels, cells_right, top)
        bottom = cells.y0 - caption * pixels
        self.box = Bbox.from_extents(place.x0, bottom, cells_right + sections * pixels, place.y1)
        return position_of(ax, cells)

    def _set_size(self, width: float, height: float) -> tuple[float, float]:
        """Set size, rows and caption; return the width of the names and the height of the headings.

        The largest size at which all names are complete is taken, if possible beside cells that have room for
        the shares.
        """
        largest, smallest = self.size, drawing.SMALLEST_NAME
        sizes = np.append(np.arange(largest, smallest, -0.5), smallest).tolist()
        for least_cell in (self._widest_share(), 0.0):
            for self.size in sizes:
                names_width, heading = self._set_rows(width, height, least_cell)
                if self._complete():
                    return names_width, heading
        self.size = largest  # no size has room for all names
        return self._set_rows(width, height)

    def _widest_share(self) -> float:
        """Return the width in points of a cell with room for the most exact share in the smallest font."""
        texts, size = self.shares[0] if self.shares else [], drawing.SMALLEST_NAME
        return max((width_of(text, size) + SHARE_GAP * size for text in texts), default=0.0)

    def _text_size(self, height: float) -> float:
        """Return the size of text that fits the height of a row."""
        largest = LARGEST_FONT * float(matplotlib.rcParams["font.size"])
        smallest = drawing.SMALLEST_NAME
        return float(np.clip(TEXT * height / (len(self.values) + 1.5), smallest, max(smallest, largest)))

    def _set_rows(self, width: float, height: float, least_cell: float = 0.0) -> tuple[float, float]:
        """Set rows and caption; return the width of the names and the height of the headings."""
        names_width, _ = self._set_names(width, height, least_cell)
        self.shares_drawn = self._shares_within((width - names_width) / len(self.headings))
        sentences = self.on_shares if self.shares_drawn[0] else ()
        self.caption = caption_lines(caption_of(self.label, sentences), width, self._caption_size())
        return self._set_names(width, height - self._caption_height(), least_cell)

    def _caption_size(self) -> float:
        """Return the size of the text of the caption."""
        return min(self.size, drawing.name_size())

    def _caption_height(self) -> float:
        """Return the height of the caption with the space above it, in points."""
        return (len(self.caption) + CAPTION_SPACE) * BLOCK_LINE * self._caption_size()

    def _set_names(self, width: float, height: float, least_cell: float) -> tuple[float, float]:
        """Set rows and their labels; return the width of the names and the height of the headings."""
        p, k = self.values.shape
        cell = max(CELL * self.size, 12.0, least_cell)
        heading = max(width_of(name, self.size) for name in self.headings)
        room = max(width - cell * k - NAME_GAP, NAME_SHARE * width)
        self.name_room = room
        self.is_turned = heading > (width - min(room, self._widest(self.names))) / k - 2.0
        depth = heading + NAME_GAP if self.is_turned else (1.6 + HEAD_LINE * bool(self.shares)) * self.size
        lines = max(int((height - depth) / (LINE_OF_ROW * self.size)), 2)
        everything = p + bool(self.undrawn.any()) <= lines
        self.rows = np.arange(p) if everything else leading(self.values, lines - 1)
        self.hidden = self.undrawn + main_counts(np.delete(self.values, self.rows, axis=0))
        names = [self.names[i] for i in self.rows]
        self.labels = labels_for(names, [room] * len(names), self.size)
        beside = [*self.labels, *self._last_line()]
        names_width = max(self._widest(beside), width - WIDEST_CELL * self.size * k)
        return min(names_width, width - 2.0 * k), depth

    def _last_line(self) -> list[str]:
        """Return the line on variables without a row and their components; nothing if all have one."""
        if not self.hidden.any():
            return []
        components = [self.headings[j] for j in np.flatnonzero(self.hidden)]
        few = len(components) <= MOST_COMPONENTS_NAMED
        of = " and ".join(components) if few else f"{len(components)} components"
        count = f"and {self.hidden.sum():,} more"
        longer = f"{count} of {of}"
        return [longer if width_of(longer, self.size) <= self.name_room else count]

    def _shares_within(self, cell: float) -> tuple[Sequence[str], float]:
        """Return the shares that have room in cells of this width in points, none if none has; their size."""
        for texts in [] if self.is_turned else self.shares:
            for size in (self.size, drawing.SMALLEST_NAME):
                if max(width_of(text, size) for text in texts) <= cell - SHARE_GAP * size:
                    return texts, size
        return [], self.size

    def _complete(self) -> bool:
        """Return whether no name is shortened."""
        return self.labels == [self.names[i] for i in self.rows]

    def _widest(self, labels: list[str]) -> float:
        return max(width_of(label, self.size) for label in labels) + NAME_GAP

    # --- drawing ----------------------------------------------------------------------------------

    @property
    def cells(self) -> Bbox:
        """The box of the cells in pixels: that of the axes, wherever they are when the table is drawn."""
        return self.ax.get_window_extent()

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Return the box of names, headings, cells and sections in pixels."""
        return self.box

    def get_tightbbox(self, renderer: Any = None) -> Bbox:
        """Return the box of names, headings, cells and sections in pixels."""
        return self.box

    def draw(self, renderer: Any) -> None:
        """Draw names, headings, cells and sections."""
        if self.get_visible():
            parts = list(self._parts())
            for part in parts:
                part.set_figure(drawing.figure_of(self.ax))
            names = [part for part in parts if isinstance(part, MeasuredText) and part.get_gid() == NAME]
            give_one_size(names, renderer)
            for part in parts:
                part.draw(renderer)

    def _parts(self) -> Iterator[Artist]:
        pixels = drawing.figure_of(self.ax).dpi / 72.0
        k = len(self.headings)
        pitch = self.cells.height / max(len(self.rows) + bool(self.hidden.any()), 1)
        width = self.cells.width / k
        shares, share_size = self.shares_drawn
        for j, name in enumerate(self.headings):
            x, y = self.cells.x0 + (j + 0.5) * width, self.cells.y1 + 0.3 * self.size * pixels
            if shares:
                grey = drawing.shade(self.ax, 0.7)
                style = {"color": grey, "fontsize": share_size}
                yield self._text(x, y, shares[j], ha="center", va="bottom", **style)
                y += HEAD_LINE * self.size * pixels
            yield self._text(x, y, name, ha="center", va="bottom", rotation=90 if self.is_turned else 0)
        yield from self._caption_parts(pixels)
        colours, inks = self._colours(), dict[str, str]()
        number = min(self.size, drawing.SMALLEST_NAME + 1.0)
        fits = width > (width_of("−.00", number) + 1.0) * pixels
        for line, (i, label) in enumerate(zip(self.rows.tolist(), self.labels, strict=True)):
            y = self.cells.y1 - (line + 0.5) * pitch
            yield self._text(self.cells.x0 - LABEL_GAP * pixels, y, label, ha="right", gid=NAME)
            for j in np.flatnonzero(self.values[i]).tolist():
                value, x = float(self.values[i, j]), self.cells.x0 + j * width
                colour = colours[i, j]
                corner = (x + 0.03 * width, y - 0.45 * pitch)
                size = (0.94 * width, 0.9 * pitch)
                yield Rectangle(corner, *size, facecolor=colour, linewidth=0, transform=IdentityTransform())
                words = loading_text(value) if fits else "−" * (value < 0)
                black = float(colour @ [0.299, 0.587, 0.114]) > LIGHT
                # equal numbers have one colour of text, though that of their cells differs a little
                text_colour = inks.setdefault(words, "#111111" if black else "white")
                style = {"fontsize": number, "color": text_colour}
                yield self._text(x + 0.5 * width, y, words, ha="center", **style)
        for words in self._last_line():
            y = self.cells.y1 - (len(self.rows) + 0.5) * pitch
            yield self._text(self.cells.x0 - LABEL_GAP * pixels, y, words, ha="right", fontstyle="italic")
        yield from self._section_parts(pitch)

    def _caption_parts(self, pixels: float) -> Iterator[Artist]:
        """Yield the lines of the caption, below the table."""
        size = self._caption_size()
        for line, words in enumerate(reversed(self.caption)):
            y = self.box.y0 + (line + 0.4) * BLOCK_LINE * size * pixels
            yield self._text(self.box.x0, y, words, fontsize=size, color=drawing.shade(self.ax, 0.7))

    def _section_parts(self, pitch: float) -> Iterator[Artist]:
        """Yield lines between sections of variables, and their names at the right edge."""
        if not self.sections:
            return
        pixels = drawing.figure_of(self.ax).dpi / 72.0
        heads = [self.sections[i] for i in self.rows]
        begins = [i for i, head in enumerate(heads) if i == 0 or heads[i - 1] != head]
        for begin, end in zip(begins, [*begins[1:], len(heads)], strict=True):
            if begin:
                y = self.cells.y1 - begin * pitch
                style: dict[str, Any] = {"color": drawing.ink(self.ax), "linewidth": 0.8}
                ends = [self.cells.x0, self.cells.x1]
                yield Line2D(ends, [y, y], transform=IdentityTransform(), **style)
            y = self.cells.y1 - (begin + end) / 2 * pitch
            yield self._text(self.cells.x1 + LABEL_GAP * pixels, y, heads[begin], fontstyle="italic")

    def _colours(self) -> NDArray[np.float64]:
        """Return the colours of all cells: from the background at zero to an accent at the largest value."""
        share = np.abs(self.values) / np.abs(self.values).max()
        accents = np.where((self.values < 0)[..., None], self.accents[1], self.accents[0])
        mixed = share[..., None] * accents + (1.0 - share[..., None]) * drawing.paper(self.ax)
        return np.asarray(mixed, dtype=float)

    def _text(self, x: float, y: float, words: str, **style: Any) -> Text:
        style = {"fontsize": self.size, "va": "center", "color": drawing.ink(self.ax), **style}
        return MeasuredText(x, y, words, parse_math=False, transform=IdentityTransform(), **style)
