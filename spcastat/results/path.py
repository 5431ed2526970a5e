"""Fits along a range of cardinalities, the result of `spca_path`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from spcastat import plots
from spcastat.arguments import elements, is_whole, listed, nearest, plural, shown
from spcastat.errors import CardinalityError
from spcastat.fit import frames
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState, rule_words
from spcastat.measures import MEASURES, measures_of
from spcastat.results.fit import SpcaResult
from spcastat.show import facts
from spcastat.show.grid import Document, Row, Table, fixed, percent
from spcastat.show.renderings import Outcome, Screen
from spcastat.show.templates import lines, part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.hints import MeasureName, Path

#: The measures in the table.
PATH_MEASURES = measures_of("total", "pca")


class SpcaPath(Outcome):
    """Fits of the same data by one method, in ascending order of nonzeros; the result of `spca_path`.

    ``path[7]`` is the fit with seven nonzeros in each component, and ``path[(7, 4, 4)]`` a fit with unequal
    cardinalities. A path prints as its table, and shows as HTML in a notebook.
    """

    _short_name = "path"

    def __init__(self, fits: dict[int | tuple[int, ...], SpcaResult]) -> None:
        self._fits = dict(fits)
        self._table = pd.DataFrame([_row(card, fit) for card, fit in fits.items()])

    def _document(self) -> Document:
        return _document(self._table, self._first_fit)

    def _screen(self) -> Screen:
        return replace(super()._screen(), sentences=(_key(self._first_fit._state),))

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """A dictionary that contains `table` as "path"."""
        return {"path": self.table}

    @property
    def fits(self) -> dict[int | tuple[int, ...], SpcaResult]:
        """The fits by cardinality: a number, or a tuple if the components differ."""
        return dict(self._fits)

    @property
    def table(self) -> pd.DataFrame:
        """Cardinality, nonzeros, shares of variance and objective of each fit, one row per fit.

        The columns are "card", "nonzeros", the shares of variance by every measure, "pca" (the share of dense
        PCA with the same number of components), "objective", "score_correlation" and "converged".
        """
        return deep_copy(self._table)

    def __getitem__(self, card: int | tuple[int, ...] | list[int]) -> SpcaResult:
        """Return the fit with a cardinality.

        Raises
        ------
        CardinalityError
            If the path has no such fit.
        """
        key: Any = tuple(elements(card, len(self))) if isinstance(card, (list, tuple)) else card
        if not all(map(is_whole, key if isinstance(key, tuple) else [key])) or key not in self._fits:
            raise CardinalityError(
                f"The path has no fit with card={shown(card)}; its cardinalities are "
                f"{listed(self._fits, 20)}.{nearest(shown(key), self._fits)}"
            )
        return self._fits[key]

    def __iter__(self) -> Iterator[int | tuple[int, ...]]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)

    def plot(
        self,
        *,
        measures: MeasureName | list[MeasureName | Literal["score_correlation"]] | None = None,
        x: Literal["nonzeros", "card"] = "nonzeros",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw measures against the number of nonzero loadings (He, Monteiro and Park 2010, Figure 1).

        Parameters
        ----------
        measures : str or list of str, optional
            One or more of "adjusted", "pev", "least_squares", "relative_adjusted" and "rre"; a list may
            also contain "score_correlation". By default the measure that the search maximised, or the
            adjusted variance if there is none.
        x : {"nonzeros", "card"}
            Whether the axis counts nonzeros in total or per component.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
            A dashed line marks the share that dense PCA explains with the same number of components; the
            vertical axis starts at zero.

        Raises
        ------
        OptionError
            If a measure does not exist, or `ax` is not an Axes.
        """
        names = self._maximised() if measures is None else measures
        table = facts.with_total(self._table.copy(), next(iter(self._fits.values()))._state)
        return plots.plot_path(table, measures=names, x=x, ax=ax)

    def explore(self, path: Path, *, title: str | None = None, max_points: int | None = 1000) -> None:
        """Write an interactive page with a slider for the cardinality.

        Loadings, variances, the biplot, the equations and the curve of explained variance follow the slider.
        A position can be pinned for comparison, and a button copies the call of the fit. The page is one file
        that needs no server and no network, so it can be sent to readers without Python. It contains
        loadings, scores and labels of rows and variables, but not the data.

        Parameters
        ----------
        path : str or path
            Path of the file, such as "wine.html", with the suffix .html, .htm or none. An existing file is
            replaced only after the new one is complete.
        title : str, optional
            By default the title of the printout.
        max_points : int, optional
            Largest number of rows to draw; None draws all. If there are more, this many equally spaced rows
            are drawn, and the page states this. With 0, the page has no scores and no row labels. Rows not in
            memory are not drawn.

        Raises
        ------
        FileError
            If the file cannot be written, or has another suffix.
        OptionError
            If `path` is not a path or is the file from which the rows are read, `title` is not text, or
            `max_points` is negative.

        Examples
        --------
        >>> import spcastat as sp
        >>> path = sp.spca_path(sp.datasets.pitprops_sample(), k=2, cards=[3, 5], scale=True)
        >>> path.explore("pitprops.html")  # doctest: +SKIP
        """
        from spcastat.show.explorer import Position, write_explorer  # imported late, as few paths need it

        positions = [Position(card, fit._state, fit._source) for card, fit in self._fits.items()]
        write_explorer(path, positions, self._table, self._document(), title, max_points)

    @property
    def _first_fit(self) -> SpcaResult:
        return next(iter(self._fits.values()))

    def _maximised(self) -> str:
        """Return the measure that the search maximised, or else "adjusted"."""
        options = self._first_fit.options
        searched = self._first_fit.method == "joint" or options.get("search") == "joint"
        objective = options.get("objective") if searched else None
        return str(objective) if objective in MEASURES else "adjusted"


