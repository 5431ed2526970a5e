"""What every result has: labelled loadings, scores and variances, and the way to new data."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd

from spcastat.config import one_of
from spcastat.errors import NoRowsError, ShapeError
from spcastat.intake import Spec, replay
from spcastat.intake.checks import rows_of
from spcastat.measures import MEASURES
from spcastat.operators import Standardisation
from spcastat.progress import listening
from spcastat.results.carried import Carried
from spcastat.results.disk import file_path
from spcastat.results.exported import write_scores
from spcastat.results.handed import handed, own
from spcastat.results.moments import Moments
from spcastat.results.record import Record
from spcastat.results.source import Source
from spcastat.streams import open_stream


class Core(Carried):
    """Loadings, scores and variances under the user's own names, and new data.

    Parameters
    ----------
    V : ndarray of shape (p, k)
    record : Record
    moments : Moments
    spec : Spec
        How raw data become columns.
    standard : Standardisation or None
    source : Source or None
        The data; None for a fit from a file.
    scores : DataFrame or None
        Scores that a file kept.
    again : callable or None
        Repeats the call with changes.
    """

    def __init__(
        self,
        V: np.ndarray,
        record: Record,
        moments: Moments,
        spec: Spec,
        standard: Standardisation | None,
        source: Source | None = None,
        scores: pd.DataFrame | None = None,
        again: Callable[..., Any] | None = None,
    ):
        self._V = V
        self._record = record
        self._moments = moments
        self._spec = spec
        self._standard = standard
        self._source = source
        self._kept_scores = scores
        self._again = again

    # --- the components -------------------------------------------------------------------------

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk."""
        return pd.Index([f"PC{i + 1}" for i in range(self._V.shape[1])])

    @property
    def loadings(self) -> pd.DataFrame:
        """Loadings, p x k; every column has unit length and its largest absolute entry is positive."""
        return pd.DataFrame(self._V.copy(), index=own(self._spec.columns), columns=self.components)

    @property
    def card(self) -> pd.Series:
        """Number of nonzero loadings of each component."""
        return pd.Series(np.count_nonzero(self._V, axis=0), index=self.components, name="card")

    @handed
    def scores(self) -> Any:
        """Scores, n x k, in the order and with the labels of the rows that were kept.

        A DataFrame. For data that are never all in memory they are
        :class:`~spcastat.streams.scores.ScoreChunks`, which give a DataFrame for each chunk when they are
        iterated over; for collections of dask they are one of its own.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix, or from a file that was saved without scores.
        """
        if self._kept_scores is not None:
            return self._kept_scores
        if self._source is not None and self._source.stream is not None:
            return self._source.stream.scores(self._need_centre("scores"), self._V, self.components)
        source = self._rows("scores")
        assert self._standard is not None
        values = self._standard.project(source.matrix, self._V)
        return pd.DataFrame(values, index=source.index, columns=self.components)

    # --- variance -------------------------------------------------------------------------------

    @property
    def variance(self) -> pd.DataFrame:
        """Variance of each component under every definition, one row a component.

        ``cardinality``; ``score variance`` and ``adjusted variance`` in squared units of the (scaled) data;
        ``share of total``, the adjusted variance over the total variance; and four cumulative shares of
        the total: adjusted, PEV, least squares, and what dense PCA explains with as many components.
        """
        moments = self._moments
        total = moments.total
        return pd.DataFrame(
            {
                "cardinality": self.card,
                "score variance": np.diag(moments.scores),
                "adjusted variance": moments.adjusted,
                "share of total": moments.adjusted / total,
                "cumulative adjusted": np.cumsum(moments.adjusted) / total,
                "cumulative PEV": moments.measure("pev"),
                "cumulative least squares": moments.measure("least_squares"),
                "cumulative PCA": np.cumsum(moments.pca) / total,
            },
            index=self.components,
        )

    @property
    def total_variance(self) -> float:
        """The sum of the variances of all variables."""
        return self._moments.total

    def measure(self, name: str) -> float:
        """Return one measure of all components together, as a fraction.

        Parameters
        ----------
        name : {"pev", "rre", "adjusted", "relative_adjusted", "least_squares"}
            See :mod:`spcastat.measures`.
        """
        return float(self._moments.measure(one_of("name", name, MEASURES))[-1])

    @handed
    def score_correlation(self) -> pd.DataFrame:
        """Correlations between the scores, k x k; NaN beside a component without variance."""
        C = self._moments.scores
        sd = np.sqrt(np.diag(C).clip(min=0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = (C / np.outer(sd, sd)).clip(-1.0, 1.0)
        np.fill_diagonal(correlation, np.where(sd > 0, 1.0, np.nan))
        return pd.DataFrame(correlation, index=self.components, columns=self.components)

    @handed
    def loading_products(self) -> pd.DataFrame:
        """Inner products V'V of the loadings, k x k: zero off the diagonal where they are orthogonal."""
        return pd.DataFrame(self._V.T @ self._V, index=self.components, columns=self.components)

    # --- how it was found -----------------------------------------------------------------------

    @property
    def method(self) -> str:
        """Name of the method."""
        return self._record.method

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method, those left at their defaults too."""
        return own(self._record.options)

    @property
    def call(self) -> str:
        """The call that makes this fit again, with `data` for the data."""
        return self._record.call

    @property
    def status(self) -> str:
        """How the fit ended: "converged", "exact" (no iteration needed) or "max_iter"."""
        return self._record.status

    @property
    def converged(self) -> bool:
        """Whether the fit ended by itself."""
        return self._record.converged

    @property
    def n_iter(self) -> int:
        """Number of sweeps or steps."""
        return self._record.n_iter

    @property
    def objective_value(self) -> float:
        """Value of the method's own criterion, in variance units; `summary()` names it."""
        return self._record.objective

    @handed
    def optima(self) -> pd.DataFrame:
        """The distinct local optima that several starts or a joint search met, the best first.

        ``objective``, a share of the total variance, and ``hits``, how often it was met. No rows for a method
        whose starts are not compared.
        """
        return pd.DataFrame(self._record.optima, columns=["objective", "hits"]).astype(
            {"objective": float, "hits": int}
        )

    @handed
    def details(self) -> pd.DataFrame:
        """What the method reports of each component, such as its penalty; no columns where it is nothing."""
        return pd.DataFrame(own(self._record.details), index=self.components)

    # --- new data -------------------------------------------------------------------------------

    def transform(self, new: Any, na: str = "raise") -> Any:
        """Return the scores of new rows: the formula, centre and scale of the fit are applied to them.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks
            Must hold the columns that the fit used; further columns of a frame are ignored. The sources of
            chunks are those of :func:`spcastat.spca`.
        na : {"raise", "drop"}
            What to do with rows that have missing values.

        Returns
        -------
        DataFrame of shape (n_new, k)
            For a source of chunks what `scores` has for one.

        Raises
        ------
        NewDataError
            Where columns are missing, or a factor has a level that the fit did not see.
        NoRowsError
            For a fit of a covariance matrix that was given without `mean`.
        """
        standard = self._need_centre("transform()")
        stream = open_stream(new, spec=self._spec, na=na)
        if stream is not None:
            return stream.scores(standard, self._V, self.components)
        matrix, index = replay(self._spec, new, na=na)
        return pd.DataFrame(standard.project(matrix, self._V), index=own(index), columns=self.components)

    def transform_to(
        self, path: str | PathLike[str], new: Any = None, na: str = "raise", progress: Any = False
    ) -> None:
        """Write scores to a Parquet file, a chunk at a time.

        Parameters
        ----------
        path : str or path
            What was there before is replaced once all is written; if anything fails, it stays.
        new : optional
            Rows as for `transform`; by default those of the fit.
        na : {"raise", "drop"}
            What to do with rows of `new` that have missing values.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Raises
        ------
        FileError
            Where the file cannot be written, or rows cannot be read.
        OptionError
            Where `path` is where these rows or those of the fit are read from, or no path, or pyarrow is
            not installed.
        """
        path = self._target(path)
        one_of("na", na, ("raise", "drop"))
        source = None if self._source is None else self._source.stream
        if new is not None:
            source = open_stream(new, spec=self._spec, na=na)
        if source is not None:
            source.spare(path)
        if new is None:
            scores = self._scores
        elif source is None:
            scores = self.transform(new, na)
        else:
            scores = source.scores(self._need_centre("transform_to()"), self._V, self.components)
        with listening(progress):
            write_scores(scores, path)

    def inverse_transform(self, scores: Any) -> pd.DataFrame:
        """Return the rows, n x p, that lie in the span of the loadings and have these scores.

        T (V'V)^-1 V', rescaled, plus the mean; by least squares where V'V is singular.

        Parameters
        ----------
        scores : array-like of shape (n, k)
        """
        standard = self._need_centre("inverse_transform()")
        T = rows_of(scores, "scores", self._V.shape[1])
        if isinstance(scores, pd.DataFrame) and list(scores.columns) != list(self.components):
            raise ShapeError(
                f"scores has the columns {list(scores.columns)}; they must be {list(self.components)} in "
                "this order (or give an array)."
            )
        fitted = np.linalg.lstsq(self._V.T, T.T, rcond=None)[0].T
        index = own(scores.index) if isinstance(scores, pd.DataFrame) else None
        return pd.DataFrame(standard.restore(fitted), index=index, columns=own(self._spec.columns))

    # --- what is there --------------------------------------------------------------------------

    @property
    def _scores(self) -> Any:
        """The scores as they are kept: not to be written to, nor handed out."""
        return Core.scores.kept(self)

    def _without_data(self) -> Self:
        """Return the fit as a file with scores gives it."""
        scores = self._scores if self._kept_scores is not None or self._source is not None else None
        return type(self)(
            self._V, self._record, self._moments.settled(), self._spec, self._standard, scores=scores
        )

    def _measure_if_known(self, name: str) -> float:
        """Return a measure, NaN where the file of the fit does not have it."""
        known = name in self._moments.known_measures()
        return float(self._moments.measure(name)[-1]) if known else float("nan")

    @property
    def _largest_correlation(self) -> float:
        C = self.score_correlation.to_numpy()
        off = np.abs(C[~np.eye(len(C), dtype=bool)])
        return float(np.nanmax(off)) if np.isfinite(off).any() else 0.0

    def _target(self, path: Any) -> PathLike[str]:
        """Return what a user gave as a file to write; refuse where the rows of the fit are read from."""
        target = file_path(path)
        if self._source is not None and self._source.stream is not None:
            self._source.stream.spare(target)
        return target

    def _need_centre(self, what: str) -> Standardisation:
        if self._standard is None:
            raise NoRowsError(
                f"{what} needs the mean of the variables, and a covariance matrix does not have it; fit with "
                "spca_cov(S, ..., mean=..., scale=...) (scale only for a correlation matrix)."
            )
        return self._standard

    def _rows(self, what: str) -> Source:
        """Return the data of the fit, or say why there are none in memory."""
        if self._source is not None and self._source.has_rows:
            return self._source
        if self._source is not None and self._source.stream is not None:
            every = (
                "in chunks, and scores.to_frame() all of them"
                if self._source.stream.local
                else "as a collection of dask, and scores.compute() all of them"
            )
            raise NoRowsError(
                f"{what} needs the rows in memory, and those of {self._source.title} come in chunks. Take "
                "some of them, e.g. transform(sample) or diagnostics(sample); `scores` gives the scores "
                f"{every}."
            )
        if self._record.from_rows:
            raise NoRowsError(
                f"{what} needs the rows, and a fit from a file does not have them: use transform(data) or "
                "diagnostics(data) with the data, save with scores=True to keep the scores, or fit again: "
                f"{self.call}."
            )
        raise NoRowsError(
            f"{what} needs rows, and this is a fit of a covariance matrix. Fit the rows with "
            "spca(data, ...), or give mean= (and scale=) to spca_cov and use transform(rows)."
        )
