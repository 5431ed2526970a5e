"""Calls at the limits of a machine: each succeeds, or is refused, within a minute of CPU time and 2 GB.

``python -m benchmarks.limits [--write] [part of a name ...]`` makes each call in a process of its own and
reports how it ended.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse

import spcastat as sp
from benchmarks.report import markdown_table, stamp, write_section
from spcastat.cli import main as command

#: Limits of a call: CPU seconds, and gigabytes of addresses, of which the libraries take one.
SECONDS, GIGABYTES = 60, 3

#: The type of the parts of a workbook that say which others there are.
RELATIONS = "application/vnd.openxmlformats-package.relationships+xml"

ABOUT = f"""## Calls at the limits

`python -m benchmarks.limits --write`: each call in a process of its own, with {SECONDS} CPU seconds, one
thread and {GIGABYTES} GB of addresses. "Refused" is an error of the package; a call that does not end within
the limits is "killed". The time includes the import of the package and the making of the data."""


def _planted(n: int, p: int) -> np.ndarray:
    """Return rows whose first ten variables share a factor."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X[:, :10] += 3 * rng.standard_normal((n, 1))
    return X


def _found(fit: sp.SpcaResult) -> str:
    """Return whether a component has the planted support."""
    supports = [set(np.flatnonzero(v)) for v in fit.loadings.to_numpy().T]
    return f"planted support {'found' if set(range(10)) in supports else 'missed'}"


def _small() -> sp.SpcaResult:
    return sp.spca(sp.datasets.make_hastie(100), 2, card=4)


def dense() -> str:
    """Fit 100 x 10^5 dense rows."""
    return _found(sp.spca(_planted(100, 100_000), 3, card=10))


