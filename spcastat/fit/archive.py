"""Saved fits as zip files of arrays and JSON, and the replacement of files once new ones are complete.

A saved fit is an npz file, which ``numpy.load`` reads, with the additional member ``manifest.json``. It
contains no pickles. The checksums of the zip format detect damage, and digests in the manifest detect arrays
from other files.

A file may come from an untrusted source, so the sizes stated in it are not trusted. Members are not
compressed, so no member can be larger than the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf, prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from spcastat.arguments import shown
from spcastat.errors import FileError, OptionError
from spcastat.linalg.wrapping import BEND, NORMAL_BEND
from spcastat.version import __version__

MANIFEST = "manifest.json"
FORMAT = "spcastat fit"
#: Version of the layout. Earlier layouts were used before the first release, and are not read.
VERSION = 4
#: Allowed types of arrays.
DTYPES = re.compile(r"[<>|](b1|[iu][1248]|f(2|4|8|16)|[mM]8(\[(generic|Y|M|W|D|h|m|s|ms|us|ns)\])?)")


# --- writing --------------------------------------------------------------------------------------


def write_archive(file: IO[bytes], content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write content and arrays as one zip.

    Parameters
    ----------
    file : binary file
    content : mapping
        Values that JSON can represent; numbers may be infinite or NaN.
    arrays : mapping of str to ndarray
        Arrays of numbers, booleans or times.
    """
    members: dict[str, bytes] = {}
    for name, values in arrays.items():
        buffer = io.BytesIO()
        # the type is given by name, because types that older pandas restores from a pickle have metadata
        plain = np.asarray(values, dtype=np.dtype(np.asarray(values).dtype.str))
        np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    digests = {name: hashlib.sha256(part).hexdigest() for name, part in members.items()}
    manifest = {"format": FORMAT, "version": VERSION, "writer": __version__, "arrays": digests}
    text = json.dumps({**manifest, "content": content}, indent=1, default=_of_python)
    members = {MANIFEST: text.encode(), **members}
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in members.items():
            # a fixed time, so that equal fits give equal files
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), part)


def _of_python(value: Any) -> Any:
    """Return a NumPy number as a Python number, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__qualname__} cannot be stored")


# --- reading --------------------------------------------------------------------------------------


def read_archive(path: Path) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """Read a zip that `write_archive` wrote.

    Returns
    -------
    writer : str
        The version of the package that wrote the file; "" if unknown.
    content : dict
    arrays : dict of str to ndarray

    Raises
    ------
    FileError
        If the file does not exist, is not a saved fit, is damaged, has another layout, or states a size
        larger than its own.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError(f"{path} cannot be read: it is a folder, a device or a pipe, not a file.")
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise _foreign(path)
            with zipfile.ZipFile(file) as archive:
                _require_members(path, archive.infolist(), os.fstat(file.fileno()).st_size)
                manifest = _manifest(path, archive.read(MANIFEST))
                parts = {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}
        arrays = {name.removesuffix(".npy"): _array(name, part) for name, part in parts.items()}
        _require_digests(parts, manifest.get("arrays"))
        return manifest["writer"], manifest["content"], arrays
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{path} cannot be read: it needs more memory than is available.") from None
    except FileNotFoundError:
        raise FileError(
            f"There is no file {str(path)!r}; the working directory is {os.getcwd()!r}."
        ) from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # damaged data can cause any error in zipfile, json and NumPy
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileError(
            f"{path} is damaged or cut off: {reason.rstrip('.')}. Use an earlier copy of the file, or fit "
            "again and save."
        ) from error


def _foreign(path: Path, reason: str = "") -> FileError:
    return FileError(f"{path} is not a fit that spcastat has saved{reason}; give a file that save() wrote.")


