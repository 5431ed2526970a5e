"""Accuracy of the rules for the number of components and the cardinalities."""

from __future__ import annotations

from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.assumptions import NOISES
from benchmarks.trust.models import NUMBER, generator, support_f1
from benchmarks.trust.sets import Call, Measured, shares
from benchmarks.trust.structures import DESIGNS, NUMBERS, PARTITIONS, Structure
from benchmarks.trust.together import DEPENDENCES, planted
from spcastat.assess.candidates import Settings, select
from spcastat.assess.component_tests import NoiseDraws
from spcastat.assess.prediction import PREDICTION
from spcastat.choosing import Asked, _compared
from spcastat.inputs.constructors import rows_or_matrix_of

#: Rules of `choose`, and the share that "keep" keeps.
RULES = {"worth": 0.9, "keep": 0.9, "paired": 0.9, "1se": 0.9, "min": 0.9}


def table_rules(call: Call) -> Table:
    """How sparse by the rules of the package, with the number of components given."""
    columns = [*RULES, "best", "loadings", "true"]
    table = Table("How sparse, by rule: mean F1 of the supports", ["design", *columns, "data sets"])
    for name, found in call.measured("choose-rules", DESIGNS, _ruled).items():
        table.rows.append([name, *shares(found, columns)])
    table.notes.append(
        "choose(k=, scale=True) with its defaults; loadings of .7 where nothing is said, of variables of "
        "variance one. best: the candidate with the largest F1 of each data set. loadings: of the rule "
        '"worth", the default. With a general factor the groups are the truth, with cross-loadings the '
        "variables without these. keep: 90 % of the best prediction."
    )
    return table


def _ruled(name: str, number: int) -> Measured:
    """Return the F1 of every rule on one data set; all rules choose among the same candidates."""
    design = DESIGNS[name]
    assert design.supports is not None
    X = design.draw(generator(f"choose {name}", number))
    sample = rows_or_matrix_of("choose", X, {"scale": True}, None).for_components(design.k)
    settings = Settings("cv", "worth", "auto", None, 5, None, 1, number)
    draws = NoiseDraws(0.05, 199, number)  # of which a given number of components needs none
    asked = Asked(design.k, None, None, PREDICTION.least, draws, settings, {})
    candidates = _compared(sample, asked, design.k).found
    f1 = [support_f1(candidates.fits[one], design.supports) for one in candidates.found]
    places = {rule: select(candidates, "cv", rule, share).place for rule, share in RULES.items()}
    return {
        **{rule: f1[place] for rule, place in places.items()},
        "best": max(f1),
        "loadings": float(candidates.sizes[places["worth"]]),
        "true": float(design.supports.sum()),
    }


def table_numbers(call: Call) -> Table:
    """How many components, for factors of many kinds."""
    columns = ["k right", "k", "predicting right", "parallel right"]
    table = Table("How many factors: share of data sets", ["design", "true", *columns, "data sets"])
    for name, found in call.measured("choose-numbers", NUMBERS, _numbered).items():
        table.rows.append([name, str(NUMBERS[name].k), *shares(found, columns)])
    table.notes.append(
        "choose_k(scale=True) with its defaults; k: its mean. Loadings of .7 where nothing is said, of "
        "variables of variance one; r: the correlation of factors; five points: items with limits at -1.5, "
        "-.5, .5 and 1.5. Minor factors: 15 beside three factors (.7, or .6 if they are of unequal size, "
        "each .8 times the one before) of eight variables, 15 % of the variance. Components of all "
        "variables: beside noise of variance one."
    )
    return table


def _numbered(name: str, number: int) -> Measured:
    design = NUMBERS[name]
    choice = sp.choose_k(design.draw(generator(f"choose {name}", number)), scale=True, rng=number)
    return {
        "k right": float(choice.k == design.k),
        "k": float(choice.k),
        "predicting right": float(choice.predicting == design.k),
        "parallel right": float(choice.parallel == design.k),
    }


