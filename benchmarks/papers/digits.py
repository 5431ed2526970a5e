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
from benchmarks.papers.verdicts import Claim, Value, value_of

FILE = "mnist_t10k.npz"
#: Method, options, average residual error under noise and under outliers, 100 components (Table 4).
TABLE_4: dict[str, tuple[str, dict[str, Any], float, float]] = {
    "PCA": ("pca", {}, 905.0617, 570.3221),
    "PCA-L1": ("pca-l1", {}, 889.2563, 507.5231),
    "sPCA-rSVD l0": ("rsvd-l0", {"card": 400}, 914.5049, 573.1356),
    "GPower l1": ("gpower-l1", {"card": 600}, 906.1718, 571.2940),
    "GPower l0": ("gpower-l0", {"card": 500}, 906.0196, 571.0965),
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
#: Left out of the quick mode: minutes for a hundred components.
SLOW = ("rsvd-l0", "pca-l1", "gpower-l0", "gpower-l1")
STEPS = (5, 10, 20, 40, 60, 80, 100)


def _sixes(
    path: Path, kind: str, rows: int | None = None, digit: int | None = 6
) -> tuple[np.ndarray, np.ndarray]:
    """Return images of a digit, or of all, the first so many, and those with noise or outliers."""
    stored = np.load(path)
    X = (stored["X"] if digit is None else stored["X"][stored["y"] == digit])[:rows].astype(float)
    rng = np.random.default_rng(0)
    # The paper has about 7000 images, 2000 of them noisy, or 3000 outliers in addition: the same shares here.
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


def rebuilt(
    draw: Draw, method: str, options: dict[str, Any], kind: str, k: int, center: bool
) -> list[float]:
    """Return the mean distance of original images from those rebuilt of 5, 10, 20, ... components.

    The mean cardinality and CPU seconds of the fit follow.
    """
    path = draw.file(FILE)
    original, adopted = _sixes(path, kind)
    begun = time.process_time()
    found = fit(adopted, k, method, center=center, **options)
    seconds = time.process_time() - begun
    V = loadings(found)
    mean = adopted.mean(axis=0) if center else np.zeros(784)
    Z = (adopted[: len(original)] - mean) @ V
    steps = [m for m in STEPS if m <= k]
    errors = [float(np.linalg.norm(original - mean - Z[:, :m] @ V[:, :m].T, axis=1).mean()) for m in steps]
    return [*errors, float(found.card.mean()), seconds]


def rebuilt_as(draw: Draw, rows: int, method: str, card: int | None, center: bool, how: str) -> Any:
    """Return the error with outliers after 100 components, the mean cardinality and CPU seconds.

    `how` is "": gray values from 0 to 255, "scaled": from 0 to 1 (the error is brought back), "transposed":
    the images lie on their sides, or "all": images of all digits.
    """
    path = draw.file(FILE)
    original, adopted = _sixes(path, "outliers", rows, None if how == "all" else 6)
    if how == "transposed":
        original, adopted = (
            X.reshape(-1, 28, 28).transpose(0, 2, 1).reshape(-1, 784) for X in (original, adopted)
        )
    unit = 255.0 if how == "scaled" else 1.0
    begun = time.process_time()
    found = fit(adopted / unit, 100, method, center=center, **({} if card is None else {"card": card}))
    seconds = time.process_time() - begun
    V, mean = loadings(found), adopted.mean(axis=0) if center else np.zeros(784)
    left = original - mean - (adopted[:rows] - mean) @ V @ V.T
    return [float(np.linalg.norm(left, axis=1).mean()), float(found.card.mean()), seconds]


def causes_of_table_4(call: Call) -> Sheet:
    """Return what centring, penalty, scale and orientation do to the errors of Table 4 with outliers."""
    quantities = {"error, outliers": 1, "nonzeros": 0, "CPU s": 1}
    sheet = Sheet("zhao2014-4-causes", "Table 4 with fewer images and in other ways", "method", quantities)
    ways: dict[str, tuple[int | None, bool, str]] = {}
    for center, words in ((False, ""), (True, ", centred")):
        ways |= {f"RSPCA l1{words}": (400, center, ""), f"RSPCA l0{words}": (400, center, "")}
        ways[f"PCA{words}"] = (None, center, "")
    more: dict[str, tuple[int | None, bool, str]] = {
        "RSPCA l1, 200 nonzeros": (200, False, ""),
        "RSPCA l1, 784 nonzeros": (784, False, ""),
        "RSPCA l1, gray values from 0 to 1": (400, False, "scaled"),
        "RSPCA l1, images on their sides": (400, False, "transposed"),
    }
    counts = (120, 240, 480) if call.full else (120,)
    pooled = {"PCA, centred, all digits": (None, True, "all")}
    cells = [
        Cell(
            f"{label}, {rows} images",
            rebuilt_as,
            {
                "rows": rows,
                "method": TABLE_4[label.split(",")[0]][0],
                "card": c,
                "center": center,
                "how": how,
            },
        )
        for chosen, numbers in ((ways, counts), (more, counts[1:2] or counts), (pooled, (958, 7000)))
        for label, (c, center, how) in chosen.items()
        for rows in numbers
    ]
    for name, found in call.measured(sheet.name, cells).items():
        sheet.add(name, [None] * 3, found)
    sheet.notes.append("For 120 images and their 51 outliers any hundred components leave only small errors.")
    return sheet


def _cells(call: Call, kind: str) -> list[Cell]:
    k = 100 if call.full else 10
    return [
        Cell(
            f"{label}{', centred' if center else ''}, {kind}",
            rebuilt,
            {"method": method, "options": options, "kind": kind, "k": k, "center": center},
        )
        for label, (method, options, *_) in TABLE_4.items()
        for center in (False, True)
        if (call.full or method not in SLOW) and (not center or method in ("pca", "rspca-l0", "rspca-l1"))
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
        plain = label.removesuffix(", centred")
        printed: list[Value] = [None] * 6
        if call.full and plain in TABLE_4:
            noise, outliers = TABLE_4[plain][2:]
            printed = [noise, *SPARSITY_4[plain][:2], outliers, *SPARSITY_4[plain][2:]]
        ours = reason or [float(v) for one in pair if not isinstance(one, str) for v in one.mean[-3:]]
        sheet.add(label, printed, ours)
    sheet.causes = CAUSES_4
    sheet.notes.append(
        "958 sixes of the 10000 test images (the paper: about 7000 of all), with the same shares of noisy "
        "images and of outliers, gray values from 0 to 255. Formula (16) of the paper subtracts no mean; nor "
        "do we, except in 'centred'."
    )
    return sheet


CAUSES_4 = [
    Cause(
        "the paper's data are apparently centred, and seven times as many. Without centring, the errors of "
        "RSPCA l1 with outliers increase with the number of images, and the errors of RSPCA l0 exceed PCA; "
        "with centring both decrease, and l0 is below PCA, as in the paper. With 958 images all errors "
        "exceed the paper's, also for PCA. From 958 to 7000 images of all digits the error of PCA decreases "
        "by about this difference. Scale does not matter, orientation hardly, and fewer nonzeros increase "
        "the "
        "error of l1 (see zhao2014-4-causes).",
        tuple(TABLE_4),
        False,
    ),
]


def figure_5(call: Call) -> Sheet:
    steps = [m for m in STEPS if m <= (100 if call.full else 10)]
    title = "digit 6 reconstructed: error by components"
    sheet = Sheet("zhao2014-fig5", title, "method", {f"{m}": 1 for m in steps})
    for kind in ("noise", "outliers"):
        for name, found in call.measured("zhao2014-4", _cells(call, kind)).items():
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
        claim = f"{kind}: RSPCA l0 and l1/2 have the smallest errors but for PCA-L1 from 40 components on"
        said = f"with 100 components at most {worst[-1]:.1f}, the others at least {best[-1]:.1f}"
        sheet.claims.append(Claim(claim, said, all(a < b for a, b in zip(worst, best, strict=True))))
    sheet.causes = [
        Cause(
            "the paper's data are apparently centred, as in Table 4: with centring, RSPCA l0 has the "
            "smallest errors except for PCA-L1 with 40 components or more; RSPCA l1/2 was not run with "
            "centring.",
            ("outliers",),
            False,
        )
    ]
    sheet.notes.append("The figure has no numbers. Noise first, then outliers.")
    return sheet


@lru_cache(maxsize=1)
def _split(path: Path, train_size: int, test_size: int) -> tuple[np.ndarray, ...]:
    stored = np.load(path)
    X, y = stored["X"].astype(float), stored["y"]
    rng = np.random.default_rng(0)
    order = [rng.permutation(np.flatnonzero(y == digit)) for digit in range(10)]
    train = np.concatenate([one[:train_size] for one in order])
    test = np.concatenate([one[train_size : train_size + test_size] for one in order])
    noisy = _spoiled(X[train], rng.permutation(len(train))[: len(train) // 5], rng)
    return noisy, y[train], X[test], y[test]


def classified(
    draw: Draw, method: str, features: list[int], sizes: list[int], center: bool
) -> list[float]:
    """Return the accuracy (%) of nearest neighbours in so many components; of all pixels without a method."""
    path = draw.file(FILE)
    noisy, y, new, truth = _split(path, *sizes)
    if not method:
        return [100.0 * accuracy(noisy, y, new, truth)] * len(features)
    found = fit(noisy, features[-1], method, center=center, **({} if method == "pca" else {"card": 400}))
    V = loadings(found)
    return [100.0 * accuracy(noisy @ V[:, :m], y, new @ V[:, :m], truth) for m in features]


def figure_6(call: Call) -> Sheet:
    features = [10, 20, 40, 60, 80, 100] if call.full else [5, 20]
    sizes = [550, 300] if call.full else [100, 50]
    sheet = Sheet(
        "zhao2014-fig6", "digits, nearest neighbour in %", "method", {f"{m} features": 2 for m in features}
    )
    methods = {"all pixels": "", "PCA": "pca", "RSPCA l0": "rspca-l0", "RSPCA l1": "rspca-l1"}
    methods |= {"RSPCA l1/2": "rspca-lhalf"} | ({"sPCA-rSVD l0": "rsvd-l0"} if call.full else {})
    cells = [
        Cell(label, classified, {"method": method, "features": features, "sizes": sizes, "center": False})
        for label, method in methods.items()
    ]
    given = {"method": "rspca-l0", "features": features[:3], "center": False}
    cells += [
        Cell(f"RSPCA l0, {one} images a digit", classified, {**given, "sizes": [one, 92]})
        for one in ((200, 400) if call.full else ())
    ]
    for name, found in call.measured("zhao2014-fig6", cells).items():
        if "images" in name and not isinstance(found, str):
            sheet.add(name, [None] * len(features), [*(float(v) for v in found.mean), *[None] * 3])
            continue
        printed = [95.80 if (call.full and name == "RSPCA l0" and m == 40) else None for m in features]
        sheet.add(name, printed, found)
    sheet.causes = [
        Cause(
            "half as many training images as in the paper, whose 70000 are not available here: accuracy "
            "increases with their number (see the rows with 200 and 400 images per digit, tested on 92).",
            ("RSPCA l0",),
            False,
        )
    ]
    sheet.notes.append(
        f"{sizes[0]} images a digit to learn from, a fifth of them noisy, and {sizes[1]} to test (the paper: "
        "1000 and 500 of 70000; the only rate printed is 95.80 % for RSPCA l0 with 40 features)."
    )
    return sheet
