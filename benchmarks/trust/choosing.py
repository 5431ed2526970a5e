"""Accuracy of the rules of this and other packages for the number of components and the cardinalities."""

from __future__ import annotations

import resource
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data import real_rows
from benchmarks.report import Table, mean_and_error, timed
from benchmarks.trust import rules
from benchmarks.trust.models import CHOOSE, FREE, NUMBER, RULED, Model, generator, support_f1
from benchmarks.trust.sets import Call, Measured, shares
from spcastat.assess.candidates import Candidates, choose
from spcastat.assess.cardinalities import Fitter
from spcastat.assess.draws import Rules
from spcastat.assess.folds import FoldSums, MomentFolds
from spcastat.assess.noise_tests import Draws, RowNoise, default_card, standing
from spcastat.assess.row_groups import RowGroups
from spcastat.assess.unequal_cardinalities import select
from spcastat.choosing import request
from spcastat.fit.inputs import opened
from spcastat.fit.plan import make_plan
from spcastat.linalg.build import prepare

FOLDS = 5
EACH = ("equal", "free", "auto")
#: Rules of `choose`, and further criteria.
OURS = {
    "cv, worth": ("cv", "worth"),
    "cv, paired": ("cv", "paired"),
    "cv, 1se": ("cv", "1se"),
    "cv, minimum": ("cv", "min"),
    "ebic, worth": ("ebic", "worth"),
    "ebic, minimum": ("ebic", "min"),
}
NAMED = {"bic (Allen)": ("bic", "min"), "index of sparseness": ("is", "min")}


def candidates(X: np.ndarray, k: int, seed: int) -> tuple[Candidates, np.ndarray]:
    """Return candidates of `choose` for rows, none fitted yet, and the folds of the rows."""
    n, p = X.shape
    source = opened(X, None, {}, None)[0].source("")
    labels = RowGroups.of(source).folds(FOLDS, 1, np.random.default_rng([seed, 2]))
    sums = FoldSums(p, FOLDS, 1)
    sums.add_to(0, labels[0], X, None)
    names = pd.RangeIndex(p)
    op = prepare(X, None, True, False, names)[1].at_unit_size()
    final = Fitter(k, make_plan(request({}, k, 1), p))
    return Candidates(op, Fitter(k), final, float(n), MomentFolds(sums, Rules(True, False, names))), labels[0]


def _one(model: Model, name: str, number: int, others: bool) -> dict[str, float]:
    """Return the F1 of every rule on one data set, with `others` also of the rules of other packages."""
    X = model.draw(generator(f"choose {name}", number))
    found, labels = candidates(X, model.k, 0)
    cards = [(card,) * model.k for card in model.grid]
    found.add(cards)
    fits = [found.fits[card] for card in cards]
    places = {name: choose(found, cards, *how, 0.9)[0] for name, how in {**OURS, **NAMED}.items()}
    if others:
        places |= _others(X, found, labels, cards, fits, number)
    f1 = {name: support_f1(fits[place], model.loadings) for name, place in places.items()}
    f1["best"] = max(support_f1(V, model.loadings) for V in fits)
    if others:
        card = rules.tune_spca(X, model.k, [one[0] for one in cards], np.random.default_rng(number))
        found.add([card])
        f1["mixOmics tune.spca"] = support_f1(found.fits[card], model.loadings)
    return f1


def _others(
    X: np.ndarray,
    found: Candidates,
    labels: np.ndarray,
    cards: list[tuple[int, ...]],
    fits: list[np.ndarray],
    number: int,
) -> dict[str, int]:
    """Return the places that the rules of other packages choose."""
    S, n, grid = np.cov(X.T), len(X), [card[0] for card in cards]
    by_fold, rows = [], []
    for fold in range(FOLDS):
        assert found.folds is not None
        by_fold.append(found.fitter.paths([found.folds.split(fold)[0]], cards, fits)[0])
        rows.append(X[labels == fold] - X[labels != fold].mean(axis=0))
    return {
        "held-out PEV": rules.held_out_pev(by_fold, rows),
        "pcaPP opt.BIC": rules.croux_bic(fits, S, n),
        "pcaPP opt.TPO": rules.tpo(fits, S),
        "PMA SPC.cv": rules.pma_cv(X, grid, np.random.default_rng(number)),
        "abess GIC": rules.abess_gic(S, n, grid),
    }


