"""Cross-validated errors of several fits to the same rows, with the same folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import shown
from spcastat.engine.inputs import Source, require_unchanged
from spcastat.errors import ComponentsError, FormulaError, NoRowsError, ShapeError
from spcastat.intake import ReadOptions
from spcastat.resample.folds import divided, require_foldable
from spcastat.resample.refit import plan_of, refit_of
from spcastat.results.call import Call, source_for
from spcastat.results.result import SpcaResult
from spcastat.select.crossvalidation import Errors, held_out

#: Columns of the table of measures.
COLUMNS = ("held_out", "held_out_se", "held_out_excess", "held_out_excess_se")


def held_out_errors(
    fits: Mapping[str, SpcaResult], data: Any, folds: int, repeats: int, seed: int, n_jobs: int
) -> pd.DataFrame:
    """Return a table with COLUMNS and one row per fit; errors are relative to those of the column means.

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
        If fits have different rows or weights.
    ComponentsError
        If a fit has as many components as variables.
    FormulaError
        For a fit from a file whose formula is estimated from rows.
    """
    first = next(iter(fits))
    rows = {name: fit._state.record.n for name, fit in fits.items()}
    for name, n in rows.items():
        if n != rows[first]:
            raise ShapeError(
                f"The fits {shown(first)} and {shown(name)} are of {rows[first]} and {n} rows; held-out "
                "errors can be compared on the same rows only."
            )
    opened = {name: _opened(name, fit, data) for name, fit in fits.items()}
    _require_same_rows({name: source for name, (source, _) in opened.items()})
    found = [_errors(fit, *opened[name], folds, repeats, seed, n_jobs) for name, fit in fits.items()]
    weight = found[0].weight
    relative = np.concatenate([one.relative for one in found], axis=2)
    joint = Errors(relative * weight[:, :, None], weight, weight)  # in units of the error of the means
    excess, spread = joint.excess(int(np.argmin(joint.error)))
    return pd.DataFrame(
        np.column_stack([joint.error, joint.se, excess, spread]), index=list(fits), columns=list(COLUMNS)
    )


def _opened(name: str, fit: SpcaResult, data: Any) -> tuple[Source, Call | None]:
    """Return the data of one fit, and the call that made it if known."""
    state = fit._state
    p, k = state.V.shape
    if not state.record.from_rows:
        raise NoRowsError(
            f"The fit {shown(name)} is of a covariance matrix, whose rows cannot be held out; fit the rows, "
            "or leave held_out out."
        )
    if k >= p:
        raise ComponentsError(
            f"The fit {shown(name)} has {k} components of {p} variables, which leave no residual variance; "
            "compare fits with fewer components."
        )
    has = fit._source is not None
    return source_for(state, fit._source, fit._call, None if has else data, "compare()")


def _require_same_rows(sources: Mapping[str, Source]) -> None:
    """Raise ShapeError unless all fits are of the same rows, in the same order, with the same weights."""
    first, *others = sources
    kinds = {None if one.stream is None else one.stream.local for one in sources.values()}
    if len(kinds) > 1:
        raise ShapeError(
            "Some fits are of rows in memory, others of rows in chunks or on workers, for which folds are "
            "assigned differently. Fit all of them to the same source."
        )
    before = _row_sums(sources[first], sources[first].spec.columns)
    for name in others:
        now = _row_sums(sources[name], sources[first].spec.columns)
        if not all(
            # Sums of the same rows agree to this share: rows may be stored in single precision
            a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=0.0, equal_nan=True)
            for a, b in zip(before, now, strict=True)
        ):
            raise ShapeError(
                f"The fits {shown(first)} and {shown(name)} are of different rows, of the same rows in "
                "another order, or have different weights; held-out errors are paired by row. Fit both to "
                "the same rows."
            )


def _row_sums(source: Source, columns: pd.Index) -> tuple[np.ndarray, np.ndarray]:
    """Return a fingerprint of each row, and the weights.

    The fingerprint is a sum of absolute values times fixed factors, which avoids cancellation. For rows on
    workers, whose order is not known, column means are returned instead.
    """
    places = source.spec.columns.get_indexer(columns)
    weights = np.ones(1) if source.weights is None else source.weights
    if source.stream is not None and not source.stream.local:
        assert source.standard is not None
        return source.standard.mean[places], weights
    factors = np.empty(len(columns))
    factors[places] = np.random.default_rng(0).uniform(1.0, 2.0, len(columns))
    if source.stream is None:
        return abs(source.measured) @ factors, weights
    blocks = source.stream.blocks("comparison of the rows")
    found = [(abs(block.values) @ factors, block.weights) for block in blocks]
    if source.stream.weighted:
        weights = np.concatenate([np.asarray(weight) for _, weight in found])
    return np.concatenate([sums for sums, _ in found]), weights


def _errors(
    fit: SpcaResult, source: Source, call: Call | None, folds: int, repeats: int, seed: int, n_jobs: int
) -> Errors:
    """Return the errors of one fit."""
    state = fit._state
    p, k = state.V.shape
    plan = plan_of(state, None if call is None else call.arguments)
    if call is None and source.spec.learns:
        raise FormulaError(
            f"The terms and covariates of formula={shown(source.spec.formula)} are estimated from rows, and "
            "a fit from a file cannot estimate them again without a fold; fit again."
        )
    names = [one.name for one in fields(ReadOptions)]
    described = {} if call is None else {one: call.arguments[one] for one in names if one in call.arguments}
    if source.stream is not None:
        require_foldable(source.stream, p)
    if source.gaps is not None:
        described["k_em"] = source.gaps.told.get("rank")
    rows = None if call is None else call.data
    if source.spec.learns:
        require_unchanged(rows, source)
    parts = divided(source, rows, described, folds, repeats, seed=seed, k=k, keep_rows=bool(plan.rows_for))
    return held_out(parts, refit_of(state, plan), seed=seed, n_jobs=n_jobs)
