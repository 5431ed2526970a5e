"""The default search and its parts: enumeration, published figures, invariances, odd data."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize

import spcastat as sp
from spcastat.linalg.operators import Gram
from spcastat.linalg.standardisation import prepare
from spcastat.measures import MEASURES
from spcastat.search import chains as pool
from spcastat.search import joint_search, matrices, working_set
from spcastat.search.chains import Evidence, SearchResult, from_directions, result_of_climbs
from spcastat.search.climbing import EFFORTS
from spcastat.search.joint_search import joint, nearby_optima
from spcastat.search.matrices import Dense, Identity, Products, whitening
from spcastat.search.moves import rebuild, refined
from spcastat.search.objectives import OBJECTIVES
from tests.search.conftest import KINDS, best_swap, covariance, draw, explained

# --- The default search ---------------------------------------------------------------------------

OTHERS = [name for name in OBJECTIVES if name != "adjusted"]


def value(S: np.ndarray, V: np.ndarray, name: str) -> float:
    """The objectives by their definitions, in NumPy's own factorisations."""
    if name == "adjusted":
        root = np.linalg.cholesky(S).T
        return float((np.diag(np.linalg.qr(root @ V)[1]) ** 2 / (V**2).sum(axis=0)).sum() / np.trace(S))
    M, T = (np.eye(len(S)), S) if name == "pev" else (S, S @ S)
    return float(np.trace(np.linalg.pinv(V.T @ M @ V) @ (V.T @ T @ V)) / np.trace(S))


def fitted(S: np.ndarray, supports: tuple, name: str, rng: np.random.Generator, starts: int = 2) -> float:
    """The best that a general optimiser finds on given supports."""
    mask = np.zeros((len(S), len(supports)), dtype=bool)
    for j, J in enumerate(supports):
        mask[list(J), j] = True

    def loss(x: np.ndarray) -> float:
        V = np.zeros(mask.shape)
        V[mask] = x
        return -value(S, V / np.linalg.norm(V, axis=0), name)

    return max(
        -minimize(loss, rng.standard_normal(mask.sum()), method="BFGS", options={"gtol": 1e-6}).fun
        for _ in range(starts)
    )


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(
    ("p", "cards"), [(4, (2, 2)), (4, (3, 1)), pytest.param(5, (3, 2), marks=pytest.mark.slow)]
)
def test_two_components_are_the_best_of_all_supports(name, p, cards):
    S = draw(p, 4)
    rng = np.random.default_rng(0)
    every = product(*(combinations(range(p), c) for c in cards))
    best = max(fitted(S, pair, name, rng, 1) for pair in every)
    found = joint(Gram(S), 2, cards, name)
    # the optimiser stops at slopes of 1e-6; it may miss the best on a support, but never exceed it
    assert found.value >= best - 1e-7
    assert found.value == pytest.approx(value(S, found.V, name), abs=1e-9)


@pytest.mark.parametrize("effort", EFFORTS)
def test_least_squares_of_one_component_is_the_best_of_all_supports(effort):
    for seed in range(4):
        S = draw(7, seed)
        best = max(
            eigh((S @ S)[np.ix_(J, J)], S[np.ix_(J, J)])[0][-1] for J in map(list, combinations(range(7), 3))
        )
        assert joint(Gram(S), 1, (3,), "least_squares", effort).value == pytest.approx(
            best / np.trace(S), rel=1e-8
        )