def _exact_and_mean(f1: list[float]) -> tuple[str, str]:
    """Return the share of data sets with exactly the true supports, and the mean F1."""
    return mean_and_error(float(value == 1.0) for value in f1), mean_and_error(f1)


def table_choose(call: Call, name: str) -> Table:
    """How sparse, on one model: share of data sets with exactly the true supports, and mean F1."""
    model = CHOOSE[name]
    noise = {"ar": ", autoregressive noise", "hetero": ", unequal noise"}.get(model.noise, "")
    noise += ", graded loadings" if model.least < 1.0 else ""
    title = f"How sparse, model {name}: n = {model.n}, p = {model.p}, cardinalities {model.cards}{noise}"
    table = Table(title, ["rule", "exactly right", "F1", "data sets"])
    found = call.measured("choose", [name], lambda _, i: _one(model, name, i, False))[name]
    for rule in found[0]:
        f1 = [one[rule] for one in found if rule in one]
        table.rows.append([rule, *_exact_and_mean(f1), str(len(f1))])
    table.notes.append(
        "All rules choose among the same fits, and k is given. The rules of other packages are in a separate "
        "table."
    )
    return table


def table_others(call: Call) -> Table:
    """How sparse by the rules of other packages and by cross-validation, on the same data sets."""
    table = Table("How sparse, the rules of other packages: exactly right, F1", ["rule", *CHOOSE])
    every = call.measured("others", CHOOSE, lambda name, i: _one(CHOOSE[name], name, i, True))
    for rule in every["A"][0]:
        if rule in NAMED or (rule in OURS and rule != "cv, worth"):
            continue
        f1 = [[one[rule] for one in found] for found in every.values()]
        table.rows.append([rule, *(", ".join(_exact_and_mean(found)) for found in f1)])
    table.rows.append(["data sets", *(str(len(found)) for found in every.values())])
    table.notes.append(
        "The rules are defined in `benchmarks/trust/rules.py` from their sources. All choose among the same "
        "fits (mixOmics: with a cardinality for each component), and k is given; PMA and abess use one "
        "component."
    )
    return table


def table_free(call: Call) -> Table:
    """One cardinality for all components, or one for each."""
    columns = [f"{how}, {by}" for by in ("cv", "ebic") for how in (*EACH, "sets")]
    table = Table("One cardinality or one for each, rule worth: F1", ["model", *columns, "data sets"])
    for name, found in call.measured("free", FREE, _one_free).items():
        table.rows.append([name, *shares(found, columns)])
    table.notes.append("sets: the number of sets of cardinalities that the search tried.")
    return table


def table_rules(call: Call) -> Table:
    """How sparse by the rules of the package, on rows and loadings of many kinds."""
    table = Table("How sparse, by rule: mean F1 of the supports", ["model", *OURS, "best", "data sets"])
    every = call.measured("rules", RULED, lambda name, i: _one(RULED[name], name, i, False))
    for name, found in every.items():
        table.rows.append([name, *shares(found, [*OURS, "best"])])
    table.notes.append("best: the candidate with the largest F1 of each data set.")
    return table


def _one_free(name: str, number: int) -> Measured:
    model = FREE[name]
    X = model.draw(generator(f"choose {name}", number))
    found, _ = candidates(X, model.k, 0)
    cards = [(card,) * model.k for card in model.grid]
    found.add(cards)
    f1: Measured = {}
    for by in ("cv", "ebic"):
        for how in EACH:
            chosen = select(found, list(model.grid), cards, by, "worth", how, 0.9)
            f1[f"{how}, {by}"] = support_f1(found.fits[chosen.cards[chosen.place]], model.loadings)
        f1[f"sets, {by}"] = float(chosen.tried)
    return f1


