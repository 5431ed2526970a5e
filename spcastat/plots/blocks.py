"""Blocks of named bars in the margins of a plot, which are laid out whenever the figure is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import cos, sin
from typing import TYPE_CHECKING, Any

from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox, IdentityTransform

from spcastat.plots import drawing
from spcastat.plots.texts import (
    BOLD,
    NAME_INDENT,
    MeasuredText,
    give_one_size,
    labels_for,
    widest,
    width_of,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The largest text, relative to the font size of the style.
LARGEST_FONT = 0.9
#: Height of a line of a block, in font sizes.
BLOCK_LINE = 1.28
#: Thickness of a bar, and half the length of the cap of an interval, in heights of a line.
BAR, CAP = 0.34, 0.23
#: Height of a scale below the last row, its distance from this, length of its ticks, and distance of its
#: numbers, in lines.
SCALE_LINES, SCALE_DISTANCE, TICK, TICK_NUMBERS = 1.5, 0.1, 0.25, 0.85
#: Strength of an interval that includes zero.
UNSURE_INTERVAL = 0.4
#: Space between a bar and its name, in points.
BAR_NAME_GAP = 4.0
#: Space between two columns of a block, in points.
COLUMN_GAP = 10.0
#: Length of the small arrow after a name with the space before it, and its middle, in font sizes.
ARROW, ARROW_MIDDLE = 1.5, 1.05
#: Length of the small arrow after a heading with the space before it, and its middle, in font sizes.
HEADING_ARROW, HEADING_ARROW_MIDDLE = 1.35, 0.9
#: What a name may take of the space before its arrow, in font sizes.
BEFORE_ARROW = 0.4
#: The number of variables of a component that should be named, and what each of these left out costs
#: besides: less than two names cut to stumps, so that a narrow list has fewer names, but complete ones (30
#: variables of cell nuclei, 3.4 x 3 inches).
NAMED_VARIABLES, NAMED_COST = 5, 2.0
#: What the line costs that counts one row, which could stand there.
ONE_MORE_COST = 3.0
#: Writing the values is worth shortening names by so much (see `_shortening`).
VALUES_WORTH = 2.0
#: A name shortened to this number of characters is as easy to read as a longer one.
READABLE = 24
#: A shortened name without a piece of so many letters is hardly recognised, which costs so much.
FEWEST_LETTERS, UNRECOGNISED = 6, 3.0
#: A name that takes more than its room costs so much.
OVERFULL = 20.0
#: The smallest room for a name that is not complete, in font sizes.
NARROWEST = 4.0
#: Shortened names differ from so many names of each block of the figure.
MOST_OTHERS = 40
#: Loadings in large units, from this size on, have three digits.
LARGE_LOADING = 1e4


def loading_text(value: float) -> str:
    """Return a loading as ".50" or "−.26", as in tables of the behavioural sciences."""
    text = f"{abs(value):.2f}" if abs(value) < LARGE_LOADING else f"{abs(value):.3g}"
    sign = "−" if value < 0 and text != "0.00" else ""
    return sign + (text[1:] if text.startswith("0") else text)


def tick_text(value: float) -> str:
    """Return a number of a scale as ".5", "−.25" or "20"."""
    text = f"{abs(value):g}"
    return ("−" if value < 0 else "") + (text[1:] if text.startswith("0.") else text)


# --- layouts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedBar:
    """A named bar.

    Attributes
    ----------
    name : str
    value : float
    colour : colour
    direction : (float, float), optional
        Direction of the arrow of the variable in the plot, if it has one.
    interval : (low, high), optional
    italic : bool
    section : str
        A word in grey after the name.
    variable : int, optional
        Position of the variable in the data.
    """

    name: str
    value: float
    colour: Any
    direction: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    italic: bool = False
    section: str = ""
    variable: int | None = None

    @property
    def ends(self) -> tuple[float, ...]:
        """What has room on the axis of the bars: zero, the value, and the limits of the interval."""
        return (0.0, self.value, *(self.interval or ()))


@dataclass(frozen=True)
class BlockLayout:
    """Where the rows of a block stand, in points.

    Attributes
    ----------
    size : float
        Size of the text.
    heading : str
    width, height : float
    line : float
        Height of a line.
    hidden : int
        Number of rows that are not shown.
    cost : float
        What the layout hides: 1 for each name left out, NAMED_COST more if it is one of the largest
        NAMED_VARIABLES, and 1 to 6 for each name shortened.
    rows : list of NamedBar
        Those that are shown: those of the largest values.
    labels : list of str
        Their names.
    texts : list of list of str
        The lines of each name.
    values : bool
        Whether the values are written.
    places : list of (int, int)
        Column and line where each row begins; the last one is that of the number of hidden rows.
    pitch : float
        Distance between columns.
    unit : float
        Length of a bar for a value of 1.
    zero, name_start : float
        Where bars and names begin in a column.
    ticks : tuple of float
        Values that a scale below the rows marks; by default there is no scale.
    ends : (float, float)
        Values at the ends of the scale.
    """

    size: float
    heading: str
    width: float
    height: float
    line: float
    hidden: int
    cost: float
    rows: list[NamedBar] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)
    values: bool = False
    places: list[tuple[int, int]] = field(default_factory=list)
    pitch: float = 0.0
    unit: float = 0.0
    zero: float = 0.0
    name_start: float = 0.0
    ticks: tuple[float, ...] = ()
    ends: tuple[float, float] = (0.0, 0.0)

    def widened(self, room: float, span: tuple[float, float]) -> BlockLayout:
        """Return the layout with bars that take more points, where `span` had room."""
        factor = 1.0 + room / (self.unit * (span[1] - span[0]))
        return replace(
            self,
            unit=self.unit * factor,
            zero=self.zero * factor,
            name_start=self.name_start + room,
            pitch=self.pitch + room,
            width=self.width + room,
        )

    def spread(self, factor: float) -> BlockLayout:
        """Return the layout with higher lines."""
        return replace(self, line=self.line * factor, height=self.height * factor)

    def with_scale(self, ticks: Sequence[float], span: tuple[float, float]) -> BlockLayout:
        """Return the layout with a scale below the rows, as long as the bars may be."""
        height = self.height + SCALE_LINES * self.line
        return replace(self, ticks=tuple(ticks), ends=span, height=height)


@dataclass(frozen=True)
class BlockSpace:
    """The space for a block.

    Attributes
    ----------
    unit : float
        Length of a bar for a value of 1, in points.
    size : float
        Size of the text.
    width : float
        Room in points.
    lines, columns : int
        The largest numbers of lines, with the heading, and of columns.
    heading : str
        The first line.
    line_cost : float
        What each line costs, where the height of the block is taken from the axes.
    name_lines : int
        How many lines a name may have; names are wrapped only if some would be shortened otherwise.
    span : (low, high), optional
        Values for which the bars have room, so that the zero lines of several blocks are aligned; by default
        those of the visible rows.
    figure_names : tuple of str
        Names and headings in the figure, from which shortened ones differ.
    most_rows : int, optional
        How many rows are shown, unless those left out would take a third of this number or less.
    """

    unit: float
    size: float
    width: float
    lines: int
    columns: int = 1
    heading: str = ""
    line_cost: float = 0.0
    name_lines: int = 1
    span: tuple[float, float] | None = None
    figure_names: tuple[str, ...] = ()
    most_rows: int | None = None

    def lay_out(self, rows: Sequence[NamedBar], with_values: bool = True, undrawn: int = 0) -> BlockLayout:
        """Return the layout that hides least of these rows, and of `undrawn` others, which are only counted.

        With `with_values` values are written unless names would lose much because of them, also in two lines.
        """
        layouts: list[BlockLayout] = []
        for name_lines in range(1, self.name_lines + 1):
            for columns in range(1, self.columns + 1):
                for values in (True, False) if with_values else (False,):
                    layouts += self._layouts(rows, undrawn, columns, values, name_lines)
            complete = [layout for layout in layouts if layout.labels == [row.name for row in layout.rows]]
            if any(layout.values or not with_values for layout in complete):
                break
        if layouts:
            return min(layouts, key=lambda layout: layout.cost)
        hidden = len(rows) + undrawn  # no name has room
        height = bool(self.heading) * BLOCK_LINE * self.size
        cost = hidden + 20.0 * NAMED_VARIABLES
        return BlockLayout(
            self.size, self.heading, BAR_NAME_GAP, height, BLOCK_LINE * self.size, hidden, cost
        )

    def _layouts(
        self, rows: Sequence[NamedBar], undrawn: int, columns: int, values: bool, name_lines: int
    ) -> Iterator[BlockLayout]:
        """Yield the layout with this number of columns, or none if no name has room."""
        lines = max(self.lines - bool(self.heading), 1)
        capacity = lines * columns
        if self.most_rows is not None and 3 * len(rows) > 4 * self.most_rows:
            capacity = min(capacity, self.most_rows + 1)
        visible_rows = _largest(rows, capacity - (len(rows) + bool(undrawn) > capacity))
        if not visible_rows:
            return
        ends = [end for row in visible_rows for end in row.ends]
        low, high = self.span or (min(ends), max(ends))
        zero = -self.unit * low
        start = zero + self.unit * high + BAR_NAME_GAP
        if values:
            start += BAR_NAME_GAP + max(width_of(loading_text(row.value), self.size) for row in visible_rows)
        column = (self.width - COLUMN_GAP * (columns - 1)) / columns - start
        rooms = [column - _room_after(row, self.size) for row in visible_rows]
        if any(
            room < min(NARROWEST * self.size, width_of(row.name, self.size))
            for room, row in zip(rooms, visible_rows, strict=True)
        ):
            return
        names = [row.name for row in visible_rows]
        labels = labels_for(names, rooms, self.size, name_lines, self.figure_names)
        texts = [
            wrapped(label, room, self.size, NAME_INDENT * self.size) if name_lines > 1 else [label]
            for label, room in zip(labels, rooms, strict=True)
        ]
        one_line: list[str] = []  # the labels in one line each
        hidden = len(rows) + undrawn - len(visible_rows)
        while (places := _places(list(map(len, texts)), columns, lines, hidden)) is None:
            if not one_line:
                is_wrapped = name_lines > 1
                one_line = (
                    labels_for(names, rooms, self.size, 1, self.figure_names) if is_wrapped else list(labels)
                )
            sizes = [abs(row.value) for row in visible_rows]
            smallest = min(range(len(texts)), key=lambda i: (len(texts[i]) == 1, sizes[i], -i))
            if len(texts[smallest]) > 1 and one_line[smallest] not in labels:  # rather than a variable less
                labels[smallest], texts[smallest] = one_line[smallest], [one_line[smallest]]
                continue
            smallest = min(range(len(texts)), key=lambda i: (sizes[i], -i))
            del one_line[smallest]
            del visible_rows[smallest], labels[smallest], texts[smallest]
            hidden += 1
            if not visible_rows:
                return
        if hidden and width_of(_remainder(hidden), self.size) > start + column:
            return
        depth = max(line + len(text) for (_, line), text in zip(places, [*texts, [""]], strict=False))
        left_out = len(rows) - len(visible_rows)
        cost = left_out + _shortening([row.name for row in visible_rows], labels)
        rooms = [column - _room_after(row, self.size) for row in visible_rows]
        cost += OVERFULL * sum(
            widest(text, self.size) > room for text, room in zip(texts, rooms, strict=True)
        )
        cost += ONE_MORE_COST * (hidden == 1)
        cost += NAMED_COST * max(min(NAMED_VARIABLES, len(rows)) - len(visible_rows), 0)
        widths = [
            widest(text, self.size) + _room_after(row, self.size)
            for text, row in zip(texts, visible_rows, strict=True)
        ]
        widths += [width_of(_remainder(hidden), self.size)] * bool(hidden)
        pitch = start + min(max(widths), column) + COLUMN_GAP
        room = (self.width - HEADING_ARROW * self.size) / BOLD
        (heading,) = labels_for([self.heading], [room], self.size, figure_names=self.figure_names)
        heading_width = width_of(heading, self.size) * BOLD + HEADING_ARROW * self.size
        yield BlockLayout(
            self.size,
            heading,
            width=max(pitch * (1 + places[-1][0]) - COLUMN_GAP, heading_width * bool(heading)),
            height=(depth + bool(self.heading)) * BLOCK_LINE * self.size,
            line=BLOCK_LINE * self.size,
            hidden=hidden,
            cost=cost + self.line_cost * depth - VALUES_WORTH * values,
            rows=visible_rows,
            labels=labels,
            texts=texts,
            values=values,
            places=places,
            pitch=pitch,
            unit=self.unit,
            zero=zero,
            name_start=start,
        )


def _places(heights: Sequence[int], columns: int, lines: int, hidden: int) -> list[tuple[int, int]] | None:
    """Return column and line of rows of these heights in columns as short as possible; None without room.

    A last place, for the number of hidden rows, follows if there are any.
    """
    heights = [*heights, *[1] * bool(hidden)]
    for depth in range(-(-sum(heights) // columns), lines + 1):
        places, column, line = [], 0, 0
        for height in heights:
            if line + height > depth:
                column, line = column + 1, 0
            places.append((column, line))
            line += height
        if column < columns and max(heights) <= depth:
            return places
    return None


def _remainder(hidden: int) -> str:
    """Return what the last line of a block says about rows that are not shown."""
    return f"and {hidden:,} more"


def names_in(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Return the names of the largest bars of some blocks, each once."""
    rows = [row for block in blocks for row in _largest(block.rows, MOST_OTHERS)]
    return tuple(dict.fromkeys(row.name for row in rows))


