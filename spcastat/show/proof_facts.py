"""Facts about what is proven for a fit, and their sentences in prints and in methods sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.fit.record import PARTITIONS, UNRULED, Proven
from spcastat.fit.state import FitState, rule_words
from spcastat.labels import full_names, some_of
from spcastat.search.objectives import OBJECTIVES
from spcastat.show.templates import TEMPLATES, Fact, Template, fact, methods, worded

#: Why the bounds are no lower: the end of a sentence that begins with "The search was", "An", "The search".
_STOPPED = (
    "{interrupted?interrupted|stopped by the {reason}} after {seconds} s{interrupted?|; a larger {option}= "
    "may lower the bound}"
)
_SINGLE_BOUNDS = "{joint?; certify(joint=False) bounds each component given the earlier ones}"
_NOT_FEASIBLE = (
    "exhaustive search is not feasible for {p|# variable|# variables} ({reason}), so the bound is one that "
    f"needs no search{_SINGLE_BOUNDS}"
)
_NOT_TIGHT = (
    "examined all supports, but its bounds for some of them are not tight, and more time does not lower "
    f"them{_SINGLE_BOUNDS}"
)

#: The wordings of each fact, by key.
PROOF_TEMPLATES: dict[str, Template] = {
    # --- all components together
    "loadings bounded": Template(
        part="{partitions?disjoint components of all variables|{orthogonal?orthogonal }loadings with these "
        "cardinalities}"
    ),
    "proven optimal": Template(
        line="Proven optimal{exact?| to within {gain} %}: no {whose} {exact?have a larger {measure} than "
        "this fit, {value} %|exceed the {measure} of this fit, {value} %, by more than {gain} % of it}.",
        methods="It was proven that no {whose} {exact?have a larger {measure}|exceed this {measure} by more "
        "than {gain} % of it}.",
    ),
    "proven bound": Template(
        line="No {whose} have a larger {measure} than {bound} % of the {total}. This fit has {value} "
        "%, and at most {points} points, {gain} % of its value, can be gained.",
        methods="It was proven that no {whose} have a larger {measure} than {bound} % of the {total}, "
        "so that at most {gain} % of the value of these loadings could be gained.",
    ),
    "bound of PCA": Template(
        line="This is the bound of any fit with as many components: the share of PCA with all loadings.",
        methods="The bound was the share of principal components with all loadings.",
    ),
    "better fit found": Template(
        line="A fit with {share} % was found{nonneg?, with loadings of either sign|: fit.adopt(certificate) "
        "returns it}.",
        methods="Loadings{nonneg? of either sign} with {share} % were found.",
    ),
    "bound of variances": Template(
        line="This is the bound of any fit with {number|# variable|# variables}, the sum of the largest "
        "variances.",
        methods="The bound was the sum of the {number} largest variances of variables.",
    ),
    # --- each component, given the earlier ones
    "each component optimal": Template(
        line="{k|The component is proven optimal|Each component is proven optimal, given the earlier ones}.",
        methods="{k|The component was proven optimal|Each component was proven optimal, given the earlier "
        "ones}.",
    ),
    "components optimal": Template(
        line="Proven optimal, given the earlier components: {names}.",
        methods="Given the earlier components, {names} {number|was|were} proven optimal.",
    ),
    "components bounded": Template(
        line="Possible improvement{others? of the others}, at most: {gaps}.",
        methods="{others?|Given the earlier components, u}{others?U}pper bounds on the possible "
        "improvement{others? of the others} were {gaps}.",
    ),
    "better components found": Template(
        line="Better loadings were found for {names}: certificate.loadings.",
        methods="Better loadings were found for {names}.",
    ),
    "gap of component": Template(part="{name} {gain} %"),
    "gap of nothing": Template(part="{name} (which adds nothing) by a variance of {variance:.3g}"),
    "earlier held fixed": Template(
        line="Each component is bounded given the earlier ones, and a better one may leave less variance for "
        "later ones; certify(joint=True) bounds all components together."
    ),
    # --- why a bound is not lower
    "search stopped": Template(label="Search", line=_STOPPED, note=f"The search was {_STOPPED}."),
    "search not feasible": Template(
        label="Search",
        line=f"an {_NOT_FEASIBLE}",
        note=f"An {_NOT_FEASIBLE}. The search is feasible for fewer variables or nonzero loadings.",
    ),
    "search not tight": Template(label="Search", line=_NOT_TIGHT, note=f"The search {_NOT_TIGHT}."),
    # --- the loadings for which the bound is valid
    **{
        key: Template(line=text, methods=text.replace("is valid", "was valid"))
        for key, text in (
            ("bound of any sign", "The bound was computed without the sign constraint and is valid with it."),
            ("bound without rule", "The bound was computed {unruled} ({rule}) and is valid with it."),
            ("bound under rule", "Compared with supports under the rule: {rule}."),
        )
    },
}
TEMPLATES |= PROOF_TEMPLATES


def proof_sentence(proven: Proven, state: FitState) -> str:
    """Return a proof in words, with advice on which method to call next."""
    return " ".join(proof_sentences(proven, state))


def proof_sentences(proven: Proven, state: FitState) -> list[str]:
    """Return the sentences of :func:`proof_sentence` as a list."""
    return [worded(PROOF_TEMPLATES[item.key].line, item.values) for item in facts_of(proven, state)]


def proof_methods(proven: Proven, state: FitState) -> str:
    """Return a proof in words for a methods section."""
    return " ".join(methods(facts_of(proven, state)))


def facts_of(proven: Proven, state: FitState) -> Iterator[Fact]:
    """Yield facts about what is proven, and for which loadings."""
    nonneg, rule = bool(state.record.options.get("nonneg")), rule_words(state)
    joint = proven.scope == "joint"
    yield from (
        _joint_bound(proven, state) if joint else _component_bounds(proven, full_names(state.components))
    )
    if nonneg:
        yield fact("bound of any sign")
    description = proven.rows[0]["proof"]
    if rule and joint and description.endswith(UNRULED):
        yield fact("bound without rule", unruled=UNRULED, rule=rule)
    elif rule and not (joint and description.startswith(PARTITIONS)):
        yield fact("bound under rule", rule=rule)


def _joint_bound(proven: Proven, state: FitState) -> Iterator[Fact]:
    """Yield the bound for all components together."""
    (row,) = proven.rows
    partitions = row["proof"].startswith(PARTITIONS)
    value, bound, points = value_and_bound(row)
    yield fact(
        "proven optimal" if row["optimal"] else "proven bound",
        whose=fact("loadings bounded", partitions=partitions, orthogonal=proven.orthogonal),
        measure=OBJECTIVES[proven.measure].label,
        total=fact("total variance", **state.cleaned, partial=state.spec.partial),
        value=value,
        bound=bound,
        exact=row["gap"] <= ROUNDING_GAP,
        gain=percent_text(row["gap"] / 100.0, up=True),
        points=points,
    )
    if row["optimal"]:
        return
    if percent_text(row["upper_bound"], up=True) == percent_text(row["pca_bound"], up=True):
        yield fact("bound of PCA")
    if row["proof"].startswith(SUM_OF_VARIANCES):
        yield fact("bound of variances", number=min(sum(row["cardinalities"]), state.record.p))
    if row["best_known"] > row["value"] * (1.0 + 1e-9):
        nonneg = bool(state.record.options.get("nonneg"))
        yield fact("better fit found", share=percent_text(row["best_known"]), nonneg=nonneg)


def _component_bounds(proven: Proven, names: list[str]) -> Iterator[Fact]:
    """Yield the bounds for each component, given the earlier ones."""
    optimal = [name for name, row in zip(names, proven.rows, strict=True) if row["optimal"]]
    if len(optimal) == len(names):
        yield fact("each component optimal", k=len(names))
        return
    gaps = [
        fact("gap of component", name=name, gain=percent_text(row["gap"] / 100.0, up=True))
        if np.isfinite(row["gap"])
        else fact("gap of nothing", name=name, variance=row["upper_bound"])
        for name, row in zip(names, proven.rows, strict=True)
        if not row["optimal"]
    ]
    if optimal:
        yield fact("components optimal", names=", ".join(optimal), number=len(optimal))
    texts = [worded(TEMPLATES[gap.key].part, gap.values) for gap in gaps]
    yield fact("components bounded", gaps=some_of(texts), others=bool(optimal))
    improvable = [
        name
        for name, row in zip(names, proven.rows, strict=True)
        if row["best_known"] > row["value"] * (1.0 + 1e-9) and not row["optimal"]
    ]
    if improvable:
        yield fact("better components found", names=", ".join(improvable))
    if len(names) > 1:
        yield fact("earlier held fixed")


def exceeded(row: Mapping[Any, Any] | pd.Series, state: FitState) -> bool:
    """Return whether better loadings were found that the options of the fit allow."""
    options = state.record.options
    if options.get("nonneg") or options.get("constraint"):  # better loadings may violate these
        return False
    return bool(row["best_known"] > row["value"] * (1.0 + 1e-9))


#: Gaps up to this, in percent, are rounding errors; joint proofs of several components end at .01 %.
ROUNDING_GAP = 1e-7
#: The beginning of `proof` if the bound uses only variances; the text in brackets at the end of `proof`.
SUM_OF_VARIANCES, _REASON = "sum of the largest variances", re.compile(r"\(([^()]+)\)(?:, [^()]*)?$")
#: The reason given if a search examined all supports without a tight bound.
NOT_TIGHT = "bound not tight"
#: Reasons why a search stopped before its end, with the option that extends it.
STOPS = {"time limit": "time_limit", "node limit": "max_nodes", "interrupted": ""}


def search_ended(proven: Proven, state: FitState) -> Iterator[Fact]:
    """Yield why the bounds are not lower: a limit of the search, loose bounds, or too many supports."""
    seconds = sum(row["seconds"] for row in proven.rows)
    for reason in dict.fromkeys(
        reason_match[1]
        for row in proven.rows
        if not row["optimal"] and (reason_match := _REASON.search(row["proof"])) is not None
    ):
        if reason in STOPS:
            spent = f"{seconds:.0f}" if seconds >= 10.0 else f"{seconds:.2g}"
            yield fact(
                "search stopped",
                reason=reason,
                interrupted=reason == "interrupted",
                seconds=spent,
                option=STOPS[reason],
            )
        else:
            key = "search not tight" if reason == NOT_TIGHT else "search not feasible"
            yield fact(key, reason=reason, p=state.record.p, joint=proven.scope == "joint")


def value_and_bound(row: Mapping[Any, Any] | pd.Series) -> tuple[str, str, str]:
    """Return a value, its bound and their difference as texts in percent; bounds are rounded up.

    The third text is the difference of the first two, so that readers can check it.
    """
    value = percent_text(row["value"])
    gain = percent_text(row["upper_bound"] - row["value"], up=True)
    bound = max(float(percent_text(row["upper_bound"], up=True)), float(value) + float(gain))
    return value, f"{bound:.3f}", f"{bound - float(value):.3f}"


def percent_text(share: float, up: bool = False, rounding: float = 1e-7) -> str:
    """Return a share in percent with three digits, rounded up if `up`; `rounding` is its error."""
    scaled = 1e5 * share
    return f"{(np.ceil(scaled - rounding) if up else np.round(scaled)) / 1e3 + 0.0:.3f}"
