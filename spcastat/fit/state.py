"""The state of a fit without its data, and the rule for its supports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from spcastat.errors import NoRowsError, OptionError
from spcastat.fit.inputs import Source
from spcastat.fit.moments import Moments
from spcastat.fit.plan import Plan
from spcastat.fit.record import LastResults, Proven, Record, deep_copy, make_record
from spcastat.fit.run import Fit
from spcastat.labels import full_names, some_of
from spcastat.linalg.operators import Rows
from spcastat.linalg.standardisation import Standardisation
from spcastat.reading.covariance import OF_CODES
from spcastat.reading.design import Spec
from spcastat.reading.missing_values import PpcaModel
from spcastat.reading.row_design import RowDesign
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_method import Joint
from spcastat.search.rule import SupportRule

# --- the state ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FitState:
    """The loadings of a fit and all information about it.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    record : Record
        Method, options and progress of the fit.
    moments : Moments
        Variances and covariances of variables and scores.
    spec : Spec
        How raw data become columns; its `columns` label the variables.
    standard : Standardisation or None
        Centre and scale; None for a covariance matrix given without them.
    scores : DataFrame, n x k, or None
        Scores saved with the fit; for a fit with data they are computed on first use.
    model : PpcaModel or None
        The model that imputes missing values, for a fit with ``na="em"``.
    proofs : tuple of Proven
        Proofs about the fit, one of each kind.
    trust : LastResults
        Results of resampling so far.
    design : RowDesign or None
        Which of the rows belong together.
    pattern : ndarray of shape (p, k), or None
        For a fit of sparse loadings: these loadings, while V has the weights.
    """

    V: np.ndarray
    record: Record
    moments: Moments
    spec: Spec
    standard: Standardisation | None = None
    scores: pd.DataFrame | None = None
    model: PpcaModel | None = None
    proofs: tuple[Proven, ...] = ()
    resampled: LastResults = field(default_factory=LastResults)
    design: RowDesign | None = None
    pattern: np.ndarray | None = None

    @classmethod
    def of(cls, source: Source, plan: Plan, fit: Fit, call: str) -> FitState:
        """Return the state of `fit`, where `call` is the text of the call."""
        return cls.of_source(source, fit.solution.V, make_record(source, plan, fit, call), fit.pca)

    @classmethod
    def of_source(
        cls, source: Source, V: np.ndarray, record: Record, pca: np.ndarray, pattern: np.ndarray | None = None
    ) -> FitState:
        """Return the state of a fit with data; `pca`, its k largest eigenvalues, is in the unit of `op`."""
        check = source.require_same if source.checksum is not None and isinstance(source.op, Rows) else None
        return cls(
            V,
            record,
            Moments(V, source.op, pca, check),
            source.spec,
            source.standard,
            model=None if source.gaps is None else source.gaps.filling,
            design=source.design,
            pattern=pattern,
        )

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk, or the names given by the user."""
        names = self.record.names
        return pd.Index(list(names) if names else [f"PC{i + 1}" for i in range(self.V.shape[1])])

    @property
    def function(self) -> str:
        """The function that fits rows like this; with _cov after its name it fits a covariance matrix."""
        return "spca" if self.pattern is None else "sparse_loadings"

    def by_variable(self, values: Any) -> pd.DataFrame:
        """Return a copy of values of shape (p, k) as a frame of variables and components."""
        return pd.DataFrame(np.array(values), index=deep_copy(self.spec.columns), columns=self.components)

    def no_data(self, what: str) -> NoRowsError:
        """Return the error for the operation `what`, which needs the data, on a fit from a file."""
        return NoRowsError(
            f"{what} needs the data, and a fit from a file does not have them; fit again: {self.record.call}."
        )

    def need_centre(self, what: str) -> Standardisation:
        """Return centre and scale; `what` names the operation for the error message.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix given without `mean`.
        """
        if self.standard is None and (self.record.matrix or {}).get("kind") in OF_CODES:
            raise NoRowsError(
                f"{what} needs variables that the rows have, and {(self.record.matrix or {})['kind']} "
                "correlations are not those of the numbers in the rows: use spca(data, ..., scale=True) for "
                "scores."
            )
        if self.standard is None:
            raise NoRowsError(
                f"{what} needs the mean of the variables, and a covariance matrix does not have it; fit with "
                f"{self.function}_cov(S, ..., mean=..., sd=...) (sd only for a correlation matrix)."
            )
        return self.standard

    def need_model(self, what: str) -> PpcaModel:
        """Return the model of missing values; `what` names the operation for the error message.

        Raises
        ------
        OptionError
            For a fit without ``na="em"``.
        """
        if self.model is None:
            raise OptionError(
                f"{what} needs the model of missing values of a fit with na='em', and this one has "
                "none: fit again with na='em', which also works for complete data; or use na='pairwise' "
                "for the scores whose own variables were all measured."
            )
        return self.model


