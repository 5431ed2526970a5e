"""The result of sparse loadings, and its bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

import pandas as pd

from spcastat import plots
from spcastat.arguments import text
from spcastat.fit import frames, rows, sparse_loadings
from spcastat.fit.record import Bootstrapped
from spcastat.fit.sparse_loadings import with_loadings
from spcastat.results import interpretation, resampling
from spcastat.results.component_fit import FITS_INSTEAD, FORMER, ComponentFit, showing, with_results
from spcastat.show import loading_tables
from spcastat.show.grid import VariableArrangement
from spcastat.show.inference_prints import print_of_bootstrap
from spcastat.show.loading_facts import drawn_loading_shares
from spcastat.show.methods_text import Description, describe_loadings
from spcastat.show.renderings import Screen, Summary
from spcastat.show.report import write_chapters
from spcastat.show.resampling_templates import intervals_label
from spcastat.show.summary import NOTEBOOK, print_of_loadings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat import hints
    from spcastat.show.grid import Document


class SparseLoadings(ComponentFit):
    """Sparse loadings P: X is about T P', where the scores T are uncorrelated with unit variance.

    Returned by :func:`spcastat.sparse_loadings` and :func:`spcastat.sparse_loadings_cov`. All output uses
    the names in the data as labels; variances have the divisor n - 1. Attributes are returned as copies.

    Parameters
    ----------
    state : FitState
        The state of the fit; V contains the weights, and the pattern the loadings.
    source : Data or None
        The data; None for a fit from a file.
    call : Call or None
        The call that made the fit; None for a fit from a file.
    """

    _instead, _former = FITS_INSTEAD, FORMER

    # --- numbers --------------------------------------------------------------------------------

    @property
    def loadings(self) -> pd.DataFrame:
        """The sparse loadings P, p x k: covariances of the (scaled) variables with the scores, or zero.

        For scaled data they are correlations with the scores. The largest absolute entry of a column is
        positive.
        """
        return self._state.by_variable(self._state.pattern)

    @property
    def weights(self) -> pd.DataFrame:
        """The weights W = P (P'SP)^(-1/2), p x k, of the scores X W of the centred (scaled) rows X.

        Variables without a nonzero loading have weight zero; the other weights are usually not zero.
        """
        return self._state.by_variable(self._state.V)

    @property
    def card(self) -> pd.Series:
        """Number of nonzero loadings of each component, length k."""
        return (self.loadings != 0).sum().rename("card")

    @property
    def variance(self) -> pd.DataFrame:
        """One row per component: "cardinality", "sum of squares", and three shares of the total variance.

        The sum of squared loadings is the variance that a component explains. As scores are uncorrelated,
        these add up: "share of total", "cumulative", and "cumulative PCA", the cumulative share of the same
        number of dense components.
        """
        return sparse_loadings.loadings_variance(self._state)

    @property
    def communalities(self) -> pd.Series:
        """Share of the variance of each variable, length p, that its loadings explain; NaN if it is constant.

        For scaled data it is the sum of the squared loadings of the variable.
        """
        return sparse_loadings.communalities(self._state)

    # --- rows -----------------------------------------------------------------------------------

    def bootstrap(
        self,
        n: int = 999,
        *,
        select: bool = True,
        data: hints.Rows | None = None,
        rng: hints.Rng = None,
        n_jobs: int = 1,
        progress: hints.Progress = None,
    ) -> LoadingsBootstrap:
        """Return percentile intervals for the loadings from draws of rows with replacement.

        In every draw the columns are recentred and rescaled and the variables reselected, with the same
        number of nonzeros. The search starts from the fitted loadings and from the principal components.
        Components are matched with the fitted components by the correlation of their scores, and their signs
        are aligned. If the fit was given `clusters`, `strata` or `block_length`, whole clusters or blocks are
        drawn.

        Parameters
        ----------
        n : int
            Number of draws, 3 or more. Intervals of 95 % need at least 39 draws; fewer draws give only
            standard errors and shares.
        select : bool
            Whether variables are selected again in each draw. False keeps the variables of the fit.
        data : table or matrix, optional
            The data of the fit, for a fit from a file.
        rng : None, int or numpy Generator
            Seed of the draws. None uses a fixed seed.
        n_jobs : int
            Number of processes; -1 for all processors. The result does not depend on it.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        LoadingsBootstrap
            After Ctrl-C the result covers the completed draws.

        Raises
        ------
        NoRowsError
            For a covariance matrix without `n_obs` (with it, draws are Wishart matrices), and for a fit from
            a file without `data`.
        DataError
            If `data` differ from the data of the fit.
        WeightsError
            For frequency weights that are not whole numbers.
        TooFewRowsError
            If there are fewer than three rows.

        See Also
        --------
        with_inference : A fit that shows the intervals in its tables and files.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> fit.bootstrap(39).conf_int().columns.tolist()
        ['component', 'term', 'estimate', 'std_error', 'lower', 'upper', 'selected']
        """
        fit = resampling.Drawing(self._state, self._source, self._call, data, rng, n_jobs, progress)
        return LoadingsBootstrap(self._state, resampling.bootstrap_loadings(fit, n, select=select))

    def with_inference(self, *results: LoadingsBootstrap) -> Self:
        """Return the same fit with `results` in its summary, `tidy`, `report`, `describe` and `save`.

        Parameters
        ----------
        *results : LoadingsBootstrap
            Results of `bootstrap` of this fit; the last one is used.

        Raises
        ------
        OptionError
            If an argument is not such a result, or is a result of another fit (with other loadings or
            variables).

        See Also
        --------
        bootstrap : Intervals and frequencies of selection.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> list(fit.with_inference(fit.bootstrap(20)).inference)
        ['bootstrap']
        """
        return self._with_state(with_results(self._state, results, LOADINGS_RESULTS))

    @property
    def inference(self) -> Mapping[str, LoadingsBootstrap]:
        """The result that this fit shows (see `with_inference`), under "bootstrap"; read-only."""
        draws = self._state.inference.bootstrap
        results = {} if draws is None else {"bootstrap": LoadingsBootstrap(self._state, draws)}
        return MappingProxyType(results)

    # --- tables and files -----------------------------------------------------------------------

    def summary(
        self,
        digits: int = 3,
        max_rows: int | None = None,
        *,
        sort: bool | None = None,
        sections: hints.Sections | None = None,
        cut: float = 0.0,
        communality: bool = True,
        conf_int: bool | LoadingsBootstrap = False,
        level: float = 0.95,
    ) -> Summary:
        """Return the header, loadings and variances, as text, HTML, LaTeX, Markdown or Word.

        Parameters
        ----------
        digits : int
            Decimals of the loadings, 0 to 10.
        max_rows : int, optional
            The largest number of variables to show; by default all variables with a nonzero loading.
        sort : bool, optional
            Whether to order the variables by the component on which they load most. By default tables of more
            than 25 variables are sorted.
        sections : Series, mapping or sequence of length p, optional
            The section of each variable, such as the scale of a questionnaire.
        cut : float
            Loadings smaller than this in absolute value are printed as ".".
        communality : bool
            Whether to show communalities (h2).
        conf_int : bool or LoadingsBootstrap
            Whether to show intervals below the loadings. Pass a result of `bootstrap` to show its intervals,
            or True for the intervals that the fit shows (see `with_inference`).
        level : float in (0, 1)
            The confidence level of these intervals.

        See Also
        --------
        report : The same tables with figures, as a page.
        tidy : The numbers as a data frame.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> print(fit.summary(digits=2, max_rows=4).as_text(notes=False).splitlines()[0])
        Sparse loadings: 2 components of 13 variables, 8 nonzero loadings
        """
        state, intervals = showing(self._state, "conf_int", conf_int, LOADINGS_RESULTS)
        return loading_tables.summarise(
            state,
            digits,
            VariableArrangement(sort, max_rows, sections, cut),
            communality=communality,
            conf_int=intervals,
            level=level,
        )

    def tidy(
        self, *, zeros: bool = False, conf_int: bool | LoadingsBootstrap = False, level: float = 0.95
    ) -> pd.DataFrame:
        """Return the loadings in long form: "term", "component" and "loading", one row per loading.

        Parameters
        ----------
        zeros : bool
            Whether to include rows for loadings that are exactly zero.
        conf_int : bool or LoadingsBootstrap
            Whether to add "std_error", "lower", "upper" and "selected" from a result of `bootstrap`, or, with
            True, from the result that the fit shows.
        level : float in (0, 1)
            The confidence level of these intervals.

        See Also
        --------
        glance : One row for the fit.
        loadings : The loadings as a matrix.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> fit.tidy().shape
        (8, 3)
        """
        state, is_wide = showing(self._state, "conf_int", conf_int, LOADINGS_RESULTS)
        return frames.tidy(with_loadings(state), zeros, is_wide, level)

    def glance(self) -> pd.DataFrame:
        """Return one row for the fit: size, nonzeros, variance explained by it and by PCA, and convergence.

        See Also
        --------
        tidy : One row for each nonzero loading.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> fit.glance()["nonzeros"].tolist()
        [8]
        """
        return sparse_loadings.glance(self._state)

    def describe(self) -> Description:
        """Return a paragraph that describes this fit for a methods section, with its references.

        Returns
        -------
        Description
            It prints as text; its parts are `text`, `references` and `bibtex`.

        See Also
        --------
        report : A page with this paragraph, tables and figures.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> fit.describe().references[0].split(" (")[0]
        'Adachi, K. and Trendafilov, N. T.'
        """
        return describe_loadings(self._state)

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

        Parameters
        ----------
        path : str or path
            A name with the extension .html or .htm for a page, or .docx for Word.
        title : str, optional
            The title of the report.
        call : str, optional
            The code that reproduces the fit, if it is not the recorded `call`.
        full_names : bool
            Whether the tables show long names in full; otherwise names are shortened, and a key lists them.
        sort, max_rows, sections, digits, cut
            As for `summary`.
        groups : Series, Categorical or array of length n, or str, optional
            Groups of rows, for colours and markers in the biplot, or the name of a column of the data.

        Raises
        ------
        FileError
            If the file cannot be written, or its name has another extension.
        ExtraError
            If a Word file is requested and python-docx is not installed.

        See Also
        --------
        summary : Its tables.
        describe : Its paragraph.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> fit.report("loadings.html")  # doctest: +SKIP
        """
        parts = loading_tables.chapters(
            self._state,
            self.scores if self._has_scores else None,
            self.call if call is None else text("call", call),
            VariableArrangement(sort, max_rows, sections, cut),
            digits,
            interpretation.by_row(self._source, groups, "groups"),
        )
        heading = "Sparse loadings" if title is None else text("title", title)
        write_chapters(path, heading, self._state.record.versions, self._source, parts, full_names)

    # --- plots ----------------------------------------------------------------------------------

    def biplot(
        self,
        *,
        components: hints.Pair = (1, 2),
        scale: float = 1.0,
        max_arrows: int | None = 12,
        groups: hints.ByRow | None = None,
        color: hints.ByRow | None = None,
        palette: hints.Palette | None = None,
        outline: hints.Outline | None = None,
        level: float = 0.95,
        centroids: bool = False,
        labels: hints.RowLabels = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the scores on two components as points, and the loadings of the variables as arrows.

        Scores are uncorrelated, so inner products of points and arrows approximate the data.

        Parameters
        ----------
        components : two of int or str
            Two components, by number (from 1) or by name.
        scale, max_arrows, groups, color, palette, outline, level, centroids, labels, ax
            As for ``SpcaResult.biplot``.

        Returns
        -------
        Axes

        Raises
        ------
        NoRowsError
            If the rows are not in memory.
        ComponentsError
            If there are fewer than two components, or one does not exist.

        See Also
        --------
        plot_loadings : All components.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings(sp.datasets.load_wine(), 2, card=4, scale=True, n_init=2)
        >>> ax = fit.biplot()
        """
        if not self._has_scores:
            rows.need_rows(self._state, self._source, "biplot")  # raises
        return plots.biplot(
            self.scores,
            self.loadings,
            components=components,
            scale=scale,
            max_arrows=max_arrows,
            shares=drawn_loading_shares(self._state),
            groups=interpretation.by_row(self._source, groups, "groups"),
            color=interpretation.by_row(self._source, color, "color"),
            palette=palette,
            outline=outline,
            level=level,
            centroids=centroids,
            labels=labels,
            ax=ax,
        )

    def plot_loadings(
        self,
        *,
        kind: Literal["blocks", "table", "line", "image"] | None = None,
        sort: bool = True,
        max_rows: int | None = None,
        components: hints.Several | None = None,
        sections: hints.Sections | None = None,
        intervals: pd.DataFrame | None = None,
        x: Any = None,
        shape: tuple[int, int] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the nonzero loadings of each component.

        Parameters
        ----------
        kind, sort, max_rows, components, sections, intervals, x, shape, ax
            As for ``SpcaResult.plot_loadings``; `intervals` is the frame that ``bootstrap().conf_int()``
            returns.

        Returns
        -------
        Axes

        See Also
        --------
        biplot : Rows and variables of two components.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, card=4, n_obs=180, n_init=2)
        >>> ax = fit.plot_loadings()
        """
        return plots.plot_loadings(
            self.loadings,
            kind=kind,
            sort=sort,
            max_rows=max_rows,
            components=components,
            sections=sections,
            intervals=intervals,
            shares=drawn_loading_shares(self._state),
            x=x,
            shape=shape,
            ax=ax,
        )

    # --- helpers --------------------------------------------------------------------------------

    def _screen(self) -> Screen:
        return print_of_loadings(self._state, self.notes)

    def _tables(self, notebook: bool) -> Summary:
        return self.summary(max_rows=NOTEBOOK if notebook else None)

    @property
    def _has_scores(self) -> bool:
        """Whether scores are in memory, computed from the data or read from the file."""
        source = self._source
        return self._state.scores is not None or (source is not None and source.holds_scores)


class LoadingsBootstrap(resampling.FromDraws):
    """Draws of sparse loadings, and percentile intervals; prints as text and shows as HTML in a notebook."""

    _kind = "bootstrap"
    _numbers: Bootstrapped

    def _document(self) -> Document:
        return loading_tables.bootstrap_document(self._state, self._numbers, 0.95)

    def _screen(self) -> Screen:
        return print_of_bootstrap(with_loadings(self._state), self._numbers, self.notes, "percentile")

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The 95 % intervals under "loadings"; see `table`."""
        return {"loadings": self.table}

    @property
    def table(self) -> pd.DataFrame:
        """The default 95 % intervals of `conf_int`; with fewer than 39 draws there are no bounds."""
        return frames.conf_int(with_loadings(self._state), self._numbers, kind="percentile")

    @property
    def selected(self) -> pd.DataFrame:
        """The share of draws that selected each variable in each component, p x k."""
        return frames.selected(with_loadings(self._state), self._numbers)

    @property
    def similarity(self) -> pd.Series:
        """The mean absolute correlation of the scores of the draws with the scores of the fit, length k."""
        return frames.similarity(self._state, self._numbers)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Return percentile intervals for the nonzero loadings of the fit.

        Parameters
        ----------
        level : float in (0, 1)

        Returns
        -------
        DataFrame
            The columns are "component", "term", "estimate", "std_error" (of the draws), "lower", "upper", and
            "selected", the share of draws that selected the variable. A loading that is zero in the fit but
            not in some draw has no bounds (NaN).

        Raises
        ------
        OptionError
            If `level` is not allowed, or if there are fewer than (1 + level) / (1 - level) draws (39 for 95
            %). If there are too few draws, `table` still contains the standard errors.
        """
        numbers = frames.require_intervals(self._numbers, level)
        return frames.conf_int(with_loadings(self._state), numbers, level, "percentile")

    def plot(
        self,
        *,
        max_rows: int | None = None,
        components: hints.Several | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw loadings as bars with intervals; bars are paler if the interval includes zero.

        Parameters
        ----------
        max_rows, components, level, ax
            As for ``Bootstrap.plot``.

        Returns
        -------
        Axes

        Raises
        ------
        OptionError
            If there are too few draws for intervals of this level; see `conf_int`.
        """
        intervals = self.conf_int(level)
        return plots.plot_loadings(
            self._state.by_variable(self._state.pattern),
            max_rows=max_rows,
            components=components,
            intervals=intervals,
            shares=drawn_loading_shares(self._state),
            label=intervals_label(level, self._numbers.draws),
            ax=ax,
        )


#: The class of the results that a fit shows, with the method that returns them.
LOADINGS_RESULTS: dict[type, str] = {LoadingsBootstrap: "bootstrap()"}
