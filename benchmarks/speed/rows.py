"""Rows of the tables: times compared with a reference, and single figures."""

from __future__ import annotations

HEAD = ["measurement", "reference", "spcastat", "result"]


def ratio(work: str, reference: float, ours: float) -> list[str]:
    """Return a row of seconds, with ours divided by the reference."""
    return [work, seconds(reference), seconds(ours), f"{ours / reference:.2f} x"]


def speedup(work: str, reference: float, ours: float) -> list[str]:
    """Return a row of seconds, with the reference divided by ours."""
    return [work, seconds(reference), seconds(ours), f"{reference / ours:.1f} x as fast"]


def figure(work: str, measured: float, unit: str = "MB", digits: int = 0) -> list[str]:
    """Return a row for a figure without a reference."""
    return [work, "-", "-", f"{measured:,.{digits}f} {unit}".strip()]


def seconds(value: float) -> str:
    """Return seconds with three significant digits."""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"
