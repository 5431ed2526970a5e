"""Zhao, Meng and Xu (2014), section 3.3: handwritten digits with noise and outliers."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.draws import Cell, Draw
from benchmarks.papers.fits import Call, accuracy, fit, loadings
from benchmarks.papers.sheet import Cause, Sheet
from benchmarks.papers.verdicts import BETTER, Claim, Value, value_of

FILE = "mnist_train.npz"
#: The numbers of noisy images, and of added outliers, in the paper.
NOISY, EXTRA = 2000, 3000
#: Method, options, average residual error under noise and under outliers, 100 components (Table 4).
TABLE_4: dict[str, tuple[str, dict[str, Any], float, float]] = {
    "PCA": ("pca", {}, 905.0617, 570.3221),
    "PCA-L1": ("pca-l1", {}, 889.2563, 507.5231),
    "sPCA-rSVD l0": ("rsvd-l0", {"card": 400}, 914.5049, 573.1356),
    "GPower l1": ("gpower-l1", {}, 906.1718, 571.2940),
    "GPower l0": ("gpower-l0", {}, 906.0196, 571.0965),
    "RSPCA l1": ("rspca-l1", {"card": 400}, 918.8353, 646.3972),
    "RSPCA l0": ("rspca-l0", {"card": 400}, 896.3046, 505.9623),
    "RSPCA l1/2": ("rspca-lhalf", {"card": 400}, 897.0606, 505.6411),
}
#: Nonzeros and CPU seconds under noise, and under outliers (Table 4).
SPARSITY_4 = {
    "PCA": (784, 2.26, 784, 2.59),
    "PCA-L1": (784, 561.23, 784, 936.77),
    "sPCA-rSVD l0": (400, 894.66, 400, 1222.25),
    "GPower l1": (609.13, 134.78, 591.77, 221.17),
    "GPower l0": (423.67, 94.14, 607.62, 143.29),
    "RSPCA l1": (400, 264.46, 400, 521.28),
    "RSPCA l0": (400, 307.25, 400, 560.30),
    "RSPCA l1/2": (400, 284.82, 400, 546.34),
}
#: Methods left out of the quick mode, since a hundred components take minutes.
SLOW = ("rsvd-l0", "pca-l1", "gpower-l0", "gpower-l1")
STEPS = (5, 10, 20, 40, 60, 80, 100)


def _sixes(path: Path, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the training images of the digit 6, and the data with noise or outliers."""
    stored = np.load(path)
    X = stored["X"][stored["y"] == 6].astype(float)
    rng = np.random.default_rng(0)
    if kind == "outliers":
        return X, np.vstack([X, 255.0 * rng.integers(0, 2, (EXTRA, 784))])
    return X, _spoiled(X, rng.permutation(len(X))[:NOISY], rng)


