"""``spcastat fit``, and functions shared by the commands that fit."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from typing import TYPE_CHECKING, Any, get_args

from spcastat import hints
from spcastat.arguments import MISSING_TREATMENTS
from spcastat.cli.input_tables import (
    BUNDLED,
    DATA,
    FILE_OPTIONS,
    columns_apart,
    load_table,
    reading_arguments,
)
from spcastat.cli.output_files import STDIN, format_of, given_of, output, output_arguments, refuse_overlap
from spcastat.errors import DataError, OptionError

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.cli.output_files import Fit
    from spcastat.inputs.imputed_data import Imputations
    from spcastat.show.renderings import Summary

FIT_EXAMPLES = """\
examples:
  spcastat fit pitprops --k 6 --card 7,4,4,1,1,1
  spcastat fit trees.csv --k 3 --variance 0.9 --scale --report trees.html --groups species
  spcastat fit trees.csv --k 2 --card 5 --drop id,species --na em
  spcastat fit trees.csv --k 2 --card 3 --formula '~ height + log(volume)' --save trees.spca
  spcastat fit trees.csv --k 2 --card 3 --partial age,species --scale
  spcastat fit correlations.csv --covariance --n-obs 180 --k 3
  spcastat fit export.csv --k 2 --sep ';' --decimal , --encoding cp1252
  spcastat fit trees.csv --k 3 --card 5 --effort thorough
  spcastat fit trees.csv --k 3 --card 5 --out table.tex --caption 'Three components' --label tab:trees
  spcastat fit trees.csv --k 3 --card 5 --format json | jq .loadings
  spcastat fit trees.csv --k 3 --card 5 --method bcd-l0
  spcastat fit trees.csv --k 3 --card 5 --include PC1=height --exclude age --disjoint
  spcastat fit trees.csv --k 2 --card 3 --mixed --together terms
  spcastat fit trees.csv --k 2 --card 5 --bootstrap --stability --report trees.html
  spcastat fit items.csv --k 5 --card 8 --scale --loadings --bootstrap --save items.spca
  spcastat fit pupils.csv --k 2 --card 5 --clusters school --strata region --bootstrap
  spcastat fit imputed.csv --k 2 --card 5 --scale --imputations --bootstrap
  zcat trees.csv.gz | spcastat fit - --k 2 --card 5
"""
#: Options that need rows, and all options that are passed on to a fit if given.
_OF_ROWS = ["scale", "weights", "weights_are", "na", "k_em", "formula"]
_OF_ROWS += ["clusters", "strata", "block_length", "center", "categorical", "robust"]
_OF_FIT = [
    "method",
    "nonneg",
    "n_init",
    "rng",
    "tol",
    "max_iter",
    "n_obs",
    "nearest",
    "objective",
    "effort",
    "constraint",
    "promise",
]
_OF_FIT += ["progress", *_OF_ROWS]
#: Options whose names in the command differ from the arguments.
_FLAG_NAMES = {"center": "--no-center", "categorical": "--dummy", "data": "DATA", "context": "--formula"}


def _flag_of(name: str) -> str:
    return _FLAG_NAMES.get(name, f"--{name.replace('_', '-')}")


def component_and_name(text: str) -> tuple[str, str]:
    """Read ``PC1=age`` as PC1 and "age", and ``age`` as "" and "age": a variable of every component."""
    match = re.fullmatch(r"(PC\d+)=(.+)", text, re.DOTALL)
    return (match[1], match[2]) if match else ("", text)


def group_and_name(text: str) -> tuple[str, str]:
    """Read ``size=length`` as the group "size" and its variable "length", and ``terms`` as "" and "terms"."""
    match = re.fullmatch(r"([^=]+)=(.+)", text, re.DOTALL)
    if match is None and text != "terms":
        raise argparse.ArgumentTypeError(
            f"{text!r} was given; it accepts terms, or a group and one of its variables: size=length"
        )
    return (match[1], match[2]) if match else ("", text)


def card(text: str) -> int | list[int]:
    """Read ``5`` as 5 and ``7,4,4`` as [7, 4, 4]; the fit checks whether they are valid cardinalities."""
    try:
        cards = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} was given; it accepts a whole number, or one for each component: 7,4,4"
        ) from None
    return cards if "," in text else cards[0]


def rows_of_block(text: str) -> int | str:
    """Read ``20`` as the number 20, and ``auto`` as text."""
    if text == "auto" or not text.isdecimal():
        if text != "auto":
            raise argparse.ArgumentTypeError(f"{text!r} was given; it accepts a number of rows, or auto")
        return text
    return int(text[:18])


def block(text: str) -> tuple[str, list[str]]:
    """Read ``chem=ph,salt`` as the block chem of two columns."""
    name, equals, columns = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(
            f"{text!r} was given; it must have the form NAME=COL,COL: chem=ph,salt"
        )
    return name, columns.split(",")


def named_value(text: str) -> tuple[str, Any]:
    """Read ``c=2`` as the option c with the value 2; true and false are bools, other words are text."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} was given; it must have the form NAME=VALUE: c=2")
    if value.strip() in ("true", "false"):
        return name.strip(), value.strip() == "true"
    try:
        return name.strip(), ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name.strip(), value


