"""Checks of arguments for all parts of the package: names, numbers, and suggestions for misspelt names.

The last part explains calls with unknown, missing or repeated arguments, in place of Python's TypeError.
Python refuses such a call before the function begins. `explained` is a decorator of public functions, and
classes that derive from `Explained` apply it to all their public methods. Signatures are not changed.
Attributes of classes that derive from `Unchanging` cannot be set, and the error says what to do instead.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import numbers
import reprlib
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, TypeVar, cast

import numpy as np

from spcastat.errors import ArgumentsError, ExtraError, OptionError, UnknownOptionError

#: The largest number of characters of a value in a message.
MAX_SHOWN = 160
#: Upper limits on the numbers of draws or pairs, and of permutations. At these limits the Monte Carlo error
#: of a probability is below 0.2 %.
MOST_DRAWS, MOST_PERMUTATIONS = 100_000, 1_000_000
#: Upper limit on the number of folds, and of divisions into folds.
MOST_FOLDS = 1000
#: Every whole number up to this size is a float64; the default upper bound of whole numbers.
LARGEST_WHOLE = 2**53
#: Seeds are whole numbers below this, the number of initial states of a NumPy generator.
LARGEST_SEED = 2**128


class _Brief(reprlib.Repr):
    """A shortened repr for messages, with only the first few elements and levels of nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxarray = 12
        self.maxdict = 8
        self.maxstring = self.maxother = MAX_SHOWN
        self.maxlong = 60

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print integers with more than a few thousand digits.
        return repr(x) if x.bit_length() <= 200 else f"{'-' * (x < 0)}<more than 10**60>"


#: The treatments of missing values; those in GAPS keep rows with missing values.
MISSING_TREATMENTS = ("raise", "drop", "em", "pairwise")
GAPS = ("em", "pairwise")


def shown(value: object) -> str:
    """Return a value of any type as a short text on one line for a message, even if its ``repr`` fails."""
    try:
        size = getattr(value, "shape", None)
        if isinstance(size, tuple) and size:
            return f"<{type(value).__name__} of shape {size}>"
        text = _Brief().repr(value)
    except Exception:  # the repr of a user's object may raise anything
        return f"<{type(value).__name__}>"
    return one_line(text, MAX_SHOWN)


def one_line(text: str, limit: int) -> str:
    """Return text on one line of printable characters, shortened in its middle to about `limit`."""
    text = "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= limit else text[: limit - 20] + " ... " + text[-15:]


#: Largest number of letters in a short word.
SHORT_WORD = 7


def nearest(word: object, names: Iterable[object], used: Iterable[object] = ()) -> str:
    """Return ``" Did you mean 'x'?"`` for the `nearest_name`, or an empty string."""
    name = nearest_name(word, names, used)
    return f" Did you mean {name!r}?" * bool(name)


def nearest_name(word: object, names: Iterable[object], used: Iterable[object] = ()) -> str:
    """Return the name closest to `word`, or an empty string.

    The word itself is never suggested, since it was refused, nor are names that the call has `used`.
    """
    import difflib  # imported only if a word is misspelt

    text = word if isinstance(word, str) else shown(word)
    if len(text) > 100:  # not a typo, and slow to compare
        return ""
    used_names = {text, *(name if isinstance(name, str) else shown(name) for name in used)}
    candidates = [str(name) for name in names if str(name) not in used_names]
    matches = [name for name in candidates if name.casefold() == text.casefold()]
    matches = matches or [name for name in candidates if sorted(name) == sorted(text)]  # reordered letters
    cutoff = 0.6 if len(text) > SHORT_WORD else 0.7  # most letters of short words are alike by chance
    matches = matches or difflib.get_close_matches(text, candidates, n=1, cutoff=cutoff)
    return matches[0] if matches else ""


#: Adjusted p-values and q-values up to this level are marked in plots, and shown in tables for zero loadings.
SHOWN_LEVEL = 0.05
#: The default number of names that messages list.
MOST_LISTED = 8


def listed(names: Iterable[object], limit: int = MOST_LISTED) -> str:
    """Join names for a message: the first `limit`, then the number of the others."""
    names = list(names)
    remainder = len(names) - limit
    return ", ".join(map(shown, names[:limit])) + (f" and {remainder} more" if remainder > 0 else "")


