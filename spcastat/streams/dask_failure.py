"""Convert errors in the computation of a partition to errors of the package."""

from __future__ import annotations

from spcastat.errors import DataError, FileError, SpcaError


def failure(error: BaseException, name: str) -> Exception:
    """Return an error of the package for an `error` in the computation of the partition called `name`."""
    if isinstance(error, (SpcaError, MemoryError)):
        return error
    distributed = type(error).__module__.partition(".")[0] == "distributed"
    lost = distributed or isinstance(error, (ConnectionError, TimeoutError))
    family = FileError if isinstance(error, OSError) and not lost else DataError
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return family(f"{name} cannot be computed: {reason}")
