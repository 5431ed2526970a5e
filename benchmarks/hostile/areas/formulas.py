"""Formulas: those that mean something are right, all others refused, and none of a stranger's runs anything.

What is given to ``spca(formula=)`` is the user's own; what is given to the command line may be a stranger's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.hostile.areas.command import run as command
from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import different, same, sound

#: A file that an attack would make.
TRACE = "executed"


def rows() -> pd.DataFrame:
    """Return positive numbers, a factor and awkward names."""
    draw = np.random.default_rng(2)
    frame = pd.DataFrame(np.exp(draw.standard_normal((20, 4))), columns=list("abcd"))
    return frame.assign(
        **{"two words": frame["a"] + frame["b"], "x.y": frame["c"] ** 2, "g": ["u", "v"] * 10}
    )


#: Formula -> the columns that it makes, by hand.
MEANS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "~ a + b": lambda x: x[["a", "b"]],
    "a + b": lambda x: x[["a", "b"]],
    " ~  a+b ": lambda x: x[["a", "b"]],
    "~ . - g": lambda x: x.drop(columns="g"),
    "~ . - g - a": lambda x: x.drop(columns=["g", "a"]),
    "~ a + a + b": lambda x: x[["a", "b"]],
    "~ 1 + a + b": lambda x: x[["a", "b"]],
    "~ 0 + a + b": lambda x: x[["a", "b"]],
    "~ a - 1 + b": lambda x: x[["a", "b"]],
    "~ log(a) + b": lambda x: pd.DataFrame({"log(a)": np.log(x["a"]), "b": x["b"]}),
    "~ np.log(a) + b": lambda x: pd.DataFrame({"l": np.log(x["a"]), "b": x["b"]}),
    "~ exp(a) + b": lambda x: pd.DataFrame({"e": np.exp(x["a"]), "b": x["b"]}),
    "~ I(a + b) + c": lambda x: pd.DataFrame({"s": x["a"] + x["b"], "c": x["c"]}),
    "~ a:b + c": lambda x: pd.DataFrame({"p": x["a"] * x["b"], "c": x["c"]}).iloc[:, ::1],
    "~ `two words` + a": lambda x: x[["two words", "a"]],
    "~ `x.y` + a": lambda x: x[["x.y", "a"]],
    "~ center(a) + b": lambda x: pd.DataFrame({"z": x["a"] - x["a"].mean(), "b": x["b"]}),
    "~ {a / b} + c": lambda x: pd.DataFrame({"q": x["a"] / x["b"], "c": x["c"]}),
}
#: What cannot be read, evaluated or meant.
REFUSED = [
    "",
    " ",
    "~",
    "~ ~",
    "~ 1",
    "~ 0",
    "~ a ~ b",
    "a ~ b",
    "~ a | b | c",
    "~ a +",
    "~ + * a",
    "~ (a + b",
    "~ a + b)",
    "~ `a",
    "~ 'a'",
    "~ nothing",
    "~ a + nothing(b)",
    "~ log()",
    "~ log(a, b, c, d)",
    "~ log(a - a)",
    "~ log(-a)",
    "~ a / 0",
    "~ a[0] + b",
    "~ g",
    "~ a + g",
    "~ a:g",
    "~ C(g)",
    "~ a\0b",
    "~ \ud800",
    "~ a;b",
    "~ a, b",
    "~ a == b",
    "~ 1e999 + a",
    "~ 'x' * 3",
    "~ a.b.c",
    "~ {}",
    "~ {a; b}",
    "~ " + "x" * 20_000,
]
#: Strange, and not wrong.
ODD = [
    "~ " + "(" * 200 + "a" + ")" * 200,
    "~ " + "-" * 3000 + "a",
    "~ a" + " + a" * 500,
    "~ a" + " - b" * 500,
]
_RUN = f"open({TRACE!r}, 'w').close()"
#: What a stranger would give: none of it may run.
ATTACKS = [
    f"~ a + {{{_RUN}}}",
    f"~ I({_RUN}) + a",
    f"~ a + __import__('os').system('touch {TRACE}')",
    f"~ {{__import__('os').system('touch {TRACE}')}}",
    f"~ a + eval({_RUN!r})",
    f"~ a + exec({_RUN!r})",
    f"~ a + (lambda: {_RUN})()",
    f"~ a + [{_RUN} for _ in a][0]",
    f"~ a + ({_RUN} or a)",
    f"~ a + (0 if {_RUN} else a)",
    f"~ a + np.log({_RUN})",
    f"~ a + log(a, {_RUN})",
    f"~ a + `b` + {{{_RUN}}}",
    f"~ I(a) #'`\n + {_RUN} #`'",
    f"~ (a #'`\n + (0 if {_RUN} else 0)#`'\n)",
    f"~ a + f'{{{_RUN}}}'",
    f"~ a + (x := {_RUN})",
    f"~ a + a.__class__.__base__.__subclasses__({_RUN})",
    f"~ a + a.apply(lambda x: {_RUN})",
    f"~ a + getattr(a, 'sum')({_RUN})",
    f"~ a + {_RUN}:b",
    f"~ a + Q({_RUN!r})",
    f"~ a + *[{_RUN}]",
    f"~ a + {{'{TRACE}': {_RUN}}}",
    f"~ a + a.eval({_RUN!r})",
    f"~ a + np.fromfile({TRACE!r})",
    f"~ a + a.to_csv({TRACE!r})",
    f"~ a + a.to_pickle({TRACE!r})",
    f"~ a + np.save({TRACE!r}, a)",
    f"~ a + np.savetxt({TRACE!r}, a)",
]
#: What would take for ever, or all of the memory.
HEAVY = [
    "~ I(a ** 9 ** 9 ** 9)",
    "~ I([0] * 10**10) + a",
    "~ bs(a, df=100000000)",
    "~ poly(a, 10000000)",
    "~ (a + b + c + d)**12",
    "~ a ** 100000",
    "~ I('x' * 10**10)",
]


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for text, columns in MEANS.items():
        for name, options in {"card": {"card": 2}, "scaled": {"card": 2, "scale": True}}.items():
            if len(columns(rows()).columns) < 2:
                continue
            plain = partial(_plain, columns, options)
            yield Case(f"{text!r} {name}", partial(_fit, text, options), same(plain, 1e-9), must="accept")
            yield Case(f"{text!r} {name} transform", partial(_replayed, text, options), lambda fault: fault)
    for text in REFUSED:
        for options in ({"card": 1}, {"variance": 0.9}, {"card": 1, "scale": True}):
            yield Case(f"{_short(text)} {options}", partial(_fit, text, options), sound, must="refuse")
    for text in ODD:
        yield Case(_short(text), partial(_fit, text, {"card": 1}), sound)
    for text in [*REFUSED, *ODD, *ATTACKS, *HEAVY]:
        name = f"{'heavy ' * (text in HEAVY)}--formula {_short(text)}"
        yield Case(name, partial(_stranger, text), lambda fault: fault)


def _short(text: str) -> str:
    return ascii(text if len(text) < 100 else f"{text[:60]}... ({len(text)})")


def _fit(text: str, options: dict[str, Any]) -> Any:
    return sp.spca(rows(), 1, formula=text, **options)


def _plain(columns: Callable[[pd.DataFrame], pd.DataFrame], options: dict[str, Any]) -> Any:
    return sp.spca(columns(rows()), 1, **options)


def _replayed(text: str, options: dict[str, Any]) -> str:
    """Replay on the rows of the fit, the columns in another order: the scores of the fit."""
    fit = _fit(text, options)
    return different(fit.transform(rows().iloc[:, ::-1]), fit.scores, 1e-9)


def _stranger(text: str) -> str:
    """Give the formula to the command line; say whether anything was run."""
    Path(TRACE).unlink(missing_ok=True)
    rows().to_csv("rows.csv", index=False)
    try:
        command(["fit", "rows.csv", "--k", "1", "--card", "1", "--formula", text])
    finally:
        ran = os.path.exists(TRACE)
        Path(TRACE).unlink(missing_ok=True)
    return "something was run" if ran else ""
