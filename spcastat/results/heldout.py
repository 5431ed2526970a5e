"""Held-out errors of several fits to the same rows, in the same folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import shown
from spcastat.errors import ComponentsError, FormulaError, NoRowsError, ShapeError
from spcastat.intake import ReadOptions
from spcastat.resample.divide import divided, require_foldable
from spcastat.resample.refit import plan_of, refit_of
from spcastat.results.again import source_for
from spcastat.results.result import SpcaResult
from spcastat.select.crossvalidation import Errors
from spcastat.select.heldout import held_out

#: What a table of measures holds of them.
COLUMNS = ("held_out", "held_out_se", "held_out_excess", "held_out_excess_se")


def held_out_errors(
    fits: Mapping[str, SpcaResult], data: Any, folds: int, repeats: int, seed: int, n_jobs: int
) -> pd.DataFrame:
    """Return one row a fit: COLUMNS, the errors as shares of those of the column means.

    Parameters
    ----------
    fits : mapping of str to SpcaResult
    data : object
        The rows, for fits from a file.
    folds, repeats, seed, n_jobs : int

    Raises
    ------
    NoRowsError
        For a fit of a covariance matrix.
    ShapeError
        For fits of different numbers of rows.
    ComponentsError
        For as many components as variables.
    FormulaError
        For a fit from a file whose formula learns from rows.
    """
    first = next(iter(fits))
    rows = {name: fit._state.record.n for name, fit in fits.items()}
    for name, n in rows.items():
        if n != rows[first]:
            raise ShapeError(
                f"The fits {shown(first)} and {shown(name)} are of {rows[first]} and {n} rows; held-out "
                "errors can be compared on the same rows only."
            )
    found = [_errors(name, fit, data, folds, repeats, seed, n_jobs) for name, fit in fits.items()]
    weight = found[0].weight
    relative = np.concatenate([one.relative for one in found], axis=2)
    joint = Errors(relative * weight[:, :, None], weight, weight)  # in units of the error of the means
    excess, spread = joint.excess(int(np.argmin(joint.error)))
    return pd.DataFrame(
        np.column_stack([joint.error, joint.se, excess, spread]), index=list(fits), columns=list(COLUMNS)
    )


def _errors(
    name: str, fit: SpcaResult, data: Any, folds: int, repeats: int, seed: int, n_jobs: int
) -> Errors:
    """Return the errors of one fit."""
    state = fit._state
    p, k = state.V.shape
    if not state.record.from_rows:
        raise NoRowsError(
            f"The fit {shown(name)} is of a covariance matrix, whose rows cannot be held out; fit the rows, "
            "or leave held_out out."
        )
    if k >= p:
        raise ComponentsError(
            f"The fit {shown(name)} has {k} components of {p} variables, which leave no variance for what is "
            "predicted; compare fits of fewer components."
        )
    has = fit._source is not None
    source, call = source_for(state, fit._source, fit._call, None if has else data, "compare()")
    plan = plan_of(state, None if call is None else call.arguments)
    model = source.spec.model_spec
    if call is None and model is not None and model.states:
        raise FormulaError(
            f"The terms of formula={shown(source.spec.formula)} learn from rows, and a fit from a file does "
            "not tell how to read them anew without a fold; fit again."
        )
    standard = source.standard
    assert standard is not None
    names = [one.name for one in fields(ReadOptions)]
    described = {} if call is None else {one: call.arguments[one] for one in names if one in call.arguments}
    described["center"] = True if standard.centring == "mean" else standard.mean
    described["scale"] = {"sd": True, "none": False}.get(standard.scaling, standard.scale)
    if source.stream is not None:
        require_foldable(source.stream, p)
    if source.gaps is not None:
        described["k_em"] = source.gaps.told.get("rank")
    rows = None if call is None else call.data
    parts = divided(source, rows, described, folds, repeats, seed=seed, k=k, keep_rows=bool(plan.rows_for))
    return held_out(parts, refit_of(state, plan), seed=seed, n_jobs=n_jobs)
