"""What reading yields: options of reading, the data read, and the `Spec` by which new data are read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import MISSING, listed, one_of, shown, whole_number
from spcastat.errors import ConstantColumnError, OptionError
from spcastat.linalg.regression import Regression
from spcastat.reading.checks import rows_to_keep
from spcastat.reading.row_design import RowDesign, require_options


@dataclass(frozen=True, eq=False)
class ReadOptions:
    """Options for reading data, from the arguments of a call to the chunks of a stream.

    Attributes
    ----------
    formula : str or None
        One-sided, such as ``"~ a + b + log(c)"`` or ``"~ . - id"``, for data with column names. The
        intercept is left out and factors are coded in full. What follows a bar, as in
        ``"~ . | age + C(sex)"``, are covariates: the columns are then the residuals of regression on them.
        **Formulas run code**: do not take them from strangers. Transforms such as ``scale`` learn from the
        rows that are not dropped. With weights, ``center``, ``scale`` and ``standardize`` count a row of
        weight 2 twice, and other transforms that learn are refused. Terms that depend on other rows without a
        stored state, such as ranks, are refused.
    context : Mapping or None
        Names that the formula may use in addition to the columns.
    weights : str, array-like of shape (n,), or None
        Frequencies: a weight of 2 counts the row twice, and variances are divided by ``sum(w) - 1``. Text is
        the name of a column, which then is not a variable. A Series is aligned by label; with a stream,
        numbers are matched by position over all rows. Rows of weight 0 stay in the table.
    na : {"raise", "drop", "em", "pairwise"}
        What to do with rows that have missing values in the columns used. The last two keep them, with NaN in
        the matrix, and need rows in memory.
    k_em : int or None
        With "em": the rank of the model of missing values; by default that of the fit.
    clusters, strata : str, array-like of shape (n,), or None
        Labels of the rows that belong together, and of the strata of the sample. Text is the name of a
        column, which is a variable only if a formula names it.
    block_length : int, "auto" or None
        Rows are in the order of time and dependent over about as many rows.
    weights_are : {"frequency", "sampling"}
    categorical : {"refuse", "dummy"}
        Whether a formula may use text and categories, as one 0/1 column for each level.

    Raises
    ------
    OptionError
        For an unknown value, or for an option that needs a formula.
    """

    formula: Any = None
    context: Mapping[str, Any] | None = None
    weights: Any = None
    na: Any = "raise"
    categorical: Any = "refuse"
    k_em: Any = None
    clusters: Any = None
    strata: Any = None
    block_length: Any = None
    weights_are: Any = "frequency"

    def __post_init__(self) -> None:
        one_of("na", self.na, MISSING)
        require_options(self.clusters, self.strata, self.block_length, self.weights_are, self.weights)
        if self.k_em is not None:
            object.__setattr__(self, "k_em", whole_number("k_em", self.k_em, 1))
            if self.na != "em":
                raise OptionError(
                    f"k_em={self.k_em} was given with na={self.na!r}; it is the rank of the model of na='em'."
                )
        one_of("categorical", self.categorical, ("refuse", "dummy"))
        if self.context is not None and not isinstance(self.context, Mapping):
            raise OptionError(
                f"context of type {type(self.context).__name__} was given; give a mapping such as {{'f': f}}."
            )
        if self.formula is None and self.categorical == "dummy":
            raise OptionError(
                "categorical='dummy' was given without a formula; formula='~ .' takes all columns."
            )
        if self.formula is None and self.context:
            raise OptionError("context was given without a formula; leave it out, or give a formula.")

    @property
    def grouping(self) -> list[str]:
        """The names of the options that say which rows belong together, as far as they were given."""
        given = [name for name in ("clusters", "strata", "block_length") if getattr(self, name) is not None]
        return [*given, *["weights_are"] * (self.weights_are != "frequency")]

    def on_other_rows(self, **changes: Any) -> ReadOptions:
        """Return the options for some of the rows: without labels that were given for all rows."""
        named = {name: getattr(self, name) for name in ("clusters", "strata")}
        kept = {name: value if isinstance(value, str) else None for name, value in named.items()}
        return replace(self, **{**kept, "block_length": None, "weights_are": "frequency", **changes})


#: The defaults: every column is used unchanged, rows have equal weights, and missing values are an error.
PLAIN = ReadOptions()


@dataclass(frozen=True, eq=False)
class Spec:
    """How raw data were converted to the columns of a design, and how to convert new data the same way.

    Attributes
    ----------
    kind : {"array", "frame", "formula"}
        Whether columns are matched by position, matched by name, or computed by a formula.
    columns : pandas.Index
        The p labels of the design's columns: the user's, if there are any.
    formula : str or None
        The formula as the user wrote it.
    model_spec : spcastat.reading.terms.Model or None
        The terms of the formula with the states of its transforms and factors, for use on new data with the
        names in `context`. None without a formula, and for a formula that only selects columns.
    context : Mapping or None
        The names that the formula uses in addition to the columns.
    inputs : Mapping or None
        The columns that `model_spec` reads -> their levels if they hold text or categories, None otherwise.
    partial : Partial or None
        The covariates that the columns are adjusted for.
    """

    kind: str
    columns: pd.Index
    formula: str | None = None
    model_spec: Any = None
    context: Mapping[str, Any] | None = None
    inputs: Mapping[Hashable, tuple[Any, ...] | None] | None = None
    partial: Partial | None = None

    @property
    def needed(self) -> list[Hashable]:
        """The columns of a frame that are read, including those of the covariates."""
        own = list(self.columns if self.inputs is None else self.inputs)
        return own if self.partial is None else list(dict.fromkeys([*own, *self.partial.spec.needed]))

    @property
    def terms(self) -> dict[str, list[int]] | None:
        """Positions of the columns of each term: term -> positions; None without a formula."""
        if self.model_spec is None or not self.model_spec.widths:
            return None if self.formula is None else {str(name): [j] for j, name in enumerate(self.columns)}
        ends = np.cumsum((0, *self.model_spec.widths)).tolist()
        named = [":".join(part.text for part in term) for term in self.model_spec.terms]
        return {name: list(range(*pair)) for name, pair in zip(named, pairwise(ends), strict=True)}

    @property
    def learns(self) -> bool:
        """Whether computing the columns needs values that were learned from the rows of the fit."""
        return bool(self.partial or (self.model_spec and self.model_spec.states))


@dataclass(frozen=True, eq=False)
class Partial:
    """Covariates, and the regression of the variables on them.

    Attributes
    ----------
    spec : Spec
        How raw data become the q columns of the covariates.
    regression : Regression
    """

    spec: Spec
    regression: Regression

    @property
    def names(self) -> list[str]:
        """The terms of the covariates, as written in the formula."""
        if self.spec.model_spec is None:
            return [str(label) for label in self.spec.columns]
        return [":".join(part.text for part in term) for term in self.spec.model_spec.terms]


@dataclass(frozen=True, eq=False)
class Design:
    """A table of real numbers with its labels. All are finite, apart from missing values if `na` allows them.

    Attributes
    ----------
    matrix : ndarray of shape (n, p), or scipy.sparse CSC array
        Raw values, float64 or float32, neither centred nor scaled. Never written to.
    index : pandas.Index
        The n labels of the rows used.
    spec : Spec
        How the columns were computed.
    weights : ndarray of shape (n,) or None
        Nonnegative weights of the rows used.
    dropped : int
        Number of rows dropped because of missing values.
    shared : bool
        Whether `matrix` shares memory with the caller's data.
    covariates : ndarray of shape (n, q) or None
        The covariates that `matrix` was adjusted for.
    kept : ndarray of bool or None
        Which rows of the data were kept; None if all were.
    rows : RowDesign or None
        Which of the rows belong together.
    """

    matrix: Any
    index: pd.Index
    spec: Spec
    weights: np.ndarray | None = None
    dropped: int = 0
    shared: bool = False
    covariates: np.ndarray | None = None
    kept: np.ndarray | None = None
    rows: RowDesign | None = None

    def check(self) -> None:
        """Raise MissingValuesError or InfiniteValuesError if a value is not finite."""
        rows_to_keep(self.matrix, self.columns, "raise")

    #: The p labels of the columns.
    columns = property(attrgetter("spec.columns"))


@dataclass(frozen=True, eq=False)
class Covariance:
    """A checked covariance or correlation matrix with its labels.

    Attributes
    ----------
    matrix : ndarray of shape (p, p)
        Symmetric, positive semidefinite up to rounding.
    columns : pandas.Index
        The p labels of the variables.
    mean, scale : ndarray of shape (p,) or None
        Subtracted from new rows by `transform`, which then divides by the scale.
    n_obs : int or None
        The number of rows that the matrix was computed from, if known.
    named : bool
        Whether the labels are the user's own.
    about : Mapping
        Facts about its origin: ``kind``, ``n_obs`` and ``n_pairs_min`` from :func:`spcastat.correlation`. If
        the nearest semidefinite matrix replaced the given one, also the ``smallest`` eigenvalue of the given
        matrix, the Frobenius norm of the change (``moved``), the ``largest`` change of a correlation, and the
        ``pair`` of variables with that change.
    """

    matrix: np.ndarray
    columns: pd.Index
    mean: np.ndarray | None = None
    scale: np.ndarray | None = None
    n_obs: int | None = None
    named: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)


def factor_columns(design: Design) -> dict[str, np.ndarray]:
    """Return the positions of the indicator columns of each factor, by the name of the factor.

    Parameters
    ----------
    design : Design
        Its rows must be dense if it has factors.

    Raises
    ------
    OptionError
        For interactions with a factor, and for contrasts other than one indicator for each level.
    ConstantColumnError
        For a factor with one level, and for levels that occur only in rows of weight zero.
    """
    model = design.spec.model_spec
    if model is None:
        return {}
    labels, found = [str(label) for label in design.spec.columns], {}
    for term in model.terms:
        parts = [part.text for part in term if part.method != "literal"]
        if not set(parts) & set(model.encodings):
            continue
        name = ":".join(parts)
        places = np.array([j for j, label in enumerate(labels) if label.startswith(f"{name}[")], dtype=int)
        X = np.asarray(design.matrix)[:, places]
        if len(parts) > 1 or not (np.isin(X, (0.0, 1.0)).all() and (X.sum(axis=1) == 1.0).all()):
            raise OptionError(
                f"scale='mixed' was given with the term {shown(name)}, whose columns are not one indicator "
                "for each level of one factor. Make a column of the combined levels, or leave the term out."
            )
        shares = np.average(X, axis=0, weights=design.weights)
        if shares.max() == 1.0:
            raise ConstantColumnError(
                f"Factor {shown(name)} has one level only in the rows with a positive weight. Leave it out."
            )
        if shares.min() == 0.0:
            empty = [labels[j] for j in places[shares == 0.0]]
            raise ConstantColumnError(
                f"Only rows of weight zero have {listed(empty)}. Leave these rows out for scale='mixed'."
            )
        found[name] = places
    return found
