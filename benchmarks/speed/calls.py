"""Seconds of single fits, paths, bootstraps and choices; of a whole process; large problems."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

import spcastat as sp
from benchmarks.data import planted, real_rows, tall
from benchmarks.report import Table, timed
from benchmarks.speed.fresh import HEAD, Call, environment, fresh, ratio

#: Data, components, and the cardinality of the bootstrapped fit.
CASES = (("wine", 3, 5), ("breast cancer", 3, 8), ("breast cancer", 5, 6))


def fits(call: Call) -> Table:
    """Time single fits of small, wide and tall data with one thread."""
    return Table(**fresh(single_fits, threads=1, rows=call.size(500_000))[0])


def single_fits(rows: int) -> dict[str, Any]:
    """Return title, head, rows and notes of the table."""
    R, X = sp.datasets.load_pitprops(), tall(rows, 200)
    sp.spca_cov(R, 2, card=3)  # imports are not timed
    calls: dict[str, tuple[Callable[..., Any], int, int]] = {
        "pitprops, 6 x 4": (partial(sp.spca_cov, R), 6, 4),
        "planted 200 x 2000, 3 x 40": (
            partial(sp.spca, planted(200, 2000, 40, 0, (6.0, 5.0, 4.0))[0]),
            3,
            40,
        ),
        f"{rows:,} x 200, 10 x 20": (partial(sp.spca, X), 10, 20),
    }
    made = []
    for name, (function, k, card) in calls.items():
        for effort in ("quick", "auto"):
            fit, seconds = timed(partial(function, k, card, effort=effort))
            made.append([name, effort, f"{100.0 * fit.measure('adjusted'):.3f}", f"{seconds:.2f}"])
    _, product = timed(partial(np.dot, X.T, X))
    return {
        "title": "Single fits",
        "head": ["data, k x card", "effort", "adjusted, %", "CPU s"],
        "rows": made,
        "notes": [f"One run each. {rows:,} x 200: X'X takes {product:.2f} s."],
    }


def resampling(call: Call) -> Table:
    """Time a path, a bootstrap and a choice with one thread."""
    return Table(**fresh(repeated_fits, threads=1)[0])


def repeated_fits() -> dict[str, Any]:
    """Return title, head, rows and notes of the table."""
    made = []
    for name, k, card in CASES:
        X = real_rows(name, None)
        fit = sp.spca(X, k, card, scale=True)
        path, of_path = timed(partial(sp.spca_path, X, k, scale=True))
        single = [timed(partial(sp.spca, X, k, c, scale=True)) for c in path]
        each = float(np.mean([seconds for _, seconds in single]))
        values = path.table["adjusted"].to_numpy()
        best = np.array([one.measure("adjusted") for one, _ in single])
        _, of_draws = timed(partial(fit.bootstrap, 999))
        _, of_choice = timed(partial(sp.choose, X, k, scale=True))
        cells = [f"{each:.3f}", f"{of_path:.2f}", f"{of_path / each:.1f}", str(len(path))]
        cells += [f"{100.0 * max((best - values) / best):.3f}", str(int((np.diff(values) < -1e-12).sum()))]
        cells += [f"{of_draws:.2f}", f"{of_choice:.2f}"]
        made.append([f"{name}, {k}", *cells])
    return {
        "title": "Paths, bootstrap and choices",
        "head": [
            *("data, k", "single fit, s", "path, s", "path / single fit", "fits", "largest loss, %"),
            *("decreases", "bootstrap(999), s", "choose, s"),
        ],
        "rows": made,
        "notes": [
            "CPU seconds. Largest loss: of a fit in the path, relative to the single fit of its cardinality. "
            "Decreases: steps of the path at which the value falls. The bootstrap is of fits with card 5 "
            "(wine), 8 and 6."
        ],
    }


# --- a whole process --------------------------------------------------------------------------------


SMALL = "sp.spca_cov(sp.datasets.load_pitprops(), 6, card=[7, 4, 4, 1, 1, 1])"
STATEMENTS = {
    "imports": "import numpy, scipy, pandas",
    "more imports": "import numpy, scipy, scipy.linalg, scipy.sparse, pandas",
    "fit": f"import spcastat as sp; {SMALL}",
    "print": f"import spcastat as sp; print({SMALL})",
}
ROUNDS = 15


def wall(statement: str, threads: int | None) -> float | None:
    """Return the wall time of an interpreter that runs `statement`, or None if that fails."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, env=environment(threads))
    return time.perf_counter() - start if done.returncode == 0 else None


