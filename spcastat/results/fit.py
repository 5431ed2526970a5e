"""The result of a fit: labelled loadings, scores and variances, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from spcastat.config import one_of
from spcastat.engine import Fit, Plan
from spcastat.errors import NoRowsError, ShapeError
from spcastat.intake import replay
from spcastat.measures import MEASURES, adjusted_variances
from spcastat.results.source import Source
from spcastat.results.summary import Summary, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.plots import BiplotData


class SpcaResult:
    """A fitted sparse PCA.

    Results are made by :func:`spcastat.spca` and :func:`spcastat.spca_cov`, not by hand. Everything is
    labelled with the user's own names; components are PC1, ..., PCk. Variances have the divisor n - 1 (the
    sum of the weights less one).
    """

    def __init__(self, source: Source, plan: Plan, fit: Fit, again: Callable[..., SpcaResult]):
        self._source = source
        self._plan = plan
        self._fit = fit
        self._again = again
        self._V = fit.solution.V

    # --- the components -------------------------------------------------------------------------

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk."""
        return pd.Index([f"PC{i + 1}" for i in range(self._V.shape[1])])

    @cached_property
    def loadings(self) -> pd.DataFrame:
        """Loadings, p x k; every column has unit length and its largest absolute entry is positive."""
        return pd.DataFrame(self._V.copy(), index=self._source.spec.columns, columns=self.components)

    @cached_property
    def card(self) -> pd.Series:
        """Number of nonzero loadings of each component."""
        return pd.Series(np.count_nonzero(self._V, axis=0), index=self.components, name="card")

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Scores, n x k, in the order and with the labels of the rows that were kept.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix.
        """
        self._need_rows("scores")
        assert self._source.standard is not None
        values = self._source.standard.project(self._source.matrix, self._V)
        return pd.DataFrame(values, index=self._source.index, columns=self.components)

    # --- variance -------------------------------------------------------------------------------

    @cached_property
    def _score_covariance(self) -> np.ndarray:
        return self._source.op.products(self._V)

    @cached_property
    def variance(self) -> pd.DataFrame:
        """Variance of each component under every definition, one row a component.

        ``cardinality``; ``score variance`` and ``adjusted variance`` in squared units of the (scaled) data;
        ``share of total``, the adjusted variance over the total variance; and four cumulative shares of
        the total: adjusted, PEV, least squares, and what dense PCA explains with as many components.
        """
        op = self._source.op
        adjusted = adjusted_variances(self._V, op)
        return pd.DataFrame(
            {
                "cardinality": self.card,
                "score variance": np.diag(self._score_covariance),
                "adjusted variance": adjusted,
                "share of total": adjusted / op.total,
                "cumulative adjusted": np.cumsum(adjusted) / op.total,
                "cumulative PEV": MEASURES["pev"](self._V, op),
                "cumulative least squares": MEASURES["least_squares"](self._V, op),
                "cumulative PCA": np.cumsum(self._fit.pca) / op.total,
            },
            index=self.components,
        )

    @property
    def total_variance(self) -> float:
        """The sum of the variances of all variables."""
        return self._source.op.total

    def measure(self, name: str) -> float:
        """Return one measure of all components together, as a fraction.

        Parameters
        ----------
        name : {"pev", "rre", "adjusted", "relative_adjusted", "least_squares"}
            See :mod:`spcastat.measures`.
        """
        measure = MEASURES[one_of("name", name, MEASURES)]
        return float(measure(self._V, self._source.op)[-1])

    @cached_property
    def score_correlation(self) -> pd.DataFrame:
        """Correlations between the scores, k x k; NaN beside a component without variance."""
        C = self._score_covariance
        sd = np.sqrt(np.diag(C).clip(min=0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = (C / np.outer(sd, sd)).clip(-1.0, 1.0)
        np.fill_diagonal(correlation, np.where(sd > 0, 1.0, np.nan))
        return pd.DataFrame(correlation, index=self.components, columns=self.components)

    @cached_property
    def loading_products(self) -> pd.DataFrame:
        """Inner products V'V of the loadings, k x k: zero off the diagonal where they are orthogonal."""
        return pd.DataFrame(self._V.T @ self._V, index=self.components, columns=self.components)

    # --- how it was found -----------------------------------------------------------------------

    @property
    def method(self) -> str:
        """Name of the method."""
        return self._plan.method.name

    @property
    def status(self) -> str:
        """How the fit ended: "converged", "exact" (no iteration needed) or "max_iter"."""
        return self._fit.solution.status

    @property
    def converged(self) -> bool:
        """Whether the fit ended by itself."""
        return self.status != "max_iter"

    @property
    def n_iter(self) -> int:
        """Number of sweeps or steps."""
        return self._fit.solution.n_iter

    @property
    def objective_value(self) -> float:
        """Value of the method's own criterion, in variance units; `summary()` names it."""
        return self._fit.solution.objective

    @cached_property
    def details(self) -> pd.DataFrame:
        """What the method reports of each component, such as its penalty; no columns where it is nothing."""
        return pd.DataFrame(self._fit.solution.details, index=self.components)

    # --- new data -------------------------------------------------------------------------------

    def transform(self, new: Any, na: str = "raise") -> pd.DataFrame:
        """Return the scores of new rows: the formula, centre and scale of the fit are applied to them.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table
            Must hold the columns that the fit used; further columns of a frame are ignored.
        na : {"raise", "drop"}
            What to do with rows that have missing values.

        Returns
        -------
        DataFrame of shape (n_new, k)

        Raises
        ------
        NewDataError
            Where columns are missing, or a factor has a level that the fit did not see.
        NoRowsError
            For a fit of a covariance matrix that was given without `mean`.
        """
        if self._source.standard is None:
            raise NoRowsError(
                "transform() needs the mean of the variables, and a covariance matrix does not have it; fit "
                "with spca_cov(S, ..., mean=..., scale=...) (scale only for a correlation matrix)."
            )
        matrix, index = replay(self._source.spec, new, na=na)
        return pd.DataFrame(
            self._source.standard.project(matrix, self._V), index=index, columns=self.components
        )

    def inverse_transform(self, scores: Any) -> pd.DataFrame:
        """Return the rows, n x p, that lie in the span of the loadings and have these scores.

        T (V'V)^-1 V', rescaled, plus the mean; by least squares where V'V is singular.

        Parameters
        ----------
        scores : array-like of shape (n, k)
        """
        if self._source.standard is None:
            raise NoRowsError(
                "inverse_transform() needs the mean of the variables; fit with spca_cov(S, ..., mean=...)."
            )
        T = np.array(scores, dtype=float)
        k = self._V.shape[1]
        if T.ndim != 2 or T.shape[1] != k:
            raise ShapeError(f"scores has shape {T.shape}; it must have {k} columns, one a component.")
        if isinstance(scores, pd.DataFrame) and list(scores.columns) != list(self.components):
            raise ShapeError(
                f"scores has the columns {list(scores.columns)}; they must be {list(self.components)} in "
                "this order (or give an array)."
            )
        fitted = np.linalg.lstsq(self._V.T, T.T, rcond=None)[0].T
        index = scores.index if isinstance(scores, pd.DataFrame) else None
        return pd.DataFrame(
            self._source.standard.restore(fitted), index=index, columns=self._source.spec.columns
        )

    def refit(self, **changes: Any) -> SpcaResult:
        """Fit again with some arguments changed; a new `card`, `variance` or `t` replaces the old control.

        Parameters
        ----------
        **changes
            Arguments of the call that made this fit, such as ``card=5`` or ``scale=True``.
        """
        return self._again(**changes)

    # --- what people see ------------------------------------------------------------------------

    def summary(self, digits: int = 3) -> Summary:
        """Return header, loadings and variances as text, HTML, LaTeX or Markdown."""
        return summarise(
            self._source,
            self._plan,
            self._fit,
            self.loadings,
            self.variance,
            self._largest_correlation,
            digits,
        )

    @property
    def _largest_correlation(self) -> float:
        C = self.score_correlation.to_numpy()
        off = np.abs(C[~np.eye(len(C), dtype=bool)])
        return float(np.nanmax(off)) if np.isfinite(off).any() else 0.0

    def __repr__(self) -> str:
        return self.summary().as_text()

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def print_loadings(
        self, digits: int = 3, cutoff: float = 0.0, sort: bool = False, contributions: bool = False
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
        """
        from spcastat.tables import Document, loadings_table, render

        table = loadings_table(
            self.loadings, digits=digits, cutoff=cutoff, sort=sort, contributions=contributions
        )
        print(render(Document(title="", facts=(), tables=(table,), notes=()), "text"))

    def biplot(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        scale: float = 1.0,
        groups: Any = None,
        labels: int | Literal["all"] = 10,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw rows and the nonzero loadings on two components; see :func:`spcastat.plots.biplot`."""
        self._need_rows("biplot")
        from spcastat import plots

        return plots.biplot(
            self.scores,
            self.loadings,
            components=components,
            scale=scale,
            shares=self.variance["share of total"],
            groups=groups,
            labels=labels,
            ax=ax,
        )

    def biplot_data(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        scale: float = 1.0,
        groups: Any = None,
        labels: int | Literal["all"] = 10,
    ) -> BiplotData:
        """Return what `biplot` draws."""
        self._need_rows("biplot")
        from spcastat import plots

        return plots.biplot_data(
            self.scores, self.loadings, components=components, scale=scale, groups=groups, labels=labels
        )

    def screeplot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the adjusted variances beside those of dense PCA; see :func:`spcastat.plots.screeplot`."""
        from spcastat import plots

        return plots.screeplot(self.variance, ax=ax)

    def screeplot_data(self) -> pd.DataFrame:
        """Return what `screeplot` draws."""
        from spcastat import plots

        return plots.screeplot_data(self.variance)

    def plot_loadings(
        self,
        *,
        kind: str = "dots",
        max_rows: int = 40,
        components: Sequence[int | str] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the loadings as dots or as a heat map; see :func:`spcastat.plots.plot_loadings`."""
        from spcastat import plots

        return plots.plot_loadings(self.loadings, kind=kind, max_rows=max_rows, components=components, ax=ax)

    def plot_loadings_data(
        self, *, max_rows: int = 40, components: Sequence[int | str] | None = None
    ) -> pd.DataFrame:
        """Return what `plot_loadings` draws."""
        from spcastat import plots

        return plots.plot_loadings_data(self.loadings, max_rows=max_rows, components=components)

    def _need_rows(self, what: str) -> None:
        if not self._source.has_rows:
            raise NoRowsError(
                f"{what} needs rows, and this is a fit of a covariance matrix. Fit the rows with "
                "spca(data, ...), or give mean= (and scale=) to spca_cov and use transform(rows)."
            )
