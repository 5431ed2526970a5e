"""Joint proofs against fits that are known to be near the best: ``python -m benchmarks.proofs [--count N]``.

Each random problem, p up to 6 and k up to 3, has all supports of its cardinalities gone through, with climbs
on each of them from several starts; no bound may lie below the best of them, wherever the proof was stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from spcastat.certify.joint import JointCertificate, certify_joint
from spcastat.operators import Gram
from spcastat.search.default import held
from spcastat.search.fixed import refined

MEASURES = ("pev", "adjusted", "least_squares")
#: Nodes after which proofs are stopped.
STOPS = (1, 10, 100, None)
#: Starts on each tuple of supports, and steps of ascent.
STARTS, STEPS = 3, 40
#: Rounding of values near one; bounds have room of 1e-10 themselves.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Case:
    """A problem: covariance matrix of total variance one, cardinalities, and what kind of matrix it is."""

    S: np.ndarray
    cards: tuple[int, ...]
    kind: str


def cases(count: int, seed: int = 0) -> Iterator[Case]:
    """Yield random problems of all kinds in turn."""
    rng = np.random.default_rng(seed)
    kinds = (_plain, _deficient, _tied, _doubled, _identity, _blocks)
    made = 0
    while made < count:
        build = kinds[made % len(kinds)]
        p = int(rng.integers(3, 7))
        S = build(rng, p)
        S = S / np.trace(S)
        rank = int((np.linalg.eigvalsh(S) > 1e-12).sum())
        k = min(int(rng.integers(1, 4)), rank)
        if rng.random() < 0.1 and rank == p and p == 3:
            k = p
        cards = tuple(int(c) for c in rng.integers(1, p + 1, size=k))
        if _tuples(p, cards) > 4000:
            continue
        made += 1
        yield Case(S, cards, build.__name__.strip("_"))


def _plain(rng: np.random.Generator, p: int) -> np.ndarray:
    X = rng.standard_normal((p + 3, p)) * rng.uniform(0.3, 2.0, size=p)
    return X.T @ X


def _deficient(rng: np.random.Generator, p: int) -> np.ndarray:
    X = rng.standard_normal((max(p - 2, 1), p))
    return X.T @ X


def _tied(rng: np.random.Generator, p: int) -> np.ndarray:
    R = rng.choice([-0.5, 0.0, 0.5], size=(p, p)) * 0.4
    return np.eye(p) + np.triu(R, 1) + np.triu(R, 1).T


def _doubled(rng: np.random.Generator, p: int) -> np.ndarray:
    X = rng.standard_normal((p + 3, p))
    X[:, 1] = X[:, 0]
    return X.T @ X


def _identity(rng: np.random.Generator, p: int) -> np.ndarray:
    return np.eye(p)


def _blocks(rng: np.random.Generator, p: int) -> np.ndarray:
    S = np.eye(p)
    half = p // 2
    S[:half, :half] += rng.uniform(0.2, 2.0)
    S[half:, half:] += rng.uniform(0.2, 2.0)
    return S


def _tuples(p: int, cards: tuple[int, ...]) -> int:
    sizes = [len(list(combinations(range(p), c))) for c in cards]
    return int(np.prod(sizes))


def best_of_all(case: Case, measure: str, seed: int = 0) -> tuple[float, np.ndarray]:
    """Return the largest measure over all supports (and orders, where they count), with its loadings."""
    rng = np.random.default_rng(seed)
    p, best, V = len(case.S), -np.inf, np.zeros((len(case.S), len(case.cards)))
    orders = sorted(set(permutations(case.cards))) if measure == "adjusted" else [case.cards]
    for cards in orders:
        criterion = held(case.S, cards, measure)
        choices = product(*(combinations(range(p), c) for c in cards))
        if measure != "adjusted":  # the order is no matter: one of those that differ in it only
            choices = (one for one in choices if _sorted(one, cards))
        places = np.array([sum(one, ()) for one in choices])
        places = np.tile(places, (STARTS, 1))
        fits = refined(criterion, criterion.fits(places, rng.standard_normal(places.shape)), STEPS)
        top = int(np.argmax(fits.value))
        if fits.value[top] > best:
            best = float(fits.value[top])
            V = criterion.dense(fits.some(np.array([top])))[0]
    return best, V


def _sorted(supports: tuple[tuple[int, ...], ...], cards: tuple[int, ...]) -> bool:
    return all(
        supports[i] <= supports[j]
        for i in range(len(cards))
        for j in range(i + 1, len(cards))
        if cards[i] == cards[j]
    )


def poor_fit(case: Case, seed: int) -> np.ndarray:
    """Return random loadings of the cardinalities: what a proof begins with."""
    rng = np.random.default_rng(seed)
    V = np.zeros((len(case.S), len(case.cards)))
    for i, card in enumerate(case.cards):
        T = rng.choice(len(case.S), size=card, replace=False)
        V[T, i] = rng.standard_normal(card)
    return V / np.linalg.norm(V, axis=0)


def violations(case: Case, measure: str, seed: int) -> list[str]:
    """Return what is wrong with the proofs of one problem; nothing if all is right."""
    best, V = best_of_all(case, measure, seed)
    wrong = []
    for start in (V, poor_fit(case, seed)):
        for most in STOPS:
            found = certify_joint(Gram(case.S), start, measure, max_nodes=most, time_limit=30.0)
            wrong += [f"{case.kind} {case.cards} {measure} {most}: {text}" for text in _faults(found, best)]
    return wrong


def _faults(found: JointCertificate, best: float) -> Iterator[str]:
    if found.upper_bound < best - ROUNDING:
        yield f"bound {found.upper_bound!r} below the fit {best!r}"
    if found.upper_bound > found.pca_bound:
        yield f"bound {found.upper_bound!r} above PCA's {found.pca_bound!r}"
    if found.best_known > found.upper_bound:
        yield f"bound {found.upper_bound!r} below its own fit {found.best_known!r}"
    if found.optimal and found.value < best * (1.0 - 1.1e-4):
        yield f"{found.value!r} is called optimal, and {best!r} is better"


def main(arguments: list[str] | None = None) -> int:
    """Go through the problems and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="random problems, each by three measures")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    wrong, kinds = [], {}
    for number, case in enumerate(cases(given.count, given.seed)):
        kinds[case.kind] = kinds.get(case.kind, 0) + 1
        for measure in MEASURES:
            wrong += violations(case, measure, number)
        if wrong or number % 100 == 99:
            print(number + 1, "problems,", len(wrong), "violations", flush=True)
    print(kinds)
    print("\n".join(wrong) if wrong else "no violation")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
