"""Components under a constraint: enumeration of small problems, values of other programs, and calls."""

from __future__ import annotations

import warnings
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.cli import main
from spcastat.errors import ComponentsError, ConvergenceWarning, OptionError, UnknownOptionError
from spcastat.linalg.operators import Gram
from spcastat.search.constrained import (
    ROUND_GAIN,
    PenalisedCriterion,
    _ConstrainedSearch,
    constrained,
    nearest,
)
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.criteria import SupportRule
from spcastat.search.exact_exchanges import best_exchanges
from spcastat.search.exact_loadings import ROUGHLY_MET, ExactLoadings
from spcastat.search.joint_method import Joint
from spcastat.search.objectives import OBJECTIVES
from tests.search.conftest import draw

PROBLEMS = [(name, objective) for name, record in CONSTRAINTS.items() for objective in record.objectives]


def products(S: np.ndarray, V: np.ndarray, name: str) -> np.ndarray:
    """Correlations of scores, or cosines of loadings, without their ones."""
    G = V.T @ S @ V if name == "uncorrelated" else V.T @ V
    lengths = np.sqrt(np.diag(G))
    return G / np.outer(lengths, lengths) - np.eye(len(G))


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_under_a_constraint_objectives_are_sums_over_components(name, objective):
    """So that the order of the components does not matter."""
    record = OBJECTIVES[objective]
    for seed in range(5):
        S = draw(6, seed)
        M = S if name == "uncorrelated" else np.eye(6)
        V = np.random.default_rng(seed).standard_normal((6, 3))
        for j in range(1, 3):  # Gram and Schmidt, in the inner product M
            for i in range(j):
                V[:, j] -= V[:, i] * (V[:, i] @ M @ V[:, j]) / (V[:, i] @ M @ V[:, i])
        V /= np.linalg.norm(V, axis=0)
        alone = [float(record.measure(V[:, [j]], Gram(S))[-1]) for j in range(3)]
        assert record.measure(V, Gram(S))[-1] == pytest.approx(sum(alone), rel=1e-9)
        assert record.measure(V[:, ::-1], Gram(S))[-1] == pytest.approx(sum(alone), rel=1e-9)


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_the_penalised_criterion_by_differences(name, objective):
    S = draw(7, 1)
    S /= np.trace(S)
    rng = np.random.default_rng(0)
    criterion = PenalisedCriterion(S, (3, 4), CONSTRAINTS[name], OBJECTIVES[objective], (2.0,))
    places = np.array([[0, 2, 5, 1, 2, 3, 6]])
    x = rng.standard_normal((1, 7))
    value, gradient = criterion.with_gradient(x, *criterion.for_ascent(places, np.zeros(1, dtype=int)))
    fits = criterion.fits(places, x)
    assert value[0] == pytest.approx(fits.value[0], rel=1e-12)
    step = 1e-6  # central differences are right to step^2, and to 1e-15 / step of rounding
    for j in range(7):
        ends = [criterion.fits(places, x + sign * step * np.eye(7)[[j]]).value[0] for sign in (1, -1)]
        assert gradient[0, j] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), abs=1e-7)
    # the model of a column given the other is the criterion, but for a constant
    for i in range(2):
        model, T = criterion.model(fits, i), np.arange(7)
        part = model.bordered(T[None, :3], T[None, 3:])
        constants = []
        for _ in range(4):
            v = rng.standard_normal((1, 3))
            v /= np.linalg.norm(v)
            full_places, full_x = fits.places.copy(), fits.x.copy()
            c = criterion.cards[i]
            full_places[:, criterion.parts[i]] = np.arange(c)
            full_x[:, criterion.parts[i]] = np.pad(v, ((0, 0), (0, c - 3)))
            A = part.A[0][:, :3]
            quotient = v[0] @ A @ v[0] / (1.0 if part.M is None else v[0] @ part.M[0][:, :3] @ v[0])
            constants.append(criterion.fits(full_places, full_x).value[0] - quotient)
        assert np.ptp(constants) < 1e-10


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_several_penalties_are_multiples_of_one_formula(name, objective):
    """sum_j f_j - rho sum of squared products, from the definition; a multiple of it ranks fits the same."""
    S = draw(7, 2)
    S /= np.trace(S)
    rhos, rng = (0.5, 3.0, 40.0), np.random.default_rng(1)
    criterion = PenalisedCriterion(S, (3, 4), CONSTRAINTS[name], OBJECTIVES[objective], rhos)
    places = np.tile([0, 2, 5, 1, 2, 3, 6], (9, 1))
    of = np.arange(9) % 3
    fits = criterion.fits(places, rng.standard_normal((9, 7)), of)
    for b in range(9):
        V = np.zeros((7, 2))
        V[places[b], criterion.owner] = fits.x[b]
        alone = sum(float(OBJECTIVES[objective].measure(V[:, [j]], Gram(S))[-1]) for j in range(2))
        M = S if name == "uncorrelated" else np.eye(7)
        product = V[:, 0] @ M @ V[:, 1]
        if objective == "least_squares":
            product = products(S, V, name)[0, 1]
        value = alone - rhos[of[b]] * 2.0 * product**2
        assert fits.value[b] == pytest.approx(criterion.multiples[of[b]] * value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_loadings_meet_the_constraint_and_are_stationary(name, objective):
    rng = np.random.default_rng(3)
    S = draw(9, 2)
    S /= np.trace(S)
    loadings = ExactLoadings(S, (4, 4, 5), CONSTRAINTS[name], OBJECTIVES[objective])
    places = np.stack([
        np.concatenate([np.sort(rng.choice(9, c, replace=False)) for c in (4, 4, 5)]) for _ in range(8)
    ])  # fmt: skip
    x, values, _ = loadings.best_loadings(places, rng.standard_normal(places.shape), 200)
    assert np.isfinite(values).sum() >= 7
    for b in np.flatnonzero(np.isfinite(values)):
        V = np.zeros((9, 3))
        V[places[b], loadings.owner] = x[b]
        assert np.abs(products(S, V, name)).max() <= 1e-12
        assert values[b] == pytest.approx(OBJECTIVES[objective].measure(V, Gram(S))[-1], rel=1e-9)
        # small turns of the loadings that keep the constraint do not raise the value to first order: a random
        # change of 1e-4, brought back to the constraint, changes the value by about its square
        change = 1e-4 * rng.standard_normal((1, places.shape[1]))
        near, near_value, _ = loadings.best_loadings(places[[b]], x[[b]] + change, 0)
        if np.abs(near - x[b]).max() < 1e-2:
            assert abs(near_value[0] - values[b]) < 1e-5


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_exchanges_are_ranked_by_what_they_lead_to(name, objective):
    """All exchanges are followed; the first five have most of the largest gain."""
    S = draw(9, 2)
    S /= np.trace(S)
    loadings = ExactLoadings(S, (4, 4, 5), CONSTRAINTS[name], OBJECTIVES[objective])
    rng = np.random.default_rng(3)
    places = np.stack([
        np.concatenate([np.sort(rng.choice(9, c, replace=False)) for c in (4, 4, 5)]) for _ in range(8)
    ])  # fmt: skip
    x, values, _ = loadings.best_loadings(places, rng.standard_normal(places.shape), 200)
    met = np.isfinite(values)
    new_places, new_x = best_exchanges(loadings, places[met], x[met], 10**6)
    n, L, N = new_places.shape
    assert L >= 4 * 5 + 4 * 5 + 5 * 4  # and the rest are fits as they are
    followed = loadings.best_loadings(new_places.reshape(-1, N), new_x.reshape(-1, N), 50)[1].reshape(n, L)
    best, first = followed.max(axis=1), followed[:, :5].max(axis=1)
    gains = best - values[met]
    assert (gains > 0).all()  # random supports are no optima
    assert np.median((first - values[met]) / gains) >= 0.9


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_loadings_after_an_exchange_keep_the_constraint_to_first_order(name, objective):
    """The model's changes D of the loadings V solve J'd = 0: v_i'M d_j + d_i'M v_j = 0 for all pairs.

    The equations are solved in double precision, with products of at most one; random changes leave .1.
    """
    S = draw(9, 2)
    S /= np.trace(S)
    loadings = ExactLoadings(S, (4, 4, 5), CONSTRAINTS[name], OBJECTIVES[objective])
    places = np.array([[0, 1, 2, 3, 2, 4, 5, 6, 1, 3, 6, 7, 8]])
    x, values, _ = loadings.best_loadings(places, np.random.default_rng(3).standard_normal((1, 13)), 200)
    assert np.isfinite(values[0])
    new_places, new_x = best_exchanges(loadings, places, x, 20)
    V, W = np.zeros((9, 3)), np.zeros((20, 9, 3))
    V[places[0], loadings.owner] = x[0]
    W[np.arange(20)[:, None], new_places[0], loadings.owner] = new_x[0]
    M = S if name == "uncorrelated" else np.eye(9)
    # components of the model have unit scores for least squares, and unit loadings otherwise
    V = V / np.sqrt(np.diag(V.T @ (S if objective == "least_squares" else np.eye(9)) @ V))
    for after in W:
        change = V.T @ M @ (after - V)
        pairs = (change + change.T)[np.triu_indices(3, 1)]
        assert np.abs(pairs).max() <= 1e-9 * np.abs(M).max()


def test_the_exchange_that_a_penalised_criterion_ranked_52nd():
    """Pitprops, least squares: 64.323 % to 64.423 %, the best of all 120 exchanges."""
    S = sp.datasets.load_pitprops().to_numpy() / 13.0
    loadings = ExactLoadings(S, (5, 5, 5), CONSTRAINTS["uncorrelated"], OBJECTIVES["least_squares"])
    places = np.array([[3, 4, 5, 6, 12, 2, 3, 7, 9, 11, 0, 2, 4, 8, 12]])
    x, values, _ = loadings.best_loadings(places, np.random.default_rng(0).standard_normal((1, 15)), 200)
    assert 100.0 * values[0] == pytest.approx(64.323, abs=1e-3)
    new_places, new_x = best_exchanges(loadings, places, x, 3)
    followed = loadings.best_loadings(new_places[0], new_x[0], 50)[1]
    assert 100.0 * followed.max() == pytest.approx(64.423, abs=1e-3)


@pytest.mark.parametrize("disjoint", [False, True])
def test_exchanges_keep_to_the_rule(disjoint):
    S = draw(9, 1)
    S /= np.trace(S)
    may, must = np.ones((2, 9), dtype=bool), np.zeros((2, 9), dtype=bool)
    may[0, 8], must[1, 5] = False, True
    loadings = ExactLoadings(S, (3, 3), CONSTRAINTS["uncorrelated"], OBJECTIVES["adjusted"])
    places = np.array([[0, 1, 2, 4, 5, 6]])
    x = loadings.best_loadings(places, np.ones((1, 6)), 200)[0]
    new_places, _ = best_exchanges(loadings, places, x, 10**6, SupportRule(may, must, disjoint))
    seen = {tuple(row) for row in new_places[0]}
    first = {tuple(sorted({0, 1, 2} - {a} | {b})) for a in (0, 1, 2) for b in range(3, 8)}
    second = {tuple(sorted({4, 5, 6} - {a} | {b})) for a in (4, 6) for b in (0, 1, 2, 3, 7, 8)}
    if disjoint:  # only variables of no component
        first = {support for support in first if not {4, 5, 6} & set(support)}
        second = {support for support in second if not {0, 1, 2} & set(support)}
    own = (0, 1, 2), (4, 5, 6)
    assert seen == {(*own[0], *own[1])} | {(*a, *own[1]) for a in first} | {(*own[0], *b) for b in second}


def enumerated(S: np.ndarray, name: str, objective: str) -> float:
    """The best value of two components of two variables each, from a grid of angles of the first.

    The second is the vector on its support that meets the constraint. The grid is 2.6e-3 apart, so
    that the largest value is too small by at most half of its curvature, below 4, times 1.3e-3 squared.
    """
    angles = np.linspace(0.0, np.pi, 1200, endpoint=False)
    M = S if name == "uncorrelated" else np.eye(len(S))

    def value(V: np.ndarray) -> np.ndarray:
        variance = np.einsum("ai,ij,aj->a", V, S, V)
        if objective != "least_squares":
            return variance
        return np.einsum("ai,ij,aj->a", V, S @ S, V) / variance

    best = -np.inf
    pairs = list(combinations(range(len(S)), 2))
    for first, second in product(pairs, pairs):
        V = np.zeros((len(angles), len(S)))
        V[:, first] = np.column_stack([np.cos(angles), np.sin(angles)])
        a, b = (V @ M)[:, second].T
        lengths = np.hypot(a, b)
        if lengths.min() < 1e-9:  # any second component will do: it is among those of other angles' pairs
            continue
        W = np.zeros_like(V)
        W[:, second] = np.column_stack([-b, a]) / lengths[:, None]
        best = max(best, float((value(V) + value(W)).max()))
    if name == "orthogonal":  # disjoint supports
        for first, second in combinations(pairs, 2):
            if not set(first) & set(second):
                blocks = (S[np.ix_(T, T)] for T in (first, second))
                best = max(best, sum(np.linalg.eigvalsh(block)[-1] for block in blocks))
    return best


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 9), marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_the_search_finds_the_best_of_all_supports(name, objective, seeds):
    for seed in seeds:
        S = draw(5, seed)
        S /= np.trace(S)
        found = constrained(S, (2, 2), CONSTRAINTS[name], OBJECTIVES[objective], "quick")
        assert np.abs(products(S, found.V, name)).max() <= 1e-12
        assert (found.V != 0).sum(axis=0).max() <= 2
        assert found.value == pytest.approx(enumerated(S, name, objective), abs=4e-6)


