"""The sentences about a fit, in their wordings for summaries, notes, prints and methods sections.

The fields of a template, in braces, name the values of a fact:

- ``{n}``, ``{share:.2f}``: the value, with a format of Python; whole numbers have commas, as in 2,000.
- ``{share:%.1f}``: a fraction in percent; ``{share:%1}``, ``{error:fixed3}``: a fraction in percent, or a
  number, formatted as in tables, with this number of decimals; ``{variance:plain3}``: a number with this
  number of significant digits.
- ``{n|# row|# rows}``: the first text if the number is 1, otherwise the second; ``#`` is the number.
- ``{dropped?text}``, ``{select?text|other text}``: the first text if the value is true, that is, not zero,
  empty or None; otherwise the other text, if any.
- These texts can contain fields. The value of a field may be a fact, which is worded as part of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from spcastat.fit.record import CENTRING, SCALING
from spcastat.show.grid import fixed, percent, significant


@dataclass(frozen=True)
class Fact:
    """A fact: the key of its template, and the values of the fields of the template."""

    key: str
    values: Mapping[str, Any]


def fact(key: str, **values: Any) -> Fact:
    """Return a fact."""
    return Fact(key, values)


def caution(key: str, text: str, doubtful: bool, brief: str = "") -> Fact:
    """Return a fact with a text, and a brief text, that is a warning if `doubtful`, otherwise a remark."""
    brief = brief or text
    return fact(
        key,
        text=text,
        uncapitalised=f"{text[0].lower()}{text[1:]}",
        brief=f"{brief[0].lower()}{brief[1:]}" if doubtful else brief,
        doubtful=doubtful,
    )


@dataclass(frozen=True)
class Template:
    """The wordings of a fact, by place; in a place where the wording is empty, the fact is not shown.

    Attributes
    ----------
    label, line : str
        Label and text of a line in the header of a summary.
    note : str
        A note below the tables.
    methods : str
        A sentence of a methods section.
    part : str
        A part of another sentence.
    warning : str
        A short sentence in prints on an important problem.
    remark : str
        A sentence in prints on a possible problem.
    brief : str
        A shorter warning, remark, line or part, for prints with little room.
    cites : tuple of str
        Keys of the papers cited in the sentence of the methods section, or fields that contain such keys.
    """

    label: str = ""
    line: str = ""
    note: str = ""
    methods: str = ""
    part: str = ""
    warning: str = ""
    remark: str = ""
    brief: str = ""
    cites: tuple[str, ...] = ()


# --- wording --------------------------------------------------------------------------------------


#: The formats of numbers as in tables, ``%1`` and ``fixed3``, and with significant digits, ``plain3``.
_OF_TABLES = re.compile(r"(%|fixed|plain)(\d)")
#: Functions that write numbers in these formats.
_WRITERS: dict[str, Callable[[float, int], str]] = {"%": percent, "fixed": fixed, "plain": significant}
#: The name of a field, and what follows it.
_FIELD = re.compile(r"(\w+)([:|?]?)(.*)", re.DOTALL)


def worded(template: str, values: Mapping[str, Any]) -> str:
    """Return the text of a template with the values inserted."""
    return "".join(text if name is None else _of_field(name, values) for text, name in pieces(template))


def pieces(template: str) -> Iterator[tuple[str, str | None]]:
    """Yield the pieces of a template: a text and None, or "" and the content of a pair of braces."""
    depth, start = 0, 0
    for place, character in enumerate(template):
        if character == "{":
            if depth == 0:
                yield template[start:place], None
                start = place + 1
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                yield "", template[start:place]
                start = place + 1
    yield template[start:], None


def field_parts(field_text: str) -> tuple[str, str, list[str]]:
    """Return the name of a field, the sign after it, and the texts that follow, separated by bars."""
    match = _FIELD.fullmatch(field_text)
    assert match is not None, field_text
    name, sign, remainder = match.groups()
    texts, depth = [""], 0
    for character in remainder:
        depth += (character == "{") - (character == "}")
        if character == "|" and depth == 0 and sign != ":":
            texts.append("")
        else:
            texts[-1] += character
    return name, sign, texts


def _of_field(field_text: str, values: Mapping[str, Any]) -> str:
    name, sign, texts = field_parts(field_text)
    value = values[name]
    if sign == "|":
        chosen_text = texts[0] if value == 1 else texts[-1]
        return worded(chosen_text.replace("#", f"{{{name}}}"), values)
    if sign == "?":
        return worded(texts[0] if value else (*texts, "")[1], values)
    if isinstance(value, Fact):
        return worded(TEMPLATES[value.key].part, value.values)
    if value is None:
        return ""
    return _formatted(value, texts[0])


def _formatted(value: Any, form: str) -> str:
    """Return a value in one of the formats listed at the top of this module."""
    if match := _OF_TABLES.fullmatch(form):
        return str(_WRITERS[match[1]](value, int(match[2])))
    if form.startswith("%"):
        return format(100 * value, form[1:])
    is_count = not form and isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return format(value, "," if is_count else form)


def lines(facts: Iterable[Fact], brief: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the lines of a header as labels and texts, in fewer words if `brief`."""
    for one_fact in facts:
        template = TEMPLATES[one_fact.key]
        if template.line:
            wording = (brief and template.brief) or template.line
            yield template.label, worded(wording, one_fact.values)


