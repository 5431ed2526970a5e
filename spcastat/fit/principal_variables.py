"""A choice of principal variables: its request, its results as shares of the variance, and its tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from spcastat.arguments import (
    elements,
    is_label,
    listed,
    nearest,
    one_of,
    plural,
    real_number,
    shown,
    whole_number,
)
from spcastat.errors import CardinalityError, ComponentsError, OptionError
from spcastat.fit.plan import groups_of_columns, groups_together, positions_of, require_components
from spcastat.fit.record import PRINCIPAL_VARIABLES, PrincipalSet, Record, deep_copy, facts_of
from spcastat.fit.run import leading_components
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data
from spcastat.inputs.missing import MOST_VARIABLES
from spcastat.labels import full_names
from spcastat.linalg.eigenvectors import flip_signs
from spcastat.linalg.operators import Operator
from spcastat.search.matrices import PIVOT_TOLERANCE
from spcastat.search.principal_variables import (
    SELECTION_EFFORTS,
    Selection,
    best_combinations,
    combinations_of,
    covariances,
    reproduced,
)

#: The papers that describe the criteria, for all combinations of the variables and for the k best.
PAPERS = {"all": "McCabe (1984)", "scores": "Tanaka and Mori (1997)"}
#: Number of groups that are named as the best additions.
N_ADDITIONS = 3
#: The share of PCA that messages recommend for `share`.
USUAL_SHARE = 0.95


@dataclass(frozen=True, eq=False)
class KeepRequest:
    """The checked arguments of a call: which variables to keep, by positions of groups.

    Attributes
    ----------
    k : int or None
        Number of scores that reproduce the variables; None for all combinations of the variables kept.
    m : int or None
        Number of groups to keep.
    share : float or None
        The held-out share to reach, relative to PCA, if `m` and `budget` are None.
    budget : float or None
        The largest cost of the groups kept.
    named_groups : tuple of (str, tuple of int)
        The groups of several variables that the caller named.
    groups : tuple of tuple of int
        The variables of every group.
    cost : ndarray of shape (g,)
    include, candidates : tuple of int
    effort : {"quick", "auto", "thorough"}
    """

    k: int | None
    m: int | None
    share: float | None
    budget: float | None
    named_groups: tuple[tuple[str, tuple[int, ...]], ...]
    groups: tuple[tuple[int, ...], ...]
    cost: np.ndarray
    include: tuple[int, ...]
    candidates: tuple[int, ...]
    effort: str

    def problem(self, S: np.ndarray, m: int | None = None) -> Selection:
        """Return the problem for a covariance matrix, with m groups; by default the number in the request."""
        budget = self.budget if m is None and self.budget is not None else float(m or self.m or 0)
        k = len(S) if self.k is None else self.k
        open_groups = tuple(g for g in self.candidates if all(S[j, j] > 0 for j in self.groups[g]))
        return Selection(S, k, self.groups, self.cost, budget, self.include, open_groups)

    @property
    def smallest(self) -> int:
        """The smallest number of groups from which k scores can be computed."""
        sizes = sorted((len(self.groups[g]) for g in self.candidates if g not in self.include), reverse=True)
        count, variables = len(self.include), sum(len(self.groups[g]) for g in self.include)
        while variables < (self.k or 1) and count - len(self.include) < len(sizes):
            variables += sizes[count - len(self.include)]
            count += 1
        return max(count, 1)


# --- the request ----------------------------------------------------------------------------------


def requested(function: str, data: Data, arguments: Mapping[str, Any]) -> KeepRequest:
    """Check the arguments of a call: m, k, share, budget, cost, include, exclude, together and effort."""
    get, p, columns = arguments.get, data.p, data.columns
    if p > MOST_VARIABLES:
        raise OptionError(
            f"{p:,} variables were given; {function}() accepts at most {MOST_VARIABLES:,}, whose covariance "
            "matrix fits into memory. Leave out the variables of smallest variance first."
        )
    k = None if get("k") is None else whole_number("k", get("k"), 1, error=ComponentsError)
    require_components(k or 1, p)
    m, share, budget = _size(function, get("m"), get("share"), get("budget"), get("cost"), k)
    places: dict[Hashable, list[int]] = {label: [j] for j, label in enumerate(columns.to_flat_index())}
    named_groups = _named_groups(get("together"), data, places)
    several = tuple((name, members) for name, members in named_groups if len(members) > 1)
    singles = [(name, members) for name, members in named_groups if len(members) == 1]
    named_groups = (*several, *sorted(singles, key=lambda group: group[1]))
    groups = tuple(members for _, members in named_groups)
    names = dict(zip((name for name, _ in named_groups), range(len(groups)), strict=True))
    of: dict[int, int] = {j: g for g, members in enumerate(groups) for j in members}
    include, exclude = (
        sorted({of[j] for j in _positions_in(option, get(option), p, {**_members(several), **places})})
        for option in ("include", "exclude")
    )
    overlap = [g for g in include if g in exclude]
    if overlap:
        raise OptionError(
            f"include and exclude both name {_group_names(overlap, columns, groups, several)}; name it in "
            "one of them only."
        )
    candidates = tuple(g for g in range(len(groups)) if g not in exclude)
    request = KeepRequest(
        k,
        m,
        share,
        budget,
        several,
        groups,
        _costs(get("cost"), places, names, of, groups),
        tuple(include),
        candidates,
        one_of("effort", "auto" if get("effort") is None else get("effort"), SELECTION_EFFORTS),
    )
    _require_possible(request, columns)
    return request


def _size(
    function: str, m: Any, share: Any, budget: Any, cost: Any, k: int | None
) -> tuple[int | None, float | None, float | None]:
    """Return m, share and budget, after checking that exactly one is given."""
    sizes = {"m": m, "share": share, "budget": budget}
    options = [f"{name}=" for name, value in sizes.items() if value is not None]
    if not options:
        raise OptionError(
            "The number of variables was not given. Give m=, the number of variables to keep, or "
            f"share={USUAL_SHARE} for the smallest number that keeps 95 % of PCA."
        )
    if len(options) > 1:
        raise OptionError(
            f"{' and '.join(options)} were given to {function}(); give only one of m= (the number of "
            "variables to keep), share= (a share of the held-out variance that PCA explains) and budget= "
            "(the largest total cost)."
        )
    if cost is not None and budget is None:
        raise OptionError(
            "cost= was given without budget=, the largest cost of all variables kept; give budget= in place "
            f"of {options[0]}, or leave cost= out."
        )
    if m is not None:
        m = whole_number("m", m, 1, error=CardinalityError)
    if share is not None:
        share = real_number("share", share, 0.0, 1.0, open_low=True)
    if budget is not None:
        budget = real_number("budget", budget, 0.0, np.inf, open_low=True)
        if not np.isfinite(budget):
            raise OptionError("budget=inf was given, which keeps all variables; give a finite number.")
    return m, share, budget


def _named_groups(
    together: Any, data: Data, places: Mapping[Hashable, list[int]]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    if together is None:
        names = full_names(data.columns)
        return tuple((name, (j,)) for j, name in enumerate(names))
    return groups_of_columns(groups_together(together, 1, data.p), data.spec, places)


def _members(several: Iterable[tuple[str, tuple[int, ...]]]) -> dict[Hashable, list[int]]:
    return {name: list(members) for name, members in several}


def _positions_in(option: str, value: Any, p: int, places: Mapping[Hashable, list[int]]) -> list[int]:
    """Return the positions of the variables that `include` or `exclude` names."""
    if value is None:
        return []
    names = tuple(elements(value, p))
    if len(names) > p or isinstance(value, Mapping | pd.DataFrame) or not all(map(is_label, names)):
        raise OptionError(
            f"{option}={shown(value)} was given; it accepts a list of names of variables: {option}=['age']."
        )
    return positions_of(option, names, places)


def _costs(
    cost: Any,
    places: Mapping[Hashable, list[int]],
    names: Mapping[str, int],
    of: Mapping[int, int],
    groups: Sequence[tuple[int, ...]],
) -> np.ndarray:
    """Return the cost of each group: the cost given for its name, or the total cost of its variables."""
    single = np.ones(len(places))
    if cost is None:  # every group has cost 1
        return np.ones(len(groups))
    if isinstance(cost, pd.Series):
        cost = cost.to_dict()
    if not isinstance(cost, Mapping):
        raise OptionError(
            f"cost={shown(cost)} was given; it must map names of variables to costs, such as "
            'cost={"lab": 30}; the other variables cost 1.'
        )
    group_costs = {}
    for name, value in cost.items():
        number = real_number(f"cost[{shown(name)}]", value, 0.0, 1e300, open_low=True)
        if name in places:
            single[places[name]] = number
        elif name in names:
            group_costs[names[name]] = number
        else:
            labels = [*places, *(group_name for group_name in names if group_name not in places)]
            raise OptionError(
                f"cost names {shown(name)}, but the variables are {listed(labels)}."
                f"{nearest(name, labels, cost)}"
            )
    return np.array([group_costs.get(g, single[list(members)].sum()) for g, members in enumerate(groups)])


def _group_names(
    group_numbers: Iterable[int],
    columns: pd.Index,
    groups: Sequence[tuple[int, ...]],
    several: Sequence[tuple[str, tuple[int, ...]]],
) -> str:
    names = {members: name for name, members in several}
    return listed([names.get(groups[g], columns[groups[g][0]]) for g in group_numbers])


def _require_possible(request: KeepRequest, columns: pd.Index) -> None:
    """Raise an error if no set of groups meets the request."""
    required, count = len(request.include), len(request.candidates)
    if not count:
        raise OptionError("exclude= names all variables, so none can be kept; exclude fewer.")
    if request.m is not None:
        if request.k is not None and request.m < request.smallest:
            raise ComponentsError(
                f"m={request.m} {'variable' if request.m == 1 else 'variables'} cannot give k={request.k} "
                f"scores; use m={request.smallest} or more, or k={request.m}."
            )
        if required > request.m:
            raise CardinalityError(
                f"m={request.m} was given, but include= names {required}; give m={required} or more, or "
                "include fewer."
            )
        if request.m > count:
            raise CardinalityError(
                f"m={request.m} was given, but there are only {count} to choose from; give m={count} or less."
            )
    if request.budget is None:
        return
    spent = float(request.cost[list(request.include)].sum())
    if spent > request.budget:
        raise OptionError(
            f"The variables of include= cost {spent:g}, more than budget={request.budget:g}; give a larger "
            "budget, or include fewer."
        )
    cheapest = float(request.cost[list(request.candidates)].min())
    if cheapest > request.budget:
        raise OptionError(
            f"budget={request.budget:g} was given, but the cheapest variable costs {cheapest:g}; give a "
            "larger budget."
        )


# --- the choice -----------------------------------------------------------------------------------


def matrix_of(op: Operator) -> np.ndarray:
    """Return the covariance matrix, in units of `op.unit`."""
    return np.asarray(op.block(np.arange(op.p)), dtype=float)


def require_spread(request: KeepRequest, problem: Selection, U: Sequence[int]) -> None:
    """Raise an error if the set found has fewer groups, or a lower rank, than requested."""
    variables = problem.variables(U)
    rank = combinations_of(problem.S, variables).shape[1] if variables else 0
    if request.k is not None and rank < request.k:
        remedy = "keep more variables, or " if len(variables) < len(problem.S) else ""
        raise ComponentsError(
            f"The {plural(len(variables), 'variable')} kept have rank {rank} and cannot give k={request.k} "
            f"scores; {remedy}give a smaller k."
        )
    singles = all(len(problem.groups[g]) == 1 for g in U)
    if request.m is not None and (len(U) < request.m or (singles and rank < len(variables))):
        attainable = max(min(len(U), rank), len(request.include))
        raise CardinalityError(
            f"m={request.m} was given, but {attainable} variables determine all others up to rounding; give "
            f"m={attainable} or fewer{'' if request.k is None else ' (and k at most that)'}."
        )


def fitted(data: Data, request: KeepRequest, rng: np.random.Generator, call: str, bound: Any) -> FitState:
    """Search for the best set, and return its state without held-out shares and frequencies.

    Parameters
    ----------
    data : Data
    request : KeepRequest
        The request, with `m` or `budget`.
    rng : numpy Generator
    call : str
    bound : callable
        Function of the problem and the groups chosen. It returns the groups, or better ones if it finds any,
        a bound on the variance that any set reproduces, and the number of nodes visited.
    """
    problem = request.problem(matrix_of(data.op))
    U, _ = problem.search(rng, request.effort)
    require_spread(request, problem, U)
    U, limit, nodes = bound(problem, U)
    return state_of(data, request, problem, (U, limit, nodes), call)


def state_of(
    data: Data, request: KeepRequest, problem: Selection, result: tuple[Sequence[int], float, int], call: str
) -> FitState:
    """Return the state for a result: the groups, the bound, and the number of nodes visited for the bound."""
    U, limit, nodes = result
    S, variables = problem.S, problem.variables(U)
    k = request.k or combinations_of(S, variables).shape[1]
    leading_components(data.op, k)  # raises an error for a rank below k
    spectrum = spectrum_of(data.op, max(k, len(variables)))
    pca = spectrum[0][:k]
    W = np.zeros((len(S), k))
    W[variables] = best_combinations(S, variables, k)
    W *= flip_signs(S @ W)
    about = principal_set(problem, request, U, spectrum, (k, limit, nodes))
    state = FitState.of_data(data, W / data.op.unit, _record(data, request, about, k, call), pca)
    return replace(state, principal=about)


def with_groups(
    state: FitState,
    data: Data,
    request: KeepRequest,
    problem: Selection,
    result: tuple[Sequence[int], float, int],
) -> FitState:
    """Return the state with other groups; held-out shares and frequencies are not changed."""
    former = set_of(state)
    new_state = state_of(data, request, problem, result, state.record.call)
    about = set_of(new_state)
    row = former.sizes == len(about.chosen)
    path = {
        name: getattr(former, name).copy() for name in ("sizes", "sets", "shares", "pca_shares", "rm", "gcd")
    }
    for name, values in path.items():
        values[row] = getattr(about, name)
    resampled_fields = (
        "held_out",
        "held_out_pca",
        "held_out_error",
        "folds",
        "frequency",
        "draws",
        "is_normal",
    )
    return replace(
        new_state,
        principal=replace(about, **path, **{name: getattr(former, name) for name in resampled_fields}),
    )


def principal_set(
    problem: Selection,
    request: KeepRequest,
    U: Sequence[int],
    spectrum: tuple[np.ndarray, np.ndarray],
    proof: tuple[int, float, int],
) -> PrincipalSet:
    """Return the results for the groups U, with shares of the variance of all variables.

    Parameters
    ----------
    problem : Selection
    request : KeepRequest
    U : sequence of int
    spectrum : tuple of ndarray
        The leading eigenvalues and eigenvectors, at least as many as the variables kept.
    proof : tuple
        The number of scores, the bound, and the number of nodes visited for the bound.
    """
    total, value = problem.total, problem.value(U)
    k, limit, nodes = proof
    pca = float(spectrum[0][:k].sum())
    compared = [(g, *_instead(problem, U, g)) for g in U]
    compared.sort(key=lambda row: (row[1], row[0]))
    F = covariances(problem.S, problem.variables(U))
    candidates = np.array([g for g in problem.candidates if g not in U], dtype=int)
    with_added = problem.values_after(F, candidates) if len(candidates) else np.zeros(0)
    order = np.argsort(-with_added, kind="stable")[:N_ADDITIONS]
    r, at = _correlations(problem, U)
    own_size = one_size(problem, U, spectrum, request.k)
    return PrincipalSet(
        together=[(name, list(members)) for name, members in request.named_groups],
        cost=request.cost,
        budget=request.budget,
        chosen=np.array([row[0] for row in compared], dtype=int),
        share=value / total,
        pca_share=pca / total,
        bound=max(min(limit, pca), value) / total,
        nodes=nodes,
        criteria=criteria(problem.S, problem.variables(U), k, spectrum),
        without=np.array([row[1] for row in compared]) / total,
        with_other=np.array([row[3] for row in compared]) / total,
        other=np.array([row[2] for row in compared], dtype=int),
        nearest=at,
        correlation=r,
        further=candidates[order],
        with_further=with_added[order] / total,
        **cast(dict[str, Any], sized([own_size])),
        determined=determined(problem.S) if len(problem.S) <= MOST_DETERMINED else [],
    )


def one_size(
    problem: Selection, U: Sequence[int], spectrum: tuple[np.ndarray, np.ndarray], k: int | None
) -> dict[str, Any]:
    """Return the row of the path for the groups U: their number, share and coefficients.

    `spectrum` contains the leading eigenvalues and eigenvectors. `k` is the number of scores, by default the
    number of variables.
    """
    members = np.zeros(len(problem.groups), dtype=bool)
    members[list(U)] = True
    variables = problem.variables(U)
    coefficients = criteria(problem.S, variables, len(variables), spectrum)
    rank = combinations_of(problem.S, variables).shape[1]
    return {
        "sizes": len(U),
        "sets": members,
        "shares": problem.value(U) / problem.total,
        "pca_shares": float(spectrum[0][: k or rank].sum()) / problem.total,
        "rm": coefficients["RM"],
        "gcd": coefficients["GCD"],
    }


def sized(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return the rows of a path as a dictionary of columns."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _instead(problem: Selection, U: Sequence[int], g: int) -> tuple[float, int, float]:
    """Return the variance reproduced without the group g, the best other group, and the variance with it."""
    complement = [member for member in U if member != g]
    F = covariances(problem.S, problem.variables(complement))
    without = reproduced(F, problem.k)
    candidates = problem.open_to(complement)
    candidates = candidates[~np.isin(candidates, U)]
    if not len(candidates):
        return without, -1, without
    values = problem.values_after(F, candidates)
    argmax = int(np.argmax(values))
    return without, int(candidates[argmax]), float(values[argmax])


def _correlations(problem: Selection, U: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest correlation of each variable with a kept variable, and which variable this is."""
    selection = np.array(sorted(problem.variables(U)), dtype=int)
    sd = np.sqrt(np.diag(problem.S))
    sizes = np.outer(sd, sd[selection])
    r = np.divide(problem.S[:, selection], sizes, out=np.zeros_like(sizes), where=sizes > 0)
    argmax = np.argmax(np.abs(r) - (selection == np.arange(len(sd))[:, None]) * -2.0, axis=1)
    return r[np.arange(len(sd)), argmax].clip(-1.0, 1.0), selection[argmax]


