"""The command line: it ends with the promised exit code and one line, whatever it is given."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.hostile.cases import Case, Refused, unreadable
from spcastat import cli

#: What each command is given where its other options are driven.
COMMANDS = {
    "fit": ["fit", "rows.csv", "--k", "2", "--card", "2"],
    "choose": ["choose", "rows.csv", "--k", "1", "--cards", "1-3"],
    "transform": ["transform", "saved.fit", "rows.csv"],
    "show": ["show", "saved.fit"],
}
VALUES = [
    *["", " ", "0", "-1", "1.5", "nan", "inf", "1e9", "99999999999999999999", "1" * 1000, "x", "x" * 1000],
    *[
        "a,b",
        ",",
        "1,",
        "1,2,3",
        "2-1",
        "1-",
        "-",
        "--",
        "=",
        "a=",
        "=1",
        "a=b=c",
        "None",
        "True",
        "[1]",
        "{}",
    ],
    *["../..", "/", ".", "missing", "rows.csv", "\u202e", "a\nb", "é", "~", "*", "$(x)", "`x`", "%s", "{0}"],
]
FILES: dict[str, bytes] = {
    "empty.csv": b"",
    "newline.csv": b"\n",
    "header.csv": b"a,b\n",
    "one.csv": b"a,b\n1,2\n",
    "ragged.csv": b"a,b\n1,2\n1,2,3\n1\n",
    "text.csv": b"a,b\nx,y\nz,w\n",
    "nul.csv": b"a,b\n\0,1\n2,3\n",
    "binary.csv": bytes(range(256)) * 20,
    "utf16.csv": "a,b\n1,2\n3,5\n4,4\n".encode("utf-16"),
    "latin.csv": "größe,b\n1,2\n3,5\n4,4\n".encode("latin-1"),
    "quotes.csv": b'a,b\n"1,2\n3,4\n',
    "missing.csv": b"a,b\n1,\n,3\n4,5\n6,7\n",
    "inf.csv": b"a,b\n1,inf\n2,3\n4,5\n",
    "huge.csv": b"a,b\n1e400,1\n2,3\n4,5\n",
    "twice.csv": b"a,a\n1,2\n3,5\n4,4\n",
    "nameless.csv": b",\n1,2\n3,5\n4,4\n",
    "constant.csv": b"a,b\n1,1\n1,1\n1,1\n",
    "wide.csv": (",".join(f"v{i}" for i in range(3000)) + "\n").encode() + b"1,2\n",
    "semicolon.csv": b"a;b\n1,5;2\n3;5,5\n4;4\n",
    "pickle.pkl": b"\x80\x04\x95",
    "parquet.parquet": b"PAR1 no PAR1",
    "saved.spca": b"PK\x03\x04 no",
    "page.xlsx": b"PK\x03\x04",
}


def prepare() -> None:
    """Write the files that the commands are given, once for each folder."""
    if Path("saved.fit").exists():
        return
    draw = np.random.default_rng(4)
    frame = pd.DataFrame(draw.standard_normal((15, 4)), columns=list("abcd"))
    frame.to_csv("rows.csv", index=False)
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    run(["fit", "rows.csv", "--k", "2", "--card", "2", "--save", "saved.fit"])


def run(arguments: Sequence[str]) -> str:
    """Run the command and return what it prints; raise Refused with its line where its exit code is not 0."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(list(arguments))
        except SystemExit as end:  # argparse ends in this way
            code = end.code
    if code not in (0, None):
        raise Refused(err.getvalue().strip() or out.getvalue().strip())
    return out.getvalue()


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name, arguments in COMMANDS.items():
        for option in _options(name):
            for value in VALUES:
                yield _case([*arguments, option, value])
        for value in VALUES:
            yield _case([name, value])
            yield _case([*arguments, value])
    for file in FILES:
        for more in ([], ["--scale"], ["--na", "drop"], ["--drop", "a"], ["--formula", "~ a"]):
            yield _case(["fit", file, "--k", "1", "--card", "1", *more])
        yield _case(["path", file, "--k", "1"])
        yield _case(["transform", file, "rows.csv"])
        yield _case(["transform", "saved.fit", file])
    for arguments in (
        [],
        [""],
        ["--"],
        ["-"],
        ["nothing"],
        ["fit"],
        ["--version"],
        ["methods"],
        ["methods", "x"],
    ):
        yield _case(list(arguments))


def _options(command: str) -> list[str]:
    """Return the options of a command that write no file, from its help."""
    try:
        text = run([command, "--help"])
    except Refused:
        return []
    words = text.translate(str.maketrans("[],", "   ")).split()
    found = dict.fromkeys(word for word in words if word[:2] == "--")
    return [word for word in found if word.strip("-") and word not in WRITES]


#: Options that write a file under the name that they are given, and one that prints what it does.
WRITES = ("--save", "--report", "--plot", "--out", "--help")


def _case(arguments: list[str]) -> Case:
    words = [word if len(word) < 60 else f"{word[:20]}... ({len(word)})" for word in arguments]
    return Case(ascii(" ".join(words)), partial(_prepared, arguments), _readable)


def _prepared(arguments: list[str]) -> str:
    prepare()
    before = {name: Path(name).read_bytes() for name in (*FILES, "rows.csv", "saved.fit")}
    folder = os.listdir()
    try:
        return run(arguments)
    finally:
        changed = [name for name, content in before.items() if Path(name).read_bytes() != content]
        left = set(os.listdir()) - set(folder)
        for name in changed:
            Path(name).write_bytes(before[name])
        if changed or left:
            raise AssertionError(f"files were changed or left: {changed or left}")


def _readable(text: str) -> str:
    if "Traceback" in text:
        return "a traceback"
    return unreadable(text.replace("\n", " ")[:2000]) if text else ""
