"""The result of a fit: each method hands the state of the fit, and its data, to a function."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import pandas as pd

from spcastat.config import MISSING, one_of, warn
from spcastat.engine import Fit, Plan
from spcastat.engine.inputs import Source
from spcastat.errors import DataWarning
from spcastat.measures import MEASURES
from spcastat.report.equations import Text, equations
from spcastat.report.loadings import print_loadings
from spcastat.report.summary import ROWS, Summary, summarise
from spcastat.results import proving
from spcastat.results.carried import Carried
from spcastat.results.certificate import Certificate, told_of
from spcastat.results.documented import documented
from spcastat.results.hints import no_data
from spcastat.results.inferred import Inferred
from spcastat.results.interpreted import Interpreted
from spcastat.results.plotted import Plotted
from spcastat.results.plotted_rows import PlottedRows
from spcastat.results.sampled import is_apart
from spcastat.results.written import Written
from spcastat.state import FitState, frames, gaps, rows
from spcastat.state.handed import own
from spcastat.state.variance import variance
from spcastat.storage.fits import save
from spcastat.storage.scores import transform_to

if TYPE_CHECKING:
    from spcastat.results.call import Call


class SpcaResult(Inferred, Carried, Interpreted, Plotted, PlottedRows, Written):
    """A fitted sparse PCA.

    Results are made by :func:`spcastat.spca`, :func:`spcastat.spca_cov` and :func:`spcastat.load`, not by
    hand. Everything is labelled with the user's own names; components are PC1, ..., PCk. Variances have the
    divisor n - 1 (the sum of the weights less one).

    What a result gives can be changed without changing the result. Results can be pickled and copied: pickles
    carry data in memory, so that `refit` works where they are opened, and leave rows in chunks behind.
    `save` writes a file without data that later versions read, too.

    Parameters
    ----------
    state : FitState
    source : Source or None
        The data; None for a fit from a file.
    call : Call or None
        What made the fit; None for a fit from a file.
    """

    def __init__(self, state: FitState, source: Source | None = None, call: Call | None = None):
        self._state = state
        self._source = source
        self._call = call

    @classmethod
    def of(cls, source: Source, plan: Plan, fit: Fit, call: Call) -> SpcaResult:
        """Return the result of `call`, which led to `fit` by `plan` on the data in `source`."""
        return cls(FitState.of(source, plan, fit, call.text), source, call)

    def _without_data(self) -> SpcaResult:
        """Return the fit as a file with scores gives it."""
        has_scores = self._state.scores is not None or self._source is not None
        return SpcaResult(self._state.without_data(self._scores if has_scores else None))

    # --- the components -------------------------------------------------------------------------

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk."""
        return self._state.components

    @property
    @documented(frames.loadings)
    def loadings(self) -> pd.DataFrame:
        return frames.loadings(self._state)

    @property
    @documented(frames.card)
    def card(self) -> pd.Series:
        return frames.card(self._state)

    @property
    @documented(rows.scores)
    def scores(self) -> Any:
        return own(self._scores)

    @cached_property
    def _scores(self) -> Any:
        return rows.scores(self._state, self._source)

    @property
    @documented(gaps.imputed)
    def imputed(self) -> pd.DataFrame:
        return gaps.imputed(self._state, self._source)

    # --- variance -------------------------------------------------------------------------------

    @property
    @documented(variance)
    def variance(self) -> pd.DataFrame:
        return variance(self._state)

    @property
    def total_variance(self) -> float:
        """The sum of the variances of all variables."""
        return self._state.moments.total

    def measure(self, name: str) -> float:
        """Return one measure of all components together, as a fraction.

        Parameters
        ----------
        name : {"pev", "rre", "adjusted", "relative_adjusted", "least_squares"}
            See :mod:`spcastat.measures`.
        """
        return float(self._state.moments.measure(one_of("name", name, MEASURES))[-1])

    @property
    @documented(frames.score_correlation)
    def score_correlation(self) -> pd.DataFrame:
        return frames.score_correlation(self._state)

    @property
    @documented(frames.loading_products)
    def loading_products(self) -> pd.DataFrame:
        return frames.loading_products(self._state)

    # --- how it was found -----------------------------------------------------------------------

    @property
    def method(self) -> str:
        """Name of the method."""
        return self._state.record.method

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method, those left at their defaults too."""
        return own(self._state.record.options)

    @property
    def call(self) -> str:
        """The call that makes this fit again, with `data` for the data."""
        return self._state.record.call

    @property
    def status(self) -> str:
        """How the fit ended: "converged", "exact" (no iteration needed), "searched" or "max_iter"."""
        return self._state.record.status

    @property
    def converged(self) -> bool:
        """Whether the fit ended by itself."""
        return self._state.record.converged

    @property
    def n_iter(self) -> int:
        """Number of sweeps, of steps, or of the starts of a search."""
        return self._state.record.n_iter

    @property
    def objective_value(self) -> float:
        """Value of the method's own criterion, in variance units; `summary()` names it."""
        return self._state.record.objective

    @property
    @documented(frames.optima)
    def optima(self) -> pd.DataFrame:
        return frames.optima(self._state)

    @property
    @documented(frames.details)
    def details(self) -> pd.DataFrame:
        return frames.details(self._state)

    # --- rows, new ones too ---------------------------------------------------------------------

    @documented(rows.transform, "state")
    def transform(self, new: Any, na: str = "raise") -> Any:
        return rows.transform(self._state, new, na)

    @documented(transform_to, "state", "source")
    def transform_to(
        self, path: str | PathLike[str], new: Any = None, na: str = "raise", progress: Any = False
    ) -> None:
        transform_to(self._state, self._source, path, new, na, progress)

    @documented(rows.inverse_transform, "state")
    def inverse_transform(self, scores: Any, components: int | None = None) -> pd.DataFrame:
        return rows.inverse_transform(self._state, scores, components)

    # --- diagnostics ----------------------------------------------------------------------------

    @property
    @documented(frames.correlations)
    def correlations(self) -> pd.DataFrame:
        return frames.correlations(self._state)

    @property
    @documented(frames.communalities)
    def communalities(self) -> pd.Series:
        return frames.communalities(self._state)

    @property
    @documented(frames.component_shares)
    def component_shares(self) -> pd.DataFrame:
        return frames.component_shares(self._state)

    @property
    @documented(rows.residuals)
    def residuals(self) -> pd.DataFrame:
        return rows.residuals(self._state, self._source)

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
        ``(1 - measure("pev")) * total_variance``, but for rows with gaps: conditional means lie nearer.
        """
        return own(self._distances["Q"])

    def diagnostics(self, new: Any = None, na: str = "raise") -> pd.DataFrame:
        """Return T2 and Q of the rows of the fit, or of new rows, n x 2.

        Of rows on workers of dask, those of a sample of 2000, drawn at random by one pass (without labels);
        a warning says so.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks, optional
            Rows as for `transform`.
        na : {"raise", "drop", "em", "pairwise"}
            As for `transform`. With "pairwise", rows with gaps have no distances.
        """
        one_of("na", na, MISSING)
        if new is None and is_apart(self._source):
            if "sample" in self._drawn.attrs:
                warn(f"diagnostics() has those of {self._drawn.attrs['sample']}.", DataWarning)
            return own(self._drawn[["T2", "Q"]])
        return own(self._distances) if new is None else rows.diagnostics_of(self._state, new, na)

    @documented(frames.limits, "state")
    def limits(self, level: float = 0.95) -> pd.Series:
        return frames.limits(self._state, level)

    # --- words and tidy frames ------------------------------------------------------------------

    @documented(summarise, "state", "source")
    def summary(
        self,
        digits: int = 3,
        max_rows: int = ROWS,
        *,
        dense: bool = False,
        conf_int: bool = False,
        level: float = 0.95,
        stars: bool = False,
    ) -> Summary:
        return summarise(
            self._state,
            self._source,
            digits,
            max_rows,
            dense=dense,
            conf_int=conf_int,
            level=level,
            stars=stars,
        )

    def __repr__(self) -> str:
        return self.summary().as_text()

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def _repr_latex_(self) -> str:
        return self.summary()._repr_latex_()

    def _repr_markdown_(self) -> str:
        return self.summary().as_markdown()

    @documented(print_loadings, "state")
    def print_loadings(
        self,
        digits: int = 3,
        cutoff: float = 0.0,
        sort: bool = False,
        contributions: bool = False,
        max_rows: int = 40,
    ) -> None:
        print_loadings(self._state, digits, cutoff, sort, contributions, max_rows)

    @documented(equations, "state")
    def equations(
        self, digits: int = 3, *, raw: bool = False, max_terms: int | None = None, width: int = 80
    ) -> Text:
        return equations(self._state, digits, raw=raw, max_terms=max_terms, width=width)

    @documented(frames.tidy, "state")
    def tidy(self, zeros: bool = False, conf_int: bool = False, level: float = 0.95) -> pd.DataFrame:
        return frames.tidy(self._state, zeros, conf_int, level)

    @documented(frames.glance)
    def glance(self) -> pd.DataFrame:
        return frames.glance(self._state)

    @documented(rows.augment, "state", "source")
    def augment(self, data: Any = None, na: str = "raise") -> pd.DataFrame:
        return rows.augment(self._state, self._source, data, na)

    # --- again, proven, stored ------------------------------------------------------------------

    def refit(self, **changes: Any) -> SpcaResult:
        """Fit again with some arguments changed; a new `card`, `variance` or `t` replaces the old control.

        Parameters
        ----------
        **changes
            Arguments of the call that made this fit, such as ``card=5`` or ``scale=True``.

        Raises
        ------
        NoRowsError
            For a fit from a file, which has no data.
        """
        if self._call is None:
            raise no_data(self._state, "refit()")
        return self._call.changed(changes).repeat()

    @documented(proving.certify, "state", "source")
    def certify(
        self,
        *,
        joint: bool = False,
        objective: str | None = None,
        orthogonal: bool = False,
        time_limit: float = 60.0,
        max_nodes: int | None = None,
        progress: Any = False,
    ) -> Certificate:
        options = (joint, objective, orthogonal, time_limit, max_nodes, progress)
        certificate = proving.certify(self._state, self._source, *options)
        self._state = told_of(self._state, certificate)
        return certificate

    def adopt(self, certificate: Certificate) -> SpcaResult:
        """Return the better fit that a certificate of this one met, or this one where it met none.

        A joint proof meets fits of all components on its way, a proof of single components better supports of
        each: these are taken over one after another, each with the loadings that are best for what those
        before it leave. "Better" is by the measure of the proof. Joint proofs stay with the new fit.

        Parameters
        ----------
        certificate : Certificate
            What :meth:`certify` of this fit returned.

        Returns
        -------
        SpcaResult

        Raises
        ------
        OptionError
            For anything else, a certificate of a fit with other variables or cardinalities, or a nonnegative
            fit.
        NoRowsError
            For a fit from a file, which has no data.
        """
        better = proving.adopted(self._state, self._source, certificate)
        return self if better is None else SpcaResult(better, self._source, self._call)

    @documented(save, "state", "source")
    def save(self, path: str | PathLike[str], *, scores: bool | None = None) -> None:
        save(self._state, self._source, path, scores)
