"""Principal variables: enumeration, published values, what a choice says of other rows, and files."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import errors
from spcastat.assess import folds
from spcastat.fit.principal_variables import gcd, rm, rv
from spcastat.linalg.operators import Gram
from spcastat.proofs.principal_variables import proven
from spcastat.search.principal_variables import Selection

#: Shares agree to this: sums of at most 13 eigenvalues in double precision.
ROUNDING = 1e-10


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine() -> pd.DataFrame:
    return sp.datasets.load_wine()


@pytest.fixture(scope="module")
def plan(wine):
    return sp.principal_variables(wine, m=5, k=3, scale=True, n_resamples=10)


def quick(data, m=None, k=None, **options):
    """A choice without folds and resamples."""
    return sp.principal_variables(data, m, k, folds=0, n_resamples=0, **options)


def share(S: np.ndarray, U, k: int | None = None) -> float:
    """The share by the definition: regressions on U, or the k best combinations, by a whitened problem."""
    U = list(U)
    fitted = S[:, U] @ np.linalg.solve(S[np.ix_(U, U)], S[U])  # covariance of the regressions
    values = np.linalg.eigvalsh(fitted)[::-1]
    return float(values[: k or len(U)].sum() / np.trace(S))


def random_table(rng: np.random.Generator, p: int) -> np.ndarray:
    """A covariance matrix of two factors and noise."""
    X = rng.standard_normal((60, p)) + rng.standard_normal((60, 2)) @ rng.standard_normal((2, p)) * 1.5
    return np.cov(X * rng.uniform(0.5, 2.0, p), rowvar=False)


def selection(S: np.ndarray, m: int, k: int | None = None) -> Selection:
    p = len(S)
    groups = tuple((j,) for j in range(p))
    return Selection(S, k or p, groups, np.ones(p), m, candidates=tuple(range(p)))


# --- against enumeration and published values ------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100))
def test_no_set_of_few_variables_is_better(seed):
    """Every set of every table, by the definition: the choice is the best, and is proven to be."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(5, 9))
    m = int(rng.integers(1, p - 1))
    k = None if seed % 2 else int(rng.integers(1, m + 1))
    S = random_table(rng, p)
    problem = selection(S, m, k)
    U, value = problem.search(np.random.default_rng(0), "auto")
    best = max(share(S, sets, k) for sets in itertools.combinations(range(p), m))
    assert value / np.trace(S) == pytest.approx(best, rel=ROUNDING)
    proof = proven(problem, U)
    assert proof.bound == pytest.approx(value, rel=1e-8)
    worst = min(itertools.combinations(range(p), m), key=lambda sets: share(S, sets, k))
    assert proven(problem, worst).value == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize(
    ("k", "shares"),
    [
        (None, [0.5784, 0.6603, 0.7418, 0.8057, 0.8659, 0.9168]),
        (3, [0.5784, 0.5995, 0.6157, 0.6263, 0.6334, 0.6395]),
    ],
)
def test_the_pitprops(k, shares):
    """The best of all sets of three to eight of 13 variables, by enumeration with another program."""
    for m, best in enumerate(shares, start=3):
        plan = sp.principal_variables_cov(sp.datasets.load_pitprops(), m, k)
        assert plan.share == pytest.approx(best, abs=5.1e-5)
        assert plan.proven


def test_the_wine(wine):
    """The best shares of three scores of three to eight variables, and the print's first table."""
    best = [0.5661, 0.6004, 0.6156, 0.6262, 0.6351, 0.6432]
    plans = [quick(wine, m, 3, scale=True) for m in range(3, 9)]
    assert [plan.share for plan in plans] == pytest.approx(best, abs=5.1e-5)
    kept = plans[2].variables
    assert kept.index[0] == "flavanoids"
    assert kept["instead"].iloc[0] == "total_phenols"
    assert kept["with_instead"].iloc[0] == pytest.approx(0.5990, abs=5.1e-5)


