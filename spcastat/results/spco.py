"""The results of sparse principal coordinates (sparse scores, dense loadings), and paths of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.arguments import elements, integers_if_whole, listed, one_of, plural, real_number, shown
from spcastat.errors import OptionError
from spcastat.fit.frames import CUMULATIVE
from spcastat.fit.record import SCALING, deep_copy
from spcastat.fit.state import Picklable
from spcastat.inputs.opening import table_of
from spcastat.inputs.row_data import RowData
from spcastat.linalg.accumulate import is_sparse, weights_or_ones
from spcastat.linalg.operators import Rows
from spcastat.linalg.thresholds import soft_at
from spcastat.measures import MEASURES, adjusted_variances, measure_named
from spcastat.reading.checks import rows_of
from spcastat.reading.frames import in_library_of
from spcastat.reading.read import replay
from spcastat.show.grid import Document, Row, Table, VariableArrangement
from spcastat.show.renderings import Outcome, Screen, Shown, Summary
from spcastat.show.summary import loadings_table, print_of_coordinates
from spcastat.solvers.regression import SPCO, Coordinates
from spcastat.solvers.solver import ADVICE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.hints import ByRow, EagerT, Matrix, MeasureName, Palette, Sections, Several, Vector

#: Largest number of penalties in a path.
MOST_PENALTIES = 1000

#: The definitions of the rows of shares.
MEANINGS = (
    "Adjusted: variance of the scores before thresholding, shared variance counted once.",
    "Coordinates: variance that the sparse coordinates reproduce.",
)


class SpcoResult(Picklable, Shown):
    """Sparse principal coordinates, the result of :func:`spcastat.spco`.

    Coordinates are the soft-thresholded scores of the rows on orthonormal, dense loadings, so small
    coordinates are exactly zero. All output is labelled with the names in the data.
    """

    _source: RowData

    def __init__(self, source: RowData, solver: SPCO, coordinates: Coordinates) -> None:
        self._source = source
        self._solver = solver
        self._solution = coordinates
        size = np.abs(coordinates.A)
        places = np.argmax(size >= size.max(axis=0) * (1.0 - 1e-10), axis=0)
        self._A = coordinates.A * np.where(
            coordinates.A[places, np.arange(coordinates.A.shape[1])] < 0, -1.0, 1.0
        )

    @property
    def k(self) -> int:
        """The number of components."""
        return self._A.shape[1]

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk."""
        return pd.Index([f"PC{i + 1}" for i in range(self.k)])

    @property
    def loadings(self) -> pd.DataFrame:
        """The dense, orthonormal loadings A, p x k; the largest absolute entry of a column is positive."""
        return pd.DataFrame(
            self._A.copy(), index=deep_copy(self._source.spec.columns), columns=self.components
        )

    @property
    def coordinates(self) -> pd.DataFrame:
        """The sparse coordinates Z, n x k, in the order and with the labels of the fitted rows."""
        return deep_copy(self._coordinates)

    @property
    def penalty(self) -> float:
        """The l1 penalty, in the units of the (scaled) data."""
        return float(self._solution.penalty[0])

    @property
    def variance(self) -> pd.DataFrame:
        """One row per component: nonzero coordinates, share of zeros, adjusted variance, cumulative shares.

        A row of weight 2 counts as two rows.

        ``cumulative CPEV`` is the adjusted variance of the dense scores XA as a share of the total variance;
        ``cumulative fit`` the share of the total variance that the sparse coordinates reproduce,
        1 - |X - ZA'|^2 / |X|^2; ``cumulative PCA`` the share that dense components explain.
        """
        return deep_copy(self._variance)

    @property
    def total_variance(self) -> float:
        """The sum of the variances of all variables."""
        return self._source.op.total * self._source.op.unit**2

    def measure(self, name: MeasureName | Literal["cpev", "cpzc", "fit"]) -> float:
        """Return one measure of all components together, as a fraction.

        Parameters
        ----------
        name : str
            "cpev", the cumulative percentage of explained variance, which is the adjusted variance of the
            loadings; "cpzc", the cumulative percentage of zero coordinates among all n x k (a row of
            weight 2 counts as two rows); "fit", the share of the total variance that the sparse coordinates
            reproduce; or a measure of the loadings, see :mod:`spcastat.measures`.

        Raises
        ------
        OptionError
            If there is no such measure.
        """
        measure_name = one_of("name", name, ["cpev", "cpzc", "fit", *MEASURES])
        if measure_name == "cpzc":
            return float(self._variance["share of zeros"].mean())
        if measure_name == "fit":
            return float(self._variance["cumulative fit"].iloc[-1])
        return float(
            measure_named("adjusted" if measure_name == "cpev" else measure_name)(self._A, self._op)[-1]
        )

    @property
    def status(self) -> Literal["converged", "max_iter"]:
        """How the fit ended: "converged" or "max_iter"."""
        return "converged" if self._solution.converged else "max_iter"

    @property
    def converged(self) -> bool:
        """Whether the fit ended before reaching `max_iter`."""
        return bool(self._solution.converged)

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return int(self._solution.n_iter)

    @property
    def objective_value(self) -> float:
        """The criterion |X - ZA'|^2 / 2 + ridge |Z|^2 / 2 + penalty |Z|_1, divided by n - 1."""
        return float(self._solution.objective)

    @overload
    def transform(self, new: Matrix, *, na: Literal["raise", "drop"] = "raise") -> pd.DataFrame: ...
    @overload
    def transform(self, new: EagerT, *, na: Literal["raise", "drop"] = "raise") -> EagerT: ...
    def transform(self, new: Any, *, na: Literal["raise", "drop"] = "raise") -> Any:
        """Return the sparse coordinates of new rows, with the centre, scale, loadings and penalty of the fit.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, m x p
            Rows with the variables of the fit, which are found by name.
        na : {"raise", "drop"}
            Whether rows with missing values raise an error, or are left out.

        Returns
        -------
        DataFrame of shape (m, k), or a table of the same kind as `new`
        """
        matrix, index = replay(self._source.spec, table_of(new).data, na=na)
        return in_library_of(new, self._labelled(matrix, index))

    def inverse_transform(self, coordinates: Matrix) -> pd.DataFrame:
        """Return the rows Z A', in the units of the data, for coordinates Z of shape (n, k)."""
        Z = rows_of(coordinates, "coordinates", self._A.shape[1])
        standard = self._source.standard
        index = deep_copy(coordinates.index) if isinstance(coordinates, pd.DataFrame) else None
        return pd.DataFrame(standard.restore(Z @ self._A.T), index, deep_copy(self._source.spec.columns))

    # --- paths and plots --------------------------------------------------------------------------

    def path(self, zeros: Vector | None = None, *, penalty: Vector | None = None) -> SpcoPath:
        """Fit the same data with a range of penalties.

        Parameters
        ----------
        zeros : sequence of float in [0, 1), optional
            Target shares of zero coordinates; by default 0, 0.1, ..., 0.9.
        penalty : sequence of float, optional
            Penalties in the units of the (scaled) data, instead of `zeros`.

        Returns
        -------
        SpcoPath

        Raises
        ------
        OptionError
            If both are given, or values are out of range.
        """
        if zeros is not None and penalty is not None:
            raise OptionError("zeros and penalty were both given; give the values of one of them.")
        option, option_values = ("penalty", penalty) if penalty is not None else ("zeros", zeros)
        values = (
            [i / 10 for i in range(10)] if option_values is None else elements(option_values, MOST_PENALTIES)
        )
        top = 1.0 - 1e-12 if option == "zeros" else float(np.finfo(float).max)
        if not values:
            raise OptionError(f"{option} is empty; give one value or more.")
        if len(values) > MOST_PENALTIES or is_sparse(option_values):
            raise OptionError(
                f"{option}={shown(option_values)} was given; it accepts a sequence of at most "
                f"{MOST_PENALTIES} numbers."
            )
        unit, fits = self._source.op.unit, {}
        for value in sorted({real_number(option, number, 0.0, top) for number in values}):
            controls: dict[str, Any] = {"zeros": None, "penalty": None, option: value}
            solver = replace(self._solver, **controls)
            scaled_solver = replace(solver, penalty=None if solver.penalty is None else solver.penalty / unit)
            coordinates = scaled_solver.solve(self._op, self._A.shape[1]).times(unit)
            fits[value] = SpcoResult(self._source, solver, coordinates)
        return SpcoPath(option, fits)

    def plot(
        self,
        *,
        components: Several | None = None,
        groups: ByRow | None = None,
        palette: Palette | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw each column of sparse coordinates over the rows (Dou, Dai, Xu and Zhang, 2011, Figure 2).

        Nonzero coordinates are drawn as stems, zeros as small dots on the line.

        Parameters
        ----------
        components : sequence of int or str, optional
            Components, by number (from 1) or by name; by default all.
        groups : Series, Categorical or array of length n, optional
            Groups that set the colours of the stems; rows are in the order of the data.
        palette : mapping, sequence of colours, or str, optional
            As for the biplot.
        ax : Axes, optional
            The panels, its ``child_axes``, are drawn in its place; by default a new figure is created.

        Returns
        -------
        Axes
        """
        return plots.plot_coordinates(
            self._coordinates, components=components, groups=groups, palette=palette, ax=ax
        )

    def plot_loadings(
        self,
        *,
        kind: Literal["blocks", "table", "line", "image"] | None = None,
        sort: bool = True,
        max_rows: int | None = None,
        components: Several | None = None,
        sections: Sections | None = None,
        x: Any = None,
        shape: tuple[int, int] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the loadings of each component.

        Parameters
        ----------
        kind : {"blocks", "table", "line", "image"}, optional
            Blocks of named bars; a table of coloured numbers; a line over all columns in their order for each
            component, for spectra and series; or an image for each component, for pixels. The default is the
            same as for ``SpcaResult.plot_loadings``.
        sort : bool
            Whether blocks and tables show the largest absolute loading of each component first.
        max_rows : int, optional
            The largest number of variables of blocks and tables; by default as many as there is room for.
        components : sequence of int or str, optional
            Components, by number (from 1) or by name; by default all.
        sections : Series, mapping or sequence of length p, optional
            The section of each variable, for blocks and tables; variables of a section are shown together,
            with its name next to them.
        x : sequence of p numbers, optional
            Positions of the columns, for lines; by default the numbers in their names.
        shape : (int, int), optional
            Height and width of an image, pixels row by row; needed for ``kind="image"``.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        return plots.plot_loadings(
            self.loadings,
            kind=kind,
            sort=sort,
            max_rows=max_rows,
            components=components,
            sections=sections,
            x=x,
            shape=shape,
            ax=ax,
        )

    # --- values that are computed once --------------------------------------------------------------

    @cached_property
    def _coordinates(self) -> pd.DataFrame:
        return self._labelled(self._source.matrix, self._source.index)

    @cached_property
    def _variance(self) -> pd.DataFrame:
        op, Z = self._op, self._coordinates.to_numpy()
        k, w = Z.shape[1], weights_or_ones(self._source.weights, len(Z))
        weighted = op.root_weights[:, None] * (Z / op.unit)
        dense = op.forward(self._A)
        reproduced = 2.0 * np.einsum("ij,ij->j", dense, weighted) - np.einsum("ij,ij->j", weighted, weighted)
        adjusted = adjusted_variances(self._A, op)
        return pd.DataFrame(
            {
                "nonzero coordinates": integers_if_whole(w @ (Z != 0)),
                "share of zeros": w @ (Z == 0) / w.sum(),
                "adjusted variance": adjusted * op.unit**2,
                "cumulative CPEV": np.cumsum(adjusted) / op.total,
                "cumulative fit": np.cumsum(reproduced) / op.total,
                "cumulative PCA": np.cumsum(op.leading(k)[0].clip(min=0.0)) / op.total,
            },
            index=self.components,
        )

    @property
    def _op(self) -> Rows:
        assert isinstance(self._source.op, Rows)
        return self._source.op

    @property
    def _scaling(self) -> str:
        """How the variables were scaled, in words."""
        return SCALING[self._source.standard.scaling]

    def _labelled(self, matrix: Any, index: Any) -> pd.DataFrame:
        """Return the coordinates of rows, with their labels."""
        scores = self._source.standard.project(matrix, self._A)
        values = soft_at(scores, self._solution.penalty) / (1.0 + self._solver.ridge) + 0.0  # no -0
        return pd.DataFrame(values, index=deep_copy(index), columns=self.components)

    # --- summaries ------------------------------------------------------------------------------

    def summary(self, digits: int = 3) -> Summary:
        """Return the header, loadings and shares as text, HTML, LaTeX or Markdown."""
        n, p, partial = self._source.n, self._source.op.p, self._source.spec.partial
        cpzc, cpev = self.measure("cpzc"), self.measure("cpev")
        covariates = "" if partial is None else f", given {', '.join(partial.names)}"
        facts = (
            ("Method", "spco: sparse principal coordinates; Dou, Dai, Xu and Zhang (2011)"),
            ("Data", f"{plural(n or 0, 'row')} x {plural(p, 'variable')}{covariates}, {self._scaling}"),
            ("Penalty", f"{self.penalty:.6g}, ridge {self._solver.ridge:g}"),
            ("Zeros", f"{100 * cpzc:.2f} % of the coordinates (CPZC)"),
            ("Explained", f"{100 * cpev:.2f} % of the total variance (CPEV)"),
            ("Status", f"{ADVICE[self.status]} ({plural(self.n_iter, 'iteration')})"),
        )
        loadings = loadings_table(self.loadings, VariableArrangement(max_rows=40), digits=digits)
        meaning = "Coordinates are scores on these loadings, soft-thresholded; the loadings are dense."
        tables = (loadings, _shares_table(self.variance))
        document = Document("Sparse principal coordinates", facts, tables, (" ".join((meaning, *MEANINGS)),))
        return Summary(document, {"loadings": self.loadings, "variance": self.variance})

    def _tables(self, notebook: bool) -> Summary:
        return self.summary()

    def _screen(self) -> Screen:
        n, p = plural(self._source.n or 0, "row"), plural(self._source.op.p, "variable")
        k = plural(self._A.shape[1], "component")
        title = f"Sparse principal coordinates of {n} and {p}, {self._scaling}: {k}"
        sentence = f"Penalty {self.penalty:.6g}; {ADVICE[self.status]} ({plural(self.n_iter, 'iteration')})."
        return print_of_coordinates(title, self.loadings, self.variance, MEANINGS, sentence, self.notes)


def _shares_table(variance: pd.DataFrame) -> Table:
    shares = (
        ("Zeros, %", "share of zeros", ""),
        ("adjusted", "cumulative CPEV", CUMULATIVE),
        ("coordinates", "cumulative fit", CUMULATIVE),
        ("PCA (dense)", "cumulative PCA", CUMULATIVE),
    )
    rows = (
        Row("Nonzeros", tuple(f"{count:g}" for count in variance["nonzero coordinates"])),
        *(
            Row(label, tuple(f"{100 * value:.2f}" for value in variance[column]), group)
            for label, column, group in shares
        ),
    )
    return Table("Coordinates", tuple(str(name) for name in variance.index), rows)


# --- a range of penalties --------------------------------------------------------------------------


class SpcoPath(Outcome):
    """Fits of sparse coordinates from few zeros to many, the result of ``spco(...).path()``.

    ``path[0.5]`` is the fit for the value 0.5 of the option that `path` was given. A path prints as its
    table, and shows as HTML in a notebook.
    """

    _short_name = "path"

    def __init__(self, option: str, fits: dict[float, SpcoResult]) -> None:
        self._option = option
        self._fits = dict(fits)
        self._table = pd.DataFrame([_coordinates_row(value, option, fit) for value, fit in fits.items()])

    def _document(self) -> Document:
        return _coordinates_document(self._table, self._option)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """A dictionary that contains `table` as "path"."""
        return {"path": self.table}

    @property
    def fits(self) -> dict[float, SpcoResult]:
        """The fits by the requested share of zeros, or by penalty."""
        return dict(self._fits)

    @property
    def table(self) -> pd.DataFrame:
        """One row per fit.

        The columns are the requested value, "penalty", "cpzc" (the share of zero coordinates), "converged",
        and three shares of the total variance: "cpev" (the adjusted variance of the loadings), "fit"
        (reproduced by the sparse coordinates) and "pca" (explained by the same number of dense components).
        """
        return deep_copy(self._table)

    def __getitem__(self, value: float) -> SpcoResult:
        """Return the fit for a requested value.

        Raises
        ------
        OptionError
            If the path has no such fit.
        """
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value not in self._fits:
            raise OptionError(
                f"The path has no fit with {self._option}={shown(value)}; its values are "
                f"{listed(self._fits, 20)}."
            )
        return self._fits[value]

    def __iter__(self) -> Iterator[float]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the variance that sparse coordinates explain against the share of coordinates that are zero.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        return plots.plot_path(self._table, measures=["cpev", "fit"], x="cpzc", ax=ax)


def _coordinates_row(value: float, option: str, fit: SpcoResult) -> dict[str, Any]:
    variance = fit.variance
    return {
        option if option == "zeros" else "asked": value,
        "penalty": fit.penalty,
        "cpzc": fit.measure("cpzc"),
        "cpev": fit.measure("cpev"),
        "fit": float(variance["cumulative fit"].iloc[-1]),
        "pca": float(variance["cumulative PCA"].iloc[-1]),
        "converged": fit.converged,
    }


def _coordinates_document(table: pd.DataFrame, option: str) -> Document:
    heading = "zeros" if option == "zeros" else "asked"
    rows = []
    for line in table.to_dict("records"):
        shares = (f"{100 * line[name]:.2f}" for name in ("cpzc", "cpev", "fit", "pca"))
        rows.append(Row(f"{line[heading]:.4g}", (f"{line['penalty']:.4g}", *shares)))
    notes = (
        "In %: zero coordinates; shares of the total variance.",
        *MEANINGS,
        "PCA: variance of the same number of dense components.",
    )
    headings = ("penalty", "zero", "adjusted", "coordinates", "PCA")
    title, rows_of_fits = f"Path of {plural(len(table), 'fit')}", Table(option, headings, tuple(rows))
    return Document(title, (), (rows_of_fits,), notes, print_notes=notes)
