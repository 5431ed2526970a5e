"""The state of a fit without its data: loadings, supports, proofs, moments; copies and pickles of results.

Moments are computed on first use, or read from a file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any, Self

import numpy as np
import pandas as pd

from spcastat.errors import NoRowsError, OptionError
from spcastat.fit.method_table import RULE
from spcastat.fit.plan import Plan
from spcastat.fit.record import Inference, PrincipalSet, Record, deep_copy, make_record
from spcastat.fit.run import Fit
from spcastat.inputs.cleaning import Cleaning
from spcastat.inputs.data import Data, packed_spec
from spcastat.labels import full_names, some_of
from spcastat.linalg.eigenvectors import orthonormalise, symmetric
from spcastat.linalg.operators import Operator, Rows
from spcastat.linalg.standardisation import Standardisation
from spcastat.measures import MEASURES, measure_named, share_of_total
from spcastat.reading.covariance import OF_CODES
from spcastat.reading.design import RowDesign, Spec
from spcastat.reading.missing_values import PpcaModel
from spcastat.search.criteria import SupportRule
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.streams.operator import StreamRows

#: Variables with a larger absolute correlation are near copies of each other.
NEAR_COPY = 0.995
#: The largest number of covariances that are computed at a time.
COPIED_CELLS = 10_000_000


def near_copies(op: Operator, variables: np.ndarray) -> np.ndarray:
    """Return pairs of one of `variables` and a near copy of it, with their correlation, shape (m, 3).

    If both variables of a pair are in `variables`, the pair occurs once, with the smaller position first.
    """
    sd = np.sqrt(np.maximum(op.diagonal(), 0.0))
    pairs: list[np.ndarray] = []
    for batch in np.array_split(variables, max(1, -(-op.p * variables.size // COPIED_CELLS))):
        sizes = np.outer(sd, sd[batch])
        r = np.divide(op.columns(batch), sizes, out=np.zeros_like(sizes), where=sizes > 0)
        partner, variable = np.nonzero(np.abs(r) > NEAR_COPY)
        once = (batch[variable] < partner) | ((batch[variable] > partner) & ~np.isin(partner, variables))
        variable, partner = variable[once], partner[once]
        pairs.append(np.column_stack([batch[variable], partner, r[partner, variable].clip(-1.0, 1.0)]))
    places = np.concatenate(pairs)
    return places[np.lexsort((places[:, 1], places[:, 0]))]


class FitMoments:
    """Variances and covariances of variables and scores, all with the divisor of the variances.

    Parameters
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    op : Operator
        The covariance matrix S and its unit; moments are converted to the unit of the data.
    pca : ndarray of shape (k,)
        The k leading eigenvalues of S, in the unit of the operator.
    check : callable, optional
        Function that is called before the operator is used; it raises an error if the data have changed since
        the fit.
    """

    #: The attributes saved in a file.
    ARRAYS = (
        "total",
        "variances",
        "coupling",
        "scores",
        "adjusted",
        "explained",
        "pca",
        "residual_traces",
        "copies",
        "unit",
    )

    #: The unit of the residual traces; in the unit of the data, the trace of E^3 may overflow.
    unit: float = 1.0

    def __init__(
        self, V: np.ndarray, op: Operator | None, pca: np.ndarray, check: Callable[[], None] | None = None
    ):
        self.V = V
        self._check = check
        self._op = op
        self.unit = 1.0 if op is None else op.unit
        self.pca = pca * self.unit**2
        self._measures: dict[str, np.ndarray] = {}

    @classmethod
    def from_file(
        cls, V: np.ndarray, arrays: Mapping[str, Any], measures: Mapping[str, np.ndarray]
    ) -> FitMoments:
        """Return moments from a file, given the values of ARRAYS and the measures saved with them."""
        moments = cls(V, None, arrays["pca"])
        values = {name: arrays[name] for name in cls.ARRAYS if name in arrays}
        moments.__dict__.update({"residual_traces": None, **values})
        moments._measures = dict(measures)
        return moments

    def without_data(self) -> FitMoments:
        """Return the moments as read from a file: computed, and without the data."""
        if self._op is None:
            return self
        return self.from_file(self.V, *self.file_content())

    def file_content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the contents of a file: the values of ARRAYS, and the available measures."""
        arrays = {name: getattr(self, name) for name in self.ARRAYS}
        return arrays, {name: self.measure(name) for name in self.known_measures()}

    @property
    def op(self) -> Operator:
        """The operator; the fit must have its data."""
        assert self._op is not None
        if self._check is not None:
            self._check()
        return self._op

    @cached_property
    def total(self) -> float:
        """Trace of S."""
        return float(self.op.total) * self.unit**2

    @cached_property
    def variances(self) -> np.ndarray:
        """Variances of the variables, shape (p,)."""
        return np.array(self.op.diagonal(), dtype=float) * self.unit**2

    @cached_property
    def coupling(self) -> np.ndarray:
        """Covariances S V of variables and scores, shape (p, k)."""
        return self.op.dot(self.V) * self.unit**2

    @cached_property
    def scores(self) -> np.ndarray:
        """Covariance matrix V'SV of the scores, shape (k, k)."""
        C = self.V.T @ self.coupling
        return symmetric(C)

    @cached_property
    def adjusted(self) -> np.ndarray:
        """Adjusted variances, shape (k,)."""
        return self._basis[0] * self.unit**2

    @cached_property
    def explained(self) -> np.ndarray:
        """Variance of each variable that regression on all scores explains, shape (p,)."""
        return np.einsum("ij,ij->i", self._basis[1], self._basis[1]) * self.unit**2

    @cached_property
    def copies(self) -> np.ndarray:
        """Pairs of a selected variable and a near copy of it, with their correlation, shape (m, 3).

        Variables are given by position, and a pair of selected variables occurs once. There are no pairs for
        rows in chunks if their covariances would need a pass over the rows, or if the file of the fit does
        not contain them.
        """
        op = self._op
        if op is None or isinstance(op, StreamRows):
            return np.zeros((0, 3))
        return near_copies(op, np.flatnonzero(self.V.any(axis=1)))

    @cached_property
    def _basis(self) -> tuple[np.ndarray, np.ndarray]:
        """Adjusted variances and coupling (see `Operator.score_basis`), in the unit of the operator."""
        return self.op.score_basis(self.V)

    def smaller_products(self) -> np.ndarray | None:
        """Return the smaller of S and the Gram matrix of the rows, both over `unit` squared.

        Both have the same nonzero eigenvalues. None is returned without the data, or if the smaller dimension
        exceeds `GRAM_ORDER`.
        """
        op = self._op
        return None if op is None else op.residual(np.zeros((op.p, 0)))

    @cached_property
    def residual_traces(self) -> np.ndarray | None:
        """Traces of E, E^2 and E^3, shape (3,), of the residual covariance matrix E over `unit` squared.

        Residuals are the rows minus their projection on V. The value is None if the smaller dimension of the
        data exceeds `GRAM_ORDER`.
        """
        residual = self.op.residual(orthonormalise(self.V)[0])
        if residual is None:
            return None
        E = symmetric(residual)
        return np.array([np.trace(E), (E * E).sum(), (E * (E @ E)).sum()])

    def known_measures(self) -> list[str]:
        """Return the names of the available measures: all, or the measures in the file of the fit."""
        return [name for name in MEASURES if self._op is not None or name in self._measures]

    def measure(self, name: str) -> np.ndarray:
        """Return a measure of the first 1, ..., k components, shape (k,).

        Raises
        ------
        NoRowsError
            If the moments are from a file that does not contain the measure.
        """
        if name not in self._measures:
            if self._op is None:
                raise NoRowsError(
                    f"measure {name!r} is not in the file of this fit, which an earlier version wrote, and "
                    "it needs the data: fit again."
                )
            # the cached eigenvalues are passed on, as computing them takes seconds for wide data
            measures = {
                "adjusted": lambda: share_of_total(np.cumsum(self.adjusted) / self.total),
                "relative_adjusted": lambda: np.cumsum(self.adjusted) / np.cumsum(self.pca),
                "least_squares": lambda: share_of_total(
                    np.cumsum((self._basis[1] ** 2).sum(axis=0)) / self.op.total
                ),
                "rre": lambda: np.sqrt((1.0 - self.measure("pev")).clip(min=0.0)),
            }
            compute = measures.get(name, lambda: measure_named(name)(self.V, self.op))
            self._measures[name] = np.asarray(compute(), dtype=float)
        return self._measures[name]


