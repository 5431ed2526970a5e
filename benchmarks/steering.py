"""Effects of the searches' constants: ``python -m benchmarks.steering [table ...] [--data DIR] [--write]``.

Each constant is replaced in turn by a value with which the rule that it limits acts always, never or less,
and the same problems are solved again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import spcastat as sp
from benchmarks.ablation import problems as proof_problems
from benchmarks.ablation import proved
from benchmarks.data import correlation, real_rows
from benchmarks.quality.proofs import matrix
from benchmarks.report import Table, command_line, read_arguments, run_tables, timed
from spcastat.linalg.operators import Gram
from spcastat.proofs import (
    duals,
    eigenvalue_bounds,
    first_components,
    jointly,
    one_component,
    relaxed,
    three_components,
    two_components,
)
from spcastat.search import chains, climbing, enumeration, loading_patterns, moves, partition
from spcastat.search.climbing import EFFORTS
from spcastat.search.joint_search import joint
from spcastat.search.objectives import OBJECTIVES

#: Values count as equal if they differ by less than this, in percent; the same for bounds.
SAME, SAME_BOUNDS = 1e-4, 0.01
#: CPU seconds for each proof.
PROOF_SECONDS = 2.0
ALWAYS = 10**9
#: Cardinalities of the components, and data sets.
CARDS = ((6, 6, 6), (3, 3, 3, 3, 3), (8, 6, 4, 3, 2))
DATA = ("pitprops", "breast cancer", "digits")
#: Data sets, numbers of components and cardinalities of sparse loadings; data sets of partitions.
LOADINGS = (("pitprops", "wine", "breast cancer", "diabetes", "glass", "dermatology"), (2, 3, 5), (3, 6, 10))
PARTITIONS = ("pitprops", "glass", "dermatology", "segment", "diabetes", "breast cancer")


class Change(NamedTuple):
    """A constant of a module (or of the default effort, if `module` is None), and its replacement."""

    module: Any
    name: str
    instead: Any

    def made(self) -> ExitStack:
        """Return the context in which the constant is replaced, in every module that uses it."""
        stack = ExitStack()
        if self.module is None:
            auto = replace(EFFORTS["auto"], **{self.name: self.instead})
            stack.enter_context(mock.patch.dict(EFFORTS, auto=auto))
            return stack
        for module in [m for name, m in sys.modules.items() if name.startswith("spcastat.")]:
            if self.name in vars(module):
                stack.enter_context(mock.patch.object(module, self.name, self.instead))
        return stack

    def words(self) -> list[str]:
        """Return the file, the name, the value and its replacement."""
        file = "climbing, effort auto" if self.module is None else self.module.__name__.rsplit(".", 1)[-1]
        number = getattr(EFFORTS["auto"] if self.module is None else self.module, self.name)
        return [f"{file}: {self.name}", *(_words(value) for value in (number, self.instead))]


def _words(value: Any) -> str:
    """Return the text of a value in a cell of the table."""
    if np.ndim(value):
        return f"{len(value)} values" if len(value) > 1 else str(float(value[0]))
    return "no limit" if value == ALWAYS else str(value)


SEARCH = (
    Change(chains, "SUFFIX_SHARE", 0.0),
    Change(chains, "ROTATION_SHARE", 0.0),
    Change(chains, "BEST_PICK_SHARE", 0.0),
    Change(chains, "ALL_ROWS_LIMIT", ALWAYS),
    Change(chains, "START_ROWS_LEAST", 25),
    Change(chains, "ELITE", 1),
    Change(chains, "BELOW_BEST", 1.0),
    Change(chains, "REBUILT_CLIMBS", 1),
    Change(climbing, "SHORT", 3),
    Change(climbing, "VALUED", 6),
    Change(climbing, "ROUNDS_TO_BEST", np.inf),
    Change(climbing, "FEW_LOADINGS", 0),
    Change(climbing, "MANY_LOADINGS", ALWAYS),
    Change(moves, "EXACT_EXCHANGES", 1),
    Change(None, "chains", 1),
    Change(None, "climbs", 1),
    Change(None, "kicks", 4),
    Change(None, "rounds", 3),
    Change(None, "width", 10),
    Change(None, "valued", 1),
    Change(None, "deep", False),
)
OF_PARTITIONS = (
    Change(partition, "OPTIMISED_PARTITIONS", 1),
    Change(partition, "ALL_TRIED", 0),
    Change(partition, "FITTED", 300),
)
OF_LOADINGS = (
    Change(loading_patterns, "REFINED", 1),
    Change(loading_patterns, "ALL_EXCHANGES", 0),
    Change(loading_patterns, "PROMISING_EXCHANGES", 12),
    Change(loading_patterns, "FOLLOWED", 1),
    Change(loading_patterns, "START_STEPS", 30),
)

OF_ENUMERATION = (
    Change(enumeration, "MOST_CHOICES", 0),
    Change(enumeration, "FULL_ASCENTS", 2),
)
OF_NONNEGATIVE = (
    Change(enumeration, "MOST_CHOICES", 0),
    Change(enumeration, "PROMISING_SUPPORTS", 100),
    Change(enumeration, "RANDOM_LOADINGS", 0),
    Change(enumeration, "SIMILAR", (1.0,)),
    Change(enumeration, "NEARLY_EQUAL", 0.0),
    Change(enumeration, "DRAWINGS", 2),
    Change(enumeration, "CONTRAST", 0.1),
    Change(enumeration, "REMEMBERED_STEPS", 1),
)
OF_ONE_COMPONENT = (
    Change(eigenvalue_bounds, "CLIPPING_SHARES", np.array([0.5])),
    Change(eigenvalue_bounds, "CLIPPING_SHARES", eigenvalue_bounds.CLIPPING_SHARES[::3]),
    Change(eigenvalue_bounds, "SPLIT_ORDER", 0),
    Change(one_component, "HEURISTIC_VARIABLES", 0),
)
OF_PROJECTIONS = (
    Change(duals, "STEPS_PER_BOUND", 5),
    Change(duals, "STEPS_PER_BOUND", 20),
    Change(duals, "RATIO", 1.0),
    Change(duals, "RATIO", 4.0),
    Change(relaxed, "INNER", 60),
    Change(relaxed, "INNER", 10),
    Change(relaxed, "LEAF", 60),
    Change(relaxed, "LAST_STEPS", 120),
    Change(relaxed, "ENUMERATED_VARIABLES", 0),
    Change(jointly, "CHILDREN_LIMIT", -1),
    Change(jointly, "CHILDREN_LIMIT", ALWAYS),
    Change(jointly, "NODES_TOGETHER", 50),
    Change(jointly, "NODES_TOGETHER", 5_000),
    Change(jointly, "CLIMBED_LEAVES", 0),
    Change(jointly, "CLIMBED_LEAVES", 5),
    Change(jointly, "QUICK_VARIABLES", 0),
    Change(jointly, "QUICK_CHOICES", 0),
)
OF_TWO_COMPONENTS = (
    Change(two_components, "SHARES", two_components.SHARES[::3]),
    Change(two_components, "FEW_ROWS", 0),
    Change(two_components, "FEW_ROWS", ALWAYS),
    Change(two_components, "NEARBY_SHARES", 10),
    Change(two_components, "SCORE_HALVINGS", 0),
    Change(two_components, "LARGE_BLOCKS", 2),
    Change(two_components, "EIGENVALUES", 32),
    Change(two_components, "CLOSED_SHARE", 0.5),
    Change(two_components, "CLOSED_SHARE", 0.01),
    Change(two_components, "MOST_FAILED", 0),
    Change(jointly, "QUICK_VARIABLES", 0),
    Change(jointly, "MOST_FIRST", 0),
)
OF_THREE_COMPONENTS = (
    Change(three_components, "FALL", 1e-3),
    Change(three_components, "FALL", 1e-5),
    Change(three_components, "UNUSED", 0.0),
    Change(three_components, "START", 1.0),
    Change(three_components, "CLIMBED_PAIRS", 0),
    Change(three_components, "INTERVAL_HALVINGS", 0),
    Change(three_components, "LEAVES", 20),
    Change(two_components, "CLOSED_SHARE", 0.5),
    Change(two_components, "CLOSED_SHARE", 0.01),
    Change(duals, "SUPPORTS_ADDED", 1),
    Change(duals, "SUPPORTS_ADDED", 12),
    Change(duals, "STEPS_PER_ROUND", 20),
    Change(duals, "STEPS_PER_ROUND", 200),
    Change(duals, "STEPS_PER_BOUND", 20),
    Change(duals, "RATIO", 1.0),
    Change(duals, "RATIO", 4.0),
    Change(first_components, "FLOOR", 1e-9),
    Change(first_components, "MOST_BOXES", 0),
    Change(first_components, "BOXES_TOGETHER", 50),
    Change(first_components, "BOX_STEPS", 100),
    Change(first_components, "SLIGHT", 0.0),
    Change(first_components, "FLOOR_OF_TWO", 1e-9),
    Change(first_components, "LEAST_OF_FIRST", 1e-9),
    Change(jointly, "QUICK_VARIABLES", 0),
    Change(jointly, "TIME_SHARE", 0.3),
    Change(jointly, "MOST_FIRST_OF_THREE", 0),
)
OF_MORE_COMPONENTS = (
    Change(duals, "SUPPORTS_ADDED", 1),
    Change(duals, "SUPPORTS_ADDED", 12),
    Change(duals, "STEPS_PER_ROUND", 20),
    Change(duals, "STEPS_PER_ROUND", 200),
    Change(jointly, "LAST_TOGETHER", 500),
    Change(jointly, "CLIMBED_LEAVES", 0),
    Change(jointly, "QUICK_VARIABLES", 0),
    Change(relaxed, "LEAF", 60),
    Change(relaxed, "INNER", 60),
)
#: Data sets of enumerations, and cardinalities; those with too many choices are left out.
FEW_VARIABLES = ("glass", "diabetes", "mtcars", "USJudgeRatings", "pitprops", "wine")
FEW_CARDS = ((2, 2), (3, 3), (3, 2), (4, 4), (8, 8), (11, 2), (7, 7, 7), (2, 2, 1))

Problem = Callable[[], float]


def compared(title: str, changes: Sequence[Change], problems: Sequence[Problem], same: float = SAME) -> Table:
    """Return the table of the problems solved with each change."""

    def solved() -> tuple[np.ndarray, float]:
        with np.errstate(invalid="ignore"):  # infinity times zero
            values, seconds = timed(lambda: [problem() for problem in problems])
        return np.array(values), seconds

    problems[0]()  # imports are not timed
    values, seconds = solved()
    head = ["file: name", "number", "instead", "changed", "mean %", "worst %", "best %", "time"]
    table = Table(title, head)
    for change in changes:
        with change.made():
            new_values, new_seconds = solved()
        percent = 100.0 * (new_values / values - 1.0)
        figures = [f"{x:+.4f}" for x in (percent.mean(), percent.min(), percent.max())]
        count = f"{(np.abs(percent) > same).sum()} of {len(values)}"
        table.rows.append([*change.words(), count, *figures, f"{new_seconds / seconds:.2f}"])
    table.notes.append(
        f"{len(values)} problems, seed 0: how many values change by more than {same:g} %; the mean, the "
        "smallest and the largest change; CPU time relative to the unchanged numbers, on a machine "
        "with other work."
    )
    return table


def matrices(names: Sequence[str], folder: Path | None) -> dict[str, np.ndarray]:
    """Return the correlation matrices whose data are available."""
    found = {name: correlation(name, folder) for name in names}
    return {name: S for name, S in found.items() if S is not None}


def search(given: argparse.Namespace) -> Table:
    """Compare searches of several components, for every objective, quick and auto, and of wide data."""

    def value(op: Gram, card: tuple[int, ...], objective: str, effort: str) -> float:
        return joint(op, len(card), card, objective, effort, np.random.default_rng(0)).value

    def wide(X: np.ndarray, k: int, card: int) -> float:
        return float(sp.spca(X, k, card, scale=True, rng=0).measure("adjusted"))

    problems: list[Problem] = [
        partial(value, Gram(S), card, objective, effort)
        for S in matrices(DATA, given.data).values()
        for card in CARDS
        for objective in OBJECTIVES
        for effort in ("quick", "auto")
    ]
    S = correlation("communities", given.data)
    if S is not None:
        problems.append(partial(value, Gram(S), (5,) * 20, "adjusted", "auto"))
    X = real_rows("khan", given.data)
    if X is not None:
        problems.append(partial(wide, X, 5, 10))
    return compared("Numbers of the search of all components together", SEARCH, problems)


def partitions(given: argparse.Namespace) -> Table:
    """Compare partitions into three and four groups."""

    def value(S: np.ndarray, k: int, objective: str) -> float:
        fit = sp.spca_cov(S, k, disjoint=True, objective=objective, effort="quick", rng=0)
        return float(fit.measure(objective))

    problems: list[Problem] = [
        partial(value, S, k, objective)
        for S in matrices(PARTITIONS, given.data).values()
        for k in (3, 4)
        for objective in OBJECTIVES
    ]
    return compared("Numbers of the search of partitions", OF_PARTITIONS, problems)


def sparse_loadings(given: argparse.Namespace) -> Table:
    """Compare sparse loadings."""
    names, ks, cards = LOADINGS

    def value(op: Gram, k: int, card: int) -> float:
        nonzeros = loading_patterns.Nonzeros((card,) * k)
        return loading_patterns.search(op, k, nonzeros, np.random.default_rng(0)).explained

    problems: list[Problem] = [
        partial(value, Gram(S), k, card)
        for S in matrices(names, given.data).values()
        for k in ks
        for card in cards
        if card < len(S)
    ]
    return compared("Numbers of the search of sparse loadings", OF_LOADINGS, problems)


def few_supports(given: argparse.Namespace) -> list[tuple[np.ndarray, tuple[int, ...]]]:
    """Return matrices of few variables, with cardinalities for which all supports are compared."""
    matrices = [S for name in FEW_VARIABLES if (S := matrix(name, given.data)) is not None]
    return [
        (S, card)
        for S in matrices
        for card in FEW_CARDS
        if max(card) < len(S) and enumeration.few_choices(len(S), card)
    ]


def enumerated(given: argparse.Namespace) -> Table:
    """Compare searches that end by comparing all supports."""

    def value(op: Gram, card: tuple[int, ...], objective: str) -> float:
        return joint(op, len(card), card, objective, "auto", np.random.default_rng(0)).value

    problems = [
        partial(value, Gram(S), card, objective)
        for S, card in few_supports(given)
        for objective in OBJECTIVES
    ]
    return compared("Numbers of the comparison of all supports", OF_ENUMERATION, problems)


def nonnegative(given: argparse.Namespace) -> Table:
    """Compare searches of nonnegative loadings that end by comparing all supports."""

    def value(S: np.ndarray, card: tuple[int, ...], objective: Any) -> float:
        fit = sp.spca_cov(S, len(card), card, nonneg=True, objective=objective, rng=0)
        return float(fit.measure(objective))

    problems = [
        partial(value, S, card, objective)
        for S, card in few_supports(given)
        for objective in ("pev", "least_squares")
        if len(card) == 2 and max(card) <= 4
    ]
    return compared("Numbers of the comparison of all nonnegative supports", OF_NONNEGATIVE, problems)


def of_proofs(title: str, changes: Sequence[Change], kinds: Collection[str]) -> Callable[..., Table]:
    """Return the function that compares the bounds of proofs of some kinds of problems."""

    def tightness(problem: Any) -> float:
        return 1.0 / (1.0 + 0.01 * proved(problem, PROOF_SECONDS)[0])

    def table(given: argparse.Namespace) -> Table:
        problems = [partial(tightness, one) for one in proof_problems(given.data) if one.kind in kinds]
        made = compared(f"Numbers of proofs of {title}", changes, problems, SAME_BOUNDS)
        made.notes.append(
            "The value is the value of the best known fit as a share of its bound; at most "
            f"{PROOF_SECONDS:g} s of CPU time a proof, and a bound that only time limits differs from run to "
            "run."
        )
        return made

    return table


TABLES: dict[str, Callable[[argparse.Namespace], Table]] = {
    "search": search,
    "partitions": partitions,
    "loadings": sparse_loadings,
    "enumeration": enumerated,
    "nonnegative": nonnegative,
    "one-component": of_proofs("one component", OF_ONE_COMPONENT, ("single",)),
    "projections": of_proofs(
        "PEV and least squares",
        OF_PROJECTIONS,
        ("pev 2", "pev 3", "least_squares 2", "least_squares 3"),
    ),
    "two-components": of_proofs("adjusted variance of two components", OF_TWO_COMPONENTS, ("adjusted 2",)),
    "three-components": of_proofs(
        "adjusted variance of three components", OF_THREE_COMPONENTS, ("adjusted 3",)
    ),
    "more-components": of_proofs("adjusted variance of four components", OF_MORE_COMPONENTS, ("adjusted 4",)),
}


def main(arguments: list[str] | None = None) -> int:
    """Make and print the tables, and write them if ``--write`` is given."""
    given = read_arguments(command_line("steering", __doc__, TABLES), TABLES, arguments)
    run_tables("steering", given, TABLES, given, ", one thread")
    return 0


if __name__ == "__main__":
    sys.exit(main())
