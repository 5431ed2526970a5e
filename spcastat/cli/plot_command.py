"""``spcastat plot``: draw a figure of a fit and save it."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spcastat.cli import fit_command
from spcastat.cli.input_tables import DATA, columns_apart, is_saved_fit, names
from spcastat.cli.output_files import given_of, refuse_overlap, require_picture, save_figure
from spcastat.config import listed, nearest, one_of
from spcastat.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.cli.output_files import Fit

#: Plotting methods of a fit; `bootstrap` and `stability` plot the results of these methods.
KINDS = (
    "biplot",
    "plot_correlations",
    "plot_contributions",
    "screeplot",
    "plot_loadings",
    "plot_scores",
    "plot_diagnostics",
    "bootstrap",
    "stability",
)
EXAMPLES = """\
examples:
  spcastat plot biplot trees.csv --k 2 --card 5 --groups species --out biplot.pdf
  spcastat plot biplot wine --k 2 --card 5 --scale --loadings --out biplot.png
  spcastat plot plot_loadings pitprops --k 6 --card 7,4,4,1,1,1 --set kind=heatmap --out loadings.svg
  spcastat plot screeplot trees.spca --out scree.png --size 3.5x2.6 --dpi 600
  spcastat plot stability trees.csv --k 2 --card 5 --stability --out stability.pdf
The criterion of a choice is drawn by spcastat choose --plot.
"""
#: Options of plotting methods that cannot be given as text: axes and further data.
NOT_WORDS = ("ax", "new", "supplement")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)")


def _size(text: str) -> tuple[float, float]:
    """Read ``6.4x4.4`` as a width and a height in inches."""
    match = _SIZE.fullmatch(text)
    if match is None or not all(0.5 <= float(side) <= 100 for side in match.groups()):
        raise argparse.ArgumentTypeError(f"{text!r} was given; it takes inches from 0.5 to 100: 6.4x4.4")
    return float(match[1]), float(match[2])


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat plot``."""
    add = parser.add_argument
    add("kind", metavar="KIND", help="as the methods are called: " + ", ".join(KINDS))
    add("data", metavar="DATA | FIT", help=DATA + "; a bundled data set (spcastat datasets); or a saved fit")
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
    fit_command.fitting_arguments(parser)


def run(args: argparse.Namespace) -> str:
    """Fit, or read a saved fit, draw the figure, and return a message."""
    kind = one_of("KIND", args.kind, KINDS)
    refuse_overlap([args.data], {"--out": args.out})
    require_picture(args.out)
    if args.dpi is not None and not 10 <= args.dpi <= 2400:
        raise OptionError(f"--dpi {args.dpi} was given; it must be from 10 to 2400.")
    fit, columns = _saved(args) if is_saved_fit(args.data) else _fitted(args)
    drawing = _method(fit, kind)
    options = _options(args, kind, drawing, columns)
    save_figure(args.out, lambda ax: drawing(ax=ax, **options), args.size, args.dpi or 300)
    return f"{kind} written to {args.out}"


def _saved(args: argparse.Namespace) -> tuple[Fit, dict[str, Any]]:
    """Return a saved fit; raise for options that need data."""
    from spcastat.results.fit import load

    of_data = ["k", "card", "variance", "include", "exclude", "disjoint", "together", "method"]
    of_data += ["loadings", "groups", "color", "bootstrap", "stability"]
    needless = [f"--{name}" for name in of_data if getattr(args, name) not in (None, False)]
    if needless:
        raise OptionError(f"{', '.join(needless)}: for data; {args.data} is a saved fit, which has none.")
    return load(args.data), {}


def _fitted(args: argparse.Namespace) -> tuple[Fit, dict[str, Any]]:
    """Return a fit of the data, and the columns that colour its rows."""
    fit_command.require_k(args)
    wanted = given_of(args, ("groups", "color"))
    table, columns = (None, {}) if not wanted else columns_apart(args, wanted)
    fit = fit_command.fit_of(args, *fit_command.prepare(args, table))
    fit_command.resample(fit, args)
    return fit, columns


def _method(fit: Fit, kind: str) -> Callable[..., Axes]:
    """Return the plotting method; for "bootstrap" and "stability" that of their results."""
    if kind not in ("bootstrap", "stability") and not hasattr(fit, kind):
        raise OptionError(
            f"{kind} is for sparse weights; a fit of sparse loadings has biplot, plot_loadings and bootstrap."
        )
    if kind not in ("bootstrap", "stability"):
        drawing: Callable[..., Axes] = getattr(fit, kind)
        return drawing
    known: dict[str, Any] = {**fit.resampled}
    if kind not in known:
        raise OptionError(f"KIND {kind} draws what --{kind} finds; give --{kind}, too.")
    plot: Callable[..., Axes] = known[kind].plot
    return plot


def _options(
    args: argparse.Namespace, kind: str, drawing: Callable[..., Axes], columns: dict[str, Any]
) -> dict[str, Any]:
    """Return the options of the plotting method; raise if one is unknown or given twice."""
    given: dict[str, Any] = dict(columns)
    if args.components is not None:
        given["components"] = [int(one) if one.isdecimal() else one for one in args.components]
    if args.labels:
        given["labels"] = True
    for name, value in args.set or []:
        if name in given:
            raise OptionError(f"--set {name}=... was given besides another value of it; give one.")
        given[name] = value
    known = [name for name in inspect.signature(drawing).parameters if name not in NOT_WORDS]
    for name in given:
        if name not in known:
            raise OptionError(
                f"{kind} has no option {name}; it has {listed(known, 20) or 'none'}.{nearest(name, known)}"
            )
    return given
