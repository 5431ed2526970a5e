"""Factors of a dask data frame: 0/1 columns as in memory where categories are known, refused where not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
#: Sums in another order of 400 rows of a small problem.
CLOSE = 1e-9


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    kind = rng.choice(["oak", "ash", "elm", "fir"], 400, p=[0.5, 0.3, 0.19, 0.01])
    size = rng.choice([1, 2, 3], 400)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=[*"abcd"])
    frame["a"] += 2.0 * (kind == "oak")
    frame["b"] -= 2.0 * (kind == "oak") + size
    frame["kind"], frame["size"] = pd.Categorical(kind), pd.Categorical(size, ordered=True)
    return frame.sort_values("kind", ignore_index=True)  # the first partition has one level alone


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="sync"):
        yield


@pytest.mark.parametrize("formula", ["~ a + b + c + d + kind", "~ a + b + kind + size", "~ a + b + d:kind"])
def test_dummies_are_those_in_memory(rows, formula):
    how = {"formula": formula, "categorical": "dummy", "method": "greedy"}
    memory = sp.spca(rows, 2, 3, **how)
    data = dd.from_pandas(rows, npartitions=5)
    fit = sp.spca(data, 2, 3, **how)
    assert list(fit.loadings.index) == list(memory.loadings.index)
    np.testing.assert_allclose(fit.loadings, memory.loadings, atol=CLOSE)
    np.testing.assert_allclose(fit.transform(rows.iloc[:9]), memory.transform(rows.iloc[:9]), atol=CLOSE)
    np.testing.assert_allclose(fit.scores.compute(), memory.scores, atol=CLOSE)


def test_unknown_categories_and_text_are_refused_with_what_makes_them_known(rows):
    data = dd.from_pandas(rows, npartitions=5)
    how = {"formula": "~ a + b + kind", "categorical": "dummy", "method": "bcd-l0"}
    unknown = data.assign(kind=data["kind"].cat.as_unknown())
    with pytest.raises(OptionError, match=r"'kind'.*not known.*cat\.as_known\(\)"):
        sp.spca(unknown, 1, 2, **how)
    again = unknown.assign(kind=unknown["kind"].cat.as_known())
    memory = sp.spca(rows, 1, 2, **how)
    np.testing.assert_allclose(sp.spca(again, 1, 2, **how).loadings, memory.loadings, atol=CLOSE)
    text = dd.from_pandas(rows.assign(kind=rows["kind"].astype(str)), npartitions=5)
    with pytest.raises(OptionError, match=r"'kind'.*holds text.*df\.categorize\(columns=\['kind'\]\)"):
        sp.spca(text, 1, 2, **how)
    made = sp.spca(text.categorize(columns=["kind"]), 1, 2, **how)
    np.testing.assert_allclose(made.loadings, memory.loadings, atol=CLOSE)
    single = dd.from_pandas(rows.assign(kind=pd.Categorical(["x"] * len(rows))), npartitions=5)
    assert list(sp.spca(single, 1, 2, **how).loadings.index) == ["a", "b", "kind[x]"]
    with pytest.raises(sp.errors.ColumnTypeError, match="categories"):
        sp.spca(data, 1, 2, formula="~ a + kind", method="bcd-l0")


def test_the_levels_of_a_number_are_not_known_before_its_rows(rows):
    data = dd.from_pandas(rows.assign(size=rows["size"].astype(int)), npartitions=5)
    with pytest.raises(sp.errors.FormulaError, match="learns from rows"):
        sp.spca(data, 1, 2, formula="~ a + C(size)", categorical="dummy", method="bcd-l0")
