"""Tables 8 and 9 of Zhao, Meng, Xu and Gao (2015), for a user who has the MIT CBCL face images."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.papers.compared import NONNEG
from benchmarks.papers.fits import Call, fit, loadings
from benchmarks.papers.sheet import Sheet

FILE = "cbcl_faces.npz"
TABLE_8 = {"NSPCA": (0.6993, 51.10), "N-EMPCA": (0.6912, 52.22), "BCD-NSPCA l0": (0.6606, 56.36)}
#: No penalty; a hundred sweeps, since each costs p steps.
NSPCA: dict[str, Any] = {"penalty": 0.0, "max_iter": 100}
#: Accuracy (%) on faces, on other images, and on all.
TABLE_9 = {
    "LR": (96.71, 93.57, 94.47),
    "PCA+LR": (96.64, 94.17, 94.88),
    "NSPCA+LR": (94.89, 93.49, 93.89),
    "N-EMPCA+LR": (96.71, 94.39, 95.06),
    "BCD-NSPCA l0+LR": (96.78, 94.46, 95.84),
}
#: Nonzeros of each component where NSPCA does not say: a quarter of the 361 pixels.
CARD = 90


def _images(call: Call) -> tuple[np.ndarray, np.ndarray] | str:
    path = call.file(FILE)
    if isinstance(path, str):
        return f"{path}. It holds the arrays 'faces' (2429 x 361) and 'nonfaces' (4548 x 361) of CBCL set 1."
    held = np.load(path)
    return held["faces"].astype(float), held["nonfaces"].astype(float)


def _card(X: np.ndarray) -> Any:
    found = fit(X, 10, "nspca", **NSPCA)
    return CARD if isinstance(found, str) else [int(c) for c in found.card]


def table_8(call: Call) -> Sheet:
    sheet = Sheet("000-8", "faces, 10 nonnegative components", "method", {"RRE": 4, "PEV": 2})
    images = _images(call)
    if isinstance(images, str):
        sheet.notes.append(images)
        return sheet
    card = _card(images[0])
    for label, printed in TABLE_8.items():
        method, options = NONNEG[label]
        given = NSPCA if method == "nspca" else {**options, "card": card}
        found = fit(images[0], 10, method, **given)
        ours = found if isinstance(found, str) else [found.measure("rre"), 100 * found.measure("pev")]
        sheet.add(label, printed, ours)
    sheet.notes.append("Cardinalities are not printed; they are those of the NSPCA fit (or 90 each).")
    return sheet


def table_9(call: Call) -> Sheet:
    quantities = {"face": 2, "non-face": 2, "total": 2}
    sheet = Sheet(
        "000-9", "faces against other images, logistic regression, accuracy in %", "method", quantities
    )
    images = _images(call)
    if isinstance(images, str):
        sheet.notes.append(images)
        return sheet
    rng = np.random.default_rng(0)
    parts = [
        (part[order[:1000]], part[order[1000:]]) for part in images for order in [rng.permutation(len(part))]
    ]
    train = np.vstack([parts[0][0], parts[1][0]])
    y = np.repeat([1.0, 0.0], 1000)
    sheet.add("LR", TABLE_9["LR"], _accuracies(train, y, parts[0][1], parts[1][1]))
    card = _card(parts[0][0])
    for label, (method, options) in {"PCA": ("pca", {}), **NONNEG}.items():
        if f"{label}+LR" not in TABLE_9:
            continue
        given = {"nspca": NSPCA, "pca": {}}.get(method, {**options, "card": card})
        found = fit(parts[0][0], 10, method, **given)
        if isinstance(found, str):
            sheet.add(f"{label}+LR", TABLE_9[f"{label}+LR"], found)
            continue
        V = loadings(found)
        ours = _accuracies(train @ V, y, parts[0][1] @ V, parts[1][1] @ V)
        sheet.add(f"{label}+LR", TABLE_9[f"{label}+LR"], ours)
    sheet.notes.append("Components of the 1000 training faces; one random split, as in print.")
    return sheet


def _accuracies(Z: np.ndarray, y: np.ndarray, faces: np.ndarray, others: np.ndarray) -> list[float]:
    mean, sd = Z.mean(axis=0), Z.std(axis=0)
    w = _logistic((Z - mean) / sd, y)
    hits = [_scores((part - mean) / sd, w) > 0 for part in (faces, others)]
    return [
        100 * float(hits[0].mean()),
        100 * float((~hits[1]).mean()),
        100 * float(np.concatenate([hits[0], ~hits[1]]).mean()),
    ]


def _scores(Z: np.ndarray, w: np.ndarray) -> np.ndarray:
    return w[0] + Z @ w[1:]


def _logistic(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Fit a logistic regression with a ridge of 1e-6 of the deviance, so that a fit always exists."""

    def cost(w: np.ndarray) -> tuple[float, np.ndarray]:
        s = _scores(Z, w)
        miss = expit(s) - y
        value = float(np.mean(np.logaddexp(0.0, s) - y * s)) + 5e-7 * float(w @ w)
        return value, np.append(miss.mean(), Z.T @ miss / len(y)) + 1e-6 * w

    return minimize(cost, np.zeros(Z.shape[1] + 1), jac=True, method="L-BFGS-B").x
