"""Shell completion with argcomplete: eval "$(register-python-argcomplete spcastat)"."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

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
    """Tell argcomplete what the arguments of a parser and of its subcommands can be."""
    from argcomplete.completers import ChoicesCompleter, FilesCompleter

    from spcastat.datasets import BUNDLED

    def data(prefix: str, **_: object) -> list[str]:
        return [*FilesCompleter()(prefix), *(name for name in BUNDLED if name.startswith(prefix))]

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                prepare(command)
        elif action.dest in (known := names()):
            action.completer = ChoicesCompleter(tuple(known[action.dest]))  # type: ignore
        elif action.dest in ("data", "files"):
            action.completer = data  # type: ignore[attr-defined]


def names() -> dict[str, Iterable[str]]:
    """Return the names that arguments accept."""
    from spcastat.registry import SOLVERS
    from spcastat.search.settings import EFFORTS, OBJECTIVES, PROMISES

    return {
        "method": SOLVERS,
        "methods": SOLVERS,
        "objective": OBJECTIVES,
        "effort": EFFORTS,
        "promise": PROMISES,
        "kind": KINDS,
        "by": ("cv", "ebic", "bic", "is", "variance"),
        "rule": ("worth", "1se", "paired", "min"),
        "each": ("auto", "equal", "free"),
    }
