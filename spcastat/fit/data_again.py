"""The data of a fit from a file, given again, and their comparison with the moments of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from spcastat.arguments import (
    plural,
    shown,
)
from spcastat.errors import (
    DataError,
    WeightsError,
)
from spcastat.fit.state import SAME_MOMENTS, FitState
from spcastat.inputs.covariance_data import CovarianceData
from spcastat.inputs.data import Data, center_and_scale
from spcastat.inputs.opening import table_of
from spcastat.inputs.row_data import RowData
from spcastat.linalg.eigenvectors import SUM_ROUNDING
from spcastat.reading.design import Design, ReadOptions
from spcastat.reading.frames import open_table
from spcastat.reading.read import replay, replay_both


def read_again(state: FitState, table: Any, analysis: str) -> Data:
    """Return the data in a table, read with the options of the fit; see `original_data`."""
    record, table = state.record, table_of(table).data
    if record.imputations:
        raise DataError(
            f"{analysis} needs the {record.imputations} imputations of the fit: give "
            f"{analysis[:-1]}data=rows(imputations=frames, ...)), with the options of the fit, {record.call}."
        )
    if record.weighted:
        raise WeightsError(
            f"{analysis} needs the weights of the rows, which a fit from a file does not have: give "
            f"{analysis[:-1]}data=rows(table, ..., weights=...)), or fit again: {record.call}."
        )
    if record.from_rows:
        return _rows_again(state, table)
    partial = state.spec.partial
    scale: Any = record.scaling_groups
    if scale is None and state.has_unit_variances:
        scale = True  # the fit used correlations, which may be due to scale=True
    options = {
        "n_obs": record.n,
        "nearest": record.matrix is not None,
        "given": None if partial is None else list(partial.spec.columns),
        "scale": scale,
    }
    return CovarianceData.read(table, options, warns=False)


def _rows_again(state: FitState, table: Any) -> RowData:
    record, standard = state.record, state.standard
    gaps_rule = None if record.missing is None else record.missing["how"]
    na = "drop" if record.dropped else "raise"
    matrix, index = replay(state.spec, table, na=gaps_rule or na)
    assert standard is not None
    if len(index) != record.n:
        raise DataError(
            f"data has {len(index)} rows, but the fit had {record.n}: give the data that were fitted."
        )
    covariates = None
    if gaps_rule is None and state.spec.partial is not None:
        covariates = replay_both(state.spec, open_table(table), na)[1]
    center, scale = center_and_scale(standard, record.scaling_groups)
    rank = None if gaps_rule != "em" else (record.missing or {}).get("rank", 1)
    return RowData(
        options={},
        table=table,
        contents=Design(
            matrix, index, state.spec, dropped=record.dropped, covariates=covariates, rows=state.design
        ),
        reading=ReadOptions(na=gaps_rule or na, k_em=rank),
        center=center,
        scale=scale,
        warns=False,
        robust=False if state.cleaning is None else state.cleaning.option,
        components=None if state.cleaning is None else state.cleaning.components,
    )


def require_same_moments(state: FitState, data_again: Data) -> None:
    """Raise DataError unless centre, scale and moments equal the values of the fit, up to rounding.

    The moments are the variances of the variables and their covariances with the scores of the fit. The
    variances alone are not enough, since they are the same for any scaled data.
    """
    variances, variances_now = state.moments.variances, data_again.op.diagonal() * data_again.op.unit**2
    if len(variances) != len(variances_now):
        raise DataError(
            f"data has {plural(len(variances_now), 'variable')}, but the fit has {len(variances)}: give the "
            "data that were fitted, without changes."
        )
    if not np.allclose(variances_now, variances, rtol=SAME_MOMENTS, atol=SAME_MOMENTS**2 * variances.max()):
        raise _other_data("variances of data are", state, np.abs(variances_now - variances))
    spread = np.sqrt(variances)
    if state.standard is not None and data_again.standard is not None:
        standard, standard_now = state.standard, data_again.standard
        if not np.allclose(standard_now.scale, standard.scale, rtol=SAME_MOMENTS, atol=0.0):
            raise _other_data("scales of data are", state, np.abs(standard_now.scale / standard.scale - 1.0))
        # shifts in standard deviations; the tolerance allows for rounding in the means of large numbers
        shifts = np.abs(standard_now.mean - standard.mean) / standard.scale
        tolerance = SAME_MOMENTS * np.maximum(spread, SAME_MOMENTS * spread.max())
        tolerance = tolerance + SUM_ROUNDING * np.abs(standard.mean) / standard.scale
        if (shifts > tolerance).any():
            raise _other_data(
                "centres of data are", state, shifts / np.maximum(tolerance, np.finfo(float).tiny)
            )
    coupling = data_again.op.dot(state.V) * data_again.op.unit**2
    # a covariance with a score is a sum of covariances, each bounded by two standard deviations
    bound = SAME_MOMENTS * np.outer(
        np.maximum(spread, SAME_MOMENTS * spread.max()), np.abs(state.V).T @ spread
    )
    differences = np.abs(coupling - state.moments.coupling)
    if (differences > bound).any():
        raise _other_data("covariances of data with the scores are", state, (differences - bound).max(axis=1))


def require_same_order(state: FitState, data_again: Data, analysis: str) -> None:
    """Raise DataError if the design of the rows differs, or if the rows are in another order."""
    if data_again.facts()["row_design"] != state.record.row_design:
        raise DataError(
            f"{analysis} draws the clusters, strata or blocks of the fit, and the rows of data are grouped "
            "differently: give rows() the clusters=, strata= and block_length= of the fit."
        )
    design = state.design
    if design is None or design.mark is None:
        return
    if abs(data_again.rows(analysis).order_mark(state.V) - design.mark) > SAME_MOMENTS:
        raise DataError(
            f"{analysis} draws the clusters or blocks of the fit, which are stored by the position of the "
            "rows, and the rows of data are in another order: give them in the order of the fit."
        )


def _other_data(noun: str, state: FitState, difference: np.ndarray) -> DataError:
    """Return the error for data whose centre, scale or moments differ from the fit."""
    column = shown(state.spec.columns[int(np.argmax(difference))])
    return DataError(
        f"The {noun} different from the fit, most of all for {column}: give the data that were fitted, "
        "without changes."
    )