def sparse() -> str:
    """Fit 1000 x 10^6 sparse rows with 10^6 numbers."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(1000, 1_000_000, 1e-3, "csr", rng=rng)
    factor = scipy.sparse.csr_array(np.repeat(rng.standard_normal((1000, 1)), 10, axis=1))
    X = scipy.sparse.hstack([factor, X.tocsc()[:, 10:]]).tocsr()
    return _found(sp.spca(X, 3, card=10))


def components() -> str:
    """Fit 200 components to 300 x 300 rows."""
    fit = sp.spca(np.random.default_rng(0).standard_normal((300, 300)), 200, card=5)
    return f"{fit.loadings.shape[1]} components of {fit.card.min()} to {fit.card.max()} nonzeros"


def path() -> str:
    """Fit the default path of 100 x 5000 rows."""
    found = sp.spca_path(_planted(100, 5000), 2)
    return f"{len(found.table)} fits; {_found(found[10])} with 10 nonzeros"


def choose() -> str:
    """Choose a cardinality for 100 x 2000 rows."""
    return f"card {sp.choose(_planted(100, 2000), k=2).card}"


def halves() -> str:
    """Draw 10^6 pairs of halves."""
    _small().stability(1_000_000)
    return "a million pairs"


def bootstrap() -> str:
    """Draw 10^6 bootstrap samples."""
    _small().bootstrap(1_000_000)
    return "a million draws"


def excel_string() -> str:
    """Read a workbook with a text of 800 MB."""
    return _workbook(longest=800)


def excel_shorter_string() -> str:
    """Read a workbook with a text of 500 MB."""
    return _workbook(longest=500)


def excel_declared() -> str:
    """Read a sheet of 21 x 2 cells that declares all 1,048,576 x 16,384."""
    return _workbook(declared="A1:XFD1048576")


def excel_far() -> str:
    """Read a sheet with a cell in the last column of each of its 1,048,576 rows."""
    return _workbook(far=2**20)


def read_only() -> str:
    """Save to a folder that allows no files, HOME being no folder."""
    os.environ["HOME"] = "/proc/self/status"
    fit = _small()
    fit.bootstrap(9, n_jobs=2)
    fit.save("/proc/fit.spca")
    return "saved"


def writers() -> str:
    """Save from two processes to one file, 100 times each."""
    code = (
        "import spcastat as sp; fit = sp.spca_cov(sp.datasets.load_pitprops(), 2, card={card})\n"
        "for _ in range(100): fit.save('same.spca')"
    )
    both = [subprocess.Popen([sys.executable, "-c", code.format(card=card)]) for card in (3, 4)]
    ends = [one.wait() for one in both]
    return f"ended with {ends}; {os.listdir()} holds cardinalities {sp.load('same.spca').card.tolist()}"


#: The calls, by what they do.
CALLS: dict[str, Callable[[], str]] = {
    str(call.__doc__).rstrip("."): call
    for call in (
        dense, sparse, components, path, choose, halves, bootstrap,
        excel_string, excel_shorter_string, excel_declared, excel_far, read_only, writers,
    )
}  # fmt: skip


def _workbook(longest: int = 0, declared: str = "A1:B21", far: int = 0) -> str:
    """Fit 20 rows of a workbook by the command.

    Parameters
    ----------
    longest : int
        MB of a shared text that no cell uses.
    declared : str
        What the sheet says that it spans.
    far : int
        Up to which row rows have a cell in the last column.
    """
    sheet = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    types = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "sharedStrings": "sharedStrings"}
    content = f'<Default Extension="rels" ContentType="{RELATIONS}"/>'
    for part, what in types.items():
        content += f'<Override PartName="/xl/{part}.xml" ContentType="{kind}.{what}+xml"/>'

    def links(*targets: tuple[str, str]) -> str:
        text = "".join(
            f'<Relationship Id="rId{i}" Type="{office}/{what}" Target="{target}"/>'
            for i, (what, target) in enumerate(targets, 1)
        )
        return f'<Relationships xmlns="{package}/relationships">{text}</Relationships>'

    inner = links(("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml"))
    one = '<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets>'
    rows = [f'<row r="{i + 2}"><c><v>{i}</v></c><c><v>{i * i % 7}</v></c></row>' for i in range(20)]
    head = '<row r="1"><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
    with zipfile.ZipFile("book.xlsx", "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types">{content}</Types>')
        book.writestr("_rels/.rels", links(("officeDocument", "xl/workbook.xml")))
        book.writestr("xl/_rels/workbook.xml.rels", inner)
        book.writestr("xl/workbook.xml", f'<workbook xmlns="{sheet}" xmlns:r="{office}">{one}</workbook>')
        with book.open("xl/sharedStrings.xml", "w", force_zip64=True) as strings:
            strings.write(f'<sst xmlns="{sheet}"><si><t>a</t></si><si><t>b</t></si><si><t>'.encode())
            for _ in range(longest):
                strings.write(b"x" * 1_000_000)
            strings.write(b"</t></si></sst>")
        with book.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as cells:
            start = f'<worksheet xmlns="{sheet}"><dimension ref="{declared}"/><sheetData>{head}'
            cells.write((start + "".join(rows)).encode())
            for i in range(22, far + 1):
                cells.write(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>'.encode())
            cells.write(b"</sheetData></worksheet>")
    code = command(["fit", "book.xlsx", "--k", "1", "--card", "1"])
    return "fitted" if code == 0 else ""


def measured(name: str) -> tuple[str, float, float]:
    """Return how a call ended, CPU seconds of it and its children, and megabytes of memory at its peak."""
    root = Path(__file__).resolve().parents[1]
    arguments = [sys.executable, "-m", "benchmarks.limits", "--here", name]
    paths = {"PYTHONPATH": str(root), "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            arguments,
            stdout=said,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | paths,
            preexec_fn=_limit,
        )
        _, status, spent = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = said.read().strip().splitlines() or ["nothing was printed"]
    last = lines[-1] if child.returncode >= 0 else f"killed by signal {-child.returncode}"
    return last, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES * 2**30,) * 2)


def _here(name: str) -> None:
    """Make a call in this process, and print how it ends as the last line."""
    warnings.simplefilter("ignore")
    try:
        ended = CALLS[name]()
    except sp.errors.SpcaError as error:
        ended = f"refused: {error}"
    if ended:  # the command has printed its refusal
        print(" ".join(ended.split()))


def main() -> None:
    """Make the calls, or those whose names contain what is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--here", action="store_true", help="make the one call that is named, without limits")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/results/")
    given = parser.parse_args()
    if given.here:
        _here(given.names[0])
        return
    rows = []
    for name in CALLS:
        if not given.names or any(part in name for part in given.names):
            ended, seconds, megabytes = measured(name)
            rows.append((name, ended.replace("|", "/"), f"{seconds:.0f}", f"{megabytes:.0f}"))
            print(*rows[-1], sep=" | ", flush=True)
    if given.write:
        table = markdown_table(("call", "how it ended", "CPU s", "MB"), rows)
        write_section("scale-limits", f"{ABOUT}\n\n{stamp()}\n\n{table}")


if __name__ == "__main__":
    main()
