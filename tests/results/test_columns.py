"""Groups and colours by the name of a column of the fitted data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import NoRowsError, OptionError, ShapeError


@pytest.fixture(scope="module")
def df() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(24, 4)), columns=list("abcd"))
    return frame.assign(site=pd.Categorical(list("xyz") * 8, ["z", "y", "x", "none"]), age=np.arange(24.0))


@pytest.fixture(scope="module")
def fit(df) -> sp.SpcaResult:
    return sp.spca(df, k=2, card=3, formula="~ a + b + c + d", effort="quick")


def test_a_text_names_a_column_that_took_part_or_not(fit, df):
    by_name = fit.biplot_data(groups="site").points["group"]
    assert by_name.tolist() == df["site"].tolist()
    assert list(by_name.cat.categories) == ["z", "y", "x"]  # the order of the categorical, none empty
    np.testing.assert_array_equal(fit.biplot_data(color="age").points["color"], df["age"])
    for plot in (fit.biplot, fit.plot_scores, fit.plot_diagnostics):
        legend = plot(groups="site").get_legend()
        assert legend.get_title().get_text() == "site"
        assert [text.get_text() for text in legend.get_texts()] == ["z", "y", "x"]


def test_rows_that_were_left_out_have_no_group(df):
    holes = df.copy()
    holes.loc[[2, 5], "a"] = np.nan
    fit = sp.spca(holes, k=2, card=3, formula="~ a + b + c + d", na="drop", effort="quick")
    assert fit.biplot_data(groups="site").points["group"].tolist() == df["site"].drop([2, 5]).tolist()
    twice = sp.spca(holes.set_axis([0] * 24), k=2, card=3, formula="~ a + b + c + d", na="drop")
    with pytest.raises(ShapeError, match="row labels are not unique"):
        twice.biplot(groups="site")


def test_columns_that_are_not_there(fit, df, tmp_path):
    with pytest.raises(OptionError, match=r"groups='sit' is not a column.*Did you mean 'site'"):
        fit.biplot(groups="sit")
    with pytest.raises(OptionError, match="an array without names"):
        sp.spca(df[list("abcd")].to_numpy(), k=2, card=3).biplot(groups="site")
    fit.save(tmp_path / "fit.spca", scores=True)
    with pytest.raises(NoRowsError, match="give the values themselves"):
        sp.load(tmp_path / "fit.spca").biplot(groups="site")
    with pytest.raises(OptionError, match=r"color='site'|one number for each row"):
        fit.biplot(color="site")