#: The largest number of variables for which exact linear combinations are searched.
MOST_DETERMINED = 500
#: Largest number of variables reported as exact combinations, and of other variables in each combination.
FEW_DETERMINED, FEW_OTHERS = 3, 6


def determined(S: np.ndarray) -> list[tuple[int, list[int]]]:
    """Return variables that are exact combinations of few other variables, with these other variables.

    The list is empty if there are many such variables, as with fewer rows than variables.
    """
    sd = np.sqrt(np.diag(S))
    live = np.flatnonzero(sd > 0)
    R = S[np.ix_(live, live)] / np.outer(sd[live], sd[live])
    values, vectors = np.linalg.eigh(R)
    null = values < PIVOT_TOLERANCE
    if not 0 < null.sum() <= FEW_DETERMINED:
        return []
    relations = _reduced(vectors[:, null].T)
    rows = [np.flatnonzero(np.abs(row) > 1e-6) for row in relations]  # the vectors have errors of about 1e-8
    return [
        (int(live[row[-1]]), [int(live[j]) for j in row[:-1]])
        for row in rows
        if 2 <= len(row) <= FEW_OTHERS + 1
    ]


def _reduced(rows: np.ndarray) -> np.ndarray:
    """Return the reduced echelon form of rows, with a one in the last nonzero place of each row."""
    reduced = rows[:, ::-1].copy()
    column = 0
    for i in range(len(reduced)):
        while np.abs(reduced[i:, column]).max() < 1e-6:
            column += 1
        pivot = i + int(np.argmax(np.abs(reduced[i:, column])))
        reduced[[i, pivot]] = reduced[[pivot, i]]
        reduced[i] /= reduced[i, column]
        for row in range(len(reduced)):
            if row != i:
                reduced[row] -= reduced[row, column] * reduced[i]
        column += 1
    return reduced[:, ::-1]


