"""Example data: bundled correlation matrices and tables, and generators of data with known sparse components.

Every generator takes ``rng``: ``None`` (seed 0), a whole number, or a NumPy ``Generator``; the same seed
gives the same data. Facts about the data are in the frame's ``.attrs``, as plain lists and strings, so that
the frame can be copied, concatenated, compared and written to Parquet. `true_loadings` returns the true
loadings as a labelled table.
"""

from __future__ import annotations

from spcastat.datasets.bundled import load_harman74, load_judges, load_pitprops, load_wine
from spcastat.datasets.known import pitprops_sample, true_loadings
from spcastat.datasets.synthetic import make_hastie, make_highdim, make_toy

__all__ = [
    "load_harman74",
    "load_judges",
    "load_pitprops",
    "load_wine",
    "make_hastie",
    "make_highdim",
    "make_toy",
    "pitprops_sample",
    "true_loadings",
]
