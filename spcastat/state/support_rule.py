"""The rule for the supports of a fit: its description, and the loadings that it forces."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from spcastat.labels import full_names, some_of
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.search.rule import SupportRule
from spcastat.state.fitstate import FitState
from spcastat.state.record import Record

#: A forced loading whose square is below this is reported as negligible.
NEXT_TO_NOTHING = 0.01
#: The rule of disjoint components of all variables, in words.
EVERY = "every variable is in one component"


#: The rules of records, which are asked for many times when a fit is printed.
_RULES: WeakKeyDictionary[Record, SupportRule | None] = WeakKeyDictionary()


def rule_of(record: Record) -> SupportRule | None:
    """Return the rule of a fit, in positions of variables; None without a rule."""
    if record not in _RULES:
        _RULES[record] = _rule_of(record)
    return _RULES[record]


def _rule_of(record: Record) -> SupportRule | None:
    names = ("card", "variance", "include", "exclude", "together")
    options: dict[str, Any] = {name: record.options.get(name) for name in names}
    if grouped(record):
        options["card"] = (1,) * record.k  # the rule uses the number of components only
    return Joint(**options, disjoint=bool(record.options.get("disjoint"))).rule(record.p, record.k)


def grouped(record: Record) -> bool:
    """Return whether the fit searched for groups, with every variable in exactly one component."""
    options = record.options
    return bool(options.get("disjoint")) and options.get("card") is None and options.get("variance") is None


def forced(state: FitState) -> np.ndarray:
    """Return which loadings the rule forces, shape (p, k)."""
    rule = rule_of(state.record)
    return np.zeros(state.V.shape, dtype=bool) if rule is None else rule.must.T


def shares(state: FitState) -> np.ndarray:
    """Return the share of each variable in each component, its squared loading, shape (p, k).

    If the variables of a group enter together, each has the share of its group.
    """
    rule = rule_of(state.record)
    return rule.by_group(state.V.T**2)[:, rule.of].T if isinstance(rule, GroupRule) else state.V**2


def groups_of(state: FitState) -> dict[str, np.ndarray]:
    """Return a dict: name of a group of variables that enter together -> components with it, bool (k,)."""
    given = (state.V != 0) | forced(state)
    groups = state.record.options.get("together") or ()
    return {str(name): given[list(members)].any(axis=0) for name, members in groups}


def rule_words(state: FitState) -> str:
    """Return the rule in words, or "" without a rule.

    For example, "PC1 must have length; no variable is in two components", where length is a variable.
    """
    rule = rule_of(state.record)
    if rule is None:
        return ""
    if grouped(state.record):
        return EVERY
    names, noun, parts = full_names(state.spec.columns), "variable", []
    if isinstance(rule, GroupRule):
        groups = state.record.options["together"]
        names, noun = [str(name) for name, _ in groups], "group"
        several = [str(name) for name, members in groups if len(members) > 1]
        parts = [
            f"card counts groups, {len(names)} in all; the variables of {some_of(several)} enter together"
        ]
        rule = rule.groups
    common = len(rule.may) > 1 and (rule.may == rule.may[0]).all()
    parts += _each(state, names, rule.must, "must have")
    parts += _each(state, names, ~rule.may, "has" if common else "must not have", "no component")
    return "; ".join(parts + [f"no {noun} is in two components"] * rule.disjoint)


def _each(
    state: FitState, names: list[str], asked: np.ndarray, verb: str, common: str = "every component"
) -> list[str]:
    """Return the requirement on each component, or on all at once if it is the same."""
    components = full_names(state.components)
    if len(components) > 1 and (asked == asked[0]).all():
        components, asked = [common], asked[:1]
    named = [[name for name, one in zip(names, own, strict=True) if one] for own in asked]
    return [f"{name} {verb} {some_of(some)}" for name, some in zip(components, named, strict=True) if some]
