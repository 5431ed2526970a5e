"""Reports: chapters of tables, figures and text, as one HTML page or a Word document."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.arguments import flag, plural, require_extra, text, whole_number
from spcastat.fit import frames, rows
from spcastat.fit.archive import file_path, write_bytes
from spcastat.fit.outliers import cleaning_of
from spcastat.fit.record import Record
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data
from spcastat.labels import full_names, name_text, short_name
from spcastat.show import facts, resampling_tables
from spcastat.show.grid import (
    DIGITS,
    Chapter,
    Content,
    Document,
    Layout,
    Lines,
    Picture,
    Row,
    Table,
    VariableArrangement,
    fixed,
    number_rows,
    percent,
)
from spcastat.show.html import TABLE_STYLE, content
from spcastat.show.methods_text import Description, describe, equations, in_short
from spcastat.show.outlier_tables import map_picture, outliers_document
from spcastat.show.resampling_templates import FREQUENCY_LABEL, intervals_label
from spcastat.show.summary import summarise
from spcastat.show.templates import fact, notes, part

if TYPE_CHECKING:
    pass

#: The largest number of terms written for an equation.
EQUATION_TERMS = 20


def chapter_of(
    heading: str, document: Document, draw: Callable[..., Any], about: str, caption: str
) -> Chapter:
    """Return a chapter of tables and one plot; `draw` receives the axes as ``ax=``."""
    name = heading.lower().replace(" ", "-")
    return Chapter(heading, (document, Picture(lambda ax: draw(ax=ax), 4.9, 3.4, name, about, caption)))


def chapters(
    state: FitState,
    source: Data | None,
    call: str,
    arrangement: VariableArrangement,
    digits: int = DIGITS,
    row_groups: Any = None,
    of_choice: Sequence[Chapter] = (),
) -> Iterator[Chapter]:
    """Yield the chapters of a fit's report; `arrangement` and `digits` are for its tables of variables.

    The loadings come first, then figures, the choice of the numbers of components and loadings
    (`of_choice`), and the computation of the fit.
    """
    in_memory = source is not None and source.holds_scores
    summary = summarise(state, digits=digits, arrangement=arrangement, uncertainty=False)._document()
    yield first_chapter(state, summary)
    loadings = loadings_picture(state, arrangement.groups)
    yield Chapter("Loadings and variance", (loadings, scree_picture(state)))
    if state.inference.is_resampled:
        yield Chapter("Uncertainty", tuple(sure_parts(state)))
    if len(state.components) > 1 and (in_memory or state.scores is not None):
        pictures = score_pictures(state, rows.scores(state, source), row_groups)
        yield Chapter("Score plots", tuple(pictures))
    yield Chapter(
        "Overlap and correlations", (shares_and_correlations(state), correlations(state, arrangement))
    )
    if state.cleaning is not None:
        yield Chapter("Outlying cells and rows", tuple(outlying_parts(state, source)))
    if in_memory:
        yield Chapter("Outliers", (diagnostics_picture(state, source),))
    lines = equations(state, max_terms=EQUATION_TERMS, width=100_000).splitlines()
    yield Chapter("Equations", (Lines(tuple(lines), "Zero terms are left out."),))
    yield from of_choice
    description = describe(state)
    yield Chapter("For a methods section", (methods(description),))
    yield last_chapter(state, summary, call)
    yield Chapter("References as BibTeX", (bibtex(description),))


def first_chapter(state: FitState, summary: Document) -> Chapter:
    """Return a few sentences on the fit, and the tables of the summary."""
    return Chapter("Summary", (Lines((), in_short(state)), replace(summary, title="", facts=())))


def last_chapter(state: FitState, summary: Document, call: str) -> Chapter:
    """Return the header of the summary, the call that made the fit, and the versions."""
    return Chapter(
        "How it was fitted", (Document(summary.title, summary.facts), provenance(state.record, call))
    )


def notes_once(parts: Iterable[Chapter]) -> Iterator[Chapter]:
    """Yield chapters without the notes that are already in an earlier document."""
    notes_seen: set[str] = set()
    for chapter in parts:
        contents: list[Content] = []
        for content_part in chapter.parts:
            if isinstance(content_part, Document):
                unseen = tuple(note for note in content_part.notes if note not in notes_seen)
                content_part = replace(content_part, notes=unseen)
                notes_seen.update(content_part.all_notes)
            contents.append(content_part)
        yield replace(chapter, parts=tuple(contents))


def methods(description: Description) -> Lines:
    """Return the paragraph for a methods section with its references."""
    return Lines((), description.text, description.references)


def bibtex(description: Description) -> Lines:
    """Return the references of the paragraph as BibTeX."""
    return Lines(tuple(description.bibtex.splitlines()))


def provenance(record: Record, call: str) -> Lines:
    """Return the call that made the fit, its options, and the versions of the packages."""
    code = "" if call.startswith("spcastat ") else "import spcastat as sp\nfit = sp."
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    options = ", ".join(f"{name}={value!r}" for name, value in record.options.items() if value is not None)
    remarks = (f"Options of {record.method}: {options or 'none'}.", f"Versions: {versions}.")
    return Lines(tuple(f"{code}{call}".splitlines()), tail=remarks)


def shares_and_correlations(state: FitState) -> Document:
    """Return the variance that each component explains, alone and given others, and score correlations."""
    shares, correlation = frames.component_shares(state), frames.score_correlation(state)
    names, total = tuple(full_names(state.components)), part(facts.total_variance(state))
    lines = [
        Row(label, tuple(map(percent, shares[column])), f"Least-squares % of {total}")
        for column, label in {
            "alone": "alone",
            "average": "average over orders",
            "last": "lost if left out",
        }.items()
        if shares[column].notna().any()
    ]
    lines += number_rows(correlation, 2, ["Correlation of scores"] * len(names))
    caption = "Variance explained by each component, and correlations of their scores"
    return Document("", tables=(Table("Component", names, tuple(lines)),), caption=caption)


def correlations(state: FitState, arrangement: VariableArrangement) -> Document:
    """Return the correlations of the variables with the scores, in the order of the table of loadings."""
    selection, groups = arrangement.rows(state.V, state.spec.columns)
    values = frames.correlations(state)
    values["communality"] = frames.communalities(state)
    lines = number_rows(values.iloc[selection], 2, groups)
    note = (
        "Correlations of variables with scores; the communality is the share of a variable's variance that "
        "regression on all scores explains."
    )
    if len(selection) < len(state.V):
        note += f" {len(selection)} of {len(state.V)} variables are shown, those of the table of loadings."
    headings = (*full_names(state.components), "communality")
    table = Table("Correlation", headings, lines, notes=(note,))
    return Document("", tables=(table,), caption="Correlations of variables with scores")


# --- figures with text alternatives; pages contain them as SVG, each with a link to save it ---------


#: The largest number of components that a text alternative describes.
MOST_NAMED = 5
#: Characters that need no escape in a data URL within double quotes.
URL_CHARACTERS = " =/:;,()-_.!*+@$?[]{}|^"


def picture_html(picture: Picture) -> str:
    """Return the HTML of a picture with a link to save it."""
    address = svg_address(picture.saved("svg", 192).decode())
    name, caption = picture.name, f"{escape(picture.caption)}<br>" if picture.caption else ""
    label = escape(name.replace("-", " "))
    on_phones = picture.for_phones()
    figure, region = "<figure>", '<div class="plot">'
    if on_phones is not None:
        drawn_again = svg_address(on_phones.saved("svg", 192).decode())
        images = _image(picture, address, "on-screens") + _image(on_phones, drawn_again, "on-phones")
    else:
        images = _image(picture, address)
        if picture.width > 5.0:  # scrolls on a phone, so that text stays legible
            figure = '<figure class="wide">'
            region = f'<div class="scroll plot" role="region" tabindex="0" aria-label="Figure: {label}">'
    return (
        f"{figure}{region}{images}</div>"
        f'<figcaption>{caption}<a class="save" href="{address}" download="{escape(name)}.svg">Save as SVG'
        f'<span class="unseen">: {label}</span></a></figcaption></figure>'
    )


def _image(picture: Picture, address: str, devices: str = "") -> str:
    """Return the element of an image; `devices` is a class for images that only some devices show."""
    of_devices = f' class="{devices}"' if devices else ""
    size = f'width="{picture.width * 96:.0f}" height="{picture.height * 96:.0f}"'
    return f'<img{of_devices} src="{address}" alt="{escape(picture.alt)}" {size}>'


def svg_address(svg: str) -> str:
    """Return an SVG as a data URL, its coordinates rounded to 0.01 points and metadata removed."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
    rounded = partial(re.sub, r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}")
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: rounded(path[0]), svg)
    svg = re.sub(r'(?<= [xy]=")-?\d+\.\d+(?=")', lambda number: rounded(number[0]), svg)
    svg = re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", svg))
    svg = svg.replace("'", "&apos;").replace('"', "'")
    return "data:image/svg+xml," + quote(svg, safe=URL_CHARACTERS + "'")


