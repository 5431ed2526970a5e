"""Tampered files of fits: ``python -m benchmarks.tamper [--flips 2000] [--manifests 2000] [--seed 0]``.

Every single truncation of five saved fits, flipped bits, and contents changed at random.
Each file is opened in a worker process and used; it must end in a right fit or in an error of the package,
within 10 s of the processor and 500 MB. Changed contents may end in "forged": a fit of
right kinds, shapes and sizes, whose numbers were changed by someone who could as well have saved another fit.
Prints the counts, and ends with 1 unless wrong, foreign and hang are zero.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tampering import Saved, flipped, saved_fits, tampered
from benchmarks.verdicts import verdict

#: Seconds of the processor that a file may take, and seconds on the wall, on a machine that is busy.
SECONDS, PATIENCE = 10.0, 120.0
MEGABYTES = 500
OUTCOMES = ("right", "refused", "forged", "wrong", "foreign", "hang")


def cases(saved: list[Saved], kind: str, count: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """Yield the position of a saved fit and the bytes of a file made from it."""
    rng = np.random.default_rng(seed)
    if kind == "truncations":
        for which, one in enumerate(saved):
            for end in range(len(one.whole)):
                yield which, one.whole[:end]
        return
    change = {"flips": flipped, "manifests": tampered}[kind]
    for number in range(count):
        which = number % len(saved)
        yield which, change(saved[which], rng)


def work(channel: Any) -> None:
    """Open the files that come through a channel, and say what came of each."""
    warnings.simplefilter("ignore")
    saved = saved_fits()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tampered.spca")
        verdict_of_whole = []
        for one in saved:
            path.write_bytes(one.whole)
            verdict_of_whole.append(verdict(path, one))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        channel.send(verdict_of_whole)
        while (case := channel.recv()) is not None:
            which, whole, sealed = case
            path.write_bytes(whole)
            begun = time.process_time()
            found, why = verdict(path, saved[which], sealed)
            if time.process_time() - begun > SECONDS:
                found, why = "hang", f"over {SECONDS:g} s of the processor"
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            channel.send((found, why) if more <= MEGABYTES else ("hang", f"{more:.0f} MB"))


class Worker:
    """A process that opens files, replaced when it takes too long."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self.channel, end = context.Pipe()
        self.process = context.Process(target=work, args=(end,), daemon=True)
        self.process.start()
        end.close()
        wrong = [why for found, why in self.channel.recv() if found != "right"]
        if wrong:
            raise SystemExit(f"the files as they were saved are not right: {wrong}")

    def judge(self, case: tuple[int, bytes, bool]) -> tuple[str, str]:
        """Return the outcome of one file."""
        self.channel.send(case)
        try:
            found = self.channel.recv() if self.channel.poll(PATIENCE) else ("hang", f"over {PATIENCE:g} s")
        except EOFError:
            found = ("hang", "the process died")
        if found[0] == "hang":
            self.process.kill()
            self.process.join()
            self.start()
        return found

    def end(self) -> None:
        """End the process."""
        self.channel.send(None)
        self.process.join()


def main() -> int:
    """Run all kinds and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=2000)
    parser.add_argument("--manifests", type=int, default=2000)
    parser.add_argument("--no-truncations", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the files that went wrong")
    args = parser.parse_args()
    saved, worker, bad = saved_fits(), Worker(), 0
    print(f"{'':14}" + "".join(f"{name:>9}" for name in OUTCOMES))
    kinds = {"truncations": 0, "flips": args.flips, "manifests": args.manifests}
    for kind, count in kinds.items():
        if kind == "truncations" and args.no_truncations:
            continue
        tally: Counter[str] = Counter()
        for number, case in enumerate(cases(saved, kind, count, args.seed)):
            found, why = worker.judge((*case, kind == "manifests"))
            tally[found] += 1
            if found in OUTCOMES[3:]:
                bad += 1
                print(f"  {kind} {number} ({saved[case[0]].name}): {found}: {why[:200]}", file=sys.stderr)
                if args.keep:
                    (args.keep / f"{kind}-{number}.spca").write_bytes(case[1])
        print(f"{kind:14}" + "".join(f"{tally[name]:9}" for name in OUTCOMES), flush=True)
    worker.end()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
