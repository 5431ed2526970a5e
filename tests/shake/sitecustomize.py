"""Results of linear algebra as another processor or another BLAS would round them, for the tests.

    PYTHONPATH=tests/shake SHAKE_SEED=1 pytest -n auto

Python imports this module when it starts if the folder is on PYTHONPATH, so that the processes that tests
start are shaken as well. Each number that a routine below returns is multiplied by 1 + SHAKE * eps * e, with
e standard normal and eps the machine's precision. SHAKE is 4 unless the environment has another value, and
SHAKE_SEED selects the errors. A test that fails only with them depends on bits that processors do not share.

What holds on every processor holds here:

- Equal calls give equal results, in all processes.
- Whole numbers stay exact, and with them unit vectors and permutations.
- Data multiplied by a power of two give results multiplied by a power of two.
"""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

# The tests give each process one thread (tests/conftest.py). NumPy reads these when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.linalg

SIZE = float(os.environ.get("SHAKE", "4")) * np.finfo(float).eps
SEED = int(os.environ.get("SHAKE_SEED", "0"))

ROUTINES: list[tuple[ModuleType, str]] = [
    (np.linalg, "eigh eigvalsh svd svdvals qr cholesky solve inv lstsq pinv"),
    (scipy.linalg, "eigh eigvalsh eigh_tridiagonal svd svdvals qr cholesky cho_solve solve solve_triangular"),
    (scipy.linalg, "inv lstsq"),
]


def shaken(value: Any) -> Any:
    """Return a result with each of its arrays of floats shaken; everything else is returned as it is."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size:
        return shaken_array(value)
    if isinstance(value, tuple):
        items = [shaken(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def shaken_array(values: np.ndarray) -> np.ndarray:
    """Return the array with an error of a few units in the last place in each of its numbers."""
    if np.array_equal(values, np.round(values)):
        return values
    significands, _ = np.frexp(values)  # which a power of two does not change
    rng = np.random.default_rng([SEED, zlib.crc32(np.ascontiguousarray(significands).tobytes())])
    return values * (1 + SIZE * rng.standard_normal(values.shape))


def shaking(routine: Callable[..., Any]) -> Callable[..., Any]:
    """Return the routine with its results shaken."""

    @functools.wraps(routine)
    def call(*args: Any, **kwargs: Any) -> Any:
        return shaken(routine(*args, **kwargs))

    return call


for module, names in ROUTINES:
    for name in names.split():
        setattr(module, name, shaking(getattr(module, name)))