def test_least_squares_of_pitprops(R):
    # enumeration of all 286 supports of three variables: 31.02 percent; that of largest variance has 28.07
    assert 100 * joint(Gram(R.to_numpy()), 1, (3,), "least_squares").value == pytest.approx(31.02, abs=0.005)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("card", "seed"), [((6, 5, 4), 0), ((6, 5, 4), 1), ((6, 5, 4), 3), ((5, 4, 6), 0), ((4, 5, 6), 0)]
)
def test_pev_does_not_depend_on_the_order_of_the_cardinalities(R, card, seed):
    # the best of 128 searches in all orders of 6, 5, 4; climbs from single starts end there in 1 of 50 cases
    found = joint(Gram(R.to_numpy()), 3, card, "pev", rng=np.random.default_rng(seed))
    assert found.value == pytest.approx(0.6118045, abs=5e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_change_nothing(R, name, scale):
    S = R.to_numpy()
    one, other = joint(Gram(S), 3, (4,) * 3, name), joint(Gram(scale * S), 3, (4,) * 3, name)
    order = np.argmax(np.abs(one.V.T @ other.V), axis=1)  # PEV and least squares know of no order
    assert ((one.V != 0) == (other.V[:, order] != 0)).all()
    np.testing.assert_allclose(np.abs(one.V), np.abs(other.V[:, order]), atol=1e-6)
    assert one.value == pytest.approx(other.value, rel=1e-9)


@pytest.mark.parametrize("name", ["adjusted", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)])
def test_settled_means_that_no_exchange_improves(name):
    S = draw(8, 6)
    found = joint(Gram(S), 2, (3, 2), name)
    assert found.settled
    supports = [tuple(np.flatnonzero(v)) for v in found.V.T]
    rng = np.random.default_rng(3)
    for i, J in enumerate(supports):
        for out, new in product(J, set(range(8)) - set(J)):
            trial = list(supports)
            trial[i] = tuple(sorted(set(J) - {out} | {new}))
            assert fitted(S, tuple(trial), name, rng, 1) <= found.value + 1e-7


def test_no_order_of_components_is_better_for_adjusted_variance(R):
    from itertools import permutations

    op = Gram(R.to_numpy())
    found = joint(op, 4, (5,) * 4)
    best = max(MEASURES["adjusted"](found.V[:, order], op)[-1] for order in permutations(range(4)))
    assert found.value == pytest.approx(best, rel=1e-9)


def awkward() -> dict[str, tuple[np.ndarray, int, tuple[int, ...], float]]:
    """Name -> covariance matrix, k, cardinalities, and the largest share that k components can have."""
    ones = np.ones((6, 6))
    block = np.kron(np.diag([3.0, 2.0, 1.0]), np.ones((2, 2)))
    rng = np.random.default_rng(0)
    thin = np.cov(rng.standard_normal((4, 8)), rowvar=False)
    twice = np.kron(draw(4, 1), np.ones((2, 2)))
    return {
        "identity": (np.eye(6), 3, (2, 2, 2), 0.5),
        "rank one": (ones, 1, (3,), 1.0),
        "duplicates in blocks": (block, 3, (2, 2, 2), 1.0),
        "all of the rank": (thin, 3, (8, 8, 8), 1.0),
        "every variable twice": (twice, 4, (8, 8, 8, 8), 1.0),
    }


@pytest.mark.parametrize("case", awkward())
@pytest.mark.parametrize("name", OBJECTIVES)
def test_singular_data(case, name):
    S, k, cards, share = awkward()[case]
    found = joint(Gram(S), k, cards, name)
    assert np.isfinite(found.V).all()
    np.testing.assert_allclose(np.linalg.norm(found.V, axis=0), 1.0)
    assert (np.count_nonzero(found.V, axis=0) <= cards).all()
    if case == "rank one" and name != "least_squares":
        share = 0.5  # three of six variables with one factor: half its variance
    assert found.value == pytest.approx(share, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTIVES)
def test_more_components_than_rank_do_no_harm(name):
    S = np.cov(np.random.default_rng(1).standard_normal((3, 6)), rowvar=False)  # rank 2
    found = joint(Gram(S), 4, (3,) * 4, name)
    assert np.isfinite(found.V).all()
    assert found.value <= 1.0 + 1e-9


@pytest.mark.parametrize("name", OBJECTIVES)
def test_full_cardinality_is_pca(name):
    S = draw(6, 2)
    share = np.linalg.eigvalsh(S)[-2:].sum() / np.trace(S)
    assert joint(Gram(S), 2, (6, 6), name).value == pytest.approx(share, rel=1e-8)


