"""Axes, extents, names and colours that the plots share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from spcastat.arguments import elements, is_whole, listed, nearest, shown, whole_number
from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from spcastat.labels import HEADING_WIDTH, short_names
from spcastat.plots.texts import HINTED, wrapped
from spcastat.reading.checks import frame_values, real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation, Text


# --- colours --------------------------------------------------------------------------------------


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
SUPPLEMENTARY = "#CC79A7"


def paper(ax: Axes) -> np.ndarray:
    """Return the colour of the background, red, green and blue from 0 to 1."""
    from matplotlib.colors import to_rgba

    figure = ax.get_figure(root=True)
    for colour in (ax.get_facecolor(), None if figure is None else figure.get_facecolor()):
        if colour is not None and (rgba := np.array(to_rgba(colour)))[3] > 0.5:
            return rgba[:3]
    return np.ones(3)


def ink(ax: Axes) -> RGB:
    """Return the colour of text on the axes: that of the axis labels if legible, else black or white."""
    from matplotlib.colors import to_rgb

    behind = paper(ax)
    label_colour = np.array(to_rgb(ax.xaxis.label.get_color()))
    if _contrast(label_colour, behind) < 3.0:
        label_colour = np.zeros(3) if _is_light(behind) else np.ones(3)
    return _rgb(label_colour)


def shade(ax: Axes, strength: float) -> RGB:
    """Return a mixture of the colours of the background (0) and of the text (1)."""
    return _rgb(strength * np.array(ink(ax)) + (1.0 - strength) * paper(ax))


#: Least contrast of colours with a dark background (WCAG 2).
DARK_CONTRAST = 4.5


def visible(ax: Axes, colour: Any) -> RGB:
    """Return a colour, moved towards that of the text if its contrast with the background is too small."""
    from matplotlib.colors import to_rgb

    rgb, behind, towards = np.array(to_rgb(colour)), paper(ax), np.array(ink(ax))
    least_contrast = 2.2 if _is_light(behind) else DARK_CONTRAST
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        mixture = (1 - share) * rgb + share * towards
        if _contrast(mixture, behind) >= least_contrast:
            break
    return _rgb(mixture)


def accents(ax: Axes) -> tuple[RGB, RGB]:
    """Return blue and vermilion, for positive and negative values; two greys in a style without colours."""
    blue, vermilion = _greys(2) or (GROUP_COLOURS[0], GROUP_COLOURS[3])
    return visible(ax, blue), visible(ax, vermilion)


def _greys(count: int) -> list[RGB]:
    """Return `count` greys, dark ones first, if the style in use has no colours; else an empty list."""
    import matplotlib
    from matplotlib.colors import to_rgb

    cycle = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", [])
    if not cycle or any(np.ptp(to_rgb(colour)) > 0 for colour in cycle):
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


def has_own_size() -> bool:
    """Return whether the style in use sets the size of figures."""
    from matplotlib import rcParams, rcParamsDefault

    return tuple(rcParams["figure.figsize"]) != tuple(rcParamsDefault["figure.figsize"])


def need_coloured(palette: Any, coloured: bool, by: str = "groups") -> None:
    """Raise OptionError for an invalid palette, or one that is given without groups or numbers to colour."""
    if palette is not None and not coloured:
        raise OptionError(f"palette= was given without {by}=, so it has no effect; give {by}= too.")
    _palette_of(palette)


def _palette_of(palette: Any) -> Any:
    """Return a palette as None, a colour map, a dict of colours, or a list of colours; raise OptionError."""
    if palette is None:
        return None
    if isinstance(palette, str) or hasattr(palette, "resampled"):
        return colour_map(palette)
    if isinstance(palette, Mapping):
        return {group: colour(value) for group, value in palette.items()}
    return [colour(value) for value in elements(palette, 1000)]


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
    count, palette_colours = len(categories), _palette_of(palette)
    if palette_colours is None:
        defaults = _greys(count) or GROUP_COLOURS
        return [visible(ax, defaults[i % len(defaults)]) for i in range(count)]
    if isinstance(palette_colours, dict):
        if absent := [category for category in categories if category not in palette_colours]:
            raise OptionError(
                f"palette has no colour for {listed(absent)}; give one for each group: "
                f"{listed(categories, 20)}."
            )
        return [palette_colours[category] for category in categories]
    limit = (
        len(palette_colours)
        if isinstance(palette_colours, list)
        else palette_colours.N
        if palette_colours.N <= 20
        else count
    )
    if limit < count:
        words = "palette" if isinstance(palette_colours, list) else f"palette={shown(palette)}"
        raise OptionError(f"{words} has {limit} colours for {count} groups; give one for each group.")
    if isinstance(palette_colours, list):
        return palette_colours[:count]
    places = np.arange(count) if palette_colours.N <= 20 else np.linspace(0.05, 0.95, max(count, 2))[:count]
    return [_rgb(palette_colours(place)) for place in places]


def colour(given: Any) -> RGB:
    """Return a colour of matplotlib as numbers; raise OptionError if it is not one."""
    from matplotlib.colors import is_color_like, to_rgb

    try:
        valid = bool(is_color_like(given)) and not any(np.isnan(to_rgb(given)))
    except Exception:  # an object that cannot be compared
        valid = False
    if not valid:
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


def map_of_numbers(ax: Axes, palette: Any) -> Colormap:
    """Return the colour map of numbers; the default begins with its first colour that a dark page shows."""
    from matplotlib.colors import ListedColormap

    colours = colour_map(palette)
    if palette is not None or _is_light(paper(ax)):
        return colours
    shades = colours(np.linspace(0.0, 1.0, 256))
    legible = [_contrast(shade[:3], paper(ax)) >= DARK_CONTRAST for shade in shades]
    return ListedColormap(shades[legible.index(True) :])


def _rgb(values: Any) -> RGB:
    red, green, blue = (float(value) for value in values[:3])
    return red, green, blue


def _light(rgb: np.ndarray) -> float:
    """Return the relative luminance of a colour (WCAG 2)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


