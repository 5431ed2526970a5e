"""The figures of the papers, drawn from the numbers on the pages of results: ``--pictures``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from benchmarks.papers import colon, digits, pitprops
from benchmarks.papers.counting import cells_of, totals
from benchmarks.papers.verdicts import FINDINGS
from benchmarks.report import page_of, section_of

#: The folder of the pictures, next to the page of the documentation that shows them.
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "papers"
#: Lines of the papers' own methods are thick and coloured; the others are grey, with markers.
OWN = re.compile(r"BCD|sPCA-OS|SPCO|S1-SPCA|S5-SPCA|Sc-SPCA|RSPCA")
COLOURS = ("#d1495b", "#00798c", "#8f5bb0")
MARKERS = "osv^D<>Pp*hX"


INTRODUCTION = """# The papers, figure by figure

spcastat implements the methods of four papers, and the methods with which these papers compare them. The
tables of the papers are recomputed row by row; the picture shows how many printed rows have each outcome:

```{image} papers/record.png
:alt: Printed rows of each paper by finding
```

The figures below are drawn from numbers on the pages of [measured results](../benchmarks/RESULTS.md), which
state the settings, the draws and the command for each figure; `python -m benchmarks.papers --pictures` draws
them. Coloured lines show our results for the methods of the paper; crosses mark values that the paper prints
in a table. The images of faces (Zhao, Meng, Xu and Gao 2015, Figures 3 and 5) are not available, so images
of digits are used instead. Figures that show no data are omitted."""


@dataclass(frozen=True)
class Curve:
    """A line: its name, abscissae and ordinates."""

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    table : str
        The section of the page with the numbers.
    y : str
        The label of the ordinate.
    rows : str
        A pattern of the rows that are drawn; its group, if it has one, is the name of the line.
    columns : str or None
        A pattern of the columns that are the abscissae; its group is the number. None: rows are the
        abscissae, and `lines` are the columns.
    lines : str
        A pattern of the columns that are lines, if rows are the abscissae; its group is the name of the line.
    abscissa : str
        The column with the abscissae of the rows; by default the group of `rows` is the number.
    title : str
    x : str
        The label of the abscissa.
    change : callable or None
        A function that transforms the ordinates.
    printed : mapping
        Name of a line -> a point that the paper prints.
    log : str
        "", "x", "y" or "xy": axes with a logarithmic scale.
    bars : bool
        Whether the numbers of each row are bars.
    """

    table: str
    y: str
    rows: str = "(.*)"
    columns: str | None = r"^(\d+)$"
    lines: str = ""
    abscissa: str = ""
    title: str = ""
    x: str = "components"
    change: Callable[[np.ndarray], np.ndarray] | None = None
    printed: tuple[tuple[str, float, float], ...] = ()
    log: str = ""
    bars: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure of a paper: the name of its file, the caption, and its panels; none if it shows images."""

    name: str
    caption: str
    panels: tuple[Panel, ...]


def _rre(pev: np.ndarray) -> np.ndarray:
    """Return RRE, the root of 1 - PEV, for PEV in %."""
    return np.sqrt(1.0 - pev / 100.0)


def _pev_and_rre(
    table: str, rows: str, title: str, points: dict[str, tuple[int, float]]
) -> tuple[Panel, Panel]:
    """Return the panels of PEV and RRE by components; `points` are printed: line -> number, PEV."""
    printed = tuple((name, float(k), pev) for name, (k, pev) in points.items())
    errors = tuple((name, k, float(_rre(np.array(pev)))) for name, k, pev in printed)
    return (
        Panel(table, "RRE", rows, title=title, change=_rre, printed=errors),
        Panel(table, "PEV, %", rows, title=title, printed=printed),
    )


def all_pictures() -> tuple[Picture, ...]:
    """Return the figures of the papers whose data are available."""
    patterns = ["-".join(map(str, pattern)) for pattern in pitprops.PATTERNS]
    table_3 = pitprops.TABLE_3
    pitprops_panels = [
        _pev_and_rre(
            "zhao2015-fig1",
            rf"^{pattern} (.*)",
            pattern,
            {
                name: (6, table_3[name][2 * j + 1])
                for name in table_3
                if ",m" not in name and name != "ALSPCA"
            },
        )
        for j, pattern in enumerate(patterns)
    ]
    without_block = {name: (20, pev) for name, (_, pev) in colon.TABLE_4.items() if "GPower" not in name}
    without_block.pop("ALSPCA")
    nonnegative = {name: (20, pev) for name, (_, pev) in colon.TABLE_7.items()}
    noise = tuple((name, 100.0, row[2]) for name, row in digits.TABLE_4.items())
    outliers = tuple((name, 100.0, row[3]) for name, row in digits.TABLE_4.items())
    seconds, variance = r"CPU s (.*)", r"variance (.*)"
    return (
        Picture(
            "zhao2015-fig1",
            "Zhao, Meng, Xu and Gao (2015), Figure 1: pitprops, by the number of components",
            tuple(panels[i] for i in (0, 1) for panels in pitprops_panels),
        ),
        Picture(
            "zhao2015-fig2",
            "Zhao, Meng, Xu and Gao (2015), Figure 2: colon, by the number of components of 50 nonzeros",
            _pev_and_rre("zhao2015-fig2", "(.*)", "", without_block),
        ),
        Picture(
            "zhao2015-fig3",
            "Zhao, Meng, Xu and Gao (2015), Figure 3 with digits in place of faces: 194 nonzeros of 784",
            _pev_and_rre("zhao2015-fig3-digits", "(.*)", "", {}),
        ),
        Picture(
            "zhao2015-fig4",
            "Zhao, Meng, Xu and Gao (2015), Figure 4: colon, by the number of nonnegative components",
            _pev_and_rre("zhao2015-fig4", "(.*)", "", nonnegative),
        ),
        Picture(
            "zhao2015-fig5",
            "Zhao, Meng, Xu and Gao (2015), Figure 5 with digits in place of faces: ten components",
            (),
        ),
        Picture(
            "dou2011-fig1",
            "Dou, Dai, Xu and Zhang, Figure 1: pitprops, adjusted variance of each component",
            (Panel("dou2011-fig1", "adjusted variance, %", x="component"),),
        ),
        Picture(
            "dou2011-fig2",
            "Dou, Dai, Xu and Zhang, Figure 2: sparse coordinates of three groups of ten points",
            tuple(
                Panel("dou2011-fig2-points", "coordinate", f"({which} coordinate.*)", x="point", bars=True)
                for which in ("first", "second")
            ),
        ),
        Picture(
            "dou2011-fig3",
            "Dou, Dai, Xu and Zhang, Figure 3: zero loadings (SPCO: coordinates) of the six UCI sets",
            (
                Panel(
                    "dou2011-fig3",
                    "zeros, %",
                    "(.*)",
                    None,
                    "^(SPCA-ZHT|SPCA-WTH|sPCA-OS|SPCO)$",
                    x="",
                    bars=True,
                ),
            ),
        ),
        Picture(
            "dou2011-fig4",
            "Dou, Dai, Xu and Zhang, Figure 4: SRBCT, by the number of sparse coordinates",
            tuple(
                Panel("dou2011-fig4", f"{measure}, %", rf"^{measure}, (.*)", r"^q = (\d+)$", x="q")
                for measure in ("CPEV", "CPZC")
            ),
        ),
        Picture(
            "he2010-fig1",
            "He, Monteiro and Park (2010), Figure 1: variance of the first component against its cardinality",
            (Panel("he2010-fig1", "relative variance", r"^(\d+)$", x="nonzeros"),),
        ),
        Picture(
            "he2010-fig2-3",
            "He, Monteiro and Park (2010), Figures 2 and 3: random sparse p x p, p / 5 nonzeros",
            (
                Panel("he2010-fig2-3", "CPU s", r"^(\d+)$", None, seconds, x="p", log="xy"),
                Panel("he2010-fig2-3", "relative variance", r"^(\d+)$", None, variance, x="p", log="x"),
            ),
        ),
        Picture(
            "he2010-fig4",
            "He, Monteiro and Park (2010), Figure 4: random sparse 5000 x 5000, from the dense component",
            tuple(
                Panel("he2010-fig4", label, "dense start", None, lines, abscissa="nonzeros", x="nonzeros")
                for label, lines in (("relative variance", variance), ("CPU s", seconds))
            ),
        ),
        Picture(
            "he2010-fig5",
            "He, Monteiro and Park (2010), Figure 5: random sparse n x p, p / 10 nonzeros",
            (
                Panel(
                    "he2010-fig5",
                    "CPU s",
                    r"^(\d+) x (?:\1)0$",
                    None,
                    seconds,
                    x="n = p / 10",
                    title="n / p = 0.1",
                    log="xy",
                ),
                Panel(
                    "he2010-fig5",
                    "CPU s",
                    r"^(\d+)0 x \1$",
                    None,
                    seconds,
                    x="p = n / 10",
                    title="n / p = 10",
                    log="xy",
                ),
            ),
        ),
        Picture(
            "he2010-fig6",
            "He, Monteiro and Park (2010), Figure 6: 5000 digits of unit length",
            tuple(
                Panel("he2010-fig6", label, r"^all digits, unit length, (\d+)$", None, lines, x="nonzeros")
                for label, lines in (("CPU s", seconds), ("relative variance", variance))
            ),
        ),
        *(
            Picture(
                f"zhao2014-fig{number}",
                f"Zhao, Meng and Xu (2014), Figure {number}: Hastie's data, wrong entries by the variance of "
                f"{what}",
                (Panel(f"zhao2014-fig{number}", "wrong entries, %", "(.*), wrong entries, %", x="variance"),),
            )
            for number, what in ((2, "the noise"), (3, "500 outliers"))
        ),
        Picture(
            "zhao2014-fig5",
            "Zhao, Meng and Xu (2014), Figure 5: sixes rebuilt from components, with noise and with outliers",
            tuple(
                Panel("zhao2014-fig5", "mean distance", f"(.*), {kind}", title=kind, printed=points)
                for kind, points in (("noise", noise), ("outliers", outliers))
            ),
        ),
        Picture(
            "zhao2014-fig6",
            "Zhao, Meng and Xu (2014), Figure 6: nearest neighbours of digits",
            (
                Panel(
                    "zhao2014-fig6",
                    "right, %",
                    "(.*)",
                    r"^(\d+) features",
                    x="features",
                    printed=(("RSPCA l0", 40.0, 95.80),),
                ),
            ),
        ),
    )


def numbers(table: str) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of all tables of a section of a page, as text.

    Columns of the paper ("..., paper") are left out. Rows of several tables need the same headings.
    """
    heads: list[str] = []
    rows: list[list[str]] = []
    columns: list[int] = []
    fresh = True
    for line in section_of(table).splitlines():
        if not line.startswith("|"):
            fresh = True
            continue
        cells = cells_of(line)
        if cells[1].startswith("---"):
            continue
        if fresh:
            columns = [j for j, cell in enumerate(cells) if not cell.endswith(", paper")]
            names = [
                cells[j - 1].removesuffix(", paper") if cells[j] == "ours" and j else cells[j]
                for j in columns
            ]
            heads = heads or names
            fresh = False
            skipped = names[0] == "the paper states"
            continue
        if not skipped:
            rows.append([cells[j] for j in columns])
    return heads, rows


