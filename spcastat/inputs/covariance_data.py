"""A covariance matrix as the data of a fit: correlations, blocks, and partial matrices."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import listed, nearest, shown
from spcastat.inputs.data import Opened, Source
from spcastat.inputs.opening import files_of, read_whole
from spcastat.inputs.scaling import require_range, scale_of
from spcastat.linalg.operators import Gram, Operator
from spcastat.linalg.regression import partial_covariance
from spcastat.linalg.standardisation import ScalingGroups, Standardisation, matrix_in_blocks
from spcastat.reading.covariance import read_covariance
from spcastat.reading.design import Covariance, Partial, Spec


def open_covariance(
    S: Any,
    *,
    n_obs: int | None = None,
    mean: Any = None,
    sd: Any = None,
    scale: Any = None,
    nearest: Any = False,
    given: Any = None,
    blocks: Any = None,
) -> Opened:
    """Read a covariance matrix; the parameters are those of :func:`spcastat.spca_cov`."""
    by_blocks = isinstance(scale, (str, ScalingGroups)) or blocks is not None
    if not (by_blocks or scale is None or isinstance(scale, (bool, np.bool_))):
        raise errors.OptionError(
            f"scale={shown(scale)} was given for a covariance matrix; give True, False, or 'blocks' or 'raw "
            "blocks' with blocks=. The standard deviations by which transform() divides rows are sd=, and "
            "scale=True takes the correlations of the matrix."
        )
    correlations = not by_blocks and bool(scale)
    S = labelled_matrix(read_whole(S))
    covariance = read_covariance(S, n_obs=n_obs, mean=mean, sd=sd, nearest=nearest)
    if sd is not None and mean is None:
        raise errors.OptionError(
            "sd was given without mean; transform() needs both. Give mean= as well, or leave sd out."
        )
    spec = Spec("frame" if covariance.named else "array", covariance.columns)
    left = covariance.matrix
    if given is not None:
        left, spec = _given(covariance, given, spec)
    op: Operator = Gram(left)
    require_range(op, None, spec.columns)
    op = op.at_unit_size()
    if isinstance(scale, str) and scale == "mixed":
        raise errors.OptionError(
            "scale='mixed' was given for a covariance matrix; give rows to spca(data, ..., scale='mixed')."
        )
    groups = scale_of(scale, blocks, spec.columns) if by_blocks else None
    standard, divisors = _given_standard(covariance), None
    if groups is not None:
        scaled, in_blocks = matrix_in_blocks(op.block(np.arange(op.p)), groups, spec.columns)
        divisors = scaled.scale * op.unit
        if standard is not None:
            standard = replace(standard, scale=divisors, scaling=groups.kind)
        op = in_blocks.at_unit_size()
    elif correlations:
        op, divisors = _correlations(op, spec.columns)
        if standard is not None:
            standard = replace(standard, scale=standard.scale * divisors, scaling="given")
    source = Source(
        op=op,
        spec=spec,
        n=covariance.n_obs,
        standard=standard,
        about=covariance.about,
        groups=groups,
        files=files_of(S),
        divisors=divisors,
    )
    return Opened(op.p, partial(_without_rows, source), data=covariance)


def _given(covariance: Covariance, given: Any, spec: Spec) -> tuple[np.ndarray, Spec]:
    """Return the partial covariance matrix given some of the variables, and the spec of the others."""
    if isinstance(given, pd.Index | np.ndarray):
        names = np.ravel(given).tolist()
    else:
        names = list(given) if isinstance(given, list | tuple) else [given]
    columns = list(spec.columns)
    found = [isinstance(name, Hashable) and name in columns for name in names]
    unknown = [name for name, is_found in zip(names, found, strict=True) if not is_found]
    known = {columns.index(name) for name, is_found in zip(names, found, strict=True) if is_found}
    places = np.array(sorted(known), dtype=int)
    if unknown or not 0 < len(places) < len(columns):
        hint = nearest(unknown[0], spec.columns) if unknown else ""
        raise errors.OptionError(
            f"given={shown(given)} must name some of the variables, not all: {listed(spec.columns)}.{hint}"
        )
    if covariance.mean is not None:
        raise errors.OptionError(
            "mean was given with given=. Leave it out, or fit rows: spca(data, k, formula='~ . | ...')."
        )
    left, regression = partial_covariance(covariance.matrix, places, spec.columns)
    partial = Partial(replace(spec, columns=spec.columns[places]), regression)
    return left, replace(spec, columns=spec.columns.delete(places), partial=partial)


def _given_standard(covariance: Covariance) -> Standardisation | None:
    """Return the centre and scale that were given with a covariance matrix; None without them."""
    if covariance.mean is None:
        return None
    if covariance.scale is None:
        return Standardisation(covariance.mean, np.ones(len(covariance.mean)), "given", "none")
    return Standardisation(covariance.mean, covariance.scale, "given", "given")


def _without_rows(source: Source, rows_for: str = "") -> Source:
    """Return the source of a covariance matrix; raise NoRowsError for a method that needs rows."""
    if rows_for:
        raise errors.NoRowsError(
            f"method={rows_for!r} needs more than a covariance matrix; give the rows to spca(data, ...)."
        )
    return source


def _correlations(op: Operator, columns: pd.Index) -> tuple[Operator, np.ndarray]:
    """Return the correlation matrix of a covariance matrix, and the standard deviations, shape (p,).

    Raises
    ------
    ConstantColumnError
        For a variable without variance.
    """
    deviations = np.sqrt(op.diagonal())
    still = deviations == 0.0
    if still.any():
        raise errors.ConstantColumnError(
            f"scale=True was given, and the variance of {listed(columns[still])} is zero; leave such "
            "variables out of the matrix."
        )
    S = op.block(np.arange(op.p)) / np.outer(deviations, deviations)
    np.fill_diagonal(S, 1.0)
    return Gram(S).at_unit_size(), deviations * op.unit


def labelled_matrix(S: Any) -> Any:
    """Return a matrix from a file, whose rows are unlabelled or numbered, with the names of its columns."""
    if not files_of(S) or S.shape[0] != S.shape[1]:
        return S
    numbered = [str(j) for j in range(len(S) + 1)]  # from 0 as pandas, from 1 as R numbers rows
    labels = [str(label) for label in S.index]
    unnamed = labels in (numbered[:-1], numbered[1:]) and set(labels) != set(map(str, S.columns))
    return S.set_axis(S.columns, axis=0) if unnamed else S
