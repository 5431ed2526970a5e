"""Counts as whole numbers of any type: 3, 3.0, NumPy's numbers, Decimal(3) and Fraction(3) mean the same.

Wherever an argument is a count, such a number is taken as the int that it equals; a fraction is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError

TYPES: dict[str, Callable[[int], Any]] = {
    "float": float,
    "float64": np.float64,
    "float32": np.float32,
    "int8": np.int8,
    "uint64": np.uint64,
    "Decimal": Decimal,
    "Fraction": Fraction,
}
DATA = pd.DataFrame(
    np.random.default_rng(3).normal(size=(40, 2)) @ np.random.default_rng(4).normal(size=(2, 6))
    + np.random.default_rng(5).normal(size=(40, 6)),
    columns=list("abcdef"),
)
GROUP = np.repeat(list("uv"), 20)
FIT = sp.spca(DATA, 2, 3, scale=True)

#: What is called with counts made by N, and the tables that it returns. Every count differs from the default.
CALLS: dict[str, Callable[[Any], Any]] = {
    "spca": lambda N: sp.spca(DATA, N(2), N(3)).loadings,
    "card of components": lambda N: sp.spca(DATA, N(2), [N(3), N(2)]).loadings,
    "card by number": lambda N: sp.spca(DATA, 2, {N(1): N(3), N(2): N(2)}).loadings,
    "starts": lambda N: sp.spca(DATA, 2, 3, method="gpower-l0", n_init=N(7), rng=N(4)).loadings,
    "include": lambda N: sp.spca(DATA, 2, 3, include={N(2): ["a"]}).loadings,
    "k_em": lambda N: sp.spca(DATA.mask(DATA > 4), 2, 3, na="em", k_em=N(1)).loadings,
    "options of methods": lambda N: sp.spca(DATA, 2, 3, method="zou", max_iter=N(300)).loadings,
    "blocks of rows": lambda N: repr(sp.spca(DATA, 1, 3, block_length=N(4)).stability(N(8))),
    "spca_cov": lambda N: repr(sp.spca_cov(DATA.cov(), N(2), N(3), n_obs=N(40))),
    "spca_path": lambda N: sp.spca_path(DATA, N(2), cards=[N(2), N(4)]).table,
    "of a path": lambda N: sp.spca_path(DATA, 2, cards=[2, 4])[N(4)].loadings,
    "choose": lambda N: (
        sp.choose(DATA, k=N(2), cards=[N(2), N(4)], folds=N(4), repeats=N(1), rng=N(1)).fit.loadings
    ),
    "choose_k": lambda N: repr(sp.choose_k(DATA, n_draws=N(29), kmax=N(3), rng=N(1))),
    "spco": lambda N: sp.spco(DATA, N(2), zeros=0.3, max_iter=N(500)).loadings,
    "sparse_loadings": lambda N: sp.sparse_loadings(DATA, N(2), total=N(6), n_init=N(3), rng=N(1)).loadings,
    "compare_groups": lambda N: repr(sp.compare_groups(DATA, GROUP, k=N(1), card=N(3), n_draws=N(29))),
    "compare": lambda N: repr(sp.compare(FIT, FIT.refit(card=2), held_out=True, folds=N(4), repeats=N(2))),
    "correlation": lambda N: sp.correlation((DATA > 0) * 1, max_levels=N(2)),
    "refit": lambda N: FIT.refit(k=N(1), card={N(1): N(2)}).loadings,
    "bootstrap": lambda N: repr(FIT.bootstrap(N(199), search="near", rng=N(3))),
    "stability": lambda N: repr(FIT.stability(N(10), rng=N(3))),
    "split_inference": lambda N: repr(FIT.split_inference(N(20), rng=N(3))),
    "test_loadings": lambda N: repr(FIT.test_loadings(N(99), rng=N(3))),
    "certify": lambda N: repr(FIT.certify(joint=False, max_nodes=N(50))),
    "summary": lambda N: FIT.summary(digits=N(2), max_rows=N(3)),
    "equations": lambda N: FIT.equations(digits=N(2), width=N(50), max_terms=N(2)),
    "data": lambda N: sp.datasets.make_hastie(n=N(30), rng=N(2)),
    "workers": lambda N: repr(FIT.stability(8, n_jobs=N(1))),
}


def _same(a: Any, b: Any) -> bool:
    return a.equals(b) if isinstance(a, pd.DataFrame) else str(a) == str(b)


@pytest.mark.sweep
@pytest.mark.parametrize("call", sorted(CALLS))
def test_whole_numbers_of_every_type_are_the_int(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small fit may not converge; the counts are what is tested
        expected = CALLS[call](int)
        kinds = TYPES if call in ("spca", "starts", "blocks of rows", "refit") else ("float", "Decimal")
        for kind in kinds:
            assert _same(CALLS[call](TYPES[kind]), expected), kind


@pytest.mark.parametrize("call", sorted(set(CALLS) - {"of a path"}))
def test_a_fraction_is_refused_by_name(call):
    with pytest.raises(OptionError, match=r"\d\.5"):
        CALLS[call](lambda n: n + 0.5)


@pytest.mark.parametrize("value", [True, np.True_, float("nan"), float("inf"), 2 + 0j, "2", Decimal("NaN")])
def test_what_is_no_whole_number_is_refused(value):
    for call in (lambda: sp.spca(DATA, value, 2), lambda: sp.spca(DATA, 2, card=value)):
        with pytest.raises(OptionError, match="whole number"):
            call()


def test_files_hold_ints(tmp_path):
    fit = sp.spca(DATA, 2.0, [3.0, Decimal(2)], block_length=4.0)
    fit.save(tmp_path / "a.spca")
    loaded = sp.load(tmp_path / "a.spca")
    assert repr(loaded) == repr(fit)
    assert str(fit) == str(sp.spca(DATA, 2, [3, 2], block_length=4))
