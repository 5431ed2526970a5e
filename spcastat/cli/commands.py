"""The commands other than ``fit``: choices, saved fits, plots, and scores of new rows."""

from __future__ import annotations

import argparse
import inspect
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spcastat.arguments import MISSING_TREATMENTS, listed, nearest, one_of
from spcastat.cli import fit_command
from spcastat.cli.fit_command import (
    card,
    component_and_name,
    fitting_arguments,
    group_and_name,
    grouped,
    groups_argument,
    prepare,
    save,
)
from spcastat.cli.input_tables import (
    BUNDLED,
    DATA,
    as_fitted,
    columns_apart,
    is_saved_fit,
    names,
    read_new,
    reading_arguments,
)
from spcastat.cli.output_files import (
    csv_separator,
    csv_text,
    draws_of,
    format_of,
    given_of,
    output,
    output_arguments,
    printed,
    refuse_overlap,
    require_encodable,
    require_picture,
    save_figure,
    write_table_and_picture,
)
from spcastat.errors import FileError, OptionError
from spcastat.fit.archive import write_bytes
from spcastat.labels import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.cli.output_files import Fit
    from spcastat.results.principal_variables import PrincipalVariablesResult

# --- choose ---------------------------------------------------------------------------------------


CHOOSE = """\
examples:
  spcastat choose trees.csv --scale --report trees.html
  spcastat choose trees.csv --k 2 --cards 2-8 --by ebic --out choice.csv
  spcastat choose trees.csv --k 3 --rule paired --plot choice.png --save trees.spca
  spcastat choose pitprops
"""
#: The largest number of cardinalities that --cards may expand to.
MOST_CARDS = 100_000
#: Options that are passed on to `choose` if given.
_OF_CHOICE = ("k", "cards", "by", "rule", "share", "family", "least", "folds", "repeats", "n_jobs")


def cardinalities(text: str) -> list[Any]:
    """Read ``2-8``, ``2;5;9`` and ``4,4;5,4`` as cardinalities to try."""
    cards: list[Any] = []
    for part in text.split(";"):
        low, dash, high = (piece.strip() for piece in part.partition("-"))
        if not (dash and low.isdecimal() and high.isdecimal()):
            cards.append(card(part))
        elif max(len(low), len(high)) > 18 or int(high) - int(low) + len(cards) >= MOST_CARDS:
            raise argparse.ArgumentTypeError(
                f"{shorten(text, 60)!r} contains more than {MOST_CARDS:,} cardinalities; give fewer: "
                "5;10;20;50"
            )
        elif int(low) > int(high):
            raise argparse.ArgumentTypeError(f"{part.strip()!r} decreases; a range is written as 2-8")
        else:
            cards += range(int(low), int(high) + 1)
    return cards


def choose_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat choose``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA + "; or a bundled data set: " + ", ".join(BUNDLED))
    add(
        "--k",
        type=int,
        help="number of components; by default chosen by prediction and tests against noise",
    )
    add("--cards", type=cardinalities, metavar="A-B", help="cardinalities to choose from: 2-8, or 2;5;9")
    add("--by", metavar="NAME", help="cv (default with rows), ebic, bic, is or variance")
    add(
        "--rule",
        metavar="NAME",
        help="worth (default: no more loadings are worth adding), keep, 1se, paired or min",
    )
    add("--family", metavar="NAME", help="fits compared: auto (default), equal, rotated or partition")
    add("--least", type=float, help="least gain in prediction by a further component (0.2)")
    add("--folds", type=int, metavar="N", help="number of folds (5)")
    add("--repeats", type=int, metavar="N", help="divisions into folds (4 for small problems, else 1)")
    add("--share", type=float, help="share to keep, with --rule keep or --by variance (0.9)")
    add("--n-jobs", type=int, metavar="N", help="number of processes for the folds; -1 for all processors")
    add("--method", help="joint by default; methods() in Python lists all")
    fit_command.rule_arguments(parser)
    add("--plot", metavar="OUT.png", help="draw the criterion against the cardinality")
    add("--out", metavar="OUT.csv", help="write the table")
    add("--report", metavar="OUT.html", help="write a page with the choice, tables and plots")
    groups_argument(parser)
    add("--save", metavar="OUT.spca", help="store the fit in a file, for show, transform and plot")
    fitting_arguments(parser)


