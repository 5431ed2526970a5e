"""Rows in units whose squares over- or underflow have the answers of the rows themselves, or one sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp

pytestmark = pytest.mark.filterwarnings("ignore:robust=True computes locations and scales")

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    RNG.normal(size=(36, 2)) @ RNG.normal(size=(2, 6)) + 0.6 * RNG.normal(size=(36, 6)) + 3.0,
    columns=list("abcdef"),
)
HOLES = pd.DataFrame(RNG.random(ROWS.shape) < 0.04, columns=ROWS.columns)
GROUPS = np.repeat(["u", "v"], 18)


def loadings(fit: sp.SpcaResult) -> str:
    return fit.loadings.round(6).to_string()


def held_out(X: pd.DataFrame, **options: object) -> str:
    fits = {"few": sp.spca(X, 2, 2, **options), "more": sp.spca(X, 2, 4, **options)}
    return str(sp.compare(fits, held_out=True))


#: Answers that have no unit, with scale=True or without it.
ANSWERS: dict[str, Callable[..., str]] = {
    "spca": lambda X, **o: loadings(sp.spca(X, 2, 3, **o)),
    "sparse": lambda X, **o: loadings(sp.choose(scipy.sparse.csr_array(X), k=1, center=False, **o).fit),
    "em": lambda X, **o: loadings(sp.choose(X.mask(HOLES), k=1, cards=[2, 3], na="em", **o).fit),
    "choose": lambda X, **o: str(sp.choose(X, k=2, cards=[2, 4], **o)),
    "formula": lambda X, **o: loadings(sp.choose(X, k=1, cards=[2, 3], formula="~ a + b + c | f", **o).fit),
    "choose_k": lambda X, **o: str(sp.choose_k(X, kmax=3, **o).k),
    "spca_path": lambda X, **o: loadings(sp.spca_path(X, 2, cards=[2, 3], **o)[3]),
    "compare": held_out,
    "principal_variables": lambda X, **o: str(sp.principal_variables(X, m=2, **o)),
    "stability": lambda X, **o: str(sp.spca(X, 2, 3, **o).stability(10)),
    "test_loadings": lambda X, **o: str(sp.spca(X, 1, 3, **o).test_loadings(99)),
    "split_inference": lambda X, **o: str(sp.spca(X, 1, 3, **o).split_inference()),
    "robust": lambda X, **o: loadings(sp.spca(X, 2, 3, robust=True, **o)),
    "sparse_loadings": lambda X, **o: str(sp.sparse_loadings(X, 2, 3, **o)),
    "spco": lambda X, **o: str(sp.spco(X, 1, zeros=0.5, **o)),
}


# squares of rows times 2**600 overflow, and of those times 2**-600 underflow
@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "exponent"),
    [*((name, 600) for name in ANSWERS), ("choose", -600), ("principal_variables", -600), ("em", -600)],
)
def test_scaled_rows_have_the_same_answer_in_every_unit(name, exponent):
    """Powers of two change no digit, so that answers are equal to the last character."""
    answer = ANSWERS[name]
    assert answer(ROWS * 2.0**exponent, scale=True) == answer(ROWS, scale=True)


def test_columns_of_very_different_units_are_scaled():
    units = 2.0 ** np.array([600, -600, 0, 300, -300, 510])
    answer = ANSWERS["principal_variables"]
    assert answer(ROWS * units, scale=True) == answer(ROWS, scale=True)


@pytest.mark.parametrize("name", [*ANSWERS, "compare_groups"])
def test_rows_whose_variances_are_no_numbers_are_refused_with_what_to_do(name):
    def groups(X: pd.DataFrame) -> str:
        return str(sp.compare_groups(X, GROUPS, k=1, card=2, n_draws=19))

    answer = ANSWERS.get(name, groups)
    with pytest.raises(sp.errors.DataError, match="Divide the columns by a constant first"):
        answer(ROWS * 1e200)
    with pytest.raises(sp.errors.DataError, match="Divide the columns by a constant first"):
        answer(ROWS * 1e-200)
