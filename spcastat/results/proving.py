"""Proofs of a fit, and the better fit that one of them met."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from spcastat.config import one_of, shown
from spcastat.engine.aim import settle
from spcastat.engine.inputs import Source
from spcastat.errors import OptionError
from spcastat.kernels.eig import top_eigh
from spcastat.measures import MEASURES
from spcastat.operators import Operator, Removed, deflate
from spcastat.results.certificate import Certificate
from spcastat.search.names import OBJECTIVES
from spcastat.state import FitState
from spcastat.state.moments import Moments
from spcastat.state.proofs import with_proof
from spcastat.state.proven import JOINT, Proven
from spcastat.state.record import Record

#: Loadings whose products are below this are orthogonal.
ORTHOGONAL = 1e-6
#: A fit is better where its measure exceeds that of another by this share.
BETTER = 1e-9


def prove_components(
    state: FitState, source: Source, time_limit: float, max_nodes: int | None
) -> tuple[Certificate, FitState]:
    """Prove each component by itself; return the certificate and the state that knows of it."""
    from spcastat.certify import certify  # only who proves imports the proofs

    op = source.op
    found = certify(op, state.V, time_limit=time_limit, max_nodes=max_nodes)
    rows = [_plain(one, ("value", "upper_bound", "best_known"), op.unit**2) for one in found]
    proven = Proven("components", "adjusted", rows)
    V = _one_after_another(op, [one.support for one in found])
    return Certificate.of(proven, V, state), with_proof(state, proven)


def prove_joint(
    state: FitState,
    source: Source,
    objective: str,
    orthogonal: bool,
    time_limit: float,
    max_nodes: int | None,
) -> tuple[Certificate, FitState]:
    """Prove all components together; return the certificate and the state that knows of it."""
    from spcastat.certify.joint import certify_joint

    op = source.op
    if orthogonal:
        _require_orthogonal(state)
    found = certify_joint(
        op,
        state.V,
        objective,
        orthogonal=orthogonal,
        pca=state.moments.pca / op.unit**2,
        time_limit=time_limit,
        max_nodes=max_nodes,
    )
    row = _plain(found)
    del row["V"]
    row["supports"] = [np.flatnonzero(v).tolist() for v in found.V.T]
    proven = Proven("joint", objective, [row], orthogonal)
    return Certificate.of(proven, found.V, state), with_proof(state, proven)


def _require_orthogonal(state: FitState) -> None:
    product = _largest_product(state.V)
    if product > ORTHOGONAL:
        raise OptionError(
            "orthogonal=True compares orthogonal loadings with one another, and those of this fit are not: "
            f"two have the product {product:.3g}. Without orthogonal=True the bound holds for this fit."
        )


def _largest_product(V: np.ndarray) -> float:
    """Return the largest product of two different columns, in absolute value."""
    return float(np.abs(V.T @ V - np.diag((V**2).sum(axis=0))).max())


def joint_measure(record: Record, joint: bool, objective: str | None, orthogonal: bool) -> str:
    """Return the measure of a joint proof: the one given, else that which the fit was made for, else PEV.

    Raises
    ------
    OptionError
        For a measure that there is not, or options of joint proofs without one.
    """
    given = [f"objective={shown(objective)}"] * (objective is not None) + ["orthogonal=True"] * orthogonal
    if given and not joint:
        raise OptionError(
            f"{' and '.join(given)} was given, and belongs to a joint proof: give joint=True, too. Single "
            "components are proven for the adjusted variance that each adds."
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


def adopted(state: FitState, source: Source, certificate: Any) -> FitState | None:
    """Return the state of the better fit that a certificate met; None where it is not better.

    Raises
    ------
    OptionError
        For what is no certificate, or that of a fit with other variables or cardinalities.
    """
    V, measure = _checked(state, certificate)
    op = source.op
    equal = len(set(np.count_nonzero(state.V, axis=0).tolist())) == 1
    falling = bool((np.diff(np.diag(state.moments.scores)) <= 0).all())
    V = settle(op, V, sort=equal and falling and measure != "adjusted")[0]
    old, new = (float(MEASURES[measure](one, op)[-1]) for one in (state.V, V))
    if not new > old * (1.0 + BETTER):
        return None
    value, name = new * op.total * op.unit**2, OBJECTIVES[measure]
    record = dataclasses.replace(
        state.record,
        criterion=f"{name}, better fit that a proof met",
        status="searched",
        advice=f"taken over from a certificate; {name} was {100.0 * old:.3f} % of the total before",
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
    return better


def _checked(state: FitState, certificate: Any) -> tuple[np.ndarray, str]:
    if not isinstance(certificate, Certificate):
        raise OptionError(
            f"adopt() was given {type(certificate).__name__}; it takes what certify() of this fit returned."
        )
    if state.record.options.get("nonneg"):
        raise OptionError(
            "adopt() was called on a nonnegative fit; certificates are without the sign constraint, and the "
            "loadings that they met may have either sign."
        )
    V = certificate._found
    if not V.index.equals(state.spec.columns) or V.shape != state.V.shape:
        raise OptionError("adopt() was given the certificate of a fit of other variables or components.")
    counts, own = (np.count_nonzero(one, axis=0) for one in (V.to_numpy(), state.V))
    if (counts > own).any():
        raise OptionError(
            f"adopt() was given the certificate of a fit with the cardinalities {counts.tolist()}; those of "
            f"this fit are {own.tolist()}."
        )
    return V.to_numpy(), certificate._proven.measure


def _of_better(proven: Proven, V: np.ndarray, op: Operator) -> Proven:
    """Return a joint proof as it stands for better loadings of the same cardinalities."""
    from spcastat.certify.joint import verdict

    (row,) = proven.rows
    value = float(MEASURES[proven.measure](V, op)[-1])
    if value > row["best_known"]:
        row = {**row, "best_known": value, "supports": [np.flatnonzero(v).tolist() for v in V.T]}
    bound = max(row["upper_bound"], value)
    gap, optimal = verdict(value, bound)
    return dataclasses.replace(
        proven, rows=[{**row, "value": value, "upper_bound": bound, "gap": gap, "optimal": optimal}]
    )


def _plain(certificate: Any, scaled: tuple[str, ...] = (), factor: float = 1.0) -> dict[str, Any]:
    """Return the fields of a certificate as plain numbers, text and lists; some in other units."""
    row: dict[str, Any] = {}
    for one in dataclasses.fields(certificate):
        value: Any = getattr(certificate, one.name)
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        value = list(value) if isinstance(value, tuple) else value
        row[one.name] = value * factor if one.name in scaled else value
    return row


def _one_after_another(op: Operator, supports: list[np.ndarray]) -> np.ndarray:
    """Return the best loadings on each support for what those before it leave, shape (p, k)."""
    V = np.zeros((op.p, len(supports)))
    view = op
    for i, T in enumerate(supports):
        V[T, i] = top_eigh(view.block(T), 1)[1][:, 0]
        if i < len(supports) - 1:
            view = deflate(view, Removed(V[:, i], V[:, i], V[:, :i]), "schur")
    return V
