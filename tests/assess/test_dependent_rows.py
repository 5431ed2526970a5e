"""Rows that are not independent: one check, for all inference, tells sorting from serial dependence."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.inputs import dependence

SERIAL = "beyond what sorting or groups explain"
GROUPED = "Rows look sorted or grouped"


def rows(rng, n=200, p=12):
    """Return independent rows of three factors with noise."""
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + rng.standard_normal((n, p))


def autoregression(rng, phi, n=200, p=12):
    """Return rows of three factors with noise, all autoregressions of variance one."""
    e = rng.standard_normal((n, p + 3))
    for t in range(1, n):
        e[t] = phi * e[t - 1] + np.sqrt(1.0 - phi**2) * e[t]
    return e[:, :3] @ rng.standard_normal((3, p)) + e[:, 3:]


def leading_score(X):
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return U[:, 0] * s[0]


def ordered(X, key):
    return X[np.argsort(key(X))]


def sorted_by_outside_key(rng, X):
    """Return rows sorted by a column that is no variable, and is related to the first component."""
    t = leading_score(X)
    key = t / t.std() + 0.5 * rng.standard_normal(len(X))
    return X[np.argsort(key)]


KINDS = {
    "independent": (lambda rng: rows(rng), ""),
    "sorted by a variable": (lambda rng: ordered(rows(rng), lambda X: X[:, 0]), "sorted or grouped"),
    "sorted by PC1": (lambda rng: ordered(rows(rng), leading_score), "sorted or grouped"),
    "sorted by an outside key": (lambda rng: sorted_by_outside_key(rng, rows(rng)), "sorted or grouped"),
    "four groups": (
        lambda rng: rows(rng) + np.repeat(2.0 * rng.standard_normal((4, 12)), 50, axis=0),
        "sorted or grouped",
    ),
    "groups of five": (
        lambda rng: rows(rng) + np.repeat(2.0 * rng.standard_normal((40, 12)), 5, axis=0),
        "sorted or grouped",
    ),
    "copies": (lambda rng: np.repeat(rows(rng, 50), 4, axis=0), "sorted or grouped"),
    "AR .3": (lambda rng: autoregression(rng, 0.3), "serial"),
    "AR .5": (lambda rng: autoregression(rng, 0.5), "serial"),
    "AR .95": (lambda rng: autoregression(rng, 0.95), "serial"),
    "random walks": (lambda rng: rng.standard_normal((300, 10)).cumsum(axis=0), "serial"),
}


def look(X, **options):
    return sp.spca(X, 1, 2, scale=True, **options)._source.neighbours.kind


@pytest.mark.sweep
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_sorted_and_grouped_tables_are_told_from_rows_in_time(name, seed):
    # Rates over 100 sets are in benchmarks/results/trust.md: 0 or 1 for these kinds, up to .02.
    make, kind = KINDS[name]
    assert look(make(np.random.default_rng(seed))) == kind


def test_the_check_depends_on_neither_global_seeds_units_order_of_columns_nor_container():
    X = KINDS["AR .5"][0](np.random.default_rng(3))
    frame = pd.DataFrame(X).add_prefix("v")
    found = []
    for data in (X, frame, frame.iloc[:, ::-1], 1024.0 * X):
        np.random.seed(len(found))  # noqa: NPY002
        source = sp.spca(data, 1, 2, scale=True)._source
        T = dependence._scores(source, 3)
        shuffles = np.random.default_rng(0)
        found.append(dependence._beyond_shuffles(T, dependence.DEPENDENCE.run, shuffles))
    np.testing.assert_allclose(found, [found[0]] * 4, rtol=1e-9)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    look(X)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_shuffles_keep_runs_and_hold_every_row_once():
    rng = np.random.default_rng(0)
    for n in (9, 50, 64):
        for run in (2, 5, dependence.DEPENDENCE.run):
            order = dependence._shuffled(n, run, rng)
            assert sorted(order) == list(range(n))
            assert np.abs(order - np.arange(n)).max() < run


@pytest.fixture(scope="module")
def walk():
    return pd.DataFrame(np.random.default_rng(1).standard_normal((120, 6)).cumsum(axis=0)).add_prefix("v")


def inference(data):
    """Yield every result that takes rows as independent, by its name."""
    fit = sp.spca(data, 2, 3, scale=True)
    yield "bootstrap", fit.bootstrap(20)
    yield "stability", fit.stability(4)
    yield "split_inference", fit.split_inference(19)
    yield "test_loadings", fit.test_loadings(19)
    yield "compare", sp.compare(fit, sp.spca(data, 2, 2, scale=True), held_out=True)
    yield "choose_k", sp.choose_k(data, scale=True, n_draws=19)
    yield "choose", sp.choose(data, k=2, cards=[2, 3], scale=True, repeats=1)
    yield "sparse loadings", sp.sparse_loadings(data, 2, 3, scale=True).bootstrap(9)


#: How rows may have been sampled that are independent otherwise.
DESIGNS = {
    "strata": lambda n: {"strata": np.repeat(["a", "b"], n // 2)},
    "sampling weights": lambda n: {"weights": np.linspace(1, 2, n), "weights_are": "sampling"},
    "both": lambda n: {**DESIGNS["strata"](n), **DESIGNS["sampling weights"](n)},
    "frequencies": lambda n: {"weights": np.repeat([1, 2], n // 2)},
}


@pytest.mark.parametrize("design", DESIGNS)
def test_random_walks_in_strata_and_with_weights_are_told(walk, design):
    fit = sp.spca(walk, 2, 3, scale=True, **DESIGNS[design](len(walk)))
    for result in (fit, fit.stability(4), fit.bootstrap(20)):
        assert " ".join(result.notes).count(SERIAL) == 1


@pytest.mark.parametrize("design", [{"clusters": np.arange(120) // 5}, {"block_length": 5}], ids=[*"cb"])
def test_what_the_remedies_describe_is_not_told_again(walk, design):
    assert SERIAL not in " ".join(sp.spca(walk, 2, 3, scale=True, **design).stability(4).notes)


@pytest.mark.parametrize("seed", range(3))
def test_strata_of_different_means_are_no_sign_of_dependence(seed):
    X = rows(np.random.default_rng(seed)) + 6.0 * np.repeat([[0.0], [1.0]], 100, axis=0)
    found = sp.spca(X, 2, 3, strata=np.repeat(["a", "b"], 100)).stability(4)
    assert "successive rows" not in " ".join(found.notes)
    assert GROUPED in " ".join(sp.spca(X, 2, 3).stability(4).notes)


def test_a_comparison_of_groups_warns_and_takes_its_own_advice(walk):
    groups = np.arange(120) // 20 % 2
    alone = sp.compare_groups(walk, groups, 1, 3, n_draws=19)
    assert " ".join(str(alone).split()).count("correlated (r = 0.9") == 1
    assert "np.arange(n) // 20" in " ".join(str(alone.summary()).split())
    in_blocks = sp.compare_groups(walk, groups, 1, 3, n_draws=19, clusters=np.arange(120) // 20)
    assert "successive rows" not in str(in_blocks)
    shuffled = walk.sample(frac=1.0, random_state=0)
    assert "successive rows" not in str(sp.compare_groups(shuffled, groups, 1, 3, n_draws=19))


def test_all_inference_about_random_walks_warns_once_and_names_both_remedies(walk):
    for name, result in inference(walk):
        text = " ".join(result.notes)
        printed = " ".join(str(result).split())
        assert printed.count("rows are correlated (r = 0.9") == 1, name
        assert "block_length=" in printed, name
        assert text.count(SERIAL) == 1, name
        assert "block_length='auto'" in text, name
        assert "clusters=" in text, name


def test_a_sorted_table_gives_a_remark_and_no_warning():
    data = pd.DataFrame(KINDS["sorted by PC1"][0](np.random.default_rng(0))[:, :6]).add_prefix("v")
    for name, result in inference(data):
        text = " ".join(str(result).split() if name.startswith("choose") else result.notes)
        assert text.count(GROUPED) == 1, name
        assert SERIAL not in text, name
        assert "treated rows as independent" not in text, name


def test_the_print_and_the_text_of_a_fit_say_that_rows_are_serial(walk, tmp_path):
    fit = sp.spca(walk, 2, 3, scale=True)
    text = str(fit)
    assert "Warning: scores of successive rows are correlated (r = 0." in text
    assert sum(SERIAL in note for note in fit.notes) == 1
    assert "Successive rows were correlated" in fit.describe().text
    fit.save(tmp_path / "walk.npz")
    assert str(sp.load(tmp_path / "walk.npz")) == text
    assert str(pickle.loads(pickle.dumps(fit))) == text
    assert SERIAL in " ".join(sp.sparse_loadings(walk, 2, 3, scale=True).notes)
    independent = sp.spca(KINDS["independent"][0](np.random.default_rng(0)), 2, 3)
    assert SERIAL not in " ".join(independent.notes)


@pytest.mark.parametrize("given", [{"block_length": "auto"}, {"clusters": np.repeat(np.arange(12), 10)}])
def test_the_advice_is_taken_and_ends_the_warning(walk, given):
    fit = sp.spca(walk, 2, 3, scale=True, **given)
    for result in (fit, fit.bootstrap(20)):
        assert SERIAL not in " ".join(result.notes)
        assert "successive rows" not in str(result)


def test_an_unused_column_of_dates_by_which_a_table_is_sorted_is_found():
    # dates of visits, related to the first component; rows are otherwise independent
    rng = np.random.default_rng(2)
    X = rows(rng)
    t = leading_score(X)
    order = np.argsort(t / t.std() + 0.3 * rng.standard_normal(len(X)))
    data = pd.DataFrame(X[order]).add_prefix("v")
    data["visit"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(X)) // 2, unit="D")
    source = sp.spca(data, 1, 2, formula="~ . - visit", scale=True)._source
    assert source.neighbours.kind == "sorted or grouped"


def test_the_check_is_computed_once_for_the_data(walk, monkeypatch):
    calls = []
    compute = dependence.neighbours_of
    monkeypatch.setattr(dependence, "neighbours_of", lambda *given: calls.append(1) or compute(*given))
    fit = sp.spca(walk, 2, 3, scale=True)
    assert not calls  # a fit alone does not look
    for text in (fit, fit.bootstrap(20), fit.stability(3), fit):
        str(text)
    assert len(calls) == 1


@pytest.mark.parametrize("options", [{}, {"block_length": 8}])
def test_rows_dropped_between_dates_are_named(options):
    """Rows without their neighbours in time are further apart than blocks and correlations assume."""
    rng = np.random.default_rng(0)
    factors = pd.DataFrame(rng.normal(size=(200, 2))).ewm(alpha=0.2).mean().to_numpy() * 3
    X = factors @ rng.normal(size=(2, 8)) + rng.normal(size=(200, 8)) / 2
    table = pd.DataFrame(X, index=pd.date_range("2020-01-01", periods=200)).add_prefix("v")
    gaps = table.mask(rng.random(table.shape) < 0.03)
    dropped = int(gaps.isna().any(axis=1).sum())
    fit = sp.spca(gaps, 2, 3, method="greedy", scale=True, na="drop", **options)
    results = [fit, fit.bootstrap(9, rng=0), sp.choose_k(gaps, scale=True, na="drop", **options)]
    for result in results:
        text = " ".join(str(result).split())
        assert re.search(rf"{dropped} rows with missing values (were )?dropped", text) is not None
    complete = sp.spca(table, 2, 3, method="greedy", scale=True, **options)
    assert "dropped" not in str(complete) + str(complete.summary())
    undated = sp.spca(gaps.reset_index(drop=True), 2, 3, method="greedy", scale=True, na="drop")
    texts = " ".join(map(str, (undated, undated.notes, undated.bootstrap(9, rng=0))))
    assert ("Scores of successive rows" in texts) or ("scores of successive rows" in texts)
    assert "further apart" not in texts
    assert "dropped between successive" not in texts


def test_few_clusters_and_one_very_large_cluster_are_told_and_equal_ones_are_not():
    """Tests of noise reject 53 % with 20 clusters if one has a quarter of all rows, 5 % if they are equal."""
    noise = np.random.default_rng(0).standard_normal((160, 6))
    equal = np.repeat(np.arange(20), 8)
    for labels, told in (
        (equal, ""),
        (np.repeat(np.arange(10), 16), "With 10 clusters, fewer than 20, tests are liberal"),
        # the mean of 20 clusters is 8 rows, so 46 rows are 5.75 times the mean
        (np.r_[np.zeros(46, int), np.repeat(np.arange(1, 20), 6)], "cluster has 5.8 times the mean size"),
    ):
        fit = sp.spca(noise, 1, 2, clusters=labels)
        for result in (sp.choose_k(noise, clusters=labels), fit.bootstrap(20)):
            text = " ".join(str(result).split())
            assert ("tests are liberal" in text) == bool(told), text
            assert told.lower() in text.lower()
