"""Draws on which no fit is possible are drawn anew, and counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from spcastat.errors import ComponentsError, ConstantColumnError, DataError, MissingValuesError

Found = TypeVar("Found")

#: Samples that are tried for one draw.
ATTEMPTS = 100


def attempted(draw: Callable[[], Found]) -> tuple[Found, int]:
    """Return what a draw gives, and how many samples were drawn before it that cannot be fitted.

    Those have a rank below k, a column without variation that is to be scaled, or, with gaps, one
    without variation or without any value.

    Raises
    ------
    DataError
        Where 100 samples running cannot be fitted.
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
