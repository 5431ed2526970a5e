"""How sparse? Fits along a range of cardinalities."""

from spcastat.select.fits_along_path import fit_path, path_cards

__all__ = ["fit_path", "path_cards"]
