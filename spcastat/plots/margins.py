"""Layout of a biplot within its place: the axes, and around them blocks of variables, a legend and a note.

`Margins` is the locator of the axes. Matplotlib asks it for their position at each draw and in each pass of a
layout engine. The place is the position that a layout engine, ``add_axes``, a subfigure or the locator of an
inset gave to the axes; `Margins` returns the part of it that is left for the points. Layout engines therefore
need no information on the blocks, axes in a grid stay aligned, and blocks adapt to the size of the figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.font_manager import FontProperties
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from spcastat.plots.blocks import BLOCK_LINE, Block, BlockLayout, BlockSpace, names_in
from spcastat.plots.captions import Caption, Content, Sentence
from spcastat.plots.drawing import figure_of, in_figure, place_of, position_of
from spcastat.plots.frame import View
from spcastat.plots.legends import columns_within, legend_size
from spcastat.plots.names import Names, Placement
from spcastat.plots.texts import HINTED, NAME_LINES, labels_for, width_of, wrapped
from spcastat.plots.ticks import SteadyTicks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.text import Text

#: Shares of the width beside the axes, and of the height below them, that are tried for blocks.
BESIDE_SHARES, BELOW_SHARES = (0.30, 0.38, 0.46), (0.16, 0.22, 0.30, 0.34, 0.38, 0.46)
#: Space between the axes and a block, in points, and between two blocks, in lines.
SPACE, BLOCK_GAP = 9.0, 0.5
#: Each side of the axes should have at least this many points, and this share of the side of the place.
SMALLEST_SIDE, SMALLEST_SHARE = 80.0, 0.40
#: Cost of each point that a side is too small, in points, and of a unit of the cost of a block, as a share
#: of the width of the place.
MISSING_POINT, COST = 5.0, 0.024
#: Both axes have one scale only if the data then fill at least this share of the width and of the height.
FILLED = 0.33
#: The height of a note changes the limits of axes with one scale, and the limits change its sentences on rows
#: outside and on names. The note is therefore written up to this many times.
MOST_CAPTIONS = 4
#: Blocks are left out only if the arrows name at least this share of the variables that are named with blocks
#: (measured on eleven tables at 3.4 x 3 to 7 x 5 inches).
NAMED_SHARE = 0.75
#: A note of more lines loses its last sentences as long as these explain no mark.
MOST_NOTE_LINES = 3
#: Without a common scale, the longer side counts with at most this multiple of the shorter.
ELONGATION = 1.5
#: Length of the longest bar in font sizes, and on places narrower than WIDE_PLACE font sizes.
LONGEST_BAR, LONGEST_BAR_NARROW, WIDE_PLACE = 3.4, 2.4, 45.0
#: Largest number of bars of a component; `plot_loadings` draws all of them.
MOST_BARS = 15
#: Space between the axes and the legend above them, in points.
LEGEND_SPACE = 2.0
#: Sentences of a note are left out until both sides of the axes have this many points.
NOTE_SIDE = 62.0
#: Space between the frame and the numbers to its left, and between these and the label, in points; height of
#: the label in font sizes.
SIDE_NUMBER_GAP, SIDE_LABEL_GAP, LABEL_HEIGHT = 7.0, 4.0, 1.17
#: An arrangement may be best in a slightly different place if its value is at most this many points lower.
RIVAL = 20.0

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Place:
    """A block, its layout, and its upper left corner in points from the lower left corner of the place."""

    block: Block
    layout: BlockLayout
    x: float
    y: float


@dataclass(frozen=True)
class Arrangement:
    """The positions of axes, blocks and legend within a place, in points from its lower left corner.

    Attributes
    ----------
    axes : (left, bottom, right, top)
    blocks : list of Place
    legend_columns : int
    legend : (x, y) or None
        The lower left corner of the legend; None if it is above the axes.
    value : float
        The value of the arrangement: the side of the axes in points, minus the costs of the blocks.
    sentences : list of Sentence
        The sentences of the note.
    note : list of str
        The lines of the note.
    names : list of Placement
        The names within the axes.
    """

    axes: Box
    blocks: list[Place]
    legend_columns: int
    legend: tuple[float, float] | None
    value: float
    sentences: Sequence[Sentence] = ()
    note: Sequence[str] = ()
    names: Sequence[Placement] = ()


class Margins:
    """Locator of the axes of a biplot.

    Parameters
    ----------
    ax : Axes
    texts : Names
        The names within the axes.
    blocks : (Block, Block) or None
        Variables of the horizontal and of the vertical component.
    headings : (str, str)
        Names of the two components.
    size : float
        Size of the names in points.
    limits : (low, high)
        Smallest and largest x and y to show, two arrays of shape (2,).
    equal : bool
        Whether both axes have one scale, so that angles or distances can be read.
    caption : callable
        Returns the sentences of the note.
    total : str
        The total of which the percentages in the axis labels are shares. If the note does not name it, the
        label of the horizontal axis does, if it has room.
    blocks_may_go : bool
        Whether blocks are left out if the arrows name most of the variables that could be named.
    legend : Legend, optional
    note : Text, optional
        Written below everything, wrapped to the width of the place.
    bar_height : float
        Height in points of a colour bar above the axes; 0 without one.
    filled : float
        Smallest share of width and height that the data fill if both axes have one scale; otherwise each has
        its own.
    """

    def __init__(
        self,
        ax: Axes,
        texts: Names,
        blocks: tuple[Block, Block] | None,
        headings: tuple[str, str],
        size: float,
        limits: tuple[NDArray[np.float64], NDArray[np.float64]],
        equal: bool,
        caption: Caption,
        total: str,
        blocks_may_go: bool = False,
        legend: Legend | None = None,
        note: Text | None = None,
        bar_height: float = 0.0,
        filled: float = FILLED,
    ) -> None:
        self.ax, self.texts, self.blocks, self.headings, self.size = ax, texts, blocks, headings, size
        self.low, self.high = limits
        self.equal, self.legend, self.note, self.bar_height = equal, legend, note, bar_height
        words = [] if legend is None else [text.get_text() for text in legend.get_texts()]
        self.entries = list(zip(legend.legend_handles, words, strict=True)) if legend is not None else []
        self.filled, self.total, self.caption = filled, total, caption
        self.blocks_may_go = blocks_may_go
        values = [abs(row.value) for block in blocks or () for row in block.rows]
        self.largest = max(values, default=1.0)
        self.names = (*names_in(blocks or ()), *headings)
        self.labels = ax.get_xlabel(), ax.get_ylabel()
        self.labels_written = list(self.labels)
        self.given_locator, self.given_ticks = ax.get_axes_locator(), ax.yaxis.get_major_locator()
        self.arrangements: dict[tuple[float, ...], Arrangement] = {}
        self.numbers, self.number_width = Room(ax), 0.0
        ax.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        if note is not None:  # until the figure is drawn
            sentences = self._sentences(self._content(np.array([self.low, self.high]), None))
            note.set_text(" ".join(sentence.text for sentence in sentences))
        self.limits = self._current_limits()
        ax.set_axes_locator(self)

    def get_subplotspec(self) -> Any:
        """Return the subplot of the axes, for the tight layout."""
        return self.ax.get_subplotspec()

    def __call__(self, ax: Any, renderer: Any) -> Bbox:
        """Lay out the place, and return the position of the axes in the figure."""
        box, pixels = place_of(ax, self.given_locator, renderer)
        arrangement = self.arranged(round(box.width / pixels, 1), round(box.height / pixels, 1))
        self._apply(arrangement, box, pixels)
        left_edge, bottom, right, top = (value * pixels for value in arrangement.axes)
        inner = Bbox.from_extents(box.x0 + left_edge, box.y0 + bottom, box.x0 + right, box.y0 + top)
        return position_of(ax, inner)

    def arranged(self, width: float, height: float) -> Arrangement:
        """Return the best arrangement in a place of this size in points."""
        while (key := self._key(width, height)) not in self.arrangements:  # which may need wider numbers
            self.arrangements[key] = self._arranged(width, height)
        return self.arrangements[key]

    def _arranged(self, width: float, height: float) -> Arrangement:
        """Return the best arrangement, without blocks if hardly more variables are named with them."""
        if self.blocks is None or not self.blocks_may_go:
            return self._settled(width, height, self.blocks)
        bare = self._settled(width, height, None)
        if _named_variables(bare) >= len({row.variable for block in self.blocks for row in block.rows}):
            return bare
        full = self._settled(width, height, self.blocks)
        return bare if _named_variables(bare) >= NAMED_SHARE * _named_variables(full) else full

    def _settled(self, width: float, height: float, blocks: tuple[Block, Block] | None) -> Arrangement:
        """Return the best arrangement with these blocks, and with a note that describes it."""
        sentences = self._sentences(self._content(np.array([self.low, self.high]), None))
        axes: Box | None = None
        for _ in range(MOST_CAPTIONS):
            arrangement = self._best_arrangement(width, height, blocks, sentences)
            extra = self._extra(arrangement.axes) if self.equal else np.zeros(2)
            limits = np.array([self.low - extra, self.high + extra])
            if axes != arrangement.axes:
                axes, names = arrangement.axes, self.texts.placed_in(_view(arrangement.axes, limits))
            arrangement = replace(arrangement, names=names)
            content = self._content(limits, arrangement, bool(extra.any()) or not self.equal)
            previous, sentences = sentences, self._sentences(content)
            if sentences == previous:
                return arrangement
        return self._with_note(arrangement, width, sentences)

    def _content(
        self, limits: NDArray[np.float64], arrangement: Arrangement | None, one_scale: bool = True
    ) -> Content:
        """Return what is drawn within these limits; without an arrangement, everything has room."""
        names, places = self.texts.names, []
        if arrangement is not None:
            names, places = [placement.name for placement in arrangement.names], arrangement.blocks
        low, high = np.sort(limits, axis=0)
        return Content(
            low,
            high,
            arrows=sum(name.at_tip for name in names),
            rows=sum(name.counted for name in names),
            means=sum(name.radius > 0 and not name.of_row for name in names),
            one_scale=one_scale,
            bars=bool(self.blocks) if arrangement is None else bool(places),
            values=bool(places) and all(place.layout.values for place in places),
        )

    def _sentences(self, content: Content) -> list[Sentence]:
        """Return the sentences of the note on what is drawn; no sentences without a note."""
        if self.note is None:
            return []
        return [sentence for sentence in self.caption(content) if sentence.text]

    def _wrapped(self, sentences: Sequence[Sentence], width: float) -> list[str]:
        """Return the lines of a note in a place of this width."""
        text = " ".join(sentence.text for sentence in sentences)
        return wrapped(text, (width + self._beside()) / HINTED, self.size) if text else []

    def _with_note(self, arrangement: Arrangement, width: float, sentences: list[Sentence]) -> Arrangement:
        """Return an arrangement with other sentences, as many as fit into the lines of its note."""
        while len(lines := self._wrapped(sentences, width)) > len(arrangement.note):
            sentences = sentences[:-1]
        return replace(arrangement, sentences=sentences, note=lines)

    def _key(self, width: float, height: float) -> tuple[float, ...]:
        """Return the sizes on which an arrangement depends."""
        return width, height, self._beside(), self._ticks(), self._title(), float(self._legend() is not None)

    def _best_arrangement(
        self,
        width: float,
        height: float,
        blocks: tuple[Block, Block] | None,
        sentences: Sequence[Sentence],
    ) -> Arrangement:
        """Return the best arrangement with a note of these sentences; the last sentences may be left out.

        The numbers beside the axes have room in nearly equal arrangements, too: a layout engine makes room
        for the numbers of one arrangement, and another may be best in the remaining place.
        """
        while len(lines := self._wrapped(sentences, width)) > MOST_NOTE_LINES and not sentences[-1].is_key:
            sentences = sentences[:-1]
        note = self._line() * len(lines) + 0.5 * SPACE if lines else 0.0
        options = list(self._options(width, height, blocks, note))
        arrangement = max(options, key=lambda option: option.value)
        rivals = [option for option in options if option.value >= arrangement.value - RIVAL]
        self.number_width = max(self.number_width, *(self._width_of_numbers(rival.axes) for rival in rivals))
        if lines and _sides(arrangement.axes).min() < NOTE_SIDE:
            return self._best_arrangement(width, height, blocks, sentences[:-1])
        return replace(arrangement, sentences=sentences, note=lines)

    def _options(
        self, width: float, height: float, blocks: tuple[Block, Block] | None, note: float
    ) -> Iterator[Arrangement]:
        """Yield all arrangements, of which the best is chosen."""
        if blocks is None:
            columns, above = self._above(width)
            axes = (0.0, note + self._ticks(), width, height - above)
            yield Arrangement(axes, [], columns, None, 0.0)
            return
        for share in BESIDE_SHARES:
            yield self._column(blocks, width, height, share, note)
        for share in BELOW_SHARES:
            yield self._under(blocks, width, height, share, note)

    def _column(
        self, blocks: tuple[Block, Block], width: float, height: float, share: float, note: float
    ) -> Arrangement:
        """Both components to the right of the axes, one below the other; the legend below them or above."""
        unit, room, gap = self._unit(width), share * width - SPACE, BLOCK_GAP * self._line()
        ends = [end for block in blocks for row in block.rows for end in row.ends]
        space = replace(self._space(unit, room, 0), span=(min(ends), max(ends)))
        lines = self._lines(height - self._above(width)[1] - note - gap)

        def laid_out(with_values: bool) -> tuple[BlockLayout, BlockLayout]:
            def block_layout(i: int, limit: int) -> BlockLayout:
                own_space = replace(space, lines=max(limit, 2), heading=self.headings[i])
                return own_space.lay_out(blocks[i].rows, with_values)

            upper_block = block_layout(0, lines // 2)
            lower_block = block_layout(1, lines - round(upper_block.height / self._line()))
            return block_layout(0, lines - round(lower_block.height / self._line())), lower_block

        upper, lower = _alike(laid_out)
        depth = upper.height + gap + lower.height
        legend_width, legend_height = self._legend_size(1)
        has_room = legend_width <= room and legend_height + self._line() <= height - note - depth
        columns, above = (1, self.bar_height) if has_room else self._above(width)
        left = width - max(upper.width, lower.width, legend_width * has_room)
        bottom, top = note + self._ticks(), height - above
        places = [
            Place(blocks[0], upper, left, top),
            Place(blocks[1], lower, left, top - upper.height - gap),
        ]
        axes = (0.0, bottom, left - SPACE, top)
        corner = left - 2.0, min(bottom, top - depth - self._line() - legend_height)
        value = self._value(axes, width, height, upper, lower)
        return Arrangement(axes, places, columns, corner if has_room else None, value)

    def _under(
        self, blocks: tuple[Block, Block], width: float, height: float, share: float, note: float
    ) -> Arrangement:
        """Both components below the axes, side by side, and the legend above."""
        start = -self._beside()
        half = (width - start - 1.5 * SPACE) / 2.0
        unit, lines = self._unit(width), self._lines(share * height)
        spaces = [replace(self._space(unit, half, lines, heading), columns=2) for heading in self.headings]

        def laid_out(with_values: bool) -> tuple[BlockLayout, BlockLayout]:
            first, second = (
                space.lay_out(block.rows, with_values) for space, block in zip(spaces, blocks, strict=True)
            )
            return first, second

        first, second = _alike(laid_out)
        depth = note + max(first.height, second.height)
        columns, above = self._above(width)
        axes = (0.0, depth + 0.3 * SPACE + self._ticks(), width, height - above)
        places = [
            Place(blocks[0], first, start, depth),
            Place(blocks[1], second, start + half + 1.5 * SPACE, depth),
        ]
        return Arrangement(axes, places, columns, None, self._value(axes, width, height, first, second))

    def _space(self, unit: float, width: float, lines: int, heading: str = "") -> BlockSpace:
        """Return the space for a block; a bar for a value of 1 has a length of `unit` points."""
        return BlockSpace(
            unit,
            self.size,
            width,
            lines,
            heading=heading,
            name_lines=NAME_LINES,
            figure_names=self.names,
            most_rows=MOST_BARS,
        )

    def _value(self, axes: Box, width: float, height: float, *layouts: BlockLayout) -> float:
        """Return the side of a square as large as the data in the axes, minus the costs of the blocks."""
        size = np.maximum(_sides(axes), 1.0)
        extent = self.high - self.low if self.equal else np.ones(2)
        scales = size / extent
        scales = np.minimum(scales, scales.min() if self.equal else ELONGATION * size.min() / extent)
        missing = self._missing(axes, width, height)
        hidden = sum(layout.cost for layout in layouts)
        return float(np.sqrt((scales * extent).prod())) - COST * width * hidden - MISSING_POINT * missing

    def _missing(self, axes: Box, width: float, height: float) -> float:
        """Return by how many points both sides of the axes are too small for a place of this size."""
        least_sides = np.maximum(SMALLEST_SHARE * np.array([width, height]), SMALLEST_SIDE)
        return float(np.maximum(least_sides - _sides(axes), 0.0).sum())

    # --- sizes in points --------------------------------------------------------------------------

    def _line(self) -> float:
        return BLOCK_LINE * self.size

    def _lines(self, height: float) -> int:
        """Return the number of lines of a block that have room, at least two."""
        return max(int(height / self._line()), 2)

    def _unit(self, width: float) -> float:
        """Return the length of a bar for a value of 1."""
        longest = LONGEST_BAR if width > WIDE_PLACE * self.size else LONGEST_BAR_NARROW
        return longest * self.size / self.largest

    def _ticks(self) -> float:
        """Return the height of the ticks and their label below the axes."""
        axis = self.ax.xaxis
        if not axis.get_visible():
            return 0.0
        label = 1.35 * _size(axis.label) if self.ax.get_xlabel() else 0.0
        numbers = axis.get_ticklabels()
        return 11.0 + (1.1 * _size(numbers[0]) if numbers else 0.0) + label

    def _beside(self) -> float:
        """Return the width of the numbers and the label to the left of the axes, 0 if it is unknown."""
        axis = self.ax.yaxis
        if not (axis.get_visible() and self.number_width):
            return 0.0
        label = SIDE_LABEL_GAP + LABEL_HEIGHT * _size(axis.label) if self.ax.get_ylabel() else 0.0
        return SIDE_NUMBER_GAP + self.number_width + label

    def _width_of_numbers(self, axes: Box) -> float:
        """Return the width of the numbers to the left of axes in a box, 0 if the user set ticks or limits."""
        axis, ticks = self.ax.yaxis, self.ax.yaxis.get_major_locator()
        if not self._has_own_limits() or ticks is not self.given_ticks:
            return 0.0
        if not isinstance(ticks, SteadyTicks):  # they depend on nothing
            texts = axis.get_major_formatter().format_ticks(list(ticks()))
            return max(width_of(text, _size(axis.get_ticklabels()[0])) for text in texts)
        extra = self._extra(axes)[1] if self.equal else 0.0
        low, high = float(self.low[1] - extra), float(self.high[1] + extra)
        return ticks.width(ticks.ticks_between(low, high, (high - low) / max(axes[3] - axes[1], 1.0)))

    def _title(self) -> float:
        """Return the height of a title above the axes, 0 without one."""
        titles = [self.ax.get_title(loc) for loc in ("left", "center", "right")]
        lines = max(title.count("\n") + 1 if title else 0 for title in titles)
        return 1.3 * lines * _size(self.ax.title) + 6.0 if lines else 0.0

    def _legend(self) -> Legend | None:
        """Return the legend, unless the user has removed or replaced it."""
        return self.legend if self.legend is self.ax.get_legend() else None

    def _legend_size(self, columns: int) -> tuple[float, float]:
        """Return width and height of the legend in a number of columns."""
        legend = self._legend()
        if legend is None:
            return 0.0, 0.0
        texts, title = legend.get_texts(), legend.get_title().get_text()
        width, height = legend_size([text.get_text() for text in texts], title, columns, _size(texts[0]))
        return width, height + LEGEND_SPACE

    def _above(self, width: float) -> tuple[int, float]:
        """Return the columns of a legend above the axes, and the height of everything above the axes."""
        legend = self._legend()
        if legend is None:
            return 1, self.bar_height
        names, title = [text.get_text() for text in legend.get_texts()], legend.get_title().get_text()
        columns = columns_within(names, title, width + self._beside(), _size(legend.get_texts()[0]))
        return columns, self._legend_size(columns)[1] + self._title() + self.bar_height

    # --- where everything stands ------------------------------------------------------------------

    def _apply(self, arrangement: Arrangement, box: Bbox, pixels: float) -> None:
        """Move blocks, legend and note to their places in a box in pixels."""

        def at(x: float, y: float) -> tuple[float, float]:
            return box.x0 + x * pixels, box.y0 + y * pixels

        for block in self.blocks or ():
            block.layout = None
        for place in arrangement.blocks:
            place.block.layout, place.block.corner = place.layout, at(place.x, place.y)
        left, _, _, top = arrangement.axes
        if self.note is not None:
            self.note.set_position(in_figure(self.ax, at(-self._beside(), 0.0)))
        if (legend := self._legend()) is not None:
            _set_columns(legend, arrangement.legend_columns, self.entries)
            excess = self._legend_size(arrangement.legend_columns)[0] - box.width / pixels
            upper_corner = left - max(excess, 0.0), top + self._title() + self.bar_height + LEGEND_SPACE
            corner = arrangement.legend or upper_corner
            legend.set_loc("lower left")
            legend.set_bbox_to_anchor(in_figure(self.ax, at(*corner)), figure_of(self.ax).transFigure)
        self._set_limits(arrangement.axes)
        self._write(arrangement, box.width / pixels)
        self._fit_labels(arrangement)
        self._keep_room_for_numbers(*at(left, top))

    def _write(self, arrangement: Arrangement, width: float) -> None:
        """Write the note and the names within the axes, for the current limits if the user has set limits."""
        if not self._has_own_limits():
            limits = self._current_limits()
            arrangement = replace(arrangement, names=self.texts.placed_in(_view(arrangement.axes, limits)))
            sentences = self._sentences(self._content(limits, arrangement))
            arrangement = self._with_note(arrangement, width, sentences)
        self.texts.placements = list(arrangement.names)
        if self.note is not None:
            self.note.set_text("\n".join(arrangement.note))

    def _fit_labels(self, arrangement: Arrangement) -> None:
        """Shorten the label of each axis to its length: without the share, then with a shortened name.

        Labels that the user has changed are kept.
        """
        axes = arrangement.axes
        for i, axis in enumerate((self.ax.xaxis, self.ax.yaxis)):
            if axis.label.get_text() == self.labels_written[i]:
                room, size = (axes[2 + i] - axes[i]) / HINTED, _size(axis.label)
                labels = [self.labels[i], *labels_for([self.headings[i]], [room], size, 1, self.headings)]
                is_explained = any(sentence.on_shares for sentence in arrangement.sentences)
                if axis is self.ax.xaxis and not is_explained:
                    labels.insert(0, re.sub(r" %\)$", f" % of the {self.total})", self.labels[i]))
                fitting = (label for label in labels if width_of(label, size) <= room)
                self.labels_written[i] = next(fitting, labels[-1])
                axis.label.set_text(self.labels_written[i])

    def _keep_room_for_numbers(self, x: float, y: float) -> None:
        """Reserve room for the widest numbers, and their label, to the left of the corner (x, y)."""
        edge = x - self._beside() * figure_of(self.ax).dpi / 72.0
        self.numbers.box = Bbox.from_extents(edge, y - 1.0, x, y) if edge < x else Bbox.null()

    def _current_limits(self) -> NDArray[np.float64]:
        return np.array([self.ax.get_xlim(), self.ax.get_ylim()]).T

    def _has_own_limits(self) -> bool:
        """Return whether the user has not changed the limits of the axes."""
        return np.array_equal(self._current_limits(), self.limits)

    def _extra(self, axes: Box) -> NDArray[np.float64]:
        """Return by how much the limits of each axis are extended on both sides for one scale.

        The result is zero if one scale would leave most of the axes empty.
        """
        size = np.maximum(_sides(axes), 1.0)
        extent = self.high - self.low
        extra = (size / (size / extent).min() - extent) / 2.0
        return extra if (extent / (extent + 2.0 * extra)).min() >= self.filled else np.zeros(2)

    def _set_limits(self, axes: Box) -> None:
        """Extend the limits to one scale for both axes, unless the user has changed them."""
        if not self.equal or not self._has_own_limits():
            return
        extra = self._extra(axes)
        limits = np.array([self.low - extra, self.high + extra])
        if np.abs(limits - self.limits).max() > 1e-6 * (self.high - self.low).max():
            self.ax.set(xlim=limits[:, 0], ylim=limits[:, 1])
            self.limits = self._current_limits()


class Room(Artist):
    """An invisible box in pixels for which layout engines make room."""

    def __init__(self, ax: Axes) -> None:
        super().__init__()
        self.box = Bbox.null()
        ax.add_artist(self)
        self.set_clip_on(False)

    def get_tightbbox(self, renderer: Any = None) -> Bbox:
        """Return the box."""
        return self.box


def _view(axes: Box, limits: NDArray[np.float64]) -> View:
    """Return the view of axes in a box, with these limits."""
    return View.between(limits[0], limits[1], np.maximum(_sides(axes), 1.0))


def _sides(axes: Box) -> NDArray[np.float64]:
    """Return width and height of axes in a box."""
    return np.array([axes[2] - axes[0], axes[3] - axes[1]])


def _named_variables(arrangement: Arrangement) -> int:
    """Return the number of variables with a name at their arrow or in a block."""
    variables = {placement.name.variable for placement in arrangement.names if placement.name.at_tip}
    rows = (row.variable for place in arrangement.blocks for row in place.layout.rows)
    return len(variables.union(rows))


def _alike(laid_out: Callable[[bool], tuple[BlockLayout, BlockLayout]]) -> tuple[BlockLayout, BlockLayout]:
    """Return the layouts of two blocks, with values in both or in none."""
    first, second = laid_out(True)
    return (first, second) if first.values == second.values else laid_out(False)


def _size(text: Text) -> float:
    """Return the size of a text in points."""
    return float(text.get_fontsize())


def _set_columns(legend: Legend, columns: int, entries: list[tuple[Any, str]]) -> None:
    """Change the number of columns of a legend, and order its entries by row.

    Matplotlib has no public function for an existing legend, and fills legends by column.
    """
    if columns != legend._ncols:  # type: ignore[attr-defined]
        legend._ncols = columns  # type: ignore[attr-defined]
        ordered = [entry for column in range(columns) for entry in entries[column::columns]]
        handles, names = [handle for handle, _ in ordered], [name for _, name in ordered]
        title, title_size = legend.get_title().get_text(), _size(legend.get_title())
        colours = [text.get_color() for text in [*legend.texts, legend.get_title()]]
        legend._init_legend_box(handles, names)  # type: ignore[attr-defined]
        for text in legend.get_texts():
            text.set_parse_math(False)
        legend.set_title(title, prop=FontProperties(size=title_size))
        for text, colour in zip([*legend.texts, legend.get_title()], colours, strict=True):
            text.set_color(colour)
