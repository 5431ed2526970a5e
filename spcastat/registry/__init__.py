"""The registry of methods, which names them all."""

from spcastat.registry.method_table import CONTROLS, SOLVERS, Method

__all__ = ["CONTROLS", "SOLVERS", "Method"]
