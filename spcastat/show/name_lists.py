"""Compact layouts of numbers with names: lists side by side, and rows with as many words as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spcastat.arguments import plural
from spcastat.show import grid, renderings
from spcastat.show.renderings import WIDTH, Excerpt, matrix, padded, short_labels

#: The smallest number of variables in each list, if its component has as many.
FEWEST_LINES = 3
#: The largest width of names next to loadings.
LOADING_NAME_WIDTH = 30
#: Limits of the widths of names in lists side by side; smaller ones are used only if they show more.
NAME_LIMITS = tuple(range(LOADING_NAME_WIDTH, 16, -1))
#: Number of spaces between lists; largest number of spaces before the count of entries without room.
LIST_GAP, MORE_INDENT = 3, 6
#: A list has at most so many columns (convention), with so many spaces between them.
LIST_COLUMNS, LIST_COLUMN_GAP = 3, 2


@dataclass(frozen=True)
class List:
    """Numbers with names under a heading, the most important first."""

    heading: str
    numbers: tuple[str, ...]
    names: tuple[str, ...]

    def shown_count(self, line_limit: int, columns: int) -> int:
        """Return how many numbers fit in `line_limit` lines and `columns`, with a count of the others."""
        room = line_limit * columns
        return len(self.numbers) if len(self.numbers) <= room else room - 1

    def lines(self, line_limit: int, columns: int, labels: Mapping[str, str]) -> list[str]:
        """Return the heading and at most `line_limit` lines, the last of which counts the other numbers.

        `labels` are the short names. Only a list with more numbers than lines has more than one column.
        """
        count = self.shown_count(line_limit, columns)
        width = max(map(len, self.numbers), default=0)
        rows = zip(self.numbers[:count], self.names[:count], strict=True)
        texts = [f"{number:>{width}} {labels[name]}" for number, name in rows]
        if count < len(self.numbers):
            texts.append(f"{'':{min(width, MORE_INDENT)}} and {len(self.numbers) - count:,} more")
        height = max(line_limit, 1)
        parts = [texts[start : start + height] for start in range(0, len(texts), height)]
        return [self.heading, *_beside(parts, LIST_COLUMN_GAP)]


def side_by_side(
    lists: Sequence[List], room: int, name_limits: Sequence[int] = NAME_LIMITS, most_columns: int = 1
) -> Excerpt:
    """Return lists beside and below each other, with as many numbers as fit in `room`; no lines without room.

    All names are shortened to the first of `name_limits` for which the most numbers fit. A list has
    up to `most_columns` columns.
    """
    longest = min(max(len(block.numbers) for block in lists), room)
    shapes = [
        (line_limit, columns)
        for line_limit in range(longest, min(FEWEST_LINES, longest) - 1, -1)
        for columns in range(1, 1 + most_columns)
    ]

    def number_count(shape: tuple[int, int]) -> int:
        return sum(block.shown_count(*shape) for block in lists)

    for shape in sorted(shapes, key=lambda shape: (-number_count(shape), shape[1])):
        names = {name: None for block in lists for name in block.names[: block.shown_count(*shape)]}
        for limit in name_limits:
            labels = dict(zip(names, short_labels([*names], limit), strict=True))
            bands = _bands([block.lines(*shape, labels) for block in lists])
            text = [line for band in bands for line in band]
            if renderings.fits(text, room):
                spaced_text = [line for band in bands for line in ("", *band)][1:]
                left_out = sum(len(block.numbers) for block in lists) - number_count(shape)
                return Excerpt(spaced_text if renderings.fits(spaced_text, room) else text, left_out)
    return Excerpt([])


def _bands(texts: Sequence[list[str]]) -> list[list[str]]:
    """Return the lines of bands of texts side by side, as many in a band as fit the width.

    Texts below each other are aligned if this needs no further band.
    """
    if not texts:
        return []
    widths = [_width(text) for text in texts]
    bands: list[list[list[str]]] = [[]]
    used = 0
    for text, width in zip(texts, widths, strict=True):
        if bands[-1] and used + LIST_GAP + width > WIDTH:
            bands.append([])
        used = width + (used + LIST_GAP if bands[-1] else 0)
        bands[-1].append(text)
    count = -(-len(texts) // len(bands))
    aligned_widths = [max(widths[column::count]) for column in range(count)]
    if sum(aligned_widths) + LIST_GAP * (count - 1) <= WIDTH:
        starts = range(0, len(texts), count)
        return [_beside(texts[start : start + count], LIST_GAP, aligned_widths) for start in starts]
    return [_beside(band, LIST_GAP) for band in bands]


def _width(text: Sequence[str]) -> int:
    return max(map(grid.display_width, text))


def _beside(texts: Sequence[list[str]], gap: int, widths: Sequence[int] | None = None) -> list[str]:
    """Return texts as columns with these widths, by default their own, and so many spaces between them."""
    height = max(map(len, texts), default=0)
    widths = [_width(text) for text in texts] if widths is None else widths
    columns = [
        [padded(line, width) for line in [*text, *[""] * (height - len(text))]]
        for text, width in zip(texts, widths, strict=False)  # the last band may have fewer texts
    ]
    return [(" " * gap).join(cells).rstrip() for cells in zip(*columns, strict=True)]


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
    cells = [(row.label, row.cells) for row in shown_rows]
    head = matrix(title, heads, cells, limit=12, heading_limit=WIDTH)
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
