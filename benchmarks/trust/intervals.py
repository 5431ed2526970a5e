"""Coverage of intervals for loadings and variances, and what falsely selected variables' intervals hold."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.__main__ import Call
from benchmarks.trust.models import STRONG, WEAK, Model, generator, share
from spcastat.operators import Gram
from spcastat.resample import align

#: Draws of each bootstrap.
DRAWS = 100
METHOD = "joint"

HEAD = [
    "model",
    "nonzero",
    "falsely selected hold 0",
    "variance",
    "fixed: nonzero",
    "fixed: hold 0",
    "fixed: variance",
    "split: target",
    "split: hold 0",
]


def intervals(call: Call) -> Table:
    """Return the coverage of nominal 95 % intervals on the models of STRONG and WEAK."""
    table = Table("Intervals: coverage of nominal 95 %", HEAD)
    for name, model in {**STRONG, **WEAK}.items():
        hits = defaultdict(list)
        for number in range(call.sets):
            for what, values in one_set(model, name, number).items():
                if len(values):
                    hits[what].append(float(np.mean(values)))
        table.rows.append(row := [name, *(share(hits[what]) if hits[what] else "-" for what in HEAD[1:])])
        print(*row, sep="  ", flush=True)  # a table takes many minutes
    table.notes += [
        f"method={METHOD!r} at the true cardinalities, {DRAWS} draws. Each data set counts once: the share "
        "of its loadings (or components) whose interval holds the truth.",
        "nonzero: true nonzero loadings, those without an interval counting as missed. Falsely selected: "
        "nonzero in the fit, zero in truth; data sets without any do not count. variance: v'Sv of the true "
        "component. Asked for: .93, .95, .88.",
        "fixed: select=False with percentile intervals. split: the leading eigenvector of the true "
        "covariance matrix on the chosen variables, its target; hold 0: of falsely chosen variables.",
    ]
    return table


def one_set(model: Model, name: str, number: int) -> dict[str, np.ndarray]:
    """Return what holds and what does not on one data set."""
    fit = sp.spca(model.draw(generator(name, number)), model.k, card=list(model.cards), method=METHOD)
    truth = _matched(model, fit.loadings.to_numpy())
    found: dict[str, np.ndarray] = {}
    again = fit.bootstrap(DRAWS, rng=number)
    found |= _held("", again, fit, truth, model)
    given = fit.bootstrap(DRAWS, select=False, kind="percentile", rng=number)
    found |= {f"fixed: {what.split()[-2] + ' 0' if 'hold' in what else what}": value
              for what, value in _held("", given, fit, truth, model).items()}
    split = fit.split_inference(DRAWS, rng=number).conf_int()
    target = _on_supports(split, fit, model.covariance)
    found["split: target"] = (split["lower"] <= target) & (target <= split["upper"])
    false = _truth_of(split, fit, truth) == 0
    found["split: hold 0"] = ((split["lower"] <= 0) & (split["upper"] >= 0))[false]
    return found


def _held(prefix: str, found, fit, truth: np.ndarray, model: Model) -> dict[str, np.ndarray]:
    frame = found.conf_int()
    true = _truth_of(frame, fit, truth)
    holds = ((frame["lower"] <= true) & (true <= frame["upper"])).to_numpy()
    missing = int((truth != 0).sum()) - int((true != 0).sum())
    zero = ((frame["lower"] <= 0) & (frame["upper"] >= 0)).to_numpy()
    variances = found.variance_ci()
    values = np.diag(truth.T @ model.covariance @ truth)
    inside = (variances["lower"] <= values) & (values <= variances["upper"])
    return {
        "nonzero": np.concatenate([holds[true != 0], np.zeros(missing)]),
        "falsely selected hold 0": zero[(true == 0) & (frame["estimate"] != 0).to_numpy()],
        "variance": inside.to_numpy(),
    }


def _matched(model: Model, V: np.ndarray) -> np.ndarray:
    """Return the true loadings in the order and with the signs of the fit's."""
    return align(model.loadings, V, Gram(model.covariance)).V


def _truth_of(frame: pd.DataFrame, fit, truth: np.ndarray) -> np.ndarray:
    rows = fit.loadings.index.get_indexer(frame["term"])
    return truth[rows, fit.components.get_indexer(frame["component"])]


def _on_supports(frame: pd.DataFrame, fit, covariance: np.ndarray) -> np.ndarray:
    """Return the leading eigenvectors of the true covariance matrix on the chosen supports."""
    target = np.empty(len(frame))
    for _, part in frame.groupby("component"):
        rows = fit.loadings.index.get_indexer(part["term"])
        v = np.linalg.eigh(covariance[np.ix_(rows, rows)])[1][:, -1]
        at = frame.index.get_indexer(part.index)
        target[at] = v * (1.0 if v @ part["estimate"].to_numpy() >= 0 else -1.0)
    return target
