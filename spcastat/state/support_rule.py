"""The rule for the supports of a fit: its description, and the loadings that it forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from spcastat.labels import full_names
from spcastat.search.joint_method import Joint
from spcastat.search.rule import SupportRule
from spcastat.state.fitstate import FitState
from spcastat.state.record import Record

#: A forced loading whose square is below this is reported as negligible.
NEXT_TO_NOTHING = 0.01
#: Largest number of variables named per component.
FEW = 8


def rule_of(record: Record) -> SupportRule | None:
    """Return the rule of a fit, in positions of variables; None without a rule."""
    options: dict[str, Any] = {name: record.options.get(name) for name in ("card", "include", "exclude")}
    if grouped(record):
        options["card"] = (1,) * record.k  # the rule uses the number of components only
    return Joint(**options, disjoint=bool(record.options.get("disjoint"))).rule(record.p)


def grouped(record: Record) -> bool:
    """Return whether the fit searched for groups, with every variable in exactly one component."""
    return bool(record.options.get("disjoint")) and record.options.get("card") is None


def forced(state: FitState) -> np.ndarray:
    """Return which loadings the rule forces, shape (p, k)."""
    rule = rule_of(state.record)
    return np.zeros(state.V.shape, dtype=bool) if rule is None else rule.must.T


def rule_words(state: FitState) -> str:
    """Return the rule in words, e.g. "PC1 must have clear; no variable is in two components", or ""."""
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
    """Return the requirement on each component, or on all at once if it is the same."""
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
