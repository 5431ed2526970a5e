"""What a fit shows of its inference: results that it is given, and the same results read from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from spcastat.config import shown
from spcastat.errors import OptionError
from spcastat.fit.state import FitState
from spcastat.results.proofs import Certificate
from spcastat.results.resampling import Bootstrap, LoadingTest, SplitInference, Stability
from spcastat.show.renderings import Shown

#: What to do instead of setting an attribute of a fit.
FITS_INSTEAD = "refit(), rename() and with_inference() return new fits"
#: Former attributes of fits, and what took their place.
FORMER = {"resampled": "the results that a fit shows are in inference: fit.with_inference(result).inference"}


class FitInference(TypedDict, total=False):
    """The results that a fit shows, by the name of the method that made them; proofs are `certificates`."""

    bootstrap: Bootstrap
    stability: Stability
    split_inference: SplitInference
    test_loadings: LoadingTest
    certificates: tuple[Certificate, ...]


#: Classes of the results that a fit shows, with the method that returns them.
RESULTS: dict[type, str] = {
    Bootstrap: "bootstrap()",
    Stability: "stability()",
    SplitInference: "split_inference()",
    LoadingTest: "test_loadings()",
    Certificate: "certify()",
}


def with_results(state: FitState, results: Iterable[Any], kinds: Mapping[type, str]) -> FitState:
    """Return a state that shows further results, of which the last of a kind counts.

    Parameters
    ----------
    state : FitState
    results : iterable
    kinds : dict
        The classes that are allowed, with the methods that return them.

    Raises
    ------
    OptionError
        If a result is of another class, or of another fit.
    """
    for result in results:
        if not isinstance(result, tuple(kinds)):
            raise OptionError(
                f"with_inference() was given {_value_text(result)}; it takes what {_some_of(kinds)} of this "
                "fit returned."
            )
        state = _including(state, result, "with_inference()")
    return state


def showing(state: FitState, option: str, value: Any, kinds: Mapping[type, str]) -> tuple[FitState, bool]:
    """Return the state that an output shows, and whether the option `option` was given.

    Parameters
    ----------
    state : FitState
    option : str
        Name of an option that takes True, False, or a result, for this output only.
    value : object
    kinds : dict
        The classes that the option takes, with the methods that return them.

    Raises
    ------
    OptionError
        If the value is something else, or the result of another fit.
    """
    if isinstance(value, tuple(kinds)):
        return _including(state, value, f"{option}="), True
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(
            f"{option}={_value_text(value)} was given; it must be True, False, or what {_some_of(kinds)} of "
            "this fit returned."
        )
    return state, bool(value)


def _including(state: FitState, result: Any, place: str) -> FitState:
    """Return a state that also shows a result of its fit; `place` is where the result was given."""
    if not state.is_fit_of(result._state):
        raise OptionError(
            f"{place} was given the {type(result).__name__} of another fit, with other loadings, variables "
            "or variances; call the method of this fit, and give its result."
        )
    return replace(state, inference=state.inference.including(result._kind, result._numbers))


def _value_text(value: Any) -> str:
    """Return a value for a message: of results, which print as tables, the class."""
    return f"a {type(value).__name__}" if isinstance(value, Shown) else shown(value)


def _some_of(kinds: Mapping[type, str]) -> str:
    """Return the methods of `kinds` as "bootstrap() or stability()"."""
    *first_methods, last_method = kinds.values()
    return f"{', '.join(first_methods)} or {last_method}" if first_methods else last_method


def inference_of(state: FitState) -> FitInference:
    """Return the results that a fit shows."""
    numbers, results = state.inference, FitInference()
    if numbers.bootstrap is not None:
        results["bootstrap"] = Bootstrap(state, numbers.bootstrap)
    if numbers.stability is not None:
        results["stability"] = Stability(state, numbers.stability)
    if numbers.split is not None:
        results["split_inference"] = SplitInference(state, numbers.split)
    if numbers.tests is not None:
        results["test_loadings"] = LoadingTest(state, numbers.tests)
    if numbers.proofs:
        results["certificates"] = tuple(Certificate(state, proof) for proof in numbers.proofs)
    return results


def sheets_of(results: FitInference) -> dict[str, pd.DataFrame]:
    """Return the tables of results as sheets of a workbook: name of the method and of the table -> frame."""
    sheets = {}
    for name, result in results.items():
        parts: Any = result if isinstance(result, tuple) else (result,)
        for number, part in enumerate(parts, 1):
            heading = f"proof {number}" if isinstance(part, Certificate) else name.replace("_", " ")
            for key, frame in part.frames.items():
                sheets[heading if key == "proof" else f"{heading}, {key.replace('_', ' ')}"] = frame
    return sheets
