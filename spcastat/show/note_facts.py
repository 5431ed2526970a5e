"""Facts for the notes on a fit: cautions, near copies of variables, other orders, few passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from spcastat.arguments import shown
from spcastat.fit.plan import MOST_GROUPED, can_be_constrained
from spcastat.fit.record import Record
from spcastat.fit.state import FitState, forced, groups_of, shares
from spcastat.labels import full_names, some_of
from spcastat.linalg.standardisation import ScalingGroups
from spcastat.measures import best_order, totals_in_orders
from spcastat.show.facts import FEW_NAMES, measures_of_variance, objective_of, variance_of_few
from spcastat.show.templates import Fact, fact, part

#: The largest numbers of variables named in the advice to keep near copies together, and of pairs listed.
MOST_TOGETHER, LISTED_COPIES = 8, 3
#: A correlation at least this large in absolute value is 1 or -1 up to rounding.
EXACT_COPY = 1.0 - 1e-11
#: A share that differs from one by less than this equals one up to rounding.
EXACT_SHARE = 1e-9


def cautions(state: FitState, largest: pd.Series, variance: pd.DataFrame) -> Iterator[Fact]:
    """Yield the facts that help to interpret the tables.

    Parameters
    ----------
    state : FitState
    largest : Series
        The largest absolute correlation of each component with another.
    variance : DataFrame
        The table of variances and cardinalities of the components.
    """
    record = state.record
    zero = forced(state) & (shares(state) == 0)
    if zero.any():
        rows, columns = np.nonzero(zero)
        names = zip(full_names(state.spec.columns[rows]), full_names(state.components[columns]), strict=True)
        yield fact(
            "forced at zero",
            number=int(zero.sum()),
            names=", ".join(f"{name} in {component}" for name, component in names),
        )
    membership = pd.DataFrame(groups_of(state), state.components)
    counts = variance["cardinality"] + zero.sum(axis=0) if membership.empty else membership.sum(axis=1)
    failures = list(missed(record, counts, not membership.empty))
    if failures:
        details = bool(record.details)
        yield fact(
            "cardinality missed",
            number=len(failures),
            components=", ".join(map(part, failures)),
            details=details,
        )
    if record.sparse:
        yield fact("weights in table")
    if not record.is_pca:
        yield measures_of_variance(state)
        yield from variance_of_few(state, variance)
    objective = objective_of(record)
    if record.sparse and objective is not None and objective.criterion.squares:
        share, of_pca = (variance[f"cumulative {name}"].iloc[-1] for name in ("least squares", "PCA"))
        if share > 1.0 - EXACT_SHARE:
            yield fact("all explained")
        elif (record.n or np.inf) <= record.p and share > of_pca - EXACT_SHARE:
            yield fact("as much as PCA")
    if largest.max() > 0.6:
        yield fact("strongly correlated scores", r=largest.max(), remedy=remedy(state))


def missed(record: Record, counts: pd.Series, groups: bool) -> Iterator[Fact]:
    """Yield the components whose cardinalities differ from the call; `groups`: cardinalities of groups."""
    cards = record.options.get("card")
    if not isinstance(cards, list) or len(cards) != len(counts):
        return
    for name, card, count in zip(counts.index, cards, counts.tolist(), strict=True):
        if count != card:
            yield fact("missed", component=name, groups=groups, count=count, card=card)


#: Components whose loadings differ by less than this count as equal: tables print less as <.001.
NEAR_LOADINGS = 1e-3


def remedy(state: FitState) -> Fact:
    """Return advice for strongly correlated scores."""
    options, objective = state.record.options, objective_of(state.record)
    if options.get("nonneg"):
        distances = np.abs(state.V[:, :, None] - state.V[:, None, :]).max(axis=0)
        i, j = np.argwhere(np.triu(distances < NEAR_LOADINGS, 1))[:1].T
        if not i.size:
            is_adjusted = objective is None or objective.ordered
            return fact("remedy fewer" if is_adjusted else "remedy objective")
        return fact("remedy equal", first=state.components[i[0]], second=state.components[j[0]])
    if state.record.evidence is None:
        return fact("remedy joint")
    if objective is None or not objective.ordered:
        return fact("remedy objective")
    plain_cards = options.get("card") and not options.get("together")
    if plain_cards and can_be_constrained(len(state.spec.columns), len(state.components)):
        return fact("remedy constraint")
    return fact("remedy fewer")


def copies(state: FitState) -> Iterator[Fact]:
    """Yield a fact about near copies of selected variables; none if the groups of the fit contain both.

    In mixed data the two levels of a binary factor are not copies, but one variable.
    """
    about = state.principal
    kept_groups = state.record.options.get("together") if about is None else about.together
    groups = [set(members) for _, members in kept_groups or []]
    factors = state.record.scaling_groups
    if factors is not None and factors.kind == "mixed":
        groups += [set(np.flatnonzero(factors.of == number)) for number in range(len(factors.names))]
    pairs = [
        (int(a), int(b), r)
        for a, b, r in state.moments.copies
        if not any({int(a), int(b)} <= members for members in groups)
    ]
    if not pairs:
        return
    names = full_names(state.spec.columns)
    pairs.sort(key=lambda pair: -abs(pair[2]))
    are_exact = all(abs(r) >= EXACT_COPY for _, _, r in pairs)
    texts_of_pairs = [f"{names[a]} and {names[b]} (r = {_r_of_copies(r)})" for a, b, r in pairs]
    opposites = [r < 0 for _, _, r in pairs]
    values = {
        "pairs": some_of(texts_of_pairs, LISTED_COPIES),
        "together": _kept_together(state, pairs),
        "opposite": all(opposites),
        "some_opposite": any(opposites) and not all(opposites),
        "kept": about is not None,
    }
    if len(pairs) == 1:
        a, b, r = pairs[0]
        yield fact(
            "near copy",
            first=names[a],
            second=names[b],
            r=_r_of_copies(r),
            count=1,
            exact=are_exact,
            **values,
        )
    else:
        yield fact("near copies", count=len(pairs), exact=are_exact, **values)


def _r_of_copies(r: float) -> str:
    """Return a correlation near 1 or -1 with four decimals; "1" or "-1" only if exact up to rounding."""
    if abs(r) >= EXACT_COPY:
        return "1" if r > 0 else "-1"
    return f"{np.sign(r) * min(abs(r), 0.9999):.4f}"


def _kept_together(state: FitState, pairs: Sequence[tuple[int, int, float]]) -> str:
    """Return the argument that keeps all copies together, with the groups of the fit; "" if none can.

    If the argument would name more than `MOST_TOGETHER` variables, only the name of the argument is returned.
    """
    options, columns = state.record.options, state.spec.columns
    variables = {j for a, b, _ in pairs for j in (a, b)}
    exclusions = {j for places in options.get("exclude") or () for j in places}
    if "together" not in options or len(columns) > MOST_GROUPED or variables & exclusions:
        return ""
    groups = [(shown(name), set(members)) for name, members in options["together"] or () if len(members) > 1]
    for a, b, _ in sorted(pairs):
        overlapping = [group for group in groups if group[1] & {a, b}]
        groups = [group for group in groups if group not in overlapping]
        members = {a, b}.union(*(group[1] for group in overlapping))
        groups.append((overlapping[0][0] if overlapping else shown(columns[min(members)]), members))
    groups.sort(key=lambda group: min(group[1]))
    if sum(len(members) for _, members in groups) > MOST_TOGETHER:
        return "together="
    texts = [f"{name}: [{', '.join(shown(columns[j]) for j in sorted(members))}]" for name, members in groups]
    return f"together={{{', '.join(texts)}}}"


def split_factors(state: FitState, factors: ScalingGroups | None) -> Iterator[Fact]:
    """Yield the factors of mixed data of which a component has some but not all levels."""
    if factors is None or factors.kind != "mixed":
        return
    texts = []
    for component, v in zip(state.components, state.V.T, strict=True):
        levels_used = factors.of[(v != 0) & (factors.of >= 0)]
        for j, number in enumerate(np.bincount(levels_used, minlength=len(factors.names))):
            levels = factors.counts[j]
            if 0 < number < levels:
                split = fact(
                    "split factor", component=component, number=number, levels=levels, name=factors.names[j]
                )
                texts.append(part(split))
    if texts:
        yield fact("split factors", factors=some_of(texts, FEW_NAMES))


def another_order(state: FitState) -> Iterator[Fact]:
    """Yield a fact if another order of components of different cardinalities has more adjusted variance."""
    options, moments = state.record.options, state.moments
    mixed, objective = len(set(options.get("card") or ())) > 1, objective_of(state.record)
    if not mixed or objective is None or not objective.ordered or state.record.evidence is None:
        return
    C = moments.scores / moments.total
    order = best_order(C)
    share_now, share = 100.0 * totals_in_orders(C, np.array([np.arange(len(C)), order]))
    if round(share, 2) > round(share_now, 2):
        names = ", ".join(str(state.components[i]) for i in order)
        yield fact("another order", names=names, share=share, share_now=share_now)


def passes(record: Record, digits: int) -> Iterator[Fact]:
    """Yield facts if too few passes make dense PCA inaccurate, and if each pass recomputes the rows."""
    count, error = record.passes or 0, sum(record.pca_errors or ())
    if error > 0.1 * 10.0 ** -(digits + 1):  # a tenth of the last digit; percentages have digits - 1 decimals
        yield fact("PCA in few passes", error=error)
    if record.anew and count > 3:
        yield fact("computed anew", passes=count)
