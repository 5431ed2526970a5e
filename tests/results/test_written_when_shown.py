"""Results keep numbers: no text is formatted before a result is printed or exported."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import spcastat as sp

DATA = sp.datasets.pitprops_sample(60)


def entered(call: Callable[[], Any]) -> tuple[Any, set[str]]:
    """Return the result of a call, and the functions of `show` that were entered."""
    found = set()

    def watch(frame: Any, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("spcastat.show"):
            found.add(f"{module}.{frame.f_code.co_qualname}")

    sys.setprofile(watch)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    return result, found


@pytest.fixture(scope="module")
def fit():
    return sp.spca(DATA, 2, 4, scale=True, method="greedy")


@pytest.fixture(scope="module")
def choice():
    return sp.choose(DATA, scale=True, cards=[3, 5], folds=3, kmax=3, each="equal")


def calls(fit: sp.SpcaResult) -> dict[str, Callable[[], Any]]:
    other = sp.spca(DATA, 2, 4, scale=True, method="bcd-l0")
    coordinates = sp.spco(DATA, 2, zeros=0.5)
    return {
        "choose": lambda: sp.choose(DATA, scale=True, cards=[3, 5], folds=3, kmax=3, each="equal"),
        "choose_k": lambda: sp.choose_k(DATA, scale=True, kmax=3),
        "bootstrap": lambda: fit.bootstrap(20),
        "stability": lambda: fit.stability(3),
        "split_inference": lambda: fit.split_inference(5),
        "test_loadings": lambda: fit.test_loadings(5),
        "certify": lambda: fit.certify(max_nodes=1),
        "spca_path": lambda: sp.spca_path(DATA, 2, cards=[3, 5], method="greedy"),
        "compare": lambda: sp.compare({"a": fit, "b": other}),
        "supplement": lambda: fit.supplement(DATA.head(3), DATA["knots"]),
        "spco path": lambda: coordinates.path([0.2, 0.5]),
    }


NAMES = (
    "choose",
    "choose_k",
    "bootstrap",
    "stability",
    "split_inference",
    "test_loadings",
    "certify",
    "spca_path",
    "compare",
    "supplement",
    "spco path",
)


@pytest.mark.parametrize("name", NAMES)
def test_no_text_is_made_before_a_result_is_shown(fit, name):
    call = calls(fit)[name]
    call()  # modules are imported now
    result, before = entered(call)
    assert {one for one in before if not one.endswith("<module>")} == set()
    text, after = entered(lambda: str(result))
    assert "spcastat.show.plain_text.render" in after
    assert str(result) == text == result.as_text()
    assert str(pickle.loads(pickle.dumps(result))) == text
    assert all(isinstance(frame, pd.DataFrame) for frame in result.frames.values())


def test_the_fit_of_a_choice_says_how_it_was_chosen(choice, tmp_path):
    """Also after it was renamed, pickled, or saved in a file; and in the words of the choice."""
    fit = choice.fit
    assert choice.method_text in fit.describe().text
    assert choice.k_choice.method_text in fit.describe().text
    fit.save(tmp_path / "fit.spca")
    names = [f"size {j}" for j in range(fit.loadings.shape[1])]
    for other in (fit.rename(names), pickle.loads(pickle.dumps(fit)), sp.load(tmp_path / "fit.spca")):
        assert choice.method_text in other.describe().text
