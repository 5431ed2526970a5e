"""The criterion that a search maximises, for a batch of fits at once.

It is adjusted variance, PEV or the least-squares share, each a share of the total variance that does not
depend on the lengths of the loadings. With unit loadings V, shape (m, k), each is a function of small
matrices. Adjusted variance is a function of V'SV. The other two are tr G^-1 N with G = V'MV and N = V'TV:
M = I and T = S for PEV, M = S and T = SS for least squares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Self

import numpy as np

from spcastat.search.column_model import Model
from spcastat.search.rule import SupportRule
from spcastat.search.small_matrices import divisor, hard, products_at, taken, unit
from spcastat.search.symmetric_matrices import Moments, scattered


@dataclass(eq=False)
class Fits:
    """A batch of B fits with k components on m variables.

    Attributes
    ----------
    places : ndarray of int, shape (B, N)
        The supports, one component after another, each ascending; N is the sum of the cardinalities.
    x : ndarray of shape (B, N)
        The loadings there, of unit length in each component; zeros for a component that has been removed.
    first : ndarray of shape (B, k, m)
        Products of the loadings with M.
    second : ndarray of shape (B, k, m) or (B, 0, m)
        Products with T.
    G, N : ndarray of shape (B, k, k)
        V'MV and V'TV (zeros for adjusted variance).
    value : ndarray of shape (B,)
        The criterion, as a share of the total variance.
    of : ndarray of int, shape (B,)
        Number of the covariance matrix that each fit belongs to, if there are several.
    """

    places: np.ndarray
    x: np.ndarray
    first: np.ndarray
    second: np.ndarray
    G: np.ndarray
    N: np.ndarray
    value: np.ndarray
    of: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def some(self, which: np.ndarray | slice) -> Fits:
        """Return a copy of the fits selected by an index array, a mask or a slice."""
        if isinstance(which, slice):
            which = np.arange(len(self))[which]
        return Fits(*(getattr(self, field.name)[which] for field in fields(self)))

    def put(self, which: np.ndarray, other: Fits) -> None:
        """Replace the fits selected by an index array or a mask."""
        for field in fields(self):
            getattr(self, field.name)[which] = getattr(other, field.name)


def joined(parts: list[Fits]) -> Fits:
    """Return the fits of several batches as one."""
    return Fits(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Fits)))


@dataclass(eq=False)
class Expansion:
    """A criterion to second order around one fit with unit components, on its supports.

    Attributes
    ----------
    value : float
    slope : ndarray of shape (N,)
        Half the gradient, orthogonal to every component.
    curvature : callable
        Returns half the matrix of second derivatives, shape (N, N), along changes that are orthogonal to the
        components and keep their lengths.
    """

    value: float
    slope: np.ndarray
    curvature: Callable[[], np.ndarray]


class Criterion(ABC):
    """A criterion, with the cardinalities of the components.

    Parameters
    ----------
    M : Moments
    T : Moments or None
        None where the criterion needs no second matrix.
    cards : tuple of int
        Cardinalities, at most m.
    """

    #: Whether the model of one column given the others is exact; then the order of components does not
    #: matter.
    exact: bool
    #: Whether good optima lie far apart, so that climbing from unpromising starts is worthwhile.
    rugged: bool = False
    #: Which supports are allowed; None for all.
    rule: SupportRule | None = None
    #: Cardinalities of the fits, in row `Fits.of`, if they differ; `cards` are the largest of each component.
    #: The other loadings are zero, which only sweeps keep so.
    sizes: np.ndarray | None = None

    def __init__(self, M: Moments, T: Moments | None, cards: tuple[int, ...]):
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
        there = fits.places.copy()
        for part in self.parts:
            there[~fits.x[:, part].any(axis=1), part] = -1  # a component that has been removed
        there[:, self.parts[i]] = -1
        found = np.zeros((len(fits), self.m + 1), dtype=bool)
        np.put_along_axis(found, there, True, axis=1)
        return found[:, :-1]

    def cut(
        self, W: np.ndarray, i: int, used: np.ndarray | None, of: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest entries of W that component i may have: their places, and unit loadings.

        `of` is that of the fits, and is needed if cardinalities depend on it.
        """
        if self.rule is None:
            return hard(W, self.cards[i], None if self.sizes is None else self.sizes[of, i])
        return self.rule.hard(W, i, self.cards[i], used)

    def mended(self, fits: Fits) -> Fits:
        """Return the fits, with new supports where disjoint components left too few variables for others."""
        if self.rule is None or not self.rule.disjoint:
            return fits
        supports = np.zeros((len(fits), self.k, self.m), dtype=bool)
        for i, part in enumerate(self.parts):
            np.put_along_axis(supports[:, i], fits.places[:, part], True, axis=1)
        images = fits.first if self.T is None else fits.second
        for b in np.flatnonzero(self.rule.broken(supports)):
            found = self.rule.assigned(np.abs(images[b]), self.cards)
            assert found is not None  # the rule has been checked before
            x = np.concatenate([unit(images[b, i, support]) for i, support in enumerate(found)])
            fits.put(np.array([b]), self.fits(np.concatenate(found)[None], x[None], fits.of[[b]]))
        return fits

    def sized(self, cards: Sequence[tuple[int, ...]], repeats: int) -> Self:
        """Let fits numbered h in `Fits.of` have the cardinalities ``cards[h // repeats]``, and return it."""
        each = list(zip(*cards, strict=True))
        self.sizes, self.kinds = np.repeat(cards, repeats, axis=0), tuple(map(each.index, each))
        return self

    @abstractmethod
    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        """Return the criterion, shape (...,), of matrices of shape (..., k, k)."""

    @abstractmethod
    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return half the criterion's gradient in column i plus s v_i, shape (B, m), and s, shape (B,)."""

    @abstractmethod
    def model(self, fits: Fits, i: int) -> Model:
        """Return the matrices that rank the choices for column i given the others.

        They are exact for PEV and least squares, and match the slope at the present column otherwise.
        """

    @abstractmethod
    def model_given_others(self, fits: Fits) -> Model:
        """Return the matrices that rank the choices for a column that has been removed, given the others."""

    def fits(self, places: np.ndarray, x: np.ndarray, of: np.ndarray | None = None) -> Fits:
        """Return fits with given supports and loadings, which are scaled to unit length.

        `of` numbers the covariance matrix of each fit, if there are several; by default the first.
        """
        B = len(places)
        of = np.zeros(B, dtype=int) if of is None else of
        places, x = places.copy(), self.directions(x)[0]
        first = np.zeros((B, self.k, self.m))
        second = np.zeros((B, self.k if self.T is not None else 0, self.m))
        for i, part in enumerate(self.parts):
            first[:, i] = self.M.of(of).products(places[:, part], x[:, part])
            if self.T is not None:
                second[:, i] = self.T.of(of).products(places[:, part], x[:, part])
        G, N = self._grams(places, x, first, second)
        return Fits(places, x, first, second, G, N, self.value(G, N), of)

    def _grams(
        self, places: np.ndarray, x: np.ndarray, first: np.ndarray, second: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        G = np.stack([products_at(first, places[:, part], x[:, part]) for part in self.parts], axis=2)
        N = np.zeros_like(G)
        if self.T is not None:
            N = np.stack([products_at(second, places[:, part], x[:, part]) for part in self.parts], axis=2)
        return 0.5 * (G + G.mT), 0.5 * (N + N.mT)

    def replaced(self, fits: Fits, i: int, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the criterion with column i replaced by each of L columns, shape (B, L).

        `places` and unit `x` have shape (B, L, c).
        """
        B, L, c = places.shape
        found = []
        for F, old, moments in ((fits.first, fits.G, self.M), (fits.second, fits.N, self.T)):
            new = np.repeat(old[:, None], L, axis=1)
            if moments is not None:
                row = products_at(F, places, x)
                own = moments.of(np.repeat(fits.of, L))
                row[:, :, i] = own.forms(places.reshape(B * L, c), x.reshape(B * L, c)).reshape(B, L)
                new[:, :, i, :] = row
                new[:, :, :, i] = row
            found.append(new.reshape(B * L, self.k, self.k))
        return self.value(found[0], found[1]).reshape(B, L)

    def put(self, fits: Fits, which: np.ndarray, i: int, places: np.ndarray, x: np.ndarray) -> None:
        """Replace column i of some fits by unit columns (or zeros), shape (len(which), c)."""
        part = self.parts[i]
        order = np.argsort(places, axis=1, kind="stable")
        places, x = taken(places, order), taken(x, order)
        fits.places[which, part] = places
        fits.x[which, part] = x
        of = fits.of[which]
        fits.first[which, i] = self.M.of(of).products(places, x)
        if self.T is not None:
            fits.second[which, i] = self.T.of(of).products(places, x)
        for F, G in ((fits.first, fits.G), (fits.second, fits.N)):
            if F.shape[1]:
                own = products_at(F[which], places, x)
                G[which, i, :] = own
                G[which, :, i] = own
        fits.value[which] = self.value(fits.G[which], fits.N[which])

    def empty(self, fits: Fits, which: np.ndarray, i: int) -> None:
        """Remove component i from some fits."""
        places = fits.places[which, self.parts[i]]
        self.put(fits, which, i, places, np.zeros(places.shape))

    def dense(self, fits: Fits) -> np.ndarray:
        """Return the loadings, shape (B, m, k)."""
        parts = [scattered(fits.places[:, part], fits.x[:, part], self.m) for part in self.parts]
        return np.stack(parts, axis=2)

    def packed(self, places: np.ndarray, of: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the blocks of M and T at the places of the fits, shape (B, N, N); `of` as in `fits`.

        Without T its blocks are empty, of shape (B, 0, 0).
        """
        of = np.zeros(len(places), dtype=int) if of is None else of
        M = self.M.of(of).blocks(places, places)
        return M, M[:, :0, :0] if self.T is None else self.T.of(of).blocks(places, places)

    @abstractmethod
    def with_gradient(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values, shape (B,), and gradients, shape (B, N), on fixed supports.

        `M` and `T` are the blocks from `packed`; loadings may have any length.
        """

    @abstractmethod
    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        """Return the criterion to second order around one fit; None if its components are dependent.

        `x`, shape (N,), has unit length in each component; `M` and `T`, shape (N, N), come from `packed`.
        """

    def directions(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return loadings of unit length and their lengths before, shape (B, N); zeros stay zeros."""
        lengths = np.sqrt(x**2 @ self.member)
        size = divisor(lengths, lengths > 0)[:, self.owner]
        return x / size, size