# --- the figures ----------------------------------------------------------------------------------


def loadings_picture(state: FitState, sections: Any = None) -> Picture:
    """Return the figure of nonzero loadings; `sections` is passed to `plot_loadings`."""
    loadings = frames.loadings(state)
    data = plots.plot_loadings_data(loadings, sections=sections)
    return Picture(
        lambda ax: plots.plot_loadings(loadings, sections=sections, ax=ax),
        *plots.inches_of(data),
        "loadings",
        f"Nonzero loadings of every component. {_leaders(loadings)}",
        "Nonzero loadings; all others are exactly zero.",
        plots.inches_in_one_column(data),
    )


def _leaders(loadings: pd.DataFrame) -> str:
    """Return a sentence with the number of nonzeros of each component, and its largest loading."""
    parts = []
    for name in loadings.columns[:MOST_NAMED]:
        column = loadings[name].to_numpy(dtype=float)
        largest = int(np.argmax(np.abs(column)))
        count = plural(int((column != 0).sum()), "nonzero")
        leader = f", the largest {fixed(column[largest], 2)} of {short_name(loadings.index[largest])}"
        parts.append(f"{short_name(name)} has {count}{leader if column.any() else ''}")
    remainder = loadings.shape[1] - len(parts)
    return "; ".join(parts) + (f"; {remainder} more are in the table" if remainder else "") + "."


