"""Plots on matplotlib axes: each takes ``ax=``, draws, and returns the Axes.

For every plot there is a function with ``_data`` after its name, which returns the table that the plot draws:
``biplot_data`` takes the arguments of ``biplot``.
"""

from __future__ import annotations

from typing import Any

from spcastat.plots.arrows import plot_correlations as plot_correlations
from spcastat.plots.bar_plots import plot_contributions as plot_contributions
from spcastat.plots.bar_plots import plot_frequency as plot_frequency
from spcastat.plots.biplot import BiplotData as BiplotData
from spcastat.plots.biplot import biplot as biplot
from spcastat.plots.loadings_plot import plot_loadings as plot_loadings
from spcastat.plots.measure_plots import plot_choice as plot_choice
from spcastat.plots.measure_plots import plot_compare as plot_compare
from spcastat.plots.measure_plots import plot_components as plot_components
from spcastat.plots.measure_plots import plot_coordinates_path as plot_coordinates_path
from spcastat.plots.measure_plots import plot_path as plot_path
from spcastat.plots.measure_plots import plot_reconstruction as plot_reconstruction
from spcastat.plots.measure_plots import screeplot as screeplot
from spcastat.plots.score_plots import DiagnosticsData as DiagnosticsData
from spcastat.plots.score_plots import plot_coordinates as plot_coordinates
from spcastat.plots.score_plots import plot_diagnostics as plot_diagnostics
from spcastat.plots.score_plots import plot_scores as plot_scores


def __getattr__(name: str) -> Any:
    """Return the table function of a plot: ``biplot_data`` is ``biplot.data``."""
    if name.endswith("_data") and name.removesuffix("_data") in _PLOTS:
        return globals()[name.removesuffix("_data")].data
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_PLOTS = [name for name, one in globals().items() if hasattr(one, "data")]
__all__ = [*_PLOTS, *(f"{name}_data" for name in _PLOTS), "BiplotData", "DiagnosticsData"]