def choose(args: argparse.Namespace) -> str:
    """Choose and fit, write the requested files, and return the text to print."""
    output = {"--plot": args.plot, "--out": args.out, "--report": args.report, "--save": args.save}
    refuse_overlap([args.data], output)
    require_picture(args.plot)
    csv_separator(args.out or "")
    from spcastat import choosing

    table, of_rows = grouped(args)
    data, covariance, options = prepare(args, table)
    options |= given_of(args, _OF_CHOICE) | fit_command.rule(args)
    choice = choosing.choose(data, covariance=covariance, **options)
    if not choice.k:
        return printed(str(choice))
    if args.save:
        fit_command.save(choice.fit, args)
    write_table_and_picture(args, choice)
    if args.report:
        choice.report(args.report, title=f"Sparse PCA of {args.data}", call=args.line, groups=of_rows)
    return printed(f"{choice}\n\n{choice.fit}")


# --- show -----------------------------------------------------------------------------------------


SHOW = """\
examples:
  spcastat show trees.spca
  spcastat show trees.spca --sort --cut 0.1
  spcastat show trees.spca --out table.tex --caption 'Three components' --label tab:trees
  spcastat show trees.spca --report trees.html
"""


def show_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat show``."""
    add = parser.add_argument
    add("fit", metavar="FIT", help="a file that spcastat fit --save or fit.save() has written")
    add("--report", metavar="OUT.html", help="write a page with tables and plots; for Word with OUT.docx")
    output_arguments(parser)


def show(args: argparse.Namespace) -> str:
    """Return a saved fit, with the results of resampling that were saved with it, as text."""
    refuse_overlap([args.fit], {"--report": args.report, "--out": args.out})
    kind = format_of(args)
    from spcastat.results.fit import SpcaResult, load
    from spcastat.results.principal_variables import PrincipalVariablesResult

    if os.path.isfile(args.fit) and not is_saved_fit(args.fit):
        raise FileError(f"{args.fit} is not a saved fit; spcastat fit DATA --save FIT.spca writes one.")
    fit = load(args.fit)
    if isinstance(fit, PrincipalVariablesResult):
        return kept_variables(fit, kind, args)
    if args.report:
        subject = "Sparse PCA" if isinstance(fit, SpcaResult) else "Sparse loadings"
        fit.report(args.report, title=f"{subject} in {args.fit}", call=args.line, **given_of(args))
    return output(fit, list(draws_of(fit).values()), kind, args)


# --- plot ------------------------------------------------------------------------------------------


#: Plotting methods of a fit; `bootstrap` and `stability` plot the results of these methods.
PLOT_KINDS = (
    "biplot",
    "plot_correlations",
    "screeplot",
    "plot_loadings",
    "plot_scores",
    "plot_diagnostics",
    "bootstrap",
    "stability",
)
#: Plotting methods of principal variables.
KINDS_OF_VARIABLES = ("plot", "plot_represented")
PLOT = """\
examples:
  spcastat plot biplot trees.csv --k 2 --card 5 --groups species --out biplot.pdf
  spcastat plot biplot wine --k 2 --card 5 --scale --loadings --out biplot.png
  spcastat plot plot_loadings pitprops --k 6 --card 7,4,4,1,1,1 --set kind=table --out loadings.svg
  spcastat plot screeplot trees.spca --out scree.png --size 3.5x2.6 --dpi 600
  spcastat plot stability trees.csv --k 2 --card 5 --stability --out stability.pdf
  spcastat plot plot_represented kept.spca --out represented.pdf
The criterion of a choice is drawn by spcastat choose --plot.
"""
#: Options of plotting methods that cannot be given as text: axes and further data.
NOT_WORDS = ("ax", "new", "supplement")
_FIGURE_SIZE = re.compile(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)")


def plot_options() -> set[str]:
    """Return the names of the options of plotting methods."""
    from spcastat.results.fit import SpcaResult

    methods = [getattr(SpcaResult, kind) for kind in PLOT_KINDS if "plot" in kind]
    return {name for method in methods for name in inspect.signature(method).parameters}


def _size(text: str) -> tuple[float, float]:
    """Read ``6.4x4.4`` as a width and a height in inches."""
    match = _FIGURE_SIZE.fullmatch(text)
    if match is None or not all(0.5 <= float(side) <= 100 for side in match.groups()):
        raise argparse.ArgumentTypeError(
            f"{text!r} was given; it must be the width and height in inches, from 0.5 to 100: 6.4x4.4"
        )
    return float(match[1]), float(match[2])


def plot_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat plot``."""
    add = parser.add_argument
    add(
        "kind",
        metavar="KIND",
        help="the plotting method: " + ", ".join((*PLOT_KINDS, *KINDS_OF_VARIABLES)),
    )
    add("data", metavar="DATA | FIT", help=DATA + "; a bundled data set; or a saved fit")
    add("--out", metavar="OUT", required=True, help="the picture: .png, .svg, .pdf, ...")
    add("--k", type=int, help="number of components")
    fit_command.sparsity_arguments(parser)
    figure = parser.add_argument_group("the figure")
    figure.add_argument("--components", type=names, metavar="A,B,...", help="by number or name: 1,3")
    figure.add_argument("--groups", metavar="NAME", help="a column that colours rows, and is not fitted")
    figure.add_argument("--color", metavar="NAME", help="a column of numbers for a colour bar")
    figure.add_argument("--labels", action="store_true", help="name the rows")
    about = "any other option of the method: arrows=correlations"
    figure.add_argument(
        "--set", type=fit_command.named_value, action="append", metavar="NAME=VALUE", help=about
    )
    figure.add_argument("--size", type=_size, metavar="WxH", help="inches: 6.4x4.4")
    figure.add_argument("--dpi", type=int, metavar="N", help="dots per inch, for .png (300)")
    fit_command.resampling_arguments(parser)
    fitting_arguments(parser)