def plural(count: int, noun: str, several: str = "") -> str:
    """Return ``"1 row"`` or ``"2,000 rows"``; `several` is the plural if it does not just add an s."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def whole_percent(share: float) -> str:
    """Return a share as text such as ``"42 %"``; only shares of exactly 0 and 1 give 0 and 100 %."""
    rounded = round(100.0 * share)
    return f"{min(max(rounded, 1), 99) if 0.0 < share < 1.0 else rounded} %"


def is_label(value: Any) -> bool:
    """Return whether a value is hashable, so that it can be the label of a row or a variable."""
    try:
        hash(value)
    except (TypeError, ValueError):
        return False
    return True


#: Option -> value in other programs -> the value here.
FOREIGN_VALUES = {"na": dict.fromkeys(("omit", "na.omit", "exclude", "listwise", "complete.obs"), "drop")}


def one_of(option: str, value: object, allowed: Iterable[str], error: type[OptionError] = OptionError) -> str:
    """Return `value` if it is one of the `allowed` names; raise `error` with the nearest name if not.

    The error lists the allowed names, unless there are many and one of them is close to `value`.
    """
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return str(value)
    text, names = shown(value), listed(allowed, 40)
    meant = FOREIGN_VALUES.get(option, {}).get(value) if isinstance(value, str) else None
    hint = f" Did you mean {meant!r}?" if meant in allowed else nearest(value, allowed)
    if not hint:
        raise error(f"{option}={text} is not known; allowed values are {names}.")
    if len(allowed) > MOST_LISTED:
        raise error(f"{option}={text} is not known.{hint}")
    raise error(f"{option}={text} is not known.{hint} Allowed values are {names}.")


def flag(option: str, value: Any) -> bool:
    """Return `value` as a bool; numbers and text are refused."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise OptionError(f"{option}={shown(value)} was given; it must be True or False.")


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether `value` is a whole number of any type, such as 3, 3.0 or Decimal(3), but not a bool."""
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, numbers.Integral):
        return hasattr(value, "__index__")  # timedelta64, an integer type of NumPy, has none
    if not isinstance(value, numbers.Real | Decimal):
        return False
    try:
        return bool(value == math.floor(value))
    except (OverflowError, ValueError):  # infinite, or not a number
        return False


def text(option: str, value: Any) -> str:
    """Return `value` if it is text; raise OptionError if not."""
    if isinstance(value, str):
        return str(value)
    raise OptionError(f"{option}={shown(value)} was given; it must be text.")


def integers_if_whole(values: np.ndarray) -> np.ndarray:
    """Return numbers, such as sums of weights, as integers if all are whole."""
    return values.astype(int) if (values == np.round(values)).all() else values


def whole_number(
    option: str,
    value: Any,
    low: int,
    high: int | None = None,
    error: type[OptionError] = OptionError,
    largest_is: str = "",
) -> int:
    """Return `value` as an int between `low` and `high`; a bool, a fraction or a duration is refused.

    `largest_is` describes `high` in the message, such as "the number of variables".
    """
    fits = is_whole(value)
    largest = LARGEST_WHOLE if high is None else high
    if fits and low <= int(value) <= largest:
        return int(value)
    bounded = largest < 1_000_000 or (
        fits and int(value) > largest
    )  # a distant bound is named only if exceeded
    bound = f"{largest:,}, {largest_is}" if largest_is else f"{largest:,}"
    reach = f"from {low:,} to {bound}" if bounded else f"of {low:,} or more"
    raise error(f"{option}={shown(value)} was given; it must be a whole number {reach}.")


def real_number(
    option: str,
    value: Any,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    error: type[OptionError] = OptionError,
) -> float:
    """Return `value` as a float in [low, high], or in (low, high] with `open_low`."""
    number = _as_float(value)
    if (number > low if open_low else number >= low) and number <= high:
        return number
    if high == math.inf:
        reach = f"above {low:g}" if open_low else f"of {low:g} or more"
    else:
        reach = f"in {'(' if open_low else '['}{low:.3g}, {high:g}]"
    is_percentage = high == 1.0 and 2.0 <= number <= 100.0
    advice = f", such as {number / 100:g} for {number:g} %" if is_percentage else ""
    raise error(f"{option}={shown(value)} was given; it must be a number {reach}{advice}.")


def checked_level(level: Any) -> float:
    """Return the confidence level of an interval, an ellipse or a limit, a number in (0, 1)."""
    number = _as_float(level)
    if 0.0 < number < 1.0:
        return number
    raise OptionError(f"level={shown(level)} was given; it must be a number between 0 and 1, such as 0.95.")


def _as_float(value: Any) -> float:
    """Return a real number as a float; NaN for other values, and for numbers too large for a float."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or (isinstance(value, numbers.Integral) and not is_whole(value)):
        return float("nan")
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):
        return float("nan")


