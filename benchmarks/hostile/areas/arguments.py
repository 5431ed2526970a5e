"""Every argument of every public function and method, driven with every bad value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import different, plausible
from benchmarks.hostile.targets import Target, targets
from benchmarks.hostile.values import Value, everything

#: Values that mean nothing anywhere.
# fmt: off
MEANINGLESS = frozenset({
    "nan", "-inf", "-1", "10**400", "10**5000", "-10**20", "1j", "Decimal", "Decimal nan",
    "Fraction 10**400", "datetime64", "timedelta64(2)", "NaT", "pd.NaT", "pd.NA", "datetime", "...",
    "b'bytes'", "bytearray", "memoryview", "open file", "closed file", "object()", "unprintable",
    "undecided", "pretender", "exception", "module", "set", "frozenset", "huge range", "[None]",
    "[object()]", "[timedelta64]", "['', surrogate]", "ragged lists", "a list in itself", "empty array",
    "3-d array", "no columns", "no rows", "structured", "recarray", "object array", "bytes array",
    "complex array", "1-d sparse", "nan rows", "text column", "empty frame", "object column",
    "intervals", "periods", "polars lists", "polars objects", "polars struct", "polars lazy",
    "used up iterator", "[1, 'a']",
})
# fmt: on
#: What of these means something to an argument: all processors, a factor, a BIC, rows not yet read.
MEANT: dict[str, frozenset[str]] = {
    "n_jobs": frozenset({"-1"}),
    "variables": frozenset({"text column"}),
    "dense": frozenset({"-1", "-10**20"}),
    "data": frozenset({"polars lazy"}),
    "new": frozenset({"polars lazy"}),
}
#: Arguments that scikit-learn wants and ignores.
IGNORED = ("y",)


def cases() -> Iterator[Case]:
    """Yield one case for each argument and value."""
    values = everything()
    for target in targets():
        for value in values:
            yield case(target, value)


def case(target: Target, value: Value) -> Case:
    """Return the case of one argument and one value."""

    def judge(given: Any) -> str:
        meaningless = value.name in MEANINGLESS - MEANT.get(target.argument, frozenset())
        if target.argument not in IGNORED and meaningless:
            return "was accepted"
        if fault := plausible(given):
            return fault
        if value.plain is None or target.argument in IGNORED:
            return ""
        try:
            expected = target.run(value.plain())
        except Exception as error:
            return f"was accepted, where its plain form is refused: {error}"
        return different(given, expected, 1e-6)

    return Case(f"{target.name} = {value.name}", lambda: target.run(value.make()), judge)