def test_values_of_subselect():
    """RM of the best sets of the Swiss data, coefficients of setosa: the manual of subselect has them."""
    swiss = pd.read_csv(Path(__file__).parents[1] / "data" / "swiss.csv", index_col=0)
    found = [quick(swiss, m, scale=True).criteria["RM"] for m in range(1, 6)]
    published = [0.6729689, 0.8016409, 0.9043760, 0.9510757, 0.9804629]
    assert found == pytest.approx(published, abs=5.1e-8)
    data = pytest.importorskip("sklearn.datasets").load_iris().data[:50]
    S, R = np.cov(data, rowvar=False), np.corrcoef(data, rowvar=False)
    values, vectors = (part[..., ::-1] for part in np.linalg.eigh(S))
    assert rm(S, [0, 2]) == pytest.approx(0.8724422, abs=5.1e-8)
    assert rv(S, [0, 2]) == pytest.approx(0.8659685, abs=5.1e-8)
    values, vectors = (part[..., ::-1] for part in np.linalg.eigh(R))
    assert gcd(R, [0, 2], values[:2], vectors[:, :2]) == pytest.approx(0.7666286, abs=5.1e-8)
    assert gcd(R, [0, 2], values[[0, 2]], vectors[:, [0, 2]]) == pytest.approx(0.5844520, abs=5.1e-8)
    assert gcd(R, [0, 2], values[:1], vectors[:, :1]) == pytest.approx(0.6035127, abs=5.1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_costs_and_rules_by_enumeration(seed):
    """Within a budget, and with variables that must and must not be kept, every set is compared."""
    rng = np.random.default_rng(seed)
    S, cost = random_table(rng, 8), rng.choice([1.0, 2.0, 3.5], 8)
    frame = pd.DataFrame(S, list("abcdefgh"), list("abcdefgh"))
    k = None if seed % 2 else 1
    plan = sp.principal_variables_cov(
        frame, k=k, budget=7.0, cost=dict(zip("abcdefgh", cost, strict=True)), include=["a"], exclude=["h"]
    )
    allowed = [
        (0, *sets)
        for size in range(7)
        for sets in itertools.combinations(range(1, 7), size)
        if cost[[0, *sets]].sum() <= 7.0
    ]
    assert plan.share == pytest.approx(max(share(S, sets, k) for sets in allowed), rel=ROUNDING)
    assert "a" in plan.kept
    assert "h" not in plan.kept
    assert plan.variables["cost"].sum() <= 7.0


def test_groups_enter_whole(wine):
    """Groups of one variable change nothing; of several, the best set of groups is that of enumeration."""
    single = quick(wine, 4, 2, scale=True, together={"A": ["ash"], "B": ["hue"]})
    plain = quick(wine, 4, 2, scale=True)
    assert set(single.kept) == set(plain.kept)
    some = wine.iloc[:, :7]
    groups = {"X": ["ash", "alcohol"], "Y": ["malic_acid", "magnesium", "flavanoids"]}
    plan = quick(some, 2, 2, scale=True, together=groups)
    members = [(0, 2), (1, 4, 6), (3,), (5,)]
    R = np.corrcoef(some.to_numpy(), rowvar=False)
    sets = [sum(pair, ()) for pair in itertools.combinations(members, 2)]
    assert plan.share == pytest.approx(max(share(R, U, 2) for U in sets if len(U) > 1), rel=ROUNDING)
    assert set(plan.variables.index) <= {"X", "Y", "alcalinity_of_ash", "total_phenols"}
    with pytest.raises(errors.OptionError, match="certify"):
        plan.certify()


# --- identities ------------------------------------------------------------------------------------


def test_theorems(wine):
    """Shares by definition, k = m and RM; more variables never reproduce less; all of them everything."""
    R = np.corrcoef(wine.to_numpy(), rowvar=False)
    plans = [quick(wine, m, 3, scale=True) for m in (3, 5, 8)]
    for plan in plans:
        U = wine.columns.get_indexer(plan.kept)
        assert plan.share == pytest.approx(share(R, U, 3), rel=ROUNDING)
        assert plan.criteria["RM"] ** 2 == pytest.approx(share(R, U), rel=ROUNDING)
    assert plans[0].share < plans[1].share < plans[2].share < plans[0].pca_share
    assert quick(wine, 4, 4, scale=True).share == pytest.approx(
        quick(wine, 4, scale=True).share, rel=ROUNDING
    )
    every = quick(wine, 13, 3, scale=True)
    assert every.share == pytest.approx(every.pca_share, rel=ROUNDING)
    assert every.criteria["GCD"] == pytest.approx(1.0, rel=ROUNDING)


def test_scores_and_reconstruction_need_the_variables_kept_only(wine, plan):
    """Scores have unit variance and no correlation, and reproduce the stated shares."""
    scores = plan.transform(wine[plan.kept])
    pd.testing.assert_frame_equal(scores, plan.transform(wine))
    np.testing.assert_allclose(scores.cov(), np.eye(3), atol=1e-10)
    fitted = plan.reconstruct(wine[plan.kept])
    error = ((fitted - wine) / wine.std()).to_numpy()
    assert 1.0 - (error**2).sum() / (177 * 13) == pytest.approx(plan.share, rel=1e-9)
    R2 = 1.0 - (error**2).sum(axis=0) / 177
    expected = pd.Series(R2, wine.columns)[plan.represented.index]
    np.testing.assert_allclose(plan.represented["R2"], expected, rtol=1e-9)
    np.testing.assert_allclose(scores @ plan.coefficients, (fitted - wine.mean()) / wine.std(), atol=1e-9)
    r = wine.corr().loc[plan.represented.index, plan.kept].abs()
    assert plan.represented["most_by"].tolist() == r.idxmax(axis=1).tolist()


def test_without_and_instead(wine, plan):
    """What is lost without a variable, and the best other one, by the definition."""
    R, columns = np.corrcoef(wine.to_numpy(), rowvar=False), list(wine.columns)
    kept = [columns.index(name) for name in plan.kept]
    for row, j in zip(plan.variables.itertuples(), kept, strict=True):
        others = [i for i in kept if i != j]
        assert row.without == pytest.approx(share(R, others, 3), rel=ROUNDING)
        instead = {i: share(R, [*others, i], 3) for i in range(13) if i not in kept}
        best = max(instead, key=instead.__getitem__)
        assert (row.instead, row.with_instead) == (columns[best], pytest.approx(instead[best], rel=ROUNDING))
    assert plan.variables["without"].is_monotonic_increasing
    table = plan.alternatives(3)
    for row in table.itertuples():
        U = [columns.index(name) for name in (set(plan.kept) - {row.leave}) | {row.take}]
        assert row.share == pytest.approx(share(R, U, 3), rel=ROUNDING)
        assert row.share >= 0.99 * plan.share


def test_order_and_kind_of_the_data_do_not_matter(wine):
    """Permuted columns, a matrix, a value, an array and rows in chunks give the same variables."""
    first = quick(wine, 4, 2, scale=True)
    backwards = quick(wine.iloc[::-1, ::-1], 4, 2, scale=True)
    matrix = sp.principal_variables_cov(wine.corr(), 4, 2, n_obs=178, n_resamples=3)
    value = sp.rows(wine, scale=True)
    others = [backwards, matrix, quick(value, 4, 2), quick(iter_chunks(wine), 4, 2, scale=True)]
    for other in others:
        assert set(other.kept) == set(first.kept)
        assert other.share == pytest.approx(first.share, rel=1e-9)
    array = quick(wine.to_numpy(), 4, 2, scale=True)
    assert set(sp.rows(wine.to_numpy()).columns.get_indexer(array.kept)) == set(
        wine.columns.get_indexer(first.kept)
    )
    assert "frequency" in matrix.variables
    doubled = pd.concat([wine, wine.iloc[:40]])
    weights = np.r_[np.full(40, 2.0), np.ones(138)]
    weighted = quick(wine, 4, 2, scale=True, weights=weights)
    assert weighted.share == pytest.approx(quick(doubled, 4, 2, scale=True).share, rel=1e-9)


def iter_chunks(frame: pd.DataFrame) -> list[pd.DataFrame]:
    return [frame.iloc[:100], frame.iloc[100:]]


def test_copies_and_sums(wine):
    """Of equal columns one is kept; a sum is named with its parts; more than the rank is refused."""
    table = wine.iloc[:, :5].assign(copy=wine["ash"], total=wine["alcohol"] + wine["magnesium"])
    plan = quick(table, 5, scale=True)
    assert not {"ash", "copy"} <= set(plan.kept)
    assert not {"alcohol", "magnesium", "total"} <= set(plan.kept)
    assert plan.share == pytest.approx(1.0, rel=ROUNDING)
    assert "total is determined by alcohol, magnesium" in " ".join(str(plan).split())
    with pytest.raises(errors.CardinalityError, match="5 variables determine all others"):
        quick(table, 6, scale=True)
    constant = wine.iloc[:, :4].assign(flat=1.0)
    assert "flat" not in quick(constant, 4, scale=False).kept


# --- other rows ------------------------------------------------------------------------------------


def test_held_out_shares_of_many_variables_are_those_of_their_rows(wine, monkeypatch):
    """Folds of more than MOMENTS_VARIABLES variables keep rows instead of their products."""
    by_products = sp.principal_variables(wine, 4, scale=True, folds=5)
    monkeypatch.setattr(folds, "MOMENTS_VARIABLES", 5)
    by_rows = sp.principal_variables(wine, 4, scale=True, folds=5)
    pd.testing.assert_frame_equal(by_rows.path, by_products.path, rtol=1e-9)


def test_held_out_shares_repeat_the_choice(wine, plan):
    """The share of one fold is that of a choice from the other rows, by regression of the fold on it."""
    from spcastat.assess.principal_variables import Fold, HeldOutPath, held_out

    out = np.arange(178) % 3 == 0
    Z = (wine[~out] - wine[~out].mean()) / wine[~out].std()
    X = ((wine[out] - wine[~out].mean()) / wine[~out].std()).to_numpy()
    S = np.asarray(Z.cov())
    fold = Fold(Gram(S), S, X.T @ X)
    other = quick(wine[~out], 5, 3, scale=True)
    U = wine.columns.get_indexer(other.kept).tolist()
    fitted = (other.reconstruct(wine[out]) - wine[~out].mean()) / wine[~out].std()
    expected = 1.0 - ((X - fitted.to_numpy()) ** 2).sum() / (X**2).sum()
    assert fold.share(U, 3) == pytest.approx(expected, rel=1e-9)
    kept, _ = HeldOutPath(other._base_request, [fold]).at(5)
    assert kept[0] == pytest.approx(expected, rel=1e-9)
    V = np.linalg.eigh(Z.cov())[1][:, -3:]
    assert fold.pca_share(3) == pytest.approx(((X @ V) ** 2).sum() / (X**2).sum(), rel=1e-9)
    assert held_out(other._base_request, [fold, fold], [5]).error[0] == 0.0
    path = plan.path
    assert path.index.tolist() == [3, 4, 5, 6, 7]
    assert (path["held_out"] < path["held_out_pca"]).all()
    assert path.loc[5, "share"] == plan.share
    assert path["share"].is_monotonic_increasing


def test_smallest_number_that_keeps_a_share(wine):
    """It reaches the share, one variable less does not; a share out of reach names one that is reached."""
    plan = sp.principal_variables(wine, k=3, share=0.9, scale=True, n_resamples=0)
    part = plan.path["held_out"] / plan.path["held_out_pca"]
    m = len(plan.kept)
    assert part[m] >= 0.9 > part[m - 1]
    with pytest.raises(errors.OptionError, match=r"share=0\.\d+ is reached with") as raised:
        sp.principal_variables(wine, k=3, share=0.99, exclude=list(wine.columns[3:8]), scale=True)
    reached = float(str(raised.value).split("share=")[-1].split(" ")[0])
    assert sp.principal_variables(
        wine, k=3, share=reached, exclude=list(wine.columns[3:8]), scale=True, n_resamples=0
    ).kept.size


def test_numbers_around_the_choice_and_all_that_were_tried_are_on_the_path(wine, plan):
    """Without folds as with them; a share given with folds=0 has the folds that it needs."""
    matrix = sp.principal_variables_cov(wine.corr(), 5, 3)
    pd.testing.assert_frame_equal(matrix.path[["share"]], plan.path[["share"]], rtol=1e-9)
    assert "held_out" not in matrix.path
    given = {"share": 0.6, "scale": True, "n_resamples": 0}
    tried = sp.principal_variables(wine, **given)
    assert tried.path.index[0] == 1 < len(tried.kept) - 2
    pd.testing.assert_frame_equal(sp.principal_variables(wine, folds=0, **given).path, tried.path)
    other = sp.principal_variables(wine, m=5, k=3, scale=True, n_resamples=0, rng=1)
    assert not other.path["held_out"].equals(plan.path["held_out"])  # other folds


def test_many_variables_have_folds_and_resamples_only_if_they_are_needed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 210)) * 0.1 + rng.standard_normal((60, 1))
    plain = sp.principal_variables(X, 1)
    assert plain.path.index.tolist() == [1]
    assert "held_out" not in plain.path
    assert "frequency" not in plain.variables
    assert "held_out" in sp.principal_variables(X, 1, folds=3).path
    assert len(sp.principal_variables(X, share=0.9).kept) == 1


