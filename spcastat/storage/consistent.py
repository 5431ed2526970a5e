"""Whether the parts of a fit from a file belong together.

What a file says is believed only where it agrees with the rest of it: sizes with one another, variances with
the loadings, measures with the moments that they are computed from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from spcastat.missing import PpcaModel
from spcastat.operators import Standardisation
from spcastat.state.record import CENTRING, SCALING, Record
from spcastat.storage.recorded import real, require

#: Numbers that say the same agree to this share of the total variance: they were summed in other orders.
CLOSE = 1e-6
#: Scores whose correlation matrix has smaller eigenvalues are dependent: adjusted variances are rounding.
INDEPENDENT = 1e-6


def require_loadings(V: np.ndarray, record: Record) -> None:
    """Check that loadings are p x k finite numbers with columns of unit length, or zero.

    Raises
    ------
    FileError
    """
    shape = (record.p, record.k)
    require(V.shape == shape, f"its loadings have shape {V.shape}, not {shape}")
    lengths = np.sqrt(np.einsum("ij,ij->j", V, V))
    require(
        np.all((np.abs(lengths - 1.0) <= CLOSE) | (lengths == 0.0)), "its loadings are not of unit length"
    )


def require_standard(standard: Standardisation | None, record: Record) -> None:
    """Check that centre and scale are what the record says.

    Raises
    ------
    FileError
    """
    said = (record.centring, record.scaling)
    if standard is None:
        require(said == (None, None) and not record.from_rows, "it has no means and scales")
        return
    require((standard.centring, standard.scaling) == said, "it contradicts itself about centre and scale")
    require(said[0] in CENTRING and said[1] in SCALING, f"its centre and scale are {said}")
    for name, values in (("means", standard.mean), ("scales", standard.scale)):
        require(values.shape == (record.p,), f"its {name} have shape {values.shape}, not {(record.p,)}")
    require(np.all(standard.scale > 0), "its scales are not positive")
    require(said[0] != "none" or not standard.mean.any(), "it is not centred, and has means")
    require(said[1] != "none" or np.all(standard.scale == 1.0), "it is not scaled, and has scales")


def require_model(model: PpcaModel | None, record: Record) -> None:
    """Check that the model of missing values is one, and there where the record tells of it.

    Raises
    ------
    FileError
    """
    missing = record.missing
    em = missing is not None and missing["how"] == "em"
    require((model is not None) == em, "what it says of missing values does not go with their model")
    if model is None or missing is None:
        return
    shape = model.loadings.shape
    require(
        model.mean.shape == model.scale.shape == (record.p,) and shape == (record.p, missing["rank"]),
        "its model of missing values has another shape",
    )
    require(np.all(model.scale > 0), "its model of missing values has scales that are not positive")
    require(real(model.sigma2) and model.sigma2 > 0, "its model of missing values has no noise")


def require_moments(
    V: np.ndarray, held: Mapping[str, Any], measures: Mapping[str, np.ndarray], record: Record
) -> None:
    """Check that variances and measures are possible, and agree with one another and with the loadings.

    Raises
    ------
    FileError
    """
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
        require(found == shape, f"its {name} have shape {found}, not {shape}")
    for name, values in measures.items():
        require(values.shape == (k,), f"its measure {name!r} has shape {values.shape}, not {(k,)}")
    total = held["total"]
    require(real(total) and total > 0, "its total variance is not a positive number")
    told = (*_moments(V, held, total), *_measures(held, measures, total), *_shares(V, held, measures, total))
    for what, right in told:
        require(right, what)
    unit = held.get("unit", 1.0)  # files of the first versions know of none
    require(real(unit) and 0.0 < unit < np.inf and np.frexp(unit)[0] == 0.5, "its unit is not a power of two")
    share = record.objective_share
    if share is not None:
        same = abs(share * total - record.objective) <= CLOSE * max(abs(record.objective), total)
        require(same, "its objective is another share of the total variance")


def _moments(V: np.ndarray, held: Mapping[str, Any], total: float) -> Iterator[tuple[str, bool]]:
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


def _measures(
    held: Mapping[str, Any], measures: Mapping[str, np.ndarray], total: float
) -> Iterator[tuple[str, bool]]:
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
        yield "its residuals have no traces", traces.shape == (3,) and bool(traces[0] >= -CLOSE * whole)
        if pev is not None and traces.shape == (3,):
            yield "its residuals have another trace", _near(traces[0] / whole, 1.0 - pev[-1], CLOSE)
            # the eigenvalues are not negative: sum of squares <= squared sum, and so on
            second, third = traces[1] / whole**2, traces[2] / whole**3
            first = traces[0] / whole
            yield "its residuals have no such squares", bool(-CLOSE <= second <= first**2 + CLOSE)
            yield "its residuals have no such cubes", bool(-CLOSE <= third <= first * second + CLOSE)


def _shares(
    V: np.ndarray, held: Mapping[str, Any], measures: Mapping[str, np.ndarray], total: float
) -> Iterator[tuple[str, bool]]:
    """Yield whether PEV and least squares of the first components, too, are those of the loadings."""
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


def require_scores(values: np.ndarray, C: np.ndarray, record: Record) -> None:
    """Check that scores are as many as the rows, and vary as the moments say.

    Parameters
    ----------
    values : ndarray of shape (n, k)
    C : ndarray of shape (k, k)
        Their covariance matrix.
    record : Record

    Raises
    ------
    FileError
    """
    shape = (record.n, record.k)
    require(record.from_rows, "it has scores, and no rows")
    require(values.shape == shape, f"its scores have shape {values.shape}, not {shape}")
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
        require(least >= -near, "its scores vary more than its variances say")
        return
    require(_near(covariance, C, near), "its scores do not vary as its variances say")


def _near(found: Any, expected: Any, slack: float) -> bool:
    return bool(np.all(np.abs(found - expected) <= slack))


def _all(right: Any) -> bool:
    return bool(np.all(right))
