"""The place that a layout engine, a grid or the user gave to axes, for locators that use a part of it."""

from __future__ import annotations

from typing import Any

from matplotlib.transforms import Bbox

from spcastat.plots.drawing import figure_of


def place_of(ax: Any, locator: Any, renderer: Any) -> tuple[Bbox, float]:
    """Return the place of the axes in pixels, and the number of pixels of a point.

    `locator` is that of the axes before they got their present one, or None.
    """
    place = ax.get_position(original=True) if locator is None else locator(ax, renderer)
    box = ax.get_figure(root=False).transSubfigure.transform(place.get_points())
    return Bbox(box), figure_of(ax).dpi / 72.0


def position_of(ax: Any, box: Bbox) -> Bbox:
    """Return the position within the figure, or the subfigure, of a box in pixels."""
    return Bbox(ax.get_figure(root=False).transSubfigure.inverted().transform(box.get_points()))
