"""Components written as equations."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from spcastat.config import flag, whole_number
from spcastat.labels import full_names, name_text
from spcastat.operators import Standardisation
from spcastat.state import FitState

#: Names that need no backticks: words, and names of formula terms such as log(a) or a:b.
_WORD = re.compile(r"[^\W\d][\w.]*(\[[^\[\]`\s]*\]|\([^()`\s+*/-]*\))*(:[^\W\d][\w.]*)*")

#: Marks a space at which a line must not be broken.
_JOINED = "\N{NO-BREAK SPACE}"


class Text(str):
    """Text whose repr has its line breaks."""

    __repr__ = str.__str__


def equations(
    state: FitState, digits: int = 3, *, raw: bool = False, max_terms: int | None = None, width: int = 80
) -> Text:
    """Write each component as an equation without the zero terms.

    Parameters
    ----------
    digits : int
        Number of decimals; with `raw`, of significant figures.
    raw : bool
        Whether to write the equations in the original units of the data, with the constant due to
        centring. By default they are in variables centred and scaled as in the fit.
    max_terms : int, optional
        The largest number of terms to write for a component: those with the largest loadings. The number of
        the others is given.
    width : int
        Characters per line, 40 or more.

    Returns
    -------
    str
        One equation per component, wrapped, and a line such as "(in the centred and scaled variables)"; its
        repr has line breaks.
    """
    digits = whole_number("digits", digits, 1, 10)
    width = whole_number("width", width, 40)
    if max_terms is not None:
        whole_number("max_terms", max_terms, 1)
    standard = state.need_centre("equations(raw=True)") if flag("raw", raw) else None
    columns, components = state.spec.columns, full_names(state.components)
    indent = max(map(len, components))
    lines = []
    for name, v in zip(components, state.V.T, strict=True):
        rows = np.flatnonzero(v)
        rest, partial = 0, state.spec.partial
        if max_terms is not None and len(rows) > max_terms:
            rest = len(rows) - max_terms
            rows = np.sort(rows[np.argsort(-np.abs(v[rows]), kind="stable")[:max_terms]])
        names, scaling = columns, standard
        if standard is not None and partial is not None:  # what is subtracted is linear in the covariates
            found, q = partial.regression, len(partial.spec.columns)
            rows = np.append(rows, np.arange(len(v), len(v) + q))
            mean, scale = np.append(standard.mean, found.mean), np.append(standard.scale, np.ones(q))
            v = np.append(v, -found.coefficients @ (v / standard.scale))
            names, scaling = columns.append(partial.spec.columns), replace(standard, mean=mean, scale=scale)
        terms = list(_terms(v, rows, names, scaling, digits))
        if rest:
            terms.append(f"+{_JOINED}{rest}{_JOINED}smaller{_JOINED}terms")
        lines.append(
            textwrap.fill(
                " ".join(terms),
                width,
                initial_indent=f"{name:<{indent}} = ",
                subsequent_indent=" " * (indent + 3),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    done = ["adjusted"] * (state.spec.partial is not None)
    done += ["centred"] * (state.standard is None or state.standard.centring != "none")
    done += ["scaled"] * (state.standard is not None and state.standard.scaling != "none")
    if done and not raw:
        lines.append(textwrap.fill(f"(in the {' and '.join(done)} variables)", width))
    return Text("\n".join(lines).replace(_JOINED, " "))


def _terms(
    v: np.ndarray, rows: np.ndarray, names: pd.Index, standard: Standardisation | None, digits: int
) -> Iterator[str]:
    first = True
    if standard is not None:
        whole = np.flatnonzero(v)  # the constant is for all terms, including those not written
        constant = -float(np.sum(v[whole] * standard.mean[whole] / standard.scale[whole]))
        if constant != 0:
            yield f"{'-' if constant < 0 else ''}{abs(constant):.{digits}g}"
            first = False
    for j in rows.tolist():
        value = v[j] if standard is None else v[j] / standard.scale[j]
        size = _decimals(abs(value), digits) if standard is None else f"{abs(value):.{digits}g}"
        sign = ("-" if value < 0 else "") if first else f"{'-' if value < 0 else '+'}{_JOINED}"
        label = name_text(names[j])
        label = label if _WORD.fullmatch(label) else f"`{label}`"
        yield f"{sign}{size}{_JOINED}{label}".replace(" ", _JOINED)
        first = False


def _decimals(size: float, digits: int) -> str:
    text = f"{size:.{digits}f}"
    return text if text.strip("0.") else f"{size:.1e}"
