"""Proofs in files: believed where they agree with the fit that they are of, and with themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spcastat.errors import FileError
from spcastat.state.proven import JOINT, SCOPES, Proven
from spcastat.storage.consistent import CLOSE
from spcastat.storage.recorded import require

#: Proofs that a fit can have, at most: of its components, and of each measure with and without orthogonality.
MOST = 1 + 2 * len(JOINT)
#: What every row has: its type, and the least that it can be.
_NUMBERS = ("value", "upper_bound", "seconds", "best_known")
#: Joint proofs are optimal to this relative tolerance, those of components to rounding.
_OPTIMAL = {"joint": 1e-4, "components": 1e-6}


def restored(
    given: Any, V: np.ndarray, held: Mapping[str, Any], measures: Mapping[str, np.ndarray]
) -> tuple[Proven, ...]:
    """Return the proofs of a file, checked.

    Parameters
    ----------
    given : object
        What the file has.
    V : ndarray of shape (p, k)
    held : mapping
        The moments of the fit.
    measures : mapping of str to ndarray of shape (k,)

    Raises
    ------
    FileError
    """
    require(isinstance(given, list) and len(given) <= MOST, "its proofs are no list of them")
    proofs = tuple(_proven(one, V, held, measures) for one in given)
    kinds = {(one.scope, one.measure, one.orthogonal) for one in proofs}
    require(len(kinds) == len(proofs), "it has two proofs of one kind")
    return proofs


def _proven(given: Any, V: np.ndarray, held: Mapping[str, Any], measures: Mapping[str, np.ndarray]) -> Proven:
    names = ("scope", "measure", "rows", "orthogonal")
    require(isinstance(given, dict) and set(names) <= set(given), "one of its proofs lacks a part")
    proven = Proven(*(given[name] for name in names))
    require(proven.scope in SCOPES and proven.measure in JOINT, "one of its proofs is of nothing known")
    require(type(proven.orthogonal) is bool, "one of its proofs is neither of orthogonal loadings nor of all")
    joint = proven.scope == "joint"
    require(joint or proven.measure == "adjusted", "a proof of its components is of another measure")
    rows, k = proven.rows, V.shape[1]
    right = isinstance(rows, list) and len(rows) == (1 if joint else k)
    require(right and all(isinstance(row, dict) for row in rows), "one of its proofs lacks a row")
    counts = np.count_nonzero(V, axis=0)
    if joint:
        _joint(rows[0], proven.measure, counts, len(V), held, measures)
    else:
        for i, row in enumerate(rows):
            _common(row, "components", float(held["total"]))
            same = abs(row["value"] - held["adjusted"][i]) <= CLOSE * held["total"]
            require(same, "a proof is of another variance than the component has")
            require(row.get("cardinality") == counts[i], "a proof is of another cardinality")
            _places(row.get("support"), len(V), max(int(counts[i]), 1))
    return proven


def _joint(
    row: dict[str, Any],
    measure: str,
    counts: np.ndarray,
    p: int,
    held: Mapping[str, Any],
    measures: Mapping[str, np.ndarray],
) -> None:
    _common(row, "joint", 1.0)
    wanted = np.maximum(counts, 1).tolist()
    require(row.get("cardinalities") == wanted, "a joint proof is of other cardinalities")
    require(row.get("measure") == measure, "a joint proof names two measures")
    require(_whole(row.get("open")), "a joint proof does not say how many nodes are open")
    require(_real(row.get("pca_bound")), "a joint proof lacks the bound of PCA")
    pca = float(np.sum(held["pca"])) / held["total"]
    require(row["upper_bound"] <= row["pca_bound"] <= pca + CLOSE, "a joint proof exceeds what PCA explains")
    require(row["value"] <= 1.0 + CLOSE, "a joint proof is of more than all variance")
    if measure in measures:
        same = abs(row["value"] - measures[measure][-1]) <= CLOSE
        require(same, "a joint proof is of another value than the fit has")
    supports = row.get("supports")
    right = isinstance(supports, list) and len(supports) == len(wanted)
    require(right, "a joint proof lacks supports")
    # the best fit that a proof met may have the cardinalities in another order
    for places, count in zip(sorted(supports or [], key=_length), sorted(wanted), strict=True):
        _places(places, p, count)


def _common(row: dict[str, Any], scope: str, scale: float) -> None:
    for name in _NUMBERS:
        require(_real(row.get(name)), f"the {name} of a proof is not a number")
    require(_whole(row.get("nodes")), "a proof has no number of nodes")
    text = row.get("proof")
    right = isinstance(text, str) and 0 < len(text) < 200 and text.isprintable()
    require(right, "a proof lacks its argument")
    require(type(row.get("optimal")) is bool, "a proof does not say whether it is complete")
    value, bound, slack = row["value"], row["upper_bound"], CLOSE * scale
    require(bound >= value - slack, "the bound of a proof is below the value")
    require(value - slack <= row["best_known"] <= bound + slack, "a proof knows better than its bound")
    gap = row.get("gap")
    if type(gap) is not float:
        raise FileError("a proof has no gap.")
    if value > slack:
        expected = 100.0 * (bound - value) / value
        near = 1e-4 * max(1.0, abs(expected))
        require(math.isfinite(gap) and abs(gap - expected) <= near, "the gap of a proof is another")
        close = bound <= value * (1.0 + _OPTIMAL[scope]) + slack
        require(close or not row["optimal"], "a proof says that it is complete, and has a gap")


def _length(given: Any) -> int:
    return len(given) if isinstance(given, list) else 0


def _places(given: Any, p: int, most: int) -> None:
    right = isinstance(given, list) and 0 < len(given) <= most
    right = right and all(_whole(one) and one < p for one in given)
    require(right and len(set(given)) == len(given), "the support of a proof is not a set of variables")


def _real(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
