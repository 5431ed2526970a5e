"""Calls of the command, good and bad, with what each must end in; and a function that runs and judges one.

`make_files` fills a folder, `CALLS` are run in it with `run_call`, whose answer is "right", "refused", or
what is wrong. Nothing here needs pytest.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shlex
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from spcastat import cli, datasets
from spcastat.api import spca


@dataclass(frozen=True)
class Call:
    """A command line, run in the folder of `make_files`, and how it must end.

    Attributes
    ----------
    line : str
        What follows ``spcastat``, as in a shell.
    code : int
        The exit code.
    words : str
        What standard error must hold; for code 0 without words it must be empty.
    stdin : str or None
        The file that standard input comes from.
    makes : tuple of str
        The files that are made, or replaced; no others.
    prints : str
        What standard output must hold.
    """

    line: str
    code: int = 1
    words: str = ""
    stdin: str | None = None
    makes: tuple[str, ...] = ()
    prints: str = ""


# --- files --------------------------------------------------------------------------------------

#: The first column is not in order: it would be taken for row numbers.
ROWS = "\n".join(
    f"{i},{i * i % 7},{(i * 5) % 11},{(3 * i + i * i) % 13}" for i in (*range(1, 10), 11, 10, 12)
)
TABLE = f"a,b,c,d\n{ROWS}\n"
LATER = "\n".join(ROWS.split("\n")[2:])  # whose first line might be names
SEMICOLON = TABLE.replace(",", ";").replace("\n2;", "\n2,5;").replace("\n4;", "\n4,25;")

EVIL = [
    *("=1+1", "+1+1", "-1+1", "@SUM(A1)", '"\t=1"', '"=HYPERLINK(""x"",""y"")"'),
    *("-5", "007", "a", "NA", "'=1", "Ω"),
]

TEXTS: dict[str, str | bytes] = {
    "ok.csv": TABLE,
    "ok.tsv": TABLE.replace(",", "\t"),
    "tabs.csv": TABLE.replace(",", "\t"),
    "bars.csv": TABLE.replace(",", "|"),
    "semicolon.csv": SEMICOLON,
    "semicolon.tsv": SEMICOLON,
    "thousands.csv": 'a;b\n"1,234";1\n"2,345";2\n"3,456";4\n',
    "quotedcomma.csv": 'a,b\n"1,5",2\n"2,5",1\n"4,25",7\n',
    "titled.csv": f"Trees of 2024\n\n{TABLE}",
    "answers.csv": TABLE.replace("\n5,", "\nk.A.,").replace("\n7,", "\n99,"),
    "spaces.csv": TABLE.replace(",", " "),
    "crlf.csv": TABLE.replace("\n", "\r\n"),
    "cr.csv": TABLE.replace("\n", "\r"),
    "bom.csv": TABLE.encode("utf-8-sig"),
    "utf16.csv": TABLE.encode("utf-16"),
    "utf16be.csv": b"\xfe\xff" + TABLE.encode("utf-16-be"),
    "utf32.csv": TABLE.encode("utf-32"),
    "utf16nomark.csv": TABLE.encode("utf-16-le"),
    "latin.csv": TABLE.replace("b,c", "größe,c").encode("latin-1"),
    "latinrow.csv": ("n," + TABLE.replace("\n", "\né,", 12)).encode("latin-1"),
    "nul.csv": TABLE.replace("\n3,", "\n3\0,"),
    "longrow.csv": TABLE.replace("\n5,", "\n5,5,"),
    "rownames.csv": "a,b,c,d\n" + "\n".join(f"r{i},{row}" for i, row in enumerate(ROWS.split("\n"))) + "\n",
    "shortrow.csv": TABLE.replace("\n5,", "\n"),
    "trailing.csv": TABLE.replace("\n", ",\n"),
    "empty.csv": "",
    "headeronly.csv": "a,b,c\n",
    "onecolumn.csv": "a\n" + "\n".join(str(i * i) for i in range(9)) + "\n",
    "onecolumnhole.csv": "a\n1\n4\n\n9\n16\n",
    "blanklines.csv": TABLE.replace("\n4,", "\n\n4,") + "\n\n",
    "twice.csv": "a,b,a\n1,2,3\n2,1,5\n",
    "noname.csv": "a,,c\n1,2,3\n2,1,5\n",
    "noheader.csv": LATER + "\n",
    "noheadersure.csv": ROWS + "\n",
    "years.csv": "id,2001,2002,2003\nx,1,2,3\ny,4,2,1\nz,2,2,9\n",
    "labels.csv": "".join(
        f"{label},{row}\n" for label, row in zip(["", *"ABCDEFGHIJKL"], TABLE.split("\n")[:-1], strict=True)
    ),
    "evil.csv": "".join(
        f"{label},{row}\n"
        for label, row in zip(
            ["id", *EVIL],
            TABLE.split("\n")[:-1],
            strict=True,
        )
    ),
    "text.csv": TABLE.replace("\n5,", "\nx,"),
    "na.csv": TABLE.replace("\n5,", "\nNA,").replace("\n7,", "\n,").replace("\n9,", "\n#N/A,"),
    "inf.csv": TABLE.replace("\n5,", "\ninf,"),
    "quotes.csv": 'a,"b, c","d\ne"\n' + "\n".join(f'{i},"{i * i % 5}",{i % 3}' for i in range(9)) + "\n",
    "multiline.csv": 'id,a,b\n"x\ny",1,2\n"z, w",2,1\nv,5,3\n',
    "openquote.csv": TABLE.replace("\n5,", '\n"5,'),
    "badquote.csv": TABLE.replace("\n5,", '\n"5"6,'),
    "longfield.csv": 'a,b\n1,2\n"' + "x" * 200_000 + '",3\n',
    "escape.csv": "a\x1b[31m,b\n1,2\n2,1\n5,x\n",
    "picture.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(40),
    "random.csv": bytes(np.random.default_rng(0).integers(0, 256, 3000, dtype=np.uint8)),
    "packed.csv": gzip.compress(TABLE.encode()),
    "ok.csv.gz": gzip.compress(TABLE.encode()),
    "ok.csv.bz2": bz2.compress(TABLE.encode()),
    "ok.tsv.xz": lzma.compress(TABLE.replace(",", "\t").encode()),
    "cut.csv.gz": gzip.compress(TABLE.encode())[:-12],
    "notes.txt": TABLE,
    "bad.xlsx": TABLE,
    "bad.parquet": TABLE,
    "cov.csv": ",a,b\na,2,1\nb,1,3\n",
    "covplain.csv": "a,b\n2,1\n1,3\n",
    "covr.csv": '"","a","b"\n"1",2,1\n"2",1,3\n',
    "missing new.csv": "a,b,c\n1,2,3\n",
    "keep.out": "what was there",
}


def make_files(folder: Path) -> None:
    """Write every file of the calls into an empty folder."""
    for name, content in TEXTS.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    data = pd.read_csv(folder / "ok.csv")
    spca(data, 2, 2).save(folder / "ok.spca")
    spca(data, 2, 3).save(folder / "two.spca")
    spca(data, 2, 2).save(folder / "fit.csv")
    (folder / "cut.spca").write_bytes((folder / "ok.spca").read_bytes()[:600])
    with zipfile.ZipFile(folder / "zip.csv", "w") as archive:
        archive.writestr("a.csv", TABLE)
    with contextlib.suppress(ImportError):
        data.to_parquet(folder / "ok.parquet")
    with contextlib.suppress(ImportError):
        make_workbooks(folder)
    (folder / "folder.csv").mkdir()
    os.symlink("ok.csv", folder / "link.csv")
    os.link(folder / "ok.csv", folder / "hard.csv")
    os.symlink("nowhere.csv", folder / "dangling.csv")
    os.symlink(".", folder / "here")
    datasets.load_pitprops().to_csv(folder / "R.csv")


def make_workbooks(folder: Path) -> None:
    """Write the Excel files."""
    from openpyxl import Workbook

    rows = [line.split(",") for line in TABLE.split("\n")[:-1]]
    values = [rows[0], *([float(cell) for cell in row] for row in rows[1:])]

    def save(name: str, *sheets: list) -> None:
        book = Workbook()
        book.remove(book.active)
        for number, cells in enumerate(sheets, start=1):
            sheet = book.create_sheet(f"S{number}")
            for row in cells:
                sheet.append(row)
        book.save(folder / name)

    save("ok.xlsx", values)
    save("two.xlsx", [["x"], ["nothing"]], values)
    save("empty.xlsx", [])
    save("holes.xlsx", [[], [None, *values[0]], *([None, *row] for row in values[1:]), [], [None, " "]])
    save("numbers.xlsx", values[3:])
    save("missing.xlsx", [["a", "b"], [1, 2], [None, 3], [4, 1], ["NA", 7]])


# --- calls --------------------------------------------------------------------------------------


def _fit(data: str, more: str = "", **how: object) -> Call:
    return Call(f"fit {data} --k 1 --card 1 {more}".strip(), **how)  # type: ignore[arg-type]


def _lost(line: str, **how: object) -> Call:
    return Call(line, words="would be lost", **how)  # type: ignore[arg-type]


OUTPUTS = [
    _lost("fit ok.csv --k 1 --save ok.csv"),
    _lost("fit ok.csv --k 1 --save link.csv"),
    _lost("fit ok.csv --k 1 --save hard.csv"),
    _lost("fit empty.csv --k 1 --save empty.csv"),  # before anything is read
    _lost("fit - --k 1 --save ok.csv", stdin="ok.csv"),
    _lost("choose ok.csv --out ok.csv"),
    _lost("show ok.spca --out ok.spca"),
    _lost("transform ok.spca ok.csv --out ok.csv"),
    Call("fit ok.csv --k 1 --save x.out --report x.out", words="are one file"),
    Call("fit ok.csv --k 1 --save x.out --report X.OUT", words="are one file"),
    Call("fit ok.csv --k 1 --save dangling.csv --report nowhere.csv", words="are one file"),
    Call("choose ok.csv --plot x.png --out x.png", words="are one file"),
    Call("fit ok.csv --k 1 --save no/such/folder/x.spca", words="there is no folder"),
    Call("fit ok.csv --k 1 --save folder.csv", words="it is a folder"),
    Call("fit ok.csv --k 1 --save ''", words="names no file"),
    Call("choose ok.csv --plot x.docx", words="its name must end in one of"),
    Call("transform ok.spca ok.csv --out x.csv.gz", words="written as text"),
    Call("fit ok.csv --k 1 --save /dev/full", words="cannot be written"),
    Call("fit ok.csv --k 1 --card 2 --save keep.out", 0, makes=("keep.out",)),
    Call("fit ok.csv --k 1 --card 9 --save keep.out", words="--card 9 was given"),
    Call("choose ok.csv --k 1 --cards 1-3 --out p.csv --plot p.svg", 0, makes=("p.csv", "p.svg")),
    Call("fit ok.csv --k 1 --save 'standard input' --out - --format json", 0, makes=("standard input", "-")),
    Call("transform ok.spca ok.csv --out keep.out", 0, makes=("keep.out",), prints="12 rows written"),
    Call("fit ok.csv --k 1 --card 2 --save s.spca --report r.html", 0, makes=("s.spca", "r.html")),
    Call("show ok.spca --out f.tex --report r.html", 0, makes=("f.tex", "r.html")),
]

TABLES = [
    _fit("ok.csv", code=0),
    _fit("ok.tsv", code=0),
    _fit("ok.csv.gz", code=0),
    _fit("bom.csv", "--encoding utf-8", code=0),
    _fit("bom.csv", "--encoding latin-1", words="starts with the byte-order mark of UTF-8"),
    Call("fit quotes.csv --k 1 --card 3", 0, prints="b, c"),
    _fit("tabs.csv", words="has one column with the separator ','; give --sep tab."),
    _fit("tabs.csv", "--sep tab", code=0, prints="4 variables"),
    _fit("bars.csv", words="give --sep bar."),
    _fit("semicolon.csv", words="line 3 has 2 fields, and the first line names 1 column"),
    _fit("semicolon.csv", words="; give --sep semicolon --decimal ,."),
    _fit("semicolon.tsv", "--sep semicolon --decimal ,", code=0, prints="4 variables"),
    _fit("thousands.csv", words="give --sep semicolon --decimal ,."),
    _fit("quotedcomma.csv", "--decimal ,", code=0),
    _fit("titled.csv", words="line 3 has 4 fields, and the first line names 1 column"),
    _fit("titled.csv", words="if that line contains the column names, give --skip-rows 2."),
    _fit("titled.csv", "--skip-rows 2", code=0, prints="12 rows and 4 variables"),
    _fit("ok.csv", "--skip-rows -1", code=2, words="whole number"),
    _fit("ok.csv", "--skip-rows 99", words="it is empty"),
    _fit("answers.csv", words="'k.A.'"),
    _fit("answers.csv", "--na-values k.A.,99 --na drop", code=0, prints="10 rows"),
    _fit("quotedcomma.csv", "--decimal ,", code=0),
    _fit("spaces.csv", words="--sep"),
    _fit("spaces.csv", "--sep space", code=0, prints="4 variables"),
    _fit("utf16.csv", code=0),
    _fit("utf16.csv", "--encoding utf-8", words="starts with the byte-order mark of UTF-16"),
    _fit("utf16nomark.csv", words="--encoding utf-16-le"),
    _fit("utf16nomark.csv", "--encoding utf-16-le", code=0, prints="4 variables"),
    _fit("latin.csv", words="line 1 has the byte 0xF6"),
    Call("fit latin.csv --k 1 --card 4 --encoding latin-1", 0, prints="größe"),
    _fit("latinrow.csv", words="line 2 has the byte 0xE9). Give its encoding: --encoding cp1252"),
    _fit("latinrow.csv", "--encoding cp1252 --index-col n", code=0),
    _fit("ok.csv", "--encoding nonsense", words="--encoding nonsense: this encoding is not known"),
    _fit("ok.csv", "--encoding utf-16", words="UTF-16"),
    _fit("nul.csv", words="line 4 contains NUL"),
    _fit("longrow.csv", words="line 6 has 5 fields, and the first line names 4 columns"),
    _fit("rownames.csv", words="give that column a name"),
    _fit("shortrow.csv", words="line 6 has 3 fields"),
    _fit("trailing.csv", words="column 5 has no name"),
    _fit("empty.csv", words="it is empty"),
    _fit("headeronly.csv", words="row"),
    _fit("onecolumn.csv", code=0),
    _fit("onecolumnhole.csv", words="line 4 is empty"),
    _fit("twice.csv", words="more than one column named 'a'"),
    _fit("noname.csv", words="column 2 has no name"),
    _fit("noheader.csv", words="--no-header"),
    _fit("noheader.csv", "--no-header", code=0, prints="10 rows and 4 variables"),
    _fit("noheader.csv", "--header", code=0, prints="9 rows and 4 variables"),
    _fit("noheadersure.csv", "--header", words="more than one column named '1'"),
    _fit("noheadersure.csv", words="--no-header"),
    _fit("years.csv", "--index-col id", words="--header"),
    _fit("years.csv", "--index-col id --header", code=0, prints="3 rows and 3 variables"),
    _fit("evil.csv", "--index-col id", code=0, prints="12 rows and 4 variables"),
    _fit("text.csv", words="'a'"),
    _fit("na.csv", words="use --na drop to leave these rows out, --na em"),
    _fit("na.csv", "--na drop", code=0, prints="9 rows"),
    _fit("inf.csv", words="infinite"),
    _fit("openquote.csv", words="never closed"),
    _fit("badquote.csv", words="line 6"),
    _fit("longfield.csv", words="never closed"),
    _fit("escape.csv", words="'b'"),
    _fit("picture.csv", words="not a table of text, it starts with the bytes b'\\x89PNG"),
    _fit("random.csv", words="cannot be read"),
    _fit("packed.csv", words="must end in .gz"),
    _fit("zip.csv", words="it starts with the bytes b'PK"),
    _fit("ok.spca", words="is a saved fit, but data are expected"),
    _fit("cut.csv.gz", words="cannot be read"),
    _fit("notes.txt", words="standard input"),
    _fit("folder.csv", words="is a folder, not a file"),
    _fit("dangling.csv", words="there is no file"),
    _fit("/dev/null", words="a device or a pipe"),
    _fit("'a\nb.csv'", words="there is no file"),
    _fit("bad.parquet", words="cannot be read"),
    _fit("ok.parquet", code=0),
    _fit("ok.parquet", "--sep ,", words="--sep is for tables of text"),
    _fit("ok.csv", "--sheet S1", words="--sheet is for workbooks"),
    _fit("pitprops", "--sep ,", words="--sep can be given for files only"),
    _fit("-", code=0, stdin="ok.csv"),
    _fit("-", stdin="semicolon.csv", words="give --sep semicolon --decimal ,."),
    _fit("-", stdin="empty.csv", words="standard input cannot be read: it is empty"),
]

WORKBOOKS = [
    _fit("ok.xlsx", code=0, prints="12 rows and 4 variables"),
    _fit("ok.xlsx", "--sheet S2", words="there is no sheet 'S2'"),
    _fit("two.xlsx", words="row"),
    _fit("two.xlsx", "--sheet S2", code=0, prints="12 rows and 4 variables"),
    _fit("empty.xlsx", words="it is empty"),
    _fit("holes.xlsx", code=0, prints="12 rows and 4 variables"),
    _fit("numbers.xlsx", words="--no-header"),
    _fit("numbers.xlsx", "--no-header", code=0, prints="10 rows and 4 variables"),
    _fit("missing.xlsx", words="--na drop"),
    _fit("missing.xlsx", "--na drop", code=0, prints="2 rows"),
    _fit("bad.xlsx", words="cannot be read"),
]

OPTIONS = [
    Call("", 2),
    Call("fti ok.csv", 2),
    Call("fit ok.csv", words="--k, the number of components, is needed. To choose it from the data"),
    Call("fit 'missing new.csv' --card 2", words="spcastat choose 'missing new.csv'"),
    Call("fit ok.csv --k x", 2, "--k"),
    Call("fit ok.csv --k 5", words="--k 5 was given"),
    Call("fit ok.csv --k 1 --card 1,2", words="card"),
    Call("fit ok.csv --k 1 --card 1,", 2, "7,4,4"),
    Call("fit ok.csv --k 1 --variance 2", words="variance"),
    Call("fit ok.csv --k 1 --variance 0.5 --card 2", 2),
    Call("fit ok.csv --k 1 --method nonsense", words="method"),
    Call("fit ok.csv --k 1 --na fill", 2),
    Call("fit ok.csv --k 1 --tol nan", words="tol"),
    Call("fit ok.csv --k 1 --n-obs 5", words="--covariance"),
    Call("fit ok.csv --k 1 --covariance", words="square"),
    Call("fit cov.csv --k 1 --covariance --card 1", 0),
    Call("fit covplain.csv --k 1 --covariance --card 1", 0),
    Call("fit covr.csv --k 1 --covariance --card 1", 0),
    Call("fit cov.csv --k 1 --covariance --scale", words="--scale needs the rows"),
    Call("fit R.csv --k 2 --card 3 --covariance --n-obs 180", 0, prints="13 variables"),
    Call("fit ok.csv --k 1 --index-col x", words="there is no column 'x'"),
    Call("fit ok.csv --k 1 --index-col a --columns a,b", words="give it once"),
    Call("fit ok.csv --k 1 --columns a,,b", 2, "a name is empty"),
    Call("fit ok.csv --k 1 --columns '\"a'", 2, "it must be a list of names"),
    Call("fit ok.csv --k 1 --columns a,a", words="'a' more than once"),
    Call("fit ok.csv --k 1 --columns a --drop b", 2),
    Call("fit ok.csv --k 1 --drop a,b,c,d", words="column"),
    Call("fit ok.csv --k 1 --drop z", words="there is no column 'z'"),
    Call("fit ok.csv --k 1 --sep ''", 2, "one character"),
    Call("fit ok.csv --k 1 --decimal ';'", 2, "--decimal"),
    Call("fit ok.csv --k 1 --option k=2", words="give it only as --k"),
    Call("fit ok.csv --k 1 --option data=2", words="give it only as DATA"),
    Call("fit ok.csv --k 1 --rng 1 --option rng=2", words="give it only as --rng"),
    Call("fit ok.csv --k 1 --option c=1 --option c=2", words="given twice"),
    Call("fit ok.csv --k 1 --option nonsense=1", words="'nonsense' is not an option"),
    Call("fit ok.csv --k 1 --option c", 2, "NAME=VALUE"),
    Call("fit ok.csv --k 1 --method greedy --card 2 --option c=" + "[" * 500, words="c="),
    Call("fit ok.csv --k 1 --formula '~ z'", words="z"),
    Call("fit ok.csv --k 1 --formula ''", words="formula"),
    Call("choose ok.csv --cards 1-999999999", 2, "100,000"),
    Call("choose ok.csv --cards 3-1", 2, "decreases"),
    Call("choose ok.csv --cards '1;2,2'", words="card"),
    Call("choose ok.csv --method controlled", words="card"),
    Call("choose - --k 1 --cards 1-2", stdin="semicolon.csv", words="--sep semicolon"),
    Call("show ok.spca", 0, prints="12 rows and 4 variables"),
    Call("show fit.csv", 0, prints="12 rows and 4 variables"),
    Call("show ok.spca --format json", 0, prints='"loadings"'),
    Call("show ok.spca --format json --cut 0.1", words="--cut can be given for tables"),
    Call("show ok.csv", words="is not a saved fit"),
    Call("show cut.spca", words="damaged or cut off"),
    Call("transform ok.spca", 2),
    Call("transform ok.csv ok.csv", words="the fit comes first"),
    Call("transform - ok.csv", words="no file", stdin="ok.spca"),
    Call("transform ok.spca nowhere.csv", words="there is no file"),
    Call("transform ok.spca ok.spca", words="is a saved fit"),
    Call("transform ok.spca 'missing new.csv'", words="'d'"),
    Call("transform ok.spca na.csv", words="--na drop"),
    Call("transform ok.spca na.csv --na drop", 0, prints="PC1"),
    Call("transform ok.spca - --na drop", 0, prints="PC1,PC2", stdin="ok.csv"),
    Call("transform ok.spca ok.xlsx", 0, prints="PC1,PC2"),
    Call("transform ok.spca evil.csv --index-col id", 0, prints="\n=1+1,"),
]

CALLS = [*OUTPUTS, *TABLES, *WORKBOOKS, *OPTIONS]


# --- running ------------------------------------------------------------------------------------


def run_call(call: Call, folder: Path) -> str:
    """Run a call in the folder that `make_files` filled, and put back what it changed.

    Returns
    -------
    str
        "right" for a call that succeeds as it must, "refused" for one that is refused as it must be;
        otherwise "foreign: ..." for an exception, or "wrong: ..." and what is wrong.
    """
    before = _snapshot(folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    here, stdin = os.getcwd(), sys.stdin
    try:
        os.chdir(folder)
        with contextlib.ExitStack() as stack:
            if call.stdin is not None:
                sys.stdin = stack.enter_context(open(call.stdin, encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            code = cli.main(shlex.split(call.line))
    except Exception as error:
        return f"foreign: {type(error).__name__}: {error}"
    finally:
        os.chdir(here)
        sys.stdin = stdin
        after = _snapshot(folder)
        _put_back(folder, before, after)
    told = [stream.buffer.getvalue().decode() for stream in (out, err) if stream.flush() is None]
    wrong = _judged(call, code, *told, before, after)
    return f"wrong: {wrong}" if wrong else ("refused" if code else "right")


def _judged(call: Call, code: int, out: str, err: str, before: dict, after: dict) -> str:
    """Return what is wrong with the end of a call, nothing if it is as it must be."""
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    if code != call.code:
        return f"exit code {code}, not {call.code}: {err}"
    if call.words not in err or (code == 0 and not call.words and err):
        return f"standard error does not say {call.words!r}: {err!r}"
    if changed != set(call.makes):
        return f"files {sorted(changed)} were changed, not {sorted(call.makes)}"
    lines = err.splitlines()
    if code == 1 and (out or not lines[-1].startswith("spcastat: error: ")):
        return f"an error is told by {err!r}, after {out[:80]!r}"
    if code == 1 and sum("error: " in line for line in lines) != 1:
        return f"not one line of error: {err!r}"
    if code < 2 and not all(line.startswith("spcastat: ") for line in lines):
        return f"a line of another form: {err!r}"
    if code == 2 and "usage: spcastat" not in err:
        return f"no usage: {err!r}"
    if "Traceback" in out + err:
        return "a traceback"
    return "" if call.prints in out else f"standard output does not hold {call.prints!r}: {out[:300]!r}"


def _snapshot(folder: Path) -> dict[str, bytes | str]:
    """Return the contents of all files of a folder, also hidden ones; of links where they lead."""
    found: dict[str, bytes | str] = {}
    for entry in os.scandir(folder):
        if entry.is_symlink():
            found[entry.name] = f"link to {os.readlink(entry)}"
        elif entry.is_file():
            found[entry.name] = Path(entry).read_bytes()
        else:
            found[entry.name] = "folder"
    return found


def _put_back(folder: Path, before: dict, after: dict) -> None:
    for name in after:
        if name not in before:
            (folder / name).unlink()
    for name, content in before.items():
        if isinstance(content, bytes) and after.get(name) != content:
            (folder / name).write_bytes(content)
