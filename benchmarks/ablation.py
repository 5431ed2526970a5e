"""The effect of each rule of the proofs: proofs of 48 problems, with each rule switched off in turn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import spcastat as sp
from benchmarks.quality.proofs import matrix
from benchmarks.report import Table
from spcastat.linalg.operators import Gram
from spcastat.proofs import (
    eigenvalue_bounds,
    jointly,
    one_component,
    relaxed,
    three_components,
    two_components,
)
from spcastat.proofs.duals import support_bounds
from spcastat.proofs.two_components import Cover, Plane

#: CPU seconds for each proof; the smallest difference of gaps that counts as one, in percent of the value.
BUDGET, DIFFERENT = 1.0, 0.001
#: Cardinalities, the measure ("single": the first component alone), and the data sets.
PROBLEMS: tuple[tuple[tuple[int, ...], str, tuple[str, ...]], ...] = (
    ((5,), "single", ("pitprops", "USJudgeRatings", "heart", "breast cancer")),
    ((8,), "single", ("noise 100", "noise 150", "noise 400", "breast cancer")),
    ((10,), "single", ("noise 40", "UCI communities")),
    ((4, 4), "adjusted", ("pitprops", "USJudgeRatings", "one factor", "wine", "heart")),
    ((3, 2), "adjusted", ("mtcars", "heart", "glass")),
    ((3, 3), "pev", ("pitprops", "USJudgeRatings", "wine", "mtcars")),
    ((4, 3), "least_squares", ("pitprops", "diabetes", "glass")),
    ((3, 3, 3), "adjusted", ("pitprops", "wine", "diabetes")),
    ((4, 2, 1), "adjusted", ("pitprops", "USJudgeRatings", "glass")),
    ((2, 2, 2), "adjusted", ("wine", "mtcars", "pitprops")),
    ((3, 3, 2), "pev", ("pitprops", "wine", "diabetes")),
    ((3, 2, 1), "pev", ("glass", "mtcars")),
    ((3, 2, 2), "least_squares", ("pitprops",)),
    ((2, 2, 2), "least_squares", ("glass", "diabetes")),
    ((3, 2, 2, 2), "adjusted", ("pitprops", "mtcars", "glass")),
    ((2, 2, 1, 1), "adjusted", ("wine", "diabetes", "USJudgeRatings")),
)


class Problem(NamedTuple):
    """A covariance matrix, loadings of the default search, and a measure with the number of components."""

    S: np.ndarray
    V: np.ndarray
    kind: str


def problems(folder: Path | None) -> list[Problem]:
    """Return the problems whose data are available."""
    found = []
    for cards, measure, names in PROBLEMS:
        for S in [S for name in names if (S := matrix(name, folder)) is not None]:
            objective = "adjusted" if measure == "single" else measure
            V = sp.spca_cov(S, len(cards), card=list(cards), objective=objective).loadings.to_numpy()
            found.append(Problem(S, V, measure if measure == "single" else f"{measure} {len(cards)}"))
    return found


def proved(problem: Problem, seconds: float = BUDGET) -> tuple[float, float, int]:
    """Return the gap in percent of the best known value, CPU seconds and nodes of a proof."""
    begun, op = time.process_time(), Gram(problem.S)
    found: Any
    with mock.patch("time.perf_counter", time.process_time):
        if problem.kind == "single":
            found = one_component.certify(op, problem.V, time_limit=seconds)[0]
        else:
            found = jointly.certify_joint(op, problem.V, problem.kind[:-2], time_limit=seconds)
    gap = 100.0 * (found.upper_bound - found.best_known) / found.best_known
    return gap, time.process_time() - begun, found.nodes


def _every(T: np.ndarray, *others: Any) -> np.ndarray:
    return np.ones(len(T), dtype=bool)


def _open(T: np.ndarray, U: np.ndarray, r: int, level: float) -> tuple[bool, np.ndarray]:
    return False, U


def _one_group(supports: list[np.ndarray], q: int) -> np.ndarray:
    return np.zeros((len(supports[0]), len(supports)), dtype=int)


def _without_planes(M: np.ndarray, bases: Any, k: int, level: Any, steps: int, running: Any) -> np.ndarray:
    return support_bounds(M, bases, k, level, steps, running=running)


def _whole(M: np.ndarray, bases: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    return M, bases


def _no_losses(one: Any, rows: np.ndarray, other: Any, columns: np.ndarray) -> np.ndarray:
    return np.zeros((len(rows), columns.size if columns.ndim == 1 else 1))


def _unbounded_leaves(A: np.ndarray, *given: Any) -> np.ndarray:
    return np.full(len(A), np.inf)


def _rows(cover: Any, low: float, high: float, rows: np.ndarray, check: Any) -> np.ndarray:
    return rows


def _first(plane: Plane, share: float) -> np.ndarray:
    return plane.x


PROJECTED = ("pev 2", "pev 3", "least_squares 2", "least_squares 3")
THREE, NOT_FOUND = ("adjusted 3",), mock.Mock(return_value=(0.0, np.array([0])))
#: Rule -> the problems that it applies to; the owner and the name of an attribute, and its replacement.
RULES: dict[str, tuple[tuple[str, ...], Any, str, Any]] = {
    "split matrix at the root": (("single",), one_component, "split_bound", mock.Mock(return_value=np.inf)),
    "search for a support": (("single",), one_component, "best_support", NOT_FOUND),
    "split matrix closes nodes": (("single",), eigenvalue_bounds, "closed_by_split", _open),
    "split matrix excludes variables": (("single",), eigenvalue_bounds, "_possible_by_split", _every),
    "children of few nodes at once": (PROJECTED, jointly, "CHILDREN_LIMIT", -1),
    "tables of unions (3)": (PROJECTED, relaxed, "ENUMERATED_VARIABLES", 0),
    "disjoint supports apart (4)": (PROJECTED[:2], relaxed, "meeting", _one_group),
    "planes of pairs (5)": (("pev 3", "least_squares 3"), relaxed, "spanned_bounds", _without_planes),
    "problems within unions (5)": (PROJECTED, relaxed, "within_union", _whole),
    "800 steps at last (5)": (PROJECTED, relaxed, "LAST_STEPS", 10),
    "pairs (8)": (THREE, three_components, "losses", _no_losses),
    "scores for the first of two (9)": (("adjusted 2",), jointly, "coverable", mock.Mock(return_value=False)),
    "mean scores (9)": (("adjusted 2",), Cover, "_interval", _rows),
    "scores in a plane (9)": (("adjusted 2",), Plane, "tilted", _first),
    "multipliers for the first of three (11)": (THREE, jointly, "coverable", mock.Mock(return_value=False)),
    "halved intervals (9)": (("adjusted 2",), two_components, "SCORE_HALVINGS", 0),
    "exact first two components (10)": (THREE, three_components, "with_two", _unbounded_leaves),
}


def ablation(given: Any) -> Table:
    """Prove all problems with each rule switched off."""
    head = ["switched off", "problems", "larger gap", "mean gap %", "without", "CPU s", "without"]
    title = f"Rules switched off in turn, at most {BUDGET:g} s of CPU time a proof"
    table = Table(title, [*head, "nodes", "without"])
    every = problems(given.data)
    proved(every[0])  # imports are not timed
    complete = [proved(problem) for problem in every]
    for rule, (kinds, place, name, replacement) in RULES.items():
        at = [i for i, problem in enumerate(every) if problem.kind in kinds]
        with mock.patch.object(place, name, replacement):
            without = np.array([proved(every[i]) for i in at]).reshape(-1, 3)
        both = np.stack([np.array([complete[i] for i in at]).reshape(-1, 3), without])
        larger = int((without[:, 0] > both[0, :, 0] + DIFFERENT).sum())
        row = [rule, str(len(at)), str(larger), *(f"{x:.3f}" for x in both[:, :, 0].mean(axis=1))]
        row += [f"{x:.2f}" for x in both[:, :, 1].sum(axis=1)]
        table.rows.append([*row, *(f"{x:.0f}" for x in both[:, :, 2].sum(axis=1))])
    table.notes.append(
        f"{len(every)} problems of one component, and of two and three jointly: pitprops, wine, diabetes, "
        "breast cancer, communities, glass, heart, mtcars, USJudgeRatings and simulated rows. Each line has "
        "the problems that the rule is for. Numbers in parentheses are those of docs/bounds.md."
    )
    return table
