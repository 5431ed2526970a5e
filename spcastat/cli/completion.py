"""Shell completion with argcomplete: eval "$(register-python-argcomplete spcastat)"."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable

from spcastat.cli.plot_command import KINDS


def complete(parser: argparse.ArgumentParser) -> None:
    """If the shell asks for completions, print them and exit; otherwise do nothing."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:  # no message, which would appear in the middle of the user's input
        return
    prepare(parser)
    argcomplete.autocomplete(parser)


def prepare(parser: argparse.ArgumentParser) -> None:
    """Set a completer for every argument of a parser and its subcommands that takes names or files."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                prepare(command)
        elif action.dest in NAMES:
            action.completer = _completer(NAMES[action.dest])  # type: ignore[attr-defined]
        elif action.dest in ("data", "files"):
            action.completer = _files  # type: ignore[attr-defined]


def _methods() -> Iterable[str]:
    from spcastat.registry import SOLVERS

    return SOLVERS


def _objectives() -> Iterable[str]:
    from spcastat.search.settings import OBJECTIVES

    return OBJECTIVES


def _promises() -> Iterable[str]:
    from spcastat.search.settings import PROMISES

    return PROMISES


def _efforts() -> Iterable[str]:
    from spcastat.search.settings import EFFORTS

    return EFFORTS


#: Argument -> function that returns the names it accepts.
NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "method": _methods,
    "methods": _methods,
    "objective": _objectives,
    "effort": _efforts,
    "kind": lambda: KINDS,
    "by": lambda: ("cv", "ebic", "bic", "is", "variance"),
    "rule": lambda: ("worth", "1se", "paired", "min"),
    "each": lambda: ("auto", "equal", "free"),
    "promise": _promises,
}


def _completer(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    def completer(prefix: str, **_: object) -> list[str]:
        return [name for name in names() if name.startswith(prefix)]

    return completer


def _files(prefix: str, **_: object) -> list[str]:
    """Return the files and bundled data sets whose names begin with `prefix`."""
    from argcomplete.completers import FilesCompleter

    from spcastat.datasets import BUNDLED

    return [*FilesCompleter()(prefix), *(name for name in BUNDLED if name.startswith(prefix))]
