"""Fits of this package and of scikit-learn, and the folder where those of every program are kept."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import spcastat as sp
from benchmarks.peers.cells import CELLS, SINGLE, Cell, rows
from spcastat.linalg.operators import Gram
from spcastat.proofs.jointly import certify_joint
from spcastat.solvers.thresholding import fitted as refit

#: With more variables than this, orthogonal loadings are searched for on supports that do not meet.
FEW = 200
#: Penalties of scikit-learn.
PENALTIES = tuple(np.geomspace(0.3, 30.0, 6))

Fit = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]


def default(X: np.ndarray, S: np.ndarray, k: int, card: int) -> np.ndarray:
    """Return the loadings of the plain call."""
    return sp.spca_cov(S, k, card=card).loadings.to_numpy()


def by_pev(X: np.ndarray, S: np.ndarray, k: int, card: int) -> np.ndarray:
    """Return the loadings of the default search for PEV."""
    return sp.spca_cov(S, k, card=card, objective="pev").loadings.to_numpy()


def orthogonal(X: np.ndarray, S: np.ndarray, k: int, card: int) -> np.ndarray:
    """Return orthogonal loadings."""
    if len(S) > FEW:
        return sp.spca_cov(S, k, card=card, objective="pev", disjoint=True).loadings.to_numpy()
    return sp.spca_cov(S, k, card=card, constraint="orthogonal").loadings.to_numpy()


def of_sklearn(X: np.ndarray, S: np.ndarray, k: int, card: int) -> np.ndarray:
    """Return the best fit of scikit-learn along its penalty, cut to the largest loadings."""
    return _best_by_pev(sklearn_path(X, k, card), S)


def sklearn_refitted(X: np.ndarray, S: np.ndarray, k: int, card: int) -> np.ndarray:
    """Return the best fit of scikit-learn along its penalty, cut and then refitted on its supports."""
    cut = [W / np.linalg.norm(W, axis=0) for W in sklearn_path(X, k, card)]
    return _best_by_pev([W if (V := refit(Gram(S), W)) is None else V for W in cut], S)


def sklearn_path(X: np.ndarray, k: int, card: int) -> list[np.ndarray]:
    """Return the fits of scikit-learn along its penalty, cut to the `card` largest loadings of a component.

    A fit is left out if one of its components is zero.
    """
    from sklearn.decomposition import SparsePCA

    found = []
    for alpha in PENALTIES:
        W = SparsePCA(k, alpha=alpha, random_state=0).fit(X).components_.T
        W = np.where(np.argsort(np.argsort(-np.abs(W), axis=0), axis=0) < card, W, 0.0)
        if W.any(axis=0).all():
            found.append(W)
    return found


def _best_by_pev(fits: list[np.ndarray], S: np.ndarray) -> np.ndarray:
    """Return the loadings with the largest PEV."""
    return max(fits, key=lambda W: sp.measures.pev(W / np.linalg.norm(W, axis=0), S=S))


PROGRAMS: dict[str, Fit] = {
    "spcastat": default,
    "spcastat-pev": by_pev,
    "spcastat-orthogonal": orthogonal,
    "sklearn": of_sklearn,
    "sklearn-refitted": sklearn_refitted,
}


def prepare(work: Path, data: Path | None) -> list[Cell]:
    """Write the rows and the cells where R reads them; return the cells whose data are here.

    R fits single components, too.
    """
    (work / "found").mkdir(parents=True, exist_ok=True)
    cells = []
    for name, settings in CELLS.items():
        path = work / f"{name}.csv"
        if not path.exists() and (X := rows(name, data)) is not None:
            np.savetxt(path, X, delimiter=",", fmt="%.17g")
        if path.exists():
            cells += [(name, k, card) for k, card in settings]
    names = {name for name, _, _ in cells}
    single = [(name, 1, card) for name in SINGLE if name in names for card in SINGLE[name]]
    lines = ["data,k,card", *(f"{name},{k},{card}" for name, k, card in [*cells, *single])]
    (work / "cells.csv").write_text("\n".join(lines) + "\n")
    return cells


def run_r(work: Path) -> str:
    """Run the R packages that are installed; return a sentence where R is absent."""
    if shutil.which("Rscript") is None:
        return "R is not installed here: its packages are as an earlier run left them, or missing."
    subprocess.run(["Rscript", str(Path(__file__).with_name("peers.R")), str(work)], check=True)
    return ""


def run_python(work: Path, cells: list[tuple[str, int, int]], seconds: float) -> None:
    """Fit this package and scikit-learn to all cells that are not there yet, and bound them.

    Parameters
    ----------
    work : Path
    cells : list of (name, k, card)
    seconds : float
        Time limit of each bound.
    """
    for name, k, card in cells:
        X = np.loadtxt(work / f"{name}.csv", delimiter=",")
        S = np.cov(X.T)
        for program, fit in PROGRAMS.items():
            target = work / "found" / f"{program}-{name}-{k}-{card}.csv"
            if target.exists() or (program.startswith("sklearn") and len(S) > FEW):
                continue
            begun = time.process_time()
            try:
                V = fit(X, S, k, card)
            except ImportError:
                continue
            took = time.process_time() - begun
            np.savetxt(target, V, delimiter=",")
            with (work / "found" / f"{program}.csv").open("a") as log:
                log.write(f"{name},{k},{card},,{took:.3g},\n")
        bound(work, name, k, card, S, seconds)


def fitted(work: Path, cell: tuple[str, int, int]) -> bool:
    """Return whether a cell has the three fits of this package."""
    ours = [program for program in PROGRAMS if program.startswith("spcastat")]
    return all((work / "found" / f"{program}-{'-'.join(map(str, cell))}.csv").exists() for program in ours)


def bound(work: Path, name: str, k: int, card: int, S: np.ndarray, seconds: float) -> None:
    """Keep the bounds on PEV of all loadings and of orthogonal ones."""
    target = work / "found" / f"bound-{name}-{k}-{card}.csv"
    if target.exists() or len(S) > FEW:
        return
    bounds = []
    for program in ("spcastat-pev", "spcastat-orthogonal"):
        V = np.loadtxt(work / "found" / f"{program}-{name}-{k}-{card}.csv", delimiter=",", ndmin=2)
        if (np.count_nonzero(V, axis=0) < card).any():
            bounds.append(np.nan)  # the bound would be one for these cardinalities, not the requested ones
            continue
        alone = program.endswith("orthogonal")
        proven = certify_joint(Gram(S), V, "pev", orthogonal=alone, time_limit=seconds)
        bounds.append(proven.upper_bound)
    np.savetxt(target, bounds)