@pytest.mark.parametrize(
    ("name", "k", "card", "peer", "effort"),
    [
        # msPCA 0.4.1 in R: orthogonal loadings by PEV, uncorrelated scores by the sum of their variances
        ("orthogonal", 3, 5, 59.08, "quick"),
        ("uncorrelated", 3, 5, 55.20, "quick"),
        pytest.param("orthogonal", 4, 6, 69.18, "auto", marks=pytest.mark.slow),
        pytest.param("uncorrelated", 4, 6, 67.72, "auto", marks=pytest.mark.slow),
        pytest.param("orthogonal", 6, 4, 78.69, "auto", marks=pytest.mark.slow),
    ],
)
def test_pitprops_are_not_worse_than_other_programs(name, k, card, peer, effort):
    R = sp.datasets.load_pitprops()
    fit = sp.spca_cov(R, k, card, n_obs=180, constraint=name, effort=effort)
    V = fit.loadings.to_numpy()
    assert np.abs(products(R.to_numpy(), V, name)).max() <= 1e-10
    assert (fit.card <= card).all()  # two supports with one common variable: one of its loadings is zero
    assert 100.0 * fit.measure("pev" if name == "orthogonal" else "adjusted") >= peer
    # loadings are stationary, so that exact loadings from these supports are the same
    again = nearest(
        R.to_numpy(), CONSTRAINTS[name], OBJECTIVES[CONSTRAINTS[name].objectives[0]], [V], fixed=True
    )
    assert np.abs(again) == pytest.approx(np.abs(V), abs=1e-6)


