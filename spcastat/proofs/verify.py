"""Read a proof and its data, recompute the values of the loadings, and check the bounds with `checker`.

Like `checker`, this file shares no code with the search: it reads the rows itself, centres and scales them
by the numbers in the proof, and computes the covariance matrix with a bound on its rounding. It checks kind
and shape of every field before it computes anything. docs/proof_file.md describes the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from spcastat.proofs.checker import EPS, Ball, RefusedError, check, fields, listed, numbers, positive, require

#: The layout of the file.
LAYOUT = 1
#: Either single components, or a measure of all components together.
MEASURES = ("component", "adjusted", "pev", "least_squares")
#: The fields of the file.
FIELDS = (
    "layout",
    "measure",
    "columns",
    "data",
    "centre",
    "scale",
    "loadings",
    "bounds",
    "values",
    "witness",
)
#: Rows that are multiplied at a time; fewer rows, and their partial sums, have smaller rounding errors.
ROWS = 256
#: Largest asymmetry and smallest eigenvalue of a covariance matrix, as shares of its size.
TOLERANCE = 1e-8
#: Largest difference of a share of the total variance from the one in the file.
SAME = 1e-9
#: Longest name that is printed in full.
LONGEST = 60


@dataclass(frozen=True, eq=False)
class ProofFile:
    """The fields of a proof, checked for kind and shape.

    Attributes
    ----------
    measure : str
    columns : list of str
        p distinct names.
    data : {"rows", "covariance"}
    centre, scale : ndarray of shape (p,)
        Subtracted from the rows, which are then divided by `scale`; zeros and ones for a covariance matrix.
    V : ndarray of shape (p, k)
        The loadings.
    bounds, values : ndarray
        Shares of the total variance, bounded and attained: one per component, or one.
    witness : dict
        By key. `checker` checks a witness where it uses it.
    """

    measure: str
    columns: list[str]
    data: str
    centre: np.ndarray
    scale: np.ndarray
    V: np.ndarray
    bounds: np.ndarray
    values: np.ndarray
    witness: dict[str, Any]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object; refuse names that occur twice, of which readers keep either."""
    found = dict(pairs)
    require(len(found) == len(pairs), "a name occurs twice in an object")
    return found


def _no_number(text: str) -> None:
    raise RefusedError(f"{text} is not a number")


def parsed(text: str) -> ProofFile:
    """Return the fields of a proof; raise RefusedError if one is missing or has another kind or shape."""
    found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    layout, measure, columns, data, centre, scale, loadings, bounds, values, witness = fields(
        found, FIELDS, "the file"
    )
    require(type(layout) is int and layout == LAYOUT, f"the layout is not {LAYOUT}, the one that is known")
    require(isinstance(measure, str) and measure in MEASURES, f"the measure is none of {', '.join(MEASURES)}")
    require(isinstance(data, str) and data in ("rows", "covariance"), "data is neither rows nor covariance")
    require(isinstance(columns, list) and len(columns) > 0, "columns is not a list of names")
    p = len(columns)
    require(all(isinstance(name, str) for name in columns), "columns has an entry that is not a name")
    require(len(set(columns)) == p, "columns has a name twice")
    listed(loadings, p, "loadings")
    k = len(loadings[0]) if isinstance(loadings[0], list) else 0
    require(1 <= k <= p, f"the rows of loadings do not have 1 to {p} numbers")
    V = np.array([numbers(row, k, "a row of loadings") for row in loadings])
    require(bool(V.any(axis=0).all()), "a component has no loadings")
    count = k if measure == "component" else 1
    proof = ProofFile(
        measure=measure,
        columns=columns,
        data=data,
        centre=_unbounded(centre, p, "centre"),
        scale=_unbounded(scale, p, "scale"),
        V=V,
        bounds=numbers(bounds, count, "bounds"),
        values=numbers(values, count, "values"),
        witness=witness,
    )
    require(isinstance(witness, dict), "the witness is not an object")
    require(bool((proof.scale > 0).all()), "the scale is not positive")
    plain = not proof.centre.any() and bool((proof.scale == 1.0).all())
    require(data == "rows" or plain, "a covariance matrix has centre 0 and scale 1")
    return proof


def _unbounded(x: Any, count: int, what: str) -> np.ndarray:
    """Return finite numbers in units of the data, which may be larger than other numbers of a proof."""
    for one in listed(x, count, what):
        require(isinstance(one, (int, float)) and not isinstance(one, bool), f"{what} has no number")
    found = np.array([float(one) for one in x])
    require(bool(np.isfinite(found).all()), f"{what} is not finite")
    return found