def _spoiled(X: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the images, with a rectangle of 10 x 18 black and white dots in the images at `rows`."""
    noisy = X.copy().reshape(-1, 28, 28)
    for i in rows:
        top, left = rng.integers(0, 19), rng.integers(0, 11)
        noisy[i, top : top + 10, left : left + 18] = 255.0 * rng.integers(0, 2, (10, 18))
    return noisy.reshape(len(X), 784)


def rebuilt(draw: Draw, method: str, options: dict[str, Any], kind: str, k: int, center: bool) -> list[float]:
    """Return the mean distance between original images and their reconstructions from 5, 10, ... components.

    The mean cardinality and the CPU seconds of the fit follow.
    """
    path = draw.file(FILE)
    original, adopted = _sixes(path, kind)
    begun = time.process_time()
    options = dict(options)
    nonzeros = options.pop("nonzeros", None)
    if nonzeros is None:
        found = fit(adopted, k, method, center=center, **options)
    else:
        found = _with_one_penalty(np.cov(adopted, rowvar=False), k, method, nonzeros)
    seconds = time.process_time() - begun
    V = loadings(found)
    mean = adopted.mean(axis=0) if center else np.zeros(784)
    Z = (adopted[: len(original)] - mean) @ V
    steps = [m for m in STEPS if m <= k]
    errors = [float(np.linalg.norm(original - mean - Z[:, :m] @ V[:, :m].T, axis=1).mean()) for m in steps]
    return [*errors, float(found.card.mean()), seconds]


def _with_one_penalty(S: np.ndarray, k: int, method: str, nonzeros: float) -> Any:
    """Return the fit with one penalty for all components and about `nonzeros` nonzeros on average."""
    low, high = np.log(1e-7), np.log(0.2)
    nearest: Any = None
    for _ in range(8):
        middle = (low + high) / 2.0
        result = fit(S, k, method, covariance=True, penalty=float(np.exp(middle)), max_iter=500)
        mean = float(result.card.mean())
        low, high = (middle, high) if mean > nonzeros else (low, middle)
        if nearest is None or abs(mean - nonzeros) < abs(float(nearest.card.mean()) - nonzeros):
            nearest = result
    return nearest


def _options(label: str, kind: str) -> dict[str, Any]:
    """Return the options of a row: for GPower the mean number of nonzeros, which the paper prints."""
    if label.startswith("GPower"):
        return {"nonzeros": SPARSITY_4[label][0 if kind == "noise" else 2]}
    return TABLE_4[label][1]


def _cells(call: Call, kind: str) -> list[Cell]:
    k = 100 if call.full else 10
    return [
        Cell(
            f"{label}{'' if center else ', not centred'}, {kind}",
            rebuilt,
            {"method": method, "options": _options(label, kind), "kind": kind, "k": k, "center": center},
        )
        for label, (method, *_) in TABLE_4.items()
        for center in (True, False)
        if (call.full or method not in SLOW) and (center or method in ("pca", "rspca-l0"))
    ]


def table_4(call: Call) -> Sheet:
    quantities = {
        **{"error, noise": 1, "nonzeros, noise": 0, "CPU s, noise": 1},
        **{"error, outliers": 1, "nonzeros, outliers": 0, "CPU s, outliers": 1},
    }
    sheet = Sheet(
        "zhao2014-4",
        f"digit 6 reconstructed from {100 if call.full else 10} components",
        "method",
        quantities,
    )
    sheet.not_judged = tuple(name for name in quantities if not name.startswith("error"))
    found = {kind: call.measured(sheet.name, _cells(call, kind)) for kind in ("noise", "outliers")}
    for cell in _cells(call, "noise"):
        label = cell.name.removesuffix(", noise")
        pair = [found[kind][f"{label}, {kind}"] for kind in found]
        reason = next((one for one in pair if isinstance(one, str)), None)
        printed: list[Value] = [None] * 6
        if call.full and label in TABLE_4:
            noise, outliers = TABLE_4[label][2:]
            printed = [noise, *SPARSITY_4[label][:2], outliers, *SPARSITY_4[label][2:]]
        ours = reason or [float(v) for one in pair if not isinstance(one, str) for v in one.mean[-3:]]
        sheet.add(label, printed, ours)
    sheet.causes = CAUSES_4
    sheet.notes.append(
        f"The 5918 sixes of the 60000 training images, {NOISY} of them noisy, or {EXTRA} outliers in "
        "addition, gray values from 0 to 255, centred; formula (16) of the paper also subtracts the "
        "mean. In rows 'not centred' no mean is subtracted. Which images are noisy, and the outliers, are "
        "one random draw."
    )
    return sheet


CAUSES_4 = [
    Cause(
        "with the same numbers of nonzeros ours leave smaller errors in both cases.",
        ("RSPCA l1", "RSPCA l0", "RSPCA l1/2"),
        BETTER,
    ),
    Cause("0.3 % above the paper with outliers, which are one random draw.", ("sPCA-rSVD l0",)),
    Cause("with noise it agrees; with outliers ours ends 1.7 % above.", ("PCA-L1",)),
]


def figure_5(call: Call) -> Sheet:
    steps = [m for m in STEPS if m <= (100 if call.full else 10)]
    title = "digit 6 reconstructed: error by components"
    sheet = Sheet("zhao2014-fig5", title, "method", {f"{m}": 1 for m in steps})
    for kind in ("noise", "outliers"):
        for name, found in call.measured("zhao2014-4", _cells(call, kind)).items():
            if "not centred" in name:
                continue
            sheet.add(name, [None] * len(steps), found if isinstance(found, str) else found[:-2])
    ours = {
        name: [value_of(one) for one in row][steps.index(40) :]
        for name, _, row, _ in sheet.rows
        if 40 in steps
    }
    for kind in ("noise", "outliers") if ours else ():
        robust = [ours[f"{label}, {kind}"] for label in ("RSPCA l0", "RSPCA l1/2")]
        rest = [
            row for name, row in ours.items() if name.endswith(kind) and not name.startswith(("R", "PCA-"))
        ]
        worst, best = (
            [max(column) for column in zip(*robust, strict=True)],
            [min(column) for column in zip(*rest, strict=True)],
        )
        claim = f"{kind}: RSPCA l0 and l1/2 have the smallest errors, except PCA-L1 from 40 components on"
        said = f"with 100 components at most {worst[-1]:.1f}, the others at least {best[-1]:.1f}"
        sheet.claims.append(Claim(claim, said, all(a < b for a, b in zip(worst, best, strict=True))))
    sheet.causes = [Cause("with 40 components PCA is 2 % lower; with 60 and more it holds.", ("outliers",))]
    sheet.notes.append("The figure has no numbers. Noise first, then outliers.")
    return sheet


@lru_cache(maxsize=1)
def _split(path: Path, train_size: int, test_size: int) -> tuple[np.ndarray, ...]:
    stored = np.load(path)
    X, y = stored["X"].astype(float), stored["y"]
    rng = np.random.default_rng(0)
    order = [rng.permutation(np.flatnonzero(y == digit)) for digit in range(10)]
    train = np.concatenate([images[:train_size] for images in order])
    test = np.concatenate([images[train_size : train_size + test_size] for images in order])
    noisy = _spoiled(X[train], rng.permutation(len(train))[: len(train) // 5], rng)
    return noisy, y[train], X[test], y[test]


def classified(draw: Draw, method: str, features: list[int], sizes: list[int], center: bool) -> list[float]:
    """Return the accuracy (%) of nearest neighbours in components or, without a method, in all pixels."""
    path = draw.file(FILE)
    noisy, y, new, truth = _split(path, *sizes)
    if not method:
        return [100.0 * accuracy(noisy, y, new, truth)] * len(features)
    found = fit(noisy, features[-1], method, center=center, **({} if method == "pca" else {"card": 400}))
    V = loadings(found)
    return [100.0 * accuracy(noisy @ V[:, :m], y, new @ V[:, :m], truth) for m in features]


def figure_6(call: Call) -> Sheet:
    features = [10, 20, 40, 60, 80, 100] if call.full else [5, 20]
    sizes = [1000, 500] if call.full else [100, 50]
    sheet = Sheet(
        "zhao2014-fig6", "digits, nearest neighbour in %", "method", {f"{m} features": 2 for m in features}
    )
    methods = {"all pixels": "", "PCA": "pca", "RSPCA l0": "rspca-l0", "RSPCA l1": "rspca-l1"}
    methods |= {"RSPCA l1/2": "rspca-lhalf"} | ({"sPCA-rSVD l0": "rsvd-l0"} if call.full else {})
    cells = [
        Cell(label, classified, {"method": method, "features": features, "sizes": sizes, "center": False})
        for label, method in methods.items()
    ]
    for name, found in call.measured("zhao2014-fig6", cells).items():
        printed = [95.80 if (call.full and name == "RSPCA l0" and m == 40) else None for m in features]
        sheet.add(name, printed, found)
    sheet.notes.append(
        f"{sizes[0]} images a digit to learn from, a fifth of them noisy, and {sizes[1]} to test, as in the "
        "paper, of the 60000 training images; the only rate printed is 95.80 % for RSPCA l0 with 40 features."
    )
    return sheet