def plot(args: argparse.Namespace) -> str:
    """Fit the data or read a saved fit, draw the figure, and return a message."""
    kind = one_of("KIND", args.kind, (*PLOT_KINDS, *KINDS_OF_VARIABLES))
    refuse_overlap([args.data], {"--out": args.out})
    require_picture(args.out)
    if args.dpi is not None and not 10 <= args.dpi <= 2400:
        raise OptionError(f"--dpi {args.dpi} was given; it must be from 10 to 2400.")
    fit, columns = _saved(args) if is_saved_fit(args.data) else _fitted(args)
    drawing = _method(fit, kind)
    options = _options(args, kind, drawing, columns)
    save_figure(args.out, lambda ax: drawing(ax=ax, **options), args.size, args.dpi or 300)
    return f"{kind} written to {args.out}"


def _saved(args: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return a saved fit; raise for options that need data."""
    of_data = ["k", "card", "variance", "include", "exclude", "disjoint", "together", "method"]
    of_data += ["loadings", "groups", "color", "bootstrap", "stability"]
    needless = [f"--{name}" for name in of_data if getattr(args, name) not in (None, False)]
    if needless:
        raise OptionError(
            f"{', '.join(needless)} can be given for data only; {args.data} is a saved fit, which contains "
            "none."
        )
    from spcastat.results.fit import load

    return load(args.data), {}


def _fitted(args: argparse.Namespace) -> tuple[Fit, dict[str, Any]]:
    """Return a fit of the data, and the columns that colour its rows."""
    if args.kind in KINDS_OF_VARIABLES:
        raise OptionError(
            f"KIND {args.kind} draws a choice of variables: in place of the data, give a file written by "
            "spcastat keep DATA --m M --save FILE.spca."
        )
    fit_command.require_k(args)
    colouring = given_of(args, ("groups", "color"))
    table, columns = (None, {}) if not colouring else columns_apart(args, colouring)
    fit = fit_command.fit_of(args, *prepare(args, table))
    return fit_command.resample(fit, args)[0], columns


def _method(fit: Any, kind: str) -> Callable[..., Axes]:
    """Return a plotting method of a fit or, for "bootstrap" and "stability", of the resampling result."""
    from spcastat.results.principal_variables import PrincipalVariablesResult

    if isinstance(fit, PrincipalVariablesResult) != (kind in KINDS_OF_VARIABLES):
        kinds = KINDS_OF_VARIABLES if isinstance(fit, PrincipalVariablesResult) else PLOT_KINDS
        raise OptionError(f"KIND {kind} is not available for this file; choose one of {listed(kinds)}.")
    if kind not in ("bootstrap", "stability") and not hasattr(fit, kind):
        raise OptionError(
            f"{kind} is for sparse weights; a fit of sparse loadings has biplot, plot_loadings and bootstrap."
        )
    if kind not in ("bootstrap", "stability"):
        drawing: Callable[..., Axes] = getattr(fit, kind)
        return drawing
    resampling = draws_of(fit)
    if kind not in resampling:
        raise OptionError(f"KIND {kind} draws the results of --{kind}; give --{kind} as well.")
    of_draws: Callable[..., Axes] = resampling[kind].plot
    return of_draws


def _options(
    args: argparse.Namespace, kind: str, drawing: Callable[..., Axes], columns: dict[str, Any]
) -> dict[str, Any]:
    """Return the options of the plotting method; raise if one is unknown or given twice."""
    options: dict[str, Any] = dict(columns)
    if args.components is not None:
        options["components"] = [
            int(component) if component.isdecimal() else component for component in args.components
        ]
    if args.labels:
        options["labels"] = True
    for name, value in args.set or []:
        if name in options:
            raise OptionError(f"--set {name}=... was given twice with different values; give it once.")
        options[name] = value
    option_names = [name for name in inspect.signature(drawing).parameters if name not in NOT_WORDS]
    for name in options:
        if name not in option_names:
            raise OptionError(
                f"{kind} has no option {name}; it has {listed(option_names, 20) or 'none'}."
                f"{nearest(name, option_names, options)}"
            )
    return options


# --- transform ------------------------------------------------------------------------------------


TRANSFORM = """\
examples:
  spcastat fit trees.csv --k 2 --card 5 --save trees.spca
  spcastat transform trees.spca more.csv --out scores.csv
"""


def transform_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat transform``."""
    add = parser.add_argument
    add("fit", metavar="FIT", help="a file that spcastat fit --save has written")
    add("data", metavar="DATA", help=DATA + ", with the columns that the components use")
    add("--out", metavar="OUT.csv", help="file for the scores; standard output by default")
    about = (
        "missing values: refuse, drop their rows, expected scores (em), or no score (pairwise); by default "
        "em and pairwise if the fit used them, and otherwise refuse"
    )
    add("--na", choices=MISSING_TREATMENTS, help=about)
    reading_arguments(parser, columns=False)


def transform(args: argparse.Namespace) -> str:
    """Compute the scores of new rows; write them as CSV and return a message, or return the CSV."""
    refuse_overlap([args.fit, args.data], {"--out": args.out})
    separator = csv_separator(args.out or "")
    from spcastat.results.fit import load

    if os.path.isfile(args.fit) and not is_saved_fit(args.fit):
        raise FileError(f"{args.fit} is not a saved fit; the fit comes first, then the data.")
    fit = load(args.fit)
    as_fitted(args, fit._state.record.reading or {})
    scores = fit.transform(read_new(args), na=args.na)
    plain = scores.index.name is None and list(scores.index) == list(range(len(scores)))
    text = csv_text(scores, labelled=not plain, separator=separator)
    if args.out:
        write_bytes(args.out, text.encode())
        return f"{len(scores)} rows written to {args.out}"
    require_encodable(text)
    return text.removesuffix("\n")


# --- keep -----------------------------------------------------------------------------------------


KEEP = """\
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
    raise argparse.ArgumentTypeError(f"{text!r} was given; it accepts a name and a number: lab=30")


def keep_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat keep``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA + "; or a bundled data set: " + ", ".join(BUNDLED))
    add("--m", type=int, help="number of variables to keep")
    add("--k", type=int, help="number of scores for all variables; by default one for each variable kept")
    add("--share", type=float, help="in place of --m: fraction of PCA's held-out share, such as 0.95")
    add("--budget", type=float, help="in place of --m: the largest total cost of the variables kept")
    about = "the cost of a variable, 1 by default; may be repeated"
    add("--cost", type=cost, action="append", metavar="NAME=COST", help=about)
    for name, verb in (("include", "is always kept"), ("exclude", "is never kept")):
        about = f"a variable or group that {verb}; may be repeated"
        add(f"--{name}", type=component_and_name, action="append", metavar="NAME", help=about)
    about = "columns of a group, or of a term, are kept or left out together; may be repeated"
    add("--together", type=group_and_name, action="append", metavar="terms|GROUP=NAME", help=about)
    add("--folds", type=int, metavar="N", help="folds of the rows for held-out shares (5); 0 for none")
    add("--n-resamples", type=int, metavar="N", help="resamples for frequencies (50); 0 for none")
    add("--plot", metavar="OUT.png", help="draw the share against the number of variables")
    add("--out", metavar="OUT.csv", help="write the table of variables kept")
    add("--report", metavar="OUT.html", help="write a page with tables and plots; for Word with OUT.docx")
    add("--save", metavar="OUT.spca", help="store the choice in a file, for show and plot")
    fitting_arguments(parser)


def keep_rules(args: argparse.Namespace) -> dict[str, Any]:
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


def kept_variables(plan: PrincipalVariablesResult, kind: str, args: argparse.Namespace) -> str:
    """Return saved principal variables as text, or write them in a format; see ``spcastat show``."""
    of_loadings = [f"--{name}" for name in given_of(args) if name != "max_rows"]
    if of_loadings:
        raise OptionError(
            f"{' and '.join(of_loadings)} was given, which applies to loadings, but {args.fit} contains a "
            "choice of variables; leave it out."
        )
    if args.report:
        plan.report(args.report, title=f"Variables to keep in {args.fit}", call=args.line)
    return output(plan, [], kind, args)


def keep(args: argparse.Namespace) -> str:
    """Choose, write the requested files, and return the text to print."""
    files = {"--plot": args.plot, "--out": args.out, "--report": args.report, "--save": args.save}
    refuse_overlap([args.data], files)
    require_picture(args.plot)
    separator = csv_separator(args.out or "")
    from spcastat import selection

    data, is_covariance, options = prepare(args)
    options |= given_of(args, _PASSED_OPTIONS) | keep_rules(args)
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
