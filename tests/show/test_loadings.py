from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spcastat.errors import OptionError, ShapeError
from spcastat.labels import short_names
from spcastat.show.fit_tables import HIDDEN, Arrangement, loadings_table


def grid(table) -> dict[str, tuple[str, ...]]:
    return {row.label: row.cells for row in table.rows}


def test_cells_and_notes(loadings):
    table = loadings_table(loadings)
    assert table.headings == ("PC1", "PC2")
    assert grid(table) == {
        "height": ("0.800", ""),
        "weight": ("-0.600", ""),
        "age": ("", "1.000"),
        "income": ("<.001", "-<.001"),
    }
    assert table.notes == (
        "A blank is exactly zero.",
        "Zero in all components (1 of 5 variables): shoe size.",
    )


def test_contributions(loadings):
    cells = grid(loadings_table(loadings, contributions=True))
    assert cells["height"] == ("64.0", "")
    assert cells["weight"] == ("36.0", "")
    assert cells["income"] == ("<.1", "<.1")


def test_cutoff_hides_but_never_blanks(loadings):
    table = loadings_table(loadings, Arrangement(cut=0.7))
    assert grid(table)["weight"] == (HIDDEN, "")
    assert grid(table)["income"] == (HIDDEN, HIDDEN)
    assert '"." stands for 3 nonzero loadings below 0.7 in absolute value.' in table.notes


def test_sort_by_component_then_size(loadings):
    assert [row.label for row in loadings_table(loadings, Arrangement(sort=True)).rows] == [
        "height",
        "weight",
        "income",
        "age",
    ]


@given(
    values=arrays(float, (4, 3), elements=st.one_of(st.just(0.0), st.floats(-1, 1))),
    digits=st.integers(1, 6),
    cutoff=st.floats(0, 1),
    contributions=st.booleans(),
)
def test_blank_means_exactly_zero(values, digits, cutoff, contributions):
    table = loadings_table(
        pd.DataFrame(values), digits=digits, arrangement=Arrangement(cut=cutoff), contributions=contributions
    )
    shown = values[(values != 0).any(axis=1)]
    assert len(table.rows) == len(shown)
    for row, line in zip(table.rows, shown, strict=True):
        for cell, value in zip(row.cells, line, strict=True):
            assert (cell == "") == (value == 0)
            assert cell == "" or cell == HIDDEN or cell.strip("-0.")
            if cell not in ("", HIDDEN) and not contributions:
                assert (cell[0] == "-") == (value < 0)


def test_nothing_loaded():
    table = loadings_table(pd.DataFrame(np.zeros((3, 2))))
    assert table.rows == ()
    assert table.notes == ("Zero in all components (3 of 3 variables): 0, 1, 2.",)


def test_truncation_keeps_every_component(make_loadings):
    loadings = make_loadings(500, 2, nonzero=200)
    loadings["PC2"] *= 1e-3
    table = loadings_table(loadings, Arrangement(sort=False, max_rows=10))
    assert len(table.rows) == 10
    first = loadings["PC1"].abs().nlargest(4).index
    second = loadings["PC2"].abs().nlargest(4).index
    assert {*first, *second} <= set(grid(table))
    loaded = int((loadings != 0).any(axis=1).sum())
    assert any(note.startswith(f"10 of {loaded} variables with a loading are shown") for note in table.notes)
    order = [loadings.index.get_loc(row.label) for row in table.rows]
    assert order == sorted(order)


def test_names_of_any_type():
    index = pd.Index([("a", 1), 7, None, "two\nlines", "\x1b[31mred", "", "x" * 40], dtype=object)
    table = loadings_table(pd.DataFrame(np.ones((7, 1)), index=index, columns=[0]))
    labels = [row.label for row in table.rows]
    assert labels == ["(a, 1)", "7", "None", "two lines", "\\x1b[31mred", "''", "x" * 40]
    assert table.headings == ("0",)


def test_names_that_differ_in_the_middle_stay_apart():
    names = ["expression_of_gene_A_in_tissue_one", "expression_of_gene_B_in_tissue_one", "short"]
    labels = short_names(names)
    assert len(set(labels)) == 3
    assert max(map(len, labels)) <= 24
    assert labels[0].endswith(" #1")
    assert labels[1].endswith(" #2")


def test_not_a_number_is_shown():
    assert grid(loadings_table(pd.DataFrame({"PC1": [np.nan, np.inf]}, index=["a", "b"]))) == {
        "a": ("NA",),
        "b": ("Inf",),
    }


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (loadings_table, {"digits": 0}),
        (loadings_table, {"digits": 2.5}),
        (Arrangement, {"cut": -0.1}),
        (Arrangement, {"cut": np.nan}),
        (Arrangement, {"max_rows": 0}),
        (Arrangement, {"sort": "yes"}),
    ],
)
def test_bad_options(loadings, made, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        made(*[loadings] * (made is loadings_table), **options)


def test_more_than_25_variables_are_sorted_unless_the_call_says_otherwise(make_loadings):
    few, many = make_loadings(25, 2, nonzero=20), make_loadings(60, 3, nonzero=20)
    names = [row.label for row in loadings_table(few).rows]
    assert names == [name for name in few.index if few.loc[name].any()]
    size = many.abs()
    block, largest = size.to_numpy().argmax(axis=1), size.max(axis=1)
    expected = [
        many.index[i]
        for c in range(3)
        for i in np.argsort(-largest.to_numpy(), kind="stable")
        if block[i] == c and largest.iloc[i] > 0
    ]
    assert [row.label for row in loadings_table(many).rows] == expected
    kept = [row.label for row in loadings_table(many, Arrangement(sort=False)).rows]
    assert kept == [name for name in many.index if many.loc[name].any()]


def test_groups_stand_together_under_their_names(loadings):
    table = loadings_table(loadings, Arrangement(groups={"age": "life", "height": "body", "weight": "body"}))
    assert [(row.group, row.label) for row in table.rows] == [
        ("body", "height"),
        ("body", "weight"),
        ("life", "age"),
        ("no group", "income"),
    ]


def test_what_is_zero_everywhere_is_counted_where_its_names_are_many(make_loadings):
    *_, note = loadings_table(make_loadings(500, 2)).notes
    assert note == "494 of 500 variables are zero in all components."


def test_further_columns_stand_last_also_below_intervals(loadings):
    columns = pd.DataFrame({"communality": [0.1, 0.2, 0.3, 0.4, 0.5]}, index=loadings.index)
    table = loadings_table(loadings, columns=columns, intervals=(loadings - 1, loadings + 1))
    assert table.headings == ("PC1", "PC2", "communality")
    assert [row.cells[2] for row in table.rows[:4]] == ["0.10", "", "0.20", ""]


def test_not_a_frame():
    with pytest.raises(ShapeError, match="loadings of type ndarray were given; give a frame"):
        loadings_table(np.ones((3, 2)))


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"dense": 2}, "dense loadings of type int"),
        ({"dense": pd.DataFrame(np.ones((2, 2)))}, "dense of shape"),
        ({"intervals": 0.5}, "intervals of type float"),
        ({"intervals": (pd.DataFrame(np.ones((2, 2))),) * 2}, "intervals of shape"),
        ({"stars": pd.DataFrame(np.ones((4, 2)))}, "stars of something else"),
        ({"stars": pd.DataFrame([["*", ""]])}, "stars of shape"),
    ],
)
def test_what_stands_beside_has_the_shape_of_the_loadings(loadings, beside, message):
    with pytest.raises(ShapeError, match=message):
        loadings_table(loadings, **beside)
