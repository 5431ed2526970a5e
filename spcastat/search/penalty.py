"""Search for a target share of PCA's variance, by a common penalty and by removing single nonzeros.

To reach the target, the search maximises a criterion that is largest if the target is reached.

With unit loadings V, V'SV = G and C from `spcastat.search.criteria.triangle`, the part of score i that is
uncorrelated with earlier scores has covariances S V C e_i with the variables, and

    z_ij^2 = ((S V C diag(w) C')_ji / w_i)^2 / r_i^2

is, to first order, the gain from including variable j in component i, where w are the weights of the adjusted
variances r_i^2. A sweep keeps the variables with z^2 above the penalty, with loadings proportional to z. If
the target after component i is not reached, further variables are added according to the cumulative sum of
squares: for a unit score x that is orthogonal to the earlier ones, loadings proportional to x'X_J give a
score whose part uncorrelated with the earlier scores has a variance of at least sum_J (x'X_j)^2. The matrix S
itself is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.linalg.eigenvectors import RELATIVE, TARGET_ROUNDING, symmetric
from spcastat.linalg.operators import Operator
from spcastat.measures import MEASURES
from spcastat.search.chains import distinct, perturb
from spcastat.search.climbing import LONG, SHORT, Effort, climb, reordered, sweep
from spcastat.search.criteria import Adjusted, Fits, SupportRule, join_fits, triangle
from spcastat.search.matrices import TINY, SymmetricMatrix
from spcastat.search.moves import refined, stationary

#: Weight of the total adjusted variance; the targets not yet reached have the remaining weight.
SLACK = 0.05
#: Weights of two targets differ by a factor e if the shares kept differ by this multiple of the target. Half
#: or twice this value changed the number of nonzeros in 3 of 23 fits of four tables, by at most 5 %.
WEIGHT_SCALE = 0.005


@dataclass(frozen=True, eq=False)
class VarianceTarget:
    """A target share of PCA's variance, after every component or for all components together.

    Attributes
    ----------
    share : float
        The target share, above 0 and at most 1.
    cumulative : bool
        Whether the share must be kept after every component, not only by all components together.
    pca : ndarray of shape (k,)
        The leading eigenvalues as shares of the total variance.
    """

    share: float
    cumulative: bool
    pca: np.ndarray

    @property
    def k(self) -> int:
        return len(self.pca)

    @property
    def goals(self) -> np.ndarray:
        """The adjusted variance needed after each component, shape (k,), with an allowance for rounding."""
        goals = (self.share - 0.5 * TARGET_ROUNDING) * np.cumsum(self.pca)
        return goals if self.cumulative else np.where(np.arange(self.k) == self.k - 1, goals, 0.0)

    def kept_shares(self, variances: np.ndarray) -> np.ndarray:
        """Return the share of PCA's variance after each component, shape (..., k), for adjusted variances."""
        return np.cumsum(variances, axis=-1) / np.cumsum(self.pca)

    def holds(self, variances: np.ndarray) -> np.ndarray:
        """Return whether adjusted variances, shape (..., k), reach the target."""
        return np.asarray((np.cumsum(variances, axis=-1) >= self.goals).all(axis=-1))

    def attainment(self, variances: np.ndarray) -> np.ndarray:
        """Return a measure of attainment, shape (...,), for adjusted variances, shape (..., k).

        With f_i the adjusted variance of the first i components and g_i the target, the measure is (1 - a)
        mean of min(f_i / g_i, 1) + a f_k / g_k, where a is SLACK. The first term is largest if all targets
        are reached; the second then increases the margin. With a target only for the total, the measure is
        f_k / g_k.
        """
        parts = np.cumsum(variances, axis=-1) / np.maximum(self.goals, TINY)
        if not self.cumulative:
            return np.asarray(parts[..., -1])
        return np.asarray((1.0 - SLACK) * np.minimum(parts, 1.0).mean(axis=-1) + SLACK * parts[..., -1])

    def weights(self, variances: np.ndarray) -> np.ndarray:
        """Return the weight of the adjusted variance of each component, shape (k,); the first is 1.

        A component counts towards the targets after itself and after all later components, and the weight of
        a target increases with its shortfall.
        """
        if not self.cumulative:
            return np.ones(self.k)
        over = self.kept_shares(variances) / self.share - 1.0
        close = np.exp(-(over - over.min()) / WEIGHT_SCALE)
        counts = np.cumsum(close[::-1])[::-1]
        return np.maximum(counts / counts[0], 1e-3)

    def measured(self, V: np.ndarray, op: Operator) -> np.ndarray:
        """Return the share after each component, shape (k,), from :mod:`spcastat.measures`."""
        return MEASURES["adjusted"](V, op) / np.cumsum(self.pca)

    def true(self, V: np.ndarray, op: Operator) -> bool:
        """Return whether loadings reach the target as computed by :mod:`spcastat.measures`."""
        kept_shares = self.measured(V, op)
        return bool(
            (kept_shares if self.cumulative else kept_shares[-1:]).min() >= self.share - TARGET_ROUNDING
        )


