"""Columns that do not vary in a half, fold or draw: a loading of zero there, and a sentence on how often."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.assess.folds import MomentFolds, SparseModel
from spcastat.inputs.samplers import constant_among, constant_remark

N = 40
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(
    RNG.normal(size=(N, 2)) @ RNG.normal(size=(2, 6)) + RNG.normal(size=(N, 6)), columns=list("abcdef")
)
RARE = NUMBERS.assign(rare=(np.arange(N) == 0).astype(float))
LEVELS = NUMBERS.assign(level=np.where(np.arange(N) == 3, "w", np.where(np.arange(N) % 2, "u", "v")))
GAPS = RARE.copy()
GAPS.iloc[5, 2] = GAPS.iloc[7, 1] = GAPS.iloc[9, 0] = np.nan
SITES = RARE.assign(site=np.array(list("pqrs"))[np.arange(N) % 4])
BLOCKS = {"one": ["rare"], "two": ["a", "b", "c"], "three": ["d", "e", "f"]}

KINDS = {
    "scale=True": (RARE, {"scale": True}),
    "array": (RARE.to_numpy(), {"scale": True}),
    "mixed": (LEVELS, {"scale": "mixed"}),
    "dummies": (LEVELS, {"formula": "~ .", "categorical": "dummy", "scale": True}),
    "learnt": (LEVELS, {"formula": "~ center(a) + b + c + d + level", "categorical": "dummy", "scale": True}),
    "block": (RARE, {"scale": "blocks", "blocks": BLOCKS}),
    "in a block": (
        RARE,
        {"scale": "blocks", "blocks": {"one": ["rare", "f"], "two": ["a", "b", "c"], "three": ["d", "e"]}},
    ),
    "raw block": (RARE, {"scale": "raw blocks", "blocks": BLOCKS}),
    "em": (GAPS, {"scale": True, "na": "em"}),
    "pairwise": (GAPS, {"scale": True, "na": "pairwise"}),
    "covariates": (SITES, {"formula": "~ a + b + c + d + rare | C(site)", "scale": True}),
    "scale()": (RARE, {"formula": "~ scale(rare) + a + b + c + d"}),
    "standardize()": (RARE, {"formula": "~ standardize(rare) + a + b + c + d", "scale": True}),
    "poly()": (RARE, {"formula": "~ poly(rare, 1) + a + b + c + d", "scale": True}),
    "weights": (RARE, {"scale": True, "weights": np.repeat([1, 2], N // 2)}),
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_every_resampling_runs_and_says_how_often_a_column_did_not_vary(kind):
    data, options = KINDS[kind]
    fit = sp.spca(data, 2, 4, **options)
    results = [
        fit.stability(4),
        fit.split_inference(4),
        fit.bootstrap(8),
        sp.compare(fit, sp.spca(data, 2, 3, **options), held_out=True),
        sp.choose(data, k=2, cards=[2, 3], repeats=1, **options),
    ]
    if "na" not in options:
        results.append(fit.test_loadings(19))
    for one in results[:5]:  # the tests draw no part of the rows
        assert " ".join(str(one).split()).count("a constant variable was not selected") == 1
    assert sp.choose_k(data, n_draws=19, **options).k >= 0


def test_a_transform_of_what_does_not_vary_keeps_what_it_learned_from_all_rows():
    # (0 - mean) / sd of all rows, whose mean is 1 / N and whose sum of squares is 1 - 1 / N
    formula = "~ scale(rare) + scale(log(rare + 1)) + a"
    source = sp.spca(RARE, 1, 2, formula=formula)._source
    terms = source.sampler("draws").terms
    some = np.arange(10, 30)
    X = terms.learnt_from(some, source.columns, None)
    np.testing.assert_allclose(X[:, 0], -1 / N / np.sqrt((1 - 1 / N) / (N - 1)), rtol=1e-12)
    assert np.ptp(X[:, 1]) == 0.0
    every = terms.learnt_from(np.arange(N), source.columns, None)
    np.testing.assert_allclose(every[:, 0], source.matrix[:, 0], rtol=1e-12)


@pytest.mark.parametrize("terms", ["bs(rare, df=4) + a", "scale(rare):a", "a | scale(rare)"])
def test_folds_and_draws_of_splines_products_and_covariates_do_not_stop(terms):
    fit = sp.spca(RARE, 2, 3, formula=f"~ b + c + d + {terms}")
    fit.bootstrap(8)
    fit.stability(4)
    sp.compare({"a": fit, "b": fit}, held_out=True)


#: a is measured in rows 0 to 5; c in odd and d in even rows, both in rows 0 to 5
APART = NUMBERS.copy()
APART.loc[6:, "a"] = np.nan
APART.loc[(np.arange(N) % 2 == 0) & (np.arange(N) > 5), "c"] = np.nan
APART.loc[(np.arange(N) % 2 == 1) & (np.arange(N) > 5), "d"] = np.nan


def test_pairs_without_common_rows_in_a_part_do_not_stop():
    options = {"scale": True, "na": "pairwise"}
    fit = sp.spca(APART, 2, 3, **options)
    choice = sp.choose(APART, k=2, cards=[2, 3], repeats=1, **options)
    results = [
        fit.stability(8),
        fit.split_inference(4),
        fit.bootstrap(20),
        sp.compare(fit, sp.spca(APART, 2, 2, **options), held_out=True),
        choice.stability(4),
    ]
    assert all(str(one) for one in results)
    assert sp.choose_k(APART, n_draws=19, **options).k >= 0


def test_a_pair_without_common_rows_is_uncorrelated_in_a_part_and_an_error_in_all_rows():
    noise = pd.DataFrame(np.random.default_rng(3).normal(size=APART.shape), columns=APART.columns)
    independent = noise.where(APART.notna())
    fit = sp.spca(independent, 2, 3, scale=True, na="pairwise")
    rows = np.arange(6, N)  # c is measured in odd rows and d in even ones; a is not measured
    part = fit._source.rules().of_rows(fit._source.measured[rows], None, 2)[1]
    S = part.block(np.arange(part.p)) * part.unit**2
    without = independent.iloc[rows].drop(columns="a")
    R = without.corr().fillna(0.0)
    assert R.loc["c", "d"] == 0.0
    assert np.linalg.eigvalsh(R)[0] > 0  # so that it is the nearest correlation matrix
    sd = np.sqrt(np.diag(S)[1:])
    np.testing.assert_allclose(S[1:, 1:] / np.outer(sd, sd), R, atol=1e-9)  # rounding
    with pytest.raises(sp.errors.MissingValuesError, match="have none"):
        sp.spca(without, 2, 3, scale=True, na="pairwise")


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["scale=True", "mixed", "in a block", "em"])
def test_halves_of_a_choice_without_the_rare_value(kind):
    data, options = KINDS[kind]
    stability = sp.choose(data, k=2, cards=[2, 3], repeats=1, **options).stability(7)
    assert (stability.draws["k"] == 2).all()
    assert "constant variable" in str(stability)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["scale=True", "mixed", "block", "em", "pairwise"])
def test_the_variance_of_such_a_column_is_zero_and_the_others_are_as_without_it(kind):
    data, options = KINDS[kind]
    fit = sp.spca(data, 2, 4, **options)
    rows = np.arange(10, 30)  # without the rows that have the rare value
    part = fit._source.rules().of_rows(fit._source.measured[rows], None, 2)[1]
    if kind == "block":
        options = {**options, "blocks": {name: BLOCKS[name] for name in ("two", "three")}}
    own = sp.spca(data.iloc[rows].drop(columns="rare", errors="ignore"), 2, 3, **options)
    S = part.block(np.arange(part.p)) * part.unit**2
    zero = np.flatnonzero(np.diag(S) == 0.0)
    assert len(zero) == 1
    assert not S[zero].any()
    kept = np.setdiff1d(np.arange(part.p), zero)
    op = own._source.op
    expected = op.block(np.arange(op.p)) * op.unit**2
    np.testing.assert_allclose(S[np.ix_(kept, kept)], expected, rtol=1e-6, atol=1e-6)  # EM: to its tolerance


def test_held_out_values_of_such_a_column_are_predicted_by_its_mean():
    # The fold that has the rare value adds the column's squares to the error: (1 - 0)^2 over its variance in
    # all rows. The other cells are predicted as without the column, with which nothing is correlated there.
    X = RARE.to_numpy()
    rules = sp.spca(RARE, 2, 4, scale=True)._source.rules()
    labels = (np.arange(N) // 10)[None]
    V = np.zeros((7, 2))
    V[[0, 1, 2], 0] = V[[3, 4], 1] = 1.0
    op, held = MomentFolds(X, None, labels, rules).split(0)
    error = held.press([SparseModel.of(V, op)])[0]
    fewer = sp.spca(NUMBERS, 2, 4, scale=True)._source.rules()
    op, held = MomentFolds(X[:, :6], None, labels, fewer).split(0)
    without = held.press([SparseModel.of(V[:6], op)])[0]
    # noise is averaged over p - k directions, of which the constant column is one more: a slight difference
    assert error - without == pytest.approx(1.0 / X[:, 6].var(ddof=1), abs=0.02 * without)


def test_a_column_that_is_constant_in_all_rows_stays_an_error():
    still = RARE.assign(rare=1.0)
    for options in ({}, {"na": "em"}, {"na": "pairwise"}):
        with pytest.raises(sp.errors.ConstantColumnError, match="rare"):
            sp.choose(still, k=2, scale=True, **options)


def test_constant_columns_are_found_as_by_a_loop_over_parts():
    rng = np.random.default_rng(1)
    X = (rng.random((60, 30)) < 0.04).astype(float)
    X[:, :3] = rng.normal(size=(60, 3))
    X[5, 4] = np.nan
    parts = [rng.random(60) < 0.6 for _ in range(5)]
    for given in (X, sparse.csc_array(np.nan_to_num(X))):
        dense = X if given is X else np.nan_to_num(X)
        found = constant_among(given, parts)
        for places, part in zip(found, parts, strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                still = np.nanmax(dense[part], axis=0) == np.nanmin(dense[part], axis=0)
            still &= np.nanmax(dense, axis=0) > np.nanmin(dense, axis=0)
            assert places.tolist() == np.flatnonzero(still).tolist()


def test_the_sentence_counts_parts_and_names_columns():
    names = pd.Index(list("abcde"))
    assert constant_remark([np.array([], int)] * 3, "draws", names) == ""
    one = constant_remark([np.array([1]), np.array([], int)], "draws", names)
    assert one == "In 1 of 2 draws a constant variable was not selected: 'b'."
    many = constant_remark([np.array([0, 1]), np.array([2, 3])], "halves", names)
    assert many == ("In 2 of 2 halves constant variables were not selected: 'a', 'b', 'c' and 1 more.")


def test_sparse_loadings_are_drawn_with_a_rare_variable():
    fit = sp.sparse_loadings(RARE, 2, 4, scale=True)
    assert "constant variable" in " ".join(str(fit.bootstrap(10)).split())


def test_a_choice_of_which_no_half_finds_a_component():
    # 36 rows of noise with one pair of r = .6: halves of 18 rows see nothing
    rng = np.random.default_rng(1)
    X = rng.normal(size=(36, 5))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]
    stability = sp.choose(X, scale=True, n_draws=99).stability(4)
    assert stability.draws["k"].tolist() == [0] * 4
    assert stability.overlap == 0.0
    assert stability.table.loc[0, "share"] == 1.0
    assert "No component exceeds noise in any of the 4 halves" in " ".join(str(stability).split())
