"""Calls of what was removed: the message says in one sentence what to use instead."""

from __future__ import annotations

import pytest

import spcastat as sp
from spcastat import cli

from .refusals import each, require_refusal

# fmt: off
REMOVED = [
    ("certificate.save('proof.json')", AttributeError,
     r"no attribute 'save'; save its numbers by certificate.table.to_csv\(path\)$"),
    ("certificate.lodings", AttributeError, "no attribute 'lodings'$"),
]
COMMANDS = [
    ("verify proof.json rows.csv", "fit.certify()"),
    ("explore rows.csv --out page.html", "spca_path(data, k).explore(path)"),
    ("groups rows.csv --by species --k 2", "compare_groups(data, groups, k)"),
    ("methods", "methods()"),
    ("datasets", "pitprops, harman74, wine, judges"),
]
# fmt: on


@pytest.fixture(scope="module")
def names():
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 1, 3)
    return {"sp": sp, "fit": fit, "certificate": fit.certify()}


@each(REMOVED)
def test_what_was_removed_is_refused_with_its_replacement(refused, names):
    require_refusal(refused, names)


@pytest.mark.parametrize(("line", "instead"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_a_removed_command_names_what_to_use(line, instead, capsys):
    assert cli.main(line.split()) == 2
    out, err = capsys.readouterr()
    command = line.split()[0]
    assert out == ""
    assert f"the command {command} was removed: " in err
    assert instead in err


def test_the_advice_of_a_certificate_works(names, tmp_path):
    names["certificate"].table.to_csv(tmp_path / "proof.csv")
    assert "upper_bound" in (tmp_path / "proof.csv").read_text()
