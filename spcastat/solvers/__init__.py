"""The solvers, one file a family, and the contract that all of them meet."""

from __future__ import annotations

from spcastat.solvers.base import ADVICE, ComponentSolver, JointSolver, Solution, Solver
from spcastat.solvers.searched import Searched, Sparser

__all__ = ["ADVICE", "ComponentSolver", "JointSolver", "Searched", "Solution", "Solver", "Sparser"]
