"""spcastat beside other programs for sparse PCA: ``python -m benchmarks.peers``."""