def generator(rng: Any) -> np.random.Generator:
    """Return a NumPy generator for `rng`; None stands for the fixed seed 0.

    Raises
    ------
    OptionError
        If `rng` is neither None, a whole number of 0 or more, nor a ``numpy.random.Generator``.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng(0)
    if is_whole(rng) and 0 <= int(rng) < LARGEST_SEED:
        return np.random.default_rng(int(rng))
    raise OptionError(
        f"rng={shown(rng)} was given; it must be None (the fixed seed 0), a whole number from 0 to 2**128 - "
        "1, or a numpy.random.Generator."
    )


def seed_of(rng: Any) -> int:
    """Return the seed of all draws: 0 for None, the number itself, or a number drawn from a generator.

    Raises
    ------
    OptionError
        If `rng` is none of these.
    """
    source = generator(rng)
    if rng is None:
        return 0
    return int(source.integers(2**63)) if rng is source else int(rng)


def draw_generator(seed: int, number: int) -> np.random.Generator:
    """Return the random generator of one draw, independent of the generators of other draws."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def library_of(value: Any) -> str:
    """Return the name of the package that defines the type of a value."""
    return type(value).__module__.partition(".")[0]


def offers(value: Any, name: str) -> bool:
    """Whether a value has an attribute; False if looking it up raises any error."""
    try:
        return hasattr(value, name)
    except Exception:  # a class of the user may raise anything
        return False


def is_single(value: Any) -> bool:
    """Whether a value is a single value and not a sequence; text, mappings and sets count as single."""
    no_sequence = isinstance(value, (str, bytes, bytearray, memoryview, Mapping, Set))
    return no_sequence or not isinstance(value, Iterable) or getattr(value, "shape", None) == ()


def elements(value: Any, limit: int) -> list[Any]:
    """Return at most the first ``limit + 1`` elements of a sequence, or a list of the value itself.

    If iteration fails, a list of the value itself is returned as well; a later check will refuse it.
    """
    if is_single(value):
        return [value[()] if isinstance(value, np.ndarray) else value]
    try:
        return list(itertools.islice(value, limit + 1))
    except Exception:
        return [value]


def each(option: str, value: Any, k: int, error: type[OptionError] = OptionError) -> list[Any]:
    """Return k values, one for each component: the values of a sequence, or a single value k times."""
    values = elements(value, k)
    if is_single(value) or (len(values) == 1 and values[0] is value):
        return values * k
    if len(values) != k:
        raise error(
            f"{option} has {_count(value, values)}, but k={k}; give one for all components, or a list of {k}."
        )
    return values


def _count(value: Any, start: list[Any]) -> str:
    """Return the number of values as text; for an iterator, "at least" the number already taken."""
    try:
        return plural(len(value), "value")
    except Exception:  # an iterator, or a sparse array
        return f"{'at least ' * bool(start)}{plural(len(start), 'value')}"


def require_extra(module: str, extra: str, feature: str, package: str = "") -> Any:
    """Import and return a module of an optional dependency.

    Parameters
    ----------
    module : str
    extra : str
        The extra of this package that installs it.
    feature : str
        The function that needs it, for the message.
    package : str
        The name of the package, if it differs from the name of the module.

    Raises
    ------
    ExtraError
        If the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ExtraError(
            f"{feature} needs {package or module}, which is not installed: pip install 'spcastat[{extra}]'."
        ) from error


def user_frame() -> FrameType | None:
    """Return the innermost frame of the call stack outside the package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "spcastat":
        frame = frame.f_back
    return frame


#: The function that receives warnings in this thread instead of Python's warnings.
_receiver: ContextVar[Callable[[str], None] | None] = ContextVar("_receiver", default=None)


@contextmanager
def warnings_told(to: Callable[[str], None]) -> Iterator[None]:
    """Pass the text of each distinct warning of the package to a function, once, in this thread only.

    Python's warning filters, which all threads share, are not changed.
    """
    messages: set[str] = set()

    def tell(message: str) -> None:
        if message not in messages:
            messages.add(message)
            to(message)

    token = _receiver.set(tell)
    try:
        yield
    finally:
        _receiver.reset(token)


