"""``python -m benchmarks.papers [table ...] [--paper 000] [--data DIR] [--full] [--done FILE] [--write]``.

The tables and figures of the papers, ours beside print.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

# Matrices are small: threads cost more than they bring, and draws are shared among processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.draws import Draws, Unfinished, add_draws
from benchmarks.papers import colon, digits, faces, greedy, pitprops, robust, scoring, sparse, toy, uci
from benchmarks.papers.fits import Call
from benchmarks.papers.rows import list_of_rows
from benchmarks.papers.sheet import Sheet
from benchmarks.report import add_data, command_line, read_arguments, stamp, write_section

TABLES: dict[str, Callable[[Call], Sheet]] = {
    "000-hastie": toy.hastie,
    "000-2": toy.table_2,
    "000-3": pitprops.table_3,
    "000-fig1": pitprops.figure_1,
    "000-4": colon.table_4,
    "000-fig2": colon.figure_2,
    "000-6": toy.table_6,
    "000-7": colon.table_7,
    "000-fig4": colon.figure_4,
    "000-8": faces.table_8,
    "000-9": faces.table_9,
    "002-1": scoring.table_1,
    "002-fig1": scoring.figure_1,
    "002-4": scoring.table_4,
    "002-fig2": scoring.figure_2,
    "002-6": uci.table_6,
    "002-fig3": uci.figure_3,
    "002-fig4": scoring.figure_4,
    "003-1": greedy.table_1,
    "003-2": greedy.table_2,
    "003-3": greedy.table_3,
    "003-4": greedy.table_4,
    "003-5": greedy.table_5,
    "003-6": greedy.table_6,
    "003-fig1": greedy.figure_1,
    "003-fig2-3": sparse.figures_2_3,
    "003-fig4": sparse.figure_4,
    "003-fig5": sparse.figure_5,
    "003-fig6": sparse.figure_6,
    "004-1": robust.table_1,
    "004-2-3": robust.hastie,
    "004-fig2": robust.figure_2,
    "004-fig3": robust.figure_3,
    "004-4": digits.table_4,
    "004-fig5": digits.figure_5,
    "004-fig6": digits.figure_6,
}
PAPERS = {
    "000": "Zhao, Meng, Xu and Gao (2015), block coordinate descent",
    "002": "Dou, Dai, Xu and Zhang, optimal scoring and sparse principal coordinates",
    "003": "He, Monteiro and Park (2010), greedy supports and sparsity control",
    "004": "Zhao, Meng and Xu (2014), robust sparse PCA",
}
RULE = (
    "Verdicts: 'as printed' is within two standard errors (of both, where print has draws) or 0.5 points "
    "(0.005 of what is no percentage); else the number of the cause below the table, 'tested' by a run or "
    "'supposed'."
)


def main(arguments: list[str] | None = None) -> int:
    parser = command_line("papers", __doc__, TABLES)
    add_data(parser, "the papers' numbers of draws, and slow rows")
    add_draws(parser)
    parser.add_argument(
        "--draws",
        type=_most,
        default={},
        metavar="N[,TABLE=N...]",
        help="no cell has more draws than N, or than another number in some tables",
    )
    parser.add_argument("--paper", choices=PAPERS, help="the tables of this paper alone")
    parser.add_argument("--markdown", action="store_true", help="print Markdown instead of text")
    given = read_arguments(parser, TABLES, arguments)
    draws = Draws.asked(given)
    most = given.draws
    sheets: list[Sheet] = []
    unfinished: dict[str, str] = {}
    asked = given.tables or [name for name in TABLES if name.startswith(given.paper or "")]
    for name in asked:
        call = Call(given.data, given.full, most.get(name, most.get("")), draws)
        try:
            sheet = TABLES[name](call)
        except Unfinished as rest:
            print(f"\n{rest}", flush=True)
            unfinished[name] = str(rest).split(": ", 1)[1]
            continue
        sheets.append(sheet)
        print(f"\n{sheet.as_markdown() if given.markdown else sheet.as_text()}", flush=True)
    if given.write:
        for paper in [given.paper] if given.paper else PAPERS:
            tables = [one.as_markdown() for one in sheets if one.name.startswith(paper)]
            body = [*_head(given, draws, paper), list_of_rows(paper, sheets, unfinished)]
            write_section(f"papers-{paper}", "\n\n".join([*body, "## Tables and figures", *tables]))
    if unfinished:
        print(f"\nNot all draws of {', '.join(unfinished)} are made: run the same command again.")
    return 1 if unfinished else 0


def _most(text: str) -> dict[str, int]:
    """Read "100" or "100,000-2=20": the most draws of a cell by table; "" stands for all others."""
    return {one.rpartition("=")[0]: int(one.rpartition("=")[2]) for one in text.split(",")}


def _head(given: argparse.Namespace, draws: Draws, paper: str) -> list[str]:
    """Return what stands above the tables of a paper."""
    by_table = dict(given.draws)
    most = by_table.pop("", None)
    few = "".join(f" ({number} in {name})" for name, number in by_table.items() if name.startswith(paper))
    command = " ".join(
        ["python -m benchmarks.papers --paper", paper]
        + ["--full"] * given.full
        + ["--data DIR"] * (draws.data is not None)
        + ["--write"]
    )
    return [
        "## Verdicts",
        f"`{command}`{f', at most {most} draws a cell{few}' if most else ''}. Code that made the draws: "
        f"{', '.join(sorted(draws.versions))}. {stamp()}",
        RULE,
    ]


if __name__ == "__main__":
    sys.exit(main())
