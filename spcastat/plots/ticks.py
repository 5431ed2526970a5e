"""Ticks at round numbers, as many as have room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.ticker import Locator, MaxNLocator, ScalarFormatter
from numpy.typing import NDArray

from spcastat.plots.blocks import tick_text
from spcastat.plots.drawing import size_of
from spcastat.plots.texts import width_of

#: Multiples of these times a power of ten are round.
TICK_STEPS = (1, 2, 5)
#: The smallest distance of ticks in points when it is chosen, and the range in which it is kept.
PITCH, SMALLEST_PITCH, LARGEST_PITCH = 26.0, 22.0, 70.0
#: The smallest distance where otherwise fewer than two ticks had room.
LEAST_PITCH = 15.0
#: The most numbers of a panel, and the points between two numbers.
MOST_PANEL_NUMBERS, PANEL_NUMBER_GAP = 5, 3.0
#: The fewest numbers of a panel and the multiples at which they may be: as many numbers as possible first.
PANEL_STEPS = ((3, TICK_STEPS), (3, (3, 4)), (2, TICK_STEPS), (2, (3, 4)), (1, TICK_STEPS))

Numbers = NDArray[np.float64]
#: Numbers nearer to zero are zero; in axes of smaller numbers a power of ten stands beside the axis.
TICK_ZERO = 1e-8


class TickNumbers(ScalarFormatter):
    """Numbers of a linear axis as in blocks of loadings: ".5", "1", "20"; powers of ten stay beside it."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the text of a number."""
        if self.get_offset():
            return super().__call__(x, pos)
        return tick_text(0.0 if abs(x) < TICK_ZERO else x)


def number_axes(ax: Any, integer_axes: str = "") -> None:
    """Put round numbers at the ticks of the linear axes, and only integers on the `integer_axes`."""
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "linear":
            is_integer = axis.axis_name in integer_axes
            number_axis(axis, MaxNLocator("auto", steps=[*TICK_STEPS, 10], integer=is_integer))


def number_axis(axis: Any, locator: Locator) -> None:
    """Put numbers at the ticks of an axis."""
    axis.set_major_locator(locator)
    axis.set_major_formatter(TickNumbers())


def round_numbers(
    low: float,
    high: float,
    has_room: Callable[[Numbers], bool],
    steps: Sequence[int] = TICK_STEPS,
) -> Numbers:
    """Return the multiples of a round step between two limits: the densest that have room, or none.

    Parameters
    ----------
    low, high : float
    has_room : callable
        Whether numbers, one or more, have room beside one another.
    steps : sequence of int
        Times powers of ten.
    """
    powers = 10.0 ** (np.floor(np.log10(high - low)) + np.arange(-2.0, 2.0))
    for step in np.outer(powers, steps).ravel().tolist():
        numbers = multiples(step, low, high)
        if len(numbers) and has_room(numbers):
            return numbers
    return np.zeros(0)


def multiples(step: float, low: float, high: float) -> Numbers:
    """Return the multiples of a step between two limits."""
    counts = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1.0)
    return np.asarray(np.round(counts * step, 12) + 0.0, dtype=float)


class SteadyTicks(Locator):
    """Multiples of a round step, at distances that are kept while these are legible.

    Limits of one scale depend on the room that the numbers at the ticks leave, and these numbers on the
    limits. If both changed at each pass of a layout engine, the numbers that are drawn could be wider than
    those for which it made room.
    """

    step = 0.0

    def __call__(self) -> list[float]:
        """Return the ticks within the limits of the axis."""
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        units = (high - low) / max(_length(axis), 1.0)  # of a point
        if not SMALLEST_PITCH * units <= self.step <= LARGEST_PITCH * units:
            numbers = self.ticks_between(low, high, units)
            self.step = float(np.diff(numbers)[0]) if len(numbers) else high - low
        return self.tick_values(low, high)

    def ticks_between(self, low: float, high: float, units: float) -> Numbers:
        """Return the ticks between two limits where a point has so many units; none without room."""
        axis: Any = self.axis
        is_horizontal = axis.axis_name == "x"

        def has_room(numbers: Numbers, pitch: float) -> bool:
            pitch = max(pitch, self.width(numbers) + self._size()) if is_horizontal else pitch
            return len(numbers) > 1 and float(np.diff(numbers)[0]) >= units * pitch

        numbers = round_numbers(low, high, partial(has_room, pitch=PITCH))
        return numbers if len(numbers) else round_numbers(low, high, partial(has_room, pitch=LEAST_PITCH))

    def width(self, ticks: Numbers) -> float:
        """Return the width of the widest number in points; 0 without ticks."""
        return max((width_of(tick_text(tick), self._size()) for tick in ticks.tolist()), default=0.0)

    def _size(self) -> float:
        axis: Any = self.axis
        return float(axis.get_major_ticks(1)[0].label1.get_fontsize())

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the multiples of the step between two numbers."""
        return multiples(self.step, vmin, vmax).tolist()


class InnerTicks(Locator):
    """Round numbers that touch neither each other nor those of the next panel.

    Parameters
    ----------
    size : float
        The font size of the numbers.
    gap : float
        The space between panels, as a share of the length of one.
    """

    def __init__(self, size: float, gap: float) -> None:
        self.size, self.gap = size, gap

    def __call__(self) -> list[float]:
        """Return the ticks within the limits of the axis."""
        axis: Any = self.axis
        return self.tick_values(*sorted(axis.get_view_interval()))

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the numbers between these limits: two or more, if they have room."""
        axis: Any = self.axis
        length = _length(axis)
        space = (length * self.gap - PANEL_NUMBER_GAP) / 2.0

        def ends(numbers: Numbers) -> tuple[Numbers, Numbers]:
            """Return where numbers begin and end, in points."""
            texts = axis.get_major_formatter().format_ticks(numbers)
            widths = [self.size if axis.axis_name == "y" else width_of(text, self.size) for text in texts]
            middles, halves = (numbers - vmin) / (vmax - vmin) * length, np.array(widths) / 2.0
            return middles - halves, middles + halves

        def inner(numbers: Numbers) -> Numbers:
            low, high = ends(numbers)
            return numbers[(low >= -space) & (high <= length + space)]

        def has_room(numbers: Numbers, least_count: int) -> bool:
            low, high = ends(numbers := inner(numbers))
            are_apart = bool((low[1:] - high[:-1] >= PANEL_NUMBER_GAP).all())
            return least_count <= len(numbers) <= MOST_PANEL_NUMBERS and are_apart

        for least_count, steps in PANEL_STEPS:
            numbers = round_numbers(vmin, vmax, partial(has_room, least_count=least_count), steps)
            if len(numbers):
                return inner(numbers).tolist()
        return []


class NumbersFromOne(MaxNLocator):
    """Locator of numbers of components that begins with 1: 1, 3, 5, ... or 1, 5, 10, ..."""

    def __init__(self) -> None:
        super().__init__("auto", steps=[1, 2, 5, 10], integer=True)

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the numbers between these limits."""
        numbers = np.unique(np.round(super().tick_values(vmin, vmax)))
        if np.diff(numbers).min(initial=np.inf) == 2.0:
            return numbers[numbers > 0] - 1.0
        return np.unique(np.maximum(numbers, 1.0))


def _length(axis: Any) -> float:
    """Return the length of an axis in points."""
    return float(size_of(axis.axes)[int(axis.axis_name == "y")])
