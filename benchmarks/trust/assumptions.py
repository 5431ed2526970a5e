"""What is said of components that are not there, and the number of components beside rows that mislead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import generator
from benchmarks.trust.sets import Call, Measured, shares

#: Draws of a bootstrap, of the splits, and of the tests.
DRAWS = 200

Draw = Callable[[np.random.Generator], np.ndarray]


def planted(
    rng: np.random.Generator, n: int, p: int, cards: tuple[int, ...], variances: list[float]
) -> np.ndarray:
    """Return rows with components of equal loadings on disjoint variables, and noise of variance 1."""
    V = np.zeros((p, len(cards)))
    first = 0
    for j, card in enumerate(cards):
        V[first : first + card, j] = card**-0.5
        first += card
    return (rng.standard_normal((n, len(cards))) * np.sqrt(variances)) @ V.T + rng.standard_normal((n, p))


@dataclass(frozen=True)
class Noise:
    """Rows with variables that belong to no component.

    Attributes
    ----------
    draw : callable
        Generator -> rows, shape (n, p).
    card : int
        Nonzeros of each fitted component.
    cards : tuple of int
        Nonzeros of the true components, which are the first variables.
    k : int
        Components that are fitted.
    """

    draw: Draw
    card: int
    cards: tuple[int, ...] = ()
    k: int = 1

    @property
    def true(self) -> int:
        """The number of variables that belong to a component."""
        return sum(self.cards)


def _normal(n: int, p: int) -> Draw:
    return lambda rng: rng.standard_normal((n, p))


def _t_rows(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((100, 20)) / np.sqrt(rng.chisquare(4, (100, 1)) / 4)


def _items(rng: np.random.Generator) -> np.ndarray:
    return np.digitize(rng.standard_normal((150, 20)), [0.7, 1.2, 1.6, 2.0]).astype(float)


def _rare(rng: np.random.Generator) -> np.ndarray:
    X = (rng.random((200, 20)) < 0.1).astype(float)
    X[0] = 1.0  # no variable is constant
    return X


def _counts(rng: np.random.Generator) -> np.ndarray:
    return (rng.poisson(2, (150, 20)) * (rng.random((150, 20)) > 0.6)).astype(float)


def _graded(rng: np.random.Generator) -> np.ndarray:
    loadings = np.linspace(1.0, 0.2, 10)
    X = rng.standard_normal((200, 30))
    X[:, :10] += np.outer(rng.standard_normal(200), loadings)
    return X


NOISES = {
    "normal, 100 x 20, card 5": Noise(_normal(100, 20), 5),
    "normal, 90 x 16, card 4": Noise(_normal(90, 16), 4),
    "normal, 100 x 50, card 5": Noise(_normal(100, 50), 5),
    "normal, 60 x 6, card 3": Noise(_normal(60, 6), 3),
    "normal, 30 x 80, card 5": Noise(_normal(30, 80), 5),
    "normal, 100 x 20, card 5, k = 4": Noise(_normal(100, 20), 5, k=4),
    "t4 rows, 100 x 20, card 5": Noise(_t_rows, 5),
    "t4 rows, 100 x 20, card 5, k = 4": Noise(_t_rows, 5, k=4),
    "lognormal, 100 x 20, card 5": Noise(lambda rng: np.exp(rng.standard_normal((100, 20))), 5),
    "exponential, 100 x 20, card 5": Noise(lambda rng: rng.exponential(size=(100, 20)), 5),
    "skewed items, 150 x 20, card 5": Noise(_items, 5),
    "binary items (10 %), 200 x 20, card 5": Noise(_rare, 5),
    "counts with zeros, 150 x 20, card 5": Noise(_counts, 5),
    "one component of 5, second superfluous": Noise(
        lambda rng: planted(rng, 100, 20, (5,), [6.0]), 5, (5,), k=2
    ),
    "graded component of 10, second superfluous": Noise(_graded, 10, (10,), k=2),
    "card 7 for a component of 5": Noise(lambda rng: planted(rng, 100, 20, (5,), [6.0]), 7, (5,)),
}


def statements_in_noise(call: Call) -> Table:
    """Return how often intervals and tests declare variables that belong to no component."""
    columns = (
        "k too large",
        "interval without 0",
        "in any set",
        "any q <= .05",
    )
    table = Table("Variables of no component: what is declared", ["rows", *columns, "data sets"])

    def one(name: str, number: int) -> Measured:
        noise = NOISES[name]
        X = noise.draw(generator(f"noise {name}", number))
        fit = sp.spca(X, noise.k, noise.card, scale=True)
        found = {"k too large": float(sp.choose_k(X, scale=True, rng=number).k > len(noise.cards))}
        intervals = fit.bootstrap(DRAWS, rng=number).conf_int()
        null = _null(intervals["term"], fit.loadings.index, noise.true)
        null &= (intervals["estimate"] != 0).to_numpy()
        if null.any():
            away = _away(intervals)[null]
            found |= {"interval without 0": float(away.mean()), "in any set": float(away.any())}
        q = fit.test_loadings(199, rng=number).q_values.to_numpy()
        found["any q <= .05"] = float((q[noise.true :] <= 0.05).any())
        return found

    for name, measured in call.measured("noise", NOISES, one).items():
        table.rows.append([name, *shares(measured, columns)])
    table.notes.append(
        "Columns are scaled. k too large: choose_k() finds more components than there are. The other columns "
        "are about variables that belong to no component, in fits with the cardinalities of the first "
        "column. interval without 0: the share of their selected loadings whose default 95 % interval "
        f"({DRAWS} draws) excludes zero; in any set: the share of data sets with such a loading; any "
        "q <= .05: the share of data sets in which test_loadings() (199 permutations) declares any of them; "
        "beside true components q bounds the share of false discoveries, not their occurrence."
    )
    return table


def splits_in_noise(call: Call) -> Table:
    """Return how often intervals of split inference exclude zero for variables of no component."""
    table = Table("Variables of no component: intervals after a split", ["rows", "without 0", "data sets"])

    def one(name: str, number: int) -> Measured:
        noise = NOISES[name]
        X = noise.draw(generator(f"noise {name}", number))
        fit = sp.spca(X, noise.k, noise.card, scale=True, effort="quick")
        halves = fit.split_inference(3, rng=number).conf_int()
        null = _null(halves["term"], fit.loadings.index, noise.true)
        return {"without 0": float(_away(halves)[null].mean())} if null.any() else {}

    for name, measured in call.measured("noise-split", NOISES, one).items():
        table.rows.append([name, *shares(measured, ("without 0",))])
    table.notes.append(
        "Columns are scaled. The share of the 95 % intervals of split_inference() that exclude zero, among "
        "variables that belong to no component, for fits with effort='quick'. Standard errors are those of "
        "the jackknife and need no draws."
    )
    return table


def _null(terms: pd.Series, index: pd.Index, true: int) -> np.ndarray:
    """Return which terms belong to no component: those after the first `true` variables."""
    return index.get_indexer(terms) >= true


def _away(frame: pd.DataFrame) -> np.ndarray:
    """Return which intervals exclude zero."""
    return ((frame["lower"] > 0) | (frame["upper"] < 0)).to_numpy()


@dataclass(frozen=True)
class Rows:
    """Rows with a known number of components, some of which mislead.

    Attributes
    ----------
    draw : callable
        Generator -> rows, shape (n, p).
    k : int
        The true number of components.
    formula : str, optional
    options : dict
        Further arguments of choose_k().
    """

    draw: Callable[[np.random.Generator], np.ndarray | pd.DataFrame]
    k: int
    formula: str | None = None
    options: dict[str, Any] = field(default_factory=lambda: {"scale": True})


CUBIC = "~ " + " + ".join(f"x{i} + I(x{i}**2) + I(x{i}**3)" for i in range(5))


def _one_row(size: float, variances: list[float]) -> Draw:
    """Return a function that draws rows of which the first is noise of `size` standard deviations."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        cards = (6,) * len(variances)
        X = planted(rng, 100, 20, cards, variances)
        X[0] = size * rng.standard_normal(20)
        return X

    return draw


