"""How many components: what users call, and the tests of data that were read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from spcastat.choosing.data import opened
from spcastat.choosing.halves import FLIPPED, is_tested_in_part, require_room, tested_part
from spcastat.choosing.screened import COLUMNS
from spcastat.config import real_number, whole_number
from spcastat.engine.inputs import Opened, Source
from spcastat.errors import ComponentsError, DataError, OptionError
from spcastat.kernels.regression import rotated
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import SquareProducts
from spcastat.progress import listening
from spcastat.resample import seed_of
from spcastat.results.component_choice import ComponentChoice, Tested
from spcastat.select.noise_tests import default_card, standing
from spcastat.select.sign_flips import MomentNoise, Noise, RowNoise, Tails, of_covariance

#: Components that are looked at by default.
KMAX = 8
#: Cells whose signs are flipped, at most.
MOST_CELLS = 20_000_000
#: Draws, at most.
MOST_DRAWS = 100_000


def choose_k(
    data: Any,
    kmax: int | None = None,
    card: int | None = None,
    alpha: float = 0.05,
    n_resample: int = 199,
    rng: Any = None,
    *,
    covariance: bool | None = None,
    progress: Any = False,
    **described: Any,
) -> ComponentChoice:
    """Find how many components stand out from noise.

    Parameters
    ----------
    data : as for :func:`spcastat.spca`, or a covariance matrix as for :func:`spcastat.spca_cov`
    kmax : int, optional
        The most components to look at; by default 8, or as many as there can be.
    card : int, optional
        Variables in a component of the sequential sparse test; 1.5 log(p) by default.
    alpha : float
        Level of parallel analysis; the two tests of one component after another have a fifth of it.
    n_resample : int
        Draws.
    rng : None, int or numpy Generator
        Seed of the draws; None is a fixed one.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default it is taken for one if it is a symmetric frame
        with equal row and column labels.
    progress : bool or callable
        As for :func:`spcastat.spca`.
    **described
        `formula`, `center`, `scale`, `weights`, `na`, `context`, `categorical` for rows, and `n_obs`, which
        is needed, for a covariance matrix.

    Returns
    -------
    ComponentChoice
        ``.k``, ``.parallel``, ``.deflated``, ``.sequential``, ``.table``, ``.reason``, ``.spectrum``,
        ``.plot()``.

    Raises
    ------
    OptionError
        For a covariance matrix without `n_obs`, and values that are not allowed.

    Notes
    -----
    Noise is simulated by flipping signs of the centred (and scaled) values at random: that keeps the sizes of
    rows and of columns and takes away their correlation (Hong, Sheng and Dobriban). Three tests make the
    choice, k = max(min(P, D), Q):

    - P, parallel analysis, keeps the leading components whose eigenvalues are reached in at most a share
      `alpha` of the draws, each compared with the eigenvalue of the same rank. Where components are real it
      takes rows of very unequal size for further ones.
    - D compares the first eigenvalue of what is left without the components before with flips of that, at
      the level `alpha` / 5.
    - Q does the same with sparse components, each extended to all variables that correlate with it, and so
      sees weak ones that strong components hide from P. One that explains less than .1 of the mean
      correlation of its variables is not counted: of many rows any trace is significant.

    Drawing stops once a p-value is settled. A fifth of `alpha` needs 5 / `alpha` - 1 draws; with fewer the
    level of D and Q is the lowest that they allow, 1 / (`n_resample` + 1).

    A covariance matrix is taken for that of normal rows with exactly these covariances. For rows that are
    never all in memory, and for more than 20 million cells, draws are made from the covariance matrix by the
    central limit theorem, with the fourth moments of the rows (one more pass) and the sizes of the largest
    ones, so that rows of very unequal size are no component here either. A weighted row is flipped as one.
    Correlated noise, such as that of neighbours in time or space, does not count as noise here: all tests
    find components in it.

    Missing values that are kept (``na="em"`` or ``na="pairwise"``) count as the mean of their column, in the
    data as in the draws, and what was measured is scaled to the variance of the column. Neither uses a model
    of the missing values, which would find as many components in noise as its rank. Components are harder to
    see, as with fewer rows.

    Examples
    --------
    >>> import spcastat as sp
    >>> sp.choose_k(sp.datasets.load_pitprops(), n_obs=180).k
    3
    """
    with listening(progress):
        alpha, n_resample = level(alpha, n_resample)
        seed = seed_of(rng)
        entered, covariance, _ = opened(data, covariance, described, choose_k)
        require_early(entered, kmax, card)
        return standing_out(entered.source(""), covariance, kmax, card, alpha, n_resample, seed)


def level(alpha: float, n_resample: int) -> tuple[float, int]:
    """Return the checked level of the tests, and the number of draws, which must be able to reach it."""
    alpha = real_number("alpha", alpha, 1.0 / (MOST_DRAWS + 1), 0.5)
    n_resample = whole_number("n_resample", n_resample, 19, MOST_DRAWS)
    if n_resample + 1 < 1.0 / alpha:
        raise OptionError(
            f"n_resample={n_resample} was given with alpha={alpha:g}; p-values are 1 / "
            f"{n_resample + 1} at least. Give {int(np.ceil(1.0 / alpha)) - 1} draws or more."
        )
    return alpha, n_resample


def standing_out(
    source: Source,
    covariance: bool,
    kmax: Any,
    card: Any,
    alpha: float,
    n_resample: int,
    seed: int,
) -> ComponentChoice:
    """Choose the number of components by tests, for data that were opened as a Source."""
    p = source.op.p
    most, kmax, card = _asked(p, source.op.rank_limit, kmax, card, is_tested_in_part(source, MOST_CELLS))
    if not source.op.total > 0:
        raise DataError("The data have no variance: every column is constant.")
    cells = MOST_CELLS
    if is_tested_in_part(source, cells):
        require_room(p, kmax, card)
        source, cells = tested_part(source, kmax, card, seed), FLIPPED
        most = min(most, max(source.op.rank_limit, 1))
        kmax = min(kmax, most)
    noise = _noise(source, covariance, seed, cells)
    found = standing(noise, kmax, card, alpha, n_resample, seed)
    unit = source.op.unit**2 if isinstance(noise, MomentNoise) and not covariance else 1.0
    return ComponentChoice(
        found,
        p=source.op.p,
        card=card,
        alpha=alpha,
        n_resample=n_resample,
        unit=unit,
        most=most,
        tested=None if source.op.p == p else Tested(p, source.n or 0),
    )


def _asked(p: int, rank: int, kmax: Any, card: Any, in_part: bool) -> tuple[int, int, int]:
    """Return how many components can be tested, and the checked `kmax` and `card`."""
    if p < 2:
        raise ComponentsError("The data have one variable; a number of components is chosen among several.")
    most = min(p - 1, max(rank, 1))
    kmax = min(KMAX, most) if kmax is None else whole_number("kmax", kmax, 1, most, ComponentsError)
    among = COLUMNS if in_part else p
    return most, kmax, default_card(among) if card is None else whole_number("card", card, 1, p)


def _noise(source: Source, covariance: bool, seed: int, cells: int) -> Noise:
    """Return the data as the tests need them; up to so many cells are flipped themselves."""
    op, n = source.op, source.free
    if covariance:
        if n is None:
            raise OptionError(
                "n_obs is not given; how large eigenvalues of noise are depends on the number of rows behind "
                "the covariance matrix. Give n_obs=."
            )
        S = op.block(np.arange(op.p)) * op.unit**2
        return of_covariance(S, int(n), np.random.default_rng([seed, 1]))
    if source.matrix is not None and source.matrix.shape[0] * op.p <= cells:
        assert source.standard is not None
        X = source.measured
        X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=float)
        Z = (X - source.standard.mean) / source.standard.scale
        w = np.ones(len(Z)) if source.weights is None else source.weights
        gaps = np.isnan(Z)
        counts = w @ ~gaps  # of equal columns: the sum of the weights
        rows = np.where(gaps, 0.0, Z) * np.sqrt(w)[:, None] / np.sqrt(np.maximum(counts - 1.0, 1.0))
        return RowNoise(rows if source.covariates is None else rotated(rows, source.covariates, w))
    if source.gaps is not None:
        raise DataError(
            f"The data have {source.n} rows of {op.p} variables with missing values, too many for random "
            "signs of every cell; give k=, or a sample of the rows."
        )
    S = op.block(np.arange(op.p))
    return MomentNoise(S, source.free or 0.0, None, _tails(source, S))


def _tails(source: Source, S: np.ndarray) -> Tails | None:
    """Return how the rows behind S differ from normal ones; None where that cannot be represented."""
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
    """Raise, before rows in chunks are read, where so many components and variables are not tested."""
    if is_tested_in_part(entered, MOST_CELLS):
        _, kmax, card = _asked(entered.p, entered.p, kmax, card, True)
        require_room(entered.p, kmax, card)