# --- coefficients for comparison with other programs ----------------------------------------------


def rm(S: np.ndarray, U: Sequence[int]) -> float:
    """Return RM of Cadima and Jolliffe (2001): the root of the share that all combinations reproduce."""
    return float(np.sqrt((covariances(S, U) ** 2).sum() / np.trace(S)))


def rv(S: np.ndarray, U: Sequence[int]) -> float:
    """Return RV of Robert and Escoufier (1976) between all variables and their regressions on U."""
    F = covariances(S, U)
    return float(np.sqrt(((F @ F.T) ** 2).sum() / (S**2).sum()))


def gcd(S: np.ndarray, U: Sequence[int], values: np.ndarray, vectors: np.ndarray) -> float:
    """Return GCD of Cadima and Jolliffe (2001), the similarity of the spans of U and principal components.

    Parameters
    ----------
    S : ndarray of shape (p, p)
    U : sequence of int
    values, vectors : ndarray of shape (g,) and (p, g)
        The eigenvalues and eigenvectors of these components.
    """
    A = combinations_of(S, U)
    inner = A.T @ vectors[list(U)]
    return float((values * inner**2).sum() / np.sqrt(A.shape[1] * len(values)))


def criteria(
    S: np.ndarray, U: Sequence[int], k: int, spectrum: tuple[np.ndarray, np.ndarray]
) -> dict[str, float]:
    """Return RM, RV, and GCD with as many principal components as variables, and with k if k is smaller."""
    values, vectors = spectrum
    m = len(U)
    coefficients = {"RM": rm(S, U), "RV": rv(S, U), "GCD": gcd(S, U, values[:m], vectors[:, :m])}
    if k < m:
        coefficients[f"GCD with {plural(k, 'PC')}"] = gcd(S, U, values[:k], vectors[:, :k])
    return coefficients


