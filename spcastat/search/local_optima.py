"""The local optima that starts or a search reached, and an estimate of how many were missed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

#: Values that differ by less than this share of the total variance count as one optimum.
SAME = 1e-6


@dataclass
class Optima:
    """The local optima that a search reached: the value and the number of times of each."""

    hits: dict[float, int] = field(default_factory=dict)

    def add(self, value: float, hits: int = 1) -> None:
        """Count an optimum."""
        for known in self.hits:
            if abs(known - value) <= SAME:
                self.hits[known] += hits
                return
        self.hits[value] = hits

    def table(self) -> list[tuple[float, int]]:
        """Return (value, hits), the best first."""
        return sorted(self.hits.items(), reverse=True)


@dataclass(eq=False)
class Evidence:
    """The local optima of a search.

    Attributes
    ----------
    values : list of float
        The criterion at the end of every climb.
    chains : list of float
        The best of each chain.
    """

    values: list[float] = field(default_factory=list)
    chains: list[float] = field(default_factory=list)

    def add(self, values: np.ndarray) -> None:
        """Add the final values of climbs."""
        self.values += values.tolist()

    def settle(self, value: float) -> None:
        """Replace the value of the best optimum by that of a final ascent from it."""
        best = max(self.values)
        self.values = [max(value, v) if v >= best * (1.0 - SAME) else v for v in self.values]

    def table(self) -> list[tuple[float, int]]:
        """Return the distinct optima, the best first, and how often each was reached."""
        found: list[tuple[float, int]] = []
        for value in sorted(self.values, reverse=True):
            if found and found[-1][0] - value <= SAME * abs(value):
                found[-1] = (found[-1][0], found[-1][1] + 1)
            else:
                found.append((value, 1))
        return found

    def unseen(self) -> float:
        """Return Good and Turing's estimate of the probability that the next climb ends in a new optimum."""
        table = self.table()
        return sum(hits == 1 for _, hits in table) / max(len(self.values), 1)
