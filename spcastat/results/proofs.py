"""Proofs of optimality: `certify` and its certificate, and better fits (`adopt`)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.arguments import flag, one_of, real_number, shown, whole_number
from spcastat.errors import NoRowsError, OptionError
from spcastat.fit.record import Proven, deep_copy, plain_value
from spcastat.fit.run import order_and_sign
from spcastat.fit.state import FitMoments, FitState, Picklable, forced, grouped, groups_of, rule_of
from spcastat.inputs.data import Data
from spcastat.labels import full_names, name_text
from spcastat.linalg.deflation import Removed, deflate
from spcastat.linalg.eigenvectors import top_eigh
from spcastat.linalg.operators import Operator
from spcastat.measures import adjusted_variances
from spcastat.progress import listening
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.criteria import SupportRule
from spcastat.search.grouped import GroupRule
from spcastat.search.objectives import OBJECTIVES, PEV
from spcastat.show.facts import headline
from spcastat.show.grid import Document, Row, Table
from spcastat.show.proof_facts import (
    exceeded,
    percent_text,
    proof_sentence,
    proof_sentences,
    search_ended,
    value_and_bound,
)
from spcastat.show.renderings import Excerpt, Outcome, Screen, ending, screen_of
from spcastat.show.templates import lines, notes, part

if TYPE_CHECKING:
    from spcastat.hints import Progress

# --- the certificate ------------------------------------------------------------------------------


#: A former method, and its replacement.
FORMER_METHODS = {"save": "save its numbers by certificate.table.to_csv(path)"}


class Certificate(Picklable, Outcome):
    """Proven bounds of a fit; prints as text and shows as HTML in a notebook.

    `fit.adopt(certificate)` returns the fit with the best loadings that the proof found.
    """

    _short_name = "certificate"

    #: The field of :class:`spcastat.fit.record.Inference` for proofs.
    _kind = "proofs"
    _former = FORMER_METHODS

    def __init__(self, state: FitState, numbers: Proven) -> None:
        self._state = state
        self._numbers = numbers

    def _document(self) -> Document:
        return _document(self.table, self._numbers, self._state, self.sentence)

    def _screen(self) -> Screen:
        proven, closing = self._numbers, ending(self._short_name, [])
        reasons = notes(search_ended(proven, self._state))
        sentences = (*proof_sentences(proven, self._state), *reasons)
        title = f"{_title(proven)} for the {_fit_text(self._state, in_sentence=True)}"
        if proven.scope == "joint":
            return Screen(title, lambda room: Excerpt([]), sentences, ending=closing)
        screen = screen_of(Document(title, tables=(_bounds(self.table, proven, self._state),)), closing)
        return dataclasses.replace(screen, sentences=sentences)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """A dictionary that contains `table` as "proof"."""
        return {"proof": self.table}

    @property
    def table(self) -> pd.DataFrame:
        """One row per component, or a single row, "fit", for a joint proof.

        The columns for single components are "cardinality"; "value" and the proven "upper_bound" in variance
        units; "gap" in percent of the value; "optimal", which is True only if optimality is proven to a
        relative tolerance of 1e-9; "proof", its kind; "nodes" and "seconds"; "best_known", the best value
        found, and its "support". The columns for all components together are "measure", "cardinalities";
        "value", "upper_bound" and "pca_bound" as shares of the total variance; "gap"; "optimal", to a
        relative tolerance of 1e-4; "proof", "nodes", "open" and "seconds"; and "best_known" with its
        "supports".
        """
        joint = self._numbers.scope == "joint"
        table = pd.DataFrame(
            self._numbers.rows, index=["fit"] if joint else deep_copy(self._state.components)
        )
        name = "supports" if joint else "support"
        table[name] = [_labels(places, self._state.spec.columns) for places in table[name]]
        return table

    @property
    def sentence(self) -> str:
        """One sentence that states what is proven."""
        return proof_sentence(self._numbers, self._state)

    @property
    def loadings(self) -> pd.DataFrame:
        """The best loadings found, p x k.

        Raises
        ------
        NoRowsError
            For a proof of a fit from a file, which contains only the supports of these loadings (in `table`).
        """
        return self._state.by_variable(self._best_loadings)

    @property
    def _best_loadings(self) -> np.ndarray:
        """The best loadings found, shape (p, k)."""
        if self._numbers.best is None:
            raise NoRowsError(
                "The file of a fit does not contain the best loadings of a proof, only their variables, in "
                "certificate.table; fit the data again, and call certify()."
            )
        return self._numbers.best


def _fit_text(state: FitState, in_sentence: bool = False) -> str:
    """Return a description of the fit and its data, as a sentence or as a part of one."""
    return part(headline(state, np.count_nonzero(state.V, axis=0).tolist(), in_sentence))


def _document(table: pd.DataFrame, proven: Proven, state: FitState, sentence: str) -> Document:
    """Return the tables of a proof: a few columns of its table, and the sentence."""
    facts = [("Fit", _fit_text(state))]
    if proven.scope == "joint":
        row = table.iloc[0]
        spent = f"{row['nodes']} nodes examined, {row['open']} open, {row['seconds']:.1f} s"
        facts.append(("Proof", f"{row['proof']}; {spent}"))
    else:
        proofs = {text: table["proof"] == text for text in table["proof"]}
        names = {text: ", ".join(full_names(table.index[is_proof])) for text, is_proof in proofs.items()}
        facts += [("Proof", f"{is_proof}: {text}") for text, is_proof in names.items()]
    facts += lines(search_ended(proven, state))
    return Document(_title(proven), tuple(facts), (_bounds(table, proven, state),), (sentence,))


def _title(proven: Proven) -> str:
    if proven.scope != "joint":
        return "Upper bound on the variance of each component"
    if proven.rows[0]["optimal"]:
        return "Proof of optimality"
    return f"Upper bound on {OBJECTIVES[proven.measure].label}"


def _bounds(table: pd.DataFrame, proven: Proven, state: FitState) -> Table:
    """Return values and bounds."""
    joint = proven.scope == "joint"
    rows = []
    for name, row in table.iterrows():
        label, value, bound = name_text(name), f"{row['value']:.6g}", f"{row['upper_bound']:.6g}"
        if joint:
            label = OBJECTIVES[proven.measure].label
            value, bound, _ = value_and_bound(row)
        gap = _gap_text(row["gap"]) if np.isfinite(row["gap"]) else ""
        is_improved = exceeded(row, state)
        answer = "yes" if row["optimal"] else "no" if is_improved else "not proven"
        rows.append(Row(label, (value, bound, gap, answer)))
    headings = (
        "value, %" if joint else "adjusted variance",
        f"bound{', %' * joint}",
        "gap, % of value",
        "optimal",
    )
    return Table("", headings, tuple(rows))


def _gap_text(gap: float) -> str:
    """Return a gap in percent with three digits, rounded up; a gap due to rounding is zero."""
    if 1e-9 < gap < 1e-3:
        return "<0.001"
    return percent_text(gap / 100.0, up=True, rounding=1e-6)


def _labels(places: Any, columns: pd.Index) -> list[Any]:
    """Return positions, or lists of them, as the labels of variables."""
    if len(places) and isinstance(places[0], list):
        return [list(columns[np.array(support, dtype=int)]) for support in places]
    return list(columns[np.array(places, dtype=int)])


# --- certify and adopt ---------------------------------------------------------------------------


#: Default time limits, in seconds, of a joint proof and of proofs of single components.
JOINT_SECONDS, SINGLE_SECONDS = 10.0, 60.0


def need_data(state: FitState, source: Data | None, analysis: str) -> Data:
    """Return the data of a fit, unchanged since the fit; `analysis` names the method for messages."""
    if source is None:
        raise state.no_data(analysis)
    source.require_same()
    return source


def prove(
    state: FitState,
    source: Data,
    *,
    joint: bool | None,
    objective: str | None,
    time_limit: float | None,
    max_nodes: int | None,
    progress: Progress,
) -> Certificate:
    """Return a proof about a fit; see `SpcaResult.certify`."""
    joint = None if joint is None else flag("joint", joint)
    limit = None
    if time_limit is not None:
        limit = real_number("time_limit", time_limit, 0.0, float("inf"), open_low=True)
    nodes = None if max_nodes is None else whole_number("max_nodes", max_nodes, 1)
    is_joint, measure = _compared(state, source.op, joint, objective)
    with listening(progress):
        if is_joint:
            seconds = JOINT_SECONDS if limit is None else limit
            proven = _all_together(state, source.op, measure, seconds, nodes)
        else:
            proven = _single_bounds(state, source.op, SINGLE_SECONDS if limit is None else limit, nodes)
    return Certificate(state, proven)


def better_fit(state: FitState, source: Data, certificate: Certificate) -> FitState | None:
    """Return the state of the better fit that a certificate found, or None; see `SpcaResult.adopt`."""
    V, measure = _certified_loadings(state, certificate)
    op = source.op
    equal = len(set(np.count_nonzero(state.V, axis=0).tolist())) == 1
    rule = rule_of(state.record)
    if rule is not None and breaks(rule, V, state.V):
        raise OptionError(
            "adopt() was given the certificate of a fit under a rule, but the best supports that were "
            "found for single components break the rule together. Search longer: refit(effort='thorough')."
        )
    falling = bool((np.diff(np.diag(state.moments.scores)) <= 0).all())
    sorts = equal and falling and not OBJECTIVES[measure].ordered and rule is None
    V = order_and_sign(op, V, np.zeros(len(V.T)) if sorts else np.arange(len(V.T)))[0]
    share = OBJECTIVES[measure].measure
    value_before, value_after = (float(share(loadings, op)[-1]) for loadings in (state.V, V))
    # a fit is better if its measure exceeds the measure of the other fit by a relative 1e-9
    if not value_after > value_before * (1.0 + 1e-9):
        return None
    value, name = value_after * op.total * op.unit**2, OBJECTIVES[measure].label
    options = state.record.options
    if isinstance(options.get("card"), list) and rule is None:  # the better fit may have another order
        options = {**options, "card": np.count_nonzero(V, axis=0).tolist()}
    record = dataclasses.replace(
        state.record,
        options=options,
        criterion=f"{name}, better fit found by a proof",
        status="searched",
        advice=f"adopted from a certificate; {name} was {100.0 * value_before:.3f} % of the total before",
        objective=value,
        objective_share=value_after,
        n_iter=0,
        optima=[],
        details={},
        evidence=None,
        call=f"{state.record.call}.adopt(certificate)",
    )
    pca = state.moments.pca / op.unit**2
    moments = FitMoments(V, op, pca)
    better_state = FitState(V, record, moments, state.spec, state.standard)
    inference = better_state.inference
    for proven in state.inference.including("proofs", certificate._numbers).proofs:
        if proven.scope == "joint" and not proven.orthogonal:
            inference = inference.including("proofs", _of_better(proven, V, op))
    return dataclasses.replace(better_state, inference=inference)


def _single_bounds(state: FitState, op: Operator, time_limit: float, max_nodes: int | None) -> Proven:
    """Prove bounds for single components."""
    from spcastat.proofs.one_component import certify  # imported late, as few fits need it

    bounds = certify(op, state.V, time_limit=time_limit, max_nodes=max_nodes, rule=rule_of(state.record))
    rows = [_plain(bound, ("value", "upper_bound", "best_known"), op.unit**2) for bound in bounds]
    best_loadings = _one_after_another(op, [bound.support for bound in bounds])
    return Proven("components", "adjusted", rows, best=best_loadings)


def _all_together(
    state: FitState, op: Operator, objective: str, time_limit: float, max_nodes: int | None
) -> Proven:
    """Prove a bound for all components jointly."""
    from spcastat.proofs.jointly import certify_joint, certify_partition

    if groups_of(state):
        raise OptionError(
            "certify(joint=True) was called for a fit with together=, where card counts groups: give "
            "joint=False, which bounds each component over unions of groups."
        )
    if (forced(state) & (state.V == 0)).any():
        raise OptionError(
            "certify(joint=True) was called for a fit in which a variable that the rule includes has a "
            "loading of zero: give joint=False, which bounds each component under the rule."
        )
    rule = rule_of(state.record)
    pca = None if state.record.pca_errors else state.moments.pca / op.unit**2  # upper bounds are needed
    options: dict[str, Any] = {"pca": pca, "time_limit": time_limit}
    constraint = CONSTRAINTS.get(str(state.record.options.get("constraint")))
    # only these bounds are restricted to orthogonal loadings; the other bounds are valid under any constraint
    orthogonal = constraint is not None and not constraint.of_scores and objective in constraint.objectives
    if grouped(state.record):
        certificate = certify_partition(op, state.V, objective, **options)
    else:
        options |= {"orthogonal": orthogonal, "max_nodes": max_nodes, "rule": rule}
        certificate = certify_joint(op, state.V, objective, **options)
    row, V = _plain(certificate), certificate.V
    if constraint is not None or (rule is not None and breaks(rule, V, state.V)):
        # the constraint or the rule forbids the fit found
        row["best_known"], V = row["value"], state.V
    del row["V"]
    row["supports"] = [np.flatnonzero(v).tolist() for v in V.T]
    return Proven("joint", objective, [row], orthogonal, V)


def breaks(rule: SupportRule, V: np.ndarray, fitted: np.ndarray) -> bool:
    """Return whether loadings break a rule that the loadings `fitted` satisfy, both of shape (p, k).

    A variable that a component must include counts even if its loading is zero, so a component may include
    more of these variables than the fitted component.
    """
    supports, fitted_supports = ((loadings != 0).T | rule.must for loadings in (V, fitted))
    has_more = not isinstance(rule, GroupRule) and bool(
        (supports.sum(axis=1) > fitted_supports.sum(axis=1)).any()
    )
    return has_more or bool(rule.broken(supports[None])[0])


def _compared(state: FitState, op: Operator, joint: bool | None, objective: str | None) -> tuple[bool, str]:
    """Return whether all components are compared together, and by which measure.

    The measure of a joint proof is `objective`; by default it is the objective of the fit, or PEV if there is
    none.

    Raises
    ------
    OptionError
        If the measure is not valid, or options of joint proofs are given with ``joint=False``.
    """
    if objective is not None and joint is False:
        raise OptionError(
            f"objective={shown(objective)} was given with joint=False, but applies to joint proofs only: "
            "leave it out. Proofs of single components bound the adjusted variance that each component adds."
        )
    maximised = OBJECTIVES.get(str(state.record.options.get("objective")))
    if joint is None:
        # for one component whose objective is its variance, the bound of single components is exact to 1e-9
        is_single = state.V.shape[1] == 1 and maximised is not None and maximised.equals_variance
        adds = adjusted_variances(state.V, op) > 0.0
        refused = bool(groups_of(state)) or bool((forced(state) & (state.V == 0)).any())
        is_provable = maximised is not None and maximised.relaxation is not None
        joint = objective is not None or (is_provable and not is_single and not refused and bool(adds.all()))
    record = PEV if maximised is None else maximised
    if objective is not None:
        record = OBJECTIVES[one_of("objective", objective, OBJECTIVES)]
    if joint:
        record.joint_relaxation()
    return joint, record.name


def _certified_loadings(state: FitState, certificate: Any) -> tuple[np.ndarray, str]:
    if not isinstance(certificate, Certificate):
        raise OptionError(
            f"adopt() was given {type(certificate).__name__}; it accepts the result of certify() of this fit."
        )
    if state.record.options.get("nonneg"):
        raise OptionError(
            "adopt() was called on a nonnegative fit; certificates ignore the sign constraint, and the "
            "loadings that they find may have either sign."
        )
    if state.record.options.get("constraint"):
        raise OptionError(
            "adopt() was called on a fit under a constraint, which the loadings that certificates find need "
            "not satisfy. Search longer: refit(effort='thorough')."
        )
    V = certificate._best_loadings
    if not certificate._state.spec.columns.equals(state.spec.columns) or V.shape != state.V.shape:
        raise OptionError("adopt() was given the certificate of a fit with other variables or components.")
    counts, fit_counts = (np.count_nonzero(loadings, axis=0) for loadings in (V, state.V))
    if not grouped(state.record) and (np.sort(counts) > np.sort(fit_counts)).any():
        raise OptionError(
            f"adopt() was given the certificate of a fit with the cardinalities {counts.tolist()}; this fit "
            f"has {fit_counts.tolist()}."
        )
    return V, certificate._numbers.measure


def _of_better(proven: Proven, V: np.ndarray, op: Operator) -> Proven:
    """Return a joint proof updated for better loadings of the same cardinalities."""
    from spcastat.proofs.jointly import verdict

    (row,) = proven.rows
    value = float(OBJECTIVES[proven.measure].measure(V, op)[-1])
    if value > row["best_known"]:
        row = {**row, "best_known": value, "supports": [np.flatnonzero(v).tolist() for v in V.T]}
        proven = dataclasses.replace(proven, best=V)
    row = {**row, "cardinalities": np.count_nonzero(V, axis=0).clip(min=1).tolist()}
    bound = max(row["upper_bound"], value)
    gap, optimal = verdict(value, bound)
    return dataclasses.replace(
        proven, rows=[{**row, "value": value, "upper_bound": bound, "gap": gap, "optimal": optimal}]
    )


def _plain(certificate: Any, scaled: tuple[str, ...] = (), factor: float = 1.0) -> dict[str, Any]:
    """Return the fields of a certificate as plain values, those in `scaled` multiplied by `factor`."""
    row = {
        field.name: plain_value(getattr(certificate, field.name)) for field in dataclasses.fields(certificate)
    }
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
