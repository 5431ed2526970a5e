"""A fit as one HTML page that needs nothing beside itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import text
from spcastat.engine.inputs import Source
from spcastat.kernels.leading import leading
from spcastat.labels import full_names, name_text
from spcastat.report.equations import equations
from spcastat.report.summary import summarise
from spcastat.report.trust import (
    UNSAID,
    bootstrap_document,
    split_document,
    stability_document,
    test_document,
)
from spcastat.state import FitState, frames, rows, trust
from spcastat.state.record import Record
from spcastat.state.variance import variance
from spcastat.storage.atomic import file_path, write_file
from spcastat.tables import Document, Row, Table, render
from spcastat.tables.cells import fixed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Variables in the table of correlations, at most.
MOST_VARIABLES = 40
#: More points than this are an image within a picture: the page stays small.
MOST_POINTS = 500
#: Wider pictures (inches) are scrolled on a phone, as their text would be too small.
PHONE = 5.0
#: Terms of an equation, at most.
MOST_TERMS = 20

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="spcastat {version}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{sections}
</main>
</body>
</html>
"""

STYLE = """:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1a1a1a; font: 16px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif; }
main { max-width: 58rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem; padding-top: 0.8rem; border-top: 1px solid #d0d0d0; }
p { max-width: 44rem; }
figure { margin: 1rem 0 1.6rem; }
figure img { display: block; max-width: 100%; height: auto; }
figcaption { color: #444; font-size: 0.9rem; max-width: 44rem; margin-top: 0.3rem; }
pre { background: #f5f5f5; padding: 0.7rem 0.9rem; border-radius: 4px; font: 0.85rem/1.5 ui-monospace,
  SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; padding-left: 2.4rem; text-indent: -1.5rem; }
pre span { display: block; }
div.spcastat { font-size: 0.92rem; }
div.spcastat > p:first-of-type strong { font-size: 1rem; }
@media (max-width: 40rem) {
  body { font-size: 15px; }
  main { padding: 1rem 0.8rem 2rem; }
  h1 { font-size: 1.3rem; }
  div.spcastat { font-size: 0.85rem; }
  div.spcastat dl { display: block !important; }
  div.spcastat dt { font-weight: 600; margin-top: 0.4rem; }
  table.spcastat th[scope=row], table.spcastat th.stub { position: sticky; left: 0; background: #fff; }
  figure.wide { overflow-x: auto; }
  figure.wide img { max-width: none; }
}
@media print {
  @page { margin: 16mm 14mm; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; margin-top: 1.4rem; }
  figure, tr, pre span { break-inside: avoid; }
  figure img { max-height: 225mm; }
  div.spcastat { overflow: visible !important; font-size: 8.5pt; }
  table.spcastat th, table.spcastat td { padding: 0.05em 0.45em !important; }
  pre { background: none; border: 1px solid #ccc; }
}"""


@dataclass(frozen=True, eq=False)
class Part:
    """A section before those of the fit: a table, and a plot.

    Attributes
    ----------
    heading : str
    html : str
    draw : callable
        Draws on axes given as ``ax=``.
    about : str
        What the plot shows.
    """

    heading: str
    html: str
    draw: Callable[..., Any]
    about: str

    def section(self) -> str:
        """Return the section as HTML."""
        return _section(self.heading, self.html, _picture(lambda ax: self.draw(ax=ax), 4.9, 3.4, self.about))


def write_report(
    state: FitState,
    source: Source | None,
    path: str | PathLike[str],
    title: str | None = None,
    call: str | None = None,
    before: Sequence[Part] = (),
) -> None:
    """Write one HTML page with the tables, the plots, the call and the versions.

    It needs nothing beside itself, reads on a phone and prints.

    Parameters
    ----------
    path : str or path
    title : str, optional
    call : str, optional
        What remakes the fit, instead of `call`.
    before : sequence of Part
        Sections before those of the fit.

    Raises
    ------
    FileError
        Where the file cannot be written.
    OptionError
        For the file that the rows of the fit are read from.
    """
    target = file_path(path)
    if source is not None:
        source.spare(target)
    page = report_page(state, source, title, call, before).encode("utf-8", "xmlcharrefreplace")

    def write(file: IO[bytes]) -> None:
        file.write(page)

    write_file(target, write)


