"""Which candidates `choose` compares: their families, cardinalities, fits and divisions into folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spcastat.assess.candidates import CardinalitySet, Fitter, path_cards
from spcastat.assess.families import FAMILIES, Candidates
from spcastat.assess.folds import MOMENTS_VARIABLES
from spcastat.assess.many_sets import rotated_cards, sizes
from spcastat.errors import OptionError
from spcastat.fit.plan import RULE, Plan
from spcastat.inputs.data import Data
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.default import GRAM_LIMIT, SEQUENTIAL, batch_size
from spcastat.search.joint_method import Joint

#: Equal cardinalities that are compared, besides all variables; all of them for up to EVERY variables.
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 65, 80, 100, 150, 200)
EVERY = 15
#: Numbers of cardinalities from rotated loadings, and of partitions.
SIZES = 16
#: Default number of divisions into folds, if that takes little time.
REPEATS = 4
#: Up to this many cells of the data, several divisions into folds make a difference, and take little time.
FEW_CELLS = 1_000_000


@dataclass(frozen=True)
class Settings:
    """The checked arguments of `choose` on how cardinalities are chosen.

    Attributes
    ----------
    by : str or None
        None for the default of the data.
    rule, family : str
    share : float or None
        None for the default of the rules that keep a share.
    folds : int
    repeats : int or None
        None for the default number.
    jobs, seed : int
    """

    by: Any
    rule: str
    family: str
    share: float | None
    folds: int
    repeats: int | None
    jobs: int
    seed: int


def families_of(
    settings: Settings, plan: Plan, fitting: Mapping[str, Any], cards: Any, k: int, p: int
) -> tuple[str, ...]:
    """Return the families of candidates that are compared."""
    rules = [name for name in (*RULE, "constraint") if fitting.get(name)]
    families: tuple[str, ...] = FAMILIES
    cause = ""
    if cards is not None:
        families, cause = ("equal",), "cards=, which names the candidates"
    elif settings.by not in ("cv", "ebic"):
        families, cause = ("equal",), f"by={settings.by!r}, which compares equal cardinalities"
    elif "together" in rules:
        families, cause = ("equal",), "together=, whose cardinalities count groups"
    elif k == 1:
        families = ("rotated",) if p > MOMENTS_VARIABLES else ("equal",)
    elif rules == ["disjoint"] and isinstance(plan.solver, Joint):
        families, cause = ("partition",), "disjoint=True, which allows partitions only"
    elif rules or not isinstance(plan.solver, Joint):
        option = f"{rules[0]}=" if rules else f"method={plan.method.name!r}"
        families, cause = ("equal", "rotated"), f"{option}, for which partitions are not compared"
    elif p > GRAM_LIMIT or k > SEQUENTIAL:  # spca() fits no partitions then
        families = ("equal", "rotated")
        cause = f"{p} variables and {k} components; partitions are for at most {GRAM_LIMIT} and {SEQUENTIAL}"
        if settings.family == "auto" and p > MOMENTS_VARIABLES:
            return ("rotated",)
    return families if settings.family == "auto" or k == 1 else _only(settings.family, families, cause)


def _only(family: str, families: tuple[str, ...], cause: str) -> tuple[str, ...]:
    """Return the one family asked for, which must be possible; `cause` says why others are not."""
    if family not in families:
        raise OptionError(f"family={family!r} was given with {cause}; give family='auto'.")
    return (family,)


def cardinalities_of(candidates: Candidates, families: Sequence[str], cards: Any) -> list[CardinalitySet]:
    """Return the cardinalities that are fitted by the method, ascending."""
    k, p = candidates.fitter.k, candidates.groups or candidates.op.p
    if cards is not None:
        return path_cards(cards, k, candidates.op.p)[1]
    cardinalities = set()
    if "equal" in families:
        equal_cards = (
            range(1, p) if p <= (2 * EVERY if k == 1 else EVERY) else [card for card in GRID if card < p]
        )
        # beyond MOMENTS variables a dense fit is compared as PCA only
        cardinalities |= {
            (card,) * k for card in (*equal_cards, *((p,) if candidates.op.p <= MOMENTS_VARIABLES else ()))
        }
    if "rotated" in families and p <= MOMENTS_VARIABLES and k > 1:
        cardinalities |= set(rotated_cards(candidates.all_rows, k, sizes(2 * k, p * k, SIZES)))
    possible_cards = [card for card in cardinalities if _is_possible(candidates.fitter, card)]
    return sorted(possible_cards, key=lambda card: (sum(card), card))


def _is_possible(fitter: Fitter, card: CardinalitySet) -> bool:
    """Return whether loadings always meet the constraint: for scores, cards of 1, 2, ... or more."""
    name = None if fitter.solver is None else fitter.solver.constraint
    if name is None or not CONSTRAINTS[name].of_scores:
        return True
    return all(c > j for j, c in enumerate(sorted(card)))


def repeats_of(data: Data, fitter: Fitter, folds: int) -> int:
    """Return the default number of divisions into folds.

    The average over several divisions depends less on the seed. One is used if the folds are fitted one at a
    time, by another method, under rules or with missing values, and for many cells, where folds are much
    alike; and if every fold is one row.
    """
    p, n = data.p, data.n or 0
    slow = fitter.plan is not None or fitter.solver is not None or data.missing is not None
    # the fits of all folds are computed together
    if slow or n <= folds or n * p > FEW_CELLS:
        return 1
    return int(np.clip(batch_size(p) // (2 * folds), 1, REPEATS))


def fitter_of(plan: Plan, k: int, seed: int) -> Fitter:
    """Return what fits candidates: sweeps if the method is the default search, else the method itself."""
    solver = plan.solver
    if not isinstance(solver, Joint):
        return Fitter(k, plan, seed=seed)
    if solver.ruled or solver.constraint is not None:  # sweeps know no rules and no constraints
        return Fitter(k, objective=solver.objective, seed=seed, solver=solver)
    return Fitter(k, objective=solver.objective, seed=seed)
