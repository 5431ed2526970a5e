"""The data for resampling: those of the fit or, for a fit from a file, those given as `data`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import shown
from spcastat.engine.inputs import Source, center_and_scale, open_covariance, require_unchanged
from spcastat.engine.missing_values import prepare_with_gaps
from spcastat.errors import DataError, FormulaError, NoRowsError, OptionError, WeightsError
from spcastat.intake import replay
from spcastat.intake.frames import open_table
from spcastat.intake.replay import formula_inputs, replay_both, replay_table
from spcastat.operators import prepare
from spcastat.operators.scaling_groups import stored
from spcastat.state import FitState

if TYPE_CHECKING:
    from spcastat.results.call import Call

#: Relative tolerance for variances of the same data, whose sums may be computed in another order.
SAME = 1e-6


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
    record = state.record
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
        partial, scale = state.spec.partial, stored(record.groups)
        given = None if partial is None else list(partial.spec.columns)
        nearest = record.matrix is not None
        found = open_covariance(data, n_obs=record.n, nearest=nearest, given=given, scale=scale).source("")
    else:
        found = _rows_again(state, data)
    _require_same(state, found)
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
    groups = stored(record.groups)
    center, scale = center_and_scale(standard, groups)
    if how is not None:
        rank = (record.missing or {}).get("rank", 1)
        _, op, rows, gaps = prepare_with_gaps(matrix, None, center, scale, columns, how, rank, index=index)
        found = Source(op.at_unit_size(), state.spec, len(index), standard, rows, index, gaps=gaps)
        return replace(found, groups=groups)
    _, op = prepare(matrix, None, center, scale, columns)
    found = Source(op.at_unit_size(), state.spec, len(index), standard, matrix, index, record.dropped)
    if state.spec.partial is None:
        return replace(found, groups=groups)
    na = "drop" if record.dropped else "raise"
    return replace(found, groups=groups, covariates=replay_both(state.spec, open_table(data), na)[1])


def _require_same(state: FitState, found: Source) -> None:
    """Raise DataError unless the variances are those of the fit."""
    before, now = state.moments.variances, found.op.diagonal() * found.op.unit**2
    if len(before) != len(now) or not np.allclose(now, before, rtol=SAME, atol=SAME * before.max()):
        raise DataError(
            "The variances of data are not those of the fit: give the data that were fitted, without changes."
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
            f"The terms of formula={shown(source.spec.formula)} are estimated from the rows, which is not "
            "possible in draws of rows with missing values. Compute these columns in the data frame first, "
            "and fit without the formula."
        )
    if given is None:
        require_unchanged(fitted, source)
    table = open_table(given if given is not None else fitted)
    if source.dropped:  # includes rows with missing covariates
        keep = np.asarray(replay_table(source.spec, table, "drop")[1])
        table = replace(table, values=table.values[keep], index=table.index[keep])
    return formula_inputs(source.spec, table, "raise")[0]
