"""The criteria that a search maximises, and the rule on supports.

The criteria are adjusted variance, PEV and the least-squares share. The rule determines which variables each
component may and must include.

Each criterion is a share of the total variance that does not depend on the lengths of the loadings. With unit
loadings V, shape (m, k), each is a function of small matrices. Adjusted variance is a function of V'SV; the
other two are tr G^-1 N with G = V'MV and N = V'TV, where M = I and T = S for PEV, M = S and T = SS for least
squares.

Adjusted variance. With G = V'SV = LL' and l = diag L, the criterion is f = sum l_j^2. Because l_j^2 is the
minimum over a of |X (v_j - sum_{h<j} a_h v_h)|^2, its gradient needs only the minimiser a: with C = L'^-1
diag(l), which is unit upper triangular,

    grad f / 2 = S V C C' - V diag(l^2).

With the other columns fixed, S_{<i} the Schur complement of S given the columns before i, and M_j the Schur
complement of S given all columns before j except i,

    f(v) = v'S_{<i} v / v'v - sum_{j>i} (h_j'v)^2 / (v'M_j v) + constant,   h_j = M_j v_j .

The matrix A = S_{<i} - sum_{j>i} (h_j h_j' / y_j - c_j^2 M_j) with y_j = v_i'M_j v_i and c_j = h_j'v_i / y_j
gives v'Av / v'v the same gradient at v_i. A ranks the exchanges; f itself determines whether an exchange is
made.

PEV and least squares. With H = G^-1, half the gradient is (TV - MVHN) H. With the other columns fixed, and V,
H and N computed from the other columns, the criterion of all columns is the criterion of the others plus v'Av
/ v'Bv,

    A = T - TVHV'M - MVHV'T + MVHNHV'M,   B = M - MVHV'M .
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from spcastat.linalg.operators import Operator
from spcastat.search import matrices


@dataclass(frozen=True, eq=False)
class SupportRule:
    """The allowed supports T_i: must_i within T_i within may_i, and no shared variable if `disjoint`.

    Attributes
    ----------
    may, must : ndarray of bool, shape (k, m)
        The variables that each component may include, and the ones among them that it must include.
    disjoint : bool
        Whether a variable is in at most one component.
    """

    may: NDArray[np.bool_]
    must: NDArray[np.bool_]
    disjoint: bool = False

    def kinds(self, cards: Sequence[int]) -> tuple[int, ...]:
        """Return a label for each component; components with the same label may change places."""
        requirements = [(c, self.may[i].tobytes(), self.must[i].tobytes()) for i, c in enumerate(cards)]
        return tuple(requirements.index(requirement) for requirement in requirements)

    def among(self, variables: NDArray[np.bool_] | NDArray[np.int_]) -> SupportRule:
        """Return the rule restricted to some of the variables."""
        return SupportRule(self.may[:, variables], self.must[:, variables], self.disjoint)

    def nearest(self, card: int) -> tuple[int, ...]:
        """Return, for each component, the cardinality nearest to `card` that the rule allows."""
        upper_limits = self.may.sum(axis=1)
        return tuple(int(c) for c in np.clip(card, np.maximum(self.must.sum(axis=1), 1), upper_limits))

    def admissible(self, i: int, used: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Return a mask of the variables that component i may include, shape (m,) or the shape of `used`.

        Parameters
        ----------
        i : int
        used : ndarray of bool, shape (B, m), or None
            The variables of the other components in each of B fits; used for disjoint components.
        """
        if not self.disjoint:
            return self.may[i]
        admissible_mask: NDArray[np.bool_] = self.may[i] & ~np.delete(self.must, i, axis=0).any(axis=0)
        return admissible_mask if used is None else admissible_mask & ~used

    def keys(self, keys: np.ndarray, i: int, used: NDArray[np.bool_] | None) -> np.ndarray:
        """Return `keys`, (B, m) or (B, L, m), changed so that forced variables rank first, forbidden last."""
        admissible_mask = self.admissible(i, used)
        if admissible_mask.ndim > 1 and keys.ndim > 2:
            admissible_mask = admissible_mask[:, None]
        low, high = min(float(keys.min()), 0.0) - 1.0, float(keys.max()) + 1.0
        return np.where(self.must[i], high, np.where(admissible_mask, keys, low))

    def hard(
        self, W: np.ndarray, i: int, card: int, used: NDArray[np.bool_] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of the largest absolute entries that component i may include, and unit loadings.

        If the other disjoint components leave fewer than `card` variables, some of their variables are
        included too; see `broken`.
        """
        places = matrices.largest(self.keys(np.abs(W), i, used), card)
        return places, matrices.unit(np.take_along_axis(W, places, axis=-1))

    def broken(self, supports: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the B fits that break the rule, shape (B,); `supports` has shape (B, k, m)."""
        wrong = (supports & ~self.may).any(axis=(1, 2)) | (self.must & ~supports).any(axis=(1, 2))
        return wrong | (self.disjoint & (supports.sum(axis=1) > 1).any(axis=1))

    def feasible(self, cards: Sequence[int]) -> bool:
        """Return whether any supports of these cardinalities are allowed; `may` must include `must`."""
        is_within = (self.must.sum(axis=1) <= cards) & (self.may.sum(axis=1) >= cards)
        return bool(is_within.all()) and (
            not self.disjoint or self.assigned(np.zeros(self.may.shape), cards) is not None
        )

    def assigned(self, gains: np.ndarray, cards: Sequence[int]) -> list[np.ndarray] | None:
        """Return the disjoint supports with the largest sum of `gains`, shape (k, m), or None.

        None is returned if no disjoint supports are allowed. This is an assignment problem in which every
        nonzero is a slot for one variable.
        """
        from scipy.optimize import linear_sum_assignment  # imported here, as few rules need it

        seats = np.repeat(np.arange(len(cards)), cards)
        if len(seats) > gains.shape[1]:
            return None
        worth = 0.5 * gains / (len(seats) * max(float(gains.max()), np.finfo(float).tiny))
        forced = np.where(self.must, 2.0, 0.0) - 2.0 * (self.must.any(axis=0) & ~self.must)
        total = np.where(self.may, worth + forced, -2.0 * len(seats) - 2.0)[seats]
        seated = linear_sum_assignment(total, maximize=True)[1]
        supports = [np.sort(seated[seats == i]) for i in range(len(cards))]
        membership = np.zeros((1, *self.may.shape), dtype=bool)
        for i, support in enumerate(supports):
            membership[0, i, support] = True
        return None if self.broken(membership)[0] else supports


# --- what a criterion is --------------------------------------------------------------------------


@dataclass(eq=False)
class Fits:
    """A batch of B fits with k components on m variables.

    Attributes
    ----------
    places : ndarray of int, shape (B, N)
        The supports, one component after another, each ascending; N is the sum of the cardinalities.
    x : ndarray of shape (B, N)
        The loadings at these places, of unit length in each component; zeros for a removed component.
    M_products : ndarray of shape (B, k, m)
        Products of the loadings with M.
    T_products : ndarray of shape (B, k, m) or (B, 0, m)
        Products of the loadings with T.
    G, N : ndarray of shape (B, k, k)
        V'MV and V'TV (zeros for adjusted variance).
    value : ndarray of shape (B,)
        The criterion, as a share of the total variance.
    of : ndarray of int, shape (B,)
        The number of the covariance matrix for each fit, if there are several matrices.
    """

    places: np.ndarray
    x: np.ndarray
    M_products: np.ndarray
    T_products: np.ndarray
    G: np.ndarray
    N: np.ndarray
    value: np.ndarray
    of: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def subset(self, indices: np.ndarray | slice) -> Fits:
        """Return a copy of the fits selected by an index array, a mask or a slice."""
        if isinstance(indices, slice):
            indices = np.arange(len(self))[indices]
        return Fits(*(getattr(self, name)[indices] for name in ARRAYS))

    def put(self, indices: np.ndarray, replacements: Fits) -> None:
        """Replace the fits selected by an index array or a mask."""
        for name in ARRAYS:
            getattr(self, name)[indices] = getattr(replacements, name)


#: The names of the arrays in `Fits`.
ARRAYS = tuple(field.name for field in fields(Fits))


def join_fits(parts: list[Fits]) -> Fits:
    """Return the fits of several batches as one batch."""
    return Fits(*(np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS))


@dataclass(eq=False)
class Expansion:
    """The second-order expansion of a criterion around one fit with unit components, on its supports.

    Attributes
    ----------
    value : float
    slope : ndarray of shape (N,)
        Half the gradient, orthogonal to every component.
    curvature : callable
        Returns half the matrix of second derivatives, shape (N, N), for changes that are orthogonal to the
        components and keep their lengths.
    """

    value: float
    slope: np.ndarray
    curvature: Callable[[], np.ndarray]


@dataclass(eq=False)
class OnSupports:
    """The blocks of a matrix at the places of fits; only their products with the loadings are computed.

    With more nonzeros than variables this takes less time and memory than the blocks themselves.

    Attributes
    ----------
    M : SymmetricMatrix
    places : ndarray of int, shape (B, N)
        As in `Fits`.
    of : ndarray of int, shape (B,)
    parts : list of slice
        The positions of each component within `places`.
    """

    M: matrices.SymmetricMatrix
    places: np.ndarray
    of: np.ndarray
    parts: list[slice]

    def __getitem__(self, indices: np.ndarray | slice) -> OnSupports:
        return OnSupports(self.M, self.places[indices], self.of[indices], self.parts)

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the products with every component of loadings x, shape (B, N), at the places: (B, N, k)."""
        matrices_of_fits = self.M.of(self.of)
        products = [matrices_of_fits.products(self.places[:, part], x[:, part]) for part in self.parts]
        return np.stack([matrices.entries_at(product, self.places) for product in products], axis=2)


#: With fewer nonzeros than this, blocks are small and always packed.
MANY_NONZEROS = 200
#: The blocks of a matrix at the places of fits, shape (B, N, N), or `OnSupports`.
Blocks = np.ndarray | OnSupports


class Criterion(ABC):
    """A criterion, with the cardinalities of the components.

    Parameters
    ----------
    M : SymmetricMatrix
    T : SymmetricMatrix or None
        None if the criterion needs no second matrix.
    cards : tuple of int
        Cardinalities, at most m.
    """

    #: Whether the model of one column given the others is exact. If so, the order of components does not
    #: matter.
    exact_model: bool
    #: Whether the criterion needs products with S S, which are expensive.
    squares: ClassVar[bool] = False
    #: Whether good optima are far apart, so that climbing from unpromising starts is worthwhile.
    rugged: bool = False
    #: The rule on supports; None if all are allowed.
    rule: SupportRule | None = None
    #: Cardinalities of the fits if they differ, in row `Fits.of`; `cards` contains the largest of each
    #: component. The remaining loadings are zero, and only sweeps keep them zero.
    sizes: np.ndarray | None = None
    #: Whether the cardinalities of the fits differ, for each component.
    differing: tuple[bool, ...] = ()

    def __init__(
        self, M: matrices.SymmetricMatrix, T: matrices.SymmetricMatrix | None, cards: tuple[int, ...]
    ):
        self.M = M
        self.T = T
        self.cards = cards
        self.k = len(cards)
        self.m = M.m
        ends = np.cumsum((0, *cards))
        self.parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.owner = np.repeat(np.arange(self.k), cards)
        #: Labels of the components; components with the same label may change places.
        self.kinds = cards
        #: Indicators of the components among the entries of x, shape (N, k)
        self.member = (self.owner[:, None] == np.arange(self.k)).astype(float)

    @classmethod
    def of_matrix(cls, S: np.ndarray, cards: tuple[int, ...], rows: np.ndarray | None = None) -> Self:
        """Return the criterion for a covariance matrix of total variance one, or for several, (D, m, m).

        If there are few rows, `rows` are rows with these cross-products; see
        `spcastat.search.matrices.Dense`.
        """
        squares = matrices.Dense(S @ S) if cls.squares else None
        return cls.of_products(matrices.Dense(S, rows=rows), squares, cards)

    @classmethod
    def of_operator(cls, op: Operator, cards: tuple[int, ...]) -> Self:
        """Return the criterion for an operator whose covariance matrix is not kept in memory."""
        return cls.of_products(
            matrices.Products(op), matrices.Products(op, 2) if cls.squares else None, cards
        )

    @classmethod
    def of_products(
        cls, S: matrices.SymmetricMatrix, squares: matrices.SymmetricMatrix | None, cards: tuple[int, ...]
    ) -> Self:
        """Return the criterion for S and, if needed, the product S S."""
        return cls(S, squares, cards)

    @property
    def equal(self) -> bool:
        """Whether any two components may change places."""
        return len(set(self.kinds)) == 1

    def under(self, rule: SupportRule | None) -> Self:
        """Restrict the criterion to the supports that a rule allows, and return it."""
        if rule is not None:
            self.rule, self.kinds = rule, rule.kinds(self.cards)
            self.rugged = self.rugged or rule.disjoint
        return self

    def used(self, fits: Fits, i: int) -> np.ndarray | None:
        """Return the variables of the other components, shape (B, m); None unless components are disjoint."""
        if self.rule is None or not self.rule.disjoint:
            return None
        other_places = fits.places.copy()
        for part in self.parts:
            other_places[~fits.x[:, part].any(axis=1), part] = -1  # the component has been removed
        other_places[:, self.parts[i]] = -1
        used_mask = np.zeros((len(fits), self.m + 1), dtype=bool)
        np.put_along_axis(used_mask, other_places, True, axis=1)
        return used_mask[:, :-1]

    def truncate(
        self, W: np.ndarray, i: int, used: np.ndarray | None, of: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of the largest entries of W that component i may include, and unit loadings.

        `of` is the array `Fits.of`, which is needed if cardinalities depend on it.
        """
        if self.rule is None:
            sizes = None if self.sizes is None or not self.differing[i] else self.sizes[of, i]
            return matrices.hard(W, self.cards[i], sizes)
        return self.rule.hard(W, i, self.cards[i], used)

    def mended(self, fits: Fits) -> Fits:
        """Return the fits, with new supports if disjoint components left too few variables for others."""
        if self.rule is None or not self.rule.disjoint:
            return fits
        supports = np.zeros((len(fits), self.k, self.m), dtype=bool)
        for i, part in enumerate(self.parts):
            np.put_along_axis(supports[:, i], fits.places[:, part], True, axis=1)
        images = fits.M_products if self.T is None else fits.T_products
        for b in np.flatnonzero(self.rule.broken(supports)):
            assigned_supports = self.rule.assigned(np.abs(images[b]), self.cards)
            assert assigned_supports is not None  # the rule was checked before
            x = np.concatenate(
                [matrices.unit(images[b, i, support]) for i, support in enumerate(assigned_supports)]
            )
            fits.put(np.array([b]), self.fits(np.concatenate(assigned_supports)[None], x[None], fits.of[[b]]))
        return fits

    def with_cards(self, cards: tuple[int, ...]) -> Self:
        """Return the criterion for the same matrices and other cardinalities, without a rule."""
        criterion = copy(self)
        Criterion.__init__(criterion, self.M, self.T, cards)
        return criterion

    def sized(self, cards: Sequence[tuple[int, ...]], repeats: int, kinds: tuple[int, ...]) -> Self:
        """Return a copy in which fits with number h in `Fits.of` have cardinalities ``cards[h // repeats]``.

        `kinds` are the labels of the components.
        """
        largest = np.max(cards, axis=0)
        criterion = self.with_cards(tuple(largest.tolist()))
        criterion.sizes, criterion.kinds = np.repeat(cards, repeats, axis=0), kinds
        criterion.differing = tuple((np.min(cards, axis=0) < largest).tolist())
        return criterion

    @abstractmethod
    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        """Return the criterion, shape (...,), from matrices G and N of shape (..., k, k)."""

    @abstractmethod
    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return half the criterion's gradient in column i plus s v_i, shape (B, m), and s, shape (B,)."""

    @abstractmethod
    def model(self, fits: Fits, i: int) -> matrices.QuadraticModel:
        """Return the matrices that rank the choices for column i given the others.

        The model is exact for PEV and least squares; otherwise it has the same slope at the current column.
        """

    def slope(self, fits: Fits, i: int, model: matrices.QuadraticModel) -> np.ndarray:
        """Return half the gradient in column i outside its support, shape (B, m), from the model of i."""
        return self.pull(fits, i)[0]

    @abstractmethod
    def model_given_others(self, fits: Fits) -> matrices.QuadraticModel:
        """Return the matrices that rank the choices for a column that has been removed, given the others."""

    def fits(self, places: np.ndarray, x: np.ndarray, of: np.ndarray | None = None) -> Fits:
        """Return fits with given supports and loadings, which are scaled to unit length.

        `of` contains the number of the covariance matrix for each fit; by default all fits use the first
        matrix.
        """
        B = len(places)
        of = np.zeros(B, dtype=int) if of is None else of
        places, x = places.copy(), self.directions(x)[0]
        M_products = np.zeros((B, self.k, self.m))
        T_products = np.zeros((B, self.k if self.T is not None else 0, self.m))
        for i, part in enumerate(self.parts):
            M_products[:, i] = self.M.of(of).products(places[:, part], x[:, part])
            if self.T is not None:
                T_products[:, i] = self.T.of(of).products(places[:, part], x[:, part])
        G, N = self._grams(places, x, M_products, T_products)
        return Fits(places, x, M_products, T_products, G, N, self.value(G, N), of)

    def _grams(
        self, places: np.ndarray, x: np.ndarray, first: np.ndarray, second: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        G = (matrices.entries_at(first, places[:, None]) * x[:, None]) @ self.member
        N = np.zeros_like(G)
        if self.T is not None:
            N = (matrices.entries_at(second, places[:, None]) * x[:, None]) @ self.member
        return 0.5 * (G + G.mT), 0.5 * (N + N.mT)

    def values_with(self, fits: Fits, i: int, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the values of the criterion with column i replaced by each of L columns, shape (B, L).

        `places` and unit `x` have shape (B, L, c).
        """
        B, L, c = places.shape
        grams = []
        for F, gram, moments in ((fits.M_products, fits.G, self.M), (fits.T_products, fits.N, self.T)):
            changed = np.repeat(gram[:, None], L, axis=1)
            if moments is not None:
                row = matrices.products_at(F, places, x)
                matrices_of_fits = moments.of(np.repeat(fits.of, L))
                row[:, :, i] = matrices_of_fits.forms(places.reshape(B * L, c), x.reshape(B * L, c)).reshape(
                    B, L
                )
                changed[:, :, i, :] = row
                changed[:, :, :, i] = row
            grams.append(changed.reshape(B * L, self.k, self.k))
        return self.value(grams[0], grams[1]).reshape(B, L)

    def put(
        self,
        fits: Fits,
        indices: np.ndarray,
        i: int,
        places: np.ndarray,
        x: np.ndarray,
        values: np.ndarray | None = None,
    ) -> None:
        """Replace column i of some fits by unit columns (or zeros), shape (len(indices), c).

        `values` are the new values of the criterion if they are known, shape (len(indices),).
        """
        part = self.parts[i]
        order = np.argsort(places, axis=1, kind="stable")
        places, x = matrices.entries_at(places, order), matrices.entries_at(x, order)
        fits.places[indices, part] = places
        fits.x[indices, part] = x
        of = fits.of[indices]
        fits.M_products[indices, i] = self.M.of(of).products(places, x)
        if self.T is not None:
            fits.T_products[indices, i] = self.T.of(of).products(places, x)
        for F, G in ((fits.M_products, fits.G), (fits.T_products, fits.N)):
            if F.shape[1]:
                products = matrices.products_at(F[indices], places, x)
                G[indices, i, :] = products
                G[indices, :, i] = products
        fits.value[indices] = self.value(fits.G[indices], fits.N[indices]) if values is None else values

    def empty(self, fits: Fits, out: np.ndarray) -> None:
        """Remove the components for which `out`, shape (B, k), is true."""
        retained = ~out
        fits.x *= retained[:, self.owner]
        fits.M_products *= retained[:, :, None]
        fits.T_products *= retained[:, : fits.T_products.shape[1], None]
        retained_pairs = retained[:, :, None] & retained[:, None, :]
        fits.G *= retained_pairs
        fits.N *= retained_pairs
        fits.value = self.value(fits.G, fits.N)

    def dense(self, fits: Fits) -> np.ndarray:
        """Return the loadings, shape (B, m, k)."""
        parts = [matrices.scattered(fits.places[:, part], fits.x[:, part], self.m) for part in self.parts]
        return np.stack(parts, axis=2)

    def packed(self, places: np.ndarray, of: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the blocks of M and T at the places of the fits, shape (B, N, N); see `fits` for `of`.

        If T is None, its blocks are empty, of shape (B, 0, 0).
        """
        of = np.zeros(len(places), dtype=int) if of is None else of
        M = self.M.of(of).blocks(places, places)
        return M, M[:, :0, :0] if self.T is None else self.T.of(of).blocks(places, places)

    def for_ascent(self, places: np.ndarray, of: np.ndarray) -> tuple[Blocks, Blocks]:
        """Return the blocks of M and T for `with_gradient`, packed unless plain products are faster."""
        N, main = places.shape[1], self.M if self.T is None else self.T
        single = isinstance(main, matrices.Dense) and main.numbers is None
        if single and N >= MANY_NONZEROS and self.k * self.m**2 < 4 * N**2:
            M = OnSupports(self.M, places, of, self.parts)
            return M, M if self.T is None else OnSupports(self.T, places, of, self.parts)
        return self.packed(places, of)

    def times(self, M: Blocks, V: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return products of M with every component, shape (B, N, k), at the places of the fits.

        `V`, shape (B, N, k), contains the loadings `x`, shape (B, N), in the columns of their components.
        """
        return M.times(x) if isinstance(M, OnSupports) else M @ V

    @abstractmethod
    def with_gradient(self, x: np.ndarray, M: Blocks, T: Blocks) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of the criterion, shape (B,), and its gradients, shape (B, N), on fixed supports.

        `M` and `T` are from `for_ascent` or `packed`; loadings may have any length.
        """

    @abstractmethod
    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        """Return the second-order expansion around one fit; None if its components are linearly dependent.

        `x`, shape (N,), has unit length in each component; `M` and `T`, shape (N, N), come from `packed`.
        """

    def directions(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return loadings scaled to unit length and their old lengths, shape (B, N); zeros stay zeros."""
        lengths = np.sqrt(x**2 @ self.member)
        size = matrices.divisor(lengths, lengths > 0)[:, self.owner]
        return x / size, size


# --- adjusted variance ----------------------------------------------------------------------------


class Adjusted(Criterion):
    """Adjusted variance: the sum of the variances that each score adds to the earlier scores."""

    exact_model = False

    def __init__(self, S: matrices.SymmetricMatrix, cards: tuple[int, ...]):
        super().__init__(S, None, cards)

    @classmethod
    def of_products(
        cls, S: matrices.SymmetricMatrix, squares: matrices.SymmetricMatrix | None, cards: tuple[int, ...]
    ) -> Self:
        return cls(S, cards)

    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        return self._of(self.variances(G))

    def variances(self, G: np.ndarray) -> np.ndarray:
        """Return the adjusted variance of each component, shape (..., k)."""
        L, size, present = matrices.factor(G)
        return (np.einsum("...ii->...i", L) * size) ** 2 * present

    def _of(self, variances: np.ndarray) -> np.ndarray:
        """Return the criterion, shape (...,), as a function of adjusted variances, shape (..., k)."""
        return variances.sum(axis=-1)

    def _slopes(self, variances: np.ndarray) -> np.ndarray:
        """Return the derivative of the criterion with respect to each adjusted variance, shape (..., k)."""
        return np.ones(variances.shape)

    def _slopes_at(self, G: np.ndarray) -> np.ndarray:
        """Return the derivatives of `_slopes` at G = V'SV, shape (..., k, k)."""
        return np.ones(G.shape[:-1])

    def _weighted_factors(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return C diag(w) C', the adjusted variances times w (`_slopes`), and the criterion."""
        C, variances = triangle(G)
        slopes = self._slopes(variances)
        return (C * slopes[..., None, :]) @ C.mT, variances * slopes, self._of(variances)

    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        C, variances = triangle(fits.G)
        slopes = self._slopes(variances)
        row = ((C[:, i] * slopes)[:, None] @ C.mT) @ fits.M_products
        return row[:, 0], variances[:, i] * slopes[:, i]

    def model(self, fits: Fits, i: int) -> matrices.QuadraticModel:
        G = fits.G
        other_components = np.array([j for j in range(self.k) if j != i], dtype=int)
        # y_j = v_i'M_j v_i; the square of `diagonal` is v_j'M_j v_j
        root, diagonal = inverse_factor(G[:, other_components[:, None], other_components])
        slopes = self._slopes_at(G)
        u = (root @ G[:, other_components, i, None])[:, :, 0]
        y = G[:, i, i, None] - np.cumsum(u**2, axis=1) + u**2
        later = (other_components > i) & (y > matrices.TINY)
        y = matrices.divisor(y, later)
        share = slopes[:, other_components] * later / y
        c = share * (diagonal * u) ** 2 / y
        alpha = slopes[:, i] + c.sum(axis=1)
        weights = np.cumsum(c[:, ::-1], axis=1)[:, ::-1] - c + diagonal**2 * share
        weights += slopes[:, i, None] * (other_components < i)
        Z = np.zeros_like(G)
        Z[:, other_components[:, None], other_components] = (root * weights[:, :, None]).mT @ root
        return matrices.QuadraticModel(self.M, self.T, fits.M_products, fits.T_products, alpha, Z, Z, fits.of)

    def slope(self, fits: Fits, i: int, model: matrices.QuadraticModel) -> np.ndarray:
        # A v_i = alpha S v_i - S V Z V'S v_i
        weights = -(model.Z @ fits.G[:, :, i, None])[:, :, 0]
        weights[:, i] += model.alpha
        return (weights[:, None] @ fits.M_products)[:, 0]

    def model_given_others(self, fits: Fits) -> matrices.QuadraticModel:
        Z = inverse(fits.G)
        return matrices.QuadraticModel(
            self.M, self.T, fits.M_products, fits.T_products, np.ones(len(fits)), Z, Z, fits.of
        )

    def with_gradient(self, x: np.ndarray, M: Blocks, T: Blocks) -> tuple[np.ndarray, np.ndarray]:
        u, size = self.directions(x)
        V = u[:, :, None] * self.member
        MV = self.times(M, V, u)
        U, weighted_variances, value = self._weighted_factors(V.mT @ MV)
        half = ((MV @ U) * self.member).sum(axis=2) - u * weighted_variances[:, self.owner]
        return value, 2.0 * half / size

    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        V = x[:, None] * self.member
        MV = M @ V
        G = V.T @ MV
        if not matrices.well_apart(G):
            return None
        C, variances = triangle(G, jitter=0.0)
        slopes = self._slopes(variances)
        U = (C * slopes) @ C.T
        half = (MV @ U)[np.arange(len(x)), self.owner] - x * (variances * slopes)[self.owner]
        return Expansion(
            float(self._of(variances)), half, lambda: self._curvature(M, MV @ C, C, variances, slopes)
        )

    def _curvature(
        self, M: np.ndarray, Z: np.ndarray, C: np.ndarray, variances: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """Return half the second derivative along unit columns, shape (N, N).

        Half the derivative of r_j = |X V c_j|^2 is S V c_j c_j', and c_j changes so that the scores stay
        uncorrelated with earlier scores. With Z = S V C, the entry for a of component i and b of component h
        is

            sum_j w_j [C_hj C_ij (S_ba - sum_{l<j} Z_bl Z_al / r_l) - Z_bj Z_aj sum_{l<j} C_hl C_il / r_l
                       - sum_{l<j} (Z_bl Z_aj C_il C_hj + Z_bj Z_al C_ij C_hl) / r_l] ,

        and w_i r_i is subtracted from the diagonal because the lengths are fixed.
        """
        U = (C * slopes) @ C.T
        K = U[np.ix_(self.owner, self.owner)] * M
        K[np.diag_indices(len(K))] -= (variances * slopes)[self.owner]
        for h, rows in enumerate(self.parts):
            for i, columns in enumerate(self.parts[: h + 1]):
                products = C[h] * C[i]
                later_sums = np.cumsum((products * slopes)[::-1])[::-1] - products * slopes
                earlier_sums = np.cumsum(products / variances) - products / variances
                Y = np.triu(np.outer(C[i] / variances, C[h] * slopes), 1)
                Y += np.triu(np.outer(C[h] / variances, C[i] * slopes), 1).T
                Y[np.diag_indices(self.k)] += later_sums / variances + earlier_sums * slopes
                K[rows, columns] -= Z[rows] @ Y @ Z[columns].T
                if h != i:
                    K[columns, rows] = K[rows, columns].T
        return K


def inverse_factor(G: np.ndarray, jitter: float = matrices.JITTER) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverse of the lower Cholesky factor of G, shape (..., k, k), and the factor's diagonal.

    Both are zero for components without loadings.
    """
    L, size, present = matrices.factor(G, jitter)
    root = np.linalg.inv(L) / size[..., None, :] * present[..., None, :]
    return root, np.einsum("...ii->...i", L) * size * present


def inverse(G: np.ndarray) -> np.ndarray:
    """Return the inverse of G, shape (B, k, k), with zeros for components without loadings."""
    root, _ = inverse_factor(G)
    return root.mT @ root


def triangle(G: np.ndarray, jitter: float = matrices.JITTER) -> tuple[np.ndarray, np.ndarray]:
    """Return C, shape (..., k, k), and the adjusted variances, shape (..., k), of G = V'SV.

    C is unit upper triangular. The scores XVC are uncorrelated, and their variances are the adjusted
    variances: column i of VC is v_i minus a linear combination of the earlier columns. Both results are zero
    for components without loadings.
    """
    root, diagonal = inverse_factor(G, jitter)
    return (root * diagonal[..., :, None]).mT, diagonal**2


# --- PEV and least squares ------------------------------------------------------------------------


class Projected(Criterion):
    """The share of the variance that a projection explains: on the span of the scores if M = S, T = S S."""

    exact_model = True
    squares = True

    def __init__(
        self, M: matrices.SymmetricMatrix, T: matrices.SymmetricMatrix | None, cards: tuple[int, ...]
    ):
        super().__init__(M, T, cards)
        self.rugged = M.identity

    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        return np.asarray((inverse_of_gram(G) * N).sum(axis=(-2, -1)))

    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        H, W = self._weights(fits.G, fits.N)
        half = (H[:, i, None, :] @ fits.T_products - W[:, i, None, :] @ fits.M_products)[:, 0]
        scale = W[:, i, i] * fits.G[:, i, i]
        part = self.parts[i]
        at = np.arange(len(fits))[:, None], fits.places[:, part]
        half[at] += scale[:, None] * fits.x[:, part]
        return half, scale

    def _weights(self, G: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H = inverse_of_gram(G)
        return H, H @ N @ H

    def model(self, fits: Fits, i: int) -> matrices.QuadraticModel:
        G, N = fits.G.copy(), fits.N.copy()
        for K in (G, N):
            K[:, i, :] = 0.0
            K[:, :, i] = 0.0
        return self._model(fits, G, N)

    def model_given_others(self, fits: Fits) -> matrices.QuadraticModel:
        return self._model(fits, fits.G, fits.N)

    def _model(self, fits: Fits, G: np.ndarray, N: np.ndarray) -> matrices.QuadraticModel:
        H, W = self._weights(G, N)
        return matrices.QuadraticModel(
            self.M, self.T, fits.M_products, fits.T_products, np.ones(len(fits)), H, -W, fits.of
        )

    def with_gradient(self, x: np.ndarray, M: Blocks, T: Blocks) -> tuple[np.ndarray, np.ndarray]:
        u, size = self.directions(x)
        V = u[:, :, None] * self.member
        MV, TV = self.times(M, V, u), self.times(T, V, u)
        V_transposed = V.mT
        G, N = V_transposed @ MV, V_transposed @ TV
        H = inverse_of_gram(G)
        HN = H @ N
        half = ((TV @ H - MV @ (HN @ H)) * self.member).sum(axis=2)
        return np.einsum("bii->b", HN), 2.0 * half / size

    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        V = x[:, None] * self.member
        MV, TV = M @ V, T @ V
        G, N = V.T @ MV, V.T @ TV
        if not matrices.well_apart(G):
            return None
        root = inverse_root(G, jitter=0.0)
        H = root.T @ root
        W = H @ N @ H
        gradient = TV @ H - MV @ W
        half = gradient[np.arange(len(x)), self.owner]
        return Expansion(float(np.sum(H * N)), half, lambda: self._curvature(M, T, MV, TV, H, W, gradient))

    def _curvature(
        self,
        M: np.ndarray,
        T: np.ndarray,
        MV: np.ndarray,
        TV: np.ndarray,
        H: np.ndarray,
        W: np.ndarray,
        gradient: np.ndarray,
    ) -> np.ndarray:
        """Return half the second derivative, shape (N, N).

        With P = MVH, W = HNH and the slope E = TVH - MVW, the entry for a of component i and b of component
        j is H_ij (T - MVHV'T - TVHV'M + MVWV'M)_ba - W_ij (M - MVHV'M)_ba - P_bi E_aj - E_bi P_aj.
        """
        at = np.ix_(self.owner, self.owner)
        P = MV @ H
        cross = P @ TV.T
        K = H[at] * (T - cross - cross.T + MV @ W @ MV.T) - W[at] * (M - P @ MV.T)
        outer_products = P[:, self.owner] * gradient[:, self.owner].T
        return K - outer_products - outer_products.T


class Reconstruction(Projected):
    """The share of the variance that the projection on the span of the loadings explains: M = I, T = S."""

    squares = False

    @classmethod
    def of_products(
        cls, S: matrices.SymmetricMatrix, squares: matrices.SymmetricMatrix | None, cards: tuple[int, ...]
    ) -> Self:
        return cls(matrices.Identity(S.m), S, cards)


def inverse_of_gram(G: np.ndarray) -> np.ndarray:
    """Return R'R for the R of `inverse_root`, which is G^-1 if no column depends on earlier columns.

    In that case this takes .6 of the time of computing R. The squared lengths of the rows of R add up to the
    trace.
    """
    diagonal = G.diagonal(axis1=-2, axis2=-1)
    if diagonal.min(initial=1.0) > matrices.TINY:
        size = np.sqrt(diagonal)
        products = size[..., :, None] * size[..., None, :]
        K = G / products
        np.einsum("...ii->...i", K)[...] = 1.0 + matrices.JITTER
        try:
            H = np.linalg.inv(K)
        except np.linalg.LinAlgError:
            H = np.full(K.shape, np.inf)
        traces = np.einsum("...ii->...", H)
        if ((traces > 0) & (matrices.PIVOT_TOLERANCE * traces < 1.0)).all():
            return np.asarray(H / products)
    root = inverse_root(G)
    return root.mT @ root


def inverse_root(G: np.ndarray, jitter: float = matrices.JITTER) -> np.ndarray:
    """Return R with R'R = G^-1; columns that depend on earlier columns are left out.

    If G is scaled to correlations, rounding errors in N change the trace of R N R' in proportion to the
    squared lengths of the rows of R, so these lengths determine which columns count as dependent. One small
    pivot may make all later rows long, so only the first such column is left out at a time.
    """
    L, size, present = matrices.factor(G, jitter)
    root = np.linalg.inv(L)
    depends = present & (matrices.PIVOT_TOLERANCE * (root**2).sum(axis=-1) >= 1.0)
    root = root / size[..., None, :] * present[..., :, None]
    is_dependent = depends.any(axis=-1)
    if is_dependent.any():
        retained = ~(depends & (np.cumsum(depends, axis=-1) == 1))[is_dependent]
        root[is_dependent] = inverse_root(
            G[is_dependent] * retained[..., :, None] * retained[..., None, :], jitter
        )
    return np.asarray(root)