def _alternatives(kind: Any) -> str:
    """Return the values of a literal type in words: "adjusted, pev or least_squares"."""
    *first_names, last_name = get_args(kind)
    return f"{', '.join(first_names)} or {last_name}"


def fitting_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments on data and method that all fitting commands share."""
    add = parser.add_argument
    add("--nonneg", action="store_const", const=True, help="nonnegative loadings only")
    add("--scale", action="store_const", const=True, help="scale the columns to unit variance")
    about = "a block of columns, divided by the root of its first eigenvalue; once for each block"
    add("--blocks", type=block, action="append", metavar="NAME=COL,COL", help=about)
    about = "scale numbers and factors (text) as mixed data: FAMD"
    add("--mixed", dest="scale", action="store_const", const="mixed", help=about)
    about = "do not subtract the column means"
    add("--no-center", dest="center", action="store_const", const=False, help=about)
    add("--weights", metavar="NAME", help="the column of weights")
    about = "weights are numbers of equal rows (frequency, the default) or survey weights (sampling)"
    add("--weights-are", choices=("frequency", "sampling"), help=about)
    about = "a column of labels of the rows that belong together, not fitted; whole clusters are drawn"
    add("--clusters", metavar="NAME", help=about)
    add("--strata", metavar="NAME", help="a column of labels of the strata of the sample, not fitted")
    about = "for rows in time order: blocks of N rows are drawn; auto chooses N"
    add("--block-length", type=rows_of_block, metavar="N|auto", help=about)
    about = "DATA contains imputations of a table, numbered in a column (.imp by default, as in mice)"
    add("--imputations", nargs="?", const="", metavar="NAME", help=about)
    about = "pull in outlying cells and leave out outlying rows; cells: keep all rows; rows: keep all cells"
    add("--robust", nargs="?", const=True, choices=("cells", "rows"), metavar="cells|rows", help=about)
    about = "missing values: refuse them (default), drop their rows, estimate them (em), or use all pairs"
    add("--na", choices=MISSING_TREATMENTS, help=about)
    add("--k-em", type=int, metavar="N", help="with --na em: rank of the model; K by default")
    add("--formula", metavar="'~ A + B'", help="columns made by a formula; known functions only")
    add(
        "--partial",
        metavar="NAME[,NAME...]",
        help="covariates, for which the other columns are adjusted: partial PCA",
    )
    about = "code text in a formula as columns of 0 and 1"
    add("--dummy", dest="categorical", action="store_const", const="dummy", help=about)
    add("--n-init", type=int, metavar="N", help="number of starts, for published methods")
    add("--rng", type=int, metavar="SEED", help="seed of the random starts")
    add("--tol", type=float, help="convergence tolerance of the method")
    add("--max-iter", type=int, metavar="N", help="largest number of iterations")
    add("--objective", metavar="NAME", help=f"what is maximised: {_alternatives(hints.Objective)}")
    about = "with --card: uncorrelated scores, or orthogonal loadings"
    add("--constraint", metavar="NAME", help=about)
    add("--effort", metavar="NAME", help=f"effort of the default method: {_alternatives(hints.Effort)}")
    add("--option", type=named_value, action="append", metavar="NAME=VALUE", help="an option of the method")
    switch = argparse.BooleanOptionalAction
    add("--progress", action=switch, help="show progress; by default on a terminal, after some seconds")
    about = "read a large file whole (text above 100 MB, Parquet above 500 MB), not in chunks of rows"
    add("--in-memory", action="store_true", help=about)
    add("--covariance", action="store_true", help="DATA is a covariance or correlation matrix")
    add("--n-obs", type=int, metavar="N", help="number of rows from which a matrix was computed")
    about = "use the nearest correlation or covariance matrix if a matrix has negative eigenvalues"
    add("--nearest", action="store_const", const=True, help=about)
    reading_arguments(parser)


def sparsity_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the sparsity of components and for the method."""
    sparsity = parser.add_mutually_exclusive_group()
    sparsity.add_argument(
        "--card", type=card, metavar="N[,N...]", help="nonzeros: one number, or one for each component"
    )
    sparsity.add_argument("--variance", type=float, help="share of PCA's explained variance to keep (0.9)")
    rule_arguments(parser)
    add = parser.add_argument
    about = "--variance applies after each component (every) or after all (total)"
    add("--promise", metavar="WHEN", help=about)
    add("--method", help="joint by default; methods() in Python lists all")
    about = "sparse loadings in place of sparse weights: variables depend on few components"
    add("--loadings", action="store_true", help=about)


