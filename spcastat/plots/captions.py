"""The data of biplots, and the captions of biplots and circles of correlations, short and in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import plural
from spcastat.linalg.wrapping import END
from spcastat.plots import drawing
from spcastat.plots.blocks import loading_text
from spcastat.plots.frame import positions, rows_outside

#: Correlation of scores from which a caption mentions it.
NOTABLE = 0.1


@dataclass(frozen=True)
class Content:
    """The parts of a plot that depend on the size of the figure.

    Attributes
    ----------
    low, high : ndarray of shape (2,)
        Limits of the axes.
    arrows, rows, means : int
        How many arrows, rows labelled by the caller, and means of groups have a name.
    one_scale : bool
        Whether both axes have one scale, or no common scale is needed.
    bars, values : bool
        Whether there are bars, and whether their values are written beside them.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    arrows: int = 0
    rows: int = 0
    means: int = 0
    one_scale: bool = True
    bars: bool = True
    values: bool = False


@dataclass(frozen=True)
class Sentence:
    """A sentence of a caption.

    Attributes
    ----------
    text : str
        The short text, which is drawn below the plot.
    full : str
        The full sentence, for a document.
    is_key : bool
        Whether it explains a mark that is drawn. Other sentences are left out if there is little room.
    on_shares : bool
        Whether it defines the percentages.
    """

    text: str
    full: str = ""
    is_key: bool = True
    on_shares: bool = False


#: Returns the sentences of a caption, the most important first.
Caption = Callable[[Content], Sequence[Sentence]]


@dataclass(frozen=True)
class BiplotData:
    """The data of a biplot.

    Attributes
    ----------
    points : DataFrame, n x 6 or more
        "x" and "y" of every row, its "group" or "color" if given, its "label", which may be "", and whether
        it is "far" from all others: it is then a triangle at the edge, unless the limits of the axes include
        it. For robust fits, whether the row is "left_out", and whether the fit has "replaced" cells of the
        row, in variables of the two components, by the middle of their column.
    arrows : DataFrame, q x 6
        The arrows that are drawn, the longest first: "x" and "y" of the tip; whether the loading is "nonzero"
        on either component; whether it is a "supplementary" variable; the "position" of the variable in the
        data; and its "length" as drawn. "x" and "y" divided by `stretch` are Gabriel's markers, or
        correlations.
    blocks : DataFrame
        The bars: the "value" (loading or correlation) of each variable of a "component", the largest first,
        whether it is "supplementary", and its "position" in the data.
    stretch : float
        The common factor by which arrows are drawn longer than Gabriel's markers (or correlations), so that
        points and arrows fill the same axes.
    correlation : float
        Correlation of the two columns of scores; NaN if one of them is constant.
    components : tuple of str
        Names of the two components.
    new : DataFrame
        "x", "y", "label" and "far" of new rows.
    levels : DataFrame
        "x", "y" and "label" of the means of levels of supplementary factors.
    undrawn : int
        Number of variables without an arrow because the number of arrows is limited.
    scale : float
        As given to `biplot`.
    kind : str
        What arrows and bars show, "loadings" or "correlations".
    blocks_optional : bool
        Whether the bars are left out where the names of the arrows have room in the plot.
    on_shares : tuple of Sentence
        The sentence on what the percentages beside the components are; none without percentages.
    """

    points: pd.DataFrame
    arrows: pd.DataFrame
    blocks: pd.DataFrame
    stretch: float
    correlation: float
    components: tuple[str, str]
    new: pd.DataFrame = field(default_factory=pd.DataFrame)
    levels: pd.DataFrame = field(default_factory=pd.DataFrame)
    undrawn: int = 0
    scale: float = 1.0
    kind: str = "loadings"
    blocks_optional: bool = False
    on_shares: tuple[Sentence, ...] = ()

    @property
    def ringed(self) -> pd.Series:
        """Whether each row has a ring: it has replaced cells, is in the fit and is not far."""
        return self.points["replaced"] & ~self.points["left_out"] & ~self.points["far"]

    @property
    def caption(self) -> str:
        """The scaling of points, arrows and bars, the meaning of other marks, and what is not drawn."""
        return full_caption(self)


