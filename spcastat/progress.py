"""Progress of long work: functions report their stages, and a listener shows them.

Work is reported with :func:`stage`, which costs nothing without a listener. The listener is a context
variable, so that no function has to pass it on.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from spcastat.errors import OptionError

__all__ = ["Advance", "Listener", "Step", "listening", "stage"]

#: Seconds after which progress is shown if it was not requested.
PATIENCE = 3.0
#: Seconds after which the bar of a nested stage appears, so that bars of short stages do not flicker.
DELAY = 0.5


@dataclass(frozen=True)
class Step:
    """The state of a stage of work, with which a function given as ``progress=`` is called.

    Attributes
    ----------
    stage : str
        What is being done, such as ``"means and cross-products"``.
    done : int
    total : int or None
        None if it is not known beforehand.
    unit : str
        What is counted, in the plural: ``"rows"``, ``"chunks"``, ``"rounds"``.
    ended : bool
        Whether the stage has ended. A stage that ends with an error does not report it.
    depth : int
        0 for an outermost stage, 1 for one within it, and so on.
    """

    stage: str
    done: int
    total: int | None
    unit: str
    ended: bool = False
    depth: int = 0


Listener = Callable[[Step], Any]
Advance = Callable[[int], None]

_listener: ContextVar[Listener | None] = ContextVar("spcastat_progress", default=None)
_depth: ContextVar[int] = ContextVar("spcastat_progress_depth", default=0)


@contextmanager
def listening(progress: Any) -> Iterator[None]:
    """Report every stage in the block to `progress`.

    Parameters
    ----------
    progress : None, bool or callable
        True shows bars on stderr; a callable is called with each :class:`Step`, and may raise an exception
        to end the work. None shows bars for work that takes longer than PATIENCE seconds, if stderr is a
        terminal or a notebook and the environment variable SPCASTAT_PROGRESS is not 0. Inside another such
        block, None and False have no effect.

    Raises
    ------
    OptionError
        For anything else.
    """
    if progress is False or (progress is None and (_listener.get() is not None or not _watched())):
        yield
        return
    if progress is not None and progress is not True and not callable(progress):
        raise OptionError(
            f"progress of type {type(progress).__name__} was given; it must be True, False, None, or a "
            "function that takes a step (with stage, done, total and unit)."
        )
    display = None if callable(progress) else _Bars(0.0 if progress else PATIENCE)
    heard = _listener.set(display or progress)
    depth = _depth.set(0)
    try:
        yield
    finally:
        _depth.reset(depth)
        _listener.reset(heard)
        if display is not None:
            display.close_below(0)  # bars that an error left open


@contextmanager
def stage(name: str, total: int | None = None, unit: str = "steps") -> Iterator[Advance]:
    """Report a stage of work; the block gets a function to call with the amount done since the last call.

    Parameters
    ----------
    name : str
    total : int, optional
        The total amount of work, if known.
    unit : str
        What is counted.
    """
    listener = _listener.get()
    if listener is None:
        yield lambda count: None
        return
    count_done, depth = 0, _depth.get()

    def advance(count: int) -> None:
        nonlocal count_done
        count_done += count
        listener(Step(name, count_done, total, unit, depth=depth))

    listener(Step(name, 0, total, unit, depth=depth))
    token = _depth.set(depth + 1)
    try:
        yield advance
    finally:
        _depth.reset(token)
    listener(Step(name, count_done, total, unit, ended=True, depth=depth))


def _watched() -> bool:
    """Return whether stderr is a terminal or a notebook, and SPCASTAT_PROGRESS is not 0."""
    if os.environ.get("SPCASTAT_PROGRESS") == "0":
        return False
    try:
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return "ipykernel" in sys.modules


def _size() -> dict[str, int]:
    """Return the usual size for a terminal that reports a width of zero, in which tqdm would show no bar."""
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    except (AttributeError, ValueError, OSError):  # no terminal
        return {}
    return {} if width else {"ncols": 80, "nrows": 24}


class _Bars:
    """A tqdm bar for each stage; bars of nested stages are below, and disappear when these end.

    Parameters
    ----------
    patience : float
        Seconds after which bars appear, for all stages that are then in progress.
    """

    def __init__(self, patience: float):
        self._from = time.monotonic() + patience
        self._stages: list[tuple[Step, Any]] = []

    def __call__(self, step: Step) -> None:
        depth = step.depth
        is_open = len(self._stages) > depth and self._stages[depth][0].stage == step.stage
        self.close_below(depth + is_open)  # a stage that an error ended has not reported its end
        bar = self._stages.pop()[1] if is_open else None
        self._stages.append((step, bar))
        if time.monotonic() >= self._from:
            self._show()
        if step.ended:
            self.close_below(depth)

    def _show(self) -> None:
        """Update the bars of all stages in progress, creating those that do not exist yet."""
        from tqdm import tqdm

        for i, (step, bar) in enumerate(self._stages):
            if bar is None:
                bar = tqdm(
                    total=step.total,
                    desc=step.stage,
                    unit=f" {step.unit}",
                    file=sys.stderr,
                    **_size(),
                    leave=step.depth == 0,
                    delay=DELAY if step.depth else 0,
                    # seconds between updates: more in a file or a pipe, where each update is a line
                    mininterval=0.1 if _watched() else 2.0,
                )
                self._stages[i] = step, bar
            bar.update(step.done - bar.n)

    def close_below(self, depth: int) -> None:
        while len(self._stages) > depth:
            bar = self._stages.pop()[1]
            if bar is not None:
                bar.close()
