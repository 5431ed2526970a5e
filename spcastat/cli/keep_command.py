"""``spcastat keep``: which variables to keep."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from spcastat.cli.fit_command import component_and_name, fitting_arguments, group_and_name, prepare, save
from spcastat.cli.input_tables import BUNDLED, DATA
from spcastat.cli.output_files import (
    csv_separator,
    csv_text,
    given_of,
    output,
    printed,
    refuse_overlap,
    require_picture,
    save_figure,
)
from spcastat.errors import OptionError
from spcastat.fit.archive import write_bytes

if TYPE_CHECKING:
    from spcastat.results.principal_variables import PrincipalVariablesResult

KEEP_EXAMPLES = """\
examples:
  spcastat keep trees.csv --m 6 --k 3 --scale
  spcastat keep trees.csv --k 3 --share 0.95 --scale --report keep.html
  spcastat keep sensors.csv --budget 100 --cost lab=30 --cost camera=12 --include age
  spcastat keep items.csv --m 8 --scale --out kept.csv --save kept.spca
  spcastat keep correlations.csv --covariance --m 4
"""
#: Options that are passed on if they are given.
_PASSED_OPTIONS = ("m", "k", "share", "budget", "folds", "n_resamples")


def cost(text: str) -> tuple[str, float]:
    """Read ``lab=30`` as the cost 30 of the variable lab."""
    name, equals, value = text.rpartition("=")
    try:
        if equals and name:
            return name, float(value)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} was given; it takes a name and a number: lab=30")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat keep``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA + "; or a bundled data set: " + ", ".join(BUNDLED))
    add("--m", type=int, help="number of variables to keep")
    add("--k", type=int, help="number of scores that reproduce all variables; by default as many as are kept")
    add("--share", type=float, help="in place of --m: part of PCA's held-out share to keep: 0.95")
    add("--budget", type=float, help="in place of --m: the largest total cost of the variables kept")
    add("--cost", type=cost, action="append", metavar="NAME=COST", help="a cost; others are 1; repeatable")
    for name, verb in (("include", "is kept in any case"), ("exclude", "is not kept")):
        about = f"a variable or group that {verb}; may be repeated"
        add(f"--{name}", type=component_and_name, action="append", metavar="NAME", help=about)
    about = "columns of a group, or of a term, are kept or left together; may be repeated"
    add("--together", type=group_and_name, action="append", metavar="terms|GROUP=NAME", help=about)
    add("--folds", type=int, metavar="N", help="folds of the rows for held-out shares (5); 0 for none")
    add("--n-resamples", type=int, metavar="N", help="resamples for frequencies (50); 0 for none")
    add("--plot", metavar="OUT.png", help="draw the share against the number of variables")
    add("--out", metavar="OUT.csv", help="write the table of variables kept")
    add("--report", metavar="OUT.html", help="write a page with tables and plots; for Word with OUT.docx")
    add("--save", metavar="OUT.spca", help="store the choice in a file, for show and plot")
    fitting_arguments(parser)


def rules(args: argparse.Namespace) -> dict[str, Any]:
    """Return costs and rules as options of the choice."""
    options: dict[str, Any] = {}
    if args.cost:
        options["cost"] = dict(args.cost)
        if len(options["cost"]) < len(args.cost):
            raise OptionError("--cost names a variable twice; give one cost for each.")
    for name in ("include", "exclude"):
        pairs = getattr(args, name) or []
        if pairs:
            options[name] = [
                f"{component}={variable}" if component else variable for component, variable in pairs
            ]
    groups: dict[str, list[str]] = {}
    for group, variable in args.together or []:
        groups.setdefault(group, []).append(variable)
    if groups:
        options["together"] = "terms" if list(groups) == [""] else groups
    return options


def shown(plan: PrincipalVariablesResult, kind: str, args: argparse.Namespace) -> str:
    """Return saved principal variables as text, or write them in a format; see ``spcastat show``."""
    of_loadings = [f"--{name}" for name in given_of(args) if name != "max_rows"]
    if of_loadings:
        raise OptionError(
            f"{' and '.join(of_loadings)} was given, which is for loadings, and {args.fit} has variables to "
            "keep; leave it out."
        )
    if args.report:
        plan.report(args.report, title=f"Variables to keep in {args.fit}", call=args.line)
    return output(plan, [], kind, args)


def run(args: argparse.Namespace) -> str:
    """Choose, write the requested files, and return the text to print."""
    files = {"--plot": args.plot, "--out": args.out, "--report": args.report, "--save": args.save}
    refuse_overlap([args.data], files)
    require_picture(args.plot)
    separator = csv_separator(args.out or "")
    from spcastat import selection

    data, is_covariance, options = prepare(args)
    options |= given_of(args, _PASSED_OPTIONS) | rules(args)
    choose: Any = selection.principal_variables_cov if is_covariance else selection.principal_variables
    plan = choose(data, **options)
    if args.save:
        save(plan, args, scores=False)
    if args.plot:
        save_figure(args.plot, lambda ax: plan.plot(ax=ax))
    if args.out:
        write_bytes(args.out, csv_text(plan.variables, labelled=True, separator=separator).encode())
    if args.report:
        plan.report(args.report, title=f"Variables to keep of {args.data}", call=args.line)
    return printed(str(plan))
