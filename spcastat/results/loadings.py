"""The result of sparse loadings, and its bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import flag, text, whole_number
from spcastat.errors import NoRowsError, TooFewRowsError
from spcastat.fit import frames, resampling_frames, rows, sparse_loadings
from spcastat.fit.record import Bootstrapped, deep_copy
from spcastat.fit.sparse_loadings import with_loadings
from spcastat.fit.state import FitState
from spcastat.progress import listening
from spcastat.results import interpretation, plotted, resampling
from spcastat.results.call import Call, Picklable, frame_of
from spcastat.search.loading_patterns import Nonzeros
from spcastat.show import loading_tables
from spcastat.show.renderings import Shown, Summary
from spcastat.show.report import write_chapters
from spcastat.show.summary import NOTEBOOK, SCREEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.argument_types import (
        ByRow,
        Chunks,
        Matrix,
        Missing,
        Outline,
        OwnT,
        Pair,
        Palette,
        Path,
        Progress,
        Rng,
        RowLabels,
        Sections,
        Several,
        Status,
    )
    from spcastat.fit.inputs import Source
    from spcastat.show.grid import Document
    from spcastat.streams.local import ScoreChunks


class SparseLoadings(Picklable, Shown):
    """Sparse loadings: X is about T P', P sparse, scores T uncorrelated and of unit variance.

    Returned by :func:`spcastat.sparse_loadings` and :func:`spcastat.sparse_loadings_cov`. All output is
    labelled with the names in the data; variances have the divisor n - 1. Attributes are returned as copies.

    Parameters
    ----------
    state : FitState
        With the weights in place of loadings.
    loadings : ndarray of shape (p, k)
    source : Source
    call : Call
    """

    def __init__(self, state: FitState, loadings: np.ndarray, source: Source, call: Call) -> None:
        self._state = state
        self._loadings = loadings
        self._source: Source | None = source
        self._call: Call | None = call

    # --- numbers --------------------------------------------------------------------------------

    @property
    def k(self) -> int:
        """The number of components."""
        return int(self._loadings.shape[1])

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk, or the names that `rename` gave them."""
        return self._state.components

    @property
    def loadings(self) -> pd.DataFrame:
        """The sparse loadings P, p x k: covariances of the (scaled) variables with the scores, or zero.

        For scaled data they are correlations with the scores. The largest absolute entry of a column is
        positive.
        """
        return self._state.by_variable(self._loadings)

    @property
    def weights(self) -> pd.DataFrame:
        """The weights W = P (P'SP)^(-1/2), p x k, of the scores X W of the centred (scaled) rows X.

        Variables without a nonzero loading have weight zero; the other weights are usually not zero.
        """
        return self._state.by_variable(self._state.V)

    @property
    def card(self) -> pd.Series:
        """Number of nonzero loadings of each component, length k."""
        return pd.Series(np.count_nonzero(self._loadings, axis=0), index=self.components, name="card")

    @property
    def scores(self) -> pd.DataFrame:
        """Scores, n x k, uncorrelated and of unit variance, with the labels of the fitted rows.

        With ``na="em"`` missing values are replaced by conditional means, so that variances are below one.
        Rows in chunks give scores chunk by chunk, as for :func:`spcastat.spca`.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix.
        """
        return deep_copy(self._scores)

    @property
    def variance(self) -> pd.DataFrame:
        """One row per component: "cardinality", "sum of squares", and three shares of the total variance.

        The sum of squared loadings is the variance that a component explains. As scores are uncorrelated,
        these add up: "share of total", "cumulative", and "cumulative PCA", that of as many dense components.
        """
        return sparse_loadings.variance(self._state, self._loadings)

    @property
    def communalities(self) -> pd.Series:
        """Share of the variance of each variable, length p, that its loadings explain; NaN if constant.

        For scaled data the sum of its squared loadings.
        """
        return sparse_loadings.communalities(self._state, self._loadings)

    @property
    def correlations(self) -> pd.DataFrame:
        """Correlations of the variables with the scores, p x k, also where the loading is zero."""
        return frames.correlations(self._state)

    @property
    def total_variance(self) -> float:
        """The sum of the variances of all variables, in squared units of the (scaled) data."""
        return float(self._state.moments.total)

    @property
    def call(self) -> str:
        """The call that reproduces this fit, with `data` for the data."""
        return self._state.record.call

    @property
    def status(self) -> Status:
        """How the fit ended: "searched", or "max_iter" if the last ascent was cut short."""
        return cast("Status", self._state.record.status)

    @property
    def converged(self) -> bool:
        """Whether the last ascent ended before its largest number of steps."""
        return self._state.record.converged

    def rename(self, names: Mapping[str, str] | Mapping[int, str] | list[str] | tuple[str, ...]) -> Self:
        """Return the same fit with new names of its components, which are used in all output.

        Parameters
        ----------
        names : mapping or sequence of str
            Mapping from old names or numbers (from 1) to new names, or a sequence of names for all.
        """
        twin: Self = self.__copy__()
        twin.__dict__.pop("_scores", None)
        twin._state = interpretation.renamed(self._state, names)
        return twin

    # --- rows -----------------------------------------------------------------------------------

    @overload
    def transform(  # type: ignore[overload-overlap]
        self, new: Matrix, *, na: Missing = "raise"
    ) -> pd.DataFrame: ...
    @overload
    def transform(  # type: ignore[overload-overlap]
        self, new: OwnT, *, na: Missing = "raise"
    ) -> OwnT: ...
    @overload
    def transform(self, new: Chunks, *, na: Missing = "raise") -> ScoreChunks: ...
    def transform(self, new: Any, *, na: Missing = "raise") -> Any:
        """Return the scores X W of new rows, using the formula, centre, scale and weights of the fit.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks
            Must hold the columns that the fit used.
        na : {"raise", "drop", "em", "pairwise"}
            How to treat rows with missing values, as in ``SpcaResult.transform``.

        Returns
        -------
        DataFrame of shape (m, k), or a table of the library of `new`

        Raises
        ------
        NewDataError
            If columns are missing, or a factor has a level that did not occur in the fit.
        NoRowsError
            For a fit of a covariance matrix given without `mean`.
        """
        return rows.transform(self._state, new, na)

    def bootstrap(
        self,
        n: int = 999,
        *,
        select: bool = True,
        rng: Rng = None,
        n_jobs: int = 1,
        progress: Progress = None,
    ) -> LoadingsBootstrap:
        """Return percentile intervals for the loadings from draws of rows with replacement.

        In every draw, columns are centred and scaled and variables are selected again, with as many nonzeros
        as in the fit, from its loadings and from principal components. Components are matched with those of
        the fit by the correlation of their scores, and have their signs. The summary can show the intervals.

        Parameters
        ----------
        n : int
            Number of draws, 2 or more.
        select : bool
            Whether variables are selected again in each draw. False takes those of the fit as given.
        rng : None, int or numpy Generator
            Seed of the draws. None is a fixed seed.
        n_jobs : int
            Number of processes; -1 for all processors. The result does not depend on it.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        LoadingsBootstrap
            After Ctrl-C, the result for the draws made so far.

        Raises
        ------
        NoRowsError
            For a covariance matrix without `n_obs`; with it, draws are Wishart matrices.
        WeightsError
            For weights that are not whole numbers.
        TooFewRowsError
            If there are fewer than three rows.
        """
        from spcastat.assess.draws import sampler_of, seed_of, workers
        from spcastat.assess.loading_draws import LoadingDraws, bootstrap
        from spcastat.assess.subsets import rows_in_memory

        n, what = whole_number("n", n, 2, resampling.MOST_DRAWS), "bootstrap()"
        seed, jobs, select = seed_of(rng), workers(n_jobs), flag("select", select)
        if self._source is None or self._call is None:
            raise self._state.no_data(what)
        source, unit = self._source, self._source.op.unit
        source.require_same()
        if not source.from_rows and source.n is None:
            raise NoRowsError(
                f"{what} needs the number of rows behind a covariance matrix; fit with "
                "sparse_loadings_cov(S, ..., n_obs=...)."
            )
        chunks = source.stream is not None
        source = rows_in_memory(source, seed)
        frame = None if chunks else frame_of(source, self._call.data, None)
        sampler: Any = sampler_of(source, False, frame, what)
        if sampler.n < 3:
            raise TooFewRowsError(f"{what} resamples rows, and {sampler.n} are too few: it needs 3 or more.")
        card = self._state.record.options.get("card")
        counts = None if card is None else tuple(self.card.tolist())
        nonzeros = Nonzeros(counts, None if counts else int(self.card.sum()))
        with listening(progress):
            P, W = self._loadings / unit, self._state.V * unit
            found = bootstrap(LoadingDraws(sampler, source.op, P, W, nonzeros, select, seed), n, jobs)
        found = replace(found, values=found.values * unit)
        self._state = resampling.with_result(self._state, bootstrap=found)
        return LoadingsBootstrap(with_loadings(self._state, self._loadings), found)

    # --- tables and files -----------------------------------------------------------------------

    def summary(
        self,
        digits: int = 3,
        max_rows: int | None = None,
        *,
        sort: bool | None = None,
        sections: Sections | None = None,
        cut: float = 0.0,
        communality: bool = True,
        conf_int: bool = False,
        level: float = 0.95,
    ) -> Summary:
        """Return the header, loadings and variances, as text, HTML, LaTeX, Markdown or for Word.

        Parameters
        ----------
        digits : int
            Decimals of the loadings, 0 to 10.
        max_rows : int, optional
            The largest number of variables to show; by default all with a nonzero loading.
        sort : bool, optional
            Whether to order the variables by the component on which they load most. By default tables of more
            than 25 variables are sorted.
        sections : Series, mapping or sequence of length p, optional
            The section of each variable, such as the scale of a questionnaire.
        cut : float
            Loadings smaller than this in absolute value are printed as ".".
        communality : bool
            Whether to show communalities (h2).
        conf_int : bool
            Whether to show intervals of the last `bootstrap` below the loadings.
        level : float in (0, 1)
            The confidence level of these intervals.
        """
        return loading_tables.summarise(
            self._state,
            self._loadings,
            digits,
            max_rows,
            sort=sort,
            sections=sections,
            cut=cut,
            communality=communality,
            conf_int=conf_int,
            level=level,
        )

    def report(
        self,
        path: Path,
        *,
        title: str | None = None,
        call: str | None = None,
        full_names: bool = True,
        sort: bool | None = None,
        max_rows: int | None = None,
        sections: Sections | None = None,
        digits: int = 3,
        cut: float = 0.0,
        groups: ByRow | None = None,
    ) -> None:
        """Write a report with tables, plots, the call and the versions, as one HTML page or a Word file.

        Parameters
        ----------
        path : str or path
            A name with the extension .html or .htm, or without one, for a page; with .docx for Word.
        title : str, optional
            The title of the report.
        call : str, optional
            The code that reproduces the fit, if it is not the recorded `call`.
        full_names : bool
            Whether the tables have long names in full; otherwise names are shortened, with a key.
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
        """
        in_memory = self._source is not None and self._source.matrix is not None
        parts = loading_tables.chapters(
            self._state,
            self._loadings,
            self.scores if in_memory else None,
            self.call if call is None else text("call", call),
            row_groups=plotted.by_row(self._source, self._call, groups, "groups"),
            sort=sort,
            max_rows=max_rows,
            sections=sections,
            digits=digits,
            cut=cut,
        )
        heading = "Sparse loadings" if title is None else text("title", title)
        write_chapters(path, heading, self._state.record.versions, self._source, parts, full_names)

    # --- plots ----------------------------------------------------------------------------------

    def biplot(
        self,
        *,
        components: Pair = (1, 2),
        scale: float = 1.0,
        max_arrows: int | None = 30,
        groups: ByRow | None = None,
        color: ByRow | None = None,
        palette: Palette | None = None,
        outline: Outline | None = None,
        level: float = 0.95,
        centroids: bool = False,
        labels: RowLabels = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw rows as points, their scores, and variables as arrows, their loadings, on two components.

        Scores are uncorrelated, so that inner products of points and arrows approximate the data.

        Parameters
        ----------
        components : two of int or str
            Numbers counted from one, or names.
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
        """
        rows.need_rows(self._state, self._source, "biplot")
        return plots.biplot(
            self.scores,
            self.loadings,
            components=components,
            scale=scale,
            max_arrows=max_arrows,
            shares=sparse_loadings.shares(self._state, self._loadings),
            groups=plotted.by_row(self._source, self._call, groups, "groups"),
            color=plotted.by_row(self._source, self._call, color, "color"),
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
        kind: Literal["dots", "heatmap", "line", "image"] = "dots",
        max_rows: int | None = 40,
        components: Several | None = None,
        sections: Sections | None = None,
        intervals: pd.DataFrame | None = None,
        shape: tuple[int, int] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the loadings, variables from top to bottom and components from left to right.

        Parameters
        ----------
        kind, max_rows, components, sections, intervals, shape, ax
            As for ``SpcaResult.plot_loadings``; `intervals` are those of ``bootstrap().conf_int()``.

        Returns
        -------
        Axes
        """
        return plots.plot_loadings(
            self.loadings,
            kind=kind,
            max_rows=max_rows,
            components=components,
            sections=sections,
            intervals=intervals,
            shape=shape,
            ax=ax,
        )

    # --- helpers --------------------------------------------------------------------------------

    def _tables(self, notebook: bool) -> Summary:
        return self.summary(max_rows=NOTEBOOK if notebook else SCREEN)

    @cached_property
    def _scores(self) -> Any:
        return rows.scores(self._state, self._source)


class LoadingsBootstrap(Picklable, Summary):
    """Draws of sparse loadings, and percentile intervals; prints as text and shows as HTML in a notebook."""

    def __init__(self, state: FitState, found: Bootstrapped) -> None:
        self._state = state
        self._found = found

    def _document(self) -> Document:
        return loading_tables.bootstrap_document(self._state, self._found, 0.95)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The 95 % intervals under "loadings"."""
        return {"loadings": self.conf_int()}

    @property
    def n(self) -> int:
        """Number of draws made."""
        return self._found.draws

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested draws were made."""
        return self._found.draws < self._found.asked

    @property
    def selected(self) -> pd.DataFrame:
        """The share of draws that selected each variable in each component, p x k."""
        return resampling_frames.selected(self._state, self._found)

    @property
    def similarity(self) -> pd.Series:
        """The mean absolute correlation of the scores of the draws with those of the fit, length k."""
        return resampling_frames.similarity(self._state, self._found)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Return percentile intervals for the nonzero loadings of the fit.

        Parameters
        ----------
        level : float in (0, 1)

        Returns
        -------
        DataFrame
            "component", "term", "estimate", "std_error" (of the draws), "lower", "upper", and "selected", the
            share of draws that selected the variable. A loading that is zero in the fit but not in some draw
            has no bounds (NaN).
        """
        return resampling_frames.conf_int(self._state, self._found, level, "percentile")

    def plot(
        self,
        *,
        max_rows: int | None = 40,
        components: Several | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the loadings as dots with bars for their intervals, grey if these contain zero.

        Parameters
        ----------
        max_rows, components, level, ax
            As for ``Bootstrap.plot``.

        Returns
        -------
        Axes
        """
        return plots.plot_loadings(
            self._state.by_variable(self._state.V),
            max_rows=max_rows,
            components=components,
            intervals=self.conf_int(level),
            ax=ax,
        )
