"""Zhao, Meng, Xu and Gao (2015), Figures 3 and 5, with digits in place of faces, which we do not have."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.draws import Cell, Draw
from benchmarks.papers.compared import METHODS, NONNEG
from benchmarks.papers.digits import FILE
from benchmarks.papers.fits import Call, fit, loadings, pev_curve, reconstruction
from benchmarks.papers.sheet import Sheet

#: Images of each digit: 200 in all in Figure 3, as the paper has; 2400 in Figure 5, which has 2429 faces.
SPARSE_IMAGES, NONNEGATIVE_IMAGES = 20, 240
#: Nonzeros of a component of Figure 3: the paper's share of the pixels, 2000 of 8064.
CARD = 194
#: Numbers of components of the curves, and of Figure 5.
STEPS, NONNEGATIVE = (5, 10, 15, 20, 25, 30), 10
#: The methods of the paper's Figure 3.
CURVES = (
    *("PathSPCA", "sPCA-rSVD l0", "sPCA-rSVD l1", "sPCA-rSVD SCAD", "EMPCA"),
    *("BCD-SPCA l0", "BCD-SPCA l1"),
)
#: The methods of the rows of Figure 5.
IMAGED = ("PCA", "NSPCA", "N-EMPCA", "BCD-NSPCA l0")
#: Options of NSPCA, in units of the largest eigenvalue; the paper's are not printed for faces.
NSPCA: dict[str, Any] = {"orthonormality": 0.01, "penalty": 0.0, "max_iter": 100}


@lru_cache(maxsize=2)
def _images(path: Path, each: int) -> np.ndarray:
    """Return the same number of random training images of each digit, one image in each row."""
    stored = np.load(path)
    rng = np.random.default_rng(0)
    rows = [rng.permutation(np.flatnonzero(stored["y"] == digit))[:each] for digit in range(10)]
    return stored["X"][np.concatenate(rows)].astype(float)


def explained(draw: Draw, method: str, options: dict[str, Any], together: bool) -> list[float]:
    """Return the PEV (%) of 5, 10, ... sparse components; with `together`, each number has its own fit."""
    X = _images(draw.file(FILE), SPARSE_IMAGES)
    if together:
        return [100.0 * fit(X, k, method, card=CARD, **options).measure("pev") for k in STEPS]
    return pev_curve(fit(X, STEPS[-1], method, card=CARD, **options), STEPS)


def figure_3(call: Call) -> Sheet:
    """Return the curves of Figure 3, for images of digits."""
    title = "200 images of digits: PEV (%) by the number of components of 194 nonzeros"
    sheet = Sheet("zhao2015-fig3-digits", title, "method", {str(k): 2 for k in STEPS})
    cells = []
    for label in CURVES:
        method, options = METHODS[label]
        given = {"method": method, "options": options, "together": label.startswith("BCD")}
        cells.append(Cell(label, explained, given))
    sheet.add_trials(call.measured(sheet.name, cells))
    sheet.notes.append(
        "The paper has 200 faces of 8064 pixels and components of 2000 nonzeros, a quarter of the pixels, as "
        "here. For BCD each number of components is a separate fit."
    )
    return sheet


@lru_cache(maxsize=1)
def _nspca(path: Path) -> Any:
    """Return the NSPCA fit, whose cardinalities the other methods use, as for colon."""
    return fit(_images(path, NONNEGATIVE_IMAGES), NONNEGATIVE, "nspca", **NSPCA)


def _fitted(path: Path, label: str) -> Any:
    """Return the fit of a row of Figure 5."""
    if label == "NSPCA":
        return _nspca(path)
    X = _images(path, NONNEGATIVE_IMAGES)
    if label == "PCA":
        return fit(X, NONNEGATIVE, "pca")
    method, options = NONNEG[label]
    return fit(X, NONNEGATIVE, method, card=[int(card) for card in _nspca(path).card], **options)


def nonnegative(draw: Draw, label: str) -> list[float]:
    """Return RRE, PEV (%) and nonzeros of ten components."""
    return reconstruction(_fitted(draw.file(FILE), label))


def figure_5(call: Call) -> Sheet:
    """Return the measures of the components of Figure 5 and Table 8, for images of digits."""
    quantities = {"RRE": 4, "PEV": 2, "nonzeros": 0}
    sheet = Sheet("zhao2015-fig5-digits", "2400 images of digits: 10 components", "method", quantities)
    cells = [Cell(label, nonnegative, {"label": label}) for label in IMAGED]
    sheet.add_trials(call.measured(sheet.name, cells))
    sheet.notes.append(
        "The paper has 2429 faces. N-EMPCA and BCD have the cardinalities of NSPCA, whose options are not "
        "printed."
    )
    return sheet


def draw_components(data: Path, folder: Path) -> Path:
    """Draw the components of Figure 5 as images, a row for each method, and return the file."""
    with mpl.rc_context({"font.size": 8}):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        grid = figure.subplots(len(IMAGED), NONNEGATIVE)
        for label, row in zip(IMAGED, grid, strict=True):
            for v, axes in zip(loadings(_fitted(data / FILE, label)).T, row, strict=True):
                largest = float(np.abs(v).max())
                axes.imshow(v.reshape(28, 28), cmap="RdBu_r", vmin=-largest, vmax=largest)
                axes.set(xticks=[], yticks=[])
            row[0].set_ylabel(label, rotation=0, ha="right", va="center")
        path = folder / "zhao2015-fig5.png"
        figure.savefig(path, dpi=150)
    return path
