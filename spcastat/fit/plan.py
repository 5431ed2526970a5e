"""The plan of a fit: the method, its solver with checked options, and rules for supports."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import (
    LARGEST_SEED,
    each,
    elements,
    flag,
    is_whole,
    listed,
    nearest,
    one_of,
    plural,
    real_number,
    shown,
    whole_number,
)
from spcastat.fit.method_table import (
    RULE,
    Combination,
    Hint,
    Method,
    choose_method,
    no_such_option,
    refuse_conflicts,
)
from spcastat.inputs.data import Data
from spcastat.labels import full_names
from spcastat.linalg.deflation import DEFLATIONS
from spcastat.linalg.operators import GRAM_ORDER
from spcastat.reading.design import Spec
from spcastat.search.climbing import EFFORTS, GRAM_LIMIT, PROMISES, SEQUENTIAL
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.criteria import SupportRule
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.search.objectives import OBJECTIVES, OF_GROUPS, Objective
from spcastat.solvers.solver import JointSolver, Solver

# --- starts ---------------------------------------------------------------------------------------


#: Names of starts, in the order in which they are used.
STARTS = ("pca", "column", "ones")

#: A name in STARTS, or loadings of shape (p, k), as a DataFrame until rows are matched with the variables.
Start = str | np.ndarray | pd.DataFrame


def matched(start: Start, columns: pd.Index) -> Start:
    """Return a start with its rows in the order of the variables, matched by name if they have names."""
    if not isinstance(start, pd.DataFrame):
        return start
    missing = [name for name in columns if name not in start.index]
    if missing or not start.index.is_unique:
        raise errors.OptionError(
            f"start has no row for {listed(missing)}; give one row for each variable."
            if missing
            else "start has several rows of the same name; give one row for each variable."
        )
    return np.asarray(start.loc[columns], dtype=float)


# --- rules for supports ---------------------------------------------------------------------------


#: The largest number of variables for `together`: exchanges of groups use matrices of all variables.
MOST_GROUPED = 300


def names_by_component(option: str, value: Any, k: int, p: int) -> tuple[tuple[Any, ...], ...] | None:
    """Check names of variables, given for all components or as a mapping from components to names."""
    components = [f"PC{i + 1}" for i in range(k)]
    by_component = value if isinstance(value, Mapping) else dict.fromkeys(components, value)
    names_found: dict[str, dict[Hashable, None]] = {name: {} for name in components}
    for key, names in by_component.items():
        name = f"PC{int(key)}" if is_whole(key) else key
        if name not in components:
            raise errors.OptionError(
                f"{option} names the component {shown(key)}; with k={k} the components are "
                f"{listed(components, 20)}, or their numbers from 1."
                f"{nearest(name, components, by_component)}"
            )
        several = elements(names, p)
        try:
            names_found[name] |= dict.fromkeys(several)
            # an iterator that was consumed here would be empty in a refit
            sound = len(several) <= p and not isinstance(names, Iterator)
        except Exception:  # labels must be hashable
            sound = False
        if not sound:
            raise errors.OptionError(
                f"{option}={shown(value)} was given; it accepts a list of names of variables, for every "
                f'component, or a mapping from components to such lists: {option}={{"PC1": ["age"]}}.'
            )
    return tuple(map(tuple, names_found.values())) if any(names_found.values()) else None


def groups_together(value: Any, k: int, p: int) -> tuple[tuple[str, tuple[Any, ...]], ...] | str:
    """Check `together`: "terms", or a mapping from names of groups to names of their variables."""
    if isinstance(value, str) and value == "terms":
        return value
    if isinstance(value, Mapping) and value:
        groups = tuple((str(name), tuple(elements(members, p))) for name, members in value.items())
        if all(members and len(members) <= p for _, members in groups):
            return groups
    raise errors.OptionError(
        f"together={shown(value)} was given; it must be 'terms', for the terms of a formula, or name the "
        'variables of each group: together={"size": ["topdiam", "length"]}.'
    )


def refuse_rule(options: Mapping[str, Any], order: Any, p: int) -> None:
    """Raise OptionError if a rule is combined with options that do not support rules.

    Parameters
    ----------
    options : Mapping
        The options of the method.
    order : object
        As given.
    p : int
        Number of variables.
    """
    given_rules = [f"{name}=" for name in RULE if options.get(name)]
    if not given_rules:
        return
    verb = "was" if len(given_rules) == 1 else "were"
    rules_text, card = f"{' and '.join(given_rules)} {verb} given", options.get("card")
    if card is None and options.get("together"):
        raise errors.OptionError(
            f"{rules_text} without card=, which counts the groups of together=: give card=, such "
            "as card=2, or let sp.choose(data, k, together=...) choose it."
        )
    if card is None and "variance" not in options and given_rules != ["disjoint="]:
        raise errors.OptionError(
            f"{rules_text} without card= and variance=; disjoint=True alone puts every variable "
            "into one component. Give card=, such as card=5, or variance=, such as variance=0.8."
        )
    if p > GRAM_LIMIT:
        raise errors.OptionError(
            f"{rules_text} with {p} variables; with more than {GRAM_LIMIT} the search considers only some of "
            f"them under a rule. Give at most {GRAM_LIMIT} variables."
        )
    if p > MOST_GROUPED and options.get("together"):
        raise errors.OptionError(
            f"together= was given with {p} columns; groups are exchanged among at most {MOST_GROUPED}. Leave "
            "out factors of many levels, or give card= without together=."
        )
    if card is not None and len(card) > SEQUENTIAL:
        raise errors.OptionError(
            f"{rules_text} with k={len(card)}; more than {SEQUENTIAL} components are found one "
            f"after another, without a rule. Give k={SEQUENTIAL} or less."
        )
    component_rules = [name for name in RULE[:2] if len(set(map(frozenset, options.get(name) or ()))) > 1]
    if component_rules and order in ("variance", "best"):
        raise errors.OptionError(
            f"order={order!r} was given, but {component_rules[0]}= has different lists for the components, "
            "which then keep their order. Leave order out."
        )


def with_positions(solver: Solver, spec: Spec, check: bool = True) -> Solver:
    """Return the solver with variables in its rule, if it has one, given by position instead of name.

    Raises
    ------
    OptionError
        If a name is not one of the columns or groups, or if no supports satisfy the rule.
    """
    if not isinstance(solver, Joint) or not solver.ruled:
        return solver
    by_position: dict[str, Any] = {}
    places = {label: [j] for j, label in enumerate(spec.columns.to_flat_index())}
    if solver.together:
        groups = by_position["together"] = groups_of_columns(solver.together, spec, places)
        places = {**{name: list(members) for name, members in groups}, **places}
    for option in RULE[:2]:
        names = getattr(solver, option)
        if names is not None:
            by_position[option] = tuple(tuple(positions_of(option, labels, places)) for labels in names)
    positioned = replace(solver, **by_position)
    if check:
        require_possible(positioned, spec.columns)
    return positioned


def groups_of_columns(
    together: tuple[tuple[str, tuple[Any, ...]], ...] | str, spec: Spec, places: Mapping[Hashable, list[int]]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return a partition of all variables into groups, as positions; a group may have one variable."""
    if isinstance(together, str):
        if spec.terms is None:
            raise errors.OptionError(
                "together='terms' was given without a formula, which would define terms: name the variables "
                'of each group, together={"size": ["topdiam", "length"]}, or, with rows, give '
                "formula='~ .' and categorical='dummy', or scale='mixed'."
            )
        return tuple((name, tuple(members)) for name, members in spec.terms.items())
    owner: dict[int, str] = {}
    groups = []
    for name, members in together:
        members_places = positions_of(f"together[{shown(name)}]", members, places)
        twice = [j for j in members_places if owner.setdefault(j, name) != name]
        if twice:
            raise errors.OptionError(
                f"together has {shown(spec.columns[twice[0]])} in {listed([owner[twice[0]], name])}; a "
                "variable may belong to one group only."
            )
        groups.append((name, tuple(dict.fromkeys(members_places))))
    single_groups = [
        (full_names(spec.columns[[j]])[0], (j,)) for j in range(len(spec.columns)) if j not in owner
    ]
    return (*groups, *single_groups)


