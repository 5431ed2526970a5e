"""Fits side by side: matched supports, angles, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ComponentsError, NoRowsError, OptionError, ShapeError
from spcastat.results.fit import SpcaResult


def with_loadings(fit: SpcaResult, V: np.ndarray) -> SpcaResult:
    """The same fit with other loadings."""
    return SpcaResult(replace(fit._state, V=V))


@pytest.fixture(scope="module")
def fits():
    R = sp.datasets.load_pitprops()
    return {
        "l0": sp.spca_cov(R, 3, [7, 4, 4], method="bcd-l0"),
        "l1": sp.spca_cov(R, 3, [7, 4, 4], method="bcd-l1"),
        "two": sp.spca_cov(R, 2, 5, method="greedy"),
    }


def test_frames(fits):
    both = sp.compare(fits)
    measures = both.frames["measures"]
    for name, fit in fits.items():
        for measure in ("pev", "rre", "adjusted", "relative_adjusted", "least_squares"):
            assert measures.loc[name, measure] == fit.measure(measure)
        assert measures.loc[name, "nonzeros"] == fit.card.sum()
    card = both.frames["cardinality"]
    assert card.loc["l0"].tolist() == [7, 4, 4]
    assert pd.isna(card.loc["two", "PC3"])
    for name in ("agreement", "angles"):
        frame = both.frames[name]
        pd.testing.assert_frame_equal(frame, frame.T)
    assert (np.diag(both.frames["agreement"]) == 1).all()
    assert (np.diag(both.frames["angles"]) == 0).all()


def test_order_and_sign_do_not_count(pitprops):
    fit = sp.spca(pitprops, 3, 4, method="bcd-l0")
    turned = with_loadings(sp.spca(pitprops, 3, 4, method="bcd-l0"), -fit.loadings.to_numpy()[:, [2, 0, 1]])
    both = sp.compare({"a": fit, "b": turned})
    assert both.frames["agreement"].loc["a", "b"] == 1
    assert both.frames["angles"].loc["a", "b"] < 1e-5
    assert both.frames["matches"]["matched"].tolist() == ["PC2", "PC3", "PC1"]
    np.testing.assert_allclose(both.frames["matches"]["cosine"], 1)


def test_agreement_is_the_best_matching():
    """Worked by hand: supports {1,2},{3,4} against {3,4,5},{1}: 2/3 and 1/2, on average 7/12."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 5)), columns=list("abcde"))
    fit = sp.spca(X, 2, 2, method="bcd-l0")
    first = with_loadings(fit, np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]).T / np.sqrt(2))
    second = with_loadings(fit, np.array([[0, 0, 1, 1, 1], [1, 0, 0, 0, 0]]).T / np.sqrt([3, 1]))
    both = sp.compare({"first": first, "second": second})
    assert both.frames["agreement"].loc["first", "second"] == pytest.approx(7 / 12)
    # the spans: cosines of the principal angles are singular values of V'W
    cosines = np.linalg.svd(first.loadings.to_numpy().T @ second.loadings.to_numpy())[1]
    angle = both.frames["angles"].loc["first", "second"]
    assert angle == pytest.approx(np.rad2deg(np.arccos(cosines.min())))


def test_a_component_without_partner_counts_as_zero(fits):
    both = sp.compare({"three": fits["l0"], "two": fits["two"]})
    matches = both.frames["matches"]
    assert len(matches) == 2
    assert both.frames["agreement"].loc["three", "two"] == pytest.approx(matches["jaccard"].sum() / 3)


def test_columns_in_another_order_are_the_same_variables(pitprops):
    fit, other = (
        sp.spca(pitprops, 2, 4, method="bcd-l0"),
        sp.spca(pitprops[pitprops.columns[::-1]], 2, 4, method="bcd-l0"),
    )
    both = sp.compare({"a": fit, "b": other})
    assert both.frames["agreement"].loc["a", "b"] == 1
    assert both.frames["angles"].loc["a", "b"] < 1e-3