def _is_light(background: np.ndarray) -> bool:
    """Return whether black has more contrast with a background than white."""
    return _light(background) > 0.18


def _contrast(a: np.ndarray, b: np.ndarray) -> float:
    low, high = sorted([_light(a), _light(b)])
    return (high + 0.05) / (low + 0.05)


#: The gid of the note below the axes, and its width as a share of that of their place.
NOTE, NOTE_WIDTH = "note", 0.98
#: Sides of the frame that are not drawn: in most plots, and in plots of named rows.
OPEN, ROWS_ONLY = ("top", "right"), ("top", "right", "left")
#: The share of the place of axes that the names of their rows may always have.
NAMES_SHARE = 0.4

# --- axes -----------------------------------------------------------------------------------------


def axes_for(
    ax: Axes | None, width: float, height: float, without: Sequence[str] = (), bar: bool = False
) -> Axes:
    """Return `ax`, or the axes of a new pyplot figure.

    If `ax` are the only axes of a figure as ``plt.subplots()`` makes it, without a layout engine and with the
    default margins, the figure gets the constrained layout, so that no text is cut off at its edges.

    Parameters
    ----------
    ax : Axes, optional
    width, height : float
        Of the new figure in inches, for text of the default size; it grows and shrinks with the text. A style
        that sets ``figure.figsize`` has precedence.
    without : sequence of str
        Sides of the frame that are not drawn.
    bar : bool
        Whether a colour bar follows. Matplotlib then refuses another layout, such as ``fig.tight_layout()``,
        so that the layout of the figure is left alone.
    """
    from matplotlib.gridspec import SubplotParams

    if ax is None:
        import matplotlib.pyplot as plt

        size = None if has_own_size() else (width * size_of_text(), height * size_of_text())
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    _require_axes(ax)
    figure, spec = figure_of(ax), ax.get_subplotspec()
    margins = None if spec is None else vars(spec.get_gridspec().get_subplot_params(figure))
    plain = margins == vars(SubplotParams()) and figure.axes == [ax] and figure.get_layout_engine() is None
    if plain and not bar:
        figure.set_layout_engine("constrained")
    for side in without:
        ax.spines[side].set_visible(False)
    return ax