class TargetCriterion(Adjusted):
    """Attainment of a target: the mean attained share plus a small multiple of the total variance."""

    def __init__(self, S: SymmetricMatrix, cards: tuple[int, ...], target: VarianceTarget):
        super().__init__(S, cards)
        self.target = target
        self.goals = np.maximum(target.goals, TINY)

    def holds(self, fits: Fits) -> np.ndarray:
        """Return a mask of the fits that reach the target, shape (B,)."""
        return self.target.holds(self.variances(fits.G))

    def _of(self, variances: np.ndarray) -> np.ndarray:
        return self.target.attainment(variances)

    def _slopes_at(self, G: np.ndarray) -> np.ndarray:
        return self._slopes(self.variances(G))

    def _slopes(self, variances: np.ndarray) -> np.ndarray:
        """Return the derivative of the value with respect to each adjusted variance, shape (B, k)."""
        last_slope = 1.0 / self.goals[-1]
        if not self.target.cumulative:
            return np.full(variances.shape, last_slope)
        short = np.cumsum(variances, axis=-1) < self.goals
        slopes_of_targets = (1.0 - SLACK) / self.k * short / self.goals
        slopes_of_targets[..., -1] += SLACK * last_slope
        return np.cumsum(slopes_of_targets[..., ::-1], axis=-1)[..., ::-1]


# --- one penalty for all loadings -----------------------------------------------------------------


@dataclass(eq=False)
class WithProducts:
    """Loadings and their products.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    F : ndarray of shape (p, k)
        S V divided by the total variance.
    variances : ndarray of shape (k,)
        The adjusted variances, as shares of the total.
    """

    V: np.ndarray
    F: np.ndarray
    variances: np.ndarray

    @property
    def nonzeros(self) -> int:
        return int(np.count_nonzero(self.V))


def with_products(V: np.ndarray, F: np.ndarray) -> WithProducts:
    """Return unit loadings V with their products F = S V, divided by the total variance."""
    return WithProducts(V, F, _triangle(V, F)[1])


