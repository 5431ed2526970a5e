"""The rule for the supports of a fit: in words, and which loadings it forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from spcastat.labels import full_names
from spcastat.search.joint_method import Joint
from spcastat.search.rule import SupportRule
from spcastat.state.fitstate import FitState
from spcastat.state.record import Record

#: A forced loading with a smaller share of its component, the square of the loading, is next to nothing.
NEXT_TO_NOTHING = 0.01
#: Variables of one component that are named, at most.
FEW = 8


def rule_of(record: Record) -> SupportRule | None:
    """Return the rule of a fit, on positions; None where it has none."""
    options: dict[str, Any] = {name: record.options.get(name) for name in ("card", "include", "exclude")}
    if grouped(record):
        options["card"] = (1,) * record.k  # the rule asks only how many components there are
    return Joint(**options, disjoint=bool(record.options.get("disjoint"))).rule(record.p)


def grouped(record: Record) -> bool:
    """Return whether every variable is in exactly one component, and the groups were searched for."""
    return bool(record.options.get("disjoint")) and record.options.get("card") is None


def forced(state: FitState) -> np.ndarray:
    """Return which loadings the rule forces, shape (p, k)."""
    rule = rule_of(state.record)
    return np.zeros(state.V.shape, dtype=bool) if rule is None else rule.must.T


def rule_words(state: FitState) -> str:
    """Return the rule in words, "PC1 must have clear; no variable is in two components", or nothing."""
    rule = rule_of(state.record)
    if rule is None:
        return ""
    if grouped(state.record):
        return "every variable is in one component"
    common = len(rule.may) > 1 and (rule.may == rule.may[0]).all()
    parts = _each(state, rule.must, "must have")
    parts += _each(state, ~rule.may, "has" if common else "must not have", "no component")
    return "; ".join(parts + ["no variable is in two components"] * rule.disjoint)


def _each(state: FitState, asked: np.ndarray, verb: str, common: str = "every component") -> list[str]:
    """Return what is asked of each component; of all at once where it is the same."""
    components = full_names(state.components)
    if len(components) > 1 and (asked == asked[0]).all():
        components, asked = [common], asked[:1]
    parts = []
    for name, own in zip(components, asked, strict=True):
        variables = full_names(state.spec.columns[own])
        more = f" and {len(variables) - FEW} more" if len(variables) > FEW else ""
        if variables:
            parts.append(f"{name} {verb} {', '.join(variables[:FEW])}{more}")
    return parts
