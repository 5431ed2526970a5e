"""The best values ever found, in a file to which values are only added: ``best_known.json``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from spcastat.measures import MEASURES
from spcastat.operators import Operator

FILE = Path(__file__).with_name("best_known.json")
#: A value must lie above the best known by this share to take its place.
RISE = 1e-9


def load(file: Path = FILE) -> dict[str, float]:
    """Return key of a cell and objective -> best known share of the total variance."""
    return json.loads(file.read_text()) if file.exists() else {}


def improve(values: dict[str, float], file: Path = FILE) -> int:
    """Take over values that are better than the best known, and return how many there were."""
    known = load(file)
    better = {key: value for key, value in values.items() if value > known.get(key, 0.0) * (1.0 + RISE)}
    if better:
        known.update(better)
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n")
        fresh.replace(file)
    return len(better)


def share(V: np.ndarray, op: Operator, objective: str) -> float:
    """Return the objective of loadings by the package's measures, as a share of the total variance."""
    return float(MEASURES[objective](V, op)[-1])
