"""A fit of sparse loadings: its request, its results in the units of the data, and its tables.

The state of such a fit contains the weights W in place of loadings, so that scores of rows and of new rows
are computed as for other fits. Its `pattern` contains the sparse loadings P.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import generator, plural, real_number, whole_number
from spcastat.errors import CardinalityError, ComponentsError, OptionError
from spcastat.fit.plan import MOST_STARTS, cardinalities, require_components
from spcastat.fit.record import SPARSE_LOADINGS, Record, deep_copy, facts_of, number_of_rows
from spcastat.fit.run import leading_components
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data
from spcastat.linalg.eigenvectors import flip_signs, ranked
from spcastat.linalg.operators import GRAM_ORDER, Operator
from spcastat.search.loading_patterns import PATTERN_STARTS, Nonzeros, Pattern, search, sparsest

#: The paper that describes the method.
PAPER = "Adachi and Trendafilov (2016)"
#: The share of the variance of dense PCA to keep by default.
DEFAULT_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class PatternRequest:
    """The checked arguments of a call: sparsity of the loadings and length of the search.

    Attributes
    ----------
    k : int
    nonzeros : Nonzeros or None
    variance : float or None
        The share of the variance of dense PCA to keep, if `nonzeros` is None.
    n_init : int
    rng : None, int or numpy Generator
    """

    k: int
    nonzeros: Nonzeros | None
    variance: float | None
    n_init: int
    rng: Any


def requested(
    k: Any, card: Any, total: Any, variance: Any, n_init: Any, rng: Any, *, p: int, function: str
) -> PatternRequest:
    """Check the arguments of a fit of p variables; `function` is the name of the call, for messages."""
    if k is None:
        raise ComponentsError(
            f"{function}() was given no k, the number of components: {function}(data, k=3, card=5)."
        )
    k = whole_number("k", k, 1, error=ComponentsError)
    require_components(k, p)
    controls = {"card": card, "total": total, "variance": variance}
    given_controls = [name for name, value in controls.items() if value is not None]
    if len(given_controls) > 1:
        raise OptionError(
            f"{' and '.join(f'{name}=' for name in given_controls)} were given to {function}(); give only "
            "one of card= (the number of nonzero loadings of each component), total= (the number in all "
            "components) and variance= (the share of PCA's explained variance to reach)."
        )
    generator(rng)
    n_init = PATTERN_STARTS if n_init is None else whole_number("n_init", n_init, 1, MOST_STARTS)
    if card is not None:
        return PatternRequest(k, Nonzeros(card=cardinalities(card, k, p)), None, n_init, rng)
    if total is not None:
        total = whole_number("total", total, 1, p * k, CardinalityError)
        if total < k:
            raise CardinalityError(
                f"total={total} was given with k={k}, but every component has at least one nonzero loading; "
                f"give total={k} or more, or fewer components."
            )
        return PatternRequest(k, Nonzeros(total=total), None, n_init, rng)
    share = DEFAULT_SHARE if variance is None else real_number("variance", variance, 0.0, 1.0, open_low=True)
    return PatternRequest(k, None, share, n_init, rng)


def fitted(data: Data, request: PatternRequest, call: str) -> FitState:
    """Search for the best loadings, and return the state of the fit.

    Loadings without zeros explain the same variance after any rotation of the scores; the fit then has the
    loadings of PCA.

    Raises
    ------
    ComponentsError
        If the rank of the data is below k.
    CardinalityError
        If the loadings found are linearly dependent.
    OptionError
        For more than 3000 variables whose rows come in chunks.
    """
    op, k = data.op, request.k
    if op.out_of_core:
        raise OptionError(
            f"The rows come in chunks with {op.p:,} variables, but sparse loadings of such data need "
            f"{GRAM_ORDER:,} or fewer; give rows that fit into memory."
        )
    op = with_matrix(op)
    pca, directions, _ = leading_components(op, k)
    rng = generator(request.rng)
    if request.nonzeros is None:
        assert request.variance is not None
        pattern, total = sparsest(op, k, request.variance, rng, request.n_init)
        options: dict[str, Any] = {"variance": request.variance, "total": total}
        card = None
    else:
        pattern = search(op, k, request.nonzeros, rng, request.n_init)
        card = request.nonzeros.card
        options = {"card": None if card is None else list(card), "total": request.nonzeros.total}
    require_independent(pattern, op)
    if pattern.P.all():
        pattern = replace(pattern, P=directions * np.sqrt(pca), W=directions / np.sqrt(pca))
    P, W = in_order(pattern, card)
    record = _record(data, pattern, {**options, "n_init": request.n_init}, call)
    return FitState.of_data(data, W / op.unit, record, pca, P * op.unit)


def with_matrix(op: Operator) -> Operator:
    """Return the operator with its covariance matrix, if there are up to `GRAM_ORDER` variables."""
    if op.held_matrix is not None or op.p > GRAM_ORDER:
        return op
    matrix = op.take(np.arange(op.p))
    matrix.unit = op.unit
    return matrix


def require_independent(pattern: Pattern, op: Operator) -> None:
    """Raise CardinalityError if the scores of the loadings that were found are linearly dependent."""
    size = np.linalg.norm(pattern.P, axis=0)
    scores = op.products(pattern.P / np.where(size > 0, size, 1.0))
    values = np.linalg.eigvalsh(scores)
    if not size.all() or values[0] <= 1e-10 * values[-1]:
        counts = np.count_nonzero(pattern.P, axis=0).tolist()
        raise CardinalityError(
            f"The best loadings found with {counts} nonzeros are linearly dependent, so they do not "
            f"determine {len(counts)} uncorrelated scores; give larger cardinalities or fewer components."
        )


def in_order(pattern: Pattern, card: tuple[int, ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return P and W with components of equal cardinality sorted by variance, in their final signs.

    Without cardinalities, all components are sorted. The largest absolute loading of a component is positive.
    """
    k = pattern.P.shape[1]
    groups = np.zeros(k, dtype=int) if card is None else np.array([card.index(nonzeros) for nonzeros in card])
    variances, order = (pattern.P**2).sum(axis=0), np.arange(k)
    for group in np.unique(groups):
        places = np.flatnonzero(groups == group)
        order[places] = places[ranked(variances[places])]
    signs = flip_signs(pattern.P[:, order])
    return pattern.P[:, order] * signs + 0.0, pattern.W[:, order] * signs + 0.0


