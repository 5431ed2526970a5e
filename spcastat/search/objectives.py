"""The objectives of joint searches: one record for each, which specifies its searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.operators import residual_covariances
from spcastat.measures import MEASURES, Measure
from spcastat.search.criteria import (
    Adjusted,
    Criterion,
    Projected,
    Reconstruction,
    inverse_of_gram,
    triangle,
)

# --- values of groups ----------------------------------------------------------------------------


#: The smallest divisor in place of a remaining variance, as a share of the total variance.
SMALLEST_VARIANCE = 1e-10


@dataclass(frozen=True)
class GroupSearch:
    """The properties of an objective that a search over partitions of all variables needs.

    Attributes
    ----------
    bound : {"equal", "upper", None}
        "equal" if the sum of the first eigenvalues of the groups equals the value of their first
        eigenvectors, which are then the best loadings; "upper" if the sum is an upper bound on the value of
        any loadings; otherwise None.
    slope : callable
        Takes V, S V and S S V (None if the objective does not need it), each of shape (n, p, k), and returns
        half the gradient of the value with respect to V, shape (n, p, k), and the values, shape (n,). The
        gradient excludes its component along the columns of V.
    values : callable
        Takes V'SV and V'SSV (or None), of shape (n, k, k), and returns the values, shape (n,).
    ratio : bool
        Whether the value of a single component is v'SSv / v'Sv, rather than v'Sv.
    """

    bound: Literal["equal", "upper"] | None
    slope: Callable[[np.ndarray, np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray]]
    values: Callable[[np.ndarray, np.ndarray | None], np.ndarray]
    ratio: bool = False


# --- adjusted variance ----------------------------------------------------------------------------


def adjusted_slope(V: np.ndarray, SV: np.ndarray, SSV: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return S V C C' - V diag(adjusted variances), with C as in `triangle`, and the values."""
    C, variances = triangle(V.mT @ SV)
    return SV @ (C @ C.mT) - V * variances[:, None, :], variances.sum(axis=1)


def adjusted_values(G: np.ndarray, N: np.ndarray | None) -> np.ndarray:
    """Return adjusted variances after ordering the components greedily, the largest variance first."""
    return added_variances(G).sum(axis=0)


def added_variances(G: np.ndarray, sorts: bool = True) -> np.ndarray:
    """Return the variance that each component adds, shape (k, n), from G = V'SV, shape (n, k, k).

    If `sorts`, the next component is always the one with the largest remaining variance; otherwise components
    are in the order of G.
    """
    k, indices = G.shape[1], np.arange(len(G))
    residual, increments = G.copy(), np.zeros((k, len(G)))
    for i in range(k):
        variances = np.diagonal(residual, axis1=1, axis2=2)
        component = variances.argmax(axis=1) if sorts else np.full(len(G), i)
        increments[i] = variances[indices, component].clip(min=0.0)
        column = residual[indices, :, component]
        residual = residual_covariances(residual, column, np.maximum(increments[i], SMALLEST_VARIANCE))
    return increments


# --- PEV ------------------------------------------------------------------------------------------


