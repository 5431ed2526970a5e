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
from spcastat.measures import MEASURES, adjusted_variances
from spcastat.operators import Operator, Removed, deflate
from spcastat.progress import listening
from spcastat.report.renderings import Renderings
from spcastat.results.call import OfFit
from spcastat.results.delegation import attribute
from spcastat.results.other_names import answered
from spcastat.search.grouped import GroupRule
from spcastat.search.rule import SupportRule
from spcastat.search.settings import OBJECTIVES
from spcastat.state import FitState
from spcastat.state.fit_moments import Moments
from spcastat.state.proof_sentences import percent_text, proof_sentence, with_proof
from spcastat.state.record import JOINT, Proven, plain_value
from spcastat.state.support_rule import forced, grouped, groups_of, rule_of, rule_words
from spcastat.storage.atomic import file_path, write_bytes
from spcastat.tables import Document, Row, Table

# --- the certificate, and proofs in files --------------------------------------------------------


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
    def of(
        cls, proven: Proven, found: np.ndarray, state: FitState, source: Source, data: Any = None
    ) -> Certificate:
        """Return the certificate of a proof; `found` are the best loadings found, shape (p, k).

        `data` are those of the call that made the fit.
        """
        from spcastat.certify.claim import claim_of  # imported late, as few fits need it

        table = cls(proven.rows, index=["fit"] if proven.scope == "joint" else state.components)
        columns = state.spec.columns
        name = "supports" if proven.scope == "joint" else "support"
        table[name] = [_named(places, columns) for places in table[name]]
        table._proven = proven
        table._found = state.by_variable(found)
        table._nonneg = bool(state.record.options.get("nonneg"))
        table._names = list(state.components)
        table._rule = rule_words(state)
        table._claim = claim_of(proven, state, source, data)
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

        The file contains the multipliers from which every bound is recomputed from the data; its format is
        described in docs/proof_file.md. The bounds for single components are those of the certificate plus
        2e-9 of the value, for rounding. A joint bound is that of the certificate, or 0.01 % above the best
        known fit if that is larger. The proof is computed again for the file, and is checked as `verify` will
        check it, for the numbers that a CSV file of the data has.

        Parameters
        ----------
        path : str or PathLike
            Path of the file, whose name must end in .json.
        time_limit : float
            Limit in seconds.

        Raises
        ------
        OptionError
            If the proof cannot be checked later: with orthogonal=True, for least squares of two or more
            components, under a rule for supports, with a formula, weights or missing values, for rows in
            chunks, and for a covariance matrix that was changed (given=, scale="blocks", nearest=True) or is
            in single precision; and if no proof was found, because the bound is not based on supports or
            time ran out.
        """
        from spcastat.certify.checker import RefusedError
        from spcastat.certify.verify import LAYOUT, attained, parsed, proves, refusals
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
        S, V, measure = claim["S"], claim["V"], claim["measure"]
        try:
            found = witnesses(S, V, measure, claim["bounds"], limit)
        except UnwrittenError as error:
            raise OptionError(
                f"save() found no proof of the bound that a file can have: {error}. Files do not have the "
                "bound that closes adjusted variance of three components. Otherwise give more than "
                f"time_limit={limit:g}, or certify with a longer time_limit or fewer components."
            ) from None
        stated = {name: value for name, value in claim.items() if name not in ("S", "V")}
        proof = {"layout": LAYOUT, **stated, "values": attained(S.mid, V, measure), "witness": found}
        text = json.dumps(proof, separators=(",", ":"))
        try:
            with refusals():
                proves(parsed(text), S)
        except RefusedError as error:
            raise OptionError(
                f"save() wrote no file, since verify would refuse it: {error}. Certify with a longer "
                "time_limit, or fewer components."
            ) from None
        write_bytes(target, text.encode())

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
        title = "Joint proof" if joint else "Proof of the adjusted variance of each component"
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
        joint: bool | None = None,
        objective: str | None = None,
        orthogonal: bool = False,
        time_limit: float = 60.0,
        max_nodes: int | None = None,
        progress: Any = False,
    ) -> Certificate:
        """Prove upper bounds on how much better the fit could be, by its objective.

        By default a fit that maximises a measure of all components together (adjusted variance, PEV, or the
        least-squares share, as ``fit.options["objective"]`` says) is compared by this measure with all fits
        of the same cardinalities, in any order, as with ``joint=True``. A fit by a method that finds one
        component after another has no such measure: each component is compared, by the adjusted variance
        that it adds, with the best component given the earlier ones (Schur complement, in the order shown),
        as with ``joint=False``. The same is done for one component by adjusted variance or PEV, which are
        then equal; where a component adds nothing to the earlier ones; and where a rule for supports has no
        joint proof (`together`, and a forced variable with a loading of zero).

        A bound may be loose but is never wrong, and is valid whenever the search is stopped. For nonnegative
        loadings the bound is that without the sign constraint. Under a rule for the supports (`include`,
        `exclude`, `disjoint`), each component is compared with supports that the rule allows (for disjoint
        components, those that share no variable with earlier ones); a joint bound applies to loadings under
        the rule, or is reported as a bound without it. If the search chose the groups (`disjoint` without
        `card`), the joint bound covers all partitions of the variables into as many groups, of any sizes; for
        more than 16 variables it is that of dense PCA. The fit stores the proof for its summary and files.

        Parameters
        ----------
        joint : bool, optional
            True compares all components together, False each component given the earlier ones, by the
            adjusted variance that it adds. By default the objective of the fit decides, as above; a given
            `objective` or `orthogonal` implies True.
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
            ``nodes``, ``seconds``, ``best_known`` and its ``support``, the best one found. A joint proof
            has one row: ``measure``, ``cardinalities``, ``value``, ``upper_bound`` and
            ``pca_bound`` as shares of the total variance, ``gap``, ``optimal`` (to 1e-4 relative), ``proof``,
            ``nodes``, ``open``, ``seconds``, ``best_known`` and its ``supports``.

        Raises
        ------
        OptionError
            If ``joint=False`` is given with `objective` or `orthogonal`, or a joint proof is requested where
            there is none: under `together`, and with orthogonal=True for loadings that are not orthogonal.
        NoRowsError
            For a fit from a file, which has no data.
        """
        state, source = self._state, self._source_for("certify()")
        joint = None if joint is None else flag("joint", joint)
        limit = real_number("time_limit", time_limit, 0.0, float("inf"), open_low=True)
        nodes = None if max_nodes is None else whole_number("max_nodes", max_nodes, 1)
        orthogonal = flag("orthogonal", orthogonal)
        joint, measure = _compared(state, source.op, joint, objective, orthogonal)
        with listening(progress):
            if joint:
                proven, V = _all_together(state, source.op, measure, orthogonal, limit, nodes)
            else:
                proven, V = _each(state, source.op, limit, nodes)
        self._state = with_proof(state, proven)
        return Certificate.of(proven, V, state, source, None if self._call is None else self._call.data)

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
        if rule is not None and breaks(rule, V, state.V):
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
            "together=, where card counts groups. Give joint=False: each component is proven among unions of "
            "groups."
        )
    if (forced(state) & (state.V == 0)).any():
        raise OptionError(
            "certify(joint=True) bounds loadings by their numbers of nonzeros, and a variable that this fit "
            "must have has a loading of zero, so that others under its rule have more. Give "
            "joint=False: each component is proven under the rule."
        )
    rule = rule_of(state.record)
    pca = None if state.record.pca_errors else state.moments.pca / op.unit**2  # upper bounds are needed
    how: dict[str, Any] = {"pca": pca, "time_limit": time_limit}
    whole = grouped(state.record) and not orthogonal
    if whole:
        found = certify_partition(op, state.V, objective, **how)
    else:
        how |= {"orthogonal": orthogonal, "max_nodes": max_nodes, "rule": rule}
        found = certify_joint(op, state.V, objective, **how)
    row, V = _plain(found), found.V
    if rule is not None and breaks(rule, V, state.V):  # the rule forbids the fit found
        row["best_known"], V = row["value"], state.V
    del row["V"]
    row["supports"] = [np.flatnonzero(v).tolist() for v in V.T]
    return Proven("joint", objective, [row], orthogonal), V


def breaks(rule: SupportRule, V: np.ndarray, fitted: np.ndarray) -> bool:
    """Return whether loadings break a rule that holds for the loadings `fitted`, both of shape (p, k).

    A variable that a component must have counts as one of its variables even if its loading is zero, so that
    a component may come to have more of them than the fitted one.
    """
    supports, own = ((one != 0).T | rule.must for one in (V, fitted))
    more = not isinstance(rule, GroupRule) and bool((supports.sum(axis=1) > own.sum(axis=1)).any())
    return more or bool(rule.broken(supports[None])[0])


def _largest_product(V: np.ndarray) -> float:
    """Return the largest product of two different columns, in absolute value."""
    return float(np.abs(V.T @ V - np.diag((V**2).sum(axis=0))).max())


def _compared(
    state: FitState, op: Operator, joint: bool | None, objective: str | None, orthogonal: bool
) -> tuple[bool, str]:
    """Return whether all components are compared together, and by which measure.

    The measure of a joint proof is the given one, or else the objective of the fit, or else PEV.

    Raises
    ------
    OptionError
        If the measure is not valid, or options of joint proofs are given with ``joint=False``.
    """
    given = [f"objective={shown(objective)}"] * (objective is not None) + ["orthogonal=True"] * orthogonal
    if given and joint is False:
        raise OptionError(
            f"{' and '.join(given)} was given with joint=False, and is for joint proofs: leave joint=False "
            "out. Proofs of single components are for the adjusted variance that each adds."
        )
    own = state.record.options.get("objective")
    if joint is None:
        # for one component adjusted variance and PEV are its variance, which `_each` proves to 1e-9
        alone = state.V.shape[1] == 1 and own in ("adjusted", "pev")
        adds = adjusted_variances(state.V, op) > 0.0
        refused = bool(groups_of(state)) or bool((forced(state) & (state.V == 0)).any())
        joint = bool(given) or (own in JOINT and not alone and not refused and bool(adds.all()))
    if objective is not None:
        measure = one_of("objective", objective, JOINT)
    else:
        measure = own if own in JOINT and not orthogonal else "pev"
    if orthogonal and measure != "pev":
        raise OptionError(
            f"objective={shown(objective)} was given with orthogonal=True, whose bounds are those of PEV: "
            "give objective='pev', or leave it out."
        )
    return joint, measure


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
    if not grouped(state.record) and (np.sort(counts) > np.sort(own)).any():
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
