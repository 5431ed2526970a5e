"""The solvers, one file a family, and the contract that all of them meet."""

from __future__ import annotations

from spcastat.solvers.solver import ADVICE, ComponentSolver, JointSolver, Searched, Solution, Solver, Sparser

__all__ = ["ADVICE", "ComponentSolver", "JointSolver", "Searched", "Solution", "Solver", "Sparser"]
