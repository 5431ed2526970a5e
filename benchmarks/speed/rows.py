"""Rows of the tables: measured values and targets."""

from __future__ import annotations

HEAD = ["work", "reference", "ours", "asked", "measured", "met"]


def ratio(
    work: str, reference: float, ours: float, *, at_most: float | None = None, at_least: float | None = None
) -> list[str]:
    """Return a row of seconds: ours over the reference at most, or the reference over ours at least."""
    cells = [work, seconds(reference), seconds(ours)]
    if at_least is not None:
        times = reference / ours
        return [*cells, f">= {at_least:g} x faster", f"{times:.1f} x", yes(times >= at_least)]
    times = ours / reference
    asked = "-" if at_most is None else f"<= {at_most:g} x"
    return [*cells, asked, f"{times:.2f} x", "-" if at_most is None else yes(times <= at_most)]


def bounded(work: str, measured: float, most: float | None, unit: str = "MB", digits: int = 0) -> list[str]:
    """Return a row for a figure that must not pass `most`."""
    asked = "-" if most is None else f"<= {most:,.{digits}f} {unit}"
    met = "-" if most is None else yes(measured <= most)
    return [work, "-", "-", asked, f"{measured:,.{digits}f} {unit}", met]


def seconds(value: float) -> str:
    """Return seconds with three digits that count."""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def yes(met: bool) -> str:
    """Return a truth value as a word."""
    return "yes" if met else "no"
