"""The result of `certify`: a data frame of bounds that prints as a summary, and proofs in files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from spcastat.config import real_number
from spcastat.engine.inputs import Source
from spcastat.errors import OptionError
from spcastat.labels import full_names, name_text
from spcastat.report.renderings import Renderings
from spcastat.results.delegation import documented
from spcastat.search.settings import OBJECTIVES
from spcastat.state import FitState
from spcastat.state.copies import own
from spcastat.state.proof_sentences import told
from spcastat.state.proven import Proven
from spcastat.state.support_rule import rule_of, rule_words
from spcastat.storage.atomic import file_path, write_bytes
from spcastat.tables import Document, Row, Table

#: With more variables no proof is written.
MOST_VARIABLES = 200
#: Bounds in a file exceed those of the certificate by ROOM of the value of a component, for rounding; for a
#: joint proof they are at least JOINT_ROOM above the best known fit, up to which a fit is called optimal.
ROOM, JOINT_ROOM = 2e-9, 1e-4


@dataclass(frozen=True, eq=False)
class Claim:
    """What a proof is of.

    Attributes
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    V : ndarray of shape (p, k)
    measure : {"component", "adjusted", "pev", "least_squares"}
    bounds : list of float
        Shares of the total variance.
    columns : list of str
    data : {"rows", "covariance"}
    centre, scale : ndarray of shape (p,)
    """

    S: np.ndarray
    V: np.ndarray
    measure: str
    bounds: list[float]
    columns: list[str]
    data: str
    centre: np.ndarray
    scale: np.ndarray


def claim_of(proven: Proven, state: FitState, source: Source) -> Claim | str:
    """Return the claim of a proof, or why it has no proof in a file."""
    p, k = state.V.shape
    reasons = {
        "orthogonal=True": proven.orthogonal,
        "a rule for supports": rule_of(state.record) is not None,
        "objective='least_squares' and two components or more": proven.measure == "least_squares" and k > 1,
        "a formula or covariates": state.spec.kind == "formula" or source.covariates is not None,
        "weights": source.weights is not None,
        "missing values": source.gaps is not None or source.dropped > 0,
        "rows in chunks": source.stream is not None,
        f"more than {MOST_VARIABLES} variables": p > MOST_VARIABLES,
        "a component without loadings": not state.V.any(axis=0).all(),
    }
    for reason, holds in reasons.items():
        if holds:
            return reason
    op = source.op
    rows, total = proven.rows, op.total
    if proven.scope == "joint":
        bounds = [max(rows[0]["upper_bound"], rows[0]["best_known"] * (1.0 + JOINT_ROOM))]
    else:
        unit = total * op.unit**2
        bounds = [(row["upper_bound"] + ROOM * row["best_known"]) / unit + 1e-12 for row in rows]
    standard = source.standard if source.has_rows else None
    return Claim(
        op.block(np.arange(p)) / total,
        state.V,
        proven.measure if proven.scope == "joint" else "component",
        bounds,
        [str(name) for name in state.spec.columns],
        "covariance" if standard is None else "rows",
        np.zeros(p) if standard is None else standard.mean,
        np.ones(p) if standard is None else standard.scale,
    )


def save(claim: Claim | str, path: str | PathLike[str], time_limit: float = 60.0) -> None:
    """Write a proof that can be checked without the search: ``spcastat verify proof.json data.csv``.

    The file has the multipliers by which every bound is recomputed from the data; docs/proven.md says which.
    Its bounds are those of the certificate, or 0.01 % above the best known fit where that is larger (of
    single components: with 2e-9 of the value for rounding). The proof is made again for the file.

    Parameters
    ----------
    claim : Claim or str
    path : str or PathLike
        Its name ends in .json.
    time_limit : float
        Seconds.

    Raises
    ------
    OptionError
        For proofs that no file can have: with orthogonal=True, of least squares of two components or more,
        under a rule for supports, of a formula, of weights or missing values, of rows in chunks; and if
        none was found, since the bound is not of the supports, or the time was short.
    """
    from spcastat.certify.verify import LAYOUT, attained
    from spcastat.certify.witness import UnwrittenError, witnesses

    if isinstance(claim, str):
        raise OptionError(
            f"save() has no proof for {claim}. Files have proofs of single components, and joint proofs of "
            "adjusted variance and PEV, and of least squares with one component, for complete rows or a "
            "covariance matrix."
        )
    target = file_path(path, (".json",))
    limit = real_number("time_limit", time_limit, 0.0, float("inf"), open_low=True)
    try:
        found = witnesses(claim.S, claim.V, claim.measure, claim.bounds, limit)
    except UnwrittenError as error:
        raise OptionError(
            f"save() found no proof of the bound that a file can have: {error}. Files do not have the bound "
            "that closes adjusted variance of three components. Otherwise give more than "
            f"time_limit={limit:g}, or certify with a longer time_limit or fewer components."
        ) from None
    proof = {
        "layout": LAYOUT,
        "measure": claim.measure,
        "columns": claim.columns,
        "data": claim.data,
        "centre": claim.centre.tolist(),
        "scale": claim.scale.tolist(),
        "loadings": claim.V.tolist(),
        "values": attained(claim.S, claim.V, claim.measure),
        "bounds": claim.bounds,
        "witness": found,
    }
    write_bytes(target, json.dumps(proof, separators=(",", ":")).encode())


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