def _record(data: Data, pattern: Pattern, options: dict[str, Any], call: str) -> Record:
    unit = data.op.unit
    exchanges = "no exchange" if pattern.complete else "none of the most promising exchanges"
    advice = (
        f"best of {plural(pattern.n_init, 'start')}; exchanges from {pattern.agreed} of "
        f"{plural(pattern.refined, 'local optimum', 'local optima')} lead to it; {exchanges} of a nonzero "
        "with a zero improves it"
    )
    return Record(
        method=SPARSE_LOADINGS,
        title="Sparse loadings of uncorrelated scores",
        paper=PAPER,
        criterion="explained variance, sum of squared loadings",
        sparse=True,
        options=options,
        k=pattern.P.shape[1],
        status="searched" if pattern.converged else "max_iter",
        advice=advice,
        n_iter=pattern.n_init,
        objective=pattern.explained * unit**2,
        objective_share=pattern.explained / data.op.total,
        n_init=pattern.n_init,
        reached=pattern.hits,
        call=call,
        **facts_of(data),
    )


# --- tables ---------------------------------------------------------------------------------------


def with_loadings(state: FitState) -> FitState:
    """Return the state with the sparse loadings in place of the weights, for tables and plots of loadings."""
    assert state.pattern is not None
    return replace(state, V=state.pattern)


def loadings_variance(state: FitState) -> pd.DataFrame:
    """Return a row for each component: nonzeros, sum of squares, and shares of the total variance."""
    P, total = with_loadings(state).V, state.moments.total
    squares = (P**2).sum(axis=0)
    return pd.DataFrame(
        {
            "cardinality": np.count_nonzero(P, axis=0),
            "sum of squares": squares,
            "share of total": squares / total,
            "cumulative": np.cumsum(squares) / total,
            "cumulative PCA": np.cumsum(state.moments.pca) / total,
        },
        index=state.components,
    )


def communalities(state: FitState) -> pd.Series:
    """Return the share of each variable's variance that its loadings explain, length p; NaN if constant."""
    variances, squares = state.moments.variances, (with_loadings(state).V ** 2).sum(axis=1)
    values = np.divide(squares, variances, out=np.full(len(squares), np.nan), where=variances > 0)
    return pd.Series(values, deep_copy(state.spec.columns), name="communality")


def glance(state: FitState) -> pd.DataFrame:
    """Return one row for the fit: sizes, nonzeros, explained variance and convergence."""
    record, shares_of, P = state.record, loadings_variance(state), with_loadings(state).V
    facts = {
        "method": record.method,
        "n": number_of_rows(record),
        "p": record.p,
        "k": record.k,
        "nonzeros": int(np.count_nonzero(P)),
        "variables": int(P.any(axis=1).sum()),
        "total_variance": state.moments.total,
        "explained": float(shares_of["cumulative"].iloc[-1]),
        "explained_pca": float(shares_of["cumulative PCA"].iloc[-1]),
        "objective": record.objective,
        "converged": record.converged,
        "n_iter": record.n_iter,
    }
    return pd.DataFrame([facts])
