"""The criteria of the default search and its exact end: values, slopes, second derivatives."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from operator import mul

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.linalg.operators import Gram, Operator
from spcastat.linalg.standardisation import prepare
from spcastat.measures import MEASURES, adjusted_variances
from spcastat.search import criteria
from spcastat.search.climbing import reordered
from spcastat.search.joint_search import joint
from spcastat.search.matrices import Dense, Spectrum
from spcastat.search.moves import (
    FLAT,
    columns_after,
    exchange_values,
    exchanged_vectors,
    refined,
    stationary,
    steepness,
)
from spcastat.search.objectives import OBJECTIVES
from spcastat.search.penalty import TargetCriterion, VarianceTarget
from tests.search.conftest import KINDS, covariance, draw

# --- The criteria of the default search: values, slopes, and one column beside the others ---------

CARDS = (4, 3, 2)
P = 8


def criterion_of(name: str, S: np.ndarray, cards: tuple[int, ...]):
    """One of the three criteria, or how nearly nine tenths are kept after every component."""
    if name == "promised":
        return TargetCriterion(Dense(S), cards, VarianceTarget(0.9, True, np.linalg.eigvalsh(S)[::-1][:3]))
    return OBJECTIVES[name].criterion.of_matrix(S, cards)


@pytest.fixture(params=[*OBJECTIVES, "promised"])
def problem(request):
    """A criterion, its operator, and a batch of six random fits."""
    S = draw(P, 3)
    S /= np.trace(S)
    criterion = criterion_of(request.param, S, CARDS)
    rng = np.random.default_rng(1)
    places = np.array([np.concatenate([np.sort(rng.permutation(P)[:c]) for c in CARDS]) for _ in range(6)])
    fits = criterion.fits(places, rng.standard_normal(places.shape))
    return request.param, criterion, Gram(S), fits


def test_values_are_those_of_the_measures(problem):
    name, criterion, op, fits = problem
    measure = MEASURES["adjusted" if name == "promised" else name]
    after = np.array([measure(V, op) for V in criterion.dense(fits)])
    expected = (
        criterion.target.attainment(np.diff(after, prepend=0.0)) if name == "promised" else after[:, -1]
    )
    # the ridge of 1e-12 on correlations, times the condition of a few hundred
    np.testing.assert_allclose(fits.value, expected, rtol=1e-8)


def test_gradient_is_the_limit_of_differences(problem):
    _, criterion, _, fits = problem
    M, T = criterion.packed(fits.places)
    x = 1.7 * fits.x
    gradient = criterion.with_gradient(x, M, T)[1]
    direction = np.random.default_rng(0).standard_normal(x.shape)
    step = 1e-6  # central differences: error of order 1e-12 from the step and 1e-10 from rounding
    up = criterion.with_gradient(x + step * direction, M, T)[0]
    down = criterion.with_gradient(x - step * direction, M, T)[0]
    np.testing.assert_allclose((gradient * direction).sum(axis=1), (up - down) / (2 * step), atol=1e-8)


def test_an_ascent_with_products_alone_is_that_with_blocks(problem, monkeypatch):
    _, criterion, _, fits = problem
    monkeypatch.setattr(criteria, "MANY_NONZEROS", 1)
    blocks, products = criterion.packed(fits.places), criterion.for_ascent(fits.places, fits.of)
    assert isinstance(products[0], criteria.OnSupports)
    some = np.array([4, 1])
    expected = criterion.with_gradient(1.7 * fits.x[some], *(A[some] for A in blocks))
    found = criterion.with_gradient(1.7 * fits.x[some], *(A[some] for A in products))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)  # rounding of values up to one


def test_pull_is_half_the_gradient_and_the_present_loadings(problem):
    _, criterion, _, fits = problem
    M, T = criterion.packed(fits.places)
    gradient = criterion.with_gradient(fits.x, M, T)[1]
    for i, part in enumerate(criterion.parts):
        pull, scale = criterion.pull(fits, i)
        own = np.take_along_axis(pull, fits.places[:, part], axis=1) - scale[:, None] * fits.x[:, part]
        np.testing.assert_allclose(own, 0.5 * gradient[:, part], atol=1e-12)


def test_a_replaced_column_has_the_value_of_the_new_fit(problem):
    _, criterion, _, fits = problem
    rng = np.random.default_rng(5)
    for i, card in enumerate(CARDS):
        places = np.sort(np.array([[rng.permutation(P)[:card] for _ in range(4)] for _ in range(6)]), axis=2)
        x = rng.standard_normal(places.shape)
        x /= np.linalg.norm(x, axis=2, keepdims=True)
        values = criterion.values_with(fits, i, places, x)
        new = fits.subset(slice(None))
        criterion.put(new, np.arange(6), i, places[:, 2], x[:, 2])
        afresh = criterion.fits(new.places, new.x)
        np.testing.assert_allclose(values[:, 2], afresh.value, rtol=1e-9)
        np.testing.assert_allclose(new.value, afresh.value, rtol=1e-9)
        np.testing.assert_allclose(new.M_products, afresh.M_products, atol=1e-14)
        np.testing.assert_allclose(new.G, afresh.G, atol=1e-14)


def test_the_model_of_one_column_has_the_value_and_slope_of_the_criterion(problem):
    _, criterion, _, fits = problem
    every = np.arange(P)
    for i, part in enumerate(criterion.parts):
        support = fits.places[:, part]
        rest = np.array([np.setdiff1d(every, one) for one in support])
        model, x = criterion.model(fits, i), fits.x[:, part]
        parts = model.bordered(support, rest)
        c = support.shape[1]
        pull, scale = criterion.pull(fits, i)
        half = np.take_along_axis(pull, np.hstack([support, rest]), axis=1)
        half[:, :c] -= scale[:, None] * x
        Av = np.einsum("bc,bcw->bw", x, parts.A)
        whole = model.products(support[:, None], x[:, None])[:, 0]
        np.testing.assert_allclose(
            np.take_along_axis(whole, np.hstack([support, rest]), axis=1), Av, atol=1e-12
        )
        Mv = np.hstack([x, np.zeros(rest.shape)])
        if parts.M is not None:
            Mv = np.einsum("bc,bcw->bw", x, parts.M)
        length = (Mv[:, :c] * x).sum(axis=1)
        ratio = (Av[:, :c] * x).sum(axis=1) / length
        np.testing.assert_allclose((Av - ratio[:, None] * Mv) / length[:, None], half, atol=1e-10)
        slope = np.take_along_axis(criterion.slope(fits, i, model), rest, axis=1)
        np.testing.assert_allclose(slope, half[:, c:], atol=1e-12)
        if (
            criterion.exact_model
        ):  # PEV and least squares: the value itself is that of the others and the ratio
            without = fits.subset(slice(None))
            criterion.empty(without, np.tile(np.arange(criterion.k) == i, (6, 1)))
            others = criterion.value(without.G, without.N)
            np.testing.assert_allclose(others + ratio, fits.value, rtol=1e-9)


def test_exchange_values_are_lower_bounds_that_tell_which_exchanges_rise(problem):
    from scipy.linalg import eigh

    _, criterion, _, fits = problem
    for b, (i, card) in product(range(6), enumerate(CARDS)):
        one = fits.subset(slice(b, b + 1))
        support = one.places[:, criterion.parts[i]]
        rest = np.setdiff1d(np.arange(P), support[0])[None]
        model = criterion.model(one, i)

        def largest(places, model=model):
            block = model.bordered(places, places[:, :0])
            return eigh(block.A[0], None if block.M is None else block.M[0])[0][-1]

        now = largest(support)
        parts = model.bordered(support, rest)
        table = exchange_values(parts, parts.spectrum())[0]
        for out, (j, new) in product(range(card), enumerate(rest[0])):
            best = largest(np.append(np.delete(support[0], out), new)[None])
            # the ridge of 1e-9 that the inner product has as correlations
            assert table[out, j] <= best * (1.0 + 1e-6)
            tied = best == pytest.approx(now, rel=1e-8)  # the variable that enters adds nothing
            assert tied or (table[out, j] > now) == (best > now)


def large_supports(name: str):
    """Return a criterion with components of 45 of 100 variables, and a batch of three fits."""
    S = draw(100, 3)
    criterion = OBJECTIVES[name].criterion.of_matrix(S / np.trace(S), (45, 45))
    rng = np.random.default_rng(2)
    places = [np.concatenate([np.sort(rng.permutation(100)[:45]) for _ in range(2)]) for _ in range(3)]
    fits = criterion.fits(np.array(places), rng.standard_normal((3, 90)))
    return criterion, refined(criterion, fits, 50)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_vectors_after_exchanges_of_large_supports_are_leading_eigenvectors(name):
    from scipy.linalg import eigh

    criterion, fits = large_supports(name)
    support = fits.places[:, criterion.parts[0]]
    rest = np.array([np.setdiff1d(np.arange(100), one) for one in support])
    parts = criterion.model(fits, 0).bordered(support, rest)
    spectrum = parts.spectrum()
    table = exchange_values(parts, spectrum)
    # the best exchanges, which raise the ratio, and random ones, most of which lower it
    best = np.argsort(-table.reshape(3, -1), axis=1)[:, :10]
    some = np.hstack([best, np.random.default_rng(3).integers(0, 45 * 55, size=(3, 10))])
    leaving, new = np.divmod(some, 55)
    bounds = np.take_along_axis(table.reshape(3, -1), some, axis=1)
    places, x = columns_after(parts, spectrum, support, rest, leaving, new, bounds)
    # those of still larger supports come from the eigenvectors before the exchange, if they are accurate
    others, sound = exchanged_vectors(parts, spectrum, leaving, new, bounds)
    assert sound[:, :10].all()
    model = criterion.model(fits, 0)
    for b, column in product(range(3), range(20)):
        own = places[b, column]
        assert set(own) == {*np.delete(support[b], leaving[b, column]), rest[b, new[b, column]]}
        one = model.bordered(np.repeat(own[None], 3, axis=0), np.zeros((3, 0), dtype=int))
        vector = eigh(one.A[b], None if one.M is None else one.M[b])[1][:, -1]
        # the inner product has a ridge of 1e-9 in terms of correlations
        assert abs(x[b, column] @ vector) / np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-12)
        other = np.append(np.delete(others[b, column, :45], leaving[b, column]), others[b, column, 45])
        cosine = abs(other @ vector) / np.linalg.norm(vector) / np.linalg.norm(other)
        assert not sound[b, column] or cosine == pytest.approx(1.0, abs=1e-12)


def test_few_rows_give_the_products_of_their_covariance_matrix():
    rng = np.random.default_rng(4)
    Y = rng.standard_normal((5, 40))
    M = Y.T @ Y
    places, x = np.array([rng.permutation(40)[:8] for _ in range(3)]), rng.standard_normal((3, 8))
    by_rows, alone = Dense(M, rows=Y), Dense(M)
    # to the rounding errors of sums of 40 products
    np.testing.assert_allclose(by_rows.products(places, x), alone.products(places, x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_rows.forms(places, x), alone.forms(places, x), rtol=1e-12)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("n", "k", "objective"), [(2, 1, "adjusted"), (3, 2, "adjusted"), (3, 2, "least_squares")]
)
def test_as_many_components_as_the_rank_are_searched_with_many_nonzeros(n, k, objective):
    """In rows of normal noise the largest 600 of 1,200 loadings of a row keep .93 of its variance."""
    rows = np.random.default_rng(0).standard_normal((n, 1200))
    fit = sp.spca(rows, k=k, card=600, objective=objective)
    assert set(fit.card) == {600}
    assert 0.7 < fit.measure("pev") <= 1.0


def test_a_wide_fit_with_many_nonzeros_is_a_stationary_point():
    """The gradient on the supports is zero, by central differences, with an error of 1e-6 of the value."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((12, 1200)) * np.linspace(2.0, 1.0, 1200)
    fit = sp.spca(rows, k=2, card=30, effort="quick")
    V = fit.loadings.to_numpy()
    C = np.cov(rows.T)

    def value(V):
        return sum(adjusted_variances(V / np.linalg.norm(V, axis=0), Gram(C, 11)))

    for i, j in product(np.flatnonzero(V[:, 0])[:5], range(2)):
        step = np.zeros(V.shape)
        step[i, j] = 1e-5 * (V[i, j] != 0)
        assert (value(V + step) - value(V - step)) / 2e-5 == pytest.approx(0.0, abs=1e-5 * value(V))


