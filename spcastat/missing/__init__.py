"""Missing values: means and covariances by EM or from available cases, and imputation by the EM model."""

from spcastat.missing.em import em_moments
from spcastat.missing.model import PpcaModel
from spcastat.missing.pairwise import pairwise_moments

__all__ = ["PpcaModel", "em_moments", "pairwise_moments"]