def test_one_component_is_the_largest_sparse_eigenvalue(R):
    S = R.to_numpy()
    # largest eigenvalue on 5 variables of pitprops: Moghaddam et al. (2006) and later exact methods
    found = joint(Gram(S), 1, (5,))
    assert 13 * found.value == pytest.approx(3.406155, abs=5e-7)
    assert (found.V == joint(Gram(S), 1, (5,), "pev").V).all()


def test_a_search_for_one_component_ends_at_a_support_that_no_exchange_improves():
    values = {"quick": [], "auto": []}
    for seed in range(12):
        S = np.cov(np.random.default_rng(seed).standard_normal((30, 40)), rowvar=False)
        for effort, found in values.items():
            V = joint(Gram(S), 1, (6,), effort=effort).V[:, 0]
            J, others = np.flatnonzero(V), np.flatnonzero(V == 0)
            exchanged = [np.append(np.delete(J, a), j) for a in range(6) for j in others]
            best = max(np.linalg.eigvalsh(S[np.ix_(K, K)])[-1] for K in exchanged)
            assert best <= V @ S @ V * (1 + 1e-10)  # eigenvalues are exact to about 1e-15
            found.append(V @ S @ V)
    quick, auto = np.array(list(values.values()))
    assert (quick <= auto * (1 + 1e-10)).all()


def operator(X: np.ndarray):
    return prepare(X, None, True, False, pd.Index([f"v{i}" for i in range(X.shape[1])]))[1]


@pytest.mark.parametrize("name", ["adjusted", "pev", pytest.param("least_squares", marks=pytest.mark.slow)])
def test_wide_data_find_planted_supports(name):
    found, V = planted_and_found(name)
    assert found.variables is not None
    assert found.sufficient
    assert found.settled
    if name != "least_squares":  # which predicts other variables by chance with 60 rows
        assert {tuple(np.flatnonzero(v)) for v in found.V.T} == {tuple(np.flatnonzero(v)) for v in V.T}


def planted_and_found(name):
    rng = np.random.default_rng(6)
    p, k, c = 1100, 3, 6
    V = np.zeros((p, k))
    for j in range(k):
        V[rng.permutation(p)[:c], j] = rng.choice([-1.0, 1.0], c) / np.sqrt(c)
    scores = rng.standard_normal((60, k)) * np.sqrt([60.0, 40.0, 25.0])
    return joint(operator(rng.standard_normal((60, p)) + scores @ V.T), k, (c,) * k, name), V


@pytest.mark.parametrize("kind", KINDS)
def test_pev_of_many_variables_has_no_better_swap(kind, monkeypatch):
    # Every swap of one variable for any of the 60 is valued by projection, independently of the package.
    limits = (
        (joint_search, "GRAM_LIMIT", 30),
        (working_set, "SEARCHED_WHOLE", 30),
        (working_set, "WORKING_SET", 20),
    )
    for module, name, value in limits:
        monkeypatch.setattr(module, name, value)
    S = covariance(kind, 60, np.random.default_rng(4))
    found = joint(Gram(S), 2, (6, 5), "pev")
    assert found.sufficient
    assert found.settled
    assert found.variables < 60
    assert best_swap(S, found.V, [np.flatnonzero(v) for v in found.V.T]) < 1e-7
    assert found.value == pytest.approx(explained(S, found.V) / np.trace(S), rel=1e-10)


def test_more_effort_is_not_worse_and_reports_its_optima(R):
    op = Gram(R.to_numpy())
    found = {effort: joint(op, 3, (4,) * 3, effort=effort) for effort in EFFORTS}
    assert found["quick"].value <= found["auto"].value + 1e-9
    assert found["auto"].value <= found["thorough"].value + 1e-9
    for one in found.values():
        assert isinstance(one, SearchResult)
        assert one.hits == one.optima[0][1] <= one.starts == sum(hits for _, hits in one.optima)
        assert 1 <= one.agreeing <= one.chains
        assert 0 <= one.unseen <= 1
    assert found["quick"].settled is None


def test_good_turing():
    evidence = Evidence([0.5, 0.5, 0.4, 0.3])
    assert evidence.unseen() == 0.5
    assert evidence.table() == [(0.5, 2), (0.4, 1), (0.3, 1)]


