"""Choice of sparsity and number of components: criteria, cross-validation, tests, fits along a path."""

from spcastat.select.fits_of_cardinalities import fit_path, path_cards

__all__ = ["fit_path", "path_cards"]
