"""Names as labels: printable, no longer than asked, told apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spcastat.labels import name_text, short_name, short_names, shorten


@given(st.text(), st.integers(3, 30))
def test_a_label_is_printable_and_short(text, limit):
    label = short_name(text, limit)
    assert 0 < len(label) <= limit
    assert label.isprintable()


def test_the_middle_is_cut_out():
    assert shorten("abcdefghij", 5) == "ab…ij"
    assert shorten("abcde", 5) == "abcde"


def test_names_that_are_no_text():
    assert name_text(("a", (1, None))) == "(a, (1, None))"
    assert name_text("a\n b\x00") == "a b\\x00"
    assert name_text("") == "''"


def test_names_that_would_look_alike_are_numbered_by_their_place_in_the_data():
    names = ["expression_of_gene_A_in_tissue", "expression_of_gene_B_in_tissue"]
    labels = short_names(names, 16, positions=[4, 9])
    assert [label[-3:] for label in labels] == [" #5", "#10"]
    assert max(map(len, labels)) <= 16
