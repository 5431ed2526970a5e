"""The options of the command line of ``python -m benchmarks.quality``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Call:
    """Options of the tables.

    Attributes
    ----------
    data : Path or None
        Folder with real data.
    full : bool
        Five seeds instead of one, all efforts, and proofs of up to 60 s instead of 10 s.
    """

    data: Path | None
    full: bool

    def times(self, quick: int, full: int) -> int:
        """Return `quick` or `full`, the number for the mode of measurement."""
        return full if self.full else quick
