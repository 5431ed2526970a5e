"""The claim of a proof in a file: bounds, loadings, and the data as `verify` will read them from a file.

A proof is written for the numbers that a CSV file of the data contains. Those of columns in single precision
differ from the numbers that were fitted: 0.1 is written as "0.1", whatever its nearest number in single
precision is.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd

from spcastat.certify.checker import RefusedError
from spcastat.certify.verify import covariance, header_and_rows, places
from spcastat.config import listed
from spcastat.engine.inputs import Fitted, Source
from spcastat.errors import SpcaError
from spcastat.intake.frames import open_table
from spcastat.kernels.sparsity import is_sparse
from spcastat.state import FitState
from spcastat.state.record import Proven
from spcastat.state.support_rule import rule_of

#: Largest numbers of variables, of values, and of values in single precision, for which a proof is written.
MOST_VARIABLES, MOST_VALUES, MOST_SHORT = 200, 5e7, 2e6
#: To allow for rounding, the bound of a component in a file exceeds that of the certificate by ROOM times the
#: component's value. The bound of a joint proof exceeds the best known fit by at least JOINT_ROOM, the
#: tolerance within which a fit is called optimal.
ROOM, JOINT_ROOM = 2e-9, 1e-4
#: Both allow for the difference of the data as they are read, which may be this large.
MOST_CHANGED = 1e-4


def claim_of(proven: Proven, state: FitState, source: Source, data: Any) -> dict[str, Any] | str:
    """Return the claim of a proof as it is written to a file, or the reason why it cannot be written.

    The claim also has two arrays: "S", the covariance matrix as `verify` will compute it, scaled to total
    variance one and with a bound on its rounding, and the loadings "V". `data` are those of the fit's call.
    """
    if reason := reason_against(proven, state, source):
        return reason
    p, op = len(state.V), source.op
    standard = source.standard if source.matrix is not None else None
    if standard is None:
        X, centre, scale = op.block(np.arange(p)), np.zeros(p), np.ones(p)
    else:
        X = source.matrix.toarray() if is_sparse(source.matrix) else np.asarray(source.matrix, dtype=float)
        centre, scale = standard.mean, standard.scale
        if short := short_columns(data, state.spec.columns):
            if len(short) * len(X) > MOST_SHORT:
                return f"more than {MOST_SHORT:.0e} values in single precision"
            X = as_written(X, short)
            if standard.centring == "mean":
                centre = X.mean(axis=0)
            if standard.scaling == "sd":
                scale = X.std(axis=0, ddof=1)
    kind = "covariance" if standard is None else "rows"
    try:
        S = covariance(X, kind, centre, scale)
    except RefusedError as error:
        return f"these data: {error}"
    changed = float(np.linalg.norm(S.mid - op.block(np.arange(p)) / op.total))
    if not changed <= MOST_CHANGED:
        return "columns in single precision, whose numbers differ too much from those in a text file"
    rows = proven.rows
    if proven.scope == "joint":
        bounds = [max(rows[0]["upper_bound"], rows[0]["best_known"] * (1.0 + JOINT_ROOM))]
    else:
        unit = op.total * op.unit**2
        bounds = [(row["upper_bound"] + ROOM * row["best_known"]) / unit + 1e-12 for row in rows]
    room = 4.0 * len(rows) * changed if changed > 1e-10 else 0.0
    return {
        "S": S,
        "V": state.V,
        "measure": proven.measure if proven.scope == "joint" else "component",
        "columns": [str(name) for name in state.spec.columns],
        "data": kind,
        "centre": centre.tolist(),
        "scale": scale.tolist(),
        "loadings": state.V.tolist(),
        "bounds": [bound + room for bound in bounds],
    }


def reason_against(proven: Proven, state: FitState, source: Source) -> str | None:
    """Return the reason why `verify` could not check a proof for these data, or None."""
    p, k = state.V.shape
    matrix = source.matrix is None
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
        "given=, since the partial covariance matrix is in no file: compute it, and fit that matrix": (
            matrix and state.spec.partial is not None
        ),
        "the scale of a covariance matrix: divide its rows and columns, and fit that matrix": (
            matrix and source.groups is not None
        ),
        "nearest=True, since the nearest matrix is in no file: take that matrix, and fit it": (
            "moved" in source.about
        ),
        f"more than {MOST_VALUES:.0e} values": not matrix and float(source.n or 0) * p > MOST_VALUES,
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        return reason
    if matrix and in_single_precision(source.op.block(np.arange(p)) * source.op.unit * source.op.unit):
        return (
            "a covariance matrix in single precision, whose numbers in a text file may be rounded: write the "
            "file, read it again, and fit what is read"
        )
    return unreadable_names(state.spec.columns)


def unreadable_names(columns: pd.Index) -> str | None:
    """Return the reason why the columns could not be found by name in a CSV file, or None."""
    names = [str(name) for name in columns]
    text = pd.DataFrame(columns=columns).to_csv(index=False)
    try:
        header = header_and_rows(io.StringIO(text), ",")[0]
        if places(header, names) == list(range(len(names))):
            return None
    except (RefusedError, ValueError):
        pass
    return f"the names {listed(names, 3)}, by which columns of a CSV file cannot be found"


def short_columns(data: Any, columns: pd.Index) -> dict[int, type[np.floating]]:
    """Return the positions of the columns whose numbers are in single or half precision, with that type."""
    while isinstance(data, Fitted):
        data = data.data
    try:
        values = data if isinstance(data, np.ndarray) else open_table(data).values
    except (SpcaError, TypeError):  # a path, whose numbers were read as text
        return {}
    if isinstance(values, pd.DataFrame):
        of = dict(zip(values.columns, values.dtypes, strict=True))
        dtypes = [of.get(name) for name in columns]
    else:
        dtypes = [values.dtype] * len(columns)
    kinds: dict[str, type[np.floating]] = {"float32": np.float32, "float16": np.float16}
    named = [next((kind for kind in kinds if kind in str(dtype).lower()), "") for dtype in dtypes]
    return {j: kinds[kind] for j, kind in enumerate(named) if kind}


def as_written(X: np.ndarray, short: dict[int, type[np.floating]]) -> np.ndarray:
    """Return rows with the numbers that a text file has for those in single or half precision."""
    X = X.copy()
    for j, kind in short.items():
        X[:, j] = X[:, j].astype(kind).astype(str).astype(float)
    return X


def in_single_precision(S: np.ndarray) -> bool:
    """Return whether all numbers are in single precision, and would be written with fewer digits there."""
    with np.errstate(over="ignore"):
        short = S.astype(np.float32)
    if not (short == S).all():
        return False
    return bool((short.astype(str).astype(float) != S).any())
