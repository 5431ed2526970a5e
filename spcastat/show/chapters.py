"""The content of a report: chapters of tables, figures and text, later written as HTML or for Word."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import plural
from spcastat.fit import frames, resampling_frames, rows
from spcastat.fit.frames import variance
from spcastat.fit.inputs import Source
from spcastat.fit.record import Record
from spcastat.fit.state import FitState
from spcastat.labels import full_names, short_name
from spcastat.show import resampling_tables
from spcastat.show.fit_tables import Arrangement
from spcastat.show.grid import DIGITS, Document, Row, Table, fixed, number_rows, percent
from spcastat.show.methods_text import Description, describe, equations
from spcastat.show.summary import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The largest number of terms written for an equation.
MOST_TERMS = 20


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure of a report, not yet drawn.

    Attributes
    ----------
    draw : callable
        Draws the figure on given axes.
    width, height : float
        In inches.
    name : str
        The name of the file, if the figure is saved.
    alt : str
        The text alternative: what the figure shows.
    caption : str
    """

    draw: Callable[[Axes], Any]
    width: float
    height: float
    name: str
    alt: str
    caption: str = ""

    def saved(self, kind: str, dpi: float) -> bytes:
        """Draw the figure without pyplot and return the content of an image file.

        Parameters
        ----------
        kind : {"svg", "png"}
        dpi : float
            The resolution of everything that is not vector graphics.
        """
        from matplotlib.collections import PathCollection
        from matplotlib.figure import Figure

        figure = Figure(figsize=(self.width, self.height), layout="constrained")
        self.draw(figure.subplots())
        for points in figure.findobj(PathCollection):
            if isinstance(points, PathCollection) and np.shape(points.get_offsets())[0] > 500:
                points.set_rasterized(True)  # many points as an image keep the page small
        buffer = io.BytesIO()
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=metadata)
        return buffer.getvalue()


@dataclass(frozen=True)
class Lines:
    """Lines of code or formulas, with the text before and after them."""

    lines: tuple[str, ...]
    before: str = ""
    after: tuple[str, ...] = ()


#: What a chapter can contain.
Content: TypeAlias = Document | Picture | Lines


@dataclass(frozen=True)
class Chapter:
    """A part of a report with its own heading."""

    heading: str
    parts: tuple[Content, ...]


def chapter_of(
    heading: str, document: Document, draw: Callable[..., Any], about: str, caption: str
) -> Chapter:
    """Return a chapter of tables and one plot; `draw` is called with the axes as ``ax=``."""
    name = heading.lower().replace(" ", "-")
    return Chapter(heading, (document, Picture(lambda ax: draw(ax=ax), 4.9, 3.4, name, about, caption)))


def chapters(
    state: FitState,
    source: Source | None,
    call: str,
    arrangement: Arrangement,
    digits: int = DIGITS,
    row_groups: Any = None,
) -> Iterator[Chapter]:
    """Yield the chapters of a fit's report; `arrangement` and `digits` are for its tables of variables."""
    in_memory = source is not None and source.matrix is not None
    yield Chapter("Summary", (summarise(state, digits=digits, **vars(arrangement))._document(),))
    yield Chapter("Equations", (formulas(state),))
    loadings = loadings_picture(state, arrangement.groups)
    yield Chapter("Loadings and variance", (loadings, scree_picture(state)))
    if any(vars(state.resampled).values()):
        yield Chapter("How sure this is", tuple(sure_parts(state)))
    if len(state.components) > 1 and (in_memory or state.scores is not None):
        drawn = score_pictures(state, rows.scores(state, source), row_groups)
        yield Chapter("Rows on the components", tuple(drawn))
    yield Chapter("How the components go together", (together(state), correlations(state, arrangement)))
    if in_memory:
        yield Chapter("Rows that the fit does not describe", (diagnostics_picture(state, source),))
    yield Chapter("For a methods section", (methods(describe(state)),))
    yield Chapter("How this was made", (made(state.record, call),))


def formulas(state: FitState) -> Lines:
    """Return the components as formulas in the standardised variables."""
    lines = equations(state, max_terms=MOST_TERMS, width=100_000).splitlines()
    return Lines(tuple(lines), "Zero terms are left out.")


def methods(found: Description) -> Lines:
    """Return the paragraph for a methods section, its references, and their BibTeX."""
    return Lines(tuple(found.bibtex.splitlines()), found.text, found.references)


def made(record: Record, call: str) -> Lines:
    """Return the call that made the fit, its options, and the versions of the packages."""
    code = "" if call.startswith("spcastat ") else "import spcastat as sp\nfit = sp."
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    options = ", ".join(f"{name}={value!r}" for name, value in record.options.items() if value is not None)
    after = (f"Options of {record.method}: {options or 'none'}.", f"Versions: {versions}.")
    return Lines(tuple(f"{code}{call}".splitlines()), after=after)


