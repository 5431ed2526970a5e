"""Candidate cardinalities: their fits, errors and criteria, and the rules that choose between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from spcastat.assess.cardinalities import CardinalitySet, Fitter
from spcastat.assess.folds import Errors, Folds, cross_validate
from spcastat.assess.refit import SparseModel
from spcastat.fit.run import Fit
from spcastat.linalg.operators import Operator
from spcastat.measures import adjusted_variances
from spcastat.progress import stage

#: The rules; see `by_errors`.
RULES = ("worth", "1se", "paired", "min")
#: Default for `Limit.share`: drops loadings below .45 of the root mean square of their component.
WORTH = 0.2
#: The choice explains at least this share of what the best candidate explains.
LEAST_KEPT = 0.8
#: Difference in EBIC "not worth more than a bare mention": Kass and Raftery (1995), "Bayes factors".
BARE_MENTION = 2.0


@dataclass(frozen=True)
class Limit:
    """The improvement required of further loadings under the rule "worth".

    Attributes
    ----------
    cells : int
        Number of all loadings, variables times components.
    dense : float, optional
        The share of loadings that are nonzero in the best-predicting fit; by default in that of the
        candidates.
    nested : bool
        Whether the fits differ in one component only, which has a single loading in the first fit; then
        only the variance explained by this component counts.
    share : float
        Required improvement per further loading, as a share of the mean improvement per loading of the fit,
        if prediction is best with all loadings.
    least : float
        The share of the variance that a fit must explain unless no other is clearly better, for comparisons
        among some of the candidates.
    """

    cells: int
    dense: float | None = None
    nested: bool = False
    share: float = WORTH
    least: float = 0.0

    def passed(self, errors: np.ndarray, surely: np.ndarray, sizes: np.ndarray, within: int) -> np.ndarray:
        """Return for each of m fits whether no larger fit is worth its further loadings, shape (m,).

        Parameters
        ----------
        errors : ndarray of shape (m,)
            Prediction errors relative to those of the column means.
        surely : ndarray of bool, shape (m, m)
            Whether fit j predicts better than fit i by more than one standard error.
        sizes : ndarray of shape (m,)
            Number of loadings of each fit.
        within : int
            Index of the sparsest fit that predicts as well as the best.

        Notes
        -----
        Let g be the variance explained by a fit with s loadings. A larger fit with s' loadings is worth it if
        it is better by more than one standard error and by more than share sqrt(dense) (s' - s) g / s. If
        prediction is best with all variables, this drops loadings below .45 of the root mean square of their
        component. If it is best with few variables, even small loadings are not noise and are kept.

        A fit that explains less than LEAST_KEPT of what the best explains does not pass if any is clearly
        better: many small improvements add up. Nor does a fit to which one with no more loadings is clearly
        preferred.
        """
        dense = sizes[within] / self.cells if self.dense is None else self.dense
        explained = np.maximum((errors[0] if self.nested else 1.0) - errors, 0.0)
        each = self.share * np.sqrt(dense) * explained / sizes
        further = sizes - sizes[:, None]
        better = surely & (further > 0) & (errors[:, None] - errors > further * each[:, None])
        passed = ~better.any(axis=1) & ~beaten(surely, sizes)
        among_best = ~surely.any(axis=1)
        least = self.least
        if not self.nested:
            least = max(least, LEAST_KEPT * (1.0 - errors[among_best].min()))
        return np.asarray(passed & (among_best | (1.0 - errors >= least)))


def beaten(surely: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return for each of m fits whether one with no more loadings is better, shape (m,).

    Parameters
    ----------
    surely : ndarray of bool, shape (m, m)
        Whether fit j is clearly better than fit i.
    sizes : ndarray of shape (m,)
    """
    return np.asarray((surely & (sizes <= sizes[:, None])).any(axis=1))


def by_errors(errors: Errors, sizes: Sequence[int], rule: str, limit: Limit) -> tuple[int, int]:
    """Return the choice by a rule among cross-validated fits, and the fit with the smallest error.

    Parameters
    ----------
    errors : Errors
        Errors of m fits, which come first in `errors`.
    sizes : sequence of m ints
        Their numbers of loadings; of equal errors, fewer loadings are preferred.
    rule : {"worth", "1se", "paired", "min"}
        The sparsest fit to which no further loadings are worth adding; the sparsest within one standard error
        of the smallest error (Breiman, Friedman, Olshen and Stone 1984); or within that of the difference,
        paired by fold, which is much smaller; or the fit with the smallest error.
    limit : Limit
    """
    m = len(sizes)
    error = errors.error[:m]
    best = min(range(m), key=lambda i: (error[i], sizes[i]))
    away, se = errors.excess(best)
    width = np.full(m, errors.spread(errors.relative)[best]) if rule == "1se" else se[:m]
    within = _sparsest(away[:m] <= width, sizes, error)
    if rule != "worth":
        return (best if rule == "min" else within), best
    passed = limit.passed(error, errors.surely(m), np.array(sizes), within)
    return _sparsest(passed, sizes, error), best


def by_ebic(
    values: np.ndarray, errors: np.ndarray, sizes: Sequence[int], rule: str, limit: Limit
) -> tuple[int, int]:
    """Return the choice by a rule among fits with an EBIC, and the fit with the smallest EBIC.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The EBIC of every fit.
    errors : ndarray of shape (m,)
        Their in-sample prediction errors, as shares of the variance.
    sizes, rule, limit
        See :func:`by_errors`. A difference of 2 in EBIC takes the place of one standard error.
    """
    best = int(np.argmin(values))
    within = _sparsest(values < values[best] + BARE_MENTION, sizes, values)
    if rule != "worth":
        return (best if rule == "min" else within), best
    passed = limit.passed(errors, values[:, None] - values > BARE_MENTION, np.array(sizes), within)
    return _sparsest(passed, sizes, errors), best


def _sparsest(which: np.ndarray, sizes: Sequence[int], errors: np.ndarray) -> int:
    return min(np.flatnonzero(which).tolist(), key=lambda i: (sizes[i], errors[i]))


#: Criteria and their descriptions; smaller values are better, except for the index of sparseness.
CRITERIA = {
    "cv": "cross-validation",
    "ebic": "EBIC",
    "bic": "BIC",
    "is": "index of sparseness",
    "variance": "share of variance",
}


@dataclass(eq=False)
class Candidates:
    """Fits of several cardinalities to the same data, cached.

    Attributes
    ----------
    op : Operator
        Operator of all rows.
    fitter, final : Fitter
        How the candidates are fitted, and how the chosen fit is: as in a plain call of `spca`.
    n : float or None
        Number of rows, or sum of their weights; None if not known for a covariance matrix.
    folds : Folds or None
        None without cross-validation.
    n_jobs : int
    variables : int or None
        Number of variables before screening, if `op` has screened variables only.
    groups : int or None
        Number of groups, if cardinalities count groups of variables.
    """

    op: Operator
    fitter: Fitter
    final: Fitter
    n: float | None
    folds: Folds | None = None
    n_jobs: int = 1
    variables: int | None = None
    groups: int | None = None
    fits: dict[CardinalitySet, np.ndarray] = field(default_factory=dict)
    models: dict[CardinalitySet, SparseModel] = field(default_factory=dict)
    press: dict[CardinalitySet, np.ndarray] = field(default_factory=dict)
    dense_errors: Errors | None = None
    searched: dict[tuple[Fitter, CardinalitySet], Fit] = field(default_factory=dict)

    def add(self, cards: Sequence[CardinalitySet], near: np.ndarray | None = None) -> None:
        """Fit cardinalities that have not been fitted yet, to all rows and without each fold.

        Parameters
        ----------
        cards : sequence of tuples of k ints
        near : ndarray of shape (p, k), optional
            Loadings that may be near the solutions, used as one more start.
        """
        new = [card for card in cards if card not in self.fits]
        if not new:
            return
        with stage("fits to all rows", len(new), "fits") as advance:
            (found,) = self.fitter.paths([self.op], new, [near] * len(new), True)
            advance(len(new))
        for card, V in zip(new, found, strict=True):
            self.keep(card, V)
        if self.folds is None:
            return
        dense = self.dense_errors is None
        errors = cross_validate(self.folds, self.fitter, new, found, dense, self.n_jobs)
        for i, card in enumerate(new):
            self.press[card] = errors.press[:, :, i]
        if dense:
            self.dense_errors = replace(errors, press=errors.press[:, :, -1:])

    def search(self, card: CardinalitySet, quick: bool = False) -> Fit:
        """Return the fit by `final`, cached; with `quick`, by a search of the least effort."""
        fitter = self.final.quick() if quick else self.final
        if (fitter, card) not in self.searched:
            self.searched[fitter, card] = fitter.run(self.op, card)
        return self.searched[fitter, card]

    def keep(self, card: CardinalitySet, V: np.ndarray) -> None:
        """Store a fit to all rows, shape (p, k)."""
        self.fits[card] = V
        self.models[card] = SparseModel.of(V, self.op, self.fitter.groups(self.op.p))

    def errors(self, cards: Sequence[CardinalitySet]) -> Errors:
        """Return the errors of some candidates, followed by those of dense PCA."""
        assert self.dense_errors is not None
        press = np.stack([*(self.press[card] for card in cards), self.dense_errors.press[:, :, 0]], axis=2)
        return replace(self.dense_errors, press=press)

    def of_division(self, cards: Sequence[CardinalitySet], rule: str, number: int) -> int:
        """Return the index of the choice of :func:`by_errors` by one division into folds alone."""
        every, part = self.errors(cards), slice(number, number + 1)
        one = Errors(every.press[part], every.mean[part], every.weight[part])
        return by_errors(one, [sum(card) for card in cards], rule, Limit(self.cells))[0]

    @property
    def cells(self) -> int:
        """The number of all loadings, or of all groups of loadings."""
        return (self.groups or self.op.p) * self.fitter.k

    @property
    def dense(self) -> float:
        """The PEV of dense PCA."""
        return float(self.op.leading(self.fitter.k)[0].sum() / self.op.total)

    def criterion(self, by: str, card: CardinalitySet) -> float:
        """Return a criterion of one candidate; smaller is better."""
        counts = np.count_nonzero(self.fits[card], axis=0)
        model = self.models[card]
        if by == "is":
            zeros = 1.0 - counts.sum() / self.fits[card].size
            # Gajjar, Kulahci and Palazoglu (2017), "Selection of non-zero loadings in sparse principal
            # component analysis", Chemometrics and Intelligent Laboratory Systems 162
            return -model.kept / model.total * self.dense * zeros
        assert self.n is not None
        if by == "bic":
            return bic(model, self.n, counts)
        groups = (self.groups, np.array(card)) if self.groups else None
        return ebic(model, self.n, counts, self.variables, groups)

    def values(self, by: str, cards: Sequence[CardinalitySet]) -> np.ndarray:
        """Return the errors ("cv") or another criterion of some candidates, shape (m,); smaller is better."""
        if by == "cv":
            return self.errors(cards).error[: len(cards)]
        return np.array([self.criterion(by, card) for card in cards])

    def apparent(self, card: CardinalitySet) -> float:
        """Return the in-sample prediction error, as a share of the variance."""
        model = self.models[card]
        return model.press(self.op.diagonal(), self.op.block(model.used)) / self.op.total

    def adjusted(self, card: CardinalitySet) -> float:
        """Return the adjusted variance as a share of the total."""
        return float(adjusted_variances(self.fits[card], self.op).sum() / self.op.total)


def choose(
    found: Candidates, cards: Sequence[CardinalitySet], by: str, rule: str, share: float
) -> tuple[int, int]:
    """Return the indices of the chosen candidate and of the one with the best value.

    Parameters
    ----------
    found : Candidates
    cards : sequence of tuples of k ints
    by : str
        A key of CRITERIA.
    rule : str
        For "cv" and "ebic": see :func:`spcastat.assess.candidates.by_errors`.
    share : float
        For "variance": the share of dense PCA's variance to keep.
    """
    sizes = [sum(card) for card in cards]
    if by == "cv":
        return by_errors(found.errors(cards), sizes, rule, Limit(found.cells))
    if by == "variance":
        kept = np.array([found.adjusted(card) for card in cards]) / found.dense
        most = int(np.argmax(kept))
        enough = [i for i in range(len(cards)) if kept[i] >= share * (1.0 - 1e-12)]
        return (min(enough, key=lambda i: (sizes[i], -kept[i])) if enough else most), most
    values = np.array([found.criterion(by, card) for card in cards])
    if by == "ebic":
        return by_ebic(
            values, np.array([found.apparent(card) for card in cards]), sizes, rule, Limit(found.cells)
        )
    return int(np.argmin(values)), int(np.argmin(values))


def gains_beyond(found: Candidates, cards: Sequence[CardinalitySet], by: str, share: float) -> bool:
    """Return whether fits with more loadings than the last candidate may be better.

    With cross-validation, they may be if dense PCA predicts better by more than one standard error; by other
    criteria, if the last candidate has the best value, or does not keep the share of the variance.

    Parameters
    ----------
    found : Candidates
    cards : sequence of tuples of k ints
        In ascending order.
    by, share
        See :func:`choose`.
    """
    if by == "cv":
        return bool(found.errors(cards[-1:]).surely(2)[0, 1])
    if by == "variance":
        return found.adjusted(cards[-1]) < share * (1.0 - 1e-12) * found.dense
    return int(np.argmin(found.values(by, cards))) == len(cards) - 1


def table(found: Candidates, cards: Sequence[CardinalitySet], keys: Sequence[Any]) -> pd.DataFrame:
    """Return a table with one row per candidate: errors, criteria and shares of variance.

    Parameters
    ----------
    found : Candidates
    cards : sequence of tuples of k ints
    keys : sequence
        Values of the column "card".
    """
    columns: dict[str, Any] = {
        "card": pd.Series(list(keys), dtype=object if any(isinstance(key, tuple) for key in keys) else None),
        **({"groups": [sum(card) for card in cards]} if found.groups else {}),
        "nonzeros": [int(np.count_nonzero(found.fits[card])) for card in cards],
    }
    m = len(cards)
    if found.folds is not None:
        errors = found.errors(cards)
        excess, spread = errors.excess(int(np.argmin(errors.error[:m])))
        columns |= {"error": errors.error[:m], "se": errors.spread(errors.relative)[:m]}
        columns |= {"excess": excess[:m], "excess_se": spread[:m]}
        explained = 1.0 - errors.error[:m]
        most = max(explained.max(), 1.0 - errors.error[-1])  # dense PCA is the last
    else:
        explained = 1.0 - np.array([found.apparent(card) for card in cards])
        most = explained.max()
    columns["kept"] = explained.clip(min=0.0) / most if most > 0 else np.full(m, np.nan)
    if found.n is not None:
        columns |= {by: [found.criterion(by, card) for card in cards] for by in ("ebic", "bic")}
    columns["is"] = [-found.criterion("is", card) for card in cards]
    columns["pev"] = [found.models[card].kept / found.models[card].total for card in cards]
    columns["adjusted"] = [found.adjusted(card) for card in cards]
    columns["relative_adjusted"] = np.array(columns["adjusted"]) / found.dense
    return pd.DataFrame(columns)


def ebic(
    model: SparseModel,
    n: float,
    nonzeros: np.ndarray,
    variables: int | None = None,
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
    variables : int, optional
        Number of variables p before screening, if the model has screened variables only.
    groups : (int, ndarray of shape (k,)), optional
        Number of groups of variables, and number of groups in each component; they replace p and c_j in the
        last term.

    Notes
    -----
    n (log |Sigma| + tr Sigma^-1 S) + sum c_j log n + 2 sum log C(p, c_j): Chen and Chen (2008), "Extended
    Bayesian information criteria for model selection with large model spaces", with gamma = 1. The last term
    accounts for the number of supports among which the fit was selected.
    """
    p, chosen = groups or (variables or model.p, nonzeros)
    choices = gammaln(p + 1) - gammaln(chosen + 1) - gammaln(p - chosen + 1)
    return model.deviance(n) + float(nonzeros.sum() * np.log(n) + 2.0 * choices.sum())


def bic(model: SparseModel, n: float, nonzeros: np.ndarray) -> float:
    """Return log of the mean squared residual + nonzeros log(np) / (np): Allen and Maletic-Savatic (2011).

    "Sparse non-negative generalized PCA with applications to metabolomics", Bioinformatics 27, for all
    components at once; the residual is that of the projection of X on the span of the loadings.
    """
    cells = n * model.p
    left = max(model.total - model.kept, np.finfo(float).tiny) / model.p
    return float(np.log(left) + nonzeros.sum() * np.log(cells) / cells)
