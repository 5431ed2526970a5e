"""Settings of a search by effort, and the names of the objectives."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spcastat.search.local_optima import SAME

#: objective -> its name in printed headers.
OBJECTIVES = {"adjusted": "adjusted variance", "pev": "PEV", "least_squares": "least-squares share"}

#: Whether a share of variance is kept after every component, or by all of them together.
PROMISES = ("every", "total")


@dataclass(frozen=True)
class Patience:
    """When a search ends: after rounds without improvement, if its chains agree.

    Attributes
    ----------
    without_gain : int
        Rounds without improvement after which the search ends, if its chains agree and new optima are
        unlikely (see `unseen`).
    unseen : float
        Largest estimated probability that a climb ends in a new optimum.
    long : int
        Rounds without improvement after which `unseen` is not required.
    rise : float
        A fit counts as better if its value rises by more than this share.
    rough : float
        After `long` rounds without improvement, chains agree if their values differ by less than this share.
    """

    without_gain: int
    unseen: float
    long: int
    rise: float
    rough: float


@dataclass(frozen=True)
class Effort:
    """The settings of a search. A chain is an independent search.

    Attributes
    ----------
    chains : int
        Chains to begin with.
    starts : int
        Starts per chain.
    sweeps : int
        Sweeps per start, at most.
    climbs : int
        Climbs per chain and round, from the best of the starts or of the perturbed fits.
    kicks : int
        Perturbed fits per chain and round.
    ordered, free : Patience
        When a search ends, if the order of the components matters (adjusted variance), and if it does not.
        Without an order there are many good optima with similar values.
    rounds : int
        Rounds at most; half as many again with up to a few dozen loadings.
    width : int
        Variables that may enter in the exchanges of a component.
    valued : int
        Exchanges of a component for which the criterion itself is computed.
    deep : bool
        Whether exchanges are also tried that raise the criterion only after an ascent of all loadings.
    """

    chains: int
    starts: int
    sweeps: int
    climbs: int
    kicks: int
    ordered: Patience
    free: Patience
    rounds: int
    width: int
    valued: int
    deep: bool

    @property
    def agree(self) -> int:
        """Number of chains that must have reached the best fit."""
        return (self.chains + 1) // 2


_AUTO = Effort(
    chains=3, starts=10, sweeps=6, climbs=4, kicks=12, ordered=Patience(3, 0.25, 6, SAME, SAME),
    free=Patience(1, 0.4, 6, 1e-4, 1e-3), rounds=8, width=40, valued=6, deep=True,
)  # fmt: skip
#: name -> settings.
EFFORTS = {
    "quick": replace(_AUTO, chains=1, starts=14, sweeps=4, climbs=5, kicks=0, rounds=0, deep=False),
    "auto": _AUTO,
    "thorough": Effort(
        chains=5, starts=16, sweeps=6, climbs=6, kicks=16, ordered=Patience(4, 0.25, 8, SAME, SAME),
        free=Patience(4, 0.25, 8, SAME, 3e-4), rounds=30, width=60, valued=12, deep=True,
    ),
}  # fmt: skip
