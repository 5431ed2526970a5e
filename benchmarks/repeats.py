"""Time of single fits, a path, a bootstrap and a choice: ``python -m benchmarks.repeats [--write]``.

CPU seconds of one thread (set OMP_NUM_THREADS=1). Every fit of a path is compared with the
single fit of its cardinality.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

import spcastat as sp
from benchmarks.report import Table, stamp, write_section
from benchmarks.speed.data import planted, tall

#: Data, components, and the cardinality of the bootstrapped fit.
CASES = [("wine", 3, 5), ("breast_cancer", 3, 8), ("breast_cancer", 5, 6)]
Given = TypeVar("Given")


def timed(make: Callable[[], Given]) -> tuple[Given, float]:
    """Return what a call gives, and its CPU seconds."""
    begun = time.process_time()
    return make(), time.process_time() - begun


def table() -> Table:
    """Return the CPU seconds of a path, a bootstrap and a choice."""
    head = ["data, k", "single fit, s", "path, s", "path / single fit", "fits"]
    head += ["largest loss, %", "decreases", "bootstrap(999), s", "choose, s"]
    found = Table("Paths, bootstrap and choices", head)
    for name, k, card in CASES:
        X: Any = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")(as_frame=True).data
        fit = sp.spca(X, k, card, scale=True)
        path, of_path = timed(lambda X=X, k=k: sp.spca_path(X, k, scale=True))  # type: ignore[misc]
        plain = [timed(lambda X=X, k=k, c=c: sp.spca(X, k, c, scale=True)) for c in path]  # type: ignore[misc]
        each = float(np.mean([seconds for _, seconds in plain]))
        values = path.table["adjusted"].to_numpy()
        alone = np.array([one.measure("adjusted") for one, _ in plain])
        _, of_draws = timed(lambda fit=fit: fit.bootstrap(999))  # type: ignore[misc]
        _, of_choice = timed(lambda X=X, k=k: sp.choose(X, k, scale=True))  # type: ignore[misc]
        cells = [f"{each:.3f}", f"{of_path:.2f}", f"{of_path / each:.1f}", str(len(path))]
        cells += [f"{100.0 * max((alone - values) / alone):.3f}", str(int((np.diff(values) < -1e-12).sum()))]
        cells += [f"{of_draws:.2f}", f"{of_choice:.2f}"]
        found.rows.append([f"{name}, {k}", *cells])
    found.notes = [
        "Largest loss: of a fit in the path, relative to the single fit of its cardinality. Decreases: "
        "steps of the path at which the value falls. The bootstrap is of fits with card 5 (wine), 8 and 6. "
        "Most of the time of a choice with unequal cardinalities is the search for its final fit.",
    ]
    return found


def plain_calls(rows: int) -> Table:
    """Return CPU seconds of single fits on small, wide and tall data, on one thread."""
    found = Table("Single fits", ["data, k x card", "effort", "adjusted, %", "s"])
    R, wide = sp.datasets.load_pitprops(), planted(200, 2000, 40, 0, (6.0, 5.0, 4.0))[0]
    sp.spca_cov(R, 2, card=3)  # imports are not timed
    calls: list[tuple[str, Callable[..., Any], int, int]] = [
        ("pitprops, 6 x 4", partial(sp.spca_cov, R), 6, 4),
        ("planted 200 x 2000, 3 x 40", partial(sp.spca, wide), 3, 40),
    ]
    found.notes = ["CPU seconds of one thread and one run, on a machine with other work."]
    if rows:
        X = tall(rows, 200)
        _, product = timed(lambda: X.T @ X)
        calls.append((f"{rows:,} x 200, 10 x 20", partial(sp.spca, X), 10, 20))
        found.notes.append(f"{rows:,} x 200: X'X takes {product:.2f} s.")
    for name, call, k, card in calls:
        for effort in ("quick", "auto"):
            fit, seconds = timed(lambda call=call, k=k, c=card, e=effort: call(k, c, effort=e))  # type: ignore[misc]
            share = f"{100.0 * fit.measure('adjusted'):.3f}"
            found.rows.append([name, effort, share, f"{seconds:.2f}"])
            print(*found.rows[-1], flush=True)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repeats", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/results/speed.md")
    parser.add_argument("--rows", type=int, default=500_000, help="of the tall data; 0 leaves them out")
    given = parser.parse_args(arguments)
    made = [plain_calls(given.rows), table()]
    print("\n\n".join(one.show(False) for one in made))
    if given.write:
        title = (
            f"## Single fits, paths, bootstrap, choices\n\n`python -m benchmarks.repeats --write`. {stamp()}"
        )
        write_section("repeats", "\n\n".join([title, *(one.show(True) for one in made)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
