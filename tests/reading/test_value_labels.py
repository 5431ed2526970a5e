"""codes=True: categories enter as the numbers of their value labels, and give what the numbers give."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ColumnTypeError, DataWarning, NewDataError, OptionError

LABELS = {1.0: "never", 2.0: "rarely", 3.0: "often", 4.0: "always"}
ITEMS = [f"q{j}" for j in range(1, 6)]


@pytest.fixture
def numbers() -> pd.DataFrame:
    """Five items of four levels from two factors, with one gap, and a number."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((90, 2)) @ rng.standard_normal((2, 5)) + 0.7 * rng.standard_normal((90, 5))
    frame = pd.DataFrame(np.digitize(latent, [-1, 0, 1]) + 1.0, columns=ITEMS)
    frame.iloc[3, 2] = np.nan
    return frame.assign(age=rng.integers(20, 60, 90).astype(float))


@pytest.fixture
def labelled(numbers) -> pd.DataFrame:
    """The same as `pandas.read_spss` returns it: unordered categories in alphabetical order, and labels."""
    frame = numbers.assign(**{name: pd.Categorical(numbers[name].map(LABELS)) for name in ITEMS})
    assert list(frame["q1"].cat.categories) == sorted(LABELS.values())
    frame.attrs["variable_value_labels"] = dict.fromkeys(ITEMS, LABELS)
    return frame


FORMULAS = (None, "~ q1 + q3 + q4 | age", "~ log(q1) + q2 + q3:q4", "~ . | log(age) + C(q5)")


@pytest.mark.sweep
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_fit_of_labels_is_the_fit_of_their_numbers(numbers, labelled, formula, tmp_path):
    options = {"k": 2, "card": 2, "formula": formula, "na": "drop", "scale": True}
    by_number = sp.spca(numbers, **options)
    fit = sp.spca(labelled, codes=True, **options)
    pd.testing.assert_frame_equal(fit.loadings, by_number.loadings)
    assert "codes=True" in fit.call
    new = labelled.iloc[:12].copy()
    new.attrs = {}  # the fit knows the numbers
    fit.save(tmp_path / "fit.spca")
    for one in (fit, sp.load(tmp_path / "fit.spca")):
        for rows in (new, numbers.iloc[:12]):
            scores = one.transform(rows, na="drop")
            pd.testing.assert_frame_equal(scores, by_number.transform(numbers.iloc[:12], na="drop"))
    with pytest.raises(NewDataError, match="'sometimes'"):
        fit.transform(new.assign(q1="sometimes", q3="sometimes", q4="sometimes"), na="drop")


def compared(frame, groups, **options):
    """Yield the p-values of a comparison of groups."""
    yield from sp.compare_groups(frame, groups, 1, 3, n_draws=19, **options).p_adjusted.to_numpy().ravel()


@pytest.mark.sweep
@pytest.mark.parametrize(
    "function",
    [
        lambda frame, **o: sp.choose(frame, k=2, folds=3, repeats=1, **o).card,
        lambda frame, **o: sp.choose(frame, k=1, folds=3, formula="~ log(q1) + q2 + q3", **o).card,
        lambda frame, **o: sp.choose_k(frame, n_draws=20, **o).k,
        lambda frame, **o: sp.spca_path(frame, 1, cards=[1, 3], **o)[3].loadings.to_numpy().tolist(),
        lambda frame, **o: sp.sparse_loadings(frame, 2, 3, **o).loadings.to_numpy().tolist(),
        lambda frame, **o: sp.principal_variables(frame, m=2, **o).variables.index.tolist(),
        lambda frame, **o: sp.spco(frame, 1, zeros=0.2, **o).loadings.to_numpy().tolist(),
        lambda frame, **o: [*compared(frame, np.arange(len(frame)) % 2, **o)],
        lambda frame, **o: [*compared(frame.assign(half=np.arange(len(frame)) % 2), "half", **o)],
        lambda frame, **o: sp.spca(sp.rows(frame, **o), 2, card=3).stability(20).table.to_numpy().tolist(),
    ],
)
def test_functions_of_rows_take_labels(numbers, labelled, function):
    options = {"na": "drop", "scale": True}
    assert function(labelled, codes=True, **options) == function(numbers, **options)


