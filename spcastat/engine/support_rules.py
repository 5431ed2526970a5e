"""Checks of `include`, `exclude`, `disjoint` and `together`, and their translation to positions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import elements, is_whole, listed, nearest, plural, shown
from spcastat.errors import CardinalityError, OptionError
from spcastat.intake import Spec
from spcastat.labels import full_names
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.solvers import Solver

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
    from spcastat.search.default import HELD, SEQUENTIAL  # as slow to import as a small fit

    what, card = " and ".join(given), checked.get("card")
    if card is None and checked.get("together"):
        raise OptionError(
            f"{what} was given without card=, which counts the groups of together=; variance= searches for "
            "the fewest loadings, one by one. Give card=, such as card=2, or let "
            "sp.choose(data, k, together=...) choose it."
        )
    if card is None and "variance" not in checked and given != ["disjoint="]:
        raise OptionError(
            f"{what} was given without card= and variance=; disjoint=True alone puts every variable into one "
            "component. Give card=, such as card=5, or variance=, such as variance=0.8."
        )
    if p > HELD:
        raise OptionError(
            f"{what} was given with {p} variables; with more than {HELD} the search runs on some of them and "
            f"tests the others without a rule. Give at most {HELD} variables."
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


def placed(solver: Solver, spec: Spec, check: bool = True) -> Solver:
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
