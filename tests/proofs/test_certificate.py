"""Every component of a fit against brute force on what the components before it leave."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from spcastat.linalg.build import prepare
from spcastat.linalg.operators import Gram
from spcastat.measures import adjusted_variances
from spcastat.proofs.one_component import certify

from .conftest import matrices, values_of_supports

PAIRS = {name: [f"x{i}", f"x{i + 4}"] for i, name in enumerate("abcd", 1)}


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


def test_names_of_the_proofs(rng):
    S = np.cov(rng.standard_normal((40, 6)), rowvar=False)
    vectors = np.linalg.eigh(S)[1][:, ::-1]
    (full,) = certify(Gram(S), vectors[:, :1])
    assert (full.proof, full.optimal, full.nodes) == ("full cardinality", True, 0)
    one = np.zeros((6, 1))
    one[int(np.argmax(np.diag(S)))] = 1.0
    (single,) = certify(Gram(S), one)
    assert (single.proof, single.optimal) == ("largest variance", True)


def test_rows_and_covariance_give_the_same(rng):
    X = rng.standard_normal((7, 12))
    S = np.cov(X, rowvar=False)
    rows = prepare(X, None, True, False, range(12), keep_rows=True)[1]
    assert not isinstance(rows, Gram)
    V = sparse_loadings(S, [4, 3], rng)
    for a, b in zip(certify(rows, V), certify(Gram(S), V), strict=True):
        assert a.value == pytest.approx(b.value, rel=1e-10)
        assert a.upper_bound == pytest.approx(b.upper_bound, rel=1e-10)
        assert (a.cardinality, a.proof, a.optimal) == (b.cardinality, b.proof, b.optimal)


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
    calls = []

    def interrupt(nodes: int) -> None:
        calls.append(nodes)
        if len(calls) == 3:
            raise KeyboardInterrupt

    stopped = certify(Gram(S), V, callback=interrupt)
    proven = certify(Gram(S), V)
    assert [c.proof.endswith("(interrupted)") for c in stopped] == [True, True, True]
    for early, late in zip(stopped, proven, strict=True):
        assert late.proof == "exhaustive branch and bound"
        assert early.upper_bound >= late.best_known
        assert early.value == pytest.approx(late.value, rel=1e-12)


def test_limits_reach_every_component(rng):
    S = np.corrcoef(rng.standard_normal((50, 30)), rowvar=False)
    V = sparse_loadings(S, [6, 6], rng)
    for certificate in certify(Gram(S), V, time_limit=0.0):
        assert certificate.proof.endswith("(time limit)")
        assert certificate.upper_bound >= certificate.best_known > 0
    for certificate in certify(Gram(S), V, max_nodes=1):
        assert certificate.nodes <= 1
        assert certificate.upper_bound >= certificate.best_known


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


@pytest.mark.parametrize("when", [0, 1, 2])
def test_ctrl_c_before_a_component_has_any_bound_leaves_cheap_ones(rng, monkeypatch, when):
    """The sum of the largest variances of what is left, of which the trace of any support is a part."""
    from spcastat.proofs.one_component import _Search

    run, calls = _Search.run, iter(range(9))

    def interrupted(self, support):
        if next(calls) == when:
            raise KeyboardInterrupt
        run(self, support)

    monkeypatch.setattr(_Search, "run", interrupted)
    X = rng.standard_normal((40, 9))
    S = X.T @ X / 39
    V = np.zeros((9, 3))
    for j in range(3):
        V[3 * j : 3 * j + 3, j] = 3**-0.5
    found = certify(Gram(S), V)
    left = S
    for j, one in enumerate(found):
        assert one.proof.endswith("(interrupted)") == (j >= when)
        if j >= when:
            assert one.upper_bound == pytest.approx(np.sort(np.diag(left))[-3:].sum(), rel=1e-10)
        s = left @ V[:, j]
        left = left - np.outer(s, s) / (V[:, j] @ s)


@pytest.mark.parametrize(
    ("card", "given", "joint", "bound", "nodes"),
    [
        ([5], {}, False, 3.49883, 5),
        ([3], {"together": PAIRS}, False, 2.9288, 3),
        ([4], {"include": ["x1"]}, False, 3.02258, 3),
        pytest.param([4, 4], {}, True, 0.39382, 41, marks=pytest.mark.slow),
    ],
)
def test_one_node_bounds_as_tightly_and_a_proof_takes_no_more_nodes_than_before(
    card, given, joint, bound, nodes
):
    fit = sp.spca_cov(sp.datasets.load_pitprops().to_numpy(), len(card), card, effort="quick", **given)
    assert fit.certify(joint=joint, max_nodes=1).table["upper_bound"].iloc[0] <= bound * (1.0 + 1e-4)
    assert fit.certify(joint=joint).table["nodes"].iloc[0] <= nodes