def _require_members(path: Path, members: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Check the names and sizes of the members of a file of `size` bytes."""
    names = {member.filename for member in members}
    if len(names) != len(members):
        raise ValueError("a member occurs twice in it")
    if MANIFEST not in names:
        raise _foreign(path, f": there is no {MANIFEST} in it")
    total = sum(member.file_size for member in members)
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise FileError(
            f"{path} is compressed, and was not written by this version of spcastat: fit again and save."
        )
    if total > size:
        raise ValueError(f"it should contain {total} bytes, but contains {size}")


def _require_digests(parts: Mapping[str, bytes], digests: Any) -> None:
    """Raise ValueError if arrays differ from their digests in the manifest; older files have no digests."""
    if digests is None:
        return
    digest_of = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
    for name in sorted({*digest_of, *digests}):
        if digest_of.get(name) != digests.get(name):
            raise ValueError(f"{name} is not the array that was saved")


def _manifest(path: Path, text: bytes) -> dict[str, Any]:
    """Return the manifest after a check of its format and version."""
    manifest = json.loads(text)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _foreign(path)
    layout, writer = manifest.get("version"), manifest.get("writer")
    if not isinstance(writer, str) or not re.fullmatch(r"[\w.+!-]{0,40}", writer):
        writer = manifest["writer"] = ""
    if type(layout) is not int or layout < 1:
        raise _foreign(path, ": it does not state the version of its layout")
    if layout != VERSION:
        by = f" ({writer})" if writer else ""
        newer = f"a newer spcastat{by}, in layout {layout}: upgrade spcastat to read it"
        older = f"an earlier spcastat{by}, in layout {layout}, which is no longer read: fit again and save"
        raise FileError(f"{path} was written by {newer if layout > VERSION else older}.")
    if not isinstance(manifest.get("content"), dict):
        raise ValueError("it is empty")
    return manifest


def _array(name: str, part: bytes) -> np.ndarray:
    """Return an array after a check of its type and size."""
    head = io.BytesIO(part)
    if np.lib.format.read_magic(head) != (1, 0):
        raise ValueError(f"{name} has a header of another version")
    shape, _, dtype = np.lib.format.read_array_header_1_0(head)
    if not DTYPES.fullmatch(dtype.str) or head.tell() + math.prod(shape) * dtype.itemsize != len(part):
        raise ValueError(f"{name} has another type, or not the size of its shape")
    head.seek(0)
    values: np.ndarray = np.lib.format.read_array(head, allow_pickle=False)
    # pandas needs the byte order of the machine
    return values.astype(values.dtype.newbyteorder("="), copy=False)


# --- replacement of files -------------------------------------------------------------------------


def file_path(path: Any, endings: Sequence[str] = ()) -> Path:
    """Check the path of a file to write, and return it.

    Parameters
    ----------
    path : object
    endings : sequence of str
        Allowed suffixes, such as ".html", or "" for names without a suffix, in lower or upper case; by
        default any suffix is allowed.

    Raises
    ------
    OptionError
        If `path` is not a path, or does not name a file.
    FileError
        If the suffix is not allowed, since other programs would then misread the file.
    """
    target = as_path(path)
    if not target.name:
        raise OptionError(f"path={shown(str(path))} was given, which does not name a file.")
    if endings and target.suffix.lower() not in endings:
        *other_endings, last_ending = filter(None, endings)
        endings_text = f"{', '.join(other_endings)} or {last_ending}" if other_endings else last_ending
        raise FileError(f"{shown(target.name)} was given; its name must end in {endings_text}.")
    return target


def as_path(path: Any) -> Path:
    """Return a path as a Path; raise OptionError if it is not a valid path."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(f"path={shown(path)} was given; it must be the path of a file, as text or a Path.")
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        name = b""
    if not name or b"\0" in name or len(name) > 4096:  # a path has at most 4096 bytes
        raise OptionError(f"path={shown(os.fspath(path))} was given, which cannot be the name of a file.")
    return Path(path)


def write_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Write a new file in the same folder with the function `write`, then rename it to `path`.

    Symbolic links and the permissions of an existing file are preserved. The new file has a unique name until
    it is complete, so threads and processes can write to the same path: the file of the last one to finish
    remains.

    Raises
    ------
    OptionError
        If `path` is not a path.
    FileError
        If the file cannot be written; no partial file is left.
    """
    target = file_path(path)
    mode = _mode_of(target)
    target = Path(os.path.realpath(target)) if os.path.islink(target) else target
    # a unique name with at most 100 bytes of the name of the target, to stay below the limit of 255 bytes
    prefix = os.fsencode(target.name)[:100].decode(errors="ignore")
    part = target.with_name(f".{prefix}.{secrets.token_hex(8)}.part")
    try:
        try:
            with open(part, "xb") as file:
                if mode is not None:
                    os.chmod(part, mode)
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        finally:
            with suppress(OSError):  # it was renamed, or never created
                part.unlink()
    except FileError:  # the rows could not be read
        raise
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a new file with this content; see :func:`write_file`."""
    write_file(path, lambda file: file.writelines([content]))


def _mode_of(target: Path) -> int | None:
    """Return the permissions of an existing file, or None; raise FileError if the path is not a file."""
    try:
        status = os.stat(target)
    except OSError:  # writing will report the error
        return None
    if stat.S_ISDIR(status.st_mode):
        raise FileError(f"{target} cannot be written: it is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f"{target} cannot be written: it is a device or a pipe, not a file.")
    return stat.S_IMODE(status.st_mode)


# --- ranges of numbers in files ------------------------------------------------------------------


#: Tolerance for rounding errors of shares, correlations and variances, relative to the largest number.
ALLOWANCE = 1e-6
_COUNT, _SHARE, _CORRELATION, _NOT_NEGATIVE = (0.0, inf), (0.0, 1.0), (-1.0, 1.0), (0.0, inf)
_ABOVE_ZERO = (np.finfo(float).tiny, inf)

#: Name of a place in a file -> its smallest and its largest allowed number.
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("record.n_init", "record.passes", "record.imputations"), (1.0, inf)),
    **dict.fromkeys(("record.reached", "record.k_found", "record.dropped", "record.n_iter"), _COUNT),
    "record.effective_n": _ABOVE_ZERO,
    "record.serial": _CORRELATION,
    **dict.fromkeys(("moments.variances", "moments.adjusted", "moments.pca"), _NOT_NEGATIVE),
    **dict.fromkeys(("standard.scale", "model.scale", "model.sigma2"), _ABOVE_ZERO),
    "regression.shares": _SHARE,
    **dict.fromkeys(("cleaning.components", "cleaning.known", "cleaning.grouped"), _COUNT),
    **dict.fromkeys(("cleaning.distance",), _NOT_NEGATIVE),
    **dict.fromkeys(("cleaning.wrapping.unit", "cleaning.wrapping.scale"), _ABOVE_ZERO),
    "cleaning.wrapping.bend": (BEND, NORMAL_BEND),
    **dict.fromkeys(("principal.share", "principal.pca_share"), (np.finfo(float).tiny, 1.0)),
    **dict.fromkeys(("principal.bound", "principal.without", "principal.with_other"), _SHARE),
    **dict.fromkeys(("principal.with_further", "principal.shares", "principal.pca_shares"), _SHARE),
    **dict.fromkeys(("principal.rm", "principal.gcd", "principal.frequency"), _SHARE),
    **dict.fromkeys(("principal.criteria", "principal.correlation"), _CORRELATION),
    **dict.fromkeys(("principal.nodes", "principal.folds", "principal.draws", "principal.budget"), _COUNT),
    **dict.fromkeys(("principal.cost", "principal.sizes", "principal.held_out_error"), _COUNT),
    **dict.fromkeys(("bootstrap.variances", "bootstrap.whole", "bootstrap.of_fit"), _NOT_NEGATIVE),
    **dict.fromkeys(("bootstrap.asked", "stability.asked", "split.asked", "tests.asked"), (1.0, inf)),
    **dict.fromkeys(("bootstrap.again", "stability.again", "split.again", "split.independent"), _COUNT),
    **dict.fromkeys(("bootstrap.k_found", "bootstrap.rows", "split.rows"), _COUNT),
    **dict.fromkeys(("split.repeats", "split.draws", "tests.draws"), (1.0, inf)),
    **dict.fromkeys(("bootstrap.similarity", "stability.similarity", "split.similarity"), _SHARE),
    **dict.fromkeys(
        ("bootstrap.imputation_share", "split.p_value", "tests.p_value", "tests.q_value"), _SHARE
    ),
    **dict.fromkeys(("split.correlation", "tests.statistic"), _CORRELATION),
    **dict.fromkeys(("split.std_error", "split.variances", "split.variance_errors"), _NOT_NEGATIVE),
    "bootstrap.imputed_variances": _NOT_NEGATIVE,
}
#: Place -> the names of the sizes whose product is the number of positions; positions must ascend.
POSITIONS: dict[str, tuple[str, ...]] = {
    "bootstrap.places": ("p", "k"),
    "stability.places": ("p", "k"),
    "split.places": ("p", "k"),
}