def _row(card: Any, fit: SpcaResult) -> dict[str, Any]:
    numbers = frames.facts(fit._state)
    return {
        "card": card,
        **{name: numbers[name] for name in ("nonzeros", *MEASURES)},
        "pca": float(fit.variance["cumulative PCA"].iloc[-1]),
        **{name: numbers[name] for name in ("objective", "score_correlation", "converged")},
    }


def _document(table: pd.DataFrame, first_fit: SpcaResult) -> Document:
    record = first_fit._state.record
    several = record.k > 1
    rows = []
    for line in table.to_dict("records"):
        card = line["card"]
        label = ", ".join(map(str, card)) if isinstance(card, tuple) else str(card)
        cells = [
            str(line["nonzeros"]),
            *(percent(line[measure.name]) for measure in PATH_MEASURES),
            percent(line["pca"]),
        ]
        rows.append(Row(label, tuple(cells + [fixed(line["score_correlation"], 2)] * several)))
    components = plural(record.k, "component")
    headings = ["Nonzeros", *(measure.short for measure in PATH_MEASURES), "PCA", *["|r|"] * several]
    alerts = []
    if not table["converged"].all():
        missed = table.loc[~table["converged"], "card"]
        alerts.append(f"Stopped at max_iter before it converged: card {listed(missed)}.")
    header = list(lines([facts.method(record), *facts.data(first_fit._state)]))
    if words := rule_words(first_fit._state):
        header.append(("Rule", words))
    title = f"Path of {plural(len(table), 'fit')} with {components}"
    tables = (Table("card", tuple(headings), tuple(rows)),)
    return Document(title, tuple(header), tables, (_key(first_fit._state), *alerts), alerts=tuple(alerts))


def _key(state: FitState) -> str:
    """Return the explanation of the headings."""
    totals = [measure for measure in PATH_MEASURES if measure.of == "total"]
    names = [
        measure.label if measure.short == measure.label else f"{measure.short} ({measure.label})"
        for measure in totals
    ]
    text = f"{', '.join(names)} and PCA (dense): % of the {part(facts.total_variance(state))}."
    text = text[0].upper() + text[1:]
    for measure in PATH_MEASURES:
        if measure.of == "pca":
            text += f" {measure.short[0].upper()}{measure.short[1:]}: {measure.note}."
    return text + " |r|: largest correlation of two scores." * (state.record.k > 1)
