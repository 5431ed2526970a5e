"""One fit: solver, deflation, and the choice between starts and orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

import numpy as np

from spcastat.arguments import plural
from spcastat.errors import ComponentsError
from spcastat.fit.plan import STARTS, Plan, Start, require_memory
from spcastat.linalg.deflation import Removed, deflate, deflate_rows
from spcastat.linalg.eigenvectors import (
    first_max,
    flip_signs,
    numerical_rank,
    ranked,
    symmetric,
    unit,
    varimax,
)
from spcastat.linalg.operators import GRAM_ORDER, Operator, Rows
from spcastat.measures import adjusted_variances, best_order
from spcastat.progress import stage
from spcastat.search.chains import optima_of
from spcastat.search.enumeration import best_of_all_choices, few_choices
from spcastat.search.equal_variables import first_single_variables
from spcastat.search.objectives import PEV, Objective
from spcastat.solvers.solver import ADVICE, Component, ComponentSolver, Earlier, JointSolver, Solution, Solver

# --- the fit --------------------------------------------------------------------------------------


#: The largest number of orders of the cardinalities that are tried.
MOST_ORDERS = 6


@dataclass(frozen=True, eq=False)
class Fit:
    """A solution in its final order and sign, with the reference values of PCA.

    Attributes
    ----------
    solution : Solution
    order : ndarray of shape (k,)
        The position of each component before sorting.
    pca : ndarray of shape (k,)
        The k leading eigenvalues of the covariance matrix, in the operator's unit.
    optima : tuple of (float, int)
        Distinct values of the objective reached by starts or a search, as shares of the total variance, the
        best first, and how often each was reached; empty for methods that do not compare starts.
    pca_errors : ndarray of shape (k,), or None
        Estimated amounts by which `pca` may be too small, if it was computed in few passes over the rows.
    """

    solution: Solution
    order: np.ndarray
    pca: np.ndarray
    optima: tuple[tuple[float, int], ...] = ()
    pca_errors: np.ndarray | None = None


def run(op: Operator, plan: Plan, k: int, rng: np.random.Generator, starts: np.ndarray | None = None) -> Fit:
    """Fit k components.

    Parameters
    ----------
    op : Operator
    plan : Plan
        The plan. The options of its solver and the values of the solution are in the units of the data, for
        any `unit` of the operator.
    k : int
    rng : numpy Generator
        Source of random starts.
    starts : ndarray of shape (m, k, p), optional
        Additional starting loadings, for a joint solver that uses starts.

    Raises
    ------
    ComponentsError
        If the covariance matrix has a rank below k.
    OptionError
        If the rows are not in memory, and the method needs hundreds of passes over them.
    """
    if plan.order == "best":
        return _in_the_best_order(op, plan, k, rng, starts)
    solver = inward(plan.solver, op.unit)
    start, n_init = plan.start, plan.n_init
    if op.out_of_core:
        require_memory(op.p, solver)
    values, vectors, errors = leading_components(op, k, not solver.measured_by_pca, solver.eigenpairs(op, k))
    if isinstance(solver, JointSolver):
        loadings = starting_loadings(op, vectors, n_init, rng, first_loadings(op, vectors, start))
        if starts is not None and solver.uses_starts:
            loadings = np.concatenate([loadings, starts])
        solution = (
            solver.solve(op, k, loadings, rng)
            if solver.at_once
            else _best_solution(op, solver, k, loadings, rng)
        )
        if plan.compares_supports and (plan.aim is None or plan.aim.reconstructs):
            solution = _of_all_supports(op, solution, solver.card, PEV)  # type: ignore[attr-defined]
            if op.p <= GRAM_ORDER:
                solution = replace(solution, V=first_single_variables(op, solution.V))
    else:
        assert isinstance(solver, ComponentSolver)
        solution = _one_by_one(op, solver, values, n_init, rng, start)
    return _finished(op, plan, solver, solution, (values, errors))


def run_path(op: Operator, plan: Plan, cards: Sequence[tuple[int, ...]], seed: int) -> list[Fit]:
    """Fit many cardinalities by the joint search; fits of neighbouring cardinalities are used as starts.

    Raises
    ------
    ComponentsError
        If the covariance matrix has a rank below k.
    """
    k = len(cards[0])
    sketched, n_computed = not plan.solver.measured_by_pca, plan.solver.eigenpairs(op, k)
    values, _, errors = leading_components(op, k, sketched, n_computed)
    solutions = cast(Any, plan.solver).path(op, k, cards, seed)
    plans = [plan.with_card(card) for card in cards]
    return [
        _finished(op, plan_of_card, plan_of_card.solver, solution, (values, errors))
        for plan_of_card, solution in zip(plans, solutions, strict=True)
    ]


def leading_components(
    op: Operator, k: int, sketched: bool = False, n_computed: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the k leading eigenvalues and eigenvectors, and the errors of the eigenvalues, if known.

    If the solver will need more eigenpairs, `n_computed` is their number; they are computed once and cached.

    Raises
    ------
    ComponentsError
        If the rank of the covariance matrix is below k.
    """
    if k > op.rank_limit:
        raise ComponentsError(_rank_below(k, op.rank_limit))
    errors = None
    if sketched and op.out_of_core:
        values, vectors, errors = op.sketched(k)
    else:
        values, vectors = op.leading(n_computed or k)
        values, vectors = values[:k], vectors[:, :k]
    rank = numerical_rank(values, op.p)
    if rank < k:
        raise ComponentsError(_rank_below(k, rank))
    return values, vectors, errors


