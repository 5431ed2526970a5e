"""Coverage of intervals from multiple imputations by Rubin's rules."""

from __future__ import annotations

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.sets import Call, Measured, shares

#: Rows and imputations of a data set, and draws of its bootstrap.
ROWS, IMPUTATIONS, DRAWS = 100, 20, 400
#: Steps of the augmentation before the first imputation, and between two.
FIRST_STEPS, STEPS = 30, 10
#: Model -> share of the cells that are missing at random.
MODELS = {"a fifth missing": 0.2}
COLUMNS = ("loadings", "variances", "largest fmi")


def population() -> tuple[np.ndarray, np.ndarray]:
    """Return loadings of two components of four of eight variables, and the covariance matrix."""
    V = np.kron(np.eye(2), np.array([[0.6, 0.5, 0.45, 0.43]]).T)
    V /= np.linalg.norm(V, axis=0)
    return V, V @ np.diag([4.0, 2.5]) @ V.T + 0.6 * np.eye(8)


def augmented(X: np.ndarray, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return imputations of normal rows by data augmentation (Schafer, 1997), with Jeffreys' prior."""
    n, p = X.shape
    gaps, imputations = np.isnan(X), []
    Y = np.where(gaps, np.nanmean(X, axis=0), X)
    for step in range(FIRST_STEPS + STEPS * count):
        mean = Y.mean(axis=0)
        root = np.linalg.cholesky(np.linalg.inv((Y - mean).T @ (Y - mean)))
        A = np.tril(rng.standard_normal((p, p)), -1)
        A[np.diag_indices(p)] = np.sqrt(rng.chisquare(n - 1 - np.arange(p)))
        S = np.linalg.inv(root @ A @ A.T @ root.T)  # inverse Wishart
        mu = rng.multivariate_normal(mean, S / n)
        for i in np.flatnonzero(gaps.any(axis=1)):
            h, o = gaps[i], ~gaps[i]
            K = np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, h)])
            root_of_row = np.linalg.cholesky(S[np.ix_(h, h)] - S[np.ix_(h, o)] @ K)
            Y[i, h] = mu[h] + (Y[i, o] - mu[o]) @ K + root_of_row @ rng.standard_normal(h.sum())
        if step >= FIRST_STEPS and step % STEPS == STEPS - 1:
            imputations.append(Y.copy())
    return imputations


def covered(missing: float, seed: int) -> dict[str, float]:
    """Return what share of the intervals of one data set contain the loadings and variances."""
    V, S = population()
    truth, rng = V.T[V.T != 0], np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(8), S, size=ROWS)
    X[rng.random(X.shape) < missing] = np.nan
    frames = [pd.DataFrame(Y, columns=list("abcdefgh")) for Y in augmented(X, IMPUTATIONS, rng)]
    fit = sp.spca(imputations=frames, k=2, card=4, scale=False)
    draws = fit.bootstrap(DRAWS, select=False, rng=0)
    loadings, variances = draws.conf_int(), draws.variance_ci()
    loadings = loadings[loadings["estimate"] != 0]
    signed = truth * np.sign(loadings["estimate"])
    of_scores = np.sort(np.diag(V.T @ S @ V))[::-1]
    holds = loadings["lower"].le(signed) & loadings["upper"].ge(signed)
    of_variance = variances["lower"].le(of_scores) & variances["upper"].ge(of_scores)
    return {
        "loadings": float(holds.mean()),
        "variances": float(of_variance.mean()),
        "largest fmi": float(loadings["fmi"].max()),
    }


def intervals(call: Call) -> Table:
    """Return the coverage for given supports."""
    title = "Intervals of multiple imputations: coverage of nominal 95 %"
    table = Table(title, ["model", *COLUMNS, "data sets"])

    def measured(model: str, number: int) -> Measured:
        return dict(covered(MODELS[model], 1000 + number))

    for model, sets in call.measured("imputations", MODELS, measured).items():
        table.rows.append([model, *shares(sets, COLUMNS)])
    table.notes.append(
        f"{ROWS} normal rows of eight variables, two components of four; cells are missing at random, and "
        f"are imputed {IMPUTATIONS} times by data augmentation (Schafer, 1997). select=False, {DRAWS} draws, "
        "Rubin's rules. Loadings: the nonzero ones of the population. Variances: of its scores. Largest fmi: "
        "the largest fraction of missing information of a loading."
    )
    return table
