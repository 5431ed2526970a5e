"""``python -m benchmarks.record write FILE`` and ``compare FILE``: whether results are identical.

The calls are those of `benchmarks.record.calls`. A record holds every number in hexadecimal and every text.
It is exact for one machine and one set of installed packages: write it before a change, compare it after.
Linear algebra on several threads may round in another order, so set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.record.calls import CALLS
from benchmarks.record.values import differences, neutral, plain


def record(names: list[str]) -> dict[str, Any]:
    """Make the calls and return what each gives; an error or a warning is a result like another."""
    found: dict[str, Any] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            folder = Path(place).resolve()
            try:
                found[name] = {"result": plain(CALLS[name](folder), folder)}
            except Exception as error:
                message = neutral(str(error), folder)
                found[name] = {"result": {"error": type(error).__name__, "message": message}}
            found[name]["warnings"] = [neutral(str(one.message), folder) for one in caught]
    return found


def compare(before: dict[str, Any], after: dict[str, Any], most: int) -> tuple[list[str], int]:
    """Return one line or more for each call that differs, and how many do."""
    lines, differing = [], 0
    for name in before:
        if name not in after:
            lines.append(f"{name}: is no call any more")
            differing += 1
            continue
        found = list(islice(differences(before[name], after[name]), 100_000))
        if found:
            differing += 1
            lines.append(f"{name}: {len(found)} differences, the first:")
            lines += [f"    {line}" for line in found[:most]]
    new = [name for name in after if name not in before]
    return lines + [f"{name}: is a new call" for name in new], differing + len(new)


def main(arguments: list[str] | None = None) -> int:
    """Write or compare; 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("do", choices=["write", "compare", "list"])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--only", metavar="TEXT", help="calls whose name holds this")
    parser.add_argument("--most", type=int, default=1, help="differences to show of a call (default 1)")
    given = parser.parse_args(arguments)
    names = [name for name in CALLS if given.only is None or given.only in name]
    if given.do == "list":
        print("\n".join(names))
        return 0
    if given.file is None:
        parser.error("a file is needed")
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        print("OPENBLAS_NUM_THREADS is not 1: sums may be rounded in another order", file=sys.stderr)
    found = record(names)
    if given.do == "write":
        given.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        failed = [name for name in names if "error" in found[name]["result"]]
        print(f"{len(names)} calls written to {given.file}; {len(failed)} ended in an error {failed or ''}")
        return 0
    before = json.loads(given.file.read_text(encoding="utf-8"))
    before = {name: before[name] for name in before if given.only is None or given.only in name}
    lines, differing = compare(before, json.loads(json.dumps(found)), given.most)
    print("\n".join([*lines, f"{len(before)} calls before, {len(names)} now; {differing} differ"]))
    return int(differing > 0)


if __name__ == "__main__":
    raise SystemExit(main())
