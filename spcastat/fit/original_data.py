"""The data of a fit: those that it has, or for a fit from a file those that are given again and checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import plural, shown
from spcastat.errors import DataError, FormulaError, NoRowsError, OptionError, WeightsError
from spcastat.fit.call import Call
from spcastat.fit.state import FitState
from spcastat.inputs.covariance_data import open_covariance
from spcastat.inputs.data import Source, center_and_scale
from spcastat.inputs.missing import prepare_with_gaps
from spcastat.inputs.opening import read_whole
from spcastat.inputs.row_data import require_unchanged
from spcastat.linalg.standardisation import groups_from_record, prepare
from spcastat.reading.design import order_mark
from spcastat.reading.frames import open_table
from spcastat.reading.read import formula_inputs, replay, replay_both, replay_table

#: Relative tolerance for moments of the same data, since sums may be computed in another order.
SAME = 1e-6


#: Variances this close to one are those of a correlation matrix.
UNIT = 1e-8


#: Rounding of a mean, relative to its size.
ROUNDING = 1e-12


def source_for(
    state: FitState, source: Source | None, call: Call | None, data: Any, what: str
) -> tuple[Source, Call | None]:
    """Return the data of a fit, and the call that made it if known.

    Raises
    ------
    NoRowsError
        For a fit from a file without `data`.
    OptionError
        If `data` are given although the fit has its data.
    WeightsError
        For a fit from a file whose rows had weights.
    DataError
        If `data` are not the data of the fit.
    """
    if source is not None:
        if data is not None:
            raise OptionError(
                f"data was given to {what}, but the fit has its data. Leave data out; it is for fits from a "
                "file."
            )
        source.require_same()
        return source, call
    record, data = state.record, read_whole(data)
    if data is None:
        raise NoRowsError(
            f"{what} needs the data, and a fit from a file does not have them: give {what[:-1]}data=...)."
        )
    if record.weighted:
        raise WeightsError(
            f"{what} needs the weights of the rows, and a fit from a file does not have them; fit again: "
            f"{record.call}."
        )
    if not record.from_rows:
        partial = state.spec.partial
        scale: Any = groups_from_record(record.groups)
        if scale is None and (np.abs(state.moments.variances - 1.0) <= UNIT).all():
            scale = True  # the fit was one of correlations, which may have been made by scale=True
        given = None if partial is None else list(partial.spec.columns)
        nearest = record.matrix is not None
        found = open_covariance(data, n_obs=record.n, nearest=nearest, given=given, scale=scale).source("")
    else:
        found = replace(_rows_again(state, data), design=state.design)
    _require_same(state, found)
    _require_same_order(state, found, what)
    return found, None


def _rows_again(state: FitState, data: Any) -> Source:
    record, standard, columns = state.record, state.standard, state.spec.columns
    how = None if record.missing is None else record.missing["how"]
    matrix, index = replay(state.spec, data, na=how or ("drop" if record.dropped else "raise"))
    assert standard is not None
    if len(index) != record.n:
        raise DataError(
            f"data has {len(index)} rows, and the fit had {record.n}: give the data that were fitted."
        )
    groups = groups_from_record(record.groups)
    center, scale = center_and_scale(standard, groups)
    if how is not None:
        rank = (record.missing or {}).get("rank", 1)
        now, op, rows, gaps = prepare_with_gaps(matrix, None, center, scale, columns, how, rank, index=index)
        found = Source(op.at_unit_size(), state.spec, len(index), now, rows, index, gaps=gaps)
        return replace(found, groups=groups)
    now, op = prepare(matrix, None, center, scale, columns)
    found = Source(op.at_unit_size(), state.spec, len(index), now, matrix, index, record.dropped)
    if state.spec.partial is None:
        return replace(found, groups=groups)
    na = "drop" if record.dropped else "raise"
    return replace(found, groups=groups, covariates=replay_both(state.spec, open_table(data), na)[1])


def _require_same(state: FitState, found: Source) -> None:
    """Raise DataError unless centre, scale and moments are those of the fit, up to rounding.

    The moments are the variances of the variables and their covariances with the scores of the fit: after
    scaling, the variances alone are the same for any data.
    """
    variances, now = state.moments.variances, found.op.diagonal() * found.op.unit**2
    if len(variances) != len(now):
        raise DataError(
            f"data has {plural(len(now), 'variable')}, and the fit has {len(variances)}: give the data that "
            "were fitted, without changes."
        )
    if not np.allclose(now, variances, rtol=SAME, atol=SAME**2 * variances.max()):
        raise _other_data("variances of data are", state, np.abs(now - variances))
    spread = np.sqrt(variances)
    if state.standard is not None and found.standard is not None:
        before, here = state.standard, found.standard
        if not np.allclose(here.scale, before.scale, rtol=SAME, atol=0.0):
            raise _other_data("scales of data are", state, np.abs(here.scale / before.scale - 1.0))
        # in standard deviations, which the means of large numbers have to within their rounding
        moved = np.abs(here.mean - before.mean) / before.scale
        allowed = SAME * np.maximum(spread, SAME * spread.max())
        allowed = allowed + ROUNDING * np.abs(before.mean) / before.scale
        if (moved > allowed).any():
            raise _other_data("centres of data are", state, moved / np.maximum(allowed, np.finfo(float).tiny))
    coupling = found.op.dot(state.V) * found.op.unit**2
    # a covariance with a score is a sum of covariances, each bounded by two standard deviations
    bound = SAME * np.outer(np.maximum(spread, SAME * spread.max()), np.abs(state.V).T @ spread)
    apart = np.abs(coupling - state.moments.coupling)
    if (apart > bound).any():
        raise _other_data("covariances of data with the scores are", state, (apart - bound).max(axis=1))


def _require_same_order(state: FitState, found: Source, what: str) -> None:
    """Raise DataError if labels of rows, or blocks, belong to the rows in another order."""
    design = state.design
    if design is None or design.mark is None or found.standard is None:
        return
    now = order_mark(np.nan_to_num(found.standard.project(found.matrix, state.V[:, :1])[:, 0]))
    if abs(now - design.mark) > SAME:
        raise DataError(
            f"{what} draws the clusters or blocks of the fit, which are stored by the position of the rows, "
            "and the rows of data are in another order: give them in the order of the fit."
        )


def _other_data(what: str, state: FitState, difference: np.ndarray) -> DataError:
    """Return the error for data whose centre, scale or moments are not those of the fit."""
    worst = shown(state.spec.columns[int(np.argmax(difference))])
    return DataError(
        f"The {what} not those of the fit, most of all for {worst}: give the data that were fitted, without "
        "changes."
    )


def frame_of(source: Source, fitted: Any, given: Any) -> pd.DataFrame | None:
    """Return the columns of a formula for the rows of the fit; None if nothing is estimated from them.

    Parameters
    ----------
    source : Source
    fitted, given : object
        The data of the original call, and the data given for a fit from a file.
    """
    model = source.spec.model_spec
    if model is None or not model.states or source.matrix is None:
        return None
    if source.gaps is not None and source.gaps.missing.any():
        raise FormulaError(
            f"The terms of formula={shown(source.spec.formula)} cannot be estimated from draws of rows with "
            "missing values: compute these columns in the data frame first, and fit without the formula."
        )
    if given is None:
        require_unchanged(fitted, source)
    table = open_table(read_whole(given) if given is not None else fitted)
    if source.dropped:  # includes rows with missing covariates
        keep = np.asarray(replay_table(source.spec, table, "drop")[1])
        table = replace(table, values=table.values[keep], index=table.index[keep])
    return formula_inputs(source.spec, table, "raise")[0]
