"""The joint search for many cardinalities, in which fits of neighbouring cardinalities serve as starts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator
from spcastat.progress import stage
from spcastat.search.chains import ELITE, distinct, grown
from spcastat.search.climbing import settled
from spcastat.search.criterion import joined
from spcastat.search.default import HELD, SEQUENTIAL, directions, joint
from spcastat.search.found import Found, found_of
from spcastat.search.local_optima import Evidence
from spcastat.search.objectives import held
from spcastat.search.perturbed_fits import kicked
from spcastat.search.settings import EFFORTS
from spcastat.search.starting_fits import from_directions, pool


def along_path(
    op: Operator, k: int, cards: Sequence[tuple[int, ...]], objective: str, effort: str, seed: int
) -> list[Found]:
    """Search for the best fit at each of many cardinalities.

    Parameters
    ----------
    op, k, objective
        As for `spcastat.search.default.joint`.
    cards : sequence of tuples of k ints
        In ascending order.
    effort : {"quick", "auto", "thorough"}
    seed : int
        Every cardinality has its own random generator with this seed.

    Returns
    -------
    list of Found
        In the order of `cards`. The values never decrease.

    Notes
    -----
    One chain runs for each cardinality. Every pass over the path adds one round to each chain: it climbs
    from new starts (in later passes, from perturbed fits) and from the best fits of the previous
    cardinality. Passes go from the smallest cardinality to the largest and back in turn. There are as many
    passes as a search at one cardinality has chains (one, three or five).
    The cardinalities are searched separately for objectives other than adjusted variance, whose good optima
    lie far apart, and for one component, more than HELD variables or more than SEQUENTIAL components. If a
    fit is then worse than the previous one, the search is repeated with the previous fit as one more start.
    """
    settings, m = EFFORTS[effort], len(cards)
    results: list[Found] = []
    if k == 1 or op.p > HELD or k > SEQUENTIAL or objective != "adjusted":
        with stage("path", m, "fits") as advance:
            for card in cards:
                search = partial(joint, op, k, card, objective, effort)
                found = search(np.random.default_rng(seed))
                if results and found.value < results[-1].value:
                    again = search(np.random.default_rng(seed), [results[-1].V])
                    found = max(found, again, key=lambda one: one.value)
                results.append(found)
                advance(1)
        return results
    S = symmetric(op.block(np.arange(op.p)) / op.total)
    vectors = directions(op, k)
    generators = [np.random.default_rng(seed) for _ in cards]
    evidence = [Evidence() for _ in cards]
    best: list[list[np.ndarray]] = [[] for _ in cards]
    with stage("path", m * settings.chains, "searches") as advance:
        for left in reversed(range(settings.chains)):
            near: list[np.ndarray] = []
            for i in reversed(range(m)) if left % 2 else range(m):
                advance(1)
                rng, criterion = generators[i], held(S, cards[i], objective)
                known = from_directions(criterion, best[i]) if best[i] else None
                if min(cards[i]) >= op.p:
                    ends = from_directions(criterion, [vectors[:, :k]])
                else:
                    if known is None:
                        parts = [pool(criterion, vectors, settings.starts, rng, first=True)]
                    else:
                        bases = rng.integers(0, len(known), size=settings.agree * settings.kicks)
                        parts = [kicked(criterion, known.some(bases), rng)]
                    parts += [from_directions(criterion, near)] if near else []
                    ends = joined(grown(criterion, parts, [known] * len(parts), settings, evidence[i], rng))
                    ends = ends.some(distinct(ends.value, ELITE))
                    if settings.deep and not left:
                        ends.put(np.arange(1), settled(criterion, ends.some(slice(0, 1))))
                near = best[i] = list(criterion.dense(ends))
    for i, card in enumerate(cards):
        if min(card) >= op.p:
            results.append(joint(op, k, card, objective))
            continue
        criterion = held(S, card, objective)
        fit = from_directions(criterion, best[i][:1])
        evidence[i].chains = fit.value.tolist()
        results.append(found_of(op, criterion, fit, evidence[i], objective, settings.deep or None))
    return results
