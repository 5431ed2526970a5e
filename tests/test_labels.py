"""Names as labels: printable, no longer than asked, told apart."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import spcastat as sp
from spcastat.labels import LONGEST, name_text, short_name, short_names, shorten


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


def test_names_of_a_hundred_thousand_characters_are_shortened_and_told_apart(tmp_path):
    """In the print, the tables, the equations, the comparison and the page."""
    half = "x" * 50_000
    names = [f"{half}{letter}{half}" for letter in "abcd"]
    X = np.random.default_rng(0).standard_normal((50, 4))
    fit = sp.spca(pd.DataFrame(X, columns=names), 2, card=2, effort="quick")
    fit = fit.rename({"PC1": names[0], "PC2": names[1]})
    fit.bootstrap(9)
    fit.certify(joint=False)
    fit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    both = sp.compare({names[0]: fit, names[1]: fit})
    texts = [str(fit), str(both), fit.summary().as_html(), str(fit.equations()), page]
    assert all(len(run) <= LONGEST for text in texts for run in re.findall("x+", text))
    assert max(map(len, texts)) < 1_000_000
    labels = {name_text(name) for name in names}
    assert len(labels) == 4
    assert max(map(len, labels)) == LONGEST
    assert all(name_text(name) in page for name in fit.loadings.index[fit.loadings.any(axis=1)])
    assert fit.loadings.index.tolist() == names  # frames keep the names
