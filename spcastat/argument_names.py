"""What a call with foreign, missing or repeated arguments is told, in place of Python's TypeError.

Python refuses such a call before the function begins. `explained` is a decorator of public functions, and
classes that derive from `Explained` have it on all their public methods. Signatures stay what they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

from spcastat.config import listed, nearest, plural
from spcastat.errors import ArgumentsError, UnknownOptionError

# --- names in other programs ----------------------------------------------------------------------


_K = "the number of components is k="
_SPARSITY = "how sparse the components are is card=, the nonzeros of each, or variance=, the share to keep"
_SEED = "the seed is rng="
_SCALE = "scale=True divides the columns by their standard deviations"
_NUMBER_OF_COMPONENTS = ("n_components", "ncomp", "ncp", "K", "n_factors", "nfactors", "npc", "rank")
_SEED_NAMES = ("random_state", "seed")
_SCALE_NAMES = ("standardize", "standardise", "normalize", "scaled", "scale_unit")
_MISSING_VALUES = ("impute", "missing", "na_action")
#: Argument of PCA in other programs -> advice.
ARGUMENTS = {
    **dict.fromkeys(_NUMBER_OF_COMPONENTS, _K),
    **dict.fromkeys(
        ("keepX", "keep", "sparsity", "para", "sumabsv", "nonzeros", "nnz", "cardinality", "l1", "lambda_"),
        _SPARSITY,
    ),
    "alpha": f"{_SPARSITY}; methods with penalties have penalty=, and nspca orthonormality=",
    **dict.fromkeys(_SEED_NAMES, _SEED),
    **dict.fromkeys(_SCALE_NAMES, _SCALE),
    **dict.fromkeys(("nrestart", "n_starts", "nstart"), "the number of starts is n_init="),
    **dict.fromkeys(("maxiter", "n_iterations"), "the number of iterations is max_iter="),
    **dict.fromkeys(_MISSING_VALUES, 'missing values are handled by na="em" or na="drop"'),
    "verbose": "progress=True shows how far it is",
    "rotate": 'rotated and thresholded components are method="rotate"',
    "columns": "give the columns, df[columns], or a formula",
    "drop": 'leave columns out of the data, df.drop(columns=["id"]), or by a formula, "~ . - id"',
    "groups": "rows are coloured by group in plots, fit.biplot(groups=)",
    "cv": "the number of folds is choose(folds=)",
    "covariates": 'covariates come after a bar in the formula, formula="~ . | age"',
    "triangle": "a triangle with missing values elsewhere is mirrored; the lower one of a data frame is "
    "S.where(np.tril(np.ones(S.shape)) > 0)",
    "n_jobs": "one fit is not shared among processes; bootstrap(), stability() and choose() have n_jobs=",
}
#: Arguments that were removed, and what to use instead.
REMOVED_ARGUMENTS = {
    **dict.fromkeys(
        ("replicate_weights", "replicate_type", "replicate_scale"),
        "give clusters= and strata= to spca(), or fit the rows for each replicate in a loop, spca(data, k, "
        'card=card, weights=w, weights_are="sampling")',
    ),
    "certify": "fit.certify() bounds how much better another fit could be",
    "spread": "the scale is the median absolute deviation",
    **dict.fromkeys(
        ("rotation", "kaiser"),
        "the rotation is varimax with Kaiser's normalisation; fit.rotated can be rotated further",
    ),
}
#: The same for methods.
REMOVED_METHODS = {
    **dict.fromkeys(
        ("dcpca", "gspca", "iterative-elimination"),
        "the default method finds at least as good supports, and 'greedy' also adds one variable at a time",
    ),
    "bcd-lad": "for rows give robust=True, which withstands more outlying cells and rows",
    **dict.fromkeys(
        ("r1-pca", "l1-factor"),
        "for rows give robust=True for sparse components, or method='pca-l1' for dense ones",
    ),
}
#: The same for arguments of one function, whose names others have.
REMOVED_FROM = {
    ("SpcaResult.certify", "orthogonal"): 'fit with constraint="orthogonal", whose proofs are for such '
    "loadings"
}
_COLUMNS_BEFORE = (
    "it uses all columns of X: choose and transform them in a step before it, such as ColumnTransformer, or "
    "fit the rows with sp.spca(df, k, {}=...)"
)
#: Arguments of a few functions -> which ones have them.
FEW_FUNCTIONS = {
    "imputations": "imputations are pooled by spca(imputations=frames), spca_path(), choose() and "
    "rows(imputations=frames), which choose_k(), sparse_loadings() and principal_variables() take as data, "
    "and by fit(X, imputations=frames) of the estimators; give the others one table"
}
#: What to do without the option of rows `robust`, in functions that do not have it.
WITHOUT_ROBUST = "leave it out; which cells and rows to correct first says spca(data, k, robust=True).robust"
#: Arguments of `spca` that the estimator for scikit-learn lacks, and what to use instead.
NOT_IN_ESTIMATOR = {
    **{name: _COLUMNS_BEFORE.format(name) for name in ("formula", "categorical", "context", "codes")},
    "imputations": "imputations are given to its methods, fit(X, imputations=frames)",
    "weights": "weights are given to its methods, fit(X, sample_weight=w)",
    "clusters": "clusters are given to its methods, fit(X, groups=labels)",
    "strata": "strata are given to its methods, fit(X, strata=labels)",
    "k": "the number of components is n_components=, as in scikit-learn",
    "rng": "the seed is random_state=, as in scikit-learn",
}
#: Names of one thing in other programs -> the names here; a function has at most one of them.
_SYNONYMS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (_NUMBER_OF_COMPONENTS, ("k", "kmax")),
    ((*_SEED_NAMES, "random_seed"), ("rng",)),
    (
        (
            *("B", "R", "nboot", "n_boot", "n_bootstrap", "reps", "n_resample", "n_resamples", "n_samples"),
            *("times", "n_draws", "draws", "n_permutations", "n_perm", "nperm"),
        ),
        ("n", "n_draws", "repeats"),
    ),
    (("confidence", "conf_level", "ci", "confidence_level", "alpha"), ("level",)),
    (("level",), ("alpha",)),
    (("axes", "axis", "axs"), ("ax",)),
    (("hue", "group", "habillage", "class_", "by"), ("groups",)),
    (("cmap", "colors", "colours", "colormap"), ("palette",)),
    (("c", "col", "col_ind", "colour"), ("color",)),
    (("comps", "pcs", "choices", "dims", "which"), ("components",)),
    (("njobs", "workers", "n_workers", "processes", "ncores", "cores", "n_cpus"), ("n_jobs",)),
    (("filename", "file", "fname", "filepath", "file_name", "f"), ("path",)),
    (("X", "x", "newdata", "new_data", "df"), ("new", "data")),
    (("timeout", "max_time", "seconds"), ("time_limit",)),
    (("verbose", "progress_bar", "disp"), ("progress",)),
    (("decimals", "precision", "ndigits"), ("digits",)),
    (("cutoff", "cut_off"), ("cut", "threshold")),
    (("cv", "n_folds", "nfolds", "n_splits", "kfold"), ("folds",)),
    (_SCALE_NAMES, ("scale",)),
    ((*_MISSING_VALUES, "na_rm", "use"), ("na",)),
)
_OWN_NAMES = {name: own_names for names, own_names in _SYNONYMS for name in names}


def close_name(name: str, options: Collection[str]) -> str:
    """Return ``" Did you mean 'rng'?"`` for the argument that `name` is elsewhere, or the closest name."""
    for own_names in _OWN_NAMES.get(name, ()):
        if own_names in options:
            return f" Did you mean {own_names!r}?"
    return nearest(name, sorted(options))


def unknown_argument(function: str, name: str, options: Sequence[str]) -> UnknownOptionError:
    """Return the error for an argument that a function does not have."""
    if instead := REMOVED_ARGUMENTS.get(name) or REMOVED_FROM.get((function, name)):
        return UnknownOptionError(f"{function}() no longer has {name}=; {instead}.")
    if function == "SparsePCA" and name in NOT_IN_ESTIMATOR:
        return UnknownOptionError(f"{function}() has no argument {name}=; {NOT_IN_ESTIMATOR[name]}.")
    if answer := {**FEW_FUNCTIONS, "robust": WITHOUT_ROBUST}.get(name):
        return UnknownOptionError(f"{function}() has no argument {name}=; {answer}.")
    has = listed(options, 12) or "none"
    hint = close_name(name, options)
    return UnknownOptionError(f"{function}() has no argument {name}=; it has {has}.{hint}")


#: Attribute of a fit in other programs -> what it is here.
_LOADINGS, _VARIANCE_SHARES = "loadings", "variance['share of total']"
_CUMULATIVE_PEV = "variance['cumulative PEV']"
_ATTRIBUTES = {
    **dict.fromkeys(
        ("components_", "loading", "loadings_", "rotation", "v", "V", "vect", "weights", "coef_"), _LOADINGS
    ),
    **dict.fromkeys(("scores_", "x", "u", "U", "variates", "ind", "row_scores"), "scores"),
    **dict.fromkeys(("explained_variance_ratio_", "prop_expl_var", "pev", "Vaccounted"), _VARIANCE_SHARES),
    **dict.fromkeys(("cpev", "PEV", "cum_pev", "cumvar"), _CUMULATIVE_PEV),
    **dict.fromkeys(("explained_variance_", "eig", "values", "importance"), "variance"),
    **dict.fromkeys(("total_var", "totvar", "sum_pev", "var_all"), "total_variance"),
    **dict.fromkeys(("center", "mean_", "scale", "scale_", "means"), "equations()"),
    **dict.fromkeys(("n_iter", "n_iter_", "iter"), "glance()['n_iter']"),
    **dict.fromkeys(("feature_names_in_", "features", "variables", "colnames"), "loadings.index"),
    **dict.fromkeys(("coord", "cor", "structure"), "correlations"),
    **dict.fromkeys(("fit_transform", "factor_scores", "T"), "scores"),
    **dict.fromkeys(("inverse", "reconstruct", "fitted"), "inverse_transform(fit.scores)"),
    "score": "measure('pev')",
    "n_features_in_": "loadings.shape[0]",
    **dict.fromkeys(("sdev", "singular_values_", "d"), "variance['score variance'] ** 0.5"),
    **dict.fromkeys(("n_components", "n_components_", "ncomp"), "k"),
    **dict.fromkeys(("communality", "communality_"), "communalities"),
    **dict.fromkeys(("predict", "project"), "transform(new)"),
    **dict.fromkeys(("plot", "plotIndiv"), "plot_scores()"),
    **dict.fromkeys(("plotVar",), "plot_correlations()"),
    **dict.fromkeys(("plot_scree", "plot_variance", "scree_plot", "fviz_eig"), "screeplot()"),
    **dict.fromkeys(("plot_biplot", "fviz_pca_biplot"), "biplot()"),
}


def attribute_error(owner: object, name: str) -> AttributeError:
    """Return the error for an attribute that a fit does not have; it translates names of other programs."""
    kind = type(owner).__name__
    equivalent = _ATTRIBUTES.get(name)
    if equivalent is not None:
        return AttributeError(f"{kind} has no attribute {name!r}, which is fit.{equivalent} here.")
    attributes = [attribute for attribute in dir(type(owner)) if not attribute.startswith("_")]
    return AttributeError(
        f"{kind} has no attribute {name!r}.{nearest(name, attributes)}", name=name, obj=owner
    )


#: Method of other programs -> the name here.
FOREIGN_METHODS = {
    **dict.fromkeys(("elasticnet", "spca", "SPCA", "arrayspc", "sparsepca", "SparsePCA", "robspca"), "zou"),
    **dict.fromkeys(("PMD", "SPC", "spc", "PMA", "penalized"), "pmd"),
    **dict.fromkeys(("rspca", "sPCA-rSVD", "sPCArSVD", "spca-rsvd", "mixOmics", "rsvd"), "rsvd-l1"),
    **dict.fromkeys(("prcomp", "princomp", "svd", "dense"), "pca"),
    **dict.fromkeys(("uspca", "cspca", "default"), "joint"),
    **dict.fromkeys(("robust", "sPCAgrid"), "spcagrid"),
    "varimax": "rotate",
    "nsprcomp": "empca",
    "gpower": "gpower-l1",
}


# --- calls ------------------------------------------------------------------------------------------


Function = TypeVar("Function", bound=Callable[..., Any])
_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
#: Names of parameters that are not given by name.
_WORDS = {"data_or_formula": "the data"}


def explained(function: Function) -> Function:
    """Return a function whose calls with wrong arguments raise an error of the package in one sentence.

    A TypeError from inside the function is raised as it is: only where Python has refused the call does the
    traceback end in this wrapper.

    Raises
    ------
    UnknownOptionError
        For an argument that the function does not have.
    ArgumentsError
        For arguments that are missing, given twice, or too many without a name.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            traceback = error.__traceback__
            if traceback is None or traceback.tb_next is not None:
                raise
            reason = _refusal(function, len(arguments), options)
            if reason is None:
                raise
        raise reason

    return cast(Function, call)


class Explained:
    """Base of classes whose public methods are `explained`."""

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        for name, member in list(vars(cls).items()):
            if inspect.isfunction(member) and not name.startswith("_"):
                setattr(cls, name, explained(member))


def _refusal(
    function: Callable[..., Any], count: int, options: Mapping[str, Any]
) -> UnknownOptionError | ArgumentsError | None:
    """Return the error for a call with `count` arguments without names and some `options`, if it is wrong."""
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name == "self":
        parameters, count = parameters[1:], count - 1
    kinds = {parameter.kind for parameter in parameters}
    names = [parameter.name for parameter in parameters if parameter.kind in _BY_NAME]
    called = function.__qualname__.removesuffix(".__init__")
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in options:
            if name not in names:
                return unknown_argument(called, name, names)
    places = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    for parameter in places[: max(count, 0)]:
        if parameter.name in options and parameter.name in names:
            return ArgumentsError(
                f"{called}() was given {parameter.name}= twice, by its place and by its name; give it once."
            )
    if count > len(places) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        return _too_many(called, count, places, names)
    required = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind in (*_POSITIONAL, *_BY_NAME)
    ]
    missing = [
        parameter.name
        for parameter in required
        if parameter not in places[: max(count, 0)] and parameter.name not in options
    ]
    if not missing:
        return None
    if name := next((name for name in options if name in FEW_FUNCTIONS and name not in names), ""):
        return unknown_argument(called, name, names)
    return _too_few(called, missing, required, places)


def _too_few(
    called: str,
    missing: Sequence[str],
    required: Sequence[inspect.Parameter],
    places: Sequence[inspect.Parameter],
) -> ArgumentsError:
    """Return the error for a call without required arguments, whose names are in `missing`."""
    example = ", ".join(
        parameter.name if parameter in places else f"{parameter.name}=..." for parameter in required
    )
    without = " and ".join(f"no {name}" for name in missing)
    return ArgumentsError(
        f"{called}() was given {without}; call it as {called.rpartition('.')[2]}({example})."
    )


def _too_many(
    called: str, count: int, places: Sequence[inspect.Parameter], names: Sequence[str]
) -> ArgumentsError:
    """Return the error for more arguments without names than a function has places."""
    place_names = [_WORDS.get(parameter.name, parameter.name) for parameter in places]
    later_options = [f"{name}=" for name in names if name not in {parameter.name for parameter in places}]
    advice = (
        f"give others by name, such as {', '.join(later_options[:3])}"
        if later_options
        else "leave the others out"
    )
    takes = f"only {', '.join(place_names)}" if place_names else "none"
    return ArgumentsError(
        f"{called}() was given {plural(count, 'argument')} without a name, of which it takes {takes}; "
        f"{advice}."
    )