def test_it_prints_in_80_columns_and_in_every_format(fits):
    both = sp.compare({**fits, "a much longer name of a fit": fits["l0"]})
    text = both.as_text()
    assert max(map(len, text.splitlines())) <= 80
    for label in (
        "Comparison of 4 fits",
        "Method",
        "PEV",
        "Agreement",
        "Angle, degrees",
        "Largest score |r|",
    ):
        assert label in text
    assert "<table" in both.as_html()
    assert r"\toprule" in both.as_latex()
    assert "| Fit" in both.as_markdown()


def test_many_components_have_no_rows_of_their_own(pitprops):
    both = sp.compare({str(card): sp.spca(pitprops, 10, card, method="greedy") for card in (3, 4)})
    assert "Components" in str(both)
    assert "PC10" not in str(both)


def test_fits_of_other_data_are_noted(pitprops):
    both = sp.compare(
        {"a": sp.spca(pitprops, 1, 4, method="bcd-l0"), "b": sp.spca(2 * pitprops, 1, 4, method="bcd-l0")}
    )
    assert "different total variances" in " ".join(str(both).split())


def test_what_cannot_be_compared(fits, pitprops):
    fit = sp.spca(pitprops.rename(columns={"length": "long"}), 2, 3, method="bcd-l0")
    with pytest.raises(ShapeError, match="only the first has 'length', only the second 'long'"):
        sp.compare({"a": fits["l0"], "b": fit})
    with pytest.raises(ShapeError, match="13 and 12"):
        sp.compare({"a": fits["l0"], "b": sp.spca(pitprops.iloc[:, 1:], 2, 3, method="bcd-l0")})
    for wrong in ([fits["l0"], fits["l1"]], {"a": fits["l0"]}, {}):
        with pytest.raises(OptionError, match="two fits or more by name"):
            sp.compare(wrong)
    with pytest.raises(OptionError, match="'b' is a DataFrame"):
        sp.compare({"a": fits["l0"], "b": pitprops})


# --- held-out errors ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    T = rng.standard_normal((60, 2)) * [3.0, 2.0]
    V = np.zeros((8, 2))
    V[:4, 0], V[4:7, 1] = 0.5, 3**-0.5
    return pd.DataFrame(T @ V.T + rng.standard_normal((60, 8)), columns=[*"abcdefgh"])


def press_by_hand(X, k, card, scale, labels):
    """Errors of cells by conditional means of normal rows, from the inverse of Sigma = VLV' + s2 I."""
    total, by_mean = 0.0, 0.0
    for fold in range(labels.max() + 1):
        train, test = X[labels != fold], X[labels == fold]
        centre, unit = train.mean(axis=0), train.std(axis=0, ddof=1) if scale else 1.0
        Z, S = (test - centre) / unit, np.cov(((train - centre) / unit).T)
        V = sp.spca_cov(S, k, card, effort="quick").loadings.to_numpy()
        Q = np.linalg.qr(V)[0]
        s2 = (np.trace(S) - np.trace(Q.T @ S @ Q)) / (len(S) - k)
        Omega = np.linalg.inv(Q @ Q.T @ S @ Q @ Q.T + s2 * (np.eye(len(S)) - Q @ Q.T))
        total += (((Z @ Omega) / np.diag(Omega)) ** 2).sum()
        by_mean += (Z**2).sum()
    return total / by_mean


@pytest.mark.parametrize("scale", [False, True])
def test_held_out_errors_are_those_of_conditional_means(rows, scale):
    from spcastat.assess.row_groups import RowGroups
    from spcastat.fit.inputs import opened

    fits = {"true": sp.spca(rows, 2, [4, 3], scale=scale), "few": sp.spca(rows, 1, 1, scale=scale)}
    both = sp.compare(fits, held_out=True, rng=3)
    found = both.frames["measures"]
    source = opened(rows, None, {}, None)[0].source("")
    labels = RowGroups.of(source).folds(5, 1, np.random.default_rng([3, 2]))[0]
    # the searches without a fold start otherwise here and there: the same loadings to their tolerance
    assert found.loc["true", "held_out"] == pytest.approx(
        press_by_hand(rows.to_numpy(), 2, [4, 3], scale, labels), abs=1e-6
    )
    # a variable alone in the only component is predicted by its mean
    assert found.loc["few", "held_out"] == pytest.approx(1.0, abs=1e-12)
    assert found.loc["true", "held_out_excess"] == 0.0
    assert found.loc["few", "held_out_excess"] == pytest.approx(1 - found.loc["true", "held_out"])
    text = both.as_text()
    assert "Held-out error" in text
    assert max(map(len, text.splitlines())) <= 80


