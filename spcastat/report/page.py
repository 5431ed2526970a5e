"""A fit as one HTML page that needs nothing beside itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import IO, Any

from spcastat.config import text
from spcastat.engine.inputs import Source
from spcastat.report.page_tables import (
    MOST_VARIABLES,
    correlations_html,
    document_html,
    equations_html,
    made_html,
    together_html,
)
from spcastat.report.pictures import (
    diagnostics_picture,
    loadings_picture,
    picture,
    score_pictures,
    scree_picture,
    sure_parts,
)
from spcastat.report.skeleton import Section, page_of
from spcastat.report.summary import Summary, summarise
from spcastat.state import FitState, rows
from spcastat.storage.atomic import file_path, write_file


@dataclass(frozen=True, eq=False)
class Part:
    """A section before those of the fit: a table, and a plot.

    Attributes
    ----------
    heading : str
    summary : Summary
        Whose tables are shown.
    draw : callable
        Draws on axes given as ``ax=``.
    about : str
        What the plot shows.
    """

    heading: str
    summary: Summary
    draw: Callable[..., Any]
    about: str

    def section(self) -> Section:
        """Return the section."""
        name = self.heading.lower().replace(" ", "-")
        drawn = picture(lambda ax: self.draw(ax=ax), 4.9, 3.4, name, self.about)
        return Section(self.heading, (document_html(self.summary.document), drawn))


def write_report(
    state: FitState,
    source: Source | None,
    path: str | PathLike[str],
    title: str | None = None,
    call: str | None = None,
    before: Sequence[Part] = (),
) -> None:
    """Write one HTML page with the tables, the plots, the call and the versions.

    It needs nothing beside itself, runs nothing, reads on a phone, in the dark and by a screen reader,
    prints, and gives each of its figures as SVG.

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
    write_page(target, report_page(state, source, title, call, before))


def write_page(target: PathLike[str], page: str) -> None:
    """Write a page whole, or leave what was there."""
    encoded = page.encode("utf-8", "xmlcharrefreplace")

    def write(file: IO[bytes]) -> None:
        file.write(encoded)

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
    sections = [*(part.section() for part in before), *_sections(state, source, call or record.call)]
    return page_of(title or f"{kind} by {record.method}", record.versions.get("spcastat", ""), sections)


def _sections(state: FitState, source: Source | None, call: str) -> Iterator[Section]:
    in_memory = source is not None and source.has_rows
    yield Section("Summary", (document_html(summarise(state, max_rows=MOST_VARIABLES).document),))
    yield Section("Equations", (equations_html(state),))
    yield Section("Loadings and variance", (loadings_picture(state), scree_picture(state)))
    if state.trust:
        yield Section("How sure this is", tuple(sure_parts(state, document_html)))
    if len(state.components) > 1 and (in_memory or state.scores is not None):
        drawn = score_pictures(state, rows.scores(state, source))
        yield Section("Rows on the components", tuple(drawn))
    yield Section("How the components go together", (together_html(state), correlations_html(state)))
    if in_memory:
        yield Section("Rows that the fit does not describe", (diagnostics_picture(state, source),))
    yield Section("How this was made", (made_html(state.record, call),))
