"""``python -m benchmarks.papers [table ...] [--paper zhao2015] [--data DIR] [--full] [--write]``.

The tables and figures of the papers, with our results; ``--pictures`` draws the figures from the pages, and
counts their rows again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

# Matrices are small: threads cost more than they save, and processes share the draws.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import spcastat as sp
from benchmarks.draws import Draws, Unfinished, add_draws
from benchmarks.papers import (
    colon,
    complexity,
    digits,
    greedy,
    images,
    pictures,
    pitprops,
    robust,
    scoring,
    sparse,
    toy,
    uci,
)
from benchmarks.papers.counting import in_words, recounted, totals
from benchmarks.papers.fits import Call
from benchmarks.papers.rows import PREPRINT, list_of_rows
from benchmarks.papers.sheet import Sheet
from benchmarks.papers.verdicts import RULE
from benchmarks.report import INDEX, PAPERS, command_line, page_of, read_arguments, stamp, write_section

TABLES: dict[str, Callable[[Call], Sheet]] = {
    "zhao2015-hastie": toy.hastie,
    "zhao2015-2": toy.table_2,
    "zhao2015-3": pitprops.table_3,
    "zhao2015-fig1": pitprops.figure_1,
    "zhao2015-4": colon.table_4,
    "zhao2015-fig2": colon.figure_2,
    "zhao2015-fig3-digits": images.figure_3,
    "zhao2015-6": toy.table_6,
    "zhao2015-7": colon.table_7,
    "zhao2015-fig4": colon.figure_4,
    "zhao2015-fig5-digits": images.figure_5,
    "dou2011-1": scoring.table_1,
    "dou2011-fig1": scoring.figure_1,
    "dou2011-4": scoring.table_4,
    "dou2011-fig2": scoring.figure_2,
    "dou2011-fig2-points": scoring.figure_2_points,
    "dou2011-6": uci.table_6,
    "dou2011-fig3": uci.figure_3,
    "dou2011-fig4": scoring.figure_4,
    "he2010-1": greedy.table_1,
    "he2010-2": greedy.table_2,
    "he2010-3": greedy.table_3,
    "he2010-4": greedy.table_4,
    "he2010-5": greedy.table_5,
    "he2010-6": greedy.table_6,
    "he2010-fig1": greedy.figure_1,
    "he2010-fig2-3": sparse.figures_2_3,
    "he2010-fig4": sparse.figure_4,
    "he2010-fig5": sparse.figure_5,
    "he2010-fig6": sparse.figure_6,
    "zhao2014-1": robust.table_1,
    "zhao2014-2-3": robust.hastie,
    "zhao2014-fig2": robust.figure_2,
    "zhao2014-fig3": robust.figure_3,
    "zhao2014-4": digits.table_4,
    "zhao2014-fig5": digits.figure_5,
    "zhao2014-fig6": digits.figure_6,
    "zhao2014-complexity": complexity.exponents,
}


def main(arguments: list[str] | None = None) -> int:
    """Make and print the tables, and write them if ``--write`` is given."""
    parser = command_line("papers", __doc__, TABLES)
    parser.add_argument("--full", action="store_true", help="the papers' numbers of draws, and slow rows")
    add_draws(parser)
    parser.add_argument(
        "--draws",
        type=_most,
        default={},
        metavar="N[,TABLE=N...]",
        help="no cell has more draws than N, or than another number in some tables",
    )
    parser.add_argument("--paper", choices=PAPERS, help="only the tables of this paper")
    parser.add_argument("--markdown", action="store_true", help="print Markdown instead of text")
    about = "draw the figures from the pages (components as images from DIR), count their rows, and end"
    parser.add_argument("--pictures", action="store_true", help=about)
    given = read_arguments(parser, TABLES, arguments)
    if given.pictures:
        for paper in PAPERS:
            write_head(paper)
        every = pictures.all_pictures()
        for picture in every:
            if picture.panels:
                print(pictures.draw(picture).name, flush=True)
        print(pictures.draw_record().name)
        if given.data is not None and (given.data / digits.FILE).exists():
            print(images.draw_components(given.data, pictures.FOLDER).name)
        pictures.FOLDER.with_suffix(".md").write_text(pictures.page(every), encoding="utf-8")
        return 0
    draws = Draws.from_arguments(given)
    most = given.draws
    unfinished: list[str] = []
    of_paper = [name for name in TABLES if name.startswith(given.paper or "")]
    for name in given.tables or of_paper:
        draws.versions.clear()
        call = Call(given.data, given.full, most.get(name, most.get("")), draws)
        try:
            sheet = TABLES[name](call)
        except Unfinished as rest:
            print(f"\n{rest}", flush=True)
            unfinished.append(name)
            continue
        print(f"\n{sheet.as_markdown() if given.markdown else sheet.as_text()}", flush=True)
        if given.write and sheet.lacks_data:
            print(f"\n{name} is not written, since data are missing.", flush=True)
        elif given.write:
            made = f"Simulated with spcastat {', '.join(sorted(draws.versions)) or sp.__version__}; {stamp()}"
            write_section(name, f"{sheet.as_markdown()}\n\n{made}")
            write_head(name.partition("-")[0])
    if unfinished:
        print(f"\nNot all draws of {', '.join(unfinished)} are made: run the same command again.")
    return 1 if unfinished else 0


def write_head(paper: str) -> None:
    """Write the head of a page: the command, the rule, the items of the paper and their verdicts."""
    path = page_of(f"papers-{paper}")
    page = recounted(path.read_text(encoding="utf-8"))
    path.write_text(page, encoding="utf-8")
    body = [
        "## Verdicts",
        f"`python -m benchmarks.papers --paper {paper} --full --data DIR --write` remakes the page; with "
        "names of tables instead of `--paper`, only these tables. The version and date of the simulations "
        "are below each table.",
        RULE,
        list_of_rows(paper, page),
    ]
    if paper == "zhao2015":
        body += [PREPRINT, list_of_rows("zhao2013", page)]
    write_section(f"papers-{paper}", "\n\n".join(body))
    _count_in_index(paper, in_words(totals(page)[0]))


def _count_in_index(paper: str, counts: str) -> None:
    """Put the counts of findings into the line of RESULTS.md for the page of a paper."""
    lines = INDEX.read_text(encoding="utf-8").split("\n")
    (place,) = [i for i, line in enumerate(lines) if line.startswith(f"| [papers-{paper}]")]
    cells = lines[place].split("|")
    lines[place] = "|".join([*cells[:3], f" {counts} ", *cells[4:]])
    INDEX.write_text("\n".join(lines), encoding="utf-8")


def _most(text: str) -> dict[str, int]:
    """Read "100" or "100,zhao2015-2=20" as table -> most draws of a cell; "" stands for all other tables."""
    return {one.rpartition("=")[0]: int(one.rpartition("=")[2]) for one in text.split(",")}


if __name__ == "__main__":
    sys.exit(main())