#: Modules between a user's call and a warning: this package, and functools, which calls cached properties.
_INTERNAL = ("spcastat", "functools")


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that refers to the user's line, however deep in the package it is raised."""
    receiver = _receiver.get()
    if receiver is not None:
        receiver(message)
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INTERNAL:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


# --- names in other programs ----------------------------------------------------------------------


_K = "the number of components is k="
_SPARSITY = (
    "the sparsity is set by card=, the number of nonzero loadings of each component, or by variance=, the "
    "share of PCA's variance to reach"
)
_SEED = "the seed is rng="
_SCALE = "scale=True divides the columns by their standard deviations"
_NUMBER_OF_COMPONENTS = (
    *("n_components", "ncomp", "ncp", "K", "n_factors", "nfactors", "npc"),
    *("rank", "rank."),
)
_SEED_NAMES = ("random_state", "seed")
_SCALE_NAMES = ("standardize", "standardise", "normalize", "scaled", "scale_unit", "scale.", "cor")
_MISSING_VALUES = ("impute", "missing", "na_action", "na.action", "na.rm", "dropna")
#: Argument of PCA in other programs -> advice.
ARGUMENTS = {
    **dict.fromkeys(_NUMBER_OF_COMPONENTS, _K),
    **dict.fromkeys(
        (
            *("keepX", "keep", "sparse", "sparsity", "para", "sumabsv", "nonzeros", "nnz", "cardinality"),
            *("l1", "lambda_"),
        ),
        _SPARSITY,
    ),
    "alpha": f"{_SPARSITY}; methods with a penalty accept penalty=, and nspca also orthonormality=",
    **dict.fromkeys(_SEED_NAMES, _SEED),
    **dict.fromkeys(_SCALE_NAMES, _SCALE),
    **dict.fromkeys(("nrestart", "n_starts", "nstart"), "the number of starts is n_init="),
    **dict.fromkeys(("maxiter", "n_iterations"), "the number of iterations is max_iter="),
    **dict.fromkeys(_MISSING_VALUES, 'missing values are handled by na="em" or na="drop"'),
    "retx": "fit.scores contains the scores of every fit of rows",
    "covmat": "a covariance or correlation matrix is fitted by spca_cov(S, k)",
    "subset": "give the rows, df.loc[rows]",
    "verbose": "progress=True shows the progress of the computation",
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
#: Methods that were removed, and what to use instead.
REMOVED_METHODS = {
    **dict.fromkeys(
        ("dcpca", "gspca", "iterative-elimination"),
        "the default method finds at least as good supports, and 'greedy' also adds one variable at a time",
    ),
    "bcd-lad": "for rows give robust=True, which tolerates more outlying cells and rows",
    **dict.fromkeys(
        ("r1-pca", "l1-factor"),
        "for rows give robust=True for sparse components, or method='pca-l1' for dense ones",
    ),
}
#: Arguments that were removed from one function only, since other functions have arguments of that name.
REMOVED_FROM = {
    ("SpcaResult.certify", "orthogonal"): 'fit with constraint="orthogonal", whose proofs are for such '
    "loadings",
    ("SpcaResult.summary", "complexity"): "from s, the squares of fit.loadings * fit.scores.std(), it is "
    "s.sum(axis=1) ** 2 / (s**2).sum(axis=1)",
}
_COLUMNS_BEFORE = (
    "it uses all columns of X: choose and transform them in a step before it, such as ColumnTransformer, or "
    "fit the rows with sp.spca(df, k, {}=...)"
)
#: Arguments that only a few functions have -> which functions have them.
FEW_FUNCTIONS = {
    "imputations": "imputations are pooled by spca(imputations=frames), spca_path(), choose() and "
    "rows(imputations=frames), which choose_k(), sparse_loadings() and principal_variables() take as data, "
    "and by fit(X, imputations=frames) of the estimators; give the others one table"
}
#: Advice for functions that do not have `robust`, an option of rows.
WITHOUT_ROBUST = "leave it out; spca(data, k, robust=True).robust lists the cells and rows to correct first"
#: (method of a result, argument that it does not have) -> advice.
OF_METHODS = {
    ("bootstrap", "level"): "give the level of the intervals where they are computed, such as "
    "fit.bootstrap().conf_int(level=0.95)",
}
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
#: Names of an argument in other programs -> its names here; a function has at most one of these.
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
    """Return this package's name of the argument `name` of other programs, the closest name, or ""."""
    for own_names in _OWN_NAMES.get(name, ()):
        if own_names in options:
            return own_names
    return nearest_name(name, sorted(options))


def unknown_argument(function: str, name: str, options: Sequence[str]) -> UnknownOptionError:
    """Return the error for an argument that a function does not have."""
    if instead := REMOVED_ARGUMENTS.get(name) or REMOVED_FROM.get((function, name)):
        return UnknownOptionError(f"{function}() no longer has {name}=; {instead}.")
    if function == "SparsePCA" and name in NOT_IN_ESTIMATOR:
        return UnknownOptionError(f"{function}() has no argument {name}=; {NOT_IN_ESTIMATOR[name]}.")
    method_advice = OF_METHODS.get((function.rpartition(".")[2], name))
    if answer := method_advice or {**FEW_FUNCTIONS, "robust": WITHOUT_ROBUST}.get(name):
        return UnknownOptionError(f"{function}() has no argument {name}=; {answer}.")
    has = listed(options, 12) or "none"
    return UnknownOptionError(
        f"{function}() has no argument {name}=; it has {has}.", close_name(name, options)
    )


#: Attribute of a fit in other programs -> its equivalent here.
_LOADINGS, _VARIANCE_SHARES = "loadings", "variance['share of total']"
_CUMULATIVE_PEV = "variance['cumulative PEV']"
_ATTRIBUTES = {
    **dict.fromkeys(("loading", "loadings_", "rotation", "v", "V", "vect", "weights", "coef_"), _LOADINGS),
    "components_": "loadings.T",
    **dict.fromkeys(("scores_", "x", "u", "U", "variates", "ind", "row_scores"), "scores"),
    **dict.fromkeys(("explained_variance_ratio_", "prop_expl_var", "Vaccounted"), _VARIANCE_SHARES),
    **dict.fromkeys(("cpev", "PEV", "cum_pev", "cumvar"), _CUMULATIVE_PEV),
    **dict.fromkeys(("explained_variance_", "eig", "values", "importance"), "variance"),
    **dict.fromkeys(("total_var", "totvar", "sum_pev", "var_all"), "total_variance"),
    **dict.fromkeys(("center", "mean_", "scale", "scale_", "means"), "equations()"),
    **dict.fromkeys(("n_iter", "n_iter_", "iter"), "glance()['n_iter']"),
    **dict.fromkeys(("feature_names_in_", "features", "variables", "colnames"), "loadings.index"),
    **dict.fromkeys(("coord", "cor", "structure"), "correlations"),
    **dict.fromkeys(("fit_transform", "factor_scores", "T"), "scores"),
    **dict.fromkeys(("inverse", "reconstruct", "fitted"), "inverse_transform(fit.scores)"),
    **dict.fromkeys(("score", "pev"), "measure('pev')"),
    "n_features_in_": "loadings.shape[0]",
    **dict.fromkeys(("sdev", "singular_values_", "d"), "variance['score variance'] ** 0.5"),
    **dict.fromkeys(("n_components", "n_components_", "ncomp"), "k"),
    **dict.fromkeys(("communality", "communality_"), "communalities"),
    **dict.fromkeys(("predict", "project"), "transform(new)"),
    **dict.fromkeys(("plot", "plotIndiv"), "plot_scores()"),
    **dict.fromkeys(("plotVar",), "plot_correlations()"),
    **dict.fromkeys(("scree", "plot_scree", "plot_variance", "scree_plot", "fviz_eig"), "screeplot()"),
    **dict.fromkeys(("plot_biplot", "fviz_pca_biplot"), "biplot()"),
}


def attribute_error(owner: object, name: str) -> AttributeError:
    """Return the error for an attribute that a fit lacks.

    The message gives the spcastat equivalent of a name from another package.
    """
    kind = type(owner).__name__
    equivalent = _ATTRIBUTES.get(name)
    if equivalent is not None:
        answer = f". Did you mean fit.{equivalent}?"
    else:
        attributes = [attribute for attribute in dir(type(owner)) if not attribute.startswith("_")]
        answer = f".{nearest(name, attributes)}"
    # obj=None: given the owner, Python would append its own suggestion, which may be a private name
    return AttributeError(f"{kind} has no attribute {name!r}{answer}", name=name, obj=None)


#: Method of other programs -> the name of the method here.
FOREIGN_METHODS = {
    **dict.fromkeys(("elasticnet", "spca", "SPCA", "arrayspc", "sparsepca", "SparsePCA", "robspca"), "zou"),
    **dict.fromkeys(("PMD", "SPC", "spc", "PMA", "penalized"), "pmd"),
    **dict.fromkeys(("rspca", "sPCA-rSVD", "sPCArSVD", "spca-rsvd", "mixOmics", "rsvd"), "rsvd-l1"),
    **dict.fromkeys(("prcomp", "princomp", "svd", "dense"), "pca"),
    **dict.fromkeys(("uspca", "cspca", "default"), "joint"),
    **dict.fromkeys(("robust", "sPCAgrid"), "spcagrid"),
    **dict.fromkeys(("tpower", "TPower"), "rsvd-l0"),
    "varimax": "rotate",
    "nsprcomp": "empca",
    "gpower": "gpower-l1",
}


# --- calls ------------------------------------------------------------------------------------------


Function = TypeVar("Function", bound=Callable[..., Any])
_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
#: Names of positional-only parameters -> what messages call them.
_WORDS = {"data_or_formula": "the data"}


def explained(function: Function) -> Function:
    """Return `function`, wrapped so that wrong arguments raise an error of the package in one sentence.

    A TypeError raised inside the function is passed on unchanged: the traceback ends in this wrapper only if
    Python refused the call itself.

    Raises
    ------
    UnknownOptionError
        For an argument that the function does not have.
    ArgumentsError
        For arguments that are missing, given twice, or too many by position.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except UnknownOptionError as error:
            reason = _without_given(function, error, len(arguments), options)
            if reason is error:
                raise
        except TypeError as error:
            traceback = error.__traceback__
            if traceback is None or traceback.tb_next is not None:
                raise
            refusal = _refusal(function, len(arguments), options)
            if refusal is None:
                raise
            reason = _without_given(function, refusal, len(arguments), options)
        raise reason

    return cast(Function, call)


def _without_given(
    function: Callable[..., Any],
    error: UnknownOptionError | ArgumentsError,
    count: int,
    options: Collection[str],
) -> UnknownOptionError | ArgumentsError:
    """Return `error`, without its suggestion if the call already gives the suggested argument.

    The call has `count` positional arguments and the keyword arguments `options`.
    """
    argument_names = {*[*inspect.signature(function).parameters][:count], *options}
    if isinstance(error, ArgumentsError) or error.suggestion not in argument_names:
        return error
    return UnknownOptionError(error.message)


class Explained:
    """Base class of classes whose public methods are `explained`."""

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        for name, member in list(vars(cls).items()):
            if inspect.isfunction(member) and not name.startswith("_"):
                setattr(cls, name, explained(member))


class Unchanging:
    """Base class of immutable results, whose attributes are private and are set once."""

    #: Advice for users who try to set an attribute.
    _instead: ClassVar[str] = "call the function or method that returned it again, with other arguments"
    #: Removed attributes, and what to use instead.
    _former: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> Any:
            if name in self._former:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}; {self._former[name]}"
                )
            return object.__getattribute__(self, name)  # raises the error of the property, or the usual one

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") and name not in self.__dict__:
            object.__setattr__(self, name, value)
        else:
            raise AttributeError(
                f"{name} of {type(self).__name__} cannot be set, since results do not change: "
                f"{self._instead}."
            )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"{name} of {type(self).__name__} cannot be deleted, since results do not change: "
            f"{self._instead}."
        )


def _refusal(
    function: Callable[..., Any], count: int, options: Mapping[str, Any]
) -> UnknownOptionError | ArgumentsError | None:
    """Return the error for a call with `count` positional arguments and `options`; None if it is valid."""
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
                f"{called}() was given {parameter.name}= twice, by position and by name; give it once."
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
    """Return the error for a call without the `required` arguments whose names are in `missing`."""
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
    """Return the error for a call with more positional arguments than a function accepts."""
    place_names = [_WORDS.get(parameter.name, parameter.name) for parameter in places]
    later_options = [f"{name}=" for name in names if name not in {parameter.name for parameter in places}]
    advice = (
        f"give {'others' if place_names else 'them'} by name, such as {', '.join(later_options[:3])}"
        if later_options
        else "leave the others out"
    )
    takes = f"only {', '.join(place_names)}" if place_names else "none"
    return ArgumentsError(
        f"{called}() was given {plural(count, 'argument')} by position, but accepts {takes} in this way; "
        f"{advice}."
    )
