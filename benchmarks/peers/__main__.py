"""Comparison with other programs for sparse PCA, on the same data, cardinalities and criteria.

``python -m benchmarks.peers --work WORK [--data DIR] [--fit] [--r] [--write]``. The folder ``--work`` has the
loadings of all programs: ``--fit`` adds those of this package and of scikit-learn, ``--r`` those of the R
packages that are installed (``peers.R``), unless they are there; loadings of other programs can be added in
the same form. One function measures all of them (`benchmarks.peers.cells.measured`).
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.peers.cells import Cell, Measured, measured
from benchmarks.peers.fits import PROGRAMS, fitted, prepare, run_python, run_r
from benchmarks.peers.times import cells_of, times
from benchmarks.report import Table, command_line, read_arguments, stamp, write_section
from spcastat.errors import ConvergenceWarning

#: Shares closer than this are the same.
SAME = 1e-4
#: Largest violation of orthogonality with which loadings count as orthogonal: the tolerance of msPCA.
ORTHOGONAL = 1e-4
#: The programs of README's table: medians are over the settings that all of them fit.
IN_README = ("sklearn", "elasticnet", "PMA", "nsprcomp", "msPCA")
OTHERS = (
    *("msPCA", "GeoSPCA", "abess", "nsprcomp", "elasticnet", "mixOmics"),
    *("PMA", "sparsepca", "amanpg", "spca", "sklearn"),
)
NOTE = {
    "msPCA": "Cory-Wright and Pauphilet: orthogonal loadings",
    "GeoSPCA": "Bertsimas and Kitane: one support for all components",
    "nsprcomp": "Sigg and Buhmann",
    "abess": "best subset splicing, one component after another",
    "elasticnet": "Zou, Hastie and Tibshirani",
    "mixOmics": "spca(), after Shen and Huang",
    "PMA": "Witten et al., along its penalty, cut",
    "sparsepca": "Erichson et al., along its penalty, cut",
    "amanpg": "manifold proximal gradient, along its penalty, cut",
    "spca": "Merola: uncorrelated LS-SPCA, along its share of R2, cut",
    "sklearn": "SparsePCA, along its penalty, cut",
}


@dataclass(frozen=True)
class Found:
    """The cells, and all loadings in the folder."""

    work: Path
    cells: list[Cell]

    def _array(self, program: str, cell: Cell) -> np.ndarray | None:
        path = self.work / "found" / f"{program}-{'-'.join(map(str, cell))}.csv"
        return np.loadtxt(path, delimiter=",", ndmin=2) if path.exists() else None

    @cached_property
    def measured(self) -> dict[tuple[str, Cell], Measured]:
        """Program and cell -> its loadings by every criterion, if they have no more nonzeros than asked."""
        done = {}
        for cell in self.cells:
            S = np.cov(np.loadtxt(self.work / f"{cell[0]}.csv", delimiter=",").T)
            for program in (*PROGRAMS, *OTHERS):
                if (V := self._array(program, cell)) is not None:
                    one = measured(V, S)
                    if max(one.card) <= cell[2]:
                        done[program, cell] = one
        return done

    @cached_property
    def seconds(self) -> dict[tuple[str, Cell], float]:
        """Program and cell -> CPU seconds."""
        done = {}
        for program in (*PROGRAMS, *OTHERS):
            path = self.work / "found" / f"{program}.csv"
            for line in path.read_text().splitlines() if path.exists() else ():
                parts = line.split(",")
                if len(parts) > 4:
                    done[program, (parts[0], int(parts[1]), int(parts[2]))] = float(parts[4])
        return done

    @cached_property
    def common(self) -> list[Cell]:
        """The settings that all programs of `IN_README` fit."""
        return [cell for cell in self.cells if all((name, cell) in self.measured for name in IN_README)]

    def median_gap(self, program: str) -> float:
        """Return the median of our PEV minus that of a program on the common settings, or nan."""
        if any((program, cell) not in self.measured for cell in self.common) or not self.common:
            return np.nan
        pairs = [(self.measured["spcastat-pev", cell], self.measured[program, cell]) for cell in self.common]
        return float(np.median([ours.pev - theirs.pev for ours, theirs in pairs]))

    def faster(self, program: str) -> str:
        """Return in how many settings a program takes less CPU time than our search for its criterion."""
        ours = "spcastat-orthogonal" if program in ("msPCA", "GeoSPCA") else "spcastat-pev"
        pairs = [
            (self.seconds[program, cell], self.seconds[ours, cell])
            for cell in self.cells
            if (program, cell) in self.measured and (program, cell) in self.seconds
        ]
        return f"{sum(a < b for a, b in pairs)} of {len(pairs)}"

    def bounds(self, cell: Cell) -> tuple[float, float]:
        """Return proven bounds on PEV: of all loadings, and of orthogonal ones; nan where there is none."""
        kept = self._array("bound", cell)
        return (np.nan, np.nan) if kept is None else (float(kept[0, 0]), float(kept[1, 0]))


def _of(cell: Cell) -> str:
    return f"{cell[0].removeprefix('norm')}, {cell[1]} of {cell[2]}"


def _points(share: float) -> str:
    return "-" if np.isnan(share) else f"{100.0 * share:.1f}"


def _medians(found: Found) -> str:
    """Return the median CPU seconds of our three fits."""
    ours = [[found.seconds.get((one, cell), np.nan) for cell in found.cells] for one in list(PROGRAMS)[:3]]
    return ", ".join(f"{np.nanmedian(seconds):.2f}" for seconds in ours)


def _percent(value: float | None) -> str:
    return "-" if value is None or not np.isfinite(value) else f"{100.0 * value:.2f}"


def ahead(found: Found) -> Table:
    """List every cell where another program is ahead of ours by some criterion."""
    table = Table(
        "Where another program is ahead",
        ["data, k of card", "criterion", "program", "theirs", "ours", "their violation of orthogonality"],
    )
    for cell in found.cells:
        for program in OTHERS:
            theirs = found.measured.get((program, cell))
            if theirs is None:
                continue
            pairs = [
                ("adjusted", theirs.adjusted, found.measured["spcastat", cell].adjusted),
                ("PEV", theirs.pev, found.measured["spcastat-pev", cell].pev),
            ]
            if theirs.violation <= ORTHOGONAL:
                ours = found.measured["spcastat-orthogonal", cell].pev
                pairs.append(("orthogonal PEV", theirs.pev, ours))
            for name, value, best in pairs:
                if value > best + SAME:
                    violation = f"{theirs.violation:.1e}"
                    row = [_of(cell), name, program, _percent(value), _percent(best), violation]
                    table.rows.append(row)
    table.notes = [
        f"In explained variance: {len(table.rows) or 'no'} rows, from {len(found.cells)} settings. Percent "
        "of the total variance; differences below 0.01 points are ignored.",
        "For each criterion our fit maximises it: the default (adjusted), "
        'objective="pev", and constraint="orthogonal".',
    ]
    return table


def summary(found: Found) -> Table:
    """Count for each program where it is ahead, level and behind."""
    table = Table(
        "In short: settings in which a program is ahead of ours, equal, behind",
        [
            "program",
            "settings",
            "adjusted",
            "PEV",
            "orthogonal",
            f"points of PEV behind, {len(found.common)} settings",
            "faster in",
            "violation",
        ],
    )
    for program in OTHERS:
        mine = [cell for cell in found.cells if (program, cell) in found.measured]
        if not mine:
            table.rows.append([program, "0", *["-"] * 6])
            continue
        theirs = [found.measured[program, cell] for cell in mine]
        default = [found.measured["spcastat", cell] for cell in mine]
        free = [found.measured["spcastat-pev", cell] for cell in mine]
        bound = [found.measured["spcastat-orthogonal", cell] for cell in mine]
        orthogonal = [i for i, one in enumerate(theirs) if one.violation <= ORTHOGONAL]
        gaps = [b.pev - a.pev for a, b in zip(theirs, free, strict=True)]
        table.rows.append(
            [
                f"{program} ({NOTE[program]})",
                str(len(mine)),
                _counts([a.adjusted - b.adjusted for a, b in zip(theirs, default, strict=True)]),
                _counts([-gap for gap in gaps]),
                _counts([theirs[i].pev - bound[i].pev for i in orthogonal]) if orthogonal else "-",
                _points(found.median_gap(program)),
                found.faster(program),
                f"{max(one.violation for one in theirs):.1e}",
            ]
        )
    table.notes = [
        "Ahead and behind by more than 0.01 points; violation: the largest sum of |v_i'v_j|. The column "
        "orthogonal compares fits with a violation of at most 1e-4 with our orthogonal fits.",
        f"Points of PEV behind: medians over the {len(found.common)} settings that all of "
        f"{', '.join(IN_README[:-1])} and {IN_README[-1]} fit; programs that do not fit all of these have "
        "none.",
        "Faster in: settings in which the program takes less CPU time than our search for PEV, or, for msPCA "
        f"and GeoSPCA, for orthogonal loadings. Our medians over {len(found.cells)} settings are "
        f"{_medians(found)} s (adjusted variance, PEV, orthogonal loadings).",
        "PMA, sparsepca, amanpg and scikit-learn have a penalty and no cardinality: the table shows the best "
        "of a path of penalties, by PEV, after truncation to the largest loadings of every component; CPU "
        "seconds are for the path, without starting R. Fits with more nonzeros than specified are excluded: "
        "mixOmics keeps all tied variables.",
    ]
    return table


def _counts(differences: list[float]) -> str:
    better = sum(one > SAME for one in differences)
    worse = sum(one < -SAME for one in differences)
    return f"{better} / {len(differences) - better - worse} / {worse}"


def constrained(found: Found) -> Table:
    """Compare by msPCA's own criterion: orthogonal loadings of equal cardinality."""
    table = Table(
        "msPCA's criterion: orthogonal loadings of equal cardinality",
        ["data, k of card", "msPCA", "ours", "bound", "gap", "unconstrained", "cost", "s", "our s"],
    )
    for cell in found.cells:
        theirs, ours = (found.measured.get((one, cell)) for one in ("msPCA", "spcastat-orthogonal"))
        free = found.measured["spcastat-pev", cell].pev
        bound = found.bounds(cell)[1]
        if ours is None:
            continue
        table.rows.append(
            [
                _of(cell),
                _percent(None if theirs is None else theirs.pev),
                _percent(ours.pev),
                _percent(bound),
                _percent(bound / ours.pev - 1.0) if np.isfinite(bound) else "-",
                _percent(free),
                _percent(free - ours.pev),
                f"{found.seconds.get(('msPCA', cell), np.nan):.2f}",
                f"{found.seconds.get(('spcastat-orthogonal', cell), np.nan):.2f}",
            ]
        )
    table.notes = [
        "Percent of the total variance of the projection on the loadings. Cost of the constraint: our fit "
        "without it minus our fit with it. Bound and gap (percent of ours) are from "
        "`certify(time_limit=6)` of a fit with that constraint, beside other processes; there is none beyond "
        "200 variables, or if a loading of ours is zero. CPU s.",
        "Inner products of msPCA's loadings are up to 1e-4, its tolerance; ours are zero to rounding. Beyond "
        "200 variables our supports are disjoint (disjoint=True): orthogonal, but not optimal.",
    ]
    return table