def _require_axes(ax: object) -> None:
    """Raise OptionError for anything but Axes."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise OptionError(
            f"ax of type {type(ax).__name__} was given; it must be one matplotlib Axes, such as the second "
            "value of plt.subplots(), or None for a new figure."
        )


def axes_of_known_size(ax: Axes | None) -> Axes | None:
    """Return `ax`, or the axes of a new figure if the style sets its size; None if what is drawn sets it."""
    if ax is None:
        return axes_for(None, 0.0, 0.0) if has_own_size() else None
    _require_axes(ax)
    return ax


def name_rows(ax: Axes, names: Sequence[str], components_above: bool = False) -> None:
    """Set up the vertical axis for named rows, the first at the top; columns may be named above the axes."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    if components_above:
        ax.tick_params(axis="x", which="major", top=False, bottom=False, labeltop=True, labelbottom=False)


def name_room(ax: Axes, share: float) -> float:
    """Return the width in points of a share of the place of the axes, for names beside them."""
    figure = ax.get_figure(root=False)
    assert figure is not None
    return share * float(ax.get_position(original=True).width * in_points(ax, figure.bbox.width))


def stacked(ax: Axes, names: pd.Index, height: float) -> Iterator[Axes]:
    """Yield a panel for each name, one below the other, with one horizontal axis, labelled at the last."""
    ax.set_axis_off()
    k, top_panel = len(names), None
    for j, name in enumerate(short_names(list(names), HEADING_WIDTH)):
        panel = ax.inset_axes((0.0, 1 - (j + 1) / k, 1.0, height / k), sharex=top_panel)
        top_panel = top_panel or panel
        panel.set_ylabel(name, parse_math=False)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelbottom=j == k - 1)
        yield panel


def cross(ax: Axes, strength: float = 0.2, width: float = 0.8) -> None:
    """Draw both axes through the origin, faintly."""
    for draw in (ax.axhline, ax.axvline):
        draw(0, color=shade(ax, strength), linewidth=line(width), zorder=0.5)


def figure_of(ax: Any) -> Figure:
    """Return the figure, not the subfigure, that the axes belong to."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def run_layout(ax: Axes) -> None:
    """Run the layout of the figure, so that `ax` has its final position and extents can be measured."""
    figure = figure_of(ax)
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    ax.apply_aspect()


def pixel_line(ax: Any, x: Any, y: Any, **style: Any) -> Line2D:
    """Return a line between positions in pixels of the figure of `ax`, to be drawn by an artist of it."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import IdentityTransform

    artist = Line2D(x, y, transform=IdentityTransform(), **style)
    artist.set_figure(figure_of(ax))
    return artist


def in_points(ax: Axes, pixels: Any) -> NDArray[np.float64]:
    """Convert pixels of the figure of `ax` to points (1/72 inch)."""
    return np.asarray(pixels, dtype=float) * (72.0 / figure_of(ax).dpi)


def size_of(ax: Axes) -> NDArray[np.float64]:
    """Return width and height of the axes, in points."""
    box = ax.get_window_extent()
    return in_points(ax, [box.width, box.height])


#: The size of the smallest marks in points: given axes have so few variables that no mark is smaller.
SMALLEST_MARK = 2.6

#: Smallest size in points of names of variables and rows in a plot; their size relative to the font's.
SMALLEST_NAME, NAME_SIZE = 6.5, 0.75


