"""Accuracy of the rules for the number of components and the cardinalities."""

from __future__ import annotations

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import NUMBER, RULED, Model, generator, support_f1
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.assess.candidates import Fitter
from spcastat.assess.families import Candidates, select
from spcastat.assess.folds import MomentFolds
from spcastat.inputs.constructors import data_of
from spcastat.inputs.samplers import Rules
from spcastat.linalg.standardisation import prepare

FOLDS = 5
#: Rules of `choose`.
OURS = {
    "cv, worth": ("cv", "worth"),
    "cv, paired": ("cv", "paired"),
    "cv, 1se": ("cv", "1se"),
    "cv, minimum": ("cv", "min"),
    "ebic, worth": ("ebic", "worth"),
    "ebic, minimum": ("ebic", "min"),
}


def candidates(X: np.ndarray, k: int, seed: int) -> Candidates:
    """Return candidates of `choose` for rows, none fitted yet."""
    n, p = X.shape
    source = data_of("", X, {}, None)
    labels = source.row_groups.folds(FOLDS, 1, np.random.default_rng([seed, 2]))
    names = pd.RangeIndex(p)
    op = prepare(X, None, True, False, names)[1].at_unit_size()
    folds = MomentFolds(X, None, labels, Rules(True, False, names))
    return Candidates(op, Fitter(k), float(n), folds)


def _one(model: Model, name: str, number: int) -> dict[str, float]:
    """Return the F1 of every rule on one data set."""
    X = model.draw(generator(f"choose {name}", number))
    found = candidates(X, model.k, 0)
    cards = [(card,) * model.k for card in model.grid]
    found.add(cards)
    fits = [found.fits[one] for one in found.found]
    places = {name: select(found, *how, 0.9).place for name, how in OURS.items()}
    f1 = {name: support_f1(fits[place], model.loadings) for name, place in places.items()}
    f1["best"] = max(support_f1(V, model.loadings) for V in fits)
    return f1


def table_rules(call: Call) -> Table:
    """How sparse by the rules of the package, on rows and loadings of many kinds."""
    table = Table("How sparse, by rule: mean F1 of the supports", ["model", *OURS, "best", "data sets"])
    every = call.measured("rules", RULED, lambda name, i: _one(RULED[name], name, i))
    for name, found in every.items():
        table.rows.append([name, *shares(found, [*OURS, "best"])])
    table.notes.append("best: the candidate with the largest F1 of each data set.")
    return table


def table_k(call: Call) -> Table:
    """How many components."""
    head = ["k right", "predicting right", "deflated right", "parallel right", "k > true"]
    table = Table("How many components: share of data sets", ["model", "k", *head, "data sets"])
    for name, found in call.measured("choose-k", NUMBER, _one_k).items():
        table.rows.append([name, str(NUMBER[name].k), *shares(found, head)])
    table.notes.append(
        "k = min(C, D) as in `choose_k`: C components predict held-out rows, and D of them exceed sign flips "
        "(199 draws, alpha .05); at most four components are compared. Parallel analysis is shown as well. "
        "Under null models the column `k > true` is the level. Autoregressive noise is correlated, so tests "
        "of independence "
        f"reject it. Real data, columns scaled: {_real_numbers()}."
    )
    return table


def _real_numbers() -> str:
    """Return the choices for real data."""
    from sklearn.datasets import load_breast_cancer, load_wine

    rows = {"wine": load_wine().data, "breast cancer": load_breast_cancer().data}
    found = {name: sp.choose_k(X, scale=True) for name, X in rows.items()}
    found["pitprops"] = sp.choose_k(sp.datasets.load_pitprops(), n_obs=180)
    return ", ".join(f"{name} {one.k}" for name, one in found.items())


def _one_k(name: str, number: int) -> Measured:
    model = NUMBER[name]
    X = model.draw(generator(f"k {name}", number))
    found = sp.choose_k(X, kmax=4, rng=number)
    return {
        "k right": float(found.k == model.k),
        "predicting right": float(found.predicting == model.k),
        "parallel right": float(found.parallel == model.k),
        "deflated right": float(found.deflated == model.k),
        "k > true": float(found.k > model.k),
    }


#: Shapes of pure normal noise, rows and variables.
SHAPES = (
    (6, 200),
    (8, 200),
    (10, 200),
    (10, 2000),
    (12, 500),
    (15, 200),
    (20, 1000),
    (30, 100),
    (60, 300),
    (40, 20),
    (100, 20),
    (1000, 10),
)
#: Shapes of noise that is not normal.
HEAVY_SHAPES = ((20, 200), (50, 100))


def _heavy_noise(kind: str, n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of noise without components, in which some rows or cells are much larger than others."""
    Z = rng.standard_normal((n, p))
    if kind == "t4 rows":
        return Z / np.sqrt(rng.chisquare(4, (n, 1)) / 4)
    if kind == "lognormal cells":
        return np.exp(Z)
    Z[0] *= 8.0
    return Z


def table_few_rows(call: Call) -> Table:
    """Level of `choose_k` in noise of few rows and many variables, and of heavy rows and cells."""
    models = {f"normal, {n} x {p}": ("normal", n, p) for n, p in SHAPES}
    for kind in ("t4 rows", "lognormal cells", "one row of 8 sd"):
        models |= {f"{kind}, {n} x {p}": (kind, n, p) for n, p in HEAVY_SHAPES}

    def one(name: str, number: int) -> Measured:
        kind, n, p = models[name]
        rng = generator(f"few rows {name}", number)
        X = rng.standard_normal((n, p)) if kind == "normal" else _heavy_noise(kind, n, p, rng)
        tested = sp.choose_k(X, scale=True, rng=number)
        S = np.corrcoef(X, rowvar=False)
        matrix = (
            sp.choose_k(S, n_obs=n, covariance=True, rng=number) if kind == "normal" and p <= 200 else None
        )
        return {
            "parallel > 0": float(tested.parallel > 0),
            "k > 0": float(tested.k > 0),
            "matrix: parallel > 0": np.nan if matrix is None else float(matrix.parallel > 0),
            "matrix: k > 0": np.nan if matrix is None else float(matrix.k > 0),
        }

    columns = ["parallel > 0", "k > 0", "matrix: parallel > 0", "matrix: k > 0"]
    table = Table("Noise without components: share with a component", ["noise", *columns, "data sets"])
    measured = call.measured("few-rows", models, one)
    for name, found in measured.items():
        table.rows.append([name, *shares(found, columns)])
    normal = [values for name, found in measured.items() if name.startswith("normal") for values in found]
    table.rows.append(["all normal", *shares(normal, columns)])
    table.notes.append(
        "choose_k(scale=True) with its defaults; the level of parallel analysis is .05. matrix: from the "
        "correlation matrix with n_obs=, for at most 200 variables. t4 rows: rows divided by "
        "sqrt(chi2_4 / 4); lognormal cells: exp(z); one row of 8 sd: the first row times 8."
    )
    return table