def caption_of_biplot(data: BiplotData, extra_caption: Caption, content: Content) -> list[Sentence]:
    """Return the sentences on a drawn biplot; `extra_caption` returns those on outlines, means and shares."""
    far_points = (positions(table[table["far"]]) for table in (data.points, data.new))
    rows, new_rows = (int(rows_outside(xy, content.low, content.high).sum()) for xy in far_points)
    separate = [] if content.one_scale else [Sentence("Axes: separate scales.")]
    numbers: list[Sentence] = []
    marks = _on_scores(data, rows, new_rows, separate)
    if content.bars:
        marks += on_bars(data.blocks, data.kind, content.values)
    marks += _on_arrows_of(data, content.arrows)
    marks += on_supplementary(data.arrows, data.blocks if content.bars else data.blocks.iloc[:0])
    for sentence in extra_caption(content):
        (marks if sentence.is_key else numbers).append(sentence)
    return [*marks, *on_correlation(data.correlation), *numbers]


def full_caption(data: BiplotData) -> str:
    """Return the caption of a biplot in full sentences."""
    rows, new_rows = int(data.points["far"].sum()), int(data.new["far"].sum())
    sentences = _on_scores(data, rows, new_rows, [])
    sentences += on_bars(data.blocks, data.kind, optional=data.blocks_optional)
    sentences += _on_arrows_of(data, len(data.arrows))
    sentences += [*on_supplementary(data.arrows, data.blocks), *on_correlation(data.correlation)]
    if not len(data.arrows) and not data.undrawn:
        sentences.append(Sentence("", "There are no arrows: no variable has loadings on both components."))
    return " ".join(sentence.full for sentence in (*sentences, *data.on_shares) if sentence.full)


def _on_scores(data: BiplotData, rows: int, new_rows: int, separate: list[Sentence]) -> list[Sentence]:
    """Return the sentences on points; `rows` and `new_rows` are the numbers of triangles at the edge."""
    power = _power(data.scale)
    divisor = f" divided by the power {data.scale:g} of" if power else " divided by"
    scaled = data.scale != 0
    points = Sentence(
        f"Points: scores{f' / sd{power}' * scaled}.",
        f"Points are scores{f'{divisor} their standard deviations (sd)' * scaled}.",
    )
    return [
        points,
        *separate,
        *(Sentence(text, full) for count, text, full in _marks(data, rows, new_rows) if count),
    ]


def _marks(data: BiplotData, rows: int, new_rows: int) -> list[tuple[int, str, str]]:
    """Return the number, the short text and the sentence for each kind of point with a mark of its own."""
    has_groups = "group" in data.points
    triangles = "Triangles at the edge" if has_groups else "Triangles"  # a mark of groups
    out, ringed, crosses = (
        int(data.points["left_out"].sum()),
        int(data.ringed.sum()),
        len(data.new) - new_rows,
    )
    out_rows, ringed_rows = plural(out, "row"), plural(ringed, "row")
    far, far_new = f"{plural(rows, 'row')} farther out.", f"{plural(new_rows, 'new row')} farther out."
    cells = f"with cells farther than {END:g} sd from the middle, which replaces them."
    return [
        (out, f"Open: {out_rows} left out of the fit.", f"Open points are {out_rows} left out of the fit."),
        (ringed, f"Rings: {ringed_rows}, cells > {END:g} sd replaced.", f"Rings mark {ringed_rows} {cells}"),
        (rows, f"{triangles}: {far}", "Triangles at the edge are rows farther out."),
        (new_rows, f"{triangles}: {far_new}", "Triangles at the edge are new rows farther out."),
        (crosses, "" if has_groups else "Crosses: new rows.", "Crosses are new rows."),
        (len(data.levels), "Diamonds: means of levels.", "Diamonds are means of levels."),
    ]


