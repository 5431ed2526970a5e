"""Errors that say where in a stream they happened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spcastat.errors import SpcaError


@contextmanager
def named(name: str) -> Iterator[None]:
    """Put the name of a chunk before the message of any error of the package that the block raises."""
    try:
        yield
    except SpcaError as error:
        raise type(error)(f"{name}: {error}") from error.__cause__
