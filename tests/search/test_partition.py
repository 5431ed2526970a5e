"""Every variable in exactly one component: the groups, against all partitions and published figures."""

from __future__ import annotations

import re
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.measures import MEASURES
from spcastat.operators import Gram
from spcastat.search.partition import Climber, as_mask, partition
from spcastat.search.rule import SupportRule

PITPROPS = sp.datasets.load_pitprops()


def leading(S: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    V = np.zeros((len(S), k))
    for g in range(k):
        members = np.flatnonzero(labels == g)
        V[members, g] = np.linalg.eigh(S[np.ix_(members, members)])[1][:, -1]
    return V


def exhaustive(S: np.ndarray, k: int, objective: str) -> float:
    """The largest objective of leading eigenvectors over all partitions, in all orders."""
    measure, best = MEASURES[objective], 0.0
    for labels in product(range(k), repeat=len(S)):
        if len(set(labels)) == k and list(dict.fromkeys(labels)) == list(range(k)):
            V = leading(S, np.array(labels), k)
            orders = permutations(range(k)) if objective == "adjusted" else [range(k)]
            best = max(best, *(float(measure(V[:, list(order)], Gram(S))[-1]) for order in orders), 0.0)
    return best


@pytest.mark.parametrize("objective", ["pev", "adjusted", "least_squares"])
@pytest.mark.parametrize("seed", range(4))
def test_groups_are_the_best_of_all_partitions(objective, seed):
    """PEV of eigenvectors is that of the best loadings; the two others can rise on the same groups."""
    X = np.random.default_rng(seed).standard_normal((20, 6))
    X[:, 3:] += X[:, :3]
    S = np.cov(X.T)
    for k in (2, 3):
        value, best = partition(S, k, objective).value, exhaustive(S, k, objective)
        assert value >= best * (1 - 1e-9)
        assert objective != "pev" or value <= best * (1 + 1e-9)


def test_under_a_rule_a_climb_ends_where_no_allowed_move_is_better():
    may, must = np.ones((2, 6), dtype=bool), np.zeros((2, 6), dtype=bool)
    may[0, 1], must[1, 5] = False, True
    for seed in range(3):
        S = np.cov(np.random.default_rng(seed).standard_normal((9, 6)).T)
        climber = Climber(S, 2, "pev", SupportRule(may, must, True))
        allowed = [one for one in product(range(2), repeat=6) if 0 in one and one[1] == one[5] == 1]
        values = {one: np.trace(V.T @ S @ V) for one in allowed for V in [leading(S, np.array(one), 2)]}
        for start in allowed:
            value, groups = climber.climb([as_mask(np.flatnonzero(np.equal(start, g))) for g in range(2)])
            end = tuple(groups[1] >> j & 1 for j in range(6))
            assert value == pytest.approx(values[end], rel=1e-12)
            assert value >= max(values[one] for one in allowed if sum(map(int.__ne__, one, end)) < 2) - 1e-9


@pytest.mark.parametrize(
    ("objective", "values"),
    [
        ("pev", (0.46462, 0.58359, 0.65788, 0.73072, 0.79201)),  # exact, by programming over subsets
        ("adjusted", (0.46238, 0.56139, 0.63359, 0.69236, 0.73686)),  # the best of all partitions, climbed
    ],
)
def test_pitprops(objective, values):
    """Figures of another implementation, printed with five digits."""
    for k, value in enumerate(values, start=2):
        fit = sp.spca_cov(PITPROPS, k, disjoint=True, objective=objective)
        assert fit.measure(objective) == pytest.approx(value, abs=5e-6)
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
    assert "every variable is in one component" in str(fit)
    draws = fit.bootstrap(19, rng=1).conf_int().set_index(["component", "term"])
    assert (draws["selected"].groupby("component").sum() >= 2).all()
    assert draws["selected"].sum() == pytest.approx(8.0)  # each draw has each variable once
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)
    assert fit.refit(objective="pev").options["disjoint"] is True


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_above_all_partitions(seed):
    X = np.random.default_rng(seed).standard_normal((20, 6))
    X[:, 3:] += X[:, :3]
    S = pd.DataFrame(np.cov(X.T))
    for k in (2, 3):
        best = sp.spca_cov(S, k, disjoint=True, objective="pev").certify(joint=True)
        (row,) = best.to_dict("records")
        assert row["upper_bound"] == pytest.approx(exhaustive(S.to_numpy(), k, "pev"), rel=1e-12)
        assert row["optimal"]
        (row,) = sp.spca_cov(S, k, disjoint=True).certify(joint=True).to_dict("records")
        assert row["upper_bound"] >= exhaustive(S.to_numpy(), k, "adjusted") * (1 - 1e-12)