def test_where_the_constraint_costs_nothing():
    """PCA, components of the blocks of a matrix, and disjoint components."""
    S = pd.DataFrame(draw(6, 0))
    values = np.linalg.eigvalsh(S)[::-1]
    for name in CONSTRAINTS:
        dense = sp.spca_cov(S, 3, 6, constraint=name)
        assert dense.measure("pev") == pytest.approx(values[:3].sum() / values.sum(), rel=1e-12)
    blocks = pd.DataFrame(np.zeros((6, 6)))
    blocks.iloc[:3, :3], blocks.iloc[3:, 3:] = draw(3, 1), draw(3, 2)
    first = sorted(np.linalg.eigvalsh(blocks.iloc[part, part])[-1] for part in (slice(0, 3), slice(3, 6)))
    for name in CONSTRAINTS:
        fit = sp.spca_cov(blocks, 2, 3, constraint=name, disjoint=True, effort="quick")
        assert fit.measure("adjusted") * np.trace(blocks) == pytest.approx(sum(first), rel=1e-9)
    free = sp.spca_cov(S, 2, 3, disjoint=True, objective="pev")
    orthogonal = sp.spca_cov(S, 2, 3, disjoint=True, constraint="orthogonal", effort="quick")
    assert orthogonal.measure("pev") == pytest.approx(free.measure("pev"), rel=1e-9)


