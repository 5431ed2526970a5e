"""Fits to draws of the rows, and the sparse model that predicts held-out rows.

Errors of one fit, and of many fits at once from covariance matrices in memory.

The model is Sigma = V L V' + s2 I as in probabilistic PCA (Tipping and Bishop 1999), but with the span of the
sparse loadings `V` given. Within the span, Sigma equals the covariance matrix S of the data; s2 is the mean
variance outside the span.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import ComponentsError, OptionError
from spcastat.fit.method_table import SOLVERS
from spcastat.fit.plan import Plan, Request, make_plan
from spcastat.fit.run import run
from spcastat.fit.state import FitState
from spcastat.linalg.operators import Operator
from spcastat.reading.design import Spec
from spcastat.reading.missing_values import Patterns, expect, outers
from spcastat.solvers.thresholding import fitted

# --- fits to draws --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Aligned:
    """Loadings in the order and with the signs of reference loadings.

    Attributes
    ----------
    V : ndarray of shape (p, k)
    order : ndarray of shape (k,)
        The index of each column before matching.
    similarity : ndarray of shape (k,)
        Absolute correlation of the scores of each component with those of its counterpart, in [0, 1]; 0 if
        one of them has no variance.
    """

    V: np.ndarray
    order: np.ndarray
    similarity: np.ndarray


def align(
    found: np.ndarray, reference: np.ndarray, op: Operator, kinds: Sequence[int] | None = None
) -> Aligned:
    """Match the columns of `found` with those of `reference`, and adjust their order and signs.

    Parameters
    ----------
    found, reference : ndarray of shape (p, k)
        Loadings of any length.
    op : Operator
        The covariance matrix S of the fit, with which scores are compared.
    kinds : sequence of int, optional
        Labels of the components; only components with the same label may be exchanged.

    Returns
    -------
    Aligned

    Notes
    -----
    The assignment maximises the sum of the absolute correlations |v'Sw| / sqrt(v'Sv w'Sw) (Hungarian
    algorithm). The sign is that of the correlation, or of v'w if the correlation is zero. There is no
    rotation, which would destroy the zeros.
    """
    from scipy.optimize import linear_sum_assignment  # imported late, as it is slow to import

    k = reference.shape[1]
    products = op.products(np.hstack([found, reference]))
    sd = np.sqrt(np.diag(products).clip(min=0.0))
    sizes = np.outer(sd[:k], sd[k:])
    correlation = np.divide(products[:k, k:], sizes, out=np.zeros((k, k)), where=sizes > 0)
    worth = np.abs(correlation)
    if kinds is not None:
        worth = worth - 2.0 * k * (np.array(kinds)[:, None] != np.array(kinds))
    rows, columns = linear_sum_assignment(-worth)
    order = np.empty(k, dtype=int)
    order[columns] = rows
    V = found[:, order]
    matched = correlation[order, np.arange(k)]
    signs = np.where(matched != 0, matched, np.einsum("ij,ij->j", V, reference))
    V = V * np.where(signs < 0, -1.0, 1.0) + 0.0  # no -0
    return Aligned(V, order, np.abs(matched).clip(max=1.0))


@dataclass(frozen=True, eq=False)
class Refit:
    """A method with its options, to be fitted to draws.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Loadings of the fit.
    plan : Plan
    fixed : bool
        Whether the supports are those of the fit.
    starts : {"near", "quick", "alone"}
        The starts of the search on a draw. "near": the loadings of the fit, and PCA of the draw. "alone": PCA
        of the draw, its varimax rotation and random rotations of twice as many directions (with more than
        1000 variables only the first two), so that the result is a function of the draw. "quick": these, and
        the loadings of the fit. Other methods that use starts have the loadings of the fit as one more
        start, except with "alone".
    """

    V: np.ndarray
    plan: Plan
    fixed: bool = False
    starts: str = "near"

    def __call__(self, op: Operator, rng: np.random.Generator) -> np.ndarray:
        """Return the loadings, shape (p, k), of the method fitted to a draw.

        Raises
        ------
        ComponentsError
            If the rank of the draw is below k.
        """
        return self.ended([op], [self.begun(op, rng)])[0]

    @property
    def together(self) -> int | None:
        """Number of draws that a search fits at once; None for other methods, which fit one at a time."""
        of = getattr(self.plan.solver, "batch", None)
        return None if of is None else of(len(self.V))

    @property
    def kinds(self) -> tuple[int, ...] | None:
        """Labels of the components, equal if the rule for supports treats them alike; None without a rule."""
        if not self.plan.solver.ruled:
            return None
        rule = self.plan.solver.rule(*self.V.shape)  # type: ignore[attr-defined]
        return tuple(rule.kinds([0] * self.V.shape[1]))

    def begun(self, op: Operator, rng: np.random.Generator) -> Sequence[np.ndarray]:
        """Return the starts of a search on a draw; for methods other than the search, the fitted loadings.

        Raises
        ------
        ComponentsError
            If the rank of the draw is below k.
        """
        k = self.V.shape[1]
        known = [] if self.starts == "alone" else [self.V]
        if self.together is None:
            if self.fixed:
                return [self._on_supports(op)]
            plan = dataclasses.replace(self.plan, order="given")
            return [run(op, plan, k, rng, np.array([V.T for V in known]) if known else None).solution.V]
        if self.fixed:
            return [self.V]
        values, vectors = op.leading(min(k, op.p))
        if k > op.rank_limit or values[k - 1] <= np.finfo(float).eps * op.p * max(values[0], 0.0):
            raise ComponentsError(f"The rows of a draw have a rank below {k}.")
        if self.starts == "near":
            return [*known, vectors[:, :k]]
        solver: Any = self.plan.solver
        return [*known, *solver.own_starts(op, k, rng)]

    def ended(self, ops: Sequence[Operator], begun: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
        """Return the loadings fitted to several draws, from the results of `begun`."""
        if self.together is None:
            return [V for (V,) in begun]
        solver: Any = self.plan.solver
        found: list[np.ndarray] = solver.near(ops, begun, self.fixed, self.V, self.starts != "near")
        return found

    def _on_supports(self, op: Operator) -> np.ndarray:
        """Return the loadings that maximise explained variance on the supports of the fit."""
        better = fitted(op, self.V, bool(getattr(self.plan.solver, "nonneg", False)))
        return self.V if better is None else better


def plan_of(state: FitState, arguments: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan of a fit, with the components in their current order.

    Parameters
    ----------
    state : FitState
    arguments : Mapping, optional
        The arguments of the call that made the fit, for options that are functions.

    Raises
    ------
    OptionError
        If an option was a function and the fit was loaded from a file.
    """
    record = state.record
    method = SOLVERS[record.method]
    further = {}
    for name, value in record.options.items():
        if name not in method.options or name in ("n_init", "nonneg") or value is None:
            continue
        given = (arguments or {}).get(name)
        further[name] = given if callable(given) else value
        if name in ("include", "exclude"):  # by component; positions stand for names
            further[name] = dict(enumerate(value, 1))
        if name == "together":
            further[name] = dict(value)
        if isinstance(value, str) and value.startswith("<") and not callable(given):
            raise OptionError(
                f"The fit has {name}={value}, a function, which its file does not hold: fit again, "
                f"{record.call}."
            )
    own: dict[str, Any] = {
        name: further.pop(name) for name in ("card", "variance", "tol", "max_iter") if name in further
    }
    nonneg = bool(record.options.get("nonneg")) if "nonneg" in method.options else False
    own |= {"method": record.method, "nonneg": nonneg, "n_init": record.n_init, "order": "given"}
    request = Request(record.k, further=further, **own)
    return make_plan(request, record.p).on(Spec("array", pd.RangeIndex(record.p)))


