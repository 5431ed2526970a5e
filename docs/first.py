"""Draw docs/first.png, the picture of README.md: dense and sparse loadings of 24 ability tests.

    python docs/first.py

Both panels show the loadings of four components of the same correlation matrix (145 children); cells that are
exactly zero are empty.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import spcastat as sp

#: The tests of each ability, in the order of the picture, from top to bottom.
ABILITIES = ("verbal", "speed", "deduction", "spatial", "memory")


def in_order(loadings: pd.DataFrame, abilities: list[str]) -> pd.DataFrame:
    """Return `loadings` with the tests sorted by ability, and within an ability by component."""
    place = [ABILITIES.index(ability) for ability in abilities]
    component = np.abs(loadings.to_numpy()).argmax(axis=1)
    return loadings.iloc[np.lexsort([component, place])]


def draw(ax: Axes, loadings: pd.DataFrame, title: str) -> None:
    """Draw the loadings as a table of coloured numbers."""
    values = loadings.to_numpy()
    ax.pcolormesh(
        np.ma.masked_equal(values, 0), cmap="RdBu_r", vmin=-0.7, vmax=0.7, edgecolors="white", linewidth=1
    )
    for (row, column), value in np.ndenumerate(values):
        if value:
            colour = "white" if abs(value) > 0.4 else "#222222"
            text = f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")
            ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, color=colour)
    ax.set_title(title, fontsize=11, pad=22)
    ax.set_xticks(np.arange(values.shape[1]) + 0.5, list(loadings.columns))
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize=9)
    ax.set_ylim(len(values), 0)
    ax.spines[:].set_visible(False)


def main() -> None:
    """Fit both, and write the picture next to this file."""
    R = sp.datasets.load_harman74()
    abilities = R.attrs["abilities"]
    n_obs = R.attrs["n_obs"]
    sparse = sp.spca_cov(R, 4, disjoint=True, n_obs=n_obs)
    dense = sp.spca_cov(R, 4, method="pca", n_obs=n_obs)
    table = in_order(sparse.loadings, abilities)
    groups = pd.Series(abilities, index=R.index)[table.index]

    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 6.6), sharey=True, layout="constrained")
    for ax, fit, name in (
        (left, dense, "PCA"),
        (right, sparse, "spca_cov(R, 4, disjoint=True)"),
    ):
        loadings = fit.loadings.loc[table.index]
        numbers = int((loadings.to_numpy() != 0).sum())
        draw(ax, loadings, f"{name}\n{numbers} numbers, {100 * fit.measure('pev'):.1f} % of the variance")
        for row in np.flatnonzero(groups.to_numpy()[1:] != groups.to_numpy()[:-1]):
            ax.axhline(row + 1, color="#999999", linewidth=0.8)
    names = [name.replace("_", " ") for name in table.index]
    left.set_yticks(np.arange(len(names)) + 0.5, names)
    for ability in ABILITIES:
        rows = np.flatnonzero(groups == ability)
        right.text(4.12, rows.mean() + 0.5, ability, va="center", fontsize=10, style="italic", color="#555")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