def test_cardinalities_without_such_scores_are_refused_before_the_search(monkeypatch):
    monkeypatch.setattr("spcastat.search.constrained.constrained", None)
    S = pd.DataFrame(np.full((6, 6), 0.3) + 0.7 * np.eye(6))
    with pytest.raises(ComponentsError, match="3 loadings have 0 free ratios, and 3 pairs of scores"):
        sp.spca_cov(S, 3, 1, constraint="uncorrelated")
    with pytest.raises(ComponentsError, match=r"cards of 1, 2, 3, \.\.\. or more"):
        sp.spca_cov(S, 4, [3, 2, 2, 2], constraint="uncorrelated")


def test_what_the_message_on_cardinalities_advises_works():
    S = pd.DataFrame(draw(6, 3))
    with pytest.warns(ConvergenceWarning, match=r"leaves 0 free numbers .* [\d.]+ % of the total variance"):
        fit = sp.spca_cov(S, 3, [3, 2, 1], constraint="uncorrelated", effort="quick")
    assert np.abs(products(S.to_numpy(), fit.loadings.to_numpy(), "uncorrelated")).max() <= 1e-10
    independent = pd.DataFrame(np.diag([3.0, 2.0, 1.0, 0.5]))  # one variable each is uncorrelated
    fit = sp.spca_cov(independent, 3, 1, constraint="uncorrelated", effort="quick")
    assert fit.card.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("cards", "free"), [([4] * 6, 3), ([3] * 4, 2), ([2] * 3, 0), ([5] * 3, None), ([3] * 2, None)]
)
def test_a_constraint_that_leaves_few_free_numbers_has_a_warning(cards, free):
    """N loadings of k unit vectors have N - k ratios, less one for each pair; at most a quarter is few."""
    constraint, S = CONSTRAINTS["uncorrelated"], draw(8, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        constraint.warn_if_tight(S, tuple(cards), 0.125)
        CONSTRAINTS["orthogonal"].warn_if_tight(S, tuple(cards), 0.125)
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == (free is not None)
    assert all(f"leaves {free} free number" in text and "costs 12.5 % of" in text for text in texts)


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_rough_ascents_end_near_exact_ones(name, objective):
    """Rough ones meet the constraint to 1e-8, and their value is below the exact one by a thousandth here.

    Values at cosines of 1e-8 are above the exact ones by at most some 1e-8, less than what counts as a gain.
    """
    rng = np.random.default_rng(5)
    S = draw(9, 4)
    S /= np.trace(S)
    loadings = ExactLoadings(S, (4, 4, 5), CONSTRAINTS[name], OBJECTIVES[objective])
    places = np.stack([
        np.concatenate([np.sort(rng.choice(9, c, replace=False)) for c in (4, 4, 5)]) for _ in range(8)
    ])  # fmt: skip
    x, rough, _ = loadings.best_loadings(places, rng.standard_normal(places.shape), 200, rough=True)
    exact = loadings.best_loadings(places, x, 200)[1]
    met = np.isfinite(rough)
    assert met.sum() >= 7
    assert (exact[met] >= rough[met] * (1.0 - ROUND_GAIN)).all()
    assert np.median(exact[met] / rough[met]) <= 1.001
    for b in np.flatnonzero(met):
        V = np.zeros((9, 3))
        V[places[b], loadings.owner] = x[b]
        assert np.abs(products(S, V, name)).max() <= ROUGHLY_MET


@pytest.mark.parametrize(("name", "objective"), PROBLEMS)
def test_fits_that_reach_supports_tried_before_end_where_these_did(name, objective):
    """Copies, with components in another order, too, join one course; their settled fit is stored once."""
    S, rng = draw(9, 2), np.random.default_rng(3)
    search = _ConstrainedSearch(S, (4, 4, 4), CONSTRAINTS[name], OBJECTIVES[objective], "auto", None)
    places = np.stack([
        np.concatenate([np.sort(rng.choice(9, 4, replace=False)) for _ in range(3)]) for _ in range(6)
    ])  # fmt: skip
    x = rng.standard_normal(places.shape)
    first = search.settle(places, x)
    assert 1 <= len(first) <= 6
    stored = len(search.values)
    turned = np.roll(np.array(search.places)[first], 4, axis=1)
    again = search.settle(turned, np.roll(np.array(search.x)[first], 4, axis=1))
    assert again.tolist() == first.tolist()
    assert len(search.values) == stored
    result = search.result()
    assert result.fits == 6 + len(first)
    assert result.hits >= 2  # the best, and its copy
    # more exchanges of a fit are followed even so, and end no lower
    best = [int(np.argmax(search.values))]
    further = search.settle(np.array(search.places)[best], np.array(search.x)[best], 50)
    assert max(np.array(search.values)[further]) >= search.values[best[0]] * (1.0 - 1e-12)


def test_a_fit_states_its_constraint_in_print_file_and_text(tmp_path):
    R = sp.datasets.load_pitprops()
    fit = sp.spca_cov(R, 2, 4, n_obs=180, constraint="uncorrelated", effort="quick")
    free = sp.spca_cov(R, 2, 4, n_obs=180, effort="quick")
    share = 100.0 * free.measure("adjusted")
    for text, digits in ((str(fit), 2), (str(fit.summary()), 2), (str(fit.describe()), 1)):
        words = " ".join(text.split())
        assert "uncorrelated scores" in words
        assert f"{share:.{digits}f} %" in words
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)
    assert str(free).count("Constraint") == 0
    proof = fit.certify(joint=True, time_limit=2.0)
    assert proof.table["upper_bound"].iloc[0] >= fit.measure("adjusted")
    with pytest.raises(OptionError, match="fit under a constraint"):
        fit.adopt(proof)


