"""Names of variables and components as labels: printable, on one line, and not too long."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd

#: The longest label of a variable, and of a component.
NAME_WIDTH, HEADING_WIDTH = 24, 12
#: The longest name that is printed in full, if there is room for it.
LONGEST_NAME = 500


def printable(value: object) -> str:
    """Return the text of a value as one line of printable characters."""
    text = " ".join(str(value).split())
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text or repr(str(value))


def name_text(name: Hashable) -> str:
    """Return a name of any type as one line of printable characters: the tuple ``("a", 1)`` as "(a, 1)".

    A datetime at midnight is written as its date. A name with more than LONGEST_NAME characters is shortened
    in the middle and ends in a checksum of the whole name, which distinguishes it from others.
    """
    if isinstance(name, tuple):
        return "(" + ", ".join(name_text(part) for part in name) + ")"
    text = str(name)
    if isinstance(name, datetime.datetime) and text.endswith(" 00:00:00"):
        text = text.removesuffix(" 00:00:00")
    if len(text) > LONGEST_NAME:
        mark = " #" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
        text = shorten(text, LONGEST_NAME - len(mark)) + mark
    return printable(text)


def stored_name(name: Any) -> Any:
    """Return a name as files of fits store it; dates, bytes and some other types become text."""
    if isinstance(name, tuple):
        return tuple(stored_name(part) for part in name)
    if isinstance(name, float) and np.isnan(name):
        return np.nan  # one object, since NaN differs from itself
    as_it_is = name is None or name is pd.NaT or name is pd.NA
    return name if as_it_is or isinstance(name, bool | int | float | str | np.number) else name_text(name)


def flat_labels(index: pd.Index) -> pd.Index:
    """Return labels as objects, with tuples for several levels, since pandas finds no tuples among text."""
    return pd.Index(index.to_flat_index(), dtype=object, tupleize_cols=False)


def full_names(names: Iterable[Hashable]) -> list[str]:
    """Return names of any type as text; see :func:`name_text`."""
    return [name_text(name) for name in names]


def some_of(names: Sequence[str], limit: int = 8) -> str:
    """Join the first `limit` names, and append the number of the others."""
    remainder = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {remainder} more" if remainder > 0 else "")


def shorten(text: str, limit: int) -> str:
    """Return `text` with its middle replaced by "…" if it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return text[: limit - 1 - tail] + "…" + text[len(text) - tail :]


def short_name(name: Hashable, limit: int = NAME_WIDTH) -> str:
    """Return a name of any type as at most `limit` printable characters."""
    return _head(name_text(name), limit)


