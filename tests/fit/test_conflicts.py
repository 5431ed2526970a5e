"""Options that would do nothing beside others are refused, and no other combinations of options are so."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.fit.method_table import CONFLICTS, CONTROLS, SOLVERS


def rows() -> pd.DataFrame:
    """Three factors with unequal variances and heavy tails: no ties, and no two options agree by chance."""
    rng = np.random.default_rng(3)
    factors = rng.standard_normal((30, 3)) @ (rng.standard_normal((3, 7)) * (rng.random((3, 7)) < 0.6))
    return pd.DataFrame((factors + 0.6 * rng.standard_t(4, (30, 7))) * np.linspace(0.8, 1.4, 7))


#: Options that are refused, and what the message advises: options in their place, of which None are left out.
REFUSED: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"card": 3, "method": "pmd", "orth": True, "deflation": "projection"},
        [{"orth": None}, {"deflation": None}, {"deflation": "schur"}],
    ),
    ({"t": 1.5, "method": "pmd", "orth": True, "deflation": "hotelling"}, [{"deflation": None}]),
    ({"card": 3, "method": "bcd-l0", "objective": "adjusted"}, [{"n_init": 4}, {"objective": None}]),
    ({"t": 1.5, "objective": "least_squares"}, [{"n_init": 4}, {"objective": None}]),
    (
        {"card": 3, "method": "bcd-l1", "objective": "adjusted", "n_init": 1},
        [{"n_init": 4}, {"objective": None}, {"n_init": None}],
    ),
    (
        {"card": 3, "promise": "total"},
        [{"card": None, "variance": 0.8}, {"promise": None}],
    ),
    (
        {"variance": 0.8, "objective": "pev"},
        [{"objective": None}, {"variance": None, "card": 3}],
    ),
    ({"variance": 0.8, "order": "variance"}, [{"order": None}]),
    ({"card": 3, "method": "greedy", "order": "best"}, [{"order": None}, {"method": "joint"}]),
    (
        {"card": 3, "method": "bcd-l0", "start": "ones"},
        [{"start": "pca"}, {"start": "column"}, {"start": np.eye(7, 3)}],
    ),
    (
        {"penalty": 0.1, "method": "rsvd-l1", "n_init": 5},
        [{"n_init": None}, {"penalty": None, "card": 3}],
    ),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("options", "advice"), REFUSED, ids=lambda value: str(value)[:60])
def test_options_without_effect_are_refused_and_what_is_advised_works(options, advice):
    with pytest.raises(OptionError) as caught:
        sp.spca(rows(), 3, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "given" in message
    for changes in advice:
        changed = {name: value for name, value in {**options, **changes}.items() if value is not None}
        assert sp.spca(rows(), 3, **changed).k == 3


def test_every_conflict_of_the_table_is_tried(monkeypatch):
    raised = set()
    for options, _ in REFUSED:
        with pytest.raises(OptionError) as caught:
            sp.spca(rows(), 3, **options)
        raised |= {c for c in CONFLICTS if c.message.split("{")[0] in str(caught.value)}
    assert raised == set(CONFLICTS)


#: Values that differ from the default, of options that say what is computed, not how precisely.
VALUES: dict[str, list[Any]] = {
    "deflation": ["schur", "projection", "hotelling", "orthogonalised"],
    "orth": [True],
    "nonneg": [True],
    "objective": ["adjusted", "least_squares"],
    "renormalise": [False],
    "refit": [False],
    "c": [2],
    "exact": [True],
    "ridge": [10.0],
    "mu": [[1.0, 0.5, 0.3]],
    "p": [0.3],
    "orthogonal": [0.01],
    "uncorrelated": [0.01],
    "orthonormality": [50.0],
    "promise": ["total"],
    "exclude": [[6]],
    "disjoint": [True],
    "constraint": ["orthogonal"],
}
#: A value of each control of sparsity.
CONTROLLED = {"card": [4, 3, 2], "variance": 0.7, "total": 9, "t": 1.5, "penalty": 0.1, "threshold": 0.25}
#: Options of which one sets the other.
AGREEING = ({("deflation", "schur"), ("orth", "True")},)
#: Methods whose fits take long.
SLOW = ("joint", "alspca", "spcagrid", "scotlass")


def shown_of(options: dict[str, Any]) -> str | None:
    """Return what a fit shows, to eight digits; None if it is refused."""
    try:
        fit = sp.spca(rows(), 3, **options)
    except OptionError:
        return None
    digits = fit.loadings.round(8).to_numpy().tolist()
    return repr((digits, fit.status, fit.details.round(6).to_dict(), round(fit.objective_value, 8)))


def shortened(method: str) -> list[dict[str, Any]]:
    """Return the options of a fit for each control of sparsity, with few steps where these take long."""
    steps = (
        {"max_iter": 10 if method == "alspca" else 30}
        if "max_iter" in SOLVERS[method].options and method != "joint"
        else {}
    )
    steps |= {"effort": "quick"} if method == "joint" else {}
    controls = SOLVERS[method].controls
    return [{"method": method, **steps, name: CONTROLLED[name]} for name in controls] or [{"method": method}]


@pytest.mark.filterwarnings("ignore::spcastat.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=[pytest.mark.slow] if m in SLOW else []) for m in SOLVERS]
)
def test_no_option_makes_another_do_nothing_in_silence(method):
    # Refused combinations are left out. An option is ignored beside another if it changes nothing there, but
    # changes the fit by itself, or is given with the value that the other option replaces.
    for base in shortened(method):
        plain = shown_of(base)
        given = {
            (name, str(value)): {name: value}
            for name in SOLVERS[method].options
            for value in VALUES.get(name, ())
            if name not in CONTROLS
        }
        alone = {key: shown_of({**base, **option}) for key, option in given.items()}
        for first, second in permutations(given, 2):
            effective = alone[first] not in (plain, None) and alone[second] not in (plain, None)
            if first[0] == second[0] or not effective or {first, second} in AGREEING:
                continue
            both = shown_of({**base, **given[first], **given[second]})
            assert both != alone[first], f"{base}: {second} does nothing beside {first}"