def test_many_components_are_found_one_after_another_with_the_largest_variance_that_is_left():
    # card = p of diagonal data: the components are the axes, and their variances add up to those of PCA
    variances = np.arange(70.0, 0.0, -1.0)
    found = joint(Gram(np.diag(variances)), 65, (3,) * 65)
    assert found.value == pytest.approx(variances[:65].sum() / variances.sum(), rel=1e-12)
    assert found.settled is None


# --- The parts of the default search: matrices, starts, rebuilt components and nearby fits --------


def gram(p=12, seed=3):
    return Gram(draw(p, seed))


# --- matrices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 2, 5])
@pytest.mark.parametrize("long", [2, 100])
def test_products_with_sparse_columns_are_those_with_dense_ones(c, long, monkeypatch):
    """Blocks are gathered at once, or one by one from 2 rows on."""
    monkeypatch.setattr(matrices, "LONG_ROWS", long)
    S = np.stack([draw(9, seed) for seed in range(3)])
    rng = np.random.default_rng(0)
    places = np.stack([np.sort(rng.permutation(9)[:c]) for _ in range(7)])
    x = rng.standard_normal(places.shape)
    which = np.array([2, 0, 1, 1, 0, 2, 0])
    V = np.zeros((7, 9))
    np.put_along_axis(V, places, x, axis=1)
    op = Gram(S[0])
    cases = [
        (Dense(S[0]), np.repeat(S[:1], 7, axis=0)),
        (Dense(S).of(which), S[which]),
        (Identity(9), np.repeat(np.eye(9)[None], 7, axis=0)),
        (Products(op), np.repeat(S[:1] / op.total, 7, axis=0)),
        (Products(op, 2), np.repeat(S[:1] @ S[:1] / op.total**2, 7, axis=0)),
    ]
    columns = np.stack([rng.permutation(9)[:4] for _ in range(7)])
    for M, dense in cases:
        np.testing.assert_allclose(M.products(places, x), (V[:, None] @ dense)[:, 0], atol=1e-12)
        np.testing.assert_allclose(
            M.forms(places, x), (V[:, None] @ dense @ V[:, :, None])[:, 0, 0], atol=1e-12
        )
        np.testing.assert_allclose(
            np.broadcast_to(M.diagonal(), (7, 9)), np.einsum("bii->bi", dense), atol=1e-12
        )
        np.testing.assert_allclose(
            M.entries(columns), [dense[b, J, J] for b, J in enumerate(columns)], atol=1e-12
        )
        for first, second in ((places, columns), (columns, places), (places, places)):
            expected = [dense[b][np.ix_(first[b], second[b])] for b in range(7)]
            np.testing.assert_allclose(M.blocks(first, second), expected, atol=1e-12)


def test_a_matrix_is_whitened_up_to_a_ridge():
    """1e-9 on the diagonal of its correlations: their eigenvalues, by themselves and the ridge, stay."""
    S = draw(6, 1)
    size = np.sqrt(np.diag(S))
    values = np.linalg.eigvalsh(S / np.outer(size, size))
    K = whitening(S[None])[0]
    found = np.linalg.eigvalsh(K @ S @ K.T)
    assert (found < 1.0).all()
    np.testing.assert_allclose(np.sort(1.0 - found), np.sort(1e-9 / (values + 1e-9)), rtol=1e-4)


def test_a_matrix_that_rounding_made_indefinite_is_whitened():
    B = np.ones((3, 3))
    B[0, 1:] = B[1:, 0] = 1.0 + 1e-8  # the cosine of no angle
    B *= np.outer([2.0, 3.0, 5.0], [2.0, 3.0, 5.0])
    assert np.linalg.eigvalsh(B)[0] < 0.0
    K = whitening(B[None])[0]
    assert np.linalg.eigvalsh(K @ B @ K.T)[-1] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_criteria_by_products_are_those_of_the_matrix(objective):
    op = gram()
    V = op.leading(3)[1]
    one = OBJECTIVES[objective].criterion.of_operator(op, (4, 2, 3))
    other = OBJECTIVES[objective].criterion.of_matrix(op.S / op.total, (4, 2, 3))
    fits = [from_directions(criterion, [V, V[::-1]]) for criterion in (one, other)]
    np.testing.assert_allclose(fits[0].value, fits[1].value, rtol=1e-9)
    for i in range(3):
        np.testing.assert_allclose(one.pull(fits[0], i)[0], other.pull(fits[1], i)[0], atol=1e-12)


