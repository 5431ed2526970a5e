"""Scales that depend on groups of variables: blocks of equal weight, or numbers mixed with factors.

Blocks have weights as in multiple factor analysis: Escofier and Pagès (1994), "Multiple factor analysis
(AFMULT package)", Computational Statistics and Data Analysis, 18, 121-140. Numbers and factors are scaled as
in factor analysis of mixed data: Pagès (2004), "Analyse factorielle de données mixtes", Revue de Statistique
Appliquée, 52 (4), 93-111.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from spcastat.config import listed, nearest, shown
from spcastat.errors import ConstantColumnError, OptionError
from spcastat.operators.covariance_operator import Operator


@dataclass(frozen=True, eq=False)
class ScalingGroups:
    """Variables in groups.

    Attributes
    ----------
    kind : str
        The `scale` of the call.
    names : tuple of str
        The names of the groups.
    of : ndarray of int, shape (p,)
        The group of each variable, -1 for none.
    """

    kind: str
    names: tuple[str, ...]
    of: np.ndarray

    @property
    def told(self) -> dict[str, Any]:
        """The fields that a record stores."""
        return {"kind": self.kind, "names": list(self.names), "of": self.of.tolist()}

    @property
    def counts(self) -> np.ndarray:
        """The number of variables in each group, and then the number in no group."""
        return np.bincount(self.of % (len(self.names) + 1), minlength=len(self.names) + 1)

    def shares(self, variances: np.ndarray) -> np.ndarray:
        """Return the shares of the total variance, in the order of `counts`."""
        sums = np.bincount(self.of % (len(self.names) + 1), variances, len(self.names) + 1)
        return np.asarray(sums / variances.sum())


@dataclass(frozen=True, eq=False)
class Mixed(ScalingGroups):
    """Scale numbers to unit variance; divide the indicator of a level by the root of its share of the rows.

    The groups are the factors. A factor with m levels then has inertia m - 1, and a number has inertia 1.
    """

    def divisors(self, mean: np.ndarray, variance: np.ndarray, weight: float) -> np.ndarray:
        """Return the scale of columns with these means and variances (divisor weight - 1), shape (p,).

        The indicator of a level with the share f of the rows has variance f (1 - f) with divisor n; divided
        by sqrt(f) it has inertia 1 - f. Here variances have divisor n - 1, and dividing by the root of ``f n
        / (n - 1)`` instead gives the same inertia.
        """
        return np.sqrt(np.where(self.of >= 0, mean * (weight / (weight - 1.0)), variance))


#: Values of `scale` that take blocks -> whether variables are first divided by their standard deviations.
KINDS = {"blocks": True, "raw blocks": False}


@dataclass(frozen=True, eq=False)
class Blocks(ScalingGroups):
    """Divide the variables of each block by the square root of the block's first eigenvalue.

    `kind` is "blocks", or "raw blocks" for variables that are not first scaled to unit variance (type "c" in
    FactoMineR; "blocks" is type "s").
    """

    @classmethod
    def read(cls, kind: str, blocks: Any, columns: pd.Index) -> Self:
        """Check the blocks of a call.

        Parameters
        ----------
        kind : {"blocks", "raw blocks"}
        blocks : mapping of name to list of labels
        columns : pandas.Index of length p
            The variables, each of which belongs to one block.

        Raises
        ------
        OptionError
            If the blocks are not a partition of the variables; the message names the wrong labels.
        """
        if not isinstance(blocks, Mapping) or not blocks:
            raise OptionError(
                f"scale={kind!r} was given with blocks={shown(blocks)}; name the variables of each block: "
                'blocks={"chem": ["ph", "salt"], "phys": ["depth"]}.'
            )
        place = {label: j for j, label in enumerate(columns)}
        of = np.full(len(columns), -1)
        for number, (name, members) in enumerate(blocks.items()):
            if isinstance(members, (str, Mapping)) or not hasattr(members, "__iter__"):
                raise OptionError(f"blocks[{shown(name)}] is {shown(members)}; it takes a list of variables.")
            members = list(members)
            for member in members:
                j = place.get(member, -1) if isinstance(member, Hashable) else -1
                if j < 0:
                    raise OptionError(
                        f"blocks[{shown(name)}] names {shown(member)}, which is none of the variables "
                        f"{listed(columns)}.{nearest(member, columns)}"
                    )
                if of[j] >= 0:
                    raise OptionError(
                        f"blocks names {shown(member)} twice, in {listed([[*blocks][of[j]], name])}; each "
                        "variable belongs to one block."
                    )
                of[j] = number
            if not members:
                raise OptionError(f"blocks[{shown(name)}] is empty; name its variables, or leave it out.")
        if (of < 0).any():
            raise OptionError(
                f"blocks lacks {listed(columns[of < 0])}; each variable belongs to one block, which may be "
                "one of its own."
            )
        return cls(kind, tuple(str(name) for name in blocks), of)

    def divisors(self, op: Operator) -> np.ndarray:
        """Return the root of the first eigenvalue of each variable's block, shape (p,).

        Raises
        ------
        ConstantColumnError
            For a block whose variables do not vary.
        """
        parts = [np.flatnonzero(self.of == number) for number in range(len(self.names))]
        first = np.array([op.take(part).leading(1)[0][0] for part in parts])
        still = [name for name, value in zip(self.names, first, strict=True) if not value > 0.0]
        if still:
            raise ConstantColumnError(
                f"The variables of {listed(still)} in blocks do not vary; their first eigenvalue, by which "
                f"scale={self.kind!r} divides, is zero. Leave these variables out."
            )
        return np.sqrt(first[self.of])


#: True for standard deviations, False for no scaling, given numbers, or scales that depend on groups.
Scale = bool | np.ndarray | ScalingGroups

#: Values of `scale` that name groups.
NAMED = {**dict.fromkeys(KINDS, Blocks), "mixed": Mixed}


def stored(told: Mapping[str, Any] | None) -> ScalingGroups | None:
    """Return the groups of a record, if it has any; see :attr:`ScalingGroups.told`."""
    if told is None:
        return None
    return NAMED[told["kind"]](told["kind"], tuple(told["names"]), np.array(told["of"], dtype=int))