# --- the state ------------------------------------------------------------------------------------

#: Relative tolerance for moments of the same rows: sums may be computed in another order, and rows may be
#: stored in single precision, whose numbers have seven digits.
SAME_MOMENTS = 1e-6
#: Tolerance for variances of one in a correlation matrix, which may be in single precision.
UNIT_ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class FitState:
    """The loadings of a fit and all information about it.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    record : Record
        Method, options and progress of the fit.
    moments : FitMoments
        Variances and covariances of variables and scores.
    spec : Spec
        How raw data are converted to columns; its `columns` label the variables.
    standard : Standardisation or None
        Centre and scale; None for a covariance matrix given without them.
    scores : DataFrame, n x k, or None
        Scores saved with the fit; for a fit with data they are computed on first use.
    model : PpcaModel or None
        The model that imputes missing values, for a fit with ``na="em"``.
    inference : Inference
        The results of resampling and the proofs that the fit shows.
    design : RowDesign or None
        The clusters, strata or blocks of the rows.
    pattern : ndarray of shape (p, k), or None
        For a fit of sparse loadings, these loadings; V then contains the weights.
    rotated : ndarray of shape (p, k), or None
        For method="rotate", the dense loadings before small ones were set to zero.
    principal : PrincipalSet, or None
        For principal variables, the variables kept; V then contains the weights of the k scores.
    cleaning : Cleaning or None
        For ``robust=``, the outlying cells and rows, and the limits for cells of new rows.
    row_labels : pandas.Index or None
        For ``robust=``, the labels of the rows.
    """

    V: np.ndarray
    record: Record
    moments: FitMoments
    spec: Spec
    standard: Standardisation | None = None
    scores: pd.DataFrame | None = None
    model: PpcaModel | None = None
    inference: Inference = field(default_factory=Inference)
    design: RowDesign | None = None
    pattern: np.ndarray | None = None
    rotated: np.ndarray | None = None
    principal: PrincipalSet | None = None
    cleaning: Cleaning | None = None
    row_labels: pd.Index | None = None

    @classmethod
    def of(cls, data: Data, plan: Plan, fit: Fit, call: str) -> FitState:
        """Return the state of `fit`, where `call` is the text of the call."""
        state = cls.of_data(data, fit.solution.V, make_record(data, plan, fit, call), fit.pca)
        return state if fit.solution.rotated is None else replace(state, rotated=fit.solution.rotated)

    @classmethod
    def of_data(
        cls, data: Data, V: np.ndarray, record: Record, pca: np.ndarray, pattern: np.ndarray | None = None
    ) -> FitState:
        """Return the state of a fit with data; `pca` are the k largest eigenvalues, in the unit of `op`."""
        check = data.change_check if isinstance(data.op, Rows) else None
        return cls(
            V,
            record,
            FitMoments(V, data.op, pca, check),
            data.spec,
            data.standard,
            model=None if data.missing is None else data.missing.filling,
            design=data.design,
            pattern=pattern,
            cleaning=data.cleaning,
            row_labels=None if data.cleaning is None else data.row_labels,
        )

    @property
    def has_unit_variances(self) -> bool:
        """Whether all variables have the variance one, as in a correlation matrix."""
        return bool((np.abs(self.moments.variances - 1.0) <= UNIT_ROUNDING).all())

    @property
    def cleaned(self) -> dict[str, bool]:
        """Whether outlying "cells" were replaced, and whether outlying "rows" were left out."""
        cleaning = self.cleaning
        return {
            "cells": cleaning is not None and cleaning.cells and cleaning.pulled > 0,
            "rows": cleaning is not None and len(cleaning.left_out) > 0,
        }

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk, or the names given by the user."""
        names = self.record.names
        return pd.Index(list(names) if names else [f"PC{i + 1}" for i in range(self.V.shape[1])])

    @property
    def function(self) -> str:
        """The name of the function for fits of rows; with the suffix _cov it fits a covariance matrix."""
        if self.principal is not None:
            return "principal_variables"
        return "spca" if self.pattern is None else "sparse_loadings"

    def is_fit_of(self, second_state: FitState) -> bool:
        """Return whether `second_state` is the same fit: equal loadings, variables and variances of scores.

        Names of components, and what the fits show, may differ. Variances are compared with the tolerance
        `SAME_MOMENTS`, since sums may be computed in another order. They distinguish fits whose components
        have one variable each.
        """
        return (
            np.array_equal(self.V, second_state.V)
            and self.spec.columns.equals(second_state.spec.columns)
            and np.allclose(self.moments.scores, second_state.moments.scores, rtol=SAME_MOMENTS, atol=0.0)
        )

    def by_variable(self, values: Any) -> pd.DataFrame:
        """Return a copy of values of shape (p, k) as a frame of variables and components."""
        return pd.DataFrame(np.array(values), index=deep_copy(self.spec.columns), columns=self.components)

    def no_data(self, analysis: str) -> NoRowsError:
        """Return the error for the operation `analysis`, which needs the data, on a fit from a file."""
        return NoRowsError(
            f"{analysis} needs the data, which a fit from a file does not have; fit again: "
            f"{self.record.call}."
        )

    def need_centre(self, analysis: str) -> Standardisation:
        """Return centre and scale; `analysis` names the operation for the error message.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix given without `mean`.
        """
        if self.standard is None and (self.record.matrix or {}).get("kind") in OF_CODES:
            raise NoRowsError(
                f"{analysis} needs the variables of rows, but {(self.record.matrix or {})['kind']} "
                "correlations are not correlations of the numbers in the rows: use spca(data, ..., "
                "scale=True) for scores."
            )
        if self.standard is None:
            raise NoRowsError(
                f"{analysis} needs the means of the variables, which a covariance matrix does not contain; "
                f"fit with {self.function}_cov(S, ..., mean=..., sd=...) (sd only for a correlation matrix)."
            )
        return self.standard

    def need_model(self, analysis: str) -> PpcaModel:
        """Return the model of missing values; `analysis` names the operation for the error message.

        Raises
        ------
        OptionError
            For a fit without ``na="em"``.
        """
        if self.model is None:
            raise OptionError(
                f"{analysis} needs the model of missing values of a fit with na='em', but this fit has none: "
                "fit again with na='em', or use na='pairwise' for scores all of whose variables are "
                "observed."
            )
        return self.model


# --- the rule for supports ------------------------------------------------------------------------


#: A forced loading whose square is below this is reported as negligible.
NEXT_TO_NOTHING = 0.01
#: The description of the rule for disjoint components of all variables.
EVERY_VARIABLE = "every variable is in one component"


@lru_cache(maxsize=8)  # the rule is used many times when a fit is printed
def rule_of(record: Record) -> SupportRule | None:
    """Return the rule of a fit, with variables given by position; None without a rule."""
    if not any(record.options.get(name) for name in RULE):
        return None
    names = ("card", "variance", "include", "exclude", "together")
    options: dict[str, Any] = {name: record.options.get(name) for name in names}
    if grouped(record):
        options["card"] = (1,) * record.k  # the rule uses only the number of components
    return Joint(**options, disjoint=bool(record.options.get("disjoint"))).rule(record.p, record.k)


def grouped(record: Record) -> bool:
    """Return whether the fit searched for groups, with every variable in exactly one component."""
    options = record.options
    return bool(options.get("disjoint")) and options.get("card") is None and options.get("variance") is None


def forced(state: FitState) -> np.ndarray:
    """Return a mask of the loadings that the rule forces into components, shape (p, k)."""
    rule = rule_of(state.record)
    return np.zeros(state.V.shape, dtype=bool) if rule is None else rule.must.T


def shares(state: FitState) -> np.ndarray:
    """Return the share of each variable in each component, its squared loading, shape (p, k).

    If the variables of a group enter together, each variable is given the share of its group.
    """
    rule = rule_of(state.record)
    return rule.by_group(state.V.T**2)[:, rule.of].T if isinstance(rule, GroupRule) else state.V**2


def groups_of(state: FitState) -> dict[str, np.ndarray]:
    """Return a mask of components, bool (k,), for each group of variables that enter together, by name."""
    nonzero = (state.V != 0) | forced(state)
    groups = state.record.options.get("together") or ()
    return {str(name): nonzero[list(members)].any(axis=0) for name, members in groups}


def rule_words(state: FitState) -> str:
    """Return the rule in words, or "" without a rule.

    For example, "PC1 must have length; no variable is in two components", where length is a variable.
    """
    rule = rule_of(state.record)
    if rule is None:
        return ""
    if grouped(state.record):
        return EVERY_VARIABLE
    names, noun, parts = full_names(state.spec.columns), "variable", []
    if isinstance(rule, GroupRule):
        groups = state.record.options["together"]
        names, noun = [str(name) for name, _ in groups], "group"
        several = [str(name) for name, members in groups if len(members) > 1]
        parts = [
            f"card counts groups, {len(names)} in all; the variables of {some_of(several)} enter together"
        ]
        rule = rule.groups
    common = len(rule.may) > 1 and (rule.may == rule.may[0]).all()
    parts += _requirements(state, names, rule.must, "must have")
    parts += _requirements(state, names, ~rule.may, "has" if common else "must not have", "no component")
    return "; ".join(parts + [f"no {noun} is in two components"] * rule.disjoint)


def _requirements(
    state: FitState, names: list[str], masks: np.ndarray, verb: str, common: str = "every component"
) -> list[str]:
    """Return the requirement on each component, or one for all components if it is the same."""
    components = full_names(state.components)
    if len(components) > 1 and (masks == masks[0]).all():
        components, masks = [common], masks[:1]
    names_by_group = [[name for name, is_in in zip(names, mask, strict=True) if is_in] for mask in masks]
    return [
        f"{name} {verb} {some_of(components_named)}"
        for name, components_named in zip(components, names_by_group, strict=True)
        if components_named
    ]


# --- proofs ---------------------------------------------------------------------------------------


def joint_gap(state: FitState, measure: str) -> float:
    """Return the proven gap, in percent, of all components together; NaN without such a proof."""
    gaps = [
        proof.rows[0]["gap"] for proof in state.inference.proofs if proof.kind == ("joint", measure, False)
    ]
    return float(gaps[0]) if gaps else float("nan")


# --- copies and pickles of results ----------------------------------------------------------------
# A pickle includes data in memory, so that `refit` and `residuals` work after loading; `save` does not. Rows
# in chunks are not pickled: the loaded fit behaves like a fit from a file without scores. Dask collections
# are pickled by dask. Copies contain everything, and share the data, which are never changed.


class Picklable:
    """Mixin for results that can be copied and pickled.

    A result stores the data in `_source`, the spec of the columns in `_state`, and the call in `_call`.
    """

    def __init__(self, state: FitState, source: Data | None = None, call: Any = None) -> None:
        self._state = state
        self._source = source
        self._call = call

    def __getstate__(self) -> dict[str, Any]:
        content = {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }
        state, data = content.get("_state"), content.get("_source")
        if state is not None:  # the sentences on how the numbers were chosen are pickled as text
            content["_state"] = replace(state, record=state.record.as_text(), spec=packed_spec(state.spec))
        if data is not None and not data.picklable:
            content |= {"_source": None, "_call": None}
            if state is not None:
                content["_state"] = replace(content["_state"], moments=state.moments.without_data())
        return content

    def _with_state(self, state: FitState) -> Self:
        """Return a copy with another state, whose cached tables are the same."""
        twin: Self = self.__copy__()
        twin.__dict__["_state"] = state
        return twin

    def __copy__(self) -> Any:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        twin = memo[id(self)] = object.__new__(type(self))
        for shared in _shared(self):
            memo[id(shared)] = shared
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin


def _shared(result: Any) -> list[Any]:
    """Return the objects that a deep copy shares with the original: data, their operator, and modules."""
    state, data = (result.__dict__.get(name) for name in ("_state", "_source"))
    shared = [] if data is None else [data, data.op]
    if state is None:
        return shared
    specs = [state.spec] if state.spec.partial is None else [state.spec, state.spec.partial.spec]
    names = [value for spec in specs for value in (spec.context or {}).values()]
    return [*shared, *(value for value in names if isinstance(value, ModuleType))]
