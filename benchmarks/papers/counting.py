"""Counts of printed rows with each finding, from the tables of a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from benchmarks.papers.verdicts import FINDINGS

#: A pattern of the names of the methods that a paper proposes; claims about figures also concern them.
OWN = re.compile(r"BCD|sPCA-OS|SPCO|\bS[15]-SPCA|\bSC\d+|RSPCA|^means")
#: The beginning of the line that counts the printed rows of a table.
COUNTED = "- Printed rows: "


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def totals(page: str) -> tuple[Counter[str], Counter[str]]:
    """Return how many printed rows of a page have each finding: for all methods, and for the paper's own.

    Readings of one printed row, which share its name up to the first comma and its numbers, count once, by
    the best finding. Each claim of the paper counts as a row of its own methods.
    """
    every: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for section in re.split(r"<!-- .*:end -->", page):
        best: dict[tuple[str, ...], str] = {}
        for key, finding in _judged_rows(section):
            best[key] = min(best.get(key, finding), finding, key=FINDINGS.index)
        every += Counter(best.values())
        own += Counter(finding for key, finding in best.items() if len(key) == 1 or OWN.search(key[0]))
    return every, own


def _judged_rows(section: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the name and the printed numbers of each row, or only the text of a claim, with its finding."""
    head: list[str] = []
    for line in section.splitlines():
        cells = cells_of(line)
        if not cells:
            head = []
        elif not head:
            head = cells
        elif head[-1] == "verdict" and cells[-1] and not cells[0].startswith("---"):
            finding = cells[-1].rpartition(") ")[2]
            if head[0] == "the paper states":
                yield (cells[0],), finding
            else:
                pairs = zip(head, cells, strict=True)  # numbers without their errors, which may be ours
                printed = (cell.partition(" (")[0] for name, cell in pairs if name.endswith(", paper"))
                yield (cells[0].split(", ")[0], *printed), finding


def counts_of(section: str) -> str:
    """Return the line that counts the printed rows of a section; "" if it has none."""
    every, own = totals(section)
    of_own = f"; the paper's own methods: {in_words(own)}" if own else ""
    return f"{COUNTED}{in_words(every)}{of_own}." if every else ""


def recounted(page: str) -> str:
    """Return a page after counting the printed rows of its sections again."""
    sections = re.split(r"(<!-- .*:end -->)", page)
    counts = [counts_of(section) for section in sections]
    return "".join(
        re.sub(rf"^{COUNTED}.*$", lambda _, line=line: line, section, flags=re.MULTILINE)
        for section, line in zip(sections, counts, strict=True)
    )


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of findings in words, the best findings first."""
    return ", ".join(f"{counts[finding]} {finding}" for finding in FINDINGS if counts.get(finding))