def _by(title: str, measure: str, ours: str, found: Found) -> Table:
    here = [one for one in OTHERS if any((one, cell) in found.measured for cell in found.cells)]
    pev = measure == "pev"
    table = Table(title, ["data, k of card", "spcastat", *(["bound"] if pev else []), *here])
    for cell in found.cells:
        row = [_of(cell), _percent(getattr(found.measured[ours, cell], measure))]
        row += [_percent(found.bounds(cell)[0])] if pev else []
        for program in here:
            one = found.measured.get((program, cell))
            row.append(_percent(None if one is None else getattr(one, measure)))
        table.rows.append(row)
    return table


def shares(found: Found) -> Table:
    """Return PEV of all programs."""
    return _by('PEV, ours with objective="pev"', "pev", "spcastat-pev", found)


def adjusted(found: Found) -> Table:
    """Return adjusted variance of all programs."""
    return _by("Adjusted variance, ours by default", "adjusted", "spcastat", found)


def refitted(found: Found) -> Table:
    """Compare scikit-learn's loadings, truncated and refitted on their supports, with ours by PEV."""
    table = Table(
        "PEV of scikit-learn's SparsePCA, refitted on its supports",
        ["data, k of card", "truncated", "refitted", 'spcastat, objective="pev"', "points behind, refitted"],
    )
    gaps = []
    for cell in found.cells:
        cut, best = (found.measured.get((one, cell)) for one in ("sklearn", "sklearn-refitted"))
        if cut is None or best is None:
            continue
        ours = found.measured["spcastat-pev", cell].pev
        gaps.append(ours - best.pev)
        table.rows.append([_of(cell), *map(_percent, (cut.pev, best.pev, ours, round(gaps[-1], 6) + 0.0))])
    table.notes = [
        f"Settings with PEV below / equal / above spcastat after refitting: "
        f"{' / '.join(reversed(_counts([-gap for gap in gaps]).split(' / ')))}; median points behind on the "
        f"{len(found.common)} common settings: {_points(found.median_gap('sklearn-refitted'))}.",
        "PEV in percent of the total variance. Truncated: the largest loadings of every component, the "
        "best of a path of penalties. Refitted: the loadings of largest PEV on the supports of each "
        "truncated fit, the best of the path; scikit-learn has no such step, and "
        "`spcastat.solvers.thresholding.fitted` does it here.",
    ]
    return table


