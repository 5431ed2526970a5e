"""Coverage of intervals for loadings and variances, and of intervals of falsely selected variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.data import correlation
from benchmarks.report import Table
from benchmarks.trust.models import STRONG, WEAK, Model, generator
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.assess.samples import align
from spcastat.linalg.operators import Gram

#: Draws of each bootstrap.
DRAWS = 200
MODELS = {**STRONG, **WEAK}
SELECTED = ("nonzero", "falsely selected", "variance")
GIVEN = ("fixed: nonzero", "fixed: falsely selected", "fixed: variance", "split: target", "split: false")


@dataclass(frozen=True, eq=False)
class Population:
    """Normal rows with the correlation matrix of a real data set.

    Attributes
    ----------
    n : int
        Rows; as many as the data set has.
    cards : tuple of int
    covariance : ndarray of shape (p, p)
    loadings : ndarray of shape (p, k)
        The best fit of these cardinalities to the matrix, which is not sparse itself.
    """

    n: int
    cards: tuple[int, ...]
    covariance: np.ndarray
    loadings: np.ndarray
    scale = True

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.cards)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return rows, shape (n, p)."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(values.clip(min=0.0))
        return np.asarray(rng.standard_normal((self.n, len(root))) @ root.T)


def populations(folder: Path | None) -> dict[str, Population]:
    """Return the populations of diabetes and wine, as far as their data are available."""
    found = {}
    for name, n, cards in (("diabetes", 442, (4, 4)), ("wine", 178, (5, 5, 5))):
        R = correlation(name, folder)
        if R is not None:
            truth = sp.spca_cov(R, len(cards), list(cards), effort="thorough").loadings.to_numpy()
            found[f"{name}, n{n} p{len(R)}"] = Population(n, cards, R, truth)
    return found


def intervals(call: Call) -> Table:
    """Return the coverage of nominal 95 % intervals, with variables selected again in every draw."""
    table = Table("Intervals with selection: coverage of nominal 95 %", ["model", *SELECTED, "data sets"])
    _fill(table, call, "intervals", _selected, SELECTED, MODELS)
    table.notes.append(
        f"The default method at the true cardinalities, {DRAWS} draws, and the default kinds of intervals. "
        "Each data set counts once: the share of its loadings (or components) whose interval contains the "
        "true value. nonzero: true nonzero loadings; loadings without an interval count as missed. Falsely "
        "selected: nonzero in the fit and zero in truth (data sets without any do not count). variance: v'Sv "
        "of the true component."
    )
    return table


def intervals_of_real_correlations(call: Call) -> Table:
    """Return the coverage where the population has no sparse components."""
    columns = ("nonzero", *(f"PC{j}" for j in (1, 2, 3)), "falsely selected", "variance")
    title = "Intervals for populations without sparse components: coverage of nominal 95 %"
    table = Table(title, ["population", *columns, "data sets"])
    _fill(table, call, "intervals-real", _by_component, columns, populations(call.data))
    table.notes.append(
        "Normal rows with the correlation matrix of diabetes or wine, as many as these data have, columns "
        "scaled. The true loadings are the best fit to the matrix, with four nonzeros in each of two "
        "components (diabetes) and five in each of three (wine). The matrix has no sparse components: fits "
        f"with other variables explain nearly as much. Default intervals, {DRAWS} draws; figures as in the "
        "table of planted models, nonzero also by component."
    )
    return table


def without_selection(call: Call) -> Table:
    """Return the coverage for given variables, and for variables chosen on one half."""
    table = Table("Intervals for given variables, and after a split", ["model", *GIVEN, "data sets"])
    _fill(table, call, "given", _given, GIVEN, MODELS)
    table.notes.append(
        f"{DRAWS} draws. fixed: select=False, percentile intervals. split: intervals from one half for the "
        "correlation of each variable, chosen on the other half, with the score of the other chosen ones; "
        "false: the share of intervals of falsely selected variables that contain zero."
    )
    return table


def _fill(
    table: Table,
    call: Call,
    name: str,
    judge: Any,
    columns: tuple[str, ...],
    models: Mapping[str, Model | Population],
) -> None:
    def one(model: str, number: int) -> Measured:
        planted = models[model]
        rows = planted.draw(generator(model, number))
        fit = sp.spca(rows, planted.k, card=list(planted.cards), scale=planted.scale)
        truth = align(planted.loadings, fit.loadings.to_numpy(), Gram(planted.covariance)).V
        judged = judge(fit, truth, planted, number)
        return {what: float(np.mean(values)) for what, values in judged.items() if len(values)}

    for model, found in call.measured(name, models, one).items():
        table.rows.append([model, *shares(found, columns)])


def _selected(fit: Any, truth: np.ndarray, model: Model | Population, number: int) -> dict[str, np.ndarray]:
    found = fit.bootstrap(DRAWS, rng=number)
    return _covered(found.conf_int(), found.variance_ci(), fit, truth, model)


def _by_component(
    fit: Any, truth: np.ndarray, model: Model | Population, number: int
) -> dict[str, np.ndarray]:
    boot = fit.bootstrap(DRAWS, rng=number)
    frame = boot.conf_int()
    found = _covered(frame, boot.variance_ci(), fit, truth, model)
    true = _truth_of(frame, fit, truth)
    holds = ((frame["lower"] <= true) & (true <= frame["upper"]) & (true != 0)).to_numpy()
    for j, name in enumerate(fit.components):
        own = holds[(frame["component"] == name).to_numpy()]
        found[f"PC{j + 1}"] = np.array([own.sum() / np.count_nonzero(truth[:, j])])
    return found


def _given(fit: Any, truth: np.ndarray, model: Model | Population, number: int) -> dict[str, np.ndarray]:
    given = fit.bootstrap(DRAWS, select=False, rng=number)
    variances = given.variance_ci(kind="percentile")
    fixed = _covered(given.conf_int(kind="percentile"), variances, fit, truth, model)
    found = {f"fixed: {what}": values for what, values in fixed.items()}
    split = fit.split_inference(DRAWS, rng=number).conf_int()
    target = _target(split, fit, model.covariance)
    found["split: target"] = ((split["lower"] <= target) & (target <= split["upper"])).to_numpy()
    false = _truth_of(split, fit, truth) == 0
    found["split: false"] = ((split["lower"] <= 0) & (split["upper"] >= 0)).to_numpy()[false]
    return found


def _covered(
    frame: pd.DataFrame, variances: pd.DataFrame, fit: Any, truth: np.ndarray, model: Model | Population
) -> dict[str, np.ndarray]:
    true = _truth_of(frame, fit, truth)
    holds = ((frame["lower"] <= true) & (true <= frame["upper"])).to_numpy()
    missing = int((truth != 0).sum()) - int((true != 0).sum())
    zero = ((frame["lower"] <= 0) & (frame["upper"] >= 0)).to_numpy()
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
