"""Options of a fit: their checks, and the rules for supports."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import (
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
from spcastat.errors import CardinalityError, OptionError, VarianceError
from spcastat.fit.starts import STARTS, Start
from spcastat.labels import full_names
from spcastat.linalg.build import DEFLATIONS
from spcastat.linalg.operators import GRAM_ORDER
from spcastat.linalg.scales import SCALES
from spcastat.reading.design import Spec
from spcastat.search.climbing import EFFORTS, OBJECTIVES, PROMISES
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.solvers.solver import Solver

# --- rules for supports ---------------------------------------------------------------------------


#: Options that restrict the supports.
RULE = ("include", "exclude", "disjoint", "together")
#: The largest number of variables for `together`: exchanges of groups use matrices of all variables.
MOST_GROUPED = 300


def names_by_component(option: str) -> Callable[[Any, int, int], tuple[tuple[Any, ...], ...] | None]:
    """Return a check for names of variables: for every component, or a mapping from components to names."""

    def check(value: Any, k: int, p: int) -> tuple[tuple[Any, ...], ...] | None:
        known = [f"PC{i + 1}" for i in range(k)]
        given = value if isinstance(value, Mapping) else dict.fromkeys(known, value)
        found: dict[str, dict[Hashable, None]] = {name: {} for name in known}
        for key, names in given.items():
            name = f"PC{int(key)}" if is_whole(key) else key
            if name not in known:
                raise OptionError(
                    f"{option} names the component {shown(key)}; with k={k} they are {listed(known, 20)}, or "
                    f"their numbers from 1.{nearest(name, known)}"
                )
            several = elements(names, p)
            try:
                found[name] |= dict.fromkeys(several)
                # a consumed iterator would be empty in a refit
                sound = len(several) <= p and not isinstance(names, Iterator)
            except Exception:  # labels must be hashable
                sound = False
            if not sound:
                raise OptionError(
                    f"{option}={shown(value)} was given; it takes a list of names of variables, for every "
                    f'component, or a mapping from components to such lists: {option}={{"PC1": ["age"]}}.'
                )
        return tuple(map(tuple, found.values())) if any(found.values()) else None

    return check


def groups_together(value: Any, k: int, p: int) -> tuple[tuple[str, tuple[Any, ...]], ...] | str:
    """Check `together`: "terms", or a mapping from names of groups to names of their variables."""
    if isinstance(value, str) and value == "terms":
        return value
    if isinstance(value, Mapping) and value:
        found = tuple((str(name), tuple(elements(members, p))) for name, members in value.items())
        if all(members and len(members) <= p for _, members in found):
            return found
    raise OptionError(
        f"together={shown(value)} was given; it must be 'terms', for the terms of a formula, or name the "
        'variables of each group: together={"size": ["topdiam", "length"]}.'
    )


def refuse_rule(checked: Mapping[str, Any], order: Any, p: int) -> None:
    """Raise OptionError if a rule is combined with options that do not support it.

    Parameters
    ----------
    checked : Mapping
        The options of the method.
    order : object
        As given.
    p : int
        Number of variables.
    """
    given = [f"{name}=" for name in RULE if checked.get(name)]
    if not given:
        return
    from spcastat.search.default import GRAM_LIMIT, SEQUENTIAL  # as slow to import as a small fit

    what, card = " and ".join(given), checked.get("card")
    if card is None and checked.get("together"):
        raise OptionError(
            f"{what} was given without card=, which counts the groups of together=: give card=, such as "
            "card=2, or let sp.choose(data, k, together=...) choose it."
        )
    if card is None and "variance" not in checked and given != ["disjoint="]:
        raise OptionError(
            f"{what} was given without card= and variance=; disjoint=True alone puts every variable into one "
            "component. Give card=, such as card=5, or variance=, such as variance=0.8."
        )
    if p > GRAM_LIMIT:
        raise OptionError(
            f"{what} was given with {p} variables; with more than {GRAM_LIMIT} the search runs on some of "
            f"them and tests the others without a rule. Give at most {GRAM_LIMIT} variables."
        )
    if p > MOST_GROUPED and checked.get("together"):
        raise OptionError(
            f"together= was given with {p} columns; groups are exchanged among {MOST_GROUPED} at most. Leave "
            "out factors of many levels, or give card= without together=."
        )
    if card is not None and len(card) > SEQUENTIAL:
        raise OptionError(
            f"{what} was given with k={len(card)}; more than {SEQUENTIAL} components are found one after "
            f"another, without a rule. Give k={SEQUENTIAL} or less."
        )
    apart = [name for name in RULE[:2] if len(set(map(frozenset, checked.get(name) or ()))) > 1]
    if apart and order in ("variance", "best"):
        raise OptionError(
            f"order={order!r} was given, and {apart[0]}= has different lists for the components, which "
            "then keep their order. Leave order out."
        )


def with_positions(solver: Solver, spec: Spec, check: bool = True) -> Solver:
    """Return a solver whose rule, if it has one, refers to variables by position.

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
        groups = by_position["together"] = _groups(solver.together, spec, places)
        places = {**{name: list(members) for name, members in groups}, **places}
    for option in RULE[:2]:
        named = getattr(solver, option)
        if named is not None:
            by_position[option] = tuple(tuple(_positions(option, one, places)) for one in named)
    found = replace(solver, **by_position)
    if check:
        require_possible(found, spec.columns)
    return found


