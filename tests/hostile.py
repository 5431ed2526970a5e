"""Invalid and unusual values, and every public argument, to which `test_hostile.py` passes them.

Public functions, methods and arguments are found by introspection; an argument without default needs a value
in `GOOD`. Each value is made for each call, as some can be used only once.
"""

from __future__ import annotations

import copy
import datetime
import inspect
import io
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sps

import spcastat as sp
from spcastat.hints import RowOptions, TableReading


@dataclass(frozen=True)
class Value:
    """A value for an argument.

    Attributes
    ----------
    name : str
    make : callable
        Returns the value.
    plain : callable or None
        Returns the ordinary value that means the same, if there is one: 2 for ``np.int64(2)``.
    """

    name: str
    make: Callable[[], Any]
    plain: Callable[[], Any] | None = None


class Unprintable:
    """An object whose ``repr`` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Undecided:
    """An object without truth value, comparison, length and hash."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("no truth value")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")

    def __len__(self) -> int:
        raise ValueError("no length")


class Pretender:
    """An object whose conversion to an array fails."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array")


class Anything:
    """A class that can be called with anything."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


def numbers(n: int = 12, p: int = 4) -> np.ndarray:
    """Return normal numbers of shape (n, p), the same in each call."""
    return np.random.default_rng(1).standard_normal((n, p)) * np.arange(1.0, p + 1)


def frame(n: int = 12, columns: Any = ("a", "b", "c", "d")) -> pd.DataFrame:
    """Return these numbers as a data frame."""
    names = list(columns)
    return pd.DataFrame(numbers(n, len(names)), columns=pd.Index(names, tupleize_cols=False))


def covariance() -> pd.DataFrame:
    """Return the covariance matrix of `frame()`."""
    return frame().cov()


def used_up() -> Iterator[int]:
    """Return an iterator with nothing left."""
    steps = iter([1, 2])
    list(steps)
    return steps


def in_itself() -> list[Any]:
    """Return a list that is its own element."""
    loop: list[Any] = []
    loop.append(loop)
    return loop


def masked() -> np.ma.MaskedArray[Any, Any]:
    """Return rows of which one value is masked."""
    return np.ma.masked_greater(numbers(), numbers().max() - 1e-9)


def locked() -> np.ndarray:
    """Return a read-only array."""
    rows = numbers()
    rows.flags.writeable = False
    return rows


def closed_file() -> io.BytesIO:
    """Return a file handle that is closed."""
    handle = io.BytesIO(b"text")
    handle.close()
    return handle


_STRUCTURED = np.dtype([("a", float), ("b", float)])


def _surrogate() -> pd.DataFrame:
    return frame().set_axis(pd.Index(["a\ud800", "b", "c", "d"], dtype=object), axis=1)


SCALARS = [
    Value("None", lambda: None),
    Value("True", lambda: True),
    Value("np.True_", lambda: np.bool_(True), lambda: True),
    Value("nan", lambda: float("nan")),
    Value("inf", lambda: float("inf")),
    Value("-inf", lambda: float("-inf")),
    Value("-0.0", lambda: -0.0, lambda: 0.0),
    Value("0", lambda: 0),
    Value("-1", lambda: -1),
    Value("1e-320", lambda: 1e-320),
    Value("1e308", lambda: 1e308),
    Value("2.5", lambda: 2.5),
    Value("10**20", lambda: 10**20),
    Value("-10**20", lambda: -(10**20)),
    Value("10**400", lambda: 10**400),
    Value("10**5000", lambda: 10**5000),
    Value("2**63", lambda: 2**63),
    Value("2**31", lambda: 2**31),
    Value("np.int64(2)", lambda: np.int64(2), lambda: 2),
    Value("np.uint8(2)", lambda: np.uint8(2), lambda: 2),
    Value("np.float16(0.5)", lambda: np.float16(0.5), lambda: 0.5),
    Value("np.longdouble(0.5)", lambda: np.longdouble(0.5), lambda: 0.5),
    Value("1j", lambda: 1j),
    Value("Decimal", lambda: Decimal("0.5"), lambda: 0.5),
    Value("Decimal nan", lambda: Decimal("sNaN")),
    Value("Fraction", lambda: Fraction(1, 2), lambda: 0.5),
    Value("Fraction 10**400", lambda: Fraction(10**400, 3)),
    Value("datetime64", lambda: np.datetime64("2020-01-01")),
    Value("timedelta64(2)", lambda: np.timedelta64(2)),
    Value("NaT", lambda: np.timedelta64("NaT")),
    Value("pd.NaT", lambda: pd.NaT),
    Value("pd.NA", lambda: pd.NA),
    Value("datetime", lambda: datetime.datetime(2020, 1, 1)),
    Value("...", lambda: ...),
]