def test_missing_values_are_modelled_by_as_many_components_as_the_choice_has(wine):
    """Those of k, or of m without it; variables of very different variances have a warning."""
    gaps = wine.mask(np.random.default_rng(0).uniform(size=wine.shape) < 0.05)
    for numbers, k_em in (({"m": 4, "k": 3}, 3), ({"m": 4}, 4)):
        plan = quick(gaps, **numbers, scale=True, na="em")
        assert plan.share == quick(gaps, **numbers, scale=True, na="em", k_em=k_em).share
        assert plan.share != quick(gaps, **numbers, scale=True, na="em", k_em=1).share
    with pytest.warns(errors.DataWarning, match="variances"):
        quick(wine, 3)


def test_resamples_of_a_matrix_are_normal_samples(wine):
    matrix = sp.principal_variables_cov(wine.corr(), 3, n_obs=178, n_resamples=3)
    assert "of normal rows" in " ".join(str(matrix.summary()).split())
    rows = sp.principal_variables(wine, 3, scale=True, folds=0, n_resamples=3)
    assert "chosen in 3 resamples." in " ".join(str(rows.summary()).split())


def test_frequencies(wine, plan):
    """Each resample chooses m variables; the draws depend on the seed only; files keep them."""
    frequency = pd.concat([plan.variables["frequency"], plan.represented["frequency"]])
    assert frequency.sum() == pytest.approx(5.0)
    assert frequency.between(0, 1).all()
    again = plan.stability(10)
    pd.testing.assert_frame_equal(again.variables, plan.variables)
    other = plan.stability(10, rng=1)
    assert not other.variables["frequency"].equals(plan.variables["frequency"])
    together = wine.assign(block=np.arange(178) // 20)
    clustered = sp.principal_variables(together, 3, scale=True, clusters="block", folds=0, n_resamples=3)
    assert "block" not in clustered.kept


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, errors.OptionError, "Give m="),
        ({"m": 2, "k": 3}, errors.ComponentsError, "use m=3 or more, or k=2"),
        ({"m": 3, "share": 0.9}, errors.OptionError, "give only one of"),
        ({"m": 3, "cost": {"ash": 2}}, errors.OptionError, "budget="),
        (
            {"budget": 2, "cost": {"ash": 5}, "include": ["ash"]},
            errors.OptionError,
            "include= cost 5, more than budget=2",
        ),
        ({"m": 3, "include": ["ashh"]}, errors.OptionError, "Did you mean 'ash'"),
        ({"m": 3, "include": ["ash"], "exclude": ["ash"]}, errors.OptionError, "both name 'ash'"),
        ({"m": 14}, errors.CardinalityError, "m=13 or less"),
        ({"m": 2.5}, errors.CardinalityError, "whole number"),
        ({"m": 1, "include": ["ash", "hue"]}, errors.CardinalityError, "m=2 or more"),
        ({"budget": 0.5}, errors.OptionError, "cheapest"),
        ({"budget": np.inf}, errors.OptionError, "finite"),
        ({"budget": 5, "cost": {"x": 3}}, errors.OptionError, "cost names 'x'"),
        ({"budget": 5, "cost": {"ash": -1}}, errors.OptionError, "cost"),
        ({"budget": 5, "cost": 3}, errors.OptionError, "names of variables to costs"),
        ({"m": 2, "together": {"a": ["nope"]}}, errors.OptionError, "nope"),
        ({"m": 3, "effort": "most"}, errors.OptionError, "thorough"),
        ({"m": 3, "nonneg": True}, errors.UnknownOptionError, "nonneg"),
        ({"k": 3, "share": 1.2}, errors.OptionError, "share=1.2"),
        ({"k": 3, "share": 0.9, "na": "em"}, errors.OptionError, "na='drop'"),
        ({"m": 1, "folds": 500}, errors.TooFewRowsError, "178 rows"),
        ({"m": 1, "exclude": sp.datasets.load_wine().columns}, errors.OptionError, "exclude fewer"),
    ],
)
def test_what_is_refused(wine, options, error, words):
    with pytest.raises(error, match=words):
        sp.principal_variables(wine, scale=True, **options)


