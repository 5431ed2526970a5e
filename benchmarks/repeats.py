"""Time of plain calls, and of a path, a bootstrap and a choice: ``python -m benchmarks.repeats [--write]``.

CPU seconds of one thread (set OMP_NUM_THREADS=1). For every fit of a path the plain call of its cardinality
is made as well, and its adjusted variance compared.
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

#: Data, components and cardinality -> CPU seconds before neighbours were starts and draws were fitted 100 at
#: a time, on the same machine within two hours: a path of default cardinalities, and 999 draws; and a choice
#: before candidates were fitted at once.
BEFORE = {
    ("wine", 3, 5): (1.94, 1.97, 0.98),
    ("breast_cancer", 3, 8): (3.48, 3.60, 1.11),
    ("breast_cancer", 5, 6): (7.14, 6.13, 2.49),
}
Given = TypeVar("Given")


def timed(make: Callable[[], Given]) -> tuple[Given, float]:
    """Return what a call gives, and its CPU seconds."""
    begun = time.process_time()
    return make(), time.process_time() - begun


def table() -> Table:
    """Return the costs beside those of before."""
    head = ["data, k", "plain call, s", "path, s", "before", "plain calls", "fits", "below plain, %", "falls"]
    head += ["bootstrap(999), s", "before", "choose, s", "before"]
    found = Table("What repeats fits", head)
    for (name, k, card), before in BEFORE.items():
        X: Any = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")(as_frame=True).data
        fit = sp.spca(X, k, card, scale=True)
        path, of_path = timed(lambda X=X, k=k: sp.spca_path(X, k, scale=True))  # type: ignore[misc]
        plain = [timed(lambda X=X, k=k, c=c: sp.spca(X, k, c, scale=True)) for c in path]  # type: ignore[misc]
        each = float(np.mean([seconds for _, seconds in plain]))
        values = path.table["adjusted"].to_numpy()
        alone = np.array([one.measure("adjusted") for one, _ in plain])
        _, of_draws = timed(lambda fit=fit: fit.bootstrap(999))  # type: ignore[misc]
        _, of_choice = timed(lambda X=X, k=k: sp.choose(X, k, scale=True))  # type: ignore[misc]
        cells = [f"{each:.3f}", f"{of_path:.2f}", f"{before[0]:.2f}", f"{of_path / each:.1f}", str(len(path))]
        cells += [f"{100.0 * max((alone - values) / alone):.3f}", str(int((np.diff(values) < -1e-12).sum()))]
        cells += [f"{of_draws:.2f}", f"{before[1]:.2f}", f"{of_choice:.2f}", f"{before[2]:.2f}"]
        found.rows.append([f"{name}, {k}", *cells])
    found.notes = [
        "Asked: a path for 8 plain calls, no fit more than 0.1 % below its plain call, no falling values; "
        "the bootstrap of wine in 2 s, of breast_cancer in 5 s; a choice in half of the time of before.",
        "The bootstrap is that of card 5 (wine), 8 and 6. What is left of a choice with unequal "
        "cardinalities is for the most part the search for its fit, which is repeated if its components are "
        "out of order.",
    ]
    return found


def plain_calls(rows: int) -> Table:
    """Return CPU seconds of plain calls on small, wide and tall data, beside what is asked."""
    found = Table("Plain calls", ["data, k x card", "effort", "adjusted, %", "s", "asked, s"])
    R, wide = sp.datasets.load_pitprops(), planted(200, 2000, 40, 0, (6.0, 5.0, 4.0))[0]
    sp.spca_cov(R, 2, card=3)  # imports are not timed
    calls: list[tuple[str, Callable[..., Any], int, int, tuple[float, float]]] = [
        ("pitprops, 6 x 4", partial(sp.spca_cov, R), 6, 4, (0.05, 0.25)),
        ("planted 200 x 2000, 3 x 40", partial(sp.spca, wide), 3, 40, (0.2, 0.2)),
    ]
    found.notes = ["CPU seconds of one thread and one run, on a machine with other work."]
    if rows:
        X = tall(rows, 200)
        _, product = timed(lambda: X.T @ X)
        calls.append((f"{rows:,} x 200, 10 x 20", partial(sp.spca, X), 10, 20, (4 * product, 4 * product)))
        found.notes.append(f"{rows:,} x 200: four times X'X, which takes {product:.2f} s, is asked.")
    for name, call, k, card, asked in calls:
        for effort, most in zip(("quick", "auto"), asked, strict=True):
            fit, seconds = timed(lambda call=call, k=k, c=card, e=effort: call(k, c, effort=e))  # type: ignore[misc]
            share = f"{100.0 * fit.measure('adjusted'):.3f}"
            found.rows.append([name, effort, share, f"{seconds:.2f}", f"{most:.2f}"])
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
            f"## Plain calls, paths, bootstrap, choices\n\n`python -m benchmarks.repeats --write`. {stamp()}"
        )
        write_section("repeats", "\n\n".join([title, *(one.show(True) for one in made)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
