"""Sentences for a methods section, and the equations of the components."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import flag, plural, shown, whole_number
from spcastat.errors import OptionError
from spcastat.fit import frames
from spcastat.fit.frames import variance
from spcastat.fit.record import Record
from spcastat.fit.sparse_loadings import variance as loadings_variance
from spcastat.fit.sparse_loadings import with_loadings
from spcastat.fit.state import FitState, proof_sentences, rule_words
from spcastat.labels import full_names, name_text
from spcastat.linalg.standardisation import Standardisation
from spcastat.reading.design import design_text
from spcastat.search.climbing import OBJECTIVES
from spcastat.show.grid import percent
from spcastat.show.summary import share_taken, standardisation

#: The paper of each procedure that controls the false discovery rate.
FDR_PAPERS = {
    "fdr_bh": ("benjamini1995", "Benjamini and Hochberg, 1995"),
    "fdr_by": ("benjamini2001", "Benjamini and Yekutieli, 2001"),
}
#: The key and the fields of a BibTeX entry.
_ENTRY = re.compile(r"@\w+\{(\w+),\n(.*?)\n\}", re.DOTALL)
_FIELD = re.compile(r"(\w+) = \{((?:[^{}]|\{[^{}]*\})*)\}")


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

    It reports the data and their scaling, the treatment of missing values and weights, the numbers of
    components and loadings, the method and its objective, the explained variance by its definition, the
    results of resampling and of proofs, and the version of the package.

    Parameters
    ----------
    choice : Choice, optional
        The result of `choose`, to report also how the numbers of components and loadings were chosen. It is
        not needed for the fit of a choice, ``choice.fit``.

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
    cited: list[str] = []
    sentences = [
        *_data(state, cited),
        *_missing(state.record, cited),
        *_numbers(state, choice),
        *_method(state.record, cited),
        *[f"The supports were held to a rule: {words}." for words in [rule_words(state)] if words],
        *_explained(state, cited),
        *_resampled(state, cited),
        *proof_sentences(state, advice=False),
    ]
    return _description(sentences, cited, state.record)


def describe_loadings(state: FitState) -> Description:
    """Return a paragraph that describes a fit of sparse loadings, with its references."""
    cited: list[str] = []
    sentences = [
        *_data(state, cited),
        *_missing(state.record, cited),
        *_numbers(with_loadings(state), None),
        *_sparse_loadings(state, cited),
    ]
    return _description(sentences, cited, state.record)


def _description(sentences: list[str], cited: list[str], record: Record) -> Description:
    """Return the sentences as a paragraph that ends with the software, and the references of the keys."""
    version = record.versions.get("spcastat", "")
    python = f", Python {record.versions.get('python')}" * ("python" in record.versions)
    sentences = [*sentences, f"Computations used spcastat {version}{python}."]
    known = entries()
    if any("Hong, Sheng and Dobriban" in sentence for sentence in sentences):  # written by the choice
        cited.append("hong2020")
    keys = [key for key in dict.fromkeys(cited) if key in known]
    references = [_reference(known[key]) for key in keys]
    title = "spcastat: sparse principal component analysis"
    references.append(f"The spcastat developers. {title}. Version {version}.")
    software = (
        "@software{spcastat,\n  author = {{The spcastat developers}},\n"
        f"  title = {{{title}}}, version = {{{version}}}\n}}"
    )
    bibtex = "\n".join([*(known[key] for key in keys), software]) + "\n"
    return Description(" ".join(sentences), tuple(references), bibtex)


# --- the sentences --------------------------------------------------------------------------------


def _data(state: FitState, cited: list[str]) -> Iterator[str]:
    record = state.record
    what = "Sparse principal component analysis" if record.sparse else "Principal component analysis"
    what += " with sparse loadings" * (state.pattern is not None)
    if not record.from_rows:
        kind = "correlation" if np.allclose(state.moments.variances, 1.0, atol=1e-8) else "covariance"
        rows = f", from {plural(record.n, 'row')}" if record.n is not None else ""
        known = record.matrix or {}
        kind = f"{known['kind']} correlation" if "kind" in known else kind
        moved = ", replaced by the nearest positive semidefinite matrix" * ("moved" in known)
        yield f"{what} was applied to the {kind} matrix of {plural(record.p, 'variable')}{rows}{moved}."
        yield from _adjusted(state)
        yield from _groups(record, cited)
        return
    formula = f" (formula {record.formula})" if record.formula is not None else ""
    dropped = f"; {plural(record.dropped, 'row')} with missing values were left out" * bool(record.dropped)
    rows, variables = plural(record.n or 0, "row"), plural(record.p, "variable")
    yield f"{what} was applied to {rows} of {variables}{formula}{dropped}."
    serial = record.serial_correlation()
    if serial is not None:
        yield (
            f"Successive rows were correlated (r = {serial:.2f} of their scores) beyond what sorting or "
            "groups explain, so that inference which takes rows as independent is not valid."
        )
    centred, scaled = standardisation(record)
    joined = "but" if (record.centring == "none") != (record.scaling == "none") else "and"
    yield from _adjusted(state)
    yield f"Variables were {centred} {joined} {scaled}."
    yield from _groups(record, cited)
    if record.weighted:
        yield f"Rows were weighted (sum of the weights {record.effective_n:.6g})."
    yield from _rows_together(record, cited)


def _rows_together(record: Record, cited: list[str]) -> Iterator[str]:
    """Yield a sentence on rows that belong together."""
    text = design_text(record.row_design)
    if text:
        in_time = (record.row_design or {}).get("block_length")
        key, paper = ("kunsch1989", "Künsch, 1989") if in_time else ("rao1992", "Rao, Wu and Yue, 1992")
        cited.append(key)
        yield f"Resampling and tests treated the rows as {text} ({paper})."


def _adjusted(state: FitState) -> Iterator[str]:
    if state.spec.partial is not None:
        *others, last = state.spec.partial.names
        names = f"{', '.join(others)} and {last}" if others else last
        yield (
            f"Variables were replaced by the residuals of their linear regression on {names}, which "
            f"explained {100 * share_taken(state):.1f} % of their variance."
        )


def _groups(record: Record, cited: list[str]) -> Iterator[str]:
    if record.groups is not None and record.groups["kind"] == "mixed":
        cited.append("pages2004")
        yield (
            "The indicator of each level of a factor was divided by the square root of the level's share of "
            "the rows, as in factor analysis of mixed data (Pagès, 2004)."
        )
    elif record.groups is not None:
        cited.append("escofier1994")
        yield (
            "Variables were divided by the square root of the first eigenvalue of their block "
            f"({', '.join(record.groups['names'])}), as in multiple factor analysis (Escofier and Pagès, "
            "1994)."
        )


def _missing(record: Record, cited: list[str]) -> Iterator[str]:
    found = record.missing
    if not found or not found["cells"]:
        return
    cells = (record.n or 0) * record.p
    share = f" ({100.0 * found['cells'] / cells:.2g} %)" if cells else ""
    where = f"Of the values, {found['cells']}{share} were missing, in {plural(found['rows'], 'row')};"
    if found["how"] == "em":
        cited.append("tipping1999")
        yield (
            f"{where} means and covariances were estimated from all rows by expectation-maximisation for "
            f"probabilistic principal components of rank {found['rank']} (Tipping and Bishop, 1999)."
        )
        return
    moved = ", replaced by the nearest correlation matrix, as they were not positive semidefinite"
    yield (
        f"{where} each correlation was computed from the rows in which both variables were observed (at "
        f"least {found['fewest']:g}){moved * bool(found['moved'])}."
    )


def _numbers(state: FitState, choice: Any) -> Iterator[str]:
    record, counts = state.record, np.count_nonzero(state.V, axis=0).tolist()
    components = f"The analysis has {plural(record.k, 'component')}"
    if not record.sparse:
        yield f"{components}."
        return
    listed = ", ".join(map(str, counts[:-1])) + (" and " if counts[1:] else "") + str(counts[-1])
    if len(set(counts)) == 1:
        each = " each" if record.k > 1 else ""
        yield f"{components}, with {plural(counts[0], 'nonzero loading')}{each}; all others are exactly zero."
    else:
        yield f"{components}, with {listed} nonzero loadings; all others are exactly zero."
    share = record.options.get("variance")
    if share is not None:
        yield (
            f"These are the fewest nonzero loadings found that keep {100 * share:g} % of the variance that "
            "the same number of dense principal components explains."
        )
    if choice is None:
        yield from record.how_chosen()
        return
    for part in (getattr(choice, "k_choice", None), choice):
        if part is not None:
            yield part.method_text


def _method(record: Record, cited: list[str]) -> Iterator[str]:
    nonneg = ", with nonnegative loadings" if record.options.get("nonneg") else ""
    objective = OBJECTIVES.get(str(record.options.get("objective")), "")
    if record.evidence is not None:
        yield (
            f"The loadings of all components were determined jointly{nonneg}, by a search that maximises the "
            f'{objective or record.criterion} (method "{record.method}").'
        )
        yield from _search(record.evidence, record.p)
        return
    cited.append(key_of(record.paper))
    ended = record.advice if record.converged else "stopped before it converged"
    starts = f" It was the best of {record.n_init} starts." if record.n_init > 1 else ""
    yield (
        f'The loadings were computed by the method "{record.method}" ({record.title}; {record.paper})'
        f"{nonneg}, whose criterion is the {record.criterion} ({ended}).{starts}"
    )


def _search(evidence: Mapping[str, Any], p: int) -> Iterator[str]:
    """Yield sentences on a search over supports of `p` variables; see :mod:`spcastat.solvers.solver`."""
    if "proposals" in evidence:
        yield from _search_for_fewest(evidence)
        return
    groups = "groups" in evidence
    if evidence["proven"]:
        others = "partition of the variables is" if groups else "loadings of these cardinalities are"
        yield f"It is proven that no other {others} better."
        return
    if groups and evidence["every"]:
        yield "All partitions of the variables were compared."
        return
    if evidence.get("variables") is not None:
        yield f"The search was restricted to {evidence['variables']} of the {p} variables."
    if evidence["starts"] > 1:
        chains = evidence.get("chains", 1)
        searches = f" and by {evidence['agreeing']} of {chains} searches" if chains > 1 else ""
        yield f"These loadings were reached from {evidence['hits']} of {evidence['starts']} starts{searches}."
    if evidence["settled"] and evidence.get("sufficient") is not False:
        move = "move of a variable" if groups else "exchange of a nonzero with a zero loading"
        yield f"No single {move} improves them."
    if evidence.get("flat") is False:
        yield "The ascent of the loadings did not end, as components or scores became linearly dependent."


def _search_for_fewest(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on a search for the fewest nonzero loadings that keep a share of PCA's variance."""
    count = len(evidence["proposals"])
    if evidence["proven"]:
        yield "Fewer are impossible, since each component has only one."
    elif not count:
        yield "Nothing sparser that was tried keeps this share."
    elif count > 1:
        yield f"These loadings are the sparsest of {count} proposals."
    if evidence["searched"] and not evidence["proven"]:
        yield "A joint search found no loadings with one nonzero less."


