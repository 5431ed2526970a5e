"""Saving and loading a fit: the parts of its file, their checks, and the versions of the layout.

The digest of the archive detects damage. The checks of the parts detect files that were not written by this
package: parts of another type, shape or size, and missing parts. Whether the numbers are right cannot be
checked without the data.

A file states the version of its layout, `VERSION`. Within a layout, parts that older versions of the package
did not write get defaults, and parts that newer versions added are ignored. A layout that older versions
would misread gets a new number.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import flag
from spcastat.errors import DataWarning, FileError, OptionError
from spcastat.fit import rows
from spcastat.fit.archive import Archive, as_path, file_path, read_archive, write_archive, write_file
from spcastat.fit.inputs import Source
from spcastat.fit.moments import Moments
from spcastat.fit.record import (
    CENTRING,
    JOINT,
    SCALING,
    SCOPES,
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
    Kind,
    List,
    Map,
    Packer,
    Real,
    Sizes,
    Unpacker,
    Whole,
    plain,
    problem,
    require,
)
from spcastat.fit.state import FitState
from spcastat.linalg.standardisation import NAMED, Standardisation
from spcastat.measures import MEASURES
from spcastat.reading.missing_values import PpcaModel
from spcastat.solvers.solver import ADVICE
from spcastat.version import __version__

# --- the parts of a file --------------------------------------------------------------------------


#: Tolerance for unit lengths and correlations.
CLOSE = 1e-6

_SEARCHED = {
    "starts hits chains": Whole(1),
    "agreeing": Whole(),
    "unseen": Real(0, 1),
    "settled sufficient": (None, bool),
    "proven": bool,
    "variables": (None, Whole(1, "p")),
}

_SPARSER = {"proposals": Map(Whole(1)), "winner": str, "nonzeros": Whole(1), "searched dense proven": bool}

_GROUPING = {"starts groups fitted": Whole(1), "hits": Whole(), "every settled proven": bool}

_EM = {
    "how": {"em"},
    "cells iterations": Whole(),
    "rows": Whole(0, "n"),
    "converged": bool,
    "patterns": Whole(1),
    "rank": Whole(1, "last"),
}

_PAIRWISE = {
    "how": {"pairwise"},
    "cells": Whole(),
    "rows": Whole(0, "n"),
    "fewest smallest moved largest": Real(),
}

_MATRIX = {
    "kind?": str,
    "n_obs? n_pairs_min?": Whole(),
    "smallest? moved? largest?": Real(),
    "pair?": List(str, 2),
}


def together(value: Any, sizes: Sizes) -> str:
    """Return what is wrong with groups of variables, a list of (name, positions of the variables), or ""."""
    wrong = problem(List(List((str, List(Whole(0, "last"))), 2)), value, sizes)
    if wrong:
        return wrong
    members = [j for _, own in value for j in (own if isinstance(own, list) else ())]
    whole = sorted(members) == list(range(sizes["p"]))
    return "" if whole else "its groups do not share out the variables"


_GROUPS = {"kind": {*NAMED}, "names": List(str), "of": List(Whole(-1, "last"), "p")}
_SCREENING = {"searched unexcluded": Whole(0, "p"), "variables rounds": Whole()}
_OPTIONS = {
    "card?": (None, Whole(), List(Whole())),
    "variance?": (None, Real(0, 1)),
    "include? exclude?": (None, List(List(Whole(0, "last"), distinct=True), "k")),
    "disjoint?": bool,
    "together?": (None, together),
}
_RECORD: dict[str, Kind] = {
    "method title paper criterion advice call?": str,
    "formula title_of_data?": (None, str),
    "sparse from_rows weighted anew?": bool,
    "centring": (None, {*CENTRING}),
    "scaling": (None, {*SCALING}),
    "status": {*ADVICE},
    "k": Whole(1, 100_000),
    "p n_init?": Whole(1),
    "n passes?": (None, Whole(1)),
    "dropped n_iter reached?": Whole(),
    "k_found?": (None, Whole()),
    "options": Map(plain),
    "effective_n": (None, Real(0)),
    "objective": Real(),
    "objective_share": (None, Real()),
    "optima?": List(List(Real(), 2)),
    "details?": Map(List(plain, "k")),
    "versions?": Map(str),
    "names?": (None, List(str, "k", distinct=True)),
    "chosen?": (None, List(str)),
    "pca_errors?": (None, List(Real(0), "k")),
    "screening?": (None, _SCREENING),
    "missing?": (None, _EM, _PAIRWISE),
    "matrix?": (None, _MATRIX),
    "groups?": (None, _GROUPS),
    "evidence?": (None, _SPARSER, _SEARCHED, _GROUPING),
}

_SUPPORT = List(Whole(0, "last"), distinct=True)
_PROOF: dict[str, Kind] = {
    "value upper_bound seconds best_known": Real(),
    "gap": Real(finite=False),
    "nodes": Whole(),
    "proof": str,
    "optimal": bool,
}
_JOINT_PROOF: dict[str, Kind] = {
    **_PROOF,
    "measure": {*JOINT},
    "cardinalities": List(Whole(1, "p"), "k"),
    "pca_bound": Real(),
    "open": Whole(),
    "supports": List(_SUPPORT, "k"),
}
#: Scope of a proof -> schema of its rows.
_PROOF_ROWS = {
    "components": List({**_PROOF, "cardinality": Whole(0, "p"), "support": _SUPPORT}, "k"),
    "joint": List(_JOINT_PROOF, 1),
}
_PROOFS = List({"scope": {*SCOPES}, "measure": {*JOINT}, "orthogonal": bool, "rows": List({})})

_SIMILARITY = Array("f", ("draws", "k"), 0, 1 + CLOSE)
_DRAWS: dict[str, Kind] = {
    "places": Array("i", ("m",), 0, "places"),
    "asked": Whole(1),
    "again": Whole(),
    "normal": bool,
}
#: Name of a resampling method -> schema of its results.
_RESAMPLED = {
    "bootstrap": {
        **_DRAWS,
        "values": Array("f", ("draws", "m")),
        "variances whole": Array("f", ("draws", "k"), 0),
        "of_fit": (None, Array("f", ("draws", "k"), 0)),
        "similarity": _SIMILARITY,
        "select": bool,
    },
    "stability": {
        **_DRAWS,
        "chosen": Array("b", ("draws", "m")),
        "similarity": _SIMILARITY,
        "clusters": Array("i", ("p",), 0, "last"),
        "associates": Array("f", ("pairs", 4), -1, "places"),
        "threshold": Real(0.5, 1),
        "groups": Real(0, 1),
        "considered": (None, Whole(1, "p")),
    },
    "split": {
        **_DRAWS,
        "loadings": Array("f", ("m",), -1 - CLOSE, 1 + CLOSE),
        "correlation": Array("f", ("m",), -1 - CLOSE, 1 + CLOSE, nan=True),
        "std_error": Array("f", ("m",), 0, nan=True),
        "p_value": Array("f", ("p", "k"), 0, 1, nan=True),
        "variances variance_errors": Array("f", ("k",), 0),
        "similarity": Array("f", ("k",), 0, 1 + CLOSE),
        "rows": List(Whole(2), 2),
        "draws": Whole(2),
        "repeats": Whole(1),
    },
    "tests": {
        # earlier versions store 2 for a variable without variance, see `fits._unmarked`
        "statistic": Array("f", ("p", "k"), -1 - CLOSE, 2),
        "p_value q_value": Array("f", ("p", "k"), 0, 1, nan=True),
        "draws asked": Whole(1),
        "fdr": {"fdr_bh", "fdr_by"},
    },
}

_POSITIVE = float(np.finfo(float).tiny)
_MEAN_AND_SCALE: dict[str, Kind] = {"mean": Array("f", ("p",)), "scale": Array("f", ("p",), _POSITIVE)}
#: Schema of the other parts, except the record and the labels of columns and rows.
_CONTENTS: dict[str, Kind] = {
    "loadings": Array("f", ("p", "k"), -1 - CLOSE, 1 + CLOSE),
    "standard": (None, {**_MEAN_AND_SCALE, "centring": {*CENTRING}, "scaling": {*SCALING}}),
    "model": (None, {**_MEAN_AND_SCALE, "loadings": Array("f", ("p", "rank")), "sigma2": Real(_POSITIVE)}),
    "moments": {
        "total unit?": Real(_POSITIVE),  # files of the first layout have no unit
        "variances explained": Array("f", ("p",)),
        "coupling": Array("f", ("p", "k")),
        "scores": Array("f", ("k", "k")),
        "adjusted pca": Array("f", ("k",)),
        "residual_traces": (None, Array("f", (3,), -1e60, 1e60)),  # sums of powers of variances near 1
    },
    "measures": {
        "pev least_squares": Array("f", ("k",)),
        **{f"{name}?": Array("f", ("k",)) for name in MEASURES},
    },
    "scores": (None, Array("f", ("n", "k"), nan=True)),
}

#: Error message for a record -> condition on its fields; the error is raised if the condition fails.
_TOGETHER: dict[str, Callable[[Record], Any]] = {
    "it has more components than variables": lambda r: r.k <= r.p,
    "it has rows, and not how many": lambda r: not r.from_rows or (r.n and r.effective_n),
    "it has no rows, and says how many values are missing": lambda r: r.from_rows or r.missing is None,
    "it names fewer groups of variables than it has": lambda r: (
        r.groups is None or max(r.groups["of"]) < len(r.groups["names"])
    ),
    "its options": lambda r: not problem(_OPTIONS, r.options, sizes_of(vars(r))),
}


def record_of(given: Any) -> Record:
    """Return the record in a file: unknown fields are ignored, missing fields get their defaults.

    Raises
    ------
    FileError
        If a field without a default is missing, or a value is not valid.
    """
    require(_RECORD, given, sizes_of(given), "record")
    record = Record(**{one.name: given[one.name] for one in fields(Record) if one.name in given})
    for what, right in _TOGETHER.items():
        if not right(record):
            raise FileError(f"its record: {what}.")
    return record


def sizes_of(record: Any) -> Sizes:
    """Return the sizes that a record states; 0 for invalid ones, which the check of the record reports."""
    given = record if isinstance(record, dict) else {}
    sizes = {name: given[name] if type(given.get(name)) is int else 0 for name in ("p", "k", "n")}
    return {**sizes, "last": sizes["p"] - 1, "places": sizes["p"] * sizes["k"] - 1}


def require_contents(held: Mapping[str, Any], record: Record) -> None:
    """Check the types, shapes and sizes of all parts of a fit, and their consistency.

    Parameters
    ----------
    held : mapping
        Name of a part -> its content.
    record : Record

    Raises
    ------
    FileError
        For the first problem.
    """
    sizes = sizes_of(vars(record))
    for name, kind in _CONTENTS.items():
        require(kind, held[name], sizes, name)
    require_proofs(held["proofs"], sizes)
    require_resampled(held["resampled"], sizes)
    standard, missing = held["standard"], record.missing
    said = (None, None) if standard is None else (standard["centring"], standard["scaling"])
    for what, right in {
        "it contradicts itself about centre and scale": said == (record.centring, record.scaling),
        "it has no means and scales": standard is not None or not record.from_rows,
        "it has scores, and no rows": held["scores"] is None or record.from_rows,
        "its missing values do not go with their model": (held["model"] is not None)
        == (missing is not None and missing["how"] == "em" and missing["rank"] == sizes.get("rank")),
    }.items():
        if not right:
            raise FileError(f"{what}.")


def require_proofs(proofs: Any, sizes: Sizes) -> None:
    """Check proofs and their rows; there may be at most one of each kind."""
    require(_PROOFS, proofs, sizes, "proofs")
    for proof in proofs:
        require(_PROOF_ROWS[proof["scope"]], proof["rows"], sizes, "proof")
    kinds = {(proof["scope"], proof["measure"], proof["orthogonal"]) for proof in proofs}
    if len(kinds) < len(proofs):
        raise FileError("it has two proofs of one kind.")


def require_resampled(found: Mapping[str, Any], sizes: Sizes) -> None:
    """Check the results of resampling; positions of loadings must be ascending."""
    for name, parts in found.items():
        require(_RESAMPLED[name], parts, dict(sizes), name)
        if "places" in parts and not (np.diff(parts["places"]) > 0).all():
            raise FileError(f"its {name}: the places of its loadings do not ascend.")


# --- saving and loading ---------------------------------------------------------------------------


FORMAT = "spcastat fit"
#: Version of the layout. Since 2, files name the version of the package that wrote them.
VERSION = 2
#: Name of a resampling method in a file -> class of its results.
RESAMPLED: dict[str, Any] = {
    "bootstrap": Bootstrapped,
    "stability": HalfSamples,
    "split": Split,
    "tests": Tested,
}
#: The statistic in a file of an earlier version that marks a variable without variance, which has no test.
_UNTESTED = 2.0


def save(
    state: FitState, source: Source | None, path: str | os.PathLike[str], scores: bool | None = None
) -> None:
    """Save the fit to one file, which :func:`spcastat.load` reads. The file has no pickles and no code.

    Parameters
    ----------
    path : str or path
        An existing file is replaced once the new one is complete.
    scores : bool, optional
        Whether to store the scores and the labels of the rows. By default they are stored if they are in
        memory (use `transform_to` for others). The data themselves are never stored.

    Raises
    ------
    FileError
        If the file cannot be written, or something cannot be stored in it: a user's function in a formula, or
        labels of unusual types.
    OptionError
        For ``scores=True`` if the scores are not in memory, and if `path` is the file that the rows of the
        fit are read from.
    """
    stream = None if source is None or state.scores is not None else source.stream
    scores = stream is None if scores is None else flag("scores", scores)
    if scores and stream is not None:
        write = "fit.transform_to(path)" if stream.local else "fit.scores.to_parquet(folder)"
        raise OptionError(
            f"scores=True was given, and the scores of {state.record.title_of_data} are never all in "
            f"memory: write them with {write}, and save the fit without them."
        )
    target = file_path(path)
    if source is not None:
        source.spare(target)
    stored = scores and state.record.from_rows and (source is not None or state.scores is not None)
    frame = rows.scores(state, source) if stored else None
    moments, measures = state.moments.kept()
    packer = Packer()
    content: dict[str, Any] = {
        "record": packer.value(dataclasses.asdict(state.record.written()), "the record of the fit"),
        "loadings": packer.array(state.V),
        "standard": packer.fields(state.standard),
        "model": packer.fields(state.model),
        "moments": packer.each(moments),
        "measures": packer.each(measures),
        "scores": None,
        "spec": pack_spec(state.spec, packer),
    }
    if frame is not None:
        content["scores"] = {
            "values": packer.array(frame.to_numpy()),
            "index": packer.index(frame.index, "the label of a row"),
        }
    if state.proofs:
        content["proofs"] = packer.value([dataclasses.asdict(one) for one in state.proofs], "a proof")
    found = {name: getattr(state.trust, name) for name in RESAMPLED}
    if any(one is not None for one in found.values()):
        content["trust"] = {name: packer.fields(one) for name, one in found.items() if one is not None}
    about: dict[str, Any] = {"form": FORMAT, "version": VERSION, "writer": __version__}
    write_file(target, partial(write_archive, **about, content=content, arrays=packer.arrays))


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    where = as_path(path)
    archive = read_archive(where, FORMAT, VERSION)
    try:
        return _restore(archive.content, Unpacker(archive.arrays))
    except FileError as error:
        raise _unusable(where, archive, str(error)) from None
    except MemoryError:
        raise FileError(f"{where} cannot be read: it takes more memory than there is.") from None
    except Exception as error:  # the digest matches: not damaged, but not written by this package
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise _unusable(where, archive, f"it lacks a part, or has one of another type ({reason})") from error


def _unusable(path: Path, archive: Archive, reason: str) -> FileError:
    """Return the error for a file with a correct digest and invalid contents."""
    advice = f"fit again and save{_call_in(archive.content)}"
    if archive.writer and archive.writer != __version__:
        advice = f"read it with spcastat {archive.writer}, which wrote it, or {advice}"
    reason = reason.rstrip(".")
    return FileError(f"{path} cannot be used: {reason}. This is spcastat {__version__}; {advice}.")


def _call_in(content: Mapping[str, Any]) -> str:
    """Return the call that made the fit, in parentheses, or "" if the file does not state it."""
    try:
        (call,) = (value for name, value in content["record"]["map"] if name == "call")
    except Exception:  # the record is invalid
        return ""
    return f" ({call})" if isinstance(call, str) and 0 < len(call) <= 1000 else ""


def _restore(content: Mapping[str, Any], reader: Unpacker) -> FitState:
    record = record_of(reader.value(content["record"]))
    scores, trust = content.get("scores"), content.get("trust") or {}
    held: dict[str, Any] = {
        "loadings": reader.value(content["loadings"]),
        **{name: reader.each(content.get(name)) for name in ("standard", "model", "moments")},
        "measures": reader.each({n: one for n, one in content["measures"].items() if n in MEASURES}),
        "scores": None if scores is None else reader.value(scores["values"]),
        "proofs": reader.value(content.get("proofs", [])),
        "resampled": _resampled(trust, reader),
    }
    require_contents(held, record)
    standard, model = held["standard"], held["model"]
    frame = None
    if scores is not None:
        frame = pd.DataFrame(held["scores"], index=reader.index(scores["index"], len(held["scores"])))
    found = {name: _made(RESAMPLED[name], one) for name, one in held["resampled"].items()}
    state = FitState(
        held["loadings"],
        record,
        Moments.stored(held["loadings"], held["moments"], held["measures"]),
        unpack_spec(content["spec"], reader, record.p),
        None if standard is None else Standardisation(**standard),
        model=None if model is None else PpcaModel(**model),
        proofs=tuple(_made(Proven, one) for one in held["proofs"]),
        trust=LastResults(**{name: _unmarked(one) for name, one in found.items()}),
    )
    return (
        state
        if frame is None
        else dataclasses.replace(state, scores=frame.set_axis(state.components, axis=1))
    )


def _made(kind: Any, parts: Mapping[str, Any]) -> Any:
    """Return a dataclass of type `kind`, made from the parts that have the names of its fields."""
    return kind(**{one.name: parts[one.name] for one in dataclasses.fields(kind) if one.name in parts})


# --- resampling -----------------------------------------------------------------------------------


def _resampled(stored: Mapping[str, Any], reader: Unpacker) -> dict[str, Any]:
    """Return the stored results of resampling, by kind.

    Intervals of split inference for leading eigenvectors, from earlier versions, are left out with a warning.
    """
    held = {name: reader.each(stored[name]) for name in RESAMPLED if name in stored}
    if "estimate" in held.get("split", ()):
        del held["split"]
        warnings.warn(
            "The file has intervals of split_inference() of an earlier version, which did not hold in noise; "
            "they were left out. Call fit.split_inference(data=...).",
            DataWarning,
            stacklevel=2,
        )
    return {name: _with_defaults(name, found) for name, found in held.items()}


def _with_defaults(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the stored results of resampling, with defaults for parts that older files lack."""
    if name == "bootstrap":
        found.setdefault("of_fit", None)
    if name == "split":
        found["rows"] = tuple(found["rows"])
    if name == "stability":
        found.setdefault("considered", None)
    return found


def _unmarked(found: Any) -> Any:
    """Return tests with NaN for variables without variance, which earlier files mark by `_UNTESTED`."""
    if not isinstance(found, Tested):
        return found
    untested = (found.statistic == _UNTESTED).any(axis=1)[:, None]
    p, q = (np.where(untested, np.nan, one) for one in (found.p_value, found.q_value))
    return dataclasses.replace(
        found, statistic=np.where(untested, 0.0, found.statistic), p_value=p, q_value=q
    )
