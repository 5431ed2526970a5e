"""Coverage of intervals for loadings and variances, and of intervals of falsely selected variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import STRONG, WEAK, Model, generator
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.assess.refit import align
from spcastat.linalg.operators import Gram

#: Draws of each bootstrap.
DRAWS = 200
MODELS = {**STRONG, **WEAK}
SELECTED = ("nonzero", "falsely selected", "variance")
GIVEN = ("fixed: nonzero", "fixed: falsely selected", "fixed: variance", "split: target", "split: false")


def intervals(call: Call) -> Table:
    """Return the coverage of nominal 95 % intervals, with variables selected again in every draw."""
    table = Table("Intervals with selection: coverage of nominal 95 %", ["model", *SELECTED, "data sets"])
    _fill(table, call, "intervals", _selected, SELECTED)
    table.notes.append(
        f"The default method at the true cardinalities, {DRAWS} draws. Each data set counts "
        "once: the share of its loadings (or components) whose interval contains the true value. nonzero: "
        "true nonzero loadings; loadings without an interval count as missed. Falsely selected: nonzero in "
        "the fit and zero in truth (data sets without any do not count). variance: v'Sv of the true "
        "component."
    )
    return table


def without_selection(call: Call) -> Table:
    """Return the coverage for given variables, and for variables chosen on one half."""
    table = Table("Intervals for given variables, and after a split", ["model", *GIVEN, "data sets"])
    _fill(table, call, "given", _given, GIVEN)
    table.notes.append(
        f"{DRAWS} draws. fixed: select=False, percentile intervals. split: intervals from one half for the "
        "correlation of each variable, chosen on the other half, with the score of the other chosen ones; "
        "false: the share of intervals of falsely selected variables that contain zero."
    )
    return table


def _fill(table: Table, call: Call, name: str, judge: Any, columns: tuple[str, ...]) -> None:
    def one(model: str, number: int) -> Measured:
        planted = MODELS[model]
        fit = sp.spca(planted.draw(generator(model, number)), planted.k, card=list(planted.cards))
        truth = align(planted.loadings, fit.loadings.to_numpy(), Gram(planted.covariance)).V
        judged = judge(fit, truth, planted, number)
        return {what: float(np.mean(values)) for what, values in judged.items() if len(values)}

    for model, found in call.measured(name, MODELS, one).items():
        table.rows.append([model, *shares(found, columns)])


def _selected(fit: Any, truth: np.ndarray, model: Model, number: int) -> dict[str, np.ndarray]:
    return _covered(fit.bootstrap(DRAWS, rng=number), fit, truth, model)


def _given(fit: Any, truth: np.ndarray, model: Model, number: int) -> dict[str, np.ndarray]:
    given = fit.bootstrap(DRAWS, select=False, rng=number)
    fixed = _covered(given, fit, truth, model, "percentile")
    found = {f"fixed: {what}": values for what, values in fixed.items()}
    split = fit.split_inference(DRAWS, rng=number).conf_int()
    target = _target(split, fit, model.covariance)
    found["split: target"] = ((split["lower"] <= target) & (target <= split["upper"])).to_numpy()
    false = _truth_of(split, fit, truth) == 0
    found["split: false"] = ((split["lower"] <= 0) & (split["upper"] >= 0)).to_numpy()[false]
    return found


def _covered(
    found: Any, fit: Any, truth: np.ndarray, model: Model, kind: str = "normal"
) -> dict[str, np.ndarray]:
    frame = found.conf_int(kind=kind)
    true = _truth_of(frame, fit, truth)
    holds = ((frame["lower"] <= true) & (true <= frame["upper"])).to_numpy()
    missing = int((truth != 0).sum()) - int((true != 0).sum())
    zero = ((frame["lower"] <= 0) & (frame["upper"] >= 0)).to_numpy()
    variances = found.variance_ci(kind=kind)
    values = np.diag(truth.T @ model.covariance @ truth)
    inside = (variances["lower"] <= values) & (values <= variances["upper"])
    return {
        "nonzero": np.concatenate([holds[true != 0], np.zeros(missing)]),
        "falsely selected": zero[(true == 0) & (frame["estimate"] != 0).to_numpy()],
        "variance": inside.to_numpy(),
    }


def _truth_of(frame: pd.DataFrame, fit: Any, truth: np.ndarray) -> np.ndarray:
    rows = fit.loadings.index.get_indexer(frame["term"])
    return truth[rows, fit.components.get_indexer(frame["component"])]


def _target(frame: pd.DataFrame, fit: Any, covariance: np.ndarray) -> np.ndarray:
    """Return the true correlations of the chosen variables with the scores of the others."""
    target = np.empty(len(frame))
    for _, part in frame.groupby("component"):
        rows = fit.loadings.index.get_indexer(part["term"])
        S, w = covariance[np.ix_(rows, rows)], part["loading"].to_numpy()
        for i, at in enumerate(frame.index.get_indexer(part.index)):
            u = np.where(np.arange(len(w)) == i, 0.0, w)
            target[at] = S[i] @ u / np.sqrt(S[i, i] * (u @ S @ u)) if u.any() else np.nan
    return target
