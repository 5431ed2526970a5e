"""What a call asks of the fit itself: one value, from the user's call to the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from spcastat.config import LARGEST_SEED, generator, whole_number
from spcastat.engine.options import MOST_STARTS
from spcastat.errors import ComponentsError


@dataclass(frozen=True)
class Request:
    """The arguments of a call that say what to fit, as they were given.

    Attributes
    ----------
    k : int
        Number of components.
    card, variance, method, nonneg, n_init, rng, order, tol, max_iter, objective, effort, promise
        As for :func:`spcastat.spca`.
    further : Mapping
        Options of the method that not all methods have.
    """

    k: int
    card: Any = None
    variance: Any = None
    method: Any = None
    nonneg: Any = False
    n_init: Any = 1
    rng: Any = None
    order: Any = None
    tol: Any = None
    max_iter: Any = None
    objective: Any = None
    effort: Any = None
    promise: Any = None
    further: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k, 1, error=ComponentsError))

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments by name, those at their defaults too."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "further"}
        return {**own, **self.further}

    @property
    def options(self) -> dict[str, Any]:
        """The options of a method that differ from "not given"."""
        names = ("card", "variance", "tol", "max_iter", "objective", "effort", "promise")
        named = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in {**named, **self.further}.items() if value is not None}
        if not isinstance(self.nonneg, (bool, np.bool_)) or self.nonneg:
            given["nonneg"] = self.nonneg
        if whole_number("n_init", self.n_init, 1, MOST_STARTS) > 1:
            given["n_init"] = self.n_init
        return given

    @property
    def generator(self) -> np.random.Generator:
        """The source of random starts; None is a fixed seed, so that two runs agree to the last bit."""
        return generator(self.rng)

    @property
    def seed(self) -> int:
        """The seed of fits that all begin with the same random numbers."""
        return 0 if self.rng is None else whole_number("rng", self.rng, 0, LARGEST_SEED - 1)
