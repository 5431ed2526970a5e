"""Explained variance of fits compared with the best known values, by data, effort and rule."""