def _value(cell: str) -> float:
    """Return the number at the beginning of a cell, NaN if there is none."""
    found = re.match(r"-?\d+(\.\d+)?", cell)
    return float(found.group()) if found else np.nan


def _group(match: re.Match[str]) -> str:
    return match.group(1) if match.re.groups else match.group()


def curves(panel: Panel) -> list[Curve]:
    """Return the lines of a panel."""
    heads, rows = numbers(panel.table)
    chosen = [(_group(m), row) for row in rows if (m := re.search(panel.rows, row[0]))]
    if panel.columns is not None:
        places = [(j, _group(m)) for j, head in enumerate(heads) if (m := re.search(panel.columns, head))]
        x = [float(number) for _, number in places]
        lines = [Curve(name, x, [_value(row[j]) for j, _ in places]) for name, row in chosen if len(row) > 1]
    else:
        places = [(j, _group(m)) for j, head in enumerate(heads) if (m := re.search(panel.lines, head))]
        where = heads.index(panel.abscissa) if panel.abscissa else None
        names = [name for name, _ in chosen]
        if where is not None:
            x: list[float] | list[str] = [_value(row[where]) for _, row in chosen]
        else:
            x = names if panel.bars else [float(name) for name in names]
        lines = [Curve(name, x, [_value(row[j]) for _, row in chosen]) for j, name in places]
    change = panel.change
    return [line if change is None else Curve(line.name, line.x, change(np.array(line.y))) for line in lines]