def sure_parts(state: FitState) -> Iterator[Picture | Document]:
    """Yield the results of resampling: figures of intervals and selection frequencies, and tables."""
    results, loadings = state.inference, frames.loadings(state)
    if results.bootstrap is not None:
        intervals = frames.conf_int(state, results.bootstrap)
        if frames.has_intervals(results.bootstrap):
            data = plots.plot_loadings_data(loadings, intervals=intervals)
            label = intervals_label(0.95, results.bootstrap.draws)
            yield Picture(
                lambda ax: plots.plot_loadings(loadings, intervals=intervals, label=label, ax=ax),
                *plots.inches_of(data),
                "intervals",
                "Loadings with bootstrap intervals; the table below gives the numbers.",
                "Nonzero loadings with 95 % bootstrap intervals.",
                plots.inches_in_one_column(data),
            )
        yield resampling_tables.bootstrap_document(state, results.bootstrap, 0.95)
    if results.stability is not None:
        halves = results.stability
        options: dict[str, Any] = {"selected": loadings, "threshold": halves.threshold}
        frequent = frames.frequent(state, halves)
        data = plots.plot_loadings_data(frequent, **options)
        yield Picture(
            lambda ax: plots.plot_loadings(frequent, label=FREQUENCY_LABEL, ax=ax, **options),
            *plots.inches_of(data),
            "frequency",
            "How often fits to half of the rows select each variable; the table below gives the shares.",
            f"Share of {len(halves.chosen)} fits to half of the rows that select each variable; dotted line: "
            f"threshold. {next(notes([fact('frequency')]))}",
            plots.inches_in_one_column(data),
        )
        yield resampling_tables.stability_document(state, halves)
    if results.split is not None:
        yield resampling_tables.split_document(state, results.split, 0.95)
    if results.tests is not None:
        yield resampling_tables.test_document(state, results.tests)


