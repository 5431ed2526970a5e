"""Loadings as blocks of named bars, one for each component, in columns as in a newspaper."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from spcastat.plots import drawing
from spcastat.plots.blocks import (
    BLOCK_LINE,
    LARGEST_FONT,
    NAMED_COST,
    NAMED_VARIABLES,
    SCALE_LINES,
    Block,
    BlockLayout,
    BlockSpace,
    NamedBar,
    names_in,
    tick_text,
)
from spcastat.plots.drawing import place_of, position_of
from spcastat.plots.texts import NAME_LINES, labels_for, width_of, wrapped
from spcastat.plots.ticks import round_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a heading, and space before the next heading, in lines.
HEADING_LINES, NEXT_BLOCK = 1, 0.6
#: The fewest lines of a block below its heading: a variable, and the number of others.
FEWEST_BLOCK_LINES = 2
#: Space between columns of blocks, in points.
BLOCK_COLUMN_GAP = 18.0
#: The smallest width of a column in font sizes, and that of one whose bars all have their numbers.
NARROWEST_COLUMN, NARROWEST_NUMBERED = 14.0, 10.0
#: Bars take this share of a column, or the second one for the sake of names, between so many font sizes, and
#: then what the names leave.
BARS, SHORT_BARS, SHORTEST_BARS, LONGEST_BARS = 0.3, 0.2, 2.4, 7.0
#: Where there is more room than needed, lines are up to so many times as high.
HIGHEST_LINE = 3.4
#: The most lines of a caption.
CAPTION_LINES = 4
#: Space between the last row and the caption if there is no scale, in lines.
BEFORE_LABEL = 0.3
#: The least distance of the ticks of a scale, in font sizes.
TICK_DISTANCE = 4.0
#: The least space between two numbers of a scale, in font sizes; where only the first and the last have room,
#: they are the ends of at most so many multiples of a round number.
TICK_NUMBER_GAP, MOST_MULTIPLES = 0.9, 7
#: So many sizes of text are tried.
TEXT_SIZES = 5
#: What a point of the size of the text is worth, and what a column, a line, blocks without numbers and a name
#: that is not complete cost; a variable left out costs 1. So names are wrapped rather than shortened, but
#: neither this nor leaving out the numbers is done for the sake of a larger text.
POINT_VALUE, COLUMN_COST, WRAP_COST, NUMBERS_COST, SHORTENED_COST = 1.5, 0.1, 0.15, 2.0, 1.0
#: What a name of two lines costs besides, so that several columns of these do not replace a column of long
#: bars (frequencies of 30 variables of cell nuclei, 3.4 x 3 inches).
WRAPPED_COST = 0.2
#: Strength of bars: without an interval, with an interval that excludes zero, and with one that includes it
#: or of a variable that is not selected.
PLAIN_BAR, SURE_BAR, UNSURE_BAR = 0.75, 0.45, 0.2
#: Space around the blocks of a figure in the constrained layout, in points.
PAD = 3.0
#: A name is italic if its variable is on several components and fewer than this share of the variables are.
FEW_SHARE = 0.5
#: The longest name of a section after the name of its variable.
SECTION_WIDTH = 16

Placed = tuple[BlockLayout, float, float]


def draw_blocks(
    ax: Axes,
    data: pd.DataFrame,
    headings: Sequence[str],
    *,
    caption: str,
    hidden: Sequence[int],
    limits: NDArray[np.float64] | None = None,
    strong: NDArray[np.bool_] | None = None,
    threshold: float | None = None,
    sort: bool = True,
) -> LoadingColumns:
    """Draw a block for each component, in as many columns as there is room for; return their locator.

    Parameters
    ----------
    ax : Axes
    data : DataFrame, variables by components
        With ``attrs["sections"]``, the section of each variable, or none.
    headings : sequence of str
    caption : str
        What the values and marks are, below the scale.
    hidden : sequence of int
        For each component, the number of variables that are not in `data`.
    limits : ndarray of shape (rows, k, 2), optional
        Limits of intervals, NaN without one.
    strong : ndarray of shape (rows, k), optional
        Variables whose bars are not pale.
    threshold : float, optional
        A value that a dotted line marks in each block.
    sort : bool
        Whether the largest values of a section come first.
    """
    ax.set_axis_off()
    values = data.to_numpy(dtype=float)
    sections: list[str] = data.attrs["sections"]
    labels = drawing.short_sections(sections, SECTION_WIDTH)
    blocks, heads, counts = [], [], []
    for j, heading in enumerate(headings):
        variables = np.flatnonzero(_is_shown(values[:, j], None if limits is None else limits[:, j]))
        if not len(variables):
            continue
        if sort:
            codes = pd.factorize(np.array(sections))[0] if sections else np.zeros(len(values), dtype=int)
            variables = variables[np.lexsort((-np.abs(values[variables, j]), codes[variables]))]
        rows = [_row(ax, data, i, j, limits, strong, labels) for i in variables.tolist()]
        blocks.append(Block(ax, rows, threshold=threshold))
        heads.append(heading)
        counts.append(hidden[j])
    return LoadingColumns(ax, blocks, heads, counts, caption)


def _is_shown(values: NDArray[np.float64], limits: NDArray[np.float64] | None) -> NDArray[np.bool_]:
    """Return which variables of a component are drawn: those whose loading or interval differs from zero."""
    if limits is None:
        return values != 0
    return (values != 0) | (limits[:, 0] > 0) | (limits[:, 1] < 0)


def _row(
    ax: Axes,
    data: pd.DataFrame,
    i: int,
    j: int,
    limits: NDArray[np.float64] | None,
    strong: NDArray[np.bool_] | None,
    sections: Sequence[str],
) -> NamedBar:
    """Return variable i of component j as a bar."""
    values, interval, strength = data.to_numpy(dtype=float), None, PLAIN_BAR
    if limits is not None and np.isfinite(limits[i, j]).all():
        low, high = limits[i, j].tolist()
        interval, strength = (low, high), SURE_BAR if low > 0 or high < 0 else UNSURE_BAR
    if strong is not None and not strong[i, j]:
        strength = UNSURE_BAR
    return NamedBar(
        data.attrs["names"][i],
        float(values[i, j]),
        drawing.shade(ax, strength),
        interval=interval,
        italic=limits is None and strong is None and bool(shared_variables(values)[i]),
        section=sections[i] if sections else "",
    )


def shared_variables(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which variables are on several components, whose names are italic; none if most are.

    Bars with intervals or shades have enough marks without these.
    """
    shared = (values != 0).sum(axis=1) > 1
    return shared if shared.mean() < FEW_SHARE else np.zeros_like(shared)


