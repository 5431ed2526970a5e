"""Fits in files: what of a fit is kept, and how it is put together again.

A file has the version of its layout, `VERSION`. Within a layout, what an older package did not write has its
default, and what a newer one added is ignored; a layout that older packages would misread has a new number.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
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
from spcastat.state import FitState, rows
from spcastat.state.moments import Moments
from spcastat.state.record import Record
from spcastat.storage.archive import Archive, read_archive, write_archive
from spcastat.storage.atomic import as_path, file_path, write_file
from spcastat.storage.consistent import (
    require_loadings,
    require_model,
    require_moments,
    require_scores,
    require_standard,
)
from spcastat.storage.packing import Packer, Unpacker
from spcastat.storage.proofs import restored
from spcastat.storage.recorded import MOST_COMPONENTS, require, require_record
from spcastat.storage.spec import pack_spec, unpack_spec
from spcastat.storage.trusted import pack_trust, unpack_trust
from spcastat.version import __version__

FORMAT = "spcastat fit"
#: Of the layout: 1 of the first files, 2 since they name the version that wrote them.
VERSION = 2
#: Measures that every file has; it may lack others that came later.
_NEEDED = ("pev", "least_squares")
#: Kinds of specs.
_KINDS = ("array", "frame", "formula")


def save(
    state: FitState, source: Source | None, path: str | os.PathLike[str], scores: bool | None = None
) -> None:
    """Write the fit to one file, which :func:`spcastat.load` reads: no pickle, nothing that runs.

    Parameters
    ----------
    path : str or path
        What was there before is replaced once all is written.
    scores : bool, optional
        Keep the scores, and with them the labels of the rows. By default they are kept where they are in
        memory (`transform_to` writes others). The data themselves are never kept.

    Raises
    ------
    FileError
        Where the file cannot be written, or something cannot be stored in it: a function of the user's in
        a formula, or labels of unusual types.
    OptionError
        For ``scores=True`` where the scores are not in memory, and for the file that the rows of the fit
        are read from.
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
    packer = Packer()
    moments, known = state.moments.kept()
    measures = packer.each(known)
    content: dict[str, Any] = {
        "record": packer.value(dataclasses.asdict(state.record), "the record of the fit"),
        "loadings": packer.array(state.V),
        "spec": pack_spec(state.spec, packer),
        "standard": _pack_standard(state.standard, packer),
        "model": _pack_model(state.model, packer),
        "moments": packer.each(moments),
        "measures": measures,
        "scores": None,
        **({"trust": pack_trust(state.trust, packer)} if state.trust else {}),
    }
    if state.proofs:
        content["proofs"] = packer.value([dataclasses.asdict(one) for one in state.proofs], "a proof")
    if scores and state.record.from_rows and (source is not None or state.scores is not None):
        frame = rows.scores(state, source)
        content["scores"] = {
            "values": packer.array(frame.to_numpy()),
            "index": packer.index(frame.index, "the label of a row"),
        }
    write_file(target, lambda file: write_archive(file, FORMAT, VERSION, __version__, content, packer.arrays))


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    where = as_path(path)
    archive = read_archive(where, FORMAT, VERSION)
    try:
        with np.errstate(all="ignore"):  # what overflows is not what it should be, and refused
            return _restore(archive.content, Unpacker(archive.arrays))
    except FileError as error:
        raise _unusable(where, archive, str(error)) from None
    except MemoryError:
        raise FileError(f"{where} cannot be read: it takes more memory than there is.") from None
    except Exception as error:  # the digest was right: the file was made by something else
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise _unusable(where, archive, f"it lacks a part, or has one of another type ({reason})") from error


def _unusable(path: Path, archive: Archive, reason: str) -> FileError:
    """Return the error for a file whose digest is right and whose contents are not."""
    advice = f"fit again and save{_call_in(archive.content)}"
    if archive.writer and archive.writer != __version__:
        advice = f"read it with spcastat {archive.writer}, which wrote it, or {advice}"
    reason = reason.rstrip(".")
    return FileError(f"{path} cannot be used: {reason}. This is spcastat {__version__}; {advice}.")


