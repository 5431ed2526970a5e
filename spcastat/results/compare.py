"""Comparison of fits: sizes, measures, agreement, errors of held-out rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.linalg import subspace_angles

from spcastat import plots
from spcastat.arguments import MOST_FOLDS, explained, flag, listed, plural, seed_of, shown, whole_number
from spcastat.assess.cross_validation import Errors, held_out
from spcastat.assess.folds import divided
from spcastat.assess.samples import plan_of, refit_of
from spcastat.errors import ComponentsError, FormulaError, NoRowsError, OptionError, ShapeError
from spcastat.fit import frames
from spcastat.fit.record import deep_copy
from spcastat.fit.state import SAME_MOMENTS, joint_gap
from spcastat.inputs.data import Data
from spcastat.labels import flat_labels, full_names, name_text
from spcastat.linalg.eigenvectors import orthonormalise
from spcastat.measures import MEASURES, best_order, cumulative_adjusted, measures_of
from spcastat.progress import listening, workers
from spcastat.results.fit import SpcaResult
from spcastat.results.resampling import original_data
from spcastat.search.objectives import OBJECTIVES, provable
from spcastat.show.grid import Document, Row, Table, fixed, fixed_values, number_rows, percent
from spcastat.show.renderings import (
    SPACES_BETWEEN,
    WIDTH,
    Outcome,
    Screen,
    ending,
    render_tables,
    screen_of,
    short_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.hints import Progress, Rng, Rows
    from spcastat.linalg.operators import Operator
    from spcastat.results.fit import SpcaResult
    from spcastat.show.grid import Document


#: Largest number of components whose cardinalities are in the name of a fit.
NAMED_CARDS = 6
#: Label of the row of objectives, and heading of the rows of cardinalities.
MAXIMISED, CARDINALITY = "Maximised", "Cardinality"
#: The largest number of fits that a print shows in columns; with more fits there is a row for each.
FITS_IN_COLUMNS = 4
#: The definitions of the columns of a print with one row per fit.
UPRIGHT = (
    "Adjusted (shared variance counted once), PEV (projection on the loadings), LS (regression on the "
    "scores) and PCA (dense): % of the total variance.",
    "|r|: largest correlation of two scores.",
    "Agree, angle: mean Jaccard index of the sets of variables with nonzero loadings, and largest principal "
    "angle in degrees, both with the first fit.",
)
#: Label of the row that contains all cardinalities, in prints with a single row for them.
CARDINALITIES = "Cardinalities"
#: Label of the row of nonzeros, and heading of the rows of held-out errors.
NONZEROS, HELD_OUT_ERROR = "Nonzeros", "Held-out error"
#: The definition of held-out errors.
HELD_OUT_DEFINITION = "mean squared error of predicted cells (1: by column means)"
#: Heading and labels of the rows that compare each fit with the first.
WITH_FIRST, AGREEMENT, ANGLE = "Compared with the first fit", "Agreement", "Angle, degrees"
#: Columns of the held-out errors in the table of measures, and their labels.
HELD_OUT = {
    "held_out": "Error",
    "held_out_se": "Standard error",
    "held_out_excess": "Above the smallest",
    "held_out_excess_se": "Its standard error",
}


class Comparison(Outcome):
    """Several fits side by side, the result of `compare`; prints as text and shows as HTML in a notebook."""

    _short_name = "comparison"

    def __init__(
        self,
        measures: pd.DataFrame,
        cardinality: pd.DataFrame,
        agreement: pd.DataFrame,
        angles: pd.DataFrame,
        matches: pd.DataFrame,
        adjusted_on: pd.DataFrame,
        remarks: Sequence[str],
        objectives: Sequence[str],
    ) -> None:
        self._measures, self._cardinality, self._remarks = measures, cardinality, remarks
        self._objectives = objectives
        self._agreement, self._angles, self._matches = agreement, angles, matches
        self._adjusted_on = adjusted_on

    def _document(self) -> Document:
        tables = self._measures, self._cardinality, self._agreement, self._angles, self._adjusted_on
        return _document(*tables, self._remarks, self._objectives)

    def _screen(self) -> Screen:
        """Return the print: measures and comparisons with the first fit, in fewer rows if necessary."""
        document = self._document()
        end = ending(self._short_name, document.sentences)
        rows_of_fits = _upright(self._measures, self._agreement, self._angles)
        upright = screen_of(
            replace(document, tables=(rows_of_fits,), print_notes=_meaning_of_columns(self._measures)), end
        )
        if len(self._measures) > FITS_IN_COLUMNS:
            return upright
        measures = document.tables[0]
        table = replace(measures, rows=(*measures.rows, *_next_to_first(self._agreement, self._angles)))
        with_one_row_of_cards = partial(_in_fewer_rows, card=self._cardinality)
        for shortened in (with_one_row_of_cards, _without_functions_of_others, _errors_in_brackets):
            table = shortened(table)
            definitions = tuple(_definitions({row.label for row in table.rows}))
            screen = screen_of(replace(document, tables=(table,), print_notes=definitions), end)
            if screen.is_complete():
                return screen
        return upright

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "measures", "cardinality", "agreement", "angles", "matches" and "adjusted_on"."""
        return {
            "measures": self.measures,
            "cardinality": self.cardinality,
            "agreement": self.agreement,
            "angles": self.angles,
            "matches": self.matches,
            "adjusted_on": self.adjusted_on,
        }

    @property
    def measures(self) -> pd.DataFrame:
        """One row per fit.

        The columns are method, k, nonzeros, variables used, all measures, dense PCA's share ("pca"), gaps to
        the bounds of joint proofs in percent ("gap_pev" and so on; NaN without a proof), the largest
        correlation of scores, the total variance, and whether the fit converged. With `held_out` there are
        also the error "held_out", its standard error "held_out_se", its excess over the smallest error,
        "held_out_excess", and the standard error of this excess, paired by fold.
        """
        return deep_copy(self._measures)

    @property
    def cardinality(self) -> pd.DataFrame:
        """Nonzeros, fits x components."""
        return deep_copy(self._cardinality)

    @property
    def agreement(self) -> pd.DataFrame:
        """The mean Jaccard index of the supports, fits x fits.

        Components are matched so that the mean is largest; a component without a match counts as zero.
        """
        return deep_copy(self._agreement)

    @property
    def angles(self) -> pd.DataFrame:
        """The largest principal angle between the spans of the loadings, fits x fits, in degrees."""
        return deep_copy(self._angles)

    @property
    def matches(self) -> pd.DataFrame:
        """The matched components of each pair of fits.

        The columns are "fit", "other", "component", "matched", "jaccard" (the Jaccard index of the supports)
        and "cosine" (the absolute cosine between the loadings).
        """
        return deep_copy(self._matches)

    @property
    def adjusted_on(self) -> pd.DataFrame:
        """Adjusted variances of the loadings of each fit on the data of other fits, as shares of their total.

        The frame (fits x data) is computed if only some fits used ``robust=``. The columns are named after
        the first fit of the original rows, and the first fit of each kind of cleaned rows; components are in
        their best order. There are no columns without robust fits, or if a fit was read from a file and has
        no data.
        """
        return deep_copy(self._adjusted_on)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw each share of variance of each fit as a point, and held-out errors with one standard error.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        return plots.plot_compare(self._measures, ax=ax)