TEXTS = [
    Value("''", lambda: ""),
    Value("' '", lambda: " "),
    Value("long text", lambda: "x" * 100_000),
    Value("text with NUL", lambda: "a\0b"),
    Value("surrogate", lambda: "a\ud800"),
    Value("right to left", lambda: "\u202eabc\u05d0"),
    Value("newlines", lambda: "a\nb\r\n"),
    Value("braces", lambda: "{0}{__class__}%s%n"),
    Value("dots", lambda: "../../.."),
    Value("np.str_", lambda: np.str_("abc"), lambda: "abc"),
    Value("b'bytes'", lambda: b"bytes"),
    Value("bytearray", lambda: bytearray(b"ab")),
    Value("memoryview", lambda: memoryview(b"abcd")),
    Value("memoryview of rows", lambda: memoryview(numbers())),
    Value("Path", lambda: pathlib.Path("missing.parquet")),
    Value("folder", lambda: os.curdir),
    Value("open file", lambda: io.BytesIO(b"text")),
    Value("closed file", closed_file),
]

OBJECTS = [
    Value("object()", object),
    Value("unprintable", Unprintable),
    Value("undecided", Undecided),
    Value("pretender", Pretender),
    Value("class", lambda: Anything),
    Value("function", lambda: lambda *args, **kwargs: None),
    Value("generator", lambda: (i for i in range(2))),
    Value("used up iterator", used_up),
    Value("exception", lambda: ValueError("no")),
    Value("module", lambda: os),
]

CONTAINERS = [
    Value("{}", dict),
    Value("{'a': 1}", lambda: {"a": 1}),
    Value("{1: object()}", lambda: {1: object(), None: float("nan")}),
    Value("set", lambda: {1, 2}),
    Value("frozenset", lambda: frozenset({"a"})),
    Value("range", lambda: range(2)),
    Value("huge range", lambda: range(10**15)),
    Value("[]", list),
    Value("()", tuple),
    Value("[None]", lambda: [None]),
    Value("[nan, inf]", lambda: [float("nan"), float("inf")]),
    Value("[1, 'a']", lambda: [1, "a"]),
    Value("[object()]", lambda: [object(), object()]),
    Value("[10**20]", lambda: [10**20, 10**20]),
    Value("[timedelta64]", lambda: [np.timedelta64(2), np.timedelta64(2)]),
    Value("['', surrogate]", lambda: ["", "\ud800"]),
    Value("nested lists", lambda: [[1.0, 2.0], [3.0, 4.0]]),
    Value("ragged lists", lambda: [[1.0], [2.0, 3.0]]),
    Value("a list in itself", in_itself),
]

ARRAYS = [
    Value("empty array", lambda: np.empty(0)),
    Value("0-d array", lambda: np.array(2.0)),
    Value("0-d int array", lambda: np.array(2)),
    Value("1-d array", lambda: np.arange(4.0)),
    Value("n numbers", lambda: np.arange(12.0)),
    Value("3-d array", lambda: np.zeros((2, 3, 4))),
    Value("no columns", lambda: np.empty((3, 0))),
    Value("no rows", lambda: np.empty((0, 3))),
    Value("structured", lambda: np.zeros(3, dtype=_STRUCTURED)),
    Value("recarray", lambda: np.zeros(3, dtype=_STRUCTURED).view(np.recarray)),
    Value("object array", lambda: np.array([[1, "a"], [None, object()]], dtype=object)),
    Value("text array", lambda: np.array(["a", "b"])),
    Value("bytes array", lambda: np.array([b"a", b"b"])),
    Value("dates", lambda: np.arange("2020-01-01", "2020-01-13", dtype="M8[D]")),
    Value("durations", lambda: np.arange(12).astype("m8[s]")),
    Value("complex array", lambda: numbers() + 1j),
    Value("masked array", masked),
    Value("rows", lambda: numbers(), numbers),
    Value(
        "float16 rows",
        lambda: numbers().astype(np.float16),
        lambda: numbers().astype(np.float16).astype(float),
    ),
    Value("longdouble rows", lambda: numbers().astype(np.longdouble), numbers),
    Value("big-endian rows", lambda: numbers().astype(">f8"), numbers),
    Value("non-contiguous rows", lambda: np.repeat(numbers(), 2, axis=0)[::2], numbers),
    Value("reversed rows", lambda: numbers()[::-1][::-1], numbers),
    Value("read-only rows", locked, numbers),
    Value("matrix", lambda: np.matrix(numbers()), numbers),
    Value("nan rows", lambda: np.full((4, 3), np.nan)),
    Value("rows * 1e307", lambda: numbers() * 1e307),
    Value("S * 1e307", lambda: covariance().to_numpy() * 1e307),
    Value("S * 1e-320", lambda: covariance().to_numpy() * 1e-320),
    Value("constant rows", lambda: np.ones((5, 3))),
    Value("sparse", lambda: sps.csr_array(numbers()), numbers),
    Value("sparse coo", lambda: sps.coo_matrix(numbers()), numbers),
    Value("1-d sparse", lambda: sps.coo_array(np.arange(3.0))),
]