def positions_of(option: str, names: tuple[Hashable, ...], places: Mapping[Hashable, list[int]]) -> list[int]:
    unknown = [name for name in names if name not in places]
    if unknown:
        raise errors.OptionError(
            f"{option} names {listed(unknown)}, but the variables are {listed(places)}."
            f"{nearest(unknown[0], places, names)}"
        )
    return sorted({j for name in names for j in places[name]})


def require_possible(solver: Solver, columns: pd.Index) -> None:
    """Raise OptionError if no supports with the cardinalities satisfy the rule, given by position."""
    if not isinstance(solver, Joint) or not solver.ruled:
        return
    constraints: tuple[Any, ...] = solver.card or solver.include or solver.exclude or ()
    rule = solver.rule(len(columns), len(constraints))
    if rule is None or not constraints:  # disjoint=True with variance= alone can always be met
        return
    cards = solver.card or tuple(max(1, card) for card in rule.nearest(1))
    need = "its card is" if solver.card else "it needs at least"

    noun, counted = "variable", "nonzeros"
    if isinstance(rule, GroupRule):  # from here on the units are groups instead of variables
        columns = pd.Index([group[0] for group in solver.together or ()])
        noun, counted, rule = "group", "groups", rule.groups
        if max(cards) > len(columns):
            raise errors.CardinalityError(
                f"card={list(cards)} was given with together=, so card is a number of groups, and there are "
                f"only {len(columns)}: {listed(columns)}. Give at most {len(columns)}."
            )
    _require_each_possible(rule, cards, columns, noun, need)
    if solver.constraint is not None:
        _require_independent(rule, cards, solver.constraint)
    if rule.disjoint:
        _require_disjoint_possible(rule, cards, columns, noun, counted)


