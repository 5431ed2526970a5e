"""Zhao, Meng and Xu (2014), robust sparse PCA on the l1 variance (RSPCA)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.papers.fits import Call, accuracy, both_supports, fit, loadings, rate
from benchmarks.papers.sheet import Sheet

RSPCA = {"RSPCA l0": "rspca-l0", "RSPCA l1": "rspca-l1", "RSPCA l1/2": "rspca-lhalf"}
#: Printed name -> method, options, first loadings and average residual error.
TABLE_1: dict[str, tuple[str, dict[str, Any], tuple[float, float, float]]] = {
    "PCA": ("pca", {}, (0.6811, 0.7322, 1.0155)),
    "PCA-L1": ("pca-l1", {}, (0.9699, 0.2435, 0.6286)),
    "SPCA": ("zou", {"card": 1}, (0, 1, 1.25)),
    "DSPCA": ("dspca", {"card": 1}, (0, 1, 1.25)),
    "PathSPCA": ("pathspca", {"card": 1}, (0, 1, 1.25)),
    "EMPCA": ("empca", {"card": 1}, (0, 1, 1.25)),
    "GPower l1": ("gpower-l1", {"card": 1}, (0, 1, 1.25)),
    "GPower l0": ("gpower-l0", {"card": 1}, (0, 1, 1.25)),
    "ALSPCA": ("alspca", {"card": 1}, (0, 1, 1.25)),
    "sPCA-rSVD l0": ("rsvd-l0", {"card": 1}, (0, 1, 1.25)),
    "sPCA-rSVD l1": ("rsvd-l1", {"card": 1}, (0, 1, 1.25)),
    "sPCA-rSVD SCAD": ("rsvd-scad", {"card": 1}, (0, 1, 1.25)),
    "sPCAgrid": ("spcagrid", {"card": 1}, (1, 0, 0.5720)),
    "RSPCA l0": ("rspca-l0", {"card": 1}, (1, 0, 0.5720)),
    "RSPCA l1": ("rspca-l1", {"card": 1}, (1, 0, 0.5720)),
    "RSPCA l1/2": ("rspca-lhalf", {"card": 1}, (1, 0, 0.5720)),
}
PLAIN = {
    "SPCA": "zou",
    "PathSPCA": "pathspca",
    "DSPCA": "dspca",
    "EMPCA": "empca",
    "ALSPCA": "alspca",
    "GPower l0": "gpower-l0",
    "sPCA-rSVD l0": "rsvd-l0",
    "sPCA-rSVD l1": "rsvd-l1",
    "BCD-SPCA l0": "bcd-l0",
    "sPCAgrid": "spcagrid",
}
#: Left out of the quick mode where there are hundreds of variables and many components.
SLOW = ("rsvd-l0", "pca-l1")
#: Whether Tables 3 and 2 (one set each) show both supports.
PRINTED_HASTIE: dict[str, list[Any]] = {
    **{label: ["yes", "yes"] for label in RSPCA},
    **{label: ["no", "no"] for label in PLAIN if label != "BCD-SPCA l0"},
    "PathSPCA": ["no", "yes"],
}
#: Average residual error under noise and under outliers, 100 components (Table 4).
TABLE_4 = {
    "PCA": ("pca", 905.0617, 570.3221),
    "PCA-L1": ("pca-l1", 889.2563, 507.5231),
    "sPCA-rSVD l0": ("rsvd-l0", 914.5049, 573.1356),
    "RSPCA l1": ("rspca-l1", 918.8353, 646.3972),
    "RSPCA l0": ("rspca-l0", 896.3046, 505.9623),
    "RSPCA l1/2": ("rspca-lhalf", 897.0606, 505.6411),
}


def line_with_outliers(seed: int) -> pd.DataFrame:
    """The 50 points of section 3.1: y is noise of variance 0.25, but 7 where x is 1.3 and 1.5."""
    x = np.arange(-24, 26) / 10
    y = np.random.default_rng(seed).normal(0.0, 0.5, 50)
    y[[37, 39]] = 7.0
    return pd.DataFrame({"x": x, "y": y})


def table_1(call: Call) -> Sheet:
    quantities = {"|w_x|": 3, "|w_y|": 3, "ARE": 3, "share with (1, 0)": 2}
    sheet = Sheet("004-1", "a line with two outliers, means over draws", "method", quantities)
    times = call.times(20, 200)
    for label, (method, options, printed) in TABLE_1.items():

        def trial(seed: int, method: str = method, options: dict[str, Any] = options) -> Any:
            data = line_with_outliers(seed)
            found = fit(data, 2, method, **options)
            if isinstance(found, str):
                return found
            X, w = data.to_numpy(), loadings(found)[:, 0]
            error = np.linalg.norm(X - np.outer(X @ w, w), axis=1).mean()
            return [*np.abs(w), error, abs(w[0]) > 0.999]

        found = rate(trial, times, 2 * call.seconds)
        sheet.add(label, [*printed, None], found if isinstance(found, str) else list(found[0]))
    sheet.notes += [
        "Print has one draw. For (1, 0) the error is the mean of |y|, 0.663 on average with a "
        "standard deviation "
        "of 0.042 between draws, so that the printed 0.572 is a lucky draw; the smallest of ours are "
        "near it.",
        "The two variances differ by 10 % only, so in about a third of the draws plain methods, too, "
        "choose x.",
    ]
    return sheet


def hastie(call: Call) -> Sheet:
    quantities = {"outliers 6000, of 100": 0, "noise 4000, of 100": 0}
    sheet = Sheet("004-hastie", "Hastie's data, 10000 rows: both supports found", "method", quantities)
    kinds: tuple[dict[str, Any], ...] = ({"outliers": 500, "outlier_variance": 6000.0}, {"noise": 4000.0})
    counts = []
    for label, method in {**RSPCA, **PLAIN}.items():
        robust = method.startswith("rspca")
        ours: list[Any] = []
        for kind in kinds:

            def trial(seed: int, method: str = method, kind: dict[str, Any] = kind) -> Any:
                X = sp.datasets.make_hastie(10000, seed, **kind)
                found = fit(X, 2, method, card=4)
                return found if isinstance(found, str) else both_supports(loadings(found), TRUTH)

            times = call.times(20 if robust else 5, 20 if method == "spcagrid" else 100)
            found = rate(trial, times, 10 * call.seconds if robust else call.seconds)
            ours.append(found if isinstance(found, str) else 100.0 * float(found[0]))
            if not isinstance(found, str) and robust:
                counts.append(found[1])
        sheet.add(label, PRINTED_HASTIE.get(label, [None, None]), ours)
    sheet.notes += [
        f"RSPCA: {min(counts, default=0)} sets or more; the others fewer in quick mode.",
        "Print has the outcome of one set, and curves over single sets on which RSPCA is near no "
        "error and the "
        "others are not. At noise variance 4000 the all-ones start finds both supports in 68 (l0), "
        "34 (l1) and 69 "
        "(l1/2) of 100 sets: print's near-perfect curve does not come out.",
    ]
    return sheet


TRUTH = sp.datasets.true_loadings(sp.datasets.make_hastie(10, 0)).to_numpy()


def _sixes(path: Any, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the original images of digit 6, and the images with noise or outliers."""
    held = np.load(path)
    X = held["X"][held["y"] == 6].astype(float)
    rng = np.random.default_rng(0)
    # Print has about 7000 images, 2000 of them noisy, or 3000 outliers beside them: the same shares here.
    if kind == "outliers":
        extra = 255.0 * rng.integers(0, 2, (round(len(X) * 3 / 7), 784))
        return X, np.vstack([X, extra])
    return X, _spoiled(X, rng.permutation(len(X))[: round(len(X) * 2 / 7)], rng)


