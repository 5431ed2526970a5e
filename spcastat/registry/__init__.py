"""The table of methods: the one place that names them all."""

from spcastat.registry.method import CONTROLS, Method
from spcastat.registry.table import SOLVERS

__all__ = ["CONTROLS", "SOLVERS", "Method"]
