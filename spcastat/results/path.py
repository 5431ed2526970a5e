"""Fits along a range of cardinalities, the result of `spca_path`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Generic, TypeVar

import pandas as pd

from spcastat import plots
from spcastat.config import elements, is_whole, listed, nearest, plural, shown
from spcastat.errors import CardinalityError
from spcastat.measures import MEASURES, measures_of
from spcastat.report.summary import Summary, describe_data
from spcastat.results.delegation import attribute
from spcastat.results.plotted import drawn
from spcastat.results.result import SpcaResult
from spcastat.state.component_frames import facts
from spcastat.state.support_rule import rule_words
from spcastat.tables import Document, Row, Table
from spcastat.tables.grid import fixed, percent

#: The types of the requested values and of the fits.
Key = TypeVar("Key")
Fit = TypeVar("Fit")
#: The measures in the table.
SHOWN = measures_of("total", "pca")
#: The default of the parameter `measures`.
MAXIMISED = "By default the one that the search maximised, or the adjusted variance."


class FitPath(Summary, Generic[Key, Fit]):
    """Fits by requested value, with a table; `frames` has the table under "path"."""

    def __init__(self, fits: Mapping[Key, Fit], table: pd.DataFrame, document: Document):
        self._fits, self._table = dict(fits), table
        super().__init__(document, {"path": table})

    @property
    def fits(self) -> dict[Key, Fit]:
        """The fits by requested value: a cardinality (a tuple if components differ), or a penalty."""
        return dict(self._fits)

    table: pd.DataFrame = attribute(
        "_table", "One row per fit; the docstring of the class lists the columns."
    )

    def __iter__(self) -> Iterator[Key]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)


class SpcaPath(FitPath[Any, SpcaResult]):
    """Fits of the same data by one method, in ascending order of nonzeros.

    ``path[7]`` is short for ``path.fits[7]``; `frames` has the table under "path". The columns of `table` are
    "card", "nonzeros", all measures, "pca" (the share of dense PCA with as many components), "objective",
    "score_correlation" and "converged".
    """

    def __init__(self, fits: dict[Any, SpcaResult]):
        table = pd.DataFrame([_row(card, fit) for card, fit in fits.items()])
        super().__init__(fits, table, _document(table, next(iter(fits.values()))))

    def __getitem__(self, card: Any) -> SpcaResult:
        key = tuple(elements(card, len(self))) if isinstance(card, (list, tuple)) else card
        if not all(map(is_whole, key if isinstance(key, tuple) else [key])) or key not in self._fits:
            raise CardinalityError(
                f"The path has no fit with card={shown(card)}; it has {listed(self._fits, 20)}."
                f"{nearest(shown(key), self._fits)}"
            )
        return self._fits[key]

    @drawn(plots.plot_path, "table", measures=MAXIMISED)
    def plot(self, *, measures: str | Sequence[str] | None = None) -> Any:
        if measures is None:
            first = next(iter(self._fits.values()))
            options = first.options
            searched = first.method == "joint" or options.get("search") == "joint"
            maximised = options.get("objective") if searched else None
            measures = maximised if maximised in MEASURES else "adjusted"
        return {"table": self.table, "measures": measures}

    plot_data = plot.data

    def explore(self, path: str | PathLike[str], *, title: str | None = None, max_rows: int = 1000) -> None:
        """Write an interactive page with a slider for the cardinality.

        Loadings, variances, the biplot, the equations and the curve of explained variance follow the slider.
        A position can be pinned for comparison, and a button copies the call of the fit. The page is one file
        that needs no server and no network, so that it can be sent to readers without Python. It contains
        loadings, scores and labels of rows and variables, but not the data.

        Parameters
        ----------
        path : str or path
            Path of the file, such as "wine.html", with the suffix .html, .htm or none. An existing file is
            replaced only after the new one is complete.
        title : str, optional
            By default the title of the printout.
        max_rows : int
            Largest number of rows to draw. If there are more, this many equally spaced rows are drawn, and
            the page says so. With 0, the page has no scores and no row labels. Rows not in memory are not
            drawn.

        Raises
        ------
        FileError
            If the file cannot be written, or has another suffix.
        OptionError
            If `path` is not a path or is the file from which the rows are read, `title` is not text, or
            `max_rows` is negative.

        Examples
        --------
        >>> import spcastat as sp
        >>> path = sp.spca_path(sp.datasets.pitprops_sample(), k=2, cards=[3, 5], scale=True)
        >>> path.explore("pitprops.html")  # doctest: +SKIP
        """
        from spcastat.report.explorer import Position, write_explorer  # imported late, as few paths need it

        positions = [Position(card, fit._state, fit._source) for card, fit in self._fits.items()]
        write_explorer(path, positions, self._table, self._document, title, max_rows)


def _row(card: Any, fit: SpcaResult) -> dict[str, Any]:
    known = facts(fit._state)
    return {
        "card": card,
        **{name: known[name] for name in ("nonzeros", *MEASURES)},
        "pca": float(fit.variance["cumulative PCA"].iloc[-1]),
        **{name: known[name] for name in ("objective", "score_correlation", "converged")},
    }


def _document(table: pd.DataFrame, first: SpcaResult) -> Document:
    record = first._state.record
    several = record.k > 1
    rows = []
    for line in table.to_dict("records"):
        card = line["card"]
        label = ", ".join(map(str, card)) if isinstance(card, tuple) else str(card)
        cells = [str(line["nonzeros"]), *(percent(line[one.name]) for one in SHOWN), percent(line["pca"])]
        rows.append(Row(label, tuple(cells + [fixed(line["score_correlation"], 2)] * several)))
    components = plural(record.k, "component")
    headings = ["Nonzeros", *(one.short for one in SHOWN), "PCA", *["|r|"] * several]
    notes = [_key(several)]
    if not table["converged"].all():
        missed = table.loc[~table["converged"], "card"]
        notes.append(f"Stopped at max_iter before it converged: card {listed(missed)}.")
    header = [("Method", f"{record.method}: {record.title}; {record.paper}"), ("Data", describe_data(record))]
    if words := rule_words(first._state):
        header.append(("Rule", words))
    title = f"Path of {plural(len(table), 'fit')} with {components}"
    tables = (Table("card", tuple(headings), tuple(rows)),)
    return Document(title, tuple(header), tables, tuple(notes))


def _key(several: bool) -> str:
    """Return the explanation of the headings."""
    totals = [one for one in SHOWN if one.of == "total"]
    names = [one.label if one.short == one.label else f"{one.short} ({one.label})" for one in totals]
    text = f"{', '.join(names)} and PCA (dense): % of the total variance."
    text = text[0].upper() + text[1:]
    for one in SHOWN:
        if one.of == "pca":
            text += f" {one.short[0].upper()}{one.short[1:]}: {one.note}."
    return text + " |r|: largest correlation of two scores." * several
