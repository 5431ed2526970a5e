"""Why a partition cannot be computed, as an error of the package."""

from __future__ import annotations

from spcastat.errors import DataError, FileError, SpcaError


def failure(error: BaseException, name: str) -> Exception:
    """Return an error of the package for whatever `error` kept a partition from being computed."""
    if isinstance(error, (SpcaError, MemoryError)):
        return error
    lost = isinstance(error, (ConnectionError, TimeoutError)) or _from_distributed(error)
    family = FileError if isinstance(error, OSError) and not lost else DataError
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return family(f"{name} cannot be computed: {reason}")


def _from_distributed(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "distributed"
