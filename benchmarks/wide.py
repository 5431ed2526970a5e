"""The default search with many variables: colon, documents, and planted data of 20,000 variables.

``python -m benchmarks.wide [--data DIR] [--write]``. The algorithm of R's nsprcomp is the method "empca".
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

import spcastat as sp
from benchmarks.report import Table, stamp, write_section
from benchmarks.speed.data import planted
from spcastat.errors import ConvergenceWarning

MEASURES = ("adjusted", "pev", "least_squares")
JOINT = [{"objective": o, "effort": e} for o in ("adjusted", "pev") for e in ("quick", "auto")]


def cases(folder: Path | None) -> Iterator[tuple[str, Any, int, int, dict[str, Any]]]:
    """Yield name, rows, components, cardinality and options of every fit."""
    colon = None if folder is None else folder / "micro_alon.npz"
    if colon is not None and colon.exists():
        X = np.load(colon)["X"].astype(float)
        for scale in (False, True):
            name = f"colon, 62 x 2000, {'standardised' if scale else 'raw'}"
            for options in (*JOINT, {"method": "empca"}):
                yield name, X, 20, 50, {**options, "scale": scale}
    documents = None if folder is None else folder / "text_kos.npz"
    if documents is not None and documents.exists():
        text = sparse.load_npz(documents).astype(float).tocsr()
        for options in (*JOINT, {"method": "bcd-l0"}, {"method": "bcd-l0", "screen": False}):
            yield "documents, 3430 x 6906, sparse", text, 6, 50, options
    X = planted(500, 20000, 40, 0, (6.0, 5.0, 4.0))[0]
    for options in (*JOINT, {"method": "bcd-l0", "screen": True}, {"method": "bcd-l0", "screen": False}):
        yield "planted, 500 x 20000, dense", X, 3, 40, options


def table(folder: Path | None) -> Table:
    """Return the explained variance of all fits, in percent, and CPU seconds."""
    found = Table(
        "Many variables: explained variance in percent",
        ["data, k, card", "fit", "adjusted", "PEV", "least squares", "s"],
    )
    for name, X, k, card, options in cases(folder):
        begun = time.process_time()
        fit = sp.spca(X, k, card=card, **options)
        seconds = time.process_time() - begun
        own = {key: value for key, value in options.items() if key != "scale"}
        shares = [f"{100.0 * fit.measure(m):.2f}" for m in MEASURES]
        label = ", ".join(f"{key}={value}" for key, value in own.items())
        found.rows.append([f"{name}, {k}, {card}", label, *shares, f"{seconds:.2f}"])
        if sparse.issparse(X) and len(found.notes) == 0:
            begun = time.process_time()
            svds(X, k, random_state=0)
            found.notes.append(f"svds of the documents, not centred: {time.process_time() - begun:.2f} s.")
    found.notes.append("CPU seconds of one thread on a machine with other work.")
    found.notes.append("Quick does not improve its fits by exchanges, and reports no test of exchanges.")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Make the table, print it, and write it where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of real data")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/results/")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    sp.spca(planted(50, 200, 5, 0, (6.0, 5.0, 4.0))[0], 2, card=5)  # imports are not timed
    found = table(given.data)
    print(found.show(False))
    if given.write:
        title = f"## The default search with many variables\n\n`python -m benchmarks.wide`. {stamp()}"
        write_section("wide", f"{title}\n\n{found.show(True)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