def rule_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that restrict the variables of components."""
    add = parser.add_argument
    for name, verb in (("include", "must have"), ("exclude", "must not have")):
        about = f"with --card: a variable that every component, or the one named, {verb}; may be repeated"
        add(f"--{name}", type=component_and_name, action="append", metavar="[PC1=]NAME", help=about)
    add("--disjoint", action="store_true", help="no variable in two components (without --card, each in one)")
    about = (
        "with --card, which then counts groups: the columns of a term, or of a group, enter together; may be "
        "repeated"
    )
    add("--together", type=group_and_name, action="append", metavar="terms|GROUP=NAME", help=about)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat fit``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA + "; or a bundled data set: " + ", ".join(BUNDLED))
    add("--k", type=int, help="number of components (required; spcastat choose chooses it)")
    sparsity_arguments(parser)
    resampling_arguments(parser)
    add("--report", metavar="OUT.html", help="write a page with tables and plots; for Word with OUT.docx")
    groups_argument(parser)
    add("--save", metavar="OUT.spca", help="store the fit in a file, for show, transform and plot")
    output_arguments(parser)
    fitting_arguments(parser)


def groups_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for groups of rows in the figures of a report."""
    parser.add_argument(
        "--groups", metavar="NAME", help="a column, not fitted, that marks rows in the figures of --report"
    )


def grouped(args: argparse.Namespace) -> tuple[Any, Any]:
    """Return the data without the column that --groups names, and that column; None and None without it."""
    if args.groups is None:
        return None, None
    if not args.report:
        raise OptionError("--groups was given; it marks rows in the figures of a report: give --report, too.")
    table, columns = columns_apart(args, {"groups": args.groups})
    return table, columns["groups"]


