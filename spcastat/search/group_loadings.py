"""The best loadings on the groups of many partitions at once, for an objective."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.measures import best_order
from spcastat.search.adjusted_variance import triangle
from spcastat.search.climbing import LONG
from spcastat.search.component_order import largest_first
from spcastat.search.fixed_supports import ascend
from spcastat.search.projection_criteria import inverse_root
from spcastat.search.small_matrices import best_vectors, divisor

#: Up to this many components, adjusted variance is maximised in every order of them.
ORDERED = 3
#: Number of random starts for the loadings of promising partitions.
RANDOM = 2
#: Values whose relative difference is smaller are equal.
EQUAL = 1e-10


class GroupLoadings:
    """The best loadings of partitions into k groups; a partition is given by the group of each variable.

    Loadings are stored as one number per variable, its loading in the component of its group. The objective
    is climbed on fixed supports, from one start or from several, so that its values are those of local
    optima; for PEV they are exact.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix over the total variance.
    k : int
    objective : {"adjusted", "pev", "least_squares"}
    """

    def __init__(self, S: np.ndarray, k: int, objective: str):
        self.S, self.k, self.objective = S, k, objective
        self.square = S @ S

    def fit(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fit partitions from the leading eigenvectors of their groups.

        Parameters
        ----------
        labels : ndarray of int, shape (n, p)
            The group, from 0 to k - 1, of each variable.

        Returns
        -------
        labels : ndarray of int, shape (n, p)
            For adjusted variance the groups are numbered in the order of the components: each eigenvector
            has the largest variance given the earlier ones.
        x : ndarray of shape (n, p)
            The loadings, of unit length in each group.
        values : ndarray of shape (n,)
        """
        x = self._starts(labels, self.S)
        if self.objective == "adjusted":
            labels = self._in_order(labels, x)
        x, values = self._climbed(labels, x)
        return labels, x, values

    def polished(
        self, labels: np.ndarray, x: np.ndarray, values: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return fits, as from `fit`, that are at least as good, after climbs from further starts.

        These are random loadings; for least squares also the best loadings of each group by itself; for
        adjusted variance every order of up to `ORDERED` components, and for more the order of the largest
        variances of the fits.
        """
        further = list(self._further(labels, x, rng))
        if not further:
            return labels, x, values
        trials = np.stack([labels, *(trial for trial, _ in further)])
        starts = np.concatenate([start for _, start in further])
        found, reached = self._climbed(trials[1:].reshape(starts.shape), starts)
        values = np.stack([values * (1.0 + EQUAL), *reached.reshape(len(further), -1)])
        best, every = values.argmax(axis=0), np.arange(len(labels))
        values[0] /= 1.0 + EQUAL
        return (
            trials[best, every],
            np.stack([x, *found.reshape(len(further), *x.shape)])[best, every],
            values[best, every],
        )

    def dense(self, labels: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the loadings of one partition, shape (p, k), in the best order found, and the value."""
        V = np.where(labels[:, None] == np.arange(self.k), x[:, None], 0.0)
        for _ in range(2):
            labels = np.argsort(best_order(V.T @ self.S @ V))[labels]
            x, values = self._climbed(labels[None], x[None])
            x = x[0]
            V = np.where(labels[:, None] == np.arange(self.k), x[:, None], 0.0)
        return V, float(values[0])

    def _further(
        self, labels: np.ndarray, x: np.ndarray, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield further partitions and loadings to start from."""
        if self.objective == "least_squares":
            yield labels, self._starts(labels, self.square, self.S)
        elif self.objective == "adjusted" and self.k > ORDERED:
            yield self._in_order(labels, x), x
        elif self.objective == "adjusted":
            for order in list(permutations(range(self.k)))[1:]:
                yield np.array(order)[labels], x
        if self.objective != "pev" and self.k > 1:
            for _ in range(RANDOM):
                yield labels, rng.standard_normal(labels.shape)

    def with_gradient(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values, shape (n,), and gradients, shape (n, p), for loadings of any length.

        `M` and `T` are both the labels. With V the unit loadings and C as in `triangle`, half the gradient of
        adjusted variance is S V C C' - V diag(own). That of tr H N, with G = V'MV = H^-1 and N = V'TV, is
        T V H - M V H N H.
        """
        inside = M[:, :, None] == np.arange(self.k)
        V = np.where(inside, x[:, :, None], 0.0)
        lengths = np.sqrt((V**2).sum(axis=1))
        lengths = divisor(lengths, lengths > 0)
        V = V / lengths[:, None, :]
        SV = self.S @ V
        G = V.mT @ SV
        if self.objective == "adjusted":
            C, own = triangle(G)
            half, value = SV @ (C @ C.mT) - V * own[:, None, :], own.sum(axis=1)
        elif self.objective == "pev":
            own = np.einsum("bii->bi", G)
            half, value = SV - V * own[:, None, :], own.sum(axis=1)
        else:
            TV = self.square @ V
            root = inverse_root(G)
            H = root.mT @ root
            HN = H @ (V.mT @ TV)
            half, value = TV @ H - SV @ (HN @ H), np.einsum("bii->b", HN)
        slope = np.take_along_axis(2.0 * half / lengths[:, None, :], M[:, :, None], axis=2)
        return value, slope[:, :, 0]

    def _starts(self, labels: np.ndarray, A: np.ndarray, B: np.ndarray | None = None) -> np.ndarray:
        """Return the vectors of each group with the largest v'Av / v'Bv, shape (n, p); B is I by default."""
        x = np.empty(labels.shape)
        for g in range(self.k):
            inside = labels == g
            sizes = inside.sum(axis=1)
            for size in np.unique(sizes):
                of = np.flatnonzero(sizes == size)
                for some in blocks(len(of), int(size) ** 2):
                    J = np.nonzero(inside[of[some]])[1].reshape(-1, size)
                    block = J[:, :, None], J[:, None, :]
                    x[of[some][:, None], J] = best_vectors(A[block], None if B is None else B[block])
        return x

    def _in_order(self, labels: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return partitions whose groups are numbered by their variance given the groups before them."""
        V = np.where(labels[:, :, None] == np.arange(self.k), x[:, :, None], 0.0)
        order = largest_first(V.mT @ self.S @ V, (0,) * self.k)
        return np.take_along_axis(np.argsort(order, axis=1), labels, axis=1)

    def _climbed(self, labels: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return local optima near given loadings, of unit length in each group, and their values."""
        found, values = np.empty(x.shape), np.empty(len(x))
        for part in blocks(len(x), 8 * x.shape[1] * self.k):
            of = labels[part]
            end = ascend(self, x[part], of, of, LONG)
            inside = of[:, :, None] == np.arange(self.k)
            lengths = np.sqrt((np.where(inside, end[:, :, None], 0.0) ** 2).sum(axis=1))
            found[part] = end / np.take_along_axis(divisor(lengths, lengths > 0), of, axis=1)
            values[part] = self.with_gradient(found[part], of, of)[0]
        return found, values
