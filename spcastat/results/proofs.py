"""Proofs of optimality: `certify` and its certificate, proofs in files, and better fits (`adopt`)."""

from __future__ import annotations

import dataclasses
import json
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from spcastat.config import flag, one_of, real_number, shown, whole_number
from spcastat.engine.inputs import Source
from spcastat.engine.order_and_sign import settle
from spcastat.errors import OptionError
from spcastat.kernels.eig import top_eigh
from spcastat.labels import full_names, name_text
from spcastat.measures import MEASURES
from spcastat.operators import Operator, Removed, deflate
from spcastat.progress import listening
from spcastat.report.renderings import Renderings
from spcastat.results.call import OfFit
from spcastat.results.delegation import attribute
from spcastat.results.other_names import answered
from spcastat.search.settings import OBJECTIVES
from spcastat.state import FitState
from spcastat.state.fit_moments import Moments
from spcastat.state.proof_sentences import percent_text, proof_sentence, with_proof
from spcastat.state.record import JOINT, Proven, Record, plain_value
from spcastat.state.support_rule import forced, grouped, groups_of, rule_of, rule_words
from spcastat.storage.atomic import file_path, write_bytes
from spcastat.tables import Document, Row, Table

# --- the certificate, and proofs in files --------------------------------------------------------


#: Largest number of variables for which a proof is written to a file.
MOST_VARIABLES = 200
#: To allow for rounding, the bound of a component in a file exceeds that of the certificate by ROOM times the
#: component's value. The bound of a joint proof exceeds the best known fit by at least JOINT_ROOM, the
#: tolerance within which a fit is called optimal.
ROOM, JOINT_ROOM = 2e-9, 1e-4


def claim_of(proven: Proven, state: FitState, source: Source) -> dict[str, Any] | str:
    """Return the claim of a proof as it is written to a file, or the reason why it cannot be written.

    The claim also has two arrays: "S", the covariance matrix scaled to total variance one, and the loadings
    "V".
    """
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
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        return reason
    op = source.op
    rows, total = proven.rows, op.total
    if proven.scope == "joint":
        bounds = [max(rows[0]["upper_bound"], rows[0]["best_known"] * (1.0 + JOINT_ROOM))]
    else:
        unit = total * op.unit**2
        bounds = [(row["upper_bound"] + ROOM * row["best_known"]) / unit + 1e-12 for row in rows]
    standard = source.standard if source.matrix is not None else None
    return {
        "S": op.block(np.arange(p)) / total,
        "V": state.V,
        "measure": proven.measure if proven.scope == "joint" else "component",
        "columns": [str(name) for name in state.spec.columns],
        "data": "covariance" if standard is None else "rows",
        "centre": [0.0] * p if standard is None else standard.mean.tolist(),
        "scale": [1.0] * p if standard is None else standard.scale.tolist(),
        "loadings": state.V.tolist(),
        "bounds": bounds,
    }


