"""The calls by name. They use the public interface only, so that they remain valid."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.record import data
from benchmarks.record.fits import MEASURES

#: Name -> function of a folder to write to, which returns what is recorded.
CALLS: dict[str, Callable[[Path], Any]] = {}

#: The methods, family by family; the keyword arguments besides k=2.
FAMILIES: dict[str, dict[str, dict[str, Any]]] = {
    "joint search over supports": {"joint": {"card": (4, 2), "objective": "least_squares"}},
    "block coordinate descent": {"bcd-l0": {"card": 3, "n_init": 3}, "bcd-l1": {"t": [1.4, 1.2]}},
    "greedy": {"greedy": {"card": (4, 2)}, "controlled": {"variance": 0.8, "exact": True}},
    "regressions": {"zou": {"card": 3}, "spca-os": {"penalty": 0.3}},
    "thresholding": {"threshold": {"threshold": 0.3}, "rotate": {"card": 3, "rotation": "quartimax"}},
    "regularised SVD": {"rsvd-l0": {"card": 3}, "rsvd-l1": {"card": 3}, "rsvd-scad": {"penalty": 0.8}},
    "penalised decomposition": {"pmd": {"t": 1.5, "orth": True}},
    "generalised power": {"gpower-l0": {"card": 3}, "gpower-l1": {"penalty": 0.3}},
    "generalised power, joint": {
        "gpower-l0-block": {"penalty": 0.1},
        "gpower-l1-block": {"penalty": 0.2, "mu": [1.0, 0.5]},
    },
    "expectation-maximisation": {"empca": {"card": 3, "nonneg": True}},
    "majorisation": {"dcpca": {"card": 3}},
    "greedy path": {"pathspca": {"card": (3, 4)}},
    "greedy both ways": {"gspca": {"card": 3}, "iterative-elimination": {"card": 3}},
    "semidefinite relaxation": {"dspca": {"card": 3}},
    "augmented Lagrangian": {"alspca": {"card": 3}},
    "nonnegative": {"nspca": {"card": 3}},
    "l1 bound": {"scotlass": {"t": 1.4}},
    "robust": {
        "rspca-l0": {"card": 3, "n_init": 2},
        "rspca-l1": {"t": 1.4},
        "rspca-lhalf": {"card": 3},
        "rspca-lp": {"card": 3, "p": 0.3},
        "pca-l1": {},
        "r1-pca": {},
        "l1-factor": {},
        "bcd-lad": {"card": 3},
    },
    "robust grid": {"spcagrid": {"card": 3}},
    "dense": {"pca": {}},
}


def call(name: str) -> Callable[[Callable[[Path], Any]], Callable[[Path], Any]]:
    """Put a function into the table."""

    def entered(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
        CALLS[name] = function
        return function

    return entered


def one(name: str, fit: Callable[[Path], Any]) -> None:
    """Put a single fit into the table."""
    CALLS[name] = fit


def pitprops(**more: Any) -> sp.SpcaResult:
    """The fit of the README."""
    return sp.spca_cov(sp.datasets.load_pitprops(), 3, [7, 4, 4], n_obs=180, **{"method": "bcd-l0", **more})


# --- every kind of data ----------------------------------------------------------------------------

one("frame", lambda folder: sp.spca(data.frame(), 2, 4, method="bcd-l0"))
one(
    "array, scaled",
    lambda folder: sp.spca(data.frame().to_numpy(), 3, [5, 3, 1], scale=True, method="bcd-l0"),
)
one("own centre and scale", lambda folder: _own_centre())
one("sparse by row", lambda folder: sp.spca(data.sparse(), 2, 5, method="bcd-l0"))
one(
    "sparse by column, scaled",
    lambda folder: sp.spca(data.sparse().tocsc(), 2, 5, scale=True, method="bcd-l0"),
)
one("sparse, wide", lambda folder: sp.spca(data.sparse(40, 450), 2, 6, method="greedy"))
one("wide", lambda folder: sp.spca(sp.datasets.make_highdim(30, 450), 2, 10, method="bcd-l0"))
one("screened", lambda folder: sp.spca(sp.datasets.make_highdim(30, 450), 2, 10, screen=60, method="bcd-l0"))
one("polars and pyarrow", lambda folder: _other_frames())
one(
    "formula",
    lambda folder: sp.spca(data.frame(), 2, 2, formula="~ a + log(b + 20) + c:d - e", method="bcd-l0"),
)
one(
    "formula, all but one, interactions",
    lambda folder: sp.spca(data.frame(), 2, 3, formula="~ . - h + a:b", method="bcd-l0"),
)
one(
    "formula, factor, missing values dropped",
    lambda folder: sp.spca(
        data.mixed(),
        2,
        3,
        formula="~ a + b + site + log(size)",
        categorical="dummy",
        na="drop",
        method="bcd-l0",
    ),
)
one(
    "formula with a name from outside",
    lambda folder: sp.spca(
        data.frame(), 1, 2, formula="~ a + shift(b) + c", context={"shift": np.cbrt}, method="bcd-l0"
    ),
)
one(
    "weights", lambda folder: sp.spca(data.frame(), 2, 4, weights=data.weights(), scale=True, method="bcd-l0")
)
one(
    "missing values dropped, weights",
    lambda folder: sp.spca(data.mixed()[[*"abcd"]], 2, 2, na="drop", weights=data.weights(), method="bcd-l0"),
)
one(
    "chunks",
    lambda folder: {
        "list": sp.spca(data.chunks(), 2, 4, method="bcd-l0"),
        "function": sp.spca(lambda: iter(data.chunks()), 2, 4, scale=True, method="bcd-l0"),
    },
)
one("memory map", lambda folder: sp.spca(data.memmap(folder), 2, 4, method="bcd-l0"))
one("Parquet", lambda folder: sp.spca(data.parquet(folder), 2, 4, method="bcd-l0"))
one(
    "Parquet, formula, weights",
    lambda folder: sp.spca(
        data.parquet(folder), 2, 2, formula="~ a + log(b + 20) + c", weights=data.weights(), method="bcd-l0"
    ),
)
one(
    "Parquet folder",
    lambda folder: sp.spca(data.parquet_folder(folder), 2, variance=0.8, method="controlled"),
)
one("covariance", lambda folder: pitprops())
one(
    "covariance as an array",
    lambda folder: sp.spca_cov(data.frame().cov().to_numpy(), 2, 3, n_init=4, rng=7, method="bcd-l0"),
)


def _own_centre() -> Any:
    df = data.frame()
    return sp.spca(df, 2, 4, center=df.median(), scale=df.abs().mean(), method="bcd-l0")


def _other_frames() -> Any:
    import polars
    import pyarrow

    columns = data.frame().to_dict("list")
    return [sp.spca(make(columns), 2, 4, method="bcd-l0") for make in (polars.DataFrame, pyarrow.table)]


# --- every method ----------------------------------------------------------------------------------


def _family(options: dict[str, dict[str, Any]]) -> Callable[[Path], Any]:
    return lambda folder: {
        method: sp.spca(data.frame(), 2, method=method, **given) for method, given in options.items()
    }


for family, of_it in FAMILIES.items():
    CALLS[f"method: {family}"] = _family(of_it)


# --- how sparse, and how good ----------------------------------------------------------------------

one("share of the variance", lambda folder: sp.spca(data.frame(), 3, variance=0.9, c=2, method="controlled"))
one("joint search, PEV", lambda folder: pitprops(method="joint", objective="pev"))
one(
    "joint search, adjusted variance",
    lambda folder: pitprops(method="joint", objective="adjusted", rng=2),
)
one(
    "joint search, share of the variance",
    lambda folder: sp.spca(data.frame(), 2, variance=0.85, promise="total"),
)
one("certificates", lambda folder: pitprops().certify(joint=False).table)


@call("path")
def _path(folder: Path) -> Any:
    path = sp.spca_path(data.frame(), 2, cards=[2, 3, 5], method="bcd-l0")
    return {"table": path.table, "text": path.as_text(), "fits": dict(path.fits)}


@call("sparse coordinates")
def _spco(folder: Path) -> Any:
    fit = sp.spco(data.frame(), 2, zeros=0.3)
    return {
        "loadings": fit.loadings,
        "coordinates": fit.coordinates,
        "variance": fit.variance,
        "facts": [
            fit.penalty,
            fit.measure("cpev"),
            fit.measure("cpzc"),
            fit.status,
            fit.n_iter,
            fit.objective_value,
        ],
        "transform": fit.transform(data.frame(5, 3)),
        "print": str(fit),
    }


@call("comparison")
def _compare(folder: Path) -> Any:
    table = sp.compare({"bcd": pitprops(), "greedy": pitprops(method="greedy")})
    return {"frames": table.frames, "text": table.as_text(), "html": table.as_html()}


@call("repeated with changes")
def _refit(folder: Path) -> Any:
    fit = sp.spca(data.frame(), 2, 4, scale=True, method="bcd-l0")
    return {"fewer": fit.refit(card=2), "other": fit.refit(method="greedy", card=(3, 1))}


# --- what a fit gives ------------------------------------------------------------------------------


@call("new data")
def _new_data(folder: Path) -> Any:
    fit = sp.spca(
        data.mixed(),
        2,
        3,
        formula="~ a + site + log(size)",
        categorical="dummy",
        na="drop",
        scale=True,
        method="bcd-l0",
    )
    scores = fit.transform(data.mixed().iloc[10:16])
    return {"scores": scores, "back": fit.inverse_transform(scores)}


@call("scores in a second pass")
def _scores(folder: Path) -> Any:
    fit = sp.spca(data.chunks(), 2, 4, method="bcd-l0")
    fit.transform_to(folder / "scores.parquet")
    return pd.read_parquet(folder / "scores.parquet")


@call("diagnostics")
def _diagnostics(folder: Path) -> Any:
    fit = sp.spca(data.frame(), 2, 4, method="bcd-l0")
    names = ("correlations", "communalities", "component_shares", "residuals")
    found = {name: getattr(fit, name) for name in names}
    distances = fit.diagnostics()
    found |= {"t2": distances["T2"], "q_statistic": distances["Q"]}
    return {**found, "new": fit.diagnostics(data.frame(5, 3)), "limits": fit.limits(0.99)}


@call("summary")
def _summary(folder: Path) -> Any:
    fit, printed = sp.spca(data.frame(), 2, 4, method="bcd-l0"), io.StringIO()
    summary = fit.summary(digits=4)
    with contextlib.redirect_stdout(printed):
        print(fit.summary(tables="loadings", cut=0.2, sort=True, contributions=True))
    return {
        **{f"as {kind}": getattr(summary, f"as_{kind}")() for kind in ("text", "html", "latex", "markdown")},
        "print_loadings": printed.getvalue(),
        "equations": [str(fit.equations()), str(fit.equations(raw=True))],
    }


@call("save and load")
def _save(folder: Path) -> Any:
    fit = sp.spca(data.mixed(), 2, 2, formula="~ a + log(size) + c", scale=True, method="bcd-l0")
    fit.save(folder / "fit.spca", scores=True)
    loaded = sp.load(folder / "fit.spca")
    return {"fit": loaded, "scores of new rows": loaded.transform(data.mixed().iloc[:4])}


@call("tidy, glance and augment")
def _tidy(folder: Path) -> Any:
    fit = sp.spca(data.frame(), 2, 4, method="bcd-l0")
    return {
        "tidy": fit.tidy(zeros=True),
        "glance": fit.glance(),
        "augment": fit.augment(),
        "augment new": fit.augment(data.frame(4, 5)),
    }


@call("data of plots")
def _plots(folder: Path) -> Any:
    fit = sp.spca(data.frame(), 2, 4, method="bcd-l0")
    distances = sp.plots.plot_diagnostics_data(fit.diagnostics(), fit.limits())
    return {
        "biplot": fit.biplot_data(),
        "screeplot": sp.plots.screeplot_data(fit.variance, fit.eigenvalues),
        "plot_loadings": sp.plots.plot_loadings_data(fit.loadings),
        "plot_scores": sp.plots.plot_scores_data(fit.scores),
        "plot_diagnostics": {"points": distances, "limits": fit.limits()},
    }


@call("measures and data sets")
def _measures(folder: Path) -> Any:
    made = {
        "pitprops": sp.datasets.load_pitprops(),
        "sample": sp.datasets.pitprops_sample(20),
        "hastie": sp.datasets.make_hastie(20),
        "toy": sp.datasets.make_toy(20),
        "wide": sp.datasets.make_highdim(10, 80),
    }
    V = pitprops().loadings
    of = {name: getattr(sp.measures, name)(V, S=made["pitprops"]) for name in MEASURES}
    return {**made, "true loadings": sp.datasets.true_loadings(made["hastie"]), **of}


@call("scikit-learn")
def _sklearn(folder: Path) -> Any:
    from spcastat.sklearn import SparsePCA

    X = data.frame()
    estimator = SparsePCA(n_components=2, card=4, scale=True).fit(X)
    names = list(estimator.get_feature_names_out())
    return {"scores": estimator.transform(X), "score": estimator.score(X), "names": names}


@call("command line")
def _command(folder: Path) -> Any:
    from spcastat.cli import main

    rows, fit = data.csv(folder), str(folder / "cli.spca")
    lines = [
        ["fit", "pitprops", "--k", "6", "--card", "7,4,4,1,1,1"],
        ["fit", rows, "--k", "2", "--card", "4", "--scale", "--save", fit],
        ["transform", fit, rows],
        ["path", "pitprops", "--k", "2", "--cards", "2-5"],
        ["compare", rows, "--k", "2", "--cards", "3", "--methods", "bcd-l0,greedy"],
        ["methods"],
        ["datasets"],
        ["fit", rows, "--k", "99"],
    ]
    found = {}
    for line in lines:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(line)
        asked = " ".join(line).replace(str(folder), "FOLDER")
        found[asked] = {"exit": code, "out": out.getvalue(), "err": err.getvalue()}
    return found
