"""Opening of rows or a covariance matrix for `choose` and `choose_k`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from spcastat.config import flag, nearest
from spcastat.engine.inputs import Opened, open_covariance, open_rows
from spcastat.errors import UnknownOptionError
from spcastat.intake import ReadOptions, looks_like_covariance

#: Arguments for centre and scale of rows.
SCALING = ("center", "scale", "blocks")
ROWS = (*(one.name for one in fields(ReadOptions)), *SCALING)
COVARIANCE = ("n_obs", "mean", "scale", "blocks", "nearest", "given")


def opened(
    data: Any, covariance: bool | None, options: Mapping[str, Any], function: Any, k: int = 1
) -> tuple[Opened, bool, dict[str, Any]]:
    """Open data; also return whether they are a covariance matrix, and the options that describe them."""
    if covariance is None:
        covariance = options.get("formula") is None and looks_like_covariance(data)
    names = COVARIANCE if flag("covariance", covariance) else ROWS
    described = {name: value for name, value in options.items() if name in names}
    further = [name for name in options if name not in names]
    if function is not None and further:
        raise UnknownOptionError(
            f"{function.__name__}() has no option {further[0]}; it takes {', '.join(names)}"
            f"{' for a covariance matrix' if covariance else ' for rows'}, in addition to its own options."
            f"{nearest(further[0], names)}"
        )
    if covariance:
        return open_covariance(data, **described), True, described
    reading = ReadOptions(**{name: described[name] for name in described if name not in SCALING})
    how = {name: described[name] for name in SCALING if name in described}
    rows = open_rows(data, reading, k=k, **how)
    if rows.context is not None:
        described["context"] = rows.context
    return rows, False, described