def spectrum_of(op: Operator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return up to `count` leading eigenvalues and eigenvectors."""
    return op.leading(min(count, op.rank_limit, op.p))


# --- the record -----------------------------------------------------------------------------------


def _record(data: Data, request: KeepRequest, about: PrincipalSet, k: int, call: str) -> Record:
    options = {
        "m": len(about.chosen),
        "k": request.k,
        "share": request.share,
        "budget": request.budget,
        "effort": request.effort,
        "include": [list(request.include)],
        "exclude": [[g for g in range(len(request.groups)) if g not in request.candidates]],
    }
    return Record(
        method=PRINCIPAL_VARIABLES,
        title="Principal variables",
        paper=PAPERS["all" if request.k is None else "scores"],
        criterion="share of the variance that the variables kept reproduce",
        sparse=True,
        options=options,
        k=k,
        status="searched",
        advice="",
        n_iter=1,
        objective=about.share * data.op.total * data.op.unit**2,
        objective_share=about.share,
        call=call,
        **facts_of(data),
    )


# --- tables ---------------------------------------------------------------------------------------


def set_of(state: FitState) -> PrincipalSet:
    """Return the results for the variables kept."""
    assert state.principal is not None
    return state.principal


def groups_of(state: FitState) -> list[tuple[Hashable, tuple[int, ...]]]:
    """Return the label and the variables of each group."""
    columns = state.spec.columns
    several = [(name, tuple(members)) for name, members in set_of(state).together]
    members_of_several = {j for _, members in several for j in members}
    return [*several, *((columns[j], (j,)) for j in range(len(columns)) if j not in members_of_several)]


def labels_of(state: FitState, groups: Iterable[int]) -> list[Hashable]:
    """Return the labels of groups; None for -1."""
    labelled_groups = groups_of(state)
    return [None if g < 0 else labelled_groups[g][0] for g in groups]


def variables_of(state: FitState) -> list[int]:
    """Return the positions of the variables kept, by group, the most needed first."""
    labelled_groups = groups_of(state)
    return [j for g in set_of(state).chosen for j in labelled_groups[g][1]]


def index_of(labels: Sequence[Hashable], name: str) -> pd.Index:
    """Return labels as an index in which tuples are single labels."""
    return pd.Index(list(labels), name=name, tupleize_cols=False)


def kept_table(state: FitState) -> pd.DataFrame:
    """Return one row per group kept: share without it, best substitute, share with it, frequency."""
    about = set_of(state)
    table = pd.DataFrame(
        {
            "without": about.without,
            "instead": pd.array(labels_of(state, about.other), dtype=object),
            "with_instead": np.where(about.other < 0, np.nan, about.with_other),
        },
        index=index_of(labels_of(state, about.chosen), "variable"),
    )
    if about.budget is not None:
        table["cost"] = about.cost[about.chosen]
    if about.frequency is not None:
        table["frequency"] = about.frequency[about.chosen]
    return table


def represented_table(state: FitState) -> pd.DataFrame:
    """Return one row per other variable: R2, the kept variable nearest to it, their r, and frequency."""
    about, moments, columns = set_of(state), state.moments, state.spec.columns
    selection_mask = np.isin(np.arange(len(columns)), variables_of(state))
    J = np.flatnonzero(~selection_mask)
    variances = moments.variances[J]
    R2 = np.divide(moments.explained[J], variances, out=np.full(len(J), np.nan), where=variances > 0)
    table = pd.DataFrame(
        {
            "R2": R2.clip(max=1.0),
            "most_by": pd.array([columns[j] for j in about.nearest[J]], dtype=object),
            "r": np.where(variances > 0, about.correlation[J], np.nan),
        },
        index=deep_copy(columns[J]),
    )
    if about.frequency is not None:
        of = {j: g for g, (_, members) in enumerate(groups_of(state)) for j in members}
        table["frequency"] = about.frequency[[of[j] for j in J.tolist()]]
    return table.sort_values("R2", ascending=False, kind="stable")


def path_table(state: FitState) -> pd.DataFrame:
    """Return a table with one row for each number of variables compared."""
    about, labelled_groups = set_of(state), groups_of(state)
    table = pd.DataFrame(
        {
            "variables": pd.array(
                [[labelled_groups[g][0] for g in np.flatnonzero(row)] for row in about.sets], dtype=object
            ),
            "share": about.shares,
            "of_pca": about.shares / about.pca_shares,
            "RM": about.rm,
            "GCD": about.gcd,
        },
        index=pd.Index(about.sizes, name="m"),
    )
    if about.held_out is not None:
        table["held_out"], table["held_out_se"] = about.held_out, about.held_out_error
        table["held_out_pca"] = about.held_out_pca
    return table


def coefficients_table(state: FitState) -> pd.DataFrame:
    """Return the coefficients that predict the variables from k scores, k x p: their covariances."""
    return pd.DataFrame(
        np.array(state.moments.coupling.T), index=state.components, columns=deep_copy(state.spec.columns)
    )


def alternatives(
    state: FitState, problem: Selection, U: Sequence[int], n_exchanges: int, tolerance: float
) -> pd.DataFrame:
    """Return the best exchanges of one group that reduce the share by at most a fraction `tolerance`."""
    value, rows = problem.value(U), []
    for g, complement in problem.without_each(U):
        candidates = problem.open_to(complement)
        candidates = candidates[~np.isin(candidates, U)]
        if len(candidates):
            values = problem.values_after(covariances(problem.S, problem.variables(complement)), candidates)
            rows += [
                (share_after, g, h)
                for share_after, h in zip(values.tolist(), candidates.tolist(), strict=True)
                if share_after >= value * (1.0 - tolerance)
            ]
    rows.sort(key=lambda row: (-row[0], row[1:]))
    rows = rows[:n_exchanges]
    return pd.DataFrame(
        {
            "leave": pd.array(labels_of(state, (row[1] for row in rows)), dtype=object),
            "take": pd.array(labels_of(state, (row[2] for row in rows)), dtype=object),
            "share": [row[0] / problem.total for row in rows],
        }
    )
