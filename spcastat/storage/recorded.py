"""Whether the record of a fit from a file is one: every part has its type, and a value that it can have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from spcastat.errors import FileError
from spcastat.solvers import ADVICE, Searched, Sparser
from spcastat.state.record import CENTRING, SCALING, Record

#: Most components of a fit.
MOST_COMPONENTS = 100_000

_SCREENING = ("searched", "variables", "rounds", "unexcluded")


def require(right: Any, what: str) -> None:
    """Raise FileError unless something is right."""
    if not right:
        raise FileError(f"{what}.")


def whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number, `least` or more, that fits into 63 bits."""
    return type(value) is int and least <= value < 1 << 62


def real(value: Any) -> bool:
    """Whether a value is a finite number."""
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < 1 << 62)


def writable(value: Any) -> bool:
    """Whether a value is text that every table can hold: without half a character."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode("utf-8") == value


def named(value: Any) -> bool:
    """Whether a value is a mapping whose keys are texts."""
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def plain(value: Any) -> bool:
    """Whether a value is None, text, a number, true or false, or a list of such."""
    if isinstance(value, list):
        return all(plain(one) for one in value)
    return value is None or type(value) in (bool, str, float) or (type(value) is int and abs(value) < 1 << 62)


def record_of(given: Any) -> Record:
    """Return the record that a file has: what is not known is ignored, what it lacks has its default.

    Raises
    ------
    FileError
        Where it lacks what has no default, or has a part that cannot be.
    """
    require(isinstance(given, dict), "it has no record")
    known = fields(Record)
    needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
    lacking = [name for name in needed if name not in given]
    require(not lacking, f"its record lacks {', '.join(lacking)}")
    record = Record(**{one.name: given[one.name] for one in known if one.name in given})
    require_record(record)
    return record


def require_record(record: Record) -> None:
    """Check that every part of a record has its type, and a value that it can have.

    Raises
    ------
    FileError
    """
    for name in ("method", "title", "paper", "criterion", "status", "advice", "call"):
        require(isinstance(getattr(record, name), str), f"its {name} is not text")
    for name in ("formula", "centring", "scaling", "title_of_data"):
        require(isinstance(getattr(record, name), str | None), f"its {name} is not text")
    for name in ("sparse", "from_rows", "weighted"):
        require(type(getattr(record, name)) is bool, f"its {name!r} is neither true nor false")
    for name, least in (("p", 1), ("k", 1), ("dropped", 0), ("n_iter", 0), ("n_init", 1), ("reached", 0)):
        require(whole(getattr(record, name), least), f"its {name} is not a whole number of {least} or more")
    for name in ("method", "title", "paper", "criterion", "advice"):
        require(writable(getattr(record, name)), f"its {name} is not text")
    require(record.k <= min(record.p, MOST_COMPONENTS), f"it has {record.k} components")
    require(record.reached <= record.n_init, f"it was reached by {record.reached} of {record.n_init} starts")
    require(record.n is None or whole(record.n, 1), "its n is not a number of rows")
    require(record.n is not None or not record.from_rows, "it has rows, and does not say how many")
    weight = record.effective_n
    require(weight is None or (real(weight) and weight > 0), "its sum of weights is not a positive number")
    require(weight is not None or not record.from_rows, "it has rows, and no sum of their weights")
    require(real(record.objective), "its objective is not a number")
    require(record.objective_share is None or real(record.objective_share), "its objective is not a share")
    require(record.status in ADVICE, f"its status is {record.status!r}")
    require(record.centring in (None, *CENTRING), f"its centring is {record.centring!r}")
    require(record.scaling in (None, *SCALING), f"its scaling is {record.scaling!r}")
    for what in _tables(record):
        require(False, what)


def _named_components(names: Any, k: int) -> bool:
    texts = isinstance(names, list) and all(writable(name) and str(name).strip() for name in names)
    return texts and len(set(names)) == len(names) == k


def _tables(record: Record) -> Iterator[str]:
    """Yield what is wrong with the parts that are lists and mappings."""
    options, optima, details = record.options, record.optima, record.details
    if not named(options) or not all(plain(value) for value in options.values()):
        yield "its options are no names with values"
        return
    if record.names is not None and not _named_components(record.names, record.k):
        yield f"the names of its components are not {record.k} different texts"
    card, goal = options.get("card"), options.get("variance")
    counts = card if isinstance(card, list) else [card]
    if card is not None and not all(whole(one, 0) for one in counts):
        yield "its cardinalities are not whole numbers"
    if goal is not None and not (real(goal) and 0 < goal <= 1):
        yield "its share of variance to keep is none"
    if not isinstance(optima, list) or not all(
        isinstance(one, list) and len(one) == 2 and real(one[0]) and whole(one[1], 1) for one in optima
    ):
        yield "its optima are no values with the number of their hits"
    if not named(details) or not all(
        isinstance(values, list) and len(values) == record.k and all(plain(one) for one in values)
        for values in details.values()
    ):
        yield f"its details are not {record.k} values each"
    if not named(record.versions) or not all(isinstance(one, str) for one in record.versions.values()):
        yield "its versions are no texts"
    screening = record.screening
    if screening is not None and not (
        named(screening)
        and all(whole(one, 0) for one in screening.values())
        and set(_SCREENING) <= set(screening)
        and screening["searched"] <= screening["variables"] == record.p
        and screening["unexcluded"] <= record.p
    ):
        yield "what it says of screening is not a set of counts"
    if record.missing is not None and not _told(record.missing, record):
        yield "what it says of missing values does not go together"
    errors = record.pca_errors
    if record.passes is not None and not whole(record.passes, 1):
        yield "its number of passes is none"
    if type(record.anew) is not bool:
        yield "its 'anew' is neither true nor false"
    if errors is not None and not (
        isinstance(errors, list) and len(errors) == record.k and all(real(one) and one >= 0 for one in errors)
    ):
        yield "what it says of the errors of dense PCA is no error for each component"
    if record.evidence is not None and not _evident(record.evidence, record.p):
        yield "what it says of its search does not go together"


def _told(missing: Any, record: Record) -> bool:
    """Return whether this is what a fit can say of missing values."""
    if not named(missing) or not record.from_rows or record.n is None:
        return False
    cells, rows = missing.get("cells"), missing.get("rows")
    if not (whole(cells, 0) and whole(rows, 0) and rows <= min(cells, record.n)):
        return False
    if cells > rows * record.p:
        return False
    if missing.get("how") == "em":
        ends = whole(missing.get("iterations"), 0) and type(missing.get("converged")) is bool
        patterns = missing.get("patterns")
        return (
            ends
            and whole(patterns, 1)
            and patterns <= record.n
            and whole(missing.get("rank"), 1)
            and missing["rank"] < record.p
        )
    values = [missing.get(name) for name in ("fewest", "smallest", "moved", "largest")]
    return missing.get("how") == "pairwise" and all(real(one) for one in values)


def _evident(evidence: Any, p: int) -> bool:
    """Return whether this is what a search can say of itself."""
    if named(evidence) and {one.name for one in fields(Sparser)} <= set(evidence):
        return _sparser(evidence)
    if not named(evidence) or not {one.name for one in fields(Searched)} <= set(evidence):
        return False
    counts = [evidence[name] for name in ("starts", "hits", "chains", "agreeing")]
    variables, unseen = evidence["variables"], evidence["unseen"]
    return (
        all(whole(count, 1) for count in counts[:3])
        and whole(counts[3], 0)
        and counts[1] <= counts[0]
        and counts[3] <= counts[2]
        and real(unseen)
        and 0 <= unseen <= 1
        and all(type(evidence[name]) in (bool, type(None)) for name in ("settled", "sufficient"))
        and type(evidence["proven"]) is bool
        and (variables is None or (whole(variables, 1) and variables <= p))
    )


def _sparser(evidence: Any) -> bool:
    """Return whether this is what a search for the fewest nonzeros can say of itself."""
    proposals = evidence["proposals"]
    return (
        named(proposals)
        and all(whole(count, 1) for count in proposals.values())
        and isinstance(evidence["winner"], str)
        and whole(evidence["nonzeros"], 1)
        and all(type(evidence[name]) is bool for name in ("searched", "dense", "proven"))
    )
