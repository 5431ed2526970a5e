"""Colours, markers and line widths, which follow the current matplotlib style (light, dark, print)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spcastat.config import elements, listed, nearest, shown
from spcastat.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

#: Red, green and blue from 0 to 1.
RGB = tuple[float, float, float]

#: Twenty different colours. The first seven are those of Okabe and Ito without yellow, which are safe for
#: colour-blind readers; beyond these, markers help to distinguish groups.
GROUP_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#222222",
    "#882255", "#999933", "#332288", "#DDCC77", "#B22222", "#888888", "#44AA99",
    "#7A5230", "#9B5DE5", "#1B5E20", "#F28E8E", "#00BBF9", "#B5C99A",
)  # fmt: skip

#: Markers of the groups. Seven colours and eight markers make 56 different pairs.
MARKERS = ("o", "^", "s", "v", "D", "P", "X", "*")

#: Colour of supplementary variables, levels and new rows, which were not used in the fit.
FURTHER = "#CC79A7"


def paper(ax: Axes) -> np.ndarray:
    """Return the colour of the background, red, green and blue from 0 to 1."""
    from matplotlib.colors import to_rgba

    figure = ax.get_figure(root=True)
    for found in (ax.get_facecolor(), None if figure is None else figure.get_facecolor()):
        if found is not None and (rgba := np.array(to_rgba(found)))[3] > 0.5:
            return rgba[:3]
    return np.ones(3)


def ink(ax: Axes) -> RGB:
    """Return the colour of text on the axes: that of the axis labels if legible, else black or white."""
    from matplotlib.colors import to_rgb

    behind = paper(ax)
    written = np.array(to_rgb(ax.xaxis.label.get_color()))
    if _contrast(written, behind) < 3.0:
        written = np.zeros(3) if _light(behind) > 0.18 else np.ones(3)
    return _rgb(written)


def shade(ax: Axes, strength: float) -> RGB:
    """Return a mixture of the colours of the background (0) and of the text (1)."""
    return _rgb(strength * np.array(ink(ax)) + (1.0 - strength) * paper(ax))


def visible(ax: Axes, colour: Any) -> RGB:
    """Return a colour, moved towards that of the text if its contrast with the background is too small."""
    from matplotlib.colors import to_rgb

    rgb, behind, towards = np.array(to_rgb(colour)), paper(ax), np.array(ink(ax))
    least = 2.2 if _light(behind) > 0.18 else 4.0  # contrast ratios (WCAG 2) on light and dark backgrounds
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        moved = (1 - share) * rgb + share * towards
        if _contrast(moved, behind) >= least:
            break
    return _rgb(moved)


def accents(ax: Axes) -> tuple[RGB, RGB]:
    """Return blue and vermilion, for positive and negative values; two greys in a style without colours."""
    blue, vermilion = _greys(2) or (GROUP_COLOURS[0], GROUP_COLOURS[3])
    return visible(ax, blue), visible(ax, vermilion)


def _greys(count: int) -> list[RGB]:
    """Return `count` greys, dark ones first, if the style in use has no colours; else an empty list."""
    import matplotlib
    from matplotlib.colors import to_rgb

    cycle = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", [])
    if not cycle or any(np.ptp(to_rgb(one)) > 0 for one in cycle):
        return []
    return [_rgb([grey] * 3) for grey in np.linspace(0.2, 0.65, count)]


def line(width: float) -> float:
    """Return a line width in points, scaled with the lines of the style in use (default: 1.5)."""
    import matplotlib

    return width * float(matplotlib.rcParams["lines.linewidth"]) / 1.5


def area(size: float) -> float:
    """Return an area of markers in squared points, scaled with the markers of the style in use."""
    import matplotlib

    return size * (float(matplotlib.rcParams["lines.markersize"]) / 6.0) ** 2


def size_of_text() -> float:
    """Return the font size of the style in use divided by matplotlib's default; figures are scaled by it."""
    import matplotlib

    return float(np.clip(float(matplotlib.rcParams["font.size"]) / 10.0, 0.8, 2.0))


