"""Sparse principal component analysis for statisticians.

>>> import spcastat as sp
>>> fit = sp.spca(df, k=3, card=[7, 4, 4])     # doctest: +SKIP
>>> print(fit)                                 # doctest: +SKIP

Public names are imported from their modules on first use, so that ``import spcastat`` is fast. To add a
name, add it to ``_HOME``, and under ``TYPE_CHECKING``, which type checkers and editors read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from spcastat.version import __version__

if TYPE_CHECKING:
    from spcastat import datasets as datasets
    from spcastat import errors as errors
    from spcastat import measures as measures
    from spcastat.api import spca as spca
    from spcastat.api import spca_cov as spca_cov
    from spcastat.api import spca_path as spca_path
    from spcastat.catalogue import methods as methods
    from spcastat.choosing import choose as choose
    from spcastat.choosing import choose_k as choose_k
    from spcastat.coordinates import spco as spco
    from spcastat.correlations import correlation as correlation
    from spcastat.results import SpcaResult as SpcaResult
    from spcastat.results.compare import compare as compare
    from spcastat.results.result import load as load

_HOME = {
    # name: the module that contains it, or the module itself
    "SpcaResult": "spcastat.results",
    "compare": "spcastat.results.compare",
    "correlation": "spcastat.correlations",
    "load": "spcastat.results.result",
    "methods": "spcastat.catalogue",
    "spco": "spcastat.coordinates",
    **dict.fromkeys(("choose", "choose_k"), "spcastat.choosing"),
    **dict.fromkeys(("spca", "spca_cov", "spca_path"), "spcastat.api"),
    **{name: f"spcastat.{name}" for name in ("datasets", "errors", "measures")},
}

__all__ = ["__version__", *_HOME]

#: Names in other packages -> what to use instead.
_ELSEWHERE = {
    **dict.fromkeys(("PCA", "pca", "prcomp", "princomp"), "dense PCA is spca(data, k, card=p)"),
    "SparsePCA": "the estimator for scikit-learn is spcastat.sklearn.SparsePCA",
    "save": "a fit is saved by fit.save(path)",
    "biplot": "it is fit.biplot()",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, and cache it."""
    home = _HOME.get(name)
    if home is None:
        here = _ELSEWHERE.get(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f"; {here}" if here else ""))
    module = importlib.import_module(home)
    value = module if home == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names only, imported or not."""
    return sorted(__all__)
