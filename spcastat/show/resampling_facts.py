"""Facts about resampling and tests of loadings: numbers and names, which templates word."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.special import ndtri

from spcastat.arguments import SHOWN_LEVEL
from spcastat.fit import frames
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested
from spcastat.fit.state import FitState
from spcastat.inputs.dependence import TREATED_AS_INDEPENDENT
from spcastat.labels import full_names, name_text, some_of
from spcastat.reading.design import about_clusters
from spcastat.show import resampling_templates  # noqa: F401  (registers the templates)
from spcastat.show.facts import gaps
from spcastat.show.grid import is_smallest_p
from spcastat.show.note_facts import copies
from spcastat.show.templates import Fact, caution, fact

#: A loading that is zero in the fit is shown if at least this share of the draws selected it.
OFTEN = 0.25
#: A component is recovered if its scores have at least this mean |r| with the scores in fits of halves.
RECOVERED = 0.5
#: With fewer draws, or halves of the rows, a sentence reports the gain in accuracy from more.
ENOUGH_DRAWS, ENOUGH_HALF_SAMPLES = 199, 100
#: The default number of draws.
COMPARED_DRAWS = 999
#: Names of the procedures that control the false discovery rate.
FDR = {"fdr_bh": "Benjamini and Hochberg", "fdr_by": "Benjamini and Yekutieli"}


# --- what was drawn -------------------------------------------------------------------------------


def draws_made(resampling: Bootstrapped | HalfSamples, unit: str) -> Fact:
    """Return the fact about the number of draws or pairs."""
    return fact(
        f"{unit}s made",
        done=resampling.draws,
        asked=resampling.asked,
        interrupted=resampling.draws != resampling.asked,
        normal=resampling.normal,
        again=resampling.again,
    )


def rows_drawn(text: str) -> Iterator[Fact]:
    """Yield the fact about the resampling units, if they are not single rows of the fit."""
    if text:
        yield fact("drawn", text=text)


def similarity(values: pd.Series) -> Fact:
    """Return the fact about the correlations of resampled scores with the scores of the fit."""
    cells = ", ".join(f"{name_text(name)} {value:.2f}" for name, value in list(values.items())[:8])
    return fact("similarity", values=f"{cells}{', ...' if len(values) > 8 else ''}")


def about_rows(state: FitState, notice: str) -> Iterator[Fact]:
    """Yield the facts about clusters, rows and columns, and near copies of variables."""
    clusters = about_clusters(state.record.row_design, state.record.n)
    for text, doubtful in ((clusters.text, clusters.doubtful), (notice, TREATED_AS_INDEPENDENT in notice)):
        if text:
            yield caution("notice", text, doubtful)
    if state.record.dropped and (state.record.row_design or {}).get("block_length"):
        yield gaps(state.record)
    yield from copies(state)


# --- bootstrap ------------------------------------------------------------------------------------


def bootstrap(boot: Bootstrapped, level: float, sparse: bool = True, loadings: bool = False) -> Fact:
    """Return the fact about the bootstrap of a sparse or dense fit: draws, intervals and selection."""
    has_few = not frames.has_intervals(boot, level)
    values = {"few": has_few, "level": level, "selection": selection_of(boot, sparse), "loadings": loadings}
    return fact("bootstrap", made=draws_made(boot, "draw"), **values)


def selection_of(boot: Bootstrapped, sparse: bool = True) -> str:
    """Return how the variables were selected in each draw, as text."""
    if not boot.select:
        return "given these variables"
    return "variables selected again in each draw" if sparse else "components of all variables"


def of_intervals(state: FitState, boot: Bootstrapped, level: float) -> Iterator[Fact]:
    """Yield the meaning of an interval for a loading, and its assumptions."""
    yield interval_meaning(boot.select, level)
    yield interval_kind(boot, level)
    yield from components_in_doubt(state, boot)


def of_imputations(draws: Bootstrapped) -> Iterator[Fact]:
    """Yield the fact about intervals from multiple imputations."""
    if draws.imputed is not None:
        yield fact("pooled intervals", number=len(draws.imputed))


def interval_meaning(select: bool, level: float = 0.95) -> Fact:
    """Return the meaning of an interval; `select`: whether draws selected the variables again."""
    if not select:
        return fact("intervals given")
    return fact("intervals with selection", share=50 + 50 * level)


def percentile_meaning(select: bool, level: float = 0.95) -> Fact:
    """Return the meaning of a percentile interval; `select`: whether draws selected variables again."""
    if not select:
        return fact("percentiles given")
    return fact("percentiles with selection", share=50 - 50 * level)


def interval_kind(boot: Bootstrapped, level: float = 0.95) -> Fact:
    """Return how intervals of unit loadings are computed."""
    z, share = ndtri(0.5 + level / 2.0), 50 + 50 * level
    return fact("kind of intervals", pooled=boot.imputed is not None, z=z, share=share)


def components_in_doubt(state: FitState, boot: Bootstrapped) -> Iterator[Fact]:
    """Yield a fact about components of the fit that may be noise."""
    number, doubtful = frames.number_found(state, boot), frames.not_found(state, boot)
    if number is None:
        yield fact("component presupposed")
    elif doubtful:
        yield fact("components not found", number=number, names=", ".join(full_names(doubtful)))


def loadings_shown(frame: pd.DataFrame) -> pd.Series:
    """Return which rows of a frame of intervals are shown: nonzero, or zero but often selected, loadings."""
    return (frame["estimate"] != 0) | (frame["selected"] >= OFTEN)


def local_search(boot: Bootstrapped) -> Iterator[Fact]:
    """Yield a fact about draws that were fitted by a local search from the fit."""
    if boot.search == "near":
        yield fact("local search")


def few_draws(boot: Bootstrapped, level: float = 0.95) -> Iterator[Fact]:
    """Yield the Monte Carlo error of the results, if there are few draws."""
    count, minimum = boot.draws, frames.least_draws(level)
    if count < minimum:
        yield fact("too few draws", level=level, least=minimum, done=count)
    elif count < ENOUGH_DRAWS:
        yield fact(
            "few draws",
            done=count,
            error=_percent_error(count),
            share=0.5 / np.sqrt(count),
            error_of_many=_percent_error(COMPARED_DRAWS),
            share_of_many=0.5 / np.sqrt(COMPARED_DRAWS),
        )


def _percent_error(n: int) -> str:
    """Return the relative standard error of a standard deviation over n normal draws, in percent."""
    return f"{100.0 / np.sqrt(2.0 * max(n - 1.0, 1.0)):.0f}"


def held_out(state: FitState, interval: bool) -> Fact:
    """Return the fact about variances in new rows, with their units if variables have unit variances."""
    matrix = not state.record.from_rows and state.has_unit_variances
    return fact("held out", units=bool(state.record.scaling == "sd" or matrix), interval=interval)


def of_bootstrap(state: FitState, boot: Bootstrapped, level: float) -> Iterator[Fact]:
    """Yield the facts for the notes on a bootstrap."""
    if frames.has_intervals(boot, level):
        yield from of_intervals(state, boot, level)
    yield from of_imputations(boot)
    yield from local_search(boot)
    yield from about_rows(state, boot.notice)
    if boot.select:
        yield fact("selected", zeros=False)
    yield from few_draws(boot, level)


# --- stability ------------------------------------------------------------------------------------


def stability(halves: HalfSamples) -> Fact:
    """Return the fact about the fits of halves and the threshold."""
    return fact(
        "stability", halves=len(halves.chosen), made=draws_made(halves, "pair"), threshold=halves.threshold
    )


def not_recovered(state: FitState, halves: HalfSamples) -> Iterator[Fact]:
    """Yield a fact about components of the fit whose scores correlate weakly with the scores in halves."""
    values = frames.similarity(state, halves)
    doubtful_similarities = values[values < RECOVERED]
    if len(doubtful_similarities):
        names = full_names(doubtful_similarities.index)
        texts = [f"{name} {value:.2f}" for name, value in zip(names, doubtful_similarities, strict=True)]
        yield fact("not recovered", values=some_of(texts, 8))


def of_stability(state: FitState, halves: HalfSamples) -> Iterator[Fact]:
    """Yield the facts for the notes on stability."""
    fit_count = len(halves.chosen)
    yield fact("frequency")
    yield from about_rows(state, halves.notice)
    yield from not_recovered(state, halves)
    if fit_count < ENOUGH_HALF_SAMPLES:
        yield fact(
            "few halves",
            halves=fit_count,
            error=0.5 / np.sqrt(fit_count),
            pairs=ENOUGH_HALF_SAMPLES // 2,
            error_of_many=0.5 / np.sqrt(ENOUGH_HALF_SAMPLES),
        )


# --- split inference and tests ----------------------------------------------------------------------


def split_inference(split: Split) -> Fact:
    """Return the fact about the two parts of the rows."""
    selecting, estimating = split.rows
    return fact("split inference", selecting=selecting, estimating=estimating)


def intervals_of_split(split: Split, some_missing: bool) -> Fact:
    """Return what the intervals of split inference are, and why some correlations are missing."""
    return fact("intervals of split", draws=split.draws, missing=some_missing)


def header_of_split(state: FitState, split: Split) -> Iterator[Fact]:
    """Yield the facts of the header of split inference."""
    selecting, estimating = split.rows
    yield fact(
        "rows of split",
        selecting=selecting,
        estimating=estimating,
        again=split.again,
        normal=split.normal,
    )
    interrupted = split.draws != split.asked
    samples = fact("samples made", done=split.draws, asked=split.asked, interrupted=interrupted)
    yield fact("draws of split", made=samples, drawn=split.drawn)
    yield similarity(frames.similarity(state, split))


def of_split(state: FitState, split: Split) -> Iterator[Fact]:
    """Yield the facts for the notes on split inference."""
    yield fact("correlations of split")
    if split.repeats > 1:
        yield fact("p values of splits", repeats=split.repeats)
    yield from about_rows(state, split.notice)
    if split.draws < ENOUGH_DRAWS:
        yield fact(
            "few draws of standard errors",
            done=split.draws,
            error=_percent_error(split.draws),
            error_of_many=_percent_error(COMPARED_DRAWS),
        )


def tests_of_loadings(state: FitState, tested: Tested) -> Fact:
    """Return the fact about permutation tests of loadings, with the number of small q values."""
    frame = frames.tests(state, tested)
    of_nonzero = frame.loc[frame["loading"] != 0, "q_value"]
    counts = {
        "small": int((of_nonzero <= SHOWN_LEVEL).sum()),
        "nonzero": len(of_nonzero),
        "level": SHOWN_LEVEL,
    }
    return fact("tests of loadings", **counts, **_tests(tested))


def header_of_tests(tested: Tested) -> Iterator[Fact]:
    """Yield the facts of the header of tests of loadings."""
    yield from rows_drawn(tested.drawn)
    if tested.signs:
        yield fact("null of signs")
    else:
        groups = bool(tested.drawn) and not tested.drawn.startswith("a sample")
        yield fact("null of groups" if groups else "null of rows")
    yield fact("statistic")
    yield fact("p of tests", **_tests(tested))
    yield fact("q of tests", **_tests(tested))


def _tests(tested: Tested) -> dict[str, object]:
    return {
        "done": tested.draws,
        "asked": tested.asked,
        "interrupted": tested.draws != tested.asked,
        "signs": tested.signs,
        "least": 1 / (tested.draws + 1),
        "procedure": FDR[tested.fdr],
        "tested": int((~np.isnan(tested.p_value)).sum()),
    }


def tests_shown(state: FitState, tested: Tested) -> pd.DataFrame:
    """Return the tests of nonzero loadings, and of zero loadings with a small q."""
    frame = frames.tests(state, tested)
    return frame[_are_shown(frame)]


def _are_shown(frame: pd.DataFrame) -> pd.Series:
    return (frame["loading"] != 0) | (frame["q_value"] <= SHOWN_LEVEL)


def tests_hidden(state: FitState, tested: Tested) -> Iterator[Fact]:
    """Yield the fact that tests were left out by `tests_shown`, if any were."""
    if hidden := int((~_are_shown(frames.tests(state, tested))).sum()):
        yield fact("zero loadings hidden", number=hidden)


def of_tests(state: FitState, tested: Tested) -> Iterator[Fact]:
    """Yield the facts for the notes on tests of loadings."""
    yield fact("meaning of q")
    yield from tests_hidden(state, tested)
    yield from few_permutations(state, tested)
    yield from about_rows(state, tested.notice)


def few_permutations(state: FitState, tested: Tested) -> Iterator[Fact]:
    """Yield a fact if there are too few permutations for any q value to be small."""
    count = int((~np.isnan(tested.p_value)).sum())
    smallest = int(is_smallest_p(tested.p_value, tested.draws).sum())
    times = np.sum(1.0 / np.arange(1, count + 1)) if tested.fdr == "fdr_by" else 1.0
    limit = np.nanmin(tested.q_value) if count else 0.0
    if smallest and limit > SHOWN_LEVEL:
        yield fact(
            "few permutations",
            done=tested.draws,
            tested=count,
            limit=limit,
            smallest=smallest,
            needed=int(np.ceil(times * count / (smallest * SHOWN_LEVEL))) - 1,
            level=SHOWN_LEVEL,
        )