def report_page(
    state: FitState,
    source: Source | None,
    title: str | None = None,
    call: str | None = None,
    before: Sequence[Part] = (),
) -> str:
    """Return the page as text."""
    record = state.record
    title = None if title is None else text("title", title)
    call = None if call is None else text("call", call)
    kind = "Sparse PCA" if record.sparse else "PCA"
    heading = name_text(title) if title else f"{kind} by {record.method}"
    return PAGE.format(
        title=escape(heading),
        style=STYLE,
        version=escape(record.versions.get("spcastat", "")),
        sections="\n".join(
            [*(part.section() for part in before), *_sections(state, source, call or record.call)]
        ),
    )


def _sections(state: FitState, source: Source | None, call: str) -> Iterator[str]:
    in_memory = source is not None and source.has_rows
    yield summarise(state, max_rows=MOST_VARIABLES).as_html()
    yield _section("Equations", _equations(state))
    yield _section("Loadings and variance", _loadings_plot(state), _scree(state))
    if state.trust:
        yield _section("How sure this is", *_sure(state))
    if len(state.components) > 1 and (in_memory or state.scores is not None):
        yield _section("Rows on the components", *_score_plots(state, rows.scores(state, source)))
    yield _section("How the components go together", _together(state), _correlations(state))
    if in_memory:
        yield _section("Rows that the fit does not describe", *_diagnostics(state, source))
    yield _section("How this was made", _made(record=state.record, call=call))


def _section(heading: str, *parts: str) -> str:
    return "\n".join([f"<section>\n<h2>{escape(heading)}</h2>", *parts, "</section>"])


# --- pictures -----------------------------------------------------------------------------------


