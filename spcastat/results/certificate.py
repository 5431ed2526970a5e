"""The result of `certify`: a data frame of bounds that prints as a summary."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from spcastat.engine.inputs import Source
from spcastat.report.renderings import Renderings
from spcastat.results.delegation import documented
from spcastat.results.proof_file import Claim, claim_of, save
from spcastat.state import FitState
from spcastat.state.copies import own
from spcastat.state.proof_sentences import told, with_proof
from spcastat.state.proven import Proven
from spcastat.state.support_rule import rule_words

if TYPE_CHECKING:
    from spcastat.tables import Document


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
        from spcastat.report.proof_tables import certificate

        return certificate(self, self._proven, self.sentence)

    __str__ = Renderings.__repr__


def told_of(state: FitState, certificate: Certificate) -> FitState:
    """Return the state of the fit with the proof of the certificate added."""
    return with_proof(state, certificate._proven)


def _named(places: Any, columns: pd.Index) -> list[Any]:
    """Return positions, or lists of them, as the labels of variables."""
    if len(places) and isinstance(places[0], list):
        return [list(columns[np.array(one, dtype=int)]) for one in places]
    return list(columns[np.array(places, dtype=int)])