def brief(one_fact: Fact) -> str:
    """Return the brief wording of a fact."""
    return worded(TEMPLATES[one_fact.key].brief, one_fact.values)


def line(one_fact: Fact) -> str:
    """Return the line of a fact, without its label."""
    return worded(TEMPLATES[one_fact.key].line, one_fact.values)


def notes(facts: Iterable[Fact]) -> Iterator[str]:
    """Yield the notes of those facts that have one."""
    for one_fact in facts:
        if note := TEMPLATES[one_fact.key].note:
            yield worded(note, one_fact.values)


def warnings(facts: Iterable[Fact], brief: bool = False) -> Iterator[str]:
    """Yield the warnings, in fewer words if `brief`."""
    return _alerts(facts, "warning", brief)


def remarks(facts: Iterable[Fact], brief: bool = False) -> Iterator[str]:
    """Yield the remarks, in fewer words if `brief`."""
    return _alerts(facts, "remark", brief)


def _alerts(facts: Iterable[Fact], kind: Literal["warning", "remark"], brief: bool) -> Iterator[str]:
    for one_fact in facts:
        template = TEMPLATES[one_fact.key]
        if text := worded(getattr(template, kind), one_fact.values):
            yield worded(template.brief, one_fact.values) if brief and template.brief else text


def explained_warnings(facts: Iterable[Fact]) -> Iterator[str]:
    """Yield the full sentence of each warning whose fact is a line of the header, not a note."""
    for one_fact in facts:
        template = TEMPLATES[one_fact.key]
        if template.line and not template.note and worded(template.warning, one_fact.values):
            text = worded(template.line, one_fact.values)
            yield f"{text[0].upper()}{text[1:].removesuffix('.')}."


def methods(facts: Iterable[Fact], cited: list[str] | None = None) -> Iterator[str]:
    """Yield the sentences of a methods section, and add the keys of the papers that they cite to `cited`."""
    for one_fact in facts:
        template = TEMPLATES[one_fact.key]
        if template.methods:
            if cited is not None:
                cited.extend(worded(key, one_fact.values) for key in template.cites)
            yield worded(template.methods, one_fact.values)


def part(one_fact: Fact) -> str:
    """Return the wording of a fact as part of a sentence."""
    return worded(TEMPLATES[one_fact.key].part, one_fact.values)


# --- the templates --------------------------------------------------------------------------------


#: The replacement of an indefinite matrix.
_NEAREST = (
    "no sample has such correlations (smallest eigenvalue {smallest:.2g}), so the nearest correlation "
    "matrix is used: it differs by {moved:.2g} in Frobenius norm, and by at most {largest:.2g} in one "
    "correlation{pair? ({pair})}"
)
#: The number of missing values, for summaries and for methods sections.
_MISSING = "{share:.2g} % of the values, in {rows} of {n|# row|# rows}"
_OF_VALUES = "Of the values, {cells}{share? ({share:.2g} %)} were missing, in {rows|# row|# rows};"

#: Near copies, and their consequences.
_COPY = "{first} and {second} are {exact?exact|nearly} {opposite?opposites|copies of each other} (r = {r})"
_COPY_PAIRS = (
    "{count} pairs of variables are {exact?exact|exact or near} {opposite?opposites|copies of each other}"
    "{some_opposite? or opposites}: {pairs}"
)
_COPIES = (
    ". {kept?These data show little difference between keeping one or the other.|A component may be little "
    "more than such variables, and chance decides which of them draws and halves select. Leave out {count|"
    "one of them|all but one of each}{together?, or give {together}}.}"
)

#: Definitions of the columns in the tables of principal variables.
_COLUMNS_OF_KEPT = (
    "In %: share reproduced without it, with the substitute{draws?; chosen in {draws|# resample|# resamples}"
    "{normal? of normal rows}}."
)
_COLUMNS_OF_OTHERS = "R2: share of the variance explained; r: correlation with the nearest kept."

