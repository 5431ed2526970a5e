"""Repeat draws of samples that cannot be fitted, and count them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from spcastat.errors import ComponentsError, ConstantColumnError, DataError, MissingValuesError

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
