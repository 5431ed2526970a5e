"""Numbers and names as the strings that stand in a cell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

#: The longest name of a variable that is shown whole.
NAME_WIDTH = 24

#: The longest name of a component that is shown whole.
HEADING_WIDTH = 12


def fixed(value: float, digits: int) -> str:
    """Return `value` with `digits` decimals; a nonzero that would print as zero becomes "<.001".

    The sign of such a small number is kept in front: "-<.001". NaN is "NA", as in R.
    """
    if math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    text = f"{value:.{digits}f}"
    if value != 0 and not text.strip("-0."):
        least = "." + "0" * (digits - 1) + "1" if digits else "1"
        return f"-<{least}" if value < 0 else f"<{least}"
    return text.removeprefix("-") if value == 0 else text


def alike(values: Sequence[float], digits: int = 4) -> tuple[str, ...]:
    """Format values that belong together: equal decimals, `digits` figures for the largest of them.

    Decimals are kept below seven; values that reach 10^7 or stay below 10^-4 are all written in
    scientific notation.
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return tuple(fixed(value, digits - 1) for value in values)
    largest = max(sizes)
    if largest >= 1e7 or largest < 1e-4:
        return tuple(
            f"{value:.{digits - 1}e}" if math.isfinite(value) else fixed(value, 0) for value in values
        )
    decimals = min(max(digits - 1 - math.floor(math.log10(largest)), 0), 7)
    return tuple(fixed(value, decimals) for value in values)


def percent(share: float, digits: int = 2) -> str:
    """Return a fraction in percent, without the sign for percent."""
    return fixed(100 * share, digits)


def name_text(name: Hashable) -> str:
    """Return a name of any type as one line of printable characters: the tuple ``("a", 1)`` as "(a, 1)"."""
    if isinstance(name, tuple):
        return "(" + ", ".join(name_text(part) for part in name) + ")"
    text = " ".join(str(name).split())
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text or repr(str(name))


def shorten(text: str, limit: int) -> str:
    """Return `text` with its middle replaced by "…" if it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return text[: limit - 1 - tail] + "…" + text[len(text) - tail :]


def short_names(
    names: Sequence[Hashable], limit: int = NAME_WIDTH, positions: Sequence[int] | None = None
) -> list[str]:
    """Return a label of at most `limit` characters for every name.

    Names that only differ in the part that is cut out end in their position, counted from one:
    "gene_expression…_a #17".

    Parameters
    ----------
    names : sequence
        Names of any type.
    limit : int
    positions : sequence of int, optional
        The position of each name in the data, counted from zero; by default its place in `names`.
    """
    whole = [name_text(name) for name in names]
    labels = [shorten(text, limit) for text in whole]
    seen = Counter(labels)
    places = range(len(labels)) if positions is None else positions
    for i, (text, place) in enumerate(zip(whole, places, strict=True)):
        if seen[labels[i]] > 1 and len(text) > limit:
            mark = f" #{place + 1}"
            labels[i] = shorten(text, limit - len(mark)) + mark
    return labels
