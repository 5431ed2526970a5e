from __future__ import annotations

import pandas as pd
import pytest

from spcastat.errors import OptionError, ShapeError
from spcastat.show import plain_text
from spcastat.show.fit_tables import loadings_table, variance_table
from spcastat.show.grid import Document, Row, Table, display_width
from spcastat.show.renderings import render

WHOLE = """\
A title
data    ten rows
method  block coordinate descent

Loadings                 PC1     PC2
------------------------------------
height                 0.800
weight                -0.600
age                            1.000
income                 <.001  -<.001

Variance                 PC1     PC2
------------------------------------
Nonzeros                   2       1
Variance of scores     4.400   2.200
Adjusted variance      4.000   2.000
Adjusted, % of total   40.00   20.00
Cumulative % of total variance
  adjusted             40.00   60.00
  PEV                  41.00   61.00
  least squares        42.00   62.00
  PCA (dense)          43.00   63.00

A blank is exactly zero.
Zero in all components (1 of 5 variables): shoe size.
The end."""


def both(loadings, variance) -> Document:
    return Document("A title", tables=(loadings_table(loadings), variance_table(variance)))


def test_whole_document(loadings, make_variance):
    document = Document(
        "A title",
        (("data", "ten rows"), ("method", "block coordinate descent")),
        (loadings_table(loadings), variance_table(make_variance(2))),
        ("The end.",),
    )
    assert render(document) == WHOLE


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("unit", [1.0, 1e-12, 31415.9])
def test_no_line_is_wider_than_asked(k, unit, make_loadings, make_variance):
    loadings = -make_loadings(9, k).abs()
    loadings.index = [f"a very long name of a variable, number {i}" for i in range(9)]
    document = Document(
        "title " * 30,
        (("data", "word " * 40), ("a label that is long", "w" * 200)),
        (loadings_table(loadings), variance_table(make_variance(k, unit))),
        ("note " * 40,),
    )
    for width in (40, 80):
        assert max(map(len, render(document, width=width).splitlines())) <= width


def test_six_components_fit_one_panel(make_loadings, make_variance):
    lines = render(both(make_loadings(9, 6).rename("{}_23456789012345678901234".format), make_variance(6)))
    assert lines.count("Loadings") == 1


def test_eight_components_come_in_panels_that_line_up(make_loadings, make_variance):
    loadings = make_loadings(9, 8).rename("{}_23456789012345678901234".format)
    lines = render(both(loadings, make_variance(8))).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.startswith(("Loadings", "Variance  "))]
    assert [head.split()[0] for head in heads] == ["Loadings", "Variance"] * 2
    for upper, lower in zip(heads[::2], heads[1::2], strict=True):
        assert upper[9:] == lower[9:]
    assert " ".join(head[9:] for head in heads[::2]).split() == [f"PC{j + 1}" for j in range(8)]


def test_twenty_components_have_short_panels_and_one_table_of_variance(make_loadings, make_variance):
    loadings = make_loadings(200, 20)
    lines = render(both(loadings, make_variance(20))).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.startswith(("Loadings", "Variance  "))]
    assert [head.split()[0] for head in heads] == ["Loadings"] * 3 + ["Variance"]
    assert sum(line.startswith("PC20 ") for line in lines) == 1
    # no row of a panel is blank: every variable stands only where it has a loading
    names = {*loadings.index}
    assert not [line for line in lines if line.strip() in names]


def test_only_ascii_of_its_own(make_loadings, make_variance):
    loadings = make_loadings(3, 2).rename({"x1": "n" * 50})
    assert render(both(loadings, make_variance(2))).isascii()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_are_kept_where_the_console_has_them(encoding, make_variance):
    loadings = pd.DataFrame({"PC1": [0.6, 0.6, 0.5]}, index=["Größe", "β", "身長"])
    printed = plain_text.render(both(loadings, make_variance(1)), encoding=encoding)
    printed.encode(encoding)
    assert ("Größe" in printed) == (encoding != "ascii")
    assert ("β" in printed) == (encoding == "utf-8")
    rows = printed.splitlines()[4:7]
    assert len({display_width(row) for row in rows}) == 1


def test_rules_alignment_and_long_titles():
    rows = (Row("a", ("x", "1")), Row("b", ("yy", "22"), rule=True))
    table = Table("A title longer than the labels", ("left", "right"), rows, align="lr")
    assert render(Document("", tables=(table,))).splitlines() == [
        "A title longer than the labels",
        "   left  right",
        "--------------",
        "a  x         1",
        "--------------",
        "b  yy       22",
    ]


def test_a_table_is_checked():
    with pytest.raises(ShapeError, match="'a' of the table 't' has 2 cells; it must have 1"):
        Table("t", ("one",), (Row("a", ("1", "2")),))
    with pytest.raises(ShapeError, match="align='x'"):
        Table("t", ("one",), (), align="x")


def test_unknown_kind_and_width():
    with pytest.raises(OptionError, match="Did you mean 'latex'"):
        render(Document("t"), "latx")
    with pytest.raises(OptionError, match="width=20"):
        render(Document("t"), width=20)