class LoadingColumns:
    """Locator of axes that contain nothing but blocks: it sets their size and columns at every draw.

    Parameters
    ----------
    ax : Axes
    blocks : list of Block
    headings : list of str
    hidden : list of int
        For each block, the number of variables that have no row.
    caption : str
        What the values and marks are.
    """

    def __init__(
        self, ax: Axes, blocks: list[Block], headings: list[str], hidden: list[int], caption: str
    ) -> None:
        self.ax, self.blocks, self.headings, self.hidden = ax, blocks, headings, hidden
        self.rest = Block(ax, [])  # says how many components have no room
        self.caption = caption
        self.caption_lines = [Block(ax, [], heading_weight="normal") for _ in range(CAPTION_LINES)]
        for words in self.caption_lines:
            words.ink = drawing.shade(ax, 0.7)  # the grey of notes
        ends = [end for block in blocks for row in block.rows for end in row.ends]
        ends += [block.threshold for block in blocks if block.threshold is not None]
        self.span = min(ends), max(ends)
        self.names = (*names_in(blocks), *headings)
        self.given_locator = ax.get_axes_locator()
        self.layouts: dict[tuple[float, float], list[Placed]] = {}
        self.column_cost = COLUMN_COST
        ax.set_axes_locator(self)

    def get_subplotspec(self) -> Any:
        """Return the subplot of the axes, for the tight layout."""
        return self.ax.get_subplotspec()

    def __call__(self, ax: Any, renderer: Any) -> Bbox:
        """Lay out the blocks, and return the position of the axes in the figure."""
        box, pixels = place_of(ax, self.given_locator, renderer)
        key = round(box.width / pixels, 1), round(box.height / pixels, 1)
        if key not in self.layouts:
            self.layouts[key] = _spread(self.arranged(*key), key[1])
        for block in self.blocks:
            block.layout = None
        placed = self.layouts[key]
        blocks = [*self.blocks[: self._count_drawn(placed)], self.rest, *self.caption_lines]
        for block, (layout, x, y) in zip(blocks, placed, strict=True):
            block.layout = layout if layout.heading or layout.labels else None
            block.corner = (box.x0 + x * pixels, box.y1 - y * pixels)
        return position_of(ax, box)

    def arranged(self, width: float, height: float) -> list[Placed]:
        """Return layout and position of every block, with a scale below each column, and the caption.

        The caption has room before any row. There is no scale if it would take the room of names, and the
        numbers beside the bars say as much.
        """
        placed = self._best_placed(width, height, True)
        has_intervals = any(row.interval for block in self.blocks for row in block.rows)
        if self._without_room(placed) and not has_intervals:
            numbered = self._best_placed(width, height, False)
            if _have_numbers(numbered) and self._without_room(numbered) < self._without_room(placed):
                return numbered
        return placed

    def _count_drawn(self, placed: list[Placed]) -> int:
        """Return how many components are drawn."""
        return len(placed) - 1 - len(self.caption_lines)

    def _without_room(self, placed: list[Placed]) -> int:
        """Return how many components and variables have no room, or not enough for their whole names."""
        components = len(self.blocks) - self._count_drawn(placed)
        return components + sum(layout.hidden + _shortened(layout) for layout, _, _ in placed)

    def _best_placed(self, width: float, height: float, scale: bool) -> list[Placed]:
        """Return layout and position of every block: all names in full, then the largest text."""
        smallest = drawing.SMALLEST_NAME
        largest = max(smallest, LARGEST_FONT * float(matplotlib.rcParams["font.size"]))
        best_size, best_count = smallest, 1
        best_cost, best_layouts = self._attempt(smallest, 1, width, height, scale)
        for size in np.unique(np.linspace(smallest, largest, TEXT_SIZES))[::-1].tolist():
            wide_columns = _most_columns(width, size, NARROWEST_COLUMN)
            columns = _most_columns(width, size, NARROWEST_NUMBERED)
            for count in range(1, min(columns, len(self.blocks)) + 1):
                cost, placed = self._attempt(size, count, width, height, scale)
                if count > wide_columns and not _have_numbers(placed):
                    continue
                cost += self.column_cost * (count - 1) - POINT_VALUE * (size - smallest)
                if cost < best_cost:
                    best_cost, best_layouts, best_size, best_count = cost, placed, size, count
        short_bars = self._attempt(best_size, best_count, width, height, scale, SHORT_BARS)[1]
        losses = [
            (self._without_room(layouts), not _have_numbers(layouts))
            for layouts in (best_layouts, short_bars)
        ]
        return best_layouts if losses[0] <= losses[1] else short_bars

    def shorten_figure(self) -> None:
        """Give the figure, which contains nothing else, the smallest height that leaves its blocks alike.

        Blocks whose names are complete in several columns stand side by side.
        """
        self.column_cost = -COLUMN_COST
        figure = drawing.figure_of(self.ax)
        width, height = (72.0 * side for side in figure.get_size_inches())
        placed = self.arranged(width - 2.0 * PAD, height - 2.0 * PAD)
        depth = _depth(placed)
        while depth + 2.0 * PAD < height and self.arranged(width - 2.0 * PAD, depth) != placed:
            depth += 0.25 * BLOCK_LINE * placed[0][0].size
        figure.set_size_inches(width / 72.0, min(height, depth + 2.0 * PAD + 1.0) / 72.0)

    def _attempt(
        self, size: float, count: int, width: float, height: float, scale: bool, bars: float = BARS
    ) -> tuple[float, list[Placed]]:
        """Return the cost, and layout and position of every block, with this size of text and columns."""
        attempt = self._placed(size, count, width, height, scale, True, bars)
        if _have_numbers(attempt[1]):
            return attempt
        cost, placed = self._placed(size, count, width, height, scale, False, bars)
        return cost + NUMBERS_COST, placed

    def _placed(
        self,
        size: float,
        count: int,
        width: float,
        height: float,
        scale: bool,
        with_values: bool,
        bars: float,
    ) -> tuple[float, list[Placed]]:
        column = (width - BLOCK_COLUMN_GAP * (count - 1)) / count
        room = float(np.clip(bars * column, SHORTEST_BARS * size, LONGEST_BARS * size))
        unit = room / (self.span[1] - self.span[0])
        placed: list[Placed] = []
        line = BLOCK_LINE * size
        caption_size = min(size, drawing.name_size())
        caption = caption_lines(self.caption, width, caption_size)
        reserved = len(caption) * caption_size / size + (SCALE_LINES if scale else BEFORE_LABEL)
        x, y, cost, lines = 0.0, 0.0, 0.0, height / line - reserved
        block_count = self._count_of_blocks(count, lines)
        undrawn = len(self.blocks) - block_count
        for number, members, quota in self._quotas(block_count, count, lines - bool(undrawn)):
            x, y = number * (column + BLOCK_COLUMN_GAP), 0.0
            for i, rows in zip(members, quota, strict=True):
                space = BlockSpace(
                    unit,
                    size,
                    column,
                    rows + HEADING_LINES,
                    heading=self.headings[i],
                    line_cost=WRAP_COST,
                    span=self.span,
                    figure_names=self.names,
                )
                layout, wrapped_layout = (
                    option.lay_out(self.blocks[i].rows, with_values, self.hidden[i])
                    for option in (space, replace(space, name_lines=NAME_LINES))
                )
                if wrapped_layout.hidden <= layout.hidden and wrapped_layout.cost < layout.cost:
                    layout = wrapped_layout
                placed.append((layout, x, y))
                y += layout.height + NEXT_BLOCK * line
                cost += layout.cost + SHORTENED_COST * _shortened(layout)
                cost += WRAPPED_COST * sum(len(lines_of_name) > 1 for lines_of_name in layout.texts)
        placed = self._finished(placed, column, unit, scale)
        y += SCALE_LINES * line * scale
        remainder = f"and {undrawn} more components" if undrawn else ""
        placed.append((BlockSpace(unit, size, column, 1, heading=remainder).lay_out([]), x, y))
        in_first_column = [place for place in placed if place[1] == 0.0]
        is_narrow = all(width_of(words, caption_size) <= column for words in caption)
        y = _depth(in_first_column if is_narrow else placed) + BEFORE_LABEL * line * (not scale)
        for i in range(CAPTION_LINES):
            space = BlockSpace(unit, caption_size, width, 1, heading="".join(caption[i : i + 1]))
            placed.append((space.lay_out([]), 0.0, y + i * BLOCK_LINE * caption_size))
        for block, hidden in zip(self.blocks[block_count:], self.hidden[block_count:], strict=True):
            cost += len(block.rows) + hidden + NAMED_COST * (NAMED_VARIABLES + 1)
        return cost, placed

    def _finished(self, placed: list[Placed], column: float, unit: float, scale: bool) -> list[Placed]:
        """Return the blocks with bars as long as names leave room for, and a scale below each column."""
        size = placed[0][0].size
        bars = unit * (self.span[1] - self.span[0])
        widest = max((layout.width for layout, _, _ in placed if layout.labels), default=column)
        spare = max(column - widest, 0.0)
        ticks = self._ticks((bars + spare) / size)
        last_in_column = {x: i for i, (_, x, _) in enumerate(placed)}
        finished = []
        for i, (layout, x, y) in enumerate(placed):
            if layout.labels:
                layout = layout.widened(spare, self.span)
                if scale and i == last_in_column[x]:
                    layout = layout.with_scale(ticks, self.span)
            finished.append((layout, x, y))
        return finished

    def _ticks(self, room: float) -> list[float]:
        """Return the values that a scale marks, with so much room in font sizes.

        If there are bars on both sides of zero, a value and its negative are marked if their numbers have
        room, else one on the longer side, and half of it.
        """
        low, high = self.span
        unit = room / (high - low)

        def has_room(ticks: NDArray[np.float64]) -> bool:
            widths = np.array([width_of(tick_text(tick), 1.0) for tick in ticks])
            gaps = unit * np.diff(ticks) - (widths[1:] + widths[:-1]) / 2.0
            return bool((gaps >= TICK_NUMBER_GAP).all())

        def is_sparse(ticks: NDArray[np.float64]) -> bool:
            return len(ticks) > 1 and has_room(ticks) and unit * float(np.diff(ticks)[0]) >= TICK_DISTANCE

        def have_ends(ticks: NDArray[np.float64]) -> bool:
            return 1 < len(ticks) <= MOST_MULTIPLES and has_room(np.unique([ticks[0], 0.0, ticks[-1]]))

        def reach_both_sides(ticks: NDArray[np.float64]) -> bool:
            return (low == 0.0 or ticks[0] < 0.0) and (high == 0.0 or ticks[-1] > 0.0)

        regular, ends = round_numbers(low, high, is_sparse), round_numbers(low, high, have_ends)
        if len(regular) and (reach_both_sides(regular) or not len(ends) or not reach_both_sides(ends)):
            return regular.tolist()
        if len(ends) and ends[0] < 0.0 < ends[-1]:
            value = min(-ends[0], ends[-1])
            return [-value, 0.0, value]
        if not len(ends):
            longer_side = (0.0, high) if high >= -low else (low, 0.0)
            ends = round_numbers(*longer_side, have_ends)
        if not len(ends):
            return []
        two = np.unique([*ends[[0, -1]], 0.0])
        three = np.insert(two, 1, two.mean())
        return (three if len(two) == 2 and has_room(three) else two).tolist()

    def _count_of_blocks(self, count: int, lines: float) -> int:
        """Return how many blocks have room for their heading, a variable, and the number of others."""
        least_lines = HEADING_LINES + FEWEST_BLOCK_LINES + NEXT_BLOCK
        if len(self.blocks) <= count * int((lines + NEXT_BLOCK) / least_lines):
            return len(self.blocks)
        return max(min(count * int((lines - 1 + NEXT_BLOCK) / least_lines), len(self.blocks)), 1)

    def _quotas(self, block_count: int, count: int, lines: float) -> list[tuple[int, range, list[int]]]:
        """Return the number of each column, its blocks, and how many rows each of these may have.

        Columns are about as long as one another. If rows must be left out, they have as many components,
        unless some are complete and more of these, or more rows, have room otherwise.
        """
        needs = [
            len(block.rows) + bool(hidden) for block, hidden in zip(self.blocks, self.hidden, strict=True)
        ]
        columns = balanced([need + HEADING_LINES + NEXT_BLOCK for need in needs[:block_count]], count)
        quotas = column_quotas(columns, needs, lines)
        if any(sum(needs[i] for i in members) > lines for members in columns):
            cut_quotas = column_quotas(balanced([1.0] * block_count, count), needs, lines)
            quotas = max(cut_quotas, quotas, key=partial(_drawn_counts, needs))
        return quotas