def test_rows_and_matrices_that_are_refused(wine):
    """Text and gaps as in other fits; frequencies of a matrix need its number of rows."""
    with pytest.raises(errors.ColumnTypeError):
        sp.principal_variables(wine.assign(name="a"), 3)
    with pytest.raises(errors.MissingValuesError):
        sp.principal_variables(wine.mask(wine == wine.iloc[0, 0]), 3, scale=True)
    with pytest.raises(errors.NoRowsError, match="n_obs"):
        sp.principal_variables_cov(wine.corr(), 3, n_resamples=5)
    with pytest.raises(errors.OptionError, match="rows"):
        sp.principal_variables_cov(sp.rows(wine), 3)
    gaps = wine.mask(np.random.default_rng(0).uniform(size=wine.shape) < 0.02)
    for na in ("em", "pairwise"):
        assert sp.principal_variables(gaps, 3, 2, scale=True, na=na, n_resamples=2).kept.size == 3


# --- prints, plots and files ------------------------------------------------------------------------


def test_a_print_has_at_most_25_lines(wine, plan):
    """Also with many variables, a budget, and copies of variables."""
    table = wine.assign(copy=wine["ash"], total=wine["alcohol"] + wine["magnesium"])
    plans = [
        plan,
        quick(wine, 10, 3, scale=True),
        quick(table, 6, 3, scale=True),
        sp.principal_variables(table, k=2, budget=4, cost={"ash": 2}, scale=True, n_resamples=2),
        quick(wine.add_prefix("concentration_in_all_bottles_of_"), 9, scale=True),
    ]
    for one in plans:
        lines = str(one).splitlines()
        assert len(lines) <= 25
        assert max(map(len, lines)) <= 80
    text = str(plan)
    assert text.startswith("Principal variables: 5 of 13 reproduce 61.56 % of the variance by 3 scores")
    assert "no other set of 5 is better (proven" in text
    assert "61.6 %" in plan.describe().text
    assert plan.describe().references[0].startswith("Tanaka")


