"""Criteria that balance fit and sparsity: extended BIC, BIC, index of sparseness."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from spcastat.resample.sparse_model import SparseModel


def ebic(model: SparseModel, n: float, nonzeros: np.ndarray, variables: int | None = None) -> float:
    """Return the extended BIC of the model of a sparse fit.

    Parameters
    ----------
    model : SparseModel
    n : float
        Number of rows, or sum of their weights.
    nonzeros : ndarray of shape (k,)
        Cardinalities c_j.
    variables : int, optional
        Number of variables p before screening, if the model has screened variables only.

    Notes
    -----
    n (log |Sigma| + tr Sigma^-1 S) + sum c_j log n + 2 sum log C(p, c_j): Chen and Chen (2008), "Extended
    Bayesian information criteria for model selection with large model spaces", with gamma = 1. The last term
    accounts for the number of supports among which the fit was selected.
    """
    p = variables or model.p
    choices = gammaln(p + 1) - gammaln(nonzeros + 1) - gammaln(p - nonzeros + 1)
    return model.deviance(n) + float(nonzeros.sum() * np.log(n) + 2.0 * choices.sum())


def bic(model: SparseModel, n: float, nonzeros: np.ndarray) -> float:
    """Return log of the mean squared residual + nonzeros log(np) / (np): Allen and Maletic-Savatic (2011).

    "Sparse non-negative generalized PCA with applications to metabolomics", Bioinformatics 27, for all
    components at once; the residual is that of the projection of X on the span of the loadings.
    """
    cells = n * model.p
    left = max(model.total - model.kept, np.finfo(float).tiny) / model.p
    return float(np.log(left) + nonzeros.sum() * np.log(cells) / cells)


def sparseness_index(kept: float, dense: float, zeros: float) -> float:
    """Return PEV of the fit x PEV of dense PCA x share of zeros; larger is better.

    Gajjar, Kulahci and Palazoglu (2017), "Selection of non-zero loadings in sparse principal component
    analysis", Chemometrics and Intelligent Laboratory Systems 162, after Trendafilov (2014).
    """
    return kept * dense * zeros
