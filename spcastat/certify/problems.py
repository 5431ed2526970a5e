"""The problem of each measure."""

from __future__ import annotations

import numpy as np

from spcastat.certify.orthogonal import Orthogonal
from spcastat.certify.projection import Projection
from spcastat.certify.relaxed import Relaxed
from spcastat.certify.sequence import Sequence


def relaxed(S: np.ndarray, cards: tuple[int, ...], measure: str, orthogonal: bool = False) -> Relaxed:
    """Return the problem of "pev", "adjusted" or "least_squares", or of PEV of orthogonal loadings."""
    if orthogonal:
        return Orthogonal(S, cards)
    return Sequence(S, cards) if measure == "adjusted" else Projection(S, cards, measure)