def name_size() -> float:
    """Return the size of the names of variables and rows in a plot, in points, in the style in use."""
    import matplotlib

    return max(SMALLEST_NAME, NAME_SIZE * float(matplotlib.rcParams["font.size"]))


def label_components(ax: Axes, labels: Sequence[str], size: float) -> None:
    """Label the two axes; numbers and labels are at most little larger than the names of this size."""
    import matplotlib

    size = min(float(matplotlib.rcParams["font.size"]), size + 1.5)
    ax.tick_params(labelsize=size)
    ax.set_xlabel(labels[0], fontsize=size, parse_math=False)
    ax.set_ylabel(labels[1], fontsize=size, parse_math=False)


# --- frames and components ------------------------------------------------------------------------


def frame_of(frame: pd.DataFrame, what: str = "loadings") -> NDArray[np.float64]:
    """Return the values of a data frame of numbers; raise ShapeError or DataError for anything else."""
    values = frame_values(frame, what)
    if what == "loadings" and not np.isfinite(values).all():
        raise DataError(f"{int((~np.isfinite(values)).sum())} loadings are missing or infinite.")
    return values


def need_columns(table: Any, columns: list[str], what: str) -> None:
    """Raise ShapeError unless a table is a frame with rows and these columns, numeric, each exactly once."""
    columns_present = list(table.columns) if isinstance(table, pd.DataFrame) and not table.empty else []
    if missing := [name for name in columns if columns_present.count(name) != 1]:
        need = f"{what} must have rows and each of the columns {listed(columns)} once"
        raise ShapeError(f"{need}; it lacks {listed(missing)}.")
    frame_values(table[columns], what)


def positions(components: Any, names: Sequence[Hashable]) -> list[int]:
    """Return the positions of components that are given by number from one, or by name; None is all."""
    if components is None:
        return list(range(len(names)))
    places = []
    for component in elements(components, len(names)):
        if is_whole(component) and 1 <= int(component) <= len(names):
            places.append(int(component) - 1)
        elif isinstance(component, str) and component in names:
            places.append(list(names).index(component))
        else:
            raise ComponentsError(
                f"Component {shown(component)} was given, which does not exist; give numbers from 1 to "
                f"{len(names)} or the names {listed(names)}."
            )
    if not places or len(set(places)) < len(places):
        raise ComponentsError(
            f"components={shown(components)} was given; it must name one or more components, each once."
        )
    return places


def short_sections(sections: Sequence[str], limit: int) -> list[str]:
    """Return the section of each variable in at most `limit` characters."""
    names = list(dict.fromkeys(sections))
    labels = dict(zip(names, short_names(names, limit), strict=True))
    return [labels[section] for section in sections]


def row_limit(max_rows: int | None, rows: int) -> int:
    """Return the largest number of rows to draw: `max_rows`, 1 or more, or all `rows` for None."""
    return max(rows, 1) if max_rows is None else whole_number("max_rows", max_rows, 1)


def pair_of(components: Sequence[Any], names: Sequence[Hashable], what: str, advice: str) -> list[int]:
    """Return the positions of two components; raise ComponentsError for another number of them."""
    if len(names) < 2:
        raise ComponentsError(f"There is one component; {what} needs two. {advice}")
    pair = positions(components, names)
    if len(pair) != 2:
        raise ComponentsError(f"components={shown(components)} was given; {what} needs two components.")
    return pair


def axis_names(components: Sequence[Any], shares: Any) -> list[str]:
    """Return the names of components for the axes, with their shares of the variance if these are given.

    Raises
    ------
    OptionError
        If `shares` is not a Series of numbers labelled by components.
    """
    pairs = zip(short_names(components), share_texts(components, shares), strict=True)
    return [f"{name} ({share})" if share else name for name, share in pairs]


#: How the sentence of a note begins that says what percentages are.
PERCENTAGES = "%:"
#: The word for the share of a component by its measure: the adjusted one is what it adds to earlier ones.
SHARE_WORDS = {"adjusted": "added"}
#: The same in a sentence.
SHARE_CLAUSES = {
    "adjusted": " that each component adds to the earlier ones",
    "explained": " that each component explains",
}