def places(header: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the positions of columns by name; spaces around names count only where they tell two apart."""
    found = []
    for name in names:
        same = [j for j, one in enumerate(header) if one == name]
        same = same or [j for j, one in enumerate(header) if one.strip() == name.strip()]
        require(len(same) == 1, f"the data have no column {short(name)}, or several")
        found += same
    require(len(set(found)) == len(found), "two columns of the proof are the same column of the data")
    return found


def header_and_rows(data: Any, separator: str) -> tuple[list[str], pd.DataFrame]:
    """Return the names of the columns of a CSV file, and its further lines as text."""
    how: dict[str, Any] = {"sep": separator, "dtype": str, "header": None, "na_filter": False}
    table = pd.read_csv(data, encoding="utf-8-sig", **how)
    return table.iloc[0].tolist(), table.iloc[1:]


def read(data: str | PathLike[str], proof: ProofFile, separator: str = ",") -> np.ndarray:
    """Return the columns of the proof from a CSV file: rows, or the covariance matrix in its order."""
    header, body = header_and_rows(data, separator)
    at = places(header, proof.columns)
    X = np.column_stack([_column(body[j].to_numpy(), short(header[j])) for j in at])
    if proof.data == "rows":
        return X
    # the rows are in the order of the columns; the first columns may hold row labels
    labels = len(header) - len(body)
    require(labels >= 0 and min(at) >= labels, "the data are not a covariance matrix")
    if labels:
        given = [text.strip() for text in body[labels - 1]]
        same = given == [text.strip() for text in header[labels:]] or given == [*map(str, range(len(given)))]
        require(same, "the rows of the covariance matrix do not have the labels of its columns, in order")
    return X[np.array(at) - labels]


def _column(texts: np.ndarray, name: str) -> np.ndarray:
    """Return the numbers of a column of text; True and False are 1 and 0."""
    known = {"True": "1", "False": "0", "TRUE": "1", "FALSE": "0"}
    texts = np.array([known.get(text, text) for text in texts], dtype=object)
    require(not any("_" in text for text in texts), f"column {name} of the data has text")
    require(all(text.strip() for text in texts), f"column {name} of the data has missing values")
    try:
        X = texts.astype(float)
    except ValueError as error:
        raise RefusedError(f"column {name} of the data has text: {error}") from None
    require(bool(np.isfinite(X).all()), f"column {name} of the data has missing or infinite values")
    return X


def covariance(X: np.ndarray, data: str, centre: np.ndarray, scale: np.ndarray) -> Ball:
    """Return the covariance matrix of the data, divided by its trace up to rounding.

    Parameters
    ----------
    X : ndarray of shape (n, p), or (p, p) for a covariance matrix
    data : {"rows", "covariance"}
    centre, scale : ndarray of shape (p,)
    """
    require(X.shape[0] > 0, "the data have no rows")
    parts = [X[begin : begin + ROWS] for begin in range(0, len(X), ROWS)]
    largest = max(float(np.abs((part - centre) / scale).max()) for part in parts)
    require(1e-290 <= largest <= 1e307, "the data are all zero, or too small or large for squares")
    unit = -int(np.frexp(largest)[1])  # a power of two, so that nothing is rounded
    if data == "covariance":
        S = Ball(np.ldexp(X, unit))
        require(S.mid.shape[0] == S.mid.shape[1], "the data are not a covariance matrix")
        require(bool((np.abs(S.mid - S.mid.T) <= TOLERANCE).all()), "the data are not a covariance matrix")
        S = Ball(0.5 * (S.mid + S.mid.T), EPS * S.size)
        size = TOLERANCE * float(S.size) * np.eye(len(S.mid))
        positive(S + Ball(size), "the data are not a covariance matrix, which has no negative eigenvalues")
    else:
        S = Ball(np.zeros((X.shape[1], X.shape[1])))
        for part in parts:
            # the difference of two numbers, and the quotient, are each rounded once
            D = Ball(np.ldexp((part - centre) / scale, unit))
            D.rad = 2.0 * EPS * D.size
            product = D.T @ D
            S = S + Ball(product.mid, product.rad + 1e-280)
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


def proves(proof: ProofFile, S: Ball) -> list[float]:
    """Return what the loadings attain; raise RefusedError unless the proof holds for a covariance matrix."""

    def ask(key: str, asked: dict[str, Any]) -> Any:
        if key == "first" and key not in proof.witness:
            return []
        require(key in proof.witness, f"the witness has no {key!r}")
        return proof.witness[key]

    values = attained(S.mid, proof.V, proof.measure)
    # the allowed error is a share of the total variance
    close = np.abs(np.array(values) - proof.values) <= SAME
    require(bool(close.all()), f"the loadings attain {values}, and not {proof.values.tolist()}")
    require(bool((proof.bounds >= np.array(values) - SAME).all()), "the loadings exceed their bound")
    check(S, proof.V, proof.measure, proof.bounds.tolist(), ask)
    return values


def verify(proof: str | PathLike[str], data: str | PathLike[str], separator: str = ",") -> list[str]:
    """Check the proof in a file against a file of data.

    Parameters
    ----------
    proof : str or PathLike
        A file that ``certificate.save`` wrote.
    data : str or PathLike
        A CSV file with the columns of the fit: rows, or the covariance matrix.
    separator : str

    Returns
    -------
    list of str
        One sentence for each proven bound, and then what was proven about: the columns, and how they were
        centred and scaled. The proof chooses these, so that they are part of the verdict.

    Raises
    ------
    RefusedError
        If the proof does not prove its claim for these data.
    """
    with refusals():
        with open(proof, encoding="utf-8") as file:
            known = parsed(file.read())
        X = read(data, known, separator)
        S = covariance(X, known.data, known.centre, known.scale)
        values = proves(known, S)
        return [*_bounds(known, values), *_data(known, X)]


@contextmanager
def refusals() -> Iterator[None]:
    """Turn every error of malformed files into a RefusedError of one line."""
    malformed = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, np.linalg.LinAlgError)
    try:
        with np.errstate(all="ignore"):  # numbers that are not finite are refused where they arise
            yield
    except RefusedError as error:
        raise RefusedError(_line(str(error))) from None
    except UnicodeError:  # the file is no text
        raise
    except malformed as error:
        raise RefusedError(_line(f"{type(error).__name__}: {error}")) from error


def _line(text: str) -> str:
    """Return a message as one line of printable characters, and not a long one."""
    text = " ".join(text.split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 300 else f"{text[:297]}..."


def _bounds(proof: ProofFile, values: list[float]) -> list[str]:
    cards = np.count_nonzero(proof.V, axis=0).tolist()
    of = cards if proof.measure == "component" else ["-".join(map(str, cards))]
    text = "{}, {} nonzeros: {:.9f} of the total variance is attained, and at most {:.9f} is possible"
    rounded = np.ceil(proof.bounds * 1e9 - 1e-3) / 1e9  # up, except for the rounding of the product itself
    return [text.format(proof.measure, *one) for one in zip(of, values, rounded, strict=True)]


def _data(proof: ProofFile, X: np.ndarray) -> list[str]:
    """Return what the bounds are about: the columns, their centre and their scale."""
    names = [short(name) for name in proof.columns]
    lines = [f"{'rows and columns' if proof.data == 'covariance' else 'columns'}: {', '.join(names)}"]
    if proof.data == "covariance":
        return ["the data are a covariance matrix", *lines, "centre and scale: none"]
    unit = -int(np.frexp(np.abs(X).max())[1])  # a power of two, so that nothing is rounded
    Y, centre, scale = (np.ldexp(one, unit) for one in (X, proof.centre, proof.scale))
    spread = Y.std(axis=0, ddof=1) if len(X) > 1 else np.full(len(names), np.nan)
    near = 1e-9 * spread + 64 * EPS * np.abs(Y).max(axis=0)
    pairs = [f"{name} {number:.17g}" for name, number in zip(names, proof.centre.tolist(), strict=True)]
    if bool((np.abs(centre - Y.mean(axis=0)) <= near).all()):
        lines.append("centre: the mean of each column")
    else:
        lines.append(f"centre: {', '.join(pairs)}" if proof.centre.any() else "centre: none (0)")
    pairs = [f"{name} {number:.17g}" for name, number in zip(names, proof.scale.tolist(), strict=True)]
    if bool((np.abs(scale - spread) <= 1e-9 * spread).all()):
        lines.append("scale: the standard deviation of each column")
    else:
        lines.append(f"scale: {', '.join(pairs)}" if (proof.scale != 1.0).any() else "scale: none (1)")
    return [f"the data are {len(X)} rows", *lines]


def short(name: str) -> str:
    """Return a name in quotes, with all characters visible, shortened if it is long."""
    return repr(name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}...")
