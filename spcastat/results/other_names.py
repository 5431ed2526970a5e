"""Advice in error messages: names from other programs, misplaced arguments, missing data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from spcastat.config import nearest
from spcastat.errors import UnknownOptionError
from spcastat.fit.method_table import CONTROLS, SOLVERS

_K = "the number of components is k="
_SPARSITY = "how sparse the components are is card=, the nonzeros of each, or variance=, the share to keep"
_SEED = "the seed is rng="
_SCALE = "scale=True divides the columns by their standard deviations"
#: Argument of PCA in other programs -> advice.
ARGUMENTS = {
    **dict.fromkeys(("n_components", "ncomp", "ncp", "K", "n_factors", "nfactors", "npc", "rank"), _K),
    **dict.fromkeys(
        ("keepX", "keep", "sparsity", "para", "sumabsv", "nonzeros", "nnz", "cardinality", "l1", "lambda_"),
        _SPARSITY,
    ),
    "alpha": f"{_SPARSITY}; methods with penalties have penalty=, and nspca orthonormality=",
    **dict.fromkeys(("random_state", "seed"), _SEED),
    **dict.fromkeys(("standardize", "standardise", "normalize", "scaled", "scale_unit"), _SCALE),
    **dict.fromkeys(("nrestart", "n_starts", "nstart"), "the number of starts is n_init="),
    **dict.fromkeys(("maxiter", "n_iterations"), "the number of iterations is max_iter="),
    **dict.fromkeys(("impute", "missing", "na_action"), 'missing values are handled by na="em" or na="drop"'),
    "verbose": "progress=True shows how far it is",
    "rotate": 'rotated and thresholded components are method="rotate"',
    "columns": "give the columns, df[columns], or a formula",
    "drop": 'leave columns out of the data, df.drop(columns=["id"]), or by a formula, "~ . - id"',
    "groups": "rows are coloured by group in plots, fit.biplot(groups=)",
    "cv": "the number of folds is choose(folds=)",
    "covariates": 'covariates stand behind a bar in the formula, formula="~ . | age"',
    "n_jobs": "one fit is not shared among processes; bootstrap(), stability() and choose() have n_jobs=",
}
_DRAWS = "the number of draws is n_draws="
#: (function, argument) -> advice, if it differs from that in ARGUMENTS.
RENAMED = {
    **{
        (function, name): _DRAWS
        for function in ("choose", "choose_k")
        for name in ("n_resample", "n_resamples", "n", "B", "nboot", "n_boot", "reps")
    },
    ("choose_k", "card"): "the number of variables in a component of the sparse test is sparse_card=",
    ("choose_k", "k"): "it finds the number of components, and kmax= is the largest",
    ("choose_k", "n_components"): "it finds the number of components, and kmax= is the largest",
    ("choose_k", "level"): "the level of the tests is alpha=",
    ("choose", "level"): "the level of the tests is alpha=",
    ("choose", "cv"): "the number of folds is folds=",
    ("choose", "grid"): "the cardinalities to choose from are cards=",
    ("spco", "card"): "how many scores are zero is zeros=, a share, or penalty=",
    ("spco", "sparsity"): "how many scores are zero is zeros=, a share, or penalty=",
}


def refuse_other_names(function: str, options: Mapping[str, Any], method: Any = None) -> None:
    """Raise UnknownOptionError for an argument that has a different name here.

    Parameters
    ----------
    function : str
        The function that was called.
    options : mapping
        The arguments that are not parameters of the function.
    method : object
        The requested method, whose options are allowed.
    """
    taken = SOLVERS[method].options if isinstance(method, str) and method in SOLVERS else ()
    for name in options:
        answer = RENAMED.get((function, name)) or ARGUMENTS.get(name)
        if answer is not None and name not in taken:
            raise UnknownOptionError(f"{function}() has no argument {name}=; {answer}.")


#: (function, argument) -> why the function does not have the argument, and what to do.
NO_PLACE = {
    ("spca_cov", "center"): "a covariance matrix is centred already, and mean= gives transform() the means",
    ("spca_cov", "weights"): "weights are of rows, so give the rows to spca(), or the weighted matrix",
    ("spca_cov", "na"): "missing values are of rows, so give the rows to spca()",
    **{
        (name, "zeros"): "a share of zeros among the scores is for spcastat.spco(data, k, zeros=...)"
        for name in ("spca", "spca_cov", "spca_path")
    },
}


def hint(
    function: str, own: Set[str], homes: Mapping[str, Set[str]], options: Iterable[str], name: str
) -> str:
    """Return advice about an argument that does not exist: where it belongs, or a similar name.

    Parameters
    ----------
    function : str
        The function that fits.
    own : set of str
        The arguments of this function, and of the function that was called and passes its options on.
    homes : mapping
        Description of what a function is for -> the names of its arguments.
    options : iterable of str
        The options of all methods.
    name : str
    """
    if name in ARGUMENTS:
        return f" Here {ARGUMENTS[name]}."
    if place := _elsewhere(function, own, homes, name):
        return f" It {place}."
    if near := nearest(name, sorted(own | set(options))):
        return near
    for arguments in homes.values():
        if near := nearest(name, sorted(arguments)):
            word = near.split("'")[1]
            return f"{near} That {_elsewhere(function, own, homes, word)}."
    return ""


def arguments_of(function: Callable[..., Any], options: type | None = None) -> set[str]:
    """Return the names of the arguments of a function and of its `options`, a TypedDict."""
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(function).parameters.values()
    further = {} if options is None else options.__annotations__
    return {one.name for one in parameters if one.kind in named} | set(further)


def refuse_controls(function: str, what: str, options: Mapping[str, Any], how: str = "") -> None:
    """Raise UnknownOptionError if a function that makes many fits is given the sparsity of a single fit."""
    for name in CONTROLS:
        if options.get(name) is not None:
            raise UnknownOptionError(
                f"{name}= was given to {function}(), which {what}: give cards=, {how}or use spca() or "
                f"spca_cov() {'for one fit ' * bool(how)}with {name}=."
            )


def _elsewhere(function: str, own: Set[str], homes: Mapping[str, Set[str]], name: str) -> str:
    """Return a description of the function to which an argument belongs, or an empty string."""
    if reason := NO_PLACE.get((function, name)):
        return f"has no place in {function}(): {reason}"
    owners = [what for what, arguments in homes.items() if name in arguments and name not in own]
    return f"belongs to {owners[0]}" if owners else ""