@explained
def compare(
    fits: SpcaResult | Mapping[str, SpcaResult],
    *others: SpcaResult,
    held_out: bool = False,
    folds: int = 5,
    repeats: int = 1,
    data: Rows | None = None,
    rng: Rng = None,
    n_jobs: int = 1,
    progress: Progress = None,
) -> Comparison:
    """Compare fits of the same variables.

    Components are matched by their supports, ignoring order and sign.

    Parameters
    ----------
    fits : SpcaResult, or mapping of str to SpcaResult
        The first of two or more fits, or a mapping from the names used in the tables to all fits. Fits from a
        file are accepted.
    *others : SpcaResult
        The other fits, if the first is given by itself. Fits are named by their methods and cardinalities,
        such as "joint 4, 4", and numbered if these are equal.
    held_out : bool
        Whether to compute cross-validated errors: each fit is repeated without each fold of the rows, and
        every cell of the fold is predicted from the other cells of its row, as in :func:`spcastat.choose`.
        All fits use the same folds.
    folds, repeats : int
        Number of folds (5 by default), and of repeated divisions into folds (1 by default).
    data : optional
        The rows, for held-out errors of fits from a file.
    rng : None, int or numpy Generator
        Seed of the folds; None uses a fixed seed.
    n_jobs : int
        Number of processes among which folds are distributed; -1 for all processors.
    progress : bool or callable, optional
        As for :func:`spcastat.spca`.

    Returns
    -------
    Comparison
        It has the tables `measures`, `cardinality`, `agreement`, `angles`, `matches` and `adjusted_on`, and a
        `plot()`. For robust fits, `adjusted_on` compares all loadings on the original and on the cleaned
        rows.

    Raises
    ------
    OptionError
        If fewer than two fits, or other objects than fits, are given.
    ShapeError
        If fits have different variables or, with `held_out`, different rows or weights.
    NoRowsError
        With `held_out`, for fits of a covariance matrix, and for fits from a file without `data`.

    Notes
    -----
    Refits start from the fit to all rows and from PCA, with the cardinalities or penalties of the call.
    Settings that were chosen with all rows are not chosen again without each fold, so the errors of such fits
    are slightly too small.

    Examples
    --------
    >>> import spcastat as sp
    >>> R = sp.datasets.load_pitprops()
    >>> both = sp.compare({"l0": sp.spca_cov(R, 2, 5), "greedy": sp.spca_cov(R, 2, 5, method="greedy")})
    >>> list(sp.compare(sp.spca_cov(R, 2, 5), sp.spca_cov(R, 2, 4)).agreement)
    ['joint 5, 5', 'joint 4, 4']
    >>> float(both.agreement.loc["l0", "l0"])
    1.0
    """
    fits = _by_name(fits, others)
    held_out = flag("held_out", held_out)
    settings = whole_number("folds", folds, 2, MOST_FOLDS), whole_number("repeats", repeats, 1, MOST_FOLDS)
    seed, shared = seed_of(rng), workers(n_jobs)
    unused = {"data": data is not None, "folds": folds != 5, "repeats": repeats != 1, "rng": rng is not None}
    if not held_out and any(unused.values()):
        name = next(name for name, is_given in unused.items() if is_given)
        raise OptionError(
            f"{name} was given to compare() without held_out=True, but it affects only held-out errors."
        )
    loadings = _aligned(fits)
    names = list(fits)
    measures = pd.DataFrame([_measures(fit) for fit in fits.values()], index=names)
    remarks: list[str] = []
    cleaned = [name for name, fit in fits.items() if any(fit._state.cleaned.values())]
    with listening(progress):
        if held_out:
            errors, remarks = held_out_errors(fits, data, *settings, seed, shared)
            measures = measures.join(errors)
    columns, matches = ["fit", "other", "component", "matched", "jaccard", "cosine"], []
    agreement, angles = (pd.DataFrame(np.diag(np.full(len(names), _)), names, names) for _ in (1.0, 0.0))
    for a, b in combinations(names, 2):
        match = _matched(a, b, loadings[a], loadings[b])
        shared_supports = sum(row[4] for row in match) / max(loadings[a].shape[1], loadings[b].shape[1])
        agreement.loc[a, b] = agreement.loc[b, a] = shared_supports
        matches += match
        spans = [orthonormalise(loadings[_].to_numpy())[0] for _ in (a, b)]
        angle = subspace_angles(*(Q[:, Q.any(axis=0)] for Q in spans)).max()
        angles.loc[a, b] = angles.loc[b, a] = float(np.rad2deg(angle))
    cardinality = pd.DataFrame({name: fit.card for name, fit in fits.items()}).T.astype("Int64")
    matches_table, crossed = pd.DataFrame(matches, columns=columns), _adjusted_on(fits, loadings)
    if cleaned:
        remarks = [f"The variances of {listed(cleaned)} refer to cleaned data.", *remarks]
    objectives = [_objective(fit) for fit in fits.values()]
    return Comparison(measures, cardinality, agreement, angles, matches_table, crossed, remarks, objectives)