def test_a_large_support_in_data_of_few_rows_needs_no_eigenvectors_of_zero():
    """Bounds and vectors after exchanges are those of all 510 eigenvectors, by LAPACK."""
    from scipy.linalg import eigh

    X = np.random.default_rng(7).standard_normal((20, 530))
    S = X.T @ X
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S / np.trace(S), (510, 510))
    rng = np.random.default_rng(8)
    places = [np.concatenate([np.sort(rng.permutation(530)[:510]) for _ in range(2)]) for _ in range(2)]
    fits = refined(criterion, criterion.fits(np.array(places), rng.standard_normal((2, 1020))), 20)
    support = fits.places[:, criterion.parts[0]]
    rest = np.array([np.setdiff1d(np.arange(530), one) for one in support])
    model = criterion.model(fits, 0)
    parts = model.bordered(support, rest)
    spectrum, whole = parts.spectrum(), Spectrum(*np.linalg.eigh(parts.A[:, :, :510]))
    # the other components make one eigenvalue negative; one zero stands for 490
    told_apart = whole.values[:, np.r_[0, 1, 491:510]]
    np.testing.assert_allclose(spectrum.values, told_apart, atol=1e-12 * told_apart.max())
    table = exchange_values(parts, spectrum)
    np.testing.assert_allclose(table, exchange_values(parts, whole), rtol=1e-9)
    best = np.argsort(-table.reshape(2, -1), axis=1)[:, :3]
    leaving, new = np.divmod(np.hstack([best, rng.integers(0, 510 * 20, size=(2, 3))]), 20)
    bounds = table[np.arange(2)[:, None], leaving, new]
    vectors, sound = exchanged_vectors(parts, spectrum, leaving, new, bounds)
    assert sound[:, :3].all()
    for b, column in zip(*np.nonzero(sound), strict=True):
        exchanged = np.append(np.delete(support[b], leaving[b, column]), rest[b, new[b, column]])
        at = np.append(np.delete(np.arange(510), leaving[b, column]), 510 + new[b, column])
        F = model.M_products[b][:, exchanged]
        block = model.alpha[b] * S[np.ix_(exchanged, exchanged)] / np.trace(S) - F.T @ (model.Z[b] @ F)
        vector = eigh(block)[1][:, -1]
        found = np.append(vectors[b, column, at[:-1]], vectors[b, column, 510])
        # the gap to the second eigenvalue is a few per cent of the largest
        assert abs(found @ vector) / np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)