def _require_independent(rule: SupportRule, cards: tuple[int, ...], constraint: str) -> None:
    """Raise OptionError if the rule leaves too few variables for loadings that are linearly independent.

    Loadings of k components are independent only if k different variables can be chosen, one from the support
    of each component (Hall's condition).
    """
    required_counts = rule.must.sum(axis=1)
    supports = np.where((required_counts == cards)[:, None], rule.must, rule.may)
    if not _has_a_variable_each(rule.may):
        cause, remedy = "exclude leaves some components fewer variables than their number", "exclude fewer"
    elif not _has_a_variable_each(supports):
        cause = "include names every variable of more components than these variables can have"
        remedy = 'give larger cards, or include by component, include={"PC1": [...]}'
    else:
        return
    raise errors.OptionError(
        f"constraint={constraint!r} was given with card={list(cards)}, and {cause}, so their loadings "
        f"depend on each other: {remedy}."
    )


def _has_a_variable_each(supports: np.ndarray) -> bool:
    """Whether different variables can be chosen from the supports, shape (k, p), one per component."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    partners = maximum_bipartite_matching(csr_array(supports.astype(int)), perm_type="column")
    return bool((partners >= 0).all())


def _require_each_possible(
    rule: SupportRule, cards: tuple[int, ...], columns: pd.Index, noun: str, need: str
) -> None:
    """Raise OptionError if `include` or `exclude` leave a component without a support of its cardinality."""
    for i, (card, may, must) in enumerate(zip(cards, rule.may, rule.must, strict=True)):
        if (must & ~may).any():
            overlap = _names_of(columns, must & ~may)
            raise errors.OptionError(
                f"include and exclude both name {overlap} for PC{i + 1}; name it in one of them only."
            )
        if must.sum() > card:
            raise errors.OptionError(
                f"include names {plural(int(must.sum()), noun)} for PC{i + 1} ({_names_of(columns, must)}), "
                f"but {need} {card}: give it a card of {int(must.sum())} or more, or include fewer."
            )
        if may.sum() < card:
            raise errors.OptionError(
                f"exclude leaves {plural(int(may.sum()), noun)} for PC{i + 1} ({_names_of(columns, may)}), "
                f"but {need} {card}: exclude fewer{', or give it a smaller card' * (card > 1)}."
            )


def _require_disjoint_possible(
    rule: SupportRule, cards: tuple[int, ...], columns: pd.Index, noun: str, counted: str
) -> None:
    """Raise OptionError if there are no disjoint supports of these cardinalities."""
    twice = rule.must.sum(axis=0) > 1
    if twice.any():
        owners = ", ".join(f"PC{i + 1}" for i in np.flatnonzero(rule.must[:, twice].any(axis=1)))
        raise errors.OptionError(
            f"include names {_names_of(columns, twice)} for {owners}, but with disjoint=True a {noun} is in "
            'one component only: include it by component, include={"PC1": [...]}, or omit disjoint=True.'
        )
    if sum(cards) > len(columns):
        raise errors.OptionError(
            f"card={list(cards)} asks for {sum(cards)} {counted}, and disjoint=True divides {len(columns)} "
            f"{noun}s among the components: reduce card or k, or omit disjoint=True."
        )
    if rule.assigned(np.zeros(rule.may.shape), cards) is None:
        raise errors.OptionError(
            f"include and exclude leave no disjoint=True components of card={list(cards)}: there are too few "
            "variables for these components. Name fewer variables, reduce card, or omit disjoint=True."
        )


def _names_of(columns: pd.Index, mask: np.ndarray) -> str:
    """Return the names of the variables in a mask; at most the first eight are listed."""
    return ", ".join(full_names(columns[mask][:8])) + (" and more" if mask.sum() > 8 else "")


# --- checks of options ----------------------------------------------------------------------------


#: Largest number of starts of one fit.
MOST_STARTS = 1_000_000


def cardinalities(card: Any, k: int, p: int, option: str = "card") -> tuple[int, ...]:
    """Return the number of nonzeros of each of k components.

    Parameters
    ----------
    card : int, sequence of k ints, or mapping
        A mapping, or a Series with labels, identifies components as "PC1", "PC2", ... or by number from 1.
    k, p : int
    option : {"card", "cards"}
        The option that was given, for messages.
    """
    entry = "card" if option == "card" else "an entry of cards"
    names = [f"PC{i + 1}" for i in range(k)]
    if isinstance(card, pd.Series) and sorted(map(str, card.index)) == sorted(names):
        card = card.to_dict()
    if isinstance(card, Mapping):
        by_name = {f"PC{int(key)}" if is_whole(key) else str(key): value for key, value in card.items()}
        if set(by_name) != set(names) or len(by_name) != len(card):
            raise errors.CardinalityError(
                f"{entry} names the components {listed(card)}; with k={k} it must name each of "
                f"{listed(names, 20)} (or their numbers, from 1) once."
            )
        values = [by_name[name] for name in names]
    else:
        values = each(entry, card, k, errors.CardinalityError)
    return tuple(
        [
            whole_number(option, number, 1, p, errors.CardinalityError, "the number of variables")
            for number in values
        ]
    )


def start_loadings(value: Any, k: int, p: int) -> Start:
    """Check `start`: a name in STARTS, or loadings of shape (p, k)."""
    if isinstance(value, str) or not isinstance(value, (np.ndarray, pd.DataFrame, list, tuple)):
        return one_of("start", value, STARTS)
    advice = f"it must be one of {listed(STARTS)}, or loadings of shape ({p}, {k}), without a column of zeros"
    try:
        V = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise errors.OptionError(f"start={shown(value)} was given; {advice}.") from None
    if V.shape != (p, k):
        raise errors.OptionError(f"start was given with shape {V.shape}; {advice}.")
    if not np.isfinite(V).all() or not V.any(axis=0).all():
        raise errors.OptionError(f"start was given with infinite numbers or a column of zeros; {advice}.")
    return value if isinstance(value, pd.DataFrame) else V


def exponent(value: Any, k: int, p: int) -> float:
    """Return the exponent of a penalty, a number in (0, 1)."""
    number = real_number("p", value, 0.0, 1.0, open_low=True)
    if number == 1.0:
        raise errors.OptionError(f"p={shown(value)} was given; it must be a number in (0, 1).")
    return number


def norms(value: Any, k: int, p: int) -> tuple[float, ...]:
    """Return the l1 norms of k components of unit length; rounding may exceed the largest possible norm."""
    limit = float(np.sqrt(p))
    numbers = [real_number("t", norm, 1.0, limit * (1.0 + 1e-12)) for norm in each("t", value, k)]
    return tuple(min(number, limit) for number in numbers)


def total_nonzeros(value: Any, k: int, p: int) -> int:
    """Return the number of nonzero loadings of all components."""
    return whole_number("total", value, k, k * p, errors.CardinalityError)


def variance_share(value: Any, k: int, p: int) -> float:
    """Return the share of the variance of dense PCA to keep."""
    return real_number("variance", value, 0.0, 1.0, open_low=True, error=errors.VarianceError)


#: Options that are True or False.
FLAGS = (
    *("orth", "renormalise", "nonneg", "exact", "disjoint"),
    *("refit", "fixed_penalty"),
)
#: Option -> the names that it accepts.
NAMES: dict[str, Iterable[str]] = {
    "deflation": DEFLATIONS,
    "objective": OBJECTIVES,
    "constraint": CONSTRAINTS,
    "effort": EFFORTS,
    "promise": PROMISES,
}
#: Option -> the smallest and the largest whole number that it accepts.
COUNTS: dict[str, tuple[int, int | None]] = {
    "c": (1, None),
    "sweeps": (1, None),
    "max_iter": (1, None),
    "n_init": (1, MOST_STARTS),
    "grid": (3, 10_000),
}
#: Option -> the smallest and the largest number that it accepts.
NUMBERS = {
    "tol": (0.0, 1.0),
    "ridge": (0.0, np.inf),
    "orthogonal": (0.0, 1.0),
    "uncorrelated": (0.0, np.inf),
}
#: Option -> the limit that its value must exceed, and the largest value that it accepts.
POSITIVE = {"orthonormality": (0.0, 1e12)}
#: Option -> the smallest and the largest value, for one number for all components or for k numbers.
COMPONENT_NUMBERS = {"penalty": (0.0, np.inf), "threshold": (0.0, 1.0), "mu": (1e-100, 1e100)}
#: Option -> function of (value, k, p) that returns the checked value.
CHECKS: dict[str, Callable[[Any, int, int], Any]] = {
    "card": cardinalities,
    "start": start_loadings,
    "include": partial(names_by_component, "include"),
    "exclude": partial(names_by_component, "exclude"),
    "together": groups_together,
    "p": exponent,
    "t": norms,
    "total": total_nonzeros,
    "variance": variance_share,
}


def checked_option(name: str, value: Any, k: int, p: int) -> Any:
    """Return the checked value of an option for k components of p variables, or raise OptionError."""
    if name in CHECKS:
        return CHECKS[name](value, k, p)
    if name in FLAGS:
        return flag(name, value)
    if name in NAMES:
        return one_of(name, value, NAMES[name])
    if name in COUNTS:
        return whole_number(name, value, *COUNTS[name])
    if name in NUMBERS:
        return real_number(name, value, *NUMBERS[name])
    if name in POSITIVE:
        return real_number(name, value, *POSITIVE[name], open_low=True)
    return tuple(real_number(name, element, *COMPONENT_NUMBERS[name]) for element in each(name, value, k))


# --- the plan -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """The arguments of a call that specify the fit, as given.

    Attributes
    ----------
    k : int
        Number of components.
    card, variance, method, nonneg, n_init, rng, order, tol, max_iter, objective, effort, promise, include,
    exclude, disjoint, together
        As for :func:`spcastat.spca`.
    method_options : Mapping
        Options of the method that some other methods do not have.
    """

    k: int
    card: Any = None
    variance: Any = None
    method: Any = None
    nonneg: Any = False
    n_init: Any = None
    rng: Any = None
    order: Any = None
    tol: Any = None
    max_iter: Any = None
    objective: Any = None
    effort: Any = None
    promise: Any = None
    include: Any = None
    exclude: Any = None
    disjoint: Any = False
    together: Any = None
    method_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k, 1, error=errors.ComponentsError))

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments by name, including defaults."""
        request_fields = {
            argument.name: getattr(self, argument.name)
            for argument in fields(self)
            if argument.name != "method_options"
        }
        return {**request_fields, **self.method_options}

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        call_options = ("k", "method", "n_init", "rng", "order")
        solver_options = {name: value for name, value in self.arguments.items() if name not in call_options}
        solver_options = {name: value for name, value in solver_options.items() if value is not None}
        for name in ("nonneg", "disjoint"):
            if isinstance(solver_options.get(name), (bool, np.bool_)) and not solver_options[name]:
                del solver_options[name]
        if self.n_init is not None and whole_number("n_init", self.n_init, 1, MOST_STARTS) > 1:
            solver_options["n_init"] = self.n_init
        return solver_options

    @property
    def seed(self) -> int:
        """The seed for several fits that share random numbers; 0 if `rng` is None."""
        return 0 if self.rng is None else whole_number("rng", self.rng, 0, LARGEST_SEED - 1)


