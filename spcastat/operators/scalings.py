"""All that variables may be divided by, and groups of variables as records keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spcastat.operators.mixed_data import Mixed
from spcastat.operators.scaling_groups import ScalingGroups
from spcastat.operators.variable_blocks import KINDS, Blocks

#: Standard deviations, nothing, given numbers, or what groups of variables have.
Scale = bool | np.ndarray | ScalingGroups

#: Values of `scale` that name groups.
NAMED = {**dict.fromkeys(KINDS, Blocks), "mixed": Mixed}


def stored(told: Mapping[str, Any] | None) -> ScalingGroups | None:
    """Return the groups of a record, if it has any; see :attr:`ScalingGroups.told`."""
    if told is None:
        return None
    return NAMED[told["kind"]](told["kind"], tuple(told["names"]), np.array(told["of"], dtype=int))
