"""Certificates as tables, and the lines about them in a summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.labels import name_text
from spcastat.search.settings import OBJECTIVES
from spcastat.state import FitState
from spcastat.state.proof_sentences import told
from spcastat.state.proven import Proven
from spcastat.state.support_rule import rule_words

if TYPE_CHECKING:
    from spcastat.tables import Document


def certificate(frame: pd.DataFrame, proven: Proven, sentence: str) -> Document:
    """Return a table of value, bound, gap and optimality; the other columns are only in `frame`."""
    from spcastat.tables import Document, Row, Table

    joint = proven.scope == "joint"
    unit = ", %" if joint else ""
    headings = (f"value{unit}", f"bound{unit}", "gap, %", "optimal")
    rows = []
    for name, row in frame.iterrows():
        value, bound = (_share if joint else _number)(float(row["value"]), float(row["upper_bound"]))
        gap = "" if not np.isfinite(row["gap"]) else _up(float(row["gap"]))
        label = OBJECTIVES[proven.measure] if joint else name_text(name)
        rows.append(Row(label, (value, bound, gap, "yes" if row["optimal"] else "no")))
    facts = []
    if joint:
        row = frame.iloc[0]
        facts.append(("Cardinalities", ", ".join(str(c) for c in row["cardinalities"])))
        spent = f"{row['nodes']} nodes, {row['open']} open, {row['seconds']:.1f} s"
        facts.append(("Proof", f"{row['proof']}; {spent}"))
        title = "Joint proof"
    else:
        proofs = dict.fromkeys(str(text) for text in frame["proof"])
        facts += [("Proof", f"{_listed(frame, text)}: {text}") for text in proofs]
        title = "Proof for each component"
    return Document(title, tuple(facts), (Table("", headings, tuple(rows)),), (sentence,))


def facts_of(state: FitState) -> Iterator[tuple[str, str]]:
    """Yield what was proven about a fit, as lines for the header of its summary."""
    for proven in state.proofs:
        yield (
            "Proof",
            told(proven, bool(state.record.options.get("nonneg")), list(state.components), rule_words(state)),
        )


def _listed(frame: pd.DataFrame, text: str) -> str:
    names = [name_text(name) for name, one in frame["proof"].items() if one == text]
    return ", ".join(names)


def _share(value: float, bound: float) -> tuple[str, str]:
    return f"{100.0 * value:.3f}", f"{np.ceil(1e5 * bound - 1e-7) / 1e3:.3f}"


def _number(value: float, bound: float) -> tuple[str, str]:
    return f"{value:.6g}", f"{bound:.6g}"


def _up(gap: float) -> str:
    """Return a gap in percent, rounded up."""
    return f"{np.ceil(1e3 * gap - 1e-6) / 1e3 + 0.0:.3f}"