def _largest(rows: Sequence[NamedBar], count: int) -> list[NamedBar]:
    """Return the rows of the largest absolute values, in their order."""
    by_size = sorted(range(len(rows)), key=lambda i: -abs(rows[i].value))
    return [rows[i] for i in sorted(by_size[:count])]


def _room_after(row: NamedBar, size: float) -> float:
    """Return the room for what stands after the name of a row: its arrow and its section."""
    section = BAR_NAME_GAP + width_of(row.section, size) if row.section else 0.0
    return section + ARROW * size * (row.direction is not None)


def _shortening(names: Sequence[str], labels: Sequence[str]) -> float:
    """Return what shortened names cost: each 1, up to 5 more by the part of it that is cut, and UNRECOGNISED.

    The number of a name among those that look alike says nothing of it.
    """
    cost = 0.0
    for name, label in zip(names, labels, strict=True):
        if label != name:
            parts = label.split("…")
            letters = sum(len(part) for part in parts if part in name)
            cost += 1.0 + 5.0 * max(1.0 - letters / min(len(name), READABLE), 0.0) ** 1.5
            cost += UNRECOGNISED * (max(map(len, parts)) < FEWEST_LETTERS)
    return cost


# --- the artist -----------------------------------------------------------------------------------


class Block(Artist):
    """Named bars in a box outside the axes.

    `layout` and `corner`, the upper left corner in pixels, are set when the figure is laid out. Positive bars
    are filled, negative ones hollow and to the left of the zero line.

    Parameters
    ----------
    ax : Axes
    rows : sequence of NamedBar
    direction : (float, float), optional
        Direction of the component in the plot, for the small arrow after the heading.
    threshold : float, optional
        A value that a dotted line marks.
    heading_weight : str
        Weight of the font of the heading.
    """

    def __init__(
        self,
        ax: Axes,
        rows: Sequence[NamedBar],
        direction: tuple[float, float] | None = None,
        threshold: float | None = None,
        heading_weight: str = "bold",
    ) -> None:
        super().__init__()
        self.rows, self.direction, self.threshold = rows, direction, threshold
        self.heading_weight = heading_weight
        strengths = (1.0, 0.7, UNSURE_INTERVAL)
        self.ink, self.grey, self.pale = (drawing.shade(ax, strength) for strength in strengths)
        self.background = tuple(drawing.paper(ax))
        self.layout: BlockLayout | None = None
        self.corner_in_figure = (0.0, 0.0)
        self.set_gid("block")
        ax.add_artist(self)
        self.set_clip_on(False)
        self.set_zorder(5)

    @property
    def corner(self) -> tuple[float, float]:
        """The upper left corner in pixels."""
        x, y = drawing.figure_of(self.axes).transFigure.transform(self.corner_in_figure)
        return float(x), float(y)

    @corner.setter
    def corner(self, point: tuple[float, float]) -> None:
        self.corner_in_figure = drawing.in_figure(self.axes, point)

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Return the box of the block in pixels."""
        if self.layout is None:
            return Bbox.null()
        pixels, (x, y) = self._pixels(), self.corner
        return Bbox.from_extents(x, y - self.layout.height * pixels, x + self.layout.width * pixels, y)

    def get_tightbbox(self, renderer: Any = None) -> Bbox:
        """Return the box of the block in pixels."""
        return self.get_window_extent(renderer)

    def draw(self, renderer: Any) -> None:
        """Draw bars and names."""
        if self.layout is not None and self.get_visible():
            parts = list(self._parts(self.layout))
            give_one_size([part for part in parts if isinstance(part, MeasuredText)], renderer)
            for part in parts:
                part.draw(renderer)

    def _pixels(self) -> float:
        """Return the number of pixels of a point."""
        return float(drawing.figure_of(self.axes).dpi) / 72.0

    def _parts(self, layout: BlockLayout) -> Iterator[Artist]:
        """Yield lines and texts."""
        head = bool(layout.heading)
        if head:
            y = 0.5 * layout.line
            heading = self._text(0.0, y, layout.heading, fontweight=self.heading_weight)
            heading.room = width_of(layout.heading, layout.size) * BOLD
            yield heading
            if self.direction is not None:
                x = heading.room + HEADING_ARROW_MIDDLE * layout.size
                yield from self._arrow(x, y, self.direction, self.ink)
        tops = [(column * layout.pitch, (line + head) * layout.line) for column, line in layout.places]
        for i, (x, y) in enumerate(tops[: len(layout.labels)]):
            yield from self._row(i, x, y + 0.5 * layout.line)
        for x in sorted({x for x, _ in tops[: len(layout.labels)]}):
            lines = sum(len(text) for text, top in zip(layout.texts, tops, strict=False) if top[0] == x)
            ends = [head * layout.line, (lines + head) * layout.line]
            zero = x + layout.zero
            yield self._line([zero, zero], ends, self.ink, 0.6)
            if self.threshold is not None:
                limit = zero + layout.unit * self.threshold
                yield self._line([limit, limit], ends, self.ink, 0.8, ":")
        if layout.ticks:
            yield from self._scale(layout)
        if layout.hidden and layout.labels:
            (x, y), words = tops[-1], _remainder(layout.hidden)
            width, end = width_of(words, layout.size), x + layout.pitch - COLUMN_GAP
            at = max(min(x + layout.name_start, end - width), x)
            count = self._text(at, y + 0.5 * layout.line, words, fontstyle="italic")
            count.room = end - at
            yield count

    def _scale(self, layout: BlockLayout) -> Iterator[Artist]:
        """Yield a scale of the bars below the last row."""
        y = layout.height - (SCALE_LINES - SCALE_DISTANCE) * layout.line
        at = [layout.zero + layout.unit * tick for tick in layout.ticks]
        ends = [layout.zero + layout.unit * end for end in layout.ends]
        yield self._line(ends, [y, y], self.ink, 0.6)
        for x, tick in zip(at, layout.ticks, strict=True):
            yield self._line([x, x], [y, y + TICK * layout.line], self.ink, 0.6)
            middle = max(x, 0.5 * width_of(tick_text(tick), layout.size))
            numbers_y = y + TICK_NUMBERS * layout.line
            yield self._text(middle, numbers_y, tick_text(tick), ha="center", color=self.grey)

    def _row(self, i: int, x: float, y: float) -> Iterator[Artist]:
        """Yield bar, interval, value, name, small arrow and section of a row that begins at (x, y)."""
        layout = self.layout
        assert layout is not None
        row = layout.rows[i]
        start, end = x + layout.zero, x + layout.zero + layout.unit * row.value
        yield self._line([start, end], [y, y], row.colour, BAR * layout.line)
        if row.value < 0:
            hollow = [start - 0.4, min(end + 0.75, start - 0.4)]
            yield self._line(hollow, [y, y], self.background, BAR * layout.line - 1.5)
        if row.interval is not None:
            yield from self._interval(start, y, row.interval)
        if layout.values:
            at = x + layout.name_start - BAR_NAME_GAP
            number = self._text(at, y, loading_text(row.value), ha="right", color=self.grey)
            number.room = width_of(number.get_text(), layout.size) + 0.5 * BAR_NAME_GAP
            yield number
        style = "italic" if row.italic else "normal"
        for line, words in enumerate(layout.texts[i]):
            at = x + layout.name_start + NAME_INDENT * layout.size * (line > 0)
            text = self._text(at, y + line * layout.line, words, fontstyle=style)
            if row.direction is None and not row.section:
                text.room = x + layout.pitch - COLUMN_GAP - at
            elif not row.section:
                text.room = width_of(words, layout.size) + BEFORE_ARROW * layout.size
            yield text
        name_end = x + layout.name_start + widest(layout.texts[i], layout.size)
        if row.direction is not None:
            yield from self._arrow(name_end + ARROW_MIDDLE * layout.size, y, row.direction, row.colour)
        if row.section:
            yield self._text(name_end + BAR_NAME_GAP, y, row.section, color=self.grey)

    def _interval(self, zero: float, y: float, interval: tuple[float, float]) -> Iterator[Line2D]:
        """Yield an interval as a line with caps, pale if it includes zero."""
        layout = self.layout
        assert layout is not None
        colour = self.pale if interval[0] <= 0 <= interval[1] else self.ink
        low, high = (zero + layout.unit * limit for limit in interval)
        yield self._line([low, high], [y, y], colour, 0.9)
        for x in (low, high):
            yield self._line([x, x], [y - CAP * layout.line, y + CAP * layout.line], colour, 0.9)

    def _text(self, x: float, y: float, words: str, **style: Any) -> MeasuredText:
        """Return a text that begins at (x, y), in points to the right of and below the corner."""
        layout, pixels = self.layout, self._pixels()
        assert layout is not None
        style = {"fontsize": layout.size, "va": "center", "color": self.ink, "parse_math": False, **style}
        at = (self.corner[0] + x * pixels, self.corner[1] - y * pixels)
        text = MeasuredText(*at, words, transform=IdentityTransform(), **style)
        text.set_figure(drawing.figure_of(self.axes))
        return text

    def _line(
        self, x: Sequence[float], y: Sequence[float], colour: Any, width: float, style: Any = "-"
    ) -> Line2D:
        """Return a line between positions in points to the right of and below the corner."""
        pixels = self._pixels()
        xs = [self.corner[0] + value * pixels for value in x]
        ys = [self.corner[1] - value * pixels for value in y]
        look = {"color": colour, "linewidth": width, "linestyle": style, "solid_capstyle": "butt"}
        return drawing.pixel_line(self.axes, xs, ys, **look)

    def _arrow(self, x: float, y: float, direction: tuple[float, float], colour: Any) -> Iterator[Line2D]:
        """Yield the lines of a small arrow around (x, y); fonts often lack arrows as characters."""
        assert self.layout is not None
        size = self.layout.size
        radius, (dx, dy) = 0.42 * size, direction
        tip = (x + radius * dx, y - radius * dy)
        yield self._line([x - radius * dx, tip[0]], [y + radius * dy, tip[1]], colour, 0.09 * size)
        for turn in (2.6, -2.6):
            wing = dx * cos(turn) - dy * sin(turn), dx * sin(turn) + dy * cos(turn)
            end = tip[0] + 0.8 * radius * wing[0], tip[1] - 0.8 * radius * wing[1]
            yield self._line([tip[0], end[0]], [tip[1], end[1]], colour, 0.09 * size)
