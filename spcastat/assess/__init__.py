"""Draws, folds and tests: bootstrap, stability, splits, permutations, cross-validation and noise."""
