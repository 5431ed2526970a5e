"""The second moments from which measures are computed, cached on first use or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from spcastat.errors import NoRowsError
from spcastat.linalg.eigenvectors import orthonormalise, symmetric
from spcastat.linalg.operators import Operator
from spcastat.measures import MEASURES, measure_named


class Moments:
    """Variances and covariances of variables and scores, all with the divisor of the variances.

    Parameters
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    op : Operator
        The covariance matrix S and its unit; the moments here are in the unit of the data.
    pca : ndarray of shape (k,)
        The k leading eigenvalues of S in that unit.
    check : callable, optional
        Called before the operator is used; raises if the data have changed since the fit.
    """

    #: The attributes saved in a file.
    ARRAYS = (
        "total",
        "variances",
        "coupling",
        "scores",
        "adjusted",
        "explained",
        "pca",
        "residual_traces",
        "unit",
    )

    #: The unit of the residual traces, whose third powers may overflow in the unit of the data.
    unit: float = 1.0

    def __init__(
        self, V: np.ndarray, op: Operator | None, pca: np.ndarray, check: Callable[[], None] | None = None
    ):
        self.V = V
        self._check = check
        self._op = op
        self.unit = 1.0 if op is None else op.unit
        self.pca = pca * self.unit**2
        self._measures: dict[str, np.ndarray] = {}

    @classmethod
    def stored(cls, V: np.ndarray, arrays: Mapping[str, Any], measures: Mapping[str, np.ndarray]) -> Moments:
        """Return moments read from a file: the values of ARRAYS, and the measures saved with them."""
        moments = cls(V, None, arrays["pca"])
        moments.__dict__.update({name: arrays[name] for name in cls.ARRAYS if name in arrays})
        moments._measures = dict(measures)
        return moments

    def without_data(self) -> Moments:
        """Return the moments as a file would restore them: computed, and without the data."""
        if self._op is None:
            return self
        return self.stored(self.V, *self.kept())

    def kept(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the contents of a file: the values of ARRAYS, and the available measures."""
        arrays = {name: getattr(self, name) for name in self.ARRAYS}
        return arrays, {name: self.measure(name) for name in self.known_measures()}

    @property
    def op(self) -> Operator:
        """The operator; the fit must have its data."""
        assert self._op is not None
        if self._check is not None:
            self._check()
        return self._op

    @cached_property
    def total(self) -> float:
        """Trace of S."""
        return float(self.op.total) * self.unit**2

    @cached_property
    def variances(self) -> np.ndarray:
        """Variances of the variables, shape (p,)."""
        return np.array(self.op.diagonal(), dtype=float) * self.unit**2

    @cached_property
    def coupling(self) -> np.ndarray:
        """Covariances S V of variables and scores, shape (p, k)."""
        return self.op.dot(self.V) * self.unit**2

    @cached_property
    def scores(self) -> np.ndarray:
        """Covariance matrix V'SV of the scores, shape (k, k)."""
        C = self.V.T @ self.coupling
        return symmetric(C)

    @cached_property
    def adjusted(self) -> np.ndarray:
        """Adjusted variances, shape (k,)."""
        return self._basis[0] * self.unit**2

    @cached_property
    def explained(self) -> np.ndarray:
        """Variance of each variable explained by regression on all scores, shape (p,)."""
        return np.einsum("ij,ij->i", self._basis[1], self._basis[1]) * self.unit**2

    @cached_property
    def _basis(self) -> tuple[np.ndarray, np.ndarray]:
        """Adjusted variances and coupling (see `Operator.score_basis`), in the unit of the operator."""
        return self.op.score_basis(self.V)

    def smaller_products(self) -> np.ndarray | None:
        """Return the smaller of S and the Gram matrix of the rows, both over `unit` squared.

        Their nonzero eigenvalues are equal. None without the data, or if the smaller dimension exceeds
        `GRAM_ORDER`.
        """
        op = self._op
        return None if op is None else op.residual(np.zeros((op.p, 0)))

    @cached_property
    def residual_traces(self) -> np.ndarray | None:
        """Traces of E, E^2 and E^3, shape (3,), of the residual covariance matrix E over `unit` squared.

        Residuals are the rows minus their projection on V. None if the smaller dimension of the data exceeds
        `GRAM_ORDER`.
        """
        left = self.op.residual(orthonormalise(self.V)[0])
        if left is None:
            return None
        E = symmetric(left)
        return np.array([np.trace(E), (E * E).sum(), (E * (E @ E)).sum()])

    def known_measures(self) -> list[str]:
        """Return the names of the available measures: all, or those in the file of the fit."""
        return [name for name in MEASURES if self._op is not None or name in self._measures]

    def measure(self, name: str) -> np.ndarray:
        """Return a measure of the first 1, ..., k components, shape (k,).

        Raises
        ------
        NoRowsError
            If the moments are from a file that does not contain the measure.
        """
        if name not in self._measures:
            if self._op is None:
                raise NoRowsError(
                    f"measure {name!r} is not in the file of this fit, which an earlier version wrote, and "
                    "it needs the data: fit again."
                )
            # the cached eigenvalues are passed on, as those of wide data take seconds
            known = {
                "adjusted": lambda: np.cumsum(self.adjusted) / self.total,
                "relative_adjusted": lambda: np.cumsum(self.adjusted) / np.cumsum(self.pca),
                "least_squares": lambda: np.cumsum((self._basis[1] ** 2).sum(axis=0)) / self.op.total,
                "rre": lambda: np.sqrt((1.0 - self.measure("pev")).clip(min=0.0)),
            }
            compute = known.get(name, lambda: measure_named(name)(self.V, self.op))
            self._measures[name] = np.asarray(compute(), dtype=float)
        return self._measures[name]
