"""The table of methods: the one place that names them all."""

from spcastat.registry.method_table import CONTROLS, SOLVERS, Method

__all__ = ["CONTROLS", "SOLVERS", "Method"]
