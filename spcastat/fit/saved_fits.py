"""Saving and loading a fit: the parts of its file, and their checks.

The checksums of the archive detect damage. The checks here detect files that were not written by this
package: parts of another type, shape or size, and missing parts. Whether the numbers are right cannot be
checked without the data.

A file states the version of its layout, `VERSION`. Within a layout, parts that older versions of the package
did not write get defaults, and parts that newer versions added are ignored. A layout that older versions
would misread gets a new number.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import pandas as pd

from spcastat.config import flag
from spcastat.errors import FileError, OptionError
from spcastat.fit import rows
from spcastat.fit.archive import Archive, as_path, file_path, read_archive, write_archive, write_file
from spcastat.fit.inputs import Source
from spcastat.fit.moments import Moments
from spcastat.fit.record import (
    CENTRING,
    JOINT,
    SCALING,
    SCOPES,
    SPARSE_LOADINGS,
    Bootstrapped,
    HalfSamples,
    LastResults,
    Proven,
    Record,
    Split,
    Tested,
)
from spcastat.fit.saved_formulas import pack_spec, unpack_spec
from spcastat.fit.saved_values import (
    Array,
    has_type,
    pack_index,
    require_array,
    require_fields,
    unpack_index,
)
from spcastat.fit.starts import Screening
from spcastat.fit.state import FitState, rule_of
from spcastat.linalg.standardisation import NAMED, Standardisation
from spcastat.measures import MEASURES
from spcastat.reading.missing_values import PpcaModel
from spcastat.reading.row_design import RowDesign, order_mark
from spcastat.solvers.solver import ADVICE, Grouping, Searched, Sparser
from spcastat.version import __version__

# --- what a file holds ----------------------------------------------------------------------------


FORMAT = "spcastat fit"
#: Version of the layout. 1 and 2 are those of versions before the first release, and are not read.
VERSION = 3
#: Tolerance for unit lengths and correlations.
CLOSE = 1e-6


class _Missing(TypedDict):
    cells: int
    rows: int


class _Em(_Missing):
    how: Literal["em"]
    converged: bool
    patterns: int
    iterations: int
    rank: int


class _Pairwise(_Missing):
    how: Literal["pairwise"]
    fewest: float
    smallest: float
    moved: float
    largest: float


class _Matrix(TypedDict, total=False):
    kind: str
    n_obs: int
    n_pairs_min: int
    smallest: float
    moved: float
    largest: float
    pair: tuple[str, str]


class _Groups(TypedDict):
    kind: str
    names: list[str]
    of: list[int]


class _Options(TypedDict, total=False):
    card: int | list[int] | None
    variance: float | None
    include: list[list[int]] | None
    exclude: list[list[int]] | None
    disjoint: bool
    together: list[tuple[str, list[int]]] | None


class _Record(TypedDict, total=False):
    """Types of the fields of a record that are dicts or nested lists."""

    options: _Options
    optima: list[tuple[float, int]]
    screening: Screening | None
    missing: _Em | _Pairwise | None
    matrix: _Matrix | None
    groups: _Groups | None
    evidence: Searched | Sparser | Grouping | None


class _Proof(TypedDict):
    scope: str
    measure: str
    orthogonal: bool
    rows: list[dict[str, Any]]


class _Row(TypedDict):
    """What the rows of all proofs have; a gap may be infinite."""

    value: float
    upper_bound: float
    seconds: float
    best_known: float
    gap: Any
    nodes: int
    proof: str
    optimal: bool


class _ComponentRow(_Row):
    cardinality: int
    support: list[int]


class _JointRow(_Row):
    measure: str
    cardinalities: list[int]
    pca_bound: float
    open: int
    supports: list[list[int]]


_SIMILARITY = Array("f", ("draws", "k"), 0, 1 + CLOSE)
_PLACES = Array("i", ("m",), 0, "places")
_POSITIVE = float(np.finfo(float).tiny)
_MEAN_AND_SCALE = {"mean": Array("f", ("p",)), "scale": Array("f", ("p",), _POSITIVE)}
#: Part of a file -> its arrays.
_ARRAYS: dict[str, dict[str, Array]] = {
    "standard": _MEAN_AND_SCALE,
    "model": {**_MEAN_AND_SCALE, "loadings": Array("f", ("p", "rank"))},
    "moments": {
        **dict.fromkeys(("variances", "explained"), Array("f", ("p",))),
        **dict.fromkeys(("adjusted", "pca"), Array("f", ("k",))),
        "coupling": Array("f", ("p", "k")),
        "scores": Array("f", ("k", "k")),
        "residual_traces": Array("f", (3,), -1e60, 1e60),  # sums of powers of variances near 1
    },
    "measures": dict.fromkeys(MEASURES, Array("f", ("k",))),
    "design": dict.fromkeys(("clusters", "strata"), Array("i", ("n",), 0, "n")),
    "bootstrap": {
        "places": _PLACES,
        "values": Array("f", ("draws", "m")),
        **dict.fromkeys(("variances", "whole", "of_fit"), Array("f", ("draws", "k"), 0)),
        "similarity": _SIMILARITY,
        "factors": Array("f", ("draws",), 0),
    },
    "stability": {
        "places": _PLACES,
        "chosen": Array("b", ("draws", "m")),
        "similarity": _SIMILARITY,
        "clusters": Array("i", ("p",), 0, "last"),
        "associates": Array("f", ("pairs", 4), -1, "places"),
    },
    "split": {
        "places": _PLACES,
        "loadings": Array("f", ("m",), -1 - CLOSE, 1 + CLOSE),
        "correlation": Array("f", ("m",), -1 - CLOSE, 1 + CLOSE, nan=True),
        "std_error": Array("f", ("m",), 0, nan=True),
        "p_value": Array("f", ("p", "k"), 0, 1, nan=True),
        **dict.fromkeys(("variances", "variance_errors"), Array("f", ("k",), 0)),
        "similarity": Array("f", ("k",), 0, 1 + CLOSE),
    },
    "tests": {
        "statistic": Array("f", ("p", "k"), -1 - CLOSE, 1 + CLOSE),
        **dict.fromkeys(("p_value", "q_value"), Array("f", ("p", "k"), 0, 1, nan=True)),
    },
}
#: Arrays that may be missing.
_OPTIONAL = {
    "moments: residual_traces",
    "bootstrap: of_fit",
    "bootstrap: factors",
    "design: clusters",
    "design: strata",
    *(f"measures: {name}" for name in MEASURES if name not in ("pev", "least_squares")),
}
#: Name of a resampling method in a file -> class of its results.
RESAMPLED: dict[str, Any] = {
    "bootstrap": Bootstrapped,
    "stability": HalfSamples,
    "split": Split,
    "tests": Tested,
}
#: Ranges of the numbers of resampling.
_RANGES = {
    **dict.fromkeys(("asked", "draws", "repeats"), (1, np.inf)),
    "again": (0, np.inf),
    "threshold": (0.5, 1),
    "groups": (0, 1),
}

# --- saving ---------------------------------------------------------------------------------------


def save(
    state: FitState, source: Source | None, path: str | os.PathLike[str], scores: bool | None = None
) -> None:
    """Save the fit to one file, which :func:`spcastat.load` reads; see :meth:`spcastat.SpcaResult.save`."""
    stream = None if source is None or state.scores is not None else source.stream
    demanded = False if scores is None else flag("scores", scores)
    scores = stream is None if scores is None else demanded
    if scores and stream is not None:
        write = "fit.transform_to(path)" if stream.local else "fit.scores.to_parquet(folder)"
        raise OptionError(
            f"scores=True was given, and the scores of {state.record.title_of_data} are never all in "
            f"memory: write them with {write}, and save the fit without them."
        )
    with_rows = state.record.from_rows and (source is not None or state.scores is not None)
    if demanded and not with_rows:
        raise OptionError("scores=True was given, and this fit has neither rows nor scores; leave it out.")
    target = file_path(path)
    if source is not None:
        source.spare(target)
    if state.pattern is None:
        arrays = {"loadings": state.V}
    else:
        arrays = {"weights": state.V, "loadings": state.pattern}
    moments, measures = state.moments.kept()
    content: dict[str, Any] = {
        "record": dataclasses.asdict(state.record.written()),
        "standard": _packed("standard", state.standard, arrays),
        "model": _packed("model", state.model, arrays),
        "moments": _packed("moments", moments, arrays),
        "measures": _packed("measures", measures, arrays),
        "design": _packed("design", _with_mark(state, source), arrays),
        "spec": pack_spec(state.spec, arrays),
        "proofs": [dataclasses.asdict(one) for one in state.proofs],
        "resampled": {name: _packed(name, getattr(state.resampled, name), arrays) for name in RESAMPLED},
    }
    if scores and with_rows:
        frame = rows.scores(state, source)
        arrays["scores"] = frame.to_numpy()
        content["rows"] = pack_index(frame.index, "rows", arrays, "labels of rows")
    about: dict[str, Any] = {"form": FORMAT, "version": VERSION, "writer": __version__}
    write_file(target, partial(write_archive, **about, content=content, arrays=arrays))


def _packed(part: str, values: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Return the values of a dict or dataclass as JSON, without its arrays, which are added to `arrays`."""
    if values is None:
        return None
    names = list(values) if isinstance(values, dict) else [one.name for one in dataclasses.fields(values)]
    named = {name: values[name] if isinstance(values, dict) else getattr(values, name) for name in names}
    arrays |= {f"{part}.{name}": one for name, one in named.items() if isinstance(one, np.ndarray)}
    plain = {name: one for name, one in named.items() if not isinstance(one, np.ndarray)}
    return {name: float(one) if isinstance(one, float) else one for name, one in plain.items()}