def _mixed() -> pd.DataFrame:
    return frame(columns=[1, "1", None, ("a", 1)])


FRAMES = [
    Value("frame", frame, frame),
    Value("covariance", covariance, covariance),
    Value("duplicate labels", lambda: frame(columns=["a", "a", "b", "c"])),
    Value("None as label", lambda: frame(columns=["a", None, "b", "c"])),
    Value("nan as label", lambda: frame(columns=["a", float("nan"), "b", "c"])),
    Value("tuples as labels", lambda: frame(columns=[("a", 1), ("a", 2), ("b", 1), ("b", 2)])),
    Value("mixed labels", _mixed),
    Value("surrogate label", _surrogate),
    Value(
        "MultiIndex columns",
        lambda: frame().set_axis(pd.MultiIndex.from_product([["a", "b"], [1, 2]]), axis=1),
    ),
    Value("MultiIndex rows", lambda: frame().set_axis(pd.MultiIndex.from_product([["a", "b"], range(6)]))),
    Value("empty frame", pd.DataFrame),
    Value("one row", lambda: frame(1)),
    Value("one column", lambda: frame(columns=["a"])),
    Value("constant columns", lambda: frame() * 0 + 0.1),
    Value("text column", lambda: frame().assign(b="x")),
    Value("categorical column", lambda: frame().assign(b=pd.Categorical(["x", "y"] * 6))),
    Value("object column", lambda: frame().assign(b=[[1]] * 12)),
    Value("object numbers", lambda: frame().astype(object)),
    Value("huge integers", lambda: frame().assign(b=[10**30] * 12)),
    Value("decimals", lambda: frame().assign(b=[Decimal(i) for i in range(12)])),
    Value("intervals", lambda: frame().assign(b=pd.interval_range(0, 12))),
    Value("periods", lambda: frame().assign(b=pd.period_range("2020", periods=12, freq="D"))),
    Value("nullable with NA", lambda: frame().astype("Float64").mask(lambda x: x > 2)),
    Value("nullable", lambda: frame().astype("Float64"), frame),
    Value("sparse frame", lambda: frame().astype(pd.SparseDtype(float, 0.0)), frame),
    Value(
        "mixed fill", lambda: frame().assign(b=pd.arrays.SparseArray(numbers()[:, 1], fill_value=1.0)), frame
    ),
    Value("Series", lambda: pd.Series(np.arange(4.0), index=list("abcd"))),
    Value("Series with another index", lambda: pd.Series(np.arange(4.0), index=list("wxyz"))),
    Value("Series of rows", lambda: pd.Series(np.arange(12.0))),
    Value("Series with repeated index", lambda: pd.Series(np.arange(12.0), index=[0] * 12)),
    Value("Series of objects", lambda: pd.Series([object()] * 12)),
    Value("Categorical", lambda: pd.Categorical(["x", None] * 6)),
    Value("Index", lambda: pd.Index(["a", "b"])),
]


def everything() -> list[Value]:
    """Return all values, those of other libraries too where these are installed."""
    return [*SCALARS, *TEXTS, *OBJECTS, *CONTAINERS, *ARRAYS, *FRAMES, *_foreign()]