def test_held_out_errors_of_equal_fits_are_equal_and_the_same_for_any_number_of_processes(rows):
    fits = {"one": sp.spca(rows, 2, 3, effort="quick"), "again": sp.spca(rows, 2, 3, effort="quick")}
    fits["greedy"] = sp.spca(rows, 2, 3, method="greedy")
    one = sp.compare(fits, held_out=True, repeats=2).frames["measures"]
    assert one.loc["one", "held_out"] == one.loc["again", "held_out"]
    two = sp.compare(fits, held_out=True, repeats=2, n_jobs=2).frames["measures"]
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_fits_from_files_have_held_out_errors_with_their_rows(rows, tmp_path):
    fits = {"four": sp.spca(rows, 2, 4, effort="quick"), "two": sp.spca(rows, 2, 2, effort="quick")}
    for name, fit in fits.items():
        fit.save(tmp_path / f"{name}.spca")
    loaded = {name: sp.load(tmp_path / f"{name}.spca") for name in fits}
    with pytest.raises(NoRowsError, match="compare\\(data="):
        sp.compare(loaded, held_out=True)
    found = sp.compare(loaded, held_out=True, data=rows).frames["measures"]
    expected = sp.compare(fits, held_out=True).frames["measures"]
    np.testing.assert_allclose(found["held_out"], expected["held_out"], rtol=1e-9)


def test_held_out_errors_are_paired_by_row(rows):
    first = sp.spca(rows[:30], 2, 3, effort="quick")
    half = rows[:30]
    for other, options in (
        (rows[30:], {}),
        (half[::-1], {}),
        (half, {"weights": np.arange(1, 31)}),
        ([half[:15], half[15:]], {}),
    ):
        with pytest.raises(ShapeError, match="rows"):
            sp.compare({"a": first, "b": sp.spca(other, 2, 2, **options)}, held_out=True)
    turned = sp.spca(half[half.columns[::-1]], 2, 3, effort="quick")
    errors = sp.compare({"a": first, "b": turned}, held_out=True).frames["measures"]["held_out"]
    assert errors["a"] == pytest.approx(errors["b"], rel=1e-9)  # sums of products in another order


def test_what_has_no_held_out_error(rows, fits):
    with pytest.raises(NoRowsError, match="'l0' is of a covariance matrix"):
        sp.compare(fits, held_out=True)
    short = {"all": sp.spca(rows, 2, 3, effort="quick"), "few": sp.spca(rows.head(40), 2, 3, effort="quick")}
    with pytest.raises(ShapeError, match="60 and 40 rows"):
        sp.compare(short, held_out=True)
    with pytest.raises(ComponentsError, match="8 components of 8 variables"):
        sp.compare({"a": sp.spca(rows, 8, 3), "b": sp.spca(rows, 2, 3)}, held_out=True)
    for unused in {"data": rows}, {"folds": 3}, {"repeats": 2}, {"rng": 1}:
        with pytest.raises(OptionError, match=f"{next(iter(unused))} was given .* without held_out"):
            sp.compare({"a": short["all"], "b": short["all"]}, **unused)


def test_rows_with_gaps_and_rows_in_pieces_are_held_out_as_choose_does_it(rows):
    gaps = rows.copy()
    gaps.iloc[::5, 2] = np.nan
    chunks = [rows.iloc[:25], rows.iloc[25:]]
    for data, how in ((gaps, {"na": "em"}), (chunks, {})):
        fits = {str(card): sp.spca(data, 2, card, **how) for card in (4, 5)}
        found = sp.compare(fits, held_out=True).frames["measures"]["held_out"]
        choice = sp.choose(data, 2, cards=[4, 5], **how).table["error"]
        np.testing.assert_allclose(found, choice, rtol=0.02)  # searches from other starts, 48 rows
