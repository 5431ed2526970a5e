"""Joint proofs: ``python -m benchmarks.proofs [table ...] [--data DIR] [--full] [--count N] [--write]``.

The tables "enumerated" compare proofs with the best fits of random problems of up to 7 variables and 3
components, found by ascents from several starts on all supports of the cardinalities. No bound may be below
the best fit, whenever the proof was stopped; the same is true of every bound that a proof combines. With
``--done FILE`` finished problems are stored, and a run that ``--minutes`` ended can be continued.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.linalg import null_space, orth

from benchmarks.ablation import ablation
from benchmarks.quality.call import Call
from benchmarks.quality.proofs import of_adjusted_variance, of_pitprops
from benchmarks.report import Table, command_line, read_arguments, run_tables, store_line, stored_lines
from spcastat.linalg.operators import Gram
from spcastat.proofs.jointly import JointCertificate, certify_joint, relaxed
from spcastat.proofs.relaxed import Relaxed
from spcastat.search.constraints import ORTHOGONAL as ORTHOGONAL_LOADINGS
from spcastat.search.exact_loadings import ExactLoadings
from spcastat.search.moves import refined
from spcastat.search.objectives import OBJECTIVES, PEV

MEASURES = ("pev", "adjusted", "least_squares", "orthogonal")
#: Orthogonal loadings are enumerated for at most this many choices of supports.
ORTHOGONAL = 400
#: Limits on the nodes of proofs that start from the best fit, and of proofs that start from a poor fit.
STOPS, POOR_STOPS = (1, 10, 100, None), (10,)
#: Seconds for a proof, whose bound is valid whenever it stops.
SECONDS = 2.0
#: Processor time of a bound at one leaf.
LEAF_SECONDS = 0.2
#: Random starts on each choice of supports, steps of ascent, and the number of fits that take all steps.
STARTS, STEPS, KEPT = 3, (6, 40), 100
#: Loadings are dependent if a singular value is smaller than this; PEV is smaller without that direction.
DEPENDENT = 1e-7
#: Rounding of values near one; bounds themselves have a margin of 1e-10.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Case:
    """A problem: a covariance matrix with total variance one, cardinalities, and the kind of the matrix."""

    S: np.ndarray
    cards: tuple[int, ...]
    kind: str


def cases(count: int, seed: int = 0, sizes: tuple[int, int] = (2, 6)) -> Iterator[Case]:
    """Yield `count` random problems, of all kinds in turn, with sizes[0] to sizes[1] variables."""
    rng = np.random.default_rng(seed)
    kinds: tuple[Callable[[np.random.Generator, int], np.ndarray], ...]
    kinds = (_plain, _deficient, _tied, _doubled, _identity, _blocks)
    if sizes[1] > 6:
        kinds += (_equicorrelated, _unequal)
    made = 0
    while made < count:
        build = kinds[made % len(kinds)]
        p = int(rng.integers(sizes[0], sizes[1] + 1))
        S = build(rng, p)
        S = S / np.trace(S)
        rank = int((np.linalg.eigvalsh(S) > 1e-12).sum())
        k = min(int(rng.integers(1, 4)), rank)
        if rng.random() < 0.2 and rank == p and p <= 3:
            k = p
        cards = tuple(int(c) for c in rng.integers(1, p + 1, size=k))
        if _tuples(p, cards) > 2000:
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


def _equicorrelated(rng: np.random.Generator, p: int) -> np.ndarray:
    share = rng.uniform(0.05, 0.95)
    return share * np.ones((p, p)) + (1.0 - share) * np.eye(p)


def _unequal(rng: np.random.Generator, p: int) -> np.ndarray:
    X = rng.standard_normal((p + 3, p)) * 10.0 ** rng.uniform(-4.0, 4.0, size=p)  # variances of 1e-8 to 1e8
    return X.T @ X


def _tuples(p: int, cards: tuple[int, ...]) -> int:
    sizes = [len(list(combinations(range(p), c))) for c in cards]
    return int(np.prod(sizes))


def best_of_all(case: Case, measure: str, seed: int = 0) -> tuple[float, np.ndarray]:
    """Return the largest measure over all supports (and orders, if they matter), with its loadings.

    Ascents start from eigenvectors and from random loadings.
    """
    rng = np.random.default_rng(seed)
    p, best, V = len(case.S), -np.inf, np.zeros((len(case.S), len(case.cards)))
    orders = sorted(set(permutations(case.cards))) if measure == "adjusted" else [case.cards]
    for cards in orders:
        criterion = OBJECTIVES[measure].criterion.of_matrix(case.S, cards)
        choices = product(*(combinations(range(p), c) for c in cards))
        if measure != "adjusted":  # the order does not matter: use one order of each choice
            choices = (one for one in choices if _sorted(one, cards))
        places = np.array([sum(one, ()) for one in choices])
        leading = eigenvector_starts(case.S, places, cards)
        starts = np.concatenate([*leading, rng.standard_normal((STARTS * len(places), places.shape[1]))])
        places = np.tile(places, (len(leading) + STARTS, 1))
        fits = refined(criterion, criterion.fits(places, starts), STEPS[0])
        fits = refined(criterion, fits.subset(np.argsort(-fits.value)[:KEPT]), STEPS[1])
        top = int(np.argmax(fits.value))
        if fits.value[top] > best:
            best = float(fits.value[top])
            V = criterion.dense(fits.subset(np.array([top])))[0]
    if measure == "least_squares":
        return exact_share(case.S, V), V
    if measure == "pev":  # the criterion loses digits if variances are very unequal
        Q = orth(V, rcond=DEPENDENT)
        return float(np.trace(Q.T @ case.S @ Q)), V
    return best, V


def eigenvector_starts(S: np.ndarray, places: np.ndarray, cards: tuple[int, ...]) -> list[np.ndarray]:
    """Return loadings on given supports: each component has the first or second eigenvector of its block.

    If one factor dominates, the later components of the best fits are contrasts such as second eigenvectors,
    which ascents from random loadings may miss.

    Parameters
    ----------
    S : ndarray of shape (p, p)
    places : ndarray of int, shape (n, sum of cards)
        The supports of the components, one after another.
    cards : tuple of int

    Returns
    -------
    list of ndarrays of shape (n, sum of cards)
        One array for each choice of the first or second eigenvector for the components.
    """
    parts = []
    for T in np.split(places, np.cumsum(cards)[:-1], axis=1):
        vectors = np.linalg.eigh(S[T[:, :, None], T[:, None, :]])[1]
        parts.append([vectors[:, :, -1 - i] for i in range(min(2, T.shape[1]))])
    return [np.concatenate(one, axis=1) for one in product(*parts)]


def exact_share(S: np.ndarray, V: np.ndarray) -> float:
    """Return the least-squares share in rational arithmetic: floats lose digits if variances are unequal."""
    A, W = ([[Fraction(x) for x in row] for row in one.tolist()] for one in (S, V.T))
    p, k = len(A), len(W)
    scores = [[sum(w[i] * A[i][j] for i in range(p)) for j in range(p)] for w in W]
    share = Fraction(0)
    for t in range(k):  # Gram-Schmidt on the scores: each explains its squared residual
        size = sum(x * w for x, w in zip(scores[t], W[t], strict=True))
        if size:
            share += sum(x * x for x in scores[t]) / size
        for r in range(t + 1, k) if size else ():
            slope = sum(x * w for x, w in zip(scores[r], W[t], strict=True)) / size
            W[r] = [w - slope * v for w, v in zip(W[r], W[t], strict=True)]
            scores[r] = [x - slope * y for x, y in zip(scores[r], scores[t], strict=True)]
    return float(share / sum(A[i][i] for i in range(p)))


def _sorted(supports: tuple[tuple[int, ...], ...], cards: tuple[int, ...]) -> bool:
    return all(
        supports[i] <= supports[j]
        for i in range(len(cards))
        for j in range(i + 1, len(cards))
        if cards[i] == cards[j]
    )


def poor_fit(case: Case, seed: int) -> np.ndarray:
    """Return random loadings with the cardinalities of a problem, from which a proof can start."""
    rng = np.random.default_rng(seed)
    V = np.zeros((len(case.S), len(case.cards)))
    for i, card in enumerate(case.cards):
        T = rng.choice(len(case.S), size=card, replace=False)
        V[T, i] = rng.standard_normal(card)
    return V / np.linalg.norm(V, axis=0)


def best_orthogonal(case: Case, seed: int = 0) -> tuple[float, np.ndarray]:
    """Return the largest sum of variances of orthonormal loadings over all supports, with the loadings."""
    rng = np.random.default_rng(seed)
    p, k = len(case.S), len(case.cards)
    every = product(*(combinations(range(p), c) for c in case.cards))
    chosen = [one for one in every if _sorted(one, case.cards)]
    places = np.array([np.concatenate([sorted(T) for T in supports]) for supports in chosen], dtype=int)
    loadings = ExactLoadings(case.S, case.cards, ORTHOGONAL_LOADINGS, PEV)
    best, found = -np.inf, np.zeros((p, k))
    for number in range(STARTS):
        start = rng.standard_normal(places.shape)
        if number == 0:
            eigenvectors = [[np.linalg.eigh(case.S[np.ix_(T, T)])[1][:, -1] for T in one] for one in chosen]
            start = np.stack([np.concatenate(vectors) for vectors in eigenvectors])
        x, values, _ = loadings.best_loadings(places, start, STEPS[1])
        top = int(np.argmax(values))
        if values[top] > best:
            best, found = float(values[top]), np.zeros((p, k))
            found[places[top], loadings.owner] = x[top]
    return best, found


def violations(case: Case, measure: str, seed: int) -> list[str]:
    """Return a sentence for every bound of one problem that is below the best fit."""
    orthogonal = measure == "orthogonal"
    if orthogonal and _tuples(len(case.S), case.cards) > ORTHOGONAL:
        return []
    best, V = best_orthogonal(case, seed) if orthogonal else best_of_all(case, measure, seed)
    if not V.any(axis=0).all():
        return []  # no orthogonal loadings have these cardinalities
    label = f"{seed} {case.kind} {case.cards} {measure}"
    wrong = [
        f"{label}: {name} {bound!r} is below the fit {best!r}"
        for name, bound in pieces(case, measure, V, best)
        if bound < best - ROUNDING
    ]
    poor = _poor_orthogonal(case, seed) if orthogonal else poor_fit(case, seed)
    for start, stops in ((V, STOPS), (poor, POOR_STOPS)):
        cards = tuple(np.count_nonzero(start, axis=0).tolist())
        if orthogonal and sorted(cards) != sorted(case.cards):
            continue  # the best loadings on these supports have fewer nonzeros, which is another problem
        for most in stops:
            found = certify_joint(
                Gram(case.S),
                start,
                "pev" if orthogonal else measure,
                orthogonal=orthogonal,
                max_nodes=most,
                time_limit=SECONDS,
            )
            wrong += [f"{label} {most}: {text}" for text in _faults(found, best)]
            if most is None or found.nodes < most:
                break  # the search ended before this many nodes; larger limits change nothing
    return wrong


def _poor_orthogonal(case: Case, seed: int) -> np.ndarray:
    """Return random orthonormal loadings, with fewer nonzeros if the supports allow no more."""
    rng = np.random.default_rng(seed)
    V = poor_fit(case, seed)
    for j in range(V.shape[1]):
        T = np.flatnonzero(V[:, j])
        room = null_space(V[T, :j].T) if j else np.eye(len(T))
        if not room.shape[1]:
            return np.zeros_like(V)
        V[T, j] = room @ rng.standard_normal(room.shape[1])
        V[:, j] /= np.linalg.norm(V[:, j])
    return V


def pieces(case: Case, measure: str, V: np.ndarray, best: float) -> Iterator[tuple[str, float]]:
    """Yield the name and value of every single bound; none may be below the value of a fit."""
    orthogonal = measure == "orthogonal"
    problem = relaxed(case.S, case.cards, "pev" if orthogonal else measure, orthogonal)
    yield "dense", problem.dense()
    singles, rows = _chosen(problem, V)
    if singles is None:
        return
    if problem.m:
        yield "elimination", float(problem.single_bounds(singles[None])[0])
    root = problem.root(singles)
    count = len(problem.cards)
    for level in range(count + 1):
        chosen = rows[None, :level]
        for steps in (0, 10, 60, 120):
            yield f"dual of {level}", float(problem.bounds([root], chosen, 0.0, steps, lambda: True)[0])
        if root.reach is not None:
            union = root.mask
            for t in range(level):
                union |= int(problem.masks[t][rows[t]])
            left = min(sum(problem.cards[level:]), len(root.reach) - 1)
            yield f"unions of {level}", float(root.reach[left][union])
        if root.sums is not None and level < count:
            ceilings = root.sums.ceilings(chosen, level, 0.0)
            yield f"sum of {level}", float(ceilings[0, rows[level]])
    if measure == "adjusted":  # only this measure has further bounds at leaves, never below their threshold
        for number, bounds in enumerate(problem.leaf_bounds):
            until = time.process_time() + LEAF_SECONDS
            (found,) = bounds([root], rows[None], 0.999 * best, lambda end=until: time.process_time() < end)
            yield f"leaf {number}", float(found)


def _chosen(problem: Relaxed, V: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the variables of components of one variable, and the row of the support of each other component.

    None if two components consist of the same variable, and so explain no more than one of them.
    """
    supports = sorted((np.flatnonzero(v) for v in V.T), key=len)
    singles = np.array([T[0] for T in supports[: problem.m]], dtype=int)
    if len(set(singles.tolist())) < problem.m:
        return None, singles
    variables = np.arange(problem.p)
    if problem.variables < problem.p:
        variables = np.setdiff1d(variables, singles)
    rows = []
    for c, places, T in zip(problem.cards, problem.supports, supports[problem.m :], strict=False):
        kept = np.isin(variables, T)  # other variables replace those of the single components
        kept[np.flatnonzero(~kept)[: c - int(kept.sum())]] = True
        rows.append(int(np.flatnonzero((places == np.flatnonzero(kept)).all(axis=1))[0]))
    return np.sort(singles), np.array(rows, dtype=int)


