"""A covariance matrix as the data of a fit: correlations, blocks, and partial matrices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import is_label, listed, nearest, plural, shown
from spcastat.inputs.data import Data, packed_spec, require_range, scale_of
from spcastat.linalg.operators import Gram, Operator
from spcastat.linalg.regression import partial_covariance
from spcastat.linalg.standardisation import ScalingGroups, Standardisation, matrix_in_blocks
from spcastat.reading.covariance import read_covariance
from spcastat.reading.design import Covariance, Partial, Spec

if TYPE_CHECKING:
    from spcastat.inputs.noise import Noise, PulledIn
    from spcastat.inputs.samplers import CovarianceSampler, FoldRows


#: Names of options of a covariance matrix.
COVARIANCE_OPTIONS = ("n_obs", "mean", "sd", "scale", "blocks", "nearest", "given")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CovarianceData(Data):
    """A covariance or correlation matrix.

    Attributes
    ----------
    covariance : Covariance
        The matrix after reading and checks.
    variables : Spec
        The variables, without the variables in `given`.
    operator : Operator
    centring : Standardisation or None
        Centre and scale of rows, if known.
    blocks : ScalingGroups or None
        The blocks of variables that were scaled.
    scale : ndarray of shape (p,) or None
        The divisors of the variables, with the option `scale`.
    """

    covariance: Covariance
    variables: Spec
    operator: Operator
    centring: Standardisation | None = None
    blocks: ScalingGroups | None = None
    scale: np.ndarray | None = None

    constructor: ClassVar[str] = "covariance"
    option_names: ClassVar[tuple[str, ...]] = COVARIANCE_OPTIONS
    from_rows: ClassVar[bool] = False
    noun: ClassVar[str] = "a covariance matrix"
    usual_criterion: ClassVar[str] = "ebic"

    @classmethod
    def read(
        cls, S: Any, options: Mapping[str, Any], warns: bool = True, files: Sequence[str] = ()
    ) -> CovarianceData:
        """Read a covariance matrix, with the options of :func:`spcastat.covariance`.

        `files` are the files from which `S` was read; the rows of such a matrix may have no labels.
        """
        scale, blocks = options.get("scale"), options.get("blocks")
        by_blocks = isinstance(scale, (str, ScalingGroups)) or blocks is not None
        _require_scale(scale, by_blocks)
        S = labelled_matrix(S) if files else S
        numbers = {name: options.get(name) for name in ("n_obs", "mean", "sd")}
        covariance = read_covariance(S, **numbers, nearest=options.get("nearest", False))
        if options.get("sd") is not None and options.get("mean") is None:
            raise errors.OptionError(
                "sd was given without mean; transform() needs both. Give mean= as well, or leave sd out."
            )
        spec = Spec("frame" if covariance.named else "array", covariance.columns)
        matrix = covariance.matrix
        if options.get("given") is not None:
            matrix, spec = _partial(covariance, options["given"], spec)
        op: Operator = Gram(matrix)
        require_range(op, None, spec.columns)
        op = op.at_unit_size()
        if isinstance(scale, str) and scale == "mixed":
            raise errors.OptionError(
                "scale='mixed' was given for a covariance matrix; give rows to spca(data, ..., "
                "scale='mixed')."
            )
        groups = scale_of(scale, blocks, spec.columns) if by_blocks else None
        standard, divisors = _given_standard(covariance), None
        if groups is not None:
            scaled, in_blocks = matrix_in_blocks(op.block(np.arange(op.p)), groups, spec.columns)
            divisors = scaled.scale * op.unit
            if standard is not None:
                standard = replace(standard, scale=divisors, scaling=groups.kind)
            op = in_blocks.at_unit_size()
        elif scale:
            op, divisors = _correlations(op, spec.columns)
            if standard is not None:
                standard = replace(standard, scale=standard.scale * divisors, scaling="given")
        return cls(
            options=options,
            table=covariance,
            files=files,
            warns=warns,
            covariance=covariance,
            variables=spec,
            operator=op,
            centring=standard,
            blocks=groups,
            scale=divisors,
        )

    # --- columns and moments -----------------------------------------------------------------------

    @property
    def spec(self) -> Spec:
        return self.variables

    @property
    def op(self) -> Operator:
        return self.operator

    @property
    def standard(self) -> Standardisation | None:
        return self.centring

    @property
    def n(self) -> int | None:
        return self.covariance.n_obs

    @property
    def weight(self) -> float | None:
        return self.covariance.n_obs

    @property
    def groups(self) -> ScalingGroups | None:
        return self.blocks

    @property
    def divisors(self) -> np.ndarray | None:
        return self.scale

    @property
    def size(self) -> str:
        rows = "" if self.n is None else f" from {self.n:,} rows"
        return f"{plural(self.p, 'variable')}{rows}"

    @property
    def about(self) -> Mapping[str, Any]:
        return self.covariance.about

    # --- requests of analyses ----------------------------------------------------------------------

    def for_method(self, method: str) -> CovarianceData:
        if method:
            raise errors.NoRowsError(
                f"method={method!r} needs more than a covariance matrix; give the rows to spca(data, ...)."
            )
        return self

    def rows(self, analysis: str, function: str = "spca") -> Any:
        raise errors.NoRowsError(
            f"{analysis} needs rows, but this is a fit of a covariance matrix: fit the rows with "
            f"{function}(data, ...); for scores alone, give mean= (and sd=) to {function}_cov and use "
            "transform(rows)."
        )

    def require_folds(self) -> None:
        raise errors.NoRowsError(
            "by='cv' was given with a covariance matrix, whose rows cannot be held out; use by='ebic' with "
            "n_obs=, or give the rows."
        )

    def sampler(self, analysis: str, keep_rows: bool = False) -> CovarianceSampler:
        from spcastat.inputs.samplers import covariance_sampler

        n = self.n, self.free
        return covariance_sampler(self.op, self.columns, n, self.about, self.groups, analysis)

    def noise(
        self, seed: int, cells: int, unit: float, terms: np.ndarray | None, pull: bool = True
    ) -> tuple[Noise, PulledIn | None]:
        from spcastat.inputs.noise import covariance_noise

        return covariance_noise(self.op, self.free, self.about.get("kind"), seed, unit), None

    def fold_rows(self, folds: int, repeats: int, seed: int, unit: float, pull: bool = True) -> FoldRows:
        from spcastat.inputs.samplers import of_covariance

        kind = self.about.get("kind")
        return of_covariance(self.op, self.free, kind, folds, repeats, seed, unit)

    def row_parts(
        self, analysis: str, function: str = "spca", task: str = "rows"
    ) -> Iterator[tuple[Any, pd.Index]]:
        return self.rows(analysis, function)  # raises an error

    def scores(self, V: np.ndarray, components: pd.Index, function: str = "spca") -> Any:
        return self.rows("scores", function)

    def fingerprint(self, columns: pd.Index) -> tuple[np.ndarray, np.ndarray]:
        return self.rows("A comparison of rows")  # raises an error

    def changed(self, **changes: Any) -> CovarianceData:
        if not changes:
            return self
        options = self.changed_options(changes)
        return CovarianceData.read(self.covariance, options, warns=False, files=self.files)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "variables": packed_spec(self.variables)}


def _require_scale(scale: Any, by_blocks: bool) -> None:
    """Raise OptionError for a value of `scale` that is valid only for rows."""
    if not (by_blocks or scale is None or isinstance(scale, (bool, np.bool_))):
        raise errors.OptionError(
            f"scale={shown(scale)} was given for a covariance matrix; give True, False, or 'blocks' or 'raw "
            "blocks' with blocks=. sd= gives the standard deviations by which transform() divides rows, and "
            "scale=True uses the correlations of the matrix."
        )


def _partial(covariance: Covariance, given: Any, spec: Spec) -> tuple[np.ndarray, Spec]:
    """Return the partial covariance matrix given some variables, and the spec of the other variables."""
    if isinstance(given, pd.Index | np.ndarray):
        names = np.ravel(given).tolist()
    else:
        names = list(given) if isinstance(given, list | tuple) else [given]
    positions = {name: position for position, name in enumerate(spec.columns)}
    unknown = [name for name in names if not is_label(name) or name not in positions]
    covariates = {positions[name] for name in names if is_label(name) and name in positions}
    places = np.array(sorted(covariates), dtype=int)
    if unknown or not 0 < len(places) < len(positions):
        hint = nearest(unknown[0], spec.columns, names) if unknown else ""
        raise errors.OptionError(
            f"given={shown(given)} was given; it must name at least one of the variables, but not all of "
            f"them: {listed(spec.columns)}.{hint}"
        )
    if covariance.mean is not None:
        raise errors.OptionError(
            "mean= was given with given=, which adjusts the variables; leave mean= out, or fit the rows: "
            "spca(data, k, formula='~ . | ...')."
        )
    partial_matrix, regression = partial_covariance(covariance.matrix, places, spec.columns)
    partial = Partial(replace(spec, columns=spec.columns[places]), regression)
    return partial_matrix, replace(spec, columns=spec.columns.delete(places), partial=partial)


def _given_standard(covariance: Covariance) -> Standardisation | None:
    """Return the centre and scale given with a covariance matrix; None if they were not given."""
    if covariance.mean is None:
        return None
    if covariance.scale is None:
        return Standardisation(covariance.mean, np.ones(len(covariance.mean)), "given", "none")
    return Standardisation(covariance.mean, covariance.scale, "given", "given")


def _correlations(op: Operator, columns: pd.Index) -> tuple[Operator, np.ndarray]:
    """Return the correlation matrix of a covariance matrix, and standard deviations of shape (p,).

    Raises
    ------
    ConstantColumnError
        If the variance of a variable is zero.
    """
    deviations = np.sqrt(op.diagonal())
    still = deviations == 0.0
    if still.any():
        raise errors.ConstantColumnError(
            f"scale=True was given, but the variance of {listed(columns[still])} is zero; leave such "
            "variables out of the matrix."
        )
    S = op.block(np.arange(op.p)) / np.outer(deviations, deviations)
    np.fill_diagonal(S, 1.0)
    return Gram(S).at_unit_size(), deviations * op.unit


def labelled_matrix(S: Any) -> Any:
    """Label the rows of a matrix from a file with the column names, if they are unlabelled or numbered."""
    if not isinstance(S, pd.DataFrame) or S.shape[0] != S.shape[1]:
        return S
    numbered = [str(j) for j in range(len(S) + 1)]  # from 0 as pandas, from 1 as R numbers rows
    labels = [str(label) for label in S.index]
    unnamed = labels in (numbered[:-1], numbered[1:]) and set(labels) != set(map(str, S.columns))
    return S.set_axis(S.columns, axis=0) if unnamed else S