def test_a_summary_has_all_variables_of_which_a_print_has_some(plan):
    """The summary shows what each variable that is not kept is represented by, up to `max_rows`."""
    names = plan.represented.index
    assert len(names) == 8
    rows = str(plan.summary()).partition("Not kept")[2]
    assert all(re.search(rf"^{name} ", rows, re.MULTILINE) for name in names)
    assert str(plan.summary(max_rows=60)) == str(plan.summary())
    printed = str(plan).partition("Not kept")[2]
    assert not all(name in printed for name in names)
    assert "..." in str(plan.summary(max_rows=5))


def test_copies_of_variables_kept_are_named(wine, tmp_path):
    """One of two opposites is kept by chance: the print, its notes and files say so, groups need not."""
    table = wine.assign(lack=-wine["flavanoids"])
    chosen = quick(table, 3, scale=True)
    pair = "flavanoids and lack are exact opposites (r = -1)."
    sentence = f"{pair} These data show little difference between keeping one or the other."
    assert sentence in chosen.notes
    assert f"Warning: {pair}" in str(chosen)
    chosen.save(tmp_path / "chosen.spca")
    assert sentence in sp.load(tmp_path / "chosen.spca").notes
    together = quick(table, 3, scale=True, together={"flavanoids": ["flavanoids", "lack"]})
    assert "flavanoids" in together.variables.index
    for other in (together, quick(wine, 3, scale=True)):
        assert "keeping one or the other" not in str(other)


