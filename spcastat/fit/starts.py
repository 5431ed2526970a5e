"""Starting loadings, screening of many variables, and the final order and signs.

Screening forms the covariance matrix for the candidates only. Other variables become candidates as long as an
exchange with one of them improves the fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import GRAM_ORDER, Gram, Operator
from spcastat.linalg.ties import first_max, flip_signs, ranked, top, unit
from spcastat.measures import MEASURES, measure_named
from spcastat.progress import stage
from spcastat.search.climbing import OBJECTIVES, Optima
from spcastat.search.working_set import gram_of, improved
from spcastat.solvers.bcd import BCD
from spcastat.solvers.solver import Solution, Solver

# --- order and signs ------------------------------------------------------------------------------


def order_and_sign(op: Operator, V: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loadings in their final order with their final signs, and the permutation.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
    groups : ndarray of int, shape (k,)
        Components of one group are sorted by the variance of their scores, the largest first; groups keep
        their places. Components of equal variance are sorted by their supports.

    Returns
    -------
    V : ndarray of shape (p, k)
        The largest absolute loading of each component is positive.
    order : ndarray of int, shape (k,)
        The previous position of each component.
    """
    order = np.arange(V.shape[1])
    if len(set(groups.tolist())) < len(order):
        variances, supports = np.diag(op.products(V)), -_by_support(V)
        for group in set(groups.tolist()):
            places = np.flatnonzero(groups == group)
            order[places] = places[ranked(variances[places], supports[places])]
    V = V[:, order]
    return V * flip_signs(V) + 0.0, order  # turns -0.0 into 0.0


def _by_support(V: np.ndarray) -> np.ndarray:
    """Return the rank of each column by its support, then by its absolute loadings."""
    used = V[V.any(axis=1)]
    sizes = -np.abs(used).round(9)  # so that rounding errors do not decide
    order = np.lexsort([*sizes[::-1], *(used == 0)[::-1]])  # lexsort sorts by its last key first
    return np.argsort(order).astype(float)


# --- starting loadings ----------------------------------------------------------------------------


#: Names of starts, in the order in which they are used.
STARTS = ("pca", "column", "ones")

#: A name in STARTS, or loadings of shape (p, k); a frame until its rows are matched with the variables.
Start = str | np.ndarray | pd.DataFrame


def matched(start: Start, columns: pd.Index) -> Start:
    """Return a start with its rows in the order of the variables, matched by name if they have names."""
    if not isinstance(start, pd.DataFrame):
        return start
    missing = [name for name in columns if name not in start.index]
    if missing or not start.index.is_unique:
        raise OptionError(
            f"start has no row for {listed(missing)}; its rows must be the variables."
            if missing
            else "start has rows of the same name; each variable needs one."
        )
    return np.asarray(start.loc[columns], dtype=float)


def first_loadings(op: Operator, pca: np.ndarray, start: Start) -> np.ndarray:
    """Return the first start of all components together.

    Parameters
    ----------
    op : Operator
    pca : ndarray of shape (p, k)
        PCA's loadings.
    start : str or ndarray of shape (p, k)
        "column" starts from single variables: each is the one with the largest variance given the earlier
        ones.

    Returns
    -------
    ndarray of shape (p, k), columns of unit length
    """
    if isinstance(start, np.ndarray):
        return unit(start)
    if start == "ones":
        return np.full(pca.shape, op.p**-0.5)
    return pca if start == "pca" else _longest_columns(op, pca.shape[1])


def starting_loadings(
    op: Operator, pca: np.ndarray, n_init: int, rng: np.random.Generator, first: np.ndarray | None = None
) -> np.ndarray:
    """Return `n_init` starts of all components together.

    Parameters
    ----------
    op : Operator
    pca : ndarray of shape (p, k)
        PCA's loadings: the first start, or the second if `first` is given.
    n_init : int
    rng : numpy Generator
    first : ndarray of shape (p, k), optional
        The first start, if it is not PCA.

    Returns
    -------
    ndarray of shape (n_init, k, p)
        The first, PCA, its varimax rotations without and with Kaiser's normalisation, then row-seeded and
        random starts in turn.
    """
    starts = [pca] if first is None or first is pca else [first, pca]
    if n_init > len(starts):
        starts.append(unit(varimax(pca)))
    if n_init > len(starts):
        starts.append(unit(varimax(pca, normalise=True)))
    for number in range(len(starts), n_init):
        if number % 2:
            starts.append(row_seeded(op, pca.shape[1], rng))
        else:
            starts.append(np.linalg.qr(rng.standard_normal(pca.shape))[0])
    return np.ascontiguousarray(np.stack([start.T for start in starts[:n_init]]))


