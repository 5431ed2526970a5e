"""The table and the print of scales of unit weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from spcastat.arguments import plural
from spcastat.labels import full_names, name_text
from spcastat.show import name_lists, renderings
from spcastat.show.grid import Document, Row, Table, fixed
from spcastat.show.renderings import Excerpt, Screen


def scales_document(table: pd.DataFrame, items: pd.DataFrame, variance_share: float) -> Document:
    """Return the scales as a document; the frames are from `spcastat.fit.supplementary.ScaleNumbers`."""
    headings = ("items", "alpha", "std. alpha", "omega", "mean r", "r with PC")
    names = full_names(table.index)
    reliability = [
        Row(name, (str(int(count)), *(_cell(value, 3) for value in values)))
        for name, (count, *values) in zip(names, table.itertuples(index=False), strict=True)
    ]
    lines = [
        Row(
            f"{key} {name_text(term)}",
            (_cell(item_rest, 2), _cell(largest, 2), "" if other_scale is None else name_text(other_scale)),
            name_text(component),
        )
        for component, key, term, item_rest, largest, other_scale in items.itertuples(index=False)
    ]
    notes = (
        "Scales are sums of the variables with the signs of their loadings. alpha: Cronbach's, for the "
        "variables in their units and standardised; omega: McDonald's, for one factor (minimum residuals); "
        "r with PC: the correlation of sum and component.",
        "r with rest: the correlation of the variable with the sum of the others; largest with another: its "
        "largest |r| with the sum of another component, which is inflated if the variable is in both.",
        "The same data selected the variables, so these figures are optimistic for new rows.",
    )
    return Document(
        f"Scales: {plural(len(table), 'component')} as sums of variables",
        (("Kept", f"the sums have {100 * variance_share:.1f} % of the adjusted variance of the components"),),
        (
            Table("Reliability", headings, tuple(reliability)),
            Table("Variable", ("r with rest", "largest with another", "which"), tuple(lines)),
        ),
        notes,
    )


def print_of_scales(document: Document, items: pd.DataFrame) -> Screen:
    """Return the print: reliabilities, and the variables of each scale with item-rest correlations."""
    reliability = replace(document, title="", facts=(), tables=document.tables[:1], notes=())
    header_sentences = [f"{label}: {text}." for label, text in document.facts]
    rows = []
    for component, of_scale in items.groupby("component", sort=False):
        around = tuple(
            (f"{_cell(r_rest, 2)} {'-' if key == '-' else ''}", "")
            for key, r_rest in zip(of_scale["key"], of_scale["r_rest"], strict=True)
        )
        names = tuple(full_names(of_scale["term"]))
        rows.append(name_lists.Item(name_text(component), (), names, around))

    def body(room: int) -> Excerpt:
        table = renderings.render_tables(reliability, renderings.WIDTH)
        if len(table) + 2 + len(rows) > room:
            return renderings.first_tables(reliability.tables, room, "")
        heading = ("correlation of each variable with the sum of the others",)
        shortest = name_lists.NAME_LIMITS[-1]
        return name_lists.items("", heading, rows, room - len(table) - 1, "scales", shortest).under(table)

    end = renderings.ending("scales", document.sentences)
    return Screen(document.heading, body, (*header_sentences, *document.notes[::2]), ending=end)


def _cell(value: float, digits: int) -> str:
    """Return a number as text; NaN is blank."""
    return "" if np.isnan(value) else fixed(value, digits)