def scree_picture(state: FitState) -> Picture:
    """Return the figure of the variances of the components, next to the variances of dense components."""
    table, kind = facts.drawn_variances(state), "sparse " * state.record.sparse
    dense = f"{percent(table['cumulative PCA'].iloc[-1])} %"
    sparse = facts.enumeration(map(percent, table["share of total"].tolist()[:MOST_NAMED]))
    alt = (
        f"Adjusted variance of the {kind}components, {sparse} % of the total, next to the variance of the "
        f"dense principal components, in all {dense} of the total."
    )
    caption = (
        f"Adjusted variance of the {kind}components (what each adds to the earlier ones) next to the "
        "variance of the dense principal components."
    )
    if state.record.is_pca:
        caption = "Variance of the principal components."
        alt = f"{caption[:-1]}, which have {dense} of the total together."
    draw = partial(plots.screeplot, table, sparse=not state.record.is_pca)
    return Picture(lambda ax: draw(ax=ax), 4.9, 3.0, "scree", alt, caption)


def score_pictures(state: FitState, scores: pd.DataFrame, groups: Any = None) -> Iterator[Picture]:
    """Yield the biplot and, with three or more components, all pairs of scores; `groups` of the rows."""
    spread = scores.std().to_numpy()
    count = plural(len(scores), "row")
    if (spread[:2] > 0).all():
        shares = facts.drawn_shares(state)
        first_name, second_name = (short_name(name) for name in scores.columns[:2])
        r = float(np.corrcoef(scores.iloc[:, 0], scores.iloc[:, 1])[0, 1])
        data = plots.biplot_data(scores, frames.loadings(state), shares=shares, groups=groups)
        yield Picture(
            lambda ax: plots.biplot(
                scores, frames.loadings(state), shares=shares, groups=groups, note=False, ax=ax
            ),
            5.6,
            5.4,
            "biplot",
            f"Biplot of {count} on {first_name} and {second_name}, whose scores have the correlation "
            f"{fixed(r, 2)}; the table of correlations shows their association with the variables.",
            data.caption,
            5.2,
        )
    if scores.shape[1] > 2:
        size = {3: 4.8, 4: 6.0}.get(scores.shape[1], 7.0)
        yield Picture(
            lambda ax: plots.plot_scores(scores, groups=groups, ax=ax),
            size,
            size,
            "scores",
            f"Scores of {count} for every pair of the first {min(scores.shape[1], 5)} components; the next "
            "table gives their correlations.",
            "Scores of every pair of components, at most the first five, and their correlation r.",
        )


def outlying_parts(state: FitState, source: Data | None) -> Iterator[Document | Picture]:
    """Yield the table of outlying cells and rows of a robust fit, and their map if there are any."""
    yield outliers_document(state)
    cleaning = cleaning_of(state)
    if len(cleaning.places) or not cleaning.kept.all():
        yield map_picture(state, source)