class Certificate(Renderings, pd.DataFrame):
    """Proven bounds: a data frame with one row per component, or one row for all components jointly.

    The printout has a few columns and a sentence that summarises the proof; see `columns` for the others.
    Subsets of it are plain data frames.

    `fit.adopt(certificate)` returns the fit with the best loadings that the proof found.
    """

    # Attributes that pandas preserves when a frame is copied or pickled.
    _metadata: ClassVar[list[str]] = ["_proven", "_found", "_nonneg", "_names", "_rule", "_claim"]
    _proven: Proven
    _found: pd.DataFrame
    _nonneg: bool
    _names: list[str]
    _rule: str
    _claim: dict[str, Any] | str

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

    _constructor: Any = pd.DataFrame  # of its subsets

    sentence: str = attribute(
        lambda proof: proof_sentence(proof._proven, proof._nonneg, proof._names, proof._rule),
        "Summary of the proof.",
    )
    loadings: pd.DataFrame = attribute("_found", "The best loadings found, p x k.")

    @answered
    def save(self, path: str | PathLike[str], time_limit: float = 60.0) -> None:
        """Write a proof that can be checked without a new search: ``spcastat verify proof.json data.csv``.

        The file contains the multipliers from which every bound is recomputed from the data (see
        docs/proven.md). The bounds for single components are those of the certificate plus 2e-9 of the value,
        for rounding. A joint bound is that of the certificate, or 0.01 % above the best known fit if that is
        larger. The proof is computed again for the file.

        Parameters
        ----------
        path : str or PathLike
            Path of the file, whose name must end in .json.
        time_limit : float
            Limit in seconds.

        Raises
        ------
        OptionError
            If the proof cannot be written to a file: with orthogonal=True, for least squares of two or more
            components, under a rule for supports, with a formula, weights or missing values, or for rows in
            chunks; and if no proof was found, because the bound is not based on supports or time ran out.
        """
        from spcastat.certify.verify import LAYOUT, attained
        from spcastat.certify.witness import UnwrittenError, witnesses

        claim = self._claim
        if isinstance(claim, str):
            raise OptionError(
                f"save() has no proof for {claim}. Files have proofs of single components, and joint proofs "
                "of adjusted variance and PEV, and of least squares with one component, for complete rows or "
                "a covariance matrix."
            )
        target = file_path(path, (".json",))
        limit = real_number("time_limit", time_limit, 0.0, float("inf"), open_low=True)
        try:
            what = claim["S"], claim["V"], claim["measure"]
            found = witnesses(*what, claim["bounds"], limit)
        except UnwrittenError as error:
            raise OptionError(
                f"save() found no proof of the bound that a file can have: {error}. Files do not have the "
                "bound that closes adjusted variance of three components. Otherwise give more than "
                f"time_limit={limit:g}, or certify with a longer time_limit or fewer components."
            ) from None
        stated = {name: value for name, value in claim.items() if name not in ("S", "V")}
        proof = {"layout": LAYOUT, **stated, "values": attained(*what), "witness": found}
        write_bytes(target, json.dumps(proof, separators=(",", ":")).encode())

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
                bound = percent_text(row["upper_bound"], up=True)
            gap = percent_text(row["gap"] / 100.0, up=True, rounding=1e-6) if np.isfinite(row["gap"]) else ""
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


def _named(places: Any, columns: pd.Index) -> list[Any]:
    """Return positions, or lists of them, as the labels of variables."""
    if len(places) and isinstance(places[0], list):
        return [list(columns[np.array(one, dtype=int)]) for one in places]
    return list(columns[np.array(places, dtype=int)])


# --- certify and adopt ---------------------------------------------------------------------------


#: Loadings count as orthogonal if their inner products are below this.
ORTHOGONAL = 1e-6