#: The wordings of each fact, by key.
TEMPLATES: dict[str, Template] = {
    **{f"centring {name}": Template(part=text) for name, text in CENTRING.items()},
    **{f"scaling {name}": Template(part=text) for name, text in SCALING.items()},
    "scaling by root mean square": Template(part="scaled by the root mean square"),
    # --- data
    "analysis": Template(
        part="{variables?The method of principal variables|{sparse?Sparse p|P}rincipal component "
        "analysis{loadings? with sparse loadings}}"
    ),
    "rows": Template(
        label="Data",
        line="{n|# row|# rows} x {p|# variable|# variables}{columns? ({columns} columns)}{title? ({title})}"
        "{imputations?, {imputations} imputations pooled}{dropped?, {dropped|# row|# "
        "rows} with missing values dropped}{formula?, formula {formula}}, {centring}, {scaling}{weighted?, "
        "rows weighted{counted? ({counted} in total)}}",
        part="{n|# row|# rows} and {p|# variable|# variables}{columns? ({columns} columns)}"
        "{title? ({title})}"
        "{imputations?, {imputations} imputations pooled}{dropped?, {dropped|# row|# "
        "rows} with missing values dropped}{missing?, {missing}}{contrast_mean?, {centring}}, "
        "{scaling}{weighted?, rows weighted{counted? ({counted} in total)}}",
        methods="{analysis} was applied to {n|# row|# rows} of {p|# variable|# variables}"
        "{columns? ({columns} columns)}{formula? (formula {formula})}{dropped?; {dropped|# row|# rows} with "
        "missing values were left out}.",
    ),
    "imputations": Template(
        methods="The covariance matrices of {number|# imputation|# imputations} of the missing values were "
        "averaged (Rubin, 1987).",
        cites=("rubin1987",),
    ),
    "matrix": Template(
        label="Data",
        line="{kind} matrix of {p|# variable|# variables}{known_n?, from {n|# row|# rows}}"
        "{scaling?, {scaling}}",
        part="the {kind} matrix of {p|# variable|# variables}{known_n?, from {n|# row|# rows}}"
        "{scaling?, {scaling}}",
        methods="{analysis} was applied to the {kind} matrix of {p|# variable|# variables}"
        "{known_n?, from {n|# row|# rows}}{moved?, replaced by the nearest positive semidefinite matrix}.",
    ),
    "polychoric correlations": Template(
        methods="Polychoric correlations were estimated in two steps, thresholds first (Olsson, 1979).",
        cites=("olsson1979",),
    ),
    "mixed correlations": Template(
        methods="Polychoric correlations of ordinal variables, and polyserial correlations of ordinal and "
        "continuous variables, were estimated in two steps, thresholds first (Olsson, 1979; Olsson, Drasgow "
        "and Dorans, 1982); for continuous variables Pearson correlations were used.",
        cites=("olsson1979", "olsson1982"),
    ),
    "kind covariance": Template(part="covariance"),
    "kind correlation": Template(part="{name?{name} }correlation"),
    "serial": Template(
        methods="Successive rows were correlated (r = {r:.2f} of their scores) beyond what sorting or groups "
        "explained{resampled?, so inference for independent rows was not valid}."
    ),
    "partial": Template(
        label="Partial",
        line="{p|# variable|# variables} given {given}, which explain {share:%.1f} % of their variance "
        "({strongest}){known_free?; {free:g} residual degrees of freedom; the divisor is still n - 1}",
        part="Partial: {p|# variable|# variables} given {given}, which explain {share:%.1f} % of their "
        "variance.",
        methods="Variables were replaced by the residuals of their linear regression on {names}, which "
        "explained {share:%.1f} % of their variance.",
    ),
    "standardisation": Template(methods="Variables were {centring} {contrast?but|and} {scaling}."),
    "codes": Template(
        methods="Categories were coded as numbers, by their order or their numeric labels ({names})."
    ),
    "scaled as mixed data": Template(
        methods="The indicator of each level of a factor was divided by the square root of the level's "
        "share of the rows, as in factor analysis of mixed data (Pagès, 2004).",
        cites=("pages2004",),
    ),
    "scaled by blocks": Template(
        methods="Variables were divided by the square root of the first eigenvalue of their block "
        "({names}), as in multiple factor analysis (Escofier and Pagès, 1994).",
        cites=("escofier1994",),
    ),
    "weights": Template(methods="Rows were weighted{column? by {column}} (sum of the weights {total:.6g})."),
    "draws": Template(
        label="Draws",
        line="{design}",
        part="Draws: {design}.",
        methods="The units of resampling and tests were {design} (Rao, Wu and Yue, 1992).",
        cites=("rao1992",),
    ),
    "draws in time": Template(
        label="Draws",
        line="{design}",
        part="Draws: {design}.",
        methods="The units of resampling and tests were {design} (Künsch, 1989).",
        cites=("kunsch1989",),
    ),
    "robust": Template(
        label="Robust",
        line="{cells}{rows?; {rows}}{bent?; {bent} of {judged|# column|# columns} judged after a power "
        "transformation}{plain?; left as given, since they have few values or many of them are equal: "
        "{plain_names}}{often?; more than 10 % of the cells are downweighted, which may be groups of values: "
        "{often}}",
        part="Robust: {cells}{rows?; {rows}}{plain?; not cleaned: {plain_names}}{loadings?| (fit.robust)}.",
        warning="{grouped?more than half of the rows are far from the others, so none was left out.}",
    ),
    "cells downweighted": Template(
        part="{outlying?{outlying} of {known|# cell|# cells}{kept? of the rows kept}{share? ({share:.1f} %)} "
        "downweighted{emptied?, {emptied} of them replaced by the centre of the column}|no outlying cell}"
    ),
    "nothing outlying": Template(part="no outlying cell or row"),
    "cells as they are": Template(part="cells as they are"),
    "rows left out": Template(part="{out} of {n|# row|# rows} left out: {names}"),
    "no row left out": Template(part="no row left out"),
    "rows in groups": Template(
        part="no row left out, as {far} of {n} are far from the others and may be a group"
    ),
    "rows not judged": Template(part="all rows kept"),
    "outlying cells": Template(
        methods="{outlying?Outlying values were downweighted by wrapping|Values were searched for outliers, "
        "to be downweighted by wrapping} (Raymaekers and Rousseeuw, 2021), with "
        "locations and scales by the univariate minimum covariance determinant (Rousseeuw and Leroy, 1987). "
        "{outlying?Of {known|# value|# values}, {outlying}{share? ({share:.1f} %)} {outlying|was|were} "
        "beyond {bend:g} robust standard deviations and downweighted{emptied?, {emptied} of them, beyond "
        "{end:g}, replaced by the centre of their variable}|None of {known|# value|# values} was beyond "
        "{bend:g} robust standard deviations, so none was changed}.",
        cites=("raymaekers2021", "rousseeuw1987"),
    ),
    "skewed columns": Template(
        methods="A Box-Cox or Yeo-Johnson transformation (Raymaekers and Rousseeuw, 2024) was applied to "
        "{bent|# skewed variable|# skewed variables} before outlying values were identified.",
        cites=("raymaekers2024",),
    ),
    "outlying rows": Template(
        methods="{out?{out} of {n|# row|# rows} had|No row had} a score on rotated principal components that "
        "was more than {limit:g} robust standard deviations from the middle and not explained by the scores "
        "of the fit{out?; {out|it|they} had no weight} (after Hubert, Reynkens, Schmitt and Verdonck, 2016).",
        cites=("hubert2016",),
    ),
    "of cleaned data": Template(
        methods="Loadings and variances were computed from the {cells?cleaned data|other rows}.",
        note="All variances and shares of variance refer to the {cells?cleaned data, in which outlying "
        "cells are downweighted{rows? and outlying rows left out}|rows kept}; the variances of the original "
        "data differ.",
    ),
    "total variance": Template(
        part="{cells?variance of the cleaned data|{rows?variance of the rows kept|{partial?residual|total} "
        "variance}}"
    ),
    "successive rows": Template(
        label="Warning",
        line="{remark}",
        warning="scores of successive rows are correlated (r = {r:.2f}).",
    ),
    "gaps": Template(
        label="Gaps",
        line="{remark}",
        warning="{dropped|# row|# rows} with missing values {dropped|was|were} dropped between successive "
        "rows.",
    ),
    "none missing": Template(
        label="Missing", line="no value{model?; a model of rank {rank} is kept for new rows}"
    ),
    "missing by EM": Template(
        label="Missing",
        part="{cells|# missing value|# missing values} estimated by EM",
        line=f"{_MISSING}; estimated by EM for probabilistic PCA of rank {{rank}} (k_em) over "
        "{patterns|# pattern|# patterns} of missing values, {converged?converged after|stopped before it "
        "converged, after} {iterations|# iteration|# iterations}",
        methods=f"{_OF_VALUES} means and covariances were estimated from all rows by "
        f"expectation-maximisation for "
        "probabilistic principal components of rank {rank} (Tipping and Bishop, 1999).",
        warning="{converged?|the EM algorithm for missing values stopped before it converged.}",
        cites=("tipping1999",),
    ),
    "missing by FAMD": Template(
        label="Missing",
        part="{cells|# missing value|# missing values} imputed by FAMD",
        line=f"{_MISSING}; imputed by factor analysis of mixed data (FAMD) of rank {{rank}} (k_em), "
        "{converged?converged after|stopped before it converged, after} {iterations|# iteration|"
        "# iterations}",
        methods=f"{_OF_VALUES} they were imputed by regularised iterative factor analysis of mixed data of "
        "rank {rank} (Audigier, Husson and Josse, 2016), and the imputed values were analysed as if they "
        "had been measured.",
        warning="{converged?|the imputation of missing values stopped before it converged.}",
        cites=("audigier2016",),
    ),
    "missing by pairs": Template(
        label="Missing",
        part="{cells|# missing value|# missing values} treated pairwise",
        line=f"{_MISSING}; correlations from the rows in which both variables are observed, at least "
        f"{{fewest:g}}"
        "{nearest?; {nearest}}",
        methods=f"{_OF_VALUES} each correlation was computed from the rows in which both variables were "
        f"observed "
        "(at least {fewest:g}){nearest?; the nearest correlation matrix was used, as these correlations were "
        "not positive semidefinite}.",
        warning="{nearest?the nearest correlation matrix is used, since the pairwise correlations were not "
        "positive semidefinite.}",
    ),
    "completed matrix": Template(label="Matrix", line="{remark}"),
    "nearest": Template(
        label="Nearest",
        line=_NEAREST,
        part=_NEAREST,
        warning="the nearest correlation matrix replaces the given one, which was not positive semidefinite.",
    ),
    "counts": Template(
        note="The rows are nonnegative whole numbers, and most variables have a variance above their mean, "
        "as counts do: a few large counts can then dominate the components. For counts give np.log1p(data) "
        "and scale=True.",
    ),
    "unequal variances": Template(
        label="Scale",
        line="Variances range from {smallest:plain3} to {largest:plain3}, and variables with large variances "
        "dominate; {call?{call} gives|the correlation matrix would give} all variables the same weight.",
        warning="variances range from {smallest:plain3} to {largest:plain3}, and the largest dominate.",
    ),
    "drawn": Template(label="Draws", line="{text}"),
    # --- components
    "components": Template(methods="The analysis had {k|# component|# components}."),
    "equal numbers": Template(
        methods="The analysis had {k|# component|# components} with {card|# nonzero loading|# nonzero "
        "loadings}{k|| each}; all other loadings were exactly zero."
    ),
    "unequal numbers": Template(
        methods="The analysis had {k|# component|# components} with {cards} nonzero loadings; all other "
        "loadings were exactly zero."
    ),
    "share kept": Template(
        methods="These were the fewest nonzero loadings found with which the components explained at least "
        "{goal:%g} % of the variance explained by {k|the first dense principal component|the same number of "
        "dense principal components}."
    ),
    "goal": Template(
        label="Target",
        line="at least {goal:%g} % of the variance that PCA explains, {total?by all components "
        "together|after every component}",
    ),
    "sense of loadings": Template(
        label="Sense",
        line="sparse loadings: X is approximately T P', each variable depends on few components, and the "
        "scores T = X W use all variables with a nonzero loading. spca() gives components that are sums of "
        "few variables.",
    ),
    "goal of loadings": Template(
        label="Target", line="at least {goal:%g} % of the variance that PCA explains: {share:%.2f} %"
    ),
    "rule": Template(
        label="Rule",
        line="{rule}",
        part="{rule}.",
        methods="The choice of variables was subject to a rule: {rule}.",
    ),
    "groups of components": Template(label="Together", line="{groups}"),
    # --- method
    "method": Template(
        label="Method",
        line="{name}: {title}{nonneg?, nonnegative}{published?; {paper}}",
        methods='The loadings{nonneg?, which were nonnegative,} were computed by the method "{name}"'
        "{published? of {work}}, {title_within}, whose criterion was the {criterion}.{compared? Of the "
        "fits on every choice of supports it had the largest {measure}.}{stopped? It stopped before it "
        "converged.}{several? It was the best of {starts|# start|# starts}.}",
        cites=("{citation}",),
    ),
    "joint method": Template(
        label="Method",
        line="{name}: {k|Search for one component|{title}}{nonneg?, nonnegative}{published?; {paper}}",
        methods="The loadings {k|were determined|of all components were determined together}{nonneg?, with "
        'nonnegative loadings,} by a search that maximised the {measure} (method "{name}").',
    ),
    "print of a fit": Template(
        part="{loadings?{in_sentence?s|S}parse loadings|{sparse?{in_sentence?s|S}parse PCA|PCA}} of {data}: "
        "{k|# component|# components}{sparse? with {cards}}"
    ),
    "search in brief": Template(
        part="{goal?Fewest nonzero loadings found that explain {goal:%g} % of PCA's variance{each? after "
        "each component}|Largest "
        "{measure} found}{proven? (proven)|{starts? ({hits} of {starts} {fits?fits|starts}{searched?, among "
        "{searched} of {p|# variable|# variables}}{partitions?; not all partitions})}}."
    ),
    "method in brief": Template(
        part='Method "{name}" ({compared?largest {measure} found on every choice of supports|{advice}}).'
    ),
    "equal cards": Template(part="{card|# nonzero loading|# nonzero loadings}{k|| each}"),
    "unequal cards": Template(part="{cards} nonzero loadings"),
    "search printed": Template(
        part="{goal?Fewest nonzero loadings found that explain {goal:%g} % of the variance that PCA explains"
        "{each? after each component}|Largest {measure} found} ({advice})."
    ),
    "method printed": Template(
        part='Method "{name}": {title}{nonneg?, nonnegative}{published?; {paper}}; {compared?largest '
        "{measure} found on every choice of supports|{advice}{several?; best of {starts|# start|# starts}, "
        "reached by {reached}}}."
    ),
    "loadings printed": Template(
        part="The data are approximately T P', with uncorrelated scores T and these loadings P ({advice})."
    ),
    "inference printed": Template(part="Shown in fit.summary(): {results}."),
    "shows intervals": Template(
        part="{bounded?95 % bootstrap intervals|shares of bootstrap draws} ({draws|# draw|# draws})"
    ),
    "shows frequencies": Template(part="selection frequencies ({halves|# half|# halves} of the rows)"),
    "shows tests": Template(part="q-values ({draws|# permutation|# permutations})"),
    "shows split": Template(part="split inference"),
    "objective": Template(
        label="Objective",
        line="{criterion}: {value:.6g}{known_share? ({share:%.2f} % of the {total})}",
    ),
    "constraint": Template(
        label="Constraint",
        part="Constraint: {label}{violation? (largest {product} {violation:.0e})}; without it the {measure} "
        "is {without:%.2f} %.",
        line="{label}: largest {product} {violation:.0e}; {without:%.2f} % without the constraint",
        methods="The fit was constrained to have {label}; without the constraint the {measure} was "
        "{without:%.1f} % of the {total}.",
    ),
    "settled fits": Template(
        methods="Variables were exchanged as long as this increased the value under the constraint; "
        "{hits} of {fits|# such search|# such searches} ended in these loadings."
    ),
    "status": Template(
        label="Status",
        line="{advice}{iterations? ({iterations|# iteration|# iterations})}{several?; best of "
        "{starts|# start|# starts}, reached by {reached}}",
    ),
    "status of ascents": Template(
        label="Status", line="{advice}{converged?|; the last ascent did not converge}"
    ),
    "better proven impossible": Template(
        methods="It was proven that no other {groups?partition of the variables is|loadings with these "
        "cardinalities are} better."
    ),
    "all partitions": Template(methods="All partitions of the variables were compared."),
    "search among": Template(
        methods="The search was restricted to {number} of the {p|# variable|# variables}."
    ),
    "starts": Template(
        methods="The search was repeated from {starts|# starting value|# starting values}, of which {hits} "
        "led to these loadings{several?, and so did {agreeing} of {chains|# independent search|# independent "
        "searches}}."
    ),
    "settled": Template(
        methods="No single {groups?move of a variable|exchange of a nonzero with a zero loading} improved "
        "them."
    ),
    "fewest proven": Template(
        methods="Fewer were impossible, since each component had only one nonzero loading.",
    ),
    "nothing sparser": Template(methods="No sparser fit that was tried reached this share."),
    "sparsest of proposals": Template(
        methods="They were the sparsest of {number} fits that reached this share."
    ),
    "no fewer by search": Template(
        methods="A joint search found no fit with one nonzero loading fewer.",
    ),
    "method of loadings": Template(
        label="Method",
        line="{title}; {paper}",
        methods="Sparse loadings P minimised the squared differences between the data and T P', where the "
        "scores T were uncorrelated with unit variance ({work}). The fit was the best of {starts|# "
        "start|# starts}, improved by exchanges of nonzero with zero loadings.",
        cites=("{citation}",),
    ),
    # --- principal variables
    "PCA of all": Template(
        label="PCA of all",
        line="{share:%2} % with {k|# component|# components}; the variables kept: {part:%1} % of this",
    ),
    "share of variables": Template(
        label="Number",
        line="the fewest variables that reproduce {share:%g} % of {of_pca?PCA's share|the variance} in "
        "held-out rows",
    ),
    "costs of variables": Template(label="Cost", line="{spent:g} of {budget:g}"),
    "search for variables": Template(
        label="Search",
        line="{proven?no other set{size} is better (proven)|found by exchanges; no set{size} reproduces "
        "more than {bound:%2} % (proven; certify() may lower this)}",
        methods="{proven?A branch-and-bound search proved that no other set{size} reproduces more.}",
    ),
    "held-out variables": Template(
        label="Held out",
        line="{share:%1} % (standard error {error:%1}), PCA {pca:%1} % ({folds} folds, choice repeated)",
        methods="In {folds}-fold cross-validation, with the choice repeated in each fold, the variables "
        "reproduced {share:%1} % of the variance of held-out rows (standard error {error:%1} %), and "
        "principal components {pca:%1} %.",
    ),
    "coefficients of variables": Template(label="Coefficients", line="{text}"),
    "next variables": Template(note="Next to add (share then reproduced, %): {names}."),
    "columns of variables": Template(part=_COLUMNS_OF_KEPT, note=_COLUMNS_OF_KEPT),
    "columns of others": Template(part=_COLUMNS_OF_OTHERS, note=_COLUMNS_OF_OTHERS),
    "determined variable": Template(note="{name} is determined by {others}, and adds nothing to these."),
    "variables by scores": Template(
        methods="The analysis kept {m|# variable|# variables} ({names}), chosen so that the best {k|# linear "
        "combination|# linear combinations} of them reproduced as much of the variance of all variables as "
        "possible (Tanaka and Mori, 1997), {share:%1} %; {k|the first principal component|as many "
        "principal components} explained {pca:%1} %.",
        cites=("tanaka1997",),
    ),
    "variables by regressions": Template(
        methods="The analysis kept {m|# variable|# variables} ({names}), chosen so that regressions on them "
        "explained as much of the variance of all variables as possible (McCabe, 1984), {share:%1} %; as "
        "many principal components explained {pca:%1} %.",
        cites=("mccabe1984",),
    ),
    # --- variance
    "explained by PCA": Template(methods="{k|The component|They} explained {dense} % of the {total}."),
    "explained by one": Template(
        methods="The component explained {share} % of the {total}{least_squares? ({least_squares} % "
        "by regression of the variables on its scores)}; the first dense principal component explained "
        "{dense} %."
    ),
    "explained as by PCA": Template(
        methods="The component explained {share} % of the {total}, as much as the first dense "
        "principal component."
    ),
    "explained": Template(
        methods="Together the components explained {adjusted} % of the {total} as "
        "adjusted variance, which counts the variance shared by correlated scores only once (Zou, Hastie and "
        "Tibshirani, 2006), {pev} % by projection on the loadings (PEV), and {least_squares} % by regression "
        "of the variables on the scores; the same number of dense principal components explained {dense} %.",
        cites=("zou2006",),
    ),
    "explained by loadings": Template(
        methods="{k|The component|Together the components} explained {share:%1} % of the {total}; "
        "{k|the first dense principal component|the same number of dense principal components} "
        "explained {dense:%1} %."
    ),
    # --- inference
    "halves": Template(
        methods="The stability of the selection was assessed by {halves} fits to complementary halves of "
        "the rows (Shah and Samworth, 2013): at least {threshold:%g} % of them selected {stable} of "
        "{number|# nonzero loading|# nonzero loadings}.",
        cites=("shah2013",),
    ),
    "intervals": Template(
        methods="Intervals for loadings were 95 % bootstrap intervals ({draws|# draw|# draws}; "
        "{select?variables selected again in each draw, with the cardinalities of the fit|given the "
        "selection}{near?, by a local search that started from the fit}): normal intervals, extended to zero "
        "if fewer than 97.5 % of the draws gave the loading the sign that it had in the fit."
    ),
    "percentile intervals": Template(
        methods="Intervals for loadings were 95 % percentile intervals of the bootstrap ({draws|# draw|# "
        "draws}; {select?variables selected again in each draw|given the selection})."
    ),
    "split": Template(
        methods="For split inference, {selecting|# row was|# rows were} used to select the variables, and "
        "the other {estimating} to estimate the correlation of each variable with the score of the others "
        "(Rinaldo, Wasserman and G'Sell, 2019).",
        cites=("rinaldo2019",),
    ),
    "repeated splits": Template(
        methods="P-values combined {repeats} splits and controlled the family-wise error rate (Meinshausen, "
        "Meier and Bühlmann, 2009).",
        cites=("meinshausen2009",),
    ),
    **{
        key: Template(
            methods="Loadings were tested by {draws|# permutation|# permutations} of the rows of each "
            "variable, with a studentised statistic (DiCiccio and Romano, 2017); q-values controlled the "
            "false discovery rate "
            f"over all variables and components ({paper}).",
            cites=("diciccio2017", citation),
        )
        for key, citation, paper in (
            ("tests fdr_bh", "benjamini1995", "Benjamini and Hochberg, 1995"),
            ("tests fdr_by", "benjamini2001", "Benjamini and Yekutieli, 2001"),
        )
    },
    "proof": Template(label="Proof", line="{sentence}", methods="{in_methods}"),
    "software": Template(methods="Computations used spcastat {version}{python?, Python {python}}."),
    # --- notes on a fit
    "forced at zero": Template(
        note="Forced, but with a loading of exactly zero: {names}.",
        warning="{number|a forced loading is|# forced loadings are} exactly zero.",
    ),
    "cardinality missed": Template(
        note="Cardinality missed: {components}{details?; see details}.",
        warning="{number|# component does|# components do} not have the cardinality that was requested.",
    ),
    "near copy": Template(note=_COPY + _COPIES, warning=_COPY + "."),
    "near copies": Template(note=_COPY_PAIRS + _COPIES, warning=_COPY_PAIRS + "."),
    "missed": Template(
        part="{component} has {groups?{count|# group|# groups}|{count|# nonzero|# nonzeros}}, {card} "
        "{card|was|were} requested"
    ),
    "weights in table": Template(
        note="The table shows the weights of the variables in the scores. sparse_loadings() fits sparse "
        "loadings instead: the coefficients by which the scores predict the variables."
    ),
    "measures of variance": Template(
        note="Measures of variance: {several?adjusted variance is the variance of the scores, of which "
        "each component counts only what the scores of earlier components do not explain; PEV|adjusted "
        "variance is the variance of the scores; PEV, which is equal for one component,} is the variance "
        "that projection on the loadings reproduces; least squares, the variance that regression of the "
        "variables on the scores explains; PCA (dense), the variance that {k|the first principal component "
        "explains|the first # principal components explain}. None exceeds the next.",
    ),
    "definition of a measure": Template(part="{label}{in_brackets? (in brackets)}: {definition}."),
    "variance of few variables": Template(
        note="{used|The variable with a loading has|The # variables with loadings have} {share:%2} % of the "
        "{total}, which {several?neither adjusted variance nor PEV can|the variance of the component cannot} "
        "exceed. Regression on the scores also counts the variance that they explain in the other variables: "
        "{least_squares:%1} % of the {total} (PCA {dense:%1} %).",
        part="{used|The variable with a loading has|The # variables with loadings have} {share:%2} % of the "
        "{total}, the most that {several?adjusted variance and PEV|its variance} can reach.",
    ),
    "variance of sparse loadings": Template(
        note="sparse loadings: the variance of T P', which is the sum of the squared loadings; PCA "
        "(dense): the variance that as many principal components explain."
    ),
    "variables without loadings": Template(
        part="{names?Without loadings: {names}|{number:,} of {p:,} {columns?columns|variables} "
        "{number|has|have} no loading}."
    ),
    "columns of components": Template(part="{heading}{correlated?; }{correlation}"),
    "all components": Template(part="{k|The component|Together}: {measures} of {whole}{others?; {others}}."),
    "strongly correlated scores": Template(note="Two scores have |r| = {r:.2f}: {remedy}."),
    "remedy joint": Template(part='method="joint", the default, counts only what each component adds'),
    "remedy constraint": Template(
        part='a smaller k leaves one of them out, and constraint="uncorrelated" finds scores without '
        "correlation"
    ),
    "remedy fewer": Template(part="a smaller k leaves one of them out"),
    "remedy equal": Template(
        part="{first} and {second} differ only in loadings below .001, since PEV rises as these nonnegative "
        'components approach each other; objective="adjusted" counts only what each component adds, a '
        "smaller k leaves one of them out, and without nonneg=True a component can be their difference"
    ),
    "remedy objective": Template(part='objective="adjusted" counts only what each component adds'),
    "split factors": Template(note="Levels of a factor are selected one by one: {factors}."),
    "split factor": Template(part="{component} has {number} of the {levels|# level|# levels} of {name}"),
    "all explained": Template(
        note="Regression on the scores explains all of the variance. This is also true for other loadings, "
        "so "
        'the data do not determine the loadings: give a smaller k, or objective="adjusted".',
        warning="other loadings also explain all of the variance; see fit.notes.",
    ),
    "as much as PCA": Template(
        note="Regression on the scores explains as much as regression on the principal components. If there "
        "are no more rows than variables, this may also be true for other loadings, and rounding, which "
        "depends on the order of the rows, chooses between them: give a smaller card, or "
        'objective="adjusted".',
        warning="other loadings may also explain as much as PCA; see fit.notes.",
    ),
    "another order": Template(
        note="In the order {names} the adjusted variance of these components is {share:.2f} % of the total "
        'variance instead of {share_now:.2f} %; order="best" also searches with the cardinalities in other '
        "orders."
    ),
    "PCA in few passes": Template(
        note="The variance of dense PCA is a lower bound, because few passes over the rows were made for "
        "it; it may be {error:%.1g} % of the total variance larger. passes=15 makes more passes.",
        warning="the variance of dense PCA is a lower bound.",
    ),
    "computed anew": Template(
        note="The partitions were computed again in each of {passes} passes: call data.persist() before the "
        "fit to keep them on the workers if they fit in memory."
    ),
    "shares of groups": Template(
        part="{name} {share:%.1f} % ({mixed?{count|# level|# levels}|{count|# variable|# variables}})"
    ),
    "shares of numbers": Template(part="{count|# number|# numbers} {share:%.1f} %"),
    "factors": Template(label="Factors", line="shares of the total variance: {shares}"),
    "blocks": Template(label="Blocks", line="shares of the total variance: {shares}"),
}
