"""Ties, leading eigenvectors, orthonormal bases, and the largest rows of a matrix.

Values that differ only by rounding are treated as equal, and of equal values the one with the lowest index is
chosen. All diagonal entries of a correlation matrix tie, for example: without such a rule the last bit of a
product would decide the starting values, the support and the sign of a fit. The same rule chooses among
eigenvectors of equal eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# --- ties -----------------------------------------------------------------------------------------


#: Values that differ by at most this share of their size are treated as equal.
RELATIVE = 1e-10
#: A requested share of the variance is treated as reached if a share falls short of it by at most this.
TARGET_ROUNDING = 1e-10
#: Rounding errors are at most about this share of the largest value in the same array.
ROUNDING = 1e-14
#: Rounding error of sums of many products, as a share of their terms: for example of the residual of a column
#: that other columns determine, of a mean, or of the change of a criterion.
SUM_ROUNDING = 1e-12
#: A residual of a vector on other vectors has lost half of its digits if it is shorter than this share of it.
HALF_DIGITS = 1e-8
#: Entries of an eigenvector that differ by at most this share of its largest entry are treated as equal.
ENTRY_TOLERANCE = 1e-13
#: Longer vectors are not levelled, because different entries may be this close by chance.
LEVELLED_ORDER = 5000
#: Ratio of the median absolute deviation of a normal variable to its standard deviation.
NORMAL_MAD = 0.6744897501960817
#: Squared lengths above this, and below its inverse, are computed without loss of digits.
SAFE_SQUARE = 1e-200


def tie_width(reference: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return the largest difference from `reference` at which a value still ties with it.

    `largest` is the largest absolute value of the array.
    """
    return RELATIVE * np.abs(reference) + ROUNDING * np.abs(largest)


def first_max(values: np.ndarray) -> int:
    """Return the lowest index of `values`, shape (p,), that ties with the largest.

    Values of -inf are not candidates and do not affect the width of ties.
    """
    largest = values.max()
    return int(np.argmax(values >= largest - tie_width(largest, _size(values))))