def draw(picture: Picture, folder: Path = FOLDER) -> Path:
    """Draw a picture and return its file."""
    count = len(picture.panels)
    width = 4.6 if count == 1 else 3.6 * min(count, 3)
    height = 3.2 * -(-count // 3)
    with mpl.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(width, height + 0.9), layout="constrained")
        grid = figure.subplots(-(-count // 3), min(count, 3), squeeze=False)
        for axes in grid.flat[count:]:
            axes.remove()
        handles: dict[str, object] = {}
        for panel, axes in zip(picture.panels, grid.flat, strict=False):
            handles |= _panel(axes, panel)
        longest = max(len(name) for name in handles)
        columns = max(1, int(figure.get_size_inches()[0] / (0.06 * longest + 0.45)))
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize=7,
        )
        path = folder / f"{picture.name}.png"
        figure.savefig(path, dpi=150)
    return path


#: A bar of fewer rows has no room for their number.
FEWEST_LABELLED = 3


def draw_record(folder: Path = FOLDER) -> Path:
    """Draw the number of printed rows with each finding, for each paper, and return the file."""
    colours = ("#1b7f5c", "#6bb392", "#b7dcc8", "#8ab6d6", "#c9c9c9", "#e4e4e4", "#d1495b")
    names = {
        "zhao2015": "block coordinate descent",
        "dou2011": "optimal scoring",
        "he2010": "greedy, controlled",
        "zhao2014": "robust, l1 variance",
    }
    with mpl.rc_context({"font.size": 8}):
        figure = Figure(figsize=(6.4, 1.9), layout="constrained")
        axes = figure.subplots()
        for y, paper in enumerate(names):
            counts = totals(page_of(f"papers-{paper}").read_text(encoding="utf-8"))[0]
            edge = 0
            for finding, colour in zip(FINDINGS, colours, strict=True):
                count = counts.get(finding, 0)
                label = finding if y == 0 else None
                axes.barh(y, count, left=edge, color=colour, label=label, height=0.7)
                if count >= FEWEST_LABELLED:
                    axes.text(edge + count / 2.0, y, str(count), ha="center", va="center", fontsize=7)
                edge += count
        axes.set_yticks(range(len(names)), list(names.values()))
        axes.invert_yaxis()
        axes.set(xlabel="printed rows")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right center", frameon=False, fontsize=7)
        path = folder / "record.png"
        figure.savefig(path, dpi=150)
    return path


#: The head of a table of claims.
CLAIMS_HEAD = ("| the paper states | result here | finding |", "| --- | --- | --- |")


def claims(table: str) -> list[str]:
    """Return a row for each claim of a section: what the paper states, the result here, and the finding."""
    section = section_of(table)
    if "| the paper states |" not in section:
        return []
    rows = section.split("| the paper states |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [cells_of(row) for row in rows]
    findings = [finding.rpartition(") ")[2] for _, _, finding in cells]
    return [
        f"| {text} | {ours} | {finding} |" for (text, ours, _), finding in zip(cells, findings, strict=True)
    ]


def page(pictures: Sequence[Picture]) -> str:
    """Return the page of the documentation that shows the pictures."""
    body = [INTRODUCTION]
    for picture in pictures:
        lines = [line for table in dict.fromkeys(p.table for p in picture.panels) for line in claims(table)]
        lines = [*CLAIMS_HEAD, *lines] if lines else []
        figure = f"```{{image}} papers/{picture.name}.png\n:alt: {picture.caption}\n```"
        body.append("\n\n".join([f"## {picture.caption}", figure, *(["\n".join(lines)] if lines else [])]))
    return "\n\n".join(body) + "\n"


def _tick(place: float | str) -> str:
    return place if isinstance(place, str) else f"{place:g}"


def _panel(axes: Axes, panel: Panel) -> dict[str, object]:
    """Draw a panel; return name -> handle of its lines."""
    handles: dict[str, object] = {}
    lines = curves(panel)
    own = [line.name for line in lines if OWN.search(line.name)]
    for i, line in enumerate(lines):
        if panel.bars:
            width = 0.8 / len(lines)
            places = np.arange(len(line.x)) + (i - (len(lines) - 1) / 2.0) * width
            grey = f"{0.75 - 0.5 * i / max(len(lines), 1):.2f}"
            colour = COLOURS[own.index(line.name) % 3] if line.name in own else grey
            handles[line.name] = axes.bar(places, line.y, width, color=colour)
            axes.set_xticks(np.arange(len(line.x)), [_tick(number) for number in line.x], rotation=90)
            continue
        is_own = line.name in own
        colour = COLOURS[own.index(line.name) % 3] if is_own else f"{0.2 + 0.5 * i / len(lines):.2f}"
        (handles[line.name],) = axes.plot(
            line.x, line.y, color=colour, lw=2.0 if is_own else 0.9, ms=3.5, marker=MARKERS[i % len(MARKERS)],
            zorder=3 if is_own else 2,
        )  # fmt: skip
    for _, x, y in panel.printed:
        handles["printed"] = axes.scatter([x], [y], marker="x", s=36, color="black", zorder=4)
    if panel.x in ("components", "component", "q"):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if "x" in panel.log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if "y" in panel.log:
        axes.set_yscale("log")
    axes.set(xlabel=panel.x, ylabel=panel.y, title=panel.title)
    return handles