def column_quotas(
    columns: Sequence[range], needs: Sequence[int], lines: float
) -> list[tuple[int, range, list[int]]]:
    """Return the number of each column, its blocks, and how many rows each of these may have.

    If rows must be left out, all components in columns of as many components are cut at the same number, so
    that none looks smaller.
    """
    quotas = []
    for members in columns:
        free = lines - HEADING_LINES * len(members) - NEXT_BLOCK * (len(members) - 1)
        quotas.append(shares_of([needs[i] for i in members], free))
    column_rows = []
    for number, (members, quota) in enumerate(zip(columns, quotas, strict=True)):
        short_quotas = [
            rows
            for column, column_quota in zip(columns, quotas, strict=True)
            for i, rows in zip(column, column_quota, strict=True)
            if len(column) == len(members) and rows < needs[i]
        ]
        if short_quotas:
            column_rows.append((number, members, [min(rows, *short_quotas) for rows in quota]))
        else:  # lines that are left are for names of two lines
            free = lines - HEADING_LINES * len(members) - NEXT_BLOCK * (len(members) - 1)
            spare = int((free - sum(quota)) / len(members))
            column_rows.append((number, members, [rows + min(rows, spare) for rows in quota]))
    return column_rows


def _drawn_counts(needs: Sequence[int], quotas: Sequence[tuple[int, range, list[int]]]) -> tuple[int, int]:
    """Return how many components are complete, and, if any are, how many rows all have."""
    pairs = [(needs[i], rows) for _, members, quota in quotas for i, rows in zip(members, quota, strict=True)]
    complete_count = sum(rows >= need for need, rows in pairs)
    return complete_count, sum(map(min, pairs)) if complete_count else 0