def _faults(found: JointCertificate, best: float) -> Iterator[str]:
    if found.upper_bound < best - ROUNDING:
        yield f"bound {found.upper_bound!r} below the fit {best!r}"
    if found.upper_bound > found.pca_bound:
        yield f"bound {found.upper_bound!r} above PCA's {found.pca_bound!r}"
    if found.best_known > found.upper_bound:
        yield f"bound {found.upper_bound!r} below its fit {found.best_known!r}"
    if found.optimal and found.value < best * (1.0 - 1.1e-4):
        yield f"{found.value!r} is called optimal, and {best!r} is better"


def enumerated(given: argparse.Namespace) -> Table:
    """Compare bounds of problems of 2 to 6 variables with the best fits."""
    return _enumerated(given, (2, 6), 0)


def enumerated_larger(given: argparse.Namespace) -> Table:
    """Compare bounds of problems of 4 to 7 variables, of more kinds, with the best fits."""
    return _enumerated(given, (4, 7), 3)


def _enumerated(given: argparse.Namespace, sizes: tuple[int, int], seed: int) -> Table:
    """Count the bounds below the best fit, by kind of matrix."""
    begun = time.perf_counter()
    finished: dict[int, tuple[str, list[str]]] = {}
    for fewest, most, number, kind, wrong in stored_lines(given.done):
        if (fewest, most) == sizes:
            finished[number] = kind, wrong
    for number, case in enumerate(cases(given.count, seed, sizes)):
        if number in finished:
            continue
        if time.perf_counter() - begun > 60.0 * given.minutes:
            break
        wrong = [one for measure in MEASURES for one in violations(case, measure, number)]
        finished[number] = case.kind, wrong
        store_line(given.done, [*sizes, number, case.kind, wrong])
        print(*wrong, sep="\n", end="", flush=True)
    head = ["kind of matrix", "problems", "violations"]
    title = f"Bounds compared with enumeration of all supports, {sizes[0]} to {sizes[1]} variables"
    table = Table(title, head)
    for kind in dict.fromkeys(kind for kind, _ in finished.values()):
        counts = [len(wrong) for one, wrong in finished.values() if one == kind]
        table.rows.append([kind, str(len(counts)), str(sum(counts))])
    table.notes.append(
        f"{len(finished)} random problems with up to 3 components. Each is proven by four measures, from the "
        "best and from a poor fit, stopped after 1, 10 and 100 nodes or not at all, and every bound is "
        "compared at every level."
    )
    return table


def pitprops(given: argparse.Namespace) -> Table:
    """Prove fits of pitprops."""
    return of_pitprops(Call(given.data, given.full))


def adjusted(given: argparse.Namespace) -> Table:
    """Prove adjusted variance for several data sets."""
    return of_adjusted_variance(Call(given.data, given.full))


TABLES: dict[str, Callable[[argparse.Namespace], Table]] = {
    "pitprops": pitprops,
    "adjusted": adjusted,
    "ablation": ablation,
    "enumerated": enumerated,
    "enumerated-larger": enumerated_larger,
}


def main(arguments: list[str] | None = None) -> int:
    """Make and print the tables, and write them if ``--write`` is given."""
    parser = command_line("proofs", __doc__, TABLES)
    parser.add_argument("--full", action="store_true", help="at most 60 s a proof instead of 10 s")
    parser.add_argument("--count", type=int, default=300, help="random problems, 300 by default")
    parser.add_argument("--done", type=Path, metavar="FILE", help="store finished problems, and continue")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no problem after this time")
    given = read_arguments(parser, TABLES, arguments)
    run_tables("proofs", given, TABLES, given, ", one thread")
    return 0


if __name__ == "__main__":
    sys.exit(main())
