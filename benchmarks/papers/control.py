"""He, Monteiro and Park (2010), sections 5.3 to 5.6: fewest nonzeros for a share of the variance."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

import spcastat as sp
from benchmarks.draws import Draw, NoNumbers
from benchmarks.papers.fits import fit, fit_or_none, loadings

#: Possible preparations of the images of section 5.3, which states only that the matrix is 5000 x 784.
PREPARATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "unit length": lambda X: X / np.linalg.norm(X, axis=1, keepdims=True),
    "raw": lambda X: X,
    "black and white": lambda X: (X > 127.0).astype(float),
}
#: The axes that are standardised, in this order: columns (genes) or rows (samples).
STANDARDISED: dict[str, tuple[int, ...]] = {
    "raw": (),
    "genes standardised": (0,),
    "genes, then samples": (0, 1),
    "samples, then genes": (1, 0),
}


@lru_cache(maxsize=2)
def prepared(draw: Draw, name: str) -> Any:
    """Return a data set of sections 5.3 to 5.6 and whether it is centred, or raise NoNumbers."""
    if name == "pitprops":
        return sp.datasets.load_pitprops(), True
    file = {"leukemia": "micro_golub.npz", "papers": "text_nips_uci_subset.npz"}.get(
        name.split(",")[0], "mnist_train.npz"
    )
    path = draw.file(file)
    if name.startswith("papers"):
        X = scipy.sparse.csc_array(scipy.sparse.load_npz(path)).astype(float)
        if name == "papers, 6000 words":
            X = X[:, np.sort(np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:6000])]
        return X, "not centred" not in name
    stored = np.load(path)
    if name.startswith("leukemia"):
        X = stored["X"].astype(float)
        for axis in STANDARDISED[name.split(", ", 1)[1]]:
            X = (X - X.mean(axis, keepdims=True)) / X.std(axis, ddof=1, keepdims=True)
        return X, True
    images, _, preparation = name.partition(", ")
    rng = np.random.default_rng(draw.seed)
    rows = np.flatnonzero(stored["y"] == 2) if images == "digit 2" else np.arange(len(stored["X"]))
    X = stored["X"][np.sort(rng.permutation(rows)[:5000])].astype(float)
    return PREPARATIONS[preparation](X), True


def controlled(draw: Draw, data: str, k: int, variance: float, options: dict[str, Any]) -> list[float]:
    """Return cardinalities, their sum, |z1'z2|, relative adjusted variance, trials and CPU s of SC_c-PCA."""
    source = prepared(draw, data)
    begun = time.process_time()
    found = _fit(source, k, "controlled", variance=variance, **options)
    return _figures(found, 1, begun)


def searched(draw: Draw, data: str, k: int, variance: float, method: str, options: dict[str, Any]) -> Any:
    """Return the numbers of `controlled` for the sparsest fit of a method that keeps the share of variance.

    Bisection finds its penalty, which is common to all components and relative to the largest that leaves
    nonzeros.
    """
    source = prepared(draw, data)
    low, high, best = 0.0, 1.0, None
    begun = time.process_time()
    for _ in range(12):
        middle = (low + high) / 2.0
        found = _fit(source, k, method, penalty=middle, **options)
        enough = found is not None and found.measure("relative_adjusted") >= variance
        low, high = (middle, high) if enough else (low, middle)
        best = found if enough else best
    return _figures(best, 12, begun)


def _fit(source: Any, k: int, method: str, **options: Any) -> Any:
    """Return the fit of prepared data, or None if it is refused."""
    X, center = source
    if isinstance(X, pd.DataFrame):
        return fit_or_none(X, k, method, covariance=True, **options)
    return fit_or_none(X, k, method, center=center, **options)


def _figures(found: Any, trials: int, begun: float) -> list[float]:
    """Return the figures of the tables; `begun` is the CPU time at the start of the first trial."""
    if found is None:
        raise NoNumbers("no penalty reaches that much variance")
    seconds, V = time.process_time() - begun, loadings(found)
    card = [float(one) for one in found.card]
    share = found.measure("relative_adjusted")
    return [*card, sum(card), abs(float(V[:, 0] @ V[:, 1])), share, trials, seconds]


def stepwise(draw: Draw, data: str, k: int, variance: float, method: str, options: dict[str, Any]) -> Any:
    """Return the numbers of `controlled` if each component has the largest penalty that keeps the share.

    This is the framework of SC_c-PCA, which the paper also uses for GPower.
    """
    source = prepared(draw, data)
    penalties: list[float] = []
    begun = time.process_time()
    found: Any = None
    for j in range(1, k + 1):

        def enough(penalty: float, j: int = j) -> Any:
            one = _fit(source, j, method, penalty=[*penalties, penalty], **options)
            return None if one is None or one.measure("relative_adjusted") < variance else one

        low, high, found = 0.0, 1.0, enough(0.0)
        for _ in range(12):
            middle = (low + high) / 2.0
            one = enough(middle)
            low, high, found = (middle, high, one) if one is not None else (low, middle, found)
        if found is None:
            break
        penalties.append(low)
    return _figures(found, 13 * k, begun)


def one_gamma(draw: Draw, data: str, k: int, variance: float, mu: list[float], start: str = "pca") -> Any:
    """Return the numbers of `controlled` for GPower0,k with the largest common gamma that keeps the share.

    Gamma is in units of a variance. Relative to the bound of component j it is gamma / mu_j^2, so later
    components lose more.
    """
    source = prepared(draw, data)
    best = None
    low, high = -16.0, 2.0 * np.log(min(mu))
    begun = time.process_time()
    for _ in range(12):
        middle = (low + high) / 2.0
        shares = [min(float(np.exp(middle)) / weight**2, 0.999) for weight in mu]
        found = _fit(source, k, "gpower-l0-block", penalty=shares, mu=mu, order="given", start=start)
        enough = found is not None and found.measure("relative_adjusted") >= variance
        low, high = (middle, high) if enough else (low, middle)
        best = found if enough else best
    return _figures(best, 12, begun)


def continued(draw: Draw, printed: dict[str, list[float]], card: int) -> list[float]:
    """Return how many of the printed indices of the next component the greedy path selects.

    `printed` contains the loadings of all components up to the next one, by variable; the correlation matrix
    is deflated by all components except the last.
    """
    S = sp.datasets.load_pitprops()
    Z = pd.DataFrame.from_dict(printed, orient="index", dtype=float).loc[list(S.columns)].to_numpy()
    A = S.to_numpy().copy()
    for z in Z[:, :-1].T:
        g = A @ z
        A -= np.outer(g, g) / (z @ g)
    left = pd.DataFrame((A + A.T) / 2.0 + 1e-9 * np.eye(len(A)), index=S.index, columns=S.columns)
    found = loadings(fit(left, 1, "greedy", covariance=True, card=card))[:, 0]
    return [float(np.count_nonzero((found != 0) & (Z[:, -1] != 0)))]


def permuted(draw: Draw, supports: list[list[str]], variance: float) -> list[float]:
    """Return how many printed supports SC_1 finds if the variables are in random order."""
    S = sp.datasets.load_pitprops()
    order = np.random.default_rng(draw.seed).permutation(len(S))
    found = fit(S.iloc[order, order], len(supports), "controlled", covariance=True, variance=variance)
    ours = [set(column.index[column != 0]) for _, column in found.loadings.items()]
    return [float(sum(set(support) in ours for support in supports))]
