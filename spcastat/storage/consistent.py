"""Whether the parts of a fit from a file belong together.

What a file says is believed only where it agrees with the rest of it: sizes with one another, variances with
the loadings, measures with the moments that they are computed from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FileError
from spcastat.intake import Spec
from spcastat.missing import PpcaModel
from spcastat.operators import Standardisation
from spcastat.state.record import CENTRING, SCALING, Record
from spcastat.storage.recorded import real

#: Numbers that say the same agree to this share of the total variance: they were summed in other orders.
CLOSE = 1e-6
#: Scores whose correlation matrix has smaller eigenvalues are dependent: adjusted variances are rounding.
INDEPENDENT = 1e-6

#: What would be wrong, and whether it is right.
Checks = Iterator[tuple[str, Any]]


def require_consistent(
    V: np.ndarray,
    record: Record,
    spec: Spec,
    standard: Standardisation | None,
    model: PpcaModel | None,
    held: Mapping[str, Any],
    measures: Mapping[str, np.ndarray],
    scores: pd.DataFrame | None,
) -> None:
    """Check that the parts of a fit are possible, and agree with one another.

    Parameters
    ----------
    V : ndarray of shape (p, k)
    record : Record
    spec : Spec
    standard : Standardisation or None
    model : PpcaModel or None
    held : mapping
        The moments.
    measures : mapping of str to ndarray of shape (k,)
    scores : DataFrame, n x k, or None

    Raises
    ------
    FileError
        At the first that is wrong.
    """
    checks = chain(
        _loadings(V, record),
        _standard(standard, record),
        _shapes(V, held, measures, record),
        _moments(V, held),
        _measures(held, measures),
        _shares(V, held, measures),
        _spec(spec, record),
        _scores(scores, held, record),
        _model(model, record),
    )
    for what, right in checks:  # one after the other: those that follow rely on those before
        if not right:
            raise FileError(f"{what}.")


def _loadings(V: np.ndarray, record: Record) -> Checks:
    """Yield whether loadings are p x k numbers with columns of unit length, or zero."""
    shape = (record.p, record.k)
    yield f"its loadings have shape {V.shape}, not {shape}", V.shape == shape
    lengths = np.sqrt(np.einsum("ij,ij->j", V, V))
    unit = (np.abs(lengths - 1.0) <= CLOSE) | (lengths == 0.0)
    yield "its loadings are not of unit length", _all(unit)


def _standard(standard: Standardisation | None, record: Record) -> Checks:
    """Yield whether centre and scale are what the record says."""
    said = (record.centring, record.scaling)
    if standard is None:
        yield "it has no means and scales", said == (None, None) and not record.from_rows
        return
    yield "it contradicts itself about centre and scale", (standard.centring, standard.scaling) == said
    yield f"its centre and scale are {said}", said[0] in CENTRING and said[1] in SCALING
    for name, values in (("means", standard.mean), ("scales", standard.scale)):
        yield f"its {name} have shape {values.shape}, not {(record.p,)}", values.shape == (record.p,)
    yield "its scales are not positive", _all(standard.scale > 0)
    yield "it is not centred, and has means", said[0] != "none" or not standard.mean.any()
    yield "it is not scaled, and has scales", said[1] != "none" or _all(standard.scale == 1.0)


def _spec(spec: Spec, record: Record) -> Checks:
    """Yield whether columns are told apart, and the formula is that of the record."""
    yield "two of its columns have one name", spec.columns.is_unique
    yield "it names two formulas", spec.formula == record.formula
    yield "it lacks its formula", (spec.kind == "formula") == (spec.formula is not None)


def _model(model: PpcaModel | None, record: Record) -> Checks:
    """Yield whether the model of missing values is one, and there where the record tells of it."""
    missing = record.missing
    em = missing is not None and missing["how"] == "em"
    yield "what it says of missing values does not go with their model", (model is not None) == em
    if model is None or missing is None:
        return
    sizes = (model.mean.shape, model.scale.shape, model.loadings.shape)
    expected = ((record.p,), (record.p,), (record.p, missing["rank"]))
    yield "its model of missing values has another shape", sizes == expected
    yield "its model of missing values has scales that are not positive", _all(model.scale > 0)
    yield "its model of missing values has no noise", real(model.sigma2) and model.sigma2 > 0


def _shapes(
    V: np.ndarray, held: Mapping[str, Any], measures: Mapping[str, np.ndarray], record: Record
) -> Checks:
    """Yield whether moments have their shapes, and their units are possible."""
    p, k = V.shape
    shapes: dict[str, tuple[int, ...]] = {
        "variances": (p,),
        "coupling": (p, k),
        "scores": (k, k),
        "adjusted": (k,),
        "explained": (p,),
        "pca": (k,),
    }
    for name, shape in shapes.items():
        found = np.shape(held[name])
        yield f"its {name} have shape {found}, not {shape}", found == shape
    for name, values in measures.items():
        yield f"its measure {name!r} has shape {values.shape}, not {(k,)}", values.shape == (k,)
    total, unit = held["total"], held.get("unit", 1.0)  # files of the first versions know of no unit
    numbers = real(total), real(unit)
    yield "its total variance is not a positive number", numbers[0] and total > 0
    power = numbers[1] and 0.0 < unit < np.inf and np.frexp(unit)[0] == 0.5
    yield "its unit is not a power of two", power
    traces = held["residual_traces"]
    yield "its residuals have no traces", traces is None or np.shape(traces) == (3,)
    share = record.objective_share
    if share is not None:
        same = abs(share * total - record.objective) <= CLOSE * max(abs(record.objective), total)
        yield "its objective is another share of the total variance", same


def _moments(V: np.ndarray, held: Mapping[str, Any]) -> Checks:
    """Yield whether variances are possible, and agree with one another and with the loadings."""
    total = held["total"]
    variances, coupling, C = held["variances"], held["coupling"], held["scores"]
    adjusted, explained, pca = held["adjusted"], held["explained"], held["pca"]
    slack = CLOSE * total
    yield "its variances are negative", _all(variances >= -slack)
    yield "its variances are not those of its total", _near(variances.sum(), total, slack)
    yield "its scores do not vary as the loadings say", _near(V.T @ coupling, C, slack)
    yield "its covariances of scores are not symmetric", _near(C, C.T, slack)
    # Cauchy-Schwarz: cov(x, t)^2 <= var x var t
    bound = np.outer(variances.clip(min=0.0), np.diag(C).clip(min=0.0))
    yield "variables and scores correlate beyond 1", _all(coupling**2 <= bound * (1 + CLOSE) + slack**2)
    yield "its adjusted variances are negative", _all(adjusted >= -slack)
    yield "its adjusted variances exceed those of the scores", _all(adjusted <= np.diag(C) + slack)
    yield "what is explained exceeds the variances", _all(explained <= variances + slack)
    yield "what is explained is negative", _all(explained >= -slack)
    yield "its variances of PCA are negative", _all(pca >= -slack)
    yield "its variances of PCA increase", _all(np.diff(pca) <= slack)
    yield "its variances of PCA exceed the total", bool(pca.sum() <= total + slack)
    expected = _adjusted(C)
    yield (
        "its adjusted variances are not those of its scores",
        expected is None or _near(adjusted, expected, slack),
    )


def _measures(held: Mapping[str, Any], measures: Mapping[str, np.ndarray]) -> Checks:
    """Yield whether measures are those of the moments."""
    total = held["total"]
    adjusted, pca, traces = np.cumsum(held["adjusted"]), np.cumsum(held["pca"]), held["residual_traces"]
    expected = {"adjusted": adjusted / total, "relative_adjusted": adjusted / pca}
    pev = measures.get("pev")
    if pev is not None:
        expected["rre"] = np.sqrt((1.0 - pev).clip(min=0.0))
        yield "it explains more than PCA can", _all(pev <= pca / total + CLOSE)
    for name, values in measures.items():
        if name in ("pev", "least_squares"):
            yield f"its measure {name!r} is not a share", _all((values >= -CLOSE) & (values <= 1 + CLOSE))
            yield f"its measure {name!r} decreases", _all(np.diff(values) >= -CLOSE)
        if name in expected and _all(np.isfinite(expected[name])):
            # a root: where nothing is left, rounding of 1e-16 in the share is 1e-8 here
            near = math.sqrt(CLOSE) if name == "rre" else CLOSE
            yield f"its measure {name!r} is not that of its variances", _near(values, expected[name], near)
    if "least_squares" in measures:
        share = held["explained"].sum() / total
        yield "its least-squares share is another", _near(measures["least_squares"][-1], share, CLOSE)
    if traces is not None:
        whole = total / held.get("unit", 1.0) ** 2  # the traces are those of the data over `unit`
        yield "its residuals have a negative trace", bool(traces[0] >= -CLOSE * whole)
        if pev is not None:
            yield "its residuals have another trace", _near(traces[0] / whole, 1.0 - pev[-1], CLOSE)
            # the eigenvalues are not negative: sum of squares <= squared sum, and so on
            second, third = traces[1] / whole**2, traces[2] / whole**3
            first = traces[0] / whole
            yield "its residuals have no such squares", bool(-CLOSE <= second <= first**2 + CLOSE)
            yield "its residuals have no such cubes", bool(-CLOSE <= third <= first * second + CLOSE)


def _shares(V: np.ndarray, held: Mapping[str, Any], measures: Mapping[str, np.ndarray]) -> Checks:
    """Yield whether PEV and least squares of the first components, too, are those of the loadings."""
    total = held["total"]
    C, coupling = held["scores"] / total, held["coupling"] / total  # squares stay within the range of numbers
    for name, M, T in (("pev", V.T @ V, C), ("least_squares", C, coupling.T @ coupling)):
        if name in measures and _adjusted(M) is not None:
            root = np.linalg.cholesky(M)
            shares = np.diag(np.linalg.solve(root, np.linalg.solve(root, T).T))
            right = _near(measures[name], shares.cumsum(), CLOSE)
            yield f"its measure {name!r} is not that of its loadings", right


def _adjusted(C: np.ndarray) -> np.ndarray | None:
    """Return the adjusted variances of scores with covariance matrix C, None where it is near singular."""
    sd = np.sqrt(np.diag(C))
    if not np.all(sd > 0) or np.linalg.eigvalsh(C / np.outer(sd, sd))[0] < INDEPENDENT:
        return None
    return np.diag(np.linalg.cholesky(C)) ** 2


def _scores(scores: pd.DataFrame | None, held: Mapping[str, Any], record: Record) -> Checks:
    """Yield whether scores are as many as the rows, and vary as the moments say."""
    if scores is None:
        return
    values, C, shape = scores.to_numpy(), held["scores"], (record.n, record.k)
    yield "it has scores, and no rows", record.from_rows
    yield f"its scores have shape {values.shape}, not {shape}", values.shape == shape
    if record.weighted or record.centring != "mean" or len(values) < 2:
        return
    # single precision has 7 digits
    near = 1e-4 * max(float(np.diag(C).max()), 0.0)
    if record.missing is not None and record.missing["how"] == "pairwise":
        return  # variances and scores are not of the same rows
    found = values - values.mean(axis=0)
    covariance = found.T @ found / (len(values) - 1)
    if record.missing is not None:  # conditional means vary less than the values, never more
        least = float(np.linalg.eigvalsh(C - covariance)[0])
        yield "its scores vary more than its variances say", least >= -near
        return
    yield "its scores do not vary as its variances say", _near(covariance, C, near)


def _near(found: Any, expected: Any, slack: float) -> bool:
    return bool(np.all(np.abs(found - expected) <= slack))


def _all(right: Any) -> bool:
    return bool(np.all(right))
