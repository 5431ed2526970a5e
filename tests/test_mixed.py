"""Numbers and factors together, scaled as in factor analysis of mixed data (FAMD)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat import cli, errors
from spcastat.assess.draws import sampler_of
from spcastat.assess.folds import divided
from spcastat.assess.row_groups import RowGroups
from tests.conftest import source_of


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    size = rng.standard_normal(80)
    return pd.DataFrame(
        {
            "a": 30 * size + 5 * rng.standard_normal(80),
            "my b": size + rng.standard_normal(80),
            "site": np.where(size > 0.4, "west", np.where(rng.random(80) < 0.4, "south", "north")),
            "site2": pd.Categorical(rng.choice(["x", "y"], 80), categories=["y", "x", "none"]),
            "flag": rng.random(80) < 0.3,
        }
    )


def famd(rows: pd.DataFrame, weights=None) -> tuple[np.ndarray, pd.DataFrame]:
    """The scaled table by the formulas of FAMD, with the divisor n throughout, and its eigenvalues."""
    w = np.full(len(rows), 1 / len(rows)) if weights is None else weights / weights.sum()
    parts = {}
    for name in rows:
        if rows[name].dtype.kind in "fb":
            x = rows[name].astype(float)
            parts[name] = (x - w @ x) / np.sqrt(w @ (x - w @ x) ** 2)
        else:
            for level in sorted(rows[name].astype(str).unique()):
                d = (rows[name] == level).astype(float)
                parts[f"{name}[{level}]"] = (d - w @ d) / np.sqrt(w @ d)
    Z = pd.DataFrame(parts)
    return np.linalg.eigvalsh(Z.T @ (Z * w[:, None]))[::-1], Z


@pytest.mark.parametrize("way", ["plain", "weights", "formula", "drop"])
def test_eigenvalues_and_scores_are_those_of_famd(rows, way):
    k, data, given = 4, rows, {}
    counted, weights = rows, None
    if way == "weights":
        weights = np.arange(80) % 4
        given = {"weights": weights}
    elif way == "formula":
        given = {"formula": "~ `my b` + C(site) + flag"}
        counted = rows[["my b", "site", "flag"]]
    elif way == "drop":
        data = rows.assign(site=rows["site"].where(rows.index % 9 > 0))
        counted, given = data.dropna(), {"na": "drop"}
    fit = sp.spca(data, k, method="pca", scale="mixed", **given)
    eigenvalues, Z = famd(counted, weights)
    np.testing.assert_allclose(fit.variance["score variance"], eigenvalues[:k], rtol=1e-12)
    names = [label.replace("C(site)", "site") for label in fit.loadings.index]
    n = len(counted) if weights is None else weights.sum()
    theirs = Z[names].to_numpy() @ fit.loadings.to_numpy() * np.sqrt((n - 1) / n)
    np.testing.assert_allclose(fit.transform(counted), theirs, atol=1e-11)


def test_inertia_in_the_print(rows):
    fit = sp.spca(rows, 2, 3, method="greedy", scale="mixed")
    text = " ".join(str(fit).split())
    # 3 numbers, a factor of three levels and one of two: 3 + 2 + 1
    assert "site 33.3 % (3 levels), site2 16.7 % (2 levels), 3 numbers 50.0 %" in text
    for component, v in fit.loadings.items():
        used = int((v[[f"site[{level}]" for level in ("north", "south", "west")]] != 0).sum())
        assert (f"{component} has {used} of the 3 levels of site" in text) == (0 < used < 3)
    shown = [line.split()[0] for line in str(fit).splitlines() if line.startswith("  site")]
    assert shown == sorted(shown, key=lambda label: (label.startswith("site2"), 0))  # factors stand together
    assert "(Pagès, 2004)" in str(fit.describe())


def test_new_rows_files_and_refits(rows, tmp_path):
    fit = sp.spca(rows, 2, 3, method="greedy", scale="mixed")
    assert fit.call == "spca(data, k=2, card=3, scale='mixed', method='greedy')"
    few = rows[rows["site"] == "south"].head(3)
    np.testing.assert_allclose(fit.transform(few), fit.scores.loc[few.index], atol=1e-12)
    with pytest.raises(errors.NewDataError, match=r"'site' has levels.*'east'"):
        fit.transform(rows.assign(site="east"))
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert str(loaded) == str(fit)
    pd.testing.assert_frame_equal(loaded.transform(rows), fit.scores)
    pd.testing.assert_frame_equal(
        loaded.bootstrap(20, data=rows).conf_int(), fit.bootstrap(20).conf_int(), rtol=1e-10
    )
    assert fit.refit(card=2).card.tolist() == [2, 2]
    with pytest.raises(errors.ColumnTypeError, match="'site'"):  # as scale=True says of these data
        fit.refit(scale=True)


def test_draws_and_folds_scale_mixed_data_again(rows):
    source = source_of(rows, scale="mixed")
    sampler = sampler_of(source, False, None, "")
    drawn = sampler.groups.bootstrap(np.random.default_rng(0))[0]
    folds = divided(source, rows, {}, 4, 1, seed=0, k=2, keep_rows=False)
    fold = RowGroups.of(source).folds(4, 1, np.random.default_rng([0, 2]))[0]
    kept = np.flatnonzero(fold != 0)
    for op, some in (
        (sampler.bootstrap(np.random.default_rng(0)), rows.iloc[drawn]),
        (folds.split(0)[0], rows.iloc[kept]),
    ):
        found = np.linalg.eigvalsh(op.block(np.arange(op.p)) * op.unit**2)[::-1]
        np.testing.assert_allclose(found[:6], famd(some)[0][:6], rtol=1e-10)


def test_without_factors_it_is_the_scaling_of_numbers(rows):
    X = rows[["a", "my b"]]
    for data in (X, X.to_numpy(), sparse.csc_array(X.to_numpy())):
        fit = sp.spca(data, 1, 1, method="greedy", scale="mixed")
        same = sp.spca(data, 1, 1, method="greedy", scale=True)
        np.testing.assert_array_equal(fit.loadings, same.loadings)
    far = sp.spca(rows.assign(a=rows["a"] * 1e200), 3, method="pca", scale="mixed")
    np.testing.assert_allclose(far.variance["score variance"], famd(rows)[0][:3], rtol=1e-12)


def test_the_command(rows, tmp_path, capsys):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert (
        cli.main(["fit", str(tmp_path / "rows.csv"), "--k=2", "--card=3", "--method=greedy", "--mixed"]) == 0
    )
    table = pd.read_csv(tmp_path / "rows.csv")
    assert capsys.readouterr().out == f"{sp.spca(table, 2, 3, method='greedy', scale='mixed')}\n"


@pytest.mark.parametrize(
    ("change", "options", "error", "phrase"),
    [
        ({}, {"na": "em"}, errors.OptionError, r"na='em', and a missing level"),
        ({}, {"center": False}, errors.OptionError, r"center=False, and indicators are centred"),
        ({}, {"formula": "~ a + site | flag"}, errors.OptionError, r"'mixed' was given with covariates"),
        ({}, {"formula": "~ a + site:site2"}, errors.OptionError, r"term 'site:site2'.*combined levels"),
        ({}, {"formula": "~ a + a:site"}, errors.OptionError, r"term 'a:site'"),
        ({}, {"blocks": {"a": ["a"]}}, errors.OptionError, r"blocks was given with scale='mixed'"),
        ({"site": "one"}, {}, errors.ConstantColumnError, r"Factor 'site' has one level"),
        ({"a": 1.0}, {}, errors.ConstantColumnError, r"does not vary: 'a'"),
        (
            {},
            {"weights": [0] * 40 + [1] * 40},
            errors.ConstantColumnError,
            r"weight zero have 'site\[early\]'",
        ),
        ({"site": [["list"]] * 80}, {}, errors.ColumnTypeError, r"'site'"),
    ],
)
def test_what_is_refused(rows, change, options, error, phrase):
    data = rows.assign(**change)
    if "weights" in options:
        data["site"] = ["early"] * 40 + ["south", "west"] * 20
    with pytest.raises(error, match=phrase):
        sp.spca(data, 1, 2, scale="mixed", **options)


def test_matrices_and_chunks_have_no_levels(rows):
    X = rows[["a", "my b"]]
    with pytest.raises(errors.OptionError, match=r"scale='mixed' was given for a covariance matrix"):
        sp.spca_cov(X.cov(), 1, 1, scale="mixed")
    for chunks in ([X[:40], X[40:]], [rows[:40], rows[40:]]):
        with pytest.raises(
            errors.OptionError, match=r"scale='mixed' was given for data that are read in chunks"
        ):
            sp.spca(chunks, 1, 1, scale="mixed")
