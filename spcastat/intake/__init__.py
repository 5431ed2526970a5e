"""Reading data: convert data frames, arrays, formulas and covariance matrices to checked, frozen tables."""

from __future__ import annotations

from spcastat.intake.covariance import looks_like_covariance, read_covariance, refuse_covariance
from spcastat.intake.design import Covariance, Design, ReadOptions, Spec
from spcastat.intake.frames import COPY_LIMIT
from spcastat.intake.read import read_data
from spcastat.intake.replay import replay

__all__ = [
    "COPY_LIMIT",
    "Covariance",
    "Design",
    "ReadOptions",
    "Spec",
    "looks_like_covariance",
    "read_covariance",
    "read_data",
    "refuse_covariance",
    "replay",
]
