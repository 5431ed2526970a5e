"""Every argument of every public function and method, found by introspection, with a valid call of each.

Public are the functions of ``spcastat.__all__``, of the modules of data sets, measures, plots and tables, and
the methods without a leading underscore of the results. New functions and arguments are found automatically;
an argument without default needs a value in `GOOD`.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd

import spcastat as sp
from spcastat.argument_types import ReadOptions, RowOptions
from tests.hostile_values import covariance, frame

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
    "choose": {"k": 1, "cards": [1, 2], "by": "cv", "folds": 3, "n_draws": 19, "rng": 1},
    "choose_k": {"n_draws": 19, "rng": 1},
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
    from spcastat.show.fit_tables import loadings_table, variance_table
    from spcastat.show.renderings import render

    for name in sp.__all__:
        if inspect.isfunction(getattr(sp, name)):
            yield name, getattr(sp, name)
    for module in (sp.datasets, plots):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name)
    for function in (loadings_table, render, variance_table):
        yield f"tables.{function.__name__}", function
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
    yield "Scales", lambda: fit().scales()
    yield "Description", lambda: fit().describe()
    yield "ScoreChunks", lambda: sp.spca([frame(6), frame(6)], K, CARD).scores
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
            if one.kind is one.VAR_KEYWORD:
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
    if name.startswith("plots.plot_components"):
        return {"table": lambda: number().table}
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
    for key in ReadOptions.__annotations__:
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
