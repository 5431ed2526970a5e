"""What a search over supports has to say for its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spcastat.config import plural


@dataclass(frozen=True)
class Searched:
    """How a search went: what was seen, from which the reader may judge whether there is something better.

    Attributes
    ----------
    starts : int
        Starts that were climbed from.
    hits : int
        How many of them ended in the best fit.
    chains, agreeing : int
        Searches that know nothing of one another, and how many of them ended in the best fit.
    unseen : float
        Good and Turing's estimate of the chance that one more start ends in an optimum not met before.
    settled : bool or None
        Whether every exchange of one variable of one component for another was tried, and none improves
        the fit; None where they were not all tried.
    proven : bool
        Whether no other loadings of these cardinalities are better.
    variables : int or None
        Size of the working set, where the search ran on some of the variables.
    sufficient : bool or None
        For a working set, whether exchanges with all other variables were tested and none improves the fit.
    """

    starts: int
    hits: int
    chains: int
    agreeing: int
    unseen: float
    settled: bool | None
    proven: bool
    variables: int | None = None
    sufficient: bool | None = None

    def told(self, p: int) -> str:
        """Return all this in a sentence; `p` is the number of variables."""
        if self.proven:
            return "proven: no other loadings of these cardinalities are better"
        parts = []
        if self.starts > 1:
            often = "once" if self.hits == 1 else plural(self.hits, "time")
            agree = f", by {self.agreeing} of {self.chains} independent searches" if self.chains > 1 else ""
            parts.append(f"best of {self.starts} starts, met {often}{agree}")
        if self.variables is not None:
            parts.append(f"searched among {self.variables} of {p} variables")
        if self.sufficient is False:
            parts.append("exchanges with the others may improve it")
        else:
            parts.append("no single exchange improves it" if self.settled else "not all exchanges were tried")
        return "; ".join(parts)


@dataclass(frozen=True)
class Sparser:
    """How the fewest nonzeros were looked for that keep a share of the variance that PCA explains.

    Attributes
    ----------
    proposals : Mapping of str to int
        Nonzeros of each proposal that keeps the share, by the rule that it was made by.
    winner : str
        The proposal that the loadings come from.
    nonzeros : int
        What is left of it after all that could be spared was taken out.
    searched : bool
        Whether a search of all components together then failed to do with one nonzero less.
    dense : bool
        Whether more than a third of the loadings are nonzero all the same.
    proven : bool
        Whether there cannot be fewer: one for each component.
    """

    proposals: Mapping[str, int]
    winner: str
    nonzeros: int
    searched: bool
    dense: bool
    proven: bool

    def told(self, p: int) -> str:
        """Return all this in a sentence; `p` is the number of variables."""
        if self.proven:
            return "proven: there cannot be fewer nonzeros than one for each component"
        count = len(self.proposals)
        best = "the only proposal" if count == 1 else f"fewest nonzeros of {count} proposals ({self.winner})"
        if not count:
            return "PCA itself: nothing sparser that was tried keeps the share"
        parts = [best]
        if self.searched:
            parts.append("a joint search found none with one less")
        if self.dense:
            parts.append("more than a third of the loadings are nonzero: no sparse fit keeps this share")
        return "; ".join(parts)