def refit_of(
    state: FitState, plan: Plan, *, fixed: bool = False, own_card: bool = False, starts: str = "near"
) -> Refit:
    """Return the method of a fit for draws.

    Parameters
    ----------
    state : FitState
    plan : Plan
    fixed : bool
        Whether to use the supports of the fit.
    own_card : bool
        Whether the draws have as many nonzeros as the fit, if the fit has fewer than its `card`.
    starts : {"near", "quick", "alone"}
        See :class:`Refit`.

    Raises
    ------
    OptionError
        For fixed supports and a method that uses more than second moments.

    Notes
    -----
    Draws use the objective of the fit, but not its effort: sweeps from few starts, then exchanges of single
    variables from the best of them. If the fit searched for the fewest nonzeros, each component of a draw has
    as many as in the fit.
    """
    if fixed and plan.rows_for:
        raise OptionError(
            f"select=False was given with method={plan.method.name!r}, which measures more than variances: "
            "loadings on given supports are only defined for these. Leave select=False out."
        )
    if own_card and getattr(plan.solver, "card", None) is not None and not plan.solver.ruled:
        plan = plan.with_card([int(count) for count in np.count_nonzero(state.V, axis=0)])
    return Refit(state.V, plan, fixed, starts)


# --- the sparse model -----------------------------------------------------------------------------


#: Smallest noise variance, as a share of the mean variance.
LEAST_NOISE = 1e-10


@dataclass(frozen=True, eq=False)
class SparseModel:
    """Sigma = s2 I + W diag(m - s2) W', with W orthonormal.

    Attributes
    ----------
    W : ndarray of shape (u, r)
        The principal directions of S within the span of the loadings, on the variables `used`.
    used : ndarray of int, shape (u,)
        Variables with a loading.
    variances : ndarray of shape (r,)
        Variances m along W, at least s2.
    noise : float
        The noise variance s2.
    p : int
    total, kept : float
        The trace of S, and that of S within the span. Their ratio is the PEV.
    groups : ndarray of int, shape (p,), or None
        The group of each variable, if the variables of a group are predicted from other groups only.
    """

    W: np.ndarray
    used: np.ndarray
    variances: np.ndarray
    noise: float
    p: int
    total: float
    kept: float
    groups: np.ndarray | None = None

    @classmethod
    def of(cls, V: np.ndarray, op: Operator, groups: np.ndarray | None = None) -> SparseModel:
        """Return the model for loadings V, shape (p, k) with p > k, and the covariance matrix `op`."""
        used = np.flatnonzero(V.any(axis=1))
        squares, turn = np.linalg.eigh(V[used].T @ V[used])
        # V'V of linearly dependent loadings has zero eigenvalues, which by rounding are up to 1e-10 of the
        # largest
        some = squares > 1e-10 * squares[-1]
        Q = np.zeros((op.p, int(some.sum())))
        Q[used] = V[used] @ (turn[:, some] / np.sqrt(squares[some]))
        variances, axes = np.linalg.eigh(op.products(Q))
        p, r = Q.shape
        kept = float(variances.sum())
        noise = max((op.total - kept) / (p - r), LEAST_NOISE * op.total / p)
        return cls(Q[used] @ axes, used, np.maximum(variances, noise), noise, p, op.total, kept, groups)

    def deviance(self, n: float) -> float:
        """Return n (log |Sigma| + tr Sigma^-1 S): minus twice the log-likelihood, up to a constant."""
        log_determinant = (self.p - len(self.variances)) * np.log(self.noise) + np.log(self.variances).sum()
        shrinkage = 1.0 - self.noise / self.variances  # Sigma^-1 = (I - W diag(shrinkage) W') / s2
        inside = (self.variances * shrinkage).sum()  # axes with the noise variance contribute nothing
        return float(n * (log_determinant + (self.total - inside) / self.noise))

    def press(self, squares: np.ndarray, block: np.ndarray) -> float:
        """Return the sum of squared errors if every value is predicted from the others in its row.

        Parameters
        ----------
        squares : ndarray of shape (p,)
            Sums of squares of new rows, centred and scaled as the rows behind S.
        block : ndarray of shape (u, u)
            Cross-products of the new rows for the variables `used`.

        Notes
        -----
        With Omega = Sigma^-1, the error of value j in row x is (Omega x)_j / Omega_jj. A variable that is the
        only one in its component is predicted by its mean, as are variables without a loading. With groups,
        the errors of the variables in group g are inv(Omega_gg) (Omega x)_g.
        """
        shrunk = self.W * (1.0 - self.noise / self.variances)
        image = block @ self.W
        inner = self.W.T @ image
        if self.groups is not None:
            found = float(squares.sum() - squares[self.used].sum())
            both = image @ shrunk.T
            left = block - both - both.T + shrunk @ inner @ shrunk.T
            own, of = np.eye(len(block)) - shrunk @ self.W.T, self.groups[self.used]
            for J in map(np.flatnonzero, of == np.unique(of)[:, None]):
                inside = np.ix_(J, J)
                values, axes = np.linalg.eigh(own[inside])
                alone = values <= LEAST_NOISE  # directions that no other group predicts
                predicted = np.einsum("ij,ik,kj->j", axes, left[inside], axes)
                by_mean = np.einsum("ij,ik,kj->j", axes, block[inside], axes)
                found += float(np.where(alone, by_mean, predicted / np.where(alone, 1.0, values) ** 2).sum())
            return found
        left = (
            squares[self.used]
            - 2.0 * np.einsum("ij,ij->i", shrunk, image)
            + np.einsum("ij,jk,ik->i", shrunk, inner, shrunk)
        )
        own = 1.0 - np.einsum("ij,ij->i", shrunk, self.W)
        alone = own <= LEAST_NOISE  # the only variable in its component
        errors = np.where(alone, squares[self.used], left / np.where(alone, 1.0, own) ** 2)
        return float(squares.sum() - squares[self.used].sum() + errors.sum())

    def press_measured(self, Z: np.ndarray, patterns: Patterns, weights: np.ndarray) -> float:
        """Return the sum of squared errors if every measured value is predicted from the others in its row.

        Parameters
        ----------
        Z : ndarray of shape (m, p)
            New rows, centred and scaled as the rows behind S, with zeros for missing values.
        patterns : Patterns
            The patterns of missing values.
        weights : ndarray of shape (m,)

        Notes
        -----
        As :meth:`press`, with the block of Sigma for the measured values o of a row: Sigma_oo = F_o F_o' + s2
        I has the inverse (I - F_o M^-1 F_o') / s2 with M = F_o'F_o + s2 I.
        """
        F = self.W * np.sqrt(self.variances - self.noise)
        some = Patterns(patterns.missing[:, self.used], patterns.of_row, patterns.weight)
        own_cells = Z[:, self.used]
        expected = expect(own_cells, some, F, self.noise)
        left = own_cells - expected.scores @ F.T
        own = 1.0 - expected.inverses.reshape(len(some.weight), -1) @ outers(F, F).T
        alone = own <= LEAST_NOISE  # the only variable in its component
        divisor = np.where(alone, 1.0, own)[some.of_row]
        errors = np.where(alone[some.of_row], own_cells, left / divisor)
        errors[some.missing[some.of_row]] = 0.0
        outside = np.delete(Z, self.used, axis=1)
        return float(weights @ (errors**2).sum(axis=1) + weights @ (outside**2).sum(axis=1))


#: Up to this many variables the errors of many fits are computed at once.
FEW = 200


def batched_press(V: np.ndarray, S: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return the sums of squared prediction errors of m fits to each of f folds, shape (m, f).

    They are those of :meth:`spcastat.assess.refit.SparseModel.press`, without groups.

    Parameters
    ----------
    V : ndarray of shape (m, f, p, k)
        Loadings, of k < p components.
    S : ndarray of shape (f, p, p)
        Covariance matrices of the rows outside each fold.
    products : ndarray of shape (f, p, p)
        Cross-products of the held-out rows, centred and scaled by the other rows.
    """
    p = V.shape[2]
    total = np.trace(S, axis1=1, axis2=2)
    lengths, turn = np.linalg.eigh(V.mT @ V)
    some = lengths > 1e-10 * lengths[..., -1:]  # the others are zero up to rounding: dependent loadings
    Q = V @ (turn * np.where(some, 1.0 / np.sqrt(np.where(some, lengths, 1.0)), 0.0)[..., None, :])
    variances, axes = np.linalg.eigh(Q.mT @ (S @ Q))
    left_over = (total - variances.sum(axis=-1)) / (p - some.sum(axis=-1))
    noise = np.maximum(left_over, LEAST_NOISE * total / p)[..., None]
    W = Q @ axes
    shrunk = W * (1.0 - noise / np.maximum(variances, noise))[..., None, :]
    image = products @ W
    squares = np.diagonal(products, axis1=1, axis2=2)
    left = squares - 2.0 * (shrunk * image).sum(axis=-1) + ((shrunk @ (W.mT @ image)) * shrunk).sum(axis=-1)
    own = 1.0 - (shrunk * W).sum(axis=-1)
    alone = own <= LEAST_NOISE  # the only variable in its component
    unused = ~V.any(axis=-1)
    errors = np.where(alone | unused, squares, left / np.where(alone, 1.0, own) ** 2)
    return np.asarray(errors.sum(axis=-1))