def caption_of(label: str, sentences: Sequence[str]) -> str:
    """Return a caption: what the values are, and further sentences."""
    return " ".join([f"{label}.", *sentences]) if sentences else label


def caption_lines(caption: str, width: float, size: float) -> list[str]:
    """Return the lines of a caption, which is shortened if it has no room in CAPTION_LINES."""
    (shortened,) = labels_for([caption], [width], size, CAPTION_LINES)
    return wrapped(shortened, width, size)


def _shortened(layout: BlockLayout) -> int:
    """Return how many names are not complete."""
    return sum(label != row.name for label, row in zip(layout.labels, layout.rows, strict=True))


def _depth(placed: Sequence[Placed]) -> float:
    """Return the height that the blocks take."""
    return max((y + layout.height for layout, _, y in placed if layout.labels or layout.heading), default=0.0)


def _spread(placed: Sequence[Placed], height: float) -> list[Placed]:
    """Return the blocks with higher lines, if there is more room than they take."""
    factor = min(max(height / _depth(placed), 1.0), HIGHEST_LINE)
    blocks, caption = placed[:-CAPTION_LINES], placed[-CAPTION_LINES:]
    spread = [(layout.spread(factor), x, y * factor) for layout, x, y in blocks]
    lower = (factor - 1.0) * caption[0][2]
    return [*spread, *((layout, x, y + lower) for layout, x, y in caption)]


