"""One question that several layers ask of a matrix."""

from __future__ import annotations

import sys
from typing import Any


def is_sparse(X: Any) -> bool:
    """Return whether `X` is a scipy.sparse matrix or array.

    Nobody has one before scipy.sparse is imported, so it is not imported for the answer.
    """
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))
