"""Every variable in exactly one component: the groups, against all partitions and published figures."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize

import spcastat as sp
from spcastat.search.criteria import SupportRule
from spcastat.search.objectives import OBJECTIVES, PEV
from spcastat.search.partition import (
    Climber,
    GroupLoadings,
    Partitions,
    as_mask,
    first_eigenvalues,
    partition,
)

PITPROPS = sp.datasets.load_pitprops()


def partitions(p: int, k: int) -> list[list[np.ndarray]]:
    """All partitions of p variables into k groups: the last variable joins a group, or is one."""
    if k in (0, p) or p < k:
        return [[np.array([j]) for j in range(p)]] if k == p else []
    joined = [
        [*groups[:g], np.append(groups[g], p - 1), *groups[g + 1 :]]
        for groups in partitions(p - 1, k)
        for g in range(k)
    ]
    return joined + [[*groups, np.array([p - 1])] for groups in partitions(p - 1, k - 1)]


def leading(S: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    V = np.zeros((len(S), len(groups)))
    for g, J in enumerate(groups):
        V[J, g] = np.linalg.eigh(S[np.ix_(J, J)])[1][:, -1]
    return V


def best_pev(S: np.ndarray, groups: list[np.ndarray], rng: np.random.Generator) -> float:
    """Loadings of disjoint components are orthogonal, so that the eigenvectors of the groups are best."""
    return sum(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in groups) / np.trace(S)


def best_least_squares(S: np.ndarray, groups: list[np.ndarray], rng: np.random.Generator) -> float:
    """The best of six ascents: each component in turn is the best given the others.

    Given scores Z of the others, R is the covariance matrix of the residuals, and loadings v explain
    v'RRv / v'Rv of their variance: a generalised eigenvalue.
    """
    best = 0.0
    for start in range(6):
        V, old, new = leading(S, groups), -1.0, 0.0
        if start:
            V = np.where(V != 0, rng.standard_normal(V.shape), 0.0)
        while new > old + 1e-12:
            for g, J in enumerate(groups):
                W = np.delete(V, g, axis=1)
                R = S - S @ W @ np.linalg.solve(W.T @ S @ W, W.T @ S)
                V[J, g] = eigh((R @ R)[np.ix_(J, J)], R[np.ix_(J, J)])[1][:, -1]
            old, new = new, np.trace(np.linalg.solve(V.T @ S @ V, V.T @ S @ S @ V)) / np.trace(S)
        best = max(best, new)
    return best


def best_adjusted(S: np.ndarray, groups: list[np.ndarray], rng: np.random.Generator) -> float:
    """The best of two ascents by SciPy's BFGS for each order of the components; Cholesky's diagonal."""

    def lost(x: np.ndarray, order: tuple[np.ndarray, ...]) -> float:
        V = np.zeros((len(S), len(order)))
        for g, J in enumerate(order):
            V[J, g] = x[J] / np.linalg.norm(x[J])
        return -float((np.diag(np.linalg.cholesky(V.T @ S @ V)) ** 2).sum() / np.trace(S))

    best = 0.0
    for order in permutations(groups):
        for x in (leading(S, groups).sum(axis=1), rng.standard_normal(len(S))):
            best = max(best, -minimize(lost, x, (order,), method="BFGS", options={"gtol": 1e-6}).fun)
    return best


BEST = {"pev": best_pev, "adjusted": best_adjusted, "least_squares": best_least_squares}


def data(seed: int, p: int) -> np.ndarray:
    """The covariance matrix of 20 rows, of noise or of pairs of correlated variables."""
    X = np.random.default_rng(seed).standard_normal((20, p))
    X[:, p // 2 :] += (seed % 2) * X[:, : p - p // 2]
    return np.cov(X.T)


def exhaustive(S: np.ndarray, k: int, objective: str) -> float:
    """The largest objective over all partitions, each fitted by an independent method."""
    rng = np.random.default_rng(1)
    return max(BEST[objective](S, groups, rng) for groups in partitions(len(S), k))


ENUMERATED = [
    *(("pev", p, k, 10) for p in (5, 6, 7) for k in (2, 3)),
    ("least_squares", 5, 2, 4),
    ("least_squares", 5, 3, 2),
    ("adjusted", 5, 2, 2),
    *(pytest.param("pev", 8, k, 4, marks=pytest.mark.slow) for k in (2, 3, 4)),
    *(pytest.param("least_squares", 6, k, 2, marks=pytest.mark.slow) for k in (2, 3)),
    *(pytest.param("adjusted", p, k, 1, marks=pytest.mark.slow) for p, k in ((5, 3), (6, 2))),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("objective", "p", "k", "count"), ENUMERATED)
def test_groups_are_the_best_of_all_partitions(objective, p, k, count):
    """Values are compared up to 1e-8, which ascents that end at gradients of 1e-6 reach; PEV to rounding."""
    for seed in range(count):
        S = data(seed, p)
        best = exhaustive(S, k, objective)
        found = partition(S, k, objective)
        assert found.exhaustive
        assert found.value >= best - (1e-12 if objective == "pev" else 1e-8)
        assert objective != "pev" or found.value <= best + 1e-12


@pytest.mark.parametrize(("p", "k"), [(4, 1), (5, 2), (6, 3), (8, 4), (8, 7), (6, 6)])
def test_partitions_come_in_descending_order_of_pev(p, k):
    """All of them, each once, against direct enumeration; `largest_sums` splits sets of 8 variables."""
    S = data(p, p)
    listed = list(Partitions(first_eigenvalues(S), k).descending(-np.inf))
    sums = sorted((best_pev(S, groups, None) * np.trace(S) for groups in partitions(p, k)), reverse=True)
    np.testing.assert_allclose([total for total, _ in listed], sums, rtol=1e-12)
    assert {tuple(sorted(groups)) for _, groups in listed} == {
        tuple(sorted(as_mask(J) for J in groups)) for groups in partitions(p, k)
    }
    assert Partitions(first_eigenvalues(S), k).count == len(sums)
    least = sums[len(sums) // 2]
    part = list(Partitions(first_eigenvalues(S), k).descending(least))
    assert len(part) == sum(one > least * (1 + 1e-12) for one in sums) or abs(part[-1][0] - least) < 1e-12


@pytest.mark.parametrize("objective", ["pev", "adjusted", "least_squares"])
def test_gradient(objective):
    """Against central differences, whose error is of the order of 1e-10 with steps of 1e-5."""
    rng = np.random.default_rng(0)
    loadings = GroupLoadings(data(1, 7) / 9.0, 3, OBJECTIVES[objective])
    labels = np.array([[0, 1, 2, 0, 1, 2, 2], [1, 1, 0, 2, 2, 2, 1]])
    x = rng.standard_normal(labels.shape)
    slope = loadings.with_gradient(x, labels, labels)[1]
    for j, step in enumerate(1e-5 * np.eye(7)):
        up, down = (loadings.with_gradient(x + h * step, labels, labels)[0] for h in (1, -1))
        np.testing.assert_allclose((up - down) / 2e-5, slope[:, j], atol=1e-8)


def test_with_more_variables_moves_are_tried_with_the_best_loadings():
    """No partition that differs by one variable has a larger least-squares share: independent ascents."""
    rng = np.random.default_rng(3)
    S = np.cov((rng.standard_normal((60, 18)) + rng.standard_normal((60, 1))).T)
    found = partition(S, 2, "least_squares", "quick")
    assert not found.exhaustive
    assert found.settled
    assert found.compared > 30
    labels = np.abs(found.V).argmax(axis=1)
    for j in range(18):
        moved = np.where(np.arange(18) == j, 1 - labels, labels)
        groups = [np.flatnonzero(moved == g) for g in range(2)]
        assert best_least_squares(S, groups, rng) <= found.value + 1e-8


def test_under_a_rule_a_climb_ends_where_no_allowed_move_is_better():
    may, must = np.ones((2, 6), dtype=bool), np.zeros((2, 6), dtype=bool)
    may[0, 1], must[1, 5] = False, True
    for seed in range(3):
        S = np.cov(np.random.default_rng(seed).standard_normal((9, 6)).T)
        climber = Climber(S, 2, PEV, SupportRule(may, must, True))
        allowed = [one for one in product(range(2), repeat=6) if 0 in one and one[1] == one[5] == 1]
        values = {}
        for one in allowed:
            V = leading(S, [np.flatnonzero(np.equal(one, g)) for g in range(2)])
            values[one] = np.trace(V.T @ S @ V)
        for start in allowed:
            value, groups = climber.climb([as_mask(np.flatnonzero(np.equal(start, g))) for g in range(2)])
            end = tuple(groups[1] >> j & 1 for j in range(6))
            assert value == pytest.approx(values[end], rel=1e-12)
            assert value >= max(values[one] for one in allowed if sum(map(int.__ne__, one, end)) < 2) - 1e-9


#: Shares of the best groups: PEV by programming over subsets; adjusted variance climbed in all partitions.
SHARES = {
    "pev": {2: 0.46462, 3: 0.58359, 4: 0.65788, 5: 0.73072, 6: 0.79201},
    "adjusted": {2: 0.46238, 3: 0.56139, 4: 0.63359, 5: 0.69236, 6: 0.73686},
}
LONG = {("adjusted", 4), ("adjusted", 5), ("adjusted", 6)}


@pytest.mark.parametrize(
    ("objective", "k"),
    [
        pytest.param(name, k, marks=[pytest.mark.slow] if (name, k) in LONG else [])
        for name in SHARES
        for k in SHARES[name]
    ],
)
def test_pitprops(objective, k):
    """Figures of another implementation, printed with five digits."""
    fit = sp.spca_cov(PITPROPS, k, disjoint=True, objective=objective)
    assert fit.measure(objective) == pytest.approx(SHARES[objective][k], abs=5e-6)
    assert ((fit.loadings != 0).sum(axis=1) == 1).all()


#: Six indicators of 20 economies in 1999: Vichi and Kiers (2001), "Factorial k-means analysis for two-way
#: data", Computational Statistics & Data Analysis 37.
ECONOMIES = """
    4.8 8.4 8.1 5.32 0.7 4.7  3.2 2.5 8.4 5.02 1.6 5.2  3.9 -1 11.8 3.6 8.8 7.7  2.3 0.7 11.7 3.69 3.9 7.3
    3.6 2.5 19 4.83 1.2 9.6  4.1 1.1 8.9 4.2 7 4  4.1 1.4 4.5 5.59 -1.4 7  2.9 1.6 4.2 3.69 7 15.8
    3.2 0.6 10.3 11.7 -8.3 8  2.3 5.6 3.2 20.99 0 12.7  2.8 -7.5 4.9 4.84 -8.7 14  1.1 0.6 4.7 3.84 -0.6 9.4
    1.4 -0.1 9.6 3.64 4.5 12.4  1 1.5 5.3 4.08 3.3 5  0.8 -2 9.5 3.74 1.5 7.7  0.9 -0.4 12.3 6.08 4.3 8.2
    0.1 5.4 4.2 0.74 1.2 15.1  1.4 0.9 3.3 4.47 7.1 15.1  1.1 2.1 3.8 1.84 4.4 13.2  1.2 4.9 6.4 7.7 -0.5 4.8
"""


@pytest.mark.parametrize(
    ("objective", "free", "tied"), [("pev", 0.678033, 0.639645), ("adjusted", 0.676753, 0.627460)]
)
def test_economies(objective, free, tied):
    """Figures of another implementation: three groups, and with GDP and the leading indicator in one."""
    X = np.array(ECONOMIES.split(), dtype=float).reshape(20, 6)
    X = pd.DataFrame(X, columns=["GDP", "LI", "UR", "IR", "TB", "NNS"])
    found = sp.spca(X, 3, scale=True, disjoint=True, objective=objective).measure(objective)
    assert found == pytest.approx(free, abs=5e-7)
    how = {"scale": True, "disjoint": True, "together": {"growth": ["GDP", "LI"]}, "effort": "quick"}
    cards = set(permutations([3, 1, 1])) | set(permutations([2, 2, 1]))
    fits = [sp.spca(X, 3, list(card), objective=objective, **how) for card in sorted(cards)]
    assert max(fit.measure(objective) for fit in fits) == pytest.approx(tied, abs=5e-7)


def test_one_group_is_pca_and_as_many_as_variables_are_the_variables():
    one = sp.spca_cov(PITPROPS, 1, disjoint=True)
    assert one.measure("pev") == pytest.approx(np.linalg.eigvalsh(PITPROPS)[-1] / 13)
    every = sp.spca_cov(PITPROPS, 13, disjoint=True)
    assert every.card.tolist() == [1] * 13
    assert every.measure("pev") == pytest.approx(1.0)


def blocks() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 8))
    X[:, 1:3] += 2.0 * X[:, [0]]
    X[:, 4:6] += 2.0 * X[:, [3]]
    X[:, 7] += 2.0 * X[:, 6]
    return pd.DataFrame(X, columns=list("abcdefgh"))


def test_fits_of_draws_search_for_groups_again_and_files_keep_the_rule(tmp_path):
    fit = sp.spca(blocks(), 3, disjoint=True)
    groups = [set(fit.loadings.index[fit.loadings[name] != 0]) for name in fit.loadings]
    assert sorted(map(sorted, groups)) == [list("abc"), list("def"), list("gh")]
    assert "Every variable is in one component." in " ".join(str(fit).split())
    draws = fit.bootstrap(19, rng=1).table.set_index(["component", "term"])
    assert (draws["selected"].groupby("component").sum() >= 2).all()
    assert draws["selected"].sum() == pytest.approx(8.0)  # each draw has each variable once
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)
    assert fit.refit(objective="pev").options["disjoint"] is True


@pytest.mark.parametrize(
    ("seed", "objective"), [(0, "pev"), (1, "pev"), (0, "adjusted"), (0, "least_squares")]
)
def test_the_bound_is_above_all_partitions(seed, objective):
    """For whatever groups the fit has; the best known fit is the best of all partitions."""
    S = data(seed, 5)
    best = exhaustive(S, 2, objective)
    for fitted in ("pev", objective):
        fit = sp.spca_cov(pd.DataFrame(S), 2, disjoint=True, objective=fitted)
        proof = fit.certify(joint=True, objective=objective)
        (row,) = proof.table.to_dict("records")
        assert row["upper_bound"] >= best - 1e-8
        assert row["best_known"] == pytest.approx(best, abs=1e-8)
        assert fit.adopt(proof).measure(objective) == pytest.approx(best, abs=1e-8)
        if objective == "pev":
            assert row["upper_bound"] == pytest.approx(best, rel=1e-12)
            assert row["optimal"]


def test_least_squares_groups_of_pitprops_are_proven_with_two_components():
    """Independent of the search: every partition is bounded by duality; a lower value is not "optimal"."""
    R = PITPROPS.iloc[:8, :8]
    fit = sp.spca_cov(R, 2, disjoint=True, objective="least_squares")
    assert "best of all partitions into 2 groups" in " ".join(str(fit).split())
    (row,) = fit.certify(joint=True).table.to_dict("records")
    assert row["proof"] == "all partitions, 127 of them bounded by multipliers"
    assert row["optimal"]


@pytest.mark.parametrize(
    ("k", "bound", "left"),
    [
        (2, 0.46306, 6),
        (3, 0.56927, 60),
        pytest.param(4, 0.64214, 232, marks=pytest.mark.slow),
        pytest.param(5, 0.70473, 874, marks=pytest.mark.slow),
    ],
)
def test_partitions_of_pitprops_are_bounded(k, bound, left):
    """Figures of another implementation: five digits, and how many partitions have a larger PEV."""
    fit = sp.spca_cov(PITPROPS, k, disjoint=True, objective="adjusted")
    certificate = fit.certify(joint=True)
    (row,) = certificate.table.to_dict("records")
    assert row["value"] <= row["upper_bound"] < row["pca_bound"]
    assert row["upper_bound"] == pytest.approx(bound, abs=1.5e-5)
    assert int(row["proof"].split()[2]) == pytest.approx(left, abs=1)  # theirs are above a rounded value
    assert "No disjoint components of all variables have a larger adjusted" in " ".join(
        str(fit.with_inference(certificate)).split()
    )


def test_pev_finds_planted_groups_under_a_general_factor():
    """Correlations of 0.65^2 between four groups of six, and of 0.65^2 + 0.45^2 within them."""
    of = np.arange(24) // 6
    R = 0.65**2 + 0.45**2 * np.equal.outer(of, of)
    np.fill_diagonal(R, 1.0)
    fit = sp.spca_cov(pd.DataFrame(R), 4, disjoint=True)
    assert sorted(tuple(np.flatnonzero(v)) for v in fit.loadings.to_numpy().T) == [
        tuple(np.flatnonzero(of == g)) for g in range(4)
    ]
    general = sp.spca_cov(pd.DataFrame(R), 4, disjoint=True, objective="adjusted")
    assert general.measure("adjusted") > fit.measure("adjusted")
    assert general.card.max() > 12


def test_with_more_variables_or_partitions_the_bound_is_that_of_pca():
    """Dense components bound all others, so that the bound covers groups of all sizes."""
    R = pd.DataFrame(np.corrcoef(np.random.default_rng(0).standard_normal((50, 17)).T))
    pca = np.linalg.eigvalsh(R)[-3:].sum() / 17
    for objective in ("pev", "adjusted", "least_squares"):
        proof = sp.spca_cov(R, 3, disjoint=True, objective=objective, effort="quick").certify(joint=True)
        (row,) = proof.table.to_dict("records")
        assert row["upper_bound"] == pytest.approx(pca, rel=1e-9)
        assert row["proof"] == "all partitions, bounded by dense PCA (more than 16 variables)"
        assert "No disjoint components of all variables have a larger" in proof.sentence
        assert "sizes" not in proof.sentence
    fit = sp.spca_cov(PITPROPS, 3, disjoint=True, objective="least_squares", effort="quick")
    assert "not all partitions were compared" in " ".join(str(fit).split())
    (row,) = fit.certify(joint=True, time_limit=1.0).table.to_dict("records")
    assert row["proof"] == "all partitions, bounded by dense PCA (more than 20000 partitions)"
    (row,) = fit.certify(joint=True, objective="pev", time_limit=1e-9).table.to_dict("records")
    assert row["proof"] == "all partitions, bounded by dense PCA (time limit)"
    assert row["upper_bound"] == row["pca_bound"]


def test_the_default_objective_of_groups_is_pev():
    """Where the search chooses the groups; with cardinalities or a share to keep it is adjusted variance."""
    fit = sp.spca_cov(PITPROPS, 3, disjoint=True)
    assert fit.options["objective"] == "pev"
    assert "proven: no other partition into 3 groups is better" in " ".join(str(fit).split())
    named = sp.spca_cov(PITPROPS, 3, disjoint=True, method="joint", effort="quick")
    assert named.options["objective"] == "pev"
    given = sp.spca_cov(PITPROPS, 3, disjoint=True, objective="adjusted")
    assert given.options["objective"] == "adjusted"
    assert "best of all partitions into 3 groups" in " ".join(str(given).split())
    for further in ({"card": 2}, {"variance": 0.6}):
        other = sp.spca_cov(PITPROPS, 3, disjoint=True, effort="quick", **further)
        assert other.options["objective"] == "adjusted"
    assert fit.refit(card=2, effort="quick").options["objective"] == "adjusted"


def test_the_summary_has_the_eigenvalues_of_the_groups():
    fit = sp.spca_cov(PITPROPS, 3, disjoint=True, objective="adjusted")
    text = " ".join(str(fit.summary()).split())
    assert "First eigenvalue 3.312 2.280 1.995" in text
    assert "Second 0.779 0.810 0.976" in text
    assert "more than one dimension" not in text
    two = sp.spca_cov(PITPROPS, 2, disjoint=True)
    for name, row in two.details.iterrows():
        J = np.flatnonzero(two.loadings[name])
        values = np.linalg.eigvalsh(PITPROPS.to_numpy()[np.ix_(J, J)])
        np.testing.assert_allclose(row, values[[-1, -2]], rtol=1e-12)
    assert "the group has more than one dimension" in " ".join(str(two.summary()).split())


def test_what_does_not_go_together_is_refused():
    for further in ({"include": ["clear"]}, {"exclude": ["clear"]}):
        with pytest.raises(sp.errors.OptionError, match=r"without card=.*disjoint=True alone"):
            sp.spca_cov(PITPROPS, 2, disjoint=True, **further)
    with pytest.raises(sp.errors.UnknownOptionError, match="methods that have it: 'joint'"):
        sp.spca_cov(PITPROPS, 2, disjoint=True, method="zou")