def diagnostics_picture(state: FitState, source: Data | None) -> Picture:
    """Return the figure of the squared residual of each row against its T2."""
    limits = frames.limits(state)
    distances = rows.diagnostics(state, source)
    finite_limits = [name for name in ("T2", "Q") if np.isfinite(limits[name])]
    counts = [int((distances[name] > limits[name]).sum()) for name in finite_limits]
    exceedances = [
        f"{count} {'exceeds' if count == 1 else 'exceed'} the limit of {name}"
        for count, name in zip(counts, finite_limits, strict=True)
    ]
    counted = f"Of {len(distances)} rows, {' and '.join(exceedances) or 'none can be compared with a limit'}."
    farthest = short_name(distances["Q"].idxmax())
    return Picture(
        lambda ax: plots.plot_diagnostics(distances, limits, ax=ax),
        5.0,
        3.9,
        "diagnostics",
        f"Squared residual Q of every row against its Hotelling T2. {counted} Row {farthest} has the "
        "largest Q.",
        f"Dashed lines: limits for 95 % of {limits.attrs.get('rows', 'new rows')} if rows are multivariate "
        f"normal. {counted}",
    )


# --- the HTML page --------------------------------------------------------------------------------


#: Extensions that the name of a page may have.
PAGE_ENDINGS = ("", ".html", ".htm")
#: Extension of a file for Word.
WORD_ENDING = ".docx"
#: Scripts, forms and external addresses are forbidden, in case text is not escaped correctly.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def asset(name: str) -> str:
    """Return the text of a file in ``spcastat/show/assets``."""
    return (files("spcastat.show") / "assets" / name).read_text(encoding="utf-8").strip()


def page_of(title: str, version: str, kind: str, body: str, script: str = "") -> str:
    """Return a page.

    Parameters
    ----------
    title, version : str
        The title as plain text, which is escaped here, and the version of the package.
    kind : {"indexed", "explorer"}
        The class of the body; an explorer has a style sheet of its own.
    body : str
        Inserted without escaping, like the script.
    script : str
        The only script that may run.
    """
    tables = re.sub(r"</?style>", "", TABLE_STYLE).strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (asset("page.html") + "\n").format(
        policy=escape(POLICY + f"; script-src 'sha256-{digest}'" * bool(script)),
        version=escape(version),
        title=escape(name_text(title)),
        style="\n".join([tables, asset("page.css"), *[asset("explorer.css")] * (kind == "explorer")]),
        kind=kind,
        body=body,
    )


def chapters_page(title: str, version: str, chapters: Iterable[Chapter]) -> str:
    """Return chapters as an HTML page with an index."""
    chapters = list(chapters)
    entries, parts = [], []
    for slug, chapter in zip(_slugs(chapter.heading for chapter in chapters), chapters, strict=True):
        heading, inner = escape(chapter.heading), "\n".join(map(_html, chapter.parts))
        entries.append(f'<li><a href="#{slug}">{heading}</a></li>')
        parts.append(
            f'<section aria-labelledby="{slug}">\n<h2 id="{slug}">{heading}</h2>\n{inner}\n</section>'
        )
    lines = (
        '<a class="skip" href="#content">To the content</a>',
        f"<header>\n<h1>{escape(name_text(title))}</h1>\n</header>",
        '<nav aria-labelledby="index">\n<h2 id="index">On this page</h2>\n<ol>',
        *entries,
        "</ol>\n</nav>",
        '<main id="content" tabindex="-1">',
        *parts,
        "</main>",
        f"<footer><p>Made by spcastat {escape(version)}. This page needs no other files.</p></footer>",
    )
    return page_of(title, version, "indexed", "\n".join(lines))


def _slugs(headings: Iterable[str]) -> Iterable[str]:
    counts: dict[str, int] = {}
    for heading in headings:
        slug = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") or "section"
        counts[slug] = counts.get(slug, 0) + 1
        yield slug if counts[slug] == 1 else f"{slug}-{counts[slug]}"


# --- parts of the page ---------------------------------------------------------------------------


def _html(part: Content) -> str:
    """Return a part of a chapter as HTML."""
    if isinstance(part, Picture):
        return picture_html(part)
    if isinstance(part, Lines):
        lead = f"<p>{escape(part.lead)}</p>" if part.lead else ""
        tail = "".join(f"\n<p>{escape(text)}</p>" for text in part.tail)
        lines = "".join(f"<span>{escape(line)}</span>" for line in part.lines)
        return f"{lead}{f'<pre>{lines}</pre>' if lines else ''}{tail}"
    return "\n".join(content(part, framed=True))


