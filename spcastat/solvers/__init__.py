"""The solvers, one file a family, and the contract that all of them meet."""

from __future__ import annotations

from spcastat.solvers.base import ADVICE, ComponentSolver, JointSolver, Solution, Solver

__all__ = ["ADVICE", "ComponentSolver", "JointSolver", "Solution", "Solver"]
