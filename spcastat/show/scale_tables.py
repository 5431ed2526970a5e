"""Scales of unit weights as tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.labels import full_names, name_text
from spcastat.show.grid import Document, Row, Table, fixed


def document(table: pd.DataFrame, items: pd.DataFrame, kept: float) -> Document:
    """Return the scales as a document; the frames are those of `spcastat.fit.unit_weights.ScaleNumbers`."""
    headings = ("items", "alpha", "std. alpha", "omega", "mean r", "r with PC")
    names = full_names(table.index)
    reliability = [
        Row(name, (str(int(count)), *(_cell(value, 3) for value in values)))
        for name, (count, *values) in zip(names, table.itertuples(index=False), strict=True)
    ]
    lines = [
        Row(
            f"{key} {name_text(term)}",
            (_cell(rest, 2), _cell(largest, 2), "" if other is None else name_text(other)),
            name_text(component),
        )
        for component, key, term, rest, largest, other in items.itertuples(index=False)
    ]
    notes = (
        "Sums of the variables with the signs of their loadings. alpha: Cronbach's, of the variables in "
        "their units, and standardised; omega: McDonald's, of one factor (minimum residuals); r with PC: of "
        "the sum with the component.",
        "r with rest: of the variable with the sum of the others; largest with another: its largest |r| with "
        "the sum of another component, which is inflated if the variable is in both.",
        "The same data chose the variables, so that these figures are optimistic for new rows.",
    )
    return Document(
        f"Scales: {plural(len(table), 'component')} as sums of variables",
        (("Kept", f"the sums have {100 * kept:.1f} % of the adjusted variance of the components"),),
        (
            Table("Reliability", headings, tuple(reliability)),
            Table("Variable", ("r with rest", "largest with another", "which"), tuple(lines)),
        ),
        notes,
    )


def _cell(value: float, digits: int) -> str:
    """Return a number as text; what cannot be computed is blank."""
    return "" if np.isnan(value) else fixed(value, digits)
