"""The search finds the optimum and proves it; certificates of components and of exact fits."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from spcastat.datasets import load_pitprops
from spcastat.linalg.operators import Gram
from spcastat.measures import adjusted_variances
from spcastat.progress import Step, listening
from spcastat.proofs.one_component import certify, prove
from spcastat.solvers.support_search import best_support
from spcastat.solvers.thresholding import explained

from .conftest import matrices, values_of_supports

# --- The search finds the optimum, proves it, and tells no lie when it is stopped -----------------

# Proven by exhaustive enumeration of all supports, cardinalities 1 to 13.
PITPROPS = (
    *(1.0, 1.954, 2.475331, 2.937479, 3.406155, 3.770960, 3.996190),
    *(4.068607, 4.138647, 4.172638, 4.208276, 4.218245, 4.218633),
)


def planted(p: int, rng: np.random.Generator) -> np.ndarray:
    """A correlation matrix with three factors."""
    X = rng.standard_normal((4 * p, p)) + 0.6 * rng.standard_normal((4 * p, 3)) @ rng.standard_normal((3, p))
    return np.corrcoef(X.T)


@pytest.fixture(scope="module")
def noise() -> tuple[np.ndarray, float]:
    """Correlations of pure noise, on which a proof takes some three hundred nodes, and the best value."""
    S = np.corrcoef(np.random.default_rng(20).standard_normal((60, 40)), rowvar=False)
    proof = prove(S, 8)
    assert proof.closed
    assert proof.nodes > 100
    return S, proof.value


def test_every_optimum_is_found_and_proven(rng):
    for kind, S in matrices(rng, 48, 9):
        for c in rng.choice(np.arange(1, len(S) + 1), size=2, replace=False).tolist():
            best = max(values_of_supports(S, c).values())
            proof = prove(S, c)
            where = f"{kind}, p={len(S)}, c={c}"
            assert proof.bound >= best * (1 - 1e-14), where
            assert proof.value == pytest.approx(best, rel=1e-12), where
            assert proof.closed, where
            assert not proof.stopped, where


@pytest.mark.parametrize("card", range(1, 14))
def test_pitprops(card):
    S = load_pitprops().to_numpy()
    proof = prove(S, card)
    assert proof.closed
    assert proof.value == pytest.approx(PITPROPS[card - 1], abs=6e-7)  # six decimals are given
    block = S[np.ix_(proof.support, proof.support)]
    assert np.linalg.eigvalsh(block)[-1] == pytest.approx(proof.value, rel=1e-13)
    assert proof.support.size <= card


def test_best_support_does_not_depend_on_the_order_of_the_variables(rng):
    for _ in range(5):
        S = planted(40, rng)
        order = rng.permutation(40)
        value, support = best_support(S, 7)
        again, permuted = best_support(S[np.ix_(order, order)], 7)
        assert again == pytest.approx(value, rel=1e-12)
        assert sorted(order[permuted]) == support.tolist()


@pytest.mark.parametrize("max_nodes", [0, 1, 5, 30])
def test_node_limit_gives_a_valid_bound(max_nodes, noise):
    S, best = noise
    proof = prove(S, 8, max_nodes=max_nodes)
    assert proof.nodes <= max_nodes
    assert proof.stopped == "node limit"
    assert proof.bound >= best
    assert not proof.closed


def test_no_time_at_all_gives_a_valid_bound(noise):
    S, best = noise
    proof = prove(S, 8, time_limit=0.0)
    assert proof.stopped == "time limit"
    assert proof.nodes == 0
    assert proof.bound >= best >= proof.value > 0
    assert not proof.closed


@pytest.mark.parametrize("where", ["eigenvalue_bound", "best_support", "split_bound"])
def test_interruption_before_the_first_node(where, noise, monkeypatch):
    S, best = noise

    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"spcastat.proofs.one_component.{where}", interrupt)
    proof = prove(S, 8)
    assert proof.stopped == "interrupted"
    assert np.isfinite(proof.bound)
    assert proof.bound >= best


def test_matrices_without_variance():
    proof = prove(np.zeros((4, 4)), 2)
    assert proof.value == proof.bound == 0.0
    assert proof.closed
    assert proof.argument == "no variance left"


def test_an_indefinite_matrix_is_bounded_all_the_same(rng):
    """Nothing in the package passes one on, but a wrong proof would be worse than a refusal."""
    for _ in range(20):
        X = rng.standard_normal((9, 9))
        S = X + X.T + 3.0 * np.eye(9)
        S[0, 1] = S[1, 0] = 20.0  # far above the sum of the variances
        best = max(values_of_supports(S, 4).values())
        proof = prove(S, 4)
        assert proof.value == pytest.approx(best, rel=1e-12)
        assert proof.closed
        assert proof.bound >= best


# --- Every component of a fit against brute force on what the components before it leave ----------


def sparse_loadings(S: np.ndarray, cards: list[int], rng: np.random.Generator) -> np.ndarray:
    """Unit columns with the given numbers of nonzeros: the best on random supports, and random signs."""
    V = np.zeros((len(S), len(cards)))
    for i, card in enumerate(cards):
        J = rng.choice(len(S), card, replace=False)
        V[J, i] = rng.standard_normal(card)
    return V / np.linalg.norm(V, axis=0)


def remainders(S: np.ndarray, V: np.ndarray) -> list[np.ndarray]:
    """The Schur complements in front of each component."""
    left = [S]
    for v in V.T[:-1]:
        Sv = left[-1] @ v
        left.append(left[-1] - np.outer(Sv, Sv) / (v @ Sv))
    return left


def test_each_component_against_brute_force(rng):
    for kind, S in matrices(rng, 32, 8):
        if kind == "constant" or len(S) < 4:
            continue
        cards = rng.integers(1, len(S), size=3).tolist()
        V = sparse_loadings(S, cards, rng)
        if np.linalg.matrix_rank(S) < 4:
            continue
        for certificate, left, v in zip(certify(Gram(S), V), remainders(S, V), V.T, strict=True):
            best = max(values_of_supports(left, certificate.cardinality).values())
            assert certificate.value == pytest.approx(v @ left @ v, rel=1e-9)
            assert certificate.upper_bound >= best * (1 - 1e-12)
            assert certificate.upper_bound <= best * (1 + 1e-9) + 1e-12 * np.trace(S)
            assert certificate.best_known == pytest.approx(best, rel=1e-9)
            if certificate.value <= 1e-9 * np.trace(S):  # v was explained by those before
                continue
            expected = 100 * (certificate.upper_bound / certificate.value - 1)
            assert certificate.gap == pytest.approx(expected, rel=1e-6, abs=1e-9)
            if certificate.optimal:
                assert certificate.value >= best * (1 - 1.1e-9)


def test_optimal_components_are_called_optimal(rng):
    S = np.cov(rng.standard_normal((30, 8)), rowvar=False)
    best = values_of_supports(S, 3)
    J = list(max(best, key=lambda key: best[key]))
    v = np.zeros(8)
    v[J] = np.linalg.eigh(S[np.ix_(J, J)])[1][:, -1]
    (certificate,) = certify(Gram(S), v[:, None])
    assert certificate.optimal
    assert certificate.gap <= 1e-7
    v[J[0]] += 1e-3  # the same support with other weights is not the best
    (certificate,) = certify(Gram(S), (v / np.linalg.norm(v))[:, None])
    assert not certificate.optimal
    assert certificate.gap > 1e-7
    assert certificate.support.tolist() == J


def test_what_is_left_may_be_nothing(rng):
    """Rank two: the third component is measured against rounding."""
    X = rng.standard_normal((2, 6))
    S = X.T @ X
    V = np.linalg.eigh(S)[1][:, ::-1][:, :3]
    first, second, third = certify(Gram(S), V)
    assert first.optimal
    assert second.optimal
    assert third.optimal
    assert third.upper_bound <= 1e-12 * np.trace(S)


@pytest.mark.parametrize("seed", [6, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (7, 8))])
@pytest.mark.parametrize("objective", ["pev", "least_squares"])
def test_a_component_that_depends_on_earlier_ones_adds_nothing(seed, objective):
    """Variances eight orders of magnitude apart: what the first component leaves of the second is rounding.

    The values are the adjusted variances that the fit prints, and no bound is below one of them; the bound of
    a component after a dependent one is that of what the independent ones leave.
    """
    X = np.random.default_rng(seed).standard_normal((20, 4)) * [1e4, 1, 0.1, 0.01]
    S = np.cov(X, rowvar=False)
    V = sp.spca_cov(S, 3, [2, 3, 1], objective=objective, scale=False).loadings.to_numpy(copy=True)
    V[:, 1] = V[:, 0]
    values = adjusted_variances(V, Gram(S))
    assert values[1] == 0.0
    found = certify(Gram(S), V)
    assert [one.value for one in found] == values.tolist()
    assert all(one.upper_bound >= one.value for one in found)
    assert found[1].gap == np.inf
    independent = certify(Gram(S), V[:, [0, 2]])[1]
    assert found[2].upper_bound == pytest.approx(independent.upper_bound, rel=1e-9)
    fit = sp.spca(X, 3, [2, 3, 1], objective=objective, scale=False)
    proof = fit.certify(joint=False)
    assert "nan" not in f"{fit} {proof}"
    np.testing.assert_allclose(proof.table["value"], fit.variance["adjusted variance"], rtol=1e-13)


def test_interruption_returns_every_component(rng):
    S = np.corrcoef(rng.standard_normal((50, 30)), rowvar=False)
    V = sparse_loadings(S, [6, 6, 6], rng)

    def interrupt(step: Step) -> None:
        if step.unit == "nodes" and step.done == 3:
            raise KeyboardInterrupt

    with listening(interrupt):
        stopped = certify(Gram(S), V)
    proven = certify(Gram(S), V)
    assert [c.proof.endswith("(interrupted)") for c in stopped] == [True, True, True]
    for early, late in zip(stopped, proven, strict=True):
        assert late.proof == "exhaustive branch and bound"
        assert early.upper_bound >= late.best_known
        assert early.value == pytest.approx(late.value, rel=1e-12)


class Interrupting(Gram):
    """A covariance matrix at whose n-th product, block or slab of columns the user presses Ctrl-C."""

    def __init__(self, S: np.ndarray, at: int):
        super().__init__(S)
        self.left = at

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def columns(self, J: np.ndarray) -> np.ndarray:
        self._count()
        return super().columns(J)

    def dot(self, V: np.ndarray) -> np.ndarray:
        self._count()
        return super().dot(V)

    def block(self, J: np.ndarray) -> np.ndarray:
        self._count()
        return super().block(J)


@pytest.mark.parametrize("at", [1, 2, 3, 4, 6, 9])
def test_ctrl_c_anywhere_gives_the_certificates_proven_by_then(rng, at):
    """Bounds stay bounds of all components: of the largest eigenvalue on three variables of what is left."""
    X = rng.standard_normal((40, 9))
    S = X.T @ X / 39
    V = np.zeros((9, 3))
    for j in range(3):
        V[3 * j : 3 * j + 3, j] = 3**-0.5
    plain = certify(Gram(S), V)
    found = certify(Interrupting(S, at), V)
    assert len(found) == 3
    for one, other in zip(found, plain, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-10)
        assert one.upper_bound >= other.best_known * (1 - 1e-10)
    ended = [one.proof.endswith("(interrupted)") for one in found]
    assert ended == sorted(ended)  # all that follow are cheap


# --- Fits that end with the exact loadings on their supports, so that a proof of the support closes ---

R = sp.datasets.load_pitprops()


@pytest.mark.parametrize("card", [[8, 5, 6, 2, 3, 2], [7, 4, 4], [6, 6]])
def test_a_joint_fit_is_stationary_on_its_supports(card: list[int]) -> None:
    """The slope of the explained variance vanishes to rounding, whatever the tolerance of the sweeps."""
    fit = sp.spca_cov(R, len(card), card, method="bcd-l0")
    assert fit.converged
    V = fit.loadings.to_numpy()
    op = Gram(R.to_numpy())
    value, gradient = explained(op, V)
    # 1e-16 of the total variance, 13, in each of some ten products; by comparing values alone it is 1e-8
    assert np.abs(gradient[V != 0]).max() <= 1e-12
    assert 100 * value / 13 == pytest.approx(100 * fit.measure("pev"), rel=1e-10)
    for j, i in zip(*np.nonzero(V), strict=True):  # the gradient itself, against differences
        W = V.copy()
        W[j, i] += 1e-5
        assert explained(op, W)[0] <= value + 1e-9
