"""Single swaps: loadings that no exchange of one variable of one component for another can improve."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.kernels.ties import top
from spcastat.search.ascent import SHORT, refine
from spcastat.search.conditional import Conditional, Peak, possible_for, slack
from spcastat.search.rayleigh import exchanges
from spcastat.search.reconstruction import Pev

#: This many of the most promising swaps are tried one after another before all are valued.
VALUED = 8
#: A table of swaps that are valued one and all has at most this many entries.
TABLE = 1_000_000
#: Steps of the joint ascent where supports have come to rest.
LONG = 300


def polish(
    S: np.ndarray, V: np.ndarray, cards: tuple[int, ...], total: float
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Swap variables, and fit the loadings to their supports, until neither raises the explained variance.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance matrix.
    V : ndarray of shape (m, k)
        Unit loadings with at most `cards` nonzeros.
    cards : tuple of int
        The size of each support, at most m.
    total : float
        Total variance, the measure of rounding.

    Returns
    -------
    V : ndarray of shape (m, k)
        Its explained variance tr S V (V'V)^-1 V' is at least that of the loadings given. With the others as
        they are, no component can raise it by more than GAIN of what it adds: neither by other loadings on
        its support, nor by the swap of one variable of the support for any other.
    supports : list of ndarray of int
        Of exactly `cards` variables; a variable may have a zero loading.
    """
    supports = [_filled(S, V[:, i], card) for i, card in enumerate(cards)]
    V = _refined(S, V, SHORT)
    while True:
        changed = swapped = False
        SV = S @ V
        for i in range(V.shape[1]):
            given = Conditional(S, V, SV, i)
            peak = given.peak(supports[i], total)
            ratio = _ratio(given, V[:, i], supports[i])
            moved = False
            while (better := _swapped(given, peak)) is not None:
                peak, moved = better, True
            if moved or peak.value > ratio + peak.least:
                supports[i] = peak.support
                V[:, i] = 0.0
                V[peak.support, i] = peak.vector
                SV[:, i] = peak.vector @ S[peak.support]
                changed = True
            swapped |= moved
        if not changed:
            return V, supports
        V = _refined(S, V, SHORT if swapped else LONG)


def _refined(S: np.ndarray, V: np.ndarray, steps: int) -> np.ndarray:
    """Return the loadings after a joint ascent on their supports."""
    used = np.flatnonzero(V.any(axis=1))
    part = S[np.ix_(used, used)]
    W = np.zeros(V.shape)
    W[used] = refine(Pev(part, float(np.trace(S))), V[used], steps)[1]
    return W


def _filled(S: np.ndarray, v: np.ndarray, card: int) -> np.ndarray:
    """Return the support of v, with variables added up to `card`: those that its score covaries with most."""
    own = np.flatnonzero(v)
    if own.size >= card:
        return own
    pull = (S[:, own] @ v[own]) ** 2 / np.maximum(np.diag(S), np.finfo(float).tiny)
    pull[own] = -np.inf
    return np.sort(np.append(own, np.flatnonzero(top(pull, card - own.size))))


def _ratio(given: Conditional, v: np.ndarray, support: np.ndarray) -> float:
    w = v[support]
    length = float(w @ given.B(support, support) @ w)
    return float(w @ given.A(support, support) @ w) / length if length > 0 else 0.0


def _swapped(given: Conditional, peak: Peak) -> Peak | None:
    """Return the peak after swaps that raise the gain, if there are any, the most promising first."""
    J = peak.support
    others = np.ones(len(given.S), dtype=bool)
    others[J] = False
    entering = np.flatnonzero(others)
    if entering.size == 0:
        return None
    variances, free = given.corners(entering)
    scores = given.along(J, peak.U[:, -1])[entering]
    some = given.Q[entering].any(axis=1) | possible_for(peak, scores, variances)
    entering = entering[some]
    cross = given.A(J, entering)
    short, rise = slack(peak, cross, given.B(J, entering), variances[some], free[some])
    out, into = np.nonzero(short < -peak.least)
    if out.size == 0:
        return None
    most = np.argsort(-rise[out, into], kind="stable")[:VALUED]
    better = _several(given, peak, out[most], entering[into[most]])
    if better is None and out.size > VALUED:
        better = _of_all(given, peak, np.unique(out), entering[np.unique(into)])
    return better


def _of_all(given: Conditional, peak: Peak, leaving: np.ndarray, entering: np.ndarray) -> Peak | None:
    """Value every swap: for the few cases that the quick test leaves open."""
    c = len(peak.support)
    for block in blocks(len(entering), len(leaving) * c, TABLE):
        part = entering[block]
        both = np.append(peak.support, part)
        places = np.arange(len(both))
        table = exchanges(given.A(both, both), given.B(both, both), places[:c], leaving, places[c:])
        flat = np.argsort(-table, axis=None, kind="stable")[:VALUED]
        out, into = np.unravel_index(flat, table.shape)
        better = _several(given, peak, leaving[out], part[into])
        if better is not None:
            return better
    return None


def _several(given: Conditional, peak: Peak, out: np.ndarray, variables: np.ndarray) -> Peak | None:
    """Return the peak after those of some swaps, one by one, that raise the gain; None if none does."""
    J, now = peak.support, peak
    for leaving, entering in zip(J[out].tolist(), variables.tolist(), strict=True):
        if leaving not in now.support or entering in now.support:
            continue
        support = np.sort(np.append(now.support[now.support != leaving], entering))
        better = given.peak(support, peak.total)
        if better.value > now.value + now.least:
            now = better
        elif now is not peak:
            break
    return None if now is peak else now