def require_range(values: int | float | np.ndarray, place: str, message_place: str) -> None:
    """Raise FileError for numbers outside the range allowed at their place; NaN is ignored."""
    if place not in RANGES:
        return
    low, high = RANGES[place]
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not numbers.size:
        return
    if low > 0.0:
        rounding = 0.0
    elif low == 0.0:
        rounding = ALLOWANCE * max(float(np.abs(numbers).max()), 1.0)
    else:
        rounding = ALLOWANCE
    if numbers.min() < low - rounding or numbers.max() > high + ALLOWANCE:
        raise FileError(f"its {message_place} is out of range.")


def require_positions(
    positions: np.ndarray, place: str, message_place: str, sizes: Mapping[str, int]
) -> None:
    """Raise FileError if positions do not exist, or are not in ascending order."""
    if place not in POSITIONS or not positions.size:
        return
    count = prod(sizes[name] for name in POSITIONS[place])
    if positions.min() < 0 or positions.max() >= count or (np.diff(positions) <= 0).any():
        raise FileError(f"its {message_place} are not positions of loadings.")


def is_possible(evidence: Mapping[str, Any], p: int) -> bool:
    """Return whether the counts reported for a search among p variables are possible."""
    counts = {name: value for name, value in evidence.items() if type(value) is int}
    starts = counts.get("starts", counts.get("settled_fits", 1))
    return (
        min(starts, counts.get("nonzeros", 1), counts.get("groups", 1), counts.get("variables", 1)) >= 1
        and min(counts.values(), default=0) >= 0
        and counts.get("hits", 0) <= starts
        and counts.get("agreeing", 0) <= counts.get("chains", 0)
        and counts.get("variables", 0) <= p
        and 0 <= evidence.get("unseen", 0) <= 1
    )
