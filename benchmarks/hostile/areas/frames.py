"""Frames whose labels, rows or types are strange, and everything that is done with the fit of one."""

from __future__ import annotations

import contextlib
import datetime
import math
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.hostile.areas.arrays import CALLS, CARD, K, numbers
from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import sound
from spcastat.errors import FileError

LABELS: dict[str, list[Any]] = {
    "plain": list("abcde"),
    "numbers": [5, 4, 3, 2, 1],
    "floats": [0.5, 1.5, math.inf, -0.0, 1e300],
    "bools": [True, False, 2, 3, 4],
    "None": ["a", None, "b", "c", "d"],
    "nan": ["a", math.nan, "b", "c", "d"],
    "tuples": [("a", 1), ("a", 2), ("b",), (), ("c", None)],
    "frozensets": [frozenset("a"), frozenset("b"), "c", "d", "e"],
    "mixed": [1, "1", 1.5, None, ("x",)],
    "dates": [pd.Timestamp(2020, 1, day) for day in range(1, 6)],
    "decimals": [Decimal(i) for i in range(5)],
    "times": [datetime.timedelta(days=day) for day in range(5)],
    "empty": ["", " ", "  ", "\t", "\n"],
    "long": ["x" * 10_000 + str(i) for i in range(5)],
    "surrogates": ["a\ud800", "\udfff", "b", "c", "d"],
    "NUL": ["a\0", "\0", "\x1b[31m", "\x7f", "d"],
    "right to left": ["\u202eabc", "\u05d0\u05d1", "\u200f", "\u2066x", "y"],
    "emoji": ["👩‍👩‍👧", "e\u0301", "\ufeff", "ﷺ", "𝕏"],
    "markup": ["<script>alert(1)</script>", "</td>", "&amp;", "]]>", "{{x}}"],
    "LaTeX": ["\\input{x}", "$x$", "%", "_^~#&", "\\end{document}"],
    "markdown": ["|a|b|", "![](x)", "`code`", "**b**", "[x](javascript:1)"],
    "formulas": ["a + b", "np.sqrt(a)", "Q('a')", "`a`", "~"],
    "spreadsheet": ["=1+1", "@SUM(A1)", "+1", "-1", "\t=1"],
    "names of components": ["PC1", "PC2", ".fittedPC1", "T2", "Q"],
    "names of options": ["card", "loading", "index", "0", "columns"],
    "duplicates": ["a", "a", "b", "c", "d"],
    "as text equal": [1, "1", 2, "2", 3],
}
ROWS: dict[str, Callable[[int], Any]] = {
    "repeated": lambda n: [0] * n,
    "None": lambda n: [None] * n,
    "nan": lambda n: [math.nan] * n,
    "mixed": lambda n: [[0, "0", None, 1.5, ("t",)][i % 5] for i in range(n)],
    "surrogates": lambda n: [f"\ud800{i}" for i in range(n)],
    "dates": lambda n: pd.date_range("1677-09-22", periods=n),
    "periods": lambda n: pd.period_range("2020", periods=n, freq="Y"),
    "categories": lambda n: pd.CategoricalIndex(["x", "y"] * (n // 2)),
    "intervals": lambda n: pd.interval_range(0, n),
    "two levels": lambda n: pd.MultiIndex.from_product([["a", "b"], range(n // 2)]),
    "tuples": lambda n: pd.Index([(i, None) for i in range(n)], tupleize_cols=False),
}
CONTENTS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "Int64": lambda x: x.round().astype("Int64"),
    "Float32": lambda x: x.astype("Float32"),
    "boolean": lambda x: (x > 0).astype("boolean"),
    "arrow": lambda x: x.astype("double[pyarrow]"),
    "sparse": lambda x: x.astype(pd.SparseDtype(float, 0.0)),
    "sparse of nan": lambda x: x.astype(pd.SparseDtype(float, math.nan)),
    "NA": lambda x: x.astype("Float64").mask(x > 12.0),
    "arrow with null": lambda x: x.mask(x > 12.0).astype("double[pyarrow]"),
    "one text": lambda x: x.assign(b="x"),
    "numbers as text": lambda x: x.assign(b=x["b"].astype(str)),
    "categories": lambda x: x.assign(b=pd.Categorical(x["b"].round())),
    "dates": lambda x: x.assign(b=pd.Timestamp(0)),
    "durations": lambda x: x.assign(b=pd.to_timedelta(x["b"], unit="s")),
    "complex": lambda x: x.assign(b=x["b"] + 1j),
    "objects": lambda x: x.astype(object),
    "lists": lambda x: x.assign(b=[[1.0]] * len(x)),
    "decimals": lambda x: x.assign(b=[Decimal(i) for i in range(len(x))]),
    "huge integers": lambda x: x.assign(b=[10**30 + i for i in range(len(x))]),
    "uint64": lambda x: x.assign(b=np.arange(len(x), dtype="u8") + np.uint64(2**63)),
    "inf": lambda x: x.mask(x > 12.0, math.inf),
    "nan column": lambda x: x.assign(b=math.nan),
    "constant column": lambda x: x.assign(b=0.1),
    "wide": lambda x: pd.concat([x.add_suffix(str(i)) for i in range(60)], axis=1),
}


def rows(labels: list[Any] | None = None) -> pd.DataFrame:
    """Return the numbers under labels of any kind."""
    names = pd.Index(list("abcde") if labels is None else labels, dtype=object, tupleize_cols=False)
    return pd.DataFrame(numbers(), columns=names)


def _again(fit: Any, data: pd.DataFrame) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit"
        with contextlib.suppress(FileError):  # labels of unusual types have no form in a file
            fit.save(path)
            loaded = sp.load(path)
            if not loaded.loadings.equals(fit.loadings):
                return "another fit comes out of the file"
            return _equal(loaded.transform(data), fit.scores)
    return ""


def _report(fit: Any, data: pd.DataFrame) -> str:
    with tempfile.TemporaryDirectory() as folder:
        fit.report(Path(folder) / "page.html")
        text = (Path(folder) / "page.html").read_text(encoding="utf-8")
    return "a label is markup in the page" if "<script>alert" in text else ""


def _texts(fit: Any, data: pd.DataFrame) -> str:
    for kind in ("text", "html", "latex", "markdown"):
        text = getattr(fit.summary(), f"as_{kind}")()
        text.encode("utf-8")
        if "\0" in text or "\x1b" in text:
            return f"control characters in {kind}"
        if kind == "html" and "<script>alert" in text:
            return "a label is markup"
    print(fit.summary(tables="loadings"))
    str(fit.equations()).encode("utf-8")
    return ""


def _plots(fit: Any, data: pd.DataFrame) -> str:
    import matplotlib.pyplot as plt

    for plot in (fit.biplot, fit.plot_loadings, fit.screeplot, fit.plot_scores, fit.plot_diagnostics):
        plot().get_figure().canvas.draw()
    plt.close("all")
    return ""


def _frames(fit: Any, data: pd.DataFrame) -> str:
    if len(fit.tidy(zeros=True)) != fit.loadings.size:
        return "rows are missing from tidy()"
    back = fit.augment(data)
    return _equal(back.iloc[:, -K:].set_axis(fit.scores.columns, axis=1), fit.scores)


def _new(fit: Any, data: pd.DataFrame) -> str:
    mixed = data.iloc[:, ::-1]
    return _equal(fit.transform(mixed), fit.scores) or _equal(
        fit.inverse_transform(fit.scores) + fit.residuals, data.astype(float)
    )


def _equal(one: pd.DataFrame, other: pd.DataFrame) -> str:
    return "" if np.allclose(one.to_numpy(), other.to_numpy(), atol=1e-9) else "other numbers"


#: What is done with a fit -> what is wrong with what comes of it.
USES: dict[str, Callable[[Any, pd.DataFrame], str]] = {
    "fit": lambda fit, data: sound(fit, K, CARD),
    "texts": _texts,
    "plots": _plots,
    "frames": _frames,
    "new data": _new,
    "file": _again,
    "report": _report,
}


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name, labels in LABELS.items():
        for use, what in USES.items():
            yield _case(f"labels {name}: {use}", partial(rows, labels), {"card": CARD}, what)
        yield _case(
            f"labels {name}: formula", partial(rows, labels), {"formula": "~ .", "card": CARD}, USES["fit"]
        )
    for name, index in ROWS.items():
        for use, what in USES.items():
            yield _case(f"rows {name}: {use}", lambda index=index: _labelled(index), {"card": CARD}, what)
    for name, change in CONTENTS.items():
        for call, options in CALLS.items():
            make = partial(_content, change)
            yield _case(f"content {name}: {call}", make, options, lambda fit, data: sound(fit, K))


def _labelled(index: Callable[[int], Any]) -> pd.DataFrame:
    frame = rows()
    found = index(len(frame))
    frame.index = found if isinstance(found, pd.Index) else pd.Index(found, dtype=object, tupleize_cols=False)
    return frame


def _content(change: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    return change(rows())


def _case(
    name: str, make: Callable[[], pd.DataFrame], options: dict[str, Any], what: Callable[[Any, Any], str]
) -> Case:
    def run() -> str:
        data = make()
        before = data.copy(deep=True)
        fit = sp.spca(data, K, **options)
        fault = what(fit, data)
        return fault or ("" if data.equals(before) else "the data were changed")

    return Case(name, run, lambda fault: fault)