class Proved(OfFit):
    """Mixin with the methods that prove bounds and adopt better fits found by a proof."""

    @answered
    def certify(
        self,
        *,
        joint: bool = False,
        objective: str | None = None,
        orthogonal: bool = False,
        time_limit: float = 60.0,
        max_nodes: int | None = None,
        progress: Any = False,
    ) -> Certificate:
        """Prove upper bounds on how much better the fit could be, for single components or for all jointly.

        By default each component is compared with the best component given the earlier ones (Schur
        complement, in the order shown), whatever method found it. With ``joint=True`` the fit is compared
        with all fits of the same cardinalities, in any order. A bound may be loose but is never wrong, and is
        valid whenever the search is stopped. For nonnegative loadings the bound is that without the sign
        constraint. Under a rule for the supports (`include`, `exclude`, `disjoint`), each component is
        compared with supports that the rule allows (for disjoint components, those that share no variable
        with earlier ones); a joint bound applies to loadings under the rule, or is reported as a bound
        without it. If the components partition up to 16 variables, the joint bound covers all partitions (PEV
        and adjusted variance); otherwise groups of other sizes are not compared. The fit stores the proof for
        its summary and files.

        Parameters
        ----------
        joint : bool
        objective : {"pev", "adjusted", "least_squares"}, optional
            The measure of a joint proof; by default the objective of the fit, or PEV.
        orthogonal : bool
            Compare a fit with orthogonal loadings only with fits with orthogonal loadings, by PEV; the bound
            is tighter.
        time_limit : float
            Limit in seconds for all components together; Ctrl-C also ends the search with the bounds so far.
        max_nodes : int, optional
            Largest number of branch-and-bound nodes, per component or for the joint search.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        Certificate
            A data frame that prints as a summary of the proof. It has one row per component:
            ``cardinality``, ``value`` and proven ``upper_bound`` in variance units, ``gap`` in percent of the
            value, ``optimal`` (True only if proven, to 1e-9 relative), ``proof`` (the kind of proof),
            ``nodes``, ``seconds``, ``best_known`` and its ``support``, the best one found. With
            ``joint=True`` it has one row: ``measure``, ``cardinalities``, ``value``, ``upper_bound`` and
            ``pca_bound`` as shares of the total variance, ``gap``, ``optimal`` (to 1e-4 relative), ``proof``,
            ``nodes``, ``open``, ``seconds``, ``best_known`` and its ``supports``.

        Raises
        ------
        NoRowsError
            For a fit from a file, which has no data.
        """
        state, source = self._state, self._source_for("certify()")
        joint = flag("joint", joint)
        limit = real_number("time_limit", time_limit, 0.0, float("inf"), open_low=True)
        nodes = None if max_nodes is None else whole_number("max_nodes", max_nodes, 1)
        orthogonal = flag("orthogonal", orthogonal)
        measure = _joint_measure(state.record, joint, objective, orthogonal)
        with listening(progress):
            if joint:
                proven, V = _all_together(state, source.op, measure, orthogonal, limit, nodes)
            else:
                proven, V = _each(state, source.op, limit, nodes)
        self._state = with_proof(state, proven)
        return Certificate.of(proven, V, state, source)

    @answered
    def adopt(self, certificate: Certificate) -> Self:
        """Return the better fit found by a certificate of this fit, or this fit if none was found.

        A joint proof may find better fits of all components, and a proof of single components better supports
        of each. The latter are combined one after another, each with the best loadings given the earlier
        components. "Better" refers to the measure of the proof. Joint proofs remain valid for the new fit and
        are kept.

        Parameters
        ----------
        certificate : Certificate
            The result of :meth:`certify` of this fit.

        Returns
        -------
        SpcaResult

        Raises
        ------
        OptionError
            If `certificate` is not a certificate, or belongs to a fit with other variables or cardinalities,
            or if this fit is nonnegative.
        NoRowsError
            For a fit from a file, which has no data.
        """
        state, source = self._state, self._source_for("adopt()")
        V, measure = _checked(state, certificate)
        op = source.op
        equal = len(set(np.count_nonzero(state.V, axis=0).tolist())) == 1
        rule = rule_of(state.record)
        if rule is not None and rule.broken((V != 0).T[None] | rule.must)[0]:
            raise OptionError(
                "adopt() was given the certificate of a fit under a rule, and the best supports that were "
                "found for single components break it together. Search longer: refit(effort='thorough')."
            )
        falling = bool((np.diff(np.diag(state.moments.scores)) <= 0).all())
        sorts = equal and falling and measure != "adjusted" and rule is None
        V = settle(op, V, np.zeros(len(V.T)) if sorts else np.arange(len(V.T)))[0]
        old, new = (float(MEASURES[measure](one, op)[-1]) for one in (state.V, V))
        # a fit is better if its measure exceeds that of the other by a share of 1e-9
        if not new > old * (1.0 + 1e-9):
            return self
        value, name = new * op.total * op.unit**2, OBJECTIVES[measure]
        options = state.record.options
        if isinstance(options.get("card"), list) and rule is None:  # the better fit may have another order
            options = {**options, "card": np.count_nonzero(V, axis=0).tolist()}
        record = dataclasses.replace(
            state.record,
            options=options,
            criterion=f"{name}, better fit that a proof met",
            status="searched",
            advice=f"adopted from a certificate; {name} was {100.0 * old:.3f} % of the total before",
            objective=value,
            objective_share=new,
            n_iter=0,
            optima=[],
            details={},
            evidence=None,
            screening=None,
            call=f"{state.record.call}.adopt(certificate)",
        )
        pca = state.moments.pca / op.unit**2
        moments = Moments(V, op, pca)
        better = FitState(V, record, moments, state.spec, state.standard)
        for proven in state.proofs:
            if proven.scope == "joint" and not (proven.orthogonal and _largest_product(V) > ORTHOGONAL):
                better = with_proof(better, _of_better(proven, V, op))
        made: Any = type(self)
        return made(better, self._source, self._call)

    def _source_for(self, what: str) -> Source:
        """Return the data, unchanged since the fit; `what` names the method for messages."""
        if self._source is None:
            raise self._state.no_data(what)
        self._source.require_same()
        return self._source


