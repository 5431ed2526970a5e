"""The joint search: against every pair of supports, its own start, itself again, and what it refuses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import OptionError, UnknownOptionError

from .conftest import draw

NAMES = ("pev", "adjusted", "least_squares")
#: In `best_pair`, the directions of the first component: so many angles from pole to pole and half around.
ANGLES = (16, 16)


# --- against every pair of supports -----------------------------------------------------------------


def best_pair(name: str, S: np.ndarray) -> float:
    """The largest share of the total variance of a component of 3 nonzeros and one of 2.

    For every pair of supports, and for directions of the first component all over the sphere, the best
    second component is the solution of a quadratic equation; around the best of the directions the grid is
    made finer and finer.
    """
    first = list(combinations(range(len(S)), 3))
    second = list(combinations(range(len(S)), 2))
    t, u = np.meshgrid(
        (np.arange(ANGLES[0]) + 0.37) * np.pi / ANGLES[0],
        (np.arange(ANGLES[1]) + 0.41) * np.pi / ANGLES[1],
        indexing="ij",
    )
    found = []
    for J1 in first:
        values = _with_second(name, S, J1, second, t.ravel(), u.ravel())
        best = values.argmax(axis=1)
        found += [
            (values[j, best[j]], J1, J2, t.flat[best[j]], u.flat[best[j]]) for j, J2 in enumerate(second)
        ]
    found.sort(key=lambda one: -one[0])
    return max(_zoomed(name, S, *one[1:]) for one in found[:4])


def _zoomed(name: str, S: np.ndarray, J1: tuple, J2: tuple, t: float, u: float) -> float:
    width = np.pi / ANGLES[0]
    offsets = np.linspace(-1.0, 1.0, 9)
    highest = -np.inf
    for _ in range(25):
        T, U = np.meshgrid(t + width * offsets, u + width * offsets, indexing="ij")
        values = _with_second(name, S, J1, [J2], T.ravel(), U.ravel())[0]
        best = int(values.argmax())
        highest = max(highest, values[best])
        t, u, width = T.flat[best], U.flat[best], 0.5 * width
    return float(highest)


def _with_second(name: str, S: np.ndarray, J1: tuple, J2s: list, t: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Shares for each J2 and each direction (angles t, u) on J1, the second component being the best."""
    v = np.zeros((len(S), t.size))
    v[list(J1)] = np.sin(t) * np.cos(u), np.sin(t) * np.sin(u), np.cos(t)
    a, b = np.array(J2s).T
    Sv = S @ v
    score = (v * Sv).sum(axis=0)
    if name == "pev":
        own = score
        A = S[:, :, None] - v[:, None] * Sv[None] - Sv[:, None] * v[None] + score * v[:, None] * v[None]
        B = np.eye(len(S))[:, :, None] - v[:, None] * v[None]
    elif name == "least_squares":
        T, z = S @ S, Sv / np.sqrt(score)
        Tv = T @ v / np.sqrt(score)
        own = (v * (T @ v)).sum(axis=0) / score
        A = T[:, :, None] - z[:, None] * Tv[None] - Tv[:, None] * z[None] + own * z[:, None] * z[None]
        B = S[:, :, None] - z[:, None] * z[None]
    else:
        own = score
        A = S[:, :, None] - Sv[:, None] * Sv[None] / score
        B = np.broadcast_to(np.eye(len(S))[:, :, None], A.shape)
    size = B[a, a] * B[b, b] - B[a, b] ** 2
    half = 0.5 * (A[a, a] * B[b, b] + A[b, b] * B[a, a] - 2.0 * A[a, b] * B[a, b])
    root = np.sqrt(np.maximum(half**2 - size * (A[a, a] * A[b, b] - A[a, b] ** 2), 0.0))
    sound = size > 1e-6 * B[a, a] * B[b, b]
    return np.where(sound, (own + (half + root) / np.where(sound, size, 1.0)) / np.trace(S), -np.inf)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_pair_of_supports(name):
    reached = []
    for seed in range(10):
        S = draw(6, seed)
        best = best_pair(name, S)
        fit = sp.spca_cov(S, 2, card=(3, 2), objective=name, search="joint", order="given", patience=30)
        assert tuple(fit.card) == (3, 2)
        assert fit.measure(name) <= best + 1e-9
        reached.append(fit.measure(name) >= best - 1e-7)
    assert sum(reached) >= 9


@pytest.mark.parametrize("name", NAMES)
def test_one_component_against_every_support(name):
    for seed in range(6):
        S = draw(10, seed)
        if seed % 2:
            scale = np.sqrt(np.diag(S))
            S = S / np.outer(scale, scale)
        for card in (2, 4, 7):
            J = np.array(list(combinations(range(10), card)))
            best = np.linalg.eigvalsh(S[J[:, :, None], J[:, None, :]])[:, -1].max()
            fit = sp.spca_cov(S, 1, card=card, search="joint", objective=name)
            assert fit.variance["score variance"].iloc[0] == pytest.approx(best, rel=1e-9)
            assert fit.card.iloc[0] == card


