"""The default method "joint" as a solver: a search over the supports of all components together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spcastat.linalg.eigenvectors import HALF_DIGITS, symmetric
from spcastat.linalg.operators import Operator
from spcastat.search.chains import Searched, SearchResult
from spcastat.search.climbing import GRAM_LIMIT, VALUE_TOLERANCE
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.criteria import SupportRule
from spcastat.search.equal_variables import first_of_equals, first_order, first_single_variables
from spcastat.search.grouped import GroupRule, with_zero
from spcastat.search.objectives import ADJUSTED, OBJECTIVES
from spcastat.solvers.solver import BatchSolver, Constrained, Grouping, Solution, Sparser

if TYPE_CHECKING:
    from spcastat.search.partition import Grouped
    from spcastat.search.sparsest import Sparsest

#: The smallest share of the total variance at which the remainder may be rounding error.
EVERYTHING = 1.0 - HALF_DIGITS


@dataclass(frozen=True)
class Joint(BatchSolver):
    """The largest value of the objective over the loadings of all components, with given cardinalities.

    Independent searches exchange single variables from many starts, and perturb fits that no exchange
    improves, until they agree. The result reports how often the best fit was found. A single component has
    the best support that exchanges find. With `variance` instead of `card`, the method searches for the
    fewest nonzeros that keep this share of the variance that PCA explains.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    variance : float
        Share of the variance explained by PCA that the adjusted variance must keep (to 1e-10), with as few
        nonzeros as the search finds.
    promise : {"every", "total"}
        For `variance`: whether the share is kept after every component (the default) or by all components
        together.
    include, exclude : list, or mapping from components to lists
        Names of variables that every component must include (`include`) or must not include (`exclude`); a
        mapping (``{"PC1": ["age"]}``) specifies them for single components. An excluded variable still counts
        in the total variance, and in the share `variance`.
    disjoint : bool
        Whether each variable is in at most one component. Without `card` and `variance`, every variable is in
        exactly one component, and the method searches for the groups. The default objective is then PEV, and
        for up to 16 variables the groups are the best of all partitions. For the other two objectives all
        partitions are also compared, unless more than 40000 (with effort="thorough" 400000, with "quick"
        5000) have to be fitted; the loadings of each partition are the best of a few climbs. The summary
        reports whether all were compared.
    together : "terms", or mapping from names to lists
        Groups of variables that enter a component together; `card` then counts groups. "terms" uses the terms
        of the formula, such as the levels of a factor. With a mapping, ``{"size": ["a", "b"]}``, each
        variable that is not named is a separate group.
    objective : {"adjusted", "pev", "least_squares"}
        The measure to maximise: the variance of the scores, where each component counts only what it adds to
        the earlier ones; the reconstruction of the variables from the loadings; or their prediction from the
        scores. The first is the default; its optimum loses least on the other two measures, and `variance`
        refers to it. With `disjoint` alone the default is "pev", since adjusted variance is largest with one
        general group and a few small ones.
    constraint : {"uncorrelated", "orthogonal"}, optional
        With `card`: exactly uncorrelated scores, for the objective "adjusted" (then the default) or
        "least_squares"; or exactly orthogonal loadings, for "pev". The printed output states the loss due to
        the constraint. Scores of new rows are only approximately uncorrelated.
    effort : {"quick", "auto", "thorough"}
        How long to search: from few starts, without perturbed fits; until independent searches agree; or
        until more searches agree, with more starts and more exchanges.
    """

    card: tuple[int, ...] | None = None
    variance: float | None = None
    promise: str | None = None
    include: tuple[tuple[Any, ...], ...] | None = None
    exclude: tuple[tuple[Any, ...], ...] | None = None
    disjoint: bool = False
    together: tuple[tuple[str, tuple[Any, ...]], ...] | str | None = None
    objective: str = "adjusted"
    constraint: str | None = None
    effort: str = "auto"

    criterion = "adjusted variance"
    out_of_core = True
    units = (("objective", 2), ("first eigenvalue", 2), ("second eigenvalue", 2))

    @property
    def own_order(self) -> bool:  # type: ignore[override]
        """Whether the search determines the order of the components."""
        ordered = OBJECTIVES[self.objective].ordered and self.constraint is None
        return self.variance is not None or ordered

    @property
    def measured_by_pca(self) -> bool:  # type: ignore[override]
        """Whether the fit depends on the variance that PCA explains."""
        return self.variance is not None

    @property
    def grouped(self) -> bool:
        """Whether every variable is in exactly one component."""
        return self.disjoint and self.card is None and self.variance is None

    @property
    def ruled(self) -> bool:  # type: ignore[override]
        return not self.grouped and any((self.include, self.exclude, self.disjoint, self.together))

    def rule(self, p: int, k: int) -> SupportRule | None:
        """Return the rule on supports that the options specify for p variables and k components.

        Names in the options must have been replaced by positions.
        """
        if not self.ruled:
            return None
        may, must = np.ones((k, p), dtype=bool), np.zeros((k, p), dtype=bool)
        for i in range(k):
            must[i, list(self.include[i]) if self.include else []] = True
            may[i, list(self.exclude[i]) if self.exclude else []] = False
        if not self.together:
            return SupportRule(may, must, self.disjoint)
        of = np.zeros(p, dtype=int)
        for number, (_, members) in enumerate(self.together):
            of[list(members)] = number
            must[:, list(members)] = must[:, list(members)].any(axis=1, keepdims=True)
            may[:, list(members)] = may[:, list(members)].all(axis=1, keepdims=True)
        return GroupRule(may, must, self.disjoint, of, tuple(self.card or ()))

    @property
    def learns(self) -> bool:
        """True for adjusted variance, unless components are disjoint or constrained."""
        # for least squares, draws of wine lost .035 % with fits of other draws, and .005 % with 28 starts
        is_free = not self.disjoint and self.constraint is None
        return is_free and OBJECTIVES[self.objective].ordered

    def data_starts(
        self, op: Operator, k: int, rng: np.random.Generator, beside_fit: bool = False
    ) -> list[np.ndarray]:
        """Return starts that depend only on the data; see `BatchSolver`.

        Searches over groups or under a constraint, whose climbs are long, use only the first two starts.
        """
        from spcastat.search.joint_search import data_starts

        starts = data_starts(op, k, self.objective, self.disjoint, rng, beside_fit)
        return starts[:2] if self.grouped or self.constraint is not None else starts

    def simplified(self, starts: Sequence[Sequence[np.ndarray]], offset: int) -> list[list[np.ndarray]]:
        from spcastat.search.joint_search import simplified

        return simplified(starts, self.objective, offset)

    def nearby_optima(
        self,
        ops: Sequence[Operator],
        starts: Sequence[Sequence[np.ndarray]],
        fixed: bool = False,
        like: np.ndarray | None = None,
        only_best: bool = False,
        known_fits: Sequence[np.ndarray] = (),
    ) -> list[np.ndarray]:
        if self.grouped and not fixed:
            return [self._partition(op, V[0].shape[1], starts=V).V for op, V in zip(ops, starts, strict=True)]
        from spcastat.search.joint_search import CLIMBS_BESIDE_KNOWN, nearby_optima, starts_and_climbs

        start = starts[0][0] if like is None else like
        rule = self.rule(*start.shape)
        if self.constraint is not None:
            return [self._nearest(op, V, fixed, start, rule) for op, V in zip(ops, starts, strict=True)]
        membership = start != 0 if rule is None else (start != 0) | rule.must.T  # forced loadings may be zero
        card = self.card or tuple(int(count) for count in np.count_nonzero(membership, axis=0))
        if isinstance(rule, GroupRule):
            ops, card = [with_zero(op) for op in ops], rule.rooms
            starts = [[np.pad(V, ((0, 1), (0, 0))) for V in loadings] for loadings in starts]
            known_fits = [np.pad(V, ((0, 1), (0, 0))) for V in known_fits]
        climbs = starts_and_climbs(self.objective, self.disjoint)[1] if only_best else None
        climbs = CLIMBS_BESIDE_KNOWN if known_fits else climbs
        fits = nearby_optima(ops, card, self.objective, starts, fixed, rule, climbs, known_fits)
        return [V[:-1] for V in fits] if isinstance(rule, GroupRule) else fits

    def batch(self, p: int) -> int:
        from spcastat.search.joint_search import batch_size

        return batch_size(p)

    def eigenpairs(self, op: Operator, k: int) -> int:
        from spcastat.search.chains import twice
        from spcastat.search.joint_search import needs_few_products

        return k if needs_few_products(op) else twice(op, k)

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        """Run the search; `starts` is not used, as the search generates its own starts."""
        if self.grouped:
            return self._grouped(op, k, rng)
        if self.card is None:
            return self._with_fewest_nonzeros(op, k, rng)
        if self.constraint is not None:
            return self._constrained(op, k, rng)
        from spcastat.search.joint_search import joint  # importing it takes as long as a small fit

        rule = self.rule(op.p, k)
        cards, searched = self.card, op
        if isinstance(rule, GroupRule):
            cards, searched = rule.rooms, with_zero(op)

        first_state = rng.bit_generator.state

        def result_for(objective: str) -> SearchResult:
            rng.bit_generator.state = first_state
            result = joint(searched, k, cards, objective, self.effort, rng, rule=rule)
            return replace(result, V=result.V[: op.p])

        result = result_for(self.objective)
        if result.value >= EVERYTHING:
            # if many loadings explain all variance, prefer those of largest adjusted variance if they also
            # explain all
            V = result_for(ADJUSTED.name).V
            if OBJECTIVES[self.objective].measure(V, op)[-1] >= EVERYTHING:
                result = replace(result, V=V)
        return self._solution(op, result)

    def path(self, op: Operator, k: int, cards: Sequence[tuple[int, ...]], seed: int) -> list[Solution]:
        """Search for fits at many ascending cardinalities, which serve as starts for one another."""
        from spcastat.search.joint_search import along_path

        if self.constraint is not None:
            return self._constrained_path(op, k, cards, seed)
        results = along_path(op, k, cards, self.objective, self.effort, seed)
        return [self._solution(op, result) for result in results]

    def _solution(self, op: Operator, search_result: SearchResult) -> Solution:
        label = OBJECTIVES[self.objective].label
        solution = self._among_equals(op, search_result, search_result.starts, f"{label}, joint search")
        search = Searched(**{part.name: getattr(search_result, part.name) for part in fields(Searched)})
        return replace(solution, optima=search_result.optima, search=search)

    def _among_equals(
        self, op: Operator, search_result: SearchResult | Sparsest, n_iter: int, criterion: str
    ) -> Solution:
        """Return the solution in which, among equal variables, the first ones are used."""
        V, value = search_result.V, search_result.value * op.total
        if op.p <= GRAM_LIMIT:
            rule = self.rule(*V.shape)
            if OBJECTIVES[self.objective].reconstructs:
                V = first_single_variables(op, V, rule)
            V = first_of_equals(op, V, rule)
            if rule is None:
                V = first_order(op, V, self.card)
        return Solution(V, "searched", n_iter, value, np.array([value]), criterion=criterion)

    def _grouped(self, op: Operator, k: int, rng: np.random.Generator) -> Solution:
        """Search for the partition of all variables into groups."""
        grouping = self._partition(op, k, rng)
        value = grouping.value * op.total
        ends = np.round(np.array(grouping.values) / VALUE_TOLERANCE).astype(int)
        counts = np.bincount(ends.max() - ends)
        groups = [np.flatnonzero(v) for v in grouping.V.T]
        eigenvalues = [[0.0, *np.linalg.eigvalsh(symmetric(op.block(J)))] for J in groups]
        return Solution(
            grouping.V,
            "searched",
            len(ends),
            value,
            np.array([value]),
            {
                "first eigenvalue": [float(group_values[-1]) for group_values in eigenvalues],
                "second eigenvalue": [float(group_values[-2]) for group_values in eigenvalues],
            },
            criterion=f"{OBJECTIVES[self.objective].label}, search over groups",
            search=Grouping(
                starts=len(ends),
                hits=int(counts[0]),
                groups=k,
                fitted=grouping.compared,
                every=grouping.exhaustive,
                settled=grouping.settled,
                proven=grouping.proven,
            ),
        )

    def _partition(
        self,
        op: Operator,
        k: int,
        rng: np.random.Generator | None = None,
        starts: Sequence[np.ndarray] = (),
    ) -> Grouped:
        from spcastat.search.partition import partition

        return partition(symmetric(op.block(np.arange(op.p))), k, self.objective, self.effort, rng, starts)

    def _constrained_path(
        self, op: Operator, k: int, cards: Sequence[tuple[int, ...]], seed: int
    ) -> list[Solution]:
        """Search under the constraint at ascending cardinalities, each also from the previous fit."""
        solutions: list[Solution] = []
        for card in cards:
            solver, rng = replace(self, card=card), np.random.default_rng(seed)
            solutions.append(solver._constrained(op, k, rng, [fit.V for fit in solutions[-1:]]))
        return solutions

    def _constrained(
        self, op: Operator, k: int, rng: np.random.Generator, starts: Sequence[np.ndarray] = ()
    ) -> Solution:
        """Search under the constraint, from the fit without the constraint and from other starts."""
        from spcastat.search.constrained import ConstrainedFit, constrained
        from spcastat.search.exact_loadings import NOT_MET
        from spcastat.search.joint_search import joint

        assert self.card is not None
        assert self.constraint is not None
        constraint, objective = CONSTRAINTS[self.constraint], OBJECTIVES[self.objective]
        rule, S = self.rule(op.p, k), symmetric(op.block(np.arange(op.p)))
        constraint.require_possible(S, self.card)
        free = joint(op, k, self.card, self.objective, self.effort, rng, rule=rule)
        if free.proven and constraint.violation(free.V, op) <= NOT_MET:  # PCA, or one component
            result = ConstrainedFit(free.V, free.value, 1, 1)
        else:
            result = constrained(
                S, self.card, constraint, objective, self.effort, rng, [free.V, *starts], rule, free.value
            )
        value = float(objective.measure(result.V, op)[-1])
        constraint.warn_if_tight(S, self.card, free.value - value)
        return Solution(
            result.V,
            "searched",
            result.fits,
            value * op.total,
            np.array([value * op.total]),
            criterion=f"{objective.label} under {constraint.label}",
            search=Constrained(
                result.fits, result.hits, self.constraint, constraint.violation(result.V, op), free.value
            ),
        )

    def _nearest(
        self,
        op: Operator,
        starts: Sequence[np.ndarray],
        fixed: bool,
        first_start: np.ndarray,
        rule: SupportRule | None,
    ) -> np.ndarray:
        """Return the best loadings under the constraint near the starts."""
        from spcastat.search.constrained import nearest

        assert self.constraint is not None
        S, cards = symmetric(op.block(np.arange(op.p))), self.card
        if fixed or cards is None:
            forced = first_start != 0 if rule is None else (first_start != 0) | rule.must.T
            cards = tuple(int(count) for count in np.count_nonzero(forced, axis=0))
        constraint, objective = CONSTRAINTS[self.constraint], OBJECTIVES[self.objective]
        return nearest(S, constraint, objective, starts, fixed, rule, cards)

    def _with_fewest_nonzeros(self, op: Operator, k: int, rng: np.random.Generator) -> Solution:
        """Search for the fewest nonzeros that keep the share `variance`."""
        from spcastat.search.sparsest import sparsest

        assert self.variance is not None
        rule = self.rule(op.p, k)
        result = sparsest(op, k, self.variance, self.promise or "every", self.effort, rng, rule)
        proposal_count = max(len(result.proposals), 1)
        solution = self._among_equals(op, result, proposal_count, "adjusted variance, fewest nonzeros found")
        search = Sparser(**{part.name: getattr(result, part.name) for part in fields(Sparser)})
        return replace(solution, details={"kept": result.kept_shares.tolist()}, search=search)