# --- the rule for supports ------------------------------------------------------------------------


#: A forced loading whose square is below this is reported as negligible.
NEXT_TO_NOTHING = 0.01
#: The rule of disjoint components of all variables, in words.
EVERY = "every variable is in one component"


#: The rules of records, which are asked for many times when a fit is printed.
_RULES: WeakKeyDictionary[Record, SupportRule | None] = WeakKeyDictionary()


def rule_of(record: Record) -> SupportRule | None:
    """Return the rule of a fit, in positions of variables; None without a rule."""
    if record not in _RULES:
        _RULES[record] = _rule_of(record)
    return _RULES[record]


def _rule_of(record: Record) -> SupportRule | None:
    names = ("card", "variance", "include", "exclude", "together")
    options: dict[str, Any] = {name: record.options.get(name) for name in names}
    if grouped(record):
        options["card"] = (1,) * record.k  # the rule uses the number of components only
    return Joint(**options, disjoint=bool(record.options.get("disjoint"))).rule(record.p, record.k)


def grouped(record: Record) -> bool:
    """Return whether the fit searched for groups, with every variable in exactly one component."""
    options = record.options
    return bool(options.get("disjoint")) and options.get("card") is None and options.get("variance") is None


def forced(state: FitState) -> np.ndarray:
    """Return which loadings the rule forces, shape (p, k)."""
    rule = rule_of(state.record)
    return np.zeros(state.V.shape, dtype=bool) if rule is None else rule.must.T


def shares(state: FitState) -> np.ndarray:
    """Return the share of each variable in each component, its squared loading, shape (p, k).

    If the variables of a group enter together, each has the share of its group.
    """
    rule = rule_of(state.record)
    return rule.by_group(state.V.T**2)[:, rule.of].T if isinstance(rule, GroupRule) else state.V**2


def groups_of(state: FitState) -> dict[str, np.ndarray]:
    """Return a dict: name of a group of variables that enter together -> components with it, bool (k,)."""
    given = (state.V != 0) | forced(state)
    groups = state.record.options.get("together") or ()
    return {str(name): given[list(members)].any(axis=0) for name, members in groups}


def rule_words(state: FitState) -> str:
    """Return the rule in words, or "" without a rule.

    For example, "PC1 must have length; no variable is in two components", where length is a variable.
    """
    rule = rule_of(state.record)
    if rule is None:
        return ""
    if grouped(state.record):
        return EVERY
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
    parts += _each(state, names, rule.must, "must have")
    parts += _each(state, names, ~rule.may, "has" if common else "must not have", "no component")
    return "; ".join(parts + [f"no {noun} is in two components"] * rule.disjoint)


def _each(
    state: FitState, names: list[str], asked: np.ndarray, verb: str, common: str = "every component"
) -> list[str]:
    """Return the requirement on each component, or on all at once if it is the same."""
    components = full_names(state.components)
    if len(components) > 1 and (asked == asked[0]).all():
        components, asked = [common], asked[:1]
    named = [[name for name, one in zip(names, own, strict=True) if one] for own in asked]
    return [f"{name} {verb} {some_of(some)}" for name, some in zip(components, named, strict=True) if some]
