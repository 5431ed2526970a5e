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
from spcastat.intake.same_library import in_library_of
from spcastat.measures import MEASURES
from spcastat.report.equations import equations as written_equations
from spcastat.report.loading_columns import print_loadings as printed_loadings
from spcastat.report.summary import NOTEBOOK, SCREEN, summarise
from spcastat.results import proving
from spcastat.results.call import card_by_number, names_for
from spcastat.results.carried import Carried
from spcastat.results.certificate import Certificate, told_of
from spcastat.results.delegation import attribute, computed, delegated, documented
from spcastat.results.export import Written
from spcastat.results.inferred import Inferred
from spcastat.results.interpretation import Interpreted
from spcastat.results.other_names import no_data, no_such_attribute
from spcastat.results.plotted import Plotted
from spcastat.results.sampled import is_apart
from spcastat.state import FitState
from spcastat.state import component_frames as frames
from spcastat.state import imputation as gaps
from spcastat.state import row_scores as rows
from spcastat.state.copies import own
from spcastat.state.variance import variance as variance_table
from spcastat.storage.fits import read_state
from spcastat.storage.fits import save as save_fit
from spcastat.storage.score_files import transform_to as write_transformed

if TYPE_CHECKING:
    from spcastat.results.call import Call


class SpcaResult(Inferred, Carried, Interpreted, Plotted, Written):
    """A fitted sparse PCA.

    What most analyses need, and what there is beyond:

    - ``print(fit)``, `loadings`, `variance`, `scores`, ``transform(new)``; also `summary`, `tidy`, `augment`,
      `glance`, `communalities`, `correlations`, `cos2`, `contributions`, `measure`, `equations`.
    - `biplot`, `plot_loadings`, `screeplot`; also `plot_scores`, `plot_correlations`, `plot_contributions`,
      `plot_cos2`, `plot_diagnostics`, `plot_reconstruction`.
    - `report`, `describe`, `save`; also `cite`, `to_excel`, `print_loadings`, `transform_to`.
    - How sure: `stability`, `bootstrap`, `certify`; also `split_inference`, `test_loadings`, `adopt`.
    - Rows: `diagnostics`, `residuals`, `t2`, `q_statistic`, `limits`, `inverse_transform`, `imputed`.
    - Other variables, other fits: `supplement`, `describe_components`, `rename`, `refit`.
    - What the fit records: `call`, `method`, `options`, `status`, `converged`, `details`, `optima`.

    Fits are made by :func:`spcastat.spca`, :func:`spcastat.spca_cov` and :func:`spcastat.load`, not by
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

    def __getattr__(self, name: str) -> Any:
        """Answer the names of other programs; found attributes do not come here."""
        if hasattr(type(self), name):  # it is there, and raised AttributeError itself: let that be seen
            return object.__getattribute__(self, name)
        if name.startswith("_"):
            raise AttributeError(name)
        raise no_such_attribute(name, dir(self))

    def __dir__(self) -> list[str]:
        """Return the public names without the twins of plots, which return what is drawn."""
        names = super().__dir__()
        return [name for name in names if not name.startswith("_") and name != "of" and name[-5:] != "_data"]

    def _without_data(self) -> SpcaResult:
        """Return the fit as a file with scores gives it."""
        has_scores = self._state.scores is not None or self._source is not None
        return SpcaResult(self._state.without_data(self._scores if has_scores else None))

    # --- the components -------------------------------------------------------------------------

    components: pd.Index = attribute("_state.components", "The labels PC1, ..., PCk.")

    loadings = computed(frames.loadings)
    card = computed(frames.card)

    @property
    @documented(rows.scores)
    def scores(self) -> Any:
        return own(self._scores)

    @cached_property
    def _scores(self) -> Any:
        return rows.scores(self._state, self._source)

    imputed = computed(gaps.imputed)

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
    loading_products = computed(frames.loading_products)

    # --- how it was found -----------------------------------------------------------------------

    method = attribute("_state.record.method", "Name of the method.")
    options = attribute(
        "_state.record.options", "The options of the method, those left at their defaults too."
    )
    call = attribute("_state.record.call", "The call that makes this fit again, with `data` for the data.")
    status = attribute(
        "_state.record.status",
        'How the fit ended: "converged", "exact" (no iteration needed), "searched" or "max_iter".',
    )
    converged = attribute("_state.record.converged", "Whether the fit ended by itself.")
    n_iter = attribute("_state.record.n_iter", "Number of sweeps, of steps, or of the starts of a search.")
    objective_value = attribute(
        "_state.record.objective",
        "Value of the method's own criterion, in variance units; `summary()` names it.",
    )
    optima = computed(frames.optima)
    details = computed(frames.details)

    # --- rows, new ones too ---------------------------------------------------------------------

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
        """Hotelling's T2 of each row, length n: t'C^-1 t, C the covariance matrix of the scores.

        The distance from the mean within the components, their correlation taken into account. Where
        scores are dependent, C has a generalised inverse.
        """
        return own(self._distances["T2"])

    @property
    def q_statistic(self) -> pd.Series:
        """Squared residual of each row, length n: its squared distance from the span of the loadings.

        In squared units of the (scaled) data. Summed (with the weights) and divided by n - 1, it is
        ``(1 - measure("pev")) * total_variance``; less where missing values were replaced by conditional
        means.
        """
        return own(self._distances["Q"])

    def diagnostics(self, new: Any = None, na: str = "raise") -> Any:
        """Return T2 and Q of the rows of the fit, or of new rows, n x 2; for new rows as `transform`.

        Of rows on workers of dask, those of a sample of 2000, drawn at random by one pass (without labels);
        a warning says so.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks, optional
            Rows as for `transform`.
        na : {"raise", "drop", "em", "pairwise"}
            As for `transform`. With "pairwise", rows with missing values have no distances.
        """
        one_of("na", na, MISSING)
        if new is None and is_apart(self._source):
            if "sample" in self._drawn.attrs:
                warn(f"diagnostics() has those of {self._drawn.attrs['sample']}.", DataWarning)
            return own(self._drawn[["T2", "Q"]])
        if new is None:
            return own(self._distances)
        return in_library_of(new, rows.diagnostics_of(self._state, new, na))

    limits = delegated(frames.limits)

    # --- words and tidy frames ------------------------------------------------------------------

    summary = delegated(summarise, "summary")

    def __repr__(self) -> str:
        return self.summary(max_rows=SCREEN).as_text()

    def _repr_html_(self) -> str:
        return self.summary(max_rows=NOTEBOOK).as_html()

    def _repr_latex_(self) -> str:
        return self.summary(max_rows=NOTEBOOK)._repr_latex_()

    def _repr_markdown_(self) -> str:
        return self.summary(max_rows=NOTEBOOK).as_markdown()

    print_loadings = delegated(printed_loadings)
    equations = delegated(written_equations)
    tidy = delegated(frames.tidy)
    glance = delegated(frames.glance)
    augment = delegated(rows.augment)

    # --- again, proven, stored ------------------------------------------------------------------

    def refit(self, **changes: Any) -> SpcaResult:
        """Fit again with some arguments changed; a new `card`, `variance` or `t` replaces the old control.

        Parameters
        ----------
        **changes
            Arguments of the call that made this fit, such as ``card=5`` or ``scale=True``. A mapping as
            `card` may use the names of the components of this fit; those that it leaves out keep their
            numbers of nonzeros.

        Returns
        -------
        SpcaResult
            A fit of the rows that this one was fitted to. Components have the names that they have here.

        Raises
        ------
        DataError
            Where the data are read again, as for ``na="drop"``, and have changed since the fit.
        NoRowsError
            For a fit from a file, which has no data.
        """
        if self._call is None:
            raise no_data(self._state, "refit()")
        state = self._state
        assert self._source is not None
        if "card" in changes:
            k = changes.get("k")
            changes["card"] = card_by_number(state, changes["card"], k if isinstance(k, int) else None)
        made: SpcaResult = self._call.repeat(self._source, changes)
        return made.rename(names_for(state, made.components)) if state.record.names else made

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

    save = delegated(save_fit)


def load(path: str | PathLike[str]) -> SpcaResult:
    """Read a fit from a file that ``fit.save(path)`` wrote.

    Nothing in a file is run: it holds numbers and text, and a formula only of known functions.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SpcaResult
        With the same loadings, variances, measures, printed summary and plots; `transform` and `diagnostics`
        take data as before. What needs the rows of the fit, such as `refit` and `residuals`, raises
        NoRowsError, and so do `scores` and `biplot` if it was saved without scores.

    Raises
    ------
    FileError
        Where the file does not exist, does not hold a fit, is damaged, truncated or of a newer layout, or
        contradicts itself.
    OptionError
        For anything but a path.
    """
    return SpcaResult(read_state(path))
