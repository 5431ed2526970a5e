"""Choice between equally good variables: a fit includes the first, whatever rounding favours.

Scaled variables have equal variances. Equal variables can be exchanged in all loadings (`first_of_equals`). A
component with a single variable has the loading one. If no other component includes this variable, it adds
its variance to PEV; other variables may tie with it (`first_single_variables`), and the order of such
components may be tied, too (`first_order`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spcastat.linalg.eigenvectors import (
    HALF_DIGITS,
    RELATIVE,
    SUM_ROUNDING,
    orthonormalise,
    symmetric,
    tie_width,
)
from spcastat.linalg.operators import Operator
from spcastat.measures import cumulative_pev
from spcastat.search.criteria import SupportRule
from spcastat.search.grouped import GroupRule

# --- equal variables ------------------------------------------------------------------------------


#: The number of columns of the covariance matrix compared at a time; few candidates remain after the first
#: columns.
COMPARED_COLUMNS = 8


def first_of_equals(op: Operator, V: np.ndarray, rule: SupportRule | None = None) -> np.ndarray:
    """Return equally good loadings in which, among equal variables, the first ones are used.

    Two variables are equal if exchanging them changes the covariance matrix only by rounding. All measures of
    the loadings are then the same, and rounding would determine which variable is used.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
    rule : SupportRule, optional
        Variables with different restrictions are not equal.

    Returns
    -------
    ndarray of shape (p, k)
    """
    used = np.flatnonzero(V.any(axis=1))
    columns, diagonal = op.columns(used), op.diagonal()
    groups: list[np.ndarray] = []
    for place, j in enumerate(used):
        if any(j in group for group in groups):
            continue
        equals = _equals(op, used, columns, diagonal, place)
        if rule is not None:
            group_labels = [rule.of[None]] if isinstance(rule, GroupRule) else []
            requirements = np.concatenate([rule.may, rule.must, *group_labels])
            equals = equals[(requirements[:, equals] == requirements[:, [j]]).all(axis=0)]
        if equals.size > 1:
            groups.append(equals)
    if not groups:
        return V
    V = V.copy()
    for group in groups:
        rows = V[group]
        # the last key of lexsort is the primary one: supports in the order of components, then absolute
        # loadings
        sizes = -np.abs(rows).T.round(9)
        V[group] = rows[np.lexsort([*sizes[::-1], *(rows == 0).T[::-1]])]
    return V


def _equals(
    op: Operator, used: np.ndarray, columns: np.ndarray, diagonal: np.ndarray, place: int
) -> np.ndarray:
    """Return the variables equal to the one at `place` in `used`, including itself, in ascending order."""
    j = used[place]
    width = tie_width(diagonal, diagonal.max())
    candidates = np.flatnonzero(np.abs(diagonal - diagonal[j]) <= width[j])
    for start in range(0, used.size, COMPARED_COLUMNS):
        part = slice(start, start + COMPARED_COLUMNS)
        widths = _width(diagonal[candidates], diagonal[used[part]], diagonal[j], diagonal.max())
        differs = np.abs(columns[candidates, part] - columns[j, part]) > widths
        differs &= (candidates[:, None] != used[part]) & (used[part] != j)
        candidates = candidates[~differs.any(axis=1)]
        if candidates.size == 1:
            return candidates
    candidate_columns = op.columns(candidates)
    widths = _width(diagonal, diagonal[candidates], diagonal[j], diagonal.max())
    differs = np.abs(candidate_columns - columns[:, [place]]) > widths
    differs[candidates, np.arange(candidates.size)] = False
    differs[j] = False
    return candidates[~differs.any(axis=0)]


def _width(
    variances: np.ndarray, other_variances: np.ndarray, variance: float, largest: np.ndarray
) -> np.ndarray:
    """Return the largest difference of covariances that counts as a tie, a row for each of `variances`."""
    size = np.sqrt(variances.clip(min=0.0))
    return tie_width(np.outer(size, np.sqrt(np.maximum(other_variances, variance))), largest)


# --- components of one variable -------------------------------------------------------------------


def single_variables(op: Operator, k: int) -> np.ndarray:
    """Return the loadings, shape (p, k), of the k single variables with the largest PEV.

    These are the variables with the largest variances. Among equal variances, the first variable that is not
    a linear combination of the earlier ones is used.
    """
    variances, V = op.diagonal().astype(float), np.zeros((op.p, k))
    for i in range(k):
        V[_first_of_largest(op, variances, V[:, :i]), i] = 1.0
        variances[V[:, i] > 0.0] = -np.inf
    return V


def first_single_variables(op: Operator, V: np.ndarray, rule: SupportRule | None = None) -> np.ndarray:
    """Return loadings of equal PEV in which single-variable components use the first tied variables.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Unit loadings.
    rule : SupportRule, optional
        The supports that are allowed. Loadings with a rule for groups of variables are returned unchanged.

    Returns
    -------
    ndarray of shape (p, k)
    """
    singles = np.flatnonzero(np.count_nonzero(V, axis=0) == 1).tolist()
    if not singles or isinstance(rule, GroupRule):
        return V
    S, first_V = symmetric(op.block(np.arange(op.p))), V
    for _ in singles:  # a component may use the variable that another gives up
        previous_V, V = V, V.copy()
        for i in singles:
            other_loadings = np.delete(V, i, axis=1)
            gains = _gains(S, other_loadings)
            gains[~_admissible(rule, i, other_loadings)] = -np.inf
            V[:, i] = 0.0
            V[_first_of_largest(op, gains, other_loadings), i] = 1.0
        if rule is None:
            V[:, singles] = _in_order(S, V[:, singles])
        if (previous_V == V).all():
            break
    # gains given nearly equal components may be rounding errors
    values = [cumulative_pev(loadings, op)[-1] for loadings in (first_V, V)]
    return V if values[1] >= values[0] * (1.0 - RELATIVE) else first_V


def first_order(op: Operator, V: np.ndarray, cards: tuple[int, ...] | None = None) -> np.ndarray:
    """Return loadings in which tied neighbouring components of one variable are in ascending order.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Unit loadings. Components tie if they add equal variances to the earlier components.
    cards : tuple of int, optional
        The requested cardinalities; only neighbours with equal ones are exchanged.
    """
    singles = np.count_nonzero(V, axis=0) == 1
    pairs = [i for i in range(V.shape[1] - 1) if singles[i] and singles[i + 1]]
    pairs = [i for i in pairs if cards is None or cards[i] == cards[i + 1]]
    if not pairs:
        return V
    G, order, variables = op.products(V), np.arange(V.shape[1]), np.abs(V).argmax(axis=0)
    for _ in pairs:  # as in bubble sort
        for i in pairs:
            pair, earlier = order[[i, i + 1]], order[:i]
            # the variances that the two components add to the earlier ones
            covariances = G[np.ix_(earlier, pair)]
            solution = np.linalg.lstsq(G[np.ix_(earlier, earlier)], covariances, rcond=SUM_ROUNDING)[0]
            gains = G[pair, pair] - (covariances * solution).sum(axis=0)
            is_tie = abs(gains[0] - gains[1]) <= tie_width(gains.max(), G.diagonal().max())
            if is_tie and variables[pair[0]] > variables[pair[1]]:
                order[[i, i + 1]] = pair[::-1]
    return V[:, order]


def _gains(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the variance, shape (p,), that each variable alone adds to the projection on loadings (p, k)."""
    Q = orthonormalise(V)[0]
    image = S @ Q
    remaining = 1.0 - (Q**2).sum(axis=1)
    variances = S.diagonal() - 2.0 * (image * Q).sum(axis=1) + ((Q @ (Q.T @ image)) * Q).sum(axis=1)
    # a variable that is a component already adds nothing
    return np.where(remaining > HALF_DIGITS, variances / np.maximum(remaining, HALF_DIGITS), 0.0)


