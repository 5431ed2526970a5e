"""Covariance matrices on which searches are compared."""

from __future__ import annotations

import numpy as np


def draw(p: int, seed: int) -> np.ndarray:
    """A covariance matrix with correlated variables of different variances."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * p, p)) * rng.uniform(0.5, 3.0, p)
    return np.cov(X @ np.linalg.qr(rng.standard_normal((p, p)))[0], rowvar=False)
