"""Labels of every kind, through every argument by row, as names of columns, printed and from files.

The labels of a kind divide forty rows into the same two halves, so that every result must equal the result
for the labels "u" and "v". Files hold labels of types that JSON lacks as text, with a warning.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import spcastat as sp


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


N = 40
HALF = np.repeat([0, 1], N // 2)


def _of(first: object, second: object) -> np.ndarray:
    labels = np.empty(N, dtype=object)
    labels[:] = [(first, second)[i] for i in HALF]
    return labels


KINDS = {
    "bool": HALF.astype(bool),
    "nullable bool": pd.array(HALF.astype(bool), dtype="boolean"),
    "categories of bool": pd.Categorical(HALF.astype(bool)),
    "bytes": np.array([b"u", b"v"])[HALF],
    "bytes objects": _of(b"u", b"v"),
    "str": np.array(["u", "v"])[HALF],
    "int": HALF + 3,
    "float": HALF + 0.5,
    "tuple": _of(("a", 1), ("b", 2)),
    "date": _of(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
    "Timestamp": pd.to_datetime(["2020-01-01", "2021-01-01"])[HALF],
    "Period": pd.PeriodIndex(["2020", "2021"], freq="Y")[HALF],
    "interval": pd.IntervalIndex.from_breaks([0, 1, 2])[HALF],
    "unused category": pd.Categorical.from_codes(HALF, ["u", "v", "w"]),
    "mixed": _of(1, "a"),
    "enum": _of(Colour.RED, Colour.BLUE),
    "Decimal": _of(decimal.Decimal(1), decimal.Decimal(2)),
}
_rng = np.random.default_rng(0)
X = pd.DataFrame(
    _rng.normal(size=(N, 2)) @ _rng.normal(size=(2, 5)) + _rng.normal(size=(N, 5)), columns=list("abcde")
)
FIT = sp.spca(X, 2, 3)


def _compared(data: pd.DataFrame, groups: object) -> sp.GroupComparison:
    return sp.compare_groups(data, groups, k=1, card=3, n_draws=19)


@pytest.fixture(scope="module")
def expected() -> dict[str, object]:
    groups = KINDS["str"]
    return {
        "compared": _compared(X, groups),
        "strata": sp.spca(X, 2, 3, effort="quick", strata=groups).stability(4),
        "clusters": sp.spca(X, 2, 3, effort="quick", clusters=groups),
    }


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_groups_by_value_by_name_and_by_level(kind, expected):
    labels = KINDS[kind]
    several = X.set_index(pd.MultiIndex.from_arrays([labels, np.arange(N)], names=["half", "number"]))
    single = X.set_index(pd.Index(labels, tupleize_cols=False, name="half"))
    for data, groups in ((X, labels), (X.assign(half=labels), "half"), (several, "half"), (single, "half")):
        found = _compared(data, groups)
        np.testing.assert_array_equal(found.p_adjusted, expected["compared"].p_adjusted)
        assert len(str(found).splitlines()) == len(str(expected["compared"]).splitlines())
        assert len(found.table) == 2


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", ["strata", "clusters"])
def test_rows_that_belong_together(kind, option, expected, tmp_path):
    labels = KINDS[kind]
    several = X.set_index(pd.MultiIndex.from_arrays([labels, np.arange(N)], names=["half", "number"]))
    for data, by_row in ((X, labels), (X.assign(half=labels), "half"), (several, "half")):
        fit = sp.spca(data, 2, 3, effort="quick", **{option: by_row})
        if option == "strata":
            assert str(fit.stability(4)) == str(expected["strata"])
        else:
            np.testing.assert_array_equal(fit.loadings, expected["clusters"].loadings)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The file contains labels of rows")
            fit.save(tmp_path / "a.spca")
        assert str(sp.load(tmp_path / "a.spca")) == str(fit)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_plots_by_group_and_by_level(kind):
    labels = KINDS[kind]
    named = sp.spca(X.set_index(pd.Index(labels, tupleize_cols=False, name="half")), 2, 3, effort="quick")
    try:
        FIT.biplot(groups=labels)
        axes = [named.plot_scores(groups=groups) for groups in (labels, "half")]
        first, second = ({text.get_text() for text in ax.figure.findobj(Text)} for ax in axes)
        assert first - {"half"} == second - {"half"}  # the legend may have the name as its title
    finally:
        plt.close("all")


NAMES = {
    "bool": [True, False],
    "bytes": [b"u", b"v"],
    "int": [1, 2],
    "float": [0.5, 2.5],
    "tuple": [("a", 1), ("b", 2)],
    "date": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
    "Timestamp": [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01 12:00")],
    "Period": list(pd.PeriodIndex(["2020", "2021"], freq="Y")),
    "interval": list(pd.IntervalIndex.from_breaks([0, 1, 2])),
    "mixed": [1, "a"],
    "enum": [Colour.RED, Colour.BLUE],
    "NaT": [pd.NaT, "u"],
    "NA": [pd.NA, "u"],
    "NaN": [float("nan"), "u"],
    "None": [None, "u"],
    "None and NaT": [None, pd.NaT],
    "line breaks": ["a\nb", "a\tb"],
    "alike": ["x", "x "],
    "wide": ["\u65e5\u672c", "e\u0301"],
    "Decimal": [decimal.Decimal("1.5"), decimal.Decimal(2)],
}
#: Kinds that a file holds as they are.
IN_FILES = ("bool", "int", "float", "tuple", "mixed", "NaT", "NA", "NaN", "None", "None and NaT",
            "line breaks", "alike", "wide")  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.filterwarnings("ignore:The file contains names of columns")
def test_names_of_columns(kind, tmp_path):
    data = X.copy()
    data.columns = pd.Index([*NAMES[kind], "c", "d", "e"], dtype=object, tupleize_cols=False)
    fit = sp.spca(data, 2, 3)
    np.testing.assert_array_equal(fit.loadings, FIT.loadings)
    rows = [line for line in str(fit).splitlines() if line]
    assert all(line.isprintable() for line in rows)
    assert len(rows) == len([line for line in str(FIT).splitlines() if line])
    fit.summary()
    np.testing.assert_array_equal(fit.transform(data), FIT.transform(X))
    fit.save(tmp_path / "a.spca")
    loaded = sp.load(tmp_path / "a.spca")
    assert str(loaded) == str(fit)
    if kind in IN_FILES:
        assert [*map(repr, loaded.loadings.index)] == [*map(repr, fit.loadings.index)]
    pd.testing.assert_frame_equal(loaded.transform(data), fit.transform(data))
    np.testing.assert_array_equal(sp.spca_cov(data.cov(), 2, 3).loadings, sp.spca_cov(X.cov(), 2, 3).loadings)
    found, plain = _compared(data, HALF), _compared(X, HALF)
    assert len(str(found).splitlines()) == len(str(plain).splitlines())


#: Ways of a fit that find the columns of new rows by the names in a formula, or by levels.
READINGS = {"formula": {"formula": "~ ."}, "mixed": {"scale": "mixed"}}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.filterwarnings("ignore:The file contains")
def test_fits_with_formulas_and_factors_from_files(kind, reading, tmp_path):
    """The table of the fit is new data for the fit from its file, by the names that the table has."""
    data = X.copy() if reading == "formula" else X.assign(e=KINDS["str"])
    data.columns = pd.Index([*NAMES[kind], "c", "d", "e"], dtype=object, tupleize_cols=False)
    fit = sp.spca(data, 2, 3, effort="quick", **READINGS[reading])
    fit.save(tmp_path / "a.spca")
    loaded = sp.load(tmp_path / "a.spca")
    expected = fit.transform(data)
    np.testing.assert_allclose(expected, fit.scores, atol=1e-12)  # the same sums in another order
    pd.testing.assert_frame_equal(loaded.transform(data.iloc[:, ::-1]), expected)
    assert str(loaded) == str(fit)


def test_two_columns_of_one_name_are_refused_by_name():
    for name in (None, pd.NaT, ("a", 1), b"u", "a\nb"):
        data = X.copy()
        data.columns = pd.Index([name, name, "c", "d", "e"], dtype=object, tupleize_cols=False)
        with pytest.raises(sp.errors.DuplicateNamesError, match="More than one column is called"):
            sp.spca(data, 2, 3)


# --- labels of another kind than those of the rows ------------------------------------------------

INDICES = {
    "numbers": pd.RangeIndex(N),
    "text": pd.Index([f"r{i}" for i in range(N)]),
    "two levels": pd.MultiIndex.from_product([range(4), [*"abcdefghij"]]),
    "three levels": pd.MultiIndex.from_product([range(4), range(2), range(5)]),
    "periods": pd.period_range("2020", periods=N, freq="M"),
    "tuples": pd.Index([("a", i) for i in range(N)], tupleize_cols=False),
    "intervals": pd.interval_range(0, N),
}
BY_ROW = {
    "clusters": lambda data, fit, labels: sp.spca(data, 2, 3, effort="quick", clusters=labels),
    "weights": lambda data, fit, labels: sp.spca(data, 2, 3, effort="quick", weights=labels + 1),
    "groups": lambda data, fit, labels: sp.compare_groups(data, labels, 1, 2, n_draws=1),
    "variables": lambda data, fit, labels: fit.supplement(variables=labels.rename("half")),
    "groups of a plot": lambda data, fit, labels: fit.plot_diagnostics(groups=labels),
    "labels of a plot": lambda data, fit, labels: fit.biplot(labels=labels.map({0: "u", 1: "v"})),
}


@pytest.mark.sweep
@pytest.mark.parametrize("rows", INDICES)
def test_series_with_other_labels_than_the_rows(rows):
    """Series are matched by label, or refused in a sentence, whatever the kinds of both labels."""
    data = X.set_axis(INDICES[rows])
    fit = sp.spca(data, 2, 3, effort="quick")
    for name, call in BY_ROW.items():
        call(data, fit, pd.Series(HALF, INDICES[rows])[::-1])  # the labels of the rows in another order
        for kind, index in INDICES.items():
            message = ""
            try:
                call(data, fit, pd.Series(HALF, index))
            except sp.errors.DataError as error:
                message = str(error)
            assert not message or (" labels" in message and kind != rows), name
            plt.close("all")


def test_fits_of_variables_with_names_of_other_kinds_are_not_compared():
    fits = [sp.spca(X.iloc[:, :4].set_axis(INDICES[kind][:4], axis=1), 1, 2) for kind in INDICES]
    for first in fits:
        assert len(sp.compare(first, first).measures) == 2
        for second in fits:
            if first is not second:
                with pytest.raises(sp.errors.ShapeError, match="different variables"):
                    sp.compare(first, second)


# --- supplementary variables --------------------------------------------------------------------------

#: Kinds of values that are numbers, whose correlations are shown.
NUMERIC = ("int", "float")


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_supplementary_factors(kind):
    """Two halves are a factor whatever their labels: the same means, tests and p-values."""
    groups = pd.DataFrame({"half": KINDS[kind]}, index=X.index)
    found, described = FIT.supplement(variables=groups), FIT.describe_components(variables=groups)
    if kind in NUMERIC:
        for component, scores in FIT.scores.items():
            assert found.correlations.loc["half", component] == pytest.approx(scores.corr(groups["half"]))
        return
    expected = pd.DataFrame({"half": KINDS["str"]}, index=X.index)
    plain = FIT.supplement(variables=expected)
    for table in ("levels", "test_values", "ratios"):
        np.testing.assert_array_equal(getattr(found, table), getattr(plain, table))
    of_text = FIT.describe_components(variables=expected)
    p_values, expected_p = (one.frames["components"]["p_value"] for one in (described, of_text))
    np.testing.assert_array_equal(p_values, expected_p)
    assert len(str(found.summary()).splitlines()) == len(str(plain.summary()).splitlines())
    try:
        FIT.biplot(supplement=found)
    finally:
        plt.close("all")


@pytest.mark.sweep
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("factor", [False, True])
def test_names_of_supplementary_variables(kind, factor):
    halves = pd.DataFrame({0: KINDS["str"], 1: KINDS["Timestamp"]}, index=X.index)
    plain = halves if factor else pd.DataFrame({0: X["a"] + X["b"], 1: X["c"] - X["d"]})
    named = plain.copy()
    named.columns = pd.Index(NAMES[kind], dtype=object, tupleize_cols=False)
    assert all(line.isprintable() for line in str(FIT.supplement(variables=named).summary()).splitlines())
    found, expected = (FIT.describe_components(variables=frame).frames for frame in (named, plain))
    np.testing.assert_array_equal(found["components"]["p_value"], expected["components"]["p_value"])
    np.testing.assert_array_equal(
        FIT.supplement(variables=named).sizes, FIT.supplement(variables=plain).sizes
    )