@pytest.mark.parametrize("card", [1, 3, 4, 12])
def test_one_component_is_one_search_over_one_support(card):
    op = gram(12)
    found = joint_search.joint(op, 1, (card,), "pev")
    best = max(np.linalg.eigvalsh(op.S[np.ix_(J, J)])[-1] for J in combinations(range(12), card))
    assert found.value == pytest.approx(best / op.total, rel=1e-9)
    assert found.optima == ((found.value, 1),)
    assert (found.starts, found.hits, found.chains, found.agreeing, found.unseen) == (1, 1, 1, 1, 0.0)
    assert found.proven or card in (3, 4)


def test_a_component_of_up_to_two_hundred_variables_may_be_proven():
    for p, proven in ((50, True), (201, False)):
        op = Gram(np.diag(np.arange(p, 0.0, -1.0)))
        assert joint_search.joint(op, 1, (3,), "pev").proven is proven


# --- starts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_greedy_fits_of_many_variables_start_from_those_of_largest_variance(seed):
    """Of 400 variables three have a larger variance and go together; few random rows would miss them."""
    S = np.eye(400)
    S[:3, :3] = 1.8 + 0.2 * np.eye(3)
    criterion = OBJECTIVES["pev"].criterion.of_matrix(S / np.trace(S), (3,))
    found = pool.greedy(criterion, 1, np.random.default_rng(seed), plain=True)
    assert found.places.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_rebuilt_component_has_the_best_loadings_on_its_support(objective):
    """The leading generalised eigenvalue; and the second best component is not better than the best."""
    op = gram()
    criterion = OBJECTIVES[objective].criterion.of_matrix(op.S / op.total, (3, 4))
    fits = from_directions(criterion, [op.leading(2)[1]] * 5)
    criterion.empty(fits, np.tile(np.arange(criterion.k) == 1, (len(fits), 1)))
    model = criterion.model_given_others(fits)
    rebuild(criterion, fits, np.arange(5), 1, np.tile(np.arange(12), (5, 1)), np.array([0, 1, 2, 3, 50]))
    support = fits.places[:, 3:]
    parts = model.bordered(support, support[:, :0])
    for b, v in enumerate(fits.x[:, 3:]):
        M = np.eye(4) if parts.M is None else parts.M[b]
        assert len(set(support[b])) == 4
        # the ridge of 1e-9 that the inner product has as correlations
        assert v @ parts.A[b] @ v / (v @ M @ v) == pytest.approx(eigh(parts.A[b], M)[0][-1], rel=1e-6)
    assert fits.value[0] == pytest.approx(fits.value.max(), rel=1e-9)
    assert (np.diff(fits.value) <= 1e-9).all()


def pairs(correlations: np.ndarray) -> np.ndarray:
    """The covariance matrix of uncorrelated pairs of variables, each pair with a correlation."""
    S = np.eye(2 * len(correlations))
    first = np.arange(0, len(S), 2)
    S[first, first + 1] = S[first + 1, first] = correlations
    return S / len(S)