def _wild_cells(rng: np.random.Generator) -> np.ndarray:
    X = planted(rng, 150, 20, (6, 6), [6.0, 4.0])
    wild = rng.random(X.shape) < 0.01
    X[wild] = 20 * rng.choice([-1, 1], wild.sum())
    return X


def _t3_rows(rng: np.random.Generator) -> np.ndarray:
    return planted(rng, 200, 24, (6, 6), [6.0, 4.0]) / np.sqrt(rng.chisquare(3, (200, 1)) / 3)


def _minor(n: int) -> Draw:
    """Return a function that draws rows with two components and 15 minor factors."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        X = planted(rng, n, 20, (6, 5), [6.0, 4.0])
        return X + rng.standard_normal((n, 15)) @ (0.12 * rng.standard_normal((20, 15))).T

    return draw


def _likert(rng: np.random.Generator) -> np.ndarray:
    loadings = np.kron(np.eye(3), np.full((5, 1), 0.75))
    unique = (1 - 0.75**2) ** 0.5 * rng.standard_normal((300, 15))
    answers = rng.standard_normal((300, 3)) @ loadings.T + unique
    return np.digitize(answers, [0.7, 1.2, 1.6, 2.0]).astype(float)


def _bifactor(rng: np.random.Generator) -> np.ndarray:
    loadings = np.hstack([np.full((20, 1), 0.65), np.kron(np.eye(4), np.full((5, 1), 0.5))])
    unique = np.sqrt(1 - (loadings**2).sum(axis=1))
    return rng.standard_normal((300, 5)) @ loadings.T + unique * rng.standard_normal((300, 20))


def _ragged(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((120, 20)) * np.exp(0.8 * rng.standard_normal((120, 1)))


def _wide(rng: np.random.Generator) -> np.ndarray:
    return planted(rng, 60, 200, (10, 10), [6.0, 4.5])


def _wide_dense(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((62, 6)) @ rng.normal(0.0, 0.75, (6, 300)) + rng.standard_normal((62, 300))


def _wide_blocks(rng: np.random.Generator) -> np.ndarray:
    loadings = np.kron(np.eye(6), np.ones(50)) * rng.uniform(0.65, 1.5, 300)
    return np.asarray(rng.standard_normal((62, 6)) @ loadings + rng.standard_normal((62, 300)))


def _factors(rng: np.random.Generator) -> pd.DataFrame:
    numbers = {f"x{i}": rng.standard_normal(150) for i in range(5)}
    three = {f"f{i}": rng.choice(["a", "b", "c"], 150) for i in range(3)}
    two = {f"g{i}": rng.choice(["u", "v"], 150) for i in range(2)}
    return pd.DataFrame(numbers | three | two)


ROWS = {
    "two components": Rows(_one_row(1.0, [6.0, 4.0]), 2),
    "one row of 4 sd": Rows(_one_row(4.0, [6.0, 4.0]), 2),
    "one row of 8 sd": Rows(_one_row(8.0, [6.0, 4.0]), 2),
    "one row of 15 sd": Rows(_one_row(15.0, [6.0, 4.0]), 2),
    "noise, one row of 15 sd": Rows(_one_row(15.0, []), 0),
    "1 % of cells of 20 sd": Rows(_wild_cells, 2),
    "t3 rows": Rows(_t3_rows, 2),
    "noise, rows of unequal size": Rows(_ragged, 0),
    "n = 2,000, minor factors": Rows(_minor(2_000), 2),
    "n = 10,000, minor factors": Rows(_minor(10_000), 2),
    "skewed items, three factors": Rows(_likert, 3),
    "a general factor and four groups": Rows(_bifactor, 4),
    "60 x 200, weak": Rows(_wide, 2),
    "62 x 300, six factors of all variables": Rows(_wide_dense, 6),
    "62 x 300, six factors of 50 variables": Rows(_wide_blocks, 6),
    "independent factors, indicators": Rows(_factors, 0, "~ .", {"scale": True, "categorical": "dummy"}),
    "independent factors, mixed data": Rows(_factors, 0, "~ .", {"scale": "mixed", "categorical": "dummy"}),
    "cubic polynomials of noise": Rows(_factors, 0, CUBIC),
}


def misleading_rows(call: Call) -> Table:
    """Return how often the number of components is right beside rows that mislead."""
    columns = ("k right", "k too small", "k too large")
    table = Table("The number of components beside rows that mislead", ["rows", *columns, "data sets"])

    def one(name: str, number: int) -> Measured:
        rows = ROWS[name]
        data = rows.draw(generator(f"rows {name}", number))
        k = sp.choose_k(data, formula=rows.formula, **rows.options, rng=number).k
        right, small, large = k == rows.k, k < rows.k, k > rows.k
        return {"k right": float(right), "k too small": float(small), "k too large": float(large)}

    for name, measured in call.measured("rows", ROWS, one).items():
        table.rows.append([name, *shares(measured, columns)])
    table.notes.append(
        "choose_k() with columns scaled. Two components have six equal loadings each with variances 6 and 4 "
        "beside noise of variance 1, in 100 rows of 20 variables, unless the first column says otherwise. "
        "One row: the first row is replaced by noise of so many standard deviations. Minor factors: 15, "
        "loadings normal with standard deviation .12. Independent factors: five normal variables, three "
        "factors of three levels and two of two, in 150 rows; polynomials: of the five normal variables."
    )
    return table
