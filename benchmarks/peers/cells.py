"""The settings for all programs: data, components and cardinalities; the function that measures loadings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.data import file_of, real_rows
from spcastat.measures import adjusted, best_order, pev

#: Data -> the pairs of number of components and cardinality, the same for all of them.
CELLS: dict[str, tuple[tuple[int, int], ...]] = {
    "pitprops": ((2, 5), (3, 5), (6, 4)),
    "pitprops_print": ((6, 4),),
    "mtcars": ((2, 4), (3, 4), (3, 6)),
    "diabetes": ((2, 4), (3, 4), (3, 6)),
    "wine": ((2, 5), (3, 5), (3, 10)),
    "breast_cancer": ((2, 5), (3, 5), (3, 10)),
    "normionosphere": ((2, 5), (3, 5), (3, 10)),
    "normlung": ((2, 5), (3, 5), (3, 10)),
    "normGeographic": ((2, 5), (3, 5), (3, 10)),
    "normCommunities": ((2, 5), (3, 5), (3, 10)),
    "snp500": ((4, 10), (4, 20), (4, 30)),
}
#: Numbers of nonzeros of single components, which are compared by value and time only.
SINGLE: dict[str, tuple[int, ...]] = {
    "pitprops": (5,),
    "mtcars": (4,),
    "diabetes": (4,),
    "wine": (5,),
    "breast_cancer": (5,),
    "normCommunities": (10,),
}
#: Data, components and cardinality.
Cell = tuple[str, int, int]
#: The correlations of the last variable of pitprops with the eighth to twelfth in msPCA's benchmarks; those
#: of Jeffers are others.
PRINTED_DIAKNOT = (-0.172, -0.175, -0.545, 0.054, 0.220)


#: Data of scikit-learn -> name in `benchmarks.data`.
OF_SKLEARN = {"diabetes": "diabetes", "wine": "wine", "breast_cancer": "breast cancer"}


def rows(name: str, folder: Path | None) -> np.ndarray | None:
    """Return the centred rows of a data set, or None where they are not here.

    Parameters
    ----------
    name : str
        A key of `CELLS`.
    folder : Path, optional
        With ``mtcars.csv`` and ``cov_NAME.npz``.

    Returns
    -------
    ndarray of shape (n, p) or None
        Columns of unit variance, except for snp500, which is a covariance matrix of residuals. Where only
        the matrix is known there are p + 1 rows that have exactly this covariance matrix.
    """
    if name == "pitprops":
        return sp.datasets.pitprops_sample(180).to_numpy()
    if name == "pitprops_print":
        R = sp.datasets.load_pitprops().to_numpy()
        R[7:12, 12] = R[12, 7:12] = PRINTED_DIAKNOT
        return rows_of(R)
    if name in OF_SKLEARN:
        try:
            return _standardised(real_rows(OF_SKLEARN[name], None))
        except ImportError:
            return None
    path = file_of("mtcars.csv" if name == "mtcars" else f"cov_{name}.npz", folder)
    if path is None:
        return None
    if name == "mtcars":
        return _standardised(pd.read_csv(path, index_col=0).to_numpy(float))
    return rows_of(np.load(path)["S"])


def _standardised(X: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    return X / X.std(axis=0, ddof=1)


def rows_of(S: np.ndarray) -> np.ndarray:
    """Return p + 1 centred rows, shape (p + 1, p), whose covariance matrix is S, shape (p, p)."""
    p = len(S)
    values, vectors = np.linalg.eigh(S)
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    contrasts = np.linalg.qr(np.column_stack([np.ones(p + 1), np.eye(p + 1, p)]))[0][:, 1:]
    return np.sqrt(p) * contrasts @ root


@dataclass(frozen=True)
class Measured:
    """Loadings by every criterion; shares are of the total variance.

    Attributes
    ----------
    pev : float
        What the projection on the loadings reconstructs: of p variables that overlap, nothing counts twice.
    adjusted : float
        The variance of the scores, each component counting what it adds, in the best order.
    variances : float
        Sum of v'Sv, what msPCA calls the fraction of variance explained. It equals `pev` for orthogonal
        loadings, and counts the same variance again where they are not.
    violation : float
        Sum of |v_i'v_j| over pairs, msPCA's violation of orthogonality.
    card : tuple of int
        Numbers of nonzeros.
    """

    pev: float
    adjusted: float
    variances: float
    violation: float
    card: tuple[int, ...]


def measured(V: np.ndarray, S: np.ndarray) -> Measured:
    """Measure loadings of shape (p, k), of any length and sign, by the covariance matrix S, shape (p, p).

    Columns of zeros count as components that explain nothing.
    """
    lengths = np.linalg.norm(V, axis=0)
    card = tuple(int(c) for c in np.count_nonzero(V, axis=0))
    V = V[:, lengths > 0] / lengths[lengths > 0]
    if V.shape[1] == 0:
        return Measured(0.0, 0.0, 0.0, 0.0, card)
    total = float(np.trace(S))
    order = best_order(V.T @ S @ V)
    return Measured(
        pev(V, S=S),
        adjusted(V[:, order], S=S),
        float(np.einsum("ij,ik,kj->", V, S, V)) / total,
        float(np.abs(np.triu(V.T @ V, 1)).sum()),
        card,
    )
