"""Missing values: errors of imputed values, the variance kept, and the supports found.

Other methods by their definitions: mean fill; ``PCA(missing="fill-em")`` of statsmodels (its own code); the
regularised iterative PCA of missMDA (Josse and Husson 2016, J. Stat. Softw. 70, algorithm of section 2.2 with
its defaults: singular values shrunk by the noise, from means, until the fit of the measured values changes by
less than 1e-6 of itself); and EM for the unstructured normal distribution (rank p - 1 in the
package).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import spcastat as sp
from benchmarks.report import Table, mean_and_error
from benchmarks.trust.models import CHOOSE, generator, support_f1
from benchmarks.trust.sets import Call, Measured
from spcastat.reading.missing_values import em_moments

#: What is missing: completely at random, or at random.
CONDITIONS = (("5 %", 0.05), ("20 %", 0.2), ("40 %", 0.4), ("MAR 20 %", 0.2))


@dataclass(frozen=True)
class Found:
    """The covariance matrix of a method, shape (p, p), and the rows that it filled, (n, p)."""

    S: np.ndarray
    rows: np.ndarray


def _of_rows(rows: np.ndarray) -> Found:
    return Found(np.cov(rows.T), rows)


ALL = ["mean fill", "statsmodels fill-em", "missMDA, regularised", "na='em'"]
KNOWN = "the true model"
NOTE = (
    "error: root mean squared error of the imputed values, relative to mean imputation on the same "
    "data; variance kept: tr V'SV relative to the complete data, V the true loadings (wine: those of the "
    "fit of the complete data, whose supports F1 counts). The rank is the true number of components "
    "(wine: 3, columns scaled). MAR: a value is missing with a probability that rises with the first "
    "variable of its component, which is fully observed (logistic, slope 2 per standard deviation). "
    "For the other methods the covariances are those of the imputed rows; `na='em'` adds the conditional "
    "covariances. The true model: conditional means under the true means and covariances, which have the "
    "smallest possible error."
)


def mean_fill(X: np.ndarray, k: int) -> Found:
    return _of_rows(np.where(np.isnan(X), np.nanmean(X, axis=0), X))


def statsmodels_em(X: np.ndarray, k: int) -> Found:
    from statsmodels.multivariate.pca import PCA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = PCA(X, ncomp=k, standardize=False, demean=True, missing="fill-em")
    return _of_rows(np.asarray(found._adjusted_data))


def regularised(X: np.ndarray, k: int) -> Found:
    missing = np.isnan(X)
    n, p = X.shape
    mean = np.nanmean(X, axis=0)
    Y = np.where(missing, 0.0, X - mean)
    before = np.inf
    for step in range(1000):
        centre = Y.mean(axis=0)
        mean, Y = mean + centre, Y - centre
        U, s, Vt = np.linalg.svd(Y / np.sqrt(n), full_matrices=False)
        freedom = (n - 1) * p - (n - 1) * k - p * k + k * k
        noise = min(n * p / min(p, n - 1) * (s[k:] ** 2).sum() / freedom, s[k] ** 2)
        fitted = np.sqrt(n) * (U[:, :k] * ((s[:k] ** 2 - noise) / s[:k])) @ Vt[:k]
        left = float(((Y - fitted)[~missing] ** 2).sum())
        Y = np.where(missing, fitted, Y)
        if step > 5 and abs(1.0 - left / before) < 1e-6:
            break
        before = left
    return _of_rows(Y + mean)


def em(X: np.ndarray, k: int) -> Found:
    found = em_moments(X, None, k)
    return Found(found.covariance, found.model.shrunk(len(X)).filled(X))


def unstructured(X: np.ndarray, k: int) -> Found:
    return em(X, X.shape[1] - 1)


METHODS: dict[str, Callable[[np.ndarray, int], Found]] = {
    "mean fill": mean_fill,
    "statsmodels fill-em": statsmodels_em,
    "missMDA, regularised": regularised,
    "na='em'": em,
    "EM, unstructured": unstructured,
}


def holes(X: np.ndarray, V: np.ndarray, condition: str, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return where values are taken out.

    At random: the first variable of each component is measured throughout, and the others of its component
    (noise variables: those of the first) lack a value with a probability that rises with it: logistic, slope
    2 by standard deviation, as ``ampute(type="RIGHT")`` of mice has it, and `rate` on average.
    """
    n, p = X.shape
    if not condition.startswith("MAR"):
        gone = rng.random((n, p)) < rate
    else:
        gone = np.zeros((n, p), dtype=bool)
        firsts = (V != 0).argmax(axis=0)
        for j in range(p):
            members = np.flatnonzero(V[j])
            driver = firsts[members[0] if members.size else 0]
            if j not in firsts:
                gone[:, j] = rng.random(n) < _rising(X[:, driver], rate)
    gone[gone.all(axis=1), 0] = False
    return gone


