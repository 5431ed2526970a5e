"""Data larger than memory or distributed over machines: streams of chunks, and their operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.intake.design import PLAIN, ReadOptions, Spec
from spcastat.kernels.sparsity import is_sparse

if TYPE_CHECKING:
    from spcastat.streams.base import Stream


def open_stream(data: Any, reading: ReadOptions = PLAIN, spec: Spec | None = None) -> Stream | None:
    """Open data that come in chunks; None for others. See :func:`spcastat.streams.recognise.open_stream`."""
    plain = isinstance(data, pd.DataFrame) or is_sparse(data)
    if plain or (type(data) is np.ndarray and data.base is None):
        return None  # saves the imports below for data in memory
    from spcastat.streams import recognise

    return recognise.open_stream(data, reading, spec)
