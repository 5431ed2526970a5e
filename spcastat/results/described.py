"""A fit in words and tables: the summary, equations, and the three frames of R's broom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import flag, one_of, shown, whole_number
from spcastat.errors import DuplicateNamesError, ShapeError
from spcastat.intake.frames import open_table
from spcastat.kernels.sparsity import is_sparse
from spcastat.measures import MEASURES
from spcastat.results.equations import Text, equation_lines
from spcastat.results.handed import own
from spcastat.results.plotted import Plotted
from spcastat.results.summary import ROWS, Summary, summarise


class Described(Plotted):
    """A result that prints itself and gives its numbers as tidy frames."""

    def summary(self, digits: int = 3, max_rows: int = ROWS) -> Summary:
        """Return header, loadings and variances as text, HTML, LaTeX or Markdown.

        Parameters
        ----------
        digits : int
            Decimals of the loadings.
        max_rows : int
            The most variables to show.
        """
        return summarise(
            self._record,
            self.loadings,
            self.variance,
            self.score_correlation,
            self._moments.variances,
            digits,
            max_rows,
        )

    def __repr__(self) -> str:
        return self.summary().as_text()

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def print_loadings(
        self,
        digits: int = 3,
        cutoff: float = 0.0,
        sort: bool = False,
        contributions: bool = False,
        max_rows: int = 40,
    ) -> None:
        """Print the loadings; a blank is exactly zero.

        Parameters
        ----------
        digits : int
            Decimals. A nonzero that rounds to zero prints as ``<.001``.
        cutoff : float
            Loadings below it in absolute value are hidden behind a mark, and counted.
        sort : bool
            Group the variables by the component on which they load most.
        contributions : bool
            Squared loadings in percent instead.
        max_rows : int
            The most variables to show.
        """
        from spcastat.tables import Document, loadings_table, render

        table = loadings_table(
            self.loadings,
            digits=digits,
            cutoff=cutoff,
            sort=sort,
            contributions=contributions,
            max_rows=max_rows,
        )
        print(render(Document(title="", facts=(), tables=(table,), notes=()), "text"))

    def equations(
        self, digits: int = 3, *, raw: bool = False, max_terms: int | None = None, width: int = 80
    ) -> Text:
        """Write each component out as a formula, zero terms left out.

        Parameters
        ----------
        digits : int
            Decimals; with `raw` significant figures.
        raw : bool
            In the units of the data, with the constant that centring makes. By default in variables that
            are centred and scaled as the fit did it.
        max_terms : int, optional
            Write only so many terms of a component, those with the largest loadings, and count the rest.
        width : int
            Characters in a line, 40 or more.

        Returns
        -------
        str
            One equation a component, wrapped; it shows itself with its line breaks.
        """
        digits = whole_number("digits", digits, 1, 10)
        width = whole_number("width", width, 40)
        if max_terms is not None:
            whole_number("max_terms", max_terms, 1)
        standard = self._need_centre("equations(raw=True)") if flag("raw", raw) else None
        return equation_lines(self.loadings, standard, digits, max_terms, width)

    # --- tidy frames ----------------------------------------------------------------------------

    def tidy(self, zeros: bool = False) -> pd.DataFrame:
        """Return the loadings with a row for each: "term", "component", "loading".

        Parameters
        ----------
        zeros : bool
            With the loadings that are zero.
        """
        p, k = self._V.shape
        rows = np.arange(p * k) if flag("zeros", zeros) else np.flatnonzero(self._V.T.ravel())
        terms = self._spec.columns.to_flat_index()[rows % p]
        return pd.DataFrame(
            {"term": terms, "component": self.components[rows // p], "loading": self._V.T.ravel()[rows]}
        )

    def glance(self) -> pd.DataFrame:
        """Return the fit in one row: sizes, nonzeros, every measure, correlation of scores, how it ended."""
        record = self._record
        facts: dict[str, Any] = {
            "method": record.method,
            "n": pd.NA if record.n is None else record.n,
            "p": record.p,
            "k": record.k,
            "nonzeros": int(self.card.sum()),
            "variables": int(self._V.any(axis=1).sum()),
            "total_variance": self.total_variance,
            **{name: self._measure_if_known(name) for name in MEASURES},
            "score_correlation": self._largest_correlation,
            "objective": record.objective,
            "converged": record.converged,
            "n_iter": record.n_iter,
        }
        return pd.DataFrame([facts])

    def augment(self, data: Any = None, na: str = "raise") -> pd.DataFrame:
        """Return the data with the scores of each row as further columns, ``.fittedPC1`` and so on.

        Parameters
        ----------
        data : DataFrame, array, polars or pyarrow table, optional
            Rows as for `transform`; all their columns and their labels are kept. By default the columns
            that were fitted.
        na : {"raise", "drop"}
            With "drop", rows with missing values stay and have missing scores, as in R's broom.

        Returns
        -------
        DataFrame

        Raises
        ------
        DuplicateNamesError
            Where a column has the name of a score already.
        """
        names = [f".fitted{name}" for name in self.components]
        one_of("na", na, ("raise", "drop"))
        if data is None:
            source = self._rows("augment() without data")
            frame = _frame(source.matrix, source.index, self._spec.columns)
            scores = self._scores.to_numpy()
        else:
            table = open_table(data)
            frame = _frame(table.values, table.index, table.columns)
            # by position, as labels may repeat
            plain = frame.set_axis(pd.RangeIndex(len(frame))) if table.named else table.values
            found = self.transform(plain, na=na)
            scores = np.full((len(frame), len(names)), np.nan)
            scores[found.index.to_numpy()] = found.to_numpy()
        if frame.columns.nlevels > 1:
            raise ShapeError("augment() needs columns with one level of names; flatten them first.")
        taken = [name for name in names if name in frame.columns]
        if taken:
            raise DuplicateNamesError(
                f"The data have a column called {shown(taken[0])} already; rename it, or take "
                "transform(data)."
            )
        for name, column in zip(names, scores.T, strict=True):  # labels of any kind stay what they are
            frame[name] = column
        return frame


def _frame(values: Any, index: pd.Index | None, columns: pd.Index) -> pd.DataFrame:
    if isinstance(values, pd.DataFrame):
        return own(values)
    if is_sparse(values):
        sparse: Any = pd.DataFrame.sparse
        return sparse.from_spmatrix(values.copy(), index=own(index), columns=own(columns))
    return pd.DataFrame(np.array(values), index=own(index), columns=own(columns))
