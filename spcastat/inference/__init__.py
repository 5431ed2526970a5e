"""Inference for a fit: bootstrap, stability selection, sample splitting and permutation tests."""

from spcastat.inference.permutation import permutation_test
from spcastat.inference.samples import bootstrap, split, stability

__all__ = ["bootstrap", "permutation_test", "split", "stability"]
