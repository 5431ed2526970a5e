"""Sparse principal component analysis for statisticians.

>>> import spcastat as sp
>>> fit = sp.spca(df, k=3, card=[7, 4, 4])     # doctest: +SKIP
>>> print(fit)                                 # doctest: +SKIP

Public names are imported from their modules on first use, so that ``import spcastat`` is fast. To add a
name, add it to ``_HOME`` or ``_CLASSES``, and under ``TYPE_CHECKING``, which type checkers and editors read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from spcastat.version import __version__

if TYPE_CHECKING:
    from spcastat import datasets as datasets
    from spcastat import errors as errors
    from spcastat import measures as measures
    from spcastat import plots as plots
    from spcastat import sklearn as sklearn
    from spcastat.api import spca as spca
    from spcastat.api import spca_cov as spca_cov
    from spcastat.api import spca_path as spca_path
    from spcastat.catalogue import methods as methods
    from spcastat.choosing import choose as choose
    from spcastat.choosing import choose_k as choose_k
    from spcastat.coordinates import spco as spco
    from spcastat.correlations import correlation as correlation
    from spcastat.groups import compare_groups as compare_groups
    from spcastat.inputs.constructors import covariance as covariance
    from spcastat.inputs.constructors import rows as rows
    from spcastat.inputs.data import Data as Data
    from spcastat.loadings import sparse_loadings as sparse_loadings
    from spcastat.loadings import sparse_loadings_cov as sparse_loadings_cov
    from spcastat.plots.captions import BiplotData as BiplotData
    from spcastat.progress import Step as Step
    from spcastat.results.choice import Choice as Choice
    from spcastat.results.choice import ChoiceStability as ChoiceStability
    from spcastat.results.choice import ComponentChoice as ComponentChoice
    from spcastat.results.compare import Comparison as Comparison
    from spcastat.results.compare import compare as compare
    from spcastat.results.fit import SpcaResult as SpcaResult
    from spcastat.results.fit import load as load
    from spcastat.results.group_comparison import GroupComparison as GroupComparison
    from spcastat.results.interpretation import Scales as Scales
    from spcastat.results.interpretation import Supplement as Supplement
    from spcastat.results.loadings import LoadingsBootstrap as LoadingsBootstrap
    from spcastat.results.loadings import SparseLoadings as SparseLoadings
    from spcastat.results.outliers import Outliers as Outliers
    from spcastat.results.path import SpcaPath as SpcaPath
    from spcastat.results.principal_variables import PrincipalVariablesResult as PrincipalVariablesResult
    from spcastat.results.proofs import Certificate as Certificate
    from spcastat.results.resampling import Bootstrap as Bootstrap
    from spcastat.results.resampling import LoadingTest as LoadingTest
    from spcastat.results.resampling import SplitInference as SplitInference
    from spcastat.results.resampling import Stability as Stability
    from spcastat.results.spco import SpcoPath as SpcoPath
    from spcastat.results.spco import SpcoResult as SpcoResult
    from spcastat.selection import principal_variables as principal_variables
    from spcastat.selection import principal_variables_cov as principal_variables_cov
    from spcastat.show.methods_text import Description as Description
    from spcastat.show.renderings import Summary as Summary
    from spcastat.streams.base import ScoreChunks as ScoreChunks

#: Functions and modules -> the module that contains them, or the module itself.
_HOME = {
    "compare": "spcastat.results.compare",
    "compare_groups": "spcastat.groups",
    "correlation": "spcastat.correlations",
    "load": "spcastat.results.fit",
    "methods": "spcastat.catalogue",
    "spco": "spcastat.coordinates",
    **dict.fromkeys(("choose", "choose_k"), "spcastat.choosing"),
    **dict.fromkeys(("covariance", "rows"), "spcastat.inputs.constructors"),
    **dict.fromkeys(("principal_variables", "principal_variables_cov"), "spcastat.selection"),
    **dict.fromkeys(("spca", "spca_cov", "spca_path"), "spcastat.api"),
    **dict.fromkeys(("sparse_loadings", "sparse_loadings_cov"), "spcastat.loadings"),
    **{name: f"spcastat.{name}" for name in ("datasets", "errors", "measures", "plots", "sklearn")},
}
#: Classes of results, for annotations and ``isinstance`` -> the module that contains them.
_CLASSES = {
    "BiplotData": "spcastat.plots",
    "Certificate": "spcastat.results.proofs",
    "Choice": "spcastat.results.choice",
    "ChoiceStability": "spcastat.results.choice",
    "Comparison": "spcastat.results.compare",
    "ComponentChoice": "spcastat.results.choice",
    "Data": "spcastat.inputs.data",
    "GroupComparison": "spcastat.results.group_comparison",
    "Description": "spcastat.show.methods_text",
    "PrincipalVariablesResult": "spcastat.results.principal_variables",
    "Outliers": "spcastat.results.outliers",
    "Scales": "spcastat.results.interpretation",
    "ScoreChunks": "spcastat.streams.base",
    "SpcaPath": "spcastat.results.path",
    "SpcaResult": "spcastat.results.fit",
    "Step": "spcastat.progress",
    "Summary": "spcastat.show.renderings",
    "Supplement": "spcastat.results.interpretation",
    **dict.fromkeys(("LoadingsBootstrap", "SparseLoadings"), "spcastat.results.loadings"),
    **dict.fromkeys(("SpcoPath", "SpcoResult"), "spcastat.results.spco"),
    **dict.fromkeys(("Bootstrap", "Stability"), "spcastat.results.resampling"),
    **dict.fromkeys(("LoadingTest", "SplitInference"), "spcastat.results.resampling"),
}

# Without sklearn: "from spcastat import *" must work where scikit-learn is not installed.
__all__ = ["SpcaResult", "__version__", *sorted({*_HOME} - {"sklearn"})]

#: Names in other packages -> what to use instead.
_ANSWERS = {
    **dict.fromkeys(("PCA", "pca", "prcomp", "princomp"), "dense PCA is spca(data, k, card=p)"),
    **dict.fromkeys(("SPCA", "sparse_pca"), "sparse PCA is spca(data, k, card=5)"),
    "SparsePCA": "the estimator for scikit-learn is spcastat.sklearn.SparsePCA",
    "save": "a fit is saved by fit.save(path)",
    "biplot": "it is fit.biplot()",
}


if not TYPE_CHECKING:  # so that type checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        """Import a public name on first use, and cache it."""
        home = _HOME.get(name) or _CLASSES.get(name)
        if home is None:
            answer = _ANSWERS.get(name)
            reason = f"; {answer}" if answer else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{reason}")
        module = importlib.import_module(home)
        value = module if home == f"{__name__}.{name}" else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the names of functions and modules, imported or not."""
    return sorted([*__all__, "sklearn"])
