"""Plots on matplotlib axes: ``ax`` in, Axes out, nothing shown; each has a twin that returns its data."""

from __future__ import annotations

from spcastat.plots.biplot import BiplotData, biplot, biplot_data
from spcastat.plots.loadings import plot_loadings, plot_loadings_data
from spcastat.plots.scree import screeplot, screeplot_data

__all__ = [
    "BiplotData",
    "biplot",
    "biplot_data",
    "plot_loadings",
    "plot_loadings_data",
    "screeplot",
    "screeplot_data",
]