def process(call: Call) -> Table:
    """Time a fit of pitprops from the start of the interpreter to its end."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    rounds = 3 if call.small else ROUNDS
    for turn in range(rounds + 1):
        for name, statement in STATEMENTS.items():
            taken = wall(statement, call.threads)
            if taken is None:
                raise RuntimeError(f"this fails in a new interpreter: {statement}")
            if turn:
                times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    bare, more, fit, printed = medians.values()
    table = Table("Pitprops, the whole process", HEAD)
    table.rows += [
        ratio("fit, relative to importing numpy, scipy, pandas", bare, fit),
        ratio("fit, relative to the same with scipy.linalg, scipy.sparse", more, fit),
        ratio("fit and print, relative to importing numpy, scipy, pandas", bare, printed),
    ]
    table.notes.append(f'`python -c "{STATEMENTS["fit"]}"`; medians of {rounds} processes each, in turns.')
    return table


# --- large problems ---------------------------------------------------------------------------------


def many_columns() -> str:
    """Fit 100 x 10^5 dense rows, 3 x 10."""
    return _support(sp.spca(_one_factor(100, 100_000), 3, card=10))


def many_sparse_columns() -> str:
    """Fit 1000 x 10^6 sparse rows with 10^6 numbers, 3 x 10."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(1000, 1_000_000, 1e-3, "csr", rng=rng)
    factor = scipy.sparse.csr_array(np.repeat(rng.standard_normal((1000, 1)), 10, axis=1))
    rows = scipy.sparse.hstack([factor, scipy.sparse.csc_array(X)[:, 10:]]).tocsr()
    return _support(sp.spca(rows, 3, card=10))


def many_components() -> str:
    """Fit 200 components to 300 x 300 rows, card 5."""
    fit = sp.spca(np.random.default_rng(0).standard_normal((300, 300)), 200, card=5)
    return f"{fit.loadings.shape[1]} components of {fit.card.min()} to {fit.card.max()} nonzeros"


def path() -> str:
    """Fit the default path of 100 x 5000 rows, k = 2."""
    found = sp.spca_path(_one_factor(100, 5000), 2)
    return f"{len(found.table)} fits; {_support(found[10])} with 10 nonzeros"


def choice() -> str:
    """Choose a cardinality for 100 x 2000 rows, k = 2."""
    return f"card {sp.choose(_one_factor(100, 2000), k=2).card}"


CALLS: tuple[Callable[[], str], ...] = (many_columns, many_sparse_columns, many_components, path, choice)


def limits(call: Call) -> Table:
    """Run every call in a new process."""
    table = Table("Large problems on one machine", ["call", "result", "CPU s", "MB"])
    for work in CALLS:
        (result, seconds), peak = fresh(with_seconds, threads=1, name=work.__name__)
        table.rows.append([str(work.__doc__).rstrip("."), result, f"{seconds:.0f}", f"{peak:.0f}"])
    table.notes.append("CPU seconds and peak memory of the process, with imports and the simulation of data.")
    return table


def with_seconds(name: str) -> tuple[str, float]:
    """Return the result of a call, and the CPU seconds of this process since its start."""
    return globals()[name](), time.process_time()


def _one_factor(n: int, p: int) -> np.ndarray:
    """Return rows whose first ten variables share a factor."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X[:, :10] += 3 * rng.standard_normal((n, 1))
    return X


def _support(fit: sp.SpcaResult) -> str:
    """Return, as text, whether a component has the planted support."""
    supports = [set(np.flatnonzero(v)) for v in fit.loadings.to_numpy().T]
    return f"planted support {'found' if set(range(10)) in supports else 'missed'}"