def _admissible(rule: SupportRule | None, i: int, other_loadings: np.ndarray) -> np.ndarray:
    """Return a mask of the variables that component i may include given the other loadings, shape (p,)."""
    if rule is None:
        return np.ones(len(other_loadings), dtype=bool)
    if rule.must[i].any():
        return rule.must[i]
    used = np.count_nonzero(other_loadings, axis=1) > 0
    return np.asarray(rule.admissible(i, used[None])).reshape(-1)


def _in_order(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return single-variable components, shape (p, m), ascending among equal variances."""
    variables, V = np.asarray(V.argmax(axis=0)), np.zeros_like(V)
    variances = np.asarray(S.diagonal()[variables])
    for variance in variances:
        ties = np.flatnonzero(np.abs(variances - variance) <= tie_width(variance, S.diagonal().max()))
        variables[ties] = np.sort(variables[ties])
    V[variables, np.arange(len(variables))] = 1.0
    return V


def _first_of_largest(op: Operator, gains: np.ndarray, V: np.ndarray) -> int:
    """Return the first variable of largest gain that the scores of V do not determine, if there is one."""
    largest = gains.max()
    ties = np.flatnonzero(gains >= largest - tie_width(largest, largest)).tolist()
    return int(next(_undetermined(op, V, ties), ties[0]))


def _undetermined(op: Operator, V: np.ndarray, variables: list[int]) -> Iterator[int]:
    """Yield the variables whose residual variance in regression on the scores of V exceeds rounding."""
    used = np.flatnonzero(V.any(axis=1))
    for j in variables:
        if not used.size:
            yield j
            continue
        S = symmetric(op.block(np.append(used, j)))
        W = V[used]
        covariances = W.T @ S[:-1, -1]
        coefficients = np.linalg.lstsq(W.T @ S[:-1, :-1] @ W, covariances, rcond=SUM_ROUNDING)[0]
        if S[-1, -1] - covariances @ coefficients > SUM_ROUNDING * S[-1, -1]:
            yield j
