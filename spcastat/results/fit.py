"""The result of a fit: numbers, tables, plots, inference, proofs and files."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast, overload

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.arguments import attribute_error, checked_level, explained, is_whole, one_of
from spcastat.errors import OptionError
from spcastat.fit import frames, outliers, rows, supplementary
from spcastat.fit.archive import file_path
from spcastat.fit.call import card_by_number, names_for
from spcastat.fit.record import deep_copy
from spcastat.fit.saved_fits import read_state
from spcastat.measures import MEASURES
from spcastat.results import interpretation, proofs, resampling
from spcastat.results.component_fit import (
    FITS_INSTEAD,
    FORMER,
    RESULTS,
    ComponentFit,
    FitInference,
    inference_of,
    sheets_of,
    showing,
    with_results,
)
from spcastat.results.interpretation import Scales, Supplement
from spcastat.results.loadings import SparseLoadings
from spcastat.results.outliers import Outliers
from spcastat.results.principal_variables import PrincipalVariablesResult
from spcastat.results.proofs import Certificate
from spcastat.results.resampling import Bootstrap, Drawing, LoadingTest, SplitInference, Stability
from spcastat.show import methods_text
from spcastat.show.facts import drawn_shares
from spcastat.show.grid import VariableArrangement
from spcastat.show.methods_text import Description
from spcastat.show.renderings import Screen, Summary
from spcastat.show.report import write_report
from spcastat.show.resampling_templates import intervals_label
from spcastat.show.summary import NOTEBOOK, Extras, print_of_fit, summarise
from spcastat.show.workbook import write_workbook

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat import hints
    from spcastat.plots.captions import BiplotData


class SpcaResult(ComponentFit):
    """A fitted sparse PCA.

    The most important methods, by topic:

    - Tables: ``print(fit)``, `loadings`, `variance`, `scores`, ``transform(new)``; also `summary`, `tidy`,
      `augment`, `glance`, `communalities`, `correlations`, `cos2`, `contributions`, `measure`, `equations`.
    - Plots: `biplot`, `plot_loadings`, `screeplot`; also `plot_scores`, `plot_correlations`,
      `plot_diagnostics`.
    - Text and files: `report`, `describe`, `save`; also `to_excel`, `transform_to`.
    - Inference and proofs: `stability`, `bootstrap`, `certify`; also `split_inference`, `test_loadings`,
      `adopt`. `with_inference` returns a fit that shows their results, which `inference` contains.
    - Rows: `diagnostics`, `residuals`, `limits`, `inverse_transform`, `imputed`, `completed`.
    - Supplementary data, names, new fits: `supplement`, `describe_components`, `scales`, `rename`,
      `refit`.
    - How it was fitted: `call`, `method`, `options`, `status`, `converged`, `details`, `optima`.

    Fits are returned by :func:`spcastat.spca`, :func:`spcastat.spca_cov` and :func:`spcastat.load`. All
    output uses the names in the data as labels; components are PC1, ..., PCk. Variances have the divisor n
    - 1 (the sum of the weights minus one).

    Results are immutable: methods return new results, and attributes are copies that cannot be set. Results
    can be pickled and copied: pickles include data in memory, so `refit` works after loading, but not rows in
    chunks. `save` writes a file without data that later versions can read.

    Parameters
    ----------
    state : FitState
    source : Data or None
        The data; None for a fit from a file.
    call : Call or None
        The call that made the fit; None for a fit from a file.
    """

    _instead, _former = FITS_INSTEAD, FORMER

    if not TYPE_CHECKING:  # type checkers report attributes that do not exist

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError; the error translates names of other programs."""
            if name in self._former or hasattr(type(self), name):
                return super().__getattr__(name)  # raises the error of the property again
            raise attribute_error(self, name)

    # --- components -----------------------------------------------------------------------------

    @property
    def loadings(self) -> pd.DataFrame:
        """Loadings, p x k; every column has unit length and its largest absolute entry is positive."""
        return frames.loadings(self._state)

    @property
    def card(self) -> pd.Series:
        """Number of nonzero loadings of each component, length k."""
        return pd.Series(np.count_nonzero(self._state.V, axis=0), index=self.components, name="card")

    # --- variance -------------------------------------------------------------------------------

    @property
    def variance(self) -> pd.DataFrame:
        """The variance of each component under every definition, one row per component.

        ``cardinality``; ``score variance`` and ``adjusted variance`` in squared units of the (scaled) data;
        ``share of total``, the adjusted variance over the total variance; and four cumulative shares of the
        total: adjusted, PEV, least squares, and the share that dense PCA explains with the same number of
        components. If a fit was saved by a version that lacked a measure, the table has no column for this
        measure.
        """
        return frames.variance(self._state)

    @property
    def eigenvalues(self) -> pd.Series:
        """Variances of the dense principal components, descending, in squared units of the (scaled) data.

        All min(n - 1, p) variances are given if the smaller dimension of the data is at most 3000 and the fit
        has its data; otherwise the first k.
        """
        values = frames.spectrum(self._state)
        return pd.Series(values, index=[f"PC{j + 1}" for j in range(len(values))], name="eigenvalue")

    @property
    def component_shares(self) -> pd.DataFrame:
        """Share of the total variance of each component, independent of their order, k x 3.

        Each share is explained by least-squares regressions of the variables on scores:

        ``alone``
            the share that this score explains by itself;
        ``average``
            the share that the score adds, averaged over all orders in which the components can enter
            (Lindeman, Merenda and Gold; Shapley value). These add up to ``measure("least_squares")``. They
            are NaN with more than 12 components;
        ``last``
            the share that is lost if the component is left out.

        For uncorrelated scores the three are equal.
        """
        return frames.component_shares(self._state)

    def measure(self, name: hints.MeasureName) -> float:
        """Return one measure of all components together, as a fraction.

        Parameters
        ----------
        name : {"pev", "rre", "adjusted", "relative_adjusted", "least_squares"}
            See :mod:`spcastat.measures`.

        Raises
        ------
        OptionError
            If there is no measure of this name.

        See Also
        --------
        variance : All measures, by component.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> round(fit.measure("pev"), 3)
        0.359
        """
        return float(self._state.moments.measure(one_of("name", name, MEASURES))[-1])

    # --- variables and components ---------------------------------------------------------------

    @property
    def communalities(self) -> pd.Series:
        """Share of the variance of each variable, length p, that regression on all scores explains.

        Their mean, weighted by the variances of the variables, is the least-squares share,
        ``measure("least_squares")``. The value is NaN for a constant variable.
        """
        return frames.communalities(self._state)

    @property
    def rotated(self) -> pd.DataFrame:
        """The rotated dense loadings, p x k, from which a fit with ``method="rotate"`` selects variables.

        They are eigenvectors times the roots of their eigenvalues, rotated: the correlations of standardised
        variables with the rotated components, as in factor analysis.

        Raises
        ------
        NotRotatedError
            For a fit by another method.
        """
        return frames.rotated(self._state)

    @property
    def score_correlations(self) -> pd.DataFrame:
        """Correlations between the scores, k x k; NaN for a component without variance.

        `glance` reports the largest absolute correlation.
        """
        return frames.score_correlation(self._state)

    def contributions(self, of: hints.Of = "variables") -> pd.DataFrame:
        """Return the contribution of each variable, or row, to each component; contributions sum to 1.

        Parameters
        ----------
        of : {"variables", "rows"}
            For variables, squared loadings, p x k. For rows, (weighted) squared scores over their sum, n x k.

        Raises
        ------
        NoRowsError
            For rows, if the fit does not have them in memory.

        See Also
        --------
        cos2 : The share of each variable's variance that a component explains.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> round(float(fit.contributions()["PC1"].sum()), 6)
        1.0
        """
        if one_of("of", of, frames.OF) == "variables":
            return self._state.by_variable(self._state.V**2)
        source = rows.need_rows(self._state, self._source, "contributions('rows')")
        return frames.row_contributions(deep_copy(self._scores), source.weights)

    def cos2(self, of: hints.Of = "variables") -> pd.DataFrame:
        """Return the squared cosines: how well each component represents each variable, or row.

        Parameters
        ----------
        of : {"variables", "rows"}
            For variables, squared correlations with the scores, p x k. For rows, squared cosines between
            the centred row and the loadings, n x k. Sums over components are at most 1 only if the scores
            are uncorrelated, or the loadings orthogonal; `communalities` gives the share that all scores
            explain.

        Raises
        ------
        NoRowsError
            For rows, if the fit does not have them in memory.

        See Also
        --------
        contributions : The share of each variable in a component.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.cos2().shape
        (12, 2)
        """
        if one_of("of", of, frames.OF) == "variables":
            return frames.correlations(self._state) ** 2
        rows.need_rows(self._state, self._source, "cos2('rows')")
        return frames.row_cos2(self._state, deep_copy(self._scores), self._distances["Q"].to_numpy())

    def describe_components(
        self,
        variables: pd.DataFrame | pd.Series | hints.ArrowTable | Supplement | None = None,
        *,
        alpha: float = 0.05,
    ) -> Summary:
        """Return the variables associated with each component, including supplementary ones, with tests.

        Parameters
        ----------
        variables : DataFrame, Series or Supplement, optional
            Supplementary variables, as for `supplement`.
        alpha : float in (0, 1]
            Only rows of the table with a p-value up to this level are returned; 1 returns all rows.

        Returns
        -------
        Summary
            A table that prints. The frame ``frames["components"]`` has one row for each component and
            variable, the strongest first: "component"; "kind" ("variable" of the fit, "supplementary" number,
            "factor", "level"); "term"; "loading" of a variable; "estimate" (a correlation for a number, the
            share of the variance of the score between levels for a factor, the mean score for a level);
            "statistic", which is t, F, or a test value; "p_value". Variables with a nonzero loading have no
            statistic and no p-value.

        See Also
        --------
        supplement : Supplementary rows and variables, with plots.

        Notes
        -----
        The tests treat the component as fixed. Variables with a nonzero loading define it and are not tested;
        the p-values of the other variables of the fit tend to be too large in noise, because variables with
        larger correlations were selected. The p-values of supplementary variables are valid.

        Examples
        --------
        >>> import spcastat as sp
        >>> wine = sp.datasets.load_wine()
        >>> table = sp.spca(wine, 2, card=4, scale=True).describe_components(wine.index.to_series())
        >>> table.frames["components"]["component"].unique().tolist()
        ['PC1', 'PC2']
        """
        if isinstance(variables, Supplement):
            values = variables._associations
        elif variables is not None:
            values = interpretation.further_variables(self._state, self._source, self._row_scores, variables)
        else:
            values = None
        frame = supplementary.describe(self._state, values, alpha)
        document = interpretation.associations_document(frame, alpha)
        return interpretation.ComponentAssociations(document, {"components": frame})

    def supplement(
        self,
        rows: hints.Table | pd.Series | None = None,
        variables: pd.DataFrame | pd.Series | hints.ArrowTable | None = None,
        *,
        na: hints.Missing | None = None,
    ) -> Supplement:
        """Return scores of supplementary rows, and associations of supplementary variables with components.

        Parameters
        ----------
        rows : DataFrame, array, sparse matrix, polars or pyarrow table, optional
            Rows as for `transform`, for which scores and squared cosines are returned. A single Series is
            treated as a variable.
        variables : DataFrame or Series, optional
            Values for each row of the fit, matched by row labels; labels 0, 1, ... are matched by position if
            the rows of the fit have other labels. For numbers, correlations with the scores are returned; for
            factors (text, categories, booleans), the mean score of each level with its test value, (mean of
            the level - overall mean) divided by its standard error under random sampling of the level without
            replacement. Rows with a missing value are left out for that variable.
        na : {"raise", "drop", "em", "pairwise"}, optional
            Treatment of missing values in `rows`, as for `transform`. Squared cosines need all columns.

        Returns
        -------
        Supplement
            Frames and tables; ``biplot(supplement=...)`` and ``plot_correlations(supplement=...)`` draw it.

        Raises
        ------
        OptionError
            If neither rows nor variables are given.
        NoRowsError
            For variables, if the rows of the fit are not in memory.
        ShapeError, ColumnTypeError, DataError
            If the variables have other rows or unsuitable types.

        See Also
        --------
        describe_components : One table of all associations.
        biplot : Draws supplementary rows and variables.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> rows = sp.datasets.load_judges()
        >>> more = fit.supplement(variables=rows[["contacts"]])
        >>> print(type(more).__name__)
        Supplement
        """
        if isinstance(rows, pd.Series) and variables is None:
            rows, variables = None, rows
        return interpretation.supplement(self._state, self._source, self._row_scores, rows, variables, na)

    def scales(self) -> Scales:
        """Return the components as scales: sums of their variables with the signs of the loadings.

        The variables are summed in the units of the analysis: standardised with ``scale=True``, and in the
        units of the data otherwise. For each component there are Cronbach's alpha, raw and standardised,
        omega, the mean correlation of its variables, and the correlation of the sum with the component; for
        each variable the correlation with the sum of the other variables, and the largest absolute
        correlation with the sum of another component.

        Returns
        -------
        Scales
            `table`, `items`, and `kept`, the share of the adjusted variance that unit weights retain.

        Raises
        ------
        NoRowsError
            For a fit from a file, which has no data. A fit of a covariance matrix is accepted.

        See Also
        --------
        equations : The components with their weights.

        Notes
        -----
        Omega is (sum l)^2 / 1'R1, where l are the loadings of one common factor by minimum residuals
        (McDonald, 1999). Alpha, mean and item-rest correlations are defined as in the R package psych. They
        are optimistic, since the same rows were used to choose the variables.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> scales = fit.scales()
        >>> scales.kept > 0.9
        True
        """
        if self._source is None:
            raise self._state.no_data("scales()")
        self._source.require_same()
        return Scales(supplementary.numbers(self._state, self._source))

    # --- rows of the fit and new rows -----------------------------------------------------------

    def transform_to(
        self,
        path: hints.Path,
        new: hints.Rows | None = None,
        *,
        na: hints.Missing | None = None,
        progress: hints.Progress = None,
    ) -> None:
        """Write scores to a Parquet file, chunk by chunk.

        Parameters
        ----------
        path : str or path
            An existing file is replaced when the new one is complete, and is not changed if there is an
            error.
        new : optional
            New rows, as for `transform`; by default the rows of the fit.
        na : {"raise", "drop", "em", "pairwise"}, optional
            The treatment of rows of `new` with missing values, as for `transform`.
        progress : bool or callable, optional
            As for :func:`spcastat.spca`.

        Raises
        ------
        FileError
            If the file cannot be written, or rows cannot be read.
        OptionError
            If `path` is not a path or is a file from which these rows or the rows of the fit are read, or if
            pyarrow is not installed.

        See Also
        --------
        transform : Scores as a data frame.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.transform_to("scores.parquet")  # doctest: +SKIP
        """
        rows.transform_to(self._state, self._source, path, new, na, progress)

    @property
    def robust(self) -> Outliers:
        """The outlying cells and rows of a fit with ``robust=``: tables, and a map of the cells.

        Raises
        ------
        OptionError
            For fits without ``robust=``.
        """
        outliers.cleaning_of(self._state)
        return Outliers(self._state, self._source)

    def inverse_transform(self, scores: hints.Matrix, k: int | None = None) -> pd.DataFrame:
        """Return the rows in the span of the loadings that have the given scores, n x p.

        They are T (V'V)^-1 V', rescaled, plus the mean; the pseudoinverse is used if V'V is singular.

        Parameters
        ----------
        scores : array-like of shape (n, k)
        k : int, optional
            Number of leading components to use, 0 for the mean only; `scores` may have just these columns.

        Raises
        ------
        ShapeError
            If the scores have a wrong number of columns or wrong names.
        ComponentsError
            If `k` exceeds the number of components.
        NoRowsError
            For a fit of a covariance matrix given without `mean`.

        See Also
        --------
        transform : Scores of rows.
        residuals : Rows minus their reconstruction.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.inverse_transform(fit.scores).shape
        (43, 12)
        """
        return rows.inverse_transform(self._state, scores, k)

    @overload
    def augment(
        self, new: hints.Matrix | None = None, *, na: hints.Missing | None = None
    ) -> pd.DataFrame: ...
    @overload
    def augment(self, new: hints.EagerT, *, na: hints.Missing | None = None) -> hints.EagerT: ...
    def augment(self, new: Any = None, *, na: hints.Missing | None = None) -> Any:
        """Return the data with the scores appended as columns ``.fittedPC1`` and so on.

        Parameters
        ----------
        new : DataFrame, array, polars or pyarrow table, optional
            Rows as for `transform`; all columns and labels are kept. By default the fitted columns are
            used.
        na : {"raise", "drop", "em", "pairwise"}, optional
            With "drop", rows with missing values are kept with missing scores, as in R's broom; otherwise as
            for `transform`. Missing values of the data remain missing.

        Returns
        -------
        DataFrame, or a polars or Arrow table if one was given

        Raises
        ------
        DuplicateNamesError
            If a column already has the name of a score.

        See Also
        --------
        scores : The scores alone.
        tidy : Loadings in long form.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.augment().shape
        (43, 14)
        """
        return rows.augment(self._state, self._source, new, na)

    @overload
    def diagnostics(
        self, new: hints.Matrix | None = None, *, na: hints.Missing | None = None
    ) -> pd.DataFrame: ...
    @overload
    def diagnostics(  # type: ignore[overload-overlap]
        self, new: hints.EagerT, *, na: hints.Missing | None = None
    ) -> hints.EagerT: ...
    @overload
    def diagnostics(self, new: hints.Chunks, *, na: hints.Missing | None = None) -> pd.DataFrame: ...
    def diagnostics(self, new: Any = None, *, na: hints.Missing | None = None) -> Any:
        """Return Hotelling's T2 and the squared residual Q of the rows of the fit, or of new rows, n x 2.

        "T2" is Hotelling's t'C^-1 t, where C is the covariance matrix of the scores: the squared Mahalanobis
        distance of the scores from the mean. If scores are linearly dependent, the generalised inverse of C
        is used. "Q" is the squared residual: the squared distance from the span of the loadings, in squared
        units of the (scaled) data. Its (weighted) sum divided by n - 1 equals
        ``(1 - measure("pev")) * total_variance``, or less if missing values were replaced by conditional
        means.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks, optional
            Rows as for `transform`, with all columns of the fit.
        na : {"raise", "drop", "em", "pairwise"}, optional
            As for `transform`. With "pairwise", rows with missing values have no distances.

        Returns
        -------
        DataFrame with "T2" and "Q", or a polars or Arrow table if one was given
            For the rows of a robust fit there are also "distance", the robust distance of the scores; "kept",
            whether the fit uses the row; and "cells", the number of outlying cells in the row. For a fit of
            rows on dask workers, the distances of a random sample of 2000 rows (without labels), with a
            warning.

        Raises
        ------
        NoRowsError
            Without `new`, if the fit does not have its rows.

        See Also
        --------
        limits : The limits of both statistics.
        plot_diagnostics : The plot.
        residuals : Rows minus their reconstruction.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.diagnostics().shape[0]
        43
        """
        rows.require_gaps_rule(na)
        if new is not None:
            return rows.diagnostics_in_kind(self._state, new, na)
        if self._source is not None and self._source.distributed:
            return interpretation.sampled_diagnostics(self._sampled_rows)
        return deep_copy(self._distances)

    def limits(self, level: float = 0.95) -> pd.Series:
        """Return limits of T2 and Q: quantiles at `level` of their distributions for new rows.

        Parameters
        ----------
        level : float in (0, 1)

        Returns
        -------
        Series with "T2" and "Q"
            T2: k (n^2 - 1) / (n (n - k)) F(level; k, n - k), where k is the rank of the scores; chi-squared
            if n is not known. Q: Jackson and Mudholkar (1979), from the eigenvalues of the covariance matrix
            of the residuals; NaN if both dimensions of the data exceed 3000.

        See Also
        --------
        diagnostics : The statistics of each row.

        Notes
        -----
        Both limits assume that the rows are independent draws from one normal distribution and that the
        loadings are fixed. Since the loadings were fitted to the rows of the fit, these rows are below the
        limits more often than new rows are.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> limits = fit.limits()
        """
        return frames.limits(self._state, level)

    @property
    def residuals(self) -> pd.DataFrame:
        """Rows of the fit minus ``inverse_transform(scores)``, n x p, in the units of the data.

        Residuals of missing values are missing; with ``na="pairwise"`` all residuals of a row are missing if
        one of its scores is missing.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix, from a file, or of rows in chunks, whose residuals may not fit
            into memory; ``diagnostics()["Q"]`` contains their squared norms.
        DataError
            For sparse data with more than 50 million entries, as residuals are dense; ``diagnostics()["Q"]``
            contains their squared norms.
        """
        return rows.residuals(self._state, self._source)

    @property
    def imputed(self) -> pd.DataFrame:
        """The rows of a fit with ``na="em"``, n x p, with missing values replaced by conditional means.

        The means are shrunk according to the columns measured in each row; see :func:`spcastat.spca`. The
        frame has the labels of the rows and of the fitted columns (with a formula, the columns that it
        creates). In columns of whole numbers the means are not rounded.

        Imputed values are for inspection and for methods that do not accept missing values. They vary less
        than measured values would; the covariances of the fit account for this, but a table of imputed values
        cannot.

        Raises
        ------
        NotImputedError
            For a fit without ``na="em"``.
        NoRowsError
            For a fit from a file, which has no data.
        """
        return rows.imputed(self._state, self._source)

    @property
    def completed(self) -> pd.DataFrame:
        """The rows of a fit with ``na="em"`` after imputation, with one column for each factor.

        With ``scale="mixed"`` a missing level is replaced by the level with the largest indicator in
        `imputed`. Otherwise the frame equals `imputed`.

        Raises
        ------
        NotImputedError
            For a fit without ``na="em"``.
        NoRowsError
            For a fit from a file, which has no data.
        """
        return rows.completed(self._state, self._source)

    @property
    def scores_sd(self) -> pd.DataFrame:
        """The standard deviations of the scores of each row between imputations, n x k.

        `scores` contains the means. The standard deviation is zero for a row without missing values, since
        the centre and scale of the variables are means over imputations.

        Raises
        ------
        NotImputedError
            For a fit without ``imputations=``.
        NoRowsError
            For a fit from a file, which has no data.
        """
        return rows.scores_sd(self._state, self._source)

    # --- resampling -----------------------------------------------------------------------------

    def bootstrap(
        self,
        n: int = 999,
        *,
        select: bool = True,
        search: Literal["near", "quick"] | None = None,
        choice: hints.ParallelAnalysis | None = None,
        data: hints.Rows | None = None,
        rng: hints.Rng = None,
        n_jobs: int = 1,
        progress: hints.Progress = None,
    ) -> Bootstrap:
        """Return bootstrap intervals for loadings and variances.

        In every draw of rows with replacement, columns are centred and scaled, formulas are re-estimated, and
        variables are selected again, for the same objective, numbers of components and cardinalities as in
        the fit. Components are matched with the components of the fit by the correlation of their scores,
        without rotation.

        Parameters
        ----------
        n : int
            Number of draws, 3 or more. Intervals of 95 % need at least 39 draws; fewer draws give only
            standard errors and shares.
        select : bool
            Whether variables are selected again in each draw. False keeps the variables of the fit, which is
            not valid if the same data selected them.
        search : {"near", "quick"}, optional
            The search in each draw, for fits by the default method. "quick", the default for up to 1000
            variables, searches from several starts of the draw and from the loadings of the fit; the fits of
            draws are as good as fits with ``effort="quick"``. "near" searches only from the loadings of the
            fit and from PCA of the draw. It takes about half of the time, but may miss better fits of a draw
            that are far from the fit. Its intervals describe variation near this solution only, and the
            shares of draws are too large if other solutions explain nearly as much.
        choice : ComponentChoice or Choice, optional
            The result of :func:`spcastat.choose_k`, or of :func:`spcastat.choose` without `k`, for the data
            of the fit: printed intervals mark components beyond this number. The fit of
            :func:`spcastat.choose` already includes it.
        data : optional
            The data of the fit, for a fit from a file.
        rng : None, int or numpy Generator
            Seed of the draws. None uses a fixed seed.
        n_jobs : int
            Number of processes; -1 for all processors. The result does not depend on it.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        Bootstrap
            After Ctrl-C the result covers the completed draws and is marked as interrupted.

        Raises
        ------
        NoRowsError
            For a covariance matrix without `n_obs`.
        WeightsError
            For frequency weights that are not whole numbers; a row of weight 2 counts as two rows.
        TooFewRowsError
            If there are fewer than three rows.
        DataError
            If 100 successive samples have too low a rank or a constant column to scale, or if `data` differ
            from the data of the fit.

        See Also
        --------
        stability : How often halves of the rows select each variable.
        split_inference : Selection and inference on different rows.
        test_loadings : Permutation tests.

        Notes
        -----
        The search in a draw improves its starts, and exchanges single variables in the best of them. The
        quick search has 5 starts (28 for PEV and least squares, and for disjoint components): PCA of the
        draw, its varimax rotation, and random rotations of twice as many directions. For adjusted variance
        with 100 draws or more, only the first 50 draws are fitted in this way; each later draw starts from
        PCA of the draw, and from the three of these 50 fits that are best for the draw. Only "near" is
        available for more than 1000 variables, where it makes no exchanges, and for groups of all variables
        (``disjoint=True`` without `card`). After a fit with ``variance=`` the draws use its cardinalities.
        Other methods fit a draw as they fit the data; methods with starts also use the loadings of the fit as
        a start.

        For a covariance matrix with `n_obs`, draws are Wishart matrices, scaled to unit variances if the
        matrix has unit variances. If rows come in chunks, a random sample of at most 50,000 rows (and at
        most 64 million values) is drawn in one pass; the intervals are then valid for a fit of that many
        rows, as the printed output reports. Clusters, strata, blocks and sampling weights of the fit are
        used, as docs/data.md describes.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> boot = fit.bootstrap(99, rng=0)
        >>> list(boot.conf_int().columns)[:5]
        ['component', 'term', 'estimate', 'std_error', 'lower']
        """
        fit = self._drawing(data, rng, n_jobs, progress)
        draws = resampling.bootstrap(fit, n, select=select, search=search, choice=choice)
        return Bootstrap(self._state, draws)

    def stability(
        self,
        n: int = 50,
        *,
        threshold: float = 0.75,
        min_correlation: float = 0.8,
        data: hints.Rows | None = None,
        rng: hints.Rng = None,
        n_jobs: int = 1,
        progress: hints.Progress = None,
    ) -> Stability:
        """Return how often fits of complementary halves of the rows select each loading.

        Each half is fitted by the method of the fit, with the same cardinalities, if any. The default
        method searches each half from starts computed from this half alone, as ``effort="quick"`` does.

        Parameters
        ----------
        n : int
            Number of pairs of halves.
        threshold : float in (0.5, 1]
            Loadings selected with at least this frequency are called stable.
        min_correlation : float in (0, 1]
            Variables whose absolute correlations are all at least this large form a cluster.
        data, rng, n_jobs, progress
            As for `bootstrap`.

        Returns
        -------
        Stability

        Raises
        ------
        NoRowsError, WeightsError, DataError
            As for `bootstrap`.
        TooFewRowsError
            If a half has too few rows for k components.

        See Also
        --------
        bootstrap : Intervals.
        test_loadings : Permutation tests.

        Notes
        -----
        The bound of Shah and Samworth (2013), JRSS B 75, requires that the selection in a half depends on
        that half alone. Fits of halves use only the numbers of components and of nonzero loadings from the
        fit, and the order and names of the components: the components of a half are matched with the
        components of the fit by the correlation of their scores. With more than 1000 variables the search of
        a half improves PCA and its varimax rotation, without exchanges. Selection from half of the rows has
        less power, so frequencies are conservative and weak signals are missed.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> halves = fit.stability(10, rng=0)
        >>> halves.frequency.shape
        (12, 2)
        """
        fit = self._drawing(data, rng, n_jobs, progress)
        halves = resampling.stability(fit, n, threshold=threshold, min_correlation=min_correlation)
        return Stability(self._state, halves)

    def split_inference(
        self,
        n: int = 999,
        *,
        repeats: int = 1,
        data: hints.Rows | None = None,
        rng: hints.Rng = None,
        n_jobs: int = 1,
        progress: hints.Progress = None,
    ) -> SplitInference:
        """Select variables on one half of the rows, and estimate their associations on the other half.

        The weights are computed from the first half. The second half gives the correlation of each selected
        variable with the score of the other selected variables, and an interval for it. The selected
        variables may differ from the variables of the fit.

        Parameters
        ----------
        n : int
            Number of bootstrap samples of the second half, 2 or more, for the variances.
        repeats : int
            Number of splits. Intervals are computed from the first split. The p-values of several splits
            are combined, so that they hardly depend on any single split. Usually 25 or more splits are
            made, for which ``n=199`` is sufficient.
        data, rng, n_jobs, progress
            As for `bootstrap`; another `rng` gives another split.

        Returns
        -------
        SplitInference

        Raises
        ------
        NoRowsError, WeightsError, DataError, TooFewRowsError
            As for `stability`.

        See Also
        --------
        bootstrap : Intervals that include the selection.
        stability : How often halves select each variable.

        Notes
        -----
        The correlation is a smooth function of the moments of the second half, whatever the first half
        selected, so its intervals are also valid in noise, where eigenvectors are not identified: Rinaldo,
        Wasserman and G'Sell (2019), Annals of Statistics 47. The standard error of Fisher's z is computed by
        the jackknife, which leaves out each of m rows or clusters, or each of 200 sets of them; quantiles are
        from the t distribution with m - 2 degrees of freedom. For blocks in time, strata and covariance
        matrices it is computed from the draws, and multiplied by sqrt(m / (m - 3)). The p-values of splits
        are combined by the method of Meinshausen, Meier and Bühlmann (2009), JASA 104, with quantiles from
        .05 to 1.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> split = fit.split_inference(rng=0)
        """
        fit = self._drawing(data, rng, n_jobs, progress)
        return SplitInference(self._state, resampling.split_inference(fit, n, repeats=repeats))

    def test_loadings(
        self,
        n: int = 999,
        *,
        fdr: Literal["bh", "by"] = "bh",
        data: hints.Rows | None = None,
        rng: hints.Rng = None,
        n_jobs: int = 1,
        progress: hints.Progress = None,
    ) -> LoadingTest:
        """Test by permutation whether each variable is associated with each component.

        The null hypothesis is that the variable is independent of all others. The statistic is its
        correlation with the score of the component in a fit without the variable, after regressing out the
        scores of the other components; it is studentised, so the tests are also valid for rows of
        unequal size, in which uncorrelated variables are not independent. All variables are tested, whether
        selected by the fit or not: the q-values, computed over all variables and components, account for the
        selection, while the p-values of selected variables alone are small even in noise.

        Parameters
        ----------
        n : int
            Number of permutations. The smallest p-value is 1 / (n + 1).
        fdr : {"bh", "by"}
            Control of the false discovery rate over all variables and components: Benjamini and Hochberg, for
            independent or positively dependent tests, or Benjamini and Yekutieli, for any dependence.
        data, rng, n_jobs, progress
            As for `bootstrap`.

        Returns
        -------
        LoadingTest

        Raises
        ------
        NoRowsError
            For a covariance matrix, which has no rows to permute.
        WeightsError
            Also for sampling weights.
        DataError
            As for `bootstrap`.
        ComponentsError
            If there are as many components as variables.

        See Also
        --------
        stability : How often halves of the rows select each variable.
        bootstrap : Intervals.

        Notes
        -----
        The fit without a variable starts from PCA of the other variables, so it does not depend on the
        variable left out. The statistic is the sum of the products of variable and score, divided by the root
        of the sum of their squares, as proposed by DiCiccio and Romano (2017), JASA 112. With c nonzero
        loadings among p k loadings, the smallest possible q is about p k / (c (n + 1)), so many variables
        require many permutations.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> tests = fit.test_loadings(99, rng=0)
        """
        fit = self._drawing(data, rng, n_jobs, progress)
        return LoadingTest(self._state, resampling.test_loadings(fit, n, fdr=fdr))

    # --- inference that a fit shows ---------------------------------------------------------------

    def with_inference(
        self, *results: Bootstrap | Stability | SplitInference | LoadingTest | Certificate
    ) -> Self:
        """Return the same fit with `results` in all of its output and files.

        The printed output, `summary`, `tidy`, `plot_loadings`, `report`, `describe`, `to_excel` and `save`
        then include these results. Methods such as `bootstrap` only return their results and do not change
        the fit.

        Parameters
        ----------
        *results : Bootstrap, Stability, SplitInference, LoadingTest or Certificate
            Results of `bootstrap`, `stability`, `split_inference`, `test_loadings` and `certify` of this fit.
            The last result of each kind is shown, and replaces one that the fit already shows; proofs for
            different measures are different kinds, and so are joint proofs and proofs of single components.

        Returns
        -------
        SpcaResult

        Raises
        ------
        OptionError
            If an argument is not such a result, or is a result of another fit (with other loadings or
            variables).

        See Also
        --------
        inference : The results that a fit shows.
        bootstrap, stability, split_inference, test_loadings, certify : Methods with such results.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.pitprops_sample(), k=2, card=3, scale=True)
        >>> full = fit.with_inference(fit.bootstrap(20), fit.stability(5))
        >>> list(full.inference)
        ['bootstrap', 'stability']
        """
        return self._with_state(with_results(self._state, results, RESULTS))

    @property
    def inference(self) -> FitInference:
        """The results that this fit shows (see `with_inference`), by name; read-only.

        The names are "bootstrap", "stability", "split_inference", "test_loadings" and "certificates". Saved
        files contain these results, so a fit read from a file also shows them.
        """
        return cast("FitInference", MappingProxyType(inference_of(self._state)))

    # --- proofs ---------------------------------------------------------------------------------

    def certify(
        self,
        *,
        joint: bool | None = None,
        objective: hints.Objective | None = None,
        time_limit: float | None = None,
        max_nodes: int | None = None,
        progress: hints.Progress = None,
    ) -> Certificate:
        """Prove upper bounds on the objective, and so on how much the fit could be improved.

        By default a fit that maximises a measure of all components together (adjusted variance, PEV, or the
        least-squares share, see ``fit.options["objective"]``) is compared by this measure with all fits of
        the same cardinalities, in any order, as with ``joint=True``. A fit by a method that finds one
        component after another has no such measure: each component is compared, by the adjusted variance that
        it adds, with the best component given the earlier ones (Schur complement, in the order shown), as
        with ``joint=False``. Components are also compared one by one in three other cases: for a fit of one
        component by adjusted variance or PEV, which are then equal; if a component adds no variance to the
        earlier ones; and if no joint proof is available for the rule for supports (`together`, or a forced
        variable with a loading of zero).

        A bound may be loose but is always valid, even if the search is stopped early. For nonnegative
        loadings the bound ignores the sign constraint. Under a rule for the supports (`include`, `exclude`,
        `disjoint`), each component is compared with supports that the rule allows (for disjoint components,
        supports that share no variable with earlier components); a joint bound applies to loadings under the
        rule, or is reported as a bound without it. If the search chose the groups (`disjoint` without
        `card`), the joint bound covers all partitions of the variables into the same number of groups of any
        sizes; for more than 16 variables it is dense PCA. The bounds are also valid under a constraint
        (``constraint=``); a fit with orthogonal loadings is compared, by PEV, with orthogonal loadings alone.

        Parameters
        ----------
        joint : bool, optional
            True compares all components together, False each component given the earlier ones, by the
            adjusted variance that it adds. By default this depends on the objective of the fit, as described
            above; a given `objective` implies True.
        objective : {"pev", "adjusted", "least_squares"}, optional
            The measure of a joint proof; by default the objective of the fit, or PEV.
        time_limit : float, optional
            Limit in seconds for all components together; by default 10 for a joint proof, and 60 for proofs
            of single components. Ctrl-C also ends the search, and returns the bounds found so far.
        max_nodes : int, optional
            Largest number of branch-and-bound nodes, per component or for the joint search.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        Certificate
            Its `table` contains the bounds, `sentence` states what is proven, and `loadings` are the best
            loadings found.

        Raises
        ------
        OptionError
            If ``joint=False`` is given with `objective`, or if a joint proof is requested under `together`.
        NoRowsError
            For a fit from a file, which has no data.

        See Also
        --------
        adopt : The better loadings that a proof may find.

        Examples
        --------
        >>> import spcastat as sp
        >>> pair = sp.spca_cov(sp.datasets.load_pitprops(), 2, card=2)
        >>> pair.certify().sentence[:14]
        'Proven optimal'
        """
        source = proofs.need_data(self._state, self._source, "certify()")
        return proofs.prove(
            self._state,
            source,
            joint=joint,
            objective=objective,
            time_limit=time_limit,
            max_nodes=max_nodes,
            progress=progress,
        )

    def adopt(self, certificate: Certificate) -> Self:
        """Return the better fit found by a certificate of this fit, or this fit if none was found.

        A joint proof may find a better fit of all components, and a proof of single components better
        supports for each component. The supports are combined one after another, each with the best loadings
        given the earlier components. "Better" refers to the measure of the proof. Joint proofs remain valid
        for the new fit, whose output includes them.

        Parameters
        ----------
        certificate : Certificate
            The result of :meth:`certify` of this fit.

        Returns
        -------
        SpcaResult

        Raises
        ------
        OptionError
            If `certificate` is not a certificate, or belongs to a fit with other variables or cardinalities,
            or if this fit is nonnegative.
        NoRowsError
            For a fit from a file, which has no data.

        See Also
        --------
        certify : The proof that finds better loadings.

        Examples
        --------
        >>> import spcastat as sp
        >>> pair = sp.spca_cov(sp.datasets.load_pitprops(), 2, card=2, method="greedy")
        >>> proof = pair.certify(joint=True, objective="pev")
        >>> better = pair.adopt(proof)
        >>> better.measure("pev") > pair.measure("pev")
        True
        """
        source = proofs.need_data(self._state, self._source, "adopt()")
        better_state = proofs.better_fit(self._state, source, certificate)
        return self if better_state is None else type(self)(better_state, source, self._call)

    # --- summaries and tidy frames --------------------------------------------------------------

    def summary(
        self,
        digits: int = 3,
        max_rows: int | None = None,
        *,
        tables: Literal["all", "loadings", "variance"] = "all",
        sort: bool | None = None,
        sections: hints.Sections | None = None,
        cut: float = 0.0,
        contributions: bool = False,
        communality: bool = False,
        dense: bool = False,
        conf_int: bool | Bootstrap = False,
        level: float = 0.95,
        stars: bool | LoadingTest = False,
    ) -> Summary:
        """Return the header, loadings and variances of the fit, as text, HTML, LaTeX, Markdown or Word.

        Parameters
        ----------
        digits : int
            Decimals of the loadings, 0 to 10; the decimals of other numbers are adjusted accordingly.
        max_rows : int, optional
            The largest number of variables to show; those with the largest loadings of each component are
            chosen. By default all variables with a nonzero loading are shown.
        tables : {"all", "loadings", "variance"}
            Everything, or only the table of loadings or of variances, without the header.
        sort : bool, optional
            Whether to order the variables by the component on which they load most, then by the size of that
            loading; False keeps the order of the data. By default tables of more than 25 variables are
            sorted.
        sections : Series, mapping or sequence of length p, optional
            The section of each variable, such as the scale of a questionnaire; variables of a section are
            listed together under its name.
        cut : float
            Loadings smaller than this in absolute value are printed as "."; a note gives their number.
        contributions : bool
            Whether to show squared loadings in percent in place of the loadings; this excludes `conf_int`,
            `dense` and `stars`.
        communality : bool
            Whether to add a column: the share of the variance that regression on all scores explains.
        dense : bool
            Whether to show the loadings of the first k dense principal components next to the sparse ones.
        conf_int : bool or Bootstrap
            Whether to show intervals below the loadings. Pass a result of `bootstrap` to show its intervals,
            or True for the intervals that the fit shows (see `with_inference`).
        level : float in (0, 1)
            The confidence level of these intervals.
        stars : bool or LoadingTest
            Whether to mark loadings by q-values: `*` up to .05, `**` up to .01, `***` up to .001. Pass a
            result of `test_loadings`, or True for the tests that the fit shows.

        Returns
        -------
        Summary
            It prints as text; `as_latex` and other methods write other formats, and `frames` contains the
            numbers.

        Raises
        ------
        OptionError
            If intervals or stars are requested by True for a fit that shows none, if they are results of
            another fit, or if they are requested with ``contributions=True``.
        NoRowsError
            If dense loadings are requested and the fit was read from a file, without data.

        See Also
        --------
        report : A page with tables and figures.
        tidy : Loadings as a data frame.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> latex = fit.summary(tables="loadings").as_latex()
        """
        state, intervals = showing(self._state, "conf_int", conf_int, {Bootstrap: "bootstrap()"})
        state, marks = showing(state, "stars", stars, {LoadingTest: "test_loadings()"})
        return summarise(
            state,
            self._source,
            digits,
            VariableArrangement(sort, max_rows, sections, cut),
            tables=tables,
            extras=Extras(contributions, communality, dense, intervals, level, marks),
        )

    def equations(
        self, digits: int = 3, *, raw: bool = False, max_terms: int | None = None, width: int = 80
    ) -> str:
        """Write each component as an equation without the zero terms.

        Parameters
        ----------
        digits : int
            Number of decimals; with `raw`, of significant figures.
        raw : bool
            Whether to write the equations in the original units of the data, with the constant due to
            centring. By default the variables are centred and scaled as in the fit.
        max_terms : int, optional
            The largest number of terms to write for a component, those with the largest loadings; the number
            of omitted terms is given.
        width : int
            Characters per line, 40 or more.

        Returns
        -------
        str
            One equation per component, wrapped, and a line such as "(in the centred and scaled variables)";
            an interactive session displays it with line breaks.

        See Also
        --------
        loadings : The coefficients as a table.
        transform : Scores of new rows.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> print(str(fit.equations()).splitlines()[0])
        PC1 = 0.566 diligence + 0.585 case_flow + 0.581 decisions
        """
        return methods_text.equations(self._state, digits, raw=raw, max_terms=max_terms, width=width)

    def tidy(
        self, *, zeros: bool = False, conf_int: bool | Bootstrap | Stability = False, level: float = 0.95
    ) -> pd.DataFrame:
        """Return the loadings in long form, one row per loading: "term", "component", "loading".

        Parameters
        ----------
        zeros : bool
            Whether to include loadings that are zero.
        conf_int : bool, Bootstrap or Stability
            Whether to include a result of `bootstrap` ("std_error", "lower", "upper", "selected") or of
            `stability` ("frequency"); True includes the results that the fit shows (see `with_inference`).
            The limits are NaN for loadings that no draw selected.
        level : float in (0, 1)
            Level of the intervals.

        Raises
        ------
        OptionError
            If ``conf_int=True`` is given for a fit that shows neither, or if a result belongs to another fit.

        See Also
        --------
        glance : One row of numbers.
        augment : The data with scores.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> list(fit.tidy().columns)[:3]
        ['term', 'component', 'loading']
        """
        kinds: dict[type, str] = {Bootstrap: "bootstrap()", Stability: "stability()"}
        state, is_wide = showing(self._state, "conf_int", conf_int, kinds)
        return frames.tidy(state, zeros, is_wide, level)

    def glance(self) -> pd.DataFrame:
        """Return one row for the fit: its size, nonzero loadings, measures and convergence.

        "score_correlation" is the largest absolute correlation between two scores; "n_iter" is the number of
        iterations, of steps, or of the starts of a search, depending on the method.

        See Also
        --------
        tidy : One row for each nonzero loading.
        augment : The data with scores.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.glance().shape[0]
        1
        """
        return frames.glance(self._state)

    def describe(self, choice: hints.DescribedChoice | None = None) -> Description:
        """Return a paragraph that describes this fit for a methods section, with its references.

        It reports the data and their scaling, the treatment of missing values and weights, the numbers of
        components and loadings, the method and its objective, the explained variance by its definition, the
        results of resampling and of proofs, and the version of the package.

        Parameters
        ----------
        choice : Choice, optional
            The result of `choose`, if the paragraph should also report how the numbers of components and
            loadings were chosen. The fit of a choice, ``choice.fit``, already includes it.

        Returns
        -------
        Description
            It prints as text; its parts are `text`, `references` and `bibtex`.

        Raises
        ------
        OptionError
            If `choice` is not a result of `choose`.

        See Also
        --------
        report : A page with tables and figures.
        glance : One row of numbers.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> print(fit.describe().references[-1].split(". ")[0])
        The spcastat developers
        """
        return methods_text.describe(self._state, choice)

    # --- files ----------------------------------------------------------------------------------

    def report(
        self,
        path: hints.Path,
        *,
        title: str | None = None,
        call: str | None = None,
        full_names: bool = True,
        sort: bool | None = None,
        max_rows: int | None = None,
        sections: hints.Sections | None = None,
        digits: int = 3,
        cut: float = 0.0,
        groups: hints.ByRow | None = None,
    ) -> None:
        """Write a report with tables, plots, the call and the versions, as one HTML page or a Word file.

        The page is self-contained, has no scripts, works on phones, in dark mode, with screen readers and in
        print, and offers each figure as SVG. A Word file contains native tables, whose headers are repeated
        on every page, and figures of 300 dpi with captions and text alternatives.

        Parameters
        ----------
        path : str or path
            A name with the extension .html or .htm for a page, or .docx for Word, which needs an optional
            dependency: ``pip install 'spcastat[docx]'``.
        title : str, optional
            The title of the report.
        call : str, optional
            The code that reproduces the fit, if it is not the recorded `call`.
        full_names : bool
            Whether the tables show long names in full; otherwise names are shortened, and a key lists them.
        sort, max_rows, sections, digits, cut
            Selection, order and format of the variables in the tables, as for `summary`. `sections` are also
            used in the figure of the loadings.
        groups : Series, Categorical or array of length n, or str, optional
            Groups of rows, for colours and markers in the figures, or the name of a column of the data.

        Raises
        ------
        FileError
            If the file cannot be written, or its name has another extension.
        ExtraError
            If a Word file is requested and python-docx is not installed.
        OptionError
            If `path` is the file from which the rows of the fit are read.

        See Also
        --------
        summary : Tables in several formats.
        describe : The paragraph for a methods section.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.report("judges.html")  # doctest: +SKIP
        """
        write_report(
            self._state,
            self._source,
            (),
            path,
            title=title,
            call=call,
            full_names=full_names,
            arrangement=VariableArrangement(sort, max_rows, sections, cut),
            digits=digits,
            row_groups=self._by_row(groups, "groups"),
        )

    def to_excel(self, path: hints.Path) -> None:
        """Write a workbook with sheets of loadings, variances, correlations and scores, in full precision.

        Scores are written if they are in memory, and results that the fit shows (see `with_inference`) are
        written to additional sheets. This needs an optional dependency: ``pip install 'spcastat[excel]'``.

        Parameters
        ----------
        path : str or path
            Name of the workbook, with the extension .xlsx.

        Raises
        ------
        ExtraError
            If openpyxl is not installed.
        FileError
            If the file cannot be written, or its name has another extension.
        OptionError
            If there are more rows or variables than a sheet can contain, or if the rows of the fit are read
            from this file.

        See Also
        --------
        summary : Tables in other formats.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.to_excel("judges.xlsx")  # doctest: +SKIP
        """
        if self._source is not None:
            self._source.spare(file_path(path))
        sheets = {
            "loadings": self.loadings,
            "variance": self.variance,
            "correlations": self.correlations,
            "score correlations": self.score_correlations,
        }
        if self._state.scores is not None or (self._source is not None and self._source.holds_scores):
            sheets["scores"] = self.scores
        if self._state.cleaning is not None:
            sheets |= {f"outlying {name}": frame for name, frame in self.robust.frames.items()}
        write_workbook(path, sheets | sheets_of(inference_of(self._state)))

    # --- how it was fitted ----------------------------------------------------------------------

    @property
    def method(self) -> hints.MethodName:
        """Name of the method; ``spcastat.methods(name)`` describes it."""
        return cast("hints.MethodName", self._state.record.method)

    @property
    def objective_value(self) -> float:
        """Value of the method's own criterion, in variance units; `summary()` names it."""
        return self._state.record.objective

    @property
    def optima(self) -> pd.DataFrame:
        """The distinct local optima reached by several starts or a joint search, best first.

        ``objective`` is a share of the total variance, and ``hits`` the number of times it was reached. The
        frame is empty for a method whose starts are not compared.
        """
        return frames.optima(self._state)

    @property
    def details(self) -> pd.DataFrame:
        """Results of the method for each component, such as the penalty; the frame may have no columns."""
        return pd.DataFrame(deep_copy(self._state.record.details), index=self.components)

    def refit(self, **changes: Unpack[hints.Changes]) -> SpcaResult:
        """Fit again with some arguments changed; a new `card`, `variance` or `t` replaces any of the three.

        Parameters
        ----------
        **changes
            Arguments of the call that made this fit, such as ``card=5`` or ``scale=True``. The keys of a
            mapping `card` may be names of the components of this fit; components that it leaves out keep
            their numbers of nonzeros.

        Returns
        -------
        SpcaResult
            A fit of the same rows. Components keep their names.

        Raises
        ------
        DataError
            If the data are read again, as for ``na="drop"``, and have changed since the fit.
        NoRowsError
            For a fit from a file, which has no data.

        See Also
        --------
        adopt : The fit with better loadings found by a proof.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.refit(card=4).card.tolist()
        [4, 4]
        """
        state, source, call = self._state, self._source, self._call
        if call is None or source is None:
            raise state.no_data("refit()")
        changed: dict[str, Any] = {**changes}
        if "card" in changed:
            k = changed.get("k")
            changed["card"] = card_by_number(state, changed["card"], int(k) if is_whole(k) else None)
        new_fit: SpcaResult = call.repeat(source, changed)
        return new_fit.rename(names_for(state, new_fit.components)) if state.record.names else new_fit

    # --- plots ----------------------------------------------------------------------------------

    def biplot(
        self,
        *,
        components: hints.Pair = (1, 2),
        scale: float = 1.0,
        arrows: Literal["loadings", "correlations"] = "loadings",
        max_arrows: int | None = 12,
        groups: hints.ByRow | None = None,
        color: hints.ByRow | None = None,
        palette: hints.Palette | None = None,
        outline: hints.Outline | None = None,
        level: float = 0.95,
        centroids: bool = False,
        labels: hints.RowLabels | None = None,
        new: hints.Table | None = None,
        supplement: Supplement | None = None,
        blocks: bool | None = None,
        note: bool = True,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw rows as points, and the variables of two components as bars in the margins and as arrows.

        For sparse components the middle of the plot shows only the points. A block of bars below the axes
        shows the loadings of the horizontal component with the names of the variables, the largest first. A
        second block, beside or below the axes, shows the loadings of the vertical component on the same
        scale. Bars of negative loadings are hollow. A variable with loadings on both components also has an
        arrow, and a small arrow of the same direction after its name. A variable with a loading on only one
        component has no arrow, since it would lie along an axis. Arrows and points are named if there is
        room. For dense components, and with ``arrows="correlations"``, all variables have arrows, and the
        blocks are left out where the names of the arrows have room.

        Let s be the standard deviations of the two columns of scores. Points are scores / s^scale and arrows
        are loadings * s^scale, so for any scale their inner products equal the inner products of scores and
        loadings (Gabriel 1971). ``scale=1`` is R's ``biplot(prcomp(x), pc.biplot=TRUE)``; singular values, s
        * sqrt(n - 1), in place of s would only change both by a common factor. All arrows are multiplied by
        one common factor to reach as far as most of the points. ``biplot_data().caption`` states how both are
        scaled.

        The few rows farthest from all others, at most 1 % (or three) on a component, are drawn as triangles
        at the edge, so that the other rows are not compressed; the names of the farthest three include their
        coordinates if there is room.

        Parameters
        ----------
        components : two of int or str
            Two components, by number (from 1) or by name.
        scale : float
            A number from 0 to 1. With 1 the points are standardised scores, and lengths of arrows and angles
            between them approximate standard deviations and correlations of the variables. With 0 the points
            are the scores themselves, and distances between points are distances between rows within the
            components.
        arrows : {"loadings", "correlations"}
            With "correlations" the arrows are the correlations of the variables with the two scores,
            stretched by a common factor; arrows of variables without a nonzero loading are faint.
        max_arrows : int, optional
            The largest number of arrows; the longest are drawn. For ``arrows="correlations"`` variables with
            a nonzero loading come first. None draws all.
        groups : Series, Categorical or array of length n, optional
            Groups that set colours and markers of the points; at most 20. A Series is matched by its
            labels. The legend lists the groups in the order of the categories, or of their values. A string
            names a column of the fitted data.
        color : Series or array of length n, optional
            Numbers that are shown as colours, with a colour bar. A string names a column of the fitted data.
        palette : mapping, sequence of colours, or str, optional
            Colours of the groups (by group or in order), or the name of a colour map; for `color`, a colour
            map.
        outline : {"normal", "t", "hull"}, optional
            The outline of each group, or of all points if there are no groups: an ellipse that contains the
            share `level` of a normal distribution with the mean and covariance matrix of the group; an
            ellipse for a bivariate t distribution with 5 degrees of freedom, fitted by maximum likelihood,
            which is robust to outliers; or the convex hull. Groups of fewer than three points, or with all
            points on a line, have no outline.
        level : float in (0, 1)
            Probability of the ellipses.
        centroids : bool
            Whether the mean of each group is marked, and named if there is room; the caption counts them.
        labels : int, bool, sequence or Series, optional
            The rows to name if there is room. A number names this many rows, those farthest from the centre;
            True names all rows, and False none. A sequence gives one label per row ("" for none); a Series is
            matched by row label. By default the three farthest rows are named if the row labels are different
            texts. The caption states how many rows are named if `labels` is given.
        new : DataFrame, array, sparse matrix, polars or pyarrow table, optional
            New rows as for `transform`, drawn as crosses on the scale of the other rows, or as triangles at
            the edge if they are far outside.
        supplement : Supplement, optional
            The result of `supplement`: its rows are drawn as crosses, the means of levels as diamonds, and
            numeric variables as arrows if correlations are drawn.
        blocks : bool, optional
            Whether the variables are drawn as bars in the margins. Without bars, each variable with a nonzero
            loading has an arrow, if there are no more than `max_arrows`. By default there are no bars if all
            variables with a nonzero loading could have arrows, as those of dense components, and the names
            of the arrows that have room are hardly fewer than those of arrows and bars.
        note : bool
            Whether the caption of `biplot_data` is written below the plot, with as many sentences as leave
            room for the points.
        ax : Axes, optional
            By default a new figure is created. The bars occupy part of the space of given axes, which become
            smaller; ``ax.get_position()`` gives the position of the points after the first draw.

        Returns
        -------
        Axes

        Raises
        ------
        ComponentsError
            If there are fewer than two components, or one does not exist.
        OptionError
            If an option is out of range, there are too many groups, a colour is unknown, or `ax` is not an
            Axes.
        ShapeError
            If groups, labels or frames do not match.
        DataError
            If the scores of a component are constant, unless ``scale=0``.

        See Also
        --------
        biplot_data : The plotted values as data frames.
        plot_loadings : All components.
        plot_correlations : Variables on a circle.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> ax = fit.biplot()
        """
        scores = self._scores_to_draw("biplot")
        points = interpretation.further_points(self._state, new, supplement, arrows)
        axes = plots.biplot(
            scores,
            self.loadings,
            components=components,
            scale=scale,
            arrows=arrows,
            correlations=self.correlations,
            max_arrows=max_arrows,
            shares=drawn_shares(self._state),
            groups=self._by_row(groups, "groups"),
            color=self._by_row(color, "color"),
            palette=palette,
            outline=outline,
            level=level,
            centroids=centroids,
            labels=labels,
            **points,
            blocks=blocks,
            note=note,
            ax=ax,
        )
        return interpretation.with_sample(axes, scores) if note else axes

    def biplot_data(
        self,
        *,
        components: hints.Pair = (1, 2),
        scale: float = 1.0,
        arrows: Literal["loadings", "correlations"] = "loadings",
        max_arrows: int | None = 12,
        groups: hints.ByRow | None = None,
        color: hints.ByRow | None = None,
        labels: hints.RowLabels | None = None,
        new: hints.Table | None = None,
        supplement: Supplement | None = None,
        blocks: bool | None = None,
    ) -> BiplotData:
        """Return the data that `biplot` draws: positions and names of points and arrows.

        Parameters
        ----------
        components, scale, arrows, max_arrows, groups, color, labels, new, supplement, blocks
            As for `biplot`.

        Returns
        -------
        BiplotData
            `points`, `arrows`, `blocks`, `new` and `levels` are frames; `caption` states how they are scaled.

        See Also
        --------
        biplot : The plot.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> list(fit.biplot_data().points.columns)[:2]
        ['x', 'y']
        """
        points = interpretation.further_points(self._state, new, supplement, arrows)
        return plots.biplot_data(
            self._scores_to_draw("biplot"),
            self.loadings,
            components=components,
            scale=scale,
            arrows=arrows,
            correlations=self.correlations,
            max_arrows=max_arrows,
            groups=self._by_row(groups, "groups"),
            color=self._by_row(color, "color"),
            labels=labels,
            **points,
            shares=drawn_shares(self._state),
            blocks=blocks,
        )

    def plot_loadings(
        self,
        *,
        values: Literal["loadings", "contributions", "cos2"] = "loadings",
        kind: Literal["blocks", "table", "line", "image"] | None = None,
        sort: bool = True,
        max_rows: int | None = None,
        components: hints.Several | None = None,
        sections: hints.Sections | None = None,
        intervals: pd.DataFrame | None = None,
        conf_int: bool | Bootstrap = False,
        level: float = 0.95,
        x: Any = None,
        shape: tuple[int, int] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the nonzero loadings of each component, or contributions or squared cosines of the variables.

        The layout is computed when the figure is drawn, so names are as complete as the size of the axes
        allows. The plot states how many variables are left out.

        Parameters
        ----------
        values : {"loadings", "contributions", "cos2"}
            The values to draw, as returned by `loadings`, `contributions` or `cos2`.
        kind : {"blocks", "table", "line", "image"}, optional
            "blocks" lists the variables of each component with bars, which are hollow and point to the left
            for negative loadings; a variable on several components appears in the block of each, in italics
            if most variables are on one component. "table" shows coloured numbers, variables by components,
            with blanks for zeros. "line" draws a curve over all columns in their order for each component,
            with gaps at zeros, for spectra and series. "image" draws an image for each component, for pixels.
            The default is an image if `shape` is given; a line if `x` is given or 30 or more columns are
            named by increasing or decreasing numbers, perhaps with a unit (850, "850 nm", "X850"), unless
            these only number the columns; a table if the variables have nonzero loadings on more than 1.6
            components on average; otherwise blocks.
        sort : bool
            Whether blocks and tables show the largest absolute loading of each component first; otherwise the
            variables are in the order of the data.
        max_rows : int, optional
            The largest number of variables of blocks and tables; by default as many as there is room for. If
            more variables have a nonzero loading, variables are selected for each component in turn, by the
            largest remaining absolute loading.
        components : sequence of int or str, optional
            Components, by number (from 1) or by name; by default all.
        sections : Series, mapping or sequence of length p, optional
            The section of each variable, for blocks and tables. Variables of a section are shown together,
            with its name; sections are in the order of the categories or of their first variables.
        intervals : DataFrame, optional
            A frame with the columns "component", "term", "lower" and "upper", as returned by ``conf_int()``
            of a bootstrap. Blocks then show bars with intervals, paler if the interval includes zero, and
            also zero loadings whose interval excludes zero.
        conf_int : bool or Bootstrap
            Whether to draw intervals. Pass a result of `bootstrap` to draw its intervals, or True for the
            intervals that the fit shows (see `with_inference`); this excludes `intervals`.
        level : float in (0, 1)
            The confidence level of these intervals.
        x : sequence of p numbers, optional
            Positions of the columns, for lines; by default the numbers in their names.
        shape : (int, int), optional
            Height and width of an image, pixels row by row; needed for ``kind="image"``.
        ax : Axes, optional
            By default a new figure is created, as high as the variables need. The panels of lines and images,
            its ``child_axes``, are drawn inside it; the colour bar of images is the last.

        Returns
        -------
        Axes

        Raises
        ------
        ShapeError
            If sections, intervals, `x` or `shape` do not match the loadings.
        ComponentsError
            If a component does not exist.
        OptionError
            If `kind` or `max_rows` is out of range, an option does not apply to the kind or the values,
            `intervals` are given with `conf_int`, or `ax` is not an Axes.
        DataError
            If all values are zero.

        See Also
        --------
        biplot : Two components with the scores.
        loadings : The loadings as a data frame.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> ax = fit.plot_loadings()
        """
        one_of("values", values, ("loadings", "contributions", "cos2"))
        level = checked_level(level)
        state, has_intervals = showing(self._state, "conf_int", conf_int, {Bootstrap: "bootstrap()"})
        if has_intervals and intervals is not None:
            raise OptionError(
                "intervals= was given with conf_int=, which draws other intervals; give one of the two."
            )
        if values != "loadings" and (has_intervals or intervals is not None):
            name = "conf_int" if has_intervals else "intervals"
            raise OptionError(f"{name}= was given with values={values!r}; intervals are for loadings.")
        labels = {"loadings": "Loading", "contributions": "Contribution", "cos2": "Squared cosine"}
        if has_intervals:
            bootstrap = frames.intervals_shown(state, level)
            intervals = frames.conf_int(state, bootstrap, level)
            labels["loadings"] = intervals_label(level, bootstrap.draws)
        tables = {"loadings": lambda: self.loadings, "contributions": self.contributions, "cos2": self.cos2}
        value_table = tables[values]().fillna(0.0)
        is_map = (isinstance(kind, str) and kind in ("line", "image")) or x is not None or shape is not None
        if values == "cos2" and not is_map and (value_table.sum(axis=1) > 1.0 + 1e-9).any():
            labels["cos2"] += " (correlated scores: sums above 1)"
        return plots.plot_loadings(
            value_table,
            kind=kind,
            sort=sort,
            max_rows=max_rows,
            components=components,
            sections=sections,
            intervals=intervals,
            shares=drawn_shares(self._state),
            label=labels[values],
            x=x,
            shape=shape,
            ax=ax,
        )

    def plot_scores(
        self,
        *,
        components: hints.Several | None = None,
        groups: hints.ByRow | None = None,
        palette: hints.Palette | None = None,
        densities: bool = True,
        against: Literal["components", "index"] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the scores of components against one another, with their densities, or over the index of rows.

        Parameters
        ----------
        components : one to five of int or str, optional
            Components, by number (from 1) or by name; by default the first five, as a note states.
        groups : Series, Categorical or array of length n, optional
            Groups that set colours and markers of the points; at most 20. A Series is matched by its labels.
            A string names a column of the fitted data.
        palette : mapping, sequence of colours, or str, optional
            The colours of the groups, as for the biplot.
        densities : bool
            Whether the diagonal shows kernel density estimates of each component (Gaussian kernel,
            Silverman's bandwidth), for each group of five rows or more scaled by its share of the rows. Up to
            1,000 rows are also marked individually.
        against : {"components", "index"}, optional
            Whether components are drawn against one another, or each in a panel over the index of the rows:
            its dates, its numbers, or else the order of the rows. By default components are drawn over the
            index if it consists of dates (DatetimeIndex or PeriodIndex), and otherwise against one another.
        ax : Axes, optional
            The panels are drawn inside it, by default in a new figure. They are its ``child_axes``, row by
            row. The correlation of a pair is written on the other side of the diagonal, or above the diagonal
            if there are no densities.

        Returns
        -------
        Axes

        Raises
        ------
        ComponentsError
            If there are more than five components, or one does not exist.
        ShapeError, OptionError
            If groups do not match the rows, there are too many groups, `against` is invalid, or `ax` is
            not an Axes.

        See Also
        --------
        biplot : Scores of two components with the variables.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> ax = fit.plot_scores()
        """
        scores = self._scores_to_draw("plot_scores")
        axes = plots.plot_scores(
            scores,
            components=components,
            groups=self._by_row(groups, "groups"),
            palette=palette,
            densities=densities,
            against=against,
            shares=drawn_shares(self._state),
            ax=ax,
        )
        return interpretation.with_sample(axes, scores)

    def plot_correlations(
        self,
        *,
        components: hints.Pair = (1, 2),
        max_arrows: int | None = 30,
        supplement: Supplement | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the correlations of the variables with two components as arrows within the unit circle.

        If the scores are uncorrelated, a variable whose arrow reaches the circle is fully explained by the
        two components. Scores of sparse components are usually correlated; arrows can then extend beyond the
        circle.

        Parameters
        ----------
        components : two of int or str
            Two components, by number (from 1) or by name.
        max_arrows : int, optional
            The largest number of arrows. Variables with a nonzero loading come first; the longest arrows
            along the two components are chosen alternately. None draws all.
        supplement : Supplement, optional
            The result of `supplement`: its numeric variables are drawn in another colour.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes

        Raises
        ------
        ComponentsError
            If there are fewer than two components, or one does not exist.
        ShapeError
            If the frames do not match.
        OptionError
            If `max_arrows` is out of range, or `ax` is not an Axes.

        See Also
        --------
        biplot : Rows and variables.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> ax = fit.plot_correlations()
        """
        return plots.plot_correlations(
            self.correlations,
            self.loadings,
            components=components,
            max_arrows=max_arrows,
            shares=drawn_shares(self._state),
            score_correlations=self.score_correlations,
            supplementary=None
            if supplement is None
            else interpretation.checked_supplement(supplement).correlations,
            ax=ax,
        )

    def plot_diagnostics(
        self,
        new: hints.Table | None = None,
        *,
        groups: hints.ByRow | None = None,
        labels: int = 10,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the squared residual Q of each row against its Hotelling T2, with both limits.

        Rows on the right are extreme within the span of the components; rows at the top are poorly
        described by the components. An axis is logarithmic if a row exceeds thirty times its limit.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, optional
            Rows as for `diagnostics`; by default the rows of the fit.
        groups : Series, Categorical or array of length n, optional
            Groups that set colours and markers of the points; at most 20. Without groups, rows beyond a limit
            are marked. A string names a column of the fitted data.
        labels : int
            The number of rows beyond a limit to label, starting with those that exceed it most; all rows are
            labelled if there are no more than this.
        level : float in (0, 1)
            Share of new rows of the same population that is expected below the limits; see `limits`.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes

        Raises
        ------
        ShapeError
            If "T2" or "Q" is missing, or groups do not match the rows.
        DataError
            If distances are infinite.
        OptionError
            If `labels` is below 0, there are too many groups, or `ax` is not an Axes.

        See Also
        --------
        diagnostics : The plotted statistics as a data frame.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> ax = fit.plot_diagnostics()
        """
        if new is not None:
            distances = rows.diagnostics_of(self._state, new)
            distances.attrs["rows"] = "new rows"
        else:
            distributed = self._source is not None and self._source.distributed
            distances = deep_copy(self._sampled_rows[["T2", "Q"]] if distributed else self._distances)
            groups = self._by_row(groups, "groups")
        axes = plots.plot_diagnostics(distances, self.limits(level), groups=groups, labels=labels, ax=ax)
        return interpretation.with_sample(axes, distances)

    def screeplot(
        self,
        *,
        kind: Literal["variance", "share", "cumulative"] = "variance",
        parallel: hints.ParallelAnalysis | hints.Vector | None = None,
        max_components: int | None = 30,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the adjusted variance of the components as bars and the spectrum of dense PCA as a line.

        A later bar may rise above the line, because the earlier sparse components leave more variance than
        the same number of principal components; the cumulative sum of the bars never exceeds the cumulative
        sum of the line.

        Parameters
        ----------
        kind : {"variance", "share", "cumulative"}
            Whether to draw variances, their shares of the total, or cumulative shares.
        parallel : array-like, or a result of `choose_k` or `choose`, optional
            Thresholds of parallel analysis for the first components, in the unit of the variances, drawn as a
            line: dense components above it have more variance than components of data without structure. If
            `choose_k` shrank large rows, the thresholds apply to other eigenvalues: no line is drawn, and the
            markers of the components that exceed them are filled.
        max_components : int, optional
            The largest number of components of the spectrum to draw; the fitted components are always drawn.
            None draws all.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes

        Raises
        ------
        OptionError
            If `kind` is unknown, `parallel` is not numeric or is an analysis of other data, or `ax` is not an
            Axes.

        See Also
        --------
        spcastat.choose_k : Choose the number of components.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> ax = fit.screeplot()
        """
        return interpretation.scree(self._state, kind, parallel, max_components, ax)

    # --- helpers --------------------------------------------------------------------------------

    def _screen(self) -> Screen:
        return print_of_fit(self._state, self.notes)

    def _tables(self, notebook: bool) -> Summary:
        arrangement = VariableArrangement(max_rows=NOTEBOOK if notebook else None)
        return summarise(self._state, self._source, arrangement=arrangement)

    def _row_scores(self) -> pd.DataFrame:
        """Return a copy of the scores of the rows, n x k."""
        return deep_copy(self._scores)

    @cached_property
    def _distances(self) -> pd.DataFrame:
        """T2 and Q of the rows of the fit, n x 2."""
        return rows.diagnostics(self._state, self._source)

    @cached_property
    def _sampled_rows(self) -> pd.DataFrame:
        """Scores, T2 and Q of a sample of rows that are not all in memory."""
        from spcastat.fit.rows import drawn_rows

        assert self._source is not None
        return drawn_rows(self._state, self._source)

    def _drawing(self, data: Any, rng: hints.Rng, n_jobs: int, progress: hints.Progress) -> Drawing:
        return Drawing(self._state, self._source, self._call, data, rng, n_jobs, progress)

    def _scores_to_draw(self, analysis: str) -> pd.DataFrame:
        """Return the scores of the rows, or of a sample of them; `analysis` is the plot that needs them."""
        if self._state.scores is None and self._source is not None and self._source.out_of_core:
            return deep_copy(self._sampled_rows[self._state.components])
        if self._state.scores is None:
            rows.need_rows(self._state, self._source, analysis)
        scores = self._row_scores()
        if self._state.cleaning is not None:
            scores.attrs["left_out"] = tuple(self._state.cleaning.left_out.tolist())
            scores.attrs["replaced"] = tuple(map(tuple, self._state.cleaning.replaced_cells.tolist()))
        return scores

    def _by_row(self, given: Any, option: str) -> Any:
        """Return the values of an option for the rows; a string names a column of the fitted data."""
        return interpretation.by_row(self._source, given, option)

    def _without_data(self) -> SpcaResult:
        """Return the fit without its data, as if it had been saved with its scores and loaded."""
        has_scores = self._state.scores is not None or self._source is not None
        scores, moments = self._scores if has_scores else None, self._state.moments.without_data()
        return SpcaResult(replace(self._state, moments=moments, scores=scores))


@explained
def load(path: hints.Path) -> SpcaResult | SparseLoadings | PrincipalVariablesResult:
    """Read a fit from a file written by ``fit.save(path)``.

    No code in a file is executed: it contains numbers and text, and a formula restricted to known functions.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SpcaResult, SparseLoadings or PrincipalVariablesResult
        The fit with the same loadings, variances, measures, summary and plots; `transform` and `diagnostics`
        accept data as before saving. Methods that need the rows of the fit, such as `refit` and `residuals`,
        raise NoRowsError; so do `scores` and `biplot` if the fit was saved without scores.

    Raises
    ------
    FileError
        If the file does not exist, does not contain a fit, is damaged, truncated or inconsistent, or has a
        newer layout.
    OptionError
        If `path` is not a path.
    """
    state = read_state(path)
    if state.principal is not None:
        return PrincipalVariablesResult(state)
    return SpcaResult(state) if state.pattern is None else SparseLoadings(state)