# --- names --------------------------------------------------------------------------------------


def _by_name(first_fit: Any, further_fits: tuple[Any, ...]) -> dict[str, SpcaResult]:
    """Return the fits that `compare` was given, by name."""
    if isinstance(first_fit, Mapping) and not further_fits:
        fits = dict(first_fit)
    else:
        all_fits = [first_fit, *further_fits]
        for number, fit in enumerate(all_fits, start=1):
            if not isinstance(fit, SpcaResult):
                raise OptionError(
                    f"Argument {number} of compare() is of type {type(fit).__name__}; give fits, as in "
                    'compare(fit, other), or fits by name, as in compare({"l0": fit, "l1": other}).'
                )
        fits = dict(zip(_names(all_fits), all_fits, strict=True))
    if len(fits) < 2:
        raise OptionError(f"compare() was given {plural(len(fits), 'fit')}; give two or more.")
    for name, fit in fits.items():
        if not isinstance(fit, SpcaResult):
            raise OptionError(
                f"{shown(name)} is of type {type(fit).__name__}; give fits of spca or spca_cov."
            )
    return fits


def _names(fits: Sequence[SpcaResult]) -> list[str]:
    """Return a name for each fit: its method and cardinalities, and options if another fit has the same.

    Fits with the same options are numbered.
    """
    names: list[str] = []
    short = [_method_and_sizes(fit) for fit in fits]
    for fit, short_name in zip(fits, short, strict=True):
        options_of_alike = [
            _telling_options(alike) for alike, name in zip(fits, short, strict=True) if name == short_name
        ]
        columns = zip(_telling_options(fit), *options_of_alike, strict=True)
        differing = [text for text, *texts in columns if len(set(texts)) > 1]
        name = f"{short_name}, {', '.join(filter(None, differing))}" if any(differing) else short_name
        repeats = sum(label == name or label.startswith(f"{name} (") for label in names)
        names.append(f"{name} ({repeats + 1})" if repeats else name)
    return names


