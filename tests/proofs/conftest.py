"""Covariance matrices small enough to try every support."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest

KINDS = ("generic", "near rank one", "block", "low rank", "duplicated", "constant", "ties", "correlation")


def covariance(kind: str, p: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a covariance matrix of order p; "low rank" has eigenvalues of about -1e-16."""
    X = rng.standard_normal((int(rng.integers(3, 3 * p)), p))
    if kind == "near rank one":
        u = rng.standard_normal(p)
        return np.outer(u, u) + 1e-3 * X.T @ X
    if kind == "block":
        S = X.T @ X
        S[: p // 2, p // 2 :] = 0.0
        S[p // 2 :, : p // 2] = 0.0
        return S
    if kind == "low rank":
        return X[:2].T @ X[:2] - 1e-16 * np.eye(p)
    if kind == "duplicated":
        X[:, p // 2 :] = X[:, : p - p // 2]
    if kind == "constant":
        X[:, ::3] = 0.0
    if kind == "ties":
        signs = rng.choice([-1.0, 1.0], p)
        return np.outer(signs, signs) * rng.choice([0.25, 0.5]) + np.eye(p) / 2
    if kind == "correlation":
        return np.corrcoef(rng.standard_normal((p, 4)) @ rng.standard_normal((4, 3 * p)))
    return X.T @ X


def matrices(rng: np.random.Generator, count: int, largest: int):
    """Yield `count` matrices of every kind in turn, p from 3 to `largest`, scales 1e-8, 1 and 1e8."""
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        p = int(rng.integers(3, largest + 1))
        S = covariance(kind, p, rng) * 10.0 ** rng.choice([-8, 0, 8])
        yield kind, 0.5 * (S + S.T)


def values_of_supports(S: np.ndarray, c: int) -> dict[tuple[int, ...], float]:
    """Return the leading eigenvalue on every support of c variables."""
    supports = list(combinations(range(len(S)), c))
    J = np.array(supports)
    blocks = S[J[:, :, None], J[:, None, :]]
    return dict(zip(supports, np.linalg.eigvalsh(blocks)[:, -1].tolist(), strict=True))


@pytest.fixture(autouse=True)
def limits_of_own_time(monkeypatch) -> None:
    """Time limits count the seconds of this thread, so that other programs on the machine change no bound."""
    monkeypatch.setattr(time, "perf_counter", time.thread_time)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)