def _power(scale: float) -> str:
    """Return the exponent of the standard deviations, "" for 0 and 1."""
    return "" if scale in (0, 1) else f"^{scale:g}"


def _on_arrows_of(data: BiplotData, name_count: int) -> list[Sentence]:
    """Return the sentence on the arrows of a biplot, `name_count` of which have a name."""
    markers = data.kind
    if data.kind == "loadings" and data.scale != 0:
        markers = f"loadings × sd{_power(data.scale)}"
    return on_arrows(data.arrows, f"{markers} × {data.stretch:.3g}", data.undrawn, name_count)


def on_arrows(arrows: pd.DataFrame, markers: str, undrawn: int, name_count: int) -> list[Sentence]:
    """Return the sentence on arrows, `name_count` of which have a name; no sentence without arrows.

    Parameters
    ----------
    arrows : DataFrame
        The arrows that are drawn.
    markers : str
        What the arrows represent.
    undrawn : int
        Number of variables without an arrow because the number of arrows is limited.
    name_count : int
    """
    if not len(arrows):
        return []
    count = int((~arrows["supplementary"]).sum())
    faint = int((~arrows["nonzero"] & ~arrows["supplementary"]).sum())
    numbers = [f"{count:,} of {count + undrawn:,}"] * bool(undrawn)
    if name_count < len(arrows):
        numbers.append(f"{name_count:,}{'' if undrawn else f' of {len(arrows):,}'} named")
    details = [", ".join(numbers)] * bool(numbers) + ["faint: zero loadings"] * bool(faint)
    noun, verb = ("Arrow", "The arrow is") if len(arrows) == 1 else ("Arrows", "Arrows are")
    full = f"{verb} {markers}"
    full += f"; {count:,} of {count + undrawn:,} are drawn" * bool(undrawn)
    full += "; faint ones have zero loadings on both components" * bool(faint)
    in_brackets = f" ({'; '.join(details)})" if details else ""
    return [Sentence(f"{noun}: {markers}{in_brackets}.", f"{full}.")]


def on_bars(bars: pd.DataFrame, kind: str, values: bool = False, optional: bool = False) -> list[Sentence]:
    """Return the sentence on bars, with the largest value unless `values` are written beside the bars.

    The full sentence says so if the bars are `optional`.
    """
    if not len(bars):
        return []
    longest = loading_text(float(bars["value"].abs().max()))
    is_hollow = bool((bars["value"] < 0).any())
    text = f"Bars: {kind}{'' if values else f' up to {longest}'}{' (hollow: negative)' * is_hollow}."
    subject = "Bars, if drawn," if optional else "Bars"
    full = (
        f"{subject} are {kind} up to {longest}{' in absolute value; hollow bars are negative' * is_hollow}."
    )
    return [Sentence(text, full)]


def on_supplementary(arrows: pd.DataFrame, bars: pd.DataFrame) -> list[Sentence]:
    """Return the sentence on supplementary variables, if there are any."""
    if not (arrows["supplementary"].any() or bars["supplementary"].any()):
        return []
    return [Sentence("Coloured: supplementary.", "Supplementary variables are coloured.")]


def on_correlation(r: float) -> list[Sentence]:
    """Return the sentence on the correlation of the two scores, unless the correlation is small."""
    if not abs(r) > NOTABLE:
        return []
    text = drawing.correlation_text(r)
    return [Sentence(f"Scores: {text}.", f"The scores are correlated ({text}).", is_key=False)]


def on_shares(shares: pd.Series | None, drawn_texts: Sequence[str], measure: str = "") -> list[Sentence]:
    """Return the sentence that defines the percentages; none if no text that is drawn has one.

    `measure` is the measure of shares without ``attrs["share"]``.
    """
    if shares is None:
        return []
    full = drawing.full_sentence_on_shares(shares, measure)
    texts = drawing.sentence_on_shares(shares, drawn_texts, measure)
    return [Sentence(text, full, on_shares=True) for text in texts]
