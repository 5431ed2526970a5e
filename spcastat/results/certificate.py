"""The result of `certify`: a data frame of bounds that prints as a summary."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from spcastat.engine.inputs import Source
from spcastat.labels import full_names, name_text
from spcastat.report.renderings import Renderings
from spcastat.results.delegation import documented
from spcastat.results.proof_file import Claim, claim_of, save
from spcastat.search.settings import OBJECTIVES
from spcastat.state import FitState
from spcastat.state.copies import own
from spcastat.state.proof_sentences import told
from spcastat.state.proven import Proven
from spcastat.state.support_rule import rule_words
from spcastat.tables import Document, Row, Table


class Certificate(Renderings, pd.DataFrame):
    """Proven bounds: a data frame with one row per component, or one row for all components jointly.

    The printout has a few columns and a sentence that summarises the proof; see `columns` for the others.
    Selections of it are plain data frames.

    Attributes
    ----------
    sentence : str
        Summary of the proof.
    loadings : DataFrame, p x k
        The best loadings found during the proof, with the cardinalities of the fit;
        `fit.adopt(certificate)` returns the fit with these loadings.
    """

    # Attributes that pandas preserves when a frame is copied or pickled.
    _metadata: ClassVar[list[str]] = ["_proven", "_found", "_nonneg", "_names", "_rule", "_claim"]
    _proven: Proven
    _found: pd.DataFrame
    _nonneg: bool
    _names: list[str]
    _rule: str
    _claim: Claim | str

    @classmethod
    def of(cls, proven: Proven, found: np.ndarray, state: FitState, source: Source) -> Certificate:
        """Return the certificate of a proof; `found` are the best loadings found, shape (p, k)."""
        table = cls(proven.rows, index=["fit"] if proven.scope == "joint" else state.components)
        columns = state.spec.columns
        name = "supports" if proven.scope == "joint" else "support"
        table[name] = [_named(places, columns) for places in table[name]]
        table._proven = proven
        table._found = state.by_variable(found)
        table._nonneg = bool(state.record.options.get("nonneg"))
        table._names = list(state.components)
        table._rule = rule_words(state)
        table._claim = claim_of(proven, state, source)
        return table

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    @property
    def sentence(self) -> str:
        return told(self._proven, self._nonneg, self._names, self._rule)

    @property
    def loadings(self) -> pd.DataFrame:
        return own(self._found)

    @documented(save, "claim")
    def save(self, path: str | PathLike[str], time_limit: float = 60.0) -> None:
        save(self._claim, path, time_limit)

    @property
    def document(self) -> Document:
        """The printout as tables of text."""
        joint = self._proven.scope == "joint"
        unit = ", %" if joint else ""
        rows = []
        for name, row in self.iterrows():
            label, value, bound = name_text(name), f"{row['value']:.6g}", f"{row['upper_bound']:.6g}"
            if joint:
                label, value = OBJECTIVES[self._proven.measure], f"{100.0 * row['value']:.3f}"
                bound = _rounded_up(100.0 * row["upper_bound"], 1e-7)
            gap = _rounded_up(row["gap"], 1e-6) if np.isfinite(row["gap"]) else ""
            rows.append(Row(label, (value, bound, gap, "yes" if row["optimal"] else "no")))
        if joint:
            row = self.iloc[0]
            spent = f"{row['nodes']} nodes, {row['open']} open, {row['seconds']:.1f} s"
            facts = [("Cardinalities", ", ".join(str(c) for c in row["cardinalities"]))]
            facts.append(("Proof", f"{row['proof']}; {spent}"))
        else:
            proofs = {text: self["proof"] == text for text in self["proof"]}
            names = {text: ", ".join(full_names(self.index[own])) for text, own in proofs.items()}
            facts = [("Proof", f"{own}: {text}") for text, own in names.items()]
        title = "Joint proof" if joint else "Proof for each component"
        headings = (f"value{unit}", f"bound{unit}", "gap, %", "optimal")
        return Document(title, tuple(facts), (Table("", headings, tuple(rows)),), (self.sentence,))

    __str__ = Renderings.__repr__


def _rounded_up(percent: float, rounding: float) -> str:
    """Return a percentage with three decimals, rounded up unless it exceeds them by rounding errors only."""
    return f"{np.ceil(1e3 * percent - rounding) / 1e3 + 0.0:.3f}"


def _named(places: Any, columns: pd.Index) -> list[Any]:
    """Return positions, or lists of them, as the labels of variables."""
    if len(places) and isinstance(places[0], list):
        return [list(columns[np.array(one, dtype=int)]) for one in places]
    return list(columns[np.array(places, dtype=int)])
