"""Certificates in the hands of users: print, adopt, summary, files, comparison."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import FileError, NoRowsError, OptionError
from spcastat.show.proof_facts import value_and_bound
from tests.fit.test_archive import seal


@pytest.fixture(scope="module")
def proven(R):
    """A poor fit that shows its proof, and the proof."""
    fit = sp.spca_cov(R, 2, card=3, method="greedy")
    proof = fit.certify(joint=True)
    return fit.with_inference(proof), proof


@pytest.fixture
def fit(proven):
    return copy.copy(proven[0])


@pytest.fixture
def proof(proven):
    return proven[1]


def test_a_certificate_prints_in_eighty_columns_and_says_what_was_proven(fit, proof):
    text = str(proof.summary())
    assert max(map(len, text.splitlines())) <= 80
    said = " ".join(text.split())
    assert "fit.adopt(certificate) returns it" in said
    assert re.search(r"\d+ nodes examined, \d+ open, ", said)
    # the gap is relative to the value of the fit, the bound to the total variance
    limit = re.search(r"PEV than ([\d.]+) % of the total variance. This fit has ([\d.]+) %, and", said)
    gain = re.search(r"at most [\d.]+ points, ([\d.]+) % of its value, can be gained", said)
    assert limit is not None
    assert gain is not None
    ratio = float(limit[1]) / float(limit[2])
    assert float(gain[1]) == pytest.approx(100 * (ratio - 1), abs=6e-3)  # all are rounded to three decimals
    assert "PEV" in text
    assert "best_known" not in text
    value, bound, gap, optimal = text.split("\nPEV")[1].split()[:4]
    row = proof.table.loc["fit"]
    # in percent with three decimals, of which the last is rounded
    assert [float(value), float(bound), float(gap)] == pytest.approx(
        [100 * row["value"], 100 * row["upper_bound"], row["gap"]], abs=1e-3
    )
    assert optimal == "no"  # a better fit was found
    columns = set(proof.table)
    assert {"measure", "cardinalities", "pca_bound", "nodes", "open", "best_known", "supports"} <= columns
    components = str(fit.certify(joint=False))
    assert max(map(len, components.splitlines())) <= 80
    assert str(pickle.loads(pickle.dumps(proof)).summary()) == text


def test_a_bound_minus_the_value_is_the_difference_that_is_printed():
    rng = np.random.default_rng(0)
    for value, gain in rng.uniform([0.1, 1e-4], [0.6, 0.4], size=(500, 2)):
        row = {"value": value, "upper_bound": value + gain}
        value_text, bound, points = map(float, value_and_bound(row))
        assert round(bound - value_text, 3) == points
        assert bound >= 100 * (value + gain) - 1e-6
        assert 100 * gain - 1e-6 <= points < 100 * gain + 0.002


def test_a_joint_proof_knows_fits_with_the_cardinalities_in_another_order(R, tmp_path):
    """Its bound holds for every order; (5, 3) keeps .40921 of the adjusted variance, (3, 5) .40692."""
    fit = sp.spca_cov(R, 2, [3, 5], effort="quick")
    proof = fit.certify(joint=True, max_nodes=50)
    assert proof.table["best_known"].iloc[0] == pytest.approx(0.409212, abs=1e-6)
    assert [len(one) for one in proof.table["supports"].iloc[0]] == [5, 3]
    better = fit.adopt(proof)
    assert better.card.tolist() == better.options["card"] == [5, 3]
    assert better.measure("adjusted") == pytest.approx(proof.table["best_known"].iloc[0], rel=1e-12)
    for one in (fit, better):
        one.save(tmp_path / "fit")
        assert str(sp.load(tmp_path / "fit")) == str(one)


def test_the_better_fit_of_a_joint_proof_is_adopted(fit, proof):
    better = fit.adopt(proof)
    assert better.measure("pev") == pytest.approx(proof.table["best_known"].iloc[0], rel=1e-12)
    assert better.measure("pev") > fit.measure("pev")
    assert better.card.tolist() == fit.card.tolist()
    supports = [list(better.loadings.index[better.loadings[c] != 0]) for c in better.components]
    assert sorted(map(sorted, supports)) == sorted(map(sorted, proof.table["supports"].iloc[0]))
    assert "Proven optimal" in " ".join(str(better).split())
    assert better.adopt(proof) is better
    assert better.certify(joint=True).table["optimal"].iloc[0]


def test_better_supports_of_single_components_are_adopted(R):
    """bcd-l0 maximises PEV: its first component is not the best single one, which has 2.937479 on four."""
    fit = sp.spca_cov(R, 2, card=4, method="bcd-l0")
    proof = fit.certify(joint=False)
    better = fit.adopt(proof)
    assert better.variance["adjusted variance"].iloc[0] == pytest.approx(2.937479, abs=5e-7)
    assert better.measure("adjusted") > fit.measure("adjusted")
    again = better.certify(joint=False)
    assert again.table["optimal"].iloc[0]


def test_the_summary_and_files_keep_a_proof(fit, proof, tmp_path):
    assert "Proof " in str(fit.summary())
    fit = fit.with_inference(fit.certify(joint=False))
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert str(loaded) == str(fit)
    for stored, shown in zip(loaded.inference["certificates"], fit.inference["certificates"], strict=True):
        assert str(stored) == str(shown)
        pd.testing.assert_frame_equal(stored.table, shown.table)
        with pytest.raises(NoRowsError, match=r"certificate\.table"):
            stored.loadings  # noqa: B018
    with pytest.raises(NoRowsError):
        loaded.adopt(proof)


def test_the_last_proof_of_a_kind_counts(fit, proof):
    loose = fit.certify(joint=True, max_nodes=1)
    assert loose.sentence != proof.sentence
    assert [one.sentence for one in fit.with_inference(loose).inference["certificates"]] == [loose.sentence]
    singly = fit.certify(joint=False)
    both = fit.with_inference(singly).inference["certificates"]
    assert [one.sentence for one in both] == [proof.sentence, singly.sentence]
    pd.testing.assert_frame_equal(both[0].loadings, proof.loadings)


def test_comparisons_have_a_row_of_proven_gaps(R):
    fit = sp.spca_cov(R, 2, card=3, method="greedy")
    other = sp.spca_cov(R, 2, card=3, effort="quick")
    assert "Gap to the proven" not in str(sp.compare({"a": fit, "b": other}))
    proof = fit.certify(joint=True, objective="least_squares", max_nodes=5)
    both = sp.compare({"a": fit.with_inference(proof), "b": other})
    assert both.measures.loc["a", "gap_least_squares"] == proof.table["gap"].iloc[0]
    assert np.isnan(both.measures.loc["b", "gap_least_squares"])
    assert "Gap to the proven bound" in str(both)


def test_adopt_refuses_what_is_no_certificate_of_the_fit(fit, proof, R):
    with pytest.raises(OptionError, match="accepts the result of certify"):
        fit.adopt(proof.loadings)
    with pytest.raises(OptionError, match="other variables"):
        sp.spca_cov(R.iloc[:12, :12], 2, 3).adopt(proof)
    with pytest.raises(OptionError, match="cardinalities"):
        sp.spca_cov(R, 2, 2).adopt(proof)
    nonneg = sp.spca_cov(R, 2, 3, method="bcd-l0", nonneg=True)
    told = nonneg.certify(joint=True)
    assert "without the sign constraint" in told.sentence
    assert "with loadings of either sign" in told.sentence
    assert "adopt()" not in told.sentence
    with pytest.raises(OptionError, match="nonnegative"):
        nonneg.adopt(told)


@pytest.mark.parametrize(
    "change",
    [
        {"upper_bound": "0.1"},
        {"value": None},
        {"optimal": 1},
        {"cardinalities": [3]},
        {"cardinalities": [3, 14]},
        {"supports": [[0, 0, 1], [2, 3, 4]]},
        {"supports": [[0, 1, 99], [2, 3, 4]]},
        {"nodes": -1},
        {"proof": 1000},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_proof_of_other_kinds_and_sizes_is_refused(fit, proof, change, tmp_path):
    fit.save(tmp_path / "fit.spca")

    def changed(manifest):
        (kept,) = manifest["content"]["proofs"]
        kept["rows"][0].update(change)

    seal(tmp_path / "fit.spca", lambda manifest: None)
    sp.load(tmp_path / "fit.spca")
    seal(tmp_path / "fit.spca", changed)
    with pytest.raises(FileError, match="proof"):
        sp.load(tmp_path / "fit.spca")


def test_orthogonal_loadings_are_compared_with_such_alone(R, tmp_path):
    """The bound for orthogonal loadings is below that for all, and closes."""
    fit = sp.spca_cov(R, 2, 3, constraint="orthogonal", effort="quick")
    proof = fit.certify()
    assert "orthogonal loadings" in proof.sentence
    assert proof.table["measure"].iloc[0] == "pev"
    assert proof.table["optimal"].iloc[0]
    assert proof.table["best_known"].iloc[0] == pytest.approx(fit.measure("pev"), rel=1e-12)
    shown = fit.with_inference(proof)
    shown.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca").summary()) == str(shown.summary())
    free = sp.spca_cov(R, 2, 3, objective="pev").certify(max_nodes=1)
    assert free.table["upper_bound"].iloc[0] >= proof.table["upper_bound"].iloc[0]
    with pytest.raises(OptionError, match="fit under a constraint"):
        fit.adopt(proof)


@pytest.mark.parametrize(
    ("card", "objective", "gap"),
    [([4], "least_squares", 1e-6), ([2, 2], "least_squares", 0.01), ([3, 3], "pev", 0.01)],
)
def test_a_fit_is_certified_for_its_objective(R, card, objective, gap):
    """Compared by adjusted variance, the least-squares fit of four variables has a gap of 35 %.

    The gaps, in percent, are those of the joint proof of the objective: 0.01 is its tolerance.
    """
    fit = sp.spca_cov(R, len(card), card, objective=objective, effort="quick")
    proof = fit.certify()
    assert proof.table["measure"].tolist() == [objective]
    assert proof.table["value"].item() == pytest.approx(fit.measure(objective), rel=1e-12)
    assert proof.table["gap"].item() <= gap
    assert proof.table["optimal"].item()
    name = {"pev": "PEV", "least_squares": "least-squares share"}[objective]
    sentence = " ".join(str(proof).split())
    if proof.table["gap"].item() < 1e-7:
        assert f"have a larger {name} than this fit" in sentence
    else:  # what is proven leaves room for the gap, rounded up
        assert f"exceed the {name} of this fit" in sentence
        limit = float(re.search(r"by more than ([\d.]+) % of it", sentence)[1])
        assert proof.table["gap"].item() <= limit <= proof.table["gap"].item() + 1e-3
    singly = fit.certify(joint=False)
    assert len(singly.table) == len(card)
    if card == [4]:
        assert singly.table["gap"].item() > 30.0


def test_single_components_are_certified_where_nothing_is_maximised_jointly(R):
    greedy = sp.spca_cov(R, 2, 4, method="greedy").certify()
    one = sp.spca_cov(R, 1, 4, objective="pev", effort="quick").certify()
    for proof in (greedy, one):
        assert str(proof.summary()).startswith("Upper bound on the variance of each component")
        assert "upper_bound" in proof.table
        assert "measure" not in proof.table
    assert one.table["gap"].item() <= 1e-6  # the search for single components proves to 1e-9


def test_a_gap_below_a_thousandth_of_a_percent_is_not_rounded_up():
    wine = sp.datasets.load_wine()
    proof = sp.spca(wine, 3, 5, scale=True, effort="quick").certify(joint=False)
    gaps = [line.split()[3] for line in str(proof).splitlines() if re.match(r"PC\d ", line)]
    assert len(gaps) == 3
    for text, gap in zip(gaps, proof.table["gap"], strict=True):
        assert text == ("<0.001" if 1e-9 < gap < 1e-3 else f"{np.ceil(1e3 * (gap - 1e-9)) / 1e3:.3f}")
    assert proof.table["gap"].between(1e-9, 1e-3).any()


def test_a_component_that_adds_nothing_has_the_value_zero():
    """Both components are the first variable, of variance 1; the second adds nothing."""
    fit = sp.spca_cov(np.array([[1, 0.5], [0.5, 1]]), 2, [1, 1], include=["x1"], effort="quick")
    proof = fit.certify()
    assert proof.table["value"].tolist() == pytest.approx([1.0, 0.0], abs=1e-12)
    assert proof.table["upper_bound"].tolist() == pytest.approx([1.0, 0.0], abs=1e-12)
    assert proof.table["support"].tolist() == [["x1"], ["x1"]]
    assert proof.table["optimal"].all()
    assert fit.adopt(proof) is fit


def test_a_joint_proof_ends_after_its_default_time_and_says_so(R, monkeypatch):
    fit = sp.spca_cov(R, 3, card=4)
    monkeypatch.setattr("spcastat.results.proofs.JOINT_SECONDS", 1e-9)
    text = " ".join(str(fit.certify().summary()).split())
    assert "(time limit)" in text
    assert "stopped by the time limit after" in text
    assert "a larger time_limit= may lower the bound" in text
    assert "time_limit=" not in str(fit.certify(joint=False))  # has its own default
    assert "time_limit=" not in str(fit.certify(max_nodes=3, time_limit=60.0))  # ended by another limit
