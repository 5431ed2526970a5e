"""Messages of the package with options of the command: ``--na drop`` for ``na='drop'``.

The messages of the package are worded for users of Python. `for_command` replaces arguments and calls in a
message by options and commands, so that each message is written only once.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Set
from functools import partial

#: Arguments with these values -> an option of the command.
_ARGUMENT_FLAGS = {
    ("scale", "True"): "--scale",
    ("scale", "mixed"): "--mixed",
    ("scale", "blocks"): "--blocks",
    ("scale", "False"): "no --scale",
    ("center", "False"): "--no-center",
    ("categorical", "dummy"): "--dummy",
    **{(name, "True"): f"--{name}" for name in ("nearest", "nonneg", "disjoint", "covariance", "progress")},
    ("header", "False"): "--no-header",
    ("header", "True"): "--header",
    ("codes", "True"): "--codes",
    ("labels", "True"): "--labels",
    ("sort", "True"): "--sort",
    ("sort", "False"): "--no-sort",
}
#: Arguments with another name in the command.
_COMMAND_NAMES = {"given": "--partial", "center": "--no-center", "nearest": "--nearest", "nonneg": "--nonneg"}
_COMMAND_NAMES |= {"disjoint": "--disjoint", "categorical": "--dummy", "data": "DATA", "context": "--formula"}
_COMMAND_NAMES |= {"scale": "--scale", "KIND": "KIND"}
#: A string as Python writes it.
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
#: Two ways to leave out columns that are not numeric.
_NUMERIC_COLUMNS = r"df\.select_dtypes\(\['number', 'bool'\]\) or a formula"
#: Phrases with advice for Python -> their replacements in the command, which are made in this order.
_PHRASES = (
    (_NUMERIC_COLUMNS, "--columns, --drop or --formula"),
    (r"pd\.read_csv\(path, index_col=0\)", "--index-col NAME"),
    (r"df\.dropna\(axis=1, thresh=\.\.\.\)", "--drop"),
    (
        r"or mark them as missing, df\.replace\(\[np\.inf, -np\.inf\], np\.nan\), and choose a treatment "
        "by na=",
        "or read them as missing, --na-values inf,-inf, and choose a treatment by --na",
    ),
    (r" with pandas\.cut", ""),
    (
        r"Give imputations=data in place of the data, .*?, or one imputation, (--drop \S+)\.$",
        r"Give --imputations, or \1 with a file of one imputation.",
    ),
    (r"a formula and categorical='dummy'", "--formula and --dummy"),
    (r"(?<=if their units differ), or scale=False to keep these variances without a warning", ""),
    (r"use scale=False", "leave out --scale"),
    (
        r"fit the rows with (?:spca|sparse_loadings)\(data, \.\.\.\), or give mean=.*?transform\(rows\)",
        "fit the rows, without --covariance",
    ),
    (r"give the rows to spca\(data, \.\.\.\)", "give the rows, without --covariance"),
    (
        r"use \(S \+ S\.T\) / 2; if one triangle contains other values, give only the other one: .*",
        "round both entries alike; if one triangle contains other values, leave it empty.",
    ),
    (r"For rows of observations, give .*? for rows", "Rows are read without --covariance"),
    (r"use spca\(\) or spca_cov\(\) (?:for one fit )?with", "use spcastat fit with"),
    (r"give conf_int=fit\.bootstrap\(\).*?(?=\.$|\. )", "give --bootstrap with data"),
    (r"give stars=fit\.test_loadings\(\).*?(?=\.$|\. )", "test loadings in Python"),
    (r"fit the matrix again with n_obs=", "give it by --n-obs"),
    (r"see fit\.robust\.\w+(?: and fit\.[\w.]+\(\))?", "see the page that --report writes"),
    (r"Colour fit\.plot_scores\(\) by", "Colour the scores of spcastat plot plot_scores by"),
    (r", or (?:sp\.)?correlation\([^()]*\) gives their polychoric correlations for spca_cov", ""),
    (r"(?:use |give |take )?(?:sp\.|spcastat\.)?correlation\([^()]*\)", "compute correlations in Python"),
)
#: Functions and methods -> commands and options.
_CALLS = {
    **dict.fromkeys(("spca", "sparse_loadings"), "spcastat fit DATA"),
    **dict.fromkeys(("spca_cov", "sparse_loadings_cov"), "spcastat fit DATA --covariance"),
    **dict.fromkeys(("choose", "choose_k"), "spcastat choose DATA"),
    **{name: f"--{name}" for name in ("bootstrap", "stability", "save", "report")},
    "transform": "spcastat transform",
    "load": "spcastat show",
}
_VALUE = r"True|False|None|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}|-?\d[\w.+]*(?<!\.)|\.\.\.|<[^>]*>"
_COMMAND_OPTIONS = r"--(?:option|set|include|exclude|together|blocks) \S+"
_ARGUMENT = re.compile(
    rf"{_COMMAND_OPTIONS}|(?<![\w'])'[^']*'|(?<![\w.'=-])(?P<name>[A-Za-z_]\w*)=(?!=)(?P<value>{_VALUE})?"
)
_CALL = re.compile(
    r"\b(?:sp\.|spcastat\.|fit\.|choice\.|[A-Z]\w+\.)?(?P<name>[a-z_]\w*)\((?P<inner>[^()]*)\)"
)


def for_command(message: str, valued: Set[str], plotted: Set[str]) -> str:
    """Return a message in which options and commands replace arguments and calls of Python.

    Parameters
    ----------
    message : str
    valued : set of str
        Arguments that are options of the command with a value.
    plotted : set of str
        Arguments of plots, which the command takes by ``--set``; others it takes by ``--option``.
    """
    message = re.sub(
        rf"(?:df|data)(?:\[data\[.*?\] == 1\])?\.drop\(columns=\[(.*?)\]\)(?: or formula=(?:{_QUOTED}))?",
        _drop,
        message,
    )
    for python, words in _PHRASES:
        message = re.sub(python, words, message)
    option = partial(_option, valued=valued, plotted=plotted)
    return _ARGUMENT.sub(option, _CALL.sub(_command, message))


def _drop(match: re.Match[str]) -> str:
    names = [ast.literal_eval(quoted) for quoted in re.findall(_QUOTED, match[1])]
    return "--drop " + shlex.quote(",".join(names)) + ",..." * (" more" in match[1])


def _command(match: re.Match[str]) -> str:
    """Return the command for a call, with arguments as options; other empty calls lose their brackets."""
    name, inner = match["name"], match["inner"]
    command = _CALLS.get(name)
    if command is None:
        return name if not inner and "(" in match[0] else match[0]
    options = [argument[0] for argument in _ARGUMENT.finditer(inner) if argument["name"]]
    return " ".join([command, *options])


def _option(match: re.Match[str], valued: Set[str], plotted: Set[str]) -> str:
    """Return the option of the command for an argument of Python; quoted text is not changed."""
    name, value = match["name"], match["value"] or ""
    if name is None:
        return match[0]
    if value[:1] in "'\"" and len(value) > 1:
        value = value[1:-1]
    if (name, value) in _ARGUMENT_FLAGS:
        return _ARGUMENT_FLAGS[name, value]
    if name in valued:
        return " ".join(filter(None, [f"--{name.replace('_', '-')}", _as_text(name, value)]))
    if name == "scale" and value:
        return f"--set scale={value}"
    if name in _COMMAND_NAMES:
        return " ".join(filter(None, [_COMMAND_NAMES[name], _as_text(name, value)]))
    return f"--{'set' if name in plotted else 'option'} {name}{f'={value}' if value else ''}"


def _as_text(name: str, value: str) -> str:
    """Return a value as written on a command line: ``[4, 3]`` as 4,3, and a mapping as its pattern."""
    if value.startswith("{"):
        return {"blocks": "NAME=COL,COL", "include": "PC1=NAME", "exclude": "PC1=NAME"}.get(
            name, "GROUP=NAME"
        )
    if value.startswith("["):
        return re.sub(r"['\"\[\] ]", "", value)
    return "" if value in ("True", "None") else shlex.quote(value) if value and value != "..." else value