def sentence_on_shares(shares: pd.Series | None, drawn_texts: Iterable[str], measure: str = "") -> list[str]:
    """Return the sentence of a note on what percentages are, in a list; nothing if no text has one.

    `measure` is that of shares without ``attrs["share"]``.
    """
    if shares is None or not any("%" in text for text in drawn_texts):
        return []
    return [f"{PERCENTAGES} {share_words(shares, measure)}."]


def share_words(shares: pd.Series, measure: str = "") -> str:
    """Return a phrase that says what shares measure, such as "share of total variance added"."""
    measure = _measure_of(shares, measure)
    return f"share of {total_of(shares)} {SHARE_WORDS.get(measure, measure)}".strip()


def full_sentence_on_shares(shares: pd.Series, measure: str = "") -> str:
    """Return the sentence of a caption on what percentages are; `measure` is as in `sentence_on_shares`."""
    clause = SHARE_CLAUSES.get(_measure_of(shares, measure), "")
    return f"Percentages are shares of the {total_of(shares)}{clause}."


def _measure_of(shares: pd.Series, measure: str) -> str:
    return str(shares.attrs.get("share", measure))


def total_of(table: pd.Series | pd.DataFrame | None) -> str:
    """Return what the shares in a table are of: ``attrs["total"]``, or else "total variance"."""
    return "total variance" if table is None else str(table.attrs.get("total", "total variance"))


def share_texts(components: Sequence[Any], shares: Any, decimals: int = 1) -> list[str]:
    """Return the shares of components as text, "" without one; raise as `axis_names`."""
    if shares is None:
        return [""] * len(components)
    numbers = real_array(shares) if isinstance(shares, pd.Series) else None
    if numbers is None or not shares.index.is_unique:
        raise OptionError(
            f"shares of type {type(shares).__name__} was given; it must be a Series of numbers, "
            "labelled by the names of the components."
        )
    numbers_of = dict(zip(shares.index, numbers.tolist(), strict=True))
    return [
        f"{100 * numbers_of[component]:.{decimals}f} %" if component in numbers_of else ""
        for component in components
    ]


def draw_colour_bar(bar_axes: Axes, artist: Any, title: str | None, size: float, **options: Any) -> Axes:
    """Draw the colour bar of an artist in axes, whose place their locator sets; return these."""
    bar = figure_of(bar_axes).colorbar(artist, cax=bar_axes, **options)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_alpha(1.0)
    bar_axes.tick_params(labelsize=size, length=2.5, pad=1.5)
    if title:
        bar.set_label(title, fontsize=size, parse_math=False)
    return bar_axes


# --- numbers as text ------------------------------------------------------------------------------


def correlation_text(r: float) -> str:
    """Return a correlation as "r = .16" or "r = −.42", like loadings."""
    return f"r = {'−' * (round(r, 2) < 0)}{f'{abs(r):.2f}'.removeprefix('0')}"