def on_pairs(S: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Loadings whose supports are some of the pairs, in the order given."""
    V = np.zeros((len(S), len(which)))
    V[2 * which, np.arange(len(which))] = V[2 * which + 1, np.arange(len(which))] = 1.0
    return V


def test_the_last_of_many_components_are_rebuilt_together():
    """Of 12 uncorrelated pairs the eight of largest correlation are best, with variance 1 + r each.

    From a fit whose last four components are others, a perturbation reaches them only by rebuilding four.
    """
    correlations = np.linspace(0.9, 0.1, 12)
    S = pairs(correlations)
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S, (2,) * 8)
    start = from_directions(criterion, [on_pairs(S, np.array([0, 1, 2, 3, 8, 9, 10, 11]))])
    # one in a hundred reaches the best: that none of 1500 does has probability 3e-7
    tried = pool.perturb(criterion, start.subset(np.zeros(1500, dtype=int)), np.random.default_rng(0))
    assert tried.value.max() == pytest.approx((1.0 + correlations[:8]).sum() / 24, rel=1e-9)


def test_components_are_replaced_by_those_of_any_other_variables():
    """Of 75 uncorrelated pairs the best three are known, and the fit has the worst three.

    Exchanges of single variables do not lead from one pair to another.
    """
    correlations = np.random.default_rng(1).permutation(np.linspace(0.1, 0.9, 75))
    order = np.argsort(-correlations)
    S = pairs(correlations)
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S, (2,) * 3)
    start = from_directions(criterion, [on_pairs(S, order[-3:])])
    evidence = Evidence()
    found = pool.with_components_replaced(criterion, start, EFFORTS["auto"], evidence)
    best = (1.0 + correlations[order[:3]]).sum() / 150  # of each pair the variance 1 + r
    assert found.value[0] == pytest.approx(best, rel=1e-9)
    assert max(evidence.values) == pytest.approx(best, rel=1e-9)


# --- parts of fits --------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_nearby_fits_keep_their_supports_if_asked(objective):
    op = gram()
    start = np.roll(np.eye(12)[:, :2], 4, axis=0) + 1e-3 * op.leading(2)[1]
    criterion = OBJECTIVES[objective].criterion.of_matrix(op.S / op.total, (3, 2))
    cut = from_directions(criterion, [start])
    kept, free = (nearby_optima([op], (3, 2), objective, [[start]], fixed)[0] for fixed in (True, False))
    expected = criterion.dense(refined(criterion, cut, 300))[0]
    np.testing.assert_allclose(kept, expected, atol=1e-9)
    assert MEASURES[objective](free, op)[-1] > 1.05 * MEASURES[objective](kept, op)[-1]


def test_chains_that_ended_in_the_best_fit_agree():
    op = gram(8)
    found = joint_search.joint(op, 2, (3, 2), "pev")
    assert found.chains == EFFORTS["auto"].chains
    assert EFFORTS["auto"].agree <= found.agreeing <= found.chains
    criterion = OBJECTIVES["pev"].criterion.of_matrix(op.S / op.total, (3, 2))
    fit = from_directions(criterion, [op.leading(2)[1]])
    evidence = Evidence([0.4, 0.5, 0.4], [0.5, 0.5 * (1 - 0.9e-6), 0.5 * (1 - 1.1e-6)])
    assert result_of_climbs(op, criterion, fit, evidence, "pev", True).agreeing == 2


@pytest.mark.parametrize("seed", range(4))
def test_components_of_one_variable_have_the_largest_pev_and_ties_do_not_depend_on_rounding(seed):
    """PEV is the sum of the k variances, as unit vectors are orthogonal; scaled variables are all equal."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(10, 5)) * [1.0, 3.0, 2.0, 5.0, 4.0], columns=[*"abcde"])
    options = {"objective": "pev", "effort": "quick"}
    fit = sp.spca(X, 3, 1, **options)
    assert fit.measure("pev") == pytest.approx(X.var().nlargest(3).sum() / X.var().sum(), rel=1e-12)
    weights = rng.integers(1, 4, 10)
    repeated = X.loc[np.repeat(X.index, weights)]
    scaled = [
        sp.spca(X, 2, 1, scale=True, **options),
        sp.spca(X.iloc[rng.permutation(10)], 2, 1, scale=True, **options),
        sp.spca(X, 2, 1, scale=True, weights=weights, **options),
        sp.spca(repeated.reset_index(drop=True), 2, 1, scale=True, **options),
        sp.spca_cov(X.corr(), 2, 1, **options),
    ]
    for other in scaled:
        assert other.loadings.to_numpy().argmax(axis=0).tolist() == [0, 1]
    copied = X.assign(b=2.0 * X["a"] + 1.0)  # a copy says nothing more
    assert sp.spca(copied, 2, 1, scale=True, **options).loadings.to_numpy().argmax(axis=0).tolist() == [0, 2]