def _sparse_loadings(state: FitState, cited: list[str]) -> Iterator[str]:
    """Yield sentences on the method of sparse loadings, the variance they explain, and their bootstrap."""
    record, last = state.record, loadings_variance(state).iloc[-1]
    cited.append(key_of(record.paper))
    yield (
        f"Sparse loadings P minimise the squared differences between the data and T P', where the scores T "
        f"are uncorrelated and have unit variance ({record.paper.replace(' (', ', ')}. The fit is the best "
        f"of {plural(record.n_init, 'start')}, improved by exchanges of nonzero with zero loadings."
    )
    verb = "The component explains" if record.k == 1 else "Together the components explain"
    yield (
        f"{verb} {percent(last['cumulative'], 1)} % of the total variance; the same number of dense "
        f"principal components explains {percent(last['cumulative PCA'], 1)} %."
    )
    found = state.inference.bootstrap
    if found is not None:
        how = "variables selected again in each draw" if found.select else "given the selection"
        yield (
            "Intervals of loadings are 95 % percentile intervals of the bootstrap "
            f"({plural(found.draws, 'draw')}; {how})."
        )


def _explained(state: FitState, cited: list[str]) -> Iterator[str]:
    table = variance(state)
    last = {name: f"{percent(table[name].iloc[-1], 1)} %" for name in table if "cumulative" in str(name)}
    if not state.record.sparse:
        yield f"They explain {last['cumulative PCA']} of the total variance."
        return
    cited.append("zou2006")
    verb = "The component explains" if state.record.k == 1 else "Together the components explain"
    yield (
        f"{verb} {last['cumulative adjusted']} of the total variance as adjusted variance, which counts the "
        "variance shared by correlated scores only once (Zou, Hastie and Tibshirani, 2006), and "
        f"{last['cumulative least squares']} by regression of the variables on the scores; the same number "
        f"of dense principal components explains {last['cumulative PCA']}."
    )


