"""Numbers and factors in one analysis, as in factor analysis of mixed data.

Pagès (2004), "Analyse factorielle de données mixtes", Revue de Statistique Appliquée, 52 (4), 93-111.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.operators.scaling_groups import ScalingGroups


@dataclass(frozen=True, eq=False)
class Mixed(ScalingGroups):
    """Scale numbers to unit variance; divide the indicator of a level by the root of its share p of the rows.

    The groups are the factors. A factor has inertia levels - 1 then, a number 1.
    """

    @property
    def indicators(self) -> np.ndarray:
        """A mask of the columns that are indicators, shape (p,)."""
        return self.of >= 0

    def divisors(self, mean: np.ndarray, variance: np.ndarray, weight: float) -> np.ndarray:
        """Return what columns with these means and variances (divisor weight - 1) are divided by, shape (p,).

        The variance of an indicator is p (1 - p) with the divisor n. So that its inertia is 1 - p with the
        divisor n - 1 of this package, too, p is multiplied by n / (n - 1).
        """
        return np.sqrt(np.where(self.indicators, mean * (weight / (weight - 1.0)), variance))