def together(state: FitState) -> Document:
    """Return the variance each component explains, alone and given the others, and score correlations."""
    shares, correlation = frames.component_shares(state), frames.score_correlation(state)
    names = tuple(full_names(state.components))
    lines = [
        Row(label, tuple(map(percent, shares[column])), "Least-squares % of total variance")
        for column, label in {
            "alone": "alone",
            "average": "average over orders",
            "last": "lost if left out",
        }.items()
        if shares[column].notna().any()
    ]
    lines += number_rows(correlation, 2, ["Correlation of scores"] * len(names))
    caption = "What each component explains, and how their scores correlate"
    return Document("", tables=(Table("Component", names, tuple(lines)),), caption=caption)


def correlations(state: FitState, arrangement: Arrangement) -> Document:
    """Return the correlations of the variables with the scores, in the order of the table of loadings."""
    kept, groups = arrangement.rows(state.V, state.spec.columns)
    values = frames.correlations(state)
    values["communality"] = frames.communalities(state)
    lines = number_rows(values.iloc[kept], 2, groups)
    note = (
        "Correlations of variables with scores; the communality is the share of a variable's variance that "
        "regression on all scores explains."
    )
    if len(kept) < len(state.V):
        note += f" {len(kept)} of {len(state.V)} variables are shown, those of the table of loadings."
    headings = (*full_names(state.components), "communality")
    table = Table("Correlation", headings, lines, notes=(note,))
    return Document("", tables=(table,), caption="Correlations of variables with scores")


# --- figures with text alternatives; in a page they are SVG, each with a link to save it -----------


#: The largest number of components that a text alternative describes.
MOST_NAMED = 5
#: Characters that need no escape in a data URL within double quotes.
PLAIN = " =/:;,()-_.!*+@$?[]{}|^"


def picture_html(picture: Picture) -> str:
    """Return the HTML of a picture with a link to save it."""
    address = svg_address(picture.saved("svg", 192).decode())
    name, below = picture.name, f"{escape(picture.caption)}<br>" if picture.caption else ""
    css = ' class="wide"' if picture.width > 5.0 else ""  # on a phone it scrolls, so that text stays legible
    return (
        f'<figure{css}><div class="plot"><img src="{address}" alt="{escape(picture.alt)}" '
        f'width="{picture.width * 96:.0f}" height="{picture.height * 96:.0f}"></div>'
        f'<figcaption>{below}<a class="save" href="{address}" download="{escape(name)}.svg">Save as SVG'
        f'<span class="unseen">: {escape(name.replace("-", " "))}</span></a></figcaption></figure>'
    )