def test_an_ascent_on_fixed_supports_ends_where_the_slope_is_zero(problem):
    _, criterion, _, fits = problem
    found = refined(criterion, fits, 500)
    assert (found.value >= fits.value).all()
    gradient = criterion.with_gradient(found.x, *criterion.packed(found.places))[1]
    # values agree to 1e-12, and slopes to the root of that
    assert np.abs(gradient).max() < 1e-5


def covariance_with_copies(p: int, rng: np.random.Generator) -> np.ndarray:
    """A covariance matrix with a copy of a variable, and one variable that is a difference of two others."""
    X = rng.standard_normal((3 * p, p)) * rng.uniform(0.3, 3.0, p)
    X[:, 1], X[:, 2] = X[:, 0], 2.0 * X[:, 0] - X[:, 3]
    return X.T @ X


def random_supports(kind: str, p: int, cards: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Supports without a rule, without a common variable, with a common variable, or within one another."""
    order = rng.permutation(p)
    if kind == "disjoint":
        return np.concatenate([np.sort(part) for part in np.split(order, np.cumsum(cards))[:-1]])
    if kind == "nested":
        return np.concatenate([np.sort(order[:c]) for c in cards])
    forced = [0] if kind == "common" else []
    return np.concatenate([
        np.sort([*forced, *rng.permutation(np.arange(len(forced), p))[: c - len(forced)]]) for c in cards
    ]).astype(int)  # fmt: skip


@pytest.mark.parametrize("name", OBJECTIVES)
def test_random_ascents_end_on_flat_ground_or_with_dependent_components(name):
    """An ascent may end on a slope only where components become dependent, so that no loadings are best."""
    rng = np.random.default_rng(11)
    steep = count = 0
    for kind, supports in product((*KINDS, "copies"), ("free", "disjoint", "common", "nested")):
        p, k = int(rng.integers(5, 11)), int(rng.integers(1, 5))
        cards = (p // k,) * k if supports == "disjoint" else tuple(rng.integers(1, p, size=k).tolist())
        S = covariance_with_copies(p, rng) if kind == "copies" else covariance(kind, p, rng)
        criterion = OBJECTIVES[name].criterion.of_matrix(S / np.trace(S), cards)
        places = np.array([random_supports(supports, p, cards, rng) for _ in range(8)])
        fits = criterion.fits(places, rng.standard_normal(places.shape))
        found = refined(criterion, fits, 300)
        assert (found.value >= fits.value).all()
        gradient = np.abs(criterion.with_gradient(found.x, *criterion.packed(places))[1]).max(axis=1)
        assert (steepness(criterion, found)[gradient > 1e-5] > FLAT).all()
        for G in found.G[gradient > 1e-5]:
            size = np.sqrt(np.diag(G))
            # curvature is then a million times larger in some directions than in others
            assert np.linalg.eigvalsh(G / np.outer(size, size))[0] < 1e-3
        steep, count = steep + (gradient > 1e-5).sum(), count + len(places)
    assert count == 128
    assert steep <= 6  # about 2 % of ten thousand ended so


def test_no_two_neighbours_change_places_for_the_better():
    S = draw(P, 9)
    cards = (3, 2, 3, 3, 2, 3, 3, 2, 3)
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S / np.trace(S), cards)
    rng = np.random.default_rng(2)
    places = np.array([np.concatenate([np.sort(rng.permutation(P)[:c]) for c in cards])] * 5)
    fits = criterion.fits(places, rng.standard_normal(places.shape))
    found = reordered(criterion, fits)
    assert (found.value >= fits.value).all()
    op = Gram(S)
    for V, value in zip(criterion.dense(found), found.value, strict=True):
        assert [np.count_nonzero(v) for v in V.T] == list(cards)
        for a in range(8):
            if cards[a] == cards[a + 1]:
                order = [*range(a), a + 1, a, *range(a + 2, 9)]
                assert MEASURES["adjusted"](V[:, order], op)[-1] <= value * (1.0 + 1e-9)


def test_rounding_does_not_add_to_the_least_squares_share():
    """Where variances are 1e16 apart, scores may depend on each other up to rounding; the share is exact."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        X = rng.standard_normal((8, 5)) * 10.0 ** rng.uniform(-8.0, 0.0, size=5)
        S = X.T @ X
        S /= np.trace(S)
        criterion = OBJECTIVES["least_squares"].criterion.of_matrix(S, CARDS)
        places = np.array(
            [np.concatenate([np.sort(rng.permutation(5)[:c]) for c in CARDS]) for _ in range(10)]
        )
        fits = refined(criterion, criterion.fits(places, rng.standard_normal(places.shape)), 40)
        shares = np.array([exact_share(S, V) for V in criterion.dense(fits)])
        assert (fits.value <= shares + 1e-6).all()  # eps / DEPENDENT is 2e-7


def exact_share(S, V):
    """The least-squares share in rational numbers, by the columns of V one after another."""
    A, W = ([[Fraction(x) for x in row] for row in one.tolist()] for one in (S, V.T))
    share = Fraction(0)
    while W:
        score = [sum(map(mul, W[0], row)) for row in A]
        size = sum(map(mul, W[0], score))
        slopes = [sum(map(mul, w, score)) / size for w in W[1:]]
        W = [
            [x - slope * y for x, y in zip(w, W[0], strict=True)]
            for w, slope in zip(W[1:], slopes, strict=True)
        ]
        share += sum(map(mul, score, score)) / size
    return float(share / sum(A[i][i] for i in range(len(A))))


# --- The exact end of the default search ----------------------------------------------------------

NEWTON_P = 9
NEWTON_CARDS = (5, 4, 3)


def slope(S: np.ndarray, V: np.ndarray, name: str) -> np.ndarray:
    """Half the gradient of an objective on the supports, a share of the total, by textbook formulas."""
    if name == "adjusted":
        R = np.linalg.cholesky(V.T @ S @ V).T
        C = np.linalg.solve(R, np.diag(np.diag(R)))
        found = S @ V @ C @ C.T - V * np.diag(R) ** 2
    else:
        M, T = (np.eye(len(S)), S) if name == "pev" else (S, S @ S)
        H = np.linalg.inv(V.T @ M @ V)
        found = (T @ V - M @ V @ H @ V.T @ T @ V) @ H
    return found * (V != 0) / np.trace(S)


@pytest.mark.parametrize("name", [*OBJECTIVES, "promised"])
def test_curvature_is_the_derivative_of_the_slope(name):
    S = draw(NEWTON_P, 3)
    criterion = criterion_of(name, S / np.trace(S), NEWTON_CARDS)
    rng = np.random.default_rng(1)
    places = np.concatenate([np.sort(rng.permutation(NEWTON_P)[:c]) for c in NEWTON_CARDS])[None]
    fit = criterion.fits(places, rng.standard_normal(places.shape))
    M, T = (None if A is None else A[0] for A in criterion.packed(places))
    x = fit.x[0]
    V = x[:, None] * criterion.member
    step = rng.standard_normal(len(x))
    step -= V @ (V.T @ step)
    lengths = np.sqrt(step**2 @ criterion.member)[criterion.owner]
    h = 1e-4  # errors of 1e-8 from the third derivative, and of 1e-12 from rounding

    def along(t: float):
        """The point after a walk of length t on the spheres."""
        return criterion.expansion(x * np.cos(t * lengths) + step / lengths * np.sin(t * lengths), M, T)

    here = along(0.0)
    turned = here.curvature() @ step
    second = (along(h).value - 2 * here.value + along(-h).value) / h**2
    assert second == pytest.approx(2.0 * step @ turned, rel=1e-5)
    change = (along(h).slope - along(-h).slope) / (2 * h)
    across = [a - V @ (V.T @ a) for a in (change, turned)]
    np.testing.assert_allclose(across[0], across[1], atol=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_search_ends_where_the_slope_is_rounding(R, name):
    S = R.to_numpy()
    tried = [((6, 4, 3), "quick"), ((8, 6, 4, 3, 2), "quick"), ((1, 13), "quick"), ((4, 3), "auto")]
    for card, effort in tried:
        found = joint(Gram(S), len(card), card, name, effort)
        # sums of 13 products of numbers up to one, times a condition of up to a hundred
        assert np.linalg.norm(slope(S, found.V, name)) < 1e-13


def forms(X: np.ndarray) -> list[Operator]:
    """The data as rows, as rows in another order, as sparse rows, and as a covariance matrix."""
    names = pd.Index([f"v{i}" for i in range(X.shape[1])])
    shuffled = X[np.random.default_rng(2).permutation(len(X))]
    rows = [prepare(A, None, True, False, names)[1] for A in (X, shuffled, sparse.csr_array(X))]
    return [*rows, Gram(np.cov(X, rowvar=False))]


@pytest.mark.sweep
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("shape", [(60, 12), (20, 30)])
def test_data_in_any_form_give_the_same_loadings(name, shape):
    rng = np.random.default_rng(4)
    X = rng.standard_normal(shape) * rng.uniform(0.5, 2.0, shape[1]) + rng.standard_normal((shape[0], 1))
    X[rng.random(shape) < 0.3] = 0.0
    first, *others = (joint(op, 3, (5, 4, 3), name, "quick").V for op in forms(X))
    for V in others:
        # rounding of 1e-15 in the covariances, times the condition of the optimum
        np.testing.assert_allclose(V, first, atol=1e-12)


def test_wide_rows_end_at_rest():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((40, 1200)) + 2.0 * rng.standard_normal((40, 2)) @ (rng.random((2, 1200)) < 0.02)
    S = np.cov(X, rowvar=False)
    for name in ("adjusted", "pev"):
        V = sp.spca(X, 2, card=15, method="joint", objective=name, effort="quick").loadings.to_numpy()
        assert np.linalg.norm(slope(S, V, name)) < 1e-14


@pytest.mark.parametrize("name", OBJECTIVES)
def test_flat_and_dependent_components_are_left_in_peace(name):
    twice = np.kron(draw(4, 1), np.ones((2, 2)))
    criterion = OBJECTIVES[name].criterion.of_matrix(twice / np.trace(twice), (8, 8, 8))
    flat = joint(Gram(twice), 3, (8, 8, 8), name)
    assert np.isfinite(flat.V).all()
    np.testing.assert_allclose(np.linalg.norm(flat.V, axis=0), 1.0, rtol=1e-14)
    same = np.tile(np.arange(8), 3)[None]
    fit = criterion.fits(same, np.tile(np.linspace(1.0, 2.0, 8), 3)[None])  # one component three times
    assert stationary(criterion, fit) is fit


def test_from_a_saddle_the_way_leads_up():
    # the second eigenvector of the support: at rest, but not the best there
    S = np.diag([3.0, 2.0, 1.0]) / 6.0
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S, (2,))
    fit = criterion.fits(np.array([[0, 1]]), np.array([[1e-3, 1.0]]))
    found = stationary(criterion, fit)
    assert found.value[0] == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("dependent", [False, True])
def test_inverses_leave_out_columns_that_depend_on_earlier_ones(dependent):
    V = np.random.default_rng(0).standard_normal((3, 8, 4))
    if dependent:
        V[1, :, 2] = V[1, :, 0] - 2.0 * V[1, :, 1]
    G = V.mT @ V
    H = criteria.inverse_of_gram(G)
    for number in range(3):
        remaining = [0, 1, 3] if dependent and number == 1 else [0, 1, 2, 3]
        expected = np.zeros((4, 4))
        expected[np.ix_(remaining, remaining)] = np.linalg.inv(G[number][np.ix_(remaining, remaining)])
        # a relative 1e-12 is added to the diagonal
        np.testing.assert_allclose(H[number], expected, rtol=1e-9, atol=1e-10)
