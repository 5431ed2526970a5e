"""The proofs of optimality that a fit stores, and sentences about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from spcastat.fit.record import PARTITIONS, UNRULED, Proven
from spcastat.fit.state import FitState, rule_words
from spcastat.labels import full_names, some_of
from spcastat.search.climbing import OBJECTIVES


def with_proof(state: FitState, new: Proven) -> FitState:
    """Return the state with a new proof; of two of one kind, that with the smaller bounds is kept."""
    alike = [one for one in state.proofs if one.kind == new.kind]
    bounds = [sum(row["upper_bound"] for row in one.rows) for one in (new, *alike)]
    if any(bound <= bounds[0] for bound in bounds[1:]):
        return state
    kept = tuple(one for one in state.proofs if one.kind != new.kind)
    return replace(state, proofs=(*kept, new))


def joint_gap(state: FitState, measure: str) -> float:
    """Return the gap, in percent, that was proven for all components together; NaN without such a proof."""
    gaps = [one.rows[0]["gap"] for one in state.proofs if one.kind == ("joint", measure, False)]
    return float(gaps[0]) if gaps else float("nan")


def proof_sentences(state: FitState) -> Iterator[str]:
    """Yield every proof of a fit in words."""
    nonneg, names = bool(state.record.options.get("nonneg")), list(state.components)
    return (proof_sentence(one, nonneg, names, rule_words(state)) for one in state.proofs)


def proof_sentence(proven: Proven, nonneg: bool, names: Sequence[str], rule: str = "") -> str:
    """Return a proof in words, given the names of the components and a description of the support rule."""
    text = _joint(proven, nonneg) if proven.scope == "joint" else _components(proven, names)
    if nonneg:
        text += " The bound is that without the sign constraint."
    if rule and proven.scope == "joint" and proven.rows[0]["proof"].endswith(UNRULED):
        text += f" The bound is that {UNRULED} ({rule}), under which it holds too."
    elif rule and not (proven.scope == "joint" and proven.rows[0]["proof"].startswith(PARTITIONS)):
        text += f" Compared with supports under the rule: {rule}."
    return text


def _joint(proven: Proven, nonneg: bool) -> str:
    (row,) = proven.rows
    name = OBJECTIVES[proven.measure]
    value, bound = percent_text(row["value"]), percent_text(row["upper_bound"], up=True)
    whose = f"{'orthogonal ' * proven.orthogonal}loadings with these cardinalities"
    if row["proof"].startswith(PARTITIONS):
        whose = "disjoint components of all variables"
    if row["optimal"]:
        return f"Proven optimal: no {whose} have a larger {name} than this fit, {value} %."
    text = (
        f"No {whose} have a larger {name} than {bound} %; this fit has {value} %: "
        f"the best is at most {percent_text(row['gap'] / 100.0, up=True)} % above it."
    )
    if row["upper_bound"] >= row["pca_bound"]:
        text += " The bound is that of dense PCA, so nothing was gained over it."
    if row["best_known"] > row["value"] * (1.0 + 1e-9):
        how = ", with loadings of either sign" if nonneg else ": adopt() returns it"
        text += f" A fit with {percent_text(row['best_known'])} % was found{how}."
    return text


def _components(proven: Proven, names: Sequence[str]) -> str:
    names = full_names(names)
    best = [name for name, row in zip(names, proven.rows, strict=True) if row["optimal"]]
    if len(best) == len(names):
        return "Each component is proven optimal, given the earlier ones."
    open_ = [(name, row) for name, row in zip(names, proven.rows, strict=True) if not row["optimal"]]
    gaps = [
        f"{name} {percent_text(row['gap'] / 100.0, up=True)} %"
        if np.isfinite(row["gap"])
        else f"{name} (which adds nothing) by a variance of {row['upper_bound']:.3g}"
        for name, row in open_
    ]
    first = f"Proven optimal, given the earlier components: {', '.join(best)}. " if best else ""
    last = " Only one component changes at a time; certify(joint=True) bounds all together."
    return f"{first}The best can exceed the others by at most: {some_of(gaps)}.{last * (len(names) > 1)}"


def percent_text(share: float, up: bool = False, rounding: float = 1e-7) -> str:
    """Return a share in percent with three digits, rounded up if `up`, unless it exceeds them by rounding."""
    scaled = 1e5 * share
    return f"{(np.ceil(scaled - rounding) if up else np.round(scaled)) / 1e3 + 0.0:.3f}"
