"""The comparison of groups as tables: groups by component, tests of components, slopes of variables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.labels import full_names, name_text, some_of
from spcastat.show.grid import Document, Row, Table, alike, fixed, percent

#: Differences with an adjusted p-value up to this are shown also for variables without a loading.
LEVEL = 0.05
#: Slopes of more groups have no columns of their own.
MOST_GROUPS = 5
#: The largest number of variables that a table shows.
ROWS = 60


def document(
    table: pd.DataFrame,
    slopes: pd.DataFrame,
    p_values: pd.Series,
    p_value: float,
    about: dict[str, str],
) -> Document:
    """Return the comparison as a document.

    Parameters
    ----------
    table : DataFrame
        "group", "component", "rows", "variance", "congruence", "kept".
    slopes : DataFrame
        "group", "component", "term", "loading", "estimate", "std_error", "p_adjusted".
    p_values : Series
        P-values by component.
    p_value : float
    about : dict
        "draws", "fit" and "clusters": what was permuted, what was fitted, and how many clusters there are.
    """
    sizes = table.drop_duplicates("group")
    rows = ", ".join(f"{name_text(g)} {n}" for g, n in zip(sizes["group"], sizes["rows"], strict=True))
    differing = slopes[slopes["p_adjusted"] <= LEVEL].drop_duplicates(["component", "term"])
    named = [f"{name_text(t)} ({c})" for t, c in zip(differing["term"], differing["component"], strict=True)]
    found = some_of(named, 8) if named else "none with p <= .05, adjusted for all variables and components"
    facts = (
        ("Rows", rows + about["clusters"]),
        ("Components", about["fit"]),
        (
            "Test",
            f"equal slopes of variables on scores: p = {_p(p_value)} for all together ({about['draws']})",
        ),
        ("Differing", found),
    )
    return Document(
        f"Components of {plural(len(sizes), 'group')}",
        facts,
        (_by_group(table), _tests(p_values), *_slopes(slopes)),
        (
            "Congruence: of the component with the group's first principal component of the same variables; "
            "kept: the share of that one's variance that the component has.",
            "A slope is cov(variable, score) / var(score); it does not change where only the variance of a "
            "component differs. p by component is for all its variables; p of variables is adjusted for all "
            "variables and components.",
        ),
    )


def _p(value: float) -> str:
    return str(fixed(value, 3)).removeprefix("0") if value < 1 else "1"


def _by_group(table: pd.DataFrame) -> Table:
    variances = alike(table["variance"].tolist())
    rows = tuple(
        Row(name_text(group), (variance, fixed(congruence, 3), percent(kept, 1)), name_text(component))
        for (group, component, congruence, kept), variance in zip(
            table[["group", "component", "congruence", "kept"]].itertuples(index=False),
            variances,
            strict=True,
        )
    )
    order = np.argsort(
        [list(dict.fromkeys(table["component"])).index(c) for c in table["component"]], kind="stable"
    )
    return Table("Group", ("variance", "congruence", "kept, %"), tuple(rows[i] for i in order))


def _tests(p_values: pd.Series) -> Table:
    return Table("Equal slopes", tuple(full_names(p_values.index)), (Row("p", tuple(map(_p, p_values))),))


def _slopes(slopes: pd.DataFrame) -> list[Table]:
    """Return the slopes of the variables of each component, and of others that differ."""
    shown = slopes[(slopes["loading"] != 0) | (slopes["p_adjusted"] <= LEVEL)]
    groups = list(dict.fromkeys(slopes["group"]))
    columns = groups if len(groups) <= MOST_GROUPS else []
    first = shown[shown["group"] == groups[0]]
    rows = []
    for component, term, loading, p in first[["component", "term", "loading", "p_adjusted"]].itertuples(
        index=False
    ):
        own = shown[(shown["component"] == component) & (shown["term"] == term)].set_index("group")
        cells = [fixed(own.loc[group, "estimate"], 2) for group in columns]
        rows.append(
            Row(name_text(term), (fixed(loading, 3) if loading else "", *cells, _p(p)), name_text(component))
        )
    many = (f"The first {ROWS} of {len(rows)} slopes are shown; `slopes` has all.",) * (len(rows) > ROWS)
    headings = ("loading", *full_names(columns), "p")
    return [Table("Slopes", headings, tuple(rows[:ROWS]), notes=many)]