# --- files ----------------------------------------------------------------------------------------


def write_report(
    state: FitState,
    source: Data | None,
    of_choice: Sequence[Chapter],
    path: str | PathLike[str],
    *,
    title: str | None,
    call: str | None,
    full_names: bool,
    arrangement: VariableArrangement,
    digits: int,
    row_groups: Any,
) -> None:
    """Write a report with tables, plots, the call and the versions, as one HTML page or a Word file.

    The page is self-contained, has no scripts, works on phones, in dark mode, with screen readers and in
    print, and offers each figure as SVG. A Word file has native tables, whose headers are repeated on every
    page, and figures of 300 dpi with captions and text alternatives.

    Parameters
    ----------
    state : FitState
    source : Data or None
    of_choice : sequence of Chapter
        Chapters on how the numbers of components and of nonzeros were chosen.
    path : str or path
        A name with the extension .html or .htm for a page, or .docx for Word, which needs an optional
        dependency: ``pip install 'spcastat[docx]'``.
    title : str, optional
    call : str, optional
        The code that reproduces the fit; by default the recorded `call`.
    full_names : bool
        Whether the tables show long names in full; otherwise names are shortened, with a key.
    arrangement : Arrangement
        Which variables the tables show, and in which order. Its groups are also used in the figure of the
        loadings.
    digits : int
        Decimals of the loadings.
    row_groups : Series, Categorical or array of length n, optional
        Groups of rows, for colours and markers in the figures, like `groups` of a biplot.

    Raises
    ------
    FileError
        If the file cannot be written, or its name has another extension.
    ExtraError
        If a Word file is requested and python-docx is not installed.
    OptionError
        If `path` is the file from which the rows of the fit are read.
    """
    digits = whole_number("digits", digits, 0, 10)
    record = state.record
    call = None if call is None else text("call", call)
    kind = "Sparse principal component analysis" if record.sparse else "Principal component analysis"
    heading = f"{kind}{'' if record.paper == facts.OURS else f' by the method {record.method}'}"
    chapters_of_fit = notes_once(
        chapters(state, source, call or record.call, arrangement, digits, row_groups, of_choice)
    )
    title = heading if title is None else text("title", title) or heading
    write_chapters(path, title, record.versions, source, chapters_of_fit, full_names)


def write_chapters(
    path: str | PathLike[str],
    title: str,
    versions: Mapping[str, str],
    source: Data | None,
    parts: Iterable[Chapter],
    full_names: bool = True,
) -> None:
    """Write chapters as one HTML page or a Word file, depending on the extension of `path`.

    Parameters
    ----------
    path : str or path
    title : str
    versions : mapping
        Versions of the packages.
    source : Data or None
        The data, whose files are not overwritten.
    parts : iterable of Chapter
    full_names : bool
        Whether the tables show long names in full.
    """
    target = file_path(path, (*filter(None, PAGE_ENDINGS), WORD_ENDING))
    if source is not None:
        source.spare(target)
    is_word = target.suffix.lower() == WORD_ENDING
    if is_word:
        require_extra("docx", "docx", "report() for Word", "python-docx")
    full_names = flag("full_names", full_names)
    parts = list(parts)
    if not full_names:
        layout = Layout(full_names=False)
        for place, chapter in enumerate(parts):
            short = (layout.of(part) if isinstance(part, Document) else part for part in chapter.parts)
            parts[place] = replace(chapter, parts=tuple(short))
    if is_word:
        from spcastat.show import word

        word.write_chapters(target, title, parts)
    else:
        page = chapters_page(title, versions.get("spcastat", ""), parts)
        write_bytes(target, page.encode("utf-8", "xmlcharrefreplace"))