#: Values of `order`.
ORDERS = ("variance", "given", "best")
#: Number of starts of a nonnegative fit without `method`, if its objective is not the criterion of the
#: solver.
COMPARED_STARTS = 20


@dataclass(frozen=True, eq=False)
class Plan:
    """A method with its solver, ready to run.

    Attributes
    ----------
    method : Method
    solver : Solver
    n_init : int
    order : {None, "variance", "given", "best"}
        As for :func:`spcastat.spca`; see `groups`.
    aim : Objective or None
        The objective by which the best start is selected, for methods with the option `objective`.
    start : str, ndarray of shape (p, k), or DataFrame
        The first start of the iteration.
    compares_supports : bool
        Whether a nonnegative fit is compared with the best fit over all supports, if these are few.
    """

    method: Method
    solver: Solver
    n_init: int
    order: str | None = None
    aim: Objective | None = None
    start: Start = "pca"
    compares_supports: bool = False

    @property
    def rows_for(self) -> str:
        """The name of the method if it needs the rows themselves, otherwise an empty string."""
        return self.method.name if self.solver.needs == "rows" else ""

    def groups(self, k: int) -> np.ndarray:
        """Return labels for `order_and_sign`, (k,); components with equal labels are sorted by variance.

        By default, components with equal cardinality (or bound, or penalty) have equal labels if the method
        finds all components together and does not determine their order itself.
        """
        if self.order == "variance":
            return np.zeros(k, dtype=int)
        if self.order is None and isinstance(self.solver, JointSolver) and not self.solver.own_order:
            names = (*self.method.controls, "include", "exclude")
            values = [getattr(self.solver, name, None) for name in names]
            rows = list(zip(*(value for value in values if isinstance(value, tuple)), strict=True))
            return np.array([rows.index(row) for row in rows]) if rows else np.zeros(k, dtype=int)
        return np.arange(k)

    def on(self, spec: Spec, check: bool = True) -> Plan:
        """Return the plan for the variables of a spec, matching starts and rules that use names.

        `check` states whether some supports of the plan's cardinalities must satisfy its rule.
        """
        solver = with_positions(self.solver, spec, check)
        return replace(self, start=matched(self.start, spec.columns), solver=solver)

    def of_samples(self) -> Plan:
        """Return the plan for fits of folds and samples: they start near a fit and skip other supports."""
        return replace(self, compares_supports=False)

    def with_card(self, card: Sequence[int]) -> Plan:
        """Return the plan with other cardinalities, for a method with the option `card`."""
        return replace(self, solver=replace(cast(Any, self.solver), card=tuple(card)))

    def admissible_cards(
        self, keys: Sequence[Any], cards: Sequence[tuple[int, ...]], columns: pd.Index, check: bool
    ) -> tuple[list[Any], list[tuple[int, ...]]]:
        """Return the keys and cardinalities for which some supports satisfy the rule of the plan.

        Without `check`, cardinalities are also left out if a constraint imposes more conditions than the
        loadings have free numbers.

        Raises
        ------
        OptionError
            If no cardinalities are allowed, or, with `check`, if some are not.
        """
        admissible = []
        for key, card in zip(keys, cards, strict=True):
            try:
                require_possible(self.with_card(card).solver, columns)
                admissible.append((key, card))
            except errors.OptionError:
                if check:
                    raise
        constraint = CONSTRAINTS.get(getattr(self.solver, "constraint", None) or "")
        if constraint is not None and not check:
            free = [(key, card) for key, card in admissible if constraint.leaves_freedom(card)]
            admissible = free or admissible
        if not admissible:
            require_possible(self.with_card(cards[0]).solver, columns)
        return [key for key, _ in admissible], [card for _, card in admissible]