def _foreign() -> Iterator[Value]:
    try:
        import polars as pl
    except ImportError:
        return
    rows = {"a": [1, 2, 3, 5], "b": [2, 1, 3, 9]}
    yield Value("polars Int128", lambda: pl.DataFrame(rows, schema={"a": pl.Int128, "b": pl.Int128}))
    yield Value("polars lists", lambda: pl.DataFrame({"a": [[1], [2]], "b": [1, 2]}))
    yield Value("polars objects", lambda: pl.DataFrame({"a": [object(), object()], "b": [1, 2]}))
    yield Value("polars struct", lambda: pl.DataFrame({"a": [{"x": 1}, {"x": 2}], "b": [1, 2]}))
    yield Value("polars lazy", lambda: pl.LazyFrame(rows))
    yield Value("polars Series", lambda: pl.Series([1.0, 2.0, 3.0]))


# --- Every argument of every public function and method, with a valid call of each -----------------

K = 2
CARD = 2

#: Valid values of the arguments without default, and of a few others.
GOOD: dict[str, Callable[[], Any]] = {
    "data": frame,
    "S": covariance,
    "k": lambda: K,
    "new": frame,
    "scores": lambda: fit().scores,
    "coordinates": lambda: coordinates().coordinates,
    "fits": lambda: {"one": fit(), "two": fit_covariance()},
    "loadings": lambda: fit().loadings,
    "variance": lambda: fit().variance,
    "diagnostics": lambda: fit().diagnostics(),
    "limits": lambda: fit().limits(),
    "table": lambda: path().table,
    "measures": lambda: sp.compare({"one": fit(), "two": fit()}).measures,
    "document": lambda: fit().summary()._document(),
    "correlation": lambda: None,
    "name": lambda: "pev",
    "card": lambda: CARD,
    "V": lambda: fit().loadings,
    "n": lambda: 20,
    "p": lambda: 80,
    "X": frame,
    "path": lambda: "file.parquet",
    "represented": lambda: principal().represented,
    "spectrum": lambda: number().spectrum,
    "values": lambda: fit().contributions(),
    "correlations": lambda: fit().correlations,
    "frequency": lambda: resampled("stability").frequency,
    "threshold": lambda: 0.75,
    "errors": lambda: pd.DataFrame({"error": [1.0, 0.5], "dense": [1.0, 0.4]}),
    "certificate": lambda: certificate(),
    "names": lambda: {1: "first"},
    "value": lambda: 0.3,
    "slopes": lambda: comparison_of_groups().slopes,
    "groups": lambda: ["x", "y"] * 6,
}

#: Further arguments of valid calls by the name of the callable: few draws, and a seed, so that two calls give
#: the same result.
DRAWS: dict[str, dict[str, Any]] = {
    "choose": {"k": 1, "cards": [1, 2], "by": "cv", "folds": 3, "rng": 1},
    "choose_k": {"n_draws": 19, "rng": 1},
    "principal_variables": {"m": 2, "k": 1, "folds": 3, "n_resamples": 5, "rng": 1},
    "principal_variables_cov": {"m": 2, "k": 1},
    "compare_groups": {"card": CARD, "n_draws": 19, "rng": 1},
    "SparseLoadings.bootstrap": {"n": 20, "rng": 1},
    "Choice.stability": {"n": 2},
    "SpcaResult.bootstrap": {"n": 20, "rng": 1},
    "SpcaResult.stability": {"n": 5, "rng": 1},
    "SpcaResult.split_inference": {"n": 20, "rng": 1},
    "SpcaResult.test_loadings": {"n": 20, "rng": 1},
}

#: Values of the controls of sparsity in calls with other options.
CONTROL: dict[str, Any] = {"card": CARD, "t": 1.2, "penalty": 0.1, "threshold": 0.1, "variance": 0.9}


@cache
def fit() -> Any:
    """Return a fit of rows."""
    return sp.spca(frame(), K, CARD)


@cache
def fit_covariance() -> Any:
    """Return a fit of a covariance matrix with means."""
    return sp.spca_cov(covariance(), K, CARD, mean=[0.0] * 4)


@cache
def path() -> Any:
    """Return a path."""
    return sp.spca_path(frame(), 1, cards=[1, 2])


@cache
def coordinates() -> Any:
    """Return sparse principal coordinates."""
    return sp.spco(frame(), K, zeros=0.3)


@cache
def principal() -> Any:
    """Return two variables that represent four."""
    return sp.principal_variables(frame(), **DRAWS["principal_variables"])