def resampling_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the bootstrap and for stability."""
    add = parser.add_argument
    about = "intervals from N fits of rows drawn with replacement, 999 by default"
    add("--bootstrap", type=int, nargs="?", const=999, metavar="N", help=about)
    about = "how often fits of PAIRS of halves of the rows select each variable, 50 by default"
    add("--stability", type=int, nargs="?", const=50, metavar="PAIRS", help=about)
    add("--jobs", type=int, metavar="N", help="processes that share these fits; -1 for all processors")


def rule(args: argparse.Namespace) -> dict[str, Any]:
    """Return the constraints on variables, such as --include, as options of a fit."""
    options: dict[str, Any] = {"disjoint": True} if args.disjoint else {}
    if args.together:
        groups: dict[str, list[str]] = {}
        for group, variable in args.together:
            groups.setdefault(group, []).append(variable)
        options["together"] = "terms" if list(groups) == [""] else groups
    for name in ("include", "exclude"):
        entries = getattr(args, name) or []
        if entries and not any(component for component, _ in entries):
            options[name] = [variable for _, variable in entries]
            continue
        by_component: dict[str, list[str]] = {}
        for component, variable in entries:
            if not component and args.k is None:
                raise OptionError(
                    f"--{name} {variable} was given for every component, and others for one: give --k, too."
                )
            for component_name in [component] if component else [f"PC{i + 1}" for i in range(args.k)]:
                by_component.setdefault(component_name, []).append(variable)
        if by_component:
            options[name] = by_component
    return options


def fit_of(args: argparse.Namespace, data: Any, covariance: bool, options: dict[str, Any]) -> Fit:
    """Fit sparse weights, or sparse loadings with --loadings, with the options that were given."""
    from spcastat import api, loadings
    from spcastat.fit.call import arguments_of
    from spcastat.hints import LoadingsOptions

    options = options | given_of(args, ("card", "variance")) | rule(args)
    if not args.loadings:
        return (api.spca_cov if covariance else api.spca)(data, k=args.k, **options)
    function: Any = loadings.sparse_loadings_cov if covariance else loadings.sparse_loadings
    option_names = arguments_of(function, None if covariance else LoadingsOptions)
    refused = [f"--{name.replace('_', '-')}" for name in options if name not in option_names]
    refused += ["--stability"] * (args.stability is not None)
    if refused:
        raise OptionError(
            f"{', '.join(refused)} can be given for sparse weights only; with --loadings use --card, "
            "--variance, --option total=N, --n-init, --rng, --bootstrap, and the options on the data."
        )
    fit: Fit = function(data, k=args.k, **options)
    return fit


def resample(fit: Fit, args: argparse.Namespace) -> tuple[Fit, list[Summary]]:
    """Run --bootstrap and --stability; return the fit with their results, and the results.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, even if some draws are complete, so that results of fewer draws replace no file.
    """
    from spcastat.results.fit import SpcaResult

    if args.jobs is not None and args.bootstrap is None and args.stability is None:
        raise OptionError("--jobs was given; it is for --bootstrap and --stability.")
    settings = {"rng": args.rng, "n_jobs": 1 if args.jobs is None else args.jobs, "progress": args.progress}
    results: list[Any] = []
    if args.bootstrap is not None:
        results.append(_complete(fit.bootstrap(args.bootstrap, **settings)))
    if args.stability is not None and isinstance(fit, SpcaResult):
        results.append(_complete(fit.stability(args.stability, **settings)))
    return fit.with_inference(*results) if results else fit, results


def _complete(result: Any) -> Any:
    """Return the result of all draws; raise KeyboardInterrupt if it has fewer of them."""
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def prepare(args: argparse.Namespace, table: Any = None) -> tuple[Any, bool, dict[str, Any]]:
    """Return the data, whether they are a covariance matrix, and the options that were given.

    `table` contains the data if they have already been read.
    """
    data: Any = load_table(args) if table is None else table
    chunked = callable(data)
    options = given_of(args, _OF_FIT)
    if args.blocks:
        options |= {"scale": "blocks", "blocks": dict(args.blocks)}
        if len(options["blocks"]) < len(args.blocks):
            raise OptionError("--blocks names a block twice; give all columns of a block at once.")
    options |= _options(args)
    partial = [] if args.partial is None else args.partial.split(",")
    covariance = bool(args.covariance or (not chunked and data.attrs.get("kind") == "correlation"))
    if covariance:
        return _covariance(args, data, partial, options), True, options
    return _rows(args, data, partial, options), False, options


def _rows(args: argparse.Namespace, data: Any, partial: list[str], options: dict[str, Any]) -> Any:
    """Return the rows to fit; add the covariates `partial` to the formula in `options`, with its context."""
    from spcastat.reading.formulas import safe_context

    if args.imputations is not None:
        data = _imputations(args, data)
    elif not callable(data) and args.formula is None:
        _refuse_matrix(args.data, data)
    for name in ("n_obs", "nearest"):
        if name in options:
            raise OptionError(
                f"{_flag_of(name)} is for a covariance matrix; give --covariance if DATA is one."
            )
    if partial:
        covariates = " + ".join(name if name.isidentifier() else f"`{name}`" for name in partial)
        options["formula"] = f"{options.get('formula', '~ .')} | {covariates}"
    if "formula" in options:
        options["context"] = safe_context()
    return data


def _covariance(args: argparse.Namespace, data: Any, partial: list[str], options: dict[str, Any]) -> Any:
    """Return a labelled covariance matrix; add the variables `partial` and the row count to `options`.

    Raises
    ------
    OptionError
        If there are options that need rows.
    """
    rows_only = [name for name in _OF_ROWS if name != "scale" or options.get(name) is True]
    refused = [_flag_of(name) for name in rows_only if name in options]
    refused += ["--imputations"] * (args.imputations is not None)
    if refused:
        verb = "needs" if len(refused) == 1 else "need"
        raise OptionError(
            f"{', '.join(refused)} {verb} the rows of the data; {args.data} is taken as a covariance matrix."
        )
    options |= {"given": partial} if partial else {}
    if "n_obs" in data.attrs:
        options.setdefault("n_obs", data.attrs["n_obs"])
    numbered = [str(j) for j in range(data.shape[1] + 1)]  # pandas numbers rows from 0, R from 1
    labels = [str(label) for label in data.index]
    if labels in (numbered[:-1], numbered[1:]) and set(labels) != set(data.columns):
        data = data.set_axis(data.columns, axis=0)
    return data


def _imputations(args: argparse.Namespace, table: Any) -> Imputations:
    """Return the imputations in a table, one column of which contains their numbers."""
    from spcastat.inputs.imputed_data import Imputations
    from spcastat.inputs.opening import IMPUTATION_COLUMN

    name = args.imputations or IMPUTATION_COLUMN
    if callable(table):
        raise OptionError(
            "--imputations was given with a file that is read in chunks; all rows are needed: --in-memory."
        )
    if name not in table.columns:
        raise DataError(
            f"--imputations was given, and {args.data} has no column {name!r} with their numbers: "
            "give the name of the column, and do not leave it out by --columns or --drop."
        )
    return Imputations.of(table.rename(columns={name: IMPUTATION_COLUMN}))


def _refuse_matrix(name: str, data: pd.DataFrame) -> None:
    """Raise DataError if data given as rows look like a covariance, correlation or distance matrix."""
    from spcastat.reading.covariance import DISTANCE_MATRIX
    from spcastat.reading.read import matrix_kind

    kind = matrix_kind(data, unlabelled=list(data.index) == list(range(len(data))))
    if kind == DISTANCE_MATRIX:
        raise DataError(
            f"{name} looks like a matrix of distances, square and symmetric with zeros on the diagonal, and "
            "its rows would be taken for observations: give the table that the distances were computed from, "
            "or principal coordinates of them."
        )
    if kind:
        raise DataError(
            f"{name} looks like a covariance or correlation matrix, square and symmetric, and its rows would "
            "be taken for observations: give --covariance."
        )


def require_k(args: argparse.Namespace) -> None:
    """Raise OptionError if the number of components was not given."""
    if args.k is None:
        choose = f"spcastat choose {shlex.quote(args.data)}"
        raise OptionError(f"--k, the number of components, is needed. To choose it from the data: {choose}")


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options given by --option; raise if one is given twice or has an option of its own."""
    options: dict[str, Any] = {}
    for name, value in args.option or []:
        if name in vars(args) or name == "context":
            raise OptionError(f"--option {name}=... was given; give it only as {_flag_of(name)}.")
        if name in options:
            raise OptionError(f"--option {name}=... was given twice; give one.")
        options[name] = value
    return options


def save(fit: Any, args: argparse.Namespace, scores: bool | None = None) -> None:
    """Save a result with the options used to read its file, so that new rows are read in the same way.

    `scores` is whether scores are stored; by default they are stored if they are in memory.
    """
    from dataclasses import replace

    from spcastat.fit import saved_fits

    reading = given_of(args, FILE_OPTIONS)
    state = fit._state
    if reading:
        state = replace(state, record=replace(state.record, reading=reading))
    saved_fits.save(state, fit._source, args.save, scores)


def run(args: argparse.Namespace) -> str:
    """Fit, write the requested files, and return the text to print."""
    refuse_overlap([args.data], {"--save": args.save, "--report": args.report, "--out": args.out})
    kind = format_of(args)
    require_k(args)
    table, groups = grouped(args)
    fit = fit_of(args, *prepare(args, table))
    fit, resampling = resample(fit, args)
    if args.save:
        save(fit, args)
    if args.report:
        subject = "Sparse loadings" if args.loadings else "Sparse PCA"
        title = f"{subject} of {'standard input' if args.data == STDIN else args.data}"
        fit.report(args.report, title=title, call=args.line, **given_of(args), groups=groups)
    return output(fit, resampling, kind, args)