def need_coloured(palette: Any, coloured: bool, by: str = "groups") -> None:
    """Raise OptionError for an invalid palette, or one that is given without groups or numbers to colour."""
    if palette is not None and not coloured:
        raise OptionError(f"palette= was given without {by}=, so that it colours nothing; give {by}= too.")
    _known(palette)


def _known(palette: Any) -> Any:
    """Return a palette as None, a colour map, a dict of colours, or a list of colours; raise OptionError."""
    if palette is None:
        return None
    if isinstance(palette, str) or hasattr(palette, "resampled"):
        return colour_map(palette)
    named = isinstance(palette, Mapping)
    given = [colour(one) for one in (palette.values() if named else elements(palette, 1000))]
    if not given:
        raise OptionError("palette holds no colour; give one for each group, or a colour map.")
    return dict(zip(palette, given, strict=True)) if named else given


def colours_of(ax: Axes, palette: Any, categories: Sequence[Any]) -> list[RGB]:
    """Return one colour for each category.

    Parameters
    ----------
    palette : None, mapping, sequence of colours, or str
        None for the package's colours; colours by category; colours in the order of the categories; or the
        name of a colour map.

    Raises
    ------
    OptionError
        If a colour or a colour map does not exist, or there are fewer colours than categories.
    """
    count, known = len(categories), _known(palette)
    if known is None:
        own = _greys(count) or GROUP_COLOURS
        return [visible(ax, own[i % len(own)]) for i in range(count)]
    if isinstance(known, dict):
        if absent := [one for one in categories if one not in known]:
            raise OptionError(
                f"palette has no colour for {listed(absent)}; give one for each group: "
                f"{listed(categories, 20)}."
            )
        return [known[one] for one in categories]
    most = len(known) if isinstance(known, list) else known.N if known.N <= 20 else count
    if most < count:
        what = "palette" if isinstance(known, list) else f"palette={shown(palette)}"
        raise OptionError(f"{what} has {most} colours for {count} groups; give one for each group.")
    if isinstance(known, list):
        return known[:count]
    places = np.arange(count) if known.N <= 20 else np.linspace(0.05, 0.95, max(count, 2))[:count]
    return [_rgb(known(place)) for place in places]


def colour(given: Any) -> RGB:
    """Return a colour of matplotlib as numbers; raise OptionError if it is not one."""
    from matplotlib.colors import is_color_like, to_rgb

    try:
        known = bool(is_color_like(given)) and not any(np.isnan(to_rgb(given)))
    except Exception:  # an object that cannot be compared
        known = False
    if not known:
        raise OptionError(
            f"{shown(given)} is not a colour; give a name such as 'tab:blue', '#0072B2', or three "
            "numbers from 0 to 1."
        )
    return _rgb(to_rgb(given))


def colour_map(given: Any) -> Colormap:
    """Return a colour map of matplotlib, given by name or as an object; "viridis" for None."""
    import matplotlib
    from matplotlib.colors import Colormap

    given = "viridis" if given is None else given
    if isinstance(given, Colormap):
        return given
    if not isinstance(given, str) or given not in matplotlib.colormaps:
        raise OptionError(
            f"palette={shown(given)} is not a colour map of matplotlib; take one such as 'viridis', "
            f"'cividis' or 'tab20'.{nearest(given, matplotlib.colormaps) if isinstance(given, str) else ''}"
        )
    return matplotlib.colormaps[given]


def _rgb(values: Any) -> RGB:
    red, green, blue = (float(value) for value in values[:3])
    return red, green, blue


def _light(rgb: np.ndarray) -> float:
    """Return the relative luminance of a colour (WCAG 2)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


def _contrast(a: np.ndarray, b: np.ndarray) -> float:
    low, high = sorted([_light(a), _light(b)])
    return (high + 0.05) / (low + 0.05)
