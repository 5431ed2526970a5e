"""Components as scales, the result of ``fit.scales()``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from spcastat.fit.record import deep_copy
from spcastat.fit.unit_weights import ScaleNumbers
from spcastat.results.call import Picklable
from spcastat.show.renderings import Summary
from spcastat.show.scale_tables import document

if TYPE_CHECKING:
    from spcastat.show.grid import Document


class Scales(Picklable, Summary):
    """Components as sums of their variables: reliability, and what unit weights keep."""

    def __init__(self, found: ScaleNumbers) -> None:
        self._found = found

    def _document(self) -> Document:
        return document(self._found.table, self._found.items, self._found.kept)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "scales" and "items"."""
        return {"scales": self.table, "items": self.items}

    @property
    def table(self) -> pd.DataFrame:
        """One row for each component.

        "items", their number; "alpha", Cronbach's, in the units of the data (NaN for a correlation matrix);
        "alpha_std", of standardised variables; "omega", the share of the variance of the standardised sum
        that one common factor explains; "mean_r", the mean correlation; "r_component", the correlation of the
        sum with the component. NaN where there are too few variables: two for alpha, three for omega.
        """
        return deep_copy(self._found.table)

    @property
    def items(self) -> pd.DataFrame:
        """One row for each variable of a component.

        "component", "key" ("+" or "-"), "term"; "r_rest", its correlation with the sum of the others;
        "r_other", its largest absolute correlation with the sum of another component, and "other", which.
        """
        return deep_copy(self._found.items)

    @property
    def kept(self) -> float:
        """The adjusted variance of the sums, as a share of that of the components."""
        return self._found.kept
