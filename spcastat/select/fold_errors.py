"""The cross-validated error of a fit: its method is applied to the rows outside each fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.resample import draw_generator, run_jobs
from spcastat.resample.folds import Folds
from spcastat.resample.refit import Refit
from spcastat.resample.sparse_model import SparseModel
from spcastat.select.crossvalidation import Errors


@dataclass(frozen=True, eq=False)
class _Work:
    """The computation for some of the folds."""

    folds: Folds
    refit: Refit
    seed: int

    def __call__(self, numbers: Sequence[int]) -> list[tuple[float, float, float]]:
        parted = [self.folds.split(number) for number in numbers]
        ops = [op for op, _ in parted]
        rngs = [draw_generator(self.seed, number) for number in numbers]
        begun = [self.refit.begun(op, rng) for op, rng in zip(ops, rngs, strict=True)]
        found = []
        for V, (op, held) in zip(self.refit.ended(ops, begun), parted, strict=True):
            error = float(held.press([SparseModel.of(V, op)])[0])
            found.append((error, float(held.squares.sum()), held.weight))
        return found


def held_out(folds: Folds, refit: Refit, *, seed: int, n_jobs: int = 1) -> Errors:
    """Return the cross-validated errors of one method.

    Parameters
    ----------
    folds : Folds
    refit : Refit
    seed : int
        Seed for methods with random numbers.
    n_jobs : int

    Raises
    ------
    KeyboardInterrupt
        If the computation is interrupted.
    """
    work = _Work(folds, refit, seed)
    n = folds.count * folds.repeats
    together = refit.together or 1
    found = run_jobs(work, n, n_jobs=n_jobs, what="held-out error", unit="folds", together=together)
    if found.interrupted:
        raise KeyboardInterrupt
    press, mean, weight = (
        np.array(part).reshape(folds.repeats, folds.count) for part in zip(*found.results, strict=True)
    )
    return Errors(press[:, :, None], mean, weight)
