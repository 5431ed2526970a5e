"""Ascents for batches of fits against the same steps written out for one fit after another."""

from __future__ import annotations

import numpy as np
import pytest

from spcastat.search.criteria import CRITERIA, Fits, criterion_of_matrix
from spcastat.search.moves import refined
from tests.search.conftest import draw


def lbfgs(value_and_slope, x: np.ndarray, steps: int) -> np.ndarray:
    """Limited-memory BFGS (Nocedal and Wright, Algorithms 7.4 and 7.5, and 3.1 for the length of a step).

    Six pairs are remembered, those of no curvature left out; the first step is half a unit long at most. A
    step has to bring 1e-4 of what its slope promises; else the length goes to where a parabola has its top,
    between a tenth and a half of it, twelve times at most. The way ends where a step raises the value by
    1e-12 of it or less.
    """
    value, slope = value_and_slope(x)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for number in range(steps):
        q, factors = slope.copy(), []
        for s, y in reversed(pairs[-6:]):
            factors.append((s @ q) / (s @ y) if y.any() else 0.0)
            q = q - factors[-1] * y
        if pairs and pairs[-1][1].any():
            s, y = pairs[-1]
            q = q * (s @ y) / (y @ y)
        for (s, y), factor in zip(pairs[-6:], reversed(factors), strict=True):
            q = q + s * (factor - ((y @ q) / (s @ y) if y.any() else 0.0))
        length = min(1.0, 0.5 / np.linalg.norm(q)) if number == 0 else 1.0
        for trial in range(13):
            if trial == 12:
                length = 0.0
            new, turned = value_and_slope(x + length * q)
            if new >= value + 1e-4 * length * (slope @ q) or trial == 12:
                break
            short = length * (slope @ q)
            bent = 2 * (short - (new - value))
            length *= np.clip(short / bent if bent > 0 else 0.5, 0.1, 0.5)
        s, y = length * q, slope - turned
        if not s @ y > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            y = np.zeros_like(y)
        pairs.append((s, y))
        gain = max(new, value) - value
        x, value, slope = x + s, max(new, value), turned
        if not gain > 1e-12 * abs(value):
            break
    return x


class Alone:
    """A criterion of one component, which is any function of its loadings; they need no unit length."""

    def packed(self, places, of):
        return self.M[of], self.T[of]

    def fits(self, places, x, of):
        value = self.with_gradient(x, self.M[of], self.T[of])[0]
        return Fits(places, x, places, places, places, places, value, of)


class Waves(Alone):
    """Sums of waves with a bowl, one of its own for each fit: neither concave nor convex."""

    def __init__(self, M, T):
        self.M, self.T = M, T

    def with_gradient(self, x, M, T):
        inner = (M @ x[:, :, None])[:, :, 0] + T[:, 0]
        value = np.sin(inner).sum(axis=1) - 0.05 * (x**2).sum(axis=1)
        return value, (M.mT @ np.cos(inner)[:, :, None])[:, :, 0] - 0.1 * x


@pytest.mark.parametrize("steps", [1, 2, 3, 9, 15, 400])
def test_steps_of_a_batch_are_those_of_limited_memory_bfgs(steps):
    rng = np.random.default_rng(3)
    M = rng.standard_normal((12, 8, 5)) * np.geomspace(0.2, 6.0, 12)[:, None, None]
    T, x = rng.uniform(0, 6, (12, 1, 8)), rng.standard_normal((12, 5))
    criterion, before = Waves(M, T), x.copy()
    start = criterion.fits(np.zeros((12, 5), dtype=int), x, np.arange(12))
    found = refined(criterion, start, steps)
    assert (found.value >= start.value).all()
    for b in range(12):

        def alone(z, b=b):
            value, slope = criterion.with_gradient(z[None], M[b : b + 1], T[b : b + 1])
            return value[0], slope[0]

        expected = lbfgs(alone, x[b], steps)
        # rounding grows from step to step, and most where a path runs along a ridge
        np.testing.assert_allclose(found.x[b], expected, atol=1e-6 if steps > 15 else 1e-9)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("objective", CRITERIA)
