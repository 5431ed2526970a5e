"""The registry of all methods."""

from spcastat.registry.method_table import CONTROLS, SOLVERS, Method

__all__ = ["CONTROLS", "SOLVERS", "Method"]