def table_partitions(call: Call) -> Table:
    """Whether the scales of a questionnaire are found, with their number."""
    columns = ["k right", "partition right", "F1"]
    table = Table("Scales of questionnaires: share of data sets", ["design", *columns, "data sets"])
    for name, found in call.measured("choose-partitions", PARTITIONS, _partitioned).items():
        table.rows.append([name, *shares(found, columns)])
    table.notes.append(
        "choose(scale=True) with its defaults. partition right: the components are the scales, each with all "
        "of its items and no other."
    )
    return table


def _partitioned(name: str, number: int) -> Measured:
    design = PARTITIONS[name]
    choice = sp.choose(design.draw(generator(f"choose {name}", number)), scale=True, rng=number)
    return {"k right": float(choice.k == design.k), **_found_scales(choice, design)}


def _found_scales(choice: Any, design: Structure) -> Measured:
    assert design.supports is not None
    if choice.k != design.k:
        return {"partition right": 0.0}
    f1 = support_f1(choice.fit.loadings.to_numpy(), design.supports)
    return {"partition right": float(f1 == 1.0), "F1": f1}


def table_noise(call: Call) -> Table:
    """Level of `choose_k` in noise of many kinds, and in dependent rows with their design."""
    columns = ["k too large", "parallel too large"]
    kinds = [name for name, noise in NOISES.items() if not (noise.k > 1 and not noise.cards)]
    models = [*kinds, *(f"noise in {name}, design given" for name in DEPENDENCES)]
    table = Table("Noise of many kinds: a component too many", ["rows", *columns, "data sets"])
    for name, found in call.measured("choose-noise", models, _noisy).items():
        table.rows.append([name, *shares(found, columns)])
    table.notes.append(
        "choose_k() with columns scaled; the models are those of the tables noise and together, where card "
        "is that of the fit."
    )
    return table


def _noisy(name: str, number: int) -> Measured:
    rng = generator(f"noise {name}", number)
    if name in NOISES:
        true = len(NOISES[name].cards)
        choice = sp.choose_k(NOISES[name].draw(rng), scale=True, rng=number)
    else:
        true = 0
        dependence = DEPENDENCES[name.removeprefix("noise in ").removesuffix(", design given")]
        X = planted(dependence.rows, rng, 0)[0]
        choice = sp.choose_k(X, scale=True, rng=number, **dependence.given)
    parallel = np.nan if choice.parallel is None else float(choice.parallel > true)
    return {"k too large": float(choice.k > true), "parallel too large": parallel}


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


def table_correlated_noise(call: Call) -> Table:
    """How many components, if the noise of neighbouring variables is correlated, and what helps."""
    columns = ["k", "k with least=1", "k right with least=1", "parallel", "F1 of choose(k=2)"]
    title = "Correlated noise: numbers of components chosen, and F1 of the supports with the true number"
    table = Table(title, ["model", "true", *columns, "data sets"])
    for name, found in call.measured("correlated-noise", ["AR"], _in_correlated_noise).items():
        table.rows.append([name, str(NUMBER[name].k), *shares(found, columns)])
    table.notes.append(
        "choose_k(scale=True) with its defaults, and means of the numbers. AR: two components of six of 50 "
        "variables with variances 8 and 5, 200 rows; the correlation of the noise of variables i and j is "
        ".4^|i-j|."
    )
    return table


def _in_correlated_noise(name: str, number: int) -> Measured:
    model = NUMBER[name]
    X = model.draw(generator(f"correlated {name}", number))
    default = sp.choose_k(X, scale=True, rng=number)
    strict = sp.choose_k(X, scale=True, rng=number, least=1.0)
    given = sp.choose(X, k=model.k, scale=True, rng=number)
    return {
        "k": float(default.k),
        "k with least=1": float(strict.k),
        "k right with least=1": float(strict.k == model.k),
        "parallel": float(default.parallel),
        "F1 of choose(k=2)": support_f1(given.fit.loadings.to_numpy(), model.loadings),
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
