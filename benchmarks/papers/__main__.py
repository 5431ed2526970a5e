"""The command: ``python -m benchmarks.papers [table ...] [--data DIR] [--full] [--write]``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

# Matrices are small: threads cost more than they bring, and tables are to be remade on two processors.
os.environ.setdefault("OMP_NUM_THREADS", "2")

from benchmarks.papers import bcd, faces, greedy, robust, scoring
from benchmarks.papers.fits import Call
from benchmarks.papers.sheet import Sheet
from benchmarks.report import add_data, command_line, read_arguments, run_tables, stamp

TABLES: dict[str, Callable[[Call], Sheet]] = {
    "000-2": bcd.table_2,
    "000-3": bcd.table_3,
    "000-4": bcd.table_4,
    "000-6": bcd.table_6,
    "000-7": bcd.table_7,
    "000-8": faces.table_8,
    "000-9": faces.table_9,
    "002-1": scoring.table_1,
    "002-4": scoring.table_4,
    "002-fig2": scoring.figure_2,
    "002-6": scoring.table_6,
    "003-1": greedy.table_1,
    "003-2": greedy.table_2,
    "003-4": greedy.table_4,
    "003-5": greedy.table_5,
    "003-6": greedy.table_6,
    "003-fig1": greedy.figure_1,
    "003-mnist": greedy.mnist,
    "004-1": robust.table_1,
    "004-hastie": robust.hastie,
    "004-mnist": robust.mnist_reconstruction,
    "004-1nn": robust.mnist_classes,
}
PAPERS = {
    "000": "Zhao, Meng, Xu and Gao (2015), block coordinate descent",
    "002": "Dou, Dai, Xu and Zhang, optimal scoring and sparse principal coordinates",
    "003": "He, Monteiro and Park (2010), greedy supports and sparsity control",
    "004": "Zhao, Meng and Xu (2014), robust sparse PCA",
}


def main(arguments: list[str] | None = None) -> int:
    parser = command_line("papers", __doc__, TABLES)
    add_data(parser, "the papers' numbers of repetitions")
    parser.add_argument("--markdown", action="store_true", help="print Markdown instead of text")
    given = read_arguments(parser, TABLES, arguments)
    call = Call(given.data, given.full)
    body = [
        "## The papers' tables",
        f"`python -m benchmarks.papers`, {'full' if given.full else 'quick'} mode, "
        f"{'with' if given.data else 'without'} real data. {stamp()}",
        "Print, ours, and the difference. " + " ".join(f"{key}: {name}." for key, name in PAPERS.items()),
    ]
    print(body[1], flush=True)

    def show(sheet: Sheet, section: bool) -> str:
        return sheet.as_markdown() if section or given.markdown else sheet.as_text()

    run_tables("papers", given, TABLES, call, body, show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
