"""Fits of sparse principal coordinates along a range of penalties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd

from spcastat import plots
from spcastat.config import listed, plural, shown
from spcastat.errors import OptionError
from spcastat.report.summary import Summary
from spcastat.results.plotted import drawn
from spcastat.state.copies import own
from spcastat.tables import Document, Row, Table


class Coordinates(Protocol):
    """The attributes of a fit that the table of a path uses."""

    @property
    def penalty(self) -> float: ...

    @property
    def cpzc(self) -> float: ...

    @property
    def cpev(self) -> float: ...

    @property
    def converged(self) -> bool: ...

    @property
    def variance(self) -> pd.DataFrame: ...


#: The type of the fits of a path: `SpcoResult`.
Fit = TypeVar("Fit", bound=Coordinates)


class SpcoPath(Summary, Generic[Fit]):
    """Fits of sparse coordinates from few zeros to many, the result of ``spco(...).path()``.

    ``path[0.5]`` is the fit for that value of the option; `frames` has the table under "path".
    """

    def __init__(self, option: str, fits: dict[float, Fit]):
        self._option = option
        self._fits = dict(fits)
        table = pd.DataFrame([_row(value, option, fit) for value, fit in fits.items()])
        super().__init__(_document(table, option), {"path": table})

    @property
    def fits(self) -> dict[float, Fit]:
        """The fits by the requested value of `zeros` or `penalty`."""
        return dict(self._fits)

    @property
    def table(self) -> pd.DataFrame:
        """One row per fit: the requested value, "penalty", "cpzc", "cpev", "fit", "pca", and "converged".

        "cpzc" is the share of zero coordinates. "cpev" is the adjusted variance of the loadings, "fit" the
        variance that the sparse coordinates reproduce, and "pca" the variance that as many dense components
        explain, each as a share of the total variance.
        """
        return own(self._frames["path"])

    def __getitem__(self, value: float) -> Fit:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value not in self._fits:
            raise OptionError(
                f"The path has no fit with {self._option}={shown(value)}; it has {listed(self._fits, 20)}."
            )
        return self._fits[value]

    def __iter__(self) -> Iterator[float]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)

    @drawn(plots.plot_coordinates_path, "table")
    def plot(self) -> Any:
        return {"table": self.table}

    plot_data = plot.data


def _row(value: float, option: str, fit: Coordinates) -> dict[str, Any]:
    variance = fit.variance
    return {
        option if option == "zeros" else "asked": value,
        "penalty": fit.penalty,
        "cpzc": fit.cpzc,
        "cpev": fit.cpev,
        "fit": float(variance["cumulative fit"].iloc[-1]),
        "pca": float(variance["cumulative PCA"].iloc[-1]),
        "converged": fit.converged,
    }


def _document(table: pd.DataFrame, option: str) -> Document:
    first = "zeros" if option == "zeros" else "asked"
    rows = tuple(
        Row(
            f"{line[first]:.4g}",
            (
                f"{line['penalty']:.4g}",
                *(f"{100 * line[name]:.2f}" for name in ("cpzc", "cpev", "fit", "pca")),
            ),
        )
        for line in table.to_dict("records")
    )
    note = (
        "CPZC: zero coordinates, %. CPEV: adjusted variance of the loadings, fit: what the sparse "
        "coordinates "
        "reproduce, PCA: as many dense components; % of the total variance."
    )
    headings = ("penalty", "CPZC", "CPEV", "fit", "PCA")
    return Document(f"Path of {plural(len(table), 'fit')}", (), (Table(option, headings, rows),), (note,))
