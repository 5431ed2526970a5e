"""Constraints that make components uncorrelated or orthogonal: one record for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.arguments import plural, warn
from spcastat.errors import ComponentsError, ConvergenceWarning
from spcastat.linalg.operators import Operator
from spcastat.search.objectives import ADJUSTED, LEAST_SQUARES, PEV

#: If the constraint leaves at most this share of the ratios of loadings free, values differ between seeds by
#: up to two percentage points: a sixth is free for six components of the pitprops data with four variables
#: each. If more than half was free, two seeds were within .005 points in 17 of 18 settings of six tables, and
#: within .15 points in all.
TIGHT = 0.25


@dataclass(frozen=True)
class Constraint:
    """A constraint v_i'M v_j = 0 on any two loadings, where M is the covariance matrix S or the identity.

    Under the constraint these objectives are sums over the components that do not depend on their order.

    Attributes
    ----------
    name, label : str
        The value of the option ``constraint=``, and the printed name.
    product : str
        The printed name of the quantity that is zero for any two components.
    of_scores : bool
        Whether M is the covariance matrix, so that scores are uncorrelated.
    objectives : tuple of str
        The objectives that can be maximised under the constraint, the default first.
    """

    name: str
    label: str
    product: str
    of_scores: bool
    objectives: tuple[str, ...]

    def violation(self, V: np.ndarray, op: Operator) -> float:
        """Return the largest correlation of two scores, or cosine of two loadings, in absolute value."""
        G = op.products(V) if self.of_scores else V.T @ V
        lengths = np.sqrt(np.diag(G).clip(min=0.0))
        cosines = G / np.maximum(np.outer(lengths, lengths), np.finfo(float).tiny)
        return float(np.abs(cosines - np.diag(np.diag(cosines))).max())

    def require_possible(self, S: np.ndarray, cards: tuple[int, ...]) -> None:
        """Raise an error for cardinalities with which no loadings can meet the constraint.

        A unit vector with c nonzeros has c - 1 free parameters, and every pair of scores uses up one of them
        unless covariances are zero. Orthogonal loadings always exist, with disjoint supports or more zeros.

        Raises
        ------
        ComponentsError
            If the loadings have too few free parameters.
        """
        if not self.leaves_freedom(cards) and S.all():
            ratios, pairs = _ratios_and_pairs(cards)
            raise ComponentsError(
                f"constraint={self.name!r} was given with card={list(cards)}, but no such components have "
                f"uncorrelated scores: {plural(sum(cards), 'loading')} have {plural(ratios, 'free ratio')}, "
                f"and {plural(pairs, 'pair')} of scores must be uncorrelated. Give larger cards or fewer "
                "components; cards of 1, 2, 3, ... or more always have uncorrelated scores."
            )

    def leaves_freedom(self, cards: tuple[int, ...]) -> bool:
        """Return whether loadings of these cardinalities have enough free parameters for the constraint."""
        ratios, pairs = _ratios_and_pairs(cards)
        return not self.of_scores or ratios >= pairs

    def is_tight(self, S: np.ndarray, cards: tuple[int, ...]) -> bool:
        """Return whether the constraint leaves at most a share TIGHT of the ratios of loadings free."""
        ratios, pairs = _ratios_and_pairs(cards)
        return bool(self.of_scores and pairs and ratios - pairs <= TIGHT * ratios and S.all())

    def warn_if_tight(self, S: np.ndarray, cards: tuple[int, ...], loss: float) -> None:
        """Warn if the constraint leaves so few free parameters that the search may miss better loadings.

        `loss` is the variance that the constraint costs, as a share of the total.
        """
        if not self.is_tight(S, cards):
            return
        ratios, pairs = _ratios_and_pairs(cards)
        warn(
            f"constraint={self.name!r} with card={list(cards)} leaves "
            f"{plural(ratios - pairs, 'free number')} in all loadings: it costs "
            f"{100.0 * loss:.1f} % of the total variance, and another seed, rng=, "
            "may find better components. Give larger cards or fewer components, or effort='thorough'.",
            ConvergenceWarning,
        )


def _ratios_and_pairs(cards: tuple[int, ...]) -> tuple[int, int]:
    """Return the number of free parameters of unit loadings, and the number of pairs of components."""
    k = len(cards)
    return sum(cards) - k, k * (k - 1) // 2


UNCORRELATED = Constraint(
    "uncorrelated", "uncorrelated scores", "correlation of scores", True, (ADJUSTED.name, LEAST_SQUARES.name)
)
ORTHOGONAL = Constraint("orthogonal", "orthogonal loadings", "inner product of loadings", False, (PEV.name,))
#: The constraints by name.
CONSTRAINTS: dict[str, Constraint] = {record.name: record for record in (UNCORRELATED, ORTHOGONAL)}
