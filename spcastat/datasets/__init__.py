"""Data to try the package on: one bundled correlation matrix, and generators with a known answer.

Every generator takes ``rng``: ``None`` (the fixed seed 0), a whole number, or a NumPy ``Generator``;
one seed, one data set. What is known about a frame stands in its ``.attrs``, as plain lists and
strings so that the frame can be copied, concatenated, compared and written to Parquet as any other;
`true_loadings` makes a labelled table of them.
"""

from __future__ import annotations

from spcastat.datasets.hastie import make_hastie
from spcastat.datasets.known import true_loadings
from spcastat.datasets.pitprops import load_pitprops, pitprops_sample
from spcastat.datasets.synthetic import make_highdim, make_toy

__all__ = [
    "BUNDLED",
    "load_pitprops",
    "make_hastie",
    "make_highdim",
    "make_toy",
    "pitprops_sample",
    "true_loadings",
]

BUNDLED = {
    # the name on the command line: its loader, whose first line of documentation is what is listed
    "pitprops": load_pitprops,
}
