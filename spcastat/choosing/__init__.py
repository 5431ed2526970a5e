"""Functions that choose the number of components and their cardinalities."""

from spcastat.choosing.cardinality import choose
from spcastat.choosing.number import choose_k

__all__ = ["choose", "choose_k"]
