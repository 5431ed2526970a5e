"""Diagnostics of a fit: how variables go with components, how far rows lie from them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import one_of, real_number
from spcastat.errors import DataError
from spcastat.intake import replay
from spcastat.kernels.sparsity import is_sparse
from spcastat.results import diagnostics as numbers
from spcastat.results.core import Core
from spcastat.results.handed import handed, own
from spcastat.streams import open_stream

if TYPE_CHECKING:
    from spcastat.streams.base import Stream

#: Residuals of sparse data are dense: beyond this many numbers (400 MB) they are refused.
MOST_RESIDUALS = 50_000_000


class Diagnosed(Core):
    """A result with the diagnostics that correlated components ask for."""

    @handed
    def correlations(self) -> pd.DataFrame:
        """Correlations of the variables with the scores, p x k; NaN where one of them does not vary."""
        moments = self._moments
        sizes = np.sqrt(np.diag(moments.scores).clip(min=0.0)) * np.sqrt(moments.variances)[:, None]
        values = np.full(sizes.shape, np.nan)
        np.divide(moments.coupling, sizes, out=values, where=sizes > 0)
        return pd.DataFrame(values.clip(-1.0, 1.0), index=self._spec.columns, columns=self.components)

    @handed
    def communalities(self) -> pd.Series:
        """Share of the variance of each variable, length p, that regression on all scores explains.

        Weighted by the variances of the variables their mean is the least-squares share,
        ``measure("least_squares")``. NaN for a variable that does not vary.
        """
        variances, explained = self._moments.variances, self._moments.explained
        values = np.full(len(variances), np.nan)
        np.divide(explained, variances, out=values, where=variances > 0)
        return pd.Series(values.clip(0.0, 1.0), index=self._spec.columns, name="communality")

    @handed
    def component_shares(self) -> pd.DataFrame:
        """Share of the total variance of each component without regard to their order, k x 3.

        All three are shares that regressions of the variables on scores explain (least squares):

        ``alone``
            with this score only;
        ``average``
            what the score adds, averaged over all orders in which the components can enter (Lindeman,
            Merenda and Gold; Shapley value): these add up to ``measure("least_squares")``. NaN with more
            than 12 components;
        ``last``
            what is lost when the component is left out.

        For uncorrelated scores the three are equal.
        """
        total = self._moments.total
        coupling = self._moments.coupling / total
        parts = numbers.shares(self._moments.scores / total, coupling.T @ coupling)
        columns = dict(zip(("alone", "average", "last"), parts, strict=True))
        return pd.DataFrame(columns, index=self.components)

    @property
    def residuals(self) -> pd.DataFrame:
        """Rows of the fit less ``inverse_transform(scores)``, n x p, in the units of the data.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix or from a file, or of rows that come in chunks: as many numbers
            as the data have would be in memory. `q_statistic` has their squared lengths.
        DataError
            For sparse data with more than 50 million entries: residuals are dense. `q_statistic` has
            their squared lengths.
        """
        source = self._rows("residuals")
        matrix = source.matrix
        n, p = matrix.shape
        if is_sparse(matrix):
            if n * p > MOST_RESIDUALS:
                raise DataError(
                    f"The residuals of these sparse data would be a dense table of {n} x {p}; q_statistic "
                    "has the squared length of each row of it."
                )
            matrix = matrix.toarray()
        fitted = self.inverse_transform(self._scores).to_numpy()
        return pd.DataFrame(matrix - fitted, index=own(source.index), columns=own(self._spec.columns))

    @cached_property
    def _distances(self) -> pd.DataFrame:
        if self._source is not None and self._source.stream is not None:
            return self._distances_in(self._source.stream)
        source = self._rows("diagnostics() without data")
        return self._distances_of(source.matrix, source.index)

    def _distances_in(self, stream: Stream) -> pd.DataFrame:
        blocks = stream.blocks("diagnostics")
        parts = [self._distances_of(block.values, block.index) for block in blocks if len(block.index)]
        return pd.concat(parts) if parts else pd.DataFrame({"T2": [], "Q": []}, dtype=float)

    def _distances_of(self, matrix: Any, index: Any) -> pd.DataFrame:
        standard = self._need_centre("diagnostics()")
        t2, q = numbers.distances(matrix, standard, self._V, self._moments.scores)
        return pd.DataFrame({"T2": t2, "Q": q}, index=own(index))

    @property
    def t2(self) -> pd.Series:
        """Hotelling's T2 of each row, length n: t'C^-1 t, C the covariance matrix of the scores.

        The distance from the mean within the components, their correlation taken into account. Where
        scores are dependent, C has a generalised inverse.
        """
        return own(self._distances["T2"])

    @property
    def q_statistic(self) -> pd.Series:
        """Squared residual of each row, length n: its squared distance from the span of the loadings.

        In squared units of the (scaled) data. Summed (with the weights) and divided by n - 1, it is
        ``(1 - measure("pev")) * total_variance``.
        """
        return own(self._distances["Q"])

    def diagnostics(self, new: Any = None, na: str = "raise") -> pd.DataFrame:
        """Return T2 and Q of the rows of the fit, or of new rows, n x 2.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks, optional
            Rows as for `transform`.
        na : {"raise", "drop"}
        """
        one_of("na", na, ("raise", "drop"))
        if new is None:
            return own(self._distances)
        self._need_centre("diagnostics()")
        stream = open_stream(new, spec=self._spec, na=na)
        if stream is not None:
            return self._distances_in(stream)
        return self._distances_of(*replay(self._spec, new, na=na))

    def limits(self, level: float = 0.95) -> pd.Series:
        """Return the limits of T2 and Q that a share `level` of new rows of the same kind stays below.

        Parameters
        ----------
        level : float in (0, 1)

        Returns
        -------
        Series with "T2" and "Q"
            T2: k (n^2 - 1) / (n (n - k)) F(level; k, n - k), k being the rank of the scores; chi-squared
            where n is not known. Q: Jackson and Mudholkar (1979), from the eigenvalues of the covariance
            matrix of the residuals; NaN where both sides of the data exceed 3000.

        Notes
        -----
        Both take the rows for independent draws from one normal distribution, and the loadings for given
        (they were chosen with these rows, so rows of the fit lie below the limits more often than new
        ones).
        """
        level = real_number("level", level, 0.0, 1.0 - 1e-12, open_low=True)
        rank = numbers.whitener(self._moments.scores).shape[1]
        traces = self._moments.residual_traces
        if traces is None:
            q = float("nan")
        else:
            size = self._moments.unit**2
            nothing = traces[0] <= numbers.ROUNDING * self._moments.total / size
            q = 0.0 if nothing else numbers.q_limit(traces, level) * size
        t2 = numbers.t2_limit(self._record.effective_n, rank, level)
        return pd.Series({"T2": t2, "Q": q}, name=f"{level:g}")
