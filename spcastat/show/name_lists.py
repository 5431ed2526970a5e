"""Numbers with names in few lines: lists side by side, and rows whose words are cut to the room there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from spcastat.arguments import plural
from spcastat.show import grid
from spcastat.show.renderings import WIDTH, Excerpt, matrix, padded, short_labels

#: Every list has at least so many variables, if its component has.
FEWEST_LINES = 3
#: The widest names beside loadings.
LOADING_NAME_WIDTH = 30
#: Limits of names in lists that stand side by side; the first is used unless a smaller one shows more.
NAME_LIMITS = tuple(range(LOADING_NAME_WIDTH, 16, -1))
#: Number of spaces between lists, and at most before the count of what has no room in them.
LIST_GAP, MORE_INDENT = 3, 6


@dataclass(frozen=True)
class List:
    """Numbers with names under a heading, the most important first."""

    heading: str
    numbers: tuple[str, ...]
    names: tuple[str, ...]

    def shown_count(self, line_limit: int) -> int:
        """Return how many of the numbers have room in so many lines, if the last counts the others."""
        return len(self.numbers) if len(self.numbers) <= line_limit else line_limit - 1

    def lines(self, line_limit: int, limit: int) -> list[str]:
        """Return the heading and at most `line_limit` lines, the last of which counts what has no room."""
        count = self.shown_count(line_limit)
        width = max(map(len, self.numbers), default=0)
        labels = short_labels(self.names[:count], limit)
        lines = [f"{number:>{width}} {label}" for number, label in zip(self.numbers, labels, strict=False)]
        if count < len(self.numbers):
            lines.append(f"{'':{min(width, MORE_INDENT)}} and {len(self.numbers) - count:,} more")
        return [self.heading, *lines]


def side_by_side(lists: Sequence[List], room: int, name_limits: Sequence[int] = NAME_LIMITS) -> Excerpt:
    """Return lists in as many columns as fit, each with as many lines as there is room for, if there is any.

    Names are shortened to the first of `name_limits` with which the most lines have room, and less where the
    other columns beside them leave room.
    """
    longest = min(max(len(block.numbers) for block in lists), room)
    for line_limit in range(longest, min(FEWEST_LINES, longest) - 1, -1):
        for limit in name_limits:
            texts = [block.lines(line_limit, limit) for block in lists]
            if len(_bands(texts)) <= room:
                longer = [larger for larger in name_limits if larger > limit]
                left_out = sum(len(block.numbers) - block.shown_count(line_limit) for block in lists)
                return Excerpt(_bands(_lengthened(texts, lists, line_limit, longer)), left_out)
    return Excerpt([])


def _lengthened(
    texts: list[list[str]], lists: Sequence[List], line_limit: int, name_limits: Sequence[int]
) -> list[list[str]]:
    """Return lists with the first of larger limits of names with which all still have as many lines."""
    count = len(_bands(texts))
    for place, block in enumerate(lists):
        for limit in name_limits if texts[place] != block.lines(line_limit, WIDTH) else ():
            longer = [*texts[:place], block.lines(line_limit, limit), *texts[place + 1 :]]
            if len(_bands(longer)) == count:
                texts = longer
                break
    return texts


def _bands(texts: Sequence[list[str]]) -> list[str]:
    """Return texts side by side, as many as fit into a line, in one or more bands."""
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
    """A row with a few numbers and a list of words that may be cut.

    Attributes
    ----------
    label : str
    cells, words : tuple of str
    longer : sequence of tuple of str
        The words with longer names, the longest first; the first that has room is shown.
    """

    label: str
    cells: tuple[str, ...]
    words: tuple[str, ...]
    longer: Sequence[tuple[str, ...]] = ()

    def lines(self, width: int, line_limit: int, shortest: bool) -> Excerpt:
        """Return as many words as possible in at most `line_limit` lines, with names as long as these allow.

        If `shortest`, names are short even if there is room for longer ones.
        """
        word_count = words_with_room(self.words, width, line_limit)
        left_out = len(self.words) - word_count
        if shortest or not word_count:
            return Excerpt(words_in_lines(self.words, width, line_limit), left_out)
        versions = [*self.longer, self.words]
        number = next(
            i for i, words in enumerate(versions) if words_with_room(words, width, line_limit) == word_count
        )
        lines = [
            next((line for line in lines if grid.display_width(line) <= width), lines[-1])
            for lines in _same_lines(versions, versions[number], word_count, width)
        ]
        return Excerpt(lines, left_out)


#: So many words of an item may have longer names.
MOST_LONGER = 40


def item(
    label: str,
    cells: tuple[str, ...],
    names: Sequence[str],
    around: Sequence[tuple[str, str]],
    shortest: int,
) -> Item:
    """Return an item whose words are names with a text before and after each, such as "0.5 " and "".

    Names have at most `shortest` characters, or more if there is room.
    """
    longest = max(map(grid.display_width, names), default=0)
    limits = [shortest]
    if len(names) <= MOST_LONGER:
        limits = [*range(min(LOADING_NAME_WIDTH, longest), shortest, -1), shortest]
    versions = [
        tuple(
            f"{prefix}{name}{suffix}"
            for name, (prefix, suffix) in zip(short_labels(names, limit), around, strict=True)
        )
        for limit in limits
    ]
    return Item(label, cells, versions[-1], versions[:-1])


def items(title: str, headings: Sequence[str], rows: Sequence[Item], room: int, noun: str) -> Excerpt:
    """Return each row with its numbers and as many of its words as there is room for.

    `noun` is the plural of what has a row, for the rows that have no room.
    """
    shown_rows = rows if len(rows) + 1 <= room else rows[: max(room - 2, 1)]
    hidden = [] if len(shown_rows) == len(rows) else [f"and {len(rows) - len(shown_rows)} more {noun}"]
    *heads, last_head = headings
    head = matrix(title, heads, [(row.label, row.cells) for row in shown_rows], limit=12)
    start = max(map(grid.display_width, head)) + 2
    for line_limit, shortest in product(
        range(max((room - 1 - len(hidden)) // len(shown_rows), 1), 0, -1), (False, True)
    ):
        texts = [row.lines(WIDTH - start, line_limit, shortest) for row in shown_rows]
        lines = [padded(head[0], start) + last_head]
        for line, text in zip(head[1:], texts, strict=True):
            first_line, *tail = text.lines
            lines += [padded(line, start) + first_line, *(" " * start + more for more in tail)]
        if len(lines) + len(hidden) <= room:
            break
    left_out = sum(text.left_out for text in texts)
    return Excerpt([*lines, *hidden], left_out, len(rows) - len(shown_rows))


def words_in_lines(words: Sequence[str], width: int, line_limit: int) -> list[str]:
    """Return words separated by commas in at most `line_limit` lines; the last counts words without room."""
    count = words_with_room(words, width, line_limit)
    return _first_words(words, count, width) if count else [plural(len(words), "variable")]


def words_with_room(words: Sequence[str], width: int, line_limit: int) -> int:
    """Return how many words have room in at most `line_limit` lines, if the last counts the others."""
    counts = range(min(len(words), line_limit * width), 0, -1)
    return next((count for count in counts if len(_first_words(words, count, width)) <= line_limit), 0)


def _first_words(words: Sequence[str], count: int, width: int) -> list[str]:
    """Return lines with the first `count` words, and a count of the others."""
    return [lines[0] for lines in _same_lines([words], words, count, width)]


def _same_lines(
    versions: Sequence[Sequence[str]], words: Sequence[str], count: int, width: int
) -> Iterator[list[str]]:
    """Yield each line with the first `count` words in every version, with the line breaks of one of these."""
    tail = [] if count == len(words) else [f"and {len(words) - count} more"]
    pieces = [[*(f"{word}," for word in version[:count]), *tail] for version in (words, *versions)]
    if not tail:
        pieces = [[*texts[:-1], texts[-1].removesuffix(",")] for texts in pieces]
    start, used = 0, 0
    for place, text in enumerate(pieces[0]):
        size = grid.display_width(text)
        if place > start and used + 1 + size > width:
            yield [" ".join(texts[start:place]) for texts in pieces[1:]]
            start, used = place, size
        else:
            used += size + (place > start)
    yield [" ".join(texts[start:]) for texts in pieces[1:]]