@pytest.mark.parametrize(
    ("k", "bound", "left"),
    [
        (2, 0.46306, 6),
        (3, 0.56927, 60),
        (4, 0.64214, 232),
        pytest.param(5, 0.70473, 874, marks=pytest.mark.slow),
    ],
)
def test_partitions_of_pitprops_are_bounded(k, bound, left):
    """Figures of another implementation: five digits, and how many partitions have a larger PEV."""
    fit = sp.spca_cov(PITPROPS, k, disjoint=True)
    (row,) = fit.certify(joint=True).to_dict("records")
    assert row["value"] <= row["upper_bound"] < row["pca_bound"]
    assert row["upper_bound"] == pytest.approx(bound, abs=1.5e-5)
    assert int(row["proof"].split()[2]) == pytest.approx(left, abs=1)  # theirs are above a rounded value
    assert "No disjoint components of all variables have a larger adjusted" in " ".join(str(fit).split())


def test_other_bounds_are_of_these_sizes_and_say_so():
    fit = sp.spca_cov(PITPROPS, 2, disjoint=True, objective="least_squares")
    proof = fit.certify(joint=True, max_nodes=1, time_limit=1)
    assert "No loadings with these cardinalities have a larger least-squares share" in proof.sentence
    assert proof.sentence.endswith("Groups of other sizes are not compared.")
    assert "cardinalities" in fit.certify(joint=True, objective="pev", time_limit=1e-9).sentence


def test_the_summary_has_the_eigenvalues_of_the_groups():
    fit = sp.spca_cov(PITPROPS, 3, disjoint=True)
    text = " ".join(str(fit).split())
    assert "First eigenvalue 3.312 2.280 1.995" in text
    assert "Second 0.779 0.810 0.976" in text
    assert "more than one direction" not in text
    two = sp.spca_cov(PITPROPS, 2, disjoint=True)
    for name, row in two.details.iterrows():
        J = np.flatnonzero(two.loadings[name])
        values = np.linalg.eigvalsh(PITPROPS.to_numpy()[np.ix_(J, J)])
        np.testing.assert_allclose(row, values[[-1, -2]], rtol=1e-12)
    assert "there is more than one direction in it" in " ".join(str(two).split())


def test_the_best_groups_are_met_by_some_of_the_starts():
    """Noise has several local optima: this one is met by a few of the ten starts."""
    fit = sp.spca(np.random.default_rng(8).standard_normal((30, 12)), k=4, disjoint=True, scale=True)
    starts, met = (int(word) for word in re.findall(r"best of (\d+) starts, met (\d+) times", str(fit))[0])
    assert 1 <= met < starts


def test_what_does_not_go_together_is_refused():
    for further in ({"include": ["clear"]}, {"exclude": ["clear"]}):
        with pytest.raises(sp.errors.OptionError, match=r"without card=.*disjoint=True alone"):
            sp.spca_cov(PITPROPS, 2, disjoint=True, **further)
    with pytest.raises(sp.errors.UnknownOptionError, match="methods that have it: 'joint'"):
        sp.spca_cov(PITPROPS, 2, disjoint=True, method="zou")
