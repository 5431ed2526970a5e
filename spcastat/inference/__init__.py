"""Inference for a fit: bootstrap, stability selection, sample splitting and permutation tests."""

from spcastat.inference.bootstrap import bootstrap, split
from spcastat.inference.permutation import permutation_test
from spcastat.inference.stability import stability

__all__ = ["bootstrap", "permutation_test", "split", "stability"]
