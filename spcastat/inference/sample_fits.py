"""Fit random samples of the rows, and align the fits; samples that cannot be fitted are drawn again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np

from spcastat.errors import ComponentsError, ConstantColumnError, DataError, MissingValuesError
from spcastat.operators import Operator
from spcastat.resample import Aligned, Finished, align, draw_generator, run_jobs
from spcastat.resample.refit import Refit
from spcastat.resample.sampler import CovarianceSampler

Found = TypeVar("Found")

#: Largest number of samples for one draw.
ATTEMPTS = 100


def attempted(draw: Callable[[], Found]) -> tuple[Found, int]:
    """Return the result of the first draw that can be fitted, and how many failed before it.

    A sample cannot be fitted if its rank is below k, if a column to be scaled does not vary, or, with missing
    values, if a column has no variation or no value.

    Raises
    ------
    DataError
        If 100 consecutive samples cannot be fitted.
    """
    for failed in range(ATTEMPTS):
        try:
            return draw(), failed
        except (ComponentsError, ConstantColumnError, MissingValuesError) as error:
            reason = str(error)
    raise DataError(
        f"{ATTEMPTS} samples of the rows running could not be fitted, the last because of this: {reason} "
        "Drop columns that hardly vary, ask for fewer components, or take more rows."
    )


@dataclass(frozen=True, eq=False)
class Resampling:
    """What is drawn and fitted, and how.

    Attributes
    ----------
    sampler : Sampler, or StreamRows before it is prepared
    refit : Refit
    op : Operator
        The data of the fit, on which scores are compared.
    seed : int
    n_jobs : int
    """

    sampler: Any
    refit: Refit
    op: Operator
    seed: int
    n_jobs: int = 1

    def prepared(self, kind: str, count: int) -> Self:
        """Return the same with a sampler for that many draws; see `StreamRows.prepared`."""
        return replace(self, sampler=self.sampler.prepared(kind, count, self.seed))

    def aligned(self, V: np.ndarray) -> Aligned:
        """Return the loadings of a draw, shape (p, k), matched with those of the fit."""
        return align(V, self.refit.V, self.op, self.refit.kinds)

    @property
    def normal(self) -> bool:
        """Whether samples are drawn as those of normal rows."""
        return isinstance(self.sampler, CovarianceSampler)


@dataclass(frozen=True, eq=False)
class SampleFits(ABC):
    """The job of fitting the samples with given numbers, which is sent to other processes."""

    given: Resampling

    @abstractmethod
    def samples(self, rng: np.random.Generator, number: int) -> list[Operator]:
        """Return the samples with a number."""

    @abstractmethod
    def kept(self, sample: Operator, aligned: Aligned) -> tuple[np.ndarray, ...]:
        """Return the parts of the fit of a sample that are stored."""

    def __call__(self, numbers: Sequence[int]) -> list[tuple[list[Any], int]]:
        """Return for each number what is stored of its samples, and how many samples failed before them."""
        drawn = [attempted(partial(self._begun, draw_generator(self.given.seed, i), i)) for i in numbers]
        ops, begun = zip(*(one for samples, _ in drawn for one in samples), strict=True)
        fits = zip(ops, self.given.refit.ended(ops, begun), strict=True)
        kept = (self.kept(op, self.given.aligned(V)) for op, V in fits)
        return [(list(islice(kept, len(samples))), again) for samples, again in drawn]

    def _begun(self, rng: np.random.Generator, number: int) -> list[tuple[Operator, Sequence[np.ndarray]]]:
        return [(op, self.given.refit.begun(op, rng)) for op in self.samples(rng, number)]

    def run(self, n: int, what: str, unit: str = "draws") -> Finished:
        """Fit the samples with the numbers below n."""
        together = self.given.refit.together or 1
        return run_jobs(self, n, n_jobs=self.given.n_jobs, what=what, unit=unit, together=together)


def by_place(
    reference: np.ndarray, places: Sequence[np.ndarray], values: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places that are nonzero in some fit, shape (m,), and the values of every fit there.

    Parameters
    ----------
    reference : ndarray of shape (p, k)
        Loadings whose nonzero places are among them.
    places, values : sequences of ndarray
        Places of the nonzero loadings of each fit in V.T, flattened, and their values.
    """
    every = np.unique(np.concatenate([np.flatnonzero(reference.T), *places]))
    table = np.zeros((len(places), len(every)), dtype=values[0].dtype)
    for row, at, value in zip(table, places, values, strict=True):
        row[np.searchsorted(every, at)] = value
    return every, table