def test_rules_paths_refits_and_draws_keep_the_constraint():
    wine = sp.datasets.load_wine().select_dtypes("number").iloc[:, :8]
    R = wine.corr().to_numpy()
    options = {"scale": True, "effort": "quick"}
    fit = sp.spca(
        wine, 2, 3, constraint="uncorrelated", include={"PC1": ["ash"]}, exclude=["alcohol"], **options
    )
    assert fit.loadings.loc["ash", "PC1"] != 0
    assert np.abs(fit.scores.corr().to_numpy() - np.eye(2)).max() <= 1e-10
    assert fit.refit(card=4).card.tolist() == [4, 4]
    path = sp.spca_path(pd.DataFrame(R), 2, cards=[2, 3, 4], constraint="orthogonal", effort="quick")
    shares = [path[card].measure("pev") for card in (2, 3, 4)]
    assert (np.diff(shares) >= 0).all()
    assert all(
        np.abs(products(R, path[card].loadings.to_numpy(), "orthogonal")).max() <= 1e-10 for card in (2, 4)
    )
    # three components of one variable cannot be uncorrelated: 0 ratios are free, and there are 3 pairs
    with pytest.warns(ConvergenceWarning, match=r"card=\[2, 2, 2\] leaves 0 free numbers"):
        by_default = sp.spca_path(wine, 3, constraint="uncorrelated", **options)
    assert list(by_default) == [2, 3, 4, 5, 6, 7, 8]
    for card in by_default:
        assert np.abs(by_default[card].scores.corr().to_numpy() - np.eye(3)).max() <= 1e-10
    solver = Joint(card=(3, 3), constraint="uncorrelated")
    other = draw(8, 5)
    for fixed in (False, True):
        (V,) = solver.nearby_optima([Gram(other)], [[fit.loadings.to_numpy()]], fixed=fixed)
        assert np.abs(products(other, V, "uncorrelated")).max() <= 1e-10
        if fixed:
            assert ((V != 0) <= (fit.loadings.to_numpy() != 0)).all()


