"""Covariance matrices on which searches are compared, and gains of supports by projection alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def draw(p: int, seed: int) -> np.ndarray:
    """A covariance matrix with correlated variables of different variances."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * p, p)) * rng.uniform(0.5, 3.0, p)
    return np.cov(X @ np.linalg.qr(rng.standard_normal((p, p)))[0], rowvar=False)


def gain(S: np.ndarray, others: np.ndarray, support: np.ndarray) -> float:
    """What the best vector on a support adds to the variance explained by the span of `others`."""
    E = np.eye(len(S))[:, support]
    if others.shape[1]:
        Q = np.linalg.qr(others)[0]
        E = E - Q @ (Q.T @ E)
    left, size, _ = np.linalg.svd(E, full_matrices=False)
    W = left[:, size > 1e-7]
    return float(np.linalg.eigvalsh(W.T @ S @ W)[-1]) if W.shape[1] else 0.0


def swaps(p: int, support: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Every swap: the place that leaves, the variable that enters, and the new support."""
    for place in range(len(support)):
        for variable in np.setdiff1d(np.arange(p), support):
            yield place, int(variable), np.append(np.delete(support, place), variable)


def explained(S: np.ndarray, V: np.ndarray) -> float:
    """Variance of the rows projected on the span of V."""
    return float(np.trace(np.linalg.solve(V.T @ V, V.T @ S @ V)))


def best_swap(S: np.ndarray, V: np.ndarray, supports: list[np.ndarray]) -> float:
    """The largest relative rise of what a component adds by any swap in it, the others as they are."""
    rises = []
    for i, support in enumerate(supports):
        others = np.delete(V, i, axis=1)
        now = explained(S, V) - (explained(S, others) if others.shape[1] else 0.0)
        rises += [gain(S, others, new) / now - 1.0 for _, _, new in swaps(len(S), support)]
    return max(rises)


def covariance(kind: str, p: int, rng: np.random.Generator) -> np.ndarray:
    """A covariance matrix; of low rank, or with a few strong directions, the tests have least room."""
    if kind == "full":
        X = rng.standard_normal((3 * p, p)) * rng.uniform(0.3, 3.0, p)
    elif kind == "low rank":
        X = rng.standard_normal((4, p)) * rng.uniform(0.3, 2.0, p)
    else:
        X = 3.0 * rng.standard_normal((4 * p, 2)) @ rng.standard_normal((2, p)) * rng.uniform(0.1, 2.0, p)
        X = X + 0.5 * rng.standard_normal((4 * p, p))
    return X.T @ X / len(X)


KINDS = ("full", "low rank", "factors")


def loadings(p: int, k: int, card: int, rng: np.random.Generator) -> np.ndarray:
    """Random sparse unit loadings whose supports overlap."""
    V = np.zeros((p, k))
    for i in range(k):
        V[rng.choice(p - 3, card, replace=False), i] = rng.standard_normal(card)
    return V / np.linalg.norm(V, axis=0)
