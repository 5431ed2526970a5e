"""Blocks of the same weight, and numbers and factors together (MFA and FAMD)."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat import cli, errors
from spcastat.assess.folds import divided
from tests.conftest import source_of

# --- Blocks of the same weight --------------------------------------------------------------------

BLOCKS = {"size": ["a", "b", "c"], "shape": ["f", "d"], "alone": ["e"]}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    common = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6))
    X = (common + rng.standard_normal((60, 6))) * [1, 20, 3, 0.1, 5, 2] + 7
    return pd.DataFrame(X, columns=list("abcdef"))


def divisors(S: pd.DataFrame, blocks=BLOCKS, raw=False) -> pd.Series:
    """The formulas of MFA, on a covariance matrix."""
    found = pd.Series(1.0 if raw else np.sqrt(np.diag(S)), index=S.index)
    R = S / np.outer(found, found)
    for names in blocks.values():
        found[names] *= np.sqrt(np.linalg.eigvalsh(R.loc[names, names])[-1])
    return found


def first_eigenvalues(op, columns, blocks=BLOCKS) -> list[float]:
    S = op.block(np.arange(op.p)) * op.unit**2
    places = [columns.get_indexer(names) for names in blocks.values()]
    return [np.linalg.eigvalsh(S[np.ix_(at, at)])[-1] for at in places]


# --- what it computes ---------------------------------------------------------------------------


def test_wines_of_the_loire_as_factominer_prints_them():
    # FactoMineR's data(wine): 21 wines of INRA Angers (Escofier and Pagès, 1988), of which the 27 columns
    # that are active in MFA(wine, group = c(2, 5, 3, 10, 9, 2), type = c("n", rep("s", 5)),
    # num.group.sup = c(1, 6)); its eigenvalues to nine decimals, its coordinates of groups to seven.
    wine = pd.read_csv(Path(__file__).parent / "data" / "loire.csv", index_col=0)
    parts = np.split(wine.columns.to_numpy(), [5, 8, 18])
    blocks = {
        name: list(part) for name, part in zip(["odor", "visual", "shaken", "taste"], parts, strict=True)
    }
    fit = sp.spca(wine, 5, method="pca", scale="blocks", blocks=blocks)
    printed = [3.461950436, 1.366768270, 0.615429078, 0.372199671, 0.270382485]
    np.testing.assert_allclose(fit.variance["score variance"], printed, atol=6e-10)
    first = fit.loadings["PC1"] ** 2 * printed[0]
    coordinates = [first[names].sum() for names in blocks.values()]
    np.testing.assert_allclose(coordinates, [0.7820738, 0.8546846, 0.9247734, 0.9004187], atol=6e-8)
    # its contributions of groups to the first dimension are these over the eigenvalue
    text = str(fit.summary())
    table = text[text.index("Blocks, % of a component") :].splitlines()
    shares = [line.split()[1] for line in table[2:6]]
    assert shares == [f"{100 * one / printed[0]:.1f}" for one in coordinates]


@pytest.mark.parametrize("kind", ["blocks", "raw blocks"])
@pytest.mark.parametrize("way", ["frame", "sparse", "chunks", "weights", "covariance"])
def test_variables_are_divided_by_the_formulas(rows, kind, way):
    S, mean, given = rows.cov(), rows.mean(), {"scale": kind, "blocks": BLOCKS, "method": "pca"}
    if way == "covariance":
        fit = sp.spca_cov(S, 6, mean=mean, **given)
    elif way == "weights":
        weights = np.arange(60) % 3
        many = rows.loc[rows.index.repeat(weights)]
        S, mean = many.cov(), many.mean()
        fit = sp.spca(rows, 6, weights=weights, **given)
    else:
        data = {"frame": rows, "sparse": rows, "chunks": [rows[:25], rows[25:]]}[way]
        if way == "sparse":
            data = rows.astype(pd.SparseDtype(float, 0.0))
        fit = sp.spca(data, 6, **given)
    scale = divisors(S, raw=kind == "raw blocks")
    eigenvalues = np.linalg.eigvalsh(S / np.outer(scale, scale))[::-1]
    np.testing.assert_allclose(fit.variance["score variance"], eigenvalues, rtol=1e-12)
    expected = ((rows - mean) / scale).to_numpy() @ fit.loadings.to_numpy()
    np.testing.assert_allclose(fit.transform(rows), expected, atol=1e-12)
    assert fit.variance["score variance"].iloc[0] <= len(BLOCKS)  # MFA: between 1 and the number of blocks


def test_units_of_the_data_do_not_matter(rows):
    given = {"method": "pca", "scale": "blocks", "blocks": BLOCKS}
    fit, far = sp.spca(rows, 2, **given), sp.spca(rows * [1e-170, 1e170, 1, 1e200, 1e-200, 1], 2, **given)
    np.testing.assert_allclose(far.loadings, fit.loadings, atol=1e-12)
    raw = {"method": "pca", "scale": "raw blocks", "blocks": BLOCKS}
    np.testing.assert_allclose(
        sp.spca(rows * 1e-200, 2, **raw).loadings, sp.spca(rows, 2, **raw).loadings, atol=1e-12
    )


# --- what is said, kept and drawn ---------------------------------------------------------------


def test_the_print_has_shares_that_add_up(rows):
    fit = sp.spca(rows, 2, 3, method="greedy", scale="blocks", blocks=BLOCKS)
    scale = divisors(rows.cov())
    variances = rows.var() / scale**2
    shares = [100 * variances[names].sum() / variances.sum() for names in BLOCKS.values()]
    line = " ".join(str(fit.summary()).split())
    assert f"size {shares[0]:.1f} % (3 variables), shape {shares[1]:.1f} % (2 variables), alone" in line
    assert "(size, shape, alone), as in multiple factor analysis" in str(fit.describe())
    assert "scaled to unit variance and by blocks" in line


def test_files_refits_and_calls_keep_the_blocks(rows, tmp_path):
    blocks = {name: list(names) for name, names in BLOCKS.items()}
    fit = sp.spca(rows, 2, 3, method="greedy", scale="blocks", blocks=blocks)
    blocks["size"].append("d")  # of the caller's
    assert "scale='blocks'" in fit.call
    assert f"blocks={BLOCKS!r}" in fit.call
    pd.testing.assert_frame_equal(fit.refit(card=3).loadings, fit.loadings)
    assert "blocks" not in fit.refit(scale=True).call
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert str(loaded) == str(fit)
    pd.testing.assert_frame_equal(loaded.transform(rows), fit.scores)
    pd.testing.assert_frame_equal(loaded.bootstrap(20, data=rows).table, fit.bootstrap(20).table, rtol=1e-10)


def test_draws_and_folds_scale_blocks_again(rows):
    given = {"scale": "blocks", "blocks": BLOCKS}
    frame, chunks = source_of(rows, **given), source_of([rows[:25], rows[25:]], **given)
    matrix = source_of(rows.cov(), n_obs=60, **given)
    folds = divided(frame, 5, 1, seed=0, k=2, rank=None, keep_rows=False)
    ops = [folds.split(0)[0], folds.split(3)[0]]
    samplers = [one.sampler("draws()") for one in (frame, matrix, chunks.in_memory(0))]
    for sampler in samplers:
        ops.append(sampler.bootstrap(np.random.default_rng(0)))
        ops.append(sampler.halves(np.random.default_rng(1))[1].all_rows())
    for op in ops:
        np.testing.assert_allclose(first_eigenvalues(op, rows.columns), 1.0, rtol=1e-10)


def test_the_command_the_path_and_the_estimator(rows, tmp_path, capsys):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    given = [f"--blocks={name}={','.join(names)}" for name, names in BLOCKS.items()] + ["--format=text"]
    assert cli.main(["fit", str(tmp_path / "rows.csv"), "--k=2", "--card=3", "--method=greedy", *given]) == 0
    fit = sp.spca(pd.read_csv(tmp_path / "rows.csv"), 2, 3, method="greedy", scale="blocks", blocks=BLOCKS)
    assert capsys.readouterr().out == f"{fit.summary()}\n"
    path = sp.spca_path(rows, 2, cards=[3], method="greedy", scale="blocks", blocks=BLOCKS)
    np.testing.assert_allclose(path[3].loadings, fit.loadings, atol=1e-10)
    pytest.importorskip("sklearn")
    sklearn = importlib.import_module("spcastat.sklearn")
    model = sklearn.SparsePCA(2, card=3, method="greedy", scale="blocks", blocks=BLOCKS).fit(rows)
    np.testing.assert_allclose(model.components_, fit.loadings.T, atol=1e-10)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "phrase"),
    [
        ({"scale": "blocks"}, r"scale='blocks' was given with blocks=None"),
        ({"blocks": BLOCKS}, r"blocks was given with scale=False.*scale='blocks'"),
        ({"scale": True, "blocks": BLOCKS}, r"blocks was given with scale=True"),
        ({"scale": "block", "blocks": BLOCKS}, r"blocks was given with scale='block'"),
        ({"scale": "blocks", "blocks": {**BLOCKS, "alone": ["ee"]}}, r"\['alone'\] names 'ee'.*not one of"),
        ({"scale": "blocks", "blocks": {**BLOCKS, "alone": [["e"]]}}, r"\['alone'\] names \['e'\]"),
        ({"scale": "blocks", "blocks": {**BLOCKS, "more": ["d"]}}, r"'d' twice, in 'shape', 'more'"),
        ({"scale": "blocks", "blocks": {"size": list("abc")}}, r"lacks 'd', 'e', 'f'"),
        ({"scale": "blocks", "blocks": {**BLOCKS, "more": []}}, r"\['more'\] is empty"),
        ({"scale": "blocks", "blocks": {**BLOCKS, "alone": "e"}}, r"\['alone'\] is 'e'; it accepts a list"),
    ],
)
def test_blocks_that_are_no_partition(rows, options, phrase):
    for function, data in ((sp.spca, rows), (sp.spca_cov, rows.cov()), (sp.choose, rows)):
        if function is sp.spca_cov and options.get("scale") is True:
            continue
        with pytest.raises(errors.OptionError, match=phrase.replace("=False", "=(False|None)")):
            function(data, 2, **options)


def test_what_does_not_vary_or_is_too_wide(rows):
    still = rows.assign(e=3.0)
    with pytest.raises(errors.ConstantColumnError, match=r"1 of 6 columns does not vary: 'e'.*'blocks'"):
        sp.spca(still, 1, 2, scale="blocks", blocks=BLOCKS)
    with pytest.raises(errors.ConstantColumnError, match=r"variables of 'alone' in blocks do not vary"):
        sp.spca(still, 1, 2, scale="raw blocks", blocks=BLOCKS)
    first = pd.DataFrame(np.eye(5, 3001)).add_prefix("v")
    wide = [first, first.set_axis(range(5, 10))]
    with pytest.raises(errors.OptionError, match=r"3,001 variables; in chunks it accepts 3,000"):
        sp.spca(wide, 1, 2, scale="blocks", blocks={"all": list(wide[0].columns)})


def test_variables_that_were_adjusted_for_covariates(rows):
    blocks = {"size": ["a", "b"], "shape": ["f", "d", "c"]}
    fit = sp.spca(rows, 2, method="pca", formula="~ . | e", scale="blocks", blocks=blocks)
    Z = np.column_stack([np.ones(60), rows["e"]])
    Y = rows.drop(columns="e")
    left = Y - Z @ np.linalg.lstsq(Z, Y, rcond=None)[0]
    scale = divisors(left.cov(), blocks)
    expected = np.linalg.eigvalsh(left.cov() / np.outer(scale, scale))[::-1][:2]
    np.testing.assert_allclose(fit.variance["score variance"], expected, rtol=1e-12)
    matrix = sp.spca_cov(rows.cov(), 2, method="pca", given=["e"], scale="blocks", blocks=blocks)
    np.testing.assert_allclose(matrix.variance["score variance"], expected, rtol=1e-12)


# --- Numbers and factors together, scaled as in factor analysis of mixed data (FAMD) --------------


@pytest.fixture(scope="module")
def mixed_rows() -> pd.DataFrame:
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
def test_eigenvalues_and_scores_are_those_of_famd(mixed_rows, way):
    k, data, given = 4, mixed_rows, {}
    counted, weights = mixed_rows, None
    if way == "weights":
        weights = np.arange(80) % 4
        given = {"weights": weights}
    elif way == "formula":
        given = {"formula": "~ `my b` + C(site) + flag"}
        counted = mixed_rows[["my b", "site", "flag"]]
    elif way == "drop":
        data = mixed_rows.assign(site=mixed_rows["site"].where(mixed_rows.index % 9 > 0))
        counted, given = data.dropna(), {"na": "drop"}
    fit = sp.spca(data, k, method="pca", scale="mixed", **given)
    eigenvalues, Z = famd(counted, weights)
    np.testing.assert_allclose(fit.variance["score variance"], eigenvalues[:k], rtol=1e-12)
    names = [label.replace("C(site)", "site") for label in fit.loadings.index]
    n = len(counted) if weights is None else weights.sum()
    theirs = Z[names].to_numpy() @ fit.loadings.to_numpy() * np.sqrt((n - 1) / n)
    np.testing.assert_allclose(fit.transform(counted), theirs, atol=1e-11)


def test_inertia_in_the_print(mixed_rows):
    fit = sp.spca(mixed_rows, 2, 3, method="greedy", scale="mixed")
    text = " ".join(str(fit.summary()).split())
    # 3 numbers, a factor of three levels and one of two: 3 + 2 + 1
    assert "site 33.3 % (3 levels), site2 16.7 % (2 levels), 3 numbers 50.0 %" in text
    for component, v in fit.loadings.items():
        used = int((v[[f"site[{level}]" for level in ("north", "south", "west")]] != 0).sum())
        assert (f"{component} has {used} of the 3 levels of site" in text) == (0 < used < 3)
    shown = [line.split()[0] for line in str(fit).splitlines() if line.startswith("  site")]
    assert shown == sorted(shown, key=lambda label: (label.startswith("site2"), 0))  # factors stand together
    assert "(Pagès, 2004)" in str(fit.describe())


def test_new_rows_files_and_refits(mixed_rows, tmp_path):
    fit = sp.spca(mixed_rows, 2, 3, method="greedy", scale="mixed")
    assert fit.call == "spca(data, k=2, card=3, scale='mixed', method='greedy')"
    few = mixed_rows[mixed_rows["site"] == "south"].head(3)
    np.testing.assert_allclose(fit.transform(few), fit.scores.loc[few.index], atol=1e-12)
    with pytest.raises(errors.NewDataError, match=r"'site' has levels.*'east'"):
        fit.transform(mixed_rows.assign(site="east"))
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert str(loaded) == str(fit)
    pd.testing.assert_frame_equal(loaded.transform(mixed_rows), fit.scores)
    pd.testing.assert_frame_equal(
        loaded.bootstrap(20, data=mixed_rows).table, fit.bootstrap(20).table, rtol=1e-10
    )
    assert fit.refit(card=2).card.tolist() == [2, 2]
    with pytest.raises(errors.ColumnTypeError, match="'site'"):  # as scale=True says of these data
        fit.refit(scale=True)


def test_draws_and_folds_scale_mixed_data_again(mixed_rows):
    source = source_of(mixed_rows, scale="mixed")
    sampler = source.sampler("")
    drawn = sampler.groups.bootstrap(np.random.default_rng(0))[0]
    folds = divided(source, 4, 1, seed=0, k=2, rank=None, keep_rows=False)
    fold = source.row_groups.folds(4, 1, np.random.default_rng([0, 2]))[0]
    kept = np.flatnonzero(fold != 0)
    for op, some in (
        (sampler.bootstrap(np.random.default_rng(0)), mixed_rows.iloc[drawn]),
        (folds.split(0)[0], mixed_rows.iloc[kept]),
    ):
        found = np.linalg.eigvalsh(op.block(np.arange(op.p)) * op.unit**2)[::-1]
        np.testing.assert_allclose(found[:6], famd(some)[0][:6], rtol=1e-10)


def test_without_factors_it_is_the_scaling_of_numbers(mixed_rows):
    X = mixed_rows[["a", "my b"]]
    for data in (X, X.to_numpy(), sparse.csc_array(X.to_numpy())):
        fit = sp.spca(data, 1, 1, method="greedy", scale="mixed")
        same = sp.spca(data, 1, 1, method="greedy", scale=True)
        np.testing.assert_array_equal(fit.loadings, same.loadings)
    far = sp.spca(mixed_rows.assign(a=mixed_rows["a"] * 1e200), 3, method="pca", scale="mixed")
    np.testing.assert_allclose(far.variance["score variance"], famd(mixed_rows)[0][:3], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "options", "error", "phrase"),
    [
        ({}, {"na": "pairwise"}, errors.OptionError, r"na='pairwise', which is for numbers only"),
        ({}, {"center": False}, errors.OptionError, r"center=False, and indicators are centred"),
        ({}, {"formula": "~ a + site | flag"}, errors.OptionError, r"'mixed' was given with covariates"),
        ({}, {"formula": "~ a + site:site2"}, errors.OptionError, r"term 'site:site2'.*combined levels"),
        ({}, {"formula": "~ a + a:site"}, errors.OptionError, r"term 'a:site'"),
        ({}, {"blocks": {"a": ["a"]}}, errors.OptionError, r"blocks was given with scale='mixed'"),
        ({"site": "one"}, {}, errors.ConstantColumnError, r"Factor 'site' has only one level"),
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
def test_what_is_refused(mixed_rows, change, options, error, phrase):
    data = mixed_rows.assign(**change)
    if "weights" in options:
        data["site"] = ["early"] * 40 + ["south", "west"] * 20
    with pytest.raises(error, match=phrase):
        sp.spca(data, 1, 2, scale="mixed", **options)


def test_matrices_and_chunks_have_no_levels(mixed_rows):
    X = mixed_rows[["a", "my b"]]
    with pytest.raises(errors.OptionError, match=r"scale='mixed' was given for a covariance matrix"):
        sp.spca_cov(X.cov(), 1, 1, scale="mixed")
    for chunks in ([X[:40], X[40:]], [mixed_rows[:40], mixed_rows[40:]]):
        with pytest.raises(
            errors.OptionError, match=r"scale='mixed' was given for data that are read in chunks"
        ):
            sp.spca(chunks, 1, 1, scale="mixed")