def of_component(
    view: Operator, start: Start, done: int, n_init: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield `n_init` starts, each of shape (p,), for the component after `done` others on the deflated data.

    They are the requested start, the other named starts (see STARTS), then random columns of the covariance
    matrix and random directions.
    """
    named = [name for name in STARTS if isinstance(start, np.ndarray) or name != start]
    for first in [start, *named][:n_init]:
        if isinstance(first, np.ndarray):
            yield unit(first[:, [done]])[:, 0]
        elif first == "pca":
            yield view.leading(1)[1][:, 0]
        else:
            yield first_loadings(view, np.zeros((view.p, 1)), first)[:, 0]
    for turn in range(n_init - 1 - len(named)):
        if turn % 2:
            yield np.linalg.qr(rng.standard_normal((view.p, 1)))[0][:, 0]
        else:
            yield row_seeded(view, 1, rng)[:, 0]


def row_seeded(op: Operator, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k different columns of the covariance matrix, drawn at random and scaled to unit length."""
    varying = np.flatnonzero(op.diagonal() > 0)
    seeds = rng.choice(varying, size=k, replace=varying.size < k)
    return unit(op.columns(seeds))


def _longest_columns(op: Operator, k: int) -> np.ndarray:
    """Return loadings with one nonzero each: the pivots of the Cholesky factorisation."""
    left = np.array(op.diagonal(), dtype=float)
    factor, V = np.zeros((op.p, k)), np.zeros((op.p, k))
    for j in range(k):
        i = first_max(left)
        column = op.columns(np.array([i]))[:, 0] - factor[:, :j] @ factor[i, :j]
        factor[:, j] = column / np.sqrt(max(left[i], np.finfo(float).tiny))
        left = np.maximum(left - factor[:, j] ** 2, 0.0)
        left[i] = 0.0
        V[i, j] = 1.0
    return V


# --- the choice between starts --------------------------------------------------------------------


Optimum = tuple[float, int]


@dataclass(frozen=True)
class Aim:
    """How the best of several fits is chosen.

    Attributes
    ----------
    objective : {"pev", "adjusted", "least_squares"}
        The measure that is maximised over the starts.
    screen : bool, int or None
        Whether to search among the variables of largest variance first and then check the result against all
        variables. An int is the number of variables to begin with; None decides by the size of the data.
    """

    objective: str = "pev"
    screen: bool | int | None = None


def chosen(op: Operator, solution: Solution, aim: Aim, groups: np.ndarray) -> tuple[Solution, list[Optimum]]:
    """Choose between the starts of a joint solver by the aim's objective.

    Returns
    -------
    solution : Solution
    optima : list of (float, int)
        Every distinct value of the objective, as a share of the total variance, and the number of starts
        that reached it.
    """
    optima = Optima()
    found = solution.candidates
    if aim.objective == "pev" or found is None:  # the solver's own criterion, at its best U
        for value in solution.objectives:
            optima.add(1.0 - value / op.total)
        return solution, optima.table()
    measure = measure_named(aim.objective)
    values = [float(measure(order_and_sign(op, V.T, groups)[0], op)[-1]) for V in found]
    for value in values:
        optima.add(value)
    best = int(np.argmax(values))
    better = replace(
        solution,
        V=found[best].T,
        objective=values[best] * op.total,
        objectives=np.array(values) * op.total,
        criterion=f"{OBJECTIVES[aim.objective]}, best of the starts",
    )
    return better, optima.table()


#: With more nonzeros than this in all, variables are screened on request only.
NONZEROS = GRAM_ORDER // 3


def candidates_to_begin(op: Operator, solver: Solver, aim: Aim | None) -> int | None:
    """Return the number of candidates to start with; None if the search should run on all variables.

    Raises
    ------
    OptionError
        If the data require screening, and the method or the call does not allow it.
    """
    few = op.held is not None or op.p <= GRAM_ORDER
    return candidates_among(op.p, solver, aim, must=op.out_of_core, few=few)


def candidates_among(p: int, solver: Solver, aim: Aim | None, *, must: bool, few: bool = False) -> int | None:
    """Return the result of :func:`candidates_to_begin` before any rows are read.

    Parameters
    ----------
    p : int
        Number of variables.
    solver : Solver
    aim : Aim or None
    must : bool
        Whether neither the rows nor their covariance matrix fit into memory.
    few : bool
        Whether the covariance matrix is in memory.
    """
    asked = None if aim is None else aim.screen
    if aim is None or aim.objective != "pev" or not solver.screenable:
        if must and not solver.out_of_core:
            raise OptionError(
                f"With {p} variables (more than {GRAM_ORDER}) that are not in memory this fit needs hundreds "
                "of passes over the rows: use method='joint', or method='bcd-l0' with card= and "
                "objective='pev'."
            )
        return None
    if asked is False:
        if must:
            raise OptionError(
                f"screen=False was given, but with {p} variables (more than {GRAM_ORDER}) that are not in "
                "memory a fit must be screened; leave screen out, or give the data in memory."
            )
        return None
    cards: tuple[int, ...] = solver.card  # type: ignore[attr-defined]  # screenable solvers have one
    nonzeros = sum(cards)
    if asked is None and not must and (few or nonzeros > NONZEROS):
        return None
    if asked is None or asked is True:
        # Two candidates for each nonzero loading, and at least 200
        asked = min(max(200, 2 * nonzeros), GRAM_ORDER)
        asked = max(asked, *cards)
    if asked < max(cards) or asked > GRAM_ORDER:
        raise OptionError(
            f"A screened fit starts with {asked} variables, but a component of {max(cards)} nonzeros "
            f"needs as many as that, and there may be at most {GRAM_ORDER}. Give a smaller card."
        )
    return min(asked, p)


# --- screening ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Screening:
    """How a fit was screened, and what was verified.

    Attributes
    ----------
    searched, variables : int
        Number of variables searched, and of all variables.
    rounds : int
        Number of searches.
    unexcluded : int
        Number of variables outside the search that would improve the fit by a swap, but for which the search
        had no room. A swap replaces a variable in the support of one component by another and refits the
        loadings of that component only. An improvement raises the explained variance (PEV) by more than a
        share of 1e-9.
    """

    searched: int
    variables: int
    rounds: int
    unexcluded: int


def screened(
    op: Operator,
    solver: BCD,
    vectors: np.ndarray,
    size: int,
    *,
    n_init: int,
    rng: np.random.Generator,
    starts: np.ndarray | None,
) -> tuple[Solution, list[Optimum], Screening, Gram, np.ndarray]:
    """Fit on the variables of largest variance, those with large PCA loadings, and those added by the tests.

    Parameters
    ----------
    op : Operator
    solver : BCD
    vectors : ndarray of shape (p, k)
        PCA's loadings. Restricted to the candidates, they are the first start. The variables with the largest
        loadings of each component, as many as its cardinality, are always candidates.
    size : int
        Number of variables of largest variance among the first candidates.
    n_init, rng, starts
        As for :func:`spcastat.fit.run`.

    Returns
    -------
    solution : Solution
        Its loadings have a row per candidate, shape (m, k).
    optima : list of (float, int)
    screening : Screening
    sub : Gram
        The covariance matrix of the candidates.
    candidates : ndarray of int, shape (m,)
        Ascending.

    Notes
    -----
    The solver runs on the first candidates; all later steps start from the loadings that it finds.
    """
    assert solver.card is not None
    inside = top(op.diagonal(), size)
    for v, card in zip(vectors.T, solver.card, strict=True):
        inside |= top(np.abs(v), card)
    if starts is not None:
        inside |= starts.any(axis=(0, 1))
    candidates = np.flatnonzero(inside)
    sub = gram_of(op, candidates)
    optima = Optima()
    with stage("screening", unit="rounds") as advance:
        first = unit(vectors[candidates])
        if not first.any(axis=0).all():  # a component of PCA is zero on all candidates
            first = sub.leading(first.shape[1])[1]
        tried = starting_loadings(sub, first, n_init, rng)
        tried = tried if starts is None else np.concatenate([tried, starts[:, :, candidates]])
        # Tolerance of the sweeps (or that of the call, if larger); swaps then improve the fit further
        coarse = replace(solver, tol=max(solver.tol, 1e-5))
        solution = coarse.solve(sub, first.shape[1], tried, rng)
        objectives = solution.objectives + (op.total - sub.total)
        ends = [solution.V] if solution.candidates is None else [V.T for V in solution.candidates]
        found = improved(op, candidates, ends, solver.card, advance)
    V, sub = found.V, found.sub
    explained = float(MEASURES["pev"](V, sub)[-1]) * sub.total
    value = op.total - explained
    best = objectives <= objectives.min() + solver.tol * op.total
    objectives = np.where(best, value, objectives)  # V comes from the best starts
    for one in objectives:
        optima.add(1.0 - float(one) / op.total)
    solution = replace(
        solution, V=V, status="converged", objective=value, objectives=objectives, candidates=None
    )
    screening = Screening(len(found.variables), op.p, found.rounds, found.left)
    return solution, optima.table(), screening, sub, found.variables