def _each(
    state: FitState, op: Operator, time_limit: float, max_nodes: int | None
) -> tuple[Proven, np.ndarray]:
    """Prove bounds for single components; return the proof, and the best loadings found."""
    from spcastat.certify import certify  # imported late, as few fits need it

    found = certify(op, state.V, time_limit=time_limit, max_nodes=max_nodes, rule=rule_of(state.record))
    rows = [_plain(one, ("value", "upper_bound", "best_known"), op.unit**2) for one in found]
    return Proven("components", "adjusted", rows), _one_after_another(op, [one.support for one in found])


def _all_together(
    state: FitState, op: Operator, objective: str, orthogonal: bool, time_limit: float, max_nodes: int | None
) -> tuple[Proven, np.ndarray]:
    """Prove a bound for all components jointly; return the proof, and the best loadings found."""
    from spcastat.certify.joint import certify_joint, certify_partition

    if orthogonal and (product := _largest_product(state.V)) > ORTHOGONAL:
        raise OptionError(
            "orthogonal=True needs a fit with orthogonal loadings, and those of this fit are not orthogonal: "
            f"two have the product {product:.3g}. Without orthogonal=True the bound holds for this fit."
        )
    if groups_of(state):
        raise OptionError(
            "certify(joint=True) bounds loadings by their numbers of nonzeros, and this fit was made with "
            "together=, where card counts groups. Leave joint=True out: each component is proven among "
            "unions of groups."
        )
    if (forced(state) & (state.V == 0)).any():
        raise OptionError(
            "certify(joint=True) bounds loadings by their numbers of nonzeros, and a variable that this fit "
            "must have has a loading of zero, so that others under its rule have more. Leave joint=True out."
        )
    rule = rule_of(state.record)
    pca = None if state.record.pca_errors else state.moments.pca / op.unit**2  # upper bounds are needed
    how: dict[str, Any] = {"pca": pca, "time_limit": time_limit}
    whole = grouped(state.record) and not orthogonal
    found = certify_partition(op, state.V, objective, **how) if whole else None
    if found is None:
        how |= {"orthogonal": orthogonal, "max_nodes": max_nodes, "rule": rule}
        found = certify_joint(op, state.V, objective, **how)
    row, V = _plain(found), found.V
    if rule is not None and rule.broken((V != 0).T[None] | rule.must)[0]:  # the rule forbids the fit found
        row["best_known"], V = row["value"], state.V
    del row["V"]
    row["supports"] = [np.flatnonzero(v).tolist() for v in V.T]
    return Proven("joint", objective, [row], orthogonal), V