def test_files_hold_the_choice(tmp_path, wine, plan):
    """Tables, prints, scores and reconstructions are the same; what needs the data says so."""
    path = tmp_path / "plan.spca"
    plan.save(path)
    loaded = sp.load(path)
    assert isinstance(loaded, sp.PrincipalVariablesResult)
    assert str(loaded) == str(plan)
    for name in ("variables", "represented", "path", "weights", "coefficients"):
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(plan, name))
    pd.testing.assert_frame_equal(loaded.reconstruct(wine), plan.reconstruct(wine))
    for call in (loaded.alternatives, loaded.certify, loaded.stability):
        with pytest.raises(errors.NoRowsError, match="fit again"):
            call()


@pytest.mark.parametrize("name", ["chosen", "other", "nearest", "further"])
def test_files_with_impossible_positions_are_refused(tmp_path, plan, name):
    from dataclasses import replace

    from spcastat.fit import saved_fits
    from spcastat.fit.state import FitState

    about = plan._state.principal
    wrong = replace(about, **{name: getattr(about, name) + 50})
    state: FitState = replace(plan._state, principal=wrong)
    saved_fits.save(state, None, tmp_path / "plan.spca")
    with pytest.raises(errors.FileError, match="do not match its variables"):
        sp.load(tmp_path / "plan.spca")