def correlation_of(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the correlation of two columns of scores, NaN if one of them is constant."""
    dx, dy = x - np.nanmean(x), y - np.nanmean(y)
    size = np.sqrt(np.nansum(dx**2) * np.nansum(dy**2))
    return float(np.nansum(dx * dy) / size) if size > 0 else float("nan")


# --- texts --------------------------------------------------------------------------------------


def typeset(text: str) -> str:
    """Return a sentence of a print as it stands in a plot: "≤" for "<=", "≥" for ">="."""
    return text.replace("<=", "≤").replace(">=", "≥")


def write(ax: Axes, text: str, at: Any, away: tuple[float, float] = (0.0, 0.0), **style: Any) -> Annotation:
    """Write plain text, by default in data units, at a distance in points from a position; return it."""
    plain: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False, "parse_math": False}
    return ax.annotate(text, at, away, **plain, **style)


# --- the note below the axes ----------------------------------------------------------------------


def write_note(ax: Axes, sentences: Iterable[str], last_panel: Any = None) -> Annotation | None:
    """Write sentences below the label of the x axis, from the left end of the names beside the axes.

    If the axes contain panels, the label is that of the last one.
    """
    if not any(sentences := list(sentences)):
        return None

    def names_beside(renderer: Any) -> Bbox:
        boxes = [part.yaxis.get_tightbbox(renderer) for part in (ax, *ax.child_axes) if part.axison]
        return Bbox.union([ax.get_window_extent(renderer), *(box for box in boxes if box is not None)])

    def numbers_below(renderer: Any) -> Bbox:
        panel = last_panel or ax
        panel.apply_aspect(None if panel is ax else panel.get_axes_locator()(panel, renderer))
        return panel.xaxis.get_tightbbox(renderer) or panel.get_window_extent(renderer)

    style: dict[str, Any] = {"va": "top", "fontsize": _note_size(), "color": shade(ax, 0.7), "gid": NOTE}
    style["xycoords"] = (names_beside, numbers_below)
    return write(ax, note_text(ax, sentences), (0.0, 0.0), (0, -4.0), **style)


def note_text(ax: Axes, sentences: Iterable[str]) -> str:
    """Return the sentences of a note in lines that are no wider than the place of the axes."""
    words = typeset(" ".join(filter(None, sentences)))
    return "\n".join(wrapped(words, NOTE_WIDTH * place_width(ax) / HINTED, _note_size()))


def note_below(ax: Axes, size: float) -> Text:
    """Return a note whose text and position the locator of the axes sets."""
    style: dict[str, Any] = {"fontsize": size, "color": shade(ax, 0.7), "gid": NOTE, "parse_math": False}
    style |= {"transform": figure_of(ax).transFigure}
    return ax.text(0.0, 0.0, "", va="bottom", linespacing=1.15, **style)


def place_width(ax: Axes) -> float:
    """Return the width in points of the axes with the names beside them: of their columns of a layout."""
    return _place_size(ax)[0]


def place_height(ax: Axes) -> float:
    """Return the height in points of the axes with what is above and below: of their rows of a layout."""
    return _place_size(ax)[1]


def _place_size(ax: Axes) -> tuple[float, float]:
    figure, spec = ax.get_figure(root=False), ax.get_subplotspec()
    assert figure is not None
    width, height = in_points(ax, figure.bbox.size).tolist()
    if spec is None or figure_of(ax).get_layout_engine() is None:
        place = ax.get_position(original=True)
        return width * place.width, height * place.height
    grid = spec.get_gridspec()
    return width * len(spec.colspan) / grid.ncols, height * len(spec.rowspan) / grid.nrows


def _note_size() -> float:
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size="x-small").get_size_in_points())


# --- places in the layout ------------------------------------------------------------------------


def place_of(ax: Any, locator: Any, renderer: Any) -> tuple[Bbox, float]:
    """Return the place of the axes in pixels, and the number of pixels of a point.

    `locator` is that of the axes before they got their present one, or None.
    """
    place = ax.get_position(original=True) if locator is None else locator(ax, renderer)
    box = ax.get_figure(root=False).transSubfigure.transform(place.get_points())
    return Bbox(box), figure_of(ax).dpi / 72.0


def in_figure(ax: Any, point: tuple[float, float]) -> tuple[float, float]:
    """Return a point in pixels in units of the figure.

    Matplotlib moves the figure, and not the artists in pixels, when it saves with ``bbox_inches="tight"``.
    """
    x, y = figure_of(ax).transFigure.inverted().transform(point)
    return float(x), float(y)


def position_of(ax: Any, box: Bbox) -> Bbox:
    """Return the position within the figure, or the subfigure, of a box in pixels."""
    return Bbox(ax.get_figure(root=False).transSubfigure.inverted().transform(box.get_points()))
