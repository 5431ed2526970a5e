"""The methods, one file a family, and the table that names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from spcastat.solvers.base import ADVICE, ComponentSolver, JointSolver, Solution, Solver
from spcastat.solvers.bcd import BCD
from spcastat.solvers.greedy import Controlled, Greedy
from spcastat.solvers.pca import PCA

#: Options by which a user says how sparse a fit shall be.
CONTROLS = ("card", "t", "penalty", "variance")


@dataclass(frozen=True)
class Method:
    """A name under which a solver is called.

    Attributes
    ----------
    name : str
        What users write.
    title, paper : str
        For headers and tables.
    solver : type
        The frozen dataclass whose fields are the options.
    fixed : Mapping
        Fields that the name itself decides.
    without : tuple of str
        Fields that make no sense under this name.
    """

    name: str
    title: str
    paper: str
    solver: type[Solver]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that the method has."""
        own = [f.name for f in fields(self.solver)]  # type: ignore[arg-type]
        own = [name for name in own if name not in self.fixed and name not in self.without]
        return tuple(own) + (("n_init",) if self.solver.uses_starts else ())

    @property
    def controls(self) -> tuple[str, ...]:
        """Those of the options that set the sparsity."""
        return tuple(name for name in CONTROLS if name in self.options)

    def build(self, options: Mapping[str, Any]) -> Solver:
        """Return the solver with `options` (checked before) and defaults for the rest."""
        return self.solver(**self.fixed, **options)


_BCD = "Zhao, Meng, Xu and Gao (2015), Neurocomputing"
_HMP = "He, Monteiro and Park (2010)"

SOLVERS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("bcd-l0", "Block coordinate descent, l0", _BCD, BCD, {"norm": "l0"}, ("t",)),
        Method("bcd-l1", "Block coordinate descent, l1", _BCD, BCD, {"norm": "l1"}),
        Method("greedy", "Greedy supports (M_c-SPCA)", _HMP, Greedy),
        Method("controlled", "Sparsity-controlled PCA (SC_c-PCA)", _HMP, Controlled),
        Method("pca", "Principal components (dense)", "Hotelling (1933)", PCA),
    )
}

__all__ = [
    "ADVICE",
    "CONTROLS",
    "SOLVERS",
    "ComponentSolver",
    "JointSolver",
    "Method",
    "Solution",
    "Solver",
]