def _method_and_sizes(fit: SpcaResult) -> str:
    """Return the method and the cardinalities of a fit."""
    cards = fit.card.tolist()
    sizes = ", ".join(map(str, cards)) if len(cards) <= NAMED_CARDS else plural(sum(cards), "nonzero")
    return f"{fit.method} {sizes}"


def _telling_options(fit: SpcaResult) -> tuple[str, ...]:
    """Return the options that distinguish a fit from others of its method; "" for options that it lacks."""
    record, options = fit._state.record, fit._state.record.options
    return (
        _objective(fit),
        "nonneg" if options.get("nonneg") else "",
        str(options.get("constraint") or ""),
        "scaled" if record.scaling == "sd" else "unscaled" if record.scaling == "none" else "",
        "robust" if fit._state.cleaning is not None else "",
    )


def _objective(fit: SpcaResult) -> str:
    """Return the measure that a fit maximised, or "" if its method has no such option."""
    objective = OBJECTIVES.get(str(fit._state.record.options.get("objective")))
    return "" if objective is None else objective.label.removesuffix(" variance")


# --- numbers ------------------------------------------------------------------------------------


def _aligned(fits: Mapping[str, SpcaResult]) -> dict[str, pd.DataFrame]:
    """Return the loadings of every fit with the variables in the order of the first fit."""
    first_name = next(iter(fits))
    first_columns = fits[first_name]._state.spec.columns
    aligned = {}
    for name, fit in fits.items():
        loadings = frames.loadings(fit._state)
        labels, columns = flat_labels(loadings.index), flat_labels(first_columns)
        if len(labels) != len(columns) or not labels.isin(columns).all():
            lacking, additional = columns[~columns.isin(labels)], labels[~labels.isin(columns)]
            differences = [
                f"{listed(names, 4)} only in {shown(fit_name)}"
                for names, fit_name in ((lacking, first_name), (additional, name))
                if len(names)
            ]
            raise ShapeError(
                f"The fits {shown(first_name)} and {shown(name)} have different variables, {len(columns)} "
                f"and {len(labels)}: {' and '.join(differences)}. Compare fits of the same variables."
            )
        same_order = labels.equals(columns)
        aligned[name] = loadings if same_order else loadings.iloc[labels.get_indexer(columns)]
    return aligned


