"""Of several runs the best is told of, whole: its loadings, its value, its steps."""

import numpy as np
import pytest

from spcastat.fit.method_table import SOLVERS
from spcastat.linalg.operators import Gram


def covariance(seed, p=8):
    X = np.random.default_rng(seed).standard_normal((30, p))
    return X.T @ X / 29


def starts(count, k, p=8):
    rng = np.random.default_rng(1)
    drawn = [np.linalg.qr(rng.standard_normal((p, k)))[0].T for _ in range(count)]
    return np.stack(drawn)


@pytest.mark.parametrize("options", [{"card": (3, 3)}, {"penalty": (0.0, 0.0)}])
def test_nspca_returns_the_best_of_its_starts(options):
    worse = 0
    for seed in range(6):
        solver = SOLVERS["nspca"].build({"orthonormality": 2.0, **options})
        op, given = Gram(covariance(seed)), starts(5, 2)
        found = solver.solve(op, 2, given, np.random.default_rng(0))
        assert found.objective == pytest.approx(found.objectives.max(), rel=1e-9)
        best = found.objectives.tolist().index(found.objective)
        alone = solver.solve(op, 2, given[[best]], np.random.default_rng(0))
        np.testing.assert_array_equal(found.V, alone.V)
        assert found.n_iter == alone.n_iter
        worse += found.objectives[best - 1] < found.objective - 1e-3
    assert worse > 0
