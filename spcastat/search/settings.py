"""How much a search tries, by name, and the names of what a search is for."""

from __future__ import annotations

from dataclasses import dataclass

from spcastat.search.local_optima import SAME

#: objective -> its name in a header.
OBJECTIVES = {"adjusted": "adjusted variance", "pev": "PEV", "least_squares": "least-squares share"}

#: When a share of variance is kept: after every component, or by all of them together.
PROMISES = ("every", "total")


@dataclass(frozen=True)
class Patience:
    """When a search ends: after rounds without improvement, if its chains agree.

    Attributes
    ----------
    vain : int
        Rounds of kicks without a better fit after which the chains are asked whether they agree,
    unseen : float
        provided that the estimated chance that a climb ends in a new optimum is at most this;
    long : int
        otherwise after this many.
    rise : float
        A fit is better where it rises by more than this share.
    rough : float
        After `long` rounds without improvement chains agree whose fits differ by less than this share.
    """

    vain: int
    unseen: float
    long: int
    rise: float
    rough: float


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
        Of the starts, and of the kicks of a round, the best of each chain are climbed from: this many.
    kicks : int
        Fits that each chain kicks in a round.
    rows : int
        Random rows that a component is built anew from.
    ordered, free : Patience
        When a search ends: where the order of the components counts (adjusted variance), and where it does
        not. There good optima are many, and near one another in value.
    agree : int
        This many chains must have met in the best fit.
    rounds : int
        Rounds at most, where there are more than a few dozen loadings; half as many again where there are
        not.
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
    ordered: Patience
    free: Patience
    agree: int
    rounds: int
    width: int
    valued: int
    deep: bool


_NONE = Patience(0, 1.0, 0, SAME, SAME)
#: name -> settings.
EFFORTS = {
    "quick": Effort(
        chains=1, starts=14, sweeps=4, climbs=5, kicks=0, rows=0, ordered=_NONE, free=_NONE, agree=1,
        rounds=0, width=40, valued=6, deep=False,
    ),
    "auto": Effort(
        chains=3, starts=10, sweeps=6, climbs=4, kicks=12, rows=8, ordered=Patience(3, 0.25, 6, SAME, SAME),
        free=Patience(1, 0.4, 6, 1e-4, 1e-3), agree=2, rounds=8, width=40, valued=6, deep=True,
    ),
    "thorough": Effort(
        chains=5, starts=16, sweeps=6, climbs=6, kicks=16, rows=8, ordered=Patience(4, 0.25, 8, SAME, SAME),
        free=Patience(4, 0.25, 8, SAME, 3e-4), agree=3, rounds=30, width=60, valued=12, deep=True,
    ),
}  # fmt: skip