def test_correlations_of_labels_are_those_of_their_numbers(numbers, labelled):
    R = sp.correlation(numbers[ITEMS])
    pd.testing.assert_frame_equal(sp.correlation(labelled[ITEMS], codes=True), R)
    ordered = labelled[ITEMS].apply(lambda column: column.cat.set_categories(LABELS.values(), ordered=True))
    ordered.attrs = {}
    pd.testing.assert_frame_equal(sp.correlation(ordered), R)
    pd.testing.assert_frame_equal(sp.correlation(ordered, codes=True), R)


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_labelled_files_are_read_as_numbers(numbers, suffix, tmp_path):
    path = str(tmp_path / f"items{suffix}")
    if suffix == ".sav":
        pyreadstat = pytest.importorskip("pyreadstat")
        pyreadstat.write_sav(numbers, path, variable_value_labels=dict.fromkeys(ITEMS, LABELS))
    else:
        labels = {name: {int(code): text for code, text in LABELS.items()} for name in ITEMS}
        numbers.to_stata(path, value_labels=labels, write_index=False)
    fit = sp.spca(path, 2, card=3, na="drop", scale=True, codes=True)
    expected = sp.spca(numbers, 2, card=3, na="drop", scale=True)
    np.testing.assert_array_equal(fit.loadings, expected.loadings)


def test_an_alphabetical_order_is_named_only_without_labels_and_order(labelled):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.correlation(labelled[ITEMS], codes=True)
        sp.spca(labelled, 1, card=2, codes=True, na="drop", scale=True)
    labelled.attrs = {}
    with pytest.warns(DataWarning, match=r"in the order 'always', 'never', 'often', 'rarely'"):
        sp.correlation(labelled[["q1", "q2"]], codes=True)
    ordered = labelled[["q1", "q2"]].apply(lambda q: q.cat.reorder_categories(list(LABELS.values())))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.correlation(ordered, codes=True)


def test_messages_on_categories_name_codes_and_what_they_name_works(labelled):
    with pytest.raises(ColumnTypeError, match=r"codes=True.*sp\.correlation\(df, codes=True\)"):
        sp.spca(labelled, 2, card=2)
    with pytest.raises(ColumnTypeError, match="codes=True"):
        sp.correlation(labelled)
    with pytest.raises(ColumnTypeError, match="codes=True"):
        sp.compare_groups(labelled, np.arange(len(labelled)) % 2, 1, 3)
    assert sp.spca_cov(sp.correlation(labelled[ITEMS], codes=True), 2, card=2).k == 2
    with pytest.raises(ColumnTypeError, match="text and categories can enter as 0/1 columns") as caught:
        sp.spca(labelled[["age"]].assign(town="Tours"), 1)
    assert "codes" not in str(caught.value)  # text has no order


def test_what_has_no_numbers_is_refused(numbers, labelled):
    with pytest.raises(OptionError, match="applies to data frames only"):
        sp.spca(numbers.to_numpy(), 2, card=2, codes=True)
    with pytest.raises(OptionError, match="for a stream of chunks"):
        sp.spca(lambda: iter([labelled]), 2, card=2, codes=True)
    wrong = labelled.assign(q1=labelled["q1"].cat.rename_categories({"often": "oft"}))
    wrong.attrs = labelled.attrs
    with pytest.raises(ColumnTypeError, match="'oft' of 'q1' is not one of its value labels"):
        sp.spca(wrong, 2, card=2, codes=True)
    with pytest.raises(ColumnTypeError, match="must be text or numbers"):
        sp.correlation(pd.DataFrame({"a": pd.cut(np.arange(9.0), 3), "b": np.arange(9) % 4}), codes=True)