def _finished(
    op: Operator, plan: Plan, solver: Solver, solution: Solution, pca: tuple[np.ndarray, np.ndarray | None]
) -> Fit:
    """Return a solution in its final order, sign and units; `pca` contains eigenvalues and their errors."""
    k = solution.V.shape[1]
    groups = plan.groups(k)
    optima = list(solution.optima)
    if plan.aim is not None and isinstance(solver, JointSolver):
        solution, optima = best_of_starts(op, solution, plan.aim, plan.method.criterion_of, groups)
        if plan.compares_supports and not plan.aim.reconstructs:
            card = solver.card  # type: ignore[attr-defined]
            solution = _of_all_supports(op, replace(solution, candidates=None), card, plan.aim)
            optima = optima_of(value / op.total for value in solution.objectives)
            if plan.aim.ordered and plan.order is None and solution.status == "compared":
                groups = np.arange(k)  # all orders of the components have been compared
    V, order = order_and_sign(op, solution.V, groups)
    details = {name: [column[j] for j in order] for name, column in solution.details.items()}
    details = _with_hits(solver, details, V, order)
    rotated = None if solution.rotated is None else solution.rotated[:, order]
    if rotated is not None:
        rotated = rotated * np.where((rotated * V).sum(axis=0) < 0, -1.0, 1.0)
    solution = replace(solution, V=V, details=details, candidates=None, rotated=rotated)
    if solver.own_order and solver.in_variance_units and order.tolist() != list(range(k)):
        value = float(adjusted_variances(V, op).sum())
        solution = replace(solution, objective=value, objectives=np.array([value]))
    return Fit(outward(solution, solver, op.unit), order, pca[0], tuple(optima), pca_errors=pca[1])


