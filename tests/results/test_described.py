"""Equations, and the three frames of broom."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DuplicateNamesError, MissingValuesError, NoRowsError, OptionError

TERM = re.compile(r"([+-]?) ?([\d.]+(?:e[+-]\d+)?) (`[^`]*`|[^\s+-]+)")


def read(equation: str) -> dict[str, float]:
    """The coefficients of an equation, by name; "" is the constant."""
    text = " ".join(equation.split())
    _, right = text.split(" = ")
    constant = re.match(r"(-?[\d.e]+)(?= [+-])", right)
    found = {"": float(constant[1])} if constant else {}
    right = right[constant.end() :] if constant else right
    for sign, size, label in TERM.findall(right):
        found[label.strip("`")] = float(size) * (-1 if sign == "-" else 1)
    return found


def equations(text: str) -> list[str]:
    """The equations of a wrapped text, one string each, without the line on the variables."""
    return re.split(r"\n(?=PC)", text.partition("\n(in the")[0])


# --- equations ----------------------------------------------------------------------------------


def test_equations_are_the_nonzero_loadings(fit):
    text = fit.equations(digits=6)
    for equation, component in zip(equations(text), fit.components, strict=True):
        wanted = fit.loadings[component]
        found = pd.Series(read(equation))
        pd.testing.assert_series_equal(found, wanted[wanted != 0], atol=1e-6, rtol=0, check_names=False)


def test_equations_are_wrapped_between_terms(fit):
    text = fit.equations(width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert repr(text) == str(text)
    *lines, _ = text.splitlines()
    for line in lines:
        assert re.match(r"(PC\d = |\s+[+-] )", line)


def test_raw_equations_give_the_scores_of_raw_rows(mixed):
    fit = sp.spca(mixed.drop(columns="kind"), k=2, card=3, scale=True, method="bcd-l0")
    for equation, component in zip(
        equations(fit.equations(digits=10, raw=True)), fit.components, strict=True
    ):
        terms = read(equation)
        constant = terms.pop("")
        columns = {str(name): name for name in mixed.columns}
        value = constant + sum(c * mixed[columns[name]] for name, c in terms.items())
        np.testing.assert_allclose(value, fit.scores[component], atol=1e-6)


def test_equations_say_what_was_done_to_the_variables(mixed):
    table = mixed.drop(columns="kind")
    done = {(True, True): "centred and scaled", (True, False): "centred", (False, True): "scaled"}
    for (center, scale), words in done.items():
        fit = sp.spca(table, k=1, card=3, center=center, scale=scale, method="bcd-l0")
        assert fit.equations().endswith(f"\n(in the {words} variables)")
        assert "(in the" not in fit.equations(raw=True)
    plain = sp.spca(table, k=1, card=3, center=False, scale=False, method="bcd-l0")
    assert "(in the" not in plain.equations()


def test_names_that_are_no_words_stand_in_backticks(mixed):
    formula = "~ a + log(b) + `my x` + a:b + C(kind)"
    fit = sp.spca(mixed, k=1, method="pca", formula=formula, scale=False, categorical="dummy")
    text = fit.equations()
    assert "`my x`" in text
    assert "log(b)" in text
    assert "`log(b)`" not in text
    assert "C(kind)[x]" in text
    assert " a:b" in text


def test_terms_that_are_not_written_are_counted():
    fit = sp.spca(sp.datasets.make_hastie(50), k=1, method="pca")
    text, about = fit.equations(max_terms=4).splitlines()
    assert text.endswith("+ 6 smaller terms")
    assert about == "(in the centred variables)"
    largest = fit.loadings["PC1"].abs().nlargest(4)
    assert set(read(text.removesuffix("+ 6 smaller terms"))) == set(largest.index)


def test_a_tiny_loading_is_not_written_as_zero(pitprops):
    fit = sp.spca(pitprops.assign(tiny=pitprops["length"] * 1e-6), k=1, method="pca")
    assert not re.search(r" 0\.000 ", fit.equations())


@pytest.mark.parametrize("options", [{"digits": 0}, {"width": 10}, {"max_terms": 0}])
def test_options_of_equations(fit, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        fit.equations(**options)


def test_raw_equations_need_the_mean(covariance_fit):
    with pytest.raises(NoRowsError, match="mean"):
        covariance_fit.equations(raw=True)


# --- broom --------------------------------------------------------------------------------------


def test_tidy_has_a_row_for_each_nonzero(fit):
    tidy = fit.tidy()
    assert list(tidy.columns) == ["term", "component", "loading"]
    assert (tidy["loading"] != 0).all()
    assert len(tidy) == fit.card.sum()
    whole = fit.tidy(zeros=True).pivot(index="term", columns="component", values="loading")
    pd.testing.assert_frame_equal(
        whole.loc[fit.loadings.index], fit.loadings, check_names=False, check_index_type=False
    )


def test_tidy_keeps_the_types_of_names(mixed):
    fit = sp.spca(mixed[["a", "b", 7]], k=1, method="pca")
    assert fit.tidy()["term"].tolist() == ["a", "b", 7]


def test_glance_is_one_row(fit, covariance_fit):
    glance = fit.glance().iloc[0]
    assert len(fit.glance()) == 1
    assert (glance["n"], glance["p"], glance["k"], glance["nonzeros"]) == (180, 13, 6, 18)
    for name in ("pev", "rre", "adjusted", "relative_adjusted", "least_squares"):
        assert glance[name] == fit.measure(name)
    C = fit.score_correlations.to_numpy() - np.eye(6)
    assert glance["score_correlation"] == pytest.approx(np.abs(C).max())
    assert pd.isna(sp.spca_cov(sp.datasets.load_pitprops(), 1, 3, method="bcd-l0").glance()["n"].iloc[0])


def test_augment_keeps_the_data_and_their_labels(mixed):
    data = mixed.set_index("kind", append=True)
    fit = sp.spca(mixed[["a", "b", "my x"]], k=2, card=2, scale=False, method="bcd-l0")
    data = mixed.copy()
    wide = fit.augment(data)
    pd.testing.assert_frame_equal(wide[list(mixed.columns)], mixed)
    np.testing.assert_array_equal(wide[[".fittedPC1", ".fittedPC2"]], fit.transform(mixed))
    pd.testing.assert_frame_equal(data, mixed)  # the user's frame is not changed


def test_augment_without_data_has_the_fitted_columns(mixed):
    fit = sp.spca(mixed, k=1, card=1, formula="~ a + log(b)", method="bcd-l0")
    wide = fit.augment()
    assert list(wide.columns) == ["a", "log(b)", ".fittedPC1"]
    assert wide.index.equals(mixed.index)


def test_augment_keeps_rows_with_missing_values(mixed):
    fit = sp.spca(mixed[["a", "b"]], k=1, card=1, method="bcd-l0")
    holes = mixed.set_axis(["same"] * len(mixed))  # labels that repeat
    holes.iloc[[2, 5], 0] = np.nan
    with pytest.raises(MissingValuesError):
        fit.augment(holes)
    wide = fit.augment(holes, na="drop")
    assert wide[".fittedPC1"].isna().to_numpy().nonzero()[0].tolist() == [2, 5]
    assert len(wide) == len(holes)


def test_augment_of_other_containers(mixed):
    polars = pytest.importorskip("polars")
    values = mixed[["a", "b"]].to_numpy()
    by_array = sp.spca(values, k=1, card=1, method="bcd-l0")
    assert list(by_array.augment(values).columns) == ["x1", "x2", ".fittedPC1"]
    fit = sp.spca(mixed[["a", "b"]], k=1, card=1, method="bcd-l0")
    table = polars.DataFrame({"b": values[:, 1], "a": values[:, 0], "c": ["u"] * 24})
    np.testing.assert_allclose(fit.augment(table)[".fittedPC1"], fit.scores["PC1"])


def test_augment_of_augmented_data_is_refused(fit, pitprops):
    with pytest.raises(DuplicateNamesError, match="fittedPC1"):
        fit.augment(fit.augment(pitprops))


def test_augment_of_a_covariance_fit(covariance_fit):
    with pytest.raises(NoRowsError):
        covariance_fit.augment()
