"""Data of the benchmarks: files of real data, data sets of scikit-learn, simulated data; F1 of supports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from spcastat.datasets import load_pitprops

#: Data set -> its file in the folder of real data (``--data``).
FILES = {
    "colon": "micro_alon.npz",
    "alon": "micro_alon.npz",
    "khan": "micro_khan.npz",
    "leukemia": "micro_golub.npz",
    "mnist": "mnist_t10k.npz",
    "KOS": "text_kos.npz",
    "NIPS": "text_nips_uci_subset.npz",
    "communities": "uci_communities.csv",
    "dermatology": "uci_dermatology.csv",
    "glass": "uci_glass.csv",
    "segment": "uci_segment.csv",
    "letter": "uci_letter.csv",
    "pendigits": "uci_pendigits.csv",
    "page blocks": "uci_page_blocks.csv",
}
#: Data set -> its name in scikit-learn.
OF_SKLEARN = {"wine": "wine", "breast cancer": "breast_cancer", "diabetes": "diabetes", "digits": "digits"}
#: Correlation matrices have at most this many variables: the ones with the largest variances.
MOST_VARIABLES = 500

COMPONENTS = 3
#: Standard deviations of the planted scores; the noise has standard deviation 1.
STRENGTHS = (12.0, 10.0, 8.0)


def file_of(name: str, folder: Path | None) -> Path | None:
    """Return the path of a data set, or of a file by its name, in the folder; None if there is none."""
    path = None if folder is None else folder / FILES.get(name, name)
    return path if path is not None and path.exists() else None


def real_rows(name: str, folder: Path | None) -> Any:
    """Return the rows of a data set, shape (n, p): a sparse array for word counts, otherwise an array.

    None if the file is not in the folder. The class, the last column of most UCI data sets, is left out;
    values that are not numbers are NaN.
    """
    if name in OF_SKLEARN:
        from sklearn import datasets

        return np.asarray(getattr(datasets, f"load_{OF_SKLEARN[name]}")().data, dtype=float)
    path = file_of(name, folder)
    if path is None:
        return None
    if path.name.startswith("text"):
        return scipy.sparse.csr_array(scipy.sparse.load_npz(path)).astype(float)
    if path.suffix == ".npz":
        return np.load(path)["X"].astype(float)
    frame = pd.read_csv(path)
    variables = frame if name == "communities" else frame.iloc[:, :-1]
    return variables.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)


def correlation(name: str, folder: Path | None) -> np.ndarray | None:
    """Return the correlation matrix of a data set, or None if its file is not in the folder.

    Rows with missing values and constant columns are left out. If there are more than MOST_VARIABLES columns,
    only the ones with the largest variances are used.
    """
    if name == "pitprops":
        return load_pitprops().to_numpy().copy()
    X = real_rows(name, folder)
    if X is None:
        return None
    X = X[np.isfinite(X).all(axis=1)]
    X = X[:, X.std(axis=0) > 1e-10 * np.abs(X).max(axis=0)]
    if X.shape[1] > MOST_VARIABLES:
        X = X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:MOST_VARIABLES])]
    return np.corrcoef(X, rowvar=False)


def covariance_of_communities(folder: Path | None) -> np.ndarray | None:
    """Return the correlation matrix of 101 normalised variables of communities; None without the file."""
    path = file_of("cov_normCommunities.npz", folder)
    return None if path is None else np.load(path)["S"]


def planted(
    n: int, p: int, card: int, seed: int = 0, strengths: tuple[float, ...] = STRENGTHS
) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows with three disjoint planted loadings of `card` nonzeros, and the loadings (p, 3)."""
    rng = np.random.default_rng(seed)
    V = np.zeros((p, COMPONENTS))
    places = rng.permutation(p)
    for i in range(COMPONENTS):
        values = rng.uniform(0.5, 1.5, card) * rng.choice([-1.0, 1.0], card)
        V[places[i * card : (i + 1) * card], i] = values / np.linalg.norm(values)
    scores = rng.standard_normal((n, COMPONENTS)) * strengths
    return scores @ V.T + rng.standard_normal((n, p)), V


def tall(n: int, p: int, factors: int = 10, seed: int = 0) -> np.ndarray:
    """Return n rows of factors on p / factors variables each, with noise; made in blocks."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(3.0, 1.5, factors)
    X = np.empty((n, p))
    rng.standard_normal(out=X)
    groups = np.arange(p) * factors // p
    for start in range(0, n, 10_000):
        rows = X[start : start + 10_000]
        scores = rng.standard_normal((len(rows), factors)) * strengths
        rows += scores[:, groups] * np.linspace(1.0, 0.5, p)
        rows += 5.0
    return X


def expression(n: int, p: int, seed: int = 0) -> np.ndarray:
    """Return skewed positive intensities, like those of genes, with twelve factors and random scales."""
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.normal(0.0, 0.4, p))
    logs = rng.standard_normal((n, 12)) @ (rng.standard_normal((12, p)) * spread) * 0.15
    logs += rng.normal(0.0, 0.35, (n, p)) + rng.normal(5.0, 1.2, p)
    return np.exp(logs)


def f1(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean F1 of the supports under the best pairing of components."""
    from scipy.optimize import linear_sum_assignment

    A, B = (found != 0).astype(float), (truth != 0).astype(float)
    score = 2.0 * (A.T @ B) / (A.sum(axis=0)[:, None] + B.sum(axis=0)[None])
    return float(score[linear_sum_assignment(-score)].mean())
