"""The methods that Zhao, Meng, Xu and Gao (2015) compare, by their printed names."""

from __future__ import annotations

from typing import Any

#: Printed name -> (method, options).
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "SPCA": ("zou", {}),
    "DSPCA": ("dspca", {}),
    "PathSPCA": ("pathspca", {"deflation": "projection"}),
    "sPCA-rSVD l0": ("rsvd-l0", {}),
    "sPCA-rSVD l1": ("rsvd-l1", {}),
    "sPCA-rSVD SCAD": ("rsvd-scad", {}),
    "EMPCA": ("empca", {}),
    "GPower l0": ("gpower-l0", {}),
    "GPower l1": ("gpower-l1", {}),
    "GPower l0,m": ("gpower-l0-block", {}),
    "GPower l1,m": ("gpower-l1-block", {}),
    "ALSPCA": ("alspca", {}),
    "BCD-SPCA l0": ("bcd-l0", {}),
    "BCD-SPCA l1": ("bcd-l1", {}),
}
#: Methods that start at the longest column in their authors' programs.
FROM_COLUMN = ("EMPCA", "GPower l0", "GPower l1")
#: Printed names of methods for which only the total number of nonzeros is set.
SHARING = ("GPower l0,m", "GPower l1,m", "ALSPCA")
NONNEG: dict[str, tuple[str, dict[str, Any]]] = {
    "NSPCA": ("nspca", {}),
    "N-EMPCA": ("empca", {"nonneg": True}),
    "BCD-NSPCA l0": ("bcd-l0", {"nonneg": True}),
    "BCD-NSPCA l1": ("bcd-l1", {"nonneg": True}),
}


def sparsity(label: str, card: tuple[int, ...]) -> dict[str, Any]:
    """Return the option for the sparsity of a method; for some methods the paper states only totals."""
    return {"total": sum(card)} if label in SHARING else {"card": list(card)}
