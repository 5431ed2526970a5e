"""Fits along a range of cardinalities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from spcastat.config import elements, is_whole, listed, nearest, plural, shown
from spcastat.errors import CardinalityError
from spcastat.measures import MEASURES
from spcastat.results.fit import SpcaResult
from spcastat.results.handed import own
from spcastat.results.summary import Summary, describe_data
from spcastat.tables import Document, Row, Table
from spcastat.tables.cells import fixed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARES = ("adjusted", "relative_adjusted", "pev", "least_squares", "pca")
_HEADINGS = ("Nonzeros", "adjusted", "of PCA's", "PEV", "LS", "PCA", "|r|")


class SpcaPath(Summary):
    """Fits of one method on the same data, from few nonzeros to many.

    Attributes
    ----------
    fits : dict
        The fits by their cardinality: a number where all components have the same, a tuple otherwise.
        ``path[7]`` is a shorter way to write ``path.fits[7]``.
    table : DataFrame
        One row a fit: "card", "nonzeros", every measure, "pca" (the share of dense PCA), "objective",
        "score_correlation" and "converged".
    frames : dict of str to DataFrame
        "path", the table.
    """

    def __init__(self, fits: dict[Any, SpcaResult]):
        self._fits = dict(fits)
        table = pd.DataFrame([_row(card, fit) for card, fit in fits.items()])
        super().__init__(_document(table, next(iter(fits.values()))), {"path": table})

    @property
    def fits(self) -> dict[Any, SpcaResult]:
        """The fits by their cardinality."""
        return dict(self._fits)

    @property
    def table(self) -> pd.DataFrame:
        """One row a fit."""
        return own(self._frames["path"])

    def __getitem__(self, card: Any) -> SpcaResult:
        key = tuple(elements(card, len(self))) if isinstance(card, (list, tuple)) else card
        if not all(map(is_whole, key if isinstance(key, tuple) else [key])) or key not in self._fits:
            raise CardinalityError(
                f"The path has no fit with card={shown(card)}; it has {listed(self._fits, 20)}."
                f"{nearest(shown(key), self._fits)}"
            )
        return self._fits[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)

    def plot(self, *, measures: str | Sequence[str] = "adjusted", ax: Axes | None = None) -> Axes:
        """Draw variance against cardinality; see :func:`spcastat.plots.plot_path`."""
        from spcastat import plots

        return plots.plot_path(self.table, measures=measures, ax=ax)

    def plot_data(self, *, measures: str | Sequence[str] = "adjusted") -> pd.DataFrame:
        """Return what `plot` draws."""
        from spcastat import plots

        return plots.plot_path_data(self.table, measures=measures)


def _row(card: Any, fit: SpcaResult) -> dict[str, Any]:
    return {
        "card": card,
        "nonzeros": int(fit.card.sum()),
        **{name: fit._measure_if_known(name) for name in MEASURES},
        "pca": float(fit.variance["cumulative PCA"].iloc[-1]),
        "objective": fit.objective_value,
        "score_correlation": fit._largest_correlation,
        "converged": fit.converged,
    }


def _document(table: pd.DataFrame, first: SpcaResult) -> Document:
    record = first._record
    several = record.k > 1
    rows = []
    for line in table.to_dict("records"):
        card = line["card"]
        label = ", ".join(map(str, card)) if isinstance(card, tuple) else str(card)
        cells = [str(line["nonzeros"]), *(percent(line[name]) for name in _SHARES)]
        rows.append(Row(label, tuple(cells + [fixed(line["score_correlation"], 2)] * several)))
    components = plural(record.k, "component")
    notes = [
        "Adjusted, PEV, LS (least squares) and PCA (dense): % of the total variance. Of PCA's: adjusted, in "
        "% of what PCA explains." + " |r|: largest correlation of two scores." * several
    ]
    if not table["converged"].all():
        missed = table.loc[~table["converged"], "card"]
        notes.append(f"Stopped at max_iter before it converged: card {listed(missed)}.")
    return Document(
        f"Path of {plural(len(table), 'fit')} with {components}",
        (
            ("Method", f"{record.method}: {record.title}; {record.paper}"),
            ("Data", describe_data(record)),
        ),
        (Table("card", _HEADINGS[: 7 if several else 6], tuple(rows)),),
        tuple(notes),
    )
