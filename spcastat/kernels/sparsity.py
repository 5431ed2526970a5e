"""A test for sparse matrices that does not import scipy.sparse."""

from __future__ import annotations

import sys
from typing import Any


def is_sparse(X: Any) -> bool:
    """Return whether `X` is a scipy.sparse matrix or array.

    scipy.sparse is not imported: if nobody has imported it yet, `X` cannot be one.
    """
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))
