"""Draw docs/first.png and docs/first-dark.png: three sets of loadings of 24 ability tests.

    python docs/first.py

The panels show four components of the same correlation matrix (145 children): PCA, its varimax rotation with
the usual cut-off, and a sparse fit in which every test is in one component. Values are correlations of tests
and components; cells that are exactly zero are empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle
from statsmodels.multivariate.factor_rotation import rotate_factors

import spcastat as sp

#: Papers usually print rotated loadings of at least this size.
CUT_OFF = 0.3
#: From correlations to colours, as numbers from 0 to 1.
SCALE = Normalize(-0.95, 0.95)


@dataclass(frozen=True)
class Panel:
    """One set of loadings.

    Attributes
    ----------
    title : str
    values : ndarray of shape (24, 4)
    pev : float
        Share of the variance in the space of the loadings.
    """

    title: str
    values: np.ndarray
    pev: float


def panels() -> tuple[pd.Index, list[Panel]]:
    """Return the names of the tests, sorted by component, and the panels with their rows in this order."""
    R = sp.datasets.load_harman74()
    n_obs = R.attrs["n_obs"]
    sparse = sp.spca_cov(R, 4, disjoint=True, n_obs=n_obs)
    dense = sp.spca_cov(R, 4, method="pca", n_obs=n_obs).correlations.to_numpy()
    strength = np.where(sparse.loadings != 0, sparse.correlations, 0.0)
    rotated = like(varimax(dense), strength)
    shown = np.where(np.abs(rotated) >= CUT_OFF, rotated, 0.0)
    rows = np.lexsort((-np.abs(strength).max(axis=1), np.abs(strength).argmax(axis=1)))
    drawn = [
        Panel("PCA", dense, sp.measures.pev(dense, S=R)),
        Panel("varimax,\n|loading| ≥ .3", shown, sp.measures.pev(shown, S=R)),
        Panel("sparse PCA", strength, sparse.measure("pev")),
    ]
    return R.index[rows], [Panel(panel.title, panel.values[rows], panel.pev) for panel in drawn]


def varimax(A: np.ndarray) -> np.ndarray:
    """Return loadings rotated by varimax with Kaiser's normalisation."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return length * rotate_factors(A / length, "varimax")[0]


def like(rotated: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Return columns in the order and with the signs of the columns of `strength` that they resemble most."""
    products = rotated.T @ strength
    order = np.abs(products).argmax(axis=0)
    return rotated[:, order] * np.sign(products[order, np.arange(len(order))])


def draw(ax: Axes, panel: Panel, colours: Colormap) -> None:
    """Draw the loadings as coloured cells."""
    for (row, column), value in np.ndenumerate(panel.values):
        if value:
            cell = Rectangle((column + 0.04, row + 0.06), 0.92, 0.88)
            cell.set_facecolor(colours(SCALE(value)))
            ax.add_patch(cell)
    number = int((panel.values != 0).sum())
    title = f"{panel.title}\n{number} loadings\nPEV {100 * panel.pev:.1f} %"
    ax.set_title(title, fontsize=13, linespacing=1.25)
    ax.set_xlim(0, panel.values.shape[1])
    ax.set_ylim(len(panel.values), 0)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_color("#999999")


def draw_scale(axes: np.ndarray, colours: Colormap) -> None:
    """Draw the scale of the colours below the panels."""
    scale = ScalarMappable(SCALE, colours)
    bar = axes[0].figure.colorbar(scale, ax=axes, location="bottom", aspect=40, pad=0.01)
    bar.set_ticks([-0.9, 0, 0.9], labels=["−.9", "correlation 0", ".9"])
    bar.ax.tick_params(labelsize=12, length=0)
    bar.outline.set_edgecolor("#999999")


def picture(file: Path, style: str, colours: str) -> None:
    """Draw the panels in a style of Matplotlib and write them to `file`."""
    names, drawn = panels()
    ends = np.flatnonzero(np.diff(np.abs(drawn[-1].values).argmax(axis=1)))
    with plt.style.context(style):
        figure, axes = plt.subplots(1, 3, figsize=(7.2, 6.0), sharey=True, layout="constrained")
        for ax, panel in zip(axes, drawn, strict=True):
            draw(ax, panel, matplotlib.colormaps[colours])
            for row in ends:
                ax.axhline(row + 1, color="#999999", linewidth=0.8)
        labels = [name.replace("_", " ") for name in names]
        axes[0].set_yticks(np.arange(len(labels)) + 0.5, labels, fontsize=13)
        draw_scale(axes, matplotlib.colormaps[colours])
        figure.savefig(
            file,
            dpi=100,
            metadata={"Software": None},
            transparent=style != "default",
            pil_kwargs={"optimize": True},
        )


def main() -> None:
    """Draw the picture for light and for dark pages next to this file."""
    folder = Path(__file__).parent
    picture(folder / "first.png", "default", "RdBu")
    picture(folder / "first-dark.png", "dark_background", "managua")


if __name__ == "__main__":
    main()
