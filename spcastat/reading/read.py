"""Reading rows with or without a formula, and new rows in the same way; square matrices are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import GAPS, MISSING_TREATMENTS, listed, nearest, one_of, plural, shown, warn
from spcastat.errors import (
    DataError,
    DataWarning,
    DuplicateNamesError,
    FormulaError,
    NewDataError,
    OptionError,
    SpcaError,
    TooFewRowsError,
)
from spcastat.labels import stored_name
from spcastat.linalg.accumulate import is_sparse
from spcastat.linalg.regression import centred_within, regress
from spcastat.reading import formulas, frames
from spcastat.reading.checks import (
    advice_for_complete_rows,
    kinds_of,
    read_weights,
    refuse,
    require_numbers,
    require_rows,
    require_weight,
    rows_to_keep,
)
from spcastat.reading.covariance import (
    ADVICE_OF_DISTANCES,
    DISTANCE_MATRIX,
    MATRIX,
    MATRIX_TOLERANCE,
    completed_matrix,
    looks_like,
    sparse_looks_like,
)
from spcastat.reading.design import (
    DEFAULT_OPTIONS,
    Design,
    Partial,
    ReadOptions,
    RowDesign,
    Spec,
    label_numbers,
    take_labels,
)
from spcastat.reading.expressions import formula_name
from spcastat.reading.frames import InputTable, as_pandas, numbers, open_table
from spcastat.reading.model_matrix import evaluate, evaluate_with_gaps, learnt
from spcastat.reading.value_labels import Codes, codes_of, with_numbers

# --- new rows, read like the rows of the fit ------------------------------------------------------


def replay(spec: Spec, new: Any, *, na: str = "raise") -> tuple[Any, pd.Index]:
    """Convert new data to the columns that `spec` describes.

    If the fit had column names, the columns of a data frame are matched by name, in any order, and others are
    ignored. Arrays and sparse matrices are matched by position, with a warning if the fit had names. If the
    fit had no names, a data frame is matched by position, with a warning unless its names are x1, ..., xp. A
    formula needs names.

    Parameters
    ----------
    spec : Spec
    new : any container that :func:`read_data` accepts, of shape (m, q); one row is enough
    na : {"raise", "drop", "em", "pairwise"}
        What to do with rows that have missing values. "drop" may leave no rows; the last two keep all rows,
        with NaN in the matrix.

    Returns
    -------
    matrix : ndarray of shape (m', p), or scipy.sparse CSC array
        Raw values, float64 or float32. It may share the memory of `new`: do not write to it.
    index : pandas.Index
        The labels of the m' rows that are kept.

    Raises
    ------
    NewDataError
        For missing columns, a different number of columns, an array if a formula needs names, levels that did
        not occur in the fit, or values that a transform does not accept.
    DataError
        ShapeError, ColumnTypeError, DuplicateNamesError, MissingValuesError and InfiniteValuesError as in
        :func:`read_data`; TooFewRowsError if `new` has no rows.
    FormulaError
        If the formula makes missing or infinite values.

    Warns
    -----
    DataWarning
        If columns are matched by position although there are names.
    """
    one_of("na", na, MISSING_TREATMENTS)
    table = open_table(new)
    matrix, keep = replay_table(spec, table, na)
    index = table.index if keep is None else table.index[keep]
    return matrix, index


def replay_table(
    spec: Spec, table: InputTable, na: str, error: type[SpcaError] = NewDataError
) -> tuple[Any, np.ndarray | None]:
    """Convert an opened table to the columns that `spec` describes; see :func:`replay`.

    Parameters
    ----------
    spec : Spec
    table : InputTable
    na : {"raise", "drop", "em", "pairwise"}
    error : type
        The type of error if a formula cannot be evaluated.

    Returns
    -------
    matrix : ndarray of shape (m', p), or scipy.sparse CSC array
    keep : ndarray of shape (m,) or None
        A mask of the m' rows kept; None if all are.
    """
    if spec.partial is not None:
        Y, Z, keep = replay_both(spec, table, na, error)
        return spec.partial.regression.residuals(Y, Z, spec.positions), keep
    if spec.kind == "formula" and spec.model_spec is not None:
        return _formula(spec, table, na, error)
    matrix, columns = _columns(spec, table)
    keep = rows_to_keep(matrix, columns, na)
    if keep is not None:
        matrix = matrix[np.flatnonzero(keep)]
    return matrix, keep


def replay_both(
    spec: Spec, table: InputTable, na: str, error: type[SpcaError] = NewDataError
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Convert an opened table to the variables, before adjustment, and the covariates that `spec` describes.

    Returns
    -------
    Y : ndarray of shape (m', p)
    Z : ndarray of shape (m', q)
    keep : ndarray of shape (m,) or None
        A mask of the m' rows kept, which have no missing values in either; None if all are kept.
    """
    assert spec.partial is not None
    _require_known_groups(spec.partial.spec, table, error)
    replayed = [
        replay_table(part_spec, table, na, error)
        for part_spec in (replace(spec, partial=None), spec.partial.spec)
    ]
    all_rows = np.ones(len(table.index), dtype=bool)
    masks = [all_rows if mask is None else mask for _, mask in replayed]
    keep = masks[0] & masks[1]
    Y, Z = (
        np.asarray(X, dtype=float)[keep[own_mask]] for (X, _), own_mask in zip(replayed, masks, strict=True)
    )
    return Y, Z, None if keep.all() else keep


def _require_known_groups(covariates: Spec, table: InputTable, error: type[SpcaError]) -> None:
    """Raise an error for levels of a covariate that did not occur in the fit, so their means are unknown."""
    if not isinstance(table.values, pd.DataFrame):
        return
    for label, levels in (covariates.inputs or {}).items():
        if levels is None or list(table.columns).count(label) != 1:
            continue
        values = table.values.iloc[:, list(table.columns).index(label)].dropna()
        unseen = [level for level in values.astype(object).unique() if level not in levels]
        if unseen:
            raise error(
                f"Column {str(label)!r} has levels that do not occur in the fit: {listed(unseen)}. The fit "
                "subtracts the mean of each level, which needs rows of that level: fit data that have it, or "
                "subtract the means of new levels yourself and use a fit of rows centred in the same way, "
                "without the covariate."
            )


def spec_for(spec: Spec, places: np.ndarray) -> Spec:
    """Return the spec that reads only those columns of new data that are needed.

    Without transforms, these are the columns at `places`. A formula with transforms is reduced to the terms
    that contain one of these columns, since a term is evaluated as a whole.

    Parameters
    ----------
    spec : Spec
    places : ndarray of int
        Ascending positions of columns of `spec`.

    Returns
    -------
    Spec
        Its `positions` locate its columns among the columns of `spec`; `spec` itself if all are needed.
    """
    model, inputs = spec.model_spec, spec.inputs
    if model is not None:
        if not model.widths:  # from a file of an earlier version
            return spec
        of_column = np.repeat(np.arange(len(model.widths)), model.widths)
        used_columns = np.unique(of_column[places])
        places = np.flatnonzero(np.isin(of_column, used_columns))
        terms = tuple(model.terms[i] for i in used_columns)
        parts, context = {part for term in terms for part in term}, spec.context or {}
        read = {name for part in parts for name in formulas.names_read(part, context)}
        labels = (inputs or {}).items()
        inputs = {label: levels for label, levels in labels if formula_name(label) in read}
        model = replace(model, terms=terms, widths=tuple(model.widths[i] for i in used_columns))
    if len(places) == len(spec.columns):
        return spec
    columns = spec.columns[places]
    return replace(
        spec, columns=columns, model_spec=model, inputs=inputs, whole=spec.columns, positions=places
    )


def _columns(spec: Spec, table: InputTable) -> tuple[Any, pd.Index]:
    """Select columns by name or by position; return them with their labels in the new data."""
    columns = spec.columns if spec.whole is None else spec.whole
    p = len(columns)
    framed = isinstance(table.values, pd.DataFrame)
    table = with_numbers(table, spec.codes)
    if spec.kind == "formula" and not framed:
        _refuse_array(spec)
    if framed and spec.kind in ("frame", "formula"):
        if not table.columns.equals(spec.columns):
            table = _of_columns(table, _find(spec.columns, table.columns, spec))
        _require_rows(table)
        require_numbers(table.values, new=True)
        return numbers(table), spec.columns
    if len(table.columns) != p:
        names = f" ({listed(columns, 4)})" if spec.kind == "frame" else ""
        raise NewDataError(
            f"The new data have {plural(len(table.columns), 'column')}; the fit has {p}{names}. Give the "
            "same columns in the same order."
        )
    _require_rows(table)
    if spec.kind == "frame":
        kind = "a sparse matrix" if is_sparse(table.values) else "an array"
        warn(
            f"The new data are {kind} without names: its {plural(p, 'column is', 'columns are')} taken in "
            "the order of the fit, "
            f"{listed(columns, 4)}. Pass a DataFrame with these columns to be sure.",
            DataWarning,
        )
    elif framed and not table.columns.equals(columns):
        warn(
            f"The fit had no names: the {plural(p, 'column')} {listed(table.columns, 4)} "
            f"{'is' if p == 1 else 'are'} taken by position. Pass "
            "df.to_numpy() if this order is intended.",
            DataWarning,
        )
    if spec.positions is not None:
        table = _of_columns(table, spec.positions)
    return numbers(table), table.columns


def _of_columns(table: InputTable, positions: Any) -> InputTable:
    """Return the table of the columns at these positions."""
    values = table.values.iloc if isinstance(table.values, pd.DataFrame) else table.values
    return replace(table, values=values[:, positions], columns=table.columns[positions])


def _formula(
    spec: Spec, table: InputTable, na: str, error: type[SpcaError]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the columns that a formula with transforms makes from new data, and a mask of the rows kept."""
    inputs, levels = _formula_columns(spec, table)
    model = replace(spec.model_spec, context=spec.context or {})
    missing = inputs.missing() if na in GAPS else {}
    keep = None
    if any(mask.any() for mask in missing.values()):
        with_levels = partial(_with_known_levels, levels_by_name=levels)
        matrix, _, _ = evaluate_with_gaps(model, inputs, missing, table.index, error, with_levels=with_levels)
    else:
        data, keep = formula_inputs(spec, table, na)
        if not len(data):
            return np.empty((0, len(spec.columns))), keep
        index = table.index if keep is None else table.index[keep]
        matrix, _, _ = evaluate(model, data, index, error)
    if matrix.shape[1] != len(spec.columns):
        raise error(
            f"formula={spec.formula!r} makes {matrix.shape[1]} columns of the new data; the fit has "
            f"{len(spec.columns)}. Fit again: the stored formula is not the one that was fitted."
        )
    return matrix, keep


def formula_inputs(spec: Spec, table: InputTable, na: str) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the columns that a formula reads, as input for :func:`spcastat.reading.model_matrix.evaluate`.

    Returns
    -------
    data : DataFrame of m' rows
    keep : ndarray of shape (m,) or None
        A mask of the m' rows kept; None if all are.
    """
    inputs, levels = _formula_columns(spec, table)
    keep = inputs.complete_rows(na)
    inputs = inputs.rows(keep)
    if not len(inputs.frame):
        return pd.DataFrame(), keep
    return _with_known_levels(inputs.plain(), levels), keep


def _formula_columns(
    spec: Spec, table: InputTable
) -> tuple[formulas.Inputs, dict[Any, tuple[Any, ...] | None]]:
    """Return the columns that a formula reads, and their known levels by their names in the formula."""
    if not isinstance(table.values, pd.DataFrame):
        _refuse_array(spec)
    frame = with_numbers(table, spec.codes).values
    positions = _find(spec.inputs or {}, table.columns, spec)
    _require_rows(table)
    levels_by_name = {formula_name(label): levels for label, levels in (spec.inputs or {}).items()}
    used = dict(zip(levels_by_name, positions, strict=True))
    kinds_by_name = kinds_of(frame, [used[name] for name in levels_by_name if levels_by_name[name] is None])
    bad = {position: kind for position, kind in kinds_by_name.items() if kind not in ("number", "other")}
    refuse(frame, bad, new=True)
    # Levels may be numbers, and a column without values has no meaningful type.
    kinds = {name: kinds_by_name.get(position, "levels") for name, position in used.items()}
    return formulas.Inputs(frame, used, kinds), levels_by_name


def _with_known_levels(
    data: pd.DataFrame, levels_by_name: Mapping[Any, tuple[Any, ...] | None]
) -> pd.DataFrame:
    """Convert the factors among the columns to objects in place, after a check of their levels."""
    for name, levels in levels_by_name.items():
        if levels is None or name not in data:
            continue
        data[name] = data[name].astype(object)
        unseen = [level for level in data[name].unique() if level not in levels]
        if unseen:
            raise NewDataError(
                f"Column {str(name)!r} has levels that do not occur in the fit: {listed(unseen)}. The known "
                f"levels are {listed(levels, 12)}. Leave these rows out, or fit data that have these levels."
            )
    return data


def _find(labels: Iterable[Any], columns: pd.Index, spec: Spec) -> list[int]:
    """Return the positions of the wanted labels in `columns`."""
    labels = [np.nan if isinstance(label, float) and np.isnan(label) else label for label in labels]
    requested = set(labels)
    columns_needed = pd.Index(
        [label for label in columns if label in requested], dtype=object, tupleize_cols=False
    )
    twice = columns_needed[columns_needed.duplicated()].unique()
    if len(twice):
        raise DuplicateNamesError(
            f"The new data have more than one column called {listed(twice)}; names must differ."
        )
    place = {label: position for position, label in enumerate(columns)}
    if not requested <= place.keys():
        place = _by_text(columns) | place
    missing = [label for label in labels if label not in place]
    if missing:
        hint = nearest(missing[0], columns, used=labels if spec.whole is None else spec.whole)
        noun = "columns of the fit" if spec.whole is None else "columns that the components use"
        raise NewDataError(
            f"The new data lack {len(missing)} of the {len(labels)} {noun}: {listed(missing)}. "
            f"They have {listed(columns)}.{hint}"
        )
    return [place[label] for label in labels]


def _by_text(columns: pd.Index) -> dict[Any, int]:
    """Return name -> position of columns whose names files store as text, such as dates and bytes."""
    texts = [stored_name(name) for name in columns]
    counts = Counter(texts)
    return {text: position for position, text in enumerate(texts) if counts[text] == 1}


def _refuse_array(spec: Spec) -> None:
    raise NewDataError(
        f"The fit used formula={spec.formula!r}, which needs column names: give a DataFrame with them."
    )


def _require_rows(table: InputTable) -> None:
    if not len(table.index):
        raise TooFewRowsError("The new data have no rows; at least one is needed.")


# --- rows for a fit -------------------------------------------------------------------------------


def read_data(data: Any, reading: ReadOptions = DEFAULT_OPTIONS, *, defer: bool = False) -> Design:
    """Convert data to a checked table of numbers.

    Without a formula all columns are used. Columns and rows keep their order and labels; booleans count as 0
    and 1. The caller's data are never written to. Data up to :data:`spcastat.reading.frames.COPY_LIMIT` bytes
    are copied; larger arrays may be used without a copy, so leave them unchanged as long as the fit is in
    use.

    Parameters
    ----------
    data : DataFrame, ndarray, scipy.sparse matrix or array, polars or pyarrow table, of shape (n, p)
        Sparse data stay sparse. Arrays get the columns x1, ..., xp. The mask of a masked array marks
        missing values.
    reading : ReadOptions
        By default all columns without transformation, and no missing values.
    defer : bool
        Do not check an array above :data:`spcastat.reading.frames.COPY_LIMIT` for missing and infinite
        values, which needs a pass over it. The caller must call ``Design.check`` if a sum over all values is
        not finite.

    Returns
    -------
    Design

    Raises
    ------
    DataError
        Among others ShapeError, TooFewRowsError, ColumnTypeError, DuplicateNamesError,
        MissingValuesError, InfiniteValuesError and WeightsError.
    FormulaError
        For a formula that cannot be parsed or evaluated.
    """
    formula = reading.formula
    table = frames.open_table(data)
    frames.require_unique(table.columns)
    require_rows(len(table.index))
    if reading.codes:
        designs = (reading.weights, reading.clusters, reading.strata)
        labels = [name for name in designs if isinstance(name, str)]
        codes = codes_of(table, labels, ordered_only=reading.categorical == "dummy")
        return _coded(read_data(with_numbers(table, codes).values, replace(reading, codes=False)), codes)
    table, weights = frames.take_weights(table, reading.weights)
    w = None if weights is None else read_weights(weights, table.index, table.labelled)
    if not reading.grouping:
        return _read_rows(table, reading, w, defer)
    table, clusters = take_labels(table, reading.clusters, "clusters", formula is not None)
    if reading.strata is not None and reading.strata is not reading.clusters:
        table, strata = take_labels(table, reading.strata, "strata", formula is not None)
    else:
        strata = None if reading.strata is None else clusters
    sampling = reading.weights_are == "sampling"
    if sampling and w is not None and w.any():  # to mean one, since variances are divided by sum(w) - 1
        w = w * (np.count_nonzero(w) / w.sum())
    design = _read_rows(table, reading, w, defer)
    numbers = label_numbers(clusters, "clusters"), label_numbers(strata, "strata")
    rows = RowDesign(*numbers, reading.block_length, sampling)
    return replace(design, rows=rows.rows(design.kept))


def _coded(design: Design, codes: Codes) -> Design:
    """Return a design whose spec reads columns of categories as numbers."""
    spec, partial = replace(design.spec, codes=codes), design.spec.partial
    if partial is not None:
        spec = replace(spec, partial=replace(partial, spec=replace(partial.spec, codes=codes)))
    return replace(design, spec=spec)


def _read_rows(table: frames.InputTable, reading: ReadOptions, w: np.ndarray | None, defer: bool) -> Design:
    """Read the columns of the table, or the terms of a formula."""
    formula, na = reading.formula, reading.na
    if formula is None:
        return _read_columns(table, None, w, na, defer)
    if not isinstance(table.values, pd.DataFrame):
        kind = "a NumPy array" if isinstance(table.values, np.ndarray) else "sparse data"
        hint = "pd.DataFrame(data, columns=[...])"
        if kind != "a NumPy array":
            hint = "pd.DataFrame.sparse.from_spmatrix(data, columns=[...]), or leave the formula out"
        raise FormulaError(
            f"formula={shown(formula)} was given with {kind}, whose columns have no names; use {hint}."
        )
    design_columns = [name for name in (reading.clusters, reading.strata) if isinstance(name, str)]
    parsed = formulas.parse(formula, table.columns, reading.context or {}, reading.weights, design_columns)
    kinds = formulas.kinds_of(table.values, parsed, reading.categorical)
    if parsed.given is None:
        return _read_formula(table, parsed, kinds, w, na, defer)
    return _read_partial(table, parsed, kinds, w, na)


def _read_partial(
    table: frames.InputTable, parsed: formulas.Parsed, kinds: Mapping[Any, str], w: np.ndarray | None, na: str
) -> Design:
    """Read variables and covariates, keep rows without missing values, and adjust the variables."""
    if na in GAPS:
        raise OptionError(
            f"na={na!r} was given with the covariates of formula={shown(parsed.model.text)}, which need "
            "complete rows. Use na='drop', or fill the rows: spca(data, k, na='em', scale=True).imputed."
        )
    parsed_covariates = parsed.given
    assert parsed_covariates is not None
    covariate_kinds = formulas.kinds_of(table.values, parsed_covariates, "dummy")
    inputs = formulas.Inputs(
        table.values, {**parsed.used, **parsed_covariates.used}, {**kinds, **covariate_kinds}
    )
    with advice_for_complete_rows():
        keep = inputs.complete_rows(na)
    _, w, dropped = _rows(table.index, w, keep)
    if keep is not None:
        table = replace(table, values=inputs.rows(keep).frame, index=table.index[keep])
    design = _read_formula(table, parsed, kinds, w, "raise", False)
    covariates = _read_formula(table, parsed_covariates, covariate_kinds, w, "raise", False)
    Y, Z = np.asarray(design.matrix, dtype=float), np.array(covariates.matrix, dtype=float)
    partial = Partial(covariates.spec, regress(Y, Z, w, design.columns))
    adjusted = frames.unshared(partial.regression.residuals(Y, Z), False)
    spec = replace(design.spec, partial=partial)
    return replace(design, matrix=adjusted, spec=spec, dropped=dropped, shared=False, covariates=Z, kept=keep)


def _read_columns(
    table: frames.InputTable, parsed: formulas.Parsed | None, w: np.ndarray | None, na: str, defer: bool
) -> Design:
    """Read columns without transformation: all of them, or those that a plain formula selects."""
    if parsed is None:
        columns = table.columns
        spec = Spec("frame" if table.named else "array", columns)
        matrix = frames.numbers(table)
    else:
        positions = [parsed.lookups[term[0].text] for term in parsed.model.terms]
        columns = table.columns[positions]
        spec = Spec("formula", columns, formula=parsed.model.text)
        matrix = frames.frame_numbers(table.values, positions)
    if na in GAPS and is_sparse(matrix):
        raise OptionError(f"na={na!r} was given with sparse data; give X.toarray(), or use na='drop'.")
    defer = defer and na == "raise" and isinstance(matrix, np.ndarray) and matrix.nbytes > frames.COPY_LIMIT
    with advice_for_complete_rows(is_sparse(matrix)):
        keep = None if defer else rows_to_keep(matrix, columns, na)
    if keep is not None:
        matrix = matrix[np.flatnonzero(keep)]
    index, w, dropped = _rows(table.index, w, keep)
    matrix_held = frames.unshared(matrix, keep is None)
    shared = keep is None and frames.size_of(matrix_held) > frames.COPY_LIMIT
    return Design(matrix_held, index, spec, w, dropped, shared=shared, kept=keep)


def _read_formula(
    table: frames.InputTable, parsed: formulas.Parsed, kinds: Any, w: np.ndarray | None, na: str, defer: bool
) -> Design:
    """Read the terms of a formula."""
    if parsed.plain and all(kind == "number" for kind in kinds.values()):
        return _read_columns(table, parsed, w, na, defer)
    inputs, keep = formulas.Inputs(table.values, parsed.used, kinds), None
    missing = inputs.missing() if na in GAPS else {}
    if not any(mask.any() for mask in missing.values()):
        keep, missing = inputs.complete_rows(na), {}
    index, w, dropped = _rows(table.index, w, keep)
    matrix, spec = learnt(parsed, inputs.rows(keep), table.columns, index, w, missing)
    return Design(frames.unshared(matrix, False), index, spec, w, dropped, kept=keep)


def _rows(
    index: pd.Index, w: np.ndarray | None, keep: np.ndarray | None
) -> tuple[pd.Index, np.ndarray | None, int]:
    """Return index and weights of the rows in the mask `keep`, and the number of dropped rows."""
    dropped = 0
    if keep is not None:
        dropped = int((~keep).sum())
        index = index[keep]
        w = None if w is None else w[keep]
    require_rows(len(index), dropped)
    if w is not None:
        require_weight(w)
        w.flags.writeable = False
    return index, w, dropped


class FoldedTerms:
    """Read subsets of the rows in the same way as all rows, for cross-validation.

    An instance can be pickled if its context can be pickled.

    The columns of held-out rows are computed with terms that were learned from the other rows only.

    Parameters
    ----------
    data : DataFrame, polars or pyarrow table
    reading : ReadOptions
        With a formula.
    within : ndarray of int, shape (n,), optional
        The number of the cluster of each row, if the covariates subtract the mean of each cluster. Rows are
        then centred by their own cluster; a mask contains all rows of a cluster or none.
    """

    def __init__(self, data: Any, reading: ReadOptions, within: np.ndarray | None = None):
        self.within = within
        table, weights = frames.take_weights(frames.open_table(data), reading.weights)
        assert isinstance(table.values, pd.DataFrame)
        if reading.codes:
            table, reading = with_numbers(table, codes_of(table)), replace(reading, codes=False)
        frame = table.values.set_axis(table.columns, axis=1).reset_index(drop=True)
        if isinstance(weights, pd.Series) and table.labelled:
            weights = weights.reindex(table.index)
        weights = None if weights is None else np.asarray(weights, dtype=float)
        self.na = reading.na if reading.na in GAPS else "raise"
        design = read_data(frame, reading.on_other_rows(weights=weights))
        index = design.index.to_numpy()
        self.frame = frame.iloc[index].reset_index(drop=True)
        self.weights = None if weights is None else weights[index]
        self.spec = design.spec

    def __call__(self, mask: np.ndarray) -> tuple[Any, Any]:
        """Return the columns for the rows in a mask, and the same terms computed for all other rows.

        Factors have the levels of all rows.

        Raises
        ------
        DataError
            If a term cannot be learned from the rows in the mask, or computed for the other rows.
        """
        w = None if self.weights is None else self.weights[mask]
        try:
            if self.within is not None:
                return self._centred_within(mask)
            matrix, spec = learnt_again(self.spec, frames.open_table(self.frame[mask]), w, self.na)
            held_out = replay(spec, self.frame[~mask], na=self.na)[0]
        except (NewDataError, FormulaError) as error:
            raise DataError(
                f"The formula cannot be estimated from the rows outside a fold: {error} Make the "
                "columns in the data frame first."
            ) from None
        return matrix, held_out

    def _centred_within(self, row_mask: np.ndarray) -> tuple[Any, Any]:
        """Return the columns for the rows in a mask, and for all others, centred within clusters.

        Covariates that vary within clusters are also regressed out.
        """
        assert self.within is not None
        assert self.spec.partial is not None
        masks = row_mask, ~row_mask
        weights = [None if self.weights is None else self.weights[mask] for mask in masks]
        table = frames.open_table(self.frame[row_mask])
        parts = []
        for spec in (replace(self.spec, partial=None), self.spec.partial.spec):
            values, learnt_spec = learnt_again(spec, table, weights[0], self.na)
            held_out = np.asarray(replay(learnt_spec, self.frame[~row_mask], na=self.na)[0], dtype=float)
            parts.append(
                [
                    centred_within(X, self.within[mask], w)
                    for X, mask, w in zip((values, held_out), masks, weights, strict=True)
                ]
            )
        (Y, Y_out), (Z, Z_out) = parts
        regression = regress(Y, Z, weights[0], self.spec.columns, part=True)
        adjusted = regression.residuals(Y, Z)
        adjusted[:, regression.shares == 1.0] = 0.0  # exact zeros, so that these columns are constant
        return adjusted, regression.residuals(Y_out, Z_out)


def learnt_again(
    spec: Spec, table: InputTable, weights: np.ndarray | None, na: str
) -> tuple[np.ndarray, Spec]:
    """Return the columns that a formula makes from a subset of rows, and the spec learned from these rows.

    Transforms and the regression on covariates learn from these rows; transforms of values that do not vary
    in these rows keep their states. Factors keep their levels.

    Parameters
    ----------
    spec : Spec
        Learned from all rows.
    table : InputTable
        A subset of m rows, without missing values unless `na` is "em" or "pairwise".
    weights : ndarray of shape (m,) or None
    na : {"raise", "em", "pairwise"}

    Returns
    -------
    matrix : ndarray of shape (m, p)
    spec : Spec
    """
    if spec.partial is not None:
        Y, own_mask = learnt_again(replace(spec, partial=None), table, weights, na)
        Z, covariate_mask = learnt_again(spec.partial.spec, table, weights, na)
        regression = regress(Y, Z, weights, spec.columns, part=True)
        adjusted = regression.residuals(Y, Z)
        adjusted[:, regression.shares == 1.0] = 0.0  # exact zeros, so that these columns are constant
        return adjusted, replace(own_mask, partial=Partial(covariate_mask, regression))
    if spec.model_spec is None:
        return np.asarray(replay_table(spec, table, na)[0], dtype=float), spec
    model = replace(spec.model_spec, states={}, context=spec.context or {})
    options: Any = {"weights": weights, "otherwise": spec.model_spec.states}
    inputs, levels = _formula_columns(spec, table)
    missing = inputs.missing() if na in GAPS else {}
    if any(mask.any() for mask in missing.values()):
        matrix, names, model = evaluate_with_gaps(model, inputs, missing, table.index, **options)
    else:
        data = _with_known_levels(inputs.plain(), levels)
        matrix, names, model = evaluate(model, data, table.index, **options)
    if len(names) != len(spec.columns):
        raise FormulaError(
            f"it makes {len(names)} columns of these rows and {len(spec.columns)} of all rows."
        )
    return matrix, replace(spec, model_spec=replace(model, context={}))


# --- square matrices given in place of rows ---------------------------------------------------------


def matrix_kind(data: Any, unlabelled: bool = False) -> str:
    """Return MATRIX or DISTANCE_MATRIX for data that look like such a matrix, and "" for rows.

    Parameters
    ----------
    data : object
        A data frame with equal row and column labels, perhaps with one triangle only; or an array, a sparse
        matrix, or any data frame, if `unlabelled`. Anything else gives "".
    unlabelled : bool
        Whether to examine an array, or a data frame whose rows have no labels of their own.
    """
    data = as_pandas(data)
    framed = isinstance(data, pd.DataFrame)
    try:
        if unlabelled and is_sparse(data):
            return sparse_looks_like(data)
        if not (framed or (unlabelled and isinstance(data, np.ndarray))) or data.ndim != 2:
            return ""
        if data.shape[1] - data.shape[0] not in ((0, 1) if framed else (0,)) or not data.size:
            return ""
        data = completed_matrix(data)[0]
        labelled = framed and data.index.equals(data.columns)
        if data.shape[0] != data.shape[1] or not (labelled or unlabelled):
            return ""
        if framed:
            require_numbers(data)
        elif np.abs(data[0] - data[:, 0]).max() > MATRIX_TOLERANCE * np.abs(data[0]).max():
            return ""  # without reading all of a large array in a file
        S = data.to_numpy(dtype=np.float64, na_value=np.nan) if framed else np.asarray(data, dtype=np.float64)
        return looks_like(S, labelled)
    except Exception:  # a user's class may raise any error
        return ""


def looks_like_covariance(data: Any) -> bool:
    """Whether data with labels look like a covariance matrix; see :func:`matrix_kind`."""
    return matrix_kind(data, False) == MATRIX


#: Advice if a covariance or correlation matrix is given to a function that expects rows.
ADVICE_OF_MATRIX = (
    "give spca_cov(S, ...), sparse_loadings_cov(S, ...) or principal_variables_cov(S, ...), or "
    "covariance=True to choose, choose_k and spca_path"
)


def refuse_covariance(data: Any, from_file: bool = False, advice: str = ADVICE_OF_MATRIX) -> None:
    """Raise DataError if data given as rows look like a covariance, correlation or distance matrix.

    A data frame whose row labels differ from its column labels is accepted as rows.

    Parameters
    ----------
    data : object
    from_file : bool
        Whether a data frame comes from a file.
    advice : str
        The advice for a covariance matrix.
    """
    frame = as_pandas(data)
    framed = isinstance(frame, pd.DataFrame)
    numbered = framed and isinstance(frame.index, pd.RangeIndex)
    kind = matrix_kind(frame, numbered or isinstance(data, np.ndarray) or is_sparse(data))
    if not kind:
        return
    zeros = " with zeros on the diagonal" if kind == DISTANCE_MATRIX else ""
    text = _as_pandas_text(data)
    if kind == DISTANCE_MATRIX:
        advice = ADVICE_OF_DISTANCES
    elif is_sparse(data):
        advice += " (with S = data.toarray())"
    elif numbered and not frame.index.equals(frame.columns) and frame is data:
        advice += " (with S = data.set_axis(data.columns, axis=0) if its rows have no labels)"
    remedy = f"{text}.rename(index='row {{}}'.format)"
    if from_file and numbered:
        remedy = "a DataFrame with labels of the rows"
    raise DataError(
        f"The data, of shape {data.shape}, look like {kind}, square and symmetric{zeros}, but rows should be "
        f"observations: {advice}. "
        f"If the rows are observations, give {remedy}."
    )


def _as_pandas_text(data: Any) -> str:
    """Return the Python expression that converts data called ``data`` to a pandas frame."""
    if isinstance(data, pd.DataFrame):
        return "data"
    if is_sparse(data):
        return "pd.DataFrame.sparse.from_spmatrix(data)"
    return "pd.DataFrame(data)" if isinstance(data, np.ndarray) else "data.to_pandas()"
