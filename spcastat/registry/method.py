"""A method: the name under which a solver is called, and what there is to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import Any, cast

from spcastat.solvers import Solver

#: Options by which a user says how sparse a fit should be.
CONTROLS = ("card", "total", "t", "penalty", "threshold", "variance")

#: Options by which the best of several starts is chosen, and by which the search runs on some of many
#: variables.
AIMED = ("objective",)
SCREENED = ("screen",)


@dataclass(frozen=True)
class Method:
    """A name under which a solver is called.

    Attributes
    ----------
    name : str
        What users write.
    title, paper : str
        For headers and tables.
    home : str
        Module, below `spcastat`, and class of the solver, the frozen dataclass whose fields are the options.
        It is imported when it is first asked for.
    fixed : Mapping
        Fields that the name itself decides.
    without : tuple of str
        Fields that make no sense under this name.
    further : tuple of str
        Options that the engine serves for this method: AIMED, SCREENED.
    use : str
        When to take it, and when not, in a sentence or two.
    """

    name: str
    title: str
    paper: str
    home: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    use: str = ""

    @property
    def solver(self) -> type[Solver]:
        """The class of the solver."""
        module, _, name = self.home.rpartition(".")
        return cast(type[Solver], getattr(import_module(f"spcastat.{module}"), name))

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The names of the options that the method has."""
        own = [f.name for f in fields(self.solver)]  # type: ignore[arg-type]
        own = [name for name in own if name not in self.fixed and name not in self.without]
        return (
            tuple(own)
            + self.further
            + (("start", "n_init") if self.solver.uses_starts else ())
        )

    @cached_property
    def controls(self) -> tuple[str, ...]:
        """Those of the options that set the sparsity."""
        return tuple(name for name in CONTROLS if name in self.options)

    def build(self, options: Mapping[str, Any]) -> Solver:
        """Return the solver with `options` (checked before) and defaults for the rest."""
        return self.solver(**self.fixed, **options)
