"""Fits in files: one zip with JSON and arrays, without pickle, checked when it is read.

Members: ``manifest.json`` (everything but the arrays, and for each array its type, shape and SHA-256),
``digest`` (the SHA-256 of the manifest) and ``arrays/NAME.npy``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from spcastat.engine.source import Source
from spcastat.errors import FileError, OptionError
from spcastat.measures import MEASURES
from spcastat.operators import Standardisation
from spcastat.state import FitState, rows
from spcastat.state.moments import Moments
from spcastat.state.record import Record
from spcastat.storage.atomic import file_path, write_file
from spcastat.storage.spec import pack_spec, unpack_spec
from spcastat.storage.values import Packer, Unpacker

FORMAT = "spcastat fit"
#: Of the layout; a file with a larger one is refused.
VERSION = 1

_MANIFEST, _DIGEST, _ARRAYS = "manifest.json", "digest", "arrays/"
#: Every member has this time, so that equal fits make equal files.
_TIME = (1980, 1, 1, 0, 0, 0)


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
        Where the file cannot be written, or something has no form in it: a function of the user's in
        a formula, or labels of unusual types.
    OptionError
        For ``scores=True`` where the scores are not in memory, and for the file that the rows of the fit
        are read from.
    """
    stream = None if source is None or state.scores is not None else source.stream
    if scores and stream is not None:
        write = "fit.transform_to(path)" if stream.local else "fit.scores.to_parquet(folder)"
        raise OptionError(
            f"scores={scores!r} was given, and the scores of {state.record.title_of_data} are never all in "
            f"memory: write them with {write}, and save the fit without them."
        )
    if scores is None:
        scores = stream is None
    target = file_path(path)
    if source is not None:
        source.spare(target)
    packer = Packer()
    moments = state.moments
    held: dict[str, Any] = {name: getattr(moments, name) for name in Moments.ARRAYS}
    measures = {name: packer.array(moments.measure(name)) for name in MEASURES}
    content: dict[str, Any] = {
        "record": packer.value(dataclasses.asdict(state.record), "the record of the fit"),
        "loadings": packer.array(state.V),
        "spec": pack_spec(state.spec, packer),
        "standard": _pack_standard(state.standard, packer),
        "moments": {name: packer.value(value, name) for name, value in held.items()},
        "measures": measures,
        "scores": None,
    }
    if scores and state.record.from_rows and (source is not None or state.scores is not None):
        frame = rows.scores(state, source)
        content["scores"] = {
            "values": packer.array(frame.to_numpy()),
            "index": packer.index(frame.index, "the label of a row"),
        }
    _write(target, content, packer.arrays)


def read_state(path: str | os.PathLike[str]) -> FitState:
    """Read the state of a fit from a file that `save` wrote; see :func:`spcastat.load`."""
    where = Path(path)
    content, arrays = _read(where)
    reader = Unpacker(arrays)
    try:
        return _restore(content, reader)
    except FileError as error:
        raise FileError(f"{where} cannot be used: {error}") from None
    except Exception as error:  # the digest was right: the file was made by something else
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"{where} is not a fit that this version can use: {reason}. Save the fit again."
        ) from error