def _in_the_best_order(
    op: Operator, plan: Plan, k: int, rng: np.random.Generator, starts: np.ndarray | None
) -> Fit:
    """Fit with the cardinalities in several orders; return the fit with the largest adjusted variance.

    The first two orders are the given order and descending order. Each further order is the one that
    maximises the adjusted variance of the components of the best fit so far. The search ends when this order
    has already been tried, or after `MOST_ORDERS` orders.
    """
    card = np.array(plan.solver.card)  # type: ignore[attr-defined]  # the plan has checked that there is one
    best_fit: Fit | None = None
    fit_order = np.arange(k)
    visited: set[tuple[int, ...]] = set()
    orders = [np.arange(k), np.argsort(-card, kind="stable")]
    while orders and len(visited) < MOST_ORDERS:
        order = orders.pop(0)
        cards = tuple(card[order].tolist())
        if cards not in visited:
            visited.add(cards)
            fit = run(op, replace(plan.with_card(cards), order=None), k, rng, starts)
            # values with a relative difference below 1e-10 count as equal
            if best_fit is None or fit.solution.objective > best_fit.solution.objective * (1.0 + 1e-10):
                best_fit, fit_order = fit, order
        if not orders:
            assert best_fit is not None
            orders = [fit_order[best_order(op.products(best_fit.solution.V))]]
            if tuple(card[orders[0]].tolist()) in visited:
                break
    assert best_fit is not None
    return replace(best_fit, order=fit_order[best_fit.order])


def _with_hits(solver: Solver, details: dict[str, Any], V: np.ndarray, order: np.ndarray) -> dict[str, Any]:
    """Return the details with "card hit": whether each component has the requested number of nonzeros.

    "card hit" is computed from the final loadings, for every method with the option `card`. If a method has
    no other details, "card hit" is included only if it is False for some component.
    """
    card = getattr(solver, "card", None)
    if card is None:
        return details
    nonzero = V != 0
    for place, i in enumerate(order if solver.ruled and getattr(solver, "include", None) else ()):
        nonzero[list(solver.include[i]), place] = True  # type: ignore[attr-defined]  # even if zero
    if getattr(solver, "together", None):  # the cardinality counts groups
        nonzero = np.array([nonzero[list(members)].any(axis=0) for _, members in solver.together])  # type: ignore[attr-defined]
    hits = [bool(hit) for hit in np.count_nonzero(nonzero, axis=0) == np.array(card)[order]]
    return {**details, "card hit": hits} if details or not all(hits) else details


def _one_by_one(
    op: Operator, solver: ComponentSolver, pca: np.ndarray, n: int, rng: np.random.Generator, start: Start
) -> Solution:
    k = len(pca)
    V = np.zeros((op.p, k))
    view: Operator = op
    explained = 0.0
    parts: list[Component] = []
    with stage("one component after another", k, "components") as advance:
        for i in range(k):
            earlier = Earlier(i, explained, pca, rng, V[:, :i])
            starts = of_component(view, start, i, n, rng) if solver.uses_starts else [np.zeros(op.p)]
            part = _better_part(view, [solver.component(view, earlier, v) for v in starts])
            parts.append(part)
            V[:, i] = part.v
            variance = float(part.v @ view.dot(part.v))
            explained += variance
            if i < k - 1:
                raw = part.raw
                if raw is None:  # by least squares, so that "residual" does not depend on the scale
                    raw = part.v * np.sqrt(max(variance, 0.0))
                removed = Removed(part.v, raw, V[:, :i])
                if solver.needs == "rows":
                    assert isinstance(view, Rows)
                    view = deflate_rows(view, removed, solver.deflation)
                else:
                    view = deflate(view, removed, solver.deflation)
            advance(1)
    worst_status = max((part.status for part in parts), key=list(ADVICE).index)
    names = dict.fromkeys(name for part in parts for name in part.details)
    details = {name: [part.details.get(name) for part in parts] for name in names}
    objectives = [part.objective for part in parts if part.objective is not None]
    value = float(sum(objectives)) if len(objectives) == k else float(adjusted_variances(V, op).sum())
    return Solution(V, worst_status, sum(part.n_iter for part in parts), value, np.array([value]), details)


def _better_part(view: Operator, parts: list[Component]) -> Component:
    """Return the component with the largest criterion of the solver, by default the variance."""
    if len(parts) == 1:
        return parts[0]
    values = [
        float(part.v @ view.dot(part.v)) if part.objective is None else part.objective for part in parts
    ]
    return parts[first_max(np.array(values))]