def test_report_and_plots(tmp_path, plan):
    """A page with both figures; plots show the table's numbers."""
    plan.report(tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert page.count("<svg") + page.count("data:image/svg+xml") >= 2
    assert "flavanoids" in page
    ax = plan.plot()
    drawn = ax.lines[0].get_ydata()
    np.testing.assert_allclose(drawn, 100 * plan.path["share"])
    widths = [bar.get_width() for bar in plan.plot_represented().patches]
    np.testing.assert_allclose(sorted(w for w in widths if w > 0), sorted(plan.represented["R2"]))


def test_names_in_given_axes_are_legible():
    """Fewer variables are drawn, those of largest R2, and the label counts the others."""
    rows = np.random.default_rng(0).standard_normal((40, 60))
    plan = quick(pd.DataFrame(rows).add_prefix("gene_"), 6, scale=True)
    ax = plt.subplots(figsize=(3.4, 3.0), layout="constrained")[1]
    plan.plot_represented(ax=ax)
    names = [label.get_text().strip() for label in ax.get_yticklabels()]
    assert min(label.get_fontsize() for label in ax.get_yticklabels()) > 5.0
    assert set(plan.kept) < set(names)
    drawn = plan.represented.index.isin(names)
    assert plan.represented["R2"][drawn].min() >= plan.represented["R2"][~drawn].max()
    assert f"({(~drawn).sum()} not shown)" in ax.get_xlabel()
    given = list(plan.kept)[::-1]  # the order that the caller gives stays
    ax = plt.subplots(figsize=(3.4, 3.0), layout="constrained")[1]
    sp.plots.plot_represented(plan.represented, kept=given, ax=ax)
    names = [label.get_text().strip() for label in ax.get_yticklabels()]
    assert [name for name in names if name in given] in (given, given[::-1])  # from either end of the axis


def test_all_variables_kept_are_drawn_before_those_they_represent():
    """In small axes, too, those that represent none of the variables drawn; the label counts all others."""
    represented = pd.DataFrame(
        {"R2": np.linspace(0.9, 0.1, 40), "most_by": [f"kept {min(i // 4, 7)}" for i in range(40)]},
        index=[f"v{i}" for i in range(40)],
    )
    kept = [f"kept {i}" for i in range(8)]
    for given in (kept, None):
        ax = plt.subplots(figsize=(3.4, 3.0), layout="constrained")[1]
        sp.plots.plot_represented(represented, kept=given, ax=ax)
        names = {label.get_text().strip() for label in ax.get_yticklabels()}
        assert set(kept) < names
        assert f"({48 - len(names)} not shown)" in ax.get_xlabel()


@pytest.mark.parametrize("folds", [0, 5])
def test_the_shares_of_a_single_number_of_variables_are_bars(wine, folds):
    plan = sp.principal_variables(wine, 5, 3, scale=True, folds=folds, n_resamples=0)
    path = plan.path.loc[5]
    ax = sp.plots.plot_kept(plan.path.loc[[5]], m=5)
    lengths = [bar.get_width() for bar in ax.patches]
    shares = [path["share"], plan.pca_share] + ([path["held_out"], path["held_out_pca"]] if folds else [])
    assert sorted(lengths) == pytest.approx(sorted(100 * share for share in shares))
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert set(names) == {"in the data", "PCA"} | ({"held out", "PCA held out"} if folds else set())


def test_certify_finds_a_better_set(wine):
    """From the worst set the search over all sets ends at the proven one; held-out shares remain."""
    from spcastat.fit.principal_variables import matrix_of, with_groups

    best = sp.principal_variables(wine, 4, 3, scale=True, n_resamples=0)
    problem = best._problem("certify()")
    poor = with_groups(best._state, best._source, best._request, problem, ([2, 4, 7, 12], np.inf, 0))
    worse = sp.PrincipalVariablesResult(poor, best._source, best._call, best._base_request)
    assert worse.share < best.share
    assert matrix_of(best._source.op).shape == (13, 13)
    again = worse.certify(5.0)
    assert set(again.kept) == set(best.kept)
    assert again.proven
    assert again.path.loc[4, "held_out"] == best.path.loc[4, "held_out"]


def test_the_command(tmp_path, capsys, wine):
    """It prints and writes what Python gives; options that do not apply, and doubled costs, are refused."""
    from spcastat.cli import main

    table, kept, saved = (str(tmp_path / name) for name in ("wine.csv", "kept.csv", "kept.spca"))
    wine.to_csv(table, index=False)
    line = ["keep", table, "--budget", "5", "--k", "2", "--scale", "--folds", "0", "--n-resamples", "0"]
    line += ["--cost", "ash=2", "--include", "ash", "--exclude", "hue"]
    assert main([*line, "--out", kept, "--save", saved, "--plot", str(tmp_path / "path.png")]) == 0
    options = {"budget": 5, "cost": {"ash": 2}, "include": ["ash"], "exclude": ["hue"]}
    plan = quick(wine, k=2, scale=True, **options)
    assert capsys.readouterr().out.strip() == str(plan).rpartition("\nMore: ")[0]  # of attributes
    pd.testing.assert_frame_equal(pd.read_csv(kept, index_col=0), plan.variables, check_names=False)
    assert sp.load(saved).share == plan.share
    assert main(["keep", table, "--m", "2", "--nonneg"]) == 1
    assert "nonneg" in capsys.readouterr().err
    assert main([*line, "--cost", "ash=3"]) == 1
    assert "twice" in capsys.readouterr().err
    assert main(["show", saved]) == 0
    assert "Principal variables" in capsys.readouterr().out


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("p", [3, 5])
def test_variables_that_are_all_included_are_the_choice(m, p):
    """One set is possible, which is therefore proven: with and without scales, from rows and covariances."""
    X = pd.DataFrame(np.random.default_rng(m).normal(size=(20, p))).add_prefix("v")
    kept = [f"v{i}" for i in range(p - m, p)]
    for scale in (False, True):
        for k in {None, 1, m}:
            chosen = quick(X, m, k, scale=scale, include=kept)
            assert sorted(chosen.kept) == kept
            assert chosen.proven
            S = (X.corr() if scale else X.cov()).to_numpy()
            assert chosen.share == pytest.approx(share(S, range(p - m, p), k), abs=ROUNDING)
    assert sorted(sp.principal_variables_cov(X.cov(), m, include=kept).kept) == kept


@pytest.mark.sweep
@pytest.mark.parametrize("m", [2, 4, 6, 12])
def test_a_print_with_remarks_on_the_rows_is_one_screen(m):
    """Serially correlated rows: a fact of three lines, which takes its room from the tables."""
    rng = np.random.default_rng(3)
    walk = rng.normal(size=(300, 4)).cumsum(axis=0) * 0.2
    X = pd.DataFrame(walk @ rng.normal(size=(4, 30)) + rng.normal(size=(300, 30)))
    X.columns = [f"concentration of the substance {j} in the sample" for j in range(30)]
    text = str(sp.principal_variables(X, m=m, k=2, scale=True, folds=3))
    lines = text.splitlines()
    assert "block_length='auto'" in text
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert "Not kept" in text or "fit.represented" in text


def test_long_names_in_a_print_differ_where_the_variables_differ():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)) + np.repeat(rng.normal(size=(60, 3)), 4, axis=1)
    names = [f"How often did you feel that you had no time for question {j}?" for j in range(12)]
    chosen = sp.principal_variables(pd.DataFrame(X, columns=names), 3, scale=True)
    text = " ".join(str(chosen).split())
    (further,) = re.findall(r"Next to add .*?: (.*?)\. More: ", text)
    assert len(set(re.findall(r"question \d+", further))) == 3
    for name in chosen.variables["instead"]:
        assert f"question {name.split()[-1]} " in text, name