def require_components(k: int, p: int) -> None:
    """Raise ComponentsError for more components than variables."""
    if k > p:
        raise errors.ComponentsError(
            f"k={shown(k)} was given, but the data have rank at most {p:,}, the number of variables; ask for "
            f"at most {plural(p, 'component')}."
        )


def require_rank(k: int, rows: int | None, centred: bool) -> None:
    """Raise ComponentsError if k exceeds the largest rank possible with the number of rows, if known."""
    rank_limit = None if rows is None else max(rows - int(centred), 1)
    if rank_limit is not None and k > rank_limit:
        raise errors.ComponentsError(
            f"k={k} was given, but {plural(rows or 0, 'row')} have rank at most {rank_limit}; ask for at "
            f"most {plural(rank_limit, 'component')}."
        )


def make_plan(request: Request, p: int, hint: Hint = lambda name: ("", ""), recorded: bool = False) -> Plan:
    """Check the arguments of a call and build the solver.

    Parameters
    ----------
    request : Request
    p : int
        Number of variables.
    hint : callable
        Function of an option that no method has. It returns advice on where the option belongs, and the name
        of a similar option; each is "" if there is none.
    recorded : bool
        Whether the arguments come from the record of a fit. They then include defaults, which may have no
        effect together with the other arguments.

    Raises
    ------
    ComponentsError
        If k exceeds the number of variables.
    UnknownOptionError
        If the method does not have an option; the message names the methods that have it.
    OptionError
        If a value is not allowed, or if one of the `CONFLICTS` of `fit.method_table` applies.
    """
    options = request.options
    method = choose_method(request.method, options)
    require_components(request.k, p)
    for name in options:
        if name not in method.options:
            raise no_such_option(name, options, method, request.method is None, hint)
    if method.controls and not any(name in options for name in (*method.controls, "disjoint")):
        if "variance" not in method.controls:
            controls = " or ".join(f"{name}=" for name in method.controls)
            raise errors.OptionError(
                f"method={method.name!r} needs {controls} to know how sparse the fit should be."
            )
        # the default, if no control of sparsity is given
        options["variance"] = 0.9
    options_checked = {name: checked_option(name, value, request.k, p) for name, value in options.items()}
    if options_checked.get("disjoint") and not any(name in options_checked for name in ("card", "variance")):
        OBJECTIVES[options_checked.setdefault("objective", OF_GROUPS.name)].group_search()
    _check_constraint(options_checked, request.order, p)
    refuse_rule(options_checked, request.order, p)
    order = None if request.order is None else one_of("order", request.order, ORDERS)
    iteration = ("n_init", "start")
    solver_options = {name: value for name, value in options_checked.items() if name not in iteration}
    aim = OBJECTIVES[solver_options.pop("objective", method.criterion_of)] if method.criterion_of else None
    if "variance" in options and "promise" in method.options:
        solver_options.setdefault("promise", PROMISES[0])
    solver = method.build(solver_options)
    # a requested method ends as published; the default for nonnegative fits also compares supports
    nonnegative = bool(options_checked.get("nonneg")) and "card" in options_checked
    compares_supports = request.method is None and nonnegative
    reconstructs = aim is not None and aim.reconstructs
    default_starts = COMPARED_STARTS if compares_supports and not reconstructs else solver.n_init
    n_init = options_checked.get("n_init") or (default_starts if request.n_init is None else 1)
    start = options_checked.get("start", solver.first_start)
    if not recorded:
        refuse_conflicts(Combination(method, solver, request.k, options_checked, n_init, start, order))
    return Plan(method, solver, n_init, order, aim, start, compares_supports)