def _largest_product(V: np.ndarray) -> float:
    """Return the largest product of two different columns, in absolute value."""
    return float(np.abs(V.T @ V - np.diag((V**2).sum(axis=0))).max())


def _joint_measure(record: Record, joint: bool, objective: str | None, orthogonal: bool) -> str:
    """Return the measure of a joint proof: the given one, or else the objective of the fit, or else PEV.

    Raises
    ------
    OptionError
        If the measure is not valid, or options of joint proofs are given without ``joint=True``.
    """
    given = [f"objective={shown(objective)}"] * (objective is not None) + ["orthogonal=True"] * orthogonal
    if given and not joint:
        raise OptionError(
            f"{' and '.join(given)} was given, which is for joint proofs: give joint=True, too. Proofs of "
            "single components are for the adjusted variance that each adds."
        )
    if objective is not None:
        measure = one_of("objective", objective, JOINT)
    else:
        own = record.options.get("objective")
        measure = own if own in JOINT and not orthogonal else "pev"
    if orthogonal and measure != "pev":
        raise OptionError(
            f"objective={shown(objective)} was given with orthogonal=True, whose bounds are those of PEV: "
            "give objective='pev', or leave it out."
        )
    return measure


def _checked(state: FitState, certificate: Any) -> tuple[np.ndarray, str]:
    if not isinstance(certificate, Certificate):
        raise OptionError(
            f"adopt() was given {type(certificate).__name__}; it takes the result of certify() of this fit."
        )
    if state.record.options.get("nonneg"):
        raise OptionError(
            "adopt() was called on a nonnegative fit; certificates ignore the sign constraint, and the "
            "loadings that they find may have either sign."
        )
    V = certificate._found
    if not V.index.equals(state.spec.columns) or V.shape != state.V.shape:
        raise OptionError("adopt() was given the certificate of a fit of other variables or components.")
    counts, own = (np.count_nonzero(one, axis=0) for one in (V.to_numpy(), state.V))
    if (np.sort(counts) > np.sort(own)).any():
        raise OptionError(
            f"adopt() was given the certificate of a fit with the cardinalities {counts.tolist()}; those of "
            f"this fit are {own.tolist()}."
        )
    return V.to_numpy(), certificate._proven.measure


def _of_better(proven: Proven, V: np.ndarray, op: Operator) -> Proven:
    """Return a joint proof updated for better loadings of the same cardinalities."""
    from spcastat.certify.joint import verdict

    (row,) = proven.rows
    value = float(MEASURES[proven.measure](V, op)[-1])
    if value > row["best_known"]:
        row = {**row, "best_known": value, "supports": [np.flatnonzero(v).tolist() for v in V.T]}
    row = {**row, "cardinalities": np.count_nonzero(V, axis=0).clip(min=1).tolist()}
    bound = max(row["upper_bound"], value)
    gap, optimal = verdict(value, bound)
    return dataclasses.replace(
        proven, rows=[{**row, "value": value, "upper_bound": bound, "gap": gap, "optimal": optimal}]
    )


def _plain(certificate: Any, scaled: tuple[str, ...] = (), factor: float = 1.0) -> dict[str, Any]:
    """Return the fields of a certificate as numbers, text and lists; those in `scaled` times `factor`."""
    row = {one.name: plain_value(getattr(certificate, one.name)) for one in dataclasses.fields(certificate)}
    return {name: value * factor if name in scaled else value for name, value in row.items()}


def _one_after_another(op: Operator, supports: list[np.ndarray]) -> np.ndarray:
    """Return the best loadings on each support given the earlier components, shape (p, k)."""
    V = np.zeros((op.p, len(supports)))
    view = op
    for i, T in enumerate(supports):
        V[T, i] = top_eigh(view.block(T), 1)[1][:, 0]
        if i < len(supports) - 1:
            view = deflate(view, Removed(V[:, i], V[:, i], V[:, :i]), "schur")
    return V
