"""Other packages for sparse PCA on planted data: seconds, PEV compared with ours at equal nonzeros, supports.

Packages are optional: one that is not installed is named in a note (``pip install scikit-learn abess
sparsepca``).
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.data import COMPONENTS, f1, planted
from benchmarks.speed.fresh import Call, fresh
from benchmarks.speed.rows import seconds

CARD = 40
SHAPES = ((200, 2000), (1000, 200))
#: Fits that look for a penalty which gives as many nonzeros as were planted.
TRIES = 12
#: Steps of A-ManPG, which takes ten times as many by default and uses them all.
STEPS = 1000
Fitter = Callable[[np.ndarray, float], np.ndarray]


def _sklearn(name: str, X: np.ndarray, penalty: float) -> np.ndarray:
    from sklearn import decomposition

    model = getattr(decomposition, name)(COMPONENTS, alpha=penalty, random_state=0)
    return np.asarray(model.fit(X).components_.T)


def _abess(X: np.ndarray, card: float) -> np.ndarray:
    from abess.decomposition import SparsePCA

    sizes = np.zeros((X.shape[1], COMPONENTS))
    sizes[int(card) - 1] = 1  # a table of the sizes that are tried: this one only
    return np.asarray(SparsePCA(support_size=sizes).fit(X, is_normal=False, number=COMPONENTS).coef_)


def _manpg(X: np.ndarray, penalty: float) -> np.ndarray:
    from sparsepca import spca

    penalties = penalty * np.ones((COMPONENTS, 1))
    found = spca(X.copy(), penalties, np.inf, k=COMPONENTS, normalize=False, maxiter=STEPS)
    return np.asarray(found["loadings"])


#: Name -> module, fit, whether it takes a penalty (which is looked for) rather than a cardinality.
PACKAGES: dict[str, tuple[str, Fitter, bool]] = {
    "scikit-learn SparsePCA": ("sklearn", lambda X, a: _sklearn("SparsePCA", X, a), True),
    "scikit-learn MiniBatchSparsePCA": ("sklearn", lambda X, a: _sklearn("MiniBatchSparsePCA", X, a), True),
    "sparsepca (A-ManPG)": ("sparsepca", _manpg, True),
    "abess SparsePCA": ("abess", _abess, False),
}


def others(call: Call) -> Table:
    """Every package that is installed, on two shapes."""
    head = ["package", "n x p", "nonzeros", "s", "PEV %", "support F1", "ours: s", "PEV %", "support F1"]
    table = Table("Other packages on planted data, k = 3", head)
    for name, (module, _, _) in PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            table.notes.append(f"{name}: {module} is not installed.")
            continue
        for n, p in SHAPES:
            try:
                found = fresh(compared, threads=call.threads, name=name, n=n, p=p)[0]
            except RuntimeError:
                table.notes.append(f"{name} failed at {n} x {p}.")
                continue
            cells = [name, f"{n} x {p}", "-".join(map(str, found["cards"]))]
            for who in ("theirs", "ours"):
                taken, pev, score = found[who]
                cells += [seconds(taken), f"{pev:.2f}", f"{score:.3f}"]
            table.rows.append(cells)
    table.notes.append(
        f"Ours has the same nonzeros in every component. {TRIES} fits search for the penalty that gives "
        f"{COMPONENTS * CARD} nonzeros in all, as planted; the seconds are for the last fit only. "
        "Data are centred first; one function measures PEV for all, with loadings of unit length. If a "
        "package does not give the requested number of nonzeros, its result is shown unchanged. "
        f"sparsepca (Chen, Ma, Xue and Zou) runs {STEPS} steps."
    )
    return table


def compared(name: str, n: int, p: int) -> dict[str, Any]:
    """Fit by a package at the planted number of nonzeros, and by ours with the same cardinalities."""
    warnings.simplefilter("ignore")
    X, truth = planted(n, p, CARD)
    X -= X.mean(axis=0)
    _, fitter, penalised = PACKAGES[name]
    penalty = _penalty(fitter, X) if penalised else float(CARD)
    taken, V = _timed(lambda: fitter(X, penalty))
    kept = V[:, np.any(V != 0, axis=0)]
    kept = kept / np.linalg.norm(kept, axis=0)
    cards = [int(card) for card in np.count_nonzero(kept, axis=0)]
    ours, fit = _timed(lambda: sp.spca(X, len(cards), cards, order="given", method="bcd-l0"))
    W = fit.loadings.to_numpy()
    return {
        "cards": cards,
        "theirs": [taken, 100.0 * float(sp.measures.pev(kept, X)), f1(kept, truth)],
        "ours": [ours, 100.0 * float(sp.measures.pev(W, X)), f1(W, truth)],
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median seconds of three runs, and the last result."""
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken)), result


def _penalty(fitter: Fitter, X: np.ndarray) -> float:
    """Return the penalty that gives about as many nonzeros as were planted, all components alive."""
    low, high, best = -3.0, 4.0, (np.inf, 1.0)
    for _ in range(TRIES):
        middle = 0.5 * (low + high)
        V = fitter(X, 10.0**middle)
        excess = int(np.count_nonzero(V)) - COMPONENTS * CARD
        if np.any(V != 0, axis=0).all() and abs(excess) < best[0]:
            best = (abs(excess), 10.0**middle)
        low, high = (middle, high) if excess > 0 else (low, middle)
    return best[1]