def _rising(x: np.ndarray, rate: float) -> np.ndarray:
    """Return probabilities that rise with x and are `rate` on average."""
    z = 2.0 * (x - x.mean()) / x.std()
    shift = brentq(lambda a: expit(z + a).mean() - rate, -50.0, 50.0)
    return expit(z + shift)


def _measured(
    X: np.ndarray, gone: np.ndarray, V: np.ndarray, found: Found, card: tuple[int, ...] | None
) -> tuple[float, float, float]:
    """Return the squared error of the gaps, the share of the variance along V that is kept, and the F1."""
    error = float(((X - found.rows)[gone] ** 2).mean())
    kept = float(np.trace(V.T @ found.S @ V) / np.trace(V.T @ np.cov(X.T) @ V))
    if card is None:
        return error, kept, np.nan
    fit = sp.spca_cov(found.S, len(card), list(card), n_obs=len(X))
    return error, kept, support_f1(fit.loadings.to_numpy(), V)


@dataclass(frozen=True)
class Draw:
    """Data, what is taken out, loadings that matter, cardinalities of a fit afterwards, true covariances."""

    X: np.ndarray
    gone: np.ndarray
    V: np.ndarray
    card: tuple[int, ...] | None
    true: np.ndarray | None = None


def _one(draw: Draw, names: Iterable[str]) -> Measured:
    """Return error over mean fill, variance kept and F1 of every method."""
    X, gone, V = draw.X, draw.gone, draw.V
    Y = np.where(gone, np.nan, X)
    base = _measured(X, gone, V, mean_fill(Y, V.shape[1]), None)[0]
    found = {}
    for name in names:
        try:
            filled = METHODS[name](Y, V.shape[1])
        except ValueError:  # statsmodels, where a row has fewer values than there are components
            found[name] = [np.nan] * 3
            continue
        error, kept, f1 = _measured(X, gone, V, filled, draw.card)
        found[name] = [float(np.sqrt(error / base)), kept, f1]
    if draw.true is not None:
        error = float(((X - known(Y, draw.true))[gone] ** 2).mean())
        found[KNOWN] = [float(np.sqrt(error / base)), np.nan, np.nan]
    return found


def known(X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Fill rows by their conditional means under the true model, of mean zero: nothing has less error."""
    rows = X.copy()
    for row in rows:
        gone = np.isnan(row)
        if gone.any():
            row[gone] = S[np.ix_(gone, ~gone)] @ np.linalg.solve(S[np.ix_(~gone, ~gone)], row[~gone])
    return rows


def _planted(name: str, condition: str, number: int) -> Draw:
    model = CHOOSE[name]
    rng = generator(f"missing {name} {condition}", number)
    X, V = model.draw(rng), model.loadings
    gone = holes(X, V, condition, dict(CONDITIONS)[condition], rng)
    return Draw(X, gone, V, model.cards, model.covariance)


@functools.cache
def _wines() -> tuple[np.ndarray, np.ndarray]:
    """The standardised wines, and the loadings of their fit."""
    from sklearn.datasets import load_wine

    X = load_wine().data
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return X, sp.spca(X, 3, 5).loadings.to_numpy()


def _wine(number: int) -> Draw:
    X, V = _wines()
    rng = generator("missing wine", number)
    gone = rng.random(X.shape) < 0.3
    gone[gone.all(axis=1), 0] = False
    return Draw(X, gone, V, (5, 5, 5))


def missing(call: Call) -> Table:
    """Compare the methods on model A and on wine."""

    def one(which: str, number: int) -> Measured:
        data, condition = which.split(" ", 1)
        if data == "wine":
            return _one(_wine(number), ALL)
        names = [*ALL, "EM, unstructured"] if condition == "5 %" else ALL
        return _one(_planted(data, condition, number), names)

    which = [*(f"A {condition}" for condition, _ in CONDITIONS), "wine 30 %"]
    what = "error relative to mean imputation, variance kept, F1 of the supports"
    head = ["data", "missing", "method", "error", "variance kept", "F1", "data sets"]
    table = Table(f"Missing values: {what}; model A, wine", head)
    for name, found in call.measured("missing", which, one).items():
        for method in found[0] if found else ():
            cells = [mean_and_error(column) for column in zip(*(row[method] for row in found), strict=True)]
            table.rows.append([*name.split(" ", 1), method, *cells, str(len(found))])
    table.notes.append(
        f"{NOTE} The unstructured EM takes up to thousands of iterations, so it is run at 5 % only. MAR 20 "
        "%: the eight noise variables also have missing values, which are unpredictable."
    )
    return table