@pytest.mark.parametrize("steps", [1, 4, 12, 300])
def test_loadings_on_fixed_supports_take_these_steps(objective, steps):
    cards, p = (4, 3, 3), 9
    S = draw(p, 5)
    criterion = criterion_of_matrix(S / np.trace(S), cards, objective)
    rng = np.random.default_rng(0)
    places = np.array([np.concatenate([np.sort(rng.permutation(p)[:c]) for c in cards]) for _ in range(5)])
    fits = criterion.fits(places, rng.standard_normal(places.shape))
    found = refined(criterion, fits, steps)
    assert (found.value >= fits.value).all()
    for b in range(5):
        M, T = criterion.packed(places[b : b + 1])

        def alone(z, M=M, T=T):
            value, slope = criterion.with_gradient(z[None], M, T)
            return value[0], slope[0]

        if steps <= 12:  # the path itself; over more steps rounding may lead it into another optimum
            expected = criterion.fits(places[b : b + 1], lbfgs(alone, fits.x[b], steps)[None])
            np.testing.assert_allclose(found.value[b], expected.value[0], rtol=1e-11)
            np.testing.assert_allclose(found.x[b], expected.x[0], atol=1e-8)
        else:  # an optimum: no slope is left, and no step from here leads higher
            # PEV may rise while two components become the same: there is no optimum on that way, and the
            # slope grows as they meet. Which starts go there depends on the last bits of products.
            if objective == "pev" and np.linalg.svd(criterion.dense(found)[b])[1][-1] < 1e-3:
                continue
            slope = alone(found.x[b])[1]
            assert np.abs(slope).max() < 1e-6
            again = criterion.fits(places[b : b + 1], lbfgs(alone, found.x[b], steps)[None])
            np.testing.assert_allclose(again.value[0], found.value[b], rtol=1e-11)


class Given(Alone):
    """A function of one loading, which is 0 with slope 1/2 at 0, and the places where it is evaluated."""

    M = T = np.ones((1, 1))

    def __init__(self, value):
        self.value, self.lengths = value, []

    def with_gradient(self, x, M, T):
        self.lengths.append(2.0 * x[0, 0])  # the first step is half a unit long
        return np.array([0.25 * self.value(2.0 * x[0, 0])]), np.full(x.shape, 0.5)


@pytest.mark.parametrize(
    ("value", "lengths"),
    [
        (lambda t: 1.5e-4 * t, [1.0]),  # just more than 1e-4 of what the slope of one predicts
        (lambda t: t if t < 0.3 else -1.0, [1.0, 0.25]),  # the top of the parabola through the two values
        (lambda t: t if t < 0.3 else np.nan, [1.0, 0.5, 0.25]),
        (lambda t: t if t < 0.3 else 0.0, [1.0, 0.5, 0.25]),
        (lambda t: t if t < 2e-11 else -1e9, 0.1 ** np.arange(12.0)),
        (lambda t: t if t < 2e-12 else -1e9, 0.1 ** np.arange(12.0)),
        (lambda t: 0.5e-4 * t, 0.5 ** np.arange(12.0)),
    ],
)
def test_the_length_of_a_step(value, lengths):
    """A tenth to a half of the previous one, twelve at most; where none is enough the fit stays."""
    given, zero = Given(value), np.zeros((1, 1))
    found = refined(given, given.fits(zero.astype(int), zero, np.zeros(1, dtype=int)), 1)
    np.testing.assert_allclose(given.lengths[2:-1], lengths, rtol=1e-6)
    enough = value(lengths[-1]) >= 1e-4 * lengths[-1]
    assert found.x[0, 0] == pytest.approx(lengths[-1] / 2 if enough else 0.0, rel=1e-6)
    assert found.value[0] == 0.25 * value(2.0 * found.x[0, 0])
