"""Checks of `include`, `exclude` and `disjoint`, and their translation from names to positions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import elements, is_whole, listed, nearest, plural, shown
from spcastat.errors import OptionError
from spcastat.labels import full_names
from spcastat.search.joint_method import Joint
from spcastat.solvers import Solver

#: Options that restrict the supports.
RULE = ("include", "exclude", "disjoint")


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
                sound = len(several) <= p and not isinstance(
                    names, Iterator
                )  # a consumed iterator would be empty in a refit
            except Exception:  # labels must be hashable
                sound = False
            if not sound:
                raise OptionError(
                    f"{option}={shown(value)} was given; it takes a list of names of variables, for every "
                    f'component, or a mapping from components to such lists: {option}={{"PC1": ["age"]}}.'
                )
        return tuple(map(tuple, found.values())) if any(found.values()) else None

    return check


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
    groups = given == ["disjoint="] and "variance" not in checked
    if card is None and not groups:
        raise OptionError(
            f"{what} was given without card=; the search for the fewest nonzeros that keep a share of the "
            "variance does not support it. Give card=, such as card=5, and no variance=; "
            "disjoint=True alone puts every variable into one component."
        )
    if p > HELD:
        raise OptionError(
            f"{what} was given with {p} variables; with more than {HELD} the search runs on some of them and "
            f"tests the others without a rule. Give at most {HELD} variables."
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


def placed(solver: Solver, columns: pd.Index) -> Solver:
    """Return a solver whose rule, if it has one, refers to variables by position.

    Raises
    ------
    OptionError
        If a name is not in `columns`, or if no supports satisfy the rule.
    """
    if not isinstance(solver, Joint) or not solver.ruled:
        return solver
    by_position: dict[str, Any] = {}
    for option in RULE[:2]:
        named = getattr(solver, option)
        if named is not None:
            by_position[option] = tuple(tuple(_positions(option, one, columns)) for one in named)
    found = replace(solver, **by_position)
    require_possible(found, columns)
    return found


def _positions(option: str, names: tuple[Hashable, ...], columns: pd.Index) -> list[int]:
    places = {label: i for i, label in enumerate(columns.to_flat_index())}
    unknown = [name for name in names if name not in places]
    if unknown:
        raise OptionError(
            f"{option} names {listed(unknown)}, which no variable is called; they are "
            f"{listed(places)}.{nearest(unknown[0], places)}"
        )
    return sorted(places[name] for name in names)


def require_possible(solver: Solver, columns: pd.Index) -> None:
    """Raise OptionError where no supports of the cardinalities obey the rule of a solver, with positions."""
    rule = solver.rule(len(columns)) if isinstance(solver, Joint) and solver.ruled else None
    if rule is None:
        return
    cards: tuple[int, ...] = solver.card  # type: ignore[attr-defined]

    def called(some: np.ndarray) -> str:
        return ", ".join(full_names(columns[some][:8])) + (" and more" if some.sum() > 8 else "")

    for i, (card, may, must) in enumerate(zip(cards, rule.may, rule.must, strict=True)):
        if (must & ~may).any():
            raise OptionError(
                f"include and exclude both name {called(must & ~may)} for PC{i + 1}; take it out of one."
            )
        if must.sum() > card:
            raise OptionError(
                f"include gives PC{i + 1} {plural(int(must.sum()), 'variable')} ({called(must)}), and its "
                f"card is {card}: give card={int(must.sum())} or more there, or include fewer."
            )
        if may.sum() < card:
            raise OptionError(
                f"exclude leaves PC{i + 1} {plural(int(may.sum()), 'variable')} ({called(may)}), and its "
                f"card is {card}: exclude fewer, or give a smaller card there."
            )
    if not rule.disjoint:
        return
    twice = rule.must.sum(axis=0) > 1
    if twice.any():
        owners = ", ".join(f"PC{i + 1}" for i in np.flatnonzero(rule.must[:, twice].any(axis=1)))
        raise OptionError(
            f"include gives {called(twice)} to {owners}, and disjoint=True gives a variable to one component "
            'only: include it by component, include={"PC1": [...]}, or leave disjoint out.'
        )
    if sum(cards) > len(columns):
        raise OptionError(
            f"card={list(cards)} asks for {sum(cards)} nonzeros, and disjoint=True shares {len(columns)} "
            "variables among the components: give smaller cards, fewer components, or leave disjoint out."
        )
    if rule.assigned(np.zeros(rule.may.shape), cards) is None:
        raise OptionError(
            f"include and exclude leave no disjoint=True components of card={list(cards)}: some of them "
            "compete for too few variables. Name fewer, give smaller cards, or leave disjoint out."
        )
