"""The local optima that starts or a search met."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Values closer than this, as shares of the total variance, are one optimum.
SAME = 1e-6


@dataclass
class Optima:
    """The local optima that a search met: value and number of times, best first."""

    hits: dict[float, int] = field(default_factory=dict)

    def add(self, value: float, hits: int = 1) -> None:
        """Count an optimum."""
        for known in self.hits:
            if abs(known - value) <= SAME:
                self.hits[known] += hits
                return
        self.hits[value] = hits

    def polish(self, value: float) -> None:
        """Give the best optimum the value that a final climb from it reached."""
        self.hits[value] = self.hits.pop(max(self.hits))

    def table(self) -> list[tuple[float, int]]:
        """Return (value, hits), the best first."""
        return sorted(self.hits.items(), reverse=True)
