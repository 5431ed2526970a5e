"""Numerical routines on NumPy arrays. They know nothing of labels, fits or methods."""