def _resampled(state: FitState, cited: list[str]) -> Iterator[str]:
    known = state.inference
    selected = state.V != 0
    if known.stability is not None:
        cited.append("shah2013")
        found = known.stability
        often = frames.frequency(state, found).to_numpy()[selected]
        stable = int((often >= found.threshold).sum())
        yield (
            f"The stability of the selection was assessed by {len(found.chosen)} fits of complementary "
            f"halves of the rows (Shah and Samworth, 2013): {stable} of {plural(len(often), 'loading')} were "
            f"selected in at least {100 * found.threshold:g} % of them."
        )
    if known.bootstrap is not None:
        found_draws = known.bootstrap
        draws = plural(len(found_draws.values), "draw")
        how = (
            "numbers of components and of nonzero loadings as in the fit, variables reselected in each draw"
            if found_draws.select
            else "given the selection"
        )
        how += ", by a local search that starts from the fit" * (found_draws.search == "near")
        yield (
            f"Intervals of loadings are 95 % bootstrap intervals ({draws}; {how}): normal intervals, "
            "extended to zero if fewer than 97.5 % of the draws give the loading the sign that it has in the "
            "fit."
        )
    if known.split is not None:
        cited.append("rinaldo2019")
        first, second = known.split.rows
        yield (
            f"For split inference, {first} rows were used to select the variables, and the other {second} to "
            "estimate the correlation of each variable with the score of the others (Rinaldo, Wasserman and "
            "G'Sell, 2019)."
        )
        if known.split.repeats > 1:
            cited.append("meinshausen2009")
            yield (
                f"P values combine {known.split.repeats} splits and control the family-wise error rate "
                "(Meinshausen, Meier and Bühlmann, 2009)."
            )
    if known.tests is not None:
        cited.append("diciccio2017")
        key, name = FDR_PAPERS[known.tests.fdr]
        cited.append(key)
        yield (
            f"Loadings were tested by {plural(known.tests.draws, 'permutation')} of the rows of each "
            f"variable, with a studentised statistic (DiCiccio and Romano, 2017); q values control the false "
            f"discovery rate over all variables and components ({name})."
        )