# --- loading --------------------------------------------------------------------------------------


def _with_mark(state: FitState, source: Source | None) -> RowDesign | None:
    """Return the design of the rows with a mark of their order, by which it is recognised again."""
    design = state.design
    if design is None or source is None or source.matrix is None or source.standard is None:
        return design
    scores = source.standard.project(source.matrix, state.V[:, :1])[:, 0]
    return dataclasses.replace(design, mark=order_mark(np.nan_to_num(scores)))


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    where = as_path(path)
    archive = read_archive(where, FORMAT, VERSION)
    try:
        return _restore(archive.content, archive.arrays)
    except FileError as error:
        raise _unusable(where, archive, str(error)) from None
    except MemoryError:
        raise FileError(f"{where} cannot be read: it takes more memory than there is.") from None
    except Exception as error:  # not damaged, but not written by this package
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise _unusable(where, archive, f"it lacks a part, or has one of another type ({reason})") from error


def _unusable(path: Path, archive: Archive, reason: str) -> FileError:
    """Return the error for an undamaged file with invalid contents."""
    record = archive.content.get("record")
    call = record.get("call") if isinstance(record, dict) else None
    advice = "fit again and save" + (f" ({call})" if isinstance(call, str) and 0 < len(call) <= 1000 else "")
    if archive.writer and archive.writer != __version__:
        advice = f"read it with spcastat {archive.writer}, which wrote it, or {advice}"
    reason = reason.rstrip(".")
    return FileError(f"{path} cannot be used: {reason}. This is spcastat {__version__}; {advice}.")


