"""The command ``spcastat``: fit, choose and plot; print saved fits, and apply them to new data.

Each subcommand is a `Command`: its help, the function that adds its arguments, and the function that runs
it. To add one, write the two functions and add a line to ``COMMANDS``. Only options given by the user are
passed on, so all defaults are defined in `spcastat.api`.
"""

from __future__ import annotations

import argparse
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from spcastat.arguments import nearest, warnings_told
from spcastat.cli import commands, fit_command
from spcastat.cli.input_tables import BUNDLED
from spcastat.cli.output_files import discard_output, errors_of_output, require_output, show, tell
from spcastat.cli.wording import for_command
from spcastat.errors import ColumnTypeError, SpcaError
from spcastat.version import __version__

_EXIT_CODES = """
exit codes:
  0  done    1  an error, reported in one line on standard error    2  the command line is not understood
  130  interrupted (Ctrl-C)   143  terminated (SIGTERM)
  (1 without a message if the reader of the output, such as head, has closed it)
files:
  An input file is never overwritten, by any path or link. An output file is replaced once it is complete.
"""
_COMMAND_HINTS: dict[type[SpcaError], str] = {
    # Messages of the package name Python options. These hints name the corresponding options of the command.
    ColumnTypeError: " (--columns or --drop choose the columns, --index-col the row labels; --sep, --decimal "
    "and --na-values describe how values are written.)",
}


@dataclass(frozen=True)
class Command:
    """A subcommand: its help, a function that adds arguments, a function that returns text, and examples."""

    about: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], str]
    examples: str = ""


COMMANDS = {
    "fit": Command(
        "fit a sparse PCA and print it", fit_command.arguments, fit_command.run, fit_command.FIT_EXAMPLES
    ),
    "choose": Command(
        "choose how many components and how sparse, and fit them",
        commands.choose_arguments,
        commands.choose,
        commands.CHOOSE,
    ),
    "keep": Command("choose which variables to keep", commands.keep_arguments, commands.keep, commands.KEEP),
    "show": Command("print a saved fit", commands.show_arguments, commands.show, commands.SHOW),
    "plot": Command("draw a figure of a fit", commands.plot_arguments, commands.plot, commands.PLOT),
    "transform": Command(
        "compute scores of new rows by a saved fit, as CSV",
        commands.transform_arguments,
        commands.transform,
        commands.TRANSFORM,
    ),
}


#: Commands that were removed, and what to use instead.
REMOVED_COMMANDS = {
    "explore": "write the page in Python by spca_path(data, k).explore(path)",
    "groups": "call compare_groups(data, groups, k) in Python",
    "methods": "call methods() in Python, and give one of its names as --method",
    "datasets": f"give a data set by name: {', '.join(BUNDLED)}",
    "verify": "run fit.certify() in Python, which computes the bounds from the data",
}


# --- the command itself -------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser whose errors end with the command for help instead of a list of all options."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\nusage: {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    settings: dict[str, Any] = {
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }
    parser = _Parser(
        prog="spcastat",
        description="Sparse principal component analysis for statisticians.",
        epilog=fit_command.FIT_EXAMPLES + "  spcastat COMMAND --help\n" + _EXIT_CODES,
        **settings,
    )
    parser.add_argument("--version", action="version", version=f"spcastat {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        about = command.about[0].upper() + command.about[1:] + "."
        epilog = command.examples + _EXIT_CODES
        subparser = commands.add_parser(
            name, help=command.about, description=about, epilog=epilog, **settings
        )
        subparser.set_defaults(parser=subparser)
        command.arguments(subparser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` and return the exit code.

    Returns
    -------
    int
        0 after success; 1 for an error of the package or a file that cannot be read or written, reported in
        one line on standard error (not reported if the reader of standard output has closed it); 2 for an
        invalid command line; 130 if interrupted; 143 if ended by SIGTERM, with the processes of --jobs.
    """
    has_default_handler = (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )  # otherwise the program that calls main() handles the signal
    if has_default_handler and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except SpcaError as error:
        tell("error", in_words(f"{error}{_COMMAND_HINTS.get(type(error), '')}"))
    except BrokenPipeError:  # the reader, such as head, has closed the pipe: exit silently, as is usual
        discard_output()
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        tell("error", f"there is not enough memory{reason}; use fewer rows, columns or components.")
    except OSError as error:  # an error of a disk or a library that is not about a file of the user
        tell("error", f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        tell("error", "interrupted.")
        return 130
    return 1


def in_words(message: str) -> str:
    """Return a message of the package with the command's options in place of Python's arguments."""
    options: list[str] = []
    for command in COMMANDS.values():
        parser = argparse.ArgumentParser()
        command.arguments(parser)
        options += [name for action in parser._actions if action.nargs != 0 for name in action.option_strings]
    valued = {name.removeprefix("--").replace("-", "_") for name in options}
    return for_command(message, valued, commands.plot_options())


def _end(number: int, frame: object) -> None:
    """Exit normally, so that workers end and temporary files are removed; the default ends at once."""
    signal.signal(number, signal.SIG_IGN)  # a second signal would disturb the end
    sys.exit(128 + number)


def _run(argv: Sequence[str]) -> int:
    parser = _parser()
    try:
        if argv and argv[0] in REMOVED_COMMANDS:
            parser.error(f"the command {argv[0]} was removed: {REMOVED_COMMANDS[argv[0]]}.")
        with errors_of_output():  # printing the help can fail if output is not buffered
            args, unknown = parser.parse_known_args(argv)
        if unknown:
            options = re.findall(r"--[\w-]+", args.parser.format_help())
            hint = nearest(unknown[0], options, used=argv)
            args.parser.error(f"unrecognized arguments: {' '.join(unknown)}.{hint}")
    except SystemExit as stop:  # argparse has printed the help, the version or the usage
        code = int(stop.code or 0)
        if code == 0:
            show("", end="")
        return code
    args.line = shlex.join(["spcastat", *argv])
    require_output()
    with warnings_told(lambda message: tell("warning", in_words(message))):
        show(COMMANDS[args.command].run(args))
    return 0