def test_the_estimator_and_the_command(tmp_path, capsys):
    wine = sp.datasets.load_wine().select_dtypes("number").iloc[:, :6]
    wine.to_csv(tmp_path / "rows.csv", index=False)
    call = ["fit", str(tmp_path / "rows.csv"), "--k", "2", "--card", "3", "--scale", "--effort", "quick"]
    assert main([*call, "--constraint", "orthogonal"]) == 0
    assert "orthogonal loadings" in capsys.readouterr().out
    pytest.importorskip("sklearn")
    from spcastat.sklearn import SparsePCA

    model = SparsePCA(2, card=3, scale=True, constraint="orthogonal", effort="quick").fit(wine)
    assert np.abs(model.components_ @ model.components_.T - np.eye(2)).max() <= 1e-10


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"card": 3, "objective": "pev"}, OptionError, "it needs objective='adjusted' or"),
        ({"variance": 0.8}, OptionError, "without card="),
        ({}, OptionError, "without card="),
        ({"card": 2, "together": {"a": [0, 1]}}, OptionError, "with together="),
        ({"card": 3, "order": "best"}, OptionError, "leave order out"),
        ({"card": 3, "method": "greedy"}, UnknownOptionError, "methods that have it: 'joint'"),
        ({"card": 3, "constraint": "none"}, OptionError, "allowed values are 'uncorrelated', 'orthogonal'"),
    ],
)
def test_what_does_not_go_with_a_constraint_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        sp.spca_cov(pd.DataFrame(draw(5, 0)), 2, **{"constraint": "uncorrelated", **options})