def _triangle(V: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return triangle(symmetric(V.T @ F))


#: Share of the nonzeros that the first cut removes.
FIRST_STEP = 0.1


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Sweeps over loadings that must reach a target.

    Attributes
    ----------
    op : Operator
        The data, with p variables.
    target : VarianceTarget
    total : float
        The total variance of all variables, which may exceed the total variance of `op`.
    rule : SupportRule, optional
        The rule whose forced variables are included and whose forbidden variables are not.
    """

    op: Operator
    target: VarianceTarget
    total: float
    rule: SupportRule | None = None

    def start(self, V: np.ndarray) -> WithProducts:
        """Return unit loadings with their products."""
        return with_products(V, self.op.dot(V) / self.total)

    def penalised(self, start: WithProducts, penalty: float, sweeps: int) -> WithProducts:
        """Return loadings after sweeps at one penalty, which is a share of the total variance.

        With a target for every component, variables below the penalty are included if the target is not
        reached without them. The sweeps end when the supports no longer change.
        """
        V, F = start.V.copy(), start.F.copy()
        for _ in range(sweeps):
            previous_support = V != 0
            for i in range(self.target.k):
                self._update(V, F, i, penalty)
            if (previous_support == (V != 0)).all():
                break
        return with_products(V, F)

    def _update(self, V: np.ndarray, F: np.ndarray, i: int, penalty: float) -> None:
        """Replace component i of V and F in place, as described in the docstring of the module."""
        C, variances = _triangle(V, F)
        size = max(float(variances[i]), TINY)
        w = self.target.weights(variances)
        pull = F @ (C @ (w * C[i])) / w[i]
        gain = pull**2 / size
        if not gain.any():
            return
        p, card_limit = len(V), len(V)
        if self.rule is not None:
            gain = np.where(self.rule.must[i], np.inf, np.where(self.rule.may[i], gain, 0.0))
            card_limit = int(self.rule.may[i].sum())
        count = int(np.count_nonzero(gain > penalty))
        order = np.argsort(-gain * (1.0 - RELATIVE * np.arange(p) / p), kind="stable")
        if self.target.cumulative:
            need = self.target.goals[i] - float(variances[:i].sum())
            attained_variance = np.cumsum((F @ C[:, i])[order] ** 2) / size
            count = max(count, int(np.searchsorted(attained_variance, need)) + 1)
        J = order[: min(max(count, 1), card_limit)]
        J = J[pull[J] != 0]
        V[:, i] = 0.0
        V[J, i] = pull[J] / np.linalg.norm(pull[J])
        F[:, i] = self.op.dot(V[:, i]) / self.total

    def polished(self, start: WithProducts, sweeps: int) -> WithProducts:
        """Optimise the loadings on the supports; return the loadings of the sweep with the largest `room`."""
        V, F = start.V.copy(), start.F.copy()
        supports = V != 0
        best_fit = start
        for _ in range(sweeps):
            for i in range(self.target.k):
                C, variances = _triangle(V, F)
                w = self.target.weights(variances)
                pull = np.where(supports[:, i], F @ (C @ (w * C[i])), 0.0)
                if pull.any():
                    V[:, i] = pull / np.linalg.norm(pull)
                    F[:, i] = self.op.dot(V[:, i]) / self.total
            swept_fit = with_products(V.copy(), F.copy())
            if room(self.target, swept_fit) > room(self.target, best_fit):
                best_fit = swept_fit
        return best_fit

    def trimmed(self, fit: WithProducts) -> WithProducts:
        """Return a fit that reaches the target after removing loadings that the rule does not force.

        Loadings are removed first from all components together, then from each component.
        """
        all_components = list(range(self.target.k))
        for components in (
            [all_components, *([i] for i in all_components)] if self.target.cumulative else [all_components]
        ):
            fit = self._cut_components(fit, components)
        return fit

    def _cut_components(self, fit: WithProducts, components: list[int]) -> WithProducts:
        """Remove loadings of some components until removing one more would miss the target."""
        count = max(1, int(FIRST_STEP * np.count_nonzero(fit.V[:, components])))
        for _ in range(60):
            fewer = self._without(fit, components, count)
            if fewer is None:
                return fit
            if not self.target.holds(fewer.variances):
                fewer = self.polished(fewer, 4)
            if self.target.holds(fewer.variances):
                fit = fewer
                count = min(2 * count, max(1, int(FIRST_STEP * np.count_nonzero(fit.V[:, components]))))
            elif count == 1:
                return fit
            else:
                count = max(1, count // 3)
        return fit

    def _without(self, fit: WithProducts, components: list[int], count: int) -> WithProducts | None:
        """Return the fit without the `count` loadings that contribute least; None if none can be removed.

        Each component keeps its largest loading and the loadings that the rule forces.
        """
        removable = fit.V != 0
        removable[np.argmax(np.abs(fit.V), axis=0), np.arange(self.target.k)] = False
        removable[:, np.setdiff1d(np.arange(self.target.k), components)] = False
        if self.rule is not None:
            removable &= ~self.rule.must.T
        if not removable.any():
            return None
        brings = np.where(removable, np.abs(fit.V) * np.sqrt(np.maximum(fit.variances, TINY)), np.inf)
        smallest = np.argsort(brings, axis=None, kind="stable")[: min(count, int(removable.sum()))]
        V = fit.V.copy()
        V.ravel()[smallest] = 0.0
        return self.start(V / np.linalg.norm(V, axis=0))


def room(target: VarianceTarget, fit: WithProducts) -> float:
    """Return the smallest margin over all targets, relative to the target; negative if one is missed."""
    over = target.kept_shares(fit.variances) / target.share - 1.0
    return float(over.min() if target.cumulative else over[-1])


# --- one nonzero less -----------------------------------------------------------------------------


@dataclass(eq=False)
class FitAtCard:
    """A fit and the criterion for its cardinalities."""

    criterion: TargetCriterion
    fit: Fits

    @property
    def value(self) -> float:
        return float(self.fit.value[0])

    @property
    def succeeds(self) -> bool:
        """Whether the fit reaches the target."""
        return bool(self.criterion.holds(self.fit)[0])


@dataclass(eq=False)
class Shrinking:
    """A search that removes nonzeros one at a time as long as the target is reached.

    Attributes
    ----------
    S : SymmetricMatrix
        The covariance matrix divided by the total variance.
    target : VarianceTarget
    effort : Effort
        The settings. Without `kicks`, single nonzeros are removed, and no exchanges are tried.
    rng : numpy Generator
    rule : SupportRule, optional
        The supports that are allowed.
    """

    S: SymmetricMatrix
    target: VarianceTarget
    effort: Effort
    rng: np.random.Generator
    rule: SupportRule | None = None

    def __post_init__(self) -> None:
        no_rule = np.zeros((self.target.k, self.S.m), dtype=bool)
        self.must = no_rule if self.rule is None else self.rule.must
        self._criteria: dict[tuple[int, ...], TargetCriterion] = {}

    def run(self, V: np.ndarray) -> np.ndarray:
        """Return loadings, shape (m, k), with the fewest nonzeros found; V must reach the target."""
        present = self._at_cards_of(V)
        while (fewer := self._fewer(present)) is not None:
            present = fewer
        fit = refined(present.criterion, present.fit, LONG)
        if present.criterion.holds(fit)[0]:
            present = FitAtCard(present.criterion, fit)
        # If every target is exceeded, only the total adjusted variance is maximised. Its stationary point
        # does not depend on rounding in the search.
        total = Adjusted(self.S, present.criterion.cards)
        stationary_fit = stationary(total, total.fits(present.fit.places, present.fit.x))
        return present.criterion.dense(
            stationary_fit if present.criterion.holds(stationary_fit)[0] else present.fit
        )[0]

    def criterion(self, cards: tuple[int, ...]) -> TargetCriterion:
        """Return the criterion for given cardinalities."""
        if cards not in self._criteria:
            self._criteria[cards] = TargetCriterion(self.S, cards, self.target).under(self.rule)
        return self._criteria[cards]

    def _at_cards_of(self, V: np.ndarray) -> FitAtCard:
        membership = (V != 0) | self.must.T  # forced loadings may be zero
        criterion = self.criterion(tuple(int(c) for c in np.count_nonzero(membership, axis=0)))
        supports = [np.flatnonzero(column) for column in membership.T]
        x = np.concatenate([V[J, i] for i, J in enumerate(supports)])
        fit = criterion.fits(np.concatenate(supports)[None], x[None])
        refined_fit = refined(criterion, fit, SHORT)
        return FitAtCard(criterion, refined_fit if criterion.holds(refined_fit)[0] else fit)

    def _fewer(self, present: FitAtCard) -> FitAtCard | None:
        """Return a fit with one nonzero fewer that reaches the target, or None."""
        tries = self._dropped(present)
        fit = _best_success(tries)
        if fit is not None or not self.effort.kicks:
            return fit
        climbed = []
        for trial in tries:
            fits = climb(trial.criterion, trial.fit, self.effort.width, self.effort.valued)
            best_two = np.argsort(-fits.value, kind="stable")[:2]
            climbed.append(FitAtCard(trial.criterion, fits.subset(best_two)))
        fit = _best_success(climbed)
        if fit is not None:
            return fit
        kicked = (self._kicked(trial) for trial in sorted(climbed, key=lambda trial: -trial.value))
        return next((trial for trial in kicked if trial is not None), None)

    def _dropped(self, present: FitAtCard) -> list[FitAtCard]:
        """Return, for each component, the best fits with one nonzero fewer in this component."""
        fits_at_cards = []
        for i, card in enumerate(present.criterion.cards):
            if card == max(1, self.must[i].sum()):
                continue
            cards = tuple(c - (j == i) for j, c in enumerate(present.criterion.cards))
            criterion = self.criterion(cards)
            part = present.criterion.parts[i]
            size = np.where(self.must[i][present.fit.places[0, part]], np.inf, np.abs(present.fit.x[0, part]))
            positions = part.start + np.argsort(size, kind="stable")[: min(30, card - self.must[i].sum())]
            stay = np.array(
                [np.delete(np.arange(present.fit.x.shape[1]), position) for position in positions]
            )
            fits = refined(
                criterion, criterion.fits(present.fit.places[0][stay], present.fit.x[0][stay]), SHORT
            )
            fits = reordered(criterion, fits)
            fits_at_cards.append(
                FitAtCard(criterion, fits.subset(distinct(fits.value, self.effort.climbs // 2)))
            )
        return fits_at_cards

    def _kicked(self, start: FitAtCard) -> FitAtCard | None:
        """Return a fit with the same cardinalities that reaches the target after perturbations, or None."""
        criterion, elite = start.criterion, start.fit
        for _ in range(self.effort.rounds // 4):
            bases = elite.subset(self.rng.integers(0, len(elite), size=self.effort.kicks))
            trial_fits = perturb(criterion, bases, self.rng)
            trial_fits = reordered(criterion, sweep(criterion, trial_fits, self.effort.sweeps))
            trial_fits = trial_fits.subset(distinct(trial_fits.value, self.effort.climbs // 2))
            trial_fits = climb(criterion, trial_fits, self.effort.width, self.effort.valued)
            elite = join_fits([elite, trial_fits])
            elite = elite.subset(distinct(elite.value, 3))
            if criterion.holds(elite)[0]:
                return FitAtCard(criterion, elite)
        return None


def _best_success(tries: list[FitAtCard]) -> FitAtCard | None:
    """Return the best fit that reaches the target."""
    successes = [trial for trial in tries if trial.succeeds]
    return max(successes, key=lambda trial: trial.value, default=None)
