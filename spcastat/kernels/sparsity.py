"""One question that several layers ask of a matrix."""

from __future__ import annotations

from typing import Any

import scipy.sparse


def is_sparse(X: Any) -> bool:
    """Return whether `X` is a scipy.sparse matrix or array."""
    return bool(scipy.sparse.issparse(X))
