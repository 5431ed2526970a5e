"""Joint proofs under rules for supports, against enumeration of all supports that obey them."""

from __future__ import annotations

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.proofs.jointly import certify_joint
from spcastat.search.criteria import CRITERIA
from spcastat.search.default import joint
from tests.search.conftest import draw
from tests.search.test_support_rule import KINDS, P, enumerated, rule_of


def check(kind: str, objective: str, seed: int) -> bool:
    """Bounds hold, for the best fit and for a poor one; return whether the first was proven."""
    cards, rule = rule_of(kind, np.random.default_rng([seed, KINDS.index(kind)]))
    S = draw(P, seed)
    best = enumerated(S, cards, rule, objective)
    fit = joint(Gram(S), 2, cards, objective, rule=rule)
    proof = certify_joint(Gram(S), fit.V, objective, time_limit=10.0, rule=rule)
    assert proof.upper_bound >= best * (1 - 1e-9)
    assert "without the rule" not in proof.proof
    poor = fit.V * np.linspace(1.0, 3.0, P)[:, None]
    poor /= np.linalg.norm(poor, axis=0)
    second = certify_joint(Gram(S), poor, objective, time_limit=2.0, rule=rule)
    assert second.upper_bound >= best * (1 - 1e-9)
    assert not second.optimal or second.value >= best * (1 - 1.01e-4)
    return proof.optimal


def test_a_joint_proof_under_a_rule_is_that_of_the_best_fit_under_it():
    assert check("disjoint", "pev", 1)


@pytest.mark.slow
@pytest.mark.parametrize("objective", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_joint_proofs_under_rules_hold(kind, objective):
    check(kind, objective, 2)
