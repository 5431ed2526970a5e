"""Components as scales: sums of their variables with weights of plus or minus one, and how reliable they are.

Alpha, the mean correlation and item-rest correlations are those of the R package psych (Revelle). Omega is
McDonald's (1999), of one common factor by minimum residuals (Harman and Jones, 1966).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from spcastat.fit.inputs import Source
from spcastat.fit.state import FitState

#: Largest number of steps, and smallest change of a communality, of the factor of a scale.
STEPS, CLOSE = 5000, 1e-10
#: The smallest number of variables with a factor.
FEWEST = 3


@dataclass(frozen=True, eq=False)
class ScaleNumbers:
    """The numbers of all scales.

    Attributes
    ----------
    table : DataFrame, k x 6
        "items", "alpha", "alpha_std", "omega", "mean_r", "r_component" of each component.
    items : DataFrame
        "component", "key", "term", "r_rest", "r_other", "other": a row for each variable of a component.
    kept : float
        Adjusted variance of the sums over that of the components.
    """

    table: pd.DataFrame
    items: pd.DataFrame
    kept: float


def alpha(C: np.ndarray) -> float:
    """Return Cronbach's alpha of variables with covariance matrix C, shape (c, c); NaN for one variable."""
    c = len(C)
    return c / (c - 1) * (1.0 - float(np.trace(C) / C.sum())) if c > 1 else np.nan


def one_factor(R: np.ndarray) -> np.ndarray:
    """Return the loadings, shape (c,), of the common factor that leaves the smallest residual correlations.

    Communalities are those of the first eigenvector, until they no longer change; they are at most one.
    """
    off = R - np.diag(np.diag(R))
    h = 1.0 - 1.0 / np.diag(np.linalg.pinv(R)).clip(min=1.0)  # squared multiple correlations
    loadings = np.sqrt(h.clip(min=0.0))
    for _ in range(STEPS):
        values, vectors = np.linalg.eigh(off + np.diag(h))
        loadings = vectors[:, -1] * np.sqrt(max(float(values[-1]), 0.0))
        new = np.minimum(loadings**2, 1.0)
        if np.abs(new - h).max() < CLOSE:
            break
        h = new
    return np.asarray(loadings * (-1.0 if loadings.sum() < 0 else 1.0))


def omega(R: np.ndarray) -> float:
    """Return the share of the variance of a sum that one common factor explains; NaN for few variables."""
    if len(R) < FEWEST:
        return np.nan
    return float(one_factor(R).sum() ** 2 / R.sum())


def raw_units(source: Source, used: np.ndarray) -> np.ndarray | None:
    """Return the factors that turn the (scaled) variables into the units of the data; None if unknown."""
    if source.standard is not None:
        return np.asarray(source.standard.scale[used])
    unit = source.op.unit**2 * source.op.diagonal()
    return (
        None if np.abs(unit - 1.0).max() <= 1e-8 else np.ones(len(used))
    )  # a correlation matrix has no units


def numbers(state: FitState, source: Source) -> ScaleNumbers:
    """Return the scales of a fit: every nonzero loading counts with its sign."""
    op, names = source.op, state.spec.columns.to_flat_index()
    used = np.flatnonzero(state.V.any(axis=1))
    S, V = op.block(used) * op.unit**2, state.V[used]
    K = np.sign(V)
    sd = np.sqrt(np.diag(S))
    units = raw_units(source, used)
    sums = S @ K
    variances = np.einsum("ij,ij->j", K, sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = sums / np.outer(sd, np.sqrt(variances))
        R = S / np.outer(sd, sd)
        of_component = (V * sums).sum(axis=0) / np.sqrt(variances * np.einsum("ij,ij->j", V, S @ V))
    rows, items = [], []
    for j, component in enumerate(state.components):
        T = np.flatnonzero(K[:, j])
        here, key = np.ix_(T, T), np.outer(K[T, j], K[T, j])
        C, keyed, c = S[here] * key, R[here] * key, len(T)
        raw = np.nan if units is None else alpha(C * np.outer(units[T], units[T]))
        mean = float(keyed.sum() - c) / (c * (c - 1)) if c > 1 else np.nan
        rows.append((c, raw, alpha(keyed), omega(keyed), mean, float(of_component[j])))
        others = np.delete(np.abs(correlations), j, axis=1)
        labels = state.components.delete(j)
        for place, i in enumerate(T):
            largest = int(others[i].argmax()) if len(labels) else -1
            other = (float(others[i, largest]), labels[largest]) if len(labels) else (np.nan, None)
            key_text = "-" if K[i, j] < 0 else "+"
            items.append((component, key_text, names[used[i]], item_rest(C, place), *other))
    columns = ["items", "alpha", "alpha_std", "omega", "mean_r", "r_component"]
    table = pd.DataFrame(rows, state.components, columns)
    every = pd.DataFrame(items, columns=["component", "key", "term", "r_rest", "r_other", "other"])
    whole = np.zeros(state.V.shape)
    whole[used] = K / np.sqrt((K != 0).sum(axis=0))
    kept = float(op.score_basis(whole)[0].sum() * op.unit**2 / state.moments.adjusted.sum())
    return ScaleNumbers(table, every, kept)


def item_rest(C: np.ndarray, i: int) -> float:
    """Return the correlation of variable i with the sum of the others; NaN for one variable."""
    if len(C) < 2:
        return np.nan
    rest = np.delete(C[i], i).sum()
    variance = np.delete(np.delete(C, i, axis=0), i, axis=1).sum()
    return float(rest / np.sqrt(C[i, i] * variance)) if variance > 0 else np.nan
