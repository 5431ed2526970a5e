"""Branch and bound for max lambda_max(S[J, J]) over unions J of at most c groups of variables."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator

import numpy as np

from spcastat.certify.bounds import eigenvalue_bound, enlarged
from spcastat.certify.branch import TARGET, Callback, Proof, Steps, searched
from spcastat.certify.node import SHARES
from spcastat.kernels.eig import EPS, largest_pairs


def prove_groups(
    S: np.ndarray,
    c: int,
    *,
    of: np.ndarray,
    count: int,
    support: np.ndarray,
    must: np.ndarray,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    callback: Callback | None = None,
    known: float = np.inf,
) -> Proof:
    """Maximise the largest eigenvalue of S[J, J] over unions J of at most `count` groups, with a bound.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric.
    c : int
        The number of variables; not used.
    of : ndarray of int, shape (p,)
        The group of each variable.
    count : int
    support, must : ndarray of int
        The variables of a known union, and of the groups that every union must contain.
    time_limit, max_nodes, callback, known
        As for :func:`spcastat.certify.branch.prove`.

    Returns
    -------
    Proof
        If a limit or Ctrl-C ended the search, it has the bound proven until then.
    """

    def search(steps: Steps) -> None:
        proof = steps.proof
        tree = _Search(S, np.unique(of, return_inverse=True)[1], count, proof)
        taken = np.unique(tree.of[must])
        tree.take(np.unique(tree.of[support]))
        for bound in tree.bounds(taken, np.setdiff1d(np.arange(tree.of.max() + 1), taken)):
            exhausted = bound <= proof.value * (1.0 + TARGET)
            argument = "exhaustive branch and bound" if exhausted else "branch and bound"
            proof.lower(bound, argument if proof.nodes else "split matrix of groups")
            if exhausted:
                return
            steps.node()

    proof = Proof(bound=known, argument="leading eigenvalue")
    return searched(proof, search, time_limit, max_nodes, callback)


class _Search:
    """One run of `prove_groups`; a node has the groups taken and those that may still be added."""

    def __init__(self, S: np.ndarray, of: np.ndarray, c: int, proof: Proof):
        self.S, self.of, self.proof = S, of, proof
        groups = range(of.max() + 1)
        self.c = min(c, len(groups))
        blocks = [[S[np.ix_(of == g, of == h)] for h in groups] for g in groups]
        self.sizes = np.array([[np.linalg.norm(B, 2) for B in row] for row in blocks]) * (1.0 + len(S) * EPS)
        np.fill_diagonal(self.sizes, 0.0)

    def bounds(self, taken: np.ndarray, free: np.ndarray) -> Iterator[float]:
        """Yield bounds on all unions, in descending order, until every union is evaluated or excluded."""
        number = itertools.count()
        queue = [(-self.bound(taken, free), next(number), taken, free)]
        while queue:
            bound, _, taken, free = heapq.heappop(queue)
            yield max(-bound, self.proof.value)
            J = np.flatnonzero(np.isin(self.of, np.concatenate([taken, free])))
            v = largest_pairs(self.S[np.ix_(J, J)], 1)[1][:, -1]
            weights = np.bincount(self.of[J], v**2, self.of.max() + 1)[free]
            best = free[np.argsort(-weights, kind="stable")]
            self.take(np.concatenate([taken, best[: self.c - len(taken)]]))
            rest = np.setdiff1d(free, best[:1])
            for some in (np.append(taken, best[0]), taken):
                if len(some) + len(rest) <= self.c or len(some) == self.c:
                    self.take(some if len(some) == self.c else np.concatenate([some, rest]))
                elif (own := self.bound(some, rest)) > self.proof.value * (1.0 + TARGET):
                    heapq.heappush(queue, (bound if own > -bound else -own, next(number), some, rest))
        yield enlarged(self.proof.value, len(self.S))

    def take(self, groups: np.ndarray) -> None:
        """Evaluate a union, and store it if it is the best so far."""
        J = np.flatnonzero(np.isin(self.of, groups))
        self.proof.raise_to(float(np.linalg.eigvalsh(self.S[np.ix_(J, J)])[-1]), J)

    def bound(self, taken: np.ndarray, free: np.ndarray) -> float:
        """Return a bound on the unions of the taken groups with any of the free groups.

        For U with zero diagonal blocks and x on such a union, x'Ux is at most the sum over its groups g and h
        of |U_gh| (|x_g|^2 + |x_h|^2) / 2. So x'Sx <= x'Mx, where M is S - U plus, on the diagonal of each
        group g, the sum of |U_gh| over the taken groups h and over the largest others for which there is
        room. U has the blocks of S between groups, scaled down to a norm of at most a cap; U = 0 gives the
        leading eigenvalue.
        """
        used = np.concatenate([taken, free])
        J = np.flatnonzero(np.isin(self.of, used))
        block, of = self.S[np.ix_(J, J)], self.of[J]
        room = self.c - len(taken)
        if room >= len(free):
            return eigenvalue_bound(block)
        sizes = self.sizes[np.ix_(used, used)]
        best = eigenvalue_bound(block)
        for cap in np.append(SHARES, 1.0) * sizes.max():
            norms = np.minimum(sizes, cap)
            others = np.sort(norms[:, len(taken) :], axis=1)[:, ::-1]
            rooms = np.where(np.arange(len(used)) < len(taken), room, room - 1)
            sums = np.cumsum(np.pad(others, ((0, 0), (1, 0))), axis=1)[np.arange(len(used)), rooms]
            gamma = np.zeros(len(self.sizes))
            gamma[used] = sums + norms[:, : len(taken)].sum(axis=1)
            shares = np.zeros_like(self.sizes)
            shares[np.ix_(used, used)] = norms / np.where(sizes > 0.0, sizes, 1.0)
            M = block * (1.0 - shares[of[:, None], of])
            M[np.diag_indices_from(M)] += gamma[of] * (1.0 + len(J) * EPS)
            best = min(best, eigenvalue_bound(M))
        return best
