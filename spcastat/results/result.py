"""The result of a fit. Most methods call functions of the state and the data of the fit."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import MISSING, one_of, warn
from spcastat.engine import Fit, Plan
from spcastat.engine.inputs import Source
from spcastat.errors import DataWarning
from spcastat.intake.other_libraries import ROW, in_library_of, is_polars
from spcastat.measures import MEASURES
from spcastat.report.equations import equations as written_equations
from spcastat.report.loading_columns import print_loadings as printed_loadings
from spcastat.report.methods_text import describe as described
from spcastat.report.renderings import Advised, Shown
from spcastat.report.report_file import to_excel, write_report
from spcastat.report.summary import NOTEBOOK, SCREEN, Summary, summarise
from spcastat.results.call import Call, call_text, card_by_number, names_for
from spcastat.results.delegation import attribute, computed, delegated, documented
from spcastat.results.interpretation import Interpreted
from spcastat.results.other_names import no_such_attribute
from spcastat.results.pickling import Picklable
from spcastat.results.plotted import Plotted
from spcastat.results.proofs import Proved
from spcastat.results.resampling import Inferred
from spcastat.state import FitState
from spcastat.state import component_frames as frames
from spcastat.state import row_scores as rows
from spcastat.state.copies import own
from spcastat.state.variance import variance as variance_table
from spcastat.storage.fits import read_state
from spcastat.storage.fits import save as save_fit
from spcastat.storage.score_files import transform_to as write_transformed


class SpcaResult(Inferred, Proved, Picklable, Interpreted, Plotted, Advised, Shown):
    """A fitted sparse PCA.

    The most important methods, by topic:

    - ``print(fit)``, `loadings`, `variance`, `scores`, ``transform(new)``; also `summary`, `tidy`, `augment`,
      `glance`, `communalities`, `correlations`, `cos2`, `contributions`, `measure`, `equations`.
    - `biplot`, `plot_loadings`, `screeplot`; also `plot_scores`, `plot_correlations`, `plot_contributions`,
      `plot_cos2`, `plot_diagnostics`, `plot_reconstruction`.
    - `report`, `describe`, `save`; also `cite`, `to_excel`, `print_loadings`, `transform_to`.
    - Inference and proofs: `stability`, `bootstrap`, `certify`; also `split_inference`, `test_loadings`,
      `adopt`.
    - Rows: `diagnostics`, `residuals`, `t2`, `q_statistic`, `limits`, `inverse_transform`, `imputed`.
    - Supplementary data, names, new fits: `supplement`, `describe_components`, `rename`, `refit`.
    - How it was fitted: `call`, `method`, `options`, `status`, `converged`, `details`, `optima`.

    Fits are returned by :func:`spcastat.spca`, :func:`spcastat.spca_cov` and :func:`spcastat.load`. All
    output is labelled with the names in the data; components are PC1, ..., PCk. Variances have the divisor n
    - 1 (the sum of the weights minus one).

    Attributes are returned as copies, so that changing them does not change the result. Results can be
    pickled and copied: pickles include data in memory, so that `refit` works after loading, but not rows in
    chunks. `save` writes a file without data that later versions can read.

    Parameters
    ----------
    state : FitState
    source : Source or None
        The data; None for a fit from a file.
    call : Call or None
        The call that made the fit; None for a fit from a file.
    """

    _before = ()  # the chapters that precede those of the fit in the report

    def __init__(self, state: FitState, source: Source | None = None, call: Call | None = None):
        self._state = state
        self._source = source
        self._call = call

    @classmethod
    def of(cls, source: Source, plan: Plan, fit: Fit, call: Call) -> SpcaResult:
        """Return the result for `fit`, made by `call` with `plan` on the data in `source`."""
        return cls(FitState.of(source, plan, fit, call_text(call.function, call.arguments)), source, call)

    def _no_such(self, name: str) -> AttributeError:
        return AttributeError(name) if name.startswith("_") else no_such_attribute(name, dir(self))

    def __dir__(self) -> list[str]:
        """Return the public names, except the ``_data`` methods of plots."""
        names = super().__dir__()
        return [name for name in names if not name.startswith("_") and name != "of" and name[-5:] != "_data"]

    def _without_data(self) -> SpcaResult:
        """Return the fit without its data, as if it had been saved with its scores and loaded."""
        has_scores = self._state.scores is not None or self._source is not None
        scores, moments = self._scores if has_scores else None, self._state.moments.settled()
        return SpcaResult(replace(self._state, moments=moments, scores=scores))

    # --- the components -------------------------------------------------------------------------

    components: pd.Index = attribute("_state.components", "The labels PC1, ..., PCk.")

    @property
    @documented(frames.loadings)
    def loadings(self) -> Any:
        return self._in_polars(frames.loadings(self._state), "variable")

    card: pd.Series = attribute(
        lambda fit: pd.Series(np.count_nonzero(fit._state.V, axis=0), index=fit.components, name="card"),
        "Number of nonzero loadings of each component.",
    )

    @property
    @documented(rows.scores)
    def scores(self) -> Any:
        return self._in_polars(own(self._scores))

    def _in_polars(self, frame: Any, rows: str = ROW) -> Any:
        """Return `frame`, converted to a polars frame if the data are one."""
        if self._call is None or "polars" not in sys.modules or not is_polars(self._call.data):
            return frame
        return in_library_of(self._call.data, frame, rows)

    @cached_property
    def _scores(self) -> Any:
        return rows.scores(self._state, self._source)

    imputed = computed(rows.imputed)

    # --- variance -------------------------------------------------------------------------------

    variance = computed(variance_table)

    total_variance: float = attribute("_state.moments.total", "The sum of the variances of all variables.")

    def measure(self, name: str) -> float:
        """Return one measure of all components together, as a fraction.

        Parameters
        ----------
        name : {"pev", "rre", "adjusted", "relative_adjusted", "least_squares"}
            See :mod:`spcastat.measures`.
        """
        return float(self._state.moments.measure(one_of("name", name, MEASURES))[-1])

    score_correlation = computed(frames.score_correlation)
    loading_products: pd.DataFrame = attribute(
        lambda fit: pd.DataFrame(fit._state.V.T @ fit._state.V, fit.components, fit.components),
        "Inner products V'V of the loadings, k x k; zero off the diagonal for orthogonal loadings.",
    )

    # --- how it was fitted ----------------------------------------------------------------------

    method = attribute("_state.record.method", "Name of the method.")
    options = attribute("_state.record.options", "The options of the method, including defaults.")
    call = attribute("_state.record.call", "The call that reproduces this fit, with `data` for the data.")
    status = attribute(
        "_state.record.status",
        'How the fit ended: "converged", "exact" (no iteration needed), "searched" or "max_iter".',
    )
    converged = attribute("_state.record.converged", "Whether the fit ended before reaching `max_iter`.")
    n_iter = attribute("_state.record.n_iter", "Number of sweeps, of steps, or of the starts of a search.")
    objective_value = attribute(
        "_state.record.objective",
        "Value of the method's own criterion, in variance units; `summary()` names it.",
    )
    optima = computed(frames.optima)
    details: pd.DataFrame = attribute(
        lambda fit: pd.DataFrame(fit._state.record.details, index=fit.components),
        "What the method reports about each component, such as its penalty; may have no columns.",
    )

    # --- rows of the fit and new rows -----------------------------------------------------------

    transform = delegated(rows.transform)
    transform_to = delegated(write_transformed)
    inverse_transform = delegated(rows.inverse_transform)

    # --- diagnostics ----------------------------------------------------------------------------

    correlations = computed(frames.correlations)
    communalities = computed(frames.communalities)
    component_shares = computed(frames.component_shares)
    residuals = computed(rows.residuals)

    @property
    def t2(self) -> pd.Series:
        """Hotelling's T2 of each row, length n: t'C^-1 t, where C is the covariance matrix of the scores.

        It is the squared Mahalanobis distance of the scores from the mean. If scores are linearly dependent,
        the generalised inverse of C is used.
        """
        return own(self._distances["T2"])

    @property
    def q_statistic(self) -> pd.Series:
        """Squared residual of each row, length n: its squared distance from the span of the loadings.

        In squared units of the (scaled) data. The (weighted) sum divided by n - 1 equals
        ``(1 - measure("pev")) * total_variance``, or less if missing values were replaced by conditional
        means.
        """
        return own(self._distances["Q"])

    def diagnostics(self, new: Any = None, na: str = "raise") -> Any:
        """Return T2 and Q of the rows of the fit, or of new rows, n x 2.

        For rows on dask workers, T2 and Q of a random sample of 2000 rows (without labels) are returned with
        a warning.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks, optional
            Rows as for `transform`.
        na : {"raise", "drop", "em", "pairwise"}
            As for `transform`. With "pairwise", rows with missing values have no distances.
        """
        one_of("na", na, MISSING)
        if new is None and self._source is not None and self._source.distributed:
            if "sample" in self._drawn.attrs:
                warn(f"diagnostics() returns those of {self._drawn.attrs['sample']}.", DataWarning)
            return own(self._drawn[["T2", "Q"]])
        if new is None:
            return own(self._distances)
        return in_library_of(new, rows.diagnostics_of(self._state, new, na))

    limits = delegated(frames.limits)

    # --- summaries and tidy frames --------------------------------------------------------------

    summary = delegated(summarise, "summary")

    def _tables(self, notebook: bool) -> Summary:
        return self.summary(max_rows=NOTEBOOK if notebook else SCREEN)

    print_loadings = delegated(printed_loadings)
    equations = delegated(written_equations)
    tidy = delegated(frames.tidy)
    glance = delegated(frames.glance)
    augment = delegated(rows.augment)
    describe = delegated(described)
    cite = describe
    report = delegated(write_report, "report")
    to_excel = delegated(to_excel)

    # --- refits, and files ----------------------------------------------------------------------

    def refit(self, **changes: Any) -> SpcaResult:
        """Fit again with some arguments changed; a new `card`, `variance` or `t` replaces any of these.

        Parameters
        ----------
        **changes
            Arguments of the call that made this fit, such as ``card=5`` or ``scale=True``. A mapping as
            `card` may use the names of the components of this fit; those that it leaves out keep their
            numbers of nonzeros.

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
        """
        if self._call is None:
            raise self._state.no_data("refit()")
        state = self._state
        assert self._source is not None
        if "card" in changes:
            k = changes.get("k")
            changes["card"] = card_by_number(state, changes["card"], k if isinstance(k, int) else None)
        made: SpcaResult = self._call.repeat(self._source, changes)
        return made.rename(names_for(state, made.components)) if state.record.names else made

    save = delegated(save_fit)


def load(path: str | PathLike[str]) -> SpcaResult:
    """Read a fit from a file written by ``fit.save(path)``.

    No code in a file is executed: it contains numbers and text, and a formula with known functions only.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SpcaResult
        The fit with the same loadings, variances, measures, summary and plots; `transform` and `diagnostics`
        accept data as before. Methods that need the rows of the fit, such as `refit` and `residuals`, raise
        NoRowsError, as do `scores` and `biplot` if the fit was saved without scores.

    Raises
    ------
    FileError
        If the file does not exist, does not contain a fit, is damaged, truncated or of a newer layout, or is
        inconsistent.
    OptionError
        If `path` is not a path.
    """
    return SpcaResult(read_state(path))
