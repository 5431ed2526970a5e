"""How much a search tries, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """The settings of a search. Chains are searches that know nothing of one another.

    Attributes
    ----------
    chains : int
        Chains to begin with.
    starts : int
        Starts of every chain.
    sweeps : int
        Sweeps of each start, at most.
    climbs : int
        Of the starts, and of the kicks of a round, so many of each chain are climbed from: the best.
    kicks : int
        Fits that each chain kicks in a round.
    rows : int
        Random rows that a component is built anew from.
    vain : int
        Rounds of kicks without a better fit, after which the chains are asked whether they agree.
    unseen : float
        Twice as many, while the estimate of the chance that a climb ends in a new optimum is above this.
    agree : int
        So many chains must have met in the best fit.
    rounds : int
        Rounds at most, where there are more than a few dozen variables.
    width : int
        Variables that are tried in the exchanges of a component.
    valued : int
        Exchanges of a component that are valued by the criterion itself.
    deep : bool
        Whether the best fits are followed through exchanges that rise only after an ascent.
    """

    chains: int
    starts: int
    sweeps: int
    climbs: int
    kicks: int
    rows: int
    vain: int
    unseen: float
    agree: int
    rounds: int
    width: int
    valued: int
    wide_starts: int
    wide_sweeps: int
    deep: bool


#: name -> settings.
EFFORTS = {
    "quick": Effort(1, 14, 4, 5, 0, 0, 0, 1.0, 1, 0, 40, 8, 1, 8, False),
    "auto": Effort(3, 10, 6, 4, 12, 8, 3, 0.25, 2, 8, 60, 12, 3, 30, True),
    "thorough": Effort(5, 16, 6, 6, 16, 8, 4, 0.25, 3, 30, 80, 16, 8, 40, True),
}
