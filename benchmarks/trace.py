"""Files and moves of a call in the package: ``python -m benchmarks.trace [--compare FILE] [--write FILE]``.

For each call, in a process in which it was made once before (so that imports do not count): the files of the
package in which functions were called, and the moves between them. A move is a call of a function in another
file than that of the function called before it. Returns, and code of other packages in between, do not count;
generators, comprehensions and properties are functions like any other. The data are `make_hastie`'s: other
data take other numbers of steps, as do other methods: the table of before was made when "bcd-l0" was the
default, and ``--method bcd-l0`` compares with it. ``--edges`` shows from which file to which, and how often.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import spcastat as sp
from benchmarks.report import text_table

PACKAGE = str(Path(sp.__file__).resolve().parent)


class Trace:
    """Counts files and moves while it is the process's profiler."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.edges: Counter[tuple[str, str]] = Counter()
        self.last = ""

    def event(self, frame: FrameType, kind: str, argument: Any) -> None:
        """Note which file a call enters."""
        name = frame.f_code.co_filename
        if kind != "call" or not name.startswith(PACKAGE):
            return
        file = name[len(PACKAGE) + 1 :]
        if self.last and self.last != file:
            self.edges[self.last, file] += 1
        self.files.add(file)
        self.last = file

    @property
    def moves(self) -> int:
        """Calls in another file than the one before."""
        return self.edges.total()


def traced(call: Callable[[], Any]) -> Trace:
    """Return the trace of the second of two such calls: the first imports what is imported on demand."""
    call()
    trace = Trace()
    before = sys.getprofile()
    sys.setprofile(trace.event)
    try:
        call()
    finally:
        sys.setprofile(before)
    return trace


def scenes(folder: Path, method: str | None) -> dict[str, Callable[[], Any]]:
    """The calls that are looked at."""
    df = sp.datasets.make_hastie()
    path, saved = folder / "rows.parquet", folder / "fit.spca"
    df.to_parquet(path)
    fit, proven = (sp.spca(df, 2, 4, method=method) for _ in range(2))  # a proof would be saved with its fit

    def keep() -> Any:
        fit.save(saved)
        return sp.load(saved)

    return {
        "spca(df, 2, 4)": lambda: sp.spca(df, 2, 4, method=method),
        "str(fit)": lambda: str(fit),
        "Parquet": lambda: sp.spca(str(path), 2, 4, method=method),
        "certify(joint=False)": lambda: proven.certify(joint=False),
        "save + load": keep,
    }


def main(arguments: list[str] | None = None) -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trace", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the table as JSON")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the table of then beside it")
    parser.add_argument("--method", help="of the fits; the default one otherwise")
    parser.add_argument("--edges", action="store_true", help="show which files call which")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        traces = {name: traced(call) for name, call in scenes(Path(folder), given.method).items()}
    now = {name: [len(trace.files), trace.moves] for name, trace in traces.items()}
    head, rows = ["call", "files", "moves"], [[name, *map(str, counts)] for name, counts in now.items()]
    if given.compare is not None:
        then = json.loads(given.compare.read_text(encoding="utf-8"))
        head += ["files then", "moves then"]
        rows = [[*row, *map(str, then.get(row[0], ["", ""]))] for row in rows]
    print(text_table(head, rows))
    if given.edges:
        for name, trace in traces.items():
            edges = [[f"{a} -> {b}", str(count)] for (a, b), count in trace.edges.most_common()]
            print(f"\n{text_table([name, 'moves'], edges)}")
    if given.write is not None:
        given.write.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
