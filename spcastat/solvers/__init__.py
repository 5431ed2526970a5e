"""The solvers, one file per family, and their common interface."""

from __future__ import annotations

from spcastat.solvers.solver import (
    ADVICE,
    ComponentSolver,
    Grouping,
    JointSolver,
    Searched,
    Solution,
    Solver,
    Sparser,
)

__all__ = [
    "ADVICE",
    "ComponentSolver",
    "Grouping",
    "JointSolver",
    "Searched",
    "Solution",
    "Solver",
    "Sparser",
]