@pytest.mark.parametrize("name", list(CONSTRAINTS))
def test_choose_finds_planted_supports_under_a_constraint(name):
    """Two factors of 4 and 3 of 8 variables: loadings on them meet both constraints.

    The covariance matrix of the 200 rows is exactly that of the factors, so the constraint costs nothing.
    """
    L = np.zeros((8, 2))
    L[:4, 0] = L[4:7, 1] = 0.8
    Z = np.random.default_rng(2).standard_normal((200, 10))
    Z = np.linalg.qr(Z - Z.mean(axis=0))[0]
    X = Z[:, :2] @ L.T + 0.6 * Z[:, 2:]
    choice = sp.choose(X, 2, scale=True, constraint=name, rng=0)
    V = choice.fit.loadings.to_numpy()
    assert ((V != 0) == (L != 0)).all()
    S = np.corrcoef(X, rowvar=False)
    assert np.abs(products(S, V, name)).max() < 1e-10
    call = sp.spca(X, 2, card=choice.card, scale=True, constraint=name)
    assert np.array_equal(V, call.loadings.to_numpy())
    calls = [*choice.table.loc[choice.alternatives.index, "call"], str(choice.fit.call)]
    assert all(f"constraint='{name}'" in text for text in calls)
    # the smallest candidates are those that always have uncorrelated scores
    smallest = [min(card) if isinstance(card, tuple) else card for card in choice.table["card"]]
    assert min(smallest) == (2 if name == "uncorrelated" else 1)


def test_what_choose_cannot_compare_under_a_constraint_is_refused():
    S = pd.DataFrame(draw(5, 0))
    with pytest.raises(OptionError, match="constraint=, for which partitions are not compared"):
        sp.choose(S, 2, constraint="orthogonal", family="partition", n_obs=50)
    with pytest.raises(ComponentsError, match=r"no such components .* give larger cards or fewer components"):
        sp.choose(S, 3, constraint="uncorrelated", cards=[1], n_obs=50)
    with pytest.raises(OptionError, match="with together="):
        sp.choose(S, 2, constraint="orthogonal", together={"a": [0, 1]}, n_obs=50)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_rules_that_leave_too_few_variables_are_refused_before_the_search(name):
    """By enumeration: k independent vectors need k different variables, one in the support of each."""
    rng, seen = np.random.default_rng(0), set()
    S = pd.DataFrame(draw(4, 0)).set_axis([*"abcd"]).set_axis([*"abcd"], axis=1)
    for _ in range(30):
        k = int(rng.integers(2, 4))
        include = {f"PC{i + 1}": [v for v in "abcd" if rng.random() < 0.4] for i in range(k)}
        cards = [max(1, len(names)) for names in include.values()]
        supports = [names or [*"abcd"] for names in include.values()]
        possible = any(len({*variables}) == k for variables in product(*supports))
        options = {"include": include, "constraint": name, "effort": "quick"}
        seen.add(possible)
        if not possible:
            with pytest.raises(OptionError, match="their loadings depend on each other"):
                sp.spca_cov(S, k, cards, **options)
    assert seen == {True, False}
    for possible in ({"PC1": ["a"]}, {"PC1": ["a"], "PC2": ["b"]}):  # what the message advises
        assert sp.spca_cov(S, 2, 2, include=possible, constraint=name, effort="quick").k == 2