def _call_in(content: Mapping[str, Any]) -> str:
    """Return the call that a file names, in parentheses, or nothing."""
    try:
        (call,) = (value for name, value in content["record"]["map"] if name == "call")
    except Exception:  # it is the file that is wrong
        return ""
    return f" ({call})" if isinstance(call, str) and 0 < len(call) <= 1000 else ""


def _restore(content: Mapping[str, Any], reader: Unpacker) -> FitState:
    record = _record(reader.value(content["record"]))
    p = record.p
    V = reader.numbers(content["loadings"])
    require_loadings(V, record)
    standard = _standard(content["standard"], reader)
    require_standard(standard, record)
    kept = content["moments"]
    single = [name for name in ("total", "unit", "residual_traces") if _is_single(name, kept)]
    held: dict[str, Any] = {name: reader.value(kept[name]) for name in single}
    held |= reader.each(kept, [name for name in Moments.ARRAYS if name not in ("total", "unit", *single)])
    given = content["measures"]
    measures = reader.each(given, [name for name in MEASURES if name in given or name in _NEEDED])
    require_moments(V, held, measures, record)
    columns = reader.index(content["spec"]["columns"], p)
    require(columns.is_unique, "two of its columns have one name")
    spec = unpack_spec(content["spec"], reader)
    require(spec.kind in _KINDS, f"its columns are of the kind {spec.kind!r}")
    require(spec.formula == record.formula, "it names two formulas")
    require((spec.kind == "formula") == (spec.formula is not None), "it lacks its formula")
    scores = None
    if content.get("scores") is not None:
        gaps = record.missing is not None and record.missing["how"] == "pairwise"
        values = reader.numbers(content["scores"]["values"], gaps)
        require_scores(values, held["scores"], record)
        index = reader.index(content["scores"]["index"], len(values))
        scores = pd.DataFrame(values, index=index)
    model = _model(content.get("model"), reader)
    require_model(model, record)
    proofs = restored(reader.value(content.get("proofs", [])), V, held, measures)
    trust = unpack_trust(content, reader, V, record)
    moments = Moments.stored(V, held, measures)
    state = FitState(V, record, moments, spec, standard, model=model, proofs=proofs, trust=trust)
    if scores is None:
        return state
    return dataclasses.replace(state, scores=scores.set_axis(state.components, axis=1))


def _record(given: Any) -> Record:
    """Return the record: fields that are not known are ignored, those that lack have their defaults."""
    require(isinstance(given, dict), "it has no record")
    fields = {one.name: one for one in dataclasses.fields(Record)}
    lacking = [
        name
        for name, one in fields.items()
        if name not in given
        and one.default is dataclasses.MISSING
        and one.default_factory is dataclasses.MISSING
    ]
    require(not lacking, f"its record lacks {', '.join(lacking)}")
    record = Record(**{name: value for name, value in given.items() if name in fields})
    require_record(record)
    require(record.k <= min(record.p, MOST_COMPONENTS), f"it has {record.k} components")
    return record


def _is_single(name: str, kept: Mapping[str, Any]) -> bool:
    """Whether a moment of a file is a single number: a unit, or absent traces."""
    return (name != "unit" or name in kept) and (name != "residual_traces" or kept[name] is None)


def _standard(packed: Any, reader: Unpacker) -> Standardisation | None:
    if packed is None:
        return None
    found = reader.each(packed, ("mean", "scale"))
    return Standardisation(found["mean"], found["scale"], packed["centring"], packed["scaling"])


def _model(packed: Any, reader: Unpacker) -> PpcaModel | None:
    if packed is None:
        return None
    found = reader.each(packed, ("mean", "scale", "loadings"))
    return PpcaModel(found["mean"], found["scale"], found["loadings"], reader.value(packed["sigma2"]))


def _pack_model(model: PpcaModel | None, packer: Packer) -> dict[str, Any] | None:
    if model is None:
        return None
    return {
        "mean": packer.array(model.mean),
        "scale": packer.array(model.scale),
        "loadings": packer.array(model.loadings),
        "sigma2": packer.value(float(model.sigma2), "the variance of the noise"),
    }


def _pack_standard(standard: Standardisation | None, packer: Packer) -> dict[str, Any] | None:
    if standard is None:
        return None
    return {
        "mean": packer.array(standard.mean),
        "scale": packer.array(standard.scale),
        "centring": standard.centring,
        "scaling": standard.scaling,
    }
