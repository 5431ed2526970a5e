"""Facts about resampling and tests of loadings: numbers and names; templates have the words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from spcastat.fit import frames
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested
from spcastat.fit.state import FitState
from spcastat.labels import full_names, name_text
from spcastat.reading.design import few_clusters
from spcastat.show import resampling_templates as _words  # noqa: F401  (registers the templates)
from spcastat.show.facts import copies
from spcastat.show.templates import Fact, fact

#: A zero loading is shown only if its q value is at most LEVEL.
LEVEL = 0.05
#: A loading that is zero in the fit is shown if at least this share of the draws selected it.
OFTEN = 0.25
#: With fewer draws, or halves of the rows, a sentence says what more would change.
ENOUGH, ENOUGH_HALVES = 199, 100
#: The default number of draws.
MANY = 999
#: Names of the procedures that control the false discovery rate.
FDR = {"fdr_bh": "Benjamini and Hochberg", "fdr_by": "Benjamini and Yekutieli"}


# --- what was drawn -------------------------------------------------------------------------------


def made(found: Bootstrapped | HalfSamples, unit: str) -> Fact:
    """Return the fact about the number of draws or pairs."""
    return fact(
        f"{unit}s made",
        done=found.draws,
        asked=found.asked,
        interrupted=found.draws != found.asked,
        normal=found.normal,
        again=found.again,
    )


def drawn(text: str) -> Iterator[Fact]:
    """Yield the fact about what was drawn, if not single rows of the fit."""
    if text:
        yield fact("drawn", text=text)


def similarity(values: pd.Series) -> Fact:
    """Return the fact about the correlations of resampled scores with those of the fit."""
    cells = ", ".join(f"{name_text(name)} {value:.2f}" for name, value in list(values.items())[:8])
    return fact("similarity", values=f"{cells}{', ...' if len(values) > 8 else ''}")


def about_rows(state: FitState, notice: str) -> Iterator[Fact]:
    """Yield the facts about few clusters, and about rows and columns, and near copies of variables."""
    for text in (few_clusters(state.record.row_design), notice):
        if text:
            yield fact("notice", text=text, words=text[0].lower() + text[1:])
    yield from copies(state)


# --- bootstrap ------------------------------------------------------------------------------------


def bootstrap(found: Bootstrapped, level: float, loadings: bool = False) -> Fact:
    """Return the fact about what the draws of a bootstrap give."""
    few = found.draws < frames.least_draws(level)
    values = {"few": few, "level": level, "select": found.select, "loadings": loadings}
    return fact("bootstrap", made=made(found, "draw"), **values)


def of_intervals(state: FitState, found: Bootstrapped, level: float) -> Iterator[Fact]:
    """Yield what an interval of a loading says, and what it presupposes."""
    yield interval_meaning(found.select, level)
    yield from components_in_doubt(state, found)


def of_imputations(draws: Bootstrapped) -> Iterator[Fact]:
    """Yield the fact about intervals from multiple imputations."""
    if draws.imputed is not None:
        yield fact("pooled intervals", number=len(draws.imputed))


def interval_meaning(select: bool, level: float = 0.95) -> Fact:
    """Return what an interval says; `select`: whether draws selected the variables again."""
    if not select:
        return fact("intervals given")
    return fact("intervals with selection", share=50 + 50 * level)


def components_in_doubt(state: FitState, found: Bootstrapped) -> Iterator[Fact]:
    """Yield a fact about components of the fit that may be noise."""
    number, doubtful = frames.number_found(state, found), frames.not_found(state, found)
    if number is None:
        yield fact("component presupposed")
    elif doubtful:
        yield fact("components not found", number=number, names=", ".join(full_names(doubtful)))


def local_search(found: Bootstrapped) -> Iterator[Fact]:
    """Yield a fact about draws that were fitted by a local search from the fit."""
    if found.search == "near":
        yield fact("local search")


def few_draws(found: Bootstrapped, level: float = 0.95) -> Iterator[Fact]:
    """Yield what more draws would change, if there are few."""
    done, least = found.draws, frames.least_draws(level)
    if done < least:
        yield fact("too few draws", level=level, least=least, done=done)
    elif done < ENOUGH:
        yield fact(
            "few draws",
            done=done,
            error=_percent_error(done),
            share=0.5 / np.sqrt(done),
            error_of_many=_percent_error(MANY),
            share_of_many=0.5 / np.sqrt(MANY),
        )


def _percent_error(n: int) -> str:
    """Return the relative standard error of a standard deviation over n normal draws, in percent."""
    return f"{100.0 / np.sqrt(2.0 * max(n - 1.0, 1.0)):.0f}"


def held_out(state: FitState) -> Fact:
    """Return the fact about variances in new rows, and their units if variables have unit variances."""
    matrix = not state.record.from_rows and np.allclose(state.moments.variances, 1.0, atol=1e-8)
    return fact("held out", units=bool(state.record.scaling == "sd" or matrix))


def of_bootstrap(state: FitState, found: Bootstrapped, level: float) -> Iterator[Fact]:
    """Yield the facts for the notes on a bootstrap."""
    if found.draws >= frames.least_draws(level):
        yield from of_intervals(state, found, level)
    yield from of_imputations(found)
    yield from local_search(found)
    yield from about_rows(state, found.notice)
    if found.select:
        yield fact("selected")
    yield from few_draws(found, level)


# --- stability ------------------------------------------------------------------------------------


def stability(found: HalfSamples) -> Fact:
    """Return the fact about the fits of halves and the threshold."""
    return fact("stability", halves=len(found.chosen), made=made(found, "pair"), threshold=found.threshold)


def of_stability(state: FitState, found: HalfSamples) -> Iterator[Fact]:
    """Yield the facts for the notes on stability."""
    halves = len(found.chosen)
    yield fact("frequency")
    yield from about_rows(state, found.notice)
    if halves < ENOUGH_HALVES:
        yield fact(
            "few halves",
            halves=halves,
            error=0.5 / np.sqrt(halves),
            pairs=ENOUGH_HALVES // 2,
            error_of_many=0.5 / np.sqrt(ENOUGH_HALVES),
        )


# --- split inference and tests ----------------------------------------------------------------------


def split_inference(found: Split) -> Fact:
    """Return the fact about the two parts of the rows."""
    selecting, estimating = found.rows
    return fact("split inference", selecting=selecting, estimating=estimating)


def header_of_split(state: FitState, found: Split) -> Iterator[Fact]:
    """Yield the facts of the header of split inference."""
    selecting, estimating = found.rows
    yield fact(
        "rows of split",
        selecting=selecting,
        estimating=estimating,
        again=found.again,
        normal=found.normal,
    )
    interrupted = found.draws != found.asked
    samples = fact("samples made", done=found.draws, asked=found.asked, interrupted=interrupted)
    yield fact("draws of split", made=samples, drawn=found.drawn)
    yield similarity(frames.similarity(state, found))


def of_split(state: FitState, found: Split) -> Iterator[Fact]:
    """Yield the facts for the notes on split inference."""
    yield fact("correlations of split")
    if found.repeats > 1:
        yield fact("p values of splits", repeats=found.repeats)
    yield from about_rows(state, found.notice)
    if found.draws < ENOUGH:
        yield fact(
            "few draws of standard errors",
            done=found.draws,
            error=_percent_error(found.draws),
            error_of_many=_percent_error(MANY),
        )


def tests_of_loadings(found: Tested) -> Fact:
    """Return the fact about the permutations of tests of loadings."""
    return fact("tests of loadings", **_tests(found))


def header_of_tests(found: Tested) -> Iterator[Fact]:
    """Yield the facts of the header of tests of loadings."""
    yield from drawn(found.drawn)
    if found.signs:
        yield fact("null of signs")
    else:
        groups = bool(found.drawn) and not found.drawn.startswith("a sample")
        yield fact("null of groups" if groups else "null of rows")
    yield fact("statistic")
    yield fact("p of tests", **_tests(found))
    yield fact("q of tests", **_tests(found))


def _tests(found: Tested) -> dict[str, object]:
    return {
        "done": found.draws,
        "asked": found.asked,
        "interrupted": found.draws != found.asked,
        "signs": found.signs,
        "least": 1 / (found.draws + 1),
        "procedure": FDR[found.fdr],
    }


def of_tests(state: FitState, found: Tested, hidden: int) -> Iterator[Fact]:
    """Yield the facts for the notes on tests of loadings; `hidden` zero loadings are not shown."""
    yield fact("meaning of q")
    if hidden:
        yield fact("zero loadings hidden", number=hidden)
    yield from few_permutations(state, found)
    yield from about_rows(state, found.notice)


def few_permutations(state: FitState, found: Tested) -> Iterator[Fact]:
    """Yield a fact if there are too few permutations for a small q value."""
    tested = int((~np.isnan(found.p_value)).sum())
    nonzeros = max(int(np.count_nonzero(state.V)), 1)
    times = np.sum(1.0 / np.arange(1, tested + 1)) if found.fdr == "fdr_by" else 1.0
    limit = min(times * tested / (nonzeros * (found.draws + 1)), 1.0)
    if limit > LEVEL:
        yield fact(
            "few permutations",
            done=found.draws,
            tested=tested,
            limit=limit,
            nonzeros=nonzeros,
            needed=int(np.ceil(times * tested / (nonzeros * LEVEL))) - 1,
            level=LEVEL,
        )
