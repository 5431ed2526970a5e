"""``python -m benchmarks.mutants --n 200 --seed 0 [--only kernels]``: broken lines that no test notices.

The checkout is copied to a folder outside of it. There, random lines of the packages are broken one at a
time, and the tests run that enter the function that the line is in (all that enter the file, for a line
outside of functions), the quickest first, until one fails. Which tests enter what is found once, by running
them all with a profiler; ``--tests`` looks at some only. A mutant survives where every such test passes.
Results are kept in ``--work``, and a run that was stopped goes on from there. Mutants are drawn by line, so
that long lines are not drawn more often; the same seed draws the same lines of the same source.

``--judged FILE`` names survivors that were looked at: JSON, from the key of a mutant to a sentence that
says why it is equivalent, or what is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.mutants.mutate import Mutant, mutants_of
from benchmarks.report import text_table

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("solvers", "kernels", "measures", "search", "certify", "engine", "streams")
#: What a mutant may take beyond five times the seconds that its tests took under the profiler.
PATIENCE = 60.0


def copied(work: Path) -> Path:
    """Copy what git would take into ``work/tree``; bundled data go where the installed package has them."""
    tree = work / "tree"
    if tree.exists():
        for path in (tree / "spcastat").rglob("*.py"):
            here = ROOT / path.relative_to(tree)
            if here.exists() and here.read_bytes() != path.read_bytes():
                raise SystemExit(f"{work} holds another state of {here.name}; give a new folder as --work")
        return tree
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, names.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    shutil.copytree(tree / "data", tree / "spcastat" / "data")
    return tree


def environment(tree: Path, **more: str) -> dict[str, str]:
    """One thread, the copy first on the path, and no compiled files, which a quick change would not renew."""
    alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **alone, "PYTHONPATH": str(tree), **more}


def entered(work: Path, tree: Path, tests: list[str]) -> dict[str, dict[str, Any]]:
    """Return the tests with the functions that each enters, from an earlier run where there was one."""
    file = work / "seen.json"
    if not file.exists():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.mutants.seen", *tests]
        subprocess.run(
            [*command, "-p", "no:cacheprovider"], cwd=tree, env=environment(tree, SEEN=str(file)), check=False
        )
    seen: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return seen


def drawn(tree: Path, only: list[str], n: int, seed: int) -> list[Mutant]:
    """Return n mutants of different lines."""
    by_line: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for package in only:
        for path in sorted((tree / "spcastat" / package).rglob("*.py")):
            name = path.relative_to(tree / "spcastat").as_posix()
            for mutant in mutants_of(path, name):
                by_line[name, mutant.line].append(mutant)
    draw = random.Random(seed)
    lines = draw.sample(sorted(by_line), min(n, len(by_line)))
    return [draw.choice(by_line[line]) for line in lines]


def tests_of(mutant: Mutant, seen: dict[str, dict[str, Any]]) -> list[str]:
    """Return the tests that enter the innermost function around the line that any enters, quickest first."""

    def entering(places: set[str]) -> list[str]:
        return [name for name, test in seen.items() if places & set(test["entered"])]

    found: list[str] = []
    for line in reversed(mutant.functions):
        found = found or entering({f"{mutant.file}:{line}"})
    if not found and not mutant.functions:
        found = [
            name
            for name, test in seen.items()
            if any(place.startswith(f"{mutant.file}:") for place in test["entered"])
        ]
    return sorted(found, key=lambda name: seen[name]["seconds"])


def tried(mutant: Mutant, tree: Path, work: Path, tests: list[str], limit: float) -> tuple[str, str]:
    """Break the line, run the tests, mend it; returns the outcome and the test that noticed."""
    if not tests:
        return "not reached", "none of the tests looked at enters it"
    path = tree / "spcastat" / mutant.file
    source = path.read_text(encoding="utf-8")
    names = work / "tests.txt"
    names.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", f"@{names}"]
    try:
        path.write_text(mutant.applied(source), encoding="utf-8")
        process = subprocess.Popen(
            command,
            cwd=tree,
            env=environment(tree),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "killed", f"took longer than {limit:.0f} s"
    finally:
        path.write_text(source, encoding="utf-8")
    if process.returncode == 0:
        return "survived", ""
    lines = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "killed", lines[0] if lines else said.strip().splitlines()[-1]


def difference(mutant: Mutant, tree: Path) -> str:
    """Return the lines before and after."""
    source = (tree / "spcastat" / mutant.file).read_text(encoding="utf-8")
    lines = difflib.unified_diff(source.splitlines(), mutant.applied(source).splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def report(results: dict[str, dict[str, Any]], judged: dict[str, str]) -> str:
    """Return a table by package, and the survivors."""
    packages = sorted({result["file"].split("/")[0] for result in results.values()})
    rows = []
    for package in [*packages, "all"]:
        of_it = [r for r in results.values() if package in ("all", r["file"].split("/")[0])]
        survived, missed = (sum(r["outcome"] == how for r in of_it) for how in ("survived", "not reached"))
        share = 100.0 * (survived + missed) / max(len(of_it), 1)
        rows.append([package, str(len(of_it)), str(survived), str(missed), f"{share:.1f}"])
    parts = [text_table(["package", "mutants", "survived", "not reached", "both, %"], rows)]
    for key, result in results.items():
        if result["outcome"] != "killed":
            why = judged.get(key) or result["by"] or "not looked at yet"
            parts.append(f"{key} ({result['tests']} tests): {why}\n{result['difference']}")
    return "\n\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Break lines and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--n", type=int, default=200, help="lines to break (default 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="A,B", help=f"packages; by default {','.join(PACKAGES)}")
    parser.add_argument("--tests", nargs="*", default=[], help="look at these tests only")
    parser.add_argument("--work", type=Path, help="folder outside the checkout; what it holds is used again")
    parser.add_argument("--judged", type=Path, help="what was found of survivors, as JSON")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    given = parser.parse_args(arguments)
    work = (given.work or Path(tempfile.gettempdir()) / "spcastat-mutants").resolve()
    if work.is_relative_to(ROOT):
        parser.error(f"--work {work} lies in the checkout")
    only = given.only.split(",") if given.only else list(PACKAGES)
    tree = copied(work)
    chosen = drawn(tree, only, given.n, given.seed)
    if given.list:
        print("\n\n".join(f"{mutant.key}\n{difference(mutant, tree)}" for mutant in chosen))
        return 0
    seen = entered(work, tree, given.tests)
    file = work / "results.json"
    results: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for number, mutant in enumerate(chosen, 1):
        if mutant.key not in results:
            tests = tests_of(mutant, seen)
            limit = PATIENCE + 5.0 * sum(seen[name]["seconds"] for name in tests)
            start = time.perf_counter()
            outcome, by = tried(mutant, tree, work, tests, limit)
            results[mutant.key] = {
                **{"file": mutant.file, "line": mutant.line, "kind": mutant.kind},
                **{"difference": difference(mutant, tree), "outcome": outcome, "by": by},
                **{"tests": len(tests), "seconds": round(time.perf_counter() - start, 1)},
            }
            file.write_text(json.dumps(results, indent=1), encoding="utf-8")
        print(f"{number}/{len(chosen)} {mutant.key}: {results[mutant.key]['outcome']}", flush=True)
    judged = json.loads(given.judged.read_text("utf-8")) if given.judged else {}
    wanted = {mutant.key: results[mutant.key] for mutant in chosen}
    print(f"\n{report(wanted, judged)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
