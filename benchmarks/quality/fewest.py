"""The fewest nonzeros that keep a share of the variance, compared with the greedy method "controlled"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import spcastat as sp
from benchmarks.data import correlation, f1, planted, real_rows
from benchmarks.quality.call import Call
from benchmarks.report import Table, timed
from spcastat.fit.plan import Request, make_plan
from spcastat.fit.run import run
from spcastat.linalg.operators import Gram, Operator
from spcastat.linalg.standardisation import prepare
from spcastat.search.climbing import PROMISES
from spcastat.search.sparsest import sparsest

#: Standard deviations of planted scores (1 for the noise), seeds and shares to keep; the planted loadings
#: themselves keep 79.6, 79.6, 78.2 and 84.1 percent.
PLANTED = (
    ("weak", (7.0, 6.0, 5.0), 0, 0.78),
    ("weak", (7.0, 6.0, 5.0), 0, 0.79),
    ("weak", (7.0, 6.0, 5.0), 2, 0.78),
    ("medium", (8.0, 7.0, 6.0), 0, 0.78),
)


@dataclass(frozen=True)
class Case:
    """Data and a share to keep; `known` is the fewest nonzeros known, for the promises every and total."""

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
    """Yield the cases; those whose files are not in the folder are left out."""
    yield Case("wine", _wine, 3, 0.9, ("15", "15"))
    yield Case("wine", _wine, 5, 0.9, ("19", "18"))
    yield Case("pitprops", lambda: Gram(sp.datasets.load_pitprops().to_numpy()), 6, 0.9, ("20", "18"))
    for name, strengths, seed, share in PLANTED:
        X, V = planted(200, 2000, 40, seed, strengths)
        yield Case(f"planted, {name}, {seed}", partial(_rows, X, False), 3, share, truth=V)
    for name, data, k, share, scale in (
        ("colon, raw", "colon", 5, 0.9, False),
        ("colon", "colon", 5, 0.8, True),
        ("leukemia", "leukemia", 3, 0.8, True),
    ):
        X = real_rows(data, folder)
        if X is not None:
            yield Case(name, partial(_rows, X, scale), k, share)


def fewest(call: Call) -> Table:
    """Return nonzeros and CPU seconds by data set, promise and effort."""
    table = Table(
        "Fewest nonzeros that keep a share of PCA's variance",
        [
            *("data, k, share", "greedy (s)", "promise", "effort", "nonzeros", "known", "F1", "kept"),
            *("rule", "CPU s"),
        ],
    )
    efforts = ("quick", "auto", "thorough") if call.full else ("quick", "auto")
    for case in cases(call.data):
        op = case.op()
        greedy, seconds = timed(partial(_controlled, op, case))
        for (promise, known), effort in product(zip(PROMISES, case.known, strict=True), efforts):
            found, took = timed(partial(sparsest, op, case.k, case.share, promise, effort))
            kept = found.kept_shares if promise == "every" else found.kept_shares[-1:]
            table.rows.append(
                [
                    f"{case.label} {case.k} {case.share}",
                    f"{greedy} ({seconds:.2f})",
                    promise,
                    effort,
                    str(found.nonzeros) + (" dense" if found.dense else ""),
                    known,
                    "-" if case.truth is None else f"{f1(found.V, case.truth):.3f}",
                    f"{kept.min():.4f}",
                    found.winner,
                    f"{took:.2f}",
                ]
            )
    exact = sp.spca_cov(sp.datasets.load_pitprops(), 6, variance=0.9, method="controlled", exact=True)
    table.notes = [
        'Greedy: method="controlled", which keeps the share after every component, with the F1 of planted '
        "supports. Wine, colon and leukemia are standardised unless called raw.",
        "With 120 planted nonzeros, F1 of n < 120 nonzeros is at most 2n / (n + 120). "
        "Dense: more than a third of the loadings are nonzero.",
        f"With `exact=True` the greedy method keeps the share of pitprops with {exact.card.sum()} nonzeros.",
    ]
    return table


def _controlled(op: Operator, case: Case) -> str:
    """Return the nonzeros of the published greedy method, and F1 of planted supports."""
    plan = make_plan(Request(case.k, variance=case.share, method="controlled"), op.p)
    V = run(op, plan, case.k, np.random.default_rng(0)).solution.V
    score = "" if case.truth is None else f", F1 {f1(V, case.truth):.2f}"
    return f"{np.count_nonzero(V)}{score}"
