"""Fits in files: what of a fit is kept, and how it is put together again.

A file has the version of its layout, `VERSION`. Within a layout, what an older package did not write has its
default, and what a newer one added is ignored; a layout that older packages would misread has a new number.
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
from spcastat.state.resampled import Trust
from spcastat.storage.archive import Archive, read_archive, write_archive
from spcastat.storage.atomic import as_path, file_path, write_file
from spcastat.storage.consistent import require_consistent
from spcastat.storage.packing import Packer, Unpacker
from spcastat.storage.proofs import restored
from spcastat.storage.recorded import record_of
from spcastat.storage.spec import pack_spec, unpack_spec
from spcastat.storage.trusted import pack_trust, unpack_trust
from spcastat.version import __version__

FORMAT = "spcastat fit"
#: Of the layout: 1 of the first files, 2 since they name the version that wrote them.
VERSION = 2
#: Measures that every file has; it may lack others that came later.
_NEEDED = ("pev", "least_squares")


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
    keep = scores and state.record.from_rows and (source is not None or state.scores is not None)
    frame = rows.scores(state, source) if keep else None
    moments, measures = state.moments.kept()
    packer = Packer()
    content: dict[str, Any] = {
        "record": packer.value(dataclasses.asdict(state.record), "the record of the fit"),
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
    if state.trust:
        content["trust"] = pack_trust(state.trust, packer)
    told: dict[str, Any] = {"form": FORMAT, "version": VERSION, "writer": __version__}
    write_file(target, partial(write_archive, **told, content=content, arrays=packer.arrays))


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    where = as_path(path)
    archive = read_archive(where, FORMAT, VERSION)
    try:
        with np.errstate(all="ignore"):  # what overflows is not what it should be, and refused
            return _restore(archive.content, archive.arrays)
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


def _restore(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FitState:
    kept, given = content["moments"], content["measures"]
    moments = [name for name in Moments.ARRAYS if name in kept or name != "unit"]  # the first files have none
    known = [name for name in MEASURES if name in given or name in _NEEDED]
    reader = Unpacker(arrays)
    record = record_of(reader.value(content["record"]))
    V = reader.numbers(content["loadings"])
    held, measures = reader.parts(kept, moments), reader.each(given, known)
    standard, model, scores = content["standard"], content.get("model"), content.get("scores")
    if standard is not None:
        found = reader.each(standard, ("mean", "scale"))
        standard = Standardisation(**found, centring=standard["centring"], scaling=standard["scaling"])
    if model is not None:
        found = reader.each(model, ("mean", "scale", "loadings"))
        model = PpcaModel(**found, sigma2=reader.value(model["sigma2"]))
    if scores is not None:
        gaps = record.missing is not None and record.missing["how"] == "pairwise"
        values = reader.numbers(scores["values"], gaps)
        scores = pd.DataFrame(values, index=reader.index(scores["index"], len(values)))
    given_proofs = reader.value(content.get("proofs", []))
    spec = unpack_spec(content["spec"], reader, record.p)
    require_consistent(V, record, spec, standard, model, held, measures, scores)
    proofs = restored(given_proofs, V, held, measures) if "proofs" in content else ()
    trust = unpack_trust(content["trust"], reader, V, record) if content.get("trust") is not None else Trust()
    state = FitState(
        V,
        record,
        Moments.stored(V, held, measures),
        spec,
        standard,
        model=model,
        proofs=proofs,
        trust=trust,
    )
    if scores is None:
        return state
    return dataclasses.replace(state, scores=scores.set_axis(state.components, axis=1))
