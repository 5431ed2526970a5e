"""The decorator of all plots, which makes a plot and a table function of one generator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
T = TypeVar("T")
Table = TypeVar("Table", covariant=True)


class Plot(Protocol[P, Table]):
    """A plot: calling it draws and returns the axes; its method `data` returns the table without drawing."""

    __name__: str

    def __call__(self, *args: P.args, **options: P.kwargs) -> Axes: ...

    def data(self, *args: P.args, **options: P.kwargs) -> Table: ...


def plot(steps: Callable[P, Generator[T, None, Axes]]) -> Plot[P, T]:
    """Decorate a generator function that first yields the table of a plot, then draws and returns the axes.

    The generator must check all options before it yields, so that `data` raises the same errors as the plot.
    `data` takes the parameters of the plot except `ax`.
    """

    @functools.wraps(steps)
    def draw(*args: P.args, **options: P.kwargs) -> Axes:
        drawing = steps(*args, **options)
        next(drawing)
        try:
            next(drawing)
        except StopIteration as end:
            return cast("Axes", end.value)
        raise AssertionError(f"{steps.__name__} yields more than one table")

    signature = inspect.signature(steps)
    draw.__signature__ = signature.replace(return_annotation="Axes")  # type: ignore[attr-defined]
    draw.data = table_of(draw, lambda *args, **options: next(steps(*args, **options)))  # type: ignore[attr-defined]
    return cast("Plot[P, T]", draw)


def table_of(draw: Callable[..., Any], make: Callable[..., Any]) -> Callable[..., Any]:
    """Return `make` as a function ``<plot>_data``, with the signature of the plot `draw` without `ax`."""

    def data(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        return make(*bound.args, **bound.kwargs)

    name, whole = draw.__name__, inspect.signature(draw)
    kept = [one for one in whole.parameters.values() if one.name != "ax"]
    signature = whole.replace(parameters=kept, return_annotation=inspect.Signature.empty)
    data.__name__ = f"{name}_data"
    data.__qualname__ = f"{draw.__qualname__}_data"
    data.__module__ = draw.__module__
    data.__doc__ = f"Return the table that `{name}` draws, with the same parameters."
    data.__signature__ = signature  # type: ignore[attr-defined]
    return data