@cache
def comparison() -> Any:
    """Return a comparison of two fits."""
    return sp.compare({"one": fit(), "two": fit_covariance()})


@cache
def choice() -> Any:
    """Return a choice of cardinalities."""
    return sp.choose(frame(), **DRAWS["choose"])


@cache
def number() -> Any:
    """Return a choice of the number of components."""
    return sp.choose_k(frame(), **DRAWS["choose_k"])


@cache
def comparison_of_groups() -> Any:
    """Return a comparison of two groups of rows."""
    return sp.compare_groups(frame(), ["x", "y"] * 6, 1, **DRAWS["compare_groups"])


@cache
def sparse_loadings() -> Any:
    """Return sparse loadings."""
    return sp.sparse_loadings(frame(), K, CARD)


@cache
def resampled(name: str) -> Any:
    """Return the result of the resampling method `name` of a fit."""
    return getattr(fit(), name)(**DRAWS[f"SpcaResult.{name}"])


@cache
def certificate() -> Any:
    """Return a certificate of `fit()`."""
    return fit().certify(joint=False)


@cache
def supplement() -> Any:
    """Return supplementary rows and variables."""
    return fit().supplement(frame(), frame(columns=("e", "f")))


def estimator() -> Any:
    """Return a fitted estimator of scikit-learn."""
    from spcastat.sklearn import SparsePCA

    return SparsePCA(K, card=CARD).fit(frame())


@dataclass(frozen=True)
class Target:
    """One argument of one public callable.

    Attributes
    ----------
    name : str
        ``"spca(center)"``.
    argument : str
    call : callable
        Calls it with keyword arguments.
    given : mapping
        Other arguments of a valid call, each as a function that returns it.
    keyword : bool
        Whether the argument is passed by name.
    """

    name: str
    argument: str
    call: Callable[..., Any]
    given: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    keyword: bool = True

    def run(self, value: Any) -> Any:
        """Call with `value` for the argument."""
        given = {name: make() for name, make in self.given.items()}
        if not self.keyword:
            return self.call(value, **given)
        return self.call(**{**given, self.argument: value})


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the name and the object of every public function."""
    from spcastat import plots

    for name in sp.__all__:
        if inspect.isfunction(getattr(sp, name)):
            yield name, getattr(sp, name)
    for module in (sp.datasets, plots):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name)
    for name in sp.measures.MEASURES:
        yield f"measures.{name}", getattr(sp.measures, name)


def results() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of every class of results, and a function that makes an instance."""
    yield "SpcaResult", lambda: copy.copy(fit())
    yield "SpcaPath", path
    yield "SpcoResult", coordinates
    yield "Comparison", comparison
    yield "Summary", lambda: fit().summary()
    yield "Choice", choice
    yield "ComponentChoice", number
    yield "Bootstrap", lambda: resampled("bootstrap")
    yield "Stability", lambda: resampled("stability")
    yield "SplitInference", lambda: resampled("split_inference")
    yield "LoadingTest", lambda: resampled("test_loadings")
    yield "Certificate", certificate
    yield "Supplement", supplement
    yield "SpcoPath", lambda: coordinates().path([0.3, 0.6])
    yield "SparseLoadings", sparse_loadings
    yield "LoadingsBootstrap", lambda: sparse_loadings().bootstrap(**DRAWS["SparseLoadings.bootstrap"])
    yield "GroupComparison", comparison_of_groups
    yield "ChoiceStability", lambda: choice().stability(**DRAWS["Choice.stability"])
    yield "PrincipalVariablesResult", principal
    yield "Scales", lambda: fit().scales()
    yield "Description", lambda: fit().describe()
    yield "ScoreChunks", lambda: sp.spca([frame()[:6], frame()[6:]], K, CARD).scores
    try:
        import spcastat.sklearn  # noqa: F401
    except ImportError:
        return
    yield "SparsePCA", estimator


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the name of every public method of a result, bound to a valid result."""
    for name, make in results():
        kind = type(make())
        for attribute, _ in inspect.getmembers(kind, callable):
            home = next((base for base in kind.__mro__ if attribute in vars(base)), object)
            ours = home.__module__.partition(".")[0] == "spcastat"
            if ours and (not attribute.startswith("_") or attribute == "__getitem__"):
                if isinstance(inspect.getattr_static(kind, attribute), classmethod):
                    continue  # SpcaResult.of, which the package itself calls
                method = getattr(make(), attribute)
                if method.__module__.partition(".")[0] == "spcastat":  # set_fit_request is scikit-learn's
                    yield f"{name}.{attribute}", method


def targets() -> Iterator[Target]:
    """Yield every argument of every public callable."""
    for name, function in [*functions(), *methods()]:
        parameters = inspect.signature(function).parameters
        needed = {
            key: GOOD[key]
            for key, one in parameters.items()
            if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        }
        needed.update(_further(name, parameters))
        for key, one in parameters.items():
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            given = {other: make for other, make in needed.items() if other != key}
            if key == "data_or_formula":
                given.pop("data", None)
            if key in CONTROL and name in ("spca", "spca_cov"):
                given.pop("card", None)
            if key == "context" or key == "categorical":
                given["formula"] = lambda: "~ a + b + c"
            if key == "palette" and "groups" in parameters:
                given["groups"] = lambda: ["x", "y"] * 6
            if name == "spco" and key == "penalty":
                given.pop("zeros", None)
            yield Target(f"{name}({key})", key, function, given, one.kind is not one.POSITIONAL_ONLY)
    yield from _of_the_data()
    yield from _options()
    yield from _estimator()


def _further(name: str, parameters: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return the arguments of a valid call that have a default."""
    first = {"data": GOOD["data"]} if "data_or_formula" in parameters else {}
    if "data_or_formula" in parameters and name in ("spca", "spca_path", "spco", "sparse_loadings"):
        first["k"] = GOOD["k"]
    if name == "compare_groups":
        first |= {"k": GOOD["k"], "groups": GOOD["groups"]}
    if name in DRAWS:
        return first | {key: lambda value=value: copy.copy(value) for key, value in DRAWS[name].items()}
    if name.startswith("plots.plot_choice"):
        return {"table": lambda: choice().table}
    if name.startswith("plots.plot_kept"):
        return {"path": lambda: principal().path}
    if name in ("spca", "spca_cov", "sparse_loadings", "sparse_loadings_cov"):
        return first | {"card": GOOD["card"]}
    if name == "spca_path":
        return first | {"cards": lambda: [1, 2]}
    if name == "spco":
        return first | {"zeros": lambda: 0.3}
    if name.startswith("measures."):
        return {"X": frame}
    return {}