def _groups(
    together: tuple[tuple[str, tuple[Any, ...]], ...] | str, spec: Spec, places: Mapping[Hashable, list[int]]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return a partition of all variables into groups, as positions; a group may have one variable."""
    if isinstance(together, str):
        if spec.terms is None:
            raise OptionError(
                "together='terms' was given without a formula, which has the terms: give formula='~ .' with "
                "categorical='dummy', or scale='mixed', or name the variables of each group: "
                'together={"size": ["topdiam", "length"]}.'
            )
        return tuple((name, tuple(members)) for name, members in spec.terms.items())
    owner: dict[int, str] = {}
    found = []
    for name, members in together:
        own = _positions(f"together[{shown(name)}]", members, places)
        twice = [j for j in own if owner.setdefault(j, name) != name]
        if twice:
            raise OptionError(
                f"together has {shown(spec.columns[twice[0]])} in {listed([owner[twice[0]], name])}; a "
                "variable belongs to one group."
            )
        found.append((name, tuple(dict.fromkeys(own))))
    alone = [(full_names(spec.columns[[j]])[0], (j,)) for j in range(len(spec.columns)) if j not in owner]
    return (*found, *alone)


def _positions(option: str, names: tuple[Hashable, ...], places: Mapping[Hashable, list[int]]) -> list[int]:
    unknown = [name for name in names if name not in places]
    if unknown:
        raise OptionError(
            f"{option} names {listed(unknown)}, which no variable is called; they are "
            f"{listed(places)}.{nearest(unknown[0], places)}"
        )
    return sorted({j for name in names for j in places[name]})


def require_possible(solver: Solver, columns: pd.Index) -> None:
    """Raise OptionError if no supports with the cardinalities satisfy the rule, which is in positions."""
    if not isinstance(solver, Joint) or not solver.ruled:
        return
    asked: tuple[Any, ...] = solver.card or solver.include or solver.exclude or ()
    rule = solver.rule(len(columns), len(asked))
    if rule is None or not asked:  # disjoint=True with variance= alone can always be met
        return
    cards = solver.card or tuple(max(1, card) for card in rule.nearest(1))
    wanted = "its card is" if solver.card else "it needs at least"

    noun, what = "variable", "nonzeros"
    if isinstance(rule, GroupRule):  # from here on groups stand for variables
        columns = pd.Index([group[0] for group in solver.together or ()])
        noun, what, rule = "group", "groups", rule.groups
        if max(cards) > len(columns):
            raise CardinalityError(
                f"card={list(cards)} was given with together=, where it counts groups; there are "
                f"{len(columns)}, {listed(columns)}. Give {len(columns)} at most."
            )

    def called(some: np.ndarray) -> str:
        return ", ".join(full_names(columns[some][:8])) + (" and more" if some.sum() > 8 else "")

    for i, (card, may, must) in enumerate(zip(cards, rule.may, rule.must, strict=True)):
        if (must & ~may).any():
            raise OptionError(
                f"include and exclude both name {called(must & ~may)} for PC{i + 1}; take it out of one."
            )
        if must.sum() > card:
            raise OptionError(
                f"include gives PC{i + 1} {plural(int(must.sum()), noun)} ({called(must)}), and "
                f"{wanted} {card}: give card={int(must.sum())} or more there, or include fewer."
            )
        if may.sum() < card:
            raise OptionError(
                f"exclude leaves PC{i + 1} {plural(int(may.sum()), noun)} ({called(may)}), and "
                f"{wanted} {card}: exclude fewer{', or give a smaller card there' * (card > 1)}."
            )
    if not rule.disjoint:
        return
    twice = rule.must.sum(axis=0) > 1
    if twice.any():
        owners = ", ".join(f"PC{i + 1}" for i in np.flatnonzero(rule.must[:, twice].any(axis=1)))
        raise OptionError(
            f"include gives {called(twice)} to {owners}, and disjoint=True gives a {noun} to one component "
            'only: include it by component, include={"PC1": [...]}, or leave disjoint out.'
        )
    if sum(cards) > len(columns):
        raise OptionError(
            f"card={list(cards)} asks for {sum(cards)} {what}, and disjoint=True shares {len(columns)} "
            f"{noun}s among the components: give smaller cards, fewer components, or leave disjoint out."
        )
    if rule.assigned(np.zeros(rule.may.shape), cards) is None:
        raise OptionError(
            f"include and exclude leave no disjoint=True components of card={list(cards)}: some of them "
            "compete for too few variables. Name fewer, give smaller cards, or leave disjoint out."
        )


# --- checks of options ----------------------------------------------------------------------------


#: Largest number of starts of one fit.
MOST_STARTS = 1_000_000

#: Takes (value, k, p) and returns the value for the solver.
Check = Callable[[Any, int, int], Any]


def cardinalities(card: Any, k: int, p: int) -> tuple[int, ...]:
    """Return the number of nonzeros of each of k components.

    Parameters
    ----------
    card : int, sequence of k ints, or mapping
        A mapping, or a Series with such labels, names components by "PC1", "PC2", ... or by number from 1.
    k, p : int
    """
    names = [f"PC{i + 1}" for i in range(k)]
    if isinstance(card, Mapping):
        values = _from_mapping(card, names)
    elif isinstance(card, pd.Series) and sorted(map(str, card.index)) == sorted(names):
        values = _from_mapping(card.to_dict(), names)
    else:
        values = each("card", card, k, CardinalityError)
    return tuple([whole_number("card", one, 1, p, CardinalityError) for one in values])


def _from_mapping(card: Mapping[Any, Any], names: list[str]) -> list[Any]:
    """Return the values of a mapping in the order of the components, given by name or by number."""
    by_name = {f"PC{int(key)}" if is_whole(key) else str(key): value for key, value in card.items()}
    if set(by_name) != set(names) or len(by_name) != len(card):
        raise CardinalityError(
            f"card names the components {listed(card)}; with k={len(names)} it must name each of "
            f"{listed(names, 20)} (or their numbers, from 1) once."
        )
    return [by_name[name] for name in names]


def _numbers(name: str, low: float, high: Callable[[int], float]) -> Check:
    """Return a check for one number for all components, or for k numbers, between `low` and ``high(p)``."""

    def check(value: Any, k: int, p: int) -> tuple[float, ...]:
        values = each(name, value, k)
        largest = high(p)
        return tuple(min(real_number(name, one, low, largest * (1 + 1e-12)), largest) for one in values)

    return check


def _flag(name: str) -> Check:
    return lambda value, k, p: flag(name, value)


def _count(name: str) -> Check:
    return lambda value, k, p: whole_number(name, value, 1)


def _between(name: str, low: float, high: float) -> Check:
    """Return a check for a number strictly between `low` and `high`."""

    def check(value: Any, k: int, p: int) -> float:
        number = real_number(name, value, low, high, open_low=True)
        if number == high:
            raise OptionError(f"{name}={shown(value)} was given; it must be a number in ({low:g}, {high:g}).")
        return number

    return check


def _screen(value: Any, k: int, p: int) -> bool | int:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if not isinstance(value, (int, np.integer)):
        raise OptionError(
            f"screen={shown(value)} was given; it must be True, False, or the number of variables to start "
            "with."
        )
    return whole_number("screen", value, 1, min(p, GRAM_ORDER))


def _start(value: Any, k: int, p: int) -> Start:
    if isinstance(value, str) or not isinstance(value, (np.ndarray, pd.DataFrame, list, tuple)):
        return one_of("start", value, STARTS)
    allowed = f"it must be one of {listed(STARTS)}, or loadings of shape ({p}, {k}), no column of zeros"
    try:
        V = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise OptionError(f"start={shown(value)} was given; {allowed}.") from None
    if V.shape != (p, k):
        raise OptionError(f"start was given with shape {V.shape}; {allowed}.")
    if not np.isfinite(V).all() or not V.any(axis=0).all():
        raise OptionError(f"start was given with infinite numbers or a column of zeros; {allowed}.")
    return value if isinstance(value, pd.DataFrame) else V


def _rotation(value: Any, k: int, p: int) -> str:
    from spcastat.solvers.thresholding import ROTATIONS

    return one_of("rotation", value, ROTATIONS)


#: Options that are True or False.
FLAGS = ("orth", "renormalise", "certify", "accelerate", "backward", "nonneg", "exact", "smooth", "disjoint")
#: Option -> function of (value, k, p) that returns the checked value for the solver.
CHECKS: dict[str, Check] = {
    **{name: _flag(name) for name in FLAGS},
    **{name: _count(name) for name in ("c", "sweeps", "max_iter")},
    "card": cardinalities,
    "total": lambda value, k, p: whole_number("total", value, k, k * p, CardinalityError),
    "t": _numbers("t", 1.0, lambda p: float(np.sqrt(p))),
    "penalty": _numbers("penalty", 0.0, lambda p: np.inf),
    "threshold": _numbers("threshold", 0.0, lambda p: 1.0),
    "rotation": _rotation,
    "mu": _numbers("mu", 1e-100, lambda p: 1e100),
    "epsilon": lambda value, k, p: real_number("epsilon", value, 0.0, 1.0, open_low=True),
    "orthonormality": lambda value, k, p: real_number("orthonormality", value, 0.0, 1e12, open_low=True),
    "orthogonal": lambda value, k, p: real_number("orthogonal", value, 0.0, 1.0),
    "uncorrelated": lambda value, k, p: real_number("uncorrelated", value, 0.0, np.inf),
    "ridge": lambda value, k, p: real_number("ridge", value, 0.0, np.inf),
    "variance": lambda value, k, p: real_number(
        "variance", value, 0.0, 1.0, open_low=True, error=VarianceError
    ),
    "deflation": lambda value, k, p: one_of("deflation", value, DEFLATIONS),
    "p": _between("p", 0.0, 1.0),
    "spread": lambda value, k, p: one_of("spread", value, SCALES),
    "loss": lambda value, k, p: one_of("loss", value, ("huber", "l1")),
    "grid": lambda value, k, p: whole_number("grid", value, 3, 10_000),
    "start": _start,
    "n_init": lambda value, k, p: whole_number("n_init", value, 1, MOST_STARTS),
    "include": names_by_component("include"),
    "exclude": names_by_component("exclude"),
    "together": groups_together,
    "objective": lambda value, k, p: one_of("objective", value, OBJECTIVES),
    "effort": lambda value, k, p: one_of("effort", value, EFFORTS),
    "promise": lambda value, k, p: one_of("promise", value, PROMISES),
    "screen": _screen,
    "tol": lambda value, k, p: real_number("tol", value, 0.0, 1.0),
}
