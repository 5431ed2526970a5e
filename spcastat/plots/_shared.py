"""What every plot needs: axes to draw on, components by number or name, names that fit, colours."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.config import elements, is_whole, listed, shown
from spcastat.errors import ComponentsError, DataError, OptionError
from spcastat.intake.checks import frame_values, real_array
from spcastat.labels import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The colours of Okabe and Ito, told apart with any colour vision; yellow is left out, black comes last.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000")

#: Their number has no divisor in common with that of the colours: 56 pairs before one comes again.
MARKERS = ("o", "^", "s", "v", "D", "P", "X", "*")

BLUE, ORANGE, INK = PALETTE[0], PALETTE[3], "#222222"


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure of pyplot with that size in inches."""
    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise OptionError(
            f"ax of type {type(ax).__name__} was given; it must be one matplotlib Axes, such as the second "
            "value of plt.subplots(), or None for a new figure."
        )
    return ax


def settle(ax: Axes) -> None:
    """Give `ax` the place on its figure that it will be drawn in, so that extents can be measured."""
    figure = ax.get_figure(root=True)
    engine = None if figure is None else figure.get_layout_engine()
    if figure is not None and engine is not None:
        engine.execute(figure)
    ax.apply_aspect()


def frame_of(loadings: pd.DataFrame, what: str = "loadings") -> NDArray[np.float64]:
    """Return the values of a frame, or say that it is none."""
    values = frame_values(loadings, what)
    if what == "loadings" and not np.isfinite(values).all():
        raise DataError(f"{int((~np.isfinite(values)).sum())} loadings are missing or infinite.")
    return values


def positions(components: Sequence[Any], names: Sequence[Hashable]) -> list[int]:
    """Return the places of components given by number, counted from one, or by name."""
    found = []
    for component in elements(components, len(names)):
        if is_whole(component) and 1 <= int(component) <= len(names):
            found.append(int(component) - 1)
        elif isinstance(component, str) and component in names:
            found.append(list(names).index(component))
        else:
            raise ComponentsError(
                f"The component {shown(component)} was asked for; there are {len(names)}: give numbers from "
                "1 to "
                f"{len(names)} or the names {listed(names)}."
            )
    if not found or len(set(found)) < len(found):
        raise ComponentsError(f"components={shown(components)} was given; name one or more, each once.")
    return found


def axis_names(components: Sequence[Any], shares: Any) -> list[str]:
    """Return the names of components for axes, with their shares of the variance where these are given.

    Raises
    ------
    OptionError
        `shares` is not a Series of numbers by components.
    """
    names = [short_name(name) for name in components]
    if shares is None:
        return names
    numbers = real_array(shares) if isinstance(shares, pd.Series) else None
    if numbers is None or not shares.index.is_unique:
        raise OptionError(
            f"shares of type {type(shares).__name__} was given; it must be a Series of numbers, "
            "labelled by the "
            "names of the components."
        )
    known = dict(zip(shares.index, numbers.tolist(), strict=True))
    return [
        f"{name} ({100 * known[component]:.1f} %)" if component in known else name
        for name, component in zip(names, components, strict=True)
    ]


def value_text(value: float, digits: int = 2) -> str:
    """Return a loading with a true minus; a nonzero that rounds to zero as "<.01"."""
    text = f"{value:.{digits}f}"
    if value != 0 and not text.strip("-0."):
        text = ("-" if value < 0 else "") + "<." + "0" * (digits - 1) + "1"
    return text.replace("-", "−")


def correlation_text(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return the correlation of two columns of scores as "r = 0.12"; nothing where one is constant."""
    dx, dy = x - np.nanmean(x), y - np.nanmean(y)
    size = np.sqrt(np.nansum(dx**2) * np.nansum(dy**2))
    return "r = " + value_text(float(np.nansum(dx * dy) / size)) if size > 0 else ""
