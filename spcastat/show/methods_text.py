"""Sentences for a methods section, and the equations of the components."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import flag, shown, whole_number
from spcastat.errors import OptionError
from spcastat.fit.record import Record
from spcastat.fit.sparse_loadings import with_loadings
from spcastat.fit.state import FitState
from spcastat.labels import full_names, name_text
from spcastat.linalg.standardisation import Standardisation
from spcastat.show import facts, loading_facts
from spcastat.show.templates import Fact, methods

#: The key and the fields of a BibTeX entry.
_ENTRY = re.compile(r"@\w+\{(\w+),\n(.*?)\n\}", re.DOTALL)
_BIBTEX_FIELD = re.compile(r"(\w+) = \{((?:[^{}]|\{[^{}]*\})*)\}")


@dataclass(frozen=True)
class Description:
    """Description of a fit for a methods section; it prints as text and renders as Markdown.

    Attributes
    ----------
    text : str
        The paragraph.
    references : tuple of str
        The works it cites.
    bibtex : str
        The references as BibTeX entries.
    """

    text: str
    references: tuple[str, ...]
    bibtex: str

    def __str__(self) -> str:
        return "\n\n".join([self.text, "\n".join(self.references), self.bibtex.rstrip()])

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        listed = "\n".join(f"- {reference}" for reference in self.references)
        return f"{self.text}\n\n{listed}\n\n```bibtex\n{self.bibtex.rstrip()}\n```\n"


def describe(state: FitState, choice: Any = None) -> Description:
    """Return a paragraph that describes this fit for a methods section, with its references.

    The paragraph reports the data and their scaling, the treatment of missing values and weights, the numbers
    of components and loadings, the method and its objective, the explained variance with its definition, the
    results of resampling and of proofs, and the version of the package.

    Parameters
    ----------
    choice : Choice, optional
        The result of `choose`. The paragraph then also reports how the numbers of components and loadings
        were chosen. For ``choice.fit``, the fit of a choice, this argument is not needed.

    Returns
    -------
    Description
        It prints as text; its parts are `text`, `references` and `bibtex`.

    Raises
    ------
    OptionError
        If `choice` is not a result of `choose`.
    """
    if choice is not None and not isinstance(getattr(choice, "method_text", None), str):
        raise OptionError(f"choice={shown(choice)} was given; it must be what choose() returned.")
    record = state.record
    cited: list[str] = []
    sentences = [
        *methods([*facts.data_of_methods(state), *facts.numbers(record, state.V)], cited),
        *_how_chosen(record, choice),
        *methods(_of_fit(state), cited),
    ]
    return description(sentences, cited, record)


def in_short(state: FitState) -> str:
    """Return a few sentences on what was fitted and how much variance it explains."""
    of_loadings = state.pattern is not None
    numbers = facts.numbers(state.record, with_loadings(state).V if of_loadings else state.V)
    explained = loading_facts.explained_by_loadings(state) if of_loadings else facts.explained(state)
    return " ".join(methods([*facts.data_of_methods(state), *numbers, explained]))


def describe_loadings(state: FitState) -> Description:
    """Return a paragraph that describes a fit of sparse loadings, with its references."""
    record = state.record
    cited: list[str] = []
    facts_of_data = [*facts.data_of_methods(state), *facts.numbers(record, with_loadings(state).V)]
    sentences = [*methods(facts_of_data, cited), *_how_chosen(record)]
    facts_of_method = [
        loading_facts.method_of_loadings(record),
        loading_facts.explained_by_loadings(state),
        *facts.inference(state),
    ]
    return description([*sentences, *methods(facts_of_method, cited)], cited, record)


def _of_fit(state: FitState) -> Iterator[Fact]:
    """Yield the facts about method, rule, variance, resampling and proofs."""
    record = state.record
    yield facts.method(record)
    if record.evidence is not None:
        yield from facts.search(record.evidence, record.p)
        yield from facts.constraint(state)
    yield from facts.rule(state)
    yield facts.explained(state)
    yield from facts.inference(state)
    yield from facts.proofs(state)


def _how_chosen(record: Record, choice: Any = None) -> list[str]:
    """Return the sentences on how the numbers were chosen, those of `choice` if it is given."""
    if not record.sparse:
        return []
    if choice is None:
        return record.how_chosen()
    parts = (getattr(choice, "k_choice", None), choice)
    return [part.method_text for part in parts if part is not None]


def description(sentences: list[str], cited: list[str], record: Record) -> Description:
    """Return the sentences and the software as a paragraph, with the references for the keys `cited`."""
    version = record.versions.get("spcastat", "")
    sentences = [*sentences, *methods([facts.software(record.versions)], cited)]
    bibliography = entries()
    if any("Hong, Sheng and Dobriban" in sentence for sentence in sentences):  # cited by the choice
        cited.append("hong2020")
    keys = [key for key in dict.fromkeys(cited) if key in bibliography]
    references = [reference(bibliography[key]) for key in keys]
    title = "spcastat: sparse principal component analysis"
    references.append(f"The spcastat developers. {title}. Version {version}.")
    software = (
        "@software{spcastat,\n  author = {{The spcastat developers}},\n"
        f"  title = {{{title}}}, version = {{{version}}}\n}}"
    )
    bibtex = "\n".join([*(bibliography[key] for key in keys), software]) + "\n"
    return Description(" ".join(sentences), tuple(references), bibtex)


# --- references -----------------------------------------------------------------------------------


@cache
def entries() -> dict[str, str]:
    """Return the entries of assets/references.bib as a mapping key -> text."""
    text = (files("spcastat.show") / "assets" / "references.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in _ENTRY.finditer(text)}


def reference(entry: str) -> str:
    """Return a BibTeX entry as a reference in plain text."""
    fields = {name: _plain(text) for name, text in _BIBTEX_FIELD.findall(entry)}
    *first_authors, last_author = fields["author"].split(" and ")
    authors = (
        f"{', '.join(map(_initials, first_authors))} and {_initials(last_author)}"
        if first_authors
        else _initials(last_author)
    )
    venue = fields.get("journal") or fields.get("booktitle", "")
    volume = " ".join(filter(None, (venue, fields.get("volume", ""))))
    pages = f", {fields['pages']}" if "pages" in fields else ""
    text = f"{authors} ({fields['year']}). {fields['title']}." + (f" {volume}{pages}." if volume else "")
    return text.replace("--", "-")


def _initials(author: str) -> str:
    """Return "Zou, H." for "Zou, Hui"."""
    family, given_names = author.split(", ")
    return f"{family}, {' '.join(name[0] + '.' for name in given_names.split())}"


def _plain(text: str) -> str:
    for mark, letter in {"{\\'e}": "é", "{\\'a}": "á"}.items():
        text = text.replace(mark, letter)
    return text.replace("{", "").replace("}", "")


# --- equations ------------------------------------------------------------------------------------


#: Names that need no backticks: words, and names of formula terms such as log(a) or a:b.
_UNQUOTED_NAME = re.compile(r"[^\W\d][\w.]*(\[[^\[\]`\s]*\]|\([^()`\s+*/-]*\))*(:[^\W\d][\w.]*)*")

#: Marks spaces at which a line must not be broken.
_NO_BREAK = "\N{NO-BREAK SPACE}"


class Text(str):
    """Text whose repr shows the line breaks."""

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
        centring. By default the variables are centred and scaled as in the fit.
    max_terms : int, optional
        The largest number of terms of a component; the terms with the largest loadings are written, and the
        number of omitted terms is given.
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
        max_terms = whole_number("max_terms", max_terms, 1)
    standard = state.need_centre("equations(raw=True)") if flag("raw", raw) else None
    columns, components = state.spec.columns, full_names(state.components)
    indent = max(map(len, components))
    lines = []
    for name, v in zip(components, state.V.T, strict=True):
        rows = np.flatnonzero(v)
        covariate_columns, partial = 0, state.spec.partial
        if max_terms is not None and len(rows) > max_terms:
            covariate_columns = len(rows) - max_terms
            rows = np.sort(rows[np.argsort(-np.abs(v[rows]), kind="stable")[:max_terms]])
        names, scaling = columns, standard
        if standard is not None and partial is not None:  # the fitted part is linear in the covariates
            regression, q = partial.regression, len(partial.spec.columns)
            rows = np.append(rows, np.arange(len(v), len(v) + q))
            mean, scale = np.append(standard.mean, regression.mean), np.append(standard.scale, np.ones(q))
            v = np.append(v, -regression.coefficients @ (v / standard.scale))
            names, scaling = columns.append(partial.spec.columns), replace(standard, mean=mean, scale=scale)
        terms = list(_terms(v, rows, names, scaling, digits))
        if covariate_columns:
            terms.append(f"+{_NO_BREAK}{covariate_columns}{_NO_BREAK}smaller{_NO_BREAK}terms")
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
    transformations = ["adjusted"] * (state.spec.partial is not None)
    transformations += ["centred"] * (state.standard is None or state.standard.centring != "none")
    transformations += ["scaled"] * (state.standard is not None and state.standard.scaling != "none")
    if transformations and not raw:
        lines.append(textwrap.fill(f"(in the {' and '.join(transformations)} variables)", width))
    return Text("\n".join(lines).replace(_NO_BREAK, " "))


def _terms(
    v: np.ndarray, rows: np.ndarray, names: pd.Index, standard: Standardisation | None, digits: int
) -> Iterator[str]:
    is_first = True
    if standard is not None:
        support = np.flatnonzero(v)  # the constant belongs to all terms, including omitted ones
        constant = -float(np.sum(v[support] * standard.mean[support] / standard.scale[support]))
        if constant != 0:
            yield f"{'-' if constant < 0 else ''}{abs(constant):.{digits}g}"
            is_first = False
    for j in rows.tolist():
        value = v[j] if standard is None else v[j] / standard.scale[j]
        size = _decimals(abs(value), digits) if standard is None else f"{abs(value):.{digits}g}"
        sign = ("-" if value < 0 else "") if is_first else f"{'-' if value < 0 else '+'}{_NO_BREAK}"
        label = name_text(names[j])
        label = label if _UNQUOTED_NAME.fullmatch(label) else f"`{label}`"
        yield f"{sign}{size}{_NO_BREAK}{label}".replace(" ", _NO_BREAK)
        is_first = False


def _decimals(size: float, digits: int) -> str:
    text = f"{size:.{digits}f}"
    return text if text.strip("0.") else f"{size:.1e}"
