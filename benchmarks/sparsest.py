"""The fewest nonzeros that keep a share of the variance, compared with controlled greedy growth.

``python -m benchmarks.sparsest``; real data by ``--data DIR``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import spcastat as sp
from benchmarks.defaults.cells import correlation
from benchmarks.report import Table, add_data, command_line, read_arguments, stamp, write_section
from benchmarks.speed.data import f1, planted
from spcastat.linalg.build import prepare
from spcastat.linalg.operators import Gram, Operator
from spcastat.search.climbing import PROMISES
from spcastat.search.sparsest import sparsest

#: Strengths of planted scores, the noise having 1, seeds and shares: the planted loadings themselves keep
#: 79.6, 79.6, 78.2 and 84.1 percent.
PLANTED = (
    ("weak", (7.0, 6.0, 5.0), 0, 0.78),
    ("weak", (7.0, 6.0, 5.0), 0, 0.79),
    ("weak", (7.0, 6.0, 5.0), 2, 0.78),
    ("medium", (8.0, 7.0, 6.0), 0, 0.78),
)


@dataclass(frozen=True)
class Case:
    """Data, and a share to keep: `known` contains the fewest nonzeros known, every and total."""

    label: str
    op: Callable[[], Operator]
    k: int
    share: float
    known: tuple[str, str] = ("-", "-")
    truth: np.ndarray | None = None


def _rows(X: np.ndarray, scale: bool) -> Operator:
    if scale:
        X = X[:, X.std(axis=0) > 0]
    return prepare(X, None, True, scale, None)[1]


def _wine() -> Operator:
    R = correlation("wine", None)
    assert R is not None
    return Gram(R)


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield the cases; those whose files are not at hand are left out."""
    yield Case("wine", _wine, 3, 0.9, ("15", "15"))
    yield Case("wine", _wine, 5, 0.9, ("19", "18"))
    yield Case("pitprops", lambda: Gram(sp.datasets.load_pitprops().to_numpy()), 6, 0.9, ("20", "18"))
    for name, strengths, seed, share in PLANTED:
        X, V = planted(200, 2000, 40, seed, strengths)
        yield Case(f"planted, {name}, {seed}", partial(_rows, X, False), 3, share, truth=V)
    for name, file, k, share, scale in (
        ("colon, raw", "micro_alon.npz", 5, 0.9, False),
        ("colon", "micro_alon.npz", 5, 0.8, True),
        ("leukemia", "micro_golub.npz", 3, 0.8, True),
    ):
        if folder is not None and (folder / file).exists():
            X = np.load(folder / file)["X"].astype(float)
            yield Case(name, partial(_rows, X, scale), k, share)


def fewest(folder: Path | None, full: bool) -> Table:
    """Nonzeros and CPU seconds by data set, promise and effort."""
    table = Table(
        "Fewest nonzeros that keep a share of PCA's variance",
        ["data, k, share", "greedy (s)", "promise", "effort", "nonzeros", "known", "F1", "kept", "rule", "s"],
    )
    for case in cases(folder):
        op = case.op()
        begun = time.process_time()
        grown, score = _controlled(op, case)
        greedy = f"{grown}{score} ({time.process_time() - begun:.2f})"
        for promise, known in zip(PROMISES, case.known, strict=True):
            for effort in ("quick", "auto", "thorough") if full else ("quick", "auto"):
                begun = time.process_time()
                found = sparsest(op, case.k, case.share, promise, effort)
                seconds = time.process_time() - begun
                table.rows.append(
                    [
                        f"{case.label} {case.k} {case.share}",
                        greedy,
                        promise,
                        effort,
                        str(found.nonzeros) + (" dense" if found.dense else ""),
                        known,
                        "-" if case.truth is None else f"{f1(found.V, case.truth):.3f}",
                        f"{(found.kept if promise == 'every' else found.kept[-1:]).min():.4f}",
                        found.winner,
                        f"{seconds:.2f}",
                    ]
                )
    table.notes = [
        'Greedy: method="controlled", which keeps the share after every component, with the F1 of planted '
        "supports. Wine, colon and leukemia are standardised unless called raw. CPU seconds, one thread.",
        "With 120 planted nonzeros, F1 of n < 120 nonzeros is at most 2n / (n + 120). "
        "Dense: more than a third of the loadings are nonzero.",
    ]
    return table


def _controlled(op: Operator, case: Case) -> tuple[int, str]:
    from spcastat.fit.plan import Request, make_plan
    from spcastat.fit.run import run

    plan = make_plan(Request(case.k, variance=case.share, method="controlled"), op.p)
    fit = run(op, plan, case.k, np.random.default_rng(0))
    V = fit.solution.V
    score = "" if case.truth is None else f", F1 {f1(V, case.truth):.2f}"
    return int(np.count_nonzero(V)), score


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write where that is asked for."""
    parser = command_line("sparsest", __doc__, ())
    add_data(parser, "thorough searches as well")
    given = read_arguments(parser, (), arguments)
    table = fewest(given.data, given.full)
    print(table.show(False))
    if given.write:
        title = f"## Fewest nonzeros\n\n`python -m benchmarks.sparsest`. {stamp()}"
        write_section("sparsest", "\n\n".join([title, table.show(True)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