# --- references -----------------------------------------------------------------------------------


def key_of(paper: str) -> str:
    """Return the BibTeX key of a paper: "zou2006" for "Zou, Hastie and Tibshirani (2006)"."""
    match = re.match(r"([^ ,]+).*?\((\d{4})\)", paper)
    return re.sub(r"\W", "", match[1]).lower() + match[2] if match else ""


@cache
def entries() -> dict[str, str]:
    """Return the entries of assets/references.bib as a mapping key -> text."""
    text = (files("spcastat.show") / "assets" / "references.bib").read_text(encoding="utf-8")
    return {found[1]: found[0] for found in _ENTRY.finditer(text)}


def _reference(entry: str) -> str:
    """Return a BibTeX entry as a reference in plain text."""
    fields = {name: _plain(text) for name, text in _FIELD.findall(entry)}
    *others, last = fields["author"].split(" and ")
    authors = f"{', '.join(map(_initials, others))} and {_initials(last)}" if others else _initials(last)
    where = fields.get("journal") or fields.get("booktitle", "")
    volume = " ".join(filter(None, (where, fields.get("volume", ""))))
    pages = f", {fields['pages']}" if "pages" in fields else ""
    text = f"{authors} ({fields['year']}). {fields['title']}." + (f" {volume}{pages}." if volume else "")
    return text.replace("--", "-")


def _initials(author: str) -> str:
    """Return "Zou, H." for "Zou, Hui"."""
    family, given = author.split(", ")
    return f"{family}, {' '.join(name[0] + '.' for name in given.split())}"


def _plain(text: str) -> str:
    for mark, letter in {"{\\'e}": "é", "{\\'a}": "á"}.items():
        text = text.replace(mark, letter)
    return text.replace("{", "").replace("}", "")


# --- equations ------------------------------------------------------------------------------------


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
        max_terms = whole_number("max_terms", max_terms, 1)
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
