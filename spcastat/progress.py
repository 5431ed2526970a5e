"""Progress of long work: the layers below tell what they do, and whoever listens shows it.

Work announces itself with :func:`stage`; without a listener that costs nothing. The listener is a context
variable, so that no solver has to hand it on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from spcastat.errors import OptionError

__all__ = ["Advance", "Listener", "Step", "listening", "stage"]

#: Plain lines come this many seconds apart, at most.
INTERVAL = 2.0
#: Seconds after which work that nobody asked to see is shown.
PATIENCE = 3.0
#: Seconds after which the bar of a stage within another appears, so that short ones do not flicker.
DELAY = 0.5


@dataclass(frozen=True)
class Step:
    """How far a piece of work is: what a function given as ``progress=`` is called with.

    Attributes
    ----------
    stage : str
        What is being done, such as ``"means and cross-products"``.
    done : int
    total : int or None
        None where nobody knows beforehand.
    unit : str
        What is counted, in the plural: ``"rows"``, ``"chunks"``, ``"rounds"``.
    ended : bool
        Whether this is the last word on the stage. A stage that an error ends has none.
    depth : int
        0 for a stage of its own, 1 for one within another, and so on.
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
    """Let `progress` hear of every stage in the block.

    Parameters
    ----------
    progress : None, bool or callable
        True shows a bar (tqdm where that is installed, plain lines to stderr otherwise); a callable is
        called with a :class:`Step`, and may raise to end the work. None shows what takes longer than PATIENCE
        seconds, where stderr is a terminal or a notebook; within a block that listens already, None and
        False change nothing.

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
    display: _Bars | _Lines | _Late | None = None
    if progress is None:
        display = _Late(_display())
    elif progress is True:
        display = _display()
    heard = _listener.set(display or progress)
    depth = _depth.set(0)
    try:
        yield
    finally:
        _depth.reset(depth)
        _listener.reset(heard)
        if display is not None:
            display.close()


@contextmanager
def stage(name: str, total: int | None = None, unit: str = "steps") -> Iterator[Advance]:
    """Announce work; the block is given a function that it calls with how much more is done.

    Parameters
    ----------
    name : str
    total : int, optional
        How much there is to do, where that is known.
    unit : str
        What is counted.
    """
    listener = _listener.get()
    if listener is None:
        yield _nobody_listens
        return
    done, depth = 0, _depth.get()

    def advance(count: int) -> None:
        nonlocal done
        done += count
        listener(Step(name, done, total, unit, depth=depth))

    listener(Step(name, 0, total, unit, depth=depth))
    token = _depth.set(depth + 1)
    try:
        yield advance
    finally:
        _depth.reset(token)
    listener(Step(name, done, total, unit, ended=True, depth=depth))


def _nobody_listens(count: int) -> None:
    """Do nothing."""


def _display() -> _Bars | _Lines:
    try:
        from tqdm import tqdm
    except ImportError:
        return _Lines()
    return _Bars(tqdm)


def _watched() -> bool:
    """Return whether somebody sees what is written to stderr: in a terminal or a notebook."""
    try:
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return False


class _Late:
    """A display that begins after PATIENCE seconds, with the stages that are then under way."""

    def __init__(self, display: _Bars | _Lines):
        self._display = display
        self._begun = time.monotonic()
        self._under_way: dict[int, Step] = {}
        self._shown = False

    def __call__(self, step: Step) -> None:
        if not self._shown:
            self._under_way = {depth: one for depth, one in self._under_way.items() if depth < step.depth}
            if time.monotonic() - self._begun < PATIENCE or step.ended:
                if not step.ended:
                    self._under_way[step.depth] = step
                return
            self._shown = True
            for one in self._under_way.values():
                self._display(one)
        self._display(step)

    def close(self) -> None:
        """Close what an error left open."""
        self._display.close()


class _Bars:
    """One tqdm bar a stage; a stage within another has its bar below, which goes when the stage ends."""

    def __init__(self, bar: Any):
        self._bar = bar
        self._open: list[tuple[str, Any]] = []

    def __call__(self, step: Step) -> None:
        depth = step.depth
        known = len(self._open) > depth and self._open[depth][0] == step.stage
        self._close_below(depth + known)  # what an error ended has said no last word
        if not known:
            bar = self._bar(
                total=step.total,
                desc=step.stage,
                unit=f" {step.unit}",
                file=sys.stderr,
                leave=depth == 0,
                delay=DELAY if depth else 0,
            )
            self._open.append((step.stage, bar))
        bar = self._open[-1][1]
        bar.update(step.done - bar.n)
        if step.ended:
            self._close_below(depth)

    def close(self) -> None:
        """Close what an error left open."""
        self._close_below(0)

    def _close_below(self, depth: int) -> None:
        while len(self._open) > depth:
            self._open.pop()[1].close()


class _Lines:
    """A line to stderr now and then, and one at the end of each stage that is not a short part of another."""

    def __init__(self) -> None:
        self._last: dict[int, float] = {}
        self._shown: set[int] = set()

    def __call__(self, step: Step) -> None:
        now, depth = time.monotonic(), step.depth
        if depth not in self._last or (step.done == 0 and not step.ended):
            self._last[depth] = now
            self._shown.discard(depth)
        due = now - self._last[depth] >= INTERVAL
        if due or (step.ended and (depth == 0 or depth in self._shown)):
            self._last[depth] = now
            self._shown.add(depth)
            of = "" if step.total is None else f" of {step.total:,}"
            print(
                f"{'  ' * depth}{step.stage}: {step.done:,}{of} {step.unit}{', done' if step.ended else ''}",
                file=sys.stderr,
                flush=True,
            )

    def close(self) -> None:
        """Nothing stays open."""