def _spoiled(X: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the images with a rectangle of 10 x 18 black and white dots in those of `rows`."""
    noisy = X.copy().reshape(-1, 28, 28)
    for i in rows:
        top, left = rng.integers(0, 19), rng.integers(0, 11)
        noisy[i, top : top + 10, left : left + 18] = 255.0 * rng.integers(0, 2, (10, 18))
    return noisy.reshape(len(X), 784)


def mnist_reconstruction(call: Call) -> Sheet:
    k = call.times(8, 100)
    quantities = {"error, noise": 1, "seconds, noise": 1, "error, outliers": 1, "seconds, outliers": 1}
    sheet = Sheet("004-mnist", f"digit 6 rebuilt from {k} components of 400 nonzeros", "method", quantities)
    path = call.file("mnist_t10k.npz")
    if isinstance(path, str):
        sheet.notes.append(path)
        return sheet
    data = {kind: _sixes(path, kind) for kind in ("noise", "outliers")}
    for label, (method, noise, outliers) in TABLE_4.items():
        if method in SLOW and not call.full:
            continue
        ours: list[Any] = []
        for original, adopted in data.values():
            start = time.perf_counter()
            found = fit(adopted, k, method, **({} if method.startswith("pca") else {"card": 400}))
            if isinstance(found, str):
                ours += [found, None]
                continue
            V, mean = loadings(found), adopted.mean(axis=0)
            rebuilt = mean + (adopted[: len(original)] - mean) @ V @ V.T
            ours += [float(np.linalg.norm(original - rebuilt, axis=1).mean()), time.perf_counter() - start]
        sheet.add(label, [noise, None, outliers, None] if call.full else [None] * 4, ours)
    sheet.notes.append(
        "958 sixes of the 10000 test images (print: about 7000 of all), with the same shares of "
        "noisy images and "
        "of outliers, gray values from 0 to 255; errors are comparable by their order only"
        + ("." if call.full else f", and print has 100 components, not {k}.")
    )
    return sheet


def mnist_classes(call: Call) -> Sheet:
    features = (10, 20, 40, 60, 80, 100) if call.full else (5, 20)
    sheet = Sheet(
        "004-1nn", "digits, nearest neighbour in %", "method", {f"{m} features": 2 for m in features}
    )
    path = call.file("mnist_t10k.npz")
    if isinstance(path, str):
        sheet.notes.append(path)
        return sheet
    held = np.load(path)
    X, y = held["X"].astype(float), held["y"]
    train_size, test_size = (550, 300) if call.full else (100, 50)
    rng = np.random.default_rng(0)
    order = [rng.permutation(np.flatnonzero(y == digit)) for digit in range(10)]
    train = np.concatenate([one[:train_size] for one in order])
    test = np.concatenate([one[train_size : train_size + test_size] for one in order])
    noisy = _spoiled(X[train], rng.permutation(len(train))[: len(train) // 5], rng)
    baseline = 100 * accuracy(noisy, y[train], X[test], y[test])
    sheet.add("all pixels", [None] * len(features), [baseline] * len(features))
    for label, method in {"PCA": "pca", "sPCA-rSVD l0": "rsvd-l0", **RSPCA}.items():
        if method in SLOW and not call.full:
            continue
        found = fit(noisy, features[-1], method, **({} if method == "pca" else {"card": 400}))
        if isinstance(found, str):
            sheet.add(label, [None] * len(features), found)
            continue
        V = loadings(found)
        hits = [accuracy(noisy @ V[:, :m], y[train], X[test] @ V[:, :m], y[test]) for m in features]
        printed: list[Any] = [
            95.80 if (call.full and method == "rspca-l0" and m == 40) else None for m in features
        ]
        sheet.add(label, printed, [100 * one for one in hits])
    sheet.notes.append(
        f"{train_size} images a digit to learn from, a fifth of them noisy, and {test_size} to test "
        "(print: 1000 and "
        "500 of 70000; the only rate printed is 95.80 % for RSPCA l0 with 40 features)."
    )
    return sheet
