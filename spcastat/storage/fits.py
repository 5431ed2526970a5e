"""Save and load fits.

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
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import flag
from spcastat.engine.inputs import Source
from spcastat.errors import FileError, OptionError
from spcastat.measures import MEASURES
from spcastat.missing import PpcaModel
from spcastat.operators import Standardisation
from spcastat.state import FitState
from spcastat.state import row_scores as rows
from spcastat.state.fit_moments import Moments
from spcastat.state.record import Proven
from spcastat.state.resampled import Bootstrapped, Halved, Split, Tested, Trust
from spcastat.storage.archive import Archive, read_archive, write_archive
from spcastat.storage.atomic import as_path, file_path, write_file
from spcastat.storage.contents import record_of, require_contents
from spcastat.storage.formulas import pack_spec, unpack_spec
from spcastat.storage.values import Packer, Unpacker
from spcastat.version import __version__

FORMAT = "spcastat fit"
#: Version of the layout. Since 2, files name the version of the package that wrote them.
VERSION = 2
#: Name of a resampling method in a file -> class of its results.
RESAMPLED: dict[str, Any] = {"bootstrap": Bootstrapped, "stability": Halved, "split": Split, "tests": Tested}
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
        "resampled": {
            name: _with_defaults(name, reader.each(trust[name])) for name in RESAMPLED if name in trust
        },
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
        trust=Trust(**{name: _unmarked(one) for name, one in found.items()}),
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


def _with_defaults(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the stored results of resampling, with defaults for parts that older files lack."""
    if name == "split":
        found.setdefault("asked", found.get("draws"))
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