# --- against its start, and against itself ------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("card", [(4, 3, 2), 3, (1, 1, 1), (8, 1, 5)])
def test_never_worse_than_its_start(name, card):
    for seed in range(2):
        S = draw(9, seed)
        start = sp.spca_cov(S, 3, card=card, objective=name, order="given", n_init=1 + 3 * seed, rng=seed)
        joint = sp.spca_cov(
            S,
            3,
            card=card,
            objective=name,
            order="given",
            n_init=1 + 3 * seed,
            rng=seed,
            search="joint",
            patience=3,
        )
        assert joint.measure(name) >= start.measure(name) - 1e-12
        assert joint.card.tolist() == ([card] * 3 if isinstance(card, int) else list(card))
        assert joint.status == "searched"
        assert joint.objective_value / joint.total_variance == pytest.approx(joint.measure(name), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name):
    S = draw(12, 5)
    card = (5, 3, 4)
    one, two = (
        sp.spca_cov(S, 3, card=card, search="joint", objective=name, rng=3, patience=5) for _ in range(2)
    )
    assert one.loadings.to_numpy().tobytes() == two.loadings.to_numpy().tobytes()
    assert one.optima.equals(two.optima)
    assert one.card.tolist() == list(card)


def test_a_covariance_without_full_rank():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5, 8))
    X[:, 3] = X[:, 2]
    S = np.cov(X, rowvar=False)
    for name in NAMES:
        fit = sp.spca_cov(S, 3, card=3, search="joint", objective=name, patience=2)
        assert fit.card.tolist() == [3, 3, 3]
        assert fit.measure(name) <= fit.variance["cumulative PCA"].iloc[-1] + 1e-9


def test_rows_and_their_covariance_give_the_same():
    X = np.random.default_rng(2).standard_normal((40, 8)) * np.arange(1, 9)
    options = {"card": (3, 3), "search": "joint", "patience": 10}
    rows = sp.spca(X, 2, **options)
    matrix = sp.spca_cov(np.cov(X, rowvar=False), 2, **options)
    assert rows.measure("pev") == pytest.approx(matrix.measure("pev"), rel=1e-9)


# --- the optima ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_optima_of_several_starts(R, name):
    fit = sp.spca_cov(R, 6, card=(7, 4, 4, 1, 1, 1), n_init=12, objective=name)
    table = fit.optima
    assert list(table.columns) == ["objective", "hits"]
    assert table["hits"].sum() == 12
    assert (np.diff(table["objective"]) < 0).all()
    assert (table["hits"] > 0).all()
    assert table["objective"].iloc[0] == pytest.approx(fit.measure(name), abs=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_optima_of_a_joint_search(R, name):
    fit = sp.spca_cov(R, 3, card=(4, 3, 2), search="joint", objective=name, patience=8)
    table = fit.optima
    assert (np.diff(table["objective"]) < 0).all()
    assert table["objective"].iloc[0] == pytest.approx(fit.measure(name), abs=2e-6)
    assert table["hits"].sum() >= 9
    assert table["objective"].iloc[-1] > 0.0


def test_the_objective_chooses_between_starts(R):
    card = (7, 4, 4, 1, 1, 1)
    fits = {name: sp.spca_cov(R, 6, card=card, n_init=10, objective=name) for name in NAMES}
    for name in NAMES:
        for other in NAMES:
            # PEV is chosen by the solver's own criterion, which has converged to 1e-7
            assert fits[name].measure(name) >= fits[other].measure(name) - 1e-6
    assert fits["least_squares"].measure("least_squares") > fits["pev"].measure("least_squares") + 1e-4


def test_one_start_is_the_published_fit(R):
    card = (8, 5, 6, 2, 3, 2)
    plain = sp.spca_cov(R, 6, card=card)
    for name in NAMES:
        fit = sp.spca_cov(R, 6, card=card, n_init=1, objective=name, search="single")
        assert fit.loadings.equals(plain.loadings)


# --- what it refuses ----------------------------------------------------------------------------------


def test_refusals(R):
    with pytest.raises(OptionError, match="patience was given, but it belongs to search='joint'"):
        sp.spca_cov(R, 2, card=3, patience=5)
    with pytest.raises(OptionError, match="no nonnegative form"):
        sp.spca_cov(R, 2, card=3, search="joint", nonneg=True)
    with pytest.raises(UnknownOptionError, match="methods that have it: 'bcd-l0', 'controlled'"):
        sp.spca_cov(R, 2, card=3, method="gspca", search="joint")
    with pytest.raises(UnknownOptionError, match="methods that have it: 'joint', 'bcd-l0', 'bcd-l1'"):
        sp.spca_cov(R, 2, card=3, method="greedy", objective="adjusted")
    with pytest.raises(OptionError, match="objective"):
        sp.spca_cov(R, 2, card=3, objective="variance")
    with pytest.raises(OptionError, match="search"):
        sp.spca_cov(R, 2, card=3, search="both")
    with pytest.raises(OptionError, match="patience"):
        sp.spca_cov(R, 2, card=3, search="joint", patience=0)