def ranked(values: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the indices of `values`, shape (p,), from the largest to the smallest.

    Ties are broken by the first of the `others` whose entries differ, in descending order, and then by index.
    """
    keys = [np.arange(values.size)]
    for sort_keys in (values, *others)[::-1]:
        order = np.argsort(-sort_keys, kind="stable")
        falling = sort_keys[order]
        is_distinct = falling[:-1] - falling[1:] > tie_width(falling[:-1], np.abs(sort_keys).max(initial=0.0))
        group = np.empty(sort_keys.size, dtype=int)
        group[order] = np.concatenate([np.zeros(min(sort_keys.size, 1), dtype=int), np.cumsum(is_distinct)])
        keys.append(group)
    return np.lexsort(keys)


def top(values: np.ndarray, count: int, width: float = 0.0, largest: np.ndarray | None = None) -> np.ndarray:
    """Mark the `count` largest values of every column.

    Parameters
    ----------
    values : ndarray of shape (p,) or (p, m)
    count : int
        From 1 to p. A value of -inf is not a candidate: each column needs `count` other values.
    width : float
        Values that differ by at most this also tie; for results of an iteration, its accuracy.
    largest : ndarray of shape () or (m,), optional
        The largest absolute value of every column, without -inf, if it is known.

    Returns
    -------
    ndarray of bool, shape of `values`
        Exactly `count` entries of each column are True; of tied values, those with the lowest index.
    """
    p = values.shape[0]
    if count >= p:
        return np.ones(values.shape, dtype=bool)
    lowest = np.partition(values, p - count, axis=0)[p - count]
    width = np.maximum(tie_width(lowest, _size(values) if largest is None else largest), width)
    at_least = values >= lowest - width
    if np.count_nonzero(at_least) == count * lowest.size:  # every column has `count` or more
        return at_least
    exceeds = values > lowest + width
    tied = at_least & ~exceeds
    return exceeds | (tied & (np.cumsum(tied, axis=0) <= count - exceeds.sum(axis=0)))


def next_ties(v: np.ndarray, card: int, width: float) -> bool:
    """Return whether the `card`-th largest absolute value, card < p, ties with the next, up to `width`."""
    ordered = np.sort(np.abs(v))[::-1]
    return bool(ordered[card - 1] - ordered[card] <= width)


def _size(values: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of every column, without counting -inf."""
    smallest = values.min(axis=0, where=values > -np.inf, initial=np.inf)
    return np.asarray(np.maximum(values.max(axis=0), -smallest))


def levelled(V: np.ndarray, level: float = ENTRY_TOLERANCE) -> np.ndarray:
    """Return a copy of `V`, shape (p, m), in which absolute values that differ only by rounding are equal.

    In each column the absolute values are sorted; neighbours that differ by at most `level` times the largest
    value are replaced by their mean, and values this close to zero by zero. Otherwise an iteration that
    shrinks equal entries to almost nothing would magnify the differences in their last bits.
    """
    V = np.array(V)
    for column in V.T:
        size = np.abs(column)
        ranked = np.sort(size)
        width = level * ranked[-1]
        is_distinct = ranked[1:] - ranked[:-1] > width
        is_single = np.append(is_distinct, True) & np.append(ranked[0] > width, is_distinct)
        if is_single.all():
            continue
        ranked = ranked[~is_single]
        place = np.searchsorted(ranked, size).clip(max=len(ranked) - 1)
        tied = np.flatnonzero(ranked[place] == size)
        order = tied[np.argsort(size[tied])]
        group = np.append(0, np.cumsum(ranked[1:] - ranked[:-1] > width))
        mean = np.bincount(group, ranked) / np.bincount(group)
        if ranked[0] <= width:
            mean[0] = 0.0
        column[order] = np.where(column[order] < 0, -1.0, 1.0) * mean[group] + 0.0  # no -0
    return V


def flip_signs(V: np.ndarray) -> np.ndarray:
    """Return the signs, shape (m,), that make the largest absolute entry of every column positive.

    If several entries are within a relative 1e-6 of the largest, the first decides, because iterations do not
    determine loadings more exactly. For a column of zeros the sign is 1.
    """
    size = np.abs(V)
    places = np.argmax(size >= size.max(axis=0, initial=0.0) * (1.0 - 1e-6), axis=0)
    return np.where(V[places, np.arange(V.shape[1])] < 0, -1.0, 1.0)


def better_signs(V: np.ndarray, axis: int) -> np.ndarray:
    """Return signs that give the positive parts larger norms, in the shape of V with length 1 on `axis`."""
    up, down = ((np.maximum(sign * V, 0.0) ** 2).sum(axis=axis, keepdims=True) for sign in (1.0, -1.0))
    return np.where(down > up * (1.0 + 1e-10), -1.0, 1.0)


def canonical_eigenvectors(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose eigenvectors of equal eigenvalues, and all signs, by a rule that does not depend on rounding.

    The eigenvectors of a group of equal eigenvalues are the projections of the coordinate axes on their
    eigenspace, in the order of the axes, made orthogonal by Gram-Schmidt. Axes that add (almost) no new
    direction are left out.
    """
    vectors = np.array(vectors)
    start = 0
    for stop in range(1, len(values) + 1):
        tied = stop < len(values) and values[stop] >= values[start] - tie_width(values[start], values[0])
        if tied:
            continue
        if stop - start > 1:
            vectors[:, start:stop] = _by_axes(vectors[:, start:stop])
        start = stop
    if len(vectors) <= LEVELLED_ORDER:
        vectors = levelled(vectors)
    return values, vectors * flip_signs(vectors)


def _by_axes(basis: np.ndarray) -> np.ndarray:
    """Return the orthonormal basis of the span of `basis` that `canonical_eigenvectors` uses, (p, g)."""
    axes = np.zeros((basis.shape[1], basis.shape[1]))  # in the coordinates of `basis`
    count = 0
    for axis in basis:
        residual = axis - axes[:, :count] @ (axes[:, :count].T @ axis)
        length = np.linalg.norm(residual)
        if length > 1e-3:  # the axis is not almost a combination of earlier ones
            residual = residual / length
            residual -= axes[:, :count] @ (axes[:, :count].T @ residual)
            axes[:, count] = residual / np.linalg.norm(residual)
            count += 1
            if count == basis.shape[1]:
                return basis @ axes
    return basis


def quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, with 0 where b = 0; b is nonnegative, and the shapes broadcast.

    The result has the memory layout of `a`, so that the order of later summations does not change.
    """
    return np.asarray(a / np.where(b > 0, b, np.inf))


def unit(W: np.ndarray) -> np.ndarray:
    """Scale the columns of `W` to unit length; zero columns stay zero."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.vecdot(W.T, W.T)
    if squares.min(initial=np.inf) > SAFE_SQUARE and squares.max(initial=0.0) < 1.0 / SAFE_SQUARE:
        return np.asarray(W / np.sqrt(squares))
    largest = np.abs(W).max(axis=0)
    scaled = quotients(W, largest)
    return quotients(scaled, np.linalg.norm(scaled, axis=0))


# --- eigenvectors ---------------------------------------------------------------------------------


#: Up to this order LAPACK is used, which is at least as fast as Lanczos and always finds every pair.
DENSE_ORDER = 500
#: Columns of a sketch whose residual is below this share of the largest are rounding errors.
RANK_TOLERANCE = 1e-12
EPS = float(np.finfo(float).eps)


def top_eigh(S: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, descending, and their eigenvectors, shape (p, k), of `S`.

    Eigenvectors of tied eigenvalues are chosen by `canonical_eigenvectors`.
    """
    values, vectors = canonical_eigenvectors(*whole_groups(S, k))
    return values[:k], vectors[:, :k]


def whole_groups(S: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenpairs, descending, and all whose eigenvalues tie with the k-th."""
    p = S.shape[0]
    m = min(k + 1, p)
    while True:
        # Up to order 250 NumPy computes all pairs. That costs little more than a few of them, scipy.linalg
        # need not be imported, and threads of SciPy and NumPy do not wait for one another (which took up to
        # ten times as long).
        if p <= 250:
            m = p
        values, vectors = largest_pairs(S, m)
        values, vectors = values[::-1], vectors[:, ::-1]
        separate = np.flatnonzero(values[k:] < values[k - 1] - tie_width(values[k - 1], values[0]))
        if separate.size:
            end = k + int(separate[0])
            return values[:end], vectors[:, :end]
        if m == p:
            return values, vectors
        m = min(2 * m, p)


def largest_pairs(S: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the m largest eigenvalues, ascending, and their eigenvectors."""
    if m < S.shape[0]:
        from scipy.linalg import eigh

        try:
            values, vectors = eigh(S, subset_by_index=[S.shape[0] - m, S.shape[0] - 1])
        except np.linalg.LinAlgError:
            values = vectors = np.empty(0)
        if len(values) == m:  # with many equal eigenvalues LAPACK's routine may fail or miss some
            return values, vectors
    values, vectors = np.linalg.eigh(S)
    return values[-m:], vectors[:, -m:]


def below(M: np.ndarray, level: float) -> bool:
    """Return whether all eigenvalues of `M` are proven to be below `level`.

    A successful Cholesky factorisation of level I - M proves this for a matrix that differs from level I - M
    by at most (p + 1) eps / 2 times the trace (Rump 2006, "Verification of positive definiteness"); twice
    this amount is subtracted first.
    """
    K = -M
    p = len(M)
    corner = level - np.diag(M)
    if not (corner > 0).all():
        return False
    np.fill_diagonal(K, corner - (p + 2) * EPS * float(corner.sum()))
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


def largest_value(S: np.ndarray) -> float:
    """Return the largest eigenvalue of `S`."""
    from scipy.linalg import eigh

    end = S.shape[0] - 1
    try:
        values = eigh(S, subset_by_index=[end, end], eigvals_only=True)
    except np.linalg.LinAlgError:  # see largest_pairs
        values = np.empty(0)
    return float(values[0] if len(values) else np.linalg.eigvalsh(S)[-1])


def top_lanczos(
    product: Callable[[np.ndarray], np.ndarray], p: int, k: int, start: np.ndarray, basis: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of `top_eigh` for a matrix of order `p`, given by its products with vectors.

    The iteration starts at `start`, shape (p,); equal starts give results that are equal to the last bit. At
    least `basis` Lanczos vectors are stored; more of them mean fewer products.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if p <= DENSE_ORDER or k >= p - 1:
        return top_eigh(symmetric(product(np.eye(p))), k)
    operator = LinearOperator((p, p), matvec=product, matmat=product, dtype=np.dtype(float))
    try:
        values, vectors = eigsh(operator, k=k, v0=start, which="LA", ncv=min(p, max(2 * k + 1, basis)))
    except ArpackNoConvergence:
        values, vectors = eigsh(operator, k=k, v0=start, which="LA", ncv=min(p, 6 * k + 60), maxiter=100 * p)
    order = np.argsort(values)[::-1]
    vectors = vectors[:, order]
    return values[order], vectors * flip_signs(vectors)


def top_dense(S: np.ndarray, k: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenpairs of a dense `S` by the cheaper of `top_eigh` and `top_lanczos`."""
    if len(S) <= DENSE_ORDER or 10 * k > len(S):
        return top_eigh(S, k)
    return top_lanczos(lambda v: S @ v, len(S), k, start)


def pairs_of_low_rank(S: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the eigenpairs of `S`, symmetric of shape (p, p), except those with zero eigenvalues.

    A random sketch with more columns than the rank spans the range (Halko, Martinsson and Tropp 2011,
    "Finding structure with randomness"), so that only a matrix of the order of the rank is decomposed.

    Returns
    -------
    tuple of ndarray, or None
        Eigenvalues, shape (r,), ascending, and eigenvectors, shape (p, r); None if the rank r is not below
        the number of columns, a sixteenth of p.
    """
    sketch = S @ np.random.default_rng(0).standard_normal((len(S), len(S) // 16))
    Q, R = np.linalg.qr(sketch)
    sizes = np.abs(np.diag(R))
    rank = int(np.count_nonzero(sizes > RANK_TOLERANCE * sizes.max(initial=0.0)))
    if rank == len(sizes):
        return None
    Q = Q[:, :rank]
    values, turn = np.linalg.eigh(symmetric(Q.T @ (S @ Q)))
    return values, Q @ turn


def bordered_top(values: np.ndarray, coupling: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalues of the matrices [[diag(values), b], [b', d]], for many b and d at once.

    Parameters
    ----------
    values : ndarray of shape (..., s)
        Eigenvalues of the block; the m problems share it.
    coupling : ndarray of shape (..., s, m)
        The borders b in the block's eigenvector basis, one column for each problem.
    corner : ndarray of shape (..., m)
        The corners d.

    Returns
    -------
    ndarray of shape (..., m)

    Notes
    -----
    Let x be the distance of the root from the largest of `values`. The secular function is x + c minus a term
    w / (x + gap) for each of the values. Without the term of the largest value it is increasing and concave,
    so that it lies below its tangent. Each step replaces that part by its tangent and solves the resulting
    quadratic: from any lower bound the solutions increase to the true root. The first lower bound is the
    largest eigenvalue of the 2 x 2 matrices made of one eigenvector of the block and the border.
    """
    largest = values.max(axis=-1)[..., None, None]
    gaps = largest - values[..., :, None]
    distance = corner - largest[..., 0]
    weights = coupling**2
    half_sum, half_gap = 0.5 * (distance[..., None, :] - gaps), 0.5 * (distance[..., None, :] + gaps)
    root = np.sqrt(half_gap**2 + weights)
    x = np.maximum((half_sum + root).max(axis=-2), 0.0)
    if x.size == 0:
        return largest[..., 0] + x
    scale = np.abs(values).max(axis=-1)[..., None] + np.abs(corner) + np.sqrt(weights.max(axis=-2))
    at_largest = gaps <= 1e-15 * scale[..., None, :]
    pole = np.where(at_largest, weights, 0.0).sum(axis=-2)
    weights = np.where(at_largest, 0.0, weights)
    gaps = np.where(at_largest, 1.0, gaps)
    for _ in range(100):
        term = weights / (x[..., None, :] + gaps)
        slope = 1.0 + (term / (x[..., None, :] + gaps)).sum(axis=-2)
        offset = x - distance - term.sum(axis=-2) - slope * x
        size = np.sqrt(offset**2 + 4.0 * slope * pole)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = np.where(offset > 0, 2.0 * pole / (offset + size), (size - offset) / (2.0 * slope))
        step = estimate - x
        x = np.maximum(estimate, x)
        if (step <= 1e-15 * scale).all():
            break
    return largest[..., 0] + x


def symmetric(S: np.ndarray) -> np.ndarray:
    """Return the mean of a matrix and its transpose, or of each matrix of a stack and its transpose."""
    return 0.5 * (S + S.mT)


def symmetric_root(S: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Return the symmetric root of a covariance matrix, shape (p, p).

    Eigenvalues of at most the share `rounding` of the largest are set to zero.
    """
    values, vectors = np.linalg.eigh(S)
    values = np.where(values > rounding * values[-1], values, 0.0)
    return np.asarray((vectors * np.sqrt(values)) @ vectors.T)


def bordered_lower(values: np.ndarray, squares: np.ndarray, corner: np.ndarray, steps: int = 4) -> np.ndarray:
    """Return lower bounds, for ranking, on the largest eigenvalues of matrices [[diag(values), b], [b', d]].

    Parameters
    ----------
    values : ndarray of shape (s, m)
        Eigenvalues of the blocks, one column for each problem.
    squares : ndarray of shape (s, m)
        The squared borders b, in the eigenvector bases of the blocks.
    corner : ndarray of shape (m,)
        The corners d.
    steps : int
        Number of Newton steps. They increase towards the eigenvalue and never exceed it, as in
        `spcastat.linalg.eigenvectors.bordered_top`, which iterates until convergence.

    Returns
    -------
    ndarray of shape (m,)
    """
    half, half_corner = 0.5 * values, 0.5 * corner
    mu = np.sqrt((half - half_corner) ** 2 + squares)
    mu += half + half_corner
    level = mu.max(axis=0)
    floor = np.maximum(1e-15 * np.abs(level), 1e-300)
    for _ in range(steps):
        gap = np.maximum(level - values, floor)
        term = squares / gap
        step = (corner + term.sum(axis=0) - level) / (1.0 + (term / gap).sum(axis=0))
        level = level + np.maximum(step, 0.0)
    return level


# --- orthonormal bases and rotations --------------------------------------------------------------


def orthonormalise(T: np.ndarray, dependent: float = SUM_ROUNDING) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormalise columns in their order, by Gram-Schmidt with reorthogonalisation.

    Parameters
    ----------
    T : ndarray of shape (r, k)
    dependent : float
        A column is treated as dependent if at most this share of its length remains.

    Returns
    -------
    Q : ndarray of shape (r, k)
        Orthonormal columns; column j is zero if column j of `T` depends on earlier columns.
    remainder : ndarray of shape (k,)
        Length of each column after projecting out earlier columns: the diagonal of R in T = QR.
    """
    columns = np.array(T.T, dtype=float, order="C")
    Q = np.zeros(columns.shape)  # transposed, so that each vector is contiguous
    remainder = np.zeros(len(columns))
    for j, q in enumerate(columns):
        length = np.linalg.norm(q)
        if j:
            for _ in range(2):
                q = q - (Q[:j] @ q) @ Q[:j]
        residual_norm = np.linalg.norm(q)
        if residual_norm > dependent * length:
            Q[j] = q / residual_norm
            remainder[j] = residual_norm
    return Q.T, remainder


def straightened(vectors: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis, shape (p, m), of the span of linearly independent vectors.

    If the vectors are nearly orthonormal already, as is usual, the Cholesky factor of their inner products is
    used. The factor then loses no accuracy and takes a tenth of the time of a Householder QR decomposition.
    """
    if vectors.shape[1]:
        try:
            root = np.linalg.cholesky(vectors.T @ vectors)
        except np.linalg.LinAlgError:
            root = np.zeros((1, 1))
        if np.diag(root).min() > 0.5:
            return np.asarray(vectors @ np.linalg.inv(root).T)
    return np.linalg.qr(vectors)[0]


#: Varimax ends when a step improves the criterion by at most this share of it.
VARIMAX_TOLERANCE = 1e-10


def varimax(A: np.ndarray, normalise: bool = False, max_iter: int = 500) -> np.ndarray:
    """Rotate the columns of matrices to maximise the varimax criterion.

    Parameters
    ----------
    A : ndarray of shape (..., p, k)
    normalise : bool
        Give every variable the same weight (Kaiser's normalisation).
    max_iter : int

    Returns
    -------
    ndarray of shape (..., p, k)

    Notes
    -----
    Kaiser (1958). Each step takes the orthogonal matrix closest to the gradient.
    """
    p, k = A.shape[-2:]
    normalised = quotients(A, np.linalg.norm(A, axis=-1, keepdims=True)) if normalise else A
    B = normalised.reshape(-1, p, k)
    rotation, products = np.tile(np.eye(k), (len(B), 1, 1)), B.mT @ B
    is_long = p > LONG_COLUMNS * k * k and max_iter > 1  # one step takes less time than the moments
    if is_long:
        B = _fourth_moments(B)
    going, objectives = np.arange(len(B)), np.zeros(len(B))
    for _ in range(max_iter):
        if not len(going):
            break
        R = rotation[going]
        with_rotated = products @ R
        means = np.einsum("mij,mij->mj", R, with_rotated) / p  # of the squares of B R
        cubes = _cubes_by_moments(B, R) if is_long else _cubes(B, R)
        gradient = cubes - with_rotated * means[:, None]
        U, values, Vt = np.linalg.svd(gradient)
        rotation[going] = U @ Vt
        improved = values.sum(axis=-1) > objectives * (1.0 + VARIMAX_TOLERANCE)
        objectives = values.sum(axis=-1)
        if not improved.all():
            going, objectives = going[improved], objectives[improved]
            B, products = B[improved], products[improved]
    return np.asarray(A @ rotation.reshape(*A.shape[:-2], k, k))


#: With more rows than this multiple of k^2, a step of varimax uses the fourth moments of the columns: with
#: 6830 rows this took .2 to .3 of the time, and with 100 rows about the same time.
LONG_COLUMNS = 10
#: Number of rows whose products are formed at once.
ROWS_OF_PAIRS = 1000


def _fourth_moments(B: np.ndarray) -> np.ndarray:
    """Return the sums over rows of B_ia B_ib B_ic B_id, shape (m, k^2, k^2), for B of shape (m, p, k)."""
    m, p, k = B.shape
    moments = np.zeros((m, k * k, k * k))
    for start in range(0, p, ROWS_OF_PAIRS):
        rows = B[:, start : start + ROWS_OF_PAIRS]
        pairs = (rows[..., :, None] * rows[..., None, :]).reshape(m, rows.shape[1], k * k)
        moments += pairs.mT @ pairs
    return moments


def _cubes(B: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return B' (B R)^3, shape (m, k, k), for B of shape (m, p, k)."""
    L = B @ R
    return np.asarray(B.mT @ (L * L * L))


def _cubes_by_moments(moments: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return B' (B R)^3, shape (m, k, k), given the fourth moments of B."""
    m, k = R.shape[:2]
    pairs = (R[:, :, None, :] * R[:, None, :, :]).reshape(m, k * k, k)
    return np.asarray(np.einsum("mabj,mbj->maj", (moments @ pairs).reshape(m, k, k, k), R))


# --- the largest rows of a matrix -----------------------------------------------------------------


def leading(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the indices of at most `count` nonzero rows of `values`, shape (p, k), in ascending order.

    If there are more, the columns take turns: each chooses the row of its largest remaining absolute entry.
    Otherwise a column with many small entries would look empty.
    """
    rows = np.flatnonzero((values != 0).any(axis=1))
    if len(rows) <= count:
        return rows
    size = np.abs(np.nan_to_num(values[rows], nan=np.inf))
    order = np.argsort(-size, axis=0, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(len(rows))[:, None], axis=0)
    place[size == 0] = len(rows)
    return rows[np.sort(np.argsort(place.min(axis=1), kind="stable")[:count])]


def numerical_rank(values: np.ndarray, p: int) -> int:
    """Return how many of the largest eigenvalues of a p x p matrix, shape (k,), exceed rounding errors."""
    return int(np.count_nonzero(values > np.finfo(float).eps * p * max(values[0], 0.0)))


def factors_of(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the singular value decomposition of X up to its rank."""
    U, values, T = np.linalg.svd(X, full_matrices=False)
    rank = np.count_nonzero(values > values[0] * max(X.shape) * np.finfo(float).eps)
    return U[:, :rank], values[:rank], T[:rank]


def column_sizes(X: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of each column, 1 for columns of zeros."""
    largest = np.abs(X).max(axis=0)
    return np.where(largest > 0.0, largest, 1.0)