def _picture(draw: Callable[[Axes], Any], width: float, height: float, alt: str, caption: str = "") -> str:
    """Draw on a figure that pyplot knows nothing of, and return it as a picture within the page."""
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    draw(figure.subplots())
    for points in figure.findobj(PathCollection):
        if isinstance(points, PathCollection) and np.shape(points.get_offsets())[0] > MOST_POINTS:
            points.set_rasterized(True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", dpi=192, metadata={"Date": None, "Creator": None})
    data = base64.b64encode(buffer.getvalue()).decode()
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    css = ' class="wide"' if width > PHONE else ""
    return (
        f'<figure{css}><img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}" '
        f'width="{width * 96:.0f}" height="{height * 96:.0f}">{below}</figure>'
    )


def _loadings_plot(state: FitState) -> str:
    loadings = frames.loadings(state)
    k, shown = loadings.shape[1], len(plots.plot_loadings_data(loadings))
    return _picture(
        lambda ax: plots.plot_loadings(loadings, kind="dots" if k <= 10 else "heatmap", ax=ax),
        float(np.clip(2.2 + 0.8 * k, 4.2, 8.5)),
        1.2 + 0.24 * max(shown, 4),
        "Nonzero loadings of every component",
        "Nonzero loadings; what is not drawn is exactly zero.",
    )


def _sure(state: FitState) -> Iterator[str]:
    """Yield what was resampled: pictures of intervals and frequencies, and all tables."""
    known, loadings = state.trust, frames.loadings(state)
    k, shown = loadings.shape[1], len(plots.plot_loadings_data(loadings))
    width = float(np.clip(2.2 + 1.0 * k, 4.2, 8.5))
    if known.bootstrap is not None:
        intervals = trust.conf_int(state, known.bootstrap)
        yield _picture(
            lambda ax: plots.plot_loadings(loadings, intervals=intervals, ax=ax),
            width,
            1.2 + 0.24 * max(shown, 4),
            "Loadings with bootstrap intervals",
            f"Nonzero loadings with 95 % bootstrap intervals. {UNSAID['interval']}",
        )
        yield render(bootstrap_document(state, known.bootstrap, 0.95), "html")
    if known.stability is not None:
        found = known.stability
        frequency = trust.frequency(state, found)
        rows = len(plots.plot_frequency_data(frequency, loadings))
        yield _picture(
            lambda ax: plots.plot_frequency(frequency, loadings, found.threshold, ax=ax),
            width,
            1.4 + 0.24 * max(rows, 4),
            "How often fits of half of the rows select each variable",
            f"Share of {len(found.chosen)} fits of half of the rows that select each variable; dotted is the "
            f"threshold. {UNSAID['frequency']}",
        )
        yield render(stability_document(state, found), "html")
    if known.split is not None:
        yield render(split_document(state, known.split, 0.95), "html")
    if known.tests is not None:
        yield render(test_document(state, known.tests), "html")


def _scree(state: FitState) -> str:
    if not state.record.sparse:
        what = "Variance of the principal components"
        return _picture(
            lambda ax: plots.screeplot(variance(state), sparse=False, ax=ax), 4.9, 3.0, what, f"{what}."
        )
    return _picture(
        lambda ax: plots.screeplot(variance(state), ax=ax),
        4.9,
        3.0,
        "Variance of the sparse components and of dense principal components",
        "Adjusted variance of the sparse components (what each adds to those before it) beside the variance "
        "of the dense principal components.",
    )


def _score_plots(state: FitState, scores: pd.DataFrame) -> Iterator[str]:
    spread = scores.std().to_numpy()
    if (spread[:2] > 0).all():
        shares = variance(state)["share of total"]
        yield _picture(
            lambda ax: plots.biplot(scores, frames.loadings(state), shares=shares, ax=ax),
            5.0,
            4.8,
            "Biplot of the first two components",
            "Points are rows, arrows the variables with a nonzero loading on either component; those on one "
            "alone are listed at the ends of the axes.",
        )
    if scores.shape[1] > 2:
        size = {3: 4.8, 4: 6.0}.get(scores.shape[1], 7.0)
        yield _picture(
            lambda ax: plots.plot_scores(scores, ax=ax),
            size,
            size,
            "Scores of every pair of the first components",
            "Scores of every pair of components, at most the first five, and their correlation r.",
        )


def _diagnostics(state: FitState, source: Source | None) -> Iterator[str]:
    limits = frames.limits(state)
    found = rows.diagnostics(state, source)
    known = [name for name in ("T2", "Q") if np.isfinite(limits[name])]
    beyond = [f"{int((found[name] > limits[name]).sum())} exceed that of {name}" for name in known]
    yield _picture(
        lambda ax: plots.plot_diagnostics(found, limits, ax=ax),
        5.0,
        3.9,
        "Squared residual of every row against its Hotelling T2",
        f"Limits that 95 % of new rows would stay below if rows were normal: of {len(found)} rows, "
        f"{' and '.join(beyond) or 'none can be judged'}.",
    )


# --- tables -------------------------------------------------------------------------------------


def _html(table: Table) -> str:
    return render(Document("", tables=(table,)), "html")


def _equations(state: FitState) -> str:
    lines = equations(state, max_terms=MOST_TERMS, width=100_000).splitlines()
    standard = state.standard
    centred = standard is None or standard.centring != "none"
    scaled = standard is not None and standard.scaling != "none"
    about = " and ".join(["centred"] * centred + ["scaled"] * scaled)
    note = f"<p>In the {about + ' ' if about else ''}variables; zero terms are left out.</p>"
    return note + "<pre>" + "".join(f"<span>{escape(line)}</span>" for line in lines) + "</pre>"


def _together(state: FitState) -> str:
    shares, correlation = frames.component_shares(state), frames.score_correlation(state)
    names = tuple(full_names(state.components))
    lines = [
        Row(label, tuple(percent(share) for share in shares[column]), "Least-squares % of total variance")
        for column, label in (
            ("alone", "alone"),
            ("average", "average over orders"),
            ("last", "lost if left out"),
        )
        if shares[column].notna().any()
    ]
    lines += [
        Row(name, tuple(fixed(r, 2) for r in line), "Correlation of scores")
        for name, line in zip(names, correlation.to_numpy().tolist(), strict=True)
    ]
    return _html(Table("Component", names, tuple(lines)))


def _correlations(state: FitState) -> str:
    """Return the correlations of the variables that have a loading, the leading ones if they are many."""
    kept = leading(state.V, MOST_VARIABLES)
    values = frames.correlations(state).iloc[kept]
    labels = full_names(values.index)
    cells = zip(labels, values.to_numpy().tolist(), frames.communalities(state).iloc[kept], strict=True)
    lines = tuple(Row(label, (*(fixed(r, 2) for r in line), fixed(h, 2))) for label, line, h in cells)
    note = (
        "Correlations of variables with scores; the communality is the share of a variable's variance that "
        "regression on all scores explains."
    )
    if len(kept) < len(state.V):
        note += f" {len(kept)} of {len(state.V)} variables are shown, those that lead on a component."
    headings = (*full_names(state.components), "communality")
    return _html(Table("Correlation", headings, lines, notes=(note,)))


def _made(record: Record, call: str) -> str:
    code = "" if call.startswith("spcastat ") else "import spcastat as sp\nfit = sp."
    lines = f"{code}{call}".splitlines()
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    options = ", ".join(f"{name}={value!r}" for name, value in record.options.items() if value is not None)
    return (
        "<pre>" + "".join(f"<span>{escape(line)}</span>" for line in lines) + "</pre>\n"
        f"<p>Options of {escape(record.method)}: {escape(options) or 'none'}.</p>\n"
        f"<p>Versions: {escape(versions)}.</p>"
    )
