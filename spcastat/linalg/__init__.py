"""Numerical routines on arrays, and products with covariance matrices that are not formed."""