def timed_values(found: Found) -> Table:
    """Compare values and CPU seconds with those of the R packages that have run."""
    cells = cells_of(found.work)
    everything = Found(found.work, cells)
    programs = [name for name in OTHERS if any((name, cell) in everything.measured for cell in cells)]
    return times(found.work, cells, programs, everything.measured, everything.seconds)


TABLES: dict[str, Callable[[Found], Table]] = {
    "summary": summary,
    "orthogonal": constrained,
    "pev": shares,
    "adjusted": adjusted,
    "refitted": refitted,
    "times": timed_values,
}
#: Tables with sections of their own, which need few programs or none of R; and the options of their command.
APART = {"refitted": "--fit", "times": "--r"}


def main(arguments: list[str] | None = None) -> int:
    """Add missing fits, measure all, print the tables, and write the page if the command line says so."""
    parser = command_line("peers", __doc__, TABLES)
    parser.add_argument("--work", type=Path, required=True, help="folder for the loadings of all programs")
    parser.add_argument("--fit", action="store_true", help="fit this package and scikit-learn")
    parser.add_argument("--r", action="store_true", help="run the R packages that are installed")
    parser.add_argument("--seconds", type=float, default=3.0, help="time limit of each bound")
    given: argparse.Namespace = read_arguments(parser, TABLES, arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    cells = prepare(given.work, given.data)
    missing = run_r(given.work) if given.r else ""
    if given.fit:
        run_python(given.work, cells, given.seconds)
    found = Found(given.work, [cell for cell in cells if fitted(given.work, cell)])
    about = Path(__file__).with_name("about.md").read_text(encoding="utf-8").strip()
    made = {name: TABLES[name](found) for name in given.tables or TABLES}
    for name, options in APART.items():
        if name in made:
            command = f"`python -m benchmarks.peers {name} --work WORK --data DIR {options}`"
            made[name].notes.append(f"{command}. {stamp()}")
    joint = {name: table for name, table in made.items() if name not in APART}
    first = ahead(found) if joint else None
    shown = [table for table in (first, *made.values()) if table is not None]
    print("\n\n".join(table.show(False) for table in shown))
    if given.write:
        for name in APART:
            if name in made:
                write_section(f"peers-{name}", made[name].show(True))
        if first is not None:
            command = f"`python -m benchmarks.peers`. {stamp()} {missing}".strip()
            others = [table.show(True) for table in joint.values()]
            body = [command, first.show(True)]
            body += ["### What is compared, and how", about, *others]
            write_section("peers", "\n\n".join(body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
