"""Large problems: CPU time and peak memory of a whole process, with one thread."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.sparse

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.fresh import Call, fresh


def many_columns() -> str:
    """Fit 100 x 10^5 dense rows, 3 x 10."""
    return _support(sp.spca(_one_factor(100, 100_000), 3, card=10))


def many_sparse_columns() -> str:
    """Fit 1000 x 10^6 sparse rows with 10^6 numbers, 3 x 10."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(1000, 1_000_000, 1e-3, "csr", rng=rng)
    factor = scipy.sparse.csr_array(np.repeat(rng.standard_normal((1000, 1)), 10, axis=1))
    return _support(sp.spca(scipy.sparse.hstack([factor, X.tocsc()[:, 10:]]).tocsr(), 3, card=10))


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
    """Return whether a component has the planted support."""
    supports = [set(np.flatnonzero(v)) for v in fit.loadings.to_numpy().T]
    return f"planted support {'found' if set(range(10)) in supports else 'missed'}"