def short_names(
    names: Sequence[Hashable], limit: int = NAME_WIDTH, positions: Sequence[int] | None = None
) -> list[str]:
    """Return a label of at most `limit` characters for every name.

    A longer name keeps its head and ends in "…". Names that begin alike keep as much of the head as there is
    room for, and the words in which they differ: "Percentag…Asian students", "Percentag…minority teachers".
    Labels that are still equal are replaced by the first letters of the name and of the differing words,
    "wor…concav…", or by the head and the end of the name, "worst…avity". If these are equal, too, the label
    ends in the position of the name, counted from one: "geneexpression… #17".

    Parameters
    ----------
    names : sequence
        Names of any type.
    limit : int
    positions : sequence of int, optional
        The position of each name in the data, counted from zero; by default its position in `names`.
    """
    texts = [name_text(name) for name in names]
    labels = [_head(text, limit) for text in texts]
    heads_with_differences = list(labels)
    beginnings: dict[str, list[int]] = {}
    for i, (text, label) in enumerate(zip(texts, labels, strict=True)):
        if len(text) > limit:
            beginnings.setdefault(label[: limit // 2], []).append(i)
    for members in beginnings.values():
        if len(members) > 1:
            parts = _heads_and_differences([texts[i] for i in members], limit)
            for i, part in zip(members, parts, strict=True):
                labels[i] = part
                heads_with_differences[i] = _with_first_letters(texts[i], part, limit)
    if len(set(labels)) < len(labels):
        labels = _told_apart(labels, heads_with_differences)
        labels = _told_apart(labels, [shorten(text, limit) for text in texts])
    counts = Counter(labels)
    places = range(len(labels)) if positions is None else positions
    for i, (text, place) in enumerate(zip(texts, places, strict=True)):
        if counts[labels[i]] > 1 and len(text) > limit:
            mark = f" #{place + 1}"
            labels[i] = _head(text, limit - len(mark)) + mark
    return labels


def short_names_of_a_table(names: Sequence[Hashable], limit: int = NAME_WIDTH) -> list[str]:
    """Return a label of at most `limit` characters for every name; all that are shortened have one form.

    They keep their heads, "Percentage of…", if these tell them apart, and otherwise also the words in which
    they differ, or their ends. Labels of several forms, as of :func:`short_names`, are the last resort.
    """
    texts, labels = [name_text(name) for name in names], short_names(names, limit)
    is_short = [len(text) > limit for text in texts]
    if all(
        label.endswith("…") and label[0] != "…"
        for label, shortened in zip(labels, is_short, strict=True)
        if shortened
    ):
        return labels
    ends = [shorten(text, limit) for text in texts]
    with_heads = [
        _with_first_letters(text, label, limit) if label[0] == "…" and shortened else label
        for text, label, shortened in zip(texts, labels, is_short, strict=True)
    ]
    with_both = [
        end if shortened and label.endswith("…") else label
        for end, label, shortened in zip(ends, with_heads, is_short, strict=True)
    ]
    return next((forms for forms in (with_both, ends) if len(set(forms)) == len(set(labels))), labels)


#: A word with the separators around it.
WORD = re.compile(r"[\s_.\-]*[^\s_.\-]+[\s_.\-]*")
#: Characters that are removed from the end of a shortened text.
WORD_SEPARATORS = " _.,(…"
#: Smallest length of a head; shorter ones are not informative and are left out.
SHORTEST_HEAD = 5


def _head(text: str, limit: int) -> str:
    """Return a text, or as much of its beginning as fits before "…"."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip(WORD_SEPARATORS) + "…"


def _with_first_letters(text: str, label: str, limit: int) -> str:
    """Return a label that is only a difference, "…concave…", preceded by the first letters of the text."""
    start = text.find(label.strip("…"))
    letters = text[: max(min(limit // 3, start), 0)].rstrip(WORD_SEPARATORS)
    if not label.startswith("…") or not letters:
        return label
    return f"{letters}…{_head(label[1:], limit - 1 - len(letters))}"


def _told_apart(labels: Sequence[str], other_labels: Sequence[str]) -> list[str]:
    """Return the labels, with equal ones replaced by those `other_labels` that differ from all labels."""
    counts = Counter(labels)
    members: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        if counts[label] > 1:
            members.setdefault(label, []).append(i)
    unequal, used = list(labels), set(labels)
    for places in members.values():
        counts_of_others = Counter(other_labels[i] for i in places)
        for i in places:
            if counts_of_others[other_labels[i]] == 1 and other_labels[i] not in used:
                unequal[i] = other_labels[i]
                used.add(other_labels[i])
    return unequal


def _common(split: Sequence[list[str]]) -> int:
    """Return the number of first words that all lists share."""
    return sum(1 for _ in takewhile(lambda words: len(set(words)) == 1, zip(*split, strict=False)))


def _heads_and_differences(texts: Sequence[str], limit: int) -> list[str]:
    """Return texts of at most `limit` characters: the head, "…", and the words in which the texts differ."""
    split = [WORD.findall(text) or [text] for text in texts]
    shortest = min(len(words) for words in split)
    start = min(_common(split), shortest - 1)
    tail = min(_common([words[::-1] for words in split]), shortest - 1 - start)
    labels = []
    for text, words in zip(texts, split, strict=True):
        end = len(words) - tail
        beginning = "".join(words[:end]).rstrip(WORD_SEPARATORS)
        if len(beginning) < limit:
            labels.append(beginning + "…")
            continue
        difference = "".join(words[start:end]).strip(WORD_SEPARATORS)
        if start and len(words[start - 1]) + len(difference) < limit - SHORTEST_HEAD - 3:
            # the preceding word is needed to understand the difference: "wave 1", not "1"
            difference = "".join(words[start - 1 : end]).strip(WORD_SEPARATORS)
        room = limit - 1 - len(difference)
        head = text[:room].rstrip(WORD_SEPARATORS) if room >= SHORTEST_HEAD else ""
        labels.append(head + "…" + _head(difference, limit - 1))
    return labels
