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

from spcastat.config import flag
from spcastat.errors import FileError, OptionError
from spcastat.measures import MEASURES
from spcastat.operators import Standardisation
from spcastat.results.disk import as_path, file_path, write_file
from spcastat.results.fit import SpcaResult
from spcastat.results.moments import Moments
from spcastat.results.packing import Packer, Unpacker
from spcastat.results.record import Record
from spcastat.results.specs import pack_spec, unpack_spec

FORMAT = "spcastat fit"
#: Of the layout; a file with a larger one is refused.
VERSION = 1

_MANIFEST, _DIGEST, _ARRAYS = "manifest.json", "digest", "arrays/"
#: Every member has this time, so that equal fits make equal files.
_TIME = (1980, 1, 1, 0, 0, 0)


def save(fit: SpcaResult, path: str | os.PathLike[str], scores: bool | None = None) -> None:
    """Write a fit to a file; see :meth:`spcastat.results.SpcaResult.save`."""
    if scores is not None:
        scores = flag("scores", scores)
    streamed = fit._source is not None and fit._source.stream is not None
    if scores and streamed and fit._kept_scores is None:
        local = fit._source is not None and fit._source.stream is not None and fit._source.stream.local
        write = "fit.transform_to(path)" if local else "fit.scores.to_parquet(folder)"
        raise OptionError(
            f"scores=True was given, and the scores of {fit._record.title_of_data} are never all in "
            f"memory: write them with {write}, and save the fit without them."
        )
    if scores is None:
        scores = not streamed or fit._kept_scores is not None
    target = file_path(path)
    packer = Packer()
    moments = fit._moments
    held: dict[str, Any] = {name: getattr(moments, name) for name in Moments.ARRAYS}
    measures = {name: packer.array(moments.measure(name)) for name in MEASURES}
    content: dict[str, Any] = {
        "record": packer.value(dataclasses.asdict(fit._record), "the record of the fit"),
        "loadings": packer.array(fit._V),
        "spec": pack_spec(fit._spec, packer),
        "standard": _pack_standard(fit._standard, packer),
        "moments": {name: packer.value(value, name) for name, value in held.items()},
        "measures": measures,
        "scores": None,
    }
    if scores and (fit._record.from_rows and (fit._source is not None or fit._kept_scores is not None)):
        frame = fit.scores
        content["scores"] = {
            "values": packer.array(frame.to_numpy()),
            "index": packer.index(frame.index, "the label of a row"),
        }
    _write(target, content, packer.arrays)


def load(path: str | os.PathLike[str]) -> SpcaResult:
    """Read a fit from a file that ``fit.save(path)`` wrote.

    Nothing in a file is run: it holds numbers and text, and a formula only of known functions.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SpcaResult
        With the same loadings, variances and measures, print and plots, `transform` and `diagnostics` of
        data. What needs the rows of the fit, such as `refit` and `residuals`, raises NoRowsError, and so do
        `scores` and `biplot` if it was saved without scores.

    Raises
    ------
    FileError
        Where there is no such file, or it is not one of these, damaged, cut off, or of a newer version.
    """
    where = as_path(path)
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


def _restore(content: Mapping[str, Any], reader: Unpacker) -> SpcaResult:
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
    return SpcaResult(V, record, Moments.stored(V, held, measures), spec, standard, scores=scores)


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
