"""What a wrong call is answered with: where an argument belongs, what is near, never the same word."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ComponentsError, MethodError, ShapeError, UnknownOptionError

R = sp.datasets.load_pitprops()
X = sp.datasets.make_hastie(40)


@pytest.mark.parametrize(
    ("function", "data", "given", "answer"),
    [
        (sp.spca_cov, R, {"center": True}, r"no place in spca_cov\(\): .* is centred already"),
        (sp.spca_cov, R, {"centre": True}, r"Did you mean 'center'\? That has no place"),
        (sp.spca_cov, R, {"weights": [1.0]}, r"weights are of rows, so give the rows to spca\(\)"),
        (sp.spca_cov, R, {"formula": "~ a"}, r"belongs to a fit of rows, spca\(data"),
        (sp.spca_cov, R, {"n_ob": 180}, r"Did you mean 'n_obs'\?"),
        (sp.spca_cov, R, {"progres": True}, r"Did you mean 'progress'\?"),
        (sp.spca, X, {"progres": True}, r"Did you mean 'progress'\?"),
        (sp.spca, X, {"n_obs": 40}, r"belongs to a fit of a covariance matrix, spca_cov\(S"),
        (sp.spca, X, {"cards": [1, 2]}, r"belongs to a path, spca_path\(data"),
        (sp.spca, X, {"zeros": 0.5}, r"for spcastat\.spco\(data, k, zeros="),
        (sp.spca_path, X, {"centre": True}, r"Did you mean 'center'\?$"),
        (sp.spca_path, X, {"n_ob": 40}, r"Did you mean 'n_init'\?|Did you mean 'n_obs'\?"),
        (sp.spca_path, R, {"center": True}, r"center= was given with a covariance matrix, and it describes"),
        (sp.spca_path, X, {"n_obs": 40}, r"n_obs= was given with rows, and it describes a covariance matrix"),
        (sp.choose, X, {"n_resample": 99}, r"the number of draws is n_draws="),
        (sp.choose, X, {"level": 0.1}, r"level of the tests is alpha="),
        (sp.choose, X, {"mean": X.mean()}, r"mean= was given with rows"),
        (sp.choose, X, {"card": 5}, r"give cards="),
    ],
)
def test_an_argument_is_answered_with_where_it_belongs(function, data, given, answer):
    with pytest.raises(UnknownOptionError, match=answer) as caught:
        function(data, 2, **given)
    (name,) = given
    assert f"Did you mean {name!r}" not in str(caught.value)


@pytest.mark.parametrize("function", [sp.spca, sp.spca_path])
def test_coordinates_are_a_function_of_their_own(function):
    with pytest.raises(MethodError, match=r"method='spco' .* spcastat\.spco\(data, k, zeros="):
        function(X, 2, method="spco")
    # what the list of methods says of it
    row = sp.methods().set_index("name").loc["spco"]
    assert row["function"] == "spco"


@pytest.mark.parametrize(("name", "value"), [("card", 3), ("t", 1.5), ("penalty", 0.1), ("variance", 0.9)])
def test_a_path_takes_no_control_of_one_fit(name, value):
    with pytest.raises(UnknownOptionError, match=rf"{name}= was given to spca_path\(\).*cards="):
        sp.spca_path(X, 1, cards=[1, 2], **{name: value})


def test_one_of_a_thing_is_written_as_one():
    with pytest.raises(ComponentsError, match=r"at most 1 component\.$"):
        sp.spca(X[["X1"]], 2, 1)
    ones = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 4.0, 8.0]})
    with pytest.raises(ComponentsError, match=r"at most 1 component\.$"):
        sp.spca(ones, 2, 1)
    with pytest.raises(ShapeError, match="have 1 row and no columns"):
        sp.spca(np.empty((1, 0)), 1, 1)
    one = sp.spca(X[["X1"]], 1, 1)
    text = str(one)
    assert "1 component of 1 variable," in text
    assert "40 rows x 1 variable," in text
    assert not re.search(r"\b1 [a-z]+s\b", text), text


def test_arrays_have_their_article():
    fit = sp.spca(X, 1, 3)
    with pytest.warns(sp.errors.DataWarning, match="are an array without names: its 10 columns are taken"):
        fit.transform(X.to_numpy())