def table_k(call: Call) -> Table:
    """How many components."""
    head = ["k right", "parallel right", "deflated right", "sparse right", "k > true"]
    table = Table("How many components: share of data sets", ["model", "k", *head, "data sets"])
    for name, found in call.measured("choose-k", NUMBER, _one_k).items():
        table.rows.append([name, str(NUMBER[name].k), *shares(found, head)])
    table.notes.append(
        "k = max(min(parallel, deflated, major), sparse) by 199 sign flips, alpha .05, as in `choose_k`; at "
        "most four components are tested. major counts the components that are not minor, as `choose_k` "
        "describes; the column of the deflated test is for min(parallel, deflated). Under null models the "
        "column `k > true` is the level. Autoregressive noise is correlated, so tests of independence "
        f"reject it. Real data, columns scaled: {_real_numbers()}."
    )
    return table


def _real_numbers() -> str:
    """Return the choices for real data."""
    from sklearn.datasets import load_breast_cancer, load_wine

    import spcastat as sp

    rows = {"wine": load_wine().data, "breast cancer": load_breast_cancer().data}
    found = {name: sp.choose_k(X, scale=True) for name, X in rows.items()}
    found["pitprops"] = sp.choose_k(sp.datasets.load_pitprops(), n_obs=180)
    return ", ".join(f"{name} {one.k}" for name, one in found.items())


def _one_k(name: str, number: int) -> Measured:
    model = NUMBER[name]
    X = model.draw(generator(f"k {name}", number))
    Z = (X - X.mean(axis=0)) / np.sqrt(model.n - 1)
    found = standing(RowNoise(Z), 4, default_card(model.p), Draws(0.05, 199, number))
    return {
        "k right": float(found.k == model.k),
        "parallel right": float(found.parallel == model.k),
        "deflated right": float(min(found.parallel, found.deflated) == model.k),
        "sparse right": float(found.sequential == model.k),
        "k > true": float(found.k > model.k),
    }


def table_speed(call: Call) -> Table:
    """Seconds of one call."""
    import spcastat as sp

    table = Table("Cost of a choice", ["call", "CPU s", "memory, MB"])
    X = CHOOSE["D"].draw(generator("speed", 0))
    grid = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20]
    tasks = [("n = 200, p = 50, k = 2", pd.DataFrame(X), 2), ("the same, k = 3", pd.DataFrame(X), 3)]
    colon = real_rows("colon", call.data)
    if colon is not None:
        tasks.append(("colon, 62 x 2000, k = 3", colon, 3))
    for name, data, k in tasks:
        choice, seconds = timed(partial(sp.choose, data, k=k, cards=grid))
        table.rows.append([f"choose, {name}: card {choice.card}", f"{seconds:.2f}", _peak()])
    for k in (2, 3):
        planted = Model(200, 50, (6, 6, 6)[:k], (8, 5, 3.5)[:k])
        fit = sp.spca(planted.draw(generator("speed", k)), k, card=6)
        _, seconds = timed(partial(fit.bootstrap, 200))
        table.rows.append([f"200 draws, n = 200, p = 50, k = {k}", f"{seconds:.2f}", _peak()])
    same = all(_alike(X, fit, n_jobs) for n_jobs in (2, 4))
    table.notes.append(
        "12 cardinalities, 5 folds, and the final fit by the default method; memory of the process. "
        "Errors of choices and bootstrap intervals are "
        f"{'the same to the last bit' if same else 'DIFFERENT'} with n_jobs 1, 2 and 4."
    )
    return table


def _peak() -> str:
    """Return the peak memory of the process in MB."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"


def _alike(X: np.ndarray, fit: Any, n_jobs: int) -> bool:
    """Return whether other numbers of processes give the same bits."""
    import spcastat as sp

    one, other = (sp.choose(X, k=2, repeats=3, n_jobs=n).table for n in (1, n_jobs))
    return bool(
        one.equals(other) and fit.bootstrap(60).conf_int().equals(fit.bootstrap(60, n_jobs=n_jobs).conf_int())
    )
