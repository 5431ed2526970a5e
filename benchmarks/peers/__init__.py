"""Comparison of spcastat with other programs for sparse PCA: ``python -m benchmarks.peers``."""
