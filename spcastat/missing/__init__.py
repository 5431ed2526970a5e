"""Missing values: means and covariances by EM or from available cases, and imputation by the EM model."""

from spcastat.kernels.nearest import Nearest, nearest_correlation
from spcastat.missing.em import EmMoments, em_moments
from spcastat.missing.model import PpcaModel
from spcastat.missing.pairwise import PairwiseMoments, pairwise_moments

__all__ = [
    "EmMoments",
    "Nearest",
    "PairwiseMoments",
    "PpcaModel",
    "em_moments",
    "nearest_correlation",
    "pairwise_moments",
]
