"""``python -m benchmarks.mutants --n 200 --seed 0 [--only linalg]``: broken lines that no test notices.

The checkout is copied to a folder outside of it. There, random lines of the packages are broken one at a
time, and those tests run that execute the line (for a line that is executed when its file is imported: any
line of the file), the quickest first, until one fails. Which tests execute what is found once, by running
them all under coverage.py (``pip install coverage``). A mutant survives where every such test passes. Mutants
are drawn by line, so that long lines are not drawn more often. The same seed draws the same lines as long as
they are there, whatever is added or gone around them.

``--minutes`` ends a run, and the next goes on from there with what ``--work`` and ``--done`` hold. ``--renew
tests/a.py`` takes new tests from the checkout into the copy: with them, survivors are tried again.

``--judged FILE`` names survivors that were looked at (by default judged.json beside this file): JSON, from
the key of a mutant to a sentence that says why it is equivalent, or what is missing.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.mutants import run
from benchmarks.mutants.mutate import Mutant, mutants_of
from benchmarks.report import text_table

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("solvers", "linalg", "measures.py", "search", "proofs", "fit", "streams")
JUDGED = Path(__file__).with_name("judged.json")
#: What a mutant may take beyond five times the seconds that its tests took.
PATIENCE = 30.0
#: Tests that have to pass before anything is broken.
CONTROL = 30


def copied(work: Path) -> Path:
    """Copy what git would take into ``work/tree``; bundled data go where the installed package has them."""
    tree = work / "tree"
    if tree.exists():
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


def renew(work: Path, tree: Path, files: list[str], results: dict[str, dict[str, Any]]) -> None:
    """Take files of tests anew from the checkout; survivors have then not passed them yet."""
    told_file = work / "seen" / "tests.json"
    told = json.loads(told_file.read_text(encoding="utf-8"))
    for file in files:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, tree / file)
    old = {name for name in told if name.split("::")[0] in files}
    told_file.write_text(json.dumps({name: told[name] for name in told if name not in old}), encoding="utf-8")
    for result in results.values():
        result["passed"] = [name for name in result["passed"] if name not in old]
    run.look(work / "seen", tree, files)


def drawn(tree: Path, only: list[str], n: int, seed: int) -> list[Mutant]:
    """Return n mutants of different lines: the first by a hash of the seed and the text of the line."""
    by_line: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    sources: dict[str, str] = {}
    for package in only:
        place = tree / "spcastat" / package
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            name = path.relative_to(tree / "spcastat").as_posix()
            sources[name] = path.read_text(encoding="utf-8")
            for mutant in mutants_of(path, name):
                by_line[name, mutant.line].append(mutant)

    def rank(*what: str) -> str:
        return hashlib.sha256("\n".join((str(seed), *what)).encode()).hexdigest()

    found: list[Mutant] = []
    for of_it in sorted(by_line.values(), key=lambda some: rank(some[0].file, some[0].text)):
        in_turn = sorted(of_it, key=lambda mutant: rank(mutant.key))
        fit = (mutant for mutant in in_turn if not mutant.idle and mutant.valid(sources[mutant.file]))
        found += [one for one in [next(fit, None)] if one is not None]
        if len(found) == n:
            break
    return found


def difference(mutant: Mutant, tree: Path) -> str:
    """Return the lines before and after."""
    source = (tree / "spcastat" / mutant.file).read_text(encoding="utf-8")
    lines = difflib.unified_diff(source.splitlines(), mutant.applied(source).splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def tested(
    mutant: Mutant, runner: run.Runner, seen: run.Seen, before: dict[str, Any] | None, most: float
) -> dict[str, Any]:
    """Try a mutant on the tests that it has not passed yet, or those of `most` seconds altogether."""
    passed = before["passed"] if before else []
    tests = seen.tests_of(mutant)
    left = sorted(set(tests) - set(passed), key=tests.index)
    spent = sum(seen.seconds.get(name, 0.0) for name in passed)
    for number, name in enumerate(left):
        spent += seen.seconds[name]
        if spent > most:
            left = left[: number if passed else max(number, 1)]
            break
    if before and (before["outcome"] == "killed" or not left):
        return before
    start = time.perf_counter()
    by = runner.tried(mutant, left, PATIENCE + 5.0 * sum(seen.seconds[name] for name in left)) if left else ""
    outcome = "killed" if by else "survived" if tests else "not reached"
    passed = [] if by else [*passed, *left]
    return {
        **{"file": mutant.file, "line": mutant.line, "kind": mutant.kind},
        **{"difference": difference(mutant, runner.tree), "outcome": outcome, "by": by},
        **{"tests": len(tests), "seconds": round(time.perf_counter() - start, 1), "passed": passed},
    }


def report(results: dict[str, dict[str, Any]], judged: dict[str, str]) -> str:
    """Return a table by package, and the survivors."""
    packages = sorted({result["file"].split("/")[0] for result in results.values()})
    rows = []
    for package in [*packages, "all"]:
        of_it = {
            key: result for key, result in results.items() if package in ("all", result["file"].split("/")[0])
        }
        left = {key: result for key, result in of_it.items() if result["outcome"] != "killed"}
        unreached = sum(result["outcome"] == "not reached" for result in left.values())
        share = 100.0 * len(left) / max(len(of_it), 1)
        equivalent = sum(key in judged for key in left)
        cells = (len(of_it), len(left) - unreached, unreached, f"{share:.1f}", equivalent)
        rows.append([package, *map(str, cells)])
    parts = [text_table(["package", "mutants", "survived", "not reached", "both, %", "judged"], rows)]
    for key, result in results.items():
        if result["outcome"] != "killed":
            why = judged.get(key, "not looked at yet")
            parts.append(f"{key} ({len(result['passed'])} of {result['tests']} tests): {why}")
            parts[-1] += f"\n{result['difference']}"
    return "\n\n".join(parts)


def options() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--n", type=int, default=200, help="lines to break (default 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="A,B", help=f"packages; by default {','.join(PACKAGES)}")
    parser.add_argument("--tests", nargs="*", default=[], help="look at these tests only")
    parser.add_argument("--renew", nargs="*", default=[], metavar="FILE", help="files of tests to take anew")
    parser.add_argument("--work", type=Path, help="folder outside the checkout; what it holds is used again")
    parser.add_argument("--done", type=Path, help="what is known of mutants (by default in the folder)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so many minutes")
    parser.add_argument(
        "--most",
        type=float,
        default=float("inf"),
        help="seconds of tests for each mutant: a first, quick run; a later one without it tries the rest",
    )
    parser.add_argument("--judged", type=Path, default=JUDGED, help="what was found of survivors, as JSON")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Break lines and report."""
    parser = options()
    given = parser.parse_args(arguments)
    end = time.monotonic() + 60.0 * given.minutes
    work = (given.work or Path(tempfile.gettempdir()) / "spcastat-mutants").resolve()
    if work.is_relative_to(ROOT):
        parser.error(f"--work {work} lies in the checkout")
    tree = copied(work)
    chosen = drawn(tree, given.only.split(",") if given.only else list(PACKAGES), given.n, given.seed)
    if given.list:
        print("\n\n".join(f"{mutant.key}\n{difference(mutant, tree)}" for mutant in chosen))
        return 0
    if not (work / "seen" / "whole").exists():
        run.look(work / "seen", tree, given.tests, given.minutes)
    if not (work / "seen" / "whole").exists():
        print("There are tests left to look at: run this again.")
        return 0
    file = given.done or work / "done.json"
    results: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if given.renew:
        renew(work, tree, given.renew, results)
    seen = run.Seen(work / "seen", tree)

    def work_off(runner: run.Runner) -> None:
        quickest = sorted(seen.seconds, key=lambda name: seen.seconds[name])[:CONTROL]
        wrong = runner.copy(quickest, PATIENCE, lambda: None)
        if wrong:
            raise SystemExit(f"tests of the unbroken source do not pass: {wrong}")
        for number, mutant in enumerate(chosen, 1):
            if time.monotonic() > end:
                break
            results[mutant.key] = tested(mutant, runner, seen, results.get(mutant.key), given.most)
            file.write_text(json.dumps(results, indent=1), encoding="utf-8")
            said = results[mutant.key]
            print(f"{number}/{len(chosen)} {mutant.key}: {said['outcome']} {said['by']}", flush=True)

    run.with_runner(tree, given.tests, seen.seconds, work_off)
    judged = json.loads(given.judged.read_text("utf-8")) if given.judged.exists() else {}
    wanted = {mutant.key: results[mutant.key] for mutant in chosen if mutant.key in results}
    print(f"\n{report(wanted, judged)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