def _best_solution(
    op: Operator, solver: JointSolver, k: int, starts: np.ndarray, rng: np.random.Generator
) -> Solution:
    """Return the fit with the largest adjusted variance over the starts."""
    solutions = [solver.solve(op, k, start[None], rng) for start in starts]
    if len(solutions) == 1:
        return solutions[0]
    argmax = first_max(np.array([adjusted_variances(solution.V, op).sum() for solution in solutions]))
    return replace(solutions[argmax], objectives=np.array([solution.objective for solution in solutions]))


def _of_all_supports(op: Operator, solution: Solution, card: tuple[int, ...], aim: Objective) -> Solution:
    """Return the best nonnegative solution over all supports if there are few; otherwise the solution."""
    if not few_choices(op.p, card):
        return solution
    S = symmetric(op.block(np.arange(op.p)))
    V = best_of_all_choices(S, card, solution.V, aim.name)
    if V is solution.V:
        return replace(solution, status="compared", criterion=_criterion_of(solution, aim))
    value = float(aim.measure(V, op)[-1])
    value = op.total * (1.0 - value if aim.reconstructs else value)
    return replace(
        solution,
        V=V,
        status="compared",
        objective=value,
        criterion=_criterion_of(solution, aim),
        objectives=np.append(solution.objectives, value),
        candidates=None if solution.candidates is None else np.concatenate([solution.candidates, V.T[None]]),
    )


def _criterion_of(solution: Solution, aim: Objective) -> str | None:
    """Return the name of the criterion compared; for PEV it is the criterion that the solver minimises."""
    return solution.criterion if aim.reconstructs else aim.label


def _rank_below(k: int, rank: int) -> str:
    """Return the message for data whose rank is below the number of components."""
    if rank <= 0:
        return f"k={k} was given, but the data have no variance: every column is constant."
    return f"k={k} was given, but the data have rank {rank}; ask for at most {plural(rank, 'component')}."


# --- the choice between starts --------------------------------------------------------------------


def best_of_starts(
    op: Operator, solution: Solution, aim: Objective, criterion_of: str | None, groups: np.ndarray
) -> tuple[Solution, list[tuple[float, int]]]:
    """Choose between the starts of a joint solver by the objective `aim`.

    `criterion_of` is the name of the objective that the solver itself optimises.

    Returns
    -------
    solution : Solution
    optima : list of (float, int)
        Every distinct value of the objective, as a share of the total variance, and the number of starts
        that reached it.
    """
    candidates = solution.candidates
    if candidates is None or aim.name == criterion_of:  # the solver's own criterion, at its best U
        return solution, optima_of(1.0 - value / op.total for value in solution.objectives)
    values = [float(aim.measure(order_and_sign(op, V.T, groups)[0], op)[-1]) for V in candidates]
    argmax = int(np.argmax(values))
    best_solution = replace(
        solution,
        V=candidates[argmax].T,
        objective=values[argmax] * op.total,
        objectives=np.array(values) * op.total,
        criterion=f"{aim.label}, best of the starts",
    )
    return best_solution, optima_of(values)


# --- order and signs ------------------------------------------------------------------------------


