"""Read a proof and its data, recompute the values of the loadings, and check the bounds with `checker`.

Like `checker`, this file shares no code with the search: it reads the rows itself, centres and scales them
by the numbers in the proof, and computes the covariance matrix with a bound on its rounding.
"""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from spcastat.certify.checker import EPS, Ball, RefusedError, check, require

#: The layout of the file.
LAYOUT = 1
#: Either single components, or a measure of all components together.
MEASURES = ("component", "adjusted", "pev", "least_squares")


def covariance(proof: dict[str, Any], data: str | PathLike[str], separator: str) -> Ball:
    """Return the covariance matrix of the data in a file, divided by its trace up to rounding."""
    table = pd.read_csv(data, sep=separator, dtype=str)
    columns = table.columns.astype(str).str.strip()
    for name in proof["columns"]:
        require(int((columns == name).sum()) == 1, f"the data have no column {name!r}, or several")
    at = columns.get_indexer(proof["columns"])
    X = np.array(table.iloc[:, at], dtype=float)
    centre, scale = np.array(proof["centre"], dtype=float), np.array(proof["scale"], dtype=float)
    require(bool(np.isfinite(X).all()), "the data have missing values")
    if proof["data"] == "covariance":
        # the rows are in the order of the columns; the first columns may hold row labels
        S = Ball(X[at - table.shape[1] + len(table)])
        require(bool(np.allclose(S.mid, S.mid.T, rtol=1e-12)), "the data are not a covariance matrix")
        S = Ball(0.5 * (S.mid + S.mid.T), EPS * S.size)
    else:
        require(bool((scale > 0).all()), "the scale is not positive")
        D = Ball((X - centre) / scale, 4.0 * EPS * Ball((np.abs(X) + np.abs(centre)) / scale).size)
        S = D.T @ D
    return S * (1.0 / np.trace(S.mid))


def attained(S: np.ndarray, V: np.ndarray, measure: str) -> list[float]:
    """Return shares of the total variance: of each component, or one share of all components together.

    For the measure "component", the share of a component is what it adds to the earlier components.
    """
    V = V / np.linalg.norm(V, axis=0)
    if measure == "pev":
        return [float(np.trace(S @ V @ np.linalg.pinv(V)))]
    if measure == "least_squares":
        return [float(np.trace(S @ V @ np.linalg.pinv(V.T @ S @ V) @ V.T @ S))]
    own = []
    for j, v in enumerate(V.T):
        before = V[:, :j]
        left = v - before @ (np.linalg.pinv(before.T @ S @ before) @ (before.T @ S @ v))
        own.append(float(left @ S @ left))
    return own if measure == "component" else [sum(own)]


def verify(proof: str | PathLike[str], data: str | PathLike[str], separator: str = ",") -> list[str]:
    """Check the proof in a file against a file of data; return one sentence for each proven bound.

    Parameters
    ----------
    proof : str or PathLike
        A file that ``certificate.save`` wrote.
    data : str or PathLike
        A CSV file with the columns of the fit: rows, or the covariance matrix.
    separator : str

    Raises
    ------
    RefusedError
        If the proof does not prove its claim for these data.
    """
    try:
        with open(proof, encoding="utf-8") as file:
            found = json.load(file)
        require(found["layout"] == LAYOUT, f"the layout is {found['layout']!r}, and {LAYOUT} is known")
        V, measure, bounds = np.array(found["loadings"], dtype=float), found["measure"], found["bounds"]
        require(measure in MEASURES, f"the measure is none of {', '.join(MEASURES)}")
        require(len(V) == len(found["columns"]) and bool(V.any(axis=0).all()), "loadings are missing")
        S = covariance(found, data, separator)
        values = attained(S.mid, V, measure)
        require(bool(np.isfinite(bounds).all()), "a bound is not finite")
        # the allowed error is a share of the total variance
        close = len(values) == len(bounds) and np.allclose(values, found["values"], rtol=0.0, atol=1e-9)
        require(bool(close), f"the loadings attain {values}, and not {found['values']}")
        check(S, V, measure, bounds, lambda key, asked: found["witness"][key])
    except (KeyError, TypeError, ValueError, IndexError, RecursionError, np.linalg.LinAlgError) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
    cards = np.count_nonzero(V, axis=0).tolist()
    of = cards if measure == "component" else ["-".join(map(str, cards))]
    text = "{}, {} nonzeros: {:.9f} of the total variance is attained, and at most {:.9f} is possible"
    return [text.format(measure, *one) for one in zip(of, values, bounds, strict=True)]
