"""The state of a fit: everything that tables, reports and files need, except the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from spcastat.engine import Fit, Plan
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError, OptionError
from spcastat.intake import Spec
from spcastat.intake.covariance import OF_CODES
from spcastat.missing import PpcaModel
from spcastat.operators import Rows, Standardisation
from spcastat.state.copies import own
from spcastat.state.fit_moments import Moments
from spcastat.state.record import Proven, Record, make_record
from spcastat.state.resampled import Trust


@dataclass(frozen=True, eq=False)
class FitState:
    """The loadings of a fit and all information about it.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    record : Record
        Method, options and progress of the fit.
    moments : Moments
        Variances and covariances of variables and scores.
    spec : Spec
        How raw data become columns; its `columns` label the variables.
    standard : Standardisation or None
        Centre and scale; None for a covariance matrix given without them.
    scores : DataFrame, n x k, or None
        Scores saved with the fit; for a fit with data they are computed on first use.
    model : PpcaModel or None
        The model that imputes missing values, for a fit with ``na="em"``.
    proofs : tuple of Proven
        Proofs about the fit, one of each kind.
    trust : Trust
        Results of resampling so far.
    """

    V: np.ndarray
    record: Record
    moments: Moments
    spec: Spec
    standard: Standardisation | None = None
    scores: pd.DataFrame | None = None
    model: PpcaModel | None = None
    proofs: tuple[Proven, ...] = ()
    trust: Trust = field(default_factory=Trust)

    @classmethod
    def of(cls, source: Source, plan: Plan, fit: Fit, call: str) -> FitState:
        """Return the state of `fit`, where `call` is the text of the call."""
        V = fit.solution.V
        record = make_record(source, plan, fit, call)
        model = None if source.gaps is None else source.gaps.filling
        check = source.require_same if source.checksum is not None and isinstance(source.op, Rows) else None
        moments = Moments(V, source.op, fit.pca, check)
        return cls(V, record, moments, source.spec, source.standard, model=model)

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk, or the names given by the user."""
        names = self.record.names
        return pd.Index(list(names) if names else [f"PC{i + 1}" for i in range(self.V.shape[1])])

    def by_variable(self, values: Any) -> pd.DataFrame:
        """Return a copy of values of shape (p, k) as a frame of variables and components."""
        return pd.DataFrame(np.array(values), index=own(self.spec.columns), columns=self.components)

    def no_data(self, what: str) -> NoRowsError:
        """Return the error for the operation `what`, which needs the data, on a fit from a file."""
        return NoRowsError(
            f"{what} needs the data, and a fit from a file does not have them; fit again: {self.record.call}."
        )

    def need_centre(self, what: str) -> Standardisation:
        """Return centre and scale; `what` names the operation for the error message.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix given without `mean`.
        """
        if self.standard is None and (self.record.matrix or {}).get("kind") in OF_CODES:
            raise NoRowsError(
                f"{what} needs variables that the rows have, and {(self.record.matrix or {})['kind']} "
                "correlations are not those of the numbers in the rows: use spca(data, ..., scale=True) for "
                "scores."
            )
        if self.standard is None:
            raise NoRowsError(
                f"{what} needs the mean of the variables, and a covariance matrix does not have it; fit with "
                "spca_cov(S, ..., mean=..., sd=...) (sd only for a correlation matrix)."
            )
        return self.standard

    def need_model(self, what: str) -> PpcaModel:
        """Return the model of missing values; `what` names the operation for the error message.

        Raises
        ------
        OptionError
            For a fit without ``na="em"``.
        """
        if self.model is None:
            raise OptionError(
                f"{what} needs the model of missing values of a fit with na='em', and this one has "
                "none: fit again with na='em', which also works for complete data; or use na='pairwise' "
                "for the scores whose own variables were all measured."
            )
        return self.model