def _measures(fit: SpcaResult) -> dict[str, Any]:
    numbers = frames.facts(fit._state)
    return {
        **{name: numbers[name] for name in ("method", "k", "nonzeros", "variables", *MEASURES)},
        "pca": float(fit.variance["cumulative PCA"].iloc[-1]),
        **{f"gap_{name}": joint_gap(fit._state, name) for name in provable()},
        **{name: numbers[name] for name in ("score_correlation", "total_variance", "converged")},
    }


def _matched(a: str, b: str, first: pd.DataFrame, second: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Match components by the Jaccard index of their supports, and ties by their cosine."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    V, W = first.to_numpy(), second.to_numpy()
    A, B = (V != 0).astype(float), (W != 0).astype(float)
    shared = A.T @ B
    union = A.sum(axis=0)[:, None] + B.sum(axis=0) - shared
    jaccard = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    cosine = np.abs(V.T @ W)
    rows, columns = linear_sum_assignment(jaccard + 1e-6 * cosine, maximize=True)
    return [
        (a, b, first.columns[i], second.columns[j], float(jaccard[i, j]), float(cosine[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def _adjusted_on(fits: Mapping[str, SpcaResult], loadings: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return adjusted variances on the original and on the cleaned rows; see `Comparison.adjusted_on`."""
    data: dict[Any, tuple[str, Data]] = {}
    for name, fit in fits.items():
        cleaning, source = fit._state.cleaning, fit._source
        if source is not None and source.holds_scores:
            data.setdefault(
                None if cleaning is None else (cleaning.option, cleaning.components), (name, source)
            )
    if not any(data):  # no robust fit
        data = {}
    shares = {
        column: [_adjusted_share(V.loc[source.columns].to_numpy(), source.op) for V in loadings.values()]
        for column, source in data.values()
    }
    return pd.DataFrame(shares, index=list(fits), dtype=float)


def _adjusted_share(V: np.ndarray, op: Operator) -> float:
    """Return the adjusted variance of loadings as a share of the total variance, in their best order."""
    order = best_order(V.T @ op.dot(V))
    return float(cumulative_adjusted(V[:, order], op)[-1])


# --- text ---------------------------------------------------------------------------------------


def _document(
    measures: pd.DataFrame,
    card: pd.DataFrame,
    agreement: pd.DataFrame,
    angles: pd.DataFrame,
    adjusted_on: pd.DataFrame,
    remarks: Sequence[str],
    objectives: Sequence[str],
) -> Document:
    names = list(measures.index)
    headings = tuple(full_names(names))
    rows = [
        Row("Method", tuple(measures["method"])),
        *[Row(MAXIMISED, tuple(objectives))] * any(objectives),
        Row(NONZEROS, tuple(f"{count:,}" for count in measures["nonzeros"])),
        Row("Variables used", tuple(f"{count:,}" for count in measures["variables"])),
    ]
    # with more than eight components there is no row per component
    if card.shape[1] <= 8:
        rows += [
            Row(label, tuple("" if pd.isna(count) else f"{count:,}" for count in card[name]), CARDINALITY)
            for label, name in zip(full_names(card.columns), card.columns, strict=True)
        ]
    else:
        rows.insert(1 + any(objectives), Row("Components", tuple(str(k) for k in measures["k"])))
    rows += [
        Row(label, tuple(map(percent, measures[name])), "% of total variance")
        for name, label in [
            *((measure.name, measure.label) for measure in measures_of("total")),
            ("pca", "PCA (dense)"),
        ]
    ]
    rows += [
        Row(measure.label, tuple(map(percent, measures[measure.name]))) for measure in measures_of("pca")
    ]
    if "held_out" in measures:
        rows += [
            Row(label, fixed_values(_as_printed(measures, name), ERROR_DECIMALS), HELD_OUT_ERROR)
            for name, label in HELD_OUT.items()
        ]
    rows += [Row(measure.label, fixed_values(measures[measure.name], 4)) for measure in measures_of("error")]
    heading = "Adjusted, % of total, on the data of"
    rows += [
        Row(name_text(name), tuple(map(percent, adjusted_on[name])), heading) for name in adjusted_on.columns
    ]
    gaps = "Gap to the proven bound"
    rows += [
        Row(
            f"{OBJECTIVES[name].label}, %",
            tuple("" if np.isnan(gap) else f"{gap:.3f}" for gap in gap_values),
            gaps,
        )
        for name, gap_values in ((name, measures[f"gap_{name}"]) for name in provable())
        if gap_values.notna().any()
    ]
    correlations = zip(measures["k"], measures["score_correlation"], strict=True)
    cells = tuple(fixed(r, 2) if k > 1 else "" for k, r in correlations)
    rows.append(Row("Largest score |r|", cells))
    notes = [
        "PEV: share reproduced by projection on the loadings; RRE, its error: the square root of 1 - PEV. "
        "Least squares: share explained by regression on the scores.",
        "Agreement: mean Jaccard index of the supports (the variables with nonzero loadings); components are "
        "matched without regard to order and sign. Angle: the largest principal angle between the spans of "
        "the loadings.",
    ]
    if "held_out" in measures:
        notes.append(
            "Held-out error: mean squared error of cells that are predicted from the other cells of their "
            "row by fits to the rows of the other folds, relative to predictions by the column means. "
            "Differences are paired by fold; small differences are meaningless if there are few folds."
        )
    alerts = list(remarks)
    missed = [name_text(name) for name in names if not measures.loc[name, "converged"]]
    if missed:
        alerts.append(f"Not converged: {', '.join(missed)}.")
    totals = measures["total_variance"]
    if totals.max() > totals.min() * (1 + 1e-8):
        alerts.append(
            "The data of the fits have different total variances; shares refer to the total of each fit."
        )
    tables = (
        Table("Fit", headings, tuple(rows)),
        Table(AGREEMENT, headings, number_rows(agreement, 2)),
        Table(ANGLE, headings, number_rows(angles, 1)),
    )
    return Document(
        f"Comparison of {len(names)} fits",
        (),
        tables,
        (*notes, *alerts),
        alerts=tuple(alerts),
    )


#: Decimals of held-out errors.
ERROR_DECIMALS = 4


def _as_printed(measures: pd.DataFrame, name: str) -> pd.Series:
    """Return a column of held-out errors; differences are those of the rounded errors."""
    if name != "held_out_excess":
        return measures[name]
    errors = measures["held_out"].round(ERROR_DECIMALS)
    return errors - errors.min()


# --- the table of a print --------------------------------------------------------------------------


def _next_to_first(agreement: pd.DataFrame, angles: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows that compare every fit with the first fit."""
    yield Row(AGREEMENT, fixed_values(agreement.iloc[0], 2), WITH_FIRST)
    yield Row(ANGLE, fixed_values(angles.iloc[0], 1), WITH_FIRST)


def _definitions(labels: Collection[str]) -> Iterator[str]:
    """Yield the definitions of the measures in the rows with these labels."""
    if any(label.startswith((HELD_OUT["held_out"], HELD_OUT_ERROR)) for label in labels):
        yield f"{HELD_OUT_ERROR}: {HELD_OUT_DEFINITION}."
    yield "Adjusted: variance of the scores, shared variance counted once."
    error = "; its error RRE: square root of 1 - PEV" if "RRE" in labels else ""
    yield f"PEV: projection on the loadings{error}."
    yield "Least squares: regression on the scores."
    yield "Agreement: mean Jaccard index of the variables; angle: largest principal angle."


def _meaning_of_columns(measures: pd.DataFrame) -> tuple[str, ...]:
    """Return the definitions of the columns of `_upright`, and the standard errors of differences."""
    if "held_out" not in measures:
        return UPRIGHT
    standard_errors = measures["held_out_excess_se"][measures["held_out_excess"] > 0]
    ends = dict.fromkeys(fixed(value, 3) for value in (standard_errors.min(), standard_errors.max()))
    spread = f"; standard errors of differences from the smallest: {' to '.join(ends)}"
    return (*UPRIGHT, f"Error, held out: {HELD_OUT_DEFINITION}{spread * (not standard_errors.empty)}.")


def _upright(measures: pd.DataFrame, agreement: pd.DataFrame, angles: pd.DataFrame) -> Table:
    """Return a table with one row per fit, for prints of many fits."""
    columns = {
        "nonzeros": tuple(map(str, measures["nonzeros"])),
        "adjusted": tuple(map(percent, measures["adjusted"])),
        "PEV": tuple(map(percent, measures["pev"])),
        "LS": tuple(map(percent, measures["least_squares"])),
        "PCA": tuple(map(percent, measures["pca"])),
        **({"error": fixed_values(measures["held_out"], 3)} if "held_out" in measures else {}),
        "|r|": fixed_values(measures["score_correlation"], 2),
        "agree": fixed_values(agreement.iloc[0], 2),
        "angle": fixed_values(angles.iloc[0], 1),
    }
    widths = [max(map(len, (heading, *cells))) for heading, cells in columns.items()]
    names = short_labels(full_names(measures.index), WIDTH - sum(widths) - SPACES_BETWEEN * len(widths))
    lines = zip(names, zip(*columns.values(), strict=True), strict=True)
    return Table("Fit", tuple(columns), tuple(Row(name, cells) for name, cells in lines))


def _in_fewer_rows(table: Table, card: pd.DataFrame) -> Table:
    """Return the table of measures with one row for cardinalities, and one for methods and objectives.

    Objectives remain in a separate row if the columns would otherwise be too wide to fit side by side.
    """
    rows = list(table.rows)
    groups = [row.group for row in rows]
    if CARDINALITY in groups:  # there are no such rows if there are many components
        cards = tuple(", ".join(f"{count:,}" for count in counts.dropna()) for _, counts in card.iterrows())
        place, end = groups.index(CARDINALITY), len(groups) - groups[::-1].index(CARDINALITY)
        rows[place:end] = [Row(CARDINALITIES, cards)]
    table = replace(table, rows=tuple(rows))
    methods, objectives, *other_rows = rows
    if objectives.label != MAXIMISED:
        return table
    cells = (", ".join(filter(None, pair)) for pair in zip(methods.cells, objectives.cells, strict=True))
    merged = replace(table, rows=(replace(methods, cells=tuple(cells)), *other_rows))
    # a table that is too wide is printed in parts, separated by blank lines
    has_room = "" not in render_tables(Document("", tables=(merged,)), WIDTH)
    return merged if has_room else table


def _without_functions_of_others(table: Table) -> Table:
    """Return the table without rows that other rows imply: sums of cardinalities, RRE, and % of PCA."""
    redundant = {measure.label for measure in measures_of("pca", "error")}
    redundant |= {NONZEROS} if CARDINALITIES in [row.label for row in table.rows] else set()
    return replace(table, rows=tuple(row for row in table.rows if row.label not in redundant))


def _errors_in_brackets(table: Table) -> Table:
    """Return the table with the standard errors in brackets after the held-out errors."""
    rows = [row for row in table.rows if row.group != HELD_OUT_ERROR]
    errors = [row for row in table.rows if row.group == HELD_OUT_ERROR]
    place = table.rows.index(errors[0]) if errors else 0
    rows[place:place] = [
        Row(
            f"{value.label} (s.e.)",
            tuple(f"{cell} ({error})" for cell, error in zip(value.cells, spread.cells, strict=True)),
            HELD_OUT_ERROR,
        )
        for value, spread in zip(errors[::2], errors[1::2], strict=True)
    ]
    return replace(table, rows=tuple(rows))


# --- held-out errors -----------------------------------------------------------------------------


def held_out_errors(
    fits: Mapping[str, SpcaResult], data: Any, folds: int, repeats: int, seed: int, n_jobs: int
) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns HELD_OUT, one row per fit, and remarks on the rows.

    Errors are relative to the errors of the column means.

    Parameters
    ----------
    fits : mapping of str to SpcaResult
    data : object
        The rows, for fits from a file.
    folds, repeats, seed, n_jobs : int

    Raises
    ------
    NoRowsError
        For a fit of a covariance matrix.
    ShapeError
        If fits have different rows or weights.
    ComponentsError
        If a fit has as many components as variables.
    FormulaError
        For a fit from a file whose formula is estimated from rows.
    """
    first_name = next(iter(fits))
    rows = {name: fit._state.record.n for name, fit in fits.items()}
    for name, n in rows.items():
        if None not in (n, rows[first_name]) and n != rows[first_name]:  # fits without rows are refused below
            raise ShapeError(
                f"The fits {shown(first_name)} and {shown(name)} have {rows[first_name]} and {n} rows; "
                "held-out errors can be compared only on the same rows."
            )
    sources = {name: _data_of_fit(name, fit, data) for name, fit in fits.items()}
    _require_same_rows(sources)
    pairs = [_errors(fit, sources[name], folds, repeats, seed, n_jobs) for name, fit in fits.items()]
    errors, remarks = zip(*pairs, strict=True)
    weight = errors[0].weight
    relative = np.concatenate([fit_errors.relative for fit_errors in errors], axis=2)
    joint = Errors(relative * weight[:, :, None], weight, weight)  # relative to the error of the column means
    excess, spread = joint.excess(int(np.argmin(joint.error)))
    values = np.column_stack([joint.error, joint.spread(joint.relative), excess, spread])
    frame = pd.DataFrame(values, index=list(fits), columns=list(HELD_OUT))
    return frame, [remark for remark in dict.fromkeys(remarks) if remark]


def _data_of_fit(name: str, fit: SpcaResult, data: Any) -> Data:
    """Return the data of one fit."""
    state = fit._state
    p, k = state.V.shape
    if not state.record.from_rows:
        raise NoRowsError(
            f"The fit {shown(name)} was fitted to a covariance matrix, whose rows cannot be held out; fit "
            "the rows, or leave held_out out."
        )
    if k >= p:
        raise ComponentsError(
            f"The fit {shown(name)} has {k} components of {p} variables, which leave no residual variance; "
            "compare fits with fewer components."
        )
    has = fit._source is not None
    return original_data(state, fit._source, None if has else data, "compare()")


def _require_same_rows(sources: Mapping[str, Data]) -> None:
    """Raise ShapeError unless all fits have the same rows, in the same order, with the same weights."""
    first_name, *other_names = sources
    if len({(data.out_of_core, data.distributed) for data in sources.values()}) > 1:
        raise ShapeError(
            "Some fits have rows in memory, others rows in chunks or on workers, for which folds are "
            "assigned differently. Fit all of them to the same source."
        )
    columns = sources[first_name].columns
    first_sums = sources[first_name].fingerprint(columns)
    for name in other_names:
        sums = sources[name].fingerprint(columns)
        if not all(
            a.shape == b.shape and np.allclose(a, b, rtol=SAME_MOMENTS, atol=0.0, equal_nan=True)
            for a, b in zip(first_sums, sums, strict=True)
        ):
            raise ShapeError(
                f"The fits {shown(first_name)} and {shown(name)} have different rows, the same rows in "
                "another order, or different weights; held-out errors are paired by row. Fit both to "
                "the same rows."
            )


def _errors(
    fit: SpcaResult, data: Data, folds: int, repeats: int, seed: int, n_jobs: int
) -> tuple[Errors, str]:
    """Return the errors of one fit, and remarks on dependent rows and constant variables."""
    state = fit._state
    k = state.V.shape[1]
    plan = plan_of(state)
    if fit._source is None and data.spec.learns and not data.estimates_terms:
        raise FormulaError(
            f"The terms and covariates of formula={shown(data.spec.formula)} are estimated from rows, but "
            "a fit from a file cannot estimate them again without a fold; fit again."
        )
    rows = data.in_memory(seed).rows("compare()")
    rank = rows.reading.k_em
    if rows.missing is not None:
        rank = rows.missing.as_record.get("rank")
    if rows.estimates_terms:
        rows.require_unchanged()
    parts = divided(rows, folds, repeats, seed=seed, k=k, rank=rank, keep_rows=bool(plan.rows_for))
    errors = held_out(parts, refit_of(state, plan, starts="alone"), seed=seed, n_jobs=n_jobs)
    return errors, " ".join(filter(None, (rows.remark().text, parts.remark)))
