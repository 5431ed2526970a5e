"""`choose_k`: the choice of the number of components by tests."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

import numpy as np

from spcastat.api import given_of
from spcastat.argument_types import DataOptions, Missing, Progress, Rng, Rows, Scale, Vector
from spcastat.choosing.data import COLUMNS, is_tested_in_part, require_room, tested_part
from spcastat.config import whole_number
from spcastat.engine.inputs import (
    Opened,
    Source,
    opened,
    table_and_formula,
    warn_of_unequal_variances,
)
from spcastat.errors import ComponentsError, DataError, OptionError
from spcastat.kernels.powers import unit_of
from spcastat.kernels.regression import rotated
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import SquareProducts
from spcastat.progress import listening
from spcastat.resample import seed_of
from spcastat.results.component_choice import ComponentChoice, Tested
from spcastat.results.other_names import refuse_other_names
from spcastat.select import sign_flips
from spcastat.select.noise_tests import Draws, default_card, standing
from spcastat.select.sign_flips import MomentNoise, Noise, RowNoise, Tails, of_covariance

#: Default for `kmax`.
KMAX = 8
#: Largest number of cells whose signs are flipped.
MOST_CELLS = 20_000_000


@overload
def choose_k(
    data: Rows,
    /,
    *,
    kmax: int | None = None,
    sparse_card: int | None = None,
    alpha: float = 0.05,
    n_draws: int = 199,
    formula: str | None = None,
    scale: Scale | None = None,
    na: Missing = "raise",
    weights: str | Vector | None = None,
    n_obs: int | None = None,
    covariance: bool | None = None,
    rng: Rng = None,
    progress: Progress = None,
    **options: Unpack[DataOptions],
) -> ComponentChoice: ...
@overload
def choose_k(
    formula: str,
    /,
    *,
    data: Rows,
    kmax: int | None = None,
    sparse_card: int | None = None,
    alpha: float = 0.05,
    n_draws: int = 199,
    scale: Scale | None = None,
    na: Missing = "raise",
    weights: str | Vector | None = None,
    rng: Rng = None,
    progress: Progress = None,
    **options: Unpack[DataOptions],
) -> ComponentChoice: ...
@overload
def choose_k(
    *,
    data: Rows,
    kmax: int | None = None,
    sparse_card: int | None = None,
    alpha: float = 0.05,
    n_draws: int = 199,
    formula: str | None = None,
    scale: Scale | None = None,
    na: Missing = "raise",
    weights: str | Vector | None = None,
    n_obs: int | None = None,
    covariance: bool | None = None,
    rng: Rng = None,
    progress: Progress = None,
    **options: Unpack[DataOptions],
) -> ComponentChoice: ...
def choose_k(
    data_or_formula: Any = None,
    /,
    *,
    data: Any = None,
    kmax: int | None = None,
    sparse_card: int | None = None,
    alpha: float = 0.05,
    n_draws: int = 199,
    formula: str | None = None,
    scale: Scale | None = None,
    na: Missing = "raise",
    weights: str | Vector | None = None,
    n_obs: int | None = None,
    covariance: bool | None = None,
    rng: Rng = None,
    progress: Progress = None,
    **options: Any,
) -> ComponentChoice:
    """Find how many components stand out from noise.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, as for :func:`spca`, or a covariance or correlation matrix. The first argument without a name,
        or ``data=``.
    kmax : int, optional
        Largest number of components; by default 8, or fewer if the data allow no more.
    sparse_card : int, optional
        Variables in a component of the sequential sparse test; 1.5 log(p) by default.
    alpha : float
        Level of parallel analysis; the two sequential tests use a fifth of it.
    n_draws : int
        Largest number of draws of simulated noise for each test.
    formula : str, optional
        One-sided, as in ``"~ a + log(b)"``; also the first argument if the table is given as ``data=``. See
        :func:`spca`.
    scale : bool, {"blocks", "raw blocks", "mixed"}, or array-like of shape (p,), optional
        Whether to divide columns by their standard deviations; not by default. See :func:`spca`.
    na : {"raise", "drop", "em", "pairwise"}
        How to treat missing values. See :func:`spca` and Notes.
    weights : str or array-like of shape (n,), optional
        Nonnegative frequency weights. See :func:`spca`.
    n_obs : int, optional
        Number of rows from which a covariance matrix was computed; needed for one.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default a symmetric frame with equal row and column labels
        is treated as one.
    rng : None, int or numpy Generator
        Seed of the draws; None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.
    **options
        Options of the data: `center`, `blocks`, `categorical`, `context`, `k_em` and `passes` of :func:`spca`
        for rows; `mean`, `sd`, `blocks`, `given` and `nearest` of :func:`spca_cov` for a covariance matrix.

    Returns
    -------
    ComponentChoice
        ``.k``, the number of components; ``.parallel``, ``.deflated`` and ``.sequential``, the numbers P, D
        and Q of the three tests (see Notes); ``.table``, eigenvalues and p-values of the components;
        ``.reason``, the choice in words; ``.spectrum``, all eigenvalues; ``.plot()``.

    Raises
    ------
    OptionError
        If a covariance matrix is given without `n_obs`, or a value is not allowed.

    Notes
    -----
    Noise is simulated by flipping signs of the centred (and scaled) values at random, which keeps the norms
    of rows and columns and removes the correlations (Hong, Sheng and Dobriban). The choice combines three
    tests, k = max(min(P, D), Q):

    - P, parallel analysis, keeps the leading components whose eigenvalues are exceeded by the eigenvalue of
      the same rank in at most a share `alpha` of the draws. Rows of very unequal norms do not appear as
      components if all is noise, but with real components P may count them as further ones.
    - D compares the first eigenvalue of the residuals given the earlier components with sign flips of these
      residuals, at the level `alpha` / 5.
    - Q does the same with sparse components, each extended to all variables correlated with it, and so
      finds weak components that strong ones hide from P. A component that explains less than .1 of the mean
      correlation of its variables is not counted, as with many rows any small correlation is significant.

    Drawing stops once the outcome of a test is certain. A level of `alpha` / 5 needs 5 / `alpha` - 1 draws;
    with fewer, the level of D and Q is the lowest possible, 1 / (`n_draws` + 1).

    A covariance matrix is treated as the sample covariance matrix of normal rows. For rows in chunks, and for
    more than 20 million cells, draws are made from the covariance matrix by the central limit theorem, with
    the fourth moments of the rows (one more pass) and the norms of the largest rows, so that these draws also
    allow for rows of very unequal norms. The signs of a weighted row are flipped together.
    Correlated noise, as between neighbours in time or space, is not noise in this sense: all tests find
    components in it.

    With ``na="em"`` or ``na="pairwise"``, missing values are replaced by the mean of their column, in the
    data and in the draws, and measured values are scaled to the variance of the column. A model of the
    missing values is not used, as it would create as many components in noise as its rank. The power is
    reduced, as with fewer rows.

    Examples
    --------
    >>> import spcastat as sp
    >>> sp.choose_k(sp.datasets.load_pitprops(), n_obs=180).k
    3
    """
    with listening(progress):
        data, formula = table_and_formula("choose_k", data_or_formula, data, formula)
        refuse_other_names("choose_k", options)
        draws = Draws(alpha, n_draws, seed_of(rng))
        options |= given_of(formula=formula, scale=scale, weights=weights, n_obs=n_obs)
        options |= {} if isinstance(na, str) and na == "raise" else {"na": na}
        entered, covariance, _ = opened(data, covariance, options, choose_k)
        require_early(entered, kmax, sparse_card)
        source = entered.source("")
        warn_of_unequal_variances(source, scale)
        return standing_out(source, covariance, kmax, sparse_card, draws)


def standing_out(source: Source, covariance: bool, kmax: Any, card: Any, draws: Draws) -> ComponentChoice:
    """Choose the number of components by tests, for data in a Source."""
    p, seed = source.op.p, draws.seed
    most, kmax, card = _asked(p, source.op.rank_limit, kmax, card, is_tested_in_part(source, MOST_CELLS))
    if not source.op.total > 0:
        raise DataError("The data have no variance: every column is constant.")
    cells = MOST_CELLS
    if is_tested_in_part(source, cells):
        require_room(p, kmax, card)
        source, cells = tested_part(source, kmax, card, seed), sign_flips.MOST_CELLS
        most = min(most, max(source.op.rank_limit, 1))
        kmax = min(kmax, most)
    within = unit_of(float(source.op.diagonal().max()))
    noise = _noise(source, covariance, seed, cells, within)
    found = standing(noise, kmax, card, draws)
    return ComponentChoice(
        found,
        p=source.op.p,
        unit=(source.op.unit * within) ** 2,
        most=most,
        tested=None if source.op.p == p else Tested(p, source.n or 0),
    )


def _asked(p: int, rank: int, kmax: Any, card: Any, in_part: bool) -> tuple[int, int, int]:
    """Return the number of components that can be tested, and the checked `kmax` and `card`."""
    if p < 2:
        raise ComponentsError("The data have one variable; the choice of a number of components needs more.")
    most = min(p - 1, max(rank, 1))
    kmax = min(KMAX, most) if kmax is None else whole_number("kmax", kmax, 1, most, ComponentsError)
    among = COLUMNS if in_part else p
    return most, kmax, default_card(among) if card is None else whole_number("sparse_card", card, 1, p)


def _noise(source: Source, covariance: bool, seed: int, cells: int, within: float) -> Noise:
    """Return the simulation of noise; signs are flipped directly for up to `cells` cells.

    The data of the operator are divided by `within`, a power of two, so that squares of their covariances
    neither overflow nor vanish.
    """
    op, n = source.op, source.free
    if covariance:
        if n is None:
            raise OptionError(
                "n_obs is not given; the eigenvalues of noise depend on the number of rows from which the "
                "covariance matrix was computed. Give n_obs=."
            )
        S = op.block(np.arange(op.p)) / within**2
        return of_covariance(S, int(n), np.random.default_rng([seed, 1]))
    if source.matrix is not None and source.matrix.shape[0] * op.p <= cells:
        assert source.standard is not None
        X = source.measured
        X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=float)
        Z = (X - source.standard.mean) / source.standard.scale / op.unit / within
        w = np.ones(len(Z)) if source.weights is None else source.weights
        gaps = np.isnan(Z)
        counts = w @ ~gaps  # the sum of the weights in each column
        rows = np.where(gaps, 0.0, Z) * np.sqrt(w)[:, None] / np.sqrt(np.maximum(counts - 1.0, 1.0))
        return RowNoise(rows if source.covariates is None else rotated(rows, source.covariates, w))
    if source.gaps is not None:
        raise DataError(
            f"The data have {source.n} rows of {op.p} variables with missing values, too many for random "
            "signs of every cell; give k=, or a sample of the rows."
        )
    S = op.block(np.arange(op.p))
    return MomentNoise(S / within**2, source.free or 0.0, None, _tails(source, S))


def _tails(source: Source, S: np.ndarray) -> Tails | None:
    """Return how far the rows of S are from normal; None if that cannot be represented in floating point."""
    standard, n = source.standard, source.weight
    assert standard is not None
    deviations = np.sqrt(np.diag(S))
    divisor = standard.scale * source.op.unit * deviations
    begin = partial(SquareProducts, standard.mean, np.where(divisor > 0, divisor, np.inf))
    if source.stream is not None:
        squares = source.stream.reduce(begin, "products of squares").result
    else:
        squares = begin()
        squares.add(source.matrix, source.weights)
    fourth = squares.about(np.zeros(len(S))) * n / (n - 1.0) ** 2
    correlations = S / np.maximum(np.outer(deviations, deviations), np.finfo(float).tiny)
    ratio = fourth / (1.0 + 2.0 * correlations**2)
    sizes = squares.sizes / max(int(np.count_nonzero(deviations)), 1)
    return Tails(ratio, sizes) if np.isfinite(ratio).all() else None


def require_early(entered: Opened, kmax: Any, card: Any) -> None:
    """Raise, before rows in chunks are read, if `kmax` and `card` cannot be tested."""
    if is_tested_in_part(entered, MOST_CELLS):
        _, kmax, card = _asked(entered.p, entered.p, kmax, card, True)
        require_room(entered.p, kmax, card)
