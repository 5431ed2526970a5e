"""Add the name of a chunk to error messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spcastat.errors import SpcaError


@contextmanager
def named(name: str) -> Iterator[None]:
    """Prefix errors of the package that are raised in the ``with`` block by the name of a chunk."""
    try:
        yield
    except SpcaError as error:
        raise type(error)(f"{name}: {error}") from error.__cause__
