"""The list of methods."""

from __future__ import annotations

import pandas as pd

from spcastat.solvers import CONTROLS, SOLVERS

__all__ = ["methods"]


def methods() -> pd.DataFrame:
    """List the methods.

    Returns
    -------
    DataFrame
        One row a method: ``name``, the value of ``method=``; ``title``; ``paper``; ``takes``, data or a
        covariance matrix too; ``controlled by``, the arguments that set its sparsity; ``options``, further
        ones; and ``function``, which has it. Sparse principal coordinates, a function of their own
        (``spcastat.spco``), stand at the end.
    """
    rows = [
        {
            "name": method.name,
            "title": method.title,
            "paper": method.paper,
            "takes": "data or covariance" if method.solver.needs == "gram" else "data",
            "controlled by": ", ".join(method.controls) or "nothing",
            "options": ", ".join(name for name in method.options if name not in CONTROLS),
            "function": "spca, spca_cov" if method.solver.needs == "gram" else "spca",
        }
        for method in SOLVERS.values()
    ]
    rows.append(
        {
            "name": "spco",
            "title": "Sparse principal coordinates",
            "paper": SOLVERS["spca-os"].paper,
            "takes": "data",
            "controlled by": "penalty, zeros",
            "options": "ridge, tol, max_iter",
            "function": "spco",
        }
    )
    return pd.DataFrame(rows)