def _check_constraint(values: dict[str, Any], order: Any, p: int) -> None:
    """Raise OptionError for options that conflict with `constraint`, and set its default objective."""
    if "constraint" not in values:
        return
    constraint = CONSTRAINTS[values["constraint"]]
    clause, card = f"constraint={constraint.name!r} was given", values.get("card")
    if card is None:
        raise errors.OptionError(
            f"{clause} without card=, the number of nonzero loadings of each component: give card=, such as "
            "card=5."
        )
    objective = values.setdefault("objective", constraint.objectives[0])
    if objective not in constraint.objectives:
        choices = " or ".join(f"objective={name!r}" for name in constraint.objectives)
        raise errors.OptionError(
            f"{clause} with objective={objective!r}; it needs {choices}: give that, or leave objective out."
        )
    if values.get("together"):
        raise errors.OptionError(
            f"{clause} with together=, whose groups this search does not support: leave one of them out."
        )
    if order == "best":
        raise errors.OptionError(
            f"{clause} with order='best', but no order is better than another: leave order out."
        )
    if not can_be_constrained(p, len(card)):
        raise errors.OptionError(
            f"{clause} with {p} variables and k={len(card)}; give at most {GRAM_LIMIT} variables and "
            f"k={SEQUENTIAL}, or leave constraint out."
        )