def _restore(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FitState:
    record = record_of(content["record"])
    sizes = sizes_of(record)
    parts = {
        name: _part(name, content.get(name), arrays)
        for name in ("standard", "model", "moments", "measures", "design")
    }
    for name, found in parts.items():
        if found is not None:
            _require_arrays(name, found, sizes)
    if parts["design"] is not None:
        require_fields(RowDesign, parts["design"], "design")
    trust = {name: _part(name, content["resampled"].get(name), arrays) for name in RESAMPLED}
    require_resampled(trust, sizes)
    if trust["split"] is not None:
        trust["split"]["rows"] = tuple(trust["split"]["rows"])
    require_proofs(content["proofs"], sizes)
    _require_agreement(record, parts, sizes)
    V, pattern = _loadings(arrays, parts["moments"] or {}, record, sizes)
    state = FitState(
        V,
        record,
        Moments.stored(V, parts["moments"] or {}, parts["measures"] or {}),
        unpack_spec(content["spec"], arrays, record.p),
        _made(Standardisation, parts["standard"]),
        model=_made(PpcaModel, parts["model"]),
        proofs=tuple(_made(Proven, one) for one in content["proofs"]),
        resampled=LastResults(**{name: _made(RESAMPLED[name], one) for name, one in trust.items()}),
        design=_made(RowDesign, parts["design"]),
        pattern=pattern,
    )
    if pattern is None:
        rule_of(record)  # raises for options that make no rule
    if "rows" not in content:
        return state
    scores = arrays["scores"]
    require_array(Array("f", ("n", "k"), nan=True), scores, sizes, "scores")
    index = unpack_index(content["rows"], arrays, len(scores))
    return dataclasses.replace(state, scores=pd.DataFrame(scores, index, state.components))


def _loadings(
    arrays: Mapping[str, np.ndarray], moments: Mapping[str, Any], record: Record, sizes: dict[str, int]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return unit loadings and None; for a fit of sparse loadings its weights, and these loadings.

    Weights give scores of unit variance without correlations, and loadings are their covariances with the
    variables, or zero.
    """
    loadings = arrays["loadings"]
    if ("weights" in arrays) != (record.method == SPARSE_LOADINGS):
        raise FileError("its method does not go with its arrays.")
    if record.method != SPARSE_LOADINGS:
        require_array(Array("f", ("p", "k"), -1 - CLOSE, 1 + CLOSE), loadings, sizes, "loadings")
        return loadings, None
    weights, coupling = arrays["weights"], moments["coupling"]
    for name, found in {"loadings": loadings, "weights": weights}.items():
        require_array(Array("f", ("p", "k")), found, sizes, name)
    with np.errstate(all="ignore"):  # the numbers of a file may be of any size
        allowed = CLOSE * np.sqrt(moments["variances"].clip(min=0.0))[:, None]
        differing = (loadings != 0) & ~(np.abs(loadings - coupling) <= allowed)
        correlated = ~(np.abs(weights.T @ coupling - np.eye(record.k)) <= CLOSE)
    if differing.any() or correlated.any() or not loadings.any(axis=0).all():
        raise FileError("its sparse loadings do not go with its weights and covariances.")
    return weights, loadings


def _part(part: str, given: Any, arrays: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
    """Return the values of a part with its arrays; None for None."""
    if given is None:
        return None
    names = [name for name in _ARRAYS[part] if f"{part}.{name}" in arrays]
    return {**given, **{name: arrays[f"{part}.{name}"] for name in names}}


def _require_arrays(part: str, found: Mapping[str, Any], sizes: dict[str, int]) -> None:
    """Check the arrays of a part."""
    for name, kind in _ARRAYS[part].items():
        what = f"{part}: {name}"
        if found.get(name) is not None or what not in _OPTIONAL:
            require_array(kind, found.get(name), sizes, what)


def _made(kind: Any, parts: Mapping[str, Any] | None) -> Any:
    """Return a dataclass, made from the parts that have the names of its fields; None for None."""
    names = {one.name for one in dataclasses.fields(kind)}
    return None if parts is None else kind(**{name: one for name, one in parts.items() if name in names})


# --- checks ---------------------------------------------------------------------------------------


def sizes_of(record: Record) -> dict[str, int]:
    """Return the sizes that a record states."""
    sizes = {"p": record.p, "k": record.k, "last": record.p - 1, "places": record.p * record.k - 1}
    return sizes if record.n is None else {**sizes, "n": record.n}


def record_of(given: Any) -> Record:
    """Return the record in a file: unknown fields are ignored, missing fields get their defaults.

    Raises
    ------
    FileError
        If a field without a default is missing, or a value is not valid.
    """
    require_fields(Record, given, "record")
    require_fields(_Record, given, "record")
    record = Record(**{one.name: given[one.name] for one in dataclasses.fields(Record) if one.name in given})
    p, k, names, groups, evidence = record.p, record.k, record.names, record.groups, record.evidence
    together = record.options.get("together")
    for what, right in {
        "it has more components than variables": 1 <= k <= p,
        "it has rows, and not how many": not record.from_rows or (record.n and record.effective_n),
        "its numbers of rows are negative": min(record.n or 1, record.dropped, record.n_iter) >= 0,
        "it has no rows, and says how many values are missing": record.from_rows or record.missing is None,
        "its status is unknown": record.status in ADVICE,
        "its centre is unknown": record.centring in {None, *CENTRING},
        "its scale is unknown": record.scaling in {None, *SCALING},
        "its components have no names": names is None or len({*names}) == len(names) == k,
        "its details are not those of its components": all(len(one) == k for one in record.details.values()),
        "its groups of variables do not share them out": (together is None or _partition(together, p))
        and (groups is None or _numbered(groups, p)),
        "its evidence is impossible": evidence is None or _possible(evidence, p),
    }.items():
        if not right:
            raise FileError(f"its record: {what}.")
    return record


def _possible(evidence: Mapping[str, Any], p: int) -> bool:
    """Return whether the numbers of a report on a search lie in their ranges."""
    counts = [evidence.get(name, 1) for name in ("starts", "chains", "groups", "fitted", "nonzeros")]
    searched = evidence.get("variables")
    return (
        min(counts) >= 1
        and min(evidence.get("hits", 0), evidence.get("agreeing", 0)) >= 0
        and 0 <= evidence.get("unseen", 0) <= 1
        and (searched is None or 1 <= searched <= p)
    )


def _partition(groups: list[Any], p: int) -> bool:
    """Return whether groups, a list of (name, positions of the variables), have each variable once."""
    return sorted(j for _, members in groups for j in members) == list(range(p))


def _numbered(groups: Mapping[str, Any], p: int) -> bool:
    """Return whether groups that share a scale name the group of each variable, -1 for none."""
    of = groups["of"]
    return groups["kind"] in NAMED and len(of) == p and min(of) >= -1 and max(of) < len(groups["names"])


def _require_agreement(record: Record, parts: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Raise FileError if parts of a file contradict each other."""
    standard, missing, moments = parts["standard"], record.missing, parts["moments"]
    said = (None, None) if standard is None else (standard["centring"], standard["scaling"])
    rank = missing["rank"] if missing is not None and missing["how"] == "em" else None
    block = None if parts["design"] is None else parts["design"].get("block_length")
    for what, right in {
        "it contradicts itself about centre and scale": said == (record.centring, record.scaling),
        "it has no means and scales": standard is not None or not record.from_rows,
        "its missing values do not go with their model": rank == sizes.get("rank"),
        "its model has no noise": parts["model"] is None
        or (has_type(parts["model"]["sigma2"], float) and parts["model"]["sigma2"] > 0),
        "its total variance is not positive": all(
            has_type(moments[name], float) and moments[name] >= _POSITIVE for name in ("total", "unit")
        ),
        "its unit is out of range": 1e-154 < moments["unit"] < 1e154,
        "its block length is not a number of rows": block is None or (has_type(block, int) and block >= 1),
    }.items():
        if not right:
            raise FileError(f"{what}.")


def require_proofs(proofs: Any, sizes: Mapping[str, int]) -> None:
    """Check proofs and their rows; there may be at most one of each kind."""
    p, k = sizes["p"], sizes["k"]
    for proof in proofs:
        require_fields(_Proof, proof, "proof")
        joint, rows_ = proof["scope"] == "joint", proof["rows"]
        for row in rows_:
            require_fields(_JointRow if joint else _ComponentRow, row, "proof")
        supports = [one for row in rows_ for one in (row["supports"] if joint else [row["support"]])]
        right = (
            proof["scope"] in SCOPES
            and {proof["measure"], *(row.get("measure", JOINT[0]) for row in rows_)} <= {*JOINT}
            and len(rows_) == (1 if joint else k)
            and len(supports) == k
            and all(len(row["cardinalities"]) == k for row in rows_ if joint)
            and all(0 <= one <= p for row in rows_ for one in row.get("cardinalities", [0]))
            and all(row["nodes"] >= 0 for row in rows_)
            and all(len({*one}) == len(one) and all(0 <= j < p for j in one) for one in supports)
            and all(type(row["gap"]) in (int, float) for row in rows_)
        )
        if not right:
            raise FileError("its proof does not go with the fit.")
    kinds = {(proof["scope"], proof["measure"], proof["orthogonal"]) for proof in proofs}
    if len(kinds) < len(proofs):
        raise FileError("it has two proofs of one kind.")


def require_resampled(found: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Check the results of resampling by name, None for those that are missing."""
    for name, parts in found.items():
        if parts is None:
            continue
        _require_arrays(name, parts, dict(sizes))
        require_fields(RESAMPLED[name], parts, name)
        for one, (low, high) in _RANGES.items():
            if one in parts and not low <= parts[one] <= high:
                raise FileError(f"its {name}: {one} is not from {low} to {high}.")
        if "places" in parts and not (np.diff(parts["places"]) > 0).all():
            raise FileError(f"its {name}: the places of its loadings do not ascend.")
        if parts.get("fdr") not in (None, "fdr_bh", "fdr_by"):
            raise FileError(f"its {name}: its method is unknown.")