def _restore(content: Mapping[str, Any], reader: Unpacker) -> FitState:
    V = reader.array(content["loadings"])
    record = Record(**reader.value(content["record"]))
    spec = unpack_spec(content["spec"], reader)
    p, k = record.p, record.k
    held = {name: reader.value(value) for name, value in content["moments"].items()}
    measures = {name: reader.array(content["measures"][name]) for name in MEASURES}
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "loadings": (V, (p, k)),
        "column names": (spec.columns, (p,)),
        "variances": (held["variances"], (p,)),
        "coupling": (held["coupling"], (p, k)),
        "covariance of scores": (held["scores"], (k, k)),
        "adjusted variances": (held["adjusted"], (k,)),
        "explained variances": (held["explained"], (p,)),
        "variances of PCA": (held["pca"], (k,)),
        **{name: (values, (k,)) for name, values in measures.items()},
    }
    standard = None
    if content["standard"] is not None:
        mean, scale = (reader.array(content["standard"][name]) for name in ("mean", "scale"))
        shapes |= {"means": (mean, (p,)), "scales": (scale, (p,))}
        standard = Standardisation(
            mean, scale, content["standard"]["centring"], content["standard"]["scaling"]
        )
    scores = None
    if content["scores"] is not None:
        values = reader.array(content["scores"]["values"])
        index = reader.index(content["scores"]["index"])
        shapes["scores"] = (values, (len(index), k))
        scores = pd.DataFrame(values, index=index, columns=[f"PC{i + 1}" for i in range(k)])
    for name, (values, shape) in shapes.items():
        if np.shape(values) != shape:
            raise FileError(f"its {name} have shape {np.shape(values)}, not {shape}.")
    return FitState(V, record, Moments.stored(V, held, measures), spec, standard, scores)


def _pack_standard(standard: Standardisation | None, packer: Packer) -> dict[str, Any] | None:
    if standard is None:
        return None
    return {
        "mean": packer.array(standard.mean),
        "scale": packer.array(standard.scale),
        "centring": standard.centring,
        "scaling": standard.scaling,
    }


# --- the file itself ------------------------------------------------------------------------------


def _write(path: Path, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    parts = {name: _bytes_of(values) for name, values in arrays.items()}
    described = {
        name: {
            "dtype": values.dtype.str,
            "shape": list(values.shape),
            "sha256": hashlib.sha256(parts[name]).hexdigest(),
        }
        for name, values in arrays.items()
    }
    manifest = {"format": FORMAT, "version": VERSION, "arrays": described, "content": content}
    text = json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=1).encode(
        "utf-8", "surrogatepass"
    )
    members = {_MANIFEST: text, _DIGEST: hashlib.sha256(text).hexdigest().encode()}
    members |= {f"{_ARRAYS}{name}.npy": part for name, part in parts.items()}

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, part in members.items():
                archive.writestr(zipfile.ZipInfo(name, _TIME), part, zipfile.ZIP_DEFLATED)

    write_file(path, write)


def _bytes_of(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with open(path, "rb") as file:
            start = file.read(4)
            if not start.startswith(b"PK"):
                raise FileError(f"{path} is not a fit that spcastat has saved.")
            with zipfile.ZipFile(file) as archive:
                return _members(path, archive)
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # zipfile, zlib and the reader of arrays raise anything at damaged data
        raise FileError(f"{path} is damaged or cut off: {error}. Save the fit again.") from error


def _members(path: Path, archive: zipfile.ZipFile) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    names = set(archive.namelist())
    if _MANIFEST not in names:
        raise FileError(f"{path} is not a fit that spcastat has saved: there is no {_MANIFEST} in it.")
    text = archive.read(_MANIFEST)
    manifest = json.loads(text.decode("utf-8", "surrogatepass"))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileError(f"{path} is not a fit that spcastat has saved.")
    version = manifest.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise FileError(
            f"{path} was written by a newer spcastat (layout {version}; this one reads up to {VERSION}): "
            "upgrade spcastat, or save the fit again with this one."
        )
    if _DIGEST not in names or archive.read(_DIGEST).decode() != hashlib.sha256(text).hexdigest():
        raise FileError(
            f"{path} is damaged: its contents do not agree with their digest. Save the fit again."
        )
    arrays = {}
    for name, about in manifest["arrays"].items():
        part = archive.read(f"{_ARRAYS}{name}.npy")
        if hashlib.sha256(part).hexdigest() != about["sha256"]:
            raise FileError(f"{path} is damaged: array {name} does not agree with its digest.")
        values = np.lib.format.read_array(io.BytesIO(part), allow_pickle=False)
        if values.dtype.str != about["dtype"] or list(values.shape) != about["shape"]:
            raise FileError(f"{path} is damaged: array {name} is not of its type and shape.")
        arrays[name] = values
    return manifest["content"], arrays