def pev_slope(V: np.ndarray, SV: np.ndarray, SSV: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return S V - V diag(variances), and the sums of the variances."""
    variances = np.einsum("bii->bi", V.mT @ SV)
    return SV - V * variances[:, None, :], variances.sum(axis=1)


def pev_values(G: np.ndarray, N: np.ndarray | None) -> np.ndarray:
    """Return the sums of the variances."""
    return np.asarray(np.trace(G, axis1=1, axis2=2))


# --- the least-squares share ----------------------------------------------------------------------


def regression_slope(V: np.ndarray, SV: np.ndarray, SSV: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return S S V H - S V H N H, with H = (V'SV)^-1 and N = V'SSV, and the values tr H N."""
    assert SSV is not None
    H = inverse_of_gram(V.mT @ SV)
    HN = H @ (V.mT @ SSV)
    return SSV @ H - SV @ (HN @ H), np.einsum("bii->b", HN)


def regression_values(G: np.ndarray, N: np.ndarray | None) -> np.ndarray:
    """Return tr (V'SV)^-1 V'SSV."""
    assert N is not None
    return np.asarray(np.trace(np.linalg.pinv(G, hermitian=True) @ N, axis1=1, axis2=2))


# --- the records --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Objective:
    """An objective of joint searches.

    Attributes
    ----------
    name, label : str
        The value of the option ``objective=``, and the printed name.
    measure : Measure
        The share of the total variance that is maximised.
    criterion : type
        The subclass of Criterion that is maximised; its method `of_matrix` makes an instance.
    ordered : bool
        Whether the value depends on the order of the components because each counts what it adds to earlier
        ones.
    equals_variance : bool
        Whether the value of a single component is its variance.
    reconstructs : bool
        Whether the value is the share of the variance that projections of the rows on the loadings reproduce,
        which methods for nonnegative loadings maximise as well. Components of a single variable may then tie.
    proxy : Objective or None
        The objective that sweeps over many variables maximise instead, as products with S S are expensive.
    groups : GroupSearch or None
        Properties for a search over partitions of all variables; None if there is no such search.
    relaxation : str or None
        The name of the bounds over all supports in :mod:`spcastat.proofs.jointly`; None if there are none.
    shares : bool
        Whether the option ``variance=`` can request a share of this objective.
    """

    name: str
    label: str
    measure: Measure
    criterion: type[Criterion]
    ordered: bool = False
    equals_variance: bool = False
    reconstructs: bool = False
    proxy: Objective | None = None
    groups: GroupSearch | None = None
    relaxation: str | None = None
    shares: bool = False

    def group_search(self) -> GroupSearch:
        """Return the properties for a search over partitions of all variables.

        Raises
        ------
        OptionError
            If there is no such search for the objective.
        """
        if self.groups is None:
            raise OptionError(
                f"objective={self.name!r} was given with disjoint=True and without card=, for which there is "
                f"no search over groups of all variables: give card=, or {_those_with('groups')}."
            )
        return self.groups

    def joint_relaxation(self) -> str:
        """Return the name of the bounds over all supports.

        Raises
        ------
        OptionError
            If there are no such bounds for the objective.
        """
        if self.relaxation is None:
            raise OptionError(
                f"objective={self.name!r} has no joint proof: give {_those_with('relaxation')}, or "
                "joint=False for proofs of single components."
            )
        return self.relaxation


ADJUSTED = Objective(
    "adjusted",
    "adjusted variance",
    MEASURES["adjusted"],
    Adjusted,
    ordered=True,
    equals_variance=True,
    groups=GroupSearch("upper", adjusted_slope, adjusted_values),
    relaxation="sequence",
    shares=True,
)
PEV = Objective(
    "pev",
    "PEV",
    MEASURES["pev"],
    Reconstruction,
    equals_variance=True,
    reconstructs=True,
    groups=GroupSearch("equal", pev_slope, pev_values),
    relaxation="projection",
)
LEAST_SQUARES = Objective(
    "least_squares",
    "least-squares share",
    MEASURES["least_squares"],
    Projected,
    proxy=ADJUSTED,
    groups=GroupSearch(None, regression_slope, regression_values, ratio=True),
    relaxation="regression",
)
#: The default objective of searches over groups of all variables; adjusted variance would give one general
#: group.
OF_GROUPS = PEV
#: The objectives by name.
OBJECTIVES: dict[str, Objective] = {record.name: record for record in (ADJUSTED, PEV, LEAST_SQUARES)}


def provable() -> list[str]:
    """Return the names of the objectives that have joint proofs."""
    return [name for name, record in OBJECTIVES.items() if record.relaxation is not None]


def _those_with(field: str) -> str:
    """Return the text of the options for objectives that have a value in `field`, for messages."""
    return " or ".join(f"objective={name!r}" for name, record in OBJECTIVES.items() if getattr(record, field))