def _of_the_data() -> Iterator[Target]:
    """Yield the options that describe the data, which signatures do not name."""
    fitting = {"data": GOOD["data"], "k": GOOD["k"], "card": GOOD["card"]}
    for key in RowOptions.__annotations__:
        formula = {"formula": lambda: "~ a + b + c"} if key in ("context", "categorical") else {}
        yield Target(f"spca({key})", key, sp.spca, {**fitting, **formula})
        yield Target(f"choose_k({key})", key, sp.choose_k, {"data": GOOD["data"], **formula})
    for key in TableReading.__annotations__:
        given = {"data": GOOD["data"], "k": GOOD["k"], "zeros": lambda: 0.3}
        yield Target(f"spco({key})", key, sp.spco, given)


def _options() -> Iterator[Target]:
    """Yield the options of methods that the signature of `spca` does not name, for one method each."""
    from spcastat.fit.method_table import SOLVERS

    named = inspect.signature(sp.spca).parameters
    seen: set[str] = set()
    for method in SOLVERS.values():
        for option in method.options:
            if option in seen or (option in named and option not in ("tol", "max_iter", "n_init", "nonneg")):
                continue
            seen.add(option)
            given: dict[str, Any] = {"data": frame, "k": GOOD["k"], "method": lambda name=method.name: name}
            controls = method.controls
            if controls and option not in controls:
                given[controls[0]] = lambda name=controls[0]: CONTROL[name]
            yield Target(f"spca({option}, method={method.name!r})", option, sp.spca, given)


def _estimator() -> Iterator[Target]:
    """Yield the parameters of the estimator, which it checks when it is fitted."""
    try:
        from spcastat.sklearn import SparsePCA
    except ImportError:
        return
    for name in inspect.signature(SparsePCA).parameters:

        def call(name: str = name, **given: Any) -> Any:
            good = {} if name == "variance" else {"card": CARD}
            return SparsePCA(**{**good, **given}).fit(frame())

        yield Target(f"SparsePCA({name})", name, call)