def _have_numbers(placed: Sequence[Placed]) -> bool:
    """Return whether all bars have their numbers."""
    return all(layout.values for layout, _, _ in placed if layout.labels)


def _most_columns(width: float, size: float, narrowest: float) -> int:
    """Return how many columns have room beside one another, each of so many font sizes or more."""
    return max(int((width + BLOCK_COLUMN_GAP) / (narrowest * size + BLOCK_COLUMN_GAP)), 1)


def balanced(needs: Sequence[float], count: int) -> list[range]:
    """Divide a sequence into at most `count` runs with the smallest possible largest sum."""
    sums = [0.0, *accumulate(needs)]
    capacities = sorted({b - a for i, a in enumerate(sums) for b in sums[i + 1 :]})

    def runs(capacity: float) -> list[range]:
        starts = [0]
        for i, total in enumerate(sums[1:]):
            if total - sums[starts[-1]] > capacity + 1e-9 and i > starts[-1]:
                starts.append(i)
        return [range(a, b) for a, b in pairwise([*starts, len(needs)])]

    index = bisect_left(capacities, True, key=lambda capacity: len(runs(capacity)) <= count)
    return runs(max(capacities[index], *needs))


def shares_of(needs: Sequence[int], lines: float) -> list[int]:
    """Divide lines among blocks: those that need less than an equal share have all that they need."""
    quota, remaining = [0] * len(needs), lines
    for position, i in enumerate(sorted(range(len(needs)), key=lambda i: needs[i])):
        share = int(remaining / (len(needs) - position))
        quota[i] = max(min(needs[i], share), min(needs[i], FEWEST_BLOCK_LINES))
        remaining -= quota[i]
    return quota