def order_and_sign(op: Operator, V: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loadings in their final order with their final signs, and the permutation.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
    groups : ndarray of int, shape (k,)
        Components of a group are sorted by decreasing variance of their scores, within the positions of the
        group. Components of equal variance are sorted by their supports.

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
    sizes = -np.abs(used).round(9)  # rounded, so that rounding errors do not affect the order
    order = np.lexsort([*sizes[::-1], *(used == 0)[::-1]])  # lexsort sorts by its last key first
    return np.argsort(order).astype(float)


# --- units ----------------------------------------------------------------------------------------


S = TypeVar("S", bound=Solver)


def inward(solver: S, unit: float) -> S:
    """Return the solver for data divided by `unit`, with its options converted to these units.

    The entry "objective" of `units` is the unit of the value of the objective; the option of this name has no
    unit.
    """
    if unit == 1.0:
        return solver
    powers = dict(solver.units)
    changes = {
        option.name: _times(getattr(solver, option.name), unit ** -powers[option.name])
        for option in fields(solver)  # type: ignore[arg-type]  # every solver is a dataclass
        if option.name in powers and option.name != "objective"
    }
    return replace(solver, **changes) if changes else solver  # type: ignore[type-var]


def outward(solution: Solution, solver: Solver, unit: float) -> Solution:
    """Convert the values of a solution for data divided by `unit` back to the units of the data."""
    if unit == 1.0:
        return solution
    powers = dict(solver.units)
    factor = unit ** powers.get("objective", 0)
    return replace(
        solution,
        objective=solution.objective * factor,
        objectives=solution.objectives * factor,
        details={
            name: _times(values, unit ** powers[name]) if name in powers else values
            for name, values in solution.details.items()
        },
    )


def _times(value: Any, factor: float) -> Any:
    """Return a number or a sequence of numbers times `factor`; None is returned unchanged."""
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return type(value)(_times(element, factor) for element in value)
    return value * factor


# --- starting loadings ---------------------------------------------------------------------------


def first_loadings(op: Operator, pca: np.ndarray, start: Start) -> np.ndarray:
    """Return the first start of all components together.

    Parameters
    ----------
    op : Operator
    pca : ndarray of shape (p, k)
        PCA's loadings.
    start : str or ndarray of shape (p, k)
        "column" starts from single variables, each with the largest variance given the earlier variables.

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
    op: Operator,
    pca: np.ndarray,
    n_init: int,
    rng: np.random.Generator,
    first_start: np.ndarray | None = None,
) -> np.ndarray:
    """Return `n_init` starts of all components together.

    Parameters
    ----------
    op : Operator
    pca : ndarray of shape (p, k)
        PCA's loadings: the first start, or the second if `first_start` is given.
    n_init : int
    rng : numpy Generator
    first_start : ndarray of shape (p, k), optional
        The first start, if it is not PCA.

    Returns
    -------
    ndarray of shape (n_init, k, p)
        The first start, PCA, its varimax rotations without and with Kaiser's normalisation, then alternating
        row-seeded and random starts.
    """
    starts = [pca] if first_start is None or first_start is pca else [first_start, pca]
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
    view: Operator, start: Start, component: int, n_init: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield `n_init` starts, each of shape (p,), for component number `component` on the deflated data.

    The starts are the requested start, the other named starts (see STARTS), then random columns of the
    covariance matrix and random directions.
    """
    other_names = [name for name in STARTS if isinstance(start, np.ndarray) or name != start]
    for start_of_component in [start, *other_names][:n_init]:
        if isinstance(start_of_component, np.ndarray):
            yield unit(start_of_component[:, [component]])[:, 0]
        elif start_of_component == "pca":
            yield view.leading(1)[1][:, 0]
        else:
            yield first_loadings(view, np.zeros((view.p, 1)), start_of_component)[:, 0]
    for turn in range(n_init - 1 - len(other_names)):
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
    residual_variances = np.array(op.diagonal(), dtype=float)
    factor, V = np.zeros((op.p, k)), np.zeros((op.p, k))
    for j in range(k):
        i = first_max(residual_variances)
        column = op.columns(np.array([i]))[:, 0] - factor[:, :j] @ factor[i, :j]
        factor[:, j] = column / np.sqrt(max(residual_variances[i], np.finfo(float).tiny))
        residual_variances = np.maximum(residual_variances - factor[:, j] ** 2, 0.0)
        residual_variances[i] = 0.0
        V[i, j] = 1.0
    return V
