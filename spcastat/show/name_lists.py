"""Compact layouts of numbers with names: lists side by side, and rows with as many words as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spcastat.arguments import plural
from spcastat.show import grid
from spcastat.show.renderings import WIDTH, Excerpt, matrix, padded, short_labels

#: The smallest number of variables in each list, if its component has as many.
FEWEST_LINES = 3
#: The largest width of names next to loadings.
LOADING_NAME_WIDTH = 30
#: Limits of the widths of names in lists side by side; smaller ones are used only if they show more.
NAME_LIMITS = tuple(range(LOADING_NAME_WIDTH, 16, -1))
#: Number of spaces between lists; largest number of spaces before the count of entries without room.
LIST_GAP, MORE_INDENT = 3, 6


@dataclass(frozen=True)
class List:
    """Numbers with names under a heading, the most important first."""

    heading: str
    numbers: tuple[str, ...]
    names: tuple[str, ...]

    def shown_count(self, line_limit: int) -> int:
        """Return how many numbers fit in `line_limit` lines, the last of which counts the others."""
        return len(self.numbers) if len(self.numbers) <= line_limit else line_limit - 1

    def lines(self, line_limit: int, labels: Mapping[str, str]) -> list[str]:
        """Return the heading and at most `line_limit` lines, the last of which counts the other numbers.

        `labels` are the short names.
        """
        count = self.shown_count(line_limit)
        width = max(map(len, self.numbers), default=0)
        rows = zip(self.numbers[:count], self.names[:count], strict=True)
        lines = [f"{number:>{width}} {labels[name]}" for number, name in rows]
        if count < len(self.numbers):
            lines.append(f"{'':{min(width, MORE_INDENT)}} and {len(self.numbers) - count:,} more")
        return [self.heading, *lines]


def side_by_side(lists: Sequence[List], room: int, name_limits: Sequence[int] = NAME_LIMITS) -> Excerpt:
    """Return lists side by side, with as many lines each as fit in `room`; no lines without room.

    Names are shortened to the first of `name_limits` for which the most lines fit, and less if the other
    columns leave room.
    """
    longest = min(max(len(block.numbers) for block in lists), room)
    for line_limit in range(longest, min(FEWEST_LINES, longest) - 1, -1):
        visible_names = {
            name: None for block in lists for name in block.names[: block.shown_count(line_limit)]
        }
        versions: list[dict[str, str]] = []  # with increasingly short names
        for limit in name_limits:
            versions.append(dict(zip(visible_names, short_labels([*visible_names], limit), strict=True)))
            texts = [block.lines(line_limit, versions[-1]) for block in lists]
            if len(_bands(texts)) <= room:
                left_out = sum(len(block.numbers) - block.shown_count(line_limit) for block in lists)
                return Excerpt(_bands(_lengthened(texts, lists, line_limit, versions)), left_out)
    return Excerpt([])


def _lengthened(
    texts: list[list[str]], lists: Sequence[List], line_limit: int, versions: Sequence[Mapping[str, str]]
) -> list[list[str]]:
    """Return each list with the longest names for which the lists need no more bands."""
    count = len(_bands(texts))
    for place, block in enumerate(lists):
        for labels in versions[:-1]:
            longer = [*texts[:place], block.lines(line_limit, labels), *texts[place + 1 :]]
            if len(_bands(longer)) == count:
                texts = longer
                break
    return texts


def _bands(texts: Sequence[list[str]]) -> list[str]:
    """Return texts side by side, as many as fit the width, in one or more bands."""
    bands: list[list[list[str]]] = [[]]
    used = 0
    for text in texts:
        width = max(map(grid.display_width, text))
        if bands[-1] and used + LIST_GAP + width > WIDTH:
            bands.append([])
        used = width + (used + LIST_GAP if bands[-1] else 0)
        bands[-1].append([padded(line, width) for line in text])
    lines = []
    for band in bands:
        for number in range(max(map(len, band))):
            cells = (
                text[number] if number < len(text) else " " * grid.display_width(text[0]) for text in band
            )
            lines.append((" " * LIST_GAP).join(cells).rstrip())
    return lines


@dataclass(frozen=True)
class Item:
    """A row with a few numbers and a list of words, whose end may be omitted.

    Attributes
    ----------
    label : str
    cells, names : tuple of str
    around : tuple of (str, str)
        The text before and after each name in its word, such as "0.5 " and "".
    """

    label: str
    cells: tuple[str, ...]
    names: tuple[str, ...]
    around: tuple[tuple[str, str], ...]

    def words(self, labels: Mapping[str, str]) -> list[str]:
        """Return the words, with short names if `labels` contains them."""
        return [
            f"{prefix}{labels.get(name, name)}{suffix}"
            for name, (prefix, suffix) in zip(self.names, self.around, strict=True)
        ]


def items(
    title: str, headings: Sequence[str], rows: Sequence[Item], room: int, noun: str, shortest: int
) -> Excerpt:
    """Return each row with its numbers and as many of its words as fit.

    `noun`, in the plural, names the rows in the count of rows without room. Names have at most `shortest`
    characters, or more if all words that are shown then have room.
    """
    shown_rows = rows if len(rows) + 1 <= room else rows[: max(room - 2, 1)]
    hidden = [] if len(shown_rows) == len(rows) else [f"and {len(rows) - len(shown_rows)} more {noun}"]
    *heads, last_head = headings
    head = matrix(title, heads, [(row.label, row.cells) for row in shown_rows], limit=12)
    start = max(map(grid.display_width, head)) + 2
    for line_limit in range(max((room - 1 - len(hidden)) // len(shown_rows), 1), 0, -1):
        texts = _of_rows(shown_rows, WIDTH - start, line_limit, shortest)
        lines = [padded(head[0], start) + last_head]
        for line, text in zip(head[1:], texts, strict=True):
            first_line, *tail = text.lines
            lines += [padded(line, start) + first_line, *(" " * start + continued for continued in tail)]
        if len(lines) + len(hidden) <= room:
            break
    left_out = sum(text.left_out for text in texts)
    return Excerpt([*lines, *hidden], left_out, len(rows) - len(shown_rows))


def _of_rows(rows: Sequence[Item], width: int, line_limit: int, shortest: int) -> list[Excerpt]:
    """Return the words of each row, with the longest names for which no fewer words fit."""
    word_limit = line_limit * width // 2  # more words in a row cannot all fit
    names = list(dict.fromkeys(name for row in rows for name in row.names[:word_limit]))
    longest = max(map(grid.display_width, names), default=0)

    def texts(limit: int) -> list[Excerpt]:
        labels = dict(zip(names, short_labels(names, limit), strict=True))
        return [words_in_lines(row.words(labels), width, line_limit) for row in rows]

    with_short = texts(shortest)
    left_out = [text.left_out for text in with_short]
    limits = range(min(LOADING_NAME_WIDTH, longest), shortest, -1)
    longer = (
        longer_texts
        for longer_texts in map(texts, limits)
        if [text.left_out for text in longer_texts] == left_out
    )
    return next(longer, with_short)


def words_in_lines(words: Sequence[str], width: int, line_limit: int) -> Excerpt:
    """Return words separated by commas in at most `line_limit` lines; the last counts words without room."""
    for count in range(min(len(words), line_limit * width), 0, -1):
        lines = _first_words(words, count, width)
        if len(lines) <= line_limit and all(grid.display_width(line) <= width for line in lines):
            return Excerpt(lines, len(words) - count)
    return Excerpt([plural(len(words), "variable")], len(words))


def _first_words(words: Sequence[str], count: int, width: int) -> list[str]:
    """Return lines with the first `count` words, and a count of the others."""
    tail = [] if count == len(words) else [f"and {len(words) - count:,} more"]
    pieces = [*(f"{word}," for word in words[:count]), *tail]
    if not tail:
        pieces[-1] = pieces[-1].removesuffix(",")
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if grid.display_width(f"{lines[-1]} {piece}") <= width:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines
