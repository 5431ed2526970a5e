"""Exchanges of single variables under a constraint, ranked by a second-order model of their values.

To second order, a change d of the loadings x, with the linear constraints J'd = 0, changes half the value by
g'd + d'W d / 2, where g and W are derivatives of the Lagrangian. When variable b replaces variable a in one
component, d_a = -x_a, while d_b and all other loadings, in all components, are free. The matrix K = [[W, J],
[J', 0]] is inverted once for each fit; an exchange adds a row and column for b and another for the equation
for d_a, which takes a few products.

For fits of six problems, the exchange with the largest gain was in places 5 to 298 of a ranking by a
penalised criterion with the loadings of the other components fixed. In this ranking it is in places 0 to 7,
mostly 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.search.criteria import SupportRule
from spcastat.search.exact_loadings import ExactLoadings, Problem
from spcastat.search.matrices import ranked_entries

#: The smallest absolute curvature of the model; the total variance is one.
LEAST_CURVATURE = 1e-4
#: Eigenvalues of K below this share of the largest count as zero; they belong to dependent constraints.
DEPENDENT_CONSTRAINTS = 1e-11


def best_exchanges(
    loadings: ExactLoadings, places: np.ndarray, x: np.ndarray, count: int, rule: SupportRule | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exchanges of each fit that lead to the largest values to second order.

    Parameters
    ----------
    loadings : ExactLoadings
    places, x : ndarray of shape (n, N)
        Fits that meet the constraint.
    count : int
        Largest number of exchanges of a fit.
    rule : SupportRule, optional

    Returns
    -------
    places, x : ndarray of shape (n, L, N)
        Variables, ascending in each component, and the loadings of the model. If fewer exchanges of a fit are
        possible, the fit itself fills the remaining places.
    """
    model = _Model(loadings, places, x)
    n, N = x.shape
    m = len(loadings.S)
    entering = np.broadcast_to(np.arange(m), (n, m))
    changes = np.full((n, m, N), -np.inf)
    for i in range(loadings.k):
        part = np.flatnonzero(loadings.owner == i)
        change = model.bordered(entering, np.full((n, m), i)).changes(part)
        changes[:, :, part] = np.where(_admissible(loadings, places, i, rule)[:, :, part], change, -np.inf)
    keys = changes.reshape(n, m * N)
    is_admissible = np.isfinite(keys)
    keys = np.where(is_admissible, keys, np.where(is_admissible, keys, 0.0).min() - 1.0)
    ranking = ranked_entries(keys, min(count, m * N))
    entering, leaving = np.divmod(ranking, N)
    new_x = model.bordered(entering, loadings.owner[leaving]).loadings_without(leaving)
    fits, trials = np.ogrid[:n, : ranking.shape[1]]
    new_places = np.repeat(places[:, None], ranking.shape[1], axis=1)
    new_places[fits, trials, leaving] = entering
    changed = np.take_along_axis(is_admissible, ranking, axis=1)[:, :, None]
    new_places, new_x = np.where(changed, new_places, places[:, None]), np.where(changed, new_x, x[:, None])
    order = np.argsort(new_places + m * loadings.owner, axis=2)
    return np.take_along_axis(new_places, order, axis=2), np.take_along_axis(new_x, order, axis=2)


def _admissible(loadings: ExactLoadings, places: np.ndarray, i: int, rule: SupportRule | None) -> np.ndarray:
    """Return whether each variable may replace each loading of component i, shape (n, m, N)."""
    n, m = len(places), len(loadings.S)
    used, other_variables = np.zeros((n, m), dtype=bool), np.zeros((n, m), dtype=bool)
    of_component = loadings.owner == i
    np.put_along_axis(used, places[:, of_component], True, axis=1)
    np.put_along_axis(other_variables, places[:, ~of_component], True, axis=1)
    if rule is None:
        return np.broadcast_to(~used[:, :, None], (n, m, len(loadings.owner)))
    may_enter = ~used & rule.admissible(i, other_variables)
    return may_enter[:, :, None] & ~rule.must[i][places][:, None, :]


class _Model:
    """The quadratic models of n fits."""

    def __init__(self, loadings: ExactLoadings, places: np.ndarray, x: np.ndarray):
        problem = Problem(loadings, places)
        self.loadings, self.places, self.x = loadings, places, problem.with_lengths(x)
        self.derivatives = problem.lagrangian(self.x)
        J = self.derivatives.J
        lengths = np.sqrt((J**2).sum(axis=1))
        self.sizes = np.where(lengths > 0, lengths, 1.0)[:, None]
        J = J / self.sizes
        K = np.block([[self.derivatives.W, J], [J.mT, np.zeros((len(x), J.shape[2], J.shape[2]))]])
        self.inverse = np.linalg.pinv(K, rcond=DEPENDENT_CONSTRAINTS, hermitian=True)

    def bordered(self, entering: np.ndarray, component: np.ndarray) -> _ModelsOfExchanges:
        """Return the models with an additional loading; `entering` and `component` have shape (n, R)."""
        loadings, derivatives = self.loadings, self.derivatives
        fits = np.arange(len(self.x))[:, None]
        pairs = entering[:, :, None], self.places[:, None]
        S = loadings.S[pairs]
        M = S if loadings.constraint.of_scores else (pairs[0] == pairs[1]).astype(float)
        weights, squares = derivatives.of_pairs[fits, component], derivatives.of_squares[fits, component]
        membership = loadings.owner == component[:, :, None]
        if loadings.square is None:
            B, B_diagonal = (pairs[0] == pairs[1]).astype(float), 1.0
            A, A_diagonal = S, loadings.S[entering, entering]
        else:
            B, B_diagonal = S, loadings.S[entering, entering]
            A, A_diagonal = loadings.square[pairs], loadings.square[entering, entering]
        W = membership * (A - squares[:, :, None] * B) - weights[:, :, loadings.owner] * M
        MV = (M * self.x[:, None]) @ loadings.member
        Bv = (membership * B * self.x[:, None]).sum(axis=2)
        first_of_pair, second_of_pair = loadings.pair_first, loadings.pair_second
        is_first = first_of_pair == component[:, :, None]
        is_second = second_of_pair == component[:, :, None]
        J_pairs = is_first * MV[:, :, second_of_pair] + is_second * MV[:, :, first_of_pair]
        J_squares = 2.0 * Bv[:, :, None] * (np.arange(loadings.k) == component[:, :, None])
        J = np.concatenate([J_pairs, J_squares], axis=2) / self.sizes
        row = np.concatenate([W, J], axis=2)
        solved = row @ self.inverse
        curvature = A_diagonal - squares * B_diagonal - (row * solved).sum(axis=2)
        return _ModelsOfExchanges(self, (W * self.x[:, None]).sum(axis=2), solved, _falling(curvature))


@dataclass(frozen=True, eq=False)
class _ModelsOfExchanges:
    """The models of n fits, each with one of R additional loadings.

    Attributes
    ----------
    model : _Model
    slope, curvature : ndarray of shape (n, R)
        First and second derivative for the additional loading; the second with all other loadings optimal.
    solved : ndarray of shape (n, R, N + q)
        The products of the row of the additional loading with the inverse of K.
    """

    model: _Model
    slope: np.ndarray
    solved: np.ndarray
    curvature: np.ndarray

    def changes(self, leaving: np.ndarray) -> np.ndarray:
        """Return the changes of the value, shape (n, R, c), if one of c loadings `leaving` becomes zero."""
        diagonal = np.einsum("bii->bi", self.model.inverse)[:, None, leaving]
        present = self.model.x[:, None, leaving]
        force, new_loading = self._forces(self.solved[:, :, leaving], diagonal, present)
        return self.slope[:, :, None] * new_loading - force * present

    def loadings_without(self, leaving: np.ndarray) -> np.ndarray:
        """Return the loadings after each additional loading replaces one in `leaving`, shape (n, R, N)."""
        x, N = self.model.x, self.model.x.shape[1]
        positions = leaving[:, :, None]
        fits = np.arange(len(x))[:, None]
        diagonal, present = self.model.inverse[fits, leaving, leaving], x[fits, leaving]
        solved_there = np.take_along_axis(self.solved, positions, axis=2)
        force, new_loading = self._forces(solved_there, diagonal[:, :, None], present[:, :, None])
        response = force * self.model.inverse[fits, leaving, :N] - new_loading * self.solved[:, :, :N]
        new_x = x[:, None] + response
        np.put_along_axis(new_x, positions, new_loading, axis=2)
        return new_x

    def _forces(
        self, solved: np.ndarray, diagonal: np.ndarray, present: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers of the equations d_a = -x_a and the additional loadings, shape (n, R, c)."""
        slope, curvature = self.slope[:, :, None], self.curvature[:, :, None]
        force = (-present - slope * solved / curvature) / _falling(diagonal + solved**2 / curvature)
        return force, -(slope + force * solved) / curvature


def _falling(curvature: np.ndarray) -> np.ndarray:
    """Return second derivatives with negative signs, bounded away from zero."""
    return -np.maximum(np.abs(curvature), LEAST_CURVATURE)