def svg_address(svg: str) -> str:
    """Return an SVG as a data URL, its coordinates rounded to 0.01 points and metadata removed."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
    rounded = partial(re.sub, r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}")
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: rounded(path[0]), svg)
    svg = re.sub(r'(?<= [xy]=")-?\d+\.\d+(?=")', lambda number: rounded(number[0]), svg)
    svg = re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", svg))
    svg = svg.replace("'", "&apos;").replace('"', "'")
    return "data:image/svg+xml," + quote(svg, safe=PLAIN + "'")


# --- the figures ----------------------------------------------------------------------------------


def loadings_picture(state: FitState, sections: Any = None) -> Picture:
    """Return the figure of nonzero loadings; `sections` is passed to `plot_loadings`."""
    loadings = frames.loadings(state)
    k, shown = loadings.shape[1], len(plots.plot_loadings_data(loadings, kind="dots"))
    return Picture(
        lambda ax: plots.plot_loadings(
            loadings, kind="dots" if k <= 10 else "heatmap", sections=sections, ax=ax
        ),
        float(np.clip(2.2 + 0.8 * k, 4.2, 8.5)),
        1.2 + 0.24 * max(shown, 4),
        "loadings",
        f"Nonzero loadings of every component. {_leaders(loadings)}",
        "Nonzero loadings; what is not drawn is exactly zero.",
    )


def _leaders(loadings: pd.DataFrame) -> str:
    """Return a sentence with the number of nonzeros of each component, and its largest loading."""
    parts = []
    for name in loadings.columns[:MOST_NAMED]:
        column = loadings[name].to_numpy(dtype=float)
        largest = int(np.argmax(np.abs(column)))
        count = plural(int((column != 0).sum()), "nonzero")
        first = f", the largest {fixed(column[largest], 2)} of {short_name(loadings.index[largest])}"
        parts.append(f"{short_name(name)} has {count}{first if column.any() else ''}")
    rest = loadings.shape[1] - len(parts)
    return "; ".join(parts) + (f"; {rest} more are in the table" if rest else "") + "."


def sure_parts(state: FitState) -> Iterator[Picture | Document]:
    """Yield the results of resampling: figures of intervals and selection frequencies, and tables."""
    known, loadings = state.resampled, frames.loadings(state)
    k, shown = loadings.shape[1], len(plots.plot_loadings_data(loadings, kind="dots"))
    width = float(np.clip(2.2 + 1.0 * k, 4.2, 8.5))
    if known.bootstrap is not None:
        intervals = resampling_frames.conf_int(state, known.bootstrap)
        yield Picture(
            lambda ax: plots.plot_loadings(loadings, intervals=intervals, ax=ax),
            width,
            1.2 + 0.24 * max(shown, 4),
            "intervals",
            "Loadings with bootstrap intervals; the table below holds them as numbers.",
            " ".join(
                [
                    "Nonzero loadings with 95 % bootstrap intervals.",
                    resampling_tables.interval_meaning(known.bootstrap.select),
                    *resampling_tables.component_notes(state),
                ]
            ),
        )
        yield resampling_tables.bootstrap_document(state, known.bootstrap, 0.95)
    if known.stability is not None:
        found = known.stability
        frequency = resampling_frames.frequency(state, found)
        count = len(plots.plot_frequency_data(frequency, loadings))
        yield Picture(
            lambda ax: plots.plot_frequency(frequency, loadings, found.threshold, ax=ax),
            width,
            1.4 + 0.24 * max(count, 4),
            "frequency",
            "How often fits of half of the rows select each variable; the table below holds the shares.",
            f"Share of {len(found.chosen)} fits of half of the rows that select each variable; dotted is the "
            f"threshold. {resampling_tables.UNSAID['frequency']}",
        )
        yield resampling_tables.stability_document(state, found)
    if known.split is not None:
        yield resampling_tables.split_document(state, known.split, 0.95)
    if known.tests is not None:
        yield resampling_tables.test_document(state, known.tests)


def scree_picture(state: FitState) -> Picture:
    """Return the figure of the variances of sparse components, next to those of dense ones."""
    table = variance(state)
    dense = f"{percent(table['cumulative PCA'].iloc[-1])} %"
    sparse = ", ".join(map(percent, table["share of total"].tolist()[:MOST_NAMED]))
    alt = (
        f"Adjusted variance of the sparse components, {sparse} % of the total, beside the variance of the "
        f"dense principal components, {dense} of the total together."
    )
    caption = (
        "Adjusted variance of the sparse components (what each adds to those before it) beside the variance "
        "of the dense principal components."
    )
    if not state.record.sparse:
        caption = "Variance of the principal components."
        alt = f"{caption[:-1]}, which have {dense} of the total together."
    draw = partial(plots.screeplot, table, sparse=state.record.sparse)
    return Picture(lambda ax: draw(ax=ax), 4.9, 3.0, "scree", alt, caption)


def score_pictures(state: FitState, scores: pd.DataFrame, groups: Any = None) -> Iterator[Picture]:
    """Yield the biplot and, with three or more components, scores of all pairs; `groups` are of rows."""
    spread = scores.std().to_numpy()
    count = plural(len(scores), "row")
    if (spread[:2] > 0).all():
        shares = variance(state)["share of total"]
        first, second = (short_name(name) for name in scores.columns[:2])
        r = float(np.corrcoef(scores.iloc[:, 0], scores.iloc[:, 1])[0, 1])
        yield Picture(
            lambda ax: plots.biplot(scores, frames.loadings(state), shares=shares, groups=groups, ax=ax),
            5.6,
            5.4,
            "biplot",
            f"Biplot of {count} on {first} and {second}, whose scores have the correlation {fixed(r, 2)}; "
            "the table of correlations says which variables go with them.",
            "Points are rows, arrows the variables with a nonzero loading on either component; those with a "
            "loading on one of them alone are listed beside its axis.",
        )
    if scores.shape[1] > 2:
        size = {3: 4.8, 4: 6.0}.get(scores.shape[1], 7.0)
        yield Picture(
            lambda ax: plots.plot_scores(scores, groups=groups, ax=ax),
            size,
            size,
            "scores",
            f"Scores of {count} for every pair of the first {min(scores.shape[1], 5)} components; the next "
            "table holds their correlations.",
            "Scores of every pair of components, at most the first five, and their correlation r.",
        )


def diagnostics_picture(state: FitState, source: Source | None) -> Picture:
    """Return the figure of the squared residual of each row against its T2."""
    limits = frames.limits(state)
    found = rows.diagnostics(state, source)
    known = [name for name in ("T2", "Q") if np.isfinite(limits[name])]
    beyond = [f"{int((found[name] > limits[name]).sum())} beyond that of {name}" for name in known]
    counted = f"of {len(found)} rows, {' and '.join(beyond) or 'none can be judged'}."
    farthest = short_name(found["Q"].idxmax())
    return Picture(
        lambda ax: plots.plot_diagnostics(found, limits, ax=ax),
        5.0,
        3.9,
        "diagnostics",
        f"Squared residual Q of every row against its Hotelling T2. {counted[0].upper() + counted[1:]} The "
        f"largest Q is that of row {farthest}.",
        f"Limits that 95 % of new rows would stay below if rows were normal: {counted}",
    )
