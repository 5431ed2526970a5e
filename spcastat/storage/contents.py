"""The contents of a saved fit: a schema of its parts, and checks of their consistency.

The digest of the archive detects damage. These checks detect files that were not written by this package:
parts of another type, shape or size, and missing parts. Whether the numbers are right cannot be checked
without the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from spcastat.errors import FileError
from spcastat.measures import MEASURES
from spcastat.operators.scaling_groups import NAMED
from spcastat.solvers import ADVICE
from spcastat.state.record import CENTRING, JOINT, SCALING, SCOPES, Record
from spcastat.storage.schema import Array, Kind, List, Map, Real, Sizes, Whole, plain, problem, require

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
        "estimate": Array("f", ("m",)),
        "std_error": Array("f", ("m",), 0),
        "variances variance_errors": Array("f", ("k",), 0),
        "similarity": Array("f", ("k",), 0, 1 + CLOSE),
        "rows": List(Whole(2), 2),
        "draws": Whole(2),
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
