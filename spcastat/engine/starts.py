"""Starting loadings: PCA's own first, then rotated, row-seeded and random ones."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.rotation import varimax
from spcastat.kernels.thresholds import unit
from spcastat.operators import Operator


def starting_loadings(op: Operator, V: np.ndarray, n_init: int, rng: np.random.Generator) -> np.ndarray:
    """Return `n_init` starts.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        PCA's loadings: the first start, as in the papers.
    n_init : int
    rng : numpy Generator

    Returns
    -------
    ndarray of shape (n_init, k, p)
        PCA, its varimax rotations without and with Kaiser's normalisation, then row-seeded and random
        starts in turn.
    """
    starts = [V]
    if n_init > 1:
        starts.append(unit(varimax(V)))
    if n_init > 2:
        starts.append(unit(varimax(V, normalise=True)))
    while len(starts) < n_init:
        starts.append(row_seeded(op, V.shape[1], rng) if len(starts) % 2 else random(V.shape, rng))
    return np.ascontiguousarray(np.stack([start.T for start in starts[:n_init]]))


def row_seeded(op: Operator, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k different columns of the covariance matrix, drawn at random, at unit length."""
    varying = np.flatnonzero(op.diagonal() > 0)
    seeds = rng.choice(varying, size=k, replace=varying.size < k)
    return unit(op.columns(seeds))


def random(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return random orthonormal directions, an array of shape (p, k)."""
    return np.linalg.qr(rng.standard_normal(shape))[0]
