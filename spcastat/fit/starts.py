"""Starting loadings of a fit, for all components together and for one after another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spcastat.fit.plan import STARTS, Start
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import first_max, unit


def first_loadings(op: Operator, pca: np.ndarray, start: Start) -> np.ndarray:
    """Return the first start of all components together.

    Parameters
    ----------
    op : Operator
    pca : ndarray of shape (p, k)
        PCA's loadings.
    start : str or ndarray of shape (p, k)
        "column" starts from single variables: each is the one with the largest variance given the earlier
        ones.

    Returns
    -------
    ndarray of shape (p, k), columns of unit length
    """
    if isinstance(start, np.ndarray):
        return unit(start)
    if start == "ones":
        return np.full(pca.shape, op.p**-0.5)
    return pca if start == "pca" else _longest_columns(op, pca.shape[1])


def starting_loadings(
    op: Operator,
    pca: np.ndarray,
    n_init: int,
    rng: np.random.Generator,
    first_start: np.ndarray | None = None,
) -> np.ndarray:
    """Return `n_init` starts of all components together.

    Parameters
    ----------
    op : Operator
    pca : ndarray of shape (p, k)
        PCA's loadings: the first start, or the second if `first_start` is given.
    n_init : int
    rng : numpy Generator
    first_start : ndarray of shape (p, k), optional
        The first start, if it is not PCA.

    Returns
    -------
    ndarray of shape (n_init, k, p)
        The first, PCA, its varimax rotations without and with Kaiser's normalisation, then row-seeded and
        random starts in turn.
    """
    starts = [pca] if first_start is None or first_start is pca else [first_start, pca]
    if n_init > len(starts):
        starts.append(unit(varimax(pca)))
    if n_init > len(starts):
        starts.append(unit(varimax(pca, normalise=True)))
    for number in range(len(starts), n_init):
        if number % 2:
            starts.append(row_seeded(op, pca.shape[1], rng))
        else:
            starts.append(np.linalg.qr(rng.standard_normal(pca.shape))[0])
    return np.ascontiguousarray(np.stack([start.T for start in starts[:n_init]]))


def of_component(
    view: Operator, start: Start, component: int, n_init: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield `n_init` starts, each of shape (p,), for component number `component` on the deflated data.

    They are the requested start, the other named starts (see STARTS), then random columns of the covariance
    matrix and random directions.
    """
    other_names = [name for name in STARTS if isinstance(start, np.ndarray) or name != start]
    for start_of_component in [start, *other_names][:n_init]:
        if isinstance(start_of_component, np.ndarray):
            yield unit(start_of_component[:, [component]])[:, 0]
        elif start_of_component == "pca":
            yield view.leading(1)[1][:, 0]
        else:
            yield first_loadings(view, np.zeros((view.p, 1)), start_of_component)[:, 0]
    for turn in range(n_init - 1 - len(other_names)):
        if turn % 2:
            yield np.linalg.qr(rng.standard_normal((view.p, 1)))[0][:, 0]
        else:
            yield row_seeded(view, 1, rng)[:, 0]


def row_seeded(op: Operator, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k different columns of the covariance matrix, drawn at random and scaled to unit length."""
    varying = np.flatnonzero(op.diagonal() > 0)
    seeds = rng.choice(varying, size=k, replace=varying.size < k)
    return unit(op.columns(seeds))


def _longest_columns(op: Operator, k: int) -> np.ndarray:
    """Return loadings with one nonzero each: the pivots of the Cholesky factorisation."""
    residual_variances = np.array(op.diagonal(), dtype=float)
    factor, V = np.zeros((op.p, k)), np.zeros((op.p, k))
    for j in range(k):
        i = first_max(residual_variances)
        column = op.columns(np.array([i]))[:, 0] - factor[:, :j] @ factor[i, :j]
        factor[:, j] = column / np.sqrt(max(residual_variances[i], np.finfo(float).tiny))
        residual_variances = np.maximum(residual_variances - factor[:, j] ** 2, 0.0)
        residual_variances[i] = 0.0
        V[i, j] = 1.0
    return V