def can_be_constrained(p: int, k: int) -> bool:
    """Whether the search under a constraint supports p variables and k components."""
    return p <= GRAM_LIMIT and k <= SEQUENTIAL


# --- requirements of fits -------------------------------------------------------------------------


def data_for(data: Data, plan: Plan, k: int) -> Data:
    """Return the data for a fit of k components according to `plan`.

    Raises
    ------
    OptionError, ComponentsError, NoRowsError
        If the rows come in chunks and cannot be used for this fit; raised before any row is read.
    """
    require_feasible(data, plan, k)
    return data.for_components(k).for_method(plan.rows_for)


def require_feasible(data: Data, plan: Plan, k: int) -> None:
    """Raise an error, before any row is read, if rows in chunks cannot be used for a fit of k components."""
    if not data.out_of_core:
        return
    if data.p > GRAM_ORDER and not plan.rows_for:
        require_memory(data.p, plan.solver)
    require_rank(k, data.known_rows, centred=data.centred)
    plan.on(data.spec)  # raises for unknown names of variables


def require_memory(p: int, solver: Solver) -> None:
    """Raise OptionError for a solver that needs many passes over rows that do not fit into memory."""
    if not solver.out_of_core:
        raise errors.OptionError(
            f"With {p} variables (more than {GRAM_ORDER}) that are not in memory this fit needs hundreds of "
            "passes over the rows: use method='joint', with objective='pev' to maximise the same measure as "
            "'bcd-l0'."
        )
