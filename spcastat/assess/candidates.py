"""The candidates of a choice: three families of fits, their errors and criteria, and the choice among them.

A candidate has equal cardinalities, has cardinalities taken from rotated loadings, or is a partition of the
variables, from which the variables with the smallest loadings may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from spcastat.arguments import one_of
from spcastat.assess.cross_validation import (
    CardinalitySet,
    Errors,
    Fitter,
    Limit,
    by_ebic,
    by_errors,
    cross_validate,
    errors_by_fold,
    path_cards,
)
from spcastat.assess.folds import MOMENTS_VARIABLES, Folds, SparseModel
from spcastat.assess.many_sets import DataSets, pruned, rotated_cards, sets_of, sizes, truncated_rotated
from spcastat.errors import OptionError
from spcastat.fit.method_table import RULE
from spcastat.fit.plan import Plan
from spcastat.inputs.data import Data
from spcastat.linalg.operators import Operator
from spcastat.measures import adjusted_variances
from spcastat.progress import stage
from spcastat.search.climbing import GRAM_LIMIT, SEQUENTIAL
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.joint_method import Joint
from spcastat.search.joint_search import batch_size

#: Criteria and their descriptions; smaller values are better, except for the index of sparseness.
CRITERIA = {
    "cv": "cross-validation",
    "ebic": "EBIC",
    "bic": "BIC",
    "is": "index of sparseness",
    "variance": "share of variance",
}
#: The families of candidates.
FAMILIES = ("equal", "rotated", "partition")


@dataclass(frozen=True)
class Candidate:
    """The number of nonzero loadings, or of groups of variables, in each component.

    Attributes
    ----------
    card : tuple of k ints
    family : {"equal", "rotated", "partition"}
        "equal": all cardinalities are equal; "rotated": they are the numbers of the largest rotated loadings
        in each component; "partition": every variable is in at most one component.
    """

    card: CardinalitySet
    family: str = "equal"

    @property
    def key(self) -> Any:
        """The cardinality if it is the same for all components; otherwise a tuple."""
        return self.card[0] if self.family == "equal" and len(set(self.card)) == 1 else self.card

    @property
    def size(self) -> int:
        """The sum of the cardinalities."""
        return sum(self.card)

    def is_whole(self, p: int) -> bool:
        """Whether the candidate is a partition of all p variables."""
        return self.family == "partition" and self.size == p


@dataclass(eq=False)
class Candidates:
    """Fits of several candidates to the same data.

    Attributes
    ----------
    op : Operator
        Operator of all rows.
    fitter : Fitter
        The fitter of given cardinalities.
    n : float or None
        Number of rows, or sum of their weights; None if not known for a covariance matrix.
    folds : Folds or None
        The folds; None without cross-validation.
    n_jobs : int
    groups : int or None
        Number of groups, if cardinalities count groups of variables.
    found : list of Candidate
        The candidates in the order of the table, by ascending numbers of loadings.
    """

    op: Operator
    fitter: Fitter
    n: float | None
    folds: Folds | None = None
    n_jobs: int = 1
    groups: int | None = None
    found: list[Candidate] = field(default_factory=list)
    fits: dict[Candidate, np.ndarray] = field(default_factory=dict)
    models: dict[Candidate, SparseModel] = field(default_factory=dict)
    press: dict[Candidate, np.ndarray] = field(default_factory=dict)
    dense_errors: Errors | None = None

    @cached_property
    def all_rows(self) -> DataSets:
        """All rows as one data set, whose eigenvectors the families share."""
        return sets_of([self.op], self.fitter.k)

    def add(self, cards: Sequence[CardinalitySet]) -> None:
        """Fit cardinalities, in ascending order, to all rows and to the rows outside each fold."""
        with stage("fits to all rows", len(cards), "fits") as advance:
            (full_fits,) = self.fitter.paths([self.op], cards)
            advance(len(cards))
        candidates = [Candidate(card, "equal" if len(set(card)) == 1 else "rotated") for card in cards]
        errors = None
        if self.folds is not None:
            errors = cross_validate(self.folds, self.fitter, cards, full_fits, True, self.n_jobs)
        self._store(candidates, full_fits, errors)

    def add_partitions(self, numbers: Sequence[int]) -> None:
        """Fit partitions with these numbers of variables to all rows and to the rows outside each fold."""
        k = self.fitter.k
        groups, full_fits = pruned(self.all_rows, k, numbers)
        fitted = partial(_pruned_outside, k, numbers, groups[0])
        self._add_supports("partition", list(full_fits[:, 0]), fitted)

    def add_rotated(self, numbers: Sequence[int]) -> None:
        """Store the largest rotated loadings for all rows and for the rows outside each fold."""
        k = self.fitter.k
        full_fits = truncated_rotated(self.all_rows, k, numbers)
        self._add_supports("rotated", list(full_fits[:, 0]), partial(_rotated_outside, k, numbers))

    def _add_supports(self, family: str, full_fits: Sequence[np.ndarray], fitted: Any) -> None:
        """Store fits of a family to all rows; `fitted` computes the fits to the rows outside each fold."""
        fits = [V[:, np.argsort(-self.op.forms(V), kind="stable")] for V in full_fits]
        candidates = [Candidate(tuple(np.count_nonzero(V, axis=0).tolist()), family) for V in fits]
        errors = None
        if self.folds is not None:
            at_once = batch_size(self.op.p)
            errors = errors_by_fold(self.folds, fitted, at_once, self.n_jobs, "cross-validation")
        self._store(candidates, fits, errors)

    def _store(
        self, candidates: Sequence[Candidate], full_fits: Sequence[np.ndarray], errors: Errors | None
    ) -> None:
        for i, (candidate, V) in enumerate(zip(candidates, full_fits, strict=True)):
            # partitions in which a component has no variables are fits of fewer components
            if candidate in self.fits or min(candidate.card) == 0:
                continue
            self.keep(candidate, V)
            if errors is not None:
                self.press[candidate] = errors.press[:, :, i]
        if errors is not None and self.dense_errors is None:
            self.dense_errors = replace(errors, press=errors.press[:, :, -1:])
        self.found = sorted(
            self.fits,
            key=lambda candidate: (candidate.size, FAMILIES.index(candidate.family), candidate.card),
        )

    def keep(self, candidate: Candidate, V: np.ndarray) -> None:
        """Store a fit to all rows, shape (p, k)."""
        self.fits[candidate] = V
        self.models[candidate] = SparseModel.of(V, self.op, self.fitter.groups(self.op.p))

    @property
    def errors(self) -> Errors:
        """The errors of the candidates, followed by the errors of dense PCA."""
        assert self.dense_errors is not None
        press = [*(self.press[candidate] for candidate in self.found), self.dense_errors.press[:, :, 0]]
        return replace(self.dense_errors, press=np.stack(press, axis=2))

    @property
    def sizes(self) -> list[int]:
        """The sums of the cardinalities."""
        return [candidate.size for candidate in self.found]

    @property
    def cells(self) -> int:
        """The number of all loadings, zero or not, or of all groups of loadings."""
        return (self.groups or self.op.p) * self.fitter.k

    @property
    def dense(self) -> float:
        """The PEV of dense PCA."""
        return float(self.op.leading(self.fitter.k)[0].sum() / self.op.total)

    def criterion(self, by: str, candidate: Candidate) -> float:
        """Return a criterion of one candidate; smaller is better."""
        counts = np.count_nonzero(self.fits[candidate], axis=0)
        model = self.models[candidate]
        if by == "is":
            zeros = 1.0 - counts.sum() / self.fits[candidate].size
            # Gajjar, Kulahci and Palazoglu (2017), "Selection of non-zero loadings in sparse principal
            # component analysis", Chemometrics and Intelligent Laboratory Systems 162
            return -model.span_variance / model.total * self.dense * zeros
        assert self.n is not None
        if by == "bic":
            return bic(model, self.n, counts)
        groups = (self.groups, np.array(candidate.card)) if self.groups else None
        return ebic(model, self.n, counts, groups)

    def apparent(self, candidate: Candidate) -> float:
        """Return the in-sample prediction error, as a share of the variance."""
        model = self.models[candidate]
        return model.press(self.op.diagonal(), self.op.block(model.used)) / self.op.total

    def adjusted(self, candidate: Candidate) -> float:
        """Return the adjusted variance as a share of the total."""
        return float(adjusted_variances(self.fits[candidate], self.op).sum() / self.op.total)


def _pruned_outside(
    k: int, numbers: Sequence[int], start_groups: np.ndarray, ops: list[Operator], _: Any
) -> list[list[np.ndarray]]:
    """Return the pruned partitions outside each fold, followed by dense PCA."""
    sets = sets_of(ops, k)
    return _with_pca(pruned(sets, k, numbers, start_groups)[1], sets.leading(k)[1])


def _rotated_outside(k: int, numbers: Sequence[int], ops: list[Operator], _: Any) -> list[list[np.ndarray]]:
    """Return the largest rotated loadings outside each fold, followed by dense PCA."""
    sets = sets_of(ops, k)
    return _with_pca(truncated_rotated(sets, k, numbers), sets.leading(k)[1])


def _with_pca(V: np.ndarray, dense: np.ndarray) -> list[list[np.ndarray]]:
    """Return the fits of each fold, given V of shape (m, f, p, k) and PCA of shape (f, p, k)."""
    return [[*V[:, i], U] for i, U in enumerate(dense)]


# --- the choice ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selected:
    """The candidate that was chosen, and how others compare.

    Attributes
    ----------
    place, best : int
        Indices of the chosen candidate and of the candidate with the best value.
    price : float
        Required improvement per further loading under the rule "worth", as a share of the mean improvement
        per loading.
    by_division : tuple of int
        Indices of the candidates that the same rule chooses for each division into folds alone; empty without
        cross-validation.
    alike : tuple of int
        Indices of the other candidates whose errors differ from the error of the chosen candidate by at most
        one standard error of the difference, paired by fold; empty without cross-validation.
    """

    place: int
    best: int
    price: float
    by_division: tuple[int, ...] = ()
    alike: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Compared:
    """The fitted candidates, and the choice among them.

    Attributes
    ----------
    found : Candidates
    chosen : Selected
    repeats : int
        Number of divisions into folds.
    groups : int or None
        Number of groups of variables, if cardinalities count groups.
    remark : str
        A sentence that reports how often variables do not vary outside a fold, or "".
    """

    found: Candidates
    chosen: Selected
    repeats: int
    groups: int | None
    remark: str


def select(candidates: Candidates, by: str, rule: str, share: float) -> Selected:
    """Choose one of the candidates.

    Parameters
    ----------
    candidates : Candidates
    by : str
        A key of CRITERIA.
    rule : str
        For "cv" and "ebic": see :func:`spcastat.assess.cross_validation.by_errors`.
    share : float
        The share to keep: for "variance", of the variance that dense PCA explains, and for the rule "keep",
        of the best prediction.
    """
    sizes, limit = candidates.sizes, Limit(candidates.cells, share)
    if by == "cv":
        errors = candidates.errors
        place, best_place = by_errors(errors, sizes, rule, limit)
        sparsest_fit = by_errors(errors, sizes, "paired", limit)[0]
        by_division = tuple(
            by_errors(division_errors, sizes, rule, limit)[0] for division_errors in errors.divisions()
        )
        excess, se = errors.excess(place)
        alike = tuple(i for i in range(len(sizes)) if i != place and abs(excess[i]) <= se[i])
        return Selected(place, best_place, limit.price(sizes[sparsest_fit]), by_division, alike)
    if by == "variance":
        shares = (
            np.array([candidates.adjusted(candidate) for candidate in candidates.found]) / candidates.dense
        )
        best_place = int(np.argmax(shares))
        places = [i for i in range(len(shares)) if shares[i] >= share * (1.0 - 1e-12)]
        place = min(places, key=lambda i: (sizes[i], -shares[i])) if places else best_place
        return Selected(place, best_place, 0.0)
    values = np.array([candidates.criterion(by, candidate) for candidate in candidates.found])
    best_place = int(np.argmin(values))
    if by != "ebic":
        return Selected(best_place, best_place, 0.0)
    apparent = np.array([candidates.apparent(candidate) for candidate in candidates.found])
    place = by_ebic(values, apparent, sizes, rule, limit)[0]
    sparsest_fit = by_ebic(values, apparent, sizes, "1se", limit)[0]
    return Selected(place, best_place, limit.price(sizes[sparsest_fit]))


def table(candidates: Candidates) -> pd.DataFrame:
    """Return a table with one row per candidate: errors, criteria and shares of variance."""
    members, m = candidates.found, len(candidates.found)
    keys = [candidate.key for candidate in members]
    columns: dict[str, Any] = {
        "family": [candidate.family for candidate in members],
        "card": pd.Series(keys, dtype=object if any(isinstance(key, tuple) for key in keys) else None),
        **({"groups": candidates.sizes} if candidates.groups else {}),
        "nonzeros": [int(np.count_nonzero(candidates.fits[candidate])) for candidate in members],
    }
    if candidates.folds is not None:
        errors = candidates.errors
        excess, spread = errors.excess(int(np.argmin(errors.error[:m])))
        columns |= {"error": errors.error[:m], "se": errors.spread(errors.relative)[:m]}
        columns |= {"excess": excess[:m], "excess_se": spread[:m]}
        predicted, predicted_se = errors.predicted()
        explained, largest_share = predicted[:m], predicted.max()  # dense PCA is the last
        columns |= {"predicts": explained, "predicts_se": predicted_se[:m]}
    else:
        explained = 1.0 - np.array([candidates.apparent(candidate) for candidate in members])
        largest_share = explained.max()
        columns["predicts"] = explained
    columns["kept"] = explained.clip(min=0.0) / largest_share if largest_share > 0 else np.full(m, np.nan)
    if candidates.n is not None:
        columns |= {
            by: [candidates.criterion(by, candidate) for candidate in members] for by in ("ebic", "bic")
        }
    columns["is"] = [-candidates.criterion("is", candidate) for candidate in members]
    columns["pev"] = [
        candidates.models[candidate].span_variance / candidates.models[candidate].total
        for candidate in members
    ]
    columns["adjusted"] = [candidates.adjusted(candidate) for candidate in members]
    columns["relative_adjusted"] = np.array(columns["adjusted"]) / candidates.dense
    return pd.DataFrame(columns)


# --- criteria of a fit ----------------------------------------------------------------------------


def ebic(
    model: SparseModel,
    n: float,
    nonzeros: np.ndarray,
    groups: tuple[int, np.ndarray] | None = None,
) -> float:
    """Return the extended BIC of the model of a sparse fit.

    Parameters
    ----------
    model : SparseModel
    n : float
        Number of rows, or sum of their weights.
    nonzeros : ndarray of shape (k,)
        Cardinalities c_j.
    groups : (int, ndarray of shape (k,)), optional
        Number of groups of variables, and number of groups in each component; they replace p and c_j in the
        last term.

    Notes
    -----
    The EBIC is n (log |Sigma| + tr Sigma^-1 S) + sum c_j log n + 2 sum log C(p, c_j) (Chen and Chen 2008,
    "Extended Bayesian information criteria for model selection with large model spaces", with gamma = 1). The
    last term accounts for the number of supports among which the fit was selected.
    """
    p, counts = groups or (model.p, nonzeros)
    choices = gammaln(p + 1) - gammaln(counts + 1) - gammaln(p - counts + 1)
    return model.deviance(n) + float(nonzeros.sum() * np.log(n) + 2.0 * choices.sum())


def bic(model: SparseModel, n: float, nonzeros: np.ndarray) -> float:
    """Return the BIC: log of the mean squared residual + nonzeros log(np) / (np).

    The criterion of Allen and Maletic-Savatic (2011), "Sparse non-negative generalized PCA with applications
    to metabolomics", Bioinformatics 27, is computed for all components at once, with the residuals of the
    projection of X on the span of the loadings.
    """
    cells = n * model.p
    residual_variance = max(model.total - model.span_variance, np.finfo(float).tiny) / model.p
    return float(np.log(residual_variance) + nonzeros.sum() * np.log(cells) / cells)


# --- comparison of families ----------------------------------------------------------------------


#: Equal cardinalities that are compared, besides the number of all variables.
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 65, 80, 100, 150, 200)


@dataclass(frozen=True)
class CandidateTuning:
    """Constants of the number of candidates; benchmarks/results/trust.md shows the resulting choices.

    Attributes
    ----------
    all_cards : int
        Largest number of variables for which all equal cardinalities are compared, not only those in GRID.
    sizes : int
        Number of cardinalities from rotated loadings, and number of partitions.
    repeats : int
        Default number of divisions into folds, if they take little time.
    few_cells : int
        Largest number of cells of the data for which several divisions into folds make a difference, and take
        little time.
    """

    all_cards: int = 15
    sizes: int = 16
    repeats: int = 4
    few_cells: int = 1_000_000


CANDIDATES = CandidateTuning()


@dataclass(frozen=True)
class Settings:
    """The checked arguments of `choose` that determine how cardinalities are chosen.

    Attributes
    ----------
    by : str or None
        The criterion; None for the default of the data.
    rule, family : str
    share : float or None
        The share to keep; None for the default.
    folds : int
    repeats : int or None
        Number of divisions into folds; None for the default.
    jobs, seed : int
    """

    by: Any
    rule: str
    family: str
    share: float | None
    folds: int
    repeats: int | None
    jobs: int
    seed: int

    @property
    def share_kept(self) -> float:
        """The share to keep, for criteria and rules that keep a share."""
        return 0.9 if self.share is None else self.share

    def with_criterion(self, data: Data) -> Settings:
        """Return the settings with a criterion; raise OptionError if `rule` or `share` do not suit it."""
        by = data.usual_criterion if self.by is None else one_of("by", self.by, CRITERIA)
        if by == "cv":
            data.require_folds()
        if self.rule in ("paired", "keep") and by != "cv":
            raise OptionError(
                f"rule={self.rule!r} was given with by={by!r}; it compares predictions of held-out rows, and "
                "requires by='cv'."
            )
        if self.share is not None and self.rule != "keep" and by != "variance":
            raise OptionError(
                f"share={self.share:g} was given without a rule that uses it: add rule='keep'"
                f"{' with by=' + repr('cv') if by != 'cv' else ''} (a share of the best prediction) or "
                "by='variance' (a share of PCA's variance)."
            )
        return replace(self, by=by)


def families_of(
    settings: Settings, plan: Plan, fitting: Mapping[str, Any], cards: Any, k: int, p: int
) -> tuple[str, ...]:
    """Return the families of candidates that are compared."""
    rules = [name for name in (*RULE, "constraint") if fitting.get(name)]
    families: tuple[str, ...] = FAMILIES
    cause = ""
    if cards is not None:
        families, cause = ("equal",), "cards=, which names the candidates"
    elif settings.by not in ("cv", "ebic"):
        families, cause = ("equal",), f"by={settings.by!r}, which compares equal cardinalities"
    elif "together" in rules:
        families, cause = ("equal",), "together=, whose cardinalities count groups"
    elif k == 1:
        families = ("rotated",) if p > MOMENTS_VARIABLES else ("equal",)
    elif rules == ["disjoint"] and isinstance(plan.solver, Joint):
        families, cause = ("partition",), "disjoint=True, which allows partitions only"
    elif rules or not isinstance(plan.solver, Joint):
        option = f"{rules[0]}=" if rules else f"method={plan.method.name!r}"
        if not rules and "method" not in fitting:  # nonnegative fits have another default method
            option = "nonneg=True"
        families, cause = ("equal", "rotated"), f"{option}, for which partitions are not compared"
    elif p > GRAM_LIMIT or k > SEQUENTIAL:  # spca() fits no partitions then
        families = ("equal", "rotated")
        cause = f"{p} variables and {k} components; partitions are for at most {GRAM_LIMIT} and {SEQUENTIAL}"
        if settings.family == "auto" and p > MOMENTS_VARIABLES:
            return ("rotated",)
    return families if settings.family == "auto" or k == 1 else _only(settings.family, families, cause)


def _only(family: str, families: tuple[str, ...], cause: str) -> tuple[str, ...]:
    """Return the requested family; raise an error that names the `cause` if it is not compared."""
    if family not in families:
        raise OptionError(f"family={family!r} was given with {cause}; give family='auto'.")
    return (family,)


def partition_sizes(k: int, p: int) -> list[int]:
    """Return the numbers of variables of the partitions: all numbers if there are few, else some.

    With all numbers, components of 10, 6 and 3 of 30 variables were found exactly; a series of 16 numbers
    contains 18 and 20, but not 19.
    """
    low = min(2 * k, p)
    return list(range(low, p + 1)) if p - low < 2 * CANDIDATES.sizes else sizes(low, p, CANDIDATES.sizes)


def cardinalities_of(candidates: Candidates, families: Sequence[str], cards: Any) -> list[CardinalitySet]:
    """Return the cardinalities that the method fits, in ascending order."""
    k, p = candidates.fitter.k, candidates.groups or candidates.op.p
    if cards is not None:
        return path_cards(cards, k, candidates.op.p)[1]
    cardinalities = set()
    if "equal" in families:
        equal_cards = (
            range(1, p)
            if p <= (2 * CANDIDATES.all_cards if k == 1 else CANDIDATES.all_cards)
            else [card for card in GRID if card < p]
        )
        # with more than MOMENTS_VARIABLES variables, PCA is the only dense fit that is compared
        cardinalities |= {
            (card,) * k for card in (*equal_cards, *((p,) if candidates.op.p <= MOMENTS_VARIABLES else ()))
        }
    if "rotated" in families and p <= MOMENTS_VARIABLES and k > 1:
        cardinalities |= set(rotated_cards(candidates.all_rows, k, sizes(2 * k, p * k, CANDIDATES.sizes)))
    possible_cards = [card for card in cardinalities if _is_possible(candidates.fitter, card)]
    return sorted(possible_cards, key=lambda card: (sum(card), card))


def _is_possible(fitter: Fitter, card: CardinalitySet) -> bool:
    """Return whether loadings always meet the constraint; on scores it needs cards of 1, 2, ... or more."""
    name = None if fitter.solver is None else fitter.solver.constraint
    if name is None or not CONSTRAINTS[name].of_scores:
        return True
    return all(c > j for j, c in enumerate(sorted(card)))


def repeats_of(data: Data, fitter: Fitter, folds: int) -> int:
    """Return the default number of divisions into folds.

    The average over several divisions depends less on the seed. One division is used if the folds are fitted
    one at a time (by another method, under rules or with missing values), if there are many cells, so that
    folds are much alike, and if every fold is one row.
    """
    p, n = data.p, data.n or 0
    slow = fitter.plan is not None or fitter.solver is not None or data.missing is not None
    # the fits of all folds are computed together
    if slow or n <= folds or n * p > CANDIDATES.few_cells:
        return 1
    return int(np.clip(batch_size(p) // (2 * folds), 1, CANDIDATES.repeats))


def fitter_of(plan: Plan, k: int, seed: int) -> Fitter:
    """Return the fitter of candidates: sweeps for the default search, else the method itself."""
    solver = plan.solver
    if not isinstance(solver, Joint):
        return Fitter(k, plan, seed=seed)
    if solver.ruled or solver.constraint is not None:  # sweeps support neither rules nor constraints
        return Fitter(k, objective=solver.objective, seed=seed, solver=solver)
    return Fitter(k, objective=solver.objective, seed=seed)
